/* The engine's rules on systems small enough to do by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "des/engine.h"
#include "des/fluid.h"

enum { COMPUTE, COMM, STREAMS };
enum { WORK, LAUNCH, INTERFERENCE, EXPOSED, WAIT, IDLE, CAUSES };

#define BYTES_PER_S 1000000000 /* 1 byte a nanosecond */

/* n actors in one collective channel over one link each; programs given. */
struct rig {
    struct arena *arena;
    struct engine_program programs[4];
    struct engine_actor actors[4];
    struct engine_member members[4];
    struct engine_channel channel;
    struct engine_path path;
    struct engine_transfer transfers[2];
    struct engine_system system;
    struct engine_outcome outcome;
    /* Of the tests with links: a channel for each actor, with two paths. */
    struct engine_channel channels[2];
    struct engine_path paths[4];
    struct engine_crossing crossings[4];
    int64_t capacities[3];
};

static void rig_init(struct rig *rig, uint32_t actors)
{
    *rig = (struct rig){.arena = arena_new()};
    for (uint32_t i = 0; i < actors; i++) {
        rig->actors[i] = (struct engine_actor){
            .program = i, .speed = ENGINE_FULL_SPEED, .multiplicity = 1, .channels = {ENGINE_NONE}};
        rig->members[i] = (struct engine_member){i, COMM, 1};
    }
    rig->channel = (struct engine_channel){.kind = CHANNEL_COLLECTIVE,
                                           .needed = actors,
                                           .member_count = actors,
                                           .path_count = 1,
                                           .multiplicity = 1};
    rig->path = (struct engine_path){.cap_bytes_per_s = BYTES_PER_S};
    rig->system = (struct engine_system){.programs = rig->programs,
                                         .actors = rig->actors,
                                         .channels = &rig->channel,
                                         .paths = &rig->path,
                                         .members = rig->members,
                                         .transfers = rig->transfers,
                                         .program_count = actors,
                                         .actor_count = actors,
                                         .channel_count = 1,
                                         .member_count = actors,
                                         .path_count = 1,
                                         .transfer_count = 2,
                                         .job_count = 1,
                                         .stream_count = STREAMS,
                                         .cause_count = CAUSES,
                                         .launch_cause = LAUNCH,
                                         .interference_cause = INTERFERENCE,
                                         .end_cause = IDLE};
    rig->system.streams[COMM] = (struct engine_stream){"comm", EXPOSED, WAIT, 0};
}

static void rig_run(struct rig *rig)
{
    engine_run(rig->arena, &rig->system, NULL, &rig->outcome);
}

static void set_program(struct rig *rig, uint32_t actor, const struct task *compute,
                        uint32_t compute_count, const struct task *comm, uint32_t comm_count)
{
    const struct engine_block block = {.tasks = {compute, comm},
                                       .counts = {compute_count, comm_count}};
    rig->programs[actor] = engine_program_of_one(rig->arena, &block);
}

static struct task work(int64_t ns)
{
    return (struct task){.kind = TASK_COMPUTE, .cause = WORK, .work_ns = ns};
}

static struct task after(struct task task, uint8_t stream, uint32_t ended)
{
    task.wait_stream[task.wait_count] = stream;
    task.wait_ended[task.wait_count++] = (int32_t)ended;
    return task;
}

static struct task meet(uint32_t transfer)
{
    return (struct task){.kind = TASK_COLLECTIVE, .transfer = transfer};
}

static int64_t cause(const struct rig *rig, uint32_t actor, uint32_t which)
{
    return rig->outcome.actor_causes[actor][which];
}

/* Actor 0 is ready at 100, actor 1 at 300; the transfer takes 50 + 200. Actor 0
 * waits 200 for its partner and 250 for the transfer, actor 1 only 250. */
static void a_wait_splits_at_the_last_arrival(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 2);
    rig.transfers[0] = (struct engine_transfer){.latency_ns = 50, .bytes = 200};
    const struct task fast[] = {work(100), after(work(10), COMM, 1)};
    const struct task slow[] = {work(300), after(work(10), COMM, 1)};
    const struct task comm[] = {after(meet(0), COMPUTE, 1)};
    set_program(&rig, 0, fast, 2, comm, 1);
    set_program(&rig, 1, slow, 2, comm, 1);
    rig_run(&rig);
    assert_int_equal(rig.outcome.jobs[0].end, 560);
    assert_int_equal(cause(&rig, 0, WAIT), 200);
    assert_int_equal(cause(&rig, 0, EXPOSED), 250);
    assert_int_equal(cause(&rig, 1, WAIT), 0);
    assert_int_equal(cause(&rig, 1, EXPOSED), 250);
    assert_int_equal(cause(&rig, 0, WORK), 110);
    arena_free(rig.arena);
}

/* L buckets, compute x each, transfer y each: x + (L-1) max(x, y) + y.
 * L = 32: x = 10, y = 4 -> 324; y = 15 -> 490 (milliseconds in the oracle). */
static int64_t overlapped(int64_t x, int64_t y)
{
    enum { L = 32 };
    struct rig rig;
    rig_init(&rig, 1);
    rig.transfers[0] = (struct engine_transfer){.latency_ns = 0, .bytes = y};
    struct task compute[L + 1];
    struct task comm[L];
    for (uint32_t i = 0; i < L; i++) {
        compute[i] = work(x);
        comm[i] = after(meet(0), COMPUTE, i + 1);
    }
    compute[L] = after(work(0), COMM, L);
    set_program(&rig, 0, compute, L + 1, comm, L);
    rig_run(&rig);
    const int64_t end = rig.outcome.jobs[0].end;
    assert_int_equal(cause(&rig, 0, WORK) + cause(&rig, 0, EXPOSED), end);
    arena_free(rig.arena);
    return end;
}

