/* Groups inside NVLink domains of 18 nodes of 4 GPUs: 72. */
#include "input/failures/replaced_nodes.h"
#include "input/scenario.h"
#include "train/placement_segment.h"

#include "base/arena.h"
#include "train/placement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { PER_NODE = 4, DOMAIN_NODES = 18, DOMAIN = PER_NODE * DOMAIN_NODES };

struct degrees {
    int64_t tp, cp, dp, pp, ep, etp;
};

static struct scenario job_of(struct degrees is)
{
    struct scenario scenario = {
        .gpus = is.tp * is.cp * is.dp * is.pp,
        .seed = 42,
        .placement = PLACEMENT_PACKED,
        .parallel = {.tp = is.tp,
                     .cp = is.cp,
                     .dp = is.dp,
                     .pp = is.pp,
                     .ep = is.ep,
                     .etp = is.etp,
                     .zero_group = is.cp * is.dp,
                     .order = {AXIS_TP, AXIS_CP, AXIS_EP, AXIS_DP, AXIS_PP}},
    };
    scenario.nodes = (scenario.gpus + PER_NODE - 1) / PER_NODE;
    scenario.cluster.gpus_per_node = PER_NODE;
    scenario.cluster.domain_nodes = DOMAIN_NODES;
    scenario.cluster.nodes_per_leaf = 4 * (int64_t)DOMAIN_NODES;
    return scenario;
}

static struct placement place(struct arena *arena, const struct scenario *scenario)
{
    struct placement placement;
    placement_choose(arena, scenario, &placement);
    return placement;
}

/* Blocks: tp, tp x cp, ep x etp. A segment is the least common multiple of 4 and of those up to
 * 72, the largest first, while it is at most 72: of 48 and 36 it would be 144, so 48 stays. */
