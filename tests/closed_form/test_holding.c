/* What a job holds beside the GPUs that work: by hand, and through the one way in (run_predict) on
 * racks of 72 of which its groups leave 8. */
#include "run/holding.h"

#include "base/arena.h"
#include "run/money.h"
#include "run/run.h"
#include "support/assert_close.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- by hand --------------------------------------------------------------------------------- */

/* Four racks in segments of 32: 256 GPUs on 64 trays, and two trays of each rack for nobody. */
static struct scenario four_racks(void)
{
    return (struct scenario){
        .gpus = 256,
        .nodes = 64,
        .gpu = {.tdp_w = 1000, .busy_power_fraction = 0.8, .idle_power_fraction = 0.2},
        .cluster = {.gpus_per_node = 4,
                    .host_power_w = 500,
                    .nodes_per_leaf = 64,
                    .oversubscription = 1},
        .failures = {.name = "some"},
        .price = {.pue = 1.25, .gpu_hour_usd = 2, .spares = 1, .cold_spares = 0.5},
        .recovery = {.spares = 3, .hot_spares = -1}};
}

static const struct placement_use eight_trays = {.idle_gpus = 32};

/* 288 GPUs are paid, 4 on each node. Three spares are asked for and eight trays stand ready, all
 * started; of eleven, three are rented beside them; of eleven of which five are to be hot, eight
 * are, and three cold ones are rented. What others have, the job has not: three are rented. */
