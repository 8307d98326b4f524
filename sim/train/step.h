/* The room train: one optimizer step: where plan and hw meet, and nowhere else.
 *
 * Invariant: Every GPU-nanosecond of a step has one cause, and the causes sum to GPUs times the
 * step to the nanosecond. A step of one GPU of each class is that of all GPUs, to the nanosecond,
 * and so is one whose cycles and stretches were moved over. Each is asserted or held by tests;
 * none is within a tolerance.
 *
 * Lives here: the machine as actors and channels (system), programs of pipeline stages, folding,
 * the step with its account, loaders beside steps, the critical path by resource, bounds.
 * May come in: base, des, input, plan, hw.
 *
 * Decided in one place each:
 *     which ranks communicate: the rows of                          groups.c
 *     what overlaps with what: streams, and what makes them late    streams.c
 *     which transfer a collective becomes                           transfer.c
 *     which GPUs are simulated                                      fold.c
 *        which of them are built at all                             quotient.c
 *     where a job lies                                              placement.c
 *        and when spares stand for broken nodes                     placement_spares.c
 *     which actions of a schedule are written, which refer to one   program/program_written.c
 *     what steps of a study have in common, worked out once         step_memo.c
 *     how loaders, reads and cores are shared                       loading/loaders.c
 *     what a step hangs on, by resource, and `bound by`             critical/critical.c
 *        what a slower resource would cost, and whether that holds  critical/forecast.c
 *     what hid a transfer, and what ended the hiding                overlap.c
 *     what a picture of a step shows                                timeline.c
 *     what is told of each task and what it waits for               trace/step_trace.h
 *     what no step can fall below                                   bound/bound.h
 *     by how much an anchor makes steps longer: step_scale() of     step.c
 *     how much of our own memory a step may need                    need.h
 */

/* One optimizer step: build, fold, simulate, account.
 *
 *     struct step_result result;
 *     step_simulate(arena, scenario, &(struct step_request){.folds = true}, &result);
 *
 * Jobs that share the fabric (scenario.jobs) are simulated beside it, each repeating its own
 * step; the result is of the scenario's own job, with how fast all were alone and together.
 *
 * The wait for the slowest GPU (train/jitter) comes after what the engine ran: hooks are without
 * it. The steps of jobs beside one another have each its own.
 *
 * Where the step hangs on nanoseconds it is the median of several runs, and the result says how far
 * they lie apart (train/ensemble).
 *
 * The result's causes sum to gpus * step_ns exactly; asserted here.
 */
#ifndef TRAIN_STEP_H
#define TRAIN_STEP_H

#include "hw/dataloader.h"
#include "train/critical/critical.h"
#include "train/ensemble.h"
#include "train/metrics.h"

struct ledger;
struct scenario;

/* The job's loaders, to be simulated beside its steps (train/loading/step_loaded). */
struct step_loaders {
    struct dataloader_options of; /* of one loader, as of a node's */
    bool are_slow;                /* they cannot keep up with a step alone */
};

/* Causes of each of the scenario's GPUs, by rank, in ns (folded or not). */
struct step_detail {
    int64_t (*rank_causes)[ENGINE_CAUSES_MAX];
    int64_t bytes_sent; /* between stages, all GPUs */
    int64_t bytes_received;
};

struct step_request {
    bool folds;               /* false: every GPU is simulated */
    double checkpoint_bytes;  /* written at the end of this step; 0: none */
    bool is_checkpoint_async; /* only the copy to host memory is in it, */
    bool is_copied_beside;    /* and that from its beginning on, until parameters change */
    double flush_bytes;       /* of an earlier checkpoint, flushed beside this step; 0: none */
    double drain_bytes;       /* of one before that, on its way to the file system; 0: none */
    /* The run of the ensemble (train/ensemble) to be simulated: two steps are held against each
     * other in the same one. NULL: the median is found. */
    const struct ensemble_member *member;
    bool is_for_length; /* what waits are for is not asked */
    /* Of a step that is longer it is asked only whether it is (step_result.is_longer), by who looks
     * for a short one. 0: of all it is asked how long. */
    sim_time enough_ns;
    const struct step_loaders *loaders; /* of a scenario without neighbours; NULL: none */
    struct step_memo *memo;             /* of a study: what its steps have in common; NULL: none */
    engine_task_hook *on_task;          /* NULL: none; sees simulated actors */
    void *context;
    bool finds_path;            /* what the step hangs on is to be found, too */
    struct step_detail *detail; /* to be filled, too; NULL: it is not asked for */
    /* Takes all that is not of the result; NULL: the result's arena does. */
    struct arena *scratch;
};

/* What the system of such a step is built of. */
struct step_options step_options_of(const struct step_request *request);

/* Fills all of *result but run-level stalls. All memory of it is the arena's. */
void step_simulate(struct arena *arena, const struct scenario *scenario,
                   const struct step_request *request, struct step_result *result);

/* The scenario's system without neighbours, as `explain` shows it. */
struct step_system *step_system_of(struct arena *arena, const struct scenario *scenario);

/* Of a job what the figures of its step are worked out from. What it points to is borrowed. */
struct step_basis {
    const struct model *model;
    const struct parallel *parallel;
    const struct batch *batch;
    const struct recompute *recompute;
    uint32_t recomputed; /* modules, when recomputation is selective (plan/memory/memory_layer) */
    bool is_frozen;      /* most weights are: LoRA */
    bool computes_logits_again; /* the loss, in its backward pass */
    bool is_one_hot;            /* products fetch the embedding's rows and add up their gradients */
    int64_t gpus;
    double peak_flop_per_s; /* of each */
};
struct step_basis step_basis_of(const struct scenario *scenario);

/* Adds `stall_ns` to the step of every GPU, booked on `cause`, and to its path, and works out
 * rates, MFU and what the step is bound by again. */
void step_add_stall(struct arena *arena, const struct step_basis *basis, enum cause cause,
                    int64_t stall_ns, struct step_result *result);

/* `factor` times as long as a simulated step, but no shorter than its FLOPs at the GPU's peak. */
int64_t step_scaled_ns(const struct step_result *simulated, double factor);

/* Makes the step so long (step_scaled_ns), and all that it is made of: causes, jitter, the spread
 * of runs, the time over which links are used. Sums stay exact: what rounding leaves over is the
 * largest cause's. The caller's own lists of links stay as they are: the result gets others. */
void step_scale(struct arena *arena, const struct step_basis *basis, double factor,
                struct step_result *result);

/* What a simulated step's figures are worked out from (FLOPs and tokens; then rates and MFU), as
 * step_simulate does; `explain` asks once more for a record of it. */
struct token_flop step_count_flop(const struct step_basis *basis, struct ledger *ledger,
                                  struct step_result *step);
void step_add_rates(const struct step_basis *basis, struct ledger *ledger,
                    struct step_result *step);

#endif
