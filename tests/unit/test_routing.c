/* Balance of experts, against EPLB's own example, and what node-limited routing sends. */
#include "input/job/token_routing.h"
#include "input/scenario.h"
#include "plan/routing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "support/assert_close.h"

/* ---- EPLB ------------------------------------------------------------------------------ */

/* github.com/deepseek-ai/EPLB, README: 12 experts in 4 groups, 16 places on 8 GPUs of 2 nodes;
 * loads of experts in two layers, and of each GPU by the plan that it prints: of layer 0 GPU 0
 * has a half of expert 5 and expert 6: 165 / 2 + 39 = 121.5. */
static const double example[2][12] = {
    {90, 132, 40, 61, 104, 165, 39, 4, 73, 56, 183, 86},
    {20, 107, 104, 64, 19, 197, 187, 157, 172, 86, 16, 27},
};
static const double example_ranks[2][8] = {
    {121.5, 86.5, 125, 113, 147.5, 131.5, 156, 152},
    {173, 179.5, 120.5, 172, 123, 152, 118.5, 117.5},
};
static const double example_imbalance[2] = {1.20813, 1.24221};
static const struct routing_balance asked = {12, 4, 16, 2, 8};

static double sum_of(const double *values, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return sum;
}

static double most_of(const double *values, int64_t count)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        most = values[i] > most ? values[i] : most;
    }
    return most;
}

static void the_plan_is_that_of_its_authors(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    for (int layer = 0; layer < 2; layer++) {
        double ranks[8];
        routing_balance(arena, &asked, example[layer], NULL, ranks);
        for (int i = 0; i < 8; i++) {
            assert_close(ranks[i], example_ranks[layer][i], 1e-12);
        }
        assert_close(most_of(ranks, 8) / (sum_of(ranks, 8) / 8), example_imbalance[layer], 5e-6);
    }
    arena_free(arena);
}

/* Nothing is lost or made: loads of ranks and of copies sum to those of experts; no rank has more
 * than without copies at their worst, and no plan is better than the mean. */
static void copies_share_what_experts_had(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 300; number++) {
        struct arena *arena = arena_new();
        const struct rng_key key = {.seed = 7, .stream = rng_stream("balance"), .rank = number};
        const int64_t ranks = INT64_C(1) << rng_bits(&key) % 5;
        const int64_t nodes = ranks >= 4 ? 2 : 1;
        const struct routing_balance random = {ranks * 4, 4, ranks * 5, nodes, ranks};
        double *loads = arena_array(arena, (size_t)random.experts, sizeof *loads);
        double *copies = arena_array(arena, (size_t)random.copies, sizeof *copies);
        double *on_ranks = arena_array(arena, (size_t)ranks, sizeof *on_ranks);
        for (int64_t i = 0; i < random.experts; i++) {
            const struct rng_key each = {
                .seed = 7, .stream = rng_stream("load"), .rank = number, .step = (uint64_t)i};
            loads[i] = rng_lognormal(&each, 0, 1);
        }
        routing_balance(arena, &random, loads, copies, on_ranks);
        const double sum = sum_of(loads, random.experts);
        assert_close(sum_of(on_ranks, ranks), sum, 1e-12);
        assert_close(sum_of(copies, random.copies), sum, 1e-12);
        assert_true(most_of(copies, random.copies) <= most_of(loads, random.experts));
        assert_true(most_of(on_ranks, ranks) >= sum / (double)ranks * (1 - 1e-12));
        assert_true(most_of(on_ranks, ranks) <= 5 * most_of(copies, random.copies));
        arena_free(arena);
    }
}

static struct routing_load load_of(const struct scenario *scenario)
{
    const struct routing_job job = routing_job_of(scenario);
    return routing_of(&job);
}

static double node_share(const struct scenario *scenario, uint32_t nodes)
{
    const struct routing_job job = routing_job_of(scenario);
    return routing_node_share(&job, nodes);
}

/* ---- nodes ------------------------------------------------------------------------------- */

/* 256 experts in 8 groups of 32, 8 of them: 8 (1 - C(224,8) / C(256,8)) = 5.295; of 1 group 1; of
 * as many groups as experts, 8. Two experts in two groups of one each, one of them: 1. */
static void distinct_groups_are_those_of_drawing_without_replacement(void **state)
{
    (void)state;
    assert_true(fabs(routing_distinct_groups(256, 8, 8) - 5.295) < 5e-4);
    assert_close(routing_distinct_groups(256, 1, 8), 1, 1e-15);
    assert_close(routing_distinct_groups(256, 256, 8), 8, 1e-12);
    assert_close(routing_distinct_groups(2, 2, 1), 1, 1e-15);
}

