/* A sheet is an array of figures and tables in the order in which they were
 * added. Two printers go through it: one writes comments below YAML, the other
 * one JSON object.
 */
#include "report/show/show_sheet.h"

#include "base/arena.h"
#include "report/numbers.h"
#include "report/table.h"

void show_sheet_init(struct show_sheet *sheet, struct arena *arena)
{
    *sheet = (struct show_sheet){.arena = arena};
}

/* ---- adding -------------------------------------------------------------- */

static void add(struct show_sheet *sheet, const struct show_sheet_figure *figure)
{
    sheet->figures = arena_grow(sheet->arena, sheet->figures, &sheet->figure_capacity,
                                sheet->figure_count + 1, sizeof *sheet->figures);
    sheet->figures[sheet->figure_count++] = *figure;
}

void show_sheet_text(struct show_sheet *sheet, const char *name, const char *text)
{
    add(sheet, &(struct show_sheet_figure){.name = name, .text = text});
}

void show_sheet_number(struct show_sheet *sheet, const char *name, double number, const char *text)
{
    add(sheet, &(struct show_sheet_figure){name, text, number, true});
}

void show_sheet_count(struct show_sheet *sheet, const char *name, int64_t count)
{
    show_sheet_number(sheet, name, (double)count, number_grouped(sheet->arena, (double)count));
}

void show_sheet_quantity(struct show_sheet *sheet, const char *name, double value,
                         enum dimension dimension)
{
    show_sheet_number(sheet, name, value, number_quantity(sheet->arena, value, dimension));
}

void show_sheet_rate(struct show_sheet *sheet, const char *name, double bytes_per_s)
{
    struct arena *arena = sheet->arena;
    show_sheet_number(sheet, name, bytes_per_s,
                      arena_printf(arena, "%s = %s", number_gbps(arena, bytes_per_s),
                                   number_quantity(arena, bytes_per_s, DIM_BYTES_PER_S)));
}

struct listing *show_sheet_table(struct show_sheet *sheet, const char *name)
{
    sim_assert(sheet->table_count < SHEET_TABLES_MAX);
    struct listing *table = &sheet->tables[sheet->table_count++];
    listing_init(table, sheet->arena, "", name);
    return table;
}

/* ---- as comments ----------------------------------------------------------- */

static void print_figures(const struct show_sheet *sheet, FILE *out)
{
    struct table *table = table_new(sheet->arena);
    table_column(table, "#", TABLE_LEFT);
    table_column(table, "", TABLE_LEFT);
    table_column(table, "", TABLE_LEFT);
    for (size_t i = 0; i < sheet->figure_count; i++) {
        table_cell(table, "#");
        table_cell(table, "%s", sheet->figures[i].name);
        table_cell(table, "%s", sheet->figures[i].text);
    }
    table_print(table, out);
}

static void print_table(const struct listing *listing, FILE *out)
{
    sim_assert(listing->column_count > 0);
    struct table *table = table_new(listing->arena);
    table_column(table, "#", TABLE_LEFT);
    for (uint32_t i = 0; i < listing->column_count; i++) {
        const struct listing_column *column = &listing->columns[i];
        table_column(table, column->head, column->is_number ? TABLE_RIGHT : TABLE_LEFT);
    }
    for (size_t i = 0; i < listing->cell_count; i++) {
        if (i % listing->column_count == 0) {
            table_cell(table, "#");
        }
        table_cell(table, "%s", listing->cells[i].text);
    }
    fprintf(out, "#\n# %s\n", listing->name);
    table_print(table, out);
}

void show_sheet_print(const struct show_sheet *sheet, FILE *out)
{
    if (sheet->figure_count > 0) {
        print_figures(sheet, out);
    }
    for (uint32_t i = 0; i < sheet->table_count; i++) {
        if (sheet->tables[i].cell_count > 0) {
            print_table(&sheet->tables[i], out);
        }
    }
}

/* ---- as JSON ---------------------------------------------------------------- */

static void put_row(const struct listing *listing, size_t first, struct json *json)
{
    json_object_open(json, NULL);
    for (uint32_t i = 0; i < listing->column_count; i++) {
        const struct listing_column *column = &listing->columns[i];
        const struct listing_cell *cell = &listing->cells[first + i];
        if (column->is_number) {
            json_number(json, column->key, cell->number);
        } else {
            json_text(json, column->key, cell->text);
        }
    }
    json_object_close(json);
}

void show_sheet_json(const struct show_sheet *sheet, struct json *json)
{
    json_object_open(json, "derived");
    for (size_t i = 0; i < sheet->figure_count; i++) {
        const struct show_sheet_figure *figure = &sheet->figures[i];
        if (figure->is_number) {
            json_number(json, figure->name, figure->number);
        } else {
            json_text(json, figure->name, figure->text);
        }
    }
    for (uint32_t i = 0; i < sheet->table_count; i++) {
        const struct listing *table = &sheet->tables[i];
        json_array_open(json, table->name);
        for (size_t cell = 0; cell < table->cell_count; cell += table->column_count) {
            put_row(table, cell, json);
        }
        json_array_close(json);
    }
    json_object_close(json);
}
