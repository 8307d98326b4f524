/* One meaning for latency (hw/fabric.h): a message between nodes takes nics.latency and that of
 * the switches on its way, and every round of a collective between nodes is a message. What a
 * millisecond more on each adds is counted here by hand.
 */
#include "base/arena.h"
#include "train/collective_run.h"
#include "train/step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hw/fabric.h"
#include "support/assert_close.h"
#include "support/fixture.h"

enum { NODES = 16, PER_NODE = 8, SIZES = 3 };
static const double MORE_S = 1e-3;
static const double sizes[SIZES] = {1024.0, 1048576.0, 1073741824.0};

/* Rounds between K = 16 nodes that follow one another; 0: the pair does not cross nodes or is not
 * offered there. `alone`: with one rank a node. From the papers that collective.h names:
 *   ring             K - 1 borders a pass; an all-reduce makes two passes
 *   tree             log2 K = 4 up, as many down; a broadcast's root sends to a tree of the other
 *                    15 nodes, of depth 3
 *   halving-doubling log2 K = 4 distances cross nodes, twice
 *   hierarchical     the ring of K ranks
 *   sharp            up and down the switches
 *   pat              log2 K = 4
 *   direct           one */
struct rounds {
    enum collective_operation operation;
    enum collective_algorithm algorithm;
    uint32_t full, alone;
};
static const struct rounds table[] = {
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 30, 30},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_MULTI_RAIL_RING, 30, 30},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, 8, 8},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_HALVING_DOUBLING, 8, 8},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_HIERARCHICAL, 30, 0},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_NVLS_TREE, 8, 0},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_SHARP, 2, 2},
    {COLLECTIVE_BARRIER, ALGORITHM_RING, 30, 30},
    {COLLECTIVE_BARRIER, ALGORITHM_MULTI_RAIL_RING, 30, 30},
    {COLLECTIVE_BARRIER, ALGORITHM_TREE, 8, 8},
    {COLLECTIVE_BARRIER, ALGORITHM_HALVING_DOUBLING, 8, 8},
    {COLLECTIVE_BARRIER, ALGORITHM_HIERARCHICAL, 30, 0},
    {COLLECTIVE_BARRIER, ALGORITHM_NVLS_TREE, 8, 0},
    {COLLECTIVE_BARRIER, ALGORITHM_SHARP, 2, 2},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_RING, 15, 15},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_MULTI_RAIL_RING, 15, 15},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_HALVING_DOUBLING, 4, 4},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_HIERARCHICAL, 15, 0},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_PAT, 0, 4},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_RING, 15, 15},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_MULTI_RAIL_RING, 15, 15},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_HALVING_DOUBLING, 4, 4},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_HIERARCHICAL, 15, 0},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_PAT, 0, 4},
    {COLLECTIVE_BROADCAST, ALGORITHM_RING, 15, 15},
    {COLLECTIVE_BROADCAST, ALGORITHM_MULTI_RAIL_RING, 15, 15},
    {COLLECTIVE_BROADCAST, ALGORITHM_TREE, 4, 4},
    {COLLECTIVE_REDUCE, ALGORITHM_RING, 15, 15},
    {COLLECTIVE_REDUCE, ALGORITHM_MULTI_RAIL_RING, 15, 15},
    {COLLECTIVE_REDUCE, ALGORITHM_TREE, 4, 4},
    {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 1, 1},
    {COLLECTIVE_SHIFT, ALGORITHM_DIRECT, 1, 1},
};

static uint32_t rounds_of(enum collective_operation operation, enum collective_algorithm algorithm,
                          bool is_alone)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].operation == operation && table[i].algorithm == algorithm) {
            return is_alone ? table[i].alone : table[i].full;
        }
    }
    return 0;
}

/* 16 nodes of 8 H100 below one leaf a rail, so one switch is on each way; switches reduce. */
struct bench {
    struct arena *arena;
    struct scenario *scenario;
    struct fabric fabric;
    struct transfer_setting setting;
    struct group_shape shape;
};

