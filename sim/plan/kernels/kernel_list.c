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
    segment->count = 0;
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

void kernel_list_strided(struct kernel_list *list, double values, const struct pass *passes)
{
    const uint32_t first = list->segment->count;
    kernel_list_passes(list, values, passes);
    for (uint32_t i = first; i < list->segment->count; i++) {
        list->segment->kernels[i].is_strided = true;
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

/* The same, and it is computed: a frozen weight has no gradient. */
static bool reads_low(const struct kernel_list *list, enum gemm_pass pass)
{
    return runs_low(list, pass) && (pass != GEMM_WGRAD || list->shape->lora_rank == 0);
}

/* Products that read an operand: along its rows, and along its columns. */
static const enum gemm_pass readers[OPERAND_COUNT_][2] = {
    [OPERAND_INPUT] = {GEMM_FORWARD, GEMM_WGRAD},
    [OPERAND_WEIGHTS] = {GEMM_FORWARD, GEMM_DGRAD},
    [OPERAND_GRADIENT] = {GEMM_DGRAD, GEMM_WGRAD},
};

/* What the passes that convert an operand are called. */
static const struct conversion_names {
    const char *scale, *convert, *transpose, *column_scale, *column_convert;
} names_of[OPERAND_COUNT_] = {
    [OPERAND_INPUT] = {"scale of input", "convert input", "transpose input",
                       "scale of input columns", "convert input columns"},
    [OPERAND_WEIGHTS] = {"scale of weights", "convert weights", "transpose weights",
                         "scale of weight columns", "convert weight columns"},
    [OPERAND_GRADIENT] = {"scale of gradient", "convert gradient", "transpose gradient",
                          "scale of gradient columns", "convert gradient columns"},
};

/* Where its source is computed a conversion costs no pass, and its copies are written instead of
 * two bytes (kernel_list_handed_bytes; a norm's are taken to be two of one byte). A scale of the
 * values themselves is known only after that kernel, which then saves the first of the two passes;
 * that of a row within it. The scale of nvfp4 is that of values after the Hadamard transform, if
 * there is one: no kernel before knows it (TransformerEngine, extensions/normalization.cpp and
 * activation.cpp). */
static bool source_converts(const struct kernel_list *list, enum operand_source source)
{
    const struct low_precision *low = &list->shape->software->low;
    const enum precision precision = list->shape->precision;
    const bool norm_knows = precision != PRECISION_MXFP8 || low->fuses_norm_blocks;
    const bool is_known_before = precision != PRECISION_NVFP4 || !low->transforms;
    return is_known_before && ((source == OPERAND_FROM_NORM && low->fuses_norm && norm_knows) ||
                               (source == OPERAND_FROM_ACTIVATION && low->fuses_activation));
}

/* fp8 with one scale for a tensor, on Hopper, whose products want k along rows: what two products
 * read is kept twice. Blackwell transposes while it reads. */
static bool wants_transposed(const struct kernel_list *list)
{
    const struct cost_shape *shape = list->shape;
    return shape->precision == PRECISION_FP8 && shape->software->low.recipe != RECIPE_BLOCKWISE &&
           !shape->transposes_fp8;
}

/* Copies that the conversion itself writes; scales of blocks belong to one direction. */
static int copies_written(const struct kernel_list *list, int copies)
{
    const bool is_of_tensor = list->shape->precision == PRECISION_FP8 &&
                              list->shape->software->low.recipe != RECIPE_BLOCKWISE;
    return is_of_tensor && !wants_transposed(list) ? 1 : copies;
}

static bool has_row_scales(const struct kernel_list *list)
{
    return software_scales_rows(list->shape->software, list->shape->precision);
}

/* A scale that is found first needs the values as they are, and so do columns' scales. */
double kernel_list_handed_bytes(const struct kernel_list *list, enum operand operand,
                                enum operand_source source)
{
    const enum precision precision = list->shape->precision;
    int copies = 0;
    bool is_read_whole = false;
    for (int i = 0; i < 2; i++) {
        const enum gemm_pass pass = readers[operand][i];
        copies += reads_low(list, pass);
        is_read_whole |=
            !runs_low(list, pass) && !(pass == GEMM_WGRAD && list->shape->lora_rank > 0);
    }
    if (copies == 0 || !source_converts(list, source) || has_row_scales(list) ||
        software_scales_first(list->shape->software, precision)) {
        return list->element_bytes;
    }
    return copies_written(list, copies) * precision_operand_bytes(precision) +
           (is_read_whole ? list->element_bytes : 0.0);
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

struct kernel *kernel_list_last(const struct kernel_list *list)
{
    sim_assert(list->segment->count > 0);
    return &list->segment->kernels[list->segment->count - 1];
}

/* An operand that is to be converted. */
struct tensor {
    enum operand operand;
    double values;
    enum operand_source source;
    bool is_gathered; /* of sequence parallelism: `values` are those of all ranks */
};

static bool is_split(const struct kernel_list *list, const struct tensor *tensor)
{
    return tensor->is_gathered && list->shape->is_sequence_parallel && list->shape->tp > 1;
}

static bool gathers_converted(const struct kernel_list *list)
{
    return software_activation_gather_bytes(list->shape->software, list->shape->precision) <
           list->element_bytes;
}

static enum operand_source source_of(const struct kernel_list *list, const struct tensor *tensor)
{
    return is_split(list, tensor) && !gathers_converted(list) ? OPERAND_FROM_OTHERS
                                                              : tensor->source;
}

/* Scales of rows, each by a kernel of its own (torchao/float8/float8_linear.py). Along rows it
 * reads once; along columns it reads for the scale, then reads and writes, turning the tensor. */
static void convert_rows(struct kernel_list *list, const struct tensor *tensor)
{
    if (reads_low(list, readers[tensor->operand][0]) &&
        !source_converts(list, source_of(list, tensor))) {
        const double byte = precision_operand_bytes(PRECISION_FP8);
        kernel_list_pass(list, tensor->values,
                         (struct pass){names_of[tensor->operand].convert, 1, byte});
    }
}

static void convert_columns(struct kernel_list *list, const struct tensor *tensor)
{
    const struct conversion_names *names = &names_of[tensor->operand];
    if (reads_low(list, readers[tensor->operand][1])) {
        const double more = 1.0 / list->shape->software->low.column_rate;
        const double byte = precision_operand_bytes(PRECISION_FP8);
        kernel_list_pass(list, tensor->values, (struct pass){names->column_scale, 1, 0});
        kernel_list_pass(list, tensor->values,
                         (struct pass){names->column_convert, more, more * byte});
    }
}

/* Times that a conversion's bytes count: finding scales of blocks is as much arithmetic as
 * streaming (TransformerEngine, pull request 1628). */
static double slowness(const struct kernel_list *list)
{
    switch (list->shape->precision) {
    case PRECISION_MXFP8:
    case PRECISION_NVFP4:
        return 1.0 / list->shape->software->low.block_rate;
    default:
        return 1.0;
    }
}

/* Weights are not transformed (TransformerEngine, common/recipe, NVFP4BlockScaling). */
static double reads_of(const struct kernel_list *list, enum operand operand, int copies)
{
    const bool transforms = list->shape->precision == PRECISION_NVFP4 &&
                            list->shape->software->low.transforms && operand != OPERAND_WEIGHTS;
    return transforms ? (double)copies : 1.0;
}

/* Scales of tensors and of blocks: all copies at once. What sequence parallelism gathers
 * converted each rank has converted its part of, in one copy where the other is the transposed
 * one, which is made of what was gathered (TransformerEngine, pytorch/distributed.py,
 * gather_along_first_dim). */
static void convert_whole(struct kernel_list *list, const struct tensor *tensor)
{
    const struct conversion_names *names = &names_of[tensor->operand];
    const struct software *software = list->shape->software;
    const enum precision precision = list->shape->precision;
    const int copies =
        reads_low(list, readers[tensor->operand][0]) + reads_low(list, readers[tensor->operand][1]);
    const bool has_source = source_converts(list, source_of(list, tensor));
    const bool scales_first = software_scales_first(software, precision);
    const bool is_early = is_split(list, tensor) && gathers_converted(list);
    const double own = tensor->values / (is_early ? (double)list->shape->tp : 1.0);
    const bool turns = is_early && copies == 2 && wants_transposed(list);
    const double byte = precision_operand_bytes(precision);
    if (copies == 0) {
        return;
    }
    if (scales_first && !has_source) {
        kernel_list_pass(list, own, (struct pass){names->scale, 1, 0});
        kernel_list_last(list)->launches = scale_launches(list);
    }
    if (scales_first || !has_source) {
        const double written = (turns ? 1.0 : (double)copies_written(list, copies)) * byte;
        const double reads = reads_of(list, tensor->operand, copies);
        const double more = slowness(list);
        kernel_list_pass(list, own, (struct pass){names->convert, more * reads, more * written});
        kernel_list_last(list)->launches = convert_launches(list, copies, has_source);
    }
    if (turns) {
        kernel_list_pass(list, tensor->values, (struct pass){names->transpose, 0, 2.0 * byte});
    }
}

static void convert(struct kernel_list *list, const struct tensor *tensor)
{
    if (!has_row_scales(list)) {
        convert_whole(list, tensor);
        return;
    }
    convert_rows(list, tensor);
    if (tensor->operand != OPERAND_INPUT) {
        convert_columns(list, tensor);
    }
}

void kernel_list_convert(struct kernel_list *list, enum operand operand, double values,
                         enum operand_source source)
{
    convert(list, &(struct tensor){operand, values, source, false});
}

void kernel_list_convert_core(struct kernel_list *list, struct core_conversion names, double values)
{
    const bool is_of_blocks = list->shape->precision == PRECISION_MXFP8;
    const bool is_scaled = list->shape->software->low.recipe == RECIPE_CURRENT && !is_of_blocks;
    if (is_scaled) {
        kernel_list_pass(list, values, (struct pass){names.scale, 1, 0});
        kernel_list_last(list)->launches = SCALE_LAUNCHES;
    }
    const double copies = is_of_blocks ? 2.0 : 1.0;
    const double more = is_of_blocks ? slowness(list) : 1.0;
    const enum precision format = is_of_blocks ? PRECISION_MXFP8 : PRECISION_FP8;
    kernel_list_pass(
        list, values,
        (struct pass){names.convert, more, more * copies * precision_operand_bytes(format)});
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

static int64_t count_of(const struct weight_matrix *weight)
{
    return weight->count > 0 ? weight->count : 1;
}

static double weights_of(const struct weight_matrix *weight)
{
    return (double)count_of(weight) * (double)weight->out * (double)weight->in;
}

/* Values of so many a row. */
static double row_values(const struct kernel_list *list, const struct weight_matrix *weight,
                         int64_t side)
{
    return (double)list->rows * (double)(count_of(weight) * side);
}

void kernel_list_forward(struct kernel_list *list, struct weight_matrix weight)
{
    const struct product size = {list->rows, weight.out, weight.in, count_of(&weight)};
    const double weights = weights_of(&weight);
    const struct tensor input = {OPERAND_INPUT, row_values(list, &weight, weight.in), weight.input,
                                 weight.gathers_input};
    convert(list, &input);
    kernel_list_convert_weights(list, weights);
    kernel_list_linear(list, weight.forward, GEMM_FORWARD, size);
}

/* With scales of rows torchao multiplies backward with scales of 1, for the kernel that knows
 * them adds up too slowly there, and its result by the scales afterwards, in a kernel of its own
 * (torchao/float8/float8_ops.py, post_inverse_scale; https://github.com/pytorch/ao/issues/2184). */
static void rescale(struct kernel_list *list, enum gemm_pass pass, double values)
{
    if (has_row_scales(list) && runs_low(list, pass)) {
        const char *name =
            pass == GEMM_DGRAD ? "rescale input gradient" : "rescale weight gradient";
        kernel_list_pass(list, values, (struct pass){name, 2, 0});
    }
}

/* A converted weight that stays, but one way only: turned for the product of the input's gradient
 * (Megatron-LM's disable_parameter_transpose_cache). */
static void turn_weight(struct kernel_list *list, const struct weight_matrix *weight)
{
    const struct low_precision *low = &list->shape->software->low;
    if (low->weights != WEIGHTS_EACH_MICROBATCH && !low->keeps_transposes && low->in_dgrad &&
        software_scales_tensors(list->shape->software, list->shape->precision) &&
        !list->shape->transposes_fp8) {
        const double read_and_written = 2.0 * precision_operand_bytes(PRECISION_FP8);
        kernel_list_pass(list, weights_of(weight),
                         (struct pass){"transpose weight", 0, read_and_written});
    }
}

void kernel_list_dgrad(struct kernel_list *list, struct weight_matrix weight)
{
    const struct product size = {list->rows, weight.in, weight.out, count_of(&weight)};
    const struct tensor gradient = {OPERAND_GRADIENT, row_values(list, &weight, weight.out),
                                    weight.gradient, weight.gathers_gradient};
    convert(list, &gradient);
    turn_weight(list, &weight);
    kernel_list_linear(list, weight.dgrad, GEMM_DGRAD, size);
    rescale(list, GEMM_DGRAD, row_values(list, &weight, weight.in));
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
    const struct product size = {weight.out, weight.in, list->rows, count_of(&weight)};
    if (has_row_scales(list)) {
        const double values = row_values(list, &weight, weight.in);
        convert_columns(list, &(struct tensor){OPERAND_INPUT, values, weight.input, false});
    }
    struct kernel *kernel = kernel_list_linear(list, weight.wgrad, GEMM_WGRAD, size);
    kernel_list_accumulate(list, kernel, weights_of(&weight));
    rescale(list, GEMM_WGRAD, weights_of(&weight));
}
