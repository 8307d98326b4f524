/* What one measurement on a box of an offer could tell before it is signed, and what a step makes
 * of it.
 *
 * A rate of why_rates that is of the box lies `deviation` (of its logarithm) around what is assumed
 * of its kind of GPU. The offer's step is simulated at two values of it,
 * x = -sqrt(3) and +sqrt(3) deviations (where a key cannot be that, less), and beside the step as
 * it is that makes
 *
 *     ln(step / step as it is) = slope x + curve x^2
 *
 * which every draw takes in place of a simulation of its own (tests/closed_form/test_quote.c holds
 * it against one for each draw).
 *
 * ASSUMES: rates act one by one: what two of them make of a step adds up as logarithms.
 * ASSUMES: a measurement leaves nothing open of its rate (one GPU of a box leaves 1.75 %): what it
 * is worth is what it is worth at the most.
 */
#ifndef STUDY_QUOTE_QUOTE_RATES_H
#define STUDY_QUOTE_QUOTE_RATES_H

#include "study/quote/quote_points.h"

struct limits;
struct store_row;
struct why_rate;

enum { QUOTE_NODES = 2, QUOTE_RATES_OF_BOX = 8 };

struct quote_rate_of_box {
    const struct why_rate *rate;
    uint32_t offer;
    double deviation;
    double figure;                /* as assumed, in the rate's unit */
    double peak;                  /* of the datasheet, likewise, of products; else 0 */
    double nodes[QUOTE_NODES];    /* x that are simulated */
    uint32_t points[QUOTE_NODES]; /* of the study of rates */
    uint32_t node_count;
    double slope, curve; /* filled by quote_rates_fit */
};

struct quote_rates {
    struct quote_rate_of_box *items;
    uint32_t count;
};

/* An offer as it is asked: a point of the quote's study with a result. */
struct quote_asked {
    uint32_t offer;
    const struct study_point *point;
    const struct scenario *scenario;
    double step_s;
};

/* Which rates are asked of each, and the study of them. `study` has no points where none is. False
 * as study_of_points. */
MUST_USE bool quote_rates_ask(struct arena *arena, const struct quote_asked *asked, uint32_t count,
                              const struct study_base *base, const struct limits *limits,
                              struct quote_rates *rates, struct study *study, struct diag *diag);

/* From the rows of that study. */
void quote_rates_fit(const struct quote_asked *asked, uint32_t count, const struct store_row *rows,
                     uint32_t row_count, struct quote_rates *rates);

/* ln(step / step as it is) at so many deviations. */
double quote_rate_moves(const struct quote_rate_of_box *rate, double x);

#endif
