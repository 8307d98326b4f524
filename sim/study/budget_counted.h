/* FLOPs of a token are counted in several ways (plan/cost.h), and who publishes an MFU seldom says
 * by which: what a claim says under each of them.
 */
#ifndef STUDY_BUDGET_COUNTED_H
#define STUDY_BUDGET_COUNTED_H

#include "plan/cost.h"
#include "study/budget.h"

/* One way, and what an audit makes of it. */
struct budget_counted {
    struct budget budget; /* told, with that FLOPs a token */
    double mfu;           /* by the other figures; ABSENT: they do not say */
    bool fits;            /* all figures do */
};

/* Of each way, in the order of enum flop_convention; the claim is of that model and length of
 * sequences. */
const struct budget_counted *budget_count(struct arena *arena, const struct budget *told,
                                          const struct model *model, int64_t sequence);

#endif
