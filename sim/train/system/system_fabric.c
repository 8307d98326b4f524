/* What is kept in a frame is built in its arena, the rest in the step's. */
#include "train/system/system_fabric.h"

#include "base/check.h"
#include "input/scenario.h"
#include "train/quotient.h"
#include "train/system/route_memo.h"
#include "train/step_memo.h"
#include "train/system/system_frame.h"
#include "train/system/system_groups.h"

/* ---- the frame ---------------------------------------------------------------------------- */

/* Those whom a frame can hold: who turns, one job without slow GPUs, checkpoints and loaders. */
static bool can_be_kept(const struct step_system *system, const struct step_options *options,
                        uint32_t job_count, uint32_t gpus)
{
    const struct system_job *job = &system->jobs[0];
    const struct scenario *scenario = job->is.scenario;
    const uint32_t kind = scenario->cluster.fabric_kind;
    return options->memo != NULL && options->folds && job_count == 1 && job->is.steps == 1 &&
           job->writers == NULL && !options->takes_batches && scenario->slow_count == 0 &&
           (kind == FABRIC_RAIL || kind == FABRIC_RAIL_ONLY || kind == FABRIC_TREE) &&
           gpus == mesh_size(&job->mesh) && quotient_fills_in_order(job->is.gpu_of_rank, gpus);
}

static struct system_frame *frame_of(const struct step_system *system, struct step_memo *memo,
                                     uint32_t gpus)
{
    const struct scenario *scenario = system->jobs[0].is.scenario;
    const struct timing_runner runner = timing_runner_of(scenario);
    const struct cost_shape shape = timing_shape(scenario, 0);
    return system_frames_find(step_memo_frames(memo), &system->jobs[0], gpus,
                              step_memo_parts(memo, &runner, &shape));
}

/* ---- the fabric --------------------------------------------------------------------------- */

static void weaken_links(struct step_system *system, uint32_t job_count)
{
    for (uint32_t i = 0; i < job_count; i++) {
        const struct step_job *job = &system->jobs[i].is;
        for (int64_t k = 0; k < job->scenario->slow_count; k++) {
            const struct slow_rank *slow = &job->scenario->slow[k];
            const uint32_t rank = (uint32_t)slow->rank;
            const uint32_t *gpus = job->gpu_of_rank;
            fabric_weaken(&system->fabric, gpus != NULL ? gpus[rank] : rank,
                          (struct fabric_weakness){slow->nic, slow->scale_up});
        }
    }
}

static void build_fabric(struct step_system *system, struct arena *arena, uint32_t job_count,
                         uint32_t gpus)
{
    const struct scenario *asked = system->jobs[0].is.scenario;
    const struct fabric_losses losses = {asked->software.scale_up_bandwidth,
                                         asked->software.staging_bytes_per_s};
    fabric_init(&system->fabric, arena, &asked->cluster, &asked->gpu, gpus, (uint64_t)asked->seed);
    fabric_derate(&system->fabric, losses);
    weaken_links(system, job_count);
}

void system_lay_fabric(struct step_system *system, const struct step_options *options,
                       uint32_t job_count, uint32_t gpus, uint32_t *ranks)
{
    const struct system_job *first = &system->jobs[0];
    if (options->memo != NULL && options->folds && route_memo_takes(&first->is.scenario->cluster)) {
        system->setting.routes = step_memo_routes(options->memo);
    }
    if (can_be_kept(system, options, job_count, gpus)) {
        system->frame = frame_of(system, options->memo, gpus);
    }
    if (system_frame_take(system)) {
        return;
    }
    struct arena *step = system->setting.arena;
    struct arena *arena = system->frame != NULL ? system->frame->arena : step;
    build_fabric(system, arena, job_count, gpus);
    system->turns = options->folds && job_count == 1
                        ? quotient_turns(arena, &system->fabric, first->is.scenario, &first->layout,
                                         first->writers, first->is.gpu_of_rank)
                        : fabric_turns_none(&system->fabric);
    system->setting.arena = arena;
    for (uint32_t i = 0; i < job_count; i++) {
        system_choose_groups(system, &system->jobs[i], ranks);
    }
    system->setting.arena = step;
    system->fabric.arena = step;
    system_frame_keep(system);
}
