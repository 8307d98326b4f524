/* Points that the study has not kept are resolved again, one by one in an arena that is emptied
 * behind each. */
#include "study/against.h"

#include "bands/ratio_bands.h"
#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "bands/band.h"
#include "bands/differences.h"
#include "bands/limits.h"
#include "bands/unproven.h"
#include "input/failures/recovery.h"
#include "input/scenario.h"
#include "run/duration.h"
#include "run/draws.h"
#include "run/history/paired.h"
#include "study/wins.h"

#include <gsl/gsl_statistics.h>

#include <string.h>

#include <math.h>

/* What all points are held against, and by which measured runs. */
struct baseline {
    const struct against_points *points;
    struct arena *arena; /* of what is found */
    const struct store_row *base;
    const struct scenario *base_scenario;
    struct ratio_pairs pairs;
    struct ratio_kinds *kinds; /* of these */
    const struct difference_table *table;
    struct band_votes votes;
    struct limits limits;
    const char *no_pairs, *no_votes, *no_limits; /* why there are none; NULL */
    const double *base_s;                        /* [base_histories]; 0 histories: nothing fails */
    uint32_t base_histories;
    double base_spread; /* ln f of its step; 0: there is no band */
};

static const struct scenario *resolve(const struct against_points *points, struct arena *arena,
                                      const struct store_row *row)
{
    const struct study_point *point = &points->study->points[row->number];
    struct diag *own = diag_new(arena);
    const struct scenario *scenario = study_point_resolve(point, arena, points->catalogue, own);
    /* A disk that fails, no memory. Where points failed, too, the exit status says so already. */
    if (scenario == NULL && diag_exit_status(own) == 1 && !points->have_failed) {
        diag_add(points->diag, DIAG_FAILURE, NULL, "no band of %s: %s", row->label,
                 diag_first_error_at(arena, own));
    }
    return scenario;
}

static struct band_traits traits_of(const struct scenario *scenario, const struct store_row *row)
{
    struct band_traits traits = band_traits_of(scenario);
    const double computing_s = row->breakdown_s[CAUSE_COMPUTE] + row->breakdown_s[CAUSE_RECOMPUTE];
    band_traits_add_step(&traits,
                         &(struct band_step){.step_s = row->step_s,
                                             .launch = row->breakdown_s[CAUSE_LAUNCH] / row->step_s,
                                             .compute = computing_s / row->step_s});
    return traits;
}

/* ln f of a prediction; 0: there is no band. */
static double own_spread(const struct baseline *baseline, struct arena *arena,
                         const struct scenario *scenario, const struct store_row *row)
{
    static const struct band_burdens none = {.slowest = 1, .weakest = 1};
    const struct band_traits traits = traits_of(scenario, row);
    const struct band band = band_of(arena, &baseline->votes, &traits, &none);
    return band.votes > 0 ? log(band.high) : 0;
}

/* ln f of two predictions that have nothing in common; 0: there is no band. */
static double independent(const struct baseline *baseline, struct arena *arena,
                          const struct scenario *scenario, const struct store_row *row)
{
    const double mine = own_spread(baseline, arena, scenario, row);
    return mine > 0 && baseline->base_spread > 0 ? hypot(mine, baseline->base_spread) : 0;
}

static const char *const *copied(struct arena *arena, const char *const *texts, uint32_t count)
{
    const char **own = arena_array(arena, count + (size_t)1, sizeof *own);
    for (uint32_t i = 0; i < count; i++) {
        own[i] = arena_strdup(arena, texts[i]);
    }
    return own;
}

/* Part of what two GPUs differ by is then the software's. */
static void note_years(const struct baseline *baseline, const struct scenario *scenario,
                       struct against *against)
{
    const struct scenario *base = baseline->base_scenario;
    const struct software *own = &scenario->software;
    const struct software *other = &base->software;
    if (strcmp(scenario->gpu.name, base->gpu.name) != 0 && own->year != other->year) {
        against->years = arena_printf(
            baseline->arena,
            "%s is predicted with %s, %s with %s: part of the difference is the software's "
            "(one for all: --set software=%s)",
            base->gpu.name, other->name, scenario->gpu.name, own->name,
            own->year > other->year ? own->name : other->name);
    }
}

static void note_kinds(const struct baseline *baseline, const struct differences *found,
                       struct against *against)
{
    const char *names[AXIS_COLUMNS_MAX];
    for (uint32_t i = 0; i < found->axis_count; i++) {
        names[i] = axis_name(found->axes[i]);
    }
    against->kinds = copied(baseline->arena, names, found->axis_count);
    against->kind_count = found->axis_count;
    against->unmeasured = copied(baseline->arena, found->unmeasured, found->unmeasured_count);
    against->unmeasured_count = found->unmeasured_count;
}

