/* What a schema tells without reading a file: a row by its path, the nearest of a mistyped one,
 * a member's value as YAML, and whether the table itself is sound.
 */
#include "input/schema/schema.h"

#include "base/arena.h"
#include "base/check.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { ROWS_MAX = 256 }; /* of one schema */

/* ---- rows ---- */

/* The row whose path is the first `length` bytes of `path`. */
static const struct schema_row *row_at(const struct schema *schema, const char *path, size_t length)
{
    for (uint32_t i = 0; length > 0 && i < schema->count; i++) {
        const char *own = schema->rows[i].path;
        if (own[0] == path[0] && strncmp(own, path, length) == 0 && own[length] == '\0') {
            return &schema->rows[i];
        }
    }
    return NULL;
}

/* The row above `row`, or itself, whose path is the first `length` bytes of its path. A section's
 * row stands before those of its keys, and mostly close to them.
 */
static const struct schema_row *row_above(const struct schema *schema, const struct schema_row *row,
                                          size_t length)
{
    for (const struct schema_row *other = row + 1; length > 0 && other-- > schema->rows;) {
        if (strncmp(other->path, row->path, length) == 0 && other->path[length] == '\0') {
            return other;
        }
    }
    return NULL;
}

static bool has_name(const struct schema_row *row, const char *name, size_t length)
{
    for (uint32_t i = 0; i < row->name_count; i++) {
        if (strncmp(row->names[i], name, length) == 0 && row->names[i][length] == '\0') {
            return true;
        }
    }
    return false;
}

/* Word by word the path is the row's, or has one of many names. */
static bool stands_for(const struct schema *schema, const struct schema_row *row, const char *path)
{
    sim_assert(row != NULL);
    const char *own = row->path;
    for (;;) {
        const size_t length = strcspn(own, ".");
        const size_t other = strcspn(path, ".");
        const bool is_same = length == other && strncmp(own, path, length) == 0;
        const struct schema_row *at =
            is_same ? NULL : row_above(schema, row, (size_t)(own - row->path) + length);
        const bool is_name = at != NULL && at->kind == SCHEMA_EACH && has_name(at, path, other);
        if ((!is_same && !is_name) || own[length] == '\0' || path[other] == '\0') {
            return (is_same || is_name) && own[length] == path[other];
        }
        own += length + 1;
        path += other + 1;
    }
}

const struct schema_row *schema_find(const struct schema *schema, const char *path)
{
    const struct schema_row *row = row_at(schema, path, strlen(path));
    bool has_many = false; /* a row up to here: others have their own path alone */
    for (uint32_t i = 0; row == NULL && i < schema->count; i++) {
        has_many = has_many || schema->rows[i].kind == SCHEMA_EACH;
        row = has_many && stands_for(schema, &schema->rows[i], path) ? &schema->rows[i] : NULL;
    }
    return row;
}

bool schema_is_top(const struct schema_row *row)
{
    return strchr(row->path, '.') == NULL;
}

const struct schema_row *schema_parent(const struct schema *schema, const struct schema_row *row)
{
    const char *dot = strrchr(row->path, '.');
    return row_above(schema, row, dot != NULL ? (size_t)(dot - row->path) : 0);
}

enum schema_moves schema_moves_of(const struct schema *schema, const struct schema_row *row)
{
    while (row != NULL && row->moves == SCHEMA_MOVES_AS_ABOVE) {
        row = schema_parent(schema, row);
    }
    return row != NULL ? row->moves : SCHEMA_MOVES_STEPS;
}

/* The path whose key is `key`; with several, the first. */
static const char *path_of_key(const struct schema *schema, const char *key)
{
    for (uint32_t i = 0; key != NULL && i < schema->count; i++) {
        if (strcmp(schema_key(&schema->rows[i]), key) == 0) {
            return schema->rows[i].path;
        }
    }
    return NULL;
}

const char *schema_nearest(const struct schema *schema, const char *path)
{
    const char *names[ROWS_MAX];
    const char *dot = strrchr(path, '.');
    const char *key = dot != NULL ? dot + 1 : path;
    const struct schema_row *same = schema_find(schema, path);
    const char *elsewhere = same != NULL ? same->path : path_of_key(schema, key);
    sim_assert(schema->count <= ROWS_MAX);
    for (uint32_t i = 0; elsewhere == NULL && i < schema->count; i++) {
        names[i] = schema->rows[i].path;
    }
    const char *nearest = elsewhere != NULL ? elsewhere : diag_nearest(path, names, schema->count);
    for (uint32_t i = 0; nearest == NULL && i < schema->count; i++) {
        names[i] = schema_key(&schema->rows[i]);
    }
    return nearest != NULL ? nearest : path_of_key(schema, diag_nearest(key, names, schema->count));
}

