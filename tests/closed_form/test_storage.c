/* What moves to and from storage, against sums done by hand and against the engine's other ways to
 * the same end: every node built, a whole step around it. Quickstart: 64 H100 on 8 nodes, tp 2,
 * dp 32, ZeRO 1; here a node has 10 GB/s and the file system 100 GB/s. */
#include "run/checkpoint.h"
#include "run/storage.h"
#include "run/survivors.h"

#include "base/arena.h"
#include "plan/checkpoint_roles.h"
#include "plan/memory/memory.h"
#include "train/step.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/assert_close.h"
#include "support/fixture.h"

enum { SETS_MAX = 16, JOBS = 8 };

static struct scenario *resolve(struct arena *arena, const char *file,
                                const char *const sets[SETS_MAX])
{
    return fixture_file(arena, file, sets);
}

static struct scenario *quickstart(struct arena *arena, const char *network, const char *write)
{
    const char *const sets[SETS_MAX] = {"cluster.storage.read=100 GB/s",
                                        "cluster.storage.per_node=10 GB/s", write, network,
                                        "cluster.nics.bandwidth=10 Tbps"};
    return resolve(arena, "scenarios/quickstart.yaml", sets);
}

#define OWN "cluster.storage.network=own"
#define SLOW_WRITES "cluster.storage.write=50 GB/s"

static const uint32_t all_alike[64];

/* Eight jobs of 64 GPUs, one beside the other, read from one file system. One alone has its nodes'
 * 80 GB/s: 1 TB in 12.5 s. Together each has an eighth of 100 GB/s: a job that reads half a TB ends
 * after 40 s; the others have half a TB left, 3.5 TB at 100 GB/s: 75 s. */
static void eight_jobs_read_from_one_file_system(void **state)
{
    const char *const networks[] = {OWN, "cluster.storage.network=fabric"};
    for (uint32_t n = 0; n < 2; n++) {
        const struct scenario *scenario = quickstart(*state, networks[n], SLOW_WRITES);
        const double whole = 1e12 / 64;
        const double half = whole / 2;
        struct storage_move moves[JOBS];
        sim_time ends[JOBS];
        for (uint32_t i = 0; i < JOBS; i++) {
            moves[i] = (struct storage_move){
                scenario, STORAGE_READ, all_alike, i == 0 ? &half : &whole, 8 * i, NULL};
        }
        storage_run(*state, &moves[1], 1, &ends[1]);
        assert_close(sim_time_to_s(ends[1]), 12.5, 1e-9);
        storage_run(*state, moves, JOBS, ends);
        assert_close(sim_time_to_s(ends[0]), 40, 1e-8);
        for (uint32_t i = 1; i < JOBS; i++) {
            assert_close(sim_time_to_s(ends[i]), 75, 1e-8);
        }
    }
}

/* A file system that reads at 100 GB/s or writes at 50 GB/s: 0.75 TB are read in 7.5 s and written
 * in 15 s; at once its servers need 22.5 s for both. Each has a rate of 100 / 3 GB/s until then.
 * Four nodes' links, 10 GB/s for what goes in and out, hold nobody up: 4 x 10 GB/s against
 * 66.7 GB/s would, eight do not. */
static void readers_and_writers_share_the_servers(void **state)
{
    const struct scenario *scenario = quickstart(*state, OWN, SLOW_WRITES);
    const double bytes = 0.75e12 / 64;
    const struct storage_move moves[] = {{scenario, STORAGE_READ, all_alike, &bytes, 0, NULL},
                                         {scenario, STORAGE_FLUSH, all_alike, &bytes, 8, NULL}};
    sim_time ends[2];
    storage_run(*state, &moves[1], 1, &ends[1]);
    assert_close(sim_time_to_s(ends[1]), 15, 1e-9);
    storage_run(*state, moves, 2, ends);
    assert_close(sim_time_to_s(ends[0]), 22.5, 1e-7);
    assert_close(sim_time_to_s(ends[1]), 22.5, 1e-7);
}

/* On the same nodes they share the nodes' links, too: 8 x 10 GB/s for 1.5 TB both ways. */
static void readers_and_writers_share_a_nodes_link(void **state)
{
    struct scenario *scenario = quickstart(*state, OWN, SLOW_WRITES);
    scenario->cluster.storage_write_bytes_per_s = 1e12;
    scenario->cluster.storage_read_bytes_per_s = 1e12;
    const double bytes = 0.75e12 / 64;
    const struct storage_move moves[] = {{scenario, STORAGE_READ, all_alike, &bytes, 0, NULL},
                                         {scenario, STORAGE_FLUSH, all_alike, &bytes, 0, NULL}};
    sim_time ends[2];
    storage_run(*state, moves, 2, ends);
    assert_close(sim_time_to_s(ends[0]), 1.5e12 / 80e9, 1e-9);
    assert_int_equal(ends[0], ends[1]);
}

/* After a restart each of 64 ranks reads the weights of half the model, 8.03 GB, and a 32nd of the
 * states of that half, 6 x 8.03e9 / 32 = 1.506 GB: 610 GB through 8 x 10 GB/s. With ZeRO 3 every
 * byte is read once: 112.4 GB. With NICs that hold nobody up it is the same over the fabric, where
 * every rank is there. */
static void a_restart_reads_what_every_rank_holds(void **state)
{
    const double parameters = 8.03e9;
    const struct scenario *scenario = quickstart(*state, OWN, SLOW_WRITES);
    const double restore_s = checkpoint_restore_s(*state, scenario, CHECKPOINT_SHARED, 0);
    assert_close(restore_s, 64 * (parameters + 6 * parameters / 32) / 80e9, 1e-3);
    const struct scenario *beside =
        quickstart(*state, "cluster.storage.network=fabric", SLOW_WRITES);
    assert_close(checkpoint_restore_s(*state, beside, CHECKPOINT_SHARED, 0), restore_s, 1e-9);
    struct scenario *sharded = quickstart(*state, OWN, SLOW_WRITES);
    sharded->parallel.zero = 3;
    assert_close(checkpoint_restore_s(*state, sharded, CHECKPOINT_SHARED, 0),
                 14 * parameters / 80e9, 1e-3);
}

