/* The tree, and its printers.
 *
 * A node is a value, or holds nodes, in a list; what is said is a node that JSON passes over. A
 * row of a table is an object that holds the cells with a key, as JSON wants them; beside it stand
 * all cells by column, as the text wants them. Both printers walk with a stack whose depth the
 * writer of JSON bounds. The cost is a node for each value.
 */
#include "report/sheet.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "base/json.h"
#include "base/printable.h"

#include <string.h>

#define GAP "  " /* between columns */

enum sheet_kind { SHEET_NOTHING, SHEET_VALUE, SHEET_SAID, SHEET_OBJECT, SHEET_ARRAY, SHEET_TABLE };

struct sheet {
    enum sheet_kind kind;
    struct field_value value;
    const char *key;   /* NULL in arrays, and where JSON has none */
    const char *shown; /* in the text; NULL: by the field */
    sheet_make *make;  /* makes a text's value, or what is shown of a number; or NULL */
    const void *record;
    struct sheet *next;

    struct arena *arena; /* of what holds others, as all below */
    struct sheet *first, *last;
    const struct field *fields; /* of a table, and of its rows */
    uint32_t field_count;
    uint32_t filled;      /* columns of the last row */
    struct sheet **cells; /* of a row, by column */
};

static bool holds_others(const struct sheet *sheet)
{
    return sheet->kind >= SHEET_OBJECT;
}

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
    sim_assert(holds_others(in));
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

void sheet_caption(struct sheet *table, const char *caption)
{
    sim_assert(table->kind == SHEET_TABLE);
    table->shown = arena_strdup(table->arena, caption);
}

/* ---- walking ------------------------------------------------------------------------------ */

/* Where a walk is: what holds others, from the root down, and what comes next in each. */
struct walk {
    const struct sheet *holders[JSON_DEPTH_MAX];
    const struct sheet *next[JSON_DEPTH_MAX];
    uint32_t depth;
};

static void enter(struct walk *walk, const struct sheet *holder)
{
    sim_assert(walk->depth < JSON_DEPTH_MAX);
    walk->holders[walk->depth] = holder;
    walk->next[walk->depth++] = holder->first;
}

/* The next node; NULL, once, at the end of each holder. */
static const struct sheet *step(struct walk *walk)
{
    const struct sheet *node = walk->next[walk->depth - 1];
    if (node != NULL) {
        walk->next[walk->depth - 1] = node->next;
    }
    return node;
}

/* ---- JSON ------------------------------------------------------------------------------- */

static const char *text_of(const struct sheet *node)
{
    return node->make != NULL ? node->make(node->arena, node->record) : node->value.text;
}

