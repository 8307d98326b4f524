/* However a step is simulated, it is the same: to the nanosecond, GPU by GPU and cause by cause.
 *
 * The plainest way is the oracle: every GPU, each task, each cycle, one after another, all tasks in
 * one block. Beside it stand what makes stoker fast, together and each by itself:
 *
 *  - folding: the classes of every GPU's system (train/fold), and of the first ones of orbits
 *    (train/quotient);
 *  - stretches: tasks that concern nobody else end in one event (des/engine_stretch);
 *  - cycles: microbatches that come again are moved over (des/engine_repeat);
 *  - islands: who seldom meets others is simulated by himself meanwhile (des/engine_islands);
 *  - blocks: tasks that come again are written once (des/engine_program).
 *
 * Scenarios are random, of up to 512 GPUs and 100 microbatches. tests/fuzz/test_folding holds whole
 * steps against one another, test_repeats the engine's own counts, both of smaller systems.
 *
 * Usage: test_identity [SEED [FIRST [COUNT]]]; without arguments seed 1, 80 scenarios. `make
 * check-identity` has more. test_identity --print SEED NUMBER: the text of one
 * (tests/bench/same). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "plan/memory/memory.h"
#include "support/blocks.h"
#include "support/fixture.h"
#include "support/random_scenario.h"
#include "support/share.h"
#include "train/fold.h"
#include "train/system.h"

struct family {
    uint64_t seed, first, count;
};

/* What was compared, so that it means something. */
struct tally {
    uint64_t systems, many_gpus, ecmp, slow, folded, turned;
    uint64_t repeated, by_islands; /* runs with cycles moved over, and with islands */
    uint64_t shortened;            /* systems with stretches */
};

/* A system and what its actors stand for. */
struct machine {
    const char *name;
    const struct step_system *built;
    const struct engine_system *run;
    const uint32_t *actor_class; /* per actor that was built; NULL: each is run */
};

/* ---- ways to simulate ----------------------------------------------------------------------- */

static struct engine_program *in_one_block(struct arena *arena, const struct engine_system *system)
{
    struct engine_program *programs = arena_array(arena, system->program_count, sizeof *programs);
    for (uint32_t i = 0; i < system->program_count; i++) {
        programs[i] = blocks_flattened(arena, &system->programs[i]);
    }
    return programs;
}

static struct engine_program *in_microbatches(struct arena *arena,
                                              const struct engine_system *system)
{
    const uint32_t messages = 1u << STREAM_RECEIVE_FORWARD | 1u << STREAM_RECEIVE_BACKWARD;
    return blocks_shared(arena, system->programs, system->program_count, messages);
}

static const struct way {
    const char *name;
    struct engine_options options;
    struct engine_program *(*written)(struct arena *arena, const struct engine_system *system);
} ways[] = {
    {"with stretches and cycles", {.each_task = false}, NULL},
    {"with cycles", {.each_task = true}, NULL},
    {"with stretches", {.each_cycle = true}, NULL},
    {"with stretches and cycles, in one block", {.each_task = false}, in_one_block},
    {"with stretches and cycles, in blocks of microbatches", {.each_task = false}, in_microbatches},
    {"with stretches, by islands", {.each_cycle = true, .island_max = 1}, NULL},
    {"by islands", {.each_task = true, .each_cycle = true, .island_max = 16}, NULL},
};
enum { WAYS = sizeof ways / sizeof *ways };
enum { ALL_WAYS_ACTORS_MAX = 128 }; /* larger systems are run in one of the ways, in turn */

/* ---- what comes out ------------------------------------------------------------------------- */

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

static const int64_t *causes_of(const struct machine *machine, const struct engine_outcome *outcome,
                                uint32_t rank)
{
    const struct step_system *built = machine->built;
    const uint32_t actor = system_actor_of(built, &built->jobs[0], rank);
    return outcome
        ->actor_causes[machine->actor_class != NULL ? machine->actor_class[actor] : actor];
}

