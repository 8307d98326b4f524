/* Anchors: a step made longer or shorter, and what another run's error says of one
 * (measured/anchor).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "base/absent.h"
#include "base/arena.h"
#include "measured/anchor.h"
#include "run/run.h"
#include "study/evaluate.h"
#include "support/assert_close.h"
#include "support/fixture.h"
#include "train/step.h"

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

/* scenarios/quickstart.yaml with one key set; NULL: as it is. */
static struct scenario *quickstart(struct arena *arena, const char *set)
{
    const char *const sets[] = {set};
    return fixture_scenario(arena, &(struct fixture_source){.path = "scenarios/quickstart.yaml",
                                                            .sets = sets,
                                                            .set_count = set != NULL ? 1 : 0});
}

static void simulate(struct arena *arena, const struct scenario *scenario, struct step_result *step)
{
    step_simulate(arena, scenario, &(struct step_request){.folds = true}, step);
}

/* ---- a step of another length ---------------------------------------------------------- */

/* f times as long to the nanosecond; causes are f times as long but for their rounding, which
 * is less than one GPU-nanosecond each and goes to the largest, so that they add up; bytes stay,
 * and so rates are 1 / f. */
static void a_step_is_scaled_with_all_that_it_is_made_of(void **state)
{
    const double factors[] = {0.9, 1.0333333, 1.7};
    const struct scenario *scenario = quickstart(*state, NULL);
    const struct step_basis basis = step_basis_of(scenario);
    struct step_result plain;
    simulate(*state, scenario, &plain);
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        const double f = factors[i];
        struct step_result step = plain;
        step_scale(*state, &basis, f, &step);
        assert_int_equal(step.step_ns, llround((double)plain.step_ns * f));
        assert_int_equal(step.simulated_ns, plain.step_ns);
        int64_t sum = 0;
        for (uint32_t c = 0; c < CAUSE_COUNT_; c++) {
            const double off_ns = (double)step.gpu_ns[c] - (double)plain.gpu_ns[c] * f;
            assert_true(fabs(off_ns) < 64.0 * CAUSE_COUNT_); /* 64 GPUs, a step rounded */
            sum += step.gpu_ns[c];
        }
        assert_int_equal(sum, 64 * step.step_ns);
        assert_close(step.mfu * f, plain.mfu, 1e-8);
        assert_close(step.tokens_per_s_per_gpu * f, plain.tokens_per_s_per_gpu, 1e-8);
        assert_close((double)step.jitter_ns, (double)plain.jitter_ns * f, 1e-6);
        assert_close((double)step.links_ns, (double)plain.links_ns * f, 1e-6);
        for (uint32_t k = 0; k < step.link_use_count; k++) {
            assert_close(step.link_uses[k].bytes, plain.link_uses[k].bytes, 1e-12);
            assert_close(step.link_uses[k].utilisation_max * f, plain.link_uses[k].utilisation_max,
                         1e-8);
        }
    }
}

/* A tenth of a step of 44 % MFU would need 440 %: it is as long as its FLOPs at the peak take. No
 * link is used for more than all of it. */
static void no_step_is_shorter_than_its_flops_at_the_peak(void **state)
{
    const struct scenario *scenario = quickstart(*state, NULL);
    const struct step_basis basis = step_basis_of(scenario);
    struct step_result plain, step;
    simulate(*state, scenario, &plain);
    step = plain;
    step_scale(*state, &basis, 0.1, &step);
    assert_true(step.mfu <= step.hfu && step.hfu <= 1);
    assert_close(step.hfu, 1, 1e-8);
    assert_close((double)step.step_ns, (double)plain.step_ns * plain.hfu, 1e-8);
    for (uint32_t k = 0; k < step.link_use_count; k++) {
        assert_true(step.link_uses[k].utilisation_max <= 1);
    }
}

/* 1.25 times as long a step; checkpoints block for as long as before; so many days:
 *     steps x step + checkpoints x blocking part + the first batch. */
