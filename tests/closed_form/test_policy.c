/* The search for a policy against the whole of small grids, each run by itself; the best interval
 * of one constant rate against the formula; the search of a range against losses whose least is
 * known. Quickstart: 64 H100 on 8 nodes; steps as measured (10 s), so that what is compared is the
 * run's. */
#include "base/arena.h"
#include "base/diag.h"
#include "input/doc/doc.h"
#include "input/scenario.h"
#include "input/scenario_load.h"
#include "run/history/interval.h"
#include "run/history/repetitions.h"
#include "run/run.h"
#include "study/policy/policy.h"
#include "study/policy/policy_range.h"
#include "support/assert_close.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

/* ---- a range ------------------------------------------------------------------------------- */

/* A loss whose least is at `best`, and of which what is above `most` cannot be had. */
struct valley {
    double best;
    int64_t most;
    int asked;
};

static double valley_loss(void *context, int64_t steps)
{
    struct valley *valley = context;
    const double x = (double)steps;
    valley->asked++;
    return steps > valley->most ? HUGE_VAL : x / valley->best + valley->best / x;
}

/* x / a + a / x is least at a: between two whole numbers at one of them. Losses near it are flat:
 * 1 % beside it they are 0.01 % more, so that is how near the best has to be. 110 and 700 lie
 * between an end and what is tried next to it, and the end is the better of both. */
static void the_best_of_a_range_is_found_wherever_it_lies(void **state)
{
    (void)state;
    const double bests[] = {50, 100, 110, 123.4, 137, 400, 700, 999, 1000, 5000};
    for (size_t i = 0; i < sizeof bests / sizeof *bests; i++) {
        for (int64_t from = 1; from <= 100; from += 99) {
            struct valley valley = {bests[i], INT64_MAX, 0};
            const struct policy_range range = {from, 1000, valley_loss, &valley};
            const int64_t found = policy_range_search(&range);
            const double least = fmax(fmin(bests[i], 1000), (double)from);
            assert_true(found >= from && found <= 1000);
            assert_true(valley.asked < 40);
            assert_true(valley_loss(&valley, found) <=
                        1.0001 * fmin(valley_loss(&valley, (int64_t)floor(least)),
                                      valley_loss(&valley, (int64_t)ceil(least))));
        }
    }
}

/* Of 1..1000 what is above 40 cannot be had, and 40 is the nearest to the least of what can. */
static void what_cannot_be_had_is_passed_over(void **state)
{
    (void)state;
    struct valley valley = {200, 40, 0};
    const struct policy_range range = {1, 1000, valley_loss, &valley};
    assert_int_equal(policy_range_search(&range), 40);
    valley.most = 0; /* nothing: any will do, and it ends */
    assert_true(policy_range_search(&range) >= 1);
}

static void a_range_of_one_step_is_that_step(void **state)
{
    (void)state;
    struct valley valley = {200, INT64_MAX, 0};
    struct policy_range range = {7, 7, valley_loss, &valley};
    assert_int_equal(policy_range_search(&range), 7);
    range.most = 1;
    assert_int_equal(policy_range_search(&range), 7);
}

/* ---- policies ------------------------------------------------------------------------------ */

#define ONE_CLASS                                                                          \
    "run.failures={failures: inline, counts: interruptions, classes: [{name: a, of: job, " \
    "rate: {mttf: 3 h}}]}"
#define NODES                                                                               \
    "run.failures={failures: inline, counts: hardware, classes: [{name: breaks, of: node, " \
    "rate: {mttf: 200 h}, takes: node, repair: 1 day}]}"

enum { SETS_MAX = 8 };

struct asked {
    const char *sets[SETS_MAX];
    uint32_t set_count;
    const char *search;
    enum policy_by by;
};

