/* Months of a run against formulas: what a run with failures gets done.
 *
 * The formulas and their worked numbers are exact; each was checked by a slow simulation of its
 * own. How far an estimate may lie from them: support/history_estimate.
 */
#include "base/arena.h"
#include "run/history/history.h"
#include "run/history/interval.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/assert_close.h"
#include "support/history_estimate.h"

#define HORIZON_S 4e9
#define PERIOD_STEPS 1024
#define RESTART_SHAPE 1 /* of the laws that have one */
#define DAY_S 86400.0
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- one kind of failure ----------------------------------------------------------------------
 */

struct constant_case {
    const char *name;
    double mtbf_s, detection_s, restart_s, work_s, block_s, durable_s;
    enum law_kind restart;
    double exact;
    double if_spared; /* restarts that cannot fail */
};

static const struct constant_case constants[] = {
    {"a day between failures", 86400, 0, 600, 7001.404, 300, 0, LAW_FIXED, 0.9126056313787152,
     0.9126275356367868},
    {"an hour", 3600, 0, 300, 617.891, 60, 0, LAW_FIXED, 0.7621314095207105, 0.7646434294849683},
    {"detection", 3600, 600, 300, 617.891, 60, 0, LAW_FIXED, 0.6532554938748947,
     0.6626909722203059},
    {"restarts that fail", 3600, 0, 1800, 618, 60, 0, LAW_FIXED, 0.5024279893571945,
     0.5522424753655362},
    {"both", 3600, 600, 1800, 618, 60, 0, LAW_FIXED, 0.4306525623061668, 0.49701822782898253},
    {"both, exponential", 3600, 600, 1800, 618, 60, 0, LAW_EXPONENTIAL, 0.4733506931704596,
     0.49701822782898253},
    {"both, lognormal", 3600, 600, 1800, 618, 60, 0, LAW_LOGNORMAL, 0.48223810803536116,
     0.49701822782898253},
    {"asynchronous", 3600, 600, 1800, 618, 5, 300, LAW_FIXED, 0.43460514023791524,
     0.5015799173461042},
    {"flush of a whole period", 3600, 0, 300, 618, 5, 623, LAW_FIXED, 0.7031238286974266,
     0.7054413569779422},
    {"a third of it written", 3600, 0, 300, 1500, 1200, 0, LAW_FIXED, 0.3431977025312917,
     0.34432889784705517},
    {"100,000 GPUs", 1824.372072, 300, 420, 300, 1, 30, LAW_FIXED, 0.6151700777298804,
     0.6465867344487236},
    {"16,384 GPUs", 11135.083447265624, 300, 420, 1800, 3, 30, LAW_FIXED, 0.8600919849528341,
     0.8615105749665183},
};

static sim_time time_of(double seconds)
{
    return law_time(seconds);
}

static struct history_estimate estimate_constant(const struct constant_case *c, bool rests)
{
    const struct failure_class class = {
        .name = "failure",
        .clock = {.kind = CLOCK_CONSTANT, .rate_per_s = 1.0 / c->mtbf_s},
        .rests = rests,
        .detection = {LAW_FIXED, c->detection_s, 0},
        .restart = {c->restart, c->restart_s, RESTART_SHAPE},
    };
    struct even_pace pace = {time_of(c->work_s / PERIOD_STEPS)};
    const struct history_stage stage = {
        .period = PERIOD_STEPS,
        .tiers = {{1, time_of(c->block_s), time_of(c->durable_s), 0, {0}}},
    };
    const struct history_plan plan = {
        .classes = &class,
        .class_count = 1,
        .horizon = time_of(fmin(HORIZON_S, ESTIMATE_FAILURES / 64 * c->mtbf_s)),
        .step_of = even_step,
        .context = &pace,
        .stages = &stage,
        .stage_count = 1,
        .tier_count = 1,
    };
    return history_estimate(&plan, 0);
}

static void goodput_with_failures_of_constant_rate_is_the_formula_s(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(constants); i++) {
        const struct constant_case *c = &constants[i];
        const struct interval_case formula = {
            c->mtbf_s,  c->detection_s, {c->restart, c->restart_s, RESTART_SHAPE},
            c->block_s, c->durable_s,   0};
        assert_close(interval_goodput(&formula, c->work_s), c->exact, 1e-9);
        const struct history_estimate found = estimate_constant(c, false);
        assert_estimates(c->name, &found, c->exact);
    }
}

