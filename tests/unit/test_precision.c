/* Products of 8 and 4 bits: how long they take, which ones they are, and what converting their
 * operands moves. */
#include "hw/kernel.h"
#include "input/scenario.h"
#include "plan/kernels/kernel_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/assert_close.h"
#include "support/segments.h"

/* One layer, h = 4096, f = 14336, 32 heads of 128, 8 of keys and values; b s = 8192 tokens. */
static const struct layer_kind llama_layer = {
    .hidden = 4096,
    .heads = 32,
    .kv_heads = 8,
    .head_dim = 128,
    .value_dim = 128,
    .ffn_hidden = 14336,
};
static const struct model llama_model = {
    .layers = 1,
    .hidden = 4096,
    .ffn_hidden = 14336,
    .heads = 32,
    .kv_heads = 8,
    .head_dim = 128,
    .vocab = 128256,
};
static const double TOKENS = 8192.0;

static struct cost_shape shape_of(const struct software *software, enum precision precision)
{
    return (struct cost_shape){
        .model = &llama_model,
        .layer = &llama_layer,
        .software = software,
        .precision = precision,
        .tp = 1,
        .micro = 1,
        .sequence_length = 8192,
        .cp = 1,
        .ep = 1,
        .etp = 1,
        .local_experts = 1,
        .expert_rows = 1.0,
    };
}

/* All three products low, W converted each microbatch, nothing fused. */
static struct software plain(uint32_t recipe)
{
    return (struct software){
        .gradient_precision = PRECISION_FP32,
        .low = {.is_known = true,
                .in_forward = true,
                .in_dgrad = true,
                .in_wgrad = true,
                .recipe = recipe,
                .keeps_transposes = true,
                .column_rate = 1.0,
                .block_rate = 1.0,
                .transforms = true},
    };
}

static const struct weight_matrix fc1 = {.out = 28672,
                                         .in = 4096,
                                         .forward = "fc1",
                                         .dgrad = "fc1 dgrad",
                                         .wgrad = "fc1 wgrad",
                                         .input = OPERAND_FROM_NORM,
                                         .gradient = OPERAND_FROM_ACTIVATION};

static const struct kernel *find(const struct segment *segment, const char *name)
{
    for (uint32_t i = 0; i < segment->count; i++) {
        if (strcmp(segment->kernels[i].name, name) == 0) {
            return &segment->kernels[i];
        }
    }
    return NULL;
}

/* ---- time of a product ---- */

/* 132 * 256 by 64 * 128 is 132 * 64 tiles: 64 full waves of an H100, so with k_half 0 the time is
 * 2mnk over peak times efficiency: bf16 at 0.73 of 989.4, fp8 at 0.72 of 1978.9 TFLOP/s. */
static void fp8_product_takes_its_flop_over_its_own_rate(void **state)
{
    (void)state;
    const int64_t m = 132 * 256;
    const int64_t n = 64 * 128;
    const int64_t k = 8192;
    const struct gpu gpu = {
        .peak_flop_per_s = {[PRECISION_BF16] = 989.4e12, [PRECISION_FP8] = 1978.9e12},
        .memory_bandwidth_bytes_per_s = 3.35e12,
        .memory_kernel_efficiency = 1.0,
        .sms = 132,
        .gemm_tile_m = 256,
        .gemm_tile_n = 128,
        .gemm_efficiency = 0.73,
        .gemm_of = {[PRECISION_FP8] = {.efficiency = 0.72}},
    };
    struct kernel_gpu on = {.gpu = &gpu, .precision = PRECISION_BF16, .gemm_derate = 1.0};
    const double flop = 2.0 * (double)m * (double)n * (double)k;
    assert_close(kernel_gemm(&on, m, n, k, 1, 0.0).busy_s, flop / (0.73 * 989.4e12), 1e-12);
    on.precision = PRECISION_FP8;
    assert_close(kernel_gemm(&on, m, n, k, 1, 0.0).busy_s, flop / (0.72 * 1978.9e12), 1e-12);
}

/* H100, fp8: the ridge lies at 1978.9e12 / 3.35e12 = 590.7 FLOP a byte, twice that of bf16. A
 * product of m = 128 rows by 14336 x 4096 reads 128 * 4096 + 4096 * 14336 bytes and writes
 * 128 * 14336 results of two: 2 mnk / bytes = 240 FLOP a byte, so memory bounds it. */
static void fp8_product_of_few_rows_takes_the_time_of_its_bytes(void **state)
{
    (void)state;
    const struct gpu gpu = {
        .peak_flop_per_s = {[PRECISION_FP8] = 1978.9e12},
        .memory_bandwidth_bytes_per_s = 3.35e12,
        .memory_kernel_efficiency = 1.0,
        .sms = 132,
        .gemm_tile_m = 128,
        .gemm_tile_n = 256,
        .gemm_efficiency = 1.0,
    };
    const struct kernel_gpu on = {.gpu = &gpu, .precision = PRECISION_FP8, .gemm_derate = 1.0};
    const double bytes = 128.0 * 4096 + 4096.0 * 14336 + 2.0 * 128 * 14336;
    assert_close(bytes, 62914560.0, 0.0);
    assert_close(kernel_gemm(&on, 128, 14336, 4096, 1, bytes).busy_s, bytes / 3.35e12, 1e-12);
}

