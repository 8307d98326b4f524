/* One bisection serves all numbers: a problem is a kernel, a key, and how long the kernel takes
 * with a value of it.
 */
#include "measured/box_fit.h"

#include "base/arena.h"
#include "base/check.h"
#include "measured/attention_fit.h"
#include "measured/curves.h"
#include "measured/fit_limit.h"
#include "measured/kernel_fit.h"

#include <math.h>

enum { HALVINGS = 60 };
static const double MET = 1e-6; /* of a time */
static const double EFFICIENCY_LEAST = 0.01;
static const double K_HALF_LEAST = 1e-3, K_HALF_MOST = 1e4;

/* What is worked on: copies that keys are tried on. */
struct work {
    struct arena *arena;
    const struct box_numbers *numbers;
    struct gpu gpu;
    struct cluster cluster;
    struct box_fit *fit;
    struct diag *diag;
};

/* The time with a value of the key. */
typedef double time_with(struct work *work, const void *of, double value);

struct problem {
    time_with *predict;
    const void *of;
    double least, most; /* of the key */
    bool is_rate;       /* the greater it is the shorter the time */
    double measured_s;
};

/* The value with which the time is as measured, or the bound that is nearest to it. */
static double solve(struct work *work, const struct problem *problem)
{
    double low = log(problem->least), high = log(problem->most);
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = (low + high) / 2.0;
        const bool is_slow = problem->predict(work, problem->of, exp(middle)) > problem->measured_s;
        if (is_slow == problem->is_rate) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return exp((low + high) / 2.0);
}

static bool is_met(double predicted_s, double measured_s)
{
    return fabs(predicted_s / measured_s - 1.0) < MET;
}

static void note(struct work *work, struct box_move move)
{
    sim_assert(work->fit->count < BOX_MOVES_MAX);
    move.is_met = is_met(move.predicted_s, move.measured_s);
    work->fit->moves[work->fit->count++] = move;
}

/* ---- products ---------------------------------------------------------------------------- */

/* The figures that a product of this dtype has. */
struct figures {
    double *efficiency, *sustained, *k_half;
    const char *section; /* "gemm", "gemm_fp8" */
};

static struct figures figures_of(struct work *work, enum precision dtype)
{
    struct gpu *gpu = &work->gpu;
    if (!precision_is_low(dtype)) {
        return (struct figures){&gpu->gemm_efficiency, &gpu->gemm_sustained, &gpu->gemm_k_half,
                                "gemm"};
    }
    struct gemm_figures *own = &gpu->gemm_of[dtype];
    return (struct figures){&own->efficiency, &own->sustained, &own->k_half,
                            arena_printf(work->arena, "gemm_%s", precision_names[dtype])};
}

static double gemm_time_s(const struct work *work, const struct box_gemm *gemm)
{
    const enum precision dtype = (enum precision)gemm->dtype;
    const double m = (double)gemm->m, n = (double)gemm->n, k = (double)gemm->k;
    const struct gemm_row row = {
        .precision = dtype,
        .pass = GEMM_FORWARD,
        .size = {gemm->m, gemm->n, gemm->k, 1},
        .bytes = (m * k + k * n) * precision_operand_bytes(dtype) +
                 m * n * fmin(4.0, fmax(2.0, (double)precision_bytes(dtype))),
        .measured_s = gemm->of.time_s,
    };
    return gemm_row_predict(&work->gpu, &row, 0.0);
}

static double with_sustained(struct work *work, const void *of, double value)
{
    const struct box_gemm *gemm = of;
    *figures_of(work, (enum precision)gemm->dtype).sustained = value;
    return gemm_time_s(work, gemm);
}

static double with_efficiency(struct work *work, const void *of, double value)
{
    const struct box_gemm *gemm = of;
    *figures_of(work, (enum precision)gemm->dtype).efficiency = value;
    return gemm_time_s(work, gemm);
}

