/* All points in JSON; in the text those that are listed, and the best. */
#include "report/study/sweep_sheet.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/hangs.h"
#include "report/study/matrix_sheet.h"
#include "report/study/required.h"

#include <string.h>

static bool has_ratios_of(const struct shown_points *points)
{
    return !points->columns.are_asked && against_are_known(points->of.against, points->of.count);
}

static bool has_days_of(const struct shown_points *points)
{
    return !points->columns.are_asked && against_have_days(points->of.against, points->of.count);
}

/* A column for each axis and each metric, what a point hangs on, why it has no result; how much
 * faster it is than the base and how many days more it takes, where nobody asked for other
 * metrics. */
static struct sheet *add_table(const struct shown_points *points, const struct store_row *base,
                               const struct hangs *hangs, struct sheet *sheet)
{
    const struct study_point *first = &points->study->points[0];
    const uint32_t count = first->axis_count + points->columns.count + hangs->count + 9;
    struct field *fields = arena_array(sheet_arena(sheet), count, sizeof *fields);
    struct field *field = fields;
    const bool has_ratios = has_ratios_of(points), has_days = has_days_of(points);
    for (uint32_t i = 0; i < first->axis_count; i++) {
        const bool is_text = strcmp(first->axes[i], STUDY_VARIANT_AXIS) == 0;
        *field++ = (struct field){
            .head = study_axis_head(first, i), .csv = first->axes[i], .is_right = !is_text};
    }
    struct field *const metrics = field;
    field = shown_metric_heads(points, field);
    shown_metrics_tell(points, base, metrics);
    *field++ = points_spread_field(points_have_spreads(points->of.rows, points->of.count));
    *field++ =
        (struct field){FIELD_RIGHT(has_ratios ? "tokens/s" : NULL, "%.2f x", 1), .csv = "speed_up"};
    *field++ = (struct field){FIELD_RANGE(has_ratios ? "p10 to p90" : NULL, "speed_up")};
    *field++ = (struct field){FIELD_LEFT(has_ratios ? "call" : NULL), .csv = "verdict"};
    field = against_days_fields(has_days, field);
    *field++ = (struct field){FIELD_LEFT(required_head(points->requirements))};
    field = hangs_heads(sheet_arena(sheet), hangs, field);
    *field++ = (struct field){FIELD_LEFT(points_lack_head(points->of.rows, points->of.count))};
    return sheet_table(sheet, NULL, fields, count);
}

static void add_row(const struct shown_points *points, const struct hangs *hangs, uint32_t number,
                    struct sheet *table)
{
    struct arena *arena = sheet_arena(table);
    const struct store_row *row = &points->of.rows[number];
    const struct against *against = &points->of.against[number];
    for (uint32_t i = 0; i < row->axis_count; i++) {
        sheet_text(table, NULL, row->value_texts[i]);
    }
    shown_metric_cells(points, row, table);
    points_add_spread(table, row);
    sheet_number(table, NULL, against->speed_up);
    against_add_range(table, against);
    sheet_text(table, NULL, against->verdict);
    against_add_days(table, against);
    sheet_text(table, NULL, required_cell(points->requirements, row, arena));
    hangs_cells(hangs, row, table);
    sheet_text(table, NULL, points_reason(arena, row));
}

/* By the metric that was asked for, or by each that decides where nobody says; then by what counts
 * where the asked one does not compare. */
void sweep_answer(const struct shown_points *points, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const struct candidates candidates = against_candidates(arena, &points->of, NULL);
    struct sheet *list = sheet_array(sheet, "winners");
    const char *answer = NULL;
    struct judges judges = {.count = 0};
    if (candidates.count > 0) {
        judges = points->columns.are_asked
                     ? judges_asked(arena, &candidates, points->columns.items[0])
                     : judges_of(&candidates);
    }
    for (uint32_t i = 0; i < judges.count; i++) {
        const struct winners winners = winners_of(arena, &candidates, judges.items[i]);
        if (winners.best != NULL) {
            winners_add(&winners, sheet_object(list, NULL));
            const char *text = winners_text(arena, &winners, "");
            answer = answer == NULL ? text : arena_printf(arena, "%s\n%s", answer, text);
        }
    }
    sheet_answer(sheet, answer);
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

static void add_listed(const struct shown_points *points, const struct listing *listing,
                       const struct store_row *base, const struct hangs *hangs, struct sheet *sheet)
{
    const struct against_rows *of = &points->of;
    struct sheet *table = add_table(points, base, hangs, sheet);
    uint32_t listed = 0;
    const uint32_t *order =
        listing_order(sheet_arena(sheet), listing, of, points->requirements, &listed);
    for (uint32_t i = 0; i < listed; i++) {
        add_row(points, hangs, order[i], table);
    }
    listing_say_rest(of->count, listed, sheet);
}

static bool is_matrix(const struct shown_points *points, const struct listing *listing,
                      const struct store_row *base)
{
    return listing->page_width > 0 && !listing->is_feasible && listing->sort == NULL &&
           listing->top == 0 && matrix_has_room(points, base, listing->page_width);
}

static void add_matrix(const struct shown_points *points, const struct store_row *base,
                       struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const struct candidates candidates = against_candidates(arena, &points->of, NULL);
    struct winners best = {.best = NULL};
    if (candidates.count > 0) {
        best = winners_of(arena, &candidates, points->columns.items[0]);
    }
    matrix_add(points, base, &best, sheet);
}

void sweep_add(const struct shown_points *points, const struct listing *listing,
               const struct store_row *base, struct sheet *sheet)
{
    const struct against_rows *of = &points->of;
    const bool has_ratios = has_ratios_of(points), has_days = has_days_of(points);
    sheet_text(sheet, "against", store_row_is_good(base) ? base->label : NULL);
    struct sheet *array = sheet_array(sheet, "points");
    const struct hangs hangs = hangs_of(sheet_arena(sheet), of->rows, of->count);
    for (uint32_t i = 0; i < of->count; i++) {
        struct sheet *point = points_add(array, &of->rows[i]);
        required_add_point(points->requirements, point, &of->rows[i]);
        add_against(point, &of->against[i]);
    }
    if (is_matrix(points, listing, base)) {
        add_matrix(points, base, sheet);
    } else {
        add_listed(points, listing, base, &hangs, sheet);
    }
    hangs_say(&hangs, sheet);
    if (has_ratios || has_days) {
        sheet_say(sheet, "%s relative to %s.\n",
                  !has_days    ? "tokens/s are"
                  : has_ratios ? "tokens/s and days are"
                               : "days are",
                  base->label);
        against_say(sheet, of->against, of->count);
        if (has_days) {
            against_say_days(sheet, of->against, of->count);
        }
    }
}
