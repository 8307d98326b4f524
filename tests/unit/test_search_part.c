/* Files of what a shard of a search has found. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/absent.h"
#include "base/arena.h"
#include "base/diag.h"
#include "study/search/search_part.h"

static const struct search_part_origin origin = {"0123456789abcdef", "fedcba9876543210"};

/* Written to a file of its own and read again. */
static bool pass_on(struct arena *arena, const struct search_part *part, struct search_part *read)
{
    char path[] = "/tmp/stoker-part-XXXXXX";
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    struct diag *diag = diag_new(arena);
    assert_true(search_part_write(arena, part, &origin, path, diag));
    const bool is_read = search_part_read(arena, path, &origin, read, diag);
    unlink(path);
    return is_read;
}

/* 1/3 has no binary fraction that ends, and an absent bound is no number. */
static void a_part_is_read_as_it_was_written(void **state)
{
    struct arena *arena = *state;
    struct search_found found = {.layout = {.tp = 2,
                                            .etp = 1,
                                            .micro = 4,
                                            .context = 2,
                                            .reshard = 3,
                                            .overlap = 1,
                                            .order = 1195,
                                            .zero_group = 8,
                                            .microbatch_group = 6,
                                            .ends = {8, 6},
                                            .layers = 32,
                                            .offload.optimizer = 1.0 / 3},
                                 .value = 1.0 / 7,
                                 .step_s = 1.0 / 7};
    struct search_found near[] = {{.layout.tp = 4, .value = 1.0 / 11, .memory_bytes = 1e11 / 7},
                                  {.layout.pp = 8, .value = 1.0 / 9}};
    const struct search_part part = {
        .shard = {2, 3},
        .result = {
            .counts = {.layouts = 9, .simulated = 1},
            .best = found.value,
            .least = ABSENT,
            .is_certified = true,
            .nearest = {.tp = 8, .recompute.layers = 5},
            .nearest_bytes = 1e11 / 3,
            .failure = "one\nand more",
            .found = &found,
            .found_count = 1,
            .near = {.counts = {11, .by_count = 3, .by_bound = 4, .simulated = 2, .failed = 1},
                     .found = near,
                     .count = 2,
                     .is_certified = true}}};
    struct search_part read;
    assert_true(pass_on(arena, &part, &read));
    assert_int_equal(read.shard.number, 2);
    assert_int_equal(read.shard.count, 3);
    assert_int_equal(read.result.counts.layouts, 9);
    assert_true(is_absent(read.result.least));
    assert_true(read.result.is_certified);
    assert_int_equal(read.result.nearest.tp, 8);
    assert_int_equal(read.result.nearest.recompute.layers, 5);
    assert_memory_equal(&read.result.nearest_bytes, &part.result.nearest_bytes, sizeof(double));
    assert_string_equal(read.result.failure, "one");
    assert_int_equal(read.result.near.count, 2);
    assert_true(read.result.near.is_certified);
    assert_memory_equal(&read.result.near.counts, &part.result.near.counts,
                        sizeof part.result.near.counts);
    assert_int_equal(read.result.near.found[0].layout.tp, 4);
    assert_memory_equal(&read.result.near.found[0].memory_bytes, &near[0].memory_bytes,
                        sizeof(double));
    assert_int_equal(read.result.near.found[1].layout.pp, 8);
    assert_memory_equal(&read.result.near.found[1].value, &near[1].value, sizeof(double));
    assert_int_equal(read.result.found_count, 1);
    assert_memory_equal(&read.result.found[0].value, &found.value, sizeof(double));
    assert_memory_equal(&read.result.found[0].layout.offload.optimizer,
                        &found.layout.offload.optimizer, sizeof(double));
}

/* Who joins parts counts by their numbers. */
static void a_part_that_is_none_of_its_number_is_refused(void **state)
{
    static const struct shard wrong[] = {{0, 0}, {0, 2}, {3, 2}, {1, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct search_part part = {.shard = wrong[i],
                                         .result = {.best = ABSENT, .least = ABSENT}};
        struct search_part read;
        assert_false(pass_on(*state, &part, &read));
    }
}

/* Of shards whose best are 10 and 9 a near miss of 9.5 is better than the first's alone: of the
 * whole there are 8 and 8.5, the best first. With a gap of 10 % only what is below 8.1 counts. */
static void near_misses_of_shards_are_better_than_what_fits_of_all(void **state)
{
    struct search_found first[] = {{.value = 8.5}, {.value = 9.5}}, second[] = {{.value = 8}};
    struct search_found fits[] = {{.value = 10}, {.value = 9}};
    const struct search_result parts[] = {
        {.best = 10,
         .least = ABSENT,
         .found = &fits[0],
         .found_count = 1,
         .near = {.counts = {5, .simulated = 2}, .found = first, .count = 2, .is_certified = true}},
        {.best = 9,
         .least = ABSENT,
         .found = &fits[1],
         .found_count = 1,
         .near = {.counts = {7, .simulated = 1}, .found = second, .count = 1}},
    };
    struct search_result whole;
    search_join(*state, parts, 2, 0, &whole);
    assert_int_equal(whole.near.count, 2);
    assert_true(whole.near.found[0].value <= 8 && whole.near.found[1].value <= 8.5);
    assert_int_equal(whole.near.counts.layouts, 12);
    assert_int_equal(whole.near.counts.simulated, 3);
    assert_false(whole.near.is_certified); /* one was not */
    search_join(*state, parts, 1, 0, &whole);
    assert_int_equal(whole.near.count, 2);
    assert_true(whole.near.is_certified);
    search_join(*state, parts, 2, 0.1, &whole);
    assert_int_equal(whole.near.count, 1);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_is_read_as_it_was_written),
        cmocka_unit_test(a_part_that_is_none_of_its_number_is_refused),
        cmocka_unit_test(near_misses_of_shards_are_better_than_what_fits_of_all),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
