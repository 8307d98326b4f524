/* Whether a model and its sequences can be cut as the layout says: heads and matrices by tp,
 * experts by ep and etp, sequences by cp, states by the zero group.
 */
#ifndef INPUT_FEASIBLE_MODEL_H
#define INPUT_FEASIBLE_MODEL_H

#include "input/feasible_choices.h"

#include "base/check.h"

/* What needs only the degrees that were written. */
MUST_USE bool feasible_tp(const struct layout *layout);
MUST_USE bool feasible_sequence(const struct layout *layout);

/* dp must be known. */
MUST_USE bool feasible_experts(const struct layout *layout);
/* Fills in the group that shares states where none is given. */
MUST_USE bool feasible_sharding(const struct layout *layout);

/* For choices: ranks of a sequence that divide the GPUs and split it. */
bool feasible_cp_fits(const struct scenario *scenario, int64_t cp);

#endif
