/* Parameters, FLOPs and kernels of models, against published and hand-made sums. */
#include "plan/cost.h"
#include "input/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/assert_close.h"
#include "support/segments.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* GPT family: 4h MLP, layer norms, biases, tied embeddings. */
static struct model gpt(int64_t layers, int64_t hidden, int64_t heads, int64_t vocab)
{
    struct model model = {
        .layers = layers,
        .hidden = hidden,
        .ffn_hidden = 4 * hidden,
        .heads = heads,
        .kv_heads = heads,
        .head_dim = hidden / heads,
        .vocab = vocab,
        .max_positions = 2048,
        .mlp = MLP_GELU,
        .norm = NORM_LAYERNORM,
        .positions = POSITION_LEARNED,
        .has_biases = true,
        .has_tied_embeddings = true,
        .has_dropout = true,
    };
    model_finish(&model);
    return model;
}

struct llama_shape {
    int64_t layers, hidden, heads, kv_heads, ffn, vocab;
};

static struct model llama(struct llama_shape shape)
{
    struct model model = {
        .layers = shape.layers,
        .hidden = shape.hidden,
        .ffn_hidden = shape.ffn,
        .heads = shape.heads,
        .kv_heads = shape.kv_heads,
        .head_dim = shape.hidden / shape.heads,
        .vocab = shape.vocab,
        .max_positions = 8192,
        .mlp = MLP_SWIGLU,
        .norm = NORM_RMSNORM,
        .positions = POSITION_ROTARY,
    };
    model_finish(&model);
    return model;
}

static struct model gpt3(int64_t vocab)
{
    return gpt(96, 12288, 96, vocab);
}

static struct model llama1_65b(void)
{
    return llama((struct llama_shape){80, 8192, 64, 64, 22016, 32000});
}

static struct model llama3_8b(void)
{
    return llama((struct llama_shape){32, 4096, 32, 8, 14336, 128256});
}

static struct model llama3_70b(void)
{
    return llama((struct llama_shape){80, 8192, 64, 8, 28672, 128256});
}

static struct model llama3_405b(void)
{
    return llama((struct llama_shape){126, 16384, 128, 8, 53248, 128256});
}

static struct model bloom(void)
{
    struct model model = gpt(70, 14336, 112, 250880);
    model.positions = POSITION_ALIBI;
    model.has_embedding_norm = true;
    return model;
}

static void assert_total(struct model model, int64_t expected)
{
    const struct parameter_count count = cost_parameters(&model);
    assert_true(count.total == expected);
    assert_true(count.total ==
                count.embedding + count.head + count.final_norm + model.layers * count.layer);
    assert_true(count.layer > count.layer_matrix);
}

/* GPT: 12 L h^2 + 13 L h + (V + s) h + 2h. With L 96, h 12288, V 50257, s 2048:
 * 173,946,175,488 + 15,335,424 + 642,723,840 + 24,576. */
static void parameters_of_the_gpt_family_equal_the_checkpoints(void **state)
{
    (void)state;
    assert_total(gpt3(50257), 174604259328);
    assert_total(gpt3(51200), 174615846912);
    assert_total(bloom(), 176247271424);
}

/* Llama: L [h d (n + 2 kv) + n d h + 3 h f + 2 h] + h + 2 V h. */
static void parameters_of_the_llama_family_equal_the_checkpoints(void **state)
{
    (void)state;
    assert_total(llama1_65b(), 65285660672);
    assert_total(llama((struct llama_shape){80, 8192, 64, 8, 28672, 32000}), 68976648192);
    assert_total(llama3_8b(), 8030261248);
    assert_total(llama3_70b(), 70553706496);
    assert_total(llama3_405b(), 405853388800);
}

/* Llama-3 8B: a layer has h d (n + 2kv) + n d h + 3hf = 218,103,808 in matrices and two norms. */
static void parameters_are_split_into_parts(void **state)
{
    (void)state;
    const struct model model = llama3_8b();
    const struct parameter_count count = cost_parameters(&model);
    assert_true(count.layer_matrix == 218103808);
    assert_true(count.layer == 218103808 + 2 * 4096);
    assert_true(count.embedding == 525336576 && count.head == 525336576);
    assert_true(count.final_norm == 4096);
}

/* Megatron pads 50257 to 50304 = 393 * 128 on one GPU and to 51200 = 50 * 1024 on 8. */
static void the_vocabulary_is_padded_to_128_times_tp(void **state)
{
    (void)state;
    const struct model model = gpt3(50257);
    assert_true(cost_padded_vocab(&model, 1) == 50304);
    assert_true(cost_padded_vocab(&model, 8) == 51200);
    const struct model padded = gpt3(51200);
    assert_true(cost_padded_vocab(&padded, 8) == 51200);
}

