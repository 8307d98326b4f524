/* Checks for corrupted weights: how often they cost what, against a formula; and to which
 * checkpoint a run goes back that lost some of them, by hand.
 */
#include "base/arena.h"
#include "run/history/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/history_estimate.h"

#define HORIZON_S 4e9
#define PERIOD_STEPS 1024
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

struct corruption_case {
    double work_s, exact;
};

static void corruption_goes_back_to_the_check_before(void **state)
{
    (void)state;
    static const struct corruption_case cases[] = {
        {14400, 0.8848991116016315},
        {43200, 0.7110083067037237},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const struct failure_class class = {
            .name = "corruption",
            .clock = {.kind = CLOCK_CONSTANT, .rate_per_s = 1.0 / 129600},
            .effect = FAILURE_CORRUPTS,
            .restart = {LAW_FIXED, 900, 0},
        };
        struct even_pace pace = {law_time(cases[i].work_s / PERIOD_STEPS)};
        const struct history_stage stage = {
            .period = PERIOD_STEPS, .tiers = {{1, 0, 0, 0, {0}}}, .check_every = 1};
        const struct history_plan plan = {
            .classes = &class,
            .class_count = 1,
            .horizon = law_time(HORIZON_S),
            .step_of = even_step,
            .context = &pace,
            .stages = &stage,
            .stage_count = 1,
            .tier_count = 1,
            .check_ns = law_time(60),
        };
        const struct history_estimate found = history_estimate(&plan, 0);
        assert_estimates("corruption", &found, cases[i].exact);
    }
}

/* ---- what is left to go back to ---------------------------------------------------------------
 *
 * Steps take a second, a checkpoint after every tenth is there at once or some seconds later.
 * Components that age as steeply as these break at the instants that their scale says, to some
 * milliseconds: one is corrupted, a node falls, and a process dies, each once.
 */

struct instants {
    double node_s, corruption_s, process_s, until_s; /* process_s 0: none dies */
};

static struct failure_class at(const char *name, double when_s, enum failure_effect effect,
                               uint32_t level)
{
    return (struct failure_class){
        .name = name,
        .clock = {.kind = CLOCK_RENEWED, .components = 1, .scale_s = when_s, .shape = 1e5},
        .effect = effect,
        .level = level,
    };
}

static struct history_outcome run_to(struct arena *arena, const struct instants *instants,
                                     const struct history_stage *stage, uint32_t tiers)
{
    const struct failure_class classes[] = {
        at("node", instants->node_s, FAILURE_KILLS, LEVEL_NODE),
        at("corruption", instants->corruption_s, FAILURE_CORRUPTS, 0),
        at("process", instants->process_s, FAILURE_KILLS, 0),
    };
    struct even_pace pace = {law_time(1)};
    const struct history_plan plan = {.classes = classes,
                                      .class_count = instants->process_s > 0 ? 3 : 2,
                                      .horizon = law_time(instants->until_s),
                                      .step_of = even_step,
                                      .context = &pace,
                                      .stages = stage,
                                      .stage_count = 1,
                                      .tier_count = tiers};
    struct history_outcome outcome;
    history_run(arena, &plan, 1, 0, &outcome);
    return outcome;
}

static void assert_seconds(sim_time ns, double seconds)
{
    assert_in_range(ns, law_time(seconds - 0.01), law_time(seconds + 0.01));
}

/* A checkpoint in memory each ten steps, in 5 s, and copies of what any one node holds. */
static struct history_stage stage_with_copies(uint32_t check_every)
{
    static const double lost[] = {0, 1};
    return (struct history_stage){.period = 10,
                                  .check_every = check_every,
                                  .replicas = 1,
                                  .tiers = {{1, 0, 0, 0, {law_time(5)}}},
                                  .copies = {lost, 2, {0}}};
}

/* Checks end 30, 60, ... steps. At 31.5 s a node falls, with the checkpoints in memory: what it
 * held is read from a copy, the half step is done again. At 35.5 s weights are corrupted, which the
 * check at 60.5 s finds. What the one before vouched for is gone: all 60 steps are lost, not 30,
 * and there is nothing to read. */
static void what_fell_with_a_node_cannot_be_gone_back_to(void **state)
{
    struct arena *arena = *state = arena_new();
    const struct history_stage stage = stage_with_copies(3);
    const struct history_outcome outcome =
        run_to(arena, &(struct instants){31.5, 35.5, 0, 62}, &stage, 1);
    assert_int_equal(outcome.interruptions[0], 1);
    assert_int_equal(outcome.interruptions[1], 1);
    assert_seconds(outcome.account_ns[ACCOUNT_LOST], 0.5 + 60 + 0.5);
    assert_int_equal(outcome.account_ns[ACCOUNT_RECOVERY], 0);
    assert_int_equal(outcome.steps, 1);
    arena_free(arena);
}