static bool is_same(const struct machine *plain, const struct engine_outcome *whole,
                    const struct machine *machine, const struct engine_outcome *outcome)
{
    const uint32_t gpus = mesh_size(&plain->built->jobs[0].mesh);
    const size_t size = sizeof outcome->actor_causes[0];
    bool same = memcmp(outcome->jobs, whole->jobs, sizeof *whole->jobs) == 0 &&
                outcome->bytes_sent == whole->bytes_sent &&
                outcome->bytes_received == whole->bytes_received;
    for (uint32_t rank = 0; rank < gpus && same; rank++) {
        same = memcmp(causes_of(machine, outcome, rank), causes_of(plain, whole, rank), size) == 0;
    }
    return same;
}

/* Of one system, what each channel did, too. */
static bool is_same_traffic(const struct engine_system *system, const struct engine_outcome *one,
                            const struct engine_outcome *other)
{
    return one->tasks == other->tasks &&
           memcmp(one->traffic, other->traffic, system->channel_count * sizeof *one->traffic) == 0;
}

/* The ways to run a machine, beside the plain outcome. */
static bool run_ways(struct arena *arena, const struct machine *plain,
                     const struct engine_outcome *whole, const struct machine *machine,
                     struct tally *tally)
{
    const bool is_large = machine->run->actor_count > ALL_WAYS_ACTORS_MAX;
    struct engine_outcome first = *whole;
    for (uint32_t i = 0; i < WAYS; i++) {
        if (is_large && i != tally->systems % WAYS) {
            continue;
        }
        struct engine_system system = *machine->run;
        if (ways[i].written != NULL) {
            system.programs = ways[i].written(arena, machine->run);
        }
        struct engine_outcome outcome;
        engine_run(arena, &system, &ways[i].options, &outcome);
        first = i == 0 && machine->run != plain->run ? outcome : first;
        if (!is_same(plain, whole, machine, &outcome) ||
            (!is_large && !is_same_traffic(machine->run, &first, &outcome))) {
            fprintf(stderr, "%s, %s: %lld ns, plainly %lld ns\n", machine->name, ways[i].name,
                    (long long)outcome.jobs[0].end, (long long)whole->jobs[0].end);
            return false;
        }
        tally->repeated += outcome.tasks_repeated > 0;
        tally->by_islands += outcome.turns > 0;
        tally->shortened += i == 1 && first.events < outcome.events;
    }
    return true;
}

static struct step_options options_of(const struct scenario *scenario, uint64_t number)
{
    struct step_options options = {.folds = false};
    if (number % 3 == 0) {
        const struct memory_job job = memory_job_of(scenario);
        options.checkpoint_bytes = memory_checkpoint_bytes(&job, NULL);
        options.is_checkpoint_async = number % 2 == 0;
    }
    return options;
}

/* Every sixth scenario has many slow GPUs, of some speeds: of those who meet, too. */
static const struct scenario *with_speeds(struct arena *arena, const struct fixture_source *source,
                                          uint64_t number)
{
    const struct scenario *scenario = fixture_scenario(arena, source);
    if (number % 6 != 1) {
        return scenario;
    }
    const char *slow = "slow=[";
    for (int64_t rank = (int64_t)number % 5; rank < scenario->gpus; rank += 3 + rank % 7) {
        slow = arena_printf(arena, "%s%s{rank: %lld, speed: 0.%lld}", slow,
                            slow[strlen(slow) - 1] == '[' ? "" : ", ", (long long)rank,
                            (long long)(91 + rank % 5));
    }
    const char *const set = arena_printf(arena, "%s]", slow);
    return fixture_scenario(
        arena, &(struct fixture_source){.text = source->text, .sets = &set, .set_count = 1});
}

static void count(const struct scenario *scenario, const struct step_system *system,
                  const struct folded_system *folded, const struct step_system *part,
                  struct tally *tally)
{
    tally->systems++;
    tally->many_gpus += scenario->gpus > 256;
    tally->ecmp += scenario->cluster.routing == ROUTING_ECMP;
    tally->slow += scenario->slow_count > 0;
    tally->folded += folded->engine.actor_count < system->engine.actor_count;
    tally->turned += part->engine.actor_count < system->engine.actor_count;
}

