/* Prints what a calibration of collectives found, in three forms: as a library
 * file that can take the old one's place, as a table of errors, and as JSON.
 */
#include "cli/calibrate.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/listing.h"
#include "report/numbers.h"
#include "base/version.h"
#include "base/json.h"
#include "lab/quantile.h"

#include <math.h>
#include <string.h>

static const double NO_LIMIT_BYTES_PER_S = 1e15;
static const double BIG_BYTES = 67108864.0; /* 64 MiB */

static const char *protocol_name(const struct calibration_group *group)
{
    return library_protocol_names[group->pair.protocol];
}

static const char *algorithm_name(const struct calibration_group *group)
{
    return library_algorithm_names[group->pair.algorithm];
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
    print_latencies("nvlink", cost->round_s[LIBRARY_NVLINK], out);
    print_latencies("network", cost->round_s[LIBRARY_NETWORK], out);
    fprintf(out, "efficiency: [%.15g, %.15g, %.15g]", cost->efficiency[0], cost->efficiency[1],
            cost->efficiency[2]);
    print_rates("maximum", cost->maximum_bytes_per_s, out);
    print_rates("maximum_per_channel", cost->channel_maximum_bytes_per_s, out);
    fputs("}\n", out);
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
            fprintf(out, "    %s:\n", library_algorithm_names[algorithm]);
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
static const char *sources_of(const struct calibrator *calibrator)
{
    struct arena *arena = calibrator->options.cli->arena;
    const char *text = "";
    for (uint32_t i = 0; i < calibrator->list.count; i++) {
        const char *source = calibrator->list.items[i].source;
        if (source != NULL && strstr(text, source) == NULL) {
            text = arena_printf(arena, "%s%s%s", text, text[0] != '\0' ? "; " : "", source);
        }
    }
    return text[0] != '\0' ? text : "measurements that name no source";
}

void calibrate_print_yaml(const struct calibrator *calibrator,
                          const struct calibration *calibration, FILE *out)
{
    struct arena *arena = calibrator->options.cli->arena;
    fprintf(out,
            "# Constants of %s, fitted by stoker calibrate (%s). A cluster uses them by\n"
            "#     collectives: {library: ./%s.yaml}\n"
            "# Median error over all points: %.1f %% before, %.1f %% after.\n"
            "library: %s\nextends: %s\ntitle: %s, calibrated\nsource: %s\nfitted:\n"
            "  provenance: fitted\n  source: %s\n",
            calibrator->base, stoker_version(), calibrator->name,
            100.0 * calibration->before.median, 100.0 * calibration->after.median, calibrator->name,
            calibrator->base, calibrator->base, json_quoted(arena, sources_of(calibrator)),
            json_quoted(arena, "linear regression on relative errors, robust to outliers"));
    for (uint32_t i = 0; i < GPU_ARCHITECTURE_COUNT_; i++) {
        if (!is_measured(calibration, i)) {
            continue;
        }
        const struct library_architecture *architecture = &calibration->library->architectures[i];
        fprintf(out, "  %s:\n    sizes: {from: %.17g B, to: %.17g B}\n", gpu_architecture_names[i],
                architecture->fitted_from_bytes, architecture->fitted_to_bytes);
        for (uint32_t a = 0; a < LIBRARY_ALGORITHM_COUNT; a++) {
            (void)print_algorithm(calibration, i, a, out);
        }
    }
}

/* ---- what was fitted ---------------------------------------------------------------------- */

/* A slowness as an efficiency, with its standard error. */
static double efficiency_error(const struct calibration_group *group, uint32_t unknown)
{
    return group->error[unknown] / (group->value[unknown] * group->value[unknown]);
}

static void print_unknown_json(struct json *json, const char *key,
                               const struct calibration_group *group, uint32_t unknown)
{
    const bool is_slowness = unknown >= UNKNOWN_SLOWNESS;
    json_object_open(json, key);
    json_number(json, "value", is_slowness ? 1.0 / group->value[unknown] : group->value[unknown]);
    json_bool(json, "is_fitted", group->is_fitted && group->is_free[unknown]);
    json_bool(json, "is_at_limit", group->is_fitted && group->is_held[unknown]);
    const double error = is_slowness ? efficiency_error(group, unknown) : group->error[unknown];
    const bool is_fitted = group->is_fitted && group->is_free[unknown];
    json_number_or_null(json, "standard_error", is_fitted ? error : ABSENT);
    json_object_close(json);
}

static void print_group_json(struct json *json, const struct calibration_group *group)
{
    json_object_open(json, NULL);
    json_text(json, "architecture", gpu_architecture_names[group->architecture]);
    json_text(json, "algorithm", algorithm_name(group));
    json_text(json, "protocol", protocol_name(group));
    json_integer(json, "points", group->points);
    json_bool(json, "is_fitted", group->is_fitted);
    json_text_or_null(json, "reason", group->is_fitted ? NULL : group->reason);
    print_unknown_json(json, "base_s", group, UNKNOWN_BASE);
    print_unknown_json(json, "nvlink_s", group, UNKNOWN_NVLINK);
    print_unknown_json(json, "network_s", group, UNKNOWN_NETWORK);
    print_unknown_json(json, "efficiency_one_node", group, UNKNOWN_SLOWNESS);
    print_unknown_json(json, "efficiency_two_nodes", group, UNKNOWN_SLOWNESS + SPAN_TWO_NODES);
    print_unknown_json(json, "efficiency_many_nodes", group, UNKNOWN_SLOWNESS + SPAN_MANY_NODES);
    json_number_or_null(json, "median_error", group->is_fitted ? group->median : ABSENT);
    json_number_or_null(json, "p90_error", group->is_fitted ? group->p90 : ABSENT);
    json_object_close(json);
}

static void print_errors_json(struct json *json, const char *key, const struct curve_errors *errors)
{
    json_object_open(json, key);
    json_integer(json, "points", errors->count);
    const bool has_points = errors->count > 0;
    json_number_or_null(json, "median", has_points ? errors->median : ABSENT);
    json_number_or_null(json, "p90", has_points ? errors->p90 : ABSENT);
    json_object_close(json);
}

static void print_fit_json(const struct calibrator *calibrator,
                           const struct calibration *calibration, FILE *out)
{
    struct json json;
    json_begin(&json, out);
    json_object_open(&json, NULL);
    json_text(&json, "schema", "stoker.calibrate/1");
    json_text(&json, "library", calibrator->name);
    json_text(&json, "extends", calibrator->base);
    print_errors_json(&json, "before", &calibration->before);
    print_errors_json(&json, "after", &calibration->after);
    json_array_open(&json, "groups");
    for (uint32_t i = 0; i < calibration->group_count; i++) {
        print_group_json(&json, &calibration->groups[i]);
    }
    json_array_close(&json);
    json_object_close(&json);
    json_end(&json);
}

/* "12.3 +- 0.4", or what the library says when the data cannot tell. */
static const char *unknown_text(struct arena *arena, const struct calibration_group *group,
                                uint32_t unknown)
{
    const bool is_slowness = unknown >= UNKNOWN_SLOWNESS;
    const double value = is_slowness ? 1.0 / group->value[unknown] : 1e6 * group->value[unknown];
    const double error =
        is_slowness ? efficiency_error(group, unknown) : 1e6 * group->error[unknown];
    if (group->is_fitted && group->is_held[unknown]) {
        return arena_printf(arena, "%.3g (limit)", value);
    }
    return group->is_fitted && group->is_free[unknown]
               ? arena_printf(arena, "%.3g +- %.2g", value, error)
               : arena_printf(arena, "(%.3g)", value);
}

static void add_group_row(struct listing *listing, const struct calibration_group *group)
{
    struct arena *arena = listing->arena;
    listing_text(listing, gpu_architecture_names[group->architecture]);
    listing_text(listing, algorithm_name(group));
    listing_text(listing, protocol_name(group));
    listing_count(listing, group->points);
    for (uint32_t u = 0; u < UNKNOWN_COUNT_; u++) {
        listing_number(listing, group->value[u], unknown_text(arena, group, u));
    }
    listing_number(listing, group->median, arena_printf(arena, "%.1f", 100.0 * group->median));
    listing_number(listing, group->p90, arena_printf(arena, "%.1f", 100.0 * group->p90));
}

void calibrate_print_fit(const struct calibrator *calibrator, const struct calibration *calibration,
                         bool is_json, FILE *out)
{
    if (is_json) {
        print_fit_json(calibrator, calibration, out);
        return;
    }
    static const char *const heads[] = {"GPU",     "algorithm", "protocol",     "points",
                                        "base us", "NVLink us", "network us",   "eff. 1 node",
                                        "eff. 2",  "eff. more", "median err %", "p90 %"};
    struct listing listing;
    listing_init(&listing, calibrator->options.cli->arena, "stoker.calibrate/1", "groups");
    for (uint32_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        listing_column(&listing, heads[i], heads[i], i >= 3);
    }
    for (uint32_t i = 0; i < calibration->group_count; i++) {
        add_group_row(&listing, &calibration->groups[i]);
    }
    listing_print(&listing, false, out);
    fprintf(
        out,
        "\nIn brackets: the library's own value, where the measurements do not tell; (limit): no "
        "base, or links used in full.\n"
        "Error over all %u points: median %.1f %%, 90 %% within %.1f %%; before %.1f and "
        "%.1f %%.\n",
        calibration->after.count, 100.0 * calibration->after.median, 100.0 * calibration->after.p90,
        100.0 * calibration->before.median, 100.0 * calibration->before.p90);
    for (uint32_t i = 0; i < calibration->group_count; i++) {
        const struct calibration_group *group = &calibration->groups[i];
        if (!group->is_fitted) {
            fprintf(out, "Not fitted: %s %s on %s, %s.\n", algorithm_name(group),
                    protocol_name(group), gpu_architecture_names[group->architecture],
                    group->reason);
        }
    }
}

/* ---- predictions beside measurements ---------------------------------------------------- */

/* "ring LL, nvls Simple": by rising size, each change once. */
static const char *choices_text(const struct calibrator *calibrator, const struct curve *curve)
{
    struct arena *arena = calibrator->options.cli->arena;
    const char *text = "";
    struct transfer_quote last = {.algorithm = ALGORITHM_COUNT_};
    for (uint32_t i = 0; i < curve->measurement->point_count; i++) {
        struct transfer_quote quote;
        curve_predict(curve, calibrator->library, curve->measurement->points[i].bytes, &quote);
        if (quote.algorithm != last.algorithm || quote.protocol != last.protocol) {
            text = arena_printf(arena, "%s%s%s %s", text, text[0] != '\0' ? ", " : "",
                                library_algorithm_names[quote.algorithm],
                                library_protocol_names[quote.protocol]);
        }
        last = quote;
    }
    return text;
}

static void add_error(struct listing *listing, const struct curve_errors *errors)
{
    listing_number(listing, errors->median,
                   errors->count > 0 ? arena_printf(listing->arena, "%.1f", 100.0 * errors->median)
                                     : "-");
}

static void add_curve_row(struct listing *listing, const struct calibrator *calibrator,
                          const struct curve *curve)
{
    struct arena *arena = listing->arena;
    const struct measurement *measurement = curve->measurement;
    listing_text(listing, measurement->id);
    listing_text(listing, measurement->operation);
    listing_count(listing, measurement->gpus);
    listing_count(listing, measurement->point_count);
    if (curve->skipped != NULL) {
        for (uint32_t i = 0; i < 4; i++) {
            listing_number(listing, 0.0, "-");
        }
        listing_text(listing, arena_printf(arena, "skipped: %s", curve->skipped));
        return;
    }
    const struct curve_errors all = curve_errors_of(arena, curve, calibrator->library, 0.0);
    const struct curve_errors big = curve_errors_of(arena, curve, calibrator->library, BIG_BYTES);
    add_error(listing, &all);
    add_error(listing, &big);
    listing_number(listing, all.worst, arena_printf(arena, "%+.0f", 100.0 * all.worst));
    listing_number(listing, all.worst_bytes, number_quantity(arena, all.worst_bytes, DIM_BYTES));
    listing_text(listing, choices_text(calibrator, curve));
}

/* The median over curves of their medians, and over all points. */
static void print_summary(const struct calibrator *calibrator, double bytes_min, const char *name,
                          FILE *out)
{
    struct arena *arena = calibrator->options.cli->arena;
    const uint32_t count = calibrator->list.count;
    double *medians = arena_array(arena, count + 1u, sizeof *medians);
    uint32_t scored = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (calibrator->curves[i].skipped != NULL) {
            continue;
        }
        const struct curve_errors errors =
            curve_errors_of(arena, &calibrator->curves[i], calibrator->library, bytes_min);
        if (errors.count > 0) {
            medians[scored++] = errors.median;
        }
    }
    const struct curve_errors all =
        curves_errors_of(arena, calibrator->curves, count, calibrator->library, bytes_min);
    fprintf(out,
            "%s: %u of %u curves, median of their medians %.1f %%; %u points, median %.1f %%, "
            "p90 %.1f %%\n",
            name, scored, count, 100.0 * quantile_of(medians, scored, 0.5), all.count,
            100.0 * all.median, 100.0 * all.p90);
}

void calibrate_print_check(const struct calibrator *calibrator, FILE *out)
{
    static const struct listing_column columns[] = {
        {"curve", "curve", false},
        {"operation", "operation", false},
        {"gpus", "GPUs", true},
        {"points", "points", true},
        {"median_error", "median err %", true},
        {"median_error_64mib", "from 64 MiB", true},
        {"worst_error", "worst %", true},
        {"worst_bytes", "at", true},
        {"choices", "algorithm and protocol by rising size", false},
    };
    struct listing listing;
    listing_init(&listing, calibrator->options.cli->arena, "stoker.calibrate-check/1", "curves");
    for (uint32_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        listing_column(&listing, columns[i].key, columns[i].head, columns[i].is_number);
    }
    for (uint32_t i = 0; i < calibrator->list.count; i++) {
        add_curve_row(&listing, calibrator, &calibrator->curves[i]);
    }
    listing_print(&listing, calibrator->options.is_json, out);
    if (!calibrator->options.is_json) {
        fputs("\n", out);
        print_summary(calibrator, 0.0, "all sizes", out);
        print_summary(calibrator, BIG_BYTES, "from 64 MiB", out);
    }
}
