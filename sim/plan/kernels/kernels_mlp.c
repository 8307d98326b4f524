/* Kernels of the MLP and of experts; see the header. Sizes on one of t ranks:
 *
 *     matrix       rows out (n)                       in (k)
 *     fc1          f/t, or 2f/t: gate and up fused    h
 *     fc2          h                                  f/t
 *     of experts   f/etp instead of f/t
 *     router       E                                  h
 *
 * The products of the E/e experts of a rank are one grouped GEMM. Their FLOPs and bytes are
 * those of the rows that arrive; its tiles those of rows padded to what the product wants.
 *
 * In fp8 each expert's rows are padded to what the product wants, in a copy, unless the exchange
 * writes them so or the experts are one fused operation (Megatron-LM,
 * core/transformer/moe/experts.py, quantization_padding). Biases of the experts' second matrix are
 * added expert by expert in fp32, times the router's weights (the same file, _apply_bias), unless
 * the experts are one fused operation.
 *
 * One fused operation may hold the activation, too (CuTe kernels of TransformerEngine): the first
 * product writes its own result, which is kept, and what is made of it; backward the second's
 * reads that again and writes the gradient of both halves.
 *
 * Left out: counting and sorting of indices, the auxiliary loss (software.experts.launches and
 * synchronisation have their time).
 */
#include "plan/kernels/kernels_mlp.h"
#include "plan/kernels/kernels_parts.h"
#include "plan/routing.h"

#include "base/check.h"

#include <math.h>

static const struct model *model_of(const struct kernel_list *list)
{
    return list->shape->model;
}

/* ---- MLP ------------------------------------------------------------------ */

static bool is_gated(const struct kernel_list *list)
{
    return list->shape->layer->mlp == MLP_SWIGLU;
}

static struct weight_matrix fc1(const struct kernel_list *list)
{
    return (struct weight_matrix){.out = (is_gated(list) ? 2 : 1) * list->mlp.width,
                                  .in = list->hidden,
                                  .forward = "fc1",
                                  .dgrad = "fc1 dgrad",
                                  .wgrad = "fc1 wgrad",
                                  .input = OPERAND_FROM_NORM,
                                  .gradient = OPERAND_FROM_ACTIVATION,
                                  .gathers_input = true};
}

static struct weight_matrix fc2(const struct kernel_list *list)
{
    return (struct weight_matrix){.out = list->hidden,
                                  .in = list->mlp.width,
                                  .forward = "fc2",
                                  .dgrad = "fc2 dgrad",
                                  .wgrad = "fc2 wgrad",
                                  .input = OPERAND_FROM_ACTIVATION,
                                  .gathers_gradient = true};
}

/* By kernels of its own. */
static bool clamps(const struct kernel_list *list)
{
    return model_of(list)->clamps_mlp && is_gated(list) &&
           software_clamps_apart(list->shape->software);
}

/* Each half by itself, then joined (Megatron-LM, core/fusions/fused_bias_geglu.py,
 * weighted_bias_quick_geglu_impl). Backward where a value was clamped is asked of it again, and the
 * two halves' gradients are joined. */
static const struct pass clamp[] = {
    {"gate clamp", 2, 0},
    {"up clamp", 2, 0},
    {"clamped join", 4, 0},
    {NULL, 0, 0},
};
static const struct pass clamp_backward[] = {
    {"gate clamp backward", 3, 0},
    {"up clamp backward", 3, 0},
    {"clamped join backward", 4, 0},
    {NULL, 0, 0},
};

/* Of a value that fc2 reads, and of one of fc1's result's gradient. */
static double result_bytes(const struct kernel_list *list)
{
    return kernel_list_handed_bytes(list, OPERAND_INPUT,
                                    parts_beside_adapter(list, fc2(list), LORA_FC2).input);
}

static double gradient_bytes(const struct kernel_list *list)
{
    return kernel_list_handed_bytes(list, OPERAND_GRADIENT,
                                    parts_beside_adapter(list, fc1(list), LORA_FC1).gradient);
}

