/* Kinds of layers: which layer is of which, and the kernels of each: latent attention, windows,
 * encoders, experts cut on their own, adapters, multi-token prediction. */
#include "base/arena.h"
#include "plan/cost.h"
#include "input/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/assert_close.h"
#include "support/segments.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const struct software fused = {
    .attention = ATTENTION_FA2,
    .gradient_precision = PRECISION_FP32,
    .fuses_bias_activation = true,
    .fuses_dropout_add = true,
    .fuses_norm = true,
    .fuses_softmax = true,
};

static struct model small(void)
{
    return (struct model){
        .layers = 12,
        .hidden = 1024,
        .ffn_hidden = 4096,
        .heads = 16,
        .kv_heads = 4,
        .head_dim = 64,
        .vocab = 32000,
        .max_positions = 4096,
        .mlp = MLP_SWIGLU,
        .norm = NORM_RMSNORM,
        .positions = POSITION_ROTARY,
    };
}

static struct model with_experts(void)
{
    struct model model = small();
    model.experts = 16;
    model.experts_per_token = 4;
    model.expert_hidden = 512;
    model.shared_experts = 1;
    return model;
}

/* DeepSeek-V3's attention on a small model. */
static struct model latent(int64_t q_rank)
{
    struct model model = with_experts();
    model.latent = (struct latent){q_rank, 128, 64, 32, 48};
    model_finish(&model);
    return model;
}

static struct cost_shape shape_of(const struct model *model, int64_t tp, bool is_sequence_parallel)
{
    return segments_shape(
        model, &fused,
        (struct segments_layout){PRECISION_BF16, tp, is_sequence_parallel, 1, 2048, 1, 1});
}

/* ---- which layer is of which kind ------------------------------------------------ */

/* Two dense layers, then every third of 10 has experts: the 3rd, 6th, 9th of those, 4, 7 and 10 in
 * the model. Layers 0, 2, ... have a window. */
static void every_nth_layer_has_experts_and_every_second_a_window(void **state)
{
    (void)state;
    struct model model = with_experts();
    model.dense_layers = 2;
    model.expert_every = 3;
    model.window = 128;
    model.window_every = 2;
    model_finish(&model);
    int64_t experts = 0;
    for (int64_t i = 0; i < model.layers; i++) {
        const bool has_experts = i == 4 || i == 7 || i == 10;
        assert_true(model_layer(&model, i)->has_experts == has_experts);
        assert_true(model_layer(&model, i)->has_experts == has_experts);
        assert_true((model_layer(&model, i)->window == 128) == (i % 2 == 0));
        experts += has_experts ? 1 : 0;
        assert_int_equal(model_expert_layers(&model, 0, i + 1), experts);
    }
    assert_int_equal(model_expert_layers(&model, 4, 4), 2);
    assert_int_equal(model.kind_count, 4);
    int64_t layers = 0;
    for (uint32_t i = 0; i < model.kind_count; i++) {
        layers += model.kinds[i].layers;
    }
    assert_int_equal(layers, 12);
}

/* Of 12 layers with full_every 6 the 6th and the 12th see all keys; with 5 the 5th and the 10th;
 * a model shorter than its period has windows only. */
static void all_but_every_nth_layer_have_the_window(void **state)
{
    (void)state;
    for (int64_t every = 5; every <= 13; every++) {
        struct model model = small();
        model.window = 128;
        model.full_every = every;
        model_finish(&model);
        for (int64_t i = 0; i < model.layers; i++) {
            const bool is_full = (i + 1) % every == 0;
            assert_true((model_layer(&model, i)->window == 0) == is_full);
        }
        const struct layer_kind *windowed = model_layer(&model, 0);
        assert_int_equal(windowed->layers, 12 - 12 / every);
        assert_int_equal(model.kind_count, every <= 12 ? 2 : 1);
    }
}

/* 12 layers of two norms and a last one of 1024: biases are 25 * 1024 parameters. Norms of values
 * without biases are as large as RMSNorm's. */
static void norms_without_biases_have_half_the_parameters(void **state)
{
    (void)state;
    struct model model = small();
    model_finish(&model);
    const int64_t with_rmsnorm = cost_parameters(&model).total;
    model.norm = NORM_LAYERNORM;
    assert_int_equal(cost_parameters(&model).total, with_rmsnorm + 25 * 1024);
    model.has_bare_norms = true;
    assert_int_equal(cost_parameters(&model).total, with_rmsnorm);
}