static double with_k_half(struct work *work, const void *of, double value)
{
    const struct box_gemm *gemm = of;
    *figures_of(work, (enum precision)gemm->dtype).k_half = value;
    return gemm_time_s(work, gemm);
}

/* Sets the key for good; the time with it. */
static double settle(struct work *work, const struct problem *problem)
{
    return problem->predict(work, problem->of, solve(work, problem));
}

/* Without its power limit, by which tiles alone hold it up, it must be fast enough. */
static void fit_large(struct work *work, const struct box_gemm *gemm)
{
    const struct figures figures = figures_of(work, (enum precision)gemm->dtype);
    const double measured_s = gemm->of.time_s;
    if (with_sustained(work, gemm, 1.0) > measured_s) {
        (void)settle(work, &(struct problem){with_efficiency, gemm, *figures.efficiency, 1.0, true,
                                             measured_s});
    }
    (void)settle(work,
                 &(struct problem){with_sustained, gemm, EFFICIENCY_LEAST, 1.0, true, measured_s});
}

static void fit_small(struct work *work, const struct box_gemm *gemm)
{
    const struct figures figures = figures_of(work, (enum precision)gemm->dtype);
    const double measured_s = gemm->of.time_s;
    const double predicted_s = settle(
        work, &(struct problem){with_k_half, gemm, K_HALF_LEAST, K_HALF_MOST, false, measured_s});
    if (predicted_s > measured_s * (1.0 + MET)) {
        (void)settle(work, &(struct problem){with_efficiency, gemm, *figures.efficiency, 1.0, true,
                                             measured_s});
    }
}

/* A key that has another value than before. */
static void note_key(struct work *work, struct box_move move, const char *section, const char *key)
{
    move.key = arena_printf(work->arena, "gpu.%s.%s", section, key);
    move.dimension = DIM_COUNT;
    if (fabs(move.after - move.before) > 1e-12 * fabs(move.after)) {
        note(work, move);
    }
}

static void fit_products(struct work *work)
{
    const struct box_gemm *both[] = {&work->numbers->large, &work->numbers->small};
    void (*const fits[])(struct work *, const struct box_gemm *) = {fit_large, fit_small};
    struct gpu before = work->gpu;
    double before_s[2];
    for (int i = 0; i < 2; i++) {
        before_s[i] = both[i]->of.is_given ? gemm_time_s(work, both[i]) : 0.0;
    }
    for (int round = 0; round < 4; round++) {
        if (both[round % 2]->of.is_given) {
            fits[round % 2](work, both[round % 2]);
        }
    }
    for (int i = 0; i < 2; i++) {
        if (!both[i]->of.is_given) {
            continue;
        }
        const enum precision dtype = (enum precision)both[i]->dtype;
        const struct figures after = figures_of(work, dtype);
        struct work old = {.arena = work->arena, .gpu = before};
        const struct figures was = figures_of(&old, dtype);
        struct box_move move = {.number = i == 0 ? BOX_GEMM_LARGE : BOX_GEMM_SMALL,
                                .what = box_number_rows[i].key,
                                .measured_s = both[i]->of.time_s,
                                .predicted_before_s = before_s[i],
                                .predicted_s = gemm_time_s(work, both[i])};
        const bool is_both = i == 1 && both[0]->of.is_given && both[0]->dtype == both[1]->dtype;
        move.before = i == 0 ? gpu_gemm(&before, dtype).sustained : *was.k_half;
        move.after = i == 0 ? *after.sustained : *after.k_half;
        note_key(work, move, after.section, i == 0 ? "sustained" : "k_half");
        move.before = *was.efficiency;
        move.after = *after.efficiency;
        if (!is_both) {
            note_key(work, move, after.section, "efficiency");
        }
    }
}

/* ---- attention ----------------------------------------------------------------------------- */

struct pass {
    const struct box_attention *attention;
    bool is_backward;
};

static struct attention_pass_rate *rate_of(struct work *work, const struct pass *pass)
{
    struct attention_rate *rate = &work->gpu.attention[pass->attention->kernel];
    return pass->is_backward ? &rate->backward : &rate->forward;
}

