/* Rows are given one by one to whichever process is idle (base/workers); what it found goes into
 * the row's own place, so neither order nor number of processes shows in the result. Texts of a
 * finding have a fixed size: it is sent as it lies in memory.
 */
#include "measured/validate.h"
#include "measured/published/published_columns.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/rng.h"
#include "base/units.h"
#include "base/workers.h"
#include "plan/cost.h"
#include "plan/memory/memory.h"
#include "input/scenario.h"
#include "train/step.h"

#include <stdio.h>
#include <string.h>

const char *const row_status_names[ROW_STATUS_COUNT_] = {"ok", "skipped", "infeasible"};

/* Texts of a finding that are not static. */
enum {
    TEXT_SOFTWARE,
    TEXT_GPU,
    TEXT_FRAMEWORK, /* the profile's */
    TEXT_FILLED,
    TEXT_FITTED,
    TEXT_REASON,
    TEXT_COLUMN, /* that is wrong */
    TEXT_HELP,
    TEXT_COUNT_
};
enum { TEXT_MAX_ = 512 };

/* What a process found out about a row: all but the texts of the table, and those above apart. */
struct finding {
    struct validated_row row;
    bool is_wrong;          /* the row's text is */
    uint64_t step_likeness; /* of a step that was simulated; 0: none was */
    struct known_step step; /* then */
    double tokens;          /* of a step */
    char texts[TEXT_COUNT_][TEXT_MAX_];
};

struct share {
    const struct published_table *table;
    const struct published_base *base;
    const struct validate_request *request;
    const uint32_t *rows;
    uint32_t count;
    struct finding *findings;
    struct known_steps *known; /* a worker adds to its own copy: rows that are alike come again */
};

/* ---- one row ---------------------------------------------------------------------------- */

static void note_text(struct finding *finding, uint32_t which, const char *text)
{
    snprintf(finding->texts[which], TEXT_MAX_, "%s", text != NULL ? text : "");
}

/* Rows that are alike are predicted alike. */
static uint64_t likeness_of(const struct scenario *scenario)
{
    const char *text = scenario->resolved_text;
    const char *title = strstr(text, scenario->title);
    const size_t before = title != NULL ? (size_t)(title - text) : 0;
    const char *rest = title != NULL ? title + strlen(scenario->title) : text;
    return rng_hash_bytes(rest, strlen(rest), rng_hash_bytes(text, before, 0));
}

static void note_scenario(struct finding *finding, const struct scenario *scenario)
{
    struct validated_row *row = &finding->row;
    row->likeness = likeness_of(scenario);
    row->traits = band_traits_of(scenario);
    row->traits.unproven = 0; /* it was measured */
    note_text(finding, TEXT_FRAMEWORK, row->traits.framework);
    row->gpus = scenario->gpus;
    row->is_mixture = row->traits.is_mixture;
    finding->tokens = (double)scenario->batch.global * (double)scenario->batch.sequence_length;
}

static void note_step(struct finding *finding, const struct scenario *scenario,
                      const struct known_step *result)
{
    const double all_ns = (double)result->step_ns * (double)scenario->gpus;
    uint32_t largest = CAUSE_COMPUTE + 1;
    for (uint32_t cause = largest; cause < CAUSE_COUNT_; cause++) {
        largest = result->gpu_ns[cause] > result->gpu_ns[largest] ? cause : largest;
    }
    struct validated_row *row = &finding->row;
    row->is_simulated = true;
    const struct token_flop flop =
        cost_token_flop(&scenario->model, scenario->batch.sequence_length);
    struct band_step shares = band_step_of(result->gpu_ns, result->step_ns, scenario->gpus);
    shares.attention =
        band_attention_share(cost_train_flop_causal(&flop), cost_train_flop_full(&flop));
    band_traits_add_step(&row->traits, &shares);
    row->predicted_s = units_seconds(result->step_ns);
    row->fits = result->fits;
    row->largest_cause = cause_names[largest];
    row->largest_share = (double)result->gpu_ns[largest] / all_ns;
    row->compute_share = (double)result->gpu_ns[CAUSE_COMPUTE] / all_ns;
    row->model_flop_per_gpu =
        result->flop_per_token_causal * finding->tokens / (double)scenario->gpus;
    row->peak_flop_per_s = result->peak_flop_per_s;
}

/* Simulated, unless it is known. */
static void take_step(const struct share *work, struct arena *arena,
                      const struct scenario *scenario, struct finding *finding)
{
    const uint64_t likeness = known_steps_likeness(scenario);
    struct known_step step;
    if (!known_steps_find(work->known, likeness, &step)) {
        struct step_result result;
        step_simulate(arena, scenario, &(struct step_request){.folds = true}, &result);
        step = known_step_of(scenario, &result);
        known_steps_add(work->known, likeness, &step);
        finding->step_likeness = likeness;
        finding->step = step;
    }
    known_step_add_jitter(scenario, &step);
    note_step(finding, scenario, &step);
}

static void note_wrong(struct finding *finding, const struct published_scenario *made)
{
    const struct published_wrong *wrong = &made->wrong;
    finding->is_wrong = wrong->column != NULL;
    if (finding->is_wrong) {
        note_text(finding, TEXT_COLUMN, wrong->column);
        note_text(finding, TEXT_HELP, wrong->help);
    }
}

