/* Symmetry reduction: which symmetries of the fabric (its turns) leave a job as it was. What is
 * left of a system when each orbit under them is one rank is its quotient.
 *
 * In a job whose ranks fill the cluster in order, replicas do the same at places that nobody can
 * tell apart. So not all of them are built, to be found alike afterwards (plan/symmetry): a system
 * is built of the first rank, group and link of each orbit under turns (hw/fabric_turn),
 *
 *     outer    replica d of each stage takes the place of d + q (modulo dp), q replicas filling
 *              whole leaf groups, or whole nodes of one leaf
 *     middle   the same within each of these: nodes of a leaf group
 *     inner    in each node, rank t of a tensor group takes the place of t + 1 (modulo tp)
 *
 * and each knows how many it stands for. Under all of them a step of 131,072 GPUs in groups of 8
 * has one first rank in each of 16 stages, however many replicas there are. Refinement (train/fold)
 * then finds the classes among these: orbits are alike, so they are the classes of the full system,
 * in their order and with their sizes.
 *
 * Stages that are no whole number of pods, nor pods of stages, lie across them in several ways, and
 * the last pod is filled in part. Then there is no outer turn; in the middle leaf groups change
 * places that lie in one pod in every stage: 131,072 GPUs in pods of 3,072 have 8 first ranks a
 * stage. So it is with nodes where stages lie across leaf groups.
 *
 * A slow GPU makes the units in which it lies unlike others: its leaf group, its place in that, and
 * its place in the tensor group. The others of each level still change places, as do units whose
 * slow GPUs are in the same places: a step of 16,384 GPUs with one slow GPU has 8 first ranks a
 * stage, 2 of each of 2 nodes of its leaf group and of 2 of another. So do ranks that write another
 * part of a checkpoint than most of their stage (plan/checkpoint_roles).
 *
 * A turn is taken where it brings every group onto a group of its kind, and a group that comes
 * onto itself runs only collectives that look the same from each rank (collective_turns): rings,
 * PAT and NVLS do, trees do not. Several jobs, ranks that do not fill nodes in order, DualPipe,
 * ZeRO++, steps with checkpoints to peers' memory, and fabrics without turns have the full system
 * built, and refined.
 */
#ifndef TRAIN_QUOTIENT_H
#define TRAIN_QUOTIENT_H

#include "hw/fabric_turn.h"
#include "plan/checkpoint_roles.h"
#include "train/groups.h"

/* Whether ranks are the GPUs of their numbers. */
bool quotient_fills_in_order(const uint32_t *gpu_of_rank, uint32_t ranks);

/* `gpu_of_rank` NULL: rank r is GPU r; `writers` NULL: none writes a checkpoint. */
struct fabric_turns quotient_turns(struct arena *arena, const struct fabric *fabric,
                                   const struct scenario *scenario,
                                   const struct group_layout *layout,
                                   const struct checkpoint_roles *writers,
                                   const uint32_t *gpu_of_rank);

#endif
