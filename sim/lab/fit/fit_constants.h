/* The constants of the catalogue that are fitted to whole steps, as a file lists them:
 *
 *     fit: {balance: 0.3, noise: 5 %, linear_from: 3 %, source: ...}
 *     constants:
 *       - name: megatron gemm 2024-26
 *         files: [megatron-2024, megatron-2025, megatron-2026]   # one number in all of them
 *         key: software.gemm.derate                   # or gpu.*, of files of models/gpus
 *         prior: 0.95
 *         spread: 5 %       # one standard deviation of ln(value / prior), before the data
 *         min: 0.7          # bounds
 *         max: 1
 *         neutral: 1        # the value without the effect
 *         effect: gemm rate # what is removed as one in the ablation table
 *         source: ...       # of the prior
 *
 * A value may carry a unit (5 us, 1 %); min, max and neutral of a constant then carry the same.
 * An effect removed is all of its constants at their neutral values. A key that a file
 * lacks is fitted as if it were there. `ablations:` is in lab/fit/fit_removals.
 */
#ifndef LAB_FIT_FIT_CONSTANTS_H
#define LAB_FIT_FIT_CONSTANTS_H

#include "base/check.h"
#include "base/diag.h"
#include "input/catalogue.h"
#include "lab/fit/fit_removals.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;

/* So many and no more: a constant for each row would fit anything. */
#define FIT_CONSTANTS_MAX 70

/* Values are the numbers before the unit. */
struct fit_constant {
    const char *name, *key, *source;
    const char *const *files; /* names in the catalogue */
    uint32_t file_count;
    double prior, spread, min, max;
    double neutral;
    bool has_neutral;
    const char *unit; /* what stands behind the number: " us", " %", "" */
    uint32_t effect;
    struct place place;
};

struct fit_plan {
    const char *path;
    double balance; /* weight of a vote: 0 the same for all, 1 the same for all sources together */
    double noise;   /* a standard deviation of ln(predicted / measured), with good constants */
    double linear_from; /* residuals beyond it count in proportion, not squared */
    struct fit_constant *constants;
    uint32_t count;
    const char *const *effects; /* names, in the order of the file */
    uint32_t effect_count;
    const struct fit_removal *removals;
    uint32_t removal_count;
};

/* NULL after a diagnosis. */
MUST_USE const struct fit_plan *fit_plan_load(struct arena *arena, const char *path,
                                              struct diag *diag);

/* "4.25 us"; at most `digits` significant digits. */
const char *fit_constant_text(struct arena *arena, const struct fit_constant *constant,
                              double value, int digits);

bool fit_constant_is_of(const struct fit_constant *constant, const char *file);

/* The kind of file that has its key: a GPU's or a software profile's. */
enum catalogue_kind fit_constant_kind(const struct fit_constant *constant);

/* "4.25 us" is 4.25 and " us". False when the text does not begin with a finite decimal number. */
bool fit_constant_split(const char *text, double *value, const char **unit);

#endif
