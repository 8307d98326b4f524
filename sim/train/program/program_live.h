/* Which gathered parameters of a layer are still there when its backward pass needs them.
 *
 * A layer that is computed again uses each of its matrices twice: A, B, C, D, then D, C, B, A.
 * DeepSpeed (runtime/zero/partitioned_param_coordinator.py, stage3_max_reuse_distance) keeps a
 * matrix between the two only if fewer parameters than software.fsdp.reuse_distance are used
 * between them; the others are gathered once more.
 *
 * ASSUMES: attention's matrices are kept or gathered again together, and they come before the
 * MLP's; layers with experts and layers that are computed again in part are gathered once.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_LIVE_H
#define TRAIN_PROGRAM_PROGRAM_LIVE_H

#include "train/program/program.h"

/* The part of a layer's parameters that its backward pass gathers a second time: 0..1. */
double live_again(const struct program_job *job, uint32_t kind);

#endif