static void a_segment_holds_the_groups_that_fit(void **state)
{
    (void)state;
    const struct {
        struct degrees is;
        uint32_t nodes;
    } cases[] = {
        {{1, 1, 288, 1, 1, 1}, 1},   {{2, 1, 144, 1, 1, 2}, 1},   {{8, 1, 36, 1, 1, 8}, 2},
        {{16, 1, 16, 1, 1, 16}, 4},  {{8, 2, 16, 1, 1, 8}, 4},    {{1, 1, 128, 2, 32, 1}, 8},
        {{1, 1, 128, 2, 64, 1}, 16}, {{1, 1, 144, 2, 72, 1}, 18}, {{1, 1, 256, 1, 128, 1}, 1},
        {{4, 1, 64, 1, 32, 1}, 8},   {{3, 1, 96, 1, 1, 3}, 3},    {{16, 3, 12, 1, 36, 1}, 12},
        {{6, 1, 48, 1, 8, 1}, 6},    {{3, 1, 1, 1, 1, 3}, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct scenario scenario = job_of(cases[i].is);
        const struct mesh mesh = mesh_of(&scenario.parallel);
        assert_int_equal(placement_segment_nodes(&scenario.cluster, &mesh), cases[i].nodes);
    }
}

/* Between the ranks of an expert group lie the stages of tp-pp-cp-ep-dp: 2 stages x 8 = 16. */
static void a_block_follows_the_order_of_the_mesh(void **state)
{
    (void)state;
    struct scenario scenario = job_of((struct degrees){1, 1, 64, 2, 8, 1});
    struct mesh mesh = mesh_of(&scenario.parallel);
    assert_int_equal(placement_block(&mesh, MESH_EXPERT), 8);
    const uint8_t order[AXIS_COUNT_] = {AXIS_TP, AXIS_PP, AXIS_CP, AXIS_EP, AXIS_DP};
    for (uint32_t i = 0; i < AXIS_COUNT_; i++) {
        scenario.parallel.order[i] = order[i];
    }
    mesh = mesh_of(&scenario.parallel);
    assert_int_equal(placement_block(&mesh, MESH_EXPERT), 16);
    assert_int_equal(placement_segment_nodes(&scenario.cluster, &mesh), 4);
}

static bool holds_all(const struct mesh *mesh, enum mesh_line line, uint32_t block)
{
    const uint32_t count = mesh_line_count(mesh, line) * mesh->pp;
    const uint32_t last = mesh_line_size(mesh, line) - 1;
    for (uint32_t i = 0; i < count; i++) {
        if (mesh_line_rank(mesh, line, i, 0) / block !=
            mesh_line_rank(mesh, line, i, last) / block) {
            return false;
        }
    }
    return true;
}

/* Held against trying all of them, on all lines: also where stages are no whole blocks, or lie
 * between the ranks of a line. */
static void a_block_is_the_smallest_that_holds_all_lines(void **state)
{
    (void)state;
    static const struct degrees degrees[] = {{2, 3, 4, 3, 6, 2}, {3, 1, 6, 4, 9, 1},
                                             {1, 2, 6, 5, 4, 1}, {4, 1, 2, 6, 8, 1},
                                             {3, 1, 5, 4, 1, 3}, {2, 2, 3, 1, 3, 2}};
    static const uint8_t orders[][AXIS_COUNT_] = {{AXIS_TP, AXIS_CP, AXIS_EP, AXIS_DP, AXIS_PP},
                                                  {AXIS_TP, AXIS_PP, AXIS_CP, AXIS_EP, AXIS_DP},
                                                  {AXIS_PP, AXIS_DP, AXIS_EP, AXIS_CP, AXIS_TP},
                                                  {AXIS_EP, AXIS_DP, AXIS_TP, AXIS_PP, AXIS_CP}};
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++) {
        for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
            struct scenario scenario = job_of(degrees[i]);
            memcpy(scenario.parallel.order, orders[k], sizeof orders[k]);
            const struct mesh mesh = mesh_of(&scenario.parallel);
            for (uint32_t line = 0; line < MESH_LINE_COUNT_; line++) {
                uint32_t block = mesh_line_size(&mesh, (enum mesh_line)line);
                while (mesh_size(&mesh) % block != 0 ||
                       !holds_all(&mesh, (enum mesh_line)line, block)) {
                    block++;
                }
                assert_int_equal(placement_block(&mesh, (enum mesh_line)line), block);
            }
        }
    }
}

/* 256 GPUs in segments of 32, two in each domain: ranks 64 d .. 64 d + 63 are the first 64 GPUs of
 * domain d, the last 8 of each stay idle; the fabric ends with the last node in use. */
static void a_job_of_expert_groups_uses_64_of_72(void **state)
{
    struct arena *arena = *state;
    const struct scenario scenario = job_of((struct degrees){1, 1, 128, 2, 32, 1});
    const struct placement placement = place(arena, &scenario);
    for (uint32_t rank = 0; rank < 256; rank++) {
        assert_int_equal(placement.gpu_of_rank[0][rank], rank / 64 * DOMAIN + rank % 64);
    }
    assert_int_equal(placement.gpus, 3 * DOMAIN + 64);
    assert_int_equal(placement.use.domain_gpus, 72);
    assert_int_equal(placement.use.segment_gpus, 32);
    assert_int_equal(placement.use.used_gpus, 64);
    assert_int_equal(placement.use.idle_gpus, 4 * 8);
    assert_int_equal(placement.use.straddling, 0);
}

/* 96 GPUs: two segments in the first rack, one in the second, whose rest is not lost to anybody. */
static void only_what_cannot_be_used_is_idle(void **state)
{
    struct arena *arena = *state;
    const struct scenario scenario = job_of((struct degrees){1, 1, 96, 1, 32, 1});
    const struct placement placement = place(arena, &scenario);
    assert_int_equal(placement.gpus, DOMAIN + 32);
    assert_int_equal(placement.use.idle_gpus, 8);
}

