/* The table of groups: for each kind and many layouts, every rank is in exactly one group. */
#include "train/groups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define RANKS_MAX 512

/* tp 2, cp 2, dp 4, pp 2, ep 4: 32 ranks, planes of 8. */
static const struct mesh small = {.tp = 2, .cp = 2, .dp = 4, .pp = 2, .ep = 4};

/* Tied embeddings and experts: all kinds are there. */
static struct scenario scenario_with_all(void)
{
    struct scenario scenario = {.gpus = 0};
    scenario.model.has_tied_embeddings = true;
    scenario.model.experts = 8;
    return scenario;
}

static uint32_t count_of(enum group_kind kind, const struct mesh *mesh)
{
    const struct scenario scenario = scenario_with_all();
    return groups_count(kind, &scenario, mesh);
}

/* Ranks that the groups of a kind cover: all but for embeddings, of which the stages between
 * the first and the last know nothing. */
static uint32_t covered(enum group_kind kind, const struct mesh *mesh)
{
    return kind == GROUP_EMBEDDING ? 2 * mesh_size(mesh) / mesh->pp : mesh_size(mesh);
}

static void check_kind(enum group_kind kind, const struct mesh *mesh)
{
    const struct group_row *row = &group_rows[kind];
    const uint32_t size = row->size(mesh);
    const uint32_t count = count_of(kind, mesh);
    uint32_t seen[RANKS_MAX] = {0};
    uint32_t ranks[RANKS_MAX];
    if (count == 0) {
        assert_true(size == 1 || kind == GROUP_EMBEDDING);
        return;
    }
    assert_int_equal(count * size, covered(kind, mesh));
    for (uint32_t number = 0; number < count; number++) {
        row->members(mesh, number, ranks);
        for (uint32_t i = 0; i < size; i++) {
            assert_true(ranks[i] < mesh_size(mesh));
            seen[ranks[i]]++;
            assert_true(i == 0 || ranks[i] > ranks[i - 1]); /* ring order: by rank */
        }
    }
    for (uint32_t rank = 0; rank < mesh_size(mesh); rank++) {
        const uint32_t stage = mesh_place_of(mesh, rank).pp;
        const bool is_in = kind != GROUP_EMBEDDING || stage == 0 || stage == mesh->pp - 1;
        assert_int_equal(seen[rank], is_in ? 1 : 0);
    }
}

/* All layouts of up to 2 x 4 x 4 x 3 ranks with every ep that divides the plane. */
static void every_rank_is_in_one_group_of_each_kind(void **state)
{
    (void)state;
    uint32_t checked = 0;
    for (uint32_t code = 0; code < 2 * 3 * 4 * 3; code++) {
        struct mesh mesh = {.tp = 1 + code % 2,
                            .cp = 1u << code / 2 % 3,
                            .dp = 1 + code / 6 % 4,
                            .pp = 1 + code / 24 % 3};
        for (mesh.ep = 1; mesh.ep <= mesh_plane_size(&mesh); mesh.ep++) {
            if (mesh_plane_size(&mesh) % mesh.ep != 0) {
                continue;
            }
            for (uint32_t kind = 0; kind < GROUP_KIND_COUNT_; kind++) {
                check_kind((enum group_kind)kind, &mesh);
            }
            checked++;
        }
    }
    assert_true(checked > 200);
}

/* Of 32 ranks: 16 pairs of tensor, 16 of context, 8 groups of 4 experts, 16 pairs of
 * first and last stage, 4 planes of 8, 16 pairs that hold the same experts, one world. */
static void counts_and_sizes_are_those_of_the_layout(void **state)
{
    (void)state;
    static const struct {
        uint32_t count, size;
    } expected[GROUP_KIND_COUNT_] = {
        [GROUP_TENSOR] = {16, 2},    [GROUP_CONTEXT] = {16, 2}, [GROUP_EXPERT] = {8, 4},
        [GROUP_EMBEDDING] = {16, 2}, [GROUP_DATA] = {4, 8},     [GROUP_EXPERT_DATA] = {16, 2},
        [GROUP_WORLD] = {1, 32},
    };
    for (uint32_t kind = 0; kind < GROUP_KIND_COUNT_; kind++) {
        assert_int_equal(count_of((enum group_kind)kind, &small), expected[kind].count);
        assert_int_equal(group_rows[kind].size(&small), expected[kind].size);
    }
}

