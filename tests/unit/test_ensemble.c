/* train/ensemble on systems small enough to do by hand; what it does to steps is in
 * tests/fuzz/test_sensitivity and tests/cli/sensitivity.bats. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/arena.h"
#include "des/fluid.h"
#include "train/ensemble.h"

enum { COMPUTE, COMM, STREAMS };
enum { WORK, LAUNCH, INTERFERENCE, EXPOSED, WAIT, IDLE, CAUSES };

#define GIGABYTE 1000000000 /* and a byte a nanosecond, per second */

/* Two actors, each alone in a channel across one link, of as many bytes as `bytes` says. */
struct world {
    struct engine_transfer transfers[2];
    struct task comm[2];
    struct engine_block blocks[2];
    const struct engine_block *rows[2];
    uint32_t firsts[2][2][ENGINE_STREAMS_MAX];
    struct engine_program programs[2];
    struct engine_actor actors[2];
    struct engine_member members[2];
    struct engine_channel channels[2];
    struct engine_path paths[2];
    struct engine_crossing crossings[2];
    int64_t capacities[1];
    struct engine_system system;
};

static void world_init(struct world *world, int64_t capacity)
{
    *world = (struct world){.capacities = {capacity}};
    for (uint32_t i = 0; i < 2; i++) {
        world->transfers[i] = (struct engine_transfer){.bytes = GIGABYTE};
        world->comm[i] = (struct task){.kind = TASK_COLLECTIVE, .transfer = i};
        world->blocks[i] =
            (struct engine_block){.tasks = {NULL, &world->comm[i]}, .counts = {0, 1}};
        world->rows[i] = &world->blocks[i];
        world->firsts[i][1][COMM] = 1;
        world->programs[i] = (struct engine_program){
            .blocks = &world->rows[i],
            .firsts = (const uint32_t(*)[ENGINE_STREAMS_MAX])world->firsts[i],
            .block_count = 1,
            .counts = {0, 1}};
        world->actors[i] = (struct engine_actor){.program = i,
                                                 .speed = ENGINE_FULL_SPEED,
                                                 .multiplicity = 1,
                                                 .channels = {ENGINE_NONE, i}};
        world->members[i] = (struct engine_member){i, COMM, 1};
        world->channels[i] = (struct engine_channel){.kind = CHANNEL_COLLECTIVE,
                                                     .needed = 1,
                                                     .member_first = i,
                                                     .member_count = 1,
                                                     .path_first = i,
                                                     .path_count = 1,
                                                     .multiplicity = 1};
        world->paths[i] = (struct engine_path){i, 1, .cap_bytes_per_s = GIGABYTE};
        world->crossings[i] = (struct engine_crossing){0, FLUID_USAGE_ONE};
    }
    world->system = (struct engine_system){
        .programs = world->programs,
        .actors = world->actors,
        .channels = world->channels,
        .paths = world->paths,
        .members = world->members,
        .crossings = world->crossings,
        .link_capacities = world->capacities,
        .transfers = world->transfers,
        .program_count = 2,
        .actor_count = 2,
        .channel_count = 2,
        .member_count = 2,
        .crossing_count = 2,
        .link_count = 1,
        .path_count = 2,
        .transfer_count = 2,
        .stream_count = STREAMS,
        .cause_count = CAUSES,
        .job_count = 1,
        .launch_cause = LAUNCH,
        .interference_cause = INTERFERENCE,
        .end_cause = IDLE,
    };
    world->system.streams[COMM] = (struct engine_stream){"comm", EXPOSED, WAIT, 0};
}

static sim_time end_of(const struct engine_system *system, uint64_t seed, uint32_t number)
{
    struct arena *arena = arena_new();
    struct engine_outcome outcome;
    ensemble_run(arena, system, (struct ensemble_member){seed, number}, NULL, &outcome);
    const sim_time end = outcome.jobs[0].end;
    arena_free(arena);
    return end;
}

static bool is_needed(const struct engine_system *system)
{
    struct arena *arena = arena_new();
    struct engine_outcome outcome;
    engine_run(arena, system, NULL, &outcome);
    const bool needed = ensemble_is_needed(system, &outcome);
    arena_free(arena);
    return needed;
}

