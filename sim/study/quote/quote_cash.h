/* When an offer's money is paid, month by month of the calendar, from today's on.
 *
 *     rent       as GPU-hours go by that are paid
 *     capital    on the day of the delivery, support and hosting month by month
 *     energy, storage, spares   as jobs go on
 *     a day of waiting          as it goes by
 *
 * until all is done, and a rented term's end where that is later. What was bought is then worth
 * what is not written off yet:
 *
 *     sum of all months = cost + worth
 */
#ifndef STUDY_QUOTE_QUOTE_CASH_H
#define STUDY_QUOTE_QUOTE_CASH_H

#include "study/quote/quote_plan.h"

struct arena;

/* Of a GPU: of `hour_usd` of the plan, what is capital written off; 0 and 0: it is rented. */
struct cash_terms {
    double gpu_usd;     /* that it is bought for */
    double written_usd; /* an hour */
};

struct cash {
    int64_t first_day; /* of the first month */
    double *usd;       /* [count] */
    uint32_t count;
    double left_usd; /* worth in the end of what was bought */
};

struct cash cash_of(struct arena *arena, const struct plan_offer *offer, const struct plan *plan,
                    const struct cash_terms *terms);

#endif
