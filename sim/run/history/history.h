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
 * Checkpoints are written to up to three *tiers*: the first after every period, the others, slower
 * and safer, each after every so many-th. A failure of level l leaves what survives level l; what
 * survives a node (level 1) has a copy on its peer, and is lost with both: of two nodes that fail
 * before the job runs again, with the chance that they are neighbours in the ring of peers. A check
 * for corrupted weights ends every n-th period and vouches for all checkpoints from before; if it
 * finds something the run goes back to the newest that some tier still has of these, and newer ones
 * are thrown away. What a restart reads, and how long that takes, is the newest's that survived;
 * before the first there is nothing to read.
 *
 * Where replicas hold *copies* of each other's states, what a lost GPU held is read from one that
 * is left, and only the step under way is lost. A failure may take all copies of some part: one
 * that lies in all nodes that hold it, or the last of these that fails before the job runs again.
 * Of a part in c of N nodes, k of which fell at random, another one is the last with the chance
 *
 *     k (k - 1) ... (k - c + 2) / ((N - 1) (N - 2) ... (N - c + 1))
 *
 * Then, after corruption, and after planned stops, which end all processes, it is a checkpoint's
 * turn. What was on its way to a tier is lost with the failure in any case, and so is what lay in
 * tiers that do not survive it.
 *
 * A run has *stages*, one after the other: from some step on the batch, the length of sequences or
 * the layout is another, and with it the step, the checkpoints and what a restart takes. A stage
 * begins in place, or with a restart: then the one before ends with a checkpoint, and the job stops
 * once that is durable. Who falls back behind the begin of a stage does the steps of the one before
 * again, in its regime; who falls back to it goes on in the new one, and what was left of its
 * change passes after the restart.
 *
 * Nodes are repaired one after the other where *hands* are few. Of the spares some are *hot*; where
 * a failure takes more than are left of these, the restart waits for a cold one to start. A *wrong
 * diagnosis* takes out a good node in the place of a broken one: the job starts, fails as before,
 * is seen to fail, and somebody looks again.
 *
 * A spare that lies elsewhere than the node it replaces makes the job lie apart: so many nodes are
 * *displaced*, from the restart that takes the spares to the next one, which takes the nodes again
 * that are back by then.
 *
 * Nodes that are lent may be *taken away*, with notice: they go that much later, and after a time
 * of their own there are others in their place, whom nobody repairs. Where a checkpoint can be safe
 * by then, its blocking part and the way to where it outlives those that go, it is begun after the
 * step under way, in every tier; nothing is computed until it is safe, and then the job leaves.
 * Where it cannot, steps go on until the nodes do, and what is lost is lost. Either way the job
 * starts again without them. What is away is not taken again: of n nodes, each held for 1/lam and
 * away for r in the mean, by any law, so many are away as a binomial law of n and
 * lam r / (1 + lam r) says.
 *
 * Nodes that are away do not break: of a class whose components lie in nodes those fail that are
 * there, as in the machine repairman's model, and no failure takes more nodes than there are.
 *
 * Steps *drift*: they get longer with the time since the job last started, or since maintenance, in
 * intervals of that age; in each a step is as long as the plan says.
 *
 * Planned pauses: an *evaluation* after every n-th step, done again with the step; *maintenance* at
 * given instants, for which the job stops, after a checkpoint of its own or at once. Nodes that
 * break meanwhile are found when it starts again.
 *
 * Accounts: every nanosecond from 0 to the end is booked on one of them, and on one stage; the sum
 * is asserted.
 *
 * A slow GPU, or one with a weak link, is taken out once it is known, or it heals: then nobody
 * restarts.
 *
 * ASSUMES: of several slow GPUs the slowest sets the pace.
 * ASSUMES: what flushes beside a step makes it longer for as many steps as begin before the
 * checkpoint is durable; to the next tier it goes on once it is durable in the one before.
 * ASSUMES: each tier keeps its newest checkpoint that a check vouched for, beside newer ones.
 * ASSUMES: what a stage has no use for is somebody else's: its failures are nobody's here.
 * ASSUMES: a broken node is away from when it broke, even while another one is blamed for it.
 * ASSUMES: as soon as a hot spare is taken a cold one is made hot, which is so before the next
 * failure.
 * ASSUMES: a hand does all stages of a repair.
 * ASSUMES: spares are not lent: nobody takes them away.
 * ASSUMES: an evaluation, a change of stage, a check or a write under way is not broken off for a
 * notice, nor a step; one that comes while the job stands still, or starts, stops that at once.
 * ASSUMES: a job that has saved its state leaves at once, and nodes that wait for others are held.
 * ASSUMES: slow GPUs and missing replicas make an evaluation no longer.
 * ASSUMES: each restart puts the job onto its own nodes as far as they are back, and no job moves
 * while it runs.
 * ASSUMES: maintenance that falls into a standstill begins when the job runs again, and one that
 * falls into maintenance is left out.
 * ASSUMES: what stood still for an evaluation or a change of stage when the job broke down was
 * planned time, not lost; where states come from copies no evaluation is done again.
 */
#ifndef RUN_HISTORY_HISTORY_H
#define RUN_HISTORY_HISTORY_H

#include "run/account.h"
#include "run/history/failure.h"

#define HISTORY_NO_CLASS UINT32_MAX

