/* A wait is booked under what ended it, through the pipeline (des/engine_late.c): pipelines of
 * fixed durations whose first stage loads, one of whose stages is slow, or that write beside their
 * work, against sums done by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "support/pipeline.h"

enum { DATA = PIPELINE_CAUSE_OTHER + 1, SLOW, WRITING, CAUSES };
enum { SLOW_LATE, DATA_LATE, WRITING_LATE, LATES };

enum { FORWARD_NS = 20, BACKWARD_NS = 50 };
static const struct pipeline_costs costs = {FORWARD_NS, 30, BACKWARD_NS - 30, 0};

/* ---- what makes late ------------------------------------------------------------------------ */

static struct engine_system pipeline(struct arena *arena, const struct schedule_shape *shape)
{
    struct engine_system system = pipeline_system(arena, shape, &costs);
    system.cause_count = CAUSES;
    system.late_count = LATES;
    system.lates[SLOW_LATE] = SLOW;
    system.lates[DATA_LATE] = DATA;
    system.lates[WRITING_LATE] = WRITING;
    system.slow_late = SLOW_LATE;
    return system;
}

static void *with_more(struct arena *arena, const void *items, uint32_t count, size_t each)
{
    char *more = arena_array(arena, count + (size_t)1, each);
    memcpy(more, items, count * each);
    return more;
}

/* Stage 0 gets a stream more, of `count` transfers one after the other, each so long, for whose
 * i-th its i-th task of that length waits. */
static void add_stream(struct arena *arena, struct engine_system *system, uint32_t late,
                       int64_t each_ns, uint32_t count, int64_t work_ns)
{
    const uint32_t stream = system->stream_count++;
    const uint32_t number = system->channel_count;
    struct engine_channel *channels = with_more(arena, system->channels, number, sizeof *channels);
    struct engine_path *paths = with_more(arena, system->paths, system->path_count, sizeof *paths);
    struct engine_member *members =
        with_more(arena, system->members, system->member_count, sizeof *members);
    struct engine_transfer *transfers =
        with_more(arena, system->transfers, system->transfer_count, sizeof *transfers);
    struct engine_actor *actors =
        with_more(arena, system->actors, system->actor_count, sizeof *actors);
    struct engine_program *programs =
        with_more(arena, system->programs, system->program_count, sizeof *programs);
    channels[number] = (struct engine_channel){.kind = CHANNEL_COLLECTIVE,
                                               .makes_late = (uint8_t)(late + 1),
                                               .needed = 1,
                                               .member_first = system->member_count,
                                               .member_count = 1,
                                               .path_first = system->path_count,
                                               .path_count = 1,
                                               .multiplicity = 1};
    paths[system->path_count++] = (struct engine_path){.cap_bytes_per_s = 1000000000};
    members[system->member_count++] = (struct engine_member){0, stream, 1};
    transfers[system->transfer_count++] = (struct engine_transfer){.bytes = each_ns};
    actors[0].channels[stream] = number;
    system->streams[stream] =
        (struct engine_stream){"", system->lates[late], system->lates[late], 0};
    struct engine_block block = *programs[0].blocks[0];
    struct task *more = arena_array(arena, count, sizeof *more);
    struct task *work = with_more(arena, block.tasks[0], block.counts[0], sizeof *work);
    for (uint32_t i = 0; i < count; i++) {
        more[i] = (struct task){.kind = TASK_COLLECTIVE, .transfer = system->transfer_count - 1};
    }
    for (uint32_t i = 0, taken = 0; i < block.counts[0] && taken < count; i++) {
        if (work[i].work_ns == work_ns) {
            work[i].wait_stream[work[i].wait_count] = (uint8_t)stream;
            work[i].wait_ended[work[i].wait_count++] = (int32_t)++taken;
        }
    }
    block.tasks[0] = work;
    block.tasks[stream] = more;
    block.counts[stream] = count;
    programs[0] = engine_program_of_one(arena, &block);
    system->channel_count++;
    system->channels = channels;
    system->paths = paths;
    system->members = members;
    system->transfers = transfers;
    system->actors = actors;
    system->programs = programs;
}

static const int64_t *causes_of(const struct engine_outcome *outcome, uint32_t stage)
{
    return outcome->actor_causes[stage];
}

/* ---- data ----------------------------------------------------------------------------------- */

static struct engine_outcome with_data(struct arena *arena, const struct schedule_shape *shape,
                                       int64_t each_ns)
{
    struct engine_system system = pipeline(arena, shape);
    struct engine_outcome outcome;
    add_stream(arena, &system, DATA_LATE, each_ns, shape->microbatches, FORWARD_NS);
    engine_run(arena, &system, NULL, &outcome);
    return outcome;
}

static int64_t more_than(int64_t a, int64_t b)
{
    return a > b ? a - b : 0;
}

