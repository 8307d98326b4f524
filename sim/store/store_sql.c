/* A relation is a description in data (its name, its columns, their types),
 * from which this file makes the text of every statement that the store needs.
 * A row is put by inserting it, or, where its key is already there, by
 * comparing it with what is stored.
 */
#include "store/store_sql.h"

#include "base/arena.h"
#include "store/store_check.h"
#include "store/store_scenario.h"
#include "store/store_texts.h"

#include <math.h>
#include <string.h>

/* ---- errors and plain statements --------------------------------------- */

static const char *remedy_of(int code)
{
    switch (code) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
        return "free some space, then run the same command again: what was stored is kept";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "another program is writing to it; try again, or use --db with another file";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return "use --db with another file, or put back a copy";
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        return "use --db with a file in a directory that you may write to";
    default:
        return NULL;
    }
}

bool sql_fail(struct store *store, struct diag *diag, const char *doing)
{
    const int code = sqlite3_errcode(store->database) & 0xff;
    const int reason = sqlite3_system_errno(store->database);
    store->is_locked = code == SQLITE_BUSY || code == SQLITE_LOCKED;
    const bool has_reason = reason != 0 && (code == SQLITE_IOERR || code == SQLITE_CANTOPEN);
    diag_add(diag, DIAG_FAILURE, NULL, "%s: cannot %s: %s%s%s", store->path, doing,
             sqlite3_errmsg(store->database), has_reason ? ": " : "",
             has_reason ? strerror(reason) : "");
    const char *remedy = remedy_of(code);
    if (remedy != NULL) {
        diag_help(diag, "%s", remedy);
    }
    return false;
}

sqlite3_stmt *sql_prepare(struct store *store, const char *text, struct diag *diag)
{
    sqlite3_stmt *statement = NULL;
    store->seen.statement = NULL; /* a new one may lie where that did */
    if (sqlite3_prepare_v2(store->database, text, -1, &statement, NULL) != SQLITE_OK) {
        sql_fail(store, diag, "read its tables");
    }
    return statement;
}

sqlite3_stmt *sql_kept(struct store *store, sqlite3_stmt **kept, const char *text,
                       struct diag *diag)
{
    if (*kept == NULL) {
        *kept = sql_prepare(store, text, diag);
    }
    return *kept;
}

bool sql_run(struct store *store, const char *text, struct diag *diag)
{
    sqlite3_stmt *statement = sql_prepare(store, text, diag);
    if (statement == NULL) {
        return false;
    }
    int code = SQLITE_ROW;
    while (code == SQLITE_ROW) {
        code = sqlite3_step(statement);
    }
    const bool is_good = code == SQLITE_DONE || sql_fail(store, diag, "write");
    sqlite3_finalize(statement);
    return is_good;
}

bool sql_number(struct store *store, const char *query, int64_t *number, struct diag *diag)
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

bool sql_begin(struct store *store, struct diag *diag)
{
    store->is_locked = false;
    return sql_run(store, "BEGIN IMMEDIATE", diag);
}

bool sql_finish(struct store *store, bool is_good, struct diag *diag)
{
    if (is_good && sql_run(store, "COMMIT", diag)) {
        return true;
    }
    texts_forget(store);
    scenario_forget(store);
    /* A full disk may have rolled back by itself. A rollback that fails has nothing to add. */
    if (sqlite3_get_autocommit(store->database) == 0) {
        sqlite3_stmt *rollback = sql_prepare(store, "ROLLBACK", diag);
        sqlite3_step(rollback);
        sqlite3_finalize(rollback);
    }
    return false;
}

/* ---- statements made from a relation ------------------------------------ */

static const char *const kind_words[] = {
    [COLUMN_TEXT] = "TEXT", [COLUMN_INTEGER] = "INTEGER", [COLUMN_REAL] = "REAL"};

/* A text that is a number in the table. */
static bool is_shared(const struct relation *relation, uint32_t column)
{
    const bool is_whole = relation == &store_relations[RELATION_SCENARIO] && column > 0;
    return relation->is_list && relation->columns[column].kind == COLUMN_TEXT && !is_whole;
}

