/* Steps with their loaders beside them, simulated by one engine, against sums done by hand.
 * Quickstart: 64 H100 on 8 nodes, tp 2, dp 32, 8 microbatches of one sequence a step of 3.8 s. */
#include "train/loading/step_loaded.h"

#include "base/arena.h"
#include "plan/memory/memory.h"
#include "run/loading.h"
#include "run/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hw/fabric.h"
#include "support/assert_close.h"
#include "support/fixture.h"

enum { SETS_MAX = 16, GPUS = 64 };

#define SECOND INT64_C(1000000000)

static struct scenario *quickstart(struct arena *arena, const char *const sets[SETS_MAX])
{
    return fixture_file(arena, "scenarios/quickstart.yaml", sets);
}

/* With its loaders, or, NULL, without. */
static struct step_result simulate(struct arena *arena, const struct scenario *scenario, bool folds,
                                   const struct loading *loading, double flush_bytes)
{
    struct step_result step;
    const struct ensemble_member member = {(uint64_t)scenario->seed, 0};
    const struct step_request request = {.folds = folds,
                                         .member = &member,
                                         .flush_bytes = flush_bytes,
                                         .is_checkpoint_async = flush_bytes > 0,
                                         .loaders = loading != NULL ? &loading->loaders : NULL};
    step_simulate(arena, scenario, &request, &step);
    return step;
}

static const struct loading *find(struct arena *arena, const struct scenario *scenario)
{
    struct loading *loading = arena_alloc(arena, sizeof *loading);
    const struct step_result alone = simulate(arena, scenario, true, NULL, 0);
    *loading = loading_of(arena, scenario, alone.step_ns);
    assert_true(loading->are_beside);
    return loading;
}

static void assert_same_causes(const struct step_result *a, const struct step_result *b)
{
    assert_int_equal(a->step_ns, b->step_ns);
    for (uint32_t c = 0; c < CAUSE_COUNT_; c++) {
        assert_int_equal(a->gpu_ns[c], b->gpu_ns[c]);
    }
}

/* W workers that take t for a sequence make 8 in 8 t / W: that is the step, to the nanosecond, if
 * it is longer than what trains; simulated for one rank of a kind or for every GPU. */
static void slow_workers_set_the_pace(void **state)
{
    const struct {
        const char *workers, *time;
        int64_t step_ns;
    } cases[] = {{"data.workers_per_gpu=1", "data.time_per_sample=1 s", 8 * SECOND},
                 {"data.workers_per_gpu=2", "data.time_per_sample=3 s", 12 * SECOND},
                 {"data.workers_per_gpu=3", "data.time_per_sample=6 s", 16 * SECOND},
                 {"data.workers_per_gpu=7", "data.time_per_sample=10.5 s", 12 * SECOND},
                 {"data.workers_per_gpu=16", "data.time_per_sample=10 s", 5 * SECOND}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const sets[SETS_MAX] = {cases[i].workers, cases[i].time,
                                            "data.bytes_per_token=0 B"};
        const struct scenario *scenario = quickstart(*state, sets);
        const struct loading *loading = find(*state, scenario);
        const struct step_result folded = simulate(*state, scenario, true, loading, 0);
        assert_int_equal(folded.step_ns, cases[i].step_ns);
        assert_true(folded.gpu_ns[CAUSE_DATA_STALL] > 0);
        const struct step_result full = simulate(*state, scenario, false, loading, 0);
        assert_same_causes(&folded, &full);
    }
}

/* One GPU by itself has no link and no transfer beside those of its loader. A worker that takes 3 s
 * makes its eight sequences in 24 s. */
