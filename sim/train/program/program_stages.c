/* All that programs are written from is put together here; of a study's steps those that are the
 * same are written once (train/program/program_memo).
 */
#include "train/program/program_stages.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/data/data_loading.h"
#include "input/scenario.h"
#include "train/program/program_build.h"
#include "train/program/program_memo.h"
#include "train/program/program_written.h"
#include "train/step_memo.h"

/* Its job and times are the caller's. */
static struct program_context context_of(struct step_system *system, struct system_job *job,
                                         uint32_t job_number, const struct step_options *options)
{
    const struct scenario *scenario = job->is.scenario;
    const double ranks = mesh_size(&job->mesh);
    const bool is_tensor = mesh_experts_use_tensor_lines(&job->mesh);
    const bool reads_over_fabric = scenario->data.is_enabled && !options->takes_batches &&
                                   scenario->data.source == DATA_SHARED &&
                                   scenario->cluster.storage_network == STORAGE_ON_FABRIC;
    return (struct program_context){
        .arena = system->setting.arena,
        .routing = &job->routing,
        .setting = &system->setting,
        .transfers = &system->transfers,
        .patterns = job->patterns,
        .job_number = job_number,
        .tensor = job->groups[GROUP_TENSOR],
        .context = job->groups[GROUP_CONTEXT],
        .expert = job->groups[GROUP_EXPERT],
        .expert_tensor = job->groups[is_tensor ? GROUP_TENSOR : GROUP_EXPERT_TENSOR],
        .expert_tensor_stream = is_tensor ? STREAM_TENSOR : STREAM_EXPERT_TENSOR,
        .data = job->groups[GROUP_DATA],
        .replica = job->groups[GROUP_REPLICA],
        .expert_data = job->groups[GROUP_EXPERT_DATA],
        .expert_replica = job->groups[GROUP_EXPERT_REPLICA],
        .local = job->groups[GROUP_LOCAL],
        .across = job->groups[GROUP_ACROSS],
        .embedding = job->groups[GROUP_EMBEDDING],
        .scales = job->groups[GROUP_SCALES],
        .world = job->groups[GROUP_WORLD],
        .checkpoint_bytes_per_rank = options->checkpoint_bytes / ranks,
        .is_copied_beside = options->is_copied_beside,
        .flush_bytes_per_rank = options->flush_bytes / ranks,
        .drain_bytes_per_rank = options->drain_bytes / ranks,
        .fabric_data = reads_over_fabric ? &scenario->data : NULL,
        .takes_batches = options->takes_batches,
        .wait_ns = options->wait_ns,
        .written = options->each_action ? NULL : program_written_new(system->setting.arena),
        .actions = options->actions,
        .counts_work = options->actions != NULL && options->each_action,
        .host_wait_ns = job->host_wait_ns,
    };
}

static void build(const struct program_context *context, uint32_t stages, uint32_t steps,
                  struct engine_program *programs)
{
    for (uint32_t stage = 0; stage < stages; stage++) {
        const struct engine_program once = program_build(context, stage);
        programs[stage] = steps > 1 ? program_repeat(context->arena, &once, steps) : once;
    }
}

/* Transfers have the numbers that they have in a job by itself, and actions are not asked for. */
static bool is_kept(const struct program_context *context, const struct system_job *job,
                    const struct step_memo *memo)
{
    return memo != NULL && context->transfers->count == 0 && context->job_number == 0 &&
           context->actions == NULL && context->written != NULL && job->is.steps == 1 &&
           context->job->parallel->schedule_file == NULL;
}

void program_stages(struct step_system *system, struct system_job *job, uint32_t job_number,
                    const struct step_options *options, struct step_memo *memo,
                    struct engine_program *programs)
{
    struct arena *arena = system->setting.arena;
    const struct scenario *scenario = job->is.scenario;
    const struct program_job planned = program_job_of(scenario);
    const struct timing_runner runner = timing_runner_of(scenario);
    const struct cost_shape shape = timing_shape(scenario, 0);
    struct timing *timing = arena_room(arena, 1, sizeof *timing); /* large */
    step_memo_timing(memo, &runner, &shape, timing);
    job->host_wait_ns = arena_array(arena, job->mesh.pp, sizeof *job->host_wait_ns);
    struct program_context context = context_of(system, job, job_number, options);
    context.job = &planned;
    context.timing = timing;
    const uint32_t stages = job->mesh.pp;
    if (!is_kept(&context, job, memo)) {
        build(&context, stages, job->is.steps, programs);
        return;
    }
    struct program_memo *kept = step_memo_programs(memo);
    const uint64_t parts = step_memo_parts(memo, &runner, &shape);
    if (!programs_recall(kept, &context, parts, stages, programs)) {
        const size_t asked = system->transfers.count;
        build(&context, stages, 1, programs);
        sim_assert(asked == 0 || asked == system->transfers.count);
        programs_keep(kept, &context, stages, programs);
    }
}