struct flop_case {
    struct model model;
    int64_t length;
    double linear, logits, core_full, train_full, train_causal;
};

/* oracles.md 1.3, per token. Integers below 2^53, so equality is exact. */
static void flops_per_token_agree_to_the_last_digit(void **state)
{
    (void)state;
    const struct flop_case cases[] = {
        {gpt3(51200), 2048, 347892350976, 1258291200, 9663676416, 1076442955776, 1061947441152},
        {llama3_8b(), 8192, 13958643712, 1050673152, 4294967296, 57912852480, 51470401536},
        {llama3_70b(), 8192, 136902082560, 2101346304, 21474836480, 481434796032, 449222541312},
        {llama3_405b(), 8192, 803293102080, 4202692608, 67645734912, 2625424588800, 2523955986432},
        {llama3_405b(), 131072, 803293102080, 4202692608, 1082331758592, 5669482659840,
         4045985021952},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const struct token_flop flop = cost_token_flop(&cases[i].model, cases[i].length);
        assert_close(flop.linear, cases[i].linear, 0.0);
        assert_close(flop.logits, cases[i].logits, 0.0);
        assert_close(flop.core_full, cases[i].core_full, 0.0);
        assert_close(flop.core_causal, cases[i].core_full / 2.0, 0.0);
        assert_close(cost_train_flop_full(&flop), cases[i].train_full, 0.0);
        assert_close(cost_train_flop_causal(&flop), cases[i].train_causal, 0.0);
    }
}

/* Narayanan et al. 2021, eq. 3 without recompute, of one token of GPT-3:
 * 72 L h^2 (1 + s / 6h + V / 12 L h), full attention. */
static void full_attention_flops_equal_the_megatron_formula(void **state)
{
    (void)state;
    const struct model model = gpt3(51200);
    const double l = 96.0, h = 12288.0, s = 2048.0, v = 51200.0;
    const double expected = 72.0 * l * h * h * (1.0 + s / (6.0 * h) + v / (12.0 * l * h));
    const struct token_flop flop = cost_token_flop(&model, 2048);
    assert_close(cost_train_flop_full(&flop), expected, 1e-14);
    assert_close(1536.0 * 2048.0 * cost_train_flop_full(&flop), 3.38620e18, 1e-5);
}

/* LLaMA-65B: 6 * 65.2e9 * 1.4e12 = 5.4768e23 FLOP; at 4e14 FLOP/s 380,333 GPU-hours. The exact
 * count is 0.13 % above the rounded one. Llama 405B on 15.6e12 tokens: 3.80e25 (paper: 3.8e25). */
static void six_n_d_gives_the_published_training_costs(void **state)
{
    (void)state;
    const struct model small = llama1_65b();
    const struct model large = llama3_405b();
    const double n_small = (double)cost_parameters(&small).total;
    const double n_large = (double)cost_parameters(&large).total;
    assert_close(6.0 * 65.2e9 * 1.4e12, 5.4768e23, 1e-12);
    assert_close(5.4768e23 / 4e14 / 3600.0, 380333.0, 1e-6);
    assert_close(6.0 * n_small * 1.4e12, 5.4768e23, 0.0014);
    assert_close(6.0 * n_large * 15.6e12, 6.0 * 405.85e9 * 15.6e12, 1e-5);
    assert_close(6.0 * n_large * 15.6e12, 3.80e25, 0.001);
}

/* ---- segments ---------------------------------------------------------------- */

static struct software megatron(enum attention_kind attention)
{
    return (struct software){
        .attention = attention,
        .gradient_precision = PRECISION_FP32,
        .fuses_bias_activation = true,
        .fuses_dropout_add = true,
        .fuses_norm = true,
        .fuses_softmax = true,
    };
}

static const enum segment_kind forward[] = {
    SEGMENT_ATTENTION_PRE, SEGMENT_ATTENTION, SEGMENT_ATTENTION_POST,
    SEGMENT_MLP_PRE,       SEGMENT_MLP,       SEGMENT_MLP_POST,
};

static const enum segment_kind backward[] = {
    SEGMENT_MLP_POST_BACKWARD,
    SEGMENT_MLP_INNER_BACKWARD,
    SEGMENT_MLP_INNER_WGRAD,
    SEGMENT_MLP_DGRAD,
    SEGMENT_MLP_WGRAD,
    SEGMENT_MLP_PRE_BACKWARD,
    SEGMENT_ATTENTION_POST_BACKWARD,
    SEGMENT_ATTENTION_INNER_BACKWARD,
    SEGMENT_ATTENTION_INNER_WGRAD,
    SEGMENT_ATTENTION_DGRAD,
    SEGMENT_ATTENTION_WGRAD,
    SEGMENT_ATTENTION_PRE_BACKWARD,
};

