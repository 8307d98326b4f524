/* The loop takes the earliest of what can change the regime: a class's next failure, the end of a
 * slow GPU, a node that comes back to a job that lacks replicas, the horizon. Until then the
 * job does steps and writes (history_steps).
 */
#include "run/history/history_state.h"

#include "base/arena.h"
#include "base/check.h"

/* ---- failures ----------------------------------------------------------------------------------
 */

/* The job starts with the nodes that are there. */
static void take_nodes(struct history *h, uint32_t missing)
{
    const uint32_t displaced = history_displaced(h);
    if (missing != h->missing || displaced != h->displaced) {
        h->missing = missing;
        h->displaced = displaced;
        history_forget_cycles(h);
    }
}

/* Steps take from now on what they do in this interval of drift. */
static void drift(struct history *h)
{
    const sim_time age = h->now - h->fresh_at;
    while (h->drift < h->plan->drift_count && h->plan->drift_ages[h->drift] <= age) {
        h->drift++;
    }
    history_forget_cycles(h);
}

/* The job has started; what drifts on does so until it was maintained. */
static void freshen(struct history *h, bool is_maintained)
{
    if (h->plan->drift_count > 0 && (is_maintained || !h->plan->drifts_on)) {
        h->fresh_at = h->now;
        h->drift = 0;
        drift(h);
    }
}

/* Whether the failure that is due in a class is of a component that the stage has. */
static bool is_met(const struct history *h, uint32_t class)
{
    const double share = history_share(h, class, h->times[class].next);
    if (share >= 1) {
        return true;
    }
    const struct rng_key key = failure_key(&h->times[class], h->times[class].ordinal, DRAW_SHARE);
    return rng_uniform(&key) < share;
}

/* What would have ended or slowed a job that stands still breaks its nodes, with what they hold. */
static void take_failures_unseen(struct history *h)
{
    const uint32_t first = history_earliest(h, CLASSES_ALL);
    if (first == HISTORY_NO_CLASS || h->times[first].next > h->now) {
        return;
    }
    const struct class_list *list = &h->lists[CLASSES_BREAKING_NODES];
    for (uint32_t i = 0; i < list->count; i++) {
        const uint32_t class = list->items[i];
        while (h->times[class].next <= h->now) {
            if (is_met(h, class)) {
                history_survive(h, class, h->times[class].ordinal);
                history_break_nodes(h, class, h->times[class].ordinal, h->times[class].next);
            }
            history_next_failure(h, class);
        }
    }
}

/* Of those that are left more may be taken or break meanwhile: one after the other, since each
 * leaves fewer. */
static void wait_for_nodes(struct history *h)
{
    history_take_repaired(h);
    while (history_has_to_wait(h) && !history_is_over(h)) {
        const uint32_t taking = history_earliest(h, CLASSES_LEAVING_FEWER);
        sim_time until = history_first_back(h);
        if (taking != HISTORY_NO_CLASS && h->times[taking].next < until) {
            until = h->times[taking].next;
        }
        history_stand_still(h, ACCOUNT_WAITING, until > h->now ? until - h->now : 0);
        take_failures_unseen(h);
        history_take_repaired(h);
    }
}

/* What a restart draws: for a failure of a class, or a planned one. */
static sim_time restart_drawn(const struct history *h, const struct attempt *attempt)
{
    if (attempt->class == HISTORY_NO_CLASS) {
        const struct rng_key key = {.seed = h->seed,
                                    .stream = rng_stream("planned"),
                                    .rank = h->repetition,
                                    .step = attempt->ordinal};
        return law_draw(&h->plan->restart, &key);
    }
    const struct rng_key key =
        attempt->number > 0
            ? history_attempt_key(h, attempt, ATTEMPT_RESTART)
            : failure_key(&h->times[attempt->class], attempt->ordinal, DRAW_RESTART);
    return law_draw(&h->plan->classes[attempt->class].restart, &key) +
           history_cold_start_ns(h, attempt);
}

/* Whose failure comes before then; HISTORY_NO_CLASS: none. */
static uint32_t breaking_restart(struct history *h, sim_time until)
{
    for (;;) {
        const uint32_t next = history_earliest(h, CLASSES_BREAKING_RESTARTS);
        if (next == HISTORY_NO_CLASS || h->times[next].next >= until) {
            return HISTORY_NO_CLASS;
        }
        if (is_met(h, next)) {
            return next;
        }
        history_next_failure(h, next);
    }
}

