/* Opening, and storing in transactions. A rollback journal, not WAL, which
 * breaks on network file systems; synchronous=FULL, so a commit that returned
 * is on the disk. Cost of a run: one transaction of some 90 rows, which is one
 * fsync of the journal and one of the file.
 *
 * A failed point may be stored again with another outcome: a later attempt
 * replaces it. Everything else is written once.
 */
#include "out/store.h"

#include "base/arena.h"
#include "out/path.h"
#include "out/store_rows.h"

#include <string.h>
#include <sys/stat.h>

#define BUSY_TIMEOUT_MS 20000

/* ---- opening ------------------------------------------------------------- */

/* The first column of the first row of a query without parameters. */
static bool read_number(struct store *store, const char *query, int64_t *number, struct diag *diag)
{
    sqlite3_stmt *statement = sql_prepare(store, query, diag);
    if (statement == NULL) {
        return false;
    }
    const bool is_good =
        sqlite3_step(statement) == SQLITE_ROW || sql_fail(store, diag, "read it as a results file");
    if (is_good) {
        *number = sqlite3_column_int64(statement, 0);
    }
    sqlite3_finalize(statement);
    return is_good;
}

struct identity {
    int64_t application_id;
    int64_t schema;
    int64_t object_count; /* tables and the like */
};

static bool read_identity(struct store *store, struct identity *identity, struct diag *diag)
{
    return read_number(store, "PRAGMA application_id", &identity->application_id, diag) &&
           read_number(store, "PRAGMA user_version", &identity->schema, diag) &&
           read_number(store, "SELECT count(*) FROM sqlite_schema", &identity->object_count, diag);
}

static bool is_empty(const struct identity *identity)
{
    return identity->application_id == 0 && identity->schema == 0 && identity->object_count == 0;
}

static bool create_tables(struct store *store, struct diag *diag)
{
    for (uint32_t i = 0; i < RELATION_COUNT_; i++) {
        if (!relation_create(store, &store_relations[i], diag)) {
            return false;
        }
    }
    const char *application_id =
        arena_printf(store->arena, "PRAGMA application_id = %d", STORE_APPLICATION_ID);
    const char *schema = arena_printf(store->arena, "PRAGMA user_version = %d", STORE_SCHEMA);
    return sql_run(store, application_id, diag) && sql_run(store, schema, diag);
}

/* Its whole path: the default name is relative, and who works elsewhere than usual gets a second
 * results file there. */
static void note_new_file(const struct store *store, struct diag *diag)
{
    diag_add(diag, DIAG_NOTE, NULL, "results are stored in a new file, %s",
             path_whole(store->arena, store->path));
}

/* Another process may create the tables at the same time: whoever has the lock looks again. */
static bool initialise(struct store *store, struct identity *identity, struct diag *diag)
{
    if (!sql_begin(store, diag)) {
        return false;
    }
    bool is_good = read_identity(store, identity, diag);
    const bool is_ours = is_good && is_empty(identity);
    if (is_ours) {
        is_good = create_tables(store, diag);
    }
    if (!sql_finish(store, is_good, diag)) {
        return false;
    }
    if (is_ours) {
        note_new_file(store, diag);
    }
    return read_identity(store, identity, diag);
}

static bool check_identity(const struct store *store, const struct identity *identity,
                           struct diag *diag)
{
    if (identity->application_id != STORE_APPLICATION_ID) {
        diag_add(diag, DIAG_FAILURE, NULL, "%s is a SQLite database of another program",
                 store->path);
        diag_help(diag, "use --db with another file");
        return false;
    }
    if (identity->schema != STORE_SCHEMA) {
        diag_add(diag, DIAG_FAILURE, NULL, "%s has schema %lld, this stoker writes %d", store->path,
                 (long long)identity->schema, STORE_SCHEMA);
        diag_help(diag, "use --db with another file, or the stoker that wrote this one");
        return false;
    }
    return true;
}

/* The journal mode is written into the file, so only after we know that it is ours. */
static bool prepare(struct store *store, struct diag *diag)
{
    sqlite3_busy_timeout(store->database, BUSY_TIMEOUT_MS);
    struct identity identity;
    if (!sql_run(store, "PRAGMA synchronous = FULL", diag) ||
        !read_identity(store, &identity, diag)) {
        return false;
    }
    if (is_empty(&identity) && !initialise(store, &identity, diag)) {
        return false;
    }
    return check_identity(store, &identity, diag) &&
           sql_run(store, "PRAGMA journal_mode = DELETE", diag);
}

static struct store *open_with(struct arena *arena, const char *path, int flags, struct diag *diag)
{
    struct store *store = arena_alloc(arena, sizeof *store);
    store->path = arena_strdup(arena, path);
    store->arena = arena;
    store->diag = diag;
    const int code = sqlite3_open_v2(path, &store->database, flags, NULL);
    if (code != SQLITE_OK) {
        sql_fail(store, diag, "open it");
    } else if (prepare(store, diag)) {
        return store;
    }
    store_close(store);
    return NULL;
}

