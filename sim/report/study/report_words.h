/* Inside the report of a study: how its parts say numbers. */
#ifndef REPORT_STUDY_REPORT_WORDS_H
#define REPORT_STUDY_REPORT_WORDS_H

#include "report/study/reported.h"

struct sheet;

/* "447", "21.1", "1,609". */
const char *report_days(struct arena *arena, double days);

/* "41.5" */
const char *report_seconds(struct arena *arena, double seconds);

/* "405 to 493", each as `show` has it; NULL: it is not known. */
const char *report_range(struct arena *arena, const struct reported_range *range,
                         const char *(*show)(struct arena *arena, double value));

/* What the points of a chart's axis or a list are told by: all of their label. */
const char *report_answer(struct arena *arena, const struct reported *reported);

/* A study of that kind has the offers of a quote. */
bool report_is_of_quote(const char *kind);

/* The price of a GPU-hour that a point may have more than the base, so that the same tokens cost
 * the same; ABSENT: one of them has no price. */
double report_worth(const struct reported *reported, uint32_t point);

/* The charts and tables of where steps go. */
void report_add_step(const struct reported *reported, struct sheet *sheet);

/* What it leans on: assumptions, bands, what is not modelled. */
void report_add_trust(const struct reported *reported, struct sheet *sheet);

#endif
