/* A text is held against its base from beginning to end. Where they part, the next WINDOW bytes
 * that both have are looked for, by a table of where the base has which; what lies between is
 * written out. A piece begins and ends between characters, so that SQL, which counts these, cuts at
 * the same places. A few bases are known at a time, as a comparison of several scenarios goes from
 * one to the next; the one that was used last is tried first.
 */
#include "store/store_scenario.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/rng.h"
#include "store/store_texts.h"

#include <inttypes.h>
#include <string.h>

enum { WINDOW = 16, SLOTS = 1 << 14, CANDIDATES = 16, BASES = 4, NONE = -1 };

struct base {
    struct arena *arena; /* owned; NULL: there is none */
    int64_t run_number;
    const char *text;
    size_t size_bytes;
    bool is_ascii;
    int32_t *first, *next; /* where the base has a window of some hash; NONE */
    uint64_t used;         /* when it was last */
};

struct store_scenarios {
    struct base bases[BASES];
    uint32_t last; /* that was used */
    uint64_t uses;
    bool has_looked; /* for a base in the file */
};

/* ---- bases ---------------------------------------------------------------------------------- */

static uint32_t slot_of(const char *window)
{
    return (uint32_t)rng_hash_bytes(window, WINDOW, 0) % SLOTS;
}

static bool is_inside_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static bool is_ascii(const char *text)
{
    while (*text != '\0' && (unsigned char)*text < 0x80) {
        text++;
    }
    return *text == '\0';
}

static void index_windows(struct base *base)
{
    base->first = arena_array(base->arena, SLOTS, sizeof *base->first);
    base->next = arena_array(base->arena, base->size_bytes + 1, sizeof *base->next);
    for (uint32_t i = 0; i < SLOTS; i++) {
        base->first[i] = NONE;
    }
    for (size_t i = base->size_bytes >= WINDOW ? base->size_bytes - WINDOW + 1 : 0; i-- > 0;) {
        int32_t *first = &base->first[slot_of(base->text + i)];
        base->next[i] = *first;
        *first = (int32_t)i;
    }
}

static struct store_scenarios *scenarios_of(struct store *store)
{
    if (store->scenarios == NULL) {
        store->scenarios = arena_alloc(store->arena, sizeof *store->scenarios);
    }
    return store->scenarios;
}

/* In place of the one that was not used for the longest. */
static void add_base(struct store_scenarios *scenarios, int64_t run_number, const char *text)
{
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < BASES; i++) {
        oldest = scenarios->bases[i].used < scenarios->bases[oldest].used ? i : oldest;
    }
    struct base *base = &scenarios->bases[oldest];
    scenarios->last = oldest;
    arena_free(base->arena);
    *base = (struct base){.arena = arena_new(), .run_number = run_number};
    base->text = arena_strdup(base->arena, text);
    base->size_bytes = strlen(text);
    base->is_ascii = is_ascii(text);
    base->used = ++scenarios->uses;
    index_windows(base);
}

void scenario_forget(struct store *store)
{
    struct store_scenarios *scenarios = store->scenarios;
    for (uint32_t i = 0; scenarios != NULL && i < BASES; i++) {
        arena_free(scenarios->bases[i].arena);
        scenarios->bases[i] = (struct base){.arena = NULL};
        scenarios->has_looked = false;
    }
}

void scenario_close(struct store *store)
{
    scenario_forget(store);
    store->scenarios = NULL;
}

/* The one that was stored last: a study that goes on, or a run after the other. */
static bool look_for_base(struct store *store, struct store_scenarios *scenarios, struct diag *diag)
{
    static const char query[] = "SELECT run_key, text FROM scenario_rows WHERE "
                                "substr(text, 1, 1) <> '[' ORDER BY run_key DESC LIMIT 1";
    scenarios->has_looked = true;
    sqlite3_stmt *statement = sql_prepare(store, query, diag);
    if (statement == NULL) {
        return false;
    }
    const int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(statement, 1);
        add_base(scenarios, sqlite3_column_int64(statement, 0), text != NULL ? text : "");
    }
    const bool is_good =
        code == SQLITE_ROW || code == SQLITE_DONE || sql_fail(store, diag, "read its scenarios");
    sqlite3_finalize(statement);
    return is_good;
}

/* ---- pieces --------------------------------------------------------------------------------- */

/* A piece of a text that its base has. */
struct piece {
    size_t from, size_bytes;
};

/* How far they go on alike, to the end of a character. */
static size_t alike(const struct base *base, size_t from, const char *text)
{
    size_t size_bytes = 0;
    while (from + size_bytes < base->size_bytes &&
           base->text[from + size_bytes] == text[size_bytes]) {
        size_bytes++;
    }
    while (size_bytes > 0 && is_inside_character(text[size_bytes])) {
        size_bytes--;
    }
    return size_bytes;
}

