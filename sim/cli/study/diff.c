/* The command `stoker diff`: why an answer is another than it was. It finds what was told, in
 * results files or by predicting a scenario, and study/diff what moved it.
 */
#include "cli/predict.h"

#include "base/arena.h"
#include "base/version.h"
#include "input/doc/doc.h"
#include "input/scenario_load.h"
#include "report/builds.h"
#include "report/study/diff_sheet.h"
#include "study/stored.h"

#include <string.h>
#include <unistd.h>

#define DIFF_SCHEMA "stoker.diff/1"

enum side_kind { SIDE_FILE, SIDE_RUN, SIDE_STUDY, SIDE_BUILD };

/* What an argument means. */
struct side {
    enum side_kind kind;
    const char *name;    /* as it was written */
    const char *db_path; /* of all but a file */
    const char *key;     /* likewise: what stands behind the file's name */
    struct store *store; /* owned */
    const struct store_study_row *study;
};

/* Begins with the options, so that shared parsers find them. */
struct differ {
    struct options options;
    const char *point; /* --point; NULL: all */
    struct side sides[2];
};

static const struct command_option own_options[] = {
    {"point", 0, "LABEL", "Of two studies: why this point moved",
     OPTION_TEXT(struct differ, point)},
    {0},
};

/* ---- what is meant -------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);
    return length > end_length && strcmp(text + length - end_length, end) == 0;
}

/* "last-month.db:04df95": a results file, and what it holds. */
static void part_name(struct arena *arena, const struct options *options, struct side *side)
{
    const char *colon = strrchr(side->name, ':');
    side->db_path = options->db_path;
    side->key = side->name;
    if (colon != NULL) {
        const char *path = arena_strndup(arena, side->name, (size_t)(colon - side->name));
        if (access(path, R_OK) == 0 || ends_with(path, ".db")) {
            side->db_path = path;
            side->key = colon + 1;
        }
    }
    side->kind = side->key == side->name && stored_is_file(side->name) ? SIDE_FILE : SIDE_RUN;
}

static bool is_build(struct store *store, struct arena *arena, const char *key)
{
    uint32_t count = 0;
    const struct store_build *builds = store_builds(store, arena, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (strlen(key) >= 4 && strncmp(builds[i].build, key, strlen(key)) == 0) {
            return true;
        }
    }
    return false;
}

static bool find_side(const struct options *options, struct side *side)
{
    struct cli *cli = options->cli;
    part_name(cli->arena, options, side);
    if (side->kind == SIDE_FILE) {
        return true;
    }
    side->store = store_open_existing(cli->arena, side->db_path, cli->diag);
    if (side->store == NULL) {
        return false;
    }
    if (store_run_found(side->store, cli->arena, side->key) != NULL) {
        return true;
    }
    struct stored_studies studies = {.path = side->db_path};
    studies.rows = store_studies(side->store, cli->arena, &studies.count);
    side->study = stored_find(&studies, side->name, side->key, diag_new(cli->arena));
    side->kind = side->study != NULL ? SIDE_STUDY : SIDE_BUILD;
    if (side->study != NULL || is_build(side->store, cli->arena, side->key)) {
        return true;
    }
    if (!diag_has_error(cli->diag)) {
        diag_add(cli->diag, DIAG_INPUT, NULL,
                 "%s holds no run, study or build '%.40s', or several that begin so", side->db_path,
                 side->key);
        diag_help(cli->diag, "`stoker list runs` and `list studies` show them; a key needs 4 "
                             "letters at least; a scenario's file ends in .yaml");
    }
    return false;
}

