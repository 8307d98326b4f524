/* The command `stoker sweep`: it predicts every point of a study and prints
 * them as a table.
 */
#include "report/points.h"
#include "cli/anchor.h"
#include "report/against_sheet.h"
#include "cli/study/bests.h"
#include "cli/study/portfolios.h"
#include "cli/study/session.h"

#include "base/absent.h"
#include "base/arena.h"
#include "input/scenario_load.h"
#include "input/study/auto_keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SWEEP_SCHEMA "stoker.sweep/1"

/* ---- columns ----------------------------------------------------------------------- */

/* A column for each axis and each metric, what bounds a point or why it has no result; and how much
 * faster it is than the base and how many days more it takes, where nobody asked for other
 * metrics. */
static struct sheet *add_table(const struct sweeper *sweeper, bool has_ratios, bool has_days,
                               struct sheet *sheet)
{
    const struct session *session = &sweeper->session;
    const struct study_point *first = &session->study.points[0];
    const uint32_t count = first->axis_count + session->metrics.count + 8;
    struct field *fields = arena_array(session->options.cli->arena, count, sizeof *fields);
    struct field *field = fields;
    for (uint32_t i = 0; i < first->axis_count; i++) {
        const bool is_text = strcmp(first->axes[i], STUDY_VARIANT_AXIS) == 0;
        *field++ = (struct field){.head = study_axis_head(first, i), .is_right = !is_text};
    }
    for (uint32_t i = 0; i < session->metrics.count; i++) {
        const struct figure_metric *metric = store_metric_find(session->metrics.items[i]);
        *field++ = (struct field){FIELD_COUNT(metric->head)};
    }
    const bool has_spreads = points_have_spreads(session->rows, session->row_count);
    *field++ = (struct field){FIELD_COUNT(has_spreads ? POINTS_SPREAD_HEAD : NULL)};
    *field++ = (struct field){FIELD_COUNT(has_ratios ? "tokens/s" : NULL)};
    *field++ = (struct field){FIELD_LEFT(has_ratios ? "p10 to p90" : NULL)};
    *field++ = (struct field){FIELD_LEFT(has_ratios ? "which is" : NULL)};
    *field++ = (struct field){FIELD_LEFT(has_days ? "days more" : NULL)};
    *field++ = (struct field){FIELD_LEFT(has_days ? "which is" : NULL)};
    *field++ = (struct field){FIELD_LEFT(required_head(&sweeper->session.requirements))};
    *field++ = (struct field){FIELD_LEFT("bound by, of the critical path")};
    return sheet_table(sheet, NULL, fields, count);
}

static void add_row(const struct sweeper *sweeper, const struct store_row *row,
                    const struct against *against, struct sheet *table)
{
    const struct session *session = &sweeper->session;
    struct arena *arena = session->options.cli->arena;
    const bool is_good = store_row_is_good(row);
    for (uint32_t i = 0; i < row->axis_count; i++) {
        sheet_text(table, NULL, row->value_texts[i]);
    }
    for (uint32_t i = 0; i < session->metrics.count; i++) {
        const struct figure_metric *metric = store_metric_find(session->metrics.items[i]);
        sheet_text(table, NULL, is_good ? points_metric(arena, metric, row) : NULL);
    }
    sheet_text(table, NULL, is_good ? points_spread(arena, row) : NULL);
    sheet_text(table, NULL,
               is_absent(against->speed_up) ? NULL
                                            : arena_printf(arena, "%.2f x", against->speed_up));
    sheet_text(table, NULL, against_range(arena, against));
    sheet_text(table, NULL, against->verdict);
    sheet_text(table, NULL, against_days(arena, against));
    sheet_text(table, NULL, against->days_verdict);
    sheet_text(table, NULL, required_cell(&sweeper->session.requirements, row, arena));
    sheet_text(table, NULL, is_good ? row->bound_by : points_reason(arena, row));
}

/* ---- the best ------------------------------------------------------------------------ */

/* By the metric that was asked for, or by each that decides where nobody says; then by what counts
 * where the asked one does not compare. */
