/* Where a size was written, and which sizes near it would fit: for input/feasible*.c.
 *
 * Choices are found by trying candidates outwards from the one that failed, over a bounded
 * distance: the rules stay in one predicate each, and no second formula has to agree with them.
 */
#ifndef INPUT_FEASIBLE_CHOICES_H
#define INPUT_FEASIBLE_CHOICES_H

#include "base/diag.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct scenario;

/* What is worked on. */
struct layout {
    struct arena *arena;
    struct scenario *scenario;
    struct diag *diag;
    bool is_quiet; /* nobody reads the messages: choices are not looked for */
};

/* Where a key was written; for one that was not, where it would stand; NULL where nobody is told.
 * `section` may be NULL. */
const struct place *feasible_place(const struct layout *layout, const char *section,
                                   const char *key);

typedef bool feasible_fits(const struct scenario *scenario, int64_t candidate);

/* "2, 4 or 8": the nearest candidates on both sides of `wanted`; NULL when
 * there is none near. */
const char *feasible_nearest(const struct layout *layout, int64_t wanted, feasible_fits *fits);

/* "KEY may be 2, 4 or 8", if there are any. */
void feasible_help(const struct layout *layout, const char *key, int64_t wanted,
                   feasible_fits *fits);

#endif
