/* Mixers as lists of operators: attention written so is attention, to the byte and nanosecond; and
 * sums by hand of a scan's parameters, FLOPs, kernels, memory and cuts. */
#include "base/arena.h"
#include "plan/cost.h"
#include "plan/memory/memory_job.h"
#include "plan/memory/memory_layer.h"
#include "run/run.h"
#include "train/bound/bound.h"
#include "train/timing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/assert_close.h"
#include "support/fixture.h"
#include "support/segments.h"
#include "support/volume.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Layouts, software and precisions that attention's C asks about. */
static const char *const settings[][FIXTURE_SETS_MAX + 1] = {
    {NULL},
    {"parallel.tp=4", NULL},
    {"parallel.tp=16", NULL},
    {"parallel.tp=4", "parallel.sequence_parallel=false", NULL},
    {"recompute=full", NULL},
    {"recompute=selective", NULL},
    {"recompute=selective", "software=torchtitan-2025", "parallel.zero=3", NULL},
    {"precision=fp8", NULL},
    {"precision=fp8", "software=torchtitan-2025", "parallel.zero=3", "recompute=selective", NULL},
    {"precision=fp8", "software=megatron-2026", "recompute=selective", "parallel.tp=4", NULL},
    {"parallel.cp=2", NULL},
    {"parallel.cp=2", "parallel.cp_type=ring", NULL},
    {"parallel.cp=2", "parallel.cp_type=ulysses", NULL},
    {"parallel.pp=4", "parallel.schedule=zb-h1", NULL},
    {"software.attention=unfused", "parallel.tp=8", "batch.sequence_length=2048", NULL},
    {"lora.rank=16", NULL},
    {"gpu=h200-sxm-141gb", "parallel.tp=1", NULL},
};

static void assert_same_kernels(const struct segment *one, const struct segment *other)
{
    assert_int_equal(one->count, other->count);
    for (uint32_t i = 0; i < one->count; i++) {
        struct kernel a = one->kernels[i];
        struct kernel b = other->kernels[i];
        assert_string_equal(a.name, b.name);
        a.name = b.name = NULL;
        assert_memory_equal(&a, &b, sizeof a);
    }
}

static void assert_same_segments(const struct scenario *one, const struct scenario *other)
{
    const struct cost_shape a = timing_shape(one, 0);
    const struct cost_shape b = timing_shape(other, 0);
    for (uint32_t i = 0; i < SEGMENT_COUNT_; i++) {
        struct segment *segments = calloc(2, sizeof *segments);
        assert_non_null(segments);
        cost_segment(&a, (enum segment_kind)i, &segments[0]);
        cost_segment(&b, (enum segment_kind)i, &segments[1]);
        assert_same_kernels(&segments[0], &segments[1]);
        free(segments);
    }
}

static void assert_same_memory(const struct scenario *one, const struct scenario *other)
{
    const struct memory_job a = memory_job_of(one);
    const struct memory_job b = memory_job_of(other);
    for (int is_full = 0; is_full < 2; is_full++) {
        const struct memory_layer_bytes of_a =
            memory_layer_of(&a.shape, &one->model.kinds[0], is_full != 0);
        const struct memory_layer_bytes of_b =
            memory_layer_of(&b.shape, &other->model.kinds[0], is_full != 0);
        assert_memory_equal(&of_a, &of_b, sizeof of_a);
    }
}

/* The same operators by C that knows attention, and by what a file says of them: kernels,
 * parameters, memory, FLOPs and the step are equal, not near. */
