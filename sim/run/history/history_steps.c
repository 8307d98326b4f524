/* What passes while nothing happens: steps and writes, until a given instant.
 *
 * Jumps. A *cycle* begins where every tier has just been written and ends where they next have.
 * What it does depends on the regime and on how far off the durable instants of pending checkpoints
 * are, so it is walked once for each of these and remembered; then it is jumped. In a regime there
 * are two: the first cycle after a failure, beside which nothing is flushed, and those after it,
 * whose number until something happens is a division.
 *
 * An evaluation lies in a cycle here and there. Between two evaluations cycles are jumped as above;
 * and *across* them longer ones, which end as long after an evaluation as they began, so that they
 * come again, too. Between two writes it is *rounds* that are jumped, of the steps from one
 * evaluation to the next and that: a run that breaks down before a cycle has come again does not
 * walk them.
 */
#include "run/history/history_state.h"

#include "base/check.h"

#include <string.h>

static bool is_for_failure(enum account account)
{
    return account == ACCOUNT_LOST || account == ACCOUNT_DETECTION || account == ACCOUNT_WAITING ||
           account == ACCOUNT_RECOVERY;
}

void history_book(struct history *h, enum account account, sim_time ns)
{
    h->out->account_ns[account] += ns;
    h->out->stage_ns[h->at.stage][account] += ns;
    if (h->blamed != HISTORY_NO_CLASS && is_for_failure(account)) {
        h->out->blamed_ns[h->blamed] += ns;
    }
}

bool history_is_seen(const struct history *h)
{
    return h->plan->seen != NULL && !h->plan->seen->is_full;
}

void history_see_lost(const struct history *h, int64_t to)
{
    if (h->plan->seen != NULL) {
        history_seen_lose(h->plan->seen, to);
    }
}

/* Steps from now on, as they follow one another; or a part of one, of which `steps` is 0. */
static void see_steps(const struct history *h, sim_time ns, int64_t steps)
{
    if (history_is_seen(h)) {
        history_seen_steps(h->plan->seen, h->now, h->now + ns,
                           (struct history_steps_seen){h->at.steps, steps}, &h->regime);
    }
}

/* The rest of what was planned is beyond the horizon. */
void history_spend(struct history *h, enum account account, sim_time ns)
{
    const sim_time left = h->plan->horizon - h->now;
    const sim_time spent = ns < left ? ns : left;
    sim_assert(ns >= 0);
    history_book(h, account, spent);
    if (history_is_seen(h)) {
        history_seen_spend(h->plan->seen, h->now, h->now + spent, account, h->blamed);
    }
    h->now += spent;
}

/* The job does not run, and what breaks only where it runs does not break. */
void history_stand_still(struct history *h, enum account account, sim_time ns)
{
    const sim_time before = h->now;
    history_spend(h, account, ns);
    history_rest(h, h->now - before);
}

bool history_is_over(const struct history *h)
{
    return h->now >= h->plan->horizon || (h->plan->steps > 0 && h->at.steps >= h->plan->steps);
}
/* ---- regimes --------------------------------------------------------------------------------- */

static struct history_regime regime_in(const struct history *h, const struct slow_gpu *slow,
                                       uint32_t flushes)
{
    return (struct history_regime){
        .flushes = flushes,
        .slow_class = slow != NULL ? slow->class : HISTORY_NO_CLASS,
        .missing = h->missing,
        .slow_place = slow != NULL ? slow->place : 0,
        .stage = h->at.stage,
        .displaced = h->displaced,
        .drift = h->drift,
    };
}

struct history_step history_step_in(const struct history *h, const struct slow_gpu *slow,
                                    uint32_t flushes)
{
    const struct history_regime regime = regime_in(h, slow, flushes);
    const struct history_step step = h->plan->step_of(h->plan->context, &regime);
    sim_assert(step.step_ns > 0 && step.stall_ns >= 0 && step.stall_ns <= step.step_ns);
    return step; /* cppcheck-suppress returnDanglingLifetime; it points to nothing */
}

