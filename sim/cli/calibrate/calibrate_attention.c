/* The command `stoker calibrate attention`: it reads measured rates of fused
 * attention, fits a GPU's figures to them or, with --check, says how well the
 * present ones meet them.
 */
#include "cli/calibrate.h"

#include "base/arena.h"
#include "base/version.h"
#include "base/json.h"
#include "input/catalogue.h"
#include "lab/attention_fit.h"
#include "lab/fit/fit_limit.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORST_ROWS = 5 };

static const char *const keys[ATTENTION_UNKNOWN_COUNT_] = {
    [ATTENTION_FORWARD] = "forward",
    [ATTENTION_RATIO] = "backward",
    [ATTENTION_HALF] = "length_half",
    [ATTENTION_HALF_BACKWARD] = "length_half_backward",
    [ATTENTION_HEAD_HALF] = "head_half",
    [ATTENTION_WIDE] = "wide",
    [ATTENTION_WIDE_BACKWARD] = "wide_backward",
    [ATTENTION_TAIL] = "tail",
    [ATTENTION_TAIL_BACKWARD] = "tail_backward",
};

/* One kind of kernel on one GPU. */
struct group {
    const char *name;
    uint32_t kind;
    const struct gpu *gpu;
    struct attention_fit fit;
};

struct groups {
    struct arena *arena;
    struct attention_rows rows;
    struct group *groups;
    uint32_t count;
};

static bool is_of(const struct attention_row *row, const struct group *group)
{
    return row->kind == group->kind && strcmp(row->gpu, group->name) == 0;
}

/* ---- input ------------------------------------------------------------------------------ */

static const struct gpu *open_gpu(const struct calibrator *calibrator, const char *name)
{
    struct cli *cli = calibrator->options.cli;
    const struct doc_node reference = {.kind = DOC_SCALAR, .text = name};
    const struct doc_node *node =
        catalogue_open(cli->arena, &calibrator->catalogue, CATALOGUE_GPU, &reference, cli->diag);
    struct assumptions assumptions;
    assumptions_init(&assumptions, cli->arena);
    struct gpu *gpu = arena_alloc(cli->arena, sizeof *gpu);
    return node != NULL && gpu_read(node, gpu, &assumptions, cli->diag) ? gpu : NULL;
}

static bool has_group(const struct groups *groups, const struct attention_row *row)
{
    for (uint32_t i = 0; i < groups->count; i++) {
        if (is_of(row, &groups->groups[i])) {
            return true;
        }
    }
    return false;
}

/* In the order of the file. A kind that the GPU's file lacks starts from the usual figures, and
 * --check leaves it out. */
static bool fit_group(const struct calibrator *calibrator, struct groups *groups,
                      struct group *group)
{
    struct cli *cli = calibrator->options.cli;
    group->gpu = open_gpu(calibrator, group->name);
    if (group->gpu == NULL) {
        return false;
    }
    const bool has_start = gpu_has_attention(group->gpu, group->kind);
    const struct attention_rate start =
        has_start ? group->gpu->attention[group->kind] : attention_fit_start(group->gpu);
    if (!calibrator->only_checks) {
        return attention_fit(cli->arena, group->gpu, group->name, group->kind, &groups->rows,
                             &start, &group->fit, cli->diag);
    }
    group->fit.rate = start;
    group->fit.after = attention_errors_of(cli->arena, group->gpu, &start, &groups->rows,
                                           group->name, group->kind);
    group->fit.before = group->fit.after;
    return true;
}

static bool fit_groups(const struct calibrator *calibrator, struct groups *groups)
{
    groups->groups = arena_array(groups->arena, groups->rows.count + 1, sizeof *groups->groups);
    bool is_good = true;
    for (uint32_t i = 0; i < groups->rows.count && is_good; i++) {
        const struct attention_row *row = &groups->rows.rows[i];
        if (!has_group(groups, row)) {
            struct group *group = &groups->groups[groups->count++];
            *group = (struct group){.name = row->gpu, .kind = row->kind};
            is_good = fit_group(calibrator, groups, group);
        }
    }
    return is_good;
}

/* ---- text ------------------------------------------------------------------------------- */

static const char *sources_of(const struct groups *groups, const struct group *group)
{
    const char *text = "";
    for (uint32_t i = 0; i < groups->rows.count; i++) {
        const struct attention_row *row = &groups->rows.rows[i];
        if (is_of(row, group) && row->source[0] != '\0' && strstr(text, row->source) == NULL) {
            text = arena_printf(groups->arena, "%s%s%s", text, text[0] != '\0' ? "; " : "",
                                row->source);
        }
    }
    return text[0] != '\0' ? text : "measurements that name no source";
}