/* Of two kinds that have the same to tell. */
static bool check_kinds(const struct differ *differ)
{
    static const char *const words[] = {"a scenario", "a run", "a study", "a build"};
    struct diag *diag = differ->options.cli->diag;
    const enum side_kind a = differ->sides[0].kind, b = differ->sides[1].kind;
    const bool is_one = a <= SIDE_RUN && b <= SIDE_RUN;
    if (!is_one && a != b) {
        diag_add(diag, DIAG_USAGE, NULL, "'%.40s' is %s, '%.40s' %s", differ->sides[0].name,
                 words[a], differ->sides[1].name, words[b]);
        diag_help(diag, "give two runs or scenarios, two studies (`stoker sweep` stores one), or "
                        "two builds");
        return false;
    }
    if (a == SIDE_BUILD && strcmp(differ->sides[0].db_path, differ->sides[1].db_path) != 0) {
        diag_add(diag, DIAG_USAGE, NULL, "two builds of two results files");
        diag_help(diag, "`stoker merge %s %s --db both.db`, and then `stoker diff --db both.db`",
                  differ->sides[0].db_path, differ->sides[1].db_path);
        return false;
    }
    const bool has_file = a == SIDE_FILE || b == SIDE_FILE;
    return (has_file || options_refuse(&differ->options, "set seed any-software", "what is stored",
                                       "they are for a scenario's file")) &&
           (a == SIDE_STUDY ||
            options_refuse(&differ->options, "point", words[a], "it is for two studies"));
}

/* A stored run, which has all that it was told of in it. */
static bool check_alone(const struct differ *differ)
{
    const struct options *options = &differ->options;
    if (differ->sides[0].kind != SIDE_RUN) {
        diag_add(options->cli->diag, DIAG_USAGE, NULL, "'%.40s' alone is no run",
                 differ->sides[0].name);
        diag_help(options->cli->diag, "name the other side, too; a stored run alone is held "
                                      "against what this build predicts of it");
        return false;
    }
    return options_refuse(options, "set seed any-software point", "a stored run alone",
                          "name a scenario's file, or two studies");
}

/* ---- one against one ------------------------------------------------------------------------ */

static const struct doc_node *stored_document(const struct options *options, struct store *store,
                                              const char *key)
{
    struct cli *cli = options->cli;
    const char *text = store_scenario_text(store, cli->arena, key);
    return text != NULL ? doc_parse(cli->arena, key, text, strlen(text), cli->diag) : NULL;
}

/* What this build predicts, read back as it would be stored. */
static bool predict(const struct options *options, const struct scenario *scenario,
                    struct diff_side *side)
{
    struct cli *cli = options->cli;
    struct result *result = arena_alloc(cli->arena, sizeof *result);
    predict_result(options, scenario, &(struct predict_way){.jobs = 1}, result);
    predict_check_memory(options, scenario, &result->step);
    struct store *store = store_open_in_memory(cli->arena, cli->diag);
    const bool is_stored = store != NULL && store_run(store, result, cli->diag);
    side->told = is_stored ? store_run_found(store, cli->arena, result->key) : NULL;
    side->document = side->told != NULL ? stored_document(options, store, side->told->key) : NULL;
    store_close(store);
    return side->document != NULL;
}

static bool take_run(const struct options *options, const struct side *from,
                     const struct store_row *row, struct diff_side *side)
{
    side->told = row;
    side->document = row != NULL ? stored_document(options, from->store, row->key) : NULL;
    return side->document != NULL;
}

/* What an argument says was told. */
static bool take_side(const struct options *options, const struct side *from,
                      struct diff_side *side)
{
    struct arena *arena = options->cli->arena;
    side->name = from->name;
    if (from->kind == SIDE_RUN) {
        return take_run(options, from, store_run_found(from->store, arena, from->key), side);
    }
    const struct scenario *scenario = predict_load(options, from->name);
    return scenario != NULL && predict(options, scenario, side);
}

/* Without a second argument: what this build tells of the first. */
static bool take_again(const struct options *options, const struct catalogue *catalogue,
                       const struct diff_side *first, struct diff_side *side)
{
    struct cli *cli = options->cli;
    const struct scenario *scenario =
        scenario_resolve(cli->arena, first->document, catalogue, NULL, 0, cli->diag);
    side->name = "this build";
    return scenario != NULL && predict(options, scenario, side);
}

static int print(const struct options *options, struct sheet *sheet)
{
    options_print(options, sheet);
    return 0;
}

