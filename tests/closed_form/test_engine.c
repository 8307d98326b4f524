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
    struct engine_transfer transfers[2];
    struct engine_system system;
    struct engine_outcome outcome;
};

static void rig_init(struct rig *rig, uint32_t actors)
{
    *rig = (struct rig){.arena = arena_new()};
    for (uint32_t i = 0; i < actors; i++) {
        rig->actors[i] = (struct engine_actor){i, ENGINE_FULL_SPEED, 1, {ENGINE_NONE, 0}};
        rig->members[i] = (struct engine_member){i, COMM, 1};
    }
    rig->channel = (struct engine_channel){.kind = CHANNEL_COLLECTIVE,
                                           .needed = actors,
                                           .member_count = actors,
                                           .cap_bytes_per_s = BYTES_PER_S,
                                           .multiplicity = 1};
    rig->system = (struct engine_system){.programs = rig->programs,
                                         .actors = rig->actors,
                                         .channels = &rig->channel,
                                         .members = rig->members,
                                         .transfers = rig->transfers,
                                         .program_count = actors,
                                         .actor_count = actors,
                                         .channel_count = 1,
                                         .member_count = actors,
                                         .transfer_count = 2,
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
    rig->programs[actor].tasks[COMPUTE] = compute;
    rig->programs[actor].counts[COMPUTE] = compute_count;
    rig->programs[actor].tasks[COMM] = comm;
    rig->programs[actor].counts[COMM] = comm_count;
}

static struct task work(int64_t ns)
{
    return (struct task){.kind = TASK_COMPUTE, .cause = WORK, .work_ns = ns};
}

static struct task after(struct task task, uint8_t stream, uint32_t ended)
{
    task.wait_stream[task.wait_count] = stream;
    task.wait_ended[task.wait_count++] = ended;
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
    rig.transfers[0] = (struct engine_transfer){50, 200};
    const struct task fast[] = {work(100), after(work(10), COMM, 1)};
    const struct task slow[] = {work(300), after(work(10), COMM, 1)};
    const struct task comm[] = {after(meet(0), COMPUTE, 1)};
    set_program(&rig, 0, fast, 2, comm, 1);
    set_program(&rig, 1, slow, 2, comm, 1);
    rig_run(&rig);
    assert_int_equal(rig.outcome.end, 560);
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
    rig.transfers[0] = (struct engine_transfer){0, y};
    struct task compute[L + 1];
    struct task comm[L];
    for (uint32_t i = 0; i < L; i++) {
        compute[i] = work(x);
        comm[i] = after(meet(0), COMPUTE, i + 1);
    }
    compute[L] = after(work(0), COMM, L);
    set_program(&rig, 0, compute, L + 1, comm, L);
    rig_run(&rig);
    const int64_t end = rig.outcome.end;
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
    rig.transfers[0] = (struct engine_transfer){0, 400};
    const struct task compute[] = {work(100), work(900), after(work(0), COMM, 1)};
    const struct task comm[] = {after(meet(0), COMPUTE, 1)};
    set_program(&rig, 0, compute, 3, comm, 1);
    rig_run(&rig);
    assert_int_equal(rig.outcome.end, 1080);
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
    assert_int_equal(rig.outcome.end, 1000);
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
    assert_int_equal(rig.outcome.total_causes[WORK], 80);
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
    many.transfers[0] = one.transfers[0] = (struct engine_transfer){7, 33};
    for (uint32_t i = 0; i < 4; i++) {
        set_program(&many, i, compute, 2, comm, 1);
    }
    set_program(&one, 0, compute, 2, comm, 1);
    one.actors[0].multiplicity = 4;
    one.members[0].weight = 4;
    one.channel.needed = 4;
    rig_run(&many);
    rig_run(&one);
    assert_int_equal(many.outcome.end, one.outcome.end);
    for (uint32_t c = 0; c < CAUSES; c++) {
        assert_int_equal(many.outcome.total_causes[c], one.outcome.total_causes[c]);
    }
    arena_free(many.arena);
    arena_free(one.arena);
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
