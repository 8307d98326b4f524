/* Nodes in repair, against the machine repairman's model (Feller, An Introduction to Probability
 * Theory and Its Applications, vol. 1, XVII.7): N nodes work, S are spare, r hands repair, each
 * node breaks at the rate a and is repaired at the rate m, both without memory. Of k that are
 * broken,
 *
 *     k -> k + 1 at a * N for k <= S, a * (N - (k - S)) above: what is broken does not break again
 *     k -> k - 1 at m * min(k, r)
 *
 * and the job runs while k <= S. Nodes break while it waits, too.
 */
#include "base/arena.h"
#include "run/run.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>

enum { NODES = 8, SETS_MAX = 8 };

static double share_up(uint32_t spares, uint32_t hands, double a, double m)
{
    double p = 1, all = 1, up = 1;
    for (uint32_t k = 0; k < NODES + spares; k++) {
        const double breaking = k <= spares ? NODES : NODES + spares - k;
        p *= breaking * a / (fmin(k + 1, hands) * m);
        all += p;
        up += k + 1 <= spares ? p : 0;
    }
    return up / all;
}

/* By hand for the first: 8 + 2 nodes, 200 h, 24 h, one hand: each state is 0.12 times as many nodes
 * as can break more likely than the one before, 1, 0.96, 0.9216, 0.8847, 0.7432, 0.5351, 0.3210,
 * 0.1541, 0.0555, 0.0133, 0.0016, of which the first three are 2.8816 of 5.5901: 51.5 %. A
 * population without an end has a load of 0.96 on the hand, and the run made no progress. */
static void what_is_broken_does_not_break_again(void **state)
{
    (void)state;
    const struct {
        uint32_t spares, hands;
        double mttf_h;
    } cases[] = {{2, 1, 200}, {1, 2, 100}, {2, 1, 400}};
    struct arena *arena = arena_new();
    assert_true(fabs(share_up(2, 1, 1 / 200.0, 1 / 24.0) - 0.5155) < 5e-5);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const sets[SETS_MAX] = {
            "run.tokens=2T",
            "run.step_time=4 s",
            "run.repetitions=200",
            "run.checkpoint={every: 15 steps, mode: async}",
            arena_printf(arena,
                         "run.failures={failures: x, counts: interruptions, classes: [{name: a, "
                         "of: node, rate: {mttf: %g h}, takes: node, repair: {mean: 24 h, law: "
                         "exponential}}]}",
                         cases[i].mttf_h),
            arena_printf(arena,
                         "run.recovery={spares: %u, hands: %u, restart: 1 s, detection: {crash: 1 "
                         "s}}",
                         cases[i].spares, cases[i].hands)};
        const struct result *result =
            fixture_predict(arena, fixture_file(arena, "scenarios/quickstart.yaml", sets));
        const struct run_result *run = &result->run;
        const double expected =
            share_up(cases[i].spares, cases[i].hands, 1 / cases[i].mttf_h, 1 / 24.0);
        /* a run begins with all nodes there, which is of weight repair / run */
        assert_true(fabs(run->scheduling_goodput - expected) <
                    4 * run->goodput_spread.error + 24 / (24 * run->days));
        assert_true(run->broken_most <= NODES + cases[i].spares);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_broken_does_not_break_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
