/* Points are resolved again for what rows do not have: the start of a run, and of what the band of
 * its step is made. */
#include "study/quote/quote_inputs.h"

#include "bands/band.h"
#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "run/duration.h"
#include "run/history/paired.h"

#include <math.h>
#include <string.h>

/* ---- runs ------------------------------------------------------------------------------------ */

const struct store_row *quote_main_row(const struct quote_judging *judging,
                                       const struct quote_points *points, uint32_t job,
                                       uint32_t offer)
{
    for (uint32_t p = points->quote->offers[offer].part_count; p > 0; p--) {
        const uint32_t number = quote_point(points, job, offer, p - 1);
        const struct store_row *row =
            number < judging->points->count ? &judging->points->rows[number] : NULL;
        if (row != NULL && store_row_is_good(row) && !is_absent(row->wall_clock_days)) {
            return row;
        }
    }
    return NULL;
}

static const struct scenario *resolve(const struct quote_judging *judging, struct arena *arena,
                                      const struct store_row *row)
{
    struct diag *own = diag_new(arena);
    const struct against_points *points = judging->points;
    const struct scenario *scenario =
        study_point_resolve(&points->study->points[row->number], arena, points->catalogue, own);
    if (scenario == NULL) {
        diag_add(points->diag, DIAG_FAILURE, NULL, "%s cannot be read again: %s", row->label,
                 diag_first_error_at(arena, own));
    }
    return scenario;
}

static bool put_run(const struct quote_judging *judging, const struct store_row *row,
                    double hour_usd, struct plan_run *run, struct quote_run *of)
{
    struct arena *arena = judging->arena;
    *run = (struct plan_run){.held_days = ABSENT};
    if (!store_row_is_good(row) || is_absent(row->wall_clock_days)) {
        return true;
    }
    struct arena *scratch = arena_new();
    const struct scenario *scenario = resolve(judging, scratch, row);
    if (scenario != NULL) {
        run->start_days = fmin(duration_ends_s(scenario) / SECONDS_PER_DAY, row->wall_clock_days);
    }
    const bool is_good = scenario != NULL;
    arena_free(scratch);
    run->held_days = row->wall_clock_days;
    run->beside_usd = row->cost_usd - hour_usd * row->gpu_hours;
    run->energy_kwh = row->energy_kwh;
    const char *text = store_histories(judging->points->store, arena, row->key);
    *of = (struct quote_run){.account_s = row->account_s, .days = row->wall_clock_days};
    of->times_s = paired_read(arena, text != NULL ? text : "", &of->time_count);
    return is_good;
}

static void put_machine(const struct quote_points *points, uint32_t number, struct plan_offer *in)
{
    const struct quote *quote = points->quote;
    const struct quote_offer *offer = &quote->offers[number];
    in->part_count = offer->part_count;
    in->job_count = quote->job_count;
    in->today = (double)quote->today;
    in->hour_usd = quote_hour_usd(points, number);
    in->day_usd = quote->day_usd;
    in->term_days = offer->term_s / SECONDS_PER_DAY;
    for (uint32_t p = 0; p < offer->part_count; p++) {
        in->from[p] = (double)points->sizes[number][p].day;
        in->gpus[p] = (double)points->sizes[number][p].gpus;
    }
    for (uint32_t job = 0; job < quote->job_count; job++) {
        in->not_before[job] = (double)quote->jobs[job].from_day;
    }
}

bool quote_inputs_of(const struct quote_judging *judging, struct quote_found *found,
                     uint32_t number, struct quote_chances *chances)
{
    const struct quote_points *points = &found->points;
    struct quote_judged *judged = &found->offers[number];
    bool is_good = true;
    put_machine(points, number, &judged->in);
    chances->plan = &judged->in;
    for (uint32_t job = 0; job < points->quote->job_count; job++) {
        for (uint32_t p = 0; p < judged->in.part_count; p++) {
            const uint32_t at = quote_point(points, job, number, p);
            is_good = put_run(judging, &judging->points->rows[at], judged->in.hour_usd,
                              &judged->in.run[job][p], &chances->run[job][p]) &&
                      is_good;
        }
        const struct store_row *row = quote_main_row(judging, points, job, number);
        judged->tokens += row != NULL ? row->run_tokens : 0;
    }
    return is_good;
}

/* ---- levels ---------------------------------------------------------------------------------- */

/* One job's main points, held against the first of them. */
struct leveling {
    const struct quote_judging *judging;
    const struct quote_found *found;
    struct band_votes votes;
    bool has_votes;
    struct store_row *rows; /* [count] of offers that hold it */
    uint32_t *offers, count;
};

