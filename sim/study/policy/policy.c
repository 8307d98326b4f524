/* Combinations of what is listed are counted like the points of a sweep, the last axis fastest.
 * First each is resolved, which costs little and finds what cannot be; then each is tried. With a
 * range a combination is tried at several intervals and stands for its best one.
 *
 * A policy's scenario and result, some 100 kB, are in an arena of its own, which goes when it is no
 * longer among the best.
 */
#include "study/policy/policy.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/diag.h"
#include "input/doc/doc.h"
#include "input/failures/recovery.h"
#include "input/scenario.h"
#include "run/history/interval.h"
#include "run/known.h"
#include "run/money.h"
#include "run/run.h"
#include "study/policy/policy_range.h"
#include "train/step_memo.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { POLICIES_MAX = 4096 };

const char *const policy_named_names[POLICY_NAMED_COUNT_] = {"own", "young", "daly", "exact"};

struct searching {
    struct arena *arena;
    const struct policy_request *request;
    struct policy_trials trials;
    double step_s;
    struct policy_found *found;
    uint32_t wanted; /* combinations */
};

/* ---- a range of intervals ------------------------------------------------------------------ */

/* What is tried of one combination. */
struct ranging {
    struct searching *searching;
    const struct policy *combination;
    struct policy *trials; /* [capacity] */
    int64_t *steps;        /* of each */
    size_t count, capacity, steps_capacity;
};

static struct policy *trial_of(struct ranging *ranging, int64_t every_steps)
{
    struct searching *searching = ranging->searching;
    for (size_t i = 0; i < ranging->count; i++) {
        if (ranging->steps[i] == every_steps) {
            return &ranging->trials[i];
        }
    }
    ranging->trials = arena_grow(searching->arena, ranging->trials, &ranging->capacity,
                                 ranging->count + 1, sizeof *ranging->trials);
    ranging->steps = arena_grow(searching->arena, ranging->steps, &ranging->steps_capacity,
                                ranging->count + 1, sizeof *ranging->steps);
    struct policy *trial = &ranging->trials[ranging->count];
    *trial = *ranging->combination;
    for (uint32_t i = 0; i < searching->request->space->axis_count; i++) {
        if (searching->request->space->axes[i].kind == POLICY_EVERY) {
            trial->texts[i] = arena_printf(searching->arena, "%" PRId64 " steps", every_steps);
        }
    }
    ranging->steps[ranging->count++] = every_steps;
    policy_try(&searching->trials, trial);
    return trial;
}

static double loss_at(void *context, int64_t every_steps)
{
    struct ranging *ranging = context;
    return policy_loss(trial_of(ranging, every_steps), ranging->searching->request->by);
}

/* The combination becomes its best trial. */
static void take_best(struct ranging *ranging, struct policy *policy)
{
    const enum policy_by by = ranging->searching->request->by;
    struct policy *best = &ranging->trials[0];
    for (size_t i = 1; i < ranging->count; i++) {
        best = policy_loss(&ranging->trials[i], by) < policy_loss(best, by) ? &ranging->trials[i]
                                                                            : best;
    }
    best->every_least_s = best->every_s;
    best->every_most_s = best->every_s;
    for (size_t i = 0; i < ranging->count; i++) {
        struct policy *trial = &ranging->trials[i];
        if (best->state == POLICY_GOOD && trial->state == POLICY_GOOD) {
            policy_hold_against(best, by, trial);
            best->every_least_s =
                trial->is_tied ? fmin(best->every_least_s, trial->every_s) : best->every_least_s;
            best->every_most_s =
                trial->is_tied ? fmax(best->every_most_s, trial->every_s) : best->every_most_s;
        }
        if (trial != best) {
            policy_drop(trial);
        }
    }
    *policy = *best;
}

/* The numbers of whole steps in the range: none where `most` is the less. */
static void steps_in_range(const struct searching *searching, struct policy_range *range)
{
    const struct policy_space *space = searching->request->space;
    const double least = ceil(space->every_least_s / searching->step_s);
    const double most = floor(space->every_most_s / searching->step_s);
    range->least = least > 1 ? (int64_t)least : 1;
    range->most = (int64_t)most;
}

