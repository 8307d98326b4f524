/* Months with failures, through the one way in (run_predict), against the formulas of
 * run/interval, against a run without failures, and against each other. Quickstart: 64 H100 on 8
 * nodes; steps as measured (10 s), so that what is compared is the run's. */
#include "base/absent.h"
#include "base/arena.h"
#include "input/scenario.h"
#include "run/failing.h"
#include "run/history/history.h"
#include "run/history/interval.h"
#include "run/history/repetitions.h"
#include "run/run.h"
#include "support/assert_close.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

enum { SETS_MAX = 8 };

static const double no_reads[HISTORY_LEVELS];

#define ONE_CLASS                                                                          \
    "run.failures={failures: inline, counts: interruptions, classes: [{name: a, of: job, " \
    "rate: {mttf: 3 h}}]}"

static const struct result *predict(struct arena *arena, const char *const *sets, uint32_t count)
{
    const struct scenario *scenario = fixture_scenario(
        arena, &(struct fixture_source){
                   .path = "scenarios/quickstart.yaml", .sets = sets, .set_count = count});
    struct result *result = arena_alloc(arena, sizeof *result);
    run_predict(arena, scenario, &(struct run_request){.folds = true, .build = "test"}, result);
    return result;
}

static void assert_accounts_add_up(const struct run_result *run)
{
    double sum_s = 0;
    for (uint32_t i = 0; i < ACCOUNT_COUNT_; i++) {
        sum_s += run->account_s[i];
    }
    assert_close(sum_s, run->days * 86400, 1e-9);
}

#define NEVER                                                                               \
    "run.failures={failures: inline, counts: hardware, classes: [{name: a, of: job, rate: " \
    "{mttf: 2e11 h}}]}"

/* Likewise where a checkpoint is flushed over the training's NICs of 1 Gbps, into one tier or on to
 * the next, and steps meanwhile take longer: those of the regime with a flush are the steps that a
 * run without failures has, four of 99 behind each of four checkpoints. */
static void without_a_failure_a_flush_costs_what_it_costs(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const checkpoints[] = {"{every: 20 steps, mode: async}",
                                       "{every: 20 steps, to: memory, drain_every: 2}"};
    for (uint32_t i = 0; i < 2; i++) {
        const char *const sets[SETS_MAX] = {
            arena_printf(arena, "run.checkpoint=%s", checkpoints[i]),
            "run.tokens=207618048",
            /* 99 steps */ "cluster.storage.network=fabric",
            "cluster.storage.write=0.52 GB/s",
            "cluster.nics.bandwidth=1 Gbps",
            "data=off",
            NEVER};
        const struct run_result *usual = &predict(arena, sets, 6)->run;
        const struct run_result *failing = &predict(arena, sets, 7)->run;
        assert_true(usual->checkpoint_s > 5);
        assert_close(failing->days, usual->days, 1e-9);
        assert_close(failing->goodput, usual->goodput, 1e-9);
    }
    arena_free(arena);
}

/* One class of constant rate that takes no node: M = 3 h, D = 2 min, R = 10 min, a checkpoint every
 * 120 steps of 10 s. The exact goodput is the formula's; of 200 histories of 40,000 steps each
 * (some 45 failures) the mean lies within 4 standard errors, and these are below 0.2 %: a restart
 * that could not fail would be 0.3 % better, without detection 1 %. */
static void histories_are_as_good_as_the_formula_says(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const sets[SETS_MAX] = {
        ONE_CLASS, "run.tokens=83886080000", /* 40,000 steps of 2,097,152 */
        "run.step_time=10 s", "run.checkpoint={every: 120 steps, mode: blocking}",
        "run.recovery={restart: 10 min, detection: {crash: 2 min}}"};
    const struct run_result *run = &predict(arena, sets, 5)->run;
    const struct interval_case of = {.mtbf_s = 10800,
                                     .detection_s = 120,
                                     .restart = {LAW_FIXED, 600, 0},
                                     .block_s = run->checkpoint_s};
    const double exact = interval_goodput(&of, 1200);
    assert_int_equal(run->repetitions, 200);
    assert_true(run->goodput_spread.error < 0.002);
    assert_true(fabs(run->goodput_spread.mean - exact) < 4 * run->goodput_spread.error + 1e-3);
    assert_close(run->mtbf_s, 10800, 1e-12);
    assert_close(run->goodput_by_formula, exact, 1e-12);
    /* the class is the only one, and all that stands still is its */
    assert_int_equal(run->failure_count, 1);
    assert_close(run->failures[0].count, run->interruptions, 1e-12);
    assert_close(run->failures[0].hours * 3600,
                 run->account_s[ACCOUNT_LOST] + run->account_s[ACCOUNT_DETECTION] +
                     run->account_s[ACCOUNT_WAITING] + run->account_s[ACCOUNT_RECOVERY],
                 1e-9);
    /* one can come at any time but in a detection: every M + D */
    assert_close(run->interruptions, run->days * 86400 / (10800 + 120), 0.02);
    assert_accounts_add_up(run);
    arena_free(arena);
}

