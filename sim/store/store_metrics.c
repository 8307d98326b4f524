/* The tables are made of the rows of run/figures.h and of the causes of a step: none is typed here.
 */
#include "store/store_metrics.h"

#include "run/goodput.h"

#include <stddef.h>
#include <string.h>

#define METRIC_ROW(kind, when, group, key, column, metric, measure_, value, ...) \
    {.name = #metric,                                                            \
     .is_of_months = FIGURE_IS_OF_MONTHS_##when,                                 \
     .needs = FIGURE_NEEDS_##when,                                               \
     .measure = FIGURE_MEASURE_##measure_,                                       \
     .offset = offsetof(struct store_row, column),                               \
     __VA_ARGS__},
#define METRIC_NAME(kind, when, group, key, column, metric, ...) #metric,
#define NO_METRIC(...)
#define METRICS(X) RUN_FIGURES(NO_METRIC, NO_METRIC, NO_METRIC, NO_METRIC, X)

/* Seconds of a step by cause, under the cause's own name. */
#define CAUSE_ROW(id, id_name, words, shorter, ...) \
    {.name = #id_name,                              \
     .csv = #id_name "_s",                          \
     .title = shorter ", s",                        \
     .head = shorter ", s",                         \
     .factor = 1,                                   \
     .format = "%.2f",                              \
     .measure = FIGURE_MEASURE_S,                   \
     .offset = offsetof(struct store_row, breakdown_s) + CAUSE_##id * sizeof(double)},
#define CAUSE_NAME(id, name, ...) #name,

const struct figure_metric store_metric_table[] = {METRICS(METRIC_ROW) STEP_CAUSES(CAUSE_ROW)};
static const char *const metric_names[] = {METRICS(METRIC_NAME) STEP_CAUSES(CAUSE_NAME)};
const uint32_t store_metric_count = sizeof store_metric_table / sizeof *store_metric_table;

const char *const *store_metric_names(uint32_t *count)
{
    *count = store_metric_count;
    return metric_names;
}

const struct figure_metric *store_metric_find(const char *name)
{
    for (uint32_t i = 0; i < store_metric_count; i++) {
        if (strcmp(store_metric_table[i].name, name) == 0) {
            return &store_metric_table[i];
        }
    }
    return NULL;
}

double store_metric_value(const struct figure_metric *metric, const struct store_row *row)
{
    double value = 0;
    memcpy(&value, (const char *)row + metric->offset, sizeof value);
    return value;
}
