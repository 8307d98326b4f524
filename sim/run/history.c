/* The loop takes the earliest of what can change the regime: a class's next failure, the end of a
 * slow GPU, a node that comes back to a job that lacks replicas, the horizon. Until then `advance`
 * does steps and writes.
 *
 * Jumps. A *cycle* begins where every tier has just been written and ends where they next have.
 * What it does depends on the regime and on how far off the durable instants of pending checkpoints
 * are, so it is walked once for each of these and remembered; then it is jumped. In a regime there
 * are two: the first cycle after a failure, beside which nothing is flushed, and those after it,
 * whose number until something happens is a division.
 */
#include "run/history.h"

#include "base/arena.h"
#include "base/check.h"
#include "run/time_heap.h"

#include <string.h>

const char *const account_names[ACCOUNT_COUNT_] = {
    "useful",    "data stall", "degraded", "checkpoint", "lost",
    "detection", "waiting",    "recovery", "planned",
};

/* Where a run stands, and can go back to. */
struct mark {
    int64_t steps;
    uint64_t period; /* of the cycle */
    sim_time useful_ns, stall_ns, degraded_ns;
};

struct kept {
    struct mark safe;
    struct mark pending;
    sim_time pending_at; /* INT64_MAX: nothing is pending */
};

/* A cycle that nothing interrupted, from one checkpoint in all tiers, checked, to the next. */
struct cycle {
    bool is_known;
    sim_time pending_in[HISTORY_TIERS_MAX];   /* at its begin; INT64_MAX: nothing is */
    sim_time pending_then[HISTORY_TIERS_MAX]; /* at its end */
    sim_time takes, checkpoint_ns;
    struct mark adds;
    bool makes_safe[HISTORY_TIERS_MAX];
    struct mark safe[HISTORY_TIERS_MAX]; /* from its begin */
};

/* The walk of one that is not known yet. */
struct cycle_walk {
    bool goes_on;
    sim_time begin, checkpoint_ns;
    struct mark at;
    struct cycle *cycle;
};

struct slow_gpu {
    uint32_t class, place;
    uint64_t ordinal;
    sim_time end;
};

struct history {
    struct arena *arena;
    const struct history_plan *plan;
    struct failure_times *times; /* [class_count] */
    struct history_outcome *out;
    sim_time now;
    struct mark at;
    struct kept kept[HISTORY_TIERS_MAX];
    struct mark checked;
    int64_t corrupted_at; /* steps; -1: the weights are good */
    uint32_t corrupting;  /* the class, and which of its failures */
    uint64_t corrupting_ordinal;
    int64_t in_period; /* steps since the last write */
    uint64_t cycle_periods;
    sim_time step_left_ns;  /* of the step under way; 0: none is */
    sim_time write_left_ns; /* of the write under way */
    uint32_t blamed;        /* the class that the job stands still for */
    sim_time healthy_ns;
    struct history_step step; /* under way */
    struct cycle cycles[2]; /* of this regime: beginning with nothing pending, or with something */
    struct cycle_walk walk;
    struct slow_gpu *slow;
    size_t slow_count, slow_capacity;
    struct time_heap repairs;
    uint32_t missing; /* replicas */
};

static bool is_for_failure(enum account account)
{
    return account == ACCOUNT_LOST || account == ACCOUNT_DETECTION || account == ACCOUNT_WAITING ||
           account == ACCOUNT_RECOVERY;
}

static void book(struct history *h, enum account account, sim_time ns)
{
    h->out->account_ns[account] += ns;
    if (h->blamed != HISTORY_NO_CLASS && is_for_failure(account)) {
        h->out->blamed_ns[h->blamed] += ns;
    }
}

/* The rest of what was planned is beyond the horizon. */
static void spend(struct history *h, enum account account, sim_time ns)
{
    const sim_time left = h->plan->horizon - h->now;
    const sim_time spent = ns < left ? ns : left;
    sim_assert(ns >= 0);
    book(h, account, spent);
    h->now += spent;
}