/* 1F1B of p stages and m microbatches, each of which takes D to load, F forward and B backward; all
 * are loaded one after the other from the beginning on. Stage k, with w = p - 1 - k below it, runs
 * 1 + w forwards, then a backward after each forward, and w backwards at the end.
 *
 * It begins at D + k F: of that wait D is data's and k F bubble. Of the forwards that follow w wait
 * D - F each, if that is more than 0, for data. Then the first backward is there: without data it
 * would come w B later, and does so by as much less as the stage has waited for data, if that is
 * less. From there on each forward waits D - F - B for data, if that is more than 0. Of the last w
 * backwards the last one is F later than the stage has work for each stage below: w F bubble,
 * whenever it comes; with k B until stage 0 is through. So of D <= F + B
 *
 *     data = D + w max(0, D - F), bubble = (p - 1)(F + B) - w max(0, D - F)
 *
 * and of D >= F + B, the end being m D + p (F + B), bubble = (p - 1) F + k B, all else data. */
static void data_is_waited_for_on_stages_that_never_load(void **state)
{
    const int64_t both_ns = FORWARD_NS + BACKWARD_NS;
    for (int64_t p = 2; p <= 5; p++) {
        const int64_t m = 3 * p;
        const struct schedule_shape shape = {SCHEDULE_1F1B, (uint32_t)p, 1,    (uint32_t)m,
                                             NULL,          0,           false};
        for (int64_t each_ns = 0; each_ns <= 4 * both_ns; each_ns += 5) {
            const bool is_bound = each_ns > both_ns;
            const struct engine_outcome outcome = with_data(*state, &shape, each_ns);
            const int64_t end_ns =
                is_bound ? m * each_ns + p * both_ns : each_ns + (m + p - 1) * both_ns;
            assert_int_equal(outcome.jobs[0].end, end_ns);
            for (int64_t k = 0; k < p; k++) {
                const int64_t *causes = causes_of(&outcome, (uint32_t)k);
                const int64_t filling_ns = (p - 1 - k) * more_than(each_ns, FORWARD_NS);
                const int64_t bubble_ns = is_bound ? (p - 1) * FORWARD_NS + k * BACKWARD_NS
                                                   : (p - 1) * both_ns - filling_ns;
                assert_int_equal(causes[PIPELINE_CAUSE_BUBBLE], bubble_ns);
                assert_int_equal(causes[DATA], end_ns - m * both_ns - bubble_ns);
            }
        }
    }
}

/* ---- a slow stage --------------------------------------------------------------------------- */

/* The last of p stages at a third of the speed is busy from (p - 1) F on, and its m microbatches
 * take 3 (F + B) each: x = 2 (F + B) longer. Stage k waits k F to begin with and w B for the first
 * backward, of which it also waits x for what is slow; x for each of the next, in whose time it
 * runs a forward, and x + F for each of the last w; then k B until stage 0 is through. */
static void a_slow_stage_is_waited_for_as_such(void **state)
{
    const int64_t both_ns = FORWARD_NS + BACKWARD_NS;
    for (int64_t p = 2; p <= 5; p++) {
        const int64_t m = 4 * p;
        const struct schedule_shape shape = {SCHEDULE_1F1B, (uint32_t)p, 1,    (uint32_t)m,
                                             NULL,          0,           false};
        struct engine_system system = pipeline(*state, &shape);
        struct engine_actor *actors =
            with_more(*state, system.actors, system.actor_count, sizeof *actors);
        actors[p - 1].speed = 333333;
        system.actors = actors;
        const int64_t slow_ns = (FORWARD_NS * INT64_C(1000000) + 333332) / 333333 +
                                (BACKWARD_NS * INT64_C(1000000) + 333332) / 333333;
        struct engine_outcome outcome;
        engine_run(*state, &system, NULL, &outcome);
        assert_int_equal(outcome.jobs[0].end, (p - 1) * both_ns + m * slow_ns);
        for (int64_t k = 0; k < p - 1; k++) {
            const int64_t *causes = causes_of(&outcome, (uint32_t)k);
            assert_int_equal(causes[SLOW], m * (slow_ns - both_ns));
            assert_int_equal(causes[PIPELINE_CAUSE_BUBBLE], (p - 1) * both_ns);
        }
        assert_int_equal(causes_of(&outcome, (uint32_t)p - 1)[SLOW], 0);
    }
}

/* ---- a flush beside ------------------------------------------------------------------------- */

/* The first stage's first forward waits for what it writes, 1,000: nothing else of the pipeline
 * changes, so that each stage waits so much longer, and for that. Of 1,000 that are written beside
 * its forwards, it waits for the rest before the first backward, which would begin at 4 F + 3 B:
 * so much later are all that come after it. The first stage itself is ready for it after 4 F, and
 * waits for what ends last. */
