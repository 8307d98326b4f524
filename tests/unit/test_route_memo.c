/* A route that is remembered is what would be traced, on each cluster and for each group. */
#include "train/system/route_memo.h"

#include "base/arena.h"
#include "hw/fabric_turn.h"
#include "support/fabric_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { GPUS = 128 }; /* two pods */

static void assert_same(const struct fabric_route *traced, const struct fabric_route *known)
{
    assert_int_equal(traced->count, known->count);
    assert_int_equal(traced->hops_max, known->hops_max);
    assert_int_equal(traced->cap_bytes_per_s, known->cap_bytes_per_s);
    assert_true(traced->count == 0 || traced->bottleneck == known->bottleneck);
    for (uint32_t i = 0; i < traced->count; i++) {
        assert_int_equal(traced->crossings[i].link, known->crossings[i].link);
        assert_int_equal(traced->crossings[i].usage, known->crossings[i].usage);
    }
}

/* Every phase of all that the group is offered, traced and asked for. Returns how many. */
static uint32_t compare_group(struct route_memo *memo, const struct fabric_turns *turns,
                              struct fabric *fabric, uint32_t *gpus, uint32_t count)
{
    struct transfer_setting setting = {.arena = fabric->arena, .fabric = fabric, .turns = turns};
    struct transfer_setting remembers = setting;
    remembers.routes = memo;
    struct group_shape shape;
    uint32_t routes = 0;
    group_shape_init(&setting, gpus, count, &shape);
    for (uint32_t o = 0; o < COLLECTIVE_OPERATION_COUNT_; o++) {
        for (uint32_t a = 0; a < ALGORITHM_COUNT_; a++) {
            const enum collective_operation operation = (enum collective_operation)o;
            const enum collective_algorithm algorithm = (enum collective_algorithm)a;
            struct collective_phase phases[COLLECTIVE_PHASES_MAX];
            const uint32_t of = collective_phases(operation, algorithm, &shape.group, 1e6, phases);
            for (uint32_t phase = 0; phase < of; phase++) {
                struct fabric_route traced, known;
                group_route(&setting, &shape, operation, algorithm, phase, &traced);
                group_route(&remembers, &shape, operation, algorithm, phase, &known);
                assert_same(&traced, &known);
                routes++;
            }
        }
    }
    return routes;
}

/* Groups that lie evenly, one that does not, and two that begin and end alike. Each is asked for
 * twice where nothing turns; the outermost turn, by a node, makes them groups of their own. */
static uint32_t compare_all(struct route_memo *memo, const struct cluster *cluster)
{
    static const struct {
        uint32_t count, gpus[16];
    } groups[] = {
        {8, {0, 1, 2, 3, 4, 5, 6, 7}},
        {8, {8, 9, 10, 11, 12, 13, 14, 15}},
        {16, {0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120}},
        {4, {0, 8, 16, 24}},
        {4, {0, 8, 17, 24}},
        {4, {0, 9, 17, 24}},
        {2, {3, 70}},
    };
    uint32_t routes = 0;
    for (uint32_t pass = 0; pass < 3; pass++) {
        struct fabric fabric;
        fabric_init(&fabric, arena_new(), cluster, &rig_gpu, GPUS, 1);
        struct fabric_turns turns = fabric_turns_none(&fabric);
        if (pass == 2) {
            turns.at[0] = (struct fabric_turn){8, 32, NULL};
        }
        const size_t last = pass < 2 ? sizeof groups / sizeof *groups : 2;
        for (size_t g = 0; g < last; g++) {
            uint32_t gpus[16];
            for (uint32_t i = 0; i < groups[g].count; i++) {
                gpus[i] = groups[g].gpus[i];
            }
            routes += compare_group(memo, &turns, &fabric, gpus, groups[g].count);
        }
        uint32_t turned[4] = {0, 8, 16, 24};
        routes += pass == 2 ? compare_group(memo, &turns, &fabric, turned, 4) : 0;
        arena_free(fabric.arena);
    }
    return routes;
}

/* With other latencies all routes are known; with slower NICs, other leaves, another kind of fabric
 * or another way between rails none that is not traced anew. */
static void what_is_known_is_what_would_be_traced(void **state)
{
    (void)state;
    struct route_memo *memo = route_memo_new();
    struct cluster cluster = rig_rails;
    const uint32_t routes = compare_all(memo, &cluster);
    const uint64_t found = route_memo_count(memo).found;
    const uint64_t missed = route_memo_count(memo).missed;
    assert_true(routes > 100 && found > routes / 3 && found + missed == routes);
    cluster.nic_latency_s *= 2;
    cluster.hop_latency_s = 0;
    assert_int_equal(compare_all(memo, &cluster), routes);
    assert_int_equal(route_memo_count(memo).missed, missed);
    cluster.nic_bytes_per_s /= 2;
    compare_all(memo, &cluster);
    cluster.nodes_per_leaf = 2;
    compare_all(memo, &cluster);
    cluster.has_pxn = false;
    compare_all(memo, &cluster);
    cluster.fabric_kind = FABRIC_TREE;
    compare_all(memo, &cluster);
    assert_true(route_memo_count(memo).missed >= 5 * missed - missed / 2);
    route_memo_free(memo);
}

/* What is hashed, or listed in the file, is not in the key. */
static void only_plain_fabrics_are_remembered(void **state)
{
    (void)state;
    struct cluster cluster = rig_rails;
    assert_true(route_memo_takes(&cluster));
    cluster.routing = ROUTING_ECMP;
    assert_false(route_memo_takes(&cluster));
    cluster.routing = ROUTING_ADAPTIVE;
    cluster.fabric_kind = FABRIC_EXPLICIT;
    assert_false(route_memo_takes(&cluster));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_known_is_what_would_be_traced),
        cmocka_unit_test(only_plain_fabrics_are_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