/* The job does not run, and what breaks only where it runs does not break. */
static void stand_still(struct history *h, enum account account, sim_time ns)
{
    const sim_time before = h->now;
    spend(h, account, ns);
    for (uint32_t i = 0; i < h->plan->class_count; i++) {
        if (h->plan->classes[i].rests) {
            failure_times_rest(&h->times[i], h->now - before);
        }
    }
}

static bool is_over(const struct history *h)
{
    return h->now >= h->plan->horizon || (h->plan->steps > 0 && h->at.steps >= h->plan->steps);
}

/* ---- regimes --------------------------------------------------------------------------------- */

static struct history_step step_of(const struct history *h, const struct slow_gpu *slow,
                                   bool flushes)
{
    const struct history_regime regime = {flushes, slow != NULL ? slow->class : HISTORY_NO_CLASS,
                                          h->missing, slow != NULL ? slow->place : 0};
    const struct history_step step = h->plan->step_of(h->plan->context, &regime);
    sim_assert(step.step_ns > 0 && step.stall_ns >= 0 && step.stall_ns <= step.step_ns);
    return step; /* cppcheck-suppress returnDanglingLifetime; it points to nothing */
}

static struct history_step step_now(const struct history *h)
{
    bool flushes = false;
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        flushes = flushes || h->kept[i].pending_at != INT64_MAX;
    }
    struct history_step step = step_of(h, NULL, flushes);
    for (size_t i = 0; i < h->slow_count; i++) {
        const struct history_step slow = step_of(h, &h->slow[i], flushes);
        step = slow.step_ns > step.step_ns ? slow : step;
    }
    return step;
}

/* ---- checkpoints -------------------------------------------------------------------------------
 */

static void settle(struct history *h)
{
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        struct kept *kept = &h->kept[i];
        if (kept->pending_at <= h->now) {
            kept->safe = kept->pending;
            kept->pending_at = INT64_MAX;
        }
    }
}

static sim_time first_pending(const struct history *h)
{
    sim_time first = INT64_MAX;
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        first = h->kept[i].pending_at < first ? h->kept[i].pending_at : first;
    }
    return first;
}

/* Whether the period that ends now is a multiple of so many. */
static bool is_due(const struct history *h, uint32_t every)
{
    return every > 0 && (h->at.period + 1) % every == 0;
}

/* Its blocking part may run beside the end of the flush before, but not end before that. */
static void begin_write(struct history *h)
{
    const struct history_plan *plan = h->plan;
    sim_time waits = 0;
    sim_time takes = is_due(h, plan->check_every) ? plan->check_ns : 0;
    for (uint32_t i = 0; i < plan->tier_count; i++) {
        if (is_due(h, plan->tiers[i].every)) {
            takes += plan->tiers[i].block_ns;
            const sim_time at = h->kept[i].pending_at;
            waits = at != INT64_MAX && at - h->now > waits ? at - h->now : waits;
        }
    }
    h->write_left_ns = takes > waits ? takes : waits;
}

/* False: the check found corrupted weights. */
static bool end_write(struct history *h)
{
    const struct history_plan *plan = h->plan;
    const bool is_checked = is_due(h, plan->check_every);
    if (is_checked && h->corrupted_at >= 0) {
        return false;
    }
    settle(h);
    const uint64_t period = h->at.period;
    h->at.period = (period + 1) % h->cycle_periods;
    h->in_period = 0;
    if (is_checked) {
        h->checked = h->at;
    }
    for (uint32_t i = 0; i < plan->tier_count; i++) {
        if ((period + 1) % plan->tiers[i].every == 0) {
            h->kept[i].pending = h->at;
            h->kept[i].pending_at = h->now + plan->tiers[i].durable_ns;
        }
    }
    settle(h);
    return true;
}

/* ---- cycles that come again ------------------------------------------------------------------ */

/* Steps take another time from now on. */
static void forget_cycles(struct history *h)
{
    h->walk.goes_on = false;
    for (size_t i = 0; i < sizeof h->cycles / sizeof h->cycles[0]; i++) {
        h->cycles[i].is_known = false;
    }
}

