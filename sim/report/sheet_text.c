/* The text of a sheet: what is said, and tables, in columns or as Markdown.
 *
 * A table that people read is fitted to the page: what all rows say alike is said once; where the
 * page is still too narrow, columns give way, and one of text is broken into lines: the one that
 * says so, or else the last, which stands below its row where it has no room at all. What is left
 * out is named. CSV and Markdown have all.
 */
#include "base/arena.h"
#include "base/printable.h"
#include "report/page.h"
#include "report/sheet_tree.h"

#include <string.h>

/* Of the column that is broken into lines: before others give way to it, and at least; of any,
 * where the page is as narrow as that. */
enum { ROOM_OF_BROKEN = 26, ROOM_LEAST = 16, ROOM_OF_ANY = 8 };

const char *sheet_cell_text(const struct field *field, struct arena *arena,
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
};

struct column {
    bool is_right;
    bool is_common;
    bool is_for_programs;
    bool is_hidden;
    bool is_broken;
    bool is_unit;
    uint8_t gives_way;
    size_t width;
};

/* A table as it is printed, line by line: the heads, and the rows. */
struct grid {
    struct cell *cells;
    size_t cell_count;
    struct column *columns;
    uint32_t column_count;
    uint32_t broken; /* the column that may be broken into lines; column_count: none */
    uint32_t below;  /* one that stands on lines of its own, below its row; or column_count */
};

/* A cell is one line. */
static struct cell cell_of(struct arena *arena, const char *text)
{
    const char *line = printable_line(arena, text);
    return (struct cell){line, page_text_width(line)};
}

static void add_cell(struct grid *grid, uint32_t column, struct cell cell)
{
    size_t *width = &grid->columns[column].width;
    *width = cell.width > *width ? cell.width : *width;
    grid->cells[grid->cell_count++] = cell;
}

