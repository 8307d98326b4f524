/* The kernels of each segment of a training step, as lists with their sizes.
 *
 * One function per kind of segment, listed in `builders` at the end. Sizes are
 * those of one GPU of a tensor-parallel group of t:
 *
 *     matrix          rows out (n)                       in (k)
 *     mtp projection  h                                  2h/t
 *
 * Those of attention are in kernels_attention.c, of the MLP and experts in kernels_mlp.c, of the
 * head in kernels_head.c, norms and adapters in kernels_parts.c.
 *
 * Elementwise kernels are passes: bytes moved per value, counted from the eager
 * or fused implementation that the comments name. `e` is the bytes of one value.
 *
 * ASSUMES: traffic of statistics (row maxima, norm scales, dropout seeds) is free.
 * Left out: zeroing of buffers, type conversions of weights, embedding sort.
 */
#include "input/job/optimizer.h"
#include "plan/kernels/kernels_attention.h"
#include "plan/kernels/kernels_head.h"
#include "plan/kernels/kernels_mixer.h"
#include "plan/kernels/kernels_mlp.h"
#include "plan/kernels/kernels_parts.h"
#include "plan/kernels/kernels_recompute.h"

#include "base/check.h"

typedef void segment_builder(struct kernel_list *list);

/* ---- sizes of this rank -------------------------------------------------- */

static const struct model *model_of(const struct kernel_list *list)
{
    return list->shape->model;
}

/* ---- norm, before attention, MLP and head -------------------------------- */

static void norm_forward(struct kernel_list *list)
{
    parts_norm(list, parts_hidden_outside(list));
}

static void norm_backward(struct kernel_list *list)
{
    parts_norm_backward(list, parts_hidden_outside(list));
}

/* The gradient that came past this branch on the residual path is added here. */
static void norm_backward_and_residual(struct kernel_list *list)
{
    norm_backward(list);
    kernel_list_pass(list, parts_hidden_outside(list), (struct pass){"residual gradient", 3, 0});
}

/* ---- bias, dropout and residual, after attention and MLP ------------------ */

static void post_forward(struct kernel_list *list, bool has_bias)
{
    const struct model *model = model_of(list);
    const double hidden = parts_hidden_outside(list);
    if (list->shape->software->fuses_dropout_add) {
        kernel_list_pass(list, hidden, (struct pass){"dropout add", 3, model->has_dropout ? 1 : 0});
        return;
    }
    if (has_bias) {
        kernel_list_pass(list, hidden, (struct pass){"bias", 2, 0});
    }
    if (model->has_dropout) {
        kernel_list_pass(list, hidden, (struct pass){"dropout", 2, 1});
    }
    kernel_list_pass(list, hidden, (struct pass){"residual add", 3, 0});
}

/* The residual's gradient is the output's own; only mask and bias cost anything. */
static void post_backward(struct kernel_list *list, bool has_bias)
{
    const struct model *model = model_of(list);
    if (model->has_dropout) {
        kernel_list_pass(list, parts_hidden_outside(list), (struct pass){"dropout backward", 2, 1});
    }
    if (has_bias && !parts_is_frozen(list)) {
        kernel_list_pass(list, parts_hidden_outside(list), (struct pass){"bias gradient", 1, 0});
    }
}

static bool has_mixer_bias(const struct kernel_list *list)
{
    const struct mixer *mixer = list->shape->layer->mixer;
    return mixer != NULL ? mixer_has_output_bias(mixer) : model_of(list)->has_projection_biases;
}

static void attention_post(struct kernel_list *list)
{
    post_forward(list, has_mixer_bias(list));
}

static void attention_post_backward(struct kernel_list *list)
{
    post_backward(list, has_mixer_bias(list));
}

static void mlp_post(struct kernel_list *list)
{
    post_forward(list, model_of(list)->has_mlp_biases);
}

static void mlp_post_backward(struct kernel_list *list)
{
    post_backward(list, model_of(list)->has_mlp_biases);
}