static double with_rate(struct work *work, const void *of, double value)
{
    const struct pass *pass = of;
    const struct box_attention *size = pass->attention;
    rate_of(work, pass)->flop_per_s = value;
    const struct attention_row row = {
        .of = {.section = size->kernel},
        .pass = pass->is_backward ? PASS_BACKWARD : PASS_FORWARD,
        .is_causal = size->is_causal,
        .sequences = size->sequences,
        .heads = size->heads,
        .kv_heads = size->kv_heads,
        .length = size->length,
        .head_dim = size->head_dim,
        .value_dim = size->head_dim,
    };
    return attention_row_time_s(&work->gpu, &work->gpu.attention[size->kernel], &row);
}

static double fit_pass(struct work *work, const struct pass *pass, double measured_s)
{
    const struct box_attention *attention = pass->attention;
    double *rate = &rate_of(work, pass)->flop_per_s;
    struct box_move move = {
        .number = BOX_ATTENTION_TIME,
        .what = pass->is_backward ? "attention backward" : "attention forward",
        .key = arena_printf(work->arena, "gpu.attention.%s.%s", attention_names[attention->kernel],
                            pass->is_backward ? "backward" : "forward"),
        .dimension = DIM_FLOP_PER_S,
        .before = *rate,
        .measured_s = measured_s,
        .predicted_before_s = with_rate(work, pass, *rate),
    };
    const double told = gpu_attention_peak(&work->gpu, attention->kernel);
    const double peak = told > 0.0 ? told : 1e3 * *rate;
    move.predicted_s =
        settle(work, &(struct problem){with_rate, pass, peak / 1e6, peak, true, measured_s});
    move.after = *rate;
    note(work, move);
    return move.after / move.before;
}

static void fit_attention(struct work *work)
{
    const struct box_attention *attention = &work->numbers->attention;
    const struct pass forward = {attention, false}, backward = {attention, true};
    const double factor = fit_pass(work, &forward, attention->of.time_s);
    double backward_s = attention->backward_s;
    if (!(backward_s > 0.0)) {
        backward_s = with_rate(work, &backward, rate_of(work, &backward)->flop_per_s) / factor;
    }
    (void)fit_pass(work, &backward, backward_s);
}

/* ---- memory -------------------------------------------------------------------------------- */

static double with_memory(struct work *work, const void *of, double value)
{
    const struct box_copy *copy = of;
    work->gpu.memory_kernel_efficiency = value;
    const struct kernel_gpu on = {.gpu = &work->gpu, .gemm_derate = 1.0};
    return kernel_memory(&on, 2.0 * copy->bytes).busy_s;
}

static void fit_copy(struct work *work)
{
    const struct box_copy *copy = &work->numbers->copy;
    const double before = work->gpu.memory_kernel_efficiency;
    struct box_move move = {.number = BOX_COPY,
                            .what = "copy",
                            .key = "gpu.memory_kernels.efficiency",
                            .dimension = DIM_COUNT,
                            .before = before,
                            .measured_s = copy->of.time_s,
                            .predicted_before_s = with_memory(work, copy, before)};
    move.predicted_s = settle(
        work, &(struct problem){with_memory, copy, EFFICIENCY_LEAST, 1.0, true, copy->of.time_s});
    move.after = work->gpu.memory_kernel_efficiency;
    note(work, move);
}

/* ---- links --------------------------------------------------------------------------------- */

struct reduction {
    struct measurement measurement;
    struct measured_point point;
    bool is_inside; /* an NVLink domain */
};

static double *links_of(struct work *work, const struct reduction *reduction)
{
    return reduction->is_inside ? &work->cluster.scale_up_efficiency
                                : &work->cluster.nic_efficiency;
}

