/* A quote's arithmetic, by hand: the way through parts and jobs, what that costs and when it is
 * paid, levels of chance, in what share of draws which offer wins, what a measurement is worth. The
 * command is in tests/cli/quote.bats, steps as simulated in tests/closed_form/test_quote_rates.c.
 */
#include "base/absent.h"
#include "base/arena.h"
#include "base/date.h"
#include "input/schema/schema.h"
#include "input/study/quote_keys.h"
#include "run/account.h"
#include "study/quote/quote_cash.h"
#include "study/quote/quote_worth.h"
#include "study/why_rates.h"
#include "support/assert_close.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

/* 8 GPUs from day 100 on and 16 from 110, at 2 USD, asked on day 90; a run takes 40 days on 8 and
 * 21 on 16, one day of each its start; beside hours it costs 400 and 420 USD. */
static struct plan_offer in_two_parts(void)
{
    return (struct plan_offer){
        .part_count = 2,
        .job_count = 1,
        .today = 90,
        .from = {100, 110},
        .gpus = {8, 16},
        .run = {{{40, 1, 400, 4000}, {21, 1, 420, 4200}}},
        .hour_usd = 2,
    };
}

static struct plan planned(const struct plan_offer *offer)
{
    struct plan plan;
    plan_offer(offer, &plan);
    return plan;
}

static void one_part_is_its_run(void **state)
{
    (void)state;
    struct plan_offer offer = in_two_parts();
    offer.part_count = 1;
    offer.day_usd = 10;
    const struct plan plan = planned(&offer);
    assert_true(plan.is_done);
    assert_int_equal(plan.segment_count, 1);
    assert_close(plan.end, 140, 1e-12);
    assert_close(plan.gpu_hours, 8 * 40 * 24, 1e-12);
    assert_close(plan.cost_usd, 2 * 8 * 40 * 24 + 400 + 10 * 50, 1e-12);
    assert_close(plan.energy_kwh, 4000, 1e-12);
}

/* In ten days of the first part 9 of 39 days of work are done. What is left takes 1 + 20 x 30/39
 * days on all; 8 GPUs are paid from day 100, 8 more from 110. */
static void a_job_goes_on_with_what_comes(void **state)
{
    (void)state;
    const struct plan_offer offer = in_two_parts();
    const struct plan plan = planned(&offer);
    const double second = 1 + 20 * 30.0 / 39;
    assert_int_equal(plan.segment_count, 2);
    assert_close(plan.end, 110 + second, 1e-12);
    assert_close(plan.gpu_hours, 24 * (8 * (10 + second) + 8 * second), 1e-12);
    assert_close(plan.beside_usd, 400 * 10 / 40.0 + 420 * second / 21, 1e-12);
    assert_close(plan.energy_kwh, 4000 * 10 / 40.0 + 4200 * second / 21, 1e-12);
}

/* A start of 9 days is more than what moving would save at the end: with the second part on day 135
 * 5 days are left, and 9 + 12 x 5/39 on all. It is never there, and not paid. */
static void nobody_moves_for_nothing(void **state)
{
    (void)state;
    struct plan_offer offer = in_two_parts();
    offer.from[1] = 135;
    offer.run[0][1].start_days = 9;
    struct plan plan = planned(&offer);
    assert_int_equal(plan.segment_count, 1);
    assert_close(plan.end, 140, 1e-12);
    assert_close(plan.gpu_hours, 24 * (8 * 40 + 8 * 5), 1e-12); /* what comes is paid, idle */
    offer.from[1] = 150;
    plan = planned(&offer);
    assert_close(plan.gpu_hours, 24 * 8 * 40, 1e-12);
    offer.term_days = 60;
    plan = planned(&offer);
    assert_close(plan.gpu_hours, 24 * 8 * 60, 1e-12);
}

/* What the first part does not hold waits for the second, and is paid meanwhile. Of two jobs the
 * second begins on its day. */
static void jobs_wait_for_parts_and_days(void **state)
{
    (void)state;
    struct plan_offer offer = in_two_parts();
    offer.run[0][0].held_days = ABSENT;
    struct plan plan = planned(&offer);
    assert_close(plan.end, 131, 1e-12);
    assert_close(plan.gpu_hours, 24 * (8 * 31 + 8 * 21), 1e-12);
    offer.job_count = 2;
    memcpy(offer.run[1], offer.run[0], sizeof offer.run[0]);
    offer.not_before[1] = 135.5;
    plan = planned(&offer);
    assert_close(plan.done[0], 131, 1e-12);
    assert_close(plan.end, 156.5, 1e-12);
    assert_close(plan.beside_usd, 840, 1e-12);
    offer.run[1][1].held_days = ABSENT;
    assert_false(planned(&offer).is_done);
}

