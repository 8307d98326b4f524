/* Nodes that whoever lends them takes away, against formulas: a job of one node as a renewal
 * process, with notice that is long enough for a checkpoint, too short, or none; capacity that
 * comes back, as a binomial law; what is not held, and so not paid for.
 *
 * A node is held for 1/lam in the mean and away for r, by any law: it is away with the probability
 * p = lam r / (1 + lam r), each by itself, so that of n nodes Binomial(n, p) are. */
#include "run/history/history.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "support/assert_close.h"
#include "support/history_estimate.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

struct pace {
    sim_time step_ns;
    uint32_t replicas;
};

/* Of the replicas that are left. */
static struct history_step step_of(void *context, const struct history_regime *regime)
{
    const struct pace *pace = context;
    const double left = 1 - (double)regime->missing / pace->replicas;
    return (struct history_step){llround((double)pace->step_ns / left), 0};
}

/* Of `nodes`, each held for `held_s` and away for `away_s` in the mean. */
static struct failure_class spot_of(double nodes, double held_s, struct law away)
{
    return (struct failure_class){
        .name = "spot",
        .clock = {.kind = CLOCK_CONSTANT, .rate_per_s = nodes / held_s, .components = nodes},
        .nodes = 1,
        .level = LEVEL_NODE,
        .takes_away = true,
        .repair = away,
    };
}

/* ---- one node: from when it is there until another one is ------------------------------------ */

static const double HELD_S = 100;
static const double AWAY_S = 50;

struct node_case {
    const char *name;
    double notice_s;
    int64_t period;
    double block_s, durable_s;
    bool saves;
    double useful_s; /* from a return to the next taking; of 100 s + notice + 50 s */
};

static struct history_estimate estimate_node(const struct node_case *c, struct failure_class *class)
{
    struct pace pace = {law_time(1), 1};
    const struct history_stage stage = {
        .period = c->period,
        .tiers = {{1, law_time(c->block_s), law_time(c->durable_s), LEVEL_NODE, {0}}},
        .replicas = 1,
    };
    *class = spot_of(1, HELD_S, (struct law){LAW_EXPONENTIAL, AWAY_S, 0});
    class->notice_ns = law_time(c->notice_s);
    const struct history_plan plan = {.classes = class,
                                      .class_count = 1,
                                      .horizon = law_time(ESTIMATE_FAILURES / 64 * 180),
                                      .step_of = step_of,
                                      .context = &pace,
                                      .stages = &stage,
                                      .stage_count = 1,
                                      .tier_count = 1,
                                      .saves_on_notice = c->saves};
    return history_estimate(&plan, law_time(1e4));
}

/* A step takes 1 s. Notice comes after T, exponential of mean 1/lam = 100 s, and n later the node
 * goes; the next one is there r after that: a cycle takes 1/lam + n + r.
 *
 * Saved: the step under way is finished, which makes E[ceil T] = 1 / (1 - e^-lam) s useful; then b
 * and d, which end before the notice does (1 + 5 + 20 <= 30), and nothing is lost, however far the
 * next checkpoint would have been. With a flush under way they wait for its end, 1 + 12 + 12 <= 30.
 
 *
 * Not saved, b + d = 26 > 24, or where nobody tries: steps go on until T + n, and what counts are
 * the periods of tau = 10 s whose checkpoint is safe by then:
 *
 *     tau sum over k of P(T + n > k (tau + b) + d) = tau e^(lam (n - d)) q / (1 - q),
 *
 * q = e^(-lam (tau + b)), of n - d <= tau + b. Without notice n = 0. */
static void a_node_on_spot_is_a_renewal_process(void **state)
{
    (void)state;
    const double lam = 1 / HELD_S;
    const double saved_s = 1 / (1 - exp(-lam));
    const double q = exp(-28 * lam);
    const struct node_case cases[] = {
        {"saved", 30, 1000000000, 5, 20, true, saved_s},
        {"saved, with checkpoints before", 30, 50, 0, 12, true, saved_s},
        {"too short", 24, 10, 18, 8, true, 10 * exp(16 * lam) * q / (1 - q)},
        {"nobody tries", 24, 10, 18, 8, false, 10 * exp(16 * lam) * q / (1 - q)},
        {"no notice", 0, 10, 18, 8, true, 10 * exp(-8 * lam) * q / (1 - q)},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct failure_class class;
        const struct history_estimate found = estimate_node(&cases[i], &class);
        const double cycle_s = HELD_S + cases[i].notice_s + AWAY_S;
        assert_estimates(cases[i].name, &found, cases[i].useful_s / cycle_s);
    }
}

