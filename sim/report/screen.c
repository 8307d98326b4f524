/* The screen of `stoker run` is printed from top to bottom by one function for
 * each block. Times in the table of causes are rounded together, so that the
 * column adds up to the last digit that is shown.
 */
#include "input/failures/recovery.h"
#include "input/job/batch.h"
#include "input/job/parallel.h"
#include "input/job/price.h"
#include "input/job/token_routing.h"
#include "input/scenario.h"
#include "report/house_lines.h"
#include "report/explain/matrix_update.h"
#include "report/anchor_sheet.h"
#include "report/screen.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/banded.h"
#include "base/units.h"
#include "base/wide.h"
#include "report/numbers.h"
#include "report/result_sheet.h"
#include "run/duration.h"
#include "run/goodput.h"
#include "run/holding.h"
#include "input/schedule_file.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define ASSUMPTIONS_SHOWN 8
#define UNSAID_SHOWN 3
#define REASON_WIDTH 60
#define LEAST_MOVES 5e-5 /* 0.01 % */

/* ---- numbers for people ------------------------------------------------ */

static uint128 scaled(int64_t part, int64_t total)
{
    return (uint128)(uint64_t)part * (uint64_t)total;
}

void screen_apportion(const int64_t *parts, uint32_t count, int64_t total, int64_t *units)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sim_assert(parts[i] >= 0);
        sum += (uint64_t)parts[i];
    }
    sim_assert(sum > 0);
    int64_t left = total;
    for (uint32_t i = 0; i < count; i++) {
        units[i] = (int64_t)(scaled(parts[i], total) / sum);
        left -= units[i];
    }
    /* Fewer than `count` are left. Each goes to the largest remainder above the last one's. */
    sim_assert(left >= 0 && left < (int64_t)count);
    uint64_t last_remainder = sum;
    uint32_t last = 0;
    for (; left > 0; left--) {
        uint64_t best_remainder = 0;
        uint32_t best = count;
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t remainder = (uint64_t)(scaled(parts[i], total) % sum);
            const bool is_after =
                remainder < last_remainder || (remainder == last_remainder && i > last);
            if (is_after && (best == count || remainder > best_remainder)) {
                best = i;
                best_remainder = remainder;
            }
        }
        sim_assert(best < count);
        units[best]++;
        last = best;
        last_remainder = best_remainder;
    }
}

static const char *count_text(struct arena *arena, int64_t count)
{
    return number_grouped(arena, (double)count);
}

static double power_of_ten(int exponent)
{
    double power = 1;
    for (int i = 0; i < exponent; i++) {
        power *= 10;
    }
    return power;
}

/* Decimals that show four significant digits of `seconds`: at least two, at most nanoseconds. */
static int decimals_for(double seconds)
{
    int decimals = 2;
    while (decimals < 9 && seconds * power_of_ten(decimals) < 1000) {
        decimals++;
    }
    return decimals;
}

/* ---- parts of the screen ----------------------------------------------- */

/* Lines of two cells, the first aligned to the right. */
static struct sheet *new_list(struct sheet *sheet)
{
    static const struct field fields[] = {{NULL, FIELD_COUNT("")}, {NULL, FIELD_LEFT("")}};
    return sheet_table(sheet, NULL, FIELD_LIST(fields));
}

/* Whose the GPUs are that stay idle, where a run is asked for. */
static const char *idle_words(const struct result *result)
{
    const bool is_paid = result->scenario->price.idle == IDLE_PAID;
    return !result->run.is_asked ? "" : is_paid ? ", and are paid" : ", and are not paid";
}

/* How the job lies in nodes and scale-up domains, where that leaves GPUs idle or parts groups. */
static void add_placement(struct sheet *lines, const struct result *result, struct arena *arena)
{
    const struct placement_use *use = &result->step.placement;
    const int64_t per_node = result->scenario->cluster.gpus_per_node;
    const char *idle = count_text(arena, use->idle_gpus);
    if (use->idle_gpus >= per_node) {
        sheet_say(lines,
                  "segments of %" PRId64 " GPUs use %" PRId64 " of each NVLink domain of %" PRId64
                  ": %s GPUs stay idle%s",
                  use->segment_gpus, use->used_gpus, use->domain_gpus, idle, idle_words(result));
    } else if (use->idle_gpus > 0 && result->run.is_asked) {
        sheet_say(lines, "%s of the node's %" PRId64 " GPUs stay idle%s", idle, per_node,
                  idle_words(result));
    }
    if (use->straddling > 0) {
        sheet_say(lines,
                  "%s %s groups of %" PRId64 " leave their NVLink domain of %" PRId64
                  ", which could hold them",
                  count_text(arena, use->straddling), use->straddler, use->straddling_gpus,
                  use->domain_gpus);
    }
}

