/* Quantities of a training without a layout: what follows from what, which figures fit, how FLOPs
 * are split. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/absent.h"
#include "base/rng.h"
#include "study/budget_usual.h"
#include "support/assert_close.h"

/* A training by hand: 2 G parameters on 30 T tokens are 3.6e23 FLOP; 1,000 GPUs at half of 800
 * TFLOP/s do them in 9e5 s, which are 250,000 GPU-hours; at 2 USD and 720 W 500,000 USD and 6.48e11
 * J; 33.3 M tokens a second, 16.7 USD per 1,000 million tokens. */
static const double by_hand[BUDGET_QUANTITIES] = {
    [BUDGET_PARAMETERS] = 2e9,
    [BUDGET_TOKENS] = 30e12,
    [BUDGET_TOKEN_FLOP] = 12e9,
    [BUDGET_FLOP] = 3.6e23,
    [BUDGET_MFU] = 0.5,
    [BUDGET_PEAK] = 800e12,
    [BUDGET_RATE] = 400e12,
    [BUDGET_GPUS] = 1000,
    [BUDGET_TIME] = 9e5,
    [BUDGET_GPU_HOURS] = 250e3,
    [BUDGET_PRICE] = 2,
    [BUDGET_COST] = 500e3,
    [BUDGET_POWER] = 720,
    [BUDGET_ENERGY] = 6.48e11,
    [BUDGET_TOKENS_PER_S] = 1e8 / 3,
    [BUDGET_USD_PER_MILLION] = 1.0 / 60,
};

static void tell(struct budget *budget, uint32_t chosen)
{
    budget_init(budget);
    for (uint32_t i = 0; i < BUDGET_QUANTITIES; i++) {
        if ((chosen & 1u << i) != 0) {
            budget_tell(budget, i, by_hand[i], 0);
        }
    }
}

/* Whatever is told of it, what follows is of that training, and all told figures fit. */
static void what_follows_is_of_the_training_that_is_told(void **state)
{
    (void)state;
    uint32_t followed = 0;
    for (uint32_t i = 0; i < 3000; i++) {
        const uint32_t chosen = (uint32_t)(rng_hash_pair(31, i) & rng_hash_pair(32, i)) & 0xffff;
        struct budget budget, told;
        struct budget_check checks[BUDGET_QUANTITIES];
        tell(&budget, chosen);
        told = budget;
        budget_solve(&budget);
        for (uint32_t k = 0; k < BUDGET_QUANTITIES; k++) {
            if (!is_absent(budget.value[k])) {
                assert_close(budget.value[k], by_hand[k], 1e-13);
                followed += (chosen & 1u << k) == 0 ? 1 : 0;
            }
        }
        const uint32_t count = budget_checks(&told, checks);
        for (uint32_t k = 0; k < count; k++) {
            assert_true(checks[k].fits);
        }
    }
    assert_true(followed > 3000);
}

/* Seven figures say all sixteen: two of the model, two of a GPU, how many, price and power. */
static void seven_figures_say_all_others(void **state)
{
    (void)state;
    struct budget budget;
    tell(&budget, 1u << BUDGET_PARAMETERS | 1u << BUDGET_TOKENS | 1u << BUDGET_PEAK |
                      1u << BUDGET_MFU | 1u << BUDGET_GPUS | 1u << BUDGET_PRICE |
                      1u << BUDGET_POWER);
    budget_solve(&budget);
    for (uint32_t i = 0; i < BUDGET_QUANTITIES; i++) {
        assert_close(budget.value[i], by_hand[i], 1e-13);
    }
    /* Without the power there is no energy, and all else is. */
    tell(&budget, 1u << BUDGET_FLOP | 1u << BUDGET_RATE | 1u << BUDGET_TIME);
    budget_solve(&budget);
    assert_close(budget.value[BUDGET_GPUS], 1000, 1e-13);
    assert_true(is_absent(budget.value[BUDGET_ENERGY]) && is_absent(budget.value[BUDGET_COST]) &&
                is_absent(budget.value[BUDGET_TOKENS]));
}

