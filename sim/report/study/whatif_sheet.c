/* A table of each group, slopes, the ladder; JSON has all rows in one array. */
#include "report/study/whatif_sheet.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "report/against_sheet.h"
#include "report/banded.h"
#include "report/hangs.h"
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

/* "tp 4, micro 2" of "parallel.tp=4" and "batch.micro=2". */
static const char *keys_text(struct arena *arena, const struct whatif_remedy *remedy)
{
    const char *text = "";
    for (uint32_t i = 0; i < remedy->set_count; i++) {
        const char *set = remedy->sets[i];
        const size_t path = strcspn(set, "=");
        size_t key = path;
        while (key > 0 && set[key - 1] != '.') {
            key--;
        }
        text = arena_printf(arena, "%s%s%.*s %s", text, i > 0 ? ", " : "", (int)(path - key),
                            set + key, set[path] == '=' ? set + path + 1 : "");
    }
    return text;
}

/* What the answer calls it: of the best layout it says which. */
static const char *name_of(struct arena *arena, const struct whatif_remedy *remedy)
{
    return remedy->is_found ? arena_printf(arena, "%s (%s)", remedy->name, keys_text(arena, remedy))
                            : remedy->name;
}

/* What is saved, from and to, of a ratio of speeds that may be off by a factor. */
static const char *saves_band(struct arena *arena, double saves, const struct against *against)
{
    return is_absent(against->factor) || is_absent(saves)
               ? NULL
               : arena_printf(arena, "%+.0f to %+.0f", 100 * (1 - (1 - saves) * against->factor),
                              100 * (1 - (1 - saves) / against->factor));
}

/* In what share of draws the row is better than the scenario as it is, by what rows are ranked by;
 * ABSENT: that is no draw's, or not known. */
static double wins_share(const struct whatif_found *found, const struct wins *wins)
{
    return found->by == WHATIF_BY_DAYS  ? wins->days_share
           : found->by == WHATIF_BY_USD ? wins->usd_share
                                        : ABSENT;
}

static bool has_wins(const struct whatif_found *found, const struct wins *wins)
{
    for (uint32_t i = 1; i < found->row_count; i++) {
        if (!is_absent(wins_share(found, &wins[i]))) {
            return true;
        }
    }
    return false;
}

/* Of what a row saves half the width of its band; what is known exactly differs so from nothing. */
static double saves_half(double saves, const struct against *against)
{
    return against_half(against, 1 - saves, 1);
}

/* "22 %", of a row alone. */
static const char *saves_text(struct arena *arena, double saves, const struct against *against)
{
    const double half = saves_half(saves, against);
    return banded_or(banded_text(arena, 100 * saves, 100 * half),
                     arena_printf(arena, "%.1f", 100 * saves));
}

/* Columns of what is to be least and of what is saved, in the digits of the rows' bands. */
struct told {
    struct field value, saves;
};

static struct told told_of(const struct whatif_found *found, const struct whatif_list *list,
                           const struct against *against)
{
    const double now = whatif_value(found, found->rows);
    struct banded_column value = {0};
    struct banded_column saves = {0};
    for (uint32_t i = 0; i < list->count; i++) {
        const uint32_t number = list->shown[i];
        const double own = whatif_value(found, &found->rows[number]);
        const double saved = whatif_saves(found, &found->rows[number]);
        banded_meet(&value, own, against_half(&against[number], own, now));
        banded_meet(&saves, saved, saves_half(saved, &against[number]));
    }
    struct told told = {
        {NULL, FIELD_RIGHT(whatif_head(found), "%.4g", 1), .csv = "value"},
        {NULL, FIELD_RIGHT("saves %", "%.1f", 100), .csv = "saves"},
    };
    banded_tell(&value, &told.value);
    banded_tell(&saves, &told.saves);
    return told;
}

enum { TABLE_COLUMNS = 10 };