static bool compare(struct arena *arena, const struct scenario *scenario, uint64_t number,
                    struct tally *tally)
{
    const struct step_job job = {scenario, NULL, 1};
    struct step_options options = options_of(scenario, number);
    struct step_system *full = system_build(arena, &job, 1, (uint32_t)scenario->gpus, &options);
    const struct machine plain = {"every GPU", full, &full->engine, NULL};
    struct engine_system flat = full->engine;
    flat.programs = in_one_block(arena, &full->engine);
    uint64_t seen = 0;
    const struct engine_options each = {.on_task = see, .context = &seen};
    struct engine_outcome whole;
    engine_run(arena, &flat, &each, &whole);
    assert_int_equal(seen, whole.tasks);

    options.folds = true;
    const struct step_system *part =
        system_build(arena, &job, 1, (uint32_t)scenario->gpus, &options);
    const struct folded_system *of_part = fold_orbits(arena, &part->engine, part->orbits);
    const struct folded_system *of_full = fold_system(arena, &full->engine);
    count(scenario, full, of_full, part, tally);
    const struct machine folded = {"folded", full, &of_full->engine, of_full->actor_class};
    const struct machine orbits = {"orbits", part, &of_part->engine, of_part->actor_class};
    full->engine.classes = fold_classes(arena, &full->engine);
    return run_ways(arena, &plain, &whole, &plain, tally) &&
           run_ways(arena, &plain, &whole, &folded, tally) &&
           run_ways(arena, &plain, &whole, &orbits, tally);
}

static void print_tally(const struct family *family, const struct tally *tally)
{
    print_message("seed %llu: %llu scenarios, %llu of more than 256 GPUs, %llu with ECMP, "
                  "%llu with slow GPUs\n",
                  (unsigned long long)family->seed, (unsigned long long)tally->systems,
                  (unsigned long long)tally->many_gpus, (unsigned long long)tally->ecmp,
                  (unsigned long long)tally->slow);
    print_message("%llu folded, %llu by turns; of up to 21 runs each, cycles moved over in %llu, "
                  "islands in %llu, stretches in %llu systems\n",
                  (unsigned long long)tally->folded, (unsigned long long)tally->turned,
                  (unsigned long long)tally->repeated, (unsigned long long)tally->by_islands,
                  (unsigned long long)tally->shortened);
}

static void each_way_to_simulate_a_step_gives_the_same(void **state)
{
    const struct family *family = *state;
    struct tally tally = {.systems = 0};
    for (uint64_t i = family->first; i < family->first + family->count; i++) {
        struct arena *arena = arena_new();
        const char *text = random_scenario_larger_text(arena, family->seed, i);
        const struct scenario *scenario =
            with_speeds(arena, &(struct fixture_source){.text = text}, i);
        if (!compare(arena, scenario, i, &tally)) {
            fprintf(stderr, "seed %llu number %llu\n%s", (unsigned long long)family->seed,
                    (unsigned long long)i, text);
            fail();
        }
        arena_free(arena);
    }
    print_tally(family, &tally);
    if (family->count >= 80) {
        assert_true(tally.many_gpus > tally.systems / 10 && tally.ecmp > tally.systems / 5);
        assert_true(tally.slow > tally.systems / 8 && tally.folded > tally.systems / 2);
        assert_true(tally.turned > tally.systems / 8 && tally.repeated > tally.systems / 2);
        assert_true(tally.shortened > tally.systems / 4);
        assert_true(tally.by_islands > tally.systems / 4);
    }
}

static int print_text(const char *seed, const char *number)
{
    struct arena *arena = arena_new();
    fputs(random_scenario_larger_text(arena, strtoull(seed, NULL, 10), strtoull(number, NULL, 10)),
          stdout);
    arena_free(arena);
    return 0;
}

int main(int count_of_arguments, char **arguments)
{
    if (count_of_arguments == 4 && strcmp(arguments[1], "--print") == 0) {
        return print_text(arguments[2], arguments[3]);
    }
    struct family family = {1, 0, share_of(80)};
    uint64_t *const numbers[] = {&family.seed, &family.first, &family.count};
    for (int i = 1; i < count_of_arguments && i <= 3; i++) {
        *numbers[i - 1] = strtoull(arguments[i], NULL, 10);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(each_way_to_simulate_a_step_gives_the_same, &family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