/* "ep 8, etp 1, ": how experts are dealt out, where they are; of what follows tp nothing. */
static const char *experts_text(struct arena *arena, const struct scenario *scenario)
{
    const struct parallel *parallel = &scenario->parallel;
    const char *ep = parallel->ep > 1 ? arena_printf(arena, "ep %" PRId64 ", ", parallel->ep) : "";
    return scenario->model.experts > 0 && parallel->etp != parallel->tp
               ? arena_printf(arena, "%setp %" PRId64 ", ", ep, parallel->etp)
               : ep;
}

static const char *software_text(struct arena *arena, const struct software *software)
{
    return software->is_measured ? software->name
                                 : arena_printf(arena, "%s (no measured run)", software->name);
}

static void add_title(const struct result *result, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const struct scenario *scenario = result->scenario;
    const struct parallel *parallel = &scenario->parallel;
    const struct batch *batch = &scenario->batch;
    const char *cp = parallel->cp > 1 ? arena_printf(arena, "%" PRId64 " (%s)", parallel->cp,
                                                     context_names[parallel->context])
                                      : "1";
    static const struct field fields[] = {
        {NULL, FIELD_LEFT("")},
    };
    struct sheet *lines = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_say(lines, "%s", scenario->title);
    const char *recipe = scenario->recipe.name, *box = scenario->box.name;
    sheet_say(lines, "%s on %s x %s (%s%s%s), %s, %s%s%s", scenario->model.name,
              count_text(arena, scenario->gpus), scenario->gpu.name, scenario->cluster.name,
              box != NULL ? ", box " : "", box != NULL ? box : "",
              software_text(arena, &scenario->software), precision_names[scenario->precision],
              recipe != NULL ? ", recipe " : "", recipe != NULL ? recipe : "");
    sheet_say(lines,
              "tp %" PRId64 ", cp %s, pp %" PRId64 ", dp %" PRId64 ", %szero %" PRId64
              ", %s; batch %s x %s tokens, micro %" PRId64 "; recompute %s",
              parallel->tp, cp, parallel->pp, parallel->dp, experts_text(arena, scenario),
              parallel->zero, schedule_name_of(parallel), count_text(arena, batch->global),
              count_text(arena, batch->sequence_length), batch->micro,
              recompute_names[scenario->recompute.kind]);
    const char *house = house_line(arena, &scenario->house);
    if (house != NULL) {
        sheet_say(lines, "%s", house);
    }
    if (routing_is_even(&scenario->model, &scenario->routing)) {
        sheet_say(lines, ROUTING_EVEN_TEXT);
    }
    add_placement(lines, result, arena);
    sheet_say(sheet, "\n");
}

/* Of GPUs that are owned: what an hour comes to, and when that is less than rent. */
static void add_ownership(struct sheet *list, const struct result *result)
{
    const struct price *price = &result->scenario->price;
    const struct run_result *run = &result->run;
    struct arena *arena = sheet_arena(list);
    const char *even =
        is_absent(price->gpu_hour_usd) ? "there is no rent beside it"
        : is_absent(run->break_even_months)
            ? "never less than rent"
            : arena_printf(arena, "less than rent after %.1f months", run->break_even_months);
    sheet_say(list, "%.3f USD", run->owned_gpu_hour_usd);
    sheet_say(list, "an hour of an owned GPU that works %.0f %% of the time; %s, %s",
              100 * price->own.utilisation, even,
              price->own.interest > 0
                  ? arena_printf(arena, "at %.3g %% interest", 100 * price->own.interest)
                  : "without interest");
}

/* What is done a GPU is done by those that work. */
static const char *idle_hours_words(struct arena *arena, const struct run_result *run)
{
    return run->idle_gpu_hours > 0
               ? arena_printf(arena, ", %s of them of GPUs that work",
                              number_grouped(arena, run->gpu_hours - run->idle_gpu_hours))
               : "";
}

/* What stands ready, and what of it is paid beside the job's nodes. */
static void add_spares(struct sheet *list, const struct result *result, struct arena *arena)
{
    const struct run_result *run = &result->run;
    const struct holding holding = holding_of_run(result->scenario, &result->step, run);
    const int64_t idle =
        run->repetitions > 0 ? holding.spares - holding.rented_hot - holding.rented_cold : 0;
    if (is_absent(run->cost_usd) || !(run->spares_usd > 0 || idle > 0)) {
        return;
    }
    sheet_say(list, "%s USD", banded_usd(arena, result, run->spares_usd));
    if (idle == 0) {
        sheet_say(list, "of these for spare nodes: %" PRId64 " stand ready", holding.spares);
    } else {
        sheet_say(list,
                  "of these for spare nodes: %" PRId64 " stand ready, %" PRId64
                  " of them idle nodes of the job",
                  holding.spares, idle);
    }
}

