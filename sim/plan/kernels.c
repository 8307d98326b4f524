/* The kernels of each segment of a training step, as lists with their sizes.
 *
 * One function per kind of segment, listed in `builders` at the end. Sizes are
 * those of one GPU of a tensor-parallel group of t:
 *
 *     matrix       rows out (n)                       in (k)
 *     qkv          (heads/t + 2*ceil(kv/t))*head_dim  h
 *     projection   h                                  heads/t*head_dim
 *     head         padded vocabulary/t                h
 *
 * Those of the MLP and of experts are in kernels_mlp.c. With context parallelism a rank has the
 * queries of s/c tokens of each sequence, and all keys and values.
 *
 * Elementwise kernels are passes: bytes moved per value, counted from the eager
 * or fused implementation that the comments name. `e` is the bytes of one value.
 *
 * ASSUMES: the bias of QKV is a pass of its own, as in Megatron's linear layers;
 * causal masks are executed as full s x s products when attention is unfused;
 * traffic of statistics (row maxima, norm scales, dropout seeds) is free.
 * Left out: zeroing of buffers, type conversions of weights, embedding sort.
 */
#include "plan/kernel_list.h"
#include "plan/kernels_mlp.h"

#include "base/check.h"

typedef void segment_builder(struct kernel_list *list);

/* ---- sizes of this rank -------------------------------------------------- */

static const struct model *model_of(const struct kernel_list *list)
{
    return list->shape->model;
}

static double values(int64_t rows, int64_t width)
{
    return (double)rows * (double)width;
}

/* Values of a hidden state where sequence parallelism splits it. */
static double hidden_outside(const struct kernel_list *list)
{
    return values(list->tokens_outside, model_of(list)->hidden);
}

/* ---- weight matrices of this rank --------------------------------------- */

static struct weight_matrix qkv(const struct kernel_list *list)
{
    const int64_t hidden = model_of(list)->hidden;
    return (struct weight_matrix){list->shard.qkv_width, hidden, "qkv", "qkv dgrad", "qkv wgrad"};
}

static struct weight_matrix projection(const struct kernel_list *list)
{
    return (struct weight_matrix){model_of(list)->hidden, list->shard.attention_width, "projection",
                                  "projection dgrad", "projection wgrad"};
}

static struct weight_matrix head(const struct kernel_list *list)
{
    return (struct weight_matrix){list->shard.vocab, model_of(list)->hidden, "logits",
                                  "logits dgrad", "logits wgrad"};
}

/* ---- norm, before attention, MLP and head -------------------------------- */

static bool norm_is_eager_rms(const struct kernel_list *list)
{
    return !list->shape->software->fuses_norm && model_of(list)->norm == NORM_RMSNORM;
}

/* Fused: one pass in, one out. PyTorch's own layer_norm reads its input twice. RMSNorm in
 * eager mode (Llama's reference code): to fp32, square, mean, scale, back, times weight. */
static void norm_forward(struct kernel_list *list)
{
    static const struct pass eager_rms[] = {
        {"norm to fp32", 1, 4},   {"norm square", 0, 8}, {"norm mean", 0, 4}, {"norm scale", 0, 8},
        {"norm from fp32", 1, 4}, {"norm weight", 2, 0}, {NULL, 0, 0},
    };
    if (norm_is_eager_rms(list)) {
        kernel_list_passes(list, hidden_outside(list), eager_rms);
        return;
    }
    const double reads = list->shape->software->fuses_norm ? 1 : 2;
    kernel_list_pass(list, hidden_outside(list), (struct pass){"norm", reads + 1, 0});
}

/* Fused: reads x and dy, writes dx. PyTorch's layer_norm reads both again for
 * the weight's gradient. Eager: each forward pass backwards, with two operands. */
