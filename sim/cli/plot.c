/* The command `stoker plot`: it draws studies that are in the store, clusters,
 * and pipelines.
 */
#include "cli/builds.h"
#include "cli/draw.h"
#include "cli/options.h"
#include "cli/plot_pipeline.h"
#include "cli/plot_topology.h"

#include "base/arena.h"
#include "input/scenario_load.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEY_KIND = 0x500,
    KEY_METRIC,
    KEY_NODES,
    EXIT_FAILURE_ = 1,
    EXIT_USAGE_ = 2,
    KEY_PREFIX_MIN = 4
};
enum { NODES_MAX = 1 << 20 };

#define KIND_DEFAULT "lines"

struct plot_input {
    struct options options; /* first: shared parsers look here */
    const char *kind;       /* NULL, as the next ones: not given */
    const char *metric;
    const char *x_axis;
    const char *y_axis;
    const char *path_base;
    int64_t nodes; /* of a cluster; 0: not given */
};

static const struct argp_option option_list[] = {
    {"kind", KEY_KIND, "KIND", 0, "lines (the default), causes, dollars or heatmap", 0},
    {"metric", KEY_METRIC, "NAME", 0, "What lines and heatmap show (default mfu)", 0},
    {"x", 'x', "AXIS", 0, "The axis to the right, e.g. batch.micro (default: the first)", 0},
    {"y", 'y', "AXIS", 0, "The heatmap's other axis (default: the second)", 0},
    {"nodes", KEY_NODES, "N", 0, "The size of the cluster (default: all its nodes, or 128)", 0},
    {"output", 'o', "BASE", 0, "Write BASE.svg, .png, .csv and .gp", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    static const struct options_rule rule = {3, 0, UINT32_MAX, "a study"};
    struct plot_input *input = state->input;
    switch (key) {
    case KEY_KIND:
        input->kind = argument;
        return 0;
    case KEY_METRIC:
        input->metric = argument;
        return 0;
    case 'x':
        input->x_axis = argument;
        return 0;
    case 'y':
        input->y_axis = argument;
        return 0;
    case 'o':
        input->path_base = argument;
        return 0;
    case KEY_NODES: {
        char *end = argument;
        input->nodes = strtol(argument, &end, 10);
        if (*end != '\0' || input->nodes < 1 || input->nodes > NODES_MAX) {
            argp_error(state, "--nodes is a count from 1, not '%s'", argument);
        }
        return 0;
    }
    default:
        return options_parse_common(key, argument, state, &rule);
    }
}

static const struct argp parser = {
    .options = option_list,
    .parser = parse,
    .args_doc = "[STUDY_KEY | FILE | last]...\ntopology CLUSTER\npipeline FILE",
    .doc = "Draws studies that sweep or compare have stored: by the beginning of their key "
           "(`stoker list studies`), by their file, or the last one. Several studies are "
           "several lines of one picture. Or draws the fabric of a cluster, or when each pipeline "
           "stage of a scenario computes what. Prints the paths that were written."
           "\vExamples: stoker plot scenarios/study-batch.yaml --kind heatmap --metric mfu\n"
           "stoker plot topology h100-roce-24k\n"
           "stoker plot pipeline scenarios/quickstart.yaml --set parallel.pp=4",
    .children = options_all,
};

/* ---- which study -------------------------------------------------------------------- */

struct study_list {
    const struct store_study_row *rows; /* oldest first */
    uint32_t count;
};

static bool is_file(const char *name)
{
    const size_t length = strlen(name);
    return strchr(name, '/') != NULL || (length > 5 && strcmp(name + length - 5, ".yaml") == 0);
}

static const struct store_study_row *find_key(const struct study_list *studies, const char *prefix,
                                              uint32_t *matches)
{
    const struct store_study_row *found = NULL;
    for (uint32_t i = 0; i < studies->count; i++) {
        if (strncmp(studies->rows[i].key, prefix, strlen(prefix)) == 0) {
            found = &studies->rows[i];
            (*matches)++;
        }
    }
    return found;
}

/* The key that the study of a file has now, with the same --set. */
static const char *key_of_file(const struct options *options, const char *path)
{
    struct cli *cli = options->cli;
    const struct catalogue catalogue = options_catalogue(options);
    const struct study_base base = options_study_base(options, &catalogue);
    const struct doc_node *document = scenario_load_document(cli->arena, path, cli->diag);
    if (document == NULL) {
        return NULL;
    }
    if (!study_is_asked(document)) {
        diag_add(cli->diag, DIAG_INPUT, &document->place, "there is no sweep: and no variants:");
        return NULL;
    }
    struct study study;
    if (!study_expand(cli->arena, document, &base, &study, cli->diag)) {
        return NULL;
    }
    return arena_strdup(cli->arena, study.key);
}

static const struct store_study_row *find_study(const struct options *options,
                                                const struct study_list *studies, const char *name)
{
    struct cli *cli = options->cli;
    if (strcmp(name, "last") == 0 && studies->count > 0) {
        return &studies->rows[studies->count - 1];
    }
    const char *key = is_file(name) ? key_of_file(options, name) : name;
    if (key == NULL) {
        return NULL;
    }
    uint32_t matches = 0;
    const struct store_study_row *found =
        strlen(key) >= KEY_PREFIX_MIN ? find_key(studies, key, &matches) : NULL;
    if (matches > 1) {
        diag_add(cli->diag, DIAG_USAGE, NULL, "several studies begin with '%s'", name);
        return NULL;
    }
    if (found == NULL) {
        diag_add(cli->diag, DIAG_USAGE, NULL, "%s holds no study '%s'", options->db_path, name);
        if (is_file(name)) {
            diag_help(cli->diag, "run `stoker sweep %s` first", name);
        } else {
            diag_help(cli->diag,
                      "`stoker list studies` shows them; a key needs 4 letters at least");
        }
    }
    return found;
}

/* ---- the command ------------------------------------------------------------------------ */

/* Lines of one picture that two models predicted. */
static void tell_builds(const struct options *options, const struct store_study_row *first,
                        const struct store_study_row *study)
{
    if (strcmp(first->build, study->build) != 0) {
        diag_add(options->cli->diag, DIAG_WARNING, NULL,
                 "study %s was predicted by build %.*s, study %s by build %.*s", first->key,
                 BUILDS_DIGITS, first->build, study->key, BUILDS_DIGITS, study->build);
    }
}

/* Studies of one title are told apart by how they were named: their file, or their key. */
static bool tell_apart(const struct options *options, const struct store_study_row *const *studies,
                       struct plot_series *series, uint32_t count)
{
    struct cli *cli = options->cli;
    for (uint32_t i = 0; i < count; i++) {
        bool has_twin = false;
        for (uint32_t j = 0; j < count; j++) {
            if (j < i && studies[i] == studies[j]) {
                diag_add(cli->diag, DIAG_USAGE, NULL, "'%s' and '%s' are one study",
                         options->arguments[j], options->arguments[i]);
                diag_help(cli->diag, "`stoker list studies` shows which there are");
                return false;
            }
            has_twin = has_twin || (j != i && strcmp(studies[i]->title, studies[j]->title) == 0);
        }
        series[i].title =
            has_twin ? arena_printf(cli->arena, "%s (%s)", studies[i]->title, options->arguments[i])
                     : studies[i]->title;
    }
    return true;
}

static bool read_series(const struct options *options, struct store *store,
                        struct plot_series *series, uint32_t count)
{
    static const char *const last = "last";
    struct cli *cli = options->cli;
    struct study_list studies = {NULL, 0};
    studies.rows = store_studies(store, cli->arena, &studies.count);
    const struct store_study_row **chosen = arena_array(cli->arena, count, sizeof *chosen);
    const struct store_study_row *first = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = options->argument_count > 0 ? options->arguments[i] : last;
        const struct store_study_row *study = find_study(options, &studies, name);
        if (study == NULL) {
            return false;
        }
        tell_builds(options, first != NULL ? first : study, study);
        first = first != NULL ? first : study;
        chosen[i] = study;
        series[i].rows = store_points(store, cli->arena, study->key, &series[i].count);
    }
    return !diag_has_error(cli->diag) && tell_apart(options, chosen, series, count);
}

