/* Takes a formula's text apart into terms and other tokens, once, when a line is added.
 *
 * At each place the longest term that stands there whole is taken; what is no term must be a
 * number, an operator or one of a few functions. Casts are skipped: the values are doubles already.
 * Cost: O(length of the text * terms), paid only by who asks for a record.
 */
#include "base/ledger.h"

#include "base/arena.h"
#include "base/check.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct ledger {
    struct arena *arena;
    struct ledger_line *lines;
    size_t capacity;
    uint32_t count;
};

struct ledger *ledger_new(struct arena *arena)
{
    struct ledger *ledger = arena_array(arena, 1, sizeof *ledger);
    ledger->arena = arena;
    return ledger;
}

uint32_t ledger_line_count(const struct ledger *ledger)
{
    return ledger->count;
}

const struct ledger_line *ledger_line(const struct ledger *ledger, uint32_t index)
{
    sim_assert(index < ledger->count);
    return &ledger->lines[index];
}

/* ---- a formula's text ----------------------------------------------------------- */

static bool is_word(char letter)
{
    return isalnum((unsigned char)letter) != 0 || letter == '_';
}

/* What would make a name that ends here part of a longer one. */
static bool goes_on(const char *text)
{
    return is_word(*text) || *text == '.' || *text == '[' || *text == '(' ||
           strncmp(text, "->", 2) == 0;
}

static size_t cast_length(const char *text)
{
    static const char *const casts[] = {"(double)", "(int64_t)"};
    for (size_t i = 0; *text == '(' && i < sizeof casts / sizeof *casts; i++) {
        if (strncmp(text, casts[i], strlen(casts[i])) == 0) {
            return strlen(casts[i]);
        }
    }
    return 0;
}

/* The longest term that stands here; NULL: none. */
static const struct ledger_term *term_at(const char *text, const struct ledger_term *terms,
                                         uint32_t count)
{
    const struct ledger_term *longest = NULL;
    size_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (terms[i].spelling[0] != text[0]) {
            continue;
        }
        const size_t length = strlen(terms[i].spelling);
        const bool is_here = strncmp(text, terms[i].spelling, length) == 0;
        /* What stands behind it is read only where it is: else the text may end before. */
        if (is_here && length > most && (!is_word(text[length - 1]) || !goes_on(text + length))) {
            longest = &terms[i];
            most = length;
        }
    }
    return longest;
}

/* How long the number, operator or function is that stands here. */
static size_t text_length(const char *text)
{
    if (isdigit((unsigned char)*text) != 0) {
        char *end = NULL;
        (void)strtod(text, &end);
        return (size_t)(end - text);
    }
    size_t length = 0;
    while (is_word(text[length])) {
        length++;
    }
    sim_assert(length > 0 ? text[length] == '(' /* else it is a name that is no term */
                          : strchr("+-*/(),", *text) != NULL);
    return length > 0 ? length : 1;
}

static bool is_used(const struct ledger_line *line, const struct ledger_term *term)
{
    for (uint32_t i = 0; i < line->token_count; i++) {
        if (line->tokens[i].term == term) {
            return true;
        }
    }
    return false;
}

static void take_apart(struct arena *arena, const struct ledger_formula *formula,
                       struct ledger_line *line)
{
    struct ledger_term *terms = arena_array(arena, formula->count, sizeof *terms);
    for (uint32_t i = 0; i < formula->count; i++) {
        terms[i] = formula->terms[i];
    }
    line->tokens = arena_array(arena, strlen(formula->text), sizeof *line->tokens);
    for (const char *at = formula->text; *at != '\0';) {
        const size_t skipped = *at == ' ' ? 1 : cast_length(at);
        if (skipped > 0) {
            at += skipped;
            continue;
        }
        struct ledger_token *token = &line->tokens[line->token_count++];
        token->term = term_at(at, terms, formula->count);
        const size_t length = token->term != NULL ? strlen(token->term->spelling) : text_length(at);
        token->text = arena_strndup(arena, at, length);
        at += length;
    }
    for (uint32_t i = 0; i < formula->count; i++) {
        sim_assert(is_used(line, &terms[i]));
    }
}

/* ---- lines ---------------------------------------------------------------------------- */

static struct ledger_line *add_line(struct ledger *ledger, const char *label, const char *unit,
                                    double value)
{
    ledger->lines = arena_grow(ledger->arena, ledger->lines, &ledger->capacity,
                               (size_t)ledger->count + 1, sizeof *ledger->lines);
    struct ledger_line *line = &ledger->lines[ledger->count++];
    *line = (struct ledger_line){.label = label, .unit = unit, .words = "", .value = value};
    return line;
}

double ledger_sum(struct ledger *ledger, const char *label, const char *unit,
                  const struct ledger_formula *formula, double value)
{
    sim_assert(ledger != NULL); /* the macros ask */
    take_apart(ledger->arena, formula, add_line(ledger, label, unit, value));
    return value;
}

int64_t ledger_count(struct ledger *ledger, const char *label, const char *unit,
                     const struct ledger_formula *formula, int64_t value)
{
    sim_assert(ledger != NULL);
    ledger_sum(ledger, label, unit, formula, (double)value);
    return value;
}

void ledger_say(struct ledger *ledger, const char *label, const char *unit, double value,
                const char *words)
{
    if (ledger != NULL) {
        add_line(ledger, label, unit, value)->words = words;
    }
}

void ledger_remark(struct ledger *ledger, const char *words)
{
    if (ledger != NULL) {
        sim_assert(ledger->count > 0);
        ledger->lines[ledger->count - 1].words = words;
    }
}

const char *ledger_text(struct ledger *ledger, const char *format, ...)
{
    if (ledger == NULL) {
        return "";
    }
    va_list arguments;
    va_start(arguments, format);
    const char *text = arena_vprintf(ledger->arena, format, arguments);
    va_end(arguments);
    return text;
}
