/* Kinds of which there is one group have its shape; of others the first of each orbit is measured:
 * the first that lies widest apart of these is that of all.
 */
#include "train/system/system_groups.h"

#include "base/arena.h"
#include "base/check.h"
#include "des/fluid.h"
#include "input/scenario.h"

uint32_t system_next_group(const struct step_system *system, const struct system_job *job,
                           enum group_kind kind, uint32_t number)
{
    const uint32_t count = groups_count(&job->layout, kind);
    while (number < count && fabric_turns_any(&system->turns)) {
        const uint32_t rank = groups_first(&job->layout, kind, number);
        if (fabric_turns_gpu(&system->turns, rank, TURN_ALL) == rank) {
            break;
        }
        number = groups_seek(&job->layout, kind, number, fabric_turns_next(&system->turns, rank));
    }
    return number < count ? number : count;
}

/* The GPUs of a group, in order of domain; the list is new. */
static uint32_t *gpus_of(const struct step_system *system, const struct system_job *job,
                         enum group_kind kind, uint32_t number)
{
    const uint32_t size = groups_size(&job->layout, kind);
    uint32_t *gpus = arena_array(system->setting.arena, size, sizeof *gpus);
    groups_members(&job->layout, kind, number, gpus);
    for (uint32_t i = 0; i < size; i++) {
        gpus[i] = system_gpu_of(job, gpus[i]);
    }
    return gpus;
}

/* How far apart a group lies: scale-up domains, then GPUs between the first and the last. */
struct extent_of_group {
    uint32_t domains, span;
};

static struct extent_of_group measure_group(struct step_system *system,
                                            const struct system_job *job, enum group_kind kind,
                                            uint32_t number, uint32_t *ranks)
{
    const struct fabric *fabric = &system->fabric;
    const uint32_t size = groups_size(&job->layout, kind);
    groups_members(&job->layout, kind, number, ranks);
    struct extent_of_group extent = {0, 0};
    uint32_t lowest = UINT32_MAX;
    uint32_t highest = 0;
    uint32_t before = UINT32_MAX;
    for (uint32_t i = 0; i < size; i++) {
        const uint32_t gpu = system_gpu_of(job, ranks[i]);
        const uint32_t domain = fabric_domain_of(fabric, gpu);
        extent.domains += domain != before;
        before = domain;
        lowest = gpu < lowest ? gpu : lowest;
        highest = gpu > highest ? gpu : highest;
    }
    extent.span = highest - lowest;
    return extent;
}

/* One group as it is priced and routed. Of those that exchange tokens one rank gets more than the
 * others, and copies of a token for several of a node's experts may go there once. */
void system_shape_group(const struct step_system *system, const struct system_job *job,
                        enum group_kind kind, uint32_t number, struct group_shape *shape)
{
    const uint32_t size = groups_size(&job->layout, kind);
    group_shape_init(&system->setting, gpus_of(system, job, kind, number), size, shape);
    if (kind == GROUP_EXPERT) {
        shape->group.hottest = job->routing.exchange_hottest;
        shape->group.node_share = routing_node_share(&job->router, shape->nodes);
        shape->sends_tokens = job->router.exchange == EXCHANGE_TOKENS;
    }
}

/* Switches between a group's first and last GPU. */
static uint32_t hops_across(struct step_system *system, const struct group_shape *shape)
{
    struct fabric *fabric = &system->fabric;
    struct fabric_route route = {.hops_max = 0};
    if (shape->ranks > 1) {
        fabric_trace_begin(fabric);
        fabric_trace_send(fabric, shape->gpus[0], shape->gpus[shape->ranks - 1], FLUID_USAGE_ONE);
        fabric_trace_end(fabric, &route);
    }
    return route.hops_max;
}

void system_choose_groups(struct step_system *system, struct system_job *job, uint32_t *ranks)
{
    for (uint32_t kind = 0; kind < GROUP_KIND_COUNT_; kind++) {
        const struct group_row *row = &group_rows[kind];
        const uint32_t count = groups_count(&job->layout, (enum group_kind)kind);
        struct group_shape *shape = &job->groups[kind];
        *shape = (struct group_shape){.ranks = 1, .nodes = 1};
        struct extent_of_group widest = {0, 0};
        uint32_t chosen = 0;
        uint32_t i = count > 1 ? 0 : count; /* one alone is chosen */
        while ((i = system_next_group(system, job, (enum group_kind)kind, i)) < count) {
            const struct extent_of_group extent =
                measure_group(system, job, (enum group_kind)kind, i, ranks);
            if (extent.domains > widest.domains ||
                (extent.domains == widest.domains && extent.span > widest.span)) {
                widest = extent;
                chosen = i;
            }
            i++;
        }
        if (count > 0) {
            system_shape_group(system, job, (enum group_kind)kind, chosen, shape);
            shape->forced = job->is.scenario->collectives[row->choice];
            shape->is_latency_only = row->is_latency_only;
            shape->hops_max = hops_across(system, shape);
        }
    }
}