const char *relation_table(struct arena *arena, const struct relation *relation)
{
    return relation->is_list ? arena_printf(arena, "%s_rows", relation->name) : relation->name;
}

/* A column of the table as it is read. */
static const char *read_as(struct arena *arena, const struct relation *relation, uint32_t column)
{
    const char *name = relation->columns[column].name;
    if (is_shared(relation, column)) {
        return arena_printf(arena, TEXT_VALUE("%s_rows.%s") " AS %s", relation->name, name, name);
    }
    if (relation == &store_relations[RELATION_SCENARIO]) {
        return arena_printf(arena, "%s AS %s", SCENARIO_TEXT, name);
    }
    return name;
}

/* "a, b, c": the names of the first `count` columns. */
static const char *name_list(struct arena *arena, const struct relation *relation, uint32_t count)
{
    const char *list = "";
    for (uint32_t i = 0; i < count; i++) {
        list = arena_printf(arena, "%s%s%s", list, i > 0 ? ", " : "", relation->columns[i].name);
    }
    return list;
}

/* All columns, behind SELECT. */
static const char *read_list(struct arena *arena, const struct relation *relation)
{
    const char *list = "";
    for (uint32_t i = 0; i < relation->column_count; i++) {
        list = arena_printf(arena, "%s%s%s", list, i > 0 ? ", " : "", read_as(arena, relation, i));
    }
    return list;
}

/* "a = ?1 AND b = ?2": the key. */
static const char *key_condition(struct arena *arena, const struct relation *relation)
{
    const char *list = "";
    for (uint32_t i = 0; i < relation->key_count; i++) {
        const char *and = i > 0 ? " AND " : "";
        const char *name = relation->columns[i].name;
        list = is_shared(relation, i)
                   ? arena_printf(arena, "%s%s%s = " TEXT_NUMBER("?%u"), list, and, name, i + 1)
                   : arena_printf(arena, "%s%s%s = ?%u", list, and, name, i + 1);
    }
    return list;
}

bool relation_create(struct store *store, const struct relation *relation, struct diag *diag)
{
    struct arena *arena = store->arena;
    const char *list = "";
    for (uint32_t i = 0; i < relation->column_count; i++) {
        const struct column *column = &relation->columns[i];
        const enum column_kind kind = is_shared(relation, i) ? COLUMN_INTEGER : column->kind;
        list = arena_printf(arena, "%s%s %s%s, ", list, column->name, kind_words[kind],
                            column->is_nullable ? "" : " NOT NULL");
    }
    const char *table = arena_printf(arena, "CREATE TABLE %s (%sPRIMARY KEY (%s)) STRICT%s",
                                     relation_table(arena, relation), list,
                                     name_list(arena, relation, relation->key_count),
                                     relation->is_by_key ? ", WITHOUT ROWID" : "");
    return sql_run(store, table, diag) &&
           (!relation->is_list ||
            sql_run(store,
                    arena_printf(arena, "CREATE VIEW %s AS SELECT %s FROM %s", relation->name,
                                 read_list(arena, relation), relation_table(arena, relation)),
                    diag));
}

/* "(?, ?), (?, ?)": as many marks as there are columns, for each row. */
static const char *marks_of(struct arena *arena, uint32_t columns, uint32_t rows)
{
    const char *row = "(?";
    for (uint32_t i = 1; i < columns; i++) {
        row = arena_printf(arena, "%s, ?", row);
    }
    const char *marks = arena_printf(arena, "%s)", row);
    for (uint32_t i = 1; i < rows; i++) {
        marks = arena_printf(arena, "%s, %s)", marks, row);
    }
    return marks;
}

sqlite3_stmt *relation_inserting(struct store *store, enum relation_id id, uint32_t rows,
                                 struct diag *diag)
{
    const struct relation *relation = &store_relations[id];
    sqlite3_stmt **kept = &store->inserts[id][rows - 1];
    if (*kept == NULL) {
        struct arena *arena = store->arena;
        *kept = sql_prepare(store,
                            arena_printf(arena, "INSERT INTO %s (%s) VALUES %s",
                                         relation_table(arena, relation),
                                         name_list(arena, relation, relation->column_count),
                                         marks_of(arena, relation->column_count, rows)),
                            diag);
    }
    return *kept;
}

