/* Cycles that come again, moved over, give what simulating each task gives, and so do stretches,
 * which take one event: to the nanosecond, cause by cause, channel by channel. Cycles also event by
 * event. A hook has each task simulated. What was recorded of them says of each task when it began
 * and ended, and has the same critical path.
 *
 * Usage: test_repeats [SEED [FIRST [COUNT]]]; without arguments seed 1, 200 scenarios. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "des/engine_known.h"
#include "support/blocks.h"
#include "support/fixture.h"
#include "support/random_scenario.h"
#include "support/records.h"
#include "support/share.h"
#include "train/ensemble.h"
#include "train/fold.h"
#include "train/step.h"
#include "train/system.h"

struct family {
    uint64_t seed;
    uint64_t first;
    uint64_t count;
};

/* What was simulated, and what of it was moved over. */
struct tally {
    uint64_t systems, repeated, repeated_blocks, tasks, tasks_repeated;
    uint64_t shortened, events, events_each; /* by stretches; with them, and without */
    struct records_tally records;
};

static void see(void *context, uint32_t actor, uint32_t stream, uint32_t index, sim_time start,
                sim_time end)
{
    (void)actor;
    (void)stream;
    (void)index;
    (void)start;
    (void)end;
    ++*(uint64_t *)context;
}

static void assert_same(const struct engine_system *system, const struct engine_outcome *moved,
                        const struct engine_outcome *whole)
{
    assert_memory_equal(moved->jobs, whole->jobs, system->job_count * sizeof *moved->jobs);
    assert_memory_equal(moved->actor_causes, whole->actor_causes,
                        system->actor_count * sizeof *moved->actor_causes);
    assert_memory_equal(moved->traffic, whole->traffic,
                        system->channel_count * sizeof *moved->traffic);
    assert_int_equal(moved->bytes_sent, whole->bytes_sent);
    assert_int_equal(moved->bytes_received, whole->bytes_received);
    assert_int_equal(moved->tasks, whole->tasks);
    assert_int_equal(moved->fluid.solves, whole->fluid.solves);
    assert_int_equal(moved->fluid.direct, whole->fluid.direct);
    assert_int_equal(moved->fluid.alone, whole->fluid.alone);
    assert_int_equal(moved->fluid.stale_events, whole->fluid.stale_events);
    assert_int_equal(moved->fluid.fills, whole->fluid.fills);
    assert_int_equal(moved->fluid.few, whole->fluid.few);
    assert_int_equal(moved->fluid.flows_filled, whole->fluid.flows_filled);
    assert_int_equal(moved->fluid.flows_changed, whole->fluid.flows_changed);
    assert_int_equal(moved->fluid.region_max, whole->fluid.region_max);
}

/* Job 0 ends in time for its end, and not for a nanosecond less or half of it; until its end it is
 * the same. */
static void compare_cuts(struct arena *arena, const struct engine_system *system, sim_time end)
{
    const sim_time untils[] = {end + 1, end, end - 1, end / 2};
    for (size_t i = 0; i < sizeof untils / sizeof *untils && untils[i] > 0; i++) {
        const struct engine_options options = {.only_length = true, .until = untils[i]};
        struct engine_outcome outcome;
        engine_run(arena, system, &options, &outcome);
        assert_int_equal(outcome.is_cut, untils[i] < end);
        assert_true(outcome.is_cut || outcome.jobs[0].end == end);
    }
}

/* Where only the length is asked, jobs and their steps end as where books are kept; also if a run
 * before this one has left what it found out about the programs. */
static void compare_lengths(struct arena *arena, const struct engine_system *system,
                            const struct engine_outcome *whole)
{
    const struct engine_options options = {.only_length = true};
    struct engine_known *known = engine_known_new(ENSEMBLE_KNOWN_BYTES_MAX);
    const struct engine_system *shared = ensemble_share(arena, system, known);
    const struct engine_system *const runs[] = {system, shared, shared};
    for (size_t run = 0; run < sizeof runs / sizeof *runs; run++) {
        struct engine_outcome length;
        engine_run(arena, runs[run], &options, &length);
        for (uint32_t i = 0; i < system->job_count; i++) {
            assert_int_equal(length.jobs[i].end, whole->jobs[i].end);
            assert_memory_equal(length.jobs[i].step_ends, whole->jobs[i].step_ends,
                                sizeof whole->jobs[i].step_ends);
        }
        assert_int_equal(length.tasks, whole->tasks);
        compare_cuts(arena, runs[run], whole->jobs[0].end);
    }
    engine_known_free(known);
}

/* What comes again written once, where blocks begin with a task that waits for some streams. A
 * stretch ends with its block at the latest, so there may be more events. */
static void compare_blocks(struct arena *arena, const struct engine_system *system,
                           const struct engine_outcome *whole, struct tally *tally)
{
    static const uint32_t pipeline = 1u << STREAM_RECEIVE_FORWARD | 1u << STREAM_RECEIVE_BACKWARD;
    static const uint32_t masks[] = {pipeline, pipeline | 1u << STREAM_DATA_GATHER,
                                     pipeline | 1u << STREAM_EXPERT, 1u << STREAM_TENSOR};
    struct engine_system shared = *system;
    struct engine_outcome outcome, each_task;
    const struct engine_options slow = {.each_task = true};
    shared.programs = blocks_shared(arena, system->programs, system->program_count,
                                    masks[tally->systems % (sizeof masks / sizeof *masks)]);
    engine_run(arena, &shared, NULL, &outcome);
    engine_run(arena, &shared, &slow, &each_task);
    assert_same(system, &outcome, whole);
    assert_same(system, &each_task, whole);
    assert_int_equal(each_task.events, whole->events);
    tally->repeated_blocks += outcome.tasks_repeated > 0;
}