/* A clock that stands while the job does: recovery takes D + R and no more. */
static void restarts_that_cannot_fail_take_what_they_take(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(constants); i++) {
        const struct constant_case *c = &constants[i];
        if (c->if_spared - c->exact > 0.01 * c->exact) {
            const struct history_estimate found = estimate_constant(c, true);
            assert_estimates(c->name, &found, c->if_spared);
        }
    }
}

/* ---- Weibull: the job as one renewal process --------------------------------------------------
 */

struct renewal_case {
    double scale_s, shape, block_s, durable_s, exact;
};

static void a_job_of_weibull_failures_is_a_renewal_process(void **state)
{
    (void)state;
    static const struct renewal_case cases[] = {
        {3600, 0.7, 60, 0, 0.7874300633076217},  {3600, 0.5, 60, 0, 0.8339881501495786},
        {3600, 1.5, 60, 0, 0.735366598391943},   {3600, 3, 60, 0, 0.733259727976711},
        {3600, 0.7, 5, 300, 0.8141666571613344},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const struct renewal_case *c = &cases[i];
        const struct failure_class class = {
            .name = "failure",
            .clock = {.kind = CLOCK_OF_JOB,
                      .components = 1,
                      .scale_s = c->scale_s,
                      .shape = c->shape},
            .detection = {LAW_FIXED, 60, 0},
            .restart = {LAW_FIXED, 300, 0},
        };
        struct even_pace pace = {time_of(618.0 / PERIOD_STEPS)};
        const struct history_stage stage = {
            .period = PERIOD_STEPS,
            .tiers = {{1, time_of(c->block_s), time_of(c->durable_s), 0, {0}}},
        };
        const struct history_plan plan = {
            .classes = &class,
            .class_count = 1,
            .horizon = time_of(ESTIMATE_FAILURES / 64 * c->scale_s),
            .step_of = even_step,
            .context = &pace,
            .stages = &stage,
            .stage_count = 1,
            .tier_count = 1,
        };
        const struct history_estimate found = history_estimate(&plan, 0);
        assert_estimates("renewal", &found, c->exact);
    }
}

/* ---- two tiers -------------------------------------------------------------------------------
 */

struct tier_case {
    double mtbf_s[2], restart_s[2], work_s;
    uint32_t every;
    double block_s[2], exact;
};

/* After a process dies its node still has the newest checkpoint; a node that is lost takes it
 * along. Restarts do not fail. */
static void two_tiers_are_the_recursion_over_their_segments(void **state)
{
    (void)state;
    static const struct tier_case cases[] = {
        {{7200, 36000}, {60, 600}, 300, 6, {2, 30}, 0.9090369586428922},
        {{2000, 20000}, {120, 900}, 120, 10, {1, 60}, 0.8008944724034154},
        {{4000, 4000}, {60, 600}, 300, 4, {5, 60}, 0.6519817179338926},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const struct tier_case *c = &cases[i];
        struct failure_class classes[2];
        for (uint32_t k = 0; k < 2; k++) {
            classes[k] = (struct failure_class){
                .name = k == 0 ? "process" : "node",
                .clock = {.kind = CLOCK_CONSTANT, .rate_per_s = 1.0 / c->mtbf_s[k]},
                .rests = true,
                .level = k,
                .restart = {LAW_FIXED, c->restart_s[k], 0},
            };
        }
        struct even_pace pace = {time_of(c->work_s / PERIOD_STEPS)};
        const struct history_stage stage = {
            .period = PERIOD_STEPS,
            .tiers = {{1, time_of(c->block_s[0]), 0, 0, {0}},
                      {c->every, time_of(c->block_s[1]), 0, 1, {0}}},
        };
        const struct history_plan plan = {
            .classes = classes,
            .class_count = 2,
            .horizon = time_of(ESTIMATE_FAILURES / 64 * c->mtbf_s[0]),
            .step_of = even_step,
            .context = &pace,
            .stages = &stage,
            .stage_count = 1,
            .tier_count = 2,
        };
        const struct history_estimate found = history_estimate(&plan, 0);
        assert_estimates("tiers", &found, c->exact);
    }
}

