/* Months of random policies: jumping over what is alike is the same as walking, to the nanosecond.
 */
#include "base/arena.h"
#include "base/rng.h"
#include "run/history/history.h"
#include "run/history/history_seen.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/seeds.h"
#include "support/share.h"
#include "support/slow_history.h"

#define POLICIES 5000

enum { CLASSES_MAX = 4, STAGES_MAX = 4, REPAIRS_MAX = 3, DRIFTS_MAX = 20 };

struct dice {
    struct rng_key key;
    struct arena *arena;
};

static uint64_t throw(struct dice * dice, uint64_t sides)
{
    dice->key.operation++;
    return rng_below(&dice->key, sides);
}

/* A flush, a slow GPU, missing replicas, displaced nodes, drift: each makes steps longer. */
struct pace {
    sim_time step_ns[STAGES_MAX], flush_ns, slow_ns, stall_ns, displaced_ns, drift_ns;
    double shares[STAGES_MAX][CLASSES_MAX], lost[STAGES_MAX][CLASSES_MAX];
    sim_time drift_ages[DRIFTS_MAX];
    uint32_t replicas;
};

static struct history_step step_of(void *context, const struct history_regime *regime)
{
    const struct pace *pace = context;
    const sim_time slow =
        regime->slow_class == HISTORY_NO_CLASS ? 0 : pace->slow_ns * (1 + regime->slow_class);
    const sim_time all =
        pace->step_ns[regime->stage] + slow + (sim_time)regime->flushes * pace->flush_ns +
        (sim_time)regime->displaced * pace->displaced_ns + (sim_time)regime->drift * pace->drift_ns;
    return (struct history_step){all * pace->replicas / (pace->replicas - regime->missing),
                                 pace->stall_ns};
}

static struct law random_law(struct dice *dice, double mean_s)
{
    if (throw(dice, 5) == 0) {
        return (struct law){LAW_FIXED, 0, 0};
    }
    return (struct law){(enum law_kind) throw(dice, LAW_COUNT_),
                        mean_s * (double)(1 + throw(dice, 4)),
                        0.5 + 0.25 * (double) throw(dice, 6)};
}

static struct failure_clock random_clock(struct dice *dice, double mean_s)
{
    const double components = (double)(1 + throw(dice, 50));
    const double shape = 0.5 + 0.5 * (double) throw(dice, 4);
    switch (throw(dice, 5)) {
    case 0:
        return (struct failure_clock){
            CLOCK_RENEWED, 0, components, mean_s * components, shape, 0, 0, 0, 0};
    case 1:
        return (struct failure_clock){CLOCK_REPAIRED,
                                      0,
                                      components,
                                      mean_s * components,
                                      shape,
                                      mean_s * (double) throw(dice, 3),
                                      0,
                                      0,
                                      0};
    case 2:
        return (struct failure_clock){CLOCK_OF_JOB, 0, 1, mean_s, shape, 0, 0, 0, 0};
    case 3:
        return (struct failure_clock){.kind = CLOCK_CONSTANT,
                                      .rate_per_s = 1 / mean_s,
                                      .components = components,
                                      .bad_count = 1,
                                      .bad_times = 20,
                                      .bad_retired_after = (uint32_t) throw(dice, 3)};
    default:
        return (struct failure_clock){.kind = CLOCK_CONSTANT, .rate_per_s = 1 / mean_s};
    }
}

static const char *const class_names[] = {"one", "two", "three", "four"};

static enum failure_effect random_effect(struct dice *dice)
{
    static const enum failure_effect effects[] = {FAILURE_KILLS, FAILURE_SLOWS, FAILURE_STOPS,
                                                  FAILURE_CORRUPTS};
    return throw(dice, 2) == 0 ? FAILURE_KILLS : effects[throw(dice, 4)];
}

/* Nodes of a job on spot: as many as it has, more or less, or nobody counts. */
static void take_away(struct dice *dice, struct failure_class *class)
{
    class->effect = FAILURE_KILLS;
    class->takes_away = true;
    class->clock = (struct failure_clock){.kind = CLOCK_CONSTANT,
                                          .rate_per_s = 1 / (300.0 * (double)(1 + throw(dice, 20))),
                                          .components = (double) throw(dice, 12)};
    class->nodes = 1 + (uint32_t) throw(dice, 3);
    class->together = throw(dice, 2) == 0 ? 1 + 0.5 * (double) throw(dice, 6) : 0;
    class->domains = 1;
    class->returns_bad = 0;
    class->notice_ns = (sim_time) throw(dice, 4) * (sim_time) throw(dice, 4) * 11111111111;
}

