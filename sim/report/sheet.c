/* The tree, and how it is walked; the text has a printer of its own (sheet_text.c). The
 * cost is a node for each value.
 */
#include "report/sheet.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "report/sheet_tree.h"
#include "report/printers/sized.h"

#include <string.h>

/* ---- building ------------------------------------------------------------------------ */

static struct sheet *new_object(struct arena *arena, const char *key)
{
    struct sheet *object = arena_alloc(arena, sizeof *object);
    *object = (struct sheet){.kind = SHEET_OBJECT, .key = key, .arena = arena};
    return object;
}

struct sheet *sheet_new(struct arena *arena, const char *schema)
{
    struct sheet *sheet = new_object(arena, NULL);
    if (schema != NULL) {
        sheet_text(sheet, "schema", schema);
    }
    return sheet;
}

struct arena *sheet_arena(const struct sheet *sheet)
{
    return sheet->arena;
}

static void append(struct sheet *in, struct sheet *node)
{
    if (in->last == NULL) {
        in->first = node;
    } else {
        in->last->next = node;
    }
    in->last = node;
}

/* "memory.fits": the object "memory", which is begun unless the member before was in it, too. */
static struct sheet *nest_of(struct sheet *in, const char **key)
{
    const char *dot = strchr(*key, '.');
    if (dot == NULL) {
        return in;
    }
    const size_t length = (size_t)(dot - *key);
    const struct sheet *last = in->last;
    const bool is_open = last != NULL && last->kind == SHEET_OBJECT && last->key != NULL &&
                         strlen(last->key) == length && strncmp(last->key, *key, length) == 0;
    if (!is_open) {
        append(in, new_object(in->arena, arena_strndup(in->arena, *key, length)));
    }
    *key = dot + 1;
    return in->last;
}

static struct sheet *next_row(struct sheet *table)
{
    if (table->last == NULL || table->filled == table->field_count) {
        struct sheet *row = new_object(table->arena, NULL);
        row->cells = arena_array(table->arena, table->field_count, sizeof(struct sheet *));
        append(table, row);
        table->filled = 0;
    }
    return table->last;
}

static void put_cell(struct sheet *table, struct sheet *node)
{
    struct sheet *row = next_row(table);
    const uint32_t column = table->filled++;
    row->cells[column] = node;
    const char *key = table->fields[column].key;
    if (key != NULL && node->kind != SHEET_NOTHING) {
        struct sheet *nest = nest_of(row, &key);
        node->key = key;
        append(nest, node);
    }
}

static struct sheet *add(struct sheet *in, const char *key, const struct sheet *value)
{
    struct sheet *node = arena_alloc(in->arena, sizeof *node);
    *node = *value;
    node->arena = in->arena;
    sim_assert(sheet_holds_others(in));
    if (in->kind == SHEET_TABLE) {
        sim_assert(key == NULL);
        put_cell(in, node);
    } else {
        node->key = key;
        append(in, node);
    }
    return node;
}

static struct sheet *add_value(struct sheet *in, const char *key, struct field_value value,
                               const char *shown)
{
    const char *copy = shown != NULL ? units_plain_zeros(arena_strdup(in->arena, shown)) : NULL;
    return add(in, key, &(struct sheet){.kind = SHEET_VALUE, .value = value, .shown = copy});
}

void sheet_text(struct sheet *in, const char *key, const char *text)
{
    const enum value_kind kind = text != NULL ? VALUE_TEXT : VALUE_NULL;
    add_value(in, key, (struct field_value){.kind = kind, .text = text}, NULL);
}

void sheet_text_as(struct sheet *in, const char *key, const char *text, const char *shown)
{
    add_value(in, key, (struct field_value){.kind = VALUE_TEXT, .text = text}, shown);
}

void sheet_texts(struct sheet *in, const char *key, const char *const *texts, size_t count)
{
    struct sheet *array = sheet_array(in, key);
    for (size_t i = 0; i < count; i++) {
        sheet_text(array, NULL, texts[i]);
    }
}

