/* One collective by itself on an idle fabric: what `stoker collective` prints, as nccl-tests
 * measures it. The library's choice and latencies come from train/transfer; the bytes flow
 * through des/fluid phase by phase, as they do in a step.
 */
#ifndef TRAIN_COLLECTIVE_RUN_H
#define TRAIN_COLLECTIVE_RUN_H

#include "train/transfer.h"

struct collective_outcome {
    struct transfer_quote quote;
    double time_s;
    double algbw_bytes_per_s;
    double busbw_bytes_per_s;
};

/* `shape` has at least two ranks. */
void collective_run(const struct transfer_setting *setting, const struct group_shape *shape,
                    enum collective_operation operation, double bytes,
                    struct collective_outcome *outcome);

#endif
