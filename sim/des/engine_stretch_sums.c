/* What the tasks of a block take one after the other, and under which causes, while the
 * interference of the other streams stays what it is: sums from the beginning of the block on.
 *
 * A task of a stretch that begins after its interference has changed takes as long whenever it
 * begins, and so does what is between it and the one before. So any row of them takes the
 * difference of two sums, and none of them need be looked at (engine_stretch.c). Interference has
 * few values, which come again and again: what a collective or a message of each stream takes
 * away, alone and together. The sums of each are made when an actor comes to it, and kept with the
 * block.
 *
 * Only the causes that the block's tasks can have are summed.
 *
 * Cost: O(tasks of the block) for each interference, once.
 */
#include "des/engine_stretch_state.h"

#include "base/arena.h"

#include <string.h>

static uint32_t cause_bit(uint32_t cause)
{
    return 1u << cause;
}

/* That tasks of the block can have, or the collectives next to them. */
static uint32_t causes_of(const struct engine_system *system, const struct stretch_block *in)
{
    uint32_t causes = cause_bit(system->launch_cause) | cause_bit(system->interference_cause);
    for (uint32_t i = 0; i < in->block->counts[COMPUTE]; i++) {
        causes |= cause_bit(in->block->tasks[COMPUTE][i].cause);
        if (in->next_to[i].stream != 0) {
            causes |= cause_bit(system->streams[in->next_to[i].stream].exposed_cause);
        }
    }
    return causes;
}

static uint32_t list_causes(uint32_t causes, uint8_t list[ENGINE_CAUSES_MAX])
{
    uint32_t count = 0;
    for (uint32_t c = 0; c < ENGINE_CAUSES_MAX; c++) {
        if ((causes >> c & 1u) != 0) {
            list[count++] = (uint8_t)c;
        }
    }
    return count;
}

/* What the task takes with what is between it and the one before, in a stretch that goes on. */
static sim_time add_task(const struct engine *engine, const struct stretch_block *in,
                         uint32_t number, uint32_t interference, int64_t books[ENGINE_CAUSES_MAX])
{
    const struct next_to *between = engine_between(in, number);
    if (between->stream != 0) {
        books[engine->system->streams[between->stream].exposed_cause] += between->takes_ns;
    }
    struct pass pass = engine_pass_of(engine, in, number, in->table->speeds[0], interference);
    engine_pass_begin(&pass, 0, 0);
    const sim_time end = engine_pass_work_end(&pass, 0, pass.task->work_ns * ENGINE_FULL_SPEED);
    if (engine->options.only_length) {
        return between->takes_ns + engine_later(end, pass.beside_end);
    }
    engine_pass_book_work(engine, &pass, end, books);
    engine_pass_book_wait(engine, &pass, end, books);
    return between->takes_ns + engine_later(end, pass.beside_end);
}

static struct stretch_sums *sum_up(const struct engine *engine, const struct stretch_block *in,
                                   uint32_t interference)
{
    struct arena *arena = engine->stretches->arena;
    const uint32_t count = in->block->counts[COMPUTE];
    struct stretch_sums *sums = arena_alloc(arena, sizeof *sums);
    sums->interference = interference;
    if (!engine->options.only_length) {
        sums->cause_count = list_causes(causes_of(engine->system, in), sums->causes);
    }
    sums->ends = arena_array(arena, count + 1u, sizeof *sums->ends);
    sums->books = arena_array(arena, (count + 1u) * (size_t)sums->cause_count, sizeof *sums->books);
    int64_t books[ENGINE_CAUSES_MAX] = {0};
    for (uint32_t i = 0; i < count; i++) {
        sums->ends[i + 1] = sums->ends[i] + add_task(engine, in, i, interference, books);
        int64_t *row = &sums->books[(i + 1) * (size_t)sums->cause_count];
        for (uint32_t c = 0; c < sums->cause_count; c++) {
            row[c] = books[sums->causes[c]];
        }
    }
    return sums;
}

const struct stretch_sums *engine_stretch_sums(const struct engine *engine,
                                               struct stretch_block *in, uint32_t interference)
{
    struct stretch_sums *sums = in->sums;
    while (sums != NULL && sums->interference != interference) {
        sums = sums->next;
    }
    if (sums == NULL) {
        sums = sum_up(engine, in, interference);
        sums->next = in->sums;
        in->sums = sums;
    }
    return sums;
}

void engine_stretch_book(const struct stretch_sums *sums, uint32_t first, uint32_t end,
                         int64_t books[ENGINE_CAUSES_MAX])
{
    const int64_t *before = &sums->books[first * (size_t)sums->cause_count];
    const int64_t *after = &sums->books[end * (size_t)sums->cause_count];
    for (uint32_t c = 0; c < sums->cause_count; c++) {
        books[sums->causes[c]] += after[c] - before[c];
    }
}
