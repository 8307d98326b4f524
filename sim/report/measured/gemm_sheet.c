/* A GPU's figures of products beside measured shapes: what was fitted, and how well each pass does.
 */
#include "report/measured/kernels_sheet.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/version.h"
#include "measured/fit_limit.h"
#include "measured/kernel_fit.h"

#include <inttypes.h>

enum { PASSES = 3 };

static const char *const pass_titles[PASSES] = {"forward (TN)", "dgrad (NN)", "wgrad (NT)"};
static const char *const pass_keys[PASSES] = {"forward", "dgrad", "wgrad"};

static const char *section_name(struct arena *arena, enum precision section)
{
    return precision_is_low(section) ? arena_printf(arena, "gemm_%s", precision_names[section])
                                     : "gemm";
}

/* ---- a section of YAML -------------------------------------------------------------------- */

/* In JSON all that were free; the file has no key for what the benchmark's repetitions are. */
static void add_values(struct sheet *in, const struct gemm_fit *fit)
{
    for (uint32_t i = 0; i < GEMM_UNKNOWN_COUNT_; i++) {
        if (fit->error[i] <= 0.0) {
            continue;
        }
        struct sheet *object = sheet_object(in, gemm_unknown_names[i]);
        sheet_number(object, "value", fit->value[i]);
        sheet_number(object, "standard_error", fit->error[i]);
        sheet_bool(object, "is_told", fit->is_told[i]);
        if (i != GEMM_WARM) {
            sheet_say(in, "  %s: %.4g  # standard error %.2g%s\n", gemm_unknown_names[i],
                      fit->value[i], fit->error[i],
                      fit->is_told[i] ? "" : ", which the measurements hardly tell");
        }
    }
}

static void add_section(struct sheet *in, struct arena *arena, const struct gemm_fit *fit)
{
    const struct measured_errors *after = &fit->errors_after;
    sheet_say(in,
              "# %s: %u products, median error %.1f %%, 90 %% of them within %.1f %% (before: %.1f "
              "%%, %.1f %%)\n%s:\n",
              fit->gpu_name, after->count, 100.0 * after->median, 100.0 * after->p90,
              100.0 * fit->errors_before.median, 100.0 * fit->errors_before.p90,
              section_name(arena, fit->precision));
    if (!precision_is_low(fit->precision)) {
        sheet_say(in, "  tile_m: %" PRId64 "\n  tile_n: %" PRId64 "\n", fit->after->gemm_tile_m,
                  fit->after->gemm_tile_n);
    }
    add_values(in, fit);
    const char *note = arena_printf(
        arena,
        "stoker calibrate gemm (%s): %u products, median error %.1f %%, bias %+.1f %%; the power "
        "limit acted by t / (t + %.0f us)",
        stoker_version(), after->count, 100.0 * after->median, 100.0 * after->bias,
        1e6 * fit->value[GEMM_WARM]);
    sheet_say(in, "  provenance: fitted\n  source: %s\n  note: %s\n",
              json_quoted(arena, measured_sources(arena, &fit->rows)), json_quoted(arena, note));
}

/* ---- how well --------------------------------------------------------------------------- */

static void add_errors(struct sheet *in, const char *key, const struct measured_errors *errors)
{
    static const struct measured_errors none = {
        .median = ABSENT, .p90 = ABSENT, .mean = ABSENT, .bias = ABSENT};
    static const struct field fields[] = {
        {"products", FIELD_AT(struct measured_errors, count)},
        {"median", FIELD_AT(struct measured_errors, median)},
        {"p90", FIELD_AT(struct measured_errors, p90)},
        {"mean", FIELD_AT(struct measured_errors, mean)},
        {"bias", FIELD_AT(struct measured_errors, bias)},
    };
    sheet_members(sheet_object(in, key), FIELD_LIST(fields), errors->count > 0 ? errors : &none);
}

static void say_errors(struct sheet *in, const char *title, const struct measured_errors *errors)
{
    if (errors->count > 0) {
        sheet_say(in,
                  "#   %-12s %4u products: median error %.1f %%, 90 %% within %.1f %%, bias "
                  "%+.1f %%\n",
                  title, errors->count, 100.0 * errors->median, 100.0 * errors->p90,
                  100.0 * errors->bias);
    }
}

