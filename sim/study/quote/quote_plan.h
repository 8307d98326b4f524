/* The way of an offer through its jobs: what works when on what is there, and what that comes to.
 *
 * Parts of a delivery are cumulative: from `from_day` of part p on there are parts[p].gpus. Job
 * after job has all that is there:
 *
 *   - it begins when the one before it is done, not before its own day, and not before there is a
 *     part that holds it;
 *   - of the parts that are there it takes the one on which it would be done first;
 *   - when more comes while it works it goes on there, laid out anew, if what is left of it is done
 *     sooner so: with the start and teardown of a run of its own, after which it takes up where it
 *     was.
 *
 * What is paid, in USD:
 *
 *     hours = sum over parts that come before all is done of GPUs * max(end - from, term)
 *     cost  = hour_usd * hours + sum over segments of beside_usd * its share of the run
 *             + day_usd * (end - today)
 *
 * hour_usd is the rent of a GPU, or what owning one comes to without energy; beside_usd what else a
 * whole run costs there (energy where it is paid apart, storage, spares). GPUs are paid from their
 * delivery on, whether a job holds them or waits for more; what comes when all is done is not paid.
 *
 * ASSUMES: a job that moves to more nodes loses no step: it stops at a checkpoint.
 * ASSUMES: nodes that wait are switched off: they draw nothing.
 */
#ifndef STUDY_QUOTE_QUOTE_PLAN_H
#define STUDY_QUOTE_QUOTE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

enum { PLAN_PARTS_MAX = 12, PLAN_JOBS_MAX = 16, PLAN_SEGMENTS_MAX = 200 };

/* All of a job on a part. */
struct plan_run {
    double held_days;  /* ABSENT: the part does not hold it */
    double start_days; /* of these, start and teardown: paid again on each part */
    double beside_usd, energy_kwh;
};

struct plan_offer {
    uint32_t part_count, job_count;
    double today; /* days, as all that follows */
    double from[PLAN_PARTS_MAX];
    double gpus[PLAN_PARTS_MAX];      /* that are there from then on */
    double not_before[PLAN_JOBS_MAX]; /* 0: any day */
    struct plan_run run[PLAN_JOBS_MAX][PLAN_PARTS_MAX];
    double hour_usd, day_usd, term_days;
};

/* A job on a part, without a break. */
struct plan_segment {
    uint32_t job, part;
    double begin, end;
    double share; /* of the whole run there */
};

struct plan {
    bool is_done; /* false: a job is held by no part, and nothing else is told */
    struct plan_segment segments[PLAN_SEGMENTS_MAX];
    uint32_t segment_count;
    double done[PLAN_JOBS_MAX];                /* when each job is */
    double end;                                /* when all are */
    double gpu_hours;                          /* that are paid */
    double hours_usd, beside_usd, waiting_usd; /* rent or owning, the rest, day_usd */
    double cost_usd;                           /* the sum of these */
    double energy_kwh;
};

void plan_offer(const struct plan_offer *offer, struct plan *plan);

/* Of a plan, GPU-hours that are paid until a day. */
double plan_gpu_hours_until(const struct plan_offer *offer, const struct plan *plan, double day);

#endif