/* Two tiers: 112.4 GB on the drives of 8 nodes, 5 GB/s to write and 20 GB/s to read of each. A
 * blocking checkpoint takes bytes / 40 GB/s, to the file system it would take bytes / 50 GB/s: here
 * drives are the slower. From there it goes on at 50 GB/s, the file system's, while restarted ranks
 * read the one before: 610 GB at 160 GB/s from the drives, 80 GB/s through nodes' links else. Both
 * at once share the drives' reads, and no node's link. */
static void two_tiers_of_checkpoints(void **state)
{
    const char *const sets[SETS_MAX] = {
        "cluster.storage.read=100 GB/s",      "cluster.storage.write=50 GB/s",
        "cluster.storage.per_node=10 GB/s",   "cluster.storage.local_write=5 GB/s",
        "cluster.storage.local_read=20 GB/s", "run.checkpoint.to=local",
        "run.checkpoint.mode=blocking"};
    const struct scenario *scenario = resolve(*state, "scenarios/quickstart.yaml", sets);
    const struct memory_job memory = memory_job_of(scenario);
    const double bytes = memory_checkpoint_bytes(&memory, NULL);
    assert_close(checkpoint_persist_s(*state, scenario, bytes), bytes / 40e9, 1e-6);
    assert_close(checkpoint_drain_s(*state, scenario, bytes), bytes / 50e9, 1e-6);
    const double restore_s = checkpoint_restore_s(*state, scenario, CHECKPOINT_LOCAL, 0);
    const double held = 64 * (8.03e9 + 6 * 8.03e9 / 32);
    assert_close(restore_s, held / 160e9, 1e-3);
    assert_close(checkpoint_restore_s(*state, scenario, CHECKPOINT_SHARED, 0), held / 80e9, 1e-3);
    const double part = 1e12 / 64;
    const struct storage_move moves[] = {{scenario, STORAGE_DRAIN, all_alike, &part, 0, NULL},
                                         {scenario, STORAGE_READ_LOCAL, all_alike, &part, 0, NULL}};
    sim_time ends[2];
    storage_run(*state, moves, 2, ends); /* 50 of 160 GB/s for the one, 110 for the other */
    assert_close(sim_time_to_s(ends[0]), 1e12 / 50e9, 1e-8);
    assert_close(sim_time_to_s(ends[1]), 1e12 / 110e9, 1e-8);
    struct step_result usual, folded, full;
    const struct ensemble_member member = {0, 0};
    struct step_request request = {.folds = true, .member = &member};
    step_simulate(*state, scenario, &request, &usual);
    request.checkpoint_bytes = bytes;
    step_simulate(*state, scenario, &request, &folded);
    request.folds = false;
    step_simulate(*state, scenario, &request, &full);
    assert_int_equal(folded.step_ns, full.step_ns);
    assert_close((double)(folded.step_ns - usual.step_ns) * 1e-9, bytes / 40e9, 1e-6);
}

/* While one checkpoint goes on from drives to the file system the next is flushed to the drives:
 * these read and write apart, 1 TB at 8 x 5 GB/s in 25 s and at the file system's 50 GB/s in 20 s,
 * as if alone. From peers' memory, where storage has no network of its own, both leave by the NICs,
 * 45 GB/s of each GPU: of 15.625 GB to the peer and 7.8125 GB to the file system each moves at 22.5
 * GB/s until the less is there, after 347 ms, and the rest of the other at 45: 521 ms. */
static void one_drains_while_the_next_is_flushed(void **state)
{
    const char *const drives[SETS_MAX] = {
        "cluster.storage.write=50 GB/s", "cluster.storage.per_node=10 GB/s",
        "cluster.storage.local_write=5 GB/s", "cluster.storage.local_read=20 GB/s"};
    const char *const peers[SETS_MAX] = {
        "cluster.storage.write=10 TB/s", "cluster.storage.per_node=10 TB/s",
        "cluster.storage.network=fabric", "cluster.nics.bandwidth=400 Gbps"};
    const double whole = 1e12 / 64;
    const double half = whole / 2;
    const struct scenario *scenario = resolve(*state, "scenarios/quickstart.yaml", drives);
    const struct storage_move local[] = {
        {scenario, STORAGE_DRAIN, all_alike, &whole, 0, NULL},
        {scenario, STORAGE_FLUSH_LOCAL, all_alike, &whole, 0, NULL}};
    sim_time ends[2];
    storage_run(*state, local, 2, ends);
    assert_close(sim_time_to_s(ends[0]), 20, 1e-8);
    assert_close(sim_time_to_s(ends[1]), 25, 1e-8);
    scenario = resolve(*state, "scenarios/quickstart.yaml", peers);
    const struct storage_move memory[] = {
        {scenario, STORAGE_FLUSH, all_alike, &half, 0, NULL},
        {scenario, STORAGE_FLUSH_PEER, all_alike, &whole, 0, NULL}};
    storage_run(*state, memory, 2, ends);
    assert_close(sim_time_to_s(ends[0]), half / 22.5e9, 1e-7);
    assert_close(sim_time_to_s(ends[1]), half / 22.5e9 + half / 45e9, 1e-7);
}

