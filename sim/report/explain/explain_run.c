/* Sections 7 and 8 of `stoker explain`: the run (run/run), and the constants that nobody measured.
 */
#include "input/job/price.h"
#include "input/scenario.h"
#include "report/house_lines.h"
#include "report/explain/explain_sections.h"
#include "report/explain/explain_text.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "run/checkpoint.h"
#include "run/money.h"
#include "run/run.h"
#include "hw/checkpoint_place.h"

#include <math.h>
#include <string.h>

/* ---- the run ------------------------------------------------------------------- */

/* What it takes to make files of a checkpoint, where the software's profile says. */
static void add_files(const struct scenario *scenario, const struct checkpoint_place *place,
                      double busiest_bytes, struct ledger *ledger)
{
    const enum storage_way way = place->drain == STORAGE_FLUSH ? place->drain : place->flush;
    const double rate = scenario->software.checkpoint_serialise_bytes_per_s;
    const double each_s = scenario->software.checkpoint_coordinate_s;
    const double ranks = (double)scenario->gpus;
    if (!checkpoint_makes_files(way)) {
        return;
    }
    if (each_s > 0) {
        LEDGER_SUM(ledger, "all ranks agree on the files", "s", ranks * each_s,
                   LEDGER_TERM(ranks, "ranks"), LEDGER_TERM(each_s, "s"));
    }
    if (rate > 0) {
        LEDGER_SUM(ledger, "the rank that writes most makes one", "s", busiest_bytes / rate,
                   LEDGER_TERM(busiest_bytes, "GB"), LEDGER_TERM(rate, "B/s"));
        ledger_remark(ledger, "at least; as it is written");
    }
}

/* Of the whole run, or of each stage. */
static void record_steps(const struct result *result, struct ledger *ledger)
{
    const struct run_result *run = &result->run;
    int64_t before = 0;
    for (uint32_t i = 0; i < run->stage_count; i++) {
        const struct run_stage_use *stage = &run->stages[i];
        const int64_t steps = run_steps(stage->tokens, stage->step->model_flop_tokens, ledger);
        ledger_remark(ledger, ledger_text(ledger, "of stage %s", stage->name));
        if (i > 0) {
            LEDGER_COUNT(ledger, "steps", "", before + steps, LEDGER_TERM(before, "before"),
                         LEDGER_TERM(steps, "of this stage"));
        }
        before += steps;
    }
    if (run->stage_count == 0) {
        run_steps(run->tokens, result->step.model_flop_tokens, ledger);
    }
}

/* The prediction's own sums once more, with a record of them. */
static const struct ledger *record_run(const struct explanation *explanation)
{
    const struct scenario *scenario = explanation->scenario;
    const struct step_result *step = &explanation->result->step;
    struct run_result run = explanation->result->run;
    struct ledger *ledger = ledger_new(explanation->arena);
    record_steps(explanation->result, ledger);
    if (scenario->checkpoint.is_enabled) {
        const bool is_async = scenario->checkpoint.mode == CHECKPOINT_ASYNC;
        checkpoint_count(scenario, run_step_s(scenario, step), ledger, &run);
        if (run.checkpoints != explanation->result->run.checkpoints) {
            run.checkpoints = explanation->result->run.checkpoints;
            ledger_say(ledger, "checkpoints", "", (double)run.checkpoints,
                       "with those of stages and before maintenance");
        }
        const double busiest =
            checkpoint_busiest_bytes(explanation->arena, scenario, run.checkpoint_bytes);
        ledger_say(ledger, "the rank that writes most", "GB", busiest,
                   "as software.checkpoint.writers says");
        LEDGER_SUM(ledger, "to host memory", "s", busiest / scenario->gpu.host_link_bytes_per_s,
                   LEDGER_TERM(busiest, "GB"),
                   LEDGER_TERM(scenario->gpu.host_link_bytes_per_s, "B/s"));
        const struct checkpoint_place *place = checkpoint_place_of(&scenario->checkpoint);
        add_files(scenario, place, busiest, ledger);
        if (place->is_flushed) {
            ledger_say(ledger, ledger_text(ledger, "to %s", place->title), "s",
                       checkpoint_persist_s(explanation->arena, scenario, run.checkpoint_bytes),
                       "simulated: the nodes' flows alone");
        }
        if (scenario->checkpoint.peer_every > 0) {
            ledger_say(ledger, "from there to peers", "s",
                       checkpoint_peer_s(explanation->arena, scenario, run.checkpoint_bytes),
                       "simulated, of each so many-th");
        }
        if (scenario->checkpoint.target != CHECKPOINT_SHARED) {
            ledger_say(ledger, "from there to the file system", "s",
                       checkpoint_drain_s(explanation->arena, scenario, run.checkpoint_bytes),
                       "simulated, too");
        }
        ledger_say(ledger, "training waits", "s", run.checkpoint_s,
                   !is_async ? "simulated; until it is written"
                   : scenario->software.checkpoint_copy == COPY_BESIDE
                       ? "simulated; for what of the copy does not fit beside the next step"
                       : "simulated; for the copy to host memory");
    }
    explain_recovery(explanation, ledger);
    run_add_up(scenario, step, ledger, &run);
    return ledger;
}

