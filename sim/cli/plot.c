/* The command `stoker plot`: it draws studies that are in the store, clusters,
 * and pipelines.
 */
#include "store/store_metrics.h"
#include "cli/anchor.h"
#include "cli/draw.h"
#include "cli/options.h"
#include "cli/plot_pipeline.h"
#include "cli/plot_topology.h"
#include "cli/stored_name.h"
#include "report/study/required.h"

#include "base/arena.h"
#include "input/scenario_load.h"

#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 1 << 20 };

struct plot_input {
    struct options options; /* first: shared parsers look here */
    const char *kind;       /* NULL, as the next ones: not given */
    const char *metric;
    const char *x_axis;
    const char *y_axis;
    const char *path_base;
    uint32_t size; /* of plot_size_names */
    struct text_list require;
    int64_t nodes; /* of a cluster; 0: not given */
};

static const struct command_option own_options[] = {
    {"kind", 0, "KIND", "One of %s (default: the first)", OPTION_TEXT(struct plot_input, kind),
     .words_of = plot_kinds, .subject = draw_kinds},
    {"metric", 0, "NAME", "What %s show (default mfu, or tokens/s of a GPU where peaks differ)",
     OPTION_TEXT(struct plot_input, metric), .words_of = store_metric_names,
     .subject = draw_kinds_of_metric},
    {"x", 'x', "AXIS", "The axis to the right of %s, e.g. batch.micro (default: the first)",
     OPTION_TEXT(struct plot_input, x_axis), .subject = draw_kinds_of_x},
    {"y", 'y', "AXIS", "The other axis of %s (default: the second)",
     OPTION_TEXT(struct plot_input, y_axis), .subject = draw_kinds_of_y},
    {"nodes", 0, "N", "The size of the cluster (default: all its nodes, or 128)",
     OPTION_COUNT(struct plot_input, nodes, 1, NODES_MAX)},
    {"require", 0, "METRIC<=VALUE",
     "Draw what is required, e.g. 'days<=60', beside require: of the study's file; may be repeated",
     OPTION_LIST(struct plot_input, require)},
    DRAW_SIZE_OPTION(struct plot_input),
    {"output", 'o', "BASE", "Write BASE.svg, .png, .csv and .gp",
     OPTION_TEXT(struct plot_input, path_base)},
    {0},
};

static const char *kind_of(const struct plot_input *input)
{
    uint32_t count = 0;
    return input->kind != NULL ? input->kind : plot_kinds(&count)[0];
}

/* ---- the command ------------------------------------------------------------------------ */

/* What --require and the files say, for the wish and each of the series. */
static bool read_requirements(const struct plot_input *input, const struct doc_node **documents,
                              struct draw_wish *wish, struct plot_series *series, uint32_t count)
{
    struct arena *arena = input->options.cli->arena;
    struct requirements requirements;
    uint32_t files = 0;
    for (uint32_t i = 0; i < count; i++) {
        documents[files] = documents[i];
        files += documents[i] != NULL;
    }
    const struct requirements_asked asked = {documents, files, input->require.items,
                                             input->require.count};
    if (!requirements_read(arena, &asked, &requirements, input->options.cli->diag)) {
        return false;
    }
    wish->limits = required_limits(&requirements, arena);
    wish->limit_count = requirements.count;
    for (uint32_t i = 0; i < count; i++) {
        series[i].misses =
            requirements_misses(&requirements, series[i].rows, series[i].count, arena);
    }
    return true;
}