/* What fails once in a hundred million years leaves a run as it is without failures, but for the
 * checkpoint at its very end, which a history does not wait for. */
static void without_a_failure_days_are_steps_and_checkpoints(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const never = "run.failures={failures: inline, counts: hardware, classes: [{name: "
                              "a, of: job, rate: {mttf: 2e11 h}}]}";
    const char *const modes[] = {"blocking", "async"};
    for (uint32_t i = 0; i < 2; i++) {
        const char *const sets[SETS_MAX] = {
            arena_printf(arena, "run.checkpoint={every: 7 steps, mode: %s}", modes[i]),
            "run.tokens=207618048", /* 99 steps */ "run.startup=5 min", never};
        const struct run_result *usual = &predict(arena, sets, 3)->run;
        const struct run_result *failing = &predict(arena, sets, 4)->run;
        assert_int_equal(usual->repetitions, 0);
        assert_int_equal(failing->repetitions, 200);
        assert_close(failing->days, usual->days, 1e-12);
        assert_close(failing->goodput, usual->goodput, 1e-12);
        for (uint32_t a = 0; a < ACCOUNT_COUNT_; a++) {
            assert_true(fabs(failing->account_s[a] - usual->account_s[a]) < 1e-6);
        }
        assert_accounts_add_up(usual);
    }
    arena_free(arena);
}

/* Of 99 steps of 4 s every seventh ends with one of 14 checkpoints of 112.4 GB. The file system
 * takes 2 GB/s: one is there after 56.2 s, and due again after 28 s, so that each but the first
 * waits 28.2 s, far more than the copy. Nodes' drives take 40 GB/s: each blocks for 2.81 s. Each
 * third goes on at 1 GB/s, 112.4 s; 3 x 28 s and two writes later the next does, and waits 22.8 s:
 * the third does not, three others do. Histories and the sums of a run without failures follow one
 * rule; the sums have a mean for all. */
static void what_is_late_is_waited_for_alike(void **state)
{
    (void)state;
    const struct {
        const char *checkpoint, *write;
        double late, drains; /* of 14 that wait longer; each so many-th may */
        double rate, block_rate;
    } cases[] = {
        {"{every: 7 steps, mode: async}", "cluster.storage.write=2 GB/s", 13, 1, 2e9, 64 * 63e9},
        {"{every: 7 steps, mode: blocking, to: local, drain_every: 3}",
         "cluster.storage.write=1 GB/s", 3, 3, 1e9, 40e9},
    };
    for (uint32_t i = 0; i < 2; i++) {
        struct arena *arena = arena_new();
        const char *const sets[] = {
            arena_printf(arena, "run.checkpoint=%s", cases[i].checkpoint),
            "run.tokens=207618048",
            "run.step_time=4 s",
            "cluster.storage.local_write=5 GB/s",
            cases[i].write,
            "run.failures={failures: inline, counts: hardware, classes: [{name: a, of: job, rate: "
            "{mttf: 2e11 h}}]}"};
        const struct run_result *usual = &predict(arena, sets, 5)->run;
        const struct run_result *failing = &predict(arena, sets, 6)->run;
        const double bytes = usual->checkpoint_bytes;
        const double each_s = bytes / cases[i].block_rate;
        const double n = cases[i].drains;
        const double last_s = bytes / cases[i].rate - n * 28 - (n - 1) * each_s;
        assert_true(last_s > 2 * each_s);
        assert_int_equal(usual->checkpoints, 14);
        assert_close(failing->account_s[ACCOUNT_CHECKPOINT],
                     14 * each_s + cases[i].late * (last_s - each_s), 1e-6);
        assert_close(usual->checkpoint_s, each_s + (last_s - each_s) / n, 1e-6);
        assert_accounts_add_up(failing);
        assert_accounts_add_up(usual);
        arena_free(arena);
    }
}

/* Of three tiers the middle one: checkpoints every 3 steps of 4 s in hosts' memory, each second in
 * that of peers after 1.757 GB over NICs of 28.1 MB/s (0.25 Gbps), 62.5 s: far later than the next
 * that is due there, so that from the second on such a one ends so long after the one before,
 * whatever steps take beside it. The second, beside which nothing is flushed, ends after 24 s and
 * two copies, the fourteenth 6 x 62.5 s later, and a last step beside a flush is left. Only after
 * the last one goes on to the file system, which takes 112 s more. */