/* Of the places where the base has the next window, the first from which it goes on as far as any;
 * 0 bytes: there is none. Those behind where it was left are most like it. */
static struct piece find_piece(const struct base *base, size_t behind, const char *text)
{
    struct piece best = {0, 0};
    if (is_inside_character(text[0])) {
        return best;
    }
    int32_t at = base->first[slot_of(text)];
    while (at != NONE && (size_t)at < behind) {
        at = base->next[at];
    }
    for (uint32_t i = 0; at != NONE && i < CANDIDATES; i++, at = base->next[at]) {
        const size_t size_bytes = alike(base, (size_t)at, text);
        best = size_bytes > best.size_bytes ? (struct piece){(size_t)at, size_bytes} : best;
    }
    return best.size_bytes >= WINDOW ? best : (struct piece){0, 0};
}

static size_t characters(const struct base *base, size_t from, size_t size_bytes)
{
    size_t count = size_bytes;
    for (size_t i = from; !base->is_ascii && i < from + size_bytes; i++) {
        count -= is_inside_character(base->text[i]);
    }
    return count;
}

/* What is written so far. */
struct packing {
    struct arena *arena;
    const struct base *base;
    const char *list; /* without its end */
};

static void put_text(struct packing *packing, const char *text, size_t size_bytes)
{
    if (size_bytes > 0) {
        char *own = arena_room(packing->arena, size_bytes + 1, 1);
        memcpy(own, text, size_bytes);
        own[size_bytes] = '\0';
        packing->list =
            arena_printf(packing->arena, "%s,%s", packing->list, json_quoted(packing->arena, own));
    }
}

static void put_piece(struct packing *packing, struct piece piece)
{
    packing->list = arena_printf(packing->arena, "%s,[%zu,%zu]", packing->list,
                                 characters(packing->base, 0, piece.from),
                                 characters(packing->base, piece.from, piece.size_bytes));
}

/* NULL: more than half of the text is none of its base's. */
static const char *pack(struct arena *arena, const struct base *base, const char *text)
{
    const size_t size_bytes = strlen(text);
    struct packing packing = {arena, base, arena_printf(arena, "[%" PRId64, base->run_number)};
    size_t own = 0;    /* the text up to here is written */
    size_t behind = 0; /* of the base */
    size_t owned = 0;  /* bytes that it has not */
    for (size_t at = 0; at + WINDOW <= size_bytes && 2 * owned <= size_bytes;) {
        const struct piece piece = find_piece(base, behind, text + at);
        if (piece.size_bytes == 0) {
            at++;
            owned++;
            continue;
        }
        put_text(&packing, text + own, at - own);
        put_piece(&packing, piece);
        at += piece.size_bytes;
        own = at;
        behind = piece.from + piece.size_bytes;
    }
    if (2 * owned > size_bytes) {
        return NULL;
    }
    put_text(&packing, text + own, size_bytes - own);
    return arena_printf(arena, "%s]", packing.list);
}

/* The arena's, or the text itself where none is like it. */
static const char *pack_by_any(struct store_scenarios *scenarios, struct arena *arena,
                               const char *text)
{
    for (uint32_t i = 0; i < BASES; i++) {
        const uint32_t number = (scenarios->last + i) % BASES;
        struct base *base = &scenarios->bases[number];
        const char *packed = base->arena != NULL ? pack(arena, base, text) : NULL;
        if (packed != NULL && strlen(packed) < strlen(text)) {
            base->used = ++scenarios->uses;
            scenarios->last = number;
            return packed;
        }
    }
    return text;
}

static enum put insert_packed(struct store *store, int64_t run_number, const char *packed,
                              struct diag *diag)
{
    sqlite3_stmt *statement = relation_inserting(store, RELATION_SCENARIO, 1, diag);
    if (statement == NULL) {
        return PUT_FAILED;
    }
    sqlite3_bind_int64(statement, 1, run_number);
    sqlite3_bind_text(statement, 2, packed, -1, SQLITE_STATIC);
    return relation_inserted(store, statement, diag);
}

enum put scenario_insert(struct store *store, const struct value *values, struct diag *diag)
{
    struct store_scenarios *scenarios = scenarios_of(store);
    const char *text = values[1].text;
    int64_t run_number = 0;
    if (text[0] == '[') {
        diag_add(diag, DIAG_FAILURE, NULL, "%s: run %s has no scenario, but a list", store->path,
                 values[0].text);
        return PUT_FAILED;
    }
    if (!texts_number(store, values[0].text, &run_number, diag) ||
        (!scenarios->has_looked && !look_for_base(store, scenarios, diag))) {
        return PUT_FAILED;
    }
    struct arena *arena = arena_new();
    const char *packed = pack_by_any(scenarios, arena, text);
    const enum put put = insert_packed(store, run_number, packed, diag);
    if (put == PUT_NEW && packed == text) {
        add_base(scenarios, run_number, text);
    }
    arena_free(arena);
    return put;
}
