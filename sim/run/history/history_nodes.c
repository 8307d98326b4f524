/* Nodes that are away: in repair from when they broke until they are back, or taken until there are
 * others in their place.
 */
#include "run/history/history_state.h"

#include "base/arena.h"

#include <math.h>

/* When what broke then is mended, by the first hand that is free. */
static sim_time repaired_at(struct history *h, sim_time when, sim_time takes)
{
    struct time_heap *hands = &h->hands;
    if (h->plan->hands == 0) {
        return law_after(when, takes);
    }
    sim_time begin = when;
    if (hands->count == h->plan->hands) {
        const sim_time free = time_heap_first(hands);
        begin = free > when ? free : when;
        time_heap_pop(hands);
    }
    const sim_time end = law_after(begin, takes);
    time_heap_push(hands, h->arena, end);
    return end;
}

/* ---- who is held ------------------------------------------------------------------------------
 */

/* Nodes that were taken away, or will be as there was notice, and are not back at that instant. */
static double unheld_at(const struct history *h, sim_time when)
{
    size_t nodes = h->returns.count - time_heap_until(&h->returns, when);
    for (size_t i = 0; i < h->notice_count; i++) {
        nodes += h->notices[i].nodes;
    }
    return (double)nodes;
}

static size_t away(const struct history *h)
{
    return h->repairs.count + h->returns.count;
}

/* Nodes that the job lacks at that instant, or now if that is later: away, and no spare in their
 * place. It is asked at each failure, so those that are back by then are counted, which are few. */
static uint32_t lacking_at(const struct history *h, sim_time instant)
{
    const sim_time when = instant > h->now ? instant : h->now;
    if (away(h) <= h->plan->spares) {
        return 0;
    }
    const size_t nodes =
        away(h) - time_heap_until(&h->repairs, when) - time_heap_until(&h->returns, when);
    return nodes > h->plan->spares ? (uint32_t)(nodes - h->plan->spares) : 0;
}

/* Of the largest stage, whose failures are drawn; 0: failures of nodes are not told apart. */
static uint32_t nodes_of_job(const struct history *h)
{
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < h->plan->stage_count; i++) {
        nodes = h->plan->stages[i].nodes > nodes ? h->plan->stages[i].nodes : nodes;
    }
    return nodes;
}

/* Of the job's nodes those that are there, 0 to 1: as in the machine repairman's model, what is
 * broken does not break again. */
static double share_there(const struct history *h, sim_time when)
{
    const double nodes = nodes_of_job(h);
    return nodes > 0 ? fmax(1 - lacking_at(h, when) / nodes, 0) : 1;
}

double history_share(const struct history *h, uint32_t class, sim_time when)
{
    const struct failure_class *of = &h->plan->classes[class];
    const double *shares = history_stage_of(h)->shares;
    const double share =
        (shares != NULL ? shares[class] : 1) * (of->is_of_nodes ? share_there(h, when) : 1);
    return of->takes_away && of->clock.components > 0
               ? fmax(share - unheld_at(h, when) / of->clock.components, 0)
               : share;
}

/* Of so many that would be taken, those that are there. */
static uint32_t nodes_held(const struct history *h, uint32_t class, uint32_t nodes, sim_time when)
{
    const double components = h->plan->classes[class].clock.components;
    const double held = round(history_share(h, class, when) * components);
    return components > 0 && held < nodes ? (uint32_t)held : nodes;
}

/* Of so many that would break, those that are there. */
static uint32_t nodes_there(const struct history *h, uint32_t nodes, sim_time when)
{
    const uint32_t all = nodes_of_job(h);
    const uint32_t lacking = lacking_at(h, when);
    const uint32_t there = all > lacking ? all - lacking : 0;
    return all > 0 && there < nodes ? there : nodes;
}

static uint32_t nodes_short(const struct history *h)
{
    return away(h) > h->plan->spares ? (uint32_t)(away(h) - h->plan->spares) : 0;
}

static void count_unheld(struct history *h, sim_time until)
{
    const uint32_t lacks = nodes_short(h);
    const uint32_t unheld = lacks < h->returns.count ? lacks : (uint32_t)h->returns.count;
    if (until > h->unheld_since) {
        h->out->unheld_s[h->at.stage] += unheld * sim_time_to_s(until - h->unheld_since);
        h->unheld_since = until;
    }
}

