/* Many histories, of a plan whose histories are known: 1,000 steps of 10 s, and something that
 * stands still 300 s whenever it fails and costs nothing else. Its clock stands meanwhile, so a
 * history with k of its instants within 10,000 s lasts 10,000 + 300 k seconds. */
#include "base/arena.h"
#include "run/history/paired.h"
#include "run/history/repetitions.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "support/assert_close.h"

/* With 21 values the percentiles 5, 50 and 95 are the second, the eleventh and the twentieth. */
enum { HISTORIES = 21, SEED = 42, SLOW_SEED = 7, STEPS = 1000 };
#define STEP_S 10.0
#define STOPS_S 300.0
#define ALONE_S (STEPS * STEP_S)

static struct history_step ten_seconds(void *context, const struct history_regime *regime)
{
    (void)context;
    (void)regime;
    return (struct history_step){law_time(STEP_S), 0};
}

static struct failure_class stops(void)
{
    return (struct failure_class){.name = "stops",
                                  .clock = {CLOCK_CONSTANT, .rate_per_s = 1.0 / 4000},
                                  .effect = FAILURE_STOPS,
                                  .rests = true,
                                  .repair = {LAW_FIXED, STOPS_S, 0}};
}

/* All its steps, without checkpoints. */
static const struct history_stage all_of_it;

static struct history_plan plan_of(const struct failure_class *class, double horizon_s)
{
    return (struct history_plan){.classes = class,
                                 .class_count = 1,
                                 .horizon = law_time(horizon_s),
                                 .steps = STEPS,
                                 .stages = &all_of_it,
                                 .stage_count = 1,
                                 .step_of = ten_seconds};
}