/* Unfused attention executes full s x s products: per layer and GPU
 * tokens * (linear + core_full) / L / t forward and twice that backward. */
static void unfused_segments_have_the_closed_form_flops(void **state)
{
    (void)state;
    const struct model models[] = {gpt3(51200), bloom(), llama3_8b(), llama3_405b()};
    const struct software software = megatron(ATTENTION_UNFUSED);
    for (size_t i = 0; i < LENGTH(models); i++) {
        for (int64_t tp = 1; tp <= 8; tp *= 2) {
            const struct cost_shape shape =
                segments_shape(&models[i], &software,
                               (struct segments_layout){PRECISION_BF16, tp, true, 2, 2048, 1, 1});
            const struct token_flop token = cost_token_flop(&models[i], 2048);
            const double expected = (token.linear + token.core_full) / (double)models[i].layers *
                                    2.0 * 2048.0 / (double)tp;
            assert_close(segments_flop(&shape, forward, LENGTH(forward)), expected, 1e-12);
            assert_close(segments_flop(&shape, backward, LENGTH(backward)), 2.0 * expected, 1e-12);
        }
    }
}

/* Fused attention skips what the mask hides: core_causal forward, 2.5 times that backward. */
static void fused_segments_have_the_closed_form_flops(void **state)
{
    (void)state;
    const struct model model = llama3_405b();
    const struct software software = megatron(ATTENTION_FA2);
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 8, true, 1, 8192, 1, 1});
    const struct token_flop token = cost_token_flop(&model, 8192);
    const double per_layer = 8192.0 / 8.0 / 126.0;
    assert_close(segments_flop(&shape, forward, LENGTH(forward)),
                 (token.linear + token.core_causal) * per_layer, 1e-12);
    assert_close(segments_flop(&shape, backward, LENGTH(backward)),
                 (2.0 * token.linear + 2.5 * token.core_causal) * per_layer, 1e-12);
}

/* oracles.md 8: Llama-3 8B, s 8192, b 1: 4 b s^2 n d / 2 = 549,755,813,888 FLOP
 * forward, 2.5 times that backward; Q and O have 4096 values a token, K and V 1024:
 * 2 * (2 * 4096 + 2 * 1024) * 8192 bytes. */
static void flash_attention_costs_what_its_authors_count(void **state)
{
    (void)state;
    const struct model model = llama3_8b();
    const struct software software = megatron(ATTENTION_FA2);
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 8192, 1, 1});
    struct segment segment;
    cost_segment(&shape, SEGMENT_ATTENTION, &segment);
    const struct kernel attention = *segment_find(&segment, "attention");
    assert_close(attention.flop, 549755813888.0, 0.0);
    assert_close(attention.bytes, 2.0 * 10240.0 * 8192.0, 0.0);
    assert_false(attention.is_backward);
    assert_true(attention.length == 8192);
    cost_segment(&shape, SEGMENT_ATTENTION_INNER_BACKWARD, &segment);
    const struct kernel *gradient = segment_find(&segment, "attention backward");
    assert_close(gradient->flop, 2.5 * attention.flop, 0.0);
    assert_close(gradient->bytes, 2.0 * attention.bytes, 0.0);
    assert_true(gradient->is_backward);
}

static void assert_size(const struct segment *segment, const char *name, const int64_t size[3])
{
    const struct kernel *kernel = segment_find(segment, name);
    assert_int_equal(kernel->kind, KERNEL_GEMM);
    assert_true(kernel->m == size[0]);
    assert_true(kernel->n == size[1]);
    assert_true(kernel->k == size[2]);
}

/* 405B, TP 8, 8192 tokens: 16 heads and 1 KV head of 128 a rank, f/t = 6656. */
static void products_have_the_shapes_of_megatron(void **state)
{
    (void)state;
    const struct model model = llama3_405b();
    const struct software software = megatron(ATTENTION_FA2);
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 8, true, 1, 8192, 1, 1});
    struct segment segment;
    cost_segment(&shape, SEGMENT_ATTENTION, &segment);
    assert_size(&segment, "qkv", (int64_t[]){8192, 2304, 16384});
    assert_size(&segment, "projection", (int64_t[]){8192, 16384, 2048});
    cost_segment(&shape, SEGMENT_MLP, &segment);
    assert_size(&segment, "fc1", (int64_t[]){8192, 13312, 16384});
    assert_size(&segment, "fc2", (int64_t[]){8192, 16384, 6656});
    cost_segment(&shape, SEGMENT_MLP_DGRAD, &segment);
    assert_size(&segment, "fc1 dgrad", (int64_t[]){8192, 16384, 13312});
    cost_segment(&shape, SEGMENT_MLP_WGRAD, &segment);
    assert_size(&segment, "fc1 wgrad", (int64_t[]){13312, 16384, 8192});
    cost_segment(&shape, SEGMENT_HEAD, &segment);
    assert_size(&segment, "logits", (int64_t[]){8192, 16128, 16384});
}

