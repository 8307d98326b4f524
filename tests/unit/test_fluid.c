/* Fluid sharing: small cases by hand, instants, events. The laws on random
 * systems are in test_fluid_laws.c, what is solved anew in test_fluid_region.c. */
#include "des/fluid.h"

#include "base/arena.h"
#include "support/fluid_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/assert_close.h"

#define ONE FLUID_USAGE_ONE
#define NO_CAP INT64_C(1000000000000000) /* 1 PB/s: more than any link here */
#define SECOND INT64_C(1000000000)

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

/* A flow of weight 1 without a cap over up to two links, usage one. */
static flow_id add_flow(struct fluid_world *world, link_id a, link_id b)
{
    const struct fluid_crossing route[] = {{a, ONE}, {b, ONE}};
    return fluid_add_flow(world->fluid,
                          &(struct fluid_flow_options){.route = route,
                                                       .route_count = a == b ? 1 : 2,
                                                       .weight = 1,
                                                       .cap_bytes_per_s_max = NO_CAP});
}

/* ---- by hand ----------------------------------------------------------- */

static void a_flow_alone_gets_the_tightest_link_of_its_route(void **state)
{
    /* min(10, 4) = 4 bytes/s; 20 bytes take 5 s. */
    struct fluid_world world = fluid_world_new(*state);
    const link_id wide = fluid_add_link(world.fluid, 10);
    const link_id narrow = fluid_add_link(world.fluid, 4);
    const flow_id flow = add_flow(&world, wide, narrow);
    fluid_seal(world.fluid);
    fluid_start(world.fluid, flow, 20, NO_CAP);
    fluid_solve(world.fluid);
    assert_int_equal(fluid_rate(world.fluid, flow), 4);
    assert_true(fluid_is_active(world.fluid, flow));
    sim_time ended[1];
    fluid_world_run(&world, ended);
    assert_true(ended[0] == 5 * SECOND);
    assert_false(fluid_is_active(world.fluid, flow));
    assert_int_equal(fluid_rate(world.fluid, flow), 0);
}

static void usage_two_halves_the_rate(void **state)
{
    /* 100 bytes/s, each byte crosses twice: 50 bytes/s. Usage 1/2: 200. */
    struct fluid_world world = fluid_world_new(*state);
    const link_id link = fluid_add_link(world.fluid, 100);
    const struct fluid_crossing twice = {link, 2 * ONE};
    const struct fluid_crossing half = {link, ONE / 2};
    const flow_id a =
        fluid_add_flow(world.fluid, &(struct fluid_flow_options){&twice, 1, 1, NO_CAP, 0});
    const flow_id b =
        fluid_add_flow(world.fluid, &(struct fluid_flow_options){&half, 1, 1, NO_CAP, 0});
    fluid_seal(world.fluid);
    fluid_start(world.fluid, a, 50, NO_CAP);
    fluid_solve(world.fluid);
    assert_int_equal(fluid_rate(world.fluid, a), 50);
    fluid_world_run(&world, NULL);
    fluid_start(world.fluid, b, 50, NO_CAP);
    fluid_solve(world.fluid);
    assert_int_equal(fluid_rate(world.fluid, b), 200);
}

static void ends_are_rounded_up_to_the_nanosecond(void **state)
{
    /* 10 bytes at 3 bytes/s: 3.333333333... s -> 3 333 333 334 ns. */
    struct fluid_world world = fluid_world_new(*state);
    const link_id link = fluid_add_link(world.fluid, 3);
    const flow_id flow = add_flow(&world, link, link);
    fluid_seal(world.fluid);
    fluid_start(world.fluid, flow, 10, NO_CAP);
    sim_time ended[1];
    fluid_world_run(&world, ended);
    assert_true(ended[0] == INT64_C(3333333334));
}

static void no_bytes_end_at_once(void **state)
{
    struct fluid_world world = fluid_world_new(*state);
    const link_id link = fluid_add_link(world.fluid, 3);
    const flow_id flow = add_flow(&world, link, link);
    fluid_seal(world.fluid);
    fluid_start(world.fluid, flow, 0, NO_CAP);
    sim_time ended[1] = {-1};
    fluid_world_run(&world, ended);
    assert_true(ended[0] == 0);
    assert_true(event_now(world.queue) == 0);
}

