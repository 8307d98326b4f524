/* What is told of a search's result, of search.h: in which order, and which of it is shown. */
#include "study/search/search.h"

#include "base/absent.h"
#include "base/arena.h"
#include "study/search/search_order.h"

#include <math.h>
#include <stdlib.h>

static int compare_found(const void *left, const void *right)
{
    const struct search_found *a = left;
    const struct search_found *b = right;
    if (a->value < b->value || a->value > b->value) {
        return a->value < b->value ? -1 : 1;
    }
    return (a->order > b->order) - (a->order < b->order);
}

static int compare_missed(const void *left, const void *right)
{
    const struct search_found *a = left;
    const struct search_found *b = right;
    if (is_absent(a->miss) != is_absent(b->miss)) {
        return is_absent(a->miss) ? 1 : -1;
    }
    if (!is_absent(a->miss) && (a->miss < b->miss || a->miss > b->miss)) {
        return a->miss < b->miss ? -1 : 1;
    }
    return (a->order > b->order) - (a->order < b->order);
}

void search_order_found(struct search_found *found, uint32_t count)
{
    if (count > 0) {
        qsort(found, count, sizeof *found, compare_found);
    }
}

void search_order_missed(struct search_found *missed, uint32_t count)
{
    if (count > 0) {
        qsort(missed, count, sizeof *missed, compare_missed);
    }
}

double search_near_within(const struct search_near *near, double memory_bytes)
{
    double best = ABSENT;
    for (uint32_t i = 0; i < near->count; i++) {
        if (near->found[i].memory_bytes <= memory_bytes) {
            best = fmin(best, near->found[i].value);
        }
    }
    return best;
}

/* Of those behind, which are no better in value, what takes less memory than all before. */
const struct search_found *search_choose(struct arena *arena, const struct search_result *result,
                                         uint32_t top, uint32_t *count)
{
    const uint32_t first = result->found_count < top ? result->found_count : top;
    struct search_found *chosen =
        arena_array(arena, (size_t)first + SEARCH_FRONT_MAX, sizeof *chosen);
    double least_bytes = ABSENT;
    *count = 0;
    for (uint32_t i = 0; i < result->found_count && *count < first + SEARCH_FRONT_MAX; i++) {
        const struct search_found *found = &result->found[i];
        const bool is_front = is_absent(least_bytes) || found->memory_bytes < least_bytes;
        least_bytes = is_front ? found->memory_bytes : least_bytes;
        if (i < first || is_front) {
            chosen[(*count)++] = *found;
        }
    }
    return chosen;
}

const struct search_found *search_choose_near(struct arena *arena, const struct search_near *near,
                                              uint32_t *count)
{
    const struct search_result result = {.found = near->found, .found_count = near->count};
    const struct search_found *chosen = search_choose(arena, &result, 1, count);
    *count = *count < SEARCH_NEAR_SHOWN ? *count : SEARCH_NEAR_SHOWN;
    return chosen;
}
