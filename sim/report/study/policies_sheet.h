/* What is said of a search of policies (study/policy/policy): the best and those by name, how far
 * each lies behind it, and which cannot be told apart.
 */
#ifndef REPORT_STUDY_POLICIES_SHEET_H
#define REPORT_STUDY_POLICIES_SHEET_H

#include "input/doc/doc.h"
#include "report/study/shown_points.h"
#include "study/policy/policy_study.h"

struct policies_shown {
    const struct policy_found *found; /* one at least is good */
    const struct policy_space *space;
    enum policy_by by;
    const struct policy_point *points; /* of the study's points */
    double host_s;                     /* how long it took */
};

/* The metrics of its table where nobody asks for others. */
struct point_columns policies_columns(struct arena *arena);

void policies_add(const struct policies_shown *shown, const struct shown_points *points,
                  struct sheet *sheet);

/* None makes progress, or none can be. Returns false. */
bool policies_tell_nothing(const struct policy_found *found, const struct doc_node *document,
                           struct diag *diag);

#endif
