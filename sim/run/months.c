/* The plan of the histories follows from the scenario; what they cost is asked for as they go.
 *
 * The horizon bounds what a run that makes no progress costs: histories that reach it before their
 * last step have not finished; if the first does not, no others are drawn. It lies nearer where
 * something fails all the time, since a history costs what its failures cost.
 */
#include "run/months.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"
#include "base/units.h"
#include "input/failures/recovery.h"
#include "input/run/run_plan.h"
#include "input/scenario.h"
#include "plan/mesh.h"
#include "run/duration.h"
#include "run/failing.h"
#include "run/history/paired.h"
#include "run/history/repetitions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Times the wall-clock of a run without failures, after which it has not finished; and at most. */
static const double HORIZON_TIMES = 50;
static const double HORIZON_S = 3e9;
/* Of a history, in the mean: a job that meets so many makes no progress. */
static const double FAILURES_MAX = 1e7;
/* Likewise, of what is slow, which each of them looks through. */
static const double LOOKS_MAX = 1e8;

/* Intervals of drift are short against the age that they begin with, but no shorter than this;
 * between two of them a step gets longer by no more than a thousandth, unless they are too many. */
static const double DRIFT_LEAST_S = 1800;
static const double DRIFT_OF_AGE = 0.25;
static const double DRIFT_LEVEL = 1e-3;
enum { DRIFTS_MAX = 65536 };

struct known_step {
    struct history_regime regime;
    struct history_step step;
};

struct regimes {
    struct arena *arena;
    const struct months *of;
    struct known_step *items;
    size_t count, capacity;
    const sim_time *drift_ages; /* of history_plan */
    uint32_t drift_count;
    size_t told; /* of them, to the process that sums up, or known when this one began */
};

struct months_walk {
    struct regimes regimes;
    struct history_plan plan;
};

/* ---- regimes --------------------------------------------------------------------------------- */

static bool is_same(const struct history_regime *a, const struct history_regime *b)
{
    return a->flushes == b->flushes && a->slow_class == b->slow_class && a->missing == b->missing &&
           a->slow_place == b->slow_place && a->stage == b->stage && a->displaced == b->displaced;
}

static int64_t gpus_of_replica(const struct scenario *scenario)
{
    return scenario->gpus / scenario->parallel.dp;
}

/* Nodes without which so many replicas are missing: the histories' unit is nodes where several
 * replicas share one. */
static int64_t replicas_of_node(const struct scenario *scenario)
{
    const int64_t replica = gpus_of_replica(scenario);
    const int64_t node = scenario->cluster.gpus_per_node;
    return replica < node ? (node + replica - 1) / replica : 1;
}

/* The first GPU of a stage. */
static int64_t victim_of(const struct scenario *scenario, uint32_t stage)
{
    const struct mesh mesh = mesh_of(&scenario->parallel);
    const struct mesh_place place = {.pp = stage};
    return mesh_rank(&mesh, &place);
}

/* As long as the usual one, but for what the engine says that the regime's takes longer. */
static struct history_step simulate(const struct months_stage *of,
                                    const struct history_regime *regime)
{
    const struct regime_basis *basis = of->basis;
    const struct scenario *scenario = basis->scenario;
    struct arena *scratch = arena_new();
    struct regime wanted = {.missing = regime->missing * replicas_of_node(scenario),
                            .displaced = regime->displaced};
    if (regime->flushes > 0) {
        wanted.is_checkpoint_async = true;
        const uint32_t count = checkpoint_tier_count(&scenario->checkpoint);
        for (uint32_t i = 0; i < count; i++) {
            double *bytes = i > 0 && i + 1 == count ? &wanted.drain_bytes : &wanted.flush_bytes;
            *bytes += (regime->flushes >> i & 1U) != 0 ? of->cost->flushes[i].bytes : 0;
        }
    }
    if (regime->slow_class != HISTORY_NO_CLASS) {
        const struct failure_kind *kind = &scenario->failures.kinds[regime->slow_class];
        wanted.slow = (struct slow_rank){victim_of(scenario, regime->slow_place), kind->speed,
                                         kind->nic, kind->scale_up};
    }
    const int64_t alone_ns = regime_step_ns(scratch, basis, &wanted);
    arena_free(scratch);
    const int64_t longer_ns = alone_ns > basis->step_ns ? alone_ns - basis->step_ns : 0;
    const double usual = (double)basis->step_ns;
    const double scale = scenario->step_time_s > 0 ? (double)of->step_ns / usual : basis->scale;
    return (struct history_step){of->step_ns + llround((double)longer_ns * scale), of->stall_ns};
}

