/* What an actor does by itself takes one event, and ends as if each task were simulated. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "des/engine.h"
#include "des/engine_known.h"
#include "support/blocks.h"
#include "support/records.h"
#include "support/share.h"

enum { COMPUTE, INNER, OTHER, DELAY, LATE, STREAMS };
enum { WORK, LAUNCH, INTERFERENCE, EXPOSED_INNER, EXPOSED_OTHER, IDLE, CAUSES };
enum { TASKS_MAX = 512, ACTORS_MAX = 3, TRANSFERS = 8, PROGRAMS = 6000 };
enum { BYTES_PER_S = 1000000000 }; /* a byte takes one nanosecond */

/* Actors, each with channels of its own on INNER, OTHER and DELAY. A task beside one of INNER runs
 * at three quarters of its rate, beside one of OTHER at half. */
struct rig {
    struct arena *arena;
    struct engine_block block; /* of which the program consists */
    struct engine_program program;
    struct task tasks[STREAMS][TASKS_MAX];
    struct engine_actor actors[ACTORS_MAX];
    uint32_t classes[ACTORS_MAX];
    struct engine_member members[ACTORS_MAX * (STREAMS + 1)];
    struct engine_channel channels[ACTORS_MAX * STREAMS];
    struct engine_path paths[ACTORS_MAX * STREAMS];
    struct engine_transfer transfers[TRANSFERS];
    uint32_t grain; /* of random times, ns: if it is coarse, much ends in one instant */
    struct engine_system system;
};

static void rig_init(struct rig *rig, struct arena *arena)
{
    *rig = (struct rig){.arena = arena};
    rig->actors[0] = (struct engine_actor){
        .speed = ENGINE_FULL_SPEED, .multiplicity = 1, .channels = {ENGINE_NONE}};
    for (uint32_t s = INNER; s < STREAMS; s++) {
        const uint32_t number = s - INNER;
        rig->actors[0].channels[s] = number;
        rig->members[number] = (struct engine_member){0, s, 1};
        rig->channels[number] = (struct engine_channel){.kind = CHANNEL_COLLECTIVE,
                                                        .needed = 1,
                                                        .member_first = number,
                                                        .member_count = 1,
                                                        .path_first = number,
                                                        .path_count = 1,
                                                        .multiplicity = 1};
        rig->paths[number] = (struct engine_path){.cap_bytes_per_s = BYTES_PER_S};
    }
    for (uint32_t s = 0; s < STREAMS; s++) {
        rig->block.tasks[s] = rig->tasks[s];
    }
    rig->system = (struct engine_system){.programs = &rig->program,
                                         .actors = rig->actors,
                                         .channels = rig->channels,
                                         .paths = rig->paths,
                                         .members = rig->members,
                                         .transfers = rig->transfers,
                                         .program_count = 1,
                                         .actor_count = 1,
                                         .channel_count = STREAMS - 1,
                                         .member_count = STREAMS - 1,
                                         .path_count = STREAMS - 1,
                                         .transfer_count = TRANSFERS,
                                         .job_count = 1,
                                         .stream_count = STREAMS,
                                         .cause_count = CAUSES,
                                         .launch_cause = LAUNCH,
                                         .interference_cause = INTERFERENCE,
                                         .end_cause = IDLE};
    rig->system.streams[INNER] = (struct engine_stream){"inner", EXPOSED_INNER, IDLE, 250000};
    rig->system.streams[OTHER] = (struct engine_stream){"other", EXPOSED_OTHER, IDLE, 500000};
    rig->system.streams[DELAY] = (struct engine_stream){"delay", EXPOSED_OTHER, IDLE, 0};
    rig->system.streams[LATE] = (struct engine_stream){"late", EXPOSED_OTHER, IDLE, 100000};
}

static struct task *add(struct rig *rig, uint32_t stream, struct task task)
{
    struct task *added = &rig->tasks[stream][rig->block.counts[stream]++];
    assert_true(rig->block.counts[stream] <= TASKS_MAX);
    *added = task;
    return added;
}

static void wait_for(struct task *task, uint8_t stream, uint32_t ended)
{
    task->wait_stream[task->wait_count] = stream;
    task->wait_ended[task->wait_count++] = (int32_t)ended;
}

static struct task *add_work(struct rig *rig, int64_t ns)
{
    return add(rig, COMPUTE, (struct task){.kind = TASK_COMPUTE, .cause = WORK, .work_ns = ns});
}

static struct task *add_meeting(struct rig *rig, uint32_t stream, uint32_t transfer)
{
    return add(rig, stream, (struct task){.kind = TASK_COLLECTIVE, .transfer = transfer});
}

static struct engine_outcome run(struct rig *rig)
{
    struct engine_outcome outcome;
    const uint32_t step_tasks = rig->program.step_tasks;
    rig->program = engine_program_of_one(rig->arena, &rig->block);
    rig->program.step_tasks = step_tasks;
    engine_run(rig->arena, &rig->system, NULL, &outcome);
    return outcome;
}