static void add_winners(struct session *session, const struct against *against, bool is_asked,
                        struct sheet *sheet)
{
    struct arena *arena = session->options.cli->arena;
    const struct against_rows rows = {session->rows, against, session->row_count};
    const struct candidates candidates = against_candidates(arena, &rows, NULL);
    struct sheet *list = sheet_array(sheet, "winners");
    if (candidates.count == 0) {
        return;
    }
    struct judges judges = judges_of(&candidates);
    if (is_asked) {
        judges = judges_asked(arena, &candidates, store_metric_find(session->metrics.items[0]));
    }
    sheet_say(sheet, "\n");
    for (uint32_t i = 0; i < judges.count; i++) {
        const struct winners winners = winners_of(arena, &candidates, judges.items[i]);
        if (winners.best != NULL) {
            winners_add(&winners, sheet_object(list, NULL));
            winners_say(&winners, "", sheet);
        }
    }
}

/* That the others are held against: the first that has a result. */
static const struct store_row *base_row(const struct session *session)
{
    uint32_t i = 0;
    while (i + 1 < session->row_count && !store_row_is_good(&session->rows[i])) {
        i++;
    }
    return &session->rows[i];
}

static void add_against(struct sheet *point, const struct against *against)
{
    if (is_absent(against->speed_up)) {
        sheet_null_as(point, "against_first", NULL);
        return;
    }
    struct sheet *object = sheet_object(point, "against_first");
    sheet_number(object, "speed_up", against->speed_up);
    sheet_number(object, "speed_up_per_gpu", against->per_gpu);
    against_add(object, against);
}

static bool is_of_portfolio(const struct options *options)
{
    return options_given(options, "portfolio");
}

static void add(struct session *session, struct sheet *sheet)
{
    const struct sweeper *sweeper = (const struct sweeper *)session;
    if (is_of_portfolio(&session->options)) {
        portfolios_add(sweeper, sheet);
        return;
    }
    if (sweeper->best != BEST_NONE) {
        sweeper_add_bests(sweeper, sheet);
        return;
    }
    const bool is_asked = session_choose_metrics(session, USUAL_IN_SWEEP);
    const struct store_row *base = base_row(session);
    const struct against *against = session_against(session, base);
    const bool has_ratios = !is_asked && against_are_known(against, session->row_count);
    const bool has_days = !is_asked && against_have_days(against, session->row_count);
    sheet_text(sheet, "against", store_row_is_good(base) ? base->label : NULL);
    struct sheet *points = sheet_array(sheet, "points");
    struct sheet *table = add_table(sweeper, has_ratios, has_days, sheet);
    uint32_t listed = 0;
    struct arena *arena = session->options.cli->arena;
    const struct against_rows points_of = {session->rows, against, session->row_count};
    const uint32_t *order = listing_order(arena, &sweeper->listing, &points_of,
                                          &sweeper->session.requirements, &listed);
    for (uint32_t i = 0; i < session->row_count; i++) {
        struct sheet *point = points_add(points, &session->rows[i]);
        required_add_point(&sweeper->session.requirements, point, &session->rows[i]);
        add_against(point, &against[i]);
    }
    for (uint32_t i = 0; i < listed; i++) {
        add_row(sweeper, &session->rows[order[i]], &against[order[i]], table);
    }
    listing_say_rest(session->row_count, listed, sheet);
    add_winners(session, against, is_asked, sheet);
    if (has_ratios || has_days) {
        sheet_say(sheet, "%s relative to %s.\n",
                  !has_days    ? "tokens/s are"
                  : has_ratios ? "tokens/s and days are"
                               : "days are",
                  base->label);
        against_say(sheet, against, session->row_count);
        if (has_days) {
            against_say_days(sheet, against, session->row_count);
        }
    }
    session_add_required(session, against, sheet);
}

/* A comma too many: the list would lack a value. Those within brackets and quotes are values'. */
static bool has_gap(const char *values)
{
    char before = ',';
    for (const char *at = values;; at++) {
        if (strchr("[{\"'", *at) != NULL && *at != '\0') {
            return false;
        }
        if ((*at == ',' || *at == '\0') && before == ',') {
            return true;
        }
        if (*at == '\0') {
            return false;
        }
        if (*at != ' ') {
            before = *at;
        }
    }
}

