/* The document of `stoker validate --json`: fractions, not per cent. */
#include "base/arena.h"
#include "cli/validate.h"
#include "cli/version.h"
#include "out/json.h"

static void put_row(struct json *json, const struct validated_row *row)
{
    json_object_open(json, NULL);
    json_text(json, "id", row->id);
    json_text(json, "config_key", row->config_key);
    json_text(json, "source", row->source);
    json_text(json, "status", row_status_names[row->status]);
    json_text(json, "reason", row->reason);
    json_number(json, "predicted_step_s", row->predicted_s);
    json_number(json, "measured_step_s", row->measured_s);
    json_number(json, "error", row->error);
    json_bool(json, "is_scored", score_is_scored(row));
    json_text(json, "suspect", row->suspect);
    json_text(json, "filled", row->filled);
    json_text(json, "software", row->software);
    json_text(json, "gpu", row->gpu_file);
    json_integer(json, "gpus", row->gpus);
    json_bool(json, "fits", row->fits);
    json_number(json, "compute_share", row->compute_share);
    json_text(json, "largest_cause", row->largest_cause);
    json_number(json, "largest_share", row->largest_share);
    json_object_close(json);
}

static void put_score(struct json *json, const struct score *score)
{
    json_integer(json, "votes", score->votes);
    json_number(json, "mean_ape", score->mean_ape);
    json_number(json, "macro_mape", score->macro_mape);
    json_number(json, "median_ape", score->median_ape);
    json_number(json, "p90_ape", score->p90_ape);
    json_number(json, "bias", score->bias);
}

static void put_groups(struct json *json, const struct validation *validation,
                       enum score_grouping grouping)
{
    uint32_t count = 0;
    const struct score_group *groups =
        score_groups(validation->options.cli->arena, validation->scored, validation->scored_count,
                     grouping, &count);
    json_array_open(json, score_grouping_names[grouping]);
    for (uint32_t i = 0; i < count; i++) {
        json_object_open(json, NULL);
        json_text(json, "name", groups[i].name);
        json_integer(json, "rows", groups[i].score.rows);
        put_score(json, &groups[i].score);
        if (groups[i].has_rank) {
            json_number(json, "rank_correlation", groups[i].rank);
        }
        json_object_close(json);
    }
    json_array_close(json);
}

static void put_baselines(struct json *json, const struct validation *validation)
{
    json_array_open(json, "baselines");
    for (uint32_t i = 0; i < BASELINE_COUNT_; i++) {
        const struct baseline baseline = score_baseline(
            validation->options.cli->arena, validation->scored, validation->scored_count, i);
        json_object_open(json, NULL);
        json_text(json, "name", baseline_titles[i]);
        json_integer(json, "constants", baseline.constants);
        put_score(json, &baseline.score);
        json_object_close(json);
    }
    json_array_close(json);
}

static void put_summary(struct json *json, const struct validation *validation)
{
    struct arena *arena = validation->options.cli->arena;
    const struct score score = score_rows(arena, validation->scored, validation->scored_count);
    const struct score suspects = score_rows(arena, validation->suspect, validation->suspect_count);
    json_object_open(json, "summary");
    json_integer(json, "rows", validation->row_count);
    json_integer(json, "scored", validation->scored_count);
    json_integer(json, "skipped", validation->skipped_count);
    json_integer(json, "suspect", validation->suspect_count);
    put_score(json, &score);
    json_object_open(json, "suspect_rows");
    put_score(json, &suspects);
    json_object_close(json);
    json_object_open(json, "groups");
    for (uint32_t i = 0; i < SCORE_GROUPING_COUNT_; i++) {
        put_groups(json, validation, i);
    }
    json_object_close(json);
    put_baselines(json, validation);
    json_object_close(json);
}

void validate_print_json(const struct validation *validation, FILE *out)
{
    struct json json;
    json_begin(&json, out);
    json_object_open(&json, NULL);
    json_text(&json, "schema", "stoker.validate/1");
    json_text(&json, "version", stoker_version());
    json_text(&json, "file", validation->table->path);
    json_array_open(&json, "rows");
    for (uint32_t i = 0; i < validation->row_count; i++) {
        put_row(&json, &validation->rows[i]);
    }
    json_array_close(&json);
    put_summary(&json, validation);
    json_object_close(&json);
    json_end(&json);
}
