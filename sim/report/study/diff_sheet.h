/* What `stoker diff` tells: the answer, what moved it, where the time goes, which constants are
 * others. */
#ifndef REPORT_STUDY_DIFF_SHEET_H
#define REPORT_STUDY_DIFF_SHEET_H

#include "report/sheet.h"
#include "study/diff/diff.h"

/* Two predictions of which there is a scenario each. */
void diff_add(const struct diff_asked *asked, const struct diff_found *found, struct sheet *sheet);

/* Points of two studies, or runs of two builds, that are of one label each. */
struct diff_point {
    const char *label;
    const struct store_row *rows[2]; /* NULL: that side has none */
};

struct diff_points {
    const char *names[2];  /* of the sides, as the user wrote them */
    const char *titles[2]; /* what they are */
    const struct diff_point *items;
    uint32_t count;
    const char *next; /* the command that tells of one why; NULL: none */
};
void diff_add_points(const struct diff_points *points, struct sheet *sheet);

#endif
