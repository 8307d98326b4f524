/* Cost of the pending-event set: ns per hold (one pop and one post) with a
 * steady number of events pending.
 *
 *   exp   delays exponential, mean 1 ms
 *   ties  all events run through the same 8 delays: every instant is a tie of all
 *
 * Each figure is the best of 3 repetitions of at least 2 million holds; the
 * delay comes from a table, whose reading is part of the figure. Compare with
 * shared/engines.md, section 1a.
 */
#include "base/arena.h"
#include "base/rng.h"
#include "des/event.h"

#include <gsl/gsl_cdf.h>

#include <stdio.h>
#include <time.h>

#define TABLE_SIZE 65536u
#define REPETITIONS 3

static double host_now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void fill_exponential(sim_time *delays)
{
    struct rng_key key = {.seed = 1, .stream = rng_stream("bench")};
    for (uint32_t i = 0; i < TABLE_SIZE; i++) {
        key.operation = i;
        delays[i] = (sim_time)gsl_cdf_exponential_Pinv(rng_uniform(&key), 1e6);
    }
}

/* Entry i is the delay of the i-th hold: all pending events take the same
 * delay in the same instant. */
static sim_time tie_delay(uint32_t turn)
{
    static const sim_time delays[] = {120000, 7000, 65000, 1000000, 3000, 250000, 42000, 900000};
    return delays[turn % 8];
}

static double hold_exponential_s(struct event_queue *queue, const sim_time *delays, uint64_t holds)
{
    const double begin_s = host_now_s();
    for (uint64_t i = 0; i < holds; i++) {
        struct event event;
        if (!event_pop(queue, &event)) {
            break;
        }
        event_post(queue, event.time + delays[i % TABLE_SIZE], event.target, 0);
    }
    return host_now_s() - begin_s;
}

/* The event's stamp counts its holds. */
static double hold_ties_s(struct event_queue *queue, uint64_t holds)
{
    const double begin_s = host_now_s();
    for (uint64_t i = 0; i < holds; i++) {
        struct event event;
        if (!event_pop(queue, &event)) {
            break;
        }
        event_post(queue, event.time + tie_delay(event.stamp), event.target, event.stamp + 1);
    }
    return host_now_s() - begin_s;
}

static double best_ns_per_hold(uint32_t pending, bool has_ties, const sim_time *delays)
{
    struct arena *arena = arena_new();
    struct event_queue *queue = event_queue_new(arena);
    for (uint32_t i = 0; i < pending; i++) {
        event_post(queue, has_ties ? 0 : delays[i % TABLE_SIZE], i, 0);
    }
    const uint64_t holds = pending < 1000000 ? 2000000 : 2 * (uint64_t)pending;
    double best_s = 1e9;
    hold_exponential_s(queue, delays, has_ties ? 0 : 2 * (uint64_t)pending);
    for (uint32_t i = 0; i < REPETITIONS; i++) {
        const double took_s =
            has_ties ? hold_ties_s(queue, holds) : hold_exponential_s(queue, delays, holds);
        best_s = took_s < best_s ? took_s : best_s;
    }
    arena_free(arena);
    return best_s * 1e9 / (double)holds;
}

int main(void)
{
    struct arena *arena = arena_new();
    sim_time *delays = arena_array(arena, TABLE_SIZE, sizeof *delays);
    fill_exponential(delays);
    const uint32_t sizes[] = {1000, 100000, 1000000};
    printf("%10s %12s %12s   (ns per hold)\n", "pending", "exp", "ties");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        printf("%10u %12.1f %12.1f\n", sizes[i], best_ns_per_hold(sizes[i], false, delays),
               best_ns_per_hold(sizes[i], true, delays));
    }
    arena_free(arena);
    return 0;
}
