/* The rows of a regression come from the tuner itself: a price with one unknown set to 1 less
 * the price with all at 0. So whatever the tuner makes of an unknown (a plateau, two network
 * latencies for Simple) stands in the row, and the fit reproduces through the same tuner.
 */
#include "measured/calibrate.h"

#include "base/arena.h"
#include "base/check.h"
#include "measured/choices.h"
#include "measured/fit_limit.h"
#include "bands/quantile.h"
#include "measured/regression.h"

#include <math.h>
#include <string.h>

#define MISSED_HELP                                                                           \
    "nothing is written. --check shows each curve beside the library. Leave out curves that " \
    "contradict others; say which cluster each ran on, and its algorithm and protocol "       \
    "(NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=TUNING prints them)"

enum { CHOICES_MAX = 20, REFITS_MAX = UNKNOWN_COUNT_ };
static const double VAGUE = 0.3;       /* standard error of a bandwidth over itself */
static const double VAGUE_ROUND = 1.0; /* of a round's latency */
static const double SLOWER_MAX = 10.0;
static const double FASTEST = 1.0; /* slowness of links that are used in full */
static const double SAME = 1e-9;   /* relative: values that are one value */
static const double ONE = 1.0;     /* of each unknown */
static const double MOVE = 0.01;   /* of a round, for its slope */
static const double MOVE_MIN_S = 1e-9;
static const double WORSE = 0.01; /* than the library as it was: more is no gain in other places */

/* A measured point and the pair it counts for. */
struct sample {
    const struct curve *curve;
    const struct measured_point *point;
    struct collective_choice pair;
    struct collective_choice ran;   /* the same before likeness */
    double column[UNKNOWN_COUNT_];  /* of its price: the slope of an unknown */
    double kept_s[UNKNOWN_COUNT_];  /* what the unknown adds at the library's value */
    double floor_s[UNKNOWN_COUNT_]; /* of rounds, where the slope does not go through 0 */
    double offset_s;                /* the price with all unknowns at 0 */
};

struct fitting {
    struct arena *arena;
    struct library *library; /* as fitted so far */
    const struct library *original;
    struct library *scratch;
    struct sample *samples;
    uint32_t sample_count;
    bool has_many_choices; /* more than a library holds */
};

/* One way to say which pair each point counted for, and what came of it. */
struct attempt {
    struct library *library;
    struct calibration_group *groups;
    uint32_t group_count, fitted;
    struct sample *samples;
    struct curve_errors errors;
};

/* ---- unknowns in a library ---------------------------------------------------------- */

static double *unknown_of(struct library_cost *cost, enum calibration_unknown unknown,
                          enum library_span span)
{
    switch (unknown) {
    case UNKNOWN_BASE:
        return &cost->base_s[span];
    case UNKNOWN_SCALE_UP:
        return &cost->round_s[LIBRARY_SCALE_UP][span];
    case UNKNOWN_NETWORK:
        return &cost->round_s[LIBRARY_NETWORK][span];
    default:
        return &cost->efficiency[unknown - UNKNOWN_SLOWNESS];
    }
}

/* All algorithms that are like the pair's have its cost. */
static void put_cost(struct library *library, uint32_t architecture, struct collective_choice pair,
                     const struct library_cost *cost)
{
    for (uint32_t a = 0; a < ALGORITHM_COUNT_; a++) {
        if (library->shapes[a].like == pair.algorithm) {
            library->architectures[architecture].costs[a][pair.protocol] = *cost;
        }
    }
}

static struct library_cost cost_of(const struct library *library, uint32_t architecture,
                                   struct collective_choice pair)
{
    return library->architectures[architecture].costs[pair.algorithm][pair.protocol];
}

static double price_with(struct fitting *fitting, const struct sample *sample,
                         const struct library_cost *cost)
{
    double time_s = 0.0;
    put_cost(fitting->scratch, sample->curve->setting.architecture, sample->pair, cost);
    const bool is_offered =
        curve_price(sample->curve, fitting->scratch, sample->ran, sample->point->bytes, &time_s);
    sim_assert(is_offered);
    return time_s;
}

