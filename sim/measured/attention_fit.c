/* Three parts in their order: the rows are read and checked, each row's time
 * is predicted by hw/attention, and GSL's least squares moves the figures of a
 * GPU until the logarithms of predicted over measured are least.
 */
#include "measured/attention_fit.h"

#include "base/arena.h"
#include "base/check.h"
#include "measured/fit_limit.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS_MAX = 200, ROWS_MIN = 3 };
static const double ROW_SPREAD = 0.05; /* relative error that a row is believed with */
static const double TOLD = 0.7;        /* standard error over the prior's width, below which */

const char *const attention_pass_names[ATTENTION_PASS_COUNT_] = {"forward", "backward", "both"};

/* Keys of the YAML, and how far a logarithm may go from where it starts: one standard deviation. */
const struct attention_figure attention_figures[ATTENTION_UNKNOWN_COUNT_] = {
    [ATTENTION_FORWARD] = {"forward", 1.0},
    [ATTENTION_RATIO] = {"backward", 0.1},
    [ATTENTION_HALF] = {"length_half", 0.7},
    [ATTENTION_HALF_BACKWARD] = {"length_half_backward", 0.7},
    [ATTENTION_HEAD_HALF] = {"head_half", 0.5},
    [ATTENTION_WIDE] = {"wide", 0.3},
    [ATTENTION_WIDE_BACKWARD] = {"wide_backward", 0.3},
    [ATTENTION_TAIL] = {"tail", 0.5},
    [ATTENTION_TAIL_BACKWARD] = {"tail_backward", 0.5},
};

/* ---- reading -------------------------------------------------------------------------- */

static void read_row(struct measured_reader *reader, void *record)
{
    static const char *const words[] = {"no", "yes"};
    struct attention_row *row = record;
    row->of.section = measured_name(reader, "attention", attention_names, ATTENTION_COUNT_,
                                    "fa1, triton, fa2, fa3, cudnn or cudnn_fp8");
    if (row->of.section == ATTENTION_UNFUSED && reader->is_good) {
        measured_complain(reader, "attention", "a fused kernel");
    }
    row->pass = measured_name(reader, "pass", attention_pass_names, ATTENTION_PASS_COUNT_,
                              "forward, backward or both");
    row->is_causal = measured_name(reader, "causal", words, 2, "yes or no") == 1;
    row->sequences = measured_count(reader, "sequences", 1e9);
    row->heads = measured_count(reader, "heads", 1e9);
    row->kv_heads = measured_count(reader, "kv_heads", 1e9);
    row->length = measured_count(reader, "length", 1e9);
    row->head_dim = measured_count(reader, "head_dim", 1e9);
    const bool has_value_dim = measured_text(reader, "value_dim")[0] != '\0';
    row->value_dim = has_value_dim ? measured_count(reader, "value_dim", 1e9) : row->head_dim;
    row->tflop_per_s = measured_positive(reader, "tflop_per_s", 1e6);
}

bool attention_rows_read(struct arena *arena, const char *path, const struct catalogue *catalogue,
                         struct attention_rows *rows, struct diag *diag)
{
    struct measured_reader reader = {.arena = arena, .catalogue = catalogue, .diag = diag};
    void *items = NULL;
    const bool is_good =
        measured_read(&reader, path, read_row, sizeof *rows->rows, &items, &rows->count);
    rows->rows = items;
    return is_good;
}

struct measured_section attention_select(struct arena *arena, const struct attention_rows *rows,
                                         const char *gpu_name, uint32_t kind)
{
    const struct measured_list list = {rows->rows, sizeof *rows->rows, rows->count};
    return measured_select(arena, list, gpu_name, kind);
}

/* ---- predicting ----------------------------------------------------------------------- */

struct pass_time {
    double flop, time_s;
};

static struct pass_time pass_time(const struct gpu *gpu, const struct attention_rate *rate,
                                  const struct attention_row *row, bool is_backward)
{
    const struct attention_size size = {.count = row->sequences * row->heads,
                                        .queries = row->length,
                                        .keys = row->length,
                                        .sequence = row->length,
                                        .mean_keys = row->is_causal ? (double)row->length / 2.0
                                                                    : (double)row->length,
                                        .edges = row->is_causal ? 1 : 0,
                                        .head_dim = row->head_dim,
                                        .value_dim = row->value_dim,
                                        .is_backward = is_backward};
    const struct kernel_gpu on = {.gpu = gpu, .gemm_derate = 1.0};
    const double key = (double)row->head_dim;
    const double value = (double)row->value_dim;
    const double pairs = (double)size.count * (double)size.queries * size.mean_keys;
    const double heads = (double)(row->sequences * (row->heads + row->kv_heads));
    const double bytes = 2.0 * heads * (double)row->length * (key + value);
    const double stream_s = kernel_memory(&on, is_backward ? 2.0 * bytes : bytes).busy_s;
    const double compute_s =
        attention_work_with(&on, rate, (enum attention_kind)row->of.section, &size).compute_s;
    return (struct pass_time){.flop = 2.0 * pairs *
                                      (is_backward ? 3.0 * key + 2.0 * value : key + value),
                              .time_s = compute_s > stream_s ? compute_s : stream_s};
}

