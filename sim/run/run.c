/* Steps become a run by multiplication: one is simulated, so is what a checkpoint adds to it
 * (run/checkpoint), and loaders run against its length (run/loading). Days follow here, money and
 * energy in run/money.
 */
#include "run/run.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"
#include "base/units.h"
#include "input/failures/recovery.h"
#include "input/run/run_plan.h"
#include "input/scenario.h"
#include "input/study/anchor.h"
#include "run/checkpoint.h"
#include "run/draws.h"
#include "run/duration.h"
#include "run/failing.h"
#include "run/history/interval.h"
#include "run/holding.h"
#include "run/known.h"
#include "run/loading.h"
#include "run/money.h"
#include "run/months.h"
#include "run/regime.h"
#include "train/step.h"
#include "train/step_memo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* With what the files hold that its stages name. */
static uint64_t hash_text(const struct scenario *scenario)
{
    uint64_t hash = rng_hash_bytes(scenario->resolved_text, strlen(scenario->resolved_text), 0);
    for (uint32_t i = 0; i < scenario->plan.stage_count; i++) {
        const char *text = scenario->plan.stages[i].scenario->resolved_text;
        hash = rng_hash_bytes(text, strlen(text), hash);
    }
    return hash;
}

/* A run's key: the hash of its resolved text, the build and the seed. */
static void put_key(uint64_t hash, const struct scenario *scenario, const char *build, char key[17])
{
    hash = rng_hash_bytes(build, strlen(build), hash);
    hash = rng_hash_bytes(&scenario->seed, sizeof scenario->seed, hash);
    snprintf(key, 17, "%016llx", (unsigned long long)hash);
}

void run_key(const struct scenario *scenario, const char *build, char key[17])
{
    put_key(hash_text(scenario), scenario, build, key);
}

int64_t run_steps(double tokens, int64_t tokens_per_step, struct ledger *ledger)
{
    return (int64_t)LEDGER_SUM(ledger, "steps", "", ceil(tokens / (double)tokens_per_step),
                               LEDGER_TERM(tokens, "tokens"),
                               LEDGER_TERM(tokens_per_step, "a step"));
}

/* What a GPU of a step of the run waits for data, in the mean: for the loaders, and for what is
 * read over the fabric. */
static double data_stall_s(const struct scenario *scenario, const struct step_result *step)
{
    return (double)step->gpu_ns[CAUSE_DATA_STALL] * 1e-9 / (double)scenario->gpus;
}

/* How often to write a checkpoint, by formula: of one constant rate, without waiting for nodes. */
static void add_up_interval(const struct scenario *scenario, double step_s, struct ledger *ledger,
                            struct run_result *run)
{
    const double every = (double)checkpoint_interval(&scenario->checkpoint, step_s);
    run->checkpoint_every_s = LEDGER_SUM(ledger, "between checkpoints", "s", every * step_s,
                                         LEDGER_TERM(every, "steps"), LEDGER_TERM(step_s, "s"));
    if (is_absent(run->checkpoint_young_s)) {
        return;
    }
    run->checkpoint_young_s = LEDGER_SUM(
        ledger, "best by Young", "s", sqrt(2 * run->checkpoint_block_s * run->rollback_mtbf_s),
        LEDGER_TERM(run->checkpoint_block_s, "s"), LEDGER_TERM(run->rollback_mtbf_s, "s"));
    ledger_remark(ledger, run->copy_nodes > 0 ? "mean time between failures that leave no copy"
                                              : "blocking part and mean time between failures that "
                                                "end the job");
    ledger_say(ledger, "best by Daly", "s", run->checkpoint_best_s,
               "where the exact goodput of one constant rate is most (his equation 20), once it is "
               "written");
    if (is_absent(run->goodput_by_formula)) {
        return;
    }
    ledger_say(ledger, "goodput so often", "%", run->goodput_by_formula,
               "exact, if spares never lack and nothing slows or stops the job");
    ledger_say(ledger, "goodput at Daly's", "%", run->goodput_at_best, "the same");
}

