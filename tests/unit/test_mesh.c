/* Places and lines of the rank mesh, against sums made by hand. */
#include "input/features/layout_words.h"
#include "input/job/parallel_order.h"
#include "plan/mesh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define RANKS_MAX 512

#define ORDER_DEFAULT                               \
    {                                               \
        AXIS_TP, AXIS_CP, AXIS_EP, AXIS_DP, AXIS_PP \
    }

/* tp 2, cp 2, dp 4, pp 2: 32 ranks, planes of 8; experts over 4 of them. */
static const struct mesh mesh = {.tp = 2,
                                 .cp = 2,
                                 .dp = 4,
                                 .pp = 2,
                                 .ep = 4,
                                 .etp = 2,
                                 .shards = 8,
                                 .holders = 1,
                                 .order = ORDER_DEFAULT};

static void assert_ranks(const uint32_t *ranks, const uint32_t *expected, size_t count)
{
    assert_memory_equal(ranks, expected, count * sizeof *ranks);
}

static void assert_line(const struct mesh *m, enum mesh_line line, uint32_t number,
                        const uint32_t *expected)
{
    uint32_t ranks[RANKS_MAX];
    mesh_line_ranks(m, line, number, ranks);
    assert_ranks(ranks, expected, mesh_line_size(m, line));
}

/* rank = tp + 2 (cp + 2 (dp + 4 pp)): place tp 1, cp 0, dp 3, pp 1 is 1 + 2 (0 + 2 x 7) = 29. */
static void ranks_are_numbered_tensor_context_data_pipeline(void **state)
{
    (void)state;
    const struct mesh_place place = {.tp = 1, .cp = 0, .dp = 3, .pp = 1};
    assert_int_equal(mesh_size(&mesh), 32);
    assert_int_equal(mesh_plane_size(&mesh), 8);
    assert_int_equal(mesh_rank(&mesh, &place), 29);
    assert_int_equal(mesh_stage_of(&mesh, 29), 1);
    assert_int_equal(mesh_stage_place(&mesh, 29), 13);
}

/* Order tp-cp-pp-dp-ep, as Megatron prints it for tp-pp-dp: rank = tp + 2 (cp + 2 (pp + 2 dp)).
 * The same place is 1 + 2 (0 + 2 (1 + 2 x 3)) = 29 again; tp 0, cp 1, dp 2, pp 0 is
 * 0 + 2 (1 + 2 (0 + 4)) = 18, and its like on the next stage lies tp x cp = 4 on. */
static void another_order_moves_ranks(void **state)
{
    (void)state;
    struct mesh other = mesh;
    memcpy(other.order, (const uint8_t[]){AXIS_TP, AXIS_CP, AXIS_PP, AXIS_DP, AXIS_EP}, 5);
    assert_int_equal(mesh_rank(&other, &(struct mesh_place){1, 0, 3, 1}), 29);
    assert_int_equal(mesh_rank(&other, &(struct mesh_place){0, 1, 2, 0}), 18);
    assert_int_equal(mesh_rank(&other, &(struct mesh_place){0, 1, 2, 1}), 22);
    assert_line(&other, MESH_TENSOR, 0, (const uint32_t[]){0, 1});
    assert_line(&other, MESH_CONTEXT, 1, (const uint32_t[]){1, 3});
    assert_line(&other, MESH_DATA, 0, (const uint32_t[]){0, 2, 8, 10, 16, 18, 24, 26});
    /* dp before tp: neighbours of a data group are 1 apart, of a tensor group dp x cp = 8. */
    memcpy(other.order, (const uint8_t[]){AXIS_DP, AXIS_CP, AXIS_TP, AXIS_EP, AXIS_PP}, 5);
    assert_line(&other, MESH_TENSOR, 0, (const uint32_t[]){0, 8});
    assert_line(&other, MESH_DATA, 1, (const uint32_t[]){8, 9, 10, 11, 12, 13, 14, 15});
}

/* For all 120 orders: places and ranks are each other's inverse, a step along an axis is the
 * product of the sizes before it, and stages are alike. */