/* A third tier: each segment in memory, each n1-th on a peer, each n2-th in the file system. After
 * a failure of level k of rate 1 / Mk the run goes back to the begin of its segment, of its block
 * of n1, or of all n2. With lam = sum 1 / Mk, p = e^(-lam s_i), q = 1 - p, from segment i
 *
 *     E_i = q/lam (1 + sum Rk / Mk) + q/lam (E_i / M0 + E_block / M1 + E_0 / M2) + p E_(i+1)
 *
 * s_i being tau and what is written at its end; goodput = n2 tau / E_0. Backwards each E_i is a + b
 * E_block + c E_0, and at a block's begin (a + c E_0) / (1 - b). */
static double three_tiers_exact(const double m[3], const double r[3], double tau,
                                const uint32_t n[3], const double block_s[3])
{
    const double rate = 1 / m[0] + 1 / m[1] + 1 / m[2];
    const double restarts = 1 + r[0] / m[0] + r[1] / m[1] + r[2] / m[2];
    double next = 0; /* E_(i+1) = next + next_first E_0, within a block + next_block E_block */
    double next_block = 0;
    double next_first = 0;
    for (uint32_t i = n[2]; i-- > 0;) {
        double segment_s = tau;
        for (uint32_t k = 0; k < 3; k++) {
            segment_s += (i + 1) % n[k] == 0 ? block_s[k] : 0;
        }
        const double p = exp(-rate * segment_s);
        const double q = 1 - p;
        const double own = 1 - q / rate / m[0];
        next = (q / rate * restarts + p * next) / own;
        next_block = (q / rate / m[1] + p * next_block) / own;
        next_first = (q / rate / m[2] + p * next_first) / own;
        if (i % n[1] == 0) {
            next /= 1 - next_block;
            next_first /= 1 - next_block;
            next_block = 0;
        }
    }
    return n[2] * tau / (next / (1 - next_first));
}

static void three_tiers_are_the_recursion_over_their_segments(void **state)
{
    (void)state;
    static const struct {
        double mtbf_s[3], restart_s[3], work_s;
        uint32_t every[3];
        double block_s[3];
    } cases[] = {
        {{7200, 14400, 36000}, {60, 120, 600}, 300, {1, 3, 12}, {2, 10, 30}},
        {{20000, 3000, 6000}, {30, 60, 900}, 200, {1, 4, 8}, {1, 5, 60}},
        {{4000, 4000, 4000}, {60, 200, 600}, 150, {1, 2, 6}, {5, 0, 40}},
    };
    /* without a third kind of failure, tier and block it is the recursion of two */
    const double two[] = {7200, 36000, 1e30};
    const double two_restarts[] = {60, 600, 0};
    const double two_blocks[] = {2, 30, 0};
    assert_close(three_tiers_exact(two, two_restarts, 300, (const uint32_t[]){1, 6, 6}, two_blocks),
                 0.9090369586428922, 1e-9);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct failure_class classes[3];
        struct even_pace pace = {time_of(cases[i].work_s / PERIOD_STEPS)};
        struct history_stage stage = {.period = PERIOD_STEPS};
        for (uint32_t k = 0; k < 3; k++) {
            classes[k] = (struct failure_class){
                .name = k == 0   ? "process"
                        : k == 1 ? "node"
                                 : "leaf",
                .clock = {.kind = CLOCK_CONSTANT, .rate_per_s = 1.0 / cases[i].mtbf_s[k]},
                .rests = true,
                .level = k,
                .restart = {LAW_FIXED, cases[i].restart_s[k], 0},
            };
            stage.tiers[k] =
                (struct history_tier){cases[i].every[k], time_of(cases[i].block_s[k]), 0, k, {0}};
        }
        const struct history_plan plan = {
            .classes = classes,
            .class_count = 3,
            .horizon = time_of(ESTIMATE_FAILURES / 64 * 2500),
            .step_of = even_step,
            .context = &pace,
            .stages = &stage,
            .stage_count = 1,
            .tier_count = 3,
        };
        const struct history_estimate found = history_estimate(&plan, 0);
        assert_estimates("three tiers", &found,
                         three_tiers_exact(cases[i].mtbf_s, cases[i].restart_s, cases[i].work_s,
                                           cases[i].every, cases[i].block_s));
    }
}

