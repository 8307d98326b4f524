/* The joint fit: constants of the catalogue from the measured times of whole steps.
 *
 * Gauss-Newton in logarithms. Slopes are differences: each constant is moved by 5 % and the rows
 * that use one of its files are simulated again. Between two sets of slopes a few steps are made
 * with the same ones (chords), for these cost one simulation of each row and not one for each
 * constant it uses; a step after which the objective (lab/fit/fit_solve) is not less is
 * halved. At the end values are rounded to three digits, as they are written, and slopes taken
 * once more: they say how far each row moves, and stand for the simulator where a fit is made
 * again and again (cross-validation).
 *
 * The fit knows rows by index only; what predicts them is the caller's: stoker itself
 * (lab/fit/fit_rows), or a formula in a test.
 */
#ifndef LAB_FIT_FIT_H
#define LAB_FIT_FIT_H

#include "lab/fit/fit_constants.h"
#include "lab/fit/fit_solve.h"
#include "measured/votes.h"

/* Predicts `count` rows with the constants at `values` (numbers before the unit). False after a
 * diagnosis. */
typedef bool fit_predict(void *context, const double *values, const uint32_t *rows, uint32_t count,
                         double *predicted_s);

/* Predicts rows without the part of the model that the plan's removal of that number removes.
 * predicted_s [rows] comes as predicted with it. *refused: rows that took none of the
 * assignments and stay as they are. False after a diagnosis. */
typedef bool fit_remove(void *context, uint32_t removal, const double *values, double *predicted_s,
                        uint32_t *refused);

struct fit_problem {
    const struct fit_plan *plan;
    struct votes votes;
    const double *measured_s; /* [rows] */
    const bool *is_used;      /* [rows * constants] */
    fit_predict *predict;
    fit_remove *remove; /* NULL: the plan has nothing to remove */
    void *context;
    void (*progress)(void *context, const char *line); /* NULL: nobody looks */
};

struct fit {
    const struct fit_problem *problem;
    double *x;              /* [constants] ln(value / prior) */
    double *value;          /* [constants] */
    double *error;          /* [constants] standard error of x */
    double *covariance;     /* [constants * constants] of x */
    double *residual;       /* [rows] ln(predicted / measured), simulated at `value` */
    double *slope;          /* [rows * constants] at `value` */
    double *prior_residual; /* [rows] at the priors */
    bool *is_told;          /* [constants] some row moves with it; others stay at their priors */
    uint32_t predictions;   /* rows simulated */
};

/* `rounds` sets of slopes before the last. NULL after a diagnosis. */
MUST_USE struct fit *fit_run(struct arena *arena, const struct fit_problem *problem,
                             uint32_t rounds, struct diag *diag);

/* The linear model around what was fitted, of the votes that are in (NULL: all). */
struct fit_system fit_system_of(struct arena *arena, const struct fit *fit, const bool *is_in);

/* A vote is moved by a constant when 10 % of it change a row's step by so much. */
#define FIT_MOVED_MIN 0.001
/* Fewer votes than this say more of themselves than of the constant. */
enum { FIT_VOTES_MIN = 5 };

uint32_t fit_votes_moved(struct arena *arena, const struct fit *fit, uint32_t constant);

/* Its value lies on a bound: the data want more than it allows. */
enum fit_bound { FIT_FREE, FIT_AT_MIN, FIT_AT_MAX };
enum fit_bound fit_bound_of(const struct fit *fit, uint32_t constant);

/* exp(residual) - 1 of each row. */
void fit_errors_of(const double *residual, uint32_t count, double *error);

/* Of residuals [rows], all votes. */
struct score fit_score(struct arena *arena, const struct votes *votes, const double *residual);

/* All rows at x. False after a diagnosis. */
MUST_USE bool fit_simulate(struct arena *arena, const struct fit_problem *problem,
                           const double *values, double *residual);

/* Of some of them, residual [count]. */
MUST_USE bool fit_simulate_rows(const struct fit_problem *problem, const double *values,
                                const uint32_t *rows, uint32_t count, double *residual);

/* ---- guards ------------------------------------------------------------------------------ */

/* A mean over repeats, and the standard deviation between them. */
struct fit_spread {
    double mean, deviation;
};
struct fit_spread fit_spread_of(const double *values, uint32_t count);

/* So many configurations make two halves of which something can be learned. */
enum { FIT_FOLD_CONFIGS_MIN = 4 };

/* Rows' residuals by the linear model, fitted from the priors to the votes that are in. */
const double *fit_refit(struct arena *arena, const struct fit_system *system,
                        const struct fit_problem *problem, const bool *is_in);

struct fit_folds {
    uint32_t fits;            /* two a repeat; 0: too few configurations, and all is ABSENT */
    struct fit_spread fitted; /* mean of votes of the half that was fitted */
    struct fit_spread other;  /* of the half that was not */
    struct fit_spread gap;    /* other less fitted */
    struct fit_spread macro;  /* of the other half */
    struct fit_spread bias;
    const double *error;    /* [rows] when not fitted to, mean over repeats */
    const double *residual; /* [fits / 2 * rows] ln(predicted / measured) of each repeat, by the
                               half that the row was not in */
};

/* Two folds by configuration, `repeats` times, each from the priors with the linear model. */
struct fit_folds fit_cross_validate(struct arena *arena, const struct fit_system *system,
                                    const struct fit_problem *problem, uint32_t repeats);

/* The first half fitted by simulating, with chords from the priors, beside the linear model. */
struct fit_fold_check {
    double linear, simulated; /* mean of votes of the other half */
};
MUST_USE bool fit_check_fold(struct arena *arena, const struct fit *fit,
                             struct fit_fold_check *check);

/* What was fitted beside what was fitted without a source: of its votes, or of a class of rows. */
struct fit_left_out {
    const char *name;
    struct score within, without;
};
/* One a source. residual [rows] is that of the fit without the row's source. */
const struct fit_left_out *fit_leave_out(struct arena *arena, const struct fit *fit,
                                         double *residual);

/* An effect removed (all of its constants), or a part of the model, and the others fitted again. */
struct fit_without {
    const char *name;
    uint32_t constants;  /* of an effect */
    uint32_t moved;      /* of a part: rows predicted otherwise */
    uint32_t refused;    /* of a part: rows that took none of its assignments */
    bool is_removable;   /* false: a constant has no neutral value, and nothing of this is known */
    struct score before; /* of a part: with the constants as they were fitted with it */
    struct score fitted;
    struct fit_folds folds;
    double worth; /* mean error of other halves without it, less `whole`'s */
};
/* One an effect, or one a removal of the plan; as many folds as `whole`, the whole model, has. NULL
 * when a prediction failed. */
MUST_USE const struct fit_without *fit_ablate(struct arena *arena, const struct fit *fit,
                                              const struct fit_folds *whole);
MUST_USE const struct fit_without *fit_remove_parts(struct arena *arena, const struct fit *fit,
                                                    const struct fit_folds *whole);

#endif
