/* Keys that are no axis, and axes that are not free, are the scenario's own. */
#include "study/search/search_software.h"

#include "base/arena.h"
#include "input/features/features_used.h"
#include "input/scenario.h"
#include "input/software.h"

#include <inttypes.h>
#include <string.h>

static bool is_of_free_axis(const void *context, const char *key)
{
    const bool *is_free = context;
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        if (strcmp(search_axis_paths[i], key) == 0) {
            return is_free[i];
        }
    }
    return false;
}

struct feature_set search_software_allowed(const struct search_space *space,
                                           const bool is_free[SEARCH_AXIS_COUNT_])
{
    return features_allowed(space->base, is_of_free_axis, is_free);
}

struct recompute search_software_selective(const struct scenario *base, struct recompute usual)
{
    const uint32_t has = base->software.has.lists[FEATURES_RECOMPUTE];
    struct recompute selective = {.kind = RECOMPUTE_SELECTIVE};
    for (uint32_t i = 0; i < RECOMPUTE_MODULE_COUNT_; i++) {
        const struct recompute one = {.kind = RECOMPUTE_SELECTIVE,
                                      .modules = usual.modules & 1u << i};
        if (has == 0 || (features_of_recompute(&base->model, &one) & ~has) == 0) {
            selective.modules |= one.modules;
        }
    }
    return selective.modules != 0 ? selective : (struct recompute){.kind = RECOMPUTE_NONE};
}

void search_software_lift(struct search_space *space)
{
    space->allowed = features_all();
}

const char *search_software_left_out(struct arena *arena, const struct search_space *space,
                                     const struct search_result *result)
{
    if (result->lacking.layouts == 0) {
        return NULL;
    }
    struct feature lacked[FEATURES_MAX];
    const uint32_t count = features_of_set(space->base, &result->lacking.any, lacked);
    return arena_printf(
        arena, "%" PRIu64 " layouts that %s has not are left out: %s (--any-software)",
        result->lacking.layouts, software_with_release(arena, &space->base->software),
        features_words(arena, lacked, count));
}

const struct model *search_space_model(const struct search_space *space)
{
    return &space->base->model;
}

bool search_space_has_tokens(const struct search_space *space)
{
    return space->base->run_tokens > 0;
}
