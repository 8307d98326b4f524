/* What is said of near misses: plans that miss a GPU's memory, or fit it, by less than predictions
 * of memory are off (bands/memory_errors).
 */
#ifndef REPORT_NEAR_H
#define REPORT_NEAR_H

#include "bands/memory_errors.h"

struct sheet;

/* "by 0.2 %, less than the error of memory: of 71 measured peaks, off by 3.8 % in the median, 44 %
 * lay so far below their prediction", or of room "... above ..."; NULL: it is not near. */
const char *near_words(struct arena *arena, const struct memory_errors *errors, double over);

/* A layout that misses nearly, as a search finds it. */
struct near_miss {
    const char *at;     /* the value of a study at which it does; NULL: of a search by itself */
    const char *layout; /* in words */
    const char *const *sets;
    uint32_t set_count;
    double value, step_s;
    double gain; /* the best's value over its own; ABSENT: nothing fits */
    double memory_bytes, limit_bytes;
    bool is_certified; /* no near miss of its search is better than the best shown */
};

/* "without it the best were 0.7 % better": of the value with the margin and that without (ABSENT:
 * none is better). In the document `margin_costs`, a fraction of the value. */
const char *near_margin_words(struct arena *arena, double best, double within);
double near_margin_costs(double best, double within);

/* Where nothing fits: " with 5 % of it left free (memory.margin)"; "" without a margin. */
const char *near_margin_clause(struct arena *arena, double memory_margin);

/* `near_misses[]`, and in the text a table of them, if there are any. */
void near_add(const struct memory_errors *errors, const struct near_miss *misses, uint32_t count,
              struct sheet *sheet);

/* `memory_error` of the document. Of NULL: null. */
void near_add_errors(const struct memory_errors *errors, struct sheet *sheet);

#endif
