/* Normals are drawn anew for each job of each plan, by the name of their stream. */
#include "study/portfolio_wins.h"

#include "bands/band.h"
#include "base/absent.h"
#include "base/arena.h"
#include "run/draws.h"
#include "study/wins.h"

#include <math.h>

/* All jobs are held there, with bands. */
static bool is_told(const struct portfolio_plan *plan, uint32_t jobs)
{
    struct portfolio_share shares[PORTFOLIO_JOBS_MAX];
    for (uint32_t job = 0; job < jobs; job++) {
        shares[job] = plan->shares[job];
    }
    const struct portfolio_sum sum = portfolio_sum_of(shares, jobs);
    return !is_absent(sum.work) && !is_absent(sum.spread);
}

static void draw_plan(const struct portfolio_plan *plan, uint32_t jobs, double price,
                      double *values)
{
    struct arena *scratch = arena_new();
    const double *y[PORTFOLIO_JOBS_MAX];
    for (uint32_t job = 0; job < jobs; job++) {
        double *z = arena_array(scratch, PORTFOLIO_DRAWS, sizeof *z);
        draws_normals(1, arena_printf(scratch, "draw of a ratio%s", plan->kinds[job]), z,
                      PORTFOLIO_DRAWS);
        y[job] = z;
    }
    for (uint32_t d = 0; d < PORTFOLIO_DRAWS; d++) {
        struct portfolio_share shares[PORTFOLIO_JOBS_MAX];
        for (uint32_t job = 0; job < jobs; job++) {
            shares[job] = plan->shares[job];
            shares[job].ratio *= exp(-shares[job].spread / BAND_DEVIATIONS * y[job][d]);
        }
        values[d] = price / portfolio_sum_of(shares, jobs).work;
    }
    arena_free(scratch);
}

bool portfolio_wins(const struct portfolio_plan *plans, uint32_t count, uint32_t jobs,
                    struct portfolio_win *wins)
{
    struct arena *scratch = arena_new();
    double *values = arena_array(scratch, (size_t)count * PORTFOLIO_DRAWS + 1, sizeof *values);
    double *shares = arena_array(scratch, 2 * (size_t)count + 1, sizeof *shares);
    double *behind = shares + count;
    double least = HUGE_VAL;
    uint32_t told = 0;
    bool is_priced = true;
    for (uint32_t i = 0; i < count; i++) {
        is_priced = is_priced && !is_absent(plans[i].usd);
    }
    for (uint32_t i = 0; i < count; i++) {
        const double price = is_priced ? plans[i].usd : 1;
        if (is_told(&plans[i], jobs)) {
            draw_plan(&plans[i], jobs, price, values + (size_t)told++ * PORTFOLIO_DRAWS);
            least = fmin(least, price / portfolio_sum_of(plans[i].shares, jobs).work);
        }
    }
    wins_of_values(values, told, PORTFOLIO_DRAWS, shares, behind);
    for (uint32_t i = 0, next = 0; i < count; i++) {
        wins[i] = (struct portfolio_win){ABSENT, ABSENT};
        if (is_told(&plans[i], jobs)) {
            wins[i] = (struct portfolio_win){shares[next], behind[next] / least};
            next++;
        }
    }
    arena_free(scratch);
    return is_priced;
}
