/* All draws of all offers are kept, as values of a table; of a measurement only means are. */
#include "study/quote/quote_worth.h"

#include "base/absent.h"
#include "base/arena.h"
#include "study/wins.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- draws ----------------------------------------------------------------------------------- */

/* Of the offers that hold all jobs: value k of draw d at [k * QUOTE_DRAWS + d]. */
struct drawn {
    double *cost, *end, *energy, *score;
    uint32_t *offers, count; /* which they are */
};

static struct quote_range range_of(struct arena *scratch, const double *values)
{
    double *sorted = arena_array(scratch, QUOTE_DRAWS, sizeof *sorted);
    memcpy(sorted, values, QUOTE_DRAWS * sizeof *sorted);
    gsl_sort(sorted, 1, QUOTE_DRAWS);
    return (struct quote_range){gsl_stats_quantile_from_sorted_data(sorted, 1, QUOTE_DRAWS, 0.1),
                                gsl_stats_quantile_from_sorted_data(sorted, 1, QUOTE_DRAWS, 0.9)};
}

static void draw_offer(const struct quote_found *found, const struct quote_draws *draws,
                       struct drawn *drawn, uint32_t k)
{
    const struct quote *quote = found->points.quote;
    struct quote_judged *judged = &found->offers[drawn->offers[k]];
    for (uint32_t d = 0; d < QUOTE_DRAWS; d++) {
        struct plan plan;
        const size_t at = (size_t)k * QUOTE_DRAWS + d;
        quote_draw(draws, drawn->offers[k], d, NULL, &plan);
        drawn->cost[at] = plan.cost_usd;
        drawn->end[at] = plan.end;
        drawn->energy[at] = plan.energy_kwh;
        drawn->score[at] = quote_score(quote, &plan);
        for (uint32_t job = 0; job < quote->job_count; job++) {
            const int64_t until = quote->jobs[job].until_day;
            judged->until_share[job] += plan.done[job] <= (double)until ? 1.0 / QUOTE_DRAWS : 0;
        }
    }
}

static void put_shares(struct arena *scratch, const struct quote_found *found,
                       const struct drawn *drawn)
{
    double *shares = arena_array(scratch, (size_t)drawn->count * 4 + 1, sizeof *shares);
    double *behind = shares + drawn->count, *dates = behind + drawn->count;
    double *days = dates + drawn->count;
    wins_of_values(drawn->cost, drawn->count, QUOTE_DRAWS, shares, behind);
    wins_of_values(drawn->end, drawn->count, QUOTE_DRAWS, dates, days);
    for (uint32_t k = 0; k < drawn->count; k++) {
        const size_t at = (size_t)k * QUOTE_DRAWS;
        struct quote_judged *judged = &found->offers[drawn->offers[k]];
        judged->cost_share = shares[k];
        judged->cost_behind_usd = behind[k];
        judged->date_share = dates[k];
        judged->date_behind_days = days[k];
        judged->cost_usd = range_of(scratch, drawn->cost + at);
        judged->end = range_of(scratch, drawn->end + at);
        judged->energy_kwh = range_of(scratch, drawn->energy + at);
    }
}

static struct drawn draw_all(struct arena *scratch, const struct quote_found *found,
                             const struct quote_draws *draws)
{
    const size_t most = (size_t)found->count * QUOTE_DRAWS + 1;
    struct drawn drawn = {.cost = arena_array(scratch, most, sizeof(double)),
                          .end = arena_array(scratch, most, sizeof(double)),
                          .energy = arena_array(scratch, most, sizeof(double)),
                          .score = arena_array(scratch, most, sizeof(double)),
                          .offers =
                              arena_array(scratch, found->count + (size_t)1, sizeof *drawn.offers)};
    for (uint32_t i = 0; i < found->count; i++) {
        if (found->offers[i].is_held) {
            drawn.offers[drawn.count++] = i;
            draw_offer(found, draws, &drawn, drawn.count - 1);
        }
    }
    put_shares(scratch, found, &drawn);
    return drawn;
}

/* ---- what a measurement is worth ------------------------------------------------------------- */

enum { SAID = 25 };
static const double SAID_MOST = 3;

static double said_at(uint32_t node)
{
    return SAID_MOST * (2.0 * node / (SAID - 1) - 1);
}

