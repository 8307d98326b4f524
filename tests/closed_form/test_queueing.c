/* Queueing theory as an oracle for events and servers: simulated averages
 * against formulas, within four standard deviations.
 *
 * All cases are lines of stations: a job arrives, passes each station in turn
 * and leaves. The unit of time is 1 ms, so rounding to nanoseconds is below
 * 1e-6. Each run begins and ends empty; then Little's law holds exactly
 * (integral of jobs inside = sum of sojourns), and every run here asserts it.
 *
 * The tolerance. A time average over T of f(N), N a birth-death process with
 * rates birth[j], death[j] and stationary law p, has variance close to
 * sigma^2 / T, with
 *
 *     sigma^2 = 2 sum_j (sum_{i<=j} (f(i) - mean f) p[i])^2 / (birth[j] p[j])
 *
 * (Whitt 1992, "Asymptotic formulas for Markov processes with applications
 * to simulation", Operations Research 40). For N in M/M/1 it is
 * 2 rho (1+rho) / (1-rho)^4 for unit mean service: 24 at rho .5, 1800 at .8.
 * Where the service is not exponential but varies less, M/M/1's value at the
 * same load serves as an upper bound. Averages per job divide by a number of
 * jobs instead of T, which adds 1/sqrt(jobs) of relative spread.
 *
 * Theory: Kleinrock, Queueing Systems, vol. 1 chapters 3 and 5, vol. 2
 * section 4.4.
 */
#include "base/arena.h"
#include "base/rng.h"
#include "des/event.h"
#include "des/server.h"

#include <gsl/gsl_cdf.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/assert_close.h"

#define UNIT_NS 1e6
#define STATIONS_MAX 4
#define STAMP_KIND 1
#define SOURCE STATIONS_MAX /* the target of arrival events */
#define SIGMAS 4.0
#define SEED 20240607

/* A duration in units, drawn for this key. */
typedef double law_function(const struct rng_key *key, double mean);

struct station {
    enum server_kind kind;
    uint32_t slots;
    uint32_t capacity;
    law_function *law;
    double mean;
};

struct line {
    law_function *arrivals;
    double arrival_mean;
    uint32_t jobs;
    uint32_t station_count;
    struct station stations[STATIONS_MAX];
};

struct outcome {
    struct server_statistics statistics[STATIONS_MAX];
    double duration;        /* in units, like all below */
    double sojourn_sum;     /* through the whole line */
    double big_sojourn_sum; /* of jobs whose work at the first station is above its mean */
    double big_count;
};

/* ---- laws -------------------------------------------------------------- */

static double exponential(const struct rng_key *key, double mean)
{
    return gsl_cdf_exponential_Pinv(rng_uniform(key), mean);
}

static double constant(const struct rng_key *key, double mean)
{
    (void)key;
    return mean;
}

/* 2 with probability 1/3, 1/2 with 2/3: mean 1, variance 1/2. */
static double two_point(const struct rng_key *key, double mean)
{
    return mean * (rng_uniform(key) < 1.0 / 3.0 ? 2.0 : 0.5);
}

static double all_at_once(const struct rng_key *key, double mean)
{
    (void)key;
    (void)mean;
    return 0.0;
}

/* ---- the simulation ---------------------------------------------------- */

struct run {
    const struct line *line;
    struct event_queue *queue;
    struct server *servers[STATIONS_MAX];
    sim_time *arrived_at; /* by job */
    uint32_t arrived_count;
    struct outcome outcome;
};

static sim_time draw_ns(law_function *law, double mean, const char *stream, uint64_t station,
                        uint64_t job)
{
    const struct rng_key key = {
        .seed = SEED, .stream = rng_stream(stream), .rank = station, .operation = job};
    return (sim_time)llround(law(&key, mean) * UNIT_NS);
}

static sim_time work_ns(const struct line *line, uint32_t station, uint32_t job)
{
    const struct station *place = &line->stations[station];
    const sim_time work = draw_ns(place->law, place->mean, "service", station, job);
    return work > 0 ? work : 1;
}

