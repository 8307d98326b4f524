/* When each stage computes what, waits for what and sends what, and over which of them the critical
 * path runs: one step, for pictures.
 *
 * A *row* is one GPU (train/watch): first one of each stage, then the slow ones (`slow:`), each on
 * its own, then at most four others over which the path runs for 2 % of the step or more: behind a
 * slow GPU those of its replica.
 *
 *     struct timeline timeline;
 *     timeline_simulate(arena, scenario, &(struct timeline_request){.folds = true, .step = &step},
 *                       &timeline);
 *
 * Of a row there are
 *
 *     bars       a bar lasts from the begin of an action's first kernel to the end of its last;
 *                what it waits for in between (exposed communication inside it) is part of it
 *     pieces     what stream 0 does at each moment: kernels, with their launches and what transfers
 *                beside them cost them, or a wait by its cause, as the engine books it. They follow
 *                one another from 0 to the end of the step without a gap (asserted)
 *     transfers  of its other streams, while bytes move or are about to: a collective from its last
 *                member's arrival on, a message from when its sender is ready until it has arrived
 *
 * The *path* is that of des/record/engine_critical, its legs in order of time from 0 to the end
 * without a gap (asserted). A leg over a GPU that has no row is told of its stage's.
 *
 * The step is that of `step`: of its ensemble the same run, and after the run it waits for the
 * slowest GPU (train/jitter). Accounts of causes are not taken from this run: where tasks are cut
 * with their actions, a wait may be booked on another of the streams that it was for; and where a
 * slow GPU's tasks are cut, each is rounded by itself, so the end may differ by some nanoseconds.
 */
#ifndef TRAIN_TIMELINE_H
#define TRAIN_TIMELINE_H

#include "plan/schedule/schedule.h"
#include "train/step.h"

enum timeline_kind {
    TIMELINE_ACTION,    /* of the schedule */
    TIMELINE_OPTIMIZER, /* and the gradient norm */
    TIMELINE_OTHER,     /* host work at the step's begin */
    TIMELINE_KIND_COUNT_
};

struct timeline_bar {
    enum timeline_kind kind;
    struct schedule_action action; /* of TIMELINE_ACTION */
    sim_time start, end;
    sim_time recompute_ns; /* forwards that its backward repeats, part of the bar */
};

#define TIMELINE_NO_BAR SIZE_MAX

struct timeline_piece {
    sim_time start, end;
    enum cause cause;
    size_t bar; /* of kernels, the row's bar in which they are; else TIMELINE_NO_BAR */
};

struct timeline_transfer {
    sim_time start, end;
    enum cause cause; /* that waiting for it has: CAUSE_EXPOSED_PP of messages between stages */
};

struct timeline_row {
    uint32_t stage;
    const struct slow_rank *slow; /* NULL: it is not slow */
    uint32_t alike;               /* more slow GPUs that do the same */
    int64_t rank;                 /* of one that is here for the path; else -1 */
    struct timeline_bar *bars;    /* in order of time */
    size_t count;
    struct timeline_piece *pieces;
    size_t piece_count, piece_capacity;
    struct timeline_transfer *transfers; /* of one cause in order of time, unless several streams
                                          * have it */
    size_t transfer_count, transfer_capacity;
};

struct timeline_leg {
    sim_time start, end;
    uint32_t row;
    enum cause cause; /* of kernels theirs, of a transfer that of waiting for it */
};

struct timeline {
    uint32_t stages;
    uint32_t chunks;
    uint32_t row_count;
    uint32_t slow_left_out;    /* slow GPUs without a row: those of WATCH_SLOW_MAX are slower */
    struct timeline_row *rows; /* the first are those of the stages */
    struct timeline_leg *path;
    size_t leg_count, leg_capacity;
    sim_time run_end; /* before what is waited for the slowest GPU */
    sim_time end;     /* of the step */
};

struct timeline_request {
    bool folds;
    /* NULL: of the unperturbed run, which ends with its last task */
    const struct step_result *step;
};

/* All memory is the arena's. */
void timeline_simulate(struct arena *arena, const struct scenario *scenario,
                       const struct timeline_request *request, struct timeline *timeline);

#endif