/* How often it stands still in each history, from its clock alone; in ascending order, too. */
static void count_stops(const struct failure_class *class, double counts[], double sorted[])
{
    struct arena *arena = arena_new();
    for (uint32_t i = 0; i < HISTORIES; i++) {
        struct failure_times times;
        const struct rng_key key = {.seed = SEED, .rank = i};
        failure_times_begin(&times, arena, class, key, law_time(10 * ALONE_S));
        counts[i] = 0;
        for (; times.next < law_time(ALONE_S); failure_times_advance(&times, arena)) {
            counts[i]++;
        }
        uint32_t at = i;
        for (; at > 0 && sorted[at - 1] > counts[i]; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = counts[i];
    }
    arena_free(arena);
}

static void means_errors_and_percentiles_are_those_of_the_histories(void **state)
{
    (void)state;
    double counts[HISTORIES];
    double sorted[HISTORIES];
    const struct failure_class class = stops();
    count_stops(&class, counts, sorted);
    double sum = 0;
    double squares = 0;
    double goodput = 0;
    for (uint32_t i = 0; i < HISTORIES; i++) {
        sum += counts[i];
        squares += counts[i] * counts[i];
        goodput += ALONE_S / (ALONE_S + STOPS_S * counts[i]) / HISTORIES;
    }
    const double mean = sum / HISTORIES;
    const double variance = (squares - HISTORIES * mean * mean) / (HISTORIES - 1);
    assert_true(sorted[1] < sorted[10] && sorted[10] < sorted[19]);

    struct arena *arena = arena_new();
    const struct history_plan plan = plan_of(&class, 10 * ALONE_S);
    struct repetitions all;
    repetitions_run(arena, &plan, SEED, HISTORIES, &all);
    assert_int_equal(all.count, HISTORIES);
    assert_int_equal(all.unfinished, 0);
    assert_close(all.wall_s.mean, ALONE_S + STOPS_S * mean, 1e-12);
    assert_close(all.wall_s.error, STOPS_S * sqrt(variance / HISTORIES), 1e-9);
    assert_close(all.wall_s.p5, ALONE_S + STOPS_S * sorted[1], 1e-12);
    assert_close(all.wall_s.p50, ALONE_S + STOPS_S * sorted[10], 1e-12);
    assert_close(all.wall_s.p95, ALONE_S + STOPS_S * sorted[19], 1e-12);
    assert_close(all.goodput.mean, goodput, 1e-12);
    assert_close(all.account_s[ACCOUNT_USEFUL], ALONE_S, 1e-12);
    assert_close(all.account_s[ACCOUNT_WAITING], STOPS_S * mean, 1e-12);
    assert_close(all.blamed_s[0], STOPS_S * mean, 1e-12);
    assert_close(all.interruptions[0], mean, 1e-12);
    assert_close(all.interruptions_all, mean, 1e-12);
    arena_free(arena);
}

/* 12 s a step from the first time that something gets slow on, and it is never found. */
static struct history_step twelve_when_slow(void *context, const struct history_regime *regime)
{
    (void)context;
    const bool is_slow = regime->slow_class != HISTORY_NO_CLASS;
    return (struct history_step){law_time(is_slow ? 12.0 : STEP_S), 0};
}

/* Of 12 s of a slow step 10 are good; the rest is degraded and none of the goodput. */
static void what_slowness_adds_to_steps_is_not_good(void **state)
{
    (void)state;
    struct failure_class class = stops();
    class.effect = FAILURE_SLOWS;
    class.detection = (struct law){LAW_FIXED, 1e6, 0};
    struct history_plan plan = plan_of(&class, 10 * ALONE_S);
    plan.step_of = twelve_when_slow;
    struct arena *arena = arena_new();
    struct repetitions all;
    repetitions_run(arena, &plan, SEED, HISTORIES, &all);
    double goodput = 0;
    for (uint32_t i = 0; i < HISTORIES; i++) {
        struct history_outcome one;
        history_run(arena, &plan, SEED, i, &one);
        goodput += ALONE_S / sim_time_to_s(one.end) / HISTORIES;
    }
    assert_true(goodput > 0.83 && goodput < 0.95);
    assert_close(all.goodput.mean, goodput, 1e-12);
    assert_close(all.account_s[ACCOUNT_USEFUL] + all.account_s[ACCOUNT_DEGRADED], all.wall_s.mean,
                 1e-12);
    arena_free(arena);
}

/* There is time for as many stops as the first history has, and half of one more. */
static void histories_that_reach_the_horizon_are_counted(void **state)
{
    (void)state;
    double counts[HISTORIES];
    double sorted[HISTORIES];
    const struct failure_class class = stops();
    count_stops(&class, counts, sorted);
    uint32_t late = 0;
    for (uint32_t i = 0; i < HISTORIES; i++) {
        late += counts[i] > counts[0];
    }
    assert_true(late > 0);
    const double horizon_s = ALONE_S + STOPS_S * (counts[0] + 0.5);
    struct arena *arena = arena_new();
    const struct history_plan plan = plan_of(&class, horizon_s);
    struct repetitions all;
    repetitions_run(arena, &plan, SEED, HISTORIES, &all);
    assert_int_equal(all.count, HISTORIES);
    assert_int_equal(all.unfinished, late);
    assert_close(all.wall_s.p95, fmin(ALONE_S + STOPS_S * sorted[19], horizon_s), 1e-12);
    arena_free(arena);
}

/* A step is ten seconds, and twelve when something is slow: whoever meets that first notes it. */
struct notes {
    uint32_t slow;        /* times that it was noted: in this process or another */
    uint32_t told;        /* of these, to the process that sums up */
    uint32_t news_of_all; /* that came from others */
};

static struct history_step noted(void *context, const struct history_regime *regime)
{
    struct notes *notes = context;
    const bool is_slow = regime->slow_class != HISTORY_NO_CLASS;
    notes->slow = is_slow ? 1 : notes->slow;
    return (struct history_step){law_time(is_slow ? 12.0 : STEP_S), 0};
}

static struct repetitions_news news_of(void *context, struct arena *arena)
{
    struct notes *notes = context;
    struct repetitions_news news = {NULL, 0};
    if (notes->slow > notes->told) {
        uint32_t *slow = arena_alloc(arena, sizeof *slow);
        *slow = notes->slow;
        news = (struct repetitions_news){slow, sizeof *slow};
        notes->told = notes->slow;
    }
    return news;
}

static void learn(void *context, const struct repetitions_news *news)
{
    struct notes *notes = context;
    assert_int_equal(news->size_bytes, sizeof notes->slow);
    memcpy(&notes->slow, news->bytes, sizeof notes->slow);
    notes->news_of_all++;
}

static void assert_same(const struct repetitions *a, const struct repetitions *b)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->turns, b->turns);
    assert_int_equal(a->unfinished, b->unfinished);
    assert_memory_equal(a->each, b->each, a->count * sizeof *a->each);
    assert_memory_equal(&a->wall_s, &b->wall_s, sizeof a->wall_s);
    assert_memory_equal(a->account_s, b->account_s, sizeof a->account_s);
    assert_memory_equal(a->interruptions, b->interruptions, 2 * sizeof *a->interruptions);
    assert_memory_equal(a->blamed_s, b->blamed_s, 2 * sizeof *a->blamed_s);
}

