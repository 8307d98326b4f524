/* What of a run is still to come takes at least so long: so one that cannot end in time is left
 * long before it does not.
 *
 * What an actor has still to compute it computes at its full speed at best, and what is still to
 * cross a link does so at the link's capacity at best. Both are sums of what programs say, known
 * before the run; of what is under way in a block, the whole block is left out. So a run is left
 * in which an actor or a link has stood idle for more than there was to spare.
 *
 * A *lane* is what a channel sends over one of its paths, by the blocks of a member's program: of a
 * collective one member speaks for all. Links that all lanes together cannot fill for half of the
 * time are not looked at. Channels whose transfers may end within stretches are left out, since
 * the cursors of their streams are behind then: nobody else crosses their links, anyway. A stretch
 * of stream 0 begins with the task at the cursor.
 *
 * Cost: a look at each block and each crossing at the beginning; then at each lane of some links,
 * once in LOOK_EVERY instants.
 */
#include "des/engine_stretch_state.h"

#include "base/arena.h"

enum { LOOK_EVERY = 64 };

/* Sums in doubles may be too large by so much. */
static const double ROUNDED = 1e-9;

struct lane {
    uint32_t actor, stream;
    const int64_t *bytes_left; /* [blocks + 1]: of the program's blocks from that on */
    double byte_ns;            /* of the link */
};

struct engine_least {
    sim_time until;
    uint32_t looks;            /* that were asked for */
    const int64_t **work_left; /* [program][blocks + 1]: ns, of stream 0 */
    struct lane *lanes;        /* by link */
    uint32_t *firsts;          /* [links + 1]: of the lanes of each that is looked at */
    uint32_t links;
};

/* ---- sums over blocks ------------------------------------------------------------------------ */

static int64_t block_work_ns(const struct engine_block *block)
{
    int64_t sum_ns = 0;
    for (uint32_t i = 0; i < block->counts[COMPUTE]; i++) {
        sum_ns += block->tasks[COMPUTE][i].work_ns;
    }
    return sum_ns;
}

/* Of all phases that go by the path of that number of their channel. */
static int64_t block_bytes(const struct engine_system *system, const struct engine_block *block,
                           uint32_t stream, uint32_t path)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < block->counts[stream]; i++) {
        for (uint32_t next = block->tasks[stream][i].transfer + 1; next != 0;
             next = system->transfers[next - 1].next) {
            const struct engine_transfer *phase = &system->transfers[next - 1];
            sum += phase->path == path ? phase->bytes : 0;
        }
    }
    return sum;
}

/* Of the row of a program's blocks what those from each on have, given what each block has. */
static const int64_t *sum_up(struct arena *arena, const struct engine_blocks *blocks,
                             const struct engine_program *program, uint32_t number,
                             const int64_t *of_block)
{
    int64_t *left = arena_array(arena, program->block_count + 1u, sizeof *left);
    for (uint32_t b = program->block_count; b > 0; b--) {
        left[b - 1] = left[b] + of_block[blocks->numbers[number][b - 1]];
    }
    return left;
}

static void find_work(struct arena *arena, const struct engine_system *system,
                      const struct engine_blocks *blocks, struct engine_least *least)
{
    int64_t *of_block = arena_array(arena, blocks->count, sizeof *of_block);
    for (uint32_t i = 0; i < blocks->count; i++) {
        of_block[i] = block_work_ns(blocks->items[i]);
    }
    least->work_left = arena_array(arena, system->program_count, sizeof *least->work_left);
    for (uint32_t p = 0; p < system->program_count; p++) {
        least->work_left[p] = sum_up(arena, blocks, &system->programs[p], p, of_block);
    }
}

/* ---- lanes ----------------------------------------------------------------------------------- */

/* What a channel sends over each of its paths, as the first member has it. */
static void find_bytes(struct arena *arena, const struct engine_system *system,
                       const struct engine_blocks *blocks, const struct engine_channel *channel,
                       const int64_t **bytes_left)
{
    const struct engine_member *member = &system->members[channel->member_first];
    const uint32_t number = system->actors[member->actor].program;
    int64_t *of_block = arena_array(arena, blocks->count, sizeof *of_block);
    for (uint32_t k = 0; k < channel->path_count; k++) {
        for (uint32_t i = 0; i < blocks->count; i++) {
            of_block[i] = block_bytes(system, blocks->items[i], member->stream, k);
        }
        bytes_left[channel->path_first + k] =
            sum_up(arena, blocks, &system->programs[number], number, of_block);
    }
}

static double crossing_byte_ns(const struct engine_system *system,
                               const struct engine_crossing *crossing)
{
    return (double)crossing->usage / FLUID_USAGE_ONE /
           (double)system->link_capacities[crossing->link] * 1e9;
}