/* Those that are back were taken before, but for those that were away and back meanwhile. */
static void add_away(struct history *h, struct time_heap *heap, sim_time until)
{
    count_unheld(h, h->now);
    time_heap_push(heap, h->arena, until);
    if (history_is_seen(h)) {
        history_seen_away(h->plan->seen, h->now, until);
    }
    h->taken++;
    const uint32_t broken = (uint32_t)away(h);
    h->out->broken_most = broken > h->out->broken_most ? broken : h->out->broken_most;
}

/* As many nodes as were given notice go at the instant `when`. */
static void take_away(struct history *h, const struct notice *of, sim_time when)
{
    const struct failure_times *times = &h->times[of->class];
    sim_time until = when;
    history_take_repaired(h);
    for (uint32_t i = 0; i < of->nodes; i++) {
        if (i == 0 || !times->of->are_repaired_as_one) {
            until = law_after(when, failure_repair(times, of->ordinal, i));
        }
        add_away(h, &h->returns, until);
    }
}

/* What was repaired as one comes back together, and one hand did it. */
void history_break_nodes(struct history *h, uint32_t class, uint64_t ordinal, sim_time when)
{
    const struct failure_times *times = &h->times[class];
    sim_time until = when;
    if (times->of->takes_away) {
        const uint32_t held = nodes_held(h, class, failure_nodes(times, ordinal), when);
        const struct notice all = {class, held, ordinal, when};
        take_away(h, &all, law_after(when, times->of->notice_ns));
        return;
    }
    const uint32_t nodes = nodes_there(h, failure_nodes(times, ordinal), when);
    history_take_repaired(h); /* the job starts anew, with all that are there */
    for (uint32_t i = 0; i < nodes; i++) {
        if (i == 0 || !times->of->are_repaired_as_one) {
            until = repaired_at(h, when, failure_repair(times, ordinal, i));
        }
        add_away(h, &h->repairs, until);
    }
    sim_time after;
    if (nodes > 0 && until < h->plan->horizon && failure_fails_again(times, ordinal, &after)) {
        history_fail_again(h, class, ordinal, law_after(until, after));
    }
}

/* ---- who is blamed ----------------------------------------------------------------------------
 */

enum { DIAGNOSIS_DRAWS = 4 }; /* of an attempt: whom it blames, how long what follows lasts */

struct rng_key history_attempt_key(const struct history *h, const struct attempt *attempt,
                                   enum attempt_draw draw)
{
    return failure_key(&h->times[attempt->class], attempt->ordinal,
                       DRAW_DIAGNOSIS + (uint64_t)attempt->number * DIAGNOSIS_DRAWS + draw);
}

bool history_blames_another(struct history *h, const struct attempt *attempt)
{
    const uint32_t class = attempt->class;
    if (h->plan->wrong_diagnosis <= 0 || class == HISTORY_NO_CLASS ||
        h->plan->classes[class].nodes == 0 || h->plan->classes[class].effect == FAILURE_CORRUPTS ||
        h->plan->classes[class].takes_away) {
        return false;
    }
    const struct rng_key key = history_attempt_key(h, attempt, ATTEMPT_BLAMES);
    const struct rng_key returns = history_attempt_key(h, attempt, ATTEMPT_INSPECTION);
    if (rng_uniform(&key) >= h->plan->wrong_diagnosis) {
        return false;
    }
    history_take_repaired(h);
    add_away(h, &h->repairs, law_after(h->now, law_draw(&h->plan->inspection, &returns)));
    return true;
}

/* ---- who is there -----------------------------------------------------------------------------
 */

/* Hot ones were kept as long as there were spares, before those that are missing were taken. */
sim_time history_cold_start_ns(const struct history *h, const struct attempt *attempt)
{
    const size_t before = away(h) > h->taken ? away(h) - h->taken : 0;
    const size_t left = h->plan->spares > before ? h->plan->spares - before : 0;
    const size_t replaced = h->plan->is_elastic && h->taken > left ? left : h->taken;
    const size_t hot = h->plan->hot_spares < left ? h->plan->hot_spares : left;
    const struct rng_key key =
        failure_key(&h->times[attempt->class], attempt->ordinal, DRAW_COLD_START);
    return replaced > hot ? law_draw(&h->plan->cold_start, &key) : 0;
}

