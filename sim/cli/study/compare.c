/* The command `stoker compare`: it predicts scenarios or the variants of one,
 * prints them side by side, and then holds each against the first, or the one that is named.
 *
 * What a point is worth against another: the price of a GPU-hour that it may have more, when the
 * same tokens are to cost the same: what it saves of the other's cost, over its own GPU-hours. It
 * is what a faster network may cost, NICs, switches and cables, over the hours of its life.
 */
#include "cli/study/session.h"
#include "report/numbers.h"
#include "report/points.h"
#include "report/ranking.h"
#include "report/time_parts.h"
#include "cli/anchor.h"
#include "report/against_sheet.h"
#include "report/study/listing.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "input/scenario_load.h"

#include <math.h>
#include <string.h>

#define COMPARE_SCHEMA "stoker.compare/1"
#define SHOWN_WHOLE 999.5 /* from there on without an exponent */

/* Begins with the session, so that shared parsers find it. */
struct comparison {
    struct session session;
    const char *against; /* --against; NULL: the first */
};

static const struct command_option compare_options[] = {
    {"against", 0, "LABEL", "Hold the others against this point instead of the first",
     OPTION_TEXT(struct comparison, against)},
    {0},
};

/* ---- each by itself -------------------------------------------------------------------- */

static bool has_pipelines(const struct session *session)
{
    bool has_bubble = false;
    for (uint32_t i = 0; i < session->row_count; i++) {
        has_bubble |= session->rows[i].breakdown_s[CAUSE_BUBBLE] > 0;
    }
    return has_bubble;
}

/* A column beside that of a metric, of what is no figure; NULL where it would say nothing. */
static const char *head_beside(const struct session *session, const struct figure_metric *metric)
{
    if (strcmp(metric->name, "step_s") == 0) {
        return points_have_spreads(session->rows, session->row_count) ? POINTS_SPREAD_HEAD : NULL;
    }
    return strcmp(metric->name, "tokens_per_s_per_gpu") == 0 && has_pipelines(session) ? "bubble %"
                                                                                       : NULL;
}

static const char *cell_beside(struct arena *arena, const struct figure_metric *metric,
                               const struct store_row *row)
{
    return strcmp(metric->name, "step_s") == 0
               ? points_spread(arena, row)
               : arena_printf(arena, "%.1f", 100 * row->breakdown_s[CAUSE_BUBBLE] / row->step_s);
}

/* A column for each metric, with three digits where its row says so and nobody asked for it. */
static struct sheet *add_table(const struct comparison *comparison, bool is_asked,
                               struct sheet *sheet)
{
    const struct session *session = &comparison->session;
    const uint32_t count = 2 * session->metrics.count + 4;
    struct field *fields = arena_array(session->options.cli->arena, count, sizeof *fields);
    struct field *field = fields;
    *field++ = (struct field){FIELD_LEFT("")};
    *field++ = (struct field){FIELD_COUNT("GPUs")};
    for (uint32_t i = 0; i < session->metrics.count; i++) {
        const struct figure_metric *metric = store_metric_find(session->metrics.items[i]);
        const bool is_short = !is_asked && metric->short_head != NULL;
        *field++ = (struct field){FIELD_COUNT(is_short ? metric->short_head : metric->head)};
        *field++ = (struct field){FIELD_COUNT(head_beside(session, metric))};
    }
    *field++ = (struct field){FIELD_LEFT(required_head(&comparison->session.requirements))};
    *field++ = (struct field){FIELD_LEFT("bound by, of the critical path")};
    return sheet_table(sheet, NULL, fields, count);
}

static void add_row(const struct comparison *comparison, const struct store_row *row, bool is_asked,
                    struct sheet *table)
{
    const struct session *session = &comparison->session;
    struct arena *arena = session->options.cli->arena;
    const bool is_good = store_row_is_good(row);
    sheet_text(table, NULL, row->label);
    sheet_number(table, NULL, is_good ? row->gpus : ABSENT);
    for (uint32_t i = 0; i < session->metrics.count; i++) {
        const struct figure_metric *metric = store_metric_find(session->metrics.items[i]);
        const bool is_short = !is_asked && metric->short_head != NULL;
        const double stored = is_good ? store_metric_value(metric, row) : ABSENT;
        sheet_text(table, NULL,
                   is_absent(stored) ? NULL
                   : is_short        ? number_short(arena, stored)
                                     : points_metric(arena, metric, row));
        sheet_text(table, NULL, is_good ? cell_beside(arena, metric, row) : NULL);
    }
    sheet_text(table, NULL, required_cell(&comparison->session.requirements, row, arena));
    sheet_text(table, NULL, is_good ? row->bound_by : points_reason(arena, row));
}

static void add_absolute(struct session *session, struct sheet *sheet)
{
    const bool is_asked = session_choose_metrics(session, USUAL_IN_COMPARE);
    const struct comparison *comparison = (const struct comparison *)session;
    struct sheet *table = add_table(comparison, is_asked, sheet);
    const struct listing all = {.top = 0};
    uint32_t listed = 0;
    struct arena *arena = session->options.cli->arena;
    const struct against_rows points_of = {session->rows, NULL, session->row_count};
    const uint32_t *order =
        listing_order(arena, &all, &points_of, &comparison->session.requirements, &listed);
    for (uint32_t i = 0; i < listed; i++) {
        add_row(comparison, &session->rows[order[i]], is_asked, table);
    }
}