static void a_flow_on_slack_links_runs_at_its_cap_without_solving(void **state)
{
    /* Caps 30 + 70 on a link of 100: it can never be tight. 60 bytes at 30. */
    struct fluid_world world = fluid_world_new(*state);
    const struct fluid_crossing route = {fluid_add_link(world.fluid, 100), ONE};
    const flow_id a =
        fluid_add_flow(world.fluid, &(struct fluid_flow_options){&route, 1, 1, 30, 0});
    const flow_id b =
        fluid_add_flow(world.fluid, &(struct fluid_flow_options){&route, 1, 1, 70, 0});
    const flow_id alone =
        fluid_add_flow(world.fluid, &(struct fluid_flow_options){NULL, 0, 1, 6, 0});
    fluid_seal(world.fluid);
    assert_true(fluid_link_is_slack(world.fluid, route.link));
    fluid_start(world.fluid, a, 60, 30);
    fluid_start(world.fluid, b, 70, 70);
    fluid_start(world.fluid, alone, 60, 6);
    sim_time ended[3];
    fluid_world_run(&world, ended);
    assert_true(ended[a] == 2 * SECOND);
    assert_true(ended[b] == 1 * SECOND);
    assert_true(ended[alone] == 10 * SECOND);
    assert_int_equal(fluid_statistics(world.fluid).direct, 3);
    assert_int_equal(fluid_statistics(world.fluid).solves, 0);
    assert_close(fluid_link_bytes(world.fluid, route.link), 130.0, 1e-12);
}

static void a_link_that_caps_can_fill_is_not_slack(void **state)
{
    /* Caps 30 + 71 > 100. Usage counts: cap 51 at usage 2 takes 102 > 100. */
    struct fluid_world world = fluid_world_new(*state);
    const link_id first = fluid_add_link(world.fluid, 100);
    const link_id second = fluid_add_link(world.fluid, 100);
    const struct fluid_crossing once = {first, ONE};
    const struct fluid_crossing twice = {second, 2 * ONE};
    fluid_add_flow(world.fluid, &(struct fluid_flow_options){&once, 1, 1, 30, 0});
    fluid_add_flow(world.fluid, &(struct fluid_flow_options){&once, 1, 1, 71, 0});
    fluid_add_flow(world.fluid, &(struct fluid_flow_options){&twice, 1, 1, 51, 0});
    fluid_seal(world.fluid);
    assert_false(fluid_link_is_slack(world.fluid, first));
    assert_false(fluid_link_is_slack(world.fluid, second));
}

static void a_cap_leaves_its_share_to_the_others(void **state)
{
    /* Link 100, caps 10 and none: 10 and 90. A second transfer of the same
     * route may have a lower cap: 4 and 96. */
    struct fluid_world world = fluid_world_new(*state);
    const link_id link = fluid_add_link(world.fluid, 100);
    const flow_id a = add_flow(&world, link, link);
    const flow_id b = add_flow(&world, link, link);
    fluid_seal(world.fluid);
    fluid_start(world.fluid, a, 10, 10);
    fluid_start(world.fluid, b, 1000, NO_CAP);
    fluid_solve(world.fluid);
    assert_int_equal(fluid_rate(world.fluid, a), 10);
    assert_int_equal(fluid_rate(world.fluid, b), 90);
    assert_true(fluid_world_step(&world, NULL));
    fluid_start(world.fluid, a, 10, 4);
    fluid_solve(world.fluid);
    assert_int_equal(fluid_rate(world.fluid, a), 4);
    assert_int_equal(fluid_rate(world.fluid, b), 96);
}

static void weights_share_a_link_in_proportion(void **state)
{
    /* 100 bytes/s, weights 1 and 3: 25 and 75. */
    struct fluid_world world = fluid_world_new(*state);
    const struct fluid_crossing route = {fluid_add_link(world.fluid, 100), ONE};
    const flow_id light =
        fluid_add_flow(world.fluid, &(struct fluid_flow_options){&route, 1, 1, NO_CAP, 0});
    const flow_id heavy =
        fluid_add_flow(world.fluid, &(struct fluid_flow_options){&route, 1, 3, NO_CAP, 0});
    fluid_seal(world.fluid);
    fluid_start(world.fluid, light, 100, NO_CAP);
    fluid_start(world.fluid, heavy, 100, NO_CAP);
    fluid_solve(world.fluid);
    assert_int_equal(fluid_rate(world.fluid, light), 25);
    assert_int_equal(fluid_rate(world.fluid, heavy), 75);
}

