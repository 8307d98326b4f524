/* The pending-event set: order, ties, the clock, and equality with a heap. */
#include "des/event.h"

#include "base/arena.h"
#include "base/rng.h"
#include "support/binary_heap.h"
#include "support/seeds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

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

static void an_empty_queue_has_no_next_event(void **state)
{
    struct event_queue *queue = event_queue_new(*state);
    struct event event;
    assert_true(event_next_time(queue) == SIM_TIME_MAX);
    assert_false(event_pop(queue, &event));
    assert_false(event_pop_at(queue, 0, &event));
    assert_false(event_pop_at(queue, SIM_TIME_MAX, &event));
    assert_int_equal(event_pending(queue), 0);
    assert_true(event_now(queue) == 0);
}

static void events_come_out_in_order_of_time(void **state)
{
    /* Times on both sides of every power of 64, posted from late to early. */
    struct event_queue *queue = event_queue_new(*state);
    sim_time times[33];
    uint32_t count = 0;
    for (uint32_t level = 0; level < 11; level++) {
        const sim_time power = (sim_time)(UINT64_C(1) << (6 * level));
        times[count++] = power - 1;
        times[count++] = power;
        times[count++] = power + 1;
    }
    for (uint32_t i = count; i-- > 0;) {
        event_post(queue, times[i], i, 7);
    }
    /* 0, 1 and 2, then 63, 64, 65, ...: the list above is already sorted. */
    for (uint32_t i = 0; i < count; i++) {
        struct event event;
        assert_true(event_next_time(queue) == times[i]);
        assert_true(event_pop(queue, &event));
        assert_true(event.time == times[i] && event_now(queue) == times[i]);
        assert_int_equal(event.target, i);
        assert_int_equal(event.stamp, 7);
    }
    assert_int_equal(event_pending(queue), 0);
    assert_int_equal(event_posted_total(queue), count);
}

static void ties_come_out_in_posting_order(void **state)
{
    /* 1000 events at each of three times, posted in turn, the clock moving in
     * between so that early and late posts start at different levels. */
    struct event_queue *queue = event_queue_new(*state);
    const sim_time times[] = {70, 4097, 5000000};
    for (uint32_t i = 0; i < 500; i++) {
        for (uint32_t t = 0; t < 3; t++) {
            event_post(queue, times[t], i, t);
        }
    }
    struct event event;
    event_post(queue, 69, 0, 9);
    assert_true(event_pop(queue, &event));
    assert_int_equal(event.stamp, 9);
    for (uint32_t i = 500; i < 1000; i++) {
        for (uint32_t t = 0; t < 3; t++) {
            event_post(queue, times[t], i, t);
        }
    }
    for (uint32_t t = 0; t < 3; t++) {
        for (uint32_t i = 0; i < 1000; i++) {
            assert_true(event_pop_at(queue, times[t], &event));
            assert_int_equal(event.stamp, t);
            assert_int_equal(event.target, i);
        }
        assert_false(event_pop_at(queue, times[t], &event));
    }
}

static void events_posted_while_an_instant_is_drained_come_after_those_pending(void **state)
{
    /* Pending at 500: 0..99. Each of the first 200 handled posts one more at
     * 500, so 300 come out, numbered in order. */
    struct event_queue *queue = event_queue_new(*state);
    for (uint32_t i = 0; i < 100; i++) {
        event_post(queue, 500, i, 0);
    }
    event_post(queue, 501, 1000, 0);
    struct event event;
    uint32_t handled = 0;
    while (event_pop_at(queue, 500, &event)) {
        assert_int_equal(event.target, handled);
        if (handled < 200) {
            event_post(queue, 500, 100 + handled, 0);
        }
        handled++;
    }
    assert_int_equal(handled, 300);
    assert_true(event_now(queue) == 500);
    assert_true(event_next_time(queue) == 501);
}

static void peeking_does_not_move_the_clock(void **state)
{
    /* Next is 1000, far from the clock at 10: after looking, 11 may still be
     * posted and comes first. */
    struct event_queue *queue = event_queue_new(*state);
    struct event event;
    event_post(queue, 10, 0, 0);
    assert_true(event_pop(queue, &event));
    event_post(queue, 1000, 1, 0);
    event_post(queue, 1001, 2, 0);
    assert_true(event_next_time(queue) == 1000);
    assert_true(event_now(queue) == 10);
    event_post(queue, 11, 3, 0);
    event_post(queue, 10, 4, 0);
    assert_true(event_next_time(queue) == 10);
    const uint32_t order[] = {4, 3, 1, 2};
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(event_pop(queue, &event));
        assert_int_equal(event.target, order[i]);
    }
}

static void pop_at_another_time_takes_nothing(void **state)
{
    struct event_queue *queue = event_queue_new(*state);
    struct event event;
    event_post(queue, 5, 0, 0);
    assert_false(event_pop_at(queue, 4, &event));
    assert_false(event_pop_at(queue, 6, &event));
    assert_true(event_now(queue) == 0);
    assert_true(event_pop_at(queue, 5, &event));
}

