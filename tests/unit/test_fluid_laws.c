/* Fluid sharing: the laws of max-min fairness on random systems, and equality
 * with the slow solver while flows come and go. */
#include "des/fluid.h"

#include "base/arena.h"
#include "base/rng.h"
#include "support/fluid_world.h"
#include "support/progressive_filling.h"
#include "support/seeds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/assert_close.h"

#define ONE FLUID_USAGE_ONE
#define NO_CAP INT64_C(1000000000000000) /* 1 PB/s: more than any link here */

#define SMALL 1000 /* the last seed of large amounts */
#define LINKS 12
#define FLOWS 30
#define ROUTE_MAX 4
#define COPIES_MAX 16

/* Integers, so that laws can be held to the last byte/s. */
struct plan_flow {
    struct fluid_crossing route[ROUTE_MAX];
    uint32_t route_count;
    uint32_t weight;
    int64_t cap;
    int64_t bytes;
};

struct plan {
    int64_t capacities[LINKS];
    struct plan_flow flows[FLOWS];
};

static uint64_t draw(uint64_t seed, uint64_t operation, uint64_t bound)
{
    const struct rng_key key = {
        .seed = seed, .stream = rng_stream("fluid"), .operation = operation};
    return rng_below(&key, bound);
}

/* Odd seeds: round numbers, which make many ties. Even seeds: anything. Above
 * SMALL: amounts so small that shares lose much by rounding down. */
static int64_t draw_amount(uint64_t seed, uint64_t operation)
{
    if (seed > SMALL) {
        return (int64_t)(1 + draw(seed, operation, 8)) * 1000;
    }
    if (seed % 2 == 1) {
        return (int64_t)(1 + draw(seed, operation, 8)) * 1000000000;
    }
    return (int64_t)(1000000000 + draw(seed, operation, UINT64_C(100000000000)));
}

static void plan_route(uint64_t seed, uint64_t operation, struct plan_flow *flow)
{
    const uint32_t length = (uint32_t)(1 + draw(seed, operation, ROUTE_MAX));
    const uint32_t first = (uint32_t)draw(seed, operation + 1, LINKS);
    const uint64_t usages[] = {ONE, ONE, ONE, 2 * ONE, ONE / 2, 3 * ONE, ONE / 3};
    flow->route_count = length;
    for (uint32_t i = 0; i < length; i++) {
        /* 5 is prime to LINKS, so the links of a route differ. */
        flow->route[i] = (struct fluid_crossing){.link = (first + 5 * i) % LINKS,
                                                 .usage = usages[draw(seed, operation + 2 + i, 7)]};
    }
}

static struct plan plan_random(uint64_t seed)
{
    struct plan plan = {0};
    for (uint32_t i = 0; i < LINKS; i++) {
        plan.capacities[i] = draw_amount(seed, i);
    }
    for (uint32_t i = 0; i < FLOWS; i++) {
        struct plan_flow *flow = &plan.flows[i];
        const uint64_t operation = 1000 + 100 * (uint64_t)i;
        plan_route(seed, operation, flow);
        flow->weight = (uint32_t)(1 + draw(seed, operation + 20, 4));
        flow->cap =
            draw(seed, operation + 21, 3) == 0 ? draw_amount(seed, operation + 22) / 4 : NO_CAP;
        flow->bytes = draw_amount(seed, operation + 23);
    }
    return plan;
}

static struct fluid_world plan_build(struct arena *arena, const struct plan *plan)
{
    struct fluid_world world = fluid_world_new(arena);
    for (uint32_t i = 0; i < LINKS; i++) {
        fluid_add_link(world.fluid, plan->capacities[i]);
    }
    for (uint32_t i = 0; i < FLOWS; i++) {
        const struct plan_flow *flow = &plan->flows[i];
        fluid_add_flow(world.fluid, &(struct fluid_flow_options){.route = flow->route,
                                                                 .route_count = flow->route_count,
                                                                 .weight = flow->weight,
                                                                 .cap_bytes_per_s_max = flow->cap});
    }
    fluid_seal(world.fluid);
    return world;
}

