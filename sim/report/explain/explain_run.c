/* Sections 7 and 8 of `stoker explain`: the run (run/run), and the constants
 * that nobody measured.
 */
#include "report/explain/explain_sections.h"
#include "report/explain/explain_text.h"

#include "base/arena.h"
#include "run/run.h"

#include <inttypes.h>
#include <string.h>

/* ---- time ---------------------------------------------------------------------- */

static double wall_s(const struct run_result *run)
{
    return run->days * 86400;
}

static void add_time(const struct explanation *explanation, struct sums *sums)
{
    struct arena *arena = explanation->arena;
    const struct scenario *scenario = explanation->scenario;
    const struct run_result *run = &explanation->result->run;
    const struct step_result *step = &explanation->result->step;
    const double step_s = sim_time_to_s(step->step_ns);
    const double steps_s = (double)run->steps * step_s;
    const double blocked_s = (double)run->checkpoints * run->checkpoint_s;
    sums_add(sums, "steps", "%s tokens / %s a step, rounded up", number_grouped(arena, run->tokens),
             explain_count(arena, step->model_flop_tokens));
    sums_is(sums, "", "%s", explain_count(arena, run->steps));
    sums_add(sums, "time in steps", "%s x %.6f s", explain_count(arena, run->steps), step_s);
    sums_is(sums, "s", "%.1f", steps_s);
    if (run->checkpoints > 0) {
        sums_add(sums, "blocked by checkpoints", "%s x %.6f s",
                 explain_count(arena, run->checkpoints), run->checkpoint_s);
        sums_is(sums, "s", "%.1f", blocked_s);
    }
    if (scenario->data.is_enabled) {
        sums_add(sums, "the first batch", "a step waits %.6f s for data, inside its time",
                 run->data_stall_s);
        const double first_s = wall_s(run) - steps_s - blocked_s; /* rounded */
        sums_is(sums, "s", "%.1f", first_s > 0 ? first_s : 0.0);
    }
    sums_add(sums, "wall-clock", "the sum, / 86,400 s: no failures, no restarts");
    sums_is(sums, "days", "%.4f", run->days);
    sums_add(sums, "goodput", "%s x %.6f s without data stalls / (86,400 s x %.4f days)",
             explain_count(arena, run->steps), step_s - run->data_stall_s, run->days);
    sums_is(sums, "%, checkpoint and data stalls only", "%.3f", 100 * run->goodput);
    sums_add(sums, "GPU-hours", "%s GPUs x %.4f days x 24 h", explain_count(arena, scenario->gpus),
             run->days);
    sums_is(sums, "h", "%s", number_grouped(arena, run->gpu_hours));
}

/* ---- checkpoints ------------------------------------------------------------------ */

static void add_checkpoints(const struct explanation *explanation, struct sums *sums)
{
    struct arena *arena = explanation->arena;
    const struct scenario *scenario = explanation->scenario;
    const struct run_result *run = &explanation->result->run;
    const struct cluster *cluster = &scenario->cluster;
    if (!scenario->checkpoint.is_enabled) {
        return;
    }
    const struct parameter_count count = cost_parameters(&scenario->model);
    const double parameters = (double)(count.total + count.mtp);
    const bool is_async = scenario->checkpoint.mode == CHECKPOINT_ASYNC;
    const int64_t every = run_checkpoint_interval(&scenario->checkpoint,
                                                  sim_time_to_s(explanation->result->step.step_ns));
    sums_add(sums, "checkpoints", "%s steps / every %s", explain_count(arena, run->steps),
             explain_count(arena, every));
    sums_is(sums, "", "%s", explain_count(arena, run->checkpoints));
    sums_add(sums, "one checkpoint", "%.2f B for each of %s parameters",
             run->checkpoint_bytes / parameters, number_quantity(arena, parameters, DIM_COUNT));
    sums_is(sums, "GB", "%.3f", run->checkpoint_bytes / 1e9);
    sums_add(sums, "to host memory", "1/%s of it a GPU / %s", explain_count(arena, scenario->gpus),
             number_quantity(arena, scenario->gpu.host_link_bytes_per_s, DIM_BYTES_PER_S));
    sums_is(sums, "s", "%.6f",
            run->checkpoint_bytes / (double)scenario->gpus / scenario->gpu.host_link_bytes_per_s);
    sums_add(sums, "to the file system", "/ the smaller of %s and %s nodes x %s",
             number_quantity(arena, cluster->storage_write_bytes_per_s, DIM_BYTES_PER_S),
             explain_count(arena, scenario->nodes),
             number_quantity(arena, cluster->storage_node_bytes_per_s, DIM_BYTES_PER_S));
    sums_is(sums, "s", "%.6f", run_persist_s(scenario, run->checkpoint_bytes));
    sums_add(sums, "training waits", "%s",
             is_async ? "simulated; for the copy to host memory"
                      : "simulated; until it is written");
    sums_is(sums, "s", "%.6f", run->checkpoint_s);
}

/* ---- money and energy --------------------------------------------------------------- */

static double working_share(const struct explanation *explanation)
{
    const int64_t *booked = explanation->result->step.gpu_ns;
    const double ns = (double)(booked[CAUSE_COMPUTE] + booked[CAUSE_RECOMPUTE] +
                               booked[CAUSE_OPTIMIZER] + booked[CAUSE_INTERFERENCE]);
    const double gpus = (double)explanation->scenario->gpus;
    return ns / ((double)explanation->result->step.step_ns * gpus);
}

