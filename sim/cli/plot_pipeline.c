/* The commands that draw a step: the scenario is simulated with a timeline, or with what its site
 * draws (run/power_trace), and report/plot has the picture. As with `run` and `explain`, a plan
 * that does not fit into memory is drawn all the same; title and exit status say so.
 */
#include "cli/plot_pipeline.h"

#include "base/arena.h"
#include "base/printable.h"
#include "cli/draw.h"
#include "cli/predict.h"
#include "report/picture/plot_pipeline.h"
#include "report/picture/plot_power.h"
#include "report/step_titles.h"

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
        .title = step_title_of_pipeline(cli->arena, options->folds, scenario, &step),
        .path_base = base,
        .size = size};
    const bool is_good = plot_pipeline(cli->arena, &timeline,
                                       step_title_fixed(cli->arena, scenario), &request, cli->diag);
    draw_add_paths(cli, base, is_good, &paths);
    draw_print_paths(&paths, stdout);
    predict_check_memory(options, scenario, &step);
    return is_good ? 0 : EXIT_FAILED;
}

/* ---- power ------------------------------------------------------------------------- */

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
    const char *title = step_title_of_power(cli->arena, options->folds, scenario, &trace, &step);
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
