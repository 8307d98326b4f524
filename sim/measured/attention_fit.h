/* Calibration: a GPU's figures of fused attention (input/gpu, struct attention_rate) from measured
 * rates.
 *
 * The time of hw/attention is fitted to the measured one, row by row on relative errors, with nine
 * unknowns: forward rate, backward over forward, head_half, and forward and backward the keys that
 * a tile's start and end are worth, wide and tail (the tile is not fitted). Each is fitted as a
 * logarithm and held near where it starts by a prior (wide for what rows usually tell), so an
 * unknown that the rows say nothing about stays, and its standard error tells so.
 * Levenberg-Marquardt, gsl_multifit_nlinear.
 *
 * A file of measurements is a CSV; the first line names its columns:
 *
 *     gpu, attention (fa1 fa2 fa3 cudnn), pass (forward backward both), causal (yes no),
 *     sequences, heads, kv_heads, length, head_dim, value_dim, tflop_per_s
 *
 * tflop_per_s counts what the mask leaves (half when causal), without padding: forward
 * 2 (head_dim + value_dim) FLOP a pair of query and key, backward 2 (3 head_dim + 2 value_dim).
 * value_dim may be blank (as head_dim); a column source is quoted, others are not read.
 */
#ifndef MEASURED_ATTENTION_FIT_H
#define MEASURED_ATTENTION_FIT_H

#include "hw/attention.h"
#include "measured/measured.h"

enum attention_pass { PASS_FORWARD, PASS_BACKWARD, PASS_BOTH, ATTENTION_PASS_COUNT_ };
extern const char *const attention_pass_names[ATTENTION_PASS_COUNT_];

struct attention_row {
    struct measured of; /* section: enum attention_kind */
    uint32_t pass;      /* enum attention_pass */
    bool is_causal;
    int64_t sequences, heads, kv_heads, length, head_dim, value_dim;
    double tflop_per_s;
};

struct attention_rows {
    const struct attention_row *rows;
    uint32_t count;
};

/* False after a diagnosis of each bad line. */
MUST_USE bool attention_rows_read(struct arena *arena, const char *path,
                                  const struct catalogue *catalogue, struct attention_rows *rows,
                                  struct diag *diag);

/* Of a GPU, those of one kind of kernel. */
struct measured_section attention_select(struct arena *arena, const struct attention_rows *rows,
                                         const char *gpu_name, uint32_t kind);

enum attention_unknown {
    ATTENTION_FORWARD,
    ATTENTION_RATIO, /* backward rate over forward */
    ATTENTION_HALF,
    ATTENTION_HALF_BACKWARD,
    ATTENTION_HEAD_HALF,
    ATTENTION_WIDE,
    ATTENTION_WIDE_BACKWARD,
    ATTENTION_TAIL,
    ATTENTION_TAIL_BACKWARD,
    ATTENTION_UNKNOWN_COUNT_
};
extern const struct attention_figure {
    const char *key; /* of the YAML */
    double width;    /* of the prior */
} attention_figures[ATTENTION_UNKNOWN_COUNT_];

/* As the YAML has it, in SI: the backward rate where the fit has the ratio. */
double attention_figure_of(const struct attention_rate *rate, enum attention_unknown unknown);

struct attention_fit {
    struct attention_rate rate;
    double relative_error[ATTENTION_UNKNOWN_COUNT_]; /* standard error over value */
    bool is_told[ATTENTION_UNKNOWN_COUNT_];          /* by the rows, and not by the prior */
    struct measured_errors before, after;
    bool is_met; /* after within FIT_MEDIAN_MAX (measured/fit_limit); else no section to use */
};

/* Where to start for a GPU file that says nothing of a kind. */
struct attention_rate attention_fit_start(const struct gpu *gpu);

/* Predicted, of the row's pass or both; what was measured of it is not looked at. */
double attention_row_time_s(const struct gpu *gpu, const struct attention_rate *rate,
                            const struct attention_row *row);

/* Predicted over measured time, less 1. */
double attention_row_error(const struct gpu *gpu, const struct attention_rate *rate,
                           const struct measured *row);

struct measured_errors attention_errors_of(struct arena *arena, const struct gpu *gpu,
                                           const struct attention_rate *rate,
                                           const struct measured_section *section);

/* Of a section's rows; at least three. */
MUST_USE bool attention_fit(struct arena *arena, const struct measured_section *section,
                            const struct gpu *gpu, const struct attention_rate *start,
                            struct attention_fit *fit, struct diag *diag);

#endif