static int64_t bits_of(uint64_t mask)
{
    return __builtin_popcountll(mask);
}

/* All that node-limited routing may draw: `limit` of the groups, and k of the experts that these
 * offer. The mean number of parts that have any of them. */
static double drawn_parts(const struct model *model, int64_t parts)
{
    const int64_t experts = model->experts, group = experts / model->expert_groups;
    double draws = 0, found = 0;
    for (uint64_t groups = 0; groups < (uint64_t)1 << model->expert_groups; groups++) {
        if (bits_of(groups) != model->group_limit) {
            continue;
        }
        for (uint64_t drawn = 0; drawn < (uint64_t)1 << experts; drawn++) {
            uint64_t of_groups = 0, of_parts = 0;
            for (int64_t i = 0; i < experts; i++) {
                of_groups |= (drawn >> i & 1) << i / group;
                of_parts |= (drawn >> i & 1) << i * parts / experts;
            }
            if (bits_of(drawn) == model->experts_per_token && (of_groups & ~groups) == 0) {
                draws++;
                found += (double)bits_of(of_parts);
            }
        }
    }
    return found / draws;
}

/* Of 12 experts in 2, 4 or 6 groups: by the formula as by all draws, where parts hold groups or lie
 * in one. Of 3 parts of 4 groups of 3 each, which they cut, it is at least that. */
static void distinct_parts_are_those_of_all_draws(void **state)
{
    (void)state;
    static const int64_t groups[] = {2, 4, 6};
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        for (int64_t limit = 1; limit < groups[g]; limit++) {
            const int64_t offered = limit * 12 / groups[g];
            for (int64_t k = 1; k <= offered && k <= 4; k++) {
                const struct model model = {.experts = 12,
                                            .experts_per_token = k,
                                            .expert_groups = groups[g],
                                            .group_limit = limit};
                for (int64_t parts = 1; parts <= 12; parts++) {
                    const double told = 12 % parts == 0 ? routing_distinct_parts(&model, parts) : 0;
                    if (parts % groups[g] != 0 && groups[g] % parts != 0) {
                        assert_true(12 % parts != 0 || told >= drawn_parts(&model, parts) - 1e-12);
                    } else if (12 % parts == 0) {
                        assert_close(told, drawn_parts(&model, parts), 1e-12);
                    }
                }
            }
        }
    }
}

/* DeepSeek-V3, 8 of 256 experts, in 4 of 8 groups of 32. A group that was drawn has none of the
 * 8 with C(96,8) / C(128,8) = 0.0927, one of 8 nodes so with (1 + 0.0927) / 2: 3.629 nodes, and not
 * the 4 that is the limit. Of 4 nodes of 2 groups 2.93, where 3.6 were without; of 2 nodes nearly
 * both. Without a limit, or on one node, nothing is saved. */
static void a_token_goes_once_to_each_of_its_nodes(void **state)
{
    (void)state;
    struct scenario scenario = {
        .model = {.experts = 256, .experts_per_token = 8, .expert_groups = 8, .group_limit = 4}};
    assert_true(fabs(8 * node_share(&scenario, 8) - 3.6290) < 5e-5);
    assert_true(fabs(8 * node_share(&scenario, 4) - 2.9282) < 5e-5);
    assert_true(node_share(&scenario, 2) < 2.0 / 8 && node_share(&scenario, 2) > 1.9 / 8);
    assert_true(8 * node_share(&scenario, 16) < routing_distinct_groups(256, 16, 8));
    assert_close(node_share(&scenario, 1), 1, 1e-15);
    scenario.model.group_limit = 0;
    assert_close(node_share(&scenario, 8), 1, 1e-15);
    scenario.model.group_limit = 8; /* all groups: no limit */
    assert_close(node_share(&scenario, 8), 1, 1e-15);
}

/* ---- a scenario's load ------------------------------------------------------------------- */

static struct scenario scenario_of(int64_t experts, int64_t k, int64_t ep)
{
    struct scenario scenario = {.seed = 1};
    scenario.model.experts = experts;
    scenario.model.experts_per_token = k;
    scenario.parallel.ep = ep;
    scenario.cluster.gpus_per_node = 8;
    scenario.cluster.domain_nodes = 1;
    return scenario;
}