static void post_arrival(struct run *run)
{
    if (run->arrived_count < run->line->jobs) {
        const sim_time gap =
            draw_ns(run->line->arrivals, run->line->arrival_mean, "arrival", 0, run->arrived_count);
        event_post(run->queue, event_now(run->queue) + gap, SOURCE, 0);
    }
}

static void arrive(struct run *run)
{
    const uint32_t job = run->arrived_count++;
    run->arrived_at[job] = event_now(run->queue);
    server_arrive(run->servers[0], job, work_ns(run->line, 0, job));
    post_arrival(run);
}

static void leave(struct run *run, uint32_t job)
{
    const double sojourn = (double)(event_now(run->queue) - run->arrived_at[job]) / UNIT_NS;
    run->outcome.sojourn_sum += sojourn;
    if ((double)work_ns(run->line, 0, job) > run->line->stations[0].mean * UNIT_NS) {
        run->outcome.big_sojourn_sum += sojourn;
        run->outcome.big_count += 1.0;
    }
}

static void finish_service(struct run *run, const struct event *event)
{
    const uint32_t next = event->target + 1;
    uint32_t job = 0;
    while (server_complete(run->servers[event->target], event, &job)) {
        if (next < run->line->station_count) {
            server_arrive(run->servers[next], job, work_ns(run->line, next, job));
        } else {
            leave(run, job);
        }
    }
}

static void run_begin(struct run *run, struct arena *arena)
{
    run->queue = event_queue_new(arena);
    run->arrived_at = arena_array(arena, run->line->jobs, sizeof *run->arrived_at);
    for (uint32_t i = 0; i < run->line->station_count; i++) {
        const struct station *station = &run->line->stations[i];
        run->servers[i] = server_new(arena, run->queue,
                                     &(struct server_options){.kind = station->kind,
                                                              .slots = station->slots,
                                                              .capacity = station->capacity,
                                                              .target = i,
                                                              .stamp_kind = STAMP_KIND});
    }
    post_arrival(run);
}

static struct outcome simulate(const struct line *line)
{
    struct arena *arena = arena_new();
    struct run run = {.line = line};
    run_begin(&run, arena);
    struct event event;
    while (event_pop(run.queue, &event)) {
        if (event.target == SOURCE) {
            arrive(&run);
        } else {
            finish_service(&run, &event);
        }
    }
    run.outcome.duration = (double)event_now(run.queue) / UNIT_NS;
    for (uint32_t i = 0; i < line->station_count; i++) {
        const struct server_statistics statistics = server_statistics(run.servers[i]);
        assert_int_equal(statistics.jobs_now, 0);
        assert_true(statistics.integral_jobs_ns == statistics.sum_sojourn_ns);
        run.outcome.statistics[i] = statistics;
    }
    arena_free(arena);
    return run.outcome;
}

/* Averages over time (l, lq) and per job (w, wq), in units. */
static double mean_l(const struct outcome *outcome, uint32_t station)
{
    return (double)outcome->statistics[station].integral_jobs_ns / UNIT_NS / outcome->duration;
}

static double mean_lq(const struct outcome *outcome, uint32_t station)
{
    const double busy = (double)outcome->statistics[station].integral_busy_ns / UNIT_NS;
    return mean_l(outcome, station) - busy / outcome->duration;
}

static double mean_w(const struct outcome *outcome, uint32_t station)
{
    return (double)outcome->statistics[station].sum_sojourn_ns / UNIT_NS /
           (double)outcome->statistics[station].departures;
}

static double mean_wq(const struct outcome *outcome, uint32_t station)
{
    return (double)outcome->statistics[station].sum_wait_ns / UNIT_NS /
           (double)outcome->statistics[station].departures;
}

/* ---- the tolerance ----------------------------------------------------- */

#define STATES 400 /* the chain is cut there; .8^400 = 2e-39 */

/* M/M/slots, at most `states` - 1 jobs inside. */
struct chain {
    double birth;
    double death; /* of one slot */
    uint32_t slots;
    uint32_t states;
};

typedef double state_function(const struct chain *chain, uint32_t jobs);

static double jobs_inside(const struct chain *chain, uint32_t jobs)
{
    (void)chain;
    return jobs;
}

