/* How much of our own memory the simulation of a step needs, told before it starts, from how many
 * ranks are simulated. For a warning, never for a prediction.
 *
 * Measured (peak resident size), TP8, all replicas in one data-parallel group:
 *
 *     GPUs                        each simulated      ECMP, folded      folded
 *     GPT-3 175B      4,096       8.1 kB a GPU        15.4 kB a GPU     11 MB in all
 *     Llama-3 405B   16,384       6.9 kB a GPU                          14 MB in all
 *     Llama-3 405B  131,072      10.0 kB a GPU                          20 MB in all
 *
 * ASSUMES: a step needs 32 MB, and 10 kB a GPU where each is simulated, 16 kB where every GPU
 * is built and then folded (ECMP, several jobs); more where a fabric does not turn or a step has
 * tens of thousands of microbatches.
 */
#ifndef TRAIN_NEED_H
#define TRAIN_NEED_H

#include <stdbool.h>
#include <stdint.h>

struct scenario;

int64_t step_need_bytes(const struct scenario *scenario, bool folds);

#endif