static bool make_wish(const struct plot_input *input, struct draw_wish *wish)
{
    struct cli *cli = input->options.cli;
    const char *kind = input->kind != NULL ? input->kind : KIND_DEFAULT;
    const char *text =
        input->metric == NULL ? kind : arena_printf(cli->arena, "%s:%s", kind, input->metric);
    *wish = (struct draw_wish){.x_axis = input->x_axis, .y_axis = input->y_axis};
    if (!draw_parse(cli, text, wish)) {
        return false;
    }
    const char *first = input->options.argument_count > 0 ? input->options.arguments[0] : "last";
    const char *base = draw_default_base(cli, first);
    wish->path_base = input->path_base != NULL
                          ? input->path_base
                          : arena_printf(cli->arena, "%s-%s", base, draw_suffix(cli, wish));
    return true;
}

static bool draw_studies(const struct plot_input *input, const struct draw_wish *wish,
                         struct draw_paths *paths)
{
    const struct options *options = &input->options;
    struct cli *cli = options->cli;
    const uint32_t count = options->argument_count > 0 ? options->argument_count : 1;
    struct plot_series *series = arena_array(cli->arena, count, sizeof *series);
    struct store *store = store_open_existing(cli->arena, options->db_path, cli->diag);
    if (store == NULL) {
        return false;
    }
    const bool is_read = read_series(options, store, series, count);
    store_close(store);
    return is_read && draw(cli, wish, series, count, paths);
}

/* ---- what does not apply ------------------------------------------------------------------ */