static double jobs_waiting(const struct chain *chain, uint32_t jobs)
{
    return jobs > chain->slots ? jobs - chain->slots : 0;
}

static double is_full(const struct chain *chain, uint32_t jobs)
{
    return jobs == chain->states - 1 ? 1.0 : 0.0;
}

static void stationary_law(const struct chain *chain, double *law)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < chain->states; i++) {
        const double served = i < chain->slots ? i : chain->slots;
        law[i] = i == 0 ? 1.0 : law[i - 1] * chain->birth / (chain->death * served);
        sum += law[i];
    }
    for (uint32_t i = 0; i < chain->states; i++) {
        law[i] /= sum;
    }
}

/* Mean and sigma^2 of the formula at the top. The partial sums are taken from
 * the far end (all terms together are 0): from the near end, their rounding
 * would be divided by the tiny probabilities of the tail. */
static void chain_moments(const struct chain *chain, state_function *f, double *mean,
                          double *variance)
{
    double law[STATES];
    stationary_law(chain, law);
    *mean = 0.0;
    for (uint32_t i = 0; i < chain->states; i++) {
        *mean += f(chain, i) * law[i];
    }
    double beyond = 0.0;
    *variance = 0.0;
    for (uint32_t i = chain->states - 1; i > 0; i--) {
        beyond += (f(chain, i) - *mean) * law[i];
        *variance += 2.0 * beyond * beyond / (chain->birth * law[i - 1]);
    }
}

static double tolerance(const struct chain *chain, state_function *f, double duration)
{
    double mean = 0.0;
    double variance = 0.0;
    chain_moments(chain, f, &mean, &variance);
    return SIGMAS * sqrt(variance / duration);
}

static void assert_within(double actual, double expected, double margin)
{
    assert_close(actual, expected, margin / expected);
}

/* l and lq within their margins, w and wq within the same relative ones. */
static void assert_means(const struct outcome *outcome, const struct chain *chain, double l,
                         double lq)
{
    const double rate = chain->birth;
    const double l_margin = tolerance(chain, jobs_inside, outcome->duration);
    const double lq_margin = tolerance(chain, jobs_waiting, outcome->duration);
    const double jobs = (double)outcome->statistics[0].departures;
    const double count_margin = SIGMAS / sqrt(jobs);
    assert_within(mean_l(outcome, 0), l, l_margin);
    assert_within(mean_lq(outcome, 0), lq, lq_margin);
    assert_close(mean_w(outcome, 0), l / rate, l_margin / l + count_margin);
    assert_close(mean_wq(outcome, 0), lq / rate, lq_margin / lq + count_margin);
}

static struct line single(law_function *law, uint32_t slots, double rate, uint32_t jobs)
{
    return (struct line){.arrivals = exponential,
                         .arrival_mean = 1.0 / rate,
                         .jobs = jobs,
                         .station_count = 1,
                         .stations = {{SERVER_FIFO, slots, 0, law, 1.0}}};
}

/* ---- cases ------------------------------------------------------------- */

static void the_tolerance_formula_gives_the_known_variance(void **state)
{
    /* 2 rho (1+rho) / (1-rho)^4: 2*.5*1.5/.0625 = 24, 2*.8*1.8/.0016 = 1800. */
    (void)state;
    double mean = 0.0;
    double variance = 0.0;
    chain_moments(&(struct chain){.5, 1.0, 1, STATES}, jobs_inside, &mean, &variance);
    assert_close(mean, 1.0, 1e-9);
    assert_close(variance, 24.0, 1e-9);
    chain_moments(&(struct chain){.8, 1.0, 1, STATES}, jobs_inside, &mean, &variance);
    assert_close(mean, 4.0, 1e-9);
    assert_close(variance, 1800.0, 1e-9);
}

static void m_m_1_at_half_load(void **state)
{
    /* rho = .5: L = rho/(1-rho) = 1, Lq = L - rho = .5, W = 2, Wq = 1. */
    (void)state;
    const struct line line = single(exponential, 1, .5, 1000000);
    const struct outcome outcome = simulate(&line);
    assert_means(&outcome, &(struct chain){.5, 1.0, 1, STATES}, 1.0, 0.5);
}