static void idle_nodes_stand_ready_before_any_is_rented(void **state)
{
    (void)state;
    static const struct {
        enum price_idle idle;
        int64_t asked, hot;
        double gpus;
        int64_t spares, started, rented_hot, rented_cold;
    } rows[] = {
        {IDLE_PAID, 3, -1, 288, 8, 8, 0, 0},  {IDLE_PAID, 11, -1, 288, 11, 11, 3, 0},
        {IDLE_PAID, 11, 5, 288, 11, 8, 0, 3}, {IDLE_PAID, 11, 10, 288, 11, 10, 2, 1},
        {IDLE_NOT, 3, -1, 256, 3, 3, 3, 0},   {IDLE_NOT, 3, 1, 256, 3, 1, 1, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scenario scenario = four_racks();
        scenario.price.idle = rows[i].idle;
        scenario.recovery.spares = rows[i].asked;
        scenario.recovery.hot_spares = rows[i].hot;
        const struct holding holding = holding_of(&scenario, &eight_trays);
        assert_close(holding.gpus, rows[i].gpus, 1e-12);
        assert_close(holding.idle_gpus, rows[i].gpus - 256, 1e-12);
        assert_close(holding.node_gpus, 4, 1e-12);
        assert_int_equal(holding.idle_nodes, rows[i].idle == IDLE_PAID ? 8 : 0);
        assert_int_equal(holding.spares, rows[i].spares);
        assert_int_equal(holding.hot_spares, rows[i].started);
        assert_int_equal(holding.rented_hot, rows[i].rented_hot);
        assert_int_equal(holding.rented_cold, rows[i].rented_cold);
    }
}

/* Three of a node's four GPUs: the node is paid, and what is taken away of it by the hour is all of
 * it; where the rest is somebody else's, three. */
static void a_node_is_paid_whole(void **state)
{
    (void)state;
    struct scenario scenario = four_racks();
    scenario.gpus = 3;
    scenario.nodes = 1;
    const struct placement_use use = {.idle_gpus = 1};
    struct holding holding = holding_of(&scenario, &use);
    assert_close(holding.gpus, 4, 1e-12);
    assert_close(holding.node_gpus, 4, 1e-12);
    assert_int_equal(holding.idle_nodes, 0);
    assert_close(holding_of(&scenario, NULL).gpus, 4, 1e-12);
    scenario.price.idle = IDLE_NOT;
    holding = holding_of(&scenario, &use);
    assert_close(holding.gpus, 3, 1e-12);
    assert_close(holding.node_gpus, 3, 1e-12);
    assert_close(holding_of(&scenario, NULL).gpus, 3, 1e-12);
}

/* A node that waits draws 4 x 200 + 500 W, the site 1.25 times as much: of 64 of the job, 8 idle
 * ones and 3 that are rented beside them 75 x 1,625 W. All kernels at work are 256 x 800 W more
 * than 256 x 200 W. Of the site's hour at work the components are those of 72 nodes and 3 spares,
 * and of it the 288 GPUs at 2 USD cost 576 USD, the 3 spares of 4 another 24. */
static void idle_nodes_draw_and_cost_as_those_that_wait(void **state)
{
    (void)state;
    struct scenario scenario = four_racks();
    scenario.recovery.spares = 11;
    const struct step_result busy = {.step_ns = 1000, .gpu_ns = {[CAUSE_COMPUTE] = 256000}};
    const struct holding holding = holding_of(&scenario, &eight_trays);
    const double working_w = 75 * 1625.0 + 1.25 * 256 * 600;
    assert_close(money_waiting_power_w(&holding, NULL), 75 * 1625.0, 1e-12);
    assert_close(money_power_w(&holding, &busy, NULL), working_w, 1e-12);
    struct run_result run = {
        .gpu_hours = 288, .idle_gpu_hours = 32, .account_s = {[ACCOUNT_USEFUL] = 3600}};
    money_add_up(&holding, &busy, 3600, NULL, &run);
    assert_close(run.energy_kwh, working_w / 1000, 1e-12);
    assert_close(run.component_kwh[COMPONENT_GPU_WORKING], 256 * 0.8, 1e-12);
    assert_close(run.component_kwh[COMPONENT_GPU_WAITING], 32 * 0.2, 1e-12);
    assert_close(run.component_kwh[COMPONENT_HOST], 72 * 0.5, 1e-12);
    assert_close(run.component_kwh[COMPONENT_SPARE], 3 * 1.3, 1e-12);
    assert_close(run.cost_usd, 576 + 24, 1e-12);
    assert_close(run.spares_usd, 24, 1e-12);
    assert_close(run.rated_kwh, 256, 1e-12); /* papers count those that work */
}

/* ---- runs ------------------------------------------------------------------------------------ */

enum { SETS_MAX = 4 };

static const struct result *predict(struct arena *arena, const char *const sets[SETS_MAX])
{
    const char *all[SETS_MAX + 2] = {"cluster=gb200-nvl72", "run.tokens=1T"};
    uint32_t count = 2;
    for (uint32_t i = 0; i < SETS_MAX && sets[i] != NULL; i++) {
        all[count++] = sets[i];
    }
    const struct scenario *scenario = fixture_scenario(
        arena, &(struct fixture_source){
                   .path = "scenarios/qwen3-235b-256.yaml", .sets = all, .set_count = count});
    struct result *result = arena_alloc(arena, sizeof *result);
    run_predict(arena, scenario, &(struct run_request){.folds = true, .build = "test"}, result);
    return result;
}

/* 256 GPUs hold 288: the same days, 9/8 of the GPU-hours and USD, the energy of 8 nodes that wait
 * more, and as many tokens a second of each GPU that works. */
static void what_stays_idle_is_paid(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct result *paid = predict(arena, (const char *[SETS_MAX]){NULL});
    const struct result *others = predict(arena, (const char *[SETS_MAX]){"price.idle=not"});
    const struct run_result *a = &paid->run;
    const struct run_result *b = &others->run;
    assert_int_equal(paid->step.step_ns, others->step.step_ns);
    assert_close(a->days, b->days, 1e-12);
    assert_close(a->gpu_hours, 288 * 24 * a->days, 1e-12);
    assert_close(a->idle_gpu_hours, 32 * 24 * a->days, 1e-12);
    assert_close(b->gpu_hours, 256 * 24 * a->days, 1e-12);
    assert_true(b->cost_usd > 0);
    assert_close(a->cost_usd, b->cost_usd * 9 / 8, 1e-12);
    assert_close(a->rated_kwh, b->rated_kwh, 1e-12);
    const struct holding least = holding_of(others->scenario, NULL);
    const double waiting_kw = money_waiting_power_w(&least, NULL) / 1000;
    assert_close(a->energy_kwh - b->energy_kwh, waiting_kw / 8 * 24 * a->days, 1e-9);
    assert_close(paid->step.tokens_per_s_per_gpu, others->step.tokens_per_s_per_gpu, 1e-12);
    arena_free(arena);
}

/* Eight idle trays and three spares are a job of which others have the idle trays, and that rents
 * eight: the same histories, USD and energy. So, too, on spot, where six trays go at once,
 * which three spares would not do for, and in two stages. */
static void idle_nodes_are_the_spares_that_would_be_rented(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"price={idle: paid}", "price={idle: not}"},
        {"price={idle: paid, terms: spot, spot_gpu_hour: 1 USD}",
         "price={idle: not, terms: spot, spot_gpu_hour: 1 USD}"},
    };
    static const char *const more[] = {
        NULL, "run.spot={notice: 30 s, rate: {mttf: 1000 h}, together: 6, back: 10 h}",
        "run.stages=[{tokens: 0.5T}, {tokens: 0.5T, set: {batch.global: 512}}]"};
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        const char *const *prices = cases[i == 1 ? 1 : 0];
        const struct result *held =
            predict(arena, (const char *[SETS_MAX]){"run.failures=true", "run.recovery={spares: 3}",
                                                    prices[0], more[i]});
        const struct result *rented =
            predict(arena, (const char *[SETS_MAX]){"run.failures=true", "run.recovery={spares: 8}",
                                                    prices[1], more[i]});
        assert_true(held->run.interruptions > 0);
        assert_close(held->run.days, rented->run.days, 1e-12);
        assert_close(held->run.cost_usd, rented->run.cost_usd, 1e-12);
        assert_close(held->run.energy_kwh, rented->run.energy_kwh, 1e-12);
        assert_true(held->run.cost_usd > 0 && rented->run.spares_usd > 0);
        assert_close(held->run.spares_usd, 0, 1e-12);
        assert_true(i != 1 || held->run.unheld_gpu_hours > 0);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_nodes_stand_ready_before_any_is_rented),
        cmocka_unit_test(a_node_is_paid_whole),
        cmocka_unit_test(idle_nodes_draw_and_cost_as_those_that_wait),
        cmocka_unit_test(what_stays_idle_is_paid),
        cmocka_unit_test(idle_nodes_are_the_spares_that_would_be_rented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