/* Blocks come first, then the decoder; MTP's layers, like the last, are beside them. */
static void blocks_come_before_the_decoder_and_mtp_behind(void **state)
{
    (void)state;
    struct model model = with_experts();
    model.dense_layers = 1;
    model.mtp_layers = 1;
    model.block_kinds = 1;
    model.kinds[0] = (struct layer_kind){
        "vision",       .hidden = 256,   .tokens = 512,      .heads = 4,      .kv_heads = 4,
        .head_dim = 64, .value_dim = 64, .ffn_hidden = 1024, .mlp = MLP_GELU, .layers = 3};
    model.layers += 3;
    model_finish(&model);
    assert_string_equal(model_layer(&model, 2)->name, "vision");
    assert_string_equal(model_layer(&model, 3)->name, "dense");
    assert_string_equal(model_layer(&model, 4)->name, "experts");
    assert_false(model_layer(&model, 2)->has_experts);
    assert_int_equal(model_expert_layers(&model, 0, 15), 11);
    assert_int_equal(model_expert_layers(&model, 0, 5), 1);
    const struct layer_kind *mtp = &model.kinds[model.mtp_kind];
    assert_true(mtp->is_mtp && mtp->has_experts && mtp->layers == 1);
    assert_int_equal(model.kind_count, 4);
}

/* A vision layer: 4 h^2 + 2 h f weights (GELU), two RMS norms; it sees 512 of each 2048 tokens, so
 * that a token of the sequence pays a quarter, and all 512 keys. */
static void a_block_costs_its_own_width_and_tokens(void **state)
{
    (void)state;
    struct model model = small();
    const struct layer_kind kind = {
        "vision",       .hidden = 256,   .tokens = 512,      .heads = 4,      .kv_heads = 4,
        .head_dim = 64, .value_dim = 64, .ffn_hidden = 1024, .mlp = MLP_GELU, .layers = 3};
    model_finish(&model);
    const struct token_flop alone = cost_token_flop(&model, 2048);
    const int64_t parameters = cost_parameters(&model).total;
    model.block_kinds = 1;
    model.kinds[0] = kind;
    model.layers += 3;
    model_finish(&model);
    const int64_t weights = 4 * 256 * 256 + 2 * 256 * 1024;
    const struct token_flop flop = cost_token_flop(&model, 2048);
    assert_int_equal(cost_parameters(&model).total - parameters, 3 * (weights + 2 * 256));
    assert_int_equal(cost_parameters(&model).blocks, 3 * (weights + 2 * 256));
    assert_close(flop.linear - alone.linear, 3 * 2.0 * (double)weights / 4, 1e-12);
    assert_close(flop.core_causal - alone.core_causal, 3 * 4.0 * 256 * 512 / 4, 1e-12);
    struct cost_shape shape = shape_of(&model, 1, false);
    shape.layer = &model.kinds[0];
    struct segment segment;
    cost_segment(&shape, SEGMENT_ATTENTION, &segment);
    assert_int_equal(segment_find(&segment, "qkv")->m, 512);
    assert_int_equal(segment_find(&segment, "qkv")->n, 3 * 256);
    assert_close(segment_find(&segment, "attention")->flop, 4.0 * 256 * 512 * 512, 0.0);
    cost_segment(&shape, SEGMENT_HEAD, &segment);
    assert_int_equal(segment_find(&segment, "logits")->k, 1024);
    assert_int_equal(segment_find(&segment, "logits")->m, 2048);
}

static const char text[] =
    "layers: 4\n"
    "hidden: 512\n"
    "ffn_hidden: 1024\n"
    "heads: 8\n"
    "vocab: 1000\n"
    "max_positions: 1024\n"
    "biases: true\n"
    "projection_biases: false\n"
    "causal: false\n"
    "experts: 8\n"
    "experts_per_token: 2\n"
    "shared_experts: 2\n"
    "shared_hidden: 768\n"
    "expert_groups: 4\n"
    "group_limit: 2\n"
    "blocks:\n"
    "  - {name: vision, layers: 2, hidden: 256, heads: 4, ffn_hidden: 512, tokens: 64,\n"
    "     causal: false, mlp: swiglu}\n"
    "  - {name: bridge, layers: 1, hidden: 256, heads: 4, kv_heads: 2, head_dim: 32,\n"
    "     ffn_hidden: 512}\n";