static void m_m_1_at_four_fifths_load(void **state)
{
    /* rho = .8: L = 4, Lq = 3.2, W = 5, Wq = 4. */
    (void)state;
    const struct line line = single(exponential, 1, .8, 1500000);
    const struct outcome outcome = simulate(&line);
    assert_means(&outcome, &(struct chain){.8, 1.0, 1, STATES}, 4.0, 3.2);
}

static void m_d_1_waits_half_as_long(void **state)
{
    /* Pollaczek-Khinchine: Wq = lambda E[S^2] / (2 (1-rho)), E[S^2] = 1.
     * rho = .5: Wq = .5, Lq = .25, L = .75. rho = .8: Wq = 2, Lq = 1.6, L = 2.4. */
    (void)state;
    struct line line = single(constant, 1, .5, 1000000);
    struct outcome outcome = simulate(&line);
    assert_means(&outcome, &(struct chain){.5, 1.0, 1, STATES}, 0.75, 0.25);
    line = single(constant, 1, .8, 1000000);
    outcome = simulate(&line);
    assert_means(&outcome, &(struct chain){.8, 1.0, 1, STATES}, 2.4, 1.6);
}

static void m_m_3(void **state)
{
    /* lambda = 2, mu = 1: Erlang C = 4/9, Lq = C rho/(1-rho) = 8/9, L = Lq + 2. */
    (void)state;
    const struct line line = single(exponential, 3, 2.0, 1000000);
    const struct outcome outcome = simulate(&line);
    assert_means(&outcome, &(struct chain){2.0, 1.0, 3, STATES}, 26.0 / 9.0, 8.0 / 9.0);
}

static void m_m_8(void **state)
{
    /* lambda = 6.4, mu = 1: Erlang C = .457645, Lq = 4 C = 1.830580, L = Lq + 6.4. */
    (void)state;
    const struct line line = single(exponential, 8, 6.4, 1000000);
    const struct outcome outcome = simulate(&line);
    assert_means(&outcome, &(struct chain){6.4, 1.0, 8, STATES}, 8.230580, 1.830580);
}

static void m_m_1_5_refuses_its_share(void **state)
{
    /* rho = .8, at most 5 inside: p[5] = .2 * .8^5 / (1 - .8^6) = .0888195;
     * L = sum n p[n] = 1.868332; throughput .8 (1 - p[5]) = .7289444. Refused
     * arrivals spread by the time spent full and by their own number. */
    (void)state;
    struct line line = single(exponential, 1, .8, 1000000);
    line.stations[0].capacity = 5;
    const struct outcome outcome = simulate(&line);
    const struct chain chain = {.8, 1.0, 1, 6};
    const struct server_statistics *statistics = &outcome.statistics[0];
    const double arrivals = (double)statistics->arrivals;
    const double margin =
        tolerance(&chain, is_full, outcome.duration) + SIGMAS * sqrt(.0888195 / arrivals);
    assert_within((double)statistics->refused / arrivals, .0888195, margin);
    assert_within((double)statistics->departures / outcome.duration, .7289444,
                  .8 * margin + SIGMAS * .8 / sqrt(arrivals));
    assert_within(mean_l(&outcome, 0), 1.868332, tolerance(&chain, jobs_inside, outcome.duration));
    assert_int_equal(statistics->jobs_max, 5);
}

static void processor_sharing_does_not_see_the_service_law(void **state)
{
    /* M/G/1-PS, rho = .8, mean work 1: W = 1/(1-rho) = 5 for any law, and a job
     * of work x stays x/(1-rho): x = 2 stays 10, x = 1/2 stays 2.5. */
    (void)state;
    const struct chain chain = {.8, 1.0, 1, STATES};
    law_function *const laws[] = {exponential, two_point};
    for (uint32_t i = 0; i < 2; i++) {
        struct line line = single(laws[i], 1, .8, 700000);
        line.stations[0].kind = SERVER_SHARED;
        const struct outcome outcome = simulate(&line);
        const double margin = tolerance(&chain, jobs_inside, outcome.duration) / 4.0 +
                              SIGMAS / sqrt(outcome.big_count);
        assert_close(mean_w(&outcome, 0), 5.0, margin);
        if (laws[i] == two_point) {
            const double small_sum = outcome.sojourn_sum - outcome.big_sojourn_sum;
            const double small_count = (double)line.jobs - outcome.big_count;
            assert_close(outcome.big_sojourn_sum / outcome.big_count, 10.0, margin);
            assert_close(small_sum / small_count, 2.5, margin);
        }
    }
}

