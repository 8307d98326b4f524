/* Rows of blocks: `firsts` are sums of the blocks' counts, so a task is found by bisection. */
#include "des/engine_program.h"

#include "base/arena.h"

#include <string.h>

struct engine_program engine_program_of(struct arena *arena,
                                        const struct engine_block *const *blocks,
                                        uint32_t block_count)
{
    const struct engine_block **row = arena_room(arena, block_count + 1u, sizeof *row);
    uint32_t(*firsts)[ENGINE_STREAMS_MAX] = arena_room(arena, block_count + 1u, sizeof *firsts);
    memset(firsts[0], 0, sizeof firsts[0]);
    for (uint32_t b = 0; b < block_count; b++) {
        const uint32_t *before = firsts[b];
        const uint32_t *counts = blocks[b]->counts;
        uint32_t *after = firsts[b + 1];
        row[b] = blocks[b];
        for (uint32_t s = 0; s < ENGINE_STREAMS_MAX; s++) {
            after[s] = before[s] + counts[s];
        }
    }
    row[block_count] = NULL;
    struct engine_program program = {
        .blocks = row, .firsts = (const uint32_t(*)[ENGINE_STREAMS_MAX])firsts, block_count};
    memcpy(program.counts, firsts[block_count], sizeof program.counts);
    return program;
}

struct engine_program engine_program_of_one(struct arena *arena, const struct engine_block *block)
{
    struct engine_block *own = arena_alloc(arena, sizeof *own);
    *own = *block;
    const struct engine_block *const row[] = {own};
    return engine_program_of(arena, row, 1);
}

uint32_t engine_program_block(const struct engine_program *program, uint32_t stream, uint32_t index)
{
    uint32_t low = 0;
    uint32_t high = program->block_count; /* firsts[low] <= index < firsts[high], or the end */
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (program->firsts[middle][stream] <= index) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct task *engine_program_task(const struct engine_program *program, uint32_t stream,
                                       uint32_t index)
{
    sim_assert(index < program->counts[stream]);
    const uint32_t block = engine_program_block(program, stream, index);
    return &program->blocks[block]->tasks[stream][index - program->firsts[block][stream]];
}

uint32_t engine_program_wait(const struct engine_program *program, uint32_t stream, uint32_t index,
                             uint32_t wait)
{
    const uint32_t block = engine_program_block(program, stream, index);
    const struct task *task = engine_program_task(program, stream, index);
    sim_assert(wait < task->wait_count);
    return engine_task_wait(task, program->firsts[block], wait);
}

/* ---- the different blocks ------------------------------------------------------------------- */

/* By open addressing: where a block's number + 1 stands, or may be put. */
struct numbering {
    uint32_t *slots;
    uint32_t mask;
};

static uint32_t *slot_of(const struct numbering *numbering, const struct engine_blocks *blocks,
                         const struct engine_block *block)
{
    const uint64_t hash = (uint64_t)(uintptr_t)block * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t at = (uint32_t)(hash >> 32) & numbering->mask;
    while (numbering->slots[at] != 0 && blocks->items[numbering->slots[at] - 1] != block) {
        at = (at + 1) & numbering->mask;
    }
    return &numbering->slots[at];
}

static void widen(struct arena *arena, struct numbering *numbering,
                  const struct engine_blocks *blocks)
{
    const uint32_t size = numbering->slots != NULL ? 2 * (numbering->mask + 1) : 64;
    numbering->slots = arena_array(arena, size, sizeof *numbering->slots);
    numbering->mask = size - 1;
    for (uint32_t i = 0; i < blocks->count; i++) {
        *slot_of(numbering, blocks, blocks->items[i]) = i + 1;
    }
}

struct engine_blocks engine_blocks_of(struct arena *arena, const struct engine_program *programs,
                                      uint32_t program_count)
{
    struct engine_blocks blocks = {.count = 0};
    struct numbering numbering = {NULL, 0};
    size_t capacity = 0;
    const uint32_t **numbers = arena_array(arena, program_count, sizeof *numbers);
    widen(arena, &numbering, &blocks);
    for (uint32_t p = 0; p < program_count; p++) {
        const struct engine_program *program = &programs[p];
        uint32_t *of = arena_array(arena, program->block_count, sizeof *of);
        for (uint32_t b = 0; b < program->block_count; b++) {
            uint32_t *slot = slot_of(&numbering, &blocks, program->blocks[b]);
            if (*slot == 0) {
                blocks.items = arena_grow(arena, blocks.items, &capacity, blocks.count + 1u,
                                          sizeof *blocks.items);
                blocks.items[blocks.count++] = program->blocks[b];
                *slot = blocks.count;
            }
            of[b] = *slot - 1;
            if (2 * blocks.count > numbering.mask) {
                widen(arena, &numbering, &blocks);
            }
        }
        numbers[p] = of;
    }
    blocks.numbers = numbers;
    return blocks;
}

/* ---- walks ---------------------------------------------------------------------------------- */

void engine_walk_settle(struct engine_walk *walk)
{
    const struct engine_program *program = walk->program;
    const uint32_t s = walk->stream;
    walk->task = NULL;
    if (walk->index < program->counts[s]) {
        while (walk->index >= program->firsts[walk->block + 1][s]) {
            walk->block++;
        }
        const struct engine_block *block = program->blocks[walk->block];
        walk->task = &block->tasks[s][walk->index - program->firsts[walk->block][s]];
        walk->last = &block->tasks[s][block->counts[s] - 1];
    }
}

struct engine_walk engine_walk_from(const struct engine_program *program, uint32_t stream,
                                    uint32_t index)
{
    struct engine_walk walk = {.program = program,
                               .stream = stream,
                               .index = index,
                               .block = engine_program_block(program, stream, index)};
    engine_walk_settle(&walk);
    return walk;
}

struct engine_walk engine_walk_of(const struct engine_program *program, uint32_t stream)
{
    return engine_walk_from(program, stream, 0);
}
