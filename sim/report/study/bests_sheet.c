/* Two tables: the values, each with its best layout; then, of each value, how much longer it takes
 * with the layouts of the others. */
#include "report/study/bests_sheet.h"

#include "bands/memory_errors.h"
#include "bands/ratio_bands.h"
#include "base/absent.h"
#include "base/arena.h"
#include "report/against_sheet.h"
#include "report/hangs.h"
#include "report/near.h"
#include "report/numbers.h"
#include "report/points.h"
#include "report/study/required.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void bests_help_near(struct arena *arena, const struct bests *bests, struct diag *diag)
{
    const struct best_layout *nearest = NULL;
    for (uint32_t i = 0; i < bests->values.count; i++) {
        const struct best_layout *layout = &bests->layouts[i];
        if (layout->near.is_found &&
            (nearest == NULL || bests_over(layout) < bests_over(nearest))) {
            nearest = layout;
        }
    }
    if (nearest != NULL) {
        diag_help(diag, "but for memory the best at %s were %s: %.1f of %.1f GB, over %s",
                  bests->values.points[nearest - bests->layouts].label, nearest->near.label,
                  nearest->near.memory_bytes / 1e9, nearest->limit_bytes / 1e9,
                  near_words(arena, bests->memory_errors, bests_over(nearest)));
    }
}

static struct sheet *best_table(const struct bests *bests, const struct hangs *hangs,
                                bool has_ratios, const struct wins *wins, struct sheet *sheet)
{
    const bool has_runs = points_have_runs(bests->rows, bests->row_count);
    const bool has_prices =
        has_runs && bests->rows != NULL && bests->rows[0].has_run && bests->rows[0].cost_usd > 0;
    const struct field fields[] = {
        {NULL, FIELD_LEFT("each at its best"), .csv = "label"},
        {NULL, FIELD_LEFT("layout"), .is_for_programs = true},
        {NULL, FIELD_RIGHT("step s", "%.3f", 1), .csv = "step_s"},
        {NULL, FIELD_RIGHT("MFU %", "%.1f", 100), .csv = "mfu", .gives_way = 4},
        {NULL, FIELD_RIGHT(has_runs ? "days" : NULL, "%.1f", 1), .csv = "days"},
        {NULL, FIELD_SIZED(has_prices ? "USD" : NULL), .csv = "cost_usd", .gives_way = 3},
        {NULL, FIELD_RIGHT(has_ratios ? "tokens/s" : NULL, "%.2f x", 1), .csv = "speed_up"},
        {NULL, FIELD_RANGE(has_ratios ? "p10 to p90" : NULL, "speed_up")},
        {NULL, FIELD_LEFT(has_ratios ? "call" : NULL), .csv = "verdict"},
        {NULL, FIELD_RIGHT(wins != NULL ? "wins %" : NULL, "%.0f", 100), .csv = "wins_share",
         .gives_way = 2},
        {NULL, FIELD_SHOW("of layouts", number_grouped), .csv = "layouts", .is_common = true,
         .gives_way = 8},
        {NULL, FIELD_LEFT(required_head(bests->requirements))},
    };
    const uint32_t count = sizeof fields / sizeof *fields;
    struct field *all = arena_array(sheet_arena(sheet), count + hangs->count + 1u, sizeof *all);
    memcpy(all, fields, sizeof fields);
    struct field *next = hangs_heads(sheet_arena(sheet), hangs, all + count);
    bool lacks = false;
    for (uint32_t i = 0; i < bests->values.count; i++) {
        lacks = lacks || bests_row(bests, i, i) == NULL;
    }
    *next = (struct field){FIELD_LEFT(lacks ? "no result" : NULL)};
    return sheet_table(sheet, NULL, all, count + hangs->count + 1);
}

