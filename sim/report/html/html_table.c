/* A table: numbers to the right, each cell with the value by which it is sorted where that is not
 * what is shown.
 */
#include "base/absent.h"
#include "base/arena.h"
#include "report/html/html_parts.h"

#include <string.h>

/* A longer text is broken into lines. */
enum { LINE_BYTES = 28 };

/* Columns that only wide pages have. */
static bool is_for_wide(const struct field *field)
{
    return field->gives_way > 0;
}

/* l: to the left; w: of several lines; o: of wide pages only. */
static void put_class(const struct field *field, const char *text, FILE *out)
{
    const struct {
        bool is_so;
        const char *name;
    } classes[] = {
        {!field->is_right, "l"}, {strlen(text) > LINE_BYTES, "w"}, {is_for_wide(field), "o"}};
    bool has_begun = false;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (classes[i].is_so) {
            fprintf(out, "%s%s", has_begun ? " " : " class=\"", classes[i].name);
            has_begun = true;
        }
    }
    fputs(has_begun ? "\"" : "", out);
}

static void put_sort_value(const struct sheet *cell, FILE *out)
{
    if (cell != NULL && cell->value.kind == VALUE_REAL) {
        fprintf(out, " data-v=\"%.9g\"", cell->value.real);
    } else if (cell != NULL && cell->value.kind == VALUE_INTEGER) {
        fprintf(out, " data-v=\"%lld\"", (long long)cell->value.integer);
    }
}

static void put_head(const struct sheet *table, const bool *is_hidden, FILE *out)
{
    fputs("<thead><tr>", out);
    for (uint32_t i = 0; i < table->field_count; i++) {
        if (!is_hidden[i]) {
            fputs("<th scope=\"col\"", out);
            put_class(&table->fields[i], table->fields[i].head, out);
            fputs(">", out);
            html_line(table->arena, table->fields[i].head, out);
            fputs("</th>", out);
        }
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}

static void put_row(const struct sheet *table, const struct sheet *row, const bool *is_hidden,
                    FILE *out)
{
    fputs("<tr>", out);
    for (uint32_t i = 0; i < table->field_count; i++) {
        const struct field *field = &table->fields[i];
        if (!is_hidden[i]) {
            const char *text = sheet_cell_text(field, table->arena, row->cells[i]);
            fputs("<td", out);
            put_class(field, text, out);
            put_sort_value(row->cells[i], out);
            fputs(">", out);
            html_line(table->arena, text, out);
            fputs("</td>", out);
        }
    }
    fputs("</tr>\n", out);
}

static bool has_for_wide(const struct sheet *table, const bool *is_hidden)
{
    bool has = false;
    for (uint32_t i = 0; i < table->field_count; i++) {
        has = has || (!is_hidden[i] && is_for_wide(&table->fields[i]));
    }
    return has;
}

/* Rows of words alone have an order of their own, and may go on in the next. */
static bool has_numbers(const struct sheet *table)
{
    bool has = false;
    for (uint32_t i = 0; i < table->field_count; i++) {
        has = has || (table->fields[i].is_right && table->fields[i].head != NULL);
    }
    return has;
}

void html_table(const struct sheet *of, FILE *out)
{
    const struct sheet sized = sheet_sized(of);
    const struct sheet *table = &sized;
    bool *is_hidden = arena_array(table->arena, table->field_count + 1u, sizeof *is_hidden);
    const char *common = sheet_common_columns(table, is_hidden);
    fprintf(out, "<div class=\"tw\"><table%s>\n", has_numbers(table) ? " class=\"s\"" : "");
    put_head(table, is_hidden, out);
    for (const struct sheet *row = table->first; row != NULL; row = row->next) {
        put_row(table, row, is_hidden, out);
    }
    fputs("</tbody></table></div>\n", out);
    if (common != NULL) {
        fputs("<p class=\"of\">The same in all: ", out);
        html_line(table->arena, common, out);
        fputs("</p>\n", out);
    }
    if (has_for_wide(table, is_hidden)) {
        fputs("<p class=\"of narrow\">Wider pages and paper have more columns.</p>\n", out);
    }
}