/* Whatever is paid, and what is left in the end, is what it cost and the rest of the capital. */
static void cash_is_what_it_cost_and_what_is_left(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    int64_t day;
    assert_true(date_parse("2026-09-15", &day));
    struct plan_offer offer = in_two_parts();
    offer.today = (double)day;
    offer.from[0] = (double)day + 40;
    offer.from[1] = (double)day + 50;
    offer.day_usd = 100;
    const struct plan plan = planned(&offer);
    const struct cash_terms terms[] = {{0, 0}, {30000, 1.25}};
    for (size_t i = 0; i < 2; i++) {
        const struct cash cash = cash_of(arena, &offer, &plan, &terms[i]);
        double sum = 0;
        for (uint32_t m = 0; m < cash.count; m++) {
            sum += cash.usd[m];
        }
        assert_close(sum, plan.cost_usd + cash.left_usd, 1e-12);
        assert_close(cash.left_usd, 16 * terms[i].gpu_usd - terms[i].written_usd * plan.gpu_hours,
                     1e-12);
        assert_int_equal(cash.first_day, date_month(day, 0));
        assert_close(cash.usd[0], 100 * 16, 1e-9); /* from the 15th to the end of September */
    }
    offer.day_usd = 0;
    offer.term_days = 90;
    const struct plan longer = planned(&offer);
    const struct cash cash = cash_of(arena, &offer, &longer, &terms[0]);
    assert_true(cash.usd[cash.count - 1] > 0); /* the term is paid to its end */
    assert_true((double)date_month(cash.first_day, cash.count) >= offer.from[1] + 90);
    arena_free(arena);
}

/* A draw keeps an offer's own band and that of its ratio to the first. */
static void levels_keep_both_bands(void **state)
{
    (void)state;
    for (double sigma = 0.05; sigma < 0.3; sigma += 0.05) {
        for (double rho = 0.02; rho < sigma + 0.1; rho += 0.02) {
            const double first = 0.1;
            const struct quote_level level = quote_level_of(first, sigma, rho);
            assert_close(hypot(level.beta, level.rest), sigma, 1e-9);
            if (fabs(sigma - first) < rho) { /* else no draw can keep both */
                assert_close(hypot(level.beta - first, level.rest), rho, 1e-9);
            }
        }
    }
    const struct quote_level same = quote_level_of(0.1, 0.1, 0);
    assert_close(same.beta, 0.1, 1e-12);
    assert_true(same.rest < 1e-9);
}

/* ---- offers in draws ------------------------------------------------------------------------- */

enum { TWO = 2 };

/* Two offers of one part each, whose runs are all steps, in which nothing fails. */
struct pair {
    struct quote quote;
    struct quote_found found;
    struct quote_judged judged[TWO];
    struct quote_chances chances[TWO];
    struct quote_rate_of_box rates[TWO];
    double account_s[ACCOUNT_COUNT_];
};

static void pair_of(struct pair *pair, double first_usd, double second_usd)
{
    const double prices[TWO] = {first_usd, second_usd};
    memset(pair, 0, sizeof *pair);
    pair->account_s[ACCOUNT_USEFUL] = 20 * 86400.0;
    pair->quote.job_count = 1;
    pair->quote.offer_count = TWO;
    pair->found.points.quote = &pair->quote;
    pair->found.offers = pair->judged;
    pair->found.count = TWO;
    pair->found.rates.items = pair->rates;
    for (int i = 0; i < TWO; i++) {
        pair->judged[i].in = (struct plan_offer){.part_count = 1,
                                                 .job_count = 1,
                                                 .today = 0,
                                                 .from = {10},
                                                 .gpus = {100},
                                                 .run = {{{20, 0, 0, 1000}}},
                                                 .hour_usd = prices[i]};
        plan_offer(&pair->judged[i].in, &pair->judged[i].plan);
        pair->judged[i].is_held = true;
        pair->chances[i] = (struct quote_chances){.plan = &pair->judged[i].in,
                                                  .level = {{.kinds = "", .sign = 1}},
                                                  .run = {{{pair->account_s, NULL, 0, 20}}},
                                                  .box = i == 0 ? "one" : "other"};
    }
}

/* A rate that only its own box knows. */
static void give_rate(struct pair *pair, uint32_t number, double slope)
{
    struct quote_rate_of_box *rate = &pair->rates[pair->found.rates.count++];
    *rate = (struct quote_rate_of_box){
        .rate = why_rate_of(0), .offer = number, .deviation = 0.1, .figure = 500, .slope = -slope};
    pair->chances[number].of_box = rate;
    pair->chances[number].of_box_count = 1;
}

/* However far off predictions are, and whatever the box that both have does. */
static void of_two_prices_the_lower_wins_each_draw(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct pair *pair = arena_alloc(arena, sizeof *pair);
    pair_of(pair, 2.00, 2.02);
    for (uint32_t i = 0; i < TWO; i++) {
        pair->chances[i].level[0].beta = 0.15;
        pair->chances[i].box = "the same vendor's";
        give_rate(pair, i, 0.08);
    }
    quote_weigh(arena, pair->chances, &pair->found);
    assert_close(pair->judged[0].cost_share, 1, 1e-12);
    assert_true(pair->judged[0].cost_behind_usd < 1e-9);
    assert_true(pair->judged[1].cost_share < 1e-12);
    assert_close(pair->judged[0].date_share, 0.5, 1e-12); /* both end at once */
    for (uint32_t i = 0; i < pair->found.measure_count; i++) {
        assert_true(pair->found.measures[i].worth < 1e-9);
    }
    arena_free(arena);
}

