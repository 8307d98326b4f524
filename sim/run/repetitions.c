/* Percentiles are those of all values: a thousand
 * histories are few. Each history's memory is forgotten before the next.
 */
#include "run/repetitions.h"

#include "base/arena.h"
#include "base/check.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

#include <math.h>

/* Sorts the values. */
static struct repetition_spread spread_of(double *values, uint32_t count)
{
    gsl_sort(values, 1, count);
    const double deviation = gsl_stats_sd(values, 1, count);
    return (struct repetition_spread){
        .mean = gsl_stats_mean(values, 1, count),
        .error = deviation / sqrt((double)count),
        .p5 = gsl_stats_quantile_from_sorted_data(values, 1, count, 0.05),
        .p50 = gsl_stats_quantile_from_sorted_data(values, 1, count, 0.5),
        .p95 = gsl_stats_quantile_from_sorted_data(values, 1, count, 0.95),
    };
}

static struct repetition repetition_of(const struct history_outcome *outcome)
{
    const sim_time *ns = outcome->account_ns;
    const double wall_s = sim_time_to_s(outcome->end);
    return (struct repetition){
        .wall_s = wall_s,
        .steps_s = sim_time_to_s(ns[ACCOUNT_USEFUL] + ns[ACCOUNT_DATA_STALL] + ns[ACCOUNT_LOST]),
        .goodput = sim_time_to_s(ns[ACCOUNT_USEFUL]) / wall_s,
    };
}

static void add_history(const struct history_plan *plan, const struct history_outcome *outcome,
                        struct repetitions *all)
{
    for (uint32_t a = 0; a < ACCOUNT_COUNT_; a++) {
        all->account_s[a] += sim_time_to_s(outcome->account_ns[a]) / (double)all->count;
    }
    for (uint32_t c = 0; c < plan->class_count; c++) {
        const double share = (double)outcome->interruptions[c] / (double)all->count;
        all->interruptions[c] += share;
        all->blamed_s[c] += sim_time_to_s(outcome->blamed_ns[c]) / (double)all->count;
        all->interruptions_all += share;
    }
    all->broken_most =
        outcome->broken_most > all->broken_most ? outcome->broken_most : all->broken_most;
    all->unfinished += plan->steps > 0 && outcome->steps < plan->steps;
}

static void spread(struct repetitions *all)
{
    struct arena *own = arena_new();
    double *values = arena_array(own, all->count, sizeof *values);
    for (uint32_t i = 0; i < all->count; i++) {
        values[i] = all->each[i].wall_s;
    }
    all->wall_s = spread_of(values, all->count);
    for (uint32_t i = 0; i < all->count; i++) {
        values[i] = all->each[i].goodput;
    }
    all->goodput = spread_of(values, all->count);
    arena_free(own);
}

void repetitions_run(struct arena *arena, const struct history_plan *plan, uint64_t seed,
                     uint32_t count, struct repetitions *all)
{
    sim_assert(count >= 2);
    *all = (struct repetitions){
        .count = count,
        .interruptions = arena_array(arena, plan->class_count, sizeof *all->interruptions),
        .blamed_s = arena_array(arena, plan->class_count, sizeof *all->blamed_s),
        .each = arena_array(arena, count, sizeof *all->each)};
    struct arena *own = arena_new();
    for (uint32_t i = 0; i < count; i++) {
        struct history_outcome outcome;
        arena_reset(own);
        history_run(own, plan, seed, i, &outcome);
        all->each[i] = repetition_of(&outcome);
        add_history(plan, &outcome, all);
        if (i == 0 && all->unfinished > 0) {
            all->count = 1;
            arena_free(own);
            return;
        }
    }
    arena_free(own);
    spread(all);
}

void repetitions_until(struct arena *arena, const struct history_plan *plan, uint64_t seed,
                       double precision, uint32_t most, struct repetitions *all)
{
    enum { FIRST = 16 };
    for (uint32_t count = most < FIRST ? most : FIRST;; count *= 2) {
        count = count < most ? count : most;
        repetitions_run(arena, plan, seed, count, all);
        if (count == most || all->unfinished > 0 ||
            all->wall_s.error <= precision * all->wall_s.mean) {
            return;
        }
    }
}