/* What either has that is not validated. */
static void note_unproven(const struct baseline *baseline, const struct scenario *scenario,
                          struct against *against)
{
    const uint32_t found = unproven_of(scenario) | unproven_of(baseline->base_scenario);
    const char **names = arena_array(baseline->arena, UNPROVEN_COUNT, sizeof *names);
    for (uint32_t i = 0; i < UNPROVEN_COUNT; i++) {
        if ((found & 1U << i) != 0) {
            names[against->unproven_count++] = unproven[i].name;
        }
    }
    against->unproven = names;
}

/* As wide as the resolution at least. */
static struct ratio_band resolved(struct ratio_band band, double resolution)
{
    band.spread = fmax(band.spread, resolution);
    band.spread_of_half = fmax(band.spread_of_half, resolution);
    return band;
}

static const char *verdict_of(const struct against *against, const struct ratio_band *band,
                              double ratio)
{
    return against->unproven_count > 0 ? unproven_verdict
                                       : ratio_verdict_names[ratio_band_verdict(band, log(ratio))];
}

static void put_verdicts(const struct ratio_band *told, struct against *against)
{
    const struct ratio_band band = resolved(*told, against->resolution);
    against->factor = exp(band.spread);
    against->half = band.spread_of_half;
    against->verdict = verdict_of(against, &band, against->speed_up);
    against->verdict_per_gpu = verdict_of(against, &band, against->per_gpu);
}

/* Where there is no band. */
static void put_unresolved(struct against *against)
{
    const char *close = ratio_verdict_names[RATIO_CLOSE];
    against->verdict = against_is_unresolved(against, 1, log(against->speed_up)) ? close : NULL;
    against->verdict_per_gpu =
        against_is_unresolved(against, 1, log(against->per_gpu)) ? close : NULL;
}

/* Half of a normal distribution lies within 0.6745 of its deviations. */
static const double HALF_OF_BAND = 0.6745 / BAND_DEVIATIONS;

/* Pairs of measured runs seldom had two boxes of a kind, so what boxes differ by is added. */
static struct ratio_band with_boxes(const struct baseline *baseline,
                                    const struct scenario *scenario, const struct store_row *row,
                                    struct ratio_band band)
{
    const struct band_traits mine = traits_of(scenario, row);
    const struct band_traits other = traits_of(baseline->base_scenario, baseline->base);
    const double boxes = band_boxes_apart(&mine, &other);
    band.spread = hypot(band.spread, boxes);
    band.spread_of_half = hypot(band.spread_of_half, boxes * HALF_OF_BAND);
    return band;
}

static void put_band(const struct baseline *baseline, struct arena *arena,
                     const struct scenario *scenario, const struct store_row *row,
                     struct against *against)
{
    if (baseline->no_pairs != NULL || scenario == NULL || baseline->base_scenario == NULL) {
        against->reason =
            baseline->no_pairs != NULL ? baseline->no_pairs : "it was not resolved again";
        put_unresolved(against);
        return;
    }
    const struct differences found =
        differences_of(arena, baseline->base_scenario, scenario, baseline->table);
    note_kinds(baseline, &found, against);
    note_years(baseline, scenario, against);
    note_unproven(baseline, scenario, against);
    if (found.axis_count == 0 && found.unmeasured_count == 0) {
        against->reason = "they differ in nothing that moves a step";
        against->reason_is_same = true;
        return;
    }
    struct ratio_band band =
        ratio_kinds_band(baseline->kinds, found.axes, found.axis_count, log(against->per_gpu));
    if (band.votes > 0) {
        band = with_boxes(baseline, scenario, row, band);
    }
    if (found.unmeasured_count > 0 || band.votes == 0 || against->unproven_count > 0) {
        const double spread = independent(baseline, arena, scenario, row);
        band = (struct ratio_band){0, spread, spread * HALF_OF_BAND};
    }
    against->votes = band.votes;
    if (band.spread > 0) {
        put_verdicts(&band, against);
    } else {
        put_unresolved(against);
        against->reason =
            baseline->no_votes != NULL ? baseline->no_votes : "no measured runs are alike";
    }
}

