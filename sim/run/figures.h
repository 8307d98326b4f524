/* Every figure of a prediction, once: from these tables come the document of `stoker run --json`,
 * the tables of the store, what `sweep`, `compare` and `list runs` read back from it, the metrics
 * of columns and plots, and lines in the headline of the screen. A new figure is a new row.
 *
 * A row is PLACE(kind, when it exists, ...), with PLACE the reports that have it:
 *
 *   JSON(kind, when, group, key, value)            the document alone
 *   STORE(kind, when, column, value)               the store alone
 *   BOTH(kind, when, group, key, column, value)    the document and the store
 *   POINT(kind, when, group, key, column, value)   these, and the points of a study: struct
 *                                                  store_row has it under the column's name, the
 *                                                  document of points under the key
 *   METRIC(kind, when, group, key, column, name, measure, value, ...)
 *                                                  these; and `--metric name` and plots show it,
 *                                                  `--require 'name<=...'` limits it: `...` says
 *                                                  how (struct figure_metric), and whether it is a
 *                                                  line of the screen
 *
 *   kind    TEXT, INTEGER, REAL, BOOL (in the store 0 or 1); POSITIVE: an INTEGER of at least 1;
 *           DURATION: a REAL of more than 0. Others divide by these two
 *   when    ALWAYS; SAID: a text that is not ""; KNOWN: a number that is not ABSENT; STEP: the plan
 *           fits; LINK: and uses a link; ASKED: `run:` was given; RUN: and the plan fits;
 *           PRICED: and a GPU-hour has a price; STORED: and storage has one; CARBON: and its energy
 *           emits; SPOT: and its nodes may be taken away; OWNED: and owning has a price; BOUGHT:
 *           and breaks even with rent; CHECKPOINTS: and it writes some. Else it is null, NULL, and
 *           not shown or "-"
 *   measure what a limit of it is written in (FIGURE_MEASURE_...), by how it is stored: COUNT for
 *           a plain number, FRACTION, BYTES, TFLOPS, WATTS, USD, KG, KWH, S, DAYS, MONTHS
 *   group   TITLE, TOP and FLOP are members of the document itself, as is LINKS; MEMORY, RUN and
 *           ENGINE are its objects; POINTS is in the documents of points alone. What is of the
 *           ENGINE, or a TITLE, may differ under one key
 *   key     in SI units, a fraction instead of per cent; the order of rows is that of the document
 *
 * The lists that hang on a run have ITEM(kind, when, key, column, value) in place of BOTH, and
 * JSON(kind, when, key, value).
 *
 * Values are written in terms of `result` and what FIGURE_TERMS names of it, or of the item that a
 * list is of; whoever expands a table has these, and includes run/goodput and run/holding.
 */
#ifndef RUN_FIGURES_H
#define RUN_FIGURES_H

#include "base/absent.h"
#include "base/units.h"

#define FIGURE_EXISTS_ALWAYS(value) true
#define FIGURE_EXISTS_STEP(value) result_has_step(result)
#define FIGURE_EXISTS_LINK(value) (result_has_step(result) && figure_is_said(step->busiest_link))
#define FIGURE_EXISTS_ASKED(value) run->is_asked
#define FIGURE_EXISTS_RUN(value) result_has_run(result)
#define FIGURE_EXISTS_FAILING(value) result_has_failures(result)
#define FIGURE_EXISTS_SPOT(value) (result_has_failures(result) && recovery_is_on_spot(scenario))
#define FIGURE_EXISTS_ENDED(value) (result_has_failures(result) && !is_absent(value))
#define FIGURE_EXISTS_PRICED(value) (result_has_run(result) && !is_absent(run->cost_usd))
#define FIGURE_EXISTS_STORED(value) (result_has_run(result) && !is_absent(run->storage_usd))
#define FIGURE_EXISTS_CARBON(value) (result_has_run(result) && !is_absent(run->carbon_kg))
#define FIGURE_EXISTS_OWNED(value) (result_has_run(result) && !is_absent(run->owned_gpu_hour_usd))
#define FIGURE_EXISTS_BOUGHT(value) (result_has_run(result) && !is_absent(run->break_even_months))
#define FIGURE_EXISTS_CHECKPOINTS(value) result_has_checkpoints(result)
#define FIGURE_EXISTS_SAID(value) figure_is_said(value)
#define FIGURE_EXISTS_KNOWN(value) (!is_absent(value))