/* Two stages of 8 and 24 layers, and the other way round: the node that is lost is the one that
 * holds most, wherever it lies. Its ranks have all by NICs of 45 GB/s: 24 layers of 218.1 M
 * parameters and the embedding or head of 525.3 M, a half of them by tp, at 2 bytes and, of 16
 * replicas, 12 / 16. */
static void the_node_that_is_lost_is_the_one_that_holds_most(void **state)
{
    static const char *const layers[] = {"parallel.layers_per_stage=[8, 24]",
                                         "parallel.layers_per_stage=[24, 8]"};
    const double held = (24 * 218112000.0 + 525336576) / 2 * (2 + 12.0 / 16);
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const char *const sets[SETS_MAX] = {"run.checkpoint.to=peer",
                                            "cluster.nics.bandwidth=400 Gbps", "parallel.pp=2",
                                            layers[i]};
        const struct scenario *scenario = resolve(*state, "scenarios/quickstart.yaml", sets);
        assert_close(checkpoint_restore_s(*state, scenario, CHECKPOINT_PEER, 1), held / 45e9, 1e-3);
    }
}

/* Each of 64 ranks writes 1.757 GB of 112.4, by 63 GB/s to its host and by NICs of 45 GB/s (90 % of
 * 400 Gbps) to the next node's: 39.0 ms, all at once. A process that ends has these back by 63
 * GB/s, while what its replicas wrote, 9.536 - 1.757 GB, comes from other nodes by the NICs: 173
 * ms. Ranks of a node that was lost have all by their NICs, 9.536 GB: 212 ms, the others as before.
 * With ZeRO 3 nothing comes from replicas: 27.9 ms, or 1.757 GB by the NICs. In hosts' memory alone
 * nothing is sent, and nothing survives a node. */
static void memory_of_hosts_and_peers(void **state)
{
    const char *const sets[SETS_MAX] = {"run.checkpoint.to=peer",
                                        "cluster.nics.bandwidth=400 Gbps"};
    struct scenario *scenario = resolve(*state, "scenarios/quickstart.yaml", sets);
    const struct memory_job memory = memory_job_of(scenario);
    const double bytes = memory_checkpoint_bytes(&memory, NULL);
    const double own = bytes / 64;
    const double held = 8.03e9 + 6 * 8.03e9 / 32;
    assert_close(checkpoint_persist_s(*state, scenario, bytes), own / 45e9, 1e-6);
    assert_close(checkpoint_restore_s(*state, scenario, CHECKPOINT_PEER, 0), (held - own) / 45e9,
                 1e-3);
    assert_close(checkpoint_restore_s(*state, scenario, CHECKPOINT_PEER, 1), held / 45e9, 1e-3);
    assert_close(checkpoint_drain_s(*state, scenario, bytes), bytes / 5e9, 1e-6);
    scenario->parallel.zero = 3;
    assert_close(checkpoint_restore_s(*state, scenario, CHECKPOINT_PEER, 0), own / 63e9, 1e-3);
    assert_close(checkpoint_restore_s(*state, scenario, CHECKPOINT_PEER, 1), own / 45e9, 1e-3);
    scenario->parallel.zero = 1;
    scenario->checkpoint.target = CHECKPOINT_MEMORY;
    assert_int_equal(checkpoint_persist_s(*state, scenario, bytes) > 0, false);
    assert_close(checkpoint_drain_s(*state, scenario, bytes), bytes / 5e9, 1e-6);
    struct checkpoint_tier tiers[HISTORY_TIERS_MAX];
    assert_int_equal(checkpoint_tiers(*state, scenario, tiers), 2);
    assert_int_equal(tiers[0].survives, 0);
    assert_close(tiers[0].read_s[0], (held - own) / 45e9, 1e-3);
    scenario->checkpoint.target = CHECKPOINT_PEER;
    assert_int_equal(checkpoint_tiers(*state, scenario, tiers), 2);
    assert_int_equal(tiers[0].survives, 1);
    assert_close(tiers[0].read_s[1], held / 45e9, 1e-3);
    assert_close(tiers[1].read_s[2], 64 * held / 10e9, 1e-3);
}

/* A step that ends with a checkpoint to peers is longer by 1.757 GB over NICs of 112.5 MB/s, 15.6
 * s; one beside which it is flushed by no more, and by no less than what is sent while it only
 * computes leaves. Each is the same with every GPU simulated. */
static void a_step_with_a_checkpoint_to_peers(void **state)
{
    const char *const sets[SETS_MAX] = {"run.checkpoint.to=peer", "cluster.nics.bandwidth=1 Gbps",
                                        "software.communication.staging=1 PB/s"};
    const struct scenario *scenario = resolve(*state, "scenarios/quickstart.yaml", sets);
    const struct memory_job memory = memory_job_of(scenario);
    const double bytes = memory_checkpoint_bytes(&memory, NULL);
    const double alone_s = bytes / 64 / 112.5e6;
    const struct ensemble_member member = {0, 0};
    const struct step_request requests[] = {
        {.member = &member, .folds = true},
        {.member = &member, .folds = true, .checkpoint_bytes = bytes},
        {.member = &member, .folds = true, .is_checkpoint_async = true, .flush_bytes = bytes}};
    double step_s[3];
    for (uint32_t i = 0; i < 3; i++) {
        struct step_result folded, full;
        struct step_request request = requests[i];
        step_simulate(*state, scenario, &request, &folded);
        request.folds = false;
        step_simulate(*state, scenario, &request, &full);
        assert_int_equal(folded.step_ns, full.step_ns);
        step_s[i] = (double)folded.step_ns * 1e-9;
    }
    assert_close(step_s[1] - step_s[0], alone_s, 1e-6);
    assert_true(step_s[2] - step_s[0] < alone_s);
    assert_true(step_s[2] - step_s[0] > alone_s - 3.82);
}

