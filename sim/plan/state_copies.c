/* Parts are listed holder group by holder group, as a checkpoint's roles are (checkpoint_roles).
 * All that is asked of them is one pass over the list.
 */
#include "plan/state_copies.h"

#include "base/arena.h"
#include "base/check.h"

struct state_copies state_copies_of(struct arena *arena, const struct mesh *mesh,
                                    enum mesh_line line, bool is_sharded, uint32_t gpus_per_node)
{
    const uint32_t groups = mesh_holder_groups(mesh, line);
    const uint32_t holders = mesh_holders(mesh, line);
    const uint32_t shards = is_sharded ? mesh_shards(mesh, line) : 1;
    const uint32_t each = holders / shards;
    sim_assert(each >= 1 && each * shards == holders);
    uint32_t *ranks = arena_array(arena, (size_t)groups * holders, sizeof *ranks);
    for (uint32_t group = 0; group < groups; group++) {
        for (uint32_t i = 0; i < holders; i++) {
            ranks[(group * shards + i % shards) * each + i / shards] =
                mesh_holder_rank(mesh, line, group, i);
        }
    }
    return (struct state_copies){ranks, groups * shards, each, gpus_per_node};
}

static const uint32_t *ranks_of(const struct state_copies *copies, uint32_t part)
{
    return copies->ranks + (size_t)part * copies->each;
}

uint32_t state_copies_nodes(struct arena *arena, const struct state_copies *copies)
{
    const uint32_t ranks = copies->parts * copies->each;
    uint32_t *seen = arena_array(arena, ranks / copies->gpus_per_node + 1, sizeof *seen);
    uint32_t fewest = UINT32_MAX;
    for (uint32_t part = 0; part < copies->parts; part++) {
        uint32_t nodes = 0;
        for (uint32_t i = 0; i < copies->each; i++) {
            uint32_t *last = &seen[ranks_of(copies, part)[i] / copies->gpus_per_node];
            nodes += *last != part + 1;
            *last = part + 1;
        }
        fewest = nodes < fewest ? nodes : fewest;
    }
    return fewest;
}

void state_copies_mark(const struct state_copies *copies, uint32_t nodes_of_domain, bool *marks)
{
    const uint32_t per_domain = nodes_of_domain * copies->gpus_per_node;
    for (uint32_t part = 0; part < copies->parts; part++) {
        const uint32_t *ranks = ranks_of(copies, part);
        uint32_t together = 1;
        while (together < copies->each && ranks[together] / per_domain == ranks[0] / per_domain) {
            together++;
        }
        if (together == copies->each) {
            marks[ranks[0] / per_domain] = true;
        }
    }
}

static bool is_among(uint32_t rank, uint32_t first, uint32_t count)
{
    return rank >= first && rank - first < count;
}

/* From holder `at` of a part on the next that is not among them, or `at` again: there is none. */
static uint32_t next_left(const struct state_copies *copies, const uint32_t *ranks, uint32_t at,
                          uint32_t first, uint32_t count)
{
    for (uint32_t i = 1; i < copies->each; i++) {
        const uint32_t next = (at + i) % copies->each;
        if (!is_among(ranks[next], first, count)) {
            return next;
        }
    }
    return at;
}

/* Each goes on where the one before was served, so that those that are left serve in turn. */
void state_copies_sources(const struct state_copies *copies, uint32_t first, uint32_t count,
                          uint32_t *source)
{
    for (uint32_t part = 0; part < copies->parts; part++) {
        const uint32_t *ranks = ranks_of(copies, part);
        uint32_t by = 0;
        bool is_first = true;
        for (uint32_t i = 0; i < copies->each; i++) {
            if (is_among(ranks[i], first, count)) {
                by = next_left(copies, ranks, is_first ? i : by, first, count);
                source[ranks[i]] = is_among(ranks[by], first, count) ? ranks[i] : ranks[by];
                is_first = false;
            }
        }
    }
}