/* Each time 5 s are blocked and 20 s waited for, and 3 s read; nothing is lost, and nothing else
 * happens, but that a node may be taken while the job reads. */
static void a_checkpoint_on_notice_loses_nothing_but_its_time(void **state)
{
    struct arena *arena = *state = arena_new();
    struct pace pace = {law_time(1), 1};
    const struct history_stage stage = {
        .period = 1000000000,
        .tiers = {{1, law_time(5), law_time(20), LEVEL_NODE, {0, law_time(3)}}},
        .replicas = 1};
    struct failure_class class = spot_of(1, HELD_S, (struct law){LAW_FIXED, AWAY_S, 0});
    class.notice_ns = law_time(30);
    const struct history_plan plan = {.classes = &class,
                                      .class_count = 1,
                                      .horizon = law_time(1e6),
                                      .steps = 10000,
                                      .step_of = step_of,
                                      .context = &pace,
                                      .stages = &stage,
                                      .stage_count = 1,
                                      .tier_count = 1,
                                      .saves_on_notice = true};
    struct history_outcome outcome;
    history_run(arena, &plan, 1, 0, &outcome);
    const sim_time times = (sim_time)outcome.interruptions[0];
    const sim_time *ns = outcome.account_ns;
    assert_in_range(times, 50, 150);
    assert_int_equal(outcome.saved, times);
    assert_in_range(outcome.checkpoints, times / 2, times); /* none of those taken in a restart */
    assert_int_equal(ns[ACCOUNT_USEFUL], law_time(10000));
    assert_int_equal(ns[ACCOUNT_LOST], 0);
    assert_int_equal(ns[ACCOUNT_CHECKPOINT], outcome.checkpoints * law_time(25));
    assert_in_range(ns[ACCOUNT_RECOVERY], law_time(3), times * law_time(3));
    assert_true(ns[ACCOUNT_WAITING] >= times * law_time(AWAY_S + 30 - 26));
    assert_int_equal(ns[ACCOUNT_DETECTION], 0);
    /* away from 30 s after the notice, and lacking since the job left, at least 4 s before that; at
     * once where it was not running */
    assert_true(outcome.unheld_s[0] >= (double)times * (AWAY_S + 4) - 1e-6);
    assert_true(outcome.unheld_s[0] <= (double)times * (AWAY_S + 30) + 1e-6);
    arena_free(arena);
}

/* To the nanosecond, of any number of nodes and any law. */
static void without_notice_it_is_a_failure_of_nodes(void **state)
{
    struct arena *arena = *state = arena_new();
    struct pace pace = {law_time(1), 4};
    const struct history_stage stage = {.period = 60,
                                        .tiers = {{1, law_time(2), law_time(10), 3, {1, 2, 3}}},
                                        .replicas = 4,
                                        .nodes_of_replica = 1};
    for (uint32_t i = 0; i < 40; i++) {
        struct failure_class classes[2];
        classes[0] = spot_of(0, 1, (struct law){(enum law_kind)(i % LAW_COUNT_), 700, 1.2});
        classes[0].clock.rate_per_s = 1e-3;
        classes[0].nodes = 1 + i % 3;
        classes[0].are_repaired_as_one = i % 2 == 0;
        classes[0].level = i % 4;
        classes[0].restart = (struct law){LAW_EXPONENTIAL, 30, 0};
        classes[1] = classes[0];
        classes[1].takes_away = false;
        classes[0].level = classes[0].level == 1 && classes[0].nodes > 1 ? 0 : classes[0].level;
        classes[1].level = classes[0].level;
        struct history_outcome outcomes[2];
        for (uint32_t k = 0; k < 2; k++) {
            const struct history_plan plan = {.classes = &classes[k],
                                              .class_count = 1,
                                              .horizon = law_time(1e5),
                                              .step_of = step_of,
                                              .context = &pace,
                                              .stages = &stage,
                                              .stage_count = 1,
                                              .tier_count = 1,
                                              .spares = i % 5,
                                              .is_elastic = i % 7 < 3,
                                              .saves_on_notice = true};
            history_run(arena, &plan, 1, i, &outcomes[k]);
        }
        for (uint32_t a = 0; a < ACCOUNT_COUNT_; a++) {
            assert_int_equal(outcomes[0].account_ns[a], outcomes[1].account_ns[a]);
        }
        assert_int_equal(outcomes[0].steps, outcomes[1].steps);
        assert_int_equal(outcomes[0].interruptions[0], outcomes[1].interruptions[0]);
        assert_true(outcomes[0].interruptions[0] > 20);
        assert_true(outcomes[1].unheld_s[0] == 0);
    }
    arena_free(arena);
}

