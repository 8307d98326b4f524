#include "train/step.h"

#include "base/arena.h"
#include "base/check.h"
#include "plan/cost.h"
#include "train/fold.h"
#include "train/system.h"

#include <stdio.h>
#include <string.h>

/* ---- derived figures ---------------------------------------------------------------- */

/* FLOPs of one token that the hardware executes beyond forward and backward. */
static double recomputed_flop(const struct scenario *scenario, const struct token_flop *flop)
{
    switch (scenario->recompute) {
    case RECOMPUTE_FULL:
        return flop->linear + flop->core_causal;
    case RECOMPUTE_SELECTIVE:
        return scenario->software.attention == ATTENTION_UNFUSED ? flop->core_causal : 0;
    default:
        return 0;
    }
}

static const char *phrase_of(enum cause cause)
{
    return cause_titles[cause];
}

/* What takes most of the step; compute counts with its launch gaps apart. */
static const char *bound_by(struct arena *arena, const struct step_result *result, int64_t gpus)
{
    enum cause largest = CAUSE_COMPUTE;
    enum cause largest_loss = CAUSE_RECOMPUTE;
    for (uint32_t c = 0; c < CAUSE_COUNT_; c++) {
        if (result->gpu_ns[c] > result->gpu_ns[largest]) {
            largest = (enum cause)c;
        }
        if (c != CAUSE_COMPUTE && result->gpu_ns[c] > result->gpu_ns[largest_loss]) {
            largest_loss = (enum cause)c;
        }
    }
    const double whole = (double)result->step_ns * (double)gpus;
    const double share = 100.0 * (double)result->gpu_ns[largest] / whole;
    if (largest != CAUSE_COMPUTE) {
        return arena_printf(arena, "%s (%.0f %% of the step)", phrase_of(largest), share);
    }
    return arena_printf(arena, "compute (%.0f %% of the step), then %s (%.0f %%)", share,
                        phrase_of(largest_loss),
                        100.0 * (double)result->gpu_ns[largest_loss] / whole);
}

static void derive(struct arena *arena, const struct scenario *scenario, struct step_result *result)
{
    const struct token_flop flop =
        cost_token_flop(&scenario->model, scenario->batch.sequence_length);
    result->model_flop_tokens = scenario->batch.global * scenario->batch.sequence_length;
    result->flop_per_token_causal = cost_train_flop_causal(&flop);
    result->flop_per_token_full = cost_train_flop_full(&flop);
    result->hardware_flop_per_token =
        result->flop_per_token_causal + recomputed_flop(scenario, &flop);
    result->peak_flop_per_s = scenario->gpu.peak_flop_per_s[scenario->precision];
    const double step_s = sim_time_to_s(result->step_ns);
    const double per_gpu = (double)result->model_flop_tokens / (double)scenario->gpus / step_s;
    result->tokens_per_s_per_gpu = per_gpu;
    result->tflops_per_gpu = per_gpu * result->flop_per_token_causal / 1e12;
    result->mfu = per_gpu * result->flop_per_token_causal / result->peak_flop_per_s;
    result->mfu_full_attention = per_gpu * result->flop_per_token_full / result->peak_flop_per_s;
    result->hfu = per_gpu * result->hardware_flop_per_token / result->peak_flop_per_s;
    sim_assert(result->mfu > 0);
    sim_assert(result->hfu >= result->mfu);
    sim_assert(result->mfu <= 1);
    result->bound_by = bound_by(arena, result, scenario->gpus);
}

static void check_sums(const struct step_result *result, int64_t gpus)
{
    int64_t sum = 0;
    for (uint32_t c = 0; c < CAUSE_COUNT_; c++) {
        sim_assert(result->gpu_ns[c] >= 0);
        sum += result->gpu_ns[c];
    }
    sim_assert(sum == gpus * result->step_ns);
}

void step_add_stall(struct arena *arena, const struct scenario *scenario, enum cause cause,
                    int64_t stall_ns, struct step_result *result)
{
    sim_assert(stall_ns >= 0);
    result->step_ns += stall_ns;
    result->gpu_ns[cause] += scenario->gpus * stall_ns;
    check_sums(result, scenario->gpus);
    derive(arena, scenario, result);
}

/* ---- simulation ------------------------------------------------------------------------ */

static void find_busiest_link(struct arena *arena, const struct step_system *system,
                              struct step_result *result)
{
    struct link_load loads[LINK_KIND_COUNT_];
    system_link_loads(arena, system, loads);
    result->busiest_link = "";
    for (uint32_t kind = 0; kind < LINK_KIND_COUNT_; kind++) {
        const double used = loads[kind].time_s / sim_time_to_s(result->step_ns);
        if (used > result->busiest_link_utilisation) {
            result->busiest_link_utilisation = used;
            result->busiest_link = link_titles[kind];
        }
    }
}

static void note_engine_use(const struct engine_system *run, const struct engine_outcome *outcome,
                            int64_t gpus, struct engine_use *use)
{
    use->ranks = gpus;
    use->ranks_simulated = run->actor_count;
    use->links_simulated = run->link_count;
    use->tasks = (int64_t)outcome->tasks;
    use->events = (int64_t)outcome->events;
    use->solves = (int64_t)outcome->solves;
}

static void spread_to_ranks(struct arena *arena, const struct step_system *system,
                            const uint32_t *actor_class, const struct engine_outcome *outcome,
                            struct step_detail *detail)
{
    const uint32_t gpus = system->engine.actor_count;
    detail->end_ns = outcome->end;
    detail->bytes_sent = outcome->bytes_sent;
    detail->bytes_received = outcome->bytes_received;
    detail->rank_causes = arena_array(arena, gpus, sizeof *detail->rank_causes);
    for (uint32_t rank = 0; rank < gpus; rank++) {
        const uint32_t actor = actor_class != NULL ? actor_class[rank] : rank;
        memcpy(detail->rank_causes[rank], outcome->actor_causes[actor],
               sizeof detail->rank_causes[rank]);
    }
}

void step_simulate_detail(struct arena *arena, const struct scenario *scenario,
                          const struct step_request *request, struct step_result *result,
                          struct step_detail *detail)
{
    const struct step_options options = {request->checkpoint_bytes, request->is_checkpoint_async};
    const struct step_system *system = system_build(arena, scenario, &options);
    const struct folded_system *folded =
        request->folds ? fold_system(arena, &system->engine) : NULL;
    const struct engine_system *run = folded != NULL ? &folded->engine : &system->engine;
    const struct engine_options engine_options = {request->on_task, request->context};
    struct engine_outcome outcome;
    engine_run(arena, run, &engine_options, &outcome);

    memset(result, 0, sizeof *result);
    result->step_ns = outcome.end;
    for (uint32_t c = 0; c < CAUSE_COUNT_; c++) {
        result->gpu_ns[c] = outcome.total_causes[c];
    }
    check_sums(result, scenario->gpus);
    find_busiest_link(arena, system, result);
    note_engine_use(run, &outcome, scenario->gpus, &result->engine);
    derive(arena, scenario, result);
    result->memory = memory_check(scenario);
    if (!result->memory.fits) {
        memory_explain(scenario, &result->memory, result->memory_advice,
                       sizeof result->memory_advice);
    }
    if (detail != NULL) {
        spread_to_ranks(arena, system, folded != NULL ? folded->actor_class : NULL, &outcome,
                        detail);
    }
}

void step_simulate(struct arena *arena, const struct scenario *scenario,
                   const struct step_request *request, struct step_result *result)
{
    step_simulate_detail(arena, scenario, request, result, NULL);
}
