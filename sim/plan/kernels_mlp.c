/* Kernels of the MLP and of experts; see the header. Sizes on one of t ranks:
 *
 *     matrix       rows out (n)                       in (k)
 *     fc1          f/t, or 2f/t: gate and up fused    h
 *     fc2          h                                  f/t
 *     router       E                                  h
 *
 * The products of the E/e experts of a rank are one grouped GEMM. Their FLOPs and bytes are
 * those of the rows that arrive; its tiles those of rows padded to a multiple of 8.
 *
 * Left out: counting and sorting of indices, the auxiliary loss, the sync of the host that
 * waits for the counts.
 */
#include "plan/kernels_mlp.h"

#include "base/check.h"

static const struct model *model_of(const struct kernel_list *list)
{
    return list->shape->model;
}

static double values(int64_t rows, int64_t width)
{
    return (double)rows * (double)width;
}

/* ---- MLP ------------------------------------------------------------------ */

static struct weight_matrix fc1(const struct kernel_list *list)
{
    const struct model *model = model_of(list);
    const int64_t out = (model->mlp == MLP_SWIGLU ? 2 : 1) * list->mlp.width;
    return (struct weight_matrix){out, model->hidden, "fc1", "fc1 dgrad", "fc1 wgrad"};
}

static struct weight_matrix fc2(const struct kernel_list *list)
{
    const int64_t hidden = model_of(list)->hidden;
    return (struct weight_matrix){hidden, list->mlp.width, "fc2", "fc2 dgrad", "fc2 wgrad"};
}

