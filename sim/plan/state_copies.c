/* Parts are listed holder group by holder group, as a checkpoint's roles are (checkpoint_roles).
 */
#include "plan/state_copies.h"

#include "base/arena.h"
#include "base/check.h"

struct state_copies state_copies_of(struct arena *arena, const struct memory_job *job,
                                    enum mesh_line line, uint32_t gpus_per_node)
{
    const struct mesh mesh = mesh_of(job->split.parallel);
    const uint32_t groups = mesh_holder_groups(&mesh, line);
    const uint32_t holders = mesh_holders(&mesh, line);
    const uint32_t shards = job->split.parallel->zero >= 1 ? mesh_shards(&mesh, line) : 1;
    const uint32_t each = holders / shards;
    sim_assert(each >= 1 && each * shards == holders);
    uint32_t *ranks = arena_array(arena, (size_t)groups * holders, sizeof *ranks);
    for (uint32_t group = 0; group < groups; group++) {
        for (uint32_t i = 0; i < holders; i++) {
            ranks[(group * shards + i % shards) * each + i / shards] =
                mesh_holder_rank(&mesh, line, group, i);
        }
    }
    return (struct state_copies){ranks, groups * shards, each, gpus_per_node};
}

/* A part's ranks rise on a stage, so those of a node follow one another there. */
static uint32_t nodes_of(const struct state_copies *copies, const uint32_t *ranks)
{
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < copies->each; i++) {
        const uint32_t node = ranks[i] / copies->gpus_per_node;
        nodes += i == 0 || ranks[i - 1] / copies->gpus_per_node != node;
    }
    return nodes;
}

uint32_t state_copies_nodes(const struct state_copies *copies)
{
    uint32_t fewest = UINT32_MAX;
    for (uint32_t part = 0; part < copies->parts; part++) {
        const uint32_t nodes = nodes_of(copies, copies->ranks + (size_t)part * copies->each);
        fewest = nodes < fewest ? nodes : fewest;
    }
    return fewest;
}

bool state_copies_end(const struct state_copies *copies, uint32_t first, uint32_t count)
{
    for (uint32_t part = 0; part < copies->parts; part++) {
        const uint32_t *ranks = copies->ranks + (size_t)part * copies->each;
        uint32_t in = 0;
        while (in < copies->each && ranks[in] / copies->gpus_per_node - first < count) {
            in++; /* of an earlier node the difference is huge */
        }
        if (in == copies->each) {
            return true;
        }
    }
    return false;
}

void state_copies_sources(const struct state_copies *copies, uint32_t first, uint32_t count,
                          uint32_t *source)
{
    for (uint32_t part = 0; part < copies->parts; part++) {
        const uint32_t *ranks = copies->ranks + (size_t)part * copies->each;
        for (uint32_t i = 0; i < copies->each; i++) {
            uint32_t k = 0;
            while (k < copies->each && ranks[(i + k) % copies->each] - first < count) {
                k++;
            }
            if (ranks[i] - first < count) {
                source[ranks[i]] = k < copies->each ? ranks[(i + k) % copies->each] : ranks[i];
            }
        }
    }
}