static void buckets_overlap_as_a_two_machine_flow_shop(void **state)
{
    (void)state;
    assert_int_equal(overlapped(10000000, 4000000), 324000000);
    assert_int_equal(overlapped(10000000, 15000000), 490000000);
}

/* 1,000 ns of work; from 100 on a transfer of 400 ns takes a fifth of the rate.
 * While it runs 320 of work are done, so the work ends at 1,000 + 80. */
static void an_overlapped_transfer_slows_the_kernel_beside_it(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1);
    rig.system.streams[COMM].interference = 200000;
    rig.transfers[0] = (struct engine_transfer){.latency_ns = 0, .bytes = 400};
    const struct task compute[] = {work(100), work(900), after(work(0), COMM, 1)};
    const struct task comm[] = {after(meet(0), COMPUTE, 1)};
    set_program(&rig, 0, compute, 3, comm, 1);
    rig_run(&rig);
    assert_int_equal(rig.outcome.jobs[0].end, 1080);
    assert_int_equal(cause(&rig, 0, INTERFERENCE), 80);
    assert_int_equal(cause(&rig, 0, WORK), 1000);
    arena_free(rig.arena);
}

/* 900 ns of work at speed 0.9 take 1,000; the 90 of launch in it take 100. */
static void a_slow_actor_takes_longer_for_the_same_work(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1);
    rig.actors[0].speed = 900000;
    struct task task = work(900);
    task.launch_ns = 90;
    set_program(&rig, 0, &task, 1, NULL, 0);
    rig_run(&rig);
    assert_int_equal(rig.outcome.jobs[0].end, 1000);
    assert_int_equal(cause(&rig, 0, LAUNCH), 100);
    assert_int_equal(cause(&rig, 0, WORK), 900);
    arena_free(rig.arena);
}

/* An actor whose work ends early is idle to the end: booked, so the sums hold. */
static void the_time_after_the_last_task_is_booked(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 2);
    const struct task quick = work(10);
    const struct task long_one = work(70);
    set_program(&rig, 0, &quick, 1, NULL, 0);
    set_program(&rig, 1, &long_one, 1, NULL, 0);
    rig_run(&rig);
    assert_int_equal(cause(&rig, 0, IDLE), 60);
    assert_int_equal(cause(&rig, 1, IDLE), 0);
    assert_int_equal(rig.outcome.jobs[0].total_causes[WORK], 80);
    arena_free(rig.arena);
}

/* One actor of multiplicity 4, weight 4 in its channel, equals four of them. */
static void multiplicity_changes_totals_and_nothing_else(void **state)
{
    (void)state;
    struct rig many;
    struct rig one;
    rig_init(&many, 4);
    rig_init(&one, 1);
    const struct task compute[] = {work(100), after(work(10), COMM, 1)};
    const struct task comm[] = {after(meet(0), COMPUTE, 1)};
    many.transfers[0] = one.transfers[0] = (struct engine_transfer){.latency_ns = 7, .bytes = 33};
    for (uint32_t i = 0; i < 4; i++) {
        set_program(&many, i, compute, 2, comm, 1);
    }
    set_program(&one, 0, compute, 2, comm, 1);
    one.actors[0].multiplicity = 4;
    one.members[0].weight = 4;
    one.channel.needed = 4;
    rig_run(&many);
    rig_run(&one);
    assert_int_equal(many.outcome.jobs[0].end, one.outcome.jobs[0].end);
    for (uint32_t c = 0; c < CAUSES; c++) {
        assert_int_equal(many.outcome.jobs[0].total_causes[c], one.outcome.jobs[0].total_causes[c]);
    }
    arena_free(many.arena);
    arena_free(one.arena);
}

/* ---- phases, shares and links ------------------------------------------------------- */

/* Actor 0 starts a transfer of both phases at once and waits for it: path 0 carries a byte a
 * nanosecond, path 1 a quarter of that. */
static const struct task at_once[] = {{.kind = TASK_COLLECTIVE, .transfer = 0}};
static const struct task until_done[] = {{.kind = TASK_COMPUTE,
                                          .cause = WORK,
                                          .wait_count = 1,
                                          .wait_stream = {COMM},
                                          .wait_ended = {1}}};

/* 11 of the channel, 50 + 200 of the first phase, 30 + 100 x 4 of the second: 691. The
 * channel's own latency comes once. */
static void phases_add_up_each_over_its_own_path(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1);
    rig.paths[0] = (struct engine_path){.cap_bytes_per_s = BYTES_PER_S};
    rig.paths[1] = (struct engine_path){.cap_bytes_per_s = BYTES_PER_S / 4};
    rig.system.paths = rig.paths;
    rig.system.path_count = rig.channel.path_count = 2;
    rig.channel.latency_ns = 11;
    rig.transfers[0] = (struct engine_transfer){.latency_ns = 50, .bytes = 200, .next = 2};
    rig.transfers[1] = (struct engine_transfer){.latency_ns = 30, .bytes = 100, .path = 1};
    set_program(&rig, 0, until_done, 1, at_once, 1);
    rig_run(&rig);
    assert_int_equal(rig.outcome.jobs[0].end, 691);
    assert_int_equal(cause(&rig, 0, EXPOSED), 691);
    assert_int_equal(rig.outcome.traffic[0].transfers, 1);
    assert_int_equal(rig.outcome.traffic[0].moving_ns, 691);
    assert_int_equal(rig.outcome.traffic[0].alone_ns, 691);
    arena_free(rig.arena);
}