double run_step_s(const struct scenario *scenario, const struct step_result *step)
{
    return scenario->step_time_s > 0 ? scenario->step_time_s : sim_time_to_s(step->step_ns);
}

/* Of all, where some were taken away. */
static double held_gpu_hours(double all, double unheld, struct ledger *ledger)
{
    if (unheld <= 0) {
        return all;
    }
    const double held = LEDGER_SUM(ledger, "GPU-hours that are held", "h", all - unheld,
                                   LEDGER_TERM(all, "GPU-hours"), LEDGER_TERM(unheld, "h"));
    ledger_remark(ledger, "what is taken away is not paid for while the job lacks it");
    return held;
}

/* What is paid beside the job's own. */
static double paid_gpus(const struct holding *holding, struct ledger *ledger)
{
    const double own = (double)holding->scenario->gpus;
    if (!(holding->idle_gpus > 0)) {
        return own;
    }
    const double gpus =
        LEDGER_SUM(ledger, "GPUs that are paid", "GPUs", own + holding->idle_gpus,
                   LEDGER_TERM(own, "of the job"), LEDGER_TERM(holding->idle_gpus, "idle"));
    ledger_remark(ledger, "price.idle: paid");
    return gpus;
}

static double gpu_hours_of_stages(struct ledger *ledger, const struct holding *of_run,
                                  struct run_result *run)
{
    double sum = 0;
    run->idle_gpu_hours = 0;
    for (uint32_t i = 0; i < run->stage_count; i++) {
        struct run_stage_use *stage = &run->stages[i];
        const struct holding holding = holding_of_stage(stage, of_run);
        const double gpus = paid_gpus(&holding, ledger);
        double wall_s = 0;
        for (uint32_t account = 0; account < ACCOUNT_COUNT_; account++) {
            wall_s += stage->account_s[account];
        }
        stage->days = wall_s / SECONDS_PER_DAY;
        const double all =
            LEDGER_SUM(ledger, "GPU-hours of a stage", "h", wall_s / SECONDS_PER_HOUR * gpus,
                       LEDGER_TERM(wall_s, "seconds"), LEDGER_TERM(SECONDS_PER_HOUR, "s"),
                       LEDGER_TERM(gpus, "GPUs"));
        ledger_remark(ledger, stage->name);
        stage->gpu_hours = held_gpu_hours(all, stage->unheld_gpu_hours, ledger);
        sum += stage->gpu_hours;
        run->idle_gpu_hours += wall_s / SECONDS_PER_HOUR * holding.idle_gpus;
    }
    ledger_say(ledger, "GPU-hours", "h", sum, "of all stages");
    return sum;
}

static double gpu_hours_of(double wall_s, const struct holding *holding, struct ledger *ledger,
                           struct run_result *run)
{
    const double gpus = paid_gpus(holding, ledger);
    const double all = LEDGER_SUM(ledger, "GPU-hours", "h", wall_s / SECONDS_PER_HOUR * gpus,
                                  LEDGER_TERM(wall_s, "seconds"),
                                  LEDGER_TERM(SECONDS_PER_HOUR, "s"), LEDGER_TERM(gpus, "GPUs"));
    run->idle_gpu_hours = wall_s / SECONDS_PER_HOUR * holding->idle_gpus;
    return held_gpu_hours(all, run->unheld_gpu_hours, ledger);
}

static double add_up_time(const struct scenario *scenario, const struct step_result *step,
                          struct ledger *ledger, struct run_result *run)
{
    const double step_s = run_step_s(scenario, step);
    const struct holding holding = holding_of_run(scenario, step, run);
    if (scenario->step_time_s > 0) {
        ledger_say(ledger, "a step", "s", step_s, "measured: run.step_time");
    }
    const double wall_s = duration_add_up(scenario, step, ledger, run);
    if (run->repetitions > 0 && scenario->checkpoint.is_enabled) {
        add_up_interval(scenario, step_s, ledger, run);
    }
    run->gpu_hours = run->stage_count > 0 ? gpu_hours_of_stages(ledger, &holding, run)
                                          : gpu_hours_of(wall_s, &holding, ledger, run);
    sim_assert(run->goodput > 0 || run->makes_no_progress);
    sim_assert(run->goodput <= 1);
    return wall_s;
}

