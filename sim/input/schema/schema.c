/* The one reader of all schemas. Rows are taken in order; a section's row opens its mapping,
 * which is kept on a stack while the rows below it are read and is closed behind them. The stack
 * is as deep as the table (three levels), never as deep as a file.
 *
 * A section that is absent reads like one whose keys are all absent: defaults are put in, and
 * what is required in it is not missed key by key. A switched-off section is not read at all,
 * so its members stay as they were.
 */
#include "input/schema/schema.h"

#include "base/arena.h"

#include <string.h>

enum {
    NAMES_MAX = 32, /* bits of a member */
    DEPTH_MAX = 6   /* sections within each other */
};

const char *schema_key(const struct schema_row *row)
{
    const char *dot = strrchr(row->path, '.');
    return dot != NULL ? dot + 1 : row->path;
}

static bool is_below(const struct schema_row *row, const struct schema_row *section)
{
    const size_t length = strlen(section->path);
    return strncmp(row->path, section->path, length) == 0 && row->path[length] == '.';
}

/* The first row behind `row` that is not below it. */
static const struct schema_row *row_behind(const struct schema *schema,
                                           const struct schema_row *row)
{
    const struct schema_row *other = row + 1;
    while (other < schema->rows + schema->count && is_below(other, row)) {
        other++;
    }
    return other;
}

bool schema_has_inner(const struct schema *schema, const struct schema_row *row)
{
    return row + 1 < schema->rows + schema->count && is_below(row + 1, row);
}

/* ---- values ---- */

static bool read_choice(struct doc_map *map, const struct schema_row *row, uint32_t *choice)
{
    const char *names[NAMES_MAX];
    uint32_t indices[NAMES_MAX];
    uint32_t count = 0;
    uint32_t index = 0;
    for (uint32_t i = 0; i < row->name_count; i++) {
        if (row->among == 0 || (row->among & 1u << i) != 0) {
            names[count] = row->names[i];
            indices[count++] = i;
        }
    }
    if (!doc_get_choice(map, schema_key(row), names, count, &index)) {
        return false;
    }
    *choice = indices[index];
    return true;
}

/* One of the row's names as a bit; 0 when it is none. */
static uint32_t name_bit(const struct doc_node *node, const struct schema_row *row)
{
    for (uint32_t i = 0; node->kind == DOC_SCALAR && i < row->name_count; i++) {
        if (strcmp(node->text, row->names[i]) == 0) {
            return 1u << i;
        }
    }
    return 0;
}

/* "a, b, c" */
static const char *listed(struct arena *arena, const struct schema_row *row)
{
    const char *text = row->names[0];
    for (uint32_t i = 1; i < row->name_count; i++) {
        text = arena_printf(arena, "%s, %s", text, row->names[i]);
    }
    return text;
}

static bool add_name(const struct doc_node *entry, const struct schema_row *row, uint32_t *bits,
                     struct arena *arena, struct diag *diag)
{
    const uint32_t bit = name_bit(entry, row);
    if (bit == 0) {
        const bool is_word = entry->kind == DOC_SCALAR;
        const char *nearest =
            is_word ? diag_nearest(entry->text, row->names, row->name_count) : NULL;
        diag_add(diag, DIAG_INPUT, &entry->place, "%s has no '%s'", schema_key(row),
                 is_word ? entry->text : "list");
        diag_help(diag, "%sit may hold %s",
                  nearest != NULL ? arena_printf(arena, "did you mean '%s'? ", nearest) : "",
                  listed(arena, row));
        return false;
    }
    if ((*bits & bit) != 0) {
        return diag_add(diag, DIAG_INPUT, &entry->place, "'%s' is listed twice", entry->text);
    }
    *bits |= bit;
    return true;
}