/* ---- capacity ------------------------------------------------------------------------------- */

struct capacity_case {
    const char *name;
    uint32_t nodes, spares, together;
    uint32_t nodes_of_replica; /* 0: the job waits for all of them */
    struct law away;           /* of a node that is held for 4 h */
};

static const double HELD_4_S = 4 * 3600;

/* Sum over the units (nodes, or as many as are taken together and come back together) that are
 * away, of P(so many) times what the job does without them. */
static double share_of_capacity(const struct capacity_case *c, bool counts_unheld)
{
    const uint32_t units = c->nodes / c->together;
    const double odds = c->away.mean_s / HELD_4_S;
    const double p = odds / (1 + odds);
    double sum = 0;
    double probability = pow(1 - p, units);
    for (uint32_t k = 0; k <= units; k++) {
        const uint32_t away = k * c->together;
        const uint32_t lacks = away > c->spares ? away - c->spares : 0;
        const uint32_t q = c->nodes_of_replica;
        const double missing = q > 0 ? (lacks + q - 1) / q : 0;
        const double runs = q > 0 ? 1 - missing / (c->nodes / q) : lacks == 0;
        sum += probability * (counts_unheld ? lacks : fmax(runs, 0));
        probability *= (double)(units - k) / (k + 1) * odds;
    }
    return sum;
}

static struct history_plan plan_capacity(const struct capacity_case *c, struct failure_class *class,
                                         struct history_stage *stage, struct pace *pace)
{
    const uint32_t q = c->nodes_of_replica;
    *pace = (struct pace){law_time(0.05), q > 0 ? c->nodes / q : 1};
    *class = spot_of(c->nodes, HELD_4_S, c->away);
    class->clock.rate_per_s /= c->together;
    class->nodes = c->together;
    class->are_repaired_as_one = true;
    *stage = (struct history_stage){.period = 1,
                                    .tiers = {{1, 0, 0, LEVEL_NODE + 1, {0}}},
                                    .replicas = pace->replicas,
                                    .nodes_of_replica = q};
    return (struct history_plan){.classes = class,
                                 .class_count = 1,
                                 .horizon = law_time(4e7 / (double)share()),
                                 .step_of = step_of,
                                 .context = pace,
                                 .stages = stage,
                                 .stage_count = 1,
                                 .tier_count = 1,
                                 .spares = c->spares,
                                 .is_elastic = q > 0};
}

static const struct capacity_case capacities[] = {
    {"8 nodes", 8, 0, 1, 0, {LAW_FIXED, 1800, 0}},
    {"8 nodes, lognormal", 8, 0, 1, 0, {LAW_LOGNORMAL, 1800, 1.5}},
    {"16 nodes, 3 spares", 16, 3, 1, 0, {LAW_EXPONENTIAL, 3600, 0}},
    {"16 nodes, 4 at a time", 16, 0, 4, 0, {LAW_EXPONENTIAL, 3600, 0}},
    {"16 nodes, elastic", 16, 0, 1, 2, {LAW_WEIBULL, 3600, 0.7}},
    {"16 nodes, elastic, 2 spares", 16, 2, 1, 2, {LAW_EXPONENTIAL, 7200, 0}},
};

/* By hand, of the first: (1 + 1/8)^-8 = 0.389744; of the fourth (1 + 1/4)^-4 = 0.4096, where one
 * at a time would have (1 + 1/4)^-16 = 0.0281. */
