/* The table of groups: for each kind and many layouts, every rank is in exactly one group. */
#include "input/collectives.h"
#include "input/features/layout_words.h"
#include "input/job/parallel.h"
#include "train/groups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define RANKS_MAX 512

#define ORDER_DEFAULT                               \
    {                                               \
        AXIS_TP, AXIS_CP, AXIS_EP, AXIS_DP, AXIS_PP \
    }

/* tp 2, cp 2, dp 4, pp 2, ep 4: 32 ranks, planes of 8. */
static const struct parallel small = {.tp = 2,
                                      .cp = 2,
                                      .dp = 4,
                                      .pp = 2,
                                      .ep = 4,
                                      .etp = 2,
                                      .zero = 1,
                                      .zero_group = 8,
                                      .schedule = SCHEDULE_1F1B,
                                      .virtual_stages = 1,
                                      .order = ORDER_DEFAULT};

/* Tied embeddings and experts: all kinds are there. */
static const struct model model_with_all = {.has_tied_embeddings = true, .experts = 8};
static const struct model plain_model = {.has_tied_embeddings = false};

static struct group_layout layout_with_all(const struct mesh *mesh, const struct parallel *parallel)
{
    struct group_layout layout = group_layout_of(mesh, parallel, &model_with_all);
    layout.reduces_scales = true;
    return layout;
}

static uint32_t count_of(enum group_kind kind, const struct parallel *parallel)
{
    const struct mesh mesh = mesh_of(parallel);
    const struct group_layout layout = layout_with_all(&mesh, parallel);
    return groups_count(&layout, kind);
}

/* Whether the groups of a kind have the ranks of a stage: embeddings are on two. */
static bool is_covered(const struct group_layout *layout, enum group_kind kind, uint32_t stage)
{
    return kind != GROUP_EMBEDDING || stage == layout->first_stage || stage == layout->last_stage;
}

/* For every rank above that of a group: what is passed over begins with one below it. */
static void check_seek(const struct group_layout *layout, enum group_kind kind, uint32_t number,
                       uint32_t count)
{
    const uint32_t first = groups_first(layout, kind, number);
    for (uint32_t rank = first + 1; rank <= mesh_size(layout->mesh); rank++) {
        const uint32_t next = groups_seek(layout, kind, number, rank);
        assert_in_range(next, number + 1, count);
        for (uint32_t i = number + 1; i < next; i++) {
            assert_true(groups_first(layout, kind, i) < rank);
        }
    }
    const bool is_line = group_rows[kind].members == GROUP_OF_LINE;
    const uint32_t of_stage = is_line ? count / layout->mesh->pp : 1;
    const uint32_t end = groups_seek(layout, kind, number, mesh_size(layout->mesh));
    assert_int_equal(end, number - number % of_stage + of_stage);
}

static void check_kind(enum group_kind kind, const struct parallel *parallel)
{
    const struct mesh mesh = mesh_of(parallel);
    const struct group_layout layout = layout_with_all(&mesh, parallel);
    const uint32_t size = groups_size(&layout, kind);
    const uint32_t count = groups_count(&layout, kind);
    uint32_t seen[RANKS_MAX] = {0};
    uint32_t ranks[RANKS_MAX];
    if (count == 0) {
        assert_true(size == 1 || kind == GROUP_EMBEDDING ||
                    (kind == GROUP_EXPERT_TENSOR && mesh_experts_use_tensor_lines(&mesh)));
        return;
    }
    for (uint32_t number = 0; number < count; number++) {
        groups_members(&layout, kind, number, ranks);
        for (uint32_t i = 0; i < size; i++) {
            assert_true(ranks[i] < mesh_size(&mesh));
            seen[ranks[i]]++;
            /* ring order: by rank; of two stages' ranks a stage after the other */
            assert_true(i == 0 || mesh.holders == 2 || ranks[i] > ranks[i - 1]);
        }
    }
    for (uint32_t number = 0; number < count; number++) {
        check_seek(&layout, kind, number, count);
    }
    for (uint32_t rank = 0; rank < mesh_size(&mesh); rank++) {
        const uint32_t stage = mesh_stage_of(&mesh, rank);
        assert_int_equal(seen[rank], is_covered(&layout, kind, stage) ? 1 : 0);
    }
}

