/* Fluid sharing solves only the region whose rates change. Here: that the rates
 * are those of solving everything, to the last byte/s, at every instant of long
 * runs in which flows come and go; and that the region is small.
 *
 * The runs differ in what makes a region hard to bound: equal levels on many
 * links (round capacities), shares that lose much by rounding down
 * (capacities of some bytes/s), levels that differ by this rounding only, weights, caps,
 * usages, and one link that all flows cross.
 */
#include "des/fluid.h"

#include "base/arena.h"
#include "base/rng.h"
#include "support/exact_filling.h"
#include "support/fat_tree.h"
#include "support/fluid_world.h"
#include "support/seeds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ONE FLUID_USAGE_ONE
#define NO_CAP FAT_TREE_NO_CAP
#define SECOND INT64_C(1000000000)
#define ROUTE_MAX (FAT_TREE_ROUTE_MAX + 1)
#define CAP_MAX (INT64_C(1) << 40) /* more than any link */

/* ---- random runs ---------------------------------------------------------- */

struct churn_options {
    const char *name;
    uint32_t leaves, leaf_hosts;
    uint32_t flow_count;
    int64_t unit; /* capacities and caps are multiples of it, in bytes/s */
    uint32_t capacity_units_max;
    bool has_weights; /* and caps and usages */
    bool has_common_link;
    uint32_t instants;
};

struct churn {
    const struct churn_options *options;
    uint64_t seed;
    uint64_t draws;
    struct fluid_world world;
    int64_t capacities[EXACT_LINKS_MAX];
    struct fluid_crossing routes[EXACT_FLOWS_MAX][ROUTE_MAX];
    struct exact_flow flows[EXACT_FLOWS_MAX]; /* with the cap of the running transfer */
    uint32_t link_count;
};

static uint64_t draw(struct churn *churn, uint64_t bound)
{
    const struct rng_key key = {
        .seed = churn->seed, .stream = rng_stream("fluid"), .operation = churn->draws++};
    return rng_below(&key, bound);
}

static int64_t draw_capacity(struct churn *churn)
{
    return churn->options->unit * (int64_t)(1 + draw(churn, churn->options->capacity_units_max));
}

static link_id add_link(struct churn *churn, int64_t capacity)
{
    churn->capacities[churn->link_count++] = capacity;
    return fluid_add_link(churn->world.fluid, capacity);
}

static uint64_t draw_usage(struct churn *churn)
{
    const uint64_t usages[] = {ONE, ONE, ONE, 2 * ONE, ONE / 2, 3 * ONE, ONE / 3};
    return churn->options->has_weights ? usages[draw(churn, 7)] : ONE;
}

/* From a host to another or, every eighth, to itself: only the common link. */
static void add_flow(struct churn *churn, const struct fat_tree *tree, uint32_t number)
{
    const struct churn_options *options = churn->options;
    const uint32_t hosts = options->leaves * options->leaf_hosts;
    struct exact_flow *flow = &churn->flows[number];
    link_id links[FAT_TREE_ROUTE_MAX];
    const uint32_t from = (uint32_t)draw(churn, hosts);
    const uint32_t to = (uint32_t)(from + 1 + draw(churn, hosts - 1)) % hosts;
    uint32_t count = fat_tree_route(tree, from, to, links);
    if (options->has_common_link && draw(churn, 8) == 0) {
        count = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        churn->routes[number][i] = (struct fluid_crossing){links[i], draw_usage(churn)};
    }
    if (options->has_common_link) {
        churn->routes[number][count++] =
            (struct fluid_crossing){churn->link_count - 1, draw_usage(churn)};
    }
    flow->route = churn->routes[number];
    flow->route_count = count;
    flow->weight = options->has_weights ? (uint32_t)(1 + draw(churn, 4)) : 1;
    fluid_add_flow(churn->world.fluid,
                   &(struct fluid_flow_options){.route = flow->route,
                                                .route_count = count,
                                                .weight = flow->weight,
                                                .cap_bytes_per_s_max = CAP_MAX});
}

