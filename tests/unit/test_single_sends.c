/* Collectives as single messages against coupled flows, on an idle fabric.
 *
 * Ports of 512 B/ns inside a node and of 64 B/ns between nodes, buffers of 2^k bytes: times are
 * whole nanoseconds, so that nothing is rounded. */
#include "train/single_sends.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "des/fluid.h"
#include "support/assert_close.h"
#include "support/collective_case.h"

static const double MIB = 1024.0 * 1024.0;

/* One leaf joins everything unless a test says otherwise. */
static const struct cluster one_leaf = {
    .gpus_per_node = 8,
    .scale_up_kind = SCALE_UP_NVSWITCH,
    .scale_up_bytes_per_s = 512e9,
    .scale_up_efficiency = 1,
    .scale_up_latency_s = 1e-6,
    .domain_nodes = 1,
    .nics_per_node = 8,
    .nic_bytes_per_s = 64e9,
    .nic_efficiency = 1,
    .nic_latency_s = 5e-6,
    .fabric_kind = FABRIC_TREE,
    .routing = ROUTING_ADAPTIVE,
    .ecmp_paths = 1,
    .nodes_per_leaf = 64,
    .oversubscription = 1,
    .pod_oversubscription = 1,
    .uplink_bytes_per_s = 64e9,
    .hop_latency_s = 1e-6,
    .storage_write_bytes_per_s = 100e9,
    .storage_read_bytes_per_s = 100e9,
    .storage_node_bytes_per_s = 10e9,
};
static const struct gpu gpu = {.host_link_bytes_per_s = 25e9};

struct rig {
    struct arena *arena;
    struct cluster cluster;
    struct fabric fabric;
    struct collective_group group;
    uint32_t *gpus;
};

/* All GPUs of `nodes` nodes. */
static void rig_init(struct rig *rig, const struct cluster *cluster, uint32_t nodes,
                     uint32_t per_node)
{
    rig->arena = arena_new();
    rig->cluster = *cluster;
    rig->cluster.gpus_per_node = per_node;
    rig->cluster.nics_per_node = per_node;
    fabric_init(&rig->fabric, rig->arena, &rig->cluster, &gpu, nodes * per_node, 1);
    rig->group = collective_group_of(rig->arena, nodes, per_node);
    rig->gpus = arena_array(rig->arena, nodes * per_node, sizeof *rig->gpus);
    for (uint32_t i = 0; i < nodes * per_node; i++) {
        rig->gpus[i] = i;
    }
}

/* ---- the coupled flow, in doubles ------------------------------------------------------- */

struct coupled {
    struct rig *rig;
    double *loads; /* bytes by link */
    double bytes;
};

static void load_links(void *context, uint32_t from, uint32_t to, double share)
{
    struct coupled *coupled = context;
    struct fabric_route route;
    fabric_trace_begin(&coupled->rig->fabric);
    fabric_trace_send(&coupled->rig->fabric, from, to, FLUID_USAGE_ONE);
    fabric_trace_end(&coupled->rig->fabric, &route);
    for (uint32_t i = 0; i < route.count; i++) {
        coupled->loads[route.crossings[i].link] +=
            share * coupled->bytes * (double)route.crossings[i].usage / FLUID_USAGE_ONE;
    }
}

/* Adds a phase's loads; the busiest link's time so far. */
static double busiest_ns(struct coupled *coupled, enum collective_operation operation,
                         enum collective_algorithm algorithm, uint32_t phase, double bytes)
{
    const struct collective_visitor visitor = {coupled, 0, load_links, NULL, NULL};
    coupled->bytes = bytes;
    collective_edges(coupled->rig->arena, operation, algorithm, &coupled->rig->group, phase,
                     &visitor);
    double most = 0;
    for (uint32_t i = 0; i < coupled->rig->fabric.link_count; i++) {
        const double time =
            coupled->loads[i] * 1e9 / (double)fabric_link_capacity(&coupled->rig->fabric, i);
        most = time > most ? time : most;
    }
    return most;
}

static double *loads_new(struct rig *rig)
{
    return arena_array(rig->arena, rig->fabric.link_count, sizeof(double));
}