static void try_range(struct searching *searching, struct policy *policy)
{
    const struct policy combination = *policy;
    struct ranging ranging = {.searching = searching, .combination = &combination};
    struct policy_range range = {.loss_at = loss_at, .context = &ranging};
    steps_in_range(searching, &range);
    policy_range_search(&range);
    take_best(&ranging, policy);
}

/* ---- all of them --------------------------------------------------------------------------- */

static void combine(const struct policy_space *space, uint32_t number, struct policy *policy)
{
    *policy = (struct policy){.state = POLICY_GOOD};
    for (uint32_t i = space->axis_count; i-- > 0;) {
        const struct policy_axis *axis = &space->axes[i];
        if (axis->count > 0) {
            policy->texts[i] = axis->values[number % axis->count].text;
            number /= axis->count;
        }
    }
}

/* Gives back the worst of those that have their result still, where these are more than `top`: of
 * equal ones the last, as they are sorted. */
static void trim(const struct searching *searching)
{
    struct policy_found *found = searching->found;
    uint32_t kept = 0;
    struct policy *worst = NULL;
    for (uint32_t i = 0; i < found->count; i++) {
        struct policy *policy = &found->policies[i];
        if (policy->arena == NULL) {
            continue;
        }
        kept++;
        const enum policy_by by = searching->request->by;
        worst = worst == NULL || policy_loss(policy, by) >= policy_loss(worst, by) ? policy : worst;
    }
    if (kept > searching->request->top) {
        policy_drop(worst);
    }
}

/* What is wrong with a value that goes with none of the others, told where it is written. */
static void blame(const struct searching *searching, uint32_t axis_number,
                  const struct policy_value *value, const struct diag *why, struct diag *diag)
{
    const struct policy_axis *axis = &searching->request->space->axes[axis_number];
    const char *help = diag_first_help(searching->arena, why);
    diag_add(diag, DIAG_INPUT, &value->node->place, "'%s: %s': %s", policy_axis_paths[axis->kind],
             value->text, diag_first_error(why));
    diag_help(diag, "%s", help != NULL ? help : "leave the value out");
}

/* Which combination has the value number `value` of an axis first; UINT32_MAX where a possible one
 * has it. */
static uint32_t first_lost(const struct searching *searching, const bool *is_possible,
                           uint32_t axis_number, uint32_t value)
{
    const struct policy_space *space = searching->request->space;
    uint32_t stride = 1;
    uint32_t first = UINT32_MAX;
    for (uint32_t a = space->axis_count - 1; a > axis_number; a--) {
        stride *= space->axes[a].count > 0 ? space->axes[a].count : 1;
    }
    for (uint32_t i = searching->wanted; i-- > 0;) {
        if (i / stride % space->axes[axis_number].count == value) {
            first = i;
            if (is_possible[i]) {
                return UINT32_MAX;
            }
        }
    }
    return first;
}

/* False, with a message, where the value is a mistake: by itself, or in the combination. */
static bool check_value(const struct searching *searching, uint32_t axis_number, uint32_t value,
                        const struct policy *policy, struct diag *diag)
{
    struct arena *once = arena_new();
    struct diag *why = diag_new(once);
    const bool is_good = policy_resolve(&searching->trials, once, policy, why) != NULL;
    if (!is_good) {
        blame(searching, axis_number, &searching->request->space->axes[axis_number].values[value],
              why, diag);
    }
    arena_free(once);
    return is_good;
}

/* Values that none of the possible combinations has are mistakes. Where they are so by themselves,
 * in the scenario's own policy, only those are told, else all. */
