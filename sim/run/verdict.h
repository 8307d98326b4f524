/* Whether a run can be had as it is planned: a plan whose step fits may never end, write
 * checkpoints for longer than what lies between two, or keep more of them than its storage holds.
 */
#ifndef RUN_VERDICT_H
#define RUN_VERDICT_H

#include "run/result.h"

struct diag;

/* Whether there is a result at all: what a layout cannot do, or no GPU, is refused as sizes are
 * that do not divide, and nothing of it is shown. Part of the next. */
MUST_USE bool verdict_of_plan(const struct result *result, struct diag *diag);

/* False, with the reasons and what would help. Of a plan that does not fit, or without a run, true:
 * there is nothing to say of its months. What is odd and can be is noted. */

bool verdict_of_run(const struct result *result, struct diag *diag);

#endif