static double coupled_ns(struct rig *rig, enum collective_operation operation,
                         enum collective_algorithm algorithm, double bytes,
                         const struct single_sends_options *options)
{
    struct collective_phase phases[COLLECTIVE_PHASES_MAX];
    const uint32_t count = collective_phases(operation, algorithm, &rig->group, bytes, phases);
    assert_true(count > 0);
    double time = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct coupled coupled = {rig, loads_new(rig), 0};
        time += (double)phases[i].rounds_intra * (double)options->latency_intra_ns +
                (double)phases[i].rounds_inter * (double)options->latency_inter_ns +
                busiest_ns(&coupled, operation, algorithm, i, phases[i].bytes);
    }
    return time;
}

static sim_time single_ns(struct rig *rig, enum collective_operation operation,
                          enum collective_algorithm algorithm, double bytes, uint32_t pieces,
                          const struct single_sends_options *options)
{
    struct single_sends_result result;
    const struct single_sends_work work = {&rig->group, rig->gpus, operation,
                                           algorithm,   bytes,     pieces};
    assert_true(single_sends_run(rig->arena, &rig->fabric, &work, options, &result));
    return result.end;
}

/* ---- agreement ---------------------------------------------------------------------------- */

static const struct single_sends_options no_latency = {.has_latency = true};
static const struct single_sends_options equal_latencies = {
    .has_latency = true, .latency_intra_ns = 1000, .latency_inter_ns = 1000};
static const struct single_sends_options two_latencies = {
    .has_latency = true, .latency_intra_ns = 1000, .latency_inter_ns = 5000};

struct agreement {
    enum collective_operation operation;
    enum collective_algorithm algorithm;
    uint32_t nodes, per_node;
    const struct single_sends_options *options;
};

/* Of k messages that share a port each gets a k-th of its rate, rounded down to a byte per
 * second: all-to-alls may end a nanosecond late. */
static const struct agreement in_rounds[] = {
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 1, 8, &equal_latencies},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 16, 1, &two_latencies},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_MULTI_RAIL_RING, 1, 8, &equal_latencies},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_MULTI_RAIL_RING, 16, 1, &two_latencies},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_HALVING_DOUBLING, 1, 8, &two_latencies},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_HALVING_DOUBLING, 4, 8, &two_latencies},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_HALVING_DOUBLING, 4, 8, &two_latencies},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_HALVING_DOUBLING, 16, 1, &two_latencies},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_HIERARCHICAL, 4, 8, &two_latencies},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_HIERARCHICAL, 2, 8, &two_latencies},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_HIERARCHICAL, 8, 4, &two_latencies},
    {COLLECTIVE_ALL_GATHER, ALGORITHM_PAT, 16, 1, &two_latencies},
    {COLLECTIVE_REDUCE_SCATTER, ALGORITHM_PAT, 16, 1, &two_latencies},
    {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 1, 8, &two_latencies},
    {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 4, 8, &two_latencies},
    {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 8, 1, &two_latencies},
    {COLLECTIVE_SEND, ALGORITHM_DIRECT, 2, 1, &two_latencies},
    {COLLECTIVE_SEND, ALGORITHM_DIRECT, 1, 2, &two_latencies},
    {COLLECTIVE_BARRIER, ALGORITHM_RING, 1, 8, &two_latencies},
    {COLLECTIVE_BARRIER, ALGORITHM_HALVING_DOUBLING, 2, 8, &two_latencies},
};

/* 64 MiB over 8, 16 or 32 ranks; the exact time, in whole nanoseconds. */
static void algorithms_in_rounds_agree_with_their_phases_to_the_nanosecond(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof in_rounds / sizeof in_rounds[0]; i++) {
        const struct agreement *which = &in_rounds[i];
        struct rig rig;
        rig_init(&rig, &one_leaf, which->nodes, which->per_node);
        const double coupled =
            coupled_ns(&rig, which->operation, which->algorithm, 64 * MIB, which->options);
        const sim_time single =
            single_ns(&rig, which->operation, which->algorithm, 64 * MIB, 1, which->options);
        const double late = which->operation == COLLECTIVE_ALL_TO_ALL ? 1 : 0;
        assert_true((double)single >= coupled && (double)single <= coupled + late);
        arena_free(rig.arena);
    }
}

