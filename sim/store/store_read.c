/* Reads runs, studies and points back from the store. Rows are small and come
 * in order of number, so each reader is one query, and one more per point for
 * its axes, its breakdown, its critical path and its accounts.
 */
#include "store/store.h"

#include "base/absent.h"
#include "base/arena.h"
#include "input/gpu.h"
#include "input/scenario.h"
#include "run/holding.h"
#include "run/result.h"
#include "store/store_check.h"
#include "store/store_scenario.h"
#include "store/store_sql.h"

#include <string.h>

#define KEY_PREFIX_MIN 4

/* A text cut to fit, never inside a UTF-8 character; NULL is "". */
static void copy_string(char *out, size_t out_bytes, const char *text)
{
    size_t length = text != NULL ? strlen(text) : 0;
    if (length >= out_bytes) {
        length = out_bytes - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) {
            length--;
        }
    }
    if (length > 0) {
        memcpy(out, text, length);
    }
    out[length] = '\0';
}

static void copy_text(char *out, size_t out_bytes, sqlite3_stmt *statement, int column)
{
    copy_string(out, out_bytes, (const char *)sqlite3_column_text(statement, column));
}

/* NULL, with the reason in the store's diag, on error; and where something failed before, which was
 * told: each wait for a lock that nobody gives takes 20 s. */
static sqlite3_stmt *query_of(struct store *store, const char *query)
{
    sqlite3_stmt *statement = store->has_failed ? NULL : sql_prepare(store, query, store->diag);
    store->has_failed = statement == NULL;
    return statement;
}

/* A query whose first parameter is a text. */
static sqlite3_stmt *query_by_text(struct store *store, const char *query, const char *text)
{
    sqlite3_stmt *statement = query_of(store, query);
    if (statement != NULL) {
        sqlite3_bind_text(statement, 1, text, -1, SQLITE_TRANSIENT);
    }
    return statement;
}

/* True while there are rows; an error ends them, and is reported once. */
static bool step(struct store *store, sqlite3_stmt *statement)
{
    if (store->has_failed) {
        return false;
    }
    const int code = sqlite3_step(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        store->has_failed = true;
        sql_fail(store, store->diag, "read it to the end");
    }
    return code == SQLITE_ROW;
}

static bool has_row(struct store *store, sqlite3_stmt *statement)
{
    return step(store, statement) && check_row(store, statement, store->diag);
}

/* Fills one row of a result, which is zero, from the statement's. */
typedef void row_function(sqlite3_stmt *statement, void *row);

/* All rows of a statement (NULL: none), which ends with it; NULL when there are none. */
static void *read_rows(struct store *store, struct arena *arena, sqlite3_stmt *statement,
                       size_t row_bytes, row_function *read, uint32_t *count)
{
    char *rows = NULL;
    size_t capacity = 0;
    *count = 0;
    while (statement != NULL && has_row(store, statement)) {
        rows = arena_grow(arena, rows, &capacity, *count + 1u, row_bytes);
        char *row = rows + *count * row_bytes;
        memset(row, 0, row_bytes);
        read(statement, row);
        (*count)++;
    }
    sqlite3_finalize(statement);
    return rows;
}

static enum point_status status_named(const char *name)
{
    for (uint32_t i = POINT_OK; i < POINT_FAILED; i++) {
        if (name != NULL && strcmp(name, point_status_names[i]) == 0) {
            return (enum point_status)i;
        }
    }
    return POINT_FAILED;
}

bool store_has_point(struct store *store, const char *study_key, int64_t number,
                     enum point_status *status)
{
    sqlite3_stmt *statement = query_by_text(
        store, "SELECT status FROM point WHERE study_key = ?1 AND number = ?2", study_key);
    if (statement == NULL) {
        return false;
    }
    sqlite3_bind_int64(statement, 2, number);
    bool has_point = has_row(store, statement);
    if (has_point) {
        *status = status_named((const char *)sqlite3_column_text(statement, 0));
        has_point = *status != POINT_FAILED;
    }
    sqlite3_finalize(statement);
    return has_point;
}

/* ---- points -------------------------------------------------------------- */

static double read_number(sqlite3_stmt *statement, int column)
{
    return sqlite3_column_type(statement, column) == SQLITE_NULL
               ? ABSENT
               : sqlite3_column_double(statement, column);
}

/* What a row holds of a run; a point without one has NULL in all of them. */
#define NOT_READ(...)
#define SELECT(kind, when, group, key, column, ...) ", run." #column
#define READ(kind, when, group, key, column, ...) READ_##kind(column);
#define READ_TEXT(member) copy_text(row->member, sizeof row->member, statement, place++)
#define READ_INTEGER(member) row->member = read_number(statement, place++)
#define READ_POSITIVE(member) READ_INTEGER(member)
#define READ_REAL(member) row->member = read_number(statement, place++)
#define READ_DURATION(member) READ_REAL(member)
#define READ_BOOL(member) row->member = sqlite3_column_int64(statement, place++) != 0
#define RUN_COLUMNS RUN_FIGURES(NOT_READ, NOT_READ, NOT_READ, SELECT, SELECT)