/* "KEY=A,B" as the document's sweep: would say it; NULL, with a message, when it is not that. */
static const char *axis_set(const struct sweeper *sweeper, const char *axis)
{
    struct cli *cli = sweeper->session.options.cli;
    const char *equals = strchr(axis, '=');
    if (equals == NULL || equals == axis || equals[1] == '\0') {
        diag_add(cli->diag, DIAG_USAGE, NULL, "--axis %s has no key or no values", axis);
        diag_help(cli->diag, "write it like --axis cluster.network=\"400 Gbps,3200 Gbps\" or "
                             "--axis batch.micro=1..4");
        return NULL;
    }
    const int key = (int)(equals - axis);
    if (has_gap(equals + 1)) {
        diag_add(cli->diag, DIAG_USAGE, NULL, "--axis %s lacks a value beside a comma", axis);
        diag_help(cli->diag, "write one comma between two values, like --axis %.*s=A,B", key, axis);
        return NULL;
    }
    int64_t from = 0;
    int64_t to = 0;
    int length = 0;
    if (sscanf(equals + 1, "%" SCNd64 "..%" SCNd64 "%n", &from, &to, &length) != 2 ||
        equals[1 + length] != '\0') {
        return arena_printf(cli->arena, "sweep.%.*s=[%s]", key, axis, equals + 1);
    }
    if (to < from || to - from >= STUDY_POINTS_MAX) {
        diag_add(cli->diag, DIAG_USAGE, NULL, "--axis %s %s", axis,
                 to < from ? "has no values" : "is too long");
        diag_help(cli->diag, "write the smaller end first, like 1..8");
        return NULL;
    }
    const char *list = "";
    for (int64_t value = from; value <= to; value++) {
        list = arena_printf(cli->arena, "%s%s%" PRId64, list, value > from ? ", " : "", value);
    }
    return arena_printf(cli->arena, "sweep.%.*s=[%s]", key, axis, list);
}

/* A later one would take the place of the earlier. */
static bool check_axis_once(const struct sweeper *sweeper, uint32_t number)
{
    const char *axis = sweeper->axes.items[number];
    const size_t key = strcspn(axis, "=") + 1;
    for (uint32_t i = 0; i < number; i++) {
        if (strncmp(sweeper->axes.items[i], axis, key) == 0) {
            struct diag *diag = sweeper->session.options.cli->diag;
            diag_add(diag, DIAG_USAGE, NULL, "--axis %.*s is there twice", (int)key - 1, axis);
            diag_help(diag, "write all its values in one: --axis %.*s=A,B,C", (int)key - 1, axis);
            return false;
        }
    }
    return true;
}

/* What the file sweeps under that dotted key gives way to the command line's axis, as a nested one
 * does. */
static void drop_swept(struct arena *arena, struct doc_node *document, const char *axis)
{
    struct doc_node *swept = *doc_link(document, "sweep");
    if (swept != NULL && swept->kind == DOC_MAPPING) {
        doc_drop(swept, arena_strndup(arena, axis, strcspn(axis, "=")));
    }
}

/* The document with the axes of the command line. */
static const struct doc_node *add_axes(const struct sweeper *sweeper,
                                       const struct doc_node *document)
{
    struct cli *cli = sweeper->session.options.cli;
    if (sweeper->axes.count == 0) {
        return document;
    }
    struct doc_node *copy = doc_copy(cli->arena, document);
    for (uint32_t i = 0; i < sweeper->axes.count; i++) {
        const char *set = axis_set(sweeper, sweeper->axes.items[i]);
        drop_swept(cli->arena, copy, sweeper->axes.items[i]);
        if (set == NULL || !check_axis_once(sweeper, i)) {
            return NULL;
        }
        if (!doc_set(cli->arena, copy, set, cli->diag)) {
            diag_help(cli->diag, "--axis KEY=A,B is sweep: {KEY: [A, B]} in the file: put quotes "
                                 "around a value that holds signs of YAML");
            return NULL;
        }
    }
    return copy;
}

/* A portfolio and a scenario are taken for one another easily. */
static bool check_kind(const struct options *options, const struct doc_node *document)
{
    struct diag *diag = options->cli->diag;
    const struct doc_node *portfolio = doc_find(document, "portfolio");
    if (portfolio != NULL && !is_of_portfolio(options)) {
        diag_add(diag, DIAG_INPUT, &portfolio->key_place, "this is a portfolio, not a scenario");
        diag_help(diag, "sweep it with `stoker sweep --portfolio %s`", options->arguments.items[0]);
        return false;
    }
    if (portfolio == NULL && is_of_portfolio(options)) {
        diag_add(diag, DIAG_INPUT, &document->place, "there is no portfolio: in it");
        diag_help(diag, "write one like portfolio: [{scenario: dense.yaml, weight: 60 %%}, "
                        "{scenario: moe.yaml, weight: 40 %%}] with sweep: and lose:");
        return false;
    }
    return true;
}

