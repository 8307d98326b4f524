/* Each cause is a scenario with some keys set, resolved again from the document and simulated in
 * the member of the ensemble that was predicted, as study/unsaid does. Cost: a step for each
 * feature that is open, about eight for each number. */
#include "study/why.h"

#include "bands/band.h"
#include "bands/memory_errors.h"
#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "input/features/features_used.h"
#include "input/scenario.h"
#include "input/scenario_load.h"
#include "plan/memory/memory.h"
#include "study/unsaid.h"
#include "study/why_rates.h"
#include "train/step.h"
#include "train/step_memo.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *const why_verdict_names[WHY_VERDICTS_] = {"usual",   "slow",  "fast",
                                                      "outside", "unfit", "out-of-memory"};
const char *const why_kind_names[WHY_KINDS_] = {"feature", "state", "number", "storage"};

static const double FASTER_LEAST = 0.01; /* of the step: what saves less is no other layout */
static const double FACTOR_MOST = 100;   /* measured over predicted; beyond, it is another run's */
static const double SAME = 1e-6;         /* steps that differ by less are one */

/* Of a number: further it is not sought. */
static const double TIMES_LEAST = 1e-3, TIMES_MOST = 1e3;
static const double MET = 0.003; /* of ln(step / measured) */
enum { TRIES_MAX = 12, TRIES_LARGE = 4, EVENTS_LARGE = 200 * 1000 };

struct asking {
    const struct why_asked *asked;
    const struct scenario *scenario;
    struct why_found *found;
    struct arena *arena;   /* of what is told */
    struct arena *scratch; /* of one step at a time */
    double scale;          /* of simulated steps to predicted ones */
    uint32_t tries;        /* steps to find a number's value by: fewer where a step is large */
    const struct memory_errors *peaks; /* measured; NULL: none */
};

struct why_machine why_machine_of(const struct scenario *scenario)
{
    return (struct why_machine){
        .gpu = &scenario->gpu,
        .software = &scenario->software,
        .cluster = &scenario->cluster,
        .precision = scenario->precision,
        .gpus = scenario->gpus,
        .nodes = scenario->nodes,
        .offloaded_optimizer = scenario->offload.optimizer,
        .offloads = scenario->offload.optimizer > 0 || scenario->offload.activation_layers > 0,
        .slowest = scenario->slow_count > 0 ? scenario->slow[0].speed : 1,
        .unproven = unproven_of(scenario),
    };
}

/* ---- one step -------------------------------------------------------------------------------- */

/* NULL: it cannot be, or the release has it not. */
static const struct scenario *changed(const struct asking *asking, const char *const *sets,
                                      uint32_t count)
{
    const struct scenario *now = asking->scenario;
    const struct scenario *then =
        scenario_resolve(asking->scratch, now->document, asking->asked->catalogue, sets, count,
                         diag_new(asking->scratch));
    return then != NULL && then->gpus == now->gpus && memory_check(then).fits ? then : NULL;
}

static struct step_result simulate(const struct asking *asking, const struct scenario *scenario)
{
    struct step_result step;
    const struct result *result = asking->asked->result;
    const struct ensemble_member member = {(uint64_t)scenario->seed, result->step.spread.median};
    const struct step_request request = {.folds = true,
                                         .member = result_has_step(result) ? &member : NULL,
                                         .is_for_length = true,
                                         .memo = asking->asked->memo};
    step_simulate(asking->scratch, scenario, &request, &step);
    return step;
}

/* Of a scenario that can be, as long as its prediction would be. */
static double step_s_of(const struct asking *asking, const struct scenario *then)
{
    return units_seconds(simulate(asking, then).step_ns) * asking->scale;
}

