/* What a run waits for its data, by kind of storage, against sums done by hand. Quickstart: 64 H100
 * on 8 nodes, tp 2, dp 32; a step of 256 x 8,192 = 2,097,152 tokens in 8 microbatches a replica. */
#include "run/run.h"

#include "base/arena.h"
#include "hw/fabric.h"
#include "input/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/assert_close.h"
#include "support/fixture.h"

enum { SETS_MAX = 8 };

#define STEP_TOKENS INT64_C(2097152)

static struct scenario *quickstart(struct arena *arena, const char *const sets[SETS_MAX])
{
    return fixture_file(arena, "scenarios/quickstart.yaml", sets);
}

static double step_s(const struct result *result)
{
    return (double)result->step.step_ns * 1e-9;
}

/* 10 steps of 4 that are an epoch: two ends. At each a worker is 5 s without anything to do and
 * then makes a batch for 1 s; workers that live on lose the second alone. */
static void an_epochs_end_is_a_start_of_loaders(void **state)
{
    for (uint32_t i = 0; i < 2; i++) {
        const char *const sets[SETS_MAX] = {
            "data.time_per_sample=1 s",
            "data.bytes_per_token=0 B",
            "data.workers_per_gpu=4",
            "run.checkpoint=off",
            "data.tokens=8388608",
            i == 0 ? "data.worker_start=5 s" : "data.persistent_workers=true"};
        struct scenario *scenario = quickstart(*state, sets);
        scenario->run_tokens = 10.0 * (double)STEP_TOKENS;
        const struct result *result = fixture_predict(*state, scenario);
        const double each_s = i == 0 ? 6 : 1;
        assert_close(result->run.data_stall_s, 2 * each_s / 10, 1e-6);
        assert_close(step_s(result),
                     step_s(fixture_predict(*state, quickstart(*state, NULL))) + 0.2 * each_s,
                     1e-6);
    }
}

/* Four epochs of 1e9 tokens, 50 TB, half of which each host keeps: of the bytes of three of them
 * half are not read, of all of them 37.5 %. Steps that take as long as they read take 62.5 % of
 * it. */
static void later_epochs_are_read_from_page_caches(void **state)
{
    const char *const sets[SETS_MAX] = {
        "data.time_per_sample=0 s", "data.bytes_per_token=50 kB", "cluster.storage.read=10 GB/s",
        "data.tokens=1e9",          "data.page_cache=25 TB",      "cluster.host.memory=40 TB"};
    struct scenario *scenario = quickstart(*state, sets);
    scenario->run_tokens = 4e9;
    scenario->data.keeps_workers = true;
    const struct result *result = fixture_predict(*state, scenario);
    const double epochs_s = 3 * result->run.first_batch_s / (double)result->run.steps;
    assert_close(step_s(result) - epochs_s, 0.625 * 256.0 * 8192 * 50e3 / 10e9, 1e-5);
}

/* Four stages, of which the first loads: a worker that takes 2 s for each of a replica's 32
 * microbatches makes a step of 64 s. All but what training takes is lost to data, on all stages,
 * and the run is useful for no more than the step without data: 1 - goodput is the share that waits
 * for data, and that what the step is longer, with the bubble that data fills. */