/* The class whose failure broke the restart off; HISTORY_NO_CLASS: the job runs. One that failed
 * while all waited (stop, start-up) breaks it off at once. */
static uint32_t restart(struct history *h, const struct attempt *attempt)
{
    const enum account account =
        attempt->class == HISTORY_NO_CLASS ? ACCOUNT_PLANNED : ACCOUNT_RECOVERY;
    const sim_time takes = restart_drawn(h, attempt) + history_stage_of(h)->start_ns + h->read_ns;
    const uint32_t next = breaking_restart(h, h->now + takes);
    if (next != HISTORY_NO_CLASS) {
        const sim_time until = h->times[next].next;
        history_stand_still(h, account, until > h->now ? until - h->now : 0);
        return next;
    }
    history_stand_still(h, account, takes);
    h->taken = 0;
    return HISTORY_NO_CLASS;
}

/* Somebody knows of the failure that is due in a class. What restarts and repairs of it are drawn
 * by. */
static uint64_t detect(struct history *h, uint32_t class)
{
    const uint64_t ordinal = h->times[class].ordinal;
    const struct rng_key key = failure_key(&h->times[class], ordinal, DRAW_DETECTION);
    h->out->interruptions[class]++;
    history_break_nodes(h, class, ordinal, h->now);
    history_next_failure(h, class);
    history_stand_still(h, ACCOUNT_DETECTION, law_draw(&h->plan->classes[class].detection, &key));
    take_failures_unseen(h);
    return ordinal;
}

/* It started with what broke still in it, and somebody looks again. */
static void fail_as_before(struct history *h, struct attempt *attempt)
{
    attempt->number++;
    const struct rng_key key = history_attempt_key(h, attempt, ATTEMPT_DETECTION);
    history_stand_still(h, ACCOUNT_DETECTION,
                        law_draw(&h->plan->classes[attempt->class].detection, &key));
    take_failures_unseen(h);
}

/* From when it is known what failed, or from a planned stop, until the job runs. */
static void start_again(struct history *h, uint32_t class, uint64_t ordinal)
{
    struct attempt attempt = {.class = class, .ordinal = ordinal};
    history_take_noticed(h);
    for (;;) {
        const bool is_vain = !history_is_over(h) && history_blames_another(h, &attempt);
        wait_for_nodes(h);
        take_nodes(h, h->plan->is_elastic ? history_replicas_short(h) : 0);
        const uint32_t hit = restart(h, &attempt);
        if (history_is_over(h) || (hit == HISTORY_NO_CLASS && !is_vain)) {
            break;
        }
        if (hit == HISTORY_NO_CLASS) {
            fail_as_before(h, &attempt);
            continue;
        }
        const int64_t steps = h->at.steps;
        h->blamed = hit;
        history_survive(h, hit, h->times[hit].ordinal);
        h->out->saved += h->plan->classes[hit].takes_away && h->at.steps == steps;
        attempt = (struct attempt){.class = hit, .ordinal = detect(h, hit)};
    }
    h->blamed = HISTORY_NO_CLASS;
    h->level = 0;
    h->lost_nodes = 0;
    h->lost_holders = 0;
    h->is_held = true;
    history_renew(h);
    freshen(h, false);
    const struct class_list *corrupting = &h->lists[CLASSES_CORRUPTING];
    for (uint32_t i = 0; i < corrupting->count; i++) {
        while (h->times[corrupting->items[i]].next <= h->now) {
            history_next_failure(h, corrupting->items[i]); /* nothing was computed */
        }
    }
}

static void kill(struct history *h, uint32_t class)
{
    h->blamed = class;
    history_survive(h, class, h->times[class].ordinal);
    start_again(h, class, detect(h, class));
}

/* Nodes go, or all is saved before. */
static void leave(struct history *h)
{
    const struct notice first = h->notices[0];
    const int64_t steps = h->at.steps;
    const bool is_whole = h->step_left_ns == 0;
    h->blamed = first.class;
    for (size_t i = 0; i < h->notice_count; i++) {
        history_survive(h, h->notices[i].class, h->notices[i].ordinal);
    }
    h->out->saved += is_whole && h->at.steps == steps ? h->notice_count : 0;
    start_again(h, first.class, first.ordinal);
}

