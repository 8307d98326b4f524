/* Writes the document of `stoker validate --json`. Errors in it are fractions,
 * not per cent.
 */
#include "base/absent.h"
#include "base/arena.h"
#include "cli/validate.h"
#include "base/version.h"
#include "base/json.h"

/* NULL for a text that says nothing. */
static const char *said(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

static void put_if(struct json *json, const char *key, bool exists, double value)
{
    json_number_or_null(json, key, exists ? value : ABSENT);
}

/* A row that was skipped has no prediction, one that says no step time no error. */
static void put_row(struct json *json, const struct validated_row *row)
{
    const bool is_predicted = row->status == ROW_OK;
    const bool is_measured = row->measured_s > 0;
    json_object_open(json, NULL);
    json_text(json, "id", row->id);
    json_text(json, "config_key", row->config_key);
    json_text(json, "source", row->source);
    json_text(json, "status", row_status_names[row->status]);
    json_text_or_null(json, "reason", said(row->reason));
    put_if(json, "predicted_step_s", is_predicted, row->predicted_s);
    put_if(json, "measured_step_s", is_measured, row->measured_s);
    put_if(json, "error", is_predicted && is_measured, row->error);
    json_bool(json, "is_scored", score_is_scored(row));
    json_text_or_null(json, "suspect", said(row->suspect));
    json_text_or_null(json, "filled", said(row->filled));
    json_text_or_null(json, "software", said(row->software));
    json_text_or_null(json, "gpu", said(row->gpu_file));
    put_if(json, "gpus", is_predicted, (double)row->gpus);
    if (is_predicted) {
        json_bool(json, "fits", row->fits);
    } else {
        json_null(json, "fits");
    }
    put_if(json, "compute_share", is_predicted, row->compute_share);
    json_text_or_null(json, "largest_cause", said(row->largest_cause));
    put_if(json, "largest_share", is_predicted, row->largest_share);
    json_object_close(json);
}

static void put_score(struct json *json, const struct score *score)
{
    json_integer(json, "votes", score->votes);
    const bool has_votes = score->votes > 0;
    put_if(json, "mean_ape", has_votes, score->mean);
    put_if(json, "macro_mape", has_votes, score->macro);
    put_if(json, "median_ape", has_votes, score->median);
    put_if(json, "p90_ape", has_votes, score->p90);
    put_if(json, "bias", has_votes, score->bias);
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
        put_if(json, "rank_correlation", groups[i].has_rank, groups[i].rank);
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