/* Fused: GELU reads and writes f; SwiGLU reads gate and up, writes their product. */
void mlp_activation(struct kernel_list *list)
{
    const struct model *model = model_of(list);
    const bool has_gate = is_gated(list);
    const double f = parts_values(list->mlp.tokens, list->mlp.width);
    if (clamps(list)) {
        kernel_list_strided(list, f, clamp);
    }
    if (list->shape->software->fuses_bias_activation) {
        kernel_list_pass(
            list, f,
            (struct pass){has_gate ? "swiglu" : "bias gelu", has_gate ? 2 : 1, result_bytes(list)});
        return;
    }
    if (model->has_mlp_biases) {
        kernel_list_pass(list, f, (struct pass){"fc1 bias", has_gate ? 4 : 2, 0});
    }
    kernel_list_pass(list, f, (struct pass){has_gate ? "silu" : "gelu", 2, 0});
    if (has_gate) {
        kernel_list_pass(list, f, (struct pass){"gate product", 3, 0});
    }
}

/* Eager SwiGLU: two products, silu's gradient, and joining both halves. */
static void activation_backward(struct kernel_list *list)
{
    static const struct pass eager_swiglu[] = {
        {"gate product backward", 3, 0},
        {"up product backward", 3, 0},
        {"silu backward", 3, 0},
        {"fc1 layout", 4, 0},
        {NULL, 0, 0},
    };
    const struct model *model = model_of(list);
    const bool has_gate = is_gated(list);
    const double f = parts_values(list->mlp.tokens, list->mlp.width);
    if (has_gate && list->shape->software->fuses_bias_activation) {
        kernel_list_pass(list, f, (struct pass){"swiglu backward", 3, 2.0 * gradient_bytes(list)});
    } else if (has_gate) {
        kernel_list_passes(list, f, eager_swiglu);
    } else {
        kernel_list_pass(list, f, (struct pass){"gelu backward", 2, gradient_bytes(list)});
    }
    if (clamps(list)) {
        kernel_list_strided(list, f, clamp_backward);
    }
    if (model->has_mlp_biases && !parts_is_frozen(list)) {
        kernel_list_pass(list, f, (struct pass){"fc1 bias gradient", has_gate ? 2 : 1, 0});
    }
}

/* Where what the activation reads is kept in fp8, a pass converts it when it has been read, and one
 * turns it back before its gradient (Megatron-LM's fp8_input_store in core/fusions, and
 * cache_quantized_input of TransformerEngine's ops, which reads once more for a scale). */
static void convert_kept_input(struct kernel_list *list, const char *name)
{
    if (list->shape->software->memory.activation_input == KEPT_IN_FP8) {
        const double f = parts_values(list->mlp.tokens, list->mlp.width);
        kernel_list_pass(list, (is_gated(list) ? 2.0 : 1.0) * f,
                         (struct pass){name, 1, precision_operand_bytes(PRECISION_FP8)});
    }
}

void mlp_forward(struct kernel_list *list)
{
    parts_forward(list, fc1(list), LORA_FC1);
    mlp_activation(list);
    convert_kept_input(list, "keep input in fp8");
    parts_forward(list, fc2(list), LORA_FC2);
}

void mlp_inner_backward(struct kernel_list *list)
{
    parts_dgrad(list, fc2(list), LORA_FC2);
    convert_kept_input(list, "kept input from fp8");
    activation_backward(list);
}

void mlp_inner_wgrad(struct kernel_list *list)
{
    parts_wgrad(list, fc2(list), LORA_FC2);
}

void mlp_dgrad(struct kernel_list *list)
{
    parts_dgrad(list, fc1(list), LORA_FC1);
}

void mlp_wgrad(struct kernel_list *list)
{
    parts_wgrad(list, fc1(list), LORA_FC1);
}

/* ---- experts -------------------------------------------------------------- */