/* Of the failure that is due in a class. */
static uint32_t slow_place(const struct history *h, uint32_t class)
{
    const struct rng_key key = failure_key(&h->times[class], h->times[class].ordinal, DRAW_PLACE);
    const double places = (double)history_stage_of(h)->slow_places;
    return places > 1 ? (uint32_t)(rng_uniform(&key) * places) : 0;
}

/* From when a class's GPU is slow until it is not. */
static sim_time slow_end(const struct history *h, uint32_t class)
{
    const struct failure_class *of = &h->plan->classes[class];
    const struct failure_times *times = &h->times[class];
    const struct rng_key seen = failure_key(times, times->ordinal, DRAW_DETECTION);
    const sim_time known = law_after(times->next, law_draw(&of->detection, &seen));
    return of->heals ? law_after(known, failure_repair(times, times->ordinal, 0)) : known;
}

/* Of those that heal, one that makes steps as slow until that one does. NULL: there is none. */
static struct slow_gpu *find_alike(struct history *h, const struct slow_gpu *gpu)
{
    for (size_t i = 0; h->plan->classes[gpu->class].heals && i < h->slow_count; i++) {
        if (h->slow[i].class == gpu->class && h->slow[i].place == gpu->place) {
            return &h->slow[i];
        }
    }
    return NULL;
}

/* Nobody does anything when the first of two alike has healed: they are kept as one, so that there
 * are no more than classes and places, however often something is slow. */
static void slow_down(struct history *h, uint32_t class)
{
    const struct slow_gpu gpu = {class, slow_place(h, class), h->times[class].ordinal,
                                 slow_end(h, class)};
    struct slow_gpu *alike = find_alike(h, &gpu);
    if (alike != NULL) {
        alike->end = gpu.end > alike->end ? gpu.end : alike->end;
    } else {
        h->slow =
            arena_grow(h->arena, h->slow, &h->slow_capacity, h->slow_count + 1, sizeof *h->slow);
        h->slow[h->slow_count++] = gpu;
    }
    history_next_failure(h, class);
    history_forget_cycles(h);
}

static size_t first_slow(const struct history *h)
{
    size_t first = 0;
    for (size_t i = 1; i < h->slow_count; i++) {
        first = h->slow[i].end < h->slow[first].end ? i : first;
    }
    return first;
}

/* The slow GPU is known, and taken out, or it is well again. */
static void end_slowness(struct history *h)
{
    const size_t number = first_slow(h);
    const struct slow_gpu gpu = h->slow[number];
    h->slow[number] = h->slow[--h->slow_count];
    history_forget_cycles(h);
    if (h->plan->classes[gpu.class].heals) {
        return;
    }
    h->out->interruptions[gpu.class]++;
    h->blamed = gpu.class;
    history_survive(h, gpu.class, gpu.ordinal);
    history_break_nodes(h, gpu.class, gpu.ordinal, h->now);
    start_again(h, gpu.class, gpu.ordinal);
}

/* Whatever is under way goes on afterwards; a flush, too, has to wait. */
static void stop(struct history *h, uint32_t class)
{
    struct failure_times *times = &h->times[class];
    const sim_time end = law_after(times->next, failure_repair(times, times->ordinal, 0));
    const sim_time waits = end > h->now ? end - h->now : 0;
    h->out->interruptions[class]++;
    history_next_failure(h, class);
    h->blamed = class;
    history_stand_still(h, ACCOUNT_WAITING, waits);
    h->blamed = HISTORY_NO_CLASS;
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        h->kept[i].pending_at += h->kept[i].pending_at == INT64_MAX ? 0 : waits;
    }
    history_break_off_cycles(h);
}

static void corrupt(struct history *h, uint32_t class)
{
    if (h->corrupted_at < 0) {
        h->corrupted_at = h->at.steps;
        h->corrupting = class;
        h->corrupting_ordinal = h->times[class].ordinal;
    }
    history_next_failure(h, class);
}

/* A check found it: back to the newest checkpoint that a check before it vouches for. */
static void undo_corruption(struct history *h)
{
    const uint32_t class = h->corrupting;
    const uint64_t ordinal = h->corrupting_ordinal;
    h->out->interruptions[class]++;
    h->blamed = class;
    history_fall_back_to_good(h);
    start_again(h, class, ordinal);
}

/* Nodes came back to a job that runs with fewer replicas. */
static void grow(struct history *h, uint64_t number)
{
    if (h->notice_count == 0 && history_replicas_short(h) < h->missing) {
        const struct rng_key key = {
            .seed = h->seed, .stream = rng_stream("growth"), .rank = h->repetition, .step = number};
        take_nodes(h, history_replicas_short(h));
        history_stand_still(h, ACCOUNT_RECOVERY, law_draw(&h->plan->growth, &key));
        freshen(h, false);
    }
}

