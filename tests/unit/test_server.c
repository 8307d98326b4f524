/* Servers: both disciplines by hand, refusal, ties, counting. */
#include "des/server.h"

#include "base/arena.h"
#include "base/rng.h"
#include "support/seeds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define STAMP_KIND 5
#define TARGET 77
#define JOBS_MAX 64

struct world {
    struct event_queue *queue;
    struct server *server;
    sim_time ended[JOBS_MAX]; /* by job; -1: not yet */
    uint32_t order[JOBS_MAX]; /* jobs as they ended */
    uint32_t ended_count;
};

static struct world world_new(struct arena *arena, enum server_kind kind, uint32_t slots,
                              uint32_t capacity)
{
    struct world world = {.queue = event_queue_new(arena)};
    world.server = server_new(arena, world.queue,
                              &(struct server_options){.kind = kind,
                                                       .slots = slots,
                                                       .capacity = capacity,
                                                       .target = TARGET,
                                                       .stamp_kind = STAMP_KIND});
    for (uint32_t i = 0; i < JOBS_MAX; i++) {
        world.ended[i] = -1;
    }
    return world;
}

static int make_arena(void **state)
{
    *state = arena_new();
    return 0;
}

static int end_arena(void **state)
{
    arena_free(*state);
    return 0;
}

/* Handles all events before `time`, then moves the clock to it. */
static void run_until(struct world *world, sim_time time)
{
    event_post(world->queue, time, 0, 0);
    struct event event;
    while (event_pop(world->queue, &event) && event.target == TARGET) {
        uint32_t job = 0;
        while (server_complete(world->server, &event, &job)) {
            world->ended[job] = event.time;
            world->order[world->ended_count++] = job;
        }
    }
    assert_true(event_now(world->queue) == time);
}

static void assert_empty_run_obeys_little(const struct world *world)
{
    const struct server_statistics statistics = server_statistics(world->server);
    assert_int_equal(statistics.jobs_now, 0);
    assert_int_equal(statistics.arrivals, statistics.departures + statistics.refused);
    assert_true(statistics.integral_jobs_ns == statistics.sum_sojourn_ns);
}

static void one_slot_serves_in_order_of_arrival(void **state)
{
    /* Work 10, 5, 1 at time 0: ends 10, 15, 16. A job of 4 at 20: 24.
     * Waits 0 + 10 + 15 + 0 = 25; sojourns 10 + 15 + 16 + 4 = 45; busy 20. */
    struct world world = world_new(*state, SERVER_FIFO, 1, 0);
    assert_true(server_arrive(world.server, 0, 10));
    assert_true(server_arrive(world.server, 1, 5));
    assert_true(server_arrive(world.server, 2, 1));
    run_until(&world, 20);
    assert_true(server_arrive(world.server, 3, 4));
    run_until(&world, 100);
    const sim_time expected[] = {10, 15, 16, 24};
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(world.ended[i] == expected[i]);
    }
    const struct server_statistics statistics = server_statistics(world.server);
    assert_int_equal(statistics.sum_wait_ns, 25);
    assert_int_equal(statistics.sum_sojourn_ns, 45);
    assert_int_equal(statistics.integral_busy_ns, 20);
    assert_int_equal(statistics.jobs_max, 3);
    assert_empty_run_obeys_little(&world);
}

static void several_slots_take_the_next_job_as_they_free(void **state)
{
    /* Two slots, work 10, 4, 3, 5: job 2 begins at 4 (ends 7), job 3 at 7
     * (ends 12). Busy 10 + 4 + 3 + 5 = 22. */
    struct world world = world_new(*state, SERVER_FIFO, 2, 0);
    const sim_time works[] = {10, 4, 3, 5};
    for (uint32_t i = 0; i < 4; i++) {
        server_arrive(world.server, i, works[i]);
    }
    run_until(&world, 100);
    const sim_time expected[] = {10, 4, 7, 12};
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(world.ended[i] == expected[i]);
    }
    assert_int_equal(server_statistics(world.server).integral_busy_ns, 22);
    assert_empty_run_obeys_little(&world);
}