/* A tp-th of the copies of the microbatch's tokens is a rank's own to send, and it computes a
 * part of each expert for the tokens of etp ranks; of a hotter rank more. */
static struct mlp_part routed_part(const struct kernel_list *list)
{
    const struct cost_shape *shape = list->shape;
    const double copies = (double)(list->tokens * shape->model->experts_per_token);
    sim_assert(shape->etp > 0);
    sim_assert(shape->expert_rows > 0.0);
    return (struct mlp_part){
        .tokens =
            (int64_t)ceil(copies * (double)shape->etp / (double)shape->tp * shape->expert_rows),
        .width = (shape->model->expert_hidden + shape->etp - 1) / shape->etp,
    };
}

static struct mlp_part shared_part(const struct kernel_list *list)
{
    const int64_t tp = list->shape->tp;
    return (struct mlp_part){
        .tokens = list->tokens,
        .width = (model_of(list)->shared_hidden + tp - 1) / tp,
    };
}

static int64_t local_experts(const struct kernel_list *list)
{
    sim_assert(list->shape->local_experts > 0);
    return list->shape->local_experts;
}

/* Rows of the largest expert of a rank when all have equally many. */
static int64_t padded_rows(const struct kernel_list *list)
{
    const int64_t local = local_experts(list);
    const int64_t multiple = kernel_list_rows_multiple(list);
    const int64_t rows = (list->mlp.tokens + local - 1) / local;
    return (rows + multiple - 1) / multiple * multiple;
}

struct grouped {
    const char *name;
    struct weight_matrix weight;
    enum lora_target target;
};

static struct grouped grouped_fc1(const struct kernel_list *list, const char *name)
{
    struct grouped grouped = {name, fc1(list), LORA_FC1};
    grouped.weight.input = OPERAND_FROM_OTHERS; /* tokens come from other ranks */
    return grouped;
}

static struct grouped grouped_fc2(const struct kernel_list *list, const char *name)
{
    return (struct grouped){name, fc2(list), LORA_FC2};
}

static bool fuses_activation(const struct kernel_list *list)
{
    const struct software *software = list->shape->software;
    return software->fuses_experts && software->fuses_expert_activation &&
           !parts_has_adapter(list, LORA_FC1) && !parts_has_adapter(list, LORA_FC2);
}

/* Behind fc1: by itself, or what fc1 writes besides its own result. */
static void experts_inner(struct kernel_list *list)
{
    if (!fuses_activation(list)) {
        mlp_activation(list);
        convert_kept_input(list, "keep input in fp8");
        return;
    }
    const double f = parts_values(list->mlp.tokens, list->mlp.width);
    kernel_list_last(list)->bytes += f * result_bytes(list);
}

/* Behind fc2's input gradient, likewise: that is not written, but the one of fc1's result, which is
 * read. */
static void experts_inner_backward(struct kernel_list *list)
{
    if (!fuses_activation(list)) {
        convert_kept_input(list, "kept input from fp8");
        activation_backward(list);
        return;
    }
    const double f = parts_values(list->mlp.tokens, list->mlp.width);
    const double results = (is_gated(list) ? 2.0 : 1.0) * f;
    kernel_list_last(list)->bytes +=
        results * (list->element_bytes + gradient_bytes(list)) - f * list->element_bytes;
}

static int64_t prepared_tensors(const struct kernel_list *list)
{
    return list->shape->software->fuses_experts ? 0 : local_experts(list);
}

/* TransformerEngine's grouped linear layer makes one product and one conversion for each local
 * expert, dealt over streams, unless they are fused. */
static int64_t launches_of_grouped(const struct kernel_list *list)
{
    return list->shape->software->fuses_experts ? 1 : local_experts(list);
}

