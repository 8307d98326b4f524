/* What is told of a search's result, of search.h: which of its layouts are shown. */
#include "study/search/search.h"

#include "base/absent.h"
#include "base/arena.h"

#include <math.h>

double search_near_within(const struct search_near *near, double memory_bytes)
{
    double best = ABSENT;
    for (uint32_t i = 0; i < near->count; i++) {
        if (near->found[i].memory_bytes <= memory_bytes) {
            best = is_absent(best) ? near->found[i].value : fmin(best, near->found[i].value);
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
