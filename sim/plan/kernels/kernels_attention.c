/* Kernels of attention; see the header. Sizes on one of t ranks, n heads, kv of keys and values:
 *
 *     matrix       rows out                           in
 *     qkv          (n/t + 2*ceil(kv/t))*head_dim      h
 *     q down       q_rank                             h
 *     kv down      kv_rank + rope_dim                 h
 *     q up         n/t*head_dim                       q_rank (without one, h)
 *     kv up        n/t*(nope_dim + value_dim)         kv_rank
 *     projection   h                                  n/t*value_dim
 *
 * With context parallelism a rank has the queries of s/c tokens of each sequence, and all keys
 * and values; with Ulysses whole sequences of a c-th of its heads.
 *
 * The bias of QKV is a pass of its own, as in Megatron's linear layers, unless the software has it
 * in the product's epilogue (fusion.qkv_bias).
 *
 * ASSUMES: masks and windows are executed as full products when attention is unfused; sinks are
 * free.
 */
#include "plan/kernels/kernels_attention.h"
#include "plan/kernels/kernels_index.h"
#include "plan/kernels/kernels_parts.h"

static bool is_latent(const struct kernel_list *list)
{
    return list->shape->layer->latent.kv_rank > 0;
}

/* ---- weights --------------------------------------------------------------------- */

static struct weight_matrix qkv(const struct kernel_list *list)
{
    return (struct weight_matrix){.out = list->shard.qkv_width,
                                  .in = list->hidden,
                                  .forward = "qkv",
                                  .dgrad = "qkv dgrad",
                                  .wgrad = "qkv wgrad",
                                  .input = OPERAND_FROM_NORM,
                                  .gathers_input = true};
}

static struct weight_matrix projection(const struct kernel_list *list)
{
    return (struct weight_matrix){.out = list->hidden,
                                  .in = list->shard.attention_width,
                                  .forward = "projection",
                                  .dgrad = "projection dgrad",
                                  .wgrad = "projection wgrad",
                                  .gathers_gradient = true};
}

static struct weight_matrix q_down(const struct kernel_list *list)
{
    return (struct weight_matrix){.out = list->shape->layer->latent.q_rank,
                                  .in = list->hidden,
                                  .forward = "q down",
                                  .dgrad = "q down dgrad",
                                  .wgrad = "q down wgrad",
                                  .input = OPERAND_FROM_NORM};
}

static struct weight_matrix kv_down(const struct kernel_list *list)
{
    const struct latent *latent = &list->shape->layer->latent;
    return (struct weight_matrix){.out = latent->kv_rank + latent->rope_dim,
                                  .in = list->hidden,
                                  .forward = "kv down",
                                  .dgrad = "kv down dgrad",
                                  .wgrad = "kv down wgrad",
                                  .input = OPERAND_FROM_NORM};
}

static struct weight_matrix q_up(const struct kernel_list *list)
{
    const struct layer_kind *layer = list->shape->layer;
    return (struct weight_matrix){.out = list->shard.heads * layer->head_dim,
                                  .in = layer->latent.q_rank > 0 ? layer->latent.q_rank
                                                                 : list->hidden,
                                  .forward = "q up",
                                  .dgrad = "q up dgrad",
                                  .wgrad = "q up wgrad",
                                  .input = OPERAND_FROM_NORM};
}

static struct weight_matrix kv_up(const struct kernel_list *list)
{
    const struct latent *latent = &list->shape->layer->latent;
    return (struct weight_matrix){.out = list->shard.heads * (latent->nope_dim + latent->value_dim),
                                  .in = latent->kv_rank,
                                  .forward = "kv up",
                                  .dgrad = "kv up dgrad",
                                  .wgrad = "kv up wgrad",
                                  .input = OPERAND_FROM_NORM};
}

/* ---- the core -------------------------------------------------------------------- */

static bool is_fused(const struct kernel_list *list)
{
    return list->shape->software->attention != ATTENTION_UNFUSED;
}

static bool core_is_low(const struct kernel_list *list, bool is_backward)
{
    return software_attends_low(list->shape->software, list->shape->precision, is_backward);
}