/* Everything that is to be fitted at 0: no launch, no rounds, infinite bandwidth. */
static struct library_cost bare_cost(const struct library_cost *cost)
{
    struct library_cost bare = *cost;
    for (uint32_t i = 0; i < SPAN_COUNT_; i++) {
        bare.launch_s[i] = 0.0;
        bare.base_s[i] = 0.0;
        bare.round_s[LIBRARY_SCALE_UP][i] = 0.0;
        bare.round_s[LIBRARY_NETWORK][i] = 0.0;
        bare.efficiency[i] = HUGE_VAL;
        bare.maximum_bytes_per_s[i] = HUGE_VAL;
        bare.channel_maximum_bytes_per_s[i] = HUGE_VAL;
    }
    return bare;
}

/* The unknown as `from` has it: a base with its launch, an efficiency with its maxima. */
static void take_unknown(struct library_cost *cost, const struct library_cost *from,
                         enum calibration_unknown unknown, enum library_span span)
{
    struct library_cost source = *from;
    *unknown_of(cost, unknown, span) = *unknown_of(&source, unknown, span);
    if (unknown == UNKNOWN_BASE) {
        cost->launch_s[span] = from->launch_s[span];
    }
    if (unknown >= UNKNOWN_SLOWNESS) {
        const uint32_t at = unknown - UNKNOWN_SLOWNESS;
        cost->maximum_bytes_per_s[at] = from->maximum_bytes_per_s[at];
        cost->channel_maximum_bytes_per_s[at] = from->channel_maximum_bytes_per_s[at];
    }
}

/* Where several nodes take part, a ring's round inside a node has a floor (network_overhead), and
 * one between nodes is nothing where it is less than the message that is not in it (measured):
 * the slope is the one at the library's value. */
static void bend_rounds(struct fitting *fitting, struct sample *sample,
                        const struct library_cost *bare, enum calibration_unknown unknown,
                        double value_s)
{
    const double move_s = fmax(MOVE * value_s, MOVE_MIN_S);
    struct library_cost moved = *bare;
    *unknown_of(&moved, unknown, sample->curve->span) = value_s + move_s;
    const double kept_s = sample->kept_s[unknown];
    const double moved_s = price_with(fitting, sample, &moved) - sample->offset_s;
    sample->column[unknown] = (moved_s - kept_s) / move_s;
    sample->floor_s[unknown] = kept_s - sample->column[unknown] * value_s;
}

static void fill_columns(struct fitting *fitting, struct sample *sample)
{
    const enum library_span span = sample->curve->span;
    const struct library_cost cost =
        cost_of(fitting->original, sample->curve->setting.architecture, sample->pair);
    const struct library_cost bare = bare_cost(&cost);
    sample->offset_s = price_with(fitting, sample, &bare);
    for (uint32_t u = 0; u < UNKNOWN_COUNT_; u++) {
        const enum calibration_unknown unknown = (enum calibration_unknown)u;
        struct library_cost one = bare;
        *unknown_of(&one, unknown, span) = ONE;
        sample->column[u] = price_with(fitting, sample, &one) - sample->offset_s;
        struct library_cost kept = bare;
        take_unknown(&kept, &cost, unknown, span);
        sample->kept_s[u] = price_with(fitting, sample, &kept) - sample->offset_s;
        sample->floor_s[u] = 0.0;
    }
    if (span != SPAN_ONE_NODE) {
        bend_rounds(fitting, sample, &bare, UNKNOWN_SCALE_UP, cost.round_s[LIBRARY_SCALE_UP][span]);
        bend_rounds(fitting, sample, &bare, UNKNOWN_NETWORK, cost.round_s[LIBRARY_NETWORK][span]);
    }
    put_cost(fitting->scratch, sample->curve->setting.architecture, sample->pair, &cost);
}

