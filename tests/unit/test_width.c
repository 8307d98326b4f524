/* The regression of how wide bands are: its features, its least cost, four fifths inside. */
#include "bands/width.h"

#include "base/arena.h"
#include "base/rng.h"
#include "support/assert_close.h"

#include <math.h>
#include <stdlib.h>

enum { VOTES = 400 };

static const struct band_traits plain = {
    .gpu = "h100",
    .architecture = "hopper",
    .framework = "megatron",
    .precision = "bf16",
    .gpus = 64,
    .sequence_length = 4096,
    .hidden = 4096,
    .step_s = 8,
    .network_bytes_per_s = 400e9,
    .fabric = "rail",
    .routing = "adaptive",
    .oversubscription = 1,
};

/* Runs that have one of each feature, by rows of width_features: an eighth of what is usual, three
 * doublings, is one. */
static struct band_traits having(uint32_t feature)
{
    struct band_traits traits = plain;
    traits.is_mixture = feature == 0;
    traits.is_typed = feature == 1;
    traits.precision = feature == 2 ? "fp8" : "bf16";
    traits.network_bytes_per_s = feature == 3 ? 50e9 / 8 : 400e9;
    traits.step_s = feature == 4 ? 0.5 : 8;
    return traits;
}

/* Each run has one of one feature and none of the others; who has none is what they are measured
 * against. */
static void each_feature_is_one_where_it_is_said_to_be(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < WIDTH_FEATURE_COUNT; i++) {
        const struct band_traits traits = having(i);
        for (uint32_t k = 0; k < WIDTH_FEATURE_COUNT; k++) {
            assert_close(width_features[k].of(&traits), i == k ? 1 : 0, 1e-12);
            assert_close(width_features[k].of(&plain), 0, 1e-12);
        }
    }
    struct band_traits none = plain;
    none.step_s = (double)NAN; /* not simulated */
    none.network_bytes_per_s = 0;
    for (uint32_t k = 0; k < WIDTH_FEATURE_COUNT; k++) {
        assert_close(width_features[k].of(&none), 0, 1e-12);
    }
}

/* Half of 400 runs have it and are off by 0.2, the others by 0.1. Of the first the mean of what
 * they are off over what is expected, m, obeys 200 (1 - m) + 5 ln c = 0, and that of the others is
 * 2 - m, so c = 2 (1 - ln c / 40) / (1 + ln c / 40): ln c = 0.660, a little less than ln 2. Four
 * fifths, of the ones with it, are off by 0.2: that wide, and 0.2 / c without. */
static void what_is_twice_as_far_off_is_nearly_twice_as_wide(void **state)
{
    (void)state;
    for (uint32_t feature = 0; feature < WIDTH_FEATURE_COUNT; feature++) {
        struct arena *arena = arena_new();
        struct band_vote *votes = arena_array(arena, VOTES, sizeof *votes);
        const struct band_traits having_it = having(feature);
        for (uint32_t i = 0; i < VOTES; i++) {
            votes[i] = i % 2 == 0
                           ? (struct band_vote){"a", "a", plain, exp(i % 4 == 0 ? 0.1 : -0.1)}
                           : (struct band_vote){"b", "b", having_it, exp(-0.2)};
        }
        const struct band_width width = width_fit(arena, votes, VOTES, 0);
        assert_close(width.coefficients[feature + 1], 0.660, 1e-3);
        assert_close(width_of(&width, &having_it), 0.2, 1e-9);
        assert_close(width_of(&width, &plain), 0.2 * exp(-0.660), 1e-3);
        uint32_t count;
        assert_int_equal(width_parts(arena, &width, &plain, &count) != NULL && count == 0, 1);
        assert_close(width_parts(arena, &width, &having_it, &count)[0].times, exp(0.660), 1e-3);
        assert_int_equal(count, 1);
        /* Without it, and without all of them: one width, four fifths of all. */
        const struct band_width one = width_fit(arena, votes, VOTES, 1U << feature);
        assert_close(width_of(&one, &plain), 0.2, 1e-9);
        assert_close(width_of(&one, &having_it), 0.2, 1e-9);
        const struct band_width constant = width_fit(arena, votes, VOTES, WIDTH_CONSTANT);
        assert_close(width_of(&constant, &having_it), 0.2, 1e-9);
        arena_free(arena);
    }
}

