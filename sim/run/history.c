/* The loop takes the earliest of what can change the regime: a class's next failure, the end of a
 * slow GPU, a node that comes back to a job that lacks replicas, the horizon. Until then the
 * job does steps and writes (history_steps).
 */
#include "run/history_state.h"

#include "base/arena.h"
#include "base/check.h"

const char *const account_names[ACCOUNT_COUNT_] = {
    "useful",    "data stall", "degraded", "checkpoint", "lost",
    "detection", "waiting",    "recovery", "planned",
};

/* ---- failures ----------------------------------------------------------------------------------
 */

/* Steps since then are to be done again; what was under way is gone. */
static void go_back(struct history *h, struct mark to)
{
    history_book(h, ACCOUNT_LOST,
                 h->at.useful_ns - to.useful_ns + h->at.stall_ns - to.stall_ns + h->at.degraded_ns -
                     to.degraded_ns);
    if (h->step_left_ns > 0) {
        history_book(h, ACCOUNT_LOST, h->step.step_ns - h->step_left_ns);
    }
    h->at = to;
    if (to.steps <= h->corrupted_at) {
        h->corrupted_at = -1;
    }
    h->step_left_ns = 0;
    h->write_left_ns = 0;
    h->in_period = 0;
    h->walk.goes_on = false;
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        h->kept[i].pending_at = INT64_MAX;
    }
}

/* To the newest checkpoint that outlives failures of this level, and of those since the job ran. */
static void fall_back(struct history *h, uint32_t failed)
{
    history_settle(h);
    h->level = failed > h->level ? failed : h->level;
    const uint32_t level = h->level;
    struct mark newest = {.steps = 0};
    h->read_ns = 0;
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        const bool is_there = h->plan->tiers[i].survives >= level;
        if (is_there && h->kept[i].safe.steps > newest.steps) {
            newest = h->kept[i].safe;
            h->read_ns = h->plan->tiers[i].read_ns[level];
        }
    }
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        if (h->plan->tiers[i].survives < level) {
            h->kept[i].safe = newest; /* what is read is in memory again */
        }
    }
    if (h->checked.steps > newest.steps) {
        h->checked = newest;
    }
    go_back(h, newest);
}

static void set_missing(struct history *h, uint32_t replicas)
{
    if (replicas != h->missing) {
        h->missing = replicas;
        history_forget_cycles(h);
    }
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
            fall_back(h, h->plan->classes[class].level);
            history_break_nodes(h, class, h->times[class].ordinal, h->times[class].next);
            history_next_failure(h, class);
        }
    }
}

static void wait_for_nodes(struct history *h)
{
    history_take_repaired(h);
    while (history_has_to_wait(h) && !history_is_over(h)) {
        const sim_time waits = time_heap_first(&h->repairs) - h->now;
        history_stand_still(h, ACCOUNT_WAITING, waits);
        take_failures_unseen(h);
        history_take_repaired(h);
    }
}

/* The class whose failure broke the restart off; HISTORY_NO_CLASS: the job runs. One that failed
 * while all waited (stop, start-up) breaks it off at once. */
