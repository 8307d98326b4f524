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

/* What goes when the backward of an action has ended: `activation`, of which `kept`, unless it
 * is NULL, stays until W. */
static int64_t freed_by(const struct schedule_action *action, const int64_t *activation,
                        const int64_t *kept)
{
    const uint32_t chunk = schedule_backward_chunk(action);
    const int64_t later = kept == NULL ? 0 : kept[chunk];
    switch (action->operation) {
    case SCHEDULE_BACKWARD_INPUT:
        return activation[chunk] - later;
    case SCHEDULE_WEIGHTS:
        return later;
    case SCHEDULE_BACKWARD:
    case SCHEDULE_PAIR:
        return activation[chunk];
    default:
        return 0;
    }
}

static int64_t live_of(const struct schedule_order *order, const int64_t *activation,
                       const int64_t *kept)
{
    sim_assert(activation != NULL);
    struct tally tally = {0, 0};
    for (uint64_t i = 0; i < order->count; i++) {
        const struct schedule_action *action = &order->actions[i];
        if (schedule_action_is_forward(action)) {
            tally_add(&tally, activation[action->chunk]);
        }
        tally_add(&tally, -freed_by(action, activation, kept));
    }
    sim_assert(tally.live == 0);
    return tally.most;
}

int64_t schedule_live_split(const struct schedule_shape *shape, const struct schedule_order *order,
                            const int64_t *activation, const int64_t *kept)
{
    for (uint32_t chunk = 0; chunk < shape->chunks; chunk++) {
        sim_assert(kept[chunk] >= 0 && kept[chunk] <= activation[chunk]);
    }
    return live_of(order, activation, kept);
}

int64_t schedule_live(const struct schedule_shape *shape, const struct schedule_order *order,
                      const int64_t *weights, bool until_weights)
{
    for (uint32_t chunk = 0; chunk < shape->chunks; chunk++) {
        sim_assert(weights[chunk] >= 0);
    }
    return live_of(order, weights, until_weights ? weights : NULL);
}
