/* SQLite says of each column of a result which table's column it is, if any: what is computed from
 * columns of tables is not looked at. This is found out once for each statement and kept as long as
 * it is the one that was looked at last.
 */
#include "store/store_check.h"

#include "base/arena.h"

#include <math.h>
#include <string.h>

static const char *kind_of(int type)
{
    switch (type) {
    case SQLITE_INTEGER:
        return "an integer";
    case SQLITE_FLOAT:
        return "a real number";
    case SQLITE_TEXT:
        return "a text";
    case SQLITE_BLOB:
        return "a blob";
    default:
        return "NULL";
    }
}

static bool is_of_kind(enum column_kind kind, int type)
{
    static const int types[] = {[COLUMN_TEXT] = SQLITE_TEXT,
                                [COLUMN_INTEGER] = SQLITE_INTEGER,
                                [COLUMN_REAL] = SQLITE_FLOAT};
    return types[kind] == type;
}

/* No prediction comes near these, and no ratio of two that are nearer to 1 is infinite. */
#define REAL_MAX 1e150
#define REAL_MIN 1e-150

static const char *fault_of_real(const struct column *column, double number)
{
    const double size = fabs(number);
    if (!isfinite(size)) {
        return "infinite";
    }
    if (size > REAL_MAX) {
        return "too large";
    }
    if (size > 0 && size < REAL_MIN) {
        return "too small";
    }
    return number > 0 || !column->divides ? NULL : number < 0 ? "negative" : "0";
}

static const char *fault_of_integer(const struct column *column, int64_t number)
{
    return number < 0 ? "negative" : number == 0 && column->divides ? "0" : NULL;
}

/* NULL, or what is wrong with the value. A seed is any 64 bits. */
static const char *fault_of(const struct column *column, sqlite3_stmt *statement, int place)
{
    const int type = sqlite3_column_type(statement, place);
    if (type == SQLITE_NULL) {
        return column->is_nullable ? NULL : "NULL";
    }
    if (!is_of_kind(column->kind, type)) {
        return kind_of(type);
    }
    if (column->kind == COLUMN_REAL) {
        return fault_of_real(column, sqlite3_column_double(statement, place));
    }
    if (column->kind == COLUMN_INTEGER) {
        const bool is_number = strcmp(column->name, "seed") != 0;
        return is_number ? fault_of_integer(column, sqlite3_column_int64(statement, place)) : NULL;
    }
    if (sqlite3_column_text(statement, place) == NULL) {
        arena_out_of_memory(); /* it is no NULL */
    }
    const char *text = (const char *)sqlite3_column_text(statement, place);
    const bool is_whole = strlen(text) == (size_t)sqlite3_column_bytes(statement, place);
    return is_whole ? NULL : "a text with a byte 0";
}

/* ---- columns of a statement -------------------------------------------------------------- */

/* The table of a list, such as breakdown, may be named after it: breakdown_rows. */
static const struct relation *find_relation(const char *table)
{
    for (uint32_t i = 0; i < RELATION_COUNT_; i++) {
        const char *name = store_relations[i].name;
        const size_t length = strlen(name);
        if (strncmp(table, name, length) == 0 &&
            (table[length] == '\0' || strcmp(table + length, "_rows") == 0)) {
            return &store_relations[i];
        }
    }
    return NULL;
}

static const struct column *find_column(const struct relation *relation, const char *name)
{
    for (uint32_t i = 0; i < relation->column_count; i++) {
        if (strcmp(relation->columns[i].name, name) == 0) {
            return &relation->columns[i];
        }
    }
    return NULL;
}

static void find_columns(struct seen_statement *seen, sqlite3_stmt *statement)
{
    *seen = (struct seen_statement){.statement = statement};
    seen->count = (uint32_t)sqlite3_column_count(statement);
    sim_assert(seen->count <= STORE_COLUMNS_MAX);
    for (uint32_t i = 0; i < seen->count; i++) {
        const char *table = sqlite3_column_table_name(statement, (int)i);
        const char *name = sqlite3_column_origin_name(statement, (int)i);
        const struct relation *relation = table != NULL ? find_relation(table) : NULL;
        if (relation != NULL && name != NULL) {
            seen->relations[i] = relation;
            seen->columns[i] = find_column(relation, name);
        }
    }
}

