/* A lower bound that is one: against simulated steps of random scenarios. */
#include "base/arena.h"
#include "support/assert_close.h"
#include "support/random_scenario.h"
#include "support/seeds.h"
#include "train/bound/bound.h"
#include "train/step.h"

#include <stdio.h>
#include <stdlib.h>

enum { SCENARIOS = 1000 };

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Everything that random scenarios have, each kind of group, schedule, ZeRO stage: the bound is at
 * most the simulated step, to the nanosecond, and not worth nothing: half of what is simulated at
 * the median. */
static void no_simulated_step_is_shorter_than_its_bound(void **state)
{
    (void)state;
    static double shares[SCENARIOS];
    uint32_t broken = 0;
    for (uint64_t number = 0; number < SCENARIOS; number++) {
        struct arena *arena = arena_new();
        struct scenario *scenario = random_scenario(arena, 77, number);
        struct step_result step;
        step_simulate(arena, scenario, &(struct step_request){.folds = true}, &step);
        const struct bound bound = bound_step(scenario);
        shares[number] = (double)bound.step_ns / (double)step.step_ns;
        if (bound.step_ns > step.step_ns) {
            broken++;
            fprintf(stderr, "scenario %llu: bound %.6f of the step\n%s\n",
                    (unsigned long long)number, shares[number],
                    broken < 3 ? random_scenario_text(arena, 77, number) : "");
        }
        arena_free(arena);
    }
    qsort(shares, SCENARIOS, sizeof *shares, compare);
    fprintf(stderr, "bound over step: p1 %.3f p10 %.3f median %.3f p90 %.3f most %.6f\n",
            shares[SCENARIOS / 100], shares[SCENARIOS / 10], shares[SCENARIOS / 2],
            shares[SCENARIOS - SCENARIOS / 10], shares[SCENARIOS - 1]);
    assert_int_equal(broken, 0);
    assert_true(shares[SCENARIOS / 2] > 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_simulated_step_is_shorter_than_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