static struct policy_found search(struct arena *arena, const struct asked *asked)
{
    struct diag *diag = diag_new(arena);
    const char *const set = arena_printf(arena, "search=%s", asked->search);
    struct doc_node *document =
        doc_copy(arena, scenario_load_document(arena, "scenarios/quickstart.yaml", diag));
    assert_true(doc_set(arena, document, set, diag));
    const struct catalogue catalogue = {.directories = {"."}, .count = 1};
    const struct study_base base = {.catalogue = &catalogue,
                                    .sets = asked->sets,
                                    .set_count = asked->set_count,
                                    .build = "test"};
    struct policy_space space;
    struct policy_found found = {.good = 0};
    const bool is_good = policy_space_read(arena, document, &space, diag);
    const struct policy_request request = {.document = document,
                                           .base = &base,
                                           .space = &space,
                                           .by = asked->by,
                                           .folds = true,
                                           .top = 5};
    if (!is_good || !policy_search(arena, &request, &found, diag)) {
        diag_print(diag, stderr);
        fail();
    }
    return found;
}

/* By itself, with these keys more. */
static const struct result *alone(struct arena *arena, const struct asked *asked,
                                  const char *const more[3])
{
    const char *sets[SETS_MAX + 3];
    memcpy(sets, asked->sets, sizeof asked->sets);
    memcpy(sets + asked->set_count, more, 3 * sizeof *more);
    const struct scenario *scenario =
        fixture_scenario(arena, &(struct fixture_source){.path = "scenarios/quickstart.yaml",
                                                         .sets = sets,
                                                         .set_count = asked->set_count + 3});
    struct result *result = arena_alloc(arena, sizeof *result);
    run_predict(arena, scenario, &(struct run_request){.folds = true, .build = "test"}, result);
    return result;
}

static double value_of(const struct result *result, enum policy_by by)
{
    const struct run_result *run = &result->run;
    const double values[] = {run->days, run->cost_usd, run->energy_kwh, run->goodput_spread.mean};
    return values[by];
}

static const char *const intervals[] = {"2 min", "20 min", "90 min"};
static const char *const spares[] = {"0", "1", "3"};
static const char *const ways[] = {"wait", "elastic"};

/* All 18 of three axes. */
static void take_least(struct arena *arena, const struct asked *asked, double *least,
                       const char *texts[3])
{
    *least = HUGE_VAL;
    for (uint32_t i = 0; i < 18; i++) {
        const char *const of[] = {intervals[i / 6], spares[i / 2 % 3], ways[i % 2]};
        const char *const more[] = {arena_printf(arena, "run.checkpoint.every=%s", of[0]),
                                    arena_printf(arena, "run.recovery.spares=%s", of[1]),
                                    arena_printf(arena, "run.recovery.without_node=%s", of[2])};
        const double value = value_of(alone(arena, asked, more), asked->by);
        const double loss = asked->by == POLICY_BY_GOODPUT ? -value : value;
        if (loss < *least) {
            *least = loss;
            memcpy(texts, of, sizeof of);
        }
    }
}

static void the_best_is_that_of_all_run_one_by_one(void **state)
{
    (void)state;
    for (uint32_t by = 0; by < POLICY_BY_COUNT_; by++) {
        struct arena *arena = arena_new();
        const struct asked asked = {
            .sets = {NODES, "run.tokens=83886080000", "run.step_time=10 s", "run.repetitions=16",
                     "run.checkpoint={every: 20 min, mode: async}",
                     "price.electricity=0.1 USD/kWh"},
            .set_count = 6,
            .search = "{run.checkpoint.every: [2 min, 20 min, 90 min], run: {recovery: "
                      "{spares: [0, 1, 3], without_node: all}}}",
            .by = (enum policy_by)by,
        };
        double least;
        const char *texts[3] = {NULL};
        take_least(arena, &asked, &least, texts);
        struct policy_found found = search(arena, &asked);
        const struct policy *best = &found.policies[0];
        assert_int_equal(found.count, 18);
        assert_int_equal(found.good, 18);
        assert_close(by == POLICY_BY_GOODPUT ? -best->value : best->value, least, 1e-12);
        for (uint32_t i = 0; i < 3; i++) {
            assert_string_equal(best->texts[i], texts[i]);
        }
        for (uint32_t i = 1; i < 18; i++) { /* in order, none better than the best */
            assert_true(found.policies[i].behind >= found.policies[i - 1].behind);
        }
        policy_forget(&found);
        arena_free(arena);
    }
}

