/* Each module that can be computed again is a function here that appends its
 * forward kernels once more; two functions at the end say which of them a
 * dense layer and a layer with experts have.
 */
#include "plan/kernels/kernels_recompute.h"

#include "plan/kernels/kernels_attention.h"
#include "plan/kernels/kernels_mlp.h"
#include "plan/kernels/kernels_parts.h"

static bool recomputes(const struct kernel_list *list, enum recompute_module module)
{
    return (list->shape->recompute_modules >> module & 1u) != 0;
}

static void norms(struct kernel_list *list)
{
    if (recomputes(list, RECOMPUTE_NORM)) {
        parts_norm(list, parts_hidden_outside(list));
        if (list->shape->layer->branches == LAYER_BOTH) {
            parts_norm(list, parts_hidden_outside(list));
        }
    }
}

/* ---- products -------------------------------------------------------------- */

static bool has_products(const struct kernel_list *list)
{
    return list->shape->software->memory.keeps_every_second_product;
}

/* None is kept. */
static bool is_low_precision(const struct kernel_list *list)
{
    return kernel_list_precision(list, GEMM_FORWARD) >= PRECISION_FP8;
}

static void attention_products(struct kernel_list *list)
{
    const struct shard *shard = &list->shard;
    const bool is_low = is_low_precision(list);
    const int64_t some = (shard->heads + shard->kv_heads) * list->shape->layer->head_dim;
    if (list->shape->layer->latent.kv_rank > 0) {
        return;
    }
    kernel_list_forward(list, (struct weight_matrix){.out = is_low ? shard->qkv_width : some,
                                                     .in = list->hidden,
                                                     .forward = is_low ? "qkv" : "queries, values",
                                                     .input = OPERAND_FROM_NORM,
                                                     .gathers_input = true});
    if (list->shape->model->positions == POSITION_ROTARY) {
        kernel_list_pass(list, parts_values(list->tokens, some), (struct pass){"rotary", 2, 0});
    }
    if (is_low) {
        kernel_list_forward(list, (struct weight_matrix){.out = list->hidden,
                                                         .in = shard->attention_width,
                                                         .forward = "projection"});
    }
    kernel_list_pass(list, parts_hidden_outside(list), (struct pass){"residual add", 3, 0});
}

/* The gate alone, or the whole first matrix. */
static void mlp_product(struct kernel_list *list)
{
    const bool has_gate = list->shape->layer->mlp == MLP_SWIGLU;
    const bool is_low = is_low_precision(list);
    kernel_list_forward(
        list, (struct weight_matrix){.out = (has_gate && is_low ? 2 : 1) * list->mlp.width,
                                     .in = list->hidden,
                                     .forward = has_gate && !is_low ? "gate" : "fc1",
                                     .input = OPERAND_FROM_NORM,
                                     .gathers_input = true});
}

/* ---- a layer --------------------------------------------------------------- */

static void attention(struct kernel_list *list)
{
    const struct layer_kind *layer = list->shape->layer;
    if (recomputes(list, RECOMPUTE_MLA_UP) && layer_mixes(layer)) {
        attention_up(list);
    }
    if (recomputes(list, RECOMPUTE_CORE_ATTENTION) && layer_attends(layer)) {
        attention_core(list);
    }
    norms(list);
    if (has_products(list) && layer_attends(layer) && !layer->has_index) {
        attention_products(list);
    }
}

void recompute_dense(struct kernel_list *list)
{
    attention(list);
    const bool has_mlp = layer_has_mlp(list->shape->layer);
    if (has_products(list) && has_mlp) {
        mlp_product(list);
    }
    if (recomputes(list, RECOMPUTE_ACTIVATION) && has_mlp) {
        mlp_activation(list);
    }
}

void recompute_experts(struct kernel_list *list)
{
    attention(list);
    if (recomputes(list, RECOMPUTE_ACTIVATION)) {
        experts_activation(list);
    }
}
