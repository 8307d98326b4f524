/* Mixtures of experts and context parallelism in plan/cost: parameters, FLOPs, kernels. */
#include "plan/cost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "input/job/lora.h"
#include "support/assert_close.h"
#include "support/segments.h"
#include "train/timing.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static struct model mixtral(void)
{
    struct model model = {
        .layers = 32,
        .hidden = 4096,
        .ffn_hidden = 14336,
        .heads = 32,
        .kv_heads = 8,
        .head_dim = 128,
        .vocab = 32000,
        .max_positions = 32768,
        .mlp = MLP_SWIGLU,
        .norm = NORM_RMSNORM,
        .positions = POSITION_ROTARY,
        .experts = 8,
        .experts_per_token = 2,
        .expert_hidden = 14336,
    };
    model_finish(&model);
    return model;
}

/* A small one with everything: a dense layer of three, narrow experts, two shared. */
static struct model mixed(void)
{
    struct model model = mixtral();
    model.layers = 3;
    model.dense_layers = 1;
    model.experts = 16;
    model.experts_per_token = 4;
    model.expert_hidden = 1024;
    model.shared_experts = 2;
    model_finish(&model);
    return model;
}

static double bytes_of(const struct segment *segment)
{
    double bytes = 0.0;
    for (uint32_t i = 0; i < segment->count; i++) {
        bytes += segment->kernels[i].bytes;
    }
    return bytes;
}

static struct software fused(void)
{
    return (struct software){
        .attention = ATTENTION_FA2,
        .gradient_precision = PRECISION_FP32,
        .fuses_bias_activation = true,
        .fuses_dropout_add = true,
        .fuses_norm = true,
        .fuses_softmax = true,
    };
}

/* ---- parameters and FLOPs -------------------------------------------------- */

/* oracles.md 2.1; an expert has 3 x 4096 x 14336 = 176,160,768, a router 4096 x 8. */
static void mixtral_has_its_published_parameters(void **state)
{
    (void)state;
    const struct model model = mixtral();
    const struct parameter_count count = cost_parameters(&model);
    assert_true(count.expert == 176160768);
    assert_true(count.router == 32768);
    assert_true(count.moe_layer == 41943040 + 2 * 4096 + 32768 + 8 * INT64_C(176160768));
    assert_true(count.total == 46702792704);
    assert_true(count.active == 12879925248);
}

/* h = 4096, attention 41,943,040, expert 3 h 1024 = 12,582,912. A dense layer has 3 h 14336 =
 * 176,160,768 beside attention and norms; one with experts 18 of them and h x 16 of router. Of
 * 16 a token misses 12, in two layers. */
static void shared_experts_and_dense_layers_are_counted(void **state)
{
    (void)state;
    const struct model model = mixed();
    const struct parameter_count count = cost_parameters(&model);
    const int64_t dense = 41943040 + 8192 + 176160768;
    const int64_t sparse = 41943040 + 8192 + 65536 + 18 * INT64_C(12582912);
    assert_true(count.layer == dense);
    assert_true(count.moe_layer == sparse);
    assert_true(count.moe_matrix == 41943040 + 2 * 12582912);
    assert_true(count.total == 2 * INT64_C(131072000) + 4096 + dense + 2 * sparse);
    assert_true(count.active == count.total - 2 * 12 * INT64_C(12582912));
}

/* A dense model is all active, and has none of the parts of experts. */
static void a_dense_model_has_no_experts(void **state)
{
    (void)state;
    struct model model = mixtral();
    model.experts = model.experts_per_token = 0;
    model_finish(&model);
    const struct parameter_count count = cost_parameters(&model);
    assert_true(count.active == count.total);
    assert_true(count.expert == 0 && count.router == 0);
    const struct token_flop flop = cost_token_flop(&model, 4096);
    assert_close(flop.router, 0.0, 0.0);
}

/* oracles.md 1.3, per token at 4096; the router's 32 x 2 x 4096 x 8 are not in the sum. */
static void mixtrals_flops_agree_to_the_last_digit(void **state)
{
    (void)state;
    const struct model model = mixtral();
    const struct token_flop flop = cost_token_flop(&model, 4096);
    assert_close(flop.linear, 25232932864.0, 0.0);
    assert_close(flop.logits, 262144000.0, 0.0);
    assert_close(flop.core_full, 2147483648.0, 0.0);
    assert_close(cost_train_flop_full(&flop), 82927681536.0, 0.0);
    assert_close(cost_train_flop_causal(&flop), 79706456064.0, 0.0);
    assert_close(flop.router, 2097152.0, 0.0);
}

