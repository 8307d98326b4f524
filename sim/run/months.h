/* The months of a run whose steps are simulated: histories (run/history) with the scenario's
 * failures and recovery, each regime's step asked of the engine once.
 *
 * A regime is simulated when a history first meets it, and remembered: a flush beside the step, a
 * slow GPU on a stage of the pipeline, fewer replicas, and these together. All histories take their
 * steps from there.
 *
 * ASSUMES: which of a stage's GPUs is slow makes no difference to the step.
 * ASSUMES: a checkpoint costs the same with fewer replicas.
 */
#ifndef RUN_MONTHS_H
#define RUN_MONTHS_H

#include "run/checkpoint.h"
#include "run/history.h"

struct arena;

struct months {
    const struct regime_basis *basis;
    int64_t step_ns;  /* the usual step of the run: with what it waits for data, or measured */
    int64_t stall_ns; /* of it */
    const struct checkpoint_cost *cost;
    uint32_t jobs; /* processes that draw histories: run/repetitions */
};

/* Of a scenario with failures: fills the run's accounts, spreads and classes; its steps and
 * checkpoints are there. Memory is the arena's. */
void months_run(struct arena *arena, const struct months *months, struct run_result *run);

#endif