/* Tiers that a checkpoint is on its way to, not those that the same one goes on to later. */
static uint32_t flushes_now(const struct history *h)
{
    uint32_t flushes = 0;
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        bool is_there = true; /* in the tiers before */
        for (uint32_t k = 0; k < i; k++) {
            is_there = is_there && (h->kept[k].pending_at == INT64_MAX ||
                                    h->kept[k].pending.steps != h->kept[i].pending.steps);
        }
        flushes |= is_there && h->kept[i].pending_at != INT64_MAX ? 1U << i : 0;
    }
    return flushes;
}

/* By the slowest GPU, and in which regime, if that is asked for. */
static struct history_step step_now(const struct history *h, struct history_regime *regime)
{
    const uint32_t flushes = flushes_now(h);
    const struct slow_gpu *slowest = NULL;
    struct history_step step = history_step_in(h, NULL, flushes);
    for (size_t i = 0; i < h->slow_count; i++) {
        const struct history_step slow = history_step_in(h, &h->slow[i], flushes);
        if (slow.step_ns > step.step_ns) {
            step = slow;
            slowest = &h->slow[i];
        }
    }
    if (regime != NULL) {
        *regime = regime_in(h, slowest, flushes);
    }
    return step;
}

/* ---- checkpoints -------------------------------------------------------------------------------
 */

void history_settle(struct history *h)
{
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        struct kept *kept = &h->kept[i];
        if (kept->pending_at <= h->now) {
            kept->safe = kept->pending;
            kept->good = kept->safe.steps <= h->checked ? kept->safe : kept->good;
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
    return every > 0 && (h->at.periods + 1) % every == 0;
}

/* Whether a write that begins now goes on to this tier. */
static bool is_tier_due(const struct history *h, uint32_t tier)
{
    return h->writes_all_tiers || is_due(h, history_stage_of(h)->tiers[tier].every);
}

/* Its blocking part may run beside the end of the flush before, but not end before that. */
static void begin_write(struct history *h)
{
    const struct history_stage *stage = history_stage_of(h);
    sim_time waits = 0;
    h->writes_all_tiers = h->is_leaving;
    sim_time takes = is_due(h, stage->check_every) ? h->plan->check_ns : 0;
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        if (is_tier_due(h, i)) {
            takes += stage->tiers[i].block_ns;
            const sim_time at = h->kept[i].pending_at;
            waits = at != INT64_MAX && at - h->now > waits ? at - h->now : waits;
        }
    }
    h->write_left_ns = takes > waits ? takes : waits;
}

/* A check found nothing: neither in the weights of now, nor in any from before. */
static void vouch(struct history *h)
{
    h->checked = h->at.steps;
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        h->kept[i].good = h->kept[i].safe;
    }
}

/* False: the check found corrupted weights. */
static bool end_write(struct history *h)
{
    const struct history_stage *stage = history_stage_of(h);
    const bool is_checked = is_due(h, stage->check_every);
    if (is_checked && h->corrupted_at >= 0) {
        return false;
    }
    history_settle(h);
    h->at.periods++;
    h->in_period = 0;
    if (is_checked) {
        vouch(h);
    }
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        if (h->writes_all_tiers || h->at.periods % stage->tiers[i].every == 0) {
            h->kept[i].pending = h->at;
            h->kept[i].pending_at = h->now + stage->tiers[i].durable_ns;
        }
    }
    history_settle(h);
    return true;
}

/* ---- stages ----------------------------------------------------------------------------------
 */

const struct history_stage *history_stage_of(const struct history *h)
{
    return &h->plan->stages[h->at.stage];
}

static bool is_last_stage(const struct history *h)
{
    return h->at.stage + 1 == h->plan->stage_count;
}

bool history_is_stage_over(const struct history *h)
{
    return !is_last_stage(h) && h->at.steps == history_stage_of(h)->until;
}

bool history_is_restart_next(const struct history *h)
{
    return history_is_stage_over(h) && h->plan->stages[h->at.stage + 1].restarts;
}

