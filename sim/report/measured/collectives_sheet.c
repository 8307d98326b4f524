/* What was fitted, in three forms: as a library file that can take the old one's place, as a table
 * of errors and JSON, and as a picture.
 */
#include "report/measured/collectives_sheet.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/numbers.h"
#include "report/plot/plot_panels.h"
#include "base/version.h"
#include "base/json.h"
#include "bands/quantile.h"

#include <math.h>
#include <string.h>

#define LENGTH(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

static const double NO_LIMIT_BYTES_PER_S = 1e15;
static const double NO_LIMIT_BYTES = 1e18;
static const double BIG_BYTES = 67108864.0; /* 64 MiB */

static const char *protocol_name(const struct calibration_group *group)
{
    return collective_protocol_names[group->pair.protocol];
}

static const char *algorithm_name(const struct calibration_group *group)
{
    return collective_algorithm_names[group->pair.algorithm];
}

/* ---- the library ------------------------------------------------------------------------ */

/* One value, or three where numbers of nodes differ. */
static void print_latencies(const char *key, const double *values_s, FILE *out)
{
    const bool is_one =
        !(fabs(values_s[1] - values_s[0]) > 0) && !(fabs(values_s[2] - values_s[0]) > 0);
    fprintf(out, "%s: %s", key, is_one ? "" : "[");
    for (uint32_t i = 0; i < (is_one ? 1u : SPAN_COUNT_); i++) {
        fprintf(out, "%s%.15g us", i == 0 ? "" : ", ", 1e6 * values_s[i]);
    }
    fputs(is_one ? ", " : "], ", out);
}

static void print_rates(const char *key, const double *values, FILE *out)
{
    fprintf(out, ", %s: [", key);
    for (uint32_t i = 0; i < SPAN_COUNT_; i++) {
        fprintf(out, "%s%.15g GB/s", i == 0 ? "" : ", ",
                fmin(values[i], NO_LIMIT_BYTES_PER_S) / 1e9);
    }
    fputs("]", out);
}

static void print_group(const struct calibration *calibration,
                        const struct calibration_group *group, FILE *out)
{
    const struct library_cost *cost = &calibration->library->architectures[group->architecture]
                                           .costs[group->pair.algorithm][group->pair.protocol];
    fprintf(out,
            "      # %u points, median error %.1f %%, 90 %% of them within %.1f %%\n"
            "      %s: {",
            group->points, 100.0 * group->median, 100.0 * group->p90, protocol_name(group));
    print_latencies("launch", cost->launch_s, out);
    print_latencies("base", cost->base_s, out);
    print_latencies("nvlink", cost->round_s[LIBRARY_SCALE_UP], out);
    print_latencies("network", cost->round_s[LIBRARY_NETWORK], out);
    fprintf(out, "efficiency: [%.15g, %.15g, %.15g]", cost->efficiency[0], cost->efficiency[1],
            cost->efficiency[2]);
    print_rates("maximum", cost->maximum_bytes_per_s, out);
    print_rates("maximum_per_channel", cost->channel_maximum_bytes_per_s, out);
    fputs("}\n", out);
}

/* What the machine was seen to run, so that the library chooses it. */
static void print_choices(const struct library_architecture *architecture, FILE *out)
{
    fputs("    choices: # what was measured to run is what is predicted\n", out);
    for (uint32_t i = 0; i < architecture->choice_count; i++) {
        const struct library_choice *choice = &architecture->choices[i];
        fprintf(out, "    - {operation: %s, nodes: %lld, gpus: %lld, from: %.17g B, ",
                collective_operation_names[choice->operation], (long long)choice->nodes,
                (long long)choice->gpus, choice->from_bytes);
        if (choice->to_bytes < NO_LIMIT_BYTES) {
            fprintf(out, "to: %.17g B, ", choice->to_bytes);
        }
        fprintf(out, "algorithm: %s, protocol: %s}\n",
                collective_algorithm_names[choice->algorithm],
                collective_protocol_names[choice->protocol]);
    }
}