static void add_checkpoints(struct sheet *list, const struct run_result *run, struct arena *arena)
{
    if (run->checkpoints > 0) {
        char size[32];
        char blocking[32];
        units_format(run->checkpoint_bytes, DIM_BYTES, 3, size, sizeof size);
        units_format_duration(run->checkpoint_s, blocking, sizeof blocking);
        sheet_say(list, "with %s checkpoints of %s, each blocking for %s",
                  count_text(arena, run->checkpoints), size, blocking);
    } else {
        const double lost = run->account_s[ACCOUNT_LOST] / account_sum_s(run->account_s);
        sheet_say(list,
                  lost > 0 ? "without checkpoints: steps done again take %.1f %% of the time"
                           : "without checkpoints",
                  100 * lost);
    }
}

static void add_run(struct sheet *list, const struct result *result, struct arena *arena)
{
    const struct run_result *run = &result->run;
    const struct banded_halves halves = banded_halves_of(result);
    char tokens[32];
    units_format(run->tokens, DIM_COUNT, 3, tokens, sizeof tokens);
    sheet_say(list, "%s days",
              banded_or(banded_text(arena, run->days, halves.days),
                        arena_printf(arena, "%.*f", run->days < 10 ? 2 : 1, run->days)));
    if (run->repetitions > 0) {
        sheet_say(list, "for %s tokens: %s steps, goodput %.1f %%, %.1f interruptions", tokens,
                  count_text(arena, run->steps), 100 * run->goodput, run->interruptions);
        sheet_say(list, "%.*f to %.*f", run->days < 10 ? 2 : 1, run->days_spread.p5,
                  run->days < 10 ? 2 : 1, run->days_spread.p95);
        sheet_say(list, "days: p5 to p95 of %u histories alone", run->repetitions);
    } else {
        const char *rest = goodput_rest(arena, run);
        sheet_say(list, "for %s tokens: %s steps, goodput %.1f %% (%s%sno failures)", tokens,
                  count_text(arena, run->steps), 100 * run->goodput, rest,
                  rest[0] != '\0' ? ", " : "");
    }
    sheet_say(list, "%s USD",
              is_absent(run->cost_usd) ? "-" : banded_usd(arena, result, run->cost_usd));
    sheet_say(
        list, "%s GPU-hours%s",
        banded_or(banded_text(arena, run->gpu_hours, halves.days * run->gpu_hours / run->days),
                  number_grouped(arena, run->gpu_hours)),
        idle_hours_words(arena, run));
    sheet_say(list, "%s",
              banded_or(banded_energy(arena, run->energy_kwh, halves.energy_kwh),
                        arena_printf(arena, "%s kWh", number_grouped(arena, run->energy_kwh))));
    add_checkpoints(list, run, arena);
    add_spares(list, result, arena);
    if (!is_absent(run->storage_usd)) {
        sheet_say(list, "%s USD", banded_usd(arena, result, run->storage_usd));
        sheet_say(list, "%sfor the storage of checkpoints",
                  is_absent(run->cost_usd) ? "" : "of these ");
    }
    if (!is_absent(run->owned_gpu_hour_usd)) {
        add_ownership(list, result);
    }
    if (!is_absent(run->carbon_kg)) {
        sheet_say(list, "%.1f t CO2", run->carbon_kg / 1000);
        sheet_say(list, "and %.1f t as GPU-hours x TDP, the way papers count",
                  run->rated_carbon_kg / 1000);
    }
}

/* A plan that does not fit takes no time. */
static void add_no_headline(const struct result *result, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    struct sheet *list = new_list(sheet);
    if (result->run.is_asked) {
        sheet_say(list, "- days");
        sheet_say(list, "- USD, - GPU-hours, - kWh");
    }
    sheet_say(list, "- %% MFU");
    sheet_say(list, "- tokens/s/GPU, - TFLOP/s per GPU");
    sheet_say(list, "step - s");
    sheet_say(list, "of %s tokens: the plan does not fit, see memory",
              count_text(arena, result->step.model_flop_tokens));
    sheet_say(sheet, "\n");
}