static bool check_values(const struct searching *searching, const bool *is_possible, bool is_single,
                         struct diag *diag)
{
    const struct policy_space *space = searching->request->space;
    bool is_good = true;
    for (uint32_t a = 0; a < space->axis_count; a++) {
        for (uint32_t v = 0; v < space->axes[a].count; v++) {
            const uint32_t first = first_lost(searching, is_possible, a, v);
            struct policy policy = {.texts = {NULL}};
            if (first == UINT32_MAX || space->axes[a].values[v].node == NULL) {
                continue;
            }
            if (is_single) {
                policy.texts[a] = space->axes[a].values[v].text;
            } else {
                combine(space, first, &policy);
                policy.every_steps = space->range != NULL ? 1 : 0;
            }
            is_good = check_value(searching, a, v, &policy, diag) && is_good;
        }
    }
    return is_good;
}

/* Resolves each combination: which can be. */
static bool find_possible(const struct searching *searching, bool *is_possible, struct diag *diag)
{
    const struct policy_space *space = searching->request->space;
    struct arena *once = arena_new();
    for (uint32_t i = 0; i < searching->wanted; i++) {
        struct policy policy;
        combine(space, i, &policy);
        policy.every_steps = space->range != NULL ? 1 : 0; /* any will do */
        is_possible[i] = policy_resolve(&searching->trials, once, &policy, diag_new(once)) != NULL;
        arena_reset(once);
    }
    arena_free(once);
    return check_values(searching, is_possible, true, diag) &&
           check_values(searching, is_possible, false, diag);
}

static void try_all(struct searching *searching, const bool *is_possible)
{
    const struct policy_request *request = searching->request;
    struct policy_found *found = searching->found;
    for (uint32_t i = 0; i < searching->wanted; i++) {
        if (!is_possible[i]) {
            found->impossible++;
            continue;
        }
        if (request->on_policy != NULL) {
            request->on_policy(request->context, i, searching->wanted);
        }
        struct policy *policy = &found->policies[found->count++];
        combine(request->space, i, policy);
        if (request->space->range != NULL) {
            try_range(searching, policy);
        } else {
            policy_try(&searching->trials, policy);
        }
        found->good += policy->state == POLICY_GOOD;
        found->without_progress += policy->state == POLICY_WITHOUT_PROGRESS;
        trim(searching);
    }
}

/* ---- in order ------------------------------------------------------------------------------ */

/* Of equal ones the first that was tried. */
static void sort(struct policy_found *found, enum policy_by by)
{
    for (uint32_t i = 1; i < found->count; i++) {
        const struct policy policy = found->policies[i];
        uint32_t at = i;
        for (; at > 0 && policy_loss(&found->policies[at - 1], by) > policy_loss(&policy, by);
             at--) {
            found->policies[at] = found->policies[at - 1];
        }
        found->policies[at] = policy;
    }
}

static void compare_all(struct policy_found *found, enum policy_by by)
{
    for (uint32_t i = 0; i < found->good; i++) {
        policy_hold_against(&found->policies[0], by, &found->policies[i]);
        found->tied += found->policies[i].is_tied;
    }
    for (uint32_t i = 0; i < POLICY_NAMED_COUNT_; i++) {
        if (found->no_named[i] == NULL && found->named[i].state == POLICY_GOOD) {
            policy_hold_against(&found->policies[0], by, &found->named[i]);
        }
    }
}

/* ---- by name ------------------------------------------------------------------------------- */

static const char *own_text(struct arena *arena, const struct scenario *scenario,
                            enum policy_axis_kind kind)
{
    const struct checkpoint *checkpoint = &scenario->checkpoint;
    const struct recovery *recovery = &scenario->recovery;
    if (kind < POLICY_SPARES && !checkpoint->is_enabled) {
        return "none";
    }
    switch (kind) {
    case POLICY_EVERY:
        return doc_find_text(scenario->document, policy_axis_paths[kind]);
    case POLICY_MODE:
        return checkpoint_mode_names[checkpoint->mode];
    case POLICY_TO:
        return checkpoint_target_names[checkpoint->target];
    case POLICY_DRAIN_EVERY:
        return arena_printf(arena, "%" PRId64, checkpoint->drain_every);
    case POLICY_SPARES:
        return arena_printf(arena, "%" PRId64, recovery->spares);
    case POLICY_WITHOUT_NODE:
        return recovery_without_node_names[recovery->without_node];
    case POLICY_BATCH:
        return recovery_batch_names[recovery->batch];
    case POLICY_AXIS_COUNT_:
        break;
    }
    return "";
}

