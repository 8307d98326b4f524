/* A table as CSV (RFC 4180), straight from its tree: how its text shows a number is none of its
 * business.
 */
#include "base/arena.h"
#include "base/printable.h"
#include "report/sheet_tree.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* In quotes, where it must be; those inside are doubled. */
static void put_quoted(const char *text, FILE *out)
{
    const bool is_quoted = strpbrk(text, ",\"") != NULL;
    fputs(is_quoted ? "\"" : "", out);
    for (const char *at = text; *at != '\0'; at++) {
        fputs(*at == '"' ? "\"" : "", out);
        fputc(*at, out);
    }
    fputs(is_quoted ? "\"" : "", out);
}

static void put_text(struct arena *arena, const char *text, FILE *out)
{
    const char *line = strcmp(text, "-") == 0 ? "" : printable_line(arena, text);
    const char *guard = printable_is_formula(line) ? PRINTABLE_NO_FORMULA : "";
    put_quoted(arena_printf(arena, "%s%s", guard, line), out);
}

static void put_real(double number, FILE *out)
{
    char text[JSON_NUMBER_BYTES];
    fputs(json_number_text(number, text), out);
}

static void put_range(const struct sheet *cell, FILE *out)
{
    if (cell != NULL && cell->is_range) {
        put_real(cell->low, out);
        fputc(',', out);
        put_real(cell->high, out);
    } else {
        fputc(',', out);
    }
}

/* What has no name but a head is in the head's unit; of one that is chosen when it is shown, that
 * is the member's own. */
static double in_unit(const struct field *field, double number)
{
    const bool is_named = field->csv != NULL || field->key != NULL;
    return is_named || field->is_sized || field->show != NULL ? number
                                                              : field_scaled(field, number);
}

static void put_value(const struct field *field, const struct sheet *cell, FILE *out)
{
    switch (cell->value.kind) {
    case VALUE_TEXT:
        put_text(cell->arena, sheet_text_value(cell), out);
        break;
    case VALUE_BOOL:
        fputs(cell->value.integer != 0 ? "true" : "false", out);
        break;
    case VALUE_INTEGER:
        fprintf(out, "%" PRId64, cell->value.integer);
        break;
    case VALUE_REAL:
        put_real(in_unit(field, cell->value.real), out);
        break;
    case VALUE_NULL:
        break;
    }
}

static void put_cell(const struct field *field, const struct sheet *cell, FILE *out)
{
    if (field->is_range) {
        put_range(cell, out);
    } else if (cell != NULL && cell->kind == SHEET_VALUE) {
        put_value(field, cell, out);
    }
}

static const char *name_of(const struct field *field)
{
    return field->csv != NULL ? field->csv : field->key != NULL ? field->key : field->head;
}

const char *sheet_table_name(const struct sheet *table)
{
    const char *name = table->key;
    for (uint32_t i = 0; i < table->field_count && name == NULL; i++) {
        name = table->fields[i].head != NULL ? name_of(&table->fields[i]) : NULL;
    }
    char *text = arena_strdup(table->arena, name != NULL ? name : "table");
    size_t length = 0;
    for (const char *at = text; *at != '\0'; at++) {
        const bool is_kept = isalnum((unsigned char)*at) != 0;
        if (is_kept || (length > 0 && text[length - 1] != '-')) {
            const int letter = is_kept ? tolower((unsigned char)*at) : '-';
            text[length++] = (char)letter;
        }
    }
    length -= length > 0 && text[length - 1] == '-';
    text[length] = '\0';
    return text;
}

static void put_head(struct arena *arena, const struct field *field, FILE *out)
{
    const char *name = name_of(field);
    if (field->is_range) {
        put_text(arena, arena_printf(arena, "%s_low", name), out);
        fputc(',', out);
        name = arena_printf(arena, "%s_high", name);
    }
    put_text(arena, name, out);
}

/* The heads, where there is no row. */
static void put_line(const struct sheet *table, const struct sheet *row, FILE *out)
{
    bool has_begun = false;
    for (uint32_t i = 0; i < table->field_count; i++) {
        const struct field *field = &table->fields[i];
        if (field->head == NULL) {
            continue;
        }
        fputs(has_begun ? "," : "", out);
        has_begun = true;
        if (row == NULL) {
            put_head(table->arena, field, out);
        } else {
            put_cell(field, row->cells[i], out);
        }
    }
    fputs("\r\n", out);
}

void sheet_print_csv(const struct sheet *table, FILE *out)
{
    put_line(table, NULL, out);
    for (const struct sheet *row = table->first; row != NULL; row = row->next) {
        if (!row->is_caption) {
            put_line(table, row, out);
        }
    }
}