/* In fp8 it writes what scales of steps before are known for. */
static bool core_writes_low(const struct kernel_list *list)
{
    return list->shape->precision != PRECISION_MXFP8 &&
           list->shape->software->low.recipe == RECIPE_DELAYED;
}

static int64_t core_count(const struct kernel_list *list)
{
    return list->shape->micro * list->core.heads;
}

static double score_values(const struct kernel_list *list)
{
    return (double)core_count(list) * parts_values(list->core.queries, list->core.keys);
}

/* queries x keys by keys x dim, one per sequence and head: values, and the gradient of Q. */
static struct product from_scores(const struct kernel_list *list, int64_t dim)
{
    return (struct product){list->core.queries, dim, list->core.keys, core_count(list)};
}

/* queries x dim by dim x keys: scores, and the gradient of the probabilities. */
static struct product to_scores(const struct kernel_list *list, int64_t dim)
{
    return (struct product){list->core.queries, list->core.keys, dim, core_count(list)};
}

/* keys x queries by queries x dim: the gradients of K and V, of all tokens. */
static struct product across_scores(const struct kernel_list *list, int64_t dim)
{
    return (struct product){list->core.keys, dim, list->core.queries, core_count(list)};
}

/* Eager: scale, mask (with its byte), softmax that reads e and writes fp32, conversion. */
static void softmax_forward(struct kernel_list *list)
{
    static const struct pass eager[] = {
        {"score scale", 2, 0},       {"score mask", 2, 1}, {"softmax", 1, 4},
        {"softmax from fp32", 1, 4}, {NULL, 0, 0},
    };
    if (list->shape->software->fuses_softmax) {
        kernel_list_pass(list, score_values(list), (struct pass){"softmax", 2, 0});
    } else {
        kernel_list_passes(list, score_values(list), eager);
    }
}

/* Fused: reads the probabilities and their gradient, writes the scores' gradient. */
static void softmax_backward(struct kernel_list *list)
{
    static const struct pass eager[] = {
        {"softmax to fp32", 1, 4},
        {"softmax backward", 1, 8},
        {"score mask backward", 2, 1},
        {"score scale backward", 2, 0},
        {NULL, 0, 0},
    };
    if (list->shape->software->fuses_softmax) {
        kernel_list_pass(list, score_values(list), (struct pass){"softmax backward", 3, 0});
    } else {
        kernel_list_passes(list, score_values(list), eager);
    }
}

static void unfused_forward(struct kernel_list *list)
{
    const struct layer_kind *layer = list->shape->layer;
    kernel_list_product(list, "scores", GEMM_FORWARD, to_scores(list, layer->head_dim));
    softmax_forward(list);
    if (list->shape->model->has_dropout) {
        kernel_list_pass(list, score_values(list), (struct pass){"score dropout", 2, 1});
    }
    kernel_list_product(list, "values", GEMM_FORWARD, from_scores(list, layer->value_dim));
    kernel_list_pass(list, parts_values(list->tokens, list->shard.attention_width),
                     (struct pass){"context layout", 2, 0});
}

static void unfused_backward(struct kernel_list *list)
{
    const struct layer_kind *layer = list->shape->layer;
    kernel_list_product(list, "values dgrad", GEMM_DGRAD, to_scores(list, layer->value_dim));
    kernel_list_product(list, "values wgrad", GEMM_WGRAD, across_scores(list, layer->value_dim));
    if (list->shape->model->has_dropout) {
        kernel_list_pass(list, score_values(list), (struct pass){"score dropout backward", 2, 1});
    }
    softmax_backward(list);
    kernel_list_product(list, "scores dgrad", GEMM_DGRAD, from_scores(list, layer->head_dim));
    kernel_list_product(list, "scores wgrad", GEMM_WGRAD, across_scores(list, layer->head_dim));
}

/* Backward kernels in fp8 may go through what a window hides (software.fp8.attention_skips_window),
 * those in 16 bits do not. */
static int64_t window_skipped(const struct kernel_list *list, bool is_low, bool is_backward)
{
    const struct layer_kind *layer = list->shape->layer;
    const bool has_window = layer->window > 0 && layer->window < cost_reach(layer, list->core.keys);
    const bool skips = !(is_low && is_backward) || list->shape->software->low.skips_window;
    return has_window && skips ? layer->window : 0;
}

