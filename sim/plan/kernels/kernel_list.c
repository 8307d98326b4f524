/* What a rank has of a layer's heads and widths, and the appending of kernels
 * to the segment that is being filled. Each kernel costs O(1).
 */
#include "plan/kernels/kernel_list.h"

#include "base/check.h"

/* Of the rank that has most: what must divide has been checked, blocks need not. */
static int64_t share(int64_t whole, int64_t ranks)
{
    return (whole + ranks - 1) / ranks;
}

static int64_t kv_share(int64_t kv_heads, int64_t ranks)
{
    return kv_heads < ranks ? 1 : share(kv_heads, ranks);
}

static struct shard make_shard(const struct cost_shape *shape)
{
    const struct layer_kind *layer = shape->layer;
    struct shard shard;
    shard.heads = share(layer->heads, shape->tp);
    shard.kv_heads = kv_share(layer->kv_heads, shape->tp);
    shard.attention_width = shard.heads * layer->value_dim;
    shard.qkv_width = (shard.heads + 2 * shard.kv_heads) * layer->head_dim;
    shard.vocab = share(cost_padded_vocab(shape->model, shape->tp), shape->tp);
    return shard;
}

static struct core_part make_core(const struct kernel_list *list)
{
    const struct shard *shard = &list->shard;
    if (!list->shape->is_ulysses) {
        return (struct core_part){list->length, list->sequence, shard->heads, shard->kv_heads};
    }
    const int64_t cp = list->shape->cp;
    return (struct core_part){list->sequence, list->sequence, share(shard->heads, cp),
                              kv_share(shard->kv_heads, cp)};
}

void kernel_list_init(struct kernel_list *list, const struct cost_shape *shape,
                      struct segment *segment)
{
    const struct layer_kind *layer = shape->layer;
    sim_assert(shape->tp > 0);
    sim_assert(shape->micro > 0 && shape->sequence_length > 0);
    sim_assert(shape->cp > 0 && shape->ep > 0);
    sim_assert(layer != NULL);
    *segment = (struct segment){0};
    *list = (struct kernel_list){.shape = shape, .segment = segment, .hidden = layer->hidden};
    list->shard = make_shard(shape);
    const uint32_t gradient_precision = shape->software->gradient_precision;
    list->element_bytes = (double)precision_bytes(shape->precision);
    list->gradient_bytes = shape->gradient_bytes > 0.0
                               ? shape->gradient_bytes
                               : (double)precision_bytes((enum precision)gradient_precision);
    list->sequence = cost_tokens(layer, shape->sequence_length);
    list->length = share(list->sequence, shape->cp);
    list->tokens = list->rows = shape->micro * list->length;
    list->tokens_outside = share(list->tokens, shape->is_sequence_parallel ? shape->tp : 1);
    list->core = make_core(list);
    list->mlp = (struct mlp_part){list->tokens, share(layer->ffn_hidden, shape->tp)};
    list->tensors = 1;
}

struct kernel *kernel_list_add(struct kernel_list *list, const char *name, enum kernel_kind kind)
{
    struct segment *segment = list->segment;
    sim_assert(segment->count < SEGMENT_KERNELS_MAX);
    struct kernel *kernel = &segment->kernels[segment->count++];
    *kernel = (struct kernel){.name = name, .kind = kind, .count = 1, .launches = 1};
    return kernel;
}

void kernel_list_pass(struct kernel_list *list, double values, struct pass pass)
{
    struct kernel *kernel = kernel_list_add(list, pass.name, KERNEL_MEMORY);
    kernel->bytes = values * (pass.elements * list->element_bytes + pass.bytes);
    sim_assert(kernel->bytes > 0.0);
}

void kernel_list_passes(struct kernel_list *list, double values, const struct pass *passes)
{
    for (const struct pass *pass = passes; pass->name != NULL; pass++) {
        kernel_list_pass(list, values, *pass);
    }
}

/* A product in some precision; its result is kept like everything between products. */
static struct kernel *add_product(struct kernel_list *list, const char *name, enum gemm_pass pass,
                                  struct product size, enum precision precision)
{
    sim_assert(size.m > 0 && size.n > 0);
    sim_assert(size.k > 0 && size.count > 0);
    const double m = (double)size.m;
    const double n = (double)size.n;
    const double k = (double)size.k;
    const double count = (double)size.count;
    struct kernel *kernel = kernel_list_add(list, name, KERNEL_GEMM);
    kernel->pass = pass;
    kernel->precision = precision;
    kernel->m = size.m;
    kernel->n = size.n;
    kernel->k = size.k;
    kernel->count = size.count;
    kernel->flop = 2.0 * m * n * k * count;
    kernel->bytes = (m * k + k * n) * count * precision_operand_bytes(precision);
    kernel->bytes += m * n * count * list->element_bytes;
    return kernel;
}

