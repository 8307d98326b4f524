/* What a step's simulation needs: a part that all have, and one for each GPU that is built. */
#include "train/need.h"

#include "input/scenario.h"

enum { STEP_BYTES = 32000000, SIMULATED_GPU_BYTES = 5000, ROUTED_GPU_BYTES = 120000 };

bool need_own_routes(const struct scenario *scenario)
{
    return scenario->cluster.routing == ROUTING_ECMP || scenario->neighbour_count > 0;
}

int64_t step_need_bytes(const struct scenario *scenario, bool folds)
{
    const int64_t gpu_bytes = need_own_routes(scenario) ? ROUTED_GPU_BYTES
                              : !folds                  ? SIMULATED_GPU_BYTES
                                                        : 0;
    return STEP_BYTES + gpu_bytes * scenario->gpus;
}
