/* What the site draws over a step, millisecond by millisecond: all GPUs compute together and wait
 * together, and the grid sees it.
 *
 *     power(t) = pue * (working(t) * TDP * busy + (GPUs - working(t)) * TDP * idle
 *                       + what else it has)
 *
 * What else: the rest of the nodes, NICs, switches, storage (input/network/site_power).
 * Without spares and idle nodes, as a cap of the site is of the job's nodes.
 * working(t): GPUs in which a kernel runs, without gaps of launches, from the task graph of the
 * step, then the wait for the slowest GPU (train/jitter). Its mean over the step is that of
 * run/money, but for stalls for data, which come between steps or with them.
 *
 * Under a cap of the site's power it is never above it, as `busy` is at most what is left to a GPU
 * when all compute.
 *
 * ASSUMES: a kernel draws what the GPU draws busy, whatever it computes, and a GPU follows at once;
 * neither capacitors nor cooling smooth what the site draws.
 */
#ifndef RUN_POWER_TRACE_H
#define RUN_POWER_TRACE_H

#include "des/event.h"
#include "train/metrics.h"

struct scenario;

struct power_trace {
    sim_time bin_ns; /* 1 ms; more where a step would have too many bins */
    sim_time end;    /* of the step; the last bin may reach beyond */
    uint32_t count;  /* of bins */
    uint32_t whole;  /* of these, those that end with the step or before; if none does, 1 */
    double *power_w; /* mean of each bin; of the last until the end */
    double mean_w;   /* of the step */
    double working;  /* 0..1: mean share of the GPUs */
    double least_w,
        most_w; /* of whole bins, as all that follows: a part of one is no mean of 1 ms */
    double rise_w, fall_w; /* the largest from a bin to the next */
    double cap_w;          /* of the site; 0: none that slows it */
};

enum { POWER_TRACE_BINS_MAX = 8000 };

/* Of a step as it was simulated, the same run of the ensemble; with its wait for the slowest GPU at
 * the end, in which all wait. All memory is the arena's. */
void power_trace_simulate(struct arena *arena, const struct scenario *scenario, bool folds,
                          const struct step_result *step, struct power_trace *trace);

/* The largest change, up or down, between two bins that lie at most `window` apart, of steps that
 * follow one another: the ramp that a grid's rules are about (MW within 100 ms, within 1 s). */
double power_trace_ramp_w(const struct power_trace *trace, sim_time window);

/* So many GPUs working, of the scenario's: what the site draws. */
double power_trace_site_w(const struct scenario *scenario, double working_gpus);

#endif