/* 8 KV heads on 16 ranks: each rank computes one whole K and V head. */
static void kv_heads_are_copied_when_there_are_fewer_than_ranks(void **state)
{
    (void)state;
    const struct model model = llama3_405b();
    const struct software software = megatron(ATTENTION_FA2);
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 16, true, 1, 8192, 1, 1});
    struct segment segment;
    cost_segment(&shape, SEGMENT_ATTENTION, &segment);
    assert_size(&segment, "qkv", (int64_t[]){8192, (8 + 2) * 128, 16384});
}

/* The wgrad of fc2 reads both operands in bf16 and reads and writes the
 * main gradient: 8 bytes in fp32, 4 in bf16. */
static void wgrad_pays_for_the_main_gradient(void **state)
{
    (void)state;
    const struct model model = llama3_8b();
    struct software software = megatron(ATTENTION_FA2);
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 1024, 1, 1});
    const double operands = 2.0 * (1024.0 * 4096.0 + 1024.0 * 14336.0);
    struct segment segment;
    cost_segment(&shape, SEGMENT_MLP_INNER_WGRAD, &segment);
    assert_close(segment_find(&segment, "fc2 wgrad")->bytes, operands + 8.0 * 4096.0 * 14336.0,
                 0.0);
    software.gradient_precision = PRECISION_BF16;
    cost_segment(&shape, SEGMENT_MLP_INNER_WGRAD, &segment);
    assert_close(segment_find(&segment, "fc2 wgrad")->bytes, operands + 4.0 * 4096.0 * 14336.0,
                 0.0);
}

/* GPT-3, TP 8, 2048 tokens of 12288: the norm moves 4 bytes a value, dropout-add 7;
 * with sequence parallelism an eighth; the MLP itself does not change. */
static void sequence_parallelism_splits_norms_and_dropout(void **state)
{
    (void)state;
    const struct model model = gpt3(51200);
    const struct software software = megatron(ATTENTION_UNFUSED);
    struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_FP16, 8, false, 1, 2048, 1, 1});
    const double hidden = 2048.0 * 12288.0;
    struct segment segment;
    cost_segment(&shape, SEGMENT_MLP_PRE, &segment);
    assert_close(segment_find(&segment, "norm")->bytes, 4.0 * hidden, 0.0);
    cost_segment(&shape, SEGMENT_MLP_POST, &segment);
    assert_close(segment_find(&segment, "dropout add")->bytes, 7.0 * hidden, 0.0);
    shape.is_sequence_parallel = true;
    cost_segment(&shape, SEGMENT_MLP_PRE, &segment);
    assert_close(segment_find(&segment, "norm")->bytes, 4.0 * hidden / 8.0, 0.0);
    cost_segment(&shape, SEGMENT_MLP_POST, &segment);
    assert_close(segment_find(&segment, "dropout add")->bytes, 7.0 * hidden / 8.0, 0.0);
    cost_segment(&shape, SEGMENT_MLP, &segment);
    assert_close(segment_find(&segment, "bias gelu")->bytes, 4.0 * 2048.0 * 49152.0 / 8.0, 0.0);
}

/* Scores of GPT-3, TP 8, b 1: 12 * 2048^2 values; softmax 4 bytes each, dropout 5. */
static void unfused_attention_streams_the_scores(void **state)
{
    (void)state;
    const struct model model = gpt3(51200);
    const struct software software = megatron(ATTENTION_UNFUSED);
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_FP16, 8, true, 1, 2048, 1, 1});
    const double scores = 12.0 * 2048.0 * 2048.0;
    struct segment segment;
    cost_segment(&shape, SEGMENT_SELECTIVE_RECOMPUTE, &segment);
    assert_int_equal(segment_find(&segment, "scores")->count, 12);
    assert_size(&segment, "scores", (int64_t[]){2048, 2048, 128});
    assert_size(&segment, "values", (int64_t[]){2048, 128, 2048});
    assert_close(segment_find(&segment, "softmax")->bytes, 4.0 * scores, 0.0);
    assert_close(segment_find(&segment, "score dropout")->bytes, 5.0 * scores, 0.0);
}