/* Nodes fail every M and restarts take R, which further failures begin anew. A node's checkpoint
 * outlives it unless it is a neighbour, of two or of one, of a node that failed since the job ran:
 * the m-th more takes it along with the chance p_m = min(1, 2 m / (N - 1)). With f = 1 - e^(-R/M)
 * an outage lasts M (e^(R/M) - 1) in the mean and keeps it with K = (1 - f) sum_k f^k prod_m (1 -
 * p_m). The recursion of two tiers then is, with p = e^(-tau/M) and q = 1 - p,
 *     E_i = q M + q outage + q (K E_i + (1 - K) E_1) + p E_(i+1),   goodput = n tau / E_1.
 * Of 4 nodes K = 0.686, of two 0.607, of 1,000 0.998. */
static void a_copy_on_a_peer_is_lost_with_both(void **state)
{
    (void)state;
    const double m = 3600;
    const double r = 1800;
    const double tau = 600;
    const uint32_t n = 8;
    const uint32_t rings[] = {2, 4, 1000};
    for (size_t i = 0; i < LENGTH(rings); i++) {
        const double others = rings[i] - 1.0;
        const double f = -expm1(-r / m);
        double keeps = 0;
        double kept = 1 - f;
        for (uint32_t k = 1; k <= 200; k++) {
            keeps += kept;
            kept *= f * fmax(0, 1 - (others > 1 ? 2 : 1) * k / others);
        }
        const double p = exp(-tau / m);
        const double q = 1 - p;
        double known = 0; /* E_i = known + of_first E_1 */
        double of_first = 0;
        for (uint32_t k = 0; k < n; k++) {
            const double share = 1 - q * keeps;
            known = (q * m + q * m * expm1(r / m) + p * known) / share;
            of_first = (q * (1 - keeps) + p * of_first) / share;
        }
        const struct failure_class class = {
            .name = "node",
            .clock = {.kind = CLOCK_CONSTANT, .rate_per_s = 1.0 / m},
            .level = LEVEL_NODE,
            .restart = {LAW_FIXED, r, 0},
        };
        struct even_pace pace = {time_of(tau / PERIOD_STEPS)};
        const struct history_stage stage = {
            .period = PERIOD_STEPS,
            .tiers = {{1, 0, 0, LEVEL_NODE, {0}}, {n, 0, 0, 3, {0}}},
            .nodes = rings[i],
        };
        const struct history_plan plan = {
            .classes = &class,
            .class_count = 1,
            .horizon = time_of(ESTIMATE_FAILURES / 64 * m),
            .stages = &stage,
            .stage_count = 1,
            .step_of = even_step,
            .context = &pace,
            .tier_count = 2,
        };
        const struct history_estimate found = history_estimate(&plan, 0);
        assert_estimates("peers", &found, n * tau / (known / (1 - of_first)));
    }
}

/* ---- copies of the states -----------------------------------------------------------------------
 */

/* A new node gets the states of now from one that has them, too: a failure costs the step under
 * way, or the write, which is begun anew. Each unit u of work, a step s or a write b, is done once
 * nothing fails in it, after (M + D) e^(R/M) (e^(u/M) - 1) in the mean. With n steps to a write
 *
 *     goodput = n s / ((M + D) e^(R/M) (n (e^(s/M) - 1) + e^(b/M) - 1))
 *
 * and without writes (the second case) as if a checkpoint after each step cost nothing. */
static void copies_lose_the_step_under_way(void **state)
{
    (void)state;
    const double m = 3600;
    const double detection_s = 600;
    const double read_s = 100;
    const double restart_s = 200;
    const double step_s = 120;
    const double blocks_s[] = {180, 0};
    const double lost[] = {0};
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t n = i == 0 ? 4 : 1;
        const double units = n * expm1(step_s / m) + expm1(blocks_s[i] / m);
        const double exact =
            n * step_s / ((m + detection_s) * exp((read_s + restart_s) / m) * units);
        const struct failure_class class = {
            .name = "node",
            .clock = {.kind = CLOCK_CONSTANT, .rate_per_s = 1.0 / m},
            .level = LEVEL_NODE,
            .detection = {LAW_FIXED, detection_s, 0},
            .restart = {LAW_FIXED, restart_s, 0},
        };
        struct even_pace pace = {time_of(step_s)};
        const struct history_stage stage = {
            .period = i == 0 ? n : 0,
            .tiers = {{1, time_of(blocks_s[i]), 0, 3, {0, time_of(1000)}}},
            .copies = {lost, 2, {time_of(900), time_of(read_s), time_of(900)}},
        };
        const struct history_plan plan = {
            .classes = &class,
            .class_count = 1,
            .horizon = time_of(ESTIMATE_FAILURES / 64 * m),
            .stages = &stage,
            .stage_count = 1,
            .step_of = even_step,
            .context = &pace,
            .tier_count = i == 0 ? 1 : 0,
        };
        const struct history_estimate found = history_estimate(&plan, 0);
        assert_estimates("copies", &found, exact);
    }
}

