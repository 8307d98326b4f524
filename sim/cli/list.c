/* The command `stoker list`: it shows what there is to choose from. The kinds
 * are one table with a row for each.
 */
#include "report/builds.h"
#include "cli/options.h"
#include "report/reference/reference_keys.h"
#include "report/show/show_lists.h"
#include "report/show/show_name.h"

#include "base/arena.h"
#include "base/version.h"
#include "report/plot/plot_data.h"
#include "report/show/show_catalogue.h"
#include "study/study.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_SCHEMA "stoker.list/1"

struct lister {
    const struct options *options;
    struct arena *arena;
    struct diag *diag;
    struct catalogue catalogue;
};

/* Adds the table of a kind; NULL when the store cannot be read. */
typedef struct sheet *list_function(const struct lister *lister, struct sheet *sheet,
                                    const char *key);

struct list_kind {
    const char *name;
    const char *what;
    list_function *list; /* NULL: a kind of the catalogue, or our own words */
    enum catalogue_kind kind;
    struct sheet *(*add)(struct sheet *sheet, const char *key); /* our own words; NULL */
};

/* ---- the catalogue ------------------------------------------------------------------- */

/* Errors go to the diag. */
static uint32_t points_of(const struct catalogue_view *view, const struct doc_node *document)
{
    const struct study_base base = {.catalogue = view->catalogue, .build = stoker_build()};
    struct study study = {.count = 0};
    const bool is_study = study_is_asked(document);
    return is_study && study_expand(view->arena, document, &base, &study, view->diag) ? study.count
                                                                                      : 0;
}

static struct catalogue_view view_of(const struct lister *lister, struct sheet *sheet,
                                     const char *key)
{
    return (struct catalogue_view){lister->arena, &lister->catalogue, lister->diag, sheet,
                                   key,           points_of};
}

static struct sheet *list_scenarios(const struct lister *lister, struct sheet *sheet,
                                    const char *key)
{
    const struct catalogue_view view = view_of(lister, sheet, key);
    return catalogue_view_scenarios(&view);
}

/* ---- the results file ------------------------------------------------------------------ */

static struct store *open_store(const struct lister *lister)
{
    return store_open_existing(lister->arena, lister->options->db_path, lister->diag);
}

static struct sheet *list_studies(const struct lister *lister, struct sheet *sheet, const char *key)
{
    struct store *store = open_store(lister);
    if (store == NULL) {
        return NULL;
    }
    uint32_t count = 0;
    const struct store_study_row *rows = store_studies(store, lister->arena, &count);
    store_close(store);
    return list_add_studies(sheet, key, rows, count);
}

static struct sheet *list_runs(const struct lister *lister, struct sheet *sheet, const char *key)
{
    struct store *store = open_store(lister);
    if (store == NULL) {
        return NULL;
    }
    uint32_t count = 0;
    const struct store_row *rows = store_runs(store, lister->arena, &count);
    store_close(store);
    return list_add_runs(sheet, key, rows, count);
}

/* ---- our own words --------------------------------------------------------------------- */

static struct sheet *list_commands(const struct lister *lister, struct sheet *sheet,
                                   const char *key)
{
    static const struct field fields[] = {
        {"name", FIELD_LEFT("name")},
        {"summary", FIELD_LEFT("summary")},
    };
    const struct program *program = lister->options->cli->program;
    struct sheet *table = sheet_table(sheet, key, FIELD_LIST(fields));
    for (uint32_t i = 0; i < program->command_count; i++) {
        sheet_text(table, NULL, program->commands[i]->name);
        sheet_text(table, NULL, program->commands[i]->summary);
    }
    return table;
}

static struct sheet *list_keys(const struct lister *lister, struct sheet *sheet, const char *key)
{
    const struct text_list *arguments = &lister->options->arguments;
    return reference_add_keys(sheet, key, arguments->count > 1 ? arguments->items[1] : "");
}

/* ---- the kinds ------------------------------------------------------------------------- */

