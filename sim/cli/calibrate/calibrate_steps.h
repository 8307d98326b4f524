/* The inside of `stoker calibrate steps`: what its two files share. */
#ifndef CLI_CALIBRATE_CALIBRATE_STEPS_H
#define CLI_CALIBRATE_CALIBRATE_STEPS_H

#include "cli/options.h"
#include "lab/fit/fit_rows.h"
#include "lab/fit/fit_write.h"

/* Whose priors: the catalogue's values, or those of --constants. */
enum { PRIORS_CATALOGUE, PRIORS_FILE, PRIORS_COUNT_ };

struct steps_fit {
    struct options options;
    const char *constants_path, *errors_path;
    int64_t jobs, rounds, repeats;
    bool writes;
    uint32_t priors;
    struct catalogue catalogue;
    struct fit_rows rows;
    struct fit_problem problem;
    struct fit *fit;
    bool has_folds; /* enough configurations for halves: else folds and check are empty */
    struct fit_folds folds;
    struct fit_fold_check check;
    const struct fit_left_out *left_out; /* [sources] */
    double *left_out_error;              /* [rows] */
    const struct fit_ablation *ablation; /* [effects] */
    const struct fit_part *parts;        /* [removals] */
    struct fit_changes changes;
};

/* stoker calibrate steps FILE.csv */
extern const struct command command_calibrate_steps;

/* So many configurations make two halves of which something can be learned. */
enum { STEPS_FOLD_CONFIGS_MIN = 4 };

/* Tables of classes of rows. */
void calibrate_steps_print_classes(const struct steps_fit *steps, FILE *out);
void calibrate_steps_print_parts(const struct steps_fit *steps, FILE *out);

void calibrate_steps_print(const struct steps_fit *steps, FILE *out);
void calibrate_steps_print_json(const struct steps_fit *steps, FILE *out);

#endif
