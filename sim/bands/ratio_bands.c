/* Pairs are read from models/ratios.csv; votes are gathered from them for each band, which is a
 * scan over some hundred.
 */
#include "bands/ratio_bands.h"

#include "base/arena.h"
#include "input/doc/name_table.h"
#include "bands/published_table.h"
#include "bands/quantile.h"

#include <math.h>
#include <string.h>

const char *const ratio_columns[RATIO_COLUMN_COUNT] = {
    "axis", "source", "model", "first", "second", "values", "held_out", "measured", "predicted"};

const char *const ratio_verdict_names[RATIO_VERDICT_COUNT_] = {"clear", "likely",
                                                               "too close to call"};

/* Of |ln r|: at none and beyond a factor of e the error does not grow. Chosen with sources left
 * out: with it bands of all sizes hold as often, and are narrowest. */
static const double LEAST = 0.1, MOST = 1.0;
static const double HALF = 0.5;

/* ---- the file ---------------------------------------------------------------------------- */

static const char *vote_name(struct arena *arena, const struct published_table *table, uint32_t row)
{
    return arena_printf(arena, "%s\n%s\n%s\n%s", published_text(table, row, "source"),
                        published_text(table, row, "model"), published_text(table, row, "axis"),
                        published_text(table, row, "values"));
}

static bool read_ratio(const struct published_table *table, uint32_t row, const char *column,
                       double *logarithm, struct diag *diag)
{
    double value = 0;
    if (published_number(table, row, column, &value) && value > 1e-6 && value < 1e6) {
        *logarithm = log(value);
        return true;
    }
    const struct place place = published_place(table, row, column);
    diag_add(diag, DIAG_INPUT, &place, "%s '%s' is no ratio", column,
             published_text(table, row, column));
    return false;
}

static bool read_axis(const struct published_table *table, uint32_t row, uint32_t *axis,
                      struct diag *diag)
{
    const char *names[AXIS_COLUMNS_MAX];
    const char *text = published_text(table, row, "axis");
    for (*axis = 0; *axis < axis_count; *axis += 1) {
        names[*axis] = axis_name(*axis);
        if (strcmp(names[*axis], text) == 0) {
            return true;
        }
    }
    const struct place place = published_place(table, row, "axis");
    diag_add(diag, DIAG_INPUT, &place, "there is no kind of difference '%s'", text);
    diag_help_nearest(diag, diag_nearest(text, names, axis_count),
                      "`stoker validate FILE.csv --pairs " RATIO_FILE "` writes the file anew");
    return false;
}

static bool read_pair(const struct published_table *table, uint32_t row, struct ratio_pair *pair,
                      struct diag *diag)
{
    if (table->problems[row].what != NULL) {
        const struct place place = published_place(table, row, "");
        return diag_add(diag, DIAG_INPUT, &place, "%s", table->problems[row].what);
    }
    pair->source = published_text(table, row, "source");
    return read_axis(table, row, &pair->axis, diag) &&
           read_ratio(table, row, "measured", &pair->measured, diag) &&
           read_ratio(table, row, "predicted", &pair->predicted, diag);
}

bool ratio_pairs_read(struct arena *arena, const char *path, struct ratio_pairs *pairs,
                      struct diag *diag)
{
    const struct published_table *table = published_load(arena, path, diag);
    if (table == NULL || !published_has_columns(table, ratio_columns, RATIO_COLUMN_COUNT, diag)) {
        return false;
    }
    struct ratio_pair *items = arena_array(arena, table->row_count + (size_t)1, sizeof *items);
    struct name_table votes;
    name_table_init(&votes, arena);
    for (uint32_t i = 0; i < table->row_count; i++) {
        if (!read_pair(table, i, &items[i], diag)) {
            return false;
        }
        items[i].vote = name_table_index(&votes, vote_name(arena, table, i));
    }
    *pairs = (struct ratio_pairs){items, table->row_count, votes.count};
    return true;
}

bool ratio_pairs_load(struct arena *arena, const struct catalogue *catalogue,
                      struct ratio_pairs *pairs, const char **reason, struct diag *diag)
{
    struct diag *own = diag_new(arena);
    *pairs = (struct ratio_pairs){0};
    *reason = "the catalogue has no " RATIO_FILE;
    const char *path = catalogue_file(arena, catalogue, RATIO_FILE);
    if (path == NULL) {
        return false;
    }
    if (ratio_pairs_read(arena, path, pairs, own)) {
        return true;
    }
    *reason = arena_printf(arena, "%s; write it anew: stoker validate FILE.csv --pairs OUT.csv",
                           diag_first_error_at(arena, own));
    if (diag_exit_status(own) == 1) { /* not its contents: a disk that fails, no memory */
        diag_add(diag, DIAG_FAILURE, NULL, "no band of ratios: %s", *reason);
    }
    return false;
}

/* ---- the band ------------------------------------------------------------------------------ */

/* By what errors of this size of difference are divided. */
static double scale_of(double predicted)
{
    return sqrt(LEAST + fmin(fabs(predicted), MOST));
}

/* A vote: means over its pairs. */
struct vote {
    const char *source;
    uint32_t axis, pairs;
    double error, predicted; /* sums of |e| and ln r, then means */
};

