/* Which nodes each job gets, on clusters small enough to count. Leaves have 4 nodes of 2 GPUs. */
#include "input/job/parallel.h"
#include "input/scenario.h"
#include "train/placement.h"

#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { PER_LEAF = 4, PER_NODE = 2, NODES_MAX = 64 };

static struct scenario job_of(int64_t nodes, uint32_t placement)
{
    struct scenario scenario = {
        .nodes = nodes, .gpus = nodes * PER_NODE, .seed = 42, .placement = placement};
    scenario.cluster.gpus_per_node = PER_NODE;
    scenario.cluster.domain_nodes = 1;
    scenario.parallel = (struct parallel){
        .tp = 1,
        .cp = 1,
        .pp = 1,
        .dp = scenario.gpus,
        .ep = 1,
        .etp = 1,
        .zero_group = 1,
        .order = {AXIS_TP, AXIS_CP, AXIS_EP, AXIS_DP, AXIS_PP},
    };
    scenario.cluster.nodes_per_leaf = PER_LEAF;
    return scenario;
}

struct fixture {
    struct arena *arena;
    struct scenario jobs[3];
    struct scenario *neighbours[2];
    struct placement placement;
};

/* The first job is the scenario, the others its neighbours; `nodes_max` 0: any number. */
static void place(struct fixture *fixture, uint32_t job_count, int64_t nodes_max)
{
    for (uint32_t i = 1; i < job_count; i++) {
        fixture->neighbours[i - 1] = &fixture->jobs[i];
    }
    fixture->jobs[0].neighbours = fixture->neighbours;
    fixture->jobs[0].neighbour_count = job_count - 1;
    fixture->jobs[0].cluster.nodes_max = nodes_max;
    placement_choose(fixture->arena, &fixture->jobs[0], &fixture->placement);
}

static uint32_t node_of(const struct fixture *fixture, uint32_t job, uint32_t rank)
{
    return fixture->placement.gpu_of_rank[job][rank] / PER_NODE;
}

/* Ranks of a node are GPUs of one node, in order; no node is used twice, none is outside. */
static void assert_whole_nodes(const struct fixture *fixture, uint32_t job_count)
{
    bool is_taken[NODES_MAX] = {false};
    for (uint32_t job = 0; job < job_count; job++) {
        for (uint32_t rank = 0; rank < fixture->jobs[job].gpus; rank++) {
            const uint32_t gpu = fixture->placement.gpu_of_rank[job][rank];
            assert_true(gpu < fixture->placement.gpus);
            assert_int_equal(gpu % PER_NODE, rank % PER_NODE);
            if (rank % PER_NODE == 0) {
                assert_false(is_taken[gpu / PER_NODE]);
                is_taken[gpu / PER_NODE] = true;
            } else {
                assert_int_equal(gpu, fixture->placement.gpu_of_rank[job][rank - 1] + 1);
            }
        }
    }
}

static int setup(void **state)
{
    struct arena *arena = arena_new();
    struct fixture *fixture = arena_alloc(arena, sizeof *fixture);
    fixture->arena = arena;
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    arena_free(fixture->arena);
    return 0;
}

/* One packed job: rank r is GPU r, and the fabric has no more. */
static void packed_is_the_order_of_nodes(void **state)
{
    struct fixture *fixture = *state;
    fixture->jobs[0] = job_of(6, PLACEMENT_PACKED);
    place(fixture, 1, 16);
    assert_int_equal(fixture->placement.gpus, 12);
    for (uint32_t rank = 0; rank < 12; rank++) {
        assert_int_equal(fixture->placement.gpu_of_rank[0][rank], rank);
    }
}

/* A job of one GPU takes half a node, as a scenario alone may. */
static void a_packed_job_may_use_part_of_a_node(void **state)
{
    struct fixture *fixture = *state;
    fixture->jobs[0] = job_of(1, PLACEMENT_PACKED);
    fixture->jobs[0].gpus = fixture->jobs[0].parallel.dp = 1;
    place(fixture, 1, 0);
    assert_int_equal(fixture->placement.gpus, 1);
    assert_int_equal(fixture->placement.gpu_of_rank[0][0], 0);
}

/* Of 6 nodes number 1 stands on node 9 and number 5 on node 3, which the packed job passes over:
 * its nodes are 0, 1, 2, 4, 5, 6, and its fabric ends with node 9. What was theirs, 1 and 6, is
 * nobody's: a neighbour of 3 begins on 7. */