/* One matrix of each local expert: what is counted are the rows that arrive. */
static void grouped_linear(struct kernel_list *list, const struct grouped *grouped,
                           enum gemm_pass pass)
{
    const struct weight_matrix *weight = &grouped->weight;
    const int64_t local = local_experts(list);
    const int64_t rows = padded_rows(list);
    const struct product sizes[] = {
        [GEMM_FORWARD] = {rows, weight->out, weight->in, local},
        [GEMM_DGRAD] = {rows, weight->in, weight->out, local},
        [GEMM_WGRAD] = {weight->out, weight->in, rows, local},
    };
    const double weights = (double)local * parts_values(weight->out, weight->in);
    const double in = parts_values(list->mlp.tokens, weight->in);
    const double out = parts_values(list->mlp.tokens, weight->out);
    const double operand = kernel_list_operand_bytes(list, pass);
    struct kernel *kernel = kernel_list_linear(list, grouped->name, pass, sizes[pass]);
    kernel->launches = launches_of_grouped(list);
    kernel->tensors = prepared_tensors(list);
    kernel->flop = 2.0 * (double)list->mlp.tokens * parts_values(weight->out, weight->in);
    switch (pass) {
    case GEMM_FORWARD:
        kernel->bytes = (in + weights) * operand + out * list->element_bytes;
        return;
    case GEMM_DGRAD:
        kernel->bytes = (out + weights) * operand + in * list->element_bytes;
        return;
    case GEMM_WGRAD:
        kernel->bytes = (in + out) * operand + weights * list->element_bytes;
        kernel_list_accumulate(list, kernel, weights);
        return;
    }
    sim_assert(false);
}

static void grouped_convert(struct kernel_list *list, const struct weight_matrix *weight,
                            enum gemm_pass pass)
{
    const double weights = (double)local_experts(list) * parts_values(weight->out, weight->in);
    const uint32_t before = list->segment->count;
    list->tensors = launches_of_grouped(list);
    if (pass == GEMM_FORWARD) {
        kernel_list_convert(list, OPERAND_INPUT, parts_values(list->mlp.tokens, weight->in),
                            weight->input);
        kernel_list_convert_weights(list, weights);
    } else if (pass == GEMM_DGRAD) {
        kernel_list_convert(list, OPERAND_GRADIENT, parts_values(list->mlp.tokens, weight->out),
                            weight->gradient);
    }
    list->tensors = 1;
    if (list->segment->count > before) { /* finding the scale and converting are one call */
        list->segment->kernels[list->segment->count - 1].tensors = prepared_tensors(list);
    }
}

static void grouped_product(struct kernel_list *list, struct grouped grouped, enum gemm_pass pass)
{
    grouped.weight = parts_beside_adapter(list, grouped.weight, grouped.target);
    const struct weight_matrix *weight = &grouped.weight;
    if (pass != GEMM_WGRAD || !parts_is_frozen(list)) {
        grouped_convert(list, weight, pass);
        grouped_linear(list, &grouped, pass);
    }
    if (parts_has_adapter(list, grouped.target)) {
        const struct adapter_size size = {padded_rows(list),
                                          weight->out,
                                          weight->in,
                                          local_experts(list),
                                          parts_values(list->mlp.tokens, weight->in),
                                          parts_values(list->mlp.tokens, weight->out)};
        parts_adapter(list, size, pass);
    }
}

/* Tokens are sent once to each rank that has any of their experts, and results come back so. */
static bool sends_tokens(const struct kernel_list *list)
{
    const struct cost_shape *shape = list->shape;
    return shape->software->exchange == EXCHANGE_TOKENS && shape->ep > 1 &&
           shape->ep <= shape->model->experts;
}

/* Tokens come ordered by sender and leave so; products want them by expert. When a token was sent
 * once, its copies for the experts of this rank are made here, and their results added up. */
