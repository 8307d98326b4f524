/* What is paid until the end of a month, less what was until its begin. */
#include "study/quote/quote_cash.h"

#include "base/arena.h"
#include "base/date.h"

#include <math.h>

static double capital_until(const struct plan_offer *offer, const struct plan *plan,
                            const struct cash_terms *terms, double day)
{
    double usd = 0;
    for (uint32_t p = 0; p < offer->part_count; p++) {
        const double own = offer->gpus[p] - (p > 0 ? offer->gpus[p - 1] : 0);
        usd += offer->from[p] < plan->end && offer->from[p] < day ? own * terms->gpu_usd : 0;
    }
    return usd;
}

static double beside_until(const struct plan_offer *offer, const struct plan *plan, double day)
{
    double usd = 0;
    for (uint32_t i = 0; i < plan->segment_count; i++) {
        const struct plan_segment *segment = &plan->segments[i];
        const double until = fmin(day, segment->end);
        if (until > segment->begin) {
            usd += segment->share * offer->run[segment->job][segment->part].beside_usd *
                   (until - segment->begin) / (segment->end - segment->begin);
        }
    }
    return usd;
}

static double until(const struct plan_offer *offer, const struct plan *plan,
                    const struct cash_terms *terms, double day)
{
    const double hours = plan_gpu_hours_until(offer, plan, day);
    const double waited = fmax(0, fmin(day, plan->end) - offer->today);
    return hours * (offer->hour_usd - terms->written_usd) + capital_until(offer, plan, terms, day) +
           beside_until(offer, plan, day) + offer->day_usd * waited;
}

/* When the last is paid. */
static double last_day(const struct plan_offer *offer, const struct plan *plan)
{
    double last = plan->end;
    for (uint32_t p = 0; p < offer->part_count; p++) {
        last = offer->from[p] < plan->end ? fmax(last, offer->from[p] + offer->term_days) : last;
    }
    return last;
}

struct cash cash_of(struct arena *arena, const struct plan_offer *offer, const struct plan *plan,
                    const struct cash_terms *terms)
{
    struct cash cash = {.first_day = date_month((int64_t)offer->today, 0)};
    const double last = last_day(offer, plan);
    do {
        cash.count++;
    } while ((double)date_month(cash.first_day, cash.count) < last);
    cash.usd = arena_array(arena, cash.count, sizeof *cash.usd);
    double before = 0;
    for (uint32_t i = 0; i < cash.count; i++) {
        const double paid =
            until(offer, plan, terms, (double)date_month(cash.first_day, (int64_t)i + 1));
        cash.usd[i] = paid - before;
        before = paid;
    }
    cash.left_usd = capital_until(offer, plan, terms, HUGE_VAL) -
                    terms->written_usd * plan_gpu_hours_until(offer, plan, HUGE_VAL);
    return cash;
}
