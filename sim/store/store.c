/* Opening, and storing in transactions. A rollback journal, not WAL, which
 * breaks on network file systems; synchronous=FULL, so a commit that returned
 * is on the disk. Cost of a run: some 90 rows; of a transaction: four waits for the disk
 * (the journal, its header, the file, the directory), however many runs are in it.
 *
 * A failed point may be stored again with another outcome: a later attempt
 * replaces it. Everything else is written once.
 */
#include "store/store.h"

#include "base/arena.h"
#include "base/path.h"
#include "store/store_check.h"
#include "store/store_older.h"
#include "store/store_pack.h"
#include "store/store_rows.h"
#include "store/store_scenario.h"
#include "store/store_texts.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define BUSY_TIMEOUT_MS 20000

/* ---- opening ------------------------------------------------------------- */

struct identity {
    int64_t application_id;
    int64_t schema;
    int64_t object_count; /* tables and the like */
};

static bool read_identity(struct store *store, struct identity *identity, struct diag *diag)
{
    return sql_number(store, "PRAGMA application_id", &identity->application_id, diag) &&
           sql_number(store, "PRAGMA user_version", &identity->schema, diag) &&
           sql_number(store, "SELECT count(*) FROM sqlite_schema", &identity->object_count, diag);
}

static bool is_empty(const struct identity *identity)
{
    return identity->application_id == 0 && identity->schema == 0 && identity->object_count == 0;
}