static void attention_of_operators_is_attention(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(settings); i++) {
        struct arena *arena = arena_new();
        const struct scenario *known = fixture_quickstart(arena, "model=llama3-8b", settings[i]);
        const struct scenario *told =
            fixture_quickstart(arena, "model=tests/unit/data/mixer_gqa.yaml", settings[i]);
        assert_non_null(told->model.kinds[0].mixer);
        assert_same_segments(known, told);
        assert_same_memory(known, told);
        const struct parameter_count a = cost_parameters(&known->model);
        const struct parameter_count b = cost_parameters(&told->model);
        assert_memory_equal(&a, &b, sizeof a);
        const struct result *of_known = fixture_predict(arena, known);
        const struct result *of_told = fixture_predict(arena, told);
        assert_int_equal(of_known->step.step_ns, of_told->step.step_ns);
        assert_true(of_known->step.step_ns > 0);
        assert_memory_equal(&of_known->step.memory.worst, &of_told->step.memory.worst,
                            sizeof of_told->step.memory.worst);
        assert_true(of_known->step.mfu == of_told->step.mfu);
        arena_free(arena);
    }
}

/* ---- a scan ------------------------------------------------------------------------------- */

static const char ssm[] = "model=tests/unit/data/mixer_ssm.yaml";

/* in 1024 x (2048 z + 2048 x + 512 B + 512 C + 16 dt) = 5,259,264; convolution 3,072 x (4 + 1) =
 * 15,360; three numbers a head 48; norm of all 2,048; out 2,048 x 1,024; norm of the layer 1,024.
 * Attention: 4 x 1024 x 1024 + 1,024; MLP: 2 x 1024 x 4096 + 1,024. */
static void a_layer_has_the_parameters_of_its_branch(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model *model = &fixture_quickstart(arena, ssm, (const char *const[]){NULL})->model;
    assert_int_equal(model->kind_count, 3);
    const struct layer_count scan = cost_layer(model, model_layer(model, 0));
    assert_int_equal(scan.total, 5259264 + 15360 + 48 + 2048 + 2097152 + 1024);
    assert_int_equal(scan.replicated, 1024);
    assert_int_equal(cost_layer(model, model_layer(model, 1)).total, 2 * 1024L * 4096 + 1024);
    assert_int_equal(cost_layer(model, model_layer(model, 3)).total, 4 * 1024L * 1024 + 1024);
    const struct parameter_count count = cost_parameters(model);
    assert_int_equal(count.total, 4 * scan.total + 2 * (2 * 1024L * 4096 + 1024) +
                                      2 * (4 * 1024L * 1024 + 1024) + 2 * 32000L * 1024 + 1024);
    arena_free(arena);
}

/* The letters M - M * come again: 4 scans, 2 MLPs, 2 of attention. */
static void letters_say_which_layer_is_what(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model *model = &fixture_quickstart(arena, ssm, (const char *const[]){NULL})->model;
    static const char *const names[] = {"ssm", "dense", "ssm", "attention"};
    for (int64_t i = 0; i < model->layers; i++) {
        const struct layer_kind *kind = model_layer(model, i);
        assert_string_equal(kind->name, names[i % 4]);
        assert_true(layer_mixes(kind) == (i % 4 != 1));
        assert_true(layer_scans(kind) == (i % 2 == 0));
        assert_true(layer_attends(kind) == (i % 4 == 3));
        assert_true(layer_is_dense(kind) == (i % 4 == 1));
    }
    arena_free(arena);
}

/* A state of 64 x 128 in 16 heads, 7 FLOP a number: 917,504 a token; the convolution 2 x 4 x 3,072;
 * matrices 2 x (5,259,264 + 2,097,152). */
static void a_scan_has_the_flop_of_its_recurrence(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model *model = &fixture_quickstart(arena, ssm, (const char *const[]){NULL})->model;
    const struct layer_flop flop = cost_layer_flop(model, model_layer(model, 0), 8192);
    assert_close(flop.scan, 917504 + 24576, 1e-12);
    assert_close(flop.attention_linear, 2.0 * (5259264 + 2097152), 1e-12);
    assert_close(flop.core_causal + flop.mlp, 0.0, 1e-12);
    assert_close(cost_token_flop(model, 8192).core_full,
                 4 * (917504 + 24576) + 2 * 4.0 * 8192 * 1024, 1e-12);
    arena_free(arena);
}