/* 200 bytes at two fifths of a byte a nanosecond: 500. */
static void a_share_slows_a_phase_on_idle_links(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1);
    rig.transfers[0] = (struct engine_transfer){.bytes = 200, .share = 400000};
    set_program(&rig, 0, until_done, 1, at_once, 1);
    rig_run(&rig);
    assert_int_equal(rig.outcome.jobs[0].end, 500);
    arena_free(rig.arena);
}

/* Two actors, each alone in a channel. Both channels' path 0 crosses link 0; path 1 of
 * channel i crosses link 1 + i. All links and caps: a byte a nanosecond. */
static void rig_init_links(struct rig *rig)
{
    rig_init(rig, 2);
    for (uint32_t i = 0; i < 2; i++) {
        rig->actors[i].channels[COMM] = i;
        rig->channels[i] = rig->channel;
        rig->channels[i].needed = rig->channels[i].member_count = 1;
        rig->channels[i].member_first = i;
        rig->channels[i].path_first = 2 * i;
        rig->channels[i].path_count = 2;
        for (uint32_t k = 0; k < 2; k++) {
            rig->paths[2 * i + k] =
                (struct engine_path){2 * i + k, 1, .cap_bytes_per_s = BYTES_PER_S};
            rig->crossings[2 * i + k] =
                (struct engine_crossing){k == 0 ? 0 : 1 + i, FLUID_USAGE_ONE};
        }
    }
    for (uint32_t i = 0; i < 3; i++) {
        rig->capacities[i] = BYTES_PER_S;
    }
    rig->system.channels = rig->channels;
    rig->system.paths = rig->paths;
    rig->system.crossings = rig->crossings;
    rig->system.link_capacities = rig->capacities;
    rig->system.channel_count = 2;
    rig->system.path_count = rig->system.crossing_count = 4;
    rig->system.link_count = 3;
}

/* Each transfer: 200 bytes over link 0, then 300 over its own link. Channel 0 begins at 0, alone;
 * channel 1 at 100, when 100 bytes are left of the other. They share link 0 from 100 on: 0 is
 * through at 300, when 1 has sent 100 and goes on alone until 400. The second phases do not
 * meet: 300 + 300 and 400 + 300. On one link throughout it would have been 800 and 1,000. Alone
 * each would take 200 + 300. */
static void channels_contend_only_while_on_the_same_link(void **state)
{
    (void)state;
    struct rig rig;
    rig_init_links(&rig);
    rig.transfers[0] = (struct engine_transfer){.bytes = 200, .next = 2};
    rig.transfers[1] = (struct engine_transfer){.bytes = 300, .path = 1};
    const struct task later[] = {work(100), after(work(0), COMM, 1)};
    const struct task comm[] = {after(meet(0), COMPUTE, 1)};
    set_program(&rig, 0, until_done, 1, at_once, 1);
    set_program(&rig, 1, later, 2, comm, 1);
    rig_run(&rig);
    assert_int_equal(rig.outcome.traffic[0].moving_ns, 600);
    assert_int_equal(rig.outcome.traffic[1].moving_ns, 600);
    assert_int_equal(rig.outcome.traffic[0].alone_ns, 500);
    assert_int_equal(rig.outcome.traffic[1].alone_ns, 500);
    assert_int_equal(rig.outcome.jobs[0].end, 700);
    assert_int_equal(cause(&rig, 0, EXPOSED), 600);
    assert_int_equal(cause(&rig, 0, IDLE), 100);
    arena_free(rig.arena);
}

/* The same with both paths over link 0: channel 0 sends 100 of its 500 bytes alone, 400 at half the
 * rate, and is through at 900; channel 1, which has sent 400 then, at 1,000. Whether paths share
 * their crossings, as those of one flow do, or have a copy each makes no difference. */
static void paths_may_share_their_crossings(void **state)
{
    (void)state;
    for (uint32_t is_shared = 0; is_shared < 2; is_shared++) {
        struct rig rig;
        rig_init_links(&rig);
        rig.crossings[1].link = rig.crossings[3].link = 0;
        rig.paths[1].crossing_first = 1 - is_shared;
        rig.paths[3].crossing_first = 3 - is_shared;
        rig.transfers[0] = (struct engine_transfer){.bytes = 200, .next = 2};
        rig.transfers[1] = (struct engine_transfer){.bytes = 300, .path = 1};
        const struct task later[] = {work(100), after(work(0), COMM, 1)};
        const struct task comm[] = {after(meet(0), COMPUTE, 1)};
        set_program(&rig, 0, until_done, 1, at_once, 1);
        set_program(&rig, 1, later, 2, comm, 1);
        rig_run(&rig);
        assert_int_equal(rig.outcome.traffic[0].moving_ns, 900);
        assert_int_equal(rig.outcome.traffic[1].moving_ns, 900);
        assert_int_equal(rig.outcome.jobs[0].end, 1000);
        assert_int_equal(rig.outcome.fluid.direct, 0);
        arena_free(rig.arena);
    }
}

/* A link that has room for both is none to the solver: nothing is solved, and each sends as if it
 * were alone. */