/* ---- planned stops ---------------------------------------------------------------------------
 */

/* Once it is over: windows that it took the place of are left out. */
static void plan_maintenance(struct history *h)
{
    const sim_time every = h->plan->maintenance.every;
    h->is_maintained = false;
    if (h->now >= h->maintenance_at) {
        h->maintenance_at += ((h->now - h->maintenance_at) / every + 1) * every;
    }
}

/* For the next stage, or for maintenance. Without checkpoints a stage's state is in memory. */
static void stop_as_planned(struct history *h, bool is_change)
{
    const bool is_kept = history_stage_of(h)->period > 0 && h->plan->tier_count > 0;
    h->read_ns = 0;
    if (is_kept || !is_change) {
        history_fall_back(h);
    } else {
        history_enter_stage(h);
    }
    history_stand_still(h, ACCOUNT_PLANNED,
                        is_change ? h->change_left_ns : h->plan->maintenance.takes_ns);
    if (is_change) {
        h->change_left_ns = 0;
    } else {
        plan_maintenance(h);
    }
    take_failures_unseen(h);
    start_again(h, HISTORY_NO_CLASS, h->planned++);
    freshen(h, !is_change);
}

static void maintain(struct history *h)
{
    if (h->plan->maintenance.saves) {
        h->is_maintained = true;
    } else {
        stop_as_planned(h, false);
    }
}

/* ---- the loop --------------------------------------------------------------------------------
 */

enum change {
    CHANGE_FAILURE,
    CHANGE_SLOW_ENDS,
    CHANGE_REPAIRED,
    CHANGE_TAKEN,
    CHANGE_MAINTENANCE,
    CHANGE_DRIFT,
    CHANGE_HORIZON
};

static enum change next_change(const struct history *h, uint32_t class, sim_time *when)
{
    enum change change = CHANGE_HORIZON;
    *when = h->plan->horizon;
    if (class != HISTORY_NO_CLASS && h->times[class].next < *when) {
        *when = h->times[class].next;
        change = CHANGE_FAILURE;
    }
    if (h->slow_count > 0 && h->slow[first_slow(h)].end < *when) {
        *when = h->slow[first_slow(h)].end;
        change = CHANGE_SLOW_ENDS;
    }
    if (h->missing > 0 && history_first_back(h) < *when) {
        *when = history_first_back(h);
        change = CHANGE_REPAIRED;
    }
    if (h->leaves_at < *when) {
        *when = h->leaves_at;
        change = CHANGE_TAKEN;
    }
    if (!h->is_maintained && h->maintenance_at < *when) {
        *when = h->maintenance_at;
        change = CHANGE_MAINTENANCE;
    }
    if (h->drift < h->plan->drift_count && h->fresh_at + h->plan->drift_ages[h->drift] < *when) {
        *when = h->fresh_at + h->plan->drift_ages[h->drift];
        change = CHANGE_DRIFT;
    }
    return change;
}

static void fail(struct history *h, uint32_t class)
{
    if (!is_met(h, class)) {
        history_next_failure(h, class);
        return;
    }
    switch (h->plan->classes[class].effect) {
    case FAILURE_KILLS:
        if (h->plan->classes[class].notice_ns > 0) {
            history_give_notice(h, class);
        } else {
            kill(h, class);
        }
        break;
    case FAILURE_SLOWS:
        slow_down(h, class);
        break;
    case FAILURE_STOPS:
        stop(h, class);
        break;
    case FAILURE_CORRUPTS:
        corrupt(h, class);
        break;
    case FAILURE_DEGRADES: /* is a class that slows (run/failing) */
    case FAILURE_EFFECT_COUNT_:
        sim_assert(false);
    }
}

static void happen(struct history *h, enum change change, uint32_t class)
{
    switch (change) {
    case CHANGE_FAILURE:
        fail(h, class);
        break;
    case CHANGE_SLOW_ENDS:
        end_slowness(h);
        break;
    case CHANGE_REPAIRED:
        grow(h, h->grown++);
        break;
    case CHANGE_TAKEN:
        leave(h);
        break;
    case CHANGE_MAINTENANCE:
        maintain(h);
        break;
    case CHANGE_DRIFT:
        drift(h);
        break;
    case CHANGE_HORIZON:
        break;
    }
}

