/* The critical path of an engine's run: the chain of tasks that is as long as the run.
 *
 * It is walked back from the task of job 0 that ends last. A task began at the instant at which the
 * last of what it waited for ended: the task before it on its stream, or one of another stream. A
 * collective moved when the last of its members had come; a message left when its sender was ready,
 * and arrived a latency after its bytes had left. So something always ended at that instant, and
 * the chain goes back to 0 without a gap:
 *
 *     0 |-- work --|-- work --| latency | bytes |-- work --| end
 *         actor 3    actor 3    collective, of    actor 5
 *                               which 3 came last
 *
 * Its legs add up to the end of the job to the nanosecond, which is asserted. Where several things
 * ended at one instant the lowest stream is followed, as in the accounts of waits; of members that
 * came together, the first.
 *
 * What a leg consists of:
 *
 *     work         a task's at full speed, by its cause, and of it what is launch
 *     slow         what a slower actor takes longer for both
 *     interference what the task took longer than that; each stream has a part in proportion to
 *                  how long it was under way meanwhile and how much it takes
 *     latency      of a transfer, all its phases
 *     bytes        what these take on idle links
 *     contention   what the transfer took longer than that, since others were on its links; each
 *                  of these has a part in proportion to how long it was there
 *
 * Of the last two it matters who ends first. Work beside a transfer that ends before it does takes
 * a nanosecond less for each that the transfer takes less (times what it takes of the rate): the
 * part is the transfer's, `interference`. Work that ends while the transfer goes on does not care
 * how long that lasts: it is as if the actor were slower, `covered`. So it is with flows: who
 * leaves a link earlier has held up those that stay (`held_up`); beside one who is still there a
 * flow is slow as on a thinner link (`contention`), and so it is beside those like it for which its
 * channel stands, too.
 *
 *     struct engine_record *record = engine_record_new(arena);
 *     engine_run(arena, system, &(struct engine_options){.record = record}, &outcome);
 *     struct engine_critical path;
 *     engine_critical_sum(arena, record, &path);
 */
#ifndef DES_RECORD_ENGINE_CRITICAL_H
#define DES_RECORD_ENGINE_CRITICAL_H

#include "des/record/engine_record.h"

/* A task of another stream. */
struct engine_other {
    sim_time begin, end;
    uint32_t stream;
};

/* ---- the legs ------------------------------------------------------------------------------- */

struct engine_leg {
    uint32_t actor, stream, index; /* the task; of a transfer, the one that came last */
    const struct task *task;
    sim_time begin, end;
    uint32_t known;     /* not 0: all legs of a stretch, noted under that number (inside only) */
    bool is_on_its_way; /* a message whose bytes have left: its latency */
    bool is_of_stretch; /* work of a stretch that the actor did by itself (des/engine.h), */
    uint32_t beside;    /* beside which a collective of this stream lay; 0: none, */
    sim_time beside_begin, beside_end;
    const struct engine_other *others; /* and what else was under way during the stretch */
    uint32_t other_count;
    int64_t times; /* that it comes, with the legs beside it, in a cycle that comes again: this
                         * is the last */
};

/* Each leg of the path, the last one first; those that come again once. */
typedef void engine_leg_visit(void *context, const struct engine_leg *leg);

/* Of a record that saw a whole run. */
void engine_critical_walk(struct engine_record *record, engine_leg_visit *visit, void *context);

/* When what a task of another stream meets moves: a collective from the last arrival on, a message
 * from when its sender was ready until it has arrived. Of a sender's task until its bytes have
 * left. */
struct engine_span engine_critical_moving(struct engine_record *record, uint32_t actor,
                                          uint32_t stream, uint32_t index);

/* ---- their sums ----------------------------------------------------------------------------- */

/* All in ns; they add up to `length`. */
struct engine_critical {
    sim_time length;
    int64_t work[ENGINE_CAUSES_MAX]; /* without launches */
    int64_t launch, slow;
    int64_t interference[ENGINE_STREAMS_MAX]; /* by the stream that took it and ended first */
    int64_t covered[ENGINE_STREAMS_MAX];      /* by the stream that took it and went on */
    int64_t rounding;                         /* of tasks beside which nothing was under way */
    int64_t *latency, *bytes, *contention;    /* [transfer_count], by the first phase's number */
    int64_t held_up[ENGINE_STREAMS_MAX];      /* by the stream of those who left earlier */
    int64_t (
        *moved)[ENGINE_STREAMS_MAX]; /* [actor_count]: `bytes` again, by the actor of the leg */
    int64_t *on_actor;               /* [actor_count]: of `length`, on stream 0 of these */
    uint64_t legs;
    uint32_t visited; /* of these, those that come again once */
};

/* Arrays are the arena's. */
void engine_critical_sum(struct arena *arena, struct engine_record *record,
                         struct engine_critical *path);

#endif
