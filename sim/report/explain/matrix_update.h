/* What a screen says of matrices that have a rule of their own, where there is one. */
#ifndef REPORT_EXPLAIN_MATRIX_UPDATE_H
#define REPORT_EXPLAIN_MATRIX_UPDATE_H

struct result;
struct scenario;
struct ledger;
struct sheet;

/* Below the causes of a step: how much of the optimizer are products, in time and TFLOP/s. */
void matrix_update_say(const struct result *result, struct sheet *sheet);

/* Behind the sums of a step: stage 0's matrices, each shape with its FLOPs, and all products. */
void matrix_update_record(const struct scenario *scenario, struct ledger *ledger);

#endif