static void what_is_late_in_the_middle_is_waited_for(void **state)
{
    struct arena *arena = *state = arena_new();
    const char *const sets[] = {
        "run.checkpoint={every: 3 steps, mode: async, to: memory, peer_every: 2, drain_every: 14}",
        "run.tokens=90177536", /* 43 steps */
        "run.step_time=4 s",
        "cluster.nics.bandwidth=0.25 Gbps",
        "software.communication.staging=1 PB/s",
        "cluster.storage.write=1 GB/s",
        ("run.failures={failures: inline, counts: hardware, classes: [{name: a, of: job, rate: "
         "{mttf: 2e11 h}}]}")};
    const struct run_result *run = &predict(arena, sets, 7)->run;
    const double block_s = run->checkpoint_bytes / 64 / 63e9;
    const double peered_s = run->checkpoint_bytes / 64 / 28.125e6;
    const double wall_s = run->days * 86400 - run->account_s[ACCOUNT_PLANNED];
    assert_int_equal((int)run->checkpoints_written, 14);
    assert_true(peered_s > 62 && peered_s < 63);
    const double last_s = wall_s - (24 + 2 * block_s + 6 * peered_s);
    assert_true(last_s > 3.99 && last_s < 30);
    assert_accounts_add_up(run);
    arena_free(arena);
}

/* Checkpoints on nodes' drives every 100 steps of 10 s, every fourth goes on to the file system: 8
 * nodes write at 5 GB/s and read at 20 GB/s, the file system takes and gives 100 GB/s, of a node 10
 * GB/s. What kills a process leaves the drives: a restart reads 64 x 9.536 GB, 610.3 GB, at 160
 * GB/s in 3.81 s, and loses half a period and what the checkpoint takes. What takes a node leaves
 * the file system: 7.63 s at 80 GB/s, and half of four periods. Both 300 s and 64 x 3 ms before. A
 * failure each 50 h, 200 histories of 11.6 days: 1,100 failures, whose mean loss of 0.58 of its
 * deviation has an error of 1.7 %; of 500 +- 4 x 1.7 %, 2,000 +- 4 x 1.7 %. In the memory of hosts
 * and their peers it is there as soon as it is copied, and outlives a node, but not what takes a
 * leaf; in that of hosts alone not even a node, of which half of two periods are lost where each
 * second goes on to peers: what is read there by NICs of 45 GB/s is below a
 * second (test_storage). */
static void what_survived_is_read_and_what_did_not_is_lost(void **state)
{
    (void)state;
    const struct {
        const char *to, *takes;
        double read_s, lost_s;
    } cases[] = {{"local", "process", 3.81, 500},
                 {"local", "node", 7.63, 2000},
                 {"peer", "process", 0.17, 500},
                 {"peer", "node", 0.21, 500},
                 {"peer", "leaf", 7.63, 2000},
                 {"memory", "process", 0.17, 500},
                 {"memory", "node", 7.63, 2000},
                 {"memory, peer_every: 2", "process", 0.17, 500},
                 {"memory, peer_every: 2", "node", 0.21, 1000},
                 {"memory, peer_every: 2", "leaf", 7.63, 2000}};
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *arena = arena_new();
        const char *const sets[] = {
            arena_printf(arena,
                         "run.failures={failures: inline, counts: interruptions, classes: [{name: "
                         "a, of: job, rate: {mttf: 50 h}, takes: %s, repair: 1 s}]}",
                         cases[i].takes),
            "run.tokens=209715200000", /* 100,000 steps of 2,097,152 */
            "run.step_time=10 s",
            arena_printf(
                arena, "run.checkpoint={every: 100 steps, mode: blocking, to: %s, drain_every: 4}",
                cases[i].to),
            "cluster.storage.local_write=5 GB/s",
            "cluster.storage.local_read=20 GB/s",
            "cluster.storage.read=100 GB/s",
            "cluster.storage.write=100 GB/s",
            "cluster.storage.per_node=10 GB/s"};
        const struct run_result *run = &predict(arena, sets, sizeof sets / sizeof sets[0])->run;
        const double failures = run->interruptions;
        assert_true(failures > 5);
        assert_close(run->account_s[ACCOUNT_RECOVERY] / failures, 300.192 + cases[i].read_s, 4e-3);
        assert_close(run->account_s[ACCOUNT_LOST] / failures, cases[i].lost_s, 0.07);
        assert_accounts_add_up(run);
        arena_free(arena);
    }
}

/* ZeRO 1 over 16 of 32: the first and the last 32 GPUs hold the same, in nodes n and n + 4. Nothing
 * reads the file system: 11.04 GB of each GPU come by NICs of 45 GB/s, 0.245 s, and the steps that
 * ended stay: half a step is lost, where from a checkpoint it is half a period of 100. What takes a
 * leaf of 4 nodes leaves copies, of 8 none; what takes the file system, or is of the job and takes
 * all its processes, does not either, nor do corrupted weights: then all is as without replicas. */