static struct mark mark_add(const struct mark *a, int64_t n, const struct mark *b)
{
    return (struct mark){.steps = a->steps + n * b->steps,
                         .period = a->period,
                         .useful_ns = a->useful_ns + n * b->useful_ns,
                         .stall_ns = a->stall_ns + n * b->stall_ns,
                         .degraded_ns = a->degraded_ns + n * b->degraded_ns};
}

/* From now; INT64_MAX: nothing is pending. */
static void pending_from_now(const struct history *h, sim_time pending_in[])
{
    for (uint32_t i = 0; i < HISTORY_TIERS_MAX; i++) {
        const sim_time at = h->kept[i].pending_at;
        pending_in[i] = at == INT64_MAX ? INT64_MAX : at - h->now;
    }
}

static struct cycle *cycle_slot(struct history *h)
{
    return &h->cycles[first_pending(h) == INT64_MAX ? 0 : 1];
}

static bool is_like(const struct cycle *cycle, const sim_time pending_in[])
{
    return cycle->is_known && memcmp(cycle->pending_in, pending_in, sizeof cycle->pending_in) == 0;
}

static void begin_walk(struct history *h, struct cycle *cycle, const sim_time pending_in[])
{
    cycle->is_known = false;
    memcpy(cycle->pending_in, pending_in, sizeof cycle->pending_in);
    h->walk = (struct cycle_walk){.goes_on = true,
                                  .begin = h->now,
                                  .checkpoint_ns = h->out->account_ns[ACCOUNT_CHECKPOINT],
                                  .at = h->at,
                                  .cycle = cycle};
}

/* What was walked is known from now on. A tier that was neither pending nor written within it keeps
 * what it had; the one written at its end is pending, or safe. */
static void end_walk(struct history *h, const sim_time pending_in[])
{
    struct cycle *cycle = h->walk.cycle;
    cycle->is_known = true;
    memcpy(cycle->pending_then, pending_in, sizeof cycle->pending_then);
    cycle->takes = h->now - h->walk.begin;
    cycle->checkpoint_ns = h->out->account_ns[ACCOUNT_CHECKPOINT] - h->walk.checkpoint_ns;
    cycle->adds = mark_add(&h->at, -1, &h->walk.at);
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        const struct mark *safe = &h->kept[i].safe;
        cycle->makes_safe[i] = cycle->pending_in[i] != INT64_MAX || safe->steps > h->walk.at.steps;
        cycle->safe[i] = mark_add(safe, -1, &h->walk.at);
    }
    h->walk.goes_on = false;
}

/* How often it fits. Cycles after one that ends in another state are of another kind. */
static int64_t cycles_until(const struct history *h, const struct cycle *cycle, sim_time until)
{
    int64_t count = (until - h->now) / cycle->takes;
    if (h->plan->steps > 0) { /* the last step ends the run: what follows it is not written */
        const int64_t left = (h->plan->steps - h->at.steps - 1) / cycle->adds.steps;
        count = left < count ? left : count;
    }
    return count > 1 && !is_like(cycle, cycle->pending_then) ? 1 : count;
}

static void jump_cycles(struct history *h, const struct cycle *cycle, int64_t n)
{
    const struct mark last = mark_add(&h->at, n - 1, &cycle->adds);
    h->at = mark_add(&last, 1, &cycle->adds);
    h->now += n * cycle->takes;
    book(h, ACCOUNT_CHECKPOINT, n * cycle->checkpoint_ns);
    if (h->plan->check_every > 0) {
        h->checked = h->at;
    }
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        struct kept *kept = &h->kept[i];
        const sim_time then = cycle->pending_then[i];
        kept->pending = h->at;
        kept->pending_at = then == INT64_MAX ? INT64_MAX : h->now + then;
        if (cycle->makes_safe[i]) {
            kept->safe = mark_add(&last, 1, &cycle->safe[i]);
            kept->safe.period = cycle->safe[i].period;
        }
    }
}

