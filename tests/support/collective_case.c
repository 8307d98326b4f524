#include "support/collective_case.h"

#include "base/arena.h"

#include <stddef.h>

const struct collective_case collective_cases[] = {
    {"1x2", 1, 2}, {"1x8", 1, 8},   {"2x8", 2, 8}, {"4x8", 4, 8},
    {"8x1", 8, 1}, {"16x1", 16, 1}, {"3x5", 3, 5}, {"8+8+4", 3, 0},
};
const uint32_t collective_case_count = sizeof collective_cases / sizeof collective_cases[0];

static struct collective_group group_new(struct arena *arena, uint32_t nodes, uint32_t per_node,
                                         uint32_t in_last)
{
    uint32_t *first = arena_array(arena, nodes + 1, sizeof *first);
    for (uint32_t i = 0; i < nodes; i++) {
        first[i + 1] = first[i] + (i + 1 < nodes ? per_node : in_last);
    }
    uint32_t *rails = arena_array(arena, first[nodes], sizeof *rails);
    for (uint32_t i = 0; i < first[nodes]; i++) {
        rails[i] = i % per_node;
    }
    return (struct collective_group){.ranks = first[nodes],
                                     .nodes = nodes,
                                     .node_first = first,
                                     .rails = rails,
                                     .has_multicast = true,
                                     .has_reduction = true};
}

struct collective_group collective_group_of(struct arena *arena, uint32_t nodes, uint32_t per_node)
{
    return group_new(arena, nodes, per_node, per_node);
}

struct collective_group collective_case_group(struct arena *arena,
                                              const struct collective_case *which)
{
    return which->per_node > 0 ? group_new(arena, which->nodes, which->per_node, which->per_node)
                               : group_new(arena, which->nodes, 8, 4);
}

uint32_t collective_node_of(const struct collective_group *group, uint32_t rank)
{
    uint32_t node = 0;
    while (group->node_first[node + 1] <= rank) {
        node++;
    }
    return node;
}

struct collective_loads collective_loads_new(struct arena *arena,
                                             const struct collective_group *group)
{
    const size_t n = group->ranks;
    struct collective_loads loads = {.group = group};
    loads.pairs = n <= 64 ? arena_array(arena, n * n, sizeof(double)) : NULL;
    loads.out = arena_array(arena, n, sizeof(double));
    loads.in = arena_array(arena, n, sizeof(double));
    loads.nic_out = arena_array(arena, n, sizeof(double));
    loads.nic_in = arena_array(arena, n, sizeof(double));
    return loads;
}

static uint32_t nic_of(const struct collective_group *group, uint32_t rank)
{
    const uint32_t first = group->node_first[collective_node_of(group, rank)];
    while (rank > first && group->rails[rank - 1] == group->rails[rank]) {
        rank--;
    }
    return rank;
}

static void add_send(void *context, uint32_t from, uint32_t to, double share)
{
    struct collective_loads *loads = context;
    const struct collective_group *group = loads->group;
    const double bytes = share * loads->scale;
    sim_assert(from < group->ranks && to < group->ranks && from != to);
    sim_assert(share > 0);
    if (loads->pairs != NULL) {
        loads->pairs[from * group->ranks + to] += bytes;
    }
    if (collective_node_of(group, from) == collective_node_of(group, to)) {
        loads->out[from] += bytes;
        loads->in[to] += bytes;
    } else {
        loads->nic_out[nic_of(group, from)] += bytes;
        loads->nic_in[nic_of(group, to)] += bytes;
    }
}

static void add_port(void *context, uint32_t rank, double out, double in)
{
    struct collective_loads *loads = context;
    loads->out[rank] += out * loads->scale;
    loads->in[rank] += in * loads->scale;
}

static void add_reduction(void *context, const uint32_t *ranks, uint32_t count, double share)
{
    struct collective_loads *loads = context;
    for (uint32_t i = 0; i < count; i++) {
        loads->nic_out[nic_of(loads->group, ranks[i])] += share * loads->scale;
        loads->nic_in[nic_of(loads->group, ranks[i])] += share * loads->scale;
        loads->network += share * loads->scale;
    }
}

void collective_loads_add(struct arena *arena, struct collective_loads *loads,
                          enum collective_operation operation, enum collective_algorithm algorithm,
                          uint32_t phase, double bytes)
{
    const struct collective_visitor visitor = {loads, 0, add_send, add_port, add_reduction};
    loads->scale = bytes;
    collective_edges(arena, operation, algorithm, loads->group, phase, &visitor);
}

double collective_loads_total(const struct collective_loads *loads)
{
    const uint32_t n = loads->group->ranks;
    double sum = 0;
    for (uint32_t i = 0; i < n * n; i++) {
        sum += loads->pairs[i];
    }
    return sum;
}

static double most(const double *values, uint32_t count)
{
    double best = 0;
    for (uint32_t i = 0; i < count; i++) {
        best = values[i] > best ? values[i] : best;
    }
    return best;
}

static double busiest_s(const struct collective_loads *loads,
                        const struct collective_levels *levels)
{
    const uint32_t n = loads->group->ranks;
    const double times[] = {
        most(loads->out, n) / levels->scale_up_bytes_per_s,
        most(loads->in, n) / levels->scale_up_bytes_per_s,
        most(loads->nic_out, n) / levels->nic_bytes_per_s,
        most(loads->nic_in, n) / levels->nic_bytes_per_s,
    };
    return most(times, sizeof times / sizeof times[0]);
}

double collective_case_time_s(struct arena *arena, enum collective_operation operation,
                              enum collective_algorithm algorithm,
                              const struct collective_group *group, double bytes,
                              const struct collective_levels *levels)
{
    struct collective_phase phases[COLLECTIVE_PHASES_MAX];
    const uint32_t count = collective_phases(operation, algorithm, group, bytes, phases);
    sim_assert(count > 0);
    double time_s = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct collective_loads loads = collective_loads_new(arena, group);
        collective_loads_add(arena, &loads, operation, algorithm, i, phases[i].bytes);
        time_s += (double)phases[i].rounds_intra * levels->alpha_intra_s +
                  (double)phases[i].rounds_inter * levels->alpha_inter_s +
                  busiest_s(&loads, levels);
    }
    return time_s;
}

double collective_time_s(const struct collective_phase *list, uint32_t count, double alpha_intra_s,
                         double alpha_inter_s, double bandwidth_bytes_per_s)
{
    sim_assert(alpha_intra_s >= 0 && alpha_inter_s >= 0);
    sim_assert(bandwidth_bytes_per_s > 0);
    double time_s = 0;
    for (uint32_t i = 0; i < count; i++) {
        time_s += (double)list[i].rounds_intra * alpha_intra_s +
                  (double)list[i].rounds_inter * alpha_inter_s +
                  list[i].bytes / bandwidth_bytes_per_s;
    }
    return time_s;
}
