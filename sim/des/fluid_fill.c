/* Weighted max-min fair rates by progressive filling, in integers.
 *
 * Raise the level (rate / weight) of all flows together. A link is tight at
 * level left / load, where left is the capacity that frozen flows leave and
 * load the sum of weight * usage of the others; a cap is a link of its own,
 * tight at cap / weight. Each round takes the lowest such level, an exact
 * fraction, and freezes all flows on all links and caps that have exactly
 * this level, at floor(weight * level). For a flow at its cap this is the cap.
 *
 * Invariants, with exact fractions and rates rounded down:
 *   - left >= 0, because each frozen flow takes at most weight * level of a
 *     link whose level is not lower;
 *   - levels never fall from round to round (for the same reason). So a heap
 *     of levels may hold old values: an entry whose link has changed since is
 *     brought up to date when it comes to the top, and only ever sinks.
 *   - A round is defined by sets and sums. It does not see the order of flows
 *     nor whether k equal flows are one flow with k-fold usage.
 *
 * The heap is ordered by keys in double precision. They only nominate: all
 * entries within rounding of the lowest are compared as fractions, so no
 * result depends on them.
 *
 * A flow that is due less than 1 byte/s runs at 1, so that it ends some day;
 * the links are charged the rounded share all the same (the excess is below
 * 1 byte/s a flow, and only where a link has more flows than bytes/s).
 *
 * Bounds: capacity < 2^63, usage and load < 2^64 (asserted), weight < 2^32:
 * weight * left < 2^111, and fractions are compared by 192-bit products.
 *
 * Cost: O(route lengths + entries * log entries), entries counted again each
 * time one is brought up to date.
 *
 * Reference: Bertsekas, Gallager, Data Networks, 2nd ed., section 6.5.2.
 */
#include "des/fluid_state.h"

/* Levels whose keys differ by more than this factor are in the order of their
 * keys: a key has three roundings of 2^-53, two keys and this product seven. */
#define KEY_TOLERANCE (1.0 + 0x1p-49)

/* ---- a heap of levels --------------------------------------------------- */

static struct level level_of(const struct fluid *fluid, uint32_t which)
{
    if (which >= fluid->link_count) {
        const struct flow *flow = &fluid->flows[which - fluid->link_count];
        return (struct level){.numerator = (uint128)flow->cap, .denominator = flow->weight};
    }
    const struct link *link = &fluid->links[which];
    return (struct level){.numerator = link->left, .denominator = link->load_left};
}

static struct entry entry_of(struct fluid *fluid, uint32_t which)
{
    const struct level level = level_of(fluid, which);
    if (which < fluid->link_count) {
        fluid->links[which].load_entered = level.denominator;
    }
    return (struct entry){.key = (double)level.numerator / (double)level.denominator,
                          .which = which};
}

static void heap_sink(struct fluid *fluid, uint32_t hole)
{
    struct entry *heap = fluid->heap;
    const struct entry moved = heap[hole];
    const uint32_t count = fluid->heap_count;
    for (uint32_t child = 2 * hole + 1; child < count; child = 2 * hole + 1) {
        child += child + 1 < count && heap[child + 1].key < heap[child].key;
        if (moved.key <= heap[child].key) {
            break;
        }
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = moved;
}

static void heap_push(struct fluid *fluid, const struct entry *entry)
{
    struct entry *heap = fluid->heap;
    uint32_t hole = fluid->heap_count++;
    while (hole > 0 && entry->key < heap[(hole - 1) / 2].key) {
        heap[hole] = heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap[hole] = *entry;
}

static void heap_drop_top(struct fluid *fluid)
{
    fluid->heap_count--;
    if (fluid->heap_count > 0) {
        fluid->heap[0] = fluid->heap[fluid->heap_count];
        heap_sink(fluid, 0);
    }
}

static void heap_build(struct fluid *fluid)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < fluid->region_link_count; i++) {
        if (fluid->links[fluid->region_links[i]].load_left > 0) {
            fluid->heap[count++] = entry_of(fluid, fluid->region_links[i]);
        }
    }
    for (uint32_t i = 0; i < fluid->region_flow_count; i++) {
        const flow_id flow = fluid->region_flows[i];
        if (fluid->flows[flow].has_cap) {
            fluid->heap[count++] = entry_of(fluid, (uint32_t)fluid->link_count + flow);
        }
    }
    fluid->heap_count = count;
    for (uint32_t i = count / 2; i-- > 0;) {
        heap_sink(fluid, i);
    }
}

/* Brings the top of the heap up to date: drops links and caps that bind
 * nobody any more, and sinks links that have changed (their load tells).
 * Ends, because each turn drops an entry or refreshes one. */