const char *sheet_shortened(struct arena *arena, const char *text, size_t width)
{
    size_t characters = 0;
    for (const char *letter = text; *letter != '\0'; letter++) {
        characters += ((unsigned char)*letter & 0xc0) != 0x80;
        if (characters > width) {
            return arena_printf(arena, "%.*s…", (int)(letter - text), text);
        }
    }
    return text;
}

const char *sheet_joined(struct arena *arena, const char *const *texts, size_t count)
{
    const char *list = count > 0 ? texts[0] : "nothing";
    for (size_t i = 1; i < count; i++) {
        list = arena_printf(arena, "%s, %s", list, texts[i]);
    }
    return list;
}

void sheet_number(struct sheet *in, const char *key, double number)
{
    sheet_number_as(in, key, number, NULL);
}

void sheet_number_as(struct sheet *in, const char *key, double number, const char *shown)
{
    const enum value_kind kind = is_absent(number) ? VALUE_NULL : VALUE_REAL;
    add_value(in, key, (struct field_value){.kind = kind, .real = number},
              kind == VALUE_NULL ? NULL : shown);
}

void sheet_integer(struct sheet *in, const char *key, int64_t number)
{
    add_value(in, key, (struct field_value){.kind = VALUE_INTEGER, .integer = number}, NULL);
}

void sheet_bool(struct sheet *in, const char *key, bool is_true)
{
    add_value(in, key, (struct field_value){.kind = VALUE_BOOL, .integer = is_true}, NULL);
}

void sheet_text_of(struct sheet *in, const char *key, sheet_make *make, const void *record)
{
    add(in, key,
        &(struct sheet){
            .kind = SHEET_VALUE, .value = {.kind = VALUE_TEXT}, .make = make, .record = record});
}

void sheet_number_of(struct sheet *in, const char *key, double number, sheet_make *show,
                     const void *record)
{
    sim_assert(!is_absent(number));
    add(in, key,
        &(struct sheet){.kind = SHEET_VALUE,
                        .value = {.kind = VALUE_REAL, .real = number},
                        .make = show,
                        .record = record});
}

void sheet_range(struct sheet *table, double low, double high, const char *shown)
{
    const bool exists = !is_absent(low) && !is_absent(high) && shown != NULL;
    const char *copy = exists ? units_plain_zeros(arena_strdup(table->arena, shown)) : NULL;
    add(table, NULL,
        &(struct sheet){.kind = SHEET_VALUE,
                        .value = {.kind = exists ? VALUE_TEXT : VALUE_NULL, .text = copy},
                        .is_range = exists,
                        .low = low,
                        .high = high});
}

void sheet_null_as(struct sheet *in, const char *key, const char *shown)
{
    add_value(in, key, (struct field_value){.kind = VALUE_NULL}, shown);
}

void sheet_nothing(struct sheet *table)
{
    add(table, NULL, &(struct sheet){.kind = SHEET_NOTHING, .shown = ""});
}

struct sheet *sheet_object(struct sheet *in, const char *key)
{
    return add(in, key, &(struct sheet){.kind = SHEET_OBJECT});
}

struct sheet *sheet_array(struct sheet *in, const char *key)
{
    return add(in, key, &(struct sheet){.kind = SHEET_ARRAY});
}

void sheet_say(struct sheet *in, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = units_plain_zeros(arena_vprintf(in->arena, format, arguments));
    va_end(arguments);
    if (in->kind == SHEET_TABLE) {
        sheet_text(in, NULL, text);
    } else {
        add(in, NULL, &(struct sheet){.kind = SHEET_SAID, .shown = text});
    }
}

static void add_part(struct sheet *sheet, const struct sheet *part)
{
    sim_assert(sheet->kind == SHEET_OBJECT);
    add(sheet, NULL, part);
}

void sheet_title(struct sheet *sheet, const char *text)
{
    const char *own = arena_strdup(sheet->arena, text);
    add_part(sheet, &(struct sheet){.kind = SHEET_SAID, .role = ROLE_TITLE, .shown = own});
}