/* In two digits: what is saved has a band, and all of it is between so many pieces. */
static const char *worth_text(struct arena *arena, double worth)
{
    enum { DIGITS = 2 };
    const double unit = pow(10, fmax(0, floor(log10(fmax(1, fabs(worth)))) - (DIGITS - 1)));
    return field_number(arena, "%.0f", round(worth / unit) * unit);
}

static void add_line(const struct whatif_found *found, const struct against *against,
                     const struct wins *wins, uint32_t row_number, uint32_t number,
                     struct sheet *table)
{
    struct arena *arena = sheet_arena(table);
    const struct store_row *row = &found->rows[row_number];
    const struct whatif_remedy *remedy = whatif_remedy_of(found, row);
    const double saves = whatif_saves(found, row);
    const double worth = whatif_worth(found, row);
    const double factor = against[row_number].factor;
    sheet_integer(table, NULL, number);
    sheet_text(table, NULL, remedy->name);
    sheet_text(table, NULL, whatif_group_names[remedy->group]);
    sheet_number(table, NULL, whatif_value(found, row));
    sheet_number(table, NULL, saves);
    sheet_range(table, 1 - (1 - saves) * factor, 1 - (1 - saves) / factor,
                saves_band(arena, saves, &against[row_number]));
    sheet_text(table, NULL, against[row_number].verdict);
    sheet_number(table, NULL, wins_share(found, &wins[row_number]));
    if (remedy->group == WHATIF_PURCHASE && remedy->each != NULL) {
        sheet_number_as(table, NULL, worth,
                        arena_printf(arena, "%s a %s", worth_text(arena, worth), remedy->each));
        sheet_number_as(table, NULL, remedy->costs_usd,
                        arena_printf(arena, "%.0f", remedy->costs_usd));
    } else {
        sheet_nothing(table);
        sheet_nothing(table);
    }
}

/* One table, with a line before each group. */
static void add_table(const struct whatif_found *found, const struct whatif_list *list,
                      const struct against *against, const struct wins *wins, struct sheet *sheet)
{
    static const char *const titles[WHATIF_GROUPS_] = {
        [WHATIF_FREE] = "free",
        [WHATIF_PURCHASE] = "to buy",
        [WHATIF_IDEAL] = "ideal, the most there is",
    };
    const bool has_worth = found->rows[0].cost_usd > 0;
    const struct told told = told_of(found, list, against);
    const struct field fields[TABLE_COLUMNS] = {
        {NULL, FIELD_COUNT(""), .csv = "row"},
        {NULL, FIELD_LEFT(""), .csv = "name"},
        {NULL, FIELD_LEFT("group"), .is_for_programs = true},
        told.value,
        told.saves,
        {NULL, FIELD_RANGE("80 % band", "saves"), .is_right = true, .gives_way = 2},
        {NULL, FIELD_COUNT("call"), .csv = "verdict"},
        {NULL, FIELD_RIGHT(has_wins(found, wins) ? "wins %" : NULL, "%.0f", 100),
         .csv = "wins_share", .gives_way = 4},
        {NULL, FIELD_COUNT(has_worth ? "worth USD" : NULL), .csv = "worth_usd", .gives_way = 3},
        {NULL, FIELD_COUNT(has_worth ? "costs USD" : NULL), .csv = "costs_usd", .gives_way = 3},
    };
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    enum whatif_group group = WHATIF_GROUPS_;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct whatif_remedy *remedy = whatif_remedy_of(found, &found->rows[list->shown[i]]);
        if (remedy->group != group) {
            group = remedy->group;
            sheet_row_caption(table, 1, titles[group]);
        }
        add_line(found, against, wins, list->shown[i], i + 1, table);
    }
}

static void say_idle(const struct whatif_found *found, const struct whatif_list *list,
                     struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const char **names = arena_array(arena, list->idle_count + 1u, sizeof *names);
    for (uint32_t i = 0; i < list->idle_count; i++) {
        names[i] = whatif_remedy_of(found, &found->rows[list->idle[i]])->name;
    }
    if (list->idle_count > 0) {
        sheet_say(sheet, "no effect, under 0.2 %%: %s\n",
                  sheet_joined(arena, names, list->idle_count));
    }
}