/* The least and the most that may be told, of any: all that follows is a number above 0. */
static void extremes_have_finite_consequences(void **state)
{
    (void)state;
    static const double most[] = {
#define MOST(id, option, argument, title, dimension, limit, ...) limit,
        BUDGET_QUANTITY_LIST(MOST)
#undef MOST
    };
    for (uint32_t i = 0; i < 3000; i++) {
        const uint64_t chosen = rng_hash_pair(33, i);
        struct budget budget;
        budget_init(&budget);
        for (uint32_t k = 0; k < BUDGET_QUANTITIES; k++) {
            if ((chosen >> k & 1) != 0) {
                budget_tell(&budget, k, (chosen >> (16 + k) & 1) != 0 ? most[k] : BUDGET_LEAST, 0);
            }
        }
        budget_solve(&budget);
        for (uint32_t k = 0; k < BUDGET_QUANTITIES; k++) {
            assert_true(is_absent(budget.value[k]) ||
                        (budget.value[k] > 0 && isfinite(budget.value[k])));
        }
    }
}

/* 3.6e23 FLOP in 250,000 hours of 400 TFLOP/s: of a peak of 320 TFLOP/s 125 %. */
static void nobody_reaches_more_than_the_peak(void **state)
{
    (void)state;
    struct budget told;
    struct budget_check checks[BUDGET_QUANTITIES];
    tell(&told, 1u << BUDGET_FLOP | 1u << BUDGET_GPU_HOURS);
    budget_look(&told, BUDGET_PEAK, 320e12);
    assert_int_equal(budget_checks(&told, checks), 1);
    assert_true(checks[0].quantity == BUDGET_MFU && checks[0].is_most && !checks[0].fits);
    assert_close(checks[0].by_others, 1.25, 1e-13);
    /* Hours that may be 30 % more allow it; of a peak that is not reached nothing is said. */
    told.rounding[BUDGET_GPU_HOURS] = 0.3;
    assert_int_equal(budget_checks(&told, checks), 1);
    assert_true(checks[0].fits);
    tell(&told, 1u << BUDGET_FLOP | 1u << BUDGET_GPU_HOURS);
    budget_look(&told, BUDGET_PEAK, 401e12);
    assert_int_equal(budget_checks(&told, checks), 0);
}

/* "61 days" are 60.5 to 61.5: one of 122. 400 and 16,000 add one of 800 and one of 32,000. */
static void figures_fit_within_what_they_are_rounded_by(void **state)
{
    (void)state;
    assert_close(budget_rounding("61 days"), 0.5 / 61, 1e-15);
    assert_close(budget_rounding("3.8e25 FLOP"), 0.5 / 38, 1e-15);
    assert_close(budget_rounding("15.60T"), 0.5 / 1560, 1e-15);
    assert_close(budget_rounding("0.40"), 0.5 / 40, 1e-15);
    assert_close(budget_rounding(" +61"), 0.5 / 61, 1e-15);
    const double flop = 400e12 * 16000 * 61 * 86400;
    const double all = 0.5 / 61 + 0.5 / 400 + 0.5 / 16000 + 0.5 / 38;
    for (uint32_t i = 0; i < 2; i++) {
        struct budget told;
        struct budget_check checks[BUDGET_QUANTITIES];
        budget_init(&told);
        budget_tell(&told, BUDGET_FLOP, flop * exp((i == 0 ? 0.98 : 1.02) * all),
                    budget_rounding("3.8e25"));
        budget_tell(&told, BUDGET_RATE, 400e12, budget_rounding("400"));
        budget_tell(&told, BUDGET_GPUS, 16000, budget_rounding("16000"));
        budget_tell(&told, BUDGET_TIME, 61 * 86400.0, budget_rounding("61"));
        assert_int_equal(budget_checks(&told, checks), 4);
        for (uint32_t k = 0; k < 4; k++) {
            assert_int_equal(checks[k].fits, i == 0);
            assert_close(fabs(checks[k].apart), (i == 0 ? 0.98 : 1.02) * all, 1e-9);
        }
        assert_close(checks[3].by_others, told.value[BUDGET_FLOP] / 400e12, 1);
    }
}

