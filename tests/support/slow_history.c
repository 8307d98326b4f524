/* Time goes on from one end of a step, of a write, of a pause to the next. Lists are searched from
 * end to end, nothing is remembered of cycles, and a step that was lost is found by adding up what
 * each step since the checkpoint had booked.
 */
#include "support/slow_history.h"

#include "base/arena.h"
#include "base/check.h"
#include "support/slow_walker.h"

#include <string.h>

#define PLANNED UINT64_MAX

/* Of the stage that has step number `steps`, counted from 0. */
static uint32_t stage_with(const struct walker *w, int64_t steps)
{
    uint32_t stage = 0;
    while (stage + 1 < w->plan->stage_count && w->plan->stages[stage].until <= steps) {
        stage++;
    }
    return stage;
}

static void book(struct walker *w, uint32_t stage, enum account account, sim_time ns)
{
    w->out->account_ns[account] += ns;
    w->out->stage_ns[stage][account] += ns;
}

static sim_time healthy_ns(const struct walker *w)
{
    const struct history_regime healthy = {false, HISTORY_NO_CLASS, 0, 0, w->stage, 0, 0};
    return w->plan->step_of(w->plan->context, &healthy).step_ns;
}

static bool ends(const struct walker *w)
{
    return w->now >= w->plan->horizon || (w->plan->steps > 0 && w->steps >= w->plan->steps);
}

static void pass(struct walker *w, enum account account, sim_time ns, bool stands)
{
    const sim_time left = w->plan->horizon - w->now;
    ns = ns < left ? ns : left;
    walker_go_by(w, ns);
    book(w, w->stage, account, ns);
    for (uint32_t i = 0; stands && i < w->plan->class_count; i++) {
        if (w->plan->classes[i].rests) {
            failure_times_rest(&w->times[i], ns);
        }
    }
}

static void settle(struct walker *w)
{
    for (uint32_t i = 0; i < w->plan->tier_count; i++) {
        if (w->pending[i].steps >= 0 && w->pending[i].safe_at <= w->now) {
            walker_keep(w, i, w->pending[i]);
            w->pending[i].steps = -1;
        }
    }
}

/* ---- what happens next ---------------------------------------------------------------------- */

enum next_kind {
    NEXT_FAILURE,
    NEXT_SLOW_ENDS,
    NEXT_NODE,
    NEXT_TAKEN,
    NEXT_MAINTENANCE,
    NEXT_HORIZON
};

static uint32_t first_class(const struct walker *w, bool breaks_restarts)
{
    uint32_t first = HISTORY_NO_CLASS;
    for (uint32_t i = 0; i < w->plan->class_count; i++) {
        const struct failure_class *class = &w->plan->classes[i];
        if (breaks_restarts && (class->effect != FAILURE_KILLS || class->rests)) {
            continue;
        }
        if (w->times[i].next < (first == HISTORY_NO_CLASS ? INT64_MAX : w->times[first].next)) {
            first = i;
        }
    }
    return first;
}

static uint32_t first_slow(const struct walker *w)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < w->slow_count; i++) {
        first = w->slow[i].end < w->slow[first].end ? i : first;
    }
    return first;
}

static enum next_kind next(const struct walker *w, sim_time *when)
{
    enum next_kind kind = NEXT_HORIZON;
    *when = w->plan->horizon;
    const uint32_t class = first_class(w, false);
    if (class != HISTORY_NO_CLASS && w->times[class].next < *when) {
        *when = w->times[class].next;
        kind = NEXT_FAILURE;
    }
    if (w->slow_count > 0 && w->slow[first_slow(w)].end < *when) {
        *when = w->slow[first_slow(w)].end;
        kind = NEXT_SLOW_ENDS;
    }
    if (w->missing > 0 && walker_first_return(w) < *when) {
        *when = walker_first_return(w);
        kind = NEXT_NODE;
    }
    for (uint32_t i = 0; i < w->notice_count; i++) {
        if (w->notices[i].goes < *when) {
            *when = w->notices[i].goes;
            kind = NEXT_TAKEN;
        }
    }
    if (!w->is_maintained && w->maintenance_at < *when) {
        *when = w->maintenance_at;
        kind = NEXT_MAINTENANCE;
    }
    return kind;
}

/* ---- steps and writes ------------------------------------------------------------------------ */