static void start_all(struct fluid_world *world, const struct plan *plan)
{
    for (uint32_t i = 0; i < FLOWS; i++) {
        fluid_start(world->fluid, i, plan->flows[i].bytes, plan->flows[i].cap);
    }
    fluid_solve(world->fluid);
}

/* The active flows of the plan as a system for the oracle; flow i of it is
 * flow members[i] of the plan. */
struct oracle {
    struct filling_link links[LINKS];
    struct filling_flow flows[FLOWS];
    uint32_t routes[FLOWS][ROUTE_MAX];
    double usages[FLOWS][ROUTE_MAX];
    flow_id members[FLOWS];
    struct filling_system system;
};

static void oracle_add(struct oracle *oracle, const struct plan *plan, flow_id id)
{
    const struct plan_flow *flow = &plan->flows[id];
    const uint32_t at = oracle->system.flow_count++;
    for (uint32_t i = 0; i < flow->route_count; i++) {
        oracle->routes[at][i] = flow->route[i].link;
        oracle->usages[at][i] = (double)flow->route[i].usage / ONE;
    }
    oracle->members[at] = id;
    oracle->flows[at] = (struct filling_flow){.links = oracle->routes[at],
                                              .usages = oracle->usages[at],
                                              .link_count = flow->route_count,
                                              .weight = flow->weight,
                                              .cap_bytes_per_s = (double)flow->cap};
}

static struct oracle *oracle_new(struct arena *arena, const struct fluid_world *world,
                                 const struct plan *plan)
{
    struct oracle *oracle = arena_alloc(arena, sizeof *oracle);
    for (uint32_t i = 0; i < LINKS; i++) {
        oracle->links[i].capacity_bytes_per_s = (double)plan->capacities[i];
    }
    for (flow_id i = 0; i < FLOWS; i++) {
        if (fluid_is_active(world->fluid, i)) {
            oracle_add(oracle, plan, i);
        }
    }
    oracle->system.links = oracle->links;
    oracle->system.link_count = LINKS;
    oracle->system.flows = oracle->flows;
    return oracle;
}

static void assert_rates_equal_the_oracle(struct arena *arena, const struct fluid_world *world,
                                          const struct plan *plan)
{
    const struct oracle *oracle = oracle_new(arena, world, plan);
    double rates[FLOWS];
    progressive_filling(&oracle->system, rates);
    for (uint32_t i = 0; i < oracle->system.flow_count; i++) {
        assert_close((double)fluid_rate(world->fluid, oracle->members[i]), rates[i], 1e-6);
    }
}

static void rates_equal_the_slow_solver_on_random_systems(void **state)
{
    struct seeded *seeded = *state;
    for (uint64_t seed; (seed = seeds_next(&seeded->seeds, 100)) != 0;) {
        const struct plan plan = plan_random(seed);
        struct fluid_world world = plan_build(seeded->arena, &plan);
        start_all(&world, &plan);
        assert_rates_equal_the_oracle(seeded->arena, &world, &plan);
    }
}

static void rates_equal_the_slow_solver_while_flows_come_and_go(void **state)
{
    /* At every instant each idle flow starts with probability 1/8: components
     * merge and split all the time. */
    struct seeded *seeded = *state;
    for (uint64_t seed; (seed = seeds_next(&seeded->seeds, 10)) != 0;) {
        const struct plan plan = plan_random(seed);
        struct fluid_world world = plan_build(seeded->arena, &plan);
        for (flow_id i = 0; i < FLOWS; i += 2) {
            fluid_start(world.fluid, i, plan.flows[i].bytes, plan.flows[i].cap);
        }
        fluid_solve(world.fluid);
        for (uint64_t turn = 0; turn < 150 && fluid_world_step(&world, NULL); turn++) {
            for (flow_id i = 0; i < FLOWS; i++) {
                const uint64_t operation = 1000000 + turn * FLOWS + i;
                if (!fluid_is_active(world.fluid, i) && draw(seed, operation, 8) == 0) {
                    fluid_start(world.fluid, i, draw_amount(seed, operation), plan.flows[i].cap);
                }
            }
            fluid_solve(world.fluid);
            assert_rates_equal_the_oracle(seeded->arena, &world, &plan);
        }
    }
}