static void a_link_with_room_for_all_holds_nobody_up(void **state)
{
    (void)state;
    struct rig rig;
    rig_init_links(&rig);
    rig.capacities[0] = 2 * BYTES_PER_S;
    rig.transfers[0] = (struct engine_transfer){.bytes = 200};
    set_program(&rig, 0, until_done, 1, at_once, 1);
    set_program(&rig, 1, until_done, 1, at_once, 1);
    rig_run(&rig);
    assert_int_equal(rig.outcome.jobs[0].end, 200);
    assert_int_equal(rig.outcome.fluid.solves, 0);
    rig.capacities[0] = 2 * BYTES_PER_S - 1;
    rig_run(&rig);
    assert_int_equal(rig.outcome.jobs[0].end, 201); /* rounded up */
    assert_true(rig.outcome.fluid.solves > 0);
    arena_free(rig.arena);
}

/* Four channels over two ports, two by each, and all of them over one uplink; with `has_ring` a
 * fifth one over both ports and twice over the uplink, and over many links that have room. */
static struct engine_outcome run_uplink(struct arena *arena, int64_t uplink, bool has_ring)
{
    enum { PORTS = 2, UPLINK = 2, LINKS = 20, CHANNELS = 5 };
    struct engine_crossing crossings[2 * (CHANNELS - 1) + LINKS] = {{0}};
    struct engine_path paths[CHANNELS] = {{0}};
    struct engine_channel channels[CHANNELS] = {{0}};
    struct engine_actor actors[CHANNELS] = {{0}};
    struct engine_member members[CHANNELS] = {{0}};
    int64_t capacities[LINKS];
    for (uint32_t i = 0; i < LINKS; i++) {
        capacities[i] = i < PORTS ? BYTES_PER_S : 100 * (int64_t)BYTES_PER_S;
        crossings[2 * (CHANNELS - 1) + i] =
            (struct engine_crossing){i, i == UPLINK ? 2 * FLUID_USAGE_ONE : FLUID_USAGE_ONE};
    }
    capacities[UPLINK] = uplink;
    const struct engine_transfer transfers[] = {{.bytes = 100}, {.bytes = 300}};
    const struct task comms[] = {meet(0), meet(1)};
    struct engine_program programs[2];
    for (uint32_t i = 0; i < 2; i++) {
        const struct engine_block block = {.tasks = {until_done, &comms[i]}, .counts = {1, 1}};
        programs[i] = engine_program_of_one(arena, &block);
    }
    for (uint32_t i = 0; i < CHANNELS; i++) {
        const bool is_ring = i == CHANNELS - 1;
        crossings[2 * i] = (struct engine_crossing){i / 2 % PORTS, FLUID_USAGE_ONE};
        crossings[2 * i + 1] = (struct engine_crossing){is_ring ? 1 : UPLINK, FLUID_USAGE_ONE};
        paths[i] = (struct engine_path){2 * i, is_ring ? LINKS : 2, BYTES_PER_S};
        channels[i] = (struct engine_channel){.needed = 1,
                                              .member_first = i,
                                              .member_count = 1,
                                              .path_first = i,
                                              .path_count = 1,
                                              .multiplicity = 1};
        members[i] = (struct engine_member){i, COMM, 1};
        actors[i] = (struct engine_actor){.program = i % 2,
                                          .speed = ENGINE_FULL_SPEED,
                                          .multiplicity = 1,
                                          .channels = {ENGINE_NONE, i}};
    }
    crossings[2 * (CHANNELS - 1)] = (struct engine_crossing){0, FLUID_USAGE_ONE};
    crossings[2 * (CHANNELS - 1) + 1] = (struct engine_crossing){1, FLUID_USAGE_ONE};
    const uint32_t count = has_ring ? CHANNELS : CHANNELS - 1;
    struct engine_system system = {.programs = programs,
                                   .actors = actors,
                                   .channels = channels,
                                   .paths = paths,
                                   .members = members,
                                   .crossings = crossings,
                                   .link_capacities = capacities,
                                   .transfers = transfers,
                                   .program_count = 2,
                                   .actor_count = count,
                                   .channel_count = count,
                                   .member_count = count,
                                   .path_count = count,
                                   .crossing_count = sizeof crossings / sizeof *crossings,
                                   .link_count = LINKS,
                                   .transfer_count = 2,
                                   .job_count = 1,
                                   .stream_count = STREAMS,
                                   .cause_count = CAUSES,
                                   .launch_cause = LAUNCH,
                                   .interference_cause = INTERFERENCE,
                                   .end_cause = IDLE};
    system.streams[COMM] = (struct engine_stream){"comm", EXPOSED, WAIT, 0};
    struct engine_outcome outcome;
    engine_run(arena, &system, NULL, &outcome);
    return outcome;
}

/* Over each port 100 and 300 bytes go at half the rate until 200, then the rest of the 300 at all
 * of it until 400. An uplink of twice a port, which these fill, holds nobody up, and is none to the
 * solver: who is left on a port is alone, and all is solved once, port by port. One of a byte/s
 * less is asked about, and gives each a quarter of it, rounded down: 0.499 999 999 bytes/ns, and
 * 201 ns for 100; then half of it, 0.999 999 999, to the two who are left. */
static void a_link_that_its_feeders_cannot_overfill_is_left_out(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct engine_outcome fed = run_uplink(arena, 2 * BYTES_PER_S, false);
    assert_int_equal(fed.traffic[0].moving_ns, 200);
    assert_int_equal(fed.jobs[0].end, 400);
    assert_int_equal(fed.fluid.flows_filled, 4);
    const struct engine_outcome tight = run_uplink(arena, 2 * BYTES_PER_S - 1, false);
    assert_int_equal(tight.traffic[0].moving_ns, 201);
    assert_int_equal(tight.jobs[0].end, 401);
    assert_int_equal(tight.fluid.flows_filled, 4 + 2);
    arena_free(arena);
}

