#include "support/blocks.h"

#include "base/arena.h"

#include <stdbool.h>
#include <string.h>

struct engine_program blocks_cut(struct arena *arena, const struct engine_program *program,
                                 uint32_t (*cuts)[ENGINE_STREAMS_MAX], uint32_t count)
{
    static const uint32_t none[ENGINE_STREAMS_MAX] = {0};
    const struct engine_block **row = arena_array(arena, count, sizeof *row);
    for (uint32_t b = 0; b < count; b++) {
        struct engine_block *block = arena_alloc(arena, sizeof *block);
        const uint32_t *first = b > 0 ? cuts[b - 1] : none;
        for (uint32_t s = 0; s < ENGINE_STREAMS_MAX; s++) {
            sim_assert(first[s] <= cuts[b][s] && cuts[b][s] <= program->counts[s]);
            block->counts[s] = cuts[b][s] - first[s];
            struct task *tasks = arena_array(arena, block->counts[s], sizeof *tasks);
            for (uint32_t i = 0; i < block->counts[s]; i++) {
                const uint32_t number = first[s] + i;
                tasks[i] = *engine_program_task(program, s, number);
                for (uint32_t k = 0; k < tasks[i].wait_count; k++) {
                    tasks[i].wait_ended[k] = (int32_t)(engine_program_wait(program, s, number, k) -
                                                       first[tasks[i].wait_stream[k]]);
                }
            }
            block->tasks[s] = tasks;
        }
        row[b] = block;
    }
    struct engine_program cut = engine_program_of(arena, row, count);
    cut.step_tasks = program->step_tasks;
    return cut;
}

struct engine_program blocks_flattened(struct arena *arena, const struct engine_program *program)
{
    uint32_t cuts[1][ENGINE_STREAMS_MAX];
    for (uint32_t s = 0; s < ENGINE_STREAMS_MAX; s++) {
        cuts[0][s] = program->counts[s];
    }
    return blocks_cut(arena, program, cuts, 1);
}

/* ---- what comes again, written once ---------------------------------------------------------- */

enum { COMPUTE };

static bool waits_for(const struct task *task, uint32_t streams)
{
    for (uint32_t k = 0; k < task->wait_count; k++) {
        if ((streams >> task->wait_stream[k] & 1u) != 0) {
            return true;
        }
    }
    return false;
}

/* The block of each task of stream 0, and, one more, how many blocks there are. */
static uint32_t *blocks_of_compute(struct arena *arena, const struct engine_program *program,
                                   uint32_t streams)
{
    uint32_t *of = arena_array(arena, program->counts[COMPUTE] + 1u, sizeof *of);
    uint32_t block = 0;
    for (struct engine_walk walk = engine_walk_of(program, COMPUTE); walk.task != NULL;
         engine_walk_next(&walk)) {
        block += walk.index > 0 && waits_for(walk.task, streams) ? 1 : 0;
        of[walk.index] = block;
    }
    of[program->counts[COMPUTE]] = block + 1;
    return of;
}

/* The block of the first task of stream 0 that waits for each task of a stream, or for a later
 * one. */
static uint32_t *blocks_of_waiters(struct arena *arena, const struct engine_program *program,
                                   uint32_t stream, const uint32_t *of)
{
    const uint32_t count = program->counts[stream];
    uint32_t *waiters = arena_array(arena, count + 1u, sizeof *waiters);
    uint32_t met = 0;
    for (struct engine_walk walk = engine_walk_of(program, COMPUTE); walk.task != NULL;
         engine_walk_next(&walk)) {
        for (uint32_t k = 0; k < walk.task->wait_count; k++) {
            while (walk.task->wait_stream[k] == stream && met < engine_walk_wait(&walk, k)) {
                waiters[met++] = of[walk.index];
            }
        }
    }
    return waiters;
}

/* A task lies where the last one of stream 0 does for which it waits; one that waits for nothing,
 * where one first waits for it. */