static bool print_algorithm(const struct calibration *calibration, uint32_t architecture,
                            uint32_t algorithm, FILE *out)
{
    bool has_any = false;
    for (uint32_t i = 0; i < calibration->group_count; i++) {
        const struct calibration_group *group = &calibration->groups[i];
        if (!group->is_fitted || group->architecture != architecture ||
            group->pair.algorithm != algorithm) {
            continue;
        }
        if (!has_any) {
            fprintf(out, "    %s:\n", collective_algorithm_names[algorithm]);
        }
        print_group(calibration, group, out);
        has_any = true;
    }
    return has_any;
}

static bool is_measured(const struct calibration *calibration, uint32_t architecture)
{
    for (uint32_t i = 0; i < calibration->group_count; i++) {
        if (calibration->groups[i].is_fitted &&
            calibration->groups[i].architecture == architecture) {
            return true;
        }
    }
    return false;
}

/* The measurements' sources, each once. */
static const char *sources_of(struct arena *arena, const struct collectives_shown *shown)
{
    const char *text = "";
    for (uint32_t i = 0; i < shown->list->count; i++) {
        const char *source = shown->list->items[i].source;
        if (source != NULL && strstr(text, source) == NULL) {
            text = arena_printf(arena, "%s%s%s", text, text[0] != '\0' ? "; " : "", source);
        }
    }
    return text[0] != '\0' ? text : "measurements that name no source";
}

void collectives_write(struct arena *arena, const struct collectives_shown *shown,
                       const struct calibration *calibration, FILE *out)
{
    fprintf(out,
            "# Constants of %s, fitted by stoker calibrate (%s). A cluster uses them by\n"
            "#     collectives: {library: ./%s.yaml}\n"
            "# Median error over all points: %.1f %% before, %.1f %% after.\n"
            "library: %s\nextends: %s\ntitle: %s, calibrated\nsource: %s\nfitted:\n"
            "  provenance: fitted\n  source: %s\n",
            shown->base, stoker_version(), shown->name, 100.0 * calibration->before.median,
            100.0 * calibration->after.median, shown->name, shown->base, shown->base,
            json_quoted(arena, sources_of(arena, shown)),
            json_quoted(arena, "linear regression on relative errors, robust to outliers"));
    for (uint32_t i = 0; i < GPU_ARCHITECTURE_COUNT_; i++) {
        if (!is_measured(calibration, i)) {
            continue;
        }
        const struct library_architecture *architecture = &calibration->library->architectures[i];
        fprintf(out, "  %s:\n    sizes: {from: %.17g B, to: %.17g B}\n", gpu_architecture_names[i],
                architecture->fitted_from_bytes, architecture->fitted_to_bytes);
        print_choices(architecture, out);
        for (uint32_t a = 0; a < ALGORITHM_COUNT_; a++) {
            (void)print_algorithm(calibration, i, a, out);
        }
    }
}

/* ---- what was fitted ---------------------------------------------------------------------- */

/* What is known of an unknown: slownesses are told as efficiencies. */
struct known {
    double value, error; /* ABSENT: it is the library's own */
    bool is_fitted, is_at_limit;
};

static const char *const unknown_keys[UNKNOWN_COUNT_] = {
    "base_s",
    "nvlink_s",
    "network_s",
    "efficiency_one_node",
    "efficiency_two_nodes",
    "efficiency_many_nodes",
};

static struct known known_of(const struct calibration_group *group, uint32_t unknown)
{
    const bool is_slowness = unknown >= UNKNOWN_SLOWNESS;
    const double value = group->value[unknown];
    const double error = group->error[unknown];
    const bool is_fitted = group->is_fitted && group->is_free[unknown];
    return (struct known){
        .value = is_slowness ? 1.0 / value : value,
        .error = !is_fitted    ? ABSENT
                 : is_slowness ? error / (value * value)
                               : error,
        .is_fitted = is_fitted,
        .is_at_limit = group->is_fitted && group->is_held[unknown],
    };
}

