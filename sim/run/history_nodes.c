/* Nodes that are away: in repair from when they broke until they are back.
 */
#include "run/history_state.h"

void history_break_nodes(struct history *h, uint32_t class, uint64_t ordinal, sim_time when)
{
    const struct failure_class *of = &h->plan->classes[class];
    const uint32_t nodes = failure_nodes(&h->times[class], ordinal);
    for (uint32_t i = 0; i < nodes; i++) {
        const uint64_t number = of->are_repaired_as_one ? 0 : i;
        const struct rng_key key = failure_key(&h->times[class], ordinal, DRAW_REPAIR + number);
        time_heap_push(&h->repairs, h->arena, when + law_draw(&of->repair, &key));
    }
    const uint32_t broken = (uint32_t)h->repairs.count;
    h->out->broken_most = broken > h->out->broken_most ? broken : h->out->broken_most;
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

bool history_has_to_wait(const struct history *h)
{
    return h->plan->is_elastic ? history_replicas_short(h) >= history_stage_of(h)->replicas
                               : nodes_short(h) > 0;
}