static struct bench *bench_new(const char *set, bool is_alone)
{
    struct arena *arena = arena_new();
    struct bench *bench = arena_alloc(arena, sizeof *bench);
    const char *const sets[] = {"cluster.fabric.in_network_reduction=true", set};
    bench->arena = arena;
    bench->scenario =
        fixture_scenario(arena, &(struct fixture_source){.path = "scenarios/study-fabric-70b.yaml",
                                                         .sets = sets,
                                                         .set_count = set != NULL ? 2 : 1});
    fabric_init(&bench->fabric, arena, &bench->scenario->cluster, &bench->scenario->gpu,
                NODES * PER_NODE, 1);
    bench->setting = (struct transfer_setting){.arena = arena,
                                               .fabric = &bench->fabric,
                                               .library = &bench->scenario->library,
                                               .architecture = bench->scenario->gpu.architecture};
    const uint32_t stride = is_alone ? PER_NODE : 1;
    uint32_t *gpus = arena_array(arena, NODES * PER_NODE, sizeof *gpus);
    uint32_t count = 0;
    for (uint32_t gpu = 0; gpu < NODES * PER_NODE; gpu += stride) {
        gpus[count++] = gpu;
    }
    group_shape_init(&bench->setting, gpus, count, &bench->shape);
    return bench;
}

/* Both quoted and simulated alone; false when not offered. */
static bool price(struct bench *bench, const struct collective_choice *pair,
                  enum collective_operation operation, double bytes, double *quoted_s,
                  double *simulated_s)
{
    struct transfer_quote quote;
    if (!transfer_price(&bench->setting, &bench->shape, operation, bytes,
                        (enum collective_algorithm)pair->algorithm,
                        (enum collective_protocol)pair->protocol, &quote)) {
        return false;
    }
    *quoted_s = quote.time_s;
    bench->shape.forced = *pair;
    struct collective_outcome outcome;
    collective_run(&bench->setting, &bench->shape, operation, bytes, &outcome);
    *simulated_s = outcome.time_s;
    return true;
}

/* The same offers with both, `set` adding a millisecond to a message. How many were compared. */
static uint32_t compare(const char *set, bool is_alone)
{
    struct bench *usual = bench_new(NULL, is_alone);
    struct bench *later = bench_new(set, is_alone);
    uint32_t compared = 0;
    for (uint32_t i = 0; i < COLLECTIVE_OPERATION_COUNT_ * ALGORITHM_COUNT_ * PROTOCOL_COUNT_;
         i++) {
        const enum collective_operation operation = i / (ALGORITHM_COUNT_ * PROTOCOL_COUNT_);
        const struct collective_choice pair = {i / PROTOCOL_COUNT_ % ALGORITHM_COUNT_,
                                               i % PROTOCOL_COUNT_};
        const double more_s = MORE_S * rounds_of(operation, pair.algorithm, is_alone);
        for (uint32_t k = 0; k < SIZES; k++) {
            const double bytes = operation == COLLECTIVE_BARRIER ? 0.0 : sizes[k];
            double quoted_s[2], simulated_s[2];
            const bool is_offered =
                price(usual, &pair, operation, bytes, &quoted_s[0], &simulated_s[0]);
            assert_int_equal(is_offered,
                             price(later, &pair, operation, bytes, &quoted_s[1], &simulated_s[1]));
            if (is_offered) {
                assert_close(quoted_s[1] - quoted_s[0], more_s, 1e-9);
                assert_true(fabs(simulated_s[1] - simulated_s[0] - more_s) < 1e-7);
                compared++;
            }
        }
    }
    arena_free(usual->arena);
    arena_free(later->arena);
    return compared;
}

/* As many as the table has rounds between nodes of, each with what Hopper has of it: LL, LL128 and
 * Simple of a ring and what is like it or a tree, Simple of switches and pat, LL and Simple of
 * direct. */
static uint32_t offers_of(bool is_alone)
{
    struct bench *bench = bench_new(NULL, is_alone);
    const struct scenario *scenario = bench->scenario;
    const struct library_architecture *hopper =
        &scenario->library.architectures[scenario->gpu.architecture];
    uint32_t offers = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        for (uint32_t p = 0; p < PROTOCOL_COUNT_; p++) {
            const bool is_there = (is_alone ? table[i].alone : table[i].full) > 0;
            offers += is_there && hopper->costs[table[i].algorithm][p].is_offered ? 1 : 0;
        }
    }
    arena_free(bench->arena);
    assert_true(offers >= 60);
    return offers;
}