static void every_order_numbers_every_rank_once(void **state)
{
    (void)state;
    uint32_t orders = 0;
    for (uint32_t code = 0; code < 3125; code++) {
        struct mesh m = {
            .tp = 2, .cp = 3, .dp = 4, .pp = 5, .ep = 6, .etp = 1, .shards = 12, .holders = 1};
        uint32_t seen = 0;
        for (uint32_t i = 0, rest = code; i < AXIS_COUNT_; i++, rest /= 5) {
            m.order[i] = (uint8_t)(rest % 5);
            seen |= 1u << m.order[i];
        }
        if (seen != 31) {
            continue;
        }
        orders++;
        const uint32_t sizes[AXIS_COUNT_] = {2, 3, 1, 4, 5};
        uint32_t steps[AXIS_COUNT_] = {0};
        for (uint32_t i = 0, step = 1; i < AXIS_COUNT_; step *= sizes[m.order[i]], i++) {
            steps[m.order[i]] = step;
        }
        for (uint32_t rank = 0; rank < 120; rank++) {
            const struct mesh_place of = mesh_place_of(&m, rank);
            assert_int_equal(mesh_rank(&m, &of), rank);
            assert_int_equal(rank, of.tp * steps[AXIS_TP] + of.cp * steps[AXIS_CP] +
                                       of.dp * steps[AXIS_DP] + of.pp * steps[AXIS_PP]);
            assert_int_equal(mesh_stage_rank(&m, of.pp, mesh_stage_place(&m, rank)), rank);
            assert_int_equal(mesh_stage_of(&m, rank), of.pp);
        }
    }
    assert_int_equal(orders, 120);
}

enum { ORDERS = 120, SIGNATURE_MAX = 128 };

/* All members of all lines in turn, and what messages between stages go to. */
static uint32_t signature_of(const struct mesh *m, bool has_experts, uint32_t *ranks)
{
    uint32_t count = 0;
    for (uint32_t line = 0; line < (has_experts ? MESH_LINE_COUNT_ : MESH_EXPERT); line++) {
        for (uint32_t i = 0; i < mesh_line_count(m, line) * m->pp; i++) {
            mesh_line_ranks(m, line, i, &ranks[count]);
            count += mesh_line_size(m, line);
            assert_true(count <= SIGNATURE_MAX);
        }
    }
    return count;
}

/* So many of the 120 orders as there are of the axes with more than one rank: 3! of tp, dp and pp,
 * 2 of tp and dp, 4! with cp. Experts on ranks of tp and dp (etp 1, ep 4, edp 2 in a stage of 8)
 * have 2 of their own beside the 2 of tp and dp, and etp 2 stands where tp does. */
static void orders_agree_where_every_line_has_the_same_ranks(void **state)
{
    (void)state;
    static const struct {
        struct parallel parallel;
        bool has_experts;
        uint32_t kinds;
    } cases[] = {
        {{.tp = 4, .cp = 1, .dp = 2, .pp = 2, .ep = 1, .etp = 4}, false, 6},
        {{.tp = 2, .cp = 1, .dp = 4, .pp = 1, .ep = 1, .etp = 2}, false, 2},
        {{.tp = 2, .cp = 2, .dp = 2, .pp = 2, .ep = 1, .etp = 2}, false, 24},
        {{.tp = 2, .cp = 1, .dp = 4, .pp = 1, .ep = 4, .etp = 1}, true, 4},
        {{.tp = 2, .cp = 1, .dp = 4, .pp = 1, .ep = 2, .etp = 2}, true, 6},
        {{.tp = 1, .cp = 1, .dp = 1, .pp = 4, .ep = 1, .etp = 1}, true, 1},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct parallel *parallel = &cases[c].parallel;
        uint8_t orders[ORDERS + 1][AXIS_COUNT_]; /* and the number that is looked at */
        uint32_t lines[ORDERS][SIGNATURE_MAX];
        uint32_t count = 0, kinds = 0, length = 0;
        for (uint32_t number = 1; number <= 3125; number++) {
            parallel_order_of(number, orders[count]);
            assert_int_equal(parallel_order_number(orders[count]), number);
            uint32_t seen = 0;
            for (uint32_t i = 0; i < AXIS_COUNT_; i++) {
                seen |= 1u << orders[count][i];
            }
            if (seen != 31) {
                continue;
            }
            struct parallel ordered = *parallel;
            memcpy(ordered.order, orders[count], sizeof ordered.order);
            const struct mesh m = mesh_of(&ordered);
            length = signature_of(&m, cases[c].has_experts, lines[count]);
            bool is_new = true;
            for (uint32_t i = 0; i < count; i++) {
                const bool agree =
                    parallel_orders_agree(parallel, cases[c].has_experts, orders[i], orders[count]);
                const bool same = memcmp(lines[i], lines[count], length * sizeof **lines) == 0;
                assert_int_equal(agree, same);
                is_new = is_new && !agree;
            }
            kinds += is_new;
            count++;
        }
        assert_int_equal(count, ORDERS);
        assert_int_equal(kinds, cases[c].kinds);
    }
}