static bool read_series(const struct plot_input *input, struct store *store, struct draw_wish *wish,
                        struct plot_series *series, uint32_t count)
{
    static const char *const last = "last";
    const struct options *options = &input->options;
    struct cli *cli = options->cli;
    const struct doc_node **documents = arena_array(cli->arena, count, sizeof *documents);
    struct stored_studies studies = {.path = options->db_path};
    studies.rows = store_studies(store, cli->arena, &studies.count);
    const struct stored_name of = {.options = options, .studies = &studies};
    const struct store_study_row **chosen = arena_array(cli->arena, count, sizeof *chosen);
    const struct store_study_row *first = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = options->arguments.count > 0 ? options->arguments.items[i] : last;
        const struct store_study_row *study = stored_name_find(&of, name, &documents[i]);
        if (study == NULL) {
            return false;
        }
        stored_tell(first != NULL ? first : study, study, cli->diag);
        first = first != NULL ? first : study;
        chosen[i] = study;
        series[i].rows = store_points(store, cli->arena, study->key, &series[i].count);
    }
    const char **titles = arena_array(cli->arena, count, sizeof *titles);
    if (diag_has_error(cli->diag) ||
        !stored_titles(cli->arena, chosen, options->arguments.items, titles, count, cli->diag)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        series[i].title = titles[i];
    }
    return read_requirements(input, documents, wish, series, count);
}

static bool make_wish(const struct plot_input *input, struct draw_wish *wish)
{
    struct cli *cli = input->options.cli;
    const char *kind = kind_of(input);
    const char *text =
        input->metric == NULL ? kind : arena_printf(cli->arena, "%s:%s", kind, input->metric);
    *wish =
        (struct draw_wish){.x_axis = input->x_axis, .y_axis = input->y_axis, .size = input->size};
    if (!draw_parse(cli, text, wish)) {
        return false;
    }
    const char *first =
        input->options.arguments.count > 0 ? input->options.arguments.items[0] : "last";
    const char *base = draw_default_base(cli, first);
    wish->path_base = input->path_base != NULL
                          ? input->path_base
                          : arena_printf(cli->arena, "%s-%s", base, draw_suffix(cli, wish));
    return true;
}

static bool draw_studies(const struct plot_input *input, struct draw_wish *wish,
                         struct draw_paths *paths)
{
    const struct options *options = &input->options;
    struct cli *cli = options->cli;
    const uint32_t count = options->arguments.count > 0 ? options->arguments.count : 1;
    struct plot_series *series = arena_array(cli->arena, count, sizeof *series);
    struct store *store = store_open_existing(cli->arena, options->db_path, cli->diag);
    if (store == NULL) {
        return false;
    }
    const bool is_read = read_series(input, store, wish, series, count);
    store_close(store);
    return is_read && draw(cli, wish, series, count, paths);
}

/* ---- what does not apply ------------------------------------------------------------------ */

static bool refuse_of_kind(const struct plot_input *input, const char *option, unsigned takes)
{
    struct arena *arena = input->options.cli->arena;
    return plot_kind_takes(kind_of(input), takes) ||
           options_refuse(&input->options, option, kind_of(input),
                          arena_printf(arena, "it is for %s", plot_kinds_taking(arena, takes)));
}

/* Of each option, in turn, so that all are told. */
static bool check_kind(const struct plot_input *input)
{
    bool is_good = refuse_of_kind(input, "x", PLOT_TAKES_X);
    is_good = refuse_of_kind(input, "metric", PLOT_TAKES_METRIC) && is_good;
    return refuse_of_kind(input, "y", PLOT_TAKES_Y) && is_good;
}

/* A stored study is what it was when it was stored; a file's is found by what the options say. */
static bool check_options(const struct plot_input *input)
{
    static const char predicted[] =
        "it is drawn as it was stored: `stoker sweep FILE` with this option makes another one";
    const struct options *options = &input->options;
    bool is_good = options_refuse(options, "fold", "a stored study", predicted);
    is_good = options_refuse(options, "json", "a plot", "BASE.csv has the data") && is_good;
    if (!stored_name_has_file(options)) {
        is_good =
            options_refuse(options, "set seed catalogue", "a stored study", predicted) && is_good;
    }
    is_good =
        options_refuse(options, "nodes", "a study", "it is for `stoker plot topology CLUSTER`") &&
        is_good;
    return check_kind(input) && is_good;
}

