/* The DataLoader against its closed forms (times in milliseconds of simulated time). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <math.h>

#include <cmocka.h>

#include "base/arena.h"
#include "hw/dataloader.h"

#define SECOND INT64_C(1000000000)

static struct dataloader_outcome run(uint32_t workers, uint32_t prefetch, int64_t batch_ms,
                                     uint32_t steps)
{
    struct arena *arena = arena_new();
    const struct dataloader_options options = {.workers = workers,
                                               .prefetch = prefetch,
                                               .cores = 256,
                                               .loaders = 1,
                                               .batch_ns = batch_ms * (SECOND / 1000)};
    struct dataloader_outcome outcome;
    dataloader_run(arena, &options, SECOND, steps, &outcome);
    arena_free(arena);
    return outcome;
}

/* Batches of 1 s, steps of 0.25 s. */
static struct dataloader_outcome run_node(uint32_t cores, uint32_t loaders, uint32_t workers,
                                          uint32_t mains, uint32_t steps)
{
    struct arena *arena = arena_new();
    const struct dataloader_options options = {.workers = workers,
                                               .prefetch = 2,
                                               .cores = cores,
                                               .loaders = loaders,
                                               .mains = mains,
                                               .batch_ns = SECOND};
    struct dataloader_outcome outcome;
    dataloader_run(arena, &options, SECOND / 4, steps, &outcome);
    arena_free(arena);
    return outcome;
}

/* 1,000 steps of 1 s: W=1 tau .5 -> .5 + 1000; W=2 tau 1.5 -> 1.5 + 1000; W=2 tau 2 -> 2 + 1000;
 * W=2 tau 3 -> 3 * 500 + 2 = 1502; W=4 tau 6 -> 6 * 250 + 4 = 1504; W=0 tau .3 -> 1000 * 1.3. */
static void the_oracle_cases_come_out_for_any_prefetch(void **state)
{
    (void)state;
    const struct {
        uint32_t workers;
        int64_t batch_ms;
        int64_t total_ms;
    } cases[] = {{1, 500, 1000500},  {2, 1500, 1001500}, {2, 2000, 1002000},
                 {2, 3000, 1502000}, {4, 6000, 1504000}, {0, 300, 1300000}};
    for (uint32_t i = 0; i < 6; i++) {
        for (uint32_t prefetch = 1; prefetch <= 2; prefetch++) {
            const struct dataloader_outcome outcome =
                run(cases[i].workers, prefetch, cases[i].batch_ms, 1000);
            assert_int_equal(outcome.total_ns, cases[i].total_ms * (SECOND / 1000));
        }
    }
}

/* tau <= W T: tau + N T; else tau ceil(N/W) + ((N-1) mod W + 1) T. */
static void the_closed_form_holds_for_many_shapes(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 6; workers++) {
        for (int64_t batch_ms = 250; batch_ms <= 9000; batch_ms += 875) {
            for (uint32_t steps = 1; steps <= 50; steps += 7) {
                const int64_t n = steps;
                const int64_t w = workers;
                const int64_t expected_ms =
                    batch_ms <= w * 1000 ? batch_ms + n * 1000
                                         : batch_ms * ((n + w - 1) / w) + ((n - 1) % w + 1) * 1000;
                assert_int_equal(run(workers, 2, batch_ms, steps).total_ns,
                                 expected_ms * (SECOND / 1000));
            }
        }
    }
}

/* At most prefetch * workers batches are ahead of the consumer. */
static void the_buffer_is_bounded(void **state)
{
    (void)state;
    assert_int_equal(run(4, 2, 10, 100).buffered_max, 8);
    assert_int_equal(run(3, 1, 10, 100).buffered_max, 3);
}

static void waiting_and_working_make_up_the_total(void **state)
{
    (void)state;
    const struct dataloader_outcome outcome = run(2, 2, 3000, 100);
    assert_int_equal(outcome.total_ns, outcome.stall_ns + 100 * SECOND);
}