/* A share g of failures takes all copies of something, and the run goes back to the checkpoint.
 * Restarts do not fail; they read a copy in Rc or a checkpoint in Rt. From unit i of a period (n
 * steps of s, a write of b)
 *
 *     E_i = q M + q ((1 - g) (Rc + E_i) + g (Rt + E_1)) + p E_(i+1),   p = e^(-u_i/M), q = 1 - p
 *
 * which is the recursion of two tiers with a first tier that costs nothing. */
static void who_has_no_copy_left_reads_the_checkpoint(void **state)
{
    (void)state;
    const double m = 4000;
    const double copy_s = 60;
    const double tier_s = 600;
    const double step_s = 200;
    const double block_s = 60;
    const uint32_t n = 6;
    const double shares[] = {0.1, 0.5, 1};
    for (size_t i = 0; i < LENGTH(shares); i++) {
        const double g = shares[i];
        double known = 0; /* E_i = known + of_first E_1 */
        double of_first = 0;
        for (uint32_t k = 0; k <= n; k++) {
            const double p = exp(-(k == 0 ? block_s : step_s) / m);
            const double q = 1 - p;
            const double share = 1 - q * (1 - g);
            known = (q * (m + (1 - g) * copy_s + g * tier_s) + p * known) / share;
            of_first = (q * g + p * of_first) / share;
        }
        const struct failure_class class = {
            .name = "leaf",
            .clock = {.kind = CLOCK_CONSTANT, .rate_per_s = 1.0 / m},
            .rests = true,
            .level = 2,
        };
        struct even_pace pace = {time_of(step_s)};
        const struct history_stage stage = {
            .period = n,
            .tiers = {{1, time_of(block_s), 0, 3, {0, 0, time_of(tier_s)}}},
            .copies = {&shares[i], 2, {0, 0, time_of(copy_s)}},
        };
        const struct history_plan plan = {
            .classes = &class,
            .class_count = 1,
            .horizon = time_of(ESTIMATE_FAILURES / 64 * m),
            .stages = &stage,
            .stage_count = 1,
            .step_of = even_step,
            .context = &pace,
            .tier_count = 1,
        };
        const struct history_estimate found = history_estimate(&plan, 0);
        assert_estimates("no copy left", &found, n * step_s / (known / (1 - of_first)));
    }
}

/* Nodes fail every M, restarts take R and begin anew: as with copies on peers, but what is kept is
 * the step, and the m-th more node in an outage is the last of a part's c with the chance
 * p_m = m (m - 1) ... (m - c + 2) / ((N - 1) ... (N - c + 1)): of two in 4 nodes a third for each
 * that fell. Of three copies none is the last before two fell. */
static void the_last_copy_is_lost_with_its_node(void **state)
{
    (void)state;
    const double m = 3600;
    const double r = 1800;
    const double tau = 600;
    const uint32_t n = 8;
    const struct {
        uint32_t nodes, copies;
    } cases[] = {{2, 2}, {4, 2}, {4, 3}, {1000, 2}};
    const double lost[] = {0};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const double f = -expm1(-r / m);
        double keeps = 0;
        double kept = 1 - f;
        for (uint32_t k = 1; k <= 200; k++) {
            const double others = cases[i].nodes - 1.0;
            const double second = cases[i].copies == 3 ? fmin((k - 1.0) / (others - 1), 1) : 1;
            keeps += kept;
            kept *= f * (1 - fmin(k / others, 1) * second);
        }
        const double p = exp(-tau / m);
        const double q = 1 - p;
        double known = 0; /* E_i = known + of_first E_1 */
        double of_first = 0;
        for (uint32_t k = 0; k < n; k++) {
            const double share = 1 - q * keeps;
            known = (q * m + q * m * expm1(r / m) + p * known) / share;
            of_first = (q * (1 - keeps) + p * of_first) / share;
        }
        const struct failure_class class = {
            .name = "node",
            .clock = {.kind = CLOCK_CONSTANT, .rate_per_s = 1.0 / m},
            .nodes = 1,
            .level = LEVEL_NODE,
            .restart = {LAW_FIXED, r, 0},
        };
        struct even_pace pace = {time_of(tau)};
        const struct history_stage stage = {
            .period = n,
            .tiers = {{1, 0, 0, 3, {0}}},
            .nodes = cases[i].nodes,
            .copies = {lost, cases[i].copies, {0}},
        };
        const struct history_plan plan = {
            .classes = &class,
            .class_count = 1,
            .horizon = time_of(ESTIMATE_FAILURES / 64 * m),
            .stages = &stage,
            .stage_count = 1,
            .step_of = even_step,
            .context = &pace,
            .tier_count = 1,
            .spares = 1000,
        };
        const struct history_estimate found = history_estimate(&plan, 0);
        assert_estimates("last copy", &found, n * tau / (known / (1 - of_first)));
    }
}

