/* What a step puts on the fabric: links by kind, and transfers by stream. */
#ifndef TRAIN_LOADS_H
#define TRAIN_LOADS_H

#include "train/metrics.h"
#include "train/system.h"

/* Of each kind of link that carries anything: how many, the busiest, its bytes and how long
 * they take it, over the time from the start to the end of the last job. Every task's bytes
 * count, whether the link can be tight or not, so it does not depend on folding. */
void loads_of_links(struct arena *arena, const struct step_system *system, sim_time end,
                    struct step_result *result);

/* Of job 0: each different transfer, how it is done and what it is bound by, and how much
 * longer its stream's transfers took than alone. `run` is what was simulated: the system
 * itself or its quotient. */
void loads_of_traffic(struct arena *arena, const struct step_system *system,
                      const struct engine_system *run, const struct engine_outcome *outcome,
                      struct step_result *result);

#endif