/* ---- which unknowns the data can tell ----------------------------------------------- */

static bool is_member(const struct sample *sample, const struct calibration_group *group)
{
    return sample->curve->setting.architecture == group->architecture &&
           sample->pair.algorithm == group->pair.algorithm &&
           sample->pair.protocol == group->pair.protocol;
}

/* Whether a column is something other than a multiple of the base's: within `on_one_node`
 * curves only, if asked. */
static bool is_varied(const struct fitting *fitting, const struct calibration_group *group,
                      enum calibration_unknown unknown, bool on_one_node)
{
    double first = -1.0;
    for (uint32_t i = 0; i < fitting->sample_count; i++) {
        const struct sample *sample = &fitting->samples[i];
        const double column = sample->column[unknown];
        if (!is_member(sample, group) || (on_one_node && sample->curve->span != SPAN_ONE_NODE)) {
            continue;
        }
        const bool is_slowness = unknown >= UNKNOWN_SLOWNESS;
        if (is_slowness && !(column > 0.0)) {
            continue; /* of another span */
        }
        const double value = column / sample->column[UNKNOWN_BASE];
        if (first >= 0.0 && fabs(value - first) > SAME * fmax(value, first)) {
            return true;
        }
        first = value;
    }
    return false;
}

static void free_unknowns(const struct fitting *fitting, struct calibration_group *group)
{
    group->is_free[UNKNOWN_BASE] = true;
    group->is_free[UNKNOWN_SCALE_UP] = is_varied(fitting, group, UNKNOWN_SCALE_UP, true);
    group->is_free[UNKNOWN_NETWORK] = is_varied(fitting, group, UNKNOWN_NETWORK, false);
    for (uint32_t u = UNKNOWN_SLOWNESS; u < UNKNOWN_COUNT_; u++) {
        group->is_free[u] = is_varied(fitting, group, (enum calibration_unknown)u, false);
    }
}

/* ---- one regression ----------------------------------------------------------------- */

struct regression {
    uint32_t unknowns[UNKNOWN_COUNT_];
    uint32_t width;
    double solution[UNKNOWN_COUNT_], error[UNKNOWN_COUNT_];
};

/* Of a time, what the regression does not change. */
static double fixed_part_s(const struct sample *sample, const struct calibration_group *group,
                           uint32_t unknown)
{
    if (group->is_free[unknown]) {
        return sample->floor_s[unknown];
    }
    return group->is_held[unknown] ? group->value[unknown] * sample->column[unknown]
                                   : sample->kept_s[unknown];
}

/* For what is free. False when the points do not tell it. */
static bool regress(struct regression *regression, const struct fitting *fitting,
                    const struct calibration_group *group)
{
    *regression = (struct regression){.width = 0};
    for (uint32_t u = 0; u < UNKNOWN_COUNT_; u++) {
        if (group->is_free[u]) {
            regression->unknowns[regression->width++] = u;
        }
    }
    const uint32_t width = regression->width;
    double *rows = arena_array(fitting->arena, (size_t)group->points * width, sizeof *rows);
    double *ones = arena_array(fitting->arena, group->points, sizeof *ones);
    size_t row = 0;
    for (uint32_t i = 0; i < fitting->sample_count; i++) {
        const struct sample *sample = &fitting->samples[i];
        if (!is_member(sample, group)) {
            continue;
        }
        const double measured_s = sample->point->time_s;
        double fixed_s = sample->offset_s;
        for (uint32_t u = 0; u < UNKNOWN_COUNT_; u++) {
            fixed_s += fixed_part_s(sample, group, u);
        }
        for (uint32_t k = 0; k < width; k++) {
            rows[row * width + k] = sample->column[regression->unknowns[k]] / measured_s;
        }
        ones[row++] = (measured_s - fixed_s) / measured_s; /* what is not fixed, over measured */
    }
    sim_assert(row == group->points);
    return regression_solve(fitting->arena, rows, ones, row, width, regression->solution,
                            regression->error);
}