/* ---- segments ---------------------------------------------------------------- */

static const enum segment_kind forward[] = {
    SEGMENT_ATTENTION_PRE,  SEGMENT_ATTENTION_QKV,
    SEGMENT_ATTENTION_CORE, SEGMENT_ATTENTION_PROJECTION,
    SEGMENT_ATTENTION_POST, SEGMENT_MLP_PRE,
    SEGMENT_EXPERTS,        SEGMENT_EXPERTS_POST,
    SEGMENT_SHARED,         SEGMENT_MLP_POST,
};

static const enum segment_kind backward[] = {
    SEGMENT_MLP_POST_BACKWARD,
    SEGMENT_SHARED_INNER_BACKWARD,
    SEGMENT_SHARED_INNER_WGRAD,
    SEGMENT_SHARED_DGRAD,
    SEGMENT_SHARED_WGRAD,
    SEGMENT_EXPERTS_POST_BACKWARD,
    SEGMENT_EXPERTS_BACKWARD,
    SEGMENT_EXPERTS_WGRAD,
    SEGMENT_MLP_PRE_BACKWARD,
    SEGMENT_ATTENTION_POST_BACKWARD,
    SEGMENT_ATTENTION_PROJECTION_BACKWARD,
    SEGMENT_ATTENTION_INNER_WGRAD,
    SEGMENT_ATTENTION_CORE_BACKWARD,
    SEGMENT_ATTENTION_QKV_BACKWARD,
    SEGMENT_ATTENTION_DGRAD,
    SEGMENT_ATTENTION_WGRAD,
    SEGMENT_ATTENTION_PRE_BACKWARD,
};

/* Whatever tp, cp and ep: a GPU executes its share of what tokens cost, forward linear + causal
 * core, backward 2 linear + 2.5 core. Of a layer with experts of `mixed`: 2 (attention +
 * (2 + 4) experts) = 2 (41,943,040 + 6 x 12,582,912) a token. */
static void the_flops_of_a_gpu_are_its_share_whatever_the_layout(void **state)
{
    (void)state;
    const struct model model = mixed();
    const struct software software = fused();
    const double linear = 2.0 * (41943040.0 + 6.0 * 12582912.0);
    const double core = 2.0 * 32.0 * 128.0 * 4096.0;
    for (int64_t tp = 1; tp <= 4; tp *= 2) {
        for (int64_t cp = 1; cp <= 8; cp *= 2) {
            for (int64_t ep = 1; ep <= 16; ep *= 4) {
                const struct cost_shape shape = segments_shape(
                    &model, &software,
                    (struct segments_layout){PRECISION_BF16, tp, true, 2, 4096, cp, ep});
                const double tokens = 2.0 * 4096.0 / (double)(tp * cp);
                assert_close(segments_flop(&shape, forward, LENGTH(forward)),
                             tokens * (linear + core), 1e-12);
                assert_close(segments_flop(&shape, backward, LENGTH(backward)),
                             tokens * (2.0 * linear + 2.5 * core), 1e-12);
            }
        }
    }
}

static void assert_size(const struct kernel *kernel, const int64_t size[4])
{
    assert_int_equal(kernel->kind, KERNEL_GEMM);
    assert_true(kernel->m == size[0]);
    assert_true(kernel->n == size[1]);
    assert_true(kernel->k == size[2]);
    assert_true(kernel->count == size[3]);
}

/* Mixtral, 4096 tokens a rank, two copies of each: with ep 8 one expert has 8192 rows, with ep 2
 * four have 2048; tp 2 halves the width. */
