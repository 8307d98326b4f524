/* One event after the other: a job begins, more is delivered, a job ends. Each delivery is looked
 * at once a job, so there are at most jobs * parts segments. */
#include "study/quote/quote_plan.h"

#include "base/absent.h"
#include "base/check.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

/* Work, without start and teardown. */
static double work_of(const struct plan_run *run)
{
    return run->held_days - run->start_days;
}

/* What a job takes that has so much left of it. */
static double left_days(const struct plan_run *run, double left)
{
    return is_absent(run->held_days) ? HUGE_VAL : run->start_days + left * work_of(run);
}

/* The part that is there on that day and does it first; part_count: none holds it. */
static uint32_t best_part(const struct plan_offer *offer, uint32_t job, double day, double left)
{
    uint32_t best = offer->part_count;
    for (uint32_t p = 0; p < offer->part_count && offer->from[p] <= day; p++) {
        const double days = left_days(&offer->run[job][p], left);
        if (days < HUGE_VAL &&
            (best == offer->part_count || days < left_days(&offer->run[job][best], left))) {
            best = p;
        }
    }
    return best;
}

static double next_delivery(const struct plan_offer *offer, double day)
{
    for (uint32_t p = 0; p < offer->part_count; p++) {
        if (offer->from[p] > day) {
            return offer->from[p];
        }
    }
    return HUGE_VAL;
}

static void add_segment(struct plan *plan, uint32_t job, uint32_t part, double begin, double end,
                        double share)
{
    sim_assert(plan->segment_count < PLAN_SEGMENTS_MAX);
    plan->segments[plan->segment_count++] = (struct plan_segment){job, part, begin, end, share};
}

/* On one part until it is done, or until it is better done on what has come since. Returns what is
 * left; *day moves on. */
static double work_on(const struct plan_offer *offer, uint32_t job, uint32_t part, double left,
                      double *day, struct plan *plan)
{
    const struct plan_run *run = &offer->run[job][part];
    const double begin = *day;
    const double end = begin + left_days(run, left);
    double at = begin;
    while ((at = next_delivery(offer, at)) < end) {
        const double done = fmax(0, at - begin - run->start_days) / work_of(run);
        const double after = left - done;
        const uint32_t next = best_part(offer, job, at, after);
        if (at + left_days(&offer->run[job][next], after) < end && next != part) {
            add_segment(plan, job, part, begin, at, (at - begin) / run->held_days);
            *day = at;
            return after;
        }
    }
    add_segment(plan, job, part, begin, end, (end - begin) / run->held_days);
    *day = end;
    return 0;
}

/* False: no part holds it. */
static bool run_job(const struct plan_offer *offer, uint32_t job, double *day, struct plan *plan)
{
    double left = 1;
    *day = fmax(*day, offer->not_before[job]);
    while (left > 0) {
        const uint32_t part = best_part(offer, job, *day, left);
        if (part == offer->part_count) {
            *day = next_delivery(offer, *day);
            if (!(*day < HUGE_VAL)) {
                return false;
            }
            continue;
        }
        left = work_on(offer, job, part, left, day, plan);
    }
    plan->done[job] = *day;
    return true;
}

double plan_gpu_hours_until(const struct plan_offer *offer, const struct plan *plan, double day)
{
    double hours = 0;
    for (uint32_t p = 0; p < offer->part_count; p++) {
        const double own = offer->gpus[p] - (p > 0 ? offer->gpus[p - 1] : 0);
        const double from = offer->from[p];
        const double until = fmin(day, fmax(plan->end, from + offer->term_days));
        hours += from < plan->end && until > from ? own * (until - from) * HOURS_PER_DAY : 0;
    }
    return hours;
}

static void add_up(const struct plan_offer *offer, struct plan *plan)
{
    plan->gpu_hours = plan_gpu_hours_until(offer, plan, HUGE_VAL);
    plan->hours_usd = offer->hour_usd * plan->gpu_hours;
    for (uint32_t i = 0; i < plan->segment_count; i++) {
        const struct plan_segment *segment = &plan->segments[i];
        const struct plan_run *run = &offer->run[segment->job][segment->part];
        plan->beside_usd += segment->share * run->beside_usd;
        plan->energy_kwh += segment->share * run->energy_kwh;
    }
    plan->waiting_usd = offer->day_usd * (plan->end - offer->today);
    plan->cost_usd = plan->hours_usd + plan->beside_usd + plan->waiting_usd;
}

void plan_offer(const struct plan_offer *offer, struct plan *plan)
{
    double day = offer->today;
    memset(plan, 0, sizeof *plan);
    for (uint32_t job = 0; job < offer->job_count; job++) {
        if (!run_job(offer, job, &day, plan)) {
            return;
        }
    }
    plan->end = day;
    plan->is_done = true;
    add_up(offer, plan);
}