static void say_hangs(const struct whatif_found *found, const struct whatif_list *list,
                      struct sheet *sheet)
{
    const struct hangs_rows rows = {found->rows, list->shown, list->count};
    const char *sentence = hangs_sentence(sheet_arena(sheet), &rows);
    if (sentence != NULL) {
        sheet_say(sheet, "\nthen %s\n", sentence);
    }
}

/* ---- answer ------------------------------------------------------------------------------ */

/* The best that saves something, of a group; NULL: none does. */
static const struct store_row *best_of(const struct whatif_found *found,
                                       const struct whatif_list *list, enum whatif_group group,
                                       uint32_t *number)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const struct store_row *row = &found->rows[list->shown[i]];
        const double saves = whatif_saves(found, row);
        if (whatif_remedy_of(found, row)->group == group && !is_absent(saves) && saves > 0) {
            *number = list->shown[i];
            return row;
        }
    }
    return NULL;
}

static const char *best_text(struct arena *arena, const struct whatif_found *found,
                             const struct whatif_list *list, const struct against *against,
                             enum whatif_group group)
{
    uint32_t number = 0;
    const struct store_row *row = best_of(found, list, group, &number);
    if (row == NULL) {
        return "nothing saves any";
    }
    const double saves = whatif_saves(found, row);
    return arena_printf(
        arena, "%s saves %s %%%s", name_of(arena, whatif_remedy_of(found, row)),
        saves_text(arena, saves, &against[number]),
        against_told(arena, saves_band(arena, saves, &against[number]), against[number].verdict));
}

const char *whatif_answer(struct arena *arena, const struct whatif_found *found,
                          const struct against *against)
{
    if (!store_row_is_good(found->rows)) {
        return NULL;
    }
    const struct whatif_list list = whatif_listed(found, arena);
    return arena_printf(arena, "Free: of the %s %s. To buy: %s.", whatif_head(found),
                        best_text(arena, found, &list, against, WHATIF_FREE),
                        best_text(arena, found, &list, against, WHATIF_PURCHASE));
}

/* ---- slopes and ladder ---------------------------------------------------------------------- */

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
        {.key = "then_bound_by"},
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

/* Its number in the table; 0: it is not there. */
static uint32_t number_of(const struct whatif_list *list, uint32_t remedy)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->shown[i] == remedy + 1) {
            return i + 1;
        }
    }
    return 0;
}

static void add_ladder(const struct whatif_found *found, const struct whatif_list *list,
                       const struct against *against, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const struct told told = told_of(found, list, against);
    struct sheet *ladder = sheet_array(sheet, "ladder");
    const char *text = NULL;
    for (uint32_t i = 0; i < found->rung_count; i++) {
        const struct whatif_rung *rung = &found->rungs[i];
        const struct whatif_remedy *remedy = &found->remedies[rung->remedy];
        const double value = whatif_value(found, &rung->row);
        const double saves = whatif_saves(found, &rung->row);
        struct sheet *object = sheet_object(ladder, NULL);
        sheet_text(object, "name", remedy->name);
        sheet_texts(object, "set", remedy->sets, remedy->set_count);
        sheet_number(object, "value", value);
        sheet_number(object, "saves", saves);
        sheet_number(object, "step_time_s", rung->row.step_s);
        const uint32_t number = number_of(list, rung->remedy);
        const char *name = number > 0 ? arena_printf(arena, "%" PRIu32, number) : remedy->name;
        const char *shown = field_shown(&told.saves, arena, saves);
        text = text == NULL ? arena_printf(arena, "%s %s %%", name, shown)
                            : arena_printf(arena, "%s, +%s %s", text, name, shown);
    }
    if (found->rung_count > 1) {
        const double value = whatif_value(found, &found->rungs[found->rung_count - 1].row);
        sheet_say(sheet, "\ntogether, best first, they save: %s (%s %s)\n", text,
                  field_shown(&told.value, arena, value), whatif_head(found));
    }
}