static void experts_are_one_grouped_product(void **state)
{
    (void)state;
    const struct model model = mixtral();
    const struct software software = fused();
    struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 4096, 1, 8});
    struct segment segment;
    cost_segment(&shape, SEGMENT_EXPERTS, &segment);
    assert_size(segment_find(&segment, "experts fc1"), (const int64_t[]){8192, 28672, 4096, 1});
    assert_size(segment_find(&segment, "experts fc2"), (const int64_t[]){8192, 4096, 14336, 1});
    assert_close(segment_find(&segment, "swiglu")->bytes, 3.0 * 2.0 * 8192.0 * 14336.0, 0.0);
    shape.ep = 2;
    shape.tp = shape.etp = 2;
    shape.local_experts = 4;
    cost_segment(&shape, SEGMENT_EXPERTS_BACKWARD, &segment);
    assert_size(segment_find(&segment, "experts fc1 dgrad"),
                (const int64_t[]){2048, 4096, 14336, 4});
    cost_segment(&shape, SEGMENT_EXPERTS_WGRAD, &segment);
    assert_size(segment_find(&segment, "experts fc1 wgrad"),
                (const int64_t[]){14336, 4096, 2048, 4});
}

/* fc1 with ep 8: 8192 rows of 4096 in and 28672 out, and one expert's matrix, 2 bytes each; its
 * weight gradient reads and writes fp32 instead: 8 bytes. */
static void experts_stream_their_rows_and_their_matrices_once(void **state)
{
    (void)state;
    const struct model model = mixtral();
    const struct software software = fused();
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 4096, 1, 8});
    const double rows = 8192.0 * (4096.0 + 28672.0);
    const double matrix = 4096.0 * 28672.0;
    struct segment segment;
    cost_segment(&shape, SEGMENT_EXPERTS, &segment);
    assert_close(segment_find(&segment, "experts fc1")->bytes, 2.0 * (rows + matrix), 0.0);
    cost_segment(&shape, SEGMENT_EXPERTS_WGRAD, &segment);
    assert_close(segment_find(&segment, "experts fc1 wgrad")->bytes, 2.0 * rows + 8.0 * matrix,
                 0.0);
}

/* Mixtral with ep 4, two experts a rank: of 8 taken 2 by 2, a token's two lie on 4 (1 - C(6,2) /
 * C(8,2)) = 13/7 ranks. Sent once to each of them, nothing is copied or added up before and after;
 * the receiver reads 13/14 of the rows that it writes. Each expert has a product of its own. */
static void tokens_that_are_sent_once_are_copied_where_they_arrive(void **state)
{
    (void)state;
    const struct model model = mixtral();
    struct software software = fused();
    software.exchange = EXCHANGE_TOKENS;
    struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 4096, 1, 4});
    struct segment segment;
    cost_segment(&shape, SEGMENT_EXPERTS_POST, &segment);
    assert_int_equal(segment.count, 0);
    cost_segment(&shape, SEGMENT_EXPERTS_POST_BACKWARD, &segment);
    assert_int_equal(segment.count, 0);
    cost_segment(&shape, SEGMENT_EXPERTS, &segment);
    assert_close(segment_find(&segment, "sort by expert")->bytes,
                 8192.0 * 4096.0 * 2.0 * (1.0 + 13.0 / 14.0), 1e-9);
    assert_true(segment_find(&segment, "experts fc1")->launches == 2);
    software.fuses_experts = true;
    cost_segment(&shape, SEGMENT_EXPERTS, &segment);
    assert_true(segment_find(&segment, "experts fc1")->launches == 1);
}

/* Mixtral with ep 4, copies, fp8 with the scale of the values: each of two experts' inputs has
 * three kernels that find it and one that converts, and a copy of all rows pads them. One fused
 * operation has none of that; a scale from steps before converts all experts at once. */
static void each_expert_is_converted_on_its_own(void **state)
{
    (void)state;
    const struct model model = mixtral();
    struct software software = fused();
    software.low = (struct low_precision){.is_known = true,
                                          .in_forward = true,
                                          .in_dgrad = true,
                                          .in_wgrad = true,
                                          .recipe = RECIPE_CURRENT};
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_FP8, 1, false, 1, 4096, 1, 4});
    struct segment segment;
    cost_segment(&shape, SEGMENT_EXPERTS, &segment);
    assert_int_equal(segment_find(&segment, "scale of input")->launches, 6);
    assert_int_equal(segment_find(&segment, "experts fc1")->tensors, 2);
    assert_close(segment_find(&segment, "pad rows")->bytes, 8192.0 * 4096.0 * 2.0 * 2.0, 0.0);
    software.low.recipe = RECIPE_DELAYED;
    cost_segment(&shape, SEGMENT_EXPERTS, &segment);
    assert_int_equal(segment_find(&segment, "convert input")->launches, 1);
    software.fuses_experts = true;
    cost_segment(&shape, SEGMENT_EXPERTS, &segment);
    assert_int_equal(segment_find(&segment, "experts fc1")->tensors, 0);
    assert_string_equal(segment.kernels[1].name, "convert input");
}