static void figures_of(const struct attention_rate *rate, double *values)
{
    values[ATTENTION_FORWARD] = rate->forward.flop_per_s / 1e12;
    values[ATTENTION_RATIO] = rate->backward.flop_per_s / 1e12;
    values[ATTENTION_HALF] = rate->forward.half;
    values[ATTENTION_HALF_BACKWARD] = rate->backward.half;
    values[ATTENTION_HEAD_HALF] = rate->head_half;
    values[ATTENTION_WIDE] = rate->forward.wide;
    values[ATTENTION_WIDE_BACKWARD] = rate->backward.wide;
    values[ATTENTION_TAIL] = rate->forward.tail;
    values[ATTENTION_TAIL_BACKWARD] = rate->backward.tail;
}

static void print_section(const struct groups *groups, const struct group *group, FILE *out)
{
    const struct attention_fit *fit = &group->fit;
    double values[ATTENTION_UNKNOWN_COUNT_];
    figures_of(&fit->rate, values);
    fprintf(out, "  %s:\n", attention_names[group->kind]);
    for (uint32_t i = 0; i < ATTENTION_UNKNOWN_COUNT_; i++) {
        fprintf(out, "    %s: %.4g%s  # standard error %.2g %%%s\n", keys[i], values[i],
                i == ATTENTION_FORWARD || i == ATTENTION_RATIO ? " TFLOP/s" : "",
                100.0 * fit->relative_error[i],
                fit->is_told[i] ? "" : ", hardly told by the measurements");
    }
    fprintf(out, "    tile: %" PRId64 "\n", fit->rate.tile);
    const char *note = arena_printf(
        groups->arena,
        "stoker calibrate attention (%s): %u rows, median error %.1f %%, p90 %.1f %%",
        stoker_version(), fit->after.count, 100.0 * fit->after.median, 100.0 * fit->after.p90);
    fprintf(out, "    provenance: fitted\n    source: %s\n    note: %s\n",
            json_quoted(groups->arena, sources_of(groups, group)),
            json_quoted(groups->arena, note));
}

struct worst {
    const struct attention_row *row;
    double error; /* predicted over measured time, less 1 */
};

static int compare_worst(const void *left, const void *right)
{
    const double a = fabs(((const struct worst *)left)->error);
    const double b = fabs(((const struct worst *)right)->error);
    return (a < b) - (a > b);
}

static void print_worst(const struct groups *groups, const struct group *group, FILE *out)
{
    struct worst *all = arena_array(groups->arena, groups->rows.count + 1, sizeof *all);
    uint32_t count = 0;
    for (uint32_t i = 0; i < groups->rows.count; i++) {
        const struct attention_row *row = &groups->rows.rows[i];
        if (is_of(row, group)) {
            const double predicted = attention_predict(group->gpu, &group->fit.rate, row);
            all[count++] = (struct worst){row, row->tflop_per_s / predicted - 1.0};
        }
    }
    qsort(all, count, sizeof *all, compare_worst);
    fputs("#   worst:", out);
    for (uint32_t i = 0; i < count && i < WORST_ROWS; i++) {
        const struct attention_row *row = all[i].row;
        fprintf(out,
                "%s line %u (%s, %" PRId64 "x%" PRId64 " heads of %" PRId64 ", %" PRId64
                " tokens) %+.0f %%",
                i == 0 ? "" : ",", row->line, attention_pass_names[row->pass], row->sequences,
                row->heads, row->head_dim, row->length, 100.0 * all[i].error);
    }
    fputs("\n", out);
}

static void print_text(const struct calibrator *calibrator, const struct groups *groups, FILE *out)
{
    for (uint32_t i = 0; i < groups->count; i++) {
        const struct group *group = &groups->groups[i];
        const struct attention_errors *before = &group->fit.before;
        const struct attention_errors *after = &group->fit.after;
        fprintf(out, "%s# %s, %s: %u rows; median error of the time %.1f %%, 90 %% within %.1f %%",
                i > 0 ? "\n" : "", group->name, attention_names[group->kind], after->count,
                100.0 * after->median, 100.0 * after->p90);
        if (calibrator->only_checks) {
            fputs("\n", out);
        } else if (!group->fit.is_met) {
            fprintf(out,
                    " (before: %.1f %%, %.1f %%)\n# not fitted: this is with the best figures, and "
                    "the limit of the median is %.0f %%\n",
                    100.0 * before->median, 100.0 * before->p90, 100.0 * FIT_MEDIAN_MAX);
        } else {
            fprintf(out, " (before: %.1f %%, %.1f %%)\nattention:\n", 100.0 * before->median,
                    100.0 * before->p90);
            print_section(groups, group, out);
        }
        print_worst(groups, group, out);
    }
}

