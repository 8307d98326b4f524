/* How often something fails, in the unit of its source (input/failures/failures.h), and what that
 * is for one component.
 */
#ifndef INPUT_FAILURES_RATE_H
#define INPUT_FAILURES_RATE_H

#include "base/diag.h"

/* As it is written; 0: not said. */
struct written_rate {
    struct place place;
    double count, per_1000_node_days;
    int64_t gpus, gpus_per_node, components;
    double days, mttf_s;
};

/* Of one component of the kind (enum failure_component). NULL, or what the rate lacks. */
const char *rate_settle(const struct written_rate *written, uint32_t of, double *rate_per_s);

#endif