static int draw_pipeline(const struct plot_input *input, const char *of)
{
    return plot_pipeline_command(&input->options, of, input->path_base, input->size);
}

static int draw_power(const struct plot_input *input, const char *of)
{
    return plot_power_command(&input->options, of, input->path_base, input->size);
}

static int draw_topology(const struct plot_input *input, const char *of)
{
    const struct plot_topology_wish topology = {of, input->nodes, input->path_base, input->size};
    return plot_topology_command(&input->options, &topology);
}

/* ---- the command's kinds ------------------------------------------------------------------- */

#define OF_STUDIES "kind metric x y require db json"

/* Pictures of a scenario or a cluster. Their names are no keys of a study, which have digits and
 * a to f. */
static const struct subject {
    const char *name, *what; /* "plot pipeline" */
    const char *useless;     /* options */
    const char *remedy;
    int (*draw)(const struct plot_input *input, const char *of);
} subjects[] = {
    {"topology", "plot topology", OF_STUDIES,
     "it takes --set, --nodes, --seed, --fold, --catalogue, --size and -o", draw_topology},
    {"pipeline", "plot pipeline", OF_STUDIES " nodes",
     "it takes --set, --seed, --fold, --catalogue, --size and -o", draw_pipeline},
    {"power", "plot power", OF_STUDIES " nodes",
     "it takes --set, --seed, --fold, --catalogue, --size and -o", draw_power},
};

/* NULL: it is of studies. */
static const struct subject *subject_of(const struct options *options)
{
    const struct subject *found = NULL;
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        const bool is_asked = options->arguments.count == 2 &&
                              strcmp(options->arguments.items[0], subjects[i].name) == 0;
        found = is_asked ? &subjects[i] : found;
    }
    return found;
}

static int run(struct options *options)
{
    const struct plot_input *input = (const struct plot_input *)options;
    const struct subject *subject = subject_of(options);
    if (subject != NULL) {
        return options_refuse(options, subject->useless, subject->what, subject->remedy)
                   ? subject->draw(input, options->arguments.items[1])
                   : EXIT_USAGE;
    }
    struct draw_wish wish;
    if (!check_options(input)) {
        return EXIT_USAGE;
    }
    if (!make_wish(input, &wish)) {
        return EXIT_FAILED;
    }
    struct draw_paths paths = {.items = NULL};
    const bool is_good = draw_studies(input, &wish, &paths);
    draw_print_paths(&paths, stdout);
    return is_good ? 0 : EXIT_FAILED;
}

const struct command command_plot = {
    .name = "plot",
    .summary = "draw a stored study with gnuplot",
    .scenarios = SCENARIOS_ALSO,
    .arguments = "[STUDY_KEY | FILE | last]...\ntopology CLUSTER|FILE\npipeline FILE\npower FILE",
    .about =
        "Draws studies that sweep or compare have stored: by the beginning of their key "
        "(`stoker list studies`), by their file, or the last one. Several studies are "
        "several lines of one picture. Or draws the fabric of a cluster, of a "
        "scenario's with what a step uses of each tier; or when each pipeline "
        "stage of a scenario computes what, or what its site draws over a step. Prints the paths "
        "that were written."
        "\vExamples: stoker plot scenarios/study-batch.yaml --kind heatmap --metric mfu\n"
        "stoker plot topology h100-roce-24k\n"
        "stoker plot topology scenarios/llama3-405b-16k.yaml\n"
        "stoker plot pipeline scenarios/quickstart.yaml --set parallel.pp=4\n"
        "stoker plot power scenarios/llama3-405b-16k.yaml\n"
        "Exit status 4: the plan whose pipeline, power or use of a fabric was drawn does not fit "
        "into memory; the title says so.",
    .options = {own_options, options_prediction, options_anchor, options_store, options_general},
    .arguments_max = UINT32_MAX,
    .wanted = "a study",
    .input_size = sizeof(struct plot_input),
    .run = run,
};