/* Fused: GELU reads and writes f; SwiGLU reads gate and up, writes their product. */
void mlp_activation(struct kernel_list *list)
{
    const struct model *model = model_of(list);
    const bool is_gated = model->mlp == MLP_SWIGLU;
    const double f = values(list->mlp.tokens, list->mlp.width);
    if (list->shape->software->fuses_bias_activation) {
        kernel_list_pass(list, f,
                         (struct pass){is_gated ? "swiglu" : "bias gelu", is_gated ? 3 : 2, 0});
        return;
    }
    if (model->has_biases) {
        kernel_list_pass(list, f, (struct pass){"fc1 bias", is_gated ? 4 : 2, 0});
    }
    kernel_list_pass(list, f, (struct pass){is_gated ? "silu" : "gelu", 2, 0});
    if (is_gated) {
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
    const bool is_gated = model->mlp == MLP_SWIGLU;
    const double f = values(list->mlp.tokens, list->mlp.width);
    if (is_gated && list->shape->software->fuses_bias_activation) {
        kernel_list_pass(list, f, (struct pass){"swiglu backward", 5, 0});
    } else if (is_gated) {
        kernel_list_passes(list, f, eager_swiglu);
    } else {
        kernel_list_pass(list, f, (struct pass){"gelu backward", 3, 0});
    }
    if (model->has_biases) {
        kernel_list_pass(list, f, (struct pass){"fc1 bias gradient", is_gated ? 2 : 1, 0});
    }
}

void mlp_forward(struct kernel_list *list)
{
    kernel_list_forward(list, fc1(list));
    mlp_activation(list);
    kernel_list_forward(list, fc2(list));
}

void mlp_inner_backward(struct kernel_list *list)
{
    kernel_list_dgrad(list, fc2(list));
    kernel_list_wgrad(list, fc2(list));
    activation_backward(list);
}

void mlp_dgrad(struct kernel_list *list)
{
    kernel_list_dgrad(list, fc1(list));
}

void mlp_wgrad(struct kernel_list *list)
{
    kernel_list_wgrad(list, fc1(list));
}

/* ---- experts -------------------------------------------------------------- */

#define ROWS_MULTIPLE 8 /* of an expert's rows, for the tensor cores */

static struct mlp_part routed_part(const struct kernel_list *list)
{
    return (struct mlp_part){
        .tokens = list->tokens * model_of(list)->experts_per_token,
        .width = model_of(list)->expert_hidden / list->shape->tp,
    };
}

static struct mlp_part shared_part(const struct kernel_list *list)
{
    return (struct mlp_part){
        .tokens = list->tokens,
        .width = model_of(list)->shared_experts * (model_of(list)->expert_hidden / list->shape->tp),
    };
}

static int64_t local_experts(const struct kernel_list *list)
{
    sim_assert(model_of(list)->experts % list->shape->ep == 0);
    return model_of(list)->experts / list->shape->ep;
}

/* Rows of the largest expert of a rank when all have equally many. */
static int64_t padded_rows(const struct kernel_list *list)
{
    const int64_t local = local_experts(list);
    const int64_t rows = (list->mlp.tokens + local - 1) / local;
    return (rows + ROWS_MULTIPLE - 1) / ROWS_MULTIPLE * ROWS_MULTIPLE;
}

/* One matrix of each local expert: what is counted are the rows that arrive. */
static void grouped_product(struct kernel_list *list, const char *name, enum gemm_pass pass,
                            struct weight_matrix weight)
{
    const int64_t local = local_experts(list);
    const int64_t rows = padded_rows(list);
    const struct product sizes[] = {
        [GEMM_FORWARD] = {rows, weight.out, weight.in, local},
        [GEMM_DGRAD] = {rows, weight.in, weight.out, local},
        [GEMM_WGRAD] = {weight.out, weight.in, rows, local},
    };
    const double weights = (double)local * values(weight.out, weight.in);
    const double operands = values(list->mlp.tokens, weight.in + weight.out);
    struct kernel *kernel = kernel_list_product(list, name, pass, sizes[pass]);
    kernel->flop = 2.0 * (double)list->mlp.tokens * values(weight.out, weight.in);
    kernel->bytes = operands * list->element_bytes;
    kernel->bytes +=
        weights * (pass == GEMM_WGRAD ? 2.0 * list->gradient_bytes : list->element_bytes);
}

/* Tokens come ordered by sender and leave so; products want them by expert. */
static void reorder(struct kernel_list *list, const char *name)
{
    const bool has_senders = list->shape->ep > 1 || list->shape->tp > 1;
    if (has_senders && local_experts(list) > 1) {
        kernel_list_pass(list, values(list->mlp.tokens, model_of(list)->hidden),
                         (struct pass){name, 2, 0});
    }
}

void experts_forward(struct kernel_list *list)
{
    list->mlp = routed_part(list);
    reorder(list, "sort by expert");
    grouped_product(list, "experts fc1", GEMM_FORWARD, fc1(list));
    mlp_activation(list);
    grouped_product(list, "experts fc2", GEMM_FORWARD, fc2(list));
    reorder(list, "sort by sender");
}

void experts_backward(struct kernel_list *list)
{
    list->mlp = routed_part(list);
    reorder(list, "sort by expert");
    grouped_product(list, "experts fc2 dgrad", GEMM_DGRAD, fc2(list));
    grouped_product(list, "experts fc2 wgrad", GEMM_WGRAD, fc2(list));
    activation_backward(list);
    grouped_product(list, "experts fc1 dgrad", GEMM_DGRAD, fc1(list));
    grouped_product(list, "experts fc1 wgrad", GEMM_WGRAD, fc1(list));
    reorder(list, "sort by sender");
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

/* Of the tokens that are this rank's outside the tensor-parallel blocks. */
static double outside_values(const struct kernel_list *list)
{
    return values(list->tokens_outside, model_of(list)->hidden);
}

/* Softmax over the experts in fp32, and the choice of the k largest; then a copy of each token
 * for each of its experts. */
void experts_router(struct kernel_list *list)
{
    const struct model *model = model_of(list);
    const struct product size = {list->tokens_outside, model->experts, model->hidden, 1};
    kernel_list_product(list, "router", GEMM_FORWARD, size);
    kernel_list_pass(list, values(list->tokens_outside, model->experts),
                     (struct pass){"router softmax", 1, 8});
    kernel_list_pass(list, (double)model->experts_per_token * outside_values(list),
                     (struct pass){"permute", 2, 0});
}

void experts_router_backward(struct kernel_list *list)
{
    const struct model *model = model_of(list);
    const struct product dgrad = {list->tokens_outside, model->hidden, model->experts, 1};
    const struct product wgrad = {model->experts, model->hidden, list->tokens_outside, 1};
    const double copies = (double)model->experts_per_token;
    kernel_list_pass(list, outside_values(list), (struct pass){"permute backward", copies + 1, 0});
    kernel_list_pass(list, values(list->tokens_outside, model->experts),
                     (struct pass){"router softmax backward", 1, 8});
    kernel_list_product(list, "router dgrad", GEMM_DGRAD, dgrad);
    struct kernel *kernel = kernel_list_product(list, "router wgrad", GEMM_WGRAD, wgrad);
    kernel->bytes +=
        values(model->experts, model->hidden) * (2.0 * list->gradient_bytes - list->element_bytes);
    kernel_list_pass(list, outside_values(list), (struct pass){"router gradient add", 3, 0});
}

/* Reads the k results of a token, writes their weighted sum. */
void experts_post(struct kernel_list *list)
{
    const double copies = (double)model_of(list)->experts_per_token;
    kernel_list_pass(list, outside_values(list), (struct pass){"unpermute", copies + 1, 0});
}

/* The gradient, times each weight, goes to k copies; the weights' gradients want the results. */
void experts_post_backward(struct kernel_list *list)
{
    const double copies = (double)model_of(list)->experts_per_token;
    kernel_list_pass(list, outside_values(list),
                     (struct pass){"unpermute backward", 2 * copies + 1, 0});
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