static void seconds_round_to_the_nearest_nanosecond(void **state)
{
    (void)state;
    assert_true(sim_time_from_s(0.0) == 0);
    assert_true(sim_time_from_s(1.4e-9) == 1);
    assert_true(sim_time_from_s(1.6e-9) == 2);
    assert_true(sim_time_from_s(3600.0) == INT64_C(3600000000000));
    assert_true(sim_time_to_s(INT64_C(1500000000)) == 1.5);
}

/* ---- against the binary heap ------------------------------------------- */

/* A shape gives the delay of the n-th post. */
typedef sim_time delay_function(uint64_t seed, uint64_t n);

static uint64_t draw(uint64_t seed, uint64_t n, uint64_t bound)
{
    const struct rng_key key = {.seed = seed, .stream = rng_stream("event"), .operation = n};
    return rng_below(&key, bound);
}

static sim_time near_delay(uint64_t seed, uint64_t n)
{
    return (sim_time)draw(seed, n, 100);
}

static sim_time wide_delay(uint64_t seed, uint64_t n)
{
    return (sim_time)draw(seed, n, UINT64_C(1) << (1 + draw(seed, n + 1000000, 40)));
}

static sim_time tied_delay(uint64_t seed, uint64_t n)
{
    const sim_time delays[] = {0, 64, 4096, 1000000, 1000000, 7};
    return delays[draw(seed, n, 6)];
}

static sim_time zero_delay(uint64_t seed, uint64_t n)
{
    return draw(seed, n, 3) > 0 ? 0 : (sim_time)draw(seed, n + 1000000, 5000);
}

static sim_time far_delay(uint64_t seed, uint64_t n)
{
    return draw(seed, n, 10) == 0 ? INT64_C(1) << 50 : (sim_time)draw(seed, n, 1000);
}

static void post_both(struct event_queue *queue, struct binary_heap *heap, sim_time time,
                      uint32_t target)
{
    event_post(queue, time, target, target ^ 0xffffu);
    binary_heap_push(heap,
                     &(struct event){.time = time, .target = target, .stamp = target ^ 0xffffu});
}

static void pop_both(struct event_queue *queue, struct binary_heap *heap)
{
    struct event expected;
    struct event event;
    assert_true(binary_heap_pop(heap, &expected));
    assert_true(event_next_time(queue) == expected.time);
    assert_true(event_pop(queue, &event));
    assert_true(event.time == expected.time);
    assert_int_equal(event.target, expected.target);
    assert_int_equal(event.stamp, expected.stamp);
}

/* Random bursts of posts and pops; both queues must agree to the end. Few and many are pending in
 * turn, as a walk up and down makes it. */
static void compare_on(struct arena *arena, delay_function *delay, uint64_t seed)
{
    struct event_queue *queue = event_queue_new(arena);
    struct binary_heap heap = {.arena = arena};
    uint32_t posted = 0;
    for (uint64_t round = 0; round < 2000; round++) {
        const uint64_t posts = draw(seed, round + 2000000, 20);
        for (uint64_t i = 0; i < posts; i++) {
            post_both(queue, &heap, event_now(queue) + delay(seed, posted), posted);
            posted++;
        }
        const uint64_t pops = draw(seed, round + 3000000, 20);
        for (uint64_t i = 0; i < pops && heap.count > 0; i++) {
            pop_both(queue, &heap);
        }
        assert_int_equal(event_pending(queue), heap.count);
    }
    while (heap.count > 0) {
        pop_both(queue, &heap);
    }
    assert_true(event_next_time(queue) == SIM_TIME_MAX);
}

static void the_queue_equals_a_binary_heap_on_random_workloads(void **state)
{
    delay_function *const shapes[] = {near_delay, wide_delay, tied_delay, zero_delay, far_delay};
    struct seeded *seeded = *state;
    for (uint64_t seed; (seed = seeds_next(&seeded->seeds, 5)) != 0;) {
        for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
            compare_on(seeded->arena, shapes[shape], seed);
        }
    }
}

static void a_steady_state_allocates_nothing(void **state)
{
    /* 10,000 pending events, held 20 times over with delays near and far: by
     * then the pool has what it needs. 200,000 more holds must use no memory. */
    struct event_queue *queue = event_queue_new(*state);
    for (uint32_t i = 0; i < 10000; i++) {
        event_post(queue, wide_delay(1, i), i, 0);
    }
    size_t used_bytes = 0;
    for (uint64_t n = 0; n < 400000; n++) {
        struct event event;
        assert_true(event_pop(queue, &event));
        event_post(queue, event.time + (sim_time)draw(2, n, 1000000000), event.target, 0);
        if (n == 200000) {
            used_bytes = arena_used_bytes(*state);
        }
    }
    assert_int_equal(arena_used_bytes(*state), used_bytes);
}

/* So many more, long after all others: few are pending, or many (event.c). */
enum { FAR_MAX = 100, FAR = 1000 };
static const uint32_t fars[] = {0, FAR_MAX};

