/* Each table is one list, from which both its description and its values are made, so they cannot
 * fall out of step. Those of a prediction are in run/figures.h, where reports have them, too; what
 * a study is, only the store keeps. */
#include "store/store_rows.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/version.h"
#include "input/doc/provenance.h"
#include "input/scenario.h"
#include "input/schedule_file.h"
#include "run/figures.h"
#include "run/holding.h"
#include "run/result.h"
#include "store/store_sql.h"
#include "train/critical/critical.h"

#include <string.h>

#define NULLABLE_ALWAYS false
#define NULLABLE_STEP true
#define NULLABLE_LINK true
#define NULLABLE_ASKED true
#define NULLABLE_RUN true
#define NULLABLE_FAILING true
#define NULLABLE_ENDED true
#define NULLABLE_PRICED true
#define NULLABLE_CARBON true
#define NULLABLE_OWNED true
#define NULLABLE_BOUGHT true
#define NULLABLE_CHECKPOINTS true
#define NULLABLE_SAID true
#define NULLABLE_KNOWN true
/* What files of older schemas do not have (store_older). */
#define NULLABLE_SINCE_13 true
#define FIGURE_EXISTS_SINCE_13(value) true
#define COMPARED_TITLE false
#define COMPARED_TOP true
#define COMPARED_FLOP true
#define COMPARED_MEMORY true
#define COMPARED_RUN true
#define COMPARED_LINKS true
#define COMPARED_ENGINE false
#define COMPARED_POINTS true
#define COLUMN_BOOL COLUMN_INTEGER
#define COLUMN_POSITIVE COLUMN_INTEGER
#define COLUMN_DURATION COLUMN_REAL
#define VALUE_TEXT .text
#define VALUE_INTEGER .integer
#define VALUE_BOOL .integer
#define VALUE_POSITIVE .integer
#define VALUE_DURATION .real
/* Numbers by which others are divided: 0 is refused. */
#define DIVIDES_TEXT false
#define DIVIDES_INTEGER false
#define DIVIDES_POSITIVE true
#define DIVIDES_REAL false
#define DIVIDES_DURATION true
#define DIVIDES_BOOL false
#define VALUE_REAL .real