static void a_gpu_by_itself_waits_for_its_loader(void **state)
{
    const char *const sets[SETS_MAX] = {"gpus=1",
                                        "parallel={tp: 1, zero: 0}",
                                        "batch.global=8",
                                        "data.workers_per_gpu=1",
                                        "data.time_per_sample=3 s",
                                        "data.bytes_per_token=0 B"};
    const struct scenario *scenario = quickstart(*state, sets);
    const struct loading *loading = find(*state, scenario);
    const struct step_result step = simulate(*state, scenario, true, loading, 0);
    assert_int_equal(step.step_ns, 24 * SECOND);
    assert_true(step.gpu_ns[CAUSE_DATA_STALL] > 0);
}

/* Loaders that keep up leave the step as it is, cause by cause. */
static void loaders_that_keep_up_change_nothing(void **state)
{
    const char *const sets[SETS_MAX] = {"data.time_per_sample=300 ms", "data.bytes_per_token=0 B",
                                        "data.workers_per_gpu=4"};
    const struct scenario *scenario = quickstart(*state, sets);
    const struct step_result alone = simulate(*state, scenario, true, NULL, 0);
    struct loading loading = loading_of(*state, scenario, alone.step_ns);
    assert_int_equal(loading.stall_ns, 0);
    const struct step_result beside = simulate(*state, scenario, true, &loading, 0);
    assert_same_causes(&beside, &alone);
}

/* One worker, two batches ahead, made in p each; a step's eight are trained on faster than that,
 * one in 0.46 s, but a checkpoint that blocks at its end lets the queue fill. Two are there when
 * the step begins, the next is asked for as the first is taken: the last of eight is there 6 p
 * after that, so that a p longer by 10 ms makes the step longer by 60. All of it ends before the
 * next step as long as 8 p are less than the step. */
static void a_queue_is_as_long_as_it_is(void **state)
{
    const char *const sets[SETS_MAX] = {
        "data.time_per_sample=900 ms",   "data.prefetch=2",
        "data.bytes_per_token=0 B",      "data.workers_per_gpu=1",
        "cluster.storage.write=30 GB/s", "run.checkpoint.mode=blocking"};
    struct scenario *scenario = quickstart(*state, sets);
    const struct memory_job memory = memory_job_of(scenario);
    const struct ensemble_member member = {(uint64_t)scenario->seed, 0};
    int64_t step_ns[3];
    for (uint32_t i = 0; i < 3; i++) {
        const struct loading *loading = find(*state, scenario);
        const struct step_loaders loaders = {loading->loaders.of, false};
        const struct step_request request = {.folds = true,
                                             .member = &member,
                                             .checkpoint_bytes =
                                                 memory_checkpoint_bytes(&memory, NULL),
                                             .loaders = &loaders};
        struct step_result step;
        step_simulate(*state, scenario, &request, &step);
        step_ns[i] = step.step_ns;
        assert_true(step.step_ns > 8 * loading->loaders.of.batch_ns);
        scenario->data.time_per_sample_s += 10e-3;
    }
    assert_int_equal(step_ns[1] - step_ns[0], 60000000);
    assert_int_equal(step_ns[2] - step_ns[1], 60000000);
}

/* A loader keeps up in the mean that makes 32 batches in 98 % of a step of 32; but a pipeline of
 * four takes them in the 32 of 35 parts in which it is not filled or drained, faster than that. */
static void a_pipeline_outruns_loaders_that_keep_up_in_the_mean(void **state)
{
    const char *const sets[SETS_MAX] = {"parallel.pp=4", "data.prefetch=1",
                                        "data.bytes_per_token=0 B", "data.workers_per_gpu=1"};
    struct scenario *scenario = quickstart(*state, sets);
    const struct step_result alone = simulate(*state, scenario, true, NULL, 0);
    scenario->data.time_per_sample_s =
        0.98e-9 * (double)alone.step_ns / (double)scenario->batch.microbatches;
    const struct loading *loading = find(*state, scenario);
    assert_int_equal(loading->stall_ns, 0);
    const struct step_result step = simulate(*state, scenario, true, loading, 0);
    assert_true(step.gpu_ns[CAUSE_DATA_STALL] > 0);
    assert_true(step.step_ns > alone.step_ns);
}

