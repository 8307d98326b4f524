/* The commands that draw a step: the scenario is simulated with a timeline, or with what its site
 * draws (run/power_trace), and report/plot has the picture. As with `run` and `explain`, a plan
 * that does not fit into memory is drawn all the same; title and exit status say so.
 */
#include "cli/plot_pipeline.h"

#include "base/arena.h"
#include "base/printable.h"
#include "cli/draw.h"
#include "cli/predict.h"
#include "input/scenario.h"
#include "report/plot/plot_pipeline.h"
#include "report/plot/plot_power.h"
#include "input/schedule_file.h"
#include "run/loading.h"

/* Both pictures are of the step by itself: what it waits for its loaders, told beside it. */
static const char *with_loaders(const struct options *options, const struct scenario *scenario,
                                const struct step_result *alone)
{
    struct arena *arena = options->cli->arena;
    const struct loading loading = loading_of(arena, scenario, alone->step_ns);
    const struct ensemble_member member = {(uint64_t)scenario->seed, alone->spread.median};
    struct step_result step = *alone;
    if (loading.are_beside) {
        step_simulate(arena, scenario,
                      &(struct step_request){
                          .folds = options->folds, .member = &member, .loaders = &loading.loaders},
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

static const char *title_of(const struct options *options, const struct scenario *scenario,
                            const struct step_result *step)
{
    struct arena *arena = options->cli->arena;
    const double whole = (double)step->step_ns * (double)scenario->gpus;
    return arena_printf(arena, "%s%s: step %.4g s, bubble %.1f %%%s",
                        step->memory.fits ? "" : "DOES NOT FIT INTO MEMORY: ", scenario->title,
                        sim_time_to_s(step->step_ns),
                        100 * (double)step->gpu_ns[CAUSE_BUBBLE] / whole,
                        with_loaders(options, scenario, step));
}

static const char *fixed_of(struct arena *arena, const struct scenario *scenario)
{
    return arena_printf(arena, "%s, %lld microbatches", schedule_name_of(&scenario->parallel),
                        (long long)scenario->batch.microbatches);
}

int plot_pipeline_command(const struct options *options, const char *path, const char *path_base,
                          uint32_t size)
{
    struct cli *cli = options->cli;
    const struct scenario *scenario = predict_load(options, path);
    if (scenario == NULL) {
        return EXIT_INPUT;
    }
    struct step_result step;
    step_simulate(cli->arena, scenario, &(struct step_request){.folds = options->folds}, &step);
    struct timeline timeline;
    timeline_simulate(cli->arena, scenario,
                      &(struct timeline_request){.folds = options->folds, .step = &step},
                      &timeline);
    const char *base = path_base != NULL
                           ? path_base
                           : arena_printf(cli->arena, "%s-pipeline", draw_default_base(cli, path));
    struct draw_paths paths = {.items = NULL};
    const struct plot_request request = {
        .title = title_of(options, scenario, &step), .path_base = base, .size = size};
    const bool is_good =
        plot_pipeline(cli->arena, &timeline, fixed_of(cli->arena, scenario), &request, cli->diag);
    draw_add_paths(cli, base, is_good, &paths);
    draw_print_paths(&paths, stdout);
    predict_check_memory(options, scenario, &step);
    return is_good ? 0 : EXIT_FAILED;
}

/* ---- power ------------------------------------------------------------------------- */

/* All of it in one unit. */
static const char *power_title_of(const struct options *options, const struct scenario *scenario,
                                  const struct power_trace *trace, const struct step_result *step)
{
    struct arena *arena = options->cli->arena;
    const bool is_large = trace->most_w >= 1e7;
    const double unit_w = is_large ? 1e6 : 1e3;
    const char *unit = is_large ? "MW" : "kW";
    return arena_printf(
        arena,
        "%s%s: %.4g to %.4g %s, mean %.4g %s; at most +%.4g and -%.4g %s from %.3g ms to the next, "
        "%.4g within 100 ms, %.4g within 1 s%s%s",
        step->memory.fits ? "" : "DOES NOT FIT INTO MEMORY: ", scenario->title,
        trace->least_w / unit_w, trace->most_w / unit_w, unit, trace->mean_w / unit_w, unit,
        trace->rise_w / unit_w, trace->fall_w / unit_w, unit, 1e3 * sim_time_to_s(trace->bin_ns),
        power_trace_ramp_w(trace, sim_time_from_s(0.1)) / unit_w,
        power_trace_ramp_w(trace, sim_time_from_s(1)) / unit_w,
        trace->cap_w > 0 ? arena_printf(arena, "; cap %.4g %s", trace->cap_w / unit_w, unit) : "",
        with_loaders(options, scenario, step));
}

int plot_power_command(const struct options *options, const char *path, const char *path_base,
                       uint32_t size)
{
    struct cli *cli = options->cli;
    const struct scenario *scenario = predict_load(options, path);
    if (scenario == NULL) {
        return EXIT_INPUT;
    }
    struct step_result step;
    step_simulate(cli->arena, scenario, &(struct step_request){.folds = options->folds}, &step);
    struct power_trace trace;
    power_trace_simulate(cli->arena, scenario, options->folds, &step, &trace);
    const char *base = path_base != NULL
                           ? path_base
                           : arena_printf(cli->arena, "%s-power", draw_default_base(cli, path));
    const char *title = power_title_of(options, scenario, &trace, &step);
    struct draw_paths paths = {.items = NULL};
    const bool is_good = plot_power(
        cli->arena, &trace, &(struct plot_request){.title = title, .path_base = base, .size = size},
        cli->diag);
    draw_add_paths(cli, base, is_good, &paths);
    printf("%s\n", printable_line(cli->arena, title));
    draw_print_paths(&paths, stdout);
    predict_check_memory(options, scenario, &step);
    return is_good ? 0 : EXIT_FAILED;
}
