/* The command `stoker calibrate gemm`: it reads measured matrix products, fits
 * a GPU's figures to them or, with --check, says how well the present ones
 * meet them.
 */
#include "cli/calibrate.h"

#include "base/arena.h"
#include "base/version.h"
#include "base/json.h"
#include "lab/fit/fit_limit.h"
#include "lab/kernel_fit.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORST_ROWS = 5, PASSES = 3 };

static const char *const pass_titles[PASSES] = {"forward (TN)", "dgrad (NN)", "wgrad (NT)"};
static const char *const pass_keys[PASSES] = {"forward", "dgrad", "wgrad"};

static const char *section_name(struct arena *arena, enum precision section)
{
    return precision_is_low(section) ? arena_printf(arena, "gemm_%s", precision_names[section])
                                     : "gemm";
}

static bool is_of(const struct gemm_row *row, const struct gemm_fit *fit)
{
    return strcmp(row->gpu_name, fit->gpu_name) == 0 &&
           gemm_section(row->precision) == fit->precision;
}

/* ---- a section of YAML -------------------------------------------------------------------- */

/* The sources of a fit's rows, each once. */
static const char *sources_of(struct arena *arena, const struct gemm_rows *rows,
                              const struct gemm_fit *fit)
{
    const char *text = "";
    for (uint32_t i = 0; i < rows->count; i++) {
        const char *source = rows->rows[i].source;
        if (is_of(&rows->rows[i], fit) && source[0] != '\0' && strstr(text, source) == NULL) {
            text = arena_printf(arena, "%s%s%s", text, text[0] != '\0' ? "; " : "", source);
        }
    }
    return text[0] != '\0' ? text : "measurements that name no source";
}

static void print_values(const struct gemm_fit *fit, FILE *out)
{
    for (uint32_t i = 0; i < GEMM_WARM; i++) {
        if (fit->error[i] <= 0.0) {
            continue;
        }
        const char *untold = fit->is_told[i] ? "" : ", which the measurements hardly tell";
        fprintf(out, "  %s: %.4g  # standard error %.2g%s\n", gemm_unknown_names[i], fit->value[i],
                fit->error[i], untold);
    }
}

static void print_yaml(struct arena *arena, const struct gemm_rows *rows,
                       const struct gemm_fit *fit, FILE *out)
{
    fprintf(out,
            "# %s: %u products, median error %.1f %%, 90 %% of them within %.1f %% (before: %.1f "
            "%%, %.1f %%)\n%s:\n",
            fit->gpu_name, fit->errors_after.count, 100.0 * fit->errors_after.median,
            100.0 * fit->errors_after.p90, 100.0 * fit->errors_before.median,
            100.0 * fit->errors_before.p90, section_name(arena, fit->precision));
    if (!precision_is_low(fit->precision)) {
        fprintf(out, "  tile_m: %" PRId64 "\n  tile_n: %" PRId64 "\n", fit->after->gemm_tile_m,
                fit->after->gemm_tile_n);
    }
    print_values(fit, out);
    const char *note = arena_printf(
        arena,
        "stoker calibrate gemm (%s): %u products, median error %.1f %%, bias %+.1f %%; the power "
        "limit acted by t / (t + %.0f us)",
        stoker_version(), fit->errors_after.count, 100.0 * fit->errors_after.median,
        100.0 * fit->errors_after.bias, 1e6 * fit->value[GEMM_WARM]);
    fprintf(out, "  provenance: fitted\n  source: %s\n  note: %s\n",
            json_quoted(arena, sources_of(arena, rows, fit)), json_quoted(arena, note));
}

/* ---- how well --------------------------------------------------------------------------- */

struct worst {
    const struct gemm_row *row;
    double error;
};

static int compare_worst(const void *left, const void *right)
{
    const double a = fabs(((const struct worst *)left)->error);
    const double b = fabs(((const struct worst *)right)->error);
    return (a < b) - (a > b);
}

