/* Of three ways to say it one is taken; each is of so many components.
 */
#include "input/failures/rate.h"

#include "base/units.h"
#include "input/failures/failures.h"

/* Components of the kind that a source watched; 0: it does not say. */
static double watched(const struct written_rate *written, uint32_t of)
{
    const double gpus_per_node = (double)written->gpus_per_node;
    if (of == FAILURE_OF_JOB) {
        return 1.0;
    }
    if (written->components > 0) {
        return (double)written->components;
    }
    if (of == FAILURE_OF_GPU) {
        return (double)written->gpus;
    }
    return of == FAILURE_OF_NODE && gpus_per_node > 0 ? (double)written->gpus / gpus_per_node : 0.0;
}

const char *rate_settle(const struct written_rate *written, uint32_t of, double *rate_per_s)
{
    const double components = watched(written, of);
    const bool is_alone = written->gpus == 0 && written->components == 0;
    const int ways =
        (written->count > 0) + (written->per_1000_node_days > 0) + (written->mttf_s > 0);
    if (ways != 1) {
        return "a rate is a count in days, per_1000_node_days, or an mttf: one of them";
    }
    if ((written->count > 0) != (written->days > 0)) {
        return "a count is of some days: {count: 148, gpus: 16384, days: 54}";
    }
    if (written->per_1000_node_days > 0) {
        *rate_per_s = written->per_1000_node_days / 1000.0 / SECONDS_PER_DAY;
        if (of == FAILURE_OF_GPU && written->gpus_per_node > 0) {
            *rate_per_s /= (double)written->gpus_per_node;
            return NULL;
        }
        return of == FAILURE_OF_NODE ? NULL
                                     : "per_1000_node_days is of nodes, or of GPUs with "
                                       "gpus_per_node";
    }
    if (written->mttf_s > 0 && is_alone) {
        *rate_per_s = 1.0 / written->mttf_s;
        return NULL;
    }
    if (components <= 0) {
        return "it does not say of how many: gpus (of nodes: and gpus_per_node), or components";
    }
    *rate_per_s = written->mttf_s > 0
                      ? 1.0 / (written->mttf_s * components)
                      : written->count / (written->days * SECONDS_PER_DAY * components);
    return NULL;
}
