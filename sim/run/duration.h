/* How long a run takes: its wall-clock, added up in this place and in no other.
 *
 *     days     = run.queue + held
 *     held     = start + steps and whatever interrupts them + run.teardown
 *     start    = run.startup + run.first_steps, all of them + the first batch
 *
 * of a day of 86,400 s. `held` is the time for which the job has its nodes: it is what is paid for
 * and what goodput is a share of. Who waits for delivery, or for an allocation, waits in the queue.
 *
 * Where nothing fails and nothing is planned in between,
 *
 *     held = steps * step + checkpoints * blocking part + start + run.teardown
 *
 * else it is the mean of histories (run/history), which begin with `start` and end with the
 * teardown: the queue lies before all of them.
 *
 * What a run is compared by, searched for and bounded with comes from here, so that a difference of
 * days is one of the days that are printed. Steps that are longer by a factor make the run longer
 * by that factor, but for what no step has a part in: the queue, and what is planned (start,
 * evaluation, teardown).
 *
 * ASSUMES: maintenance comes as often in a run whose steps are all longer; told is too little.
 */
#ifndef RUN_DURATION_H
#define RUN_DURATION_H

#include "base/ledger.h"
#include "run/result.h"

/* From when the job has its nodes until its first step. */
double duration_start_s(const struct scenario *scenario, double first_batch_s);

/* What a run holds its nodes for before its first step and behind its last. */
double duration_ends_s(const struct scenario *scenario);

/* The least that a run holds its nodes for whose steps take so long. */
double duration_least_s(const struct scenario *scenario, double steps_s);

/* Days of a run that holds its nodes for so long. */
double duration_days(const struct scenario *scenario, double held_s);

/* Adds up the time of a run: the accounts where no history has filled them, their shares
 * (run/goodput), days. Returns the time that nodes are held for, in seconds. */
double duration_add_up(const struct scenario *scenario, const struct step_result *step,
                       struct ledger *ledger, struct run_result *run);

/* The part of a run's wall-clock that longer steps make longer, 0 to 1; accounts are all 0 where
 * there is no run: 1. */
double duration_share_of_steps(const double account_s[ACCOUNT_COUNT_]);

/* The part of it, 0 to 1, that failures cost: steps done again, detection, waiting, recovery. It
 * grows with their rates, as long as there are nodes enough. */
double duration_share_of_failures(const double account_s[ACCOUNT_COUNT_]);

/* What the wall-clock is multiplied by if each step takes `factor` times as long. */
double duration_factor(const double account_s[ACCOUNT_COUNT_], double factor);

#endif