void sheet_heading(struct sheet *sheet, const char *text)
{
    const char *own = arena_strdup(sheet->arena, text);
    add_part(sheet, &(struct sheet){.kind = SHEET_SAID, .role = ROLE_HEADING, .shown = own});
}

void sheet_item(struct sheet *sheet, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = units_plain_zeros(arena_vprintf(sheet->arena, format, arguments));
    va_end(arguments);
    add_part(sheet, &(struct sheet){.kind = SHEET_SAID, .role = ROLE_ITEM, .shown = text});
}

void sheet_verbatim(struct sheet *sheet, const char *title, const char *text)
{
    add_part(sheet,
             &(struct sheet){.kind = SHEET_SAID,
                             .role = ROLE_VERBATIM,
                             .title = title != NULL ? arena_strdup(sheet->arena, title) : NULL,
                             .shown = arena_strdup(sheet->arena, text)});
}

void sheet_chart(struct sheet *sheet, const struct chart *chart)
{
    add_part(sheet, &(struct sheet){.kind = SHEET_SAID, .role = ROLE_CHART, .chart = chart});
}

void sheet_answer(struct sheet *sheet, const char *text)
{
    sheet_text(sheet, "answer", text != NULL ? arena_strdup(sheet->arena, text) : NULL);
    if (text != NULL) {
        add(sheet, NULL,
            &(struct sheet){.kind = SHEET_SAID,
                            .role = ROLE_ANSWER,
                            .shown = units_plain_zeros(arena_printf(sheet->arena, "%s\n", text))});
    }
}

/* ---- structs ----------------------------------------------------------------------------- */

static void add_member(struct sheet *in, const char *key, const struct field *field,
                       const void *record)
{
    if (field->add != NULL) {
        field->add(in, key, record);
    } else {
        add_value(in, key, field_value(field, record), NULL);
    }
}

void sheet_members(struct sheet *in, const struct field *fields, uint32_t count, const void *record)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *key = fields[i].key;
        if (key != NULL) {
            struct sheet *nest = nest_of(in, &key);
            add_member(nest, key, &fields[i], record);
        }
    }
}

void sheet_list(struct sheet *in, const char *key, const struct field *fields, uint32_t field_count,
                const void *records, size_t count, size_t size)
{
    struct sheet *array = sheet_array(in, key);
    for (size_t i = 0; i < count; i++) {
        sheet_members(sheet_object(array, NULL), fields, field_count,
                      (const char *)records + i * size);
    }
}

struct sheet *sheet_table(struct sheet *in, const char *key, const struct field *fields,
                          uint32_t count)
{
    struct field *copy = arena_array(in->arena, count, sizeof *copy);
    memcpy(copy, fields, count * sizeof *copy);
    return add(in, key, &(struct sheet){.kind = SHEET_TABLE, .fields = copy, .field_count = count});
}

void sheet_row(struct sheet *table, const void *record)
{
    for (uint32_t i = 0; i < table->field_count; i++) {
        add_member(table, NULL, &table->fields[i], record);
    }
}

void sheet_rows(struct sheet *table, const void *records, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        sheet_row(table, (const char *)records + i * size);
    }
}

size_t sheet_row_count(const struct sheet *table)
{
    size_t count = 0;
    for (const struct sheet *row = table->first; row != NULL; row = row->next) {
        count++;
    }
    return count;
}

void sheet_row_caption(struct sheet *table, uint32_t column, const char *caption)
{
    sim_assert(table->kind == SHEET_TABLE && table->key == NULL && column < table->field_count);
    for (uint32_t i = 0; i < table->field_count; i++) {
        if (i == column) {
            sheet_say(table, "%s", caption);
        } else {
            sheet_nothing(table);
        }
    }
    table->last->is_caption = true;
}