/* Those that cross the NICs of training. */
static uint32_t seen_flushes(const struct checkpoint_cost *cost, uint32_t flushes)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < HISTORY_TIERS_MAX; i++) {
        seen |= cost->flushes[i].bytes > 0 ? flushes & 1U << i : 0;
    }
    return seen;
}

static bool is_usual(const struct months_stage *of, const struct history_regime *regime)
{
    return regime->slow_class == HISTORY_NO_CLASS && regime->missing == 0 &&
           regime->displaced == 0 && seen_flushes(of->cost, regime->flushes) == 0;
}

static const struct known_step *find_known(const struct regimes *regimes,
                                           const struct history_regime *regime)
{
    for (size_t i = 0; i < regimes->count; i++) {
        if (is_same(&regimes->items[i].regime, regime)) {
            return &regimes->items[i];
        }
    }
    return NULL;
}

static void add_known(struct regimes *regimes, const struct known_step *step)
{
    regimes->items = arena_grow(regimes->arena, regimes->items, &regimes->capacity,
                                regimes->count + 1, sizeof *regimes->items);
    regimes->items[regimes->count++] = *step;
}

/* Of a regime, simulated when it is first asked for. */
static struct history_step simulated(struct regimes *regimes, const struct history_regime *regime)
{
    const struct months_stage *of = &regimes->of->stages[regime->stage];
    if (is_usual(of, regime)) {
        return (struct history_step){of->step_ns, of->stall_ns};
    }
    struct history_regime wanted = *regime;
    wanted.flushes = seen_flushes(of->cost, regime->flushes);
    const struct known_step *known = find_known(regimes, &wanted);
    if (known != NULL) {
        return known->step;
    }
    const struct known_step found = {wanted, simulate(of, &wanted)};
    add_known(regimes, &found);
    return found.step;
}

/* What a step takes longer with so many nodes displaced, and nothing else. */
static sim_time longer_ns(struct regimes *regimes, uint32_t stage, int64_t displaced)
{
    const struct history_regime regime = {
        .slow_class = HISTORY_NO_CLASS, .stage = stage, .displaced = (uint32_t)displaced};
    return simulated(regimes, &regime).step_ns - regimes->of->stages[stage].step_ns;
}

/* Simulated are powers of two, and all spares; what lies between them lies between their steps. */
static sim_time displaced_ns(struct regimes *regimes, uint32_t stage, int64_t displaced)
{
    const struct scenario *scenario = regimes->of->stages[stage].basis->scenario;
    const int64_t spares = regimes->of->holding->spares;
    const int64_t most = spares < scenario->nodes ? spares : scenario->nodes;
    const int64_t wanted = displaced < most ? displaced : most;
    if (wanted == 0) {
        return 0;
    }
    int64_t low = 1;
    while (2 * low <= wanted) {
        low *= 2;
    }
    const sim_time low_ns = longer_ns(regimes, stage, low);
    if (wanted == low) {
        return low_ns;
    }
    const int64_t high = 2 * low < most ? 2 * low : most;
    const double share = (double)(wanted - low) / (double)(high - low);
    return low_ns + llround(share * (double)(longer_ns(regimes, stage, high) - low_ns));
}

/* In the middle of an interval, so that its mean is the straight line's. */
static sim_time drift_ns(const struct regimes *regimes, uint32_t stage, uint32_t interval)
{
    if (interval == 0) {
        return 0;
    }
    const sim_time *ages = regimes->drift_ages;
    const sim_time begin = ages[interval - 1];
    const sim_time end = interval < regimes->drift_count ? ages[interval] : begin;
    const double days = sim_time_to_s(begin + (end - begin) / 2) / SECONDS_PER_DAY;
    const double longer_ns = days * regimes->of->scenario->plan.drift.per_day *
                             (double)regimes->of->stages[stage].step_ns;
    return llround(fmin(longer_ns, 1e18)); /* beyond any run's end */
}