/* 61 histories of some 20,000 stops of 50 ms each, of which one process draws eight and three the
 * others, in pieces of eight and one of five. What gets slow once in a hundred histories is noted
 * by whoever meets it: a seed with which none of the first eight does. */
static void any_number_of_processes_draws_the_same(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct failure_class classes[] = {stops(), stops()};
    classes[0].clock.rate_per_s = 2;
    classes[0].repair = (struct law){LAW_FIXED, 0.05, 0};
    classes[1].clock.rate_per_s = 1.0 / (30 * ALONE_S);
    classes[1].effect = FAILURE_SLOWS;
    classes[1].detection = (struct law){LAW_FIXED, 600, 0};
    struct history_plan plan = plan_of(classes, 10 * ALONE_S);
    plan.class_count = 2;
    plan.step_of = noted;
    struct repetitions all[3];
    const uint32_t jobs[] = {1, 2, 3};
    for (uint32_t i = 0; i < 3; i++) {
        struct notes notes = {0, 0, 0};
        plan.context = &notes;
        const struct repetitions_request request = {.plan = &plan,
                                                    .seed = SLOW_SEED,
                                                    .count = 61,
                                                    .jobs = jobs[i],
                                                    .news = news_of,
                                                    .learn = learn};
        repetitions_draw(arena, &request, &all[i]);
        assert_int_equal(notes.slow, 1);
        assert_int_equal(notes.news_of_all > 0, jobs[i] > 1);
        assert_same(&all[0], &all[i]);
    }
    assert_true(all[0].turns > 1000000);
    arena_free(arena);
}

static void after_a_first_history_without_an_end_no_other_is_drawn(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct failure_class class = stops();
    const struct history_plan plan = plan_of(&class, ALONE_S - STEP_S);
    struct repetitions all;
    const struct repetitions_request request = {.plan = &plan, .seed = SEED, .count = HISTORIES};
    repetitions_until(arena, &request, 1e-9, &all);
    assert_int_equal(all.count, 1);
    assert_int_equal(all.unfinished, 1);
    assert_true(all.wall_s.error == 0);
    arena_free(arena);
}

/* Pairs (1, 4), (3, 4), (8, 6): differences -3, -1, 2 of mean -2/3; their deviations squared are
 * 49/9 + 1/9 + 64/9 = 114/9, over 2 is 57/9, over 3 is 19/9: the error is its root, 1.45297. They
 * are tied. Of (1, 4), (3, 6), (8, 10.9) the error is a thirtieth, and they are not. */
static void differences_of_pairs(void **state)
{
    (void)state;
    const double a[] = {1, 3, 8};
    const double b[] = {4, 4, 6};
    const double c[] = {4, 6, 10.9};
    const struct paired apart = paired_of(a, b, 3);
    const struct paired alike = paired_of(a, c, 3);
    assert_close(apart.mean, -2.0 / 3, 1e-12);
    assert_close(apart.error, sqrt(19.0 / 9), 1e-12);
    assert_true(paired_is_tied(&apart));
    assert_true(paired_is_tied(&(struct paired){-1.9, 1, 3}));
    assert_false(paired_is_tied(&(struct paired){2.1, 1, 3}));
    assert_close(alike.mean, -8.9 / 3, 1e-12);
    assert_close(alike.error, 0.1 / 3, 1e-9);
    assert_false(paired_is_tied(&alike));
}

/* To the millisecond, of the first thousand. */
static void times_survive_as_a_text(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    enum { MANY = PAIRED_KEPT + 5 };
    double *times_s = arena_array(arena, MANY, sizeof *times_s);
    for (uint32_t i = 0; i < MANY; i++) {
        times_s[i] = 5.4e6 + 1.0625 * i;
    }
    uint32_t count;
    const double *read = paired_read(arena, paired_text(arena, times_s, MANY), &count);
    assert_int_equal(count, PAIRED_KEPT);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(fabs(read[i] - times_s[i]) <= 0.501e-3);
    }
    (void)paired_read(arena, paired_text(arena, times_s, 3), &count);
    assert_int_equal(count, 3);
    (void)paired_read(arena, paired_text(arena, times_s, 0), &count);
    assert_int_equal(count, 0);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_processes_draws_the_same),
        cmocka_unit_test(differences_of_pairs),
        cmocka_unit_test(times_survive_as_a_text),
        cmocka_unit_test(means_errors_and_percentiles_are_those_of_the_histories),
        cmocka_unit_test(what_slowness_adds_to_steps_is_not_good),
        cmocka_unit_test(histories_that_reach_the_horizon_are_counted),
        cmocka_unit_test(after_a_first_history_without_an_end_no_other_is_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