static void an_anchored_run_has_longer_steps_and_the_same_checkpoints(void **state)
{
    const struct run_request request = {.folds = true, .build = ""};
    struct result plain, anchored;
    run_predict(*state, quickstart(*state, NULL), &request, &plain);
    run_predict(*state, quickstart(*state, "anchor.factor=1.25"), &request, &anchored);
    assert_close((double)anchored.step.step_ns, 1.25 * (double)plain.step.step_ns, 1e-8);
    assert_close(anchored.run.checkpoint_s, plain.run.checkpoint_s, 1e-12);
    const double wall_s = (double)anchored.run.steps * 1.25 * (double)plain.step.step_ns * 1e-9 +
                          (double)anchored.run.checkpoints * plain.run.checkpoint_s +
                          anchored.run.first_batch_s;
    assert_close(anchored.run.days * 86400, wall_s, 1e-6);
    assert_true(strcmp(anchored.key, plain.key) != 0);
    assert_true(strcmp(anchored.scenario_key, plain.scenario_key) != 0);
}

/* A run with failures and slow GPUs, of that factor; below 0: none. */
static const struct result *predict_months(struct arena *arena, double factor)
{
    const char *const sets[] = {
        "run.tokens=30G",
        "run.failures={failures: inline, counts: hardware, classes: [{name: a, of: job, rate: "
        "{mttf: 3 h}, effect: slows, speed: 0.5}]}",
        factor < 0 ? "seed=1" : arena_printf(arena, "anchor.factor=%.17g", factor),
    };
    const struct scenario *scenario = fixture_scenario(
        arena, &(struct fixture_source){
                   .path = "scenarios/quickstart.yaml", .sets = sets, .set_count = 3});
    struct result *result = arena_alloc(arena, sizeof *result);
    run_predict(arena, scenario, &(struct run_request){.folds = true, .build = ""}, result);
    return result;
}

/* 64 workers a GPU, more than are simulated beside a step: the 32 samples of a node, 3 s each on
 * 112 cores, take 0.86 s. That keeps up with the step's FLOPs, 1.7 s, which a tenth of the step is
 * held at, and not with that tenth, 0.38 s. */
static void loaders_keep_up_with_the_level_that_is_held(void **state)
{
    const char *const sets[] = {"data.workers_per_gpu=64", "data.time_per_sample=3 s",
                                "run.tokens=30G", "anchor.factor=0.1"};
    const struct scenario *scenario = fixture_scenario(
        *state, &(struct fixture_source){
                    .path = "scenarios/quickstart.yaml", .sets = sets, .set_count = 4});
    assert_int_equal(scenario->cluster.host_cores, 112);
    struct result result;
    run_predict(*state, scenario, &(struct run_request){.folds = true, .build = ""}, &result);
    assert_true(result.step.step_ns > 1600000000 && result.step.step_ns < 1800000000);
    assert_int_equal(result.step.gpu_ns[CAUSE_DATA_STALL], 0);
    assert_close(result.run.data_stall_s + 1, 1, 1e-12);
}

/* A tenth of the step is shorter than its FLOPs take: all of the run is as with the factor that
 * makes the step as long as these. */
static void a_level_that_is_held_is_held_for_regimes(void **state)
{
    const struct result *plain = predict_months(*state, -1);
    const struct result *held = predict_months(*state, 0.1);
    const double by = (double)held->step.step_ns / (double)held->step.simulated_ns;
    assert_true(by > 0.2);
    assert_close(by, plain->step.hfu, 1e-6);
    const struct result *same = predict_months(*state, by);
    assert_int_equal(same->step.step_ns, held->step.step_ns);
    assert_true(held->run.interruptions > 0 || held->run.regime_count > 0);
    assert_close(held->run.data_stall_s + 1, same->run.data_stall_s + 1, 1e-9);
    assert_close(held->run.days, same->run.days, 1e-9);
    assert_int_equal(held->run.regime_count, same->run.regime_count);
    for (size_t i = 0; i < held->run.regime_count; i++) {
        assert_close(held->run.regimes[i].step_s, same->run.regimes[i].step_s, 1e-9);
    }
}

static double regime_s(const struct run_result *run, const char *what)
{
    for (size_t i = 0; i < run->regime_count; i++) {
        if (strcmp(run->regimes[i].what, what) == 0) {
            return run->regimes[i].step_s;
        }
    }
    return ABSENT;
}

/* The level is of all steps: with a slow GPU, too, they are 1.3 times as long. */
static void regimes_are_as_much_longer_as_the_usual_step(void **state)
{
    const struct result *plain = predict_months(*state, -1);
    const struct result *anchored = predict_months(*state, 1.3);
    uint32_t compared = 0;
    for (size_t i = 0; i < plain->run.regime_count; i++) {
        const double plain_s = plain->run.regimes[i].step_s;
        const double anchored_s = regime_s(&anchored->run, plain->run.regimes[i].what);
        if (!is_absent(anchored_s)) {
            assert_true(plain_s > 1.5 * (double)plain->step.step_ns * 1e-9);
            assert_close(anchored_s, 1.3 * plain_s, 1e-6);
            compared++;
        }
    }
    assert_true(compared > 0);
}

