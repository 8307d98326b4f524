/* Two tables: the values, each with its best layout; then, of each value, how much longer it takes
 * with the layouts of the others. */
#include "cli/study/bests.h"

#include "cli/progress.h"
#include "report/against_sheet.h"
#include "report/near.h"
#include "report/numbers.h"
#include "report/points.h"
#include "run/duration.h"

#include "bands/memory_errors.h"
#include "bands/ratio_bands.h"
#include "base/absent.h"
#include "base/arena.h"
#include "base/printable.h"
#include "base/units.h"
#include "study/search/search_space.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- searching ------------------------------------------------------------------------------ */

/* Of one value after the other. */
struct bests_progress {
    struct progress line;
    struct arena *arena;
};

static void begin(void *context, const struct study_point *point)
{
    struct bests_progress *progress = context;
    progress->line.before =
        arena_printf(progress->arena, "%s: ", printable_line(progress->arena, point->label));
}

static bool show(void *context, const struct search_state *state)
{
    progress_search(&((struct bests_progress *)context)->line, state);
    return true;
}

/* The key that a search sets itself and "path=value" does, too; NULL: there is none. */
static const char *searched_key(const char *set)
{
    for (uint32_t axis = 0; axis < SEARCH_AXIS_COUNT_; axis++) {
        const size_t length = strlen(search_axis_paths[axis]);
        if (strncmp(set, search_axis_paths[axis], length) == 0 &&
            (set[length] == '=' || set[length] == '.')) {
            return search_axis_paths[axis];
        }
    }
    return NULL;
}

/* The layout found goes before what a value sets of it, so that all such values would be one. */
static bool check_values(const struct study *values, const struct study_base *base,
                         struct diag *diag)
{
    for (uint32_t i = 0; i < values->count; i++) {
        const struct study_point *point = &values->points[i];
        for (uint32_t s = base->set_count; s < point->set_count; s++) {
            const char *key = searched_key(point->sets[s]);
            if (key != NULL) {
                diag_add(diag, DIAG_USAGE, NULL,
                         "--best finds '%s' itself, so it cannot be swept, too (%s)", key,
                         point->label);
                diag_help(diag,
                          "leave it out, or sweep it without --best; search: {%s: [...]} "
                          "says what may be found",
                          key);
                return false;
            }
        }
    }
    return true;
}

bool bests_find(struct sweeper *sweeper, const struct best_request *asked,
                struct best_layout *layouts)
{
    struct session *session = &sweeper->session;
    struct diag *diag = session->options.cli->diag;
    if (asked->values->count > BESTS_MAX) {
        diag_add(diag, DIAG_USAGE, NULL, "--best searches at each of %" PRIu32 " values",
                 asked->values->count);
        diag_help(diag, "ask for at most %d", BESTS_MAX);
        return false;
    }
    if (!check_values(asked->values, asked->base, diag)) {
        return false;
    }
    struct cli *cli = session->options.cli;
    struct bests_progress progress = {.line = {.cli = cli, .unit = search_by_units[sweeper->by]},
                                      .arena = cli->arena};
    struct best_request request = *asked;
    request.by = (enum search_by)sweeper->by;
    request.gap = sweeper->gap;
    request.jobs = (uint32_t)session->jobs;
    request.folds = session->options.folds;
    request.is_usual = sweeper->best == BEST_USUAL;
    request.begins = begin;
    request.goes_on = show;
    request.context = &progress;
    const bool is_good = best_find(session->options.cli->arena, &request, layouts, diag);
    progress_end(&progress.line);
    return is_good;
}

static double over_of(const struct best_layout *layout)
{
    return memory_over(layout->near.memory_bytes, layout->limit_bytes);
}

/* In the help of a message that nothing fits: of the values' near misses the one that misses
 * least. */