/* A step's weights are corrupted at 31.2 s, and a node falls in the same step, at 31.5 s: the
 * step is done again from a copy that is good, and no check finds anything. */
static void a_step_that_is_done_again_is_good(void **state)
{
    struct arena *arena = *state = arena_new();
    const struct history_stage stage = stage_with_copies(3);
    const struct history_outcome outcome =
        run_to(arena, &(struct instants){31.5, 31.2, 0, 62}, &stage, 1);
    assert_int_equal(outcome.interruptions[0], 1);
    assert_int_equal(outcome.interruptions[1], 0);
    assert_seconds(outcome.account_ns[ACCOUNT_LOST], 0.5 + 0.5);
    assert_int_equal(outcome.steps, 61);
    arena_free(arena);
}

/* A node falls at 31.5 s, and its job is down for 10 s. What is corrupted at 36 s was nobody's
 * weights: the half step is done again, and the checks at 50.5 and 60.5 s find nothing. */
static void while_the_job_is_down_nothing_is_corrupted(void **state)
{
    struct arena *arena = *state = arena_new();
    struct failure_class classes[] = {at("node", 31.5, FAILURE_KILLS, LEVEL_NODE),
                                      at("corruption", 36, FAILURE_CORRUPTS, 0)};
    classes[0].restart = (struct law){LAW_FIXED, 10, 0};
    const struct history_stage stage = stage_with_copies(1);
    struct even_pace pace = {law_time(1)};
    const struct history_plan plan = {.classes = classes,
                                      .class_count = 2,
                                      .horizon = law_time(62),
                                      .step_of = even_step,
                                      .context = &pace,
                                      .stages = &stage,
                                      .stage_count = 1,
                                      .tier_count = 1};
    struct history_outcome outcome;
    history_run(arena, &plan, 1, 0, &outcome);
    assert_int_equal(outcome.interruptions[0], 1);
    assert_int_equal(outcome.interruptions[1], 0);
    assert_seconds(outcome.account_ns[ACCOUNT_LOST], 0.5 + 0.5);
    assert_int_equal(outcome.account_ns[ACCOUNT_RECOVERY], law_time(10));
    assert_int_equal(outcome.steps, 31 + 20);
    arena_free(arena);
}

/* A node falls at 31.5 s, and there is one spare: it stands by, or has to be started in 100 s
 * beside the restart of 10 s. */
static void a_spare_that_stands_by_is_not_started(void **state)
{
    for (uint32_t hot = 0; hot < 2; hot++) {
        struct arena *arena = *state = arena_new();
        struct failure_class class = at("node", 31.5, FAILURE_KILLS, LEVEL_NODE);
        class.nodes = 1;
        class.rests = true; /* nothing falls while the job is down */
        class.restart = (struct law){LAW_FIXED, 10, 0};
        class.repair = (struct law){LAW_FIXED, 1000, 0};
        const struct history_stage stage = {
            .period = 10, .replicas = 8, .nodes_of_replica = 1, .tiers = {{1, 0, 0, 3, {0}}}};
        struct even_pace pace = {law_time(1)};
        const struct history_plan plan = {.classes = &class,
                                          .class_count = 1,
                                          .horizon = law_time(1000),
                                          .steps = 40,
                                          .step_of = even_step,
                                          .context = &pace,
                                          .stages = &stage,
                                          .stage_count = 1,
                                          .tier_count = 1,
                                          .spares = 1,
                                          .hot_spares = hot,
                                          .cold_start = {LAW_FIXED, 100, 0}};
        struct history_outcome outcome;
        history_run(arena, &plan, 1, 0, &outcome);
        assert_int_equal(outcome.interruptions[0], 1);
        assert_int_equal(outcome.account_ns[ACCOUNT_RECOVERY], law_time(hot > 0 ? 10 : 110));
        assert_int_equal(outcome.account_ns[ACCOUNT_WAITING], 0);
        assert_seconds(outcome.account_ns[ACCOUNT_LOST], 1.5);
        arena_free(arena);
    }
}

/* Ten steps of a second, a change of 7 s with a restart of 5 s, ten steps more: 32 s to the
 * nanosecond. Without checkpoints nothing is read to go on. */
static void a_stage_that_changes_in_memory_reads_nothing(void **state)
{
    struct arena *arena = *state = arena_new();
    const struct history_stage stages[] = {
        {.until = 10, .replicas = 1},
        {.until = 20, .replicas = 1, .restarts = true, .change_ns = law_time(7)}};
    struct even_pace pace = {law_time(1)};
    const struct history_plan plan = {.horizon = law_time(1000),
                                      .steps = 20,
                                      .step_of = even_step,
                                      .context = &pace,
                                      .stages = stages,
                                      .stage_count = 2,
                                      .restart = {LAW_FIXED, 5, 0}};
    struct history_outcome outcome;
    history_run(arena, &plan, 1, 0, &outcome);
    assert_int_equal(outcome.steps, 20);
    assert_int_equal(outcome.account_ns[ACCOUNT_PLANNED] + outcome.account_ns[ACCOUNT_RECOVERY],
                     law_time(12));
    assert_int_equal(outcome.end, law_time(32));
    arena_free(arena);
}

