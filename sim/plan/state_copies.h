/* Which ranks hold the same states: where the weights and the optimizer's states of a GPU that is
 * lost still are.
 *
 * Of `holders` ranks with the same parameters, whose states are sharded over S of them (ZeRO 0: 1,
 * else parallel.zero_group), those S apart hold the same *part*, the optimizer's states included:
 *
 *     holder      0  1  2  3 | 4  5  6  7      zero_group 4 of 8: two copies of four parts
 *     part        0  1  2  3 | 0  1  2  3
 *
 * Dense parameters and routed experts have parts of their own. A part outlives a node if another
 * node has it, too; with its optimizer sharded over all holders each rank has the only copy.
 *
 * ASSUMES: a second copy of the weights alone (ZeRO++) is none of the states.
 */
#ifndef PLAN_STATE_COPIES_H
#define PLAN_STATE_COPIES_H

#include "plan/mesh.h"

struct arena;

struct state_copies {
    const uint32_t *ranks; /* [parts * each], one part's after the other's */
    uint32_t parts;
    uint32_t each; /* ranks that hold a part, at least 1 */
    uint32_t gpus_per_node;
};

/* Of MESH_DATA or MESH_EXPERT_DATA, sharded or not (ZeRO 0). Memory is the arena's. */
struct state_copies state_copies_of(struct arena *arena, const struct mesh *mesh,
                                    enum mesh_line line, bool is_sharded, uint32_t gpus_per_node);

/* Nodes that hold a part: of that which fewest hold. Scratch memory is the arena's. */
uint32_t state_copies_nodes(struct arena *arena, const struct state_copies *copies);

/* Of domains of so many nodes, one after the other: marks those that hold all copies of a part. */
void state_copies_mark(const struct state_copies *copies, uint32_t nodes_of_domain, bool *marks);

/* Whom the ranks first .. first + count - 1 get their parts from when they are lost: the next of a
 * part that is not among them, of several each another, in turn; the rank itself where there is
 * none. Other cells stay. */
void state_copies_sources(const struct state_copies *copies, uint32_t first, uint32_t count,
                          uint32_t *source);

#endif
