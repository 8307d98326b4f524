/* The step of a run in other circumstances than its usual ones: each a *regime*, simulated by the
 * engine like the step itself, and compared with it.
 *
 * Both are the same run of the ensemble (train/ensemble), so that what lies between them is the
 * regime's and not chance.
 */
#ifndef RUN_REGIME_H
#define RUN_REGIME_H

#include "input/slow_ranks.h"
#include "train/placement_spares.h"
#include "train/step.h"

struct arena;

/* Steps of regimes of one basis that are known, each simulated once. Memory is the arena's. */
struct regime_memo;
struct regime_memo *regime_memo_new(struct arena *arena);
size_t regime_memo_count(const struct regime_memo *memo);

/* The usual step. What it points to is borrowed. */
struct regime_basis {
    const struct scenario *scenario;
    struct ensemble_member member; /* the run that the step is */
    int64_t step_ns;               /* of it, as the engine has it: with its loaders, if any */
    double scale;                  /* of it with the scenario's anchor, > 0; 1: it has none */
    bool folds;
    const struct step_loaders *loaders; /* beside all of its steps; NULL: none */
    bool has_histories;                 /* of the run: something fails in it, or is planned */
    struct placement_spares spares;     /* that nodes are displaced to (run/holding) */
    struct step_memo *memo;
    struct regime_memo *known; /* NULL: each is simulated whenever it is asked for */
};

/* What is not as usual. */
struct regime {
    double checkpoint_bytes; /* written, or copied to the host, at the step's end */
    bool is_checkpoint_async;
    bool is_copied_beside; /* the copy, from the step's beginning on */
    double flush_bytes;    /* of an earlier checkpoint, flushed beside the step */
    double drain_bytes;    /* of one before that, on its way to the file system */
    struct slow_rank slow; /* one more slow GPU; speed 0: there is none */
    int64_t missing;       /* replicas that the job goes on without */
    int64_t displaced;     /* nodes in whose place spares stand (train/placement_spares) */
};

/* How long a step of this regime is. Scratch memory is the arena's. What is known depends on the
 * scenario by run.recovery.batch, where something is written run.checkpoint.to, and where nodes are
 * displaced by the spares alone.
 *
 * Without some replicas the batch shrinks or stays what it is (run.recovery.batch). Of a shrunk one
 * this is the time in which as many tokens are trained as in a usual step: the step's, times all
 * replicas over those that are left. Where it stays, these do more microbatches, of which the last
 * may be part of one and takes as long. Where a schedule needs a multiple, or sizes do not divide,
 * the next that does is taken, of microbatches first and then of replicas.
 *

 * What is flushed of checkpoints in hosts' memory goes to their peers (run.checkpoint.peer_every).
 *
 * ASSUMES: loaders that go on while a checkpoint blocks make up for stalls of that step alone,
 * though their queues may last for several.
 * ASSUMES: with fewer replicas the job lies on the first nodes, wherever those are that broke. */
int64_t regime_step_ns(struct arena *arena, const struct regime_basis *basis,
                       const struct regime *regime);

#endif
