/* Kinds of NIC: what a cluster gets from one, what it keeps, and what --set makes of both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <string.h>

#include "base/arena.h"
#include "hw/fabric.h"
#include "input/network/nic.h"
#include "input/scenario_keys.h"
#include "support/assert_close.h"
#include "support/fixture.h"

static const struct catalogue here = {.directories = {"."}, .count = 1};

/* The cluster of a scenario whose nics are `nics`, with at most two --set. */
static const struct cluster *cluster_of(struct arena *arena, const char *nics, const char *first,
                                        const char *second)
{
    const char *text = arena_printf(
        arena,
        "model: llama2-7b\ngpus: 16\nbatch: {global: 16, micro: 1}\ncluster:\n"
        "  cluster: inline\n  source: made up\n  gpu: h100-sxm5-80gb\n  gpus_per_node: 8\n"
        "  scale_up: {kind: nvswitch, bandwidth: 400 GB/s, efficiency: 1, latency: 1 us}\n"
        "  nics: {%s}\n"
        "  fabric: {kind: rail, nodes_per_leaf: 4, hop_latency: 1 us}\n"
        "  host: {cores: 16, memory: 1 TB, power: 1 kW}\n"
        "  storage: {write: 1 GB/s, read: 1 GB/s, per_node: 1 GB/s}\n",
        nics);
    const char *const sets[] = {first, second};
    const struct fixture_source source = {.text = text,
                                          .sets = sets,
                                          .set_count = first == NULL    ? 0
                                                       : second == NULL ? 1
                                                                        : 2};
    return &fixture_scenario(arena, &source)->cluster;
}

static void a_kind_says_what_the_cluster_does_not(void **state)
{
    /* efa: 100 Gbps, 0.9, 10 us and 22 us of its software; here the cluster says 30 us. */
    (void)state;
    struct arena *arena = arena_new();
    const struct cluster *cluster =
        cluster_of(arena, "count: 8, kind: efa, latency: 30 us", NULL, NULL);
    assert_string_equal(cluster->nic_kind, "efa");
    assert_close(cluster->nic_bytes_per_s, 12.5e9, 1e-12);
    assert_close(cluster->network_bytes_per_s, 100e9, 1e-12);
    assert_close(cluster->nic_efficiency, 0.9, 1e-12);
    assert_close(cluster->nic_latency_s, 30e-6, 1e-12);
    assert_close(cluster->round_latency_s, 22e-6, 1e-12);
    assert_true(cluster->core_bytes_per_s == 0.0);
    arena_free(arena);
}