/* ---- one group ---------------------------------------------------------------------- */

/* What is not fitted keeps the library's value; a slowness is 1 / efficiency. Rounds are those
 * of the first span that was measured. */
static void start_values(const struct fitting *fitting, struct calibration_group *group)
{
    struct library_cost cost = cost_of(fitting->original, group->architecture, group->pair);
    uint32_t span = 0;
    while (!group->has_span[span]) {
        span++;
        sim_assert(span < SPAN_COUNT_);
    }
    for (uint32_t u = 0; u < UNKNOWN_COUNT_; u++) {
        const double value =
            *unknown_of(&cost, (enum calibration_unknown)u, (enum library_span)span);
        group->value[u] = u >= UNKNOWN_SLOWNESS ? 1.0 / value : value;
        group->error[u] = 0.0;
        group->is_held[u] = false;
    }
    group->value[UNKNOWN_BASE] += cost.launch_s[span];
}

/* A tenth of the library's bandwidth is no other machine but another pair: where the measurement
 * does not say what ran, the guess was wrong. */
static bool is_absurd(const struct fitting *fitting, const struct calibration_group *group,
                      uint32_t unknown, double value)
{
    sim_assert(unknown < UNKNOWN_COUNT_);
    if (unknown < UNKNOWN_SLOWNESS) {
        return false;
    }
    for (uint32_t i = 0; i < fitting->sample_count; i++) {
        const struct sample *sample = &fitting->samples[i];
        if (is_member(sample, group) &&
            value * sample->column[unknown] > SLOWER_MAX * sample->kept_s[unknown]) {
            return true;
        }
    }
    return false;
}

/* Points at which latency is all say nothing about bandwidth, and others nothing about rounds. */
static bool is_vague(const struct regression *regression, uint32_t k)
{
    const uint32_t u = regression->unknowns[k];
    const double limit = u >= UNKNOWN_SLOWNESS ? VAGUE : VAGUE_ROUND;
    return u != UNKNOWN_BASE && regression->error[k] > limit * regression->solution[k];
}

/* It is no longer fitted: at its limit, or as the library says. */
static void hold(struct calibration_group *group, uint32_t unknown, bool is_at_limit)
{
    group->is_free[unknown] = false;
    group->is_held[unknown] = is_at_limit;
    if (is_at_limit) {
        group->value[unknown] = unknown == UNKNOWN_BASE ? 0.0 : FASTEST;
    }
}

/* Makes what came out of its range, or too vague, a constant: at its limit, or as the library
 * has it. True when nothing had to be. */
static bool take_solution(const struct fitting *fitting, const struct regression *regression,
                          struct calibration_group *group)
{
    for (uint32_t k = 0; k < regression->width; k++) {
        const uint32_t u = regression->unknowns[k];
        const double value = regression->solution[k];
        const bool is_untold =
            is_vague(regression, k) || is_absurd(fitting, group, u, value) || value < 0.0;
        const bool is_beyond = u >= UNKNOWN_SLOWNESS && value < FASTEST;
        if (is_untold || is_beyond) {
            hold(group, u, u == UNKNOWN_BASE || !is_untold);
            return false;
        }
    }
    for (uint32_t k = 0; k < regression->width; k++) {
        const uint32_t u = regression->unknowns[k];
        group->value[u] = regression->solution[k];
        group->error[u] = regression->error[k];
    }
    return true;
}

static uint32_t free_count(const struct calibration_group *group)
{
    uint32_t count = 0;
    for (uint32_t u = 0; u < UNKNOWN_COUNT_; u++) {
        count += group->is_free[u] ? 1 : 0;
    }
    return count;
}

static bool is_any(const bool *flags)
{
    for (uint32_t u = 0; u < UNKNOWN_COUNT_; u++) {
        if (flags[u]) {
            return true;
        }
    }
    return false;
}

static bool refuse(struct calibration_group *group, const char *reason)
{
    group->is_fitted = false;
    group->reason = reason;
    return false;
}