/* 8 heads a rank (tp 2), 8,192 tokens, chunks of 128, K 64, V 128, a group for two heads:
 * 128 K + 256 V + 4 K V = 73,728 FLOP forward; 2 K / 2 + 3 V + 2 K V / 128 + 1 = 577 values of
 * 2 bytes. Backward: twice that and the states 2 K V once more; three times the values. */
static void a_scan_executes_its_chunks(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario = fixture_quickstart(arena, ssm, (const char *const[]){NULL});
    const struct cost_shape shape = timing_shape(scenario, model_kind(&scenario->model, 0));
    struct segment segment;
    cost_segment(&shape, SEGMENT_ATTENTION_CORE, &segment);
    const struct kernel *scan = segment_find(&segment, "scan");
    assert_int_equal(scan->kind, KERNEL_SCAN);
    assert_close(scan->flop, 8.0 * 8192 * 73728, 1e-12);
    assert_close(scan->bytes, 8.0 * 8192 * 577 * 2, 1e-12);
    cost_segment(&shape, SEGMENT_ATTENTION_CORE_BACKWARD, &segment);
    scan = segment_find(&segment, "scan backward");
    assert_close(scan->flop, 8.0 * 8192 * (2 * 73728 + 2 * 64 * 128), 1e-12);
    assert_close(scan->bytes, 8.0 * 8192 * 3 * 577 * 2, 1e-12);
    arena_free(arena);
}

/* Of 16 ranks each has one of the 16 heads and one of the 8 groups, every second a copy: its scores
 * are its own. 2 x 128 K + 2 x 128 V + 4 K V = 81,920; 2 K + 3 V + 2 K V / 128 + 1 = 641. */
static void a_rank_computes_the_scores_of_copied_keys(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario =
        fixture_quickstart(arena, ssm, (const char *const[]){"parallel.tp=16", NULL});
    const struct cost_shape shape = timing_shape(scenario, model_kind(&scenario->model, 0));
    struct segment segment;
    cost_segment(&shape, SEGMENT_ATTENTION_CORE, &segment);
    const struct kernel *scan = segment_find(&segment, "scan");
    assert_int_equal(scan->count, 1);
    assert_close(scan->flop, 8192.0 * 81920, 1e-12);
    assert_close(scan->bytes, 8192.0 * 641 * 2, 1e-12);
    arena_free(arena);
}

static double scan_s(const char *precision)
{
    struct arena *arena = arena_new();
    const struct scenario *scenario = fixture_quickstart(
        arena, ssm,
        (const char *const[]){precision, "software=megatron-2026", "gpu=b200-sxm", NULL});
    const struct timing_runner runner = timing_runner_of(scenario);
    const struct cost_shape shape = timing_shape(scenario, model_kind(&scenario->model, 0));
    struct segment segment;
    cost_segment(&shape, SEGMENT_ATTENTION_CORE, &segment);
    const double busy_s = timing_kernel(&runner, segment_find(&segment, "scan")).busy_s;
    arena_free(arena);
    return busy_s;
}

/* There are no kernels of scans in fewer bits: whatever products are in. */
static void a_scan_is_in_16_bits(void **state)
{
    (void)state;
    assert_close(scan_s("precision=fp8"), scan_s("precision=bf16"), 1e-12);
    assert_close(scan_s("precision=nvfp4"), scan_s("precision=bf16"), 1e-12);
}

/* A mixer's rotation is its own: the model's positions are those of attention without operators. */
static void a_rotation_that_is_listed_is_done(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    static const char *const sets[] = {"model.positions=none", NULL};
    const struct scenario *told =
        fixture_quickstart(arena, "model=tests/unit/data/mixer_gqa.yaml", sets);
    const struct scenario *known = fixture_quickstart(arena, "model=llama3-8b", sets);
    const struct cost_shape with = timing_shape(told, 0);
    const struct cost_shape without = timing_shape(known, 0);
    struct segment of_with, of_without;
    cost_segment(&with, SEGMENT_ATTENTION, &of_with);
    cost_segment(&without, SEGMENT_ATTENTION, &of_without);
    assert_int_equal(of_with.count, of_without.count + 1);
    segment_find(&of_with, "rotary");
    arena_free(arena);
}

