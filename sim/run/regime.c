/* A step in other circumstances is a step_request that says so.
 */
#include "run/regime.h"

int64_t regime_step_ns(struct arena *arena, const struct regime_basis *basis,
                       const struct regime *regime)
{
    const struct step_request request = {
        .folds = basis->folds,
        .member = &basis->member,
        .memo = basis->memo,
        .checkpoint_bytes = regime->checkpoint_bytes,
        .is_checkpoint_async = regime->is_checkpoint_async,
        .flush_bytes = regime->flush_bytes,
    };
    struct step_result step;
    step_simulate(arena, basis->scenario, &request, &step);
    return step.step_ns;
}
