/* A table of texts that were asked for, in memory, since a point asks for the same two hundred as
 * the one before: open addressing, half empty, emptied when it is as large as it may get.
 */
#include "store/store_texts.h"

#include "base/arena.h"
#include "base/rng.h"

#include <string.h>

enum { SLOTS = 1 << 14, KNOWN_MAX = SLOTS / 2 };

struct known_text {
    const char *text; /* NULL: the slot is free */
    int64_t number;
};

struct store_texts {
    struct arena *arena; /* owned, of what is known */
    struct known_text *slots;
    uint32_t count;
    sqlite3_stmt *find, *add; /* owned */
};

bool texts_create(struct store *store, struct diag *diag)
{
    return sql_run(
        store,
        "CREATE TABLE text (id INTEGER PRIMARY KEY NOT NULL, value TEXT NOT NULL UNIQUE) STRICT",
        diag);
}

static struct store_texts *texts_of(struct store *store)
{
    if (store->texts == NULL) {
        store->texts = arena_alloc(store->arena, sizeof *store->texts);
        store->texts->arena = arena_new();
    }
    struct store_texts *texts = store->texts;
    if (texts->slots == NULL || texts->count >= KNOWN_MAX) {
        texts_forget(store);
        texts->slots = arena_array(texts->arena, SLOTS, sizeof *texts->slots);
    }
    return texts;
}

void texts_forget(struct store *store)
{
    struct store_texts *texts = store->texts;
    if (texts != NULL) {
        arena_reset(texts->arena);
        texts->slots = NULL;
        texts->count = 0;
    }
}

void texts_close(struct store *store)
{
    struct store_texts *texts = store->texts;
    if (texts != NULL) {
        sqlite3_finalize(texts->find);
        sqlite3_finalize(texts->add);
        arena_free(texts->arena);
        store->texts = NULL;
    }
}

/* Where a text is, or would be. */
static struct known_text *slot_of(const struct store_texts *texts, const char *text)
{
    uint32_t at = (uint32_t)rng_hash_bytes(text, strlen(text), 0) % SLOTS;
    while (texts->slots[at].text != NULL && strcmp(texts->slots[at].text, text) != 0) {
        at = (at + 1) % SLOTS;
    }
    return &texts->slots[at];
}

/* Of the file; false where it has none, or on an error. */
static bool read_number(struct store *store, sqlite3_stmt *find, const char *text, int64_t *number,
                        struct diag *diag)
{
    sqlite3_bind_text(find, 1, text, -1, SQLITE_STATIC);
    const int code = sqlite3_step(find);
    if (code == SQLITE_ROW) {
        *number = sqlite3_column_int64(find, 0);
    } else if (code != SQLITE_DONE) {
        sql_fail(store, diag, "read its texts");
    }
    sqlite3_reset(find);
    return code == SQLITE_ROW;
}

static bool add_text(struct store *store, sqlite3_stmt *add, const char *text, int64_t *number,
                     struct diag *diag)
{
    sqlite3_bind_text(add, 1, text, -1, SQLITE_STATIC);
    const bool is_good = sqlite3_step(add) == SQLITE_DONE || sql_fail(store, diag, "store a text");
    *number = sqlite3_last_insert_rowid(store->database);
    sqlite3_reset(add);
    return is_good;
}

bool texts_number(struct store *store, const char *text, int64_t *number, struct diag *diag)
{
    struct store_texts *texts = texts_of(store);
    struct known_text *slot = slot_of(texts, text);
    if (slot->text != NULL) {
        *number = slot->number;
        return true;
    }
    sqlite3_stmt *find =
        sql_kept(store, &texts->find, "SELECT id FROM text WHERE value = ?1", diag);
    sqlite3_stmt *add = sql_kept(store, &texts->add, "INSERT INTO text (value) VALUES (?1)", diag);
    if (find == NULL || add == NULL) {
        return false;
    }
    const uint32_t errors = diag_error_count(diag);
    if (!read_number(store, find, text, number, diag) &&
        (diag_error_count(diag) > errors || !add_text(store, add, text, number, diag))) {
        return false;
    }
    *slot = (struct known_text){arena_strdup(texts->arena, text), *number};
    texts->count++;
    return true;
}