static void assert_load(const struct routing_load *load, double rank, double expert, double sent)
{
    assert_close(load->hottest_rank, rank, 1e-12);
    assert_close(load->hottest_expert, expert, 1e-12);
    assert_close(load->sent, sent, 1e-12);
}

static void even_routing_is_even(void **state)
{
    (void)state;
    struct scenario scenario = scenario_of(0, 0, 1);
    struct routing_load load = load_of(&scenario);
    assert_load(&load, 1, 1, 1);
    scenario = scenario_of(64, 6, 8);
    load = load_of(&scenario);
    assert_load(&load, 1, 1, 1);
    assert_int_equal(load.local_experts, 8);
    assert_close(load.exchange_rows * load.exchange_hottest, 1, 1e-15);
    /* A capacity of 1.25 times the mean pads a quarter, of 0.75 drops a quarter. */
    scenario.routing.pads = true;
    scenario.routing.capacity_factor = 1.25;
    load = load_of(&scenario);
    assert_load(&load, 1.25, 1.25, 1);
    assert_close(load.exchange_rows, 1.25, 1e-15);
    scenario.routing.capacity_factor = 0.75;
    load = load_of(&scenario);
    assert_load(&load, 0.75, 0.75, 0.75);
}

/* Megatron without the flag that pads: of an even router a capacity of 1.25 changes nothing, one
 * of 0.75 leaves a quarter of the rows out of products and buffers. */
static void a_capacity_that_is_not_padded_only_drops(void **state)
{
    (void)state;
    struct scenario scenario = scenario_of(64, 6, 8);
    scenario.routing.capacity_factor = 1.25;
    struct routing_load load = load_of(&scenario);
    assert_load(&load, 1, 1, 1);
    assert_close(load.exchange_rows * load.exchange_hottest, 1, 1e-15);
    scenario.routing.capacity_factor = 0.75;
    load = load_of(&scenario);
    assert_load(&load, 0.75, 0.75, 0.75);
    assert_close(load.exchange_rows, 0.75, 1e-15);
    assert_close(load.exchange_hottest, 1, 1e-12);
}

/* 6 of 64 experts on 8 ranks, of a spread of 0.5. */
static struct scenario uneven_scenario(int64_t seed)
{
    struct scenario scenario = scenario_of(64, 6, 8);
    scenario.seed = seed;
    scenario.routing.kind = ROUTING_LOGNORMAL;
    scenario.routing.spread = 0.5;
    return scenario;
}

/* Of uneven ones: the busiest expert has at most the capacity, its rank less than without one and
 * no more than the capacity; what travels is what is served. */
static void a_capacity_cuts_the_busiest_and_leaves_the_others(void **state)
{
    (void)state;
    for (int64_t seed = 1; seed <= 50; seed++) {
        struct scenario scenario = uneven_scenario(seed);
        const struct routing_load whole = load_of(&scenario);
        scenario.routing.capacity_factor = 1.25;
        const struct routing_load cut = load_of(&scenario);
        assert_close(cut.hottest_expert, 1.25, 1e-15);
        assert_true(cut.hottest_rank < whole.hottest_rank && cut.hottest_rank < 1.25);
        assert_true(cut.sent < 1 && cut.hottest_rank > cut.sent);
        assert_close(cut.exchange_rows, cut.sent, 1e-15);
        assert_close(cut.exchange_hottest, cut.hottest_rank / cut.sent, 1e-12);
        scenario.routing.redundant_experts = 16;
        const struct routing_load copied = load_of(&scenario);
        assert_true(copied.sent >= cut.sent && copied.hottest_rank <= 1.25);
        scenario.routing.redundant_experts = 0;
        scenario.routing.capacity_factor = 1e4;
        assert_close(load_of(&scenario).hottest_rank, whole.hottest_rank, 1e-12);
    }
}

/* Qwen3-30B, 8 of 128 experts on 16 ranks of 2 nodes, each token once to a rank and a node: 16 (1 -
 * C(120,8) / C(128,8)) = 6.597 ranks and 2 (1 - C(64,8) / C(128,8)) = 1.994 nodes; so 0.8246 of the
 * rows, and of those for the other node 1.994 / 6.597 = 0.3023. */
