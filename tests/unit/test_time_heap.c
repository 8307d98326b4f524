/* Instants in a heap against the same in an array. */
#include "base/arena.h"
#include "base/rng.h"
#include "run/history/time_heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { INSTANTS = 300, LATEST = 100 /* so that many are equal */ };

static size_t counted(const sim_time times[], size_t count, sim_time when)
{
    size_t until = 0;
    for (size_t i = 0; i < count; i++) {
        until += times[i] <= when;
    }
    return until;
}

/* As many are at an instant or before as one by one, whatever the order they came in and after each
 * that was taken out. */
static void those_until_an_instant_are_counted(void **state)
{
    struct arena *arena = *state = arena_new();
    struct time_heap heap = {.count = 0};
    sim_time times[INSTANTS];
    assert_int_equal(time_heap_until(&heap, LATEST), 0);
    for (size_t i = 0; i < INSTANTS; i++) {
        const struct rng_key key = {.seed = 1, .stream = 1, .step = (uint32_t)i};
        times[i] = (sim_time)(rng_uniform(&key) * LATEST);
        time_heap_push(&heap, arena, times[i]);
        assert_int_equal(time_heap_until(&heap, LATEST / 3), counted(times, i + 1, LATEST / 3));
    }
    for (sim_time when = -1; when <= LATEST; when++) {
        assert_int_equal(time_heap_until(&heap, when), counted(times, INSTANTS, when));
    }
    for (size_t taken = 1; heap.count > 0; taken++) {
        const sim_time first = time_heap_first(&heap);
        const size_t until = counted(times, INSTANTS, first);
        time_heap_pop(&heap);
        assert_int_equal(time_heap_until(&heap, first), until - taken);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_until_an_instant_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