#define LEAVES                                                                        \
    "run.failures={failures: inline, counts: interruptions, classes: [{name: a, of: " \
    "leaf, takes: leaf, rate: {mttf: 50 h}}]}"

/* A new node's GPUs have all from those that hold the same. ZeRO 1 over 16 of 32 replicas: 8.03 GB
 * of weights and 6 x 8.03 / 16 of states from the GPU 32 on, in node n + 4, by NICs of 45 GB/s: all
 * alike, of a process, a node, a leaf of two nodes, 0.245 s. Of a leaf of all nodes nothing is left
 * to read. ZeRO 0 has 7 x 8.03 GB in every second GPU: a process reads from beside it by NVLink,
 * 369 GB/s of 450, a node by NICs from the next. */
static void a_lost_node_reads_what_replicas_hold(void **state)
{
    const char *const sets[SETS_MAX] = {"parallel.zero_group=16", "cluster.nics.bandwidth=400 Gbps",
                                        "run.recovery.from=replica", LEAVES,
                                        "cluster.fabric.nodes_per_leaf=2"};
    struct scenario *scenario = resolve(*state, "scenarios/quickstart.yaml", sets);
    struct survivors survivors;
    const double sharded = 8.03e9 + 6 * 8.03e9 / 16;
    survivors_of(*state, scenario, &survivors);
    assert_int_equal(survivors.nodes, 2);
    for (uint32_t level = 0; level <= 2; level++) {
        assert_close(survivors.read_s[level], sharded / 45e9, 1e-3);
    }
    scenario->cluster.nodes_per_leaf = 8;
    survivors_of(*state, scenario, &survivors);
    assert_close(survivors.lost[0], 1, 1e-12);
    assert_int_equal(survivors.read_s[2] > 0, false);
    scenario->parallel.zero = 0;
    survivors_of(*state, scenario, &survivors);
    assert_int_equal(survivors.nodes, 8);
    assert_close(survivors.read_s[0], 7 * 8.03e9 / 369e9, 1e-3);
    assert_close(survivors.read_s[1], 7 * 8.03e9 / 45e9, 1e-3);
    scenario->recovery.from = RECOVERY_FROM_CHECKPOINT;
    survivors_of(*state, scenario, &survivors);
    assert_int_equal(survivors.nodes, 0);
    assert_null(survivors.lost);
}

/* The same without shards: each node of 8 has all, and what n new ones read, of as many bytes as a
 * node's NICs carry, the 8 - n that are left send in turn: one of them to n / (8 - n), rounded up.
 * A leaf of so many nodes; and those that are taken from spot at once, 4.6 in the mean, where there
 * are several 5.6, which is 6 whole ones, of which 2 others send to 3 each; of 4.2 it is 5, whom
 * 3 others send to, 2 at most. One at a time is one; of 40 something is left only where at most 7
 * are taken. One that falls alone reads as ever. */
static void those_that_are_left_send_in_turn(void **state)
{
    const char *const sets[SETS_MAX] = {"parallel.zero=0", "cluster.nics.bandwidth=400 Gbps",
                                        "run.recovery.from=replica", LEAVES,
                                        "cluster.fabric.nodes_per_leaf=2"};
    struct scenario *scenario = resolve(*state, "scenarios/quickstart.yaml", sets);
    struct survivors survivors;
    const double alone_s = 7 * 8.03e9 / 45e9;
    for (int nodes = 1; nodes < 8; nodes++) {
        scenario->cluster.nodes_per_leaf = nodes;
        survivors_of(*state, scenario, &survivors);
        assert_close(survivors.read_s[1], alone_s, 1e-3);
        assert_close(survivors.read_s[2], alone_s * ceil(nodes / (8.0 - nodes)), 1e-3);
    }
    const double together[] = {1, 4.2, 4.6, 40};
    const double times[] = {1, 2, 3, 7};
    scenario->cluster.nodes_per_leaf = 1;
    scenario->spot.name = "some";
    for (uint32_t i = 0; i < sizeof times / sizeof *times; i++) {
        scenario->spot.together = together[i];
        survivors_of(*state, scenario, &survivors);
        assert_close(survivors.read_s[1], alone_s, 1e-3);
        assert_close(survivors.read_s[2], alone_s * times[i], 1e-3);
    }
}

/* Each part in two of eight nodes, as at first, by four pairs: of a geometric number n of mean m
 * that is taken at once both of a pair are in the mean of n (n - 1) / (8 * 7) cases, four times;
 * E[n (n - 1)] = 2 m (m - 1). Of 1.5 at once 4 * 2 * 0.75 / 56, of one none, of 1,000 all. */
static void what_is_taken_at_once_may_be_all_of_a_part(void **state)
{
    const char *const sets[SETS_MAX] = {"parallel.zero_group=16", "run.recovery.from=replica",
                                        LEAVES};
    struct scenario *scenario = resolve(*state, "scenarios/quickstart.yaml", sets);
    const double together[] = {1, 1.5, 2, 1000};
    const double shares[] = {0, 4 * 2 * 0.75 / 56, 4 * 2 * 2.0 / 56, 1};
    scenario->spot.name = "some";
    for (uint32_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        struct survivors survivors;
        scenario->spot.together = together[i];
        survivors_of(*state, scenario, &survivors);
        assert_int_equal(survivors.nodes, 2);
        assert_close(survivors.lost[scenario->failures.kind_count], shares[i], 1e-12);
    }
}