/* What of the mask the kernel makes use of: a diagonal, and the far end of a window. */
static void set_mask(const struct kernel_list *list, int64_t window, struct kernel *kernel)
{
    struct layer_kind layer = *list->shape->layer;
    layer.window = window;
    kernel->sequence = cost_reach(&layer, list->core.keys);
    kernel->length = window > 0 ? window : kernel->sequence;
    kernel->mean_keys = cost_mean_keys(&layer, list->core.keys);
    kernel->edges = (layer.is_causal ? 1 : 0) + (window > 0 ? 1 : 0);
}

/* FLOP of a pair: forward scores (head_dim) and values (value_dim); backward scores again,
 * gradients of Q and K (head_dim each), of the probabilities and of V (value_dim each). What the
 * mask hides is skipped. Bytes forward: Q, K, V, O; backward: those and dO read, dQ, dK, dV
 * written (FlashAttention-2, arXiv 2307.08691). */
static void fused_core(struct kernel_list *list, bool is_backward)
{
    const struct layer_kind *layer = list->shape->layer;
    const double key = (double)layer->head_dim;
    const double value = (double)layer->value_dim;
    const double queries = (double)core_count(list) * (double)list->core.queries;
    const double kv = parts_values(list->shape->micro * list->core.keys,
                                   list->core.kv_heads * layer_kv_dim(layer));
    const double products = is_backward ? 3.0 * key + 2.0 * value : key + value;
    const bool is_low = core_is_low(list, is_backward);
    struct kernel *kernel =
        kernel_list_add(list, is_backward ? "attention backward" : "attention", KERNEL_ATTENTION);
    kernel->is_backward = is_backward;
    kernel->m = list->core.queries;
    kernel->n = layer->value_dim;
    kernel->k = layer->head_dim;
    kernel->count = core_count(list);
    set_mask(list, window_skipped(list, is_low, is_backward), kernel);
    kernel->precision = is_low ? PRECISION_FP8 : precision_outside(list->shape->precision);
    kernel->flop = 2.0 * queries * kernel->mean_keys * products;
    const double read = is_low ? precision_operand_bytes(PRECISION_FP8) : list->element_bytes;
    const double written = is_low && core_writes_low(list) ? read : list->element_bytes;
    const double inputs = queries * key + kv; /* Q, K, V, and their gradients */
    const double output = queries * value;    /* O, and its gradient */
    kernel->bytes = is_backward ? (inputs + output) * read + (output + inputs) * written
                                : inputs * read + output * written;
}

/* Values of queries, keys and values of this rank's tokens, and of what the core makes of them. */
static double attended_values(const struct kernel_list *list)
{
    const struct layer_kind *layer = list->shape->layer;
    const struct shard *shard = &list->shard;
    return parts_values(list->tokens,
                        shard->heads * layer->head_dim + shard->kv_heads * layer_kv_dim(layer));
}

static double attention_values(const struct kernel_list *list)
{
    return parts_values(list->tokens, list->shard.attention_width);
}

/* TransformerEngine's DotProductAttention between layers in 16 bits (pytorch/attention/
 * dot_product_attention/backends.py, FusedAttnFunc, fp8_mha off): Q, K and V are converted in
 * front of the forward kernel, dO in front of the backward one. With delayed scaling the kernels
 * write fp8, which a pass turns into 16 bits again; otherwise they write 16 bits. */
static void low_core(struct kernel_list *list, bool is_backward)
{
    const double inputs = attended_values(list);
    const double output = attention_values(list);
    static const struct core_conversion forward = {"scale of q, k, v", "convert q, k, v"};
    static const struct core_conversion backward = {"scale of output gradient",
                                                    "convert output gradient"};
    kernel_list_convert_core(list, is_backward ? backward : forward, is_backward ? output : inputs);
    fused_core(list, is_backward);
    if (core_writes_low(list)) {
        const double fp8 = precision_operand_bytes(PRECISION_FP8);
        kernel_list_pass(
            list, is_backward ? inputs : output,
            (struct pass){is_backward ? "q, k, v gradients from fp8" : "attention from fp8", 1,
                          fp8});
    }
}

