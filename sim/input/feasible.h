/* Whether the sizes of a scenario go together.
 *
 * What must divide (heads by tp, GPUs by tp x pp, the batch by dp x micro, ...)
 * and does not, is an error with the place of the key and the nearest sizes
 * that do. Only what the scenario itself shows is checked here; whether the
 * plan fits in memory is for plan/memory/memory.
 */
#ifndef INPUT_FEASIBLE_H
#define INPUT_FEASIBLE_H

#include "base/check.h"

#include <stdbool.h>

struct arena;
struct diag;
struct scenario;

/* Works out dp, the microbatches, the nodes and the layers of each chunk, and
 * checks them with everything else. Before: everything has been read, and
 * scenario->document is set. */
MUST_USE bool feasible_check(struct arena *arena, struct scenario *scenario, struct diag *diag);

/* The same for who tries many sizes: messages do not say which near ones would do. */
MUST_USE bool feasible_check_quietly(struct arena *arena, struct scenario *scenario,
                                     struct diag *diag);

/* Whether degrees, and over how many states are shared out, go together in a layout that asks for
 * nothing else: where they do not, they do with no schedule and no batch. As feasible_check. */
MUST_USE bool feasible_degrees(struct arena *arena, struct scenario *scenario, struct diag *diag);
/* And with it sequences, cut as the scenario says. */
MUST_USE bool feasible_cuts(struct arena *arena, struct scenario *scenario, struct diag *diag);

/* Whether a scenario whose degrees, micro or recomputation were changed after it was checked
 * still goes together: dp and all other degrees stand for themselves. Layers are not looked at. */
MUST_USE bool feasible_holds(const struct scenario *changed);

#endif
