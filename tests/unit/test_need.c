/* What a simulation is told to need of our own memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "input/scenario.h"
#include "train/need.h"

/* A part that all have: folded that is all, whatever the size. Each GPU that is built adds as much
 * as the one before, and more where it has routes of its own, folded or not. */
static void each_gpu_that_is_built_needs_more(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct scenario *scenario = arena_alloc(arena, sizeof *scenario);
    scenario->cluster.routing = ROUTING_ADAPTIVE;
    scenario->gpus = 1000;
    const int64_t folded = step_need_bytes(scenario, true);
    const int64_t built = step_need_bytes(scenario, false) - folded;
    scenario->cluster.routing = ROUTING_ECMP;
    const int64_t routed = step_need_bytes(scenario, true) - folded;
    assert_true(folded > 0 && built > 0 && routed > built);
    assert_int_equal(step_need_bytes(scenario, false) - folded, routed);
    scenario->gpus = 2000;
    assert_int_equal(step_need_bytes(scenario, true) - folded, 2 * routed);
    scenario->cluster.routing = ROUTING_ADAPTIVE;
    assert_int_equal(step_need_bytes(scenario, true), folded);
    assert_int_equal(step_need_bytes(scenario, false) - folded, 2 * built);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_gpu_that_is_built_needs_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