static int64_t greatest_common_divisor(int64_t a, int64_t b)
{
    while (b > 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* After so many periods all tiers have been written, and everything checked, together. */
static int64_t periods_of_cycle(const struct history *h)
{
    const struct history_stage *stage = history_stage_of(h);
    int64_t periods = stage->check_every > 0 ? stage->check_every : 1;
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        const int64_t every = stage->tiers[i].every;
        sim_assert(every > 0);
        periods *= every / greatest_common_divisor(periods, every);
    }
    return periods;
}

/* Of a cycle across evaluations: after so many periods, whole cycles of the other kind, steps are
 * as long after an evaluation as before. 0: nothing is written, or evaluated. */
static int64_t periods_across(const struct history *h, int64_t cycle_periods)
{
    const int64_t every = h->plan->evaluation_every;
    const int64_t period = history_stage_of(h)->period;
    if (every == 0 || period == 0) {
        return 0;
    }
    const int64_t periods = every / greatest_common_divisor(every, period);
    const int64_t times = periods / greatest_common_divisor(periods, cycle_periods);
    return times > INT64_MAX / cycle_periods ? 0 : times * cycle_periods;
}

void history_set_pace(struct history *h)
{
    const struct history_regime usual = {.slow_class = HISTORY_NO_CLASS, .stage = h->at.stage};
    h->healthy_ns = h->plan->step_of(h->plan->context, &usual).step_ns;
    const int64_t periods = periods_of_cycle(h);
    h->cycles[CYCLES_BETWEEN].periods = history_stage_of(h)->period > 0 ? periods : 0;
    h->cycles[CYCLES_ACROSS].periods = periods_across(h, periods);
    history_forget_cycles(h);
}

static void begin_at(struct mark *kept, const struct mark *begin)
{
    if (kept->steps == begin->steps) {
        *kept = *begin;
    }
}

void history_enter_stage(struct history *h)
{
    sim_assert(history_is_stage_over(h));
    const struct mark begin = {
        .steps = h->at.steps, .periods = h->at.periods, .stage = h->at.stage + 1};
    history_count_unheld(h);
    h->ends[h->at.stage] = h->at;
    h->at = begin;
    h->change_left_ns = history_stage_of(h)->change_ns;
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        begin_at(&h->kept[i].safe, &begin);
        begin_at(&h->kept[i].good, &begin);
        begin_at(&h->kept[i].pending, &begin);
    }
    history_set_pace(h);
}

/* ---- cycles that come again ------------------------------------------------------------------ */

void history_break_off_cycles(struct history *h)
{
    for (size_t i = 0; i < CYCLES_KINDS; i++) {
        h->cycles[i].walk.goes_on = false;
    }
}

void history_forget_cycles(struct history *h)
{
    history_break_off_cycles(h);
    for (size_t i = 0; i < CYCLES_KINDS; i++) {
        for (size_t k = 0; k < CYCLES_KEPT; k++) {
            h->cycles[i].kept[k].is_known = false;
        }
    }
}

/* Steps since the last evaluation; 0 where no cycle has any. */
static int64_t evaluated(const struct history *h, enum cycles_kind kind)
{
    return kind == CYCLES_ACROSS ? h->at.steps % h->plan->evaluation_every : 0;
}