static struct history_step step_now(const struct walker *w)
{
    struct history_regime regime = {0, HISTORY_NO_CLASS, w->missing, 0, w->stage, w->displaced, 0};
    for (uint32_t i = 0; i < w->plan->drift_count; i++) {
        regime.drift += w->fresh_at + w->plan->drift_ages[i] <= w->now ? 1 : 0;
    }
    for (uint32_t i = 0; i < w->plan->tier_count; i++) {
        if (w->pending[i].steps >= 0) {
            bool comes_later = false;
            for (uint32_t k = 0; k < i; k++) {
                comes_later = comes_later || w->pending[k].steps == w->pending[i].steps;
            }
            regime.flushes += comes_later ? 0 : 1U << i;
        }
    }
    struct history_step slowest = w->plan->step_of(w->plan->context, &regime);
    for (uint32_t i = 0; i < w->slow_count; i++) {
        regime.slow_class = w->slow[i].class;
        const struct history_step slow = w->plan->step_of(w->plan->context, &regime);
        slowest = slow.step_ns > slowest.step_ns ? slow : slowest;
    }
    return slowest;
}

static void keep_step(struct walker *w, const struct history_step *step)
{
    w->done = arena_grow(w->arena, w->done, &w->capacity, (size_t)w->steps + 1, sizeof *w->done);
    w->done[w->steps++] = (struct walked_step){healthy_ns(w) - step->stall_ns, step->stall_ns,
                                               step->step_ns - healthy_ns(w)};
    w->in_period++;
}

static bool is_due(const struct walker *w, uint32_t every)
{
    return every > 0 && (w->periods + 1) % every == 0;
}

/* Of a write that begins before the job leaves, all. */
static sim_time write_ns(const struct walker *w)
{
    sim_time takes = is_due(w, walker_stage(w)->check_every) ? w->plan->check_ns : 0;
    sim_time until = w->now;
    for (uint32_t i = 0; i < w->plan->tier_count; i++) {
        if (w->is_leaving || is_due(w, walker_stage(w)->tiers[i].every)) {
            takes += walker_stage(w)->tiers[i].block_ns;
            until = w->pending[i].steps >= 0 && w->pending[i].safe_at > until
                        ? w->pending[i].safe_at
                        : until;
        }
    }
    return takes > until - w->now ? takes : until - w->now;
}

static void keep_checkpoint(struct walker *w, bool in_all)
{
    settle(w);
    const int64_t periods = w->periods++;
    w->in_period = 0;
    for (uint32_t i = 0; i < w->plan->tier_count; i++) {
        if (in_all || (periods + 1) % walker_stage(w)->tiers[i].every == 0) {
            w->pending[i] =
                (struct copy){w->steps, w->periods, w->now + walker_stage(w)->tiers[i].durable_ns};
        }
    }
    const uint32_t check_every = walker_stage(w)->check_every;
    if (check_every > 0 && (periods + 1) % check_every == 0) {
        w->checked = w->steps;
    }
    settle(w);
}

/* ---- failures -------------------------------------------------------------------------------- */

static void go_back(struct walker *w, struct copy to)
{
    const uint32_t stage = w->stage;
    while (w->steps > to.steps) {
        const struct walked_step *step = &w->done[--w->steps];
        book(w, stage_with(w, w->steps), ACCOUNT_LOST,
             step->useful_ns + step->stall_ns + step->degraded_ns);
    }
    w->stage = stage_with(w, w->steps);
    if (w->stage != stage) {
        w->change_left = w->stage > stage ? walker_stage(w)->change_ns : 0;
    }
    w->evaluated = w->steps;
    w->periods = to.periods;
    w->in_period = 0;
    for (uint32_t i = 0; i < w->plan->tier_count; i++) {
        w->pending[i].steps = -1;
    }
    if (w->steps <= w->corrupted_at) {
        w->corrupted_at = -1;
    }
}

/* All that ended stays done. */
static void stay(struct walker *w)
{
    for (uint32_t i = 0; i < w->plan->tier_count; i++) {
        w->pending[i].steps = -1;
        if (walker_stage(w)->tiers[i].survives < w->level) {
            walker_throw_away(w, i);
        }
    }
    w->corrupted_at = w->steps <= w->corrupted_at ? -1 : w->corrupted_at;
    w->read_ns = walker_stage(w)->copies.read_ns[w->level];
}