static void a_job_runs_while_there_is_capacity(void **state)
{
    (void)state;
    assert_close(share_of_capacity(&capacities[0], false), pow(1.125, -8), 1e-12);
    assert_close(share_of_capacity(&capacities[3], false), 0.4096, 1e-12);
    for (size_t i = 0; i < LENGTH(capacities); i++) {
        struct failure_class class;
        struct history_stage stage;
        struct pace pace;
        const struct history_plan plan = plan_capacity(&capacities[i], &class, &stage, &pace);
        const struct history_estimate found = history_estimate(&plan, law_time(1e6));
        assert_estimates(capacities[i].name, &found, share_of_capacity(&capacities[i], false));
    }
}

/* By hand, of the first: 8 nodes of which each is away a ninth of the time, 0.889 node-hours an
 * hour. Within 4 standard errors of 64 histories. */
static void what_was_taken_is_not_held_while_the_job_lacks_it(void **state)
{
    struct arena *arena = *state = arena_new();
    assert_close(share_of_capacity(&capacities[0], true), 8 / 9.0, 1e-12);
    for (size_t i = 0; i < LENGTH(capacities); i++) {
        struct failure_class class;
        struct history_stage stage;
        struct pace pace;
        const struct history_plan plan = plan_capacity(&capacities[i], &class, &stage, &pace);
        enum { HISTORIES = 64 };
        double sum = 0;
        double squares = 0;
        for (uint32_t k = 0; k < HISTORIES; k++) {
            struct history_outcome outcome;
            history_run(arena, &plan, 1, k, &outcome);
            const double share = outcome.unheld_s[0] / sim_time_to_s(outcome.end);
            sum += share / HISTORIES;
            squares += share * share / HISTORIES;
        }
        const double error = sqrt((squares - sum * sum) / HISTORIES);
        const double exact = share_of_capacity(&capacities[i], true);
        assert_true(error < 0.01 * exact);
        assert_true(fabs(sum - exact) < 4 * error + 1e-4 * exact); /* begins with all of them */
    }
    arena_free(arena);
}

/* Two replicas of a node each, steps of 1 s, or 2 s of one. Components that age as steeply as
 * these break at the instant that their scale says, to a millisecond: the node, and a process.
 *
 * First: a checkpoint after each step. The node is taken at 90.5 s, after 90 steps and a half that
 * is lost, for 50 s. The first stage ends with step 100, at 110.5 s; what begins the second takes
 * 7 s, with a restart or in place, and the node is back at 140.5 s: 20 s in the first, 30 s in the
 * second.
 *
 * Then without checkpoints, the first stage of 10 steps, and the node away from 5.5 s on: all is
 * done again, until 25.5 s, and again after the process that dies at 35.5 s in the second stage,
 * until 55.5 s; what begins the second takes no time. Until 60.5 s the first has 2 * 20 s, the
 * second 10 s and 5 s. */
static void what_is_not_held_is_of_the_stage_of_its_time(void **state)
{
    struct arena *arena = *state = arena_new();
    struct pace pace = {law_time(1), 2};
    for (uint32_t i = 0; i < 4; i++) {
        const bool is_kept = i < 2;
        struct failure_class classes[2] = {spot_of(1, 1, (struct law){LAW_FIXED, 0, 0})};
        classes[0].clock = (struct failure_clock){
            .kind = CLOCK_RENEWED, .components = 1, .scale_s = is_kept ? 90.5 : 5.5, .shape = 1e6};
        classes[0].repair = (struct law){LAW_FIXED, is_kept ? 50 : 1000, 0};
        classes[1] = (struct failure_class){.name = "process", .clock = classes[0].clock};
        classes[1].clock.scale_s = 35.5;
        const struct history_stage stage = {.until = is_kept ? 100 : 10,
                                            .period = is_kept ? 1 : 0,
                                            .tiers = {{1, 0, 0, 3, {0}}},
                                            .replicas = 2,
                                            .nodes_of_replica = 1};
        struct history_stage stages[] = {stage, stage};
        stages[1].restarts = i % 2 == 0;
        stages[1].change_ns = is_kept ? law_time(7) : 0;
        const struct history_plan plan = {.classes = classes,
                                          .class_count = is_kept ? 1 : 2,
                                          .horizon = law_time(is_kept ? 160 : 60.5),
                                          .step_of = step_of,
                                          .context = &pace,
                                          .stages = stages,
                                          .stage_count = 2,
                                          .tier_count = 1,
                                          .is_elastic = true};
        struct history_outcome outcome;
        history_run(arena, &plan, 1, 0, &outcome);
        assert_int_equal(outcome.interruptions[0], 1);
        assert_true(fabs(outcome.unheld_s[0] - (is_kept ? 20 : 40)) < 0.01);
        assert_true(fabs(outcome.unheld_s[1] - (is_kept ? 30 : 15)) < 0.01);
    }
    arena_free(arena);
}

