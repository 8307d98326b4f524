/* The formulas in their order: parameters, states, activations.
 *
 *   dense layer   2 h^2 ((1 + kv/n) nd/h + ffn/h gate), gate 1.5 for SwiGLU
 *   norms         2 a layer and one at the end, spread evenly over the stages, not cut by t
 *   shard         layers / p / t + embedding / t (the head too when p is 1 and it is not tied)
 */
#include "plan/memory/memory_megatron.h"

#include "base/check.h"
#include "input/job/batch.h"
#include "input/job/lora.h"
#include "input/job/parallel.h"
#include "plan/cost.h"
#include "plan/memory/memory.h"

/* Matrices of attention and MLP of a dense layer, without experts. */
static double layer_matrices(const struct model *model, bool has_experts)
{
    const double h = (double)model->hidden;
    const double queries = (double)(model->heads * model->head_dim) / h;
    const double groups = (double)model->kv_heads / (double)model->heads;
    const double gate = model->mlp == MLP_SWIGLU ? 1.5 : 1.0;
    const double width = (double)(has_experts ? model->shared_hidden : model->ffn_hidden);
    return 2.0 * h * h * ((1.0 + groups) * queries + width / h * gate);
}

static double expert_matrices(const struct model *model)
{
    const double gate = model->mlp == MLP_SWIGLU ? 1.5 : 1.0;
    return 2.0 * (double)model->hidden * (double)model->expert_hidden * gate;
}

struct memory_megatron_parameters memory_megatron_parameters(const struct model *model,
                                                             const struct parallel *parallel)
{
    const double p = (double)parallel->pp, t = (double)parallel->tp;
    const double sparse = (double)model_expert_layers(model, 0, model->layers);
    const double dense = (double)model->layers - sparse;
    const double h = (double)model->hidden;
    const double embedding = h * (double)cost_padded_vocab(model, parallel->tp);
    const double norm = model->norm == NORM_LAYERNORM && !model->has_bare_norms ? 2.0 : 1.0;
    const double norms = norm * (2.0 * (double)model->layers + 1.0) * h;
    const bool has_two = parallel->pp == 1 && !model->has_tied_embeddings && !model->is_headless;
    const double tables = has_two ? 2.0 : 1.0;
    const double layers =
        dense * layer_matrices(model, false) + sparse * layer_matrices(model, true);
    const double etp = parallel->etp > 0 ? (double)parallel->etp : t;
    return (struct memory_megatron_parameters){
        .dense = layers / p / t + tables * embedding / t + norms / p,
        .experts = sparse * (double)model->experts * expert_matrices(model) / p /
                   ((double)parallel->ep * etp),
    };
}

double memory_megatron_states(const struct model *model, const struct parallel *parallel)
{
    const struct memory_megatron_parameters count = memory_megatron_parameters(model, parallel);
    if (parallel->zero == 0) {
        return (count.dense + count.experts) * 18.0;
    }
    return count.dense * (6.0 + 12.0 / (double)memory_dense_ranks(parallel)) +
           count.experts * (6.0 + 12.0 / (double)memory_expert_ranks(parallel));
}

double memory_megatron_activations(const struct model *model, const struct parallel *parallel,
                                   const struct batch *batch)
{
    const double p = (double)parallel->pp, t = (double)parallel->tp;
    const double m = (double)batch->microbatches;
    const double h = (double)model->hidden;
    const double sb = (double)(batch->sequence_length * batch->micro);
    double bytes = sb * h * (18.0 + 4.0 * (double)model->ffn_hidden / h) * (double)model->layers;
    /* Token indices, and the mask of the embedding's dropout. */
    bytes += 8.0 * sb * p + sb * h * p;
    if (parallel->virtual_stages > 1) {
        bytes *= 1.0 + (p - 1.0) / (p * (double)parallel->virtual_stages);
    } else if (parallel->pp > 1) {
        bytes *= m / p < 1.0 ? m / p : 1.0;
    }
    if (parallel->pp == 1 && !model->is_headless) {
        bytes += sb * h * 4.0 * (1.0 + (double)cost_padded_vocab(model, parallel->tp) / h);
    }
    return bytes / t;
}

double memory_megatron_bytes(const struct memory_job *job)
{
    const struct model *model = job->split.model;
    const struct parallel *parallel = job->split.parallel;
    const bool is_described = job->recompute->kind != RECOMPUTE_FULL && model->pattern == NULL &&
                              model->latent.kv_rank == 0 && parallel->zero < 2 &&
                              parallel->is_sequence_parallel && job->split.lora->rank == 0;
    return is_described ? memory_megatron_states(model, parallel) +
                              memory_megatron_activations(model, parallel, job->batch)
                        : 0.0;
}