/* Two stages of 32 ranks: the first waits for data, the second for the first, and that is data's,
 * too. 16 microbatches of 5 s take 2 workers 40 s; all that the step is longer than without data,
 * and what there is less of bubble, GPUs of both stages wait for data, to some ms: collectives in
 * idle time interfere less. */
static void both_stages_wait_for_data(void **state)
{
    const char *const sets[SETS_MAX] = {"parallel.pp=2", "data.time_per_sample=5 s",
                                        "data.bytes_per_token=0 B", "data.workers_per_gpu=2"};
    const struct scenario *scenario = quickstart(*state, sets);
    assert_int_equal(scenario->batch.microbatches, 16);
    const struct loading *loading = find(*state, scenario);
    const struct step_result alone = simulate(*state, scenario, true, NULL, 0);
    const struct step_result step = simulate(*state, scenario, true, loading, 0);
    assert_int_equal(step.step_ns, 40 * SECOND);
    assert_true(step.gpu_ns[CAUSE_BUBBLE] <= alone.gpu_ns[CAUSE_BUBBLE]);
    const int64_t less_ns = alone.gpu_ns[CAUSE_BUBBLE] - step.gpu_ns[CAUSE_BUBBLE];
    const int64_t longer_ns = GPUS * (step.step_ns - alone.step_ns);
    const double stall_s = (double)step.gpu_ns[CAUSE_DATA_STALL] * 1e-9 / GPUS;
    assert_close(stall_s, (double)(longer_ns + less_ns) * 1e-9 / GPUS, 1e-3);
    const struct step_result full = simulate(*state, scenario, false, loading, 0);
    assert_same_causes(&step, &full);
}

/* 256 sequences of 8,192 x 50 kB are 104.9 GB a step, from a file system of 10 GB/s: 10.49 s. A
 * checkpoint's flush of 60 GB beside each step, at 20 GB/s if alone, takes 3 s more of its servers'
 * time: 13.49 s. Nodes' links, 8 x 10 GB/s, hold nobody up. */
static void reads_share_the_file_system_with_a_flush(void **state)
{
    const char *const sets[SETS_MAX] = {
        "data.time_per_sample=0 s", "data.bytes_per_token=50 kB", "cluster.storage.read=10 GB/s",
        "cluster.storage.write=20 GB/s", "cluster.storage.per_node=10 GB/s"};
    const struct scenario *scenario = quickstart(*state, sets);
    const struct loading *loading = find(*state, scenario);
    const double read_s = 256.0 * 8192 * 50e3 / 10e9;
    const struct step_result alone = simulate(*state, scenario, true, loading, 0);
    assert_close((double)alone.step_ns * 1e-9, read_s, 1e-6);
    const struct step_result beside = simulate(*state, scenario, true, loading, 60e9);
    assert_close((double)beside.step_ns * 1e-9, read_s + 3, 1e-6);
}

/* Over the fabric, too, 104.9 GB take a file system of 8 GB/s 13.11 s, and one of 9.8 GB/s 10.70 s:
 * longer than what trains, by some 30 % and by 1 %. A queue that is full at the beginning drains
 * over up to 64 steps, each as long as the one before and shorter than what the file system lets
 * through: these are not those that come for ever. */
