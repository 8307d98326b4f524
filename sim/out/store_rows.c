/* Each table is one list of X(kind, is_compared, column, expression), from which
 * both its description and its values are made, so they cannot fall out of step. */
#include "out/store_rows.h"

#include "base/arena.h"
#include "out/json.h"
#include "out/version.h"
#include "spec/schedule_file.h"

#include <string.h>

#define DESCRIBE(kind, is_compared, column, expression) {#column, COLUMN_##kind, is_compared},
#define VALUE_TEXT(expression) \
    {                          \
        .text = (expression)   \
    }
#define VALUE_INTEGER(expression) \
    {                             \
        .integer = (expression)   \
    }
#define VALUE_REAL(expression) \
    {                          \
        .real = (expression)   \
    }
#define FILL(kind, is_compared, column, expression) VALUE_##kind(expression),

/* A schedule that is data has the name of its file. */
static const char *schedule_text(const struct parallel *parallel)
{
    return parallel->schedule_file != NULL ? parallel->schedule_file->name
                                           : schedule_names[parallel->schedule];
}

/* The title is a label: two files that differ in nothing else have one key. */
#define RUN_COLUMNS(X)                                                            \
    X(TEXT, true, key, result->key)                                               \
    X(TEXT, true, stoker_version, STOKER_VERSION)                                 \
    X(TEXT, true, build, result->build)                                           \
    X(TEXT, true, scenario_key, result->scenario_key)                             \
    X(INTEGER, true, seed, scenario->seed)                                        \
    X(TEXT, false, title, scenario->title)                                        \
    X(TEXT, true, model, scenario->model.name)                                    \
    X(TEXT, true, cluster, scenario->cluster.name)                                \
    X(TEXT, true, gpu, scenario->gpu.name)                                        \
    X(TEXT, true, software, scenario->software.name)                              \
    X(TEXT, true, precision, precision_names[scenario->precision])                \
    X(INTEGER, true, gpus, scenario->gpus)                                        \
    X(INTEGER, true, tp, scenario->parallel.tp)                                   \
    X(INTEGER, true, cp, scenario->parallel.cp)                                   \
    X(INTEGER, true, pp, scenario->parallel.pp)                                   \
    X(INTEGER, true, dp, scenario->parallel.dp)                                   \
    X(INTEGER, true, ep, scenario->parallel.ep)                                   \
    X(INTEGER, true, zero, scenario->parallel.zero)                               \
    X(TEXT, true, schedule, schedule_text(&scenario->parallel))                   \
    X(INTEGER, true, virtual_stages, scenario->parallel.virtual_stages)           \
    X(TEXT, true, recompute, recompute_names[scenario->recompute.kind])           \
    X(INTEGER, true, batch_global_sequences, scenario->batch.global)              \
    X(INTEGER, true, batch_micro_sequences, scenario->batch.micro)                \
    X(INTEGER, true, sequence_length_tokens, scenario->batch.sequence_length)     \
    X(TEXT, true, scenario_text, scenario->resolved_text)                         \
    X(INTEGER, true, step_ns, step->step_ns)                                      \
    X(REAL, true, step_s, (double)step->step_ns * 1e-9)                           \
    X(INTEGER, true, tokens_per_step, step->model_flop_tokens)                    \
    X(REAL, true, flop_per_token_causal, step->flop_per_token_causal)             \
    X(REAL, true, flop_per_token_full, step->flop_per_token_full)                 \
    X(REAL, true, hardware_flop_per_token, step->hardware_flop_per_token)         \
    X(REAL, true, peak_flop_per_s, step->peak_flop_per_s)                         \
    X(REAL, true, tokens_per_s_per_gpu, step->tokens_per_s_per_gpu)               \
    X(REAL, true, tflops_per_gpu, step->tflops_per_gpu)                           \
    X(REAL, true, mfu, step->mfu)                                                 \
    X(REAL, true, mfu_full_attention, step->mfu_full_attention)                   \
    X(REAL, true, hfu, step->hfu)                                                 \
    X(TEXT, true, busiest_link, step->busiest_link)                               \
    X(REAL, true, busiest_link_utilisation, step->busiest_link_utilisation)       \
    X(INTEGER, true, memory_fits, step->memory.fits)                              \
    X(INTEGER, true, memory_worst_stage, step->memory.worst_stage)                \
    X(REAL, true, memory_peak_bytes, step->memory.worst.total_bytes)              \
    X(REAL, true, memory_limit_bytes, step->memory.limit_bytes)                   \
    X(REAL, true, memory_weights_bytes, step->memory.worst.weights_bytes)         \
    X(REAL, true, memory_gradients_bytes, step->memory.worst.gradients_bytes)     \
    X(REAL, true, memory_optimizer_bytes, step->memory.worst.optimizer_bytes)     \
    X(REAL, true, memory_activations_bytes, step->memory.worst.activations_bytes) \
    X(REAL, true, memory_logits_bytes, step->memory.worst.logits_bytes)           \
    X(REAL, true, memory_buffers_bytes,                                           \
      step->memory.worst.buffers_bytes + step->memory.worst.temporary_bytes)      \
    X(REAL, true, memory_overhead_bytes, step->memory.worst.overhead_bytes)       \
    X(TEXT, true, memory_advice, step->memory_advice)                             \
    X(TEXT, true, bound_by, step->bound_by)                                       \
    X(INTEGER, true, run_is_asked, run->is_asked)                                 \
    X(INTEGER, true, run_steps, run->steps)                                       \
    X(REAL, true, run_tokens, run->tokens)                                        \
    X(REAL, true, wall_clock_days, run->days)                                     \
    X(REAL, true, gpu_hours, run->gpu_hours)                                      \
    X(REAL, true, goodput, run->goodput)                                          \
    X(INTEGER, true, checkpoints, run->checkpoints)                               \
    X(REAL, true, checkpoint_bytes, run->checkpoint_bytes)                        \
    X(REAL, true, checkpoint_s, run->checkpoint_s)                                \
    X(REAL, true, data_stall_s, run->data_stall_s)                                \
    X(REAL, true, cost_usd, run->cost_usd)                                        \
    X(REAL, true, energy_kwh, run->energy_kwh)                                    \
    X(INTEGER, false, engine_ranks_simulated, step->engine.ranks_simulated)       \
    X(INTEGER, false, engine_links_simulated, step->engine.links_simulated)       \
    X(INTEGER, false, engine_tasks, step->engine.tasks)                           \
    X(INTEGER, false, engine_events, step->engine.events)                         \
    X(INTEGER, false, engine_solves, step->engine.solves)                         \
    X(REAL, false, engine_host_s, step->engine.host_s)                            \
    X(INTEGER, false, engine_host_peak_bytes, step->engine.host_peak_bytes)

