/* Matrices that an optimizer updates whole: which they are, whose, and what their update takes. */
#include "base/arena.h"
#include "input/job/optimizer.h"
#include "plan/matrices.h"
#include "plan/memory/memory.h"
#include "plan/memory/memory_parameters.h"
#include "run/run.h"
#include "train/bound/bound.h"
#include "train/program/program_matrices.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/assert_close.h"
#include "support/fixture.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static struct scenario *scenario_of(struct arena *arena, const char *const *sets)
{
    return fixture_quickstart(arena, "optimizer.matrices=muon", sets);
}

/* What is in no matrix of a layer: norms of 4,096; of DeepSeek-V3 two of 7,168, those of what
 * queries (1,536) and keys (512) are compressed to, and a bias of each of 256 experts; of Qwen3 two
 * of 2,048 and, head by head, two of 128; of gpt-oss two norms of 2,880, biases of QKV (64 + 2 x 8
 * heads of 64) and projection, sinks, and biases of the router, of 128 experts' two matrices. */
static void all_but_vectors_are_matrices(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        double vectors;
    } rows[] = {
        {"llama3-8b", 2 * 4096},
        {"mixtral-8x7b", 2 * 4096},
        {"deepseek-v3", 2 * 7168 + 1536 + 512 + 256},
        {"kimi-k2", 2 * 7168 + 1536 + 512 + 384},
        {"qwen3-30b-a3b", 2 * 2048 + 2 * 128},
        {"gpt-oss-120b", 2 * 2880 + 5120 + 2880 + 64 + 128 + 128.0 * (2 * 2880 + 2880)},
    };
    struct arena *arena = arena_new();
    const struct matrix_rule rules[] = {{.steps = 5, .splits_qkv = true}, {.steps = 5}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct model model = fixture_model(arena, rows[i].model, NULL);
        const struct matrix_split split = memory_model_matrices(&model);
        const struct layer_kind *kind = model_layer(&model, model.layers - 1);
        for (size_t k = 0; k < LENGTH(rules); k++) {
            struct matrices found;
            matrices_of_layer(&split, &rules[k], kind, &found);
            const struct matrix_elements of = matrices_elements(&found);
            assert_close(of.dense + of.experts + rows[i].vectors,
                         (double)cost_layer(&model, kind).total, 1e-14);
        }
    }
    arena_free(arena);
}

/* Of Llama 3 8B: queries and projection 4,096 x 4,096, keys and values 1,024 x 4,096, gate and up
 * 28,672 x 4,096, down 4,096 x 14,336. A step of m x n takes 4 m m n + 2 m m m; in units of 4,096^3
 * these are 6 + 6, 2 x 18 / 64, 30 and 16: 58.5625, five times. */
static void a_layer_has_the_flop_of_its_products(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario =
        scenario_of(arena, (const char *const[]){"parallel.tp=1", "parallel.zero=0", NULL});
    const struct memory_job job = memory_job_of_states(scenario);
    const struct matrix_split split = memory_stage_matrices(&job.split, 0);
    struct matrices found;
    matrices_of_layer(&split, &scenario->optimizer.matrices, model_layer(&scenario->model, 0),
                      &found);
    double flop = 0, of_kernels = 0;
    for (uint32_t i = 0; i < found.count; i++) {
        struct segment segment;
        matrices_update(&scenario->optimizer, &found.items[i], &segment);
        of_kernels += cost_segment_flop(&segment);
        flop += (double)found.items[i].count *
                matrix_flop(&scenario->optimizer.matrices, &found.items[i]);
    }
    const double by_hand = 5 * 58.5625 * pow(4096, 3);
    assert_close(flop, by_hand, 1e-14);
    assert_close(of_kernels, by_hand, 1e-14);
    arena_free(arena);
}

/* Of 1,024 x 4,096 (m x n), three of them: 5 x 4 + 4 x 4 + 1 x 4 + 6 x 4 + 3 x 2 = 70 bytes a value
 * outside of products. Five times in 2 bytes: X X' reads X twice and writes m m; A A reads A three
 * times and writes one; B X reads B and X twice and writes X; copies read and write A and X. So
 * 2 m n + m m + 4 m m + m m + 3 m n + 2 m m + 2 m n = 7 m n + 8 m m values. */
static void an_update_moves_the_bytes_of_its_passes(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario = scenario_of(arena, (const char *const[]){NULL});
    const struct matrix matrix = {.rows = 4096, .columns = 1024, .count = 3};
    struct segment segment;
    matrices_update(&scenario->optimizer, &matrix, &segment);
    double bytes = 0, repeats = 0;
    for (uint32_t i = 0; i < segment.count; i++) {
        bytes += segment.kernels[i].bytes;
        repeats += (double)segment.kernels[i].repeats;
    }
    const double mn = 1024.0 * 4096, mm = 1024.0 * 1024;
    assert_close(bytes, 3 * (70 * mn + 5 * 2 * (7 * mn + 8 * mm)), 1e-14);
    assert_close(repeats, 3 * (10 + 5 * 5), 1e-14);
    arena_free(arena);
}

/* The slow twin: all matrices in a row, the largest first, one by one to ranks there and back. */
static double slow_most(const struct matrix_rule *rule, const struct matrices *all, int64_t ranks)
{
    double flop[512] = {0};
    bool is_given[MATRICES_MAX] = {false};
    int64_t position = 0;
    for (uint32_t taken = 0; taken < all->count; taken++) {
        uint32_t next = all->count;
        for (uint32_t i = 0; i < all->count; i++) {
            const bool is_larger =
                next == all->count || all->items[i].elements > all->items[next].elements;
            next = !is_given[i] && is_larger ? i : next;
        }
        is_given[next] = true;
        for (int64_t i = 0; i < all->items[next].count; i++, position++) {
            const int64_t in_turn = position % ranks;
            const int64_t rank = position / ranks % 2 == 0 ? in_turn : ranks - 1 - in_turn;
            flop[rank] += matrix_flop(rule, &all->items[next]);
        }
    }
    double most = 0;
    for (int64_t rank = 0; rank < ranks; rank++) {
        most = fmax(most, flop[rank]);
    }
    return most;
}

