/* Passes of each kind of loss, counted from its code, around the three products of the head. */
#include "plan/kernels/kernels_head.h"

#include "plan/kernels/kernels_parts.h"
#include "plan/loss.h"

/* ---- passes over the logits ------------------------------------------------- */

/* Megatron's vocabulary-parallel cross entropy (core/tensor_parallel/cross_entropy.py): logits to
 * fp32; maximum; minus the maximum; exponential; sum; division, which leaves the softmax for the
 * backward pass. 6 + 32 bytes a logit in 16-bit training. Back: softmax minus the target (few
 * values) times the loss gradient, then back to e. */
static const struct pass in_parts[] = {
    {"logits to fp32", 1, 4},
    {"loss maximum", 0, 4},
    {"loss shift", 0, 8},
    {"loss exponential", 0, 8},
    {"loss sum", 0, 4},
    {"loss softmax", 0, 8},
    {NULL, 0, 0},
};
static const struct pass in_parts_backward[] = {
    {"loss gradient", 0, 8},
    {"logits from fp32", 1, 4},
    {NULL, 0, 0},
};

/* torch.nn.functional.cross_entropy of logits.float(): log-softmax, of which a value a token is
 * taken; back a gradient of zeros but for that, log-softmax's, and back to e (aten/src/ATen/native/
 * cuda/SoftMax.cu and Loss.cu of https://github.com/pytorch/pytorch; a row stays in the L2). */
static const struct pass eager[] = {
    {"logits to fp32", 1, 4},
    {"loss log-softmax", 0, 8},
    {NULL, 0, 0},
};
static const struct pass eager_backward[] = {
    {"loss gradient", 0, 4},
    {"log-softmax backward", 0, 12},
    {"logits from fp32", 1, 4},
    {NULL, 0, 0},
};

static const struct pass eager_half[] = {{"loss log-softmax", 2, 0}, {NULL, 0, 0}};
static const struct pass eager_half_backward[] = {
    {"loss gradient", 1, 0},
    {"log-softmax backward", 3, 0},
    {NULL, 0, 0},
};

/* TransformerEngine's (common/triton/cross_entropy.py): one read for maximum and sum, another that
 * writes the gradient over the logits, which the backward pass scales. */
static const struct pass fused[] = {
    {"loss maximum, sum", 1, 0},
    {"loss, logits gradient", 2, 0},
    {NULL, 0, 0},
};

/* apex's and flash-attention's (csrc/xentropy/xentropy_kernel.cu), torch.compile's: maximum, then
 * the sum of a row that the L2 still has; back the logits are read again and their gradient
 * written. */
static const struct pass recomputed[] = {{"loss maximum, sum", 1, 0}, {NULL, 0, 0}};
static const struct pass gradient[] = {{"loss gradient", 2, 0}, {NULL, 0, 0}};

static const struct pass none[] = {{NULL, 0, 0}};

static const struct {
    const struct pass *forward, *backward;
} passes[LOSS_COUNT_] = {
    [LOSS_IN_PARTS] = {in_parts, in_parts_backward},
    [LOSS_EAGER] = {eager, eager_backward},
    [LOSS_EAGER_HALF] = {eager_half, eager_half_backward},
    [LOSS_FUSED] = {fused, gradient},
    [LOSS_RECOMPUTED] = {recomputed, gradient},
    [LOSS_IN_PLACE] = {recomputed, gradient},
    [LOSS_CHUNKED] = {eager, eager_backward},
    [LOSS_LINEAR] = {fused, none},
    [LOSS_CUT] = {none, none},
};

/* torch.nn.CrossEntropyLoss under autocast, without a gradient: logits to fp32, their log-softmax
 * (which keeps a row in the L2), and of this one value a token. Composer computes one for each of
 * a language model's training metrics (composer/metrics/nlp.py, and _eval_train_metrics). */
static const struct pass metric[] = {
    {"metric to fp32", 1, 4},
    {"metric log-softmax", 0, 8},
    {NULL, 0, 0},
};

/* ---- sizes -------------------------------------------------------------------- */

static struct weight_matrix head(const struct kernel_list *list)
{
    return (struct weight_matrix){.out = list->shard.vocab,
                                  .in = list->hidden,
                                  .forward = "logits",
                                  .dgrad = "logits dgrad",
                                  .wgrad = "logits wgrad"};
}

static const struct loss_way *loss_of(const struct kernel_list *list)
{
    return &list->shape->software->loss;
}

/* Columns of the logits that a rank has. */
static int64_t columns(const struct kernel_list *list)
{
    const int64_t ranks = loss_of(list)->gathers_vocabulary ? list->shape->tp : 1;
    return list->shard.vocab * ranks;
}

static struct loss_size size_of(const struct kernel_list *list)
{
    return (struct loss_size){.tokens = list->tokens,
                              .vocab = columns(list),
                              .hidden = list->hidden,
                              .element_bytes = list->element_bytes};
}