/* Four workers on two cores work at half speed each: as two on two, of 2 s each, when
 * all are busy: 4 batches every 4 s of 2 s of work, a step takes 1 s, so the loader keeps
 * up; of 4 s of work each, 2 cores make a batch every 2 s: 100 steps take about 200 s. */
static void workers_share_cores(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct dataloader_options options = {
        .workers = 4, .prefetch = 2, .cores = 2, .loaders = 1, .batch_ns = 4 * SECOND};
    struct dataloader_outcome outcome;
    dataloader_run(arena, &options, SECOND, 100, &outcome);
    assert_true(outcome.total_ns >= 200 * SECOND && outcome.total_ns <= 210 * SECOND);
    arena_free(arena);
}

/* Eight loaders of four workers, beside eight main processes that never rest, on c cores: a
 * worker gets the c-th part of 8 x 4 + 8 = 40 processes, at most one core, so a batch of 1 s
 * takes t = max(1, 40 / c) s. Steps of 0.25 s are done while the workers make the next four
 * (4 x 0.25 <= t): 40 batches are ten rounds of t, then four steps. */
static void loaders_and_main_processes_of_a_node_share_its_cores(void **state)
{
    (void)state;
    const struct {
        uint32_t cores;
        int64_t batch_ms;
    } cases[] = {{1, 40000}, {2, 20000}, {4, 10000}, {8, 5000},  {10, 4000},
                 {16, 2500}, {32, 1250}, {40, 1000}, {64, 1000}, {1000, 1000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int64_t expected_ms = 10 * cases[i].batch_ms + 4 * 250;
        assert_int_equal(run_node(cases[i].cores, 8, 4, 8, 40).total_ns,
                         expected_ms * (SECOND / 1000));
    }
}

/* A core more, a loader or a main process less: never slower. */
static void more_cores_for_fewer_are_never_slower(void **state)
{
    (void)state;
    for (uint32_t loaders = 1; loaders <= 8; loaders++) {
        for (uint32_t cores = 1; cores <= 48; cores++) {
            const int64_t total_ns = run_node(cores, loaders, 4, 8, 100).total_ns;
            assert_true(run_node(cores + 1, loaders, 4, 8, 100).total_ns <= total_ns);
            assert_true(run_node(cores, loaders + 1, 4, 8, 100).total_ns >= total_ns);
            assert_true(run_node(cores, loaders, 4, 7, 100).total_ns <= total_ns);
        }
    }
}

/* In-order delivery: with uneven batch times more workers never wait longer. */
static void more_workers_never_wait_longer(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    int64_t previous = INT64_MAX;
    for (uint32_t workers = 1; workers <= 8; workers *= 2) {
        const struct dataloader_options options = {.workers = workers,
                                                   .prefetch = 2,
                                                   .cores = 8,
                                                   .loaders = 1,
                                                   .batch_ns = 3 * SECOND / 2,
                                                   .law = BATCHES_LOGNORMAL,
                                                   .spread = 0.3,
                                                   .seed = 1};
        struct dataloader_outcome outcome;
        dataloader_run(arena, &options, SECOND, 500, &outcome);
        assert_true(outcome.stall_ns <= previous);
        previous = outcome.stall_ns;
    }
    arena_free(arena);
}

/* Times that spread by sigma 0.5 keep their mean: of 10,000 batches of 1 s it lies within four
 * standard errors, 4 sqrt(e^0.25 - 1) / 100 = 2.1 %; without the shift by -sigma^2 / 2 it would be
 * e^0.125 = 1.13 s. */
static void a_spread_keeps_the_mean(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct dataloader_options options = {.cores = 1,
                                               .loaders = 1,
                                               .batch_ns = SECOND,
                                               .law = BATCHES_LOGNORMAL,
                                               .spread = 0.5,
                                               .seed = 7};
    struct dataloader_outcome outcome;
    dataloader_run(arena, &options, SECOND, 10000, &outcome);
    const double mean_s = (double)outcome.stall_ns * 1e-9 / 10000;
    assert_true(mean_s > 1 - 0.0213 && mean_s < 1 + 0.0213);
    arena_free(arena);
}

/* Head-of-line blocking: exponential times of mean 1, a consumer that takes no time. Batches per
 * mean time: one worker 1; two with one batch ahead 3/2 (lead d' = max(0, s - d), E[e^-d] = 2/3);
 * the others by an independent simulation (Python), with its standard error. Equal times give W. A
 * batch's time has a standard deviation of its mean, so the rate of 200,000 batches has an error of
 * about 1 / sqrt(200,000) = 0.22 % of it or less: four of these, and four of the other's. */
static void in_order_delivery_costs_uneven_workers_what_it_should(void **state)
{
    (void)state;
    const struct {
        uint32_t workers, prefetch;
        double rate, error;
    } cases[] = {{1, 1, 1.0, 0},         {2, 1, 1.5, 0},         {2, 2, 1.6679, 0.0011},
                 {4, 1, 2.3214, 0.0008}, {4, 2, 2.8330, 0.0017}, {8, 2, 4.8875, 0.0026},
                 {8, 4, 6.0007, 0.0022}};
    const uint32_t batches = 200000;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *arena = arena_new();
        const struct dataloader_options options = {.workers = cases[i].workers,
                                                   .prefetch = cases[i].prefetch,
                                                   .cores = 64,
                                                   .loaders = 1,
                                                   .batch_ns = SECOND,
                                                   .law = BATCHES_EXPONENTIAL,
                                                   .seed = 11};
        struct dataloader_outcome outcome;
        dataloader_run(arena, &options, 0, batches, &outcome);
        const double rate = batches / ((double)outcome.total_ns * 1e-9);
        assert_true(fabs(rate - cases[i].rate) <= 4 * (cases[i].error + 0.0022 * cases[i].rate));
        arena_free(arena);
    }
}

