/* Bills of material of networks: ten clusters by hand and by the tables of reference architectures,
 * what parts of a cluster cost, and what no switch makes.
 */
#include "input/network/network_bill.h"

#include "base/arena.h"
#include "input/network/site_power.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "support/assert_close.h"
#include "support/fixture.h"

static const struct catalogue here = {.directories = {"."}, .count = 1};

/* Nodes of 8 GPUs and 8 NICs on rails, without oversubscription. */
static struct cluster nodes_of(const char *kind, double gbps, int64_t nodes_per_leaf)
{
    const double bytes_per_s = gbps / 8 * 1e9;
    return (struct cluster){
        .gpus_per_node = 8,
        .nics_per_node = 8,
        .nic_kind = kind,
        .nic_bytes_per_s = bytes_per_s,
        .uplink_bytes_per_s = bytes_per_s,
        .fabric_kind = FABRIC_RAIL,
        .nodes_per_leaf = nodes_per_leaf,
        .oversubscription = 1,
        .pod_oversubscription = 1,
        .global_oversubscription = 1,
        .dimensions = {1, 1, 1},
    };
}

struct counts {
    int64_t nodes, leaves, spines, cores, node_links, spine_links, core_links;
};

/* Cables of a class; 0: none. */
static int64_t cables_of(const struct network_bill *bill, const char *what)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < bill->line_count; i++) {
        const struct network_line *line = &bill->lines[i];
        count += line->is_cable && strcmp(line->what, what) == 0 ? line->count : 0;
    }
    return count;
}

/* The catalogue's, with that switch alone; NULL: with all of them. */
static const struct price_list *prices_with(struct arena *arena, const char *only)
{
    const struct price_list *all = price_list_open(arena, &here, PRICES_DEFAULT, diag_new(arena));
    assert_non_null(all);
    struct price_list *some = arena_alloc(arena, sizeof *some);
    struct network_part *kept = arena_array(arena, all->part_count, sizeof *kept);
    *some = *all;
    some->parts = kept;
    some->part_count = 0;
    for (uint32_t i = 0; i < all->part_count; i++) {
        const struct network_part *part = &all->parts[i];
        if (only == NULL || part->part != PART_SWITCH || strcmp(part->name, only) == 0) {
            kept[some->part_count++] = *part;
        }
    }
    return some;
}

static void assert_counts_with(const char *only, struct cluster cluster, const struct counts *row)
{
    struct arena *arena = arena_new();
    struct network_bill bill;
    const struct network_order order = {
        .cluster = &cluster, .nodes = row->nodes, .prices = prices_with(arena, only)};
    if (!network_bill_of(arena, &order, &bill)) {
        fail_msg("%s", bill.why);
    }
    assert_int_equal(bill.leaves, row->leaves);
    assert_int_equal(bill.spines, row->spines);
    assert_int_equal(bill.cores, row->cores);
    assert_int_equal(cables_of(&bill, "node to leaf"), row->node_links);
    assert_int_equal(cables_of(&bill, "leaf to spine") + cables_of(&bill, "between groups"),
                     row->spine_links);
    assert_int_equal(cables_of(&bill, "spine to core"), row->core_links);
    arena_free(arena);
}

static void assert_counts(struct cluster cluster, const struct counts *row)
{
    assert_counts_with(NULL, cluster, row);
}

/* NVIDIA's tables, docs.nvidia.com/dgx-superpod, read November 2026. Of B200 (and H100), switches
 * of 64 ports of 400 Gbps, scalable units of 32 nodes: leaves, spines, cores, and cables of each
 * level; one unit of H100 has 8 leaves and 4 spines. The third level comes of itself, for a spine
 * has no port for a 65th leaf, or by the pods of a file. */