/* Mixtral, ep 4, bf16: 8192 rows, f = 14336, two matrices of 4096 x 28672 in fc1, of 14336 x 4096
 * in fc2. With the activation inside, fc1 writes f values besides (rows of 4096, 28672 and 14336);
 * backward fc2 reads 4096 values a row, reads and writes 28672. Nothing is left between. */
static void an_activation_may_be_part_of_the_experts_products(void **state)
{
    (void)state;
    const struct model model = mixtral();
    struct software software = fused();
    software.fuses_experts = true;
    struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 4096, 1, 4});
    struct segment segment;
    cost_segment(&shape, SEGMENT_EXPERTS, &segment);
    const uint32_t apart = segment.count;
    software.fuses_expert_activation = true;
    cost_segment(&shape, SEGMENT_EXPERTS, &segment);
    assert_int_equal(segment.count, apart - 1);
    assert_close(segment_find(&segment, "experts fc1")->bytes,
                 2.0 * (8192.0 * (4096 + 28672 + 14336) + 2.0 * 4096 * 28672), 1e-12);
    cost_segment(&shape, SEGMENT_EXPERTS_BACKWARD, &segment);
    assert_close(segment_find(&segment, "experts fc2 dgrad")->bytes,
                 2.0 * (8192.0 * (4096 + 28672 + 28672) + 2.0 * 14336 * 4096), 1e-12);
    for (uint32_t i = 0; i < segment.count; i++) {
        assert_string_not_equal(segment.kernels[i].name, "swiglu backward");
    }
    software.fuses_experts = false; /* kernels of each expert cannot hold it */
    cost_segment(&shape, SEGMENT_EXPERTS, &segment);
    assert_close(segment_find(&segment, "swiglu")->bytes, 3.0 * 2.0 * 8192.0 * 14336.0, 0.0);
}

/* Mixtral, ep 4: of f = 8192 x 14336 values SwiGLU reads 2 x 2 bytes and writes what fc2 reads,
 * backward it reads 3 x 2 and writes two values for each. That are two copies of a byte on Hopper
 * (mxfp8: with scales), one where products transpose, or of a frozen weight, but 16 bits for its
 * adapter; 16 bits too where wgrad reads them, and alone where a scale is found first. The products
 * that hold SwiGLU write the same. */
static void an_activation_writes_the_copies_that_products_read(void **state)
{
    (void)state;
    static const struct {
        enum precision precision;
        uint32_t recipe, rank, targets;
        bool transposes, has_low_wgrad;
        double forward, backward; /* bytes written for a value */
    } cases[] = {
        {PRECISION_FP8, RECIPE_DELAYED, 0, 0, false, true, 2.0, 2.0},
        {PRECISION_FP8, RECIPE_DELAYED, 0, 0, true, true, 1.0, 1.0},
        {PRECISION_FP8, RECIPE_DELAYED, 16, 0, false, true, 1.0, 1.0},
        {PRECISION_FP8, RECIPE_DELAYED, 16, 1u << LORA_FC2, false, true, 2.0, 1.0},
        {PRECISION_FP8, RECIPE_DELAYED, 16, 1u << LORA_FC1, false, true, 1.0, 2.0},
        {PRECISION_FP8, RECIPE_DELAYED, 0, 0, true, false, 3.0, 3.0},
        {PRECISION_FP8, RECIPE_CURRENT, 0, 0, true, true, 2.0, 2.0},
        {PRECISION_FP8, RECIPE_ROWWISE, 0, 0, true, true, 2.0, 2.0},
        {PRECISION_MXFP8, RECIPE_CURRENT, 0, 0, true, true, 2.0625, 2.0625},
        {PRECISION_BF16, RECIPE_DELAYED, 0, 0, true, true, 2.0, 2.0},
    };
    const struct model model = mixtral();
    const double values = 8192.0 * 14336.0;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct software software = fused();
        software.low = (struct low_precision){.in_forward = true,
                                              .in_dgrad = true,
                                              .in_wgrad = cases[i].has_low_wgrad,
                                              .recipe = cases[i].recipe,
                                              .fuses_activation = true,
                                              .column_rate = 1.0,
                                              .block_rate = 1.0};
        struct cost_shape shape =
            segments_shape(&model, &software,
                           (struct segments_layout){cases[i].precision, 1, false, 1, 4096, 1, 4});
        shape.transposes_fp8 = cases[i].transposes;
        shape.lora_rank = cases[i].rank;
        shape.lora_targets = cases[i].targets;
        struct segment segment;
        cost_segment(&shape, SEGMENT_EXPERTS, &segment);
        assert_close(segment_find(&segment, "swiglu")->bytes, (4.0 + cases[i].forward) * values, 0);
        software.fuses_experts = true;
        cost_segment(&shape, SEGMENT_EXPERTS, &segment);
        double apart = segment_find(&segment, "experts fc1")->bytes;
        software.fuses_expert_activation = cases[i].targets == 0;
        cost_segment(&shape, SEGMENT_EXPERTS, &segment);
        assert_close(segment_find(&segment, "experts fc1")->bytes - apart,
                     cases[i].targets == 0 ? cases[i].forward * values : 0.0, 1e-12);
        software.fuses_experts = software.fuses_expert_activation = false;
        cost_segment(&shape, SEGMENT_EXPERTS_BACKWARD, &segment);
        assert_close(segment_find(&segment, "swiglu backward")->bytes,
                     (6.0 + 2.0 * cases[i].backward) * values, 0);
    }
}