/* ---- when components fail ---------------------------------------------------------------------
 */

struct window_case {
    double shape, expected[4];
};

/* Failures of a class from day to day, in one repetition. */
static void count_failures(struct arena *arena, const struct failure_class *class, uint64_t number,
                           double days, double until_days[], double counts[], size_t windows)
{
    struct failure_times times;
    failure_times_begin(&times, arena, class,
                        (struct rng_key){.seed = ESTIMATE_SEED, .rank = number},
                        time_of(days * DAY_S));
    while (times.next != INT64_MAX && sim_time_to_s(times.next) <= days * DAY_S) {
        const double day = sim_time_to_s(times.next) / DAY_S;
        size_t window = 0;
        while (window + 1 < windows && day > until_days[window]) {
            window++;
        }
        counts[window]++;
        failure_times_advance(&times, arena);
    }
}

/* (t / scale)^shape, such that 419 fail in the first 54 days at the mean rate of the year. */
static void components_repaired_as_old_follow_the_power_law(void **state)
{
    (void)state;
    static const struct window_case cases[] = {
        {0.5, {392.20733848932935, 419.738990749116, 594.3859660215895, 1425.7973343695946}},
        {0.7, {177.85937034111345, 314.73903408554004, 570.2660401692837, 1769.2651850336524}},
        {1.0, {54.31481481481482, 178.46296296296293, 465.55555555555554, 2133.796296296296}},
        {2.0, {1.0416539827498732, 18.090766108574325, 153.0593607305936, 2659.937848807712}},
    };
    enum { WINDOWS = 4, REPETITIONS = 200 };
    double until[WINDOWS] = {7, 30, 90, 365};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const double components = 16384;
        const double year = 419.0 / 54 * 365;
        const double scale_days = 365 * pow(components / year, 1 / cases[i].shape);
        const struct failure_class class = {
            .name = "component",
            .clock = {.kind = CLOCK_REPAIRED,
                      .components = components,
                      .scale_s = scale_days * DAY_S,
                      .shape = cases[i].shape},
        };
        double counts[WINDOWS] = {0};
        for (uint64_t k = 0; k < REPETITIONS; k++) {
            struct arena *arena = arena_new();
            count_failures(arena, &class, k, 365, until, counts, WINDOWS);
            arena_free(arena);
        }
        for (uint32_t k = 0; k < WINDOWS; k++) {
            const double expected = cases[i].expected[k] * REPETITIONS;
            assert_true(fabs(counts[k] - expected) <= ESTIMATE_SIGMAS * sqrt(expected));
        }
    }
}

struct population_case {
    double shape, scale_days, renewed, repaired;
};

/* The renewal function, by its integral equation; and (365 days / scale)^shape. */
static void what_replaces_a_component_is_new(void **state)
{
    (void)state;
    static const struct population_case cases[] = {
        {0.7, 2000, 0.31906783079835843, 0.3040072971224549},
        {1.5, 500, 0.5561688830119211, 0.6237122734081798},
        {1.0, 1000, 0.3650000005065339, 0.365},
    };
    const double components = 2e6;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const struct population_case *c = &cases[i];
        const struct failure_class renewed = {
            .name = "component",
            .clock = {.kind = CLOCK_RENEWED,
                      .components = components,
                      .scale_s = c->scale_days * DAY_S,
                      .shape = c->shape},
        };
        struct failure_class repaired = renewed;
        repaired.clock.kind = CLOCK_REPAIRED;
        struct arena *arena = arena_new();
        double counts[2] = {0};
        double all = 365;
        count_failures(arena, &renewed, 0, 365, &all, &counts[0], 1);
        count_failures(arena, &repaired, 0, 365, &all, &counts[1], 1);
        arena_free(arena);
        const double expected[] = {c->renewed * components, c->repaired * components};
        assert_true(fabs(counts[0] - expected[0]) <= ESTIMATE_SIGMAS * sqrt(expected[0]));
        assert_true(fabs(counts[1] - expected[1]) <= ESTIMATE_SIGMAS * sqrt(expected[1]));
    }
}

