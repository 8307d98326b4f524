/* The columns and JSON members that `sweep` and `compare` have in common: a
 * point's axes, its prediction, and the reason where it failed or does not
 * fit.
 */
#include "report/points.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/units.h"
#include "report/numbers.h"
#include "store/store.h"

#include <string.h>

#define REASON_CHARACTERS 100

/* What costs nothing leaves no cost to compare with. */
static bool has_price(const struct store_row *row)
{
    return !is_absent(row->cost_usd) && row->cost_usd > 0;
}

double points_worth(const struct store_row *row, const struct store_row *base)
{
    return has_price(row) && has_price(base)
               ? units_difference(base->cost_usd, row->cost_usd) / row->gpu_hours
               : ABSENT;
}

const struct store_row *points_cheapest(const struct store_row *rows, uint32_t count)
{
    const struct store_row *found = NULL;
    sim_assert(rows != NULL || count == 0);
    for (uint32_t i = 0; i < count; i++) {
        const struct store_row *row = &rows[i];
        if (store_row_is_good(row) && !has_price(row)) {
            return NULL;
        }
        if (store_row_is_good(row) && (found == NULL || row->cost_usd < found->cost_usd)) {
            found = row;
        }
    }
    return found;
}

bool points_have_runs(const struct store_row *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (store_row_is_good(&rows[i]) && !is_absent(rows[i].wall_clock_days)) {
            return true;
        }
    }
    return false;
}

bool points_is_oom(const struct store_row *row)
{
    return row->has_run && !row->memory_fits;
}

const char *points_reason(struct arena *arena, const struct store_row *row)
{
    if (store_row_is_good(row)) {
        return "";
    }
    if (points_is_oom(row) && row->memory_peak_bytes <= row->memory_limit_bytes) {
        return "OOM: the host holds less than is offloaded";
    }
    if (points_is_oom(row)) {
        return arena_printf(arena, "OOM: needs %.1f GB of %.0f", row->memory_peak_bytes / 1e9,
                            row->memory_limit_bytes / 1e9);
    }
    const char *const what = row->status == POINT_FAILED ? "failed"
                             : row->has_run              ? "months"
                                                         : "sizes";
    return arena_printf(arena, "%s: %s", what,
                        sheet_shortened(arena, row->message, REASON_CHARACTERS));
}

const char *points_lack_head(const struct store_row *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!store_row_is_good(&rows[i])) {
            return "no result";
        }
    }
    return NULL;
}

/* ---- as a program reads it --------------------------------------------------------------- */

static void add_axes(struct sheet *in, const char *key, const void *record)
{
    const struct store_row *row = record;
    struct sheet *axes = sheet_object(in, key);
    for (uint32_t i = 0; i < row->axis_count; i++) {
        struct sheet *axis = sheet_object(axes, row->axes[i]);
        sheet_text(axis, "text", row->value_texts[i]);
        sheet_number(axis, "value", row->values[i]);
    }
}

/* Whether a plan fits is known of a run alone. */
#define ADD_FUNCTION_TEXT(column)
#define ADD_FUNCTION_INTEGER(column)
#define ADD_FUNCTION_POSITIVE(column)
#define ADD_FUNCTION_REAL(column)
#define ADD_FUNCTION_DURATION(column)
#define ADD_FUNCTION_BOOL(column)                                                   \
    static void add_##column(struct sheet *in, const char *key, const void *record) \
    {                                                                               \
        const struct store_row *row = record;                                       \
        if (row->has_run) {                                                         \
            sheet_bool(in, key, row->column);                                       \
        } else {                                                                    \
            sheet_null_as(in, key, NULL);                                           \
        }                                                                           \
    }
#define ADD_FUNCTION(kind, when, group, key, column, ...) ADD_FUNCTION_##kind(column)
#define NOT_HERE(...)
RUN_FIGURES(NOT_HERE, NOT_HERE, NOT_HERE, ADD_FUNCTION, ADD_FUNCTION)

static void add_breakdown(struct sheet *in, const char *key, const void *record)
{
    const struct store_row *row = record;
    struct sheet *breakdown = sheet_object(in, key);
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        sheet_number(breakdown, cause_names[cause], row->breakdown_s[cause]);
    }
}

static void add_path(struct sheet *in, const char *key, const void *record)
{
    const struct store_row *row = record;
    struct sheet *path = sheet_object(in, key);
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        sheet_number(path, cause_names[cause], row->path_s[cause]);
    }
}

