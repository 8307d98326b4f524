/* The room lab: fits, ablations and backtests, for who makes the catalogue.
 *
 * Invariant: What is said of a row comes from a fit that did not see it, unless it is said to be of
 * one that did. Nothing of it is part of stoker: what it finds are numbers in models/.
 *
 * Lives here: the joint fit of constants, what removing a rule or a constant costs, pairs of runs,
 * backtests, and the program stoker-lab (lab/cli).
 * May come in: base, input, run, bands, measured.
 *
 * Decided in one place each:
 *     how constants are fitted to measured runs         fit/fit.c
 *        which of constants.yaml                        fit/fit_constants.c
 *        from which prior                               fit/fit_priors.c
 *        which rows count how much                      fit/fit_rows.c
 *     what was known at the end of a quarter            fit/backtest.c
 *     which runs are a pair, and what they differ in    pairs.c
 *     what a rule of measured runs is worth             rules_worth.c
 */

/* Predictions of measured runs by fits that did not see them, as `stoker-lab calibrate steps
 * --predictions` writes them: a CSV with a line for each row that was fitted,
 *     id, source, config_key, kind, measured_step_s, fitted_s, out_of_fold_s, source_left_out_s
 * the last three being predicted by the fit to all rows, by fits to the other half of the
 * configurations, and by the fit to the other sources.
 *
 * A source of which the file has no line took no part in the fit: what the catalogue predicts for
 * it was held out already. A row that the file lacks, of a source that it has, was not predicted.
 */
#ifndef LAB_PREDICTIONS_H
#define LAB_PREDICTIONS_H

#include "measured/validate.h"

/* What the fit did not see. */
enum held_out { HELD_OUT_NOTHING, HELD_OUT_FOLD, HELD_OUT_SOURCE, HELD_OUT_COUNT_ };
extern const char *const held_out_names[HELD_OUT_COUNT_]; /* "nothing", "fold", "source" */

struct predictions;

/* NULL after a diagnosis: the file cannot be read, lacks a column, has an id twice, or a time that
 * is none. */
MUST_USE const struct predictions *predictions_load(struct arena *arena, const char *path,
                                                    enum held_out held_out, struct diag *diag);

/* Whether they are of these tables: each line's row is in one of them, and was measured so. False
 * with a message at the first that is not. */
MUST_USE bool predictions_check(struct arena *arena, const struct predictions *predictions,
                                const struct published_table *const *tables, uint32_t count,
                                struct diag *diag);

/* MISSING: of a source that the file has; UNSEEN: of one that it has not. */
enum prediction_kind predictions_find(const struct predictions *predictions,
                                      const struct published_table *table, uint32_t row,
                                      double *predicted_s);

/* The same for validate_rows. */
struct given_predictions predictions_given(const struct predictions *predictions);

#endif
