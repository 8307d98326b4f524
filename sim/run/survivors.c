/* Copies of dense parameters and of experts are looked at one after the other: a failure leaves
 * none where it leaves none of either, and a rank reads both at a time.
 */
#include "run/survivors.h"

#include "base/arena.h"
#include "input/scenario.h"
#include "plan/checkpoint_roles.h"
#include "plan/state_copies.h"
#include "run/failing.h"
#include "run/storage.h"

#include <math.h>

enum { LINES = 2, LEVEL_SEVERAL = 2 };

struct held_by {
    struct state_copies copies[LINES];
    uint32_t lines; /* 1 without experts */
};

static struct held_by holders_of(struct arena *arena, const struct scenario *scenario)
{
    static const enum mesh_line lines[LINES] = {MESH_DATA, MESH_EXPERT_DATA};
    struct held_by by = {.lines = scenario->model.experts > 0 ? LINES : 1};
    const struct mesh mesh = mesh_of(&scenario->parallel);
    for (uint32_t i = 0; i < by.lines; i++) {
        by.copies[i] = state_copies_of(arena, &mesh, lines[i], scenario->parallel.zero >= 1,
                                       (uint32_t)scenario->cluster.gpus_per_node);
    }
    return by;
}

static uint32_t nodes_of(struct arena *arena, const struct held_by *by)
{
    uint32_t fewest = UINT32_MAX;
    for (uint32_t i = 0; i < by->lines; i++) {
        const uint32_t nodes = state_copies_nodes(arena, &by->copies[i]);
        fewest = nodes < fewest ? nodes : fewest;
    }
    return fewest;
}

/* ---- what takes all copies ------------------------------------------------------------------ */

static double lost_share(struct arena *arena, const struct scenario *scenario,
                         const struct held_by *by, const struct failure_kind *kind)
{
    const uint32_t level = failing_level(kind->takes);
    const bool is_job = kind->of == FAILURE_OF_JOB && kind->takes == FAILURE_TAKES_PROCESS;
    if (is_job || kind->takes == FAILURE_TAKES_FILE_SYSTEM || kind->effect == FAILURE_CORRUPTS) {
        return 1;
    }
    if (level <= LEVEL_NODE) {
        return 0;
    }
    const struct failing_domains domains = failing_victims(scenario, kind->takes);
    bool *marks = arena_array(arena, (size_t)domains.count, sizeof *marks);
    for (uint32_t i = 0; i < by->lines; i++) {
        state_copies_mark(&by->copies[i], (uint32_t)domains.nodes, marks);
    }
    double marked = 0;
    for (int64_t i = 0; i < domains.count; i++) {
        marked += marks[i] ? 1 : 0;
    }
    return marked / (double)domains.count;
}

/* Of n nodes that are taken at once, N in all and each part in c of them, so many parts go in the
 * mean: N/c times n (n-1) ... (n-c+1) / (N (N-1) ... (N-c+1)); of a geometric n of mean m that is
 *
 *     N/c c! m (m-1)^(c-1) / (N (N-1) ... (N-c+1)),   1 at most */