/* Load of a link under integer rates, in bytes/s. */
static double link_load(const struct fluid_world *world, const struct plan *plan, link_id link)
{
    double load = 0.0;
    for (flow_id i = 0; i < FLOWS; i++) {
        for (uint32_t j = 0; j < plan->flows[i].route_count; j++) {
            if (plan->flows[i].route[j].link == link) {
                load += (double)plan->flows[i].route[j].usage / ONE *
                        (double)fluid_rate(world->fluid, i);
            }
        }
    }
    return load;
}

static double level(const struct fluid_world *world, const struct plan *plan, flow_id flow)
{
    return (double)fluid_rate(world->fluid, flow) / plan->flows[flow].weight;
}

static bool has_highest_level_on(const struct fluid_world *world, const struct plan *plan,
                                 flow_id flow, link_id link)
{
    for (flow_id i = 0; i < FLOWS; i++) {
        for (uint32_t j = 0; j < plan->flows[i].route_count; j++) {
            if (plan->flows[i].route[j].link == link &&
                level(world, plan, i) > level(world, plan, flow) * (1.0 + 1e-6)) {
                return false;
            }
        }
    }
    return true;
}

static bool is_bottleneck(const struct fluid_world *world, const struct plan *plan, flow_id flow,
                          link_id link)
{
    const double capacity = (double)plan->capacities[link];
    return link_load(world, plan, link) >= capacity * (1.0 - 1e-6) &&
           has_highest_level_on(world, plan, flow, link);
}

static bool is_held_back(const struct fluid_world *world, const struct plan *plan, flow_id flow)
{
    if (fluid_rate(world->fluid, flow) == plan->flows[flow].cap) {
        return true;
    }
    for (uint32_t j = 0; j < plan->flows[flow].route_count; j++) {
        if (is_bottleneck(world, plan, flow, plan->flows[flow].route[j].link)) {
            return true;
        }
    }
    return false;
}

static void no_link_carries_more_than_its_capacity(void **state)
{
    struct seeded *seeded = *state;
    for (uint64_t seed; (seed = seeds_next(&seeded->seeds, 200)) != 0;) {
        const struct plan plan = plan_random(seed);
        struct fluid_world world = plan_build(seeded->arena, &plan);
        start_all(&world, &plan);
        for (link_id link = 0; link < LINKS; link++) {
            /* The sum here is of doubles: 1e-12 is its rounding, not the solver's. */
            assert_true(link_load(&world, &plan, link) <=
                        (double)plan.capacities[link] * (1.0 + 1e-12));
        }
        for (flow_id flow = 0; flow < FLOWS; flow++) {
            assert_true(fluid_rate(world.fluid, flow) <= plan.flows[flow].cap);
        }
    }
}

static void each_flow_is_at_its_cap_or_has_a_bottleneck(void **state)
{
    /* A bottleneck: a full link on which no flow has a higher rate / weight.
     * This condition defines weighted max-min fairness. */
    struct seeded *seeded = *state;
    for (uint64_t seed; (seed = seeds_next(&seeded->seeds, 200)) != 0;) {
        const struct plan plan = plan_random(seed);
        struct fluid_world world = plan_build(seeded->arena, &plan);
        start_all(&world, &plan);
        for (flow_id flow = 0; flow < FLOWS; flow++) {
            assert_true(is_held_back(&world, &plan, flow));
        }
    }
}

/* The same plan with its links renumbered and its flows in another order: flow
 * i is flow_turned(i) of the original. 5 and 7 are prime to LINKS and FLOWS. */
static uint32_t flow_turned(uint32_t i)
{
    return (4 + 7 * i) % FLOWS;
}

