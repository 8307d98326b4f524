/* The command `stoker compare`: it predicts scenarios or the variants of one,
 * prints them side by side, and then holds each against the first.
 */
#include "report/numbers.h"
#include "report/points.h"
#include "cli/session.h"

#include "base/absent.h"
#include "base/arena.h"
#include "input/scenario_load.h"

#include <inttypes.h>
#include <math.h>

#define COMPARE_SCHEMA "stoker.compare/1"

/* ---- each by itself -------------------------------------------------------------------- */

static bool has_pipelines(const struct session *session)
{
    bool has_bubble = false;
    for (uint32_t i = 0; i < session->row_count; i++) {
        has_bubble |= session->rows[i].breakdown_s[CAUSE_BUBBLE] > 0;
    }
    return has_bubble;
}

static void add_spread(struct sheet *in, const char *key, const void *record)
{
    const struct store_row *row = record;
    sheet_text(in, key, is_absent(row->step_least_s) ? NULL : points_spread(sheet_arena(in), row));
}

static void add_bubble(struct sheet *in, const char *key, const void *record)
{
    const struct store_row *row = record;
    sheet_number(in, key, row->breakdown_s[CAUSE_BUBBLE] / row->step_s);
}

/* Columns that say something of at least one point. */
static void add_absolute(const struct session *session, struct sheet *sheet)
{
    const struct store_row *rows = session->rows;
    const bool has_runs = points_have_runs(rows, session->row_count);
    const bool has_spreads = points_have_spreads(rows, session->row_count);
    const struct field fields[] = {
        {NULL, FIELD_AT(struct store_row, label), FIELD_LEFT("")},
        {NULL, FIELD_AT(struct store_row, gpus), FIELD_COUNT("GPUs")},
        {NULL, FIELD_AT(struct store_row, step_s), FIELD_RIGHT("step s", "%.2f", 1)},
        {NULL, .add = add_spread, FIELD_COUNT(has_spreads ? POINTS_SPREAD_HEAD : NULL)},
        {NULL, FIELD_AT(struct store_row, mfu), FIELD_RIGHT("MFU %", "%.1f", 100)},
        {NULL, FIELD_AT(struct store_row, tokens_per_s_per_gpu), FIELD_COUNT("tokens/s/GPU")},
        {NULL, .add = add_bubble,
         FIELD_RIGHT(has_pipelines(session) ? "bubble %" : NULL, "%.1f", 100)},
        {NULL, FIELD_AT(struct store_row, memory_peak_bytes),
         FIELD_RIGHT("memory GB", "%.1f", 1e-9)},
        {NULL, FIELD_AT(struct store_row, days), FIELD_RIGHT(has_runs ? "days" : NULL, "%.1f", 1)},
        {NULL, FIELD_AT(struct store_row, gpu_hours),
         FIELD_SHOW(has_runs ? "GPU-hours" : NULL, number_short)},
        {NULL, FIELD_AT(struct store_row, cost_usd),
         FIELD_SHOW(has_runs ? "USD" : NULL, number_short)},
        {NULL, FIELD_AT(struct store_row, energy_kwh),
         FIELD_RIGHT(has_runs ? "MWh" : NULL, "%.0f", 1e-3)},
        {NULL, FIELD_AT(struct store_row, bound_by), FIELD_LEFT("bound by")},
    };
    enum { COLUMNS = sizeof fields / sizeof *fields };
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    for (uint32_t i = 0; i < session->row_count; i++) {
        if (points_is_good(&rows[i])) {
            sheet_row(table, &rows[i]);
            continue;
        }
        sheet_text(table, NULL, rows[i].label);
        for (uint32_t blank = 2; blank < COLUMNS; blank++) {
            sheet_text(table, NULL, NULL);
        }
        sheet_text(table, NULL, points_reason(session->options.cli->arena, &rows[i]));
    }
}

/* ---- against the first ------------------------------------------------------------------ */

struct change {
    const char *label; /* of the point */
    double speed_up;   /* tokens/s of the whole cluster, over the first's */
    double per_gpu;    /* the same per GPU */
    double cost_ratio; /* ABSENT: one of them has no run */
    double energy_ratio;
    enum cause cause; /* whose seconds per step changed most */
    double cause_s;   /* by how much; below 0: shorter */
};

static double ratio(double value, double first)
{
    return first > 0 ? value / first : ABSENT; /* also where one of them is */
}