/* Of stage 1 (ranks 16 to 31), tensor place 1 (odd ones). Tensor neighbours are 1 apart, context
 * neighbours 2, replicas 4; plane places 4 to 7 are ranks 25, 27, 29, 31, and those with expert
 * index 1 are places 1 and 5. A stage has 8 tensor and context lines, 2 data, 4 expert, 8 expert
 * data. */
static void lines_are_the_ranks_that_share_all_other_places(void **state)
{
    (void)state;
    assert_line(&mesh, MESH_TENSOR, 8 + 5, (const uint32_t[]){26, 27});
    assert_line(&mesh, MESH_CONTEXT, 8 + 5, (const uint32_t[]){25, 27});
    assert_line(&mesh, MESH_DATA, 2 + 1, (const uint32_t[]){17, 19, 21, 23, 25, 27, 29, 31});
    assert_line(&mesh, MESH_EXPERT, 4 + 3, (const uint32_t[]){25, 27, 29, 31});
    assert_line(&mesh, MESH_EXPERT_DATA, 8 + 3, (const uint32_t[]){19, 27});
    assert_true(mesh_experts_use_tensor_lines(&mesh));
}

/* DeepSeek-V3's way on a small scale: tp 2, dp 8, experts over 16 ranks of one stage of 16: more
 * than dp. With etp 1 each rank has experts of its own; with etp 2, ep 4 pairs share them, and
 * two groups hold the same. */
static void experts_fold_over_tensor_ranks_too(void **state)
{
    (void)state;
    struct mesh m = mesh;
    m.cp = 1;
    m.dp = 8;
    m.ep = 16;
    m.etp = 1;
    uint32_t all[16];
    for (uint32_t i = 0; i < 16; i++) {
        all[i] = i + 16;
    }
    assert_line(&m, MESH_EXPERT, 1, all);
    assert_int_equal(mesh_line_size(&m, MESH_EXPERT_DATA), 1);
    assert_false(mesh_experts_use_tensor_lines(&m));
    m.ep = 4;
    m.etp = 2;
    assert_line(&m, MESH_EXPERT, 1, (const uint32_t[]){1, 3, 5, 7});
    assert_line(&m, MESH_EXPERT_TENSOR, 3, (const uint32_t[]){6, 7});
    assert_line(&m, MESH_EXPERT_DATA, 3, (const uint32_t[]){3, 11});
    assert_true(mesh_experts_use_tensor_lines(&m));
    /* ep last, after dp: replicas of experts are neighbours, those who exchange far apart. */
    memcpy(m.order, (const uint8_t[]){AXIS_TP, AXIS_CP, AXIS_DP, AXIS_EP, AXIS_PP}, 5);
    assert_line(&m, MESH_EXPERT, 0, (const uint32_t[]){0, 4, 8, 12});
    assert_line(&m, MESH_EXPERT_DATA, 0, (const uint32_t[]){0, 2});
    /* cp before tp: experts' numbering has no cp, so pairs that share one are neighbours, while
     * tensor neighbours are cp apart. */
    m.cp = 2;
    m.dp = 4;
    memcpy(m.order, (const uint8_t[]){AXIS_CP, AXIS_TP, AXIS_EP, AXIS_DP, AXIS_PP}, 5);
    assert_line(&m, MESH_TENSOR, 0, (const uint32_t[]){0, 2});
    assert_line(&m, MESH_EXPERT_TENSOR, 0, (const uint32_t[]){0, 1});
    assert_false(mesh_experts_use_tensor_lines(&m));
}