/* Megatron-LM's count of a hybrid (training/training.py, hybrid_flops), forward, of
 * a token; 24 scans, 24 MLPs and 4 of attention, 8,192 long, half of the mask:
 *     scans      2 x 4096 x (2 x 8192 + 2 x 8 x 128 + 128) + 7 x 8192 x 128 + 2 x 8192 x 4096
 *     attention  4 x 4096 x (4096 + 1024) + 2 x 4096 x 8192
 *     MLP        4 x 4096 x 21504, and the vocabulary's 2 x 4096 x 131072
 * and the convolutions, which it leaves out: 2 x 4 x (8192 + 2 x 8 x 128). */
static void a_hybrid_has_the_flop_that_megatron_counts(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model model = fixture_model(arena, "nemotron-h-8b", NULL);
    const struct token_flop flop = cost_token_flop(&model, 8192);
    const double scan = 2.0 * 4096 * (2 * 8192 + 2048 + 128) + 7.0 * 8192 * 128 +
                        2.0 * 8192 * 4096 + 2.0 * 4 * (8192 + 2048);
    const double attention = 4.0 * 4096 * (4096 + 1024) + 2.0 * 4096 * 8192;
    const double mlp = 4.0 * 4096 * 21504;
    assert_close(flop.linear + flop.core_causal, 24 * scan + 4 * attention + 24 * mlp, 1e-12);
    assert_close(flop.logits, 2.0 * 4096 * 131072, 1e-12);
    arena_free(arena);
}

/* On a rank of two: in 1,024 x 2,568, out 1,024 x 1,024, forward 2, backward 4 FLOP a weight. */
static void projections_are_cut_by_heads(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario = fixture_quickstart(arena, ssm, (const char *const[]){NULL});
    const struct cost_shape shape = timing_shape(scenario, model_kind(&scenario->model, 0));
    struct segment segment;
    cost_segment(&shape, SEGMENT_ATTENTION, &segment);
    assert_int_equal(segment_find(&segment, "in")->n, 2568);
    assert_int_equal(segment_find(&segment, "out")->k, 1024);
    assert_int_equal(segment.count, 5);
    cost_segment(&shape, SEGMENT_ATTENTION_DGRAD, &segment);
    assert_int_equal(segment_find(&segment, "in dgrad")->k, 2568);
    cost_segment(&shape, SEGMENT_ATTENTION_INNER_WGRAD, &segment);
    assert_int_equal(segment_find(&segment, "out wgrad")->n, 1024);
    static const enum segment_kind empty[] = {SEGMENT_MLP, SEGMENT_MLP_PRE,
                                              SEGMENT_MLP_PRE_BACKWARD, SEGMENT_MLP_WGRAD};
    for (size_t i = 0; i < LENGTH(empty); i++) {
        cost_segment(&shape, empty[i], &segment);
        assert_int_equal(segment.count, 0);
    }
    arena_free(arena);
}

/* Kept of a token, by two ranks: the norm's input and output 2 x 1,024; x, B, C before the
 * convolution 3,072 and behind it with dt 3,088; result and z 4,096; the normed result 2,048. */
static void a_scan_keeps_what_its_operators_read(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario = fixture_quickstart(arena, ssm, (const char *const[]){NULL});
    const struct memory_job job = memory_job_of(scenario);
    const struct model *model = &scenario->model;
    const struct memory_layer_bytes of = memory_layer_of(&job.shape, model_layer(model, 0), false);
    assert_close(of.kept, 8192.0 * 2 / 2 * (2048 + 3072 + 3088 + 4096 + 2048), 1e-12);
    arena_free(arena);
}