static struct pass_time all_passes(const struct gpu *gpu, const struct attention_rate *rate,
                                   const struct attention_row *row)
{
    struct pass_time all = {0.0, 0.0};
    for (uint32_t backward = 0; backward < 2; backward++) {
        const uint32_t alone = backward == 0 ? PASS_FORWARD : PASS_BACKWARD;
        if (row->pass == alone || row->pass == PASS_BOTH) {
            const struct pass_time one = pass_time(gpu, rate, row, backward == 1);
            all.flop += one.flop;
            all.time_s += one.time_s;
        }
    }
    return all;
}

double attention_row_time_s(const struct gpu *gpu, const struct attention_rate *rate,
                            const struct attention_row *row)
{
    return all_passes(gpu, rate, row).time_s;
}

static double attention_predict(const struct gpu *gpu, const struct attention_rate *rate,
                                const struct attention_row *row)
{
    const struct pass_time all = all_passes(gpu, rate, row);
    return all.flop / all.time_s / 1e12;
}

double attention_row_error(const struct gpu *gpu, const struct attention_rate *rate,
                           const struct measured *row)
{
    const struct attention_row *own = (const void *)row;
    return own->tflop_per_s / attention_predict(gpu, rate, own) - 1.0;
}

struct measured_errors attention_errors_of(struct arena *arena, const struct gpu *gpu,
                                           const struct attention_rate *rate,
                                           const struct measured_section *section)
{
    double *errors = arena_array(arena, (size_t)section->count + 1, sizeof *errors);
    for (uint32_t i = 0; i < section->count; i++) {
        errors[i] = attention_row_error(gpu, rate, section->rows[i]);
    }
    return measured_errors_of(arena, errors, section->count);
}

/* ---- fitting -------------------------------------------------------------------------- */

struct problem {
    const struct gpu *gpu;
    const struct measured_section *section;
    double start[ATTENTION_UNKNOWN_COUNT_]; /* logarithms */
    int64_t tile;
};

struct attention_rate attention_fit_start(const struct gpu *gpu)
{
    const double fp16 = gpu->peak_flop_per_s[PRECISION_FP16];
    const double bf16 = gpu->peak_flop_per_s[PRECISION_BF16];
    const double forward = 0.6 * (fp16 > bf16 ? fp16 : bf16);
    return (struct attention_rate){.forward = {forward, 120.0, 1.0, 0.7},
                                   .backward = {0.85 * forward, 200.0, 1.0, 0.35},
                                   .head_half = 25.0,
                                   .tile = 128};
}

/* Where each unknown lies in a rate, in their order. */
static double *unknowns_of(struct attention_rate *rate, enum attention_unknown unknown)
{
    double *const places[ATTENTION_UNKNOWN_COUNT_] = {
        [ATTENTION_FORWARD] = &rate->forward.flop_per_s,
        [ATTENTION_RATIO] = &rate->backward.flop_per_s,
        [ATTENTION_HALF] = &rate->forward.half,
        [ATTENTION_HALF_BACKWARD] = &rate->backward.half,
        [ATTENTION_HEAD_HALF] = &rate->head_half,
        [ATTENTION_WIDE] = &rate->forward.wide,
        [ATTENTION_WIDE_BACKWARD] = &rate->backward.wide,
        [ATTENTION_TAIL] = &rate->forward.tail,
        [ATTENTION_TAIL_BACKWARD] = &rate->backward.tail,
    };
    return places[unknown];
}

double attention_figure_of(const struct attention_rate *rate, enum attention_unknown unknown)
{
    struct attention_rate own = *rate;
    return *unknowns_of(&own, unknown);
}

/* A figure of 0 has no logarithm: from there the fit starts at the usual one. */
static void logarithms(const struct gpu *gpu, const struct attention_rate *start, double *logs)
{
    struct attention_rate usual = attention_fit_start(gpu);
    struct attention_rate rate = *start;
    for (uint32_t i = 0; i < ATTENTION_UNKNOWN_COUNT_; i++) {
        const double value = *unknowns_of(&rate, (enum attention_unknown)i);
        logs[i] = log(value > 0.0 ? value : *unknowns_of(&usual, (enum attention_unknown)i));
    }
    logs[ATTENTION_RATIO] -= logs[ATTENTION_FORWARD];
}