static void add_energy(const struct explanation *explanation, struct sums *sums)
{
    struct arena *arena = explanation->arena;
    const struct scenario *scenario = explanation->scenario;
    const struct run_result *run = &explanation->result->run;
    const struct gpu *gpu = &scenario->gpu;
    const double share = working_share(explanation);
    const double gpu_w =
        gpu->tdp_w * (gpu->busy_power_fraction * share + gpu->idle_power_fraction * (1 - share));
    sums_add(sums, "u, kernels at work", "compute, recompute, optimizer, interference / step");
    sums_is(sums, "%", "%.3f", 100 * share);
    sums_add(sums, "a GPU", "%g W x (%g u + %g (1 - u))", gpu->tdp_w, gpu->busy_power_fraction,
             gpu->idle_power_fraction);
    sums_is(sums, "W", "%.2f", gpu_w);
    sums_add(sums, "power", "pue %g x (%s GPUs x %.2f W + %s nodes x %g W)", scenario->price.pue,
             explain_count(arena, scenario->gpus), gpu_w, explain_count(arena, scenario->nodes),
             scenario->cluster.host_power_w);
    sums_is(sums, "kW", "%.3f", run_power_w(scenario, &explanation->result->step) / 1e3);
    sums_add(sums, "energy", "power x %.4f days x 24 h", run->days);
    sums_is(sums, "kWh", "%s", number_grouped(arena, run->energy_kwh));
    sums_add(sums, "cost", "%s GPU-hours x %g USD + %s kWh x %g USD",
             number_grouped(arena, run->gpu_hours), scenario->price.gpu_hour_usd,
             number_grouped(arena, run->energy_kwh), scenario->price.electricity_usd_per_kwh);
    sums_is(sums, "USD", "%s", number_grouped(arena, run->cost_usd));
}

void explain_run_print(const struct explanation *explanation, FILE *out)
{
    if (!explanation->result->run.is_asked) {
        fputs("  The scenario names no run.tokens: only the step is predicted.\n\n", out);
        return;
    }
    if (!metrics_has_run(explanation->result)) {
        fputs("  The plan does not fit into memory: there is no run to predict.\n\n", out);
        return;
    }
    struct sums *sums = sums_new(explanation->arena);
    add_checkpoints(explanation, sums);
    add_time(explanation, sums);
    add_energy(explanation, sums);
    sums_print(sums, out);
}

void explain_run_json(const struct explanation *explanation, struct json *json)
{
    const struct run_result *run = &explanation->result->run;
    const struct scenario *scenario = explanation->scenario;
    json_bool(json, "is_asked", run->is_asked);
    json_bool(json, "is_predicted", metrics_has_run(explanation->result));
    if (!metrics_has_run(explanation->result)) {
        return;
    }
    json_number(json, "tokens", run->tokens);
    json_integer(json, "steps", run->steps);
    json_number(json, "wall_clock_s", wall_s(run));
    json_number(json, "days", run->days);
    json_number(json, "gpu_hours", run->gpu_hours);
    json_integer(json, "checkpoints", run->checkpoints);
    json_number(json, "checkpoint_bytes", run->checkpoint_bytes);
    json_number(json, "checkpoint_blocking_s", run->checkpoint_s);
    json_number(json, "checkpoint_persist_s", run_persist_s(scenario, run->checkpoint_bytes));
    json_number(json, "working_share", working_share(explanation));
    json_number(json, "power_w", run_power_w(scenario, &explanation->result->step));
    json_number(json, "energy_kwh", run->energy_kwh);
    json_number(json, "gpu_hour_usd", scenario->price.gpu_hour_usd);
    json_number(json, "electricity_usd_per_kwh", scenario->price.electricity_usd_per_kwh);
    json_number(json, "pue", scenario->price.pue);
    json_number(json, "cost_usd", run->cost_usd);
}

/* ---- assumptions ---------------------------------------------------------------------- */

/* "models/gpus/h100.yaml:23", "--set", or "default". */
static const char *place_text(struct arena *arena, const struct place *place)
{
    if (place->file == NULL) {
        return "default";
    }
    return place->line == 0 ? place->file : arena_printf(arena, "%s:%u", place->file, place->line);
}

static const char *reason_of(const struct assumption *item)
{
    return item->reason != NULL ? item->reason : "";
}

void explain_assumptions_print(const struct explanation *explanation, FILE *out)
{
    const struct assumptions *assumptions = &explanation->scenario->assumptions;
    struct arena *arena = explanation->arena;
    if (assumptions->count == 0) {
        fputs("  None.\n", out);
        return;
    }
    for (size_t i = 0; i < assumptions->count; i++) {
        const struct assumption *item = &assumptions->items[i];
        explain_paragraph(out, 2,
                          arena_printf(arena, "%s = %s  (%s)", item->name, item->value,
                                       place_text(arena, &item->place)));
        const char *next = i + 1 < assumptions->count ? reason_of(item + 1) : "";
        if (strcmp(reason_of(item), next) != 0) { /* once for all that share it */
            explain_paragraph(out, 6, reason_of(item));
        }
    }
}

void explain_assumptions_json(const struct explanation *explanation, struct json *json)
{
    const struct assumptions *assumptions = &explanation->scenario->assumptions;
    json_array_open(json, "constants");
    for (size_t i = 0; i < assumptions->count; i++) {
        const struct assumption *item = &assumptions->items[i];
        json_object_open(json, NULL);
        json_text(json, "name", item->name);
        json_text(json, "value", item->value);
        json_text(json, "file", item->place.file != NULL ? item->place.file : "");
        json_integer(json, "line", item->place.line);
        json_text(json, "reason", reason_of(item));
        json_object_close(json);
    }
    json_array_close(json);
}