/* The same with a ring of 100 bytes, which takes as much of each port as the others there, and of
 * the uplink twice that: a third of each port until 300, when all 100 are through; the 300 have 200
 * left, and are through at 500. What the ring takes of the uplink comes by both ports, so that is
 * left out still; of one of a byte/s less each gets a sixth, rounded down. */
static void a_ring_is_fed_by_all_its_ports(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct engine_outcome fed = run_uplink(arena, 2 * BYTES_PER_S, true);
    assert_int_equal(fed.traffic[4].moving_ns, 301); /* a third, rounded down */
    assert_int_equal(fed.jobs[0].end, 501);
    assert_int_equal(fed.fluid.fills, 1);
    const struct engine_outcome tight = run_uplink(arena, 2 * BYTES_PER_S - 1, true);
    assert_true(tight.fluid.fills > 1);
    arena_free(arena);
}

/* Nor is a link that one channel alone crosses, though it gives less than the cap: three quarters
 * of 200 bytes over 0.2 bytes/ns. The rate, 266,666,666.7 bytes/s, is rounded down, so they take
 * 751 ns; and as long where a stretch has them, between two tasks. */
static void a_link_of_one_channel_is_its_cap(void **state)
{
    (void)state;
    struct rig rig;
    rig_init_links(&rig);
    rig.capacities[0] = 2 * BYTES_PER_S;
    rig.capacities[1] = BYTES_PER_S / 5;
    rig.crossings[1].usage = FLUID_USAGE_ONE / 4 * 3;
    rig.transfers[0] = (struct engine_transfer){.bytes = 200, .path = 1};
    const struct task works[] = {work(10), after(work(10), COMM, 1)};
    const struct task comm[] = {after(meet(0), COMPUTE, 1)};
    set_program(&rig, 0, works, 2, comm, 1);
    set_program(&rig, 1, until_done, 1, at_once, 1);
    rig_run(&rig);
    assert_int_equal(rig.outcome.jobs[0].end, 10 + 751 + 10);
    assert_int_equal(rig.outcome.traffic[0].moving_ns, 751);
    assert_int_equal(rig.outcome.traffic[0].alone_ns, 200);
    assert_int_equal(rig.outcome.traffic[1].moving_ns, 200);
    assert_int_equal(rig.outcome.fluid.solves, 0);
    struct engine_outcome each;
    const struct engine_options slow = {.each_task = true};
    engine_run(rig.arena, &rig.system, &slow, &each);
    assert_memory_equal(each.traffic, rig.outcome.traffic, 2 * sizeof *each.traffic);
    assert_int_equal(each.jobs[0].end, 771);
    assert_true(each.events > rig.outcome.events);
    arena_free(rig.arena);
}

/* The outcome stands when all else of a run has been given back: that of the link above. */
static void an_outcome_outlives_what_its_run_took(void **state)
{
    (void)state;
    struct rig rig;
    rig_init_links(&rig);
    rig.transfers[0] = (struct engine_transfer){.bytes = 200, .path = 1};
    const struct task works[] = {work(10), after(work(10), COMM, 1)};
    const struct task comm[] = {after(meet(0), COMPUTE, 1)};
    set_program(&rig, 0, works, 2, comm, 1);
    set_program(&rig, 1, until_done, 1, at_once, 1);
    rig_run(&rig);
    const size_t before = arena_used_bytes(rig.arena);
    struct engine_outcome apart;
    const struct engine_options options = {.scratch = arena_new()};
    engine_run(rig.arena, &rig.system, &options, &apart);
    assert_true(arena_used_bytes(options.scratch) > arena_used_bytes(rig.arena) - before);
    arena_free(options.scratch);
    assert_int_equal(apart.jobs[0].end, rig.outcome.jobs[0].end);
    assert_memory_equal(apart.jobs[0].total_causes, rig.outcome.jobs[0].total_causes,
                        sizeof apart.jobs[0].total_causes);
    assert_memory_equal(apart.traffic, rig.outcome.traffic, 2 * sizeof *apart.traffic);
    assert_memory_equal(apart.actor_causes, rig.outcome.actor_causes,
                        2 * sizeof *apart.actor_causes);
    arena_free(rig.arena);
}

/* Both at 0 on link 0. Channel 0 may use a quarter: 200 bytes take 800, no more than alone.
 * Channel 1 gets the rest, 600 bytes by 800, and the last 300 of its 900 alone: 1,100. */
static void a_share_leaves_the_rest_of_a_link_to_others(void **state)
{
    (void)state;
    struct rig rig;
    rig_init_links(&rig);
    rig.transfers[0] = (struct engine_transfer){.bytes = 200, .share = 250000};
    rig.transfers[1] = (struct engine_transfer){.bytes = 900};
    const struct task other[] = {meet(1)};
    set_program(&rig, 0, until_done, 1, at_once, 1);
    set_program(&rig, 1, until_done, 1, other, 1);
    rig_run(&rig);
    assert_int_equal(rig.outcome.traffic[0].moving_ns, 800);
    assert_int_equal(rig.outcome.traffic[1].moving_ns, 1100);
    assert_int_equal(rig.outcome.traffic[0].alone_ns, 800);
    assert_int_equal(rig.outcome.traffic[1].alone_ns, 900);
    arena_free(rig.arena);
}