/* Workers beyond an actor's streams are relays' streams: the closed forms hold there, too. */
static void any_number_of_workers_is_served(void **state)
{
    (void)state;
    const uint32_t counts[] = {23, 24, 25, 26, 44, 45, 100, 255, 256};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const int64_t w = counts[i];
        for (uint32_t prefetch = 1; prefetch <= 2; prefetch++) {
            const int64_t n = 3 * w + 5;
            const int64_t slow_ms = (w + 3) * 1000;
            assert_int_equal(run(counts[i], prefetch, slow_ms, (uint32_t)n).total_ns,
                             (slow_ms * ((n + w - 1) / w) + ((n - 1) % w + 1) * 1000) *
                                 (SECOND / 1000));
            assert_int_equal(run(counts[i], prefetch, w * 1000, (uint32_t)n).total_ns,
                             (w + n) * SECOND);
        }
    }
}

/* What relays pass on costs nothing: with equal draws 24 workers, streams of the consumer, and 25,
 * streams of relays, differ by what a worker more is worth and not by how they are told. */
static void relays_change_nothing(void **state)
{
    (void)state;
    int64_t stall_ns[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct arena *arena = arena_new();
        const struct dataloader_options options = {.workers = 24 + i,
                                                   .prefetch = 2,
                                                   .cores = 64,
                                                   .loaders = 1,
                                                   .batch_ns = 23 * SECOND,
                                                   .law = BATCHES_EXPONENTIAL,
                                                   .seed = 3};
        struct dataloader_outcome outcome;
        dataloader_run(arena, &options, SECOND, 3000, &outcome);
        stall_ns[i] = outcome.stall_ns;
        arena_free(arena);
    }
    assert_true(stall_ns[1] < stall_ns[0]);
    assert_true((double)stall_ns[1] > 0.8 * (double)stall_ns[0]);
}