/* Qwen3.5 27B's delta layers, by two ranks: the norms' inputs and outputs 4 x 5,120, gate, up and
 * product 3 x 17,408; queries, keys, values before the convolution 10,240 and the first two behind
 * it 4,096; what the scan reads 10,336 and its inverse 48 x 64; its result and gate 12,288; the
 * normed result 6,144. */
static void a_delta_layer_keeps_what_its_operators_read(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario =
        fixture_quickstart(arena, "model=qwen3.5-27b", (const char *const[]){NULL});
    const struct memory_job job = memory_job_of(scenario);
    const struct memory_layer_bytes of =
        memory_layer_of(&job.shape, model_layer(&scenario->model, 0), false);
    const double own = 10240 + 4096 + 10336 + 48 * 64 + 12288 + 6144;
    assert_close(of.kept, 8192.0 * 2 / 2 * (4 * 5120 + 3 * 17408 + own), 1e-12);
    arena_free(arena);
}

/* The whole of a step is booked: its own assertions hold with any layout; and searches know how
 * short it may be at least. */
static void a_hybrid_runs_in_any_layout(void **state)
{
    (void)state;
    static const char *const layouts[][FIXTURE_SETS_MAX + 1] = {
        {NULL},
        {"parallel.tp=8", "recompute=full", NULL},
        {"recompute=selective", NULL},
        {"parallel.cp=4", NULL},
        {"parallel.cp=4", "parallel.cp_type=ring", NULL},
        {"parallel.cp=4", "parallel.cp_type=ulysses", "parallel.tp=1", NULL},
        {"parallel.pp=4", "parallel.schedule=zb-h1", NULL},
        {"parallel.zero=3", "software=torchtitan-2025", "recompute=selective", NULL},
        {"precision=fp8", "software=megatron-2026", NULL},
        {"lora.rank=16", NULL},
    };
    for (size_t i = 0; i < LENGTH(layouts); i++) {
        struct arena *arena = arena_new();
        const struct scenario *scenario = fixture_quickstart(arena, ssm, layouts[i]);
        const struct result *result = fixture_predict(arena, scenario);
        const double bound = (double)bound_step(scenario).step_ns / (double)result->step.step_ns;
        print_message("layout %zu: bound %.4f of the step\n", i, bound);
        assert_true(result->step.mfu > 0 && bound <= 1 && bound > 0.5);
        arena_free(arena);
    }
}

/* ---- what context parallelism sends --------------------------------------------------------- */

static struct step_system *context_system(struct arena *arena, const char *cp_type)
{
    return volume_system(
        arena,
        arena_printf(arena,
                     "{scenario: states, model: tests/unit/data/mixer_ssm.yaml, cluster: "
                     "h100-3200, gpus: 16, software: megatron-2024, parallel: {tp: 2, cp: 4, "
                     "pp: 1, sequence_parallel: true, cp_type: %s}, batch: {global: 2, "
                     "micro: 1, sequence_length: 8192}}",
                     cp_type));
}

/* One microbatch; four layers of scans, two of attention, forward and backward each once. A rank's
 * state: 8 heads of 64 x 128 numbers and how they fade, 4 bytes each, gathered of four ranks. Of
 * attention all 8,192 tokens' keys and values, 8 heads of 64 and 64, 2 bytes each. */
static void states_are_passed_along(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct volume gathered =
        volume_of(context_system(arena, "all-gather"), 0, STREAM_CONTEXT, COLLECTIVE_ALL_GATHER);
    assert_int_equal(gathered.count, 4 * 2 + 2 * 2);
    assert_close(gathered.bytes, 8.0 * 4 * 8 * (64 * 128 + 1) * 4 + 4.0 * 8192 * 8 * 128 * 2,
                 1e-12);
    const struct step_system *ring = context_system(arena, "ring");
    assert_int_equal(volume_of(ring, 0, STREAM_CONTEXT, COLLECTIVE_ALL_GATHER).count, 4 * 2);
    assert_int_equal(volume_of(ring, 0, STREAM_CONTEXT, COLLECTIVE_SHIFT).count, 2 * (3 + 7));
    arena_free(arena);
}