static struct churn *churn_new(struct arena *arena, const struct churn_options *options,
                               uint64_t seed)
{
    struct churn *churn = arena_alloc(arena, sizeof *churn);
    churn->options = options;
    churn->seed = seed;
    churn->world = fluid_world_new(arena);
    const struct fat_tree tree = {
        .fluid = churn->world.fluid, .leaves = options->leaves, .leaf_hosts = options->leaf_hosts};
    for (uint32_t i = 0; i < 4 * options->leaves * options->leaf_hosts; i++) {
        add_link(churn, draw_capacity(churn));
    }
    if (options->has_common_link) {
        /* On average enough for a quarter to a half of the flows at an average link's rate. */
        add_link(churn, draw_capacity(churn) * options->flow_count / 4);
    }
    for (uint32_t i = 0; i < options->flow_count; i++) {
        add_flow(churn, &tree, i);
    }
    fluid_seal(churn->world.fluid);
    return churn;
}

static void start(struct churn *churn, flow_id id)
{
    struct exact_flow *flow = &churn->flows[id];
    const bool has_cap = churn->options->has_weights && draw(churn, 3) == 0;
    flow->cap_bytes_per_s = has_cap ? draw_capacity(churn) / 2 + 1 : CAP_MAX;
    fluid_start(churn->world.fluid, id, draw_capacity(churn), flow->cap_bytes_per_s);
}

/* A third of the idle flows. */
static void start_some(struct churn *churn)
{
    for (flow_id i = 0; i < churn->options->flow_count; i++) {
        if (!fluid_is_active(churn->world.fluid, i) && draw(churn, 3) == 0) {
            start(churn, i);
        }
    }
}

static void assert_rates_are_exact(struct arena *arena, const struct churn *churn)
{
    struct exact_system *system = arena_alloc(arena, sizeof *system);
    flow_id members[EXACT_FLOWS_MAX];
    int64_t rates[EXACT_FLOWS_MAX];
    system->link_count = churn->link_count;
    for (uint32_t i = 0; i < churn->link_count; i++) {
        system->capacities[i] = churn->capacities[i];
    }
    for (flow_id i = 0; i < churn->options->flow_count; i++) {
        if (fluid_is_active(churn->world.fluid, i)) {
            members[system->flow_count] = i;
            system->flows[system->flow_count++] = churn->flows[i];
        }
    }
    exact_filling(system, rates);
    for (uint32_t i = 0; i < system->flow_count; i++) {
        if (fluid_rate(churn->world.fluid, members[i]) != rates[i]) {
            fail_msg("%s, seed %llu, time %lld: flow %u at %lld, not %lld", churn->options->name,
                     (unsigned long long)churn->seed, (long long)event_now(churn->world.queue),
                     members[i], (long long)fluid_rate(churn->world.fluid, members[i]),
                     (long long)rates[i]);
        }
    }
}

static void run_churn(const struct churn_options *options, uint64_t seed,
                      struct fluid_statistics *sum)
{
    struct arena *arena = arena_new();
    struct arena *scratch = arena_new();
    struct churn *churn = churn_new(arena, options, seed);
    start_some(churn);
    fluid_solve(churn->world.fluid);
    for (uint32_t i = 0; i < options->instants; i++) {
        assert_rates_are_exact(scratch, churn);
        arena_reset(scratch);
        if (!fluid_world_step(&churn->world, NULL)) {
            break;
        }
        if (i % 4 == 0) {
            start_some(churn);
        }
        fluid_solve(churn->world.fluid);
    }
    const struct fluid_statistics statistics = fluid_statistics(churn->world.fluid);
    sum->solves += statistics.solves;
    sum->fills += statistics.fills;
    sum->few += statistics.few;
    sum->flows_filled += statistics.flows_filled;
    sum->flows_changed += statistics.flows_changed;
    arena_free(arena);
    arena_free(scratch);
}