/* As at first, with every fourth checkpoint in a file system, too, and checks after 20, 40, 60, ...
 * steps. A node falls at 61.5 s, and the corruption of 65.5 s is found at 80.5 s. The newest that
 * is good and that outlived the node is that of 40 s; the one of 70 s is not good. It is read from
 * the file system, in 7 s, and is in memory again: the process that dies at 89 s, 1.5 s after,
 * reads it there, in 5 s. */
static void another_tier_has_an_older_one(void **state)
{
    struct arena *arena = *state = arena_new();
    static const double lost[] = {0, 1, 1};
    const struct history_stage stage = {
        .period = 10,
        .check_every = 2,
        .replicas = 1,
        .tiers = {{1, 0, 0, 0, {law_time(5)}}, {4, 0, 0, 3, {law_time(7)}}},
        .copies = {lost, 2, {0}}};
    const struct history_outcome outcome =
        run_to(arena, &(struct instants){61.5, 65.5, 89, 94.5}, &stage, 2);
    assert_int_equal(outcome.interruptions[1], 1);
    assert_seconds(outcome.account_ns[ACCOUNT_LOST], 0.5 + 40 + 1.5 + 0.5);
    assert_int_equal(outcome.account_ns[ACCOUNT_RECOVERY], law_time(7 + 5));
    assert_int_equal(outcome.steps, 40);
    arena_free(arena);
}

/* Checks after each checkpoint. The corruption of 55.5 s is found at 60 s: back to 50 s, which is
 * in memory. The file system has no newer one than that of 40 s for it: when a node falls at 63.5 s
 * (3.5 s after), and nothing is in copies, 13.5 s are lost beside the ten. */
static void a_tier_does_not_get_what_it_never_had(void **state)
{
    struct arena *arena = *state = arena_new();
    const struct history_stage stage = {
        .period = 10,
        .check_every = 1,
        .replicas = 1,
        .tiers = {{1, 0, 0, 0, {law_time(0)}}, {4, 0, 0, 3, {0, law_time(2)}}}};
    const struct history_outcome outcome =
        run_to(arena, &(struct instants){63.5, 55.5, 0, 67}, &stage, 2);
    assert_int_equal(outcome.interruptions[0], 1);
    assert_int_equal(outcome.interruptions[1], 1);
    assert_seconds(outcome.account_ns[ACCOUNT_LOST], 10 + 10 + 3.5 + 0.5);
    assert_int_equal(outcome.account_ns[ACCOUNT_RECOVERY], law_time(2));
    assert_int_equal(outcome.steps, 41);
    arena_free(arena);
}

/* What is written at 30 s, checked, would be there at 33 s, but a node falls at 32.5 s: that one
 * is lost, though all steps go on from a copy. The corruption of 36 s is found after 40 steps, at
 * 40.5 s. The newest that is there and good is that of 20 s. */
static void what_is_on_its_way_is_lost_though_it_was_checked(void **state)
{
    struct arena *arena = *state = arena_new();
    static const double lost[] = {0, 1};
    const struct history_stage stage = {.period = 10,
                                        .check_every = 1,
                                        .replicas = 1,
                                        .tiers = {{1, 0, law_time(3), 3, {law_time(2)}}},
                                        .copies = {lost, 2, {0}}};
    const struct history_outcome outcome =
        run_to(arena, &(struct instants){32.5, 36, 0, 43}, &stage, 1);
    assert_int_equal(outcome.interruptions[0], 1);
    assert_int_equal(outcome.interruptions[1], 1);
    assert_seconds(outcome.account_ns[ACCOUNT_LOST], 0.5 + 20 + 0.5);
    assert_int_equal(outcome.account_ns[ACCOUNT_RECOVERY], law_time(2));
    assert_int_equal(outcome.steps, 20);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corruption_goes_back_to_the_check_before),
        cmocka_unit_test(what_fell_with_a_node_cannot_be_gone_back_to),
        cmocka_unit_test(a_step_that_is_done_again_is_good),
        cmocka_unit_test(while_the_job_is_down_nothing_is_corrupted),
        cmocka_unit_test(a_spare_that_stands_by_is_not_started),
        cmocka_unit_test(a_stage_that_changes_in_memory_reads_nothing),
        cmocka_unit_test(another_tier_has_an_older_one),
        cmocka_unit_test(a_tier_does_not_get_what_it_never_had),
        cmocka_unit_test(what_is_on_its_way_is_lost_though_it_was_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
