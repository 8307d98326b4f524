/* One history of a run: months as changes of regime.
 *
 * Most steps of a run are alike. What makes them last longer, a flush beside them, a slow GPU,
 * fewer replicas, is a *regime*: of each the engine simulated the step once, and here it is a
 * number of nanoseconds. Between two changes of regime nothing can happen, so the run jumps from
 * one to the next, over whole checkpoint periods: a history costs what its failures cost, whatever
 * its length.
 *
 *     steps ...|write|steps ...|write|steps ..X   detection   waiting   restart  |steps ...
 *                  durable later ^            lost since the durable one^ for a node
 *
 * A new regime takes effect at the end of a step, a failure at once. A checkpoint counts once it
 * is durable; until then a failure goes back to the one before. Failures during detection and
 * waiting break more nodes, with the checkpoints that these held, and cost nothing else (a GPU that
 * got slow meanwhile is found before the job starts on it); one during a restart begins detection
 * anew.
 *
 * Checkpoints are written to one or two *tiers*: the first after every period, the second, slower
 * and safer, after every n-th. A failure of level l leaves what survives level l. A check for
 * corrupted weights ends every n-th period; if it finds something the run goes back to the check
 * before. What a restart reads, and how long that takes, is the newest's that survived; before the
 * first there is nothing to read.
 *
 * Accounts: every nanosecond from 0 to the end is booked on one of them; the sum is asserted.
 *
 * ASSUMES: of several slow GPUs the slowest sets the pace.
 * ASSUMES: what flushes beside a step makes it longer for as many steps as begin before the
 * checkpoint is durable.
 * ASSUMES: a checkpoint that is older than the last corruption check is kept.
 */
#ifndef RUN_HISTORY_H
#define RUN_HISTORY_H

#include "run/account.h"
#include "run/failure.h"

#define HISTORY_NO_CLASS UINT32_MAX

struct history_regime {
    bool flushes;
    uint32_t slow_class; /* HISTORY_NO_CLASS: no GPU is slow */
    uint32_t missing;    /* replicas */
    uint32_t slow_place; /* which GPU: below slow_places of the plan */
};

struct history_step {
    sim_time step_ns;  /* > 0 */
    sim_time stall_ns; /* of it, waiting for data */
};

/* How long a step of a regime takes: the same each time it is asked. */
typedef struct history_step history_step_of(void *context, const struct history_regime *regime);

enum { HISTORY_TIERS_MAX = 2, HISTORY_LEVELS = 4 };

struct history_tier {
    uint32_t every;                   /* periods; of the first tier 1 */
    sim_time block_ns;                /* nobody computes */
    sim_time durable_ns;              /* from then until it can be read again */
    uint32_t survives;                /* failures of this level and below */
    sim_time read_ns[HISTORY_LEVELS]; /* of a restart after a failure of that level */
};

struct history_plan {
    const struct failure_class *classes;
    uint32_t class_count;
    sim_time horizon; /* the run ends here, */
    int64_t steps;    /* or with this step, if that is earlier; 0: it does not */
    history_step_of *step_of;
    void *context;
    int64_t period; /* steps from one checkpoint to the next; 0: there are none */
    struct history_tier tiers[HISTORY_TIERS_MAX]; /* from least to most safe */
    uint32_t tier_count;
    uint32_t check_every; /* periods; 0: nothing is checked */
    sim_time check_ns;
    sim_time startup_ns; /* before the first step */
    sim_time start_ns;   /* of each restart, beside what its class draws and the read */
    uint32_t spares;     /* nodes */
    bool is_elastic;     /* goes on with fewer replicas; else it waits for nodes */
    uint32_t replicas, nodes_of_replica;
    uint32_t slow_places; /* that a slow GPU may have, each as likely; 0: they are all alike */
    struct law growth;    /* restart with more replicas, when nodes came back; loses nothing */
};

struct history_outcome {
    sim_time account_ns[ACCOUNT_COUNT_];
    sim_time end;
    int64_t steps;           /* that count */
    uint64_t *interruptions; /* [class_count] that ended the job, or stopped it */
    sim_time *blamed_ns;  /* [class_count] lost, detection, waiting, recovery: until the job ran */
    uint32_t broken_most; /* nodes at a time */
    uint64_t turns;       /* of the loop */
};

/* Memory is the arena's, O(failures under way). */
void history_run(struct arena *arena, const struct history_plan *plan, uint64_t seed,
                 uint64_t repetition, struct history_outcome *outcome);

#endif