static const struct agreement pipelined[] = {
    {COLLECTIVE_BROADCAST, ALGORITHM_RING, 1, 8, &no_latency},
    {COLLECTIVE_BROADCAST, ALGORITHM_RING, 4, 4, &no_latency},
    {COLLECTIVE_REDUCE, ALGORITHM_RING, 8, 1, &no_latency},
    {COLLECTIVE_BROADCAST, ALGORITHM_MULTI_RAIL_RING, 4, 4, &no_latency},
    {COLLECTIVE_REDUCE, ALGORITHM_MULTI_RAIL_RING, 2, 8, &no_latency},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, 1, 8, &no_latency},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, 2, 8, &no_latency},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, 8, 4, &no_latency},
    {COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, 16, 1, &no_latency},
    {COLLECTIVE_BROADCAST, ALGORITHM_TREE, 8, 4, &no_latency},
    {COLLECTIVE_REDUCE, ALGORITHM_TREE, 8, 1, &no_latency},
};

/* A pipeline of P pieces that takes P + d rounds has d beside the P that move the bytes:
 * P/(P + d) <= coupled / single <= 1. In a double tree over 16 ports the rounds of neighbours
 * get out of step, and a port is then idle now and then: up to a tenth more, however many the
 * pieces. */
static void check_pipeline(const struct agreement *which, uint32_t pieces)
{
    struct rig rig;
    rig_init(&rig, &one_leaf, which->nodes, which->per_node);
    struct collective_script script;
    assert_true(collective_script(which->operation, which->algorithm, &rig.group, pieces, &script));
    const double coupled =
        coupled_ns(&rig, which->operation, which->algorithm, 64 * MIB, which->options);
    const double single = (double)single_ns(&rig, which->operation, which->algorithm, 64 * MIB,
                                            pieces, which->options);
    /* Each message ends at a whole nanosecond. */
    assert_true(single >= coupled * (1 - 1e-9));
    const double idle = which->algorithm == ALGORITHM_TREE ? 1.1 : 1;
    assert_true(single <= idle * coupled * script.rounds / pieces + script.rounds);
    arena_free(rig.arena);
}

static void pipelined_algorithms_agree_up_to_their_filling(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pipelined / sizeof pipelined[0]; i++) {
        for (uint32_t pieces = 4; pieces <= 1024; pieces *= 16) {
            check_pipeline(&pipelined[i], pieces);
        }
    }
}

/* A broadcast down a chain of 8 in 16 pieces: 7 + 15 rounds of 64 MiB / 16 / 512 B/ns = 8192 ns,
 * and 1 us on each of the last piece's 7 hops: the pieces before it are under way meanwhile. */
static void a_chain_takes_a_round_per_piece_and_a_latency_per_hop(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &one_leaf, 1, 8);
    assert_int_equal(
        single_ns(&rig, COLLECTIVE_BROADCAST, ALGORITHM_RING, 64 * MIB, 16, &equal_latencies),
        22 * 8192 + 7 * 1000);
    arena_free(rig.arena);
}

/* ---- rings over nodes -----------------------------------------------------------------------
 *
 * K nodes of m ranks, N = K m; buffer S, so that a part is S/N; NVLink hops have latency a, those
 * between nodes b > a. A pass has N - 1 rounds, an all-reduce two passes: R rounds. With one pace
 * for all hops, c for a part, hop i's message of round r leaves when (1) hop i's of round r - 1 has
 * left: c later; (2) what it hands on has come in: c and the latency of hop i - 1 later. The last
 * arrival is the longest such way: each of its R messages takes c, and most latency lies on the
 * way that goes on in every round, over R hops in a row:
 *
 *     R c + max sum of R latencies in a row
 *
 * A ring has K hops between nodes. N - 1 hops in a row leave one out, an NVLink hop if there is one
 * (m > 1): K b + (N - 1 - K) a. 2 (N - 1) leave out two in a row: of m > 2 both NVLink hops,
 * 2 K b + (2 (N - 1) - 2 K) a; of m = 2 one each: (2 K - 1) b + (2 K - 1) a. (Were both ends of a
 * message held for its latency, it would be R (c + b).)
 *
 * NCCL's model, and so the coupled flow, counts K - 1 hops between nodes a pass: the single sends
 * end up to a pass' b - a later, whatever the size. */