/* Two norms and the activation: memory-bound, no product is computed again. */
static void selective_recompute_beside_fused_attention_is_cheap(void **state)
{
    (void)state;
    const struct model model = llama3_8b();
    const struct software software = megatron(ATTENTION_FA2);
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 2048, 1, 1});
    struct segment segment;
    cost_segment(&shape, SEGMENT_SELECTIVE_RECOMPUTE, &segment);
    assert_int_equal(segment.count, 3);
    assert_true(cost_segment_flop(&segment) == 0.0);
}

static double bytes_of(const struct cost_shape *shape, enum segment_kind kind)
{
    struct segment segment;
    double bytes = 0.0;
    cost_segment(shape, kind, &segment);
    for (uint32_t i = 0; i < segment.count; i++) {
        bytes += segment.kernels[i].bytes;
    }
    return bytes;
}

/* A law: no fusion adds traffic, for any segment of either family. */
static void fusing_never_adds_traffic(void **state)
{
    (void)state;
    const struct model models[] = {gpt3(51200), llama3_8b()};
    const struct software fused = megatron(ATTENTION_UNFUSED);
    const struct software eager = {.attention = ATTENTION_UNFUSED,
                                   .gradient_precision = PRECISION_FP32};
    for (size_t i = 0; i < LENGTH(models); i++) {
        for (uint32_t kind = 0; kind < SEGMENT_COUNT_; kind++) {
            struct cost_shape shape =
                segments_shape(&models[i], &fused,
                               (struct segments_layout){PRECISION_BF16, 2, true, 1, 1024, 1, 1});
            const double fused_bytes = bytes_of(&shape, (enum segment_kind)kind);
            shape.software = &eager;
            assert_true(fused_bytes <= bytes_of(&shape, (enum segment_kind)kind));
        }
    }
}

/* Every row of the table: kernels are named, positive, and GEMMs count 2mnk. */
static void every_segment_is_well_formed(void **state)
{
    (void)state;
    const struct model models[] = {gpt3(51200), bloom(), llama3_8b()};
    const struct software software = {.gradient_precision = PRECISION_FP32};
    for (uint32_t at = 0; at < LENGTH(models) * SEGMENT_COUNT_; at++) {
        const struct model *model = &models[at / SEGMENT_COUNT_];
        const struct cost_shape shape = segments_shape(
            model, &software, (struct segments_layout){PRECISION_BF16, 4, true, 2, 1024, 1, 1});
        struct segment segment;
        cost_segment(&shape, (enum segment_kind)(at % SEGMENT_COUNT_), &segment);
        for (uint32_t i = 0; i < segment.count; i++) {
            const struct kernel *kernel = &segment.kernels[i];
            const double product = 2.0 * (double)kernel->m * (double)kernel->n * (double)kernel->k;
            assert_true(kernel->name != NULL && kernel->name[0] != '\0');
            assert_true(kernel->bytes > 0.0 && kernel->count >= 1);
            assert_close(kernel->flop, product * (double)kernel->count, 1e-15);
        }
    }
}

/* Logits of Llama-3 8B: 2 h V a token forward, twice that backward; the loss moves 38 bytes a
 * logit forward and 14 backward. */
static void the_head_has_logits_and_loss(void **state)
{
    (void)state;
    const struct model model = llama3_8b();
    const struct software software = megatron(ATTENTION_FA2);
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 2, true, 1, 4096, 1, 1});
    const double logits = 4096.0 * 128256.0 / 2.0;
    const double matrix = 2.0 * (4096.0 * 4096.0 + 4096.0 * 128256.0 / 2.0 + logits);
    const double gradient = matrix + 6.0 * 4096.0 * 128256.0 / 2.0;
    struct segment segment;
    cost_segment(&shape, SEGMENT_HEAD, &segment);
    assert_close(cost_segment_flop(&segment), 2.0 * 4096.0 * logits, 0.0);
    assert_close(bytes_of(&shape, SEGMENT_HEAD), matrix + 38.0 * logits, 1e-15);
    static const enum segment_kind back[] = {SEGMENT_HEAD_BACKWARD, SEGMENT_HEAD_WGRAD};
    assert_close(segments_flop(&shape, back, 2), 4.0 * 4096.0 * logits, 0.0);
    assert_close(bytes_of(&shape, SEGMENT_HEAD_BACKWARD), matrix + 14.0 * logits, 1e-15);
    assert_close(bytes_of(&shape, SEGMENT_HEAD_WGRAD), gradient, 1e-15);
}

/* GPT-3's bias is read and written with 3 x 12288 values of each token, or not at all. */
static void a_fused_bias_of_qkv_is_no_pass(void **state)
{
    (void)state;
    const struct model model = gpt3(51200);
    struct software software = megatron(ATTENTION_FA2);
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 1024, 1, 1});
    const double apart = bytes_of(&shape, SEGMENT_ATTENTION_QKV);
    software.fuses_qkv_bias = true;
    assert_close(apart - bytes_of(&shape, SEGMENT_ATTENTION_QKV), 4.0 * 1024 * 3 * 12288, 1e-12);
}