/* The last four nodes have the fullest stage, each all of it: of 32 layers of 218.1 million
 * parameters a half in 8 nodes or a quarter in 16, and a head of 4096 x 129,024; 4.0182 or 2.2733
 * in all, with 14 B each, an eighth a GPU: 0.1563 or 0.0884 s by a NIC of 45 GB/s. Of two that are
 * taken from spot two others send to one each; of three, which it is of 1.5 and more at once in the
 * mean, one sends to three, also where three nodes begin with the last of the stage before. More
 * are not read of: one has to be left. A leaf of these four leaves none, and what is taken from
 * spot reads as before; without spot nobody reads. */
static void of_a_stage_one_that_holds_it_is_left(void **state)
{
    static const struct {
        const char *gpus, *pp;
        double parameters;
    } jobs[] = {{"gpus=64", "parallel.pp=2", 4.0182e9}, {"gpus=128", "parallel.pp=4", 2.2733e9}};
    const double together[] = {1, 1.0001, 1.4, 1.6, 2, 3, 4, 5, 6, 1000};
    const double times[] = {1, 1, 1, 3, 3, 3, 3, 3, 3, 3};
    for (uint32_t job = 0; job < 2; job++) {
        const char *const sets[SETS_MAX] = {jobs[job].gpus,
                                            jobs[job].pp,
                                            "parallel.tp=8",
                                            "parallel.zero=0",
                                            "run.recovery.from=replica",
                                            LEAVES,
                                            "cluster.nics.bandwidth=400 Gbps"};
        struct scenario *scenario = resolve(*state, "scenarios/quickstart.yaml", sets);
        struct survivors survivors;
        const double alone_s = jobs[job].parameters * 14 / 8 / 45e9;
        scenario->spot.name = "some";
        for (uint32_t i = 0; i < 2 * sizeof times / sizeof *times; i++) {
            scenario->cluster.nodes_per_leaf = i % 2 == 0 ? 1 : 4;
            scenario->spot.together = together[i / 2];
            survivors_of(*state, scenario, &survivors);
            assert_int_equal(survivors.nodes, 4);
            assert_close(survivors.read_s[1], alone_s, 1e-3);
            assert_close(survivors.read_s[2], alone_s * times[i / 2], 1e-3);
        }
        scenario->spot.name = NULL;
        survivors_of(*state, scenario, &survivors);
        assert_int_equal(survivors.read_s[2] > 0, false);
    }
}

/* Four of Mixtral's eight experts on a GPU are of another copy than the dense parameters: both come
 * at once by the same NICs, and end as if one had sent all. */
static void experts_are_read_beside_the_rest(void **state)
{
    const char *const sets[SETS_MAX] = {"gpus=256",
                                        "parallel.ep=4",
                                        "parallel.zero_group=4",
                                        "cluster.nics.bandwidth=400 Gbps",
                                        "run.recovery.from=replica",
                                        "run.tokens=1T",
                                        "run.failures=true"};
    const struct scenario *scenario = resolve(*state, "scenarios/mixtral-8x22b-128.yaml", sets);
    const struct memory_job memory = memory_job_of(scenario);
    struct survivors survivors;
    survivors_of(*state, scenario, &survivors);
    assert_true(survivors.nodes >= 2);
    double most = 0;
    for (uint32_t stage = 0; stage < (uint32_t)scenario->parallel.pp; stage++) {
        const struct checkpoint_held held = checkpoint_held_of(&memory, stage);
        assert_true(held.dense_bytes > 1e8 && held.expert_bytes > 1e8);
        assert_close(held.dense_bytes + held.expert_bytes, checkpoint_held_bytes(&memory, stage),
                     1e-12);
        most = fmax(most, held.dense_bytes + held.expert_bytes);
    }
    assert_close(survivors.read_s[1], most / 45e9, 1e-3);
}

static void cost_of(struct arena *arena, const struct scenario *scenario,
                    struct checkpoint_cost *cost)
{
    const struct memory_job memory = memory_job_of(scenario);
    struct regime_basis basis = {.scenario = scenario, .scale = 1, .folds = true};
    struct step_result usual;
    step_simulate(arena, scenario, &(struct step_request){.folds = true, .member = &basis.member},
                  &usual);
    basis.step_ns = usual.step_ns;
    checkpoint_cost_of(arena, &basis, memory_checkpoint_bytes(&memory, NULL), cost);
}

/* A rank makes 0.5 GB/s of files: of its 1.757 GB in 3.51 s, where the file system alone would take
 * 112.4 GB in 2.25 s. Of the first replica two ranks make 56.2 GB each, 112.4 s. 64 ranks agree for
 * 10 ms each before: 0.64 s. Training waits for both where it blocks, and only for the copy where
 * it does not. Into memory no files are made, from there to the file system they are; what lies on
 * drives is a file already: 112.4 GB at 50 GB/s. */
static void files_are_agreed_on_and_made(void **state)
{
    const char *const sets[SETS_MAX] = {
        "cluster.storage.write=50 GB/s",          "cluster.storage.per_node=10 GB/s",
        "software.checkpoint.serialise=0.5 GB/s", "software.checkpoint.coordinate=10 ms",
        "cluster.storage.local_write=50 GB/s",    "run.checkpoint.mode=blocking"};
    struct scenario *scenario = resolve(*state, "scenarios/quickstart.yaml", sets);
    const struct memory_job memory = memory_job_of(scenario);
    const double bytes = memory_checkpoint_bytes(&memory, NULL);
    const double made_s = 0.64 + bytes / 64 / 0.5e9;
    assert_close(checkpoint_persist_s(*state, scenario, bytes), made_s, 1e-6);
    struct checkpoint_cost cost;
    cost_of(*state, scenario, &cost);
    assert_close(cost.block_s, made_s, 1e-6);
    scenario->checkpoint.mode = CHECKPOINT_ASYNC;
    cost_of(*state, scenario, &cost);
    assert_close(cost.block_s, bytes / 64 / 63e9, 1e-6);
    assert_close(cost.durable_s, made_s, 1e-6);
    scenario->checkpoint.target = CHECKPOINT_MEMORY;
    cost_of(*state, scenario, &cost);
    assert_close(cost.block_s, bytes / 64 / 63e9, 1e-6);
    assert_close(cost.drained_s, made_s, 1e-6);
    scenario->checkpoint.target = CHECKPOINT_LOCAL;
    assert_close(checkpoint_persist_s(*state, scenario, bytes), made_s, 1e-6);
    assert_close(checkpoint_drain_s(*state, scenario, bytes), bytes / 50e9, 1e-6);
    scenario->checkpoint.target = CHECKPOINT_SHARED;
    scenario->software.checkpoint_writers = WRITERS_FIRST;
    assert_close(checkpoint_persist_s(*state, scenario, bytes), 0.64 + bytes / 2 / 0.5e9, 1e-6);
}

