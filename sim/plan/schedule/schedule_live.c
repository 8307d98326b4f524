/* What is alive at once on a stage: one walk over its order.
 *
 * A forward's activations are there when it begins, and a backward's until it ends; so those of
 * a pair are there together.
 */
#include "base/check.h"
#include "plan/schedule/schedule.h"

struct tally {
    int64_t live, most;
};

static void tally_add(struct tally *tally, int64_t weight)
{
    tally->live += weight;
    sim_assert(tally->live >= 0);
    tally->most = tally->live > tally->most ? tally->live : tally->most;
}

/* Whether an action is the end of what its backward's chunk has kept. */
static bool frees(const struct schedule_action *action, bool until_weights)
{
    switch (action->operation) {
    case SCHEDULE_BACKWARD_INPUT:
        return !until_weights;
    case SCHEDULE_WEIGHTS:
        return until_weights;
    default:
        return action->operation != SCHEDULE_FORWARD;
    }
}

int64_t schedule_live(const struct schedule_shape *shape, const struct schedule_order *order,
                      const int64_t *weights, bool until_weights)
{
    for (uint32_t chunk = 0; chunk < shape->chunks; chunk++) {
        sim_assert(weights[chunk] >= 0);
    }
    struct tally tally = {0, 0};
    for (uint64_t i = 0; i < order->count; i++) {
        const struct schedule_action *action = &order->actions[i];
        if (schedule_action_is_forward(action)) {
            tally_add(&tally, weights[action->chunk]);
        }
        if (frees(action, until_weights)) {
            tally_add(&tally, -weights[schedule_backward_chunk(action)]);
        }
    }
    sim_assert(tally.live == 0);
    return tally.most;
}
