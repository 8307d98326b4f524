/* The document that `stoker run --json` prints, section by section. A figure
 * that does not exist (the days of a run that nobody asked for, the MFU of a
 * plan that does not fit) is null, never 0.
 */
#include "report/screen.h"

#include "base/absent.h"
#include "base/version.h"

/* NULL for a text that says nothing. */
static const char *said(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : NULL;
}

/* A number that exists if `exists`. */
static void put_if(struct json *json, const char *key, bool exists, double value)
{
    json_number_or_null(json, key, exists ? value : ABSENT);
}

static void put_memory(struct json *json, const struct step_result *step)
{
    const struct memory_use *use = &step->memory.worst;
    json_object_open(json, "memory");
    json_number(json, "peak_bytes", use->total_bytes);
    json_number(json, "limit_bytes", step->memory.limit_bytes);
    json_number(json, "weights", use->weights_bytes);
    json_number(json, "gradients", use->gradients_bytes);
    json_number(json, "optimizer", use->optimizer_bytes);
    json_number(json, "activations", use->activations_bytes);
    json_number(json, "logits", use->logits_bytes);
    json_number(json, "temporaries", use->temporary_bytes);
    json_number(json, "buffers", use->buffers_bytes);
    json_number(json, "overhead", use->overhead_bytes);
    json_number(json, "context", use->context_bytes);
    json_number(json, "communication", use->communication_bytes);
    json_number(json, "fragmentation", use->fragmentation_bytes);
    json_number(json, "host", use->host_bytes);
    json_text(json, "peak_at", memory_moment_names[use->moment]);
    json_integer(json, "peak_microbatch", use->microbatch);
    json_integer(json, "peak_chunk", use->chunk);
    json_bool(json, "fits", step->memory.fits);
    json_integer(json, "worst_stage", step->memory.worst_stage);
    json_text_or_null(json, "advice", said(step->memory_advice));
    json_object_close(json);
}

static void put_breakdown(struct json *json, const struct result *result)
{
    json_object_open(json, "breakdown");
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        const double gpu_s = (double)result->step.gpu_ns[cause] * 1e-9;
        put_if(json, cause_names[cause], result_has_step(result),
               gpu_s / (double)result->scenario->gpus);
    }
    json_object_close(json);
}

static void put_run(struct json *json, const struct result *result)
{
    const struct run_result *run = &result->run;
    const bool has_run = result_has_run(result);
    const bool has_checkpoints = result_has_checkpoints(result);
    json_object_open(json, "run");
    json_bool(json, "is_asked", run->is_asked);
    put_if(json, "days", has_run, run->days);
    put_if(json, "gpu_hours", has_run, run->gpu_hours);
    put_if(json, "goodput", has_run, run->goodput);
    put_if(json, "cost_usd", has_run, run->cost_usd);
    put_if(json, "energy_kwh", has_run, run->energy_kwh);
    put_if(json, "tokens", run->is_asked, run->tokens);
    put_if(json, "steps", run->is_asked, (double)run->steps);
    put_if(json, "checkpoints", has_run, (double)run->checkpoints);
    put_if(json, "checkpoint_bytes", has_checkpoints, run->checkpoint_bytes);
    put_if(json, "checkpoint_s", has_checkpoints, run->checkpoint_s);
    put_if(json, "data_stall_s", result_has_step(result), run->data_stall_s);
    json_object_close(json);
}

static void put_links(struct json *json, const struct result *result)
{
    const struct step_result *step = &result->step;
    json_array_open(json, "links");
    for (uint32_t i = 0; result_has_step(result) && i < step->link_use_count; i++) {
        const struct link_use *use = &step->link_uses[i];
        json_object_open(json, NULL);
        json_text(json, "kind", use->kind);
        json_integer(json, "count", use->count);
        json_text(json, "busiest", use->busiest);
        json_number(json, "bytes", use->bytes);
        json_integer(json, "capacity_bytes_per_s", use->capacity_bytes_per_s);
        json_number(json, "utilisation_max", use->utilisation_max);
        json_number(json, "utilisation_mean", use->utilisation_mean);
        json_object_close(json);
    }
    json_array_close(json);
    json_array_open(json, "busiest_links");
    for (uint32_t i = 0; result_has_step(result) && i < step->link_load_count; i++) {
        const struct link_load *load = &step->link_loads[i];
        json_object_open(json, NULL);
        json_text(json, "link", load->name);
        json_text(json, "kind", load->kind);
        json_number(json, "bytes", load->bytes);
        json_integer(json, "capacity_bytes_per_s", load->capacity_bytes_per_s);
        json_number(json, "utilisation", load->utilisation);
        json_object_close(json);
    }
    json_array_close(json);
}

