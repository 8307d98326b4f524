/* The months of a run whose steps are simulated: histories (run/history) with the scenario's
 * failures and recovery, each regime's step asked of the engine once.
 *
 * A regime is simulated when a history first meets it, and remembered: a flush beside the step, a
 * slow GPU on a stage of the pipeline, fewer replicas, and these together. All histories take their
 * steps from there.
 *
 * With spares at the job's end (run.recovery.spares_at) a step with nodes displaced is a regime,
 * too, simulated of 1, 2, 4, 8 ... and of as many as there are spares; what lies in between lies on
 * a straight line.
 *
 * Drift (run.drift) is a straight line in steps of a thousandth of the usual step, which the engine
 * is not asked for.
 *
 * What fails is of the GPUs of the largest stage: a smaller one meets the share of its components.
 *
 * ASSUMES: which of a stage's GPUs is slow makes no difference to the step.
 * ASSUMES: a checkpoint costs the same with fewer replicas.
 * ASSUMES: which nodes are displaced is drawn once, not for each failure (train/placement_spares).
 * ASSUMES: what displaced nodes make a step longer adds up with what a flush, a slow GPU or missing
 * replicas do, and lengthens neither writes nor reads of checkpoints.
 * ASSUMES: what first steps take longer passes before the first of them, at the start and after
 * each change; after a restart it is run.recovery.warm_up.
 */
#ifndef RUN_MONTHS_H
#define RUN_MONTHS_H

#include "input/job/checkpoint.h"
#include "run/checkpoint.h"
#include "run/history/history.h"
#include "run/history/history_seen.h"
#include "run/holding.h"
#include "run/survivors.h"

struct arena;
struct repetitions;

/* One stage of the run, or all of it. */
struct months_stage {
    const struct regime_basis *basis;
    int64_t step_ns;  /* its usual step: with what it waits for data, or measured */
    int64_t stall_ns; /* of it */
    int64_t steps;
    const struct checkpoint_cost *cost;
    const struct survivors *survivors;
    const struct run_stage *plan; /* NULL: there are no stages */
};

struct months {
    const struct scenario *scenario;
    const struct months_stage *stages;
    uint32_t stage_count;          /* at least 1 */
    const struct holding *holding; /* of the run */
    uint32_t jobs;                 /* processes that draw histories: run/history/repetitions */
    struct history_seen *seen;     /* one of the histories, piece by piece; NULL: nobody looks */
};

/* What its histories were planned by, and the steps of the regimes that they met. */
struct months_walk;

/* Of a scenario in which something fails or is planned: fills the run's accounts and those of its
 * stages, spreads and classes; its steps and checkpoints are there. Where nothing fails there is
 * one history, `repetitions` stays 0, and NULL is returned. Memory is the arena's; what `months`
 * points to outlives the walk. */
struct months_walk *months_run(struct arena *arena, const struct months *months,
                               struct run_result *run);

/* By what a history's steps are longer, and what fails does so more often, than was told. */
struct months_factors {
    double step, rates;
};

/* Histories 0 to `count` - 1 of the run once more, each with factors of its own: history i meets
 * the failures that it met, only sooner or later. A checkpoint every so many minutes stays that;
 * nodes on spot go as often as is said. Each is given up `horizon_s` after its begin. */
void months_draw(struct arena *arena, struct months_walk *walk,
                 const struct months_factors *factors, uint32_t count, double horizon_s,
                 struct repetitions *all);

#endif
