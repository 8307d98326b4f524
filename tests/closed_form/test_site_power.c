/* What a site draws beside its GPUs: sums by hand, a published table of switches, and the switches
 * that hw/topology builds.
 */
#include "input/network/site_power.h"

#include "base/arena.h"
#include "hw/topology.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/assert_close.h"
#include "support/fixture.h"

/* Ports are counted by what switches draw where a port draws 1 W and optics nothing. */
static double ports_of(struct cluster cluster, int64_t nodes)
{
    cluster.port_power_w = 1;
    cluster.optics_power_w = 0;
    return site_power_of(&cluster, nodes, NULL).switches_w;
}

/* Nodes of 8 NICs of 400 Gbps, 32 on a leaf of each of 8 rails. */
static struct cluster superpod(void)
{
    return (struct cluster){
        .gpus_per_node = 8,
        .nics_per_node = 8,
        .nic_bytes_per_s = 50e9,
        .fabric_kind = FABRIC_RAIL,
        .nodes_per_leaf = 32,
        .oversubscription = 1,
        .pod_oversubscription = 1,
        .global_oversubscription = 1,
        .dimensions = {1, 1, 1},
    };
}

/* NVIDIA's count of switches with 64 ports of 400 Gbps, for nodes of 8 GPUs (DGX SuperPOD with
 * B200, reference architecture, docs.nvidia.com/dgx-superpod, read November 2026): leaves, spines
 * and, from 512 nodes on, cores. Of 64 nodes: 512 ports down and 512 up are 16 leaves, the spines'
 * 512 are 8. */
static void switches_are_as_many_as_a_superpod_has(void **state)
{
    (void)state;
    static const struct {
        int64_t nodes, leaves, spines, cores;
    } rows[] = {
        {64, 16, 8, 0},      {128, 32, 16, 0},      {256, 64, 32, 0},
        {512, 128, 128, 64}, {1024, 256, 256, 128}, {2048, 512, 512, 256},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cluster cluster = superpod();
        cluster.leaves_per_pod = rows[i].cores > 0 ? 4 : 0;
        const int64_t switches = rows[i].leaves + rows[i].spines + rows[i].cores;
        assert_close(ports_of(cluster, rows[i].nodes), 64.0 * (double)switches, 1e-12);
    }
}

/* For each NIC, by hand. A leaf with half as much up as down: 1 + 2 / 2; between pods of two
 * leaves a fourth of that: + 2 / 8 in a tree, + 1 / 8 where a dragonfly's groups are joined by as
 * much. Rails that never meet: 1. Four nodes by two, a link of 100 GB/s each way round and one
 * across: 1 + 3 x 100 / (8 x 50). Of a single leaf nothing goes up; of rails' eight it does. */
static void ports_follow_the_fabric(void **state)
{
    (void)state;
    struct cluster cluster = superpod();
    cluster.oversubscription = 2;
    cluster.pod_oversubscription = 4;
    cluster.leaves_per_pod = 2;
    assert_close(ports_of(cluster, 32), 32 * 8 * 2.0, 1e-12);
    assert_close(ports_of(cluster, 65), 65 * 8 * 2.25, 1e-12);
    cluster.gpus_per_node = 1; /* one rail */
    assert_close(ports_of(cluster, 32), 32 * 8, 1e-12);
    cluster.gpus_per_node = 8;
    cluster.fabric_kind = FABRIC_TREE;
    assert_close(ports_of(cluster, 32), 32 * 8, 1e-12);
    assert_close(ports_of(cluster, 33), 33 * 8 * 2.0, 1e-12);
    assert_close(ports_of(cluster, 64), 64 * 8 * 2.0, 1e-12);
    assert_close(ports_of(cluster, 65), 65 * 8 * 2.25, 1e-12);
    cluster.fabric_kind = FABRIC_DRAGONFLY;
    cluster.global_oversubscription = 4;
    cluster.leaves_per_group = 2;
    assert_close(ports_of(cluster, 32), 32 * 8, 1e-12);
    assert_close(ports_of(cluster, 64), 64 * 8 * 2.0, 1e-12);
    assert_close(ports_of(cluster, 65), 65 * 8 * 2.125, 1e-12);
    cluster.fabric_kind = FABRIC_RAIL_ONLY;
    assert_close(ports_of(cluster, 16), 16 * 8, 1e-12);
    cluster.fabric_kind = FABRIC_TORUS;
    cluster.torus_link_bytes_per_s = 100e9;
    cluster.dimensions[0] = 4;
    cluster.dimensions[1] = 2;
    assert_close(ports_of(cluster, 8), 8 * 8 * 1.75, 1e-12);
}

/* A job's nodes have their share of a cluster that is larger: the levels are the cluster's, and so
 * is the storage, 3 kW of 96 nodes, 1 kW of 32. */
static void a_job_has_its_part_of_a_larger_cluster(void **state)
{
    (void)state;
    struct cluster cluster = superpod();
    cluster.fabric_kind = FABRIC_TREE;
    cluster.nodes_max = 96;
    cluster.storage_power_w = 3000;
    assert_close(ports_of(cluster, 32), 32 * 8 * 3, 1e-12);
    assert_close(site_power_of(&cluster, 32, NULL).storage_w, 1000, 1e-12);
    cluster.storage_power_w = 0;
    cluster.storage_power_each_w = 31;
    assert_close(site_power_of(&cluster, 32, NULL).storage_w, 992, 1e-12);
}

