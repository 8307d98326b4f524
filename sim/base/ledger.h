/* A record of how numbers came about, for `stoker explain` to print.
 *
 * A formula stands once, in the function that computes it:
 *
 *     days = LEDGER_SUM(ledger, "wall-clock", "days", wall_s / SECONDS_PER_DAY,
 *                       LEDGER_TERM(wall_s, "s"), LEDGER_TERM(SECONDS_PER_DAY, "s"));
 *
 * is wall_s / SECONDS_PER_DAY, whatever `ledger` is. When it is not NULL it also gets a line: the
 * text of that expression, which the compiler takes from the very code that it compiles (as assert
 * does), and the value of each name in it. So whoever changes the formula changes what is predicted
 * and what is printed alike. With NULL nothing is copied, formatted or allocated.
 *
 * The expression may have numbers, + - * / ( ), calls of functions, casts, and the expressions
 * that are its terms, each spelled as in the formula ("kind->heads", "state_bytes(format)"). Other
 * text in it, or a term that it does not have, is a bug and ends the program when it is recorded.
 *
 * Values are in SI base units, as everywhere; the unit says how a printer shows them, and stands
 * behind the number: "s", "GB" (of bytes), "GPUs".
 */
#ifndef BASE_LEDGER_H
#define BASE_LEDGER_H

#include "base/check.h"

#include <stddef.h>
#include <stdint.h>

struct arena;
struct ledger;

struct ledger_term {
    const char *spelling; /* as the formula has it */
    const char *unit;     /* NULL: it is shown by its name */
    const char *name;     /* label of the line that says what it is; or NULL */
    double value;
};

/* A number that stands for itself, and one that another line has worked out. */
#define LEDGER_TERM(expression, unit)                   \
    {                                                   \
#expression, (unit), NULL, (double)(expression) \
    }
#define LEDGER_NAME(expression, label)                   \
    {                                                    \
#expression, NULL, (label), (double)(expression) \
    }

/* A part of a formula: a term, or else text: a number, an operator, a parenthesis, a function. */
struct ledger_token {
    const struct ledger_term *term; /* or NULL: */
    const char *text;
};

struct ledger_line {
    const char *label;
    const char *unit;
    const char *words; /* instead of a formula, or after it; "": none */
    double value;
    struct ledger_token *tokens;
    uint32_t token_count; /* 0: the value is measured in a simulation, or a given one */
};

/* The value of the formula, as double or as int64_t; a label is static text or the arena's. Without
 * a ledger this is the formula and one comparison: nothing is put together for a record. */
#define LEDGER_SUM(ledger, label, unit, formula, ...)         \
    ((ledger) == NULL ? (double)(formula)                     \
                      : ledger_sum((ledger), (label), (unit), \
                                   LEDGER_FORMULA_(#formula, __VA_ARGS__), (double)(formula)))
#define LEDGER_COUNT(ledger, label, unit, formula, ...)         \
    ((ledger) == NULL ? (int64_t)(formula)                      \
                      : ledger_count((ledger), (label), (unit), \
                                     LEDGER_FORMULA_(#formula, __VA_ARGS__), (int64_t)(formula)))

#define LEDGER_FORMULA_(text, ...)                                      \
    (&(const struct ledger_formula){(text), LEDGER_TERMS_(__VA_ARGS__), \
                                    LEDGER_COUNT_OF_(__VA_ARGS__)})
#define LEDGER_TERMS_(...) ((const struct ledger_term[]){__VA_ARGS__})
#define LEDGER_COUNT_OF_(...) \
    ((uint32_t)(sizeof LEDGER_TERMS_(__VA_ARGS__) / sizeof(struct ledger_term)))

struct ledger_formula {
    const char *text;
    const struct ledger_term *terms;
    uint32_t count;
};

struct ledger *ledger_new(struct arena *arena);

/* Adds a line and returns its value; `ledger` is not NULL. */
double ledger_sum(struct ledger *ledger, const char *label, const char *unit,
                  const struct ledger_formula *formula, double value);
int64_t ledger_count(struct ledger *ledger, const char *label, const char *unit,
                     const struct ledger_formula *formula, int64_t value);

/* A line without a formula: what a value is, in words. Nothing when `ledger` is NULL. */
void ledger_say(struct ledger *ledger, const char *label, const char *unit, double value,
                const char *words);

/* Words after the formula of the last line. Nothing when `ledger` is NULL. */
void ledger_remark(struct ledger *ledger, const char *words);

/* A label or remark that is made up: "" when `ledger` is NULL. */
const char *ledger_text(struct ledger *ledger, const char *format, ...) PRINTF_LIKE(2, 3);

uint32_t ledger_line_count(const struct ledger *ledger);
const struct ledger_line *ledger_line(const struct ledger *ledger, uint32_t index);

#endif