static bool names_file(const struct options *options)
{
    for (uint32_t i = 0; i < options->argument_count; i++) {
        if (is_file(options->arguments[i])) {
            return true;
        }
    }
    return false;
}

/* The options of pictures of studies. */
static bool refuse_study_options(const struct plot_input *input, const char *what,
                                 const char *remedy)
{
    const struct options *options = &input->options;
    bool is_good = options_refuse_own(options, input->kind != NULL, "--kind", what, remedy);
    is_good =
        options_refuse_own(options, input->metric != NULL, "--metric", what, remedy) && is_good;
    is_good = options_refuse_own(options, input->x_axis != NULL, "-x", what, remedy) && is_good;
    is_good = options_refuse_own(options, input->y_axis != NULL, "-y", what, remedy) && is_good;
    return options_refuse(options, GIVEN_DB, what, remedy) && is_good;
}

/* A stored study is what it was when it was stored; a file's is found by what the options say. */
static bool check_options(const struct plot_input *input)
{
    static const char predicted[] =
        "it is drawn as it was stored: `stoker sweep FILE` with this option makes another one";
    const struct options *options = &input->options;
    const bool has_file = names_file(options);
    const char *kind = input->kind != NULL ? input->kind : KIND_DEFAULT;
    const bool is_heatmap = strcmp(kind, "heatmap") == 0;
    const bool has_axes = is_heatmap || strcmp(kind, "lines") == 0;
    bool is_good = options_refuse(options, GIVEN_FOLD, "a stored study", predicted);
    is_good = options_refuse(options, GIVEN_JSON, "a plot", "BASE.csv has the data") && is_good;
    if (!has_file) {
        is_good = options_refuse(options, (uint32_t)GIVEN_SET | GIVEN_SEED | GIVEN_CATALOGUE,
                                 "a stored study", predicted) &&
                  is_good;
    }
    is_good = options_refuse_own(options, input->nodes > 0, "--nodes", "a study",
                                 "it is for `stoker plot topology CLUSTER`") &&
              is_good;
    const char *what = arena_printf(options->cli->arena, "%s", kind);
    is_good = options_refuse_own(options, !has_axes && input->metric != NULL, "--metric", what,
                                 "it is for lines and heatmap") &&
              is_good;
    is_good = options_refuse_own(options, !has_axes && input->x_axis != NULL, "-x", what,
                                 "it is for lines and heatmap") &&
              is_good;
    return options_refuse_own(options, !is_heatmap && input->y_axis != NULL, "-y", what,
                              "it is for heatmap") &&
           is_good;
}

static int plot_pipeline_of(const struct plot_input *input)
{
    static const char what[] = "plot pipeline";
    static const char remedy[] = "it takes --set, --seed, --fold, --catalogue and -o";
    const bool is_good = refuse_study_options(input, what, remedy);
    if (!options_refuse_own(&input->options, input->nodes > 0, "--nodes", what, remedy) ||
        !options_refuse(&input->options, GIVEN_JSON, what, remedy) || !is_good) {
        return EXIT_USAGE_;
    }
    return plot_pipeline_command(&input->options, input->options.arguments[1], input->path_base);
}

static int plot_topology_of(const struct plot_input *input)
{
    static const char what[] = "plot topology";
    static const char remedy[] = "it takes --set cluster.KEY=VALUE, --nodes, --catalogue and -o";
    const bool is_good = refuse_study_options(input, what, remedy);
    if (!options_refuse(&input->options, (uint32_t)GIVEN_SEED | GIVEN_FOLD | GIVEN_JSON, what,
                        remedy) ||
        !is_good) {
        return EXIT_USAGE_;
    }
    const struct plot_topology_wish topology = {input->options.arguments[1], input->nodes,
                                                input->path_base};
    return plot_topology_command(&input->options, &topology);
}

/* ---- the command's kinds ------------------------------------------------------------------- */

/* "topology" and "pipeline" are no keys of a study, which have digits and a to f. */
static bool asks_for(const struct plot_input *input, const char *what)
{
    return input->options.argument_count == 2 && strcmp(input->options.arguments[0], what) == 0;
}

int command_plot(struct cli *cli, int argc, char **argv)
{
    struct plot_input input = {.kind = NULL};
    options_init(&input.options, cli);
    options_parse(&parser, argc, argv, &input);
    if (asks_for(&input, "pipeline")) {
        return plot_pipeline_of(&input);
    }
    if (asks_for(&input, "topology")) {
        return plot_topology_of(&input);
    }
    struct draw_wish wish;
    if (!check_options(&input)) {
        return EXIT_USAGE_;
    }
    if (!make_wish(&input, &wish)) {
        return EXIT_FAILURE_;
    }
    struct draw_paths paths = {.items = NULL};
    const bool is_good = draw_studies(&input, &wish, &paths);
    draw_print_paths(&paths, stdout);
    return is_good ? 0 : EXIT_FAILURE_;
}