/* With one value of every axis there is one policy: what the scenario says, which is its own, by
 * the same words and the same histories. */
static void of_every_axis_the_scenario_s_own_is_what_it_says(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    static const char *const texts[POLICY_AXIS_COUNT_] = {"5 steps", "async", "memory", "4",
                                                          "2",       "wait",  "kept"};
    const struct asked asked = {
        .sets = {NODES, "run.tokens=83886080000", "run.step_time=10 s", "run.repetitions=16",
                 "run.checkpoint={every: 5 steps, mode: async, to: memory, drain_every: 4}",
                 "run.recovery={spares: 2, without_node: wait, batch: kept}"},
        .set_count = 6,
        .search = "{run: {checkpoint: {every: [5 steps], mode: [async], to: [memory], "
                  "drain_every: [4]}, recovery: {spares: [2], without_node: [wait], "
                  "batch: [kept]}}}",
        .by = POLICY_BY_DAYS,
    };
    struct policy_found found = search(arena, &asked);
    const struct policy *own = &found.named[POLICY_OWN];
    assert_int_equal(found.count, 1);
    for (uint32_t i = 0; i < POLICY_AXIS_COUNT_; i++) {
        assert_string_equal(found.policies[0].texts[i], texts[i]);
        assert_string_equal(own->texts[i], texts[i]);
    }
    assert_int_equal(own->every_steps, 0); /* by no formula */
    assert_int_equal(own->count, 16);
    assert_memory_equal(own->each, found.policies[0].each, 16 * sizeof *own->each);
    policy_forget(&found);
    arena_free(arena);
}

/* The difference of two policies is that of their histories, pair by pair: mean and deviation over
 * the root of 16, from runs by themselves. Two standard errors tell them apart or not. */
static void differences_are_of_pairs_of_histories(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct asked asked = {
        .sets = {NODES, "run.tokens=83886080000", "run.step_time=10 s", "run.repetitions=16",
                 "run.checkpoint={every: 20 min, mode: async}"},
        .set_count = 5,
        .search = "{run: {recovery: {spares: 0..3}}}",
        .by = POLICY_BY_DAYS,
    };
    struct policy_found found = search(arena, &asked);
    const struct policy *best = &found.policies[0];
    bool is_any_behind = false;
    for (uint32_t p = 1; p < found.good; p++) {
        const struct policy *policy = &found.policies[p];
        const char *const mine[] = {arena_printf(arena, "run.recovery.spares=%s", policy->texts[0]),
                                    "run.startup=0 s", "run.startup=0 s"};
        const char *const bests[] = {arena_printf(arena, "run.recovery.spares=%s", best->texts[0]),
                                     "run.startup=0 s", "run.startup=0 s"};
        const struct run_result *a = &alone(arena, &asked, mine)->run;
        const struct run_result *b = &alone(arena, &asked, bests)->run;
        double sum = 0;
        double squares = 0;
        for (uint32_t i = 0; i < 16; i++) {
            const double d = (a->histories[i].wall_s - b->histories[i].wall_s) / 86400;
            sum += d;
            squares += d * d;
        }
        const double error = sqrt((squares - sum * sum / 16) / 15 / 16);
        assert_close(policy->behind, sum / 16, 1e-9);
        assert_close(policy->error, error, 1e-6);
        assert_int_equal(policy->is_tied, sum / 16 <= 2 * error);
        is_any_behind = is_any_behind || !policy->is_tied;
    }
    assert_true(is_any_behind);
    policy_forget(&found);
    arena_free(arena);
}

