/* A line of the file for each pair; the bands that they give are held against the pairs of other
 * sources, one by one.
 */
#include "lab/ratio_pairs.h"

#include "base/absent.h"
#include "base/arena.h"

#include <math.h>

struct ratio_pairs ratio_pairs_of(struct arena *arena, const struct pairs *pairs)
{
    struct ratio_pair *items = arena_array(arena, pairs->count + (size_t)1, sizeof *items);
    for (uint32_t i = 0; i < pairs->count; i++) {
        const struct pair *pair = &pairs->items[i];
        items[i] = (struct ratio_pair){.axis = pair->axis,
                                       .vote = pair->vote,
                                       .source = pair->first->source,
                                       .measured = pair->measured,
                                       .predicted = pair->measured + pair->error};
    }
    return (struct ratio_pairs){items, pairs->count, pairs->vote_count};
}

/* As a line of the file has it. */
static struct ratio_pair line_of(const struct pair *pair, const struct predictions *predictions)
{
    const struct validated_row *first = pair->first;
    double unused = 0;
    const bool was_fitted =
        predictions != NULL &&
        predictions_find(predictions, first->table, first->row, &unused) == PREDICTION_FOUND;
    return (struct ratio_pair){.axis = pair->axis,
                               .source = first->source,
                               .model = published_text(first->table, first->row, "model_name"),
                               .first = first->id,
                               .second = pair->second->id,
                               .values = pair->values,
                               .held_out = was_fitted ? "source" : "unseen",
                               .measured = pair->measured,
                               .predicted = pair->measured + pair->error};
}

bool ratio_pairs_write(struct arena *arena, const char *path, const struct pairs *pairs,
                       const struct predictions *predictions, struct diag *diag)
{
    struct ratio_pair *items = arena_array(arena, pairs->count + (size_t)1, sizeof *items);
    for (uint32_t i = 0; i < pairs->count; i++) {
        items[i] = line_of(&pairs->items[i], predictions);
    }
    return ratio_pairs_save(arena, path, &(struct ratio_pairs){items, pairs->count, 0}, diag);
}

/* ---- how good they are --------------------------------------------------------------------- */

/* Sums over pairs, each of which weighs 1 / pairs of its vote. */
struct tally {
    double votes, inside, width;
    double called[RATIO_VERDICT_COUNT_], right[RATIO_VERDICT_COUNT_];
};

static void count_pair(struct tally *tally, const struct ratio_pair *pair,
                       const struct ratio_band *band, double weight)
{
    const enum ratio_verdict verdict = ratio_band_verdict(band, pair->predicted);
    const bool is_inside = fabs(pair->predicted - pair->measured) <= band->spread;
    tally->votes += weight;
    tally->inside += is_inside ? weight : 0;
    tally->width += weight * 2 * band->spread;
    tally->called[verdict] += weight;
    tally->right[verdict] += pair->predicted * pair->measured > 0 ? weight : 0;
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : ABSENT;
}

/* How many pairs each vote has. */
static const uint32_t *pairs_by_vote(struct arena *arena, const struct ratio_pairs *pairs)
{
    uint32_t *counts = arena_array(arena, pairs->vote_count + (size_t)1, sizeof *counts);
    for (uint32_t i = 0; i < pairs->count; i++) {
        counts[pairs->items[i].vote]++;
    }
    return counts;
}

struct ratio_coverage ratio_pairs_measure(struct arena *arena, const struct ratio_pairs *pairs,
                                          uint32_t axis)
{
    struct ratio_kinds *kinds = ratio_kinds_new(arena, pairs);
    const uint32_t *shared = pairs_by_vote(arena, pairs);
    struct tally tally = {0};
    for (uint32_t i = 0; i < pairs->count; i++) {
        const struct ratio_pair *pair = &pairs->items[i];
        if (axis == axis_count ? axis_is_apart(pair->axis) : pair->axis != axis) {
            continue;
        }
        const struct ratio_band band =
            ratio_kinds_without(kinds, &pair->axis, 1, pair->predicted, pair->source);
        if (band.votes > 0) {
            count_pair(&tally, pair, &band, 1.0 / shared[pair->vote]);
        }
    }
    return (struct ratio_coverage){
        .votes = (uint32_t)lround(tally.votes),
        .inside = share(tally.inside, tally.votes),
        .width = share(tally.width, tally.votes),
        .clear = tally.called[RATIO_CLEAR],
        .likely = tally.called[RATIO_LIKELY],
        .right_clear = share(tally.right[RATIO_CLEAR], tally.called[RATIO_CLEAR]),
        .right_likely = share(tally.right[RATIO_LIKELY], tally.called[RATIO_LIKELY]),
    };
}
