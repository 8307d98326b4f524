/* A draw of all points is a column: points are rows of a table of doubles. */
#include "study/wins.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "run/draws.h"
#include "run/duration.h"

#include <math.h>

/* What all points have in common. */
struct common {
    double step[DRAWS_COUNT], rates[DRAWS_COUNT];
};

/* Days of a point in each draw. */
static void draw_days(const struct common *common, const struct wins_point *point,
                      double days[DRAWS_COUNT])
{
    struct arena *scratch = arena_new();
    double ratio[DRAWS_COUNT];
    draws_normal(1, arena_printf(scratch, "draw of a ratio%s", point->kinds), ratio);
    const double of_failures = duration_share_of_failures(point->account_s);
    for (uint32_t d = 0; d < DRAWS_COUNT; d++) {
        const double longer = exp(point->step * common->step[d] + point->ratio * ratio[d]);
        const double oftener = exp(point->rates * common->rates[d]);
        const double usual = point->time_count > 0
                                 ? point->times_s[d % point->time_count] / SECONDS_PER_DAY
                                 : point->days;
        days[d] =
            usual * duration_factor(point->account_s, longer) * (1 + of_failures * (oftener - 1));
    }
    arena_free(scratch);
}

/* Of a point whose days are known: nobody pays for the queue. */
static double usd_of(const struct wins_point *point, double days)
{
    const double queue = point->account_s[ACCOUNT_QUEUED] / SECONDS_PER_DAY;
    return point->cost_usd * (days - queue) / (point->days - queue);
}

/* Values that differ by less are the same. */
static const double ALIKE = 1e-9;

/* Of all points in one draw, which are `draws` apart. */
static void count_wins(const double *values, uint32_t count, uint32_t draws, double *shares,
                       double *behind)
{
    double least = HUGE_VAL;
    for (uint32_t i = 0; i < count; i++) {
        least = fmin(least, values[(size_t)i * draws]);
    }
    uint32_t winners = 0;
    for (uint32_t i = 0; i < count; i++) {
        winners += values[(size_t)i * draws] <= least * (1 + ALIKE);
    }
    for (uint32_t i = 0; i < count; i++) {
        const double more = values[(size_t)i * draws] - least;
        shares[i] += more <= least * ALIKE ? 1.0 / winners : 0;
        behind[i] += more <= least * ALIKE ? 0 : more;
    }
}

void wins_of_values(const double *values, uint32_t count, uint32_t draws, double *shares,
                    double *behind)
{
    for (uint32_t i = 0; i < count; i++) {
        shares[i] = 0;
        behind[i] = 0;
    }
    for (uint32_t d = 0; d < draws; d++) {
        count_wins(values + d, count, draws, shares, behind);
    }
    for (uint32_t i = 0; i < count; i++) {
        shares[i] /= draws;
        behind[i] /= draws;
    }
}

void wins_of_points(const struct wins_point *points, uint32_t count, struct wins *wins)
{
    struct arena *arena = arena_new();
    struct common common;
    draws_normal(1, DRAWS_OF_STEP, common.step);
    draws_normal(1, DRAWS_OF_RATES, common.rates);
    double *days = arena_array(arena, (size_t)count * DRAWS_COUNT + 1, sizeof *days);
    double *usd = arena_array(arena, (size_t)count * DRAWS_COUNT + 1, sizeof *usd);
    double *sums = arena_array(arena, (size_t)count * 4 + 1, sizeof *sums);
    bool are_priced = true;
    for (uint32_t i = 0; i < count; i++) {
        const size_t at = (size_t)i * DRAWS_COUNT;
        draw_days(&common, &points[i], days + at);
        for (uint32_t d = 0; d < DRAWS_COUNT; d++) {
            usd[at + d] = usd_of(&points[i], days[at + d]);
        }
        are_priced = are_priced && !is_absent(points[i].cost_usd);
    }
    double *usd_sums = sums + (size_t)count * 2;
    wins_of_values(days, count, DRAWS_COUNT, sums, sums + count);
    if (are_priced) {
        wins_of_values(usd, count, DRAWS_COUNT, usd_sums, usd_sums + count);
    }
    for (uint32_t i = 0; i < count; i++) {
        wins[i] = (struct wins){.label = points[i].label,
                                .days_share = sums[i],
                                .days_behind = sums[count + i],
                                .usd_share = are_priced ? usd_sums[i] : ABSENT,
                                .usd_behind = are_priced ? usd_sums[count + i] : ABSENT};
    }
    arena_free(arena);
}
