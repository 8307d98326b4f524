/* A table of each group, slopes, the ladder; JSON has all rows in one array. */
#include "report/study/whatif_sheet.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "report/against_sheet.h"
#include "report/numbers.h"
#include "report/points.h"
#include "train/critical/critical.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *sets_text(struct arena *arena, const struct whatif_remedy *remedy)
{
    const char *text = "";
    for (uint32_t i = 0; i < remedy->set_count; i++) {
        const char *set = remedy->sets[i];
        const bool is_quoted = strpbrk(set, " []") != NULL;
        text = arena_printf(arena, "%s%s--set %s%s%s", text, i > 0 ? " " : "",
                            is_quoted ? "\"" : "", set, is_quoted ? "\"" : "");
    }
    return text;
}

static struct sheet *group_table(const struct whatif_found *found, const char *title,
                                 bool has_worth, struct sheet *sheet)
{
    const struct field fields[] = {
        {NULL, FIELD_LEFT(title)},
        {NULL, FIELD_RIGHT(whatif_head(found), "%.4g", 1)},
        {NULL, FIELD_RIGHT("saves %", "%.1f", 100)},
        {NULL, FIELD_LEFT("which is")},
        {NULL, FIELD_RIGHT(has_worth ? "worth USD in this run" : NULL, "%.0f", 1)},
        {NULL, FIELD_LEFT(has_worth ? "each" : NULL)},
        {NULL, FIELD_LEFT("then bound by")},
        {NULL, FIELD_LEFT("with")},
    };
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    return table;
}

static void add_group(const struct whatif_found *found, enum whatif_group group, const char *title,
                      const struct against *against, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const bool has_worth = group == WHATIF_PURCHASE && found->rows[0].cost_usd > 0;
    struct sheet *table = group_table(found, title, has_worth, sheet);
    uint32_t count;
    const uint32_t *order = whatif_order(found, arena, 1u << group, &count);
    const bool has_now = store_row_is_good(found->rows);
    for (uint32_t i = 0; i < count; i++) {
        const struct store_row *row = &found->rows[order[i]];
        const struct whatif_remedy *remedy = whatif_remedy_of(found, row);
        const double value = whatif_value(found, row);
        sheet_text(table, NULL, remedy->name);
        sheet_number(table, NULL, value);
        sheet_number(table, NULL,
                     has_now ? units_difference(1, value / whatif_value(found, found->rows))
                             : ABSENT);
        sheet_text(table, NULL, against[order[i]].verdict);
        sheet_number(table, NULL, whatif_worth(found, row));
        sheet_text(table, NULL, remedy->each);
        sheet_text(table, NULL, row->bound_by);
        sheet_text(table, NULL, sets_text(arena, remedy));
    }
}

#define BELOW_RESOLUTION "below resolution"

/* Between two values that lie so many units apart; ABSENT: they are not told apart. */
static double slope_of(double more, double less, double units, double resolution)
{
    const bool is_below = resolution > 0 && fabs(log(more / less)) <= resolution;
    return is_below ? ABSENT : units_difference(more, less) / units;
}

/* Three digits with their sign: "-12.3 k", "+0.0451"; "0", also of what has more zeros. */
static const char *signed_usd(struct arena *arena, double usd)
{
    static const double WHOLE = 99.95; /* from here on number_short has three digits */
    static const double LEAST = 1e-4;  /* below, %g has an exponent */
    if (fabs(usd) >= WHOLE) {
        return arena_printf(arena, "%c%s", usd < 0 ? '-' : '+', number_short(arena, fabs(usd)));
    }
    return fabs(usd) >= LEAST ? arena_printf(arena, "%+.3g", usd) : "0";
}

static void add_usd_slope(struct sheet *table, double usd)
{
    if (is_absent(usd)) {
        sheet_null_as(table, NULL, BELOW_RESOLUTION);
    } else {
        sheet_number_as(table, NULL, usd, signed_usd(sheet_arena(table), usd));
    }
}