static struct mark mark_add(const struct mark *a, int64_t n, const struct mark *b)
{
    return (struct mark){.steps = a->steps + n * b->steps,
                         .periods = a->periods + n * b->periods,
                         .stage = a->stage,
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

static struct cycle *cycle_slot(struct history *h, enum cycles_kind kind)
{
    const int64_t slot = 2 * evaluated(h, kind) + (first_pending(h) == INT64_MAX ? 0 : 1);
    return &h->cycles[kind].kept[slot % CYCLES_KEPT];
}

static bool is_like(const struct cycle *cycle, int64_t evaluated, const sim_time pending_in[])
{
    return cycle->is_known && cycle->evaluated == evaluated &&
           memcmp(cycle->pending_in, pending_in, sizeof cycle->pending_in) == 0;
}

static void begin_walk(struct history *h, enum cycles_kind kind, struct cycle *cycle,
                       const sim_time pending_in[])
{
    cycle->is_known = false;
    cycle->evaluated = evaluated(h, kind);
    memcpy(cycle->pending_in, pending_in, sizeof cycle->pending_in);
    h->cycles[kind].walk =
        (struct cycle_walk){.goes_on = true,
                            .begin = h->now,
                            .checkpoint_ns = h->out->account_ns[ACCOUNT_CHECKPOINT],
                            .evaluation_ns = h->out->account_ns[ACCOUNT_PLANNED],
                            .at = h->at,
                            .cycle = cycle};
}

/* What was walked is known from now on. A tier that was neither pending nor written within it keeps
 * what it had; the one written at its end is pending, or safe. */
static void end_walk(const struct history *h, struct cycle_walk *walk, const sim_time pending_in[])
{
    struct cycle *cycle = walk->cycle;
    cycle->is_known = true;
    memcpy(cycle->pending_then, pending_in, sizeof cycle->pending_then);
    cycle->takes = h->now - walk->begin;
    cycle->checkpoint_ns = h->out->account_ns[ACCOUNT_CHECKPOINT] - walk->checkpoint_ns;
    cycle->evaluation_ns = h->out->account_ns[ACCOUNT_PLANNED] - walk->evaluation_ns;
    cycle->adds = mark_add(&h->at, -1, &walk->at);
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        const struct mark *safe = &h->kept[i].safe;
        cycle->makes_safe[i] = cycle->pending_in[i] != INT64_MAX || safe->steps > walk->at.steps;
        cycle->safe[i] = mark_add(safe, -1, &walk->at);
    }
    walk->goes_on = false;
}

/* From now to the end of the stage or the run. Before the write that may be due there, or with it:
 * what follows the last step is not written. */
static int64_t steps_to_end(const struct history *h, bool with_write)
{
    const struct history_plan *plan = h->plan;
    const int64_t at = h->at.steps;
    const int64_t before = with_write ? 1 : 0;
    int64_t left = is_last_stage(h) ? INT64_MAX : history_stage_of(h)->until - at;
    if (plan->steps > 0 && plan->steps - at - before < left) {
        left = plan->steps - at - before;
    }
    return left;
}

/* The same to what breaks the steps off, which an evaluation does, too; it precedes the write. */
static int64_t steps_on_end(const struct history *h, bool with_write)
{
    const int64_t every = h->plan->evaluation_every;
    const int64_t left = steps_to_end(h, with_write);
    if (every == 0) {
        return left;
    }
    const int64_t next = every - h->at.steps % every - (with_write ? 1 : 0);
    return next < left ? next : left;
}

/* How often it fits. Cycles after one that ends in another state are of another kind. */
static int64_t cycles_until(const struct history *h, enum cycles_kind kind,
                            const struct cycle *cycle, sim_time until)
{
    const bool is_across = kind == CYCLES_ACROSS;
    const int64_t steps = is_across ? steps_to_end(h, true) : steps_on_end(h, true);
    const int64_t left = steps / cycle->adds.steps;
    int64_t count = (until - h->now) / cycle->takes;
    count = left < count ? left : count;
    const int64_t then =
        is_across ? (cycle->evaluated + cycle->adds.steps) % h->plan->evaluation_every : 0;
    return count > 1 && !is_like(cycle, then, cycle->pending_then) ? 1 : count;
}

static void jump_cycles(struct history *h, const struct cycle *cycle, int64_t n)
{
    const struct mark last = mark_add(&h->at, n - 1, &cycle->adds);
    h->at = mark_add(&last, 1, &cycle->adds);
    h->now += n * cycle->takes;
    history_book(h, ACCOUNT_CHECKPOINT, n * cycle->checkpoint_ns);
    history_book(h, ACCOUNT_PLANNED, n * cycle->evaluation_ns);
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        struct kept *kept = &h->kept[i];
        const sim_time then = cycle->pending_then[i];
        kept->pending = h->at;
        kept->pending_at = then == INT64_MAX ? INT64_MAX : h->now + then;
        if (cycle->makes_safe[i]) {
            kept->safe = mark_add(&last, 1, &cycle->safe[i]);
        }
    }
    if (history_stage_of(h)->check_every > 0) {
        vouch(h);
    }
}