struct history_regime {
    uint32_t flushes;    /* bits: tiers that a checkpoint is on its way to */
    uint32_t slow_class; /* HISTORY_NO_CLASS: no GPU is slow */
    uint32_t missing;    /* replicas */
    uint32_t slow_place; /* which GPU: below slow_places of the stage */
    uint32_t stage;
    uint32_t displaced; /* nodes in whose place a spare stands that lies elsewhere */
    uint32_t drift;     /* which interval of drift since the job was fresh, from 1; 0: none */
};

struct history_step {
    sim_time step_ns;  /* > 0 */
    sim_time stall_ns; /* of it, waiting for data */
};

/* How long a step of a regime takes: the same each time it is asked. */
typedef struct history_step history_step_of(void *context, const struct history_regime *regime);

enum { HISTORY_TIERS_MAX = 3, HISTORY_LEVELS = 4, LEVEL_NODE = 1 };

struct history_tier {
    uint32_t every;                   /* periods; of the first tier 1 */
    sim_time block_ns;                /* nobody computes */
    sim_time durable_ns;              /* from then until it can be read again */
    uint32_t survives;                /* failures of this level and below */
    sim_time read_ns[HISTORY_LEVELS]; /* of a restart after a failure of that level */
};

/* Of the states that GPUs hold. */
struct history_copies {
    const double *lost;               /* [class_count], 0..1: of a class's failures, that take all
                                       * copies of some part; NULL: there are none to read */
    uint32_t nodes;                   /* that hold a part, at least 2 */
    sim_time read_ns[HISTORY_LEVELS]; /* of a restart after a failure of that level */
};

struct history_stage {
    int64_t until;  /* step of the run that ends it; of the last stage the plan says */
    int64_t period; /* steps from one checkpoint to the next; 0: there are none */
    struct history_tier tiers[HISTORY_TIERS_MAX]; /* from least to most safe */
    uint32_t check_every;                         /* periods; 0: nothing is checked */
    struct history_copies copies;
    sim_time start_ns; /* of each restart, beside what its class draws and the read */
    uint32_t replicas, nodes_of_replica;
    uint32_t nodes; /* in the ring of peers, and among which copies lie; 0: no failures of nodes one
                     * by one take a peer or all copies */
    uint32_t slow_places; /* that a slow GPU may have, each as likely; 0: they are all alike */
    const double *shares; /* [class_count], 0..1: of a class's components that it has; NULL: all */
    bool restarts;        /* to begin; else as many replicas as before go on in place */
    sim_time change_ns;   /* before its first step, planned; with a restart beside that */
};

/* For which the job stops, at instants of calendar time. */
struct history_maintenance {
    sim_time every; /* from one to the next; 0: there is none */
    sim_time first; /* after `every` more the second */
    sim_time takes_ns;
    bool saves; /* a checkpoint is written before, after the step under way; else it is lost */
};

struct history_seen;

struct history_plan {
    const struct failure_class *classes;
    uint32_t class_count;
    sim_time horizon; /* the run ends here, */
    int64_t steps;    /* or with this step, if that is earlier; 0: it does not */
    const struct history_stage *stages;
    uint32_t stage_count; /* at least 1 */
    history_step_of *step_of;
    void *context;
    uint32_t tier_count;
    sim_time check_ns;
    sim_time startup_ns;      /* before the first step */
    sim_time teardown_ns;     /* after the last one; nothing fails meanwhile */
    int64_t evaluation_every; /* steps; 0: there are none */
    sim_time evaluation_ns;   /* each, but after the last step */
    struct history_maintenance maintenance;
    const sim_time
        *drift_ages;      /* [drift_count] that intervals of drift begin with, rising from 0 */
    uint32_t drift_count; /* 0: steps do not drift */
    bool drifts_on;       /* over restarts, until maintenance */
    struct law restart;   /* what a planned one draws */
    uint32_t spares;      /* nodes */
    uint32_t hands;       /* repairs at a time; 0: as many as there are */
    uint32_t hot_spares;  /* of those that stand by: the others have to be started */
    struct law cold_start;
    bool displaces;         /* spares lie elsewhere than what they replace: a regime of its own */
    double wrong_diagnosis; /* share of failures that take nodes, of which another one is blamed */
    struct law inspection;  /* until such a node is back */
    bool saves_on_notice;   /* writes a checkpoint, where one can be safe before nodes go */
    bool is_elastic;        /* goes on with fewer replicas; else it waits for nodes */
    struct law growth;      /* restart with more replicas, when nodes came back; loses nothing */
    struct history_seen *seen; /* takes down what time went into (run/history/history_seen); NULL */
};

struct history_outcome {
    sim_time account_ns[ACCOUNT_COUNT_];
    sim_time (*stage_ns)[ACCOUNT_COUNT_]; /* [stage_count]; they sum to account_ns */
    sim_time end;
    int64_t steps;           /* that count */
    int64_t checkpoints;     /* behind them */
    uint64_t *interruptions; /* [class_count] that ended the job, or stopped it */
    sim_time *blamed_ns; /* [class_count] lost, detection, waiting, recovery: until the job ran */
    double *unheld_s;    /* [stage_count] of nodes that were taken away, while the job lacks them */
    uint64_t saved;      /* times that nodes were taken, and no step was lost */
    uint32_t broken_most; /* nodes at a time */
    uint64_t turns;       /* of the loop */
};

/* Memory is the arena's, O(failures under way). */
void history_run(struct arena *arena, const struct history_plan *plan, uint64_t seed,
                 uint64_t repetition, struct history_outcome *outcome);

#endif