sim_time history_first_back(const struct history *h)
{
    const sim_time repaired = time_heap_first(&h->repairs);
    const sim_time returned = time_heap_first(&h->returns);
    return repaired < returned ? repaired : returned;
}

void history_take_repaired(struct history *h)
{
    for (sim_time first = history_first_back(h); first <= h->now; first = history_first_back(h)) {
        count_unheld(h, first);
        time_heap_pop(first == time_heap_first(&h->repairs) ? &h->repairs : &h->returns);
    }
}

void history_count_unheld(struct history *h)
{
    history_take_repaired(h);
    count_unheld(h, h->now);
}

uint32_t history_replicas_short(const struct history *h)
{
    const uint32_t of_replica = history_stage_of(h)->nodes_of_replica;
    return of_replica > 0 ? (nodes_short(h) + of_replica - 1) / of_replica : 0;
}

uint32_t history_displaced(const struct history *h)
{
    const size_t nodes = away(h);
    return !h->plan->displaces ? 0 : nodes < h->plan->spares ? (uint32_t)nodes : h->plan->spares;
}

bool history_has_to_wait(const struct history *h)
{
    return h->plan->is_elastic ? history_replicas_short(h) >= history_stage_of(h)->replicas
                               : nodes_short(h) > 0;
}

/* ---- notice -----------------------------------------------------------------------------------
 *
 * A checkpoint that is written now, after the step under way, is safe in time if its blocking part
 * and the way to where it survives take no longer than the notice. If they do, the steps that are
 * lost are the same without one.
 */

static bool can_save(struct history *h, uint32_t level, sim_time notice_ns)
{
    const struct history_stage *stage = history_stage_of(h);
    sim_time block_ns = 0;
    h->leaving_tier = h->plan->tier_count;
    for (uint32_t i = 0; i < h->plan->tier_count; i++) {
        block_ns += stage->tiers[i].block_ns;
        if (h->leaving_tier == h->plan->tier_count && stage->tiers[i].survives >= level) {
            h->leaving_tier = i;
        }
    }
    return h->plan->saves_on_notice && stage->period > 0 && h->leaving_tier < h->plan->tier_count &&
           block_ns + stage->tiers[h->leaving_tier].durable_ns <= notice_ns;
}

void history_give_notice(struct history *h, uint32_t class)
{
    const struct failure_times *times = &h->times[class];
    const sim_time notice_ns = times->of->notice_ns;
    const sim_time leaves = law_after(times->next, notice_ns);
    const uint32_t nodes = failure_nodes(times, times->ordinal);
    const struct notice notice = {class, nodes_held(h, class, nodes, times->next), times->ordinal,
                                  times->next};
    uint32_t level = history_level(h, class, notice.ordinal);
    for (size_t i = 0; i < h->notice_count; i++) {
        const uint32_t before = history_level(h, h->notices[i].class, h->notices[i].ordinal);
        level = before > level ? before : level;
    }
    h->is_leaving = can_save(h, level, notice_ns);
    h->leaves_at = leaves < h->leaves_at ? leaves : h->leaves_at;
    h->notices = arena_grow(h->arena, h->notices, &h->notice_capacity, h->notice_count + 1,
                            sizeof *h->notices);
    h->notices[h->notice_count++] = notice;
    history_next_failure(h, class);
}

void history_take_noticed(struct history *h)
{
    const size_t count = h->notice_count;
    h->notice_count = 0;
    h->leaves_at = INT64_MAX;
    h->is_leaving = false;
    for (size_t i = 0; i < count; i++) {
        const struct notice *notice = &h->notices[i];
        const sim_time notice_ns = h->plan->classes[notice->class].notice_ns;
        h->out->interruptions[notice->class]++;
        take_away(h, notice, law_after(notice->given, notice_ns));
    }
}
