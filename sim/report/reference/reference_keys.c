/* The words for keys, each from the row that reads it. */
#include "report/reference/reference_keys.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/failures/failures.h"
#include "input/failures/spot.h"
#include "input/job/matrix_rule_keys.h"
#include "input/network/prices.h"
#include "input/study/portfolio_keys.h"
#include "input/study/quote_keys.h"

#include <string.h>

struct key_list {
    struct reference_key *items;
    size_t count, capacity;
};

static void add_key(struct arena *arena, const struct schema *file, const struct schema *schema,
                    uint32_t number, struct key_list *keys)
{
    const struct schema_row *row = &schema->rows[number];
    keys->items =
        arena_grow(arena, keys->items, &keys->capacity, keys->count + 1, sizeof *keys->items);
    keys->items[keys->count++] = (struct reference_key){
        arena_printf(arena, "%s%s", schema->prefix, row->path), file, schema, row};
}

/* Each key of a list's entries; lists among them have entries without lists. */
static void add_inner(struct arena *arena, const struct schema *file, const struct schema *inner,
                      struct key_list *keys)
{
    for (uint32_t k = 0; inner != NULL && k < inner->count; k++) {
        const struct schema *last = inner->rows[k].inner;
        add_key(arena, file, inner, k, keys);
        for (uint32_t n = 0; last != NULL && n < last->count; n++) {
            add_key(arena, file, last, n, keys);
        }
    }
}

/* Each key, and behind that of a list those of its entries. */
static void add_keys(struct arena *arena, const struct schema *file, struct key_list *keys)
{
    for (uint32_t i = 0; i < file->count; i++) {
        add_key(arena, file, file, i, keys);
        add_inner(arena, file, file->rows[i].inner, keys);
    }
}

const struct schema *reference_file(uint32_t number)
{
    sim_assert(number < REFERENCE_FILE_COUNT);
    if (number < SCENARIO_PART_COUNT) {
        return scenario_parts[number].schema;
    }
    static const struct schema *const others[REFERENCE_FILE_COUNT - SCENARIO_PART_COUNT] = {
        &nic_schema,       &recipe_schema,     &failures_schema, &spot_schema,
        &portfolio_schema, &price_list_schema, &quote_schema,    &matrix_rule_schema};
    return others[number - SCENARIO_PART_COUNT];
}

const struct reference_key *reference_keys(struct arena *arena, uint32_t *count)
{
    struct key_list keys = {.count = 0};
    for (uint32_t i = 0; i < REFERENCE_FILE_COUNT; i++) {
        add_keys(arena, reference_file(i), &keys);
    }
    *count = (uint32_t)keys.count;
    return keys.items;
}

const struct reference_key *reference_find(struct arena *arena, const char *path)
{
    uint32_t count = 0;
    const struct reference_key *keys = reference_keys(arena, &count);
    const struct reference_key *bare = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct schema *schema = keys[i].schema;
        const size_t length = strlen(schema->prefix);
        if (strncmp(path, schema->prefix, length) == 0 &&
            schema_find(schema, path + length) == keys[i].row) {
            return &keys[i];
        }
        if (bare == NULL && schema_find(schema, path) == keys[i].row) {
            bare = &keys[i];
        }
    }
    return bare;
}

/* "blocking or async", "a, b or c": the names that may be written. */
static const char *names_text(struct arena *arena, const struct schema_row *row)
{
    const char *names[32];
    uint32_t count = 0;
    for (uint32_t i = 0; i < row->name_count; i++) {
        if (row->among == 0 || (row->among & 1u << i) != 0) {
            names[count++] = row->names[i];
        }
    }
    const char *text = "";
    for (uint32_t i = 0; i < count; i++) {
        const char *before = i == 0 ? "" : i + 1 == count ? " or " : ", ";
        text = arena_printf(arena, "%s%s%s", text, before, names[i]);
    }
    return text;
}

