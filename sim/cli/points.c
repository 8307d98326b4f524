#include "cli/points.h"

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
        if (points_is_good(&rows[i]) && rows[i].days > 0) {
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

static void put_axes(struct json *json, const struct store_row *row)
{
    json_object_open(json, "axes");
    for (uint32_t i = 0; i < row->axis_count; i++) {
        json_object_open(json, row->axes[i]);
        json_text(json, "text", row->value_texts[i]);
        json_number(json, "value", row->values[i]);
        json_object_close(json);
    }
    json_object_close(json);
}

static void put_prediction(struct json *json, const struct store_row *row)
{
    json_text(json, "run_key", row->run_key);
    json_text(json, "cluster", row->cluster);
    json_text(json, "gpu", row->gpu);
    json_integer(json, "gpus", row->gpus);
    json_number(json, "step_time_s", row->step_s);
    json_number(json, "tokens_per_s_per_gpu", row->tokens_per_s_per_gpu);
    json_number(json, "tflops_per_gpu", row->tflops_per_gpu);
    json_number(json, "mfu", row->mfu);
    json_number(json, "hfu", row->hfu);
    json_object_open(json, "memory");
    json_number(json, "peak_bytes", row->memory_peak_bytes);
    json_number(json, "limit_bytes", row->memory_limit_bytes);
    json_bool(json, "fits", row->fits);
    json_object_close(json);
    json_object_open(json, "breakdown");
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        json_number(json, cause_names[cause], row->breakdown_s[cause]);
    }
    json_object_close(json);
    json_object_open(json, "run");
    json_number(json, "days", row->days);
    json_number(json, "gpu_hours", row->gpu_hours);
    json_number(json, "goodput", row->goodput);
    json_number(json, "cost_usd", row->cost_usd);
    json_number(json, "energy_kwh", row->energy_kwh);
    json_object_close(json);
    json_text(json, "bound_by", row->bound_by);
}

void points_json_members(struct json *json, const struct store_row *row)
{
    json_integer(json, "number", row->number);
    json_text(json, "label", row->label);
    put_axes(json, row);
    json_text(json, "status", point_status_names[row->status]);
    json_text(json, "message", row->message);
    if (row->has_run) {
        put_prediction(json, row);
    }
}

const char *points_metric(struct arena *arena, const struct plot_metric *metric,
                          const struct store_row *row)
{
    return arena_printf(arena, metric->format, plot_metric_value(metric, row));
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