static int tell_one(const struct differ *differ, struct diff_asked *asked)
{
    const struct options *options = &differ->options;
    struct cli *cli = options->cli;
    struct diff_found found;
    asked->folds = options->folds;
    diff_find(cli->arena, asked, &found);
    struct sheet *sheet = sheet_new(cli->arena, DIFF_SCHEMA);
    diff_add(asked, &found, sheet);
    return print(options, sheet);
}

static int diff_one(const struct differ *differ, const struct catalogue *catalogue)
{
    const struct options *options = &differ->options;
    struct diff_asked asked = {.catalogue = catalogue};
    const bool is_good = take_side(options, &differ->sides[0], &asked.sides[0]) &&
                         (options->arguments.count > 1
                              ? take_side(options, &differ->sides[1], &asked.sides[1])
                              : take_again(options, catalogue, &asked.sides[0], &asked.sides[1]));
    return is_good ? tell_one(differ, &asked) : EXIT_INPUT;
}

/* ---- many against many ---------------------------------------------------------------------- */

static struct diff_points points_of(const struct differ *differ, uint32_t room,
                                    struct diff_point **items)
{
    struct arena *arena = differ->options.cli->arena;
    struct diff_points points = {
        .names = {differ->sides[0].name, differ->sides[1].name},
    };
    *items = arena_array(arena, room + 1u, sizeof **items);
    points.items = *items;
    return points;
}

static const struct store_row *row_labelled(const struct store_row *rows, uint32_t count,
                                            const char *label)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(rows[i].label, label) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

struct two_studies {
    const struct store_row *rows[2];
    uint32_t counts[2];
};

static int tell_point(const struct differ *differ, const struct catalogue *catalogue,
                      const struct two_studies *studies)
{
    const struct options *options = &differ->options;
    struct cli *cli = options->cli;
    struct diff_asked asked = {.catalogue = catalogue};
    for (uint32_t side = 0; side < 2; side++) {
        const struct side *from = &differ->sides[side];
        const struct store_row *row =
            row_labelled(studies->rows[side], studies->counts[side], differ->point);
        if (row == NULL || !store_row_is_good(row)) {
            diag_add(cli->diag, DIAG_USAGE, NULL, "--point: %s has no result of '%.60s'",
                     from->name, differ->point);
            diag_help(cli->diag, "`stoker diff` of both studies lists their points");
            return EXIT_USAGE;
        }
        asked.sides[side].name = from->name;
        if (!take_run(options, from, row, &asked.sides[side])) {
            return EXIT_INPUT;
        }
    }
    return tell_one(differ, &asked);
}

static int diff_studies(const struct differ *differ, const struct catalogue *catalogue)
{
    struct cli *cli = differ->options.cli;
    struct two_studies studies;
    for (uint32_t side = 0; side < 2; side++) {
        const struct side *from = &differ->sides[side];
        studies.rows[side] =
            store_points(from->store, cli->arena, from->study->key, &studies.counts[side]);
    }
    if (differ->point != NULL) {
        return tell_point(differ, catalogue, &studies);
    }
    struct diff_point *items;
    struct diff_points points = points_of(differ, studies.counts[0] + studies.counts[1], &items);
    for (uint32_t i = 0; i < studies.counts[0]; i++) {
        const struct store_row *row = &studies.rows[0][i];
        items[points.count++] = (struct diff_point){
            row->label, {row, row_labelled(studies.rows[1], studies.counts[1], row->label)}};
    }
    for (uint32_t i = 0; i < studies.counts[1]; i++) {
        const struct store_row *row = &studies.rows[1][i];
        if (row_labelled(studies.rows[0], studies.counts[0], row->label) == NULL) {
            items[points.count++] = (struct diff_point){row->label, {NULL, row}};
        }
    }
    for (uint32_t side = 0; side < 2; side++) {
        const struct store_study_row *study = differ->sides[side].study;
        points.titles[side] = arena_printf(cli->arena, "%.60s, build %.*s", study->title,
                                           BUILDS_DIGITS, study->build);
    }
    points.next = arena_printf(cli->arena, "stoker diff %s %s --point LABEL", points.names[0],
                               points.names[1]);
    struct sheet *sheet = sheet_new(cli->arena, DIFF_SCHEMA);
    diff_add_points(&points, sheet);
    return print(&differ->options, sheet);
}

