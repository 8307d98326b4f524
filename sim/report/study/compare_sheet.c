/* A table of the points by themselves, one of each against the base, and their ranking. */
#include "report/study/compare_sheet.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "report/hangs.h"
#include "report/numbers.h"
#include "report/ranking.h"
#include "report/study/listing.h"
#include "report/study/required.h"
#include "report/time_parts.h"

#include <math.h>
#include <string.h>

#define SHOWN_WHOLE 999.5 /* from there on without an exponent */

/* ---- each by itself -------------------------------------------------------------------- */

static bool has_pipelines(const struct against_rows *of)
{
    bool has_bubble = false;
    for (uint32_t i = 0; i < of->count; i++) {
        has_bubble |= of->rows[i].breakdown_s[CAUSE_BUBBLE] > 0;
    }
    return has_bubble;
}

/* A column beside that of a metric, of what is no figure; without a head where it would say
 * nothing. */
static struct field field_beside(const struct against_rows *of, const struct figure_metric *metric)
{
    if (strcmp(metric->name, "step_s") == 0) {
        return points_spread_field(points_have_spreads(of->rows, of->count));
    }
    const bool is_shown = strcmp(metric->name, "tokens_per_s_per_gpu") == 0 && has_pipelines(of);
    return (struct field){FIELD_RIGHT(is_shown ? "bubble %" : NULL, "%.1f", 100),
                          .csv = "bubble_share", .gives_way = 8};
}

static void add_beside(const struct figure_metric *metric, const struct store_row *row,
                       struct sheet *table)
{
    if (strcmp(metric->name, "step_s") == 0) {
        points_add_spread(table, row);
    } else {
        sheet_number(table, NULL,
                     store_row_is_good(row) ? row->breakdown_s[CAUSE_BUBBLE] / row->step_s
                                            : ABSENT);
    }
}

static struct sheet *add_table(const struct shown_points *points, const struct store_row *base,
                               const struct hangs *hangs, struct sheet *sheet)
{
    const uint32_t count = 2 * points->columns.count + hangs->count + 4;

    struct field *fields = arena_array(sheet_arena(sheet), count, sizeof *fields);
    struct field *field = fields;
    *field++ = (struct field){FIELD_LEFT(""), .csv = "label"};
    *field++ = (struct field){FIELD_COUNT("GPUs"), .csv = "gpus", .is_common = true};
    for (uint32_t i = 0; i < points->columns.count; i++) {
        *field = shown_metric_field(points, i);
        shown_metric_tell(points, base, i, field++);
        *field = field_beside(&points->of, points->columns.items[i]);
        field++->is_common = true;
    }
    *field++ = (struct field){FIELD_LEFT(required_head(points->requirements))};
    field = hangs_heads(sheet_arena(sheet), hangs, field);
    *field++ = (struct field){FIELD_LEFT(points_lack_head(points->of.rows, points->of.count))};
    return sheet_table(sheet, NULL, fields, count);
}

static void add_row(const struct shown_points *points, const struct hangs *hangs,
                    const struct store_row *row, struct sheet *table)
{
    struct arena *arena = sheet_arena(table);
    const bool is_good = store_row_is_good(row);
    sheet_text(table, NULL, row->label);
    sheet_number(table, NULL, is_good ? row->gpus : ABSENT);
    for (uint32_t i = 0; i < points->columns.count; i++) {
        const struct figure_metric *metric = points->columns.items[i];
        sheet_number(table, NULL, is_good ? store_metric_value(metric, row) : ABSENT);
        add_beside(metric, row, table);
    }
    sheet_text(table, NULL, required_cell(points->requirements, row, arena));
    hangs_cells(hangs, row, table);
    sheet_text(table, NULL, points_reason(arena, row));
}