#define DESCRIBE(kind, when, column, expression) \
    {#column, COLUMN_##kind, true, NULLABLE_##when, DIVIDES_##kind},
#define DESCRIBE_ITEM(kind, when, key, column, expression) DESCRIBE(kind, when, column, expression)
#define DESCRIBE_BOTH(kind, when, group, key, column, ...) \
    {#column, COLUMN_##kind, COMPARED_##group, NULLABLE_##when, DIVIDES_##kind},

#define FILL(kind, when, column, expression) \
    {.is_null = !(FIGURE_EXISTS_##when(expression)), VALUE_##kind = (expression)},
#define FILL_ITEM(kind, when, key, column, expression) FILL(kind, when, column, expression)
#define FILL_BOTH(kind, when, group, key, column, expression) FILL(kind, when, column, expression)
#define FILL_METRIC(kind, when, group, key, column, name, measure, expression, ...) \
    FILL(kind, when, column, expression)
#define NOT_STORED(...)

/* What hangs on a run begins with its key. */
#define OF_RUN(X) X(TEXT, ALWAYS, run_key, result->key)

#define BREAKDOWN_COLUMNS(X)                               \
    OF_RUN(X)                                              \
    X(TEXT, ALWAYS, cause, cause_names[cause])             \
    X(INTEGER, ALWAYS, gpu_ns, result->step.gpu_ns[cause]) \
    X(INTEGER, SINCE_13, path_ns, critical_of_cause(result->step.path, cause))

#define SCENARIO_COLUMNS(X) \
    OF_RUN(X)               \
    X(TEXT, ALWAYS, text, result->scenario->resolved_text)

#define STUDY_COLUMNS(X)                 \
    X(TEXT, ALWAYS, key, study->key)     \
    X(TEXT, ALWAYS, title, study->title) \
    X(TEXT, ALWAYS, kind, study->kind)   \
    X(TEXT, ALWAYS, build, study->build) \
    X(POSITIVE, ALWAYS, point_count, study->point_count)

#define POINT_COLUMNS(X)                                                      \
    X(TEXT, ALWAYS, study_key, study_key)                                     \
    X(INTEGER, ALWAYS, number, point->number)                                 \
    X(TEXT, ALWAYS, label, point->label)                                      \
    X(TEXT, ALWAYS, axes, axes_json(point, arena))                            \
    X(TEXT, SAID, run_key, point->result != NULL ? point->result->key : NULL) \
    X(TEXT, ALWAYS, status, point_status_names[point->status])                \
    X(TEXT, SAID, message, point->message)

/* `value` is in SI units, NULL where the value is a word. */
#define POINT_AXIS_COLUMNS(X)                             \
    X(TEXT, ALWAYS, study_key, study_key)                 \
    X(INTEGER, ALWAYS, number, point->number)             \
    X(INTEGER, ALWAYS, axis_number, axis)                 \
    X(TEXT, ALWAYS, axis, point->axes[axis])              \
    X(TEXT, ALWAYS, value_text, point->value_texts[axis]) \
    X(REAL, KNOWN, value, point->values[axis])

static const struct column run_columns[] = {
    RUN_FIGURES(NOT_STORED, DESCRIBE, DESCRIBE_BOTH, DESCRIBE_BOTH, DESCRIBE_BOTH)};
static const struct column scenario_columns[] = {SCENARIO_COLUMNS(DESCRIBE)};
static const struct column breakdown_columns[] = {BREAKDOWN_COLUMNS(DESCRIBE)};
/* Of each list that hangs on a run, the columns and what fills them. */
#define DEFINE_LIST(list, type, items, count)                                                  \
    static const struct column list##_columns[] = {                                            \
        OF_RUN(DESCRIBE) list##_FIGURES(DESCRIBE_ITEM, DESCRIBE, NOT_STORED)};                 \
    static void add_##list(const struct result *result, size_t index, struct value *values)    \
    {                                                                                          \
        const struct type *item = &result->items[index];                                       \
        const struct value row[] = {OF_RUN(FILL) list##_FIGURES(FILL_ITEM, FILL, NOT_STORED)}; \
        memcpy(values, row, sizeof row);                                                       \
    }
RUN_LISTS(DEFINE_LIST)

static const struct column study_columns[] = {STUDY_COLUMNS(DESCRIBE)};
static const struct column point_columns[] = {POINT_COLUMNS(DESCRIBE)};
static const struct column point_axis_columns[] = {POINT_AXIS_COLUMNS(DESCRIBE)};

#define RELATION(name, columns, key_count, is_by_key, is_list)                            \
    {                                                                                     \
        name, columns, sizeof(columns) / sizeof *(columns), key_count, is_by_key, is_list \
    }
#define TABLE(name, columns, key_count) RELATION(name, columns, key_count, false, false)
#define TABLE_BY_KEY(name, columns, key_count) RELATION(name, columns, key_count, true, false)
#define LIST(name, columns, key_count) RELATION(name, columns, key_count, true, true)

const struct relation store_relations[RELATION_COUNT_] = {
    [RELATION_RUN] = TABLE("run", run_columns, 1),
    [RELATION_SCENARIO] = LIST("scenario", scenario_columns, 1),
    [RELATION_BREAKDOWN] = LIST("breakdown", breakdown_columns, 2),
    [RELATION_ASSUMPTION] = LIST("assumption", ASSUMPTION_columns, 2),
    [RELATION_LINK_USE] = LIST("link_use", LINK_USE_columns, 2),
    [RELATION_LINK_LOAD] = LIST("link_load", LINK_LOAD_columns, 2),
    [RELATION_TRAFFIC] = LIST("traffic", TRAFFIC_columns, 3),
    [RELATION_JOB] = LIST("job", JOB_columns, 3),
    [RELATION_ACCOUNT] = LIST("account", ACCOUNT_columns, 2),
    [RELATION_FAILURE] = LIST("failure", FAILURE_columns, 2),
    [RELATION_STAGE] = LIST("stage", STAGE_columns, 2),
    [RELATION_STUDY] = TABLE("study", study_columns, 1),
    [RELATION_POINT] = TABLE_BY_KEY("point", point_columns, 2),
    [RELATION_POINT_AXIS] = TABLE_BY_KEY("point_axis", point_axis_columns, 3),
};

const char *const point_status_names[3] = {"ok", "infeasible", "failed"};

_Static_assert(sizeof run_columns / sizeof *run_columns <= STORE_COLUMNS_MAX,
               "the widest table fits a row buffer");

struct value *rows_add(struct row_list *rows, enum relation_id id)
{
    rows->items = arena_grow(rows->arena, rows->items, &rows->capacity, rows->count + 1u,
                             sizeof *rows->items);
    struct value *values =
        arena_array(rows->arena, store_relations[id].column_count, sizeof *values);
    rows->items[rows->count++] = (struct row){id, values};
    return values;
}

static void add_run(const struct result *result, struct value *values)
{
    FIGURE_TERMS;
    const struct value row[] = {RUN_FIGURES(NOT_STORED, FILL, FILL_BOTH, FILL_BOTH, FILL_METRIC)};
    memcpy(values, row, sizeof row);
}

static void add_scenario(const struct result *result, size_t index, struct value *values)
{
    (void)index;
    const struct value row[] = {SCENARIO_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}

static void add_breakdown(const struct result *result, size_t index, struct value *values)
{
    const enum cause cause = (enum cause)index;
    const struct value row[] = {BREAKDOWN_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}

void rows_of_result(const struct result *result, struct row_list *rows)
{
#define LIST_PART(list, type, items, count) {RELATION_##list, result->count, add_##list},
    const struct {
        enum relation_id id;
        size_t item_count;
        void (*add)(const struct result *result, size_t index, struct value *values);
    } parts[] = {
        {RELATION_SCENARIO, 1, add_scenario},
        RUN_LISTS(LIST_PART) /* assumptions first */
        {RELATION_BREAKDOWN, CAUSE_COUNT_, add_breakdown},
    };
    /* Where there is no step, nothing has its share of it. */
    const size_t part_count = result_has_step(result) ? sizeof parts / sizeof *parts : 2;
    add_run(result, rows_add(rows, RELATION_RUN));
    for (size_t part = 0; part < part_count; part++) {
        for (size_t i = 0; i < parts[part].item_count; i++) {
            parts[part].add(result, i, rows_add(rows, parts[part].id));
        }
    }
}

void rows_study(const struct store_study *study, struct value *values)
{
    const struct value row[] = {STUDY_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}

/* {"cluster.nics.bandwidth": "50 Gbps"}: for people with a JSON function at hand. */
static const char *axes_json(const struct store_point *point, struct arena *arena)
{
    const char *list = "";
    for (uint32_t i = 0; i < point->axis_count; i++) {
        list = arena_printf(arena, "%s%s%s: %s", list, i > 0 ? ", " : "",
                            json_quoted(arena, point->axes[i]),
                            json_quoted(arena, point->value_texts[i]));
    }
    return arena_printf(arena, "{%s}", list);
}

static void add_point(const char *study_key, const struct store_point *point, struct row_list *rows)
{
    struct arena *arena = rows->arena;
    const struct value row[] = {POINT_COLUMNS(FILL)};
    memcpy(rows_add(rows, RELATION_POINT), row, sizeof row);
    sim_assert(strcmp(point_columns[POINT_STATUS_COLUMN].name, "status") == 0);
}

static void add_point_axis(const char *study_key, const struct store_point *point, uint32_t axis,
                           struct value *values)
{
    const struct value row[] = {POINT_AXIS_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}

void rows_of_point(const char *study_key, const struct store_point *point, struct row_list *rows)
{
    sim_assert(point->axis_count <= STORE_AXES_MAX);
    sim_assert(point->status != POINT_OK || point->result != NULL);
    if (point->result != NULL) {
        rows_of_result(point->result, rows);
    }
    add_point(study_key, point, rows);
    for (uint32_t axis = 0; axis < point->axis_count; axis++) {
        add_point_axis(study_key, point, axis, rows_add(rows, RELATION_POINT_AXIS));
    }
}
