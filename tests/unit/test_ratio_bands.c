/* bands/ratio_bands: how far ratios may be off, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "base/absent.h"
#include "base/arena.h"
#include "lab/ratio_pairs.h"
#include "support/assert_close.h"
#include "support/temporary.h"

enum { PAIRS = 64 };

struct world {
    struct arena *arena;
    struct ratio_pair items[PAIRS];
    struct ratio_pairs pairs;
};

static int make_world(void **state)
{
    struct arena *arena = arena_new();
    struct world *world = arena_alloc(arena, sizeof *world);
    world->arena = arena;
    world->pairs.items = world->items;
    *state = world;
    return 0;
}

static int end_world(void **state)
{
    struct world *world = *state;
    arena_free(world->arena);
    return 0;
}

/* A vote of one pair. */
static void add(struct world *world, uint32_t axis, const char *source, double predicted,
                double error)
{
    assert_true(world->pairs.count < PAIRS);
    world->items[world->pairs.count++] = (struct ratio_pair){.axis = axis,
                                                             .vote = world->pairs.vote_count++,
                                                             .source = source,
                                                             .measured = predicted - error,
                                                             .predicted = predicted};
}

/* Asked once, and asked again of what was worked out. */
static struct ratio_band band(struct world *world, uint32_t axis, double predicted)
{
    const struct ratio_band once =
        ratio_band_of(world->arena, &world->pairs, &axis, 1, predicted, NULL);
    struct ratio_kinds *kinds = ratio_kinds_new(world->arena, &world->pairs);
    for (uint32_t i = 0; i < 2; i++) {
        const struct ratio_band again = ratio_kinds_band(kinds, &axis, 1, predicted);
        assert_int_equal(again.votes, once.votes);
        assert_memory_equal(&again.spread, &once.spread, sizeof once.spread);
        assert_memory_equal(&again.spread_of_half, &once.spread_of_half, sizeof once.spread);
    }
    return once;
}

/* Ten pairs that foretold no difference, off by 0, 1, ... 9 %: four fifths lie below 7.5 %, half
 * below 4.5 % (each is a tenth, the first stands at 0.05). A ratio of e^0.3 has twice the spread:
 * sqrt((0.1 + 0.3) / (0.1 + 0)); beyond a factor of e it grows no more: sqrt(1.1 / 0.1). */
static void a_kind_of_its_own(void **state)
{
    struct world *world = *state;
    for (uint32_t i = 0; i < 10; i++) {
        add(world, 0, "one", 0, (i % 2 == 0 ? 0.01 : -0.01) * (i * 7 % 10));
    }
    assert_int_equal(band(world, 0, 0).votes, 10);
    assert_close(band(world, 0, 0).spread, 0.075, 1e-9);
    assert_close(band(world, 0, 0).spread_of_half, 0.045, 1e-9);
    assert_close(band(world, 0, 0.3).spread, 0.15, 1e-9);
    assert_close(band(world, 0, -0.3).spread, 0.15, 1e-9);
    assert_close(band(world, 0, 1).spread, 0.075 * sqrt(11), 1e-9);
    assert_close(band(world, 0, 5).spread, 0.075 * sqrt(11), 1e-9);
}

/* Repeats of a pair are one vote, off by their mean of 4 % either way. */
static void pairs_of_a_vote_count_once(void **state)
{
    struct world *world = *state;
    add(world, 0, "one", 0, 0.08);
    add(world, 0, "one", 0, 0);
    world->items[1].vote = 0;
    world->pairs.vote_count = 1;
    assert_int_equal(band(world, 0, 0).votes, 1);
    assert_close(band(world, 0, 0).spread, 0.04, 1e-9);
}

/* One vote off by 50 % beside ten others of another kind, off by 10 %: these count as 20, so four
 * fifths of 21 lie among them. Three votes of its own: of 23, 18.4 do, the last of the others
 * stands at 19, so it is still 10 %; ten of its own: of 30, 24 do, beyond the first of its own at
 * 20.5: 50 %. Kinds that are apart lend nothing. */
static void a_kind_of_few_votes_borrows_from_the_others(void **state)
{
    struct world *world = *state;
    uint32_t apart = 0;
    while (!axis_get(apart).is_apart) {
        apart++;
    }
    for (uint32_t i = 0; i < 10; i++) {
        add(world, 1, "one", 0, 0.1);
        add(world, apart, "one", 0, 0.9);
    }
    assert_int_equal(band(world, 0, 0).votes, 0); /* none of its own: no band */
    for (uint32_t i = 0; i < 10; i++) {
        add(world, 0, "one", 0, 0.5);
        assert_int_equal(band(world, 0, 0).votes, i + 1);
        if (i == 0 || i == 2) {
            assert_close(band(world, 0, 0).spread, 0.1, 1e-9);
        }
    }
    assert_close(band(world, 0, 0).spread, 0.5, 1e-9);
}

/* 3 % and 4 % of two kinds are 5 %; with a third of which there is no pair there is no band. The
 * votes of the one are not the other's. */
static void kinds_add_up_as_squares(void **state)
{
    struct world *world = *state;
    static const uint32_t axes[] = {0, 1, 2};
    for (uint32_t i = 0; i < 20; i++) {
        add(world, 0, "one", 0, 0.03);
        add(world, 1, "one", 0, 0.03);
    }
    const struct ratio_band two = ratio_band_of(world->arena, &world->pairs, axes, 2, 0, NULL);
    assert_close(two.spread, 0.03 * sqrt(2), 1e-9);
    assert_close(two.spread_of_half, 0.03 * sqrt(2), 1e-9);
    assert_int_equal(two.votes, 40);
    assert_int_equal(ratio_band_of(world->arena, &world->pairs, axes, 3, 0, NULL).votes, 0);
    assert_int_equal(ratio_band_of(world->arena, &world->pairs, axes, 1, 0, "one").votes, 0);
}