/* Five tasks of 10, and between them transfers of 3 + 5: 5 x 10 + 4 x 8 = 82, in one event. */
static void layers_with_collectives_between_them_are_one_event(void **state)
{
    struct rig rig;
    rig_init(&rig, *state);
    rig.transfers[0] = (struct engine_transfer){.latency_ns = 3, .bytes = 5};
    add_work(&rig, 10)->launch_ns = 4;
    for (uint32_t i = 1; i < 5; i++) {
        wait_for(add_meeting(&rig, INNER, 0), COMPUTE, i);
        struct task *next = add_work(&rig, 10);
        next->launch_ns = 1;
        wait_for(next, INNER, i);
    }
    const struct engine_outcome outcome = run(&rig);
    assert_int_equal(outcome.jobs[0].end, 82);
    assert_int_equal(outcome.events, 1);
    assert_int_equal(outcome.tasks, 9);
    assert_int_equal(outcome.actor_causes[0][WORK], 50 - 8);
    assert_int_equal(outcome.actor_causes[0][LAUNCH], 8);
    assert_int_equal(outcome.actor_causes[0][EXPOSED_INNER], 32);
    assert_int_equal(outcome.traffic[0].transfers, 4);
    assert_int_equal(outcome.traffic[0].moving_ns, 32);
    assert_int_equal(outcome.traffic[0].alone_ns, 32);
}

/* 10, then 100 with a collective beside it, then 10.
 * Of 40: 40 at three quarters do 30, 70 are left: 110, 10 of them interference; 130 in all.
 * Of 200: 100 / 0.75 = 134 rounded up, 34 of them interference; 66 exposed; 220 in all. */
static void a_collective_beside_a_task_slows_it_or_is_exposed(void **state)
{
    struct rig rig;
    rig_init(&rig, *state);
    add_work(&rig, 10);
    add_work(&rig, 100);
    wait_for(add_meeting(&rig, INNER, 0), COMPUTE, 1);
    wait_for(add_work(&rig, 10), INNER, 1);
    const struct {
        int64_t bytes, end, interference, exposed;
    } rows[] = {{40, 130, 10, 0}, {200, 220, 34, 66}};
    for (uint32_t i = 0; i < 2; i++) {
        rig.transfers[0].bytes = rows[i].bytes;
        const struct engine_outcome outcome = run(&rig);
        assert_int_equal(outcome.jobs[0].end, rows[i].end);
        assert_int_equal(outcome.events, 1);
        assert_int_equal(outcome.actor_causes[0][WORK], 120);
        assert_int_equal(outcome.actor_causes[0][INTERFERENCE], rows[i].interference);
        assert_int_equal(outcome.actor_causes[0][EXPOSED_INNER], rows[i].exposed);
    }
}

/* Tasks of 10. A transfer of INNER between the first two, from 10 to 30, and one of OTHER for which
 * the third task waits, and which begins at 10, too, not with the second task.
 * Of 15, it has ended at 25: the second task runs from 30 to 40, the third to 50.
 * Of 25, it ends at 35: from 30 on 5 at half the rate do 2.5, 7.5 are left: 43 rounded up, 53. */
static void what_begins_before_its_task_is_not_beside_it(void **state)
{
    const struct {
        int64_t bytes, end, interference;
    } rows[] = {{15, 50, 0}, {25, 53, 3}};
    for (uint32_t i = 0; i < 2; i++) {
        struct rig rig;
        rig_init(&rig, *state);
        rig.transfers[0].bytes = 20;
        rig.transfers[1].bytes = rows[i].bytes;
        add_work(&rig, 10);
        wait_for(add_meeting(&rig, INNER, 0), COMPUTE, 1);
        wait_for(add_meeting(&rig, OTHER, 1), COMPUTE, 1);
        wait_for(add_work(&rig, 10), INNER, 1);
        wait_for(add_work(&rig, 10), OTHER, 1);
        const struct engine_outcome outcome = run(&rig);
        assert_int_equal(outcome.jobs[0].end, rows[i].end);
        assert_int_equal(outcome.actor_causes[0][INTERFERENCE], rows[i].interference);
        assert_int_equal(outcome.actor_causes[0][EXPOSED_INNER], 20);
        assert_int_equal(outcome.actor_causes[0][EXPOSED_OTHER], 0);
    }
}

/* Two tasks of 100 and a collective of 50 between them: 250. Another stream disturbs from 60 on for
 * 20: half of that is lost, 260; or for 60, of which 40 fall into the first task, which loses as
 * much as it then takes longer (40 are left at half the rate: 80, until 140, but from 120 on it is
 * alone: 30 done, 10 left, until 130), 280. */
static void a_stretch_that_is_disturbed_ends_later(void **state)
{
    const struct {
        int64_t bytes, end, interference;
    } rows[] = {{20, 260, 10}, {60, 280, 30}};
    for (uint32_t i = 0; i < 2; i++) {
        struct rig rig;
        rig_init(&rig, *state);
        rig.transfers[0].bytes = 50;
        rig.transfers[1].bytes = 60;
        rig.transfers[2].bytes = rows[i].bytes;
        add_work(&rig, 100);
        wait_for(add_meeting(&rig, INNER, 0), COMPUTE, 1);
        wait_for(add_work(&rig, 100), INNER, 1);
        add_meeting(&rig, DELAY, 1);
        wait_for(add_meeting(&rig, OTHER, 2), DELAY, 1);
        const struct engine_outcome outcome = run(&rig);
        assert_int_equal(outcome.jobs[0].end, rows[i].end);
        assert_int_equal(outcome.actor_causes[0][INTERFERENCE], rows[i].interference);
        assert_int_equal(outcome.actor_causes[0][EXPOSED_INNER], 50);
        assert_int_equal(outcome.events, 5); /* the delay, both ends of what disturbs, the stretch:
                                                its first two ends are stale */
    }
}

/* Layers of 100, a collective of 20, and 100, each with a transfer beside it that takes half the
 * rate and for which the next layer waits: 420, if that transfer is as long or ends a nanosecond
 * before, in which half of one would be done. What is on the path is of a layer's own stream, of
 * its own collective, and of its own transfer's end, though the next layer takes as long. */
