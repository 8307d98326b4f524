/* The room run: months of steps: checkpoints, failures, data, money, energy.
 *
 * Invariant: Every nanosecond of wall time has one account, and the accounts sum to it. A step is
 * simulated once for each regime, so months cost what their failures cost. A failure is a hash of
 * its class, repetition and ordinal: policies and layouts that are compared meet the same ones.
 *
 * Lives here: the run and its duration, checkpoints and storage, loaders over time, histories
 * (Monte Carlo runs of the months), goodput, money, energy, what is drawn for bands.
 * May come in: base, des, input, plan, hw, train.
 *
 * Decided in one place each:
 *     how long a run takes: queue, start, steps, teardown              duration.c
 *     what of its months is lost to what                               history/history.c
 *        when nodes go and come, spares, spot                          history/history_nodes.c
 *     what is a step of its own                                        regime.h
 *     what goodput, ETTR and their like are, in words and numbers      goodput.h
 *     what moves to and from storage                                   storage.c
 *     what a restart reads of copies                                   survivors.c
 *     which GPUs are paid and draw power, which nodes stand ready      holding.h
 *     how far off days, money and energy may be, by which draws        draws.h
 *     whether loaders matter                                           loading.c
 *     what policies of a run have in common, simulated once            known.c
 *     which figures there are, for documents, store, tables and plots  figures.h
 */

/* From a step to a run: months of steps, checkpoints, data.
 *
 * One step is simulated; what a checkpoint costs beside it comes from steps in other regimes
 * (run/checkpoint). What the step waits for its loaders (run/loading) is added to every step as
 * data stall, beside what it waits for reads over the fabric. Then
 *
 *     steps      = tokens / (global batch * sequence length), rounded up
 *
 * Where something fails (run.failures) what comes of them is the mean of histories (run/months),
 * with its accounts. Else they are added up, as all of the time is (run/duration). Of the time that
 * nodes are held for come goodput and its like (run/goodput),
 *
 *     GPU-hours  = GPUs * held
 *
 * and money and energy (run/money). With an anchor (input/study/anchor) steps are as long as its
 * factor makes them, in all of their causes; checkpoints, reads and what else is no step are as
 * simulated. What a slow GPU, missing replicas or, in histories, a flush add is a part of steps.
 *
 * Where the run is planned to pause or has stages (input/run/run_plan), its days are those of a
 * history (run/months), too: one, where nothing fails. Each stage has its own step, simulated as
 * the scenario's is; steps, GPU-hours and energy are sums over stages, and its tokens are rounded
 * up to whole steps by itself.
 *
 * A data stall is whatever waits for data, also on GPUs that load nothing.
 *
 * ASSUMES: what makes the anchor's step longer than it is predicted makes every cause longer alike.
 */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "base/ledger.h"
#include "run/result.h"

struct history_seen;
struct run_known;

/* How far off a result may be that has a run, but for its draws. */
typedef struct run_deviations run_deviations_of(void *context, const struct result *result);

struct run_request {
    bool folds;
    const char *build;         /* which sources predict: part of the run key; NULL: it has none */
    uint32_t jobs;             /* processes that draw histories; 0 or 1: this one */
    struct step_memo *memo;    /* of a study: what its steps have in common; NULL: none */
    struct run_known *known;   /* of policies: what their runs have in common (run/known); NULL */
    struct history_seen *seen; /* one of its histories, piece by piece; NULL: nobody looks */
    bool finds_path;           /* what the step hangs on, too (bound_by) */
    run_deviations_of *deviations_of; /* for the run's draws (run/draws); NULL: there are none */
    void *deviations_context;
};

/* Predicts step and run, with the keys where the scenario has its text (input/relayout.h). All
 * memory is the arena's; result->scenario borrows. */
void run_predict(struct arena *arena, const struct scenario *scenario,
                 const struct run_request *request, struct result *result);

/* The key under which this scenario's result is stored: 16 hex digits and a NUL. The build "" gives
 * the scenario's own key, the same for whatever predicts it. */
void run_key(const struct scenario *scenario, const char *build, char key[17]);

/* What the run adds up to, once the step and the stalls are simulated (checkpoint_s, data_stall_s,
 * first_batch_s): days, money, energy. run_predict's own sums, so that `explain`, which asks
 * for a record, repeats them with the result. */
void run_add_up(const struct scenario *scenario, const struct step_result *step,
                struct ledger *ledger, struct run_result *run);

/* How long a step of the run is: as simulated, or run.step_time. */
double run_step_s(const struct scenario *scenario, const struct step_result *step);

/* Makes a simulated step as long as the scenario's anchor has it; without one nothing. */
void run_anchor_step(struct arena *arena, const struct scenario *scenario,
                     struct step_result *step);

/* Steps for a number of tokens, rounded up. */
int64_t run_steps(double tokens, int64_t tokens_per_step, struct ledger *ledger);

#endif
