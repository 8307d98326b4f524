/* What an actor of des/engine does: tasks on streams, written in blocks.
 *
 * A *task* is an operation of one stream; it may wait for others of the same actor. A *block* is
 * some tasks of each stream, in order, and a *program* a row of blocks: of each stream first the
 * tasks of the first block, then those of the second, and so on. What comes again and again (a
 * microbatch, a layer) is written as a block once and stands in the row many times, and in the
 * rows of several programs.
 *
 * A block does not know where it stands, so the waits of its tasks count from where it begins on
 * the stream that is waited for: of a block before which 40 tasks of stream 2 lie, (2, 3) means
 * that 43 tasks of stream 2 have ended, (2, 0) those before the block, (2, -1) all of these but the
 * last.
 *
 *     const struct engine_block *row[] = {&warmup, &cycle, &cycle, &cycle};
 *     struct engine_program program = engine_program_of(arena, row, 4);
 *     for (struct engine_walk walk = engine_walk_of(&program, 2); walk.task != NULL;
 *          engine_walk_next(&walk)) {
 *         ... walk.task, engine_walk_wait(&walk, 0) ...
 *     }
 *
 * Where steps are repeated (step_tasks), a step begins with a block.
 */
#ifndef DES_ENGINE_PROGRAM_H
#define DES_ENGINE_PROGRAM_H

#include "base/check.h"

#include <stddef.h>
#include <stdint.h>

struct arena;

#define ENGINE_STREAMS_MAX 25
#define ENGINE_WAITS_MAX 3

enum task_kind { TASK_COMPUTE, TASK_COLLECTIVE, TASK_SEND, TASK_RECEIVE };

struct task {
    uint8_t kind;
    uint8_t cause; /* compute: what its work is booked on */
    uint8_t wait_count;
    uint8_t wait_stream[ENGINE_WAITS_MAX];
    int32_t wait_ended[ENGINE_WAITS_MAX]; /* tasks of that stream, from the block's first on */
    uint32_t launch_ns;                   /* compute: the part of work_ns booked on launch */
    uint32_t transfer;                    /* else: index into transfers */
    int64_t work_ns; /* compute: at full speed, launch_ns included; at most ENGINE_WORK_NS_MAX */
};

/* Tasks written once that may come again and again. */
struct engine_block {
    const struct task *tasks[ENGINE_STREAMS_MAX];
    uint32_t counts[ENGINE_STREAMS_MAX];
};

struct engine_program {
    const struct engine_block *const *blocks; /* in their order; one may stand there many times */
    /* Tasks of each stream before each block; one row more, after the last: `counts`. */
    const uint32_t (*firsts)[ENGINE_STREAMS_MAX];
    uint32_t block_count;
    uint32_t counts[ENGINE_STREAMS_MAX]; /* of all blocks */
    uint32_t step_tasks; /* of stream 0 in one step, when steps are repeated; else 0 */
    uint64_t known_as;   /* programs of one number are the same; 0: nobody says so */
};

/* A program of these blocks. The row is copied, the blocks stay the caller's. */
struct engine_program engine_program_of(struct arena *arena,
                                        const struct engine_block *const *blocks,
                                        uint32_t block_count);

/* A program of one block, which is copied; its tasks are not. */
struct engine_program engine_program_of_one(struct arena *arena, const struct engine_block *block);

/* The block in which a stream's task of that number lies; after its last task, the last block. */
uint32_t engine_program_block(const struct engine_program *program, uint32_t stream,
                              uint32_t index);

/* The task of that number on its stream, counted over all blocks, and for how many tasks of
 * wait_stream[wait] it waits, counted from the beginning of the program. For now and then: O(log
 * blocks); who wants all walks. */
const struct task *engine_program_task(const struct engine_program *program, uint32_t stream,
                                       uint32_t index);
uint32_t engine_program_wait(const struct engine_program *program, uint32_t stream, uint32_t index,
                             uint32_t wait);

/* For how many tasks, from the beginning of the program, a task of a block waits, before which
 * `firsts` tasks of each stream lie. */
static inline uint32_t engine_task_wait(const struct task *task,
                                        const uint32_t firsts[ENGINE_STREAMS_MAX], uint32_t wait)
{
    return firsts[task->wait_stream[wait]] + (uint32_t)task->wait_ended[wait];
}

/* ---- the different blocks of some programs --------------------------------------------------- */

struct engine_blocks {
    const struct engine_block **items; /* [count], in the order in which one meets them */
    uint32_t count;
    const uint32_t *const *numbers; /* [program][block of its row]: which item that is */
};

struct engine_blocks engine_blocks_of(struct arena *arena, const struct engine_program *programs,
                                      uint32_t program_count);

/* ---- all tasks of a stream, in their order --------------------------------------------------- */

struct engine_walk {
    const struct engine_program *program;
    const struct task *task; /* NULL: past the last */
    const struct task *last; /* of the stream in this block */
    uint32_t stream, index, block;
};

struct engine_walk engine_walk_of(const struct engine_program *program, uint32_t stream);

/* From the task of that number on. */
struct engine_walk engine_walk_from(const struct engine_program *program, uint32_t stream,
                                    uint32_t index);

/* At the end of a block: goes on to the next one that has tasks. */
void engine_walk_settle(struct engine_walk *walk);

/* So many tasks on, at most to the end of the block. */
static inline void engine_walk_pass(struct engine_walk *walk, uint32_t count)
{
    walk->index += count;
    if (walk->last - walk->task >= (ptrdiff_t)count) {
        walk->task += count;
    } else {
        engine_walk_settle(walk);
    }
}

static inline void engine_walk_next(struct engine_walk *walk)
{
    engine_walk_pass(walk, 1);
}

static inline uint32_t engine_walk_wait(const struct engine_walk *walk, uint32_t wait)
{
    return engine_task_wait(walk->task, walk->program->firsts[walk->block], wait);
}

#endif