static void a_shorter_job_on_a_free_slot_ends_first(void **state)
{
    /* Two slots: 100 at time 0, 10 at time 5 ends at 15, before the event that
     * was pending at 100, which must still be honoured. */
    struct world world = world_new(*state, SERVER_FIFO, 2, 0);
    server_arrive(world.server, 0, 100);
    run_until(&world, 5);
    server_arrive(world.server, 1, 10);
    run_until(&world, 200);
    assert_true(world.ended[1] == 15);
    assert_true(world.ended[0] == 100);
}

static void jobs_that_end_together_end_in_order_of_beginning(void **state)
{
    /* Four slots; job 3 (work 4, at 6), 2 (6 at 4), 1 (8 at 2), 0 (10 at 0):
     * all end at 10. */
    struct world world = world_new(*state, SERVER_FIFO, 4, 0);
    for (uint32_t i = 0; i < 4; i++) {
        run_until(&world, 2 * (sim_time)i);
        server_arrive(world.server, i, 10 - 2 * (sim_time)i);
    }
    run_until(&world, 50);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(world.order[i], i);
        assert_true(world.ended[i] == 10);
    }
}

static void a_full_server_refuses(void **state)
{
    /* Capacity 2: the third of three is refused; after one left, one enters. */
    struct world world = world_new(*state, SERVER_FIFO, 1, 2);
    assert_true(server_arrive(world.server, 0, 10));
    assert_true(server_arrive(world.server, 1, 10));
    assert_false(server_arrive(world.server, 2, 10));
    run_until(&world, 11);
    assert_true(server_arrive(world.server, 3, 10));
    assert_false(server_arrive(world.server, 4, 10));
    run_until(&world, 100);
    assert_true(world.ended[2] == -1);
    assert_true(world.ended[3] == 30);
    const struct server_statistics statistics = server_statistics(world.server);
    assert_int_equal(statistics.arrivals, 5);
    assert_int_equal(statistics.refused, 2);
    assert_int_equal(statistics.jobs_max, 2);
    assert_empty_run_obeys_little(&world);
}

static void sharing_halves_the_speed_of_two(void **state)
{
    /* Work 10 at 0, work 10 at 5. Job 0 has 5 left at 5, at half speed: ends
     * at 15. Job 1 then has 5 left, alone: 20. */
    struct world world = world_new(*state, SERVER_SHARED, 1, 0);
    server_arrive(world.server, 0, 10);
    run_until(&world, 5);
    server_arrive(world.server, 1, 10);
    run_until(&world, 100);
    assert_true(world.ended[0] == 15);
    assert_true(world.ended[1] == 20);
    const struct server_statistics statistics = server_statistics(world.server);
    assert_int_equal(statistics.integral_busy_ns, 20);
    assert_int_equal(statistics.sum_wait_ns, 0);
    assert_empty_run_obeys_little(&world);
}

static void sharing_on_two_slots_slows_only_the_third_down(void **state)
{
    /* Two slots: two jobs at full speed; three at 2/3. Work 12 each at 0:
     * 12 / (2/3) = 18. */
    struct world world = world_new(*state, SERVER_SHARED, 2, 0);
    server_arrive(world.server, 0, 12);
    server_arrive(world.server, 1, 12);
    server_arrive(world.server, 2, 12);
    run_until(&world, 100);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(world.ended[i] == 18);
    }
    server_arrive(world.server, 3, 7);
    server_arrive(world.server, 4, 7);
    run_until(&world, 200);
    assert_true(world.ended[3] == 107);
    assert_true(world.ended[4] == 107);
}