static const char points_query[] =
    "SELECT point.number, point.label, point.status, point.message" RUN_COLUMNS
    " FROM point LEFT JOIN run ON run.key = point.run_key "
    "WHERE point.study_key = ?1 ORDER BY point.number";

static void read_point(sqlite3_stmt *statement, void *to)
{
    struct store_row *row = to;
    row->number = sqlite3_column_int64(statement, 0);
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        row->breakdown_s[cause] = ABSENT;
        row->path_s[cause] = ABSENT;
    }
    copy_text(row->label, sizeof row->label, statement, 1);
    row->status = status_named((const char *)sqlite3_column_text(statement, 2));
    copy_text(row->message, sizeof row->message, statement, 3);
    int place = 4;
    RUN_FIGURES(NOT_READ, NOT_READ, NOT_READ, READ, READ)
    row->has_run = row->key[0] != '\0';
}

/* A figure that does not exist is what a NULL is read as. */
#define SET(kind, when, group, key, column, expression) \
    SET_##kind(row->column, FIGURE_EXISTS_##when(expression), expression);
#define SET_METRIC(kind, when, group, key, column, name, measure, expression, ...) \
    SET(kind, when, group, key, column, expression)
#define SET_TEXT(member, exists, value) \
    copy_string(member, sizeof(member), (exists) ? (value) : NULL)
#define SET_INTEGER(member, exists, value) (member) = (exists) ? (double)(value) : ABSENT
#define SET_POSITIVE(member, exists, value) SET_INTEGER(member, exists, value)
#define SET_REAL(member, exists, value) SET_INTEGER(member, exists, value)
#define SET_DURATION(member, exists, value) SET_REAL(member, exists, value)
#define SET_BOOL(member, exists, value) (member) = (exists) && (value)

void store_row_of(const struct result *result, const char *label, struct store_row *row)
{
    FIGURE_TERMS;
    *row = (struct store_row){.status = POINT_OK, .has_run = true};
    copy_string(row->label, sizeof row->label, label);
    RUN_FIGURES(NOT_READ, NOT_READ, NOT_READ, SET, SET_METRIC)
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        row->breakdown_s[cause] = ABSENT;
        row->path_s[cause] = ABSENT;
    }
}

static bool read_axes(struct store *store, const char *study_key, struct store_row *rows,
                      uint32_t count)
{
    sqlite3_stmt *statement = query_by_text(
        store,
        "SELECT axis, value_text, value FROM point_axis WHERE study_key = ?1 AND number = ?2 "
        "ORDER BY axis_number",
        study_key);
    for (uint32_t i = 0; statement != NULL && i < count; i++) {
        struct store_row *row = &rows[i];
        sqlite3_bind_int64(statement, 2, row->number);
        while (row->axis_count < STORE_AXES_MAX && has_row(store, statement)) {
            const uint32_t axis = row->axis_count++;
            copy_text(row->axes[axis], sizeof row->axes[axis], statement, 0);
            copy_text(row->value_texts[axis], sizeof row->value_texts[axis], statement, 1);
            row->values[axis] = read_number(statement, 2);
        }
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return statement != NULL;
}

static void add_cause(struct store_row *row, const char *name, double gpu_ns)
{
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        if (strcmp(name, cause_names[cause]) == 0) {
            row->breakdown_s[cause] = gpu_ns * 1e-9 / row->gpus;
        }
    }
}

static void add_of_path(struct store_row *row, const char *name, double path_ns)
{
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        if (strcmp(name, cause_names[cause]) == 0) {
            row->path_s[cause] = path_ns * 1e-9;
        }
    }
}

static void add_account(struct store_row *row, const char *name, double time_s)
{
    for (uint32_t account = 0; account < ACCOUNT_COUNT_; account++) {
        if (strcmp(name, account_names[account]) == 0) {
            row->account_s[account] = time_s;
        }
    }
}

/* Names and values of a run by its key. */
#define LIST_QUERY(name, value, list) \
    "SELECT " TEXT_VALUE(name) ", " value " FROM " list "_rows WHERE run_key = " TEXT_NUMBER("?1")