/* Stretches and cycles together, and each by itself, beside the system with neither. */
static void compare(struct arena *arena, const struct engine_system *system, uint64_t number,
                    struct tally *tally)
{
    uint64_t seen = 0;
    const struct engine_options each = {.on_task = see, .context = &seen};
    const struct engine_options each_task = {.each_task = true};
    const struct engine_options each_cycle = {.each_cycle = true};
    struct engine_outcome moved, cycles, stretches, whole;
    engine_run(arena, system, NULL, &moved);
    engine_run(arena, system, &each_task, &cycles);
    engine_run(arena, system, &each_cycle, &stretches);
    engine_run(arena, system, &each, &whole);
    assert_int_equal(seen, whole.tasks);
    assert_int_equal(whole.tasks_repeated + stretches.tasks_repeated, 0);
    if (moved.jobs[0].end != whole.jobs[0].end) {
        fprintf(stderr, "number %llu of the family\n", (unsigned long long)number);
    }
    assert_same(system, &cycles, &whole);
    assert_same(system, &stretches, &whole);
    assert_same(system, &moved, &whole);
    assert_int_equal(cycles.events, whole.events);
    assert_int_equal(moved.events, stretches.events);
    compare_blocks(arena, system, &whole, tally);
    compare_lengths(arena, system, &whole);
    if (number % 3 == 0) { /* it asks for all tasks, one by one */
        const struct engine_options islands = {.each_cycle = true, .island_max = 1};
        const struct engine_options any = {.on_task = NULL};
        records_compare(system, number % 4 != 3 ? &any : &islands, &tally->records);
    }
    tally->systems++;
    tally->repeated += moved.tasks_repeated > 0;
    tally->shortened += stretches.events < whole.events;
    tally->tasks += moved.tasks;
    tally->tasks_repeated += moved.tasks_repeated;
    tally->events += stretches.events;
    tally->events_each += whole.events;
}

/* The random scenario with 12 times as many microbatches; the last group of them is as it was. */
static const struct scenario *longer(struct arena *arena, const struct family *family,
                                     uint64_t number)
{
    const char *text = random_scenario_text(arena, family->seed, number);
    const struct scenario *one = random_scenario(arena, family->seed, number);
    const int64_t group = one->parallel.microbatch_group;
    const int64_t more =
        group > 0 ? group * one->batch.micro * one->parallel.dp : one->batch.global;
    const char *const set =
        arena_printf(arena, "batch.global=%lld", (long long)(one->batch.global + 11 * more));
    return fixture_scenario(arena,
                            &(struct fixture_source){.text = text, .sets = &set, .set_count = 1});
}

static void cycles_and_stretches_are_as_simulated(void **state)
{
    const struct family *family = *state;
    struct tally tally = {.systems = 0};
    for (uint64_t i = 0; i < family->count; i++) {
        struct arena *arena = arena_new();
        const struct scenario *scenario = longer(arena, family, family->first + i);
        const struct step_job job = {scenario, NULL, 1};
        struct step_system *system =
            system_build(arena, &job, 1, (uint32_t)scenario->gpus, &(struct step_options){0});
        compare(arena, &fold_system(arena, &system->engine)->engine, family->first + i, &tally);
        if (scenario->gpus <= 32) {
            system->engine.classes = fold_classes(arena, &system->engine);
            compare(arena, &system->engine, family->first + i, &tally);
        }
        arena_free(arena);
    }
    print_message("seed %llu: %llu systems, cycles moved over in %llu, %.0f %% of all tasks\n",
                  (unsigned long long)family->seed, (unsigned long long)tally.systems,
                  (unsigned long long)tally.repeated,
                  100.0 * (double)tally.tasks_repeated / (double)tally.tasks);
    print_message("stretches in %llu, which leave %.0f %% of all events\n",
                  (unsigned long long)tally.shortened,
                  100.0 * (double)tally.events / (double)tally.events_each);
    print_message("recorded in %.0f %% as many rows as tasks; of the paths' legs %.0f %% walked\n",
                  100.0 * (double)tally.records.rows / (double)tally.records.tasks,
                  100.0 * (double)tally.records.visited / (double)tally.records.legs);
    assert_true(family->count < 100 || tally.records.rows < tally.records.tasks);
    assert_true(family->count < 100 || 4 * tally.records.visited < 3 * tally.records.legs);
    assert_true(family->count < 100 || tally.repeated > tally.systems / 3);
    assert_true(family->count < 100 || tally.repeated_blocks > tally.systems / 3);
    assert_true(family->count < 100 || tally.shortened > tally.systems / 4);
}

int main(int count, char **arguments)
{
    struct family family = {1, 0, share_of(200)};
    family.seed = count > 1 ? strtoull(arguments[1], NULL, 10) : family.seed;
    family.first = count > 2 ? strtoull(arguments[2], NULL, 10) : family.first;
    family.count = count > 3 ? strtoull(arguments[3], NULL, 10) : family.count;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(cycles_and_stretches_are_as_simulated, &family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
