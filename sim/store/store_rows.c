/* Each table is one list of X(kind, is_compared, when it exists, column, expression), from which
 * both its description and its values are made, so they cannot fall out of step. */
#include "store/store_rows.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/version.h"
#include "input/schedule_file.h"

#include <string.h>

/* When a column has a value. STEP, LINK, ASKED, RUN and CHECKPOINTS look at what add_run knows,
 * SAID at a text, KNOWN at a number. */
#define NULLABLE_ALWAYS false
#define NULLABLE_STEP true
#define NULLABLE_LINK true
#define NULLABLE_ASKED true
#define NULLABLE_RUN true
#define NULLABLE_CHECKPOINTS true
#define NULLABLE_SAID true
#define NULLABLE_KNOWN true
#define EXISTS_ALWAYS(expression) true
#define EXISTS_STEP(expression) has_step
#define EXISTS_LINK(expression) has_link
#define EXISTS_ASKED(expression) run->is_asked
#define EXISTS_RUN(expression) result_has_run(result)
#define EXISTS_CHECKPOINTS(expression) result_has_checkpoints(result)
#define EXISTS_SAID(expression) is_said(expression)
#define EXISTS_KNOWN(expression) (!is_absent(expression))

#define DESCRIBE(kind, is_compared, when, column, expression) \
    {#column, COLUMN_##kind, is_compared, NULLABLE_##when},
#define VALUE_TEXT .text
#define VALUE_INTEGER .integer
#define VALUE_REAL .real
#define FILL(kind, is_compared, when, column, expression) \
    {.is_null = !(EXISTS_##when(expression)), VALUE_##kind = (expression)},

static bool is_said(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* A schedule that is data has the name of its file. */
static const char *schedule_text(const struct parallel *parallel)
{
    return parallel->schedule_file != NULL ? parallel->schedule_file->name
                                           : schedule_names[parallel->schedule];
}

/* The title is a label: two files that differ in nothing else have one key. */
#define RUN_COLUMNS(X)                                                                    \
    X(TEXT, true, ALWAYS, key, result->key)                                               \
    X(TEXT, true, ALWAYS, stoker_version, stoker_version())                               \
    X(TEXT, true, ALWAYS, build, result->build)                                           \
    X(TEXT, true, ALWAYS, scenario_key, result->scenario_key)                             \
    X(INTEGER, true, ALWAYS, seed, scenario->seed)                                        \
    X(TEXT, false, ALWAYS, title, scenario->title)                                        \
    X(TEXT, true, ALWAYS, model, scenario->model.name)                                    \
    X(TEXT, true, ALWAYS, cluster, scenario->cluster.name)                                \
    X(TEXT, true, ALWAYS, gpu, scenario->gpu.name)                                        \
    X(TEXT, true, ALWAYS, software, scenario->software.name)                              \
    X(TEXT, true, ALWAYS, precision, precision_names[scenario->precision])                \
    X(INTEGER, true, ALWAYS, gpus, scenario->gpus)                                        \
    X(INTEGER, true, ALWAYS, tp, scenario->parallel.tp)                                   \
    X(INTEGER, true, ALWAYS, cp, scenario->parallel.cp)                                   \
    X(INTEGER, true, ALWAYS, pp, scenario->parallel.pp)                                   \
    X(INTEGER, true, ALWAYS, dp, scenario->parallel.dp)                                   \
    X(INTEGER, true, ALWAYS, ep, scenario->parallel.ep)                                   \
    X(INTEGER, true, ALWAYS, zero, scenario->parallel.zero)                               \
    X(TEXT, true, ALWAYS, schedule, schedule_text(&scenario->parallel))                   \
    X(INTEGER, true, ALWAYS, virtual_stages, scenario->parallel.virtual_stages)           \
    X(TEXT, true, ALWAYS, recompute, recompute_names[scenario->recompute.kind])           \
    X(INTEGER, true, ALWAYS, batch_global_sequences, scenario->batch.global)              \
    X(INTEGER, true, ALWAYS, batch_micro_sequences, scenario->batch.micro)                \
    X(INTEGER, true, ALWAYS, sequence_length_tokens, scenario->batch.sequence_length)     \
    X(TEXT, true, ALWAYS, scenario_text, scenario->resolved_text)                         \
    X(INTEGER, true, STEP, step_ns, step->step_ns)                                        \
    X(REAL, true, STEP, step_s, (double)step->step_ns * 1e-9)                             \
    X(REAL, true, KNOWN, step_least_s, result_step_least_s(result))                       \
    X(REAL, true, KNOWN, step_most_s, result_step_most_s(result))                         \
    X(INTEGER, true, ALWAYS, tokens_per_step, step->model_flop_tokens)                    \
    X(REAL, true, ALWAYS, flop_per_token_causal, step->flop_per_token_causal)             \
    X(REAL, true, ALWAYS, flop_per_token_full, step->flop_per_token_full)                 \
    X(REAL, true, ALWAYS, hardware_flop_per_token, step->hardware_flop_per_token)         \
    X(REAL, true, ALWAYS, peak_flop_per_s, step->peak_flop_per_s)                         \
    X(REAL, true, STEP, tokens_per_s_per_gpu, step->tokens_per_s_per_gpu)                 \
    X(REAL, true, STEP, tflops_per_gpu, step->tflops_per_gpu)                             \
    X(REAL, true, STEP, mfu, step->mfu)                                                   \
    X(REAL, true, STEP, mfu_full_attention, step->mfu_full_attention)                     \
    X(REAL, true, STEP, hfu, step->hfu)                                                   \
    X(TEXT, true, LINK, busiest_link, step->busiest_link)                                 \
    X(REAL, true, LINK, busiest_link_utilisation, step->busiest_link_utilisation)         \
    X(INTEGER, true, ALWAYS, memory_fits, step->memory.fits)                              \
    X(INTEGER, true, ALWAYS, memory_worst_stage, step->memory.worst_stage)                \
    X(REAL, true, ALWAYS, memory_peak_bytes, step->memory.worst.total_bytes)              \
    X(REAL, true, ALWAYS, memory_limit_bytes, step->memory.limit_bytes)                   \
    X(REAL, true, ALWAYS, memory_weights_bytes, step->memory.worst.weights_bytes)         \
    X(REAL, true, ALWAYS, memory_gradients_bytes, step->memory.worst.gradients_bytes)     \
    X(REAL, true, ALWAYS, memory_optimizer_bytes, step->memory.worst.optimizer_bytes)     \
    X(REAL, true, ALWAYS, memory_activations_bytes, step->memory.worst.activations_bytes) \
    X(REAL, true, ALWAYS, memory_logits_bytes, step->memory.worst.logits_bytes)           \
    X(REAL, true, ALWAYS, memory_buffers_bytes,                                           \
      step->memory.worst.buffers_bytes + step->memory.worst.temporary_bytes)              \
    X(REAL, true, ALWAYS, memory_overhead_bytes, step->memory.worst.overhead_bytes)       \
    X(TEXT, true, SAID, memory_advice, step->memory_advice)                               \
    X(TEXT, true, STEP, bound_by, step->bound_by)                                         \
    X(INTEGER, true, ALWAYS, run_is_asked, run->is_asked)                                 \
    X(INTEGER, true, ASKED, run_steps, run->steps)                                        \
    X(REAL, true, ASKED, run_tokens, run->tokens)                                         \
    X(REAL, true, RUN, wall_clock_days, run->days)                                        \
    X(REAL, true, RUN, gpu_hours, run->gpu_hours)                                         \
    X(REAL, true, RUN, goodput, run->goodput)                                             \
    X(INTEGER, true, RUN, checkpoints, run->checkpoints)                                  \
    X(REAL, true, CHECKPOINTS, checkpoint_bytes, run->checkpoint_bytes)                   \
    X(REAL, true, CHECKPOINTS, checkpoint_s, run->checkpoint_s)                           \
    X(REAL, true, STEP, data_stall_s, run->data_stall_s)                                  \
    X(REAL, true, RUN, cost_usd, run->cost_usd)                                           \
    X(REAL, true, RUN, energy_kwh, run->energy_kwh)                                       \
    X(INTEGER, false, ALWAYS, engine_ranks_simulated, step->engine.ranks_simulated)       \
    X(INTEGER, false, ALWAYS, engine_links_simulated, step->engine.links_simulated)       \
    X(INTEGER, false, ALWAYS, engine_tasks, step->engine.tasks)                           \
    X(INTEGER, false, ALWAYS, engine_events, step->engine.events)                         \
    X(INTEGER, false, ALWAYS, engine_solves, step->engine.solves)                         \
    X(REAL, false, ALWAYS, engine_host_s, step->engine.host_s)                            \
    X(INTEGER, false, ALWAYS, engine_host_peak_bytes, step->engine.host_peak_bytes)

#define BREAKDOWN_COLUMNS(X)                         \
    X(TEXT, true, ALWAYS, run_key, result->key)      \
    X(TEXT, true, ALWAYS, cause, cause_names[cause]) \
    X(INTEGER, true, ALWAYS, gpu_ns, result->step.gpu_ns[cause])

#define ASSUMPTION_COLUMNS(X)                   \
    X(TEXT, true, ALWAYS, run_key, result->key) \
    X(TEXT, true, ALWAYS, name, item->name)     \
    X(TEXT, true, ALWAYS, value, item->value)   \
    X(TEXT, true, SAID, reason, item->reason)

#define LINK_USE_COLUMNS(X)                                                   \
    X(TEXT, true, ALWAYS, run_key, result->key)                               \
    X(TEXT, true, ALWAYS, kind, use->kind)                                    \
    X(INTEGER, true, ALWAYS, links, use->count)                               \
    X(TEXT, true, ALWAYS, busiest, use->busiest)                              \
    X(REAL, true, ALWAYS, busiest_bytes, use->bytes)                          \
    X(INTEGER, true, ALWAYS, capacity_bytes_per_s, use->capacity_bytes_per_s) \
    X(REAL, true, ALWAYS, utilisation_max, use->utilisation_max)              \
    X(REAL, true, ALWAYS, utilisation_mean, use->utilisation_mean)

#define LINK_LOAD_COLUMNS(X)                                                   \
    X(TEXT, true, ALWAYS, run_key, result->key)                                \
    X(TEXT, true, ALWAYS, link, load->name)                                    \
    X(TEXT, true, ALWAYS, kind, load->kind)                                    \
    X(REAL, true, ALWAYS, bytes, load->bytes)                                  \
    X(INTEGER, true, ALWAYS, capacity_bytes_per_s, load->capacity_bytes_per_s) \
    X(REAL, true, ALWAYS, utilisation, load->utilisation)

#define TRAFFIC_COLUMNS(X)                               \
    X(TEXT, true, ALWAYS, run_key, result->key)          \
    X(TEXT, true, ALWAYS, stream, use->stream)           \
    X(INTEGER, true, ALWAYS, number, (int64_t)index)     \
    X(TEXT, true, ALWAYS, operation, use->operation)     \
    X(TEXT, true, ALWAYS, algorithm, use->algorithm)     \
    X(TEXT, true, SAID, protocol, use->protocol)         \
    X(REAL, true, ALWAYS, buffer_bytes, use->bytes)      \
    X(REAL, true, ALWAYS, rank_bytes, use->rank_bytes)   \
    X(INTEGER, true, ALWAYS, count_per_step, use->count) \
    X(REAL, true, ALWAYS, latency_s, use->latency_s)     \
    X(REAL, true, ALWAYS, alone_s, use->alone_s)         \
    X(REAL, true, ALWAYS, slowdown, use->slowdown)       \
    X(TEXT, true, SAID, bottleneck, use->bottleneck)     \
    X(INTEGER, true, ALWAYS, is_extrapolated, use->is_extrapolated)

#define JOB_COLUMNS(X)                                     \
    X(TEXT, true, ALWAYS, run_key, result->key)            \
    X(TEXT, true, ALWAYS, scenario, use->title)            \
    X(INTEGER, true, ALWAYS, number, (int64_t)index)       \
    X(INTEGER, true, ALWAYS, gpus, use->gpus)              \
    X(INTEGER, true, ALWAYS, steps, use->steps)            \
    X(REAL, true, ALWAYS, step_alone_s, use->step_alone_s) \
    X(REAL, true, ALWAYS, step_s, use->step_s)

#define STUDY_COLUMNS(X)                       \
    X(TEXT, true, ALWAYS, key, study->key)     \
    X(TEXT, true, ALWAYS, title, study->title) \
    X(TEXT, true, ALWAYS, kind, study->kind)   \
    X(TEXT, true, ALWAYS, build, study->build)

#define POINT_COLUMNS(X)                                                            \
    X(TEXT, true, ALWAYS, study_key, study_key)                                     \
    X(INTEGER, true, ALWAYS, number, point->number)                                 \
    X(TEXT, true, ALWAYS, label, point->label)                                      \
    X(TEXT, true, ALWAYS, axes, axes_json(point, arena))                            \
    X(TEXT, true, SAID, run_key, point->result != NULL ? point->result->key : NULL) \
    X(TEXT, true, ALWAYS, status, point_status_names[point->status])                \
    X(TEXT, true, SAID, message, point->message)

/* `value` is in SI units, NULL where the value is a word. */
#define POINT_AXIS_COLUMNS(X)                                   \
    X(TEXT, true, ALWAYS, study_key, study_key)                 \
    X(INTEGER, true, ALWAYS, number, point->number)             \
    X(INTEGER, true, ALWAYS, axis_number, axis)                 \
    X(TEXT, true, ALWAYS, axis, point->axes[axis])              \
    X(TEXT, true, ALWAYS, value_text, point->value_texts[axis]) \
    X(REAL, true, KNOWN, value, point->values[axis])

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

struct value *rows_add(struct row_list *rows, enum relation_id id)
{
    rows->items = arena_grow(rows->arena, rows->items, &rows->capacity, rows->count + 1u,
                             sizeof *rows->items);
    struct value *values =
        arena_array(rows->arena, store_relations[id].column_count, sizeof *values);
    rows->items[rows->count++] = (struct row){id, values};
    return values;
}

static void add_run(const struct result *result, struct value *values)
{
    const struct scenario *scenario = result->scenario;
    const struct step_result *step = &result->step;
    const struct run_result *run = &result->run;
    const bool has_step = result_has_step(result);
    const bool has_link = has_step && is_said(step->busiest_link);
    const struct value row[] = {RUN_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}

static void add_breakdown(const struct result *result, size_t index, struct value *values)
{
    const enum cause cause = (enum cause)index;
    const struct value row[] = {BREAKDOWN_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}

static void add_assumption(const struct result *result, size_t index, struct value *values)
{
    const struct assumption *item = &result->scenario->assumptions.items[index];
    const struct value row[] = {ASSUMPTION_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}

static void add_link_use(const struct result *result, size_t index, struct value *values)
{
    const struct link_use *use = &result->step.link_uses[index];
    const struct value row[] = {LINK_USE_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}

static void add_link_load(const struct result *result, size_t index, struct value *values)
{
    const struct link_load *load = &result->step.link_loads[index];
    const struct value row[] = {LINK_LOAD_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}

static void add_traffic(const struct result *result, size_t index, struct value *values)
{
    const struct traffic_use *use = &result->step.traffic[index];
    const struct value row[] = {TRAFFIC_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}

static void add_job(const struct result *result, size_t index, struct value *values)
{
    const struct job_use *use = &result->step.jobs[index];
    const struct value row[] = {JOB_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}

void rows_of_result(const struct result *result, struct row_list *rows)
{
    const struct step_result *step = &result->step;
    const struct {
        enum relation_id id;
        size_t count;
        void (*add)(const struct result *result, size_t index, struct value *values);
    } parts[] = {
        {RELATION_ASSUMPTION, result->scenario->assumptions.count, add_assumption},
        {RELATION_BREAKDOWN, CAUSE_COUNT_, add_breakdown},
        {RELATION_LINK_USE, step->link_use_count, add_link_use},
        {RELATION_LINK_LOAD, step->link_load_count, add_link_load},
        {RELATION_TRAFFIC, step->traffic_count, add_traffic},
        {RELATION_JOB, step->job_count, add_job},
    };
    /* Where there is no step, nothing has its share of it. */
    const size_t part_count = result_has_step(result) ? sizeof parts / sizeof *parts : 1;
    add_run(result, rows_add(rows, RELATION_RUN));
    for (size_t part = 0; part < part_count; part++) {
        for (size_t i = 0; i < parts[part].count; i++) {
            parts[part].add(result, i, rows_add(rows, parts[part].id));
        }
    }
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

static void add_point(const char *study_key, const struct store_point *point, struct row_list *rows)
{
    struct arena *arena = rows->arena;
    const struct value row[] = {POINT_COLUMNS(FILL)};
    memcpy(rows_add(rows, RELATION_POINT), row, sizeof row);
    sim_assert(strcmp(point_columns[POINT_STATUS_COLUMN].name, "status") == 0);
}

static void add_point_axis(const char *study_key, const struct store_point *point, uint32_t axis,
                           struct value *values)
{
    const struct value row[] = {POINT_AXIS_COLUMNS(FILL)};
    memcpy(values, row, sizeof row);
}

void rows_of_point(const char *study_key, const struct store_point *point, struct row_list *rows)
{
    sim_assert(point->axis_count <= STORE_AXES_MAX);
    sim_assert(point->status != POINT_OK || point->result != NULL);
    if (point->result != NULL) {
        rows_of_result(point->result, rows);
    }
    add_point(study_key, point, rows);
    for (uint32_t axis = 0; axis < point->axis_count; axis++) {
        add_point_axis(study_key, point, axis, rows_add(rows, RELATION_POINT_AXIS));
    }
}