/* Two gigabytes over a gigabyte a second: 2 s in member 0. Another's bandwidth differs by 1.5 to 3
 * ten-thousandths, up in odd ones, down in even ones: 2 s less or more 300 to 600 us. */
static void a_member_differs_by_its_bandwidth_and_nothing_else(void **state)
{
    (void)state;
    struct world world;
    world_init(&world, GIGABYTE);
    assert_int_equal(end_of(&world.system, 1, 0), 2000000000);
    for (uint32_t number = 1; number < ENSEMBLE_MEMBERS; number++) {
        const sim_time longer = end_of(&world.system, 1, number) - 2000000000;
        assert_true(number % 2 == 0 ? longer > 0 : longer < 0);
        assert_in_range(llabs(longer), 299000, 601000);
    }
}

/* The seed decides, and nothing else. */
static void a_member_is_a_function_of_the_seed(void **state)
{
    (void)state;
    struct world world;
    world_init(&world, GIGABYTE);
    assert_int_equal(end_of(&world.system, 1, 3), end_of(&world.system, 1, 3));
    assert_int_not_equal(end_of(&world.system, 1, 3), end_of(&world.system, 2, 3));
    assert_int_not_equal(end_of(&world.system, 1, 3), end_of(&world.system, 1, 5));
}

/* On one link each flow loses a second of two to the other. On a link for both, none does; and of
 * one program there is no second phase. */
static void an_ensemble_needs_two_programs_that_slow_each_other(void **state)
{
    (void)state;
    struct world world;
    world_init(&world, GIGABYTE);
    assert_true(is_needed(&world.system));
    world_init(&world, 2 * (int64_t)GIGABYTE);
    assert_false(is_needed(&world.system));
    world_init(&world, GIGABYTE);
    world.system.program_count = 1;
    world.actors[1].program = 0;
    assert_false(is_needed(&world.system));
}

static struct engine_steadiness steadiness_of(const struct engine_system *system)
{
    struct arena *arena = arena_new();
    struct engine_outcome outcome;
    engine_run(arena, system, &(struct engine_options){.finds_steadiness = true}, &outcome);
    const struct engine_steadiness found = outcome.steadiness;
    arena_free(arena);
    return found;
}

/* A gigabyte and three share a gigabyte a second. The first is there after 2 s, so with all
 * bandwidths less by e after 2 e more. From then on the other, of which 2 GB are left, has all of
 * the link: it has moved by (0.5 * 0 + 0.5 * 2) / 1 = 1, and its bytes add 3 s at the last rate: 4
 * s, which is when it ends, as it must where all is bytes. By chance either way it is +-1 +-3,
 * where a walk of 3 s is at 3: a gain of 4/3 or 2/3, while that of the first is 1. */
static void a_run_of_bytes_reaches_as_far_as_it_is_long(void **state)
{
    (void)state;
    struct world world;
    world_init(&world, GIGABYTE);
    world.transfers[1].bytes *= 3;
    const struct engine_steadiness found = steadiness_of(&world.system);
    assert_int_equal(end_of(&world.system, 1, 0), 4000000000);
    assert_true(fabs(found.reach_ns - 4e9) < 10);
    assert_true(fabs(found.gain - 1) < 1e-8 || fabs(found.gain - 4.0 / 3) < 1e-8);
}

/* It is not asked for: not known, and not steady. */
static void nothing_is_steady_that_nobody_looked_at(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct world world;
    struct engine_outcome outcome;
    world_init(&world, GIGABYTE);
    engine_run(arena, &world.system, NULL, &outcome);
    assert_true(isinf(outcome.steadiness.gain) && isinf(outcome.steadiness.reach_ns));
    arena_free(arena);
}

/* Of seed 1, when member 0 ended then. */
static struct ensemble_spread find_from(const struct engine_system *system, sim_time unperturbed)
{
    struct engine_job job = {.end = unperturbed};
    const struct engine_outcome outcome = {.jobs = &job};
    return ensemble_find(system, 1, &outcome, SIM_TIME_MAX);
}