static sim_time ring_ns(uint32_t nodes, uint32_t per_node, uint32_t passes, sim_time part_ns,
                        sim_time a, sim_time b)
{
    const sim_time rounds = (sim_time)passes * (nodes * per_node - 1);
    sim_time inter = (sim_time)passes * nodes;
    inter -= per_node == 2 && passes == 2 ? 1 : 0;
    inter = per_node == 1 ? rounds : nodes == 1 ? 0 : inter;
    return rounds * part_ns + inter * b + (rounds - inter) * a;
}

/* What LL, LL128 and Simple make of it: latencies, and a pace of 64, 32, 8 B/ns at the NIC (of the
 * ring on one rail) or at all 8 together. */
static const struct {
    sim_time a, b;
    int64_t bytes_per_ns;
} protocols[] = {{600, 2700, 8}, {1900, 4000, 32}, {3400, 14000, 64}};

static void check_ring(enum collective_operation operation, enum collective_algorithm algorithm,
                       uint32_t nodes, uint32_t per_node, double bytes)
{
    const uint32_t passes = operation == COLLECTIVE_ALL_REDUCE ? 2 : 1;
    const int64_t rounds = (int64_t)passes * (nodes * per_node - 1);
    for (size_t i = 0; i < sizeof protocols / sizeof protocols[0]; i++) {
        struct rig rig;
        rig_init(&rig, &one_leaf, nodes, per_node);
        const int64_t part_ns = (int64_t)bytes / (nodes * per_node) / protocols[i].bytes_per_ns;
        const struct single_sends_options options = {.has_latency = true,
                                                     .latency_intra_ns = protocols[i].a,
                                                     .latency_inter_ns = protocols[i].b,
                                                     .start_ns = 20000,
                                                     .pace_ns = rounds * part_ns};
        assert_int_equal(
            single_ns(&rig, operation, algorithm, bytes, 1, &options),
            20000 + ring_ns(nodes, per_node, passes, part_ns, protocols[i].a, protocols[i].b));
        arena_free(rig.arena);
    }
}

static void a_ring_takes_its_bytes_and_the_latencies_of_a_parts_way(void **state)
{
    (void)state;
    static const struct {
        uint32_t nodes, per_node;
    } shapes[] = {{1, 8}, {2, 8}, {4, 8}, {16, 8}, {8, 2}, {4, 4}, {16, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (double bytes = MIB; bytes <= 1024 * MIB; bytes *= 32) {
            const uint32_t nodes = shapes[i].nodes, per_node = shapes[i].per_node;
            check_ring(COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, nodes, per_node, bytes);
            check_ring(COLLECTIVE_ALL_GATHER, ALGORITHM_RING, nodes, per_node, bytes);
            check_ring(COLLECTIVE_REDUCE_SCATTER, ALGORITHM_RING, nodes, per_node, bytes);
            check_ring(COLLECTIVE_ALL_REDUCE, ALGORITHM_MULTI_RAIL_RING, nodes, per_node, bytes);
        }
    }
}

/* 4 nodes of 8, 64 MiB, each hop at its own rate: a part of 2 MiB takes 32,768 ns over a NIC of
 * 64 B/ns, 4,096 over NVLink. The NIC is never idle: 62 parts in turn, and the last one's latency:
 * 62 x 32,768 + 5,000; all the others' are behind it. */
static void a_ring_without_a_pace_hides_latencies_behind_its_slow_hop(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &one_leaf, 4, 8);
    assert_int_equal(
        single_ns(&rig, COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 64 * MIB, 1, &two_latencies),
        62 * 32768 + 5000);
    arena_free(rig.arena);
}

/* ---- where one averaged usage per link would be wrong ------------------------------------------
 *
 * 16 nodes of one GPU, 8 on a leaf; halving-doubling of S = 64 MiB over NICs of 64 B/ns. Only
 * the phases of distance 8, the first and the last, cross leaves, each with S/2 from every
 * rank: 8 ranks share up-links of 8/o NICs, S/2 o / 64. The other phases move S/4 ... S/16 and
 * back at the speed of the NIC. So 2 (o/2 + 1/4 + 1/8 + 1/16) S/64 B/ns:
 *   1:1   1.875 S/64 = 1,966,080 ns     2:1   2.875 S/64 = 3,014,656 ns
 *   7:1   7.875 S/64 = 8,257,536 ns
 * One flow with all phases' usages averaged loads the up-links with 8 S over 8/o NICs while each
 * NIC carries 1.875 S, and takes the larger: 2:1 2.0, 7:1 7.0 S/64: as if the phases inside the
 * leaves went on meanwhile. */
