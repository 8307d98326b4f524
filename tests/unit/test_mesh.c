/* Places and groups of the rank mesh, against sums made by hand. */
#include "plan/mesh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define RANKS_MAX 256

/* tp 2, cp 2, dp 4, pp 2: 32 ranks, planes of 8; experts over 4 of them. */
static const struct mesh mesh = {.tp = 2, .cp = 2, .dp = 4, .pp = 2, .ep = 4};

/* rank = tp + 2 (cp + 2 (dp + 4 pp)): place tp 1, cp 0, dp 3, pp 1 is 1 + 2 (0 + 2 x 7) = 29. */
static void ranks_are_numbered_tensor_context_data_pipeline(void **state)
{
    (void)state;
    const struct mesh_place place = {.tp = 1, .cp = 0, .dp = 3, .pp = 1};
    assert_int_equal(mesh_size(&mesh), 32);
    assert_int_equal(mesh_plane_size(&mesh), 8);
    assert_int_equal(mesh_rank(&mesh, &place), 29);
    assert_int_equal(mesh_plane_of(&mesh, &place), 6);
    for (uint32_t rank = 0; rank < 32; rank++) {
        const struct mesh_place of = mesh_place_of(&mesh, rank);
        assert_int_equal(mesh_rank(&mesh, &of), rank);
        assert_int_equal(mesh_plane_rank(&mesh, of.tp, mesh_plane_of(&mesh, &of), of.pp), rank);
    }
}

static void assert_ranks(const uint32_t *ranks, const uint32_t *expected, size_t count)
{
    assert_memory_equal(ranks, expected, count * sizeof *ranks);
}

/* Of stage 1 (ranks 16 to 31), tensor place 1 (odd ones). Tensor neighbours are 1 apart, context
 * neighbours 2, replicas 4; plane places 4 to 7 are ranks 25, 27, 29, 31, and those with expert
 * index 1 are places 1 and 5. */
static void groups_are_the_ranks_that_share_all_other_places(void **state)
{
    (void)state;
    uint32_t ranks[RANKS_MAX];
    mesh_tensor_group(&mesh, 1, 2, 1, ranks);
    assert_ranks(ranks, (const uint32_t[]){26, 27}, 2);
    mesh_context_group(&mesh, 1, 2, 1, ranks);
    assert_ranks(ranks, (const uint32_t[]){25, 27}, 2);
    mesh_data_group(&mesh, 1, 1, ranks);
    assert_ranks(ranks, (const uint32_t[]){17, 19, 21, 23, 25, 27, 29, 31}, 8);
    mesh_expert_group(&mesh, 1, 4, 1, ranks);
    assert_ranks(ranks, (const uint32_t[]){25, 27, 29, 31}, 4);
    mesh_expert_data_group(&mesh, 1, 1, 1, ranks);
    assert_ranks(ranks, (const uint32_t[]){19, 27}, 2);
}

/* Adds one for each rank of a group; true when none was there before. */
static bool are_new(uint32_t *seen, const uint32_t *ranks, uint32_t count)
{
    bool is_new = true;
    for (uint32_t i = 0; i < count; i++) {
        is_new = is_new && seen[ranks[i]] == 0;
        seen[ranks[i]]++;
    }
    return is_new;
}

/* The expert groups, and the expert-data groups, each hold every rank exactly once; an expert
 * group and an expert-data group meet in one rank. */
static void expert_groups_cut_the_plane_both_ways(void **state)
{
    (void)state;
    for (uint32_t ep = 1; ep <= 8; ep *= 2) {
        const struct mesh m = {.tp = 2, .cp = 2, .dp = 4, .pp = 3, .ep = ep};
        uint32_t across[RANKS_MAX] = {0};
        uint32_t along[RANKS_MAX] = {0};
        uint32_t ranks[RANKS_MAX];
        for (uint32_t pp = 0; pp < 3; pp++) {
            for (uint32_t tp = 0; tp < 2; tp++) {
                for (uint32_t first = 0; first < 8; first += ep) {
                    mesh_expert_group(&m, tp, first, pp, ranks);
                    assert_true(are_new(across, ranks, ep));
                }
                for (uint32_t index = 0; index < ep; index++) {
                    mesh_expert_data_group(&m, tp, index, pp, ranks);
                    assert_true(are_new(along, ranks, 8 / ep));
                }
            }
        }
        for (uint32_t rank = 0; rank < mesh_size(&m); rank++) {
            assert_true(across[rank] == 1 && along[rank] == 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_numbered_tensor_context_data_pipeline),
        cmocka_unit_test(groups_are_the_ranks_that_share_all_other_places),
        cmocka_unit_test(expert_groups_cut_the_plane_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
