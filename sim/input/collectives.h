/* How the scenario wants its collectives done: the `collectives` mapping.
 *
 *     collectives:
 *       tensor: {algorithm: nvls}
 *       data: {algorithm: multi-rail-ring, protocol: Simple}
 *
 * A key is who uses the collective: tensor, context, expert, data (gradients, parameters
 * and tied embeddings) or world (the gradient norm, and fp8 scales that all ranks of a stage agree
 * on). What is not named is the library's own choice; so is an operation that the named algorithm
 * does not offer (NCCL_ALGO works the same way). Tokens on the way to their experts and back
 * (software.experts.exchange: tokens) are not the library's: no protocol changes them.
 */
#ifndef INPUT_COLLECTIVES_H
#define INPUT_COLLECTIVES_H

#include "input/library.h"
#include "input/schema/schema.h"

enum collective_user {
    COLLECTIVE_USER_TENSOR,
    COLLECTIVE_USER_CONTEXT,
    COLLECTIVE_USER_EXPERT,
    COLLECTIVE_USER_DATA,
    COLLECTIVE_USER_WORLD,
    COLLECTIVE_USER_COUNT_
};

#define COLLECTIVE_ANY UINT32_MAX

/* Numbers of plan/collective/collective's enums, or COLLECTIVE_ANY. */
struct collective_choice {
    uint32_t algorithm;
    uint32_t protocol;
};

#define COLLECTIVE_CHOICE_FREE \
    ((struct collective_choice){.algorithm = COLLECTIVE_ANY, .protocol = COLLECTIVE_ANY})

/* A choice that is not written is COLLECTIVE_ANY, which no word stands for. */
schema_read_function collectives_read_choice;

/* Whether the library runs on this architecture at all: rings and direct sends with the
 * Simple protocol are what everything else falls back to. */
MUST_USE bool collectives_check(const struct library *library, uint32_t architecture,
                                struct diag *diag);

#endif