static void add_headline(const struct result *result, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const struct step_result *step = &result->step;
    if (!result_has_step(result)) {
        add_no_headline(result, sheet);
        return;
    }
    struct sheet *list = new_list(sheet);
    if (result->run.is_asked && !result_has_run(result)) {
        sheet_say(list, "- days");
        sheet_say(list, "- USD, - GPU-hours, - kWh: %s", result_no_run(result));
    } else if (result->run.is_asked) {
        add_run(list, result, arena);
    }
    result_sheet_show(result, list);
    const double half = banded_halves_of(result).of_step;
    const double rate = step->tokens_per_s_per_gpu, mfu = 100 * step->mfu;
    sheet_say(list, "%s %% MFU",
              banded_or(banded_text(arena, mfu, half * mfu), arena_printf(arena, "%.1f", mfu)));
    sheet_say(list, "%s tokens/s/GPU, %s TFLOP/s per GPU",
              banded_or(banded_text(arena, rate, half * rate),
                        arena_printf(arena, "%.*f", rate < 100 ? 2 : 0, rate)),
              banded_or(banded_text(arena, step->tflops_per_gpu, half * step->tflops_per_gpu),
                        arena_printf(arena, "%.1f", step->tflops_per_gpu)));
    const double step_s = units_seconds(step->step_ns);
    sheet_say(
        list, "step %s",
        banded_or(banded_duration(arena, step_s, half * step_s), number_duration(arena, step_s)));
    sheet_say(list, "of %s tokens%s", count_text(arena, step->model_flop_tokens),
              result->scenario->step_time_s > 0
                  ? arena_printf(arena, ", as run.step_time states; simulated: %s",
                                 number_duration(arena, units_seconds(step->simulated_ns)))
                  : "");
    sheet_say(sheet, "\n");
}

/* How far runs alike lie apart (train/ensemble). */
static void add_spread(const struct result *result, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const double least_s = result_step_least_s(result);
    if (is_absent(least_s)) {
        return;
    }
    sheet_say(sheet,
              "the step is the median of %u runs that take %s to %s: flows lock in phase on thin "
              "links, and changes of bandwidth by 0.03 %% decide how\n\n",
              result->step.spread.members, number_duration(arena, least_s),
              number_duration(arena, result_step_most_s(result)));
}

/* Where a band is from that is a ratio's. */
static void say_pairs(const struct band *band, struct sheet *sheet)
{
    if (band->votes > 1) {
        sheet_say(sheet, "as the ratios of %u pairs of %s\n", band->votes, band->like);
    } else {
        sheet_say(sheet, "around %s\n", band->like);
    }
}

/* How far off the run may be, in one line. */
static void say_draws(const struct run_result *run, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const struct run_draws *draws = &run->draws;
    sheet_say(sheet, "%s%s days, ", banded_range(arena, draws->days.p10, draws->days.p90),
              draws->unfinished > 0.1 ? " or more" : "");
    if (!is_absent(run->cost_usd)) {
        sheet_say(sheet, "%s USD, ", banded_range(arena, draws->cost_usd.p10, draws->cost_usd.p90));
    }
    sheet_say(sheet, "%s",
              banded_energy_range(arena, draws->energy_kwh.p10, draws->energy_kwh.p90));
    if (draws->count > 0) {
        sheet_say(sheet, ", goodput %.1f to %.1f %%", 100 * draws->goodput.p10,
                  100 * draws->goodput.p90);
    }
}

/* What is uncertain of a run with failures, the largest part first. */
static void say_parts(const struct run_draws *draws, struct sheet *sheet)
{
    struct {
        const char *name;
        double share;
    } parts[] = {
        {"how long a step is", draws->of_step},
        {"how often what fails", draws->of_rates},
        {"which history it has", draws->of_histories},
    };
    enum { PARTS = sizeof parts / sizeof *parts };
    sheet_say(sheet,
              "%" PRIu32 " draws of all that is uncertain: how many days a run takes hangs on ",
              draws->count);
    for (uint32_t said = 0; said < PARTS; said++) {
        uint32_t most = 0;
        for (uint32_t i = 1; i < PARTS; i++) {
            most = parts[i].share > parts[most].share ? i : most;
        }
        sheet_say(sheet, "%s%s (%.0f %%)", said == 0 ? "" : ", ", parts[most].name,
                  100 * parts[most].share);
        parts[most].share = -1;
    }
    if (draws->of.no_rates != NULL) {
        sheet_say(sheet, "; no error of rates of failures: %s", draws->of.no_rates);
    }
    sheet_say(sheet, "\n");
}

/* What the band of the step is of, and what speaks against it. */
static void say_class(const struct band *band, struct sheet *sheet)
{
    if (band->unproven_count > 0) {
        sheet_say(sheet, "not validated: %s; public reports of that were up to %.3g x off\n",
                  sheet_joined(sheet_arena(sheet), band->unproven, band->unproven_count),
                  fmax(1, band->reported));
    }
    sheet_say(sheet, "80 %% interval from %u similar runs of %u %s (%s)", band->votes,
              band->sources, band->sources == 1 ? "source" : "sources", band->like);
    if (band->all_votes > band->votes) {
        sheet_say(sheet, ", and by regression %u others", band->all_votes - band->votes);
    }
    for (uint32_t i = 0; i < band->outside_count; i++) {
        sheet_say(sheet, "%s%s", i == 0 ? "; extrapolates: " : ", ", band->outside[i]);
    }
    if (band->widening > 1) {
        sheet_say(sheet, "; interval widened %.2f x", band->widening);
    }
    if (band->box_spread > 0) {
        sheet_say(sheet,
                  band->knows_box ? "; what is left open of this box is %.1f %% of a step"
                                  : "; boxes of this GPU differ by %.0f %% of a step",
                  100 * band->box_spread);
    }
    sheet_say(sheet, "\n");
}