static uint32_t restart(struct history *h, uint32_t class, uint64_t ordinal)
{
    const struct rng_key key = failure_key(&h->times[class], ordinal, DRAW_RESTART);
    const sim_time drawn = law_draw(&h->plan->classes[class].restart, &key);
    const sim_time takes = drawn + h->plan->start_ns + h->read_ns;
    const uint32_t next = history_earliest(h, CLASSES_BREAKING_RESTARTS);
    if (next != HISTORY_NO_CLASS && h->times[next].next < h->now + takes) {
        const sim_time until = h->times[next].next;
        history_stand_still(h, ACCOUNT_RECOVERY, until > h->now ? until - h->now : 0);
        return next;
    }
    history_stand_still(h, ACCOUNT_RECOVERY, takes);
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

/* From when it is known what failed until the job runs. */
static void start_again(struct history *h, uint32_t class, uint64_t ordinal)
{
    for (;;) {
        wait_for_nodes(h);
        set_missing(h, h->plan->is_elastic ? history_replicas_short(h) : 0);
        class = restart(h, class, ordinal);
        if (class == HISTORY_NO_CLASS || history_is_over(h)) {
            break;
        }
        h->blamed = class;
        fall_back(h, h->plan->classes[class].level);
        ordinal = detect(h, class);
    }
    h->blamed = HISTORY_NO_CLASS;
    h->level = 0;
    history_renew(h);
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
    fall_back(h, h->plan->classes[class].level);
    start_again(h, class, detect(h, class));
}

/* Of the failure that is due in a class. */
static uint32_t slow_place(const struct history *h, uint32_t class)
{
    const struct rng_key key = failure_key(&h->times[class], h->times[class].ordinal, DRAW_PLACE);
    const double places = (double)h->plan->slow_places;
    return places > 1 ? (uint32_t)(rng_uniform(&key) * places) : 0;
}

static void slow_down(struct history *h, uint32_t class)
{
    const struct failure_times *times = &h->times[class];
    const struct rng_key key = failure_key(times, times->ordinal, DRAW_DETECTION);
    h->slow = arena_grow(h->arena, h->slow, &h->slow_capacity, h->slow_count + 1, sizeof *h->slow);
    h->slow[h->slow_count++] =
        (struct slow_gpu){class, slow_place(h, class), times->ordinal,
                          times->next + law_draw(&h->plan->classes[class].detection, &key)};
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

/* The slow GPU is known, and taken out. */
static void take_out(struct history *h)
{
    const size_t number = first_slow(h);
    const struct slow_gpu gpu = h->slow[number];
    h->slow[number] = h->slow[--h->slow_count];
    history_forget_cycles(h);
    h->out->interruptions[gpu.class]++;
    h->blamed = gpu.class;
    fall_back(h, h->plan->classes[gpu.class].level);
    history_break_nodes(h, gpu.class, gpu.ordinal, h->now);
    start_again(h, gpu.class, gpu.ordinal);
}

/* Whatever is under way goes on afterwards; a flush, too, has to wait. */
static void stop(struct history *h, uint32_t class)
{
    struct failure_times *times = &h->times[class];
    const struct rng_key key = failure_key(times, times->ordinal, DRAW_REPAIR);
    const sim_time end = times->next + law_draw(&h->plan->classes[class].repair, &key);
    const sim_time waits = end > h->now ? end - h->now : 0;
    h->out->interruptions[class]++;
    history_next_failure(h, class);
    h->blamed = class;
    history_stand_still(h, ACCOUNT_WAITING, waits);
    h->blamed = HISTORY_NO_CLASS;
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        h->kept[i].pending_at += h->kept[i].pending_at == INT64_MAX ? 0 : waits;
    }
    h->walk.goes_on = false;
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

/* A check found it: back to the one before. */
static void undo_corruption(struct history *h)
{
    const uint32_t class = h->corrupting;
    const uint64_t ordinal = h->corrupting_ordinal;
    h->out->interruptions[class]++;
    h->blamed = class;
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        h->kept[i].safe = h->checked;
    }
    h->read_ns = h->checked.steps > 0 ? h->plan->tiers[0].read_ns[0] : 0;
    go_back(h, h->checked);
    start_again(h, class, ordinal);
}

/* Nodes came back to a job that runs with fewer replicas. */
static void grow(struct history *h, uint64_t number)
{
    if (history_replicas_short(h) < h->missing) {
        const struct rng_key key = {.seed = h->times[0].key.seed,
                                    .stream = rng_stream("growth"),
                                    .rank = h->times[0].key.rank,
                                    .step = number};
        set_missing(h, history_replicas_short(h));
        history_stand_still(h, ACCOUNT_RECOVERY, law_draw(&h->plan->growth, &key));
    }
}

/* ---- the loop --------------------------------------------------------------------------------
 */

enum change { CHANGE_FAILURE, CHANGE_SLOW_ENDS, CHANGE_REPAIRED, CHANGE_HORIZON };

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
    if (h->missing > 0 && time_heap_first(&h->repairs) < *when) {
        *when = time_heap_first(&h->repairs);
        change = CHANGE_REPAIRED;
    }
    return change;
}

