/* Sections 4 and 5 of `stoker explain`: the bubble, the causes of the step, and what bounds it from
 * below.
 */
#include "input/scenario.h"
#include "input/study/anchor.h"
#include "report/explain/explain_text.h"
#include "report/explain/explain_transfer.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/screen.h"
#include "plan/memory/memory_live.h"
#include "plan/schedule/schedule.h"
#include "input/layout.h"
#include "train/jitter.h"
#include "train/step.h"
#include "input/schedule_file.h"

#include <inttypes.h>
#include <math.h>

/* ---- pipeline ------------------------------------------------------------------ */

struct pipeline {
    struct schedule_shape shape;
    double ratio;      /* bubble / work, with every F, B and W alike */
    double work_s;     /* inside microbatches, mean of all GPUs */
    double formula_s;  /* of the bubble, from the two */
    double bubble_s;   /* simulated; ABSENT where nothing fits */
    int64_t in_flight; /* (chunk, microbatch) pairs of the first stage */
    int64_t layers_in_flight;
};

static double cause_s(const struct explanation *explanation, enum cause cause)
{
    return explain_mean_s(explanation->result->step.gpu_ns[cause], explanation->scenario->gpus);
}

/* Of the first stage, each of its chunks alike. */
static int64_t in_flight(const struct explanation *explanation, const struct schedule_shape *shape)
{
    int64_t *ones = arena_array(explanation->arena, shape->chunks, sizeof *ones);
    for (uint32_t chunk = 0; chunk < shape->chunks; chunk++) {
        ones[chunk] = 1;
    }
    const struct schedule_order order = schedule_order(explanation->arena, shape, 0);
    return schedule_live(shape, &order, ones, true);
}

/* What microbatches take of a GPU, mean of all. */
static double work_s(const struct explanation *explanation, struct ledger *ledger)
{
    const double compute = cause_s(explanation, CAUSE_COMPUTE);
    const double recompute = cause_s(explanation, CAUSE_RECOMPUTE);
    const double launch = cause_s(explanation, CAUSE_LAUNCH);
    const double host_s = software_host_step_s(&explanation->scenario->software);
    const double interference = cause_s(explanation, CAUSE_INTERFERENCE);
    const double exposed = cause_s(explanation, CAUSE_EXPOSED_TP);
    const double kernels =
        LEDGER_SUM(ledger, "kernels and gaps", "s", compute + recompute + launch - host_s,
                   LEDGER_TERM(compute, "s"), LEDGER_TERM(recompute, "s recompute"),
                   LEDGER_TERM(launch, "s gaps"), LEDGER_TERM(host_s, "s of the host"));
    return LEDGER_SUM(ledger, "work in microbatches", "s", kernels + interference + exposed,
                      LEDGER_TERM(kernels, "s"), LEDGER_TERM(interference, "s interference"),
                      LEDGER_TERM(exposed, "s exposed tp"));
}

static double bubble_s(const struct pipeline *pipeline, struct ledger *ledger)
{
    return LEDGER_SUM(ledger, "bubble by formula", "s", pipeline->work_s * pipeline->ratio,
                      LEDGER_TERM(pipeline->work_s, "s"), LEDGER_TERM(pipeline->ratio, "ratio"));
}

/* Its sums are recorded where there is a pipeline. */
static struct pipeline pipeline_of(const struct explanation *explanation, struct ledger *ledger)
{
    const struct scenario *scenario = explanation->scenario;
    const struct memory_job memory = memory_job_of(scenario);
    struct pipeline pipeline = {.shape = schedule_shape_of(&scenario->parallel, &scenario->batch)};
    struct ledger *sums = pipeline.shape.stages > 1 ? ledger : NULL;
    pipeline.ratio = schedule_bubble(explanation->arena, &pipeline.shape, sums);
    pipeline.work_s = work_s(explanation, sums);
    pipeline.formula_s = bubble_s(&pipeline, sums);
    ledger_remark(sums, "if all chunks were equal");
    pipeline.bubble_s =
        result_has_step(explanation->result) ? cause_s(explanation, CAUSE_BUBBLE) : ABSENT;
    ledger_say(is_absent(pipeline.bubble_s) ? NULL : sums, "bubble simulated", "s",
               pipeline.bubble_s, "mean of all GPUs");
    pipeline.in_flight = in_flight(explanation, &pipeline.shape);
    ledger_say(ledger, "in flight, first stage", "", (double)pipeline.in_flight,
               schedule_splits_weights(pipeline.shape.kind)
                   ? "microbatches in chunks, forward begun, W not"
                   : "microbatches in chunks, forward begun, backward not");
    pipeline.layers_in_flight = memory_live_peak(explanation->arena, &memory, 0, NULL).layers_most;
    ledger_say(ledger, "layers in flight", "", (double)pipeline.layers_in_flight,
               "their layers, at most (activations pay for them)");
    return pipeline;
}

