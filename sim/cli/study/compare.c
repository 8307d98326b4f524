/* The command `stoker compare`: it predicts scenarios or the variants of one,
 * prints them side by side, and then holds each against the first, or the one that is named.
 */
#include "base/arena.h"
#include "cli/anchor.h"
#include "cli/study/session.h"
#include "input/scenario_load.h"
#include "report/study/compare_sheet.h"
#include "report/study/flip_sheet.h"

#include <string.h>

#define COMPARE_SCHEMA "stoker.compare/1"

/* Begins with the session, so that shared parsers find it. */
struct comparison {
    struct session session;
    const char *against; /* --against; NULL: the first */
    bool flips;
    const struct doc_node *document; /* of the first file */
    struct study_base base;
    struct flip flip;
    const struct against *as_it_is; /* of the rows, the next the base; NULL: nothing was asked */
};

static const struct command_option compare_options[] = {
    {"against", 0, "LABEL", "Hold the others against this point instead of the first",
     OPTION_TEXT(struct comparison, against)},
    {"flip", 0, NULL,
     "What would change the answer: each point again with another batch, sequence, precision, "
     "layout, number and generation of GPUs, and at its best layout",
     OPTION_FLAG(struct comparison, flips)},
    {0},
};

/* The point that --against names; the first where it names none. */
static const struct store_row *base_row(const struct session *session)
{
    const char *against = ((const struct comparison *)session)->against;
    for (uint32_t i = 0; against != NULL && i < session->row_count; i++) {
        if (strcmp(session->rows[i].label, against) == 0) {
            return &session->rows[i];
        }
    }
    return &session->rows[0];
}

static void answer(struct session *session, struct sheet *sheet)
{
    const struct store_row *base = base_row(session);
    const struct shown_points points =
        session_shown(session, session_against(session, base), USUAL_IN_COMPARE);
    struct arena *arena = session->options.cli->arena;
    const struct comparison *comparison = (const struct comparison *)session;
    const char *text = compare_answer(arena, &points, base);
    const char *turns =
        comparison->as_it_is != NULL ? flip_answer(arena, &comparison->flip, session->rows) : NULL;
    sheet_answer(sheet, turns != NULL ? arena_printf(arena, "%s %s", text, turns) : text);
}

static void add(struct session *session, struct sheet *sheet)
{
    const struct store_row *base = base_row(session);
    const struct against *against = session_against(session, base);
    const struct wins *wins = session_wins(session, base, against);
    const struct shown_points points = session_shown(session, against, USUAL_IN_COMPARE);
    compare_add(&points, base, wins, sheet);
    const struct comparison *comparison = (const struct comparison *)session;
    if (comparison->as_it_is != NULL) {
        flip_add(&comparison->flip, session->rows, comparison->as_it_is, sheet);
    }
    session_add_required(session, against, sheet);
}

/* ---- the command --------------------------------------------------------------------------- */

static bool load_documents(const struct options *options, const struct doc_node **documents)
{
    struct cli *cli = options->cli;
    bool is_good = true;
    for (uint32_t i = 0; i < options->arguments.count; i++) {
        documents[i] = scenario_load_document(cli->arena, options->arguments.items[i], cli->diag);
        is_good = documents[i] != NULL && is_good;
    }
    return is_good && anchor_put(options, documents, options->arguments.count);
}

/* --against must name a point. */
static bool check_against(const struct session *session)
{
    const char *against = ((const struct comparison *)session)->against;
    const struct study *study = &session->study;
    struct cli *cli = session->options.cli;
    const char **labels = arena_array(cli->arena, study->count, sizeof *labels);
    bool is_there = against == NULL;
    for (uint32_t i = 0; i < study->count; i++) {
        labels[i] = study->points[i].label;
        is_there = is_there || strcmp(labels[i], against) == 0;
    }
    if (is_there) {
        return true;
    }
    diag_add(cli->diag, DIAG_USAGE, NULL, "--against: there is no point '%s'", against);
    diag_help_nearest(cli->diag, diag_nearest(against, labels, study->count),
                      arena_printf(cli->arena, "the points are %s",
                                   sheet_joined(cli->arena, labels, study->count)));
    return false;
}

