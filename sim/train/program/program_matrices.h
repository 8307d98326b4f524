/* The update of matrices that have a rule of their own (input/job/matrix_rule.h): which ones a
 * stage's GPU updates, what that takes, and how much of it are products.
 *
 * These FLOPs are no part of the model's: neither MFU nor TFLOP/s counts them.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_MATRICES_H
#define TRAIN_PROGRAM_PROGRAM_MATRICES_H

#include "plan/matrices.h"
#include "plan/memory/memory_job.h"
#include "train/timing.h"

struct optimizer;

/* None without a rule. */
void program_updated_matrices(const struct memory_job *job, uint32_t stage,
                              struct matrices *matrices);

/* All of one shape, as kernels of the GPU. */
struct work program_matrix_work(const struct timing_runner *runner,
                                const struct optimizer *optimizer, const struct matrix *matrix);

/* Of a stage, element by element and by matrices: busy and gaps, without waits for launches. */
struct work program_update_work(const struct timing_runner *runner, const struct memory_job *job,
                                uint32_t stage);

/* The products alone, of a step: FLOPs of the mean GPU, and the mean over stages of what they take
 * on the busiest of each. */
struct matrix_products {
    double flop, busy_s;
};
struct matrix_products program_matrix_products(const struct timing_runner *runner,
                                               const struct memory_job *job);

#endif
