/* A house's defaults: what goes before what, which of them are told to hold, and that a resolved
 * scenario gives itself whatever the environment names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <string.h>

#include "base/arena.h"
#include "input/scenario.h"
#include "input/scenario_load.h"
#include "support/assert_close.h"
#include "support/fixture.h"

static const struct catalogue here = {.directories = {"."}, .count = 1};

#define BASE                                           \
    "model: llama2-7b\ncluster: h100-3200\ngpus: 64\n" \
    "batch: {global: 64, micro: 1}\nparallel: {tp: 4}\n"

static const struct scenario *with(struct arena *arena, const char *more, const char *set)
{
    const struct fixture_source source = {
        .text = arena_printf(arena, "%s%s", BASE, more), .sets = &set, .set_count = set != NULL};
    return fixture_scenario(arena, &source);
}

static const struct house_value *value_of(const struct house *house, const char *key)
{
    for (uint32_t i = 0; i < house->value_count; i++) {
        if (strcmp(house->values[i].key, key) == 0) {
            return &house->values[i];
        }
    }
    return NULL;
}

/* h100-3200 has 8 x 400 Gbps, the GPU 700 W; PUE is 1.2 by default, the margin 5 %. */
#define OURS                                                                                   \
    "{defaults: ours, price: {gpu_hour: 2 USD, pue: 1.1}, memory.margin: 8 %, gpu: {tdp: "     \
    "600 W}, cluster.network: 800 Gbps, software.overlap.tp_pieces: 4, library: {algorithms: " \
    "{ring: {automatic: false}}}}\n"

static void a_house_goes_before_catalogue_and_defaults(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario = with(arena, "defaults: " OURS, NULL);
    assert_close(scenario->price.gpu_hour_usd, 2, 0);
    assert_close(scenario->price.pue, 1.1, 0);
    assert_close(scenario->memory_margin, 0.08, 1e-12);
    assert_close(scenario->gpu.tdp_w, 600, 0);
    assert_close(scenario->cluster.nic_bytes_per_s, 100e9 / 8, 1e-12); /* of eight NICs */
    assert_int_equal(scenario->software.tp_pieces, 4);
    assert_string_equal(scenario->house.name, "ours");
    assert_int_equal(scenario->house.value_count, 7);
    assert_string_equal(value_of(&scenario->house, "gpu.tdp")->value, "600 W");
    assert_int_equal(value_of(&scenario->house, "gpu.tdp")->place.line, 6);
    assert_true(scenario->says_features); /* it says what software has on */
    arena_free(arena);
}

static void scenario_recipe_and_set_go_before_a_house(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario =
        with(arena,
             "price: {gpu_hour: 3 USD}\n"
             "recipe: {recipe: r, source: made up, set: {software.overlap.tp_pieces: 8}}\n"
             "defaults: " OURS,
             "gpu.tdp=500 W");
    assert_close(scenario->price.gpu_hour_usd, 3, 0);
    assert_close(scenario->price.pue, 1.1, 0);
    assert_int_equal(scenario->software.tp_pieces, 8);
    assert_close(scenario->gpu.tdp_w, 500, 0);
    static const char *const gone[] = {"price.gpu_hour", "software.overlap.tp_pieces", "gpu.tdp"};
    for (size_t i = 0; i < 3; i++) {
        assert_null(value_of(&scenario->house, gone[i]));
    }
    assert_int_equal(scenario->house.value_count, 4);
    /* A network that is set goes before the house's, as before the file's. */
    scenario = with(arena, "defaults: " OURS, "cluster.nics.bandwidth=100 Gbps");
    assert_close(scenario->cluster.nic_bytes_per_s, 100e9 / 8, 1e-12);
    scenario =
        with(arena, "defaults: {cluster.nics.bandwidth: 100 Gbps}\n", "cluster.network=1600 Gbps");
    assert_close(scenario->cluster.nic_bytes_per_s, 200e9 / 8, 1e-12);
    arena_free(arena);
}