/* A list of names, each once. */
static bool read_names(const struct schema_reader *reader, struct doc_map *map,
                       const struct schema_row *row, uint32_t *mask)
{
    struct arena *arena = reader->assumptions->arena;
    const struct doc_node *list = doc_take(map, schema_key(row));
    uint32_t bits = 0;
    if (list->kind != DOC_SEQUENCE || list->child == NULL) {
        diag_add(map->diag, DIAG_INPUT, &list->place, "%s must be a list of names",
                 schema_key(row));
        diag_help(map->diag, "some of [%s]", listed(arena, row));
        map->is_bad = true;
        return false;
    }
    for (const struct doc_node *entry = list->child; entry != NULL; entry = entry->next) {
        if (!add_name(entry, row, &bits, arena, map->diag)) {
            map->is_bad = true;
            return false;
        }
    }
    *mask = bits;
    return true;
}

/* The key of `map`, which is there. */
static bool read_value(const struct schema_reader *reader, struct doc_map *map,
                       const struct schema_row *row)
{
    const char *key = schema_key(row);
    union {
        int64_t count;
        const struct doc_node *node;
    } nowhere = {0};
    void *member =
        row->offset != SCHEMA_NOWHERE ? (char *)reader->object + row->offset : (char *)&nowhere;
    switch (row->kind) {
    case SCHEMA_COUNT:
        return doc_get_count(map, key, (int64_t)row->least, (int64_t)row->most, member);
    case SCHEMA_QUANTITY:
        return doc_get_quantity(map, key, row->dimension, row->least, row->most, member);
    case SCHEMA_BOOL:
        return doc_get_bool(map, key, member);
    case SCHEMA_TEXT:
        return doc_get_text(map, key, member);
    case SCHEMA_CHOICE:
        return read_choice(map, row, member);
    case SCHEMA_NAMES:
        return read_names(reader, map, row, member);
    case SCHEMA_NODE:
        *(const struct doc_node **)member = doc_take(map, key);
        return true;
    case SCHEMA_SECTION:
    case SCHEMA_SWITCH:
    case SCHEMA_EACH:
    case SCHEMA_CUSTOM:
    case SCHEMA_KIND_COUNT_:
    default:
        sim_assert(false);
        return false;
    }
}

/* ---- defaults ---- */

static void copy_member(const struct schema_reader *reader, const struct schema_row *row)
{
    static const size_t sizes[SCHEMA_KIND_COUNT_] = {
        [SCHEMA_COUNT] = sizeof(int64_t),   [SCHEMA_QUANTITY] = sizeof(double),
        [SCHEMA_BOOL] = sizeof(bool),       [SCHEMA_TEXT] = sizeof(const char *),
        [SCHEMA_CHOICE] = sizeof(uint32_t), [SCHEMA_NAMES] = sizeof(uint32_t),
    };
    char *object = reader->object;
    sim_assert(sizes[row->kind] > 0);
    memcpy(object + row->offset, object + (row->as - 1), sizes[row->kind]);
}

/* The default's text takes the way of a user's. */
static void read_standard(const struct schema_reader *reader, const struct schema_row *row)
{
    const char *text = row->standard;
    struct doc_node scalar = {.kind = DOC_SCALAR, .text = text};
    struct doc_node *value = &scalar;
    struct doc_map map;
    if (row->kind == SCHEMA_NAMES) {
        value =
            doc_parse(reader->assumptions->arena, row->path, text, strlen(text), reader->map->diag);
        sim_assert(value != NULL);
    }
    value->key = schema_key(row);
    const struct doc_node mapping = {.kind = DOC_MAPPING, .child = value};
    const bool is_open = doc_map_open(&map, &mapping, reader->map->diag);
    const bool is_good = is_open && read_value(reader, &map, row);
    sim_assert(is_good);
}

/* The name that a constant has in a resolved scenario and for --set. */
static const char *full_name(const struct schema_reader *reader, const struct schema_row *row)
{
    return arena_printf(reader->assumptions->arena, "%s%s", reader->path, schema_key(row));
}

static void put_default(const struct schema_reader *reader, const struct schema_row *row)
{
    if (row->as > 0) {
        copy_member(reader, row);
    } else if (row->standard != NULL && row->kind != SCHEMA_NODE) {
        read_standard(reader, row);
    }
    if (row->is_assumed) {
        assumptions_add(
            reader->assumptions,
            &(struct assumption){.name = full_name(reader, row),
                                 .value = row->standard,
                                 .reason = row->source != NULL ? row->source : DEFAULT_REASON});
    }
}

/* ---- rows ---- */