void run_add_up(const struct scenario *scenario, const struct step_result *step,
                struct ledger *ledger, struct run_result *run)
{
    const double wall_s = add_up_time(scenario, step, ledger, run);
    if (!run->makes_no_progress) {
        const struct holding holding = holding_of_run(scenario, step, run);
        money_add_up(&holding, step, wall_s, ledger, run);
    }
}

/* Nodes on spot, the last of the classes, are taken after a checkpoint: there is no interval that
 * is best for them. */
static bool is_saved_on_notice(const struct scenario *scenario, const struct run_result *run)
{
    return recovery_is_on_spot(scenario) && scenario->recovery.on_notice == NOTICE_CHECKPOINT &&
           run->notice_safe_s <= scenario->spot.notice_s;
}

/* What the formulas of run/history/interval say of this run. */
static void compare_intervals(const struct scenario *scenario, double step_s,
                              const struct checkpoint_cost *cost, const struct survivors *survivors,
                              struct run_result *run)
{
    struct arena *scratch = arena_new();
    uint32_t count;
    const struct failure_class *classes = failing_classes(scratch, scenario, &count);
    double read_s[HISTORY_LEVELS];
    checkpoint_read_s(cost->tiers, cost->tier_count, read_s);
    run->notice_safe_s =
        checkpoint_safe_s(cost, scenario->spot.together > 1 ? LEVEL_NODE + 1 : LEVEL_NODE);
    const uint32_t lossy = count - (is_saved_on_notice(scenario, run) ? 1 : 0);
    const struct interval_case all = failing_case(scenario, classes, count, NULL, read_s);
    struct interval_case of = failing_case(scenario, classes, lossy, survivors->lost, read_s);
    arena_free(scratch);
    run->mtbf_s = all.mtbf_s > 0 ? all.mtbf_s : ABSENT;
    run->rollback_mtbf_s = of.mtbf_s > 0 ? of.mtbf_s : ABSENT;
    run->copy_nodes = survivors->nodes;
    run->checkpoint_young_s = ABSENT;
    run->checkpoint_best_s = ABSENT;
    if (of.mtbf_s <= 0 || !scenario->checkpoint.is_enabled || cost->block_s <= 0) {
        return;
    }
    const double every_s = (double)checkpoint_interval(&scenario->checkpoint, step_s) * step_s;
    of.block_s = cost->block_s;
    of.durable_s = fmin(cost->durable_s, every_s + cost->block_s);
    run->checkpoint_block_s = cost->block_s;
    run->checkpoint_young_s = interval_young_s(&of);
    run->checkpoint_best_s = fmax(interval_best_s(&of), cost->durable_s - cost->block_s);
    const bool has_copies = survivors->lost != NULL;
    run->goodput_by_formula = has_copies ? ABSENT : interval_goodput(&of, every_s);
    run->goodput_at_best = has_copies ? ABSENT : interval_goodput(&of, run->checkpoint_best_s);
}

static void find_cost(struct arena *arena, const struct regime_basis *basis,
                      struct run_known *known, double bytes, struct checkpoint_cost *cost)
{
    if (known != NULL) {
        run_known_cost(known, arena, basis, bytes, cost);
    } else {
        checkpoint_cost_of(arena, basis, bytes, cost);
    }
}

/* A step of the run as it is simulated: of the whole run, or of a stage. */
struct simulated {
    const struct scenario *scenario;
    const struct run_stage *plan; /* NULL: of the whole run */
    struct step_result *step;
    struct regime_basis basis;
    struct checkpoint_cost cost;
    struct survivors survivors;
    struct loading loading;
    double data_stall_s, step_s;
    struct months_walk *walk; /* of the whole run; NULL: nothing fails */
};

