/* Inside the store: tables described as data, rows put and compared by it.
 *
 * Only store*.c include this. A relation's first `key_count` columns are its
 * primary key. From the description come CREATE TABLE, INSERT, SELECT and the
 * comparison that makes storing idempotent, so a new column is one line.
 *
 * A list that hangs on runs is a table NAME_rows, in which texts are numbers (store_texts), and a
 * view NAME of its rows as they are described. Values given and read are those of the view.
 */
#ifndef STORE_STORE_SQL_H
#define STORE_STORE_SQL_H

#include "base/diag.h"

#include <sqlite3.h>

#define STORE_APPLICATION_ID 0x73746b72 /* "stkr" */
#define STORE_SCHEMA 14

enum column_kind { COLUMN_TEXT, COLUMN_INTEGER, COLUMN_REAL };

struct column {
    const char *name;
    enum column_kind kind;
    bool is_compared; /* false: may differ under the same key (host time) */
    bool is_nullable; /* NULL: the value does not exist */
    bool divides;     /* more than 0: others are divided by it */
};

/* One value; the column's kind says which member holds, unless it is NULL. */
struct value {
    bool is_null;
    const char *text;
    int64_t integer;
    double real;
};

enum relation_id {
    RELATION_RUN,
    RELATION_SCENARIO,
    RELATION_BREAKDOWN,
    RELATION_ASSUMPTION,
    RELATION_LINK_USE,
    RELATION_LINK_LOAD,
    RELATION_TRAFFIC,
    RELATION_JOB,
    RELATION_ACCOUNT,
    RELATION_FAILURE,
    RELATION_STAGE,
    RELATION_STUDY,
    RELATION_POINT,
    RELATION_POINT_AXIS,
    RELATION_COUNT_
};

#define STORE_COLUMNS_MAX 128
#define STORE_ROWS_AT_ONCE 16

struct relation {
    const char *name;
    const struct column *columns;
    uint32_t column_count;
    uint32_t key_count;
    bool is_by_key; /* its rows lie in the order of their keys, without a number of their own */
    bool is_list;   /* of what hangs on a run: a table of numbers and a view */
};

extern const struct relation store_relations[RELATION_COUNT_];

struct store_texts;
struct store_scenarios;

/* Which columns of which tables a statement's are; NULL: of none (store_check.h). */
struct seen_statement {
    const sqlite3_stmt *statement;
    uint32_t count;
    const struct relation *relations[STORE_COLUMNS_MAX];
    const struct column *columns[STORE_COLUMNS_MAX];
};

struct store {
    sqlite3 *database; /* owned */
    const char *path;
    struct arena *arena; /* borrowed: it outlives the store */
    struct diag *diag;   /* borrowed: of store_open, for errors while reading */
    bool is_locked;      /* by another program, when something failed last */
    bool has_failed; /* something could not be read: nothing more is, which may take 20 s each */
    struct seen_statement seen; /* the one that was looked at last */
    /* Of so many rows less one; owned, as are all statements; NULL until used. */
    sqlite3_stmt *inserts[RELATION_COUNT_][STORE_ROWS_AT_ONCE];
    sqlite3_stmt *selects[RELATION_COUNT_];
    sqlite3_stmt *counts[RELATION_COUNT_]; /* of what hangs on a run */
    sqlite3_stmt *forget_axes, *forget_point;
    struct store_texts
        *texts; /* what is known of the file's, and of its scenarios; NULL: nothing */
    struct store_scenarios *scenarios;
};

/* Adds "PATH: cannot DOING: SQLite's words" with a remedy. Always false. */
bool sql_fail(struct store *store, struct diag *diag, const char *doing);

/* NULL, with the reason in diag, when SQLite refuses the text. */
sqlite3_stmt *sql_prepare(struct store *store, const char *text, struct diag *diag);

/* The same, prepared once: *kept is it from then on, and who uses it resets it. */
sqlite3_stmt *sql_kept(struct store *store, sqlite3_stmt **kept, const char *text,
                       struct diag *diag);

/* Runs a statement without parameters and ignores its rows. */
MUST_USE bool sql_run(struct store *store, const char *text, struct diag *diag);

/* The first column of the first row of a query without parameters. */
MUST_USE bool sql_number(struct store *store, const char *query, int64_t *number,
                         struct diag *diag);

/* Transactions that write. sql_finish commits when `is_good`, else (or when the
 * commit fails) rolls back; its result says whether everything is stored. */
MUST_USE bool sql_begin(struct store *store, struct diag *diag);
MUST_USE bool sql_finish(struct store *store, bool is_good, struct diag *diag);

MUST_USE bool relation_create(struct store *store, const struct relation *relation,
                              struct diag *diag);

/* What stands behind FROM where rows are found by their numbers. */
const char *relation_table(struct arena *arena, const struct relation *relation);

/* In SQL, the number of a text that is a parameter; a text by its number. */
#define TEXT_NUMBER(parameter) "(SELECT text.id FROM text WHERE text.value = " parameter ")"
#define TEXT_VALUE(number) "(SELECT text.value FROM text WHERE text.id = " number ")"

/* The values of the row that `statement` stands on; texts are valid until its next step. */
void relation_read(const struct relation *relation, sqlite3_stmt *statement, struct value *values);

/* All columns of all rows, in key order. */
sqlite3_stmt *relation_select_all(struct store *store, enum relation_id id, struct diag *diag);

enum put { PUT_NEW, PUT_SAME, PUT_DIFFERENT, PUT_FAILED };

/* Inserts a row, or compares it with the one under its key. A difference and a
 * failure are reported in diag. */
MUST_USE enum put relation_put(struct store *store, enum relation_id id, const struct value *values,
                               struct diag *diag);

/* The statement that inserts so many rows, without its values; and what came of it. */
sqlite3_stmt *relation_inserting(struct store *store, enum relation_id id, uint32_t rows,
                                 struct diag *diag);
MUST_USE enum put relation_inserted(struct store *store, sqlite3_stmt *statement,
                                    struct diag *diag);

/* Inserts up to STORE_ROWS_AT_ONCE rows by one statement. Where the key of one is taken none is
 * inserted (PUT_SAME: it remains to be seen); a failure is reported. */
MUST_USE enum put relation_insert(struct store *store, enum relation_id id,
                                  const struct value *const *rows, uint32_t count,
                                  struct diag *diag);

#endif