static struct change change_of(const struct store_row *first, const struct store_row *row)
{
    struct change change = {
        .label = row->label,
        .per_gpu = ratio(row->tokens_per_s_per_gpu, first->tokens_per_s_per_gpu),
        .cost_ratio = ratio(row->cost_usd, first->cost_usd),
        .energy_ratio = ratio(row->energy_kwh, first->energy_kwh),
        .cause = CAUSE_COMPUTE,
    };
    change.speed_up = change.per_gpu * (double)row->gpus / (double)first->gpus;
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        const double difference = row->breakdown_s[cause] - first->breakdown_s[cause];
        if (fabs(difference) > fabs(change.cause_s)) {
            change.cause = (enum cause)cause;
            change.cause_s = difference;
        }
    }
    return change;
}

static void add_largest(struct sheet *in, const char *key, const void *record)
{
    const struct change *change = record;
    (void)key;
    if (change->cause_s < 0 || change->cause_s > 0) {
        sheet_say(in, "%s %+.3g s", cause_titles[change->cause], change->cause_s);
    } else {
        sheet_say(in, "nothing");
    }
}

/* The points, each with its change against the first, of which the text has a table. */
static void add_relative(const struct session *session, struct sheet *sheet)
{
    const struct store_row *first = &session->rows[0];
    const bool has_first = points_is_good(first);
    const bool has_runs = !is_absent(first->days);
    const char *head = arena_printf(session->options.cli->arena, "against %s", first->label);
    const struct field fields[] = {
        {NULL, FIELD_AT(struct change, label), FIELD_LEFT(head)},
        {"speed_up", FIELD_AT(struct change, speed_up), FIELD_RIGHT("tokens/s", "%.2f x", 1)},
        {"speed_up_per_gpu", FIELD_AT(struct change, per_gpu), FIELD_RIGHT("per GPU", "%.2f x", 1)},
        {"cost_ratio", FIELD_AT(struct change, cost_ratio),
         FIELD_RIGHT(has_runs ? "cost" : NULL, "%.2f x", 1)},
        {"energy_ratio", FIELD_AT(struct change, energy_ratio),
         FIELD_RIGHT(has_runs ? "energy" : NULL, "%.2f x", 1)},
        {"largest_change", FIELD_AT(struct change, cause), .names = cause_names},
        {"largest_change_s", FIELD_AT(struct change, cause_s)},
        {NULL, .add = add_largest, FIELD_LEFT("of a step, what changed most")},
    };
    struct sheet *points = sheet_array(sheet, "points");
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < session->row_count; i++) {
        const struct store_row *row = &session->rows[i];
        struct sheet *point = points_add(points, row);
        if (!has_first || !points_is_good(row)) {
            sheet_null_as(point, "against_first", NULL);
            continue;
        }
        const struct change change = change_of(first, row);
        sheet_members(sheet_object(point, "against_first"), FIELD_LIST(fields), &change);
        if (i > 0) {
            sheet_row(table, &change);
        }
    }
    if (!has_first) {
        sheet_say(sheet, "\nThe first has no result to compare with.\n");
    }
}

static void add(struct session *session, struct sheet *sheet)
{
    add_absolute(session, sheet);
    add_relative(session, sheet);
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
    return is_good;
}

static bool expand(struct session *session)
{
    const struct options *options = &session->options;
    struct cli *cli = options->cli;
    const uint32_t count = options->arguments.count;
    session->catalogue = options_catalogue(options);
    const struct study_base base = options_study_base(options, &session->catalogue);
    const struct doc_node **documents = arena_array(cli->arena, count, sizeof *documents);
    if (!load_documents(options, documents)) {
        return false;
    }
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

static int run(struct options *options)
{
    static const struct session_command command = {COMPARE_SCHEMA, expand, add};
    return session_main((struct session *)options, &command);
}

const struct command command_compare = {
    .name = "compare",
    .summary = "several scenarios or variants side by side, and what changed",
    .arguments = "FILE FILE...\nFILE_WITH_VARIANTS",
    .about = "Puts several scenarios side by side (of one with sweep: or variants:, each of its "
             "points), "
             "then each against the first: how much faster, "
             "which cause changed most, what it costs."
             "\vExample: stoker compare scenarios/study-gpus.yaml --plot dollars\n"
             "Exit status 4: none of them fits; 5: some failed.",
    .options = {options_prediction, options_store, session_options, options_general},
    .arguments_min = 1,
    .arguments_max = UINT32_MAX,
    .wanted = "two scenario files, or one with variants:",
    .input_size = sizeof(struct session),
    .run = run,
};