/* Fused, the loss moves 6 bytes of a 16-bit logit forward; each metric's cross-entropy 14 more, and
 * nothing backward: 2 read and 4 written, then 4 and 4. */
static void metrics_read_the_logits_again(void **state)
{
    (void)state;
    const struct model model = llama3_8b();
    struct software software = megatron(ATTENTION_FA2);
    software.loss.kind = LOSS_FUSED;
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 2, true, 1, 4096, 1, 1});
    const double logits = 4096.0 * 128256.0 / 2.0;
    const double matrix = 2.0 * (4096.0 * 4096.0 + 4096.0 * 128256.0 / 2.0 + logits);
    assert_close(bytes_of(&shape, SEGMENT_HEAD), matrix + 6.0 * logits, 1e-15);
    const double back = bytes_of(&shape, SEGMENT_HEAD_BACKWARD);
    software.metric_losses = 2;
    assert_close(bytes_of(&shape, SEGMENT_HEAD), matrix + 34.0 * logits, 1e-15);
    assert_close(bytes_of(&shape, SEGMENT_HEAD_BACKWARD), back, 0.0);
}

/* The logits are read once forward, 2 bytes; backward read and written, 4, as where their gradient
 * is only scaled. */
static void a_recomputed_loss_reads_the_logits_once_forward(void **state)
{
    (void)state;
    const struct model model = llama3_8b();
    struct software software = megatron(ATTENTION_FA2);
    software.loss.kind = LOSS_FUSED;
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 4096, 1, 1});
    const double logits = 4096.0 * 128256.0;
    const double matrix = 2.0 * (4096.0 * 4096.0 + 4096.0 * 128256.0 + logits);
    const double back = bytes_of(&shape, SEGMENT_HEAD_BACKWARD);
    software.loss.kind = LOSS_RECOMPUTED;
    assert_close(bytes_of(&shape, SEGMENT_HEAD), matrix + 2.0 * logits, 1e-15);
    assert_close(back, matrix + 4.0 * logits, 1e-15);
    assert_close(bytes_of(&shape, SEGMENT_HEAD_BACKWARD), back, 0.0);
}

static double flop_of(const struct cost_shape *shape, enum segment_kind kind)
{
    struct segment segment;
    cost_segment(shape, kind, &segment);
    return cost_segment_flop(&segment);
}

/* 4,096 tokens of Llama 3 8B: a product of the head is P = 2 x 4096 x 4096 x 128256 FLOP, three of
 * them with a whole loss, forward, back, back. chunked has the logits again in the backward pass;
 * linear does all three forward, and nothing back; cut has them again, too. */
static void chunks_of_a_loss_multiply_as_their_code_does(void **state)
{
    (void)state;
    const struct model model = llama3_8b();
    struct software software = megatron(ATTENTION_FA2);
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 4096, 1, 1});
    const double product = 2.0 * 4096 * 4096 * 128256;
    static const struct {
        uint32_t kind;
        int forward, backward, wgrad;
    } rows[] = {{LOSS_IN_PARTS, 1, 1, 1},
                {LOSS_EAGER, 1, 1, 1},
                {LOSS_CHUNKED, 1, 2, 1},
                {LOSS_LINEAR, 3, 0, 0},
                {LOSS_CUT, 1, 2, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        software.loss = (struct loss_way){.kind = rows[i].kind};
        assert_close(flop_of(&shape, SEGMENT_HEAD), rows[i].forward * product, 1e-14);
        assert_close(flop_of(&shape, SEGMENT_HEAD_BACKWARD), rows[i].backward * product, 1e-14);
        assert_close(flop_of(&shape, SEGMENT_HEAD_WGRAD), rows[i].wgrad * product, 1e-14);
    }
}

/* 16 chunks of 256 tokens: the head is read 16 times, V h x 2 bytes each; of each logit 2 are
 * written, 6 and 8 moved by the loss. Its gradient is written by each chunk, 2 bytes, and added, 6;
 * the sum once to the main gradient of 4 bytes, 2 + 8. */
static void a_chunked_loss_reads_the_head_for_each_chunk(void **state)
{
    (void)state;
    const struct model model = llama3_8b();
    struct software software = megatron(ATTENTION_FA2);
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 4096, 1, 1});
    software.loss.kind = LOSS_CHUNKED;
    const double inputs = 2.0 * 4096 * 4096;
    const double head = 2.0 * 4096 * 128256;
    const double logits = 4096.0 * 128256;
    assert_close(bytes_of(&shape, SEGMENT_HEAD), inputs + 16 * head + (2 + 6 + 8) * logits, 1e-14);
    const double wgrad = inputs + 2 * logits + 16 * (2 + 6) / 2.0 * head + (2 + 8) / 2.0 * head;
    assert_close(bytes_of(&shape, SEGMENT_HEAD_WGRAD), wgrad, 1e-14);
}