#define BREAKDOWN_COLUMNS(X)                 \
    X(TEXT, true, run_key, result->key)      \
    X(TEXT, true, cause, cause_names[cause]) \
    X(INTEGER, true, gpu_ns, result->step.gpu_ns[cause])

#define ASSUMPTION_COLUMNS(X)           \
    X(TEXT, true, run_key, result->key) \
    X(TEXT, true, name, item->name)     \
    X(TEXT, true, value, item->value)   \
    X(TEXT, true, reason, item->reason != NULL ? item->reason : "")

#define LINK_USE_COLUMNS(X)                                           \
    X(TEXT, true, run_key, result->key)                               \
    X(TEXT, true, kind, use->kind)                                    \
    X(INTEGER, true, links, use->count)                               \
    X(TEXT, true, busiest, use->busiest)                              \
    X(REAL, true, busiest_bytes, use->bytes)                          \
    X(INTEGER, true, capacity_bytes_per_s, use->capacity_bytes_per_s) \
    X(REAL, true, utilisation_max, use->utilisation_max)              \
    X(REAL, true, utilisation_mean, use->utilisation_mean)

#define LINK_LOAD_COLUMNS(X)                                           \
    X(TEXT, true, run_key, result->key)                                \
    X(TEXT, true, link, load->name)                                    \
    X(TEXT, true, kind, load->kind)                                    \
    X(REAL, true, bytes, load->bytes)                                  \
    X(INTEGER, true, capacity_bytes_per_s, load->capacity_bytes_per_s) \
    X(REAL, true, utilisation, load->utilisation)