static struct plan plan_turned(const struct plan *plan)
{
    struct plan turned = *plan;
    for (uint32_t i = 0; i < LINKS; i++) {
        turned.capacities[(3 + 5 * i) % LINKS] = plan->capacities[i];
    }
    for (uint32_t i = 0; i < FLOWS; i++) {
        turned.flows[i] = plan->flows[flow_turned(i)];
        for (uint32_t j = 0; j < turned.flows[i].route_count; j++) {
            struct fluid_crossing *crossing = &turned.flows[i].route[j];
            crossing->link = (3 + 5 * crossing->link) % LINKS;
        }
    }
    return turned;
}

static void compare_orders(struct arena *arena, uint64_t seed)
{
    const struct plan plan = plan_random(seed);
    const struct plan turned = plan_turned(&plan);
    struct fluid_world world = plan_build(arena, &plan);
    struct fluid_world other = plan_build(arena, &turned);
    start_all(&world, &plan);
    start_all(&other, &turned);
    sim_time ended[FLOWS];
    sim_time other_ended[FLOWS];
    for (uint32_t i = 0; i < FLOWS; i++) {
        assert_true(fluid_rate(other.fluid, i) == fluid_rate(world.fluid, flow_turned(i)));
    }
    fluid_world_run(&world, ended);
    fluid_world_run(&other, other_ended);
    for (uint32_t i = 0; i < FLOWS; i++) {
        assert_true(other_ended[i] == ended[flow_turned(i)]);
    }
}

static void the_order_of_links_and_flows_changes_nothing(void **state)
{
    /* Rates and ends are equal to the last byte/s and nanosecond. */
    struct seeded *seeded = *state;
    for (uint64_t seed; (seed = seeds_next(&seeded->seeds, 100)) != 0;) {
        compare_orders(seeded->arena, seed);
        compare_orders(seeded->arena, seed + SMALL);
    }
}

/* The plan with every flow in `copies` copies. Links of even number are
 * shared by all copies, those of odd number each copy has to itself. */
static struct fluid_world build_copies(struct arena *arena, const struct plan *plan,
                                       uint32_t copies)
{
    struct fluid_world world = fluid_world_new(arena);
    for (uint32_t i = 0; i < LINKS * copies; i++) {
        fluid_add_link(world.fluid, plan->capacities[i % LINKS]);
    }
    for (uint32_t i = 0; i < FLOWS * copies; i++) {
        struct plan_flow flow = plan->flows[i % FLOWS];
        for (uint32_t j = 0; j < flow.route_count; j++) {
            flow.route[j].link += flow.route[j].link % 2 == 1 ? i / FLOWS * LINKS : 0;
        }
        fluid_add_flow(world.fluid, &(struct fluid_flow_options){.route = flow.route,
                                                                 .route_count = flow.route_count,
                                                                 .weight = flow.weight,
                                                                 .cap_bytes_per_s_max = flow.cap});
    }
    fluid_seal(world.fluid);
    for (uint32_t i = 0; i < FLOWS * copies; i++) {
        const struct plan_flow *flow = &plan->flows[i % FLOWS];
        fluid_start(world.fluid, i, flow->bytes, flow->cap);
    }
    fluid_solve(world.fluid);
    return world;
}

/* One flow for all copies: their number goes into the usage of shared links. */
static struct fluid_world build_folded(struct arena *arena, const struct plan *plan,
                                       uint32_t copies)
{
    struct plan folded = *plan;
    for (uint32_t i = 0; i < FLOWS; i++) {
        for (uint32_t j = 0; j < folded.flows[i].route_count; j++) {
            struct fluid_crossing *crossing = &folded.flows[i].route[j];
            crossing->usage *= crossing->link % 2 == 0 ? copies : 1;
        }
    }
    struct fluid_world world = plan_build(arena, &folded);
    start_all(&world, &folded);
    return world;
}