/* A norm in bf16 moves 4 bytes a value and back 6. Converted in front of it: 2 + 4, then 4 + 2;
 * back 2 + 4 + 4, then 4 + 2. With the residual's gradient, 6 bytes, behind it. */
static void a_norm_that_is_converted_moves_fp32(void **state)
{
    (void)state;
    const struct model model = llama3_8b();
    struct software software = megatron(ATTENTION_FA2);
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 1, false, 1, 4096, 1, 1});
    const double values = 4096.0 * 4096.0;
    assert_close(bytes_of(&shape, SEGMENT_MLP_PRE), 4.0 * values, 1e-15);
    assert_close(bytes_of(&shape, SEGMENT_MLP_PRE_BACKWARD), (6.0 + 6.0) * values, 1e-15);
    software.casts_norm = true;
    assert_close(bytes_of(&shape, SEGMENT_MLP_PRE), 12.0 * values, 1e-15);
    assert_close(bytes_of(&shape, SEGMENT_MLP_PRE_BACKWARD), (16.0 + 6.0) * values, 1e-15);
}

/* Looking a row up multiplies nothing. One-hot rows: 2 h V a token forward and as much for the
 * table's gradient, over two ranks halved; the rows themselves are V/2 values a token. */
static void one_hot_rows_multiply_the_table(void **state)
{
    (void)state;
    const struct model model = llama3_8b();
    struct software software = megatron(ATTENTION_FA2);
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 2, true, 1, 4096, 1, 1});
    static const enum segment_kind both[] = {SEGMENT_EMBEDDING, SEGMENT_EMBEDDING_BACKWARD};
    assert_close(segments_flop(&shape, both, 2), 0.0, 0.0);
    software.embedding = EMBEDDING_ONE_HOT;
    const double rows = 4096.0 * 128256.0 / 2.0;
    assert_close(segments_flop(&shape, both, 1), 2.0 * 4096.0 * rows, 1e-15);
    assert_close(segments_flop(&shape, both, 2), 4.0 * 4096.0 * rows, 1e-15);
    const double table = 4096.0 * 128256.0 / 2.0;
    assert_close(bytes_of(&shape, SEGMENT_EMBEDDING),
                 2.0 * rows + 2.0 * (rows + table + 4096.0 * 4096.0), 1e-15);
}

/* A classifier's model ends with the norm: of Llama-3 8B the parameters lack V h, the FLOPs of a
 * token 2 h V, and the head's segments are empty. */
static void without_a_head_the_norm_is_the_end(void **state)
{
    (void)state;
    struct model model = llama3_8b();
    const int64_t whole = cost_parameters(&model).total;
    model.is_headless = true;
    assert_true(cost_parameters(&model).total == whole - 128256LL * 4096);
    assert_close(cost_token_flop(&model, 4096).logits, 0.0, 0.0);
    const struct software software = megatron(ATTENTION_FA2);
    const struct cost_shape shape = segments_shape(
        &model, &software, (struct segments_layout){PRECISION_BF16, 2, true, 1, 4096, 1, 1});
    static const enum segment_kind head[] = {SEGMENT_HEAD, SEGMENT_HEAD_BACKWARD,
                                             SEGMENT_HEAD_WGRAD};
    for (size_t i = 0; i < 3; i++) {
        struct segment segment;
        cost_segment(&shape, head[i], &segment);
        assert_int_equal(segment.count, 0);
    }
    assert_true(bytes_of(&shape, SEGMENT_HEAD_PRE) > 0);
}

static double bytes_in(const struct segment *segment)
{
    double bytes = 0;
    for (uint32_t i = 0; i < segment->count; i++) {
        bytes += segment->kernels[i].bytes;
    }
    return bytes;
}

/* fp32 gradient 4 and, read and written, master 4 and two moments of 4: 28 bytes a parameter; a
 * 16-bit copy 2 more. Moments of int8 have an fp32 scale for 2048 values: 4 + 2 (4 + 2 (1 + 4 /
 * 2048)) + 2. Without a master bf16 weights are updated themselves: 4 + 2 (2 + 8). SGD with
 * momentum has one moment, 4 + 2 (4 + 4) + 2, plain SGD none, 4 + 2 4 + 2. By operations:
 * decay 8, momentum 12, scale 8, square 12, root 8, correction 8, epsilon 8, update 16: 80; of a
 * 16-bit copy 4 + 2 more. */
