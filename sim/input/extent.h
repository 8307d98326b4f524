/* Whether a scenario is of a size that can be simulated at all.
 *
 * Every value of a file may be in its range and the whole still absurd: a
 * trillion microbatches, a step of a thousand years. Time is an integer of
 * nanoseconds that ends after 292 years, and programs hold a task for each
 * kernel stretch and collective, so both are bounded here, by generous
 * estimates (within a factor of a few of what the plan will have). No step that
 * anybody would run comes near.
 */
#ifndef INPUT_EXTENT_H
#define INPUT_EXTENT_H

#include "base/check.h"

#include <stdbool.h>

struct diag;
struct scenario;

#define EXTENT_TASKS_MAX 5e7  /* of all stages' programs; 32 bytes each */
#define EXTENT_STEP_S_MAX 1e5 /* of arithmetic, at the stated rate */
#define EXTENT_MOVE_S_MAX 1e8 /* were every byte to cross the slowest link; and of latencies */

#define EXTENT_LOADING_S_MAX 1e3 /* one worker, one microbatch */
#define EXTENT_BUFFER_S_MAX 1e6  /* one worker, its shuffle buffer */

/* To be called after feasible_check. */
MUST_USE bool extent_check(const struct scenario *scenario, struct diag *diag);

/* What of it hangs on the machine alone, whatever the layout: for who checks many. */
struct extent_machine {
    double link_bytes_per_s; /* the slowest link's */
    double round_s;          /* of a collective, at most */
};
struct extent_machine extent_machine_of(const struct scenario *scenario);
MUST_USE bool extent_check_on(const struct extent_machine *machine, const struct scenario *scenario,
                              struct diag *diag);

#endif