static const struct churn_options CHURNS[] = {
    {"equal links", 8, 8, 96, 50000000000, 1, false, false, 60},
    {"round links", 8, 8, 96, 1000000000, 4, false, false, 60},
    {"round links, weights", 8, 8, 96, 1000000000, 4, true, false, 60},
    {"any links, weights", 8, 8, 96, 1, 1000000000, true, false, 60},
    {"few links, weights", 2, 3, 40, 1000, 8, true, false, 60},
    {"links of bytes", 4, 4, 64, 1, 40, false, false, 60},
    {"links of bytes, weights", 4, 4, 64, 1, 40, true, false, 60},
    {"starving links", 4, 4, 200, 1, 8, false, false, 40},
    {"common link", 8, 8, 96, 1000000000, 4, false, true, 60},
    {"common link, equal links", 8, 8, 96, 12000, 1, false, true, 60},
    {"common link, weights", 8, 8, 96, 100000, 50, true, true, 60},
    {"common link of bytes", 4, 4, 64, 1, 40, true, true, 60},
    {"few at once", 8, 8, 24, 1000000000, 4, false, false, 60},
    {"few at once, weights", 8, 8, 24, 1000, 50, true, false, 60},
    {"few at once, bytes", 8, 8, 24, 1, 40, true, false, 60},
    {"few or many, bytes", 4, 4, 12, 1, 9, true, true, 60},
};

static void rates_are_those_of_solving_everything_at_every_instant(void **state)
{
    struct seeded *seeded = *state;
    for (size_t i = 0; i < sizeof CHURNS / sizeof *CHURNS; i++) {
        struct fluid_statistics sum = {0};
        for (uint64_t seed; (seed = seeds_next(&seeded->seeds, 40)) != 0;) {
            run_churn(&CHURNS[i], seed, &sum);
        }
        print_message("%-26s %6llu solves, %5.2f fillings each (%2.0f %% few), of %5.1f flows, of "
                      "whom %5.1f changed\n",
                      CHURNS[i].name, (unsigned long long)sum.solves,
                      (double)sum.fills / (double)sum.solves,
                      100.0 * (double)sum.few / (double)sum.fills,
                      (double)sum.flows_filled / (double)sum.fills,
                      (double)sum.flows_changed / (double)sum.solves);
    }
}

static void a_link_whose_flows_change_just_as_it_gets_tight_is_looked_at_again(void **state)
{
    /* Found by leaving that out (fluid_solve.c, `enlarge`): the first of some
     * 8,000 runs to go wrong. A link gets tight at the level that it had, so
     * nobody outside is called in; but one of the flows that it binds had another level. */
    (void)state;
    const struct churn_options options = {"links of bytes", 4, 4, 64, 1, 40, false, false, 60};
    struct fluid_statistics sum = {0};
    run_churn(&options, 677, &sum);
}

/* ---- by hand -------------------------------------------------------------- */

static flow_id add_plain_flow(struct fluid_world *world, const link_id *links, uint32_t count)
{
    struct fluid_crossing route[ROUTE_MAX];
    for (uint32_t i = 0; i < count; i++) {
        route[i] = (struct fluid_crossing){links[i], ONE};
    }
    return fluid_add_flow(
        world->fluid,
        &(struct fluid_flow_options){
            .route = route, .route_count = count, .weight = 1, .cap_bytes_per_s_max = NO_CAP});
}