struct sheet sheet_sized(const struct sheet *table)
{
    struct sheet resolved = *table;
    struct field *fields = arena_array(table->arena, table->field_count + 1u, sizeof *fields);
    for (uint32_t i = 0; i < table->field_count; i++) {
        struct sized sized = {.least = 0};
        fields[i] = table->fields[i];
        for (const struct sheet *row = table->first; row != NULL && fields[i].is_sized;
             row = row->next) {
            const struct sheet *cell = row->cells[i];
            sized_meet(&sized,
                       cell != NULL && cell->value.kind == VALUE_REAL ? cell->value.real : ABSENT);
        }
        if (fields[i].is_sized && fields[i].head != NULL) {
            fields[i] = sized_field(table->arena, &sized, &table->fields[i]);
        }
    }
    resolved.fields = fields;
    return resolved;
}

void sheet_caption(struct sheet *table, const char *caption)
{
    sim_assert(table->kind == SHEET_TABLE);
    table->shown = arena_strdup(table->arena, caption);
}

/* ---- walking ------------------------------------------------------------------------------ */

bool sheet_holds_others(const struct sheet *sheet)
{
    return sheet->kind >= SHEET_OBJECT;
}

const char *sheet_text_value(const struct sheet *node)
{
    return node->make != NULL ? node->make(node->arena, node->record) : node->value.text;
}

void sheet_enter(struct sheet_walk *walk, const struct sheet *holder)
{
    sim_assert(walk->depth < JSON_DEPTH_MAX);
    walk->holders[walk->depth] = holder;
    walk->next[walk->depth++] = holder->first;
}

const struct sheet *sheet_step(struct sheet_walk *walk)
{
    const struct sheet *node = walk->next[walk->depth - 1];
    if (node != NULL) {
        walk->next[walk->depth - 1] = node->next;
    }
    return node;
}

/* ---- JSON ------------------------------------------------------------------------------- */

static void put_value(struct json *json, const struct sheet *node)
{
    const char *key = node->key;
    const struct field_value *value = &node->value;
    switch (value->kind) {
    case VALUE_NULL:
        json_null(json, key);
        break;
    case VALUE_TEXT:
        json_text(json, key, sheet_text_value(node));
        break;
    case VALUE_BOOL:
        json_bool(json, key, value->integer != 0);
        break;
    case VALUE_INTEGER:
        json_integer(json, key, value->integer);
        break;
    case VALUE_REAL:
        json_number(json, key, value->real);
        break;
    }
}

static void open_holder(struct sheet_walk *walk, struct json *json, const struct sheet *holder)
{
    if (holder->kind == SHEET_OBJECT) {
        json_object_open(json, holder->key);
    } else {
        json_array_open(json, holder->key);
    }
    sheet_enter(walk, holder);
}

static void close_holder(struct sheet_walk *walk, struct json *json)
{
    if (walk->holders[--walk->depth]->kind == SHEET_OBJECT) {
        json_object_close(json);
    } else {
        json_array_close(json);
    }
}

static void print_json(const struct sheet *sheet, FILE *out)
{
    struct sheet_walk walk = {.depth = 0};
    struct json json;
    json_begin(&json, out);
    open_holder(&walk, &json, sheet);
    while (walk.depth > 0) {
        const bool is_object = walk.holders[walk.depth - 1]->kind == SHEET_OBJECT;
        const struct sheet *node = sheet_step(&walk);
        if (node == NULL) {
            close_holder(&walk, &json);
        } else if (node->kind == SHEET_SAID || (is_object && node->key == NULL)) {
            continue; /* in the text alone */
        } else if (sheet_holds_others(node)) {
            open_holder(&walk, &json, node);
        } else {
            put_value(&json, node);
        }
    }
    json_end(&json);
}

/* ---- printing ----------------------------------------------------------------------------- */

void sheet_fit(struct sheet *sheet, size_t width)
{
    sheet->page_width = width;
}

void sheet_print(const struct sheet *sheet, bool is_json, FILE *out)
{
    if (is_json) {
        print_json(sheet, out);
    } else {
        sheet_print_text(sheet, false, out);
    }
}

void sheet_print_comments(const struct sheet *sheet, FILE *out)
{
    sheet_print_text(sheet, true, out);
}
