/* The command `stoker new`: a scenario to begin with, of a model on some GPUs of a cluster, with a
 * layout that fits and is the fastest of the usual ones (study/start), each line with what it is.
 */
#include "base/path.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "input/scenario_load.h"
#include "report/house_lines.h"
#include "report/study/start_text.h"
#include "report/yaml_page.h"

#include <stdio.h>

enum { GPUS_MAX = 1000000 };

/* Begins with the options, so that shared parsers find them. */
struct starter {
    struct options options;
    int64_t gpus, global, sequence;
    double tokens;
    const char *cluster, *software, *output;
};

static const struct starter defaults = {.tokens = 1e12};

static const struct command_option own_options[] = {
    {"gpus", 0, "N", "How many GPUs (required)", OPTION_COUNT(struct starter, gpus, 1, GPUS_MAX)},
    {"cluster", 0, "NAME", "Which cluster (required; `stoker list clusters`)",
     OPTION_TEXT(struct starter, cluster)},
    {"software", 0, "NAME", "Which framework (default: by the GPU; `stoker list software`)",
     OPTION_TEXT(struct starter, software)},
    {"tokens", 0, "T", "Tokens of the whole training (default: 1T)",
     OPTION_QUANTITY(struct starter, tokens, DIM_COUNT, 1, 1e18)},
    {"batch", 0, "N", "Sequences of a step (default: about 4 million tokens)",
     OPTION_COUNT(struct starter, global, 1, 1000000000)},
    {"sequence-length", 0, "N", "Tokens of a sequence (default: the model's, at most 8,192)",
     OPTION_COUNT(struct starter, sequence, 1, 100000000)},
    {"any-software", 0, NULL,
     "Any layout, also one that the software's release has not (`has:` of its profile)",
     OPTION_FLAG(struct options, any_software)},
    {"output", 'o', "FILE", "Write there, where nothing is yet, instead of stdout",
     OPTION_TEXT(struct starter, output)},
    {0},
};

/* ---- the command ---------------------------------------------------------------------------- */

static bool check_options(const struct starter *starter)
{
    struct diag *diag = starter->options.cli->diag;
    const bool has_gpus = options_given(&starter->options, "gpus");
    if (!has_gpus || starter->cluster == NULL) {
        diag_add(diag, DIAG_USAGE, NULL, "%s%s%s", has_gpus ? "" : "--gpus N",
                 has_gpus || starter->cluster != NULL ? "" : " and ",
                 starter->cluster != NULL ? " is missing" : "--cluster NAME is missing");
        diag_help(
            diag,
            "write it like stoker new MODEL --gpus 256 --cluster NAME (`stoker list models`)");
        return false;
    }
    return options_refuse(&starter->options, "json", "a scenario, which is YAML",
                          "leave it out; `stoker search --json` has the best layouts");
}

static bool put_text(const void *context, FILE *out)
{
    return fputs(context, out) >= 0;
}

static int write_text(const struct starter *starter, const char *text)
{
    struct cli *cli = starter->options.cli;
    if (starter->output == NULL) {
        struct yaml_page page;
        fputs(text, yaml_page_begin(&page, cli->arena, stdout));
        return options_yaml_end(&starter->options, &page) ? 0 : EXIT_FAILED;
    }
    const struct path_content content = {put_text, text, "name a file that is not there yet", true};
    return path_write_whole(cli->arena, starter->output, &content, cli->diag) ? 0 : EXIT_FAILED;
}

static void show(void *context, const struct search_state *state)
{
    progress_search(context, state);
}

static int run(struct options *options)
{
    struct starter *starter = (struct starter *)options;
    struct cli *cli = options->cli;
    if (!check_options(starter)) {
        return EXIT_USAGE;
    }
    const struct catalogue catalogue = options_catalogue(options);
    const struct study_base base = options_study_base(options, &catalogue);
    struct progress progress = {.cli = cli, .unit = search_by_units[SEARCH_BY_STEP]};
    struct start_asked asked = {.arena = cli->arena,
                                .model = options->arguments.items[0],
                                .cluster = starter->cluster,
                                .software = starter->software,
                                .gpus = starter->gpus,
                                .global = starter->global,
                                .sequence = starter->sequence,
                                .tokens = starter->tokens,
                                .base = &base,
                                .shows = show,
                                .context = &progress};
    struct start_found found;
    if (!start_find(&asked, &found, cli->diag)) {
        return EXIT_INPUT;
    }
    progress_end(&progress);
    if (found.result.found_count > 0) {
        house_note(cli->arena, scenario_house(found.space.base), cli->diag);
        return write_text(starter, start_text(&asked, &found));
    }
    start_tell_none(&asked, &found, cli->diag);
    return EXIT_INFEASIBLE;
}

const struct command command_new = {
    .name = "new",
    .summary = "a scenario to begin with: a model on some GPUs, with a layout that fits",
    .arguments = "MODEL",
    .about =
        "Writes a commented scenario of at most 30 lines: the model (a name of the catalogue "
        "or a config.json) on so many GPUs of a cluster, with the fastest of the usual "
        "layouts (tensor and pipeline parallelism, experts, ZeRO 1 and 3, microbatches of 1 "
        "to 4, recomputation) that fit into memory."
        "\vExample: stoker new MODEL --gpus 256 --cluster NAME > mine.yaml (`stoker list models`)\n"
        "Exit status 4: no layout fits; the nearest is named.",
    .options = {own_options, options_row, options_general},
    .arguments_min = 1,
    .arguments_max = 1,
    .wanted = "a model",
    .input_size = sizeof(struct starter),
    .defaults = &defaults,
    .run = run,
};