static bool expand(struct session *session)
{
    struct sweeper *sweeper = (struct sweeper *)session;
    const struct options *options = &session->options;
    struct cli *cli = options->cli;
    session->catalogue = options_catalogue(options);
    struct study_base base = options_study_base(options, &session->catalogue);
    base.jobs = (uint32_t)session->jobs;
    const struct doc_node *read = anchor_load_document(options, options->arguments.items[0]);
    const struct doc_node *swept = read != NULL ? add_axes(sweeper, read) : NULL;
    const struct doc_node *document =
        swept != NULL && sweeper->best != BEST_NONE ? auto_keys_left_out(cli->arena, swept) : swept;
    if (document == NULL) {
        return false;
    }
    sweeper->has_own_layout = auto_keys_of(cli->arena, swept, base.sets, base.set_count).count == 0;
    if (!check_kind(options, document)) {
        return false;
    }
    if (is_of_portfolio(options)) {
        return portfolios_expand(sweeper, document, &base);
    }
    if (!study_is_asked(document)) {
        diag_add(cli->diag, DIAG_INPUT, &document->place, "there is no sweep: and no variants:");
        diag_help(cli->diag, "write one like sweep: {batch.micro: [1, 2, 4]}, or --axis "
                             "batch.micro=1,2,4, or use `stoker run`");
        return false;
    }
    /* What a shard's points miss is known when all are there. */
    const uint32_t count = session->many.shard.count > 0 ? 0 : 1;
    return session_require(session, &document, count) &&
           study_expand(cli->arena, document, &base, &session->study, cli->diag) &&
           (sweeper->best == BEST_NONE || sweeper_expand_bests(sweeper, document, &base));
}

/* "results/stoker-2-of-4.db": beside the usual file, and never it. */
static const char *shard_path(struct arena *arena, struct shard shard)
{
    static const char suffix[] = ".db";
    const int stem = (int)(sizeof OPTIONS_DB_DEFAULT - sizeof suffix);
    return arena_printf(arena, "%.*s-%" PRIu32 "-of-%" PRIu32 "%s", stem, OPTIONS_DB_DEFAULT,
                        shard.number, shard.count, suffix);
}

/* Checks the study, too: what is wrong with it is better known before a cluster runs it. */
static int print_script(struct session *session)
{
    struct options *options = &session->options;
    if (!options_refuse(options,
                        "shard json plot size output metric require feasible sort top format no-db",
                        "a script, whose shards only store their points",
                        "leave it out; ask for it when the shards are merged")) {
        return EXIT_USAGE;
    }
    if (!expand(session)) {
        return EXIT_INPUT;
    }
    struct arena *arena = options->cli->arena;
    const char *db = shell_quoted(arena, arena_printf(arena, "--db=%s", options->db_path));
    const struct shard_script script = {
        .piece_count = session->study.count,
        .pieces = "points",
        .folder = arena_printf(arena, "%s.shards-%.8s", options->db_path, session->study.key),
        .suffix = ".db",
        .write = "--db=",
        .read = "",
        .join = "merge",
        .join_words = arena_printf(arena, " %s --complete", db),
    };
    return launch_print(options, &session->many, &script, " db ");
}

static void prepare(struct session *session)
{
    struct sweeper *sweeper = (struct sweeper *)session;
    session_prepare_required(session);
    if (sweeper->bests.number_of != NULL) {
        sweeper_prepare_bests(sweeper);
    }
}

static int run(struct options *options)
{
    static const struct session_command command = {SWEEP_SCHEMA, expand, prepare, add};
    struct session *session = (struct session *)options;
    const struct shard shard = session->many.shard;
    const struct sweeper *sweeper = (const struct sweeper *)options;
    if (is_of_portfolio(options) &&
        !options_refuse(options, "shard slurm parallel metric require feasible sort top anchor",
                        "a portfolio, whose table has a line for each fabric",
                        "leave it out, or sweep one of its scenarios by itself")) {
        return EXIT_USAGE;
    }
    if (sweeper->best == BEST_NONE
            ? !options_refuse(options, "by gap", "a sweep of what is", "add --best layout")
            : !is_of_portfolio(options) &&
                  !options_refuse(options, "shard slurm parallel metric feasible sort top",
                                  "--best",
                                  "leave it out: `stoker search` has shards, of one value")) {
        return EXIT_USAGE;
    }
    if (launch_is_wanted(options)) {
        return print_script(session);
    }
    if (shard.count > 0) {
        if (!options_refuse(options, "plot size output require",
                            "a shard, which lacks the other points",
                            "merge the shards, then draw with `stoker plot`") ||
            !options_refuse(options, "no-db", "a shard, whose points are stored to be merged",
                            "leave it out")) {
            return EXIT_USAGE;
        }
        if (!options_given(options, "db")) {
            options->db_path = shard_path(options->cli->arena, shard);
        }
    }
    if (options->is_json && !options_refuse(options, "feasible sort top", "--json",
                                            "the document has all points, in their order")) {
        return EXIT_USAGE;
    }
    return session_main(session, &command);
}

