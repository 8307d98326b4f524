/* Records (base/ledger.h), paragraphs, and numbers of `stoker explain`. */
#ifndef REPORT_EXPLAIN_EXPLAIN_TEXT_H
#define REPORT_EXPLAIN_EXPLAIN_TEXT_H

#include "base/ledger.h"
#include "report/numbers.h"
#include "report/sheet.h"

#include <stdint.h>

struct scenario;

/* A record, and an empty line after it. People read "label | formula with its values put in, or
 * words | = value | unit"; JSON has an array of {name, sum, value}, unless `key` is NULL: `sum` is
 * the formula in numbers, exact to the last digit, so that a program can work it out; "" of a value
 * that is given or simulated. */
void explain_ledger(struct sheet *in, const char *key, const struct ledger *ledger);

/* A paragraph in lines of at most 100 columns, all indented, words kept whole. */
void explain_paragraph(struct sheet *in, int indent, const char *format, ...) PRINTF_LIKE(3, 4);

/* GPU-nanoseconds per GPU, in seconds. */
double explain_mean_s(int64_t gpu_ns, int64_t gpus);

#endif
