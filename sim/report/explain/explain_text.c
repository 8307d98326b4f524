/* Lines of arithmetic are collected first and printed with their columns
 * aligned, with the numbers as a pocket calculator would take them.
 */
#include "report/explain/explain_text.h"

#include "base/arena.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 100

/* ---- records ------------------------------------------------------------------- */

/* How values of a unit are shown; others by themselves, with the unit as a word behind them. */
static const struct unit_row {
    const char *unit;
    double scale;             /* of one as it is shown, in SI base units */
    int decimals;             /* or */
    enum dimension dimension; /* DIM_LAST_: none, the decimals say how */
    const char *shown;
} unit_rows[] = {
    {"s", 1, 6, DIM_LAST_, "s"},
    {"seconds", 1, 1, DIM_LAST_, "s"},
    {"ns", 1e9, 6, DIM_LAST_, "s"},
    {"GPU-ns", 1e9, 3, DIM_LAST_, "GPU-s"},
    {"days", 1, 4, DIM_LAST_, "days"},
    {"%", 0.01, 3, DIM_LAST_, "%"},
    {"W", 1, 2, DIM_LAST_, "W"},
    {"kW", 1e3, 3, DIM_LAST_, "kW"},
    {"MB", 1e6, 6, DIM_LAST_, "MB"},
    {"GB", 1e9, 6, DIM_LAST_, "GB"},
    {"GFLOP/token", 1e9, 6, DIM_LAST_, "GFLOP/token"},
    {"G", 1e9, 6, DIM_LAST_, ""},
    {"tokens/s", 1, 3, DIM_LAST_, "tokens/s"},
    {"GFLOP", 1e9, 6, DIM_LAST_, "GFLOP"},
    {"us", 1e-6, 3, DIM_LAST_, "us"},
    {"ratio", 1, 6, DIM_LAST_, ""},
    {"ns>us", 1e3, 3, DIM_LAST_, "us"},
    {"s>us", 1e-6, 3, DIM_LAST_, "us"},
    {"ns>pp", 1e9, 0, DIM_LAST_, "pp"},
    {"ms;", 1e-3, 3, DIM_LAST_, "ms;"},
    {"us,", 1e-6, 3, DIM_LAST_, "us,"},
    {"PFLOP", 1e15, 4, DIM_LAST_, "PFLOP"},
    {"B/s", 1, 0, DIM_BYTES_PER_S, ""},
    {"FLOP/s", 1, 0, DIM_FLOP_PER_S, ""},
};

/* By the unit's first word; "GB of logits" is shown as "GB" is, with all its words. */
static const struct unit_row *unit_of(const char *unit)
{
    const size_t length = strcspn(unit, " ");
    for (size_t i = 0; i < sizeof unit_rows / sizeof *unit_rows; i++) {
        const char *name = unit_rows[i].unit;
        if (strncmp(name, unit, length) == 0 && name[length] == '\0') {
            return &unit_rows[i];
        }
    }
    return NULL;
}

/* The words behind a number. */
static const char *unit_text(struct arena *arena, const char *unit)
{
    const struct unit_row *row = unit_of(unit);
    if (row == NULL) {
        return unit;
    }
    const char *rest = unit + strcspn(unit, " ");
    rest += row->shown[0] == '\0' && *rest == ' ' ? 1 : 0;
    return arena_printf(arena, "%s%s", row->shown, rest);
}

/* "16,384", "0.749"; of large ones what is behind the point says nothing. */
static const char *plain_text(struct arena *arena, double value)
{
    const bool is_whole = floor(value) == value;
    return is_whole || value >= 1e5 ? number_grouped(arena, value)
                                    : arena_printf(arena, "%.6g", value);
}

static const char *value_text(struct arena *arena, double value, const struct unit_row *row)
{
    return row->dimension != DIM_LAST_
               ? number_quantity(arena, value, row->dimension)
               : arena_printf(arena, "%.*f", row->decimals, value / row->scale);
}

/* "29.868814 s", "64 GPUs", "3.35 TB/s". */
static const char *term_text(struct arena *arena, const struct ledger_term *term)
{
    const struct unit_row *row = unit_of(term->unit);
    const char *unit = unit_text(arena, term->unit);
    const double scaled = row != NULL ? term->value / row->scale : term->value;
    const bool is_plain = row == NULL || (row->dimension == DIM_LAST_ && floor(scaled) == scaled);
    const char *value = is_plain ? plain_text(arena, scaled) : value_text(arena, term->value, row);
    return unit[0] == '\0' ? value : arena_printf(arena, "%s %s", value, unit);
}

static const char *operator_text(const char *token)
{
    static const struct {
        const char *token, *text;
    } rows[] = {{"*", " x "}, {"/", " / "},    {"+", " + "},          {"-", " - "},
                {",", ", "},  {"fmin", "min"}, {"max_double", "max"}, {"fmax", "max"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].token, token) == 0) {
            return rows[i].text;
        }
    }
    return token;
}

static const char *token_text(struct arena *arena, const struct ledger_token *token)
{
    const struct ledger_term *term = token->term;
    if (term == NULL) {
        const bool is_number = token->text[0] >= '0' && token->text[0] <= '9';
        return is_number ? plain_text(arena, strtod(token->text, NULL))
                         : operator_text(token->text);
    }
    return term->name != NULL ? term->name : term_text(arena, term);
}

/* The formula with its values put in, in people's words or in exact numbers. */
static const char *formula_text(struct arena *arena, const struct ledger_line *line, bool is_exact)
{
    const char *text = "";
    for (uint32_t i = 0; i < line->token_count; i++) {
        const struct ledger_token *token = &line->tokens[i];
        const char *exact =
            token->term != NULL ? arena_printf(arena, "%.17g", token->term->value) : token->text;
        text = arena_printf(arena, "%s%s", text, is_exact ? exact : token_text(arena, token));
    }
    return text;
}

void explain_print_ledger(const struct ledger *ledger, struct arena *arena, FILE *out)
{
    struct table *table = table_new(arena);
    for (int column = 0; column < 4; column++) {
        table_column(table, "", column == 2 ? TABLE_RIGHT : TABLE_LEFT);
    }
    for (uint32_t i = 0; i < ledger_line_count(ledger); i++) {
        const struct ledger_line *line = ledger_line(ledger, i);
        const char *between = line->token_count > 0 && line->words[0] != '\0' ? "; " : "";
        const struct unit_row *row = unit_of(line->unit);
        table_cell(table, "  %s", line->label);
        table_cell(table, "%s%s%s", formula_text(arena, line, false), between, line->words);
        table_cell(table, "= %s",
                   row != NULL ? value_text(arena, line->value, row)
                               : plain_text(arena, line->value));
        table_cell(table, "%s", unit_text(arena, line->unit));
    }
    table_print(table, out);
    fputc('\n', out);
}

void explain_put_ledger(const char *key, const struct ledger *ledger, struct arena *arena,
                        struct json *json)
{
    json_array_open(json, key);
    for (uint32_t i = 0; i < ledger_line_count(ledger); i++) {
        const struct ledger_line *line = ledger_line(ledger, i);
        json_object_open(json, NULL);
        json_text(json, "name", line->label);
        json_text(json, "sum", line->token_count > 0 ? formula_text(arena, line, true) : "");
        json_number(json, "value", line->value);
        json_object_close(json);
    }
    json_array_close(json);
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