/* Mean scores at each node: of offer k at [k * SAID + node]. */
static void say_all(const struct quote_found *found, const struct quote_draws *draws,
                    const struct quote_chances *chances, const struct drawn *drawn,
                    const struct quote_rate_of_box *rate, double *means)
{
    const char *box = chances[rate->offer].box;
    for (uint32_t k = 0; k < drawn->count; k++) {
        const uint32_t number = drawn->offers[k];
        const bool is_moved = strcmp(chances[number].box, box) == 0;
        const double still = gsl_stats_mean(drawn->score + (size_t)k * QUOTE_DRAWS, 1, QUOTE_DRAWS);
        for (uint32_t node = 0; node < SAID; node++) {
            const struct quote_said said = {box, rate->rate, said_at(node)};
            double sum = 0;
            for (uint32_t d = 0; is_moved && d < QUOTE_DRAWS; d++) {
                struct plan plan;
                quote_draw(draws, number, d, &said, &plan);
                sum += quote_score(found->points.quote, &plan);
            }
            means[k * SAID + node] = is_moved ? sum / QUOTE_DRAWS : still;
        }
    }
}

static uint32_t least_at(const double *means, uint32_t count, uint32_t node)
{
    uint32_t least = 0;
    for (uint32_t k = 1; k < count; k++) {
        least = means[k * SAID + node] < means[least * SAID + node] ? k : least;
    }
    return least;
}

static double worth_of(const double *means, uint32_t count)
{
    double weights = 0, known = 0;
    double *sums = NULL;
    struct arena *scratch = arena_new();
    sums = arena_array(scratch, count + (size_t)1, sizeof *sums);
    for (uint32_t node = 0; node < SAID; node++) {
        const double x = said_at(node);
        const double weight = exp(-x * x / 2);
        weights += weight;
        known += weight * means[least_at(means, count, node) * SAID + node];
        for (uint32_t k = 0; k < count; k++) {
            sums[k] += weight * means[k * SAID + node];
        }
    }
    double least = HUGE_VAL;
    for (uint32_t k = 0; k < count; k++) {
        least = fmin(least, sums[k]);
    }
    arena_free(scratch);
    return fmax(0, (least - known) / weights);
}

/* Between two nodes, where the lead of one over the other is gone. */
static double crossing(const double *means, uint32_t winner, uint32_t other, uint32_t node,
                       uint32_t next)
{
    const double here = means[other * SAID + node] - means[winner * SAID + node];
    const double there = means[other * SAID + next] - means[winner * SAID + next];
    return said_at(node) + (said_at(next) - said_at(node)) * here / (here - there);
}

/* From the middle outwards, both ways: the nearest node at which another is the least. */
static void put_turn(const double *means, const struct drawn *drawn, struct quote_measure *measure)
{
    const uint32_t middle = SAID / 2;
    const uint32_t winner = least_at(means, drawn->count, middle);
    const struct quote_rate_of_box *rate = measure->rate;
    measure->turns_at = ABSENT;
    for (uint32_t far = 1; far <= middle && is_absent(measure->turns_at); far++) {
        for (int way = -1; way <= 1; way += 2) {
            const uint32_t node = way < 0 ? middle - far : middle + far;
            const uint32_t before = way < 0 ? node + 1 : node - 1;
            const uint32_t least = least_at(means, drawn->count, node);
            if (least != winner && is_absent(measure->turns_at)) {
                const double x = crossing(means, winner, least, before, node);
                measure->turns_at = rate->figure * exp(x * rate->deviation);
                measure->turns_to = drawn->offers[least];
                measure->turns_above = way > 0;
            }
        }
    }
}

static int by_worth(const void *a, const void *b)
{
    const struct quote_measure *one = a, *other = b;
    return (one->worth < other->worth) - (one->worth > other->worth);
}

static void measure_all(struct arena *arena, const struct quote_draws *draws,
                        const struct quote_chances *chances, const struct drawn *drawn,
                        struct quote_found *found)
{
    struct arena *scratch = arena_new();
    double *means = arena_array(scratch, (size_t)drawn->count * SAID + 1, sizeof *means);
    found->measures = arena_array(arena, found->rates.count + (size_t)1, sizeof *found->measures);
    for (uint32_t i = 0; drawn->count >= 2 && i < found->rates.count; i++) {
        struct quote_measure *measure = &found->measures[found->measure_count++];
        *measure = (struct quote_measure){.rate = &found->rates.items[i]};
        say_all(found, draws, chances, drawn, measure->rate, means);
        measure->worth = worth_of(means, drawn->count);
        put_turn(means, drawn, measure);
    }
    arena_free(scratch);
    qsort(found->measures, found->measure_count, sizeof *found->measures, by_worth);
}

void quote_weigh(struct arena *arena, const struct quote_chances *chances,
                 struct quote_found *found)
{
    struct arena *scratch = arena_new();
    const struct quote_draws *draws = quote_draws_new(scratch, chances, found->count);
    const struct drawn drawn = draw_all(scratch, found, draws);
    measure_all(arena, draws, chances, &drawn, found);
    arena_free(scratch);
}
