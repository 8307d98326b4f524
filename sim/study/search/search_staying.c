/* Axes that stay are worth a word only where they would have had a choice. */
#include "input/job/parallel_order.h"
#include "input/scenario.h"
#include "input/software.h"
#include "study/search/search_space.h"

#include "base/arena.h"

#include <inttypes.h>

static bool has_more_than(const struct search_values *values, double most)
{
    bool has = false;
    for (uint32_t i = 0; i < values->count; i++) {
        has = has || values->items[i] > most;
    }
    return has;
}

static bool has_schedule(const struct search_space *space, enum schedule_kind kind)
{
    const struct search_values *schedules = &space->axes[SEARCH_SCHEDULE];
    bool has = false;
    for (uint32_t i = 0; i < schedules->count; i++) {
        has = has || (uint32_t)schedules->items[i] == kind;
    }
    return has;
}

static const char *number_or(struct arena *arena, const struct search_space *space,
                             enum search_axis axis, int64_t number, const char *usual)
{
    return search_axis_is_written(space->base, axis) ? arena_printf(arena, "%" PRId64, number)
                                                     : usual;
}

/* How the scenario has it; NULL: no layout of the space would change with it. */
static const char *staying_value(struct arena *arena, const struct search_space *space,
                                 enum search_axis axis)
{
    const struct parallel *parallel = &space->base->parallel;
    const struct search_values *axes = space->axes;
    switch (axis) {
    case SEARCH_CP_TYPE:
        return has_more_than(&axes[SEARCH_CP], 1) ? context_names[parallel->context] : NULL;
    case SEARCH_LAYERS:
        return !has_more_than(&axes[SEARCH_PP], 1)         ? NULL
               : search_axis_is_written(space->base, axis) ? "as written"
                                                           : "even";
    case SEARCH_ZERO_GROUP:
        return has_more_than(&axes[SEARCH_ZERO], 0)
                   ? number_or(arena, space, axis, parallel->zero_group, "cp x dp")
                   : NULL;
    case SEARCH_MICROBATCH_GROUP:
        return has_schedule(space, SCHEDULE_INTERLEAVED)
                   ? number_or(arena, space, axis, parallel->microbatch_group, "pp")
                   : NULL;
    case SEARCH_RESHARD:
        return has_more_than(&axes[SEARCH_ZERO], 2) ? reshard_names[parallel->reshard] : NULL;
    case SEARCH_OVERLAP_EXPERTS:
        return has_more_than(&axes[SEARCH_EP], 1) ? parallel->overlaps_experts ? "true" : "false"
                                                  : NULL;
    case SEARCH_ORDER:
        return space->base->gpus > 1 ? parallel_order_text(arena, parallel->order) : NULL;
    default:
        return NULL;
    }
}

const char *search_space_staying(struct arena *arena, const struct search_space *space)
{
    const char *text = NULL;
    for (uint32_t i = SEARCH_STAYING; i < SEARCH_OFFLOAD_OPTIMIZER; i++) {
        const char *value = space->axes[i].count == 1 && space->axes[i].items[0] <= 0
                                ? staying_value(arena, space, (enum search_axis)i)
                                : NULL;
        if (value != NULL) {
            text =
                arena_printf(arena, "%s%s%s %s", text != NULL ? text : "", text != NULL ? ", " : "",
                             search_axis_word(search_axis_paths[i]), value);
        }
    }
    return text;
}