static void a_token_may_go_once_to_each_rank_of_its_experts(void **state)
{
    (void)state;
    struct scenario scenario = scenario_of(128, 8, 16);
    assert_close(load_of(&scenario).exchange_rows, 1, 1e-15);
    assert_close(node_share(&scenario, 2), 1, 1e-15);
    scenario.software.exchange = EXCHANGE_TOKENS;
    assert_close(load_of(&scenario).exchange_rows, routing_distinct_groups(128, 16, 8) / 8, 1e-15);
    assert_true(fabs(load_of(&scenario).exchange_rows - 0.8246) < 1e-4);
    assert_true(fabs(node_share(&scenario, 2) - 0.3023) < 1e-4);
    assert_close(node_share(&scenario, 1), 1, 1e-15);
}

/* The busiest of 8 ranks of 8 experts each is less above the mean than the busiest expert; with
 * one expert a rank they are the same; copies of the busiest help; more spread hurts. */
static void uneven_routing_makes_hot_ranks(void **state)
{
    (void)state;
    for (int64_t seed = 1; seed <= 50; seed++) {
        struct scenario scenario = uneven_scenario(seed);
        const struct routing_load load = load_of(&scenario);
        assert_true(load.hottest_rank > 1 && load.hottest_rank < load.hottest_expert);
        assert_close(load.exchange_hottest, load.hottest_rank, 1e-15);
        scenario.parallel.ep = 64;
        const struct routing_load single = load_of(&scenario);
        assert_close(single.hottest_rank, load.hottest_expert, 1e-12);
        scenario.parallel.ep = 8;
        scenario.routing.redundant_experts = 16;
        const struct routing_load balanced = load_of(&scenario);
        assert_true(balanced.hottest_rank < load.hottest_rank);
        assert_int_equal(balanced.local_experts, 10);
        scenario.routing.redundant_experts = 0;
        scenario.routing.capacity_factor = 1;
        const struct routing_load cut = load_of(&scenario);
        assert_true(cut.sent < 1 && cut.sent > 0.5);
        scenario.routing.capacity_factor = 0;
        scenario.routing.spread = 0;
        assert_close(load_of(&scenario).hottest_rank, 1, 1e-12);
    }
}

/* A router that was measured: whatever is drawn, its busiest expert is so far above the mean; 0 is
 * an even one, and the others follow: more on a rank are nearer to the mean. */
static void a_measured_router_has_the_violation_that_was_measured(void **state)
{
    (void)state;
    static const double violations[] = {0.04, 0.52, 0.72, 3.0};
    for (int64_t seed = 1; seed <= 20; seed++) {
        double before = 1;
        for (size_t i = 0; i < sizeof violations / sizeof *violations; i++) {
            struct scenario scenario = scenario_of(64, 6, 8);
            scenario.seed = seed;
            scenario.routing.kind = ROUTING_MEASURED;
            scenario.routing.max_violation = violations[i];
            const struct routing_load load = load_of(&scenario);
            assert_close(load.hottest_expert, 1 + violations[i], 1e-9);
            assert_true(load.hottest_rank > before && load.hottest_rank < load.hottest_expert);
            before = load.hottest_rank;
        }
    }
    struct scenario even = scenario_of(64, 6, 8);
    even.routing.kind = ROUTING_MEASURED;
    assert_close(load_of(&even).hottest_rank, 1, 1e-12);
}

/* 8 experts, 2 a token: whoever is most popular, at most every token goes there, 4 times the
 * mean of a quarter. */
static void no_expert_gets_a_token_twice(void **state)
{
    (void)state;
    for (int64_t seed = 1; seed <= 50; seed++) {
        struct scenario scenario = scenario_of(8, 2, 8);
        scenario.seed = seed;
        scenario.routing.kind = ROUTING_LOGNORMAL;
        scenario.routing.spread = 4;
        const struct routing_load load = load_of(&scenario);
        assert_true(load.hottest_expert <= 4 * (1 + 1e-12));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_plan_is_that_of_its_authors),
        cmocka_unit_test(copies_share_what_experts_had),
        cmocka_unit_test(distinct_groups_are_those_of_drawing_without_replacement),
        cmocka_unit_test(distinct_parts_are_those_of_all_draws),
        cmocka_unit_test(a_token_goes_once_to_each_of_its_nodes),
        cmocka_unit_test(even_routing_is_even),
        cmocka_unit_test(a_capacity_that_is_not_padded_only_drops),
        cmocka_unit_test(a_measured_router_has_the_violation_that_was_measured),
        cmocka_unit_test(a_capacity_cuts_the_busiest_and_leaves_the_others),
        cmocka_unit_test(a_token_may_go_once_to_each_rank_of_its_experts),
        cmocka_unit_test(uneven_routing_makes_hot_ranks),
        cmocka_unit_test(no_expert_gets_a_token_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
