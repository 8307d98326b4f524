/* The command `stoker list`: it shows what there is to choose from. The kinds
 * are one table with a row for each.
 */
#include "cli/builds.h"
#include "cli/catalogue_view.h"
#include "cli/options.h"
#include "report/show/show_name.h"

#include "base/arena.h"
#include "report/plot/plot_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_SCHEMA "stoker.list/1"

struct lister {
    const struct options *options;
    struct arena *arena;
    struct catalogue catalogue;
    struct parts parts;
    struct listing listing;
};

/* Adds columns and rows. False when the store cannot be read. */
typedef bool list_function(struct lister *lister);
/* How many rows that would be, without reading each. */
typedef uint32_t count_function(struct lister *lister);

struct list_kind {
    const char *name;
    const char *what;
    list_function *list;
    count_function *count;
};

/* ---- the catalogue ------------------------------------------------------------------- */

static bool list_models(struct lister *lister)
{
    catalogue_view_models(&lister->parts, &lister->listing);
    return true;
}

static bool list_gpus(struct lister *lister)
{
    catalogue_view_gpus(&lister->parts, &lister->listing);
    return true;
}

static bool list_clusters(struct lister *lister)
{
    catalogue_view_clusters(&lister->parts, &lister->listing);
    return true;
}

static bool list_software(struct lister *lister)
{
    catalogue_view_software(&lister->parts, &lister->listing);
    return true;
}

static bool list_libraries(struct lister *lister)
{
    catalogue_view_libraries(&lister->parts, &lister->listing);
    return true;
}

static bool list_scenarios(struct lister *lister)
{
    catalogue_view_scenarios(&lister->parts, &lister->listing);
    return true;
}

static uint32_t count_files(struct lister *lister, const char *folder)
{
    uint32_t count = 0;
    (void)catalogue_list(lister->arena, &lister->catalogue, folder, &count);
    return count;
}

static uint32_t count_models(struct lister *lister)
{
    return count_files(lister, catalogue_folders[CATALOGUE_MODEL]);
}

static uint32_t count_gpus(struct lister *lister)
{
    return count_files(lister, catalogue_folders[CATALOGUE_GPU]);
}

static uint32_t count_clusters(struct lister *lister)
{
    return count_files(lister, catalogue_folders[CATALOGUE_CLUSTER]);
}

static uint32_t count_software(struct lister *lister)
{
    return count_files(lister, catalogue_folders[CATALOGUE_SOFTWARE]);
}

static uint32_t count_libraries(struct lister *lister)
{
    return count_files(lister, catalogue_folders[CATALOGUE_LIBRARY]);
}

static uint32_t count_scenarios(struct lister *lister)
{
    return count_files(lister, SCENARIO_FOLDER);
}

/* ---- the results file ------------------------------------------------------------------ */

static struct store *open_store(struct lister *lister)
{
    return store_open_existing(lister->arena, lister->options->db_path, lister->parts.diag);
}

/* In a table only as much as tells builds apart. */
static void add_build(struct lister *lister, const char *build)
{
    const int length = lister->options->is_json ? 16 : BUILDS_DIGITS;
    listing_text(&lister->listing, arena_printf(lister->arena, "%.*s", length, build));
}

static bool list_studies(struct lister *lister)
{
    struct listing *listing = &lister->listing;
    listing_column(listing, "key", "study", false);
    listing_column(listing, "kind", "kind", false);
    listing_column(listing, "points", "points", true);
    listing_column(listing, "build", "build", false);
    listing_column(listing, "title", "title", false);
    struct store *store = open_store(lister);
    if (store == NULL) {
        return false;
    }
    uint32_t count = 0;
    const struct store_study_row *rows = store_studies(store, lister->arena, &count);
    store_close(store);
    for (uint32_t i = 0; i < count; i++) {
        listing_text(listing, rows[i].key);
        listing_text(listing, rows[i].kind);
        listing_count(listing, rows[i].points);
        add_build(lister, rows[i].build);
        listing_text(listing, rows[i].title);
    }
    return true;
}

