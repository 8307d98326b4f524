/* A pipeline as a checker sees it: slots that a microbatch goes through, and orders.
 *
 * A slot is a chunk of a stage, number stage * chunks + chunk. From it a microbatch goes
 * forward to `next`, and its backward comes back the same way. Nothing here knows schedules by
 * name: schedule checks those it generates with it, input/schedule_file those it reads.
 */
#ifndef INPUT_SCHEDULE_LINE_H
#define INPUT_SCHEDULE_LINE_H

#include "input/schedule_file.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;

#define SCHEDULE_NOWHERE UINT32_MAX

struct schedule_slot {
    uint32_t next;                             /* SCHEDULE_NOWHERE: it meets the loss */
    uint32_t previous;                         /* SCHEDULE_NOWHERE: it enters */
    uint32_t microbatch_first, microbatch_end; /* which ones come through: [first, end) */
};

struct schedule_line {
    uint32_t stages, chunks, microbatches;
    const struct schedule_slot *slots;   /* stages * chunks */
    const struct schedule_order *orders; /* of each stage */
};

struct schedule_fault {
    uint32_t stage;
    uint64_t position;  /* of its order; behind the last action where one is missing */
    const char *reason; /* "the forward of microbatch 3 comes twice"; the arena's */
    const char *help;   /* what would be right; may be NULL */
};

/* Each action once, forwards before backwards, weight gradients after input gradients, and,
 * by executing the orders, no deadlock. `fault` may be NULL. */
bool schedule_line_check(struct arena *arena, const struct schedule_line *line,
                         struct schedule_fault *fault);

/* What an action does, for those who go through orders: at most one forward and one backward. */
bool schedule_action_is_forward(const struct schedule_action *action);  /* F or a pair */
bool schedule_action_is_backward(const struct schedule_action *action); /* B, BW or a pair */
/* Of a backward or of weight gradients. */
uint32_t schedule_backward_chunk(const struct schedule_action *action);
uint32_t schedule_backward_microbatch(const struct schedule_action *action);

/* "F3", "BW3.1", "F5.0+BW2.1"; the chunk is left out where a stage has but one. */
const char *schedule_action_text(struct arena *arena, const struct schedule_action *action,
                                 uint32_t chunks);

/* ---- execution -------------------------------------------------------------------------- */

/* Goes through the orders of a checked line, or one being checked. An action that became
 * possible stays so: if any durations lead to a deadlock, all do, and time is not needed. */
struct schedule_run {
    const struct schedule_line *line;
    uint64_t *next;    /* per stage: position of the action to come */
    uint8_t *is_done;  /* [slot * microbatches + microbatch]: bits SCHEDULE_DONE_* */
    uint64_t executed; /* actions of all stages */
};

enum {
    SCHEDULE_DONE_FORWARD = 1,
    SCHEDULE_DONE_BACKWARD = 2, /* input gradients */
    SCHEDULE_DONE_WEIGHTS = 4
};

struct schedule_run schedule_run_start(struct arena *arena, const struct schedule_line *line);

/* The next action of a stage when all it waits for is done, and marks it done; else NULL. */
const struct schedule_action *schedule_run_step(struct schedule_run *run, uint32_t stage);

#endif