/* Of two rows, 5 % better and worse, the slope between them. */
static void add_margins(const struct whatif_found *found, struct sheet *sheet)
{
    const struct field fields[] = {
        {"resource", FIELD_LEFT("sensitivity to")},
        {"unit", FIELD_LEFT("of which")},
        {"value_per_unit",
         FIELD_RIGHT(arena_printf(sheet_arena(sheet), "changes %s", whatif_head(found)), "%+.3g",
                     1)},
        {"usd_per_unit", FIELD_COUNT(found->rows[0].cost_usd > 0 ? "USD" : NULL)},
        {"then_bound_by", FIELD_LEFT("then bound by")},
    };
    struct sheet *table = sheet_table(sheet, "margins", FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 1; i + 1 < found->row_count; i++) {
        const struct store_row *more = &found->rows[i];
        const struct store_row *less = &found->rows[i + 1];
        const struct whatif_remedy *remedy = whatif_remedy_of(found, more);
        if (remedy->group != WHATIF_MARGIN || remedy->units < 0 || !store_row_is_good(more) ||
            !store_row_is_good(less)) {
            continue;
        }
        const double units = remedy->units - whatif_remedy_of(found, less)->units;
        sheet_text(table, NULL, remedy->resource);
        sheet_text(table, NULL, remedy->unit);
        const double resolution = whatif_resolution(found, more, less);
        const double slope =
            slope_of(whatif_value(found, more), whatif_value(found, less), units, resolution);
        if (is_absent(slope)) {
            sheet_null_as(table, NULL, BELOW_RESOLUTION);
        } else {
            sheet_number(table, NULL, slope);
        }
        if (whatif_has_run(found) && !is_absent(more->cost_usd)) {
            add_usd_slope(table, slope_of(more->cost_usd, less->cost_usd, units, resolution));
        } else {
            sheet_number(table, NULL, ABSENT);
        }
        sheet_text(table, NULL, more->bound_by);
    }
}

static void add_ladder(const struct whatif_found *found, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const struct field fields[] = {
        {NULL, FIELD_LEFT("cumulative")},
        {NULL, FIELD_RIGHT(whatif_head(found), "%.4g", 1)},
        {NULL, FIELD_RIGHT("saves %", "%.1f", 100)},
        {NULL, FIELD_LEFT("then bound by")},
        {NULL, FIELD_LEFT("with, added")},
    };
    struct sheet *list = sheet_array(sheet, "ladder");
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < found->rung_count; i++) {
        const struct whatif_rung *rung = &found->rungs[i];
        const struct whatif_remedy *remedy = &found->remedies[rung->remedy];
        const double value = whatif_value(found, &rung->row);
        const double saves = units_difference(1, value / whatif_value(found, found->rows));
        struct sheet *object = sheet_object(list, NULL);
        sheet_text(object, "name", remedy->name);
        sheet_texts(object, "set", remedy->sets, remedy->set_count);
        sheet_number(object, "value", value);
        sheet_number(object, "saves", saves);
        sheet_number(object, "step_time_s", rung->row.step_s);
        sheet_text(table, NULL, arena_printf(arena, "%" PRIu32 ". %s", i + 1, remedy->name));
        sheet_number(table, NULL, value);
        sheet_number(table, NULL, saves);
        sheet_text(table, NULL, rung->row.bound_by);
        sheet_text(table, NULL, sets_text(arena, remedy));
    }
}

static void add_rows(const struct whatif_found *found, const struct against *against,
                     struct sheet *sheet)
{
    struct sheet *rows = sheet_array(sheet, "rows");
    const bool has_now = store_row_is_good(found->rows);
    for (uint32_t i = 1; i < found->row_count; i++) {
        const struct store_row *row = &found->rows[i];
        const struct whatif_remedy *remedy = whatif_remedy_of(found, row);
        const double value = store_row_is_good(row) ? whatif_value(found, row) : ABSENT;
        struct sheet *object = points_add(rows, row);
        sheet_text(object, "group", whatif_group_names[remedy->group]);
        sheet_texts(object, "set", remedy->sets, remedy->set_count);
        sheet_number(object, "value", value);
        sheet_number(object, "saves",
                     has_now && !is_absent(value)
                         ? units_difference(1, value / whatif_value(found, found->rows))
                         : ABSENT);
        sheet_text(object, "piece", remedy->each);
        sheet_number(object, "worth_usd_per_piece",
                     store_row_is_good(row) ? whatif_worth(found, row) : ABSENT);
        against_add(object, &against[i]);
    }
}

/* Those that lack what the scenario as it is lacks are only counted. */
static void say_left_out(const struct whatif_found *found, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const char *now = points_reason(arena, &found->rows[0]);
    uint32_t said = 0;
    uint32_t alike = 0;
    for (uint32_t i = 1; i < found->row_count; i++) {
        const struct store_row *row = &found->rows[i];
        const char *reason = points_reason(arena, row);
        if (store_row_is_good(row)) {
            continue;
        }
        if (strcmp(reason, now) == 0) {
            alike++;
            continue;
        }
        sheet_say(sheet, "%s  %s: %s\n", said++ == 0 ? "\ninfeasible\n" : "",
                  whatif_remedy_of(found, row)->name, reason);
    }
    if (alike > 0) {
        sheet_say(sheet, "%s%" PRIu32 " others lack the same\n", said == 0 ? "\n" : "  ", alike);
    }
}