/* M = 3 h, D = 2 min, R = 10 min, a blocking checkpoint: the exact goodput is a formula, and so is
 * the interval where it is most. What the histories say is best lies in the flat of the formula:
 * by it no more behind its most than the standard error of the two's difference, four times; and
 * the formula's interval is, by the histories, no better than the found one. */
static void the_best_interval_of_one_rate_is_the_formulas(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct asked asked = {
        .sets = {ONE_CLASS, "run.tokens=83886080000", /* 40,000 steps of 2,097,152 */
                 "run.step_time=10 s", "run.checkpoint={every: 3 h, mode: blocking}",
                 "run.recovery={restart: 10 min, detection: {crash: 2 min}}",
                 "cluster.storage.write=10 GB/s"},
        .set_count = 6,
        .search = "{run: {checkpoint: {every: 1 min .. 4 h}}}",
        .by = POLICY_BY_GOODPUT,
    };
    struct policy_found found = search(arena, &asked);
    const struct policy *best = &found.policies[0];
    const struct policy *exact = &found.named[POLICY_EXACT];
    const struct interval_case of = {.mtbf_s = 10800,
                                     .detection_s = 120,
                                     .restart = {LAW_FIXED, 600, 0},
                                     .block_s = best->result->run.checkpoint_s};
    const double most = interval_goodput(&of, interval_best_s(&of));
    assert_close(found.interval_s[POLICY_EXACT], interval_best_s(&of), 1e-9);
    assert_close(found.interval_s[POLICY_DALY], interval_daly_s(&of), 1e-12);
    assert_close(found.interval_s[POLICY_YOUNG], sqrt(2 * of.block_s * 10800), 1e-12);
    assert_true(best->every_s > 120 && best->every_s < 7200);
    assert_true(fabs(exact->every_s - found.interval_s[POLICY_EXACT]) <= 5.0); /* half a step */
    const double behind = most - interval_goodput(&of, best->every_s);
    assert_true(behind >= 0);
    assert_true(behind <= 4 * exact->error);
    assert_true(exact->behind >= 0 || exact->is_tied);
    assert_true(best->every_least_s <= exact->every_s + 10);
    assert_true(best->every_most_s >= exact->every_s - 10);
    /* three hours lose about half an interval a failure: far behind, and told so */
    const struct policy *own = &found.named[POLICY_OWN];
    assert_false(own->is_tied);
    assert_close(own->behind, best->value - own->value, 1e-9);
    assert_true(fabs(own->behind - (interval_goodput(&of, best->every_s) -
                                    interval_goodput(&of, 10800))) <= 4 * own->error + 2e-3);
    policy_forget(&found);
    arena_free(arena);
}

/* Daly's closed form for b = 60 s, M = 1 h: sqrt(432,000) = 657.267; times 1 + sqrt(1/120)/3 +
 * 1/1080 = 1.031355; less 60: 617.876. The exact one is 617.891. With b of 2 M or more it is M. */
static void dalys_closed_form(void **state)
{
    (void)state;
    struct interval_case of = {.mtbf_s = 3600, .restart = {LAW_FIXED, 300, 0}, .block_s = 60};
    assert_close(interval_daly_s(&of), 617.876, 1e-6);
    assert_close(interval_daly_s(&of), interval_best_s(&of), 5e-5);
    of.block_s = 7200;
    assert_close(interval_daly_s(&of), 3600, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_of_a_range_is_found_wherever_it_lies),
        cmocka_unit_test(what_cannot_be_had_is_passed_over),
        cmocka_unit_test(a_range_of_one_step_is_that_step),
        cmocka_unit_test(the_best_is_that_of_all_run_one_by_one),
        cmocka_unit_test(of_every_axis_the_scenario_s_own_is_what_it_says),
        cmocka_unit_test(differences_are_of_pairs_of_histories),
        cmocka_unit_test(the_best_interval_of_one_rate_is_the_formulas),
        cmocka_unit_test(dalys_closed_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