/* A rank's 1.757 GB by a link of 63 GB/s take 27.9 ms; into pageable memory, at 10 GB/s, 0.176 s.
 * The eight of a node reach 40 GB/s together, 5 GB/s each: 0.351 s; where a GPU reaches less than
 * its part of the node, that counts. Also into memory, to stay there, and back from there. What
 * the host flushes is not slower, nor is a blocking write of files. */
static void pageable_memory_is_slower_and_shared(void **state)
{
    const char *const sets[SETS_MAX] = {
        "cluster.storage.write=50 GB/s", "cluster.storage.per_node=10 GB/s",
        "software.checkpoint.staging=10 GB/s", "run.checkpoint.mode=async"};
    struct scenario *scenario = resolve(*state, "scenarios/quickstart.yaml", sets);
    const struct memory_job memory = memory_job_of(scenario);
    const double bytes = memory_checkpoint_bytes(&memory, NULL);
    struct checkpoint_cost cost;
    cost_of(*state, scenario, &cost);
    assert_close(cost.block_s, bytes / 64 / 10e9, 1e-6);
    assert_close(cost.durable_s, bytes / 50e9, 1e-3);
    scenario->software.checkpoint_node_staging_bytes_per_s = 40e9;
    cost_of(*state, scenario, &cost);
    assert_close(cost.block_s, bytes / 64 / 5e9, 1e-6);
    scenario->software.checkpoint_staging_bytes_per_s = 2e9;
    cost_of(*state, scenario, &cost);
    assert_close(cost.block_s, bytes / 64 / 2e9, 1e-6);
    scenario->software.checkpoint_staging_bytes_per_s = 0;
    scenario->checkpoint.target = CHECKPOINT_MEMORY;
    cost_of(*state, scenario, &cost);
    assert_close(cost.block_s, bytes / 64 / 5e9, 1e-6);
    scenario->checkpoint.target = CHECKPOINT_SHARED;
    scenario->checkpoint.mode = CHECKPOINT_BLOCKING;
    cost_of(*state, scenario, &cost);
    assert_close(cost.block_s, bytes / 50e9, 1e-3);
}

/* From hosts' memory each third goes on to peers and from there each sixth to the file system, both
 * by NICs of training: the way to peers is that of checkpoints that go there at once, as long and
 * beside as many steps, each as much longer; the way to storage is that of what lies in memory. */
static void what_goes_on_to_peers_is_flushed_as_to_peers(void **state)
{
    const char *const sets[SETS_MAX] = {
        "run.checkpoint={every: 30 min, mode: async, to: memory}", "cluster.nics.bandwidth=1 Gbps",
        "cluster.storage.network=fabric", "cluster.storage.write=0.4 GB/s",
        "software.communication.staging=1 PB/s"};
    struct scenario *scenario = resolve(*state, "scenarios/quickstart.yaml", sets);
    struct checkpoint_cost memory, peers, both;
    cost_of(*state, scenario, &memory);
    assert_int_equal(checkpoint_tier_count(&scenario->checkpoint), 2);
    scenario->checkpoint.target = CHECKPOINT_PEER;
    cost_of(*state, scenario, &peers);
    assert_int_equal(checkpoint_tier_count(&scenario->checkpoint), 2);
    scenario->checkpoint.target = CHECKPOINT_MEMORY;
    scenario->checkpoint.peer_every = 3;
    scenario->checkpoint.drain_every = 6;
    cost_of(*state, scenario, &both);
    assert_int_equal(checkpoint_tier_count(&scenario->checkpoint), 3);
    assert_int_equal(checkpoint_tier_every(&scenario->checkpoint, 1), 3);
    assert_int_equal(checkpoint_tier_every(&scenario->checkpoint, 2), 6);
    assert_close(both.block_s, memory.block_s, 1e-12);
    assert_close(both.peered_s, peers.durable_s, 1e-9);
    assert_close(both.drained_s - both.peered_s, memory.drained_s, 1e-9);
    assert_close(peers.durable_s, 112.4e9 / 64 / 112.5e6, 1e-3);
    assert_true(peers.flushes[0].longer_s > 0 && memory.flushes[1].longer_s > 0);
    assert_close(both.flushes[1].longer_s, peers.flushes[0].longer_s, 1e-12);
    assert_close(both.flushes[1].bytes, peers.flushes[0].bytes, 1e-12);
    assert_close(both.flushes[2].longer_s, memory.flushes[1].longer_s, 1e-12);
    assert_int_equal(both.flushes[0].bytes > 0, false);
    scenario->checkpoint.drain_every = 0; /* each of those that went to peers */
    assert_int_equal(checkpoint_drain_every(&scenario->checkpoint), 3);
    assert_int_equal(checkpoint_copies(&scenario->checkpoint), 5);
}