static void add_rows(const struct whatif_found *found, const struct against *against,
                     struct sheet *sheet)
{
    struct sheet *rows = sheet_array(sheet, "rows");
    for (uint32_t i = 1; i < found->row_count; i++) {
        const struct store_row *row = &found->rows[i];
        const struct whatif_remedy *remedy = whatif_remedy_of(found, row);
        const double value = store_row_is_good(row) ? whatif_value(found, row) : ABSENT;
        struct sheet *object = points_add(rows, row);
        sheet_text(object, "group", whatif_group_names[remedy->group]);
        sheet_texts(object, "set", remedy->sets, remedy->set_count);
        sheet_number(object, "value", value);
        sheet_number(object, "saves", whatif_saves(found, row));
        sheet_text(object, "piece", remedy->each);
        sheet_number(object, "worth_usd_per_piece",
                     store_row_is_good(row) ? whatif_worth(found, row) : ABSENT);
        sheet_number(object, "costs_usd_per_piece", remedy->costs_usd);
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

/* The run as it is, in the digits of its own band. */
static const char *now_run(struct arena *arena, const struct store_row *now,
                           const struct against *against)
{
    const double usd = now->cost_usd;
    const double kwh = now->energy_kwh;
    return arena_printf(
        arena, "%s days, %s USD, %s", against_base_text(arena, against, now->wall_clock_days),
        is_absent(usd) ? "no"
                       : banded_or(banded_text(arena, usd, against_base_half(against, usd)),
                                   number_short(arena, usd)),
        banded_or(banded_energy(arena, kwh, against_base_half(against, kwh)),
                  banded_energy_short(arena, kwh)));
}

/* Where the step hangs: its critical path. */
static void say_now(const struct whatif_found *found, const struct against *against,
                    struct sheet *sheet)
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
    const char *step = against_base_duration(arena, against, now->step_s);
    if (whatif_has_run(found)) {
        sheet_say(sheet, "as it is: %s; step %s\n", now_run(arena, now, against), step);
    } else {
        sheet_say(sheet, "as it is: step %s of %s tokens\n", step,
                  number_grouped(arena, now->tokens_per_step));
    }
    sheet_say(sheet, "the step hangs on %s of the critical path\n", hangs_text(arena, now));
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void add_sets(const struct whatif_found *found, const struct whatif_list *list,
                     struct sheet *sheet)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const struct whatif_remedy *remedy = whatif_remedy_of(found, &found->rows[list->shown[i]]);
        sheet_say(sheet, "%s%2" PRIu32 "  %s\n", i == 0 ? "\n" : "", i + 1,
                  sets_text(sheet_arena(sheet), remedy));
    }
}

static void add_wins(const struct whatif_found *found, const struct wins *wins, struct sheet *sheet)
{
    struct sheet *list = sheet_array(sheet, "wins");
    for (uint32_t i = 1; i < found->row_count; i++) {
        if (!is_absent(wins[i].days_share)) {
            struct sheet *object = sheet_object(list, NULL);
            sheet_text(object, "row", wins[i].label);
            wins_add(object, &wins[i]);
        }
    }
    if (has_wins(found, wins)) {
        wins_say_column(sheet, "the row takes less than the scenario as it is");
    }
}

void whatif_add(const struct whatif_found *found, const struct against *against,
                const struct wins *wins, bool has_sets, struct sheet *sheet)
{
    const struct whatif_list list = whatif_listed(found, sheet_arena(sheet));
    say_now(found, &against[0], sheet);
    add_rows(found, against, sheet);
    add_table(found, &list, against, wins, sheet);
    if (has_sets) {
        add_sets(found, &list, sheet);
    }
    say_hangs(found, &list, sheet);
    say_idle(found, &list, sheet);
    say_slower(found, sheet);
    add_ladder(found, &list, against, sheet);
    add_margins(found, sheet);
    say_left_out(found, sheet);
    if (found->lacking != NULL) {
        sheet_say(sheet, "not asked, since %s has not what it takes (--any-software): %s\n",
                  found->software, found->lacking);
    }
    add_wins(found, wins, sheet);
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
