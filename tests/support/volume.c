#include "support/volume.h"

#include "base/arena.h"
#include "base/check.h"
#include "support/fixture.h"
#include "train/program/program_calls.h"

#include <stdio.h>
#include <string.h>

struct step_system *volume_system(struct arena *arena, const char *text)
{
    const struct scenario *scenario =
        fixture_scenario(arena, &(struct fixture_source){.text = text});
    const struct step_job job = {scenario, NULL, 1};
    return system_build(arena, &job, 1, (uint32_t)scenario->gpus, &(struct step_options){0});
}

struct volume volume_of(const struct step_system *system, uint32_t stage, enum stream stream,
                        enum collective_operation operation)
{
    const struct engine_program *program = &system->engine.programs[stage];
    struct volume volume = {0, 0, 0};
    for (struct engine_walk walk = engine_walk_of(program, stream); walk.task != NULL;
         engine_walk_next(&walk)) {
        const struct transfer_origin *origin = &system->transfers.origins[walk.task->transfer];
        sim_assert(origin->is_head);
        if (origin->operation == operation) {
            volume.count++;
            volume.bytes += origin->bytes;
            volume.rank_bytes += origin->has_quote ? origin->rank_bytes : origin->bytes;
        }
    }
    return volume;
}

/* On a stream: sends, and calls that go `alone` or both ways. */
static void add_sent(const struct step_system *system, uint32_t stage, enum stream stream,
                     enum call_way alone, struct volume *sum)
{
    const struct engine_program *program = &system->engine.programs[stage];
    for (struct engine_walk walk = engine_walk_of(program, stream); walk.task != NULL;
         engine_walk_next(&walk)) {
        const struct task *task = walk.task;
        const struct engine_transfer *transfer = &system->engine.transfers[task->transfer];
        const bool is_call = task->kind == TASK_COLLECTIVE &&
                             (transfer->path == (uint32_t)alone || transfer->path == CALL_BOTH);
        if (task->kind == TASK_SEND || is_call) {
            sum->count++;
            sum->bytes += (double)transfer->bytes;
            sum->rank_bytes += (double)transfer->bytes;
        }
    }
}

struct volume volume_sent(const struct step_system *system, uint32_t stage)
{
    struct volume sum = {0, 0, 0};
    add_sent(system, stage, STREAM_SEND_FORWARD, CALL_AHEAD, &sum);
    add_sent(system, stage, STREAM_RECEIVE_FORWARD, CALL_BACK, &sum);
    add_sent(system, stage, STREAM_SEND_BACKWARD, CALL_BACK, &sum);
    return sum;
}