static void add_best(const struct bests *bests, const struct hangs *hangs, uint32_t i,
                     const struct against *against, const struct wins *wins, struct sheet *table)
{
    struct arena *arena = sheet_arena(table);
    const struct best_layout *layout = &bests->layouts[i];
    const struct store_row *row = bests_row(bests, i, i);
    const bool has_row = row != NULL;
    const struct against *held = has_row ? &against[row - bests->rows] : NULL;
    sheet_text(table, NULL, bests->values.points[i].label);
    sheet_text(table, NULL, layout->is_found ? bests_words(arena, bests, layout, true) : NULL);
    sheet_number(table, NULL, has_row ? row->step_s : ABSENT);
    sheet_number(table, NULL, has_row ? row->mfu : ABSENT);
    sheet_number(table, NULL, has_row ? row->wall_clock_days : ABSENT);
    sheet_number(table, NULL, has_row ? row->cost_usd : ABSENT);
    sheet_number(table, NULL, held != NULL ? held->speed_up : ABSENT);
    if (held != NULL) {
        against_add_range(table, held);
    } else {
        sheet_null_as(table, NULL, "-");
    }
    sheet_text(table, NULL, held != NULL ? held->verdict : NULL);
    sheet_number(table, NULL, wins != NULL ? wins[i].days_share : ABSENT);
    sheet_integer(table, NULL, (int64_t)layout->counts.layouts);
    sheet_text(table, NULL, has_row ? required_cell(bests->requirements, row, arena) : NULL);
    static const struct store_row none = {.status = POINT_FAILED};
    hangs_cells(hangs, has_row ? row : &none, table);
    sheet_text(table, NULL, has_row ? "" : layout->lack);
}

/* Which layouts these are: what differs, a line for each value, and what does not. */
static void say_layouts(const struct bests *bests, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    for (uint32_t i = 0; i < bests->values.count; i++) {
        const struct best_layout *layout = &bests->layouts[i];
        if (layout->is_found) {
            sheet_say(sheet, "  %s: %s\n", bests->values.points[i].label,
                      bests_words(arena, bests, layout, true));
        }
    }
    const uint32_t first = bests_first(bests);
    if (bests->layouts[first].is_found) {
        sheet_say(sheet, "  all: %s\n", bests_words(arena, bests, &bests->layouts[first], false));
    }
}

/* "+3.1 %"; NULL: it is the value's own, or there is none. */
static const char *regret_text(struct arena *arena, const struct bests *bests,
                               const struct against *against, uint32_t i, uint32_t k)
{
    const double regret = bests_regret(bests, i, k);
    if (i == k || is_absent(regret)) {
        return NULL;
    }
    const struct against *own = &against[bests_row(bests, i, i) - bests->rows];
    const struct against *other = &against[bests_row(bests, i, k) - bests->rows];
    const double logarithm = log1p(regret);
    const double share = bests_share_of_steps(bests, bests_row(bests, i, i));
    return against_is_unresolved(own, share, logarithm) ||
                   against_is_unresolved(other, share, logarithm)
               ? ratio_verdict_names[RATIO_CLOSE]
               : arena_printf(arena, "%+.1f %%", 100 * regret);
}

static void add_regrets(const struct bests *bests, const struct against *against,
                        struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const uint32_t count = bests->values.count;
    struct field *fields = arena_array(arena, count + 1u, sizeof *fields);
    fields[0] = (struct field){FIELD_LEFT("worse with the layout of")};
    for (uint32_t k = 0; k < count; k++) {
        const bool is_there = bests->layouts[k].is_found;
        fields[k + 1] =
            (struct field){FIELD_COUNT(is_there ? bests->values.points[k].label : NULL)};
    }
    struct sheet *table = sheet_table(sheet, NULL, fields, count + 1);
    sheet_caption(table, "\n");
    for (uint32_t i = 0; count > 1 && i < count; i++) {
        sheet_text(table, NULL, bests->values.points[i].label);
        for (uint32_t k = 0; k < count; k++) {
            sheet_text(table, NULL, regret_text(arena, bests, against, i, k));
        }
    }
}

/* By less than the error of memory. */
static bool fits_hardly(const struct bests *bests, const struct best_layout *layout)
{
    return layout->is_found &&
           memory_errors_are_near(bests->memory_errors,
                                  memory_over(layout->memory_bytes, layout->limit_bytes));
}

/* "fits by less than the error of memory, 3.8 %: the best of 400 Gbps by 1.5 %". */
static void say_room(const struct bests *bests, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const char *text = "";
    for (uint32_t i = 0; i < bests->values.count; i++) {
        const struct best_layout *layout = &bests->layouts[i];
        if (fits_hardly(bests, layout)) {
            text = arena_printf(arena, "%s%s of %s by %.2g %%", text, text[0] != '\0' ? "," : "",
                                bests->values.points[i].label,
                                -100 * memory_over(layout->memory_bytes, layout->limit_bytes));
        }
    }
    if (text[0] != '\0') {
        sheet_say(sheet, "fits by less than the error of memory, %.1f %%: the best%s\n",
                  100 * bests->memory_errors->near, text);
    }
}