/* A rank's 2,048 tokens: C and B of 4 heads of 64, x of 8 of 128, 8 gates there, 8 x 128 back; of
 * attention 8 heads of 64, with keys and values of 64 and 64 there, 8 x 64 back. */
static void ulysses_deals_what_scans_read_and_write(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct volume dealt =
        volume_of(context_system(arena, "ulysses"), 0, STREAM_CONTEXT, COLLECTIVE_ALL_TO_ALL);
    const double scans = 4 * 2.0 * (256 + 256 + 1024 + 8 + 1024);
    const double attention = 2 * 2.0 * (8 * 64 + 8 * 128 + 8 * 64);
    assert_int_equal(dealt.count, 6 * 4);
    assert_close(dealt.bytes, (scans + attention) * 2048 * 2, 1e-12);
    arena_free(arena);
}

/* ---- published times of kernels ------------------------------------------------------------ */

/* The H20 is no GPU of the catalogue: an H200 with its rates. */
static void take_gpu(struct arena *arena, struct scenario *scenario, const char *name)
{
    const bool is_h20 = strcmp(name, "h20") == 0;
    scenario->gpu = fixture_gpu(arena, is_h20 ? "h200-sxm-141gb" : name);
    if (is_h20) {
        scenario->gpu.peak_flop_per_s[PRECISION_BF16] = 148e12;
        scenario->gpu.memory_bandwidth_bytes_per_s = 4.0e12;
    }
}

/* Forward, 8,192 tokens, heads of 128, milliseconds, flash-linear-attention 0.4.2: by kinds of the
 * file gated delta rule, with a gate for each value of the keys (KDA), linear with a fixed decay
 * (lightning). By the first seven software.scan_kernels was set: the last two alone test it. What
 * is told over what was published, `share`, is held as it stands: none of it moves unseen. H20:
 * https://github.com/MoonshotAI/FlashKDA, BENCHMARK_H20.md; the others:
 * https://github.com/inclusionAI/cuLA, BENCHMARK_H200.md, _GB200.md, _GB300.md. */
static void scans_take_what_was_published(void **state)
{
    (void)state;
    static const struct {
        const char *gpu;
        double heads;
        uint32_t kind;
        double ms, share;
    } rows[] = {
        {"h20", 96, 0, 3.1985, 0.9842},           {"h20", 64, 0, 2.0062, 1.0461},
        {"h20", 96, 1, 4.8388, 1.0349},           {"h20", 64, 1, 3.1659, 1.0545},
        {"h200-sxm-141gb", 64, 1, 1.819, 1.1395}, {"gb200-nvl72", 64, 1, 1.392, 0.8213},
        {"gb300-nvl72", 64, 1, 1.401, 0.8699},    {"gb200-nvl72", 64, 2, 0.331, 1.0373},
        {"gb300-nvl72", 64, 2, 0.314, 1.1646},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct arena *arena = arena_new();
        struct scenario *scenario =
            fixture_quickstart(arena, "model=tests/unit/data/mixer_delta.yaml",
                               (const char *const[]){"parallel.tp=1", NULL});
        take_gpu(arena, scenario, rows[i].gpu);
        const struct timing_runner runner = timing_runner_of(scenario);
        const struct cost_shape shape = timing_shape(scenario, rows[i].kind);
        struct segment segment;
        cost_segment(&shape, SEGMENT_ATTENTION_CORE, &segment);
        struct kernel scan = *segment_find(&segment, "scan");
        scan.flop *= rows[i].heads / 96;
        scan.bytes *= rows[i].heads / 96;
        const double told_ms = timing_kernel(&runner, &scan).busy_s * 1e3;
        print_message("%s %.0f heads, kind %u: %.4f of the published time\n", rows[i].gpu,
                      rows[i].heads, rows[i].kind, told_ms / rows[i].ms);
        assert_close(told_ms / rows[i].ms, rows[i].share, 2e-4);
        arena_free(arena);
    }
}