/* The scenario as it is: its step is that of all policies. */
static void try_own(struct searching *searching)
{
    const struct policy_space *space = searching->request->space;
    struct policy *own = &searching->found->named[POLICY_OWN];
    *own = (struct policy){.state = POLICY_GOOD};
    policy_try(&searching->trials, own);
    sim_assert(own->scenario != NULL); /* it has been resolved before */
    searching->step_s = run_step_s(own->scenario, &own->result->step);
    for (uint32_t i = 0; i < space->axis_count; i++) {
        own->texts[i] = own_text(searching->arena, own->scenario, space->axes[i].kind);
    }
    searching->found->no_named[POLICY_OWN] = NULL;
}

static void try_interval(struct searching *searching, enum policy_named name, double interval_s)
{
    struct policy_found *found = searching->found;
    const struct policy_space *space = searching->request->space;
    const double steps = interval_s / searching->step_s;
    const int64_t every_steps = steps > 1 ? llround(steps) : 1;
    struct policy *named = &found->named[name];
    *named = (struct policy){.state = POLICY_GOOD, .every_steps = every_steps};
    memcpy(named->texts, found->policies[0].texts, sizeof named->texts);
    for (uint32_t i = 0; i < space->axis_count; i++) {
        if (space->axes[i].kind == POLICY_EVERY) {
            named->texts[i] = arena_printf(searching->arena, "%" PRId64 " steps", every_steps);
        }
    }
    found->interval_s[name] = interval_s;
    found->no_named[name] = NULL;
    policy_try(&searching->trials, named);
}

/* In the place of the best one's interval those of the formulas. */
static void try_intervals(struct searching *searching)
{
    struct policy_found *found = searching->found;
    const struct run_result *run = &found->policies[0].result->run;
    const char *reason = !found->policies[0].scenario->checkpoint.is_enabled
                             ? "the best writes no checkpoints"
                         : is_absent(run->checkpoint_young_s)
                             ? "its checkpoints block for no time, or nothing ends the run"
                             : NULL;
    for (uint32_t i = POLICY_YOUNG; i < POLICY_NAMED_COUNT_; i++) {
        found->no_named[i] = reason;
        found->interval_s[i] = ABSENT;
    }
    if (reason != NULL) {
        return;
    }
    const struct interval_case of = {.mtbf_s = run->rollback_mtbf_s,
                                     .block_s = run->checkpoint_block_s};
    try_interval(searching, POLICY_YOUNG, run->checkpoint_young_s);
    try_interval(searching, POLICY_DALY, interval_daly_s(&of));
    try_interval(searching, POLICY_EXACT, run->checkpoint_best_s);
}

/* ---- the whole ----------------------------------------------------------------------------- */

bool policy_matters(const struct scenario *scenario)
{
    return scenario->run_tokens > 0 && scenario->plan.stage_count <= 1 &&
           recovery_has_failures(scenario);
}

bool policy_check(const struct scenario *scenario, enum policy_by by,
                  const struct doc_node *document, struct diag *diag)
{
    const struct doc_node *search = doc_find(document, "search");
    const struct place *place = search != NULL ? &search->key_place : NULL;
    if (scenario->run_tokens <= 0) {
        diag_add(diag, DIAG_INPUT, place,
                 "policies are of a run: nothing says for how many tokens");
        diag_help(diag, "write run: {tokens: 1T}, or --set run.tokens=1T");
        return false;
    }
    if (scenario->plan.stage_count > 1) {
        diag_add(diag, DIAG_INPUT, &doc_find(scenario->document, "run.stages")->place,
                 "policies are searched for a run of one stage");
        diag_help(diag, "leave run.stages out, and give the keys of the longest by --set");
        return false;
    }
    if (!recovery_has_failures(scenario)) {
        diag_add(diag, DIAG_INPUT, place,
                 "nothing fails in this run, so that no policy is better than another");
        diag_help(diag, "write run: {failures: llama3-2024}; `stoker list failures` has others");
        return false;
    }
    if (by == POLICY_BY_COST && !money_is_priced(scenario)) {
        diag_add(diag, DIAG_INPUT, NULL,
                 "--by cost needs a price: neither scenario nor GPU has one");
        diag_help(diag, "write price: {gpu_hour: 2.00 USD}");
        return false;
    }
    return true;
}

