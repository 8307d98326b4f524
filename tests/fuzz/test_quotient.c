/* A system built of the first ones of orbits (train/quotient) folds into what the system of every
 * GPU folds into: the same classes in the same order, as many of each, the same usages, part by
 * part; so what is simulated is the same system. One that is built for times alone has the same
 * channels at each stage's first GPU.
 *
 * Usage: test_quotient [SEED [FIRST [COUNT]]]; without arguments seed 1, 400 scenarios. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "support/fixture.h"
#include "support/random_scenario.h"
#include "support/share.h"
#include "train/fold.h"
#include "train/step.h"
#include "train/system.h"

struct family {
    uint64_t seed, first, count;
};

/* Scenarios in which blocks of replicas turned, parts of these, or tensor ranks, or nothing; how
 * often units were of several kinds of which one has several units; and how often parts alone
 * turned, for stages lie across pods or leaf groups in several ways. */
struct tally {
    uint64_t outer, middle, inner, none, kinds, parted;
};

static void assert_same_actors(const struct engine_system *a, const struct engine_system *b)
{
    assert_int_equal(a->actor_count, b->actor_count);
    for (uint32_t i = 0; i < a->actor_count; i++) {
        assert_int_equal(a->actors[i].program, b->actors[i].program);
        assert_int_equal(a->actors[i].speed, b->actors[i].speed);
        assert_int_equal(a->actors[i].multiplicity, b->actors[i].multiplicity);
        assert_memory_equal(a->actors[i].channels, b->actors[i].channels,
                            sizeof a->actors[i].channels);
    }
}

static void assert_same_paths(const struct engine_system *a, const struct engine_system *b)
{
    assert_int_equal(a->path_count, b->path_count);
    assert_int_equal(a->crossing_count, b->crossing_count);
    for (uint32_t i = 0; i < a->path_count; i++) {
        assert_int_equal(a->paths[i].crossing_first, b->paths[i].crossing_first);
        assert_int_equal(a->paths[i].crossing_count, b->paths[i].crossing_count);
        assert_int_equal(a->paths[i].cap_bytes_per_s, b->paths[i].cap_bytes_per_s);
    }
    for (uint32_t i = 0; i < a->crossing_count; i++) {
        assert_int_equal(a->crossings[i].link, b->crossings[i].link);
        assert_int_equal(a->crossings[i].usage, b->crossings[i].usage);
    }
}

static void assert_same_channels(const struct engine_system *a, const struct engine_system *b)
{
    assert_int_equal(a->channel_count, b->channel_count);
    assert_int_equal(a->member_count, b->member_count);
    for (uint32_t i = 0; i < a->channel_count; i++) {
        const struct engine_channel *x = &a->channels[i];
        const struct engine_channel *y = &b->channels[i];
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->needed, y->needed);
        assert_int_equal(x->member_first, y->member_first);
        assert_int_equal(x->member_count, y->member_count);
        assert_int_equal(x->path_first, y->path_first);
        assert_int_equal(x->path_count, y->path_count);
        assert_int_equal(x->latency_ns, y->latency_ns);
        assert_int_equal(x->multiplicity, y->multiplicity);
    }
    for (uint32_t i = 0; i < a->member_count; i++) {
        assert_int_equal(a->members[i].actor, b->members[i].actor);
        assert_int_equal(a->members[i].stream, b->members[i].stream);
        assert_int_equal(a->members[i].weight, b->members[i].weight);
    }
}

static void assert_same(const struct engine_system *a, const struct engine_system *b)
{
    assert_same_actors(a, b);
    assert_same_channels(a, b);
    assert_same_paths(a, b);
    assert_int_equal(a->link_count, b->link_count);
    assert_memory_equal(a->link_capacities, b->link_capacities,
                        a->link_count * sizeof *a->link_capacities);
    assert_int_equal(a->transfer_count, b->transfer_count);
    for (uint32_t i = 0; i < a->transfer_count; i++) {
        assert_int_equal(a->transfers[i].latency_ns, b->transfers[i].latency_ns);
        assert_int_equal(a->transfers[i].bytes, b->transfers[i].bytes);
        assert_int_equal(a->transfers[i].path, b->transfers[i].path);
        assert_int_equal(a->transfers[i].share, b->transfers[i].share);
    }
}

/* Groups lie where those of the whole system do, and their all-reduces take as long: turns that
 * programs drop change no price. */