static void go_on(struct history *h)
{
    while (!history_is_over(h)) {
        const uint32_t class = history_earliest(h, CLASSES_ALL);
        sim_time when;
        const enum change change = next_change(h, class, &when);
        h->out->turns++;
        const enum history_passed passed = history_advance(h, when);
        if (h->missing == 0 || change == CHANGE_REPAIRED) { /* else they have a turn of their own */
            history_take_repaired(h);
        }
        if (passed == PASSED_CORRUPTED) {
            undo_corruption(h);
        } else if (passed == PASSED_SAVED && h->is_leaving) {
            leave(h);
        } else if (passed == PASSED_SAVED) {
            stop_as_planned(h, history_is_restart_next(h));
        } else if (!history_is_over(h)) {
            happen(h, change, class);
        }
    }
}

static void book_steps(struct history *h)
{
    history_book(h, ACCOUNT_USEFUL, h->at.useful_ns);
    history_book(h, ACCOUNT_DATA_STALL, h->at.stall_ns);
    history_book(h, ACCOUNT_DEGRADED, h->at.degraded_ns);
}

static void close_books(struct history *h)
{
    history_count_unheld(h);
    h->out->steps = h->at.steps;
    h->out->checkpoints = h->at.periods;
    if (h->step_left_ns > 0) {
        history_book(h, ACCOUNT_LOST, h->step.step_ns - h->step_left_ns);
        history_see_lost(h, h->at.steps);
    }
    book_steps(h);
    while (h->at.stage > 0) {
        h->at = h->ends[h->at.stage - 1];
        book_steps(h);
    }
    sim_time sum = 0;
    for (uint32_t i = 0; i < ACCOUNT_COUNT_; i++) {
        sim_time stages = 0;
        for (uint32_t stage = 0; stage < h->plan->stage_count; stage++) {
            stages += h->out->stage_ns[stage][i];
        }
        sim_assert(stages == h->out->account_ns[i]);
        sum += stages;
    }
    sim_assert(sum == h->now);
    h->out->end = h->now;
    if (h->plan->seen != NULL) {
        history_seen_end(h->plan->seen, h->now);
    }
}

static void check_plan(const struct history_plan *plan)
{
    sim_assert(plan->stage_count > 0 && plan->tier_count <= HISTORY_TIERS_MAX);
    int64_t before = 0;
    for (uint32_t i = 0; i + 1 < plan->stage_count; i++) {
        sim_assert(plan->stages[i].until > before);
        before = plan->stages[i].until;
    }
    sim_assert(plan->steps == 0 || plan->steps > before);
}

void history_run(struct arena *arena, const struct history_plan *plan, uint64_t seed,
                 uint64_t repetition, struct history_outcome *outcome)
{
    check_plan(plan);
    *outcome = (struct history_outcome){
        .stage_ns = arena_array(arena, plan->stage_count, sizeof *outcome->stage_ns),
        .unheld_s = arena_array(arena, plan->stage_count, sizeof *outcome->unheld_s),
        .interruptions = arena_array(arena, plan->class_count, sizeof *outcome->interruptions),
        .blamed_ns = arena_array(arena, plan->class_count, sizeof *outcome->blamed_ns)};
    const struct history_maintenance *maintenance = &plan->maintenance;
    struct history h = {.arena = arena,
                        .plan = plan,
                        .seed = seed,
                        .repetition = repetition,
                        .out = outcome,
                        .corrupted_at = -1,
                        .blamed = HISTORY_NO_CLASS,
                        .leaves_at = INT64_MAX,
                        .is_held = true,
                        .maintenance_at = maintenance->every > 0 ? maintenance->first : INT64_MAX,
                        .ends = arena_array(arena, plan->stage_count, sizeof *h.ends),
                        .times = arena_array(arena, plan->class_count, sizeof *h.times)};
    for (uint32_t i = 0; i < HISTORY_TIERS_MAX; i++) {
        h.kept[i].pending_at = INT64_MAX;
    }
    history_set_pace(&h);
    history_begin_classes(&h, &(struct rng_key){.seed = seed, .rank = repetition});
    history_spend(&h, ACCOUNT_PLANNED, plan->startup_ns);
    freshen(&h, true);
    go_on(&h);
    history_spend(&h, ACCOUNT_PLANNED, plan->teardown_ns);
    close_books(&h);
}