static void add_run(struct lister *lister, const struct store_row *row)
{
    struct listing *listing = &lister->listing;
    struct arena *arena = listing->arena;
    listing_text(listing, row->run_key);
    listing_count(listing, row->gpus);
    listing_text(listing, row->cluster);
    listing_number(listing, row->step_s, arena_printf(arena, "%.3f", row->step_s));
    listing_number(listing, row->mfu, arena_printf(arena, "%.1f", 100 * row->mfu));
    listing_number(listing, row->days, arena_printf(arena, "%.1f", row->days));
    listing_text(listing, row->fits ? "yes" : "no");
    add_build(lister, row->build);
    listing_text(listing, row->title);
}

static bool list_runs(struct lister *lister)
{
    struct listing *listing = &lister->listing;
    listing_column(listing, "key", "run", false);
    listing_column(listing, "gpus", "GPUs", true);
    listing_column(listing, "cluster", "cluster", false);
    listing_column(listing, "step_s", "step s", true);
    listing_column(listing, "mfu", "MFU %", true);
    listing_column(listing, "days", "days", true);
    listing_column(listing, "fits", "fits", false);
    listing_column(listing, "build", "build", false);
    listing_column(listing, "title", "title", false);
    struct store *store = open_store(lister);
    if (store == NULL) {
        return false;
    }
    uint32_t count = 0;
    const struct store_row *rows = store_runs(store, lister->arena, &count);
    store_close(store);
    for (uint32_t i = 0; i < count; i++) {
        add_run(lister, &rows[i]);
    }
    return true;
}

/* No file yet: nothing in it. */
static bool has_store(const struct lister *lister)
{
    return access(lister->options->db_path, F_OK) == 0;
}

static uint32_t count_studies(struct lister *lister)
{
    uint32_t count = 0;
    struct store *store = has_store(lister) ? open_store(lister) : NULL;
    if (store != NULL) {
        (void)store_studies(store, lister->arena, &count);
        store_close(store);
    }
    return count;
}

static uint32_t count_runs(struct lister *lister)
{
    uint32_t count = 0;
    struct store *store = has_store(lister) ? open_store(lister) : NULL;
    if (store != NULL) {
        store_runs(store, lister->arena, &count);
        store_close(store);
    }
    return count;
}

/* ---- our own words --------------------------------------------------------------------- */

static void two_columns(struct lister *lister, const char *second)
{
    listing_column(&lister->listing, "name", "name", false);
    listing_column(&lister->listing, second, second, false);
}

static void add_words(struct lister *lister, const char *name, const char *second)
{
    listing_text(&lister->listing, name);
    listing_text(&lister->listing, second);
}

static bool list_commands(struct lister *lister)
{
    two_columns(lister, "summary");
    for (uint32_t i = 0; i < command_count; i++) {
        add_words(lister, commands[i]->name, commands[i]->summary);
    }
    return true;
}

static bool list_causes(struct lister *lister)
{
    two_columns(lister, "title");
    for (uint32_t i = 0; i < CAUSE_COUNT_; i++) {
        add_words(lister, cause_names[i], cause_titles[i]);
    }
    return true;
}

static bool list_metrics(struct lister *lister)
{
    two_columns(lister, "title");
    for (uint32_t i = 0; i < plot_metric_count; i++) {
        add_words(lister, plot_metric_table[i].name, plot_metric_table[i].title);
    }
    return true;
}

/* report/plot/plot.h explains them; the table there has names only. */
static const char *plot_title(const char *name)
{
    static const char *const titles[][2] = {
        {"lines", "a metric against one axis, a line for each series"},
        {"causes", "the step by cause, a bar for each point"},
        {"dollars", "days against dollars"},
        {"heatmap", "a metric over two axes, with what does not fit"},
    };
    for (uint32_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        if (strcmp(titles[i][0], name) == 0) {
            return titles[i][1];
        }
    }
    return "";
}

static bool list_plots(struct lister *lister)
{
    uint32_t count = 0;
    const char *const *names = plot_kinds(&count);
    two_columns(lister, "title");
    for (uint32_t i = 0; i < count; i++) {
        add_words(lister, names[i], plot_title(names[i]));
    }
    return true;
}

