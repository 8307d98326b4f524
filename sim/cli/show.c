/* The command `stoker show`: it prints a file of the catalogue or a scenario
 * with the defaults that hold and with what follows from it.
 */
#include "cli/anchor.h"
#include "cli/predict.h"
#include "cli/row.h"
#include "input/job/parallel.h"
#include "report/house_lines.h"
#include "report/show/show_figures.h"
#include "report/show/show_name.h"
#include "report/show/show_part.h"
#include "report/show/show_yaml.h"
#include "report/show/tree.h"
#include "report/yaml_page.h"
#include "base/version.h"

#include "base/arena.h"
#include "base/printable.h"
#include "input/scenario_load.h"
#include "store/store.h"
#include "store/store_sql.h"

#include <stdlib.h>
#include <string.h>

#define SHOW_SCHEMA "stoker.show/1"

/* Begins with the options, so that shared parsers find them. */
struct show {
    struct options options;
    int64_t nodes; /* --nodes; 0: not given */
    struct catalogue catalogue;
    struct show_target target;
    const struct doc_node *root;     /* what is printed */
    const char *prefix;              /* of its keys in the defaults' paths: "" or "gpu." */
    const struct scenario *scenario; /* of a part of the catalogue: that part alone */
    struct sheet *whole, *document, *defaults;
    struct show_sheet sheet; /* what follows from it */
};

/* ---- the command line ----------------------------------------------------------------- */

static const struct command_option own_options[] = {
    {"nodes", 0, "N", "The size of the cluster that is shown (default: all its nodes, or 128)",
     OPTION_COUNT(struct show, nodes, 1, SCENARIO_GPUS_MAX)},
    {0},
};

/* ---- a part of the catalogue ------------------------------------------------------------ */

static bool load_part(struct show *show)
{
    const struct options *options = &show->options;
    struct show_part part = {.arena = options->cli->arena,
                             .diag = options->cli->diag,
                             .catalogue = &show->catalogue,
                             .kind = show->target.kind,
                             .name = show->target.name,
                             .sets = options->sets.items,
                             .set_count = options->sets.count,
                             .nodes = show->nodes,
                             .sheet = &show->sheet};
    if (!show_part_read(&part)) {
        return false;
    }
    show->prefix = part.prefix;
    show->root = part.root;
    show->scenario = part.scenario;
    return true;
}

/* ---- scenarios ------------------------------------------------------------------------- */

/* The scenario that a stored run predicted; NULL with a message. */
static const struct scenario *load_run(const struct show *show)
{
    struct cli *cli = show->options.cli;
    const char *key = show->target.name;
    struct store *store = store_open_existing(cli->arena, show->options.db_path, cli->diag);
    if (store == NULL) {
        return NULL;
    }
    const char *text = store_scenario_text(store, cli->arena, key);
    store_close(store);
    if (text == NULL && diag_has_error(cli->diag)) {
        return NULL;
    }
    if (text == NULL) {
        diag_add(cli->diag, DIAG_INPUT, NULL, "%s holds no run '%s', or several that begin so",
                 show->options.db_path, key);
        diag_help(cli->diag, "`stoker list runs` shows them; a key needs 4 letters at least");
        return NULL;
    }
    const struct doc_node *document = doc_parse(cli->arena, key, text, strlen(text), cli->diag);
    return document == NULL
               ? NULL
               : scenario_resolve(cli->arena, document, &show->catalogue, show->options.sets.items,
                                  show->options.sets.count, cli->diag);
}

static bool load_scenario(struct show *show)
{
    show->scenario = show->target.kind == SHOW_RUN
                         ? load_run(show)
                         : predict_load(&show->options, show->target.name);
    if (show->scenario == NULL) {
        return false;
    }
    show->prefix = "";
    show->root = show_scenario(&show->sheet, show->scenario, stoker_build());
    return true;
}

/* ---- printing -------------------------------------------------------------------------- */

static bool print_text(const struct show *show, const struct show_default *defaults, uint32_t count)
{
    struct arena *arena = show->options.cli->arena;
    const bool is_part = show->target.kind < CATALOGUE_KIND_COUNT_;
    const struct show_yaml yaml = {
        .arena = arena,
        .root = show->root,
        .path = is_part ? catalogue_keys[show->target.kind] : "",
        .defaults = defaults,
        .default_count = count,
        .house = is_part ? NULL : scenario_house(show->scenario),
    };
    const char *file = show->root->place.file;
    struct yaml_page page;
    FILE *out = yaml_page_begin(&page, arena, stdout);
    fprintf(out, "# The %s %s%s.\n# Keys in comments are defaults that hold.\n",
            show_kind_names[show->target.kind],
            printable_line(arena, is_part && file != NULL ? file : show->target.name),
            is_part ? "" : ", with the files that it names");
    show_yaml_print(&yaml, out);
    fprintf(out, "\n# ---- what follows from it: stoker %s ----\n", stoker_version());
    sheet_print_comments(show->whole, out);
    return options_yaml_end(&show->options, &page);
}