/* Mixtral, ep 4, bf16: f = 8192 x 14336 values of each half. A clamp by kernels of its own reads
 * and writes each half (2 + 2) and joins them (2 + 2); backward it reads a gradient and what was
 * clamped (2 + 1 each) and joins again: 8 and 10 values of 2 bytes. It is nothing where the
 * activation holds it, or the products hold the activation. */
static void a_clamp_is_what_the_framework_makes_of_it(void **state)
{
    (void)state;
    struct model model = mixtral();
    struct software software = fused();
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 4096, 1, 4});
    static const enum segment_kind kinds[] = {SEGMENT_EXPERTS, SEGMENT_EXPERTS_BACKWARD};
    static const double values[] = {8.0, 10.0};
    for (size_t i = 0; i < 2; i++) {
        struct segment segment;
        model.clamps_mlp = false;
        software.fuses_clamp = false;
        cost_segment(&shape, kinds[i], &segment);
        const double plain = bytes_of(&segment);
        model.clamps_mlp = true;
        cost_segment(&shape, kinds[i], &segment);
        assert_close(bytes_of(&segment) - plain, values[i] * 2.0 * 8192.0 * 14336.0, 1e-12);
        software.fuses_clamp = true;
        cost_segment(&shape, kinds[i], &segment);
        assert_close(bytes_of(&segment), plain, 0.0);
    }
}

/* What runs over halves of rows, or adds one expert's biases to its rows, is a strided kernel: a
 * clamp is three (three back), biases four (seven, the last of which joins); its time is the bytes'
 * at half the rate, where software reaches half of it. Other passes are none. */
static void eager_passes_over_parts_of_rows_are_strided(void **state)
{
    (void)state;
    struct model model = mixtral();
    model.clamps_mlp = true;
    model.has_mlp_biases = true;
    struct software software = fused();
    software.fuses_clamp = false;
    software.memory_derate = 0.8;
    software.strided_share = 0.5;
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 4096, 1, 4});
    static const enum segment_kind kinds[] = {SEGMENT_EXPERTS, SEGMENT_EXPERTS_BACKWARD};
    static const int strided[] = {3 + 4, 3 + 7};
    for (size_t i = 0; i < 2; i++) {
        struct segment segment;
        int count = 0;
        cost_segment(&shape, kinds[i], &segment);
        for (uint32_t k = 0; k < segment.count; k++) {
            const struct kernel *kernel = &segment.kernels[k];
            count += kernel->is_strided;
            if (kernel->kind == KERNEL_MEMORY) {
                assert_close(timing_derate(&software, kernel), kernel->is_strided ? 0.4 : 0.8, 0.0);
            }
        }
        assert_int_equal(count, strided[i]);
        assert_false(segment_find(&segment, i == 0 ? "swiglu" : "swiglu backward")->is_strided);
    }
}

/* Biases of the second matrix, for each of 8192 x 4096 results: written in fp32 (4 bytes), added
 * (2 + 4 + 4), joined (8), converted (6): 28 bytes forward, and 40 back. */
