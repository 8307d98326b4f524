/* Tables with aligned columns. Cells are kept as text and widths are taken
 * when printing, so the cost is one pass to add and two to print.
 */
#include "report/table.h"

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define COLUMNS_MAX 32
#define GAP "  "

struct column {
    const char *head; /* owned by the arena, as all text here */
    enum table_align align;
};

struct table {
    struct arena *arena; /* borrowed */
    struct column columns[COLUMNS_MAX];
    uint32_t column_count;
    const char **cells; /* row by row */
    size_t cell_count;
    size_t cell_capacity;
};

struct table *table_new(struct arena *arena)
{
    struct table *table = arena_alloc(arena, sizeof *table);
    table->arena = arena;
    return table;
}

void table_column(struct table *table, const char *head, enum table_align align)
{
    sim_assert(table->cell_count == 0);
    sim_assert(table->column_count < COLUMNS_MAX);
    table->columns[table->column_count++] =
        (struct column){.head = arena_strdup(table->arena, head), .align = align};
}

/* A cell is one line: control characters, which could move a terminal's cursor, become '?'. */
static void add_cell(struct table *table, char *text)
{
    sim_assert(table->column_count > 0);
    for (char *letter = text; *letter != '\0'; letter++) {
        if ((unsigned char)*letter < 0x20 || *letter == 0x7f) {
            *letter = '?';
        }
    }
    table->cells = arena_grow(table->arena, table->cells, &table->cell_capacity,
                              table->cell_count + 1, sizeof *table->cells);
    table->cells[table->cell_count++] = text;
}

void table_cell(struct table *table, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = arena_vprintf(table->arena, format, arguments);
    va_end(arguments);
    add_cell(table, text);
}

void table_row_end(struct table *table)
{
    sim_assert(table->cell_count > 0);
    while (table->cell_count % table->column_count != 0) {
        add_cell(table, arena_strdup(table->arena, ""));
    }
}

/* Characters, not bytes: every byte but the continuation bytes of UTF-8. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}

static size_t column_width(const struct table *table, uint32_t column)
{
    size_t width = width_of(table->columns[column].head);
    for (size_t cell = column; cell < table->cell_count; cell += table->column_count) {
        const size_t needed = width_of(table->cells[cell]);
        width = needed > width ? needed : width;
    }
    return width;
}

static void print_spaces(size_t count, FILE *out)
{
    for (; count > 0; count--) {
        fputc(' ', out);
    }
}

/* Blanks are owed, and paid before the next letter: no line ends in one. */
static void print_row(const struct table *table, const char *const *cells, const size_t *widths,
                      FILE *out)
{
    size_t owed = 0;
    for (uint32_t i = 0; i < table->column_count; i++) {
        const size_t width = width_of(cells[i]);
        const size_t padding = widths[i] - width;
        const bool is_right = table->columns[i].align == TABLE_RIGHT;
        owed += (i > 0 ? strlen(GAP) : 0) + (is_right ? padding : 0);
        if (width > 0) {
            print_spaces(owed, out);
            fputs(cells[i], out);
            owed = 0;
        }
        owed += is_right ? 0 : padding;
    }
    fputc('\n', out);
}

void table_print(const struct table *table, FILE *out)
{
    size_t widths[COLUMNS_MAX];
    const char *heads[COLUMNS_MAX];
    bool has_head = false;
    for (uint32_t i = 0; i < table->column_count; i++) {
        widths[i] = column_width(table, i);
        heads[i] = table->columns[i].head;
        has_head = has_head || heads[i][0] != '\0';
    }
    if (has_head) {
        print_row(table, heads, widths, out);
    }
    const char *cells[COLUMNS_MAX];
    for (size_t first = 0; first < table->cell_count; first += table->column_count) {
        for (uint32_t i = 0; i < table->column_count; i++) {
            cells[i] = first + i < table->cell_count ? table->cells[first + i] : "";
        }
        print_row(table, cells, widths, out);
    }
}