static void precision_without_own_figures_has_those_of_the_others(void **state)
{
    (void)state;
    const struct gpu gpu = {
        .peak_flop_per_s = {[PRECISION_BF16] = 989.4e12, [PRECISION_FP8] = 1978.9e12},
        .gemm_efficiency = 0.7,
        .gemm_k_half = 200,
        .gemm_of = {[PRECISION_FP8] = {.efficiency = 0.6, .k_half = 500}},
    };
    assert_close(gpu_gemm(&gpu, PRECISION_BF16).efficiency, 0.7, 0.0);
    assert_close(gpu_gemm(&gpu, PRECISION_BF16).k_half, 200, 0.0);
    assert_close(gpu_gemm(&gpu, PRECISION_FP8).efficiency, 0.6, 0.0);
    assert_close(gpu_gemm(&gpu, PRECISION_FP8).k_half, 500, 0.0);
    assert_true(gpu_has_precision(&gpu, PRECISION_FP8));
    assert_false(gpu_has_precision(&gpu, PRECISION_NVFP4));
}

/* ---- bytes of values ---- */

/* Scales: one byte for 32 values of mxfp8, one for 16 of nvfp4, whose values are half bytes. */
static void operands_carry_the_scales_of_their_blocks(void **state)
{
    (void)state;
    assert_close(precision_operand_bytes(PRECISION_BF16), 2.0, 0.0);
    assert_close(precision_operand_bytes(PRECISION_FP8), 1.0, 0.0);
    assert_close(32.0 * precision_operand_bytes(PRECISION_MXFP8), 33.0, 0.0);
    assert_close(16.0 * precision_operand_bytes(PRECISION_NVFP4), 9.0, 0.0);
    assert_int_equal(precision_bytes(PRECISION_NVFP4), 2); /* kept between products in bf16 */
}

/* What the software keeps and sends: 1 byte of fp8, 2 of bf16; tokens for experts with a scale
 * of four bytes for 128 values: 1 + 1/32. In bf16 none of it matters. */
static void software_says_what_is_kept_and_sent_in_8_bits(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_DELAYED);
    assert_close(software_kept_bytes(&software, PRECISION_FP8), 2.0, 0.0);
    assert_close(software_gather_bytes(&software, PRECISION_FP8), 2.0, 0.0);
    software.low.keeps_inputs = true;
    software.low.gathers_parameters = true;
    software.low.gathers_activations = true;
    software.dispatch = EXCHANGE_FP8;
    assert_close(software_kept_bytes(&software, PRECISION_FP8), 1.0, 0.0);
    assert_close(software_gather_bytes(&software, PRECISION_FP8), 1.0, 0.0);
    assert_close(software_gather_bytes(&software, PRECISION_MXFP8), 2.0, 0.0);
    assert_close(software_activation_gather_bytes(&software, PRECISION_FP8), 1.0, 0.0);
    assert_close(software_dispatch_bytes(&software, PRECISION_FP8), 1.03125, 0.0);
    assert_close(software_combine_bytes(&software, PRECISION_FP8), 2.0, 0.0);
    assert_close(software_kept_bytes(&software, PRECISION_BF16), 2.0, 0.0);
    assert_close(software_dispatch_bytes(&software, PRECISION_BF16), 2.0, 0.0);
    assert_close(software_gather_bytes(&software, PRECISION_FP32), 4.0, 0.0);
}

/* Two copies of a byte, with the 16-bit weight (per step), alone (stored), or none that stays. */
static void converted_weights_that_stay_are_two_copies(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_DELAYED);
    assert_close(software_weight_bytes(&software, PRECISION_FP8, false), 2.0, 0.0);
    software.low.weights = WEIGHTS_EACH_STEP;
    assert_close(software_weight_bytes(&software, PRECISION_FP8, false), 4.0, 0.0);
    software.low.weights = WEIGHTS_STORED;
    assert_close(software_weight_bytes(&software, PRECISION_FP8, false), 2.0, 0.0);
    assert_close(software_weight_bytes(&software, PRECISION_MXFP8, false), 2.0625, 0.0);
    assert_close(software_weight_bytes(&software, PRECISION_BF16, false), 2.0, 0.0);
    assert_close(software_weight_bytes(&software, PRECISION_FP32, false), 4.0, 0.0);
}

/* Blackwell's products read one scale's tensor either way; Hopper's do not, unless each use turns
 * it. Scales of blocks belong to one direction. */
static void one_copy_is_enough_where_nothing_needs_the_other(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_DELAYED);
    software.low.weights = WEIGHTS_STORED;
    assert_close(software_weight_bytes(&software, PRECISION_FP8, true), 1.0, 0.0);
    assert_close(software_weight_bytes(&software, PRECISION_FP8, false), 2.0, 0.0);
    assert_close(software_weight_bytes(&software, PRECISION_MXFP8, true), 2.0625, 0.0);
    software.low.keeps_transposes = false;
    assert_close(software_weight_bytes(&software, PRECISION_FP8, false), 1.0, 0.0);
    assert_close(software_weight_bytes(&software, PRECISION_MXFP8, false), 2.0625, 0.0);
    software.low.recipe = RECIPE_BLOCKWISE;
    assert_close(software_weight_bytes(&software, PRECISION_FP8, true), 2.0, 0.0);
}

/* ---- kernels of a weight ---- */

