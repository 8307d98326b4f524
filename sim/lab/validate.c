/* Rows are given one by one to whichever process is idle (base/workers); what it found goes into
 * the row's own place, so neither order nor number of processes shows in the result. Texts of a
 * finding have a fixed size: it is sent as it lies in memory.
 */
#include "lab/validate.h"

#include "base/arena.h"
#include "base/workers.h"
#include "plan/memory/memory.h"
#include "input/scenario.h"
#include "train/step.h"

#include <stdio.h>
#include <string.h>

const char *const row_status_names[ROW_STATUS_COUNT_] = {"ok", "skipped", "infeasible"};

enum { NAME_MAX_ = 64, TEXT_MAX_ = 512 };

/* What a process found out about a row. */
struct finding {
    bool has_failed;
    uint32_t status; /* enum row_status */
    char software[NAME_MAX_], gpu[NAME_MAX_];
    char filled[TEXT_MAX_], reason[TEXT_MAX_];
    bool is_wrong; /* the row's text is, in `column` */
    char column[NAME_MAX_], help[TEXT_MAX_];
    char framework[NAME_MAX_]; /* the profile's */
    uint32_t architecture, precision;
    int64_t gpus, step_ns, sequence_length;
    bool has_network;             /* several nodes */
    const char *fabric, *routing; /* static texts */
    double oversubscription;
    bool is_mixture, fits;
    uint64_t refused;
    double model_flop_per_gpu, peak_flop_per_s, tokens;
    uint32_t largest_cause; /* enum cause */
    double largest_share, compute_share;
};

struct share {
    const struct published_table *table;
    const struct published_base *base;
    const uint32_t *rows;
    uint32_t count;
    struct finding *findings;
};

/* ---- one row ---------------------------------------------------------------------------- */

static void note_step(struct finding *finding, const struct scenario *scenario,
                      const struct step_result *result)
{
    const double all_ns = (double)result->step_ns * (double)scenario->gpus;
    int64_t largest_ns = -1;
    for (uint32_t cause = CAUSE_COMPUTE + 1; cause < CAUSE_COUNT_; cause++) {
        if (result->gpu_ns[cause] > largest_ns) {
            largest_ns = result->gpu_ns[cause];
            finding->largest_cause = cause;
        }
    }
    finding->step_ns = result->step_ns;
    finding->gpus = scenario->gpus;
    const struct band_traits traits = band_traits_of(scenario);
    snprintf(finding->framework, sizeof finding->framework, "%s", traits.framework);
    finding->has_network = traits.network_bytes_per_s > 0;
    finding->fabric = traits.fabric;
    finding->routing = traits.routing;
    finding->oversubscription = traits.oversubscription;
    finding->architecture = scenario->gpu.architecture;
    finding->precision = scenario->precision;
    finding->sequence_length = scenario->batch.sequence_length;
    finding->is_mixture = scenario->model.experts > 0;
    finding->fits = result->memory.fits;
    finding->largest_share = (double)largest_ns / all_ns;
    finding->compute_share = (double)result->gpu_ns[CAUSE_COMPUTE] / all_ns;
    finding->tokens = (double)result->model_flop_tokens;
    finding->model_flop_per_gpu =
        result->flop_per_token_causal * finding->tokens / (double)scenario->gpus;
    finding->peak_flop_per_s = result->peak_flop_per_s;
}

/* What the row's column says may be refused only when the scenario is resolved; its message begins
 * with the key, which is the column's name. */
static void note_wrong(struct finding *finding, const struct published_scenario *made)
{
    const struct published_wrong *wrong = &made->wrong;
    finding->is_wrong = made->skipped == NULL || wrong->column != NULL;
    if (wrong->column != NULL) {
        snprintf(finding->column, sizeof finding->column, "%s", wrong->column);
        snprintf(finding->help, sizeof finding->help, "%s", wrong->help != NULL ? wrong->help : "");
    } else if (made->skipped == NULL) {
        const int length = (int)strcspn(finding->reason, " ");
        const bool is_batch = strncmp(finding->reason, "global ", 7) == 0;
        snprintf(finding->column, sizeof finding->column, "%.*s", is_batch ? NAME_MAX_ : length,
                 is_batch ? "global_batch_sequences" : finding->reason);
    }
}

static void predict(const struct share *work, struct arena *arena, uint32_t row,
                    struct finding *finding)
{
    struct diag *diag = diag_new(arena);
    struct published_scenario made;
    const struct scenario *scenario =
        published_resolve(arena, work->table, row, work->base, &made, diag);
    snprintf(finding->software, sizeof finding->software, "%s", made.software);
    snprintf(finding->gpu, sizeof finding->gpu, "%s", made.gpu);
    snprintf(finding->filled, sizeof finding->filled, "%s", made.filled);
    finding->refused = made.refused;
    if (scenario == NULL) {
        const char *refused = diag_first_error(diag);
        snprintf(finding->reason, sizeof finding->reason, "%s",
                 made.skipped != NULL ? made.skipped
                 : refused != NULL    ? refused
                                      : "");
        finding->status =
            made.skipped == NULL && diag_is_verdict(diag) ? ROW_INFEASIBLE : ROW_SKIPPED;
        finding->has_failed = made.skipped == NULL && diag_has(diag, DIAG_FAILURE);
        if (!finding->has_failed) {
            note_wrong(finding, &made);
        }
        return;
    }
    struct step_result result;
    step_simulate(arena, scenario, &(struct step_request){.folds = true}, &result);
    finding->status = ROW_OK;
    note_step(finding, scenario, &result);
}

