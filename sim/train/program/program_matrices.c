/* A segment of kernels for each shape, since a segment holds no more than a few shapes. */
#include "train/program/program_matrices.h"

#include "input/job/optimizer.h"
#include "input/job/parallel.h"
#include "plan/memory/memory_parameters.h"
#include "train/program/program.h"

void program_updated_matrices(const struct memory_job *job, uint32_t stage,
                              struct matrices *matrices)
{
    matrices->count = 0;
    if (optimizer_has_matrices(job->optimizer)) {
        const struct matrix_split split = memory_stage_matrices(&job->split, stage);
        matrices_dealt(&split, &job->optimizer->matrices, matrices);
    }
}

struct work program_matrix_work(const struct timing_runner *runner,
                                const struct optimizer *optimizer, const struct matrix *matrix)
{
    struct segment segment;
    matrices_update(optimizer, matrix, &segment);
    return timing_segment(runner, SEGMENT_COUNT_, &segment);
}

struct work program_update_work(const struct timing_runner *runner, const struct memory_job *job,
                                uint32_t stage)
{
    struct work work =
        timing_optimizer(runner, job->optimizer, program_updated_parameters(job, stage));
    struct matrices matrices;
    program_updated_matrices(job, stage, &matrices);
    for (uint32_t i = 0; i < matrices.count; i++) {
        const struct work of = program_matrix_work(runner, job->optimizer, &matrices.items[i]);
        work.busy_ns += of.busy_ns;
        work.launch_ns += of.launch_ns;
    }
    return work;
}

static double products_s(const struct timing_runner *runner, const struct optimizer *optimizer,
                         const struct matrix *matrix)
{
    struct segment segment;
    double busy_s = 0;
    matrices_update(optimizer, matrix, &segment);
    for (uint32_t i = 0; i < segment.count; i++) {
        const struct kernel *kernel = &segment.kernels[i];
        busy_s += kernel->kind == KERNEL_GEMM ? timing_kernel(runner, kernel).busy_s : 0;
    }
    return busy_s;
}

struct matrix_products program_matrix_products(const struct timing_runner *runner,
                                               const struct memory_job *job)
{
    const double stages = (double)job->split.parallel->pp;
    struct matrix_products sum = {0, 0};
    for (uint32_t stage = 0; stage < job->split.parallel->pp; stage++) {
        struct matrices own;
        const struct matrix_split split = memory_stage_matrices(&job->split, stage);
        sum.flop += matrices_mean_flop(&split, &job->optimizer->matrices) / stages;
        program_updated_matrices(job, stage, &own);
        for (uint32_t i = 0; i < own.count; i++) {
            sum.busy_s += products_s(runner, job->optimizer, &own.items[i]) / stages;
        }
    }
    return sum;
}