/* Keys that are left out follow from others: an expert is as wide as the MLP, QKV has biases as the
 * model, a block's heads share its width and its MLP is the model's. */
static void a_model_is_read_with_its_blocks(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct diag *diag = diag_new(arena);
    struct assumptions assumptions;
    struct model model;
    assumptions_init(&assumptions, arena);
    const struct doc_node *node = doc_parse(arena, "model.yaml", text, strlen(text), diag);
    assert_non_null(node);
    assert_true(model_read(node, &model, &assumptions, diag));
    assert_int_equal(model.layers, 7);
    assert_int_equal(model.block_layers, 3);
    assert_true(model.has_qkv_biases && model.has_mlp_biases && !model.has_projection_biases);
    assert_int_equal(model.expert_hidden, 1024);
    assert_int_equal(model.shared_hidden, 768);
    assert_int_equal(model.group_limit, 2);
    const struct layer_kind *vision = model_layer(&model, 1);
    const struct layer_kind *bridge = model_layer(&model, 2);
    assert_int_equal(vision->head_dim, 64);
    assert_int_equal(vision->tokens, 64);
    assert_true(!vision->is_causal && vision->mlp == MLP_SWIGLU);
    assert_true(bridge->is_causal && bridge->mlp == MLP_GELU);
    assert_int_equal(bridge->head_dim, 32);
    assert_int_equal(bridge->kv_heads, 2);
    assert_true(model_layer(&model, 3)->has_experts && !model_layer(&model, 3)->is_causal);
    arena_free(arena);
}

/* ---- all kinds: kernels and closed forms agree ----------------------------------- */

static const enum segment_kind forward[] = {
    SEGMENT_ATTENTION_QKV, SEGMENT_ATTENTION_CORE, SEGMENT_ATTENTION_PROJECTION,
    SEGMENT_MLP,           SEGMENT_EXPERTS,        SEGMENT_SHARED,
    SEGMENT_MTP,
};
static const enum segment_kind gradients[] = {
    SEGMENT_ATTENTION_PROJECTION_BACKWARD,
    SEGMENT_ATTENTION_CORE_BACKWARD,
    SEGMENT_ATTENTION_QKV_BACKWARD,
    SEGMENT_ATTENTION_DGRAD,
    SEGMENT_MLP_INNER_BACKWARD,
    SEGMENT_MLP_DGRAD,
    SEGMENT_EXPERTS_BACKWARD,
    SEGMENT_SHARED_INNER_BACKWARD,
    SEGMENT_SHARED_DGRAD,
    SEGMENT_MTP_BACKWARD,
};
static const enum segment_kind weights[] = {
    SEGMENT_ATTENTION_INNER_WGRAD, SEGMENT_ATTENTION_WGRAD,
    SEGMENT_MLP_INNER_WGRAD,       SEGMENT_MLP_WGRAD,
    SEGMENT_EXPERTS_WGRAD,         SEGMENT_SHARED_INNER_WGRAD,
    SEGMENT_SHARED_WGRAD,          SEGMENT_MTP_WGRAD,
};

static double linear_of(const struct layer_flop *flop)
{
    return flop->attention_linear + flop->mlp + flop->experts + flop->shared + flop->mtp;
}

/* Forward linear + core; input gradients linear + the core's; weight gradients linear: each GPU of
 * tp executes its share, with sequence parallelism of the down-projections, too. The core's
 * backward pass has 3 products of d_q + d_k's width and 2 of d_v's where forward has one each. */
