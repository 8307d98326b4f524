/* What a fit predicts of each of its rows, as it would of runs that it knows less and less of, and
 * how good that is. The table that holds it:
 *
 *     id,source,config_key,kind,measured_step_s,fitted_s,out_of_fold_s,source_left_out_s
 *
 * kind             dense or moe (mixture of experts)
 * fitted_s         simulated, with the constants fitted to all rows: what `stoker validate` says
 * out_of_fold_s    by the half that the row's configuration was not in: the geometric mean over the
 *                  repeats of two halves; blank where there are too few configurations for halves
 * source_left_out_s  by the fit to all rows but those of its source
 *
 * Seconds of a step; one line for each row that is scored, in the order of the tables. Every score
 * here is computed from these figures, so whoever has the table can compute it again.
 *
 * ASSUMES: fits to a part of the rows move them along the slopes at what was fitted to all (the
 * linear model); the first half is fitted by simulating as well, and that is printed beside it.
 */
#ifndef LAB_FIT_FIT_PREDICTIONS_H
#define LAB_FIT_FIT_PREDICTIONS_H

#include "lab/fit/fit_rows.h"

struct fit_predictions {
    const double *fitted_s;      /* [rows] */
    const double *out_of_fold_s; /* NULL: no halves */
    const double *left_out_s;
};

/* left_out [rows]: the residuals of fit_leave_out. */
struct fit_predictions fit_predictions_of(struct arena *arena, const struct fit *fit,
                                          const struct fit_folds *folds, const double *left_out);

/* False after a diagnosis. */
MUST_USE bool fit_predictions_write(struct arena *arena, const char *path,
                                    const struct fit_rows *rows,
                                    const struct fit_predictions *predictions, struct diag *diag);

/* The fitted constants, with their correlations: a table
 *
 *     constant,unit,prior,value,standard_error,votes,NAME,NAME,...
 *
 * of which a line is a constant, and the columns that have the names of constants are the
 * correlations of ln(value) with theirs. standard_error is of ln(value) too, so a covariance is
 * correlation * error * error. votes: those that it moves (fit_votes_moved). */
MUST_USE bool fit_covariance_write(struct arena *arena, const char *path, const struct fit *fit,
                                   struct diag *diag);

/* Of the votes that are in (NULL: all), predictions [rows] against what was measured. */
struct score fit_predictions_score(struct arena *arena, const struct fit_problem *problem,
                                   const bool *is_in, const double *predicted_s);

/* The same of each repeat's own predictions, not of their mean: how far a score hangs on how rows
 * were put into halves. */
struct fit_repeats {
    struct fit_spread mean, median, p90, macro, bias;
};
struct fit_repeats fit_repeats_score(struct arena *arena, const struct fit_problem *problem,
                                     const struct fit_folds *folds, const bool *is_in);

#endif