static void superpods_of_ndr_are_as_nvidia_counts_them(void **state)
{
    (void)state;
    static const struct counts rows[] = {
        {32, 8, 4, 0, 256, 256, 0},
        {64, 16, 8, 0, 512, 512, 0},
        {128, 32, 16, 0, 1024, 1024, 0},
        {256, 64, 32, 0, 2048, 2048, 0},
        {512, 128, 128, 64, 4096, 4096, 4096},
        {1024, 256, 256, 128, 8192, 8192, 8192},
        {2048, 512, 512, 256, 16384, 16384, 16384},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cluster cluster = nodes_of("ndr", 400, 32);
        assert_counts(cluster, &rows[i]);
        cluster.leaves_per_pod = rows[i].cores > 0 ? 4 : 0;
        assert_counts(cluster, &rows[i]);
    }
    /* 127 nodes of H100: the unit that is not full has a node less on each of its leaves. */
    assert_counts(nodes_of("ndr", 400, 32), &(struct counts){127, 32, 16, 0, 127 * 8, 127 * 8, 0});
}

/* Of B300 with XDR, switches of 144 ports of 800 Gbps, units of 72 nodes. 2,304 up-links fit 16
 * spines, but 72 of a leaf are not 16 times as many: NVIDIA has 18, and 36 for 32. */
