/* Residuals are logarithms, so their mean over repeats is the geometric mean of the predictions. */
#include "lab/fit/fit_predictions.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/path.h"
#include "bands/band.h"
#include "bands/csv.h"
#include "bands/table_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double *seconds_of(struct arena *arena, const struct fit_problem *problem,
                          const double *residual)
{
    const uint32_t count = problem->votes.row_count;
    double *seconds = arena_array(arena, count, sizeof *seconds);
    for (uint32_t i = 0; i < count; i++) {
        seconds[i] = problem->measured_s[i] * exp(residual[i]);
    }
    return seconds;
}

/* The mean over repeats of each row's residual. */
static const double *mean_residual(struct arena *arena, const struct fit_folds *folds,
                                   uint32_t rows)
{
    const uint32_t repeats = folds->fits / 2;
    double *mean = arena_array(arena, rows, sizeof *mean);
    for (uint32_t repeat = 0; repeat < repeats; repeat++) {
        for (uint32_t i = 0; i < rows; i++) {
            mean[i] += folds->residual[(size_t)repeat * rows + i] / repeats;
        }
    }
    return mean;
}

struct fit_predictions fit_predictions_of(struct arena *arena, const struct fit *fit,
                                          const struct fit_folds *folds, const double *left_out)
{
    const struct fit_problem *problem = fit->problem;
    const uint32_t rows = problem->votes.row_count;
    return (struct fit_predictions){
        .fitted_s = seconds_of(arena, problem, fit->residual),
        .out_of_fold_s =
            folds->fits > 0 ? seconds_of(arena, problem, mean_residual(arena, folds, rows)) : NULL,
        .left_out_s = seconds_of(arena, problem, left_out),
    };
}

/* ---- the table ---------------------------------------------------------------------------- */

/* One line of it. */
struct line {
    const char *id, *source, *config_key;
    bool is_mixture;
    double measured_s, fitted_s, out_of_fold_s, left_out_s;
};

static const char *kind_name(uint32_t number)
{
    return band_kind_name(number == 1);
}

#define QUOTED(name_)                            \
    {                                            \
        TABLE_QUOTED(#name_, struct line, name_) \
    }
#define SECONDS(name_, member_, format_) \
    TABLE_NUMBER(name_, struct line, member_, 0, HUGE_VAL, format_)

/* Simulated steps are whole nanoseconds: nine decimals say them exactly. */
static const struct table_column columns[] = {
    QUOTED(id),
    QUOTED(source),
    QUOTED(config_key),
    {TABLE_COLUMN("kind", TABLE_SWITCH_KIND, bool, struct line, is_mixture), .word = kind_name},
    {SECONDS("measured_step_s", measured_s, "%.9g")},
    {SECONDS("fitted_s", fitted_s, "%.9f")},
    {SECONDS("out_of_fold_s", out_of_fold_s, "%.7g"), .is_optional = true, .blank = ABSENT},
    {SECONDS("source_left_out_s", left_out_s, "%.7g")},
};
static const struct table_file predictions_file = {TABLE_FILE(struct line, columns)};

bool fit_predictions_write(struct arena *arena, const char *path, const struct fit_rows *rows,
                           const struct fit_predictions *predictions, struct diag *diag)
{
    struct line *lines = arena_array(arena, rows->count + (size_t)1, sizeof *lines);
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct validated_row *row = &rows->rows[i];
        lines[i] = (struct line){
            .id = row->id,
            .source = row->source,
            .config_key = row->config_key,
            .is_mixture = row->is_mixture,
            .measured_s = row->measured_s,
            .fitted_s = predictions->fitted_s[i],
            .out_of_fold_s =
                predictions->out_of_fold_s != NULL ? predictions->out_of_fold_s[i] : ABSENT,
            .left_out_s = predictions->left_out_s[i],
        };
    }
    return table_file_save(arena, path, &predictions_file, lines, rows->count, diag);
}

static void write_constant(struct arena *arena, const struct fit *fit, uint32_t k, FILE *out)
{
    const struct fit_plan *plan = fit->problem->plan;
    const struct fit_constant *constant = &plan->constants[k];
    csv_write_quoted(constant->name, out);
    fprintf(out, ",%s,%.6g,%.6g,%.4f,%u", constant->unit + strspn(constant->unit, " "),
            constant->prior, fit->value[k], fit->error[k], fit_votes_moved(arena, fit, k));
    for (uint32_t l = 0; l < plan->count; l++) {
        const double covariance = fit->covariance[(size_t)k * plan->count + l];
        const double correlation = covariance / (fit->error[k] * fit->error[l]);
        fprintf(out, ",%.3f", fabs(correlation) < 0.0005 ? 0.0 : correlation);
    }
    fputc('\n', out);
}

bool fit_covariance_write(struct arena *arena, const char *path, const struct fit *fit,
                          struct diag *diag)
{
    const struct fit_plan *plan = fit->problem->plan;
    struct path_file file;
    if (!path_begin(arena, path, &file, diag)) {
        return false;
    }
    FILE *out = file.out;
    fputs("constant,unit,prior,value,standard_error,votes", out);
    for (uint32_t k = 0; k < plan->count; k++) {
        fputc(',', out);
        csv_write_quoted(plan->constants[k].name, out);
    }
    fputc('\n', out);
    for (uint32_t k = 0; k < plan->count; k++) {
        write_constant(arena, fit, k, out);
    }
    return path_end(&file, true, diag);
}

/* ---- scores ------------------------------------------------------------------------------- */

struct score fit_predictions_score(struct arena *arena, const struct fit_problem *problem,
                                   const bool *is_in, const double *predicted_s)
{
    const uint32_t rows = problem->votes.row_count;
    double *error = arena_array(arena, rows, sizeof *error);
    for (uint32_t i = 0; i < rows; i++) {
        error[i] = predicted_s[i] / problem->measured_s[i] - 1.0;
    }
    return votes_score(arena, &problem->votes, is_in, error);
}

struct fit_repeats fit_repeats_score(struct arena *arena, const struct fit_problem *problem,
                                     const struct fit_folds *folds, const bool *is_in)
{
    enum { MEAN, MEDIAN, P90, MACRO, BIAS, FIGURES };
    const uint32_t repeats = folds->fits / 2;
    double *figures[FIGURES];
    for (uint32_t i = 0; i < FIGURES; i++) {
        figures[i] = arena_array(arena, (size_t)repeats + 1, sizeof *figures[i]);
    }
    for (uint32_t repeat = 0; repeat < repeats; repeat++) {
        const double *residual = folds->residual + (size_t)repeat * problem->votes.row_count;
        const struct score score =
            fit_predictions_score(arena, problem, is_in, seconds_of(arena, problem, residual));
        figures[MEAN][repeat] = score.mean;
        figures[MEDIAN][repeat] = score.median;
        figures[P90][repeat] = score.p90;
        figures[MACRO][repeat] = score.macro;
        figures[BIAS][repeat] = score.bias;
    }
    return (struct fit_repeats){
        .mean = fit_spread_of(figures[MEAN], repeats),
        .median = fit_spread_of(figures[MEDIAN], repeats),
        .p90 = fit_spread_of(figures[P90], repeats),
        .macro = fit_spread_of(figures[MACRO], repeats),
        .bias = fit_spread_of(figures[BIAS], repeats),
    };
}