/* Two loaders of two workers on this node, six on others: eight at a time share 800 MB/s, 50 MB/s
 * for each of 16 workers; a batch of 100 MB takes 2 s, and no more work: two workers make a batch a
 * second. Node links of 160 MB/s leave each of four 40 MB/s: 2.5 s. With work of 1 s on one core
 * each, reading and working alternate: two of four workers read while two work, if all are out of
 * step; they begin in step, so all read for 2 s, then work for 1 s. */
static void reading_shares_the_file_system_and_the_nodes_link(void **state)
{
    (void)state;
    const struct {
        int64_t node_bytes_per_s;
        int64_t work_ns;
        int64_t round_ms;
    } cases[] = {{INT64_C(1000000000), 0, 2000},
                 {INT64_C(160000000), 0, 2500},
                 {INT64_C(1000000000), SECOND, 3000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *arena = arena_new();
        const struct dataloader_options options = {.workers = 2,
                                                   .prefetch = 1,
                                                   .cores = 8,
                                                   .loaders = 2,
                                                   .batch_ns = cases[i].work_ns,
                                                   .read_bytes = 1e8,
                                                   .all_loaders = 8,
                                                   .node_bytes_per_s = cases[i].node_bytes_per_s,
                                                   .system_bytes_per_s = 800000000};
        struct dataloader_outcome outcome;
        dataloader_run(arena, &options, 0, 100, &outcome);
        assert_int_equal(outcome.total_ns, 50 * cases[i].round_ms * (SECOND / 1000));
        const double share = 100 * 1e8 * 8 / 800e6 / ((double)outcome.total_ns * 1e-9);
        assert_true(fabs(outcome.reading_share - share) < 1e-12);
        arena_free(arena);
    }
}

/* ---- storage ------------------------------------------------------------------------------- */

static sim_time total_of(const struct dataloader_options *options, uint32_t batches)
{
    struct arena *arena = arena_new();
    struct dataloader_outcome outcome;
    dataloader_run(arena, options, 0, batches, &outcome);
    arena_free(arena);
    return outcome.total_ns;
}

/* 32 loaders on 8 nodes of a store that answers 16 requests a second; a batch is 4 of them and
 * takes no work: 100 batches of each are 12,800 requests, 800 s, with any number of workers. */
static void a_store_answers_so_many_requests(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 4; workers *= 2) {
        const struct dataloader_options options = {.workers = workers,
                                                   .prefetch = 2,
                                                   .cores = 64,
                                                   .loaders = 4,
                                                   .all_loaders = 32,
                                                   .requests = 4,
                                                   .requests_per_s = 16};
        const double total_s = (double)total_of(&options, 100) * 1e-9;
        assert_true(fabs(total_s - 800) < 1e-4);
    }
}

/* A worker waits 0.2 s for the first byte and reads 100 MB at 50 MB/s, its stream's, though its
 * node had 10 GB/s; 0.8 s of work: 3 s a batch, 4 workers make 100 in 25 rounds. */
static void a_stream_is_no_faster_than_it_is(void **state)
{
    (void)state;
    const struct dataloader_options options = {.workers = 4,
                                               .prefetch = 2,
                                               .cores = 64,
                                               .loaders = 1,
                                               .batch_ns = 4 * SECOND / 5,
                                               .read_bytes = 100e6,
                                               .stream_bytes_per_s = 50000000,
                                               .first_byte_ns = SECOND / 5,
                                               .node_bytes_per_s = 10000000000,
                                               .system_bytes_per_s = 10000000000};
    assert_int_equal(total_of(&options, 100), 75 * SECOND);
}

/* One worker that fills a buffer of 9 batches hands out its first after 10 s; then one a second. */
static void a_shuffle_buffer_is_filled_before_the_first(void **state)
{
    (void)state;
    const struct dataloader_options options = {
        .workers = 1, .prefetch = 2, .cores = 4, .loaders = 1, .batch_ns = SECOND, .fills = 9};
    assert_int_equal(total_of(&options, 1), 10 * SECOND);
    assert_int_equal(total_of(&options, 50), 59 * SECOND);
}

