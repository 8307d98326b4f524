/* Which ranks hold the same states: where a lost GPU's weights and optimizer's states still are.
 *
 * Of `holders` ranks with the same parameters, sharded over S of them (1 with ZeRO 0; the
 * optimizer's states with ZeRO 1 and 2, weights, too, with 3), those S apart hold the same *part*:
 *
 *     holder      0  1  2  3 | 4  5  6  7      zero_group 4 of 8: two copies of four parts
 *     part        0  1  2  3 | 0  1  2  3
 *
 * Dense parameters and routed experts have parts of their own. A part outlives a node if another
 * node has it, too; with its optimizer sharded over all holders each rank has the only copy.
 *
 * ASSUMES: what no shard is of (gradients, the second weights of ZeRO++) is no copy of the states.
 */
#ifndef PLAN_STATE_COPIES_H
#define PLAN_STATE_COPIES_H

#include "plan/memory/memory_job.h"
#include "plan/mesh.h"

struct arena;

struct state_copies {
    const uint32_t *ranks; /* [parts * each], a part's after the other's */
    uint32_t parts;
    uint32_t each; /* ranks that hold a part, at least 1 */
    uint32_t gpus_per_node;
};

/* Of MESH_DATA or MESH_EXPERT_DATA. Memory is the arena's. */
struct state_copies state_copies_of(struct arena *arena, const struct memory_job *job,
                                    enum mesh_line line, uint32_t gpus_per_node);

/* Nodes that hold a part: of that which fewest hold. */
uint32_t state_copies_nodes(const struct state_copies *copies);

/* Whether all copies of some part lie in nodes first .. first + count - 1. */
bool state_copies_end(const struct state_copies *copies, uint32_t first, uint32_t count);

/* Whom the ranks first .. first + count - 1 get their parts from when they are lost: source[rank]
 * is the next of a part that is not among them, the rank itself where there is none. Others'
 * cells stay. */
void state_copies_sources(const struct state_copies *copies, uint32_t first, uint32_t count,
                          uint32_t *source);

#endif
