/* What follows from a scenario before anything is simulated: how the model is
 * cut, and what each stage holds.
 */
#include "input/job/batch.h"
#include "input/job/parallel.h"
#include "input/scenario.h"
#include "report/show/show_figures.h"

#include "base/arena.h"
#include "report/numbers.h"
#include "plan/cost.h"
#include "plan/memory/memory.h"
#include "input/layout.h"
#include "run/run.h"

#include <inttypes.h>
#include <math.h>

/* ---- layers ------------------------------------------------------------------------- */

static int64_t layers_of_stage(const struct parallel *parallel, int64_t stage)
{
    int64_t layers = 0;
    for (int64_t chunk = 0; chunk < parallel->virtual_stages; chunk++) {
        layers += parallel->layers_per_chunk[layout_piece(parallel, stage, chunk)];
    }
    return layers;
}

/* "7, 14 x 8, 7": stages in order, equal neighbours together. */
static const char *layers_text(struct arena *arena, const struct parallel *parallel)
{
    const char *text = "";
    for (int64_t stage = 0; stage < parallel->pp;) {
        const int64_t first = stage;
        const int64_t layers = layers_of_stage(parallel, stage);
        while (stage < parallel->pp && layers_of_stage(parallel, stage) == layers) {
            stage++;
        }
        const char *comma = first > 0 ? ", " : "";
        text = stage - first > 1 ? arena_printf(arena, "%s%s%" PRId64 " x %" PRId64, text, comma,
                                                stage - first, layers)
                                 : arena_printf(arena, "%s%s%" PRId64, text, comma, layers);
    }
    return text;
}

/* ---- memory -------------------------------------------------------------------------- */

static void add_bytes(struct sheet *table, double bytes)
{
    sheet_number_as(table, NULL, bytes, arena_printf(sheet_arena(table), "%.2f", bytes / 1e9));
}

static bool is_close(double a, double b)
{
    return fabs(a - b) < 1.0; /* bytes and parameters: whole ones */
}

/* The next stage would make the same row. */
static bool is_alike(const struct scenario *scenario, int64_t a, int64_t b)
{
    const struct memory_job job = memory_job_of(scenario);
    const struct memory_use one = memory_of_stage(&job, a);
    const struct memory_use other = memory_of_stage(&job, b);
    return layers_of_stage(&scenario->parallel, a) == layers_of_stage(&scenario->parallel, b) &&
           is_close(one.weights_bytes, other.weights_bytes) &&
           is_close(one.activations_bytes, other.activations_bytes) &&
           is_close(one.total_bytes, other.total_bytes);
}

static void add_stages(struct sheet *table, const struct scenario *scenario, int64_t first,
                       int64_t last)
{
    struct arena *arena = sheet_arena(table);
    const struct memory_job job = memory_job_of(scenario);
    const struct memory_use use = memory_of_stage(&job, first);
    const double parameters = memory_stage_parameters(&job.split, first);
    const double columns[] = {
        use.weights_bytes,     use.gradients_bytes, use.optimizer_bytes,
        use.activations_bytes, use.logits_bytes,    use.temporary_bytes,
        use.buffers_bytes,     use.overhead_bytes,  use.total_bytes,
    };
    sheet_text(table, NULL,
               first == last ? arena_printf(arena, "%" PRId64, first)
                             : arena_printf(arena, "%" PRId64 "-%" PRId64, first, last));
    sheet_integer(table, NULL, layers_of_stage(&scenario->parallel, first));
    sheet_number_as(table, NULL, parameters, number_grouped(arena, parameters));
    for (uint32_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        add_bytes(table, columns[i]);
    }
}

static void add_memory(struct show_sheet *sheet, const struct scenario *scenario)
{
    static const struct field fields[] = {
        {"stages", FIELD_LEFT("stage")},
        {"layers", FIELD_COUNT("layers")},
        {"parameters", FIELD_COUNT("parameters/GPU")},
        {"weights_bytes", FIELD_COUNT("weights GB")},
        {"gradients_bytes", FIELD_COUNT("gradients")},
        {"optimizer_bytes", FIELD_COUNT("optimizer")},
        {"activations_bytes", FIELD_COUNT("activations")},
        {"logits_bytes", FIELD_COUNT("logits")},
        {"temporary_bytes", FIELD_COUNT("temporary")},
        {"buffers_bytes", FIELD_COUNT("buffers")},
        {"overhead_bytes", FIELD_COUNT("overhead")},
        {"total_bytes", FIELD_COUNT("total")},
    };
    struct sheet *table = show_sheet_table(sheet, "gpu_by_stage", FIELD_LIST(fields));
    for (int64_t stage = 0; stage < scenario->parallel.pp;) {
        const int64_t first = stage++;
        while (stage < scenario->parallel.pp && is_alike(scenario, first, stage)) {
            stage++;
        }
        add_stages(table, scenario, first, stage - 1);
    }
}

