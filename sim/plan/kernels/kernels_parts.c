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

static bool adapter_is_fused(const struct kernel_list *list)
{
    return list->shape->software->fuses_adapter;
}

/* Its result is added to what is there: fused, read once more; else a sum of two. */
static void product_to_add(struct kernel_list *list, const char *name, enum gemm_pass pass,
                           struct product size)
{
    struct kernel *kernel = kernel_list_product(list, name, pass, size);
    if (adapter_is_fused(list)) {
        kernel->bytes += (double)size.count * parts_values(size.m, size.n) * list->element_bytes;
    }
}

/* Reads and writes a value; forward it writes, backward it reads, which values it dropped: a byte
 * of each in PyTorch, a bit in TransformerEngine (common/dropout). */
static void adapter_dropout(struct kernel_list *list, const char *name, double values)
{
    const double mask_bytes = adapter_is_fused(list) ? 1.0 / 8.0 : 1.0;
    if (list->shape->lora_drops) {
        kernel_list_pass(list, values, (struct pass){name, 2, mask_bytes});
    }
}

static void adapter_pass(struct kernel_list *list, double values, struct pass pass)
{
    if (!adapter_is_fused(list)) {
        kernel_list_pass(list, values, pass);
    }
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
        adapter_dropout(list, "adapter dropout", size.inputs);
        kernel_list_product(list, "adapter down", pass,
                            (struct product){size.rows, rank, size.in, size.count});
        product_to_add(list, "adapter up", pass,
                       (struct product){size.rows, size.out, rank, size.count});
        adapter_pass(list, size.results, (struct pass){"adapter scale", 2, 0});
        adapter_pass(list, size.results, (struct pass){"adapter add", 3, 0});
        return;
    case GEMM_DGRAD:
        adapter_pass(list, size.results, (struct pass){"adapter scale backward", 2, 0});
        kernel_list_product(list, "adapter up dgrad", pass,
                            (struct product){size.rows, rank, size.out, size.count});
        product_to_add(list, "adapter down dgrad", pass,
                       (struct product){size.rows, size.in, rank, size.count});
        adapter_dropout(list, "adapter dropout backward", size.inputs);
        adapter_pass(list, size.inputs, (struct pass){"adapter gradient add", 3, 0});
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
        const int64_t input_rows = weight->gathers_input ? list->tokens_outside : list->rows;
        const int64_t result_rows = weight->gathers_gradient ? list->tokens_outside : list->rows;
        const int64_t count = weight->count > 0 ? weight->count : 1;
        const struct adapter_size size = {list->rows,
                                          weight->out,
                                          weight->in,
                                          count,
                                          parts_values(input_rows, count * weight->in),
                                          parts_values(result_rows, count * weight->out)};
        parts_adapter(list, size, pass);
    }
}

struct weight_matrix parts_beside_adapter(const struct kernel_list *list,
                                          struct weight_matrix weight, enum lora_target target)
{
    if (parts_has_adapter(list, target)) {
        weight.input = weight.gradient = OPERAND_FROM_OTHERS;
    }
    return weight;
}

void parts_forward(struct kernel_list *list, struct weight_matrix weight, enum lora_target target)
{
    kernel_list_forward(list, parts_beside_adapter(list, weight, target));
    adapter(list, &weight, target, GEMM_FORWARD);
}

void parts_dgrad(struct kernel_list *list, struct weight_matrix weight, enum lora_target target)
{
    kernel_list_dgrad(list, parts_beside_adapter(list, weight, target));
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
    if (list->shape->software->casts_norm) {
        kernel_list_pass(list, values, (struct pass){"norm to fp32", 1, 4});
        kernel_list_pass(list, values, (struct pass){"norm", 1, 4 * reads});
        return;
    }
    kernel_list_pass(list, values, (struct pass){"norm", reads + 1, 0});
}

/* Fused: reads x and dy, writes dx. PyTorch's layer_norm reads both again for
 * the weight's gradient. Eager: each forward pass backwards, with two operands. Of an input that
 * was converted, x and dx are fp32, and dx is converted back. */
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
    if (list->shape->software->casts_norm) {
        kernel_list_pass(list, values, (struct pass){"norm backward", 1, 8});
        kernel_list_pass(list, values, (struct pass){"norm from fp32", 1, 4});
    } else {
        kernel_list_pass(list, values, (struct pass){"norm backward", 3, 0});
    }
    if (!list->shape->software->fuses_norm && !parts_is_frozen(list)) {
        kernel_list_pass(list, values, weight_gradient);
    }
}