static void equal_shared_jobs_end_together_however_many(void **state)
{
    /* 7 jobs of 1000 on one slot, while 3 others of 10,000 come at 101, 202 and
     * 303: thirds, sevenths and tenths do not come out even. */
    struct world world = world_new(*state, SERVER_SHARED, 1, 0);
    for (uint32_t i = 0; i < 7; i++) {
        server_arrive(world.server, i, 1000);
    }
    for (uint32_t i = 7; i < 10; i++) {
        run_until(&world, 101 * (sim_time)(i - 6));
        server_arrive(world.server, i, 10000);
    }
    run_until(&world, 1000000);
    for (uint32_t i = 1; i < 7; i++) {
        assert_true(world.ended[i] == world.ended[0]);
    }
    /* The slot is never idle and loses less than 1 ns at each end but the last,
     * and work is conserved: 7 * 1000 + 3 * 10000. */
    assert_true(world.ended[9] >= 37000);
    assert_true(world.ended[9] <= 37004);
    assert_empty_run_obeys_little(&world);
}

static void sharing_does_not_see_the_order_within_an_instant(void **state)
{
    /* Five arrivals at time 0 and five at 333, in two orders. */
    const sim_time works[] = {1000, 77, 350, 1234, 999};
    struct world forth = world_new(*state, SERVER_SHARED, 1, 0);
    struct world back = world_new(*state, SERVER_SHARED, 1, 0);
    for (uint32_t batch = 0; batch < 2; batch++) {
        for (uint32_t i = 0; i < 5; i++) {
            server_arrive(forth.server, 5 * batch + i, works[i]);
            server_arrive(back.server, 5 * batch + 4 - i, works[4 - i]);
        }
        run_until(&forth, 333 + 100000 * (sim_time)batch);
        run_until(&back, 333 + 100000 * (sim_time)batch);
    }
    for (uint32_t i = 0; i < 10; i++) {
        assert_true(forth.ended[i] > 0);
        assert_true(forth.ended[i] == back.ended[i]);
    }
}

static void a_folded_job_ends_as_its_copies_do(void **state)
{
    /* Three slots, two residents. Job 0 (work 100) at 0 and job 1 (50) at 20 stand for four
     * each: 6 jobs on 3 slots give job 0 a half, 10 by 20; then 10 jobs get 0.3 each, so job 1
     * ends 50 / 0.3 = 166.7 later, at 187; job 0 has 60.1 and ends 39.9 / 0.5 = 79.8 later, at
     * 267. Unfolded, each copy ends then, and two jobs without end are the residents. All three
     * slots are busy until 267, the residents' two from then on. */
    struct world whole = world_new(*state, SERVER_SHARED, 3, 0);
    struct world folded = world_new(*state, SERVER_SHARED, 3, 0);
    folded.server = server_new(*state, folded.queue,
                               &(struct server_options){.kind = SERVER_SHARED,
                                                        .slots = 3,
                                                        .copies = 4,
                                                        .residents = 2,
                                                        .target = TARGET,
                                                        .stamp_kind = STAMP_KIND});
    server_arrive(whole.server, 10, SIM_TIME_MAX / 2);
    server_arrive(whole.server, 11, SIM_TIME_MAX / 2);
    for (uint32_t job = 0; job < 2; job++) {
        server_arrive(folded.server, job, job == 0 ? 100 : 50);
        for (uint32_t copy = 0; copy < 4; copy++) {
            server_arrive(whole.server, 4 * job + copy, job == 0 ? 100 : 50);
        }
        run_until(&folded, job == 0 ? 20 : 300);
        run_until(&whole, job == 0 ? 20 : 300);
    }
    assert_int_equal(folded.ended[1], 187);
    assert_int_equal(folded.ended[0], 267);
    for (uint32_t copy = 0; copy < 4; copy++) {
        assert_int_equal(whole.ended[copy], 267);
        assert_int_equal(whole.ended[4 + copy], 187);
    }
    const struct server_statistics statistics = server_statistics(folded.server);
    assert_int_equal(statistics.integral_busy_ns, 3 * 267 + 2 * 33);
    assert_int_equal(statistics.departures, 2);
}