/* "5 % of a GPU's memory is left free (memory.margin); at 400 Gbps without that ...". */
static void say_margin(const struct bests *bests, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const struct best_layout *first = NULL;
    const char *text = "";
    for (uint32_t i = 0; i < bests->values.count; i++) {
        const struct best_layout *layout = &bests->layouts[i];
        first = first == NULL && layout->is_found ? layout : first;
        if (near_margin_costs(layout->value, layout->within) > 0) {
            text = arena_printf(arena, "%s; at %s %s", text, bests->values.points[i].label,
                                near_margin_words(arena, layout->value, layout->within));
        }
    }
    if (first != NULL && first->margin > 0) {
        sheet_say(sheet, "%.2g %% of a GPU's memory is left free (memory.margin)%s\n",
                  100 * first->margin, text[0] != '\0' ? text : ", which costs nothing");
    }
}

/* What the software has not, once of values that leave out the same. */
static void say_left_out(const struct bests *bests, struct sheet *sheet)
{
    const char *said = "";
    for (uint32_t i = 0; i < bests->values.count; i++) {
        const char *left_out = bests->layouts[i].left_out;
        if (left_out != NULL && strcmp(left_out, said) != 0) {
            sheet_say(sheet, "%s: %s\n", bests->values.points[i].label, left_out);
            said = left_out;
        }
    }
}

/* Near misses of each value, and of which values the best fits hardly. */
static void add_near(const struct bests *bests, struct sheet *sheet)
{
    const uint32_t count = bests->values.count;
    struct arena *arena = sheet_arena(sheet);
    struct near_miss *misses = arena_array(arena, count + 1u, sizeof *misses);
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct best_layout *layout = &bests->layouts[i];
        const char *at = bests->values.points[i].label;
        if (layout->near.is_found) {
            misses[found++] = (struct near_miss){
                .at = at,
                .layout = layout->near.label,
                .sets = layout->near.sets.items,
                .set_count = layout->near.sets.count,
                .value = layout->near.value,
                .step_s = layout->near.step_s,
                .gain = layout->value / layout->near.value,
                .memory_bytes = layout->near.memory_bytes,
                .limit_bytes = layout->limit_bytes,
                .is_certified = layout->near.is_certified,
            };
        }
    }
    say_left_out(bests, sheet);
    say_margin(bests, sheet);
    say_room(bests, sheet);
    near_add_errors(bests->memory_errors, sheet);
    near_add(bests->memory_errors, misses, found, sheet);
}

static void add_document(const struct bests *bests, const struct against *against,
                         struct sheet *sheet)
{
    struct sheet *list = sheet_array(sheet, "best");
    for (uint32_t i = 0; i < bests->values.count; i++) {
        const struct best_layout *layout = &bests->layouts[i];
        const struct store_row *row = bests_row(bests, i, i);
        struct sheet *object = sheet_object(list, NULL);
        sheet_text(object, "value", bests->values.points[i].label);
        sheet_text(object, "layout", layout->is_found ? layout->label : NULL);
        sheet_texts(object, "set", layout->sets.items, layout->sets.count);
        sheet_number(object, "step_time_s", row != NULL ? row->step_s : ABSENT);
        sheet_integer(object, "layouts", (int64_t)layout->counts.layouts);
        sheet_number(object, "gap", layout->gap);
        sheet_bool(object, "is_certified", layout->is_certified);
        sheet_text(object, "lack", layout->is_found ? NULL : layout->lack);
        sheet_text(object, "left_out", layout->left_out);
        sheet_bool(object, "fits_within_memory_error", fits_hardly(bests, layout));
        struct sheet *regrets = sheet_array(object, "regrets");
        for (uint32_t k = 0; k < bests->values.count; k++) {
            sheet_number(regrets, NULL, bests_regret(bests, i, k));
        }
        if (row != NULL) {
            required_add_point(bests->requirements, object, row);
            against_add(object, &against[row - bests->rows]);
        }
    }
}