/* Checkpoints each 4 s that block for 1 s, each second with a peer after 20 s: it waits for 20 - 2
 * x 4 - 1 = 11 s, 6 in the mean. Each fourth is in the file system after 30 s, which is before the
 * next: 30 - 4 x 4 - 3 x 6 is less than nothing; after 50 s it waits for 16, 8.5 in the mean. */
static void what_is_late_at_a_peer_is_waited_for(void **state)
{
    const char *const sets[SETS_MAX] = {
        "run.checkpoint={every: 1 steps, mode: async, to: memory, peer_every: 2, drain_every: 4}"};
    const struct scenario *scenario = resolve(*state, "scenarios/quickstart.yaml", sets);
    struct checkpoint_cost cost = {.block_s = 1, .peered_s = 20, .drained_s = 30};
    assert_close(checkpoint_wait_s(scenario, 4, &cost), 6, 1e-12);
    cost.drained_s = 50;
    assert_close(checkpoint_wait_s(scenario, 4, &cost), 8.5, 1e-12);
}

/* 112.4 GB on nodes' drives after 28.1 s, at 8 x 0.5 GB/s, by no NIC; from there in the file system
 * after 56.2 s more, at 2 GB/s by the NICs of training: beside 15 of the 3.8 s' steps, not 23. */
static void a_tier_s_steps_are_those_of_its_own_move(void **state)
{
    const char *const sets[SETS_MAX] = {"cluster.storage.write=2 GB/s",
                                        "cluster.storage.per_node=10 GB/s",
                                        "cluster.storage.local_write=0.5 GB/s",
                                        "cluster.storage.network=fabric",
                                        "run.checkpoint.to=local",
                                        "run.checkpoint.mode=async"};
    const struct scenario *scenario = resolve(*state, "scenarios/quickstart.yaml", sets);
    struct checkpoint_cost cost;
    cost_of(*state, scenario, &cost);
    assert_close(cost.durable_s, 28.1, 1e-3);
    assert_close(cost.drained_s, 28.1 + 56.2, 1e-3);
    assert_int_equal((int)cost.flushes[0].steps, 0);
    assert_int_equal((int)cost.flushes[1].steps, 15);
    assert_true(cost.flushes[1].longer_s >= 0);
}

/* Beside a step of 3.8 s a copy of 27.9 ms costs nothing, and the checkpoint is durable by so much
 * later. One of 35 s, by host links of 50 MB/s, holds up the update of parameters: what is longer
 * is the copy but for all that is before the update, so that one of 70 s costs 35 s more; and after
 * the update no more than a fifth of the step is left. Bytes that are waited for at the step's end
 * alone hold up all but the update. Both end as without folding. */
static void a_copy_beside_the_step_blocks_for_what_does_not_fit(void **state)
{
    const char *const sets[SETS_MAX] = {"software.checkpoint.copy=beside",
                                        "run.checkpoint.mode=async"};
    struct scenario *scenario = resolve(*state, "scenarios/quickstart.yaml", sets);
    const struct memory_job memory = memory_job_of(scenario);
    const double bytes = memory_checkpoint_bytes(&memory, NULL);
    const double persist_s = checkpoint_persist_s(*state, scenario, bytes);
    struct checkpoint_cost cost;
    cost_of(*state, scenario, &cost);
    assert_true(cost.block_s < 1e-6);
    assert_close(cost.durable_s + cost.block_s, bytes / 64 / 63e9 + persist_s, 1e-6);
    const double links[] = {50e6, 25e6};
    double block_s[2];
    for (uint32_t i = 0; i < 2; i++) {
        scenario->gpu.host_link_bytes_per_s = links[i];
        cost_of(*state, scenario, &cost);
        block_s[i] = cost.block_s;
        assert_close(cost.durable_s + cost.block_s, bytes / 64 / links[i] + persist_s, 1e-6);
    }
    assert_close(block_s[1] - block_s[0], bytes / 64 / 50e6, 1e-6);
    struct step_result usual, folded, full;
    const struct ensemble_member member = {0, 0};
    struct step_request request = {.folds = true, .member = &member};
    step_simulate(*state, scenario, &request, &usual);
    request.checkpoint_bytes = bytes;
    request.is_checkpoint_async = true;
    request.is_copied_beside = true;
    step_simulate(*state, scenario, &request, &folded);
    request.folds = false;
    step_simulate(*state, scenario, &request, &full);
    assert_int_equal(folded.step_ns, full.step_ns);
    const double hidden_s = bytes / 64 / 25e6 - block_s[1];
    const double step_s = sim_time_to_s(usual.step_ns);
    assert_true(hidden_s < step_s && hidden_s > 0.8 * step_s);
    scenario->checkpoint.target = CHECKPOINT_MEMORY; /* what is flushed crosses the same links */
    const struct step_request waits_at_end = {
        .folds = true, .member = &member, .is_checkpoint_async = true, .flush_bytes = bytes};
    struct step_result flushed;
    step_simulate(*state, scenario, &waits_at_end, &flushed);
    const double updates_s = (double)usual.gpu_ns[CAUSE_OPTIMIZER] * 1e-9 / 64;
    const double waits_s = sim_time_to_s(folded.step_ns - flushed.step_ns);
    assert_true(waits_s <= updates_s && waits_s > updates_s / 2);
}

/* A copy beside the step of 3 s, by host links of 585.5 MB/s, fits into it; then 112.4 GB go to
 * the file system by the NICs of training, at 56.2 GB/s in 2 s: all of it beside two steps of 3.8
 * s, not one, with half of the bytes in each. */