static void the_order_of_starts_does_not_matter_where_rounding_could_hide_a_tie(void **state)
{
    /* Links A and B of 11; flow 0 over both, two more on each. All at once the
     * level is 11/3 on both, and all get 3. If B's own flows start after the
     * others have 3 each, B has 8 left for two: at a level of 4 it would be
     * full, too. But 11/3 is the lowest level at which it is, so all get 3. */
    struct seeded *seeded = *state;
    struct fluid_world world = fluid_world_new(seeded->arena);
    const link_id links[] = {fluid_add_link(world.fluid, 11), fluid_add_link(world.fluid, 11)};
    add_plain_flow(&world, links, 2);
    for (uint32_t i = 0; i < 4; i++) {
        add_plain_flow(&world, &links[i / 2], 1);
    }
    fluid_seal(world.fluid);
    for (flow_id i = 0; i < 5; i++) {
        fluid_start(world.fluid, i, 100, NO_CAP);
        fluid_solve(world.fluid);
    }
    for (flow_id i = 0; i < 5; i++) {
        assert_int_equal(fluid_rate(world.fluid, i), 3);
    }
}

static void a_link_that_is_not_full_joins_nobody(void **state)
{
    /* 50 pairs, each on a link of 10 of its own, and all over one link of 600,
     * which 100 flows at 5 do not fill. The first of a pair sends 5 bytes more
     * in each pair: pair i ends its first flow after 1 + i s, alone. Then one
     * flow has a new rate, 10, and one is solved. */
    struct seeded *seeded = *state;
    struct fluid_world world = fluid_world_new(seeded->arena);
    link_id links[] = {0, fluid_add_link(world.fluid, 600)};
    for (uint32_t i = 0; i < 50; i++) {
        links[0] = fluid_add_link(world.fluid, 10);
        add_plain_flow(&world, links, 2);
        add_plain_flow(&world, links, 2);
    }
    fluid_seal(world.fluid);
    assert_false(fluid_link_is_slack(world.fluid, links[1]));
    for (uint32_t i = 0; i < 50; i++) {
        fluid_start(world.fluid, 2 * i, 5 * (1 + i), NO_CAP);
        fluid_start(world.fluid, 2 * i + 1, 100000, NO_CAP);
    }
    fluid_solve(world.fluid);
    assert_int_equal(fluid_statistics(world.fluid).flows_filled, 100);
    for (uint32_t i = 0; i < 20; i++) {
        assert_true(fluid_world_step(&world, NULL));
        assert_true(event_now(world.queue) == (1 + i) * SECOND);
        assert_int_equal(fluid_rate(world.fluid, 2 * i + 1), 10);
        assert_int_equal(fluid_statistics(world.fluid).flows_filled, 101 + i);
    }
}

static void a_link_that_its_flows_cannot_fill_is_left_alone(void **state)
{
    /* Three flows of at most 4 over a link of 10. Two take 8: each is served as if it were alone,
     * and nothing is filled. After 1 s, when the second begins again and the third with it, all
     * would take 12: each gets 10 / 3, rounded down. The first has 11 - 4 bytes left then, which
     * take 7 / 3 s, not the 7 / 4 of an event that is stale now. When they are through, the others
     * have 4 again. */
    struct seeded *seeded = *state;
    struct fluid_world world = fluid_world_new(seeded->arena);
    const link_id link = fluid_add_link(world.fluid, 10);
    const struct fluid_crossing route = {link, ONE};
    for (flow_id i = 0; i < 3; i++) {
        fluid_add_flow(world.fluid, &(struct fluid_flow_options){.route = &route,
                                                                 .route_count = 1,
                                                                 .weight = 1,
                                                                 .cap_bytes_per_s_max = 4});
    }
    fluid_seal(world.fluid);
    assert_false(fluid_link_is_slack(world.fluid, link));
    fluid_start(world.fluid, 0, 11, 4);
    fluid_start(world.fluid, 1, 4, 4);
    fluid_solve(world.fluid);
    assert_int_equal(fluid_rate(world.fluid, 0), 4);
    assert_int_equal(fluid_rate(world.fluid, 1), 4);
    assert_int_equal(fluid_statistics(world.fluid).fills, 0);
    assert_true(fluid_world_step(&world, NULL));
    assert_true(event_now(world.queue) == SECOND);
    fluid_start(world.fluid, 1, 1000, 4);
    fluid_start(world.fluid, 2, 1000, 4);
    fluid_solve(world.fluid);
    for (flow_id i = 0; i < 3; i++) {
        assert_int_equal(fluid_rate(world.fluid, i), 3);
    }
    assert_int_equal(fluid_statistics(world.fluid).fills, 1);
    assert_true(fluid_world_step(&world, NULL));
    assert_true(fluid_world_step(&world, NULL));
    assert_true(event_now(world.queue) == 3333333334);
    assert_int_equal(fluid_rate(world.fluid, 1), 4);
    assert_int_equal(fluid_rate(world.fluid, 2), 4);
    assert_int_equal(fluid_statistics(world.fluid).fills, 1);
}