#define FIGURE_IS_OF_MONTHS_ALWAYS false
#define FIGURE_IS_OF_MONTHS_STEP false
#define FIGURE_IS_OF_MONTHS_LINK false
#define FIGURE_IS_OF_MONTHS_ASKED false
#define FIGURE_IS_OF_MONTHS_RUN true
#define FIGURE_IS_OF_MONTHS_FAILING true
#define FIGURE_IS_OF_MONTHS_SPOT true
#define FIGURE_IS_OF_MONTHS_ENDED true
#define FIGURE_IS_OF_MONTHS_PRICED true
#define FIGURE_IS_OF_MONTHS_STORED true
#define FIGURE_IS_OF_MONTHS_CARBON true
#define FIGURE_IS_OF_MONTHS_OWNED true
#define FIGURE_IS_OF_MONTHS_BOUGHT true
#define FIGURE_IS_OF_MONTHS_CHECKPOINTS true
#define FIGURE_IS_OF_MONTHS_KNOWN false

/* What a scenario lacks that has no such figure; NULL: each that fits has one. */
#define FIGURE_NEEDS_ALWAYS NULL
#define FIGURE_NEEDS_STEP NULL
#define FIGURE_NEEDS_LINK NULL
#define FIGURE_NEEDS_KNOWN NULL
#define FIGURE_NEEDS_ASKED FIGURE_NEEDS_RUN
#define FIGURE_NEEDS_RUN "run: {tokens: 1T} gives it one"
#define FIGURE_NEEDS_FAILING "run: {tokens: 1T, failures: true} gives it one"
#define FIGURE_NEEDS_ENDED FIGURE_NEEDS_FAILING
#define FIGURE_NEEDS_SPOT "run: {tokens: 1T, failures: true} and price: {terms: spot} give it one"
#define FIGURE_NEEDS_PRICED "run: {tokens: 1T} and price: {gpu_hour: 2 USD} give it one"
#define FIGURE_NEEDS_STORED "run: {tokens: 1T} and price: {storage_gb_month: 0.02 USD} give it one"
#define FIGURE_NEEDS_CARBON "run: {tokens: 1T} and price: {carbon: 0.4 kg/kWh} give it one"
#define FIGURE_NEEDS_OWNED "run: {tokens: 1T} and price: {own: {...}} give it one"
#define FIGURE_NEEDS_BOUGHT "run: {tokens: 1T} and price: {own: {...}} beside a rent give it one"
#define FIGURE_NEEDS_CHECKPOINTS "run: {tokens: 1T, checkpoint: {every: 1 h}} gives it one"

/* What a limit of a figure is written in. */
struct figure_measure {
    enum dimension dimension;
    double si;        /* one of the figure as it is stored, in SI */
    bool is_plain;    /* the figure's name has the unit: a bare number will do */
    const char *unit; /* of a limit in words, after the number */
    double factor;    /* one of the figure as it is stored, in that unit */
};

#define FIGURE_MEASURE_COUNT       \
    {                              \
        DIM_COUNT, 1, false, "", 1 \
    }
#define FIGURE_MEASURE_FRACTION           \
    {                                     \
        DIM_FRACTION, 1, false, " %", 100 \
    }
#define FIGURE_MEASURE_BYTES             \
    {                                    \
        DIM_BYTES, 1, false, " GB", 1e-9 \
    }
#define FIGURE_MEASURE_TFLOPS                      \
    {                                              \
        DIM_FLOP_PER_S, 1e12, false, " TFLOP/s", 1 \
    }
#define FIGURE_MEASURE_WATTS            \
    {                                   \
        DIM_WATT, 1, false, " MW", 1e-6 \
    }
#define FIGURE_MEASURE_USD           \
    {                                \
        DIM_USD, 1, false, " USD", 1 \
    }
#define FIGURE_MEASURE_KG          \
    {                              \
        DIM_KG, 1, false, " kg", 1 \
    }
#define FIGURE_MEASURE_KWH                                   \
    {                                                        \
        DIM_JOULE, 1000 * SECONDS_PER_HOUR, false, " kWh", 1 \
    }
#define FIGURE_MEASURE_S               \
    {                                  \
        DIM_SECONDS, 1, false, " s", 1 \
    }
#define FIGURE_MEASURE_DAYS                       \
    {                                             \
        DIM_SECONDS, SECONDS_PER_DAY, true, "", 1 \
    }
/* Months of 730 h, as base/units has them. */
#define FIGURE_MEASURE_MONTHS                                       \
    {                                                               \
        DIM_SECONDS, HOURS_PER_MONTH *SECONDS_PER_HOUR, true, "", 1 \
    }

/* Which tables show a metric that nobody asked for with --metric. */
enum { USUAL_IN_SWEEP = 1, USUAL_IN_COMPARE = 2 };

/* How people read a figure. What is not named is 0: not so. */
struct figure_metric {
    const char *name;   /* as in --metric and in `list metrics` */
    const char *csv;    /* the column in the data of plots, with its unit */
    const char *title;  /* of a plot's axis */
    const char *head;   /* of a table's column */
    double factor;      /* from SI (and fractions) to what is shown */
    const char *format; /* of one shown value, for printf */
    bool is_higher_better;
    unsigned usual;      /* USUAL_IN_... */
    const char *sized;   /* head of a column of thousands or millions of this, by their size */
    const char *label;   /* of the screen's line, after the value and its unit; NULL: no line */
    const char *unit;    /* there */
    uint8_t gives_way;   /* of its column (base/field.h) */
    bool goes_with_step; /* it is as sure as tokens/s are: its band is theirs, times it */
    /* What follows is set where the table is made. */
    bool is_of_months; /* only a run has it */
    const char *needs; /* FIGURE_NEEDS_... */
    struct figure_measure measure;
    size_t offset; /* of the double in struct store_row (store/store.h) */
};