static void layers_that_take_as_long_are_not_taken_for_one_another(void **state)
{
    enum { LAYERS = 4 };
    const struct {
        uint8_t streams[LAYERS], inner[LAYERS];
        int64_t beside[LAYERS];
    } rows[] = {{{OTHER, OTHER, OTHER, OTHER}, {0, 0, 0, 0}, {420, 420, 420, 420}},
                {{OTHER, OTHER, LATE, LATE}, {0, 0, 0, 0}, {420, 420, 420, 420}},
                {{OTHER, OTHER, OTHER, OTHER}, {0, 1, 1, 1}, {420, 420, 420, 420}},
                {{OTHER, OTHER, OTHER, OTHER}, {0, 0, 0, 0}, {419, 419, 420, 420}}};
    for (uint32_t i = 0; i < 4; i++) {
        struct rig rig;
        rig_init(&rig, *state);
        rig.system.streams[LATE].interference = 500000;
        rig.transfers[0].bytes = 20;
        rig.transfers[1].latency_ns = 20;
        for (uint32_t k = 0; k < LAYERS; k++) {
            const uint8_t stream = rows[i].streams[k];
            rig.transfers[2 + k].bytes = rows[i].beside[k];
            wait_for(add_meeting(&rig, stream, 2 + k), COMPUTE, 2 * k);
            struct task *first = add_work(&rig, 100);
            if (k > 0) {
                const uint8_t before = rows[i].streams[k - 1];
                wait_for(first, before, rig.block.counts[before] - (before == stream));
            }
            wait_for(add_meeting(&rig, INNER, rows[i].inner[k]), COMPUTE, 2 * k + 1);
            wait_for(add_work(&rig, 100), INNER, k + 1);
        }
        const struct engine_outcome outcome = run(&rig);
        assert_int_equal(outcome.jobs[0].end, 420 * LAYERS);
        struct records_tally tally = {0};
        records_compare(&rig.system, &(struct engine_options){.on_task = NULL}, &tally);
        assert_int_equal(tally.legs, 3 * LAYERS);
        assert_int_equal(tally.visited, i < 3 ? LAYERS : LAYERS + 4);
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Works 10, 10, 10, of which the first two lie in one block. The second waits for a transfer of 8
 * that lies in the next block, and follows the first: 10 + 8 + 10 + 10 = 38. */
static void who_waits_for_a_later_block_is_simulated(void **state)
{
    struct rig rig;
    rig_init(&rig, *state);
    rig.transfers[0].bytes = 8;
    add_work(&rig, 10);
    wait_for(add_work(&rig, 10), INNER, 1);
    wait_for(add_meeting(&rig, INNER, 0), COMPUTE, 0);
    rig.tasks[INNER][0].wait_ended[0] = -1; /* all before its block but one */
    const struct engine_block first = {.tasks = {rig.tasks[COMPUTE]}, .counts = {2}};
    const struct task last = {.kind = TASK_COMPUTE, .cause = WORK, .work_ns = 10};
    const struct engine_block second = {.tasks = {&last, rig.tasks[INNER]}, .counts = {1, 1}};
    const struct engine_block *const row[] = {&first, &second};
    rig.program = engine_program_of(rig.arena, row, 2);
    struct engine_outcome outcome;
    engine_run(rig.arena, &rig.system, NULL, &outcome);
    assert_int_equal(outcome.jobs[0].end, 38);
    assert_int_equal(outcome.actor_causes[0][WORK], 30);
    assert_int_equal(outcome.actor_causes[0][EXPOSED_INNER], 8);
    assert_int_equal(outcome.traffic[0].transfers, 1);
}

/* 40 times a block of work for 10, for which nobody waits four delays of 10 and one of 30 lie: 70.
 * So while stream 0 goes through a block, the delays come on by one, and state after state is the
 * same though they lie in blocks long gone. Four of five come again, the fifth does not: 2,800 in
 * all, of which stream 0 works 400. */
static void a_stream_that_falls_behind_is_seen_task_by_task(void **state)
{
    enum { BLOCKS = 40 };
    struct rig rig;
    rig_init(&rig, *state);
    rig.transfers[0].latency_ns = 10;
    rig.transfers[1].latency_ns = 30;
    add_work(&rig, 10);
    for (uint32_t i = 0; i < 5; i++) {
        add_meeting(&rig, DELAY, i < 4 ? 0 : 1);
    }
    const struct engine_block *row[BLOCKS];
    for (uint32_t b = 0; b < BLOCKS; b++) {
        row[b] = &rig.block;
    }
    rig.program = engine_program_of(rig.arena, row, BLOCKS);
    struct engine_outcome outcome;
    engine_run(rig.arena, &rig.system, NULL, &outcome);
    assert_int_equal(outcome.jobs[0].end, 2800);
    assert_int_equal(outcome.actor_causes[0][WORK], 400);
    assert_int_equal(outcome.traffic[DELAY - 1].moving_ns, 2800);
    assert_int_equal(outcome.tasks, 6 * BLOCKS);
    assert_true(outcome.tasks_repeated > 0);
}

/* 40 blocks of work for 10 and a delay of 10, but that the first delay is 50, so that delays lie
 * four blocks back from then on; and block 8, whose work has 5 of launch in it, delays for 30. When
 * stream 0 is past that block, what lies ahead of it is all the same; of the delays it is not:
 * 50 + 30 + 38 x 10 = 460. */
static void blocks_are_alike_from_the_stream_that_is_furthest_back(void **state)
{
    enum { BLOCKS = 40 };
    struct rig rig;
    rig_init(&rig, *state);
    const uint32_t delays_ns[] = {10, 50, 30};
    struct engine_block blocks[3];
    const struct engine_block *row[BLOCKS];
    for (uint32_t i = 0; i < 3; i++) {
        rig.transfers[i].latency_ns = delays_ns[i];
        add_work(&rig, 10)->launch_ns = i == 2 ? 5 : 0;
        add_meeting(&rig, DELAY, i);
        blocks[i] = (struct engine_block){.counts = {[COMPUTE] = 1, [DELAY] = 1}};
        blocks[i].tasks[COMPUTE] = &rig.tasks[COMPUTE][i];
        blocks[i].tasks[DELAY] = &rig.tasks[DELAY][i];
    }
    for (uint32_t b = 0; b < BLOCKS; b++) {
        row[b] = &blocks[b == 0 ? 1 : b == 8 ? 2 : 0];
    }
    rig.program = engine_program_of(rig.arena, row, BLOCKS);
    struct engine_outcome outcome;
    engine_run(rig.arena, &rig.system, NULL, &outcome);
    assert_int_equal(outcome.jobs[0].end, 460);
    assert_int_equal(outcome.actor_causes[0][WORK], 395);
    assert_int_equal(outcome.actor_causes[0][LAUNCH], 5);
    assert_int_equal(outcome.traffic[DELAY - 1].moving_ns, 460);
    assert_int_equal(outcome.tasks, 2 * BLOCKS);
    assert_true(outcome.tasks_repeated > 0);
}

/* 39 blocks of a delay of 10, for which nothing waits, and work for 10 that waits for it; before
 * the last six another delay of 10. Stream 0 works from 10 to 20, to 30, and so on: whenever it is
 * looked at, its next wait is over, but not that of the 34th block, which is for a delay more than
 * a cycle before, in the same block. It waits 10 more: 10 + 33 x 10 + 10 + 6 x 10 = 410. */
static void a_block_that_waits_for_more_than_before_is_not_alike(void **state)
{
    enum { BLOCKS = 40, ALONE = 33 };
    struct rig rig;
    rig_init(&rig, *state);
    rig.transfers[0].latency_ns = 10;
    add_meeting(&rig, DELAY, 0);
    wait_for(add_work(&rig, 10), DELAY, 1);
    struct engine_block alone = rig.block;
    alone.counts[COMPUTE] = 0;
    const struct engine_block *row[BLOCKS];
    for (uint32_t b = 0; b < BLOCKS; b++) {
        row[b] = b == ALONE ? &alone : &rig.block;
    }
    rig.program = engine_program_of(rig.arena, row, BLOCKS);
    struct engine_outcome outcome;
    engine_run(rig.arena, &rig.system, NULL, &outcome);
    assert_int_equal(outcome.jobs[0].end, 410);
    assert_int_equal(outcome.actor_causes[0][WORK], 390);
    assert_int_equal(outcome.actor_causes[0][EXPOSED_OTHER], 20);
    assert_int_equal(outcome.traffic[DELAY - 1].moving_ns, 400);
    assert_int_equal(outcome.tasks, 2 * BLOCKS - 1);
    assert_true(outcome.tasks_repeated > 0);
}

/* ---- as simulated task by task -------------------------------------------------------------- */

static uint32_t draw(struct rng_key *key, uint32_t below)
{
    key->operation++;
    return (uint32_t)(rng_uniform(key) * (double)below);
}

static uint32_t draw_ns(const struct rig *rig, struct rng_key *key, uint32_t below)
{
    return draw(key, below) / rig->grain * rig->grain;
}

static void draw_transfers(struct rig *rig, struct rng_key *key)
{
    for (uint32_t i = 0; i < TRANSFERS; i++) {
        rig->transfers[i] = (struct engine_transfer){.latency_ns = draw_ns(rig, key, 20),
                                                     .bytes = draw_ns(rig, key, 60),
                                                     .next = i > 0 && draw(key, 4) == 0 ? i : 0};
    }
}

/* A task of work, with a collective of INNER or OTHER before it, or beside the one before, at times
 * one that is queued behind others, or for which somebody else waits, too. */
static void draw_task(struct rig *rig, struct rng_key *key)
{
    const uint32_t number = rig->block.counts[COMPUTE];
    const uint32_t stream = draw(key, 12) == 0 ? OTHER : INNER;
    const uint32_t met = rig->block.counts[stream];
    struct task *task = add_work(rig, draw(key, 8) == 0 ? 0 : rig->grain + draw_ns(rig, key, 90));
    task->launch_ns = (uint32_t)task->work_ns / 3;
    const uint32_t kind = draw(key, 6);
    const uint32_t back = kind == 2 ? 1 : draw(key, 8) == 0 ? 3 : 0;
    if (kind < 3) {
        wait_for(add_meeting(rig, stream, draw(key, TRANSFERS)), COMPUTE,
                 number > back ? number - back : 0);
        wait_for(task, (uint8_t)stream, met + 1);
    } else if (kind == 3 && met > 0) {
        wait_for(task, (uint8_t)stream, met);
    }
}

/* What goes on beside it. */
static void draw_others(struct rig *rig, struct rng_key *key)
{
    if (draw(key, 9) == 0) {
        wait_for(add_meeting(rig, OTHER, draw(key, TRANSFERS)), COMPUTE,
                 rig->block.counts[COMPUTE]);
    }
    if (draw(key, 3) == 0) {
        struct task *delay = add_meeting(rig, DELAY, draw(key, TRANSFERS));
        if (draw(key, 12) == 0) {
            wait_for(delay, INNER, rig->block.counts[INNER]);
        }
        wait_for(add_meeting(rig, OTHER, draw(key, TRANSFERS)), DELAY, rig->block.counts[DELAY]);
    }
}

/* The same tasks again and again; and one that waits for one of them, somewhere. */
static void draw_program(struct rig *rig, struct rng_key *key, uint32_t cycles)
{
    rig->grain = draw(key, 2) == 0 ? 1 : 12;
    draw_transfers(rig, key);
    const struct rng_key first = *key;
    for (uint32_t cycle = 0; cycle < cycles; cycle++) {
        *key = first;
        for (uint32_t i = 0; i < 14; i++) {
            draw_task(rig, key);
            draw_others(rig, key);
        }
    }
    wait_for(add_meeting(rig, LATE, draw(key, TRANSFERS)), COMPUTE,
             draw(key, rig->block.counts[COMPUTE]));
    rig->actors[0].speed = draw(key, 3) == 0 ? 700001 : ENGINE_FULL_SPEED;
    rig->program.step_tasks = cycles == 1 && draw(key, 4) == 0 ? 7 : 0;
}

/* Others do the same, of classes of their own or not, and perhaps at other speeds: they meet in
 * INNER; on other streams each is by itself. */
static void add_twins(struct rig *rig, uint32_t count, const uint32_t *speeds)
{
    const uint32_t own = STREAMS - OTHER; /* channels of each, and one more for all */
    const uint32_t tail = STREAMS - 1 + count * own;
    rig->members[tail] = (struct engine_member){0, INNER, 1};
    rig->channels[0].needed = 1 + count;
    rig->channels[0].member_count = 1 + count;
    rig->channels[0].member_first = tail;
    for (uint32_t i = 1; i <= count; i++) {
        rig->members[tail + i] = (struct engine_member){i, INNER, 1};
        rig->actors[i] = rig->actors[0];
        for (uint32_t s = OTHER; s < STREAMS; s++) {
            const uint32_t number = STREAMS - 1 + (i - 1) * own + s - OTHER;
            rig->channels[number] = rig->channels[s - INNER];
            rig->channels[number].member_first = number;
            rig->channels[number].path_first = number;
            rig->paths[number] = rig->paths[0];
            rig->members[number] = (struct engine_member){i, s, 1};
            rig->actors[i].channels[s] = number;
        }
        if (speeds != NULL) {
            rig->actors[i].speed = speeds[i - 1];
            rig->classes[i] = i;
        }
    }
    rig->system.classes = rig->classes;
    rig->system.actor_count = 1 + count;
    rig->system.channel_count = rig->system.path_count = tail;
    rig->system.member_count = tail + 1 + count;
}

/* Two that are not of its class, of three speeds at most. */
static void add_others(struct rig *rig, struct rng_key *key)
{
    static const uint32_t choice[] = {ENGINE_FULL_SPEED, 700001, 911111};
    const uint32_t speeds[] = {choice[draw(key, 3)], choice[draw(key, 3)]};
    add_twins(rig, 2, speeds);
    rig->channels[0].latency_ns = draw_ns(rig, key, 20);
}

/* A second actor does the same at another speed, in a job of its own: they never meet. */
static void add_stranger(struct rig *rig)
{
    rig->actors[1] = rig->actors[0];
    rig->actors[1].job = 1;
    rig->actors[1].speed = 900007;
    for (uint32_t s = INNER; s < STREAMS; s++) {
        const uint32_t number = STREAMS - 1 + s - INNER;
        rig->channels[number] = rig->channels[s - INNER];
        rig->channels[number].member_first = number;
        rig->channels[number].path_first = number;
        rig->paths[number] = rig->paths[0];
        rig->members[number] = (struct engine_member){1, s, 1};
        rig->actors[1].channels[s] = number;
    }
    rig->system.job_count = 2;
    rig->system.actor_count = 2;
    rig->system.channel_count = rig->system.path_count = 2 * (STREAMS - 1);
    rig->system.member_count = 2 * (STREAMS - 1);
}

/* What all of them did. */
struct tally {
    uint64_t events, events_each, tasks, tasks_repeated, blocks_repeated;
    uint64_t together, together_each; /* of these events, of those who are not of one class */
    uint64_t known;                   /* runs whose programs were known */
    struct records_tally records;
};

static void assert_same(const struct rig *rig, const struct engine_outcome *fast,
                        const struct engine_outcome *each)
{
    assert_memory_equal(fast->jobs, each->jobs, rig->system.job_count * sizeof *fast->jobs);
    assert_memory_equal(fast->actor_causes, each->actor_causes,
                        rig->system.actor_count * sizeof *fast->actor_causes);
    assert_memory_equal(fast->traffic, each->traffic,
                        rig->system.channel_count * sizeof *fast->traffic);
    assert_int_equal(fast->tasks, each->tasks);
}

/* The same tasks in blocks, which end anywhere, but where steps do. */
static struct engine_outcome run_cut(struct rig *rig, struct rng_key *key)
{
    enum { CUTS = 6 };
    uint32_t cuts[CUTS][ENGINE_STREAMS_MAX] = {{0}};
    const uint32_t step_tasks = rig->program.step_tasks;
    const uint32_t count =
        step_tasks != 0 ? rig->program.counts[COMPUTE] / step_tasks : 1 + draw(key, CUTS);
    for (uint32_t s = 0; s < STREAMS; s++) {
        const uint32_t tasks = rig->program.counts[s];
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t least = i > 0 ? cuts[i - 1][s] : 0;
            cuts[i][s] = i + 1 == count ? tasks
                         : step_tasks != 0 && s == COMPUTE
                             ? (i + 1) * step_tasks
                             : least + draw(key, (tasks - least) / 2 + 1);
        }
    }
    rig->program = blocks_cut(rig->arena, &rig->program, cuts, count);
    struct engine_outcome outcome;
    engine_run(rig->arena, &rig->system, NULL, &outcome);
    return outcome;
}

/* Folds what it hears into a number, in whatever order it comes. */
static void hear(void *context, uint32_t actor, uint32_t stream, uint32_t index, sim_time start,
                 sim_time end)
{
    const uint64_t words[] = {actor, stream, index, (uint64_t)start, (uint64_t)end};
    uint64_t hash = 0;
    for (uint32_t i = 0; i < sizeof words / sizeof *words; i++) {
        hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    *(uint64_t *)context += hash;
}

/* What comes again written once. Who watches sees the same tasks. */
static void compare_shared(struct rig *rig, struct rng_key *key, const struct engine_outcome *each,
                           struct tally *tally)
{
    static const uint32_t masks[] = {1u << INNER, 1u << OTHER, 1u << INNER | 1u << OTHER};
    uint64_t heard[2] = {0, 0};
    struct engine_options options = {.on_task = hear, .context = &heard[0]};
    struct engine_outcome outcome;
    engine_run(rig->arena, &rig->system, &options, &outcome);
    rig->program = *blocks_shared(rig->arena, &rig->program, 1, masks[draw(key, 3)]);
    options.context = &heard[1];
    engine_run(rig->arena, &rig->system, &options, &outcome);
    assert_true(heard[0] == heard[1]);
    engine_run(rig->arena, &rig->system, NULL, &outcome);
    assert_same(rig, &outcome, each);
    records_compare(&rig->system, &(struct engine_options){.on_task = NULL}, &tally->records);
    tally->blocks_repeated += outcome.tasks_repeated;
}

/* The same programs, with transfers that take longer and slower actors each time: where stretches
 * begin and end is known from the run before, if it is kept; all else is another. */
static void compare_known(struct rig *rig, bool is_kept, struct tally *tally)
{
    const struct engine_options slow = {.each_task = true, .each_cycle = true};
    struct engine_known *known = engine_known_new(is_kept ? 1 << 20 : 1);
    rig->program.known_as = 1;
    rig->system.known = known;
    for (uint32_t i = 0; i < 3; i++) {
        struct engine_outcome fast, each;
        engine_known_trim(known);
        engine_run(rig->arena, &rig->system, NULL, &fast);
        engine_known_trim(known);
        engine_run(rig->arena, &rig->system, &slow, &each);
        assert_same(rig, &fast, &each);
        for (uint32_t k = 0; k < TRANSFERS; k++) {
            rig->transfers[k].bytes += rig->transfers[k].bytes * (k + 1) / 4;
        }
        for (uint32_t k = 0; k < rig->system.actor_count; k++) {
            rig->actors[k].speed = rig->actors[k].speed / 8 * 7;
        }
    }
    assert_true(is_kept || engine_known_count(known).found == 0);
    records_compare(&rig->system, &(struct engine_options){.on_task = NULL}, &tally->records);
    tally->known += engine_known_count(known).found;
    rig->system.known = NULL;
    engine_known_free(known);
}

static void compare(uint32_t number, uint32_t cycles, struct tally *tally)
{
    struct arena *arena = arena_new();
    struct rng_key key = {.seed = cycles, .stream = rng_stream("stretches"), .rank = number};
    struct rig *rig = arena_alloc(arena, sizeof *rig);
    rig_init(rig, arena);
    draw_program(rig, &key, cycles);
    if (number % 4 == 0) {
        add_others(rig, &key);
    } else if (number % 4 == 2) {
        add_twins(rig, 1, NULL);
    } else if (number % 8 == 1) {
        add_stranger(rig);
    }
    const struct engine_options slow = {.each_task = true, .each_cycle = true};
    const struct engine_outcome fast = run(rig);
    struct engine_outcome each;
    engine_run(arena, &rig->system, &slow, &each);
    if (fast.jobs[0].end != each.jobs[0].end) {
        fprintf(stderr, "number %u of %u cycles\n", number, cycles);
    }
    assert_same(rig, &fast, &each);
    const struct engine_options any = {.on_task = NULL};
    records_compare(&rig->system, &any, &tally->records);
    const struct engine_outcome cut = run_cut(rig, &key);
    assert_same(rig, &cut, &each);
    records_compare(&rig->system, &any, &tally->records);
    compare_shared(rig, &key, &each, tally);
    compare_known(rig, number / 8 % 2 == 0, tally);
    const bool is_together = number % 4 == 0;
    tally->events += fast.events;
    tally->events_each += each.events;
    tally->together += is_together ? fast.events : 0;
    tally->together_each += is_together ? each.events : 0;
    tally->tasks += fast.tasks;
    tally->tasks_repeated += fast.tasks_repeated;
    arena_free(arena);
}

static void a_random_program_ends_as_if_each_task_were_simulated(void **state)
{
    (void)state;
    struct tally tally = {0};
    for (uint32_t number = 0; number < share_of(PROGRAMS); number++) {
        compare(number, 1, &tally);
    }
    print_message("%.0f %% of all events, %.0f %% of those who are not of one class\n",
                  100.0 * (double)tally.events / (double)tally.events_each,
                  100.0 * (double)tally.together / (double)tally.together_each);
    assert_true(tally.events < tally.events_each / 20 * 19);
    assert_true(tally.together < tally.together_each / 100 * 99);
    assert_true(tally.known > share_of(PROGRAMS));
}

/* Cycles may end in the middle of a stretch. */
static void a_random_cycle_comes_again_as_if_each_task_were_simulated(void **state)
{
    (void)state;
    struct tally tally = {0};
    for (uint32_t number = 0; number < share_of(PROGRAMS); number++) {
        compare(number, 16, &tally);
    }
    print_message("%.0f %% of all tasks moved over\n",
                  100.0 * (double)tally.tasks_repeated / (double)tally.tasks);
    assert_true(tally.tasks_repeated > tally.tasks / 6);
    assert_true(tally.blocks_repeated > tally.tasks / 6);
}

/* Actors that meet in INNER, of 5 tasks of 10 and 4 transfers of 8: 82, and all is theirs. */
static void rig_of_those_who_meet(struct rig *rig, struct arena *arena)
{
    rig_init(rig, arena);
    rig->transfers[0].bytes = 8;
    add_work(rig, 10);
    for (uint32_t i = 1; i < 5; i++) {
        wait_for(add_meeting(rig, INNER, 0), COMPUTE, i);
        wait_for(add_work(rig, 10), INNER, i);
    }
}

/* Those of one class end in an event each. Of two classes they do when they have met once: before,
 * each has an event of its first task, the meeting has one, and each one of a task begun that
 * became part of a stretch. */
static void those_who_meet_go_together(void **state)
{
    const uint64_t events[] = {2, 2 + 1 + 2 + 2};
    for (uint32_t other = 0; other < 2; other++) {
        struct rig rig;
        const uint32_t speed = ENGINE_FULL_SPEED;
        rig_of_those_who_meet(&rig, *state);
        add_twins(&rig, 1, other == 0 ? NULL : &speed);
        const struct engine_outcome outcome = run(&rig);
        assert_int_equal(outcome.jobs[0].end, 82);
        assert_int_equal(outcome.events, events[other]);
        assert_int_equal(outcome.tasks, 18);
        assert_int_equal(outcome.traffic[0].transfers, 4);
        assert_int_equal(outcome.traffic[0].moving_ns, 32);
        assert_int_equal(outcome.actor_causes[1][EXPOSED_INNER], 32);
    }
}

/* The second takes 20 for a task: 5 x 20 + 4 x 8 = 132. The first waits 10 for it four times, and
 * at the end. */
static void who_is_first_waits_for_the_others(void **state)
{
    struct rig rig;
    const uint32_t speed = ENGINE_FULL_SPEED / 2;
    rig_of_those_who_meet(&rig, *state);
    add_twins(&rig, 1, &speed);
    const struct engine_outcome outcome = run(&rig);
    assert_int_equal(outcome.jobs[0].end, 132);
    assert_int_equal(outcome.events, 2 + 1 + 2 + 2);
    assert_int_equal(outcome.actor_causes[0][WORK], 50);
    assert_int_equal(outcome.actor_causes[0][EXPOSED_INNER], 32);
    assert_int_equal(outcome.actor_causes[0][IDLE], 4 * 10 + 10);
    assert_int_equal(outcome.actor_causes[1][WORK], 100);
    assert_int_equal(outcome.actor_causes[1][EXPOSED_INNER], 32);
    assert_int_equal(outcome.traffic[0].transfers, 4);
    assert_int_equal(outcome.traffic[0].moving_ns, 32);
}

/* Works 10, 30 and 10, of two actors of which the second goes at half the pace. They meet for 8
 * after the first one, which nobody waits for, so at 28 both are on their second: the first since
 * 10, the other since 20. That ends at 80, and the first waits for it from 40 on. They meet for 8
 * again, and the third takes 10 or 20: 108. */
static void who_began_before_does_not_go_together(void **state)
{
    struct rig rig;
    const uint32_t speed = ENGINE_FULL_SPEED / 2;
    rig_init(&rig, *state);
    rig.system.streams[INNER].interference = 0;
    rig.system.streams[INNER].wait_cause = LAUNCH; /* else nothing is launched */
    rig.transfers[0].bytes = 8;
    add_work(&rig, 10);
    wait_for(add_meeting(&rig, INNER, 0), COMPUTE, 1);
    add_work(&rig, 30);
    wait_for(add_meeting(&rig, INNER, 0), COMPUTE, 2);
    wait_for(add_work(&rig, 10), INNER, 2);
    add_twins(&rig, 1, &speed);
    const struct engine_outcome outcome = run(&rig);
    assert_int_equal(outcome.jobs[0].end, 108);
    assert_int_equal(outcome.actor_causes[0][WORK], 50);
    assert_int_equal(outcome.actor_causes[0][EXPOSED_INNER], 8);
    assert_int_equal(outcome.actor_causes[0][LAUNCH], 40);
    assert_int_equal(outcome.actor_causes[0][IDLE], 10);
    assert_int_equal(outcome.actor_causes[1][WORK], 100);
}

/* As above, but the second is disturbed from 90 on, when a delay of 90 is over, for 20 at half its
 * rate: it has met the first at 28, 56 and 84 of its own pace (20 + 8 each), so it is 6 into its
 * fourth task at 90. 14 are left, of which 10 take 20; then 4: that one ends at 114, not 104, the
 * transfer at 122, the last task at 142. The first waits from 94 on. */
static void who_is_disturbed_is_waited_for(void **state)
{
    struct rig rig;
    const uint32_t speed = ENGINE_FULL_SPEED / 2;
    rig_of_those_who_meet(&rig, *state);
    rig.transfers[1].latency_ns = 90;
    rig.transfers[2].latency_ns = 20;
    add_meeting(&rig, DELAY, 1);
    wait_for(add_meeting(&rig, OTHER, 2), DELAY, 1);
    add_twins(&rig, 1, &speed);
    const struct engine_outcome outcome = run(&rig);
    assert_int_equal(outcome.jobs[0].end, 142);
    assert_int_equal(outcome.actor_causes[0][WORK], 50);
    assert_int_equal(outcome.actor_causes[0][INTERFERENCE], 4);
    assert_int_equal(outcome.actor_causes[0][EXPOSED_INNER], 32);
    assert_int_equal(outcome.actor_causes[1][WORK], 100);
    assert_int_equal(outcome.actor_causes[1][INTERFERENCE], 10);
    assert_int_equal(outcome.actor_causes[1][EXPOSED_INNER], 32);
    assert_int_equal(outcome.traffic[0].transfers, 4);
    assert_int_equal(outcome.traffic[0].moving_ns, 32);
}

/* Two that never meet do the same: 5 tasks of 10, and 4 transfers of 8 bytes between them at a cap
 * of a byte/ns each. The second's cross a link of its own that gives half of that: 5 x 10 + 4 x 8 =
 * 82 for the first, 5 x 10 + 4 x 16 = 114 for the second. */
static void channels_with_other_links_are_not_alike(void **state)
{
    static const struct engine_crossing crossing = {0, FLUID_USAGE_ONE};
    static const int64_t capacity = BYTES_PER_S / 2;
    for (uint32_t slow = 0; slow < 2; slow++) {
        struct rig rig;
        rig_of_those_who_meet(&rig, *state);
        add_stranger(&rig);
        rig.actors[1].speed = ENGINE_FULL_SPEED;
        rig.system.crossings = &crossing;
        rig.system.link_capacities = &capacity;
        rig.system.crossing_count = rig.system.link_count = 1;
        rig.paths[rig.channels[rig.actors[slow].channels[INNER]].path_first].crossing_count = 1;
        const struct engine_outcome outcome = run(&rig);
        assert_int_equal(outcome.jobs[slow].end, 114);
        assert_int_equal(outcome.jobs[1 - slow].end, 82);
        assert_int_equal(outcome.actor_causes[slow][EXPOSED_INNER], 64);
        assert_int_equal(outcome.traffic[rig.actors[slow].channels[INNER]].moving_ns, 64);
    }
}

/* Both wait 10 for a transfer of their own, then work 10, 10 and, after a transfer of 8, 10: 48.
 * Meanwhile they meet in two phases of 10, so at 20 three things end: the first's task, the
 * meeting, and the other's task, in that order, for so they began. Only for the second of the two
 * actors the meeting is over when its next task begins; they must do the same all the same. */
static void those_who_meet_do_the_same_whatever_ends_first(void **state)
{
    struct rig rig;
    rig_init(&rig, *state);
    rig.system.streams[INNER].interference = 0;
    rig.transfers[0] = (struct engine_transfer){.bytes = 10, .next = 2};
    rig.transfers[1].bytes = 10;
    rig.transfers[2].bytes = 8;
    add_meeting(&rig, DELAY, 1);
    add_meeting(&rig, INNER, 0);
    wait_for(add_work(&rig, 10), DELAY, 1);
    add_work(&rig, 10);
    wait_for(add_meeting(&rig, INNER, 2), COMPUTE, 2);
    wait_for(add_work(&rig, 10), INNER, 2);
    rig.actors[1] = rig.actors[0];
    rig.actors[1].channels[DELAY] = 1;
    rig.members[0] = (struct engine_member){0, INNER, 1};
    rig.members[1] = (struct engine_member){1, INNER, 1};
    rig.members[2] = (struct engine_member){0, DELAY, 1};
    rig.members[3] = (struct engine_member){1, DELAY, 1};
    rig.channels[0].needed = 2;
    rig.channels[0].member_count = 2;
    rig.channels[1].member_first = 3;
    rig.system.classes = rig.classes;
    rig.system.actor_count = 2;
    const struct engine_outcome outcome = run(&rig);
    assert_int_equal(outcome.jobs[0].end, 48);
    assert_int_equal(outcome.traffic[0].transfers, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(outcome.actor_causes[i][WORK], 30);
        assert_int_equal(outcome.actor_causes[i][EXPOSED_INNER], 8);
        assert_int_equal(outcome.actor_causes[i][EXPOSED_OTHER], 10);
    }
}

static int set_up(void **state)
{
    *state = arena_new();
    return 0;
}

static int tear_down(void **state)
{
    arena_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_with_collectives_between_them_are_one_event),
        cmocka_unit_test(a_collective_beside_a_task_slows_it_or_is_exposed),
        cmocka_unit_test(what_begins_before_its_task_is_not_beside_it),
        cmocka_unit_test(a_stretch_that_is_disturbed_ends_later),
        cmocka_unit_test(layers_that_take_as_long_are_not_taken_for_one_another),
        cmocka_unit_test(who_waits_for_a_later_block_is_simulated),
        cmocka_unit_test(a_stream_that_falls_behind_is_seen_task_by_task),
        cmocka_unit_test(blocks_are_alike_from_the_stream_that_is_furthest_back),
        cmocka_unit_test(a_block_that_waits_for_more_than_before_is_not_alike),
        cmocka_unit_test(a_random_program_ends_as_if_each_task_were_simulated),
        cmocka_unit_test(a_random_cycle_comes_again_as_if_each_task_were_simulated),
        cmocka_unit_test(those_who_meet_go_together),
        cmocka_unit_test(who_is_first_waits_for_the_others),
        cmocka_unit_test(who_began_before_does_not_go_together),
        cmocka_unit_test(who_is_disturbed_is_waited_for),
        cmocka_unit_test(channels_with_other_links_are_not_alike),
        cmocka_unit_test(those_who_meet_do_the_same_whatever_ends_first),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