/* Of seed 1, with a member 0 that is believed to be twice as long: where the median ends later than
 * is enough, that is all that is said, and else all is said as if nobody had asked. */
static void a_median_is_later_than_enough_or_known(void **state)
{
    (void)state;
    struct world world;
    world_init(&world, GIGABYTE);
    struct engine_job job = {.end = 2 * end_of(&world.system, 1, 0)};
    const struct engine_outcome outcome = {.jobs = &job};
    const struct ensemble_spread all = ensemble_find(&world.system, 1, &outcome, SIM_TIME_MAX);
    const sim_time median = end_of(&world.system, 1, all.median.number);
    assert_false(all.is_longer);
    for (uint32_t number = 0; number < ENSEMBLE_MEMBERS; number++) {
        const sim_time end = number == 0 ? job.end : end_of(&world.system, 1, number);
        for (sim_time enough = end - 1; enough <= end; enough++) {
            const struct ensemble_spread spread = ensemble_find(&world.system, 1, &outcome, enough);
            assert_int_equal(spread.is_longer, median > enough);
            if (!spread.is_longer) {
                assert_int_equal(spread.members, ENSEMBLE_MEMBERS);
                assert_int_equal(spread.median.number, all.median.number);
                assert_int_equal(spread.least_ns, all.least_ns);
                assert_int_equal(spread.most_ns, all.most_ns);
            }
        }
    }
}

/* A smooth step, whose prediction is the first run, is longer when half of all members are; where
 * the first is and they are not (odd ones are shorter, here by more than a nanosecond), it is told,
 * and longer than enough. */
static void a_smooth_step_is_longer_than_enough_or_told(void **state)
{
    (void)state;
    struct world world;
    world_init(&world, GIGABYTE);
    struct engine_job job = {.end = end_of(&world.system, 1, 0)};
    const struct engine_outcome outcome = {.jobs = &job};
    const sim_time enough[] = {1, job.end - 1, job.end, job.end + 1};
    for (uint32_t i = 0; i < sizeof enough / sizeof *enough; i++) {
        const struct ensemble_spread spread = ensemble_find(&world.system, 1, &outcome, enough[i]);
        assert_int_equal(spread.is_longer, i == 0);
        assert_int_equal(spread.members, i > 0);
    }
}

/* Flows that cannot lock: every member ends where its bandwidth says, within six ten-thousandths,
 * so nothing is told. */
static void a_smooth_step_has_one_member(void **state)
{
    (void)state;
    struct world world;
    world_init(&world, GIGABYTE);
    const struct ensemble_spread spread = find_from(&world.system, end_of(&world.system, 1, 0));
    assert_int_equal(spread.members, 1);
    assert_int_equal(spread.median.number, 0);
    assert_int_equal(spread.most_ns, 0);
}

/* Member 0 was run by whoever asks and is not run again: an end twice as late as it was is
 * believed, is the longest, and makes the runs lie apart. */
static void the_unperturbed_run_is_not_run_again(void **state)
{
    (void)state;
    struct world world;
    world_init(&world, GIGABYTE);
    const sim_time late = 2 * end_of(&world.system, 1, 0);
    const struct ensemble_spread spread = find_from(&world.system, late);
    assert_int_equal(spread.members, ENSEMBLE_MEMBERS);
    assert_int_equal(spread.most_ns, late);
    assert_true(spread.least_ns < late);
    assert_int_not_equal(spread.median.number, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_differs_by_its_bandwidth_and_nothing_else),
        cmocka_unit_test(a_member_is_a_function_of_the_seed),
        cmocka_unit_test(an_ensemble_needs_two_programs_that_slow_each_other),
        cmocka_unit_test(a_run_of_bytes_reaches_as_far_as_it_is_long),
        cmocka_unit_test(nothing_is_steady_that_nobody_looked_at),
        cmocka_unit_test(a_smooth_step_has_one_member),
        cmocka_unit_test(the_unperturbed_run_is_not_run_again),
        cmocka_unit_test(a_median_is_later_than_enough_or_known),
        cmocka_unit_test(a_smooth_step_is_longer_than_enough_or_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