static void superpods_of_xdr_are_as_nvidia_counts_them(void **state)
{
    (void)state;
    static const struct counts rows[] = {
        {72, 8, 4, 0, 576, 576, 0},          {144, 16, 8, 0, 1152, 1152, 0},
        {288, 32, 18, 0, 2304, 2304, 0},     {576, 64, 36, 0, 4608, 4608, 0},
        {1296, 144, 72, 0, 10368, 10368, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_counts(nodes_of("xdr", 800, 72), &rows[i]);
    }
}

/* Of B300 with Spectrum-X, switches of 64 ports of 800 Gbps, up to where NVIDIA splits them into
 * two planes. */
static void superpods_of_ethernet_are_as_nvidia_counts_them(void **state)
{
    (void)state;
    static const struct counts rows[] = {
        {64, 16, 8, 0, 512, 512, 0},
        {128, 32, 16, 0, 1024, 1024, 0},
        {256, 64, 32, 0, 2048, 2048, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_counts_with("SN5600", nodes_of("roce", 800, 32), &rows[i]);
    }
}

/* The same from 512 nodes on, as two planes of 400 Gbps: units of 64 nodes, each GPU on a leaf of
 * either plane, 64 ports of 400 down and as many up. Leaves and spines are those of NVIDIA's table
 * (docs.nvidia.com/dgx-superpod, scalable infrastructure B300, read November 2026), whose cables
 * are of 800 Gbps, two of ours. A spine has 128 ports, so that 1,024 nodes need no third level,
 * which one plane would. */
static void superpods_of_two_planes_are_as_nvidia_counts_them(void **state)
{
    (void)state;
    static const struct counts rows[] = {
        {64, 16, 8, 0, 2 * 512, 2 * 512, 0},        {128, 32, 16, 0, 2 * 1024, 2 * 1024, 0},
        {256, 64, 32, 0, 2 * 2048, 2 * 2048, 0},    {512, 128, 64, 0, 2 * 4096, 2 * 4096, 0},
        {1024, 256, 128, 0, 2 * 8192, 2 * 8192, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cluster cluster = nodes_of("roce", 800, 64);
        cluster.nic_planes = 2;
        assert_counts_with("SN5600", cluster, &rows[i]);
    }
}

/* Alibaba HPN, a pod of 15 segments of 128 nodes: rails of 128 NICs, of each plane a port of 200
 * Gbps; at 1.067:1 that is 120 up-links of 200, which are the 60 of 400 of its paper: 15 x 8 leaves
 * a plane, 14,400 up-links on 60 spines (57 would hold them, but 120 is no multiple of 57 to 59),
 * as many as the paper has. A segment alone: 8 leaves and 960 up-links on 4 spines a plane. */
static void dual_planes_have_leaves_and_spines_each(void **state)
{
    (void)state;
    struct cluster cluster = nodes_of("roce", 400, 128);
    cluster.oversubscription = 1.067;
    cluster.leaves_per_pod = 15;
    cluster.pod_oversubscription = 15;
    cluster.nic_planes = 2;
    assert_counts_with("SN5600", cluster,
                       &(struct counts){1920, 240, 120, 0, 2 * 15360, 2 * 14400, 0});
    assert_counts_with("SN5600", cluster, &(struct counts){128, 16, 8, 0, 2 * 1024, 2 * 960, 0});
    /* Four planes of 100 Gbps, of 256 ports still: the same 120 + 128 of a leaf, four times. */
    cluster.nic_planes = 4;
    assert_counts_with("SN5600", cluster, &(struct counts){128, 32, 16, 0, 4 * 1024, 4 * 960, 0});
}

/* Its predecessor: 16 nodes on a pair of leaves, each with a port of 200 Gbps of all 128 NICs and
 * 64 up-links of 400: 64 ports of 800 in all. Four pairs share 4 spines: 512 up-links of 128 ports.
 * One pair alone needs none, for each of its leaves has all NICs. */
static void dual_leaves_share_their_spines(void **state)
{
    (void)state;
    struct cluster cluster = nodes_of("roce", 400, 16);
    cluster.fabric_kind = FABRIC_TREE;
    cluster.bonded_ports = 2;
    assert_counts_with("SN5600", cluster, &(struct counts){64, 8, 4, 0, 1024, 512, 0});
    assert_counts_with("SN5600", cluster, &(struct counts){16, 2, 0, 0, 256, 0, 0});
}

/* GB200 NVL72, a unit of 8 racks, 144 trays of 4 NICs: a rail has 144 ports, 29 on each of 5
 * switches of 64, 20 leaves. 576 up-links would fit 9 spines; so that each leaf has as many to
 * each, it has 30 of 10 spines: 600. */
static void racks_of_nvl72_are_counted_by_tray(void **state)
{
    (void)state;
    struct cluster cluster = nodes_of("ndr", 400, 144);
    cluster.gpus_per_node = 4;
    cluster.nics_per_node = 4;
    cluster.domain_nodes = 18;
    assert_counts(cluster, &(struct counts){144, 20, 10, 0, 576, 600, 0});
}

/* Racks of two nodes on a leaf, 192 racks a pod, 7:1 above, 3,072 nodes: 1,536 leaves with 16 ports
 * down and 16 up. Of a pod 3,072 up-links and 3,072 / 7 = 439 further: 7 switches of 576 ports,
 * but 16 is no multiple of 7: 8, of 8 pods 64. 3,512 go to 7 cores. */
static void a_tree_with_pods_has_its_spines_in_chassis(void **state)
{
    (void)state;
    struct cluster cluster = nodes_of("roce", 400, 2);
    cluster.fabric_kind = FABRIC_TREE;
    cluster.leaves_per_pod = 192;
    cluster.pod_oversubscription = 7;
    cluster.nodes_max = 3072;
    assert_counts(cluster, &(struct counts){3072, 1536, 64, 7, 24576, 24576, 3512});
    assert_counts(cluster, &(struct counts){64, 1536, 64, 7, 24576, 24576, 3512}); /* its part */
}

/* One NIC of 100 Gbps a node, 36 nodes on a leaf at 3:1: leaves of 36 + 12 do not fit 36 ports, so
 * that of 72 nodes each group is two of 18 + 6; 24 up-links fit one spine. */
static void a_leaf_that_no_switch_holds_is_several(void **state)
{
    (void)state;
    struct cluster cluster = nodes_of("edr", 100, 36);
    cluster.fabric_kind = FABRIC_TREE;
    cluster.nics_per_node = 1;
    cluster.oversubscription = 3;
    assert_counts(cluster, &(struct counts){72, 4, 1, 0, 72, 24, 0});
    /* Alone, a group needs no up-links: all 36 fit. */
    assert_counts(cluster, &(struct counts){36, 1, 0, 0, 36, 0, 0});
}

/* Four nodes on a leaf, 16 leaves a group, two groups: 32 leaves of 32 + 32. In a group 512
 * up-links and 512 out of it: 16 spines of 64. Of 1,024 global ends 512 links, beside 1,024
 * up-links. */
static void a_dragonfly_has_global_links_on_its_spines(void **state)
{
    (void)state;
    struct cluster cluster = nodes_of("ndr", 400, 4);
    cluster.fabric_kind = FABRIC_DRAGONFLY;
    cluster.leaves_per_group = 16;
    assert_counts(cluster, &(struct counts){128, 32, 32, 0, 1024, 1024 + 512, 0});
    /* One group: no global links, 512 up-links on 8 spines. */
    assert_counts(cluster, &(struct counts){64, 16, 8, 0, 512, 512, 0});
}

/* 8 x 8 x 8 nodes: 8 NICs and six links of 800 Gbps, two ports each, 20 of 64: three routers in a
 * switch, 171 for 512. 512 x 12 / 2 = 3,072 cables. */
static void routers_of_a_torus_share_switches(void **state)
{
    (void)state;
    struct cluster cluster = nodes_of("ndr", 400, 1);
    cluster.fabric_kind = FABRIC_TORUS;
    cluster.torus_link_bytes_per_s = 100e9;
    cluster.dimensions[0] = cluster.dimensions[1] = cluster.dimensions[2] = 8;
    cluster.nodes_max = 512;
    assert_counts(cluster, &(struct counts){512, 171, 0, 0, 4096, 3072, 0});
}

/* Rails that never meet: two of 32 ports in a switch; 64 nodes fill one each. Where one switch
 * holds all NICs, rails that would meet in spines need none. */
static void rails_share_a_switch_that_holds_them(void **state)
{
    (void)state;
    struct cluster cluster = nodes_of("ndr", 400, 128);
    cluster.fabric_kind = FABRIC_RAIL_ONLY;
    assert_counts(cluster, &(struct counts){32, 4, 0, 0, 256, 0, 0});
    assert_counts(cluster, &(struct counts){64, 8, 0, 0, 512, 0, 0});
    assert_counts(nodes_of("ndr", 400, 32), &(struct counts){8, 1, 0, 0, 64, 0, 0});
    /* 16 + 16 ports of two rails are a switch: 4 leaves, 128 up-links on 2 spines. */
    assert_counts(nodes_of("ndr", 400, 32), &(struct counts){16, 4, 2, 0, 128, 128, 0});
}

/* The file's two leaves of 32 + 16 ports and the spine of 32: a switch each, 32 links. */
static void a_listed_fabric_has_the_switches_of_its_list(void **state)
{
    (void)state;
    static struct cluster_port ports[] = {{0, 0, 3, -1}, {1, 4, 7, -1}};
    static struct cluster_link links[] = {{0, 2, 50e9, 16}, {1, 2, 50e9, 16}};
    static struct cluster_switch switches[] = {
        {.name = "leaf0"}, {.name = "leaf1"}, {.name = "spine0"}};
    struct cluster cluster = nodes_of("ndr", 400, 1);
    cluster.fabric_kind = FABRIC_EXPLICIT;
    cluster.switches = switches;
    cluster.ports = ports;
    cluster.links = links;
    cluster.switch_count = 3;
    cluster.port_count = 2;
    cluster.link_count = 2;
    assert_counts(cluster, &(struct counts){8, 3, 0, 0, 64, 32, 0});
}

/* ---- money and power ------------------------------------------------------------------------- */

static const struct network_part parts[] = {
    {PART_NIC, "card", {"ndr"}, 1, 50e9, .usd = 1000, .power_w = 25},
    {PART_NIC, "slow card", {"hdr"}, 1, 25e9, .usd = 600, .power_w = 20},
    {PART_LINK, "copper", {"ndr"}, 1, 50e9, .cable_usd = 100, .reach_m = 3},
    {PART_LINK,
     "glass",
     {"ndr"},
     1,
     50e9,
     .usd = 500,
     .cable_usd = 50,
     .power_w = 8,
     .reach_m = 100},
    {PART_SWITCH, "box", {"ndr"}, 1, 50e9, .usd = 32000, .power_w = 640, .ports = 64, .split = 2},
};
static const struct price_list list = {.name = "made-up",
                                       .rack_m = 2,
                                       .row_m = 20,
                                       .hall_m = 40,
                                       .parts = parts,
                                       .part_count = sizeof parts / sizeof *parts};

static bool bill_of(struct arena *arena, const struct network_order *order,
                    struct network_bill *bill)
{
    return network_bill_of(arena, order, bill);
}

/* Two scalable units, 64 nodes: 512 cards of 1,000 USD, 16 + 8 boxes of 32,000, 2 x 512 links of
 * 2 x 500 + 50: 512,000 + 768,000 + 1,075,200 = 2,355,200 USD, 4,600 a GPU. They draw 512 x 25 +
 * 24 x 640 + 2,048 x 8 = 44,544 W, which is what site_power has of 512 NICs with 3 ports each, as
 * all switches are full: 512 x (25 + 8) + 1,536 x (10 + 8). A list with 2 % of spares adds 11, 1 +
 * 1, and 21 + 11 twice: 11,000 + 64,000 + 2 x (10,500 + 550). In racks links are copper. */
static void a_bill_adds_up_and_draws_what_the_site_pays(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct cluster cluster = nodes_of("ndr", 400, 32);
    struct network_order order = {.cluster = &cluster, .nodes = 64, .prices = &list};
    struct network_bill bill;
    assert_true(bill_of(arena, &order, &bill));
    assert_close(bill.usd, 2355200, 1e-12);
    assert_close(bill.gpu_usd, 4600, 1e-12);
    assert_close(bill.power_w, 44544, 1e-12);
    cluster.nic_power_w = 25;
    cluster.optics_power_w = 8;
    cluster.port_power_w = 640 / 64.0;
    const struct site_power site = site_power_of(&cluster, 64, NULL);
    assert_close(site.nics_w + site.switches_w, bill.power_w, 1e-12);
    struct price_list with_spares = list;
    with_spares.spares = 0.02;
    order.prices = &with_spares;
    assert_true(bill_of(arena, &order, &bill));
    assert_close(bill.usd, 2355200 + 11000 + 64000 + 2 * (10500 + 550), 1e-12);
    order.prices = &list;
    order.nic_in_price_bytes_per_s = 50e9; /* as many as there are: they cancel */
    assert_true(bill_of(arena, &order, &bill));
    assert_close(bill.usd, 2355200 - 512000, 1e-12);
    order.nic_in_price_bytes_per_s = 25e9; /* whatever the network: 600 USD each */
    assert_true(bill_of(arena, &order, &bill));
    assert_close(bill.usd, 2355200 - 512 * 600, 1e-12);
    cluster.fabric_kind = FABRIC_TREE;
    cluster.nodes_per_leaf = 4;
    order.nic_in_price_bytes_per_s = 0;
    assert_true(bill_of(arena, &order, &bill));
    assert_close(bill.usd, 512000 + 768000 + 512 * 100 + 512 * 1050, 1e-12);
    arena_free(arena);
}

/* What others wrote down: 128 nodes of H100 take 48 switches, and links for 2.62 million USD beside
 * (the sheet of substack.tech-talk-cto.com, August 2024): with switches of 36,000 USD 4.35 million.
 * Ours without NICs and spares are within a quarter of that. */
static void a_thousand_gpus_cost_what_was_published(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct network_bill bill;
    const struct cluster cluster = nodes_of("ndr", 400, 32);
    const struct price_list *prices =
        price_list_open(arena, &here, PRICES_DEFAULT, diag_new(arena));
    const struct network_order order = {.cluster = &cluster, .nodes = 128, .prices = prices};
    assert_true(bill_of(arena, &order, &bill));
    double usd = 0;
    for (uint32_t i = 1; i < bill.line_count; i++) {
        usd += (double)bill.lines[i].count * bill.lines[i].each_usd;
    }
    assert_int_equal(bill.leaves + bill.spines, 48);
    assert_close(usd, 4349440, 0.25);
    arena_free(arena);
}

/* ---- what there is not ----------------------------------------------------------------------- */

static void assert_why(const struct cluster *cluster, int64_t nodes, const char *why)
{
    struct arena *arena = arena_new();
    struct network_bill bill;
    const struct network_order order = {.cluster = cluster, .nodes = nodes, .prices = &list};
    assert_false(bill_of(arena, &order, &bill));
    assert_string_equal(bill.why, why);
    assert_non_null(bill.help);
    arena_free(arena);
}

static void what_no_part_makes_is_told(void **state)
{
    (void)state;
    struct cluster cluster = nodes_of("ndr", 800, 32);
    assert_why(&cluster, 64, "made-up has no NIC of 800 Gbps of kind ndr");
    cluster = nodes_of("", 400, 32);
    assert_why(&cluster, 64, "made-up has no NIC of 400 Gbps");
    cluster = nodes_of("hdr", 200, 32);
    assert_why(&cluster, 64, "made-up has no switch for NICs of kind hdr");
    cluster = nodes_of("ndr", 400, 128);
    cluster.fabric_kind = FABRIC_RAIL_ONLY;
    assert_why(&cluster, 65,
               "no switch of made-up makes the switch of a rail of 65 ports of 400 Gbps");
    /* A spine with a port for each of 65 leaves, where the file has two levels of one pod. */
    cluster = nodes_of("ndr", 400, 4);
    cluster.fabric_kind = FABRIC_TREE;
    cluster.leaves_per_pod = 100;
    assert_why(&cluster, 65 * 4, "no switch of made-up makes a spine of 65 ports of 400 Gbps");
    /* Three levels of 64 ports end at 65,536 NICs. */
    cluster = nodes_of("ndr", 400, 32);
    assert_why(&cluster, 8193, "no switch of made-up makes a core of 65 ports of 400 Gbps");
    struct network_bill bill;
    struct arena *arena = arena_new();
    const struct network_order order = {.cluster = &cluster, .nodes = 8192, .prices = &list};
    assert_true(bill_of(arena, &order, &bill));
    assert_int_equal(bill.cores, 1024);
    arena_free(arena);
}

/* No bigger network costs less: rates, nodes, and less oversubscription. */
static void more_costs_no_less(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct price_list *prices =
        price_list_open(arena, &here, PRICES_DEFAULT, diag_new(arena));
    static const double rates[] = {25, 50, 100, 200, 400, 800};
    for (int64_t nodes = 8; nodes <= 512; nodes *= 4) {
        double before_usd = 0;
        for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
            struct cluster cluster = nodes_of("", rates[i], 32);
            const struct network_order order = {
                .cluster = &cluster, .nodes = nodes, .prices = prices};
            struct network_bill bill;
            assert_true(bill_of(arena, &order, &bill));
            assert_true(bill.usd > before_usd);
            before_usd = bill.usd;
            cluster.oversubscription = 2;
            struct network_bill half;
            assert_true(bill_of(arena, &order, &half));
            assert_true(half.usd <= bill.usd);
        }
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(superpods_of_ndr_are_as_nvidia_counts_them),
        cmocka_unit_test(superpods_of_xdr_are_as_nvidia_counts_them),
        cmocka_unit_test(superpods_of_ethernet_are_as_nvidia_counts_them),
        cmocka_unit_test(superpods_of_two_planes_are_as_nvidia_counts_them),
        cmocka_unit_test(dual_planes_have_leaves_and_spines_each),
        cmocka_unit_test(dual_leaves_share_their_spines),
        cmocka_unit_test(racks_of_nvl72_are_counted_by_tray),
        cmocka_unit_test(a_tree_with_pods_has_its_spines_in_chassis),
        cmocka_unit_test(a_leaf_that_no_switch_holds_is_several),
        cmocka_unit_test(a_dragonfly_has_global_links_on_its_spines),
        cmocka_unit_test(routers_of_a_torus_share_switches),
        cmocka_unit_test(rails_share_a_switch_that_holds_them),
        cmocka_unit_test(a_listed_fabric_has_the_switches_of_its_list),
        cmocka_unit_test(a_bill_adds_up_and_draws_what_the_site_pays),
        cmocka_unit_test(a_thousand_gpus_cost_what_was_published),
        cmocka_unit_test(what_no_part_makes_is_told),
        cmocka_unit_test(more_costs_no_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