/* Of a planned stop: ordinal PLANNED. */
static void fall_back(struct walker *w, uint32_t level, uint32_t class, uint64_t ordinal)
{
    settle(w);
    if (level == 1) {
        const double others = (double)walker_stage(w)->nodes - 1;
        const struct rng_key key = failure_key(&w->times[class], ordinal, DRAW_PEER);
        const double chance = (others == 1 ? 1 : 2) * (double)w->lost++ / others;
        level = others >= 1 && rng_uniform(&key) < chance ? 2 : 1;
    }
    level = w->level > level ? w->level : level;
    w->level = level;
    if (ordinal != PLANNED && walker_leaves_copies(w, class, ordinal)) {
        stay(w);
        return;
    }
    w->are_gone = true;
    struct copy newest = {0, 0, 0};
    int32_t read = -1;
    for (uint32_t i = 0; i < w->plan->tier_count; i++) {
        const struct copy its = walker_newest(w, i);
        if (walker_stage(w)->tiers[i].survives >= level && its.steps > newest.steps) {
            newest = its;
            read = (int32_t)i;
        }
    }
    for (uint32_t i = 0; i < w->plan->tier_count; i++) {
        if (walker_stage(w)->tiers[i].survives < level) {
            walker_throw_away(w, i);
            walker_keep(w, i, newest);
        }
    }
    w->checked = w->checked > newest.steps ? newest.steps : w->checked;
    go_back(w, newest);
    w->read_ns = read < 0 ? 0 : walker_stage(w)->tiers[read].read_ns[level];
}

/* Of what the stage has, or of what nobody uses. */
static bool is_its(const struct walker *w, uint32_t class)
{
    const double share = walker_share(w, class, w->times[class].next);
    const struct rng_key key = failure_key(&w->times[class], w->times[class].ordinal, DRAW_SHARE);
    return share >= 1 || rng_uniform(&key) < share;
}

static void take_unseen(struct walker *w)
{
    for (uint32_t i = 0; i < w->plan->class_count; i++) {
        const enum failure_effect effect = w->plan->classes[i].effect;
        const bool slows = effect == FAILURE_SLOWS && !w->plan->classes[i].heals;
        const bool breaks = effect == FAILURE_KILLS || slows;
        while (breaks && w->times[i].next <= w->now) {
            if (is_its(w, i)) {
                fall_back(w, walker_level(w, i, w->times[i].ordinal), i, w->times[i].ordinal);
                walker_break_nodes(w, i, w->times[i].ordinal, w->times[i].next);
            }
            failure_times_advance(&w->times[i], w->arena);
        }
    }
}

/* All that are away have a spare in their place, as long as there are. */
static void lie_down(struct walker *w)
{
    w->displaced = 0;
    for (uint32_t i = 0; w->plan->displaces && i < w->broken; i++) {
        w->displaced += w->displaced < w->plan->spares ? 1 : 0;
    }
}

static void wait_for_nodes(struct walker *w)
{
    walker_take_returned(w);
    while (!ends(w) && (w->plan->is_elastic ? walker_replicas_short(w) >= walker_stage(w)->replicas
                                            : walker_nodes_short(w) > 0)) {
        sim_time until = walker_first_return(w);
        for (uint32_t i = 0; i < w->plan->class_count; i++) {
            const struct failure_class *of = &w->plan->classes[i];
            const bool breaks =
                of->effect == FAILURE_KILLS || (of->effect == FAILURE_SLOWS && !of->heals);
            const bool is_first = (of->takes_away || (of->is_of_nodes && !of->rests && breaks)) &&
                                  w->times[i].next < until;
            until = is_first ? w->times[i].next : until;
        }
        pass(w, ACCOUNT_WAITING, until > w->now ? until - w->now : 0, true);
        take_unseen(w);
        walker_take_returned(w);
    }
}

static sim_time draw_planned(const struct walker *w, const struct law *law, const char *stream,
                             uint64_t number)
{
    const struct rng_key key = {
        .seed = w->seed, .stream = rng_stream(stream), .rank = w->repetition, .step = number};
    return law_draw(law, &key);
}