static void add_absolute(const struct shown_points *points, const struct store_row *base,
                         struct sheet *sheet)
{
    const struct hangs hangs = hangs_of(sheet_arena(sheet), points->of.rows, points->of.count);
    struct sheet *table = add_table(points, base, &hangs, sheet);
    const struct listing all = {.top = 0};
    uint32_t listed = 0;
    const uint32_t *order =
        listing_order(sheet_arena(sheet), &all, &points->of, points->requirements, &listed);
    for (uint32_t i = 0; i < listed; i++) {
        add_row(points, &hangs, &points->of.rows[order[i]], table);
    }
    hangs_say(&hangs, sheet);
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

static bool is_priced(const struct store_row *row)
{
    return !is_absent(points_worth(row, row));
}

static struct unit unit_of(const struct against_rows *of, const struct store_row *first)
{
    bool has_same_run = !is_absent(first->wall_clock_days);
    bool has_same_step = true;
    for (uint32_t i = 0; i < of->count; i++) {
        const struct store_row *row = &of->rows[i];
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
        .worth_usd_per_gpu_hour = points_worth(row, first),
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
    (void)key;
    against_add_range(in, ((const struct change *)record)->against);
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

static void add_odds(struct sheet *object, const struct against *against, const struct wins *wins)
{
    against_add(object, against);
    if (wins != NULL) {
        wins_add(object, wins);
    } else {
        sheet_null_as(object, "wins", NULL);
    }
}

static void say_odds(const struct against_rows *of, const struct wins *wins, bool has_days,
                     struct sheet *sheet)
{
    against_say(sheet, of->against, of->count);
    if (has_days) {
        against_say_days(sheet, of->against, of->count);
    }
    if (wins != NULL) {
        wins_say(sheet, wins, of->count);
    }
}

static void say_no_result(const struct against_rows *of, const struct store_row *first,
                          struct sheet *sheet)
{
    if (!store_row_is_good(first)) {
        sheet_say(sheet, "\n%s has no result to compare with.\n",
                  first == of->rows ? "The first" : first->label);
    }
}

/* The points, each with its change against the base, of which the text has a table. */
static void add_relative(const struct shown_points *shown, const struct store_row *first,
                         const struct wins *wins, struct sheet *sheet)
{
    const struct against_rows *of = &shown->of;
    const char *member = first == of->rows ? "against_first" : "against_named";
    const bool has_runs = !is_absent(first->wall_clock_days);
    const bool has_bands = against_are_known(of->against, of->count);
    const bool has_days = against_have_days(of->against, of->count);
    struct arena *arena = sheet_arena(sheet);
    const struct unit unit = unit_of(of, first);
    const struct field fields[] = {
        {NULL, FIELD_AT(struct change, label),
         FIELD_LEFT(arena_printf(arena, "against %s", first->label))},
        {"speed_up", FIELD_RIGHT("tokens/s", "%.2f x", 1), .add = add_speed_up},
        {NULL, FIELD_RANGE(has_bands ? "p10 to p90" : NULL, "speed_up"), .add = add_range},
        {NULL, FIELD_LEFT(has_bands ? "call" : NULL), .add = add_verdict},
        {"speed_up_per_gpu", FIELD_RIGHT("per GPU", "%.2f x", 1), .add = add_per_gpu,
         .gives_way = 4},
        {NULL, FIELD_LEFT(has_days ? "days more" : NULL), .add = add_days},
        {NULL, FIELD_LEFT(has_days ? "call" : NULL), .add = add_days_verdict},
        {"cost_ratio", FIELD_AT(struct change, cost_ratio),
         FIELD_RIGHT(has_runs ? "cost" : NULL, "%.2f x", 1)},
        {"energy_ratio", FIELD_AT(struct change, energy_ratio),
         FIELD_RIGHT(has_runs ? "energy" : NULL, "%.2f x", 1), .gives_way = 3},
        {"worth_usd_per_gpu_hour", FIELD_AT(struct change, worth_usd_per_gpu_hour),
         FIELD_RIGHT(is_priced(first) ? "worth USD/GPU-h" : NULL, "%+.2f", 1)},
        {"largest_change", .add = add_largest_name},
        {"largest_change_s_per_token", FIELD_AT(struct change, part_s)},
        {NULL, .add = add_largest,
         FIELD_LEFT(arena_printf(arena, "%s, what changed most", unit.of)), .gives_way = 5},
    };
    sheet_text(sheet, "against", first->label);
    struct sheet *points = sheet_array(sheet, "points");
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < of->count; i++) {
        const struct store_row *row = &of->rows[i];
        struct sheet *point = points_add(points, row);
        required_add_point(shown->requirements, point, row);
        if (!store_row_is_good(first) || !store_row_is_good(row)) {
            sheet_null_as(point, member, NULL);
            continue;
        }
        const struct change change = change_of(first, row, &of->against[i], &unit);
        struct sheet *object = sheet_object(point, member);
        sheet_members(object, FIELD_LIST(fields), &change);
        add_odds(object, &of->against[i], wins != NULL ? &wins[i] : NULL);
        if (row != first) {
            sheet_row(table, &change);
        }
    }
    say_odds(of, wins, has_days, sheet);
    say_no_result(of, first, sheet);
}

/* ---- answer -------------------------------------------------------------------------------- */

static uint32_t fastest_of(const struct against_rows *of)
{
    uint32_t found = of->count;
    for (uint32_t i = 0; i < of->count; i++) {
        const double speed_up = of->against[i].speed_up;
        if (store_row_is_good(&of->rows[i]) && !is_absent(speed_up) &&
            (found == of->count || speed_up > of->against[found].speed_up)) {
            found = i;
        }
    }
    return found;
}

const char *compare_answer(struct arena *arena, const struct shown_points *points,
                           const struct store_row *base)
{
    const struct against_rows *of = &points->of;
    const uint32_t fastest = fastest_of(of);
    if (!store_row_is_good(base) || fastest == of->count) {
        return NULL;
    }
    const struct store_row *row = &of->rows[fastest];
    const struct store_row *cheapest = points_cheapest(of->rows, of->count);
    const struct against *against = &of->against[fastest];
    const char *speed =
        row == base ? ""
                    : arena_printf(arena, ", %.2f x the tokens/s of %s%s", against->speed_up,
                                   base->label, against_words(arena, against));
    const char *cost = cheapest == NULL
                           ? ""
                           : arena_printf(arena, "%s USD", number_short(arena, cheapest->cost_usd));
    return cheapest == row
               ? arena_printf(arena, "Fastest and cheapest: %s%s; %s.", row->label, speed, cost)
           : cheapest != NULL ? arena_printf(arena, "Fastest: %s%s. Cheapest: %s, %s.", row->label,
                                             speed, cheapest->label, cost)
                              : arena_printf(arena, "Fastest: %s%s.", row->label, speed);
}

void compare_add(const struct shown_points *points, const struct store_row *base,
                 const struct wins *wins, struct sheet *sheet)
{
    const struct against_rows *of = &points->of;
    add_absolute(points, base, sheet);
    add_relative(points, base, wins, sheet);
    ranking_add(sheet, of->rows, of->count, against_resolution(of->against, of->count));
}
