/* What a stored point can be judged and drawn by: the metrics of run/figures.h, in their order, and
 * the seconds of a step by cause, under the cause's own name.
 *
 * A metric's value is as the store has it (its measure says in which unit); `factor` makes of it
 * what tables show.
 */
#ifndef STORE_STORE_METRICS_H
#define STORE_STORE_METRICS_H

#include "run/figures.h"
#include "store/store.h"

extern const struct figure_metric store_metric_table[];
extern const uint32_t store_metric_count;

/* Their names, for completion and messages. */
const char *const *store_metric_names(uint32_t *count);

/* NULL when there is none of that name. */
const struct figure_metric *store_metric_find(const char *name);

/* ABSENT where the row has none (base/absent.h). */
double store_metric_value(const struct figure_metric *metric, const struct store_row *row);

#endif