static void print_worst(struct arena *arena, const struct gemm_rows *rows,
                        const struct gemm_fit *fit, const struct gpu *gpu, double warm_s, FILE *out)
{
    struct worst *all = arena_array(arena, rows->count + 1, sizeof *all);
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct gemm_row *row = &rows->rows[i];
        if (is_of(row, fit)) {
            all[count++] =
                (struct worst){row, gemm_row_predict(gpu, row, warm_s) / row->measured_s - 1.0};
        }
    }
    qsort(all, count, sizeof *all, compare_worst);
    fputs("#   worst:", out);
    for (uint32_t i = 0; i < count && i < WORST_ROWS; i++) {
        const struct gemm_row *row = all[i].row;
        const char *groups = row->size.count > 1
                                 ? arena_printf(arena, " of %" PRId64 " groups", row->size.count)
                                 : "";
        fprintf(out, "%s %s %" PRId64 "x%" PRId64 "x%" PRId64 "%s %+.0f %%", i == 0 ? "" : ",",
                pass_keys[row->pass], row->size.m, row->size.n, row->size.k, groups,
                100.0 * all[i].error);
    }
    fputs("\n", out);
}

static void print_errors(struct arena *arena, const struct gemm_rows *rows,
                         const struct gemm_fit *fit, const struct gpu *gpu, double warm_s,
                         FILE *out)
{
    for (int pass = -1; pass < PASSES; pass++) {
        const struct gemm_errors errors =
            gemm_errors_of(arena, rows, fit->gpu_name, fit->precision, gpu, warm_s, pass);
        if (errors.count > 0) {
            fprintf(out,
                    "#   %-12s %4u products: median error %.1f %%, 90 %% within %.1f %%, bias "
                    "%+.1f %%\n",
                    pass < 0 ? "all" : pass_titles[pass], errors.count, 100.0 * errors.median,
                    100.0 * errors.p90, 100.0 * errors.bias);
        }
    }
    print_worst(arena, rows, fit, gpu, warm_s, out);
}

/* What misses its products is told, not offered. */
static void print_missed(struct arena *arena, const struct gemm_fit *fit, FILE *out)
{
    fprintf(
        out,
        "# %s, section %s: not fitted, for its %u products are off by %.1f %% in the median with "
        "the best\n# figures, and the limit is %.0f %%; as the file stands: %.1f %%\n",
        fit->gpu_name, section_name(arena, fit->precision), fit->errors_after.count,
        100.0 * fit->errors_after.median, 100.0 * FIT_MEDIAN_MAX,
        100.0 * fit->errors_before.median);
}

static void print_text(const struct calibrator *calibrator, const struct gemm_rows *rows,
                       const struct gemm_fits *fits, FILE *out)
{
    struct arena *arena = calibrator->options.cli->arena;
    for (uint32_t i = 0; i < fits->count; i++) {
        const struct gemm_fit *fit = &fits->fits[i];
        if (i > 0) {
            fputs("\n", out);
        }
        if (calibrator->only_checks) {
            fprintf(out, "# %s, section %s as it is\n", fit->gpu_name,
                    section_name(arena, fit->precision));
            print_errors(arena, rows, fit, fit->before, gemm_warm_s(), out);
        } else {
            if (fit->is_met) {
                print_yaml(arena, rows, fit, out);
            } else {
                print_missed(arena, fit, out);
            }
            print_errors(arena, rows, fit, fit->after, fit->value[GEMM_WARM], out);
        }
    }
}

/* ---- JSON ------------------------------------------------------------------------------- */

static void put_errors(struct json *json, const char *key, const struct gemm_errors *errors)
{
    json_object_open(json, key);
    json_integer(json, "products", errors->count);
    json_number(json, "median", errors->median);
    json_number(json, "p90", errors->p90);
    json_number(json, "mean", errors->mean);
    json_number(json, "bias", errors->bias);
    json_object_close(json);
}