static void replaced_nodes_lie_where_it_is_said(void **state)
{
    struct fixture *fixture = *state;
    static const uint32_t expected[] = {0, 9, 2, 4, 5, 3};
    struct replaced_node replaced[] = {{1, 9}, {5, 3}, {6, 12}};
    fixture->jobs[0] = job_of(6, PLACEMENT_PACKED);
    fixture->jobs[0].replaced = replaced;
    fixture->jobs[0].replaced_count = 2;
    place(fixture, 1, 0);
    assert_whole_nodes(fixture, 1);
    assert_int_equal(fixture->placement.gpus, 10 * PER_NODE);
    fixture->jobs[0].replaced = &replaced[1];
    fixture->jobs[0].replaced_count =
        1; /* on a cluster that ends with the job, and needs one more */
    place(fixture, 1, 0);
    assert_whole_nodes(fixture, 1);
    assert_int_equal(fixture->placement.gpus, 7 * PER_NODE);
    fixture->jobs[0].replaced = replaced;
    fixture->jobs[1] = job_of(3, PLACEMENT_PACKED);
    fixture->jobs[0].replaced_count = 3; /* a node that a smaller job has lost */
    place(fixture, 2, 0);
    assert_whole_nodes(fixture, 2);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(node_of(fixture, 0, i * PER_NODE), expected[i]);
    }
    assert_int_equal(node_of(fixture, 1, 0), 7);
    assert_int_equal(node_of(fixture, 1, 2 * PER_NODE), 10);
}

/* 3 + 2 + 4 nodes, packed: 0-2, 3-4, 5-8. */
static void packed_jobs_follow_one_another(void **state)
{
    struct fixture *fixture = *state;
    const int64_t nodes[] = {3, 2, 4};
    for (uint32_t i = 0; i < 3; i++) {
        fixture->jobs[i] = job_of(nodes[i], PLACEMENT_PACKED);
    }
    place(fixture, 3, 0);
    assert_int_equal(fixture->placement.gpus, 9 * PER_NODE);
    assert_whole_nodes(fixture, 3);
    assert_int_equal(node_of(fixture, 1, 0), 3);
    assert_int_equal(node_of(fixture, 2, 0), 5);
    assert_int_equal(node_of(fixture, 2, 7), 8);
}

/* 16 nodes are 4 leaves. 8 nodes of a job that is spread: first the first node of each leaf (0, 4,
 * 8, 12), then the second (1, 5, 9, 13): two of each leaf. */
static void spread_takes_as_many_of_every_leaf(void **state)
{
    struct fixture *fixture = *state;
    fixture->jobs[0] = job_of(8, PLACEMENT_SPREAD);
    place(fixture, 1, 16);
    assert_int_equal(fixture->placement.gpus, 16 * PER_NODE);
    assert_whole_nodes(fixture, 1);
    const uint32_t expected[] = {0, 4, 8, 12, 1, 5, 9, 13};
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(node_of(fixture, 0, i * PER_NODE), expected[i]);
    }
}

/* Two spread jobs of 4 on 8 nodes (2 leaves): 0, 4, 1, 5 and what is left, 2, 6, 3, 7. */
static void spread_jobs_share_every_leaf(void **state)
{
    struct fixture *fixture = *state;
    fixture->jobs[0] = job_of(4, PLACEMENT_SPREAD);
    fixture->jobs[1] = job_of(4, PLACEMENT_SPREAD);
    place(fixture, 2, 0);
    assert_int_equal(fixture->placement.gpus, 8 * PER_NODE);
    assert_whole_nodes(fixture, 2);
    const uint32_t expected[] = {0, 4, 1, 5, 2, 6, 3, 7};
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(node_of(fixture, i / 4, i % 4 * PER_NODE), expected[i]);
    }
}

/* Packed after spread: of nodes 0 to 7 the first job has 0 and 4, so the second has 1, 2, 3. */
static void a_packed_job_fills_the_gaps_of_those_before(void **state)
{
    struct fixture *fixture = *state;
    fixture->jobs[0] = job_of(2, PLACEMENT_SPREAD);
    fixture->jobs[1] = job_of(3, PLACEMENT_PACKED);
    place(fixture, 2, 8);
    assert_whole_nodes(fixture, 2);
    assert_int_equal(node_of(fixture, 0, PER_NODE), 4);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(node_of(fixture, 1, i * PER_NODE), 1 + i);
    }
}