/* The headline's figures times the spread of the step's errors. */
static void say_step_band(const struct result *result, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const struct band *band = result->band;
    const struct step_result *step = &result->step;
    const double step_s = units_seconds(step->step_ns);
    const double mfu = 100 * step->mfu, rate = step->tokens_per_s_per_gpu;
    sheet_say(sheet, "%s %% MFU, %s tokens/s/GPU, step %s\n",
              banded_range(arena, mfu / band->high, mfu / band->low),
              banded_range(arena, rate / band->high, rate / band->low),
              banded_duration_range(arena, step_s * band->low, step_s * band->high));
    if (band->is_ratio) {
        say_pairs(band, sheet);
    } else {
        say_class(band, sheet);
    }
}

/* How far off all of that may be. */
static void add_band(const struct result *result, struct sheet *sheet)
{
    const struct band *band = result->band;
    const struct run_draws *draws = &result->run.draws;
    if (band == NULL || !result_has_step(result)) {
        return;
    }
    const bool is_drawn = result_has_run(result) && draws->are_asked;
    const bool has_run = is_drawn && (band->votes > 0 || draws->count > 0);
    if (has_run || band->votes > 0) {
        sheet_say(sheet, "p10 to p90: ");
    }
    if (has_run) {
        say_draws(&result->run, sheet);
        sheet_say(sheet, ",\n");
    }
    if (band->votes > 0) {
        say_step_band(result, sheet);
    } else {
        sheet_say(sheet, "no band%s: %s\n", has_run ? " of the step" : "", band->reason);
    }
    if (has_run && draws->count > 0) {
        say_parts(draws, sheet);
    }
    sheet_say(sheet, "\n");
}

/* One after the other. */
static void add_stages(const struct result *result, struct sheet *sheet)
{
    static const struct field fields[] = {
        {NULL, FIELD_LEFT("stage")},  {NULL, FIELD_COUNT("tokens")}, {NULL, FIELD_COUNT("steps")},
        {NULL, FIELD_COUNT("batch")}, {NULL, FIELD_COUNT("length")}, {NULL, FIELD_COUNT("GPUs")},
        {NULL, FIELD_LEFT("layout")}, {NULL, FIELD_COUNT("step")},   {NULL, FIELD_COUNT("MFU, %")},
        {NULL, FIELD_COUNT("days")},
    };
    const struct run_result *run = &result->run;
    struct arena *arena = sheet_arena(sheet);
    if (!result_has_run(result) || run->stage_count == 0) {
        return;
    }
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    for (uint32_t i = 0; i < run->stage_count; i++) {
        const struct run_stage_use *stage = &run->stages[i];
        const struct parallel *parallel = &stage->scenario->parallel;
        char tokens[32];
        units_format(stage->tokens, DIM_COUNT, 3, tokens, sizeof tokens);
        sheet_say(table, "%s", stage->name);
        sheet_say(table, "%s", tokens);
        sheet_say(table, "%s", count_text(arena, stage->steps));
        sheet_say(table, "%s", count_text(arena, stage->scenario->batch.global));
        sheet_say(table, "%s", count_text(arena, stage->scenario->batch.sequence_length));
        sheet_say(table, "%s", count_text(arena, stage->scenario->gpus));
        sheet_say(table, "tp %lld, cp %lld, pp %lld, dp %lld", (long long)parallel->tp,
                  (long long)parallel->cp, (long long)parallel->pp, (long long)parallel->dp);
        sheet_say(table, "%s", number_duration(arena, stage->step_s));
        sheet_say(table, "%.1f", 100 * stage->step->mfu);
        sheet_say(table, "%.*f", stage->days < 10 ? 2 : 1, stage->days);
    }
    sheet_say(sheet, "\n");
}

/* The last of what failed. */
static void add_spot(const struct result *result, struct sheet *sheet)
{
    const struct run_result *run = &result->run;
    struct arena *arena = sheet_arena(sheet);
    if (recovery_is_on_spot(result->scenario)) {
        sheet_say(sheet,
                  "nodes on spot were taken %.1f times, %.1f of them without loss of a step; ",
                  run->failures[run->failure_count - 1].count, run->notices_saved);
        sheet_say(sheet, "%s GPU-hours\nwere neither held nor paid\n",
                  number_grouped(arena, run->unheld_gpu_hours));
    }
}

