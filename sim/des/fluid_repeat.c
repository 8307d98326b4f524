/* The fluid's part of a cycle that comes again (engine_repeat.c). */
#include "des/fluid_state.h"

#include "base/arena.h"

#include <string.h>

enum { FLOW_WORDS = 6 };

struct fluid_counts {
    uint64_t *done_bytes; /* [flows] */
    struct fluid_statistics statistics;
};

size_t fluid_state_words(const struct fluid *fluid)
{
    return 2 + fluid->flow_count * FLOW_WORDS;
}

/* How many flows are under way, and those, in their order. When the next of them ends follows from
 * that. Rates do not depend on which of two links binds a flow that both could, but the work of the
 * next solve does: its counts are to come again, too. */
size_t fluid_state(const struct fluid *fluid, uint64_t *words)
{
    const sim_time now = event_now(fluid->queue);
    size_t count = 1;
    sim_assert(fluid->dirty_count == 0 && fluid->ended_count == 0);
    for (size_t i = 0; i < fluid->flow_count; i++) {
        struct flow flow = fluid->flows[i];
        if (flow.state == FLOW_IDLE) {
            continue;
        }
        fluid_settle(&flow, now);
        words[count++] = i;
        words[count++] = (uint64_t)flow.remaining;
        words[count++] = (uint64_t)(flow.remaining >> 64);
        words[count++] = (uint64_t)flow.rate;
        words[count++] = (uint64_t)flow.cap;
        words[count++] = flow.bound;
    }
    words[0] = count;
    words[count++] = fluid->posted_time < 0 ? UINT64_MAX : (uint64_t)(fluid->posted_time - now);
    return count;
}

uint32_t fluid_posted_version(const struct fluid *fluid)
{
    return fluid->posted_version;
}

struct fluid_counts *fluid_counts_new(struct arena *arena, const struct fluid *fluid)
{
    struct fluid_counts *counts = arena_alloc(arena, sizeof *counts);
    counts->done_bytes = arena_array(arena, fluid->flow_count + 1, sizeof *counts->done_bytes);
    return counts;
}

void fluid_count(const struct fluid *fluid, struct fluid_counts *counts)
{
    for (size_t i = 0; i < fluid->flow_count; i++) {
        counts->done_bytes[i] = fluid->records[i].done_bytes;
    }
    counts->statistics = fluid->statistics;
}

/* Not our own time, which it did not cost, nor a maximum. */
static void grow_statistics(struct fluid_statistics *now, const struct fluid_statistics *before,
                            uint32_t times)
{
    now->solves += times * (now->solves - before->solves);
    now->fills += times * (now->fills - before->fills);
    now->few += times * (now->few - before->few);
    now->flows_filled += times * (now->flows_filled - before->flows_filled);
    now->flows_changed += times * (now->flows_changed - before->flows_changed);
    now->alone += times * (now->alone - before->alone);
    now->direct += times * (now->direct - before->direct);
    now->stale_events += times * (now->stale_events - before->stale_events);
}

void fluid_move_on(struct fluid *fluid, const struct fluid_counts *before, uint32_t times,
                   sim_time shift)
{
    for (size_t i = 0; i < fluid->flow_count; i++) {
        struct flow_record *record = &fluid->records[i];
        record->done_bytes += times * (record->done_bytes - before->done_bytes[i]);
        fluid->flows[i].settled_at += shift;
    }
    for (uint32_t i = 0; i < fluid->due_count; i++) {
        fluid->due[i].time += fluid->due[i].time < SIM_TIME_MAX ? shift : 0;
    }
    fluid->posted_time += fluid->posted_time >= 0 ? shift : 0;
    grow_statistics(&fluid->statistics, &before->statistics, times);
}
