/* What a quote makes of a rate of a box: each draw takes a parabola through three simulated steps
 * (study/quote/quote_rates). The slow way simulates a step for each draw.
 */
#include "base/absent.h"
#include "base/arena.h"
#include "run/draws.h"
#include "run/result.h"
#include "study/quote/quote_rates.h"
#include "study/why_rates.h"
#include "support/assert_close.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char job[] = "scenario: a job\n"
                          "model: llama3-8b\n"
                          "cluster: b200-3200\n"
                          "gpus: 16\n"
                          "software: megatron-2025\n"
                          "parallel: {tp: 2, zero: 1}\n"
                          "batch: {global: 64, micro: 1, sequence_length: 8192}\n";

enum { DRAWS = 60 };

/* ln of the step with some keys set, in an arena that is emptied behind it. */
static double ln_step(struct arena *arena, const char *const *sets, uint32_t count)
{
    const struct scenario *scenario = fixture_scenario(
        arena, &(struct fixture_source){.text = job, .sets = sets, .set_count = count});
    const struct result *result = fixture_predict(arena, scenario);
    assert_true(result_has_step(result));
    return log((double)result->step.step_ns);
}

/* ABSENT: no key can be that. */
static double ln_step_at(const struct why_rate *rate, const struct why_machine *machine,
                         double times)
{
    struct arena *arena = arena_new();
    const char *sets[WHY_SETS_MAX];
    const uint32_t count = rate->sets(arena, machine, times, sets);
    const double step = count > 0 ? ln_step(arena, sets, count) : ABSENT;
    arena_free(arena);
    return step;
}

/* Of products, which are most of the step, and links, which other work hides in part; as wide as
 * boxes of B200 differ, and three times as wide as links do. In how many draws the step is longer
 * than some other offer's differs by those alone that lie within what the parabola is off. */
static void a_parabola_is_as_good_as_a_step_for_each_draw(void **state)
{
    (void)state;
    static const char *const names[] = {"large products", "links in the node"};
    static const double deviations[] = {0.13, 0.06};
    struct arena *arena = arena_new();
    const struct scenario *scenario =
        fixture_scenario(arena, &(struct fixture_source){.text = job});
    const struct why_machine machine = why_machine_of(scenario);
    const double base = ln_step(arena, NULL, 0);
    for (size_t n = 0; n < 2; n++) {
        const struct why_rate *rate = NULL;
        for (uint32_t i = 0; i < why_rate_count(); i++) {
            rate = strcmp(why_rate_of(i)->name, names[n]) == 0 ? why_rate_of(i) : rate;
        }
        const double d = deviations[n];
        const double low = ln_step_at(rate, &machine, exp(-sqrt(3) * d)) - base;
        const double high = ln_step_at(rate, &machine, exp(d)) - base;
        struct store_row rows[2];
        memset(rows, 0, sizeof rows);
        for (int i = 0; i < 2; i++) {
            rows[i].has_run = true;
            rows[i].memory_fits = true;
            rows[i].step_s = exp(base + (i == 0 ? low : high));
        }
        struct quote_rate_of_box item = {.rate = rate,
                                         .deviation = d,
                                         .nodes = {-sqrt(3), 1},
                                         .points = {0, 1},
                                         .node_count = 2};
        struct quote_rates rates = {&item, 1};
        const struct quote_asked asked = {.step_s = exp(base)};
        quote_rates_fit(&asked, 1, rows, 2, &rates);
        double z[DRAWS];
        draws_normals(1, "a test", z, DRAWS);
        int slow_wins = 0, wins = 0, held = 0;
        const double other = 0.01; /* ln of the other offer's, over this one's */
        for (int i = 0; i < DRAWS; i++) {
            const double at = ln_step_at(rate, &machine, exp(z[i] * d));
            if (is_absent(at)) { /* there the parabola goes on */
                continue;
            }
            const double slow = at - base;
            const double told = quote_rate_moves(&item, z[i]);
            assert_true(fabs(told - slow) < 0.002 + 0.01 * fabs(slow));
            held++;
            slow_wins += slow > other;
            wins += told > other;
        }
        assert_true(abs(slow_wins - wins) <= 1 && held >= DRAWS / 2);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parabola_is_as_good_as_a_step_for_each_draw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
