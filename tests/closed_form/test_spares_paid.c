/* What nodes cost that stand ready: money and power, by hand.
 */
#include "run/money.h"

#include "base/absent.h"
#include "input/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/assert_close.h"
#include "support/money_of.h"

static struct scenario powered(void)
{
    return (struct scenario){
        .gpus = 8,
        .nodes = 1,
        .gpu = {.tdp_w = 700, .busy_power_fraction = 0.8, .idle_power_fraction = 0.2},
        .cluster = {.gpus_per_node = 8,
                    .host_power_w = 2000,
                    .nodes_per_leaf = 1,
                    .oversubscription = 1},
        .price = {.pue = 1.25}};
}

static const struct paid_case {
    struct price price;
    int64_t hot;
    double nodes, usd_per_hour, hours; /* of the spares that are paid, */
    double job_usd_per_hour;           /* and of the job */
} paid_cases[] = {
    {{.terms = TERMS_RENT, .spares = 1, .cold_spares = 1}, 2, 3, 2, 10, 2},
    {{.terms = TERMS_RENT, .spares = 0.75, .cold_spares = 0.25}, 2, 1.75, 2, 10, 2},
    {{.terms = TERMS_RENT, .spares = 0.75, .cold_spares = 0.25}, -1, 2.25, 2, 10, 2},
    {{.terms = TERMS_RENT, .spares = 0.75, .cold_spares = 0.25}, 0, 0.75, 2, 10, 2},
    {{.terms = TERMS_RENT, .spares = 0.75, .cold_spares = 0.25}, 4, 2.25, 2, 10, 2},
    {{.terms = TERMS_RESERVED,
      .spares = 1,
      .cold_spares = 1,
      .reserved_discount = 0.5,
      .reserved_term_s = 20 * 3600},
     2,
     3,
     1,
     20,
     1},
    {{.terms = TERMS_SPOT, .spares = 1, .cold_spares = 1, .spot_gpu_hour_usd = 1}, 2, 3, 1, 10, 1},
    {{.terms = TERMS_OWN,
      .spares = 1,
      .cold_spares = 1,
      .own = {.gpu_usd = 10000, .life_s = 1e4 * 3600, .spares = 0.5, .utilisation = 1}},
     2,
     2,
     1,
     10,
     1.5},
    {{.terms = TERMS_OWN,
      .spares = 1,
      .cold_spares = 1,
      .own = {.gpu_usd = 10000, .life_s = 1e4 * 3600, .spares = 2, .utilisation = 1}},
     2,
     0,
     1,
     10,
     3},
};

/* Two nodes of 8 GPUs at 2 USD an hour for 10 hours are 320 USD. Beside them stand 3 spares, 2 of
 * them hot: as nodes that work 3 x 8 x 10 x 2 = 480 USD, at 75 % and 25 % (2 x 0.75 + 0.25) x 160 =
 * 280 USD. Reserved for 20 hours at half the price as much; on spot at 1 USD half of it. An owner
 * pays what an hour comes to, of those beyond what is bought anyhow: 50 % of two nodes is one. At
 * 10,000 USD a GPU over 10,000 h that is 1 USD an hour for each, 1.50 USD with its half of a spare
 * for one of the job's, and 1 USD for a spare, which needs none. Where nothing fails there are
 * none. */
static void spares_are_paid_as_nodes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof paid_cases / sizeof *paid_cases; i++) {
        const struct paid_case *row = &paid_cases[i];
        struct scenario scenario = powered();
        scenario.gpus = 16;
        scenario.nodes = 2;
        scenario.price = row->price;
        scenario.price.gpu_hour_usd = 2;
        scenario.price.pue = 1.25;
        scenario.recovery.spares = 3;
        scenario.recovery.hot_spares = row->hot;
        const struct money_use ten = {.wall_s = 10 * 3600, .held_s = 10 * 3600};
        const double job_usd = 16 * row->hours * row->job_usd_per_hour;
        assert_close(cost_usd(&scenario, ten), job_usd, 1e-12);
        assert_close(spares_usd(&scenario, 10 * 3600), 0, 1e-12);
        scenario.failures.name = "some";
        const double usd = row->nodes * 8 * row->hours * row->usd_per_hour;
        assert_close(spares_usd(&scenario, 10 * 3600), usd, 1e-12);
        assert_close(cost_usd(&scenario, ten), job_usd + usd, 1e-12);
        /* as long as the run, though the job holds its nodes for four hours of it */
        const struct money_use four = {.wall_s = 10 * 3600, .held_s = 4 * 3600};
        const bool is_reserved = row->price.terms == TERMS_RESERVED;
        assert_close(cost_usd(&scenario, four), (is_reserved ? job_usd : 0.4 * job_usd) + usd,
                     1e-12);
        scenario.price.gpu_hour_usd = ABSENT;
        if (row->price.terms == TERMS_RENT) {
            assert_true(is_absent(spares_usd(&scenario, 10 * 3600)));
        }
    }
}

