/* Fluid sharing against max-min fair rates and completion times that were
 * derived elsewhere: textbook cases by hand, and recorded systems of up to 512
 * flows with exact completion times (tests/closed_form/maxmin, run from the
 * top folder).
 *
 * By hand, capacities are in units of 1e9 bytes/s, so that rounding down to
 * whole bytes/s does not matter. The recorded ones last microseconds to
 * milliseconds; sizes and starts are multiplied by 1e5, which multiplies all
 * times and makes a nanosecond small against them.
 */
#include "base/arena.h"
#include "base/diag.h"
#include "des/fluid.h"
#include "input/doc/doc.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/assert_close.h"

#define FLUID_KIND 1
#define START_KIND 2
#define UNIT INT64_C(1000000000)
#define NO_CAP INT64_C(1000000000000000)
#define TIME_SCALE 1e5
#define LINKS_MAX 2048
#define FLOWS_MAX 512
#define ROUTE_MAX 8

struct flow_case {
    uint32_t route[ROUTE_MAX];
    uint32_t route_count;
    uint32_t weight;
    int64_t cap;
    int64_t bytes;
    sim_time start;
    double expected; /* rate in bytes/s, or end in s */
};

struct system_case {
    int64_t capacities[LINKS_MAX];
    struct flow_case flows[FLOWS_MAX];
    uint32_t link_count;
    uint32_t flow_count;
};

struct world {
    struct arena *arena;
    struct event_queue *queue;
    struct fluid *fluid;
    const struct system_case *system;
    sim_time ended[FLOWS_MAX];
};

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

/* ---- running a system -------------------------------------------------- */

static struct world *world_new(struct arena *arena, const struct system_case *system)
{
    struct world *world = arena_alloc(arena, sizeof *world);
    world->arena = arena;
    world->system = system;
    world->queue = event_queue_new(arena);
    world->fluid = fluid_new(arena, world->queue, FLUID_KIND);
    for (uint32_t i = 0; i < system->link_count; i++) {
        fluid_add_link(world->fluid, system->capacities[i]);
    }
    for (uint32_t i = 0; i < system->flow_count; i++) {
        const struct flow_case *flow = &system->flows[i];
        struct fluid_crossing route[ROUTE_MAX];
        for (uint32_t j = 0; j < flow->route_count; j++) {
            route[j] = (struct fluid_crossing){flow->route[j], FLUID_USAGE_ONE};
        }
        fluid_add_flow(world->fluid,
                       &(struct fluid_flow_options){.route = route,
                                                    .route_count = flow->route_count,
                                                    .weight = flow->weight,
                                                    .cap_bytes_per_s_max = flow->cap});
        event_post(world->queue, flow->start, i, START_KIND);
    }
    fluid_seal(world->fluid);
    return world;
}

static void handle(struct world *world, const struct event *event)
{
    if (event->stamp == START_KIND) {
        const struct flow_case *flow = &world->system->flows[event->target];
        fluid_start(world->fluid, event->target, flow->bytes, flow->cap);
        return;
    }
    flow_id flow = 0;
    while (fluid_complete(world->fluid, event, &flow)) {
        world->ended[flow] = event->time;
    }
}

static bool run_instant(struct world *world)
{
    const sim_time at = event_next_time(world->queue);
    if (at == SIM_TIME_MAX) {
        return false;
    }
    struct event event;
    while (event_pop_at(world->queue, at, &event)) {
        handle(world, &event);
    }
    fluid_solve(world->fluid);
    return true;
}

/* ---- textbook cases ---------------------------------------------------- */

/* Starts all flows at 0 and compares their rates with `expected`, in bytes/s,
 * but for the rounding of thirds. */
static void assert_rates(struct arena *arena, const struct system_case *system)
{
    struct world *world = world_new(arena, system);
    run_instant(world);
    for (uint32_t i = 0; i < system->flow_count; i++) {
        const double rate = (double)fluid_rate(world->fluid, i);
        assert_true(fabs(rate - system->flows[i].expected) < 1.0);
    }
}

/* Weight 1, no cap, 1000 units of bytes. */
static struct flow_case plain_flow(const uint32_t *route, uint32_t count, double expected)
{
    struct flow_case flow = {.route_count = count,
                             .weight = 1,
                             .cap = NO_CAP,
                             .bytes = 1000 * UNIT,
                             .expected = expected * (double)UNIT};
    for (uint32_t i = 0; i < count; i++) {
        flow.route[i] = route[i];
    }
    return flow;
}