/* Geometric of mean m: one alone with the probability 1/m, and 4e5 draws have the mean within
 * 4 sqrt(m (m - 1) / 4e5). A mean of one is one, always. */
static void so_many_are_taken_together(void **state)
{
    struct arena *arena = *state = arena_new();
    static const double means[] = {1, 1.25, 4};
    for (size_t i = 0; i < LENGTH(means); i++) {
        const double m = means[i];
        struct failure_class class = spot_of(8, 1, (struct law){LAW_FIXED, 1, 0});
        class.together = m;
        struct failure_times times;
        failure_times_begin(&times, arena, &class, (struct rng_key){.seed = 42}, INT64_MAX / 4);
        enum { DRAWS = 400000 };
        double sum = 0;
        double alone = 0;
        for (uint32_t k = 0; k < DRAWS; k++) {
            const uint32_t nodes = failure_nodes(&times, k);
            sum += nodes;
            alone += nodes == 1;
        }
        assert_true(fabs(sum / DRAWS - m) <= 4 * sqrt(m * (m - 1) / DRAWS));
        assert_true(fabs(alone / DRAWS - 1 / m) <= 4 * sqrt(1 / m * (1 - 1 / m) / DRAWS));
    }
    arena_free(arena);
}

/* What stops all by the calendar stops it as often, whatever is taken. */
static void what_is_taken_moves_no_other_failure(void **state)
{
    struct arena *arena = *state = arena_new();
    const struct failure_class classes[] = {
        {.name = "file_system",
         .clock = {.kind = CLOCK_CONSTANT, .rate_per_s = 1e-3},
         .effect = FAILURE_STOPS,
         .repair = {LAW_FIXED, 1, 0}},
        spot_of(8, HELD_4_S, (struct law){LAW_EXPONENTIAL, 1800, 0}),
    };
    struct pace pace = {law_time(1), 1};
    const struct history_stage stage = {.period = 60, .tiers = {{1, 0, 0, 3, {0}}}, .replicas = 1};
    for (uint32_t i = 0; i < 20; i++) {
        struct history_outcome outcomes[2];
        for (uint32_t k = 0; k < 2; k++) {
            const struct history_plan plan = {.classes = classes,
                                              .class_count = 1 + k,
                                              .horizon = law_time(1e6),
                                              .step_of = step_of,
                                              .context = &pace,
                                              .stages = &stage,
                                              .stage_count = 1,
                                              .tier_count = 1};
            history_run(arena, &plan, 1, i, &outcomes[k]);
        }
        assert_true(outcomes[1].interruptions[1] > 50);
        assert_in_range(outcomes[0].interruptions[0], 800, 1200);
        /* one that falls into the last standstill is met by nobody */
        assert_in_range(outcomes[0].interruptions[0] - outcomes[1].interruptions[0], 0, 40);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_on_spot_is_a_renewal_process),
        cmocka_unit_test(a_checkpoint_on_notice_loses_nothing_but_its_time),
        cmocka_unit_test(without_notice_it_is_a_failure_of_nodes),
        cmocka_unit_test(a_job_runs_while_there_is_capacity),
        cmocka_unit_test(what_was_taken_is_not_held_while_the_job_lacks_it),
        cmocka_unit_test(what_is_not_held_is_of_the_stage_of_its_time),
        cmocka_unit_test(so_many_are_taken_together),
        cmocka_unit_test(what_is_taken_moves_no_other_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