static void every_algorithm_pays_each_round_between_nodes_once(void **state)
{
    (void)state;
    assert_int_equal(compare("cluster.nics.latency=1010 us", false), offers_of(false) * SIZES);
    assert_int_equal(compare("cluster.nics.latency=1010 us", true), offers_of(true) * SIZES);
}

/* One switch on each way: 0.5 us become 1000.5 us. */
static void a_switch_is_on_the_way_of_every_round(void **state)
{
    (void)state;
    const char *const later = "cluster.fabric.hop_latency=1000.5 us";
    assert_int_equal(compare(later, false), offers_of(false) * SIZES);
    assert_int_equal(compare(later, true), offers_of(true) * SIZES);
}

/* A send pays the same once, and what the library's software adds on this network as well:
 * 10 + 22 us and one switch of 0.5 us; inside a node the 3.4 us of NVLink. */
static void a_send_is_a_message_too(void **state)
{
    (void)state;
    struct bench *bench = bench_new("cluster.nics.round_latency=22 us", false);
    struct fabric_route route;
    fabric_trace_begin(&bench->fabric);
    fabric_trace_send(&bench->fabric, 0, PER_NODE, FLUID_USAGE_ONE);
    fabric_trace_end(&bench->fabric, &route);
    assert_close(fabric_message_s(&bench->fabric, &route, NULL), 32.5e-6, 1e-12);
    fabric_trace_begin(&bench->fabric);
    fabric_trace_send(&bench->fabric, 0, 1, FLUID_USAGE_ONE);
    fabric_trace_end(&bench->fabric, &route);
    assert_close(fabric_message_s(&bench->fabric, &route, NULL), 3.4e-6, 1e-12);
    arena_free(bench->arena);
}

/* The library's rounds have 10 us of a message in them. With 4 us it is 6 less, and one of LL,
 * 2.7 us and 0.5 of a switch, is at its end: nothing, and no less with 0. */
static void a_round_is_never_less_than_nothing(void **state)
{
    (void)state;
    static const char *const sets[] = {"cluster.nics.latency=10 us", "cluster.nics.latency=4 us",
                                       "cluster.nics.latency=0 us"};
    static const double expected_us[][2] = {{3.2, 14.5}, {0.0, 8.5}, {0.0, 4.5}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct bench *bench = bench_new(sets[i], false);
        struct transfer_quote ll, simple;
        assert_true(transfer_price(&bench->setting, &bench->shape, COLLECTIVE_ALL_REDUCE, 1024,
                                   ALGORITHM_RING, PROTOCOL_LL, &ll));
        assert_true(transfer_price(&bench->setting, &bench->shape, COLLECTIVE_ALL_GATHER, 1024,
                                   ALGORITHM_RING, PROTOCOL_SIMPLE, &simple));
        assert_true(fabs(1e6 * ll.round_inter_s - expected_us[i][0]) < 1e-9);
        assert_close(1e6 * simple.round_inter_s, expected_us[i][1], 1e-9);
        arena_free(bench->arena);
    }
}

static double step_s(const char *latency)
{
    struct arena *arena = arena_new();
    const char *const sets[] = {latency};
    struct scenario *scenario = fixture_scenario(
        arena, &(struct fixture_source){
                   .path = "scenarios/quickstart.yaml", .sets = sets, .set_count = 1});
    const struct step_request request = {.folds = true};
    struct step_result result;
    step_simulate(arena, scenario, &request, &result);
    const double seconds = sim_time_to_s(result.step_ns);
    arena_free(arena);
    return seconds;
}

/* Llama 3 8B on 8 nodes, tp 2 and dp 32 with a sharded optimizer: all that crosses nodes are
 * collectives. What overlaps hides a message's 10 us; 10 ms, at least two rounds of which no
 * backward is behind (the last reduce-scatter, the first all-gather: 7 borders of nodes each at
 * least in a ring, 1 in any algorithm), do not vanish. */