static void what_replicas_hold_is_not_done_again(void **state)
{
    (void)state;
    const struct {
        const char *class, *leaf;
        bool is_left;
    } cases[] = {{"of: gpu, takes: process", "4", true},
                 {"of: node, takes: node", "4", true},
                 {"of: job, takes: node", "4", true},
                 {"of: node, takes: leaf", "4", true},
                 {"of: node, takes: leaf", "8", false},
                 {"of: job, takes: file_system", "4", false},
                 {"of: job, takes: process", "4", false},
                 {"of: node, takes: node, effect: corrupts", "4", false}};
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *arena = arena_new();
        const struct run_result *runs[2];
        for (uint32_t k = 0; k < 2; k++) {
            const char *const sets[] = {
                arena_printf(arena,
                             "run.failures={failures: inline, counts: interruptions, classes: "
                             "[{name: a, rate: {mttf: 50 h, components: %s}, repair: 1 s, %s}]}",
                             strstr(cases[i].class, "gpu") != NULL   ? "64"
                             : strstr(cases[i].class, "job") != NULL ? "1"
                                                                     : "8",
                             cases[i].class),
                "run.tokens=209715200000", /* 100,000 steps of 2,097,152 */
                "run.step_time=10 s",
                "run.checkpoint={every: 100 steps, mode: blocking}",
                "parallel.zero_group=16",
                "cluster.nics.bandwidth=400 Gbps",
                arena_printf(arena, "cluster.fabric.nodes_per_leaf=%s", cases[i].leaf),
                k == 0 ? "run.recovery.from=checkpoint" : "run.recovery.from=replica"};
            runs[k] = &predict(arena, sets, sizeof sets / sizeof sets[0])->run;
            assert_accounts_add_up(runs[k]);
        }
        const double failures = runs[1]->interruptions;
        assert_true(failures > 5);
        assert_close(runs[0]->account_s[ACCOUNT_LOST] / runs[0]->interruptions, 500, 0.07);
        if (cases[i].is_left) {
            assert_close(runs[1]->account_s[ACCOUNT_LOST] / failures, 5, 0.07);
            assert_close(runs[1]->account_s[ACCOUNT_RECOVERY] / failures, 300.192 + 0.245, 1e-3);
            assert_int_equal(runs[1]->copy_nodes, 2);
            assert_true(is_absent(runs[1]->checkpoint_young_s)); /* no failure needs one */
        } else {
            assert_close(runs[1]->days, runs[0]->days, 1e-12);
        }
        arena_free(arena);
    }
}

/* Twelve nodes, copies six apart, leaves of eight: the first has nodes 0 and 6, 1 and 7, the other
 * no pair. Half of the leaves' failures go back to a checkpoint, and Young asks for one each
 * sqrt(2 b M) of those alone. */
static void half_of_the_leaves_take_all_copies(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const sets[] = {("run.failures={failures: inline, counts: interruptions, classes: "
                                 "[{name: a, of: job, takes: leaf, rate: {mttf: 50 h}}]}"),
                                "gpus=96",
                                "batch.global=288",
                                "run.step_time=10 s",
                                "run.checkpoint={every: 100 steps, mode: blocking}",
                                "parallel.zero_group=24",
                                "cluster.fabric.nodes_per_leaf=8",
                                "run.recovery.from=replica"};
    const struct run_result *run = &predict(arena, sets, sizeof sets / sizeof sets[0])->run;
    assert_close(run->mtbf_s, 180000, 1e-12);
    assert_close(run->rollback_mtbf_s, 360000, 1e-12);
    assert_close(run->checkpoint_young_s, sqrt(2 * run->checkpoint_block_s * 360000), 1e-9);
    arena_free(arena);
}

/* The same in the formula: a restart that is stated has its read in it, one that is not is longer
 * by the simulated one; by more where the GPUs' starts and the warm-up are. */
static void a_stated_restart_is_all_of_it(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const restarts[] = {"{restart: 5 min}", "{start_per_gpu: 0 s}",
                                    "{start_per_gpu: 1 s, warm_up: 2 min}"};
    double goodputs[3];
    for (uint32_t i = 0; i < 3; i++) {
        const char *const sets[] = {ONE_CLASS,
                                    "run.step_time=10 s",
                                    "run.checkpoint={every: 120 steps, mode: blocking}",
                                    "cluster.storage.per_node=10 GB/s",
                                    "cluster.storage.read=100 GB/s",
                                    arena_printf(arena, "run.recovery=%s", restarts[i])};
        goodputs[i] = predict(arena, sets, sizeof sets / sizeof sets[0])->run.goodput_by_formula;
    }
    assert_close(goodputs[0] / goodputs[1], exp(7.63 / 10800), 1e-5);
    assert_close(goodputs[0] / goodputs[2], exp((7.63 + 64 + 120) / 10800), 1e-5);
    arena_free(arena);
}