/* Draws of attempt `number`: 0 whom it blames, 1 until he is back, 2 detection, 3 the restart. */
static uint64_t attempt_use(uint32_t number, uint32_t what)
{
    return DRAW_DIAGNOSIS + 4 * (uint64_t)number + what;
}

/* Another node is taken out for the one that broke. */
static bool blames_another(struct walker *w, uint32_t class, uint64_t ordinal, uint32_t number)
{
    const struct rng_key key = failure_key(&w->times[class], ordinal, attempt_use(number, 0));
    const bool is_wrong =
        w->plan->classes[class].nodes > 0 && w->plan->classes[class].effect != FAILURE_CORRUPTS &&
        !w->plan->classes[class].takes_away && rng_uniform(&key) < w->plan->wrong_diagnosis;
    if (is_wrong) {
        walker_take_returned(w);
        walker_take_away(
            w,
            w->now + walker_draw(w, &w->plan->inspection, class, ordinal, attempt_use(number, 1)),
            false);
    }
    return is_wrong;
}

/* Spares before these nodes were taken, of which some are hot. */
static bool needs_cold_spare(const struct walker *w)
{
    const uint32_t before = w->broken > w->taken ? w->broken - w->taken : 0;
    const uint32_t left = before < w->plan->spares ? w->plan->spares - before : 0;
    const uint32_t hot = w->plan->hot_spares < left ? w->plan->hot_spares : left;
    if (w->plan->is_elastic && w->taken > left) {
        return left > hot;
    }
    return w->taken > hot;
}

static sim_time restart_ns(const struct walker *w, uint32_t class, uint64_t ordinal,
                           uint32_t number)
{
    const sim_time always = walker_stage(w)->start_ns + w->read_ns;
    if (class == HISTORY_NO_CLASS) {
        return always + draw_planned(w, &w->plan->restart, "planned", ordinal);
    }
    const uint64_t use = number > 0 ? attempt_use(number, 3) : DRAW_RESTART;
    const sim_time cold =
        needs_cold_spare(w) ? walker_draw(w, &w->plan->cold_start, class, ordinal, DRAW_COLD_START)
                            : 0;
    return always + cold + walker_draw(w, &w->plan->classes[class].restart, class, ordinal, use);
}

/* From when it is known what failed until the job runs; HISTORY_NO_CLASS: it was planned. */
static void start_again(struct walker *w, uint32_t class, uint64_t ordinal)
{
    for (uint32_t i = 0; i < w->notice_count; i++) {
        const uint32_t noticed = w->notices[i].class;
        w->out->interruptions[noticed]++;
        walker_take_returned(w);
        walker_go_away(w, noticed, w->notices[i].ordinal, w->notices[i].nodes, w->notices[i].goes);
    }
    w->notice_count = 0;
    w->is_leaving = false;
    for (uint32_t number = 0; !ends(w);) {
        const bool is_planned = class == HISTORY_NO_CLASS;
        const bool is_vain = !is_planned && blames_another(w, class, ordinal, number);
        wait_for_nodes(w);
        w->missing = w->plan->is_elastic ? walker_replicas_short(w) : 0;
        lie_down(w);
        const enum account account = is_planned ? ACCOUNT_PLANNED : ACCOUNT_RECOVERY;
        const sim_time takes = restart_ns(w, class, ordinal, number);
        uint32_t hit = first_class(w, true);
        while (hit != HISTORY_NO_CLASS && w->times[hit].next < w->now + takes && !is_its(w, hit)) {
            failure_times_advance(&w->times[hit], w->arena);
            hit = first_class(w, true);
        }
        const bool is_hit = hit != HISTORY_NO_CLASS && w->times[hit].next < w->now + takes;
        const sim_time cut =
            is_hit && w->times[hit].next > w->now ? w->times[hit].next - w->now : 0;
        pass(w, account, is_hit ? cut : takes, true);
        if (ends(w) || (!is_hit && !is_vain)) {
            w->taken = is_hit ? w->taken : 0;
            break;
        }
        if (is_hit) {
            class = hit;
            ordinal = w->times[hit].ordinal;
            const int64_t steps = w->steps;
            fall_back(w, walker_level(w, class, ordinal), class, ordinal);
            w->out->saved += w->plan->classes[class].takes_away && w->steps == steps;
            number = 0;
            w->out->interruptions[class]++;
            walker_break_nodes(w, class, ordinal, w->now);
            failure_times_advance(&w->times[class], w->arena);
        } else {
            w->taken = 0;
            number++;
        }
        const uint64_t use = number > 0 ? attempt_use(number, 2) : DRAW_DETECTION;
        pass(w, ACCOUNT_DETECTION,
             walker_draw(w, &w->plan->classes[class].detection, class, ordinal, use), true);
        take_unseen(w);
    }
    w->level = 0;
    w->lost = 0;
    w->fresh_at = w->plan->drifts_on ? w->fresh_at : w->now;
    w->fallen = 0;
    w->are_gone = false;
    for (uint32_t i = 0; i < w->plan->class_count; i++) {
        failure_times_renew(&w->times[i], w->now);
        while (w->plan->classes[i].effect == FAILURE_CORRUPTS && w->times[i].next <= w->now) {
            failure_times_advance(&w->times[i], w->arena);
        }
    }
}

