/* Records (base/ledger.h) as text and JSON, paragraphs, and numbers of `stoker explain`. */
#ifndef REPORT_EXPLAIN_EXPLAIN_TEXT_H
#define REPORT_EXPLAIN_EXPLAIN_TEXT_H

#include "base/json.h"
#include "base/ledger.h"
#include "report/numbers.h"
#include "input/scenario.h"

#include <stdint.h>
#include <stdio.h>

struct arena;

/* A record as lines "label | formula with its values put in, or words | = value | unit", and an
 * empty line after it. */
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
