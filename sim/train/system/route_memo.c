/* A key is a head of fixed size and the group's GPUs: all of them, or where they lie evenly, as
 * groups mostly do, the first and the distance. The cluster stands in it by number: the one that
 * was asked about last is compared, and another gets the next number, which none had before.
 */
#include "train/system/route_memo.h"

#include "base/arena.h"
#include "base/check.h"
#include "hw/fabric.h"
#include "hw/fabric_turn.h"

#include <string.h>

enum { ROUTES_BYTES_MAX = 4 << 20 };

/* Cleared, then filled: no padding but that of what was read from files. */
struct key_head {
    uint64_t cluster;
    double network_share, hottest, node_share;
    uint32_t gpus, turns[2 * TURN_LEVELS];
    uint32_t operation, algorithm, phase, turned, ranks, is_direct;
    uint32_t first, apart; /* of GPUs that lie evenly; 0 apart: they are listed behind */
};

/* What is kept: the crossings stand behind it. */
struct traced {
    uint32_t count, hops_max;
};

struct route_memo {
    struct arena *arena;
    struct memo *routes;
    struct cluster *last, *asked; /* without what does not count */
    uint64_t number;              /* of the last; 0: none */
    struct key_head *key;         /* with room for `capacity` GPUs behind it */
    size_t capacity;
    struct traced *value;
    size_t value_capacity;
};

struct route_memo *route_memo_new(void)
{
    struct arena *arena = arena_new();
    struct route_memo *memo = arena_alloc(arena, sizeof *memo);
    *memo = (struct route_memo){.arena = arena,
                                .routes = memo_new(ROUTES_BYTES_MAX),
                                .last = arena_alloc(arena, sizeof *memo->last),
                                .asked = arena_alloc(arena, sizeof *memo->asked)};
    return memo;
}

void route_memo_free(struct route_memo *memo)
{
    if (memo != NULL) {
        memo_free(memo->routes);
        arena_free(memo->arena);
    }
}

bool route_memo_takes(const struct cluster *cluster)
{
    const uint32_t kind = cluster->fabric_kind;
    return cluster->routing == ROUTING_ADAPTIVE &&
           (kind == FABRIC_RAIL || kind == FABRIC_RAIL_ONLY || kind == FABRIC_TREE);
}

/* ---- the key ------------------------------------------------------------------------------ */

static void number_cluster(struct route_memo *memo, const struct cluster *cluster)
{
    cluster_figures(cluster, memo->asked);
    memo->asked->scale_up_latency_s = 0;
    memo->asked->nic_latency_s = 0;
    memo->asked->round_latency_s = 0;
    memo->asked->hop_latency_s = 0;
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): copied whole */
    if (memo->number == 0 || memcmp(memo->asked, memo->last, sizeof *memo->last) != 0) {
        memcpy(memo->last, memo->asked, sizeof *memo->last);
        memo->number++;
    }
}

/* By how much each is further than the one before; 0: not all by as much, or not upwards. */
static uint32_t distance_of(const uint32_t *gpus, uint32_t count)
{
    const uint32_t apart = count > 1 && gpus[1] > gpus[0] ? gpus[1] - gpus[0] : 0;
    uint32_t i = 2;
    while (i < count && gpus[i] - gpus[i - 1] == apart) { /* wraps where it falls: no distance */
        i++;
    }
    return i >= count ? apart : 0;
}

/* In memo->key; its size. */
static size_t fill_key(struct route_memo *memo, const struct transfer_setting *setting,
                       const struct route_wish *wish)
{
    const struct group_shape *shape = wish->shape;
    if (shape->ranks > memo->capacity || memo->key == NULL) {
        memo->capacity = 2 * (size_t)shape->ranks;
        memo->key =
            arena_alloc(memo->arena, sizeof *memo->key + memo->capacity * sizeof *shape->gpus);
    }
    struct key_head *key = memo->key;
    memset(key, 0, sizeof *key);
    number_cluster(memo, setting->fabric->cluster);
    key->cluster = memo->number;
    key->network_share = setting->fabric->network_share;
    key->hottest = shape->group.hottest;
    key->node_share = shape->group.node_share;
    key->gpus = setting->fabric->gpus;
    for (uint32_t level = 0; setting->turns != NULL && level < TURN_LEVELS; level++) {
        key->turns[(size_t)2 * level] = setting->turns->at[level].by;
        key->turns[(size_t)2 * level + 1] = setting->turns->at[level].around;
    }
    key->operation = wish->operation;
    key->algorithm = wish->algorithm;
    key->phase = wish->phase;
    key->turned = shape->turned;
    key->ranks = shape->ranks;
    key->is_direct = wish->is_direct;
    key->first = shape->gpus[0];
    key->apart = distance_of(shape->gpus, shape->ranks);
    if (key->apart > 0) {
        return sizeof *key;
    }
    memcpy(key + 1, shape->gpus, shape->ranks * sizeof *shape->gpus);
    return sizeof *key + shape->ranks * sizeof *shape->gpus;
}

/* ---- routes ------------------------------------------------------------------------------- */

bool route_memo_take(struct route_memo *memo, const struct transfer_setting *setting,
                     const struct route_wish *wish)
{
    const size_t key_bytes = fill_key(memo, setting, wish);
    const struct traced *known = memo_find(memo->routes, memo->key, key_bytes);
    if (known != NULL) {
        fabric_trace_again(setting->fabric, (const struct fabric_crossing *)(known + 1),
                           known->count, known->hops_max);
    }
    return known != NULL;
}

void route_memo_keep(struct route_memo *memo, const struct transfer_setting *setting,
                     const struct route_wish *wish, const struct fabric_route *route)
{
    const size_t crossings_bytes = route->count * sizeof *route->crossings;
    const size_t value_bytes = sizeof *memo->value + crossings_bytes;
    if (value_bytes > memo->value_capacity) {
        memo->value_capacity = 2 * value_bytes;
        memo->value = arena_alloc(memo->arena, memo->value_capacity);
    }
    *memo->value = (struct traced){route->count, route->hops_max};
    memcpy(memo->value + 1, route->crossings, crossings_bytes);
    const size_t key_bytes = fill_key(memo, setting, wish);
    memo_add(memo->routes, memo->key, key_bytes, memo->value, value_bytes);
}

struct memo_count route_memo_count(const struct route_memo *memo)
{
    return memo_count(memo->routes);
}