/* At the begin of a cycle. True: it, and those like it, are behind us. */
static bool repeat_cycles(struct history *h, sim_time until)
{
    sim_time pending_in[HISTORY_TIERS_MAX];
    pending_from_now(h, pending_in);
    if (h->walk.goes_on) {
        end_walk(h, pending_in);
    }
    struct cycle *cycle = cycle_slot(h);
    if (!is_like(cycle, pending_in)) {
        begin_walk(h, cycle, pending_in);
        return false;
    }
    const bool is_good = h->plan->check_every == 0 || h->corrupted_at < 0;
    const int64_t n = is_good ? cycles_until(h, cycle, until) : 0;
    if (n > 0) {
        jump_cycles(h, cycle, n);
    }
    return n > 0;
}

/* ---- steps ---------------------------------------------------------------------------------- */

static void finish_steps(struct history *h, int64_t count, const struct history_step *step)
{
    const sim_time longer_ns = step->step_ns - h->healthy_ns;
    h->at.steps += count;
    h->in_period += count;
    h->at.useful_ns += count * (h->healthy_ns - step->stall_ns);
    h->at.stall_ns += count * step->stall_ns;
    h->at.degraded_ns += count * longer_ns;
}

/* As many as are alike, or a part of one. */
static void do_steps(struct history *h, sim_time until)
{
    const struct history_plan *plan = h->plan;
    const struct history_step step = step_now(h);
    int64_t count = plan->period > 0 ? plan->period - h->in_period : INT64_MAX;
    const sim_time pending = first_pending(h);
    if (pending != INT64_MAX) {
        const int64_t beside = (pending - h->now + step.step_ns - 1) / step.step_ns;
        count = beside < count ? beside : count;
    }
    if (plan->steps > 0 && plan->steps - h->at.steps < count) {
        count = plan->steps - h->at.steps;
    }
    const int64_t fit = (until - h->now) / step.step_ns;
    if (fit == 0) {
        h->step = step;
        h->step_left_ns = step.step_ns;
        return;
    }
    count = fit < count ? fit : count;
    h->now += count * step.step_ns;
    finish_steps(h, count, &step);
}

static void go_on_with_step(struct history *h, sim_time until)
{
    const sim_time left = until - h->now;
    const sim_time used = h->step_left_ns < left ? h->step_left_ns : left;
    h->now += used;
    h->step_left_ns -= used;
    if (h->step_left_ns == 0) {
        finish_steps(h, 1, &h->step);
    }
}

/* False: the check at its end found corrupted weights. */
static bool go_on_with_write(struct history *h, sim_time until)
{
    const sim_time left = until - h->now;
    const sim_time used = h->write_left_ns < left ? h->write_left_ns : left;
    spend(h, ACCOUNT_CHECKPOINT, used);
    h->write_left_ns -= used;
    return h->write_left_ns > 0 || end_write(h);
}

/* False: as go_on_with_write. */
static bool advance(struct history *h, sim_time until)
{
    while (h->now < until && !is_over(h)) {
        h->out->turns++;
        settle(h);
        if (h->step_left_ns > 0) {
            go_on_with_step(h, until);
        } else if (h->write_left_ns > 0) {
            if (!go_on_with_write(h, until)) {
                return false;
            }
        } else if (h->plan->period > 0 && h->in_period == h->plan->period) {
            begin_write(h);
            if (h->write_left_ns == 0 && !end_write(h)) {
                return false;
            }
        } else if (h->in_period > 0 || h->at.period > 0 || !repeat_cycles(h, until)) {
            do_steps(h, until);
        }
    }
    return true;
}

/* ---- failures ----------------------------------------------------------------------------------
 */