/* Of the rows at their own best, under the names of the values. */
static struct hangs hangs_of_bests(struct arena *arena, const struct bests *bests)
{
    struct store_row *rows = arena_array(arena, bests->values.count, sizeof *rows);
    uint32_t count = 0;
    for (uint32_t i = 0; i < bests->values.count; i++) {
        const struct store_row *row = bests_row(bests, i, i);
        if (row != NULL) {
            rows[count] = *row;
            snprintf(rows[count].label, sizeof rows[count].label, "%s",
                     bests->values.points[i].label);
            count++;
        }
    }
    return hangs_of(arena, rows, count);
}

const char *bests_answer(struct arena *arena, const struct bests *bests,
                         const struct against *against)
{
    const uint32_t first = bests_first(bests);
    const struct store_row *base = bests_row(bests, first, first);
    if (base == NULL) {
        return NULL;
    }
    uint32_t fastest = first;
    double most = 1;
    for (uint32_t i = 0; i < bests->values.count; i++) {
        const struct store_row *row = bests_row(bests, i, i);
        const double speed_up = row != NULL ? against[row - bests->rows].speed_up : ABSENT;
        if (!is_absent(speed_up) && speed_up > most) {
            fastest = i;
            most = speed_up;
        }
    }
    const struct study_point *points = bests->values.points;
    if (fastest == first) {
        return arena_printf(arena, "Each at its best layout %s is the fastest.",
                            points[first].label);
    }
    const struct against *held = &against[bests_row(bests, fastest, fastest) - bests->rows];
    return arena_printf(
        arena, "Each at its best layout %s is the fastest: %.2f x the tokens/s of %s%s.",
        points[fastest].label, most, points[first].label, against_words(arena, held));
}

static void add_wins(const struct bests *bests, const struct wins *wins, struct sheet *sheet)
{
    struct sheet *list = sheet_array(sheet, "wins");
    for (uint32_t i = 0; wins != NULL && i < bests->values.count; i++) {
        if (!is_absent(wins[i].days_share)) {
            struct sheet *object = sheet_object(list, NULL);
            sheet_text(object, "value", wins[i].label);
            wins_add(object, &wins[i]);
        }
    }
    if (wins != NULL) {
        wins_say_column(sheet, "the value takes least days");
    }
}

void bests_add(const struct bests *bests, const struct against *against, const struct wins *wins,
               struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const uint32_t first = bests_first(bests);
    const struct store_row *base = bests_row(bests, first, first);
    const bool has_ratios = against_are_known(against, bests->row_count);
    sheet_text(sheet, "against", base != NULL ? base->label : NULL);
    add_document(bests, against, sheet);
    struct sheet *points = sheet_array(sheet, "points");
    for (uint32_t i = 0; i < bests->row_count; i++) {
        points_add(points, &bests->rows[i]);
    }
    const struct hangs hangs = hangs_of_bests(arena, bests);
    struct sheet *table = best_table(bests, &hangs, has_ratios, wins, sheet);
    for (uint32_t i = 0; i < bests->values.count; i++) {
        add_best(bests, &hangs, i, against, wins, table);
    }
    hangs_say(&hangs, sheet);
    say_layouts(bests, sheet);
    add_regrets(bests, against, sheet);
    add_near(bests, sheet);
    add_wins(bests, wins, sheet);
    if (has_ratios) {
        sheet_say(sheet, "\ntokens/s are relative to %s.\n", base != NULL ? base->label : "");
        against_say(sheet, against, bests->row_count);
    }
}

struct plot_series *bests_series(struct arena *arena, const struct bests *bests, const char *title)
{
    struct plot_series *series = arena_alloc(arena, sizeof *series);
    struct store_row *rows = arena_array(arena, bests->values.count, sizeof *rows);
    const char **winners = arena_array(arena, bests->values.count, sizeof *winners);
    *series = (struct plot_series){.title = title, .rows = rows};
    for (uint32_t i = 0; i < bests->values.count; i++) {
        const struct store_row *row = bests_row(bests, i, i);
        if (row != NULL) {
            rows[series->count] = *row;
            winners[series->count++] = bests_words(arena, bests, &bests->layouts[i], true);
            series->winners_share = bests_words(arena, bests, &bests->layouts[i], false);
        }
    }
    series->winners = winners;
    return series;
}