static void a_flush_begins_with_the_copy_beside_the_step(void **state)
{
    const char *const sets[SETS_MAX] = {
        "software.checkpoint.copy=beside", "run.checkpoint.mode=async",
        "cluster.storage.network=fabric",  "cluster.storage.per_node=200 GB/s",
        "cluster.storage.write=56.2 GB/s", "cluster.nics.bandwidth=400 Gbps"};
    struct scenario *scenario = resolve(*state, "scenarios/quickstart.yaml", sets);
    const struct memory_job memory = memory_job_of(scenario);
    const double bytes = memory_checkpoint_bytes(&memory, NULL);
    scenario->gpu.host_link_bytes_per_s = bytes / 64 / 3;
    struct checkpoint_cost cost;
    cost_of(*state, scenario, &cost);
    assert_true(cost.block_s < 1e-6);
    assert_close(cost.durable_s, 3 + bytes / 56.2e9, 1e-3);
    assert_int_equal((int)cost.flushes[0].steps, 2);
    assert_close(cost.flushes[0].bytes, bytes / 2, 1e-12);
}

/* Mixtral's experts lie on several nodes, so tokens are exchanged over the NICs by which a
 * checkpoint is flushed. The step beside it is longer, by no more than the bytes take alone through
 * the NICs' rate that a step gets; and to the nanosecond the same with every GPU simulated. */
static void a_flush_beside_all_to_all_is_the_engines(void **state)
{
    const char *const sets[SETS_MAX] = {
        "cluster.storage.network=fabric", "cluster.storage.per_node=200 GB/s",
        "cluster.storage.write=10 TB/s", "gpus=256", "parallel.ep=8"};
    const struct scenario *scenario = resolve(*state, "scenarios/mixtral-8x22b-128.yaml", sets);
    assert_true(scenario->parallel.ep > 1);
    struct step_result usual, folded, full;
    const struct ensemble_member member = {0, 0};
    struct step_request request = {.folds = true, .member = &member, .is_checkpoint_async = true};
    step_simulate(*state, scenario, &request, &usual);
    const double bytes = (double)scenario->gpus * 1e9;
    request.flush_bytes = bytes;
    step_simulate(*state, scenario, &request, &folded);
    request.folds = false;
    step_simulate(*state, scenario, &request, &full);
    assert_int_equal(folded.step_ns, full.step_ns);
    assert_true(folded.step_ns > usual.step_ns);
    assert_true(folded.gpu_ns[CAUSE_EXPOSED_EP] > usual.gpu_ns[CAUSE_EXPOSED_EP]);
    const double alone_s = checkpoint_persist_s(*state, scenario, bytes);
    assert_true((double)(folded.step_ns - usual.step_ns) * 1e-9 < alone_s);
}

/* ---- published ------------------------------------------------------------------------------- */

/* GEMINI (SOSP 2023): MT-NLG, 530e9 parameters of 12 bytes, to storage of 20 Gb/s: 42 min. */
static void gemini_takes_42_minutes_for_mt_nlg(void **state)
{
    const char *const sets[SETS_MAX] = {"precision=tf32", "cluster.storage.write=20 Gbps"};
    const struct scenario *scenario = resolve(*state, "scenarios/korthikanti-530b-full.yaml", sets);
    const struct memory_job memory = memory_job_of(scenario);
    const double bytes = memory_checkpoint_bytes(&memory, NULL);
    assert_close(bytes, 530e9 * 12, 0.01);
    assert_close(checkpoint_persist_s(*state, scenario, bytes) / 60, 42, 0.02);
}

/* MLPerf Storage's checkpoints: 105, 912, 5,290 and, of a trillion parameters, about 15,000 GB; and
 * BLOOM's 2.3 TB. Some of theirs have 13 bytes of a parameter; ours count 14 of each. */
static void checkpoints_are_as_large_as_published(void **state)
{
    const struct {
        const char *model;
        double gb;
    } cases[] = {{"model=llama3-8b", 105},
                 {"model=llama3-70b", 912},
                 {"model=llama3-405b", 5290},
                 {"model=gpt-1t", 15000},
                 {"model=bloom-176b", 2300}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const sets[SETS_MAX] = {cases[i].model, "batch.sequence_length=2048"};
        const struct scenario *scenario = resolve(*state, "scenarios/quickstart.yaml", sets);
        const struct memory_job memory = memory_job_of(scenario);
        assert_close(memory_checkpoint_bytes(&memory, NULL) / 1e9, cases[i].gb, 0.1);
    }
}

/* ---- */

static int setup(void **state)
{
    *state = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(eight_jobs_read_from_one_file_system),
        TEST(readers_and_writers_share_the_servers),
        TEST(readers_and_writers_share_a_nodes_link),
        TEST(a_restart_reads_what_every_rank_holds),
        TEST(two_tiers_of_checkpoints),
        TEST(one_drains_while_the_next_is_flushed),
        TEST(the_node_that_is_lost_is_the_one_that_holds_most),
        TEST(what_is_taken_at_once_may_be_all_of_a_part),
        TEST(memory_of_hosts_and_peers),
        TEST(a_step_with_a_checkpoint_to_peers),
        TEST(a_lost_node_reads_what_replicas_hold),
        TEST(those_that_are_left_send_in_turn),
        TEST(of_a_stage_one_that_holds_it_is_left),
        TEST(experts_are_read_beside_the_rest),
        TEST(files_are_agreed_on_and_made),
        TEST(pageable_memory_is_slower_and_shared),
        TEST(a_tier_s_steps_are_those_of_its_own_move),
        TEST(what_goes_on_to_peers_is_flushed_as_to_peers),
        TEST(what_is_late_at_a_peer_is_waited_for),
        TEST(a_copy_beside_the_step_blocks_for_what_does_not_fit),
        TEST(a_flush_begins_with_the_copy_beside_the_step),
        TEST(a_flush_beside_all_to_all_is_the_engines),
        TEST(gemini_takes_42_minutes_for_mt_nlg),
        TEST(checkpoints_are_as_large_as_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