static void steps_are_not_shorter_than_what_is_read_in_them(void **state)
{
    const struct {
        const char *read, *prefetch;
        double read_s;
    } cases[] = {
        {"cluster.storage.read=8 GB/s", "data.prefetch=8", 256.0 * 8192 * 50e3 / 8e9},
        {"cluster.storage.read=8 GB/s", "data.prefetch=64", 256.0 * 8192 * 50e3 / 8e9},
        {"cluster.storage.read=9.8 GB/s", "data.prefetch=8", 256.0 * 8192 * 50e3 / 9.8e9},
        {"cluster.storage.read=9.8 GB/s", "data.prefetch=64", 256.0 * 8192 * 50e3 / 9.8e9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const sets[SETS_MAX] = {"data.time_per_sample=0 s",
                                            "data.bytes_per_token=50 kB",
                                            "cluster.storage.network=fabric",
                                            "cluster.nics.bandwidth=10 Gbps",
                                            "data.workers_per_gpu=2",
                                            cases[i].read,
                                            cases[i].prefetch};
        const struct scenario *scenario = quickstart(*state, sets);
        const struct loading *loading = find(*state, scenario);
        const struct step_result step = simulate(*state, scenario, true, loading, 0);
        assert_close((double)step.step_ns * 1e-9, cases[i].read_s, 1e-3);
        assert_true((double)step.step_ns * 1e-9 > cases[i].read_s * (1 - 1e-9));
    }
}

/* 10 GB/s let through what is read in 10.49 s, which is 1 % less than the step: queues are full,
 * however long, and no GPU waits. Empty ones would fill for hundreds of steps. */
static void queues_that_would_fill_are_full(void **state)
{
    const char *const prefetch[] = {"data.prefetch=8", "data.prefetch=64"};
    int64_t step_ns[2];
    for (size_t i = 0; i < 2; i++) {
        const char *const sets[SETS_MAX] = {"data.time_per_sample=0 s",
                                            "data.bytes_per_token=50 kB",
                                            "cluster.storage.network=fabric",
                                            "cluster.nics.bandwidth=10 Gbps",
                                            "cluster.storage.read=10 GB/s",
                                            "data.workers_per_gpu=2",
                                            prefetch[i]};
        const struct scenario *scenario = quickstart(*state, sets);
        const struct loading *loading = find(*state, scenario);
        const struct step_result step = simulate(*state, scenario, true, loading, 0);
        step_ns[i] = step.step_ns;
        assert_int_equal(step.gpu_ns[CAUSE_DATA_STALL], 0);
    }
    assert_int_equal(step_ns[0], step_ns[1]);
}

/* Nodes' links, 1 GB/s for what goes in and out, are the narrower: 104.9 / 8 GB of reads and 60 / 8
 * of a flush cross each. */
static void reads_share_a_nodes_link_with_a_flush(void **state)
{
    const char *const sets[SETS_MAX] = {
        "data.time_per_sample=0 s", "data.bytes_per_token=50 kB", "cluster.storage.read=100 GB/s",
        "cluster.storage.write=100 GB/s", "cluster.storage.per_node=1 GB/s"};
    const struct scenario *scenario = quickstart(*state, sets);
    const struct loading *loading = find(*state, scenario);
    const struct step_result beside = simulate(*state, scenario, true, loading, 60e9);
    assert_close((double)beside.step_ns * 1e-9, (256.0 * 8192 * 50e3 + 60e9) / 8e9, 1e-6);
}

/* Over the fabric a loader reads by its GPU's NIC, which reduces gradients as well. Of a replica of
 * two GPUs one loads: its NIC takes 8 x 8,192 x 0.1 MB = 6.55 GB of data in a step and the
 * 32nd-part-less gradients and parameters that arrive at it anyway. Steps can be no shorter than
 * its bytes take, nor than those take by themselves. */
static void reads_share_nics_with_collectives(void **state)
{
    const char *const sets[SETS_MAX] = {"data.time_per_sample=0 s",
                                        "data.bytes_per_token=100 kB",
                                        "cluster.storage.read=10 TB/s",
                                        "cluster.storage.per_node=10 TB/s",
                                        "cluster.storage.network=fabric",
                                        "cluster.nics.bandwidth=10 Gbps",
                                        "software.communication.staging=1 PB/s",
                                        "data.workers_per_gpu=2"};
    const struct scenario *scenario = quickstart(*state, sets);
    const struct loading *loading = find(*state, scenario);
    struct scenario *dry = quickstart(*state, sets);
    dry->data.is_enabled = false;
    const struct step_result alone = simulate(*state, dry, true, NULL, 0);
    const struct step_result step = simulate(*state, scenario, true, loading, 0);
    const struct step_result full = simulate(*state, scenario, false, loading, 0);
    assert_same_causes(&step, &full);
    const double nic = 10e9 / 8 * scenario->cluster.nic_efficiency;
    double arrives = 0;
    for (uint32_t i = 0; i < alone.link_load_count; i++) {
        arrives = strcmp(alone.link_loads[i].kind, link_titles[LINK_NIC_IN]) == 0 &&
                          alone.link_loads[i].bytes > arrives
                      ? alone.link_loads[i].bytes
                      : arrives;
    }
    assert_true(arrives > 0);
    const double read = 8 * 8192 * 100e3;
    const double step_s = (double)step.step_ns * 1e-9;
    assert_true(step_s > (double)alone.step_ns * 1e-9);
    assert_true(step_s > (read + arrives) / nic);
    assert_true(step_s < read / nic + (double)alone.step_ns * 1e-9);
}

/* Samples that are not equal are drawn for each loader; all wait for the slowest of 32, so that a
 * step takes longer than the 12 s of equal ones, the longer the more they differ; packing helps.
 * */
static void uneven_samples_make_all_wait_for_the_slowest(void **state)
{
    const char *const packed[] = {"1", "16", "16"};
    const char *const laws[] = {"data.law=exponential", "data.law=exponential", "data.law=equal"};
    int64_t step_ns[3];
    for (uint32_t i = 0; i < 3; i++) {
        const char *const sets[SETS_MAX] = {
            "data.time_per_sample=3 s", "data.bytes_per_token=0 B", "data.workers_per_gpu=2",
            laws[i], arena_printf(*state, "data.samples_per_sequence=%s", packed[i])};
        const struct scenario *scenario = quickstart(*state, sets);
        const struct loading *loading = find(*state, scenario);
        step_ns[i] = simulate(*state, scenario, true, loading, 0).step_ns;
    }
    assert_true(step_ns[0] > step_ns[1] + SECOND);
    assert_true(step_ns[1] > step_ns[2] + SECOND / 2);
    assert_int_equal(step_ns[2], 12 * SECOND);
}

/* A long queue costs no more than a short one, where loaders keep up: it is full, and they read for
 * each batch that is taken another one. */
static void a_long_queue_is_full(void **state)
{
    int64_t step_ns[2];
    for (uint32_t i = 0; i < 2; i++) {
        const char *const sets[SETS_MAX] = {
            "data.time_per_sample=0 s",        "data.bytes_per_token=50 kB",
            "cluster.storage.network=fabric",  "cluster.storage.read=10 TB/s",
            "cluster.storage.per_node=1 TB/s", "cluster.nics.bandwidth=10 Gbps",
            "data.workers_per_gpu=16",         i == 0 ? "data.prefetch=2" : "data.prefetch=64"};
        const struct scenario *scenario = quickstart(*state, sets);
        const struct loading *loading = find(*state, scenario);
        assert_int_equal(loading->stall_ns, 0);
        step_ns[i] = simulate(*state, scenario, true, loading, 0).step_ns;
    }
    assert_int_equal(step_ns[0], step_ns[1]);
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
        TEST(slow_workers_set_the_pace),
        TEST(a_gpu_by_itself_waits_for_its_loader),
        TEST(loaders_that_keep_up_change_nothing),
        TEST(a_queue_is_as_long_as_it_is),
        TEST(a_pipeline_outruns_loaders_that_keep_up_in_the_mean),
        TEST(both_stages_wait_for_data),
        TEST(reads_share_the_file_system_with_a_flush),
        TEST(steps_are_not_shorter_than_what_is_read_in_them),
        TEST(queues_that_would_fill_are_full),
        TEST(reads_share_a_nodes_link_with_a_flush),
        TEST(reads_share_nics_with_collectives),
        TEST(uneven_samples_make_all_wait_for_the_slowest),
        TEST(a_long_queue_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