static void fail(struct history *h, uint32_t class)
{
    switch (h->plan->classes[class].effect) {
    case FAILURE_KILLS:
        kill(h, class);
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
    case FAILURE_EFFECT_COUNT_:
        sim_assert(false);
    }
}

static void go_on(struct history *h)
{
    uint64_t grown = 0;
    while (!history_is_over(h)) {
        const uint32_t class = history_earliest(h, CLASSES_ALL);
        sim_time when;
        const enum change change = next_change(h, class, &when);
        h->out->turns++;
        const bool is_good = history_advance(h, when);
        history_take_repaired(h);
        if (!is_good) {
            undo_corruption(h);
        } else if (!history_is_over(h)) {
            switch (change) {
            case CHANGE_FAILURE:
                fail(h, class);
                break;
            case CHANGE_SLOW_ENDS:
                take_out(h);
                break;
            case CHANGE_REPAIRED:
                grow(h, grown++);
                break;
            case CHANGE_HORIZON:
                break;
            }
        }
    }
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
    while (b > 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* After so many periods all tiers have been written, and everything checked, together. */
static uint64_t periods_of_cycle(const struct history_plan *plan)
{
    uint64_t periods = plan->check_every > 0 ? plan->check_every : 1;
    for (uint32_t i = 0; i < plan->tier_count; i++) {
        sim_assert(plan->tiers[i].every > 0);
        periods *= plan->tiers[i].every / greatest_common_divisor(periods, plan->tiers[i].every);
    }
    return periods;
}

static void close_books(struct history *h)
{
    history_book(h, ACCOUNT_USEFUL, h->at.useful_ns);
    history_book(h, ACCOUNT_DATA_STALL, h->at.stall_ns);
    history_book(h, ACCOUNT_DEGRADED, h->at.degraded_ns);
    if (h->step_left_ns > 0) {
        history_book(h, ACCOUNT_LOST, h->step.step_ns - h->step_left_ns);
    }
    sim_time sum = 0;
    for (uint32_t i = 0; i < ACCOUNT_COUNT_; i++) {
        sum += h->out->account_ns[i];
    }
    sim_assert(sum == h->now);
}

void history_run(struct arena *arena, const struct history_plan *plan, uint64_t seed,
                 uint64_t repetition, struct history_outcome *outcome)
{
    sim_assert(plan->tier_count <= HISTORY_TIERS_MAX);
    *outcome = (struct history_outcome){
        .interruptions = arena_array(arena, plan->class_count, sizeof *outcome->interruptions),
        .blamed_ns = arena_array(arena, plan->class_count, sizeof *outcome->blamed_ns)};
    struct history h = {.arena = arena,
                        .plan = plan,
                        .out = outcome,
                        .corrupted_at = -1,
                        .blamed = HISTORY_NO_CLASS,
                        .cycle_periods = periods_of_cycle(plan),
                        .times = arena_array(arena, plan->class_count, sizeof *h.times)};
    for (uint32_t i = 0; i < HISTORY_TIERS_MAX; i++) {
        h.kept[i].pending_at = INT64_MAX;
    }
    h.healthy_ns = history_step_in(&h, NULL, false).step_ns;
    history_begin_classes(&h, &(struct rng_key){.seed = seed, .rank = repetition});
    history_spend(&h, ACCOUNT_PLANNED, plan->startup_ns);
    go_on(&h);
    close_books(&h);
    outcome->end = h.now;
    outcome->steps = h.at.steps;
}