static double averaged_ns(struct rig *rig, double bytes)
{
    struct collective_phase phases[COLLECTIVE_PHASES_MAX];
    const uint32_t count = collective_phases(COLLECTIVE_ALL_REDUCE, ALGORITHM_HALVING_DOUBLING,
                                             &rig->group, bytes, phases);
    struct coupled coupled = {rig, loads_new(rig), 0};
    double time = 0;
    for (uint32_t i = 0; i < count; i++) {
        time = busiest_ns(&coupled, COLLECTIVE_ALL_REDUCE, ALGORITHM_HALVING_DOUBLING, i,
                          phases[i].bytes);
    }
    return time;
}

static void phases_of_halving_doubling_have_routes_of_their_own(void **state)
{
    (void)state;
    static const struct {
        double oversubscription, phases_ns, averaged_ns;
    } expected[] = {{1, 1966080, 1966080}, {2, 3014656, 2097152}, {7, 8257536, 7340032}};
    for (size_t i = 0; i < 3; i++) {
        struct cluster cluster = one_leaf;
        cluster.nodes_per_leaf = 8;
        cluster.oversubscription = expected[i].oversubscription;
        struct rig rig;
        rig_init(&rig, &cluster, 16, 1);
        const double coupled = coupled_ns(&rig, COLLECTIVE_ALL_REDUCE, ALGORITHM_HALVING_DOUBLING,
                                          64 * MIB, &no_latency);
        const sim_time single = single_ns(&rig, COLLECTIVE_ALL_REDUCE, ALGORITHM_HALVING_DOUBLING,
                                          64 * MIB, 1, &no_latency);
        /* 1/7 of 512 GB/s is not a whole number of bytes per second. */
        assert_close(coupled, expected[i].phases_ns, 1e-9);
        assert_close((double)single, expected[i].phases_ns, 1e-6);
        assert_close(averaged_ns(&rig, 64 * MIB), expected[i].averaged_ns, 1e-9);
        arena_free(rig.arena);
    }
}

/* ---- the mechanism ------------------------------------------------------------------------- */

/* 2(N-1) rounds of N messages of S/N: 2(N-1) S bytes in all. */
static void a_ring_sends_the_known_messages_and_bytes(void **state)
{
    (void)state;
    struct rig rig;
    struct single_sends_result result;
    rig_init(&rig, &one_leaf, 2, 4);
    const struct single_sends_work work = {&rig.group,     rig.gpus, COLLECTIVE_ALL_REDUCE,
                                           ALGORITHM_RING, MIB,      1};
    assert_true(single_sends_run(rig.arena, &rig.fabric, &work, NULL, &result));
    assert_int_equal(result.messages, 14 * 8);
    assert_close(result.bytes, 14 * MIB, 1e-15);
    arena_free(rig.arena);
}

/* A send between neighbours of one leaf takes the fabric's latency of a message, and 1 MiB at
 * 64 B/ns, 16,384 ns; one rank alone takes no time; switches that reduce have no slow form. */
static void latency_is_the_fabrics_unless_told_otherwise(void **state)
{
    (void)state;
    struct rig rig;
    struct fabric_route route;
    struct single_sends_result result;
    rig_init(&rig, &one_leaf, 2, 1);
    fabric_trace_begin(&rig.fabric);
    fabric_trace_send(&rig.fabric, 0, 1, FLUID_USAGE_ONE);
    fabric_trace_end(&rig.fabric, &route);
    const sim_time latency = sim_time_from_s(fabric_message_s(&rig.fabric, &route, NULL));
    assert_true(latency >= 5000);
    assert_int_equal(single_ns(&rig, COLLECTIVE_SEND, ALGORITHM_DIRECT, MIB, 1, NULL),
                     latency + 16384);
    const struct single_sends_work sharp = {&rig.group,      rig.gpus, COLLECTIVE_ALL_REDUCE,
                                            ALGORITHM_SHARP, MIB,      1};
    assert_false(single_sends_run(rig.arena, &rig.fabric, &sharp, NULL, &result));
    arena_free(rig.arena);
    rig_init(&rig, &one_leaf, 1, 1);
    assert_int_equal(single_ns(&rig, COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, MIB, 1, NULL), 0);
    arena_free(rig.arena);
}

