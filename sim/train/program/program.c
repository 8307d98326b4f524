/* What a stage's GPUs update, and a step repeated: its blocks again. What a step starts without
 * waiting for anything (the first gathers) has to wait for the compute of the step before; receives
 * do not, they are posted early, and compute is in order anyway.
 */
#include "train/program/program.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/job/optimizer.h"
#include "input/job/parallel.h"
#include "input/scenario.h"
#include "plan/memory/memory.h"
#include "plan/memory/memory_parameters.h"

#include <string.h>

struct program_job program_job_of(const struct scenario *scenario)
{
    return (struct program_job){
        .model = &scenario->model,
        .parallel = &scenario->parallel,
        .batch = &scenario->batch,
        .recompute = &scenario->recompute,
        .optimizer = &scenario->optimizer,
        .offload = &scenario->offload,
        .lora = &scenario->lora,
        .software = &scenario->software,
        .precision = (enum precision)scenario->precision,
        .memory = memory_job_of(scenario),
    };
}

/* ---- parameters -------------------------------------------------------------------------- */

double program_owned_parameters(const struct memory_split *split, uint32_t stage)
{
    const struct parallel *parallel = split->parallel;
    const struct memory_layer_parameters trained = memory_stage_trained(split, stage);
    if (parallel->zero == 0) {
        return trained.dense + trained.experts;
    }
    return trained.dense / (double)memory_dense_shards(parallel) +
           trained.experts / (double)memory_expert_shards(parallel);
}

struct work program_norm_work(const struct timing_runner *runner, const struct optimizer *optimizer,
                              double owned_parameters)
{
    const double bytes = state_bytes((enum state_format)optimizer->gradients);
    return optimizer->clips ? timing_memory_pass(runner, owned_parameters * bytes)
                            : (struct work){.busy_ns = 0};
}

double program_updated_parameters(const struct memory_job *job, uint32_t stage)
{
    const double owned = program_owned_parameters(&job->split, stage);
    if (!optimizer_has_matrices(job->optimizer)) {
        return (1.0 - job->offload->optimizer) * owned;
    }
    const struct matrix_split split = memory_stage_matrices(&job->split, stage);
    const struct matrix_elements of = matrices_stage_elements(&split, &job->optimizer->matrices);
    return owned - of.dense / (double)split.dense_ranks - of.experts / (double)split.expert_ranks;
}

/* ---- steps ------------------------------------------------------------------------------- */

static bool waits_for_nothing(const struct task *task, uint32_t stream)
{
    return task->wait_count == 0 && stream != STREAM_COMPUTE && task->kind != TASK_RECEIVE;
}

/* A block of a later step, before which so many tasks of the step's compute lie: what waits for
 * nothing in it waits for the step before. The block itself, if there is none. */
static const struct engine_block *in_later_step(struct arena *arena,
                                                const struct engine_block *block,
                                                uint32_t compute_before)
{
    struct engine_block *later = NULL;
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        struct task *tasks = NULL;
        for (uint32_t i = 0; i < block->counts[s]; i++) {
            if (!waits_for_nothing(&block->tasks[s][i], s)) {
                continue;
            }
            if (tasks == NULL) {
                tasks = arena_array(arena, block->counts[s], sizeof *tasks);
                memcpy(tasks, block->tasks[s], block->counts[s] * sizeof *tasks);
            }
            tasks[i].wait_count = 1;
            tasks[i].wait_stream[0] = STREAM_COMPUTE;
            tasks[i].wait_ended[0] = -(int32_t)compute_before;
        }
        if (tasks != NULL && later == NULL) {
            later = arena_alloc(arena, sizeof *later);
            *later = *block;
        }
        if (tasks != NULL) {
            later->tasks[s] = tasks;
        }
    }
    return later != NULL ? later : block;
}

struct engine_program program_repeat(struct arena *arena, const struct engine_program *once,
                                     uint32_t steps)
{
    sim_assert(steps >= 1);
    const uint32_t count = once->block_count;
    const struct engine_block **row = arena_array(arena, (size_t)count * steps, sizeof *row);
    for (uint32_t b = 0; b < count; b++) {
        const struct engine_block *later =
            steps == 1 ? NULL
                       : in_later_step(arena, once->blocks[b], once->firsts[b][STREAM_COMPUTE]);
        for (uint32_t step = 0; step < steps; step++) {
            row[step * count + b] = step == 0 ? once->blocks[b] : later;
        }
    }
    struct engine_program program = engine_program_of(arena, row, count * steps);
    program.step_tasks = once->counts[STREAM_COMPUTE];
    return program;
}