#define TRAFFIC_COLUMNS(X)                       \
    X(TEXT, true, run_key, result->key)          \
    X(TEXT, true, stream, use->stream)           \
    X(INTEGER, true, number, (int64_t)index)     \
    X(TEXT, true, operation, use->operation)     \
    X(TEXT, true, algorithm, use->algorithm)     \
    X(TEXT, true, protocol, use->protocol)       \
    X(REAL, true, buffer_bytes, use->bytes)      \
    X(REAL, true, rank_bytes, use->rank_bytes)   \
    X(INTEGER, true, count_per_step, use->count) \
    X(REAL, true, latency_s, use->latency_s)     \
    X(REAL, true, alone_s, use->alone_s)         \
    X(REAL, true, slowdown, use->slowdown)       \
    X(TEXT, true, bottleneck, use->bottleneck)   \
    X(INTEGER, true, is_extrapolated, use->is_extrapolated)

#define JOB_COLUMNS(X)                             \
    X(TEXT, true, run_key, result->key)            \
    X(TEXT, true, scenario, use->title)            \
    X(INTEGER, true, number, (int64_t)index)       \
    X(INTEGER, true, gpus, use->gpus)              \
    X(INTEGER, true, steps, use->steps)            \
    X(REAL, true, step_alone_s, use->step_alone_s) \
    X(REAL, true, step_s, use->step_s)

#define STUDY_COLUMNS(X)               \
    X(TEXT, true, key, study->key)     \
    X(TEXT, true, title, study->title) \
    X(TEXT, true, kind, study->kind)   \
    X(TEXT, true, build, study->build)

#define POINT_COLUMNS(X)                                                    \
    X(TEXT, true, study_key, study_key)                                     \
    X(INTEGER, true, number, point->number)                                 \
    X(TEXT, true, label, point->label)                                      \
    X(TEXT, true, axes, axes_json(point, arena))                            \
    X(TEXT, true, run_key, point->result != NULL ? point->result->key : "") \
    X(TEXT, true, status, point_status_names[point->status])                \
    X(TEXT, true, message, point->message != NULL ? point->message : "")

/* `value` is in SI units, 0 where the value is a word. */
#define POINT_AXIS_COLUMNS(X)                           \
    X(TEXT, true, study_key, study_key)                 \
    X(INTEGER, true, number, point->number)             \
    X(INTEGER, true, axis_number, axis)                 \
    X(TEXT, true, axis, point->axes[axis])              \
    X(TEXT, true, value_text, point->value_texts[axis]) \
    X(REAL, true, value, point->values[axis])

static const struct column run_columns[] = {RUN_COLUMNS(DESCRIBE)};
static const struct column breakdown_columns[] = {BREAKDOWN_COLUMNS(DESCRIBE)};
static const struct column assumption_columns[] = {ASSUMPTION_COLUMNS(DESCRIBE)};
static const struct column link_use_columns[] = {LINK_USE_COLUMNS(DESCRIBE)};
static const struct column link_load_columns[] = {LINK_LOAD_COLUMNS(DESCRIBE)};
static const struct column traffic_columns[] = {TRAFFIC_COLUMNS(DESCRIBE)};
static const struct column job_columns[] = {JOB_COLUMNS(DESCRIBE)};
static const struct column study_columns[] = {STUDY_COLUMNS(DESCRIBE)};
static const struct column point_columns[] = {POINT_COLUMNS(DESCRIBE)};
static const struct column point_axis_columns[] = {POINT_AXIS_COLUMNS(DESCRIBE)};