static void assert_shares(const struct model *model, uint32_t kind_index)
{
    const struct layer_kind *kind = &model->kinds[kind_index];
    const struct layer_flop flop = cost_layer_flop(model, kind, 2048);
    const double linear = linear_of(&flop);
    const double key = (double)kind->head_dim;
    const double value = (double)kind->value_dim;
    const double back = flop.core_causal * (3 * key + 2 * value) / (key + value);
    for (int64_t tp = 1; tp <= 4; tp *= 2) {
        struct cost_shape shape = shape_of(model, tp, true);
        const double tokens = 2048.0 / (double)tp;
        shape.layer = kind;
        assert_close(segments_flop(&shape, forward, LENGTH(forward)),
                     tokens * (linear + flop.core_causal), 1e-12);
        assert_close(segments_flop(&shape, gradients, LENGTH(gradients)), tokens * (linear + back),
                     1e-12);
        assert_close(segments_flop(&shape, weights, LENGTH(weights)), tokens * linear, 1e-12);
    }
}

static void kernels_of_every_kind_execute_its_flops(void **state)
{
    (void)state;
    struct model windowed = with_experts();
    windowed.window = 256;
    windowed.window_every = 2;
    windowed.dense_layers = 1;
    windowed.mtp_layers = 1;
    model_finish(&windowed);
    struct model encoder = small();
    encoder.is_bidirectional = true;
    model_finish(&encoder);
    const struct model models[] = {latent(192), latent(0), windowed, encoder};
    for (size_t i = 0; i < LENGTH(models); i++) {
        for (uint32_t kind = 0; kind < models[i].kind_count; kind++) {
            assert_shares(&models[i], kind);
        }
    }
}

/* ---- latent attention ------------------------------------------------------------ */

static void assert_size(const struct segment *segment, const char *name, const int64_t size[3])
{
    const struct kernel *kernel = segment_find(segment, name);
    assert_true(kernel->m == size[0]);
    assert_true(kernel->n == size[1]);
    assert_true(kernel->k == size[2]);
}

/* 16 heads of 64 + 32 and 48, ranks 192 and 128, tp 2 with sequence parallelism: a rank compresses
 * its own 1024 tokens and raises all 2048 to its 8 heads. */
static void latent_attention_compresses_and_raises(void **state)
{
    (void)state;
    const struct model model = latent(192);
    const struct cost_shape shape = shape_of(&model, 2, true);
    struct segment segment;
    cost_segment(&shape, SEGMENT_ATTENTION_QKV, &segment);
    assert_size(&segment, "q down", (const int64_t[]){1024, 192, 1024});
    assert_size(&segment, "kv down", (const int64_t[]){1024, 128 + 32, 1024});
    assert_size(&segment, "q up", (const int64_t[]){2048, 8 * 96, 192});
    assert_size(&segment, "kv up", (const int64_t[]){2048, 8 * (64 + 48), 128});
    assert_close(segment_find(&segment, "rotary")->bytes, 2 * 2.0 * 2048 * 9 * 32, 0.0);
    cost_segment(&shape, SEGMENT_ATTENTION_PROJECTION, &segment);
    assert_size(&segment, "projection", (const int64_t[]){2048, 1024, 8 * 48});
    cost_segment(&shape, SEGMENT_ATTENTION_CORE, &segment);
    const struct kernel *core = segment_find(&segment, "attention");
    assert_close(core->flop, 2.0 * 8 * (96 + 48) * 2048 * 2048 / 2, 0.0);
    assert_close(core->bytes, 2.0 * 2048 * 8 * (96 + 48 + 96 + 48), 0.0);
    cost_segment(&shape, SEGMENT_ATTENTION_CORE_BACKWARD, &segment);
    assert_close(segment_find(&segment, "attention backward")->flop,
                 2.0 * 8 * (3 * 96 + 2 * 48) * 2048 * 2048 / 2, 0.0);
}

/* 9 heads' 32 rotary values of 2048 tokens: fused reads and writes 2 bytes of each; eager in four
 * kernels 10 values; complex numbers 2 + 4, 8 and 4 + 2 bytes in three. */