/* ---- attention in one piece ------------------------------------------------ */

static void attention_forward(struct kernel_list *list)
{
    attention_qkv(list);
    attention_core(list);
    attention_projection(list);
}

static void attention_inner_backward(struct kernel_list *list)
{
    attention_projection_backward(list);
    attention_core_backward(list);
    attention_qkv_backward(list);
}

/* ---- embedding and head ---------------------------------------------------- */

static bool is_one_hot(const struct kernel_list *list)
{
    return list->shape->software->embedding == EMBEDDING_ONE_HOT;
}

/* Rows are looked up for all tokens and, when the vocabulary is split, those of
 * other ranks set to zero before the sum over ranks. Or a row of zeros and one 1 for each token
 * is multiplied by the table (praxis, layers/embedding_softmax.py, lookup_style matmul): of a
 * split vocabulary by a rank's part of it, which leaves zeros for tokens of others. */
static void embedding_lookup(struct kernel_list *list)
{
    const double hidden = parts_values(list->tokens, list->hidden);
    if (is_one_hot(list)) {
        const struct product size = {list->tokens, list->hidden, list->shard.vocab, 1};
        kernel_list_pass(list, parts_values(list->tokens, list->shard.vocab),
                         (struct pass){"one-hot rows", 1, 0});
        kernel_list_product(list, "embedding by one-hot", GEMM_FORWARD, size);
        return;
    }
    kernel_list_pass(list, hidden, (struct pass){"embedding lookup", 2, 0});
    if (list->shape->tp > 1) {
        kernel_list_pass(list, hidden, (struct pass){"embedding mask", 1, 0});
    }
}

static void embedding_forward(struct kernel_list *list)
{
    const struct model *model = model_of(list);
    const double hidden = parts_values(list->tokens, list->hidden);
    embedding_lookup(list);
    if (model->has_embedding_norm) {
        kernel_list_pass(list, hidden, (struct pass){"embedding norm", 2, 0});
    }
    if (model->positions == POSITION_LEARNED) {
        kernel_list_pass(list, hidden, (struct pass){"position add", 3, 0});
    }
    if (model->has_dropout) {
        kernel_list_pass(list, parts_hidden_outside(list),
                         (struct pass){"embedding dropout", 2, 1});
    }
}

/* The scatter adds each token's row to a zeroed table, which is then added to
 * the main gradient: e to zero it, e to read it, 2g to update. With one-hot rows it is the
 * gradient of a matrix. */
static void embedding_gradient(struct kernel_list *list)
{
    const double table = parts_values(list->shard.vocab, list->hidden);
    if (is_one_hot(list)) {
        const struct product size = {list->shard.vocab, list->hidden, list->tokens, 1};
        struct kernel *product =
            kernel_list_product(list, "embedding one-hot wgrad", GEMM_WGRAD, size);
        kernel_list_accumulate(list, product, table);
        return;
    }
    kernel_list_pass(list, parts_values(list->tokens, list->hidden),
                     (struct pass){"embedding scatter", 3, 0});
    kernel_list_pass(list, table,
                     (struct pass){"embedding gradient", 2, 2.0 * list->gradient_bytes});
}

static void embedding_backward(struct kernel_list *list)
{
    const struct model *model = model_of(list);
    if (parts_is_frozen(list)) {
        return;
    }
    const double hidden = parts_values(list->tokens, list->hidden);
    if (model->has_dropout) {
        kernel_list_pass(list, parts_hidden_outside(list),
                         (struct pass){"embedding dropout backward", 2, 1});
    }
    if (model->positions == POSITION_LEARNED) {
        kernel_list_pass(list, hidden, (struct pass){"position gradient", 1, 0});
    }
    if (model->has_embedding_norm) {
        kernel_list_pass(list, hidden, (struct pass){"embedding norm backward", 3, 0});
    }
    embedding_gradient(list);
}

/* ---- multi-token prediction --------------------------------------------------- */