/* Steps since then are to be done again; what was under way is gone. */
static void go_back(struct history *h, struct mark to)
{
    book(h, ACCOUNT_LOST,
         h->at.useful_ns - to.useful_ns + h->at.stall_ns - to.stall_ns + h->at.degraded_ns -
             to.degraded_ns);
    if (h->step_left_ns > 0) {
        book(h, ACCOUNT_LOST, h->step.step_ns - h->step_left_ns);
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

/* To the newest checkpoint that outlives failures of this level. */
static void fall_back(struct history *h, uint32_t level)
{
    settle(h);
    struct mark newest = {.steps = 0};
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        const bool is_there = h->plan->tiers[i].survives >= level;
        newest = is_there && h->kept[i].safe.steps > newest.steps ? h->kept[i].safe : newest;
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

static void break_nodes(struct history *h, uint32_t class, uint64_t ordinal, sim_time when)
{
    const struct failure_class *of = &h->plan->classes[class];
    for (uint32_t i = 0; i < of->nodes; i++) {
        const struct rng_key key = failure_key(&h->times[class], ordinal, DRAW_REPAIR + i);
        time_heap_push(&h->repairs, h->arena, when + law_draw(&of->repair, &key));
    }
    const uint32_t broken = (uint32_t)h->repairs.count;
    h->out->broken_most = broken > h->out->broken_most ? broken : h->out->broken_most;
}

static void take_repaired(struct history *h)
{
    while (time_heap_first(&h->repairs) <= h->now) {
        time_heap_pop(&h->repairs);
    }
}

static uint32_t nodes_short(const struct history *h)
{
    const size_t broken = h->repairs.count;
    return broken > h->plan->spares ? (uint32_t)(broken - h->plan->spares) : 0;
}

static uint32_t replicas_short(const struct history *h)
{
    const uint32_t of_replica = h->plan->nodes_of_replica;
    return of_replica > 0 ? (nodes_short(h) + of_replica - 1) / of_replica : 0;
}

static void set_missing(struct history *h, uint32_t replicas)
{
    if (replicas != h->missing) {
        h->missing = replicas;
        forget_cycles(h);
    }
}

static bool has_to_wait(const struct history *h)
{
    return h->plan->is_elastic ? replicas_short(h) >= h->plan->replicas : nodes_short(h) > 0;
}

/* Of all, or of those that can break a restart off. */
static uint32_t earliest_class(const struct history *h, bool breaks_restarts)
{
    uint32_t earliest = HISTORY_NO_CLASS;
    for (uint32_t i = 0; i < h->plan->class_count; i++) {
        const bool counts = !breaks_restarts || (h->plan->classes[i].effect == FAILURE_KILLS &&
                                                 !h->plan->classes[i].rests);
        if (counts && h->times[i].next != INT64_MAX &&
            (earliest == HISTORY_NO_CLASS || h->times[i].next < h->times[earliest].next)) {
            earliest = i;
        }
    }
    return earliest;
}

/* What would have ended or slowed a job that stands still breaks its nodes, and no more. */
static void take_failures_unseen(struct history *h)
{
    for (uint32_t i = 0; i < h->plan->class_count; i++) {
        const enum failure_effect effect = h->plan->classes[i].effect;
        if (effect != FAILURE_KILLS && effect != FAILURE_SLOWS) {
            continue;
        }
        while (h->times[i].next <= h->now) {
            break_nodes(h, i, h->times[i].ordinal, h->times[i].next);
            failure_times_advance(&h->times[i], h->arena);
        }
    }
}

static void wait_for_nodes(struct history *h)
{
    take_repaired(h);
    while (has_to_wait(h) && !is_over(h)) {
        const sim_time waits = time_heap_first(&h->repairs) - h->now;
        stand_still(h, ACCOUNT_WAITING, waits);
        take_failures_unseen(h);
        take_repaired(h);
    }
}

/* The class whose failure broke the restart off; HISTORY_NO_CLASS: the job runs. One that failed
 * while all waited (stop, start-up) breaks it off at once. */
static uint32_t restart(struct history *h, uint32_t class, uint64_t ordinal)
{
    const struct rng_key key = failure_key(&h->times[class], ordinal, DRAW_RESTART);
    const sim_time takes = law_draw(&h->plan->classes[class].restart, &key);
    const uint32_t next = earliest_class(h, true);
    if (next != HISTORY_NO_CLASS && h->times[next].next < h->now + takes) {
        const sim_time until = h->times[next].next;
        stand_still(h, ACCOUNT_RECOVERY, until > h->now ? until - h->now : 0);
        return next;
    }
    stand_still(h, ACCOUNT_RECOVERY, takes);
    return HISTORY_NO_CLASS;
}

/* Somebody knows of the failure that is due in a class. What restarts and repairs of it are drawn
 * by. */
static uint64_t detect(struct history *h, uint32_t class)
{
    const uint64_t ordinal = h->times[class].ordinal;
    const struct rng_key key = failure_key(&h->times[class], ordinal, DRAW_DETECTION);
    h->out->interruptions[class]++;
    break_nodes(h, class, ordinal, h->now);
    failure_times_advance(&h->times[class], h->arena);
    stand_still(h, ACCOUNT_DETECTION, law_draw(&h->plan->classes[class].detection, &key));
    take_failures_unseen(h);
    return ordinal;
}

/* From when it is known what failed until the job runs. */
static void start_again(struct history *h, uint32_t class, uint64_t ordinal)
{
    for (;;) {
        wait_for_nodes(h);
        set_missing(h, h->plan->is_elastic ? replicas_short(h) : 0);
        class = restart(h, class, ordinal);
        if (class == HISTORY_NO_CLASS || is_over(h)) {
            break;
        }
        h->blamed = class;
        ordinal = detect(h, class);
    }
    h->blamed = HISTORY_NO_CLASS;
    for (uint32_t i = 0; i < h->plan->class_count; i++) {
        failure_times_renew(&h->times[i], h->now);
        while (h->plan->classes[i].effect == FAILURE_CORRUPTS && h->times[i].next <= h->now) {
            failure_times_advance(&h->times[i], h->arena); /* nothing was computed */
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
    failure_times_advance(&h->times[class], h->arena);
    forget_cycles(h);
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
    forget_cycles(h);
    h->out->interruptions[gpu.class]++;
    h->blamed = gpu.class;
    fall_back(h, h->plan->classes[gpu.class].level);
    break_nodes(h, gpu.class, gpu.ordinal, h->now);
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
    failure_times_advance(times, h->arena);
    h->blamed = class;
    stand_still(h, ACCOUNT_WAITING, waits);
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
    failure_times_advance(&h->times[class], h->arena);
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
    go_back(h, h->checked);
    start_again(h, class, ordinal);
}

/* Nodes came back to a job that runs with fewer replicas. */
static void grow(struct history *h, uint64_t number)
{
    if (replicas_short(h) < h->missing) {
        const struct rng_key key = {.seed = h->times[0].key.seed,
                                    .stream = rng_stream("growth"),
                                    .rank = h->times[0].key.rank,
                                    .step = number};
        set_missing(h, replicas_short(h));
        stand_still(h, ACCOUNT_RECOVERY, law_draw(&h->plan->growth, &key));
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
    while (!is_over(h)) {
        const uint32_t class = earliest_class(h, false);
        sim_time when;
        const enum change change = next_change(h, class, &when);
        h->out->turns++;
        const bool is_good = advance(h, when);
        take_repaired(h);
        if (!is_good) {
            undo_corruption(h);
        } else if (!is_over(h)) {
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
    book(h, ACCOUNT_USEFUL, h->at.useful_ns);
    book(h, ACCOUNT_DATA_STALL, h->at.stall_ns);
    book(h, ACCOUNT_DEGRADED, h->at.degraded_ns);
    if (h->step_left_ns > 0) {
        book(h, ACCOUNT_LOST, h->step.step_ns - h->step_left_ns);
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
    h.healthy_ns = step_of(&h, NULL, false).step_ns;
    const struct rng_key key = {.seed = seed, .rank = repetition};
    for (uint32_t i = 0; i < plan->class_count; i++) {
        failure_times_begin(&h.times[i], arena, &plan->classes[i], key, plan->horizon);
    }
    spend(&h, ACCOUNT_PLANNED, plan->startup_ns);
    go_on(&h);
    close_books(&h);
    outcome->end = h.now;
    outcome->steps = h.at.steps;
}