static void help_near(const struct sweeper *sweeper)
{
    struct cli *cli = sweeper->session.options.cli;
    const struct best_layout *nearest = NULL;
    for (uint32_t i = 0; i < sweeper->values.count; i++) {
        const struct best_layout *layout = &sweeper->layouts[i];
        if (layout->near.is_found && (nearest == NULL || over_of(layout) < over_of(nearest))) {
            nearest = layout;
        }
    }
    if (nearest != NULL) {
        diag_help(cli->diag, "but for memory the best at %s were %s: %.1f of %.1f GB, over %s",
                  sweeper->values.points[nearest - sweeper->layouts].label, nearest->near.label,
                  nearest->near.memory_bytes / 1e9, nearest->limit_bytes / 1e9,
                  near_words(cli->arena, sweeper->memory_errors, over_of(nearest)));
    }
}

bool bests_expand(struct sweeper *sweeper, const struct doc_node *document,
                  const struct study_base *base)
{
    struct session *session = &sweeper->session;
    struct arena *arena = session->options.cli->arena;
    sweeper->values = session->study;
    const uint32_t count = sweeper->values.count;
    sweeper->memory_errors = memory_errors_open(arena, base->catalogue, session->options.cli->diag);
    const struct best_request request = {
        .document = document,
        .base = base,
        .values = &sweeper->values,
        .near = sweeper->memory_errors != NULL ? sweeper->memory_errors->near : 0,
        .require = requirements_of_search(&sweeper->session.requirements, arena,
                                          search_by_metrics[sweeper->by])};
    sweeper->layouts = arena_array(arena, count, sizeof *sweeper->layouts);
    if (!bests_find(sweeper, &request, sweeper->layouts)) {
        return false;
    }
    sweeper->number_of = arena_array(arena, (size_t)count * count, sizeof *sweeper->number_of);
    const bool is_good = best_study(arena, &request, sweeper->layouts, &session->study,
                                    sweeper->number_of, session->options.cli->diag);
    if (!is_good && session->study.count == 0) {
        help_near(sweeper);
    }
    return is_good;
}

/* ---- in what winners differ ----------------------------------------------------------------- */

/* What is said of the axis; "": it follows from others. */
static const char *said(const struct best_layout *layout, uint32_t axis)
{
    return layout->sets.of[axis] != NULL ? layout->sets.of[axis] : "";
}

static bool tells_apart(const struct sweeper *sweeper, uint32_t axis)
{
    const char *first = NULL;
    for (uint32_t i = 0; i < sweeper->values.count; i++) {
        const struct best_layout *layout = &sweeper->layouts[i];
        if (layout->is_found && first != NULL && strcmp(said(layout, axis), first) != 0) {
            return true;
        }
        first = layout->is_found ? said(layout, axis) : first;
    }
    return false;
}

/* "tp 8, micro 2": of one layout the axes in which the winners differ, or those in which they do
 * not. */
static const char *words_of(const struct sweeper *sweeper, const struct best_layout *layout,
                            bool differ)
{
    struct arena *arena = sweeper->session.options.cli->arena;
    const char *text = "";
    for (uint32_t axis = 0; axis < SEARCH_AXIS_COUNT_; axis++) {
        const bool differs = tells_apart(sweeper, axis);
        if (differs != differ || (!differs && layout->sets.of[axis] == NULL)) {
            continue;
        }
        text = arena_printf(arena, "%s%s%s %s", text, text[0] != '\0' ? ", " : "",
                            search_axis_word(search_axis_paths[axis]), layout->sets.values[axis]);
    }
    return text[0] != '\0' ? text : "the same for all";
}

/* ---- what is said --------------------------------------------------------------------------- */

/* Value i with the layout of value k; NULL: that layout was not found, or has no result there. */
static const struct store_row *row_of(const struct sweeper *sweeper, uint32_t i, uint32_t k)
{
    const uint32_t number = sweeper->number_of[i * sweeper->values.count + k];
    if (number >= sweeper->session.row_count) {
        return NULL;
    }
    const struct store_row *row = &sweeper->session.rows[number];
    return store_row_is_good(row) ? row : NULL;
}

