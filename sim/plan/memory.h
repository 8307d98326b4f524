/* Memory of one GPU: weights, gradients, optimizer, activations, and whether they fit.
 *
 * Bytes per parameter follow the recipe of mixed-precision Adam: 16-bit weights,
 * gradients accumulated in the software's gradient precision, fp32 master
 * weights and two moments (12 bytes), sharded over data parallelism by ZeRO
 * stage (Rajbhandari et al. 2020, arXiv 1910.02054, section 5); fp32 training
 * keeps 4 + 4 + 8.
 *
 * Activations per layer follow Korthikanti et al. 2022 (arXiv 2205.05198)
 * table 2 and equations 1-6 for GPT-like models, and for Llama-like models
 * 8h + 4nd + 4*kv*d + 6f + 4n bytes a token (norm inputs and outputs, Q and
 * attention output, K and V, gate/up/product, log-sum-exp of flash attention).
 * In a layer with experts k * (4h + 6f_e) + 6f_shared + 4E take the place of 6f: copies of the
 * tokens, gate/up/product, results, and the router's probabilities in fp32.
 * Context parallelism divides all of it. A stage holds as many microbatches as its schedule
 * keeps in flight, and with recomputation what one layer recomputes during its backward.
 *
 * Dense parameters are sharded over cp * dp ranks, those of routed experts, of which a GPU has
 * one of ep parts, over the cp * dp / ep that hold the same ones.
 *
 * ASSUMES: no CPU offload; temporary workspace is in software.memory.overhead.
 * ASSUMES: biases and norms are on every GPU of a tensor-parallel group (the biases of
 * column-parallel matrices are not: less than 0.1 % of a layer too much).
 */
#ifndef PLAN_MEMORY_H
#define PLAN_MEMORY_H

#include "spec/scenario.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory_use {
    double weights_bytes;
    double gradients_bytes;
    double optimizer_bytes;
    double activations_bytes; /* at the peak, all microbatches in flight, logits too */
    double logits_bytes;      /* part of activations_bytes; last stage only */
    double buffers_bytes;     /* ZeRO 2: a bucket; 3: gathered weights and a gradient */
    double overhead_bytes;    /* context, communication buffers, fragmentation */
    double total_bytes;
};

/* Weights, gradients and optimizer together, of one parameter on each of `dp`
 * ranks: 16-bit 2 + gradient + 12, fp32 and tf32 4 + 4 + 8. ZeRO 1 shards the
 * optimizer, 2 the gradients too, 3 everything. */
double memory_state_bytes_per_parameter(enum precision precision, enum precision gradient,
                                        int64_t zero, int64_t dp);

/* Use of a GPU of pipeline stage `stage` (0-based). */
struct memory_use memory_of_stage(const struct scenario *scenario, int64_t stage);

/* Activation bytes that one layer and one microbatch keep on one GPU between
 * forward and backward, under the scenario's recomputation. Of the last layer: one with experts,
 * if the model has any. */
double memory_layer_activation_bytes(const struct scenario *scenario);

/* Of what activations_bytes of a stage is the sum. */
struct memory_activations {
    int64_t layers_in_flight; /* sum over the microbatches that are */
    double layer_bytes;       /* memory_layer_activation_bytes */
    double kept_bytes;        /* layers_in_flight * layer_bytes, if all layers are alike */
    double recomputed_bytes;  /* of the one layer that goes backward */
    double embedding_bytes;
    double head_bytes; /* logits included */
};
struct memory_activations memory_activations_of_stage(const struct scenario *scenario,
                                                      int64_t stage);

/* A tensor that the backward pass of a layer needs:
 * count * element_bytes * width / parts bytes a token. */
struct memory_tensor {
    const char *what; /* static text */
    int64_t count;
    double element_bytes;
    double width;
    double parts; /* tp, or 1 */
    double bytes; /* of a microbatch */
    bool is_kept; /* false: computed again */
};

/* Those of this scenario's last layer, with whole layers' recomputation none of them kept (but
 * the layer's input). At most MEMORY_TENSORS_MAX; returns how many. */
#define MEMORY_TENSORS_MAX 32
uint32_t memory_layer_tensors(const struct scenario *scenario, struct memory_tensor *tensors);

/* Parameters of one GPU of a stage before sharding over data parallelism. */
double memory_stage_parameters(const struct scenario *scenario, int64_t stage);

/* Of these, of routed experts. */
double memory_stage_expert_parameters(const struct scenario *scenario, int64_t stage);

/* Parameters of one layer on one GPU before sharding over data parallelism: those that every
 * expert rank holds, and those of its experts. */
struct memory_layer_parameters {
    double dense;
    double experts; /* 0: of a dense layer */
};
struct memory_layer_parameters memory_layer_parameters(const struct scenario *scenario,
                                                       bool has_experts);

/* How many ranks share one parameter under data parallelism: cp * dp of dense ones, of
 * experts cp * dp / ep. */
int64_t memory_dense_ranks(const struct parallel *parallel);
int64_t memory_expert_ranks(const struct parallel *parallel);

/* Bytes that all ranks together write into a checkpoint (weights, master
 * weights and moments once each). */
double memory_checkpoint_bytes(const struct scenario *scenario);

struct memory_verdict {
    bool fits;
    int64_t worst_stage;
    struct memory_use worst;
    double limit_bytes;
};

/* The stage that needs most, the first of equals. */
struct memory_verdict memory_check(const struct scenario *scenario);

/* "stage 0 needs 92.1 GB of 80 GB, the largest part activations (61.2 GB); fits with
 * micro 1 or recompute full": what is largest, and the single changes (micro, recompute,
 * zero, tp, pp, cp, ep; GPUs and global batch kept) that would fit. Written to `text`;
 * "" when the verdict is that it fits. */
void memory_explain(const struct scenario *scenario, const struct memory_verdict *verdict,
                    char *text, size_t text_bytes);

/* GPUs needed by the rule of thumb: parameters * 18 bytes * 1.25 / memory, rounded up. */
int64_t memory_rule_of_thumb_gpus(double parameters, double memory_bytes);

#endif