static void rotary_positions_cost_what_the_framework_makes_of_them(void **state)
{
    (void)state;
    static const struct {
        enum rotary_kind kind;
        uint32_t kernels;
        double bytes;
    } cases[] = {{ROTARY_FUSED, 1, 4.0},
                 {ROTARY_EAGER, 4, 20.0},
                 {ROTARY_COMPLEX, 3, 20.0},
                 {ROTARY_MATRIX, 4, 36.0}};
    struct model model = latent(192);
    for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); i++) {
        const size_t row = i / 2;
        struct cost_shape shape = shape_of(&model, 2, true);
        struct software software = *shape.software;
        model.scales_rotary = i % 2 == 1; /* then the other key says how */
        software.rotary = model.scales_rotary ? ROTARY_COUNT_ : cases[row].kind;
        software.scaled_rotary = model.scales_rotary ? cases[row].kind : ROTARY_COUNT_;
        shape.software = &software;
        struct segment segment;
        cost_segment(&shape, SEGMENT_ATTENTION_QKV, &segment);
        double bytes = 0.0;
        uint32_t kernels = 0;
        for (uint32_t k = 0; k < segment.count; k++) {
            const bool is_rotary = strncmp(segment.kernels[k].name, "rotary", 6) == 0;
            bytes += is_rotary ? segment.kernels[k].bytes : 0.0;
            kernels += is_rotary ? 1 : 0;
        }
        assert_int_equal(kernels, cases[row].kernels);
        assert_close(bytes, cases[row].bytes * 2048 * 9 * 32, 0.0);
    }
}

/* What is split and what every rank holds: the five matrices but the two down-projections. */
static void latent_attention_replicates_its_down_projections(void **state)
{
    (void)state;
    struct model model = latent(192);
    const int64_t down = 1024 * (192 + 128 + 32);
    const int64_t up = 192 * 16 * 96 + 128 * 16 * 112 + 16 * 48 * 1024;
    const int64_t shared = 3 * 1024 * 512;
    const struct layer_count count = cost_layer(&model, model_layer(&model, 0));
    assert_int_equal(count.split, up + shared);
    assert_int_equal(count.replicated, down + 192 + 128 + 2 * 1024 + 1024 * 16);
    assert_int_equal(count.expert, 3 * 1024 * 512);
    assert_int_equal(count.total, count.split + count.replicated + 16 * count.expert);
    assert_int_equal(count.active, count.split + count.replicated + 4 * count.expert);
}

/* Recomputing "mla-up" is the norms and the two up-projections again. */
static void up_projections_are_computed_again_alone(void **state)
{
    (void)state;
    const struct model model = latent(192);
    struct cost_shape shape = shape_of(&model, 1, false);
    shape.recompute_modules = 1u << RECOMPUTE_MLA_UP;
    struct segment segment;
    cost_segment(&shape, SEGMENT_SELECTIVE_RECOMPUTE_EXPERTS, &segment);
    const double up = 2.0 * (192 * 16 * 96 + 128 * 16 * 112);
    assert_close(cost_segment_flop(&segment), 2048 * up, 0.0);
    assert_close(cost_layer_flop(&model, shape.layer, 2048).latent_up, up, 0.0);
    shape.recompute_modules = 1u << RECOMPUTE_CORE_ATTENTION;
    cost_segment(&shape, SEGMENT_SELECTIVE_RECOMPUTE_EXPERTS, &segment);
    assert_int_equal(segment.count, 1);
    shape.recompute_modules = 0;
    cost_segment(&shape, SEGMENT_SELECTIVE_RECOMPUTE_EXPERTS, &segment);
    assert_int_equal(segment.count, 0);
}

/* ---- windows, norms of heads ----------------------------------------------------- */

/* Window 256 of 2048: (256 x 257 / 2 + 1792 x 256) / 2048 keys in the mean, and the kernel is as
 * short as the window. */
static void a_window_makes_attention_short(void **state)
{
    (void)state;
    struct model model = small();
    model.window = 256;
    model_finish(&model);
    const struct cost_shape shape = shape_of(&model, 1, false);
    struct segment segment;
    cost_segment(&shape, SEGMENT_ATTENTION_CORE, &segment);
    const struct kernel *kernel = segment_find(&segment, "attention");
    assert_int_equal(kernel->length, 256);
    assert_close(kernel->flop, 4.0 * 16 * 64 * (256.0 * 257 / 2 + 1792.0 * 256), 1e-15);
}

/* Window 256 of 2048: in fp8 the forward kernel skips what it hides, the backward one goes through
 * all that is causal, 1024 keys in the mean, unless the software skips it there, too. */
