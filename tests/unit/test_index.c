/* Attention to keys that an index chose: sums by hand of its parameters, FLOPs, kernels, memory and
 * cuts, and what was published of its kernels. */
#include "base/arena.h"
#include "plan/cost.h"
#include "plan/matrices.h"
#include "plan/memory/memory_job.h"
#include "plan/memory/memory_layer.h"
#include "run/run.h"
#include "train/bound/bound.h"
#include "train/timing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/assert_close.h"
#include "support/fixture.h"
#include "support/segments.h"
#include "support/volume.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const char sparse[] = "model=tests/unit/data/mixer_index.yaml";
static const char dense[] = "model=tests/unit/data/mixer_index_dense.yaml";

/* Of 8,192 tokens the first 512 see 1, 2, ... 512 keys, each of the others 512. */
#define CHOSEN ((512.0 * 513 / 2 + 7680.0 * 512) / 8192)
#define SEEN 4096.0

static const struct scenario *scenario_of(struct arena *arena, const char *model, const char *set)
{
    return fixture_quickstart(arena, model, (const char *const[]){set, NULL});
}

static bool has_kernel(const struct segment *segment, const char *name)
{
    for (uint32_t i = 0; i < segment->count; i++) {
        if (strcmp(segment->kernels[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* q down 1024 x 256, kv down 1024 x 160, norms 384; of the index 256 x 256, 1024 x 64, 1024 x 4 and
 * a norm of 64; q up 256 x 16 x 80; a matrix for each of 16 heads, k up 48 x 128 and v up 128 x 64;
 * projection 1024 x 1024. Two norms of the layer, an MLP of 2 x 1024 x 4096. */
static void an_index_has_its_projections(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model *model = &scenario_of(arena, sparse, NULL)->model;
    const struct layer_count count = cost_layer(model, model_layer(model, 0));
    const int64_t whole = 262144 + 163840 + 384 + 65536 + 65536 + 4096 + 64;
    const int64_t cut = 327680 + 98304 + 131072 + 1048576;
    assert_int_equal(count.replicated, whole + 2048);
    assert_int_equal(count.split, cut + 2 * 1024L * 4096);
    arena_free(arena);
}

/* The index scores 4,096 keys in the mean with 256 values, and learns from those that are chosen,
 * or from all: two products more. Its projections have no input gradients. */
static void an_index_has_the_flop_of_its_pairs(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const double own = 65536 + 65536 + 4096;
    const double others = 262144 + 163840 + 327680 + 98304 + 131072 + 1048576;
    for (int is_dense = 0; is_dense < 2; is_dense++) {
        const struct model *model =
            &scenario_of(arena, is_dense != 0 ? dense : sparse, NULL)->model;
        const struct layer_flop flop = cost_layer_flop(model, model_layer(model, 0), 8192);
        const double learned = is_dense != 0 ? SEEN : CHOSEN;
        const double forward = 2 * (own + 256 * SEEN);
        assert_close(flop.attention_linear, 2 * others, 1e-12);
        assert_close(flop.core_causal, 2.0 * 16 * (160 + 128) * CHOSEN, 1e-12);
        assert_close(flop.index, forward, 1e-12);
        assert_close(flop.index_train, forward + 2 * (own + 2 * 256 * learned), 1e-12);
        const struct token_flop token = cost_token_flop(model, 8192);
        assert_close(cost_train_flop_causal(&token),
                     3 * (token.linear + token.core_causal + token.logits) + 4 * flop.index_train,
                     1e-12);
    }
    arena_free(arena);
}

/* Megatron-LM's factors (pull request 7157, of the scores of an index): 1 forward, and 2 of the
 * part of pairs that its loss is over; GLM-5.2's example, 128K tokens and 2,048 keys: 1 + 2 x
 * 0.031. */
static void the_loss_costs_what_megatron_counts(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model model = fixture_model(arena, "glm-5", NULL);
    const struct layer_flop flop = cost_layer_flop(&model, model_layer(&model, 0), 131072);
    const double projections = 2.0 * (2048.0 * 4096 + 6144.0 * 128 + 6144.0 * 32);
    const double scores = 2.0 * 4096 * 65536;
    assert_close(flop.index, projections + scores, 1e-12);
    assert_close((flop.index_train - 2 * projections) / scores, 1 + 2 * 0.031, 1e-3);
    arena_free(arena);
}

/* On a rank of two, 8,192 tokens, 8 of 16 heads; bytes of 2, scores of 4. */
static void an_index_and_its_attention_execute_their_pairs(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario = scenario_of(arena, sparse, NULL);
    const struct cost_shape shape = timing_shape(scenario, 0);
    struct segment segment;
    cost_segment(&shape, SEGMENT_ATTENTION_CORE, &segment);
    assert_int_equal(segment.count, 3);
    const struct kernel *kernel = segment_find(&segment, "index");
    assert_int_equal(kernel->kind, KERNEL_SPARSE);
    assert_close(kernel->flop, 2.0 * 256 * 8192 * SEEN, 1e-12);
    assert_close(kernel->bytes, 8192.0 * (256 + 4 + 64) * 2 + 8192 * SEEN * 4, 1e-12);
    assert_close(segment_find(&segment, "top keys")->bytes, 8192 * SEEN * 4, 1e-12);
    kernel = segment_find(&segment, "attention");
    assert_int_equal(kernel->kind, KERNEL_SPARSE);
    assert_close(kernel->flop, 2.0 * 8192 * 8 * CHOSEN * (160 + 128), 1e-12);
    assert_close(kernel->bytes, 8192.0 * (8 * 288 + CHOSEN * 160) * 2, 1e-12);
    cost_segment(&shape, SEGMENT_ATTENTION_CORE_BACKWARD, &segment);
    assert_int_equal(segment.count, 2);
    kernel = segment_find(&segment, "attention backward");
    assert_close(kernel->flop, 2.0 * 8192 * 8 * CHOSEN * (3 * 160 + 2 * 128), 1e-12);
    assert_close(kernel->bytes, 8192.0 * (2 * 8 * 288 * 2 + CHOSEN * 160 * 6), 1e-12);
    kernel = segment_find(&segment, "index backward");
    assert_close(kernel->flop, 2.0 * 8192 * CHOSEN * (8 * 160 + 3 * 256), 1e-12);
    assert_close(kernel->bytes, 8192.0 * (CHOSEN * (160 * 2 + 64 * 6) + 2 * 256 * 2), 1e-12);
    arena_free(arena);
}

/* Its projections run over all tokens on every rank, have weight gradients and no others: q low has
 * the gradient of q up alone, the layer's input those of q down and kv down, which are added. A
 * matrix a head is a batch. */
static void no_gradient_goes_through_an_index(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario = scenario_of(arena, sparse, NULL);
    const struct cost_shape shape = timing_shape(scenario, 0);
    struct segment segment;
    cost_segment(&shape, SEGMENT_ATTENTION_QKV, &segment);
    assert_int_equal(segment_find(&segment, "index q")->m, 8192);
    assert_int_equal(segment_find(&segment, "q down")->m, 4096);
    assert_int_equal(segment_find(&segment, "k up")->count, 8);
    assert_int_equal(segment_find(&segment, "k up")->n, 128);
    assert_int_equal(segment_find(&segment, "k up")->k, 48);
    cost_segment(&shape, SEGMENT_ATTENTION_QKV_BACKWARD, &segment);
    assert_true(has_kernel(&segment, "k up dgrad") && has_kernel(&segment, "q up dgrad"));
    assert_false(has_kernel(&segment, "index q dgrad") ||
                 has_kernel(&segment, "q up gradient add"));
    cost_segment(&shape, SEGMENT_ATTENTION_DGRAD, &segment);
    assert_true(has_kernel(&segment, "q down dgrad") && has_kernel(&segment, "kv down dgrad"));
    assert_true(has_kernel(&segment, "q down gradient add"));
    assert_false(has_kernel(&segment, "kv down gradient add"));
    assert_false(has_kernel(&segment, "index k dgrad") ||
                 has_kernel(&segment, "index weights dgrad"));
    cost_segment(&shape, SEGMENT_ATTENTION_WGRAD, &segment);
    assert_true(has_kernel(&segment, "index q wgrad") && has_kernel(&segment, "index k wgrad"));
    const struct scenario *frozen = scenario_of(arena, sparse, "lora.rank=16");
    const struct cost_shape of_frozen = timing_shape(frozen, 0);
    cost_segment(&of_frozen, SEGMENT_ATTENTION_CORE_BACKWARD, &segment);
    assert_int_equal(segment.count, 1);
    arena_free(arena);
}

/* Kept of a token. By two ranks, as sequences are: the norms' inputs and outputs 4 x 1024, latents
 * before their norms 256 + 128 and q low behind; as heads are: the MLP's 2 x 4096, q nope 768,
 * queries 2560, latent results 2048, results 1024, 16 numbers of 4 bytes. A head of keys, 160, on
 * each. Of the index all on each: its keys before their norm 64, what it reads 256 + 64 + 4, the
 * 512 places in 4 bytes. */
static void an_index_keeps_what_it_reads_on_every_rank(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario = scenario_of(arena, sparse, NULL);
    const struct memory_job job = memory_job_of(scenario);
    const struct model *model = &scenario->model;
    const struct memory_layer_bytes of = memory_layer_of(&job.shape, model_layer(model, 0), false);
    const double halves = 4 * 1024 + 256 + 128 + 256 + 2 * 4096 + 768 + 2560 + 2048 + 1024;
    const double each = 160 + 64 + 256 + 64 + 4;
    assert_close(of.kept, 8192.0 * (2 * (halves / 2 + each) + 4 * 16 / 2.0 + 4 * 512), 1e-12);
    arena_free(arena);
}

/* One microbatch, four layers, a rank of tp 2 and cp 4. Forward and backward the keys of all 8,192
 * tokens, 160 values for all heads, and the index's 64; backward what attention saw of 512 keys, of
 * a rank's 2,048 tokens, in fp32; with a dense loss of the 4,096 that a token sees in the mean. */
static void keys_are_gathered_and_what_is_learned_summed(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    for (int is_dense = 0; is_dense < 2; is_dense++) {
        const struct step_system *system = volume_system(
            arena,
            arena_printf(arena,
                         "{scenario: index, model: tests/unit/data/mixer_index%s.yaml, cluster: "
                         "h100-3200, gpus: 16, software: megatron-2024, parallel: {tp: 2, cp: 4, "
                         "pp: 1, sequence_parallel: true, cp_type: all-gather}, batch: {global: 2, "
                         "micro: 1, sequence_length: 8192}}",
                         is_dense != 0 ? "_dense" : ""));
        const struct volume gathered = volume_of(system, 0, STREAM_CONTEXT, COLLECTIVE_ALL_GATHER);
        assert_int_equal(gathered.count, 4 * 2);
        assert_close(gathered.bytes, 8.0 * 8192 * (160 + 64) * 2, 1e-12);
        const struct volume learned = volume_of(system, 0, STREAM_TENSOR, COLLECTIVE_ALL_REDUCE);
        assert_true(learned.count >= 4);
        const double pairs = is_dense != 0 ? SEEN : 512;
        print_message("all-reduces of tp: %u, %.0f bytes\n", learned.count, learned.bytes);
        assert_close(learned.bytes, 4 * 2048.0 * pairs * 4, 0.02);
    }
    arena_free(arena);
}

/* Any layout: its sums are asserted in the program, and searches know how short it may be. */
static void a_sparse_model_runs_in_any_layout(void **state)
{
    (void)state;
    static const char *const layouts[][FIXTURE_SETS_MAX + 1] = {
        {NULL},
        {"parallel.tp=16", "recompute=full", NULL},
        {"recompute=selective", "parallel.tp=1", NULL},
        {"parallel.cp=4", "parallel.cp_type=all-gather", NULL},
        {"parallel.pp=4", "parallel.schedule=zb-h1", NULL},
        {"parallel.zero=3", "software=torchtitan-2025", "recompute=selective", NULL},
        {"precision=fp8", "software=megatron-2026", NULL},
        {"software.attention=unfused", "parallel.tp=8", NULL},
        {"lora.rank=16", NULL},
        {"optimizer.matrices=muon", NULL},
    };
    for (size_t i = 0; i < LENGTH(layouts); i++) {
        struct arena *arena = arena_new();
        const struct scenario *scenario = fixture_quickstart(arena, sparse, layouts[i]);
        const struct result *result = fixture_predict(arena, scenario);
        const double bound = (double)bound_step(scenario).step_ns / (double)result->step.step_ns;
        print_message("layout %zu: bound %.4f of the step\n", i, bound);
        assert_true(result->step.mfu > 0 && bound <= 1 && bound > 0.5);
        arena_free(arena);
    }
}

/* ---- published rates ----------------------------------------------------------------------- */

static double told_s(struct arena *arena, const char *gpu, struct kernel kernel)
{
    struct scenario *scenario = fixture_quickstart(arena, sparse, (const char *const[]){NULL});
    scenario->gpu = fixture_gpu(arena, gpu);
    const struct timing_runner runner = timing_runner_of(scenario);
    kernel.kind = KERNEL_SPARSE;
    kernel.name = "attention";
    kernel.precision = PRECISION_BF16;
    return timing_kernel(&runner, &kernel).busy_s;
}

/* Latents of 576 and 512 (or 512 and 512) in 16 bits, every query with all that may be chosen.
 * Forward as rates: FlashMLA, README.md (128 heads, 2,048 keys); as a time: H200, 2,119 tokens,
 * FlashMLA with 64 heads and TileLang's kernel with 8 (https://github.com/InternLM/lmdeploy, pull
 * request 4904). Backward: 64 heads of 512, 4,096 tokens,
 * https://github.com/NVIDIA/cudnn-frontend, pull request 318. By the rates and the last row
 * software.sparse_kernels was set; what is told over what was published is held as it stands. */
static void sparse_kernels_take_what_was_published(void **state)
{
    (void)state;
    static const struct {
        const char *gpu;
        double tokens, heads, keys, key;
        bool is_backward;
        double ms, share; /* published; told over it */
    } rows[] = {
        {"h800-sxm5-80gb", 4096, 128, 2048, 576, false, 4096 * 570.4e6 / 640e12 * 1e3, 0.9952},
        {"b200-sxm", 4096, 128, 2048, 576, false, 4096 * 570.4e6 / 1450e12 * 1e3, 0.9915},
        {"h200-sxm-141gb", 2119, 64, 2048, 576, false, 1.057, 1.2064},
        {"h200-sxm-141gb", 2119, 8, 2048, 576, false, 1.807, 0.6713},
        {"b200-sxm", 4096, 64, 512, 512, true, 1.233, 0.8860},
        {"b200-sxm", 4096, 64, 1024, 512, true, 2.155, 0.9448},
        {"b200-sxm", 4096, 64, 2048, 512, true, 4.019, 1.0133},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct arena *arena = arena_new();
        const double queries = rows[i].tokens * rows[i].heads;
        const double products =
            rows[i].is_backward ? 3 * rows[i].key + 2 * 512.0 : rows[i].key + 512.0;
        const double passes = rows[i].is_backward ? 2 : 1;
        const double gathered = rows[i].tokens * rows[i].keys * rows[i].key;
        const struct kernel kernel = {
            .is_backward = rows[i].is_backward,
            .flop = 2 * queries * rows[i].keys * products,
            .bytes = passes * queries * (rows[i].key + 512) * 2 +
                     gathered * (rows[i].is_backward ? 6 : 2),
        };
        const double share = told_s(arena, rows[i].gpu, kernel) * 1e3 / rows[i].ms;
        print_message("%s %.0f heads, %.0f keys: %.4f of the published time\n", rows[i].gpu,
                      rows[i].heads, rows[i].keys, share);
        assert_close(share, rows[i].share, 2e-4);
        arena_free(arena);
    }
}

/* ---- models of the catalogue --------------------------------------------------------------- */

/* GLM-5 744B, 40B without its two tables; DeepSeek-V3.2 671B, 37B without its embedding: 61 x
 * (1536 x 8192 + 7168 x 192 + 128) more than DeepSeek-V3 has. */
static void models_have_the_published_parameters(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model glm = fixture_model(arena, "glm-5", NULL);
    const struct parameter_count of_glm = cost_parameters(&glm);
    assert_close((double)of_glm.total, 744e9, 0.005);
    assert_close((double)(of_glm.active - of_glm.embedding - of_glm.head), 40e9, 0.01);
    const struct model v3 = fixture_model(arena, "deepseek-v3", NULL);
    const struct model v32 = fixture_model(arena, "deepseek-v3.2", NULL);
    const struct parameter_count of_v3 = cost_parameters(&v3);
    const struct parameter_count of_v32 = cost_parameters(&v32);
    assert_int_equal(of_v32.total - of_v3.total, 61 * (1536 * 8192L + 7168 * 192L + 128));
    assert_close((double)of_v32.total, 671e9, 0.005);
    arena_free(arena);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_index_has_its_projections),
        TEST(an_index_has_the_flop_of_its_pairs),
        TEST(the_loss_costs_what_megatron_counts),
        TEST(an_index_and_its_attention_execute_their_pairs),
        TEST(no_gradient_goes_through_an_index),
        TEST(an_index_keeps_what_it_reads_on_every_rank),
        TEST(keys_are_gathered_and_what_is_learned_summed),
        TEST(a_sparse_model_runs_in_any_layout),
        TEST(sparse_kernels_take_what_was_published),
        TEST(models_have_the_published_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