/* Adds one for each rank of a line; true when none was there before. */
static bool are_new(uint32_t *seen, const uint32_t *ranks, uint32_t count)
{
    bool is_new = true;
    for (uint32_t i = 0; i < count; i++) {
        is_new = is_new && seen[ranks[i]] == 0 && (i == 0 || ranks[i] > ranks[i - 1]);
        seen[ranks[i]]++;
    }
    return is_new;
}

static bool are_blocks(const struct mesh *m, enum mesh_line line)
{
    const uint32_t size = mesh_line_size(m, line);
    bool are = true;
    for (uint32_t i = 0; i < mesh_line_count(m, line) * m->pp; i++) {
        const uint32_t first = mesh_line_rank(m, line, i, 0);
        are = are && first % size == 0;
        for (uint32_t k = 1; k < size; k++) {
            are = are && mesh_line_rank(m, line, i, k) == first + k;
        }
    }
    return are;
}

/* In every order of the axes, and with experts on some ranks of several folds. */
static void lines_that_are_blocks_are_told(void **state)
{
    (void)state;
    uint32_t blocks = 0;
    for (uint32_t code = 0; code < 3125; code++) {
        struct mesh m = {.tp = 2,
                         .cp = 3,
                         .dp = 4,
                         .pp = 1 + code / 5 % 2,
                         .ep = 6,
                         .etp = 1,
                         .shards = 12,
                         .holders = 1};
        uint32_t seen = 0;
        for (uint32_t i = 0, rest = code; i < AXIS_COUNT_; i++, rest /= 5) {
            m.order[i] = (uint8_t)(rest % 5);
            seen |= 1u << m.order[i];
        }
        for (uint32_t line = 0; seen == 31 && line < MESH_LINE_COUNT_; line++) {
            const bool are = mesh_lines_are_blocks(&m, (enum mesh_line)line);
            assert_int_equal(are, are_blocks(&m, (enum mesh_line)line));
            blocks += are;
        }
    }
    assert_in_range(blocks, 100, 600);
}

/* For every ep x etp that divides a stage of 24 ranks: the lines of a kind hold every rank
 * exactly once, and the three kinds for experts have sizes whose product is the stage. */
static void lines_of_a_kind_cut_the_mesh(void **state)
{
    (void)state;
    for (uint32_t ep = 1; ep <= 24; ep++) {
        for (uint32_t etp = 1; etp <= 24; etp++) {
            if (24 % (ep * etp) != 0) {
                continue;
            }
            const struct mesh m = {.tp = 2,
                                   .cp = 3,
                                   .dp = 4,
                                   .pp = 3,
                                   .ep = ep,
                                   .etp = etp,
                                   .shards = 12,
                                   .holders = 1,
                                   .order = {AXIS_TP, AXIS_EP, AXIS_PP, AXIS_CP, AXIS_DP}};
            for (uint32_t line = 0; line < MESH_LINE_COUNT_; line++) {
                uint32_t seen[RANKS_MAX] = {0};
                uint32_t ranks[RANKS_MAX];
                const uint32_t count = mesh_line_count(&m, (enum mesh_line)line) * m.pp;
                for (uint32_t i = 0; i < count; i++) {
                    mesh_line_ranks(&m, (enum mesh_line)line, i, ranks);
                    assert_true(are_new(seen, ranks, mesh_line_size(&m, (enum mesh_line)line)));
                }
                for (uint32_t rank = 0; rank < mesh_size(&m); rank++) {
                    assert_int_equal(seen[rank], 1);
                }
            }
            assert_int_equal(mesh_line_size(&m, MESH_EXPERT) *
                                 mesh_line_size(&m, MESH_EXPERT_TENSOR) *
                                 mesh_line_size(&m, MESH_EXPERT_DATA),
                             24);
        }
    }
}

static void assert_holders(const struct mesh *m, enum mesh_line line, uint32_t number,
                           const uint32_t *expected)
{
    for (uint32_t i = 0; i < mesh_holders(m, line); i++) {
        assert_int_equal(mesh_holder_rank(m, line, number, i), expected[i]);
    }
}

/* tp 2, dp 4, pp 4, order default: stages of 8. With DualPipe stages 0 and 3 hold the same
 * pieces: of tp 1 ranks 1, 3, 5, 7 and 25, 27, 29, 31; stages 1 and 2 likewise. */