static bool create_tables(struct store *store, struct diag *diag)
{
    if (!texts_create(store, diag)) {
        return false;
    }
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

/* As SQLite names a database that is no file. */
#define IN_MEMORY ":memory:"

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
    if (is_ours && strcmp(store->path, IN_MEMORY) != 0) {
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
    if (identity.application_id == STORE_APPLICATION_ID && older_is_known(identity.schema)) {
        if (!older_bring(store, identity.schema, create_tables, diag)) {
            return false;
        }
        identity.schema = STORE_SCHEMA;
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
    /* A store is one thread's. */
    const int code = sqlite3_open_v2(path, &store->database, flags | SQLITE_OPEN_NOMUTEX, NULL);
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

struct store *store_open_in_memory(struct arena *arena, struct diag *diag)
{
    return open_with(arena, IN_MEMORY, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, diag);
}

void store_close(struct store *store)
{
    if (store == NULL) {
        return;
    }
    for (uint32_t i = 0; i < RELATION_COUNT_; i++) {
        for (uint32_t rows = 0; rows < STORE_ROWS_AT_ONCE; rows++) {
            sqlite3_finalize(store->inserts[i][rows]);
        }
        sqlite3_finalize(store->selects[i]);
        sqlite3_finalize(store->counts[i]);
    }
    sqlite3_finalize(store->forget_axes);
    sqlite3_finalize(store->forget_point);
    texts_close(store);
    scenario_close(store);
    const int code = sqlite3_close(store->database);
    sim_assert(code == SQLITE_OK); /* otherwise a statement was left open */
    store->database = NULL;
}

/* SQLite looks at what a file allows when a transaction begins. */
bool store_check_writable(struct store *store, struct diag *diag)
{
    return sql_begin(store, diag) && sql_finish(store, true, diag);
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
    sqlite3_stmt **kept = &store->counts[id];
    sqlite3_stmt *statement =
        *kept != NULL
            ? *kept
            : sql_kept(store, kept,
                       arena_printf(store->arena,
                                    "SELECT count(*) FROM %s WHERE run_key = " TEXT_NUMBER("?1"),
                                    relation_table(store->arena, &store_relations[id])),
                       diag);
    if (statement == NULL) {
        return false;
    }
    sqlite3_bind_text(statement, 1, run_key, -1, SQLITE_STATIC);
    const bool is_good =
        sqlite3_step(statement) == SQLITE_ROW || sql_fail(store, diag, "read what a run leaned on");
    if (is_good) {
        *count = sqlite3_column_int64(statement, 0);
    }
    sqlite3_reset(statement);
    return is_good;
}

/* A run that was there already must have had just these rows, too. */
static bool check_count(struct store *store, enum relation_id id, const char *run_key,
                        uint32_t count, struct diag *diag)
{
    int64_t stored = 0;
    if (!count_parts(store, id, run_key, &stored, diag)) {
        return false;
    }
    return stored == count ||
           diag_add(diag, DIAG_FAILURE, NULL,
                    "%s: run %s is stored already, with %lld rows of %s instead "
                    "of %" PRIu32,
                    store->path, run_key, (long long)stored, store_relations[id].name, count);
}

/* Some rows of one table: those of a new run by one statement; where that cannot be, one by one. */
static bool put_some(struct store *store, enum relation_id id, const struct value *const *rows,
                     uint32_t count, bool was_there, struct diag *diag)
{
    enum put put = PUT_SAME;
    if (!was_there && count > 0) {
        put = relation_insert(store, id, rows, count, diag);
    }
    bool is_good = put != PUT_FAILED;
    for (uint32_t i = 0; is_good && put != PUT_NEW && i < count; i++) {
        is_good = put_part(store, id, rows[i], was_there, diag);
    }
    return is_good;
}

/* The rows of one table that hang on a run. Of which values a file says that it assumes them is
 * no result: who writes such a value himself has the same run, and what was told first stays. */
static bool put_parts(struct store *store, enum relation_id id, const struct row_list *rows,
                      bool was_there, struct diag *diag)
{
    if (was_there && id == RELATION_ASSUMPTION) {
        return true;
    }
    const struct value *some[STORE_ROWS_AT_ONCE];
    uint32_t count = 0;
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        if (rows->items[i].id != id) {
            continue;
        }
        some[waiting++] = rows->items[i].values;
        count++;
        if (waiting == STORE_ROWS_AT_ONCE) {
            if (!put_some(store, id, some, waiting, was_there, diag)) {
                return false;
            }
            waiting = 0;
        }
    }
    if (!put_some(store, id, some, waiting, was_there, diag)) {
        return false;
    }
    return check_count(store, id, rows->items[0].values[0].text, count, diag);
}

/* The rows of a result, the run's first. */
static bool put_result(struct store *store, const struct row_list *rows, struct diag *diag)
{
    sim_assert(rows->items[0].id == RELATION_RUN);
    const enum put put = relation_put(store, RELATION_RUN, rows->items[0].values, diag);
    bool is_good = is_good_put(put);
    for (uint32_t id = RELATION_RUN + 1; is_good && id < RELATION_STUDY; id++) {
        is_good = put_parts(store, (enum relation_id)id, rows, put == PUT_SAME, diag);
    }
    return is_good;
}

bool store_run(struct store *store, const struct result *result, struct diag *diag)
{
    struct row_list rows = {.arena = arena_new()};
    rows_of_result(result, &rows);
    const bool is_good =
        sql_begin(store, diag) && sql_finish(store, put_result(store, &rows, diag), diag);
    arena_free(rows.arena);
    return is_good;
}

bool store_study(struct store *store, const struct store_study *study, struct diag *diag)
{
    struct value values[STORE_COLUMNS_MAX];
    rows_study(study, values);
    return sql_begin(store, diag) &&
           sql_finish(store, is_good_put(relation_put(store, RELATION_STUDY, values, diag)), diag);
}

/* Runs a statement whose parameters are a study's key, a point's number and a status. */
static bool run_on_point(struct store *store, sqlite3_stmt *statement, const char *study_key,
                         int64_t number, struct diag *diag)
{
    if (statement == NULL) {
        return false;
    }
    sqlite3_bind_text(statement, 1, study_key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, number);
    sqlite3_bind_text(statement, 3, point_status_names[POINT_FAILED], -1, SQLITE_STATIC);
    const bool is_good =
        sqlite3_step(statement) == SQLITE_DONE || sql_fail(store, diag, "replace a failed point");
    sqlite3_reset(statement);
    return is_good;
}

static bool forget_failed_point(struct store *store, const char *study_key, int64_t number,
                                struct diag *diag)
{
    static const char forget_axes[] =
        "DELETE FROM point_axis WHERE study_key = ?1 AND number = ?2 AND EXISTS "
        "(SELECT 1 FROM point WHERE study_key = ?1 AND number = ?2 AND status = ?3)";
    static const char forget_point[] =
        "DELETE FROM point WHERE study_key = ?1 AND number = ?2 AND status = ?3";
    return run_on_point(store, sql_kept(store, &store->forget_axes, forget_axes, diag), study_key,
                        number, diag) &&
           run_on_point(store, sql_kept(store, &store->forget_point, forget_point, diag), study_key,
                        number, diag);
}

/* Runs a statement whose parameter is a study's key. */
static bool run_on_study(struct store *store, const char *text, const char *key, struct diag *diag)
{
    sqlite3_stmt *statement = sql_prepare(store, text, diag);
    if (statement == NULL) {
        return false;
    }
    sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    const bool is_good =
        sqlite3_step(statement) == SQLITE_DONE || sql_fail(store, diag, "replace a study");
    sqlite3_finalize(statement);
    return is_good;
}

bool store_forget_study(struct store *store, const char *key, struct diag *diag)
{
    return sql_begin(store, diag) &&
           sql_finish(
               store,
               run_on_study(store, "DELETE FROM point_axis WHERE study_key = ?1", key, diag) &&
                   run_on_study(store, "DELETE FROM point WHERE study_key = ?1", key, diag) &&
                   run_on_study(store, "DELETE FROM study WHERE key = ?1", key, diag),
               diag);
}

static const struct row *first_row(const struct row_list *rows, enum relation_id id)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        if (rows->items[i].id == id) {
            return &rows->items[i];
        }
    }
    return NULL;
}