/* ---- jobs and steps ------------------------------------------------------------------- */

static int64_t sum_of_causes(const struct engine_job *job)
{
    int64_t sum = 0;
    for (uint32_t c = 0; c < CAUSES; c++) {
        sum += job->total_causes[c];
    }
    return sum;
}

/* Actor 0 works 10 and sends 10 bytes over a link of 1 byte/ns, 40 times, until 800. Actor 1 sends
 * 100 over it, once, when it has worked for 50. That is a bridge, of which actor 0 is no member,
 * but it holds it up, so the two go together. From 50 on actor 0 has half of the link for its
 * bytes, which take 20, and the bridge 10 bytes meanwhile, and 10 more while that works: five times
 * each, until 200. So actor 0 is 5 * 10 late. Actor 2, which meets nobody, is an island by itself.
 */
static void a_bridge_holds_up_those_whose_links_it_crosses(void **state)
{
    (void)state;
    enum { SELDOM = COMM + 1, TIMES = 40 };
    struct rig rig;
    rig_init_links(&rig);
    struct task often[TIMES];
    struct task sends[TIMES];
    struct task works[TIMES];
    for (uint32_t i = 0; i < TIMES; i++) {
        often[i] = after(work(10), COMM, i);
        sends[i] = after(meet(0), COMPUTE, i + 1);
        works[i] = work(10);
    }
    const struct task seldom[] = {after(meet(1), COMPUTE, 5)};
    const struct engine_block blocks[] = {
        {.tasks = {often, sends}, .counts = {TIMES, TIMES}},
        {.tasks = {works, NULL, seldom}, .counts = {TIMES, 0, 1}},
        {.tasks = {works}, .counts = {TIMES}},
    };
    for (uint32_t i = 0; i < 3; i++) {
        rig.programs[i] = engine_program_of_one(rig.arena, &blocks[i]);
    }
    rig.actors[2] = rig.actors[1];
    rig.actors[2].program = 2;
    rig.actors[0].channels[SELDOM] = rig.actors[1].channels[COMM] = ENGINE_NONE;
    rig.actors[2].channels[SELDOM] = rig.actors[2].channels[COMM] = ENGINE_NONE;
    rig.actors[1].channels[SELDOM] = 1;
    rig.members[1].stream = SELDOM;
    rig.system.streams[SELDOM] = rig.system.streams[COMM];
    rig.system.stream_count = 3;
    rig.system.program_count = rig.system.actor_count = 3;
    rig.transfers[0] = (struct engine_transfer){.bytes = 10};
    rig.transfers[1] = (struct engine_transfer){.bytes = 100};
    struct engine_outcome outcome;
    const struct engine_options options = {.each_cycle = true, .island_max = 1};
    engine_run(rig.arena, &rig.system, &options, &outcome);
    assert_int_equal(outcome.jobs[0].end, 800 + 5 * 10);
    assert_int_equal(outcome.traffic[1].moving_ns, 150);
    assert_true(outcome.turns >= 2);
    arena_free(rig.arena);
}

/* Job 0 has one actor of 50, job 1 two, of 70 and 90. Job 0 ends at 50 and waits for nobody;
 * of job 1, 70 is idle for 20. */
static void each_job_ends_with_its_own_last_task(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 3);
    const struct task works[] = {work(50), work(70), work(90)};
    for (uint32_t i = 0; i < 3; i++) {
        rig.actors[i].job = i == 0 ? 0 : 1;
        set_program(&rig, i, &works[i], 1, NULL, 0);
    }
    rig.system.job_count = 2;
    rig_run(&rig);
    assert_int_equal(rig.outcome.jobs[0].end, 50);
    assert_int_equal(rig.outcome.jobs[1].end, 90);
    assert_int_equal(cause(&rig, 0, IDLE), 0);
    assert_int_equal(rig.outcome.jobs[1].total_causes[IDLE], 20);
    assert_int_equal(sum_of_causes(&rig.outcome.jobs[0]), 50);
    assert_int_equal(sum_of_causes(&rig.outcome.jobs[1]), 2 * 90);
    arena_free(rig.arena);
}

/* Jobs meet on links: both send 200 bytes over link 0 from 0 on, which takes both 400; then job 1
 * sends 200 more by itself: 600. */
static void jobs_share_links_and_nothing_else(void **state)
{
    (void)state;
    struct rig rig;
    rig_init_links(&rig);
    rig.actors[1].job = 1;
    rig.system.job_count = 2;
    rig.transfers[0] = (struct engine_transfer){.bytes = 200};
    const struct task twice[] = {meet(0), meet(0)};
    const struct task until_both[] = {after(work(0), COMM, 2)};
    set_program(&rig, 0, until_done, 1, at_once, 1);
    set_program(&rig, 1, until_both, 1, twice, 2);
    rig_run(&rig);
    assert_int_equal(rig.outcome.jobs[0].end, 400);
    assert_int_equal(rig.outcome.jobs[1].end, 600);
    assert_int_equal(sum_of_causes(&rig.outcome.jobs[0]), 400);
    assert_int_equal(sum_of_causes(&rig.outcome.jobs[1]), 600);
    arena_free(rig.arena);
}

/* Steps of two tasks, three times. Actor 0: 30 + 12; actor 1: 30 + 20, the later one, which
 * ends the steps of their job: 50, 100, 150. Actor 2 is a job of its own: 7 + 1. */