/* "8", or "7 to 8". */
static const char *layers_of_chunks(struct arena *arena, const struct parallel *parallel)
{
    const int64_t *layers = parallel->layers_per_chunk;
    int64_t least = layers[0];
    int64_t most = layers[0];
    for (int64_t i = 1; i < layout_pieces(parallel); i++) {
        least = layers[i] < least ? layers[i] : least;
        most = layers[i] > most ? layers[i] : most;
    }
    return least == most ? arena_printf(arena, "%" PRId64, most)
                         : arena_printf(arena, "%" PRId64 " to %" PRId64, least, most);
}

static const char *groups_text(const struct explanation *explanation)
{
    const struct parallel *parallel = &explanation->scenario->parallel;
    const int64_t group = parallel->microbatch_group;
    return parallel->schedule == SCHEDULE_INTERLEAVED && group != parallel->pp
               ? arena_printf(explanation->arena, ", in groups of %" PRId64, group)
               : "";
}

static void say_shape(const struct explanation *explanation, struct sheet *in)
{
    const struct scenario *scenario = explanation->scenario;
    const struct parallel *parallel = &scenario->parallel;
    explain_paragraph(
        in, 2,
        "%s: p = %" PRId64 " stages, v = %" PRId64 " chunks each of %s layers, m = %" PRId64
        " microbatches = batch %" PRId64 " / (dp %" PRId64 " x micro %" PRId64 ")%s.",
        schedule_name_of(parallel), parallel->pp, parallel->virtual_stages,
        layers_of_chunks(explanation->arena, parallel), scenario->batch.microbatches,
        scenario->batch.global, parallel->dp, scenario->batch.micro, groups_text(explanation));
}

void explain_pipeline(const struct explanation *explanation, struct sheet *in)
{
    struct ledger *ledger = ledger_new(explanation->arena);
    const struct pipeline pipeline = pipeline_of(explanation, ledger);
    say_shape(explanation, in);
    sheet_text(in, "schedule", schedule_name_of(&explanation->scenario->parallel));
    sheet_integer(in, "stages", pipeline.shape.stages);
    sheet_integer(in, "chunks", pipeline.shape.chunks);
    sheet_integer(in, "microbatches", pipeline.shape.microbatches);
    sheet_number(in, "bubble_over_work", pipeline.ratio);
    sheet_number(in, "work_s", pipeline.work_s);
    sheet_number(in, "bubble_formula_s", pipeline.formula_s);
    sheet_number(in, "bubble_simulated_s", pipeline.bubble_s);
    sheet_integer(in, "chunks_in_flight", pipeline.in_flight);
    sheet_integer(in, "layers_in_flight", pipeline.layers_in_flight);
    explain_ledger(in, "sums", ledger);
}

/* ---- the step ------------------------------------------------------------------- */

static double busiest_program_s(const struct engine_system *engine)
{
    int64_t longest_ns = 0;
    for (uint32_t p = 0; p < engine->program_count; p++) {
        int64_t work_ns = 0;
        for (struct engine_walk walk = engine_walk_of(&engine->programs[p], STREAM_COMPUTE);
             walk.task != NULL; engine_walk_next(&walk)) {
            work_ns += walk.task->work_ns;
        }
        longest_ns = work_ns > longest_ns ? work_ns : longest_ns;
    }
    return sim_time_to_s(longest_ns);
}