/* An ideal that makes a step longer, and where. What comes sooner meets others that it missed. */
static void say_slower(const struct whatif_found *found, struct sheet *sheet)
{
    const struct store_row *now = found->rows;
    for (uint32_t i = 1; i < found->row_count && store_row_is_good(now); i++) {
        const struct store_row *row = &found->rows[i];
        if (!store_row_is_good(row) || whatif_remedy_of(found, row)->group != WHATIF_IDEAL ||
            row->step_s <= now->step_s * exp(found->resolution)) {
            continue;
        }
        uint32_t most = 0;
        for (uint32_t c = 1; c < CAUSE_COUNT_; c++) {
            if (row->path_s[c] - now->path_s[c] > row->path_s[most] - now->path_s[most]) {
                most = c;
            }
        }
        sheet_say(sheet,
                  "\n%s makes the step %.2g %% longer (%s %+.3g s): what comes sooner meets others "
                  "on its links, or slows other kernels\n",
                  whatif_remedy_of(found, row)->name, 100 * (row->step_s / now->step_s - 1),
                  critical_cause_title((enum cause)most), row->path_s[most] - now->path_s[most]);
    }
}

/* Where the step hangs: its critical path. */
static void say_now(const struct whatif_found *found, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const struct store_row *now = found->rows;
    sheet_text(sheet, "by", whatif_has_run(found) ? whatif_by_names[found->by] : "step");
    points_add(sheet_array(sheet, "base"), now);
    if (!store_row_is_good(now)) {
        sheet_text(sheet, "critical_bound_by", NULL);
        sheet_say(sheet, "as it is it has no result: %s\n", points_reason(arena, now));
        return;
    }
    sheet_text(sheet, "critical_bound_by", now->bound_by);
    if (whatif_has_run(found)) {
        sheet_say(sheet, "as it is: %.4g days, %s USD, %s kWh; step %.4g s\n", now->wall_clock_days,
                  is_absent(now->cost_usd) ? "no" : number_short(arena, now->cost_usd),
                  number_short(arena, now->energy_kwh), now->step_s);
    } else {
        sheet_say(sheet, "as it is: step %.4g s of %s tokens\n", now->step_s,
                  number_grouped(arena, now->tokens_per_step));
    }
    sheet_say(sheet, "the step hangs on %s of the critical path\n", now->bound_by);
}

/* ---- all of it ------------------------------------------------------------------------------ */

void whatif_add(const struct whatif_found *found, const struct against *against,
                struct sheet *sheet)
{
    say_now(found, sheet);
    add_rows(found, against, sheet);
    add_group(found, WHATIF_FREE, "free", against, sheet);
    add_group(found, WHATIF_PURCHASE, "to buy", against, sheet);
    add_group(found, WHATIF_IDEAL, "upper bound", against, sheet);
    say_slower(found, sheet);
    add_margins(found, sheet);
    add_ladder(found, sheet);
    say_left_out(found, sheet);
    if (found->lacking != NULL) {
        sheet_say(sheet, "not asked, since %s has not what it takes (--any-software): %s\n",
                  found->software, found->lacking);
    }
    sheet_text(sheet, "lacking", found->lacking);
    sheet_integer(sheet, "runs", found->runs);
    if (against_are_known(against, found->row_count) || found->resolution > 0) {
        against_say(sheet, against, found->row_count);
    }
}

const struct plot_series *whatif_series(struct arena *arena, const struct whatif_found *found,
                                        const struct against *against, const char *title)
{
    struct plot_series *series = arena_alloc(arena, sizeof *series);
    double *factors = arena_array(arena, found->row_count, sizeof *factors);
    for (uint32_t i = 0; i < found->row_count; i++) {
        factors[i] = against[i].factor;
    }
    struct store_row *rungs = arena_array(arena, WHATIF_RUNGS_MAX, sizeof *rungs);
    for (uint32_t i = 0; i < found->rung_count; i++) {
        rungs[i] = found->rungs[i].row;
    }
    *series = (struct plot_series){.title = title,
                                   .rows = found->rows,
                                   .count = found->row_count,
                                   .factors = factors,
                                   .rungs = rungs,
                                   .rung_count = found->rung_count};
    return series;
}