static void norm_backward(struct kernel_list *list)
{
    static const struct pass eager_rms[] = {
        {"norm weight backward", 3, 0}, {"norm weight gradient", 2, 0},
        {"norm to fp32", 1, 4},         {"norm scale backward", 0, 12},
        {"norm mean backward", 0, 8},   {"norm square backward", 0, 12},
        {"norm from fp32", 1, 4},       {NULL, 0, 0},
    };
    if (norm_is_eager_rms(list)) {
        kernel_list_passes(list, hidden_outside(list), eager_rms);
        return;
    }
    kernel_list_pass(list, hidden_outside(list), (struct pass){"norm backward", 3, 0});
    if (!list->shape->software->fuses_norm) {
        kernel_list_pass(list, hidden_outside(list), (struct pass){"norm weight gradient", 2, 0});
    }
}

/* The gradient that came past this branch on the residual path is added here. */
static void norm_backward_and_residual(struct kernel_list *list)
{
    norm_backward(list);
    kernel_list_pass(list, hidden_outside(list), (struct pass){"residual gradient", 3, 0});
}

/* ---- bias, dropout and residual, after attention and MLP ------------------ */

static void post_forward(struct kernel_list *list)
{
    const struct model *model = model_of(list);
    const double hidden = hidden_outside(list);
    if (list->shape->software->fuses_dropout_add) {
        kernel_list_pass(list, hidden, (struct pass){"dropout add", 3, model->has_dropout ? 1 : 0});
        return;
    }
    if (model->has_biases) {
        kernel_list_pass(list, hidden, (struct pass){"bias", 2, 0});
    }
    if (model->has_dropout) {
        kernel_list_pass(list, hidden, (struct pass){"dropout", 2, 1});
    }
    kernel_list_pass(list, hidden, (struct pass){"residual add", 3, 0});
}

/* The residual's gradient is the output's own; only mask and bias cost anything. */
static void post_backward(struct kernel_list *list)
{
    const struct model *model = model_of(list);
    if (model->has_dropout) {
        kernel_list_pass(list, hidden_outside(list), (struct pass){"dropout backward", 2, 1});
    }
    if (model->has_biases) {
        kernel_list_pass(list, hidden_outside(list), (struct pass){"bias gradient", 1, 0});
    }
}

/* ---- attention ------------------------------------------------------------ */

static bool is_fused_attention(const struct kernel_list *list)
{
    return list->shape->software->attention != ATTENTION_UNFUSED;
}

static double score_values(const struct kernel_list *list)
{
    return (double)(list->shape->micro * list->shard.heads) *
           values(list->length, list->shape->sequence_length);
}

/* s/c x s by s x head_dim, one per sequence and head: values, and the gradient of Q. */
static struct product from_scores(const struct kernel_list *list)
{
    return (struct product){list->length, model_of(list)->head_dim, list->shape->sequence_length,
                            list->shape->micro * list->shard.heads};
}

/* s/c x head_dim by head_dim x s: scores, and the gradient of the probabilities. */
static struct product to_scores(const struct kernel_list *list)
{
    const struct product size = from_scores(list);
    return (struct product){size.m, size.k, size.n, size.count};
}