/* Beside its loaders, the same run of the ensemble. */
static void simulate_beside(struct arena *arena, const struct scenario *scenario,
                            const struct run_request *request, const struct step_loaders *loaders,
                            struct step_result *step)
{
    const struct step_spread spread = step->spread;
    const struct ensemble_member member = {(uint64_t)scenario->seed, spread.median};
    struct arena *scratch = arena_new();
    step_simulate(arena, scenario,
                  &(struct step_request){.folds = request->folds,
                                         .member = &member,
                                         .loaders = loaders,
                                         .memo = request->memo,
                                         .finds_path = request->finds_path,
                                         .scratch = scratch},
                  step);
    arena_free(scratch);
    step->spread = spread;
}

/* As the engine has it, with its loaders. */
static void usual_step(struct arena *arena, const struct scenario *scenario,
                       const struct run_request *request, struct step_result *step,
                       struct loading *loading)
{
    if (request->known != NULL && run_known_step(request->known, step, loading)) {
        return;
    }
    struct arena *keeps = request->known != NULL ? run_known_arena(request->known) : arena;
    struct arena *scratch = arena_new();
    step_simulate(keeps, scenario,
                  &(struct step_request){.folds = request->folds,
                                         .memo = request->memo,
                                         .finds_path = request->finds_path,
                                         .scratch = scratch},
                  step);
    arena_free(scratch);
    if (request->memo != NULL) {
        step_memo_trim(request->memo);
    }
    *loading = (struct loading){.stall_ns = 0};
    if (step->memory.fits) { /* else loaders too large for a host would be simulated for nothing */
        *loading =
            loading_of(keeps, scenario, step_scaled_ns(step, anchor_factor(&scenario->anchor)));
    }
    if (loading->are_beside) {
        simulate_beside(keeps, scenario, request, &loading->loaders, step);
    }
    if (request->known != NULL) {
        run_known_add_step(request->known, step, loading);
    }
}

void run_anchor_step(struct arena *arena, const struct scenario *scenario, struct step_result *step)
{
    if (scenario->anchor.is_given) {
        const struct step_basis basis = step_basis_of(scenario);
        step_scale(arena, &basis, scenario->anchor.factor, step);
    }
}

/* Makes a step as long as the scenario states it (run.step_time), of all causes alike, so that what
 * is printed beside it is of that step. A measured step is no median of runs. */
static void state_step(struct arena *arena, const struct scenario *scenario,
                       struct step_result *step)
{
    if (scenario->step_time_s > 0) {
        const struct step_basis basis = step_basis_of(scenario);
        step_scale(arena, &basis, scenario->step_time_s / sim_time_to_s(step->step_ns), step);
        step->spread = (struct step_spread){.members = 1};
    }
}

/* What months, checkpoints and money ask of the usual step, which the engine ran. */
static void take_step(struct arena *arena, const struct scenario *scenario, bool has_histories,
                      const struct run_request *request, struct simulated *as)
{
    struct step_result *step = as->step;
    as->scenario = scenario;
    as->basis = (struct regime_basis){
        .scenario = scenario,
        .member = {(uint64_t)scenario->seed, step->spread.median},
        .step_ns = step->step_ns,
        .folds = request->folds,
        .has_histories = has_histories,
        .loaders = as->loading.are_beside ? &as->loading.loaders : NULL,
        .memo = request->memo,
        .known = request->known != NULL ? run_known_regimes(request->known) : NULL,
    };
    run_anchor_step(arena, scenario, step);
    as->basis.scale = (double)step->step_ns / (double)as->basis.step_ns;
    loading_add(arena, scenario, &as->loading, step);
    state_step(arena, scenario, step);
    as->data_stall_s = data_stall_s(scenario, step);
    as->step_s = run_step_s(scenario, step);
}

/* Another batch, sequence or layout: nothing of its steps is known. A stage that sets nothing has
 * the run's own. */
static bool simulate_stage(struct arena *arena, const struct run_stage *plan,
                           const struct simulated *whole, const struct run_request *request,
                           struct simulated *as)
{
    if (plan->set == NULL) {
        *as = *whole;
        as->scenario = plan->scenario;
        as->step = arena_alloc(arena, sizeof *as->step);
        *as->step = *whole->step;
        state_step(arena, plan->scenario, as->step);
        as->step_s = run_step_s(plan->scenario, as->step);
        as->data_stall_s = data_stall_s(plan->scenario, as->step);
    } else {
        struct run_request own = *request;
        own.known = NULL;
        as->step = arena_alloc(arena, sizeof *as->step);
        usual_step(arena, plan->scenario, &own, as->step, &as->loading);
        take_step(arena, plan->scenario, true, &own, as);
    }
    as->plan = plan;
    return as->step->memory.fits;
}

