/* Sums as text: "what | formula with its inputs | = value | unit", a line each.
 *
 *     struct sums *sums = sums_new(arena);
 *     sums_add(sums, "tokens per step", "%s x %s", "256", "8,192");
 *     sums_is(sums, "tokens", "%s", "2,097,152");
 *     sums_print(sums, out);
 *
 * A line is a label with a formula (which may be ""), then its value.
 */
#ifndef REPORT_EXPLAIN_EXPLAIN_TEXT_H
#define REPORT_EXPLAIN_EXPLAIN_TEXT_H

#include "base/json.h"
#include "base/ledger.h"
#include "report/numbers.h"
#include "input/scenario.h"

#include <stdint.h>
#include <stdio.h>

struct arena;
struct sums;

struct sums *sums_new(struct arena *arena);
void sums_add(struct sums *sums, const char *label, const char *format, ...) PRINTF_LIKE(3, 4);
/* Ends the line; `unit` follows the value. */
void sums_is(struct sums *sums, const char *unit, const char *format, ...) PRINTF_LIKE(3, 4);
/* With an empty line after it. */
void sums_print(const struct sums *sums, FILE *out);

/* The lines of a record, likewise: each formula with its values put in. */
void explain_print_ledger(const struct ledger *ledger, struct arena *arena, FILE *out);
/* As an array of {name, sum, value}: `sum` is the formula in numbers, exact to the last
 * digit, so that a program can work it out; "" of a value that is given or simulated. */
void explain_put_ledger(const char *key, const struct ledger *ledger, struct arena *arena,
                        struct json *json);

/* A paragraph in lines of at most 100 columns, all indented, words kept whole. */
void explain_paragraph(FILE *out, int indent, const char *text);

/* "16,384" */
const char *explain_count(struct arena *arena, int64_t count);

/* GPU-nanoseconds per GPU, in seconds. */
double explain_mean_s(const struct scenario *scenario, int64_t gpu_ns);

#endif