/* Votes with features at random, whose errors are exponential, exp(sum of 0.5 a feature) wide. */
static struct band_vote *random_votes(struct arena *arena)
{
    struct band_vote *votes = arena_array(arena, VOTES, sizeof *votes);
    struct rng_key key = {.seed = 7, .stream = rng_stream("votes")};
    for (uint32_t i = 0; i < VOTES; i++) {
        key.rank = i;
        const uint64_t bits = rng_bits(&key);
        struct band_traits traits = plain;
        traits.is_mixture = (bits & 1) != 0;
        traits.is_typed = (bits & 2) != 0;
        traits.precision = (bits & 4) != 0 ? "mxfp8" : "fp16";
        traits.network_bytes_per_s = (bits & 8) != 0 ? 25e9 : 100e9;
        traits.step_s = (bits & 16) != 0 ? 1 : 100;
        double sum = 0;
        for (uint32_t k = 0; k < WIDTH_FEATURE_COUNT; k++) {
            sum += 0.5 * width_features[k].of(&traits);
        }
        key.operation = 1;
        votes[i] =
            (struct band_vote){"a", "a", traits, exp(rng_exponential(&key, 0.05 * exp(sum)))};
        key.operation = 0;
    }
    return votes;
}

/* What the coefficients cost of the features (bands/width.h), with the best of c0, which is the
 * logarithm of the mean of what is left of the errors. */
static double cost_of(const struct band_vote *votes, const struct band_width *width)
{
    double cost = 0, mean = 0;
    for (uint32_t i = 0; i < VOTES; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < WIDTH_FEATURE_COUNT; k++) {
            sum += width->coefficients[k + 1] * width_features[k].of(&votes[i].traits);
        }
        mean += fabs(log(votes[i].ratio)) * exp(-sum) / VOTES;
        cost += sum;
    }
    for (uint32_t k = 0; k < WIDTH_FEATURE_COUNT; k++) {
        cost += WIDTH_PRIOR / 2 * width->coefficients[k + 1] * width->coefficients[k + 1];
    }
    return cost + VOTES * (log(mean) + 1);
}

/* No other coefficients cost less, a little this way or that; and four fifths of the votes lie
 * inside of bands as wide: 320 of 400, to one. */
static void the_coefficients_are_those_of_least_cost(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct band_vote *votes = random_votes(arena);
    const struct band_width width = width_fit(arena, votes, VOTES, 0);
    const double least = cost_of(votes, &width);
    for (uint32_t k = 1; k <= WIDTH_FEATURE_COUNT; k++) {
        for (int32_t sign = -1; sign <= 1; sign += 2) {
            struct band_width other = width;
            other.coefficients[k] += 0.01 * sign;
            assert_true(cost_of(votes, &other) > least);
        }
        assert_true(width.coefficients[k] > 0);
    }
    uint32_t inside = 0;
    for (uint32_t i = 0; i < VOTES; i++) {
        inside += log(votes[i].ratio) <= width_of(&width, &votes[i].traits) ? 1 : 0;
    }
    assert_in_range(inside, VOTES * 4 / 5 - 1, VOTES * 4 / 5 + 1);
    arena_free(arena);
}

/* No votes, and votes that are off by nothing, have a width, and a number. */
static void a_width_is_a_number(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct band_vote exact[10];
    for (uint32_t i = 0; i < 10; i++) {
        exact[i] = (struct band_vote){"a", "a", having(i % WIDTH_FEATURE_COUNT), 1};
    }
    for (uint32_t count = 0; count <= 10; count += 10) {
        const struct band_width width = width_fit(arena, exact, count, 0);
        assert_true(width_of(&width, &plain) > 0 && width_of(&width, &plain) < 1e-6);
    }
    arena_free(arena);
}

/* 0.1 either side costs 0.2; what misses by 0.05 ten times that more. */
static void a_band_that_misses_costs_more_than_one_that_is_wide(void **state)
{
    (void)state;
    assert_close(band_score(0.1, 0.1), 0.2, 1e-12);
    assert_close(band_score(0.1, -0.05), 0.2, 1e-12);
    assert_close(band_score(0.1, -0.15), 0.7, 1e-12);
    assert_close(band_score(0.15, 0.15), 0.3, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_feature_is_one_where_it_is_said_to_be),
        cmocka_unit_test(what_is_twice_as_far_off_is_nearly_twice_as_wide),
        cmocka_unit_test(the_coefficients_are_those_of_least_cost),
        cmocka_unit_test(a_width_is_a_number),
        cmocka_unit_test(a_band_that_misses_costs_more_than_one_that_is_wide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