static void put_value(struct json *json, const struct sheet *node)
{
    const char *key = node->key;
    const struct field_value *value = &node->value;
    switch (value->kind) {
    case VALUE_NULL:
        json_null(json, key);
        break;
    case VALUE_TEXT:
        json_text(json, key, text_of(node));
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

static void open_holder(struct walk *walk, struct json *json, const struct sheet *holder)
{
    if (holder->kind == SHEET_OBJECT) {
        json_object_open(json, holder->key);
    } else {
        json_array_open(json, holder->key);
    }
    enter(walk, holder);
}

static void close_holder(struct walk *walk, struct json *json)
{
    if (walk->holders[--walk->depth]->kind == SHEET_OBJECT) {
        json_object_close(json);
    } else {
        json_array_close(json);
    }
}

static void print_json(const struct sheet *sheet, FILE *out)
{
    struct walk walk = {.depth = 0};
    struct json json;
    json_begin(&json, out);
    open_holder(&walk, &json, sheet);
    while (walk.depth > 0) {
        const bool is_object = walk.holders[walk.depth - 1]->kind == SHEET_OBJECT;
        const struct sheet *node = step(&walk);
        if (node == NULL) {
            close_holder(&walk, &json);
        } else if (node->kind == SHEET_SAID || (is_object && node->key == NULL)) {
            continue; /* in the text alone */
        } else if (holds_others(node)) {
            open_holder(&walk, &json, node);
        } else {
            put_value(&json, node);
        }
    }
    json_end(&json);
}

/* ---- text ------------------------------------------------------------------------------- */

static const char *cell_text(const struct field *field, struct arena *arena,
                             const struct sheet *cell)
{
    if (cell == NULL) {
        return ""; /* of a row that was not filled */
    }
    if (cell->shown != NULL) {
        return cell->shown;
    }
    if (cell->make != NULL) {
        return text_of(cell);
    }
    switch (cell->value.kind) {
    case VALUE_TEXT:
        return cell->value.text;
    case VALUE_BOOL:
        return cell->value.integer != 0 ? "yes" : "no";
    case VALUE_INTEGER:
        return field_shown(field, arena, (double)cell->value.integer);
    case VALUE_REAL:
        return field_shown(field, arena, cell->value.real);
    case VALUE_NULL:
        break;
    }
    return "-";
}

struct cell {
    const char *text;
    size_t width; /* in characters */
    bool is_number;
};

/* A table as it is printed, line by line: the heads, and the rows. */
struct grid {
    struct cell *cells;
    size_t cell_count;
    uint32_t columns;
    bool *is_right; /* by column, as all below */
    size_t *widths;
};

/* A cell is one line. Its width is in characters, not bytes: every byte but the continuation bytes
 * of UTF-8. */
static struct cell cell_of(struct arena *arena, const char *text)
{
    struct cell cell = {printable_line(arena, text), 0, false};
    for (const char *at = cell.text; *at != '\0'; at++) {
        cell.width += ((unsigned char)*at & 0xc0) != 0x80;
    }
    return cell;
}

static bool is_number(const struct sheet *cell)
{
    return cell != NULL && (cell->value.kind == VALUE_INTEGER || cell->value.kind == VALUE_REAL);
}

static void add_cell(struct grid *grid, uint32_t column, struct cell cell)
{
    grid->widths[column] = cell.width > grid->widths[column] ? cell.width : grid->widths[column];
    grid->cells[grid->cell_count++] = cell;
}

/* The heads, when there is no row. */
static void add_line(struct grid *grid, const struct sheet *table, const struct sheet *row,
                     bool is_comment)
{
    uint32_t column = 0;
    if (is_comment) {
        add_cell(grid, column++, (struct cell){"#", 1, false});
    }
    for (uint32_t i = 0; i < table->field_count; i++) {
        const struct field *field = &table->fields[i];
        if (field->head == NULL) {
            continue;
        }
        struct arena *arena = table->arena;
        const char *text = row != NULL ? cell_text(field, arena, row->cells[i]) : field->head;
        if (row != NULL && field->before != NULL) {
            text = arena_printf(arena, "%s%s", field->before, text);
        }
        grid->is_right[column] = field->is_right;
        struct cell cell = cell_of(arena, text);
        cell.is_number = row != NULL && is_number(row->cells[i]);
        add_cell(grid, column++, cell);
    }
    grid->columns = column;
}

static void print_blanks(size_t count, FILE *out)
{
    static const char blanks[] = "                                ";
    const size_t most = sizeof blanks - 1;
    for (; count > most; count -= most) {
        fwrite(blanks, 1, most, out);
    }
    fwrite(blanks, 1, count, out);
}

/* Blanks are owed, and paid before the next letter: no line ends in one. */
static void print_line(const struct grid *grid, const struct cell *cells, FILE *out)
{
    size_t owed = 0;
    for (uint32_t i = 0; i < grid->columns; i++) {
        const size_t padding = grid->widths[i] - cells[i].width;
        owed += (i > 0 ? strlen(GAP) : 0) + (grid->is_right[i] ? padding : 0);
        if (cells[i].width > 0) {
            print_blanks(owed, out);
            fputs(cells[i].text, out);
            owed = 0;
        }
        owed += grid->is_right[i] ? 0 : padding;
    }
    fputc('\n', out);
}

static bool has_text(const struct cell *cells, uint32_t count)
{
    bool has = false;
    for (uint32_t i = 0; i < count; i++) {
        has = has || cells[i].width > 0;
    }
    return has;
}

static struct grid grid_of(const struct sheet *table, bool is_comment)
{
    struct arena *arena = table->arena;
    const size_t columns = (size_t)table->field_count + 1;
    struct grid grid = {
        .cells = arena_array(arena, columns * (sheet_row_count(table) + 1), sizeof *grid.cells),
        .is_right = arena_array(arena, columns, sizeof *grid.is_right),
        .widths = arena_array(arena, columns, sizeof *grid.widths),
    };
    add_line(&grid, table, NULL, is_comment);
    for (const struct sheet *row = table->first; row != NULL; row = row->next) {
        add_line(&grid, table, row, is_comment);
    }
    return grid;
}

static void print_table(const struct sheet *table, bool is_comment, FILE *out)
{
    const struct grid grid = grid_of(table, is_comment);
    if (table->shown != NULL) {
        fputs(printable_lines(table->arena, table->shown), out);
    }
    const size_t first = has_text(grid.cells, grid.columns) ? 0 : grid.columns;
    for (size_t cell = first; cell < grid.cell_count; cell += grid.columns) {
        print_line(&grid, &grid.cells[cell], out);
    }
}

/* One that nothing stands in may be told by a sentence alone, or by nothing. */
static bool is_shown_table(const struct sheet *node)
{
    return node->kind == SHEET_TABLE && (node->first != NULL || node->shown == NULL);
}

static void print_text(const struct sheet *sheet, bool is_comment, FILE *out)
{
    struct walk walk = {.depth = 0};
    enter(&walk, sheet);
    while (walk.depth > 0) {
        const struct sheet *node = step(&walk);
        if (node == NULL) {
            walk.depth--;
        } else if (node->kind == SHEET_SAID) {
            fputs(printable_lines(node->arena, node->shown), out);
        } else if (is_shown_table(node)) {
            print_table(node, is_comment, out);
        } else if (holds_others(node)) {
            enter(&walk, node);
        }
    }
}

const struct sheet *sheet_first_table(const struct sheet *sheet)
{
    const struct sheet *found = NULL;
    struct walk walk = {.depth = 0};
    enter(&walk, sheet);
    while (walk.depth > 0 && found == NULL) {
        const struct sheet *node = step(&walk);
        if (node == NULL) {
            walk.depth--;
        } else if (is_shown_table(node) && grid_of(node, false).columns > 0) {
            found = node;
        } else if (node->kind != SHEET_TABLE && holds_others(node)) {
            enter(&walk, node);
        }
    }
    return found;
}

/* In quotes, where it must be; those inside are doubled. */
static void print_csv_cell(const struct cell *cell, FILE *out)
{
    const char *text = strcmp(cell->text, "-") == 0 ? "" : cell->text;
    const bool is_quoted = strpbrk(text, ",\"") != NULL;
    fputs(is_quoted ? "\"" : "", out);
    fputs(!cell->is_number && printable_is_formula(text) ? PRINTABLE_NO_FORMULA : "", out);
    for (const char *at = text; *at != '\0'; at++) {
        fputs(*at == '"' ? "\"" : "", out);
        fputc(*at, out);
    }
    fputs(is_quoted ? "\"" : "", out);
}

static void print_csv(const struct grid *grid, FILE *out)
{
    for (size_t i = 0; i < grid->cell_count; i++) {
        print_csv_cell(&grid->cells[i], out);
        fputs((i + 1) % grid->columns == 0 ? "\r\n" : ",", out);
    }
}

/* A bar ends a cell of Markdown. */
static void print_markdown_cell(const char *text, FILE *out)
{
    fputs(" ", out);
    for (const char *at = text; *at != '\0'; at++) {
        fputs(*at == '|' ? "\\" : "", out);
        fputc(*at, out);
    }
    fputs(" |", out);
}

static void print_markdown(const struct grid *grid, FILE *out)
{
    for (size_t i = 0; i < grid->cell_count; i++) {
        fputs(i % grid->columns == 0 ? "|" : "", out);
        print_markdown_cell(grid->cells[i].text, out);
        if ((i + 1) % grid->columns == 0) {
            fputc('\n', out);
        }
        for (uint32_t column = 0; i + 1 == grid->columns && column < grid->columns; column++) {
            const char *rule = grid->is_right[column] ? "---:|" : "---|";
            fprintf(out, "%s%s%s", column == 0 ? "|" : "", rule,
                    column + 1 == grid->columns ? "\n" : "");
        }
    }
}

void sheet_print_table(const struct sheet *table, enum sheet_style style, FILE *out)
{
    sim_assert(table->kind == SHEET_TABLE);
    const struct grid grid = grid_of(table, false);
    switch (style) {
    case SHEET_AS_CSV:
        print_csv(&grid, out);
        break;
    case SHEET_AS_MARKDOWN:
        print_markdown(&grid, out);
        break;
    default:
        print_table(table, false, out);
        break;
    }
}

void sheet_print(const struct sheet *sheet, bool is_json, FILE *out)
{
    if (is_json) {
        print_json(sheet, out);
    } else {
        print_text(sheet, false, out);
    }
}

void sheet_print_comments(const struct sheet *sheet, FILE *out)
{
    print_text(sheet, true, out);
}