static void a_share_below_one_byte_per_second_runs_at_one(void **state)
{
    /* 5 flows on 3 bytes/s: 0.6 each, run at 1, so all end after 7 s. */
    struct fluid_world world = fluid_world_new(*state);
    const link_id link = fluid_add_link(world.fluid, 3);
    for (uint32_t i = 0; i < 5; i++) {
        add_flow(&world, link, link);
    }
    fluid_seal(world.fluid);
    for (flow_id i = 0; i < 5; i++) {
        fluid_start(world.fluid, i, 7, NO_CAP);
    }
    sim_time ended[5];
    fluid_world_run(&world, ended);
    for (flow_id i = 0; i < 5; i++) {
        assert_true(ended[i] == 7 * SECOND);
    }
}

static void links_that_are_equally_tight_freeze_together(void **state)
{
    /* Two links of 11, flow 0 over both, two more on each: level 11/3 on both,
     * rate 3. One link after the other would give the second's flows
     * (11 - 3) / 2 = 4, and the order of links would decide which. */
    struct fluid_world world = fluid_world_new(*state);
    const link_id left = fluid_add_link(world.fluid, 11);
    const link_id right = fluid_add_link(world.fluid, 11);
    add_flow(&world, left, right);
    for (uint32_t i = 0; i < 2; i++) {
        add_flow(&world, left, left);
        add_flow(&world, right, right);
    }
    fluid_seal(world.fluid);
    for (flow_id i = 0; i < 5; i++) {
        fluid_start(world.fluid, i, 100, NO_CAP);
    }
    fluid_solve(world.fluid);
    for (flow_id i = 0; i < 5; i++) {
        assert_int_equal(fluid_rate(world.fluid, i), 3);
    }
}

static void levels_closer_than_a_double_can_tell_are_told_apart(void **state)
{
    /* Links of 2^60 and 2^60 + 1; flow 2 over both has a cap of 1, which binds
     * first. Flow 0 gets 2^60 - 1, flow 1 gets 2^60; as doubles they are equal. */
    struct fluid_world world = fluid_world_new(*state);
    const int64_t capacity = INT64_C(1) << 60;
    const struct fluid_crossing route[] = {{fluid_add_link(world.fluid, capacity), ONE},
                                           {fluid_add_link(world.fluid, capacity + 1), ONE}};
    for (uint32_t i = 0; i < 3; i++) {
        fluid_add_flow(world.fluid,
                       &(struct fluid_flow_options){.route = &route[i % 2],
                                                    .route_count = i < 2 ? 1 : 2,
                                                    .weight = 1,
                                                    .cap_bytes_per_s_max = i < 2 ? INT64_MAX : 1});
    }
    fluid_seal(world.fluid);
    for (flow_id i = 0; i < 3; i++) {
        fluid_start(world.fluid, i, 100, i < 2 ? INT64_MAX : 1);
    }
    fluid_solve(world.fluid);
    assert_true(fluid_rate(world.fluid, 0) == capacity - 1);
    assert_true(fluid_rate(world.fluid, 1) == capacity);
    assert_true(fluid_rate(world.fluid, 2) == 1);
}

/* ---- instants, events, regions ------------------------------------------ */

static void a_route_may_start_again_in_the_instant_it_ended(void **state)
{
    /* 3 transfers of 10 bytes at 5 bytes/s, back to back: the last ends at 6 s. */
    struct fluid_world world = fluid_world_new(*state);
    const link_id link = fluid_add_link(world.fluid, 5);
    const flow_id flow = add_flow(&world, link, link);
    fluid_seal(world.fluid);
    fluid_start(world.fluid, flow, 10, NO_CAP);
    fluid_solve(world.fluid);
    uint32_t ends = 0;
    struct event event;
    while (event_pop(world.queue, &event)) {
        flow_id ended = 0;
        while (fluid_complete(world.fluid, &event, &ended)) {
            assert_int_equal(ended, flow);
            if (++ends < 3) {
                fluid_start(world.fluid, flow, 10, NO_CAP);
            }
        }
        fluid_solve(world.fluid);
    }
    assert_int_equal(ends, 3);
    assert_true(event_now(world.queue) == 6 * SECOND);
    assert_close(fluid_link_bytes(world.fluid, link), 30.0, 1e-12);
}

static void flows_that_end_together_come_out_in_increasing_number(void **state)
{
    /* 2000 equal flows on one link, started in a scrambled order. */
    struct fluid_world world = fluid_world_new(*state);
    const link_id link = fluid_add_link(world.fluid, 1000000);
    for (uint32_t i = 0; i < 2000; i++) {
        add_flow(&world, link, link);
    }
    fluid_seal(world.fluid);
    for (uint32_t i = 0; i < 2000; i++) {
        fluid_start(world.fluid, i * 1237 % 2000, 500, NO_CAP);
    }
    fluid_solve(world.fluid);
    /* 1e6 / 2000 = 500 bytes/s each: all end at 1 s, on one event. */
    struct event event;
    assert_true(event_pop_at(world.queue, SECOND, &event));
    for (flow_id expected = 0; expected < 2000; expected++) {
        flow_id flow = 0;
        assert_true(fluid_complete(world.fluid, &event, &flow));
        assert_int_equal(flow, expected);
    }
    flow_id flow = 0;
    assert_false(fluid_complete(world.fluid, &event, &flow));
    assert_int_equal(event_pending(world.queue), 0);
}

