/* Which classes of failures an event has to look at, and whose failure comes first.
 *
 * The earliest is found by looking at all, once after each failure: ten to twenty numbers, where a
 * heap would move as many. It is kept until an instant of any class moves.
 */
#include "run/history/history_state.h"

#include "base/arena.h"
#include "base/check.h"

static bool breaks_nodes(const struct failure_class *class)
{
    return class->effect == FAILURE_KILLS || (class->effect == FAILURE_SLOWS && !class->heals);
}

static bool is_of_kind(const struct failure_class *class, enum class_kind kind)
{
    switch (kind) {
    case CLASSES_ALL:
        return true;
    case CLASSES_BREAKING_RESTARTS:
        return class->effect == FAILURE_KILLS && !class->rests;
    case CLASSES_BREAKING_NODES:
        return breaks_nodes(class);
    case CLASSES_RESTING:
        return class->rests;
    case CLASSES_OF_JOB:
        return class->clock.kind == CLOCK_OF_JOB;
    case CLASSES_CORRUPTING:
        return class->effect == FAILURE_CORRUPTS;
    case CLASSES_LEAVING_FEWER:
        return class->takes_away || (class->is_of_nodes && !class->rests && breaks_nodes(class));
    case CLASS_KINDS:
        break;
    }
    sim_assert(false);
    return false;
}

static void list_classes(struct history *h, enum class_kind kind)
{
    const struct history_plan *plan = h->plan;
    struct class_list *list = &h->lists[kind];
    list->items = arena_array(h->arena, plan->class_count, sizeof *list->items);
    for (uint32_t i = 0; i < plan->class_count; i++) {
        if (is_of_kind(&plan->classes[i], kind)) {
            list->items[list->count++] = i;
        }
    }
}

void history_begin_classes(struct history *h, const struct rng_key *key)
{
    const struct history_plan *plan = h->plan;
    for (uint32_t i = 0; i < plan->class_count; i++) {
        failure_times_begin(&h->times[i], h->arena, &plan->classes[i], *key, plan->horizon);
    }
    for (enum class_kind kind = 0; kind < CLASS_KINDS; kind++) {
        list_classes(h, kind);
    }
}

static uint32_t find_earliest(const struct history *h, const struct class_list *list)
{
    uint32_t earliest = HISTORY_NO_CLASS;
    sim_time when = INT64_MAX;
    for (uint32_t i = 0; i < list->count; i++) {
        const sim_time next = h->times[list->items[i]].next;
        earliest = next < when ? list->items[i] : earliest;
        when = next < when ? next : when;
    }
    return earliest;
}

uint32_t history_earliest(struct history *h, enum class_kind kind)
{
    if (!h->is_earliest_known) {
        h->earliest = find_earliest(h, &h->lists[CLASSES_ALL]);
        h->is_earliest_known = true;
    }
    debug_assert(h->earliest == find_earliest(h, &h->lists[CLASSES_ALL]));
    const bool is_asked =
        h->earliest == HISTORY_NO_CLASS || is_of_kind(&h->plan->classes[h->earliest], kind);
    return is_asked ? h->earliest : find_earliest(h, &h->lists[kind]);
}

void history_next_failure(struct history *h, uint32_t class)
{
    failure_times_advance(&h->times[class], h->arena);
    h->is_earliest_known = false;
}

void history_fail_again(struct history *h, uint32_t class, uint64_t ordinal, sim_time when)
{
    failure_times_again(&h->times[class], h->arena, when, ordinal);
    h->is_earliest_known = false;
}

void history_rest(struct history *h, sim_time ns)
{
    const struct class_list *list = &h->lists[CLASSES_RESTING];
    for (uint32_t i = 0; i < list->count; i++) {
        failure_times_rest(&h->times[list->items[i]], ns);
        h->is_earliest_known = false;
    }
}

void history_renew(struct history *h)
{
    const struct class_list *list = &h->lists[CLASSES_OF_JOB];
    for (uint32_t i = 0; i < list->count; i++) {
        failure_times_renew(&h->times[list->items[i]], h->now);
        h->is_earliest_known = false;
    }
}