static void two_stages_hold_a_piece_of_dual_pipe(void **state)
{
    (void)state;
    const struct mesh m = {.tp = 2,
                           .cp = 1,
                           .dp = 4,
                           .pp = 4,
                           .ep = 2,
                           .etp = 2,
                           .shards = 8,
                           .holders = 2,
                           .order = ORDER_DEFAULT};
    assert_int_equal(mesh_holders(&m, MESH_DATA), 8);
    assert_int_equal(mesh_holder_groups(&m, MESH_DATA), 4);
    assert_holders(&m, MESH_DATA, 1, (const uint32_t[]){1, 3, 5, 7, 25, 27, 29, 31});
    assert_holders(&m, MESH_DATA, 2, (const uint32_t[]){8, 10, 12, 14, 16, 18, 20, 22});
    assert_int_equal(mesh_holder_groups(&m, MESH_EXPERT_DATA), 8);
    assert_holders(&m, MESH_EXPERT_DATA, 2, (const uint32_t[]){2, 6, 26, 30});
}

/* Of 16 ranks with the same dense parameters (tp 2: 32 in all) a copy has 4, 8 ranks with both tp.
 * Experts over ep 4 x etp 2 = 8: each copy has all experts once: one rank a shard. Over ep 2 x
 * etp 2: twice, so two shards. Over ep 16: a copy of the rest has only a half of them: not
 * sharded, all replicas. */
static void experts_are_sharded_within_the_same_ranks(void **state)
{
    (void)state;
    struct mesh m = {.tp = 2,
                     .cp = 1,
                     .dp = 16,
                     .pp = 1,
                     .ep = 4,
                     .etp = 2,
                     .shards = 4,
                     .holders = 1,
                     .order = ORDER_DEFAULT};
    assert_int_equal(mesh_shards(&m, MESH_DATA), 4);
    assert_int_equal(mesh_shards(&m, MESH_EXPERT_DATA), 1);
    assert_int_equal(mesh_holders(&m, MESH_EXPERT_DATA), 4);
    m.ep = 2;
    assert_int_equal(mesh_shards(&m, MESH_EXPERT_DATA), 2);
    m.ep = 16;
    m.etp = 1;
    assert_int_equal(mesh_shards(&m, MESH_EXPERT_DATA), 1);
    m.shards = 16;
    assert_int_equal(mesh_shards(&m, MESH_EXPERT_DATA), 2);
}

/* Sharding is over all that hold a parameter unless said otherwise; DualPipe doubles them. */
static void a_layout_becomes_a_mesh(void **state)
{
    (void)state;
    struct parallel parallel = {.tp = 2,
                                .cp = 2,
                                .dp = 4,
                                .pp = 2,
                                .ep = 4,
                                .etp = 2,
                                .zero = 1,
                                .zero_group = 8,
                                .order = ORDER_DEFAULT};
    const struct mesh plain = mesh_of(&parallel);
    assert_memory_equal(&plain, &mesh, offsetof(struct mesh, order) + sizeof mesh.order);
    parallel.zero_group = 4;
    assert_int_equal(mesh_of(&parallel).shards, 4);
    parallel.schedule = SCHEDULE_DUALPIPE;
    assert_int_equal(mesh_of(&parallel).shards, 4);
    parallel.zero_group = 8;
    assert_int_equal(mesh_of(&parallel).shards, 16);
    parallel.zero_group = 4;
    parallel.zero = 0; /* nothing is sharded: all sum their gradients at once */
    assert_int_equal(mesh_of(&parallel).shards, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_numbered_tensor_context_data_pipeline),
        cmocka_unit_test(another_order_moves_ranks),
        cmocka_unit_test(every_order_numbers_every_rank_once),
        cmocka_unit_test(orders_agree_where_every_line_has_the_same_ranks),
        cmocka_unit_test(lines_are_the_ranks_that_share_all_other_places),
        cmocka_unit_test(experts_fold_over_tensor_ranks_too),
        cmocka_unit_test(lines_of_a_kind_cut_the_mesh),
        cmocka_unit_test(lines_that_are_blocks_are_told),
        cmocka_unit_test(two_stages_hold_a_piece_of_dual_pipe),
        cmocka_unit_test(experts_are_sharded_within_the_same_ranks),
        cmocka_unit_test(a_layout_becomes_a_mesh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
