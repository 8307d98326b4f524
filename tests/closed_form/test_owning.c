/* What capital costs that is tied up: the closed forms of run/money against a loan, month by month.
 */
#include "run/money.h"

#include "base/absent.h"
#include "input/scenario.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/assert_close.h"
#include "support/money_of.h"

/* At 10 % a year a month costs i = 1.1^(1/12) - 1 = 0.797414 %. 29,300 USD that save 1,000 USD a
 * month are paid after 29.3 months without interest. With it 29,300 i = 233.64 USD of the first
 * month's saving are gone, and -ln(1 - 0.23364) / ln(1.1) * 12 = 33.504 months pay for all. A loan
 * of which each month pays 1,000 says the same: after 33 months 501 USD are owed. At 50 % a year
 * interest alone is 1,007 USD a month, and nothing ever pays it. */
static void interest_is_paid_before_the_capital(void **state)
{
    (void)state;
    struct money_choice choice = {
        .capital_usd = 29300, .rent_usd_per_hour = 1000 / 730.0, .utilisation = 1, .pue = 1};
    assert_close(money_break_even_months(&choice, NULL), 29.3, 1e-12);
    choice.interest = 0.1;
    assert_close(money_break_even_months(&choice, NULL), 33.504, 2e-6);
    double owed_usd = 29300;
    for (uint32_t month = 0; month < 33; month++) {
        owed_usd = owed_usd * pow(1.1, 1 / 12.0) - 1000;
    }
    assert_in_range((uintmax_t)owed_usd, 490, 510);
    choice.interest = 1e-9;
    assert_close(money_break_even_months(&choice, NULL), 29.3, 1e-7);
    choice.interest = 0.5;
    assert_true(is_absent(money_break_even_months(&choice, NULL)));
}

/* 36,000 USD over four years at 10 %, of which a tenth is sold for then: 3,600 / 1.1^4 = 2,458.85
 * less, and the annuity of a month of 33,541.15 USD is what 48 of them, each discounted, sum up to.
 * Without interest it is 32,400 / 48. Half of the time without work doubles it. */
static void capital_is_an_annuity_where_it_costs_interest(void **state)
{
    (void)state;
    struct scenario scenario = {
        .gpus = 8, .nodes = 1, .cluster = {.nodes_per_leaf = 1, .oversubscription = 1}};
    scenario.price.own = (struct ownership){.is_told = true,
                                            .gpu_usd = 36000,
                                            .life_s = 4 * 8760 * 3600.0,
                                            .residual = 0.1,
                                            .utilisation = 0.5};
    assert_close(owned_hour_usd(&scenario), 2 * 32400 / 48.0 / 730, 1e-12);
    scenario.price.own.interest = 0.1;
    double discounted = 0;
    for (uint32_t month = 1; month <= 48; month++) {
        discounted += pow(1.1, -(double)month / 12);
    }
    const double usd = (36000 - 3600 / pow(1.1, 4)) / discounted;
    assert_close(owned_hour_usd(&scenario), 2 * usd / 730, 1e-12);
    scenario.price.own.interest = 1e-9;
    assert_close(owned_hour_usd(&scenario), 2 * 32400 / 48.0 / 730, 1e-7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interest_is_paid_before_the_capital),
        cmocka_unit_test(capital_is_an_annuity_where_it_costs_interest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