bool schema_applies(const struct schema_row *row, const void *object)
{
    return (row->applies == NULL || row->applies(object)) &&
           (row->refuses == NULL || row->refuses(object) == NULL);
}

/* ---- values as YAML ---- */

/* The fewest digits that read back as the same double; 17 always do. */
static const char *quantity_text(struct arena *arena, double value, enum dimension dimension)
{
    char text[64];
    char message[128];
    for (int digits = 1; digits <= 17; digits++) {
        double back = 0;
        units_format(value, dimension, digits, text, sizeof text);
        if (units_parse(text, dimension, &back, message, sizeof message) && !(back < value) &&
            !(back > value)) {
            break;
        }
    }
    return arena_strdup(arena, text);
}

static const char *plain_text(struct arena *arena, const char *text)
{
    const struct doc_node node = {.kind = DOC_SCALAR, .text = text};
    return doc_to_text(arena, &node);
}

/* "[a, b]" */
static const char *names_text(struct arena *arena, const struct schema_row *row, uint32_t bits)
{
    const char *text = "";
    for (uint32_t i = 0; i < row->name_count; i++) {
        if ((bits & 1u << i) != 0) {
            text = arena_printf(arena, "%s%s%s", text, text[0] != '\0' ? ", " : "", row->names[i]);
        }
    }
    return arena_printf(arena, "[%s]", text);
}

const char *schema_value_text(struct arena *arena, const struct schema_row *row, const void *object)
{
    if (row->text != NULL) {
        return row->text(arena, object);
    }
    if (row->offset == SCHEMA_NOWHERE) {
        return row->standard;
    }
    const void *member = (const char *)object + row->offset;
    switch (row->kind) {
    case SCHEMA_COUNT: {
        const int64_t count = *(const int64_t *)member;
        const bool is_absent = count == 0 && (row->is_optional || row->least > 0);
        return is_absent ? NULL : arena_printf(arena, "%" PRId64, count);
    }
    case SCHEMA_QUANTITY: {
        const double value = *(const double *)member;
        return row->is_optional && !(value > 0) ? NULL
                                                : quantity_text(arena, value, row->dimension);
    }
    case SCHEMA_TEXT: {
        const char *text = *(const char *const *)member;
        const bool is_absent = row->is_optional && (text == NULL || text[0] == '\0');
        return is_absent ? NULL : plain_text(arena, text);
    }
    case SCHEMA_BOOL:
        return *(const bool *)member ? "true" : "false";
    case SCHEMA_CHOICE:
        return row->names[*(const uint32_t *)member];
    case SCHEMA_NAMES: {
        const uint32_t bits = *(const uint32_t *)member;
        return row->is_optional && bits == 0 ? NULL : names_text(arena, row, bits);
    }
    case SCHEMA_SECTION:
    case SCHEMA_SWITCH:
    case SCHEMA_EACH:
    case SCHEMA_NODE:
    case SCHEMA_CUSTOM:
    case SCHEMA_KIND_COUNT_:
    default:
        return row->standard;
    }
}

/* Bytes of a member that is compared as it lies in memory; 0: it is none of these. */
static size_t plain_bytes(const struct schema_row *row)
{
    static const size_t sizes[SCHEMA_KIND_COUNT_] = {
        [SCHEMA_COUNT] = sizeof(int64_t),  [SCHEMA_QUANTITY] = sizeof(double),
        [SCHEMA_BOOL] = sizeof(bool),      [SCHEMA_CHOICE] = sizeof(uint32_t),
        [SCHEMA_NAMES] = sizeof(uint32_t),
    };
    return sizes[row->kind];
}

bool schema_is_same_value(const struct schema_row *row, const void *object, const void *other)
{
    if (row->text != NULL || row->offset == SCHEMA_NOWHERE) {
        return false;
    }
    const void *member = (const char *)object + row->offset;
    const void *of_other = (const char *)other + row->offset;
    if (row->kind == SCHEMA_TEXT) {
        const char *text = *(const char *const *)member;
        const char *other_text = *(const char *const *)of_other;
        return text == other_text || strcmp(text, other_text) == 0;
    }
    const size_t size_bytes = plain_bytes(row);
    return size_bytes > 0 && memcmp(member, of_other, size_bytes) == 0;
}

