/* Bytes of what one layer and one microbatch keep on one GPU: a part of plan/memory.
 *
 * `has_experts` says which kind of layer is asked for.
 */
#ifndef PLAN_MEMORY_LAYER_H
#define PLAN_MEMORY_LAYER_H

#include "spec/scenario.h"

/* Tokens of one rank: context parallelism shares them. */
double memory_microbatch_tokens(const struct scenario *scenario);

double memory_element_bytes(const struct scenario *scenario);

/* How many parts a tensor is cut into that tp does not cut by itself. */
double memory_sequence_parts(const struct scenario *scenario);

/* A tensor of one hidden vector per token, such as a layer's input. */
double memory_hidden_bytes(const struct scenario *scenario);

/* What a layer keeps when it recomputes what is selected, or nothing. */
double memory_tabled_bytes(const struct scenario *scenario, bool has_experts, bool keeps_all);

/* What it keeps under the scenario's recomputation. */
double memory_kept_bytes(const struct scenario *scenario, bool has_experts);

#endif