/* The same segment, of one chunk's tokens. */
struct chunks {
    struct kernel_list list;
    int64_t count;
    uint32_t first; /* kernel of the segment */
};

static struct chunks begin_chunks(struct kernel_list *list)
{
    const struct loss_size size = size_of(list);
    struct chunks chunks = {
        .list = *list, .count = loss_chunks(loss_of(list), &size), .first = list->segment->count};
    chunks.list.tokens = chunks.list.rows = loss_chunk_tokens(loss_of(list), &size);
    kernel_list_outside(&chunks.list, !list->shape->software->low.projects_head);
    return chunks;
}

/* What was added since is done for each chunk. */
static void end_chunks(const struct chunks *chunks)
{
    struct segment *segment = chunks->list.segment;
    if (chunks->count == 1) {
        return;
    }
    for (uint32_t i = chunks->first; i < segment->count; i++) {
        struct kernel *kernel = &segment->kernels[i];
        kernel->repeats = chunks->count;
        kernel->flop *= (double)chunks->count;
        kernel->bytes *= (double)chunks->count;
    }
}

static void pass_over(struct kernel_list *list, const struct pass *over)
{
    kernel_list_passes(list, parts_values(list->tokens, columns(list)), over);
}

/* ---- products ------------------------------------------------------------------- */

/* What a cut loss neither writes (logits) nor reads (their gradient). */
static void keep_on_chip(struct kernel_list *list, enum gemm_pass pass)
{
    if (!loss_writes_logits((enum loss_kind)loss_of(list)->kind)) {
        const double each =
            pass == GEMM_FORWARD ? list->element_bytes : kernel_list_operand_bytes(list, pass);
        kernel_list_last(list)->bytes -= parts_values(list->rows, list->shard.vocab) * each;
    }
}

static void logits(struct kernel_list *list)
{
    kernel_list_forward(list, head(list));
    keep_on_chip(list, GEMM_FORWARD);
}

static void input_gradient(struct kernel_list *list)
{
    kernel_list_dgrad(list, head(list));
    keep_on_chip(list, GEMM_DGRAD);
}

static void weight_gradient(struct kernel_list *list)
{
    const struct weight_matrix weight = head(list);
    const struct product size = {weight.out, weight.in, list->rows, 1};
    struct kernel *product = kernel_list_linear(list, weight.wgrad, GEMM_WGRAD, size);
    const bool adds = loss_differentiates_at_once((enum loss_kind)loss_of(list)->kind);
    const double values = parts_values(weight.out, weight.in);
    if (adds) { /* torch.addmm: the sum is read, too */
        product->bytes += values * list->element_bytes;
    } else {
        kernel_list_pass(list, values, (struct pass){"gradient of chunks", 3, 0});
    }
}

/* Of chunks: each is added to those before, the sum to the main gradient. */
static void weight_gradients(struct kernel_list *list)
{
    struct chunks chunks = begin_chunks(list);
    if (chunks.count == 1) {
        kernel_list_wgrad(&chunks.list, head(list));
        keep_on_chip(&chunks.list, GEMM_WGRAD);
        return;
    }
    weight_gradient(&chunks.list);
    end_chunks(&chunks);
    kernel_list_pass(list, parts_values(list->shard.vocab, list->hidden),
                     (struct pass){"gradient add", 1, 2.0 * list->gradient_bytes});
}

/* ---- segments --------------------------------------------------------------------- */

static bool has_no_head(const struct kernel_list *list)
{
    return list->shape->model->is_headless;
}

void head_forward(struct kernel_list *list)
{
    const enum loss_kind kind = (enum loss_kind)loss_of(list)->kind;
    if (has_no_head(list)) {
        return;
    }
    struct chunks chunks = begin_chunks(list);
    logits(&chunks.list);
    pass_over(&chunks.list, passes[kind].forward);
    if (loss_differentiates_at_once(kind)) {
        input_gradient(&chunks.list);
    }
    end_chunks(&chunks);
    if (loss_differentiates_at_once(kind) && !parts_is_frozen(list)) {
        weight_gradients(list);
    }
    for (int64_t i = 0; i < list->shape->software->metric_losses; i++) {
        pass_over(list, metric);
    }
}

void head_backward(struct kernel_list *list)
{
    const enum loss_kind kind = (enum loss_kind)loss_of(list)->kind;
    if (has_no_head(list) || loss_differentiates_at_once(kind)) {
        return;
    }
    struct chunks chunks = begin_chunks(list);
    if (loss_computes_again(kind)) {
        logits(&chunks.list);
        pass_over(&chunks.list, passes[kind].forward);
    }
    pass_over(&chunks.list, passes[kind].backward);
    input_gradient(&chunks.list);
    end_chunks(&chunks);
}

void head_wgrad(struct kernel_list *list)
{
    const bool is_done = loss_differentiates_at_once((enum loss_kind)loss_of(list)->kind);
    if (!parts_is_frozen(list) && !has_no_head(list) && !is_done) {
        weight_gradients(list);
    }
}