static bool expand_points(struct session *session)
{
    const struct options *options = &session->options;
    struct cli *cli = options->cli;
    const uint32_t count = options->arguments.count;
    session->catalogue = options_catalogue(options);
    struct study_base base = options_study_base(options, &session->catalogue);
    base.jobs = (uint32_t)session->jobs;
    const struct doc_node **documents = arena_array(cli->arena, count, sizeof *documents);
    if (!load_documents(options, documents) || !session_require(session, documents, count)) {
        return false;
    }
    struct comparison *comparison = (struct comparison *)session;
    comparison->document = documents[0];
    comparison->base = base;
    if (count > 1) {
        return study_of_documents(cli->arena, documents, count, &base, &session->study, cli->diag);
    }
    if (!study_is_asked(documents[0])) {
        diag_add(cli->diag, DIAG_INPUT, &documents[0]->place,
                 "one scenario without variants: leaves nothing to compare");
        diag_help(cli->diag, "name a second file, or write variants: [{name: ..., set: {...}}]");
        return false;
    }
    return study_expand(cli->arena, documents[0], &base, &session->study, cli->diag);
}

static bool expand(struct session *session)
{
    return expand_points(session) && check_against(session);
}

/* Runs each change as a study of its own. */
static void ask_changes(struct comparison *comparison)
{
    struct session *session = &comparison->session;
    struct arena *arena = session->options.cli->arena;
    const struct flip_request request = {.document = comparison->document,
                                         .study = &session->study,
                                         .rows = session->rows,
                                         .of = &comparison->base};
    struct flip *flip = &comparison->flip;
    if (!flip_ask(arena, &request, flip)) {
        return;
    }
    for (uint32_t i = 0; i < flip->count; i++) {
        struct flip_change *change = &flip->changes[i];
        struct store_row *rows;
        struct against_points points = session_points(session);
        points.study = &change->study;
        if (change->lack == NULL &&
            session_run_more(session, &change->study, &rows, &points.count)) {
            points.rows = rows;
            change->rows = rows;
            change->next = flip_next(rows, points.count, flip->fastest);
            change->against = change->next < points.count
                                  ? against_of(arena, &points, &rows[change->next])
                                  : NULL;
        }
    }
    const struct against_points now = session_points(session);
    const uint32_t next = flip_next(now.rows, now.count, flip->fastest);
    comparison->as_it_is = against_of(arena, &now, &session->rows[next]);
}

static void prepare(struct session *session)
{
    session_prepare_required(session);
    struct comparison *comparison = (struct comparison *)session;
    if (comparison->flips && session->row_count > 0) {
        ask_changes(comparison);
    }
}

static int run(struct options *options)
{
    static const struct session_command command = {.schema = COMPARE_SCHEMA,
                                                   .expand = expand,
                                                   .prepare = prepare,
                                                   .add = add,
                                                   .answer = answer};
    return session_main((struct session *)options, &command);
}

const struct command command_compare = {
    .name = "compare",
    .summary = "several scenarios or variants side by side, and what changed",
    .scenarios = SCENARIOS_ALL,
    .arguments = "FILE FILE...\nFILE_WITH_VARIANTS",
    .about =
        "Puts several scenarios side by side (of one with sweep: or variants:, each of its "
        "points), "
        "then each against the first, or the one named: how much faster, "
        "which cause changed most, what it costs, and what a GPU-hour may cost more. Runs of as "
        "many tokens are ranked by days, USD and kWh, with the front that nothing beats in all "
        "of these."
        "\vExample: stoker compare scenarios/study-gpus.yaml --plot dollars\n"
        "stoker compare scenarios/study-fabric-70b.yaml --flip\n"
        "stoker compare scenarios/study-old-or-new.yaml --require 'days<=60'\n"
        "Exit status 4: none of them fits, or none meets what is required; 5: some failed.",
    .options = {options_prediction, options_anchor, options_store, options_no_store,
                session_options, compare_options, requirement_options, options_table, options_page,
                options_general},
    .arguments_min = 1,
    .arguments_max = UINT32_MAX,
    .wanted = "two scenario files, or one with variants:",
    .input_size = sizeof(struct comparison),
    .run = run,
};