static bool fit_group(const struct fitting *fitting, struct calibration_group *group)
{
    start_values(fitting, group);
    free_unknowns(fitting, group);
    for (uint32_t attempt = 0; attempt < REFITS_MAX; attempt++) {
        const uint32_t width = free_count(group);
        if (width == 0) { /* all at their limits: whether that fits, the errors tell */
            group->is_fitted = is_any(group->is_held);
            return group->is_fitted || refuse(group, "no constant comes out positive");
        }
        if (group->points < width + 2) {
            return refuse(group, "too few points");
        }
        struct regression regression;
        if (!regress(&regression, fitting, group)) {
            return refuse(group, "its points do not tell latency from bandwidth");
        }
        if (take_solution(fitting, &regression, group)) {
            group->is_fitted = true;
            return true;
        }
    }
    return refuse(group, "no constant comes out positive");
}

/* A fitted base holds the launch, a fitted bandwidth has no maximum beside it. */
static void put_value(struct library_cost *cost, const struct calibration_group *group,
                      uint32_t unknown, uint32_t span)
{
    const bool is_slowness = unknown >= UNKNOWN_SLOWNESS;
    *unknown_of(cost, (enum calibration_unknown)unknown, (enum library_span)span) =
        is_slowness ? 1.0 / group->value[unknown] : group->value[unknown];
    if (unknown == UNKNOWN_BASE) {
        cost->launch_s[span] = 0.0;
    }
    if (is_slowness) {
        cost->maximum_bytes_per_s[span] = HUGE_VAL;
        cost->channel_maximum_bytes_per_s[span] = HUGE_VAL;
    }
}

/* The fitted constants into the library, of as many nodes as were measured: what no point
 * crossed stays. */
static void apply_group(struct fitting *fitting, const struct calibration_group *group)
{
    struct library_cost cost = cost_of(fitting->original, group->architecture, group->pair);
    for (uint32_t u = 0; u < UNKNOWN_COUNT_; u++) {
        const bool is_slowness = u >= UNKNOWN_SLOWNESS;
        for (uint32_t span = 0; span < SPAN_COUNT_; span++) {
            const bool is_measured =
                group->has_span[span] && (!is_slowness || u - UNKNOWN_SLOWNESS == span);
            if (is_measured && (group->is_free[u] || group->is_held[u])) {
                put_value(&cost, group, u, span);
            }
        }
    }
    put_cost(fitting->library, group->architecture, group->pair, &cost);
}

/* ---- all groups --------------------------------------------------------------------- */

/* The pair of each sample: as measured, or by the library's choice. True when one changed. */
static bool assign(struct fitting *fitting)
{
    bool is_changed = false;
    struct library *library = fitting->library;
    for (uint32_t i = 0; i < GPU_ARCHITECTURE_COUNT_; i++) {
        library->architectures[i].choice_count = 0;
    }
    for (uint32_t i = 0; i < fitting->sample_count; i++) {
        struct sample *sample = &fitting->samples[i];
        struct transfer_quote quote;
        curve_predict(sample->curve, library, sample->point->bytes, &quote);
        const uint32_t like = fitting->original->shapes[quote.algorithm].like;
        is_changed = is_changed || sample->pair.algorithm != like ||
                     sample->pair.protocol != (uint32_t)quote.protocol;
        sample->pair = (struct collective_choice){like, quote.protocol};
        sample->ran = (struct collective_choice){quote.algorithm, quote.protocol};
        fill_columns(fitting, sample);
    }
    return is_changed;
}

static struct calibration_group *group_of(struct calibration *calibration,
                                          const struct sample *sample)
{
    for (uint32_t i = 0; i < calibration->group_count; i++) {
        if (is_member(sample, &calibration->groups[i])) {
            return &calibration->groups[i];
        }
    }
    struct calibration_group *group = &calibration->groups[calibration->group_count++];
    *group = (struct calibration_group){.architecture = sample->curve->setting.architecture,
                                        .pair = sample->pair,
                                        .bytes_min = sample->point->bytes,
                                        .bytes_max = sample->point->bytes};
    return group;
}