static void reorder(struct kernel_list *list, const char *name)
{
    const struct model *model = model_of(list);
    if (sends_tokens(list)) {
        const double once =
            routing_distinct_parts(model, list->shape->ep) / (double)model->experts_per_token;
        kernel_list_pass(list, parts_values(list->mlp.tokens, list->hidden),
                         (struct pass){name, 1 + once, 0});
        return;
    }
    const bool has_senders = list->shape->ep > 1 || list->shape->etp > 1;
    if (has_senders && local_experts(list) > 1) {
        kernel_list_pass(list, parts_values(list->mlp.tokens, list->hidden),
                         (struct pass){name, 2, 0});
    }
}

static void pad(struct kernel_list *list, const char *name)
{
    const bool is_low = kernel_list_precision(list, GEMM_FORWARD) == list->shape->precision &&
                        precision_is_low(list->shape->precision);
    if (is_low && !sends_tokens(list) && !list->shape->software->fuses_experts) {
        kernel_list_pass(list, parts_values(list->mlp.tokens, list->hidden),
                         (struct pass){name, 2, 0});
    }
}

static bool adds_biases(const struct kernel_list *list)
{
    return model_of(list)->has_mlp_biases && !list->shape->software->fuses_experts;
}

/* Of each expert a product and a sum, in fp32; then joined, and converted. */
static void add_biases(struct kernel_list *list)
{
    static const struct pass passes[] = {
        {"bias times weight", 0, 4}, {"bias", 1, 8}, {"biased join", 0, 8},
        {"biased from fp32", 1, 4},  {NULL, 0, 0},
    };
    if (adds_biases(list)) {
        const uint32_t first = list->segment->count;
        kernel_list_strided(list, parts_values(list->mlp.tokens, list->hidden), passes);
        list->segment->kernels[first].launches = local_experts(list);
        list->segment->kernels[first + 1].launches = local_experts(list);
    }
}

/* Gradients of the results, of weights and of biases (each a product and a sum over rows or
 * columns), of each expert; then joined. */
static void add_biases_backward(struct kernel_list *list)
{
    static const struct pass passes[] = {
        {"biased to fp32", 1, 4},
        {"biased from fp32", 1, 4},
        {"bias gradient product", 0, 8},
        {"bias gradient", 0, 4},
        {"weight gradient product", 0, 8},
        {"weight gradient sum", 0, 4},
        {"biased join", 2, 0},
        {NULL, 0, 0},
    };
    if (adds_biases(list)) {
        const uint32_t first = list->segment->count;
        kernel_list_strided(list, parts_values(list->mlp.tokens, list->hidden), passes);
        for (uint32_t i = first + 1; i + 1 < list->segment->count; i++) {
            list->segment->kernels[i].launches = local_experts(list);
        }
    }
}

void experts_forward(struct kernel_list *list)
{
    list->mlp = routed_part(list);
    reorder(list, "sort by expert");
    pad(list, "pad rows");
    grouped_product(list, grouped_fc1(list, "experts fc1"), GEMM_FORWARD);
    experts_inner(list);
    grouped_product(list, grouped_fc2(list, "experts fc2"), GEMM_FORWARD);
    add_biases(list);
    pad(list, "unpad rows");
    reorder(list, "sort by sender");
}

void experts_backward(struct kernel_list *list)
{
    list->mlp = routed_part(list);
    reorder(list, "sort by expert");
    pad(list, "pad rows");
    add_biases_backward(list);
    grouped_product(list, grouped_fc2(list, "experts fc2 dgrad"), GEMM_DGRAD);
    experts_inner_backward(list);
    grouped_product(list, grouped_fc1(list, "experts fc1 dgrad"), GEMM_DGRAD);
    pad(list, "unpad rows");
    reorder(list, "sort by sender");
}

void experts_wgrad(struct kernel_list *list)
{
    list->mlp = routed_part(list);
    grouped_product(list, grouped_fc2(list, "experts fc2 wgrad"), GEMM_WGRAD);
    grouped_product(list, grouped_fc1(list, "experts fc1 wgrad"), GEMM_WGRAD);
}