/* ---- plots ----------------------------------------------------------------------------------- */

static bool is_drawn(const struct session *session)
{
    for (uint32_t i = 0; i < session->plots.count; i++) {
        if (strcmp(session->wishes[i].kind, "best") == 0) {
            return true;
        }
    }
    return false;
}

void bests_prepare(struct sweeper *sweeper)
{
    struct session *session = &sweeper->session;
    struct arena *arena = session->options.cli->arena;
    if (!is_drawn(session)) {
        return;
    }
    struct plot_series *series = arena_alloc(arena, sizeof *series);
    struct store_row *rows = arena_array(arena, sweeper->values.count, sizeof *rows);
    const char **winners = arena_array(arena, sweeper->values.count, sizeof *winners);
    *series = (struct plot_series){.title = session->study.title, .rows = rows};
    for (uint32_t i = 0; i < sweeper->values.count; i++) {
        const struct store_row *row = row_of(sweeper, i, i);
        if (row != NULL) {
            rows[series->count] = *row;
            winners[series->count++] = words_of(sweeper, &sweeper->layouts[i], true);
            series->winners_share = words_of(sweeper, &sweeper->layouts[i], false);
        }
    }
    series->winners = winners;
    struct store_row *today = NULL;
    if (sweeper->has_own_layout &&
        session_run_more(session, &sweeper->values, &today, &series->today_count)) {
        series->today = today;
    }
    session->best_series = series;
}

/* What is least where it is best. */
static double value_of(const struct sweeper *sweeper, const struct store_row *row)
{
    switch ((enum search_by)sweeper->by) {
    case SEARCH_BY_DAYS:
        return row->wall_clock_days;
    case SEARCH_BY_COST:
        return row->cost_usd;
    case SEARCH_BY_ENERGY:
        return row->energy_kwh;
    default:
        return row->step_s / row->tokens_per_step;
    }
}

/* Of that, what hangs on steps. */
static double share_of_steps(const struct sweeper *sweeper, const struct store_row *row)
{
    return sweeper->by == SEARCH_BY_DAYS ? duration_share_of_steps(row->account_s) : 1;
}

/* By how much value i is worse off with the layout of value k; ABSENT: one has no result. */
static double regret_of(const struct sweeper *sweeper, uint32_t i, uint32_t k)
{
    const struct store_row *own = row_of(sweeper, i, i);
    const struct store_row *other = row_of(sweeper, i, k);
    return own != NULL && other != NULL
               ? units_difference(value_of(sweeper, other) / value_of(sweeper, own), 1)
               : ABSENT;
}

static struct sheet *best_table(const struct sweeper *sweeper, bool has_ratios, struct sheet *sheet)
{
    const struct session *session = &sweeper->session;
    const bool has_runs = points_have_runs(session->rows, session->row_count);
    const bool has_prices = has_runs && session->rows != NULL && session->rows[0].has_run &&
                            session->rows[0].cost_usd > 0;
    const struct field fields[] = {
        {NULL, FIELD_LEFT("each at its best")},
        {NULL, FIELD_LEFT("layout")},
        {NULL, FIELD_RIGHT("step s", "%.3f", 1)},
        {NULL, FIELD_RIGHT("MFU %", "%.1f", 100)},
        {NULL, FIELD_RIGHT(has_runs ? "days" : NULL, "%.1f", 1)},
        {NULL, FIELD_COUNT(has_prices ? "USD" : NULL)},
        {NULL, FIELD_COUNT(has_ratios ? "tokens/s" : NULL)},
        {NULL, FIELD_LEFT(has_ratios ? "p10 to p90" : NULL)},
        {NULL, FIELD_LEFT(has_ratios ? "which is" : NULL)},
        {NULL, FIELD_COUNT("of layouts")},
        {NULL, FIELD_LEFT(required_head(&sweeper->session.requirements))},
        {NULL, FIELD_LEFT("bound by, of the critical path")},
    };
    return sheet_table(sheet, NULL, FIELD_LIST(fields));
}