static void experts_biases_are_added_in_fp32(void **state)
{
    (void)state;
    struct model model = mixtral();
    struct software software = fused();
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 4096, 1, 4});
    static const enum segment_kind kinds[] = {SEGMENT_EXPERTS, SEGMENT_EXPERTS_BACKWARD};
    static const double expected[] = {28.0, 40.0};
    for (size_t i = 0; i < 2; i++) {
        struct segment without;
        struct segment with;
        model.has_mlp_biases = false;
        cost_segment(&shape, kinds[i], &without);
        model.has_mlp_biases = true;
        cost_segment(&shape, kinds[i], &with);
        double bytes = 0.0;
        for (uint32_t k = 0; k < with.count; k++) {
            const char *name = with.kernels[k].name;
            const bool is_fc1 = strncmp(name, "fc1", 3) == 0;
            bytes += is_fc1 ? 0.0 : with.kernels[k].bytes;
        }
        for (uint32_t k = 0; k < without.count; k++) {
            bytes -= without.kernels[k].bytes;
        }
        assert_close(bytes, expected[i] * 8192.0 * 4096.0, 1e-9);
    }
}

/* 100 tokens, 4 copies, 16 experts: 25 rows each, padded to 32 for the tiles; FLOPs and bytes stay
 * those of 400 rows. */
static void rows_are_padded_but_not_counted(void **state)
{
    (void)state;
    const struct model model = mixed();
    const struct software software = fused();
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 100, 1, 1});
    struct segment segment;
    cost_segment(&shape, SEGMENT_EXPERTS, &segment);
    const struct kernel *kernel = segment_find(&segment, "experts fc2");
    assert_size(kernel, (const int64_t[]){32, 4096, 1024, 16});
    assert_close(kernel->flop, 2.0 * 400.0 * 4096.0 * 1024.0, 0.0);
}

/* Two shared experts of 1024 are an MLP of 2048. */
static void shared_experts_are_one_mlp(void **state)
{
    (void)state;
    const struct model model = mixed();
    const struct software software = fused();
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 4096, 1, 16});
    struct segment segment;
    cost_segment(&shape, SEGMENT_SHARED, &segment);
    assert_size(segment_find(&segment, "fc1"), (const int64_t[]){4096, 4096, 4096, 1});
    assert_size(segment_find(&segment, "fc2"), (const int64_t[]){4096, 4096, 2048, 1});
}

/* A dense model has nothing to route, and a model without shared experts none of those. */
static void segments_of_experts_are_empty_without_them(void **state)
{
    (void)state;
    struct model model = mixtral();
    const struct software software = fused();
    struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 4096, 1, 1});
    struct segment segment;
    cost_segment(&shape, SEGMENT_SHARED, &segment);
    assert_int_equal(segment.count, 0);
    model.experts = model.experts_per_token = 0;
    model_finish(&model);
    shape.layer = model_layer(&model, 0);
    for (enum segment_kind kind = SEGMENT_ROUTER; kind <= SEGMENT_SELECTIVE_RECOMPUTE_EXPERTS;
         kind++) {
        cost_segment(&shape, kind, &segment);
        assert_int_equal(segment.count, 0);
    }
}

/* ---- context parallelism --------------------------------------------------------- */

/* cp 4 of 8192 tokens: queries of 2048, all keys and values. Q and O have 4096 values a token,
 * K and V 1024: 2 (2 x 4096 x 2048 + 2 x 1024 x 8192) bytes, a quarter of the FLOPs. */
static void context_parallelism_splits_queries_but_not_keys(void **state)
{
    (void)state;
    const struct model model = mixtral();
    const struct software software = fused();
    const struct cost_shape whole = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 8192, 1, 1});
    const struct cost_shape part = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 8192, 4, 1});
    struct segment segment;
    cost_segment(&whole, SEGMENT_ATTENTION_CORE, &segment);
    const double flop = segment_find(&segment, "attention")->flop;
    cost_segment(&part, SEGMENT_ATTENTION_CORE, &segment);
    const struct kernel *kernel = segment_find(&segment, "attention");
    assert_close(kernel->flop, flop / 4.0, 0.0);
    assert_close(kernel->bytes, 2.0 * (2.0 * 4096.0 * 2048.0 + 2.0 * 1024.0 * 8192.0), 0.0);
    assert_true(kernel->m == 2048 && kernel->length == 8192);
    assert_close(kernel->mean_keys, 4096.0, 0.0);
    assert_true(kernel->count == 32 && kernel->edges == 1);
}