static void assert_same_outline(struct arena *arena, const struct step_job *job,
                                const struct step_system *system)
{
    const uint32_t gpus = (uint32_t)job->scenario->gpus;
    const struct step_system *outline = system_outline(arena, job, gpus);
    for (uint32_t kind = 0; kind < GROUP_KIND_COUNT_; kind++) {
        const struct group_shape *a = &system->jobs[0].groups[kind];
        const struct group_shape *b = &outline->jobs[0].groups[kind];
        assert_int_equal(a->ranks, b->ranks);
        assert_int_equal(a->nodes, b->nodes);
        assert_int_equal(a->hops_max, b->hops_max);
        struct transfer_quote of_a, of_b;
        if (a->ranks > 1 && !a->is_latency_only) {
            transfer_quote(&system->setting, a, COLLECTIVE_ALL_REDUCE, 1e9, &of_a);
            transfer_quote(&outline->setting, b, COLLECTIVE_ALL_REDUCE, 1e9, &of_b);
            assert_int_equal(of_a.algorithm, of_b.algorithm);
            assert_int_equal(of_a.phase_count, of_b.phase_count);
            assert_memory_equal(of_a.caps_bytes_per_s, of_b.caps_bytes_per_s,
                                of_a.phase_count * sizeof *of_a.caps_bytes_per_s);
        }
    }
}

static void assert_same_channel(const struct engine_system *whole, uint32_t of_whole,
                                const struct engine_system *part, uint32_t of_part)
{
    assert_int_equal(of_whole == ENGINE_NONE, of_part == ENGINE_NONE);
    if (of_whole == ENGINE_NONE) {
        return;
    }
    const struct engine_channel *a = &whole->channels[of_whole];
    const struct engine_channel *b = &part->channels[of_part];
    assert_int_equal(a->needed, b->needed);
    assert_int_equal(a->latency_ns, b->latency_ns);
    assert_int_equal(a->path_count, b->path_count);
    for (uint32_t i = 0; i < a->path_count; i++) {
        const struct engine_path *x = &whole->paths[a->path_first + i];
        const struct engine_path *y = &part->paths[b->path_first + i];
        assert_int_equal(x->cap_bytes_per_s, y->cap_bytes_per_s);
        assert_int_equal(x->crossing_count, y->crossing_count);
    }
}

static void assert_same_times(struct arena *arena, const struct step_job *job,
                              const struct step_options *options, const struct step_system *system)
{
    struct step_options for_times = *options;
    for_times.is_for_times = true;
    const struct step_system *part =
        system_build(arena, job, 1, (uint32_t)job->scenario->gpus, &for_times);
    const struct mesh *mesh = &system->jobs[0].mesh;
    for (uint32_t stage = 0; stage < mesh->pp; stage++) {
        const uint32_t rank = mesh_stage_rank(mesh, stage, 0);
        const uint32_t actor = system_actor_of(system, &system->jobs[0], rank);
        for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
            assert_same_channel(&system->engine, system->engine.actors[actor].channels[s],
                                &part->engine, part->engine.actors[actor].channels[s]);
        }
    }
}

static void compare(struct arena *arena, const struct scenario *scenario, bool writes,
                    struct tally *tally)
{
    const struct step_job job = {scenario, NULL, 1};
    const uint32_t gpus = (uint32_t)scenario->gpus;
    struct step_options options = {
        .checkpoint_bytes = writes ? 1e12 : 0, .flush_bytes = 1e11, .drain_bytes = 2e11};
    const struct step_system *full = system_build(arena, &job, 1, gpus, &options);
    options.folds = true;
    const struct step_system *part = system_build(arena, &job, 1, gpus, &options);
    assert_same_times(arena, &job, &options, part);
    const struct folded_system *of_full = fold_system(arena, &full->engine);
    const struct folded_system *of_part = fold_orbits(arena, &part->engine, part->orbits);
    assert_same(&of_full->engine, &of_part->engine);
    for (uint32_t rank = 0; rank < gpus; rank++) {
        assert_int_equal(of_full->actor_class[rank],
                         of_part->actor_class[system_actor_of(part, &part->jobs[0], rank)]);
    }
    const struct fabric_turns *turns = &part->turns;
    int64_t actors = 0;
    for (uint32_t i = 0; i < part->engine.actor_count; i++) {
        actors += part->engine.actors[i].multiplicity;
    }
    assert_int_equal(actors, full->engine.actor_count);
    if (!writes) {
        assert_same_outline(arena, &job, full);
    }
    tally->outer += fabric_turns_size(turns, TURN_OUTER) > 1;
    tally->middle += fabric_turns_size(turns, TURN_MIDDLE) > 1;
    tally->inner += fabric_turns_size(turns, TURN_INNER) > 1;
    tally->parted += fabric_turns_size(turns, TURN_OUTER) == 1 &&
                     turns->at[1].by < turns->at[1].around && turns->at[1].kinds->count > 1;
    tally->none += !fabric_turns_any(turns);
    bool has_kinds = false;
    for (uint32_t i = 0; i < TURN_LEVELS; i++) {
        const struct fabric_turn *turn = &turns->at[i];
        has_kinds = has_kinds || (turn->kinds != NULL && turn->kinds->count > 1 &&
                                  turn->kinds->count < turn->around / turn->by);
    }
    tally->kinds += has_kinds;
}

