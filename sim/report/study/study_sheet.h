/* What every study says, whatever is said of its points: before it is run what of its layouts was
 * found and whether there is room for it, then the head of its sheet, and in the end that nothing
 * has a result.
 */
#ifndef REPORT_STUDY_STUDY_SHEET_H
#define REPORT_STUDY_STUDY_SHEET_H

#include "report/sheet.h"
#include "study/study.h"

struct anchor;
struct house;

/* What was auto, of the first points: notes. */
void study_tell_layouts(struct arena *arena, const struct study *study, struct diag *diag);

/* A warning where one process may need more memory than there is, or all together; a note where
 * fewer are taken than there are cores. */
void study_tell_room(const struct study_start *start, struct diag *diag);

struct study_head {
    const struct study *study;
    const struct study_outcome *outcome;
    const char *shard;                /* "2/4"; NULL: all points */
    const struct store_build *others; /* other builds that predicted points of it, too */
    uint32_t other_count;
    const char *const *plots; /* files */
    size_t plot_count;
    const struct anchor *anchor; /* of its first point; NULL: none */
    const struct house *house;   /* likewise */
};

/* version, build, study{key, title, kind}, counts, other_builds, plots, anchor and house. */
void study_add_head(const struct study_head *head, struct sheet *sheet);

/* Below the answer: what all of it takes for granted, and a blank line. */
void study_add_notes(const struct study_head *head, struct sheet *sheet);

/* That none of the points has a result, and which is nearest. */
void study_tell_none(struct arena *arena, const struct store_row *rows, uint32_t count,
                     struct diag *diag);

#endif