static void compare_folded(struct arena *arena, uint64_t seed)
{
    const uint32_t copies[] = {2, 3, 7, COPIES_MAX};
    const uint32_t k = copies[seed % 4];
    const struct plan plan = plan_random(seed);
    struct fluid_world whole = build_copies(arena, &plan, k);
    struct fluid_world folded = build_folded(arena, &plan, k);
    sim_time ended[FLOWS * COPIES_MAX];
    sim_time folded_ended[FLOWS];
    for (uint32_t i = 0; i < FLOWS * k; i++) {
        assert_true(fluid_rate(whole.fluid, i) == fluid_rate(folded.fluid, i % FLOWS));
    }
    fluid_world_run(&whole, ended);
    fluid_world_run(&folded, folded_ended);
    for (uint32_t i = 0; i < FLOWS * k; i++) {
        assert_true(ended[i] == folded_ended[i % FLOWS]);
    }
}

/* The last link is on no route but with one of the first three, and gives as much as these: with
 * `has_last` it is there. */
static struct plan plan_fed(uint64_t seed, bool has_last)
{
    enum { LAST = LINKS - 1, FEEDERS = 3 };
    struct plan plan = plan_random(seed);
    const uint64_t times = 1 + seed % 3; /* of a flow's usage of the feeder */
    plan.capacities[LAST] = 0;
    for (uint32_t i = 0; i < FEEDERS; i++) {
        plan.capacities[LAST] += (int64_t)times * plan.capacities[i];
    }
    for (uint32_t i = 0; i < FLOWS; i++) {
        struct plan_flow *flow = &plan.flows[i];
        flow->route_count = flow->route_count < ROUTE_MAX ? flow->route_count : ROUTE_MAX - 1;
        flow->route[0].link = i % 2 == 0 ? i / 2 % FEEDERS : FEEDERS + flow->route[0].link % 4;
        for (uint32_t j = 1; j < flow->route_count; j++) {
            flow->route[j].link = FEEDERS + 4 + (flow->route[0].link + j) % 4;
        }
        if (has_last && i % 2 == 0) {
            flow->route[flow->route_count++] =
                (struct fluid_crossing){LAST, times * flow->route[0].usage};
        }
    }
    return plan;
}

/* As it starts, and as flows come and go, to the last byte/s and nanosecond. */
static void a_link_that_gives_as_much_as_all_that_feed_it_changes_nothing(void **state)
{
    struct seeded *seeded = *state;
    for (uint64_t seed; (seed = seeds_next(&seeded->seeds, 400)) != 0;) {
        for (uint64_t of = seed; of <= seed + SMALL; of += SMALL) {
            const struct plan plans[] = {plan_fed(of, false), plan_fed(of, true)};
            struct fluid_world worlds[2];
            for (uint32_t k = 0; k < 2; k++) {
                worlds[k] = plan_build(seeded->arena, &plans[k]);
            }
            for (uint64_t turn = 0; turn < 40; turn++) {
                for (flow_id i = 0; i < FLOWS; i++) {
                    const bool starts =
                        draw(of, 1000000 + turn * FLOWS + i, turn == 0 ? 2 : 6) == 0;
                    for (uint32_t k = 0; k < 2 && starts; k++) {
                        if (!fluid_is_active(worlds[k].fluid, i)) {
                            fluid_start(worlds[k].fluid, i, draw_amount(of, turn * FLOWS + i),
                                        plans[k].flows[i].cap);
                        }
                    }
                }
                fluid_solve(worlds[0].fluid);
                fluid_solve(worlds[1].fluid);
                for (flow_id i = 0; i < FLOWS; i++) {
                    assert_true(fluid_rate(worlds[0].fluid, i) == fluid_rate(worlds[1].fluid, i));
                }
                assert_true(fluid_world_step(&worlds[0], NULL) ==
                            fluid_world_step(&worlds[1], NULL));
            }
        }
    }
}

static void identical_flows_equal_one_flow_with_their_number_as_usage(void **state)
{
    /* Rates and ends are equal to the last byte/s and nanosecond. */
    struct seeded *seeded = *state;
    for (uint64_t seed; (seed = seeds_next(&seeded->seeds, 100)) != 0;) {
        compare_folded(seeded->arena, seed);
        compare_folded(seeded->arena, seed + SMALL);
    }
}