static void another_of_its_rates_may_be_said_by_nic_or_by_node(void **state)
{
    /* p6 has EFA of 400 Gbps: 50 GB/s, written in bits or bytes; 8 x 200 Gbps of a node. */
    (void)state;
    struct arena *arena = arena_new();
    static const struct {
        const char *nics;
        double bytes_per_s;
    } cases[] = {{"count: 8, kind: efa, bandwidth: 400 Gbps", 50e9},
                 {"count: 8, kind: efa, bandwidth: 50 GB/s", 50e9},
                 {"count: 8, kind: efa}\n  network: 1600 Gbps #", 25e9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cluster *cluster = cluster_of(arena, cases[i].nics, NULL, NULL);
        assert_close(cluster->nic_bytes_per_s, cases[i].bytes_per_s, 1e-12);
        assert_string_equal(cluster->nic_kind, "efa");
    }
    arena_free(arena);
}

#define OWN_NDR "count: 8, kind: ndr, bandwidth: 400 Gbps, efficiency: 0.95, latency: 3 us"

static void a_kind_that_is_set_replaces_what_the_file_says(void **state)
{
    /* hdr: 200 Gbps, 0.91, 10 us, in place of the file's own 0.95 and 3 us; what is set beside it
     * stays. */
    (void)state;
    struct arena *arena = arena_new();
    const struct cluster *cluster =
        cluster_of(arena, OWN_NDR, "cluster.nics.kind=hdr", "cluster.nics.latency=7 us");
    assert_string_equal(cluster->nic_kind, "hdr");
    assert_int_equal(cluster->nics_per_node, 8);
    assert_close(cluster->nic_bytes_per_s, 25e9, 1e-12);
    assert_close(cluster->nic_efficiency, 0.91, 1e-12);
    assert_close(cluster->nic_latency_s, 7e-6, 1e-12);
    arena_free(arena);
}

static void a_rate_that_is_set_and_no_such_nic_has_is_of_no_kind(void **state)
{
    /* 8 x 50 Gbps: the figures of the file and of ndr hold, its name does not. */
    (void)state;
    struct arena *arena = arena_new();
    static const char *const sets[] = {"cluster.nics.bandwidth=50 Gbps",
                                       "cluster.network=400 Gbps"};
    for (uint32_t i = 0; i < 2; i++) {
        const struct cluster *cluster =
            cluster_of(arena, "count: 8, kind: ndr, efficiency: 0.95", sets[i], NULL);
        assert_string_equal(cluster->nic_kind, "");
        assert_close(cluster->nic_bytes_per_s, 6.25e9, 1e-12);
        assert_close(cluster->nic_efficiency, 0.95, 1e-12);
        assert_close(cluster->nic_latency_s, 10e-6, 1e-12);
    }
    const struct cluster *half =
        cluster_of(arena, "count: 8, kind: ndr", "cluster.network=1600 Gbps", NULL);
    assert_string_equal(half->nic_kind, "ndr"); /* NDR200 */
    arena_free(arena);
}

static bool has_assumption(const struct scenario *scenario, const char *name)
{
    for (size_t i = 0; i < scenario->assumptions.count; i++) {
        if (strcmp(scenario->assumptions.items[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void what_a_kind_assumes_the_run_assumes(void **state)
{
    /* ethernet-tcp: what a core moves is assumed, what 100 Gbps reach was measured. */
    (void)state;
    struct arena *arena = arena_new();
    const char *const sets[] = {"cluster.nics.kind=ethernet-tcp"};
    const struct scenario *scenario = fixture_scenario(
        arena, &(struct fixture_source){
                   .path = "scenarios/quickstart.yaml", .sets = sets, .set_count = 1});
    assert_true(has_assumption(scenario, "cluster.nics.core_bandwidth"));
    assert_false(has_assumption(scenario, "cluster.nics.efficiency"));
    assert_false(has_assumption(scenario, "cluster.nics.latency"));
    arena_free(arena);
}

static void cores_that_copy_bound_what_the_ports_reach(void **state)
{
    /* 16 cores of 42 Gbps move 84 GB/s. Eight ports of 100 Gbps reach 0.8 x 12.5 = 10 GB/s each,
     * 80 together: no bound. Of 400 Gbps 40 GB/s each: 84 / 8 = 10.5 GB/s are left. */
    (void)state;
    static const struct {
        const char *nics;
        int64_t bytes_per_s;
    } cases[] = {{"count: 8, kind: ethernet-tcp", INT64_C(10000000000)},
                 {"count: 8, kind: ethernet-tcp, bandwidth: 400 Gbps", INT64_C(10500000000)}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *arena = arena_new();
        const struct gpu gpu = {.host_link_bytes_per_s = 64e9};
        struct fabric fabric;
        fabric_init(&fabric, arena, cluster_of(arena, cases[i].nics, NULL, NULL), &gpu, 16, 1);
        assert_int_equal(fabric_link_capacity(&fabric, fabric.first[LINK_NIC_OUT]),
                         cases[i].bytes_per_s);
        assert_int_equal(fabric_link_capacity(&fabric, fabric.first[LINK_NIC_IN]),
                         cases[i].bytes_per_s);
        arena_free(arena);
    }
}

static void every_kind_of_the_catalogue_makes_a_cluster(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_null(schema_fault(arena, &nic_schema));
    uint32_t count = 0;
    const char **names = catalogue_list(arena, &here, catalogue_folders[CATALOGUE_NIC], &count);
    assert_true(count >= 11);
    for (uint32_t i = 0; i < count; i++) {
        const struct cluster *cluster =
            cluster_of(arena, arena_printf(arena, "count: 8, kind: %s", names[i]), NULL, NULL);
        assert_string_equal(cluster->nic_kind, names[i]);
        assert_true(cluster->nic_latency_s > 0.0);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kind_says_what_the_cluster_does_not),
        cmocka_unit_test(another_of_its_rates_may_be_said_by_nic_or_by_node),
        cmocka_unit_test(a_kind_that_is_set_replaces_what_the_file_says),
        cmocka_unit_test(a_rate_that_is_set_and_no_such_nic_has_is_of_no_kind),
        cmocka_unit_test(what_a_kind_assumes_the_run_assumes),
        cmocka_unit_test(cores_that_copy_bound_what_the_ports_reach),
        cmocka_unit_test(every_kind_of_the_catalogue_makes_a_cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