static void use_of_stage(const struct simulated *as, struct run_stage_use *use)
{
    *use = (struct run_stage_use){
        .name = as->plan->name,
        .scenario = as->scenario,
        .step = as->step,
        .step_s = as->step_s,
        .data_stall_s = as->data_stall_s,
        .tokens = as->plan->tokens,
        .steps = run_steps(as->plan->tokens, as->step->model_flop_tokens, NULL),
    };
}

/* Simulates the step of each stage. False if one does not fit into memory. */
static bool simulate_stages(struct arena *arena, const struct simulated *whole,
                            const struct run_request *request, struct simulated *stages,
                            struct run_result *run)
{
    const struct run_plan *plan = &whole->scenario->plan;
    run->steps = 0;
    run->stages = arena_array(arena, plan->stage_count, sizeof *run->stages);
    run->stage_count = plan->stage_count;
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        if (!simulate_stage(arena, &plan->stages[i], whole, request, &stages[i])) {
            run->stage_unfit = run->stage_unfit == 0 ? i + 1 : run->stage_unfit;
        }
        use_of_stage(&stages[i], &run->stages[i]);
        run->steps += run->stages[i].steps;
    }
    if (run->stage_unfit > 0) {
        run->stage_count = 0;
    }
    return run->stage_unfit == 0;
}

static void find_costs(struct arena *arena, const struct simulated *whole,
                       const struct run_request *request, struct simulated *stages,
                       uint32_t stage_count)
{
    for (uint32_t i = 0; i < stage_count; i++) {
        struct simulated *stage = &stages[i];
        struct run_result own = {.steps = 1};
        if (stage->plan != NULL && stage->plan->set == NULL) {
            stage->cost = whole->cost;
            stage->survivors = whole->survivors;
            continue;
        }
        checkpoint_count(stage->scenario, stage->step_s, NULL, &own);
        find_cost(arena, &stage->basis, stage->plan == NULL ? request->known : NULL,
                  own.checkpoint_bytes, &stage->cost);
        survivors_of(arena, stage->scenario, &stage->survivors);
    }
}

/* That nodes of a stage are displaced to. */
static struct placement_spares spares_of(const struct simulated *stage,
                                         const struct holding *of_run)
{
    const int64_t idle = holding_of(stage->scenario, &stage->step->placement).idle_nodes;
    return (struct placement_spares){of_run->spares, idle < of_run->spares ? idle : of_run->spares};
}

static void run_months(struct arena *arena, struct simulated *whole,
                       const struct run_request *request, struct simulated *stages, uint32_t count,
                       struct run_result *run)
{
    struct holding *holding = arena_alloc(arena, sizeof *holding);
    *holding = holding_of_run(whole->scenario, whole->step, run);
    struct months_stage *of = arena_array(arena, count, sizeof *of);
    for (uint32_t i = 0; i < count; i++) {
        struct simulated *stage = &stages[i];
        stage->basis.spares = spares_of(stage, holding);
        of[i] = (struct months_stage){
            .basis = &stage->basis,
            .step_ns = sim_time_from_s(stage->step_s),
            .stall_ns = sim_time_from_s(stage->data_stall_s),
            .steps = count > 1 ? run->stages[i].steps : run->steps,
            .cost = &stage->cost,
            .survivors = &stage->survivors,
            .plan = stage->plan,
        };
    }
    struct months *months = arena_alloc(arena, sizeof *months);
    *months = (struct months){.scenario = whole->scenario,
                              .stages = of,
                              .stage_count = count,
                              .holding = holding,
                              .jobs = request->jobs,
                              .seen = request->seen};
    whole->walk = months_run(arena, months, run);
}