/* Where the months go, and which failures they go for. */
static void add_accounts(const struct result *result, struct sheet *sheet)
{
    static const struct field fields[] = {
        {NULL, FIELD_LEFT("where the months go")},
        {NULL, FIELD_COUNT("hours")},
        {NULL, FIELD_COUNT("%")},
        {NULL, FIELD_COUNT("MWh")},
    };
    static const struct field of_failures[] = {
        {NULL, FIELD_LEFT("what failed")},
        {NULL, FIELD_COUNT("times")},
        {NULL, FIELD_COUNT("hours")},
    };
    const struct run_result *run = &result->run;
    if (!result_has_run(result) || !run->is_walked) {
        return;
    }
    const double wall_s = run->days * SECONDS_PER_DAY;
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    for (uint32_t i = 0; i < run->account_count; i++) {
        const struct run_account *account = &run->accounts[i];
        sheet_say(table, "  %s", account->name);
        sheet_say(table, "%.1f", account->time_s / 3600);
        sheet_say(table, "%.2f", 100 * account->time_s / wall_s);
        sheet_say(table, "%.1f", account->energy_kwh / 1000);
    }
    sheet_say(table, "  wall-clock, the sum");
    sheet_say(table, "%.1f", wall_s / 3600);
    sheet_say(table, "100.00");
    sheet_say(table, "%.1f", run->energy_kwh / 1000);
    for (uint32_t i = 0; i < goodput_count; i++) {
        sheet_say(sheet, "%s %.1f %%: %s\n", goodputs[i].name,
                  100 * goodput_value(&goodputs[i], run), goodputs[i].words);
    }
    sheet_say(sheet, "\n");
    if (!result_has_failures(result)) {
        return;
    }
    table = sheet_table(sheet, NULL, FIELD_LIST(of_failures));
    for (size_t i = 0; i < run->failure_count; i++) {
        sheet_say(table, "  %s", run->failures[i].name);
        sheet_say(table, "%.2f", run->failures[i].count);
        sheet_say(table, "%.2f", run->failures[i].hours);
    }
    add_spot(result, sheet);
    sheet_say(sheet, "up to %u nodes broken at a time; %lld regimes simulated, %s steps reused\n\n",
              run->broken_most, (long long)run->regimes_simulated,
              count_text(sheet_arena(sheet), run->steps_reused));
}

void screen_causes(const struct result *result, struct sheet *sheet)
{
    if (!result_has_step(result)) {
        return;
    }
    const struct step_result *step = &result->step;
    const double step_s = units_seconds(step->step_ns);
    const int decimals = decimals_for(step_s);
    const double units_per_s = power_of_ten(decimals);
    const int64_t step_units = llround(step_s * units_per_s);
    int64_t units[CAUSE_COUNT_];
    int64_t tenths[CAUSE_COUNT_];
    screen_apportion(step->gpu_ns, CAUSE_COUNT_, step_units, units);
    screen_apportion(step->gpu_ns, CAUSE_COUNT_, 1000, tenths);
    static const struct field fields[] = {
        {NULL, FIELD_LEFT("where the step goes")},
        {NULL, FIELD_COUNT("seconds")},
        {NULL, FIELD_COUNT("%")},
    };
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        if (step->gpu_ns[cause] == 0) {
            continue;
        }
        sheet_say(table, "  %s", cause_titles[cause]);
        sheet_say(table, "%.*f", decimals, (double)units[cause] / units_per_s);
        sheet_say(table, "%.1f", (double)tenths[cause] / 10);
    }
    sheet_say(table, "  step, the sum");
    sheet_say(table, "%.*f", decimals, (double)step_units / units_per_s);
    sheet_say(table, "100.0");
    matrix_update_say(result, sheet);
    sheet_say(sheet, "bound by %s of the critical path", step->bound_by);
    if (step->busiest_link[0] != '\0') {
        sheet_say(sheet, "; busiest link: %s, %.0f %% used", step->busiest_link,
                  100 * step->busiest_link_utilisation);
    }
    sheet_say(sheet, "\n\n");
}

static void add_jobs(const struct result *result, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const struct step_result *step = &result->step;
    if (!result_has_step(result) || step->job_count == 0) {
        return;
    }
    static const struct field fields[] = {
        {NULL, FIELD_LEFT("jobs on the fabric"), .is_broken = true},
        {NULL, FIELD_COUNT("GPUs"), .gives_way = 2},
        {NULL, FIELD_COUNT("step alone s"), .gives_way = 1},
        {NULL, FIELD_COUNT("together s")},
        {NULL, FIELD_COUNT("slower by")},
    };
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    for (uint32_t i = 0; i < step->job_count; i++) {
        const struct job_use *job = &step->jobs[i];
        sheet_say(table, "  %s", job->title);
        sheet_say(table, "%s", count_text(arena, job->gpus));
        sheet_say(table, "%.4f", job->step_alone_s);
        sheet_say(table, "%.4f", job->step_s);
        sheet_say(table, "%.1f %%", 100 * (job->step_s / job->step_alone_s - 1));
    }
    sheet_say(sheet, "\n");
}