/* Where the time and the energy of the run went. */
static void add_accounts(struct sheet *in, const struct run_result *run)
{
#define COLUMN(name, key, title)                                         \
    {key, FIELD_AT(struct run_account, component_kwh[COMPONENT_##name]), \
     FIELD_RIGHT(title, "%.1f", 1)},
#define TITLE(name, key, title) title,
    static const struct field fields[] = {
        {"account", FIELD_AT(struct run_account, name), FIELD_LEFT("account")},
        {"time_s", FIELD_AT(struct run_account, time_s), FIELD_RIGHT("hours", "%.2f", 1.0 / 3600)},
        {"energy_kwh", FIELD_AT(struct run_account, energy_kwh), FIELD_RIGHT("kWh", "%.1f", 1)},
        COMPONENTS(COLUMN)};
    struct sheet *table = sheet_table(in, "accounts", FIELD_LIST(fields));
    for (uint32_t i = 0; i < run->account_count; i++) {
        sheet_row(table, &run->accounts[i]);
    }
    static const char *const titles[COMPONENT_COUNT_] = {COMPONENTS(TITLE)};
#undef COLUMN
#undef TITLE
    sheet_say(in, "\n  By component:");
    for (uint32_t i = 0; i < COMPONENT_COUNT_; i++) {
        sheet_say(in, "%s %s %.1f %%", i > 0 ? "," : "", titles[i],
                  100 * run->component_kwh[i] / run->energy_kwh);
    }
    sheet_say(in, ".\n\n");
}

/* Steps that are not the usual one, where histories met such. */
static void add_regimes(struct sheet *in, const struct run_result *run)
{
    static const struct field fields[] = {
        {"regime", FIELD_AT(struct run_regime, what), FIELD_LEFT("a step")},
        {"step_s", FIELD_AT(struct run_regime, step_s), FIELD_RIGHT("seconds", "%.6f", 1)},
    };
    if (run->regime_count == 0) {
        return;
    }
    struct sheet *table = sheet_table(in, "regimes", FIELD_LIST(fields));
    for (size_t i = 0; i < run->regime_count; i++) {
        sheet_row(table, &run->regimes[i]);
    }
    sheet_say(in, "\n  Each is simulated once; what histories met beside the usual step.\n\n");
}

void explain_run(const struct explanation *explanation, struct sheet *in)
{
    const struct run_result *run = &explanation->result->run;
    const struct scenario *scenario = explanation->scenario;
    const bool is_predicted = result_has_run(explanation->result);
    sheet_bool(in, "is_asked", run->is_asked);
    sheet_bool(in, "is_predicted", is_predicted);
    if (!run->is_asked) {
        sheet_say(in, "  The scenario names no run.tokens: only the step is predicted.\n\n");
        return;
    }
    if (!is_predicted) {
        sheet_say(in, "  There is no run to predict: %s.\n\n", result_no_run(explanation->result));
        return;
    }
    sheet_number(in, "tokens", run->tokens);
    sheet_integer(in, "steps", run->steps);
    sheet_number(in, "wall_clock_s", run->days * SECONDS_PER_DAY);
    sheet_number(in, "days", run->days);
    sheet_number(in, "gpu_hours", run->gpu_hours);
    sheet_integer(in, "checkpoints", run->checkpoints);
    sheet_number(in, "checkpoint_bytes", run->checkpoint_bytes);
    sheet_number(in, "checkpoint_blocking_s", run->checkpoint_s);
    sheet_number(in, "checkpoint_persist_s",
                 checkpoint_persist_s(explanation->arena, scenario, run->checkpoint_bytes));
    sheet_number(in, "working_share",
                 money_working_share(scenario, &explanation->result->step, NULL));
    const struct holding holding = holding_of_run(scenario, &explanation->result->step, run);
    sheet_number(in, "power_w", money_power_w(&holding, &explanation->result->step, NULL));
    sheet_number(in, "waiting_power_w", money_waiting_power_w(&holding, NULL));
    sheet_number(in, "energy_kwh", run->energy_kwh);
    sheet_number(in, "rated_kwh", run->rated_kwh);
    sheet_number(in, "carbon_kg_per_kwh", scenario->price.carbon_kg_per_kwh);
    sheet_number(in, "carbon_kg", run->carbon_kg);
    sheet_text(in, "terms", price_terms_names[scenario->price.terms]);
    sheet_number(in, "gpu_hour_usd", scenario->price.gpu_hour_usd);
    sheet_number(in, "owned_gpu_hour_usd", run->owned_gpu_hour_usd);
    sheet_number(in, "break_even_months", run->break_even_months);
    sheet_number(in, "electricity_usd_per_kwh", scenario->price.electricity_usd_per_kwh);
    sheet_number(in, "pue", scenario->price.pue);
    sheet_number(in, "storage_usd", run->storage_usd);
    sheet_number(in, "cost_usd", run->cost_usd);
    explain_ledger(in, "sums", record_run(explanation));
    add_accounts(in, run);
    add_regimes(in, run);
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

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* At length the first time. */
static bool say_moves(const struct explanation *explanation, const struct assumption *item,
                      bool is_first, struct sheet *in)
{
    const struct result *result = explanation->result;
    const char *of = result_has_run(result) ? "days" : "step";
    if (is_absent(item->moves) || fabs(item->moves) == 0) {
        return false;
    }
    if (is_first) {
        explain_paragraph(in, 6, "%.3g %% more of it moves the %s by %+.2g %%",
                          100 * result->moves_range, of, 100 * item->moves);
    } else {
        explain_paragraph(in, 6, "the %s by %+.2g %%", of, 100 * item->moves);
    }
    return true;
}

/* Values that are neither the scenario's nor the catalogue's, each with its place. */
static void explain_house(const struct explanation *explanation, struct sheet *in)
{
    const struct house *house = &explanation->scenario->house;
    house_add(house, in);
    if (house->name == NULL) {
        return;
    }
    explain_paragraph(in, 2, "From the defaults of %s, where the scenario says nothing:%s",
                      house->name, house->value_count == 0 ? " none." : "");
    for (uint32_t i = 0; i < house->value_count; i++) {
        const struct house_value *value = &house->values[i];
        explain_paragraph(in, 6, "%s = %s  (%s)", value->key, value->value,
                          house_place(explanation->arena, house, value));
    }
    sheet_say(in, "\n");
}

static bool moves_any(const struct assumption *item)
{
    static const double LEAST = 0.0001; /* of the days: less is told as nothing */
    return !is_absent(item->moves) && fabs(item->moves) >= LEAST;
}

static void say_rest(const struct assumptions *assumptions, struct sheet *in)
{
    struct arena *arena = sheet_arena(in);
    const char **names = arena_array(arena, assumptions->count + 1, sizeof *names);
    uint32_t count = 0;
    for (size_t i = 0; i < assumptions->count; i++) {
        if (!moves_any(&assumptions->items[i])) {
            names[count++] = assumptions->items[i].name;
        }
    }
    if (count > 0) {
        sheet_say(in, "\nno effect on it, under 0.01 %%: %s\n", sheet_joined(arena, names, count));
    }
}

/* They lie in that order already (study/assumed). */
void explain_rank(const struct explanation *explanation, struct sheet *in)
{
    const struct result *result = explanation->result;
    const struct assumptions *assumptions = &explanation->scenario->assumptions;
    struct arena *arena = explanation->arena;
    const char *of = result_has_run(result) ? "days" : "step";
    const double more = 100 * result->moves_range;
    const struct assumption *first = assumptions->items;
    sheet_answer(in,
                 assumptions->count == 0 || !moves_any(first)
                     ? "No assumed constant moves the prediction."
                     : arena_printf(arena,
                                    "Of %zu assumed constants %s moves the %s most: %.3g %% "
                                    "more of it by %+.2g %%.",
                                    assumptions->count, first->name, of, more, 100 * first->moves));
    const struct field fields[] = {
        {NULL, FIELD_COUNT("")},
        {"name", FIELD_LEFT("assumed")},
        {"place", FIELD_LEFT("where"), .gives_way = 1},
        {"value", FIELD_COUNT("value")},
        {"moves", FIELD_RIGHT(arena_printf(arena, "%.3g %% more: %s %%", more, of), "%+.2f", 100)},
        {.key = "reason"},
    };
    struct sheet *table = sheet_table(in, "constants", FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (size_t i = 0; i < assumptions->count; i++) {
        const struct assumption *item = &assumptions->items[i];
        if (!moves_any(item)) {
            continue;
        }
        sheet_say(table, "%zu", i + 1);
        sheet_text(table, NULL, item->name);
        sheet_text(table, NULL, place_text(arena, &item->place));
        sheet_text(table, NULL, item->value);
        sheet_number(table, NULL, item->moves);
        sheet_text(table, NULL, or_empty(item->reason));
    }
    say_rest(assumptions, in);
    sheet_say(in, "\nWhere each is from: stoker explain FILE assumptions\n");
}

/* Who is the first with that reason, which is said once for all that share it. */
static const struct assumption *first_because(const struct assumptions *assumptions,
                                              const char *reason)
{
    const struct assumption *item = assumptions->items;
    while (strcmp(or_empty(item->reason), reason) != 0) {
        item++;
    }
    return item;
}

void explain_assumptions(const struct explanation *explanation, struct sheet *in)
{
    explain_house(explanation, in);
    const struct assumptions *assumptions = &explanation->scenario->assumptions;
    struct sheet *constants = sheet_array(in, "constants");
    bool is_first = true;
    for (size_t i = 0; i < assumptions->count; i++) {
        const struct assumption *item = &assumptions->items[i];
        const char *reason = or_empty(item->reason);
        struct sheet *constant = sheet_object(constants, NULL);
        sheet_text(constant, "name", item->name);
        sheet_text(constant, "value", item->value);
        sheet_text(constant, "file", or_empty(item->place.file));
        sheet_integer(constant, "line", item->place.line);
        sheet_text(constant, "reason", reason);
        sheet_number(constant, "moves", item->moves);
        explain_paragraph(in, 2, "%s = %s  (%s)", item->name, item->value,
                          place_text(explanation->arena, &item->place));
        is_first = !say_moves(explanation, item, is_first, in) && is_first;
        const struct assumption *first = first_because(assumptions, reason);
        explain_paragraph(in, 6, first == item ? "%s" : "as %s",
                          first == item ? reason : first->name);
    }
    if (assumptions->count == 0) {
        sheet_say(in, "  None.\n");
    }
    sheet_say(in, "\n");
}