/* "12.3 +- 0.4", or what the library says when the data cannot tell. */
static void say_unknown(struct sheet *table, const struct known *known, double scale)
{
    if (known->is_at_limit) {
        sheet_say(table, "%.3g (limit)", scale * known->value);
    } else if (known->is_fitted) {
        sheet_say(table, "%.3g +- %.2g", scale * known->value, scale * known->error);
    } else {
        sheet_say(table, "(%.3g)", scale * known->value);
    }
}

static void add_group(struct sheet *array, struct sheet *table,
                      const struct calibration_group *group)
{
    static const struct field fields[] = {
        {"value", FIELD_AT(struct known, value)},
        {"is_fitted", FIELD_AT(struct known, is_fitted)},
        {"is_at_limit", FIELD_AT(struct known, is_at_limit)},
        {"standard_error", FIELD_AT(struct known, error)},
    };
    const char *const names[] = {gpu_architecture_names[group->architecture], algorithm_name(group),
                                 protocol_name(group)};
    static const char *const keys[] = {"architecture", "algorithm", "protocol"};
    struct sheet *object = sheet_object(array, NULL);
    for (uint32_t i = 0; i < LENGTH(names); i++) {
        sheet_text(object, keys[i], names[i]);
        sheet_text(table, NULL, names[i]);
    }
    sheet_integer(object, "points", group->points);
    sheet_integer(table, NULL, group->points);
    sheet_bool(object, "is_fitted", group->is_fitted);
    sheet_text(object, "reason", group->is_fitted ? NULL : group->reason);
    for (uint32_t u = 0; u < UNKNOWN_COUNT_; u++) {
        const struct known known = known_of(group, u);
        sheet_members(sheet_object(object, unknown_keys[u]), fields, LENGTH(fields), &known);
        say_unknown(table, &known, u < UNKNOWN_SLOWNESS ? 1e6 : 1.0);
    }
    sheet_number(object, "median_error", group->is_fitted ? group->median : ABSENT);
    sheet_number(object, "p90_error", group->is_fitted ? group->p90 : ABSENT);
    sheet_number(table, NULL, group->median);
    sheet_number(table, NULL, group->p90);
}

static void add_errors(struct sheet *in, const char *key, const struct curve_errors *errors)
{
    struct sheet *object = sheet_object(in, key);
    sheet_integer(object, "points", errors->count);
    sheet_number(object, "median", errors->count > 0 ? errors->median : ABSENT);
    sheet_number(object, "p90", errors->count > 0 ? errors->p90 : ABSENT);
}

void collectives_add_fit(const struct collectives_shown *shown,
                         const struct calibration *calibration, struct sheet *sheet)
{
    static const struct field fields[] = {
        {NULL, FIELD_LEFT("GPU")},
        {NULL, FIELD_LEFT("algorithm")},
        {NULL, FIELD_LEFT("protocol")},
        {NULL, FIELD_RIGHT("points", NULL, 1)},
        {NULL, FIELD_RIGHT("base us", NULL, 1)},
        {NULL, FIELD_RIGHT("NVLink us", NULL, 1)},
        {NULL, FIELD_RIGHT("network us", NULL, 1)},
        {NULL, FIELD_RIGHT("eff. 1 node", NULL, 1)},
        {NULL, FIELD_RIGHT("eff. 2", NULL, 1)},
        {NULL, FIELD_RIGHT("eff. more", NULL, 1)},
        {NULL, FIELD_RIGHT("median err %", "%.1f", 100)},
        {NULL, FIELD_RIGHT("p90 %", "%.1f", 100)},
    };
    const struct curve_errors *before = &calibration->before;
    const struct curve_errors *after = &calibration->after;
    sheet_text(sheet, "library", shown->name);
    sheet_text(sheet, "extends", shown->base);
    add_errors(sheet, "before", before);
    add_errors(sheet, "after", after);
    struct sheet *array = sheet_array(sheet, "groups");
    struct sheet *table = sheet_table(sheet, NULL, fields, LENGTH(fields));
    sheet_say(
        sheet,
        "\nIn brackets: the library's own value, where the measurements do not tell; (limit): "
        "no base, or links used in full.\n"
        "Error over all %u points: median %.1f %%, 90 %% within %.1f %%; before %.1f and "
        "%.1f %%.\n",
        after->count, 100.0 * after->median, 100.0 * after->p90, 100.0 * before->median,
        100.0 * before->p90);
    for (uint32_t i = 0; i < calibration->group_count; i++) {
        const struct calibration_group *group = &calibration->groups[i];
        add_group(array, table, group);
        if (!group->is_fitted) {
            sheet_say(sheet, "Not fitted: %s %s on %s, %s.\n", algorithm_name(group),
                      protocol_name(group), gpu_architecture_names[group->architecture],
                      group->reason);
        }
    }
}

