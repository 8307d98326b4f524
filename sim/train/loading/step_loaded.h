/* A step of many with its loaders beside it (train/loading/loaders), as the run has it.
 *
 * Loaders read for the next steps during this one, so a step by itself says little. Some steps are
 * simulated one after the other, twice: k and, of the same beginning, k - p of them. What the k
 * have more are p steps as they come for ever, with all that loaders do meanwhile: neither the
 * beginning nor the last step, beside which there is less to read, count. p is the number of steps
 * after which a microbatch is made by the same worker again; k is taken so large that the p steps
 * before the last p took as long, or ENGINE_STEPS_MAX. Where they did not by then (batches drawn
 * at random, workers that fall in and out of step), it is the mean of the second half of these.
 *
 * Queues are full at the beginning. Where they drain, for loaders cannot keep up, all is simulated
 * again with queues that are empty: that is what they come to. Either way they soon are what they
 * stay. Draining by less than 1 % of what is taken is not told from staying full.
 *
 * ASSUMES: while all wait for stragglers of chance (train/jitter), loaders go on; of slow GPUs this
 * wait takes longer.
 */
#ifndef TRAIN_LOADING_STEP_LOADED_H
#define TRAIN_LOADING_STEP_LOADED_H

#include "train/step.h"

struct step_job;

/* `result` is that of the step without loaders: its length and causes become those of one among
 * many with them. What else depends on these is the caller's. */
void step_load(const struct step_job *job, uint32_t gpus, const struct step_request *request,
               struct step_result *result);

#endif