/* ---- a row ------------------------------------------------------------------------------- */

/* "0123456789abcdef, compute": as much of the row's key as the statement has. */
static const char *key_of(struct arena *arena, const struct seen_statement *seen,
                          const struct relation *relation, sqlite3_stmt *statement)
{
    const char *key = "";
    for (uint32_t i = 0; i < seen->count; i++) {
        if (seen->relations[i] == relation && seen->columns[i] != NULL &&
            seen->columns[i] < relation->columns + relation->key_count) {
            const char *text = (const char *)sqlite3_column_text(statement, (int)i);
            key = arena_printf(arena, "%s%s%s", key, key[0] != '\0' ? ", " : "",
                               text != NULL ? text : "NULL");
        }
    }
    return key;
}

/* Of a join that found nothing on its other side, all columns of that side are NULL. */
static bool is_nothing(const struct seen_statement *seen, const struct relation *relation,
                       sqlite3_stmt *statement)
{
    bool is_null = true;
    for (uint32_t i = 0; i < seen->count; i++) {
        is_null = is_null && (seen->relations[i] != relation ||
                              sqlite3_column_type(statement, (int)i) == SQLITE_NULL);
    }
    return is_null;
}

static void help_to_replace(struct diag *diag)
{
    diag_help(diag, "no stoker wrote that; use --db with another file, or put back a copy");
}

static bool check_columns(struct store *store, const struct seen_statement *seen,
                          sqlite3_stmt *statement, struct diag *diag)
{
    for (uint32_t i = 0; i < seen->count; i++) {
        const struct column *column = seen->columns[i];
        const char *fault = column != NULL ? fault_of(column, statement, (int)i) : NULL;
        if (fault == NULL || is_nothing(seen, seen->relations[i], statement)) {
            continue;
        }
        const struct relation *relation = seen->relations[i];
        store->has_failed = true;
        diag_add(diag, DIAG_INPUT, NULL, "%s: table %s, row '%s': %s is %s", store->path,
                 relation->name, key_of(store->arena, seen, relation, statement), column->name,
                 fault);
        help_to_replace(diag);
        return false;
    }
    return true;
}

bool check_row(struct store *store, sqlite3_stmt *statement, struct diag *diag)
{
    if (store->seen.statement != statement) {
        find_columns(&store->seen, statement);
    }
    return check_columns(store, &store->seen, statement, diag);
}

bool check_relation_row(struct store *store, const struct relation *relation,
                        sqlite3_stmt *statement, struct diag *diag)
{
    struct seen_statement *seen = &store->seen;
    if (seen->statement != statement) {
        *seen = (struct seen_statement){.statement = statement, .count = relation->column_count};
        for (uint32_t i = 0; i < seen->count; i++) {
            seen->relations[i] = relation;
            seen->columns[i] = &relation->columns[i];
        }
    }
    return check_columns(store, seen, statement, diag);
}

/* ---- points of studies --------------------------------------------------------------------- */

#define POINT_BEYOND                                                                    \
    "SELECT point.study_key, point.number, study.point_count FROM point JOIN study ON " \
    "study.key = point.study_key WHERE point.number >= study.point_count"

bool check_points(struct store *store, const char *study_key, struct diag *diag)
{
    const char *query = study_key != NULL ? POINT_BEYOND " AND point.study_key = ?1 LIMIT 1"
                                          : POINT_BEYOND " LIMIT 1";
    sqlite3_stmt *statement = sql_prepare(store, query, diag);
    if (statement == NULL) {
        return false;
    }
    sqlite3_bind_text(statement, 1, study_key, -1, SQLITE_STATIC);
    const int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        store->has_failed = true;
        diag_add(diag, DIAG_INPUT, NULL,
                 "%s: table point, row '%s, %lld': number is beyond the %lld points of its study",
                 store->path, (const char *)sqlite3_column_text(statement, 0),
                 (long long)sqlite3_column_int64(statement, 1),
                 (long long)sqlite3_column_int64(statement, 2));
        help_to_replace(diag);
    } else if (code != SQLITE_DONE) {
        sql_fail(store, diag, "read it to the end");
    }
    sqlite3_finalize(statement);
    return code == SQLITE_DONE;
}
