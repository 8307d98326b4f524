/* A fluid with its queue, run to the end by the instant rule: everything due
 * at one time, then one fluid_solve. */
#ifndef TESTS_SUPPORT_FLUID_WORLD_H
#define TESTS_SUPPORT_FLUID_WORLD_H

#include "des/fluid.h"

#include <stdbool.h>

struct arena;

#define FLUID_WORLD_STAMP_KIND 3

struct fluid_world {
    struct event_queue *queue;
    struct fluid *fluid;
};

struct fluid_world fluid_world_new(struct arena *arena);

/* Handles everything due at the next time. The time at which each flow ended
 * goes to ended[flow], unless `ended` is NULL. False when nothing is pending. */
bool fluid_world_step(struct fluid_world *world, sim_time *ended);

/* Solves, then steps until nothing is pending. */
void fluid_world_run(struct fluid_world *world, sim_time *ended);

#endif