/* A tray of the first rack broke, and another stands for it: one behind them all, or one of the two
 * that the rack's segments left. The rack is the job's as before: what is left of it stays idle. */
static void a_replaced_node_leaves_its_domain_to_the_job(void **state)
{
    struct arena *arena = *state;
    struct scenario scenario = job_of((struct degrees){1, 1, 128, 2, 32, 1});
    struct replaced_node replaced = {.node = 3, .by = 90};
    scenario.replaced = &replaced;
    scenario.replaced_count = 1;
    assert_int_equal(place(arena, &scenario).use.idle_gpus, 4 * 8);
    replaced.by = 17;
    assert_int_equal(place(arena, &scenario).use.idle_gpus, 4 * 8 - 4);
}

/* Nodes are nobody else's, though a job has half of one. */
static void what_is_left_of_a_node_is_idle(void **state)
{
    struct arena *arena = *state;
    const struct scenario scenario = job_of((struct degrees){1, 1, 3, 1, 1, 1});
    assert_int_equal(place(arena, &scenario).use.idle_gpus, 1);
}

/* 24 nodes of a job whose groups need no more than a node are 24 nodes, spread or not. */
static void single_nodes_need_no_whole_domains(void **state)
{
    struct arena *arena = *state;
    struct scenario scenario = job_of((struct degrees){1, 1, 96, 1, 1, 1});
    scenario.placement = PLACEMENT_SPREAD;
    assert_int_equal(place(arena, &scenario).gpus, 96);
}

/* Groups of 8 divide 72, and 64 GPUs are all in one domain: every GPU is taken in its turn. */
static void nothing_is_idle_where_groups_divide_the_domain_or_one_is_enough(void **state)
{
    struct arena *arena = *state;
    const struct degrees cases[] = {
        {8, 1, 36, 1, 1, 8}, {1, 1, 64, 1, 32, 1}, {16, 1, 4, 1, 1, 16}};
    for (uint32_t i = 0; i < 3; i++) {
        const struct scenario scenario = job_of(cases[i]);
        const struct placement placement = place(arena, &scenario);
        assert_int_equal(placement.gpus, scenario.gpus);
        assert_int_equal(placement.use.idle_gpus, 0);
        for (uint32_t rank = 0; rank < scenario.gpus; rank++) {
            assert_int_equal(placement.gpu_of_rank[0][rank], rank);
        }
    }
}

/* 144 GPUs on a cluster of two racks leave none to spare: of nine groups of 16 the fifth (ranks 64
 * to 79) lies across, and the result says so. With a third rack none does. */
static void a_full_cluster_parts_groups_and_says_so(void **state)
{
    struct arena *arena = *state;
    struct scenario scenario = job_of((struct degrees){16, 1, 9, 1, 1, 16});
    scenario.cluster.nodes_max = 36;
    struct placement placement = place(arena, &scenario);
    assert_int_equal(placement.gpus, 144);
    assert_int_equal(placement.use.straddling, 1);
    assert_int_equal(placement.use.straddling_gpus, 16);
    assert_string_equal(placement.use.straddler, "tensor");
    scenario.cluster.nodes_max = 54;
    placement = place(arena, &scenario);
    assert_int_equal(placement.use.straddling, 0);
    assert_string_equal(placement.use.straddler, "");
    assert_int_equal(placement.gpu_of_rank[0][64], 72);
}

/* Groups of 128 cross a domain of 72 wherever they lie: nobody is told. */
static void a_group_larger_than_a_domain_is_no_news(void **state)
{
    struct arena *arena = *state;
    const struct scenario scenario = job_of((struct degrees){1, 1, 256, 1, 128, 1});
    const struct placement placement = place(arena, &scenario);
    assert_int_equal(placement.use.straddling, 0);
    assert_int_equal(placement.gpus, 256);
}

/* What the first job leaves of each rack, a job of single nodes takes: 8 GPUs of each of two, and
 * 16 behind them. Then nothing is idle. */