static void cut_stream(struct arena *arena, const struct engine_program *program, uint32_t stream,
                       const uint32_t *of, uint32_t (*cuts)[ENGINE_STREAMS_MAX])
{
    const uint32_t *waiters = blocks_of_waiters(arena, program, stream, of);
    uint32_t block = 0;
    for (struct engine_walk walk = engine_walk_of(program, stream); walk.task != NULL;
         engine_walk_next(&walk)) {
        uint32_t here = walk.task->wait_count == 0 ? waiters[walk.index] : 0;
        for (uint32_t k = 0; k < walk.task->wait_count; k++) {
            const uint32_t ended = engine_walk_wait(&walk, k);
            if (walk.task->wait_stream[k] == COMPUTE && ended > 0) {
                here = of[ended - 1];
            }
        }
        block = here > block ? here : block;
        cuts[block][stream] = walk.index + 1;
    }
}

static bool is_same_task(const struct task *a, const struct task *b)
{
    return a->kind == b->kind && a->cause == b->cause && a->wait_count == b->wait_count &&
           a->launch_ns == b->launch_ns && a->transfer == b->transfer && a->work_ns == b->work_ns &&
           memcmp(a->wait_stream, b->wait_stream, a->wait_count) == 0 &&
           memcmp(a->wait_ended, b->wait_ended, a->wait_count * sizeof *a->wait_ended) == 0;
}

static bool is_same_block(const struct engine_block *a, const struct engine_block *b)
{
    if (memcmp(a->counts, b->counts, sizeof a->counts) != 0) {
        return false;
    }
    for (uint32_t s = 0; s < ENGINE_STREAMS_MAX; s++) {
        for (uint32_t i = 0; i < a->counts[s]; i++) {
            if (!is_same_task(&a->tasks[s][i], &b->tasks[s][i])) {
                return false;
            }
        }
    }
    return true;
}

static struct engine_program cut_at_waits(struct arena *arena, const struct engine_program *program,
                                          uint32_t streams)
{
    const uint32_t *of = blocks_of_compute(arena, program, streams);
    const uint32_t count = of[program->counts[COMPUTE]];
    uint32_t(*cuts)[ENGINE_STREAMS_MAX] = arena_array(arena, count, sizeof *cuts);
    for (uint32_t i = 0; i < program->counts[COMPUTE]; i++) {
        cuts[of[i]][COMPUTE] = i + 1;
    }
    for (uint32_t s = COMPUTE + 1; s < ENGINE_STREAMS_MAX; s++) {
        cut_stream(arena, program, s, of, cuts);
    }
    for (uint32_t b = 1; b < count; b++) {
        for (uint32_t s = 0; s < ENGINE_STREAMS_MAX; s++) {
            cuts[b][s] = cuts[b][s] > cuts[b - 1][s] ? cuts[b][s] : cuts[b - 1][s];
        }
    }
    return blocks_cut(arena, program, cuts, count);
}

struct engine_program *blocks_shared(struct arena *arena, const struct engine_program *programs,
                                     uint32_t program_count, uint32_t streams)
{
    struct engine_program *shared = arena_array(arena, program_count, sizeof *shared);
    const struct engine_block **known = NULL;
    size_t known_count = 0, capacity = 0;
    for (uint32_t p = 0; p < program_count; p++) {
        const struct engine_program cut = cut_at_waits(arena, &programs[p], streams);
        const struct engine_block **row = arena_array(arena, cut.block_count, sizeof *row);
        for (uint32_t b = 0; b < cut.block_count; b++) {
            size_t k = 0;
            while (k < known_count && !is_same_block(known[k], cut.blocks[b])) {
                k++;
            }
            if (k == known_count) {
                known = arena_grow(arena, known, &capacity, known_count + 1, sizeof *known);
                known[known_count++] = cut.blocks[b];
            }
            row[b] = known[k];
        }
        shared[p] = engine_program_of(arena, row, cut.block_count);
        shared[p].step_tasks = programs[p].step_tasks;
    }
    return shared;
}
