/* The command that draws a pipeline: the scenario is simulated with a timeline, and
 * report/plot/plot_pipeline draws it. As with `run` and `explain`, a plan that does not fit into
 * memory is drawn all the same, and both the title and the exit status say so.
 */
#include "cli/plot_pipeline.h"

#include "base/arena.h"
#include "cli/draw.h"
#include "cli/predict.h"
#include "report/plot/plot_pipeline.h"
#include "input/schedule_file.h"

static const char *title_of(struct arena *arena, const struct scenario *scenario,
                            const struct step_result *step)
{
    const double whole = (double)step->step_ns * (double)scenario->gpus;
    return arena_printf(arena, "%s: %s, %lld microbatches, step %.4g s, bubble %.1f %%%s",
                        scenario->title, schedule_name_of(&scenario->parallel),
                        (long long)scenario->batch.microbatches, sim_time_to_s(step->step_ns),
                        100 * (double)step->gpu_ns[CAUSE_BUBBLE] / whole,
                        step->memory.fits ? "" : ", DOES NOT FIT INTO MEMORY");
}

int plot_pipeline_command(const struct options *options, const char *path, const char *path_base)
{
    struct cli *cli = options->cli;
    const struct scenario *scenario = predict_load(options, path);
    if (scenario == NULL) {
        return EXIT_INPUT;
    }
    struct timeline timeline;
    timeline_simulate(cli->arena, scenario, options->folds, &timeline);
    struct step_result step;
    step_simulate(cli->arena, scenario, &(struct step_request){.folds = options->folds}, &step);
    const char *base = path_base != NULL
                           ? path_base
                           : arena_printf(cli->arena, "%s-pipeline", draw_default_base(cli, path));
    struct draw_paths paths = {.items = NULL};
    const bool is_good = plot_pipeline(cli->arena, &timeline, title_of(cli->arena, scenario, &step),
                                       base, cli->diag);
    draw_add_paths(cli, base, is_good, &paths);
    draw_print_paths(&paths, stdout);
    predict_check_memory(options, &step);
    return is_good ? 0 : EXIT_FAILED;
}