/* Six nodes in a hundred away at a time and no spare: waiting takes most of the days; elastic goes
 * on with 31, 30 ... of 32 replicas, each regime simulated once. */
static void fewer_replicas_are_simulated_and_go_on(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const classes =
        "run.failures={failures: inline, counts: hardware, classes: [{name: node, of: node, rate: "
        "{mttf: 60 days}, takes: node, repair: {mean: 4 days, law: exponential}}]}";
    const char *const sets[SETS_MAX] = {classes, "run.recovery={spares: 0}",
                                        "run.recovery.without_node=elastic"};
    const struct run_result *waits = &predict(arena, sets, 2)->run;
    const struct run_result *elastic = &predict(arena, sets, 3)->run;
    assert_true(waits->account_s[ACCOUNT_WAITING] > 0.2 * waits->days * 86400);
    assert_int_equal(waits->regimes_simulated, 1);
    assert_true(elastic->account_s[ACCOUNT_DEGRADED] > 0);
    assert_true(elastic->account_s[ACCOUNT_WAITING] < 1);
    assert_true(elastic->regimes_simulated >= 3);
    assert_true(elastic->days < waits->days);
    /* Without a node of eight, 28 of 32 replicas train 7 of 8 tokens in a step that is as long:
     * 8 of 7 of the time; the whole batch needs 10 microbatches in the place of 8, 1.75 times as
     * much more. Without two nodes it is 4 of 3, and 11 microbatches. */
    const double degraded = elastic->account_s[ACCOUNT_DEGRADED];
    assert_true(degraded > 0.05 * elastic->account_s[ACCOUNT_USEFUL]);
    assert_true(degraded < 0.09 * elastic->account_s[ACCOUNT_USEFUL]);
    assert_accounts_add_up(elastic);
    const char *const kept_sets[SETS_MAX] = {classes, "run.recovery={spares: 0, batch: kept}",
                                             "run.recovery.without_node=elastic"};
    const struct run_result *kept = &predict(arena, kept_sets, 3)->run;
    assert_true(kept->account_s[ACCOUNT_DEGRADED] > 1.3 * degraded);
    assert_true(kept->account_s[ACCOUNT_DEGRADED] < 1.75 * degraded);
    assert_true(kept->account_s[ACCOUNT_DEGRADED] < 0.3 * kept->account_s[ACCOUNT_USEFUL]);
    assert_accounts_add_up(kept);
    arena_free(arena);
}

/* A GPU at half speed, on one of 2 stages, until it is taken out after a day. */
static void a_slow_gpu_is_simulated_on_each_stage(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const classes =
        "run.failures={failures: inline, counts: hardware, classes: [{name: slow, of: job, rate: "
        "{mttf: 4 days}, effect: slows, speed: 0.5, detected: slow}]}";
    const char *const sets[SETS_MAX] = {classes, "run.recovery.detection.slow=1 days",
                                        "parallel.pp=2"};
    const struct run_result *run = &predict(arena, sets, 3)->run;
    assert_int_equal(run->regimes_simulated, 3);
    /* a fifth of all time (1 day of 5) a step takes up to twice as long */
    const double degraded = run->account_s[ACCOUNT_DEGRADED] / run->account_s[ACCOUNT_USEFUL];
    assert_true(degraded > 0.05 && degraded < 0.35);
    assert_accounts_add_up(run);
    arena_free(arena);
}

/* A NIC at a quarter, of one of 64 GPUs, each 4 days; it is repaired within a day beside the run,
 * which endures it. Those that are weak are Poisson of mean 1/4, so that some are for 1 - e^(-1/4)
 * of the time, and a step takes s / h as long then: of the steps' time (1 - e^(-1/4)) (1 - h / s)
 * is degraded. In 200 histories of half a year there are 10,000 such failures, which tell it to
 * 1 %. Nothing ends the job; where its node is replaced after a day of looking, each does. */