static struct weight_matrix mtp_projection(const struct kernel_list *list)
{
    return (struct weight_matrix){.out = list->hidden,
                                  .in = (2 * list->hidden + list->shape->tp - 1) / list->shape->tp,
                                  .forward = "mtp projection",
                                  .dgrad = "mtp projection dgrad",
                                  .wgrad = "mtp projection wgrad"};
}

/* Norms of the hidden state and of the next token's embedding, side by side, and back to h by a
 * matrix whose columns tensor parallelism cuts. */
static void mtp_forward(struct kernel_list *list)
{
    const double hidden = parts_hidden_outside(list);
    norm_forward(list);
    norm_forward(list);
    kernel_list_pass(list, 2.0 * hidden, (struct pass){"mtp join", 2, 0});
    kernel_list_forward(list, mtp_projection(list));
}

static void mtp_backward(struct kernel_list *list)
{
    kernel_list_dgrad(list, mtp_projection(list));
    norm_backward(list);
    norm_backward(list);
    kernel_list_pass(list, parts_hidden_outside(list), (struct pass){"mtp gradient add", 3, 0});
}

static void mtp_wgrad(struct kernel_list *list)
{
    if (!parts_is_frozen(list)) {
        kernel_list_wgrad(list, mtp_projection(list));
    }
}

/* ---- the table -------------------------------------------------------------- */

static segment_builder *const builders[SEGMENT_COUNT_] = {
    [SEGMENT_ATTENTION_PRE] = norm_forward,
    [SEGMENT_ATTENTION] = attention_forward,
    [SEGMENT_ATTENTION_POST] = attention_post,
    [SEGMENT_MLP_PRE] = norm_forward,
    [SEGMENT_MLP] = mlp_forward,
    [SEGMENT_MLP_POST] = mlp_post,
    [SEGMENT_MLP_POST_BACKWARD] = mlp_post_backward,
    [SEGMENT_MLP_INNER_BACKWARD] = mlp_inner_backward,
    [SEGMENT_MLP_DGRAD] = mlp_dgrad,
    [SEGMENT_MLP_WGRAD] = mlp_wgrad,
    [SEGMENT_MLP_PRE_BACKWARD] = norm_backward_and_residual,
    [SEGMENT_ATTENTION_POST_BACKWARD] = attention_post_backward,
    [SEGMENT_ATTENTION_INNER_BACKWARD] = attention_inner_backward,
    [SEGMENT_ATTENTION_DGRAD] = attention_dgrad,
    [SEGMENT_ATTENTION_WGRAD] = attention_wgrad,
    [SEGMENT_ATTENTION_PRE_BACKWARD] = norm_backward_and_residual,
    [SEGMENT_SELECTIVE_RECOMPUTE] = recompute_dense,
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
    [SEGMENT_SELECTIVE_RECOMPUTE_EXPERTS] = recompute_experts,
    [SEGMENT_EMBEDDING] = embedding_forward,
    [SEGMENT_EMBEDDING_BACKWARD] = embedding_backward,
    [SEGMENT_HEAD_PRE] = norm_forward,
    [SEGMENT_HEAD] = head_forward,
    [SEGMENT_HEAD_BACKWARD] = head_backward,
    [SEGMENT_HEAD_WGRAD] = head_wgrad,
    [SEGMENT_HEAD_PRE_BACKWARD] = norm_backward,
    [SEGMENT_MLP_INNER_WGRAD] = mlp_inner_wgrad,
    [SEGMENT_ATTENTION_INNER_WGRAD] = attention_projection_wgrad,
    [SEGMENT_EXPERTS_WGRAD] = experts_wgrad,
    [SEGMENT_SHARED_INNER_WGRAD] = shared_inner_wgrad,
    [SEGMENT_ATTENTION_PROJECTION] = attention_projection,
    [SEGMENT_ATTENTION_PROJECTION_BACKWARD] = attention_projection_backward,
    [SEGMENT_MTP] = mtp_forward,
    [SEGMENT_MTP_BACKWARD] = mtp_backward,
    [SEGMENT_MTP_WGRAD] = mtp_wgrad,
};

