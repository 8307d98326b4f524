/* Sections 7 and 8 of `stoker explain`: the run (run/run), and the constants
 * that nobody measured.
 */
#include "report/explain/explain_sections.h"
#include "report/explain/explain_text.h"

#include "base/arena.h"
#include "run/run.h"

#include <string.h>

/* ---- the run ------------------------------------------------------------------- */

/* The prediction's own sums once more, with a record of them. */
static const struct ledger *record_run(const struct explanation *explanation)
{
    const struct scenario *scenario = explanation->scenario;
    const struct step_result *step = &explanation->result->step;
    struct run_result run = explanation->result->run;
    struct ledger *ledger = ledger_new(explanation->arena);
    run_steps(run.tokens, step->model_flop_tokens, ledger);
    if (scenario->checkpoint.is_enabled) {
        const bool is_async = scenario->checkpoint.mode == CHECKPOINT_ASYNC;
        const double gpus = (double)scenario->gpus;
        run_count_checkpoints(scenario, sim_time_to_s(step->step_ns), ledger, &run);
        LEDGER_SUM(ledger, "to host memory", "s",
                   run.checkpoint_bytes / gpus / scenario->gpu.host_link_bytes_per_s,
                   LEDGER_TERM(run.checkpoint_bytes, "GB"), LEDGER_TERM(gpus, "GPUs"),
                   LEDGER_TERM(scenario->gpu.host_link_bytes_per_s, "B/s"));
        run_persist_s(scenario, run.checkpoint_bytes, ledger);
        ledger_say(ledger, "training waits", "s", run.checkpoint_s,
                   is_async ? "simulated; for the copy to host memory"
                            : "simulated; until it is written");
    }
    run_add_up(scenario, step, ledger, &run);
    return ledger;
}

void explain_run_print(const struct explanation *explanation, FILE *out)
{
    if (!explanation->result->run.is_asked) {
        fputs("  The scenario names no run.tokens: only the step is predicted.\n\n", out);
        return;
    }
    if (!result_has_run(explanation->result)) {
        fputs("  The plan does not fit into memory: there is no run to predict.\n\n", out);
        return;
    }
    explain_print_ledger(record_run(explanation), explanation->arena, out);
}

void explain_run_json(const struct explanation *explanation, struct json *json)
{
    const struct run_result *run = &explanation->result->run;
    const struct scenario *scenario = explanation->scenario;
    json_bool(json, "is_asked", run->is_asked);
    json_bool(json, "is_predicted", result_has_run(explanation->result));
    if (!result_has_run(explanation->result)) {
        return;
    }
    json_number(json, "tokens", run->tokens);
    json_integer(json, "steps", run->steps);
    json_number(json, "wall_clock_s", run->days * 86400);
    json_number(json, "days", run->days);
    json_number(json, "gpu_hours", run->gpu_hours);
    json_integer(json, "checkpoints", run->checkpoints);
    json_number(json, "checkpoint_bytes", run->checkpoint_bytes);
    json_number(json, "checkpoint_blocking_s", run->checkpoint_s);
    json_number(json, "checkpoint_persist_s", run_persist_s(scenario, run->checkpoint_bytes, NULL));
    json_number(json, "working_share",
                run_working_share(scenario, &explanation->result->step, NULL));
    json_number(json, "power_w", run_power_w(scenario, &explanation->result->step, NULL));
    json_number(json, "energy_kwh", run->energy_kwh);
    json_number(json, "gpu_hour_usd", scenario->price.gpu_hour_usd);
    json_number(json, "electricity_usd_per_kwh", scenario->price.electricity_usd_per_kwh);
    json_number(json, "pue", scenario->price.pue);
    json_number(json, "cost_usd", run->cost_usd);
    explain_put_ledger("sums", record_run(explanation), explanation->arena, json);
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
