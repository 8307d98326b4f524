/* One pass over the order of a stage: a backward that a forward follows takes
 * that forward along as its partner, everything else stays where it is.
 */
#include "plan/schedule/schedule_pairs.h"

#include "base/arena.h"

/* Both were next to each other, so neither waits for the other: the forward not for a backward,
 * and the backward, which came first, not for the forward. */
static struct schedule_order pair_up(struct arena *arena, const struct schedule_order *order)
{
    struct schedule_action *actions = arena_array(arena, order->count + 1, sizeof *actions);
    struct schedule_order paired = {actions, 0};
    for (uint64_t i = 0; i < order->count; i++) {
        struct schedule_action action = order->actions[i];
        const bool is_followed =
            i + 1 < order->count && order->actions[i + 1].operation == SCHEDULE_FORWARD;
        if (action.operation == SCHEDULE_BACKWARD && is_followed) {
            const struct schedule_action back = action;
            action = order->actions[++i];
            action.operation = SCHEDULE_PAIR;
            action.backward_chunk = back.chunk;
            action.backward_microbatch = back.microbatch;
        }
        actions[paired.count++] = action;
    }
    return paired;
}

struct schedule_order schedule_order_of(struct arena *arena, const struct scenario *scenario,
                                        uint32_t stage)
{
    const struct schedule_shape shape = schedule_shape_of(scenario);
    const struct schedule_order order = schedule_order(arena, &shape, stage);
    const bool alternates = shape.kind == SCHEDULE_1F1B || shape.kind == SCHEDULE_INTERLEAVED;
    return scenario->parallel.overlaps_experts && alternates ? pair_up(arena, &order) : order;
}