/* What stands in the place of these where the mixer is a list of operators. */
static void mixer_forward(struct kernel_list *list)
{
    mixer_before(list);
    mixer_core(list);
    mixer_after(list);
}

static void mixer_inner_backward(struct kernel_list *list)
{
    mixer_after_backward(list);
    mixer_core_backward(list);
    mixer_before_backward(list);
}

static segment_builder *const mixer_builders[SEGMENT_COUNT_] = {
    [SEGMENT_ATTENTION] = mixer_forward,
    [SEGMENT_ATTENTION_QKV] = mixer_before,
    [SEGMENT_ATTENTION_CORE] = mixer_core,
    [SEGMENT_ATTENTION_PROJECTION] = mixer_after,
    [SEGMENT_ATTENTION_INNER_BACKWARD] = mixer_inner_backward,
    [SEGMENT_ATTENTION_PROJECTION_BACKWARD] = mixer_after_backward,
    [SEGMENT_ATTENTION_INNER_WGRAD] = mixer_after_wgrad,
    [SEGMENT_ATTENTION_CORE_BACKWARD] = mixer_core_backward,
    [SEGMENT_ATTENTION_QKV_BACKWARD] = mixer_before_backward,
    [SEGMENT_ATTENTION_DGRAD] = mixer_dgrad,
    [SEGMENT_ATTENTION_WGRAD] = mixer_wgrad,
};

static bool is_between(enum segment_kind kind, enum segment_kind first, enum segment_kind last)
{
    return kind >= first && kind <= last;
}

static bool is_of_mixer(enum segment_kind kind)
{
    return is_between(kind, SEGMENT_ATTENTION_PRE, SEGMENT_ATTENTION_POST) ||
           is_between(kind, SEGMENT_ATTENTION_POST_BACKWARD, SEGMENT_ATTENTION_PRE_BACKWARD) ||
           is_between(kind, SEGMENT_ATTENTION_QKV, SEGMENT_ATTENTION_QKV_BACKWARD) ||
           is_between(kind, SEGMENT_ATTENTION_PROJECTION, SEGMENT_ATTENTION_PROJECTION_BACKWARD) ||
           kind == SEGMENT_ATTENTION_INNER_WGRAD;
}

/* Of an MLP or of experts. */
static bool is_around_mlp(enum segment_kind kind)
{
    return kind == SEGMENT_MLP_PRE || kind == SEGMENT_MLP_POST ||
           kind == SEGMENT_MLP_POST_BACKWARD || kind == SEGMENT_MLP_PRE_BACKWARD;
}

/* Segments that a layer of this kind does not have are empty. */
static bool has_segment(const struct layer_kind *layer, enum segment_kind kind)
{
    const bool is_of_experts =
        kind == SEGMENT_EXPERTS_WGRAD || kind == SEGMENT_SHARED_INNER_WGRAD ||
        is_between(kind, SEGMENT_ROUTER, SEGMENT_SELECTIVE_RECOMPUTE_EXPERTS);
    const bool is_of_mlp = kind == SEGMENT_MLP || kind == SEGMENT_MLP_INNER_WGRAD ||
                           kind == SEGMENT_SELECTIVE_RECOMPUTE ||
                           is_between(kind, SEGMENT_MLP_INNER_BACKWARD, SEGMENT_MLP_WGRAD);
    const bool is_of_mtp = is_between(kind, SEGMENT_MTP, SEGMENT_MTP_WGRAD);
    const bool is_recompute = kind == SEGMENT_SELECTIVE_RECOMPUTE;
    if ((is_of_mixer(kind) && !layer_mixes(layer)) ||
        ((is_around_mlp(kind) || (is_of_mlp && !is_recompute)) && !layer_has_mlp(layer))) {
        return false;
    }
    return (!is_of_experts || layer->has_experts) && (!is_of_mlp || !layer->has_experts) &&
           (!is_of_mtp || layer->is_mtp);
}