static void a_full_link_passes_a_change_on(void **state)
{
    /* A = 10, B = 6, C = 12; flows 0: A, 1: A+B, 2: B+C, 3: C. B gives 3 to 1 and 2; 0
     * gets 7, 3 gets 9. When 1 ends: 2 gets min(6, 12/2) = 6, so 3 falls to 6, and
     * 0 gets 10. */
    struct seeded *seeded = *state;
    struct fluid_world world = fluid_world_new(seeded->arena);
    const link_id links[] = {fluid_add_link(world.fluid, 10), fluid_add_link(world.fluid, 6),
                             fluid_add_link(world.fluid, 12)};
    add_plain_flow(&world, &links[0], 1);
    add_plain_flow(&world, &links[0], 2);
    add_plain_flow(&world, &links[1], 2);
    add_plain_flow(&world, &links[2], 1);
    fluid_seal(world.fluid);
    const int64_t before[] = {7, 3, 3, 9};
    const int64_t after[] = {10, 0, 6, 6};
    for (flow_id i = 0; i < 4; i++) {
        fluid_start(world.fluid, i, i == 1 ? 3 : 1000, NO_CAP);
    }
    fluid_solve(world.fluid);
    for (flow_id i = 0; i < 4; i++) {
        assert_int_equal(fluid_rate(world.fluid, i), before[i]);
    }
    assert_true(fluid_world_step(&world, NULL));
    for (flow_id i = 0; i < 4; i++) {
        assert_int_equal(fluid_rate(world.fluid, i), after[i]);
    }
}

/* Some events on the way may be stale. */
static void run_until_ended(struct fluid_world *world, flow_id flow)
{
    while (fluid_is_active(world->fluid, flow)) {
        assert_true(fluid_world_step(world, NULL));
    }
}

static void many_on_a_link_become_few_again(void **state)
{
    /* Seven flows on a link of 420, which start one by one: the first is alone, the next three make
     * two, three and four, who are few, and the others five, six and seven, who are not. Each has
     * its part of 420 every time, also when one after the other ends: flow i has 60 * (1 + i)
     * bytes, and those before it are through by then. When the last is alone it has 420, and with
     * another one they are two again. */
    struct seeded *seeded = *state;
    struct fluid_world world = fluid_world_new(seeded->arena);
    const link_id link = fluid_add_link(world.fluid, 420);
    for (uint32_t i = 0; i < 7; i++) {
        add_plain_flow(&world, &link, 1);
    }
    fluid_seal(world.fluid);
    for (flow_id i = 0; i < 7; i++) {
        fluid_start(world.fluid, i, 60 * (1 + i), NO_CAP);
        fluid_solve(world.fluid);
        assert_int_equal(fluid_rate(world.fluid, 0), 420 / (1 + i));
        assert_int_equal(fluid_rate(world.fluid, i), 420 / (1 + i));
    }
    assert_int_equal(fluid_statistics(world.fluid).few, 3);
    assert_int_equal(fluid_statistics(world.fluid).fills, 6);
    for (flow_id i = 1; i < 7; i++) {
        run_until_ended(&world, i - 1);
        assert_int_equal(fluid_rate(world.fluid, 6), 420 / (7 - i));
    }
    assert_int_equal(fluid_statistics(world.fluid).few, 3);
    fluid_start(world.fluid, 0, 1000, NO_CAP);
    fluid_solve(world.fluid);
    assert_int_equal(fluid_rate(world.fluid, 6), 210);
    assert_int_equal(fluid_statistics(world.fluid).few, 4);
}