static void make_groups(const struct fitting *fitting, struct calibration *calibration)
{
    calibration->group_count = 0;
    for (uint32_t i = 0; i < fitting->sample_count; i++) {
        struct calibration_group *group = group_of(calibration, &fitting->samples[i]);
        group->points++;
        group->has_span[fitting->samples[i].curve->span] = true;
        group->bytes_min = fmin(group->bytes_min, fitting->samples[i].point->bytes);
        group->bytes_max = fmax(group->bytes_max, fitting->samples[i].point->bytes);
    }
}

/* How far the pair's own points are from the library as fitted so far. */
static void measure_group(const struct fitting *fitting, struct calibration_group *group)
{
    double *errors = arena_array(fitting->arena, group->points, sizeof *errors);
    uint32_t count = 0;
    for (uint32_t i = 0; i < fitting->sample_count; i++) {
        const struct sample *sample = &fitting->samples[i];
        double time_s = 0.0;
        if (is_member(sample, group) && curve_price(sample->curve, fitting->library, sample->ran,
                                                    sample->point->bytes, &time_s)) {
            errors[count++] = fabs(time_s / sample->point->time_s - 1.0);
        }
    }
    group->median = quantile_of(errors, count, 0.5);
    group->p90 = quantile_of(errors, count, 0.9);
}

/* What the measurements do not bear out is taken back. */
static bool is_met(struct fitting *fitting, struct calibration_group *group)
{
    measure_group(fitting, group);
    if (group->median <= FIT_MEDIAN_MAX) {
        return true;
    }
    const struct library_cost cost = cost_of(fitting->original, group->architecture, group->pair);
    put_cost(fitting->library, group->architecture, group->pair, &cost);
    start_values(fitting, group);
    group->is_missed = true;
    return refuse(group, arena_printf(fitting->arena, "its fit is off by %.1f %% in the median",
                                      100.0 * group->median));
}

static uint32_t fit_groups(struct fitting *fitting, struct calibration *calibration)
{
    uint32_t fitted = 0;
    *fitting->library = *fitting->original;
    for (uint32_t g = 0; g < calibration->group_count; g++) {
        struct calibration_group *group = &calibration->groups[g];
        if (fit_group(fitting, group)) {
            apply_group(fitting, group);
            fitted += is_met(fitting, group) ? 1 : 0;
        }
    }
    return fitted;
}

static bool has_fit(const struct calibration *calibration, uint32_t architecture)
{
    for (uint32_t g = 0; g < calibration->group_count; g++) {
        const struct calibration_group *group = &calibration->groups[g];
        if (group->is_fitted && group->architecture == architecture) {
            return true;
        }
    }
    return false;
}

/* What each point counted for is what the library chooses from now on, where there is a fit;
 * elsewhere it chooses what it did. */
static void choose_fitted(struct fitting *fitting, const struct calibration *calibration)
{
    for (uint32_t i = 0; i < GPU_ARCHITECTURE_COUNT_; i++) {
        struct library_architecture *mine = &fitting->library->architectures[i];
        const struct library_architecture *before = &fitting->original->architectures[i];
        memcpy(mine->choices, before->choices, sizeof mine->choices);
        mine->choice_count = has_fit(calibration, i) ? 0 : before->choice_count;
    }
    fitting->has_many_choices = false;
    for (uint32_t i = 0; i < fitting->sample_count; i++) {
        const struct sample *sample = &fitting->samples[i];
        if (has_fit(calibration, sample->curve->setting.architecture)) {
            fitting->has_many_choices =
                !choices_add(fitting->library, sample->curve, sample->ran, sample->point->bytes) ||
                fitting->has_many_choices;
        }
    }
}

