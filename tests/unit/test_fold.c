/* Folding channels with several paths: what must not be taken for the same, on systems of four
 * actors. Larger ones: tests/fuzz/test_folding*.c. */
#include "train/fold.h"

#include "base/arena.h"
#include "des/fluid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { COMPUTE, COMM, STREAMS, ACTORS = 4 };
enum { WORK, EXPOSED, WAIT, IDLE, CAUSES };

#define BYTES_PER_S 1000000000 /* 1 byte a nanosecond */

/* Every actor is alone in a channel of two paths and sends 100 bytes over the first, then 300 over
 * the second. Paths cross no link until a test says so. */
struct rig {
    struct arena *arena;
    struct engine_actor actors[ACTORS];
    struct engine_member members[ACTORS];
    struct engine_channel channels[ACTORS];
    struct engine_path paths[2 * ACTORS];
    struct engine_crossing crossings[2 * ACTORS];
    struct engine_system system;
    struct folded_system *folded;
    struct engine_outcome full_outcome, folded_outcome;
};

static const struct engine_transfer transfers[] = {{.bytes = 100, .next = 2},
                                                   {.bytes = 300, .path = 1}};
static const struct task comm[] = {{.kind = TASK_COLLECTIVE, .transfer = 0}};
static const struct task compute[] = {{.kind = TASK_COMPUTE,
                                       .cause = WORK,
                                       .wait_count = 1,
                                       .wait_stream = {COMM},
                                       .wait_ended = {1}}};
static const struct engine_block block = {.tasks = {compute, comm}, .counts = {1, 1}};
static const struct engine_block *const blocks[] = {&block};
static const uint32_t firsts[][ENGINE_STREAMS_MAX] = {{0}, {1, 1}};
static const struct engine_program program = {
    .blocks = blocks, .firsts = firsts, .block_count = 1, .counts = {1, 1}};
static const int64_t capacities[] = {BYTES_PER_S, BYTES_PER_S};

static void rig_init(struct rig *rig)
{
    *rig = (struct rig){.arena = arena_new()};
    for (uint32_t i = 0; i < ACTORS; i++) {
        rig->actors[i] = (struct engine_actor){
            .speed = ENGINE_FULL_SPEED, .multiplicity = 1, .channels = {ENGINE_NONE, i}};
        for (uint32_t s = STREAMS; s < ENGINE_STREAMS_MAX; s++) {
            rig->actors[i].channels[s] = ENGINE_NONE;
        }
        rig->members[i] = (struct engine_member){i, COMM, 1};
        rig->channels[i] = (struct engine_channel){.kind = CHANNEL_COLLECTIVE,
                                                   .needed = 1,
                                                   .member_first = i,
                                                   .member_count = 1,
                                                   .path_first = 2 * i,
                                                   .path_count = 2,
                                                   .multiplicity = 1};
        for (uint32_t k = 0; k < 2; k++) {
            rig->paths[2 * i + k] = (struct engine_path){.cap_bytes_per_s = BYTES_PER_S};
        }
    }
    rig->system = (struct engine_system){.programs = &program,
                                         .actors = rig->actors,
                                         .channels = rig->channels,
                                         .paths = rig->paths,
                                         .members = rig->members,
                                         .crossings = rig->crossings,
                                         .link_capacities = capacities,
                                         .transfers = transfers,
                                         .program_count = 1,
                                         .actor_count = ACTORS,
                                         .channel_count = ACTORS,
                                         .member_count = ACTORS,
                                         .link_count = 2,
                                         .path_count = 2 * ACTORS,
                                         .transfer_count = 2,
                                         .stream_count = STREAMS,
                                         .cause_count = CAUSES,
                                         .job_count = 1,
                                         .end_cause = IDLE};
    rig->system.streams[COMM] = (struct engine_stream){"comm", EXPOSED, WAIT, 0};
}

static void cross(struct rig *rig, uint32_t channel, uint32_t path, uint32_t link, uint64_t usage)
{
    const uint32_t number = rig->system.crossing_count++;
    rig->crossings[number] = (struct engine_crossing){link, usage};
    rig->paths[2 * channel + path].crossing_first = number;
    rig->paths[2 * channel + path].crossing_count = 1;
}

/* Runs the system and its quotient: all actors' times are the expected ones in both. */
static void check(struct rig *rig, uint32_t classes, const int64_t exposed_ns[ACTORS])
{
    rig->folded = fold_system(rig->arena, &rig->system);
    engine_run(rig->arena, &rig->system, NULL, &rig->full_outcome);
    engine_run(rig->arena, &rig->folded->engine, NULL, &rig->folded_outcome);
    assert_int_equal(rig->folded->engine.actor_count, classes);
    for (uint32_t i = 0; i < ACTORS; i++) {
        const uint32_t class = rig->folded->actor_class[i];
        assert_int_equal(rig->full_outcome.actor_causes[i][EXPOSED], exposed_ns[i]);
        assert_int_equal(rig->folded_outcome.actor_causes[class][EXPOSED], exposed_ns[i]);
    }
    assert_int_equal(rig->full_outcome.jobs[0].end, rig->folded_outcome.jobs[0].end);
    for (uint32_t c = 0; c < CAUSES; c++) {
        assert_int_equal(rig->full_outcome.jobs[0].total_causes[c],
                         rig->folded_outcome.jobs[0].total_causes[c]);
    }
    arena_free(rig->arena);
}

