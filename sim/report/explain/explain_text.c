/* A line of arithmetic is a record of a table, with the numbers as a pocket calculator would take
 * them. A paragraph is broken here, word by word, and said.
 */
#include "report/explain/explain_text.h"

#include "base/arena.h"
#include "base/printable.h"

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
        if (name[0] == unit[0] && strncmp(name, unit, length) == 0 && name[length] == '\0') {
            return &unit_rows[i];
        }
    }
    return NULL;
}

/* The words behind a number; `row` is the unit's. */
static const char *unit_text(struct arena *arena, const char *unit, const struct unit_row *row)
{
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
    const char *unit = unit_text(arena, term->unit, row);
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

static const char *joined(struct arena *arena, const char *const *parts, uint32_t count)
{
    size_t length = 0;
    for (uint32_t i = 0; i < count; i++) {
        length += strlen(parts[i]);
    }
    char *text = arena_alloc(arena, length + 1);
    char *end = text;
    for (uint32_t i = 0; i < count; i++) {
        const size_t part_length = strlen(parts[i]);
        memcpy(end, parts[i], part_length);
        end += part_length;
    }
    return text;
}

/* The formula with its values put in, in people's words or in exact numbers. */
static const char *formula_text(struct arena *arena, const struct ledger_line *line, bool is_exact)
{
    const char **parts = arena_array(arena, line->token_count, sizeof *parts);
    for (uint32_t i = 0; i < line->token_count; i++) {
        const struct ledger_token *token = &line->tokens[i];
        parts[i] = !is_exact             ? token_text(arena, token)
                   : token->term != NULL ? arena_printf(arena, "%.17g", token->term->value)
                                         : token->text;
    }
    return joined(arena, parts, line->token_count);
}

static const char *make_sum(struct arena *arena, const void *record)
{
    return formula_text(arena, record, true);
}

static const char *make_formula(struct arena *arena, const void *record)
{
    const struct ledger_line *line = record;
    const char *formula = formula_text(arena, line, false);
    return line->words[0] == '\0' ? formula
                                  : arena_printf(arena, "%s%s%s", formula,
                                                 line->token_count > 0 ? "; " : "", line->words);
}

static const char *make_value(struct arena *arena, const void *record)
{
    const struct ledger_line *line = record;
    const struct unit_row *row = unit_of(line->unit);
    return row != NULL ? value_text(arena, line->value, row) : plain_text(arena, line->value);
}

static const char *make_unit(struct arena *arena, const void *record)
{
    const struct ledger_line *line = record;
    return unit_text(arena, line->unit, unit_of(line->unit));
}

void explain_ledger(struct sheet *in, const char *key, const struct ledger *ledger)
{
    static const struct field fields[] = {
        {"name", FIELD_LEFT(""), .before = "  "},
        {.key = "sum"},
        {NULL, FIELD_LEFT(""), .is_broken = true},
        {"value", FIELD_COUNT(""), .before = "= "},
        {NULL, FIELD_LEFT("")},
    };
    struct sheet *table = sheet_table(in, key, FIELD_LIST(fields));
    for (uint32_t i = 0; i < ledger_line_count(ledger); i++) {
        const struct ledger_line *line = ledger_line(ledger, i);
        sheet_text(table, NULL, line->label);
        sheet_text_of(table, NULL, make_sum, line);
        sheet_text_of(table, NULL, make_formula, line);
        sheet_number_of(table, NULL, line->value, make_value, line);
        sheet_text_of(table, NULL, make_unit, line);
    }
    sheet_say(in, "\n");
}

/* ---- words ------------------------------------------------------------------ */

static const char blanks[] = " \n\t"; /* between words */

static int columns_of(const char *text, size_t bytes)
{
    int columns = 0;
    for (size_t i = 0; i < bytes; i++) {
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return columns;
}

/* Every word goes behind a blank, or behind a line's end and the indent. */
static size_t room_of(const char *text, int indent)
{
    const size_t length = strlen(text);
    return length + (length / 2 + 1) * (size_t)(indent + 1) + 1;
}

void explain_paragraph(struct sheet *in, int indent, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text =
        printable_lines(sheet_arena(in), arena_vprintf(sheet_arena(in), format, arguments));
    va_end(arguments);
    char *lines = arena_alloc(sheet_arena(in), room_of(text, indent));
    char *end = lines;
    int column = 0;
    for (text += strspn(text, blanks); *text != '\0'; text += strspn(text, blanks)) {
        const size_t bytes = strcspn(text, blanks);
        const int columns = columns_of(text, bytes);
        const bool goes_on = column > 0 && column + 1 + columns <= COLUMNS_MAX;
        if (column > 0 && !goes_on) {
            *end++ = '\n';
        }
        const int before = goes_on ? 1 : indent;
        memset(end, ' ', (size_t)before);
        memcpy(end + before, text, bytes);
        end += (size_t)before + bytes;
        column = (goes_on ? column + 1 : indent) + columns;
        text += bytes;
    }
    sheet_say(in, "%s\n", lines);
}

/* ---- numbers ------------------------------------------------------------------ */

double explain_mean_s(int64_t gpu_ns, int64_t gpus)
{
    return (double)gpu_ns / (double)gpus / 1e9;
}
