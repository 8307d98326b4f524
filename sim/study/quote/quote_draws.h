/* Draws of a quote: in each all offers have their chances, those that they share the same.
 *
 * How long a step of offer i is, over its prediction, has three levels of chance:
 *
 *     ln e_i = beta_i z + rest_i y_i + sum over its box's rates of moves(x)
 *
 *     z    what all predictions have in common (model, software, how they are made)
 *     y_i  what its kind of difference to the first offer is off by: the same in all offers that
 *          differ from it in the same kinds (another GPU, another network)
 *     x    how far each rate of its box is from its kind's (quote_rates): the same in offers of one
 *          vendor and GPU, which are one box
 *
 * With sigma_i of its own band (bands/band) and rho_i of the band of its ratio to the first
 * (bands/against), both without boxes,
 *
 *     beta_i = (sigma_0^2 + sigma_i^2 - rho_i^2) / (2 sigma_0),   rest_i^2 = sigma_i^2 - beta_i^2
 *
 * so that a draw keeps both: the offer's own band, and that of the ratio. Rates of failures are one
 * more draw for all, and history number d of each job meets the same failures in all offers.
 *
 * Held days of a run in a draw, and what hangs on them, are those of history d times
 *
 *     (1 + s (e - 1)) (1 + f (g - 1))
 *
 * as in study/wins. All normals are of strata, in an order of their stream.
 */
#ifndef STUDY_QUOTE_QUOTE_DRAWS_H
#define STUDY_QUOTE_QUOTE_DRAWS_H

#include "run/account.h"
#include "study/quote/quote_plan.h"
#include "study/quote/quote_rates.h"

enum { QUOTE_DRAWS = 1000 };

/* Levels of an offer's step, of one job; deviations of logarithms. */
struct quote_level {
    double beta, rest;
    const char *kinds; /* "": the first's */
    double sign;       /* of rest: -1 where it is slower than the first */
};

/* Of the band sigma and the ratio's rho, both without boxes. */
struct quote_level quote_level_of(double sigma_first, double sigma, double rho);

/* A run that has a result. */
struct quote_run {
    const double *account_s; /* [ACCOUNT_COUNT_] */
    const double *times_s;   /* of its histories */
    uint32_t time_count;     /* 0: nothing fails */
    double days;
};

struct quote_chances {
    const struct plan_offer *plan; /* as predicted */
    struct quote_level level[PLAN_JOBS_MAX];
    struct quote_run run[PLAN_JOBS_MAX][PLAN_PARTS_MAX];
    double rates;    /* deviation of ln of the rates of failures */
    const char *box; /* vendor and GPU: the same text is the same box */
    const struct quote_rate_of_box *of_box;
    uint32_t of_box_count;
};

struct quote_draws;

struct quote_draws *quote_draws_new(struct arena *arena, const struct quote_chances *offers,
                                    uint32_t count);

/* One rate of a box, said to be x deviations from its kind's in all draws. */
struct quote_said {
    const char *box;
    const struct why_rate *rate;
    double x;
};

/* The offer's plan in a draw; `said` NULL: nothing is. */
void quote_draw(const struct quote_draws *draws, uint32_t offer, uint32_t draw,
                const struct quote_said *said, struct plan *plan);

#endif