static void read_sort(const struct command_option *option, const char *argument, void *input,
                      struct argp_state *state)
{
    struct sweeper *sweeper = input;
    (void)option;
    sweeper->listing.sort = requirement_metric_find(argument);
    if (sweeper->listing.sort == NULL) {
        argp_error(state,
                   "there is no metric '%s'; `stoker list metrics` names them, gpus is one, "
                   "too",
                   argument);
    }
}

static const struct command_option listing_options[] = {
    {"feasible", 0, NULL, "List only the points that have a result",
     OPTION_FLAG(struct sweeper, listing.is_feasible)},
    {"sort", 0, "METRIC", "List the best by this metric first (`stoker list metrics`, or gpus)",
     OPTION_OWN(read_sort, struct sweeper, listing.sort)},
    {"top", 0, "N", "List only the first N points",
     OPTION_COUNT(struct sweeper, listing.top, 1, STUDY_POINTS_MAX)},
    {0},
};

static const char *const best_names[BEST_COUNT_] = {"none", "layout", "usual"};

static const struct command_option own_options[] = {
    {"axis", 0, "KEY=A,B|A..B",
     "Sweep this key over these values, as sweep: in the file would say it; may be repeated",
     OPTION_LIST(struct sweeper, axes)},
    {"portfolio", 0, NULL,
     "FILE is a portfolio: scenarios with shares of GPU-hours, on each of the fabrics that its "
     "sweep: has; which lose at most what `lose:` says, and what these cost",
     OPTION_BARE},
    {"best", 0, "layout|usual",
     "Each value at its own best layout, found as by `stoker search` (search: narrows it), and "
     "what the layouts of the other values would cost there; usual: of axes that search: does not "
     "name the usual values, as auto has them, which takes seconds",
     OPTION_CHOICE(struct sweeper, best, best_names, BEST_COUNT_)},
    {"by", 0, "step|days|cost|energy", "With --best: what is to be least (default: step)",
     OPTION_CHOICE(struct sweeper, by, search_by_names, SEARCH_BY_COUNT_)},
    {"gap", 0, "PERCENT",
     "With --best: end a search when no layout can be better by more than that (default: 0)",
     OPTION_QUANTITY(struct sweeper, gap, DIM_FRACTION, 0.0, 1.0)},
    {0},
};

static const struct command_option many_options[] = {
    MANY_OPTIONS(struct session, many,
                 "Only part K of N, counted from 1, for several machines: its points go to a "
                 "results file of their own (default results/stoker-K-of-N.db), which `stoker "
                 "merge` joins",
                 "points"),
    {0},
};

const struct command command_sweep = {
    .name = "sweep",
    .summary = "every combination of a scenario's sweep, stored as it goes",
    .arguments = "FILE",
    .about =
        "Predicts every combination that the scenario's sweep: and variants: ask for. Points "
        "are stored as they are done: a sweep that was stopped goes on where it was."
        "\vExamples: stoker sweep scenarios/study-batch.yaml --plot heatmap:mfu\n"
        "stoker sweep scenarios/study-batch.yaml --slurm=4 > study.sbatch && sbatch "
        "study.sbatch\n"
        "stoker sweep scenarios/study-batch.yaml --parallel=4 > study.sh && sh study.sh -S "
        "one,two\n"
        "stoker sweep scenarios/quickstart.yaml --axis cluster.network='400 Gbps,3200 Gbps' --best "
        "layout --gap 1%\n"
        "stoker sweep scenarios/study-batch.yaml --require 'mfu>=45 %' --require 'gpus<=1024'\n"
        "stoker sweep --portfolio scenarios/portfolios/one-fabric.yaml\n"
        "Exit status 4: no point fits, or none meets what is required (of a shard: never, others "
        "may have one that does); 5: some points failed.",
    .options = {options_prediction, options_anchor, options_store, options_no_store,
                session_options, own_options, requirement_options, listing_options, options_table,
                many_options, options_general},
    .arguments_min = 1,
    .arguments_max = 1,
    .wanted = "a scenario file with sweep: or variants:, or --axis",
    .input_size = sizeof(struct sweeper),
    .run = run,
};
