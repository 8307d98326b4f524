/* How much of our own memory the simulation of a step needs, told before it starts, from how many
 * ranks are simulated. For a warning, never for a prediction.
 *
 * Measured (peak resident size), TP8, all replicas in one data-parallel group:
 *
 *     GPUs                        each simulated      ECMP, folded      folded
 *     GPT-3 175B      4,096       3.5 kB a GPU        15.4 kB a GPU     11 MB in all
 *     Llama-3 405B   16,384       3.8 kB a GPU                          14 MB in all
 *     Llama-3 405B  131,072       3.8 kB a GPU                          20 MB in all
 *
 * and what its critical path is found by (des/record), where each has routes of its own: GPT-3 175B
 * on 3,072 behind leaves, hashed, 29 kB a GPU without and 122 kB with it.
 *
 * ASSUMES: a step needs 32 MB, and 5 kB a GPU where each is simulated, 120 kB where each has
 * routes of its own (ECMP, several jobs), folded or not; more where a fabric does not turn or a
 * step has tens of thousands of microbatches.
 */
#ifndef TRAIN_NEED_H
#define TRAIN_NEED_H

#include <stdbool.h>
#include <stdint.h>

struct scenario;

/* Whether each GPU has routes of its own: flows are hashed over links, or other jobs cross them. No
 * two replicas are alike then, and nothing folds. */
bool need_own_routes(const struct scenario *scenario);

int64_t step_need_bytes(const struct scenario *scenario, bool folds);

#endif
