/* Old tables are put aside under other names, read by the names of their columns, and dropped. The
 * file is packed afterwards: what it held was ten times as much.
 */
#include "store/store_older.h"

#include "base/arena.h"
#include "store/store_check.h"

#include <string.h>

enum { OLDEST = 12 };

/* What older stokers meant by saying nothing: columns that ours fill always, in SQL of what theirs
 * had. Others that they lack are NULL. */
static const struct {
    enum relation_id id;
    const char *column, *meant;
} silences[] = {
    {RELATION_RUN, "paid_gpus", "gpus"}, /* idle ones were not looked at */
};

bool older_is_known(int64_t schema)
{
    return schema >= OLDEST && schema < STORE_SCHEMA;
}

static const char *old_name(struct arena *arena, enum relation_id id)
{
    return arena_printf(arena, "old_%s", store_relations[id].name);
}

static bool put_aside(struct store *store, enum relation_id id, struct diag *diag)
{
    return sql_run(store,
                   arena_printf(store->arena, "ALTER TABLE %s RENAME TO %s",
                                store_relations[id].name, old_name(store->arena, id)),
                   diag);
}

static bool has_column(struct store *store, enum relation_id id, const char *name,
                       struct diag *diag)
{
    sqlite3_stmt *statement =
        sql_prepare(store, "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2", diag);
    if (statement == NULL) {
        return false;
    }
    sqlite3_bind_text(statement, 1, old_name(store->arena, id), -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(statement, 2, name, -1, SQLITE_TRANSIENT);
    const bool has = sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_finalize(statement);
    return has;
}

/* A column of an old table, or what stands for it. */
static const char *read_old(struct store *store, enum relation_id id, const struct column *column,
                            struct diag *diag)
{
    if (has_column(store, id, column->name, diag)) {
        return column->name;
    }
    for (size_t i = 0; i < sizeof silences / sizeof *silences; i++) {
        if (silences[i].id == id && strcmp(silences[i].column, column->name) == 0) {
            return silences[i].meant;
        }
    }
    return column->is_nullable ? "NULL" : column->name;
}

/* The rows of an old table, as columns are described now. A scenario stood with its run. */
static sqlite3_stmt *select_old(struct store *store, enum relation_id id, struct diag *diag)
{
    struct arena *arena = store->arena;
    if (id == RELATION_SCENARIO) {
        return sql_prepare(store,
                           arena_printf(arena, "SELECT key, scenario_text FROM %s ORDER BY rowid",
                                        old_name(arena, RELATION_RUN)),
                           diag);
    }
    const struct relation *relation = &store_relations[id];
    const char *list = "";
    for (uint32_t i = 0; i < relation->column_count; i++) {
        list = arena_printf(arena, "%s%s%s", list, i > 0 ? ", " : "",
                            read_old(store, id, &relation->columns[i], diag));
    }
    /* Studies and builds are told in the order in which they were stored. */
    return sql_prepare(store,
                       arena_printf(arena, "SELECT %s FROM %s%s", list, old_name(arena, id),
                                    relation->is_by_key ? "" : " ORDER BY rowid"),
                       diag);
}

static bool copy_old(struct store *store, enum relation_id id, struct diag *diag)
{
    sqlite3_stmt *statement = select_old(store, id, diag);
    bool is_good = statement != NULL;
    int code = SQLITE_DONE;
    while (is_good && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        struct value values[STORE_COLUMNS_MAX];
        is_good = check_relation_row(store, &store_relations[id], statement, diag);
        if (is_good) {
            relation_read(&store_relations[id], statement, values);
            is_good = relation_put(store, id, values, diag) == PUT_NEW;
        }
    }
    if (is_good && code != SQLITE_DONE) {
        is_good = sql_fail(store, diag, "read what is stored");
    }
    sqlite3_finalize(statement);
    return is_good;
}

static bool drop_old(struct store *store, enum relation_id id, struct diag *diag)
{
    return sql_run(store, arena_printf(store->arena, "DROP TABLE %s", old_name(store->arena, id)),
                   diag);
}

static bool bring_all(struct store *store, store_create_function *create, struct diag *diag)
{
    bool is_good = true;
    for (uint32_t i = 0; is_good && i < RELATION_COUNT_; i++) {
        is_good = i == RELATION_SCENARIO || put_aside(store, (enum relation_id)i, diag);
    }
    is_good = is_good && create(store, diag);
    for (uint32_t i = 0; is_good && i < RELATION_COUNT_; i++) {
        is_good = copy_old(store, (enum relation_id)i, diag);
    }
    for (uint32_t i = 0; is_good && i < RELATION_COUNT_; i++) {
        is_good = i == RELATION_SCENARIO || drop_old(store, (enum relation_id)i, diag);
    }
    return is_good;
}

/* Who only reads is told of a write. */
static bool say_why(int64_t schema, struct diag *diag)
{
    diag_help(diag, "a file of schema %lld is read when it has been brought to %d; a copy will do",
              (long long)schema, STORE_SCHEMA);
    return false;
}

/* Two programs may bring one file at a time: whoever has the lock looks again. */
bool older_bring(struct store *store, int64_t schema, store_create_function *create,
                 struct diag *diag)
{
    if (!sql_begin(store, diag)) {
        return say_why(schema, diag);
    }
    int64_t now = 0;
    bool is_good = sql_number(store, "PRAGMA user_version", &now, diag);
    const bool is_ours = is_good && now == schema;
    if (is_ours) {
        is_good = bring_all(store, create, diag);
    }
    if (!sql_finish(store, is_good, diag)) {
        return say_why(schema, diag);
    }
    if (is_ours) {
        struct diag *unheard = diag_new(store->arena); /* a file that stays large is as good */
        (void)!sql_run(store, "VACUUM", unheard);
        diag_add(diag, DIAG_NOTE, NULL, "%s had schema %lld, and is brought to %d", store->path,
                 (long long)schema, STORE_SCHEMA);
    }
    return true;
}