/* The setting of some slow GPUs: anywhere, a whole node, or the same ones of several nodes. */
static const char *random_slow(struct arena *arena, uint64_t gpus, uint64_t number)
{
    const uint64_t draw = rng_hash_pair(number, 0x736c6f77);
    const uint64_t count = (uint64_t[]){1, 2, 3, 8}[draw % 4];
    const uint64_t apart = (uint64_t[]){1, 8, 16, 4711}[draw / 4 % 4];
    const char *text = "slow=[";
    for (uint64_t i = 0; i < count && i < gpus; i++) {
        const uint64_t rank = (draw / 16 + i * apart) % gpus;
        const char *entry =
            arena_printf(arena, "{rank: %llu, speed: 0.%d}", (unsigned long long)rank,
                         draw / 8192 % 2 == 0 ? 9 : (int)(8 + i % 2));
        const char *key = arena_printf(arena, "{rank: %llu,", (unsigned long long)rank);
        text = strstr(text, key) != NULL
                   ? text
                   : arena_printf(arena, "%s%s%s", text, i > 0 ? ", " : "", entry);
    }
    return arena_printf(arena, "%s]", text);
}

/* Four times as many replicas; some with slow GPUs, some on two levels of leaves in pods. */
static const struct scenario *larger(struct arena *arena, uint64_t seed, uint64_t number)
{
    const char *text = random_scenario_text(arena, seed, number);
    const char *slow = strstr(text, "slow: [");
    if (slow != NULL) {
        text = arena_printf(arena, "%.*s%s", (int)(slow - text), text, strchr(slow, '\n'));
    }
    const struct scenario *one = random_scenario(arena, seed, number);
    const bool fills_nodes = 4 * one->gpus % one->cluster.gpus_per_node == 0;
    const long long many = fills_nodes && one->parallel.dp * one->gpus <= 2048 ? 4 : 1;
    const char *sets[6] = {
        arena_printf(arena, "gpus=%lld", many * (long long)one->gpus),
        arena_printf(arena, "parallel.dp=%lld", many * (long long)one->parallel.dp),
        arena_printf(arena, "batch.global=%lld", many * (long long)one->batch.global),
    };
    uint32_t count = 3;
    if (number % 5 > 1) {
        sets[count++] = random_slow(arena, (uint64_t)(many * one->gpus), number);
    }
    if (number % 3 == 0) {
        sets[count++] = arena_printf(arena, "cluster.fabric.leaves_per_pod=%d",
                                     (int[]){2, 3, 5}[number / 3 % 3]);
    }
    if (strstr(text, "zero_group:") != NULL &&
        (number % 2 == 0 || strstr(text, "zero_q") != NULL)) {
        sets[count++] = arena_printf(arena, "parallel.zero_group=%lld",
                                     many * (long long)one->parallel.zero_group);
    }
    return fixture_scenario(
        arena, &(struct fixture_source){.text = text, .sets = sets, .set_count = count});
}

static void the_first_of_orbits_fold_as_all_do(void **state)
{
    const struct family *family = *state;
    struct tally tally = {.none = 0};
    for (uint64_t i = family->first; i < family->first + family->count; i++) {
        struct arena *arena = arena_new();
        compare(arena, larger(arena, family->seed, i), i % 2 == 0, &tally);
        arena_free(arena);
    }
    print_message("seed %llu: %llu scenarios, replicas turned in %llu, in parts in %llu, tensor "
                  "ranks in %llu, nothing in %llu; of several kinds in %llu, across pods in %llu\n",
                  (unsigned long long)family->seed, (unsigned long long)family->count,
                  (unsigned long long)tally.outer, (unsigned long long)tally.middle,
                  (unsigned long long)tally.inner, (unsigned long long)tally.none,
                  (unsigned long long)tally.kinds, (unsigned long long)tally.parted);
    assert_true(family->count < 100 || tally.outer > family->count / 4);
    assert_true(family->count < 100 || tally.middle > family->count / 40);
    assert_true(family->count < 100 || tally.inner > family->count / 40);
    assert_true(family->count < 100 || tally.kinds > family->count / 10);
    assert_true(family->count < 100 || tally.parted > family->count / 50);
}

int main(int count, char **arguments)
{
    struct family family = {1, 0, share_of(400)};
    family.seed = count > 1 ? strtoull(arguments[1], NULL, 10) : family.seed;
    family.first = count > 2 ? strtoull(arguments[2], NULL, 10) : family.first;
    family.count = count > 3 ? strtoull(arguments[3], NULL, 10) : family.count;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(the_first_of_orbits_fold_as_all_do, &family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