/* All that have a fit once more: one pair's latency may stand in another's price. */
static void measure_groups(const struct fitting *fitting, struct calibration *calibration)
{
    for (uint32_t g = 0; g < calibration->group_count; g++) {
        if (!calibration->groups[g].is_missed) {
            measure_group(fitting, &calibration->groups[g]);
        }
    }
}

static void collect(struct fitting *fitting, const struct curve *curves, uint32_t count)
{
    size_t points = 1;
    for (uint32_t i = 0; i < count; i++) {
        points += curves[i].measurement->point_count;
    }
    fitting->samples = arena_array(fitting->arena, points, sizeof *fitting->samples);
    for (uint32_t i = 0; i < count; i++) {
        const struct measurement *measurement = curves[i].measurement;
        for (uint32_t k = 0; k < measurement->point_count && curves[i].skipped == NULL; k++) {
            fitting->samples[fitting->sample_count++] =
                (struct sample){.curve = &curves[i],
                                .point = &measurement->points[k],
                                .pair = COLLECTIVE_CHOICE_FREE};
        }
    }
}

/* What is known of sizes now is what was measured here. */
static void note_sizes(const struct calibration *calibration)
{
    for (uint32_t g = 0; g < calibration->group_count; g++) {
        const struct calibration_group *group = &calibration->groups[g];
        struct library_architecture *architecture =
            &calibration->library->architectures[group->architecture];
        double from = group->bytes_min;
        double to = group->bytes_max;
        for (uint32_t k = 0; k < calibration->group_count; k++) {
            const struct calibration_group *other = &calibration->groups[k];
            if (other->architecture == group->architecture) {
                from = fmin(from, other->bytes_min);
                to = fmax(to, other->bytes_max);
            }
        }
        architecture->fitted_from_bytes = from;
        architecture->fitted_to_bytes = to;
    }
}

/* The largest one, of those whose fit was taken back if there are such. */
static const struct calibration_group *largest_group(const struct calibration *calibration)
{
    const struct calibration_group *largest = &calibration->groups[0];
    for (uint32_t g = 1; g < calibration->group_count; g++) {
        const struct calibration_group *group = &calibration->groups[g];
        if (group->is_missed != largest->is_missed ? group->is_missed
                                                   : group->points > largest->points) {
            largest = group;
        }
    }
    return largest;
}

static bool nothing_fitted(const struct calibration *calibration, struct diag *diag)
{
    if (calibration->group_count == 0) {
        diag_add(diag, DIAG_INPUT, NULL, "no measurement names a cluster");
        diag_help(diag, "say which: --cluster NAME");
        return false;
    }
    const struct calibration_group *group = largest_group(calibration);
    const char *algorithm = collective_algorithm_names[group->pair.algorithm];
    const char *protocol = collective_protocol_names[group->pair.protocol];
    if (group->is_missed) {
        diag_add(diag, DIAG_FAILURE, NULL,
                 "nothing is fitted: with the best constants of %s %s its %u points are off by "
                 "%.1f %% in the median, and the limit is %.0f %%",
                 algorithm, protocol, group->points, 100.0 * group->median, 100.0 * FIT_MEDIAN_MAX);
        diag_help(diag, MISSED_HELP);
        return false;
    }
    diag_add(diag, DIAG_INPUT, NULL, "nothing can be fitted: %s %s has %u point%s, %s", algorithm,
             protocol, group->points, group->points == 1 ? "" : "s", group->reason);
    diag_help(diag, "measure a pair of algorithm and protocol at four sizes or more, from "
                    "kilobytes to gigabytes");
    return false;
}

