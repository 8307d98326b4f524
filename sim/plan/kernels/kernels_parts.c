/* Each function appends kernels to a list in the order of their launch. Norms
 * are counted in bytes, products in m, n and k; where LoRA freezes a weight,
 * its two small products take the place of the weight's gradient.
 */
#include "plan/kernels/kernels_parts.h"

#include "base/check.h"

double parts_values(int64_t rows, int64_t width)
{
    return (double)rows * (double)width;
}

double parts_hidden_outside(const struct kernel_list *list)
{
    return parts_values(list->tokens_outside, list->hidden);
}

/* ---- weights, frozen or not --------------------------------------------------------------- */

bool parts_is_frozen(const struct kernel_list *list)
{
    return list->shape->lora_rank > 0;
}

bool parts_has_adapter(const struct kernel_list *list, enum lora_target target)
{
    return parts_is_frozen(list) && (list->shape->lora_targets >> target & 1u) != 0;
}

/* The product's result is added to what is there: read once more. */
static void add_to(struct kernel_list *list, const char *name, enum gemm_pass pass,
                   struct product size)
{
    struct kernel *kernel = kernel_list_product(list, name, pass, size);
    kernel->bytes += (double)size.count * parts_values(size.m, size.n) * list->element_bytes;
}

/* Adds to the main gradient, as the weight gradients of weights do. */
static void add_gradient(struct kernel_list *list, const char *name, struct product size)
{
    struct kernel *kernel = kernel_list_product(list, name, GEMM_WGRAD, size);
    kernel_list_accumulate(list, kernel, (double)size.count * parts_values(size.m, size.n));
}

void parts_adapter(struct kernel_list *list, struct adapter_size size, enum gemm_pass pass)
{
    const int64_t rank = list->shape->lora_rank;
    switch (pass) {
    case GEMM_FORWARD:
        kernel_list_product(list, "adapter down", pass,
                            (struct product){size.rows, rank, size.in, size.count});
        add_to(list, "adapter up", pass, (struct product){size.rows, size.out, rank, size.count});
        return;
    case GEMM_DGRAD:
        kernel_list_product(list, "adapter up dgrad", pass,
                            (struct product){size.rows, rank, size.out, size.count});
        add_to(list, "adapter down dgrad", pass,
               (struct product){size.rows, size.in, rank, size.count});
        return;
    case GEMM_WGRAD:
        add_gradient(list, "adapter up wgrad",
                     (struct product){size.out, rank, size.rows, size.count});
        add_gradient(list, "adapter down wgrad",
                     (struct product){rank, size.in, size.rows, size.count});
        return;
    }
    sim_assert(false);
}

static void adapter(struct kernel_list *list, const struct weight_matrix *weight,
                    enum lora_target target, enum gemm_pass pass)
{
    if (parts_has_adapter(list, target)) {
        const struct adapter_size size = {list->rows, weight->out, weight->in, 1};
        parts_adapter(list, size, pass);
    }
}

void parts_forward(struct kernel_list *list, struct weight_matrix weight, enum lora_target target)
{
    kernel_list_forward(list, weight);
    adapter(list, &weight, target, GEMM_FORWARD);
}

void parts_dgrad(struct kernel_list *list, struct weight_matrix weight, enum lora_target target)
{
    kernel_list_dgrad(list, weight);
    adapter(list, &weight, target, GEMM_DGRAD);
}

void parts_wgrad(struct kernel_list *list, struct weight_matrix weight, enum lora_target target)
{
    if (!parts_is_frozen(list)) {
        kernel_list_wgrad(list, weight);
    }
    adapter(list, &weight, target, GEMM_WGRAD);
}

/* ---- norms ----------------------------------------------------------------------------------- */

static bool norm_is_eager_rms(const struct kernel_list *list)
{
    return !list->shape->software->fuses_norm && list->shape->model->norm == NORM_RMSNORM;
}

/* Fused: one pass in, one out. PyTorch's own layer_norm reads its input twice. RMSNorm in
 * eager mode (Llama's reference code): to fp32, square, mean, scale, back, times weight. */
void parts_norm(struct kernel_list *list, double values)
{
    static const struct pass eager_rms[] = {
        {"norm to fp32", 1, 4},   {"norm square", 0, 8}, {"norm mean", 0, 4}, {"norm scale", 0, 8},
        {"norm from fp32", 1, 4}, {"norm weight", 2, 0}, {NULL, 0, 0},
    };
    if (norm_is_eager_rms(list)) {
        kernel_list_passes(list, values, eager_rms);
        return;
    }
    const double reads = list->shape->software->fuses_norm ? 1 : 2;
    kernel_list_pass(list, values, (struct pass){"norm", reads + 1, 0});
}

/* Fused: reads x and dy, writes dx. PyTorch's layer_norm reads both again for
 * the weight's gradient. Eager: each forward pass backwards, with two operands. */
void parts_norm_backward(struct kernel_list *list, double values)
{
    static const struct pass eager_rms[] = {
        {"norm to fp32", 1, 4},       {"norm scale backward", 0, 12},
        {"norm mean backward", 0, 8}, {"norm square backward", 0, 12},
        {"norm from fp32", 1, 4},     {NULL, 0, 0},
    };
    const struct pass weight_gradient = {"norm weight gradient", 2, 0};
    if (norm_is_eager_rms(list)) {
        kernel_list_pass(list, values, (struct pass){"norm weight backward", 3, 0});
        if (!parts_is_frozen(list)) {
            kernel_list_pass(list, values, weight_gradient);
        }
        kernel_list_passes(list, values, eager_rms);
        return;
    }
    kernel_list_pass(list, values, (struct pass){"norm backward", 3, 0});
    if (!list->shape->software->fuses_norm && !parts_is_frozen(list)) {
        kernel_list_pass(list, values, weight_gradient);
    }
}