static bool check_count(const struct policy_space *space, const struct doc_node *document,
                        struct diag *diag)
{
    const uint64_t count = policy_space_count(space);
    if (count <= POLICIES_MAX) {
        return true;
    }
    const struct doc_node *search = doc_find(document, "search");
    diag_add(diag, DIAG_INPUT, &search->key_place, "the search has more than %d policies",
             POLICIES_MAX);
    diag_help(diag, "leave values out; a range of run.checkpoint.every counts once");
    return false;
}

/* The plan fits, or no policy is any good. */
static bool check_fits(const struct policy *own, struct diag *diag)
{
    if (result_has_step(own->result)) {
        return true;
    }
    return diag_add(diag, DIAG_INFEASIBLE, NULL, "the plan does not fit into memory: %s",
                    own->result->step.memory_advice);
}

/* An interval is a whole number of steps. */
static bool check_range(const struct searching *searching, struct diag *diag)
{
    const struct doc_node *node = searching->request->space->range;
    struct policy_range range;
    if (node == NULL) {
        return true;
    }
    steps_in_range(searching, &range);
    if (range.least <= range.most) {
        return true;
    }
    char text[32];
    units_format_duration((double)range.least * searching->step_s, text, sizeof text);
    diag_add(diag, DIAG_INPUT, &node->place,
             "no whole number of steps lies in the range '%s' of 'run.checkpoint.every'",
             node->text);
    diag_help(diag,
              "the next is %s (%lld steps): write a range that has it, like 1 min..60 min, "
              "or it alone",
              text, (long long)range.least);
    return false;
}

bool policy_search(struct arena *arena, const struct policy_request *request,
                   struct policy_found *found, struct diag *diag)
{
    *found = (struct policy_found){.good = 0};
    if (!check_count(request->space, request->document, diag)) {
        return false;
    }
    struct searching searching = {.arena = arena,
                                  .request = request,
                                  .trials = {.arena = arena,
                                             .request = request,
                                             .known = run_known_new(),
                                             .memo = step_memo_new()},
                                  .found = found,
                                  .wanted = (uint32_t)policy_space_count(request->space)};
    found->policies = arena_array(arena, searching.wanted, sizeof *found->policies);
    bool *is_possible = arena_array(arena, searching.wanted, sizeof *is_possible);
    bool is_good = find_possible(&searching, is_possible, diag);
    if (is_good) {
        try_own(&searching);
        is_good = check_fits(&found->named[POLICY_OWN], diag) && check_range(&searching, diag);
    }
    if (is_good) {
        try_all(&searching, is_possible);
        sort(found, request->by);
    }
    if (is_good && found->good > 0) {
        try_intervals(&searching);
        compare_all(found, request->by);
        found->histories = found->policies[0].count;
    }
    found->steps_simulated = run_known_count(searching.trials.known);
    step_memo_free(searching.trials.memo);
    found->known = searching.trials.known;
    found->tried = searching.trials.tried;
    return is_good;
}

void policy_forget(struct policy_found *found)
{
    for (uint32_t i = 0; i < found->count; i++) {
        policy_drop(&found->policies[i]);
    }
    for (uint32_t i = 0; i < POLICY_NAMED_COUNT_; i++) {
        policy_drop(&found->named[i]);
    }
    run_known_free(found->known);
    found->known = NULL;
}
