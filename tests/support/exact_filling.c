/* Each round: the lowest of left / load over the links and of cap / weight over
 * the flows, both of what is not frozen yet; then all flows at exactly this
 * level freeze at weight * level, rounded down. Below 1 byte/s they take 0 of
 * their links and run at 1. */
#include "support/exact_filling.h"

#include <string.h>

__extension__ typedef unsigned __int128 wide;

struct fraction {
    wide over; /* < 2^57 */
    uint64_t under;
};

struct filling {
    const struct exact_system *system;
    wide left[EXACT_LINKS_MAX];
    uint64_t load[EXACT_LINKS_MAX];
    bool is_tight[EXACT_LINKS_MAX];
    bool is_frozen[EXACT_FLOWS_MAX];
    uint32_t free_count;
};

static bool is_below(struct fraction a, struct fraction b)
{
    return a.over * b.under < b.over * a.under;
}

static struct fraction lower(struct fraction a, struct fraction b)
{
    return is_below(a, b) ? a : b;
}

static struct fraction link_level(const struct filling *filling, uint32_t link)
{
    return (struct fraction){filling->left[link], filling->load[link]};
}

static struct fraction cap_level(const struct exact_flow *flow)
{
    return (struct fraction){(wide)flow->cap_bytes_per_s, flow->weight};
}

static struct fraction lowest_level(const struct filling *filling)
{
    struct fraction lowest = {1, 0};
    for (uint32_t i = 0; i < filling->system->link_count; i++) {
        if (filling->load[i] > 0) {
            lowest = lower(link_level(filling, i), lowest);
        }
    }
    for (uint32_t i = 0; i < filling->system->flow_count; i++) {
        if (!filling->is_frozen[i]) {
            lowest = lower(cap_level(&filling->system->flows[i]), lowest);
        }
    }
    return lowest;
}

static bool is_at(const struct filling *filling, uint32_t i, struct fraction level)
{
    const struct exact_flow *flow = &filling->system->flows[i];
    bool is_held = !is_below(level, cap_level(flow));
    for (uint32_t j = 0; j < flow->route_count; j++) {
        is_held = is_held || filling->is_tight[flow->route[j].link];
    }
    return is_held && !filling->is_frozen[i];
}

static void freeze(struct filling *filling, uint32_t i, struct fraction level, int64_t *rate)
{
    const struct exact_flow *flow = &filling->system->flows[i];
    const wide charge = level.over * flow->weight / level.under;
    for (uint32_t j = 0; j < flow->route_count; j++) {
        filling->left[flow->route[j].link] -= charge * flow->route[j].usage;
        filling->load[flow->route[j].link] -= flow->route[j].usage * flow->weight;
    }
    filling->is_frozen[i] = true;
    filling->free_count--;
    *rate = charge > 0 ? (int64_t)charge : 1;
}

static void fill_round(struct filling *filling, int64_t *rates)
{
    const struct fraction level = lowest_level(filling);
    for (uint32_t i = 0; i < filling->system->link_count; i++) {
        filling->is_tight[i] = filling->load[i] > 0 && !is_below(level, link_level(filling, i));
    }
    for (uint32_t i = 0; i < filling->system->flow_count; i++) {
        if (is_at(filling, i, level)) {
            freeze(filling, i, level, &rates[i]);
        }
    }
}

void exact_filling(const struct exact_system *system, int64_t *rates_bytes_per_s)
{
    struct filling filling;
    memset(&filling, 0, sizeof filling);
    filling.system = system;
    filling.free_count = system->flow_count;
    for (uint32_t i = 0; i < system->link_count; i++) {
        filling.left[i] = (wide)system->capacities[i] * FLUID_USAGE_ONE;
    }
    for (uint32_t i = 0; i < system->flow_count; i++) {
        const struct exact_flow *flow = &system->flows[i];
        for (uint32_t j = 0; j < flow->route_count; j++) {
            filling.load[flow->route[j].link] += flow->route[j].usage * flow->weight;
        }
    }
    while (filling.free_count > 0) {
        fill_round(&filling, rates_bytes_per_s);
    }
}