/* ---- models of the catalogue --------------------------------------------------------------- */

/* Total as the hub counts a checkpoint's decoder, or as its makers say (their words: `share` of it
 * off at most); active as they say: with the embeddings, without the table that is looked up, or
 * without either table, each rounded to a thousand million. Of Falcon-H1 the norms of states are 1
 * in 100,000. Of GLM-4.5 multi-token prediction is apart, with two tables of its own: 161 x 3 x
 * 5120 x 1536 + 160 x 5121 of experts, 136,339,712 of attention and norms, 2 x 5120 x 5120 + 3 x
 * 5120, and 2 x 151552 x 5120. Gemma 4 26B-A4B is 50 GB in 16 bits. */
static const struct {
    const char *name;
    double total, share;
    int active; /* of 1e9; 0: it is dense */
} published[] = {
    {"nemotron-h-8b", 8.101e9, 2e-5, 0},
    {"nemotron-h-56b", 56.0e9, 0.01, 0},
    {"nemotron-3-nano-30b-a3b", 31.6e9, 0.005, 3},
    {"qwen3-next-80b-a3b", 79674391296.0, 0.005, 3},
    {"qwen3.5-397b-a17b", 397e9, 0.01, 17},
    {"qwen3.5-122b-a10b", 122e9, 0.01, 10},
    {"qwen3.5-35b-a3b", 35e9, 0.01, 3},
    {"qwen3.5-27b", 27e9, 0.01, 0},
    {"kimi-linear-48b-a3b", 49.123e9, 1e-5, 3},
    {"granite-4.0-h-small", 32207337984.0, 1e-12, 9},
    {"falcon-h1-34b", 33.643e9, 1.5e-5, 0},
    {"mimo-v2-flash", 309e9, 0.01, 15},
    {"glm-4.5", 358337791296.0 - 5539962272.0, 1e-12, 32},
    {"olmo-3-32b", 32233522176.0, 1e-12, 0},
    {"gemma-4-31b", 31e9, 0.01, 0},
    {"gemma-4-26b-a4b", 25e9, 0.01, 4},
    {"minimax-m2", 228689764864.0, 1e-5, 10},
    {"hunyuan-a13b", 80e9, 0.01, 13},
};

static void models_have_the_published_parameters(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(published); i++) {
        struct arena *arena = arena_new();
        const struct model model = fixture_model(arena, published[i].name, NULL);
        const struct parameter_count count = cost_parameters(&model);
        assert_close((double)count.total, published[i].total, published[i].share);
        const int64_t tables[] = {0, count.embedding, count.embedding + count.head};
        bool is_right = published[i].active == 0 && count.active == count.total;
        for (size_t k = 0; k < LENGTH(tables); k++) {
            is_right =
                is_right || lround((double)(count.active - tables[k]) / 1e9) == published[i].active;
        }
        assert_true(is_right);
        arena_free(arena);
    }
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(attention_of_operators_is_attention),
        TEST(a_layer_has_the_parameters_of_its_branch),
        TEST(letters_say_which_layer_is_what),
        TEST(a_scan_has_the_flop_of_its_recurrence),
        TEST(a_scan_executes_its_chunks),
        TEST(a_rank_computes_the_scores_of_copied_keys),
        TEST(a_scan_is_in_16_bits),
        TEST(a_rotation_that_is_listed_is_done),
        TEST(a_hybrid_has_the_flop_that_megatron_counts),
        TEST(projections_are_cut_by_heads),
        TEST(a_scan_keeps_what_its_operators_read),
        TEST(a_delta_layer_keeps_what_its_operators_read),
        TEST(a_hybrid_runs_in_any_layout),
        TEST(states_are_passed_along),
        TEST(ulysses_deals_what_scans_read_and_write),
        TEST(scans_take_what_was_published),
        TEST(models_have_the_published_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