static void a_weak_link_is_endured_or_replaced(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const classes =
        "run.failures={failures: inline, counts: hardware, classes: [{name: port, of: job, rate: "
        "{mttf: 4 days}, effect: degrades, nic: 0.25, detected: slow, repair: %s}]}";
    const char *const layout = "parallel={tp: 8, zero: 0}";
    const char *const endures[] = {layout, "run.tokens=8T", arena_printf(arena, classes, "1 days"),
                                   "run.recovery={slow: endure, detection: {slow: 0 s}}"};
    const char *const replaces[] = {layout, "run.tokens=8T", arena_printf(arena, classes, "0 s"),
                                    "run.recovery={slow: replace, detection: {slow: 1 days}}"};
    const char *const weak[] = {layout, "slow=[{rank: 0, nic: 0.25}]"};
    const struct result *endured = predict(arena, endures, 4);
    const struct run_result *replaced = &predict(arena, replaces, 4)->run;
    const double usual = (double)endured->step.step_ns;
    const double longer = (double)predict(arena, weak, 2)->step.step_ns;
    const struct run_result *run = &endured->run;
    const double degraded = run->account_s[ACCOUNT_DEGRADED];
    assert_true(longer > 1.02 * usual);
    assert_close(degraded / (run->account_s[ACCOUNT_USEFUL] + degraded),
                 (1 - exp(-0.25)) * (1 - usual / longer), 0.04);
    assert_int_equal(run->regimes_simulated, 2);
    assert_true(run->interruptions < 1e-9);
    assert_true(run->account_s[ACCOUNT_RECOVERY] < 1e-9);
    assert_true(replaced->interruptions > 20);
    assert_true(replaced->account_s[ACCOUNT_RECOVERY] > 0);
    assert_accounts_add_up(run);
    assert_accounts_add_up(replaced);
    arena_free(arena);
}

/* Every minute something ends the job, and nothing is ever written. */
static void a_run_that_makes_no_progress_has_no_days(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const sets[SETS_MAX] = {
        "run.failures={failures: inline, counts: interruptions, classes: [{name: a, of: job, rate: "
        "{mttf: 1 min}}]}"};
    const struct result *result = predict(arena, sets, 1);
    assert_true(result->run.makes_no_progress);
    assert_false(result_has_run(result));
    assert_int_equal(result->run.failure_count, 0);
    arena_free(arena);
}

/* Enough is enough: fewer histories for a coarse mean, and no more than `repetitions`. */
static void a_precision_ends_the_drawing(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const sets[SETS_MAX] = {ONE_CLASS, "run.precision=1 %", "run.repetitions=4096"};
    const struct run_result *coarse = &predict(arena, sets, 3)->run;
    assert_true(coarse->repetitions < 4096);
    assert_true(coarse->days_spread.error <= 0.01 * coarse->days_spread.mean);
    const char *const fine[SETS_MAX] = {ONE_CLASS, "run.precision=1e-6", "run.repetitions=32"};
    assert_int_equal(predict(arena, fine, 3)->run.repetitions, 32);
    arena_free(arena);
}

static struct history_step ten_seconds(void *context, const struct history_regime *regime)
{
    (void)context;
    (void)regime;
    return (struct history_step){INT64_C(10000000000), 0};
}

/* Two intervals under the same failures: Llama 3's classes on 64 GPUs as if on 16,384, checkpoints
 * every 600 and every 660 s. Of the difference of goodputs the variance is at most a tenth of what
 * it is when the second is drawn with another seed. */
static void the_same_failures_make_a_difference_certain(void **state)
{
    (void)state;
    enum { HISTORIES = 200 };
    struct arena *arena = arena_new();
    const char *const sets[SETS_MAX] = {"run.failures=true"};
    const struct scenario *few = fixture_scenario(
        arena, &(struct fixture_source){
                   .path = "scenarios/quickstart.yaml", .sets = sets, .set_count = 1});
    struct scenario scenario = *few;
    scenario.gpus = 16384;
    scenario.nodes = 2048;
    struct history_stage stage = {.tiers = {{1, 0, sim_time_from_s(30), UINT32_MAX, {0}}}};
    struct history_plan plan = {.horizon = sim_time_from_s(54 * 86400.0),
                                .step_of = ten_seconds,
                                .stages = &stage,
                                .stage_count = 1,
                                .tier_count = 1,
                                .spares = 103};
    plan.classes = failing_classes(arena, &scenario, &plan.class_count);
    double sums[2] = {0};
    double squares[2] = {0};
    struct arena *own = arena_new();
    for (uint64_t i = 0; i < HISTORIES; i++) {
        double goodput[3];
        for (uint32_t k = 0; k < 3; k++) {
            struct history_outcome outcome;
            stage.period = k == 0 ? 60 : 66;
            arena_reset(own);
            history_run(own, &plan, k == 2 ? 43 : 42, i, &outcome);
            goodput[k] = (double)outcome.account_ns[ACCOUNT_USEFUL] / (double)outcome.end;
        }
        for (uint32_t k = 0; k < 2; k++) {
            const double difference = goodput[0] - goodput[1 + k];
            sums[k] += difference;
            squares[k] += difference * difference;
        }
    }
    arena_free(own);
    double variance[2];
    for (uint32_t k = 0; k < 2; k++) {
        const double mean = sums[k] / HISTORIES;
        variance[k] = squares[k] / HISTORIES - mean * mean;
    }
    assert_true(variance[0] <= 0.1 * variance[1]);
    assert_true(variance[0] > 0);
    arena_free(arena);
}

