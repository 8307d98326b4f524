/* Blocks that write are copied with other transfers; the others are shared.
 */
#include "train/program/program_roles.h"

#include "base/arena.h"
#include "base/check.h"
#include "des/engine_program.h"
#include "plan/checkpoint_roles.h"
#include "train/streams.h"

#include <string.h>

static const struct engine_block *block_of_role(struct arena *arena,
                                                struct transfer_table *transfers,
                                                const struct engine_block *block, double times)
{
    const uint32_t count = block->counts[STREAM_STORAGE];
    if (count == 0) {
        return block;
    }
    struct task *tasks = arena_array(arena, count, sizeof *tasks);
    memcpy(tasks, block->tasks[STREAM_STORAGE], count * sizeof *tasks);
    for (uint32_t i = 0; i < count; i++) {
        const struct transfer_origin origin = transfers->origins[tasks[i].transfer];
        const struct engine_transfer item = transfers->items[tasks[i].transfer];
        sim_assert(item.next == 0);
        tasks[i].transfer = transfer_plain(arena, transfers, origin.job, origin.stream, item.path,
                                           origin.operation, origin.bytes * times);
    }
    struct engine_block *copy = arena_alloc(arena, sizeof *copy);
    *copy = *block;
    copy->tasks[STREAM_STORAGE] = tasks;
    return copy;
}

static struct engine_program program_of_role(struct arena *arena, struct transfer_table *transfers,
                                             const struct engine_program *stage, double times)
{
    sim_assert(times >= 0);
    const struct engine_block **row = arena_array(arena, stage->block_count, sizeof *row);
    for (uint32_t i = 0; i < stage->block_count; i++) {
        row[i] = block_of_role(arena, transfers, stage->blocks[i], times);
    }
    struct engine_program program = engine_program_of(arena, row, stage->block_count);
    program.step_tasks = stage->step_tasks;
    return program;
}

const uint32_t *programs_by_roles(struct arena *arena, struct transfer_table *transfers,
                                  const struct checkpoint_roles *roles,
                                  struct engine_program *programs, uint32_t first)
{
    uint32_t *numbers = arena_array(arena, roles->count, sizeof *numbers);
    uint32_t stages = 0;
    double ranks = 0;
    for (uint32_t i = 0; i < roles->count; i++) {
        stages += i == 0 || roles->items[i - 1].stage != roles->items[i].stage ? 1 : 0;
        ranks += roles->items[i].ranks;
    }
    uint32_t next = roles->count;
    for (uint32_t i = roles->count; i-- > 0;) { /* the stage's own place last */
        const struct checkpoint_role *role = &roles->items[i];
        const bool is_first = i == 0 || roles->items[i - 1].stage != role->stage;
        const uint32_t place = is_first ? role->stage : --next;
        sim_assert(is_first || place >= stages);
        programs[place] =
            program_of_role(arena, transfers, &programs[role->stage], role->share * ranks);
        numbers[i] = first + place;
    }
    return numbers;
}
