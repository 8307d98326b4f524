/* How much longer a run of des/engine would be if something in it took a little longer.
 *
 * When the run ends is a function of how much work, how many bytes and which latencies its tasks
 * have. Its derivatives by all of these are found in one pass backwards over what happened
 * (engine_watch.h), as in the adjoint of any program (Griewank, Walther, Evaluating Derivatives,
 * 2nd ed., section 3.2): whatever happened has a weight, by how much the end moves when it moves by
 * a nanosecond, and passes it on to what it followed from:
 *
 *   - A task began when the last of what it waited for ended, and moves with that.
 *   - Work W that began at t_0 at the rate r_0, which changed to r_i at t_i, ends at t where
 *
 *         W = r_0 (t_1 - t_0) + r_1 (t_2 - t_1) + ... + r_n (t - t_n)
 *
 *     so       dt = (dW + r_0 dt_0 + sum over i of (r_i - r_{i-1}) dt_i) / r_n           (1)
 *
 *     and t_i is when something else of the actor began or ended beside it.
 *   - So it is with bytes: t_i is when another flow came to a link or left it.
 *
 * The critical path (engine_critical.h) is the special case without rates: then all weight is on
 * one chain. Where flows share links it is not: a flow on the path is slow because of others, whose
 * own times hang on what they waited for, and so on. What makes these come later gives it more of
 * the link, so weights may be negative, and a resource may be one whose slowness helps.
 *
 * If everything takes k times as long, so does the run: the sum of work, bytes and latencies, each
 * times the derivative by it, is the length of the run (Euler's theorem; asserted). So they are
 * parts of it, of which a resource that is x % slower makes the run longer by x %.
 *
 * The largest weight of anything, the *gain*, says how far this carries. In a run without rates it
 * is 1. Where flows keep meeting on the same links it can grow from meeting to meeting, over
 * hundreds of them beyond all bounds: then the end hangs on nanoseconds at the beginning
 * (train/ensemble.h says which runs are like that), and no derivative tells what will be.
 *
 * ASSUMES: the order of what happens stays; of several things that ended at one instant a task
 * waited for the one of the lowest stream, and of members that came together for the first. Of
 * flows that came or went at one instant, those changed a rate that share a link with its flow,
 * each the same part of it.
 */
#ifndef DES_RECORD_ENGINE_SENSITIVITY_H
#define DES_RECORD_ENGINE_SENSITIVITY_H

#include "des/record/engine_watch.h"

/* Above it the pass is broken off. */
#define ENGINE_GAIN_MAX 1e6

/* Parts in ns of the run's length, of job 0, to which they add up, if the gain is not above its
 * maximum: else they mean nothing. */
struct engine_sensitivity {
    sim_time length;
    double gain;                    /* the largest weight of anything, either way */
    double work[ENGINE_CAUSES_MAX]; /* without launches, at full speed */
    double launch;                  /* likewise */
    double slow;                    /* what slower actors take longer for both */
    double *latency, *bytes;        /* [transfer_count], by the first phase's number */
    double *moved;                  /* [channel_count]: `bytes` again, by channel */
    double *flow_weights;           /* of the watch's flows, by number: of their ends */
};

/* Arrays are the arena's. Cost: O(what happened), and for each rate that changed on the way back
 * what happened at the same instant. */
void engine_sensitivity_find(struct arena *arena, const struct engine_watch *watch,
                             struct engine_sensitivity *sensitivity);

/* ---- a change of given size ------------------------------------------------------------------ */

/* By how much things get longer: 0.01 is 1 %. */
struct engine_change {
    double work[ENGINE_CAUSES_MAX], launch, slow;
    const double *latency, *bytes; /* [transfer_count], by the first phase's number */
};

struct engine_longer {
    double longer_ns; /* the run */
    double doubt_ns;  /* of that hangs on the order in which flows come and go */
};

/* What a change does, to which a task may wait for another thing than before; rates follow (1). And
 * how far that is in doubt. Within the change a flow that has left a link may stay until the
 * next is there, or one that came before another had left come after it: where a slope ends.
 * Of each such pair the time by which it changed its order counts, times the weight of those whom
 * it may slow and the part of the rate that it is about: half of it where they did not meet. That
 * is an estimate, not a bound. `found` is of the same watch, with a gain up to ENGINE_GAIN_MAX.
 *
 * Cost: as that of a pass backwards. */
struct engine_longer engine_sensitivity_change(const struct engine_watch *watch,
                                               const struct engine_sensitivity *found,
                                               const struct engine_change *change);

#endif