static void stations_in_tandem_are_independent(void **state)
{
    /* Jackson: lambda = 1, mu = 2 and 1.5. L = rho/(1-rho): 1 and 2; W = 3. */
    (void)state;
    const struct line line = {.arrivals = exponential,
                              .arrival_mean = 1.0,
                              .jobs = 1000000,
                              .station_count = 2,
                              .stations = {{SERVER_FIFO, 1, 0, exponential, 1.0 / 2.0},
                                           {SERVER_FIFO, 1, 0, exponential, 1.0 / 1.5}}};
    const struct outcome outcome = simulate(&line);
    const double margins[] = {
        tolerance(&(struct chain){1.0, 2.0, 1, STATES}, jobs_inside, outcome.duration),
        tolerance(&(struct chain){1.0, 1.5, 1, STATES}, jobs_inside, outcome.duration)};
    assert_within(mean_l(&outcome, 0), 1.0, margins[0]);
    assert_within(mean_l(&outcome, 1), 2.0, margins[1]);
    assert_within(outcome.sojourn_sum / line.jobs, 3.0,
                  margins[0] + margins[1] + SIGMAS * 3.0 / sqrt(line.jobs));
}

static void d_d_1_never_waits(void **state)
{
    /* One job every 5, work 5 (rho = 1) and work 3: each stays for its work. */
    (void)state;
    const double works[] = {5.0, 3.0};
    for (uint32_t i = 0; i < 2; i++) {
        const struct line line = {.arrivals = constant,
                                  .arrival_mean = 5.0,
                                  .jobs = 1000,
                                  .station_count = 1,
                                  .stations = {{SERVER_FIFO, 1, 0, constant, works[i]}}};
        const struct outcome outcome = simulate(&line);
        assert_int_equal(outcome.statistics[0].sum_wait_ns, 0);
        assert_true(mean_w(&outcome, 0) == works[i]);
    }
}

static double makespan_of_flow_line(const double *works, uint32_t stations, uint32_t jobs)
{
    struct line line = {.arrivals = all_at_once, .jobs = jobs, .station_count = stations};
    for (uint32_t i = 0; i < stations; i++) {
        line.stations[i] = (struct station){SERVER_FIFO, 1, 0, constant, works[i]};
    }
    return simulate(&line).duration;
}

static void a_flow_line_takes_its_sum_and_the_slowest_station(void **state)
{
    /* sum t + (m-1) max t: (3,5,2,4), m = 8: 14 + 7*5 = 49;
     * (1,1,1,7), m = 5: 10 + 4*7 = 38. Exact. */
    (void)state;
    const double first[] = {3.0, 5.0, 2.0, 4.0};
    const double second[] = {1.0, 1.0, 1.0, 7.0};
    assert_true(makespan_of_flow_line(first, 4, 8) == 49.0);
    assert_true(makespan_of_flow_line(second, 4, 5) == 38.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tolerance_formula_gives_the_known_variance),
        cmocka_unit_test(m_m_1_at_half_load),
        cmocka_unit_test(m_m_1_at_four_fifths_load),
        cmocka_unit_test(m_d_1_waits_half_as_long),
        cmocka_unit_test(m_m_3),
        cmocka_unit_test(m_m_8),
        cmocka_unit_test(m_m_1_5_refuses_its_share),
        cmocka_unit_test(processor_sharing_does_not_see_the_service_law),
        cmocka_unit_test(stations_in_tandem_are_independent),
        cmocka_unit_test(d_d_1_never_waits),
        cmocka_unit_test(a_flow_line_takes_its_sum_and_the_slowest_station),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
