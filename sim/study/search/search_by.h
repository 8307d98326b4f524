/* What layouts are judged by, and no less than what a layout with a least step has of it. */
#ifndef STUDY_SEARCH_SEARCH_BY_H
#define STUDY_SEARCH_SEARCH_BY_H

struct bound;
struct scenario;

/* What a layout is judged by; less is better. */
enum search_by {
    SEARCH_BY_STEP,
    SEARCH_BY_DAYS,
    SEARCH_BY_COST,
    SEARCH_BY_ENERGY,
    SEARCH_BY_COUNT_
};
extern const char *const search_by_names[SEARCH_BY_COUNT_];   /* step, days, cost, energy */
extern const char *const search_by_metrics[SEARCH_BY_COUNT_]; /* of `stoker list metrics` */
extern const char *const search_by_units[SEARCH_BY_COUNT_];   /* s, days, USD, kWh */

/* `base`: the space's scenario. */
double search_least_value(enum search_by by, const struct scenario *base,
                          const struct bound *bound);

#endif
