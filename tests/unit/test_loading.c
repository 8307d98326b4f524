/* Which ranks load data, and how many of them share a node. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "input/job/parallel.h"
#include "input/scenario.h"
#include "plan/loading.h"

#include "support/assert_close.h"

static struct scenario scenario_of(int64_t tp, int64_t cp, int64_t dp, int64_t pp)
{
    return (struct scenario){
        .parallel = {.tp = tp,
                     .cp = cp,
                     .dp = dp,
                     .pp = pp,
                     .ep = 1,
                     .etp = tp,
                     .zero_group = cp * dp,
                     .order = {AXIS_TP, AXIS_CP, AXIS_EP, AXIS_DP, AXIS_PP}},
        .cluster = {.gpus_per_node = 8},
        .batch = {.micro = 2, .sequence_length = 1000},
        .data = {.is_enabled = true,
                 .workers_per_gpu = 3,
                 .prefetch = 4,
                 .bytes_per_token = 5,
                 .memory_per_worker_bytes = 1e9},
    };
}

/* A replica of tp x cp ranks of the first stage has one that loads: 8 / (tp x cp) on a node of
 * that stage, at least one; stages do not thin them out, since a stage's ranks are neighbours. */
static void one_rank_of_each_replica_loads(void **state)
{
    (void)state;
    const struct {
        int64_t tp, cp, dp, pp, expected;
    } cases[] = {{1, 1, 64, 1, 8}, {2, 1, 32, 1, 4}, {1, 8, 8, 1, 1},  {2, 2, 16, 1, 2},
                 {8, 1, 8, 1, 1},  {4, 8, 2, 1, 1},  {1, 1, 8, 8, 8},  {2, 1, 2, 8, 2},
                 {1, 1, 1, 64, 1}, {1, 1, 4, 1, 4},  {1, 2, 16, 2, 4}, {1, 16, 4, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct scenario scenario =
            scenario_of(cases[i].tp, cases[i].cp, cases[i].dp, cases[i].pp);
        const struct loading_job job = loading_job_of(&scenario);
        assert_int_equal(loading_ranks_of_node(&job), cases[i].expected);
    }
}

/* In the order tp-pp-cp-ep-dp the four stages of a replica are neighbours, two replicas a node. */
static void neighbouring_stages_leave_room_for_fewer(void **state)
{
    (void)state;
    struct scenario scenario = scenario_of(1, 1, 16, 4);
    const struct loading_job job = loading_job_of(&scenario);
    assert_int_equal(loading_ranks_of_node(&job), 8);
    const uint8_t order[AXIS_COUNT_] = {AXIS_TP, AXIS_PP, AXIS_CP, AXIS_EP, AXIS_DP};
    for (uint32_t i = 0; i < AXIS_COUNT_; i++) {
        scenario.parallel.order[i] = order[i];
    }
    assert_int_equal(loading_ranks_of_node(&job), 2);
}

static void nobody_loads_without_data(void **state)
{
    (void)state;
    struct scenario scenario = scenario_of(1, 1, 64, 1);
    scenario.data.is_enabled = false;
    const struct loading_job job = loading_job_of(&scenario);
    assert_int_equal(loading_ranks_of_node(&job), 0);
    assert_close(loading_host_bytes(&job), 0, 0);
}

/* A queue: 4 microbatches of 2 x 1000 tokens of 5 B = 40,000 B. Four loaders of tp 2 with three
 * workers each: 12 x (1e9 + 40,000) B. */
static void workers_and_their_queues_take_host_memory(void **state)
{
    (void)state;
    const struct scenario scenario = scenario_of(2, 1, 32, 1);
    const struct loading_job job = loading_job_of(&scenario);
    assert_close(loading_queue_bytes(&job), 40000, 1e-12);
    assert_close(loading_host_bytes(&job), 12 * 1.00004e9, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_of_each_replica_loads),
        cmocka_unit_test(neighbouring_stages_leave_room_for_fewer),
        cmocka_unit_test(nobody_loads_without_data),
        cmocka_unit_test(workers_and_their_queues_take_host_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
