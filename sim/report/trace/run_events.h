/* The months of a run as trace events: one of its histories (run/history/history_seen), for
 * Perfetto and chrome://tracing. Times are those of the run, from when the job has its nodes.
 *
 * A process, with
 *
 *     training      steps that count, between two checkpoints or changes of regime; in which regime
 *     lost work     steps that were done again, and what was done of one that never ended
 *     a lane for each other account of the run (run/account): checkpoints, detection, waiting,
 *                   recovery, planned; what failed
 *     regimes       what made steps longer, for as long as it did
 *     counters      the time in steps that count, in per cent of all so far; nodes that are up,
 *                   spares with them
 *
 * Lanes but for `regimes` follow one another from 0 to the end: those of an account sum to it, to
 * the nanosecond, training to useful, data stall and degraded.
 *
 * At most STEP_EVENTS_MAX events: of more the first are shown, up to some time.
 */
#ifndef REPORT_TRACE_RUN_EVENTS_H
#define REPORT_TRACE_RUN_EVENTS_H

#include "report/trace/step_events.h"

struct history_seen;

struct run_events {
    const char *title;               /* of the scenario */
    const struct history_seen *seen; /* with at least one piece */
};

struct run_events_shown {
    uint64_t events;
    sim_time until; /* what is shown; the end, if nothing is left out */
};

/* To a file, packed if its name ends in .gz. False with a DIAG_FAILURE, and nothing is left behind.
 */
MUST_USE bool run_events_write(struct arena *arena, const struct run_events *events,
                               const char *path, struct run_events_shown *shown, struct diag *diag);

#endif