/* The heads, when there is no row. */
static void add_line(struct grid *grid, const struct sheet *table, const struct sheet *row,
                     bool is_comment)
{
    uint32_t column = 0;
    if (is_comment) {
        add_cell(grid, column++, (struct cell){"#", 1});
    }
    for (uint32_t i = 0; i < table->field_count; i++) {
        const struct field *field = &table->fields[i];
        if (field->head == NULL) {
            continue;
        }
        struct arena *arena = table->arena;
        const char *text = row != NULL ? sheet_cell_text(field, arena, row->cells[i]) : field->head;
        if (row != NULL && field->before != NULL) {
            text = arena_printf(arena, "%s%s", field->before, text);
        }
        struct column *of = &grid->columns[column];
        of->is_right = field->is_right;
        of->is_common = field->is_common;
        of->gives_way = field->gives_way;
        of->is_for_programs = field->is_for_programs;
        of->is_broken = field->is_broken;
        of->is_unit = field->is_unit;
        add_cell(grid, column++, cell_of(arena, text));
    }
    grid->column_count = column;
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
    bool has_begun = false;
    for (uint32_t i = 0; i < grid->column_count; i++) {
        const struct column *column = &grid->columns[i];
        if (column->is_hidden) {
            continue;
        }
        const size_t padding = column->width > cells[i].width ? column->width - cells[i].width : 0;
        owed += (has_begun ? strlen(SHEET_GAP) : 0) + (column->is_right ? padding : 0);
        has_begun = true;
        if (cells[i].width > 0) {
            print_blanks(owed, out);
            fputs(cells[i].text, out);
            owed = 0;
        }
        owed += column->is_right ? 0 : padding;
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
    const struct sheet sized = sheet_sized(table);
    const size_t columns = (size_t)table->field_count + 1;
    struct grid grid = {
        .cells = arena_array(arena, columns * (sheet_row_count(table) + 1), sizeof *grid.cells),
        .columns = arena_array(arena, columns, sizeof *grid.columns),
    };
    add_line(&grid, &sized, NULL, is_comment);
    for (const struct sheet *row = table->first; row != NULL; row = row->next) {
        add_line(&grid, &sized, row, is_comment);
    }
    return grid;
}

/* ---- on a page ---------------------------------------------------------------------------- */

static const struct cell *cell_at(const struct grid *grid, size_t line, uint32_t column)
{
    return &grid->cells[line * grid->column_count + column];
}

static size_t line_count(const struct grid *grid)
{
    return grid->column_count > 0 ? grid->cell_count / grid->column_count : 0;
}

/* With no more than so many characters of the column that may be broken. */
static size_t grid_width(const struct grid *grid, size_t of_broken)
{
    size_t width = 0;
    for (uint32_t i = 0; i < grid->column_count; i++) {
        const struct column *column = &grid->columns[i];
        const bool is_cut = i == grid->broken && column->width > of_broken;
        width += column->is_hidden
                     ? 0
                     : (width > 0 ? strlen(SHEET_GAP) : 0) + (is_cut ? of_broken : column->width);
    }
    return width;
}

/* All rows, of at least two, say the same in the column. */
static bool is_same_in_all(const struct grid *grid, uint32_t column)
{
    const size_t lines = line_count(grid);
    bool is_same = lines > 2;
    for (size_t line = 2; line < lines && is_same; line++) {
        is_same = strcmp(cell_at(grid, line, column)->text, cell_at(grid, 1, column)->text) == 0;
    }
    return is_same;
}

/* "step 5.28 s" of the head "step s": what ends a head in three letters or fewer is its unit. */
static const char *said_once(struct arena *arena, const char *head, const char *text)
{
    enum { UNIT_LETTERS = 3, NAME_LETTERS = 3 };
    const char *blank = strrchr(head, ' ');
    if (blank == NULL || strlen(blank + 1) > UNIT_LETTERS || blank - head < NAME_LETTERS) {
        return arena_printf(arena, "%s %s", head, text);
    }
    return arena_printf(arena, "%.*s %s %s", (int)(blank - head), head, text, blank + 1);
}

/* Hides what all rows say alike: the text has it once; "-" and nothing are not said at all. */
static const char *hide_common(struct grid *grid, struct arena *arena)
{
    const char *said = NULL;
    for (uint32_t i = 0; i < grid->column_count; i++) {
        struct column *column = &grid->columns[i];
        if (!column->is_common || !is_same_in_all(grid, i)) {
            continue;
        }
        column->is_hidden = true;
        const char *text = cell_at(grid, 1, i)->text;
        if (text[0] != '\0' && strcmp(text, "-") != 0) {
            const char *head = cell_at(grid, 0, i)->text;
            const char *one = column->is_unit ? arena_printf(arena, "%s %s", text, head)
                                              : said_once(arena, head, text);
            said = said == NULL ? one : arena_printf(arena, "%s, %s", said, one);
        }
    }
    return said;
}

const char *sheet_common_columns(const struct sheet *table, bool *is_hidden)
{
    struct grid grid = grid_of(table, false);
    const char *said = hide_common(&grid, table->arena);
    uint32_t column = 0;
    for (uint32_t i = 0; i < table->field_count; i++) {
        is_hidden[i] = table->fields[i].head == NULL || grid.columns[column].is_hidden ||
                       grid.columns[column].is_for_programs;
        column += table->fields[i].head != NULL;
    }
    return said;
}

/* Of what people see, the text that says so, else the last column if it is text. */
static uint32_t broken_of(const struct grid *grid)
{
    const uint32_t count = grid->column_count;
    for (uint32_t i = 0; i < count; i++) {
        if (grid->columns[i].is_broken && !grid->columns[i].is_hidden) {
            return i;
        }
    }
    const struct column *last = &grid->columns[count > 0 ? count - 1 : 0];
    return count > 0 && !last->is_right && !last->is_hidden ? count - 1 : count;
}

/* The column that gives way next: by its rank, else from the right, but for the first two, the
 * one that is broken and what has no name by which it could be missed; column_count: none does. */
static uint32_t next_to_hide(const struct grid *grid)
{
    enum { ALWAYS_SHOWN = 2 };
    uint32_t found = grid->column_count;
    uint32_t rightmost = grid->column_count;
    for (uint32_t i = 0; i < grid->column_count; i++) {
        const struct column *column = &grid->columns[i];
        if (column->is_hidden) {
            continue;
        }
        const bool has_name = cell_at(grid, 0, i)->width > 0;
        rightmost = i >= ALWAYS_SHOWN && i != grid->broken && has_name ? i : rightmost;
        if (column->gives_way > 0 &&
            (found == grid->column_count || column->gives_way >= grid->columns[found].gives_way)) {
            found = i;
        }
    }
    return found < grid->column_count ? found : rightmost;
}

/* Hides columns until the others have room; their heads in the order of the table, or NULL. */
static const char *hide_for(struct grid *grid, struct arena *arena, size_t width)
{
    const char *said = NULL;
    bool *gave_way = arena_array(arena, grid->column_count + 1u, sizeof *gave_way);
    while (grid_width(grid, ROOM_OF_BROKEN) > width) {
        const uint32_t column = next_to_hide(grid);
        if (column == grid->column_count) {
            break;
        }
        grid->columns[column].is_hidden = true;
        gave_way[column] = true;
    }
    for (uint32_t i = 0; i < grid->column_count; i++) {
        const char *head = cell_at(grid, 0, i)->text;
        if (gave_way[i]) {
            said = said == NULL ? head : arena_printf(arena, "%s, %s", said, head);
        }
    }
    return said;
}

/* What the broken column has room for; where it needs no more, or has hardly any: all. */
static size_t broken_room(const struct grid *grid, size_t width, size_t least)
{
    const size_t all = grid_width(grid, PAGE_UNBOUND);
    if (all <= width || grid->broken == grid->column_count ||
        grid->columns[grid->broken].is_hidden) {
        return PAGE_UNBOUND;
    }
    const size_t others = all - grid->columns[grid->broken].width;
    return others + least > width ? PAGE_UNBOUND : width - others;
}

static uint32_t widest_text(const struct grid *grid)
{
    uint32_t widest = grid->column_count;
    for (uint32_t i = 0; i < grid->column_count; i++) {
        const struct column *column = &grid->columns[i];
        if (!column->is_right && !column->is_hidden &&
            (widest == grid->column_count || column->width > grid->columns[widest].width)) {
            widest = i;
        }
    }
    return widest;
}

/* The column that is broken has no room, which others take: its texts go below their rows. Where
 * these are too wide still, the widest text is broken. What it has room for. */
static size_t put_below(struct grid *grid, size_t width)
{
    if (grid_width(grid, PAGE_UNBOUND) <= width || grid->column_count == 0) {
        return PAGE_UNBOUND;
    }
    if (grid->broken > 0 && grid->broken < grid->column_count &&
        !grid->columns[grid->broken].is_hidden) {
        grid->below = grid->broken;
        grid->columns[grid->below].is_hidden = true;
    }
    grid->broken = widest_text(grid);
    const size_t room = broken_room(grid, width, ROOM_OF_ANY);
    if (room != PAGE_UNBOUND) {
        grid->columns[grid->broken].width = room;
    }
    return room;
}

/* Bytes of the text that go on one line of so many characters: up to a blank, if there is one. */
static size_t piece_bytes(const char *text, size_t room)
{
    size_t bytes = 0;
    size_t characters = 0;
    size_t blank = 0;
    for (; text[bytes] != '\0'; bytes++) {
        characters += ((unsigned char)text[bytes] & 0xc0) != 0x80;
        if (characters > room && blank > 0) {
            return blank;
        }
        blank = text[bytes] == ' ' ? bytes : blank;
    }
    return bytes;
}

/* A row of which one cell is broken into lines, each below the one before. */
static void print_row(const struct grid *grid, size_t line, struct arena *arena, size_t room,
                      FILE *out)
{
    const struct cell *cells = cell_at(grid, line, 0);
    const uint32_t broken = grid->broken;
    if (broken == grid->column_count || cells[broken].width <= room) {
        print_line(grid, cells, out);
        return;
    }
    struct cell *shown = arena_array(arena, grid->column_count, sizeof *shown);
    memcpy(shown, cells, grid->column_count * sizeof *shown);
    for (const char *rest = cells[broken].text; *rest != '\0';) {
        const size_t bytes = piece_bytes(rest, room);
        shown[broken] = cell_of(arena, arena_strndup(arena, rest, bytes));
        print_line(grid, shown, out);
        rest += bytes + strspn(rest + bytes, " ");
        for (uint32_t i = 0; i < grid->column_count; i++) {
            shown[i] = i == broken ? shown[i] : (struct cell){"", 0};
        }
    }
}

/* What stands below a row. */
static void print_below(const struct grid *grid, size_t line, struct page *page)
{
    const char *text =
        grid->below < grid->column_count ? cell_at(grid, line, grid->below)->text : "";
    if (*text != '\0') {
        page_put(page, arena_printf(page->arena, "    %s\n", text));
        page_end(page);
    }
}

static void print_table(const struct sheet *table, bool is_comment, struct page *page)
{
    struct arena *arena = table->arena;
    struct grid grid = grid_of(table, is_comment);
    if (table->shown != NULL) {
        page_put(page, printable_lines(arena, table->shown));
    }
    page_end(page);
    for (uint32_t i = 0; i < grid.column_count; i++) {
        grid.columns[i].is_hidden = grid.columns[i].is_for_programs;
    }
    const bool is_fitted = !is_comment && page->width != PAGE_UNBOUND;
    const char *common = is_fitted ? hide_common(&grid, arena) : NULL;
    grid.broken = is_fitted ? broken_of(&grid) : grid.column_count;
    const char *hidden = is_fitted ? hide_for(&grid, arena, page->width) : NULL;
    grid.below = grid.column_count;
    size_t room = is_fitted ? broken_room(&grid, page->width, ROOM_LEAST) : PAGE_UNBOUND;
    if (room != PAGE_UNBOUND) {
        grid.columns[grid.broken].width = room;
    } else if (is_fitted) {
        room = put_below(&grid, page->width);
    }
    const size_t lines = line_count(&grid);
    for (size_t i = has_text(grid.cells, grid.column_count) ? 0 : 1; i < lines; i++) {
        print_row(&grid, i, arena, room, page->out);
        print_below(&grid, i, page);
    }
    if (common != NULL) {
        page_put(page, arena_printf(arena, "the same in all: %s\n", common));
    }
    if (hidden != NULL) {
        page_put(page, page->has_told_width
                           ? arena_printf(arena, "not shown: %s\n", hidden)
                           : arena_printf(arena, "not shown at %zu columns (--wide): %s\n",
                                          page->width, hidden));
        page->has_told_width = true;
    }
}

/* One that nothing stands in may be told by a sentence alone, or by nothing. */
bool sheet_is_shown_table(const struct sheet *node)
{
    return node->kind == SHEET_TABLE && (node->first != NULL || node->shown == NULL);
}

/* A file that fills screens is named alone: documents have it. */
static void put_verbatim(const struct sheet *node, struct page *page)
{
    enum { SHOWN_BYTES = 6000 };
    struct arena *arena = node->arena;
    const size_t length = strlen(node->shown);
    const bool is_long = length > SHOWN_BYTES && node->title != NULL;
    if (node->title != NULL) {
        page_put(page,
                 arena_printf(arena,
                              is_long ? "\n%s (%zu kB: in HTML, Markdown and JSON)\n" : "\n%s\n\n",
                              printable_line(arena, node->title), length / 1000));
    }
    page_end(page);
    fprintf(page->out, "%s%s", is_long ? "" : printable_lines(arena, node->shown),
            is_long || (length > 0 && node->shown[length - 1] == '\n') ? "" : "\n");
}

static void put_said(const struct sheet *node, struct page *page)
{
    struct arena *arena = node->arena;
    switch (node->role) {
    case ROLE_LETTERS:
    case ROLE_ANSWER:
        page_put(page, printable_lines(arena, node->shown));
        break;
    case ROLE_TITLE:
        page_put(page, arena_printf(arena, "%s\n", printable_line(arena, node->shown)));
        break;
    case ROLE_HEADING:
        page_put(page, arena_printf(arena, "\n%s\n\n", printable_line(arena, node->shown)));
        break;
    case ROLE_ITEM:
        page_put(page, arena_printf(arena, "  - %s\n", printable_line(arena, node->shown)));
        break;
    case ROLE_VERBATIM:
        put_verbatim(node, page);
        break;
    case ROLE_CHART:
        break;
    }
}

void sheet_print_text(const struct sheet *sheet, bool is_comment, FILE *out)
{
    const bool is_bound = !is_comment && sheet->page_width > 0;
    struct page page = {
        .out = out, .arena = sheet->arena, .width = is_bound ? sheet->page_width : PAGE_UNBOUND};
    struct sheet_walk walk = {.depth = 0};
    sheet_enter(&walk, sheet);
    while (walk.depth > 0) {
        const struct sheet *node = sheet_step(&walk);
        if (node == NULL) {
            walk.depth--;
        } else if (node->kind == SHEET_SAID) {
            put_said(node, &page);
        } else if (sheet_is_shown_table(node)) {
            print_table(node, is_comment, &page);
        } else if (sheet_holds_others(node)) {
            sheet_enter(&walk, node);
        }
    }
    page_end(&page);
}

/* The first behind a table; NULL: of all. */
static const struct sheet *table_behind(const struct sheet *sheet, const struct sheet *table)
{
    const struct sheet *found = NULL;
    bool is_behind = table == NULL;
    struct sheet_walk walk = {.depth = 0};
    sheet_enter(&walk, sheet);
    while (walk.depth > 0 && found == NULL) {
        const struct sheet *node = sheet_step(&walk);
        if (node == NULL) {
            walk.depth--;
        } else if (sheet_is_shown_table(node)) {
            found = is_behind && grid_of(node, false).column_count > 0 ? node : NULL;
            is_behind = is_behind || node == table;
        } else if (node->kind != SHEET_TABLE && sheet_holds_others(node)) {
            sheet_enter(&walk, node);
        }
    }
    return found;
}

const struct sheet *sheet_first_table(const struct sheet *sheet)
{
    return table_behind(sheet, NULL);
}

const struct sheet *sheet_next_table(const struct sheet *sheet, const struct sheet *table)
{
    return table_behind(sheet, table);
}

/* A bar ends a cell of Markdown; others would be read as its marks. */
static void print_markdown_cell(const char *text, FILE *out)
{
    fputs(" ", out);
    for (const char *at = text; *at != '\0'; at++) {
        fputs(strchr("|<&`*\\", *at) != NULL ? "\\" : "", out);
        fputc(*at, out);
    }
    fputs(" |", out);
}

static void print_markdown(const struct grid *grid, FILE *out)
{
    for (size_t i = 0; i < grid->cell_count; i++) {
        fputs(i % grid->column_count == 0 ? "|" : "", out);
        print_markdown_cell(grid->cells[i].text, out);
        if ((i + 1) % grid->column_count == 0) {
            fputc('\n', out);
        }
        for (uint32_t column = 0; i + 1 == grid->column_count && column < grid->column_count;
             column++) {
            const char *rule = grid->columns[column].is_right ? "---:|" : "---|";
            fprintf(out, "%s%s%s", column == 0 ? "|" : "", rule,
                    column + 1 == grid->column_count ? "\n" : "");
        }
    }
}

void sheet_print_table(const struct sheet *table, enum sheet_style style, FILE *out)
{
    sim_assert(table->kind == SHEET_TABLE);
    switch (style) {
    case SHEET_AS_CSV:
        sheet_print_csv(table, out);
        break;
    case SHEET_AS_MARKDOWN: {
        const struct grid grid = grid_of(table, false);
        print_markdown(&grid, out);
        break;
    }
    default:
        print_table(table, false,
                    &(struct page){.out = out, .arena = table->arena, .width = PAGE_UNBOUND});
        break;
    }
}