/* A checkpoint is worth the try where its blocking part and the way to where it outlives all of
 * which there was notice take no longer than that. */
static void give_notice(struct walker *w, uint32_t class)
{
    const struct failure_times *times = &w->times[class];
    const struct history_stage *stage = walker_stage(w);
    const sim_time notice_ns = w->plan->classes[class].notice_ns;
    const uint32_t nodes = walker_nodes_held(w, class, times->ordinal, times->next);
    uint32_t level = 0;
    sim_time takes = 0;
    sim_assert(w->notice_count < NOTICES_MAX);
    w->notices[w->notice_count].class = class;
    w->notices[w->notice_count].nodes = nodes;
    w->notices[w->notice_count].ordinal = times->ordinal;
    w->notices[w->notice_count].given = times->next;
    w->notices[w->notice_count++].goes = times->next + notice_ns;
    for (uint32_t i = 0; i < w->notice_count; i++) {
        const uint32_t of = walker_level(w, w->notices[i].class, w->notices[i].ordinal);
        level = of > level ? of : level;
    }
    w->is_leaving = false;
    for (uint32_t i = w->plan->tier_count; i-- > 0;) {
        takes += stage->tiers[i].block_ns;
        w->leaving_tier = stage->tiers[i].survives >= level ? i : w->leaving_tier;
        w->is_leaving = w->is_leaving || stage->tiers[i].survives >= level;
    }
    w->is_leaving = w->is_leaving && w->plan->saves_on_notice && stage->period > 0 &&
                    takes + stage->tiers[w->leaving_tier].durable_ns <= notice_ns;
    failure_times_advance(&w->times[class], w->arena);
}

/* `is_cut`: in the middle of a step. */
static void leave(struct walker *w, bool is_cut)
{
    const int64_t steps = w->steps;
    const uint32_t class = w->notices[0].class;
    const uint64_t ordinal = w->notices[0].ordinal;
    for (uint32_t i = 0; i < w->notice_count; i++) {
        const uint32_t of = w->notices[i].class;
        fall_back(w, walker_level(w, of, w->notices[i].ordinal), of, w->notices[i].ordinal);
    }
    w->out->saved += !is_cut && w->steps == steps ? w->notice_count : 0;
    start_again(w, class, ordinal);
}

static void kill(struct walker *w, uint32_t class)
{
    const uint64_t ordinal = w->times[class].ordinal;
    fall_back(w, walker_level(w, class, ordinal), class, ordinal);
    w->out->interruptions[class]++;
    walker_break_nodes(w, class, ordinal, w->now);
    failure_times_advance(&w->times[class], w->arena);
    pass(w, ACCOUNT_DETECTION,
         walker_draw(w, &w->plan->classes[class].detection, class, ordinal, DRAW_DETECTION), true);
    take_unseen(w);
    start_again(w, class, ordinal);
}

static void begin_slowness(struct walker *w, uint32_t class)
{
    const uint64_t ordinal = w->times[class].ordinal;
    sim_assert(w->slow_count < SLOW_MAX);
    w->slow[w->slow_count].class = class;
    w->slow[w->slow_count].ordinal = ordinal;
    w->slow[w->slow_count++].end =
        w->times[class].next +
        walker_draw(w, &w->plan->classes[class].detection, class, ordinal, DRAW_DETECTION);
    if (w->plan->classes[class].heals) {
        w->slow[w->slow_count - 1].end += walker_repair(w, class, ordinal, 0);
    }
    failure_times_advance(&w->times[class], w->arena);
}