static void put_transfers(struct json *json, const struct result *result)
{
    const struct step_result *step = &result->step;
    json_array_open(json, "transfers");
    for (uint32_t i = 0; result_has_step(result) && i < step->traffic_count; i++) {
        const struct traffic_use *use = &step->traffic[i];
        json_object_open(json, NULL);
        json_text(json, "stream", use->stream);
        json_text(json, "operation", use->operation);
        json_text(json, "algorithm", use->algorithm);
        json_text_or_null(json, "protocol", said(use->protocol));
        json_number(json, "bytes", use->bytes);
        json_number(json, "rank_bytes", use->rank_bytes);
        json_integer(json, "count", use->count);
        json_number(json, "latency_s", use->latency_s);
        json_number(json, "alone_s", use->alone_s);
        json_number(json, "slowdown", use->slowdown);
        json_text_or_null(json, "bottleneck", said(use->bottleneck));
        json_bool(json, "extrapolated", use->is_extrapolated);
        json_object_close(json);
    }
    json_array_close(json);
}

static void put_placement(struct json *json, const struct placement_use *use)
{
    json_object_open(json, "placement");
    json_integer(json, "domain_gpus", use->domain_gpus);
    json_integer(json, "segment_gpus", use->segment_gpus);
    json_integer(json, "used_gpus_per_domain", use->used_gpus);
    json_integer(json, "idle_gpus", use->idle_gpus);
    json_integer(json, "groups_across_domains", use->straddling);
    json_object_close(json);
}

static void put_jobs(struct json *json, const struct result *result)
{
    const struct step_result *step = &result->step;
    json_array_open(json, "jobs");
    for (uint32_t i = 0; result_has_step(result) && i < step->job_count; i++) {
        const struct job_use *use = &step->jobs[i];
        json_object_open(json, NULL);
        json_text(json, "scenario", use->title);
        json_integer(json, "gpus", use->gpus);
        json_integer(json, "steps", use->steps);
        json_number(json, "step_alone_s", use->step_alone_s);
        json_number(json, "step_s", use->step_s);
        json_object_close(json);
    }
    json_array_close(json);
}

static void put_assumptions(struct json *json, const struct assumptions *assumptions)
{
    json_array_open(json, "assumptions");
    for (size_t i = 0; i < assumptions->count; i++) {
        const struct assumption *item = &assumptions->items[i];
        json_object_open(json, NULL);
        json_text(json, "name", item->name);
        json_text(json, "value", item->value);
        json_text_or_null(json, "reason", said(item->reason));
        json_object_close(json);
    }
    json_array_close(json);
}

static void put_engine(struct json *json, const struct engine_use *use)
{
    json_object_open(json, "engine");
    json_integer(json, "ranks", use->ranks);
    json_integer(json, "ranks_simulated", use->ranks_simulated);
    json_integer(json, "links_simulated", use->links_simulated);
    json_integer(json, "tasks", use->tasks);
    json_integer(json, "events", use->events);
    json_integer(json, "solves", use->solves);
    json_integer(json, "fills", use->fills);
    json_integer(json, "flows_filled", use->flows_filled);
    json_integer(json, "region_max", use->region_max);
    json_number(json, "solve_s", use->solve_s);
    json_number(json, "host_s", use->host_s);
    json_integer(json, "host_peak_bytes", use->host_peak_bytes);
    json_object_close(json);
}

/* As papers count; beside ours for comparison. */
static void put_conventions(struct json *json, const struct result *result)
{
    const enum flop_convention asked = (enum flop_convention)result->mfu_convention;
    json_object_open(json, "mfu_by_convention");
    for (uint32_t i = 0; i < FLOP_CONVENTION_COUNT_; i++) {
        put_if(json, flop_convention_names[i], result_has_step(result),
               result_mfu_by(result, (enum flop_convention)i));
    }
    json_object_close(json);
    json_text(json, "mfu_convention", flop_convention_names[asked]);
}