/* What a search tries is as long as what is run. */
static void a_tried_layout_is_as_long_as_the_anchor_has_it(void **state)
{
    const struct scenario *scenario = quickstart(*state, "anchor.factor=1.25");
    struct step_result plain, tried;
    simulate(*state, scenario, &plain);
    struct evaluator *evaluator = evaluator_new(*state, scenario, true);
    evaluator_simulate(evaluator, *state, scenario, 0, &tried);
    evaluator_free(evaluator);
    assert_close((double)tried.step_ns, 1.25 * (double)plain.step_ns, 1e-8);
}

/* ---- what another run's error says ----------------------------------------------------- */

enum { PAIRS = 40 };

/* As many votes of one kind, whose ratio of 1 is off by 3 %. */
static struct anchor_evidence evidence_of(struct arena *arena, uint32_t axis)
{
    struct ratio_pair *items = arena_array(arena, PAIRS, sizeof *items);
    for (uint32_t i = 0; i < PAIRS; i++) {
        items[i] = (struct ratio_pair){
            .axis = axis, .vote = i, .source = "theirs", .measured = 0.03, .predicted = 0};
    }
    return (struct anchor_evidence){.pairs = {items, PAIRS, PAIRS},
                                    .limits = {.trust = 0.8},
                                    .table = difference_table_new(arena)};
}

static uint32_t axis_of(const char *name)
{
    uint32_t axis = 0;
    while (strcmp(axis_name(axis), name) != 0) {
        axis++;
    }
    return axis;
}

/* Two runs as fast, each off by 10 % alone. */
static struct anchor_worth worth_of(struct arena *arena, const char *set, double weight)
{
    const struct anchor_evidence evidence = evidence_of(arena, axis_of("micro-batch"));
    const struct anchor_side anchor = {
        .scenario = quickstart(arena, NULL), .tokens_per_s_per_gpu = 8000, .alone = 0.1};
    const struct anchor_side asked = {
        .scenario = quickstart(arena, set), .tokens_per_s_per_gpu = 8000, .alone = 0.1};
    return anchor_worth_of(arena, &evidence, &anchor, &asked, weight);
}

/* Nothing differs: all of the error is shared, but for what a repeat moves, 2 %. Half a weight
 * leaves half of 10 % beside it. */
static void a_run_shares_all_of_its_own_error(void **state)
{
    const struct anchor_worth whole = worth_of(*state, NULL, ABSENT);
    assert_true(whole.is_same);
    assert_close(whole.weight, 1, 1e-12);
    assert_close(whole.spread, log(1.02), 1e-12);
    const struct anchor_worth half = worth_of(*state, NULL, 0.5);
    assert_close(half.spread, hypot(log(1.02), 0.05), 1e-12);
}

/* s = 0.03, a = b = 0.1: shared (0.01 + 0.01 - 0.0009) / 2 = 0.00955, of which 0.8 is taken: w =
 * 0.8 x 0.955 = 0.764; t^2 = 0.01 - 2 x 0.764 x 0.00955 + 0.764^2 x 0.01 = 0.00124456. The whole
 * ratio is off by s alone. */
static void what_two_share_follows_from_how_far_they_and_their_ratio_are_off(void **state)
{
    const struct anchor_worth best = worth_of(*state, "batch.micro=2", ABSENT);
    assert_int_equal(best.kind_count, 1);
    assert_string_equal(best.kinds[0], "micro-batch");
    assert_int_equal(best.votes, PAIRS);
    assert_close(best.weight, 0.764, 1e-9);
    assert_close(best.spread, sqrt(0.00124456), 1e-9);
    assert_true(best.spread < best.alone);
    const struct anchor_worth whole = worth_of(*state, "batch.micro=2", 1);
    assert_close(whole.weight, 1, 1e-12);
    assert_close(whole.spread, 0.03, 1e-9);
    const struct anchor_worth none = worth_of(*state, "batch.micro=2", 0);
    assert_close(none.spread, 0.1, 1e-9);
}