/* True: the job was ended for it. */
static bool end_slowness(struct walker *w)
{
    const uint32_t number = first_slow(w);
    const uint32_t class = w->slow[number].class;
    const uint64_t ordinal = w->slow[number].ordinal;
    w->slow[number] = w->slow[--w->slow_count];
    if (w->plan->classes[class].heals) {
        return false;
    }
    w->out->interruptions[class]++;
    fall_back(w, walker_level(w, class, ordinal), class, ordinal);
    walker_break_nodes(w, class, ordinal, w->now);
    start_again(w, class, ordinal);
    return true;
}

static void stop(struct walker *w, uint32_t class)
{
    const uint64_t ordinal = w->times[class].ordinal;
    const sim_time end = w->times[class].next + walker_repair(w, class, ordinal, 0);
    const sim_time waits = end > w->now ? end - w->now : 0;
    w->out->interruptions[class]++;
    failure_times_advance(&w->times[class], w->arena);
    pass(w, ACCOUNT_WAITING, waits, true);
    for (uint32_t i = 0; i < w->plan->tier_count; i++) {
        w->pending[i].safe_at += waits;
    }
}

static void corrupt(struct walker *w, uint32_t class)
{
    if (w->corrupted_at < 0) {
        w->corrupted_at = w->steps;
        w->corrupting = class;
        w->corrupting_ordinal = w->times[class].ordinal;
    }
    failure_times_advance(&w->times[class], w->arena);
}

static void find_corruption(struct walker *w)
{
    w->out->interruptions[w->corrupting]++;
    const uint32_t class = w->corrupting;
    struct copy good = {0, 0, 0};
    uint32_t read = 0;
    settle(w);
    for (uint32_t i = w->plan->tier_count; i-- > 0;) { /* of those that are as new the first */
        walker_throw_away_bad(w, i);
        if (walker_newest(w, i).steps >= good.steps && walker_newest(w, i).steps > 0) {
            good = walker_newest(w, i);
            read = i;
        }
    }
    for (uint32_t i = 0; walker_newest(w, i).steps < good.steps; i++) { /* they get it again */
        walker_throw_away(w, i);
        walker_keep(w, i, good);
    }
    w->checked = good.steps;
    go_back(w, good);
    w->read_ns = good.steps > 0 ? walker_stage(w)->tiers[read].read_ns[0] : 0;
    w->are_gone = true;
    start_again(w, class, w->corrupting_ordinal);
}

static void grow(struct walker *w)
{
    walker_take_returned(w);
    const uint64_t number = w->grown++;
    if (w->notice_count == 0 && walker_replicas_short(w) < w->missing) {
        w->missing = walker_replicas_short(w);
        lie_down(w);
        pass(w, ACCOUNT_RECOVERY, draw_planned(w, &w->plan->growth, "growth", number), true);
        w->fresh_at = w->plan->drifts_on ? w->fresh_at : w->now;
    }
}

/* ---- what was planned ------------------------------------------------------------------------ */

/* Another stage follows the one that is done, and the job starts anew for it. */
static bool is_restart_next(const struct walker *w)
{
    return stage_with(w, w->steps) != w->stage && w->plan->stages[w->stage + 1].restarts;
}

static void begin_stage(struct walker *w)
{
    const uint32_t next = w->stage + 1;
    w->read_ns = 0;
    if (w->plan->tier_count > 0 && walker_stage(w)->period > 0) {
        fall_back(w, 0, 0, PLANNED); /* to where it is: all is saved */
    }
    w->stage = next;
    w->change_left = 0;
    pass(w, ACCOUNT_PLANNED, walker_stage(w)->change_ns, true);
    take_unseen(w);
    start_again(w, HISTORY_NO_CLASS, w->planned++);
}

static void maintain(struct walker *w)
{
    fall_back(w, 0, 0, PLANNED);
    pass(w, ACCOUNT_PLANNED, w->plan->maintenance.takes_ns, true);
    w->is_maintained = false;
    while (w->maintenance_at <= w->now) {
        w->maintenance_at += w->plan->maintenance.every;
    }
    take_unseen(w);
    start_again(w, HISTORY_NO_CLASS, w->planned++);
    w->fresh_at = w->now;
}

