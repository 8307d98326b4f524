#include "support/records.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "des/record/engine_critical.h"

static struct engine_record *run(struct arena *arena, const struct engine_system *system,
                                 const struct engine_options *options)
{
    struct engine_record *record = engine_record_new(arena);
    struct engine_options recorded = *options;
    struct engine_outcome outcome;
    recorded.record = record;
    engine_run(arena, system, &recorded, &outcome);
    return record;
}

static void compare_stream(struct engine_record *fast, struct engine_record *each, uint32_t actor,
                           uint32_t stream, struct records_tally *tally)
{
    const struct engine_system *system = engine_record_system(each);
    const uint32_t count = system->programs[system->actors[actor].program].counts[stream];
    uint32_t last = 0; /* of the row seen last, plus one */
    for (uint32_t i = 0; i < count; i++) {
        const struct engine_span one = engine_record_span(fast, actor, stream, i);
        const struct engine_span other = engine_record_span(each, actor, stream, i);
        assert_int_equal(one.start, other.start);
        assert_int_equal(one.end, other.end);
        const struct engine_row row = engine_record_row(fast, actor, stream, i);
        assert_true(row.first <= i && i <= row.last);
        tally->rows += row.last + 1 > last;
        last = row.last + 1;
        const uint32_t after = engine_record_after(fast, actor, stream, one.end - 1);
        assert_true(after <= i);
        assert_true(engine_record_row(fast, actor, stream, after).end >= one.end);
    }
    tally->tasks += count;
}

static void compare_sums(const int64_t *one, const int64_t *other, size_t count)
{
    assert_memory_equal(one, other, count * sizeof *one);
}

static void compare_paths(struct arena *arena, struct engine_record *fast,
                          struct engine_record *each, struct records_tally *tally)
{
    const struct engine_system *system = engine_record_system(each);
    struct engine_critical one, other;
    engine_critical_sum(arena, fast, &one);
    engine_critical_sum(arena, each, &other);
    assert_int_equal(one.length, other.length);
    assert_int_equal(one.legs, other.legs);
    assert_int_equal(other.visited, other.legs);
    assert_int_equal(one.launch, other.launch);
    assert_int_equal(one.slow, other.slow);
    assert_int_equal(one.rounding, other.rounding);
    compare_sums(one.work, other.work, ENGINE_CAUSES_MAX);
    compare_sums(one.interference, other.interference, ENGINE_STREAMS_MAX);
    compare_sums(one.covered, other.covered, ENGINE_STREAMS_MAX);
    compare_sums(one.held_up, other.held_up, ENGINE_STREAMS_MAX);
    compare_sums(one.latency, other.latency, system->transfer_count);
    compare_sums(one.bytes, other.bytes, system->transfer_count);
    compare_sums(one.contention, other.contention, system->transfer_count);
    compare_sums(one.moved[0], other.moved[0], (size_t)system->actor_count * ENGINE_STREAMS_MAX);
    compare_sums(one.on_actor, other.on_actor, system->actor_count);
    tally->legs += one.legs;
    tally->visited += one.visited;
}

void records_compare(const struct engine_system *system, const struct engine_options *fast,
                     struct records_tally *tally)
{
    struct arena *arena = arena_new();
    const struct engine_options slow = {.each_task = true, .each_cycle = true};
    struct engine_record *one = run(arena, system, fast);
    struct engine_record *each = run(arena, system, &slow);
    for (uint32_t i = 0; i < system->actor_count; i++) {
        for (uint32_t s = 0; s < system->stream_count; s++) {
            compare_stream(one, each, i, s, tally);
        }
    }
    compare_paths(arena, one, each, tally);
    arena_free(arena);
}