#define ROUTE(...)                   \
    (const uint32_t[]){__VA_ARGS__}, \
        (uint32_t)(sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void parking_lot_gives_each_flow_half(void **state)
{
    /* A = B = C = 1; x over all three, one more flow on each: all 1/2. */
    struct system_case *system = arena_alloc(*state, sizeof *system);
    system->link_count = 3;
    for (uint32_t i = 0; i < 3; i++) {
        system->capacities[i] = UNIT;
        system->flows[i] = plain_flow(&i, 1, 0.5);
    }
    system->flows[3] = plain_flow(ROUTE(0, 1, 2), 0.5);
    system->flow_count = 4;
    assert_rates(*state, system);
}

static void two_bottlenecks_are_filled_one_after_the_other(void **state)
{
    /* A = 10, B = 6; f1: A, f2: A+B, f3: B, f4: B. B first: 6/3 = 2 for f2..f4;
     * f1 takes 10 - 2 = 8. */
    struct system_case *system = arena_alloc(*state, sizeof *system);
    system->link_count = 2;
    system->capacities[0] = 10 * UNIT;
    system->capacities[1] = 6 * UNIT;
    system->flows[0] = plain_flow(ROUTE(0), 8.0);
    system->flows[1] = plain_flow(ROUTE(0, 1), 2.0);
    system->flows[2] = plain_flow(ROUTE(1), 2.0);
    system->flows[3] = plain_flow(ROUTE(1), 2.0);
    system->flow_count = 4;
    assert_rates(*state, system);
}

static void demands_are_met_from_the_smallest_up(void **state)
{
    /* Keshav: link 10, demands 2, 2.6, 4, 5. The first two are met; the rest
     * share 10 - 4.6 = 5.4: 2.7 each. */
    struct system_case *system = arena_alloc(*state, sizeof *system);
    const int64_t demands_tenths[] = {20, 26, 40, 50};
    const double expected[] = {2.0, 2.6, 2.7, 2.7};
    system->link_count = 1;
    system->capacities[0] = 10 * UNIT;
    for (uint32_t i = 0; i < 4; i++) {
        system->flows[i] = plain_flow(ROUTE(0), expected[i]);
        system->flows[i].cap = demands_tenths[i] * (UNIT / 10);
    }
    system->flow_count = 4;
    assert_rates(*state, system);
}

static void weighted_demands_share_in_proportion(void **state)
{
    /* Keshav: link 16, demands 4, 2, 10, 4, weights 5:8:1:2 (sum 16). Level 1/4
     * fills demand 2 at weight 8. Left 14 over weights 8: demand 4 at weight 5 is
     * full at 4/5. Left 10 over weights 3: level 2 fills demand 4 at weight 2 and
     * would take 10/3 per weight; the third gets 16 - 4 - 2 - 4 = 6. */
    struct system_case *system = arena_alloc(*state, sizeof *system);
    const int64_t demands[] = {4, 2, 10, 4};
    const uint32_t weights[] = {5, 8, 1, 2};
    const double expected[] = {4.0, 2.0, 6.0, 4.0};
    system->link_count = 1;
    system->capacities[0] = 16 * UNIT;
    for (uint32_t i = 0; i < 4; i++) {
        system->flows[i] = plain_flow(ROUTE(0), expected[i]);
        system->flows[i].cap = demands[i] * UNIT;
        system->flows[i].weight = weights[i];
    }
    system->flow_count = 4;
    assert_rates(*state, system);
}

static void the_victim_of_an_incast_takes_what_is_left(void **state)
{
    /* NICs of 400 each way; A, B, C -> D and A -> E. D's side gives 400/3 each;
     * A -> E gets 400 - 400/3 = 800/3 of A's sending side. Links: 0, 1, 2 out of
     * A, B, C; 3, 4 into D, E. */
    struct system_case *system = arena_alloc(*state, sizeof *system);
    system->link_count = 5;
    for (uint32_t i = 0; i < 5; i++) {
        system->capacities[i] = 400 * UNIT;
    }
    for (uint32_t i = 0; i < 3; i++) {
        system->flows[i] = plain_flow(ROUTE(i, 3), 400.0 / 3.0);
    }
    system->flows[3] = plain_flow(ROUTE(0, 4), 800.0 / 3.0);
    system->flow_count = 4;
    assert_rates(*state, system);
}

static void an_oversubscribed_leaf_shares_its_uplink(void **state)
{
    /* NICs 400, uplink 800; h0..h3 -> h4..h7 over the uplink: 800/4 = 200 each;
     * h0 -> h1 shares h0's NIC: 400 - 200 = 200. Links: i = out of h_i, 8+i = into
     * h_i, 16 = uplink. */
    struct system_case *system = arena_alloc(*state, sizeof *system);
    system->link_count = 17;
    for (uint32_t i = 0; i < 16; i++) {
        system->capacities[i] = 400 * UNIT;
    }
    system->capacities[16] = 800 * UNIT;
    for (uint32_t i = 0; i < 4; i++) {
        system->flows[i] = plain_flow(ROUTE(i, 16, 8 + 4 + i), 200.0);
    }
    system->flows[4] = plain_flow(ROUTE(0, 8 + 1), 200.0);
    system->flow_count = 5;
    assert_rates(*state, system);
}

static void rates_change_as_flows_come_and_go(void **state)
{
    /* Link 10; sizes 10 and 30 at t = 0, 10 at t = 2. At 5 each the first ends at
     * 2; the second has 20 left; at 5 each the third ends at 4; the second, 10
     * left at 10, ends at 5. Exact. */
    struct system_case *system = arena_alloc(*state, sizeof *system);
    const int64_t sizes[] = {10, 30, 10};
    const int64_t starts[] = {0, 0, 2};
    const int64_t ends[] = {2, 5, 4};
    system->link_count = 1;
    system->capacities[0] = 10 * UNIT;
    for (uint32_t i = 0; i < 3; i++) {
        system->flows[i] = plain_flow(ROUTE(0), 0.0);
        system->flows[i].bytes = sizes[i] * UNIT;
        system->flows[i].start = starts[i] * UNIT;
    }
    system->flow_count = 3;
    struct world *world = world_new(*state, system);
    while (run_instant(world)) {
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(world->ended[i] == ends[i] * UNIT);
    }
}

/* ---- recorded systems --------------------------------------------------- */

static double number_at(const struct doc_node *node, const char *key)
{
    const struct doc_node *child = doc_find(node, key);
    assert_non_null(child);
    return strtod(child->text, NULL);
}

static void read_flow(const struct doc_node *node, struct flow_case *flow)
{
    *flow = (struct flow_case){.weight = 1,
                               .cap = NO_CAP,
                               .bytes = llround(number_at(node, "size") * TIME_SCALE),
                               .start = sim_time_from_s(number_at(node, "start") * TIME_SCALE),
                               .expected = number_at(node, "finish") * TIME_SCALE};
    const struct doc_node *route = doc_find(node, "route");
    assert_non_null(route);
    for (const struct doc_node *link = route->child; link != NULL; link = link->next) {
        assert_true(flow->route_count < ROUTE_MAX);
        flow->route[flow->route_count++] = (uint32_t)strtoul(link->text, NULL, 10);
    }
}

static const struct system_case *read_system(struct arena *arena, const char *name)
{
    struct system_case *system = arena_alloc(arena, sizeof *system);
    struct diag *diag = diag_new(arena);
    const char *path = arena_printf(arena, "tests/closed_form/maxmin/%s.json", name);
    const struct doc_node *root = doc_load(arena, path, diag);
    diag_print(diag, stderr);
    assert_non_null(root);
    const struct doc_node *links = doc_find(root, "links");
    const struct doc_node *flows = doc_find(root, "flows");
    assert_true(links != NULL && doc_child_count(links) <= LINKS_MAX);
    assert_true(flows != NULL && doc_child_count(flows) <= FLOWS_MAX);
    for (const struct doc_node *link = links->child; link != NULL; link = link->next) {
        system->capacities[system->link_count++] = strtoll(link->text, NULL, 10);
    }
    for (const struct doc_node *flow = flows->child; flow != NULL; flow = flow->next) {
        read_flow(flow, &system->flows[system->flow_count++]);
    }
    return system;
}

/* Prints the worst relative difference; each end must be within 1e-6. */
static void completions_equal_the_recorded_ones(void **state)
{
    const char *const names[] = {"dumbbell_asym",  "parking_lot",        "leaf_spine_asym",
                                 "incast_outcast", "ring_multihop_ties", "perm_star_64",
                                 "perm_fat_64",    "perm_fat_512"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct system_case *system = read_system(*state, names[i]);
        struct world *world = world_new(*state, system);
        while (run_instant(world)) {
        }
        double worst = 0.0;
        for (uint32_t j = 0; j < system->flow_count; j++) {
            const double end_s = sim_time_to_s(world->ended[j]);
            const double expected_s = system->flows[j].expected;
            assert_close(end_s, expected_s, 1e-6);
            worst = fmax(worst, fabs(end_s / expected_s - 1.0));
        }
        print_message("%s: %u flows, worst relative difference %.1e\n", names[i],
                      system->flow_count, worst);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_arena, end_arena)
    const struct CMUnitTest tests[] = {
        TEST(parking_lot_gives_each_flow_half),
        TEST(two_bottlenecks_are_filled_one_after_the_other),
        TEST(demands_are_met_from_the_smallest_up),
        TEST(weighted_demands_share_in_proportion),
        TEST(the_victim_of_an_incast_takes_what_is_left),
        TEST(an_oversubscribed_leaf_shares_its_uplink),
        TEST(rates_change_as_flows_come_and_go),
        TEST(completions_equal_the_recorded_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
