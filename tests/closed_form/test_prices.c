/* The law that each price of `price` is in what a run costs, and in the sums that `explain` prints
 * of it. Quickstart: 64 H100 on 8 nodes, steps as measured (10 s). */
#include "base/absent.h"
#include "base/arena.h"
#include "input/scenario_keys.h"
#include "run/run.h"
#include "support/assert_close.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

enum { SETS_MAX = 16 };

#define OWN "price.own={gpu: 30000 USD, life: 4 years}"
#define BOUGHT "price.terms=own"

/* Where 3 of its unit would be refused, or change nothing for another key's sake. */
static const struct case_of_key {
    const char *path, *value, *with, *more;
} cases[] = {
    {"price.spot_gpu_hour", "3 USD", "price={terms: spot, spot_gpu_hour: 1 USD}", NULL},
    {"price.own.gpu", "40000 USD", OWN, BOUGHT},
    {"price.own.node", "200000 USD", "price.own={node: 250000 USD, life: 4 years}", BOUGHT},
    {"price.own.hosting", NULL, OWN, BOUGHT},
    {"price.own.electricity", NULL, OWN, BOUGHT},
};

static bool is_price(const struct schema_row *row)
{
    return row->kind == SCHEMA_QUANTITY && strncmp(row->path, "price.", 6) == 0 &&
           (row->dimension == DIM_USD || row->dimension == DIM_USD_PER_KWH ||
            row->dimension == DIM_USD_PER_MONTH);
}

static const char *three_of(enum dimension dimension)
{
    return dimension == DIM_USD           ? "3 USD"
           : dimension == DIM_USD_PER_KWH ? "3 USD/kWh"
                                          : "3 USD/month";
}

/* What is wrong where the cost that is told is not that of the last sum of `explain`. */
static void assert_is_summed(struct arena *arena, const struct scenario *scenario,
                             const struct result *result)
{
    struct ledger *ledger = ledger_new(arena);
    struct run_result again = result->run;
    run_add_up(scenario, &result->step, ledger, &again);
    const struct ledger_line *cost = NULL;
    for (uint32_t i = 0; i < ledger_line_count(ledger); i++) {
        const struct ledger_line *line = ledger_line(ledger, i);
        cost = strncmp(line->label, "cost", 4) == 0 ? line : cost;
    }
    assert_non_null(cost);
    assert_close(cost->value, result->run.cost_usd, 1e-9);
}

static double cost_with(struct arena *arena, const struct case_of_key *of, const char *failures,
                        const char *set)
{
    const char *all[] = {"run.tokens=4194304000",
                         "run.step_time=10 s",
                         "run.checkpoint={every: 360 steps, mode: blocking}",
                         "run.repetitions=4",
                         failures,
                         of->with,
                         of->more,
                         set};
    const char *sets[SETS_MAX] = {NULL};
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i] != NULL) {
            sets[count++] = all[i];
        }
    }
    const struct scenario *scenario = fixture_file(arena, "scenarios/quickstart.yaml", sets);
    const struct result *result = fixture_predict(arena, scenario);
    assert_false(is_absent(result->run.cost_usd));
    assert_is_summed(arena, scenario, result);
    return result->run.cost_usd;
}

static void check(struct arena *arena, const struct schema_row *row)
{
    struct case_of_key of = {row->path, NULL, NULL, NULL};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        of = strcmp(cases[i].path, row->path) == 0 ? cases[i] : of;
    }
    const char *value = of.value != NULL ? of.value : three_of(row->dimension);
    const char *set = arena_printf(arena, "%s=%s", row->path, value);
    static const char *const failures[] = {
        "run.failures=false", "run.failures={failures: inline, counts: interruptions, classes: "
                              "[{name: a, of: gpu, rate: {mttf: 640 h}, takes: process}]}"};
    for (uint32_t i = 0; i < 2; i++) {
        const double before = cost_with(arena, &of, failures[i], NULL);
        const double after = cost_with(arena, &of, failures[i], set);
        if (!(after > before || after < before)) {
            fail_msg("%s=%s does not move the cost, %s", row->path, value, failures[i]);
        }
    }
}

static void each_price_is_in_the_cost_and_in_its_sums(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    uint32_t count = 0;
    for (uint32_t i = 0; i < scenario_schema.count; i++) {
        if (is_price(&scenario_schema.rows[i])) {
            check(arena, &scenario_schema.rows[i]);
            count++;
        }
    }
    assert_true(count >= 9);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_price_is_in_the_cost_and_in_its_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