static inline bool figure_is_said(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* What the values of RUN_FIGURES are made of, in a function that has a `result`. */
#define FIGURE_TERMS                                                             \
    const struct scenario *scenario = result->scenario;                          \
    const struct step_result *step = &result->step;                              \
    const struct run_result *run = &result->run;                                 \
    const struct memory_use *use = &step->memory.worst; /* of the fullest GPU */ \
    const struct engine_use *engine = &step->engine;                             \
    (void)scenario, (void)step, (void)run, (void)use, (void)engine

/* clang-format off */
#define RUN_FIGURES(JSON, STORE, BOTH, POINT, METRIC) \
    POINT(TEXT, ALWAYS, POINTS, run_key, key, result->key) \
    STORE(TEXT, ALWAYS, scenario_key, result->scenario_key) \
    POINT(TEXT, ALWAYS, TITLE, scenario, title, scenario->title) \
    BOTH(TEXT, ALWAYS, TOP, version, stoker_version, stoker_version()) \
    POINT(TEXT, ALWAYS, TOP, build, build, result->build) \
    BOTH(INTEGER, ALWAYS, TOP, seed, seed, scenario->seed) \
    JSON(TEXT, ALWAYS, TOP, key, result->key) \
    POINT(TEXT, ALWAYS, POINTS, model, model, scenario->model.name) \
    POINT(TEXT, ALWAYS, POINTS, cluster, cluster, scenario->cluster.name) \
    POINT(TEXT, ALWAYS, POINTS, gpu, gpu, scenario->gpu.name) \
    POINT(TEXT, ALWAYS, POINTS, software, software, scenario->software.name) \
    POINT(TEXT, ALWAYS, POINTS, precision, precision, precision_names[scenario->precision]) \
    POINT(POSITIVE, ALWAYS, TOP, gpus, gpus, scenario->gpus) \
    POINT(POSITIVE, ALWAYS, TOP, paid_gpus, paid_gpus, \
          (int64_t)holding_of(scenario, &step->placement).gpus) \
    STORE(POSITIVE, ALWAYS, tp, scenario->parallel.tp) \
    STORE(POSITIVE, ALWAYS, cp, scenario->parallel.cp) \
    STORE(POSITIVE, ALWAYS, pp, scenario->parallel.pp) \
    STORE(POSITIVE, ALWAYS, dp, scenario->parallel.dp) \
    STORE(POSITIVE, ALWAYS, ep, scenario->parallel.ep) \
    STORE(INTEGER, ALWAYS, zero, scenario->parallel.zero) \
    STORE(TEXT, ALWAYS, schedule, schedule_name_of(&scenario->parallel)) \
    STORE(POSITIVE, ALWAYS, virtual_stages, scenario->parallel.virtual_stages) \
    STORE(TEXT, ALWAYS, recompute, recompute_names[scenario->recompute.kind]) \
    STORE(POSITIVE, ALWAYS, batch_global_sequences, scenario->batch.global) \
    STORE(POSITIVE, ALWAYS, batch_micro_sequences, scenario->batch.micro) \
    STORE(POSITIVE, ALWAYS, sequence_length_tokens, scenario->batch.sequence_length) \
    STORE(POSITIVE, STEP, step_ns, step->step_ns) \
    METRIC(DURATION, STEP, TOP, step_time_s, step_s, step_s, S, units_seconds(step->step_ns), \
           .csv = "step_s", .title = "step time, s", .goes_with_step = true, \
           .head = "step s", .factor = 1, \
           .format = "%.2f", .usual = USUAL_IN_SWEEP | USUAL_IN_COMPARE) \
    POINT(DURATION, KNOWN, TOP, step_least_s, step_least_s, result_step_least_s(result)) \
    POINT(DURATION, KNOWN, TOP, step_most_s, step_most_s, result_step_most_s(result)) \
    METRIC(REAL, STEP, TOP, mfu, mfu, mfu, FRACTION, step->mfu, \
           .csv = "mfu_percent", .title = "MFU, %", .goes_with_step = true, \
           .head = "MFU %", .gives_way = 4, \
           .factor = 100, \
           .format = "%.1f", .is_higher_better = true, \
           .usual = USUAL_IN_SWEEP | USUAL_IN_COMPARE) \
    METRIC(REAL, STEP, TOP, tokens_per_s_per_gpu, tokens_per_s_per_gpu, tokens_per_s_per_gpu, \
           COUNT, step->tokens_per_s_per_gpu, \
           .csv = "tokens_per_s_per_gpu", .title = "tokens/s per GPU", .goes_with_step = true, \
           .head = "tokens/s/GPU", \
           .gives_way = 5, \
           .factor = 1, .format = "%.0f", .is_higher_better = true, \
           .usual = USUAL_IN_SWEEP | USUAL_IN_COMPARE) \
    METRIC(REAL, STEP, TOP, tflops_per_gpu, tflops_per_gpu, tflops_per_gpu, TFLOPS, \
           step->tflops_per_gpu, \
           .csv = "tflops_per_gpu", .title = "TFLOP/s per GPU", .goes_with_step = true, \
           .head = "TFLOP/s/GPU", \
           .factor = 1, .format = "%.0f", .is_higher_better = true) \
    BOTH(REAL, STEP, TOP, mfu_full_attention, mfu_full_attention, step->mfu_full_attention) \
    METRIC(REAL, STEP, TOP, hfu, hfu, hfu, FRACTION, step->hfu, \
           .csv = "hfu_percent", .title = "HFU, %", .goes_with_step = true, \
           .head = "HFU %", .factor = 100, \
           .format = "%.1f", .is_higher_better = true) \
    POINT(POSITIVE, ALWAYS, FLOP, tokens_per_step, tokens_per_step, step->model_flop_tokens) \
    BOTH(REAL, ALWAYS, FLOP, flop_per_token_causal, flop_per_token_causal, \
         step->flop_per_token_causal) \
    BOTH(REAL, ALWAYS, FLOP, flop_per_token_full, flop_per_token_full, step->flop_per_token_full) \
    BOTH(REAL, ALWAYS, FLOP, hardware_flop_per_token, hardware_flop_per_token, \
         step->hardware_flop_per_token) \
    POINT(REAL, ALWAYS, FLOP, peak_flop_per_s, peak_flop_per_s, step->peak_flop_per_s) \
    METRIC(REAL, STEP, TOP, power_w, power_w, power, WATTS, result->power_w, \
           .csv = "power_mw", .title = "power of the site, mean of a step, MW", \
           .head = "MW", .factor = 1e-6, .format = "%.3f") \
    METRIC(REAL, STEP, TOP, power_peak_w, power_peak_w, power_peak, WATTS, \
           result->power_peak_w, \
           .csv = "power_peak_mw", .title = "power of the site, all GPUs at work, MW", \
           .head = "peak MW", .factor = 1e-6, .format = "%.3f") \
    METRIC(REAL, ALWAYS, MEMORY, peak_bytes, memory_peak_bytes, memory_peak_bytes, BYTES, \
           use->total_bytes, \
           .csv = "memory_peak_gb", .title = "peak memory of a GPU, GB", .head = "memory GB", \
           .gives_way = 7, \
           .factor = 1e-9, .format = "%.1f", .usual = USUAL_IN_SWEEP | USUAL_IN_COMPARE) \
    POINT(REAL, ALWAYS, MEMORY, limit_bytes, memory_limit_bytes, step->memory.limit_bytes) \
    BOTH(REAL, ALWAYS, MEMORY, weights, memory_weights_bytes, use->weights_bytes) \
    BOTH(REAL, ALWAYS, MEMORY, gradients, memory_gradients_bytes, use->gradients_bytes) \
    BOTH(REAL, ALWAYS, MEMORY, optimizer, memory_optimizer_bytes, use->optimizer_bytes) \
    BOTH(REAL, ALWAYS, MEMORY, activations, memory_activations_bytes, use->activations_bytes) \
    BOTH(REAL, ALWAYS, MEMORY, logits, memory_logits_bytes, use->logits_bytes) \
    JSON(REAL, ALWAYS, MEMORY, temporaries, use->temporary_bytes) \
    JSON(REAL, ALWAYS, MEMORY, buffers, use->buffers_bytes) \
    STORE(REAL, ALWAYS, memory_buffers_bytes, use->buffers_bytes + use->temporary_bytes) \
    BOTH(REAL, ALWAYS, MEMORY, overhead, memory_overhead_bytes, use->overhead_bytes) \
    JSON(REAL, ALWAYS, MEMORY, context, use->context_bytes) \
    JSON(REAL, ALWAYS, MEMORY, communication, use->communication_bytes) \
    JSON(REAL, ALWAYS, MEMORY, fragmentation, use->fragmentation_bytes) \
    JSON(REAL, ALWAYS, MEMORY, host, use->host_bytes) \
    JSON(TEXT, ALWAYS, MEMORY, peak_at, memory_moment_names[use->moment]) \
    JSON(INTEGER, ALWAYS, MEMORY, peak_microbatch, use->microbatch) \
    JSON(INTEGER, ALWAYS, MEMORY, peak_chunk, use->chunk) \
    POINT(BOOL, ALWAYS, MEMORY, fits, memory_fits, step->memory.fits) \
    BOTH(INTEGER, ALWAYS, MEMORY, worst_stage, memory_worst_stage, step->memory.worst_stage) \
    BOTH(TEXT, SAID, MEMORY, advice, memory_advice, step->memory_advice) \
    BOTH(BOOL, ALWAYS, RUN, is_asked, run_is_asked, run->is_asked) \
    METRIC(DURATION, RUN, RUN, days, wall_clock_days, days, DAYS, run->days, \
           .csv = "days", .title = "wall-clock, days", .goes_with_step = true, \
           .head = "days", .factor = 1, \
           .format = "%.1f", .usual = USUAL_IN_SWEEP | USUAL_IN_COMPARE) \
    METRIC(DURATION, RUN, RUN, gpu_hours, gpu_hours, gpu_hours, COUNT, run->gpu_hours, \
           .csv = "gpu_hours_thousand", .title = "thousand GPU-hours", \
           .goes_with_step = true, \
           .head = "thousand GPU-hours", .factor = 1e-3, .format = "%.1f", \
           .usual = USUAL_IN_COMPARE, .sized = "GPU-hours", .gives_way = 6) \
    JSON(REAL, RUN, RUN, idle_gpu_hours, run->idle_gpu_hours) \
    METRIC(REAL, RUN, RUN, goodput, goodput, goodput, FRACTION, run->goodput, \
           .csv = "goodput_percent", \
           .title = "goodput (" GOODPUT_IS "), %", \
           .head = "goodput %", .factor = 100, .format = "%.1f", .is_higher_better = true) \
    METRIC(REAL, PRICED, RUN, cost_usd, cost_usd, cost_usd, USD, run->cost_usd, \
           .csv = "cost_million_usd", .title = "cost, million USD", .goes_with_step = true, \
           .head = "M USD", \
           .factor = 1e-6, .format = "%.2f", .usual = USUAL_IN_SWEEP | USUAL_IN_COMPARE, \
           .sized = "USD") \
    JSON(REAL, PRICED, RUN, spares_usd, run->spares_usd) \
    JSON(REAL, STORED, RUN, storage_usd, run->storage_usd) \
    METRIC(REAL, RUN, RUN, energy_kwh, energy_kwh, energy_kwh, KWH, run->energy_kwh, \
           .csv = "energy_mwh", .title = "energy, MWh", .goes_with_step = true, \
           .head = "MWh", .factor = 1e-3, \
           .format = "%.0f", .usual = USUAL_IN_COMPARE, .sized = "kWh", .gives_way = 3) \
    BOTH(REAL, RUN, RUN, energy_gpu_working_kwh, energy_gpu_working_kwh, \
         run->component_kwh[COMPONENT_GPU_WORKING]) \
    BOTH(REAL, RUN, RUN, energy_gpu_waiting_kwh, energy_gpu_waiting_kwh, \
         run->component_kwh[COMPONENT_GPU_WAITING]) \
    BOTH(REAL, RUN, RUN, energy_host_kwh, energy_host_kwh, run->component_kwh[COMPONENT_HOST]) \
    BOTH(REAL, RUN, RUN, energy_nic_kwh, energy_nic_kwh, run->component_kwh[COMPONENT_NIC]) \
    BOTH(REAL, RUN, RUN, energy_switch_kwh, energy_switch_kwh, \
         run->component_kwh[COMPONENT_SWITCH]) \
    BOTH(REAL, RUN, RUN, energy_storage_kwh, energy_storage_kwh, \
         run->component_kwh[COMPONENT_STORAGE]) \
    BOTH(REAL, RUN, RUN, energy_spare_kwh, energy_spare_kwh, \
         run->component_kwh[COMPONENT_SPARE]) \
    BOTH(REAL, RUN, RUN, energy_facility_kwh, energy_facility_kwh, \
         run->component_kwh[COMPONENT_FACILITY]) \
    METRIC(REAL, RUN, RUN, rated_kwh, rated_kwh, rated_kwh, KWH, run->rated_kwh, \
           .csv = "rated_mwh", .title = "GPU-hours x TDP, MWh", .head = "GPU-hours x TDP, MWh", \
           .factor = 1e-3, .format = "%.0f") \
    METRIC(REAL, CARBON, RUN, carbon_kg, carbon_kg, carbon_kg, KG, run->carbon_kg, \
           .csv = "carbon_t", .title = "emissions, t CO2", .head = "t CO2", .factor = 1e-3, \
           .format = "%.1f") \
    BOTH(REAL, CARBON, RUN, rated_carbon_kg, rated_carbon_kg, run->rated_carbon_kg) \
    METRIC(REAL, OWNED, RUN, owned_gpu_hour_usd, owned_gpu_hour_usd, owned_gpu_hour_usd, USD, \
           run->owned_gpu_hour_usd, \
           .csv = "owned_gpu_hour_usd", .title = "owning, USD per GPU-hour", \
           .head = "owning USD/GPU-h", .factor = 1, .format = "%.3f") \
    METRIC(REAL, BOUGHT, RUN, break_even_months, break_even_months, break_even_months, MONTHS, \
           run->break_even_months, \
           .csv = "break_even_months", .title = "months until buying is cheaper than rent", \
           .head = "breaks even, months", .factor = 1, .format = "%.1f") \
    METRIC(REAL, RUN, RUN, kwh_per_million_tokens, kwh_per_million_tokens, \
           kwh_per_million_tokens, KWH, 1e6 * run->energy_kwh / run->tokens, \
           .csv = "kwh_per_million_tokens", .title = "kWh per million tokens", \
           .goes_with_step = true, \
           .head = "kWh per million tokens", .factor = 1, .format = "%.4g") \
    METRIC(REAL, PRICED, RUN, usd_per_million_tokens, usd_per_million_tokens, \
           usd_per_million_tokens, USD, 1e6 * run->cost_usd / run->tokens, \
           .csv = "usd_per_million_tokens", .title = "USD per million tokens", \
           .goes_with_step = true, \
           .head = "USD per million tokens", .factor = 1, .format = "%.4g", \
           .label = "per million tokens", .unit = "USD") \
    POINT(REAL, ASKED, RUN, tokens, run_tokens, run->tokens) \
    BOTH(POSITIVE, ASKED, RUN, steps, run_steps, run->steps) \
    BOTH(INTEGER, RUN, RUN, checkpoints, checkpoints, run->checkpoints) \
    BOTH(REAL, CHECKPOINTS, RUN, checkpoint_bytes, checkpoint_bytes, run->checkpoint_bytes) \
    BOTH(REAL, CHECKPOINTS, RUN, checkpoint_s, checkpoint_s, run->checkpoint_s) \
    BOTH(REAL, STEP, RUN, data_stall_s, data_stall_s, run->data_stall_s) \
    BOTH(POSITIVE, FAILING, RUN, repetitions, repetitions, run->repetitions) \
    METRIC(REAL, FAILING, RUN, days_p95, wall_clock_days_p95, days_p95, DAYS, \
           run->days_spread.p95, \
           .csv = "days_p95", .title = "wall-clock of 95 % of histories, days", \
           .head = "days p95", .factor = 1, .format = "%.1f") \
    STORE(TEXT, FAILING, histories_s, run->histories_s) \
    BOTH(REAL, FAILING, RUN, days_p5, wall_clock_days_p5, run->days_spread.p5) \
    BOTH(REAL, FAILING, RUN, days_p50, wall_clock_days_p50, run->days_spread.p50) \
    BOTH(REAL, FAILING, RUN, days_error, wall_clock_days_error, run->days_spread.error) \
    BOTH(REAL, FAILING, RUN, goodput_p5, goodput_p5, run->goodput_spread.p5) \
    BOTH(REAL, FAILING, RUN, goodput_p50, goodput_p50, run->goodput_spread.p50) \
    BOTH(REAL, FAILING, RUN, goodput_p95, goodput_p95, run->goodput_spread.p95) \
    BOTH(REAL, FAILING, RUN, goodput_error, goodput_error, run->goodput_spread.error) \
    METRIC(REAL, FAILING, RUN, interruptions, interruptions, interruptions, COUNT, \
           run->interruptions, \
           .csv = "interruptions", .title = "interruptions", .head = "interruptions", \
           .factor = 1, .format = "%.1f") \
    BOTH(REAL, ENDED, RUN, mtbf_s, mtbf_s, run->mtbf_s) \
    JSON(REAL, SPOT, RUN, notices_saved, run->notices_saved) \
    JSON(REAL, SPOT, RUN, unheld_gpu_hours, run->unheld_gpu_hours) \
    BOTH(INTEGER, FAILING, RUN, broken_nodes_max, broken_nodes_max, run->broken_most) \
    METRIC(REAL, RUN, RUN, effective_training_time_ratio, effective_training_time_ratio, \
           effective_training_time_ratio, FRACTION, run->effective_training_time_ratio, \
           .csv = "ettr_percent", .title = "ETTR (" ETTR_IS "), %", .head = "ETTR, %", \
           .factor = 100, .format = "%.1f", .is_higher_better = true) \
    BOTH(REAL, RUN, RUN, scheduling_goodput, scheduling_goodput, run->scheduling_goodput) \
    BOTH(REAL, RUN, RUN, runtime_goodput, runtime_goodput, run->runtime_goodput) \
    BOTH(REAL, RUN, RUN, ml_productivity_goodput, ml_productivity_goodput, \
         run->ml_productivity_goodput) \
    BOTH(INTEGER, FAILING, RUN, regimes_simulated, regimes_simulated, \
         run->regimes_simulated) \
    BOTH(INTEGER, FAILING, RUN, steps_reused, steps_reused, run->steps_reused) \
    BOTH(REAL, ENDED, RUN, checkpoint_young_s, checkpoint_young_s, run->checkpoint_young_s) \
    BOTH(REAL, ENDED, RUN, checkpoint_best_s, checkpoint_best_s, run->checkpoint_best_s) \
    POINT(TEXT, STEP, LINKS, bound_by, bound_by, step->bound_by) \
    BOTH(TEXT, LINK, LINKS, busiest_link, busiest_link, step->busiest_link) \
    BOTH(REAL, LINK, LINKS, busiest_link_utilisation, busiest_link_utilisation, \
         step->busiest_link_utilisation) \
    JSON(INTEGER, ALWAYS, ENGINE, ranks, engine->ranks) \
    BOTH(INTEGER, ALWAYS, ENGINE, ranks_simulated, engine_ranks_simulated, \
         engine->ranks_simulated) \
    BOTH(INTEGER, ALWAYS, ENGINE, links_simulated, engine_links_simulated, \
         engine->links_simulated) \
    BOTH(INTEGER, ALWAYS, ENGINE, tasks, engine_tasks, engine->tasks) \
    BOTH(INTEGER, ALWAYS, ENGINE, events, engine_events, engine->events) \
    BOTH(INTEGER, ALWAYS, ENGINE, solves, engine_solves, engine->solves) \
    JSON(INTEGER, ALWAYS, ENGINE, fills, engine->fills) \
    JSON(INTEGER, ALWAYS, ENGINE, flows_filled, engine->flows_filled) \
    JSON(INTEGER, ALWAYS, ENGINE, region_max, engine->region_max) \
    JSON(REAL, ALWAYS, ENGINE, solve_s, engine->solve_s) \
    BOTH(REAL, ALWAYS, ENGINE, host_s, engine_host_s, engine->host_s) \
    BOTH(INTEGER, ALWAYS, ENGINE, host_peak_bytes, engine_host_peak_bytes, engine->host_peak_bytes)

/* Lists that hang on a run; `item` is one of them, `index` its number. */
#define ASSUMPTION_FIGURES(ITEM, STORE, JSON) \
    ITEM(TEXT, ALWAYS, name, name, item->name) \
    ITEM(TEXT, ALWAYS, value, value, item->value) \
    ITEM(TEXT, SAID, reason, reason, item->reason) \
    JSON(REAL, KNOWN, moves, item->moves)

#define LINK_USE_FIGURES(ITEM, STORE, JSON) \
    ITEM(TEXT, ALWAYS, kind, kind, item->kind) \
    ITEM(POSITIVE, ALWAYS, count, links, item->count) \
    ITEM(TEXT, ALWAYS, busiest, busiest, item->busiest) \
    ITEM(REAL, ALWAYS, bytes, busiest_bytes, item->bytes) \
    ITEM(POSITIVE, ALWAYS, capacity_bytes_per_s, capacity_bytes_per_s, item->capacity_bytes_per_s) \
    ITEM(REAL, ALWAYS, utilisation_max, utilisation_max, item->utilisation_max) \
    ITEM(REAL, ALWAYS, utilisation_mean, utilisation_mean, item->utilisation_mean)

#define LINK_LOAD_FIGURES(ITEM, STORE, JSON) \
    ITEM(TEXT, ALWAYS, link, link, item->name) \
    ITEM(TEXT, ALWAYS, kind, kind, item->kind) \
    ITEM(REAL, ALWAYS, bytes, bytes, item->bytes) \
    ITEM(POSITIVE, ALWAYS, capacity_bytes_per_s, capacity_bytes_per_s, item->capacity_bytes_per_s) \
    ITEM(REAL, ALWAYS, utilisation, utilisation, item->utilisation)

#define TRAFFIC_FIGURES(ITEM, STORE, JSON) \
    ITEM(TEXT, ALWAYS, stream, stream, item->stream) \
    STORE(INTEGER, ALWAYS, number, (int64_t)index) \
    ITEM(TEXT, ALWAYS, operation, operation, item->operation) \
    ITEM(TEXT, ALWAYS, algorithm, algorithm, item->algorithm) \
    ITEM(TEXT, SAID, protocol, protocol, item->protocol) \
    ITEM(REAL, ALWAYS, bytes, buffer_bytes, item->bytes) \
    ITEM(REAL, ALWAYS, rank_bytes, rank_bytes, item->rank_bytes) \
    ITEM(POSITIVE, ALWAYS, count, count_per_step, item->count) \
    ITEM(REAL, ALWAYS, latency_s, latency_s, item->latency_s) \
    ITEM(REAL, ALWAYS, alone_s, alone_s, item->alone_s) \
    ITEM(REAL, ALWAYS, slowdown, slowdown, item->slowdown) \
    ITEM(TEXT, SAID, bottleneck, bottleneck, item->bottleneck) \
    ITEM(BOOL, ALWAYS, extrapolated, is_extrapolated, item->is_extrapolated)

#define JOB_FIGURES(ITEM, STORE, JSON) \
    ITEM(TEXT, ALWAYS, scenario, scenario, item->title) \
    STORE(INTEGER, ALWAYS, number, (int64_t)index) \
    ITEM(POSITIVE, ALWAYS, gpus, gpus, item->gpus) \
    ITEM(INTEGER, ALWAYS, steps, steps, item->steps) \
    ITEM(REAL, ALWAYS, step_alone_s, step_alone_s, item->step_alone_s) \
    ITEM(REAL, ALWAYS, step_s, step_s, item->step_s)

#define ACCOUNT_FIGURES(ITEM, STORE, JSON) \
    ITEM(TEXT, ALWAYS, account, account, item->name) \
    ITEM(REAL, ALWAYS, time_s, time_s, item->time_s) \
    ITEM(REAL, ALWAYS, energy_kwh, energy_kwh, item->energy_kwh) \
    ITEM(REAL, ALWAYS, gpu_working_kwh, gpu_working_kwh, \
         item->component_kwh[COMPONENT_GPU_WORKING]) \
    ITEM(REAL, ALWAYS, gpu_waiting_kwh, gpu_waiting_kwh, \
         item->component_kwh[COMPONENT_GPU_WAITING]) \
    ITEM(REAL, ALWAYS, host_kwh, host_kwh, item->component_kwh[COMPONENT_HOST]) \
    ITEM(REAL, ALWAYS, nic_kwh, nic_kwh, item->component_kwh[COMPONENT_NIC]) \
    ITEM(REAL, ALWAYS, switch_kwh, switch_kwh, item->component_kwh[COMPONENT_SWITCH]) \
    ITEM(REAL, ALWAYS, storage_kwh, storage_kwh, item->component_kwh[COMPONENT_STORAGE]) \
    ITEM(REAL, ALWAYS, spare_kwh, spare_kwh, item->component_kwh[COMPONENT_SPARE]) \
    ITEM(REAL, ALWAYS, facility_kwh, facility_kwh, item->component_kwh[COMPONENT_FACILITY])

#define FAILURE_FIGURES(ITEM, STORE, JSON) \
    ITEM(TEXT, ALWAYS, name, name, item->name) \
    ITEM(REAL, ALWAYS, interruptions, interruptions, item->count) \
    ITEM(REAL, ALWAYS, hours, hours, item->hours)

#define STAGE_FIGURES(ITEM, STORE, JSON) \
    STORE(INTEGER, ALWAYS, number, (int64_t)index) \
    ITEM(TEXT, ALWAYS, name, name, item->name) \
    ITEM(REAL, ALWAYS, tokens, tokens, item->tokens) \
    ITEM(INTEGER, ALWAYS, steps, steps, item->steps) \
    ITEM(POSITIVE, ALWAYS, gpus, gpus, item->scenario->gpus) \
    ITEM(POSITIVE, ALWAYS, batch, batch, item->scenario->batch.global) \
    ITEM(POSITIVE, ALWAYS, sequence_length, sequence_length, \
         item->scenario->batch.sequence_length) \
    ITEM(POSITIVE, ALWAYS, tp, tp, item->scenario->parallel.tp) \
    ITEM(POSITIVE, ALWAYS, cp, cp, item->scenario->parallel.cp) \
    ITEM(POSITIVE, ALWAYS, pp, pp, item->scenario->parallel.pp) \
    ITEM(POSITIVE, ALWAYS, dp, dp, item->scenario->parallel.dp) \
    ITEM(POSITIVE, ALWAYS, ep, ep, item->scenario->parallel.ep) \
    ITEM(REAL, ALWAYS, step_s, step_s, item->step_s) \
    ITEM(REAL, ALWAYS, mfu, mfu, item->step->mfu) \
    ITEM(REAL, ALWAYS, days, days, item->days) \
    ITEM(REAL, ALWAYS, gpu_hours, gpu_hours, item->gpu_hours)

/* X(list, struct of an item, items in a result, their count): each has its LIST_FIGURES. */
#define RUN_LISTS(X) \
    X(ASSUMPTION, assumption, scenario->assumptions.items, scenario->assumptions.count) \
    X(LINK_USE, link_use, step.link_uses, step.link_use_count) \
    X(LINK_LOAD, link_load, step.link_loads, step.link_load_count) \
    X(TRAFFIC, traffic_use, step.traffic, step.traffic_count) \
    X(JOB, job_use, step.jobs, step.job_count) \
    X(ACCOUNT, run_account, run.accounts, run.account_count) \
    X(FAILURE, run_failure, run.failures, run.failure_count) \
    X(STAGE, run_stage_use, run.stages, run.stage_count)
/* clang-format on */

#endif
