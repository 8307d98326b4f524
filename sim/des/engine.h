/* The room des: what happens when, by whom, over which link.
 *
 * Invariant: Time is integer nanoseconds, amounts, rates and capacities are scaled integers, and
 * what happens at one instant commutes. So nothing hangs on the order of events, and an actor
 * that stands for a thousand gives what a thousand give. There is no word of training: actors,
 * tasks, channels and links, no GPU.
 *
 * Lives here: the clock and its queue, servers, links that flows share (fluid), the engine that
 * runs programs, and its record, from which the critical path is read.
 * May come in: base.
 *
 * Decided in one place each:
 *     who owns a waited nanosecond: "ties in the order listed"       engine.c
 *     what a wait is booked under that something late began          engine_late.c
 *     who gets how much of a link                                    fluid_fill.c
 *        where few hang together by links                            fluid_group.c
 *        what it is asked about                                      engine_flows.c
 *        which links at all                                          engine_links.c
 *        who needs no solving                                        fluid_apart.c
 *     what comes again in a program and is written once: its blocks  engine_program.h
 *     what an actor does by itself, and ends in one event            engine_stretch.c
 *        where that begins and ends                                  engine_stretch_find.c
 *        actors in lockstep                                          engine_together.c
 *        who else waits for it                                       engine_waiters.c
 *        what programs that come again share of it, found once       engine_known.h
 *     which cycles are simulated, and which are moved over           engine_repeat.c
 *     whether a run can still end in time                            least/engine_least.c
 *     who goes next where replicas seldom meet (for the cache)       engine_islands.c
 *     what ended when, stretches and cycles included                 record/engine_record.c
 *        tasks within a stretch                                      record/engine_replay.c
 *     what an end hangs on: the critical path                        record/engine_critical.c
 *        its sums                                                    record/engine_critical_sum.c
 *     how much later it ends if a link or an actor is slower         record/engine_sensitivity.c
 *     whether small differences grow on the way                      record/engine_drift.c
 */

/* Programs on streams: many actors, each running an ordered list of tasks on
 * each of a few streams, meeting one another in channels.
 *
 * An *actor* (a GPU, for the layers above) is a cursor per stream in a
 * *program* (engine_program.h); actors of equal roles share one program, so memory grows with
 * actors and blocks of programs, never with tasks executed. A *stream* runs its tasks in
 * order, one at a time. A task may wait for others of the same actor: until so many tasks of
 * a stream have ended.
 *
 * Stream 0 computes: its tasks are amounts of work at a rate. The rate is the
 * actor's speed less what tasks under way on other streams take of it
 * (interference); when that changes, the task under way is re-timed. Every
 * other stream is bound to one *channel* per actor:
 *
 *   collective  all members' tasks meet; the transfer starts when the last one
 *               arrives and ends for all at once
 *   pair        a sender and a receiver; sends start when they are ready, in order;
 *               a send ends when its bytes have left, a receive when its message has
 *               arrived, the channel's latency later (eager, buffered): meanwhile the
 *               next message's bytes leave
 *
 * A transfer is a chain of phases; each is a latency (holding no bandwidth) and
 * then bytes through one of the channel's paths by des/fluid. A pipelined collective has one
 * phase; one in rounds has several, which add up and do not overlap.
 *
 * Accounting: each nanosecond of stream 0, from 0 to the end of the whole
 * simulation, is booked on one cause. Work books on the task's cause, on
 * `launch` and on `interference`. A wait books on the stream that let it end
 * last (of several at one instant, the lowest stream): the part in which that
 * stream's task was waiting for its partners on the stream's wait cause, the
 * rest on its exposed cause. Per actor the causes sum to the end time exactly;
 * this is asserted.
 *
 * Some causes are handed on (engine_system.lates): what they made late makes others late, and who
 * waits for these books that part of the wait for partners on the cause that began it, through
 * whatever lies between (engine_late.c). They are the transfers of channels that say so, and what
 * slow actors take longer.
 *
 * Jobs: actors belong to jobs, which share nothing but links. Each job ends with its own last
 * task; its actors' books close then.
 *
 * Multiplicity: an actor may stand for many identical ones, a channel for many
 * identical channels. A member's weight is how many of the real channel's
 * members this actor stands for; usages of links are given already multiplied
 * by the caller (train/fold). What happens at one instant commutes, so an
 * engine run with multiplicities equals the full one to the nanosecond.
 *
 * Stretches: where an actor's tasks concern nobody else, as the compute and the collectives of
 * tensor parallelism within a stage do, they end in one event (engine_stretch.c says when; of those
 * who meet at different speeds, engine_together.c). The outcome is the same to the nanosecond but
 * for the number of events.
 *
 * Cycles: where the state and the tasks to come are those of a while ago (microbatch after
 * microbatch), what happened since will happen again, and is moved over in one step: times and
 * counts grow by what they grew in the cycle. The outcome is the same to the nanosecond and to the
 * event (engine_repeat.c says why), but not of several jobs, nor of programs with step_tasks, which
 * are simulated whole. With a hook (on_task) each task is.
 *
 * Islands: where many actors seldom meet others, as replicas of a pipeline do, they are simulated
 * one after the other between these meetings, so that what they touch stays in the cache
 * (engine_islands.c). The outcome is the same to the nanosecond but for the numbers of events and
 * solves.
 *
 * Deadlock (tasks left, no event) is a broken invariant of the programs.
 */