/* Two nodes of 8 NICs: 2 x 2,500 W; 16 x (25 + 8) = 528 W; on one leaf 16 x (12 + 8) = 320 W;
 * 2 x 31 W: 5,910 W. With 16 GPUs of 500 W at a PUE of 1.25: 17,387.5 W. */
static void all_of_a_site_adds_up(void **state)
{
    (void)state;
    struct scenario scenario = {
        .gpus = 16, .nodes = 2, .cluster = superpod(), .price = {.pue = 1.25}};
    scenario.cluster.fabric_kind = FABRIC_TREE;
    scenario.cluster.host_power_w = 2500;
    scenario.cluster.nic_power_w = 25;
    scenario.cluster.optics_power_w = 8;
    scenario.cluster.port_power_w = 12;
    scenario.cluster.storage_power_each_w = 31;
    const struct site_power power = site_power_of(&scenario.cluster, 2, NULL);
    assert_close(power.hosts_w, 5000, 1e-12);
    assert_close(power.nics_w, 528, 1e-12);
    assert_close(power.switches_w, 320, 1e-12);
    assert_close(power.storage_w, 62, 1e-12);
    assert_close(power.beside_gpus_w, 5910, 1e-12);
    assert_close(site_power_w(&scenario, 16 * 500), 17387.5, 1e-12);
}

/* The slow way: every link that hw/topology draws, both of its ends, at a NIC's rate, and a port
 * for each NIC. Clusters of each kind, as many nodes as fill leaves, pods, groups and the grid. */
static void ports_are_those_of_the_switches_that_are_built(void **state)
{
    static const struct {
        const char *cluster, *nodes, *set;
    } rows[] = {
        {"h100-3200", "128", NULL},
        {"h100-roce-24k", "768", NULL},
        {"a100-80gb-400", "64", NULL},
        {"h100-rail-only-3200", "32", NULL},
        {"h100-dragonfly-3200", "256", NULL},
        {"h100-torus-3200", "512", NULL},
        {"alibaba-hpn", "256", NULL},
        {"explicit-two-leaves", "8", NULL},
        {"h100-3200", "64", "cluster.fabric.oversubscription=4"},
        {"h100-roce-24k", "768", "cluster.fabric.uplink=800 Gbps"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const sets[] = {
            arena_printf(*state, "cluster=%s", rows[i].cluster),
            arena_printf(*state, "cluster.nodes=%s", rows[i].nodes),
            rows[i].set != NULL ? rows[i].set : "seed=1",
        };
        const struct scenario *scenario = fixture_scenario(
            *state, &(struct fixture_source){
                        .path = "scenarios/quickstart.yaml", .sets = sets, .set_count = 3});
        const struct cluster *cluster = &scenario->cluster;
        const int64_t nodes = cluster->nodes_max;
        const double nics = (double)(nodes * cluster->nics_per_node);
        struct topology topology;
        topology_build(&topology, *state, cluster, (uint32_t)nodes,
                       (uint32_t)cluster->nics_per_node);
        double ports = nics;
        for (uint32_t link = 0; link < topology.link_count; link++) {
            ports += (double)topology.links[link].capacity /
                     (cluster->nic_bytes_per_s * cluster->nic_efficiency);
        }
        assert_close(ports_of(*cluster, nodes), ports, 1e-6);
    }
}

/* A kind of NIC says what it draws at its usual rate; at half of it half is drawn, and what a file
 * or --set says holds as it is. */
static void a_kind_draws_in_proportion_to_its_rate(void **state)
{
    static const struct {
        const char *sets[2];
        double nic_w, optics_w, port_w;
    } rows[] = {
        {{"cluster.nics.kind=ndr", "seed=1"}, 25, 8, 11.7},
        {{"cluster.nics.bandwidth=200 Gbps", "seed=1"}, 12.5, 4, 5.85},
        {{"cluster.network=400 Gbps", "seed=1"}, 3.125, 1, 1.4625},
        {{"cluster.network=1600 Gbps", "cluster.nics.optics_power=0 W"}, 12.5, 0, 5.85},
        {{"cluster.nics.kind=hdr", "seed=1"}, 20, 6, 6.3},
        {{"cluster.nics.kind=xdr", "seed=1"}, 50, 16, 23.4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct scenario *scenario = fixture_scenario(
            *state, &(struct fixture_source){
                        .path = "scenarios/quickstart.yaml", .sets = rows[i].sets, .set_count = 2});
        assert_close(scenario->cluster.nic_power_w, rows[i].nic_w, 1e-6);
        assert_close(scenario->cluster.optics_power_w, rows[i].optics_w, 1e-6);
        assert_close(scenario->cluster.port_power_w, rows[i].port_w, 1e-6);
    }
}

static int setup(void **state)
{
    *state = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(switches_are_as_many_as_a_superpod_has),
        cmocka_unit_test(ports_follow_the_fabric),
        cmocka_unit_test(a_job_has_its_part_of_a_larger_cluster),
        cmocka_unit_test(all_of_a_site_adds_up),
        TEST(ports_are_those_of_the_switches_that_are_built),
        TEST(a_kind_draws_in_proportion_to_its_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