static void a_step_ends_with_the_last_actor_of_its_job(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 3);
    const int64_t second_ns[] = {12, 20, 1};
    struct task tasks[3][6];
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t k = 0; k < 6; k++) {
            tasks[i][k] = work(k % 2 == 1 ? second_ns[i] : i == 2 ? 7 : 30);
        }
        set_program(&rig, i, tasks[i], 6, NULL, 0);
        rig.programs[i].step_tasks = 2;
        rig.actors[i].job = i == 2;
    }
    rig.system.job_count = 2;
    rig_run(&rig);
    for (uint32_t step = 0; step < 3; step++) {
        assert_int_equal(rig.outcome.jobs[0].step_ends[step], 50 * (step + 1));
        assert_int_equal(rig.outcome.jobs[1].step_ends[step], 8 * (step + 1));
    }
    arena_free(rig.arena);
}

/* 64 tasks of 10, each followed by a transfer of 8. The first 44 wait for the transfer four before,
 * which is long over: 10 each. Task i of the others waits for all i before: the first of them
 * starts at 440 + 8 and each takes 10 + 8, so the last ends at 448 + 20 * 18 - 8 = 800 and its
 * transfer at 808. The tasks are all alike, but what they wait for is not: the cycle of the first
 * must not be taken for that of the others. Both cycles are moved over. */
static void a_cycle_ends_where_tasks_wait_for_more(void **state)
{
    (void)state;
    enum { TASKS = 64, EASY = 44 };
    struct rig rig;
    rig_init(&rig, 1);
    rig.transfers[0] = (struct engine_transfer){.bytes = 8};
    struct task compute[TASKS];
    struct task comm[TASKS];
    for (uint32_t i = 0; i < TASKS; i++) {
        compute[i] = after(work(10), COMM, i >= EASY ? i : i >= 4 ? i - 4 : 0);
        comm[i] = after(meet(0), COMPUTE, i + 1);
    }
    set_program(&rig, 0, compute, TASKS, comm, TASKS);
    rig_run(&rig);
    assert_int_equal(rig.outcome.jobs[0].end, 808);
    assert_int_equal(rig.outcome.tasks, 2 * TASKS);
    assert_int_equal(rig.outcome.traffic[0].transfers, TASKS);
    assert_int_equal(rig.outcome.traffic[0].moving_ns, 8 * TASKS);
    assert_int_equal(cause(&rig, 0, WORK), 10 * TASKS);
    assert_int_equal(cause(&rig, 0, EXPOSED), 8 * (TASKS - EASY));
    assert_true(rig.outcome.tasks_repeated >= TASKS && rig.outcome.tasks_repeated < 2 * TASKS);
    arena_free(rig.arena);
}

/* 64 tasks of 10, and a transfer of 1000 that waits for the first 32 of them: it begins at 320, not
 * a task later, and ends at 1320. The cycles that leave it waiting end one before the 32nd. */
static void a_stream_that_waits_through_cycles_begins_in_time(void **state)
{
    (void)state;
    enum { TASKS = 64, FIRST = 32 };
    struct rig rig;
    rig_init(&rig, 1);
    rig.transfers[0] = (struct engine_transfer){.bytes = 1000};
    struct task compute[TASKS];
    for (uint32_t i = 0; i < TASKS; i++) {
        compute[i] = work(10);
    }
    const struct task comm[] = {after(meet(0), COMPUTE, FIRST)};
    set_program(&rig, 0, compute, TASKS, comm, 1);
    engine_run(rig.arena, &rig.system, &(struct engine_options){.each_task = true}, &rig.outcome);
    assert_int_equal(rig.outcome.jobs[0].end, 1320);
    assert_int_equal(rig.outcome.tasks, TASKS + 1);
    assert_true(rig.outcome.tasks_repeated >= FIRST / 2);
    arena_free(rig.arena);
}

/* ---- blocks that come again --------------------------------------------------------------- */

/* Blocks of a task of 10 and a transfer of 10, of which neither waits for anything; but the first
 * transfer takes 155, and so do those of blocks 8 and 9. When the tasks have long been in blocks
 * that are all alike, the transfers are not: a cycle must not be moved over blocks 8 and 9.
 * Transfers: 155 + 7 x 10 + 2 x 155 + 34 x 10 = 875. */
static void a_stream_that_lags_behind_is_in_blocks_of_its_own(void **state)
{
    (void)state;
    enum { BLOCKS = 44 };
    struct rig rig;
    rig_init(&rig, 1);
    rig.transfers[0] = (struct engine_transfer){.bytes = 10};
    rig.transfers[1] = (struct engine_transfer){.bytes = 155};
    const struct task task = work(10);
    const struct task quick = meet(0);
    const struct task slow = meet(1);
    const struct engine_block blocks[] = {{.tasks = {&task, &quick}, .counts = {1, 1}},
                                          {.tasks = {&task, &slow}, .counts = {1, 1}}};
    const struct engine_block *row[BLOCKS];
    for (uint32_t b = 0; b < BLOCKS; b++) {
        row[b] = &blocks[b == 0 || b == 8 || b == 9];
    }
    rig.programs[0] = engine_program_of(rig.arena, row, BLOCKS);
    rig_run(&rig);
    assert_int_equal(rig.outcome.jobs[0].end, 875);
    assert_int_equal(rig.outcome.traffic[0].transfers, BLOCKS);
    assert_int_equal(cause(&rig, 0, WORK), 10 * BLOCKS);
    assert_true(rig.outcome.tasks_repeated > 0);
    arena_free(rig.arena);
}