/* A bound as the schema would show it. */
static const char *bound_text(struct arena *arena, const struct schema_row *row, double bound)
{
    const struct schema_row alone = {.kind = SCHEMA_QUANTITY, .dimension = row->dimension};
    const bool is_plain = row->kind == SCHEMA_COUNT || row->dimension == DIM_COUNT;
    return is_plain ? arena_printf(arena, "%.10g", bound)
                    : schema_value_text(arena, &alone, &bound);
}

const char *reference_value(struct arena *arena, const struct schema_row *row)
{
    switch (row->kind) {
    case SCHEMA_COUNT:
    case SCHEMA_QUANTITY:
        return arena_printf(arena, "%s from %s to %s",
                            row->kind == SCHEMA_COUNT ? "a whole number"
                                                      : units_noun(row->dimension),
                            bound_text(arena, row, row->least), bound_text(arena, row, row->most));
    case SCHEMA_BOOL:
        return "true or false";
    case SCHEMA_TEXT:
        return "a text";
    case SCHEMA_CHOICE:
        return names_text(arena, row);
    case SCHEMA_NAMES:
        return arena_printf(arena, "a list of %s", names_text(arena, row));
    case SCHEMA_SECTION:
        return "keys of its own";
    case SCHEMA_SWITCH:
        return "keys of its own, or off";
    case SCHEMA_EACH:
        return arena_printf(arena, "keys named %s", names_text(arena, row));
    case SCHEMA_NODE:
    case SCHEMA_CUSTOM:
    case SCHEMA_KIND_COUNT_:
    default:
        return "as described";
    }
}

const char *reference_unit(const struct schema_row *row)
{
    const bool is_plain = row->dimension == DIM_COUNT || row->dimension == DIM_FRACTION;
    return row->kind == SCHEMA_QUANTITY && !is_plain ? units_example(row->dimension) : NULL;
}

const char *reference_required(const struct schema *schema, const struct schema_row *row)
{
    const struct schema_row *section = schema_parent(schema, row);
    if (row->applies != NULL) {
        return "it must be given where it means anything";
    }
    return section != NULL && !section->is_required ? "it must be given with its section"
                                                    : "it must be given";
}

const char *reference_default(struct arena *arena, const struct schema_row *row)
{
    const char *note = row->note != NULL && row->note[0] != '\0' ? row->note : NULL;
    return row->standard == NULL ? note
           : note == NULL        ? row->standard
                                 : arena_printf(arena, "%s (%s)", row->standard, note);
}

/* ---- a list of them ---- */

/* What begins with the word; or else, where the word names a key in another way
 * (library.fitted.hopper.sizes, nics.kind), that key's path. */
static const char *prefix_of(struct arena *arena, const char *word)
{
    uint32_t count = 0;
    const struct reference_key *keys = reference_keys(arena, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (strncmp(keys[i].path, word, strlen(word)) == 0) {
            return word;
        }
    }
    const struct reference_key *named = reference_find(arena, word);
    return named != NULL ? named->path : word;
}

struct sheet *reference_add_keys(struct sheet *sheet, const char *key, const char *word)
{
    static const struct field fields[] = {
        {"key", FIELD_LEFT("key")},         {"file", FIELD_LEFT("file"), .gives_way = 1},
        {"value", FIELD_LEFT("value")},     {"default", FIELD_LEFT("default")},
        {"assumed", FIELD_LEFT("assumed")}, {"meaning", FIELD_LEFT("meaning")},
    };
    struct arena *arena = sheet_arena(sheet);
    const char *prefix = prefix_of(arena, word);
    struct sheet *table = sheet_table(sheet, key, FIELD_LIST(fields));
    uint32_t count = 0;
    const struct reference_key *keys = reference_keys(arena, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (strncmp(keys[i].path, prefix, strlen(prefix)) == 0) {
            const struct schema_row *row = keys[i].row;
            sheet_text(table, NULL, keys[i].path);
            sheet_text(table, NULL, keys[i].file->name);
            sheet_text(table, NULL, reference_value(arena, row));
            sheet_text(table, NULL, reference_default(arena, row));
            sheet_bool(table, NULL, row->is_assumed);
            sheet_text(table, NULL, row->help);
        }
    }
    return table;
}