/* Two flows of 3,000 bytes share link 0, of 1 byte/ns, and have 2,000 left each at 2,000. Put aside
 * there, the clock goes back to 0, and flow 2 has link 1 to itself until 500. Taken up, they end at
 * 6,000, as if nothing had been. */
static void flows_put_aside_go_on_where_they_were(void **state)
{
    struct fluid_world world = fluid_world_new(*state);
    const link_id first = fluid_add_link(world.fluid, 1000000000);
    const link_id second = fluid_add_link(world.fluid, 1000000000);
    const flow_id flows[] = {add_flow(&world, first, first), add_flow(&world, first, first),
                             add_flow(&world, second, second), add_flow(&world, second, second)};
    fluid_seal(world.fluid);
    sim_time ended[4] = {0};
    fluid_start(world.fluid, flows[0], 3000, 1000000000);
    fluid_start(world.fluid, flows[1], 3000, 1000000000);
    fluid_solve(world.fluid);
    struct event taken[1];
    flow_id aside[2];
    assert_int_equal(fluid_under_way(world.fluid), 2);
    fluid_put_aside(world.fluid, aside);
    assert_int_equal(fluid_under_way(world.fluid), 0);
    event_take_all(world.queue, 0, taken);
    fluid_start(world.fluid, flows[2], 500, 1000000000);
    fluid_world_run(&world, ended);
    assert_true(ended[flows[2]] == 500 && ended[flows[0]] == 0);
    event_take_all(world.queue, 0, taken);
    fluid_take_up(world.fluid, aside[0]);
    fluid_take_up(world.fluid, aside[1]);
    fluid_world_run(&world, ended);
    assert_true(ended[flows[0]] == 6000 && ended[flows[1]] == 6000);
}

static void a_change_makes_the_pending_completion_stale(void **state)
{
    /* Alone: 40 bytes at 10 end at 4 s. At 2 s another starts on the link: 20
     * bytes left at 5 end at 6 s; the event at 4 s must end nothing. */
    struct fluid_world world = fluid_world_new(*state);
    const link_id link = fluid_add_link(world.fluid, 10);
    const flow_id first = add_flow(&world, link, link);
    const flow_id second = add_flow(&world, link, link);
    const flow_id clock = fluid_add_flow(
        world.fluid, &(struct fluid_flow_options){.weight = 1, .cap_bytes_per_s_max = 1});
    fluid_seal(world.fluid);
    fluid_start(world.fluid, first, 40, NO_CAP);
    fluid_start(world.fluid, clock, 2, 1);
    fluid_solve(world.fluid);
    sim_time ended[3] = {-1, -1, -1};
    assert_true(fluid_world_step(&world, ended));
    assert_true(ended[clock] == 2 * SECOND);
    fluid_start(world.fluid, second, 100, NO_CAP);
    fluid_solve(world.fluid);
    assert_true(fluid_world_step(&world, ended));
    assert_true(event_now(world.queue) == 4 * SECOND && ended[first] == -1);
    fluid_world_run(&world, ended);
    assert_true(ended[first] == 6 * SECOND);
    /* second: 5 * 4 = 20 by then, 80 left at 10: 14 s. */
    assert_true(ended[second] == 14 * SECOND);
    assert_int_equal(fluid_statistics(world.fluid).stale_events, 1);
}