static void post_far(struct event_queue *queue, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        event_post(queue, 1000000, FAR + i, 7);
    }
}

/* These are all that is left, as they were posted. */
static void pop_far(struct event_queue *queue, uint32_t count)
{
    struct event event;
    for (uint32_t i = 0; i < count; i++) {
        assert_true(event_pop(queue, &event));
        assert_int_equal(event.target, FAR + i);
    }
    assert_false(event_pop(queue, &event));
}

/* Clock 100, pending at 100, 163 (twice), 164 and 100000: moved on by 50000, which changes every
 * digit, they come out 50000 later, ties as they were posted, and new ones behind those. */
static void move_on(struct event_queue *queue, uint32_t far_count)
{
    static const sim_time times[] = {100, 163, 163, 164, 100000};
    enum { COUNT = sizeof times / sizeof *times };
    struct event listed[COUNT + FAR_MAX];
    struct event event;
    event_post(queue, 100, 9, 0);
    assert_true(event_pop(queue, &event));
    for (uint32_t i = 0; i < COUNT; i++) {
        event_post(queue, times[i], i, 7);
    }
    post_far(queue, far_count);
    event_list(queue, listed);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < COUNT + far_count; i++) {
        const uint32_t target = listed[i].target;
        assert_true(listed[i].time == (target < FAR ? times[target] : 1000000));
        assert_int_equal(listed[i].stamp, 7);
        seen |= target < FAR ? 1u << target : 0;
    }
    assert_int_equal(seen, 31);
    event_move_on(queue, 50000, listed);
    assert_true(event_now(queue) == 50100);
    assert_int_equal(event_pending(queue), COUNT + far_count);
    event_post(queue, 50163, COUNT, 7);
    static const uint32_t order[] = {0, 1, 2, COUNT, 3, 4};
    for (uint32_t i = 0; i <= COUNT; i++) {
        assert_true(event_pop(queue, &event));
        assert_int_equal(event.target, order[i]);
        assert_true(order[i] == COUNT || event.time == times[order[i]] + 50000);
    }
    pop_far(queue, far_count);
}

static void what_is_pending_moves_on_with_the_clock(void **state)
{
    for (size_t i = 0; i < sizeof fars / sizeof *fars; i++) {
        move_on(event_queue_new(*state), fars[i]);
    }
}

/* At 100, with 163 (twice), 164 and 100000 pending, all are taken out, ties in their order, and the
 * clock goes back to 7: what is posted then comes as in a new queue. */
static void go_back(struct event_queue *queue, uint32_t far_count)
{
    static const sim_time times[] = {163, 163, 164, 100000};
    enum { COUNT = sizeof times / sizeof *times };
    struct event taken[COUNT + FAR_MAX];
    struct event event;
    event_post(queue, 100, 9, 0);
    assert_true(event_pop(queue, &event));
    for (uint32_t i = 0; i < COUNT; i++) {
        event_post(queue, times[i], i, 7);
    }
    post_far(queue, far_count);
    event_take_all(queue, 7, taken);
    assert_int_equal(event_pending(queue), 0);
    assert_true(event_next_time(queue) == SIM_TIME_MAX && event_now(queue) == 7);
    assert_true(taken[0].target == 0 && taken[1].target == 1);
    event_post(queue, 8, COUNT, 7);
    for (uint32_t i = COUNT; i > 0; i--) {
        event_post(queue, times[i - 1], i - 1, 7);
    }
    static const uint32_t order[] = {COUNT, 1, 0, 2, 3};
    for (uint32_t i = 0; i <= COUNT; i++) {
        assert_true(event_pop(queue, &event));
        assert_int_equal(event.target, order[i]);
        assert_true(order[i] == COUNT || event.time == times[order[i]]);
    }
    assert_false(event_pop(queue, &event));
}

static void the_clock_goes_back_when_all_is_taken_out(void **state)
{
    for (size_t i = 0; i < sizeof fars / sizeof *fars; i++) {
        go_back(event_queue_new(*state), fars[i]);
    }
}

/* An argument is the one seed to run. */
int main(int count, char **arguments)
{
    struct seeded seeded = {.seeds.only = seeds_only(count, arguments)};
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_arena, end_arena)
    const struct CMUnitTest tests[] = {
        TEST(an_empty_queue_has_no_next_event),
        TEST(the_clock_goes_back_when_all_is_taken_out),
        TEST(events_come_out_in_order_of_time),
        TEST(ties_come_out_in_posting_order),
        TEST(events_posted_while_an_instant_is_drained_come_after_those_pending),
        TEST(peeking_does_not_move_the_clock),
        TEST(pop_at_another_time_takes_nothing),
        TEST(seconds_round_to_the_nearest_nanosecond),
        cmocka_unit_test_prestate_setup_teardown(the_queue_equals_a_binary_heap_on_random_workloads,
                                                 seeded_begin, seeded_end, &seeded),
        TEST(a_steady_state_allocates_nothing),
        TEST(what_is_pending_moves_on_with_the_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