static void a_step_of_collectives_alone_feels_the_latency(void **state)
{
    (void)state;
    const double none_s = step_s("cluster.nics.latency=0 us");
    const double usual_s = step_s("cluster.nics.latency=10 us");
    const double far_s = step_s("cluster.nics.latency=10 ms");
    assert_true(none_s <= usual_s);
    assert_true(far_s >= usual_s + 2 * 10e-3);
}

static double two_stages_s(const char *latency, uint32_t microbatches)
{
    struct arena *arena = arena_new();
    const char *text =
        arena_printf(arena,
                     "model: llama2-7b\ncluster: h100-3200\ngpus: 16\nsoftware: megatron-2024\n"
                     "precision: bf16\nparallel: {tp: 8, pp: 2, dp: 1, schedule: gpipe}\n"
                     "batch: {global: %u, micro: 1, sequence_length: 2048}\n",
                     microbatches);
    const char *const sets[] = {latency};
    struct scenario *scenario = fixture_scenario(
        arena, &(struct fixture_source){.text = text, .sets = sets, .set_count = 1});
    const struct step_request request = {.folds = true};
    struct step_result result;
    step_simulate(arena, scenario, &request, &result);
    const double seconds = sim_time_to_s(result.step_ns);
    arena_free(arena);
    return seconds;
}

/* Two nodes, one stage on each; all forwards, then all backwards. 100 ms more: the second stage
 * begins so much later, the first one's backwards once more, and at the end the norm of the
 * gradients is summed over both nodes by a tree, up and down: 4 x 100 ms, for any number of
 * microbatches, as sends of successive ones are on the way together. */
static void successive_sends_are_on_the_way_together(void **state)
{
    (void)state;
    for (uint32_t microbatches = 8; microbatches <= 32; microbatches *= 2) {
        const double near_s = two_stages_s("cluster.nics.latency=10 us", microbatches);
        const double far_s = two_stages_s("cluster.nics.latency=100010 us", microbatches);
        assert_true(fabs(far_s - near_s - 4 * 100e-3) < 1e-8);
    }
}

/* Two nodes, one stage on each. 8,192 tokens of 4,096 values of two bytes are 67 MB, of which
 * each of eight ranks sends its part by its own port of 50 GB/s, staged or not: more than half of
 * that is left, and the port out of the sender is the first link that binds. Beside it 10.5 us of
 * latency. */
static void a_message_alone_takes_its_latency_and_its_bytes(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct fixture_source source = {
        .text = "model: llama3-8b\ncluster: h100-3200\ngpus: 16\nsoftware: megatron-2025\n"
                "parallel: {tp: 8, pp: 2, zero: 1, sequence_parallel: true}\n"
                "batch: {global: 16, micro: 1, sequence_length: 8192}\n"};
    struct step_result result;
    step_simulate(arena, fixture_scenario(arena, &source), &(struct step_request){.folds = true},
                  &result);
    int64_t messages = 0;
    for (uint32_t i = 0; i < result.traffic_count; i++) {
        const struct traffic_use *use = &result.traffic[i];
        if (strcmp(use->operation, "send") != 0) {
            continue;
        }
        messages += use->count;
        assert_close(use->rank_bytes, 8192 * 4096 * 2 / 8, 1e-12);
        assert_close(use->latency_s, 10.5e-6, 1e-9);
        assert_true(use->alone_s - use->latency_s > use->rank_bytes / 50e9);
        assert_true(use->alone_s - use->latency_s < use->rank_bytes / 25e9);
        assert_ptr_equal(strstr(use->bottleneck, "NIC out, node "), use->bottleneck);
    }
    assert_int_equal(messages, 16 + 1); /* of the stage that has most: each kind by itself */
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_pays_each_round_between_nodes_once),
        cmocka_unit_test(a_switch_is_on_the_way_of_every_round),
        cmocka_unit_test(a_send_is_a_message_too),
        cmocka_unit_test(a_round_is_never_less_than_nothing),
        cmocka_unit_test(a_step_of_collectives_alone_feels_the_latency),
        cmocka_unit_test(a_message_alone_takes_its_latency_and_its_bytes),
        cmocka_unit_test(successive_sends_are_on_the_way_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