/* Tasks of 10 and transfers of 20, 100 of each; from the 20th on task b waits for b - 19 transfers.
 * Two tasks and one transfer are a cycle, as long as that is no wait: until task 39, which waits
 * from 390 to 400. From then on tasks begin when transfers end, the last at 80 x 20: it has waited
 * for all that it did not work, 1610 - 1000, and ends before the transfers do. */
static void blocks_alike_are_no_cycle_when_waits_come_closer(void **state)
{
    (void)state;
    enum { BLOCKS = 100 };
    struct rig rig;
    rig_init(&rig, 1);
    rig.transfers[0] = (struct engine_transfer){.bytes = 20};
    const struct task early = work(10);
    struct task late = work(10);
    late.wait_count = 1;
    late.wait_stream[0] = COMM;
    late.wait_ended[0] = -19;
    const struct task transfer = meet(0);
    const struct engine_block blocks[] = {{.tasks = {&early, &transfer}, .counts = {1, 1}},
                                          {.tasks = {&late, &transfer}, .counts = {1, 1}}};
    const struct engine_block *row[BLOCKS];
    for (uint32_t b = 0; b < BLOCKS; b++) {
        row[b] = &blocks[b >= 20];
    }
    rig.programs[0] = engine_program_of(rig.arena, row, BLOCKS);
    rig_run(&rig);
    assert_int_equal(rig.outcome.jobs[0].end, 2000);
    assert_int_equal(cause(&rig, 0, WORK), 1000);
    assert_int_equal(cause(&rig, 0, EXPOSED), 610);
    assert_int_equal(cause(&rig, 0, IDLE), 390);
    assert_true(rig.outcome.tasks_repeated > 0);
    arena_free(rig.arena);
}

/* Both work 100, 100, 100 with a transfer of 20 of their own: the first between its second task and
 * its third, 100 + 100 + 20 + 100 = 320; the other beside its second, which then does 15 in 20, and
 * 85 in 85: 305. The layers of programs are alike, these are not. */
static void a_collective_between_tasks_is_not_taken_for_one_beside(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 2);
    rig.transfers[0].bytes = 20;
    rig.system.streams[COMM].interference = 250000;
    const struct task compute[] = {work(100), work(100), after(work(100), COMM, 1)};
    const struct task between[] = {after(meet(0), COMPUTE, 2)};
    const struct task beside[] = {after(meet(0), COMPUTE, 1)};
    set_program(&rig, 0, compute, 3, between, 1);
    set_program(&rig, 1, compute, 3, beside, 1);
    for (uint32_t i = 0; i < 2; i++) {
        rig.channels[i] = rig.channel;
        rig.channels[i].needed = rig.channels[i].member_count = 1;
        rig.channels[i].member_first = rig.channels[i].path_first = i;
        rig.paths[i] = rig.path;
        rig.actors[i].channels[COMM] = i;
    }
    rig.system.channels = rig.channels;
    rig.system.paths = rig.paths;
    rig.system.channel_count = rig.system.path_count = 2;
    rig_run(&rig);
    assert_int_equal(rig.outcome.events, 2);
    assert_int_equal(rig.outcome.jobs[0].end, 320);
    assert_int_equal(cause(&rig, 0, INTERFERENCE), 0);
    assert_int_equal(cause(&rig, 1, INTERFERENCE), 5);
    assert_int_equal(cause(&rig, 1, IDLE), 15);
    arena_free(rig.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_splits_at_the_last_arrival),
        cmocka_unit_test(buckets_overlap_as_a_two_machine_flow_shop),
        cmocka_unit_test(an_overlapped_transfer_slows_the_kernel_beside_it),
        cmocka_unit_test(a_slow_actor_takes_longer_for_the_same_work),
        cmocka_unit_test(the_time_after_the_last_task_is_booked),
        cmocka_unit_test(multiplicity_changes_totals_and_nothing_else),
        cmocka_unit_test(phases_add_up_each_over_its_own_path),
        cmocka_unit_test(a_share_slows_a_phase_on_idle_links),
        cmocka_unit_test(channels_contend_only_while_on_the_same_link),
        cmocka_unit_test(paths_may_share_their_crossings),
        cmocka_unit_test(a_link_with_room_for_all_holds_nobody_up),
        cmocka_unit_test(a_link_that_its_feeders_cannot_overfill_is_left_out),
        cmocka_unit_test(a_ring_is_fed_by_all_its_ports),
        cmocka_unit_test(a_link_of_one_channel_is_its_cap),
        cmocka_unit_test(a_share_leaves_the_rest_of_a_link_to_others),
        cmocka_unit_test(a_bridge_holds_up_those_whose_links_it_crosses),
        cmocka_unit_test(each_job_ends_with_its_own_last_task),
        cmocka_unit_test(jobs_share_links_and_nothing_else),
        cmocka_unit_test(a_step_ends_with_the_last_actor_of_its_job),
        cmocka_unit_test(a_cycle_ends_where_tasks_wait_for_more),
        cmocka_unit_test(a_stream_that_lags_behind_is_in_blocks_of_its_own),
        cmocka_unit_test(an_outcome_outlives_what_its_run_took),
        cmocka_unit_test(blocks_alike_are_no_cycle_when_waits_come_closer),
        cmocka_unit_test(a_stream_that_waits_through_cycles_begins_in_time),
        cmocka_unit_test(a_collective_between_tasks_is_not_taken_for_one_beside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
