/* Pairs are read from models/ratios.csv; votes are gathered from them for each band, which is a
 * scan over some hundred.
 */
#include "bands/ratio_bands.h"

#include "base/arena.h"
#include "input/doc/name_table.h"
#include "bands/quantile.h"
#include "bands/table_file.h"

#include <math.h>
#include <string.h>

const char *const ratio_verdict_names[RATIO_VERDICT_COUNT_] = {"clear", "likely", "too close"};

/* Of |ln r|: at none and beyond a factor of e the error does not grow. Chosen with sources left
 * out: with it bands of all sizes hold as often, and are narrowest. */
static const double LEAST = 0.1, MOST = 1.0;
static const double HALF = 0.5;

/* ---- the file ---------------------------------------------------------------------------- */

#define QUOTED(name_)                                  \
    {                                                  \
        TABLE_QUOTED(#name_, struct ratio_pair, name_) \
    }
#define RATIO(name_)                                                           \
    {                                                                          \
        TABLE_RATIO(#name_, struct ratio_pair, name_, "%.5f"), .what = "ratio" \
    }

static const struct table_column columns[] = {
    {TABLE_COLUMN("axis", TABLE_WORD_KIND, uint32_t, struct ratio_pair, axis), .word = axis_name,
     .is_quoted = true, .words_end = &axis_count, .wrong = "there is no kind of difference '%s'"},
    QUOTED(source),
    QUOTED(model),
    QUOTED(first),
    QUOTED(second),
    QUOTED(values),
    {TABLE_TEXT("held_out", struct ratio_pair, held_out)},
    RATIO(measured),
    RATIO(predicted),
};

static const struct table_file pairs_file = {
    TABLE_FILE(struct ratio_pair, columns),
    .remedy = "`stoker-lab validate FILE.csv --pairs " RATIO_FILE "` writes the file anew"};

static const char *vote_name(struct arena *arena, const struct ratio_pair *pair)
{
    return arena_printf(arena, "%s\n%s\n%s\n%s", pair->source, pair->model, axis_name(pair->axis),
                        pair->values);
}

bool ratio_pairs_read(struct arena *arena, const char *path, struct ratio_pairs *pairs,
                      struct diag *diag)
{
    void *read = NULL;
    const struct published_table *table = table_file_read(arena, path, &pairs_file, &read, diag);
    if (table == NULL) {
        return false;
    }
    struct ratio_pair *items = read;
    struct name_table votes;
    name_table_init(&votes, arena);
    for (uint32_t i = 0; i < table->row_count; i++) {
        items[i].vote = name_table_index(&votes, vote_name(arena, &items[i]));
    }
    *pairs = (struct ratio_pairs){items, table->row_count, votes.count};
    return true;
}

bool ratio_pairs_save(struct arena *arena, const char *path, const struct ratio_pairs *pairs,
                      struct diag *diag)
{
    return table_file_save(arena, path, &pairs_file, pairs->items, pairs->count, diag);
}

static bool read_wish(struct arena *arena, const char *path, void *into, struct diag *diag)
{
    return ratio_pairs_read(arena, path, into, diag);
}

bool ratio_pairs_load(struct arena *arena, const struct catalogue *catalogue,
                      struct ratio_pairs *pairs, const char **reason, struct diag *diag)
{
    const struct catalogue_wish wish = {
        RATIO_FILE, "band of ratios", "write it anew: stoker-lab validate FILE.csv --pairs OUT.csv",
        read_wish};
    *pairs = (struct ratio_pairs){0};
    return catalogue_wish_load(arena, catalogue, &wish, pairs, reason, diag);
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