/* ---- against one ------------------------------------------------------------------ */

/* In what the text tells of a token's time: of runs of as many tokens, of steps of as many, or of
 * a million tokens. */
struct unit {
    const char *name, *of;
    double per_token_s;
};

struct change {
    const char *label; /* of the point */
    const struct against *against;
    double cost_ratio; /* ABSENT: one of them has no run */
    double energy_ratio;
    double worth_usd_per_gpu_hour; /* below 0: it must be cheaper; ABSENT: nothing has a price */
    uint32_t part;                 /* that changed most (report/time_parts) */
    double part_s;                 /* by how much, of a token; below 0: shorter */
    const struct unit *unit;
};

static double ratio(double value, double first)
{
    return first > 0 ? value / first : ABSENT; /* also where one of them is */
}

/* What costs nothing leaves no cost to compare with. */
static bool has_price(const struct store_row *row)
{
    return !is_absent(row->cost_usd) && row->cost_usd > 0;
}

static struct unit unit_of(const struct session *session, const struct store_row *first)
{
    bool has_same_run = !is_absent(first->wall_clock_days);
    bool has_same_step = true;
    for (uint32_t i = 0; i < session->row_count; i++) {
        const struct store_row *row = &session->rows[i];
        if (store_row_is_good(row)) {
            has_same_run = has_same_run && !is_absent(row->wall_clock_days) &&
                           !(row->run_tokens < first->run_tokens) &&
                           !(row->run_tokens > first->run_tokens);
            has_same_step = has_same_step && !(row->tokens_per_step < first->tokens_per_step) &&
                            !(row->tokens_per_step > first->tokens_per_step);
        }
    }
    return has_same_run ? (struct unit){"days", "of the run", first->run_tokens / SECONDS_PER_DAY}
           : has_same_step ? (struct unit){"s", "of a step", first->tokens_per_step}
                           : (struct unit){"s", "of 1M tokens", 1e6};
}

static struct change change_of(const struct store_row *first, const struct store_row *row,
                               const struct against *against, const struct unit *unit)
{
    double s[TIME_PARTS];
    double first_s[TIME_PARTS];
    const bool have_runs = !is_absent(row->wall_clock_days) && !is_absent(first->wall_clock_days);
    time_parts_of(row, have_runs, s);
    time_parts_of(first, have_runs, first_s);
    struct change change = {
        .label = row->label,
        .against = against,
        .cost_ratio = ratio(row->cost_usd, first->cost_usd),
        .energy_ratio = ratio(row->energy_kwh, first->energy_kwh),
        .worth_usd_per_gpu_hour =
            has_price(row) && has_price(first)
                ? units_difference(first->cost_usd, row->cost_usd) / row->gpu_hours
                : ABSENT,
        .unit = unit,
    };
    for (uint32_t part = 0; part < TIME_PARTS; part++) {
        if (fabs(s[part] - first_s[part]) > fabs(change.part_s)) {
            change.part = part;
            change.part_s = units_difference(s[part], first_s[part]);
        }
    }
    return change;
}

static void add_largest(struct sheet *in, const char *key, const void *record)
{
    const struct change *change = record;
    (void)key;
    const double shown = change->part_s * change->unit->per_token_s;
    if (change->part_s < 0 || change->part_s > 0) {
        sheet_say(in, fabs(shown) < SHOWN_WHOLE ? "%s %+.3g %s" : "%s %+.0f %s",
                  time_part_title(change->part), shown, change->unit->name);
    } else {
        sheet_say(in, "nothing");
    }
}

static void add_largest_name(struct sheet *in, const char *key, const void *record)
{
    sheet_text(in, key, time_part_name(((const struct change *)record)->part));
}

static void add_speed_up(struct sheet *in, const char *key, const void *record)
{
    sheet_number(in, key, ((const struct change *)record)->against->speed_up);
}

static void add_per_gpu(struct sheet *in, const char *key, const void *record)
{
    sheet_number(in, key, ((const struct change *)record)->against->per_gpu);
}

static void add_range(struct sheet *in, const char *key, const void *record)
{
    sheet_text(in, key, against_range(sheet_arena(in), ((const struct change *)record)->against));
}

static void add_verdict(struct sheet *in, const char *key, const void *record)
{
    sheet_text(in, key, ((const struct change *)record)->against->verdict);
}

static void add_days(struct sheet *in, const char *key, const void *record)
{
    sheet_text(in, key, against_days(sheet_arena(in), ((const struct change *)record)->against));
}

static void add_days_verdict(struct sheet *in, const char *key, const void *record)
{
    sheet_text(in, key, ((const struct change *)record)->against->days_verdict);
}

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

/* The points, each with its change against the base, of which the text has a table. How each
 * stands against it. */