/* What no step can be shorter than: model FLOPs at the peak of all GPUs, kernels of the busiest
 * stage back to back, what crosses the busiest links. */
static double peak_s(const struct explanation *explanation, struct ledger *ledger)
{
    const struct step_result *step = &explanation->result->step;
    const double tokens = (double)step->model_flop_tokens;
    const double gpus = (double)explanation->scenario->gpus;
    return LEDGER_SUM(ledger, "at the peak", "s",
                      tokens * step->flop_per_token_causal / (gpus * step->peak_flop_per_s),
                      LEDGER_TERM(tokens, "tokens"),
                      LEDGER_TERM(step->flop_per_token_causal, "GFLOP"), LEDGER_TERM(gpus, "GPUs"),
                      LEDGER_TERM(step->peak_flop_per_s, "FLOP/s"));
}

static double link_s(const struct link_use *use, struct ledger *ledger)
{
    return LEDGER_SUM(ledger, use->kind, "s", use->bytes / (double)use->capacity_bytes_per_s,
                      LEDGER_TERM(use->bytes, "GB over the busiest"),
                      LEDGER_TERM(use->capacity_bytes_per_s, "B/s"));
}

static const struct ledger *record_bounds(const struct explanation *explanation, double compute_s)
{
    const struct result *result = explanation->result;
    struct ledger *ledger = ledger_new(explanation->arena);
    peak_s(explanation, ledger);
    ledger_say(ledger, "compute only", "s", compute_s, "kernels and gaps of the busiest stage");
    for (uint32_t i = 0; result_has_step(result) && i < result->step.link_use_count; i++) {
        link_s(&result->step.link_uses[i], ledger);
    }
    return ledger;
}

/* What an anchor made of the simulated step. */
static void record_anchor(const struct anchor *anchor, const struct step_result *step,
                          struct ledger *ledger)
{
    const double simulated_s = sim_time_to_s(step->simulated_ns);
    const double step_s = sim_time_to_s(step->step_ns);
    ledger_say(ledger, "the step by itself", "s", simulated_s, "simulated");
    if (anchor->predicted_s > 0) {
        (void)LEDGER_SUM(ledger, "the anchor's factor", "",
                         pow(anchor->step_time_s / anchor->predicted_s, anchor->weight),
                         LEDGER_TERM(anchor->step_time_s, "s"),
                         LEDGER_TERM(anchor->predicted_s, "s"), LEDGER_TERM(anchor->weight, ""));
        ledger_remark(ledger, "measured, predicted, and how much of that error counts here");
    } else {
        ledger_say(ledger, "the anchor's factor", "", anchor->factor, "anchor.factor");
    }
    const double anchored_s =
        LEDGER_SUM(ledger, "anchored", "s", simulated_s * anchor->factor,
                   LEDGER_TERM(simulated_s, "s"), LEDGER_TERM(anchor->factor, ""));
    ledger_say(ledger, "the step", "s", step_s,
               step_s > anchored_s + 1e-6 ? "anchored, and what it waits for its loaders"
                                          : "anchored");
}

static const struct ledger *record_rates(const struct explanation *explanation)
{
    struct ledger *ledger = ledger_new(explanation->arena);
    struct step_result step = explanation->result->step;
    const struct anchor *anchor = &explanation->scenario->anchor;
    if (explanation->scenario->step_time_s > 0) {
        ledger_say(ledger, "the step by itself", "s", sim_time_to_s(step.simulated_ns),
                   "simulated");
        ledger_say(ledger, "the step", "s", sim_time_to_s(step.step_ns), "stated: run.step_time");
    } else if (anchor->is_given) {
        record_anchor(anchor, &step, ledger);
    } else {
        ledger_say(ledger, "the step", "s", sim_time_to_s(step.step_ns), "simulated");
    }
    const struct step_basis basis = step_basis_of(explanation->scenario);
    step_add_rates(&basis, ledger, &step);
    return ledger;
}