/* Delayed scaling: X is read (2) and written twice (1 + 1): 4 bytes of 8192 * 4096 values; W the
 * same of 28672 * 4096. The product reads both in bytes of one and writes two. */
static void delayed_scaling_reads_once_and_writes_two_copies(void **state)
{
    (void)state;
    const struct software software = plain(RECIPE_DELAYED);
    const struct cost_shape shape = shape_of(&software, PRECISION_FP8);
    struct segment segment;
    struct kernel_list list;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_forward(&list, fc1);
    assert_int_equal(segment.count, 3);
    assert_close(find(&segment, "convert input")->bytes, 4.0 * TOKENS * 4096, 0.0);
    assert_close(find(&segment, "convert weights")->bytes, 4.0 * 28672 * 4096, 0.0);
    const struct kernel *product = find(&segment, "fc1");
    assert_int_equal(product->precision, PRECISION_FP8);
    assert_close(product->bytes, TOKENS * 4096 + 4096.0 * 28672 + 2.0 * TOKENS * 28672, 0.0);
}

/* dY in front of dgrad, for dgrad and wgrad; wgrad converts nothing. Its result is added to fp32
 * gradients: 8 bytes a weight beside the operands of one byte. */
static void gradient_is_converted_once_for_both_products(void **state)
{
    (void)state;
    const struct software software = plain(RECIPE_DELAYED);
    const struct cost_shape shape = shape_of(&software, PRECISION_FP8);
    struct segment segment;
    struct kernel_list list;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_dgrad(&list, fc1);
    kernel_list_wgrad(&list, fc1);
    assert_int_equal(segment.count, 3);
    assert_close(find(&segment, "convert gradient")->bytes, 4.0 * TOKENS * 28672, 0.0);
    assert_close(find(&segment, "fc1 wgrad")->bytes,
                 28672 * TOKENS + TOKENS * 4096 + 8.0 * 28672 * 4096, 0.0);
}

/* A frozen weight has no gradient: input and output's gradient are written once (2 + 1 bytes). Kept
 * one way only, it is turned for dgrad, read and written in fp8; not where products turn it. */
static void of_frozen_weights_one_copy_is_written(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_DELAYED);
    struct cost_shape shape = shape_of(&software, PRECISION_FP8);
    struct segment segment;
    struct kernel_list list;
    software.low.weights = WEIGHTS_STORED;
    shape.lora_rank = 16;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_forward(&list, fc1);
    kernel_list_dgrad(&list, fc1);
    assert_int_equal(segment.count, 4);
    assert_close(find(&segment, "convert input")->bytes, 3.0 * TOKENS * 4096, 0.0);
    assert_close(find(&segment, "convert gradient")->bytes, 3.0 * TOKENS * 28672, 0.0);
    software.low.keeps_transposes = false;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_dgrad(&list, fc1);
    assert_int_equal(segment.count, 3);
    assert_close(find(&segment, "transpose weight")->bytes, 2.0 * 4096 * 28672, 0.0);
    shape.transposes_fp8 = true;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_dgrad(&list, fc1);
    assert_int_equal(segment.count, 2);
}

/* A scale of the tensor itself: a pass that reads X (2 bytes), then the conversion. nvfp4 reads
 * once more for the transformed copy, and writes two of 9/16 byte: 4 + 1.125. */
static void current_scaling_reads_the_tensor_before(void **state)
{
    (void)state;
    const struct software software = plain(RECIPE_CURRENT);
    const enum precision precisions[] = {PRECISION_FP8, PRECISION_NVFP4};
    const double converted[] = {4.0, 5.125};
    for (size_t i = 0; i < 2; i++) {
        const struct cost_shape shape = shape_of(&software, precisions[i]);
        struct segment segment;
        struct kernel_list list;
        kernel_list_init(&list, &shape, &segment);
        kernel_list_convert(&list, OPERAND_INPUT, TOKENS, OPERAND_FROM_NORM);
        assert_int_equal(segment.count, 2);
        assert_close(find(&segment, "scale of input")->bytes, 2.0 * TOKENS, 0.0);
        assert_close(find(&segment, "convert input")->bytes, converted[i] * TOKENS, 0.0);
    }
}

/* Hopper writes fp8 twice, as one product wants it transposed; a GPU that transposes while it reads
 * writes it once, but for scales of blocks. */
static void fp8_is_written_once_where_products_transpose(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_CURRENT);
    struct cost_shape shape = shape_of(&software, PRECISION_FP8);
    struct segment segment;
    struct kernel_list list;
    shape.transposes_fp8 = true;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_convert(&list, OPERAND_INPUT, TOKENS, OPERAND_FROM_OTHERS);
    assert_close(find(&segment, "convert input")->bytes, 3.0 * TOKENS, 0.0);
    software.low.recipe = RECIPE_BLOCKWISE;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_convert(&list, OPERAND_INPUT, TOKENS, OPERAND_FROM_OTHERS);
    assert_close(find(&segment, "convert input")->bytes, 4.0 * TOKENS, 0.0);
}

/* The scale of nvfp4 is found after the Hadamard transform, which no norm does. */
static void norm_does_not_convert_nvfp4(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_CURRENT);
    software.low.fuses_norm = true;
    const struct cost_shape shape = shape_of(&software, PRECISION_NVFP4);
    struct segment segment;
    struct kernel_list list;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_convert(&list, OPERAND_INPUT, TOKENS, OPERAND_FROM_NORM);
    assert_int_equal(segment.count, 2);
}

