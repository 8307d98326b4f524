/* Random numbers: pure functions of a key, with the right laws. */
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/assert_close.h"

enum { DRAWS = 100000 };

static void the_finaliser_is_that_of_splitmix64(void **state)
{
    (void)state;
    /* SplitMix64 from seed 0 adds the golden gamma, then finalises: its first
     * outputs are published as e220a8397b1dcdaf, 6e789e6aa1b965f4. */
    const uint64_t gamma = 0x9e3779b97f4a7c15u;
    assert_true(rng_mix(gamma) == 0xe220a8397b1dcdafu);
    assert_true(rng_mix(2 * gamma) == 0x6e789e6aa1b965f4u);
}

static void the_same_key_gives_the_same_bits(void **state)
{
    (void)state;
    const struct rng_key key = {
        .seed = 1, .stream = rng_stream("failure"), .rank = 4711, .step = 3, .operation = 9};
    const struct rng_key same = {
        .seed = 1, .stream = rng_stream("failure"), .rank = 4711, .step = 3, .operation = 9};
    assert_true(rng_bits(&key) == rng_bits(&same));
}

static void every_word_of_the_key_matters(void **state)
{
    (void)state;
    const struct rng_key keys[] = {
        {.seed = 0}, {.seed = 1}, {.stream = 1}, {.rank = 1}, {.step = 1}, {.operation = 1},
    };
    const size_t count = sizeof keys / sizeof *keys;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_true(rng_bits(&keys[i]) != rng_bits(&keys[j]));
        }
    }
}

static void streams_differ_by_their_name(void **state)
{
    (void)state;
    assert_true(rng_stream("failure") != rng_stream("failures"));
    assert_true(rng_stream("loader") != rng_stream("failure"));
    assert_true(rng_stream("loader") == rng_stream("loader"));
}

static void a_hash_sees_each_byte_the_length_and_the_start(void **state)
{
    (void)state;
    char data[20] = "a run key, 20 bytes";
    const uint64_t before = rng_hash_bytes(data, sizeof data, 0);
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] ^= 1;
        assert_true(rng_hash_bytes(data, sizeof data, 0) != before);
        data[i] ^= 1;
    }
    assert_true(rng_hash_bytes(data, sizeof data - 1, 0) != before); /* the last byte is 0 */
    assert_true(rng_hash_bytes(data, sizeof data, 1) != before);
    assert_true(rng_hash_bytes(data, sizeof data, 0) == before);
    assert_true(rng_hash_bytes("", 0, 0) != rng_hash_bytes("", 0, 1));
}

static void uniform_numbers_have_mean_a_half_and_variance_a_twelfth(void **state)
{
    (void)state;
    /* The mean of 1e5 draws has the deviation sqrt(1/12/1e5) = 0.0009; 5 of
     * these are 0.0046, 1 % of the mean. */
    double sum = 0.0;
    double squares = 0.0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        const double u = rng_uniform(&(struct rng_key){.seed = 7, .stream = 1, .rank = i});
        assert_true(u > 0.0 && u < 1.0);
        sum += u;
        squares += (u - 0.5) * (u - 0.5);
    }
    assert_close(sum / DRAWS, 0.5, 0.01);
    assert_close(squares / DRAWS, 1.0 / 12.0, 0.02);
}

static void bounded_integers_fill_their_range_evenly(void **state)
{
    (void)state;
    /* 1e5 draws in 10 bins: 10000 each, deviation sqrt(1e5 * 0.09) = 95. */
    uint32_t bins[10] = {0};
    for (uint64_t i = 0; i < DRAWS; i++) {
        const uint64_t drawn = rng_below(&(struct rng_key){.seed = 7, .stream = 2, .step = i}, 10);
        assert_true(drawn < 10);
        bins[drawn]++;
    }
    for (size_t i = 0; i < 10; i++) {
        assert_close((double)bins[i], 10000.0, 0.05);
    }
    assert_true(
        rng_below(&(struct rng_key){.seed = 1, .stream = 2, .rank = 3, .step = 4, .operation = 5},
                  1) == 0);
}

static void exponential_draws_have_their_mean(void **state)
{
    (void)state;
    /* Deviation of the mean: 3 / sqrt(1e5) = 0.0095, so 2 % is six of them. */
    double sum = 0.0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        const double x =
            rng_exponential(&(struct rng_key){.seed = 7, .stream = 3, .operation = i}, 3.0);
        assert_true(x > 0.0 && isfinite(x));
        sum += x;
    }
    assert_close(sum / DRAWS, 3.0, 0.02);
}

static void normal_draws_have_their_mean_and_deviation(void **state)
{
    (void)state;
    double sum = 0.0;
    double squares = 0.0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        const double x =
            rng_normal(&(struct rng_key){.seed = 7, .stream = 4, .operation = i}, 10.0, 2.0);
        sum += x;
        squares += (x - 10.0) * (x - 10.0);
    }
    assert_close(sum / DRAWS, 10.0, 0.005);
    assert_close(squares / DRAWS, 4.0, 0.03);
}

static void lognormal_draws_are_normal_in_the_logarithm(void **state)
{
    (void)state;
    const struct rng_key key = {.seed = 7, .stream = 5, .rank = 1, .step = 2, .operation = 3};
    assert_close(log(rng_lognormal(&key, 0.5, 0.25)), rng_normal(&key, 0.5, 0.25), 1e-12);
}

static void no_spread_gives_the_mean(void **state)
{
    (void)state;
    const struct rng_key key = {.seed = 7, .stream = 5, .rank = 1, .step = 2, .operation = 3};
    assert_close(rng_normal(&key, 4.0, 0.0), 4.0, 0.0);
    assert_close(rng_lognormal(&key, 0.0, 0.0), 1.0, 0.0);
}

/* What was hashed once for all draws of a class is what is hashed for each. */
static void a_key_that_was_begun_draws_the_same(void **state)
{
    (void)state;
    struct rng_key begun = {.seed = 1, .stream = rng_stream("failure"), .rank = 4711};
    struct rng_key plain = begun;
    rng_begin(&begun);
    for (uint64_t i = 0; i < 100; i++) {
        begun.step = plain.step = i % 7;
        begun.operation = plain.operation = i;
        assert_true(rng_bits(&begun) == rng_bits(&plain));
        assert_true(rng_below(&begun, 10 + i) == rng_below(&plain, 10 + i));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_that_was_begun_draws_the_same),
        cmocka_unit_test(the_finaliser_is_that_of_splitmix64),
        cmocka_unit_test(the_same_key_gives_the_same_bits),
        cmocka_unit_test(every_word_of_the_key_matters),
        cmocka_unit_test(streams_differ_by_their_name),
        cmocka_unit_test(a_hash_sees_each_byte_the_length_and_the_start),
        cmocka_unit_test(uniform_numbers_have_mean_a_half_and_variance_a_twelfth),
        cmocka_unit_test(bounded_integers_fill_their_range_evenly),
        cmocka_unit_test(exponential_draws_have_their_mean),
        cmocka_unit_test(normal_draws_have_their_mean_and_deviation),
        cmocka_unit_test(lognormal_draws_are_normal_in_the_logarithm),
        cmocka_unit_test(no_spread_gives_the_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