/* On a fabric of its own, which ends with the price. */
static double with_links(struct work *work, const void *of, double value)
{
    const struct reduction *reduction = of;
    struct arena *arena = arena_new();
    struct curve curve = {.measurement = &reduction->measurement};
    struct transfer_quote quote = {.time_s = 0.0};
    *links_of(work, reduction) = value;
    if (curve_open_on(arena, &work->cluster, &work->gpu, work->numbers->library, &curve,
                      work->diag)) {
        curve_predict(&curve, work->numbers->library, reduction->point.bytes, &quote);
    }
    const double time_s = quote.time_s;
    arena_free(arena);
    return time_s;
}

static bool fit_all_reduce(struct work *work)
{
    const struct box_all_reduce *all = &work->numbers->all_reduce;
    const struct reduction reduction = {
        .measurement = {.id = "all_reduce",
                        .operation = "all-reduce",
                        .gpus = all->gpus,
                        .nodes = all->nodes,
                        .place = *box_numbers_place(work->numbers, "all_reduce")},
        .point = {all->bytes, all->of.time_s},
        .is_inside = all->nodes <= work->cluster.domain_nodes,
    };
    double *links = links_of(work, &reduction);
    struct box_move move = {.number = BOX_ALL_REDUCE,
                            .what = "all_reduce",
                            .key = reduction.is_inside ? "cluster.scale_up.efficiency"
                                                       : "cluster.nics.efficiency",
                            .dimension = DIM_COUNT,
                            .before = *links,
                            .measured_s = all->of.time_s,
                            .predicted_before_s = with_links(work, &reduction, *links)};
    if (!(move.predicted_before_s > 0.0)) {
        return false;
    }
    move.predicted_s = settle(work, &(struct problem){with_links, &reduction, EFFICIENCY_LEAST, 1.0,
                                                      true, all->of.time_s});
    move.after = *links;
    note(work, move);
    return true;
}

/* ---- all of them --------------------------------------------------------------------------- */

/* A rate of which both products are measured is known as well as by the one that says it. */
static void count_rates(const struct box_numbers *numbers, struct box_fit *fit)
{
    for (uint32_t i = 0; i < BOX_NUMBER_COUNT_; i++) {
        const struct box_number_row *row = &box_number_rows[i];
        const struct box_timed *timed = box_numbers_timed(numbers, (enum box_number)i);
        if (timed->is_given && row->is_whole) {
            fit->left[row->rate] = timed->spread;
        }
    }
}

bool box_fit(struct arena *arena, const struct box_numbers *numbers, struct box_fit *fit,
             struct diag *diag)
{
    struct work work = {arena, numbers, *numbers->gpu, {.name = NULL}, fit, diag};
    *fit = (struct box_fit){.count = 0};
    if (numbers->cluster != NULL) {
        work.cluster = *numbers->cluster;
    }
    fit_products(&work);
    if (numbers->attention.of.is_given) {
        fit_attention(&work);
    }
    if (numbers->copy.of.is_given) {
        fit_copy(&work);
    }
    count_rates(numbers, fit);
    return !numbers->all_reduce.of.is_given || fit_all_reduce(&work);
}

bool box_fit_check(const struct box_numbers *numbers, const struct box_fit *fit, struct diag *diag)
{
    bool is_good = true;
    for (uint32_t i = 0; i < fit->count; i++) {
        const struct box_move *move = &fit->moves[i];
        const bool is_near = fabs(move->predicted_s / move->measured_s - 1.0) <= FIT_MEDIAN_MAX;
        if (move->is_met) {
            continue;
        }
        diag_add(diag, is_near ? DIAG_WARNING : DIAG_FAILURE,
                 box_numbers_place(numbers, box_number_rows[move->number].key),
                 "%s: %.4g ms measured, and as far as %s goes %.4g are predicted", move->what,
                 1e3 * move->measured_s, move->key, 1e3 * move->predicted_s);
        diag_help(diag, "%s",
                  is_near ? "something else holds it up or back; many shapes are for stoker "
                            "calibrate gemm, attention or collectives"
                          : "something else was measured, or holds it up: see its sizes and its "
                            "time, or leave it out");
        is_good = is_good && is_near;
    }
    return is_good;
}