/* Without transforms the norm has found nvfp4's largest value, and one read makes both copies;
 * weights are never transformed. */
static void nvfp4_without_transforms_reads_once(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_CURRENT);
    software.low.fuses_norm = true;
    const struct cost_shape shape = shape_of(&software, PRECISION_NVFP4);
    struct segment segment;
    struct kernel_list list;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_convert(&list, OPERAND_WEIGHTS, TOKENS, OPERAND_FROM_OTHERS);
    assert_close(find(&segment, "convert weights")->bytes, 3.125 * TOKENS, 0.0);
    software.low.transforms = false;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_convert(&list, OPERAND_INPUT, TOKENS, OPERAND_FROM_NORM);
    assert_int_equal(segment.count, 1);
    assert_close(segment.kernels[0].bytes, 3.125 * TOKENS, 0.0);
}

/* A norm converts to mxfp8 only where it finds scales of blocks; kernels that do at half the rate
 * of others count twice. fp8 knows nothing of it. */
static void blocks_are_converted_at_their_own_rate(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_DELAYED);
    software.low.fuses_norm = true;
    software.low.block_rate = 0.5;
    struct cost_shape shape = shape_of(&software, PRECISION_MXFP8);
    struct segment segment;
    struct kernel_list list;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_convert(&list, OPERAND_INPUT, TOKENS, OPERAND_FROM_NORM);
    assert_close(find(&segment, "convert input")->bytes, 8.125 * TOKENS, 0.0);
    software.low.fuses_norm_blocks = true;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_convert(&list, OPERAND_INPUT, TOKENS, OPERAND_FROM_NORM);
    assert_int_equal(segment.count, 0);
    shape.precision = PRECISION_FP8;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_convert(&list, OPERAND_INPUT, TOKENS, OPERAND_FROM_OTHERS);
    assert_close(find(&segment, "convert input")->bytes, 4.0 * TOKENS, 0.0);
}

/* mxfp8's scales belong to blocks: one pass, 2 + 2 (1 + 1/32) bytes, whatever the recipe. */
static void scales_of_blocks_need_one_pass(void **state)
{
    (void)state;
    const struct software software = plain(RECIPE_CURRENT);
    const struct cost_shape shape = shape_of(&software, PRECISION_MXFP8);
    struct segment segment;
    struct kernel_list list;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_convert(&list, OPERAND_INPUT, TOKENS, OPERAND_FROM_OTHERS);
    assert_int_equal(segment.count, 1);
    assert_close(segment.kernels[0].bytes, 4.0625 * TOKENS, 0.0);
}

/* Sequence parallelism over 8 ranks that gathers converted: each has an eighth to convert, read
 * (2) and written (1); Hopper's second copy is turned out of what was gathered, read and written
 * (1 + 1). Blackwell has none. */
static void gathered_operands_are_converted_before(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_CURRENT);
    software.low.fuses_norm = true;
    software.low.gathers_activations = true;
    struct weight_matrix gathers = fc1;
    gathers.gathers_input = true;
    struct cost_shape shape = shape_of(&software, PRECISION_FP8);
    shape.tp = 8;
    shape.is_sequence_parallel = true;
    struct segment segment;
    struct kernel_list list;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_forward(&list, gathers);
    assert_close(find(&segment, "convert input")->bytes, 3.0 * TOKENS * 4096 / 8, 0.0);
    assert_close(find(&segment, "transpose input")->bytes, 2.0 * TOKENS * 4096, 0.0);
    shape.transposes_fp8 = true;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_forward(&list, gathers);
    assert_close(find(&segment, "convert input")->bytes, 3.0 * TOKENS * 4096 / 8, 0.0);
    assert_null(find(&segment, "transpose input"));
    shape.is_sequence_parallel = false;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_forward(&list, gathers);
    assert_close(find(&segment, "convert input")->bytes, 3.0 * TOKENS * 4096, 0.0);
}

/* Gathered in 16 bits, an operand is there only after its norm: no norm converts it. */
static void a_norm_does_not_convert_what_is_gathered_in_16_bits(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_DELAYED);
    software.low.fuses_norm = true;
    struct weight_matrix gathers = fc1;
    gathers.gathers_input = true;
    struct cost_shape shape = shape_of(&software, PRECISION_FP8);
    struct segment segment;
    struct kernel_list list;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_forward(&list, gathers);
    assert_null(find(&segment, "convert input"));
    shape.tp = 8;
    shape.is_sequence_parallel = true;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_forward(&list, gathers);
    assert_close(find(&segment, "convert input")->bytes, 4.0 * TOKENS * 4096, 0.0);
}

/* A frozen weight has no gradient: its input and its output's gradient are read once, in one copy
 * (2 + 1 bytes). */
static void frozen_weights_want_one_copy(void **state)
{
    (void)state;
    const struct software software = plain(RECIPE_DELAYED);
    struct cost_shape shape = shape_of(&software, PRECISION_FP8);
    shape.lora_rank = 16;
    struct segment segment;
    struct kernel_list list;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_forward(&list, fc1);
    kernel_list_dgrad(&list, fc1);
    assert_close(find(&segment, "convert input")->bytes, 3.0 * TOKENS * 4096, 0.0);
    assert_close(find(&segment, "convert gradient")->bytes, 3.0 * TOKENS * 28672, 0.0);
}

