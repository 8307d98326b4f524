/* The backtest: every quarter's runs predicted with what was known before it began.
 *
 * A quarter's rows are predicted with the constants fitted to the rows that were published before
 * it, from the same priors. Their bands are made of the errors that those rows had themselves when
 * they came, each by a fit to what was published before its own quarter, without its own source;
 * rows before the first quarter count as of one. Rules come in with the month from which
 * their source could be read (published_rules_of_the_day): whoever opens the rows sees to that.
 *
 * A vote is fresh where no vote of an earlier quarter has its model, GPU, number of GPUs and
 * precision: what repeats an earlier run is hardly a test.
 *
 * ASSUMES: fits to a part of the rows move them along the slopes at what was fitted to all (the
 * linear model of lab/fit/fit_guards). Kernels' tables, profiles and the choice of what is modelled
 * stand as they are today: they were made with later runs in sight, and no backtest takes that
 * back.
 */
#ifndef LAB_FIT_BACKTEST_H
#define LAB_FIT_BACKTEST_H

#include "lab/fit/fit_rows.h"

/* Four a year; 8,096 is the first of 2024. */
struct backtest_quarter {
    int32_t number;
    uint32_t before; /* votes to which was fitted */
    uint32_t rows, fresh_rows;
    uint32_t first_row; /* of `rows` below */
};

struct backtest {
    struct validated_row *rows;  /* by quarter; predicted, with bands, as of the day */
    struct validated_row *plain; /* [rows] the same with bands that are all as wide (bands/width) */
    bool *is_fresh;              /* [rows] */
    uint32_t row_count;
    struct backtest_quarter *quarters; /* that have rows, by time */
    uint32_t quarter_count;
    /* [rows of fit_rows] ln(predicted / measured) as of the day, without the row's source: what
     * bands are made of */
    const double *residual;
};

/* "2025-06": the quarter that it lies in. The text is a month (published_is_month). */
int32_t backtest_quarter_of(const char *month);

/* "2025 Q2" */
const char *backtest_quarter_name(struct arena *arena, int32_t number);

/* Every row has its month: else a diagnosis, with the place of the first that has none. */
MUST_USE bool backtest_check(const struct fit_rows *rows, struct diag *diag);

/* Quarters from `first` on. */
struct backtest backtest_run(struct arena *arena, const struct fit *fit,
                             const struct fit_rows *rows, int32_t first);

enum backtest_choice { BACKTEST_ALL, BACKTEST_FRESH, BACKTEST_REPEATED, BACKTEST_CHOICE_COUNT_ };

/* Quarters from `first` on, before `end`; with which bands. */
struct backtest_part {
    int32_t first, end;
    enum backtest_choice choice;
    bool is_plain;
};

/* The rows of such a part: *count of them. */
const struct validated_row *backtest_rows(struct arena *arena, const struct backtest *test,
                                          struct backtest_part part, uint32_t *count);

#endif