/* Of each link what all lanes need of it. */
static double *find_loads(struct arena *arena, const struct engine_system *system,
                          const int64_t *const *bytes_left)
{
    double *loads_ns = arena_array(arena, system->link_count, sizeof *loads_ns);
    for (uint32_t i = 0; i < system->path_count; i++) {
        const struct engine_path *path = &system->paths[i];
        for (uint32_t k = 0; bytes_left[i] != NULL && k < path->crossing_count; k++) {
            const struct engine_crossing *crossing = &system->crossings[path->crossing_first + k];
            loads_ns[crossing->link] +=
                (double)bytes_left[i][0] * crossing_byte_ns(system, crossing);
        }
    }
    return loads_ns;
}

/* Calls for each lane of a link that is looked at: counted first, then entered. */
static void enter_lanes(const struct engine_system *system, const int64_t *const *bytes_left,
                        const uint32_t *number_of, struct engine_least *least, uint32_t *next)
{
    for (uint32_t i = 0; i < system->channel_count; i++) {
        const struct engine_channel *channel = &system->channels[i];
        const struct engine_member *member = &system->members[channel->member_first];
        for (uint32_t p = channel->path_first; p < channel->path_first + channel->path_count; p++) {
            const struct engine_path *path = &system->paths[p];
            for (uint32_t k = 0; bytes_left[p] != NULL && k < path->crossing_count; k++) {
                const struct engine_crossing *crossing =
                    &system->crossings[path->crossing_first + k];
                const uint32_t number = number_of[crossing->link];
                if (number != ENGINE_NONE && least->lanes != NULL) {
                    least->lanes[next[number]] =
                        (struct lane){member->actor, member->stream, bytes_left[p],
                                      crossing_byte_ns(system, crossing)};
                }
                next[number != ENGINE_NONE ? number : least->links]++;
            }
        }
    }
}

static void find_lanes(struct arena *arena, const struct engine *engine,
                       const struct engine_blocks *blocks, struct engine_least *least)
{
    const struct engine_system *system = engine->system;
    const int64_t **bytes_left = arena_array(arena, system->path_count + 1u, sizeof *bytes_left);
    for (uint32_t i = 0; i < system->channel_count; i++) {
        if (!engine_stretch_is_direct(engine, &system->channels[i])) {
            find_bytes(arena, system, blocks, &system->channels[i], bytes_left);
        }
    }
    const double *loads_ns = find_loads(arena, system, bytes_left);
    uint32_t *number_of = arena_array(arena, system->link_count + 1u, sizeof *number_of);
    for (uint32_t i = 0; i < system->link_count; i++) {
        number_of[i] = 2 * loads_ns[i] > (double)least->until ? least->links++ : ENGINE_NONE;
    }
    least->firsts = arena_array(arena, least->links + 1u, sizeof *least->firsts);
    uint32_t *next = arena_array(arena, least->links + 1u, sizeof *next);
    enter_lanes(system, bytes_left, number_of, least, next);
    for (uint32_t i = 0; i < least->links; i++) {
        least->firsts[i + 1] = least->firsts[i] + next[i];
        next[i] = least->firsts[i];
    }
    least->lanes = arena_array(arena, least->firsts[least->links], sizeof *least->lanes);
    enter_lanes(system, bytes_left, number_of, least, next);
}

struct engine_least *engine_least_new(struct arena *arena, const struct engine *engine,
                                      sim_time until)
{
    const struct engine_system *system = engine->system;
    struct engine_least *least = arena_alloc(arena, sizeof *least);
    const struct engine_blocks blocks =
        engine_blocks_of(arena, system->programs, system->program_count);
    least->until = until;
    find_work(arena, system, &blocks, least);
    find_lanes(arena, engine, &blocks, least);
    return least;
}

/* ---- looks ----------------------------------------------------------------------------------- */

/* What computes began at compute_start; what does not begins now at the soonest. */
static bool is_actor_late(const struct engine_least *least, const struct engine *engine,
                          uint32_t number, sim_time now)
{
    const struct actor *actor = &engine->actors[number];
    const sim_time since = engine_is_busy(actor, COMPUTE) ? actor->compute_start : now;
    const int64_t *left_ns = least->work_left[engine->system->actors[number].program];
    return since + left_ns[actor->block[COMPUTE] + 1] > least->until;
}

static bool is_link_late(const struct engine_least *least, const struct engine *engine,
                         uint32_t link, sim_time now)
{
    double left_ns = 0;
    for (uint32_t i = least->firsts[link]; i < least->firsts[link + 1]; i++) {
        const struct lane *lane = &least->lanes[i];
        const uint32_t block = engine->actors[lane->actor].block[lane->stream];
        left_ns += (double)lane->bytes_left[block + 1] * lane->byte_ns;
    }
    return (double)now + left_ns * (1.0 - ROUNDED) > (double)least->until + 1.0;
}

bool engine_least_is_late(struct engine_least *least, const struct engine *engine)
{
    const sim_time now = event_now(engine->queue);
    if (++least->looks % LOOK_EVERY != 0) {
        return false;
    }
    bool is_late = false;
    for (uint32_t i = 0; i < engine->system->actor_count && !is_late; i++) {
        is_late = is_actor_late(least, engine, i, now);
    }
    for (uint32_t i = 0; i < least->links && !is_late; i++) {
        is_late = is_link_late(least, engine, i, now);
    }
    return is_late;
}