static void core(struct kernel_list *list, bool is_backward)
{
    if (core_is_low(list, is_backward)) {
        low_core(list, is_backward);
    } else {
        fused_core(list, is_backward);
    }
}

void attention_core(struct kernel_list *list)
{
    if (list->shape->layer->has_index) {
        index_attention(list);
    } else if (is_fused(list)) {
        core(list, false);
    } else {
        unfused_forward(list);
    }
}

void attention_core_backward(struct kernel_list *list)
{
    if (list->shape->layer->has_index) {
        index_attention_backward(list);
    } else if (is_fused(list)) {
        core(list, true);
    } else {
        unfused_backward(list);
    }
}

/* ---- between QKV and core -------------------------------------------------------- */

static int64_t rotary_width(const struct kernel_list *list)
{
    const struct layer_kind *layer = list->shape->layer;
    return is_latent(list) ? (list->shard.heads + 1) * layer->latent.rope_dim
                           : (list->shard.heads + list->shard.kv_heads) * layer->head_dim;
}

/* Eager: x times cosines, halves negated and swapped, times sines, sum. Complex: to fp32, one
 * complex product, back. Matrix: to fp32, each pair times 2 x 2 values, which are written, the sum
 * of each row, back. Backward the same with conjugates, or matrices turned; cosines and sines are
 * few values. */
void attention_rotary(struct kernel_list *list, double values, const char *name)
{
    static const struct pass eager[] = {
        {"rotary cosine", 2, 0},
        {"rotary halves", 3, 0},
        {"rotary sine", 2, 0},
        {"rotary add", 3, 0},
        {NULL, 0, 0},
    };
    static const struct pass complex_product[] = {
        {"rotary to fp32", 1, 4},
        {"rotary product", 0, 8},
        {"rotary from fp32", 1, 4},
        {NULL, 0, 0},
    };
    static const struct pass matrix_product[] = {
        {"rotary to fp32", 1, 4},
        {"rotary products", 0, 12},
        {"rotary sum", 0, 12},
        {"rotary from fp32", 1, 4},
        {NULL, 0, 0},
    };
    const struct software *software = list->shape->software;
    const bool is_scaled = list->shape->model->scales_rotary;
    switch ((enum rotary_kind)(is_scaled ? software->scaled_rotary : software->rotary)) {
    case ROTARY_EAGER:
        kernel_list_strided(list, values, eager);
        return;
    case ROTARY_COMPLEX:
        kernel_list_passes(list, values, complex_product);
        return;
    case ROTARY_MATRIX:
        kernel_list_passes(list, values, matrix_product);
        return;
    case ROTARY_FUSED:
    case ROTARY_COUNT_:
        break;
    }
    kernel_list_pass(list, values, (struct pass){name, 2, 0});
}

static void rotary(struct kernel_list *list, const char *name)
{
    if (list->shape->model->positions == POSITION_ROTARY) {
        attention_rotary(list, parts_values(list->tokens, rotary_width(list)), name);
    }
}

/* Values of queries and keys, which qk_norm normalises head by head. */
static double query_key_values(const struct kernel_list *list)
{
    const int64_t heads = list->shard.heads + list->shard.kv_heads;
    return parts_values(list->tokens, heads * list->shape->layer->head_dim);
}

/* ---- latent attention ------------------------------------------------------------ */

static double compressed_values(const struct kernel_list *list, int64_t rank)
{
    return parts_values(list->tokens_outside, rank);
}

/* The keys' part that all heads share is copied to each: keys are written whole. */
static void latent_layout(struct kernel_list *list, const char *name)
{
    const int64_t width = list->shard.heads * list->shape->layer->head_dim;
    kernel_list_pass(list, parts_values(list->tokens, width), (struct pass){name, 2, 0});
}

static void latent_down(struct kernel_list *list)
{
    list->rows = list->tokens_outside;
    if (list->shape->layer->latent.q_rank > 0) {
        parts_forward(list, q_down(list), LORA_QKV);
    }
    parts_forward(list, kv_down(list), LORA_QKV);
    list->rows = list->tokens;
}