static uint32_t count_commands(struct lister *lister)
{
    (void)lister;
    return command_count;
}

static uint32_t count_causes(struct lister *lister)
{
    (void)lister;
    return CAUSE_COUNT_;
}

static uint32_t count_metrics(struct lister *lister)
{
    (void)lister;
    return plot_metric_count;
}

static uint32_t count_plots(struct lister *lister)
{
    uint32_t count = 0;
    (void)lister;
    (void)plot_kinds(&count);
    return count;
}

static const struct list_kind kinds[] = {
    {"models", "what is trained: models/llms", list_models, count_models},
    {"gpus", "models/gpus", list_gpus, count_gpus},
    {"clusters", "nodes, network, storage: topologies", list_clusters, count_clusters},
    {"software", "frameworks and their year: models/software", list_software, count_software},
    {"libraries", "what collectives cost: models/libraries", list_libraries, count_libraries},
    {"scenarios", "files to run: scenarios", list_scenarios, count_scenarios},
    {"runs", "predictions in the results file", list_runs, count_runs},
    {"studies", "sweeps and comparisons in the results file", list_studies, count_studies},
    {"commands", "what stoker can do", list_commands, count_commands},
    {"causes", "where the time of a step can go", list_causes, count_causes},
    {"metrics", "what plots and --metric can show", list_metrics, count_metrics},
    {"plots", "what --plot and --kind can draw", list_plots, count_plots},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

static bool list_kinds(struct lister *lister)
{
    listing_column(&lister->listing, "name", "kind", false);
    listing_column(&lister->listing, "count", "count", true);
    listing_column(&lister->listing, "what", "what", false);
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        listing_text(&lister->listing, kinds[i].name);
        listing_count(&lister->listing, kinds[i].count(lister));
        listing_text(&lister->listing, kinds[i].what);
    }
    return true;
}

/* ---- the command ----------------------------------------------------------------------- */

static const struct list_kind *find_kind(struct diag *diag, const char *word)
{
    static const struct list_kind all = {"kinds", "this list", list_kinds, NULL};
    const char *names[KIND_COUNT];
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        names[i] = kinds[i].name;
        if (strcmp(kinds[i].name, word) == 0) {
            return &kinds[i];
        }
    }
    if (strcmp(word, all.name) == 0) {
        return &all;
    }
    diag_add(diag, DIAG_USAGE, NULL, "there is nothing called '%s' to list", word);
    const char *nearest = diag_nearest(word, names, KIND_COUNT);
    if (nearest != NULL) {
        diag_help(diag, "did you mean '%s'?", nearest);
    } else {
        diag_help(diag, "`stoker list` names the kinds");
    }
    return NULL;
}

static int run(struct options *options)
{
    struct cli *cli = options->cli;
    const struct list_kind *kind =
        find_kind(cli->diag, options->arguments.count > 0 ? options->arguments.items[0] : "kinds");
    if (kind == NULL) {
        return EXIT_USAGE;
    }
    struct lister lister = {.options = options, .arena = cli->arena};
    lister.catalogue = options_catalogue(options);
    lister.parts = (struct parts){cli->arena, &lister.catalogue, cli->diag};
    listing_init(&lister.listing, cli->arena, LIST_SCHEMA, kind->name);
    if (!kind->list(&lister)) {
        return EXIT_FAILED;
    }
    listing_print(&lister.listing, options->is_json, stdout);
    return 0;
}

const struct command command_list = {
    .name = "list",
    .summary = "models, GPUs, clusters, scenarios, studies and what else there is",
    .arguments = "[KIND]",
    .about =
        "Lists what there is: models, gpus, clusters, software, libraries, scenarios, runs, "
        "studies, commands, causes, metrics, plots. Without KIND, the kinds and how many of each."
        "\vExample: stoker list clusters\n"
        "Exit status 3: a file of the catalogue is wrong; the others are listed all the same.",
    .options = {options_store, options_general},
    .arguments_max = 1,
    .wanted = "a kind",
    .run = run,
};