static void flows_that_share_no_link_with_a_change_are_left_alone(void **state)
{
    /* Pairs (0, 1) on one link, (2, 3) on another. All four are solved at first, by one call, two
     * at a time; when flow 0 ends, only flow 1 gets another rate, and needs no filling: it is
     * alone. */
    struct fluid_world world = fluid_world_new(*state);
    const link_id left = fluid_add_link(world.fluid, 10);
    const link_id right = fluid_add_link(world.fluid, 10);
    add_flow(&world, left, left);
    add_flow(&world, left, left);
    add_flow(&world, right, right);
    add_flow(&world, right, right);
    fluid_seal(world.fluid);
    fluid_start(world.fluid, 0, 5, NO_CAP);
    for (flow_id i = 1; i < 4; i++) {
        fluid_start(world.fluid, i, 100, NO_CAP);
    }
    fluid_solve(world.fluid);
    assert_int_equal(fluid_statistics(world.fluid).solves, 1);
    assert_int_equal(fluid_statistics(world.fluid).flows_filled, 4);
    assert_true(fluid_world_step(&world, NULL));
    assert_int_equal(fluid_statistics(world.fluid).solves, 2);
    assert_int_equal(fluid_statistics(world.fluid).flows_filled, 4);
    assert_int_equal(fluid_statistics(world.fluid).flows_changed, 5);
    assert_int_equal(fluid_statistics(world.fluid).region_max, 2);
    assert_int_equal(fluid_rate(world.fluid, 1), 10);
    assert_int_equal(fluid_rate(world.fluid, 2), 5);
}

static void links_come_apart_when_the_flow_that_joined_them_ends(void **state)
{
    /* Flow 2 crosses both links of 10: all get 5. When it ends (5 bytes, 1 s),
     * flows 0 and 1 are at 10: 45 left, 5.5 s. */
    struct fluid_world world = fluid_world_new(*state);
    const link_id left = fluid_add_link(world.fluid, 10);
    const link_id right = fluid_add_link(world.fluid, 10);
    add_flow(&world, left, left);
    add_flow(&world, right, right);
    add_flow(&world, left, right);
    fluid_seal(world.fluid);
    fluid_start(world.fluid, 0, 50, NO_CAP);
    fluid_start(world.fluid, 1, 50, NO_CAP);
    fluid_start(world.fluid, 2, 5, NO_CAP);
    sim_time ended[3];
    fluid_world_run(&world, ended);
    assert_true(ended[2] == SECOND);
    assert_true(ended[0] == 5 * SECOND + SECOND / 2);
    assert_true(ended[1] == ended[0]);
}

static void bytes_on_a_link_are_counted_while_flows_run(void **state)
{
    /* 10 bytes/s; after 3 s (a clock of 3 bytes at 1) flow 0 has sent 30, with
     * usage 1 on one link and 2 on the other: 30 and 60. */
    struct fluid_world world = fluid_world_new(*state);
    const struct fluid_crossing route[] = {{fluid_add_link(world.fluid, 10), ONE},
                                           {fluid_add_link(world.fluid, 1000), 2 * ONE}};
    const flow_id flow =
        fluid_add_flow(world.fluid, &(struct fluid_flow_options){route, 2, 1, NO_CAP, 0});
    const flow_id clock = fluid_add_flow(
        world.fluid, &(struct fluid_flow_options){.weight = 1, .cap_bytes_per_s_max = 1});
    fluid_seal(world.fluid);
    fluid_start(world.fluid, flow, 100, NO_CAP);
    fluid_start(world.fluid, clock, 3, 1);
    fluid_solve(world.fluid);
    assert_true(fluid_world_step(&world, NULL));
    assert_true(event_now(world.queue) == 3 * SECOND);
    assert_close(fluid_link_bytes(world.fluid, route[0].link), 30.0, 1e-12);
    assert_close(fluid_link_bytes(world.fluid, route[1].link), 60.0, 1e-12);
    fluid_world_run(&world, NULL);
    assert_close(fluid_link_bytes(world.fluid, route[1].link), 200.0, 1e-12);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_arena, end_arena)
    const struct CMUnitTest tests[] = {
        TEST(a_flow_alone_gets_the_tightest_link_of_its_route),
        TEST(usage_two_halves_the_rate),
        TEST(ends_are_rounded_up_to_the_nanosecond),
        TEST(no_bytes_end_at_once),
        TEST(a_flow_on_slack_links_runs_at_its_cap_without_solving),
        TEST(a_link_that_caps_can_fill_is_not_slack),
        TEST(a_cap_leaves_its_share_to_the_others),
        TEST(weights_share_a_link_in_proportion),
        TEST(a_share_below_one_byte_per_second_runs_at_one),
        TEST(links_that_are_equally_tight_freeze_together),
        TEST(levels_closer_than_a_double_can_tell_are_told_apart),
        TEST(a_route_may_start_again_in_the_instant_it_ended),
        TEST(flows_that_end_together_come_out_in_increasing_number),
        TEST(flows_put_aside_go_on_where_they_were),
        TEST(a_change_makes_the_pending_completion_stale),
        TEST(flows_that_share_no_link_with_a_change_are_left_alone),
        TEST(links_come_apart_when_the_flow_that_joined_them_ends),
        TEST(bytes_on_a_link_are_counted_while_flows_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