/* UNSEEN where none are given. */
static enum prediction_kind find_prediction(const struct share *work, uint32_t row,
                                            double *predicted_s)
{
    const struct given_predictions *given = work->request->given;
    return given != NULL ? given->find(given->context, work->table, row, predicted_s)
                         : PREDICTION_UNSEEN;
}

static void predict(const struct share *work, struct arena *arena, uint32_t row,
                    struct finding *finding)
{
    struct diag *diag = diag_new(arena);
    struct published_scenario made;
    double predicted_s = 0;
    const struct scenario *scenario =
        published_resolve(arena, work->table, row, work->base, &made, diag);
    note_text(finding, TEXT_SOFTWARE, made.software);
    note_text(finding, TEXT_GPU, made.gpu);
    note_text(finding, TEXT_FILLED, made.filled);
    note_text(finding, TEXT_FITTED, made.fitted);
    finding->row.refused = made.refused;
    if (scenario == NULL) {
        const bool is_refused = made.skipped == NULL;
        note_text(finding, TEXT_REASON, is_refused ? diag_first_error(diag) : made.skipped);
        finding->row.status = is_refused && diag_is_verdict(diag) ? ROW_INFEASIBLE : ROW_SKIPPED;
        finding->row.has_failed = is_refused && diag_has(diag, DIAG_FAILURE);
        if (!finding->row.has_failed) {
            note_wrong(finding, &made);
        }
        return;
    }
    note_scenario(finding, scenario);
    const enum prediction_kind kind = find_prediction(work, row, &predicted_s);
    if (kind == PREDICTION_MISSING) {
        finding->row.status = ROW_SKIPPED;
        note_text(finding, TEXT_REASON,
                  arena_printf(arena, "%s has no prediction of it", work->request->given->path));
        return;
    }
    if (kind == PREDICTION_UNSEEN || work->request->simulates_all) {
        take_step(work, arena, scenario, finding);
    }
    if (kind == PREDICTION_FOUND) {
        finding->row.predicted_s = predicted_s;
    }
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
        finding->row.status = ROW_SKIPPED;
        finding->row.has_failed = true;
        note_text(finding, TEXT_REASON, result->failure);
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
static void put_traits(const struct published_table *table, uint32_t row, struct finding *finding)
{
    struct band_traits *traits = &finding->row.traits;
    double gbps = 0;
    if (finding->row.status != ROW_OK) {
        *traits = (struct band_traits){.fabric = "", .routing = "", .oversubscription = 1};
        return;
    }
    const bool is_stated = published_number(table, row, "inter_node_gbps_per_node", &gbps);
    traits->is_typed = !published_says_features(table, row);
    traits->gpu = finding->texts[TEXT_GPU];
    traits->framework = finding->texts[TEXT_FRAMEWORK];
    traits->network_bytes_per_s = is_stated && traits->network_bytes_per_s > 0 ? gbps * 1e9 / 8 : 0;
}

/* With its texts: the table's and those of the finding, which lives as long. */
static struct validated_row row_of(const struct published_table *table, uint32_t number,
                                   struct finding *finding)
{
    struct validated_row *row = &finding->row;
    put_traits(table, number, finding);
    row->table = table;
    row->row = number;
    row->id = published_text(table, number, "id");
    row->config_key = text_or(table, number, "config_key", row->id);
    row->source = text_or(table, number, "source", "no source");
    row->framework = published_text(table, number, "framework");
    row->framework_year = published_text(table, number, "framework_year");
    row->gpu = published_text(table, number, "gpu");
    row->precision = published_text(table, number, "precision");
    row->suspect = published_text(table, number, "suspect");
    row->software = finding->texts[TEXT_SOFTWARE];
    row->gpu_file = finding->texts[TEXT_GPU];
    row->filled = finding->texts[TEXT_FILLED];
    row->fitted = finding->texts[TEXT_FITTED];
    row->reason = finding->texts[TEXT_REASON];
    row->wrong.column = finding->is_wrong ? finding->texts[TEXT_COLUMN] : NULL;
    row->wrong.help = finding->texts[TEXT_HELP][0] != '\0' ? finding->texts[TEXT_HELP] : NULL;
    row->measured_s = row->step_p10_s = row->step_p90_s = ABSENT;
    (void)published_number(table, number, "measured_step_s", &row->measured_s);
    if (!row->is_simulated) {
        row->largest_cause = "";
        row->largest_share = row->compute_share = ABSENT;
    }
    if (row->status != ROW_OK) {
        row->predicted_s = ABSENT;
    }
    row->error = row->predicted_s / row->measured_s - 1.0; /* ABSENT, where either is */
    row->gpu_s_per_token = row->measured_s * (double)row->gpus / finding->tokens;
    return *row;
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
        .request = request,
        .rows = request->rows != NULL ? request->rows : all_rows(arena, count),
        .count = count,
        .findings = arena_array(arena, count, sizeof *work.findings),
        .known = request->known != NULL ? request->known : known_steps_new(arena),
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
        rows[i] = row_of(table, work.rows[i], &work.findings[i]);
        if (request->known != NULL) {
            known_steps_add(request->known, work.findings[i].step_likeness, &work.findings[i].step);
        }
    }
    return rows;
}