static void random_class(struct dice *dice, uint32_t number, struct failure_class *class)
{
    struct repair_stage *stages = arena_array(dice->arena, REPAIRS_MAX, sizeof *stages);
    *class = (struct failure_class){
        .name = class_names[number],
        .clock = random_clock(dice, 300.0 * (double)(1 + throw(dice, 20))),
        .effect = random_effect(dice),
        .heals = throw(dice, 3) == 0,
        .rests = throw(dice, 3) == 0,
        .nodes = (uint32_t) throw(dice, 3),
        .nodes_last = (uint32_t) throw(dice, 2),
        .domains = (uint32_t) throw(dice, 4),
        .are_repaired_as_one = throw(dice, 2) == 0,
        .is_of_nodes = number % 2 == 0, /* no draw: seeds stay what they are */
        .level = (uint32_t) throw(dice, 3),
        .detection = random_law(dice, 30),
        .restart = random_law(dice, 60),
        .repair = random_law(dice, 600),
        .stages = stages,
        .stage_count = (uint32_t) throw(dice, 2) * (uint32_t) throw(dice, REPAIRS_MAX + 1),
        .returns_bad = throw(dice, 3) == 0 ? 0.4 : 0,
        .fails_again = random_law(dice, 100),
    };
    for (uint32_t i = 0; i < REPAIRS_MAX; i++) {
        stages[i] = (struct repair_stage){random_law(dice, 300), 0.25 * (double) throw(dice, 5)};
    }
    if (throw(dice, 3) == 0) {
        take_away(dice, class);
    }
}

/* Of all, when one stage does not stand for itself. */
static void random_stage(struct dice *dice, uint32_t replicas, struct history_stage *stage)
{
    *stage = (struct history_stage){
        .period = throw(dice, 8) == 0 ? 0 : 1 + (int64_t) throw(dice, 60),
        .check_every = throw(dice, 3) == 0 ? 1 + (uint32_t) throw(dice, 4) : 0,
        .start_ns = (sim_time) throw(dice, 3) * 10000000000,
        .replicas = replicas,
        .nodes_of_replica = 1 + (uint32_t) throw(dice, 3),
        .nodes = (uint32_t) throw(dice, 6),
        .copies = {.nodes = 2 + (uint32_t) throw(dice, 3),
                   .read_ns = {(sim_time) throw(dice, 40) * 1000000000,
                               (sim_time) throw(dice, 40) * 1000000000,
                               (sim_time) throw(dice, 40) * 1000000000}},
    };
    for (uint32_t i = 0; i < HISTORY_TIERS_MAX; i++) {
        stage->tiers[i] = (struct history_tier){
            .every = i == 0 ? 1 : 1 + (uint32_t) throw(dice, 5),
            .block_ns = (sim_time) throw(dice, 3) * 1500000000,
            .durable_ns = (sim_time) throw(dice, 3) * 7000000000,
            .survives = (uint32_t) throw(dice, 3),
            .read_ns = {(sim_time) throw(dice, 40) * 1000000000,
                        (sim_time) throw(dice, 40) * 1000000000,
                        (sim_time) throw(dice, 40) * 1000000000},
        };
    }
}

/* Each as the first, or another; in place as many replicas go on. */
static uint32_t random_stages(struct dice *dice, struct pace *pace, struct history_stage *stages)
{
    const uint32_t count = throw(dice, 3) == 0 ? 1 : 1 + (uint32_t) throw(dice, STAGES_MAX);
    int64_t until = 0;
    for (uint32_t i = 0; i < count; i++) {
        const bool is_other = i == 0 || throw(dice, 2) == 0;
        if (is_other) {
            random_stage(dice, pace->replicas, &stages[i]);
        } else {
            stages[i] = stages[i - 1];
        }
        for (uint32_t class = 0; class < CLASSES_MAX; class ++) {
            pace->shares[i][class] = 0.25 * (double)(1 + throw(dice, 4));
            pace->lost[i][class] = 0.5 * (double) throw(dice, 3);
        }
        stages[i].shares = throw(dice, 2) == 0 ? pace->shares[i] : NULL;
        stages[i].copies.lost = throw(dice, 2) == 0 ? pace->lost[i] : NULL;
        stages[i].restarts = throw(dice, 2) == 0;
        stages[i].change_ns = (sim_time) throw(dice, 3) * 55555555555;
        stages[i].until = until += 1 + (int64_t) throw(dice, 4000);
    }
    return count;
}

static void random_pauses(struct dice *dice, struct history_plan *plan)
{
    if (throw(dice, 2) == 0) {
        plan->evaluation_every = 1 + (int64_t) throw(dice, throw(dice, 2) == 0 ? 12 : 500);
        plan->evaluation_ns = (sim_time) throw(dice, 4) * 20000000000;
    }
    if (throw(dice, 2) == 0) {
        const sim_time every = law_time(1000.0 + (double) throw(dice, 9000));
        plan->maintenance = (struct history_maintenance){
            .every = every,
            .first = (sim_time) throw(dice, 3) * every / 2,
            .takes_ns = law_time((double) throw(dice, 2000)),
            .saves = throw(dice, 2) == 0,
        };
        plan->restart = random_law(dice, 60);
    }
}