static sqlite3_stmt *select_statement(struct store *store, enum relation_id id, struct diag *diag)
{
    const struct relation *relation = &store_relations[id];
    if (store->selects[id] == NULL) {
        struct arena *arena = store->arena;
        store->selects[id] = sql_prepare(
            store,
            arena_printf(arena, "SELECT %s FROM %s WHERE %s", read_list(arena, relation),
                         relation_table(arena, relation), key_condition(arena, relation)),
            diag);
    }
    return store->selects[id];
}

sqlite3_stmt *relation_select_all(struct store *store, enum relation_id id, struct diag *diag)
{
    const struct relation *relation = &store_relations[id];
    struct arena *arena = store->arena;
    const char *table = relation_table(arena, relation);
    const char *keys = ""; /* those of the table, in which its rows lie */
    for (uint32_t i = 0; i < relation->key_count; i++) {
        keys = arena_printf(arena, "%s%s%s.%s", keys, i > 0 ? ", " : "", table,
                            relation->columns[i].name);
    }
    return sql_prepare(store,
                       arena_printf(arena, "SELECT %s FROM %s ORDER BY %s",
                                    read_list(arena, relation), table, keys),
                       diag);
}

/* ---- values -------------------------------------------------------------- */

static void bind_value(const struct column *column, sqlite3_stmt *statement, uint32_t place,
                       const struct value *value)
{
    int code = SQLITE_OK;
    if (value->is_null) {
        sim_assert(column->is_nullable);
        sqlite3_bind_null(statement, (int)place);
        return;
    }
    switch (column->kind) {
    case COLUMN_TEXT:
        sim_assert(value->text != NULL);
        code = sqlite3_bind_text(statement, (int)place, value->text, -1, SQLITE_STATIC);
        break;
    case COLUMN_INTEGER:
        code = sqlite3_bind_int64(statement, (int)place, value->integer);
        break;
    case COLUMN_REAL:
        sim_assert(isfinite(value->real)); /* SQLite would store NULL */
        code = sqlite3_bind_double(statement, (int)place, value->real);
        break;
    }
    sim_assert(code == SQLITE_OK || code == SQLITE_NOMEM || code == SQLITE_TOOBIG);
}

/* A row as it lies in the table, to the parameters behind so many others. */
static bool bind_row(struct store *store, const struct relation *relation, sqlite3_stmt *statement,
                     uint32_t before, const struct value *values, struct diag *diag)
{
    for (uint32_t i = 0; i < relation->column_count; i++) {
        const uint32_t place = before + i + 1;
        if (!is_shared(relation, i) || values[i].is_null) {
            bind_value(&relation->columns[i], statement, place, &values[i]);
            continue;
        }
        int64_t number = 0;
        if (!texts_number(store, values[i].text, &number, diag)) {
            return false;
        }
        sqlite3_bind_int64(statement, (int)place, number);
    }
    return true;
}

void relation_read(const struct relation *relation, sqlite3_stmt *statement, struct value *values)
{
    for (uint32_t i = 0; i < relation->column_count; i++) {
        const int place = (int)i;
        values[i] = (struct value){.text = "",
                                   .is_null = sqlite3_column_type(statement, place) == SQLITE_NULL};
        if (relation->columns[i].kind == COLUMN_TEXT) {
            const char *text = (const char *)sqlite3_column_text(statement, place);
            values[i].text = text != NULL ? text : "";
        } else if (relation->columns[i].kind == COLUMN_INTEGER) {
            values[i].integer = sqlite3_column_int64(statement, place);
        } else {
            values[i].real = sqlite3_column_double(statement, place);
        }
    }
}

static bool is_same(enum column_kind kind, const struct value *a, const struct value *b)
{
    if (a->is_null || b->is_null) {
        return a->is_null == b->is_null;
    }
    switch (kind) {
    case COLUMN_TEXT:
        return strcmp(a->text, b->text) == 0;
    case COLUMN_INTEGER:
        return a->integer == b->integer;
    default:
        return !(a->real < b->real) && !(a->real > b->real); /* SQLite stores -0.0 as 0.0 */
    }
}