/* Not fused, cp 2 of 1024: scores of 512 x 1024; the gradients of K and V sum over 512 rows. */
static void unfused_products_have_the_shapes_of_context_parallelism(void **state)
{
    (void)state;
    const struct model model = mixtral();
    struct software software = fused();
    software.attention = ATTENTION_UNFUSED;
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 1024, 2, 1});
    struct segment segment;
    cost_segment(&shape, SEGMENT_ATTENTION_CORE, &segment);
    assert_size(segment_find(&segment, "scores"), (const int64_t[]){512, 1024, 128, 32});
    assert_size(segment_find(&segment, "values"), (const int64_t[]){512, 128, 1024, 32});
    cost_segment(&shape, SEGMENT_ATTENTION_CORE_BACKWARD, &segment);
    assert_size(segment_find(&segment, "scores dgrad"), (const int64_t[]){512, 128, 1024, 32});
    assert_size(segment_find(&segment, "scores wgrad"), (const int64_t[]){1024, 128, 512, 32});
    assert_size(segment_find(&segment, "values dgrad"), (const int64_t[]){512, 1024, 128, 32});
    assert_size(segment_find(&segment, "values wgrad"), (const int64_t[]){1024, 128, 512, 32});
}

/* The three pieces of attention are the whole. */
static void attention_in_pieces_is_the_whole(void **state)
{
    (void)state;
    static const enum segment_kind wholes[] = {SEGMENT_ATTENTION, SEGMENT_ATTENTION_INNER_BACKWARD};
    static const enum segment_kind pieces[][3] = {
        {SEGMENT_ATTENTION_QKV, SEGMENT_ATTENTION_CORE, SEGMENT_ATTENTION_PROJECTION},
        {SEGMENT_ATTENTION_PROJECTION_BACKWARD, SEGMENT_ATTENTION_CORE_BACKWARD,
         SEGMENT_ATTENTION_QKV_BACKWARD},
    };
    const struct model model = mixtral();
    const struct software software = fused();
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 2, true, 1, 8192, 4, 1});
    for (size_t i = 0; i < LENGTH(wholes); i++) {
        struct segment whole, piece;
        uint32_t at = 0;
        cost_segment(&shape, wholes[i], &whole);
        for (size_t j = 0; j < LENGTH(pieces[i]); j++) {
            cost_segment(&shape, pieces[i][j], &piece);
            for (uint32_t k = 0; k < piece.count; k++) {
                assert_memory_equal(&whole.kernels[at++], &piece.kernels[k], sizeof *piece.kernels);
            }
        }
        assert_int_equal(whole.count, at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixtral_has_its_published_parameters),
        cmocka_unit_test(shared_experts_and_dense_layers_are_counted),
        cmocka_unit_test(a_dense_model_has_no_experts),
        cmocka_unit_test(mixtrals_flops_agree_to_the_last_digit),
        cmocka_unit_test(the_flops_of_a_gpu_are_its_share_whatever_the_layout),
        cmocka_unit_test(experts_are_one_grouped_product),
        cmocka_unit_test(experts_stream_their_rows_and_their_matrices_once),
        cmocka_unit_test(tokens_that_are_sent_once_are_copied_where_they_arrive),
        cmocka_unit_test(each_expert_is_converted_on_its_own),
        cmocka_unit_test(an_activation_may_be_part_of_the_experts_products),
        cmocka_unit_test(an_activation_writes_the_copies_that_products_read),
        cmocka_unit_test(a_clamp_is_what_the_framework_makes_of_it),
        cmocka_unit_test(eager_passes_over_parts_of_rows_are_strided),
        cmocka_unit_test(experts_biases_are_added_in_fp32),
        cmocka_unit_test(rows_are_padded_but_not_counted),
        cmocka_unit_test(shared_experts_are_one_mlp),
        cmocka_unit_test(segments_of_experts_are_empty_without_them),
        cmocka_unit_test(context_parallelism_splits_queries_but_not_keys),
        cmocka_unit_test(unfused_products_have_the_shapes_of_context_parallelism),
        cmocka_unit_test(attention_in_pieces_is_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