/* A norm writes what it hands on converted, but not for an adapter, which reads 16 bits: 2 + 1
 * bytes more. */
static void what_an_adapter_reads_is_converted_apart(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_DELAYED);
    software.low.fuses_norm = true;
    struct cost_shape shape = shape_of(&software, PRECISION_FP8);
    shape.lora_rank = 16;
    shape.lora_targets = 1u << LORA_FC2;
    struct segment segment;
    cost_segment(&shape, SEGMENT_ATTENTION_QKV, &segment);
    assert_null(find(&segment, "convert input"));
    shape.lora_targets = 1u << LORA_QKV;
    cost_segment(&shape, SEGMENT_ATTENTION_QKV, &segment);
    assert_close(find(&segment, "convert input")->bytes, 3.0 * TOKENS * 4096, 0.0);
}

/* What the activation reads, 14,336 values a token, is converted to be kept and turned back for
 * its gradient: 2 + 1 bytes each way. */
static void an_input_kept_in_fp8_costs_a_pass_each_way(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_DELAYED);
    const struct cost_shape shape = shape_of(&software, PRECISION_FP8);
    struct segment segment;
    cost_segment(&shape, SEGMENT_MLP, &segment);
    const uint32_t count = segment.count;
    software.memory.activation_input = KEPT_IN_FP8;
    cost_segment(&shape, SEGMENT_MLP, &segment);
    assert_int_equal(segment.count, count + 1);
    assert_close(find(&segment, "keep input in fp8")->bytes, 3.0 * TOKENS * 14336, 0.0);
    cost_segment(&shape, SEGMENT_MLP_INNER_BACKWARD, &segment);
    assert_close(find(&segment, "kept input from fp8")->bytes, 3.0 * TOKENS * 14336, 0.0);
}

/* Scales of rows: forward X and W are converted along rows (2 + 1), W along columns for dgrad: read
 * for the scale (2), then read and written at a quarter of the rate, 4 x (2 + 1). */
static void scales_of_rows_convert_each_direction_by_itself(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_ROWWISE);
    software.low.column_rate = 0.25;
    const struct cost_shape shape = shape_of(&software, PRECISION_FP8);
    struct segment segment;
    struct kernel_list list;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_forward(&list, fc1);
    assert_int_equal(segment.count, 5);
    assert_close(find(&segment, "convert input")->bytes, 3.0 * TOKENS * 4096, 0.0);
    assert_close(find(&segment, "convert weights")->bytes, 3.0 * 28672 * 4096, 0.0);
    assert_close(find(&segment, "scale of weight columns")->bytes, 2.0 * 28672 * 4096, 0.0);
    assert_close(find(&segment, "convert weight columns")->bytes, 12.0 * 28672 * 4096, 0.0);
    software.low.gathers_parameters = true;
    software.low.gathers_activations = true;
    assert_close(software_gather_bytes(&software, PRECISION_FP8), 2.0, 0.0);
    assert_close(software_activation_gather_bytes(&software, PRECISION_FP8), 2.0, 0.0);
}

/* Backward dY in both directions, X along columns in front of wgrad, and both results times their
 * scales, read and written in 16 bits. With wgrad in 16 bits nothing of columns is left of it. */
static void scales_of_rows_rescale_the_backward_products(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_ROWWISE);
    software.low.column_rate = 1.0;
    const struct cost_shape shape = shape_of(&software, PRECISION_FP8);
    struct segment segment;
    struct kernel_list list;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_dgrad(&list, fc1);
    kernel_list_wgrad(&list, fc1);
    assert_int_equal(segment.count, 9);
    assert_close(find(&segment, "convert gradient")->bytes, 3.0 * TOKENS * 28672, 0.0);
    assert_close(find(&segment, "convert gradient columns")->bytes, 3.0 * TOKENS * 28672, 0.0);
    assert_close(find(&segment, "convert input columns")->bytes, 3.0 * TOKENS * 4096, 0.0);
    assert_close(find(&segment, "rescale input gradient")->bytes, 4.0 * TOKENS * 4096, 0.0);
    assert_close(find(&segment, "rescale weight gradient")->bytes, 4.0 * 28672 * 4096, 0.0);
    software.low.in_wgrad = false;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_dgrad(&list, fc1);
    kernel_list_wgrad(&list, fc1);
    assert_int_equal(segment.count, 4);
    assert_int_equal(find(&segment, "fc1 wgrad")->precision, PRECISION_BF16);
}

/* ---- attention ---- */

/* 32 heads of 128 and 2 x 8 of keys and values: q, k, v have 48 * 128 = 6144 values a token, the
 * output 4096. Delayed scaling: q, k, v are converted (2 + 1 bytes), read in bytes and the output
 * written in bytes, which a pass makes 2 again (1 + 2). */
static void delayed_fp8_attention_reads_and_writes_bytes(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_DELAYED);
    software.attention = ATTENTION_CUDNN;
    software.low.attends = true;
    const struct cost_shape shape = shape_of(&software, PRECISION_FP8);
    struct segment segment;
    cost_segment(&shape, SEGMENT_ATTENTION_CORE, &segment);
    assert_int_equal(segment.count, 3);
    assert_close(find(&segment, "convert q, k, v")->bytes, 3.0 * TOKENS * 6144, 0.0);
    assert_close(find(&segment, "attention")->bytes, TOKENS * (6144 + 4096), 0.0);
    assert_int_equal(find(&segment, "attention")->precision, PRECISION_FP8);
    assert_close(find(&segment, "attention from fp8")->bytes, 3.0 * TOKENS * 4096, 0.0);
}