static bool is_missed(const struct schema_reader *reader, const struct schema_row *row)
{
    return row->is_required && schema_applies(row, reader->object);
}

/* What it means, without the full stop, and how it is written. */
static void help_missed(const struct schema_row *row, struct diag *diag)
{
    const int length = (int)strlen(row->help) - 1;
    if (row->example != NULL) {
        diag_help(diag, "%.*s; write it like %s", length, row->help, row->example);
    } else {
        diag_help(diag, "%s: %.*s", schema_key(row), length, row->help);
    }
}

bool schema_require(const struct schema_reader *reader, const struct schema_row *row)
{
    struct diag *diag = reader->map->diag;
    const uint32_t before = diag_error_count(diag);
    const bool is_there = doc_require(reader->map, schema_key(row));
    if (diag_error_count(diag) > before) {
        help_missed(row, diag);
    }
    return is_there;
}

void schema_miss(const struct schema_row *row, const struct place *place, struct diag *diag)
{
    diag_add(diag, DIAG_INPUT, place, "missing key '%s'", schema_key(row));
    help_missed(row, diag);
}

/* What is required in a section that is absent was reported with the section. */
bool schema_read_key(const struct schema_reader *reader, const struct schema_row *row)
{
    if (doc_take(reader->map, schema_key(row)) != NULL) {
        return read_value(reader, reader->map, row);
    }
    if (is_missed(reader, row) && reader->map->node != NULL) {
        return schema_require(reader, row);
    }
    put_default(reader, row);
    return false;
}

/* A section that is being read. */
struct level {
    const struct schema_row *row;
    const struct schema_row *behind; /* the first row that is not below it */
    struct schema_reader around;     /* what reads the mapping that holds it */
    struct doc_map section;
};

/* Opens the mapping under `key`, which may be absent. From here on the reader works in it. */
static bool open_section(struct schema_reader *reader, const char *key, struct level *level)
{
    struct doc_map *map = level->around.map;
    const struct doc_node *node = doc_take(map, key);
    level->section = (struct doc_map){.diag = map->diag};
    if (node != NULL && !doc_map_open(&level->section, node, map->diag)) {
        map->is_bad = true;
    }
    const char *path = arena_printf(reader->assumptions->arena, "%s%s", reader->path, key);
    if (level->section.node != NULL) {
        assumptions_take(reader->assumptions, &level->section, path);
    }
    reader->path = arena_printf(reader->assumptions->arena, "%s.", path);
    reader->map = &level->section;
    return level->section.node != NULL;
}

/* Opens the first mapping that is written under one of the row's names from `index` on. */
static bool enter_next(struct schema_reader *reader, struct level *level, uint32_t index)
{
    const struct schema_row *row = level->row;
    for (; index < row->name_count; index++) {
        *reader = level->around;
        if (doc_take(reader->map, row->names[index]) == NULL) {
            continue;
        }
        reader->index = index;
        reader->object = (char *)reader->object + index * row->stride;
        if (open_section(reader, row->names[index], level)) {
            return true;
        }
    }
    *reader = level->around;
    return false;
}

/* Opens the section of a row that has others below it. False when they are not to be read: it is
 * a plain word, or switched off, or none of many names. */
static bool enter(struct schema_reader *reader, const struct schema_row *row, struct level *level)
{
    *level = (struct level){row, row_behind(reader->schema, row), *reader, {.diag = NULL}};
    if (row->kind == SCHEMA_EACH) {
        return enter_next(reader, level, 0);
    }
    const struct doc_node *node = doc_take(reader->map, schema_key(row));
    if (row->kind == SCHEMA_CHOICE && (node == NULL || node->kind == DOC_SCALAR)) {
        schema_read_key(reader, row);
        return false;
    }
    if (row->kind == SCHEMA_SWITCH && (node == NULL || doc_is(node, row->standard))) {
        return false;
    }
    if (node == NULL && is_missed(reader, row)) {
        (void)schema_require(reader, row);
    }
    const bool is_open = open_section(reader, schema_key(row), level);
    const struct doc_node *written = is_open ? node : level->around.map->node;
    if (row->kind == SCHEMA_SWITCH) {
        *(bool *)((char *)reader->object + row->offset) = is_open;
    } else if (row->kind == SCHEMA_SECTION && row->offset != SCHEMA_NOWHERE && written != NULL) {
        *(struct place *)((char *)reader->object + row->offset) = written->place;
    }
    if (!is_open && row->kind == SCHEMA_SWITCH) {
        *reader = level->around;
        return false;
    }
    return true;
}