static void print_json(const struct show *show, const struct show_default *defaults, uint32_t count)
{
    tree_add(show->root, show->document);
    for (uint32_t i = 0; i < count; i++) {
        if (defaults[i].value != NULL) {
            sheet_text(show->defaults, defaults[i].path, defaults[i].value);
        }
    }
    if (show->target.kind >= CATALOGUE_KIND_COUNT_) {
        house_add(scenario_house(show->scenario), show->whole);
    }
    sheet_print(show->whole, true, stdout);
}

/* What stands before, and room for what is added as it is read. */
static void begin_sheet(struct show *show)
{
    show->whole = sheet_new(show->options.cli->arena, SHOW_SCHEMA);
    sheet_text(show->whole, "version", stoker_version());
    sheet_text(show->whole, "kind", show_kind_names[show->target.kind]);
    sheet_text(show->whole, "name", show->target.name);
    show->document = sheet_object(show->whole, "document");
    show->defaults = sheet_object(show->whole, "defaults");
    show_sheet_init(&show->sheet, show->whole);
}

/* What the arguments mean; a row of a table is a scenario. */
static bool find_target(struct show *show, const char *kind)
{
    const char *name = show->target.name;
    if (show->options.row == NULL && published_is_table(name)) {
        return row_missing(&show->options, name) != NULL;
    }
    if (show->options.row != NULL) {
        show->target.kind = SHOW_SCENARIO;
        return true;
    }
    return show_name_find(show->options.cli->arena, &show->catalogue, kind, &show->target,
                          show->options.cli->diag);
}

/* Nothing is simulated, and only a run is in the results file. */
static bool check_options(const struct show *show)
{
    const struct options *options = &show->options;
    const char *kind = show_kind_names[show->target.kind];
    const bool is_part = show->target.kind < CATALOGUE_KIND_COUNT_;
    bool is_good = options_refuse(options, "fold", "show", "`stoker run` simulates");
    if (show->target.kind != SHOW_RUN) {
        is_good = options_refuse(options, "db", kind, "it is for `stoker show run KEY`") && is_good;
    }
    if (is_part) {
        is_good = options_refuse(options, "seed", kind, "it is for scenarios") && is_good;
    }
    return is_good;
}

static int run(struct options *options)
{
    struct show *show = (struct show *)options;
    struct cli *cli = options->cli;
    const bool has_kind = options->arguments.count == 2;
    const char *kind = has_kind ? options->arguments.items[0] : NULL;
    show->catalogue = options_catalogue(options);
    show->target.name = options->arguments.items[has_kind ? 1 : 0];
    if (!find_target(show, kind)) {
        return EXIT_INPUT;
    }
    if (show->nodes > 0 && show->target.kind != CATALOGUE_CLUSTER) {
        diag_add(cli->diag, DIAG_USAGE, NULL, "--nodes is for clusters; this is a %s",
                 show_kind_names[show->target.kind]);
        return EXIT_USAGE;
    }
    const bool is_part = show->target.kind < CATALOGUE_KIND_COUNT_;
    if (!check_options(show)) {
        return EXIT_USAGE;
    }
    begin_sheet(show);
    if (!(is_part ? load_part(show) : load_scenario(show))) {
        return EXIT_INPUT;
    }
    show_assumptions(&show->sheet, show->scenario);
    uint32_t count = 0;
    const struct show_default *defaults =
        show_defaults(cli->arena, show->scenario, show->prefix, &count);
    if (options->is_json) {
        print_json(show, defaults, count);
        return 0;
    }
    return print_text(show, defaults, count) ? 0 : EXIT_FAILED;
}

const struct command command_show = {
    .name = "show",
    .summary = "one of them with everything it says and what follows from it",
    .arguments = "[KIND] NAME|FILE",
    .about = "Shows a scenario with the files it names put in, the defaults that hold, and what "
             "follows from them: YAML that `stoker run` reads and gives the same key. Or a model, "
             "gpu, cluster, library, nic, software or recipe of the catalogue; or, with `run KEY`, "
             "the scenario of a stored run."
             "\vExamples: stoker show scenarios/quickstart.yaml > everything.yaml\n"
             "stoker show h100-roce-24k --nodes 2048\n"
             "stoker show gpu a100-sxm4-80gb --set gpu.memory=\"40 GB\"\n"
             "stoker show tests/published/runs.csv --row titan-8b-8g-FSDP > one.yaml",
    .options = {own_options, options_prediction, options_anchor, options_row, options_store,
                options_general},
    .arguments_min = 1,
    .arguments_max = 2,
    .wanted = "a name or a file",
    .input_size = sizeof(struct show),
    .run = run,
};