/* Backward with current scaling: the output's gradient is read for its scale (2), converted (2 + 1)
 * and read with q, k, v (1 each); the output (2) was kept in 16 bits, gradients are written so. */
static void current_fp8_attention_leaves_its_results_in_16_bits(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_CURRENT);
    software.attention = ATTENTION_CUDNN;
    software.low.attends = true;
    software.low.attends_backward = true;
    const struct cost_shape shape = shape_of(&software, PRECISION_FP8);
    struct segment segment;
    cost_segment(&shape, SEGMENT_ATTENTION_CORE_BACKWARD, &segment);
    assert_int_equal(segment.count, 3);
    assert_close(find(&segment, "scale of output gradient")->bytes, 2.0 * TOKENS * 4096, 0.0);
    assert_int_equal(find(&segment, "scale of output gradient")->launches, 3);
    assert_close(find(&segment, "convert output gradient")->bytes, 3.0 * TOKENS * 4096, 0.0);
    assert_close(find(&segment, "attention backward")->bytes,
                 TOKENS * (6144 + 4096) + 2.0 * TOKENS * (4096 + 6144), 0.0);
}

/* Blocks of 32 belong to one direction: q, k, v in two copies of 33/32 bytes. */
static void mxfp8_attention_has_two_copies(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_CURRENT);
    software.attention = ATTENTION_CUDNN;
    software.low.attends = true;
    const struct cost_shape shape = shape_of(&software, PRECISION_MXFP8);
    struct segment segment;
    cost_segment(&shape, SEGMENT_ATTENTION_CORE, &segment);
    assert_int_equal(segment.count, 2);
    assert_close(find(&segment, "convert q, k, v")->bytes, 4.0625 * TOKENS * 6144, 0.0);
}

/* In 16 bits, unfused, or told so only forward, it stays as it was. */
static void attention_is_in_fp8_only_where_it_is_asked_for(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_DELAYED);
    software.attention = ATTENTION_CUDNN;
    software.low.attends = true;
    assert_true(software_attends_low(&software, PRECISION_FP8, false));
    assert_false(software_attends_low(&software, PRECISION_FP8, true));
    assert_false(software_attends_low(&software, PRECISION_BF16, false));
    assert_close(software_attended_bytes(&software, PRECISION_FP8, false), 1.0, 0.0);
    assert_close(software_attended_bytes(&software, PRECISION_FP8, true), 2.0, 0.0);
    const struct cost_shape shape = shape_of(&software, PRECISION_FP8);
    struct segment segment;
    cost_segment(&shape, SEGMENT_ATTENTION_CORE_BACKWARD, &segment);
    assert_int_equal(segment.count, 1);
    assert_int_equal(segment.kernels[0].precision, PRECISION_BF16);
    software.attention = ATTENTION_UNFUSED;
    assert_false(software_attends_low(&software, PRECISION_FP8, false));
}

/* ---- logits ---- */

/* The head's products stay in 16 bits, and are a linear layer's where the software says so: hidden
 * 4096, vocabulary V; mxfp8 reads 2 bytes of a value and writes two copies of 33/32. */
static void logits_are_low_only_where_they_are_asked_for(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_CURRENT);
    const enum segment_kind kinds[] = {SEGMENT_HEAD, SEGMENT_HEAD_BACKWARD, SEGMENT_HEAD_WGRAD};
    static const char *const products[] = {"logits", "logits dgrad", "logits wgrad"};
    struct model model = llama_model;
    model_finish(&model);
    struct cost_shape shape = shape_of(&software, PRECISION_MXFP8);
    shape.model = &model;
    struct segment segment;
    for (int i = 0; i < 3; i++) {
        software.low.projects_head = false;
        cost_segment(&shape, kinds[i], &segment);
        assert_int_equal(find(&segment, products[i])->precision, PRECISION_BF16);
        software.low.projects_head = true;
        cost_segment(&shape, kinds[i], &segment);
        assert_int_equal(find(&segment, products[i])->precision, PRECISION_MXFP8);
    }
    cost_segment(&shape, SEGMENT_HEAD, &segment);
    assert_close(find(&segment, "convert input")->bytes, 4.0625 * TOKENS * 4096, 0.0);
}

/* ---- fused conversions ---- */

/* A norm that writes fp8 saves the pass (delayed) or the one that looks for the scale (current);
 * the activation is another kernel, which this software does not fuse. */
static void fused_norm_saves_a_pass(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_DELAYED);
    software.low.fuses_norm = true;
    const struct cost_shape shape = shape_of(&software, PRECISION_FP8);
    struct segment segment;
    struct kernel_list list;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_convert(&list, OPERAND_INPUT, TOKENS, OPERAND_FROM_NORM);
    assert_int_equal(segment.count, 0);
    kernel_list_convert(&list, OPERAND_INPUT, TOKENS, OPERAND_FROM_ACTIVATION);
    assert_int_equal(segment.count, 1);
    software.low.recipe = RECIPE_CURRENT;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_convert(&list, OPERAND_INPUT, TOKENS, OPERAND_FROM_NORM);
    assert_int_equal(segment.count, 1);
    assert_string_equal(segment.kernels[0].name, "convert input");
}

