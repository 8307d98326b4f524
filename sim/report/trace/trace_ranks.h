/* Which ranks of a step a trace shows (--ranks).
 *
 * Ranks of a class do the same at the same time (train/fold), so the first of each class shows all
 * that happens; who wants others says so.
 */
#ifndef REPORT_TRACE_TRACE_RANKS_H
#define REPORT_TRACE_TRACE_RANKS_H

#include "train/trace/step_trace.h"

struct diag;

struct trace_ranks {
    const uint32_t *items; /* rising, each once */
    uint32_t count;
};

/* Where nobody says which. */
struct trace_ranks_unasked {
    uint32_t all_up_to; /* of so many ranks all */
    uint32_t most;      /* of more the first of each class, at most so many */
};

/* What a text asks for: "all", "0-7,16"; NULL: as `unasked` says. False with a message. */
MUST_USE bool trace_ranks_read(struct arena *arena, const struct step_trace *trace,
                               const char *text, const struct trace_ranks_unasked *unasked,
                               struct trace_ranks *ranks, struct diag *diag);

#endif