/* "0123456789abcdef, compute": the key of a row, for messages. */
static const char *key_text(struct arena *arena, const struct relation *relation,
                            const struct value *values)
{
    const char *key = "";
    for (uint32_t i = 0; i < relation->key_count; i++) {
        const char *comma = i > 0 ? ", " : "";
        key = relation->columns[i].kind == COLUMN_TEXT
                  ? arena_printf(arena, "%s%s%s", key, comma, values[i].text)
                  : arena_printf(arena, "%s%s%lld", key, comma, (long long)values[i].integer);
    }
    return key;
}

static enum put compare(struct store *store, const struct relation *relation,
                        const struct value *stored, const struct value *values, struct diag *diag)
{
    const char *names = NULL;
    for (uint32_t i = relation->key_count; i < relation->column_count; i++) {
        const struct column *column = &relation->columns[i];
        if (column->is_compared && !is_same(column->kind, &stored[i], &values[i])) {
            names = names == NULL ? column->name
                                  : arena_printf(store->arena, "%s, %s", names, column->name);
        }
    }
    if (names == NULL) {
        return PUT_SAME;
    }
    diag_add(diag, DIAG_FAILURE, NULL, "%s: %s %s is stored already, with other values of %s",
             store->path, relation->name, key_text(store->arena, relation, values), names);
    diag_help(diag, "nothing was changed; use --db with another file to keep both");
    return PUT_DIFFERENT;
}

enum put relation_inserted(struct store *store, sqlite3_stmt *statement, struct diag *diag)
{
    const int code = sqlite3_step(statement);
    const bool is_taken = sqlite3_extended_errcode(store->database) == SQLITE_CONSTRAINT_PRIMARYKEY;
    enum put put = code == SQLITE_DONE ? PUT_NEW : PUT_SAME;
    if (code != SQLITE_DONE && !is_taken) {
        sql_fail(store, diag, "store a result");
        put = PUT_FAILED;
    }
    sqlite3_reset(statement);
    return put;
}

/* Texts are borrowed until the statement has been run, and bound anew before it is run again. */
enum put relation_insert(struct store *store, enum relation_id id, const struct value *const *rows,
                         uint32_t count, struct diag *diag)
{
    sim_assert(count >= 1 && count <= STORE_ROWS_AT_ONCE);
    if (id == RELATION_SCENARIO) {
        sim_assert(count == 1);
        return scenario_insert(store, rows[0], diag);
    }
    sqlite3_stmt *statement = relation_inserting(store, id, count, diag);
    const struct relation *relation = &store_relations[id];
    bool is_good = statement != NULL;
    for (uint32_t i = 0; is_good && i < count; i++) {
        is_good = bind_row(store, relation, statement, i * relation->column_count, rows[i], diag);
    }
    return is_good ? relation_inserted(store, statement, diag) : PUT_FAILED;
}

static enum put compare_stored(struct store *store, enum relation_id id, const struct value *values,
                               struct diag *diag)
{
    const struct relation *relation = &store_relations[id];
    sqlite3_stmt *statement = select_statement(store, id, diag);
    if (statement == NULL) {
        return PUT_FAILED;
    }
    for (uint32_t i = 0; i < relation->key_count; i++) {
        bind_value(&relation->columns[i], statement, i + 1, &values[i]);
    }
    enum put put = PUT_FAILED;
    if (sqlite3_step(statement) == SQLITE_ROW) {
        struct value stored[STORE_COLUMNS_MAX];
        if (check_relation_row(store, relation, statement, diag)) {
            relation_read(relation, statement, stored);
            put = compare(store, relation, stored, values, diag);
        }
    } else {
        sql_fail(store, diag, "read what is stored");
    }
    sqlite3_reset(statement);
    return put;
}

enum put relation_put(struct store *store, enum relation_id id, const struct value *values,
                      struct diag *diag)
{
    const enum put put = relation_insert(store, id, &values, 1, diag);
    return put == PUT_SAME ? compare_stored(store, id, values, diag) : put;
}