#ifndef DES_ENGINE_H
#define DES_ENGINE_H

#include "des/engine_program.h"
#include "des/event.h"
#include "des/fluid.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;

#define ENGINE_CAUSES_MAX 16
#define ENGINE_LATES_MAX 3
#define ENGINE_NONE UINT32_MAX
#define ENGINE_FULL_SPEED 1000000       /* speeds and interference are in millionths */
#define ENGINE_INTERFERENCE_MOST 900000 /* of these: a tenth of the speed is left */
/* Of one task, 4,000 s: times ENGINE_FULL_SPEED it is an int64_t. */
#define ENGINE_WORK_NS_MAX INT64_C(4000000000000)

struct task_wait {
    uint32_t stream;
    uint32_t ended; /* tasks of that stream that must have ended */
};

/* One phase of a transfer, and what follows it. */
struct engine_transfer {
    sim_time latency_ns;
    int64_t bytes;
    uint32_t path;  /* of the channel */
    uint32_t share; /* millionths of the path's cap that it may use; 0: all */
    uint32_t next;  /* the phase that follows: its index + 1; 0: none */
};

struct engine_actor {
    uint32_t program;
    uint32_t job;                          /* 0 .. job_count - 1 */
    uint32_t speed;                        /* 1 .. ENGINE_FULL_SPEED */
    int64_t multiplicity;                  /* >= 1 */
    uint32_t channels[ENGINE_STREAMS_MAX]; /* by stream, ENGINE_NONE if unused; [0] unused */
};

enum channel_kind { CHANNEL_COLLECTIVE, CHANNEL_PAIR };

struct engine_member {
    uint32_t actor;
    uint32_t stream;
    uint32_t weight; /* real members it stands for */
};

struct engine_crossing {
    uint32_t link;
    uint64_t usage; /* FLUID_USAGE_ONE = once; multiplied by multiplicity on that link */
};

/* One way of a channel through the links. Paths may share their crossings. */
struct engine_path {
    uint32_t crossing_first;
    uint32_t crossing_count;
    int64_t cap_bytes_per_s; /* on idle links */
};

struct engine_channel {
    uint8_t kind;          /* enum channel_kind */
    uint8_t makes_late;    /* its transfers, who waits for them: 1 + number of a late; 0: none */
    uint32_t needed;       /* collective: sum of weights */
    uint32_t member_first; /* pair: sender, then receiver */
    uint32_t member_count;
    uint32_t path_first;
    uint32_t path_count;
    sim_time latency_ns; /* pair: on the way, after the bytes; collective: before a transfer */
    int64_t multiplicity;
};

struct engine_known;

struct engine_stream {
    const char *name;
    uint8_t exposed_cause;
    uint8_t wait_cause;
    uint32_t interference; /* millionths of the compute rate while a task is under way */
};

struct engine_system {
    const struct engine_program *programs;
    const struct engine_actor *actors;
    const uint32_t *classes; /* by actor: those of one do the same at the same time; NULL: each is
                                of its own */
    const struct engine_channel *channels;
    const struct engine_path *paths; /* each of one channel */
    const struct engine_member *members;
    const struct engine_crossing *crossings;
    const int64_t *link_capacities; /* bytes/s */
    const struct engine_transfer *transfers;
    struct engine_stream streams[ENGINE_STREAMS_MAX];
    uint32_t program_count, actor_count, channel_count, member_count, crossing_count, link_count;
    uint32_t path_count, transfer_count, stream_count, cause_count;
    uint32_t job_count;                                  /* >= 1 */
    uint8_t launch_cause, interference_cause, end_cause; /* end: after an actor's last task */
    uint8_t
        lates[ENGINE_LATES_MAX]; /* causes that are handed on; of a wait the first comes first */
    uint8_t late_count;          /* 0: none are */
    uint8_t slow_late; /* the number of that of what slow actors take longer; late_count: none */
    struct engine_known *known; /* of such programs (des/engine_known.h); NULL: nothing is kept */
};

