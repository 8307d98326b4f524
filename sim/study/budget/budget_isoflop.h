/* The isoFLOP picture: the loss that a law of scaling gives to models of any size, where all of a
 * curve are trained with the same FLOPs. Each curve is least where the law splits them best.
 */
#ifndef STUDY_BUDGET_BUDGET_ISOFLOP_H
#define STUDY_BUDGET_BUDGET_ISOFLOP_H

#include "study/budget_usual.h"

enum { BUDGET_CURVES = 5, BUDGET_CURVE_POINTS = 41 };

struct budget_curve {
    double flop;
    double parameters[BUDGET_CURVE_POINTS]; /* rising, from an eighth of the best to eight times */
    double loss[BUDGET_CURVE_POINTS];       /* nats a token */
    double best_parameters, best_loss;
};

/* Of a hundredth, a tenth, one, ten and a hundred times so many FLOPs. */
void budget_isoflop(const struct budget_law *law, double flop,
                    struct budget_curve curves[BUDGET_CURVES]);

#endif