/* wgrad in bf16: X and dY are converted to one copy (2 + 1 bytes), and wgrad multiplies bf16. */
static void product_kept_in_16_bits_needs_no_copy(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_DELAYED);
    software.low.in_wgrad = false;
    software.low.weights = WEIGHTS_STORED;
    const struct cost_shape shape = shape_of(&software, PRECISION_FP8);
    struct segment segment;
    struct kernel_list list;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_forward(&list, fc1);
    kernel_list_wgrad(&list, fc1);
    assert_int_equal(segment.count, 3);
    assert_close(find(&segment, "convert input")->bytes, 3.0 * TOKENS * 4096, 0.0);
    assert_int_equal(find(&segment, "fc1")->precision, PRECISION_FP8);
    assert_int_equal(find(&segment, "fc1 wgrad")->precision, PRECISION_BF16);
    assert_close(find(&segment, "fc1 wgrad")->bytes,
                 2.0 * (28672 * TOKENS + TOKENS * 4096) + 8.0 * 28672 * 4096, 0.0);
}

static void weights_gathered_or_kept_converted_are_not_converted_again(void **state)
{
    (void)state;
    struct software software = plain(RECIPE_DELAYED);
    const struct cost_shape shape = shape_of(&software, PRECISION_FP8);
    struct segment segment;
    struct kernel_list list;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_convert_weights(&list, 100.0);
    assert_int_equal(segment.count, 1);
    software.low.gathers_parameters = true;
    kernel_list_convert_weights(&list, 100.0);
    software.low.gathers_parameters = false;
    software.low.weights = WEIGHTS_EACH_STEP;
    kernel_list_convert_weights(&list, 100.0);
    assert_int_equal(segment.count, 1);
}

/* The same calls in bf16 give one kernel each, with all values of two bytes. */
static void training_in_16_bits_converts_nothing(void **state)
{
    (void)state;
    const struct software software = plain(RECIPE_CURRENT);
    const struct cost_shape shape = shape_of(&software, PRECISION_BF16);
    struct segment segment;
    struct kernel_list list;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_forward(&list, fc1);
    kernel_list_dgrad(&list, fc1);
    kernel_list_wgrad(&list, fc1);
    assert_int_equal(segment.count, 3);
    assert_int_equal(find(&segment, "fc1")->precision, PRECISION_BF16);
    assert_close(find(&segment, "fc1")->bytes,
                 2.0 * (TOKENS * 4096 + 4096.0 * 28672 + TOKENS * 28672), 0.0);
}

/* ---- which products ---- */

static void products_of_activations_and_outside_stay_in_16_bits(void **state)
{
    (void)state;
    const struct software software = plain(RECIPE_DELAYED);
    const struct cost_shape shape = shape_of(&software, PRECISION_FP8);
    const struct product size = {64, 64, 64, 1};
    struct segment segment;
    struct kernel_list list;
    kernel_list_init(&list, &shape, &segment);
    kernel_list_product(&list, "scores", GEMM_FORWARD, size);
    kernel_list_linear(&list, "low", GEMM_FORWARD, size);
    kernel_list_outside(&list, true);
    kernel_list_linear(&list, "outside", GEMM_FORWARD, size);
    kernel_list_convert(&list, OPERAND_INPUT, 64.0, OPERAND_FROM_OTHERS);
    kernel_list_outside(&list, false);
    kernel_list_linear(&list, "low again", GEMM_FORWARD, size);
    assert_int_equal(segment.count, 4);
    assert_int_equal(find(&segment, "scores")->precision, PRECISION_BF16);
    assert_int_equal(find(&segment, "low")->precision, PRECISION_FP8);
    assert_int_equal(find(&segment, "outside")->precision, PRECISION_BF16);
    assert_int_equal(find(&segment, "low again")->precision, PRECISION_FP8);
}

static void assert_precision(const struct cost_shape *shape, enum segment_kind kind,
                             const char *name, enum precision precision)
{
    struct segment segment;
    cost_segment(shape, kind, &segment);
    const struct kernel *kernel = segment_find(&segment, name);
    assert_int_equal(kernel->kind, KERNEL_GEMM);
    assert_int_equal(kernel->precision, precision);
}

/* A layer of Llama and the head in fp8: the four matrices and their gradients in fp8; the core
 * of (unfused) attention and the logits, forward and backward, in bf16. */