/* A layout by number: up to 2 x 4 x 4 x 4 ranks, three orders, one chunk or DualPipe's two. */
static bool layout_of(uint32_t code, struct parallel *parallel)
{
    static const uint8_t orders[3][AXIS_COUNT_] = {ORDER_DEFAULT,
                                                   {AXIS_TP, AXIS_PP, AXIS_EP, AXIS_CP, AXIS_DP},
                                                   {AXIS_DP, AXIS_TP, AXIS_CP, AXIS_EP, AXIS_PP}};
    *parallel = small;
    parallel->tp = 1 + code % 2;
    parallel->cp = INT64_C(1) << code / 2 % 3;
    parallel->dp = 1 + code / 6 % 4;
    parallel->pp = 1 + code / 24 % 4;
    memcpy(parallel->order, orders[code / 96 % 3], sizeof parallel->order);
    if (code / 288 % 2 == 1) {
        parallel->schedule = SCHEDULE_DUALPIPE;
        parallel->virtual_stages = 2;
    }
    return parallel->schedule != SCHEDULE_DUALPIPE || parallel->pp % 2 == 0;
}

static uint32_t check_foldings(struct parallel *parallel)
{
    const int64_t stage = parallel->tp * parallel->cp * parallel->dp;
    uint32_t checked = 0;
    for (parallel->ep = 1; parallel->ep <= stage; parallel->ep++) {
        for (parallel->etp = 1; parallel->etp <= parallel->tp; parallel->etp++) {
            const int64_t folded = parallel->ep * parallel->etp;
            for (uint32_t kind = 0; stage % folded == 0 && kind < GROUP_KIND_COUNT_; kind++) {
                check_kind((enum group_kind)kind, parallel);
            }
            checked += stage % folded == 0;
        }
    }
    return checked;
}

/* Every ep and etp that divide a stage, every group of ranks over which states are sharded. */
static void every_rank_is_in_one_group_of_each_kind(void **state)
{
    (void)state;
    uint32_t checked = 0;
    for (uint32_t code = 0; code < 576; code++) {
        struct parallel parallel;
        if (!layout_of(code, &parallel)) {
            continue;
        }
        const int64_t plane = parallel.cp * parallel.dp;
        for (parallel.zero_group = 1; parallel.zero_group <= plane; parallel.zero_group++) {
            checked += plane % parallel.zero_group == 0 ? check_foldings(&parallel) : 0;
        }
    }
    assert_true(checked > 5000);
}

/* Of 32 ranks: 16 pairs of tensor, 16 of context, 8 groups of 4 experts, 16 pairs of
 * first and last stage, 4 planes of 8, 16 pairs that hold the same experts, one world. */
static void counts_and_sizes_are_those_of_the_layout(void **state)
{
    (void)state;
    static const struct {
        uint32_t count, size;
    } expected[GROUP_KIND_COUNT_] = {
        [GROUP_TENSOR] = {16, 2},        [GROUP_CONTEXT] = {16, 2},
        [GROUP_EXPERT] = {8, 4},         [GROUP_EXPERT_TENSOR] = {0, 2},
        [GROUP_EMBEDDING] = {16, 2},     [GROUP_DATA] = {4, 8},
        [GROUP_REPLICA] = {0, 1},        [GROUP_EXPERT_DATA] = {16, 2},
        [GROUP_EXPERT_REPLICA] = {0, 1}, [GROUP_LOCAL] = {0, 1},
        [GROUP_ACROSS] = {0, 1},         [GROUP_SCALES] = {2, 16},
        [GROUP_WORLD] = {1, 32},
    };
    const struct mesh mesh = mesh_of(&small);
    const struct group_layout layout = layout_with_all(&mesh, &small);
    for (uint32_t kind = 0; kind < GROUP_KIND_COUNT_; kind++) {
        assert_int_equal(groups_count(&layout, (enum group_kind)kind), expected[kind].count);
        assert_int_equal(groups_size(&layout, (enum group_kind)kind), expected[kind].size);
    }
}

static void assert_members_of(const struct parallel *parallel, enum group_kind kind,
                              uint32_t number, const uint32_t *expected)
{
    const struct mesh mesh = mesh_of(parallel);
    const struct group_layout layout = layout_with_all(&mesh, parallel);
    uint32_t ranks[RANKS_MAX];
    groups_members(&layout, kind, number, ranks);
    assert_memory_equal(ranks, expected, groups_size(&layout, kind) * sizeof *ranks);
}

