/* How often to write a checkpoint, by formula: what a run with failures of one constant rate gets
 * done, and the interval at which that is most.
 *
 *     M   mean time between interruptions of the job
 *     D   detection; further failures cost nothing more
 *     R   restart; a failure in it begins a new D and R
 *     b   blocking part of a checkpoint, d from its end until it is durable (0 <= d <= tau + b)
 *
 *     goodput(tau) = tau e^(-d/M) / ((M + D) K (e^((tau+b)/M) - 1)),   K = 1 / E[e^(-R/M)]:
 *                    e^(R/M) of a fixed restart, 1 + R/M of an exponential one
 *
 * A cycle lasts from one restart's end to the next. Its useful work is tau for each checkpoint that
 * became durable, tau sum_k P(X >= k (tau + b) + d); its length E[X] and the recovery. With D = d =
 * 0 it is Daly's (2006, "A higher order estimate of the optimum checkpoint interval for restart
 * dumps", FGCS 22, equation 20). The best tau does not depend on D, R or d.
 */
#ifndef RUN_HISTORY_INTERVAL_H
#define RUN_HISTORY_INTERVAL_H

#include "run/history/law.h"

struct interval_case {
    double mtbf_s, detection_s;
    struct law restart;
    double block_s, durable_s;
    double restart_more_s; /* what each takes beside what is drawn */
};

/* Share of the time that steps which count take. */
double interval_goodput(const struct interval_case *of, double interval_s);

/* Where that is most; block_s > 0. */
double interval_best_s(const struct interval_case *of);

/* Young 1974, "A first order approximation to the optimum checkpoint interval", CACM 17:
 * sqrt(2 b M). */
double interval_young_s(const struct interval_case *of);

/* Daly 2006, equation 37, by block_s and mtbf_s alone:
 *
 *     sqrt(2 b M) (1 + sqrt(b / (2 M)) / 3 + (b / (2 M)) / 9) - b   for b < 2 M;  M above */
double interval_daly_s(const struct interval_case *of);

#endif
