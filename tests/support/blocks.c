#include "support/blocks.h"

#include "base/arena.h"

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
            struct task *tasks = arena_array(arena, block->counts[s] + 1u, sizeof *tasks);
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