static void heap_refresh(struct fluid *fluid)
{
    while (fluid->heap_count > 0) {
        const uint32_t which = fluid->heap[0].which;
        bool is_over = false;
        if (which >= fluid->link_count) {
            is_over = fluid->flows[which - fluid->link_count].is_frozen;
        } else {
            is_over = fluid->links[which].load_left == 0;
        }
        if (is_over) {
            heap_drop_top(fluid);
        } else if (which < fluid->link_count &&
                   fluid->links[which].load_entered != fluid->links[which].load_left) {
            fluid->heap[0] = entry_of(fluid, which);
            heap_sink(fluid, 0);
        } else {
            return;
        }
    }
}

/* ---- rounds -------------------------------------------------------------- */

struct product {
    uint128 high; /* bits 64 and up */
    uint64_t low;
};

static struct product multiply(uint128 a, uint64_t b)
{
    const uint128 low = (uint128)(uint64_t)a * b;
    const uint128 high = (a >> 64) * b + (low >> 64);
    return (struct product){.high = high, .low = (uint64_t)low};
}

/* -1, 0, 1 as level a is below, equal to, above b; exact. */
static int level_compare(const struct level *a, const struct level *b)
{
    const struct product left = multiply(a->numerator, b->denominator);
    const struct product right = multiply(b->numerator, a->denominator);
    if (left.high != right.high) {
        return left.high < right.high ? -1 : 1;
    }
    return (left.low > right.low) - (left.low < right.low);
}

/* Moves from the heap to `tight` all entries whose level may be the lowest. */
static void take_candidates(struct fluid *fluid)
{
    fluid->tight_count = 0;
    heap_refresh(fluid);
    const double limit = fluid->heap_count > 0 ? fluid->heap[0].key * KEY_TOLERANCE : 0.0;
    while (fluid->heap_count > 0 && fluid->heap[0].key <= limit) {
        fluid->tight[fluid->tight_count++] = fluid->heap[0];
        heap_drop_top(fluid);
        heap_refresh(fluid);
    }
}

/* The lowest level, to fluid->level, and all links and caps that have exactly
 * it, to fluid->tight; candidates that do not go back. False: nothing left. */
static bool take_tight(struct fluid *fluid)
{
    take_candidates(fluid);
    const uint32_t candidate_count = fluid->tight_count;
    if (candidate_count == 0) {
        return false;
    }
    fluid->level = level_of(fluid, fluid->tight[0].which);
    for (uint32_t i = 1; i < candidate_count; i++) {
        const struct level level = level_of(fluid, fluid->tight[i].which);
        if (level_compare(&level, &fluid->level) < 0) {
            fluid->level = level;
        }
    }
    fluid->tight_count = 0;
    for (uint32_t i = 0; i < candidate_count; i++) {
        const struct entry entry = fluid->tight[i];
        const struct level level = level_of(fluid, entry.which);
        if (level_compare(&level, &fluid->level) == 0) {
            fluid->tight[fluid->tight_count++] = entry;
        } else {
            heap_push(fluid, &entry);
        }
    }
    return true;
}

static void freeze(struct fluid *fluid, flow_id id, uint64_t rate)
{
    struct flow *flow = &fluid->flows[id];
    flow->is_frozen = true;
    flow->rate = rate > 0 ? (int64_t)rate : 1;
    for (uint32_t i = 0; i < flow->contended; i++) {
        const struct crossing *crossing = &fluid->crossings[flow->first_crossing + i];
        struct link *link = &fluid->links[crossing->link];
        const uint128 taken = (uint128)crossing->usage * rate;
        debug_assert(taken <= link->left);
        link->left -= taken;
        link->load_left -= crossing->usage * flow->weight;
    }
}

/* floor(weight * level), remembered for the next flow of the same weight. */
struct share {
    uint32_t weight;
    uint64_t rate;
};

static void freeze_share(struct fluid *fluid, flow_id id, struct share *share)
{
    const struct flow *flow = &fluid->flows[id];
    if (flow->is_frozen) {
        return;
    }
    if (flow->weight != share->weight) {
        const struct level *level = &fluid->level;
        share->weight = flow->weight;
        share->rate = (uint64_t)(level->numerator * flow->weight / level->denominator);
    }
    sim_assert(share->rate <= (uint64_t)flow->cap);
    freeze(fluid, id, share->rate);
}

static void freeze_tight(struct fluid *fluid)
{
    struct share share = {0};
    for (uint32_t i = 0; i < fluid->tight_count; i++) {
        const uint32_t which = fluid->tight[i].which;
        if (which >= fluid->link_count) {
            freeze_share(fluid, which - (uint32_t)fluid->link_count, &share);
            continue;
        }
        const struct link *link = &fluid->links[which];
        for (uint32_t j = 0; j < link->active_count; j++) {
            const uint32_t crossing = fluid->segments[link->first + j];
            freeze_share(fluid, fluid->crossings[crossing].flow, &share);
        }
    }
}

void fluid_fill(struct fluid *fluid)
{
    heap_build(fluid);
    while (take_tight(fluid)) {
        freeze_tight(fluid);
    }
}