/* Instants are a class's own: in a list of two the first has those that it has alone. */
static void another_class_moves_no_failures(void **state)
{
    (void)state;
    enum { INSTANTS = 100 };
    struct arena *arena = arena_new();
    const char *const sets[SETS_MAX] = {"run.failures=true"};
    const struct scenario *all = fixture_scenario(
        arena, &(struct fixture_source){
                   .path = "scenarios/quickstart.yaml", .sets = sets, .set_count = 1});
    struct scenario one = *all;
    one.failures.kinds = &all->failures.kinds[2];
    one.failures.kind_count = 1;
    uint32_t count;
    const struct failure_class *with = failing_classes(arena, all, &count);
    assert_int_equal(count, 18);
    const struct failure_class *alone = failing_classes(arena, &one, &count);
    struct failure_times times[2];
    const struct rng_key key = {.seed = 42, .rank = 7};
    failure_times_begin(&times[0], arena, &with[2], key, INT64_MAX / 2);
    failure_times_begin(&times[1], arena, &alone[0], key, INT64_MAX / 2);
    for (uint32_t i = 0; i < INSTANTS; i++) {
        assert_int_equal(times[0].next, times[1].next);
        failure_times_advance(&times[0], arena);
        failure_times_advance(&times[1], arena);
    }
    arena_free(arena);
}

/* Classes of 512 H100 on 64 nodes: components, what falls with each, what a check changes. */
static void classes_follow_from_the_cluster(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const sets[SETS_MAX] = {
        "gpus=512", "batch.global=512",
        "run.failures={failures: inline, counts: hardware, classes: ["
        "{name: gpu, of: gpu, rate: {mttf: 512 h}, takes: gpu}, "
        "{name: nic, of: nic, rate: {mttf: 512 h}, takes: node}, "
        "{name: leaf, of: leaf, rate: {mttf: 16 h}, takes: leaf}, "
        "{name: bits, of: node, rate: {mttf: 64 h}, effect: corrupts, detected: corruption}, "
        "{name: disks, of: job, rate: {mttf: 1 h}, takes: file_system, effect: stops}]}",
        "run.recovery.check={every: 4 h}"};
    for (uint32_t i = 0; i < 2; i++) {
        const struct scenario *scenario = fixture_scenario(
            arena, &(struct fixture_source){
                       .path = "scenarios/quickstart.yaml", .sets = sets, .set_count = 3 + i});
        uint32_t count;
        const struct failure_class *classes = failing_classes(arena, scenario, &count);
        assert_int_equal(count, 5);
        /* 512 GPUs, 512 NICs, 2 leaves on each of 8 rails, 64 nodes, one job: one an hour each */
        for (uint32_t c = 0; c < count; c++) {
            assert_close(classes[c].clock.rate_per_s, 1.0 / 3600, 1e-12);
        }
        const uint32_t nodes[] = {1, 1, 32, 0, 0};
        const uint32_t levels[] = {1, 1, 2, 0, 3};
        for (uint32_t c = 0; c < count; c++) {
            assert_int_equal(classes[c].nodes, nodes[c]);
            assert_int_equal(classes[c].level, levels[c]);
        }
        assert_int_equal(classes[3].effect, i == 0 ? FAILURE_KILLS : FAILURE_CORRUPTS);
        /* with the check three classes end the job, without it four */
        assert_close(failing_case(scenario, classes, count, NULL, no_reads).mtbf_s,
                     3600.0 / (4 - i), 1e-12);
    }
    arena_free(arena);
}

/* 144 GPUs of GB200 are 36 trays, two NVL72 racks: one fails every 500 h, so the two every 250 h,
 * each with 18 trays. Of 160 GPUs a third rack has the last 4 trays. With tp 16 a segment is 4
 * trays, a rack holds 16, and 160 GPUs lie in 16, 16 and 8. Two nodes of Llama 3's cluster lose
 * power together. */