static void random_plan(struct dice *dice, struct failure_class *classes,
                        struct history_stage *stages, struct pace *pace, struct history_plan *plan)
{
    *pace = (struct pace){.flush_ns = (sim_time) throw(dice, 100000000),
                          .slow_ns = (sim_time) throw(dice, 1000000000),
                          .stall_ns = (sim_time) throw(dice, 2) * 12345678,
                          .displaced_ns = (sim_time) throw(dice, 200000000),
                          .drift_ns = (sim_time) throw(dice, 50000000),
                          .replicas = 2 + (uint32_t) throw(dice, 6)};
    for (uint32_t i = 0; i < STAGES_MAX; i++) {
        pace->step_ns[i] = 1000000000 + (sim_time) throw(dice, 1000000000);
    }
    *plan = (struct history_plan){
        .classes = classes,
        .class_count = (uint32_t) throw(dice, CLASSES_MAX + 1),
        .horizon = law_time(20000.0 + (double) throw(dice, 20000)),
        .stages = stages,
        .stage_count = random_stages(dice, pace, stages),
        .step_of = step_of,
        .context = pace,
        .tier_count = (uint32_t) throw(dice, HISTORY_TIERS_MAX + 1),
        .check_ns = (sim_time) throw(dice, 10) * 1000000000,
        .startup_ns = (sim_time) throw(dice, 3) * 100000000000,
        .teardown_ns = (sim_time) throw(dice, 3) * 70000000000,
        .spares = (uint32_t) throw(dice, 4),
        .displaces = throw(dice, 2) == 0,
        .is_elastic = throw(dice, 2) == 0,
        .growth = random_law(dice, 20),
        .hands = (uint32_t) throw(dice, 4),
        .hot_spares = (uint32_t) throw(dice, 3),
        .cold_start = random_law(dice, 40),
        .wrong_diagnosis = throw(dice, 3) == 0 ? 0.5 : 0,
        .inspection = random_law(dice, 200),
        .saves_on_notice = throw(dice, 4) != 0,
    };
    plan->steps = throw(dice, 2) == 0 ? 0 : stages[plan->stage_count - 1].until;
    plan->drift_count = (uint32_t) throw(dice, 2) * (uint32_t) throw(dice, DRIFTS_MAX + 1);
    plan->drift_ages = pace->drift_ages;
    for (uint32_t i = 1; i < DRIFTS_MAX; i++) {
        pace->drift_ages[i] = pace->drift_ages[i - 1] + 1 + (sim_time) throw(dice, 900000000007);
    }
    plan->drifts_on = throw(dice, 2) == 0;
    random_pauses(dice, plan);
    for (uint32_t i = 0; i < plan->class_count; i++) {
        random_class(dice, i, &classes[i]);
    }
}

/* Sums of the same spans in another order. */
static void assert_same_hours(const struct history_plan *plan, const double *jumped_s,
                              const double *walked_s)
{
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        if (fabs(jumped_s[i] - walked_s[i]) > 1e-6 + 1e-9 * walked_s[i]) {
            print_error("stage %u: not held for %.9f s, walked %.9f\n", i, jumped_s[i],
                        walked_s[i]);
            fail();
        }
    }
}

/* A policy and what it points to. */
struct policy {
    struct failure_class classes[CLASSES_MAX];
    struct history_stage stages[STAGES_MAX];
    struct pace pace;
    struct history_plan plan;
};

static struct dice draw_policy(struct seeded *seeded, uint64_t seed, struct policy *policy)
{
    arena_reset(seeded->arena);
    struct dice dice = {{.seed = seed}, seeded->arena};
    random_plan(&dice, policy->classes, policy->stages, &policy->pace, &policy->plan);
    return dice;
}