/* Deviation of ln of its step, by its band; 0: there is none. */
static double sigma_of(const struct leveling *leveling, struct arena *arena,
                       const struct store_row *row, struct band_traits *traits)
{
    static const struct band_burdens none = {.slowest = 1, .weakest = 1};
    const struct scenario *scenario = resolve(leveling->judging, arena, row);
    if (scenario == NULL || !leveling->has_votes) {
        return 0;
    }
    *traits = band_traits_of(scenario);
    const double computing_s = row->breakdown_s[CAUSE_COMPUTE] + row->breakdown_s[CAUSE_RECOMPUTE];
    band_traits_add_step(traits,
                         &(struct band_step){.step_s = row->step_s,
                                             .launch = row->breakdown_s[CAUSE_LAUNCH] / row->step_s,
                                             .compute = computing_s / row->step_s});
    const struct band band = band_of(arena, &leveling->votes, traits, &none);
    return band.votes > 0 ? log(band.high) / BAND_DEVIATIONS : 0;
}

/* What the offer's own box makes of it. */
static double box_sigma(const struct quote_rates *rates, uint32_t offer)
{
    double square = 0;
    for (uint32_t i = 0; i < rates->count; i++) {
        const struct quote_rate_of_box *rate = &rates->items[i];
        square += rate->offer == offer ? rate->slope * rate->slope : 0;
    }
    return sqrt(square);
}

static double without(double sigma, double part)
{
    return sqrt(fmax(0, sigma * sigma - part * part));
}

struct sigma {
    double all, box, rest; /* rest: without the box */
    struct band_traits traits;
};

/* Of the ratio to the first, without what two boxes differ by. */
static double rho_of(const struct against *against, const struct sigma *first,
                     const struct sigma *own)
{
    if (against->reason_is_same) {
        return 0;
    }
    if (is_absent(against->factor)) {
        return hypot(first->rest, own->rest);
    }
    const double told = log(against->factor) / BAND_DEVIATIONS;
    const double apart = band_boxes_apart(&first->traits, &own->traits) / BAND_DEVIATIONS;
    const bool has_pairs = against->votes > 0 && against->unproven_count == 0;
    return without(told, has_pairs ? apart : hypot(first->box, own->box));
}

static void level(const struct leveling *leveling, uint32_t job, const struct against *against,
                  struct quote_chances *chances)
{
    struct arena *arena = leveling->judging->arena;
    struct arena *scratch = arena_new();
    struct sigma *sigmas = arena_array(scratch, leveling->count + (size_t)1, sizeof *sigmas);
    for (uint32_t i = 0; i < leveling->count; i++) {
        struct sigma *own = &sigmas[i];
        const uint32_t offer = leveling->offers[i];
        own->all = sigma_of(leveling, scratch, &leveling->rows[i], &own->traits);
        own->box = box_sigma(&leveling->found->rates, offer);
        own->rest = without(own->all, own->box);
        struct quote_level *level = &chances[offer].level[job];
        *level = quote_level_of(sigmas[0].rest, own->rest, rho_of(&against[i], &sigmas[0], own));
        level->kinds = against_kinds_text(arena, &against[i]);
        level->sign = against[i].per_gpu < 1 ? -1 : 1;
        chances[offer].rates = fmax(chances[offer].rates, against[i].rates);
        if (job == 0) {
            leveling->found->offers[offer].step_band = BAND_DEVIATIONS * own->all;
        }
    }
    arena_free(scratch);
}

static void level_job(struct leveling *leveling, uint32_t job, struct quote_found *found,
                      struct quote_chances *chances)
{
    const struct quote_judging *judging = leveling->judging;
    leveling->count = 0;
    for (uint32_t i = 0; i < found->count; i++) {
        const struct store_row *row =
            found->offers[i].is_held ? quote_main_row(judging, &found->points, job, i) : NULL;
        if (row != NULL) {
            leveling->offers[leveling->count] = i;
            leveling->rows[leveling->count++] = *row;
        }
    }
    if (leveling->count == 0) {
        return;
    }
    struct against_points own = *judging->points;
    own.rows = leveling->rows;
    own.count = leveling->count;
    const struct against *against = against_of(judging->arena, &own, &leveling->rows[0]);
    level(leveling, job, against, chances);
    if (job == 0) {
        found->against = against;
        found->against_count = leveling->count;
    }
}

void quote_levels_of(const struct quote_judging *judging, struct quote_found *found,
                     struct quote_chances *chances)
{
    struct arena *arena = judging->arena;
    const char *reason = NULL;
    for (uint32_t i = 0; i < found->count; i++) {
        for (uint32_t job = 0; job < found->points.quote->job_count; job++) {
            chances[i].level[job] = (struct quote_level){.kinds = "", .sign = 1};
        }
    }
    for (uint32_t job = 0; job < found->points.quote->job_count; job++) {
        struct leveling leveling = {.judging = judging, .found = found};
        leveling.rows = arena_array(arena, found->count + (size_t)1, sizeof *leveling.rows);
        leveling.offers = arena_array(arena, found->count + (size_t)1, sizeof *leveling.offers);
        leveling.has_votes = band_load(arena, judging->points->catalogue, &leveling.votes, &reason,
                                       judging->points->diag);
        level_job(&leveling, job, found, chances);
    }
}
