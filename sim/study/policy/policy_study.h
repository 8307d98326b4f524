/* A search of policies and the store: the best policies and those by name as points of a study,
 * predicted already (study/study).
 */
#ifndef STUDY_POLICY_POLICY_STUDY_H
#define STUDY_POLICY_POLICY_STUDY_H

#include "study/policy/policy.h"

/* Which policy a point is. */
struct policy_point {
    const struct policy *policy;
    enum policy_named name; /* POLICY_NAMED_COUNT_: one of the best, by its rank */
    uint32_t rank;          /* from 1 */
};

/* Points: the first `top` good ones, then those by name that were tried. Filled into `points`, as
 * many as the study has; what `found` holds outlives them. */
MUST_USE bool policy_study(struct arena *arena, const struct policy_request *request,
                           const struct policy_found *found, struct study *study,
                           struct policy_point **points, struct diag *diag);

#endif