static const char *row_text(struct arena *arena, const struct measured *measured)
{
    const struct gemm_row *row = (const void *)measured;
    const char *groups =
        row->size.count > 1 ? arena_printf(arena, " of %" PRId64 " groups", row->size.count) : "";
    return arena_printf(arena, "%s %" PRId64 "x%" PRId64 "x%" PRId64 "%s", pass_keys[row->pass],
                        row->size.m, row->size.n, row->size.k, groups);
}

/* With the GPU's figures: all rows, each pass, the worst rows. */
static void add_quality(struct sheet *in, struct arena *arena, const struct gemm_fit *fit,
                        const struct gpu *gpu, double warm_s)
{
    const struct measured_errors all = gemm_errors_of(arena, &fit->rows, gpu, warm_s, -1);
    say_errors(in, "all", &all);
    for (int pass = 0; pass < PASSES; pass++) {
        const struct measured_errors errors = gemm_errors_of(arena, &fit->rows, gpu, warm_s, pass);
        add_errors(in, pass_keys[pass], &errors);
        say_errors(in, pass_titles[pass], &errors);
    }
    double *errors = arena_array(arena, fit->rows.count, sizeof *errors);
    for (uint32_t i = 0; i < fit->rows.count; i++) {
        errors[i] = gemm_row_error(gpu, fit->rows.rows[i], warm_s);
    }
    kernels_say_worst(in, &fit->rows, errors, row_text);
}

/* What misses its products is told, not offered. */
static void say_missed(struct sheet *in, struct arena *arena, const struct gemm_fit *fit)
{
    sheet_say(in,
              "# %s, section %s: not fitted, for its %u products are off by %.1f %% in the median "
              "with the best\n# figures, and the limit is %.0f %%; as the file stands: %.1f %%\n",
              fit->gpu_name, section_name(arena, fit->precision), fit->errors_after.count,
              100.0 * fit->errors_after.median, 100.0 * FIT_MEDIAN_MAX,
              100.0 * fit->errors_before.median);
}

static void add_fit(struct sheet *in, struct arena *arena, const struct gemm_fit *fit,
                    bool only_checks)
{
    const char *section = section_name(arena, fit->precision);
    sheet_text(in, "gpu", fit->gpu_name);
    sheet_text(in, "section", section);
    add_errors(in, "errors_before", &fit->errors_before);
    if (only_checks) {
        sheet_say(in, "# %s, section %s as it is\n", fit->gpu_name, section);
        add_quality(in, arena, fit, fit->before, gemm_warm_s());
        return;
    }
    sheet_bool(in, "is_fitted", fit->is_met);
    if (fit->is_met) {
        add_section(in, arena, fit);
    } else {
        say_missed(in, arena, fit);
    }
    add_errors(in, "errors", &fit->errors_after);
    add_quality(in, arena, fit, fit->after, fit->value[GEMM_WARM]);
}

bool gemm_fits_add(const struct gemm_fits *fits, bool only_checks, struct sheet *sheet,
                   struct diag *diag)
{
    struct arena *arena = sheet_arena(sheet);
    struct sheet *array = sheet_array(sheet, "fits");
    struct kernels_verdict *verdicts = arena_array(arena, fits->count, sizeof *verdicts);
    for (uint32_t i = 0; i < fits->count; i++) {
        const struct gemm_fit *fit = &fits->fits[i];
        sheet_say(array, "%s", i > 0 ? "\n" : "");
        add_fit(sheet_object(array, NULL), arena, fit, only_checks);
        verdicts[i] = (struct kernels_verdict){fit->is_met,
                                               arena_printf(arena, "products of %s, section %s,",
                                                            fit->gpu_name,
                                                            section_name(arena, fit->precision)),
                                               fit->errors_after};
    }
    return only_checks ||
           kernels_check(verdicts, fits->count,
                         "another GPU, precision, layout or unit, or products that contradict each "
                         "other",
                         diag);
}
