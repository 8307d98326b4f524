/* Blocks are found by trying the divisors of the ranks on all lines: no second rule of where ranks
 * stand has to agree with plan/mesh. All lines of a mesh have as many ranks as there are GPUs,
 * and numbers have few divisors: plain scans. Only lines that are blocks themselves need none.
 */
#include "train/placement_segment.h"

#include "base/arena.h"
#include "base/check.h"

const struct placement_line placement_lines[PLACEMENT_LINE_COUNT] = {
    {MESH_TENSOR, "tensor"},
    {MESH_CONTEXT, "context"},
    {MESH_EXPERT, "expert"},
    {MESH_EXPERT_TENSOR, "expert tensor"},
};

struct ends {
    uint32_t first, last;
};

/* The first and the last rank of each of the first `count` lines. */
static struct ends *ends_of(struct arena *arena, const struct mesh *mesh, enum mesh_line line,
                            uint32_t count)
{
    const uint32_t last = mesh_line_size(mesh, line) - 1;
    struct ends *ends = arena_array(arena, count, sizeof *ends);
    for (uint32_t i = 0; i < count; i++) {
        ends[i] =
            (struct ends){mesh_line_rank(mesh, line, i, 0), mesh_line_rank(mesh, line, i, last)};
    }
    return ends;
}

/* Of lines that lie so many ranks further on. */
static bool blocks_hold(const struct ends *ends, uint32_t count, uint32_t further, uint32_t block)
{
    for (uint32_t i = 0; i < count; i++) {
        if ((ends[i].first + further) / block != (ends[i].last + further) / block) {
            return false;
        }
    }
    return true;
}

/* Lines of the stages: of all, or where a stage follows the other, of the first. */
struct stages {
    const struct ends *ends;
    uint32_t line_count, stage_count, stage_ranks;
};

static struct stages stages_of(struct arena *arena, const struct mesh *mesh, enum mesh_line line)
{
    const uint32_t ranks = mesh_stage_size(mesh);
    const bool is_row = mesh->pp == 1 || mesh_stage_rank(mesh, 1, 0) == ranks;
    const uint32_t count = mesh_line_count(mesh, line) * (is_row ? 1 : mesh->pp);
    return (struct stages){ends_of(arena, mesh, line, count), count, is_row ? mesh->pp : 1, ranks};
}

/* In stages that are whole blocks all lie as in the first. */
static bool stages_hold(const struct stages *stages, uint32_t block)
{
    const uint32_t count = stages->stage_ranks % block == 0 ? 1 : stages->stage_count;
    uint32_t stage = 0;
    while (stage < count &&
           blocks_hold(stages->ends, stages->line_count, stage * stages->stage_ranks, block)) {
        stage++;
    }
    return stage == count;
}

uint32_t placement_block(const struct mesh *mesh, enum mesh_line line)
{
    if (mesh_lines_are_blocks(mesh, line)) {
        return mesh_line_size(mesh, line);
    }
    const uint32_t ranks = mesh_size(mesh);
    struct arena *arena = arena_new();
    const struct stages stages = stages_of(arena, mesh, line);
    uint32_t block = mesh_line_size(mesh, line);
    while (ranks % block != 0 || !stages_hold(&stages, block)) {
        block++; /* ends at all ranks */
    }
    arena_free(arena);
    return block;
}

static uint32_t common_multiple(uint32_t a, uint32_t b)
{
    uint32_t multiple = a;
    while (multiple % b != 0) { /* ends after b rounds at the latest; both fit into a domain */
        multiple += a;
    }
    return multiple;
}

/* The largest block of at most `limit` ranks, 0 if none. */
static uint32_t largest_up_to(const uint32_t *blocks, uint32_t limit)
{
    uint32_t largest = 0;
    for (uint32_t i = 0; i < PLACEMENT_LINE_COUNT; i++) {
        if (blocks[i] <= limit && blocks[i] > largest) {
            largest = blocks[i];
        }
    }
    return largest;
}

uint32_t placement_segment_nodes(const struct cluster *cluster, const struct mesh *mesh)
{
    const uint32_t per_node = (uint32_t)cluster->gpus_per_node;
    if (cluster->domain_nodes <= 1 || mesh_size(mesh) <= per_node) {
        return 1;
    }
    const uint32_t domain = per_node * (uint32_t)cluster->domain_nodes;
    uint32_t blocks[PLACEMENT_LINE_COUNT];
    for (uint32_t i = 0; i < PLACEMENT_LINE_COUNT; i++) {
        blocks[i] = placement_block(mesh, placement_lines[i].line);
    }
    uint32_t segment = per_node;
    for (uint32_t block = domain; (block = largest_up_to(blocks, block)) > 0; block--) {
        const uint32_t both = common_multiple(segment, block);
        segment = both <= domain ? both : segment;
    }
    sim_assert(mesh_size(mesh) % segment == 0);
    return segment / per_node;
}