static struct vote *votes_of(struct arena *arena, const struct ratio_pairs *pairs)
{
    struct vote *votes = arena_array(arena, pairs->vote_count + (size_t)1, sizeof *votes);
    for (uint32_t i = 0; i < pairs->count; i++) {
        const struct ratio_pair *pair = &pairs->items[i];
        struct vote *vote = &votes[pair->vote];
        vote->source = pair->source;
        vote->axis = pair->axis;
        vote->pairs++;
        vote->error += fabs(pair->predicted - pair->measured);
        vote->predicted += pair->predicted;
    }
    for (uint32_t v = 0; v < pairs->vote_count; v++) {
        votes[v].error /= votes[v].pairs;
        votes[v].predicted /= votes[v].pairs;
    }
    return votes;
}

/* A kind's share of the spread, of a ratio without a difference. */
struct kind {
    uint32_t votes;
    double spread, half;
};

/* All votes, and room for as many errors. */
struct poll {
    const struct vote *votes;
    uint32_t count;
    struct weighted *errors;
};

static struct poll poll_of(struct arena *arena, const struct ratio_pairs *pairs)
{
    struct weighted *errors = arena_array(arena, pairs->vote_count + (size_t)1, sizeof *errors);
    return (struct poll){votes_of(arena, pairs), pairs->vote_count, errors};
}

static struct kind kind_of(const struct poll *poll, uint32_t axis, const char *without)
{
    const struct vote *votes = poll->votes;
    struct weighted *errors = poll->errors;
    uint32_t count = 0, own = 0;
    for (uint32_t v = 0; v < poll->count; v++) {
        const bool is_own = votes[v].axis == axis;
        if ((is_own || !axis_is_apart(votes[v].axis)) &&
            (without == NULL || strcmp(votes[v].source, without) != 0)) {
            errors[count++] = (struct weighted){votes[v].error / scale_of(votes[v].predicted),
                                                is_own ? 1.0 : 0.0};
            own += is_own ? 1 : 0;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        errors[i].weight = errors[i].weight > 0 ? 1.0 : (double)RATIO_POOL_VOTES / (count - own);
    }
    return (struct kind){own, own > 0 ? quantile_weighted(errors, count, RATIO_SHARE) : 0,
                         own > 0 ? quantile_weighted(errors, count, HALF) : 0};
}

/* Of the kinds in which two predictions differ. */
static struct ratio_band band_of_kinds(const struct kind *kinds, uint32_t count, double predicted)
{
    struct ratio_band band = {0};
    double spreads = 0, halves = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct kind *kind = &kinds[i];
        if (kind->votes == 0) {
            return (struct ratio_band){0};
        }
        band.votes += kind->votes;
        spreads += kind->spread * kind->spread;
        halves += kind->half * kind->half;
    }
    band.spread = sqrt(spreads) * scale_of(predicted);
    band.spread_of_half = sqrt(halves) * scale_of(predicted);
    return band;
}

struct ratio_kinds {
    struct poll poll;
    struct kind *items; /* by axis */
    bool *is_known;
};

struct ratio_kinds *ratio_kinds_new(struct arena *arena, const struct ratio_pairs *pairs)
{
    struct ratio_kinds *kinds = arena_alloc(arena, sizeof *kinds);
    kinds->poll = poll_of(arena, pairs);
    kinds->items = arena_array(arena, axis_count, sizeof *kinds->items);
    kinds->is_known = arena_array(arena, axis_count, sizeof *kinds->is_known);
    return kinds;
}

struct ratio_band ratio_kinds_band(struct ratio_kinds *kinds, const uint32_t *axes, uint32_t count,
                                   double predicted)
{
    struct kind found[AXIS_COLUMNS_MAX];
    sim_assert(count <= AXIS_COLUMNS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t axis = axes[i];
        sim_assert(axis < axis_count);
        if (!kinds->is_known[axis]) {
            kinds->items[axis] = kind_of(&kinds->poll, axis, NULL);
            kinds->is_known[axis] = true;
        }
        found[i] = kinds->items[axis];
    }
    return band_of_kinds(found, count, predicted);
}

struct ratio_band ratio_kinds_without(struct ratio_kinds *kinds, const uint32_t *axes,
                                      uint32_t count, double predicted, const char *source)
{
    struct kind found[AXIS_COLUMNS_MAX];
    sim_assert(count <= AXIS_COLUMNS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        found[i] = kind_of(&kinds->poll, axes[i], source);
    }
    return band_of_kinds(found, count, predicted);
}

struct ratio_band ratio_band_of(struct arena *arena, const struct ratio_pairs *pairs,
                                const uint32_t *axes, uint32_t count, double predicted,
                                const char *without)
{
    struct ratio_kinds *kinds = ratio_kinds_new(arena, pairs);
    return ratio_kinds_without(kinds, axes, count, predicted, without);
}

enum ratio_verdict ratio_band_verdict(const struct ratio_band *band, double predicted)
{
    if (fabs(predicted) > band->spread) {
        return RATIO_CLEAR;
    }
    return fabs(predicted) > band->spread_of_half ? RATIO_LIKELY : RATIO_CLOSE;
}
