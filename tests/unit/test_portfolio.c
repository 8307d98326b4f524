/* Portfolios: what one fabric does for several jobs, how far off that may be, which fabric is
 * leaner, and what its ports cost; all by hand. The command is in tests/cli/portfolio.bats.
 */
#include "base/absent.h"
#include "base/arena.h"
#include "bands/band.h"
#include "input/schema/schema.h"
#include "study/portfolio.h"
#include "study/portfolio_wins.h"
#include "support/assert_close.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

/* Of 100 GPU-hours 60 train job A, 40 job B. On a fabric on which A does 3/4 and B half, the same
 * work takes 60 / 0.75 + 40 / 0.5 = 160 GPU-hours: 100 / 160 = 0.625. With hours dealt out as
 * before 0.6 x 0.75 + 0.4 x 0.5 = 0.65 is left of it. Of the 160, half are A's and half B's, so the
 * bands' logarithms weigh alike. */
static void the_same_work_takes_more_hours(void **state)
{
    (void)state;
    const struct portfolio_share shares[] = {{3, 0.75, 0.08, 0.02}, {2, 0.5, 0.2, 0.1}};
    const struct portfolio_sum sum = portfolio_sum_of(shares, 2);
    assert_close(sum.work, 0.625, 1e-12);
    assert_close(sum.work_at_fixed_hours, 0.65, 1e-12);
    assert_close(sum.spread, 0.14, 1e-12);
    assert_close(sum.spread_of_half, 0.06, 1e-12);
}

/* Only the ratio of weights counts, one job alone is itself, and the harmonic mean is never more
 * than the arithmetic one. */
static void laws_of_the_sum(void **state)
{
    (void)state;
    const struct portfolio_share alone = {0.3, 0.9, 0.05, 0.01};
    const struct portfolio_sum one = portfolio_sum_of(&alone, 1);
    assert_close(one.work, 0.9, 1e-12);
    assert_close(one.spread, 0.05, 1e-12);
    for (int i = 1; i < 20; i++) {
        const double ratio = i / 20.0;
        const struct portfolio_share small[] = {{1, ratio, 0, 0}, {i, 0.6, 0, 0}};
        const struct portfolio_share large[] = {{100, ratio, 0, 0}, {100.0 * i, 0.6, 0, 0}};
        const struct portfolio_sum sum = portfolio_sum_of(small, 2);
        assert_close(sum.work, portfolio_sum_of(large, 2).work, 1e-12);
        assert_true(sum.work <= sum.work_at_fixed_hours * (1 + 1e-12));
        assert_true(sum.work >= fmin(ratio, 0.6) * (1 - 1e-12));
    }
}

/* A band is d ln work / d ln ratio of each: moving one job's ratio by a small factor moves the work
 * by that times its share. */
static void a_band_is_what_an_error_moves(void **state)
{
    (void)state;
    struct portfolio_share shares[] = {{3, 0.75, 1e-6, 0}, {2, 0.5, 0, 0}, {1, 0.9, 0, 0}};
    const struct portfolio_sum before = portfolio_sum_of(shares, 3);
    shares[0].ratio *= exp(1e-6);
    const struct portfolio_sum after = portfolio_sum_of(shares, 3);
    assert_close(log(after.work / before.work), before.spread, 1e-4);
}

static void a_job_without_a_result_leaves_no_sum(void **state)
{
    (void)state;
    const struct portfolio_share missing[] = {{1, 0.5, 0, 0}, {1, ABSENT, 0, 0}};
    assert_true(is_absent(portfolio_sum_of(missing, 2).work));
    const struct portfolio_share bandless[] = {{1, 0.5, 0, 0}, {1, 0.5, ABSENT, ABSENT}};
    assert_close(portfolio_sum_of(bandless, 2).work, 0.5, 1e-12);
    assert_true(is_absent(portfolio_sum_of(bandless, 2).spread));
}

static struct study_point fabric_of(double gbps, double thinned, const char *routing)
{
    return (struct study_point){
        .axis_count = 3,
        .axes = {"cluster.nics.bandwidth", "cluster.fabric.oversubscription",
                 "cluster.fabric.routing"},
        .value_texts = {"", "", routing},
        .values = {gbps, thinned, ABSENT},
    };
}

static void leaner_is_less_bandwidth_and_more_oversubscription(void **state)
{
    (void)state;
    const struct study_point base = fabric_of(400, 2, "ecmp");
    const struct study_point slower = fabric_of(200, 2, "ecmp");
    const struct study_point thinner = fabric_of(400, 4, "ecmp");
    const struct study_point traded = fabric_of(200, 1, "ecmp");
    const struct study_point other = fabric_of(200, 2, "adaptive");
    assert_true(portfolio_is_leaner(&slower, &base));
    assert_true(portfolio_is_leaner(&thinner, &base));
    assert_false(portfolio_is_leaner(&base, &slower));
    assert_false(portfolio_is_leaner(&base, &thinner));
    assert_false(portfolio_is_leaner(&base, &base));
    assert_false(portfolio_is_leaner(&traded, &base)); /* less of one, more of the other */
    assert_false(portfolio_is_leaner(&base, &traded));
    assert_false(portfolio_is_leaner(&other, &base)); /* who can say which routing is less? */
}

/* A tree of NICs of 400 Gbps a GPU = 50 GB/s, thinned out by o at its leaves and by 7 between pods:
 * NIC and leaf have 2 x 50, up-links 2 x 50 / o at both ends, those of pods 2 x 50 / o / 7. A job
 * of a few nodes has its share of the cluster's. */
