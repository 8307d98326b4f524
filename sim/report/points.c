/* The columns and JSON members that `sweep` and `compare` have in common: a
 * point's axes, its prediction, and the reason where it failed or does not
 * fit.
 */
#include "report/points.h"

#include "base/absent.h"
#include "base/arena.h"

#include <string.h>

#define REASON_CHARACTERS 100

bool points_is_good(const struct store_row *row)
{
    return row->status == POINT_OK && row->has_run;
}

bool points_have_runs(const struct store_row *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (points_is_good(&rows[i]) && !is_absent(rows[i].days)) {
            return true;
        }
    }
    return false;
}

/* The first characters of a text; three dots where more follow. */
static const char *shortened(struct arena *arena, const char *text)
{
    size_t length = strlen(text);
    if (length <= REASON_CHARACTERS) {
        return text;
    }
    length = REASON_CHARACTERS;
    while (((unsigned char)text[length] & 0xc0) == 0x80) {
        length--;
    }
    return arena_printf(arena, "%.*s...", (int)length, text);
}

const char *points_reason(struct arena *arena, const struct store_row *row)
{
    if (points_is_good(row)) {
        return "";
    }
    if (row->has_run && !row->fits && row->memory_peak_bytes <= row->memory_limit_bytes) {
        return "OOM: the host holds less than is offloaded";
    }
    if (row->has_run && !row->fits) {
        return arena_printf(arena, "OOM: needs %.1f GB of %.0f", row->memory_peak_bytes / 1e9,
                            row->memory_limit_bytes / 1e9);
    }
    return arena_printf(arena, "%s: %s", row->status == POINT_FAILED ? "failed" : "sizes",
                        shortened(arena, row->message));
}

/* NULL for a text that says nothing. */
static const char *said(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

static void put_axes(struct json *json, const struct store_row *row)
{
    json_object_open(json, "axes");
    for (uint32_t i = 0; i < row->axis_count; i++) {
        json_object_open(json, row->axes[i]);
        json_text(json, "text", row->value_texts[i]);
        json_number_or_null(json, "value", row->values[i]);
        json_object_close(json);
    }
    json_object_close(json);
}

static void put_prediction(struct json *json, const struct store_row *row)
{
    json_text_or_null(json, "run_key", said(row->run_key));
    json_text_or_null(json, "cluster", said(row->cluster));
    json_text_or_null(json, "gpu", said(row->gpu));
    json_number_or_null(json, "gpus", row->has_run ? (double)row->gpus : ABSENT);
    json_number_or_null(json, "step_time_s", row->step_s);
    json_number_or_null(json, "step_least_s", row->step_least_s);
    json_number_or_null(json, "step_most_s", row->step_most_s);
    json_number_or_null(json, "tokens_per_s_per_gpu", row->tokens_per_s_per_gpu);
    json_number_or_null(json, "tflops_per_gpu", row->tflops_per_gpu);
    json_number_or_null(json, "mfu", row->mfu);
    json_number_or_null(json, "hfu", row->hfu);
    json_object_open(json, "memory");
    json_number_or_null(json, "peak_bytes", row->memory_peak_bytes);
    json_number_or_null(json, "limit_bytes", row->memory_limit_bytes);
    if (row->has_run) {
        json_bool(json, "fits", row->fits);
    } else {
        json_null(json, "fits");
    }
    json_object_close(json);
    json_object_open(json, "breakdown");
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        json_number_or_null(json, cause_names[cause], row->breakdown_s[cause]);
    }
    json_object_close(json);
    json_object_open(json, "run");
    json_number_or_null(json, "days", row->days);
    json_number_or_null(json, "gpu_hours", row->gpu_hours);
    json_number_or_null(json, "goodput", row->goodput);
    json_number_or_null(json, "cost_usd", row->cost_usd);
    json_number_or_null(json, "energy_kwh", row->energy_kwh);
    json_object_close(json);
    json_text_or_null(json, "bound_by", said(row->bound_by));
}

void points_json_members(struct json *json, const struct store_row *row)
{
    json_integer(json, "number", row->number);
    json_text(json, "label", row->label);
    put_axes(json, row);
    json_text(json, "status", point_status_names[row->status]);
    json_text_or_null(json, "message", said(row->message));
    put_prediction(json, row);
}

bool points_have_spreads(const struct store_row *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (points_is_good(&rows[i]) && !is_absent(rows[i].step_least_s)) {
            return true;
        }
    }
    return false;
}

const char *points_spread(struct arena *arena, const struct store_row *row)
{
    return is_absent(row->step_least_s)
               ? "-"
               : arena_printf(arena, "%.2f to %.2f", row->step_least_s, row->step_most_s);
}

const char *points_metric(struct arena *arena, const struct plot_metric *metric,
                          const struct store_row *row)
{
    const double value = plot_metric_value(metric, row);
    return is_absent(value) ? "-" : arena_printf(arena, metric->format, value);
}

/* Shorter than the titles of the plots' axes. */
const char *points_metric_head(const struct plot_metric *metric)
{
    static const struct {
        const char *name;
        const char *head;
    } heads[] = {
        {"mfu", "MFU %"},
        {"hfu", "HFU %"},
        {"tokens_per_s_per_gpu", "tokens/s/GPU"},
        {"tflops_per_gpu", "TFLOP/s/GPU"},
        {"step_s", "step s"},
        {"days", "days"},
        {"cost_usd", "M USD"},
        {"energy_kwh", "MWh"},
        {"memory_peak_bytes", "peak GB"},
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        if (strcmp(heads[i].name, metric->name) == 0) {
            return heads[i].head;
        }
    }
    return metric->title;
}
