/* The distance between two uses of a matrix is twice what follows it in the layer: all of that is
 * used forward, then backward.
 */
#include "train/program/program_live.h"

#include "base/check.h"
#include "input/job/parallel.h"
#include "plan/cost.h"

/* Units of a layer in the order of their use: attention, and each matrix of the MLP. */
#define UNITS_MAX 4

double live_again(const struct program_job *job, uint32_t kind)
{
    const struct layer_kind *layer = &job->model->kinds[kind];
    const double distance = (double)job->software->fsdp_reuse_distance;
    const bool is_whole = job->recompute->kind == RECOMPUTE_FULL && job->recompute->layers == 0;
    if (distance == 0 || !is_whole || layer->has_experts) {
        return 0;
    }
    /* A product has 2 FLOPs a token and parameter. */
    const struct layer_flop flop = cost_layer_flop(job->model, layer, job->batch->sequence_length);
    const double tp = (double)job->parallel->tp;
    const uint32_t matrices = job->model->mlp == MLP_SWIGLU ? 3 : 2;
    double units[UNITS_MAX] = {flop.attention_linear / 2 / tp};
    for (uint32_t i = 1; i <= matrices; i++) {
        units[i] = flop.mlp / 2 / tp / matrices;
    }
    double after = 0;
    double again = 0;
    for (uint32_t i = matrices + 1; i-- > 0;) {
        again += 2 * after >= distance ? units[i] : 0;
        after += units[i];
    }
    sim_assert(after > 0 && again < after);
    return again / after;
}