/* What is pending was written now: an earlier stage may have written its tiers otherwise. */
static bool is_pending_of_now(const struct history *h)
{
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        if (h->kept[i].pending_at != INT64_MAX && h->kept[i].pending.steps != h->at.steps) {
            return false;
        }
    }
    return true;
}

static bool is_begin(const struct history *h, enum cycles_kind kind)
{
    const int64_t periods = h->cycles[kind].periods;
    return periods > 0 && h->in_period == 0 && h->at.periods % periods == 0;
}

/* At the begin of a cycle. True: it, and those like it, are behind us. */
static bool repeat_kind(struct history *h, enum cycles_kind kind, sim_time until)
{
    struct cycle_walk *walk = &h->cycles[kind].walk;
    if (!is_pending_of_now(h)) {
        walk->goes_on = false;
        return false;
    }
    sim_time pending_in[HISTORY_TIERS_MAX];
    pending_from_now(h, pending_in);
    if (walk->goes_on) {
        end_walk(h, walk, pending_in);
    }
    struct cycle *cycle = cycle_slot(h, kind);
    if (!is_like(cycle, evaluated(h, kind), pending_in)) {
        begin_walk(h, kind, cycle, pending_in);
        return false;
    }
    const bool is_good = history_stage_of(h)->check_every == 0 || h->corrupted_at < 0;
    const int64_t n = is_good ? cycles_until(h, kind, cycle, until) : 0;
    if (n > 0) {
        jump_cycles(h, cycle, n);
    }
    return n > 0;
}

/* Across evaluations the jump is the longer one. What is walked of the other kind ends before it,
 * and an evaluation that is due at its end is behind us. */
static bool repeat_cycles(struct history *h, sim_time until)
{
    if (history_is_seen(h)) {
        return false;
    }
    if (is_begin(h, CYCLES_ACROSS) && repeat_kind(h, CYCLES_ACROSS, until)) {
        h->cycles[CYCLES_BETWEEN].walk.goes_on = false;
        h->evaluated_at = h->at.steps;
        return true;
    }
    return is_begin(h, CYCLES_BETWEEN) && repeat_kind(h, CYCLES_BETWEEN, until);
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
    const int64_t period = history_stage_of(h)->period;
    const struct history_step step = step_now(h, history_is_seen(h) ? &h->regime : NULL);
    int64_t count = steps_on_end(h, false);
    if (period > 0 && period - h->in_period < count) {
        count = period - h->in_period;
    }
    const sim_time pending = first_pending(h);
    if (pending != INT64_MAX) {
        const int64_t beside = (pending - h->now + step.step_ns - 1) / step.step_ns;
        count = beside < count ? beside : count;
    }
    const int64_t fit = (until - h->now) / step.step_ns;
    if (fit == 0) {
        h->step = step;
        h->step_left_ns = step.step_ns;
        return;
    }
    count = fit < count ? fit : count;
    see_steps(h, count * step.step_ns, count);
    h->now += count * step.step_ns;
    finish_steps(h, count, &step);
}

/* From one evaluation until after the next, as often as nothing else lies between. */
static bool repeat_evaluations(struct history *h, sim_time until)
{
    const int64_t every = h->plan->evaluation_every;
    if (every == 0 || h->at.steps % every != 0 || history_is_seen(h)) {
        return false;
    }
    const int64_t period = history_stage_of(h)->period;
    const struct history_step step = step_now(h, NULL);
    const sim_time pending = first_pending(h);
    const sim_time alike_until = pending < until ? pending : until;
    const sim_time longest_ns = (INT64_MAX - h->plan->evaluation_ns) / every;
    if (step.step_ns > longest_ns) {
        return false;
    }
    int64_t count = (alike_until - h->now) / (every * step.step_ns + h->plan->evaluation_ns);
    int64_t steps = steps_to_end(h, true);
    steps = period > 0 && period - h->in_period < steps ? period - h->in_period : steps;
    count = steps / every < count ? steps / every : count;
    if (count > 0) {
        finish_steps(h, count * every, &step);
        h->now += count * every * step.step_ns;
        history_spend(h, ACCOUNT_PLANNED, count * h->plan->evaluation_ns);
        h->evaluated_at = h->at.steps;
        h->cycles[CYCLES_BETWEEN].walk.goes_on = false;
    }
    return count > 0;
}