/* Something is under way, a step or not; true: it was cut off, and is gone. */
static bool happens(struct walker *w, enum next_kind kind, bool in_step)
{
    const uint32_t class = first_class(w, false);
    if (w->missing == 0) { /* else each that comes back is something that happens */
        walker_take_returned(w);
    }
    switch (kind) {
    case NEXT_HORIZON:
        return false;
    case NEXT_SLOW_ENDS:
        return end_slowness(w);
    case NEXT_NODE:
        grow(w);
        return false;
    case NEXT_TAKEN:
        leave(w, in_step);
        return true;
    case NEXT_MAINTENANCE:
        w->is_maintained = w->plan->maintenance.saves;
        if (!w->is_maintained) {
            maintain(w);
        }
        return !w->is_maintained;
    case NEXT_FAILURE:
        break;
    }
    if (!is_its(w, class)) {
        failure_times_advance(&w->times[class], w->arena);
        return false;
    }
    switch (w->plan->classes[class].effect) {
    case FAILURE_KILLS:
        if (w->plan->classes[class].notice_ns > 0) {
            give_notice(w, class);
            return false;
        }
        kill(w, class);
        return true;
    case FAILURE_SLOWS:
        begin_slowness(w, class);
        return false;
    case FAILURE_STOPS:
        stop(w, class);
        return false;
    case FAILURE_CORRUPTS:
        corrupt(w, class);
        return false;
    case FAILURE_DEGRADES:
    case FAILURE_EFFECT_COUNT_:
        break;
    }
    return false;
}

static void walk_on(struct walker *w, sim_time ns, enum account account)
{
    walker_go_by(w, ns);
    if (account != ACCOUNT_LOST) {
        book(w, w->stage, account, ns);
    }
}

/* So much time of a step (it counts as lost until it has ended), of a write or of a pause; false:
 * it was cut off. */
static bool walk(struct walker *w, sim_time ns, enum account account)
{
    sim_time left = ns;
    while (left > 0) {
        sim_time when;
        const enum next_kind kind = next(w, &when);
        const sim_time until = when > w->now ? when - w->now : 0;
        if (left <= until) {
            walk_on(w, left, account);
            return true;
        }
        walk_on(w, until, account);
        left -= until;
        const sim_time done = account == ACCOUNT_LOST ? ns - left : 0;
        const uint32_t stage = w->stage;
        book(w, stage, ACCOUNT_LOST, done);
        if (w->now >= w->plan->horizon || happens(w, kind, account == ACCOUNT_LOST)) {
            return false;
        }
        if (ends(w)) {
            return false;
        }
        book(w, stage, ACCOUNT_LOST, -done);
    }
    return true;
}

static void write_checkpoint(struct walker *w)
{
    const bool is_checked = is_due(w, walker_stage(w)->check_every);
    const bool in_all = w->is_leaving;
    if (walk(w, write_ns(w), ACCOUNT_CHECKPOINT)) {
        if (is_checked && w->corrupted_at >= 0) {
            find_corruption(w);
        } else {
            keep_checkpoint(w, in_all);
        }
    }
}

static void stop_as_planned(struct walker *w)
{
    if (w->missing == 0) {
        walker_take_returned(w);
    }
    const uint32_t tier = w->is_leaving ? w->leaving_tier : 0;
    if (w->plan->tier_count > 0 && w->pending[tier].steps >= 0) {
        sim_time when; /* what happens first may put it off, or be what it waits for */
        (void)next(w, &when);
        const sim_time safe_at = w->pending[tier].safe_at;
        walk_on(w, (safe_at < when ? safe_at : when) - w->now, ACCOUNT_CHECKPOINT);
    } else if (w->is_leaving) {
        leave(w, false);
    } else if (is_restart_next(w)) {
        begin_stage(w);
    } else {
        maintain(w);
    }
}

/* Until it is over, or something happens. */
static void walk_change(struct walker *w)
{
    sim_time when;
    (void)next(w, &when);
    const sim_time ns = when - w->now < w->change_left ? when - w->now : w->change_left;
    w->change_left -= ns;
    walk_on(w, ns, ACCOUNT_PLANNED);
}