static void baseline_open(struct baseline *baseline)
{
    struct diag *diag = baseline->points->diag;
    const struct catalogue *catalogue = baseline->points->catalogue;
    const char *reason = NULL;
    baseline->no_pairs =
        ratio_pairs_load(baseline->arena, catalogue, &baseline->pairs, &reason, diag) ? NULL
                                                                                      : reason;
    baseline->kinds = ratio_kinds_new(baseline->arena, &baseline->pairs);
    baseline->table = difference_table_new(baseline->arena);
    baseline->no_votes =
        band_load(baseline->arena, catalogue, &baseline->votes, &reason, diag) ? NULL : reason;
    baseline->no_limits =
        limits_load(baseline->arena, catalogue, &baseline->limits, &reason, diag) ? NULL : reason;
    if (store_row_is_good(baseline->base)) {
        const char *text =
            store_histories(baseline->points->store, baseline->arena, baseline->base->key);
        baseline->base_s =
            paired_read(baseline->arena, text != NULL ? text : "", &baseline->base_histories);
        baseline->base_scenario = resolve(baseline->points, baseline->arena, baseline->base);
    }
    if (baseline->base_scenario != NULL && baseline->no_votes == NULL) {
        baseline->base_spread =
            own_spread(baseline, baseline->arena, baseline->base_scenario, baseline->base);
    }
}

/* ---- days --------------------------------------------------------------------------------- */

/* What is known of the ratio of steps, of the base's step and of histories says how the days
 * compare. */
static void put_days_verdict(const struct baseline *baseline, const struct store_row *row,
                             struct against *against)
{
    const double mine = duration_share_of_steps(row->account_s);
    const double base = duration_share_of_steps(baseline->base->account_s);
    const double of_ratio = is_absent(against->factor) ? 0 : mine * log(against->factor);
    const double of_base = (mine - base) * baseline->base_spread;
    const double of_histories = BAND_DEVIATIONS * against->days_error / (1 + against->days);
    const double of_rates = BAND_DEVIATIONS * against->rates *
                            units_difference(duration_share_of_failures(row->account_s),
                                             duration_share_of_failures(baseline->base->account_s));
    const double spread = hypot(hypot(of_ratio, of_base), hypot(of_histories, of_rates));
    if (!against->reason_is_same && is_absent(against->factor)) {
        return;
    }
    against->days_spread = spread;
    const struct ratio_band days =
        resolved((struct ratio_band){1, spread, spread * HALF_OF_BAND},
                 against->reason_is_same ? 0 : against->days_share * against->resolution);
    against->days_verdict = verdict_of(against, &days, 1 + against->days);
}

static double error_of(const double *times_s, uint32_t count)
{
    return count < 2 ? 0 : gsl_stats_sd(times_s, 1, count) / sqrt((double)count);
}

/* Standard error of the difference, in seconds: of pairs, where both have as many histories. */
static double error_between(const struct baseline *baseline, const double *mine_s, uint32_t count,
                            struct against *against)
{
    if (count == baseline->base_histories && count >= 2) {
        against->histories = count;
        return paired_of(mine_s, baseline->base_s, count).error;
    }
    return hypot(error_of(mine_s, count), error_of(baseline->base_s, baseline->base_histories));
}

static void put_days(const struct baseline *baseline, struct arena *arena,
                     const struct store_row *row, struct against *against)
{
    const double base_days = baseline->base->wall_clock_days;
    if (is_absent(base_days) || is_absent(row->wall_clock_days) || !(base_days > 0)) {
        return;
    }
    const char *text = store_histories(baseline->points->store, arena, row->key);
    uint32_t count;
    const double *mine_s = paired_read(arena, text != NULL ? text : "", &count);
    against->days = units_difference(row->wall_clock_days, base_days) / base_days;
    against->days_error =
        error_between(baseline, mine_s, count, against) / (base_days * SECONDS_PER_DAY);
    against->days_share = fmin(duration_share_of_steps(row->account_s),
                               duration_share_of_steps(baseline->base->account_s));
    put_days_verdict(baseline, row, against);
}

static double rates_of(const struct baseline *baseline, const struct scenario *scenario)
{
    return scenario != NULL && recovery_has_failures(scenario)
               ? limits_of_rates(&baseline->limits, scenario)
               : 0;
}

static double ratio(double value, double first)
{
    return first > 0 ? value / first : ABSENT; /* also where one of them is */
}

static void put_resolution(const struct baseline *baseline, const struct scenario *scenario,
                           struct against *against)
{
    if (scenario == NULL || !limits_apply(scenario)) {
        return;
    }
    against->no_resolution = baseline->no_limits;
    against->resolution = log1p(limits_resolution(&baseline->limits, scenario));
}