static void put_fit(struct json *json, struct arena *arena, const struct gemm_rows *rows,
                    const struct gemm_fit *fit, bool only_checks)
{
    const struct gpu *gpu = only_checks ? fit->before : fit->after;
    const double warm_s = only_checks ? gemm_warm_s() : fit->value[GEMM_WARM];
    json_object_open(json, NULL);
    json_text(json, "gpu", fit->gpu_name);
    json_text(json, "section", section_name(arena, fit->precision));
    put_errors(json, "errors_before", &fit->errors_before);
    if (!only_checks) {
        json_bool(json, "is_fitted", fit->is_met);
    }
    for (uint32_t i = 0; i < GEMM_UNKNOWN_COUNT_ && !only_checks; i++) {
        if (fit->error[i] > 0.0 && fit->is_met) {
            json_object_open(json, gemm_unknown_names[i]);
            json_number(json, "value", fit->value[i]);
            json_number(json, "standard_error", fit->error[i]);
            json_bool(json, "is_told", fit->is_told[i]);
            json_object_close(json);
        }
    }
    if (!only_checks) {
        put_errors(json, "errors", &fit->errors_after);
    }
    for (int pass = 0; pass < PASSES; pass++) {
        const struct gemm_errors errors =
            gemm_errors_of(arena, rows, fit->gpu_name, fit->precision, gpu, warm_s, pass);
        put_errors(json, pass_keys[pass], &errors);
    }
    json_object_close(json);
}

static void print_json(const struct calibrator *calibrator, const struct gemm_rows *rows,
                       const struct gemm_fits *fits, FILE *out)
{
    struct json json;
    json_begin(&json, out);
    json_object_open(&json, NULL);
    json_text(&json, "schema", "stoker.calibrate-gemm/1");
    json_array_open(&json, "fits");
    for (uint32_t i = 0; i < fits->count; i++) {
        put_fit(&json, calibrator->options.cli->arena, rows, &fits->fits[i],
                calibrator->only_checks);
    }
    json_array_close(&json);
    json_object_close(&json);
    json_end(&json);
}

/* Status 1 when no section is any good. */
static bool check_fits(const struct calibrator *calibrator, const struct gemm_fits *fits)
{
    struct cli *cli = calibrator->options.cli;
    uint32_t met = 0;
    for (uint32_t i = 0; i < fits->count; i++) {
        met += fits->fits[i].is_met ? 1 : 0;
    }
    if (calibrator->only_checks || met > 0) {
        return true;
    }
    const struct gemm_fit *fit = &fits->fits[0];
    diag_add(
        cli->diag, DIAG_FAILURE, NULL,
        "nothing is fitted: the %u products of %s, section %s, are off by %.1f %% in the median "
        "with the best figures, and the limit is %.0f %%",
        fit->errors_after.count, fit->gpu_name, section_name(cli->arena, fit->precision),
        100.0 * fit->errors_after.median, 100.0 * FIT_MEDIAN_MAX);
    diag_help(cli->diag,
              "look at the worst ones: another GPU, precision, layout or unit, or products "
              "that contradict each other");
    return false;
}

int calibrate_gemm(struct calibrator *calibrator)
{
    struct cli *cli = calibrator->options.cli;
    struct gemm_rows rows;
    if (!gemm_rows_read(cli->arena, calibrator->options.arguments.items[1], &calibrator->catalogue,
                        &rows, cli->diag)) {
        return EXIT_INPUT;
    }
    const struct gemm_fits fits = gemm_fit_all(cli->arena, &rows);
    if (calibrator->options.is_json) {
        print_json(calibrator, &rows, &fits, stdout);
    } else {
        print_text(calibrator, &rows, &fits, stdout);
    }
    return check_fits(calibrator, &fits) ? 0 : EXIT_FAILED;
}