/* Of a layer that stays in 16 bits everything does. */
static struct cost_shape shape_of_layer(const struct cost_shape *shape)
{
    struct cost_shape of = *shape;
    if (shape->layer->is_high) {
        of.precision = precision_outside(shape->precision);
    }
    return of;
}

/* What is around all layers has the decoder's width and length, whatever layer is asked about. */
static struct cost_shape shape_around(const struct cost_shape *shape)
{
    struct cost_shape around = *shape;
    around.layer = model_layer(shape->model, shape->model->layers - 1);
    return around;
}

void cost_segment(const struct cost_shape *shape, enum segment_kind kind, struct segment *segment)
{
    sim_assert(kind < SEGMENT_COUNT_);
    const bool is_around = is_between(kind, SEGMENT_EMBEDDING, SEGMENT_HEAD_PRE_BACKWARD);
    const struct cost_shape around = is_around ? shape_around(shape) : shape_of_layer(shape);
    struct kernel_list list;
    kernel_list_init(&list, &around, segment);
    const bool has_own = !is_around && around.layer->mixer != NULL && mixer_builders[kind] != NULL;
    if (is_around || has_segment(around.layer, kind)) {
        (has_own ? mixer_builders : builders)[kind](&list);
    }
}

static void add_update(struct segment *segment, const char *name, double bytes)
{
    segment->kernels[segment->count++] =
        (struct kernel){.name = name, .kind = KERNEL_MEMORY, .count = 1, .bytes = bytes};
}

/* Reads and writes of what is updated, of one moment, of the gradient, and of an fp32 temporary. */
struct update_pass {
    const char *name;
    double updated, moment, gradient, temporary;
};

/* _multi_tensor_adamw in torch/optim/adamw.py of https://github.com/pytorch/pytorch (2.2). */
static const struct update_pass foreach_adam[] = {
    {"update decay", 2, 0, 0, 0},   {"update momentum", 0, 2, 1, 0},
    {"update scale", 0, 2, 0, 0},   {"update square", 0, 2, 1, 0},
    {"update root", 0, 1, 0, 1},    {"update correction", 0, 0, 0, 2},
    {"update epsilon", 0, 0, 0, 2}, {"update", 2, 1, 0, 1},
};

void cost_optimizer(double parameters, const struct optimizer *optimizer, enum precision precision,
                    enum update_kind update, struct segment *segment)
{
    sim_assert(parameters >= 0.0);
    segment->count = 0;
    const double weight = (double)precision_bytes(precision);
    const bool has_master = optimizer->master != STATE_NONE;
    const double updated = has_master ? state_bytes((enum state_format)optimizer->master) : weight;
    const double copy = has_master && weight == 2.0 ? weight : 0.0;
    const double states = updated + optimizer_moment_bytes(optimizer);
    const double gradient = state_bytes((enum state_format)optimizer->gradients);
    if (update == UPDATE_FUSED || optimizer->rule != OPTIMIZER_ADAM) {
        add_update(segment, "update", parameters * (gradient + 2.0 * states + copy));
        return;
    }
    const double moment = state_bytes((enum state_format)optimizer->moments);
    for (size_t i = 0; i < sizeof foreach_adam / sizeof *foreach_adam; i++) {
        const struct update_pass *pass = &foreach_adam[i];
        add_update(segment, pass->name,
                   parameters * (pass->updated * updated + pass->moment * moment +
                                 pass->gradient * gradient + pass->temporary * 4.0));
    }
    if (copy > 0) {
        add_update(segment, "update copy", parameters * (updated + copy));
    }
}

double cost_segment_flop(const struct segment *segment)
{
    double flop = 0.0;
    for (uint32_t i = 0; i < segment->count; i++) {
        flop += segment->kernels[i].flop;
    }
    return flop;
}
