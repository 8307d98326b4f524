/* What a job holds of its site: which GPUs are paid and draw power, and which nodes stand ready.
 *
 * A job is given whole nodes, and where its groups have to stay inside NVLink domains it leaves
 * nodes of each domain to nobody (train/placement_segment). Its GPUs that stay idle are
 *
 *     nodes * GPUs of one - the job's own                where it has less than a node
 *     those that segments leave of each domain           where nobody else lies there
 *
 * With price.idle `paid` they are the job's: rented or owned, and drawing what a GPU does that
 * waits. What is left of a domain are whole nodes, which stand ready as spares before any is
 * rented beside:
 *
 *     spares = max(run.recovery.spares, idle nodes)      hot ones likewise: idle nodes are started
 *     rented = spares - idle nodes
 *
 * With `not` they are somebody else's, and none of this holds.
 *
 * Everything that is paid, draws power or stands ready asks here. What is done a GPU counts those
 * that work: tokens/s/GPU, MFU, and "as papers have it" GPU-hours times TDP.
 *
 * ASSUMES: an idle node is taken as soon as one breaks, and does not break itself.
 */
#ifndef RUN_HOLDING_H
#define RUN_HOLDING_H

#include "run/result.h"

struct scenario;

struct holding {
    const struct scenario *scenario;
    double gpus;         /* paid: the job's, and idle ones */
    double idle_gpus;    /* of these */
    double node_gpus;    /* of these, on a node where GPUs of the job are */
    int64_t idle_nodes;  /* where none is */
    int64_t spares;      /* nodes that stand ready, idle ones among them */
    int64_t hot_spares;  /* of these, started */
    int64_t rented_hot;  /* of these, beside the idle ones */
    int64_t rented_cold; /* of the spares beside them */
};

/* Of a job that lies so; NULL: wherever that is, which is the least it can be. */
struct holding holding_of(const struct scenario *scenario, const struct placement_use *use);

/* Of a run. Spares are those of all its stages: of idle nodes only as many count as there are in
 * each. */
struct holding holding_of_run(const struct scenario *scenario, const struct step_result *step,
                              const struct run_result *run);

/* Of a stage of it, with the spares of the run. */
struct holding holding_of_stage(const struct run_stage_use *stage, const struct holding *run);

/* Of a job whose step was not simulated, where the scenario's placement has it. */
struct holding holding_placed(const struct scenario *scenario);

#endif