/* A hot spare draws what a node that waits does, 1.25 x (8 x 140 + 2,000) = 3,900 W, in steps and
 * out of them; a cold one nothing. It is a component of each account, of 3.12 kW before the
 * facility's part. */
static void hot_spares_draw_what_waits(void **state)
{
    (void)state;
    struct scenario scenario = powered();
    scenario.price.carbon_kg_per_kwh = ABSENT;
    scenario.price.gpu_hour_usd = ABSENT;
    const struct step_result busy = {.step_ns = 1000, .gpu_ns = {[CAUSE_COMPUTE] = 8000}};
    scenario.recovery.spares = 3;
    scenario.recovery.hot_spares = 2;
    assert_close(power_w(&scenario, &busy), 8100, 1e-12);
    scenario.failures.name = "some";
    assert_close(power_w(&scenario, &busy), 8100 + 2 * 3900, 1e-12);
    assert_close(waiting_power_w(&scenario), 3 * 3900, 1e-12);
    struct run_result run = {.gpu_hours = 8,
                             .account_s = {[ACCOUNT_USEFUL] = 3600, [ACCOUNT_CHECKPOINT] = 1800}};
    add_money(&scenario, &busy, 5400, &run);
    assert_close(run.accounts[0].component_kwh[COMPONENT_SPARE], 2 * 3.12, 1e-12);
    assert_close(run.accounts[1].component_kwh[COMPONENT_SPARE], 3.12, 1e-12);
    assert_close(run.energy_kwh, 8.1 + 7.8 + 0.5 * 11.7, 1e-12);
    scenario.recovery.hot_spares = -1;
    assert_close(waiting_power_w(&scenario), 4 * 3900, 1e-12);
}

/* What one GPU costs its owner, and when it pays to buy one, does not hang on spares beside it: at
 * 0.10 USD a kWh, 80 % of the time, spares would add their electricity to both. */
static void a_gpu_is_bought_or_not_whatever_stands_by(void **state)
{
    (void)state;
    struct scenario scenario = powered();
    scenario.price = (struct price){.pue = 1.25,
                                    .gpu_hour_usd = 2,
                                    .carbon_kg_per_kwh = ABSENT,
                                    .spares = 1,
                                    .cold_spares = 1,
                                    .own = {.is_told = true,
                                            .gpu_usd = 30000,
                                            .life_s = 5e4 * 3600,
                                            .electricity_usd_per_kwh = 0.1,
                                            .utilisation = 0.8}};
    scenario.recovery.spares = 3;
    scenario.recovery.hot_spares = 3;
    const struct step_result busy = {.step_ns = 1000, .gpu_ns = {[CAUSE_COMPUTE] = 8000}};
    struct run_result runs[2];
    double hour_usd[2];
    for (uint32_t i = 0; i < 2; i++) {
        scenario.failures.name = i == 0 ? NULL : "some";
        runs[i] = (struct run_result){.gpu_hours = 8, .account_s = {[ACCOUNT_USEFUL] = 3600}};
        add_money(&scenario, &busy, 3600, &runs[i]);
        hour_usd[i] = owned_hour_usd(&scenario);
    }
    assert_true(runs[1].energy_kwh > 1.5 * runs[0].energy_kwh);
    assert_close(hour_usd[1], hour_usd[0], 1e-12);
    assert_close(runs[1].break_even_months, runs[0].break_even_months, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spares_are_paid_as_nodes),
        cmocka_unit_test(hot_spares_draw_what_waits),
        cmocka_unit_test(a_gpu_is_bought_or_not_whatever_stands_by),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