/* ---- predictions beside measurements ---------------------------------------------------- */

/* "ring LL, nvls Simple": by rising size, each change once. */
static const char *choices_text(struct arena *arena, const struct collectives_shown *shown,
                                const struct curve *curve)
{
    const char *text = "";
    struct transfer_quote last = {.algorithm = ALGORITHM_COUNT_};
    for (uint32_t i = 0; i < curve->measurement->point_count; i++) {
        struct transfer_quote quote;
        curve_predict(curve, shown->library, curve->measurement->points[i].bytes, &quote);
        if (quote.algorithm != last.algorithm || quote.protocol != last.protocol) {
            text = arena_printf(arena, "%s%s%s %s", text, text[0] != '\0' ? ", " : "",
                                collective_algorithm_names[quote.algorithm],
                                collective_protocol_names[quote.protocol]);
        }
        last = quote;
    }
    return text;
}

static void add_error(struct sheet *table, const struct curve_errors *errors)
{
    sheet_number(table, NULL, errors->count > 0 ? errors->median : ABSENT);
}

static void add_curve(struct sheet *table, const struct collectives_shown *shown,
                      const struct curve *curve)
{
    struct arena *arena = sheet_arena(table);
    const struct measurement *measurement = curve->measurement;
    sheet_text(table, NULL, measurement->id);
    sheet_text(table, NULL, measurement->operation);
    sheet_integer(table, NULL, measurement->gpus);
    sheet_integer(table, NULL, measurement->point_count);
    if (curve->skipped != NULL) {
        for (uint32_t i = 0; i < 4; i++) {
            sheet_number(table, NULL, ABSENT);
        }
        sheet_text(table, NULL, arena_printf(arena, "skipped: %s", curve->skipped));
        return;
    }
    const struct curve_errors all = curve_errors_of(arena, curve, shown->library, 0.0);
    const struct curve_errors big = curve_errors_of(arena, curve, shown->library, BIG_BYTES);
    add_error(table, &all);
    add_error(table, &big);
    sheet_number(table, NULL, all.worst);
    sheet_number_as(table, NULL, all.worst_bytes,
                    number_quantity(arena, all.worst_bytes, DIM_BYTES));
    sheet_text(table, NULL, choices_text(arena, shown, curve));
}

/* The median over curves of their medians, and over all points. */
static void say_summary(struct sheet *sheet, const struct collectives_shown *shown,
                        double bytes_min, const char *name)
{
    struct arena *arena = sheet_arena(sheet);
    const uint32_t count = shown->list->count;
    double *medians = arena_array(arena, count + 1u, sizeof *medians);
    uint32_t scored = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (shown->curves[i].skipped != NULL) {
            continue;
        }
        const struct curve_errors errors =
            curve_errors_of(arena, &shown->curves[i], shown->library, bytes_min);
        if (errors.count > 0) {
            medians[scored++] = errors.median;
        }
    }
    const struct curve_errors all =
        curves_errors_of(arena, shown->curves, count, shown->library, bytes_min);
    sheet_say(sheet,
              "%s: %u of %u curves, median of their medians %.1f %%; %u points, median %.1f %%, "
              "p90 %.1f %%\n",
              name, scored, count, 100.0 * quantile_of(medians, scored, 0.5), all.count,
              100.0 * all.median, 100.0 * all.p90);
}