static bool put_point(struct store *store, const struct row_list *rows, struct diag *diag)
{
    const struct row *point = first_row(rows, RELATION_POINT);
    sim_assert(point != NULL);
    bool is_good = rows->items[0].id != RELATION_RUN || put_result(store, rows, diag);
    is_good = is_good &&
              forget_failed_point(store, point->values[0].text, point->values[1].integer, diag);
    for (const struct row *row = point; is_good && row < rows->items + rows->count; row++) {
        is_good = is_good_put(relation_put(store, row->id, row->values, diag));
    }
    return is_good;
}

static bool put_whole_point(struct store *store, const struct row_list *rows, struct diag *diag)
{
    return sql_begin(store, diag) && sql_finish(store, put_point(store, rows, diag), diag);
}

bool store_point(struct store *store, const char *study_key, const struct store_point *point,
                 struct diag *diag)
{
    struct row_list rows = {.arena = arena_new()};
    rows_of_point(study_key, point, &rows);
    const bool is_good = put_whole_point(store, &rows, diag);
    arena_free(rows.arena);
    return is_good;
}

struct store_packed store_pack(struct arena *arena, const char *study_key,
                               const struct store_point *point)
{
    struct row_list rows = {.arena = arena};
    rows_of_point(study_key, point, &rows);
    return pack_rows(&rows);
}

bool store_is_locked(const struct store *store)
{
    return store->is_locked;
}

bool store_packed(struct store *store, const struct store_packed *packed, uint32_t count,
                  struct diag *diag)
{
    if (!sql_begin(store, diag)) {
        return false;
    }
    struct arena *arena = arena_new();
    bool is_good = true;
    for (uint32_t i = 0; is_good && i < count; i++) {
        struct row_list rows = {.arena = arena};
        unpack_rows(&packed[i], &rows);
        is_good = put_point(store, &rows, diag);
        arena_reset(arena);
    }
    arena_free(arena);
    return sql_finish(store, is_good, diag);
}

/* ---- merging ------------------------------------------------------------- */

static bool check_status(const struct store *store, const struct value *values, struct diag *diag)
{
    const char *status = values[POINT_STATUS_COLUMN].text;
    for (uint32_t i = 0; i <= POINT_FAILED; i++) {
        if (strcmp(status, point_status_names[i]) == 0) {
            return true;
        }
    }
    return diag_add(diag, DIAG_INPUT, NULL, "%s: table point, row '%s, %lld': status is %s",
                    store->path, values[0].text, (long long)values[1].integer, status);
}

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
        is_good = check_relation_row(from, &store_relations[id], statement, diag);
        if (is_good) {
            relation_read(&store_relations[id], statement, values);
            is_good = id != RELATION_POINT || check_status(from, values, diag);
            is_good = is_good && merge_row(store, id, values, diag);
        }
    }
    if (is_good && code != SQLITE_DONE) {
        is_good = sql_fail(from, diag, "read it to the end");
    }
    sqlite3_finalize(statement);
    return is_good;
}

static bool merge_file(struct store *store, struct store *from, struct diag *diag)
{
    bool is_good = true;
    for (uint32_t i = 0; is_good && i < RELATION_COUNT_; i++) {
        is_good = merge_relation(store, from, (enum relation_id)i, diag);
    }
    is_good = is_good && check_points(from, NULL, diag);
    if (!is_good) {
        diag_help(diag, "it was met in %s; nothing was merged", from->path);
    }
    return is_good;
}

bool store_merge(struct store *store, struct store *const *from, uint32_t count, struct diag *diag)
{
    bool is_good = sql_begin(store, diag);
    if (!is_good) {
        return false;
    }
    for (uint32_t i = 0; is_good && i < count; i++) {
        is_good = merge_file(store, from[i], diag);
    }
    return sql_finish(store, is_good, diag);
}
