/* What a quote finds: what each offer comes to, how sure that is, who wins, what turns that, and
 * what is worth measuring before anything is signed.
 *
 * The score of an offer is what its jobs cost, `day` of the file in it, or the day on which all are
 * done. As predicted the winner is that of the least score. Over the draws (quote_draws)
 *
 *     share    of draws in which an offer's score is least
 *     behind   what it is more than the least, in the mean: what it costs to have chosen it where
 *              another was better. Of the winner that is what perfect knowledge would be worth
 *     worth of knowing a rate x of a box
 *              = min over offers of E[score] - E over x of min over offers of E[score | x]
 *
 * E[score | x] is the mean of all draws with x said, at 25 values of it from -3 to 3 deviations,
 * which are weighed as a normal distribution does; the draws are the same at each, so that what x
 * does not move is no noise. Where the least of them changes hands nearest to x = 0 is where
 * the verdict turns.
 *
 * An offer breaks even at the price at which its score, as predicted, is the winner's, the winner
 * at that of the next best: both follow from the score being linear in the price. And at a
 * delivery that is so much earlier (the winner's: later), found by bisection; where cost is asked
 * and a day costs nothing, that is the delivery with which it is done on the day of the first.
 */
#ifndef STUDY_QUOTE_QUOTE_FOUND_H
#define STUDY_QUOTE_QUOTE_FOUND_H

#include "study/against.h"
#include "study/quote/quote_draws.h"

struct quote_range {
    double p10, p90;
};

struct quote_judged {
    const struct quote_offer *offer;
    bool is_held;     /* all jobs are, by some part */
    const char *lack; /* else: why not */
    struct plan_offer in;
    struct plan plan; /* as predicted */
    double tokens;    /* of all jobs */
    double step_band; /* ln f of its step, of the first job; 0: none */
    struct quote_range end, cost_usd, energy_kwh;
    double cost_share, cost_behind_usd, date_share, date_behind_days;
    double until_share[QUOTE_JOBS_MAX]; /* of draws in which a job is done in time; ABSENT */
    double even_times;      /* its price, at break-even; ABSENT: none, or it plays no part */
    double even_shift_days; /* its delivery; ABSENT: none */
};

/* A measurement that could be made. */
struct quote_measure {
    const struct quote_rate_of_box *rate;
    double worth;      /* of the score: USD or days */
    double turns_at;   /* the figure; ABSENT: within 3 deviations nothing turns */
    uint32_t turns_to; /* the offer that wins beyond it */
    bool turns_above;  /* beyond is more */
};

struct quote_found {
    struct quote_points points;
    struct quote_judged *offers; /* [offer_count] */
    uint32_t count;
    uint32_t held;           /* of these */
    uint32_t winner, second; /* by score as predicted; second: count where there is none */
    uint32_t first;          /* that is done first */
    struct quote_rates rates;
    struct quote_measure *measures; /* the most worth first */
    uint32_t measure_count;
    const char *kinds_note;
    const struct against *against; /* of job 0's main points */
    uint32_t against_count;
};

struct quote_judging {
    struct arena *arena;
    const struct against_points *points; /* all of the quote's study */
    const struct limits *limits;
    /* Runs another study and reads its rows. */
    bool (*run)(void *context, const struct study *study, struct store_row **rows, uint32_t *count);
    void *context;
    const struct study_base *base;
};

/* Fills all but the points. False, with messages: the store failed, or a point cannot be read. */
MUST_USE bool quote_judge(const struct quote_judging *judging, struct quote_found *found);

/* What is to be least. */
double quote_score(const struct quote *quote, const struct plan *plan);

#endif