void collectives_add_check(const struct collectives_shown *shown, struct sheet *sheet)
{
    static const struct field fields[] = {
        {"curve", FIELD_LEFT("curve")},
        {"operation", FIELD_LEFT("operation")},
        {"gpus", FIELD_RIGHT("GPUs", NULL, 1)},
        {"points", FIELD_RIGHT("points", NULL, 1)},
        {"median_error", FIELD_RIGHT("median err %", "%.1f", 100)},
        {"median_error_64mib", FIELD_RIGHT("from 64 MiB", "%.1f", 100)},
        {"worst_error", FIELD_RIGHT("worst %", "%+.0f", 100)},
        {"worst_bytes", FIELD_RIGHT("at", NULL, 1)},
        {"choices", FIELD_LEFT("algorithm and protocol by rising size")},
    };
    struct sheet *table = sheet_table(sheet, "curves", fields, LENGTH(fields));
    for (uint32_t i = 0; i < shown->list->count; i++) {
        add_curve(table, shown, &shown->curves[i]);
    }
    sheet_say(sheet, "\n");
    say_summary(sheet, shown, 0.0, "all sizes");
    say_summary(sheet, shown, BIG_BYTES, "from 64 MiB");
}

/* ---- the picture -------------------------------------------------------------------------- */

static double bandwidth(const struct curve *curve, const struct library *library, double bytes)
{
    struct transfer_quote quote;
    curve_predict(curve, library, bytes, &quote);
    return measurement_bus_factor(curve->measurement->operation, curve->shape.ranks) * bytes /
           quote.time_s;
}

static struct panel panel_of(struct arena *arena, const struct collectives_shown *shown,
                             const struct curve *curve)
{
    const struct measurement *measurement = curve->measurement;
    const double factor = measurement_bus_factor(measurement->operation, curve->shape.ranks);
    const struct library *before = shown->before;
    struct panel_point *points = arena_array(arena, measurement->point_count, sizeof *points);
    for (uint32_t i = 0; i < measurement->point_count; i++) {
        const struct measured_point *point = &measurement->points[i];
        points[i] = (struct panel_point){
            .bytes = point->bytes,
            .measured = factor * point->bytes / point->time_s,
            .before = before != NULL ? bandwidth(curve, before, point->bytes) : ABSENT,
            .predicted = bandwidth(curve, shown->library, point->bytes)};
    }
    return (struct panel){
        .name = measurement->id,
        .points = points,
        .count = measurement->point_count,
        .error = curve_errors_of(arena, curve, shown->library, 0).median,
        .error_before = before != NULL ? curve_errors_of(arena, curve, before, 0).median : ABSENT};
}

bool collectives_draw(struct arena *arena, const struct collectives_shown *shown,
                      const char *path_base, uint32_t size, struct diag *diag)
{
    const uint32_t count = shown->list->count;
    struct panel *items = arena_array(arena, count, sizeof *items);
    struct panels panels = {.items = items};
    for (uint32_t i = 0; i < count; i++) {
        if (shown->curves[i].skipped == NULL) {
            items[panels.count++] = panel_of(arena, shown, &shown->curves[i]);
        }
    }
    if (panels.count == 0) {
        return true;
    }
    panels.error = curves_errors_of(arena, shown->curves, count, shown->library, 0).median;
    panels.error_before =
        shown->before != NULL
            ? curves_errors_of(arena, shown->curves, count, shown->before, 0).median
            : ABSENT;
    return plot_panels(arena, &panels,
                       &(struct plot_request){.title = "Collectives, measured and predicted",
                                              .path_base = path_base,
                                              .size = size},
                       diag);
}