#define RELATION(name, columns, key_count)                            \
    {                                                                 \
        name, columns, sizeof(columns) / sizeof *(columns), key_count \
    }

const struct relation store_relations[RELATION_COUNT_] = {
    [RELATION_RUN] = RELATION("run", run_columns, 1),
    [RELATION_BREAKDOWN] = RELATION("breakdown", breakdown_columns, 2),
    [RELATION_ASSUMPTION] = RELATION("assumption", assumption_columns, 2),
    [RELATION_LINK_USE] = RELATION("link_use", link_use_columns, 2),
    [RELATION_LINK_LOAD] = RELATION("link_load", link_load_columns, 2),
    [RELATION_TRAFFIC] = RELATION("traffic", traffic_columns, 3),
    [RELATION_JOB] = RELATION("job", job_columns, 3),
    [RELATION_STUDY] = RELATION("study", study_columns, 1),
    [RELATION_POINT] = RELATION("point", point_columns, 2),
    [RELATION_POINT_AXIS] = RELATION("point_axis", point_axis_columns, 3),
};

const char *const point_status_names[3] = {"ok", "infeasible", "failed"};

_Static_assert(sizeof run_columns / sizeof *run_columns <= STORE_COLUMNS_MAX,
               "the widest table fits a row buffer");

void rows_run(const struct result *result, struct value *values)
{
    const struct scenario *scenario = result->scenario;
    const struct step_result *step = &result->step;
    const struct run_result *run = &result->run;
    const struct value row[] = {RUN_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}

void rows_breakdown(const struct result *result, enum cause cause, struct value *values)
{
    const struct value row[] = {BREAKDOWN_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}

void rows_assumption(const struct result *result, size_t index, struct value *values)
{
    const struct assumption *item = &result->scenario->assumptions.items[index];
    const struct value row[] = {ASSUMPTION_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}

void rows_link_use(const struct result *result, size_t index, struct value *values)
{
    const struct link_use *use = &result->step.link_uses[index];
    const struct value row[] = {LINK_USE_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}

void rows_link_load(const struct result *result, size_t index, struct value *values)
{
    const struct link_load *load = &result->step.link_loads[index];
    const struct value row[] = {LINK_LOAD_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}

void rows_traffic(const struct result *result, size_t index, struct value *values)
{
    const struct traffic_use *use = &result->step.traffic[index];
    const struct value row[] = {TRAFFIC_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}

void rows_job(const struct result *result, size_t index, struct value *values)
{
    const struct job_use *use = &result->step.jobs[index];
    const struct value row[] = {JOB_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}

void rows_study(const struct store_study *study, struct value *values)
{
    const struct value row[] = {STUDY_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}

/* {"cluster.nics.bandwidth": "50 Gbps"}: for people with a JSON function at hand. */
static const char *axes_json(const struct store_point *point, struct arena *arena)
{
    const char *list = "";
    for (uint32_t i = 0; i < point->axis_count; i++) {
        list = arena_printf(arena, "%s%s%s: %s", list, i > 0 ? ", " : "",
                            json_quoted(arena, point->axes[i]),
                            json_quoted(arena, point->value_texts[i]));
    }
    return arena_printf(arena, "{%s}", list);
}

void rows_point(const char *study_key, const struct store_point *point, struct value *values,
                struct arena *arena)
{
    const struct value row[] = {POINT_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
    sim_assert(strcmp(point_columns[POINT_STATUS_COLUMN].name, "status") == 0);
}

void rows_point_axis(const char *study_key, const struct store_point *point, uint32_t axis,
                     struct value *values)
{
    const struct value row[] = {POINT_AXIS_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}
