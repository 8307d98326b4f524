/* Nodes that are away: in repair from when they broke until they are back.
 */
#include "run/history/history_state.h"

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

static void add_away(struct history *h, sim_time until)
{
    time_heap_push(&h->repairs, h->arena, until);
    h->taken++;
    const uint32_t broken = (uint32_t)h->repairs.count;
    h->out->broken_most = broken > h->out->broken_most ? broken : h->out->broken_most;
}

/* What was repaired as one comes back together, and one hand did it. */
void history_break_nodes(struct history *h, uint32_t class, uint64_t ordinal, sim_time when)
{
    const struct failure_times *times = &h->times[class];
    const uint32_t nodes = failure_nodes(times, ordinal);
    sim_time until = when;
    history_take_repaired(h); /* the job starts anew, with all that are there */
    for (uint32_t i = 0; i < nodes; i++) {
        if (i == 0 || !times->of->are_repaired_as_one) {
            until = repaired_at(h, when, failure_repair(times, ordinal, i));
        }
        add_away(h, until);
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
        h->plan->classes[class].nodes == 0 || h->plan->classes[class].effect == FAILURE_CORRUPTS) {
        return false;
    }
    const struct rng_key key = history_attempt_key(h, attempt, ATTEMPT_BLAMES);
    const struct rng_key returns = history_attempt_key(h, attempt, ATTEMPT_INSPECTION);
    if (rng_uniform(&key) >= h->plan->wrong_diagnosis) {
        return false;
    }
    add_away(h, law_after(h->now, law_draw(&h->plan->inspection, &returns)));
    return true;
}

/* ---- who is there -----------------------------------------------------------------------------
 */

/* Hot ones were kept as long as there were spares, before those that are missing were taken. */
sim_time history_cold_start_ns(const struct history *h, const struct attempt *attempt)
{
    const size_t before = h->repairs.count > h->taken ? h->repairs.count - h->taken : 0;
    const size_t left = h->plan->spares > before ? h->plan->spares - before : 0;
    const size_t replaced = h->plan->is_elastic && h->taken > left ? left : h->taken;
    const size_t hot = h->plan->hot_spares < left ? h->plan->hot_spares : left;
    const struct rng_key key =
        failure_key(&h->times[attempt->class], attempt->ordinal, DRAW_COLD_START);
    return replaced > hot ? law_draw(&h->plan->cold_start, &key) : 0;
}

void history_take_repaired(struct history *h)
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

uint32_t history_replicas_short(const struct history *h)
{
    const uint32_t of_replica = history_stage_of(h)->nodes_of_replica;
    return of_replica > 0 ? (nodes_short(h) + of_replica - 1) / of_replica : 0;
}

uint32_t history_displaced(const struct history *h)
{
    const size_t away = h->repairs.count;
    return !h->plan->displaces ? 0 : away < h->plan->spares ? (uint32_t)away : h->plan->spares;
}

bool history_has_to_wait(const struct history *h)
{
    return h->plan->is_elastic ? history_replicas_short(h) >= history_stage_of(h)->replicas
                               : nodes_short(h) > 0;
}