/* What is counted to fit by less than such counts are off. */
static void say_memory_doubt(const struct result *result, struct sheet *sheet)
{
    const struct memory_doubt *doubt = result->memory_doubt;
    if (doubt == NULL || !doubt->is_in_doubt) {
        return;
    }
    sheet_say(sheet,
              "  it may not fit: of %u measured peaks%s%s%s, %.0f %% would have fit where so "
              "much was counted\n",
              doubt->peaks, doubt->like[0] != '\0' ? " (" : "", doubt->like,
              doubt->like[0] != '\0' ? ")" : "", 100 * doubt->share);
}

static void add_memory(const struct result *result, struct sheet *sheet)
{
    const struct step_result *step = &result->step;
    struct arena *arena = sheet_arena(sheet);
    const struct memory_use *use = &step->memory.worst;
    const struct {
        const char *title;
        double bytes;
    } kinds[] = {
        {"weights", use->weights_bytes},     {"gradients", use->gradients_bytes},
        {"optimizer", use->optimizer_bytes}, {"activations", use->activations_bytes},
        {"logits", use->logits_bytes},       {"temporaries", use->temporary_bytes},
        {"buffers", use->buffers_bytes},     {"overhead", use->overhead_bytes},
    };
    enum { KIND_COUNT = sizeof kinds / sizeof *kinds };
    int64_t bytes[KIND_COUNT];
    int64_t hundredths[KIND_COUNT];
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        bytes[i] = llround(kinds[i].bytes);
    }
    const int64_t total = llround(use->total_bytes / 1e7); /* in 0.01 GB */
    screen_apportion(bytes, KIND_COUNT, total, hundredths);
    const char *head =
        arena_printf(arena, "memory of a GPU, stage %" PRId64, step->memory.worst_stage);
    const struct field fields[] = {
        {NULL, FIELD_LEFT(head)},
        {NULL, FIELD_COUNT("GB")},
        {NULL, FIELD_LEFT("")},
    };
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        if (bytes[i] == 0) {
            continue;
        }
        sheet_say(table, "  %s", kinds[i].title);
        sheet_say(table, "%.2f", (double)hundredths[i] / 100);
        sheet_nothing(table);
    }
    sheet_say(table, "  total");
    sheet_say(table, "%.2f", (double)total / 100);
    sheet_say(table, "of %.2f GB: %s", step->memory.limit_bytes / 1e9,
              step->memory.fits_gpu ? result_memory_verdict(result) : "DOES NOT FIT");
    if (step->memory_advice[0] != '\0') {
        sheet_say(sheet, "  %s\n", step->memory_advice);
    }
    say_memory_doubt(result, sheet);
    sheet_say(sheet, "\n");
}

/* A share of the peak, in per cent. */
static const char *share_text(const struct result *result, double share, struct arena *arena)
{
    return result_has_step(result) ? arena_printf(arena, "%.1f", 100 * share) : "-";
}

/* As papers count, when it was asked for. */
static void add_convention(struct sheet *table, const struct result *result)
{
    const enum flop_convention asked = (enum flop_convention)result->mfu_convention;
    if (asked != FLOP_CAUSAL) {
        const double flop = result_flop_by(result, asked);
        sheet_say(table, "  mfu as %s counts", flop_convention_names[asked]);
        sheet_say(table, "%.*f", flop < 1e11 ? 3 : 1, flop / 1e9);
        sheet_say(table, "%s",
                  share_text(result, result_mfu_by(result, asked), sheet_arena(table)));
    }
}

static void add_conventions(const struct result *result, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const struct step_result *step = &result->step;
    const struct {
        const char *title;
        double flop;
        double share;
    } rows[] = {
        {"  mfu: forward + backward, causal attention", step->flop_per_token_causal, step->mfu},
        {"  mfu_full_attention", step->flop_per_token_full, step->mfu_full_attention},
        {"  hfu: with what is recomputed", step->hardware_flop_per_token, step->hfu},
    };
    const char *head =
        arena_printf(arena, "of the peak, %.1f TFLOP/s, dense %s", step->peak_flop_per_s / 1e12,
                     precision_names[result->scenario->precision]);
    const struct field fields[] = {
        {NULL, FIELD_LEFT(head)},
        {NULL, FIELD_COUNT("GFLOP per token")},
        {NULL, FIELD_COUNT("%")},
    };
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sheet_say(table, "%s", rows[i].title);
        sheet_say(table, "%.*f", rows[i].flop < 1e11 ? 3 : 1, rows[i].flop / 1e9);
        sheet_say(table, "%s", share_text(result, rows[i].share, arena));
    }
    add_convention(table, result);
    sheet_say(sheet, "\n");
}