static void few_who_meet_many_hang_together_with_them(void **state)
{
    /* Six flows on link A of 60 have 10 each; flow 6 and 7 on link B of 100 have 50 each. Flow 8
     * crosses both: A gives 60 / 7 to each of seven, 8, and what B has left of 100 is 46 each for
     * the two others. When flow 7 ends, flow 6 has 92. */
    struct seeded *seeded = *state;
    struct fluid_world world = fluid_world_new(seeded->arena);
    const link_id links[] = {fluid_add_link(world.fluid, 60), fluid_add_link(world.fluid, 100)};
    for (uint32_t i = 0; i < 8; i++) {
        add_plain_flow(&world, &links[i / 6], 1);
    }
    add_plain_flow(&world, links, 2);
    fluid_seal(world.fluid);
    for (flow_id i = 0; i < 8; i++) {
        fluid_start(world.fluid, i, i == 7 ? 96 : 100000, NO_CAP);
    }
    fluid_solve(world.fluid);
    assert_int_equal(fluid_rate(world.fluid, 0), 10);
    assert_int_equal(fluid_rate(world.fluid, 6), 50);
    fluid_start(world.fluid, 8, 100000, NO_CAP);
    fluid_solve(world.fluid);
    assert_int_equal(fluid_rate(world.fluid, 0), 8);
    assert_int_equal(fluid_rate(world.fluid, 6), 46);
    assert_int_equal(fluid_rate(world.fluid, 8), 8);
    run_until_ended(&world, 7);
    assert_int_equal(fluid_rate(world.fluid, 6), 92);
    assert_int_equal(fluid_rate(world.fluid, 8), 8);
}

static void one_event_is_pending_for_all_flows(void **state)
{
    /* Ten flows that share nothing end at 1, 2, ... 10 s: one event for each, and
     * never two pending. */
    struct seeded *seeded = *state;
    struct fluid_world world = fluid_world_new(seeded->arena);
    for (uint32_t i = 0; i < 10; i++) {
        const link_id link = fluid_add_link(world.fluid, 10);
        add_plain_flow(&world, &link, 1);
    }
    fluid_seal(world.fluid);
    for (flow_id i = 0; i < 10; i++) {
        fluid_start(world.fluid, i, 10 * (1 + i), NO_CAP);
    }
    fluid_solve(world.fluid);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(event_pending(world.queue), 1);
        assert_true(fluid_world_step(&world, NULL));
    }
    assert_int_equal(event_pending(world.queue), 0);
    assert_int_equal(event_posted_total(world.queue), 10);
    assert_int_equal(fluid_statistics(world.fluid).alone, 10);
    assert_int_equal(fluid_statistics(world.fluid).flows_filled, 0);
}

/* An argument is the one seed to run. */
int main(int count, char **arguments)
{
    struct seeded seeded = {.seeds.only = seeds_only(count, arguments)};
#define TEST(name) cmocka_unit_test_prestate_setup_teardown(name, seeded_begin, seeded_end, &seeded)
    const struct CMUnitTest tests[] = {
        TEST(the_order_of_starts_does_not_matter_where_rounding_could_hide_a_tie),
        TEST(a_link_that_is_not_full_joins_nobody),
        TEST(a_link_that_its_flows_cannot_fill_is_left_alone),
        TEST(a_full_link_passes_a_change_on),
        TEST(many_on_a_link_become_few_again),
        TEST(few_who_meet_many_hang_together_with_them),
        TEST(one_event_is_pending_for_all_flows),
        TEST(a_link_whose_flows_change_just_as_it_gets_tight_is_looked_at_again),
        TEST(rates_are_those_of_solving_everything_at_every_instant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