/* Lognormal sizes of sigma 1 have a standard deviation of sqrt(e - 1) = 1.311 times their mean, of
 * one as of what is read with it; packed by 100, a tenth. Of 20,000 batches the deviation is known
 * to 10 % in the one case (its own spread, by simulation) and 1 % in the other, the mean to four
 * standard errors, 3.7 and 0.37 %. */
static void packing_evens_samples_out(void **state)
{
    (void)state;
    const struct {
        uint32_t samples;
        double deviation, error, mean_error;
    } cases[] = {{1, 1.311, 0.25, 0.037}, {100, 0.1311, 0.005, 0.0037}};
    for (uint32_t c = 0; c < 2; c++) {
        const struct dataloader_options options = {.law = BATCHES_LOGNORMAL,
                                                   .spread = 1,
                                                   .samples = cases[c].samples,
                                                   .batch_ns = SECOND,
                                                   .read_bytes = 1e9,
                                                   .seed = 5};
        double sum = 0, squares = 0;
        const uint32_t count = 20000;
        for (uint32_t i = 0; i < count; i++) {
            const struct dataloader_batch batch = dataloader_batch_of(&options, 3, i);
            const double size = (double)batch.work_ns * 1e-9;
            assert_true(fabs((double)batch.read_bytes - (double)batch.work_ns) <= 2);
            sum += size;
            squares += size * size;
        }
        const double mean = sum / count;
        assert_true(fabs(mean - 1) < cases[c].mean_error);
        assert_true(fabs(sqrt(squares / count - mean * mean) - cases[c].deviation) <
                    cases[c].error);
    }
}

/* Three requests of a batch are asked for of a storage that answers so many a second, be it one;
 * where that is any number, none is counted. First batches of workers fetch two more each. */
static void requests_are_asked_for_of_storage_that_counts_them(void **state)
{
    (void)state;
    static const int64_t rates[] = {0, 1, 1000};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        const struct dataloader_options options = {.law = BATCHES_EQUAL,
                                                   .batch_ns = SECOND,
                                                   .workers = 2,
                                                   .fills = 2,
                                                   .requests = 3,
                                                   .requests_per_s = rates[i]};
        const int64_t later = rates[i] > 0 ? 3 * (int64_t)DATALOADER_REQUEST : 0;
        assert_int_equal(dataloader_batch_of(&options, 0, 2).requests, later);
        assert_int_equal(dataloader_batch_of(&options, 0, 1).requests, 3 * later);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oracle_cases_come_out_for_any_prefetch),
        cmocka_unit_test(the_closed_form_holds_for_many_shapes),
        cmocka_unit_test(the_buffer_is_bounded),
        cmocka_unit_test(waiting_and_working_make_up_the_total),
        cmocka_unit_test(workers_share_cores),
        cmocka_unit_test(loaders_and_main_processes_of_a_node_share_its_cores),
        cmocka_unit_test(more_cores_for_fewer_are_never_slower),
        cmocka_unit_test(more_workers_never_wait_longer),
        cmocka_unit_test(a_spread_keeps_the_mean),
        cmocka_unit_test(in_order_delivery_costs_uneven_workers_what_it_should),
        cmocka_unit_test(any_number_of_workers_is_served),
        cmocka_unit_test(relays_change_nothing),
        cmocka_unit_test(reading_shares_the_file_system_and_the_nodes_link),
        cmocka_unit_test(a_store_answers_so_many_requests),
        cmocka_unit_test(a_stream_is_no_faster_than_it_is),
        cmocka_unit_test(a_shuffle_buffer_is_filled_before_the_first),
        cmocka_unit_test(packing_evens_samples_out),
        cmocka_unit_test(requests_are_asked_for_of_storage_that_counts_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
