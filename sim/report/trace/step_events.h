/* A step as trace events, for Perfetto and chrome://tracing: what each rank shown does, waits for
 * and sends, what the links carry, and over whom the critical path runs.
 *
 * Processes, from above:
 *
 *     critical path   who is on it, and with what: slices that follow one another from 0 to the end
 *                     of the step
 *     links           counters: Gbps on the mean link of each kind
 *     site            counter: kW that the site draws
 *     rank R          one of each class that is shown (report/trace/trace_ranks), with
 *         compute     the actions of the schedule, and in them kernels: FLOPs, bytes of memory,
 *                     gaps of launches, what transfers beside them cost them
 *         waits       of the compute stream, by cause
 *         a lane for each other stream that has tasks: transfers while they move, and before them
 *                     "waits for peers" from when the rank had come; bytes, algorithm, protocol,
 *                     the link that binds, how long it takes alone
 *         memory      counter: GB, as the actions of the schedule allocate and free
 *
 * Sums, to the nanosecond. Of a rank, over the lanes `compute` and `waits`: a cause of `breakdown`
 * has its kernels' time less launches and overlap slowdown, `launch` and `interference` these, and
 * the waits that are named so; together they are the step. Where an action's end cuts a wait, it
 * may be booked on another stream than `run` has it (train/timeline).
 *
 * An arrow goes from each message sent to its arrival, where both ranks, or ranks that do the same,
 * are shown. Times are those of train/trace/step_trace.
 *
 * At most STEP_EVENTS_MAX events, more than which viewers get slow. If the ranks that are asked for
 * have more, the first that fit are shown: slow ones, then one of each class, then others. If one
 * rank has more by itself, its kernels, waits and messages are shown up to some time, later on its
 * actions, the gradients' collectives and what is no action's.
 *
 * Not in it: what a step waits for loaders and checkpoints, and the jobs beside it.
 */
#ifndef REPORT_TRACE_STEP_EVENTS_H
#define REPORT_TRACE_STEP_EVENTS_H

#include "report/trace/trace_ranks.h"

struct diag;
struct memory_job;
struct power_trace;
struct step_seen;

enum { STEP_EVENTS_MAX = 500000 };

/* What is told, borrowed. */
struct step_events {
    const char *title; /* of the scenario */
    struct step_trace *trace;
    const struct step_seen *seen; /* of it */
    const struct memory_job *memory;
    const struct power_trace *power; /* of the same step */
    struct trace_ranks ranks;        /* that are asked for */
};

struct step_events_shown {
    uint32_t ranks;
    uint64_t events;
    sim_time until; /* of all that is to be seen; the end of the step, if nothing is left out */
};

/* To a file, packed if its name ends in .gz. False with a DIAG_FAILURE, and nothing is left behind.
 */
MUST_USE bool step_events_write(struct arena *arena, const struct step_events *events,
                                const char *path, struct step_events_shown *shown,
                                struct diag *diag);

#endif