static void add_best(const struct sweeper *sweeper, uint32_t i, const struct against *against,
                     struct sheet *table)
{
    struct arena *arena = sweeper->session.options.cli->arena;
    const struct best_layout *layout = &sweeper->layouts[i];
    const struct store_row *row = row_of(sweeper, i, i);
    const bool has_row = row != NULL;
    const struct against *held = has_row ? &against[row - sweeper->session.rows] : NULL;
    const bool has_ratio = held != NULL && !is_absent(held->speed_up);
    sheet_text(table, NULL, sweeper->values.points[i].label);
    sheet_text(table, NULL, layout->is_found ? words_of(sweeper, layout, true) : NULL);
    sheet_number(table, NULL, has_row ? row->step_s : ABSENT);
    sheet_number(table, NULL, has_row ? row->mfu : ABSENT);
    sheet_number(table, NULL, has_row ? row->wall_clock_days : ABSENT);
    sheet_text(table, NULL,
               has_row && !is_absent(row->cost_usd) ? number_short(arena, row->cost_usd) : NULL);
    sheet_text(table, NULL, has_ratio ? arena_printf(arena, "%.2f x", held->speed_up) : NULL);
    sheet_text(table, NULL, held != NULL ? against_range(arena, held) : NULL);
    sheet_text(table, NULL, held != NULL ? held->verdict : NULL);
    sheet_text(table, NULL, number_grouped(arena, (double)layout->counts.layouts));
    sheet_text(table, NULL,
               has_row ? required_cell(&sweeper->session.requirements, row, arena) : NULL);
    sheet_text(table, NULL, has_row ? row->bound_by : layout->lack);
}

/* "+3.1 %"; NULL: it is the value's own, or there is none. */
static const char *regret_text(const struct sweeper *sweeper, const struct against *against,
                               uint32_t i, uint32_t k)
{
    const double regret = regret_of(sweeper, i, k);
    if (i == k || is_absent(regret)) {
        return NULL;
    }
    const struct against *own = &against[row_of(sweeper, i, i) - sweeper->session.rows];
    const struct against *other = &against[row_of(sweeper, i, k) - sweeper->session.rows];
    const double logarithm = log1p(regret);
    const double share = share_of_steps(sweeper, row_of(sweeper, i, i));
    return against_is_unresolved(own, share, logarithm) ||
                   against_is_unresolved(other, share, logarithm)
               ? ratio_verdict_names[RATIO_CLOSE]
               : arena_printf(sweeper->session.options.cli->arena, "%+.1f %%", 100 * regret);
}

static void add_regrets(const struct sweeper *sweeper, const struct against *against,
                        struct sheet *sheet)
{
    struct arena *arena = sweeper->session.options.cli->arena;
    const uint32_t count = sweeper->values.count;
    struct field *fields = arena_array(arena, count + 1u, sizeof *fields);
    fields[0] = (struct field){FIELD_LEFT("worse with the layout of")};
    for (uint32_t k = 0; k < count; k++) {
        const bool is_there = sweeper->layouts[k].is_found;
        fields[k + 1] =
            (struct field){FIELD_COUNT(is_there ? sweeper->values.points[k].label : NULL)};
    }
    struct sheet *table = sheet_table(sheet, NULL, fields, count + 1);
    sheet_caption(table, "\n");
    for (uint32_t i = 0; count > 1 && i < count; i++) {
        sheet_text(table, NULL, sweeper->values.points[i].label);
        for (uint32_t k = 0; k < count; k++) {
            sheet_text(table, NULL, regret_text(sweeper, against, i, k));
        }
    }
}

/* By less than the error of memory. */
static bool fits_hardly(const struct sweeper *sweeper, const struct best_layout *layout)
{
    return layout->is_found &&
           memory_errors_are_near(sweeper->memory_errors,
                                  memory_over(layout->memory_bytes, layout->limit_bytes));
}

