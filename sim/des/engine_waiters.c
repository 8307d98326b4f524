/* The dependents of a block's tasks: who waits for what of it, wherever it stands.
 *
 * Whether tasks are a stretch depends on who else waits for them, and on when what follows them on
 * their streams may begin. Most of that is written in their own block, and is counted once a block.
 * What lies in others depends on where the block stands: it is gathered from all places, of all
 * programs, and the worst of it taken for each. So a stretch of a block may be cut short where it
 * need not be, never the other way round.
 *
 *   - A task waited for from another block is waited for by as many as no stretch bears
 *     (WAITERS_MAX). For all of stream 0 before the block (0, 0) tasks of other blocks wait, too;
 *     but that is where a block ends, and a stretch with it.
 *   - What follows on a stream in the next block that has tasks of it begins late, if its first one
 *     there waits for stream 0 at least until that block begins.
 *
 * Only streams matter of which some collective can be part of a stretch, and stream 0.
 *
 * Cost: O(tasks of different blocks + places of blocks with waits for others).
 */
#include "des/engine_state.h"

#include "base/arena.h"

struct cross_wait {
    uint32_t stream;
    int32_t ended; /* from the beginning of the block that waits */
};

/* What one block waits for in others. */
struct cross_list {
    struct cross_wait *items;
    size_t count, capacity;
};

struct counting {
    struct arena *arena;
    const struct engine_system *system;
    const struct engine_blocks *blocks;
    uint32_t streams; /* that matter, as bits */
    uint8_t *(*waiters)[ENGINE_STREAMS_MAX];
    struct engine_block_facts *facts;
    struct cross_list *crossing;
};

static bool matters(const struct counting *counting, uint32_t stream)
{
    return (counting->streams >> stream & 1u) != 0;
}

/* Tasks of a stream before a block end with the block before: those of stream 0 with all its
 * stretches. */
static bool is_outside(const struct engine_block *block, uint32_t stream, int32_t ended)
{
    return ended < 0 || (stream != COMPUTE && ended == 0) || ended > (int32_t)block->counts[stream];
}

static void count_wait(struct counting *counting, uint32_t number, uint32_t stream, int32_t ended)
{
    if (!matters(counting, stream)) {
        return;
    }
    if (!is_outside(counting->blocks->items[number], stream, ended)) {
        uint8_t *count = &counting->waiters[number][stream][ended];
        *count = (uint8_t)(*count < WAITERS_MAX ? *count + 1 : WAITERS_MAX);
        return;
    }
    struct cross_list *list = &counting->crossing[number];
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].stream == stream && list->items[i].ended == ended) {
            return;
        }
    }
    list->items = arena_grow(counting->arena, list->items, &list->capacity, list->count + 1,
                             sizeof *list->items);
    list->items[list->count++] = (struct cross_wait){stream, ended};
}

/* The waits of a block's own tasks. */
static void count_block(struct counting *counting, uint32_t number)
{
    const struct engine_block *block = counting->blocks->items[number];
    struct engine_block_facts *facts = &counting->facts[number];
    facts->follows_late = UINT32_MAX;
    for (uint32_t s = 0; s < counting->system->stream_count; s++) {
        if (matters(counting, s)) {
            counting->waiters[number][s] = arena_array(counting->arena, block->counts[s] + 1u,
                                                       sizeof *counting->waiters[number][s]);
            facts->waiters[s] = counting->waiters[number][s];
        }
    }
    for (uint32_t s = 0; s < counting->system->stream_count; s++) {
        const struct task *tasks = block->tasks[s];
        for (uint32_t i = 0; i < block->counts[s]; i++) {
            for (uint32_t k = 0; k < tasks[i].wait_count; k++) {
                count_wait(counting, number, tasks[i].wait_stream[k], tasks[i].wait_ended[k]);
            }
        }
        for (uint32_t k = 0; block->counts[s] > 0 && k < tasks->wait_count; k++) {
            if (tasks->wait_stream[k] == COMPUTE && tasks->wait_ended[k] >= 0) {
                facts->begins_late |= 1u << s;
            }
        }
        facts->has |= block->counts[s] > 0 ? 1u << s : 0;
    }
}

/* Where a block stands, the task of another that it waits for has a waiter too many. */
static void mark(struct counting *counting, uint32_t p, uint32_t place,
                 const struct cross_wait *wait)
{
    const struct engine_program *program = &counting->system->programs[p];
    const uint32_t s = wait->stream;
    const uint32_t ended = program->firsts[place][s] + (uint32_t)wait->ended;
    sim_assert(ended <= program->counts[s]); /* else: before the first, or never */
    if (ended == 0) {
        return;
    }
    uint32_t at = wait->ended > 0 ? engine_program_block(program, s, ended - 1) : place;
    while (program->firsts[at][s] >= ended) {
        at--;
    }
    const uint32_t number = counting->blocks->numbers[p][at];
    counting->waiters[number][s][ended - program->firsts[at][s]] = WAITERS_MAX;
}

/* From the last place to the first: `late` are the streams whose next task beyond waits for
 * stream 0 at least until its block begins, or that have none. */
static void look_along(struct counting *counting, uint32_t p)
{
    const struct engine_program *program = &counting->system->programs[p];
    uint32_t late = UINT32_MAX;
    for (uint32_t place = program->block_count; place-- > 0;) {
        const uint32_t number = counting->blocks->numbers[p][place];
        struct engine_block_facts *facts = &counting->facts[number];
        const struct cross_list *list = &counting->crossing[number];
        facts->follows_late &= late;
        late = (late & ~facts->has) | facts->begins_late;
        for (size_t i = 0; i < list->count; i++) {
            mark(counting, p, place, &list->items[i]);
        }
    }
}

const struct engine_block_facts *engine_waiters_count(struct arena *arena,
                                                      const struct engine_system *system,
                                                      const struct engine_blocks *blocks,
                                                      uint32_t streams)
{
    struct counting counting = {
        .arena = arena,
        .system = system,
        .blocks = blocks,
        .streams = streams | 1u << COMPUTE,
        .waiters = arena_array(arena, blocks->count, sizeof *counting.waiters),
        .facts = arena_array(arena, blocks->count, sizeof *counting.facts),
        .crossing = arena_array(arena, blocks->count, sizeof *counting.crossing),
    };
    for (uint32_t i = 0; i < blocks->count; i++) {
        count_block(&counting, i);
    }
    for (uint32_t p = 0; p < system->program_count; p++) {
        look_along(&counting, p);
    }
    return counting.facts;
}