static void stale_events_end_nothing(void **state)
{
    /* Sharing: job 0 alone would end at 10; job 1 comes at 5 and moves that to
     * 15. The event of 10 must be refused. */
    struct world world = world_new(*state, SERVER_SHARED, 1, 0);
    server_arrive(world.server, 0, 10);
    run_until(&world, 5);
    server_arrive(world.server, 1, 10);
    struct event event;
    uint32_t job = 0;
    assert_true(event_pop(world.queue, &event));
    assert_true(event.time == 10);
    assert_false(server_complete(world.server, &event, &job));
    assert_true(event_pop(world.queue, &event));
    assert_true(event.time == 15);
    assert_true(server_complete(world.server, &event, &job));
    assert_int_equal(job, 0);
    assert_false(server_complete(world.server, &event, &job));
}

static void little_holds_exactly_on_random_runs(void **state)
{
    struct seeded *seeded = *state;
    for (uint64_t seed; (seed = seeds_next(&seeded->seeds, 40)) != 0;) {
        struct world world = world_new(seeded->arena, seed % 2 == 0 ? SERVER_FIFO : SERVER_SHARED,
                                       (uint32_t)(1 + seed % 3), seed % 5 == 0 ? 6 : 0);
        struct rng_key key = {.seed = seed, .stream = rng_stream("server")};
        for (uint32_t i = 0; i < JOBS_MAX; i++) {
            key.rank = i;
            key.operation = 0;
            run_until(&world, event_now(world.queue) + (sim_time)rng_below(&key, 200));
            key.operation = 1;
            server_arrive(world.server, i, (sim_time)(1 + rng_below(&key, 300)));
        }
        run_until(&world, 10000000);
        assert_empty_run_obeys_little(&world);
        const struct server_statistics statistics = server_statistics(world.server);
        assert_int_equal(statistics.departures, world.ended_count);
        assert_true(statistics.integral_busy_ns <= statistics.integral_jobs_ns);
    }
}

static void a_long_queue_comes_out_in_order(void **state)
{
    /* The ring of waiting jobs grows and wraps: 3000 jobs arrive in bursts of
     * 30 every 29 ns, work 1 each; job n ends at n + 1 (never idle). */
    struct event_queue *queue = event_queue_new(*state);
    struct server *server = server_new(
        *state, queue,
        &(struct server_options){.kind = SERVER_FIFO, .slots = 1, .target = 1, .stamp_kind = 1});
    uint32_t arrived = 0;
    uint32_t ended = 0;
    for (sim_time time = 0; time < 2900; time += 29) {
        event_post(queue, time, 0, 0);
    }
    struct event event;
    while (event_pop(queue, &event)) {
        for (uint32_t i = 0; event.target == 0 && i < 30; i++) {
            server_arrive(server, arrived++, 1);
        }
        uint32_t job = 0;
        while (event.target == 1 && server_complete(server, &event, &job)) {
            assert_int_equal(job, ended);
            ended++;
            assert_true(event.time == (sim_time)ended);
        }
    }
    assert_int_equal(ended, 3000);
}

/* An argument is the one seed to run. */
int main(int count, char **arguments)
{
    struct seeded seeded = {.seeds.only = seeds_only(count, arguments)};
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_arena, end_arena)
    const struct CMUnitTest tests[] = {
        TEST(one_slot_serves_in_order_of_arrival),
        TEST(several_slots_take_the_next_job_as_they_free),
        TEST(a_shorter_job_on_a_free_slot_ends_first),
        TEST(jobs_that_end_together_end_in_order_of_beginning),
        TEST(a_full_server_refuses),
        TEST(sharing_halves_the_speed_of_two),
        TEST(sharing_on_two_slots_slows_only_the_third_down),
        TEST(equal_shared_jobs_end_together_however_many),
        TEST(sharing_does_not_see_the_order_within_an_instant),
        TEST(a_folded_job_ends_as_its_copies_do),
        TEST(stale_events_end_nothing),
        cmocka_unit_test_prestate_setup_teardown(little_holds_exactly_on_random_runs, seeded_begin,
                                                 seeded_end, &seeded),
        TEST(a_long_queue_comes_out_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