/* Of an actor its program. */
static inline const struct engine_program *engine_program_of_actor(
    const struct engine_system *system, uint32_t actor)
{
    return &system->programs[system->actors[actor].program];
}

/* What a compute task takes at an actor's own speed, and how much of that is launch. */
static inline int64_t engine_work_ns(const struct task *task, uint32_t speed)
{
    return speed == ENGINE_FULL_SPEED
               ? task->work_ns
               : (task->work_ns * ENGINE_FULL_SPEED + speed - 1) / (int64_t)speed;
}

static inline int64_t engine_launch_ns(const struct task *task, uint32_t speed)
{
    return speed == ENGINE_FULL_SPEED ? (int64_t)task->launch_ns
                                      : (int64_t)task->launch_ns * ENGINE_FULL_SPEED / speed;
}

/* Called at the end of each task, if wanted (traces, tests). */
typedef void engine_task_hook(void *context, uint32_t actor, uint32_t stream, uint32_t index,
                              sim_time start, sim_time end);

/* Called when stream 0 of an actor has waited, beside on_task: for so long until now, as is booked;
 * after its last task at the end of all. What is between its tasks is told without a gap, in order
 * of time. */
typedef void engine_wait_hook(void *context, uint32_t actor, uint8_t cause, int64_t ns);

/* Called when bytes of a channel begin to flow, whenever their rate becomes another one, and with
 * rate 0 when the last of them has left. `phase`: of their transfer, an index into transfers. Not
 * of bytes that nobody else can slow down, which take what they take on idle links. */
typedef void engine_rate_hook(void *context, uint32_t channel, uint32_t phase, int64_t bytes_per_s,
                              sim_time time);

struct engine_record;

struct engine_options {
    engine_task_hook *on_task; /* NULL: none; else each task and each cycle is simulated */
    engine_wait_hook *on_wait; /* NULL: none; not without on_task */
    engine_rate_hook *on_rate; /* NULL: none; only with on_task */
    void *context;
    struct engine_record *record; /* what ended when (des/record/engine_record.h); NULL: not kept */
    bool only_length; /* when jobs and their steps end, and nothing else of the outcome is
                                   * asked: no books are kept; without hooks and record */
    /* With only_length: of a job 0 that ends later nobody asks when; 0: it is asked. */
    sim_time until;
    bool finds_steadiness; /* of the outcome; without on_rate */
    bool each_task;        /* no stretches: slow, for tests */
    bool each_cycle;       /* no cycles that come again: slow, for tests */
    /* Of more than twice as many actors, those who seldom meet others go on by themselves
     * meanwhile, in islands of so many, or more where they meet often; 0: as many as a cache
     * holds. */
    uint32_t island_max;
    /* Takes all that is not of the outcome; NULL: the outcome's arena does. */
    struct arena *scratch;
};

#define ENGINE_STEPS_MAX 64

struct engine_job {
    sim_time end;
    sim_time step_ends[ENGINE_STEPS_MAX];    /* of stream 0, where programs have step_tasks */
    int64_t total_causes[ENGINE_CAUSES_MAX]; /* ns, times multiplicity */
};

/* What one channel did. */
struct engine_traffic {
    uint64_t transfers;
    sim_time moving_ns; /* latency and transfer, over all of them */
    sim_time alone_ns;  /* the same, had no other flow been under way; at most moving_ns */
};

/* How far instants of a run move when bytes take longer, to first order (record/engine_drift.c);
 * HUGE_VAL: not known, as of cycles that came again, of islands and of who goes together. */
struct engine_steadiness {
    double gain;     /* if each transfer does or takes shorter by chance: how many times as far as
                      * a random walk of what transfers take */
    double reach_ns; /* if all do by the same part of what they take: for each such part */
};

struct engine_outcome {
    bool is_cut; /* job 0 ends after options.until, where the run was left: no more is known */
    struct engine_job *jobs;
    int64_t (*actor_causes)[ENGINE_CAUSES_MAX]; /* ns, per simulated actor, times 1 */
    struct engine_traffic *traffic;             /* per channel */
    int64_t bytes_sent, bytes_received;         /* over pairs, times multiplicity; equal */
    uint64_t tasks;                             /* executed by simulated actors */
    uint64_t tasks_repeated; /* of these, moved over with a cycle that came again */
    uint64_t events;
    uint64_t turns;                      /* in which islands went on by themselves */
    struct engine_steadiness steadiness; /* if it was asked for */
    struct fluid_statistics fluid;
};

/* Runs the system to its end. All memory is the arena's. */
void engine_run(struct arena *arena, const struct engine_system *system,
                const struct engine_options *options, struct engine_outcome *outcome);

#endif