static bool read_parts(struct store *store, const char *query, struct store_row *rows,
                       uint32_t count,
                       void (*add)(struct store_row *row, const char *name, double value))
{
    sqlite3_stmt *statement = query_of(store, query);
    for (uint32_t i = 0; statement != NULL && i < count; i++) {
        if (!rows[i].has_run || !(rows[i].gpus > 0)) {
            continue;
        }
        sqlite3_bind_text(statement, 1, rows[i].key, -1, SQLITE_TRANSIENT);
        while (has_row(store, statement)) {
            const char *name = (const char *)sqlite3_column_text(statement, 0);
            if (sqlite3_column_type(statement, 1) != SQLITE_NULL) {
                add(&rows[i], name != NULL ? name : "", sqlite3_column_double(statement, 1));
            }
        }
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return statement != NULL;
}

static bool read_all_parts(struct store *store, struct store_row *rows, uint32_t count)
{
    return read_parts(store, LIST_QUERY("cause", "gpu_ns", "breakdown"), rows, count, add_cause) &&
           read_parts(store, LIST_QUERY("cause", "path_ns", "breakdown"), rows, count,
                      add_of_path) &&
           read_parts(store, LIST_QUERY("account", "time_s", "account"), rows, count, add_account);
}

struct store_row *store_points(struct store *store, struct arena *arena, const char *study_key,
                               uint32_t *count)
{
    const uint32_t errors = diag_error_count(store->diag);
    struct store_row *rows = read_rows(store, arena, query_by_text(store, points_query, study_key),
                                       sizeof *rows, read_point, count);
    const bool is_whole =
        rows != NULL && !store->has_failed && check_points(store, study_key, store->diag) &&
        read_axes(store, study_key, rows, *count) && read_all_parts(store, rows, *count) &&
        diag_error_count(store->diag) == errors;
    if (!is_whole) {
        *count = 0;
        return NULL;
    }
    return rows;
}

/* A run by itself reads like a point that is good, numbered from 0. */
static const char runs_query[] =
    "SELECT 0, run.title, 'ok', ''" RUN_COLUMNS " FROM run WHERE run.key > ?1 ORDER BY run.key";

struct store_row *store_runs(struct store *store, struct arena *arena, uint32_t *count)
{
    struct store_row *rows = read_rows(store, arena, query_by_text(store, runs_query, ""),
                                       sizeof *rows, read_point, count);
    for (uint32_t i = 0; i < *count; i++) {
        rows[i].number = i;
    }
    return rows;
}

struct store_row *store_run_found(struct store *store, struct arena *arena, const char *key)
{
    static const char query[] = "SELECT 0, run.title, 'ok', ''" RUN_COLUMNS
                                " FROM run WHERE substr(run.key, 1, length(?1)) = ?1 LIMIT 2";
    if (strlen(key) < KEY_PREFIX_MIN) {
        return NULL;
    }
    uint32_t count = 0;
    struct store_row *rows =
        read_rows(store, arena, query_by_text(store, query, key), sizeof *rows, read_point, &count);
    return count == 1 && !store->has_failed && read_all_parts(store, rows, count) ? rows : NULL;
}

/* (key, key) */
static void read_pair(sqlite3_stmt *statement, void *to)
{
    struct store_pair *pair = to;
    copy_text(pair->keys[0], sizeof pair->keys[0], statement, 0);
    copy_text(pair->keys[1], sizeof pair->keys[1], statement, 1);
}

struct store_pair *store_pairs(struct store *store, struct arena *arena, const char *const *builds,
                               uint32_t *count)
{
    static const char query[] =
        "SELECT one.key, other.key FROM run AS one JOIN run AS other ON other.scenario_key = "
        "one.scenario_key WHERE substr(one.build, 1, length(?1)) = ?1 AND "
        "substr(other.build, 1, length(?2)) = ?2 ORDER BY one.rowid";
    sqlite3_stmt *statement = query_by_text(store, query, builds[0]);
    if (statement != NULL) {
        sqlite3_bind_text(statement, 2, builds[1], -1, SQLITE_TRANSIENT);
    }
    return read_rows(store, arena, statement, sizeof(struct store_pair), read_pair, count);
}

/* ---- studies and scenarios ------------------------------------------------- */

static void read_study(sqlite3_stmt *statement, void *to)
{
    struct store_study_row *row = to;
    copy_text(row->key, sizeof row->key, statement, 0);
    copy_text(row->title, sizeof row->title, statement, 1);
    copy_text(row->kind, sizeof row->kind, statement, 2);
    copy_text(row->build, sizeof row->build, statement, 3);
    row->point_count = sqlite3_column_int64(statement, 4);
    row->points = sqlite3_column_int64(statement, 5);
    row->failed = sqlite3_column_int64(statement, 6);
}

struct store_study_row *store_studies(struct store *store, struct arena *arena, uint32_t *count)
{
    static const char query[] =
        "SELECT key, title, kind, build, point_count, "
        "(SELECT count(*) FROM point WHERE point.study_key = study.key), "
        "(SELECT count(*) FROM point WHERE point.study_key = study.key AND status = 'failed') "
        "FROM study ORDER BY study.rowid";
    return read_rows(store, arena, query_of(store, query), sizeof(struct store_study_row),
                     read_study, count);
}

static void read_point_number(sqlite3_stmt *statement, void *to)
{
    *(int64_t *)to = sqlite3_column_int64(statement, 0);
}

int64_t *store_point_numbers(struct store *store, struct arena *arena, const char *study_key,
                             uint32_t *count)
{
    static const char query[] = "SELECT number FROM point WHERE study_key = ?1 AND "
                                "status <> 'failed' ORDER BY number";
    return read_rows(store, arena, query_by_text(store, query, study_key), sizeof(int64_t),
                     read_point_number, count);
}

/* (build, runs, least change, largest change) */
static void read_build(sqlite3_stmt *statement, void *to)
{
    struct store_build *row = to;
    copy_text(row->build, sizeof row->build, statement, 0);
    row->runs = sqlite3_column_int64(statement, 1);
    row->change_min = sqlite3_column_double(statement, 2);
    row->change_max = sqlite3_column_double(statement, 3);
}

struct store_build *store_builds(struct store *store, struct arena *arena, uint32_t *count)
{
    static const char query[] = "SELECT build, count(*), 0, 0 FROM run GROUP BY build ORDER BY 1";
    return read_rows(store, arena, query_of(store, query), sizeof(struct store_build), read_build,
                     count);
}

struct store_build *store_other_builds(struct store *store, struct arena *arena,
                                       const char *study_key, uint32_t *count)
{
    static const char query[] =
        "SELECT other.build, count(*), min(run.step_s / other.step_s - 1), "
        "max(run.step_s / other.step_s - 1) "
        "FROM point JOIN run ON run.key = point.run_key "
        "JOIN run AS other ON other.scenario_key = run.scenario_key AND other.build <> run.build "
        "WHERE point.study_key = ?1 GROUP BY other.build "
        "ORDER BY max(other.rowid) DESC";
    return read_rows(store, arena, query_by_text(store, query, study_key),
                     sizeof(struct store_build), read_build, count);
}

const char *store_scenario_text(struct store *store, struct arena *arena, const char *key)
{
    if (strlen(key) < KEY_PREFIX_MIN) {
        return NULL;
    }
    sqlite3_stmt *statement = query_by_text(store,
                                            "SELECT run.key, " SCENARIO_TEXT
                                            " FROM run JOIN text ON text.value = run.key JOIN "
                                            "scenario_rows ON scenario_rows.run_key = text.id "
                                            "WHERE substr(run.key, 1, length(?1)) = ?1 LIMIT 2",
                                            key);
    const struct relation *scenario = &store_relations[RELATION_SCENARIO];
    const char *text = NULL;
    if (statement != NULL && step(store, statement) &&
        check_relation_row(store, scenario, statement, store->diag)) {
        text = arena_strdup(arena, (const char *)sqlite3_column_text(statement, 1));
        text = step(store, statement) ? NULL : text;
    }
    sqlite3_finalize(statement);
    return text;
}

static const char *text_at(struct arena *arena, sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text != NULL ? arena_strdup(arena, text) : NULL;
}

struct store_assumption *store_assumptions(struct store *store, struct arena *arena,
                                           const char *run_key, uint32_t *count)
{
    sqlite3_stmt *statement = query_by_text(
        store, "SELECT name, value, reason FROM assumption WHERE run_key = ?1 ORDER BY name",
        run_key);
    struct store_assumption *rows = NULL;
    size_t capacity = 0;
    *count = 0;
    while (statement != NULL && has_row(store, statement)) {
        rows = arena_grow(arena, rows, &capacity, *count + 1u, sizeof *rows);
        rows[(*count)++] = (struct store_assumption){.name = text_at(arena, statement, 0),
                                                     .value = text_at(arena, statement, 1),
                                                     .reason = text_at(arena, statement, 2)};
    }
    sqlite3_finalize(statement);
    return rows;
}

const char *store_histories(struct store *store, struct arena *arena, const char *run_key)
{
    sqlite3_stmt *statement =
        query_by_text(store, "SELECT histories_s FROM run WHERE key = ?1", run_key);
    const char *text = NULL;
    if (statement != NULL && has_row(store, statement)) {
        const char *stored = (const char *)sqlite3_column_text(statement, 0);
        text = stored != NULL ? arena_strdup(arena, stored) : NULL;
    }
    sqlite3_finalize(statement);
    return text;
}

bool store_row_is_good(const struct store_row *row)
{
    return row->status == POINT_OK && row->has_run;
}