/* ---- JSON ------------------------------------------------------------------------------- */

static void put_errors(struct json *json, const char *key, const struct attention_errors *errors)
{
    json_object_open(json, key);
    json_integer(json, "rows", errors->count);
    json_number(json, "median", errors->median);
    json_number(json, "p90", errors->p90);
    json_number(json, "worst", errors->worst);
    json_object_close(json);
}

static void put_group(struct json *json, const struct group *group, bool only_checks)
{
    double values[ATTENTION_UNKNOWN_COUNT_];
    figures_of(&group->fit.rate, values);
    json_object_open(json, NULL);
    json_text(json, "gpu", group->name);
    json_text(json, "attention", attention_names[group->kind]);
    put_errors(json, "errors_before", &group->fit.before);
    put_errors(json, "errors", &group->fit.after);
    if (!only_checks) {
        json_bool(json, "is_fitted", group->fit.is_met);
    }
    for (uint32_t i = 0; i < ATTENTION_UNKNOWN_COUNT_ && !only_checks && group->fit.is_met; i++) {
        json_object_open(json, keys[i]);
        json_number(json, "value", values[i]);
        json_number(json, "relative_standard_error", group->fit.relative_error[i]);
        json_bool(json, "is_told", group->fit.is_told[i]);
        json_object_close(json);
    }
    json_object_close(json);
}

static void print_json(const struct calibrator *calibrator, const struct groups *groups, FILE *out)
{
    struct json json;
    json_begin(&json, out);
    json_object_open(&json, NULL);
    json_array_open(&json, "fits");
    for (uint32_t i = 0; i < groups->count; i++) {
        put_group(&json, &groups->groups[i], calibrator->only_checks);
    }
    json_array_close(&json);
    json_object_close(&json);
    json_end(&json);
}

/* Status 1 when no section is any good. */
static bool check_fits(const struct calibrator *calibrator, const struct groups *groups)
{
    struct cli *cli = calibrator->options.cli;
    uint32_t met = 0;
    for (uint32_t i = 0; i < groups->count; i++) {
        met += groups->groups[i].fit.is_met ? 1 : 0;
    }
    if (calibrator->only_checks || met > 0) {
        return true;
    }
    const struct group *group = &groups->groups[0];
    diag_add(cli->diag, DIAG_FAILURE, NULL,
             "nothing is fitted: the %u rows of %s, %s, are off by %.1f %% in the median with the "
             "best figures, and the limit is %.0f %%",
             group->fit.after.count, group->name, attention_names[group->kind],
             100.0 * group->fit.after.median, 100.0 * FIT_MEDIAN_MAX);
    diag_help(cli->diag, "look at the worst ones: another kernel, pass, mask or count of FLOPs, or "
                         "rows that contradict each other");
    return false;
}

int calibrate_attention(struct calibrator *calibrator)
{
    struct cli *cli = calibrator->options.cli;
    struct groups groups = {.arena = cli->arena};
    bool is_good = calibrator->options.arguments.count == 2;
    if (!is_good) {
        diag_add(cli->diag, DIAG_INPUT, NULL, "one file of measurements of attention at a time");
        return EXIT_INPUT;
    }
    is_good = attention_rows_read(cli->arena, calibrator->options.arguments.items[1], &groups.rows,
                                  cli->diag) &&
              fit_groups(calibrator, &groups);
    if (is_good && groups.count == 0) {
        is_good = diag_add(cli->diag, DIAG_INPUT, NULL, "%s has no rows",
                           calibrator->options.arguments.items[1]);
    }
    if (!is_good) {
        return EXIT_INPUT;
    }
    if (calibrator->options.is_json) {
        print_json(calibrator, &groups, stdout);
    } else {
        print_text(calibrator, &groups, stdout);
    }
    return check_fits(calibrator, &groups) ? 0 : EXIT_FAILED;
}