/* ---- what is slow ------------------------------------------------------------------------------
 */

static struct history_step twice_as_long(void *context, const struct history_regime *regime)
{
    (void)context;
    return (struct history_step){regime->slow_class == HISTORY_NO_CLASS ? 1000000000 : 2000000000,
                                 0};
}

/* Ten GPUs a second become slow for good, from a tenth of a second on, a million in all: each step
 * but the first takes 2 s, a second of which is useful. It costs what a million draws cost. */
static void a_million_slow_gpus_are_as_slow_as_one(void **state)
{
    struct arena *arena = *state = arena_new();
    const struct failure_class class = {
        .name = "slow",
        .clock = {.kind = CLOCK_CONSTANT, .rate_per_s = 10},
        .effect = FAILURE_SLOWS,
        .heals = true,
        .repair = {LAW_FIXED, 1e8, 0},
    };
    const struct history_stage stage = {.replicas = 1, .slow_places = 1};
    const struct history_plan plan = {.classes = &class,
                                      .class_count = 1,
                                      .horizon = law_time(1e5),
                                      .stages = &stage,
                                      .stage_count = 1,
                                      .step_of = twice_as_long};
    struct history_outcome outcome;
    history_run(arena, &plan, 1, 0, &outcome);
    assert_in_range(outcome.steps, 49999, 50001);
    assert_int_equal(outcome.account_ns[ACCOUNT_USEFUL], outcome.steps * 1000000000);
    assert_in_range(outcome.turns, 900000, 3000000);
    arena_free(arena);
}

/* A stage of 100 steps of a second, kept at its end, and one of 20 that begins in place, with the
 * steps or with a restart, after a change of 1,000 s. Something ends the job every 100 s in the
 * mean, some ten times within the change: all of it passes once, whatever is left of it after the
 * restarts. */
static void a_change_passes_in_full(void **state)
{
    struct arena *arena = *state = arena_new();
    for (uint32_t restarts = 0; restarts < 2; restarts++) {
        const struct failure_class class = {
            .name = "failure",
            .clock = {.kind = CLOCK_CONSTANT, .rate_per_s = 0.01},
            .restart = {LAW_FIXED, 7, 0},
        };
        const struct history_stage stages[] = {
            {.until = 100, .period = 100, .tiers = {{1, 0, 0, 3, {0}}}, .replicas = 1},
            {.replicas = 1,
             .tiers = {{1, 0, 0, 3, {0}}},
             .restarts = restarts == 1,
             .change_ns = law_time(1000)},
        };
        struct even_pace pace = {law_time(1)};
        const struct history_plan plan = {.classes = &class,
                                          .class_count = 1,
                                          .horizon = law_time(1e6),
                                          .steps = 120,
                                          .stages = stages,
                                          .stage_count = 2,
                                          .step_of = even_step,
                                          .context = &pace,
                                          .tier_count = 1};
        uint64_t interruptions = 0;
        for (uint64_t i = 0; i < 20; i++) {
            struct history_outcome outcome;
            history_run(arena, &plan, 1, i, &outcome);
            assert_int_equal(outcome.steps, 120);
            assert_int_equal(outcome.account_ns[ACCOUNT_PLANNED], law_time(1000));
            interruptions += outcome.interruptions[0];
        }
        assert_true(interruptions > (restarts == 1 ? 20 : 200));
    }
    arena_free(arena);
}

/* ---- planned pauses ----------------------------------------------------------------------------
 */

/* A hundred million steps of 1 s without a failure, 3 s of evaluation after every `every`-th and a
 * write of 2 s after every `period`-th, but neither after the last: steps - 1 divided by each of
 * them, rounded down. It costs one walk from where both meet to where they meet again, and one
 * jump; within the walk the evaluations of a period are jumped, too: {10, 23529} has 23,529 of them
 * until both meet. */