/* "fits by less than the error of memory, 3.8 %: the best of 400 Gbps by 1.5 %". */
static void say_room(const struct sweeper *sweeper, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const char *text = "";
    for (uint32_t i = 0; i < sweeper->values.count; i++) {
        const struct best_layout *layout = &sweeper->layouts[i];
        if (fits_hardly(sweeper, layout)) {
            text = arena_printf(arena, "%s%s of %s by %.2g %%", text, text[0] != '\0' ? "," : "",
                                sweeper->values.points[i].label,
                                -100 * memory_over(layout->memory_bytes, layout->limit_bytes));
        }
    }
    if (text[0] != '\0') {
        sheet_say(sheet, "fits by less than the error of memory, %.1f %%: the best%s\n",
                  100 * sweeper->memory_errors->near, text);
    }
}

/* "5 % of a GPU's memory is left free (memory.margin); at 400 Gbps without that ...". */
static void say_margin(const struct sweeper *sweeper, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const struct best_layout *first = NULL;
    const char *text = "";
    for (uint32_t i = 0; i < sweeper->values.count; i++) {
        const struct best_layout *layout = &sweeper->layouts[i];
        first = first == NULL && layout->is_found ? layout : first;
        if (near_margin_costs(layout->value, layout->within) > 0) {
            text = arena_printf(arena, "%s; at %s %s", text, sweeper->values.points[i].label,
                                near_margin_words(arena, layout->value, layout->within));
        }
    }
    if (first != NULL && first->margin > 0) {
        sheet_say(sheet, "%.2g %% of a GPU's memory is left free (memory.margin)%s\n",
                  100 * first->margin, text[0] != '\0' ? text : ", which costs nothing");
    }
}

/* What the software has not, once of values that leave out the same. */
static void say_left_out(const struct sweeper *sweeper, struct sheet *sheet)
{
    const char *said = "";
    for (uint32_t i = 0; i < sweeper->values.count; i++) {
        const char *left_out = sweeper->layouts[i].left_out;
        if (left_out != NULL && strcmp(left_out, said) != 0) {
            sheet_say(sheet, "%s: %s\n", sweeper->values.points[i].label, left_out);
            said = left_out;
        }
    }
}

/* Near misses of each value, and of which values the best fits hardly. */
static void add_near(const struct sweeper *sweeper, struct sheet *sheet)
{
    const uint32_t count = sweeper->values.count;
    struct arena *arena = sweeper->session.options.cli->arena;
    struct near_miss *misses = arena_array(arena, count + 1u, sizeof *misses);
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct best_layout *layout = &sweeper->layouts[i];
        const char *at = sweeper->values.points[i].label;
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
    say_left_out(sweeper, sheet);
    say_margin(sweeper, sheet);
    say_room(sweeper, sheet);
    near_add_errors(sweeper->memory_errors, sheet);
    near_add(sweeper->memory_errors, misses, found, sheet);
}

static void add_document(const struct sweeper *sweeper, const struct against *against,
                         struct sheet *sheet)
{
    struct sheet *list = sheet_array(sheet, "best");
    for (uint32_t i = 0; i < sweeper->values.count; i++) {
        const struct best_layout *layout = &sweeper->layouts[i];
        const struct store_row *row = row_of(sweeper, i, i);
        struct sheet *object = sheet_object(list, NULL);
        sheet_text(object, "value", sweeper->values.points[i].label);
        sheet_text(object, "layout", layout->is_found ? layout->label : NULL);
        sheet_texts(object, "set", layout->sets.items, layout->sets.count);
        sheet_number(object, "step_time_s", row != NULL ? row->step_s : ABSENT);
        sheet_integer(object, "layouts", (int64_t)layout->counts.layouts);
        sheet_number(object, "gap", layout->gap);
        sheet_bool(object, "is_certified", layout->is_certified);
        sheet_text(object, "lack", layout->is_found ? NULL : layout->lack);
        sheet_text(object, "left_out", layout->left_out);
        sheet_bool(object, "fits_within_memory_error", fits_hardly(sweeper, layout));
        struct sheet *regrets = sheet_array(object, "regrets");
        for (uint32_t k = 0; k < sweeper->values.count; k++) {
            sheet_number(regrets, NULL, regret_of(sweeper, i, k));
        }
        if (row != NULL) {
            required_add_point(&sweeper->session.requirements, object, row);
            against_add(object, &against[row - sweeper->session.rows]);
        }
    }
}

