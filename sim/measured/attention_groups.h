/* Measured attention by kind of kernel and GPU, and what is fitted to each
 * (measured/attention_fit).
 */
#ifndef MEASURED_ATTENTION_GROUPS_H
#define MEASURED_ATTENTION_GROUPS_H

#include "measured/attention_fit.h"

/* One kind of kernel on one GPU. */
struct attention_group {
    const struct measured *first; /* of the rows */
    struct measured_section rows;
    struct attention_fit fit;
};

struct attention_groups {
    struct arena *arena;
    struct attention_rows rows;
    struct attention_group *groups;
    uint32_t count;
};

/* Groups the rows in the order of their file, and fits each or, where that is only to be checked,
 * takes the GPU's own figures. False with messages. All is the groups' arena's. */
MUST_USE bool attention_groups_fit(struct attention_groups *groups, bool only_checks,
                                   struct diag *diag);

#endif
