/* Bytes of what one layer and one microbatch keep on one GPU: a part of plan/memory/memory.
 *
 * A table has a row per tensor: when it exists, how wide it is, which module recomputes it, and
 * whose input it is. What a layer keeps until its backward pass, what stays until its weight
 * gradients, and what is computed again are sums over rows.
 */
#ifndef PLAN_MEMORY_MEMORY_LAYER_H
#define PLAN_MEMORY_MEMORY_LAYER_H

#include "input/model.h"
#include "plan/memory/memory_job.h"

struct ledger;

struct memory_layer_bytes {
    double everything; /* nothing recomputed */
    double kept;       /* from the forward to the backward pass */
    double recomputed; /* beside that during the backward pass, until the input gradients */
    double late;       /* between input gradients and weight gradients, where they are apart */
    double working;    /* gradients and gathered inputs while the layer goes backward */
};

/* `is_full`: the layer keeps its input only. */
struct memory_layer_bytes memory_layer_of(const struct memory_shape *shape,
                                          const struct layer_kind *kind, bool is_full);

/* The same; a line is recorded for each tensor, and for what is kept and at work. */
struct memory_layer_bytes memory_layer_record(const struct memory_shape *shape,
                                              const struct layer_kind *kind, bool is_full,
                                              struct ledger *ledger);

/* Modules that selective recomputation computes again: as the user says, or by the kind of
 * attention; 0 unless recomputation is selective. */
uint32_t memory_recomputed_modules(const struct recompute *recompute,
                                   enum attention_kind attention);

/* Tokens of one rank: context parallelism shares them. */
double memory_microbatch_tokens(const struct memory_shape *shape);

/* How many parts a tensor is cut into that tp does not cut by itself. */
double memory_sequence_parts(const struct memory_shape *shape);

/* A tensor of one hidden vector per token, such as a layer's input. */
double memory_hidden_bytes(const struct memory_shape *shape);

#endif