/* As above, and 0.06 of each 0.1 is what boxes differ by, which two runs of one box share whole:
 * w = (0.0036 + 0.8 x (0.00955 - 0.0036)) / 0.01 = 0.836. Where no pair is known it alone is
 * shared: w = 0.36, t^2 = 0.01 - 2 x 0.36 x 0.0036 + 0.36^2 x 0.01 = 0.008704. */
static void what_boxes_differ_by_is_shared_whole_on_one_box(void **state)
{
    struct arena *arena = *state;
    const struct anchor_evidence evidence = evidence_of(arena, axis_of("micro-batch"));
    static const char *const sets[] = {"batch.micro=2", "optimizer.rule=sgd"};
    static const double weights[] = {0.836, 0.36};
    for (uint32_t i = 0; i < 2; i++) {
        const struct anchor_side anchor = {.scenario = quickstart(arena, NULL),
                                           .tokens_per_s_per_gpu = 8000,
                                           .alone = 0.1,
                                           .box = 0.06};
        struct anchor_side asked = anchor;
        asked.scenario = quickstart(arena, sets[i]);
        const struct anchor_worth worth =
            anchor_worth_of(arena, &evidence, &anchor, &asked, ABSENT);
        assert_close(worth.weight, weights[i], 1e-9);
        if (i == 1) {
            assert_close(worth.spread, sqrt(0.008704), 1e-9);
        }
    }
}

/* Of optimizers no pair is: s^2 = a^2 + b^2, nothing is shared, and the error stays b. Taken whole
 * it grows to s. */
static void what_no_measured_pair_differs_in_shares_nothing(void **state)
{
    const struct anchor_worth worth = worth_of(*state, "optimizer.rule=sgd", ABSENT);
    assert_false(worth.are_measured);
    assert_string_equal(worth.kinds[0], "optimizer.rule");
    assert_close(worth.weight + 1, 1, 1e-12);
    assert_close(worth.spread, 0.1, 1e-9);
    assert_close(worth_of(*state, "optimizer.rule=sgd", 1).spread, hypot(0.1, 0.1), 1e-9);
}

/* Without a band of their own there is no formula. */
static void where_nothing_measured_is_like_it_no_weight_can_be_told(void **state)
{
    const struct anchor_evidence evidence = evidence_of(*state, axis_of("micro-batch"));
    const struct anchor_side anchor = {.scenario = quickstart(*state, NULL),
                                       .tokens_per_s_per_gpu = 8000};
    const struct anchor_side asked = {.scenario = quickstart(*state, "batch.micro=2"),
                                      .tokens_per_s_per_gpu = 8000};
    const struct anchor_worth worth = anchor_worth_of(*state, &evidence, &anchor, &asked, ABSENT);
    assert_true(is_absent(worth.weight));
    assert_true(worth.reason[0] != '\0');
}

static void other_models_are_told_by_their_sizes(void **state)
{
    const struct model small = fixture_model(*state, "llama3-8b", NULL);
    const struct model large = fixture_model(*state, "llama3-70b", NULL);
    assert_null(anchor_other_model(*state, &small, &small));
    assert_string_equal(anchor_other_model(*state, &small, &large),
                        "layers 32 there, 80 here; hidden 4096 there, 8192 here; ffn_hidden 14336 "
                        "there, 28672 here; heads 32 there, 64 here");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_scaled_with_all_that_it_is_made_of),
        cmocka_unit_test(no_step_is_shorter_than_its_flops_at_the_peak),
        cmocka_unit_test(an_anchored_run_has_longer_steps_and_the_same_checkpoints),
        cmocka_unit_test(loaders_keep_up_with_the_level_that_is_held),
        cmocka_unit_test(a_level_that_is_held_is_held_for_regimes),
        cmocka_unit_test(regimes_are_as_much_longer_as_the_usual_step),
        cmocka_unit_test(a_tried_layout_is_as_long_as_the_anchor_has_it),
        cmocka_unit_test(a_run_shares_all_of_its_own_error),
        cmocka_unit_test(what_two_share_follows_from_how_far_they_and_their_ratio_are_off),
        cmocka_unit_test(what_boxes_differ_by_is_shared_whole_on_one_box),
        cmocka_unit_test(what_no_measured_pair_differs_in_shares_nothing),
        cmocka_unit_test(where_nothing_measured_is_like_it_no_weight_can_be_told),
        cmocka_unit_test(other_models_are_told_by_their_sizes),
    };
    return cmocka_run_group_tests(tests, make_arena, end_arena);
}
