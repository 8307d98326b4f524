/* Normals are drawn once for each stream; a plan is made anew for each draw. */
#include "study/quote/quote_draws.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "run/draws.h"
#include "run/duration.h"
#include "study/why_rates.h"

#include <math.h>
#include <string.h>

struct offer_draws {
    const double *kinds[PLAN_JOBS_MAX];
    const double **of_box; /* [of_box_count] */
};

struct quote_draws {
    const struct quote_chances *offers;
    const double *common, *rates;
    struct offer_draws *each;
};

struct quote_level quote_level_of(double sigma_first, double sigma, double rho)
{
    const double both = (sigma_first * sigma_first + sigma * sigma - rho * rho) / 2;
    const double beta = sigma_first > 0 ? both / sigma_first : 0;
    struct quote_level level = {.beta = fmax(-sigma, fmin(sigma, beta)), .kinds = "", .sign = 1};
    level.rest = sqrt(fmax(0, sigma * sigma - level.beta * level.beta));
    return level;
}

static const double *normals(struct arena *arena, const char *stream)
{
    double *z = arena_array(arena, QUOTE_DRAWS, sizeof *z);
    draws_normals(1, stream, z, QUOTE_DRAWS);
    return z;
}

static void draw_offer(struct arena *arena, const struct quote_chances *offer,
                       struct offer_draws *draws)
{
    for (uint32_t job = 0; job < offer->plan->job_count; job++) {
        draws->kinds[job] =
            normals(arena, arena_printf(arena, "draw of a ratio%s", offer->level[job].kinds));
    }
    draws->of_box = arena_array(arena, offer->of_box_count + (size_t)1, sizeof *draws->of_box);
    for (uint32_t i = 0; i < offer->of_box_count; i++) {
        draws->of_box[i] = normals(arena, arena_printf(arena, "draw of a box, %s, %s", offer->box,
                                                       offer->of_box[i].rate->name));
    }
}

struct quote_draws *quote_draws_new(struct arena *arena, const struct quote_chances *offers,
                                    uint32_t count)
{
    struct quote_draws *draws = arena_alloc(arena, sizeof *draws);
    *draws =
        (struct quote_draws){.offers = offers,
                             .common = normals(arena, DRAWS_OF_STEP),
                             .rates = normals(arena, DRAWS_OF_RATES),
                             .each = arena_array(arena, count + (size_t)1, sizeof *draws->each)};
    for (uint32_t i = 0; i < count; i++) {
        draw_offer(arena, &offers[i], &draws->each[i]);
    }
    return draws;
}

/* ln of what the offer's box makes of its steps. */
static double box_moves(const struct quote_draws *draws, uint32_t number, uint32_t draw,
                        const struct quote_said *said)
{
    const struct quote_chances *offer = &draws->offers[number];
    double sum = 0;
    for (uint32_t i = 0; i < offer->of_box_count; i++) {
        const struct quote_rate_of_box *rate = &offer->of_box[i];
        const bool is_said =
            said != NULL && said->rate == rate->rate && strcmp(said->box, offer->box) == 0;
        sum += quote_rate_moves(rate, is_said ? said->x : draws->each[number].of_box[i][draw]);
    }
    return sum;
}

/* Days of a run, by longer steps and more frequent failures. */
static double days_of(const struct quote_run *run, uint32_t draw, double longer, double oftener)
{
    const double usual =
        run->time_count > 0 ? run->times_s[draw % run->time_count] / SECONDS_PER_DAY : run->days;
    const double of_failures = duration_share_of_failures(run->account_s);
    return usual * duration_factor(run->account_s, longer) * (1 + of_failures * (oftener - 1));
}

void quote_draw(const struct quote_draws *draws, uint32_t number, uint32_t draw,
                const struct quote_said *said, struct plan *plan)
{
    const struct quote_chances *offer = &draws->offers[number];
    struct plan_offer drawn = *offer->plan;
    const double of_box = box_moves(draws, number, draw, said);
    const double oftener = exp(offer->rates * draws->rates[draw]);
    for (uint32_t job = 0; job < drawn.job_count; job++) {
        const struct quote_level *level = &offer->level[job];
        const double y = draws->each[number].kinds[job][draw];
        const double longer =
            exp(level->beta * draws->common[draw] + level->sign * level->rest * y + of_box);
        for (uint32_t p = 0; p < drawn.part_count; p++) {
            struct plan_run *run = &drawn.run[job][p];
            if (is_absent(run->held_days)) {
                continue;
            }
            const double held = days_of(&offer->run[job][p], draw, longer, oftener);
            const double times = held / run->held_days;
            run->held_days = fmax(held, run->start_days);
            run->beside_usd *= times;
            run->energy_kwh *= times;
        }
    }
    plan_offer(&drawn, plan);
}
