/* What a bill of material does to what owning GPUs costs: quickstart, 64 H100 on 8 nodes. */
#include "base/arena.h"
#include "input/network/network_bill.h"
#include "input/scenario.h"
#include "run/money.h"
#include "support/assert_close.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#define OWNED "price.terms=own"
#define FIVE_YEARS "price.own={life: 5 years, residual: 0 %}"

static const struct catalogue here = {.directories = {"."}, .count = 1};

static const struct scenario *quickstart(struct arena *arena, const char *first, const char *second,
                                         const char *third, const char *fourth)
{
    const char *sets[] = {first, second, third, fourth, NULL};
    return fixture_file(arena, "scenarios/quickstart.yaml", sets);
}

static double capital_usd(struct arena *arena, const char *third, const char *fourth)
{
    return money_capital_usd(quickstart(arena, OWNED, FIVE_YEARS, third, fourth), NULL);
}

/* The catalogue's GPU costs 33,750 USD, an eighth of a DGX with its eight NICs of 400 Gbps. */
static double bill_gpu_usd(struct arena *arena, const struct scenario *scenario)
{
    struct network_bill bill;
    const struct network_order order = {
        .cluster = &scenario->cluster,
        .nodes = scenario->nodes,
        .prices = price_list_open(arena, &here, PRICES_DEFAULT, diag_new(arena)),
        .nic_in_price_bytes_per_s = 50e9};
    assert_true(network_bill_of(arena, &order, &bill));
    return bill.gpu_usd;
}

static void an_owner_pays_the_parts_of_the_network(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario = quickstart(arena, OWNED, FIVE_YEARS, NULL, NULL);
    const double gpu_usd = bill_gpu_usd(arena, scenario);
    assert_true(gpu_usd > 0);
    assert_close(scenario->price.network_gpu_usd, gpu_usd, 1e-12);
    assert_close(capital_usd(arena, NULL, NULL), 33750 + gpu_usd, 1e-12);
    /* With spares and storage: the network grows with spares, storage is a share of GPUs. */
    assert_close(capital_usd(arena, "price.own.spares=10 %", "price.own.storage=5 %"),
                 (33750 * 1.05 + gpu_usd) * 1.1, 1e-12);
    assert_close(capital_usd(arena, "price.network.discount=30 %", NULL), 33750 + 0.7 * gpu_usd,
                 1e-12);
    arena_free(arena);
}

static void a_share_that_is_said_goes_before_the_parts(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_close(capital_usd(arena, "price.own.network=20 %", NULL), 33750 * 1.2, 1e-12);
    assert_close(capital_usd(arena, "price.own.network=0 %", NULL), 33750, 1e-12);
    arena_free(arena);
}

/* 400 Gbps a node instead of 3,200: the nodes' own NICs are taken off whatever takes their
 * place. */
static void a_slower_network_costs_less(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    static const char *const networks[] = {"cluster.network=400 Gbps", "cluster.network=800 Gbps",
                                           "cluster.network=1600 Gbps", "cluster.network=3200 Gbps",
                                           "cluster.network=6400 Gbps"};
    double before_usd = 0;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        const struct scenario *scenario = quickstart(arena, OWNED, FIVE_YEARS, networks[i], NULL);
        const double usd = money_capital_usd(scenario, NULL);
        assert_close(usd, 33750 + bill_gpu_usd(arena, scenario), 1e-12);
        assert_true(usd > before_usd);
        before_usd = usd;
    }
    arena_free(arena);
}

/* What is rented costs what it cost; and whose owner has no price of a part, 0 %, which is told. */
static void rent_is_as_it_was(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *rented = quickstart(arena, NULL, NULL, NULL, NULL);
    assert_null(rented->price.network_prices);
    const char *sets[] = {FIVE_YEARS, NULL};
    const struct scenario *told = fixture_file(arena, "scenarios/quickstart.yaml", sets);
    const struct result *before = fixture_predict(arena, rented);
    const struct result *after = fixture_predict(arena, told);
    assert_close(after->run.cost_usd, before->run.cost_usd, 1e-15);
    assert_close(after->run.energy_kwh, before->run.energy_kwh, 1e-15);
    const char *efa[] = {FIVE_YEARS, "cluster.nics.kind=efa", NULL};
    const struct scenario *cloud = fixture_file(arena, "scenarios/quickstart.yaml", efa);
    assert_close(money_capital_usd(cloud, NULL), 33750, 1e-12);
    bool is_told = false;
    for (size_t i = 0; i < cloud->assumptions.count; i++) {
        is_told = is_told || strcmp(cloud->assumptions.items[i].name, "price.own.network") == 0;
    }
    assert_true(is_told);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_owner_pays_the_parts_of_the_network),
        cmocka_unit_test(a_share_that_is_said_goes_before_the_parts),
        cmocka_unit_test(a_slower_network_costs_less),
        cmocka_unit_test(rent_is_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