static int diff_builds(const struct differ *differ)
{
    struct cli *cli = differ->options.cli;
    struct store *store = differ->sides[0].store;
    const char *const builds[] = {differ->sides[0].key, differ->sides[1].key};
    uint32_t count = 0;
    const struct store_pair *pairs = store_pairs(store, cli->arena, builds, &count);
    struct diff_point *items;
    struct diff_points points = points_of(differ, count, &items);
    for (uint32_t i = 0; i < count; i++) {
        const struct store_row *a = store_run_found(store, cli->arena, pairs[i].keys[0]);
        const struct store_row *b = store_run_found(store, cli->arena, pairs[i].keys[1]);
        if (a != NULL && b != NULL) {
            items[points.count++] = (struct diff_point){
                arena_printf(cli->arena, "%.8s %.8s  %.40s", a->key, b->key, a->title), {a, b}};
        }
    }
    if (points.count == 0 && !diag_has_error(cli->diag)) {
        diag_add(cli->diag, DIAG_INPUT, NULL, "no scenario was predicted by both builds");
        diag_help(cli->diag, "`stoker diff KEY` predicts a stored run's scenario with this one");
        return EXIT_INPUT;
    }
    points.titles[0] = points.titles[1] = "runs of one scenario each, with its constants";
    points.next = "stoker diff KEY KEY, of a line's two keys";
    struct sheet *sheet = sheet_new(cli->arena, DIFF_SCHEMA);
    diff_add_points(&points, sheet);
    return print(&differ->options, sheet);
}

/* ---- the command ---------------------------------------------------------------------------- */

static int answer(struct differ *differ)
{
    const struct options *options = &differ->options;
    const uint32_t count = options->arguments.count;
    struct catalogue catalogue = options_catalogue_again(options);
    catalogue.house = NULL; /* all that is predicted here is resolved */
    for (uint32_t i = 0; i < count; i++) {
        differ->sides[i].name = options->arguments.items[i];
        if (!find_side(options, &differ->sides[i])) {
            return EXIT_INPUT;
        }
    }
    if (!(count > 1 ? check_kinds(differ) : check_alone(differ))) {
        return EXIT_USAGE;
    }
    return differ->sides[0].kind == SIDE_STUDY   ? diff_studies(differ, &catalogue)
           : differ->sides[0].kind == SIDE_BUILD ? diff_builds(differ)
                                                 : diff_one(differ, &catalogue);
}

static int run(struct options *options)
{
    struct differ *differ = (struct differ *)options;
    const int status = answer(differ);
    for (uint32_t i = 0; i < 2; i++) {
        store_close(differ->sides[i].store);
    }
    return status;
}

const struct command command_diff = {
    .name = "diff",
    .summary = "why an answer is another than it was: inputs, constants, the program",
    .scenarios = SCENARIOS_ALSO,
    .arguments = "A B\nRUN",
    .about =
        "Holds B against A: what moved days, USD and the step, by input (each simulated alone, "
        "last "
        "and, of few, in all orders), by constant of the catalogue, and by the program itself. A "
        "and B are stored runs (the beginning of a key, or FILE.db:KEY of another results file), "
        "scenario files, which are predicted now, two studies, or two builds of one results file. "
        "A stored run has all constants of its day in it; alone it is held against what this build "
        "predicts with them."
        "\vExample: stoker diff last-month.db:04df95 mine.yaml\n"
        "stoker diff 04df95 | stoker diff STUDY STUDY --point \"2 micro\" | stoker diff BUILD "
        "BUILD",
    .options = {own_options, options_prediction, options_store, options_table, options_page,
                options_general},
    .arguments_min = 1,
    .arguments_max = 2,
    .wanted = "a stored run, study or build, or a scenario file",
    .input_size = sizeof(struct differ),
    .run = run,
};
