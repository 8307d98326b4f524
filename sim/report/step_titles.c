/* What a title says of a step is of the step by itself; its loaders are told beside it. */
#include "report/step_titles.h"

#include "base/arena.h"
#include "input/scenario.h"
#include "input/schedule_file.h"
#include "run/loading.h"

static const char *memory_text(const struct step_result *step)
{
    return step->memory.fits ? "" : "DOES NOT FIT INTO MEMORY: ";
}

/* Both pictures are of the step by itself: what it waits for its loaders, told beside it. */
static const char *with_loaders(struct arena *arena, bool folds, const struct scenario *scenario,
                                const struct step_result *alone)
{
    const struct loading loading = loading_of(arena, scenario, alone->step_ns);
    const struct ensemble_member member = {(uint64_t)scenario->seed, alone->spread.median};
    struct step_result step = *alone;
    if (loading.are_beside) {
        step_simulate(
            arena, scenario,
            &(struct step_request){.folds = folds, .member = &member, .loaders = &loading.loaders},
            &step);
    }
    loading_add(arena, scenario, &loading, &step);
    const double stall_ns = (double)step.gpu_ns[CAUSE_DATA_STALL] / (double)scenario->gpus;
    return step.step_ns > alone->step_ns
               ? arena_printf(arena,
                              "; without its loaders, beside which it takes %.4g s, %.1f %% of it "
                              "data stall",
                              sim_time_to_s(step.step_ns), 100 * stall_ns / (double)step.step_ns)
               : "";
}

const char *step_title_of_pipeline(struct arena *arena, bool folds, const struct scenario *scenario,
                                   const struct step_result *step)
{
    const double whole = (double)step->step_ns * (double)scenario->gpus;
    return arena_printf(arena, "%s%s: step %.4g s, bubble %.1f %%%s", memory_text(step),
                        scenario->title, sim_time_to_s(step->step_ns),
                        100 * (double)step->gpu_ns[CAUSE_BUBBLE] / whole,
                        with_loaders(arena, folds, scenario, step));
}

const char *step_title_fixed(struct arena *arena, const struct scenario *scenario)
{
    return arena_printf(arena, "%s, %lld microbatches", schedule_name_of(&scenario->parallel),
                        (long long)scenario->batch.microbatches);
}

const char *step_title_of_power(struct arena *arena, bool folds, const struct scenario *scenario,
                                const struct power_trace *trace, const struct step_result *step)
{
    const bool is_large = trace->most_w >= 1e7;
    const double unit_w = is_large ? 1e6 : 1e3;
    const char *unit = is_large ? "MW" : "kW";
    return arena_printf(
        arena,
        "%s%s: %.4g to %.4g %s, mean %.4g %s; at most +%.4g and -%.4g %s from %.3g ms to the next, "
        "%.4g within 100 ms, %.4g within 1 s%s%s",
        memory_text(step), scenario->title, trace->least_w / unit_w, trace->most_w / unit_w, unit,
        trace->mean_w / unit_w, unit, trace->rise_w / unit_w, trace->fall_w / unit_w, unit,
        1e3 * sim_time_to_s(trace->bin_ns),
        power_trace_ramp_w(trace, sim_time_from_s(0.1)) / unit_w,
        power_trace_ramp_w(trace, sim_time_from_s(1)) / unit_w,
        trace->cap_w > 0 ? arena_printf(arena, "; cap %.4g %s", trace->cap_w / unit_w, unit) : "",
        with_loaders(arena, folds, scenario, step));
}

const char *step_title_of_fabric(struct arena *arena, const struct scenario *scenario,
                                 const struct step_result *step)
{
    return arena_printf(
        arena, "%s%s: the fabric, and what a step%s of it", memory_text(step), scenario->title,
        scenario->neighbour_count > 0 ? " and those of its neighbours use" : " uses");
}