static void go_on_with_step(struct history *h, sim_time until)
{
    const sim_time left = until - h->now;
    const sim_time used = h->step_left_ns < left ? h->step_left_ns : left;
    see_steps(h, used, 0);
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
    history_spend(h, ACCOUNT_CHECKPOINT, used);
    h->write_left_ns -= used;
    return h->write_left_ns > 0 || end_write(h);
}

/* A pause that is planned goes on, at most until `until`. */
static void go_on_with_pause(struct history *h, sim_time *pause_left_ns, sim_time until)
{
    const sim_time left = until - h->now;
    const sim_time used = *pause_left_ns < left ? *pause_left_ns : left;
    history_spend(h, ACCOUNT_PLANNED, used);
    *pause_left_ns -= used;
}

static bool is_evaluation_due(const struct history *h)
{
    const int64_t every = h->plan->evaluation_every;
    return every > 0 && h->at.steps > 0 && h->at.steps % every == 0 &&
           h->evaluated_at != h->at.steps;
}

static void begin_evaluation(struct history *h)
{
    h->evaluated_at = h->at.steps;
    h->pause_left_ns = h->plan->evaluation_ns;
    h->cycles[CYCLES_BETWEEN].walk.goes_on = false;
}

/* For a notice, for maintenance, or to begin the next stage. */
static bool is_to_stop(const struct history *h)
{
    return h->is_leaving || h->is_maintained || history_is_restart_next(h);
}

/* What is done so far is safe where it has to be, or on its way there. */
static bool is_saved(const struct history *h, uint32_t tier)
{
    const struct kept *kept = &h->kept[tier];
    return kept->safe.steps == h->at.steps ||
           (kept->pending_at != INT64_MAX && kept->pending.steps == h->at.steps);
}

/* The states of now are neither in the first tier nor on their way there: where copies were left,
 * a failure took what was. */
static bool is_unsaved(const struct history *h)
{
    return h->in_period > 0 || (h->plan->tier_count > 0 && !is_saved(h, 0));
}

static bool is_write_due(const struct history *h)
{
    const int64_t period = history_stage_of(h)->period;
    const bool is_forced =
        h->is_leaving ? !is_saved(h, h->leaving_tier) : is_to_stop(h) && is_unsaved(h);
    return period > 0 && (h->in_period >= period || is_forced);
}

/* Nothing is computed until the checkpoint before a stop is durable. */
static bool wait_until_durable(struct history *h, sim_time until)
{
    const sim_time at = h->kept[h->is_leaving ? h->leaving_tier : 0].pending_at;
    if (at != INT64_MAX) {
        history_spend(h, ACCOUNT_CHECKPOINT, (at < until ? at : until) - h->now);
    }
    return at != INT64_MAX;
}

enum history_passed history_advance(struct history *h, sim_time until)
{
    while (h->now < until && !history_is_over(h)) {
        h->out->turns++;
        history_settle(h);
        if (h->step_left_ns > 0) {
            go_on_with_step(h, until);
        } else if (h->write_left_ns > 0) {
            if (!go_on_with_write(h, until)) {
                return PASSED_CORRUPTED;
            }
        } else if (h->pause_left_ns > 0) {
            go_on_with_pause(h, &h->pause_left_ns, until);
        } else if (h->change_left_ns > 0) {
            go_on_with_pause(h, &h->change_left_ns, until);
        } else if (is_evaluation_due(h)) {
            begin_evaluation(h);
        } else if (is_write_due(h)) {
            begin_write(h);
            if (h->write_left_ns == 0 && !end_write(h)) {
                return PASSED_CORRUPTED;
            }
        } else if (is_to_stop(h)) {
            if (!wait_until_durable(h, until)) {
                return PASSED_SAVED;
            }
        } else if (history_is_stage_over(h)) {
            history_enter_stage(h);
        } else if (!repeat_cycles(h, until) && !repeat_evaluations(h, until)) {
            do_steps(h, until);
        }
    }
    return PASSED;
}