static void matrices_of_a_layer_run_low_core_and_logits_do_not(void **state)
{
    (void)state;
    static const struct {
        enum segment_kind kind;
        const char *name;
        enum precision precision;
    } cases[] = {
        {SEGMENT_ATTENTION, "qkv", PRECISION_FP8},
        {SEGMENT_ATTENTION, "scores", PRECISION_BF16},
        {SEGMENT_ATTENTION, "values", PRECISION_BF16},
        {SEGMENT_ATTENTION, "projection", PRECISION_FP8},
        {SEGMENT_MLP, "fc1", PRECISION_FP8},
        {SEGMENT_MLP, "fc2", PRECISION_FP8},
        {SEGMENT_MLP_INNER_BACKWARD, "fc2 dgrad", PRECISION_FP8},
        {SEGMENT_MLP_INNER_WGRAD, "fc2 wgrad", PRECISION_FP8},
        {SEGMENT_MLP_DGRAD, "fc1 dgrad", PRECISION_FP8},
        {SEGMENT_MLP_WGRAD, "fc1 wgrad", PRECISION_FP8},
        {SEGMENT_ATTENTION_INNER_BACKWARD, "projection dgrad", PRECISION_FP8},
        {SEGMENT_ATTENTION_INNER_BACKWARD, "scores wgrad", PRECISION_BF16},
        {SEGMENT_ATTENTION_DGRAD, "qkv dgrad", PRECISION_FP8},
        {SEGMENT_ATTENTION_WGRAD, "qkv wgrad", PRECISION_FP8},
        {SEGMENT_HEAD, "logits", PRECISION_BF16},
        {SEGMENT_HEAD_BACKWARD, "logits dgrad", PRECISION_BF16},
        {SEGMENT_HEAD_WGRAD, "logits wgrad", PRECISION_BF16},
    };
    const struct software software = plain(RECIPE_DELAYED);
    struct model model = llama_model;
    model_finish(&model);
    struct cost_shape shape = shape_of(&software, PRECISION_FP8);
    shape.model = &model;
    shape.layer = model_layer(&model, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_precision(&shape, cases[i].kind, cases[i].name, cases[i].precision);
    }
}

/* Eight experts, two of them for a token: 16,384 rows on one rank. Their matrices run in fp8, the
 * router in bf16. X of fc1 is converted as it arrives: 4 bytes of 16,384 * 4096 values. */
static void experts_run_low_the_router_does_not(void **state)
{
    (void)state;
    struct model model = llama_model;
    model.experts = 8;
    model.experts_per_token = 2;
    model.expert_hidden = 14336;
    model.mlp = MLP_SWIGLU;
    model_finish(&model);
    struct software software = plain(RECIPE_BLOCKWISE);
    software.low.weights = WEIGHTS_EACH_STEP;
    software.low.fuses_norm = true;
    struct cost_shape shape = shape_of(&software, PRECISION_FP8);
    shape.model = &model;
    shape.layer = model_layer(&model, 0);
    shape.local_experts = 8;
    assert_precision(&shape, SEGMENT_ROUTER, "router", PRECISION_BF16);
    assert_precision(&shape, SEGMENT_EXPERTS, "experts fc1", PRECISION_FP8);
    assert_precision(&shape, SEGMENT_EXPERTS, "experts fc2", PRECISION_FP8);
    struct segment segment;
    cost_segment(&shape, SEGMENT_EXPERTS, &segment);
    assert_close(segment_find(&segment, "convert input")->bytes, 4.0 * 16384 * 4096, 0.0);
    assert_null(find(&segment, "convert weights"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp8_product_takes_its_flop_over_its_own_rate),
        cmocka_unit_test(fp8_product_of_few_rows_takes_the_time_of_its_bytes),
        cmocka_unit_test(precision_without_own_figures_has_those_of_the_others),
        cmocka_unit_test(operands_carry_the_scales_of_their_blocks),
        cmocka_unit_test(software_says_what_is_kept_and_sent_in_8_bits),
        cmocka_unit_test(converted_weights_that_stay_are_two_copies),
        cmocka_unit_test(one_copy_is_enough_where_nothing_needs_the_other),
        cmocka_unit_test(delayed_scaling_reads_once_and_writes_two_copies),
        cmocka_unit_test(gradient_is_converted_once_for_both_products),
        cmocka_unit_test(of_frozen_weights_one_copy_is_written),
        cmocka_unit_test(current_scaling_reads_the_tensor_before),
        cmocka_unit_test(fp8_is_written_once_where_products_transpose),
        cmocka_unit_test(norm_does_not_convert_nvfp4),
        cmocka_unit_test(scales_of_blocks_need_one_pass),
        cmocka_unit_test(gathered_operands_are_converted_before),
        cmocka_unit_test(a_norm_does_not_convert_what_is_gathered_in_16_bits),
        cmocka_unit_test(frozen_weights_want_one_copy),
        cmocka_unit_test(what_an_adapter_reads_is_converted_apart),
        cmocka_unit_test(an_input_kept_in_fp8_costs_a_pass_each_way),
        cmocka_unit_test(scales_of_rows_convert_each_direction_by_itself),
        cmocka_unit_test(scales_of_rows_rescale_the_backward_products),
        cmocka_unit_test(nvfp4_without_transforms_reads_once),
        cmocka_unit_test(blocks_are_converted_at_their_own_rate),
        cmocka_unit_test(delayed_fp8_attention_reads_and_writes_bytes),
        cmocka_unit_test(current_fp8_attention_leaves_its_results_in_16_bits),
        cmocka_unit_test(mxfp8_attention_has_two_copies),
        cmocka_unit_test(logits_are_low_only_where_they_are_asked_for),
        cmocka_unit_test(attention_is_in_fp8_only_where_it_is_asked_for),
        cmocka_unit_test(fused_norm_saves_a_pass),
        cmocka_unit_test(product_kept_in_16_bits_needs_no_copy),
        cmocka_unit_test(weights_gathered_or_kept_converted_are_not_converted_again),
        cmocka_unit_test(training_in_16_bits_converts_nothing),
        cmocka_unit_test(products_of_activations_and_outside_stay_in_16_bits),
        cmocka_unit_test(matrices_of_a_layer_run_low_core_and_logits_do_not),
        cmocka_unit_test(experts_run_low_the_router_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