void experts_activation(struct kernel_list *list)
{
    list->mlp = routed_part(list);
    mlp_activation(list);
    list->mlp = shared_part(list);
    if (list->mlp.width > 0) {
        mlp_activation(list);
    }
}

/* ---- to the experts and back ---------------------------------------------- */

/* Softmax over the experts in fp32, and the choice of the k largest; then a copy of each token
 * for each of its experts, unless the exchange itself reads the tokens (DeepEP, HybridEP). */
void experts_router(struct kernel_list *list)
{
    const struct model *model = model_of(list);
    const struct product size = {list->tokens_outside, model->experts, model->hidden, 1};
    kernel_list_product(list, "router", GEMM_FORWARD, size);
    kernel_list_pass(list, parts_values(list->tokens_outside, model->experts),
                     (struct pass){"router softmax", 1, 8});
    if (!sends_tokens(list)) {
        kernel_list_pass(list, (double)model->experts_per_token * parts_hidden_outside(list),
                         (struct pass){"permute", 2, 0});
    }
}

void experts_router_backward(struct kernel_list *list)
{
    const struct model *model = model_of(list);
    const struct product dgrad = {list->tokens_outside, model->hidden, model->experts, 1};
    const struct product wgrad = {model->experts, model->hidden, list->tokens_outside, 1};
    const double copies = (double)model->experts_per_token;
    if (!sends_tokens(list)) {
        kernel_list_pass(list, parts_hidden_outside(list),
                         (struct pass){"permute backward", copies + 1, 0});
    }
    kernel_list_pass(list, parts_values(list->tokens_outside, model->experts),
                     (struct pass){"router softmax backward", 1, 8});
    kernel_list_product(list, "router dgrad", GEMM_DGRAD, dgrad);
    if (!parts_is_frozen(list)) {
        struct kernel *kernel = kernel_list_product(list, "router wgrad", GEMM_WGRAD, wgrad);
        kernel_list_accumulate(list, kernel, parts_values(model->experts, model->hidden));
    }
    kernel_list_pass(list, parts_hidden_outside(list), (struct pass){"router gradient add", 3, 0});
}

/* Reads the k results of a token, writes their weighted sum; an exchange of tokens adds up what
 * comes from the ranks itself. */
void experts_post(struct kernel_list *list)
{
    const double copies = (double)model_of(list)->experts_per_token;
    if (!sends_tokens(list)) {
        kernel_list_pass(list, parts_hidden_outside(list),
                         (struct pass){"unpermute", copies + 1, 0});
    }
}

/* The gradient, times each weight, goes to k copies; the weights' gradients want the results,
 * unless weights are applied inside the experts. */
void experts_post_backward(struct kernel_list *list)
{
    const double copies = (double)model_of(list)->experts_per_token;
    const double reads = list->shape->software->memory.keeps_expert_results ? copies : 0.0;
    if (!sends_tokens(list)) {
        kernel_list_pass(list, parts_hidden_outside(list),
                         (struct pass){"unpermute backward", copies + reads + 1, 0});
    }
}

/* ---- shared experts ------------------------------------------------------- */

void shared_forward(struct kernel_list *list)
{
    list->mlp = shared_part(list);
    if (list->mlp.width > 0) {
        mlp_forward(list);
    }
}

void shared_inner_backward(struct kernel_list *list)
{
    list->mlp = shared_part(list);
    if (list->mlp.width > 0) {
        mlp_inner_backward(list);
    }
}

void shared_inner_wgrad(struct kernel_list *list)
{
    list->mlp = shared_part(list);
    if (list->mlp.width > 0) {
        mlp_inner_wgrad(list);
    }
}

void shared_dgrad(struct kernel_list *list)
{
    list->mlp = shared_part(list);
    if (list->mlp.width > 0) {
        mlp_dgrad(list);
    }
}

void shared_wgrad(struct kernel_list *list)
{
    list->mlp = shared_part(list);
    if (list->mlp.width > 0) {
        mlp_wgrad(list);
    }
}