static void fp8_attention_skips_a_window_backward_where_it_can(void **state)
{
    (void)state;
    struct model model = small();
    model.window = 256;
    model_finish(&model);
    struct software software = fused;
    software.attention = ATTENTION_CUDNN;
    struct cost_shape shape = shape_of(&model, 1, false);
    shape.software = &software;
    shape.precision = PRECISION_MXFP8;
    for (int round = 0; round < 3; round++) {
        const bool skips = round != 1;
        struct segment segment;
        software.low.attends = software.low.attends_backward = round > 0;
        software.low.skips_window = round == 2;
        cost_segment(&shape, SEGMENT_ATTENTION_CORE, &segment);
        assert_int_equal(segment_find(&segment, "attention")->length, 256);
        cost_segment(&shape, SEGMENT_ATTENTION_CORE_BACKWARD, &segment);
        const struct kernel *kernel = segment_find(&segment, "attention backward");
        assert_int_equal(kernel->sequence, 2048);
        assert_int_equal(kernel->length, skips ? 256 : 2048);
        assert_int_equal(kernel->edges, skips ? 2 : 1);
        assert_close(kernel->mean_keys, skips ? 240.0625 : 1024.0, 1e-12);
    }
}

/* A norm of queries and keys reads and writes 16 + 4 heads of 64 for each token. */
static void norms_of_heads_are_a_pass(void **state)
{
    (void)state;
    struct model model = small();
    model_finish(&model);
    const int64_t before = cost_parameters(&model).total;
    model.has_qk_norm = true;
    const struct cost_shape shape = shape_of(&model, 1, false);
    struct segment segment;
    cost_segment(&shape, SEGMENT_ATTENTION_QKV, &segment);
    assert_close(segment_find(&segment, "norm")->bytes, 2.0 * 2 * 2048 * 20 * 64, 0.0);
    assert_int_equal(cost_parameters(&model).total - before, 12 * 2 * 64);
}

/* ---- context parallelism by heads ------------------------------------------------ */

/* Ulysses on 4 ranks: a rank has 4 of 16 heads and one of keys and values, for all 2048 tokens; a
 * quarter of the FLOPs and, 4 heads each, of the bytes. */
static void ulysses_has_whole_sequences_of_some_heads(void **state)
{
    (void)state;
    struct model model = small();
    model_finish(&model);
    const struct cost_shape whole = shape_of(&model, 1, false);
    struct cost_shape part = whole;
    part.cp = 4;
    part.is_ulysses = true;
    struct segment segment;
    cost_segment(&whole, SEGMENT_ATTENTION_CORE, &segment);
    const struct kernel all = *segment_find(&segment, "attention");
    cost_segment(&part, SEGMENT_ATTENTION_CORE, &segment);
    const struct kernel *kernel = segment_find(&segment, "attention");
    assert_close(kernel->flop, all.flop / 4, 0.0);
    assert_close(kernel->bytes, all.bytes / 4, 0.0);
    assert_int_equal(kernel->length, 2048);
    cost_segment(&part, SEGMENT_ATTENTION_QKV, &segment);
    assert_size(&segment, "qkv", (const int64_t[]){512, 24 * 64, 1024});
}

/* ---- experts cut on their own ---------------------------------------------------- */

/* tp 4, 2048 tokens x 4 copies: cut by etp 4 a rank has all 8192 rows of a quarter of each expert;
 * by etp 1 a quarter of the rows of whole ones: the same FLOPs. One and a half times the rows on
 * the busiest rank are so much more. */
static void experts_are_cut_by_their_own_degree(void **state)
{
    (void)state;
    struct model model = with_experts();
    model_finish(&model);
    struct cost_shape shape = shape_of(&model, 4, true);
    struct segment segment;
    cost_segment(&shape, SEGMENT_EXPERTS, &segment);
    const double flop = cost_segment_flop(&segment);
    assert_size(&segment, "experts fc2", (const int64_t[]){512, 1024, 128});
    shape.etp = 1;
    shape.ep = 4;
    shape.local_experts = 4;
    cost_segment(&shape, SEGMENT_EXPERTS, &segment);
    assert_size(&segment, "experts fc2", (const int64_t[]){512, 1024, 512});
    assert_int_equal(segment_find(&segment, "experts fc2")->count, 4);
    assert_close(cost_segment_flop(&segment), flop, 0.0);
    shape.expert_rows = 1.5;
    cost_segment(&shape, SEGMENT_EXPERTS, &segment);
    assert_close(cost_segment_flop(&segment), 1.5 * flop, 0.0);
    assert_int_equal(segment_find(&segment, "experts fc2")->m, 768);
}

