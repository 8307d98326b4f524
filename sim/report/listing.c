/* Columns are named once and cells are appended row by row, each as text and,
 * where it is a number, as a number too. At the end the same cells are printed
 * as a table or as JSON.
 */
#include "report/listing.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/json.h"
#include "report/table.h"

#include <inttypes.h>

void listing_init(struct listing *listing, struct arena *arena, const char *schema,
                  const char *name)
{
    *listing = (struct listing){.arena = arena, .schema = schema, .name = name};
}

void listing_column(struct listing *listing, const char *key, const char *head, bool is_number)
{
    sim_assert(listing->column_count < LISTING_COLUMNS_MAX);
    sim_assert(listing->cell_count == 0);
    listing->columns[listing->column_count++] = (struct listing_column){key, head, is_number};
}

static void add_cell(struct listing *listing, double number, const char *text)
{
    listing->cells = arena_grow(listing->arena, listing->cells, &listing->cell_capacity,
                                listing->cell_count + 1, sizeof *listing->cells);
    listing->cells[listing->cell_count++] = (struct listing_cell){text, number};
}

static const struct listing_column *next_column(const struct listing *listing)
{
    sim_assert(listing->column_count > 0);
    return &listing->columns[listing->cell_count % listing->column_count];
}

void listing_text(struct listing *listing, const char *text)
{
    sim_assert(!next_column(listing)->is_number);
    add_cell(listing, 0, text != NULL ? arena_strdup(listing->arena, text) : "");
}

void listing_number(struct listing *listing, double number, const char *shown)
{
    sim_assert(next_column(listing)->is_number);
    add_cell(listing, number, is_absent(number) ? "-" : arena_strdup(listing->arena, shown));
}

void listing_count(struct listing *listing, int64_t count)
{
    listing_number(listing, (double)count, arena_printf(listing->arena, "%" PRId64, count));
}

static void print_json(const struct listing *listing, FILE *out)
{
    struct json json;
    json_begin(&json, out);
    json_object_open(&json, NULL);
    json_text(&json, "schema", listing->schema);
    json_array_open(&json, listing->name);
    for (size_t i = 0; i < listing->cell_count; i++) {
        const uint32_t column = (uint32_t)(i % listing->column_count);
        if (column == 0) {
            json_object_open(&json, NULL);
        }
        if (listing->columns[column].is_number) {
            json_number_or_null(&json, listing->columns[column].key, listing->cells[i].number);
        } else {
            json_text(&json, listing->columns[column].key, listing->cells[i].text);
        }
        if (column + 1 == listing->column_count) {
            json_object_close(&json);
        }
    }
    json_array_close(&json);
    json_object_close(&json);
    json_end(&json);
}

static void print_table(const struct listing *listing, FILE *out)
{
    struct table *table = table_new(listing->arena);
    for (uint32_t i = 0; i < listing->column_count; i++) {
        const struct listing_column *column = &listing->columns[i];
        table_column(table, column->head, column->is_number ? TABLE_RIGHT : TABLE_LEFT);
    }
    for (size_t i = 0; i < listing->cell_count; i++) {
        table_cell(table, "%s", listing->cells[i].text);
    }
    table_print(table, out);
}

void listing_print(const struct listing *listing, bool is_json, FILE *out)
{
    sim_assert(listing->cell_count % listing->column_count == 0);
    if (is_json) {
        print_json(listing, out);
    } else {
        print_table(listing, out);
    }
}