struct kernel *kernel_list_product(struct kernel_list *list, const char *name, enum gemm_pass pass,
                                   struct product size)
{
    return add_product(list, name, pass, size, precision_outside(list->shape->precision));
}

/* ---- fewer than 16 bits ------------------------------------------------------------------- */

void kernel_list_outside(struct kernel_list *list, bool is_outside)
{
    list->is_outside = is_outside;
}

static bool runs_low(const struct kernel_list *list, enum gemm_pass pass)
{
    const struct low_precision *low = &list->shape->software->low;
    const bool runs[] = {
        [GEMM_FORWARD] = low->in_forward,
        [GEMM_DGRAD] = low->in_dgrad,
        [GEMM_WGRAD] = low->in_wgrad,
    };
    return precision_is_low(list->shape->precision) && !list->is_outside && runs[pass];
}

enum precision kernel_list_precision(const struct kernel_list *list, enum gemm_pass pass)
{
    const enum precision precision = list->shape->precision;
    return runs_low(list, pass) ? precision : precision_outside(precision);
}

double kernel_list_operand_bytes(const struct kernel_list *list, enum gemm_pass pass)
{
    return precision_operand_bytes(kernel_list_precision(list, pass));
}

int64_t kernel_list_rows_multiple(const struct kernel_list *list)
{
    switch (list->shape->precision) {
    case PRECISION_FP8:
        return 16;
    case PRECISION_MXFP8:
    case PRECISION_NVFP4:
        return 32;
    default:
        return 8;
    }
}

/* Where its source is computed a conversion costs no pass: two copies of one byte are as much
 * as the one of two bytes that is not written then. A scale of the values themselves is known
 * only after that kernel, which then saves the first of the two passes. */
static bool source_converts(const struct kernel_list *list, enum operand_source source)
{
    const struct low_precision *low = &list->shape->software->low;
    /* The scale of nvfp4 is that of values after the Hadamard transform: no kernel before knows
     * it (TransformerEngine, extensions/normalization.cpp: UNFUSED). */
    const bool is_known_before = list->shape->precision != PRECISION_NVFP4;
    return is_known_before && ((source == OPERAND_FROM_NORM && low->fuses_norm) ||
                               (source == OPERAND_FROM_ACTIVATION && low->fuses_activation));
}

/* Hopper multiplies fp8 only with k along rows, so what two products read it keeps twice;
 * Blackwell transposes while it reads, but for scales of blocks. */
static int copies_written(const struct kernel_list *list, int copies)
{
    const struct cost_shape *shape = list->shape;
    const bool is_of_tensor =
        shape->precision == PRECISION_FP8 && shape->software->low.recipe != RECIPE_BLOCKWISE;
    return shape->transposes_fp8 && is_of_tensor ? 1 : copies;
}

/* A scale of fp8 is zeroed, found and inverted; of nvfp4 it is not inverted. */
enum { SCALE_LAUNCHES = 3, NVFP4_SCALE_LAUNCHES = 2 };

static int64_t scale_launches(const struct kernel_list *list)
{
    const bool is_nvfp4 = list->shape->precision == PRECISION_NVFP4;
    return (is_nvfp4 ? NVFP4_SCALE_LAUNCHES : SCALE_LAUNCHES) * list->tensors;
}

/* `copies`: products that read it. A norm finds the largest value, but does not make it a scale. */
static int64_t convert_launches(const struct kernel_list *list, int copies, bool has_source)
{
    switch (list->shape->precision) {
    case PRECISION_MXFP8:
    case PRECISION_NVFP4:
        return list->tensors + copies;
    default:
        break;
    }
    if (list->shape->software->low.recipe == RECIPE_DELAYED) {
        return 1;
    }
    return has_source ? 2 * list->tensors : list->tensors;
}

static struct kernel *last_kernel(const struct kernel_list *list)
{
    return &list->segment->kernels[list->segment->count - 1];
}