/* Low and high of a figure that is in proportion to the step time, or to its inverse. */
static void put_range(struct json *json, const char *key, double low, double high)
{
    json_object_open(json, key);
    json_number_or_null(json, "p10", low);
    json_number_or_null(json, "p90", high);
    json_object_close(json);
}

static void put_band(struct json *json, const struct result *result)
{
    static const struct band none = {.like = "", .reason = "it was not asked for"};
    const struct band *band = result->band != NULL ? result->band : &none;
    const struct step_result *step = &result->step;
    const bool is_known = band->votes > 0;
    const double low = is_known ? band->low : ABSENT;
    const double high = is_known ? band->high : ABSENT;
    const double step_s = result_has_step(result) ? (double)step->step_ns * 1e-9 : ABSENT;
    const double days = result_has_run(result) ? result->run.days : ABSENT;
    const double tokens = result_has_step(result) ? step->tokens_per_s_per_gpu : ABSENT;
    const double mfu = result_has_step(result) ? step->mfu : ABSENT;
    json_object_open(json, "band");
    json_bool(json, "is_known", is_known);
    json_text_or_null(json, "reason", said(band->reason));
    json_text_or_null(json, "class", said(band->like));
    json_integer(json, "votes", band->votes);
    json_integer(json, "sources", band->sources);
    put_range(json, "measured_over_predicted", low, high);
    put_range(json, "step_s", step_s * low, step_s * high);
    put_range(json, "tokens_per_s_per_gpu", tokens / high, tokens / low);
    put_range(json, "mfu", mfu / high, mfu / low);
    put_range(json, "days", days * low, days * high);
    json_array_open(json, "outside");
    for (uint32_t i = 0; i < band->outside_count; i++) {
        json_text(json, NULL, band->outside[i]);
    }
    json_array_close(json);
    json_object_close(json);
}

static void put_members(struct json *json, const struct result *result)
{
    const struct step_result *step = &result->step;
    const bool has_step = result_has_step(result);
    json_text(json, "scenario", result->scenario->title);
    json_text(json, "version", stoker_version());
    json_text(json, "build", result->build);
    json_integer(json, "seed", result->scenario->seed);
    json_text(json, "key", result->key);
    json_integer(json, "gpus", result->scenario->gpus);
    put_if(json, "step_time_s", has_step, (double)step->step_ns * 1e-9);
    json_number_or_null(json, "step_least_s", result_step_least_s(result));
    json_number_or_null(json, "step_most_s", result_step_most_s(result));
    put_if(json, "tokens_per_s_per_gpu", has_step, step->tokens_per_s_per_gpu);
    put_if(json, "tflops_per_gpu", has_step, step->tflops_per_gpu);
    put_if(json, "mfu", has_step, step->mfu);
    put_if(json, "mfu_full_attention", has_step, step->mfu_full_attention);
    put_if(json, "hfu", has_step, step->hfu);
    put_band(json, result);
    put_conventions(json, result);
    json_integer(json, "tokens_per_step", step->model_flop_tokens);
    json_number(json, "flop_per_token_causal", step->flop_per_token_causal);
    json_number(json, "flop_per_token_full", step->flop_per_token_full);
    json_number(json, "hardware_flop_per_token", step->hardware_flop_per_token);
    json_number(json, "peak_flop_per_s", step->peak_flop_per_s);
    put_memory(json, step);
    put_breakdown(json, result);
    put_run(json, result);
    const char *link = has_step ? said(step->busiest_link) : NULL;
    json_text_or_null(json, "bound_by", has_step ? step->bound_by : NULL);
    json_text_or_null(json, "busiest_link", link);
    put_if(json, "busiest_link_utilisation", link != NULL, step->busiest_link_utilisation);
    put_links(json, result);
    put_transfers(json, result);
    put_placement(json, &step->placement);
    put_jobs(json, result);
    put_assumptions(json, &result->scenario->assumptions);
    put_engine(json, &step->engine);
}

void screen_json(const struct result *result, FILE *out)
{
    struct json json;
    json_begin(&json, out);
    json_object_open(&json, NULL);
    json_text(&json, "schema", RUN_SCHEMA);
    put_members(&json, result);
    json_object_close(&json);
    json_end(&json);
}