static const struct list_kind kinds[] = {
    {"models", "what is trained: models/llms", .kind = CATALOGUE_MODEL},
    {"gpus", "models/gpus", .kind = CATALOGUE_GPU},
    {"clusters", "nodes, network, storage: topologies", .kind = CATALOGUE_CLUSTER},
    {"software", "frameworks and their year: models/software", .kind = CATALOGUE_SOFTWARE},
    {"libraries", "what collectives cost: models/libraries", .kind = CATALOGUE_LIBRARY},
    {"nics", "kinds of network cards: topologies/nics", .kind = CATALOGUE_NIC},
    {"recipes", "what people set together: models/recipes", .kind = CATALOGUE_RECIPE},
    {"failures", "what breaks, and how often: models/failures", .kind = CATALOGUE_FAILURES},
    {"spot", "how nodes on spot are taken away: models/spot", .kind = CATALOGUE_SPOT},
    {"prices", "what parts of networks cost: topologies/prices", .kind = CATALOGUE_PRICES},
    {"optimizers", "how matrices are updated: models/optimizers", .kind = CATALOGUE_OPTIMIZER},
    {"scenarios", "files to run: scenarios", .list = list_scenarios},
    {"runs", "predictions in the results file", .list = list_runs},
    {"studies", "sweeps and comparisons in the results file", .list = list_studies},
    {"commands", "what stoker can do", .list = list_commands},
    {"causes", "where the time of a step can go", .add = list_add_causes},
    {"metrics", "what plots and --metric can show", .add = list_add_metrics},
    {"keys", "what files can say; `list keys PREFIX`: what begins so", .list = list_keys},
    {"plots", "what --plot and --kind can draw", .add = list_add_plots},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

static struct sheet *list(const struct lister *lister, const struct list_kind *kind,
                          struct sheet *sheet)
{
    if (kind->add != NULL) {
        return kind->add(sheet, kind->name);
    }
    if (kind->list != NULL) {
        return kind->list(lister, sheet, kind->name);
    }
    const struct catalogue_view view = view_of(lister, sheet, kind->name);
    return catalogue_view_parts(&view, kind->kind);
}

/* How many rows that would be: files are counted, not read. */
static uint32_t count_of(const struct lister *lister, const struct list_kind *kind)
{
    uint32_t count = 0;
    const bool is_stored = kind->list == list_runs || kind->list == list_studies;
    const bool is_file = (kind->list == NULL && kind->add == NULL) || kind->list == list_scenarios;
    if (is_file) {
        const char *folder = kind->list == NULL ? catalogue_folders[kind->kind] : SCENARIO_FOLDER;
        (void)catalogue_list(lister->arena, &lister->catalogue, folder, &count);
    } else if (!is_stored || access(lister->options->db_path, F_OK) == 0) {
        const struct sheet *table = list(lister, kind, sheet_new(lister->arena, NULL));
        count = table != NULL ? (uint32_t)sheet_row_count(table) : 0;
    }
    return count;
}

static struct sheet *list_kinds(const struct lister *lister, struct sheet *sheet, const char *key)
{
    static const struct field fields[] = {
        {"name", FIELD_LEFT("kind")},
        {"count", FIELD_COUNT("count")},
        {"what", FIELD_LEFT("what")},
    };
    struct sheet *table = sheet_table(sheet, key, FIELD_LIST(fields));
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        sheet_text(table, NULL, kinds[i].name);
        sheet_integer(table, NULL, count_of(lister, &kinds[i]));
        sheet_text(table, NULL, kinds[i].what);
    }
    return table;
}

/* ---- the command ----------------------------------------------------------------------- */

static const struct list_kind *find_kind(struct diag *diag, const char *word)
{
    static const struct list_kind all = {"kinds", "this list", .list = list_kinds};
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
    diag_help_nearest(diag, diag_nearest(word, names, KIND_COUNT), "`stoker list` names the kinds");
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
    if (options->arguments.count > 1 && kind->list != list_keys) {
        diag_add(cli->diag, DIAG_USAGE, NULL, "too many arguments: '%s'",
                 options->arguments.items[1]);
        diag_help(cli->diag, "only `stoker list keys` takes a prefix");
        return EXIT_USAGE;
    }
    const struct lister lister = {options, cli->arena, cli->diag, options_catalogue(options)};
    struct sheet *sheet = sheet_new(cli->arena, LIST_SCHEMA);
    if (list(&lister, kind, sheet) == NULL) {
        return EXIT_FAILED;
    }
    options_print(options, sheet);
    return 0;
}

const struct command command_list = {
    .name = "list",
    .summary = "models, GPUs, clusters, scenarios, studies and what else there is",
    .arguments = "[KIND]\nkeys [PREFIX]",
    .about =
        "Lists what there is: models, gpus, clusters, software, libraries, nics, scenarios, runs, "
        "studies, commands, causes, metrics, keys, plots. Without KIND, the kinds and how "
        "many of each."
        "\vExample: stoker list clusters\n"
        "Exit status 3: a file of the catalogue is wrong; the others are listed all the same.",
    .options = {options_store, options_table, options_page, options_general},
    .arguments_max = 2,
    .wanted = "a kind",
    .run = run,
};
