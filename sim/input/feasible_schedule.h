/* Whether a schedule goes with the stages, the chunks, the layers and the microbatches.
 *
 *     gpipe, 1f1b, zb-h1, zb-h2    one chunk a stage
 *     interleaved                  two or more; pp >= 2; groups of pp microbatches or more
 *     zb-v, dualpipev              two chunks; pp >= 2; dualpipev 2 pp microbatches or more
 *     dualpipe                     two chunks; pp even; microbatches even, 2 pp or more
 *     file                         stages, chunks and microbatches are the file's
 */
#ifndef INPUT_FEASIBLE_SCHEDULE_H
#define INPUT_FEASIBLE_SCHEDULE_H

#include "input/feasible_choices.h"

#include "base/check.h"

/* The degrees of parallelism must have been read. */
MUST_USE bool feasible_schedule(const struct layout *layout);

/* dp must be known, global a multiple of dp * micro, and batch.microbatches set. */
MUST_USE bool feasible_microbatches(const struct layout *layout);

/* Whether an interleaved schedule takes so many microbatches in groups of so many. */
bool feasible_group_fits(int64_t pp, int64_t microbatches, int64_t group);

/* What the number of sequences of a step is a multiple of. */
int64_t feasible_batch_unit(const struct scenario *scenario);

/* For choices: stages that divide the GPUs, and that schedule and layers allow. */
bool feasible_pp_fits(const struct scenario *scenario, int64_t pp);

#endif
