/* What comes out of a search: in which order, and what of it is shown. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "input/scenario.h"
#include "study/search/search.h"
#include "study/search/search_by.h"
#include "train/bound/bound.h"

static void assert_order(const struct search_found *found, const int64_t *tp, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(found[i].layout.tp, tp[i]);
    }
}

/* The least miss first, those of one miss as they came, and last what has no number: whatever the
 * order in which shards found them. */
static void what_misses_least_is_first(void **state)
{
    struct search_found missed[] = {
        {.layout.tp = 1, .miss = 0.2}, {.layout.tp = 2, .miss = ABSENT},
        {.layout.tp = 3, .miss = 0.5}, {.layout.tp = 4, .miss = 0.1},
        {.layout.tp = 5, .miss = 0.2}, {.layout.tp = 6, .miss = 0.3},
    };
    enum { COUNT = sizeof missed / sizeof *missed };
    static const int64_t wanted[COUNT] = {4, 1, 5, 6, 3, 2};
    static const int64_t turned[COUNT] = {4, 5, 1, 6, 3, 2};
    for (int is_turned = 0; is_turned < 2; is_turned++) {
        struct search_result parts[COUNT];
        for (uint32_t i = 0; i < COUNT; i++) {
            parts[i] = (struct search_result){.best = ABSENT,
                                              .least = ABSENT,
                                              .missed = &missed[is_turned ? COUNT - 1 - i : i],
                                              .missed_count = 1};
        }
        struct search_result whole;
        search_join(*state, parts, COUNT, 0, &whole);
        assert_int_equal(whole.missed_count, COUNT);
        assert_order(whole.missed, is_turned ? turned : wanted, COUNT);
        assert_int_equal(search_first(&whole)->layout.tp, 4);
    }
}

/* Each shard has numbered its own: they say nothing of the order in the whole. */
static void the_order_of_the_whole_is_that_of_its_shards(void **state)
{
    struct search_found found[] = {{.layout.tp = 1, .value = 1, .order = 7},
                                   {.layout.tp = 2, .value = 1, .order = 0}};
    struct search_found missed[] = {{.layout.tp = 3, .miss = 0.5, .order = 7},
                                    {.layout.tp = 4, .miss = 0.5, .order = 0}};
    struct search_result parts[2];
    for (uint32_t i = 0; i < 2; i++) {
        parts[i] = (struct search_result){.best = 1,
                                          .least = ABSENT,
                                          .found = &found[i],
                                          .found_count = 1,
                                          .missed = &missed[i],
                                          .missed_count = 1};
    }
    struct search_result whole;
    search_join(*state, parts, 2, 0, &whole);
    assert_order(whole.found, (const int64_t[]){1, 2}, 2);
    assert_order(whole.missed, (const int64_t[]){3, 4}, 2);
}

/* Each layout is of one shard and of one count there: each count of the whole is a sum. */
static void what_was_counted_adds_up(void **state)
{
    const struct search_counts counts[] = {{.layouts = 28,
                                            .by_line = 1,
                                            .by_memory = 2,
                                            .by_count = 3,
                                            .by_bound = 4,
                                            .missed = 5,
                                            .simulated = 6,
                                            .failed = 7},
                                           {.layouts = 280,
                                            .by_line = 10,
                                            .by_memory = 20,
                                            .by_count = 30,
                                            .by_bound = 40,
                                            .missed = 50,
                                            .simulated = 60,
                                            .failed = 70}};
    struct search_result parts[2];
    for (uint32_t i = 0; i < 2; i++) {
        parts[i] = (struct search_result){
            .best = ABSENT, .least = ABSENT, .counts = counts[i], .near.counts = counts[i]};
    }
    struct search_result whole;
    search_join(*state, parts, 2, 0, &whole);
    const struct search_counts *sums[] = {&whole.counts, &whole.near.counts};
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(sums[i]->layouts, 308);
        assert_int_equal(sums[i]->by_line, 11);
        assert_int_equal(sums[i]->by_memory, 22);
        assert_int_equal(sums[i]->by_count, 33);
        assert_int_equal(sums[i]->by_bound, 44);
        assert_int_equal(sums[i]->missed, 55);
        assert_int_equal(sums[i]->simulated, 66);
        assert_int_equal(sums[i]->failed, 77);
    }
}

/* The best two, then of those behind, none of which is better in value, what takes less memory than
 * all before it: 60 GB, which 70 does not beat, then 50. */
static void what_nothing_beats_in_value_and_memory_is_shown(void **state)
{
    struct search_found found[] = {
        {.layout.tp = 1, .value = 1, .memory_bytes = 80e9},
        {.layout.tp = 2, .value = 2, .memory_bytes = 90e9},
        {.layout.tp = 3, .value = 3, .memory_bytes = 85e9},
        {.layout.tp = 4, .value = 4, .memory_bytes = 60e9},
        {.layout.tp = 5, .value = 5, .memory_bytes = 70e9},
        {.layout.tp = 6, .value = 6, .memory_bytes = 60e9},
        {.layout.tp = 7, .value = 7, .memory_bytes = 50e9},
    };
    const struct search_result result = {.found = found,
                                         .found_count = sizeof found / sizeof *found};
    static const int64_t wanted[] = {1, 2, 4, 7};
    uint32_t count = 0;
    const struct search_found *chosen = search_choose(*state, &result, 2, &count);
    assert_int_equal(count, 4);
    assert_order(chosen, wanted, count);
    const struct search_near near = {.found = found, .count = result.found_count};
    static const int64_t nearest[SEARCH_NEAR_SHOWN] = {1, 4, 7};
    chosen = search_choose_near(*state, &near, &count);
    assert_int_equal(count, SEARCH_NEAR_SHOWN);
    assert_order(chosen, nearest, count);
}

static int set_up(void **state)
{
    *state = arena_new();
    return 0;
}

static int tear_down(void **state)
{
    arena_free(*state);
    return 0;
}

/* A step may take no longer than its bound: one that is rounded otherwise than the step is then
 * more than the step two times in ten, which the search asserts never to be. */
static void no_bound_is_more_than_its_step(void **state)
{
    (void)state;
    const struct scenario base = {0};
    for (int64_t i = 0; i < 1000; i++) {
        const struct bound bound = {.step_ns = 836662442 + i * 7919};
        assert_true(search_least_value(SEARCH_BY_STEP, &base, &bound) <=
                    units_seconds(bound.step_ns));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_misses_least_is_first),
        cmocka_unit_test(the_order_of_the_whole_is_that_of_its_shards),
        cmocka_unit_test(what_was_counted_adds_up),
        cmocka_unit_test(what_nothing_beats_in_value_and_memory_is_shown),
        cmocka_unit_test(no_bound_is_more_than_its_step),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