/* The split of least loss: a thousandth more or fewer parameters of the same FLOPs lose. */
static void flops_are_split_where_the_loss_is_least(void **state)
{
    (void)state;
    const struct budget_law law = {"one", 1.8, 482, 2085, 0.3478, 0.3658};
    for (double flop = 1e18; flop < 1e27; flop *= 30) {
        const double best = budget_law_parameters(&law, flop);
        const double least = budget_law_loss(&law, best, flop / 6 / best);
        assert_true(budget_law_loss(&law, best * 1.001, flop / 6 / best / 1.001) > least);
        assert_true(budget_law_loss(&law, best / 1.001, flop / 6 / best * 1.001) > least);
    }
    /* Where both terms are alike, half of the exponents' sum: as many tokens as parameters. */
    const struct budget_law even = {"even", 1, 400, 400, 0.3, 0.3};
    assert_close(budget_law_parameters(&even, 6e20), 1e10, 1e-12);
    assert_close(budget_law_loss(&even, 1e10, 1e10), 1 + 0.8, 1e-12); /* 400 / 1,000, twice */
}

/* What nobody told is asked of a law and of published steps, what was told of neither. */
static void only_what_is_unknown_is_assumed(void **state)
{
    (void)state;
    const struct budget_law even = {"even", 1, 400, 400, 0.3, 0.3};
    struct budget budget;
    tell(&budget, 1u << BUDGET_PEAK | 1u << BUDGET_GPU_HOURS);
    budget_solve_usual(&budget, 0.25, &even);
    assert_int_equal(budget.origin[BUDGET_MFU], BUDGET_ASSUMED);
    assert_close(budget.value[BUDGET_FLOP], 1.8e23, 1e-13);
    assert_close(budget.value[BUDGET_PARAMETERS], sqrt(3e22), 1e-12);
    assert_close(budget.value[BUDGET_TOKENS], sqrt(3e22), 1e-12);
    tell(&budget,
         1u << BUDGET_PEAK | 1u << BUDGET_GPU_HOURS | 1u << BUDGET_RATE | 1u << BUDGET_TOKENS);
    budget_solve_usual(&budget, 0.25, &even);
    assert_close(budget.value[BUDGET_MFU], 0.5, 1e-13);
    assert_close(budget.value[BUDGET_PARAMETERS], 2e9, 1e-13);
}

/* 22.5 GPUs are 23; 80 GB of 80 GB are one. */
static void gpus_that_hold_a_model_are_whole(void **state)
{
    (void)state;
    assert_close(budget_gpus(80e9 * 18, 80e9, 0.25), 23, 1e-15);
    assert_close(budget_gpus(80e9, 80e9, 0), 1, 1e-15);
    assert_close(budget_gpus(64e9, 80e9, 0.25), 1, 1e-15);
    assert_close(budget_gpus(80.001e9, 80e9, 0), 2, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_follows_is_of_the_training_that_is_told),
        cmocka_unit_test(seven_figures_say_all_others),
        cmocka_unit_test(extremes_have_finite_consequences),
        cmocka_unit_test(nobody_reaches_more_than_the_peak),
        cmocka_unit_test(figures_fit_within_what_they_are_rounded_by),
        cmocka_unit_test(flops_are_split_where_the_loss_is_least),
        cmocka_unit_test(only_what_is_unknown_is_assumed),
        cmocka_unit_test(gpus_that_hold_a_model_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
