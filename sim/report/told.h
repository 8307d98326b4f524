/* What is wrong with a plan that is predicted all the same, as messages. */
#ifndef REPORT_TOLD_H
#define REPORT_TOLD_H

#include "input/catalogue.h"

struct result;
struct step_result;

/* A warning when groups leave a scale-up domain that could hold them. */
void told_placement(const struct result *result, struct diag *diag);

struct told_setting {
    struct arena *arena;
    const struct catalogue *catalogue; /* whose errors of memory say what is near */
    struct diag *diag;
};

/* Of a scenario's document: an infeasible error when the plan does not fit into memory; of a host
 * with the place of what takes most of it. Where a GPU lacks less than the error of memory, or has
 * less room, that is said, too.
 */
void told_memory(const struct told_setting *setting, const struct doc_node *document,
                 const struct step_result *step);

#endif
