/* What is said of why a step is as long as it is (study/why): the answer in two lines, the causes
 * in their order, numbers that explain nothing, layouts that would be faster, and MFU by each
 * convention. One screen of at most 100 columns; JSON has all of it.
 */
#ifndef REPORT_STUDY_WHY_SHEET_H
#define REPORT_STUDY_WHY_SHEET_H

#include "report/sheet.h"
#include "study/why.h"

/* What the log says of itself. */
struct why_log {
    const char *name;     /* as it was given */
    const char *notes;    /* which lines the step is of; "": nothing is told */
    double step_s;        /* 0: it has none */
    double flop_per_s;    /* of a GPU, as its trainer counts; 0: not told */
    double mfu;           /* the same; 0: not told */
    uint32_t slow, steps; /* lines of steps that stand out, of so many */
    double lost;          /* share of the time, by these beyond the median */
    const char *file;     /* the scenario's; NULL: the log is all */
};

void why_add(const struct why_found *found, const struct result *result, const struct why_log *log,
             struct sheet *sheet);

#endif