static void jumping_is_the_same_as_walking(void **state)
{
    struct seeded *seeded = *state;
    uint64_t saved = 0;
    for (uint64_t seed; (seed = seeds_next(&seeded->seeds, POLICIES)) != 0;) {
        struct policy policy;
        draw_policy(seeded, seed, &policy);
        const struct history_plan *plan = &policy.plan;
        struct history_outcome jumped;
        struct history_outcome walked;
        history_run(seeded->arena, plan, seed, 0, &jumped);
        slow_history_run(seeded->arena, plan, seed, 0, &walked);
        for (uint32_t i = 0; i < ACCOUNT_COUNT_; i++) {
            for (uint32_t stage = 0; stage < plan->stage_count; stage++) {
                const sim_time ns = jumped.stage_ns[stage][i];
                if (ns != walked.stage_ns[stage][i]) {
                    print_error("%s of stage %u: %lld, walked %lld\n", account_names[i], stage,
                                (long long)ns, (long long)walked.stage_ns[stage][i]);
                    seeds_report(&seeded->seeds);
                    fail();
                }
            }
            assert_int_equal(jumped.account_ns[i], walked.account_ns[i]);
        }
        for (uint32_t i = 0; i < plan->class_count; i++) {
            assert_int_equal(jumped.interruptions[i], walked.interruptions[i]);
        }
        assert_same_hours(plan, jumped.unheld_s, walked.unheld_s);
        saved += jumped.saved;
        assert_int_equal(jumped.saved, walked.saved);
        assert_int_equal(jumped.end, walked.end);
        assert_int_equal(jumped.steps, walked.steps);
        assert_int_equal(jumped.checkpoints, walked.checkpoints);
        assert_int_equal(jumped.broken_most, walked.broken_most);
    }
    assert_true(seeded->seeds.only != 0 || share() > 1 || saved > 1000);
}

/* Steps that count follow one another from 0, whole or in parts; returns how many there are. */
static int64_t steps_of(const struct history_seen *seen)
{
    int64_t next = 0;
    bool has_part = false;
    for (size_t i = 0; i < seen->count; i++) {
        const struct history_piece *piece = &seen->pieces[i];
        if (piece->account != ACCOUNT_USEFUL) {
            continue;
        }
        next += has_part && piece->first_step == next + 1;
        assert_int_equal(piece->first_step, next);
        next += piece->steps;
        has_part = piece->steps == 0;
    }
    return next + has_part;
}

/* Pieces follow one another to the end, and those of an account are what was booked on it. */
static void assert_pieces(const struct history_seen *seen, const struct history_outcome *outcome)
{
    sim_time sums[ACCOUNT_COUNT_] = {0};
    sim_time at = 0;
    for (size_t i = 0; i < seen->count; i++) {
        const struct history_piece *piece = &seen->pieces[i];
        assert_int_equal(piece->start, at);
        assert_true(piece->end > piece->start);
        sums[piece->account] += piece->end - piece->start;
        at = piece->end;
    }
    assert_int_equal(at, seen->until);
    if (seen->is_full) {
        return;
    }
    const sim_time *ns = outcome->account_ns;
    assert_int_equal(at, outcome->end);
    assert_int_equal(sums[ACCOUNT_USEFUL],
                     ns[ACCOUNT_USEFUL] + ns[ACCOUNT_DATA_STALL] + ns[ACCOUNT_DEGRADED]);
    for (uint32_t i = ACCOUNT_CHECKPOINT; i < ACCOUNT_COUNT_; i++) {
        assert_int_equal(sums[i], ns[i]);
    }
    assert_int_equal(steps_of(seen), outcome->steps);
}

/* Of histories too long for as many pieces the first are seen, and nothing else changes. */
static void what_is_seen_is_what_passed(void **state)
{
    struct seeded *seeded = *state;
    uint32_t whole = 0;
    uint32_t lost = 0;
    for (uint64_t seed; (seed = seeds_next(&seeded->seeds, POLICIES / 5)) != 0;) {
        struct policy policy;
        struct dice dice = draw_policy(seeded, seed, &policy);
        struct history_outcome unseen;
        struct history_outcome outcome;
        history_run(seeded->arena, &policy.plan, seed, 0, &unseen);
        struct history_seen seen = {.arena = seeded->arena,
                                    .most = throw(&dice, 3) == 0 ? 40 : 4000};
        policy.plan.seen = &seen;
        history_run(seeded->arena, &policy.plan, seed, 0, &outcome);
        for (uint32_t i = 0; i < ACCOUNT_COUNT_; i++) {
            assert_int_equal(outcome.account_ns[i], unseen.account_ns[i]);
        }
        assert_int_equal(outcome.end, unseen.end);
        assert_int_equal(outcome.checkpoints, unseen.checkpoints);
        assert_pieces(&seen, &outcome);
        whole += !seen.is_full;
        lost += !seen.is_full && outcome.account_ns[ACCOUNT_LOST] > 0;
    }
    print_message("%u seen to their end, %u of them lost steps\n", whole, lost);
    assert_true(seeded->seeds.only != 0 || share() > 1 || (whole > 300 && lost > 150));
}

int main(int count, char **arguments)
{
    struct seeded seeded = {.seeds = {.only = seeds_only(count, arguments)}};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(jumping_is_the_same_as_walking, seeded_begin,
                                                 seeded_end, &seeded),
        cmocka_unit_test_prestate_setup_teardown(what_is_seen_is_what_passed, seeded_begin,
                                                 seeded_end, &seeded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
