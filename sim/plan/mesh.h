/* The rank mesh: which rank stands where in the parallel layout.
 *
 * Ranks are numbered with tensor parallelism fastest, then context, then data,
 * then pipeline (Megatron's default order tp-cp-ep-dp-pp):
 *
 *     rank = tp + tp_size * (cp + cp_size * (dp + dp_size * pp))
 *
 * Expert parallelism has no coordinate of its own: it folds the *plane* of the
 * cp_size * dp_size ranks that share tp and pp. Places in the plane are counted
 * with cp fastest, plane = cp + cp_size * dp. Every ep consecutive places are an
 * expert group, which holds each routed expert once; the places that are equal
 * modulo ep hold the same experts. With cp = 2, dp = 4, ep = 4:
 *
 *     plane          0  1  2  3 | 4  5  6  7
 *     cp             0  1  0  1 | 0  1  0  1
 *     dp             0  0  1  1 | 2  2  3  3
 *     expert index   0  1  2  3 | 0  1  2  3      expert-data group of 1: places 1 and 5
 *
 * Ranks fill nodes in order: rank r is GPU r % gpus_per_node of node r / gpus_per_node.
 */
#ifndef PLAN_MESH_H
#define PLAN_MESH_H

#include <stdint.h>

struct mesh {
    uint32_t tp, cp, dp, pp; /* sizes */
    uint32_t ep;             /* divides cp * dp */
};

struct mesh_place {
    uint32_t tp, cp, dp, pp; /* coordinates */
};

uint32_t mesh_rank(const struct mesh *mesh, const struct mesh_place *place);
struct mesh_place mesh_place_of(const struct mesh *mesh, uint32_t rank);
uint32_t mesh_size(const struct mesh *mesh);

/* Size of the plane: the ranks that hold the same dense parameters. */
uint32_t mesh_plane_size(const struct mesh *mesh);
/* Place in the plane of a rank, and the rank at a place. */
uint32_t mesh_plane_of(const struct mesh *mesh, const struct mesh_place *place);
uint32_t mesh_plane_rank(const struct mesh *mesh, uint32_t tp, uint32_t plane, uint32_t pp);

/* The ranks of one group, in ring order, into `ranks`. */
/* tp many. */
void mesh_tensor_group(const struct mesh *mesh, uint32_t cp, uint32_t dp, uint32_t pp,
                       uint32_t *ranks);
/* cp many: they hold parts of the same sequences. */
void mesh_context_group(const struct mesh *mesh, uint32_t tp, uint32_t dp, uint32_t pp,
                        uint32_t *ranks);
/* ep many, from place plane_first (a multiple of ep) on: they exchange tokens. */
void mesh_expert_group(const struct mesh *mesh, uint32_t tp, uint32_t plane_first, uint32_t pp,
                       uint32_t *ranks);
/* cp * dp many, the whole plane: they reduce the gradients of dense parameters. */
void mesh_data_group(const struct mesh *mesh, uint32_t tp, uint32_t pp, uint32_t *ranks);
/* cp * dp / ep many, with the same expert index (0 .. ep - 1): they reduce the gradients of
 * the same routed experts. */
void mesh_expert_data_group(const struct mesh *mesh, uint32_t tp, uint32_t expert_index,
                            uint32_t pp, uint32_t *ranks);

#endif
