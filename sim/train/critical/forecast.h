/* By how much a step gets longer when a resource gets slower: to first order, of all resources.
 *
 * The critical path (critical.h) says on which chain of tasks the step hangs. Where messages share
 * links, a chain does not know what becomes of them: an exchange on the path is slow because of a
 * message beside it, which comes later when kernels elsewhere are slower, and leaves it more of the
 * link. So forecasts by the path's parts are off there; these follow all of it, by the derivatives
 * of the step by each duration in it (des/record/engine_sensitivity.h).
 *
 * Resources are those of the path, by the same titles: kernels by cause, launches, what slow GPUs
 * take longer, and of transfers, by what they are for, latencies and bytes over the link that binds
 * them. There are none for what transfers cost one another or kernels: that is in the parts of
 * those who would have to be faster. A part may be negative: its slowness keeps something out of
 * the way of the path. They add up to the step (to a nanosecond each).
 *
 * What it is worth, of resources with 1 % of a step that get slower by 0.1 %, held against the
 * simulation of that (tests/closed_form/test_critical_steps.c prints each):
 *
 *     within 5 %                  by the path    by these    of those that    and are not
 *                                                           say they hold       in doubt
 *     35 scenarios              83 of 101    96 of 101       88 of 89        88 of 88
 *     9 of them, thin NICs      51 of 105    76 of 105       54 of 55        54 of 54
 *
 * and of resources with 0.3 % that get slower by 1 %
 *
 *     35 scenarios              96 of 122   109 of 122      102 of 109      101 of 104
 *     9 of them, thin NICs      51 of 110    62 of 110       48 of  56       39 of  40
 *
 * Whether they hold is known from the gain: by how many nanoseconds the step moves if something in
 * it comes one later. Behind thin links, where exchanges and messages keep meeting, it can be above
 * 10^60, and messages that are slower by 0.1 % make a step shorter by 3 %. No forecast by slopes
 * holds there, and this one says so (where the limit lies is a choice: from 6 on many miss).
 *
 * ASSUMES: the order of what happens stays, and what waits for what. A slope changes where they do
 * not: what is in doubt says where that is near.
 *
 * Cost: a run of the folded system without short cuts, some times the simulation of the step. So
 * it is found only for who asks.
 */
#ifndef TRAIN_CRITICAL_FORECAST_H
#define TRAIN_CRITICAL_FORECAST_H

#include "train/critical/critical.h"
#include "train/ensemble.h"

struct scenario;

/* Above this gain forecasts do not hold, nor does one of a change with more than this in doubt. */
#define FORECAST_GAIN_MAX 5.0
#define FORECAST_DOUBT_MAX 0.25

struct engine_watch;
struct engine_sensitivity;

struct forecast {
    int64_t length_ns; /* of the run: without what comes after it */
    double gain;
    bool holds;                  /* the gain is at most FORECAST_GAIN_MAX */
    struct critical_part *parts; /* the largest first, without those of 0; none if the gain is above
                                  * ENGINE_GAIN_MAX */
    uint32_t count;
    const struct step_system *system; /* borrowed: of these, to be asked for what is in doubt */
    const struct engine_watch *watch;
    const struct engine_sensitivity *found;
};

/* Of one run of the ensemble. What is found is the arena's, the watch of the run among it. */
void forecast_find(struct arena *arena, const struct step_system *system,
                   const struct folded_system *folded, struct ensemble_member member,
                   struct forecast *forecast);

/* Some of its parts get slower, together, by `slower` of what they take (0.01: 1 %); of bytes of
 * messages for a cause all parts have to be among them. Of by how much the step is forecast to be
 * longer by that, how much is in doubt, as a share: since another chain of tasks is the longest
 * then, or flows come and go in another order. That is an estimate (engine_sensitivity.h), to be
 * held against FORECAST_DOUBT_MAX: it may be many times the whole. Of forecasts that hold. Cost: as
 * that of all forecasts. */
double forecast_in_doubt(const struct forecast *forecast, const struct critical_part *parts,
                         uint32_t count, double slower);

/* Of the scenario's step by itself, without checkpoints and neighbours. NULL: what is left of it
 * when it is folded has more than FORECAST_TASKS_MAX tasks, each of which would have to be kept. */
enum { FORECAST_TASKS_MAX = 2000000 };
const struct forecast *forecast_step(struct arena *arena, const struct scenario *scenario,
                                     struct ensemble_member member);

#endif