struct store *store_open(struct arena *arena, const char *path, struct diag *diag)
{
    if (path[0] == '\0') {
        diag_add(diag, DIAG_USAGE, NULL, "the results file needs a name, e.g. results/stoker.db");
        return NULL;
    }
    if (!path_make_directories(arena, path, diag)) {
        return NULL;
    }
    return open_with(arena, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, diag);
}

struct store *store_open_existing(struct arena *arena, const char *path, struct diag *diag)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        diag_add(diag, DIAG_FAILURE, NULL, "there is no results file %s", path);
        diag_help(diag, "`stoker run` and `stoker sweep` write one; --db names another");
        return NULL;
    }
    return open_with(arena, path, SQLITE_OPEN_READWRITE, diag);
}

void store_close(struct store *store)
{
    if (store == NULL) {
        return;
    }
    for (uint32_t i = 0; i < RELATION_COUNT_; i++) {
        sqlite3_finalize(store->inserts[i]);
        sqlite3_finalize(store->selects[i]);
    }
    const int code = sqlite3_close(store->database);
    sim_assert(code == SQLITE_OK); /* otherwise a statement was left open */
    store->database = NULL;
}

/* ---- storing ------------------------------------------------------------- */

static bool is_good_put(enum put put)
{
    return put == PUT_NEW || put == PUT_SAME;
}

/* A run that was there already must have had this row, too. */
static bool put_part(struct store *store, enum relation_id id, const struct value *values,
                     bool was_there, struct diag *diag)
{
    const enum put put = relation_put(store, id, values, diag);
    if (was_there && put == PUT_NEW) {
        return diag_add(diag, DIAG_FAILURE, NULL,
                        "%s: run %s is stored already, without the %s '%s'", store->path,
                        values[0].text, store_relations[id].name, values[1].text);
    }
    return is_good_put(put);
}

static bool count_parts(struct store *store, enum relation_id id, const char *run_key,
                        int64_t *count, struct diag *diag)
{
    const char *name = store_relations[id].name;
    sqlite3_stmt *statement = sql_prepare(
        store, arena_printf(store->arena, "SELECT count(*) FROM %s WHERE run_key = ?1", name),
        diag);
    if (statement == NULL) {
        return false;
    }
    sqlite3_bind_text(statement, 1, run_key, -1, SQLITE_TRANSIENT);
    const bool is_good =
        sqlite3_step(statement) == SQLITE_ROW || sql_fail(store, diag, "read what a run leaned on");
    if (is_good) {
        *count = sqlite3_column_int64(statement, 0);
    }
    sqlite3_finalize(statement);
    return is_good;
}

/* All rows of one table that belong to a run: `count` of them, made by `fill`. */
static bool put_parts(struct store *store, enum relation_id id, const struct result *result,
                      size_t count,
                      void (*fill)(const struct result *result, size_t index, struct value *values),
                      bool was_there, struct diag *diag)
{
    struct value values[STORE_COLUMNS_MAX];
    for (size_t i = 0; i < count; i++) {
        fill(result, i, values);
        if (!put_part(store, id, values, was_there, diag)) {
            return false;
        }
    }
    int64_t stored = 0;
    if (!count_parts(store, id, result->key, &stored, diag)) {
        return false;
    }
    if (stored != (int64_t)count) {
        return diag_add(diag, DIAG_FAILURE, NULL,
                        "%s: run %s is stored already, with %lld rows of %s instead of %zu",
                        store->path, result->key, (long long)stored, store_relations[id].name,
                        count);
    }
    return true;
}

static bool put_result(struct store *store, const struct result *result, struct diag *diag)
{
    struct value values[STORE_COLUMNS_MAX];
    rows_run(result, values);
    const enum put put = relation_put(store, RELATION_RUN, values, diag);
    if (!is_good_put(put)) {
        return false;
    }
    const struct step_result *step = &result->step;
    const bool was_there = put == PUT_SAME;
    const bool is_good =
        put_parts(store, RELATION_ASSUMPTION, result, result->scenario->assumptions.count,
                  rows_assumption, was_there, diag);
    if (!is_good || !metrics_has_step(result)) {
        return is_good; /* where there is no step, nothing has its share of it */
    }
    return put_parts(store, RELATION_BREAKDOWN, result, CAUSE_COUNT_, rows_breakdown, was_there,
                     diag) &&
           put_parts(store, RELATION_LINK_USE, result, step->link_use_count, rows_link_use,
                     was_there, diag) &&
           put_parts(store, RELATION_LINK_LOAD, result, step->link_load_count, rows_link_load,
                     was_there, diag) &&
           put_parts(store, RELATION_TRAFFIC, result, step->traffic_count, rows_traffic, was_there,
                     diag) &&
           put_parts(store, RELATION_JOB, result, step->job_count, rows_job, was_there, diag);
}