bool schema_is_other_quantity(const struct schema_row *row, const void *object, const void *other)
{
    if (row->kind != SCHEMA_QUANTITY || row->text != NULL || row->offset == SCHEMA_NOWHERE) {
        return false;
    }
    const double value = *(const double *)(const void *)((const char *)object + row->offset);
    const double another = *(const double *)(const void *)((const char *)other + row->offset);
    const bool have_texts = !row->is_optional || (value > 0 && another > 0);
    return have_texts && (value < another || value > another);
}

/* ---- whether a table is sound ---- */

static bool is_sentence(const char *text)
{
    const size_t length = text != NULL ? strlen(text) : 0;
    const bool begins =
        length > 0 && (isupper((unsigned char)text[0]) || isdigit((unsigned char)text[0]));
    return begins && length > 8 && text[length - 1] == '.';
}

/* "a.b" follows "a" or another "a...": the rows of a section stand together behind it. */
static bool is_in_place(const struct schema *schema, const struct schema_row *row)
{
    const struct schema_row *parent = schema_parent(schema, row);
    if (parent == NULL) {
        return schema_is_top(row);
    }
    const size_t length = strlen(parent->path);
    bool is_beside = true;
    for (const struct schema_row *other = parent + 1; other < row; other++) {
        is_beside = is_beside && strncmp(other->path, row->path, length + 1) == 0;
    }
    return is_beside;
}

/* Whether the default lies within the bounds. */
static bool has_good_standard(const struct schema_row *row)
{
    double value = 0;
    char message[320];
    const bool is_number = row->kind == SCHEMA_COUNT || row->kind == SCHEMA_QUANTITY;
    const enum dimension dimension = row->kind == SCHEMA_COUNT ? DIM_COUNT : row->dimension;
    if (!is_number || row->standard == NULL || row->read != NULL) {
        return true;
    }
    return units_parse(row->standard, dimension, &value, message, sizeof message) &&
           value >= row->least && value <= row->most;
}

/* Of what its value may be. */
static const char *fault_of_values(const struct schema_row *row)
{
    const bool is_number = row->kind == SCHEMA_COUNT || row->kind == SCHEMA_QUANTITY;
    if (is_number && !(row->least < row->most)) {
        return "its bounds are none";
    }
    if (row->kind == SCHEMA_COUNT && !(fabs(row->least) < 0x1p53 && fabs(row->most) < 0x1p53)) {
        return "its bounds are no whole numbers that a double holds";
    }
    if (!has_good_standard(row)) {
        return "its default is not within its bounds";
    }
    if (row->axis.title != NULL && !(row->axis.factor > 0)) {
        return "its axis has no factor";
    }
    return row->is_assumed && row->standard == NULL ? "it assumes no value" : NULL;
}

/* Of what its kind needs beside. */
static const char *fault_of_kind(const struct schema *schema, const struct schema_row *row)
{
    const bool is_each = row->kind == SCHEMA_EACH;
    const bool is_named = row->kind == SCHEMA_CHOICE || row->kind == SCHEMA_NAMES || is_each;
    const bool is_section = row->kind == SCHEMA_SECTION || row->kind == SCHEMA_SWITCH || is_each;
    if (is_named && (row->names == NULL || row->name_count == 0 || row->name_count > 32)) {
        return "it has no names, or too many";
    }
    if (is_section && row->read == NULL && !schema_has_inner(schema, row)) {
        return "it is a section without keys";
    }
    return row->kind == SCHEMA_CUSTOM && row->read == NULL ? "nothing reads it" : NULL;
}

static const char *fault_of_row(const struct schema *schema, const struct schema_row *row)
{
    if (!is_sentence(row->help)) {
        return "its help is no sentence";
    }
    if (schema_find(schema, row->path) != row) {
        return "there is a row of this path before it";
    }
    if (!is_in_place(schema, row)) {
        return "it does not stand behind its section";
    }
    const char *fault = fault_of_values(row);
    return fault != NULL ? fault : fault_of_kind(schema, row);
}

const char *schema_fault(struct arena *arena, const struct schema *schema)
{
    for (uint32_t i = 0; i < schema->count; i++) {
        const char *fault = fault_of_row(schema, &schema->rows[i]);
        if (fault != NULL) {
            return arena_printf(arena, "%s: %s%s: %s", schema->name, schema->prefix,
                                schema->rows[i].path, fault);
        }
    }
    return NULL;
}
