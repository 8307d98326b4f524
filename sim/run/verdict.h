/* Whether a run can be had as it is planned: a plan whose step fits may never end, write
 * checkpoints for longer than what lies between two, or keep more of them than its storage holds.
 */
#ifndef RUN_VERDICT_H
#define RUN_VERDICT_H

#include "run/result.h"

struct diag;

/* False, with the reasons and what would help. Of a plan that does not fit, or without a run, true:
 * there is nothing to say of its months. */
bool verdict_of_run(const struct result *result, struct diag *diag);

#endif