static struct attention_rate rate_from(const gsl_vector *logs, int64_t tile)
{
    struct attention_rate rate = {.tile = tile};
    for (uint32_t i = 0; i < ATTENTION_UNKNOWN_COUNT_; i++) {
        *unknowns_of(&rate, (enum attention_unknown)i) = exp(gsl_vector_get(logs, i));
    }
    rate.backward.flop_per_s *= rate.forward.flop_per_s;
    return rate;
}

/* Of rows the logarithm of predicted over measured, of unknowns how far they went. */
static int residuals(const gsl_vector *logs, void *input, gsl_vector *out)
{
    const struct problem *problem = input;
    const struct attention_rate rate = rate_from(logs, problem->tile);
    for (uint32_t i = 0; i < problem->section->count; i++) {
        const struct attention_row *row = (const void *)problem->section->rows[i];
        const double predicted = attention_predict(problem->gpu, &rate, row);
        gsl_vector_set(out, i, log(predicted / row->tflop_per_s) / ROW_SPREAD);
    }
    for (uint32_t i = 0; i < ATTENTION_UNKNOWN_COUNT_; i++) {
        const double gone = gsl_vector_get(logs, i) - problem->start[i];
        gsl_vector_set(out, problem->section->count + i, gone / attention_figures[i].width);
    }
    return GSL_SUCCESS;
}

static void take_result(const struct problem *problem, gsl_multifit_nlinear_workspace *work,
                        struct attention_fit *fit)
{
    gsl_matrix *covariance = gsl_matrix_alloc(ATTENTION_UNKNOWN_COUNT_, ATTENTION_UNKNOWN_COUNT_);
    const gsl_vector *left = gsl_multifit_nlinear_residual(work);
    double square = 0.0;
    gsl_multifit_nlinear_covar(gsl_multifit_nlinear_jac(work), 0.0, covariance);
    gsl_blas_ddot(left, left, &square);
    const double spread = sqrt(square / (double)problem->section->count);
    for (uint32_t i = 0; i < ATTENTION_UNKNOWN_COUNT_; i++) {
        const double error = sqrt(gsl_matrix_get(covariance, i, i));
        fit->is_told[i] = error < TOLD * attention_figures[i].width;
        fit->relative_error[i] = error * (spread > 1.0 ? spread : 1.0);
    }
    gsl_matrix_free(covariance);
}

static bool solve(const struct problem *problem, struct attention_fit *fit)
{
    const gsl_multifit_nlinear_parameters parameters = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_fdf fdf = {.f = residuals,
                                    .n = problem->section->count + ATTENTION_UNKNOWN_COUNT_,
                                    .p = ATTENTION_UNKNOWN_COUNT_,
                                    .params = (void *)(uintptr_t)problem};
    gsl_multifit_nlinear_workspace *work =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &parameters, fdf.n, fdf.p);
    const gsl_vector_const_view start =
        gsl_vector_const_view_array(problem->start, ATTENTION_UNKNOWN_COUNT_);
    int info = 0;
    const bool is_solved = gsl_multifit_nlinear_init(&start.vector, &fdf, work) == GSL_SUCCESS &&
                           gsl_multifit_nlinear_driver(ITERATIONS_MAX, 1e-8, 1e-8, 0.0, NULL, NULL,
                                                       &info, work) != GSL_EBADFUNC;
    if (is_solved) {
        fit->rate = rate_from(gsl_multifit_nlinear_position(work), problem->tile);
        take_result(problem, work, fit);
    }
    gsl_multifit_nlinear_free(work);
    return is_solved;
}

bool attention_fit(struct arena *arena, const struct measured_section *section,
                   const struct gpu *gpu, const struct attention_rate *start,
                   struct attention_fit *fit, struct diag *diag)
{
    if (section->count < ROWS_MIN) {
        return diag_add(diag, DIAG_INPUT, NULL, "%s of %s: %u rows, and three at least are needed",
                        attention_names[section->rows[0]->section], section->rows[0]->gpu_name,
                        section->count);
    }
    struct problem problem = {.gpu = gpu, .tile = start->tile, .section = section};
    *fit = (struct attention_fit){.before = attention_errors_of(arena, gpu, start, section)};
    logarithms(gpu, start, problem.start);
    if (!solve(&problem, fit)) {
        return diag_add(diag, DIAG_INPUT, NULL, "%s of %s: no figures fit these rows",
                        attention_names[section->rows[0]->section], section->rows[0]->gpu_name);
    }
    fit->after = attention_errors_of(arena, gpu, &fit->rate, section);
    fit->is_met = fit->after.median <= FIT_MEDIAN_MAX;
    return true;
}