static void say_jitter(const struct explanation *explanation, struct sheet *in)
{
    const struct scenario *scenario = explanation->scenario;
    const double spread = jitter_spread_of(&scenario->gpu, &scenario->software);
    if (spread <= 0) {
        return;
    }
    struct ledger *ledger = ledger_new(explanation->arena);
    if (scenario->gpu.speed_spread > 0) {
        ledger_say(ledger, "spread of GPUs' time", "%", spread,
                   "the squares of gpu.speed_spread and software.jitter.spread add up");
    }
    jitter_wait_ns(spread, scenario->gpus, explanation->result->step.gpu_ns, ledger);
    explain_paragraph(in, 2,
                      "Among the waits for stragglers: all wait for the slowest GPU. E(n): the "
                      "expected largest of n standard normal values.");
    explain_ledger(in, NULL, ledger);
}

static void say_spread(const struct result *result, struct sheet *in)
{
    const double least_s = result_step_least_s(result);
    if (is_absent(least_s)) {
        return;
    }
    explain_paragraph(in, 2,
                      "Flows that share thin links lock in phase here, in one of several patterns "
                      "that keep themselves up. Of %u runs whose bandwidths differ by up to 0.03 "
                      "%% the shortest takes %.6f s, the longest %.6f s; this is number %u, the "
                      "median. Another seed draws other runs.",
                      result->step.spread.members, least_s, result_step_most_s(result),
                      result->step.spread.median);
}

static void say_causes(const struct explanation *explanation, struct sheet *in)
{
    if (!result_has_step(explanation->result)) {
        explain_paragraph(in, 2, "The plan does not fit into memory: it has no step time.");
        return;
    }
    explain_paragraph(in, 2, "Every GPU-nanosecond has one cause; seconds are means of all GPUs.");
    if (explanation->scenario->anchor.is_given) {
        explain_paragraph(in, 2,
                          "They and the critical path are in proportion to the anchored step; "
                          "kernels and transfers in the sections above are as simulated.");
    }
    sheet_say(in, "\n");
    screen_causes(explanation->result, in);
    say_spread(explanation->result, in);
    say_jitter(explanation, in);
}

static void put_bounds(const struct explanation *explanation, double compute_s, struct sheet *in)
{
    const struct step_result *step = &explanation->result->step;
    struct sheet *bounds = sheet_object(in, "at_least_s");
    sheet_number(bounds, "peak", peak_s(explanation, NULL));
    sheet_number(bounds, "compute", compute_s);
    struct sheet *links = sheet_array(bounds, "links");
    for (uint32_t i = 0; result_has_step(explanation->result) && i < step->link_use_count; i++) {
        const struct link_use *use = &step->link_uses[i];
        struct sheet *link = sheet_object(links, NULL);
        sheet_text(link, "link", use->kind);
        sheet_number(link, "bytes", use->bytes);
        sheet_integer(link, "capacity_bytes_per_s", use->capacity_bytes_per_s);
        sheet_number(link, "time_s", link_s(use, NULL));
    }
}

void explain_step(const struct explanation *explanation, struct sheet *in)
{
    const struct step_result *step = &explanation->result->step;
    const bool has_step = result_has_step(explanation->result);
    const double compute_s = busiest_program_s(&explanation->system->engine);
    sheet_number(in, "step_time_s", has_step ? sim_time_to_s(step->step_ns) : ABSENT);
    struct sheet *breakdown = sheet_object(in, "breakdown");
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        sheet_number(breakdown, cause_names[cause],
                     has_step ? cause_s(explanation, (enum cause)cause) : ABSENT);
    }
    sheet_number(in, "slowest_gpu_s", has_step ? sim_time_to_s(step->jitter_ns) : ABSENT);
    sheet_text(in, "bound_by", has_step ? step->bound_by : NULL);
    sheet_number(in, "mfu", has_step ? step->mfu : ABSENT);
    sheet_number(in, "tokens_per_s_per_gpu", has_step ? step->tokens_per_s_per_gpu : ABSENT);
    put_bounds(explanation, compute_s, in);
    say_causes(explanation, in);
    if (has_step) {
        explain_critical(explanation, in);
        explain_overlap(explanation, in);
    }
    explain_paragraph(in, 2, "No step can be shorter than any of these:");
    explain_ledger(in, "bound_sums", record_bounds(explanation, compute_s));
    if (has_step) {
        explain_ledger(in, "sums", record_rates(explanation));
    }
}
