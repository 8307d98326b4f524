#include "support/volume.h"

#include "base/arena.h"
#include "base/check.h"
#include "support/fixture.h"

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
    for (uint32_t i = 0; i < program->counts[stream]; i++) {
        const struct transfer_origin *origin =
            &system->transfers.origins[program->tasks[stream][i].transfer];
        sim_assert(origin->is_head);
        if (origin->operation == operation) {
            volume.count++;
            volume.bytes += origin->bytes;
            volume.rank_bytes += origin->has_quote ? origin->rank_bytes : origin->bytes;
        }
    }
    return volume;
}