static double lost_share_of_spot(const struct scenario *scenario, uint32_t holders)
{
    const double nodes = (double)scenario->nodes;
    const double together = scenario->spot.together;
    double parts = nodes / holders * together / (together > 1 ? together - 1 : 1);
    for (uint32_t i = 0; i < holders; i++) {
        parts *= (i + 1) * (together - 1) / fmax(nodes - i, 1);
    }
    return fmin(parts, 1);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The ranks that are lost, with the one that holds most among them. */
struct lost_ranks {
    uint32_t first, count;
};

static struct lost_ranks ranks_from(const struct scenario *scenario, uint32_t first, uint32_t count)
{
    const uint32_t left = (uint32_t)scenario->gpus - first;
    return (struct lost_ranks){first, left < count ? left : count};
}

/* One of domains of so many nodes, which lie one after the other. */
static struct lost_ranks ranks_of_domain(const struct scenario *scenario, uint32_t most,
                                         int64_t nodes)
{
    const uint32_t count = (uint32_t)(nodes * scenario->cluster.gpus_per_node);
    return ranks_from(scenario, most / count * count, count);
}

/* Of a geometric law of mean m, those that are two or more are 1 + m in the mean. */
static int64_t spot_nodes_lost(const struct scenario *scenario, uint32_t holders)
{
    const double together = scenario->spot.together;
    const bool are_several = recovery_is_on_spot(scenario) && together > 1;
    return are_several ? (int64_t)fmin(round(1 + together), holders - 1) : 1;
}

/* Whatever nodes: from the one on that holds most. */
static struct lost_ranks ranks_of_spot(const struct scenario *scenario, uint32_t most,
                                       uint32_t holders)
{
    const uint32_t per_node = (uint32_t)scenario->cluster.gpus_per_node;
    const uint32_t nodes = (uint32_t)spot_nodes_lost(scenario, holders);
    return ranks_from(scenario, most / per_node * per_node, nodes * per_node);
}

/* The first rank of the stage that holds most. */
static uint32_t rank_that_holds_most(const struct scenario *scenario)
{
    const struct memory_job memory = memory_job_of(scenario);
    const struct mesh mesh = mesh_of(&scenario->parallel);
    uint32_t most = 0;
    for (uint32_t stage = 1; stage < mesh.pp; stage++) {
        const bool is_more =
            checkpoint_held_bytes(&memory, stage) > checkpoint_held_bytes(&memory, most);
        most = is_more ? stage : most;
    }
    return mesh_stage_rank(&mesh, most, 0);
}

/* What the lost ranks read of dense parameters, or of experts. Kinds of ranks: the stages, and who
 * reads nothing. */
static struct storage_move read_of(struct arena *arena, const struct scenario *scenario,
                                   const struct held_by *by, const struct lost_ranks *lost,
                                   uint32_t line)
{
    const struct memory_job memory = memory_job_of(scenario);
    const struct mesh mesh = mesh_of(&scenario->parallel);
    uint32_t *kinds = arena_array(arena, (size_t)scenario->gpus, sizeof *kinds);
    uint32_t *source = arena_array(arena, (size_t)scenario->gpus, sizeof *source);
    double *bytes = arena_array(arena, (size_t)mesh.pp + 1, sizeof *bytes);
    for (uint32_t stage = 0; stage < mesh.pp; stage++) {
        const struct checkpoint_held held = checkpoint_held_of(&memory, stage);
        bytes[stage] = line == 0 ? held.dense_bytes : held.expert_bytes;
    }
    state_copies_sources(&by->copies[line], lost->first, lost->count, source);
    for (uint32_t rank = 0; rank < (uint32_t)scenario->gpus; rank++) {
        const bool is_lost = rank >= lost->first && rank - lost->first < lost->count;
        const bool reads = is_lost && source[rank] != rank;
        kinds[rank] = reads ? mesh_stage_of(&mesh, rank) : mesh.pp;
    }
    return (struct storage_move){
        .scenario = scenario, .kind_of_rank = kinds, .kind_bytes = bytes, .source = source};
}

static double read_s(struct arena *arena, const struct scenario *scenario, const struct held_by *by,
                     const struct lost_ranks *lost)
{
    struct storage_move moves[LINES];
    sim_time ends[LINES] = {0};
    for (uint32_t i = 0; i < by->lines; i++) {
        moves[i] = read_of(arena, scenario, by, lost, i);
    }
    storage_run(arena, moves, by->lines, ends);
    return sim_time_to_s(ends[0] > ends[1] ? ends[0] : ends[1]);
}

/* The longest of what a failure of any kind leaves to be read, nodes that fall one by one included:
 * of peers that do, too, the level is that of several (run/history). */
static double several_read_s(struct arena *arena, const struct scenario *scenario,
                             const struct held_by *by, uint32_t most, uint32_t holders)
{
    const struct failures *failures = &scenario->failures;
    const struct lost_ranks spot = ranks_of_spot(scenario, most, holders);
    double longest_s = recovery_is_on_spot(scenario) ? read_s(arena, scenario, by, &spot) : 0;
    bool *is_known = arena_array(arena, (size_t)scenario->nodes + 1, sizeof *is_known);
    for (uint32_t i = 0; i < failures->kind_count; i++) {
        const int64_t nodes = failing_victims(scenario, failures->kinds[i].takes).nodes;
        if (nodes > 0 && !is_known[nodes]) {
            const struct lost_ranks domain = ranks_of_domain(scenario, most, nodes);
            longest_s = fmax(longest_s, read_s(arena, scenario, by, &domain));
            is_known[nodes] = true;
        }
    }
    return longest_s;
}

/* ---- the whole ------------------------------------------------------------------------------ */

void survivors_of(struct arena *arena, const struct scenario *scenario, struct survivors *survivors)
{
    *survivors = (struct survivors){.nodes = 0};
    const struct failures *failures = &scenario->failures;
    if (!recovery_has_failures(scenario) || scenario->recovery.from != RECOVERY_FROM_REPLICA) {
        return;
    }
    struct arena *scratch = arena_new();
    const struct held_by by = holders_of(scratch, scenario);
    survivors->nodes = nodes_of(scratch, &by);
    if (survivors->nodes >= 2) {
        double *lost = arena_array(arena, failures->kind_count + 1, sizeof *lost);
        for (uint32_t i = 0; i < failures->kind_count; i++) {
            lost[i] = lost_share(scratch, scenario, &by, &failures->kinds[i]);
        }
        lost[failures->kind_count] = lost_share_of_spot(scenario, survivors->nodes);
        survivors->lost = lost;
        const uint32_t most = rank_that_holds_most(scenario);
        if (!scenario->recovery.has_restart) {
            const struct lost_ranks one = {most, 1};
            const struct lost_ranks node = ranks_of_domain(scenario, most, 1);
            survivors->read_s[0] = read_s(scratch, scenario, &by, &one);
            survivors->read_s[LEVEL_NODE] = read_s(scratch, scenario, &by, &node);
            survivors->read_s[LEVEL_SEVERAL] =
                several_read_s(scratch, scenario, &by, most, survivors->nodes);
        }
    }
    arena_free(scratch);
}