/* Of what is ranked only what moves anything to be seen; else the first. */
static size_t shown_of(const struct assumptions *assumptions, bool is_ranked)
{
    size_t shown = 0;
    while (shown < assumptions->count && shown < ASSUMPTIONS_SHOWN &&
           (!is_ranked || (!is_absent(assumptions->items[shown].moves) &&
                           fabs(assumptions->items[shown].moves) >= LEAST_MOVES))) {
        shown++;
    }
    return shown;
}

static void add_assumptions(const struct result *result, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const struct assumptions *assumptions = &result->scenario->assumptions;
    const bool is_ranked = result->moves_range > 0;
    const size_t shown = shown_of(assumptions, is_ranked);
    if (assumptions->count == 0) {
        return;
    }
    const char *of = result_has_run(result) ? "days" : "step";
    const char *title = is_ranked
                            ? arena_printf(arena, "assumed; %.3g %% more of it moves the %s by",
                                           100 * result->moves_range, of)
                            : "assumed";
    const struct field fields[] = {
        {NULL, FIELD_LEFT(title)},
        {NULL, FIELD_COUNT(is_ranked ? "%" : NULL)},
        {NULL, FIELD_LEFT("because"), .gives_way = 1},
    };
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    for (size_t i = 0; i < shown; i++) {
        const struct assumption *item = &assumptions->items[i];
        sheet_say(table, "  %s = %s", item->name, item->value);
        sheet_text(table, NULL, is_ranked ? arena_printf(arena, "%+.2f", 100 * item->moves) : NULL);
        const char *reason = item->reason != NULL ? item->reason : "";
        const char *above = i > 0 && item[-1].reason != NULL ? item[-1].reason : "";
        sheet_say(table, "%s", /* once for all that share it */
                  strcmp(reason, above) == 0 ? "" : sheet_shortened(arena, reason, REASON_WIDTH));
    }
    if (assumptions->count > shown) {
        sheet_say(table,
                  is_ranked ? "  … and %zu more: less, or not known (stoker explain)"
                            : "  … and %zu more (stoker explain)",
                  assumptions->count - shown);
        sheet_nothing(table);
        sheet_nothing(table);
    }
    sheet_say(sheet, "\n");
}

/* The three that move the step most; the rest JSON has. */
static void add_unsaid(const struct result *result, struct sheet *sheet)
{
    static const struct field fields[] = {
        {NULL, FIELD_LEFT("not said; would change the step by")},
        {NULL, FIELD_RIGHT("%", "%+.1f", 100)},
        {NULL, FIELD_LEFT("as")},
    };
    if (result->unsaid_count == 0) {
        return;
    }
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    for (uint32_t i = 0; i < result->unsaid_count && i < UNSAID_SHOWN; i++) {
        sheet_say(table, "  %s", result->unsaid[i].name);
        sheet_number(table, NULL, result->unsaid[i].moves);
        sheet_say(table, "--set %s", result->unsaid[i].set);
    }
    sheet_say(sheet, "\n");
}

static void add_engine(const struct engine_use *use, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    char host[32];
    units_format_duration(use->host_s, host, sizeof host);
    sheet_say(sheet, "simulated %s of %s ranks, %s tasks, %s events in %s\n",
              count_text(arena, use->ranks_simulated), count_text(arena, use->ranks),
              count_text(arena, use->tasks), count_text(arena, use->events), host);
}

struct sheet *screen_sheet(const struct result *result, struct arena *arena)
{
    struct sheet *sheet = sheet_new(arena, RUN_SCHEMA);
    result_sheet_add(result, sheet);
    if (!result_has_step(result) && result->step.memory_advice[0] != '\0') {
        sheet_say(sheet, "does not fit: %s\n", result->step.memory_advice);
    }
    add_title(result, sheet);
    add_headline(result, sheet);
    add_spread(result, sheet);
    if (result_has_step(result)) {
        anchor_say(sheet, &result->scenario->anchor);
    }
    add_band(result, sheet);
    add_stages(result, sheet);
    add_accounts(result, sheet);
    screen_causes(result, sheet);
    add_jobs(result, sheet);
    add_memory(result, sheet);
    add_conventions(result, sheet);
    add_unsaid(result, sheet);
    add_assumptions(result, sheet);
    add_engine(&result->step.engine, sheet);
    return sheet;
}