static void the_optimizer_streams_its_state(void **state)
{
    (void)state;
    struct optimizer optimizer = {STATE_FP32, STATE_FP32, STATE_FP32, true, OPTIMIZER_ADAM, {0}};
    struct segment segment;
    cost_optimizer(1e9, &optimizer, PRECISION_BF16, UPDATE_FUSED, &segment);
    assert_int_equal(segment.count, 1);
    assert_int_equal(segment.kernels[0].kind, KERNEL_MEMORY);
    assert_close(segment.kernels[0].bytes, 30e9, 0.0);
    assert_close(cost_segment_flop(&segment), 0.0, 0.0);
    cost_optimizer(1e9, &optimizer, PRECISION_TF32, UPDATE_FUSED, &segment);
    assert_close(segment.kernels[0].bytes, 28e9, 0.0);
    optimizer.moments = STATE_INT8;
    cost_optimizer(1e9, &optimizer, PRECISION_BF16, UPDATE_FUSED, &segment);
    assert_close(segment.kernels[0].bytes, (4 + 2 * (4 + 2 * (1 + 4.0 / 2048)) + 2) * 1e9, 1e-15);
    optimizer.moments = STATE_FP32;
    cost_optimizer(1e9, &optimizer, PRECISION_FP32, UPDATE_FOREACH, &segment);
    assert_close(bytes_in(&segment), 80e9, 1e-15);
    cost_optimizer(1e9, &optimizer, PRECISION_BF16, UPDATE_FOREACH, &segment);
    assert_close(bytes_in(&segment), 86e9, 1e-15);
    optimizer = (struct optimizer){STATE_FP32, STATE_NONE, STATE_FP32, true, OPTIMIZER_ADAM, {0}};
    cost_optimizer(1e9, &optimizer, PRECISION_BF16, UPDATE_FUSED, &segment);
    assert_close(segment.kernels[0].bytes, 24e9, 0.0);
    optimizer =
        (struct optimizer){STATE_FP32, STATE_FP32, STATE_FP32, true, OPTIMIZER_MOMENTUM, {0}};
    cost_optimizer(1e9, &optimizer, PRECISION_BF16, UPDATE_FUSED, &segment);
    assert_close(segment.kernels[0].bytes, 22e9, 0.0);
    optimizer.rule = OPTIMIZER_SGD;
    cost_optimizer(1e9, &optimizer, PRECISION_BF16, UPDATE_FUSED, &segment);
    assert_close(segment.kernels[0].bytes, 14e9, 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_of_the_gpt_family_equal_the_checkpoints),
        cmocka_unit_test(parameters_of_the_llama_family_equal_the_checkpoints),
        cmocka_unit_test(parameters_are_split_into_parts),
        cmocka_unit_test(the_vocabulary_is_padded_to_128_times_tp),
        cmocka_unit_test(flops_per_token_agree_to_the_last_digit),
        cmocka_unit_test(full_attention_flops_equal_the_megatron_formula),
        cmocka_unit_test(six_n_d_gives_the_published_training_costs),
        cmocka_unit_test(unfused_segments_have_the_closed_form_flops),
        cmocka_unit_test(fused_segments_have_the_closed_form_flops),
        cmocka_unit_test(flash_attention_costs_what_its_authors_count),
        cmocka_unit_test(products_have_the_shapes_of_megatron),
        cmocka_unit_test(kv_heads_are_copied_when_there_are_fewer_than_ranks),
        cmocka_unit_test(wgrad_pays_for_the_main_gradient),
        cmocka_unit_test(sequence_parallelism_splits_norms_and_dropout),
        cmocka_unit_test(unfused_attention_streams_the_scores),
        cmocka_unit_test(selective_recompute_beside_fused_attention_is_cheap),
        cmocka_unit_test(fusing_never_adds_traffic),
        cmocka_unit_test(every_segment_is_well_formed),
        cmocka_unit_test(the_head_has_logits_and_loss),
        cmocka_unit_test(a_fused_bias_of_qkv_is_no_pass),
        cmocka_unit_test(metrics_read_the_logits_again),
        cmocka_unit_test(a_recomputed_loss_reads_the_logits_once_forward),
        cmocka_unit_test(chunks_of_a_loss_multiply_as_their_code_does),
        cmocka_unit_test(a_chunked_loss_reads_the_head_for_each_chunk),
        cmocka_unit_test(a_norm_that_is_converted_moves_fp32),
        cmocka_unit_test(one_hot_rows_multiply_the_table),
        cmocka_unit_test(without_a_head_the_norm_is_the_end),
        cmocka_unit_test(the_optimizer_streams_its_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