/* Or is about to be. */
static bool is_saved(const struct walker *w)
{
    const bool is_pending = w->pending[0].steps >= 0;
    return w->in_period == 0 &&
           (w->plan->tier_count == 0 || is_pending || walker_newest(w, 0).steps == w->steps);
}

/* What comes at the end of a step, a write or a pause. */
static void do_next(struct walker *w)
{
    const int64_t period = walker_stage(w)->period;
    const int64_t evaluation = w->plan->evaluation_every;
    const bool is_stopping = w->is_leaving || w->is_maintained || is_restart_next(w);
    const uint32_t tier = w->leaving_tier;
    const bool is_unsaved = w->is_leaving ? walker_newest(w, tier).steps != w->steps &&
                                                w->pending[tier].steps != w->steps
                                          : is_stopping && !is_saved(w);
    if (w->change_left > 0) {
        walk_change(w);
    } else if (evaluation > 0 && w->steps % evaluation == 0 && w->evaluated < w->steps) {
        w->evaluated = w->steps;
        (void)walk(w, w->plan->evaluation_ns, ACCOUNT_PLANNED);
    } else if (period > 0 && (w->in_period >= period || is_unsaved)) {
        write_checkpoint(w);
    } else if (is_stopping) {
        stop_as_planned(w);
    } else if (stage_with(w, w->steps) != w->stage) {
        w->stage++;
        w->change_left = walker_stage(w)->change_ns;
    } else {
        const struct history_step step = step_now(w);
        if (walk(w, step.step_ns, ACCOUNT_LOST)) {
            keep_step(w, &step);
        }
    }
}

static void go_on(struct walker *w)
{
    while (!ends(w)) {
        settle(w);
        sim_time when;
        enum next_kind kind = next(w, &when);
        while (when <= w->now && !ends(w)) { /* what is due before anything begins */
            (void)happens(w, kind, false);
            kind = next(w, &when);
        }
        if (ends(w)) {
            return;
        }
        settle(w);
        do_next(w);
    }
}

static struct walker *walker_new(struct arena *arena, const struct history_plan *plan,
                                 uint64_t seed, uint64_t repetition)
{
    struct walker *w = arena_alloc(arena, sizeof *w);
    const struct history_maintenance *maintenance = &plan->maintenance;
    *w = (struct walker){.arena = arena,
                         .plan = plan,
                         .seed = seed,
                         .repetition = repetition,
                         .corrupted_at = -1,
                         .maintenance_at = maintenance->every > 0 ? maintenance->first : INT64_MAX,
                         .times = arena_array(arena, plan->class_count, sizeof *w->times)};
    for (uint32_t i = 0; i < HISTORY_TIERS_MAX; i++) {
        w->pending[i].steps = -1;
    }
    const struct rng_key key = {.seed = seed, .rank = repetition};
    for (uint32_t i = 0; i < plan->class_count; i++) {
        failure_times_begin(&w->times[i], arena, &plan->classes[i], key, plan->horizon);
    }
    return w;
}

void slow_history_run(struct arena *arena, const struct history_plan *plan, uint64_t seed,
                      uint64_t repetition, struct history_outcome *outcome)
{
    *outcome = (struct history_outcome){
        .stage_ns = arena_array(arena, plan->stage_count, sizeof *outcome->stage_ns),
        .unheld_s = arena_array(arena, plan->stage_count, sizeof *outcome->unheld_s),
        .interruptions = arena_array(arena, plan->class_count, sizeof *outcome->interruptions)};
    struct walker *w = walker_new(arena, plan, seed, repetition);
    w->out = outcome;
    pass(w, ACCOUNT_PLANNED, plan->startup_ns, false);
    w->fresh_at = w->now;
    go_on(w);
    pass(w, ACCOUNT_PLANNED, plan->teardown_ns, false);
    for (int64_t i = 0; i < w->steps; i++) {
        const uint32_t stage = stage_with(w, i);
        book(w, stage, ACCOUNT_USEFUL, w->done[i].useful_ns);
        book(w, stage, ACCOUNT_DATA_STALL, w->done[i].stall_ns);
        book(w, stage, ACCOUNT_DEGRADED, w->done[i].degraded_ns);
    }
    outcome->end = w->now;
    outcome->steps = w->steps;
    outcome->checkpoints = w->periods;
}