static void add_run(struct arena *arena, struct simulated *whole, const struct run_request *request,
                    struct run_result *run)
{
    const struct scenario *scenario = whole->scenario;
    const struct checkpoint_cost *cost = &whole->cost;
    const uint32_t stage_count = scenario->plan.stage_count;
    const bool has_stages = stage_count > 1;
    const double step_s = whole->step_s;
    struct simulated *stages = has_stages ? arena_array(arena, stage_count, sizeof *stages) : whole;
    run->is_asked = true;
    run->tokens = scenario->run_tokens;
    run->evaluates_too_long =
        whole->step->memory.fits && run_plan_evaluates_too_long(&scenario->plan, step_s);
    if (!has_stages) {
        run->steps = run_steps(scenario->run_tokens, whole->step->model_flop_tokens, NULL);
    } else if (!simulate_stages(arena, whole, request, stages, run)) {
        return;
    }
    checkpoint_count(scenario, step_s, NULL, run);
    find_costs(arena, whole, request, whole, 1);
    run->checkpoint_s = checkpoint_wait_s(scenario, step_s, cost);
    run->checkpoint_persist_s = cost->durable_s;
    run->checkpoint_drained_s = cost->drained_s;
    if (scenario->checkpoint.is_enabled) {
        run->checkpoint_every_s =
            (double)checkpoint_interval(&scenario->checkpoint, step_s) * step_s;
    }
    const bool has_pauses = run_plan_has_pauses(&scenario->plan);
    /* So many pauses take minutes to walk, for a run that is refused. */
    const bool is_walked = recovery_has_failures(scenario) || has_pauses;
    if (is_walked && whole->step->memory.fits && !run->evaluates_too_long) {
        if (has_stages) {
            find_costs(arena, whole, request, stages, stage_count);
        }
        compare_intervals(scenario, step_s, cost, &whole->survivors, run);
        for (uint32_t i = 0; has_stages && i < stage_count; i++) {
            const uint32_t nodes = stages[i].survivors.nodes;
            run->copy_nodes = nodes < run->copy_nodes ? nodes : run->copy_nodes;
        }
        run_months(arena, whole, request, stages, has_stages ? stage_count : 1, run);
        run->checkpoints = has_pauses ? llround(run->checkpoints_written) : run->checkpoints;
    }
    run_add_up(scenario, whole->step, NULL, run);
    run->stage_count = run->makes_no_progress ? 0 : run->stage_count;
}

/* The steps of a run have kernel times in common, also where no study remembers them. */
static bool has_steps_in_common(const struct scenario *scenario)
{
    return scenario->run_tokens > 0 &&
           (scenario->checkpoint.is_enabled || recovery_has_failures(scenario) ||
            scenario->plan.stage_count > 1);
}

void run_predict(struct arena *arena, const struct scenario *scenario,
                 const struct run_request *request, struct result *result)
{
    const bool is_alone = request->memo == NULL && has_steps_in_common(scenario);
    const bool has_histories =
        recovery_has_failures(scenario) || run_plan_has_pauses(&scenario->plan);
    struct step_memo *own = is_alone ? step_memo_new() : NULL;
    struct run_request with = *request;
    with.memo = own != NULL ? own : request->memo;
    memset(result, 0, sizeof *result);
    result->scenario = scenario;
    result->build = request->build;
    struct run_result *run = &result->run;
    struct simulated whole = {.step = &result->step};
    usual_step(arena, scenario, &with, whole.step, &whole.loading);
    take_step(arena, scenario, has_histories, &with, &whole);
    run->first_batch_s = whole.loading.first_s;
    run->data_stall_s = whole.data_stall_s;
    if (scenario->run_tokens > 0) {
        add_run(arena, &whole, &with, run);
    }
    money_add_power(result);
    if (request->deviations_of != NULL && result_has_run(result)) {
        const struct run_deviations deviations =
            request->deviations_of(request->deviations_context, result);
        draws_add(arena, &deviations, whole.walk, result);
    }
    if (request->build != NULL && scenario->resolved_text != NULL) {
        const uint64_t hash = hash_text(scenario);
        put_key(hash, scenario, request->build, result->key);
        put_key(hash, scenario, "", result->scenario_key);
    }
    step_memo_free(own);
}