bool store_run(struct store *store, const struct result *result, struct diag *diag)
{
    return sql_begin(store, diag) && sql_finish(store, put_result(store, result, diag), diag);
}

bool store_study(struct store *store, const struct store_study *study, struct diag *diag)
{
    struct value values[STORE_COLUMNS_MAX];
    rows_study(study, values);
    return sql_begin(store, diag) &&
           sql_finish(store, is_good_put(relation_put(store, RELATION_STUDY, values, diag)), diag);
}

/* Runs a statement whose parameters are a study's key, a point's number and a status. */
static bool run_on_point(struct store *store, const char *text, const char *study_key,
                         int64_t number, struct diag *diag)
{
    sqlite3_stmt *statement = sql_prepare(store, text, diag);
    if (statement == NULL) {
        return false;
    }
    sqlite3_bind_text(statement, 1, study_key, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int64(statement, 2, number);
    sqlite3_bind_text(statement, 3, point_status_names[POINT_FAILED], -1, SQLITE_STATIC);
    const bool is_good =
        sqlite3_step(statement) == SQLITE_DONE || sql_fail(store, diag, "replace a failed point");
    sqlite3_finalize(statement);
    return is_good;
}

static bool forget_failed_point(struct store *store, const char *study_key, int64_t number,
                                struct diag *diag)
{
    return run_on_point(store,
                        "DELETE FROM point_axis WHERE study_key = ?1 AND number = ?2 AND EXISTS "
                        "(SELECT 1 FROM point WHERE study_key = ?1 AND number = ?2 "
                        "AND status = ?3)",
                        study_key, number, diag) &&
           run_on_point(store,
                        "DELETE FROM point WHERE study_key = ?1 AND number = ?2 AND status = ?3",
                        study_key, number, diag);
}

static bool put_point(struct store *store, const char *study_key, const struct store_point *point,
                      struct arena *arena, struct diag *diag)
{
    if (point->result != NULL && !put_result(store, point->result, diag)) {
        return false;
    }
    if (!forget_failed_point(store, study_key, point->number, diag)) {
        return false;
    }
    struct value values[STORE_COLUMNS_MAX];
    rows_point(study_key, point, values, arena);
    bool is_good = is_good_put(relation_put(store, RELATION_POINT, values, diag));
    for (uint32_t axis = 0; is_good && axis < point->axis_count; axis++) {
        rows_point_axis(study_key, point, axis, values);
        is_good = is_good_put(relation_put(store, RELATION_POINT_AXIS, values, diag));
    }
    return is_good;
}

bool store_point(struct store *store, const char *study_key, const struct store_point *point,
                 struct diag *diag)
{
    sim_assert(point->axis_count <= STORE_AXES_MAX);
    sim_assert(point->status != POINT_OK || point->result != NULL);
    struct arena *arena = arena_new();
    const bool is_good = sql_begin(store, diag) &&
                         sql_finish(store, put_point(store, study_key, point, arena, diag), diag);
    arena_free(arena);
    return is_good;
}

/* ---- merging ------------------------------------------------------------- */

static bool merge_row(struct store *store, enum relation_id id, const struct value *values,
                      struct diag *diag)
{
    if (id == RELATION_POINT) {
        enum point_status status = POINT_FAILED;
        const bool is_failed =
            strcmp(values[POINT_STATUS_COLUMN].text, point_status_names[POINT_FAILED]) == 0;
        if (is_failed && store_has_point(store, values[0].text, values[1].integer, &status)) {
            return true; /* it went well in the other file */
        }
        if (!forget_failed_point(store, values[0].text, values[1].integer, diag)) {
            return false;
        }
    }
    return is_good_put(relation_put(store, id, values, diag));
}

static bool merge_relation(struct store *store, struct store *from, enum relation_id id,
                           struct diag *diag)
{
    sqlite3_stmt *statement = relation_select_all(from, id, diag);
    if (statement == NULL) {
        return false;
    }
    struct value values[STORE_COLUMNS_MAX];
    bool is_good = true;
    int code = SQLITE_ROW;
    while (is_good && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        relation_read(&store_relations[id], statement, values);
        is_good = merge_row(store, id, values, diag);
    }
    if (is_good && code != SQLITE_DONE) {
        is_good = sql_fail(from, diag, "read it to the end");
    }
    sqlite3_finalize(statement);
    return is_good;
}

bool store_merge(struct store *store, struct store *from, struct diag *diag)
{
    bool is_good = sql_begin(store, diag);
    if (!is_good) {
        return false;
    }
    for (uint32_t i = 0; is_good && i < RELATION_COUNT_; i++) {
        is_good = merge_relation(store, from, (enum relation_id)i, diag);
    }
    return sql_finish(store, is_good, diag);
}