static void copy_nodes(const struct fixture *fixture, uint32_t job, uint32_t nodes[NODES_MAX])
{
    memset(nodes, 0, NODES_MAX * sizeof *nodes);
    for (uint32_t i = 0; i < fixture->jobs[job].nodes; i++) {
        nodes[i] = node_of(fixture, job, i * PER_NODE);
    }
}

static void random_depends_on_the_seed_alone(void **state)
{
    struct fixture *fixture = *state;
    uint32_t nodes[3][NODES_MAX];
    const int64_t seeds[] = {42, 42, 43};
    for (uint32_t i = 0; i < 3; i++) {
        fixture->jobs[0] = job_of(8, PLACEMENT_RANDOM);
        fixture->jobs[0].seed = seeds[i];
        place(fixture, 1, 32);
        assert_int_equal(fixture->placement.gpus, 32 * PER_NODE);
        assert_whole_nodes(fixture, 1);
        copy_nodes(fixture, 0, nodes[i]);
    }
    assert_memory_equal(nodes[0], nodes[1], sizeof nodes[0]);
    assert_memory_not_equal(nodes[0], nodes[2], sizeof nodes[0]);
}

/* Each job draws by its own number: the second of two is not what one job of both had next. */
static void random_jobs_are_drawn_apart(void **state)
{
    struct fixture *fixture = *state;
    uint32_t one[NODES_MAX];
    uint32_t second[NODES_MAX];
    fixture->jobs[0] = job_of(16, PLACEMENT_RANDOM);
    place(fixture, 1, 32);
    copy_nodes(fixture, 0, one);
    fixture->jobs[0] = job_of(8, PLACEMENT_RANDOM);
    fixture->jobs[1] = job_of(8, PLACEMENT_RANDOM);
    place(fixture, 2, 32);
    copy_nodes(fixture, 1, second);
    assert_memory_not_equal(one + 8, second, 8 * sizeof *second);
}

/* The asking scenario's seed decides for all; a neighbour's own does not matter. */
static void the_seed_of_a_neighbour_does_not_matter(void **state)
{
    struct fixture *fixture = *state;
    uint32_t nodes[2][NODES_MAX];
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t job = 0; job < 3; job++) {
            fixture->jobs[job] = job_of(8, PLACEMENT_RANDOM);
        }
        fixture->jobs[1].seed = 7 + i;
        place(fixture, 3, 0);
        assert_int_equal(fixture->placement.gpus, 24 * PER_NODE);
        assert_whole_nodes(fixture, 3);
        copy_nodes(fixture, 1, nodes[i]);
    }
    assert_memory_equal(nodes[0], nodes[1], sizeof nodes[0]);
}

/* Over 64 seeds every node of 32 is somebody's first: with 8 of 32 drawn, a node is left out of
 * all 64 draws once in (3/4)^64, one in a hundred million. */
static void random_reaches_every_node(void **state)
{
    struct fixture *fixture = *state;
    bool is_reached[NODES_MAX] = {false};
    for (int64_t seed = 1; seed <= 64; seed++) {
        fixture->jobs[0] = job_of(8, PLACEMENT_RANDOM);
        fixture->jobs[0].seed = seed;
        place(fixture, 1, 32);
        for (uint32_t i = 0; i < 8; i++) {
            is_reached[node_of(fixture, 0, i * PER_NODE)] = true;
        }
    }
    for (uint32_t node = 0; node < 32; node++) {
        assert_true(is_reached[node]);
    }
}

/* 16 nodes for 16: all are used, in an order that is not that of the nodes. */
static void random_shuffles_a_full_cluster(void **state)
{
    struct fixture *fixture = *state;
    fixture->jobs[0] = job_of(16, PLACEMENT_RANDOM);
    place(fixture, 1, 0);
    assert_whole_nodes(fixture, 1);
    uint32_t moved = 0;
    for (uint32_t i = 0; i < 16; i++) {
        moved += node_of(fixture, 0, i * PER_NODE) != i;
    }
    assert_true(moved > 8);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(packed_is_the_order_of_nodes),
        TEST(a_packed_job_may_use_part_of_a_node),
        TEST(replaced_nodes_lie_where_it_is_said),
        TEST(packed_jobs_follow_one_another),
        TEST(spread_takes_as_many_of_every_leaf),
        TEST(spread_jobs_share_every_leaf),
        TEST(a_packed_job_fills_the_gaps_of_those_before),
        TEST(random_depends_on_the_seed_alone),
        TEST(random_jobs_are_drawn_apart),
        TEST(the_seed_of_a_neighbour_does_not_matter),
        TEST(random_reaches_every_node),
        TEST(random_shuffles_a_full_cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