/* ---- adapters -------------------------------------------------------------------- */

/* LoRA of rank 16 on QKV alone: weight gradients are those of A (16 x 1024) and B (1536 x 16), and
 * nothing else in the layer, the head or the embedding has any; input gradients stay. */
static void frozen_weights_have_no_gradients(void **state)
{
    (void)state;
    struct model model = with_experts();
    model_finish(&model);
    struct cost_shape shape = shape_of(&model, 1, false);
    const double before = segments_flop(&shape, gradients, LENGTH(gradients));
    const double adapter = 2.0 * 2048 * 16 * (1024 + 24 * 64);
    shape.lora_rank = 16;
    shape.lora_targets = 1u << LORA_QKV;
    assert_close(segments_flop(&shape, weights, LENGTH(weights)), adapter, 0.0);
    assert_close(segments_flop(&shape, gradients, LENGTH(gradients)), before + adapter, 1e-15);
    struct segment segment;
    cost_segment(&shape, SEGMENT_HEAD_WGRAD, &segment);
    assert_int_equal(segment.count, 0);
    cost_segment(&shape, SEGMENT_EMBEDDING_BACKWARD, &segment);
    assert_int_equal(segment.count, 0);
    cost_segment(&shape, SEGMENT_ATTENTION_WGRAD, &segment);
    assert_size(&segment, "adapter up wgrad", (const int64_t[]){1536, 16, 2048});
    assert_size(&segment, "adapter down wgrad", (const int64_t[]){16, 1024, 2048});
}

static double bytes_of(const struct segment *segment, const char *name)
{
    return segment_find(segment, name)->bytes;
}

/* Beside QKV, 2,048 rows of 1,024 in and 1,536 out, in 2 bytes. Op by op dropout reads and writes
 * an input and writes a byte, its backward reads that byte: 5; scaling reads and writes a result:
 * 4; a sum reads two and writes one: 6. B's product writes and does not read. Fused, dropout has a
 * bit of each value, and the products that add read what they add to; nothing else is left. */
static void adapters_run_op_by_op_or_fused(void **state)
{
    (void)state;
    struct model model = with_experts();
    model_finish(&model);
    struct cost_shape shape = shape_of(&model, 1, false);
    struct software software = *shape.software;
    shape.software = &software;
    shape.lora_rank = 16;
    shape.lora_targets = 1u << LORA_QKV;
    shape.lora_drops = true;
    const double in = 2048.0 * 1024.0;
    const double out = 2048.0 * 1536.0;
    struct segment qkv, backward;
    cost_segment(&shape, SEGMENT_ATTENTION_QKV, &qkv);
    cost_segment(&shape, SEGMENT_ATTENTION_DGRAD, &backward);
    const uint32_t count = qkv.count;
    const uint32_t count_backward = backward.count;
    const double up = bytes_of(&qkv, "adapter up");
    const double down = bytes_of(&backward, "adapter down dgrad");
    assert_close(bytes_of(&qkv, "adapter dropout"), 5.0 * in, 0.0);
    assert_close(bytes_of(&qkv, "adapter scale"), 4.0 * out, 0.0);
    assert_close(bytes_of(&qkv, "adapter add"), 6.0 * out, 0.0);
    assert_close(bytes_of(&backward, "adapter scale backward"), 4.0 * out, 0.0);
    assert_close(bytes_of(&backward, "adapter dropout backward"), 5.0 * in, 0.0);
    assert_close(bytes_of(&backward, "adapter gradient add"), 6.0 * in, 0.0);
    software.fuses_adapter = true;
    cost_segment(&shape, SEGMENT_ATTENTION_QKV, &qkv);
    cost_segment(&shape, SEGMENT_ATTENTION_DGRAD, &backward);
    assert_int_equal(qkv.count, count - 2);
    assert_close(bytes_of(&qkv, "adapter dropout"), 4.125 * in, 0.0);
    assert_close(bytes_of(&qkv, "adapter up"), up + 2.0 * out, 1e-15);
    assert_close(bytes_of(&backward, "adapter down dgrad"), down + 2.0 * in, 1e-15);
    assert_int_equal(backward.count, count_backward - 2);
    shape.lora_drops = false;
    cost_segment(&shape, SEGMENT_ATTENTION_QKV, &qkv);
    assert_int_equal(qkv.count, count - 3);
}