static void verdicts(void **state)
{
    (void)state;
    const struct ratio_band band = {.votes = 1, .spread = 0.1, .spread_of_half = 0.05};
    assert_int_equal(ratio_band_verdict(&band, 0.11), RATIO_CLEAR);
    assert_int_equal(ratio_band_verdict(&band, -0.11), RATIO_CLEAR);
    assert_int_equal(ratio_band_verdict(&band, 0.09), RATIO_LIKELY);
    assert_int_equal(ratio_band_verdict(&band, -0.06), RATIO_LIKELY);
    assert_int_equal(ratio_band_verdict(&band, 0.04), RATIO_CLOSE);
}

/* Two sources of ten votes each, all foretold e^0.3. Those of the first are off by 0.1, so each of
 * the second has a band of 0.1; those of the second are off by 0.05, but for two by -0.4 (measured
 * e^0.7) and one by 0.6: measured below 1. The first's band is, of ten, the eighth to tenth being
 * large, at 0.8: 0.5 of the way from the eighth (0.4, at 0.75) to the ninth (0.4): 0.4.
 * Inside: 10 of the first and 7 of the second. Clear are the second's ten (0.3 > 0.1), of which
 * nine go as foretold; the first's have a half of 0.05: likely, and right. */
static void coverage_by_hand(void **state)
{
    struct world *world = *state;
    for (uint32_t i = 0; i < 10; i++) {
        add(world, 0, "first", 0.3, 0.1);
        add(world, 0, "second", 0.3, i == 9 ? 0.6 : i >= 7 ? -0.4 : 0.05);
    }
    add(world, 1, "alone", 0.3, 0.1); /* with its source left out its kind has no pair */
    const struct ratio_coverage found = ratio_pairs_measure(world->arena, &world->pairs, 0);
    assert_int_equal(found.votes, 20);
    assert_close(found.inside, 17.0 / 20, 1e-12);
    assert_close(found.clear, 10, 1e-12);
    assert_close(found.right_clear, 0.9, 1e-12);
    assert_close(found.likely, 10, 1e-12);
    assert_close(found.right_likely, 1, 1e-12);
    assert_int_equal(ratio_pairs_measure(world->arena, &world->pairs, axis_count).votes, 20);
    assert_int_equal(ratio_pairs_measure(world->arena, &world->pairs, 1).votes, 0);
    assert_true(is_absent(ratio_pairs_measure(world->arena, &world->pairs, 1).inside));
}

/* ---- the file ------------------------------------------------------------------------------ */

static const char head[] = "axis,source,model,first,second,values,held_out,measured,predicted\n";

static bool read_text(struct arena *arena, const char *text, struct ratio_pairs *pairs,
                      struct diag *diag)
{
    const char *directory = temporary_new(arena);
    const char *path = arena_printf(arena, "%s/ratios.csv", directory);
    temporary_write(path, text);
    const bool is_good = ratio_pairs_read(arena, path, pairs, diag);
    temporary_remove(directory);
    return is_good;
}

/* A difference of one source and model is one vote, of another model another. */
static void a_file_is_read_with_its_votes(void **state)
{
    struct world *world = *state;
    struct ratio_pairs pairs;
    const char *text = arena_printf(world->arena, "%s%s", head,
                                    "network,s,m,a,b,g 1>2,source,2,4\n"
                                    "network,s,m,c,d,g 1>2,source,2,1\n"
                                    "network,s,n,e,f,g 1>2,unseen,1,1\n");
    assert_true(read_text(world->arena, text, &pairs, diag_new(world->arena)));
    assert_int_equal(pairs.count, 3);
    assert_int_equal(pairs.vote_count, 2);
    assert_string_equal(axis_get(pairs.items[0].axis).name, "network");
    assert_close(pairs.items[0].measured, log(2), 1e-12);
    assert_close(pairs.items[0].predicted, log(4), 1e-12);
    assert_int_equal(pairs.items[0].vote, pairs.items[1].vote);
}

static void a_wrong_file_is_told_with_its_place(void **state)
{
    struct world *world = *state;
    static const char *const cases[][2] = {
        {"netwrk,s,m,a,b,g,source,2,4\n", ":2:1: there is no kind of difference 'netwrk'"},
        {"network,s,m,a,b,g,source,2,0\n", ":2:28: predicted '0' is no ratio"},
        {"network,s,m,a,b,g,source,x,1\n", ":2:26: measured 'x' is no ratio"},
        {"network,s,m\n", ":2:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ratio_pairs pairs;
        struct diag *diag = diag_new(world->arena);
        assert_false(read_text(world->arena, arena_printf(world->arena, "%s%s", head, cases[i][0]),
                               &pairs, diag));
        const char *message = diag_first_error_at(world->arena, diag);
        if (strstr(message, cases[i][1]) == NULL) {
            fail_msg("'%s' lacks '%s'", message, cases[i][1]);
        }
    }
    struct ratio_pairs pairs;
    struct diag *diag = diag_new(world->arena);
    assert_false(read_text(world->arena, "axis,source\nnetwork,s\n", &pairs, diag));
    assert_non_null(strstr(diag_first_error(diag), "columns are missing: 'model'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, end_world)
        TEST(a_kind_of_its_own),
        TEST(pairs_of_a_vote_count_once),
        TEST(a_kind_of_few_votes_borrows_from_the_others),
        TEST(kinds_add_up_as_squares),
        TEST(verdicts),
        TEST(coverage_by_hand),
        TEST(a_file_is_read_with_its_votes),
        TEST(a_wrong_file_is_told_with_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