static void a_gpu_or_a_cluster_has_its_own(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *house = "defaults: {price.gpu_hour: 2 USD, for: {h100-sxm5-80gb: {price.gpu_hour: "
                        "3 USD}, h200-sxm-141gb: {price.gpu_hour: 4 USD}, h100-3200: {price.pue: "
                        "1.05}}}\n";
    const struct scenario *scenario = with(arena, house, NULL);
    assert_close(scenario->price.gpu_hour_usd, 3, 0);
    assert_close(scenario->price.pue, 1.05, 0);
    static const char *const sets[] = {"gpu=h200-sxm-141gb", "cluster.gpu=h200-sxm-141gb"};
    for (size_t i = 0; i < 2; i++) {
        scenario = with(arena, house, sets[i]);
        assert_string_equal(scenario->gpu.name, "h200-sxm-141gb");
        assert_close(scenario->price.gpu_hour_usd, 4, 0);
    }
    scenario = with(arena, house, "cluster=a100-80gb-1600");
    assert_close(scenario->price.gpu_hour_usd, 2, 0);
    assert_close(scenario->price.pue, 1.2, 0);
    arena_free(arena);
}

/* `true` is no word against the house's own failures, false is. */
static void failures_that_are_asked_for_are_the_houses(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *house =
        "defaults: {run.failures: {failures: ours, source: made up, counts: hardware, classes: "
        "[{name: gpu, of: gpu, rate: {mttf: 5 years}, takes: process}]}}\n";
    for (size_t i = 0; i < 3; i++) {
        const char *said = i == 0   ? ""
                           : i == 1 ? "run: {tokens: 1T, failures: true}\n"
                                    : "run: {tokens: 1T, failures: false}\n";
        const struct scenario *scenario =
            with(arena, arena_printf(arena, "%s%s", said, house), NULL);
        assert_int_equal(scenario->failures.kind_count, i < 2 ? 1 : 0);
        assert_int_equal(scenario->house.value_count, i < 2 ? 1 : 0);
    }
    arena_free(arena);
}

/* Of two keys of which there can be one, the scenario's. */
static void what_excludes_each_other_gives_way(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct scenario *scenario =
        with(arena,
             "price: {own: {gpu: 30000 USD}}\npower_cap: {site: 1 MW}\n"
             "defaults: {price.own.node: 300000 USD, power_cap.gpu: 500 W}\n",
             NULL);
    assert_close(scenario->price.own.gpu_usd, 30000, 0);
    assert_close(scenario->price.own.node_usd, 0, 0);
    assert_close(scenario->power_cap.gpu_w, 0, 0);
    assert_int_equal(scenario->house.value_count, 0);
    arena_free(arena);
}

/* What is resolved has all that holds in it: neither is the house put twice, nor is another put. */
static void a_resolved_scenario_gives_itself(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct diag *diag = diag_new(arena);
    struct catalogue other = here;
    other.house = "there/is/no/such.yaml";
    static const char *const houses[] = {"defaults: " OURS, ""};
    for (size_t i = 0; i < 2; i++) {
        const struct scenario *scenario = with(arena, houses[i], NULL);
        const struct doc_node *read = doc_parse(arena, "again", scenario->resolved_text,
                                                strlen(scenario->resolved_text), diag);
        const struct scenario *again = scenario_resolve(arena, read, &other, NULL, 0, diag);
        assert_non_null(again);
        assert_string_equal(again->resolved_text, scenario->resolved_text);
        assert_int_equal(again->house.value_count, scenario->house.value_count);
    }
    /* A set over one of them: it is told no longer. */
    const char *set = "price.gpu_hour=5 USD";
    const struct scenario *moved =
        scenario_resolve(arena, with(arena, houses[0], NULL)->document, &here, &set, 1, diag);
    assert_close(moved->price.gpu_hour_usd, 5, 0);
    assert_int_equal(moved->house.value_count, 6);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_house_goes_before_catalogue_and_defaults),
        cmocka_unit_test(scenario_recipe_and_set_go_before_a_house),
        cmocka_unit_test(a_gpu_or_a_cluster_has_its_own),
        cmocka_unit_test(failures_that_are_asked_for_are_the_houses),
        cmocka_unit_test(what_excludes_each_other_gives_way),
        cmocka_unit_test(a_resolved_scenario_gives_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