/* s x s/c by s/c x head_dim: the gradients of K and V, of all tokens. */
static struct product from_scores_across(const struct kernel_list *list)
{
    const struct product size = from_scores(list);
    return (struct product){size.k, size.n, size.m, size.count};
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

static void unfused_core_forward(struct kernel_list *list)
{
    kernel_list_product(list, "scores", GEMM_FORWARD, to_scores(list));
    softmax_forward(list);
    if (model_of(list)->has_dropout) {
        kernel_list_pass(list, score_values(list), (struct pass){"score dropout", 2, 1});
    }
    kernel_list_product(list, "values", GEMM_FORWARD, from_scores(list));
    kernel_list_pass(list, values(list->tokens, list->shard.attention_width),
                     (struct pass){"context layout", 2, 0});
}

static void unfused_core_backward(struct kernel_list *list)
{
    kernel_list_product(list, "values dgrad", GEMM_DGRAD, to_scores(list));
    kernel_list_product(list, "values wgrad", GEMM_WGRAD, from_scores_across(list));
    if (model_of(list)->has_dropout) {
        kernel_list_pass(list, score_values(list), (struct pass){"score dropout backward", 2, 1});
    }
    softmax_backward(list);
    kernel_list_product(list, "scores dgrad", GEMM_DGRAD, from_scores(list));
    kernel_list_product(list, "scores wgrad", GEMM_WGRAD, from_scores_across(list));
}

/* FLOP: two products of s x s x head_dim, half of which the causal mask skips; the
 * backward pass has five (it computes the scores again). Bytes forward: Q, K, V,
 * O; backward: those and dO read, dQ, dK, dV written (FlashAttention-2,
 * arXiv 2307.08691). */
static void fused_core(struct kernel_list *list, bool is_backward)
{
    const char *name = is_backward ? "attention backward" : "attention";
    struct kernel *kernel = kernel_list_add(list, name, KERNEL_ATTENTION);
    const double head_dim = (double)model_of(list)->head_dim;
    const double q_values = values(list->tokens, list->shard.attention_width);
    const double kv_values =
        values(list->shape->micro * list->shape->sequence_length, list->shard.kv_heads) * head_dim;
    const double products = is_backward ? 5.0 : 2.0;
    const double operands = is_backward ? 4.0 : 2.0;
    kernel->is_backward = is_backward;
    kernel->length = list->length;
    kernel->flop = products * score_values(list) * head_dim;
    kernel->bytes = operands * (q_values + kv_values) * list->element_bytes;
}

static void rotary(struct kernel_list *list, const char *name)
{
    if (model_of(list)->positions == POSITION_ROTARY) {
        const int64_t width = (list->shard.heads + list->shard.kv_heads) * model_of(list)->head_dim;
        kernel_list_pass(list, values(list->tokens, width), (struct pass){name, 2, 0});
    }
}

static void attention_qkv(struct kernel_list *list)
{
    kernel_list_forward(list, qkv(list));
    if (model_of(list)->has_biases) {
        kernel_list_pass(list, values(list->tokens, list->shard.qkv_width),
                         (struct pass){"qkv bias", 2, 0});
    }
    rotary(list, "rotary");
}

static void attention_core(struct kernel_list *list)
{
    if (is_fused_attention(list)) {
        fused_core(list, false);
    } else {
        unfused_core_forward(list);
    }
    kernel_list_forward(list, projection(list));
}

static void attention_forward(struct kernel_list *list)
{
    attention_qkv(list);
    attention_core(list);
}

static void attention_core_backward(struct kernel_list *list)
{
    kernel_list_dgrad(list, projection(list));
    kernel_list_wgrad(list, projection(list));
    if (is_fused_attention(list)) {
        fused_core(list, true);
    } else {
        unfused_core_backward(list);
    }
}

/* "qkv layout": the gradients of Q, K and V are joined for QKV's dgrad. */
static void attention_qkv_backward(struct kernel_list *list)
{
    const double qkv_values = values(list->tokens, list->shard.qkv_width);
    rotary(list, "rotary backward");
    kernel_list_pass(list, qkv_values, (struct pass){"qkv layout", 2, 0});
    if (model_of(list)->has_biases) {
        kernel_list_pass(list, qkv_values, (struct pass){"qkv bias gradient", 1, 0});
    }
}

static void attention_inner_backward(struct kernel_list *list)
{
    attention_core_backward(list);
    attention_qkv_backward(list);
}

static void attention_dgrad(struct kernel_list *list)
{
    kernel_list_dgrad(list, qkv(list));
}

static void attention_wgrad(struct kernel_list *list)
{
    kernel_list_wgrad(list, qkv(list));
}

/* ---- what is computed again ------------------------------------------------ */

/* Without fused attention the core is what is large and cheap (Korthikanti et al. 2022,
 * section 5); with it, the norms' outputs and the activation's. */
static void selective_recompute(struct kernel_list *list)
{
    if (is_fused_attention(list)) {
        norm_forward(list);
        norm_forward(list);
        mlp_activation(list);
    } else {
        unfused_core_forward(list);
    }
}

static void selective_recompute_experts(struct kernel_list *list)
{
    if (is_fused_attention(list)) {
        norm_forward(list);
        norm_forward(list);
        experts_activation(list);
    } else {
        unfused_core_forward(list);
    }
}

/* ---- embedding and head ---------------------------------------------------- */

/* Rows are looked up for all tokens and, when the vocabulary is split, those of
 * other ranks set to zero before the sum over ranks. */
static void embedding_forward(struct kernel_list *list)
{
    const struct model *model = model_of(list);
    const double hidden = values(list->tokens, model->hidden);
    kernel_list_pass(list, hidden, (struct pass){"embedding lookup", 2, 0});
    if (list->shape->tp > 1) {
        kernel_list_pass(list, hidden, (struct pass){"embedding mask", 1, 0});
    }
    if (model->has_embedding_norm) {
        kernel_list_pass(list, hidden, (struct pass){"embedding norm", 2, 0});
    }
    if (model->positions == POSITION_LEARNED) {
        kernel_list_pass(list, hidden, (struct pass){"position add", 3, 0});
    }
    if (model->has_dropout) {
        kernel_list_pass(list, hidden_outside(list), (struct pass){"embedding dropout", 2, 1});
    }
}

/* The scatter adds each token's row to a zeroed table, which is then added to
 * the main gradient: e to zero it, e to read it, 2g to update. */
static void embedding_backward(struct kernel_list *list)
{
    const struct model *model = model_of(list);
    const double hidden = values(list->tokens, model->hidden);
    const double table = values(list->shard.vocab, model->hidden);
    if (model->has_dropout) {
        kernel_list_pass(list, hidden_outside(list),
                         (struct pass){"embedding dropout backward", 2, 1});
    }
    if (model->positions == POSITION_LEARNED) {
        kernel_list_pass(list, hidden, (struct pass){"position gradient", 1, 0});
    }
    if (model->has_embedding_norm) {
        kernel_list_pass(list, hidden, (struct pass){"embedding norm backward", 3, 0});
    }
    kernel_list_pass(list, hidden, (struct pass){"embedding scatter", 3, 0});
    kernel_list_pass(list, table,
                     (struct pass){"embedding gradient", 2, 2.0 * list->gradient_bytes});
}

/* Loss as Megatron's vocabulary-parallel cross entropy (core/tensor_parallel/
 * cross_entropy.py): logits to fp32; maximum; minus the maximum; exponential; sum;
 * division, which leaves the softmax for the backward pass. 6 + 32 bytes a logit
 * in 16-bit training. */
static void head_forward(struct kernel_list *list)
{
    static const struct pass loss[] = {
        {"logits to fp32", 1, 4},
        {"loss maximum", 0, 4},
        {"loss shift", 0, 8},
        {"loss exponential", 0, 8},
        {"loss sum", 0, 4},
        {"loss softmax", 0, 8},
        {NULL, 0, 0},
    };
    kernel_list_forward(list, head(list));
    kernel_list_passes(list, values(list->tokens, list->shard.vocab), loss);
}

/* Softmax minus the target (few values) times the loss gradient, then back to e. */
static void head_backward(struct kernel_list *list)
{
    static const struct pass loss[] = {
        {"loss gradient", 0, 8},
        {"logits from fp32", 1, 4},
        {NULL, 0, 0},
    };
    kernel_list_passes(list, values(list->tokens, list->shard.vocab), loss);
    kernel_list_dgrad(list, head(list));
    kernel_list_wgrad(list, head(list));
}

/* ---- the table -------------------------------------------------------------- */

static segment_builder *const builders[SEGMENT_COUNT_] = {
    [SEGMENT_ATTENTION_PRE] = norm_forward,
    [SEGMENT_ATTENTION] = attention_forward,
    [SEGMENT_ATTENTION_POST] = post_forward,
    [SEGMENT_MLP_PRE] = norm_forward,
    [SEGMENT_MLP] = mlp_forward,
    [SEGMENT_MLP_POST] = post_forward,
    [SEGMENT_MLP_POST_BACKWARD] = post_backward,
    [SEGMENT_MLP_INNER_BACKWARD] = mlp_inner_backward,
    [SEGMENT_MLP_DGRAD] = mlp_dgrad,
    [SEGMENT_MLP_WGRAD] = mlp_wgrad,
    [SEGMENT_MLP_PRE_BACKWARD] = norm_backward_and_residual,
    [SEGMENT_ATTENTION_POST_BACKWARD] = post_backward,
    [SEGMENT_ATTENTION_INNER_BACKWARD] = attention_inner_backward,
    [SEGMENT_ATTENTION_DGRAD] = attention_dgrad,
    [SEGMENT_ATTENTION_WGRAD] = attention_wgrad,
    [SEGMENT_ATTENTION_PRE_BACKWARD] = norm_backward_and_residual,
    [SEGMENT_SELECTIVE_RECOMPUTE] = selective_recompute,
    [SEGMENT_ATTENTION_QKV] = attention_qkv,
    [SEGMENT_ATTENTION_CORE] = attention_core,
    [SEGMENT_ATTENTION_CORE_BACKWARD] = attention_core_backward,
    [SEGMENT_ATTENTION_QKV_BACKWARD] = attention_qkv_backward,
    [SEGMENT_ROUTER] = experts_router,
    [SEGMENT_EXPERTS] = experts_forward,
    [SEGMENT_EXPERTS_POST] = experts_post,
    [SEGMENT_EXPERTS_POST_BACKWARD] = experts_post_backward,
    [SEGMENT_EXPERTS_BACKWARD] = experts_backward,
    [SEGMENT_ROUTER_BACKWARD] = experts_router_backward,
    [SEGMENT_SHARED] = shared_forward,
    [SEGMENT_SHARED_INNER_BACKWARD] = shared_inner_backward,
    [SEGMENT_SHARED_DGRAD] = shared_dgrad,
    [SEGMENT_SHARED_WGRAD] = shared_wgrad,
    [SEGMENT_SELECTIVE_RECOMPUTE_EXPERTS] = selective_recompute_experts,
    [SEGMENT_EMBEDDING] = embedding_forward,
    [SEGMENT_EMBEDDING_BACKWARD] = embedding_backward,
    [SEGMENT_HEAD_PRE] = norm_forward,
    [SEGMENT_HEAD] = head_forward,
    [SEGMENT_HEAD_BACKWARD] = head_backward,
    [SEGMENT_HEAD_PRE_BACKWARD] = norm_backward,
};

static bool is_of_experts(enum segment_kind kind)
{
    return kind >= SEGMENT_ROUTER && kind <= SEGMENT_SELECTIVE_RECOMPUTE_EXPERTS;
}

void cost_segment(const struct cost_shape *shape, enum segment_kind kind, struct segment *segment)
{
    sim_assert(kind < SEGMENT_COUNT_);
    struct kernel_list list;
    kernel_list_init(&list, shape, segment);
    if (is_of_experts(kind) && shape->model->experts == 0) {
        return;
    }
    builders[kind](&list);
}

/* Adam, bytes a parameter: gradient, master weight and both moments read (16), the
 * last three written (12), the 16-bit copy written (2). */
void cost_optimizer(double parameters, enum precision precision, struct segment *segment)
{
    sim_assert(parameters >= 0.0);
    *segment = (struct segment){0};
    const double copy_bytes = precision_bytes(precision) == 2 ? 2.0 : 0.0;
    segment->count = 1;
    segment->kernels[0] = (struct kernel){.name = "adam",
                                          .kind = KERNEL_MEMORY,
                                          .count = 1,
                                          .bytes = parameters * (28.0 + copy_bytes)};
}

double cost_segment_flop(const struct segment *segment)
{
    double flop = 0.0;
    for (uint32_t i = 0; i < segment->count; i++) {
        flop += segment->kernels[i].flop;
    }
    return flop;
}
