/* Calibration: a GPU's figures of products (input/gpu, gemm) from measured shapes.
 *
 * The time that hw/kernel gives a product by itself, with the gap before it, is fitted to the
 * measured one: relative errors, GPU by GPU, the 16-bit products first and then those of each lower
 * precision with the shape constants of the first. An unknown is held near where it starts by a
 * prior, so one that the rows say nothing about stays, and its standard error tells so. Rows far
 * off count less (weights 1 / sqrt(1 + (error / 10 %)^2), fitted again until they settle).
 * Levenberg-Marquardt, gsl_multifit_nlinear.
 *
 * A benchmark of short products is over before the power limit acts, a training step is not. So
 * the fit, and only the fit, lets the limit act by t / (t + warm), where t is a
 * product's time and warm one more unknown: what the benchmark's repetitions amount to.
 */
#ifndef MEASURED_KERNEL_FIT_H
#define MEASURED_KERNEL_FIT_H

#include "measured/gemm_rows.h"

enum gemm_unknown {
    GEMM_EFFICIENCY,
    GEMM_SUSTAINED,
    GEMM_K_HALF,
    GEMM_TILE_LOSS, /* this and the following two: 16 bits only */
    GEMM_BALANCE,
    GEMM_WGRAD_LOSS,
    GEMM_WARM, /* s, of the benchmark */
    GEMM_UNKNOWN_COUNT_
};
extern const char *const gemm_unknown_names[GEMM_UNKNOWN_COUNT_]; /* keys of the YAML */

/* One GPU, one section of its file. */
struct gemm_fit {
    const char *gpu_name;
    struct measured_section rows;
    const struct gpu *before;
    const struct gpu *after;
    enum precision precision; /* bf16: of all that have no section of their own */
    double value[GEMM_UNKNOWN_COUNT_];
    double error[GEMM_UNKNOWN_COUNT_]; /* standard errors; 0: was not free */
    bool is_told[GEMM_UNKNOWN_COUNT_]; /* the rows say more than the prior */
    struct measured_errors errors_before, errors_after;
    bool is_met; /* errors_after within FIT_MEDIAN_MAX; else no section to use */
};

struct gemm_fits {
    struct gemm_fit *fits;
    uint32_t count;
};

/* Of a GPU, those with the constants of one precision: bf16, or a lower one. */
struct measured_section gemm_select(struct arena *arena, const struct gemm_rows *rows,
                                    const char *gpu_name, enum precision section);

/* Predicted time of a measured product with a GPU's figures, by itself; warm_s as above (0: the
 * power limit has acted). */
double gemm_row_predict(const struct gpu *gpu, const struct gemm_row *row, double warm_s);

/* Where warm starts, and what is taken for it where nothing is fitted. */
double gemm_warm_s(void);

/* Predicted over measured time, less 1. */
double gemm_row_error(const struct gpu *gpu, const struct measured *row, double warm_s);

/* Of a section's rows; `layout` is a pass, or -1 for all. */
struct measured_errors gemm_errors_of(struct arena *arena, const struct measured_section *section,
                                      const struct gpu *gpu, double warm_s, int layout);

/* All GPUs and sections of the rows, in the order in which they come up. */
struct gemm_fits gemm_fit_all(struct arena *arena, const struct gemm_rows *rows);

#endif
