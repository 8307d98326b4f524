/* The rank mesh: which rank stands where in the parallel layout.
 *
 * Ranks are numbered with tensor parallelism fastest, then data, then pipeline
 * (Megatron's default order tp-cp-ep-dp-pp with cp = ep = 1):
 *
 *     rank = tp + tp_size * (dp + dp_size * pp)
 *
 * Ranks fill nodes in order: rank r is GPU r % gpus_per_node of node r / gpus_per_node.
 */
#ifndef PLAN_MESH_H
#define PLAN_MESH_H

#include <stdint.h>

struct mesh {
    uint32_t tp, dp, pp; /* sizes */
};

struct mesh_place {
    uint32_t tp, dp, pp; /* coordinates */
};

uint32_t mesh_rank(const struct mesh *mesh, const struct mesh_place *place);
struct mesh_place mesh_place_of(const struct mesh *mesh, uint32_t rank);
uint32_t mesh_size(const struct mesh *mesh);

/* The ranks of one group, in ring order, into `ranks` (tp or dp many). */
void mesh_tensor_group(const struct mesh *mesh, uint32_t dp, uint32_t pp, uint32_t *ranks);
void mesh_data_group(const struct mesh *mesh, uint32_t tp, uint32_t pp, uint32_t *ranks);

#endif