/* A library that is off, or more so than the one it came from, is no calibration. */
static bool check_errors(const struct calibration *calibration, const struct library *original,
                         struct diag *diag)
{
    const struct curve_errors *before = &calibration->before;
    const struct curve_errors *after = &calibration->after;
    if (after->median > FIT_MEDIAN_MAX) {
        diag_add(diag, DIAG_FAILURE, NULL,
                 "the fitted library is off by %.1f %% in the median of %u points, and the limit "
                 "is %.0f %% (%s as it is: %.1f %%)",
                 100.0 * after->median, after->count, 100.0 * FIT_MEDIAN_MAX, original->name,
                 100.0 * before->median);
        diag_help(diag, MISSED_HELP);
        return false;
    }
    if (after->median > before->median + WORSE) {
        diag_add(diag, DIAG_FAILURE, NULL,
                 "%s as it is meets the %u points better: off by %.1f %% in the median, fitted "
                 "%.1f %%",
                 original->name, before->count, 100.0 * before->median, 100.0 * after->median);
        diag_help(diag, "keep it; or say algorithm and protocol of each curve, so that its pair "
                        "need not be guessed");
        return false;
    }
    return true;
}

static void keep(const struct fitting *fitting, const struct calibration *calibration,
                 struct attempt *attempt)
{
    struct arena *arena = fitting->arena;
    const uint32_t samples = fitting->sample_count;
    attempt->library = arena_alloc(arena, sizeof *attempt->library);
    *attempt->library = *fitting->library;
    attempt->groups = arena_array(arena, samples + 1u, sizeof *attempt->groups);
    memcpy(attempt->groups, calibration->groups,
           calibration->group_count * sizeof *attempt->groups);
    attempt->group_count = calibration->group_count;
    attempt->samples = arena_array(arena, samples + 1u, sizeof *attempt->samples);
    memcpy(attempt->samples, fitting->samples, samples * sizeof *attempt->samples);
}

static void take(struct fitting *fitting, struct calibration *calibration,
                 const struct attempt *attempt)
{
    *fitting->library = *attempt->library;
    calibration->groups = attempt->groups;
    calibration->group_count = attempt->group_count;
    fitting->samples = attempt->samples;
    choose_fitted(fitting, calibration);
}

static bool check_choices(const struct fitting *fitting, struct diag *diag)
{
    if (!fitting->has_many_choices) {
        return true;
    }
    diag_add(diag, DIAG_FAILURE, NULL,
             "the curves change their algorithm and protocol too often: a library holds %d rows of "
             "choices an architecture",
             LIBRARY_CHOICE_MAX);
    diag_help(diag, "calibrate to fewer curves at once: those of your own machine");
    return false;
}

bool calibrate(struct arena *arena, const struct curve *curves, uint32_t count,
               const struct library *library, struct calibration *calibration, struct diag *diag)
{
    struct fitting fitting = {.arena = arena, .original = library};
    fitting.library = arena_alloc(arena, sizeof *fitting.library);
    fitting.scratch = arena_alloc(arena, sizeof *fitting.scratch);
    *fitting.library = *library;
    *fitting.scratch = *library;
    collect(&fitting, curves, count);
    *calibration = (struct calibration){.library = fitting.library};
    calibration->groups =
        arena_array(arena, fitting.sample_count + 1u, sizeof *calibration->groups);
    struct attempt best = {.fitted = 0};
    for (uint32_t i = 0; i < CHOICES_MAX && assign(&fitting); i++) {
        make_groups(&fitting, calibration);
        const uint32_t fitted = fit_groups(&fitting, calibration);
        choose_fitted(&fitting, calibration);
        const struct curve_errors errors =
            curves_errors_of(arena, curves, count, fitting.library, 0.0);
        if (fitted > 0 && (best.fitted == 0 || errors.median <= best.errors.median)) {
            best.errors = errors;
            best.fitted = fitted;
            keep(&fitting, calibration, &best);
        }
    }
    if (best.fitted == 0) {
        return nothing_fitted(calibration, diag);
    }
    take(&fitting, calibration, &best);
    note_sizes(calibration);
    measure_groups(&fitting, calibration);
    calibration->before = curves_errors_of(arena, curves, count, library, 0.0);
    calibration->after = curves_errors_of(arena, curves, count, calibration->library, 0.0);
    return check_choices(&fitting, diag) && check_errors(calibration, library, diag);
}