/* ---- the whole ------------------------------------------------------------------------- */

static void add_batch(struct show_sheet *sheet, const struct scenario *scenario)
{
    const struct batch *batch = &scenario->batch;
    const int64_t tokens = batch->global * batch->sequence_length;
    show_sheet_count(sheet, "global_batch_sequences", batch->global);
    show_sheet_count(sheet, "microbatches", batch->microbatches);
    show_sheet_count(sheet, "tokens_per_step", tokens);
    if (scenario->run_tokens > 0) {
        show_sheet_count(sheet, "steps", run_steps(scenario->run_tokens, tokens, NULL));
    }
    const struct token_flop flop = cost_token_flop(&scenario->model, batch->sequence_length);
    const double frozen = scenario->lora.rank > 0 ? cost_frozen_flop(&flop) : 0.0;
    show_sheet_quantity(sheet, "train_flop_per_token", cost_train_flop_causal(&flop) - frozen,
                        DIM_FLOP);
}

static void add_limit(struct show_sheet *sheet, const struct scenario *scenario)
{
    const struct memory_verdict verdict = memory_check(scenario);
    struct arena *arena = sheet->arena;
    show_sheet_number(sheet, "memory_peak_bytes", verdict.worst.total_bytes,
                      arena_printf(arena, "%.2f of %.2f GB, stage %" PRId64 ": %s",
                                   verdict.worst.total_bytes / 1e9, verdict.limit_bytes / 1e9,
                                   verdict.worst_stage, verdict.fits ? "fits" : "DOES NOT FIT"));
    show_sheet_number(sheet, "memory_limit_bytes", verdict.limit_bytes,
                      number_quantity(arena, verdict.limit_bytes, DIM_BYTES));
}

/* Who holds an expert, and where a microbatch's tokens go. */
static void add_experts(struct show_sheet *sheet, const struct scenario *scenario)
{
    const struct model *model = &scenario->model;
    const struct parallel *parallel = &scenario->parallel;
    if (model->experts == 0) {
        return;
    }
    /* An expert's group has ep x etp ranks, of which tp have the same tokens. */
    const int64_t tokens = scenario->batch.micro * scenario->batch.sequence_length / parallel->cp *
                           parallel->ep * parallel->etp / parallel->tp;
    const int64_t places = model->experts + scenario->routing.redundant_experts;
    show_sheet_count(sheet, "experts_per_gpu", places / parallel->ep);
    show_sheet_count(sheet, "copies_of_each_expert", memory_expert_ranks(parallel));
    show_sheet_count(sheet, "tokens_per_expert", tokens * model->experts_per_token / places);
}

void show_figures_scenario(struct show_sheet *sheet, const struct scenario *scenario,
                           const char *build)
{
    const struct cluster *cluster = &scenario->cluster;
    const double node_bytes_per_s = (double)cluster->nics_per_node * cluster->nic_bytes_per_s;
    char *key = arena_alloc(sheet->arena, 17);
    run_key(scenario, build, key);
    show_sheet_text(sheet, "run_key", key);
    show_sheet_count(sheet, "nodes", scenario->nodes);
    show_sheet_rate(sheet, "node_bytes_per_s", node_bytes_per_s);
    show_sheet_rate(sheet, "gpu_bytes_per_s", node_bytes_per_s / (double)cluster->gpus_per_node);
    show_sheet_count(sheet, "data_parallel", scenario->parallel.dp);
    add_experts(sheet, scenario);
    show_sheet_text(sheet, "layers_of_stages", layers_text(sheet->arena, &scenario->parallel));
    add_batch(sheet, scenario);
    show_sheet_count(sheet, "parameters", cost_parameters(&scenario->model).total);
    add_limit(sheet, scenario);
    add_memory(sheet, scenario);
}
