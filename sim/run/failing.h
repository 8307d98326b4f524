/* What a file of failures (input/failures) means for a run of some size: classes with a clock for
 * all components of its cluster, the nodes that fall with each, and how long it takes until the job
 * runs again.
 *
 *     components   GPUs, nodes, NICs, leaf switches, NVLink and power domains of the job; of the
 *                  job itself one
 *     constant     rate = components * rate of one
 *     Weibull      scale = mean life / Gamma(1 + 1/shape)
 *
 * What takes a GPU takes its node, what takes a leaf switch the nodes below it, what takes an
 * NVLink domain its trays: of an NVL72 all 18, unless the job's segments leave some idle
 * (train/placement_segment). The last leaf or domain may have fewer nodes of the job. They come
 * back together: one thing was repaired. A failure's level says what it destroys: 0 a process, 1
 * what lies in a node, 2 what lies in the nodes of a leaf or domain, 3 the file system.
 *
 * Formulas take what fails again as failures, and restarts of a wrong diagnosis as detection, each
 * in the mean; what bad components fail is that of the begin, before any is retired.
 *
 * A degraded link is to a history what a slow GPU is: a regime of its own until it is taken out, or
 * its repair is over.
 *
 * ASSUMES: each failure of hardware ends the job, where the source counts hardware.
 * ASSUMES: without a check corruption ends the job as a crash does, seen later; nothing older than
 * the last checkpoint is spoilt.
 * Nodes on spot are a class, too: they are taken, each as often as the others, so many at once, and
 * replaced when there is capacity. Several at once are of the level of a leaf.
 *
 * ASSUMES: spares do not fail.
 */
#ifndef RUN_FAILING_H
#define RUN_FAILING_H

#include "run/history/failure.h"
#include "run/history/history.h"
#include "run/history/interval.h"

struct scenario;
struct arena;

/* Classes of the scenario's failures, in their order, and of its nodes on spot, the last; NULL and
 * 0 where nothing fails. */
struct failure_class *failing_classes(struct arena *arena, const struct scenario *scenario,
                                      uint32_t *count);

/* What falls with a failure of a kind: one of `count` groups of nodes that follow one another, of
 * which the last may have fewer; of none where no node does. */
struct failing_domains {
    int64_t count, nodes, nodes_last;
};
struct failing_domains failing_victims(const struct scenario *scenario, uint32_t takes);

/* 0 to 3, as above. */
uint32_t failing_level(uint32_t takes);

/* Of the components of each class of `whole`, the share that `part` has, 0 to 1, which is the same
 * run with fewer GPUs; [failing_classes]. */
double *failing_shares(struct arena *arena, const struct scenario *whole,
                       const struct scenario *part);

/* Failures of all classes in a second. */
double failing_rate_per_s(const struct failure_class *classes, uint32_t count);

/* What each restart takes beside what is drawn for it and the read of the checkpoint. */
double failing_start_s(const struct scenario *scenario);

/* All classes that end the job as one of constant rate, for the formulas of `interval`: mean time
 * between interruptions, mean detection, mean restart, whose read after a failure of some level is
 * `read_s`. `shares`: of each class's failures, those that are meant; NULL: all. mtbf_s 0: nothing
 * ends it. */
struct interval_case failing_case(const struct scenario *scenario,
                                  const struct failure_class *classes, uint32_t count,
                                  const double *shares, const double read_s[HISTORY_LEVELS]);

#endif