/* 100 + 300 for all: one class. */
static void equal_channels_are_one_class(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    check(&rig, 1, (const int64_t[]){400, 400, 400, 400});
}

/* Routes of their own that collide with themselves: the last two second paths reach half, and cross
 * nothing that could be tight. 100 + 600. */
static void another_cap_is_another_class(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    for (uint32_t i = 2; i < ACTORS; i++) {
        rig.paths[2 * i + 1].cap_bytes_per_s = BYTES_PER_S / 2;
    }
    check(&rig, 2, (const int64_t[]){400, 400, 700, 700});
}

/* The first two share link 0 with their first path, the others link 1 with their second: links of
 * one capacity, two flows on each. 200 + 300 and 100 + 600. */
static void the_same_links_on_another_path_are_another_class(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    for (uint32_t i = 0; i < ACTORS; i++) {
        cross(&rig, i, i / 2, i / 2, FLUID_USAGE_ONE);
    }
    check(&rig, 2, (const int64_t[]){500, 500, 700, 700});
}

/* Two pairs on a link each, with their second paths: 100 + 600 for all four, one class of four
 * actors on one link that carries two. */
static void pairs_on_links_of_their_own_are_one_class(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    for (uint32_t i = 0; i < ACTORS; i++) {
        cross(&rig, i, 1, i / 2, FLUID_USAGE_ONE);
    }
    check(&rig, 1, (const int64_t[]){700, 700, 700, 700});
}

/* All four over link 0 with both paths: four of them at a quarter, 400 + 1,200. What the class uses
 * of the link is that of one path at a time, not of both. */
static void usage_is_that_of_the_path_under_way(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    for (uint32_t i = 0; i < ACTORS; i++) {
        cross(&rig, i, 0, 0, FLUID_USAGE_ONE);
        cross(&rig, i, 1, 0, FLUID_USAGE_ONE);
    }
    check(&rig, 1, (const int64_t[]){1600, 1600, 1600, 1600});
}

/* Two links, and channels of two kinds: first over their own link, then over the other. Every link
 * may be asked for 4 GB/s and carries 3, so it can be tight. Channels 1 and 3 are 0 and 2 with the
 * links exchanged: of each pair the first stands for both, and of the links the first; what a
 * channel puts on both links in turn must count as two on that one. */
static void two_links_of_an_orbit_are_two_demands(void **state)
{
    (void)state;
    static const int64_t wide[] = {3 * (int64_t)BYTES_PER_S, 3 * (int64_t)BYTES_PER_S};
    static const struct fold_crossing crossings[] = {{FLUID_USAGE_ONE, 1, 0},
                                                     {FLUID_USAGE_ONE, 1, 1},
                                                     {FLUID_USAGE_ONE, 1, 0},
                                                     {FLUID_USAGE_ONE, 1, 1}};
    static const int64_t sizes[] = {2};
    const struct fold_orbits orbits = {crossings, sizes, 2};
    struct rig full, part;
    rig_init(&full);
    rig_init(&part);
    full.system.link_capacities = part.system.link_capacities = wide;
    for (uint32_t i = 0; i < ACTORS; i++) {
        cross(&full, i, 0, i % 2, FLUID_USAGE_ONE);
        cross(&full, i, 1, 1 - i % 2, FLUID_USAGE_ONE);
    }
    part.system.actor_count = part.system.channel_count = part.system.member_count = ACTORS / 2;
    part.system.path_count = ACTORS;
    part.system.link_count = 1;
    for (uint32_t i = 0; i < ACTORS / 2; i++) {
        part.actors[i].multiplicity = part.channels[i].multiplicity = 2;
        cross(&part, i, 0, 0, FLUID_USAGE_ONE);
        cross(&part, i, 1, 0, FLUID_USAGE_ONE);
    }
    const struct engine_system *of_full = &fold_system(full.arena, &full.system)->engine;
    const struct engine_system *of_part = &fold_orbits(part.arena, &part.system, &orbits)->engine;
    assert_int_equal(of_full->link_count, 1);
    assert_int_equal(of_part->link_count, 1);
    assert_int_equal(of_full->actor_count, 1);
    assert_int_equal(of_part->actor_count, 1);
    assert_int_equal(of_part->actors[0].multiplicity, ACTORS);
    assert_int_equal(of_full->crossing_count, 2);
    assert_int_equal(of_part->crossing_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(of_full->crossings[i].usage, 2 * (uint64_t)FLUID_USAGE_ONE);
        assert_int_equal(of_part->crossings[i].usage, 2 * (uint64_t)FLUID_USAGE_ONE);
    }
    arena_free(full.arena);
    arena_free(part.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_channels_are_one_class),
        cmocka_unit_test(two_links_of_an_orbit_are_two_demands),
        cmocka_unit_test(another_cap_is_another_class),
        cmocka_unit_test(the_same_links_on_another_path_are_another_class),
        cmocka_unit_test(pairs_on_links_of_their_own_are_one_class),
        cmocka_unit_test(usage_is_that_of_the_path_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
