/* Groups by a flood over the links; a node has a few dozen GPUs at most. */
#include "foreign/wiring.h"

#include "base/arena.h"

#include <inttypes.h>

enum { WORDS_MAX = 12 }; /* pairs that are written out */

struct node {
    const int64_t *links;
    uint32_t gpus;
};

static int64_t between(const struct node *node, uint32_t a, uint32_t b)
{
    return a == b ? 0 : node->links[(size_t)a * node->gpus + b];
}

/* GPUs that the first one reaches over links. */
static uint32_t count_joined(struct arena *arena, const struct node *node)
{
    bool *is_seen = arena_array(arena, node->gpus, sizeof *is_seen);
    uint32_t *queue = arena_array(arena, node->gpus, sizeof *queue);
    uint32_t count = 1;
    is_seen[0] = true;
    queue[0] = 0;
    for (uint32_t at = 0; at < count; at++) {
        for (uint32_t other = 0; other < node->gpus; other++) {
            if (!is_seen[other] && between(node, queue[at], other) > 0) {
                is_seen[other] = true;
                queue[count++] = other;
            }
        }
    }
    return count;
}

/* Links of a GPU, and GPUs that it has one to. */
static int64_t sum_of(const struct node *node, uint32_t gpu, uint32_t *others)
{
    int64_t sum = 0;
    *others = 0;
    for (uint32_t other = 0; other < node->gpus; other++) {
        sum += between(node, gpu, other);
        *others += between(node, gpu, other) > 0;
    }
    return sum;
}

static const char *pairs_in_words(struct arena *arena, const struct node *node)
{
    const char *words = "";
    uint32_t count = 0;
    for (uint32_t a = 0; a < node->gpus; a++) {
        for (uint32_t b = a + 1; b < node->gpus; b++) {
            if (between(node, a, b) > 0 && ++count <= WORDS_MAX) {
                words = arena_printf(arena, "%s%s%" PRIu32 "-%" PRIu32, words,
                                     words[0] != '\0' ? ", " : "", a, b);
            }
        }
    }
    return count > WORDS_MAX ? arena_printf(arena, "%s ... (%" PRIu32 " pairs)", words, count)
                             : words;
}

/* By a switch a pair's links are all that a GPU has. Of the GPU with the fewest. */
static int64_t links_to_switch(const struct node *node)
{
    int64_t least = 0;
    for (uint32_t gpu = 0; gpu < node->gpus; gpu++) {
        int64_t most = 0;
        for (uint32_t other = 0; other < node->gpus; other++) {
            const int64_t links = between(node, gpu, other);
            most = links > most ? links : most;
        }
        least = gpu == 0 || most < least ? most : least;
    }
    return least;
}

struct wiring wiring_of(struct arena *arena, const int64_t *links, uint32_t gpus, bool is_switched)
{
    const struct node node = {links, gpus};
    struct wiring wiring = {.kind = WIRING_NONE, .words = ""};
    uint32_t fewest_others = gpus;
    int64_t all = 0;
    for (uint32_t gpu = 0; gpu < gpus; gpu++) {
        uint32_t others = 0;
        const int64_t sum = sum_of(&node, gpu, &others);
        wiring.links = gpu == 0 || sum < wiring.links ? sum : wiring.links;
        fewest_others = others < fewest_others ? others : fewest_others;
        all += sum;
        for (uint32_t other = gpu + 1; other < gpus; other++) {
            const int64_t own = between(&node, gpu, other);
            wiring.peer_links =
                gpu + other == 1 || own < wiring.peer_links ? own : wiring.peer_links;
        }
    }
    if (all == 0) {
        return wiring;
    }
    if (is_switched) {
        wiring.links = links_to_switch(&node);
    }
    const bool has_all_pairs = fewest_others + 1 == gpus;
    if (has_all_pairs) {
        wiring.kind = is_switched ? WIRING_SWITCH : WIRING_MESH;
        return wiring;
    }
    const bool is_one = count_joined(arena, &node) == gpus && fewest_others > 1;
    wiring.kind = is_one ? WIRING_RING : WIRING_APART;
    wiring.words = pairs_in_words(arena, &node);
    return wiring;
}