static void what_stages_wait_for_data_is_no_goodput(void **state)
{
    const char *const sets[SETS_MAX] = {"parallel.pp=4", "data.workers_per_gpu=1",
                                        "data.time_per_sample=2 s", "data.bytes_per_token=0 B",
                                        "run.checkpoint=off"};
    const char *const without[SETS_MAX] = {"parallel.pp=4", "run.checkpoint=off"};
    const struct result *result = fixture_predict(*state, quickstart(*state, sets));
    const struct result *alone = fixture_predict(*state, quickstart(*state, without));
    const int64_t *causes = result->step.gpu_ns;
    const double all_ns = 64 * (double)result->step.step_ns;
    const int64_t less_bubble_ns = alone->step.gpu_ns[CAUSE_BUBBLE] - causes[CAUSE_BUBBLE];
    assert_close(step_s(result), 64, 1e-6);
    assert_true(less_bubble_ns >= 0);
    assert_close((double)causes[CAUSE_DATA_STALL],
                 64 * (double)(result->step.step_ns - alone->step.step_ns) + (double)less_bubble_ns,
                 1e-3);
    assert_true((double)causes[CAUSE_DATA_STALL] > 0.9 * all_ns);
    assert_close(1 - result->run.goodput, (double)causes[CAUSE_DATA_STALL] / all_ns, 1e-4);
    assert_non_null(strstr(result->step.bound_by, "data stall"));
    /* Nothing but steps, of which most is a wait for data: all of the time is training. */
    const double *account_s = result->run.account_s;
    const double steps_s = account_s[ACCOUNT_USEFUL] + account_s[ACCOUNT_DATA_STALL];
    assert_true(account_s[ACCOUNT_DATA_STALL] > 9 * account_s[ACCOUNT_USEFUL]);
    assert_close(result->run.effective_training_time_ratio, steps_s / account_sum_s(account_s),
                 1e-9);
    assert_true(result->run.effective_training_time_ratio > 0.99);
}

/* 13.1 GB a step from a node's own drives, at 1 GB/s of each: 13.1 s, whatever the file system. */
static void drives_are_read_by_their_own_node(void **state)
{
    const char *const sets[SETS_MAX] = {"data.time_per_sample=0 s",
                                        "data.bytes_per_token=50 kB",
                                        "cluster.storage.read=1 GB/s",
                                        "cluster.storage.local_write=1 GB/s",
                                        "cluster.storage.local_read=1 GB/s",
                                        "data.from=local",
                                        "run.checkpoint=off"};
    const struct result *result = fixture_predict(*state, quickstart(*state, sets));
    assert_close(step_s(result), 256.0 * 8192 * 50e3 / 8e9, 1e-6);
    assert_non_null(strstr(result->step.bound_by, link_titles[LINK_LOCAL_READ]));
}

/* 256 sequences of a file each, at 20 requests a second of all nodes: 12.8 s a step. */
static void an_object_store_is_as_fast_as_its_requests(void **state)
{
    const char *const sets[SETS_MAX] = {"data.time_per_sample=0 s", "data.bytes_per_token=0 B",
                                        "cluster.storage.kind=object-store",
                                        "cluster.storage.requests=20", "run.checkpoint=off"};
    const struct result *result = fixture_predict(*state, quickstart(*state, sets));
    assert_close(step_s(result), 12.8, 1e-5);
}

/* Reads keep the servers of the file system busy all the time: 112.4 GB of a checkpoint, at 10 GB/s
 * if alone, make the steps beside which they are flushed longer by all of their 11.24 s. The copy
 * before, 28 ms, is made while everybody waits for data. */
static void a_flush_beside_reads_costs_all_that_it_takes(void **state)
{
    const char *const sets[SETS_MAX] = {
        "data.time_per_sample=0 s",       "data.bytes_per_token=50 kB",
        "cluster.storage.read=10 GB/s",   "cluster.storage.write=10 GB/s",
        "cluster.storage.network=fabric", "run.checkpoint.every=5000 steps"};
    const struct result *result = fixture_predict(*state, quickstart(*state, sets));
    assert_close(step_s(result), 256.0 * 8192 * 50e3 / 10e9, 1e-6);
    assert_close(result->run.checkpoint_s, result->run.checkpoint_bytes / 10e9, 1e-6);
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
        TEST(an_epochs_end_is_a_start_of_loaders),
        TEST(later_epochs_are_read_from_page_caches),
        TEST(what_stages_wait_for_data_is_no_goodput),
        TEST(drives_are_read_by_their_own_node),
        TEST(an_object_store_is_as_fast_as_its_requests),
        TEST(a_flush_beside_reads_costs_all_that_it_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