static const struct against *add_relative(const struct session *session, struct sheet *sheet)
{
    const struct store_row *first = base_row(session);
    const char *member = first == session->rows ? "against_first" : "against_named";
    const bool has_prices = has_price(first);
    const bool has_first = store_row_is_good(first);
    const bool has_runs = !is_absent(first->wall_clock_days);
    const struct against *against = session_against(session, first);
    const bool has_bands = against_are_known(against, session->row_count);
    const bool has_days = against_have_days(against, session->row_count);
    const struct wins *wins = session_wins(session, first, against);
    struct arena *arena = session->options.cli->arena;
    const struct unit unit = unit_of(session, first);
    const char *head = arena_printf(arena, "against %s", first->label);
    const struct field fields[] = {
        {NULL, FIELD_AT(struct change, label), FIELD_LEFT(head)},
        {"speed_up", FIELD_RIGHT("tokens/s", "%.2f x", 1), .add = add_speed_up},
        {NULL, FIELD_LEFT(has_bands ? "p10 to p90" : NULL), .add = add_range},
        {NULL, FIELD_LEFT(has_bands ? "which is" : NULL), .add = add_verdict},
        {"speed_up_per_gpu", FIELD_RIGHT("per GPU", "%.2f x", 1), .add = add_per_gpu},
        {NULL, FIELD_LEFT(has_days ? "days more" : NULL), .add = add_days},
        {NULL, FIELD_LEFT(has_days ? "which is" : NULL), .add = add_days_verdict},
        {"cost_ratio", FIELD_AT(struct change, cost_ratio),
         FIELD_RIGHT(has_runs ? "cost" : NULL, "%.2f x", 1)},
        {"energy_ratio", FIELD_AT(struct change, energy_ratio),
         FIELD_RIGHT(has_runs ? "energy" : NULL, "%.2f x", 1)},
        {"worth_usd_per_gpu_hour", FIELD_AT(struct change, worth_usd_per_gpu_hour),
         FIELD_RIGHT(has_prices ? "worth USD/GPU-h" : NULL, "%+.2f", 1)},
        {"largest_change", .add = add_largest_name},
        {"largest_change_s_per_token", FIELD_AT(struct change, part_s)},
        {NULL, .add = add_largest,
         FIELD_LEFT(arena_printf(arena, "%s, what changed most", unit.of))},
    };
    sheet_text(sheet, "against", first->label);
    struct sheet *points = sheet_array(sheet, "points");
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < session->row_count; i++) {
        const struct store_row *row = &session->rows[i];
        struct sheet *point = points_add(points, row);
        required_add_point(&session->requirements, point, row);
        if (!has_first || !store_row_is_good(row)) {
            sheet_null_as(point, member, NULL);
            continue;
        }
        const struct change change = change_of(first, row, &against[i], &unit);
        struct sheet *object = sheet_object(point, member);
        sheet_members(object, FIELD_LIST(fields), &change);
        against_add(object, &against[i]);
        if (wins != NULL) {
            wins_add(object, &wins[i]);
        } else {
            sheet_null_as(object, "wins", NULL);
        }
        if (row != first) {
            sheet_row(table, &change);
        }
    }
    against_say(sheet, against, session->row_count);
    if (has_days) {
        against_say_days(sheet, against, session->row_count);
    }
    if (wins != NULL) {
        wins_say(sheet, wins, session->row_count);
    }
    if (!has_first) {
        sheet_say(sheet, "\n%s has no result to compare with.\n",
                  first == session->rows ? "The first" : first->label);
    }
    return against;
}

static void add(struct session *session, struct sheet *sheet)
{
    add_absolute(session, sheet);
    const struct against *against = add_relative(session, sheet);
    ranking_add(sheet, session->rows, session->row_count,
                against_resolution(against, session->row_count));
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

static void prepare(struct session *session)
{
    session_prepare_required(session);
}

static int run(struct options *options)
{
    static const struct session_command command = {COMPARE_SCHEMA, expand, prepare, add};
    return session_main((struct session *)options, &command);
}

const struct command command_compare = {
    .name = "compare",
    .summary = "several scenarios or variants side by side, and what changed",
    .arguments = "FILE FILE...\nFILE_WITH_VARIANTS",
    .about =
        "Puts several scenarios side by side (of one with sweep: or variants:, each of its "
        "points), "
        "then each against the first, or the one named: how much faster, "
        "which cause changed most, what it costs, and what a GPU-hour may cost more. Runs of as "
        "many tokens are ranked by days, USD and kWh, with the front that nothing beats in all "
        "of these."
        "\vExample: stoker compare scenarios/study-gpus.yaml --plot dollars\n"
        "stoker compare scenarios/study-old-or-new.yaml --require 'days<=60'\n"
        "Exit status 4: none of them fits, or none meets what is required; 5: some failed.",
    .options = {options_prediction, options_anchor, options_store, options_no_store,
                session_options, compare_options, requirement_options, options_table,
                options_general},
    .arguments_min = 1,
    .arguments_max = UINT32_MAX,
    .wanted = "two scenario files, or one with variants:",
    .input_size = sizeof(struct comparison),
    .run = run,
};
