/* The text of a sheet: what is said, and tables, in columns, as CSV or Markdown. */
#include "base/arena.h"
#include "base/printable.h"
#include "report/sheet_tree.h"

#include <string.h>

#define GAP "  " /* between columns */

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
        return sheet_text_value(cell);
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

void sheet_print_text(const struct sheet *sheet, bool is_comment, FILE *out)
{
    struct sheet_walk walk = {.depth = 0};
    sheet_enter(&walk, sheet);
    while (walk.depth > 0) {
        const struct sheet *node = sheet_step(&walk);
        if (node == NULL) {
            walk.depth--;
        } else if (node->kind == SHEET_SAID) {
            fputs(printable_lines(node->arena, node->shown), out);
        } else if (is_shown_table(node)) {
            print_table(node, is_comment, out);
        } else if (sheet_holds_others(node)) {
            sheet_enter(&walk, node);
        }
    }
}

const struct sheet *sheet_first_table(const struct sheet *sheet)
{
    const struct sheet *found = NULL;
    struct sheet_walk walk = {.depth = 0};
    sheet_enter(&walk, sheet);
    while (walk.depth > 0 && found == NULL) {
        const struct sheet *node = sheet_step(&walk);
        if (node == NULL) {
            walk.depth--;
        } else if (is_shown_table(node) && grid_of(node, false).columns > 0) {
            found = node;
        } else if (node->kind != SHEET_TABLE && sheet_holds_others(node)) {
            sheet_enter(&walk, node);
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
