/* The rank mesh: which rank stands where in the parallel layout.
 *
 * Ranks are numbered by the order of the scenario, the first axis fastest. Megatron's default
 * tp-cp-ep-dp-pp is
 *
 *     rank = tp + tp_size * (cp + cp_size * (dp + dp_size * pp))
 *
 * The ranks of one pipeline stage in rising order are its *places*, 0 .. tp * cp * dp - 1: what a
 * rank's number is when the stages are left out. Stages are alike: place q of one talks to place
 * q of the next.
 *
 * The ranks of a stage with the same tp are a *plane*: cp_size * dp_size ranks that hold the
 * same dense parameters.
 *
 * Experts are folded over the places of a stage with a numbering of their own (Megatron Core's
 * parallel folding, arXiv 2504.14960): place = etp + etp_size * (ep + ep_size * edp), where
 * etp_size ranks share the matrices of one expert, ep_size ranks exchange tokens, and the edp
 * that are left hold the same experts. In the order, tp stands for etp, dp for edp; cp has no
 * part in it. So ep may exceed dp. With tp = 1, cp = 2, dp = 4, ep = 4:
 *
 *     place          0  1  2  3 | 4  5  6  7
 *     cp             0  1  0  1 | 0  1  0  1
 *     dp             0  0  1  1 | 2  2  3  3
 *     ep             0  1  2  3 | 0  1  2  3      same experts as place 1: place 5
 *     edp            0  0  0  0 | 1  1  1  1
 *
 * Groups are *lines*: ranks of one stage that differ only in some axes. A table has a row for
 * each kind; the groups of a kind are numbered by stage, then by the other axes in order.
 *
 * Sharding within a part of those that hold the same parameters (HSDP): every `shards`
 * consecutive members of a line hold one copy; those at the same place of each copy are
 * replicas. With DualPipe each piece of the model lies on stages s and pp - 1 - s (`holders` 2),
 * so data lines are those of both, one after the other.
 *
 * Ranks fill nodes in order: rank r is GPU r % gpus_per_node of node r / gpus_per_node.
 */
#ifndef PLAN_MESH_H
#define PLAN_MESH_H

#include "input/job/parallel.h"

#include <stdbool.h>
#include <stdint.h>

struct scenario;

struct mesh {
    uint32_t tp, cp, dp, pp;    /* sizes */
    uint32_t ep, etp;           /* ep * etp divides tp * cp * dp */
    uint32_t shards;            /* ranks over which dense parameters are sharded: divides those that
                              * hold them, cp * dp * holders */
    uint32_t holders;           /* stages that hold each piece of the model: 1; DualPipe 2 */
    uint8_t order[AXIS_COUNT_]; /* enum parallel_axis, the fastest first */
};

struct mesh_place {
    uint32_t tp, cp, dp, pp; /* coordinates */
};

struct mesh mesh_of(const struct parallel *parallel);

uint32_t mesh_size(const struct mesh *mesh);
uint32_t mesh_rank(const struct mesh *mesh, const struct mesh_place *place);
struct mesh_place mesh_place_of(const struct mesh *mesh, uint32_t rank);

/* Ranks of a stage; the rank at a place of one; stage and place of a rank. */
uint32_t mesh_stage_size(const struct mesh *mesh);
uint32_t mesh_stage_rank(const struct mesh *mesh, uint32_t stage, uint32_t place);
uint32_t mesh_stage_of(const struct mesh *mesh, uint32_t rank);
uint32_t mesh_stage_place(const struct mesh *mesh, uint32_t rank);

/* Ranks of a stage with the same dense parameters: cp * dp. */
uint32_t mesh_plane_size(const struct mesh *mesh);

/* ---- lines --------------------------------------------------------------------------- */

enum mesh_line {
    MESH_TENSOR,        /* tp ranks */
    MESH_CONTEXT,       /* cp: they hold parts of the same sequences */
    MESH_DATA,          /* cp * dp: they reduce the gradients of dense parameters */
    MESH_EXPERT,        /* ep: they exchange tokens */
    MESH_EXPERT_TENSOR, /* etp: they share the matrices of each expert */
    MESH_EXPERT_DATA,   /* edp: they reduce the gradients of the same routed experts */
    MESH_LINE_COUNT_
};

uint32_t mesh_line_size(const struct mesh *mesh, enum mesh_line line);
/* Lines of that kind on one stage. */
uint32_t mesh_line_count(const struct mesh *mesh, enum mesh_line line);
/* The rank of one member of line `number`. */
uint32_t mesh_line_rank(const struct mesh *mesh, enum mesh_line line, uint32_t number,
                        uint32_t index);
/* The ranks of line `number` (0 .. count * pp - 1, a stage after the other), rising. */
void mesh_line_ranks(const struct mesh *mesh, enum mesh_line line, uint32_t number,
                     uint32_t *ranks);

/* Whether each line of that kind is a block of ranks that follow one another, from a multiple of
 * its size on. */
bool mesh_lines_are_blocks(const struct mesh *mesh, enum mesh_line line);

/* Whether those that share an expert's matrices are the tensor-parallel groups. */
bool mesh_experts_use_tensor_lines(const struct mesh *mesh);

/* ---- shards ---------------------------------------------------------------------------- */

/* Ranks that hold the same dense parameters, or (MESH_EXPERT_DATA) routed experts, on all
 * stages that have them. */
uint32_t mesh_holders(const struct mesh *mesh, enum mesh_line line);
/* Over how many of them they are sharded. Of experts as many as there are in the ranks of one
 * copy of the dense parameters; 1 when these do not hold all experts. */
uint32_t mesh_shards(const struct mesh *mesh, enum mesh_line line);
/* Groups of holders in the whole mesh; member `index` of one: by stage, then rising. */
uint32_t mesh_holder_groups(const struct mesh *mesh, enum mesh_line line);
uint32_t mesh_holder_rank(const struct mesh *mesh, enum mesh_line line, uint32_t number,
                          uint32_t index);

#endif