static void what_is_written_is_waited_for_by_all(void **state)
{
    enum { WRITTEN_NS = 1000, FIRST_BACKWARD_NS = 4 * FORWARD_NS + 3 * BACKWARD_NS };
    const struct schedule_shape shape = {SCHEDULE_1F1B, 4, 1, 8, NULL, 0, false};
    const struct {
        int64_t before_ns; /* the length of the tasks, the first of which waits */
        int64_t later_ns, first_stage_ns;
    } cases[] = {{FORWARD_NS, WRITTEN_NS, WRITTEN_NS},
                 {BACKWARD_NS, WRITTEN_NS - FIRST_BACKWARD_NS, WRITTEN_NS - 4 * FORWARD_NS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct engine_system system = pipeline(*state, &shape);
        const int64_t alone_ns = (8 + 3) * (FORWARD_NS + BACKWARD_NS);
        struct engine_outcome outcome;
        add_stream(*state, &system, WRITING_LATE, WRITTEN_NS, 1, cases[i].before_ns);
        engine_run(*state, &system, NULL, &outcome);
        assert_int_equal(outcome.jobs[0].end, alone_ns + cases[i].later_ns);
        for (uint32_t k = 0; k < 4; k++) {
            const int64_t *causes = causes_of(&outcome, k);
            const int64_t written_ns = k == 0 ? cases[i].first_stage_ns : cases[i].later_ns;
            assert_int_equal(causes[WRITING], written_ns);
            assert_int_equal(causes[PIPELINE_CAUSE_BUBBLE],
                             3 * (FORWARD_NS + BACKWARD_NS) + cases[i].later_ns - written_ns);
        }
    }
}

/* ---- laws ----------------------------------------------------------------------------------- */

static uint32_t draw(uint32_t number, const char *of, uint32_t bound)
{
    const struct rng_key key = {.seed = 1, .stream = rng_stream(of), .step = number};
    return (uint32_t)rng_below(&key, bound);
}

static bool draw_shape(uint32_t number, struct schedule_shape *shape)
{
    const enum schedule_kind kind = (enum schedule_kind)draw(number, "kind", SCHEDULE_FILE);
    const bool has_two =
        kind == SCHEDULE_ZB_V || kind == SCHEDULE_DUALPIPE || kind == SCHEDULE_DUALPIPEV;
    const uint32_t p = 2 + draw(number, "stages", 5);
    const uint32_t chunks = kind == SCHEDULE_INTERLEAVED ? 2 + draw(number, "chunks", 2) : 1;
    *shape = (struct schedule_shape){
        kind, p, has_two ? 2 : chunks, p * (1 + draw(number, "microbatches", 5)), NULL, 0, false};
    return schedule_is_possible(shape);
}

static void assert_same(const struct engine_outcome *a, const struct engine_outcome *b, uint32_t p)
{
    assert_int_equal(a->jobs[0].end, b->jobs[0].end);
    assert_memory_equal(a->actor_causes, b->actor_causes, p * sizeof *a->actor_causes);
}

/* Of every schedule: data that takes no time changes nothing; with data that does no stage has more
 * bubble than without, and each stage waits for data by what the step is longer and what it has
 * less of bubble. */
static void slow_data_makes_no_bubble(void **state)
{
    uint32_t bound = 0;
    for (uint32_t i = 0; i < 400; i++) {
        struct schedule_shape shape;
        if (!draw_shape(i, &shape)) {
            continue;
        }
        const struct engine_system system = pipeline(*state, &shape);
        struct engine_outcome alone;
        engine_run(*state, &system, NULL, &alone);
        const struct engine_outcome fast = with_data(*state, &shape, 0);
        const struct engine_outcome slow = with_data(*state, &shape, draw(i, "data", 200));
        const int64_t longer_ns = slow.jobs[0].end - alone.jobs[0].end;
        assert_same(&fast, &alone, shape.stages);
        for (uint32_t k = 0; k < shape.stages; k++) {
            const int64_t less_ns = causes_of(&alone, k)[PIPELINE_CAUSE_BUBBLE] -
                                    causes_of(&slow, k)[PIPELINE_CAUSE_BUBBLE];
            assert_true(less_ns >= 0);
            assert_int_equal(causes_of(&slow, k)[DATA], longer_ns + less_ns);
        }
        bound += longer_ns > 0;
    }
    assert_true(bound > 200);
}

/* Cycles that are moved over hand on what they would, were they simulated. */
static void a_cycle_hands_on_what_it_would(void **state)
{
    uint32_t repeated = 0;
    for (uint32_t i = 0; i < 400; i++) {
        struct schedule_shape shape;
        if (!draw_shape(i, &shape)) {
            continue;
        }
        struct engine_system system = pipeline(*state, &shape);
        struct engine_actor *actors =
            with_more(*state, system.actors, system.actor_count, sizeof *actors);
        actors[draw(i, "slow", shape.stages)].speed = 400000 + draw(i, "speed", 600000);
        system.actors = actors;
        const struct engine_options each = {.each_cycle = true};
        struct engine_outcome whole, cycles;
        engine_run(*state, &system, &each, &whole);
        engine_run(*state, &system, NULL, &cycles);
        assert_same(&whole, &cycles, shape.stages);
        repeated += cycles.tasks_repeated > 0;
    }
    assert_true(repeated > 50);
}

static int setup(void **state)
{
    *state = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(data_is_waited_for_on_stages_that_never_load),
        TEST(a_slow_stage_is_waited_for_as_such),
        TEST(what_is_written_is_waited_for_by_all),
        TEST(slow_data_makes_no_bubble),
        TEST(a_cycle_hands_on_what_it_would),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