static void assert_members(enum group_kind kind, uint32_t number, const uint32_t *expected)
{
    assert_members_of(&small, kind, number, expected);
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

/* Sharded over 4 of the 8 that hold the same parameters: of the plane of tp 1 ranks 1 to 7 and 9
 * to 15 have a copy each, and 3 and 11 the same shard of it. A copy's 8 ranks (both tp) have 8 /
 * (4 x 2) = 1 of each expert: not sharded, two replicas. */
static void sharding_in_a_part_makes_replicas(void **state)
{
    (void)state;
    struct parallel part = small;
    part.zero_group = 4;
    assert_members_of(&part, GROUP_DATA, 2, (const uint32_t[]){1, 3, 5, 7});
    assert_members_of(&part, GROUP_DATA, 3, (const uint32_t[]){9, 11, 13, 15});
    assert_members_of(&part, GROUP_REPLICA, 5, (const uint32_t[]){3, 11});
    assert_int_equal(count_of(GROUP_REPLICA, &part), 16);
    assert_int_equal(count_of(GROUP_EXPERT_DATA, &part), 0);
    assert_members_of(&part, GROUP_EXPERT_REPLICA, 1, (const uint32_t[]){1, 9});
}

/* 32 ranks in local groups of 8: the second has ranks 8 to 15, and the fourth place of each is that
 * of ranks 3, 11, 19 and 27. */
static void local_groups_are_neighbours_and_their_places(void **state)
{
    (void)state;
    struct parallel flat = small;
    flat.tp = flat.cp = flat.pp = flat.ep = flat.etp = 1;
    flat.dp = flat.zero_group = 32;
    flat.zero_local_group = 8;
    assert_members_of(&flat, GROUP_LOCAL, 1, (const uint32_t[]){8, 9, 10, 11, 12, 13, 14, 15});
    assert_members_of(&flat, GROUP_ACROSS, 3, (const uint32_t[]){3, 11, 19, 27});
    assert_int_equal(count_of(GROUP_LOCAL, &flat), 4);
    assert_int_equal(count_of(GROUP_ACROSS, &flat), 8);
    flat.zero_local_group = 32;
    assert_int_equal(count_of(GROUP_LOCAL, &flat), 1);
    assert_int_equal(count_of(GROUP_ACROSS, &flat), 0);
}

/* etp 1 of tp 2: all 16 ranks of a stage exchange tokens, nobody shares an expert. */
static void experts_on_single_ranks_have_no_tensor_group(void **state)
{
    (void)state;
    struct parallel folded = small;
    folded.etp = 1;
    folded.ep = 16;
    assert_int_equal(count_of(GROUP_EXPERT_TENSOR, &folded), 0);
    assert_int_equal(count_of(GROUP_EXPERT, &folded), 2);
    assert_int_equal(count_of(GROUP_EXPERT_DATA, &folded), 0);
    folded.ep = 2;
    folded.etp = 4;
    assert_members_of(&folded, GROUP_EXPERT_TENSOR, 1, (const uint32_t[]){4, 5, 6, 7});
    assert_members_of(&folded, GROUP_EXPERT, 1, (const uint32_t[]){1, 5});
}

/* A group of one sends nothing, so there is none; the world waits for itself all the same. */
static void groups_of_one_are_left_out(void **state)
{
    (void)state;
    struct parallel lone = small;
    lone.tp = lone.cp = lone.dp = lone.pp = lone.ep = lone.etp = lone.zero_group = 1;
    for (uint32_t kind = 0; kind < GROUP_KIND_COUNT_; kind++) {
        assert_int_equal(count_of((enum group_kind)kind, &lone), kind == GROUP_WORLD ? 1 : 0);
    }
}

/* Without tied embeddings first and last stage share nothing; without experts nobody shares
 * them, and the expert group of size 1 goes, too. */
static void kinds_that_a_model_does_not_need_are_left_out(void **state)
{
    (void)state;
    struct parallel plain = small;
    plain.cp = 1;
    plain.ep = 1;
    plain.zero_group = 4;
    const struct mesh mesh = mesh_of(&plain);
    const struct group_layout layout = group_layout_of(&mesh, &plain, &plain_model);
    assert_int_equal(groups_count(&layout, GROUP_EMBEDDING), 0);
    assert_int_equal(groups_count(&layout, GROUP_EXPERT_DATA), 0);
    assert_int_equal(groups_count(&layout, GROUP_EXPERT), 0);
    assert_int_equal(groups_count(&layout, GROUP_CONTEXT), 0);
    assert_int_equal(groups_count(&layout, GROUP_TENSOR), 8);
}

/* ---- between stages -------------------------------------------------------------------- */

static struct parallel pipeline_of(enum schedule_kind kind, int64_t stages, int64_t chunks)
{
    struct parallel parallel = small;
    parallel.schedule = (uint32_t)kind;
    parallel.pp = stages;
    parallel.virtual_stages = chunks;
    return parallel;
}

static void assert_boundaries(enum schedule_kind kind, uint32_t stages, uint32_t chunks,
                              const char *expected)
{
    const struct parallel parallel = pipeline_of(kind, stages, chunks);
    char found[8] = "";
    for (uint32_t stage = 0; stage < stages; stage++) {
        found[stage] = groups_have_boundary(&parallel, stage) ? 'x' : '.';
    }
    assert_string_equal(found, expected);
}

/* Messages go between neighbours; from the last stage to the first only where pieces go around,
 * as interleaving does. A vee turns around on the last stage; so do both ways of DualPipe. */
static void only_loops_go_around(void **state)
{
    (void)state;
    assert_boundaries(SCHEDULE_1F1B, 1, 1, ".");
    assert_boundaries(SCHEDULE_1F1B, 4, 1, "xxx.");
    assert_boundaries(SCHEDULE_INTERLEAVED, 4, 2, "xxxx");
    assert_boundaries(SCHEDULE_INTERLEAVED, 2, 2, "xx");
    assert_boundaries(SCHEDULE_ZB_V, 4, 2, "xxx.");
    assert_boundaries(SCHEDULE_ZB_V, 2, 2, "x.");
    assert_boundaries(SCHEDULE_DUALPIPE, 4, 2, "xxx.");
    assert_boundaries(SCHEDULE_DUALPIPE, 2, 2, "x.");
    assert_boundaries(SCHEDULE_DUALPIPEV, 2, 2, "x.");
}

/* Of two stages the other is both the next and the one before: interleaving goes on, a vee back. */
static void directions_of_two_stages_are_told_apart(void **state)
{
    (void)state;
    struct parallel parallel = pipeline_of(SCHEDULE_INTERLEAVED, 2, 2);
    assert_true(groups_is_next_stage(&parallel, 0, 1) && groups_is_next_stage(&parallel, 1, 0));
    parallel = pipeline_of(SCHEDULE_ZB_V, 2, 2);
    assert_true(groups_is_next_stage(&parallel, 0, 1));
    assert_false(groups_is_next_stage(&parallel, 1, 0));
    parallel = pipeline_of(SCHEDULE_INTERLEAVED, 4, 2);
    assert_true(groups_is_next_stage(&parallel, 3, 0) && groups_is_next_stage(&parallel, 1, 2));
    assert_false(groups_is_next_stage(&parallel, 2, 1) || groups_is_next_stage(&parallel, 0, 3));
}

/* Tied embeddings are summed between the stages of the first piece and of the last: of a vee one
 * stage has both, with DualPipe each of the two has both. */
static void tied_embeddings_meet_where_the_ends_differ(void **state)
{
    (void)state;
    static const struct {
        enum schedule_kind kind;
        int64_t stages, chunks;
        bool is_tied, sums;
    } cases[] = {{SCHEDULE_INTERLEAVED, 4, 2, false, false},
                 {SCHEDULE_INTERLEAVED, 4, 2, true, true},
                 {SCHEDULE_ZB_V, 4, 2, true, false},
                 {SCHEDULE_DUALPIPE, 4, 2, true, false},
                 {SCHEDULE_1F1B, 1, 1, true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct parallel parallel =
            pipeline_of(cases[i].kind, cases[i].stages, cases[i].chunks);
        const struct mesh mesh = mesh_of(&parallel);
        const struct group_layout layout =
            group_layout_of(&mesh, &parallel, cases[i].is_tied ? &model_with_all : &plain_model);
        assert_true(layout.sums_embeddings == cases[i].sums);
        assert_true(!layout.sums_embeddings || (layout.first_stage == 0 && layout.last_stage == 3));
    }
}

/* ---- streams ----------------------------------------------------------------------------- */

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
        cmocka_unit_test(sharding_in_a_part_makes_replicas),
        cmocka_unit_test(local_groups_are_neighbours_and_their_places),
        cmocka_unit_test(experts_on_single_ranks_have_no_tensor_group),
        cmocka_unit_test(groups_of_one_are_left_out),
        cmocka_unit_test(kinds_that_a_model_does_not_need_are_left_out),
        cmocka_unit_test(only_loops_go_around),
        cmocka_unit_test(directions_of_two_stages_are_told_apart),
        cmocka_unit_test(tied_embeddings_meet_where_the_ends_differ),
        cmocka_unit_test(no_stream_belongs_to_two_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