/* True when the key means nothing beside those before it; where it is written, that is an error. */
static bool is_refused(const struct schema_reader *reader, const struct schema_row *row)
{
    struct doc_map *map = reader->map;
    const struct schema_refusal *refusal =
        row->refuses != NULL ? row->refuses(reader->object) : NULL;
    const struct doc_node *node = refusal != NULL ? doc_take(map, schema_key(row)) : NULL;
    if (node != NULL) {
        diag_add(map->diag, DIAG_INPUT, &node->place, "%s %s", schema_key(row), refusal->why);
        diag_help(map->diag, "%s", refusal->help);
        map->is_bad = true;
    }
    return refusal != NULL;
}

/* Closes it. What its keys say together is checked when all of them are good. */
static void leave(const struct schema_reader *reader, struct level *level)
{
    schema_check_function *check = level->row->check;
    struct doc_map *section = &level->section;
    const bool is_good = section->node != NULL ? doc_finish(section) : !section->is_bad;
    if (!is_good || (check != NULL && !check(reader, level->row))) {
        level->around.map->is_bad = true;
    }
}

/* Into the next of many names; false, and out of it, when there is none. */
static bool goes_on(struct schema_reader *reader, struct level *level)
{
    if (level->row->kind == SCHEMA_EACH && enter_next(reader, level, reader->index + 1)) {
        return true;
    }
    *reader = level->around;
    return false;
}

/* The key of a row that names its reader, or the keys of all its names. */
static void read_row(const struct schema_reader *reader, const struct schema_row *row)
{
    struct schema_reader own = *reader;
    const uint32_t count = row->kind == SCHEMA_EACH ? row->name_count : 1;
    for (own.index = 0; own.index < count; own.index++) {
        row->read(&own, row);
    }
}

void schema_read(const struct schema *schema, struct doc_map *map, void *object,
                 struct assumptions *assumptions)
{
    struct schema_reader reader = {schema, map, object, assumptions, schema->prefix, 0};
    const struct schema_row *behind = schema->rows + schema->count;
    struct level levels[DEPTH_MAX];
    uint32_t depth = 0;
    for (const struct schema_row *row = schema->rows; row < behind || depth > 0;) {
        if (depth > 0 && row == levels[depth - 1].behind) {
            leave(&reader, &levels[depth - 1]);
            if (goes_on(&reader, &levels[depth - 1])) {
                row = levels[depth - 1].row + 1;
            } else {
                depth--;
            }
            continue;
        }
        sim_assert(depth < DEPTH_MAX);
        if (is_refused(&reader, row)) {
            row = row_behind(schema, row);
            continue;
        }
        const bool has_inner = row->read == NULL && schema_has_inner(schema, row);
        if (has_inner && enter(&reader, row, &levels[depth])) {
            depth++;
            row++;
            continue;
        }
        if (row->read != NULL) {
            read_row(&reader, row);
        } else if (!has_inner) {
            schema_read_key(&reader, row);
        }
        row = row_behind(schema, row);
    }
}

void schema_read_negated(const struct schema_reader *reader, const struct schema_row *row)
{
    bool value = true;
    doc_get_bool(reader->map, schema_key(row), &value);
    *(bool *)((char *)reader->object + row->offset) = !value;
}

const char *schema_text_of_true(struct arena *arena, const void *object)
{
    (void)arena;
    (void)object;
    return "true";
}

bool schema_read_document(const struct schema *schema, const struct doc_node *node, void *object,
                          struct assumptions *assumptions, struct diag *diag)
{
    struct doc_map map;
    if (!doc_map_open(&map, node, diag)) {
        return false;
    }
    assumptions_take(assumptions, &map, schema->name);
    schema_read(schema, &map, object, assumptions);
    return doc_finish(&map);
}