/* ABSENT: it cannot be. What the release lacks cannot, where it matters. */
static double try_sets(const struct asking *asking, const char *const *sets, uint32_t count,
                       bool obeys)
{
    const struct scenario *then = changed(asking, sets, count);
    const bool can_be = then != NULL && (!obeys || features_hold_changed(asking->scenario, then));
    const double step_s = can_be ? step_s_of(asking, then) : ABSENT;
    arena_reset(asking->scratch);
    return step_s;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static bool has_gap(const struct asking *asking)
{
    return !is_absent(asking->found->gap);
}

static double explained(const struct asking *asking, double step_s)
{
    const double gap = asking->found->gap;
    return has_gap(asking) && fabs(gap) > 0 ? log(step_s / asking->found->expected_s) / gap
                                            : ABSENT;
}

/* The square of the gap that is left, in deviations, and of how rare it is. */
static double rank_of(const struct asking *asking, double step_s, double rarity)
{
    const double left = log(asking->asked->measured_s / step_s) / asking->found->deviation;
    return left * left + rarity * rarity;
}

static double number_rank(const struct asking *asking, double times, double deviation)
{
    const double gap = asking->found->gap / asking->found->deviation;
    const double pull = log(times) / deviation;
    const double sum = gap * gap + pull * pull;
    return sum > 0 ? gap * gap * pull * pull / sum : 0;
}

static bool is_likelier(const struct why_cause *one, const struct why_cause *other)
{
    return one->is_far != other->is_far ? other->is_far : one->rank < other->rank;
}

/* Equals stay in their order. */
static void insert(struct why_cause *list, uint32_t *count, const struct why_cause *item)
{
    uint32_t at = (*count)++;
    while (at > 0 && is_likelier(item, &list[at - 1])) {
        list[at] = list[at - 1];
        at--;
    }
    list[at] = *item;
}

/* Of the same key to the same step: another word for one that is there. */
static bool is_known(const struct why_found *found, const struct why_cause *cause)
{
    const size_t key = strcspn(cause->sets[0], "=");
    for (uint32_t i = 0; i < found->cause_count; i++) {
        const struct why_cause *other = &found->causes[i];
        if (strncmp(other->sets[0], cause->sets[0], key + 1) == 0 &&
            fabs(log(other->step_s / cause->step_s)) < SAME) {
            return true;
        }
    }
    return false;
}

/* One that explains some of the gap and is not there in other words. */
static void add_cause(const struct asking *asking, const struct why_cause *cause)
{
    struct why_found *found = asking->found;
    struct why_cause item = *cause;
    item.explains = explained(asking, cause->step_s);
    if ((is_absent(item.explains) || item.explains >= WHY_LEAST) && !is_known(found, cause)) {
        insert(found->causes, &found->cause_count, &item);
    }
}

/* ---- features -------------------------------------------------------------------------------- */

static void ask_feature(const struct asking *asking, uint32_t number)
{
    struct unsaid_question question;
    if (!unsaid_question_of(asking->arena, asking->asked->catalogue, asking->scenario, number,
                            &question)) {
        return;
    }
    const double step_s = try_sets(asking, question.sets, question.set_count, true);
    if (is_absent(step_s)) {
        return;
    }
    add_cause(asking, &(struct why_cause){.name = question.name,
                                          .sets = question.shown,
                                          .set_count = question.shown_count,
                                          .kind = WHY_FEATURE,
                                          .step_s = step_s,
                                          .rank = rank_of(asking, step_s, 1)});
}

/* Of a run that has no room: whether it would have none with that, though it has by what is
 * told. */
static void ask_room(const struct asking *asking, uint32_t number)
{
    struct unsaid_question question;
    const struct memory_verdict *told = &asking->asked->result->step.memory;
    if (!unsaid_question_of(asking->arena, asking->asked->catalogue, asking->scenario, number,
                            &question)) {
        return;
    }
    const struct scenario *then =
        scenario_resolve(asking->scratch, asking->scenario->document, asking->asked->catalogue,
                         question.sets, question.set_count, diag_new(asking->scratch));
    const struct memory_verdict verdict = then != NULL ? memory_check(then) : *told;
    if (!verdict.fits_gpu && told->fits_gpu) {
        add_cause(asking, &(struct why_cause){.name = question.name,
                                              .sets = question.shown,
                                              .set_count = question.shown_count,
                                              .kind = WHY_FEATURE,
                                              .step_s = ABSENT,
                                              .assumed = 1e-9 * told->worst.total_bytes,
                                              .value = 1e-9 * verdict.worst.total_bytes,
                                              .unit = "GB"});
    }
    arena_reset(asking->scratch);
}

static void ask_state(const struct asking *asking, const struct why_state *state)
{
    const char **sets = arena_array(asking->arena, WHY_SETS_MAX, sizeof *sets);
    const struct why_machine machine = why_machine_of(asking->scenario);
    const uint32_t count = state->arises(&machine) ? state->sets(asking->arena, &machine, sets) : 0;
    const double step_s = count > 0 ? try_sets(asking, sets, count, false) : ABSENT;
    if (!is_absent(step_s)) {
        add_cause(asking, &(struct why_cause){.name = state->name,
                                              .sets = sets,
                                              .set_count = count,
                                              .measure = state->see,
                                              .kind = WHY_STATE,
                                              .step_s = step_s,
                                              .rank = rank_of(asking, step_s, 2)});
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

struct solving {
    const struct asking *asking;
    const struct why_rate *rate;
    struct why_machine machine; /* of the scenario as it is */
    double figure;              /* of the one that was tried last */
};

/* ln(step / measured) at that many times the rate; ABSENT: it cannot be. */
static double distance(struct solving *solving, double times)
{
    const struct asking *asking = solving->asking;
    const char *sets[WHY_SETS_MAX];
    const uint32_t count = solving->rate->sets(asking->scratch, &solving->machine, times, sets);
    const struct scenario *then = count > 0 ? changed(asking, sets, count) : NULL;
    double found = ABSENT;
    if (then != NULL) {
        found = log(step_s_of(asking, then) / asking->asked->measured_s);
        const struct why_machine tried = why_machine_of(then);
        solving->figure = solving->rate->figure(&tried);
    }
    arena_reset(asking->scratch);
    return found;
}

/* Whether a value between 1 and there makes the step the measured one. */
static bool is_reached(const struct solving *solving, double at_end)
{
    const bool is_slower = solving->asking->found->gap > 0;
    return !is_absent(at_end) && (is_slower ? at_end >= 0 : at_end <= 0);
}

/* The furthest from 1, that way, that can be: keys have bounds. Near enough to those, by halving on
 * the logarithm, where it is not reached before. */
static double furthest(struct solving *solving, bool is_slower, double *at)
{
    enum { HALVINGS = 5 };
    double beyond = log(is_slower ? TIMES_LEAST : TIMES_MOST), x = beyond;
    *at = distance(solving, exp(x));
    while (is_absent(*at) && fabs(x) > MET) {
        beyond = x;
        x /= 2;
        *at = distance(solving, exp(x));
    }
    for (uint32_t i = 0; i < HALVINGS && x / beyond < 1 && !is_reached(solving, *at); i++) {
        const double middle = (x + beyond) / 2;
        const double at_middle = distance(solving, exp(middle));
        if (is_absent(at_middle)) {
            beyond = middle;
        } else {
            x = middle;
            *at = at_middle;
        }
    }
    return exp(x);
}

/* Between 1 and there, by the rule of false position with halved ends (Illinois) on logarithms. */
static double solve(struct solving *solving, double end, double at_end)
{
    double low = 0, high = log(end);
    double at_low = -solving->asking->found->gap, at_high = at_end, x = high;
    int last = 0;
    for (uint32_t i = 0; i < solving->asking->tries; i++) {
        x = low - at_low * (high - low) / (at_high - at_low);
        const double at = distance(solving, exp(x));
        if (is_absent(at) || fabs(at) < MET) {
            break;
        }
        if ((at > 0) == (at_high > 0)) {
            high = x;
            at_high = at;
            at_low *= last == 1 ? 0.5 : 1;
            last = 1;
        } else {
            low = x;
            at_low = at;
            at_high *= last == -1 ? 0.5 : 1;
            last = -1;
        }
    }
    return exp(x);
}

static void ask_number(const struct asking *asking, const struct why_rate *rate)
{
    struct why_found *found = asking->found;
    struct solving solving = {asking, rate, why_machine_of(asking->scenario), 0};
    const double gap = found->gap;
    if (!rate->arises(&solving.machine)) {
        return;
    }
    struct why_cause cause = {.name = rate->name,
                              .kind = WHY_NUMBER,
                              .step_s = ABSENT,
                              .assumed = rate->figure(&solving.machine) * rate->factor,
                              .value = ABSENT,
                              .times = ABSENT,
                              .unit = rate->unit,
                              .measure = rate->measure};
    double at_end;
    const double end = furthest(&solving, gap > 0, &at_end);
    if (!is_reached(&solving, at_end)) {
        cause.explains = is_absent(at_end) ? 0 : (at_end + gap) / gap;
        found->unmet[found->unmet_count++] = cause;
        return;
    }
    const char **sets = arena_array(asking->arena, WHY_SETS_MAX, sizeof *sets);
    cause.times = solve(&solving, end, at_end);
    const double deviation = rate->deviation(&solving.machine, asking->asked->limits);
    cause.is_far = fabs(log(cause.times)) > WHY_FAR * deviation;
    cause.value = solving.figure * rate->factor;
    cause.step_s = asking->asked->measured_s;
    cause.explains = 1;
    cause.rank = number_rank(asking, cause.times, deviation);
    cause.sets = sets;
    cause.set_count = rate->sets(asking->arena, &solving.machine, cause.times, sets);
    insert(found->causes, &found->cause_count, &cause);
}

/* A node's loaders that give just so many sequences hold up each step so long; so does a host that
 * takes what is left for itself. */
static void tell_any(const struct asking *asking)
{
    const struct scenario *scenario = asking->scenario;
    struct why_found *found = asking->found;
    const double measured_s = asking->asked->measured_s;
    if (!(found->gap > 0) || found->is_same) {
        return;
    }
    found->any[found->any_count++] =
        (struct why_any){"data loaders that give",
                         (double)scenario->batch.global / measured_s / (double)scenario->nodes,
                         "sequences/s a node", "loaders alone, without a model"};
    found->any[found->any_count++] =
        (struct why_any){"the host busy between steps for", measured_s - found->expected_s, "s",
                         "a profile of the host: logging, data, optimizer, evaluation"};
}

/* ---- storage --------------------------------------------------------------------------------- */

/* What a checkpoint takes beyond its prediction, of each step's time. */
static double lost_share(const struct run_result *run, double measured_s, double step_s)
{
    const double steps = fmax(1, run->checkpoint_every_s / step_s);
    return fabs(measured_s - run->checkpoint_s) / (steps * step_s);
}

static void ask_storage(const struct asking *asking)
{
    const struct result *result = asking->asked->result;
    const struct run_result *run = &result->run;
    const double measured_s = asking->asked->checkpoint_s;
    struct why_found *found = asking->found;
    if (!(measured_s > 0) || !result_has_checkpoints(result) || !(run->checkpoint_s > 0) ||
        fabs(log(measured_s / run->checkpoint_s)) < WHY_SAME) {
        return;
    }
    const double lost = lost_share(run, measured_s, found->expected_s);
    const bool is_more = lost > fabs(found->gap);
    const double first = found->cause_count > 0 ? found->causes[0].rank : 0;
    const struct why_cause cause = {
        .name = "storage, as checkpoints are written",
        .kind = WHY_STORAGE,
        .step_s = ABSENT,
        .explains = ABSENT,
        .rank = is_more ? first - 1 : HUGE_VAL,
        .assumed = 1e-9 * run->checkpoint_bytes / run->checkpoint_s,
        .value = 1e-9 * run->checkpoint_bytes / measured_s,
        .times = run->checkpoint_s / measured_s,
        .unit = "GB/s",
        .measure = "writes of all nodes at once: fio or dd, as large as a checkpoint"};
    insert(found->causes, &found->cause_count, &cause);
}

/* ---- layouts --------------------------------------------------------------------------------- */

static void keep_fastest(struct why_found *found, const struct whatif_remedy *remedy,
                         const char *const *sets, double step_s)
{
    uint32_t at = found->faster_count < WHY_FASTER_MAX ? found->faster_count++ : WHY_FASTER_MAX;
    const struct why_faster item = {remedy->name, sets, remedy->set_count, step_s};
    while (at > 0 && found->faster[at - 1].step_s > step_s) {
        if (at < WHY_FASTER_MAX) {
            found->faster[at] = found->faster[at - 1];
        }
        at--;
    }
    if (at < WHY_FASTER_MAX) {
        found->faster[at] = item;
    }
}

/* Whether it needs less, and peaks of runs like it leave no doubt that it fits. */
static bool fits_surely(const struct asking *asking, const struct whatif_remedy *remedy)
{
    const struct scenario *then = changed(asking, remedy->sets, remedy->set_count);
    bool is_sure = false;
    if (then != NULL) {
        const struct memory_verdict verdict = memory_check(then);
        const double told_bytes = asking->asked->result->step.memory.worst.total_bytes;
        is_sure = verdict.worst.total_bytes < told_bytes &&
                  !memory_doubt_of(asking->scratch, asking->peaks, then, &verdict).is_in_doubt;
    }
    arena_reset(asking->scratch);
    return is_sure;
}

static void try_layout(const struct asking *asking, const struct whatif_remedy *remedy)
{
    struct why_found *found = asking->found;
    const bool wants_room = found->verdict == WHY_MEMORY;
    if (wants_room && !fits_surely(asking, remedy)) {
        return;
    }
    const double step_s = try_sets(asking, remedy->sets, remedy->set_count, true);
    const bool is_faster = !is_absent(step_s) && (wants_room || is_absent(found->expected_s) ||
                                                  step_s < found->expected_s * (1 - FASTER_LEAST));
    for (uint32_t i = 0; i < found->faster_count; i++) {
        if (fabs(log(found->faster[i].step_s / step_s)) < SAME) { /* in other words */
            return;
        }
    }
    if (is_faster) {
        const char **sets = arena_array(asking->arena, WHATIF_SETS_MAX, sizeof *sets);
        memcpy(sets, remedy->sets, remedy->set_count * sizeof *sets);
        keep_fastest(found, remedy, sets, step_s);
    }
}

static void seek_layouts(const struct asking *asking)
{
    uint32_t count;
    const struct scenario *scenario = asking->scenario;
    const struct whatif_remedy *remedies =
        whatif_remedies(asking->arena, scenario, 1u << WHATIF_FREE, &count);
    for (uint32_t i = 0; i < count; i++) {
        try_layout(asking, &remedies[i]);
    }
    if (scenario->gpus > WHY_SEARCHED_GPUS_MAX) {
        return;
    }
    struct study_base base = *asking->asked->base;
    base.sets = NULL; /* they are in the document that was resolved */
    base.set_count = 0;
    struct whatif_remedy best;
    if (whatif_layout(asking->arena, scenario->document, &base, scenario, &best)) {
        try_layout(asking, &best);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool can_be_asked(const struct scenario *scenario)
{
    return scenario->document != NULL && scenario->neighbour_count == 0 &&
           scenario->plan.stage_count == 0 && !(scenario->step_time_s > 0);
}

static enum why_verdict verdict_of(const struct why_asked *asked)
{
    const struct result *result = asked->result;
    const struct band *band = result->band;
    const double ratio = asked->measured_s / units_seconds(result->step.step_ns);
    return !(asked->measured_s > 0)           ? WHY_MEMORY
           : !result_has_step(result)         ? WHY_UNFIT
           : band == NULL || band->votes == 0 ? WHY_OUTSIDE
           : band->unproven_count > 0         ? WHY_OUTSIDE
           : ratio > band->high               ? WHY_SLOW
           : ratio < band->low                ? WHY_FAST
                                              : WHY_USUAL;
}

/* Without a band as far off as the range of assumptions. */
static double deviation_of(const struct why_asked *asked)
{
    const struct band *band = asked->result->band;
    const bool is_known = band != NULL && band->votes > 0 && band->high > 1;
    return (is_known ? log(band->high) : log1p(asked->limits->range)) / BAND_DEVIATIONS;
}

/* The step as it is, as causes are simulated. False: of so many events it is not repeated. */
static bool simulate_now(struct asking *asking)
{
    if (!result_has_step(asking->asked->result)) {
        asking->scale = 1;
        return true;
    }
    const struct step_result now = simulate(asking, asking->scenario);
    arena_reset(asking->scratch);
    asking->scale = asking->found->expected_s / units_seconds(now.step_ns);
    asking->tries = now.engine.events > EVENTS_LARGE ? TRIES_LARGE : TRIES_MAX;
    return now.engine.events <= WHY_EVENTS_MAX;
}

static void seek(struct asking *asking)
{
    const uint32_t features = unsaid_question_count(), numbers = why_rate_count();
    struct why_found *found = asking->found;
    const bool blames = found->verdict != WHY_MEMORY && found->verdict != WHY_OUTSIDE;
    for (uint32_t i = 0; i < features && blames && !found->is_same; i++) {
        ask_feature(asking, i);
    }
    for (uint32_t i = 0; i < features && found->verdict == WHY_MEMORY; i++) {
        ask_room(asking, i);
    }
    for (uint32_t i = 0; i < why_state_count() && blames && !found->is_same; i++) {
        ask_state(asking, why_state_of(i));
    }
    for (uint32_t i = 0; i < numbers && has_gap(asking) && !found->is_same; i++) {
        ask_number(asking, why_rate_of(i));
    }
    tell_any(asking);
    ask_storage(asking);
    seek_layouts(asking);
}

bool why_check(const struct why_asked *asked, const struct place *place, struct diag *diag)
{
    const struct step_result *step = &asked->result->step;
    if (!result_has_step(asked->result) || !(asked->measured_s > 0)) {
        return true;
    }
    const double ratio = asked->measured_s / units_seconds(step->step_ns);
    if (step->mfu <= ratio && ratio <= FACTOR_MOST) {
        return true;
    }
    diag_add(diag, DIAG_INPUT, place,
             step->mfu > ratio ? "a step of %.4g s is faster than its GPUs' peak, of which %.4g s "
                                 "are predicted"
                               : "a step of %.4g s is no error of a level: %.4g s are predicted",
             asked->measured_s, units_seconds(step->step_ns));
    diag_help(diag,
              "the time is of a whole optimizer step with all its microbatches: see its unit, "
              "and whether GPUs, batch and model are those of the run");
    return false;
}

static struct why_found found_of(struct arena *arena, const struct why_asked *asked)
{
    const struct result *result = asked->result;
    const uint32_t numbers = why_rate_count();
    const uint32_t most = unsaid_question_count() + why_state_count() + numbers + 1;
    const bool has_step = result_has_step(result);
    const double expected_s = has_step ? units_seconds(result->step.step_ns) : ABSENT;
    const double gap =
        has_step && asked->measured_s > 0 ? log(asked->measured_s / expected_s) : ABSENT;
    const struct scenario *scenario = result->scenario;
    const struct batch *batch = &scenario->batch;
    return (struct why_found){
        .title = scenario->title,
        .of = arena_printf(arena, "%s on %" PRId64 " x %s (%s), %s", scenario->model.name,
                           scenario->gpus, scenario->gpu.name, scenario->cluster.name,
                           scenario->software.name),
        .tokens_per_gpu =
            (double)batch->global * (double)batch->sequence_length / (double)scenario->gpus,
        .verdict = verdict_of(asked),
        .expected_s = expected_s,
        .gap = gap,
        .deviation = deviation_of(asked),
        .is_same = !is_absent(gap) && fabs(gap) < WHY_SAME,
        .causes = arena_array(arena, most, sizeof(struct why_cause)),
        .unmet = arena_array(arena, numbers, sizeof(struct why_cause)),
    };
}

void why_ask(struct arena *arena, const struct why_asked *asked, struct why_found *found)
{
    const struct scenario *scenario = asked->result->scenario;
    *found = found_of(arena, asked);
    struct asking asking = {
        .asked = asked,
        .scenario = scenario,
        .found = found,
        .arena = arena,
        .scratch = arena_new(),
        .peaks = memory_errors_open(arena, asked->catalogue, diag_new(arena)),
    };
    found->is_apart = !can_be_asked(scenario);
    found->is_too_large = !found->is_apart && !simulate_now(&asking);
    if (!found->is_apart && !found->is_too_large) {
        seek(&asking);
    }
    arena_free(asking.scratch);
}
