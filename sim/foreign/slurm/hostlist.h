/* Slurm's host lists: "n[1-3,7,08-10],login1" is n1 n2 n3 n7 n08 n09 n10 login1.
 *
 * Zeros in front of a number are kept, as its width. Several brackets in a name
 * are all combinations, the first one slowest. At most a million names.
 */
#ifndef FOREIGN_SLURM_HOSTLIST_H
#define FOREIGN_SLURM_HOSTLIST_H

#include "base/check.h"
#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hostlist {
    const char **names; /* the arena's */
    uint32_t count;
    size_t capacity;
    size_t bytes; /* of all names */
};

/* `place` is that of the first letter of `text`; messages point into it. */
MUST_USE bool hostlist_expand(struct arena *arena, const char *text, const struct place *place,
                              struct hostlist *list, struct diag *diag);

#endif
