/* Two halves of a program side by side: the forward of one microbatch and the backward of
 * another, each giving the other something to compute while it communicates.
 *
 *     lane 1   |exchange.|                     experts backward     |exchange...|
 *     lane 0   attention           |dispatch..|                     experts    |combine..|
 *     compute  attention (forward) experts backward  experts  attention backward
 *
 * Each half is recorded as if it were alone: work, communication, and what it waits for. Then
 * both are emitted in turns, the backward first: one half until it has to wait for an exchange
 * with experts, then the other until it has to; so the wait of one comes after the compute of
 * the other. What
 * each half waits for is what it waited for alone, so the result is a program as good as
 * either order; in each stream tasks are in the order of emission.
 *
 * ASSUMES: halves change places at exchanges with experts only (as DualPipe and Megatron-LM's
 * combined 1F1B do): where there are none, the forward follows the backward.
 * ASSUMES: a pair begins when the messages for both halves have come, and its own messages leave
 * at its end, the forward's first.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_LANES_H
#define TRAIN_PROGRAM_PROGRAM_LANES_H

#include "train/streams.h"
#include "train/timing.h"

struct arena;

enum lane_op_kind { LANE_WORK, LANE_NEED, LANE_EMIT };

/* What a program's builder is told to do. */
struct lane_op {
    uint8_t kind;           /* enum lane_op_kind */
    uint8_t cause;          /* work */
    uint8_t stream;         /* need, emit */
    uint8_t task_kind;      /* emit */
    uint32_t transfer;      /* emit */
    uint32_t ended;         /* need: tasks of the stream */
    struct task_wait after; /* emit; ended 0: none */
    struct work work;
};

struct lane {
    struct lane_op *ops;
    size_t count, capacity;
    uint32_t emitted[STREAM_COUNT_];  /* of the lane */
    uint32_t needed[STREAM_COUNT_];   /* counted within the lane */
    uint32_t *numbers[STREAM_COUNT_]; /* where its tasks came to lie, when emitted */
    size_t number_capacity[STREAM_COUNT_];
    size_t position; /* while emitting */
};

struct lanes {
    struct arena *arena;
    struct lane lane[2];
    uint32_t base[STREAM_COUNT_]; /* tasks of the streams before both */
    uint32_t recording;           /* lane + 1; 0: nothing is recorded */
    uint32_t turn;                /* while emitting: the lane whose turn it is */
    size_t turn_first;            /* its operation that the turn began with */
};

/* What is noted from here on belongs to `lane`, which is 0, then 1. So far the streams had
 * `emitted` tasks each, and compute waited for `needed` of them. */
void lanes_begin(struct lanes *lanes, uint32_t lane, const uint32_t emitted[STREAM_COUNT_],
                 const uint32_t needed[STREAM_COUNT_]);

bool lanes_record(const struct lanes *lanes);
void lanes_note(struct lanes *lanes, const struct lane_op *op);
/* Tasks of a stream, those of the lane that is recorded included. */
uint32_t lanes_emitted(const struct lanes *lanes, enum stream stream);

/* Nothing is recorded any more: what was comes out, woven together. */
void lanes_end(struct lanes *lanes);
/* The next operation, its waits counted in the streams; false: that was all. */
bool lanes_next(struct lanes *lanes, struct lane_op *op);
/* The task of the last operation came to lie as the `number`-th of its stream. */
void lanes_place(struct lanes *lanes, enum stream stream, uint32_t number);

#endif