/* Costs c1 exp(a x) and c2 exp(b y) of independent normal x and y: the first is less where
 * a x - b y < ln(c2 / c1), a normal of deviation hypot(a, b). */
static void of_two_rates_the_share_is_a_normal_difference(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct pair *pair = arena_alloc(arena, sizeof *pair);
    for (double more = 0.96; more < 1.1; more += 0.03) {
        pair_of(pair, 2, 2 * more);
        give_rate(pair, 0, 0.06);
        give_rate(pair, 1, 0.03);
        quote_weigh(arena, pair->chances, &pair->found);
        const double wanted = gsl_cdf_ugaussian_P(log(more) / hypot(0.06, 0.03));
        assert_true(fabs(pair->judged[0].cost_share - wanted) < 0.02);
        assert_close(pair->judged[0].cost_share + pair->judged[1].cost_share, 1, 1e-12);
    }
    arena_free(arena);
}

/* One rate alone is open. Then the share is exact to a stratum, knowing it is worth all of the
 * doubt, and that is the unit normal's loss: of a score linear in x by s a deviation, m below the
 * other's, s (phi(m/s) - m/s Phi(-m/s)). It turns where exp(slope x) is the ratio of prices. */
static void one_rate_is_worth_all_of_the_doubt(void **state)
{
    (void)state;
    const double slope = 0.04;
    struct arena *arena = arena_new();
    struct pair *pair = arena_alloc(arena, sizeof *pair);
    pair_of(pair, 2, 2.05);
    give_rate(pair, 0, slope);
    quote_weigh(arena, pair->chances, &pair->found);
    const double turn = log(2.05 / 2) / slope; /* deviations below */
    assert_true(fabs(pair->judged[0].cost_share - gsl_cdf_ugaussian_P(turn)) <= 1e-3);
    const double cost = 2 * 100 * 20 * 24.0;
    /* of exp(slope x) against 1.025: the price of a call, Black 1976, without interest */
    const double mean = exp(slope * slope / 2);
    const double high = (log(mean / 1.025) + slope * slope / 2) / slope;
    const double loss =
        cost * (mean * gsl_cdf_ugaussian_P(high) - 1.025 * gsl_cdf_ugaussian_P(high - slope));
    assert_close(pair->judged[0].cost_behind_usd, loss, 0.01);
    assert_int_equal(pair->found.measure_count, 1);
    const struct quote_measure *measure = &pair->found.measures[0];
    assert_close(measure->worth, loss, 0.05);
    assert_close(measure->turns_at, 500 * exp(-turn * 0.1), 2e-3);
    assert_int_equal(measure->turns_to, 1);
    assert_false(measure->turns_above);
    arena_free(arena);
}

/* What predictions have in common is no doubt: its share is that of the rates alone. */
static void what_is_shared_moves_no_share(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct pair *pair = arena_alloc(arena, sizeof *pair);
    double shares[TWO];
    for (int k = 0; k < TWO; k++) {
        pair_of(pair, 2, 2.05);
        give_rate(pair, 0, 0.04);
        for (uint32_t i = 0; i < TWO; i++) {
            pair->chances[i].level[0].beta = k == 0 ? 0 : 0.2;
        }
        quote_weigh(arena, pair->chances, &pair->found);
        shares[k] = pair->judged[0].cost_share;
        /* a band of 0.2 deviations is that of the draws, too */
        if (k == 1) {
            const double wide = log(pair->judged[1].cost_usd.p90 / pair->judged[1].cost_usd.p10);
            assert_close(wide, 2 * 1.2816 * 0.2, 0.02);
        }
    }
    assert_close(shares[0], shares[1], 1e-12);
    arena_free(arena);
}

static void the_schemas_are_sound(void **state)
{
    (void)state;
    static const struct schema *const schemas[] = {&quote_schema, &quote_rate_keys, &quote_job_keys,
                                                   &quote_offer_keys, &quote_part_keys};
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        assert_null(schema_fault(arena, schemas[i]));
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_part_is_its_run),
        cmocka_unit_test(a_job_goes_on_with_what_comes),
        cmocka_unit_test(nobody_moves_for_nothing),
        cmocka_unit_test(jobs_wait_for_parts_and_days),
        cmocka_unit_test(cash_is_what_it_cost_and_what_is_left),
        cmocka_unit_test(levels_keep_both_bands),
        cmocka_unit_test(of_two_prices_the_lower_wins_each_draw),
        cmocka_unit_test(of_two_rates_the_share_is_a_normal_difference),
        cmocka_unit_test(one_rate_is_worth_all_of_the_doubt),
        cmocka_unit_test(what_is_shared_moves_no_share),
        cmocka_unit_test(the_schemas_are_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
