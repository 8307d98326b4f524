/* Simulated steps as a file: what shards of `stoker validate` hand to the one that joins them.
 *
 * A line of text for each step, integers and hexadecimal floating point, so that nothing is
 * rounded; the first line says which build simulated them, the last how many there are and the hash
 * of all before. A step is known by all that it hangs on (measured/known_steps), so a file can be
 * short of steps, or have some that nobody asks for, but none that is another row's.
 */
#ifndef MEASURED_KNOWN_STEPS_FILE_H
#define MEASURED_KNOWN_STEPS_FILE_H

#include "base/diag.h"
#include "measured/known_steps.h"

/* False with a DIAG_FAILURE. What stood at `path` is replaced when all is written. */
MUST_USE bool known_steps_write(struct arena *arena, const struct known_steps *steps,
                                const char *build, const char *path, struct diag *diag);

/* Adds those of a file. False with a message: it cannot be read, is of another build, or is not
 * whole. */
MUST_USE bool known_steps_read(struct arena *arena, struct known_steps *steps, const char *build,
                               const char *path, struct diag *diag);

#endif
