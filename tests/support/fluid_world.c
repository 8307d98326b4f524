#include "support/fluid_world.h"

#include <stddef.h>

struct fluid_world fluid_world_new(struct arena *arena)
{
    struct event_queue *queue = event_queue_new(arena);
    return (struct fluid_world){queue, fluid_new(arena, queue, FLUID_WORLD_STAMP_KIND)};
}

bool fluid_world_step(struct fluid_world *world, sim_time *ended)
{
    const sim_time at = event_next_time(world->queue);
    if (at == SIM_TIME_MAX) {
        return false;
    }
    struct event event;
    while (event_pop_at(world->queue, at, &event)) {
        flow_id flow = 0;
        while (fluid_complete(world->fluid, &event, &flow)) {
            if (ended != NULL) {
                ended[flow] = at;
            }
        }
    }
    fluid_solve(world->fluid);
    return true;
}

void fluid_world_run(struct fluid_world *world, sim_time *ended)
{
    fluid_solve(world->fluid);
    while (fluid_world_step(world, ended)) {
    }
}