static void racks_and_power_domains_follow_from_the_cluster(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct {
        const char *cluster, *gpus, *tp, *of;
        double count;
        uint32_t nodes, last;
    } cases[] = {
        {"gb200-nvl72", "144", "4", "nvlink_domain", 2, 18, 18},
        {"gb200-nvl72", "160", "4", "nvlink_domain", 3, 18, 4},
        {"gb200-nvl72", "160", "16", "nvlink_domain", 3, 16, 8},
        {"gb200-nvl72", "160", "16", "power_domain", 3, 18, 4},
        {"h100-roce-24k", "160", "8", "power_domain", 10, 2, 2},
        {"h100-roce-24k", "160", "8", "nvlink_domain", 20, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const sets[] = {
            arena_printf(arena, "cluster=%s", cases[i].cluster),
            arena_printf(arena, "gpus=%s", cases[i].gpus),
            arena_printf(arena, "parallel.tp=%s", cases[i].tp),
            "batch.global=360",
            "batch.micro=1",
            arena_printf(arena,
                         "run.failures={failures: inline, counts: hardware, classes: [{name: a, "
                         "of: %s, rate: {mttf: 500 h}, takes: %s}]}",
                         cases[i].of, cases[i].of)};
        const struct scenario *scenario = fixture_scenario(
            arena, &(struct fixture_source){
                       .path = "scenarios/quickstart.yaml", .sets = sets, .set_count = 6});
        uint32_t count;
        const struct failure_class *class = failing_classes(arena, scenario, &count);
        assert_close(class->clock.rate_per_s * 500 * 3600, cases[i].count, 1e-12);
        assert_int_equal(class->domains, cases[i].count);
        assert_int_equal(class->nodes, cases[i].nodes);
        assert_int_equal(class->nodes_last, cases[i].last);
        assert_int_equal(class->level, 2);
        assert_true(class->are_repaired_as_one);
    }
    arena_free(arena);
}

/* Of what ages, the mean time to the first failure is the one that is said, so that the scale of
 * Weibull is that over Gamma(1 + 1/shape): 512 h / 1.265823 at 0.7, 512 h / 0.886227 at 2. As many
 * fail in an hour as components over their mean, which is what formulas take. */
static void a_clock_that_ages_has_the_mean_that_is_said(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const sets[SETS_MAX] = {
        "gpus=512", "batch.global=512",
        "run.failures={failures: inline, counts: hardware, classes: ["
        "{name: new, of: gpu, rate: {mttf: 512 h}, ageing: renewed, shape: 0.7}, "
        "{name: old, of: gpu, rate: {mttf: 512 h}, ageing: repaired, shape: 2, age: 100 h}]}",
        "run.recovery.restart={mean: 5 min, law: lognormal, shape: 1.5}"};
    const struct scenario *scenario = fixture_scenario(
        arena, &(struct fixture_source){
                   .path = "scenarios/quickstart.yaml", .sets = sets, .set_count = 4});
    uint32_t count;
    const struct failure_class *classes = failing_classes(arena, scenario, &count);
    assert_close(classes[0].clock.scale_s, 512 * 3600 / 1.2658235060572837, 1e-9);
    assert_close(classes[1].clock.scale_s, 512 * 3600 / 0.8862269254527579, 1e-9);
    assert_int_equal(classes[0].clock.kind, CLOCK_RENEWED);
    assert_int_equal(classes[1].clock.kind, CLOCK_REPAIRED);
    for (uint32_t i = 0; i < count; i++) {
        assert_close(classes[i].clock.components, 512, 1e-12);
    }
    assert_close(classes[1].clock.age_s, 100 * 3600, 1e-12);
    const struct interval_case of = failing_case(scenario, classes, count, NULL, no_reads);
    assert_close(of.mtbf_s, 1800, 1e-9);
    assert_int_equal(of.restart.kind, LAW_LOGNORMAL);
    assert_close(of.restart.shape, 1.5, 1e-12);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histories_are_as_good_as_the_formula_says),
        cmocka_unit_test(what_survived_is_read_and_what_did_not_is_lost),
        cmocka_unit_test(what_replicas_hold_is_not_done_again),
        cmocka_unit_test(half_of_the_leaves_take_all_copies),
        cmocka_unit_test(a_stated_restart_is_all_of_it),
        cmocka_unit_test(without_a_failure_days_are_steps_and_checkpoints),
        cmocka_unit_test(without_a_failure_a_flush_costs_what_it_costs),
        cmocka_unit_test(what_is_late_is_waited_for_alike),
        cmocka_unit_test(what_is_late_in_the_middle_is_waited_for),
        cmocka_unit_test(fewer_replicas_are_simulated_and_go_on),
        cmocka_unit_test(a_slow_gpu_is_simulated_on_each_stage),
        cmocka_unit_test(a_weak_link_is_endured_or_replaced),
        cmocka_unit_test(a_run_that_makes_no_progress_has_no_days),
        cmocka_unit_test(a_precision_ends_the_drawing),
        cmocka_unit_test(the_same_failures_make_a_difference_certain),
        cmocka_unit_test(another_class_moves_no_failures),
        cmocka_unit_test(classes_follow_from_the_cluster),
        cmocka_unit_test(racks_and_power_domains_follow_from_the_cluster),
        cmocka_unit_test(a_clock_that_ages_has_the_mean_that_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