static void latent_up(struct kernel_list *list)
{
    const struct latent *latent = &list->shape->layer->latent;
    if (latent->q_rank > 0) {
        parts_norm(list, compressed_values(list, latent->q_rank));
    }
    parts_norm(list, compressed_values(list, latent->kv_rank));
    parts_forward(list, q_up(list), LORA_QKV);
    parts_forward(list, kv_up(list), LORA_QKV);
    rotary(list, "rotary");
    latent_layout(list, "latent layout");
}

static void latent_backward(struct kernel_list *list)
{
    const struct latent *latent = &list->shape->layer->latent;
    latent_layout(list, "latent layout backward");
    rotary(list, "rotary backward");
    parts_dgrad(list, kv_up(list), LORA_QKV);
    parts_norm_backward(list, compressed_values(list, latent->kv_rank));
    if (latent->q_rank > 0) {
        parts_dgrad(list, q_up(list), LORA_QKV);
        parts_norm_backward(list, compressed_values(list, latent->q_rank));
    }
}

static void latent_dgrad(struct kernel_list *list)
{
    const bool compresses = list->shape->layer->latent.q_rank > 0;
    if (!compresses) {
        parts_dgrad(list, q_up(list), LORA_QKV);
    }
    list->rows = list->tokens_outside;
    if (compresses) {
        parts_dgrad(list, q_down(list), LORA_QKV);
    }
    parts_dgrad(list, kv_down(list), LORA_QKV);
    list->rows = list->tokens;
    kernel_list_pass(list, parts_hidden_outside(list), (struct pass){"latent gradient add", 3, 0});
}

static void latent_wgrad(struct kernel_list *list)
{
    parts_wgrad(list, kv_up(list), LORA_QKV);
    parts_wgrad(list, q_up(list), LORA_QKV);
    list->rows = list->tokens_outside;
    parts_wgrad(list, kv_down(list), LORA_QKV);
    if (list->shape->layer->latent.q_rank > 0) {
        parts_wgrad(list, q_down(list), LORA_QKV);
    }
    list->rows = list->tokens;
}

void attention_up(struct kernel_list *list)
{
    if (is_latent(list)) {
        latent_up(list);
    }
}

/* ---- segments -------------------------------------------------------------------- */

void attention_qkv(struct kernel_list *list)
{
    if (is_latent(list)) {
        latent_down(list);
        latent_up(list);
        return;
    }
    const struct model *model = list->shape->model;
    parts_forward(list, qkv(list), LORA_QKV);
    if (model->has_qkv_biases && !list->shape->software->fuses_qkv_bias) {
        kernel_list_pass(list, parts_values(list->tokens, list->shard.qkv_width),
                         (struct pass){"qkv bias", 2, 0});
    }
    if (model->has_qk_norm) {
        parts_norm(list, query_key_values(list));
    }
    rotary(list, "rotary");
}

void attention_projection(struct kernel_list *list)
{
    parts_forward(list, projection(list), LORA_PROJECTION);
}

void attention_projection_backward(struct kernel_list *list)
{
    parts_dgrad(list, projection(list), LORA_PROJECTION);
}

void attention_projection_wgrad(struct kernel_list *list)
{
    parts_wgrad(list, projection(list), LORA_PROJECTION);
}

/* "qkv layout": the gradients of Q, K and V are joined for QKV's dgrad. */
void attention_qkv_backward(struct kernel_list *list)
{
    if (is_latent(list)) {
        latent_backward(list);
        return;
    }
    const struct model *model = list->shape->model;
    const double qkv_values = parts_values(list->tokens, list->shard.qkv_width);
    rotary(list, "rotary backward");
    if (model->has_qk_norm) {
        parts_norm_backward(list, query_key_values(list));
    }
    kernel_list_pass(list, qkv_values, (struct pass){"qkv layout", 2, 0});
    if (model->has_qkv_biases && !parts_is_frozen(list)) {
        kernel_list_pass(list, qkv_values, (struct pass){"qkv bias gradient", 1, 0});
    }
}

void attention_dgrad(struct kernel_list *list)
{
    if (is_latent(list)) {
        latent_dgrad(list);
    } else {
        parts_dgrad(list, qkv(list), LORA_QKV);
    }
}

void attention_wgrad(struct kernel_list *list)
{
    if (is_latent(list)) {
        latent_wgrad(list);
    } else {
        parts_wgrad(list, qkv(list), LORA_QKV);
    }
}