static void assert_members(enum group_kind kind, uint32_t number, const uint32_t *expected)
{
    uint32_t ranks[RANKS_MAX];
    group_rows[kind].members(&small, number, ranks);
    assert_memory_equal(ranks, expected, group_rows[kind].size(&small) * sizeof *ranks);
}

/* rank = tp + 2 (cp + 2 (dp + 4 pp)); a plane's places are 2 apart, a stage's ranks 16.
 * Number 1 of each kind: tensor place (cp 1, dp 0); context of tp 1; experts of tp 1, places 0
 * to 3; rank 1 and its twin on stage 1; the plane of tp 1; same experts as tp 1, place 0. */
static void rings_go_by_rank(void **state)
{
    (void)state;
    assert_members(GROUP_TENSOR, 1, (const uint32_t[]){2, 3});
    assert_members(GROUP_CONTEXT, 1, (const uint32_t[]){1, 3});
    assert_members(GROUP_EXPERT, 1, (const uint32_t[]){1, 3, 5, 7});
    assert_members(GROUP_EXPERT, 2, (const uint32_t[]){8, 10, 12, 14});
    assert_members(GROUP_EMBEDDING, 1, (const uint32_t[]){1, 17});
    assert_members(GROUP_DATA, 1, (const uint32_t[]){1, 3, 5, 7, 9, 11, 13, 15});
    assert_members(GROUP_DATA, 2, (const uint32_t[]){16, 18, 20, 22, 24, 26, 28, 30});
    assert_members(GROUP_EXPERT_DATA, 1, (const uint32_t[]){1, 9});
}

/* A group of one sends nothing, so there is none; the world waits for itself all the same. */
static void groups_of_one_are_left_out(void **state)
{
    (void)state;
    const struct mesh lone = {.tp = 1, .cp = 1, .dp = 1, .pp = 1, .ep = 1};
    for (uint32_t kind = 0; kind < GROUP_KIND_COUNT_; kind++) {
        assert_int_equal(count_of((enum group_kind)kind, &lone), kind == GROUP_WORLD ? 1 : 0);
    }
}

/* Without tied embeddings first and last stage share nothing; without experts nobody shares
 * them, and the expert group of size 1 goes, too. */
static void kinds_that_a_model_does_not_need_are_left_out(void **state)
{
    (void)state;
    const struct mesh mesh = {.tp = 2, .cp = 1, .dp = 4, .pp = 2, .ep = 1};
    const struct scenario plain = {.gpus = 0};
    assert_int_equal(groups_count(GROUP_EMBEDDING, &plain, &mesh), 0);
    assert_int_equal(groups_count(GROUP_EXPERT_DATA, &plain, &mesh), 0);
    assert_int_equal(groups_count(GROUP_EXPERT, &plain, &mesh), 0);
    assert_int_equal(groups_count(GROUP_CONTEXT, &plain, &mesh), 0);
    assert_int_equal(groups_count(GROUP_TENSOR, &plain, &mesh), 8);
}

/* A stream belongs to one kind: its channels are that kind's groups. */
static void no_stream_belongs_to_two_kinds(void **state)
{
    (void)state;
    bool is_taken[STREAM_COUNT_] = {false};
    for (uint32_t kind = 0; kind < GROUP_KIND_COUNT_; kind++) {
        const struct group_row *row = &group_rows[kind];
        assert_non_null(row->name);
        assert_true(row->choice < COLLECTIVE_USER_COUNT_);
        assert_true(row->stream_count >= 1 && row->stream_count <= GROUP_STREAMS_MAX);
        for (uint32_t i = 0; i < row->stream_count; i++) {
            assert_false(is_taken[row->streams[i]]);
            is_taken[row->streams[i]] = true;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_is_in_one_group_of_each_kind),
        cmocka_unit_test(counts_and_sizes_are_those_of_the_layout),
        cmocka_unit_test(rings_go_by_rank),
        cmocka_unit_test(groups_of_one_are_left_out),
        cmocka_unit_test(kinds_that_a_model_does_not_need_are_left_out),
        cmocka_unit_test(no_stream_belongs_to_two_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
