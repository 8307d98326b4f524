/* Lines of arithmetic are collected first and printed with their columns
 * aligned, with the numbers as a pocket calculator would take them.
 */
#include "report/explain/explain_text.h"

#include "base/arena.h"
#include "report/table.h"

#include <string.h>

#define COLUMNS_MAX 100

struct sums {
    struct table *table;
    struct arena *arena;
};

/* ---- sums ------------------------------------------------------------------ */

struct sums *sums_new(struct arena *arena)
{
    struct sums *sums = arena_alloc(arena, sizeof *sums);
    sums->arena = arena;
    sums->table = table_new(arena);
    table_column(sums->table, "", TABLE_LEFT);
    table_column(sums->table, "", TABLE_LEFT);
    table_column(sums->table, "", TABLE_RIGHT);
    table_column(sums->table, "", TABLE_LEFT);
    return sums;
}

void sums_add(struct sums *sums, const char *label, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *formula = arena_vprintf(sums->arena, format, arguments);
    va_end(arguments);
    table_cell(sums->table, "  %s", label);
    table_cell(sums->table, "%s", formula);
}

void sums_is(struct sums *sums, const char *unit, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *value = arena_vprintf(sums->arena, format, arguments);
    va_end(arguments);
    table_cell(sums->table, "= %s", value);
    table_cell(sums->table, "%s", unit);
}

void sums_print(const struct sums *sums, FILE *out)
{
    table_print(sums->table, out);
    fputc('\n', out);
}

/* ---- words ------------------------------------------------------------------ */

static int columns_of(const char *text, size_t bytes)
{
    int columns = 0;
    for (size_t i = 0; i < bytes; i++) {
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return columns;
}

/* A control character, which could move a terminal's cursor, becomes '?'. */
static void print_word(FILE *out, const char *word, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char letter = (unsigned char)word[i];
        fputc(letter < 0x20 || letter == 0x7f ? '?' : letter, out);
    }
}

void explain_paragraph(FILE *out, int indent, const char *text)
{
    static const char blanks[] = " \n\t";
    int column = 0;
    text += strspn(text, blanks);
    while (*text != '\0') {
        const size_t bytes = strcspn(text, blanks);
        const int columns = columns_of(text, bytes);
        if (column > 0 && column + 1 + columns <= COLUMNS_MAX) {
            fputc(' ', out);
            column++;
        } else {
            fprintf(out, "%s%*s", column > 0 ? "\n" : "", indent, "");
            column = indent;
        }
        print_word(out, text, bytes);
        column += columns;
        text += bytes;
        text += strspn(text, blanks);
    }
    fputc('\n', out);
}

/* ---- numbers ------------------------------------------------------------------ */

const char *explain_count(struct arena *arena, int64_t count)
{
    return number_grouped(arena, (double)count);
}

double explain_mean_s(const struct scenario *scenario, int64_t gpu_ns)
{
    return (double)gpu_ns / (double)scenario->gpus / 1e9;
}