/* Half of the tokens are a rank's own where tensor parallelism of 2 cuts the sequence: QKV's input
 * and the projection's result are cut so, the others by their columns. */
static void adapters_pass_over_a_ranks_own_values(void **state)
{
    (void)state;
    struct model model = with_experts();
    model_finish(&model);
    struct cost_shape shape = shape_of(&model, 2, true);
    shape.lora_rank = 16;
    shape.lora_targets = 1u << LORA_QKV | 1u << LORA_PROJECTION;
    shape.lora_drops = true;
    struct segment qkv, projection;
    cost_segment(&shape, SEGMENT_ATTENTION_QKV, &qkv);
    cost_segment(&shape, SEGMENT_ATTENTION_PROJECTION, &projection);
    assert_close(bytes_of(&qkv, "adapter dropout"), 5.0 * 1024 * 1024, 0.0);
    assert_close(bytes_of(&qkv, "adapter add"), 6.0 * 2048 * 768, 0.0);
    assert_close(bytes_of(&projection, "adapter dropout"), 5.0 * 2048 * 512, 0.0);
    assert_close(bytes_of(&projection, "adapter add"), 6.0 * 1024 * 1024, 0.0);
}

/* ---- every row of the table ------------------------------------------------------ */

/* The most kernels: eager, unfused, adapters everywhere, fewer than 16 bits; all fit. */
static void the_longest_segments_fit(void **state)
{
    (void)state;
    const struct software eager = {.gradient_precision = PRECISION_FP32,
                                   .low = {.is_known = true,
                                           .in_forward = true,
                                           .in_dgrad = true,
                                           .in_wgrad = true,
                                           .recipe = RECIPE_CURRENT}};
    struct model model = latent(192);
    model.has_biases = model.has_dropout = true;
    model.mtp_layers = 1;
    model_finish(&model);
    for (uint32_t kind = 0; kind < model.kind_count; kind++) {
        struct cost_shape shape = shape_of(&model, 2, true);
        shape.software = &eager;
        shape.precision = PRECISION_FP8;
        shape.layer = &model.kinds[kind];
        shape.lora_rank = 8;
        shape.lora_targets = (1u << LORA_TARGET_COUNT_) - 1;
        shape.lora_drops = true;
        shape.recompute_modules = (1u << RECOMPUTE_MODULE_COUNT_) - 1;
        for (uint32_t i = 0; i < SEGMENT_COUNT_; i++) {
            struct segment segment;
            cost_segment(&shape, (enum segment_kind)i, &segment);
            assert_true(segment.count <= SEGMENT_KERNELS_MAX);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_nth_layer_has_experts_and_every_second_a_window),
        cmocka_unit_test(all_but_every_nth_layer_have_the_window),
        cmocka_unit_test(norms_without_biases_have_half_the_parameters),
        cmocka_unit_test(blocks_come_before_the_decoder_and_mtp_behind),
        cmocka_unit_test(a_block_costs_its_own_width_and_tokens),
        cmocka_unit_test(a_model_is_read_with_its_blocks),
        cmocka_unit_test(kernels_of_every_kind_execute_its_flops),
        cmocka_unit_test(latent_attention_compresses_and_raises),
        cmocka_unit_test(rotary_positions_cost_what_the_framework_makes_of_them),
        cmocka_unit_test(latent_attention_replicates_its_down_projections),
        cmocka_unit_test(up_projections_are_computed_again_alone),
        cmocka_unit_test(a_window_makes_attention_short),
        cmocka_unit_test(fp8_attention_skips_a_window_backward_where_it_can),
        cmocka_unit_test(norms_of_heads_are_a_pass),
        cmocka_unit_test(ulysses_has_whole_sequences_of_some_heads),
        cmocka_unit_test(experts_are_cut_by_their_own_degree),
        cmocka_unit_test(frozen_weights_have_no_gradients),
        cmocka_unit_test(adapters_run_op_by_op_or_fused),
        cmocka_unit_test(adapters_pass_over_a_ranks_own_values),
        cmocka_unit_test(the_longest_segments_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