/* Of 64 B/ns between nodes a library reaches a half, of 512 B/ns within one a quarter: 1 MiB takes
 * 32,768 and 8,192 ns, also where one switch alone is between the nodes. */
static void a_library_reaches_its_share_of_each_kind_of_link(void **state)
{
    (void)state;
    const struct single_sends_options options = {
        .has_latency = true, .share_inter = 0.5, .share_intra = 0.25};
    struct rig rig;
    rig_init(&rig, &one_leaf, 2, 1);
    assert_int_equal(single_ns(&rig, COLLECTIVE_SEND, ALGORITHM_DIRECT, MIB, 1, &options), 32768);
    arena_free(rig.arena);
    rig_init(&rig, &one_leaf, 1, 2);
    assert_int_equal(single_ns(&rig, COLLECTIVE_SEND, ALGORITHM_DIRECT, MIB, 1, &options), 8192);
    arena_free(rig.arena);
}

/* ---- another simulator's rules --------------------------------------------------------------
 *
 * ASTRA-sim's (shared/peers_measured.md, section 2): a ring all-reduce of 1 GiB, split c times in
 * sequence, s = S/c/N:
 *   c [2(N-1) floor(500 + s/B) + 3(N-1) floor(s/1600) + 10 (2N-1)] ns, B = 53.6870912 B/ns:
 * every hop 500 ns and the bytes at B; each reduced message three passes of local memory at
 * 1600 B/ns; 10 ns before the first hop and after each. */
static sim_time by_the_peers_rules(uint32_t ranks, uint32_t splits)
{
    static const struct single_sends_options rules = {.has_latency = true,
                                                      .latency_inter_ns = 500,
                                                      .overhead_ns = 10,
                                                      .rate_bytes_per_ns = 53.6870912,
                                                      .reduce_passes = 3,
                                                      .memory_bytes_per_ns = 1600};
    struct arena *arena = arena_new();
    const struct collective_group group = collective_group_of(arena, ranks, 1);
    struct single_sends_result result;
    const struct single_sends_work work = {
        &group, NULL, COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 1024 * MIB / splits, 1};
    assert_true(single_sends_run(arena, NULL, &work, &rules, &result));
    arena_free(arena);
    return splits * result.end;
}

static void a_ring_by_the_rules_of_a_peer_has_the_peers_time(void **state)
{
    (void)state;
    assert_int_equal(by_the_peers_rules(8, 1), 36768756);
    assert_int_equal(by_the_peers_rules(64, 1), 41420935);
    assert_int_equal(by_the_peers_rules(512, 1), 42450824);
    assert_int_equal(by_the_peers_rules(8, 4), 36790164);
    assert_int_equal(by_the_peers_rules(64, 4), 41613556);
    assert_int_equal(by_the_peers_rules(512, 4), 44009404);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(algorithms_in_rounds_agree_with_their_phases_to_the_nanosecond),
        cmocka_unit_test(pipelined_algorithms_agree_up_to_their_filling),
        cmocka_unit_test(a_chain_takes_a_round_per_piece_and_a_latency_per_hop),
        cmocka_unit_test(a_ring_takes_its_bytes_and_the_latencies_of_a_parts_way),
        cmocka_unit_test(a_ring_without_a_pace_hides_latencies_behind_its_slow_hop),
        cmocka_unit_test(phases_of_halving_doubling_have_routes_of_their_own),
        cmocka_unit_test(a_ring_sends_the_known_messages_and_bytes),
        cmocka_unit_test(a_library_reaches_its_share_of_each_kind_of_link),
        cmocka_unit_test(latency_is_the_fabrics_unless_told_otherwise),
        cmocka_unit_test(a_ring_by_the_rules_of_a_peer_has_the_peers_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