static struct history_step step_of(void *context, const struct history_regime *regime)
{
    struct regimes *regimes = context;
    struct history_regime in_place = *regime;
    in_place.displaced = 0;
    in_place.drift = 0;
    struct history_step step = simulated(regimes, &in_place);
    step.step_ns += displaced_ns(regimes, regime->stage, regime->displaced);
    step.step_ns += drift_ns(regimes, regime->stage, regime->drift);
    return step;
}

/* Steps that this process found out, for the others. */
static struct repetitions_news news_of(void *context, struct arena *arena)
{
    struct regimes *regimes = context;
    const size_t size_bytes = (regimes->count - regimes->told) * sizeof *regimes->items;
    struct repetitions_news news = {NULL, 0};
    if (size_bytes > 0) {
        void *bytes = arena_alloc(arena, size_bytes);
        memcpy(bytes, &regimes->items[regimes->told], size_bytes);
        news = (struct repetitions_news){bytes, size_bytes};
        regimes->told = regimes->count;
    }
    return news;
}

static void learn(void *context, const struct repetitions_news *news)
{
    struct regimes *regimes = context;
    for (size_t at = 0; at < news->size_bytes; at += sizeof(struct known_step)) {
        struct known_step item;
        memcpy(&item, (const char *)news->bytes + at, sizeof item);
        if (find_known(regimes, &item.regime) == NULL) {
            add_known(regimes, &item);
        }
    }
    regimes->told = regimes->count;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static void plan_tiers(const struct checkpoint_cost *cost, struct history_stage *stage)
{
    for (uint32_t i = 0; i < cost->tier_count; i++) {
        const struct checkpoint_tier *tier = &cost->tiers[i];
        stage->tiers[i] = (struct history_tier){
            .every = tier->every,
            .block_ns = i == 0 ? sim_time_from_s(cost->block_s) : 0,
            .durable_ns = sim_time_from_s(checkpoint_there_s(cost, cost->tier_count, i)),
            .survives = tier->survives,
        };
        for (uint32_t level = 0; level < HISTORY_LEVELS; level++) {
            stage->tiers[i].read_ns[level] = sim_time_from_s(tier->read_s[level]);
        }
    }
}

static void plan_checkpoints(const struct months_stage *of, struct history_stage *stage)
{
    const struct scenario *scenario = of->basis->scenario;
    const double step_s = sim_time_to_s(of->step_ns);
    if (!scenario->checkpoint.is_enabled) {
        return;
    }
    stage->period = checkpoint_interval(&scenario->checkpoint, step_s);
    plan_tiers(of->cost, stage);
    if (scenario->recovery.has_checks) {
        const double periods = scenario->recovery.check_every_s / ((double)stage->period * step_s);
        stage->check_every = periods > 1 ? (uint32_t)fmin(round(periods), UINT32_MAX) : 1;
    }
}

static void plan_copies(const struct survivors *survivors, struct history_copies *copies)
{
    *copies = (struct history_copies){.lost = survivors->lost, .nodes = survivors->nodes};
    for (uint32_t level = 0; level < HISTORY_LEVELS; level++) {
        copies->read_ns[level] = sim_time_from_s(survivors->read_s[level]);
    }
}

static void plan_nodes(const struct scenario *scenario, struct history_stage *stage)
{
    const int64_t replica = gpus_of_replica(scenario);
    const int64_t node = scenario->cluster.gpus_per_node;
    stage->nodes_of_replica = (uint32_t)(replica > node ? (replica + node - 1) / node : 1);
    stage->replicas = (uint32_t)(scenario->parallel.dp / replicas_of_node(scenario));
    stage->replicas = stage->replicas > 0 ? stage->replicas : 1;
    stage->nodes = (uint32_t)scenario->nodes;
    stage->slow_places = (uint32_t)scenario->parallel.pp;
}

static void plan_stage(const struct months_stage *of, int64_t before, struct history_stage *stage)
{
    const struct scenario *scenario = of->basis->scenario;
    *stage = (struct history_stage){
        .until = before + of->steps,
        .start_ns = sim_time_from_s(failing_start_s(scenario)),
    };
    plan_checkpoints(of, stage);
    plan_copies(of->survivors, &stage->copies);
    plan_nodes(scenario, stage);
    if (of->plan != NULL && before > 0) {
        const double first_s = of->plan->restarts ? 0 : scenario->plan.first_steps.all_s;
        const bool changes = of->plan->set != NULL;
        stage->restarts = of->plan->restarts;
        stage->change_ns = sim_time_from_s(of->plan->change_s + (changes ? first_s : 0));
    }
}

/* The scenario of the stage that has most GPUs. */
static const struct scenario *largest(const struct months *of)
{
    const struct scenario *largest = of->stages[0].basis->scenario;
    for (uint32_t i = 1; i < of->stage_count; i++) {
        const struct scenario *scenario = of->stages[i].basis->scenario;
        largest = scenario->gpus > largest->gpus ? scenario : largest;
    }
    return largest;
}

static const struct history_stage *plan_stages(struct arena *arena, const struct months *of)
{
    const struct scenario *whole = largest(of);
    struct history_stage *stages = arena_array(arena, of->stage_count, sizeof *stages);
    int64_t before = 0;
    for (uint32_t i = 0; i < of->stage_count; i++) {
        const struct scenario *scenario = of->stages[i].basis->scenario;
        plan_stage(&of->stages[i], before, &stages[i]);
        if (scenario->gpus < whole->gpus && recovery_has_failures(whole)) {
            stages[i].shares = failing_shares(arena, whole, scenario);
        }
        before += of->stages[i].steps;
    }
    return stages;
}

static void plan_pauses(const struct scenario *scenario, struct history_plan *plan)
{
    const struct run_evaluation *evaluation = &scenario->plan.evaluation;
    const struct run_maintenance *maintenance = &scenario->plan.maintenance;
    if (evaluation->is_enabled) {
        plan->evaluation_every = evaluation->every_steps;
        plan->evaluation_ns = sim_time_from_s(evaluation->takes_s);
    }
    if (maintenance->is_enabled) {
        plan->maintenance = (struct history_maintenance){
            .every = sim_time_from_s(maintenance->every_s),
            .first = sim_time_from_s(maintenance->first_s),
            .takes_ns = sim_time_from_s(maintenance->takes_s),
            .saves = maintenance->saves,
        };
    }
}

/* How drift makes steps longer; it needs the horizon, which must be known. */
static void plan_drift(struct regimes *regimes, struct history_plan *plan)
{
    const struct run_drift *drift = &regimes->of->scenario->plan.drift;
    if (!drift->is_enabled) {
        return;
    }
    const double horizon_s = sim_time_to_s(plan->horizon);
    const double most_s =
        fmax(DRIFT_LEVEL / drift->per_day * SECONDS_PER_DAY, 2 * horizon_s / DRIFTS_MAX);
    const double least_s = fmin(DRIFT_LEAST_S, most_s);
    sim_time *ages = arena_array(regimes->arena, DRIFTS_MAX, sizeof *ages);
    uint32_t count = 0;
    for (double age_s = 0; age_s <= horizon_s;) {
        sim_assert(count < DRIFTS_MAX);
        ages[count++] = sim_time_from_s(age_s);
        age_s += fmax(least_s, fmin(most_s, DRIFT_OF_AGE * age_s));
    }
    plan->drift_ages = regimes->drift_ages = ages;
    plan->drift_count = regimes->drift_count = count;
    plan->drifts_on = drift->since == DRIFT_SINCE_MAINTENANCE;
}

/* Without failures. */
static double usual_s(const struct months *of, const struct run_result *run)
{
    const struct run_plan *plan = &of->scenario->plan;
    double sum_s = (double)run->checkpoints * (run->checkpoint_s + of->stages[0].cost->durable_s);
    for (uint32_t i = 0; i < of->stage_count; i++) {
        const struct months_stage *stage = &of->stages[i];
        sum_s += (double)stage->steps * sim_time_to_s(stage->step_ns) +
                 (stage->plan != NULL ? stage->plan->change_s : 0);
    }
    if (plan->evaluation.is_enabled) {
        const int64_t evaluations = run->steps / plan->evaluation.every_steps;
        sum_s += (double)evaluations * plan->evaluation.takes_s;
    }
    return duration_least_s(of->scenario, sum_s) + run->first_batch_s;
}

/* When so many failures, each looking at all that is slow, have been: of a rate r, a rate s of what
 * is slow, and l of these at a time where it has lasted, r h min(s h, l) looks in h. */
static double looks_horizon_s(const struct history_plan *plan, double rate_per_s)
{
    double slow_per_s = 0;
    double slow = 0;
    for (uint32_t i = 0; i < plan->class_count; i++) {
        const struct failure_class *class = &plan->classes[i];
        if (class->effect == FAILURE_SLOWS && !class->heals) {
            const double own_per_s = failing_rate_per_s(class, 1);
            slow_per_s += own_per_s;
            slow += own_per_s * class->detection.mean_s;
        }
    }
    return slow > 0
               ? fmax(sqrt(LOOKS_MAX / (rate_per_s * slow_per_s)), LOOKS_MAX / (rate_per_s * slow))
               : HORIZON_S;
}

static void plan_horizon(const struct months *of, const struct run_result *run,
                         struct history_plan *plan)
{
    const double most_s = fmin(HORIZON_TIMES * usual_s(of, run) + SECONDS_PER_DAY, HORIZON_S);
    const double rate_per_s = failing_rate_per_s(plan->classes, plan->class_count);
    const double failures_s =
        rate_per_s * most_s > FAILURES_MAX ? FAILURES_MAX / rate_per_s : most_s;
    plan->horizon = sim_time_from_s(fmin(failures_s, looks_horizon_s(plan, rate_per_s)));
}

static void plan_run(struct regimes *regimes, const struct run_result *run,
                     struct history_plan *plan)
{
    const struct months *of = regimes->of;
    const struct scenario *scenario = of->scenario;
    const struct recovery *recovery = &scenario->recovery;
    *plan = (struct history_plan){
        .steps = run->steps,
        .stages = plan_stages(regimes->arena, of),
        .stage_count = of->stage_count,
        .step_of = step_of,
        .context = regimes,
        .tier_count = of->stages[0].cost->tier_count,
        .check_ns = sim_time_from_s(recovery->check_s),
        .startup_ns = sim_time_from_s(duration_start_s(scenario, run->first_batch_s)),
        .teardown_ns = sim_time_from_s(scenario->teardown_s),
        .restart = recovery->restart,
        .spares = (uint32_t)of->holding->spares,
        .is_elastic = recovery->without_node == RECOVERY_ELASTIC,
        .growth = recovery->growth,
        .hands = (uint32_t)recovery->hands,
        .hot_spares = recovery->hot_spares >= 0 ? (uint32_t)of->holding->hot_spares : UINT32_MAX,
        .cold_start = recovery->cold_start,
        .displaces = recovery->spares_at == RECOVERY_SPARES_AT_END,
        .wrong_diagnosis = recovery->wrong_diagnosis,
        .inspection = recovery->inspection,
        .saves_on_notice = recovery->on_notice == NOTICE_CHECKPOINT,
    };
    plan_pauses(scenario, plan);
    plan->classes = failing_classes(regimes->arena, largest(of), &plan->class_count);
    plan_horizon(of, run, plan);
    plan_drift(regimes, plan);
}

/* ---- what came of it ------------------------------------------------------------------------- */

static void take_classes(struct arena *arena, const struct history_plan *plan,
                         const struct repetitions *all, struct run_result *run)
{
    run->failure_count = plan->class_count;
    run->failures = arena_array(arena, plan->class_count, sizeof *run->failures);
    for (uint32_t i = 0; i < plan->class_count; i++) {
        run->failures[i] = (struct run_failure){
            .name = plan->classes[i].name,
            .count = all->interruptions[i],
            .hours = all->blamed_s[i] / SECONDS_PER_HOUR,
        };
    }
}

static struct run_spread days_of(const struct scenario *scenario,
                                 const struct repetition_spread *held_s)
{
    return (struct run_spread){duration_days(scenario, held_s->mean),
                               held_s->error / SECONDS_PER_DAY, duration_days(scenario, held_s->p5),
                               duration_days(scenario, held_s->p50),
                               duration_days(scenario, held_s->p95)};
}

/* GPUs that are paid of nodes that were taken away, while the job lacks them. */
static void take_unheld(const struct months *of, const struct repetitions *all,
                        struct run_result *run)
{
    run->notices_saved = all->saved;
    for (uint32_t stage = 0; stage < of->stage_count; stage++) {
        const double gpus = run->stage_count > 0
                                ? holding_of_stage(&run->stages[stage], of->holding).node_gpus
                                : of->holding->node_gpus;
        const double hours = all->unheld_s[stage] * gpus / SECONDS_PER_HOUR;
        run->unheld_gpu_hours += hours;
        if (run->stage_count > 0) {
            run->stages[stage].unheld_gpu_hours = hours;
        }
    }
}

static void take_stages(const struct history_plan *plan, const struct repetitions *all,
                        struct run_result *run)
{
    for (uint32_t stage = 0; stage < run->stage_count; stage++) {
        sim_assert(run->stage_count == plan->stage_count);
        for (uint32_t i = 0; i < ACCOUNT_COUNT_; i++) {
            run->stages[stage].account_s[i] = all->stage_account_s[stage][i];
        }
    }
}

/* Their times are those of the run's days, which begin in the queue. */
static const char *times_of(struct arena *arena, const struct scenario *scenario,
                            const struct repetitions *all)
{
    double *all_s = arena_array(arena, all->count, sizeof *all_s);
    for (uint32_t i = 0; i < all->count; i++) {
        all_s[i] = duration_days(scenario, all->each[i].wall_s) * SECONDS_PER_DAY;
    }
    return paired_text(arena, all_s, all->count);
}

static void take_repetitions(struct arena *arena, const struct history_plan *plan,
                             const struct repetitions *all, struct run_result *run)
{
    for (uint32_t i = 0; i < ACCOUNT_COUNT_; i++) {
        run->account_s[i] = all->account_s[i];
    }
    run->repetitions = all->count;
    run->histories = all->each;
    run->makes_no_progress = all->unfinished > 0;
    take_stages(plan, all, run);
    run->checkpoints_written = all->checkpoints;
    run->interruptions = all->interruptions_all;
    run->broken_most = all->broken_most;
    run->stopped_s = 0;
    for (uint32_t i = 0; i < plan->class_count; i++) {
        run->stopped_s += plan->classes[i].effect == FAILURE_STOPS ? all->blamed_s[i] : 0;
    }
    const struct repetition_spread *goodput = &all->goodput;
    run->goodput_spread =
        (struct run_spread){goodput->mean, goodput->error, goodput->p5, goodput->p50, goodput->p95};
    if (!run->makes_no_progress) {
        take_classes(arena, plan, all, run);
    }
}

/* ---- regimes, in words ------------------------------------------------------------------------
 */

/* -1, 0 or 1. */
static int compare_numbers(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

/* Whatever process met them first. */
static int compare_regimes(const void *left, const void *right)
{
    const struct history_regime *a = &((const struct known_step *)left)->regime;
    const struct history_regime *b = &((const struct known_step *)right)->regime;
    const int orders[] = {
        compare_numbers(a->stage, b->stage),
        compare_numbers(a->missing, b->missing),
        compare_numbers(a->displaced, b->displaced),
        compare_numbers(a->slow_class, b->slow_class),
        compare_numbers(a->slow_place, b->slow_place),
        compare_numbers(a->flushes, b->flushes),
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (orders[i] != 0) {
            return orders[i];
        }
    }
    return 0;
}

static const char *add_word(struct arena *arena, const char *words, const char *word)
{
    return words[0] == '\0' ? word : arena_printf(arena, "%s, %s", words, word);
}

static const char *words_of(struct arena *arena, const struct months *of,
                            const struct history_regime *regime)
{
    const struct scenario *scenario = of->scenario;
    const int64_t missing = regime->missing * replicas_of_node(scenario);
    const char *words = "";
    if (of->stage_count > 1) {
        words = arena_printf(arena, "of run stage %s", of->stages[regime->stage].plan->name);
    }
    if (regime->missing > 0) {
        words = add_word(arena, words,
                         arena_printf(arena, "without %lld replica%s", (long long)missing,
                                      missing > 1 ? "s" : ""));
    }
    if (regime->displaced > 0) {
        words = add_word(arena, words,
                         arena_printf(arena, "with %u node%s on spares elsewhere",
                                      regime->displaced, regime->displaced > 1 ? "s" : ""));
    }
    if (regime->slow_class != HISTORY_NO_CLASS) {
        const char *name = scenario->failures.kinds[regime->slow_class].name;
        words =
            add_word(arena, words,
                     arena_printf(arena, "with %s in pipeline stage %u", name, regime->slow_place));
    }
    return regime->flushes > 0 ? add_word(arena, words, "beside a flush") : words;
}

static void take_regimes(const struct regimes *regimes, struct run_result *run)
{
    if (regimes->count == 0) {
        return;
    }
    qsort(regimes->items, regimes->count, sizeof *regimes->items, compare_regimes);
    struct run_regime *all = arena_array(regimes->arena, regimes->count, sizeof *all);
    for (size_t i = 0; i < regimes->count; i++) {
        const struct known_step *item = &regimes->items[i];
        all[i] = (struct run_regime){words_of(regimes->arena, regimes->of, &item->regime),
                                     sim_time_to_s(item->step.step_ns)};
    }
    run->regimes = all;
    run->regime_count = regimes->count;
}

/* Of so many before it and behind it by length, or one more before. */
static uint32_t median_of(const struct repetitions *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        const double own_s = all->each[i].wall_s;
        uint32_t before = 0;
        for (uint32_t k = 0; k < all->count; k++) {
            const double wall_s = all->each[k].wall_s;
            before += wall_s < own_s || (k < i && wall_s <= own_s);
        }
        if (before == all->count / 2) {
            return i;
        }
    }
    return 0;
}

/* Nothing fails: all histories are alike. */
static void run_once(struct arena *arena, const struct history_plan *plan, struct run_result *run)
{
    struct history_outcome outcome;
    history_run(arena, plan, 1, 0, &outcome);
    run->makes_no_progress = outcome.steps < plan->steps;
    run->checkpoints_written = (double)outcome.checkpoints;
    for (uint32_t i = 0; i < ACCOUNT_COUNT_; i++) {
        run->account_s[i] = sim_time_to_s(outcome.account_ns[i]);
        for (uint32_t stage = 0; stage < run->stage_count; stage++) {
            run->stages[stage].account_s[i] = sim_time_to_s(outcome.stage_ns[stage][i]);
        }
    }
}

/* By several processes, which tell each other of steps. */
static struct repetitions_request request_of(const struct months *months,
                                             const struct history_plan *plan, uint32_t count)
{
    return (struct repetitions_request){.plan = plan,
                                        .seed = (uint64_t)months->scenario->seed,
                                        .count = count,
                                        .jobs = months->jobs,
                                        .news = news_of,
                                        .learn = learn};
}

/* The history that is asked for once more, and that it is what the run has. */
static void see(const struct months *months, const struct history_plan *plan, uint64_t seed,
                const struct repetitions *all)
{
    struct history_seen *seen = months->seen;
    if (seen == NULL) {
        return;
    }
    const uint32_t count = all != NULL ? all->count : 1;
    seen->number = seen->wanted > 0 && seen->wanted <= count ? seen->wanted
                   : all != NULL                             ? 1 + (int64_t)median_of(all)
                                                             : 1;
    seen->histories = count;
    seen->classes = plan->classes;
    seen->class_count = plan->class_count;
    seen->replicas = replicas_of_node(months->scenario);
    seen->nodes = months->scenario->nodes + months->holding->spares;
    struct history_plan seeing = *plan;
    seeing.seen = seen;
    history_run(seen->arena, &seeing, seed, (uint64_t)seen->number - 1, &seen->outcome);
    sim_assert(all == NULL ||
               sim_time_to_s(seen->outcome.end) == all->each[seen->number - 1].wall_s);
}

static void run_many(struct arena *arena, const struct months *months,
                     const struct history_plan *plan, struct run_result *run)
{
    const struct scenario *scenario = months->scenario;
    const double precision = scenario->repetitions.precision;
    struct repetitions all;
    const struct repetitions_request request =
        request_of(months, plan, (uint32_t)scenario->repetitions.count);
    if (precision > 0) {
        repetitions_until(arena, &request, precision, &all);
    } else {
        repetitions_draw(arena, &request, &all);
    }
    take_repetitions(arena, plan, &all, run);
    take_unheld(months, &all, run);
    run->days_spread = days_of(scenario, &all.wall_s);
    run->histories_s = times_of(arena, scenario, &all);
    see(months, plan, request.seed, &all);
}

struct months_walk *months_run(struct arena *arena, const struct months *months,
                               struct run_result *run)
{
    struct months_walk *walk = arena_alloc(arena, sizeof *walk);
    struct regimes *regimes = &walk->regimes;
    *regimes = (struct regimes){.arena = arena, .of = months};
    plan_run(regimes, run, &walk->plan);
    run->is_walked = true;
    if (walk->plan.class_count == 0) {
        run_once(arena, &walk->plan, run);
        see(months, &walk->plan, 1, NULL);
        return NULL;
    }
    run_many(arena, months, &walk->plan, run);
    take_regimes(regimes, run);
    run->regimes_simulated = (int64_t)regimes->count + months->stage_count;
    run->steps_reused = (int64_t)run->repetitions * run->steps - run->regimes_simulated;
    run->steps_reused = run->steps_reused > 0 ? run->steps_reused : 0;
    return walk;
}

/* ---- with other steps and rates -------------------------------------------------------------- */

struct drawing {
    struct months_walk *walk;
    const struct months_factors *factors;
    sim_time horizon;
};

/* What is drawn for one history. */
struct drawn {
    struct regimes *regimes;
    double longer;
};

static struct history_step longer_step(void *context, const struct history_regime *regime)
{
    const struct drawn *drawn = context;
    const struct history_step step = step_of(drawn->regimes, regime);
    return (struct history_step){llround((double)step.step_ns * drawn->longer),
                                 llround((double)step.stall_ns * drawn->longer)};
}

/* A Weibull clock's mean time to failure is in proportion to its scale. Nodes that are lent are no
 * failures. */
static const struct failure_class *classes_at(struct arena *arena, const struct history_plan *plan,
                                              double rates)
{
    struct failure_class *classes = arena_array(arena, plan->class_count, sizeof *classes);
    for (uint32_t i = 0; i < plan->class_count; i++) {
        classes[i] = plan->classes[i];
        if (!classes[i].takes_away) {
            classes[i].clock.rate_per_s *= rates;
            classes[i].clock.scale_s /= rates;
        }
    }
    return classes;
}

/* Where checkpoints come by the clock there are fewer steps between two of them. */
static const struct history_stage *stages_at(struct arena *arena, const struct months *of,
                                             const struct history_plan *plan, double longer)
{
    struct history_stage *stages = arena_array(arena, plan->stage_count, sizeof *stages);
    for (uint32_t i = 0; i < plan->stage_count; i++) {
        const struct checkpoint *checkpoint = &of->stages[i].basis->scenario->checkpoint;
        stages[i] = plan->stages[i];
        if (stages[i].period > 0) {
            stages[i].period =
                checkpoint_interval(checkpoint, longer * sim_time_to_s(of->stages[i].step_ns));
        }
    }
    return stages;
}

static const struct history_plan *plan_of_draw(void *context, struct arena *arena, uint32_t number)
{
    const struct drawing *drawing = context;
    struct months_walk *walk = drawing->walk;
    const struct months_factors *factors = &drawing->factors[number];
    struct drawn *drawn = arena_alloc(arena, sizeof *drawn);
    struct history_plan *plan = arena_alloc(arena, sizeof *plan);
    *drawn = (struct drawn){&walk->regimes, factors->step};
    *plan = walk->plan;
    plan->horizon = plan->horizon < drawing->horizon ? plan->horizon : drawing->horizon;
    plan->classes = classes_at(arena, plan, factors->rates);
    plan->stages = stages_at(arena, walk->regimes.of, plan, factors->step);
    plan->step_of = longer_step;
    plan->context = drawn;
    return plan;
}

void months_draw(struct arena *arena, struct months_walk *walk,
                 const struct months_factors *factors, uint32_t count, double horizon_s,
                 struct repetitions *all)
{
    struct drawing drawing = {walk, factors, sim_time_from_s(horizon_s)};
    struct repetitions_request request = request_of(walk->regimes.of, &walk->plan, count);
    request.plan_of = plan_of_draw;
    request.plans = &drawing;
    repetitions_draw(arena, &request, all);
}