static void all_amounts_times_k_leave_the_times(void **state)
{
    /* Capacities, caps and sizes times 7: rates times 7 but for rounding down
     * (1e-8 of 1e9 bytes/s with a share to spare), ends to 1e-8. */
    struct seeded *seeded = *state;
    for (uint64_t seed; (seed = seeds_next(&seeded->seeds, 50)) != 0;) {
        const struct plan plan = plan_random(seed);
        struct plan scaled = plan;
        for (uint32_t i = 0; i < LINKS; i++) {
            scaled.capacities[i] *= 7;
        }
        for (uint32_t i = 0; i < FLOWS; i++) {
            scaled.flows[i].cap *= 7;
            scaled.flows[i].bytes *= 7;
        }
        struct fluid_world world = plan_build(seeded->arena, &plan);
        struct fluid_world other = plan_build(seeded->arena, &scaled);
        start_all(&world, &plan);
        start_all(&other, &scaled);
        sim_time ended[FLOWS];
        sim_time other_ended[FLOWS];
        for (uint32_t i = 0; i < FLOWS; i++) {
            assert_close((double)fluid_rate(other.fluid, i),
                         7.0 * (double)fluid_rate(world.fluid, i), 1e-7);
        }
        fluid_world_run(&world, ended);
        fluid_world_run(&other, other_ended);
        for (uint32_t i = 0; i < FLOWS; i++) {
            assert_close((double)other_ended[i], (double)ended[i], 1e-7);
        }
    }
}

static void bytes_on_links_are_those_of_the_flows_that_crossed(void **state)
{
    struct seeded *seeded = *state;
    for (uint64_t seed; (seed = seeds_next(&seeded->seeds, 20)) != 0;) {
        const struct plan plan = plan_random(seed);
        struct fluid_world world = plan_build(seeded->arena, &plan);
        start_all(&world, &plan);
        fluid_world_run(&world, NULL);
        double expected[LINKS] = {0};
        for (uint32_t i = 0; i < FLOWS; i++) {
            for (uint32_t j = 0; j < plan.flows[i].route_count; j++) {
                const struct fluid_crossing *crossing = &plan.flows[i].route[j];
                expected[crossing->link] +=
                    (double)crossing->usage / ONE * (double)plan.flows[i].bytes;
            }
        }
        for (link_id link = 0; link < LINKS; link++) {
            assert_close(fluid_link_bytes(world.fluid, link), expected[link], 1e-12);
        }
    }
}

static void nothing_is_allocated_after_sealing(void **state)
{
    struct seeded *seeded = *state;
    const struct plan plan = plan_random(2);
    struct fluid_world world = plan_build(seeded->arena, &plan);
    start_all(&world, &plan);
    const size_t used_bytes = arena_used_bytes(seeded->arena);
    fluid_world_run(&world, NULL);
    for (uint32_t i = 0; i < 3; i++) {
        start_all(&world, &plan);
        fluid_world_run(&world, NULL);
    }
    assert_int_equal(arena_used_bytes(seeded->arena), used_bytes);
}

/* An argument is the one seed to run. */
int main(int count, char **arguments)
{
    struct seeded seeded = {.seeds.only = seeds_only(count, arguments)};
#define TEST(name) cmocka_unit_test_prestate_setup_teardown(name, seeded_begin, seeded_end, &seeded)
    const struct CMUnitTest tests[] = {
        TEST(rates_equal_the_slow_solver_on_random_systems),
        TEST(rates_equal_the_slow_solver_while_flows_come_and_go),
        TEST(no_link_carries_more_than_its_capacity),
        TEST(each_flow_is_at_its_cap_or_has_a_bottleneck),
        TEST(the_order_of_links_and_flows_changes_nothing),
        TEST(a_link_that_gives_as_much_as_all_that_feed_it_changes_nothing),
        TEST(identical_flows_equal_one_flow_with_their_number_as_usage),
        TEST(all_amounts_times_k_leave_the_times),
        TEST(bytes_on_links_are_those_of_the_flows_that_crossed),
        TEST(nothing_is_allocated_after_sealing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