static void ports_are_both_ends_of_every_link(void **state)
{
    (void)state;
    static const double thinned[] = {1, 2, 4};
    static const char *const texts[] = {"cluster.fabric.oversubscription=1",
                                        "cluster.fabric.oversubscription=2",
                                        "cluster.fabric.oversubscription=4"};
    struct arena *arena = arena_new();
    for (size_t i = 0; i < 3; i++) {
        const struct scenario *scenario = fixture_scenario(
            arena, &(struct fixture_source){.path = "scenarios/study-oversubscription-dense.yaml",
                                            .sets = &texts[i],
                                            .set_count = 1});
        assert_close(portfolio_ports_bytes_per_s(scenario),
                     100e9 * (1 + (1 + 1.0 / 7) / thinned[i]), 1e-12);
    }
    /* Rails of one level above their leaves: 4 x 50. Two NICs for four GPUs have half of it. */
    const char *sets[] = {"cluster.nics.count=4"};
    for (uint32_t count = 0; count < 2; count++) {
        const struct scenario *small = fixture_scenario(
            arena, &(struct fixture_source){.path = "tests/bad_input/portfolios/jobs/small.yaml",
                                            .sets = sets,
                                            .set_count = count});
        assert_close(portfolio_ports_bytes_per_s(small), 200e9 / (1 + count), 1e-12);
    }
    arena_free(arena);
}

/* Four ports of 400 Gbps at 1,000 USD over 5 years of 8,760 h: 4,000 / 43,800 USD an hour. */
static void ports_are_written_off_by_the_hour(void **state)
{
    (void)state;
    const struct portfolio_price price = {
        .is_told = true, .port_usd = 1000, .port_bytes_per_s = 50e9, .life_s = 5 * 8760 * 3600.0};
    assert_close(portfolio_network_usd(&price, 200e9), 4000.0 / 43800, 1e-12);
}

static void the_schema_is_sound(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_null(schema_fault(arena, &portfolio_schema));
    assert_null(schema_fault(arena, &portfolio_job_keys));
    arena_free(arena);
}

/* A fabric on which a job does r at 90 % of the price is less where r exp(-s y) > 0.9, in
 * Phi(ln(r / 0.9) / s) of draws; with two jobs of weight 1/2 that have the same y, of ratios r and
 * q, where 2 / (e / r + e / q) > 0.9, e = exp(s y): Phi(-ln(0.45 (1 / r + 1 / q)) / s). Where their
 * kinds differ there are two y, and it is another share. */
static void shares_of_draws_are_those_of_normals(void **state)
{
    (void)state;
    const double r = 0.92, q = 0.86, s = 0.05, spread = s * BAND_DEVIATIONS;
    struct portfolio_plan plans[] = {
        {.shares = {{1, 1, 0, 0}, {1, 1, 0, 0}}, .kinds = {"", ""}, .usd = 1},
        {.shares = {{1, r, spread, 0}, {1, q, spread, 0}},
         .kinds = {", network", ", network"},
         .usd = 0.9},
        {.shares = {{1, ABSENT, ABSENT, ABSENT}, {1, 1, 0, 0}}, .kinds = {"", ""}, .usd = 0.1},
    };
    struct portfolio_win wins[3];
    assert_true(portfolio_wins(plans, 3, 1, wins)); /* all have a price */
    const double one = gsl_cdf_ugaussian_P(log(r / 0.9) / s);
    assert_true(fabs(wins[1].share - one) <= 1.0 / PORTFOLIO_DRAWS);
    assert_close(wins[0].share + wins[1].share, 1, 1e-12);
    assert_true(is_absent(wins[2].share) && is_absent(wins[2].behind));
    /* The first takes 1, the second c exp(s y), c = 0.9 / r, which is the least that is predicted:
     * behind are E max(0, 1 - c exp(s y)) and E max(0, c exp(s y) - 1), of c. */
    const double c = 0.9 / r, d = -log(c) / s, mean = c * exp(s * s / 2);
    const double below = gsl_cdf_ugaussian_P(d) - mean * gsl_cdf_ugaussian_P(d - s);
    assert_close(wins[0].behind, below / c, 0.01);
    assert_close(wins[1].behind, (below + mean - 1) / c, 0.01);
    portfolio_wins(plans, 2, 2, wins);
    const double two = gsl_cdf_ugaussian_P(-log(0.45 * (1 / r + 1 / q)) / s);
    assert_true(fabs(wins[1].share - two) <= 1.0 / PORTFOLIO_DRAWS);
    assert_true(wins[0].behind > 0 && wins[1].behind > wins[0].behind); /* the second wins less */
    plans[1].kinds[1] = ", precision";
    portfolio_wins(plans, 2, 2, wins);
    assert_true(fabs(wins[1].share - two) > 0.01);
    plans[0].usd = ABSENT; /* then hours count: at its best a job takes least in half of draws */
    plans[1].shares[0].ratio = plans[1].shares[1].ratio = 1;
    plans[1].kinds[1] = ", network";
    assert_false(portfolio_wins(plans, 2, 2, wins));
    assert_close(wins[1].share, 0.5, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_work_takes_more_hours),
        cmocka_unit_test(laws_of_the_sum),
        cmocka_unit_test(a_band_is_what_an_error_moves),
        cmocka_unit_test(a_job_without_a_result_leaves_no_sum),
        cmocka_unit_test(leaner_is_less_bandwidth_and_more_oversubscription),
        cmocka_unit_test(ports_are_both_ends_of_every_link),
        cmocka_unit_test(ports_are_written_off_by_the_hour),
        cmocka_unit_test(shares_of_draws_are_those_of_normals),
        cmocka_unit_test(the_schema_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
