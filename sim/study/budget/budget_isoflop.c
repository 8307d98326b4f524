/* Sizes are apart by the same factor, so that a curve is drawn over a logarithmic axis. The middle
 * one is the best.
 */
#include "study/budget/budget_isoflop.h"

#include <math.h>

#define APART 8.0 /* the largest from the best */

static double loss_of(const struct budget_law *law, double flop, double parameters)
{
    return budget_law_loss(law, parameters, flop / BUDGET_FLOP_PER_PARAMETER / parameters);
}

void budget_isoflop(const struct budget_law *law, double flop,
                    struct budget_curve curves[BUDGET_CURVES])
{
    static const double times[BUDGET_CURVES] = {0.01, 0.1, 1, 10, 100};
    for (uint32_t i = 0; i < BUDGET_CURVES; i++) {
        struct budget_curve *curve = &curves[i];
        curve->flop = times[i] * flop;
        curve->best_parameters = budget_law_parameters(law, curve->flop);
        curve->best_loss = loss_of(law, curve->flop, curve->best_parameters);
        for (uint32_t k = 0; k < BUDGET_CURVE_POINTS; k++) {
            const double way = 2.0 * k / (BUDGET_CURVE_POINTS - 1) - 1; /* -1 to 1 */
            curve->parameters[k] = curve->best_parameters * pow(APART, way);
            curve->loss[k] = loss_of(law, curve->flop, curve->parameters[k]);
        }
    }
}