static void a_neighbour_of_single_nodes_takes_what_is_left(void **state)
{
    struct arena *arena = *state;
    struct scenario first = job_of((struct degrees){1, 1, 128, 1, 64, 1});
    struct scenario second = job_of((struct degrees){1, 1, 32, 1, 1, 1});
    struct scenario *neighbours[] = {&second};
    first.neighbours = neighbours;
    first.neighbour_count = 1;
    const struct placement placement = place(arena, &first);
    for (uint32_t rank = 0; rank < 8; rank++) {
        assert_int_equal(placement.gpu_of_rank[1][rank], 64 + rank);
        assert_int_equal(placement.gpu_of_rank[1][8 + rank], DOMAIN + 64 + rank);
        assert_int_equal(placement.gpu_of_rank[1][16 + rank], 2 * DOMAIN + rank);
    }
    assert_int_equal(placement.use.idle_gpus, 0);
    assert_int_equal(placement.gpus, 2 * DOMAIN + 16);
}

/* Whether every `block` ranks in a row are in one domain. */
static bool blocks_stay_inside(const uint32_t *gpu_of_rank, int64_t ranks, int64_t block)
{
    for (int64_t rank = 0; rank < ranks; rank++) {
        if (gpu_of_rank[rank] / DOMAIN != gpu_of_rank[rank / block * block] / DOMAIN) {
            return false;
        }
    }
    return true;
}

static void assert_groups_stay_inside(struct arena *arena, const struct degrees *is,
                                      uint32_t placement_kind)
{
    struct scenario scenario = job_of(*is);
    scenario.placement = placement_kind;
    const struct placement placement = place(arena, &scenario);
    const int64_t blocks[] = {is->tp, is->tp * is->cp, is->ep * is->etp};
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(blocks[i] > DOMAIN ||
                    blocks_stay_inside(placement.gpu_of_rank[0], scenario.gpus, blocks[i]));
    }
    assert_int_equal(placement.use.straddling, 0);
    bool *is_taken = arena_array(arena, placement.gpus, sizeof *is_taken);
    for (uint32_t rank = 0; rank < scenario.gpus; rank++) {
        const uint32_t gpu = placement.gpu_of_rank[0][rank];
        assert_true(gpu < placement.gpus);
        assert_false(is_taken[gpu]);
        is_taken[gpu] = true;
    }
}

/* Blocks of powers of two have their largest as least common multiple: 512 GPUs, every degree,
 * every placement. */
static void no_group_that_fits_leaves_its_domain(void **state)
{
    struct arena *arena = *state;
    for (int64_t tp = 1; tp <= 64; tp *= 2) {
        for (int64_t cp = 1; tp * cp <= 128; cp *= 2) {
            for (int64_t ep = 1; ep <= 128; ep *= 4) {
                const struct degrees is = {tp, cp, 512 / (tp * cp), 1, ep, 1};
                for (uint32_t kind = 0; kind < PLACEMENT_COUNT_; kind++) {
                    assert_groups_stay_inside(arena, &is, kind);
                }
            }
        }
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
        TEST(a_segment_holds_the_groups_that_fit),
        TEST(a_block_follows_the_order_of_the_mesh),
        TEST(a_block_is_the_smallest_that_holds_all_lines),
        TEST(a_job_of_expert_groups_uses_64_of_72),
        TEST(only_what_cannot_be_used_is_idle),
        TEST(a_replaced_node_leaves_its_domain_to_the_job),
        TEST(what_is_left_of_a_node_is_idle),
        TEST(single_nodes_need_no_whole_domains),
        TEST(nothing_is_idle_where_groups_divide_the_domain_or_one_is_enough),
        TEST(a_full_cluster_parts_groups_and_says_so),
        TEST(a_group_larger_than_a_domain_is_no_news),
        TEST(a_neighbour_of_single_nodes_takes_what_is_left),
        TEST(no_group_that_fits_leaves_its_domain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
