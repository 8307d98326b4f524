/* A GPU's figures of fused attention beside measured rates. */
#include "report/measured/kernels_sheet.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/version.h"
#include "measured/fit_limit.h"

#include <inttypes.h>

/* ---- what is said ------------------------------------------------------------------------- */

/* As the GPU's file has it. */
static void add_section(struct sheet *in, struct arena *arena, const struct attention_group *group)
{
    const struct attention_fit *fit = &group->fit;
    sheet_say(in, "attention:\n  %s:\n", attention_names[group->first->section]);
    for (uint32_t i = 0; i < ATTENTION_UNKNOWN_COUNT_; i++) {
        const char *key = attention_figures[i].key;
        const bool is_rate = i == ATTENTION_FORWARD || i == ATTENTION_RATIO;
        const double figure = attention_figure_of(&fit->rate, i);
        const double value = is_rate ? figure / 1e12 : figure;
        struct sheet *object = sheet_object(in, key);
        sheet_number(object, "value", value);
        sheet_number(object, "relative_standard_error", fit->relative_error[i]);
        sheet_bool(object, "is_told", fit->is_told[i]);
        sheet_say(in, "    %s: %.4g%s  # standard error %.2g %%%s\n", key, value,
                  is_rate ? " TFLOP/s" : "", 100.0 * fit->relative_error[i],
                  fit->is_told[i] ? "" : ", hardly told by the measurements");
    }
    const char *note = arena_printf(
        arena, "stoker calibrate attention (%s): %u rows, median error %.1f %%, p90 %.1f %%",
        stoker_version(), fit->after.count, 100.0 * fit->after.median, 100.0 * fit->after.p90);
    sheet_say(in, "    tile: %" PRId64 "\n    provenance: fitted\n    source: %s\n    note: %s\n",
              fit->rate.tile, json_quoted(arena, measured_sources(arena, &group->rows)),
              json_quoted(arena, note));
}

static const char *row_text(struct arena *arena, const struct measured *measured)
{
    const struct attention_row *row = (const void *)measured;
    return arena_printf(
        arena, "line %u (%s, %" PRId64 "x%" PRId64 " heads of %" PRId64 ", %" PRId64 " tokens)",
        measured->line, attention_pass_names[row->pass], row->sequences, row->heads, row->head_dim,
        row->length);
}

static void add_errors(struct sheet *in, const char *key, const struct measured_errors *errors)
{
    static const struct field fields[] = {
        {"rows", FIELD_AT(struct measured_errors, count)},
        {"median", FIELD_AT(struct measured_errors, median)},
        {"p90", FIELD_AT(struct measured_errors, p90)},
        {"worst", FIELD_AT(struct measured_errors, worst)},
    };
    sheet_members(sheet_object(in, key), fields, 4, errors);
}

static void add_group(struct sheet *in, bool only_checks, const struct attention_group *group)
{
    struct arena *arena = sheet_arena(in);
    const struct measured_errors *before = &group->fit.before;
    const struct measured_errors *after = &group->fit.after;
    const char *kind = attention_names[group->first->section];
    sheet_text(in, "gpu", group->first->gpu_name);
    sheet_text(in, "attention", kind);
    add_errors(in, "errors_before", before);
    add_errors(in, "errors", after);
    sheet_say(in, "# %s, %s: %u rows; median error of the time %.1f %%, 90 %% within %.1f %%",
              group->first->gpu_name, kind, after->count, 100.0 * after->median,
              100.0 * after->p90);
    if (!only_checks) {
        sheet_bool(in, "is_fitted", group->fit.is_met);
        sheet_say(in, " (before: %.1f %%, %.1f %%)", 100.0 * before->median, 100.0 * before->p90);
    }
    sheet_say(in, "\n");
    if (!only_checks && group->fit.is_met) {
        add_section(in, arena, group);
    } else if (!only_checks) {
        sheet_say(in,
                  "# not fitted: this is with the best figures, and the limit of the median is "
                  "%.0f %%\n",
                  100.0 * FIT_MEDIAN_MAX);
    }
    double *errors = arena_array(arena, group->rows.count, sizeof *errors);
    for (uint32_t i = 0; i < group->rows.count; i++) {
        errors[i] = attention_row_error(group->first->gpu, &group->fit.rate, group->rows.rows[i]);
    }
    kernels_say_worst(in, &group->rows, errors, row_text);
}

bool attention_groups_add(const struct attention_groups *groups, bool only_checks,
                          struct sheet *sheet, struct diag *diag)
{
    struct sheet *fits = sheet_array(sheet, "fits");
    struct kernels_verdict *verdicts = arena_array(groups->arena, groups->count, sizeof *verdicts);
    for (uint32_t i = 0; i < groups->count; i++) {
        const struct attention_group *group = &groups->groups[i];
        sheet_say(fits, "%s", i > 0 ? "\n" : "");
        add_group(sheet_object(fits, NULL), only_checks, group);
        verdicts[i] = (struct kernels_verdict){group->fit.is_met,
                                               arena_printf(groups->arena, "rows of %s, %s,",
                                                            group->first->gpu_name,
                                                            attention_names[group->first->section]),
                                               group->fit.after};
    }
    return only_checks ||
           kernels_check(verdicts, groups->count,
                         "another kernel, pass, mask or count of FLOPs, or rows that contradict "
                         "each other",
                         diag);
}