static double flop_of(const struct matrix_rule *rule, const struct matrices *matrices)
{
    double flop = 0;
    for (uint32_t i = 0; i < matrices->count; i++) {
        flop += (double)matrices->items[i].count * matrix_flop(rule, &matrices->items[i]);
    }
    return flop;
}

static void matrices_are_dealt_whole(void **state)
{
    (void)state;
    static const int64_t ranks[] = {1, 2, 3, 5, 8, 64, 191, 192, 193, 500};
    struct arena *arena = arena_new();
    const struct scenario *scenario =
        scenario_of(arena, (const char *const[]){"parallel.tp=1", "parallel.zero=1", NULL});
    const struct matrix_rule *rule = &scenario->optimizer.matrices;
    for (size_t i = 0; i < LENGTH(ranks); i++) {
        const struct memory_job job = memory_job_of_states(scenario);
        struct matrix_split split = memory_stage_matrices(&job.split, 0);
        split.dense_ranks = ranks[i];
        struct matrices all, own;
        matrices_of_stage(&split, rule, &all);
        matrices_dealt(&split, rule, &own);
        assert_close(flop_of(rule, &own), slow_most(rule, &all, ranks[i]), 1e-12);
        assert_true(flop_of(rule, &own) >= flop_of(rule, &all) / (double)ranks[i] * (1 - 1e-12));
    }
    arena_free(arena);
}

/* 32 layers of 218,103,808 parameters in matrices, of 8,030,261,248 in all; over eight ranks each
 * of the four shapes goes evenly, so that a rank keeps an eighth of all: 4 bytes of master weights
 * and 4 of momentum, 12 of the rest. A checkpoint has 2 bytes more of each. */
static void a_matrix_keeps_one_moment(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario = scenario_of(
        arena, (const char *const[]){"gpus=8", "parallel.tp=1", "parallel.zero=1", NULL});
    const struct memory_job job = memory_job_of(scenario);
    const double all = 8030261248.0, matrices = 32 * 218103808.0;
    const double states = (all - matrices) * 12 + matrices * 8;
    const struct memory_use use = memory_of_stage(&job, 0);
    assert_close(use.optimizer_bytes, states / 8, 1e-12);
    assert_close(memory_checkpoint_bytes(&job, NULL), 2 * all + states, 1e-12);
    arena_free(arena);
}

/* The model's FLOPs stay; the step is longer, and never shorter than searches think. Whole matrices
 * of tp 2 take longer than shards. */
static void a_step_is_longer_by_the_products(void **state)
{
    (void)state;
    static const char *const layouts[][FIXTURE_SETS_MAX + 1] = {
        {"parallel.zero=0", NULL},
        {"parallel.zero=1", NULL},
        {"parallel.tp=4", "optimizer.matrices.layout.tp=whole", NULL},
        {"parallel.pp=2", "parallel.virtual_stages=4", NULL},
        {"optimizer.matrices.layout.gradients=sharded", NULL},
        {"optimizer.matrices.layout.gather=software", NULL},
        {"model=mixtral-8x7b", "parallel.ep=8", NULL},
        {"model=nemotron-h-8b", NULL},
    };
    for (size_t i = 0; i < LENGTH(layouts); i++) {
        struct arena *arena = arena_new();
        struct scenario *scenario = scenario_of(arena, layouts[i]);
        const struct result *result = fixture_predict(arena, scenario);
        const double bound = (double)bound_step(scenario).step_ns / (double)result->step.step_ns;
        print_message("layout %zu: bound %.4f of the step\n", i, bound);
        assert_true(bound <= 1 && bound > 0.5);
        const struct memory_job job = memory_job_of_states(scenario);
        const struct timing_runner runner = timing_runner_of(scenario);
        const struct matrix_products products = program_matrix_products(&runner, &job);
        scenario->optimizer.matrices.steps = 0;
        const struct result *plain = fixture_predict(arena, scenario);
        assert_close(result->step.mfu * (double)result->step.step_ns,
                     plain->step.mfu * (double)plain->step.step_ns, 1e-12);
        assert_true((double)(result->step.step_ns - plain->step.step_ns) >=
                    0.9 * products.busy_s * 1e9);
        arena_free(arena);
    }
}

static double products_s(const char *cut)
{
    struct arena *arena = arena_new();
    const struct scenario *scenario =
        scenario_of(arena, (const char *const[]){"parallel.tp=4", cut, NULL});
    const struct memory_job job = memory_job_of_states(scenario);
    const struct timing_runner runner = timing_runner_of(scenario);
    const double busy_s = program_matrix_products(&runner, &job).busy_s;
    arena_free(arena);
    return busy_s;
}

static void whole_matrices_take_longer_than_shards(void **state)
{
    (void)state;
    const double ratio = products_s("optimizer.matrices.layout.tp=whole") /
                         products_s("optimizer.matrices.layout.tp=shards");
    print_message("%.2f times\n", ratio);
    assert_true(ratio > 3);
}

#define TEST(function) cmocka_unit_test(function)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_but_vectors_are_matrices),
        TEST(a_layer_has_the_flop_of_its_products),
        TEST(an_update_moves_the_bytes_of_its_passes),
        TEST(matrices_are_dealt_whole),
        TEST(a_matrix_keeps_one_moment),
        TEST(a_step_is_longer_by_the_products),
        TEST(whole_matrices_take_longer_than_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