static void evaluations_that_come_again_are_jumped(void **state)
{
    static const int64_t cases[][2] = {{10, 50},   {7, 50},     {1000, 50},
                                       {50, 1000}, {10, 23529}, {10, 0}};
    enum { STEPS = 100000000, TURNS = 1000 };
    struct arena *arena = *state = arena_new();
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const int64_t every = cases[i][0];
        const int64_t period = cases[i][1];
        const struct history_stage stage = {
            .period = period, .tiers = {{1, law_time(2), 0, 3, {0}}}, .replicas = 1};
        struct even_pace pace = {law_time(1)};
        const struct history_plan plan = {.horizon = law_time(1e9),
                                          .steps = STEPS,
                                          .evaluation_every = every,
                                          .evaluation_ns = law_time(3),
                                          .stages = &stage,
                                          .stage_count = 1,
                                          .step_of = even_step,
                                          .context = &pace,
                                          .tier_count = 1};
        struct history_outcome outcome;
        history_run(arena, &plan, 1, 0, &outcome);
        const int64_t writes = period > 0 ? (STEPS - 1) / period : 0;
        assert_int_equal(outcome.steps, STEPS);
        assert_int_equal(outcome.account_ns[ACCOUNT_USEFUL], STEPS * law_time(1));
        assert_int_equal(outcome.account_ns[ACCOUNT_PLANNED], (STEPS - 1) / every * law_time(3));
        assert_int_equal(outcome.account_ns[ACCOUNT_CHECKPOINT], writes * law_time(2));
        assert_in_range(outcome.turns, 1, TURNS);
    }
    arena_free(arena);
}

/* ---- the best interval ------------------------------------------------------------------------
 */

struct best_case {
    double mtbf_s, detection_s, restart_s, block_s, durable_s;
    double best_s, goodput, young_s, goodput_young;
};

static void the_best_interval_is_a_little_below_young_s(void **state)
{
    (void)state;
    static const struct best_case cases[] = {
        {86400, 0, 600, 300, 0, 7001.403911872523, 0.9126056313787152, 7200, 0.9125766802704939},
        {3600, 0, 300, 60, 0, 617.8906166939994, 0.7621314095207344, 657.2670690061993,
         0.7618808732808313},
        {11135.083, 0, 600, 30, 0, 797.5003769840739, 0.8796787853014089, 817.3768898127718,
         0.879659682143347},
        {11135.083, 0, 180, 5, 0, 330.36773780005865, 0.9547714924069285, 333.6927179307334,
         0.9547700718822575},
        {11135.083, 300, 420, 3, 30, 256.4811187355409, 0.913655978444155, 258.4772678592839,
         0.9136553459806291},
        {1824.372, 300, 420, 1, 30, 59.7400169000566, 0.649083255070009, 60.40483424362656,
         0.6490819532703288},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const struct best_case *c = &cases[i];
        const struct interval_case of = {c->mtbf_s,  c->detection_s, {LAW_FIXED, c->restart_s, 0},
                                         c->block_s, c->durable_s,   0};
        assert_close(interval_best_s(&of), c->best_s, 1e-6);
        assert_close(interval_goodput(&of, interval_best_s(&of)), c->goodput, 1e-12);
        assert_close(interval_young_s(&of), c->young_s, 1e-12);
        assert_close(interval_goodput(&of, c->young_s), c->goodput_young, 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(components_repaired_as_old_follow_the_power_law),
        cmocka_unit_test(what_replaces_a_component_is_new),
        cmocka_unit_test(the_best_interval_is_a_little_below_young_s),
        cmocka_unit_test(goodput_with_failures_of_constant_rate_is_the_formula_s),
        cmocka_unit_test(restarts_that_cannot_fail_take_what_they_take),
        cmocka_unit_test(a_job_of_weibull_failures_is_a_renewal_process),
        cmocka_unit_test(two_tiers_are_the_recursion_over_their_segments),
        cmocka_unit_test(three_tiers_are_the_recursion_over_their_segments),
        cmocka_unit_test(a_copy_on_a_peer_is_lost_with_both),
        cmocka_unit_test(copies_lose_the_step_under_way),
        cmocka_unit_test(who_has_no_copy_left_reads_the_checkpoint),
        cmocka_unit_test(the_last_copy_is_lost_with_its_node),
        cmocka_unit_test(a_million_slow_gpus_are_as_slow_as_one),
        cmocka_unit_test(a_change_passes_in_full),
        cmocka_unit_test(evaluations_that_come_again_are_jumped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