/* All that is told of a row by its scenario, which the arena holds meanwhile. */
static void hold(const struct baseline *baseline, struct arena *arena, const struct store_row *row,
                 struct against *against)
{
    put_resolution(baseline, baseline->base_scenario, against);
    against->base_step = baseline->base_spread / BAND_DEVIATIONS;
    against->rates = rates_of(baseline, baseline->base_scenario);
    if (row == baseline->base) {
        against->reason_is_same = true;
        return;
    }
    const struct scenario *scenario = resolve(baseline->points, arena, row);
    put_resolution(baseline, scenario, against);
    against->rates = fmax(against->rates, rates_of(baseline, scenario));
    put_band(baseline, arena, scenario, row, against);
    put_days(baseline, arena, row, against);
}

const struct against *against_of(struct arena *found, const struct against_points *points,
                                 const struct store_row *base)
{
    struct baseline baseline = {.points = points, .arena = found, .base = base};
    struct against *against = arena_array(found, points->count + (size_t)1, sizeof *against);
    struct arena *arena = arena_new();
    baseline_open(&baseline);
    for (uint32_t i = 0; i < points->count; i++) {
        const struct store_row *row = &points->rows[i];
        against[i] = (struct against){.speed_up = ABSENT,
                                      .per_gpu = ABSENT,
                                      .factor = ABSENT,
                                      .half = ABSENT,
                                      .reason = "",
                                      .days = ABSENT,
                                      .days_error = ABSENT,
                                      .days_spread = ABSENT,
                                      .days_share = 1};
        if (store_row_is_good(base) && store_row_is_good(row)) {
            against[i].per_gpu = ratio(row->tokens_per_s_per_gpu, base->tokens_per_s_per_gpu);
            against[i].speed_up = against[i].per_gpu * row->gpus / base->gpus;
        }
        if (!is_absent(against[i].per_gpu)) {
            hold(&baseline, arena, row, &against[i]);
            arena_reset(arena);
        }
    }
    arena_free(arena);
    return against;
}

/* ---- draws -------------------------------------------------------------------------------- */

static bool is_held(const struct store_row *row, const struct against *against)
{
    return store_row_is_good(row) && !is_absent(row->wall_clock_days) &&
           (against->reason_is_same || !is_absent(against->factor));
}

const char *against_kinds_text(struct arena *arena, const struct against *against)
{
    const char *text = "";
    for (uint32_t i = 0; i < against->kind_count; i++) {
        text = arena_printf(arena, "%s, %s", text, against->kinds[i]);
    }
    for (uint32_t i = 0; i < against->unmeasured_count; i++) {
        text = arena_printf(arena, "%s, %s", text, against->unmeasured[i]);
    }
    return text;
}

static struct wins_point point_of(struct store *store, struct arena *arena,
                                  const struct store_row *row, const struct against *against)
{
    const double of_ratio = is_absent(against->factor) ? 0 : log(against->factor) / BAND_DEVIATIONS;
    const char *text = store_histories(store, arena, row->key);
    struct wins_point point = {.label = row->label,
                               .days = row->wall_clock_days,
                               .account_s = row->account_s,
                               .cost_usd = row->cost_usd,
                               .step = against->base_step,
                               .ratio = against->per_gpu < 1 ? -of_ratio : of_ratio,
                               .rates = against->rates,
                               .kinds = against_kinds_text(arena, against)};
    point.times_s = paired_read(arena, text != NULL ? text : "", &point.time_count);
    return point;
}

const struct wins *against_wins(struct arena *arena, const struct against_points *of,
                                const struct store_row *base, const struct against *against)
{
    struct arena *scratch = arena_new();
    const size_t most = of->count + (size_t)1;
    struct wins *wins = arena_array(arena, most, sizeof *wins);
    struct wins *found = arena_array(scratch, most, sizeof *found);
    struct wins_point *points = arena_array(scratch, most, sizeof *points);
    uint32_t count = 0;
    for (uint32_t i = 0; i < of->count && store_row_is_good(base); i++) {
        if (is_held(&of->rows[i], &against[i])) {
            points[count++] = point_of(of->store, scratch, &of->rows[i], &against[i]);
        }
    }
    wins_of_points(points, count, found);
    uint32_t next = 0;
    for (uint32_t i = 0; i < of->count; i++) {
        const struct store_row *row = &of->rows[i];
        const bool is_found = next < count && is_held(row, &against[i]);
        wins[i] =
            is_found ? found[next++] : (struct wins){row->label, ABSENT, ABSENT, ABSENT, ABSENT};
    }
    arena_free(scratch);
    return count >= 2 ? wins : NULL;
}
