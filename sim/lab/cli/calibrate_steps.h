/* The inside of `stoker-lab calibrate steps`: what its two files share. */
#ifndef LAB_CLI_CALIBRATE_STEPS_H
#define LAB_CLI_CALIBRATE_STEPS_H

#include "lab/cli/fit_tables.h"
#include "lab/fit/fit_predictions.h"
#include "lab/fit/fit_write.h"

struct steps_fit {
    struct options options;
    const char *constants_path, *errors_path, *predictions_path, *covariance_path;
    struct text_list without; /* texts of sources */
    int64_t jobs, rounds, repeats;
    bool writes;
    uint32_t priors;
    struct catalogue catalogue;
    struct fit_rows rows;
    struct fit_problem problem;
    struct fit *fit;
    struct fit_folds folds;
    struct fit_fold_check check;         /* if there are folds */
    const struct fit_left_out *left_out; /* [sources] */
    double *left_out_error;              /* [rows] */
    struct fit_predictions predictions;
    const struct fit_without *ablation; /* [effects] */
    const struct fit_without *parts;    /* [removals] */
    struct fit_changes changes;
};

/* stoker-lab calibrate steps FILE.csv... */
extern const struct command command_calibrate_steps;

/* As text, or as JSON. */
void calibrate_steps_print(const struct steps_fit *steps, FILE *out);

struct sheet;

/* The last part of it: scores of the predictions. */
void calibrate_steps_add_scores(struct sheet *sheet, const struct steps_fit *steps);

#endif
