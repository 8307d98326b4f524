/* What a stage's GPUs update, and a step repeated: each stream's tasks again, their waits moved on
 * by what one step has on the stream that is waited for. What a step starts without waiting for
 * anything (the first gathers) has to wait for the compute of the step before; receives do not,
 * they are posted early, and compute is in order anyway.
 */
#include "train/program/program.h"

#include "base/arena.h"
#include "base/check.h"
#include "plan/memory/memory.h"

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
    return (1.0 - job->offload->optimizer) * program_owned_parameters(&job->split, stage);
}

/* ---- steps ------------------------------------------------------------------------------- */

static struct task moved_on(const struct engine_program *once, struct task task, uint32_t stream,
                            uint32_t step)
{
    for (uint32_t i = 0; i < task.wait_count; i++) {
        task.wait_ended[i] += step * once->counts[task.wait_stream[i]];
    }
    if (step > 0 && task.wait_count == 0 && stream != STREAM_COMPUTE && task.kind != TASK_RECEIVE) {
        task.wait_count = 1;
        task.wait_stream[0] = STREAM_COMPUTE;
        task.wait_ended[0] = step * once->counts[STREAM_COMPUTE];
    }
    return task;
}

struct engine_program program_repeat(struct arena *arena, const struct engine_program *once,
                                     uint32_t steps)
{
    sim_assert(steps >= 1);
    struct engine_program program = *once;
    program.step_tasks = once->counts[STREAM_COMPUTE];
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        const uint32_t count = once->counts[s];
        struct task *tasks = arena_array(arena, (size_t)count * steps + 1, sizeof *tasks);
        for (uint32_t i = 0; i < count * steps; i++) {
            tasks[i] = moved_on(once, once->tasks[s][i % count], s, i / count);
        }
        program.tasks[s] = tasks;
        program.counts[s] = count * steps;
    }
    return program;
}
