/* The one phrase that says what a step is bound by. */
#include "base/arena.h"
#include "train/step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Ten GPUs, a step of 1,000 ns: 51 % compute, 39 % exposed PP, 9 % bubble and 1 % exposed DP. */
#define GPUS 10

static struct step_result result_of(double used, uint32_t causes)
{
    struct step_result result = {
        .step_ns = 1000,
        .links_ns = 1000,
        .busiest_link = "NIC out",
        .busiest_link_utilisation = used,
        .busiest_link_causes = causes,
    };
    result.gpu_ns[CAUSE_COMPUTE] = 5100;
    result.gpu_ns[CAUSE_EXPOSED_PP] = 3900;
    result.gpu_ns[CAUSE_BUBBLE] = 900;
    result.gpu_ns[CAUSE_EXPOSED_DP] = 100;
    return result;
}

static void assert_bound(const struct step_result *result, const char *expected)
{
    struct arena *arena = arena_new();
    assert_string_equal(step_bound_by(arena, result, GPUS), expected);
    arena_free(arena);
}

static const char by_compute[] = "compute (51 % of the step), then exposed PP communication (39 %)";

static void a_link_that_is_used_nearly_all_the_time_bounds_what_waits_for_it(void **state)
{
    (void)state;
    const uint32_t pp = 1U << CAUSE_EXPOSED_PP;
    struct step_result result = result_of(0.97, pp | 1U << CAUSE_EXPOSED_TP);
    assert_bound(&result, "NIC out (97 % of the step), then compute (51 %)");
    result = result_of(0.90, pp);
    assert_bound(&result, "NIC out (90 % of the step), then compute (51 %)");
    result = result_of(0.89, pp);
    assert_bound(&result, by_compute);
}

static void a_full_link_that_nobody_waits_for_bounds_nothing(void **state)
{
    (void)state;
    struct step_result result = result_of(0.97, 1U << CAUSE_EXPOSED_EP);
    assert_bound(&result, by_compute);
    result = result_of(0.97, 1U << CAUSE_EXPOSED_DP); /* 1 % waits for it */
    assert_bound(&result, "NIC out (97 % of the step), then compute (51 %)");
    result.gpu_ns[CAUSE_EXPOSED_DP] = 99; /* less */
    result.gpu_ns[CAUSE_BUBBLE] = 901;
    assert_bound(&result, by_compute);
}

static void use_is_of_the_whole_step(void **state)
{
    /* 97 % of 900 ns in which links were used are 87.3 % of a step that waits 100 ns for data. */
    (void)state;
    struct step_result result = result_of(0.97, 1U << CAUSE_EXPOSED_PP);
    result.links_ns = 900;
    assert_bound(&result, by_compute);
    result.links_ns = 950; /* 92.15 % */
    assert_bound(&result, "NIC out (92 % of the step), then compute (51 %)");
}

static void without_a_full_link_the_largest_cause_is_named(void **state)
{
    (void)state;
    struct step_result result = result_of(0.4, 1U << CAUSE_EXPOSED_PP);
    result.gpu_ns[CAUSE_COMPUTE] = 3800;
    result.gpu_ns[CAUSE_BUBBLE] = 2200;
    assert_bound(&result, "exposed PP communication (39 % of the step)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_that_is_used_nearly_all_the_time_bounds_what_waits_for_it),
        cmocka_unit_test(a_full_link_that_nobody_waits_for_bounds_nothing),
        cmocka_unit_test(use_is_of_the_whole_step),
        cmocka_unit_test(without_a_full_link_the_largest_cause_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