/* Where a figure of a group lies in the document of a point, as in that of a run. */
#define PATH_POINTS
#define PATH_TITLE
#define PATH_TOP
#define PATH_LINKS
#define PATH_FLOP
#define PATH_MEMORY "memory."
#define PATH_RUN "run."
#define MEMBER_TEXT(column) FIELD_AT(struct store_row, column), .is_said = true
#define MEMBER_INTEGER(column) FIELD_AT(struct store_row, column)
#define MEMBER_POSITIVE(column) MEMBER_INTEGER(column)
#define MEMBER_REAL(column) FIELD_AT(struct store_row, column)
#define MEMBER_DURATION(column) MEMBER_REAL(column)
#define MEMBER_BOOL(column) .add = add_##column
#define FIELD_OF(kind, when, group, member, column, ...) \
    {PATH_##group #member, MEMBER_##kind(column)},

static const struct field point_fields[] = {
    {"number", FIELD_AT(struct store_row, number)},
    {"label", FIELD_AT(struct store_row, label)},
    {"axes", .add = add_axes},
    {"status", FIELD_AT(struct store_row, status), FIELD_NAMES(point_status_names)},
    {"message", FIELD_AT(struct store_row, message), .is_said = true},
    {"breakdown", .add = add_breakdown},
    {"critical_by_cause", .add = add_path},
    RUN_FIGURES(NOT_HERE, NOT_HERE, NOT_HERE, FIELD_OF, FIELD_OF)};

struct sheet *points_add(struct sheet *array, const struct store_row *row)
{
    struct sheet *point = sheet_object(array, NULL);
    sheet_members(point, FIELD_LIST(point_fields), row);
    return point;
}

/* ---- as people read it -------------------------------------------------------------------- */

bool points_have_spreads(const struct store_row *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (store_row_is_good(&rows[i]) && !is_absent(rows[i].step_least_s)) {
            return true;
        }
    }
    return false;
}

void points_add_spread(struct sheet *table, const struct store_row *row)
{
    const char *text =
        arena_printf(sheet_arena(table), "%.2f to %.2f", row->step_least_s, row->step_most_s);
    if (store_row_is_good(row)) {
        sheet_range(table, row->step_least_s, row->step_most_s, text);
    } else {
        sheet_number(table, NULL, ABSENT);
    }
}

struct field points_spread_field(bool is_shown)
{
    return (struct field){FIELD_RANGE(is_shown ? "of runs alike" : NULL, "step_s"),
                          .is_right = true, .gives_way = 8};
}

struct field points_metric_field(const struct figure_metric *metric)
{
    return metric->sized != NULL
               ? (struct field){FIELD_SIZED(metric->sized), .csv = metric->name}
               : (struct field){FIELD_RIGHT(metric->head, metric->format, metric->factor),
                                .csv = metric->name};
}

const char *points_metric_head(const struct figure_metric *metric)
{
    return metric->sized != NULL ? metric->sized : metric->head;
}

const char *points_metric(struct arena *arena, const struct figure_metric *metric,
                          const struct store_row *row)
{
    const double value = store_metric_value(metric, row);
    const struct field field = points_metric_field(metric);
    return is_absent(value)        ? "-"
           : metric->sized != NULL ? number_short(arena, value)
                                   : field_shown(&field, arena, value);
}

struct point_columns points_columns_named(struct arena *arena, const char *const *names,
                                          uint32_t count)
{
    const struct figure_metric **items = arena_array(arena, count, sizeof *items);
    for (uint32_t i = 0; i < count; i++) {
        items[i] = store_metric_find(names[i]);
    }
    return (struct point_columns){items, count, true};
}

struct point_columns points_columns_usual(struct arena *arena, unsigned usual,
                                          const struct store_row *rows, uint32_t count)
{
    const bool has_runs = points_have_runs(rows, count);
    const struct figure_metric **items = arena_array(arena, store_metric_count, sizeof *items);
    struct point_columns columns = {.items = items};
    for (uint32_t i = 0; i < store_metric_count; i++) {
        const struct figure_metric *metric = &store_metric_table[i];
        if ((metric->usual & usual) != 0 && (has_runs || !metric->is_of_months)) {
            items[columns.count++] = metric;
        }
    }
    return columns;
}