/* In a worker. */
static struct piece_result work_on_row(const void *context, uint32_t piece, struct arena *arena)
{
    const struct share *work = context;
    struct finding *finding = arena_alloc(arena, sizeof *finding);
    predict(work, arena, work->rows[piece], finding);
    return (struct piece_result){finding, sizeof *finding, NULL};
}

static bool take_row(void *context, uint32_t piece, const struct piece_result *result)
{
    const struct share *work = context;
    struct finding *finding = &work->findings[piece];
    if (result->failure != NULL) {
        finding->status = ROW_SKIPPED;
        finding->has_failed = true;
        snprintf(finding->reason, sizeof finding->reason, "%s", result->failure);
        return true;
    }
    sim_assert(result->size_bytes == sizeof *finding);
    memcpy(finding, result->bytes, sizeof *finding);
    return true;
}

/* ---- the result ------------------------------------------------------------------------- */

static const char *text_or(const struct published_table *table, uint32_t row, const char *column,
                           const char *blank)
{
    const char *text = published_text(table, row, column);
    return text[0] != '\0' ? text : blank;
}

/* The network as the row states it: what the platform's file says was not measured. */
static struct band_traits traits_of(struct arena *arena, const struct published_table *table,
                                    uint32_t row, const struct finding *finding)
{
    double gbps = 0;
    if (finding->status != ROW_OK) {
        return (struct band_traits){.fabric = "", .routing = "", .oversubscription = 1};
    }
    const bool is_stated = published_number(table, row, "inter_node_gbps_per_node", &gbps);
    return (struct band_traits){
        .gpu = arena_strdup(arena, finding->gpu),
        .architecture = gpu_architecture_names[finding->architecture],
        .framework = arena_strdup(arena, finding->framework),
        .precision = precision_names[finding->precision],
        .is_mixture = finding->is_mixture,
        .gpus = finding->gpus,
        .sequence_length = finding->sequence_length,
        .network_bytes_per_s = is_stated && finding->has_network ? gbps * 1e9 / 8 : 0,
        .fabric = finding->fabric,
        .routing = finding->routing,
        .oversubscription = finding->oversubscription,
    };
}

static struct validated_row row_of(struct arena *arena, const struct published_table *table,
                                   uint32_t row, const struct finding *finding)
{
    struct validated_row result = {
        .row = row,
        .status = finding->status,
        .has_failed = finding->has_failed,
        .id = published_text(table, row, "id"),
        .config_key = text_or(table, row, "config_key", published_text(table, row, "id")),
        .source = text_or(table, row, "source", "no source"),
        .framework = published_text(table, row, "framework"),
        .framework_year = published_text(table, row, "framework_year"),
        .gpu = published_text(table, row, "gpu"),
        .precision = published_text(table, row, "precision"),
        .software = arena_strdup(arena, finding->software),
        .gpu_file = arena_strdup(arena, finding->gpu),
        .traits = traits_of(arena, table, row, finding),
        .gpus = finding->gpus,
        .is_mixture = finding->is_mixture,
        .suspect = published_text(table, row, "suspect"),
        .filled = arena_strdup(arena, finding->filled),
        .reason = arena_strdup(arena, finding->reason),
        .wrong = {finding->is_wrong ? arena_strdup(arena, finding->column) : NULL,
                  finding->help[0] != '\0' ? arena_strdup(arena, finding->help) : NULL},
        .predicted_s = (double)finding->step_ns * 1e-9,
        .model_flop_per_gpu = finding->model_flop_per_gpu,
        .peak_flop_per_s = finding->peak_flop_per_s,
        .refused = finding->refused,
        .fits = finding->fits,
        .largest_cause = finding->status == ROW_OK ? cause_names[finding->largest_cause] : "",
        .largest_share = finding->largest_share,
        .compute_share = finding->compute_share,
    };
    if (!published_number(table, row, "measured_step_s", &result.measured_s)) {
        result.measured_s = 0;
    }
    if (result.status == ROW_OK && result.measured_s > 0) {
        result.error = result.predicted_s / result.measured_s - 1.0;
        result.gpu_s_per_token = result.measured_s * (double)result.gpus / finding->tokens;
    }
    return result;
}

static const uint32_t *all_rows(struct arena *arena, uint32_t count)
{
    uint32_t *rows = arena_array(arena, count, sizeof *rows);
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = i;
    }
    return rows;
}

const struct validated_row *validate_rows(struct arena *arena, const struct published_table *table,
                                          const struct validate_request *request)
{
    const struct published_base base = {request->catalogue, request->overrides,
                                        request->override_count};
    const uint32_t count = request->rows != NULL ? request->row_count : table->row_count;
    struct share work = {
        .table = table,
        .base = &base,
        .rows = request->rows != NULL ? request->rows : all_rows(arena, count),
        .count = count,
        .findings = arena_array(arena, count, sizeof *work.findings),
    };
    const struct workers_request workers = {
        .jobs = workers_count(request->jobs, count),
        .piece_count = count,
        .work = work_on_row,
        .take = take_row,
        .context = &work,
    };
    const bool is_good = workers_run(&workers);
    sim_assert(is_good); /* every row is taken */
    struct validated_row *rows = arena_array(arena, count, sizeof *rows);
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = row_of(arena, table, work.rows[i], &work.findings[i]);
    }
    return rows;
}