/* The near miss of each value, as a point. */
static struct near_points near_points(const struct sweeper *sweeper)
{
    struct arena *arena = sweeper->session.options.cli->arena;
    struct study_point *made = arena_array(arena, sweeper->values.count, sizeof *made);
    struct near_point *items = arena_array(arena, sweeper->values.count, sizeof *items);
    struct near_points found = {.items = items};
    for (uint32_t i = 0; i < sweeper->values.count; i++) {
        const struct best_near *near = &sweeper->layouts[i].near;
        const struct best_layout layout = {.is_found = near->is_found, .sets = near->sets};
        if (near->is_found) {
            struct study_point *point = &made[found.count];
            items[found.count++] = (struct near_point){point, over_of(&sweeper->layouts[i])};
            best_lay_out(arena, &sweeper->values.points[i], &layout, point);
            point->label = arena_printf(arena, "%s with %s", point->label, near->label);
        }
    }
    return found;
}

/* What is required is required of each value's own best. */
static void add_required(const struct sweeper *sweeper, const struct against *against,
                         struct sheet *sheet)
{
    struct arena *arena = sweeper->session.options.cli->arena;
    struct against *held = arena_array(arena, sweeper->values.count + 1u, sizeof *held);
    struct store_row *rows = arena_array(arena, sweeper->values.count + 1u, sizeof *rows);
    uint32_t count = 0;
    for (uint32_t i = 0; i < sweeper->values.count; i++) {
        const struct store_row *row = row_of(sweeper, i, i);
        if (row != NULL) {
            held[count] = against[row - sweeper->session.rows];
            rows[count++] = *row;
        }
    }
    const struct near_points near = near_points(sweeper);
    session_add_required_of(&sweeper->session, &(struct against_rows){rows, held, count}, &near,
                            sheet);
}

void bests_add(const struct sweeper *sweeper, struct sheet *sheet)
{
    const struct session *session = &sweeper->session;
    uint32_t first = 0;
    while (first + 1 < sweeper->values.count && row_of(sweeper, first, first) == NULL) {
        first++;
    }
    const struct store_row *base = row_of(sweeper, first, first);
    const struct against *against = session_against(session, base != NULL ? base : session->rows);
    const bool has_ratios = against_are_known(against, session->row_count);
    sheet_text(sheet, "against", base != NULL ? base->label : NULL);
    add_document(sweeper, against, sheet);
    struct sheet *points = sheet_array(sheet, "points");
    for (uint32_t i = 0; i < session->row_count; i++) {
        points_add(points, &session->rows[i]);
    }
    struct sheet *table = best_table(sweeper, has_ratios, sheet);
    for (uint32_t i = 0; i < sweeper->values.count; i++) {
        add_best(sweeper, i, against, table);
    }
    if (sweeper->layouts[first].is_found) {
        sheet_say(sheet, "all: %s\n", words_of(sweeper, &sweeper->layouts[first], false));
    }
    add_regrets(sweeper, against, sheet);
    add_near(sweeper, sheet);
    if (has_ratios) {
        sheet_say(sheet, "\ntokens/s are relative to %s.\n", base != NULL ? base->label : "");
        against_say(sheet, against, session->row_count);
    }
    add_required(sweeper, against, sheet);
}