void kernel_list_convert(struct kernel_list *list, enum operand operand, double values,
                         enum operand_source source)
{
    static const enum gemm_pass readers[OPERAND_COUNT_][2] = {
        [OPERAND_INPUT] = {GEMM_FORWARD, GEMM_WGRAD},
        [OPERAND_WEIGHTS] = {GEMM_FORWARD, GEMM_DGRAD},
        [OPERAND_GRADIENT] = {GEMM_DGRAD, GEMM_WGRAD},
    };
    static const char *const names[OPERAND_COUNT_] = {"convert input", "convert weights",
                                                      "convert gradient"};
    static const char *const scales[OPERAND_COUNT_] = {"scale of input", "scale of weights",
                                                       "scale of gradient"};
    const struct software *software = list->shape->software;
    const enum precision precision = list->shape->precision;
    const int copies = runs_low(list, readers[operand][0]) + runs_low(list, readers[operand][1]);
    const bool has_source = source_converts(list, source);
    const bool scales_first = software_scales_first(software, precision);
    if (copies == 0 || (has_source && !scales_first)) {
        return;
    }
    if (scales_first && !has_source) {
        kernel_list_pass(list, values, (struct pass){scales[operand], 1, 0});
        last_kernel(list)->launches = scale_launches(list);
    }
    const double written =
        (double)copies_written(list, copies) * precision_operand_bytes(precision);
    kernel_list_pass(list, values, (struct pass){names[operand], 1, written});
    last_kernel(list)->launches = convert_launches(list, copies, has_source);
}

void kernel_list_convert_core(struct kernel_list *list, struct core_conversion names, double values)
{
    const bool is_of_blocks = list->shape->precision == PRECISION_MXFP8;
    const bool is_scaled = list->shape->software->low.recipe == RECIPE_CURRENT && !is_of_blocks;
    if (is_scaled) {
        kernel_list_pass(list, values, (struct pass){names.scale, 1, 0});
        last_kernel(list)->launches = SCALE_LAUNCHES;
    }
    const double copies = is_of_blocks ? 2.0 : 1.0;
    const enum precision format = is_of_blocks ? PRECISION_MXFP8 : PRECISION_FP8;
    kernel_list_pass(list, values,
                     (struct pass){names.convert, 1, copies * precision_operand_bytes(format)});
}

void kernel_list_convert_weights(struct kernel_list *list, double values)
{
    const struct low_precision *low = &list->shape->software->low;
    if (low->weights == WEIGHTS_EACH_MICROBATCH && !low->gathers_parameters) {
        kernel_list_convert(list, OPERAND_WEIGHTS, values, OPERAND_FROM_OTHERS);
    }
}

struct kernel *kernel_list_linear(struct kernel_list *list, const char *name, enum gemm_pass pass,
                                  struct product size)
{
    return add_product(list, name, pass, size, kernel_list_precision(list, pass));
}

/* ---- the products of a weight ------------------------------------------------------------- */

void kernel_list_forward(struct kernel_list *list, struct weight_matrix weight)
{
    const struct product size = {list->rows, weight.out, weight.in, 1};
    const double weights = (double)weight.out * (double)weight.in;
    kernel_list_convert(list, OPERAND_INPUT, (double)list->rows * (double)weight.in, weight.input);
    kernel_list_convert_weights(list, weights);
    kernel_list_linear(list, weight.forward, GEMM_FORWARD, size);
}

void kernel_list_dgrad(struct kernel_list *list, struct weight_matrix weight)
{
    const struct product size = {list->rows, weight.in, weight.out, 1};
    kernel_list_convert(list, OPERAND_GRADIENT, (double)list->rows * (double)weight.out,
                        weight.gradient);
    kernel_list_linear(list, weight.dgrad, GEMM_DGRAD, size);
}

void kernel_list_accumulate(struct kernel_list *list, struct kernel *product, double values)
{
    if (list->shape->software->gradient_addition == ADDITION_SEPARATE) {
        kernel_list_pass(list, values,
                         (struct pass){"gradient add", 1, 2.0 * list->gradient_bytes});
    } else {
        product->bytes += values * (2.0 * list->gradient_bytes - list->element_bytes);
    }
}

void kernel_list_wgrad(struct kernel_list *list, struct weight_matrix weight)
{
    const struct product size = {weight.out, weight.in, list->rows, 1};
    struct kernel *kernel = kernel_list_linear(list, weight.wgrad, GEMM_WGRAD, size);
    kernel_list_accumulate(list, kernel, (double)weight.out * (double)weight.in);
}
