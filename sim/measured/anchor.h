/* How much of one run's error another shares: what an anchor (input/study/anchor) is worth.
 *
 * Errors are e = ln(measured / predicted step). Of the anchor e is known, of the run that is asked
 * about it is to be guessed. Measured runs say how far each may be off by itself (bands/band: a and
 * b, as logarithms), and how far the ratio of two may that differ likewise (bands/ratio_bands: s).
 * If all three are widths of the same share of one kind of distribution, then
 *
 *     s^2 = a^2 + b^2 - 2 c      so c = (a^2 + b^2 - s^2) / 2 is what both share,
 *     w   = c / a^2              in 0..1: the best guess is w times the anchor's e,
 *     t^2 = b^2 - 2 w c + w^2 a^2     how far off that may be (with w = 1: s^2)
 *
 * which is the regression of one error on the other. Of w a share is taken (bands/limits: trust),
 * for it is worked out from quantiles of few votes, and guessed too high rather than too low. Two
 * that differ in nothing have w = 1, and t is what a repeat on another cluster moves (AXIS_TIE).
 * What boxes of a kind differ by is no guess for two runs of one box: they share it whole,
 *
 *     w   = (box^2 + trust * (c - box^2)) / a^2
 *
 * Two that differ in what no pair of measured runs does share nothing: s^2 = a^2 + b^2, w = 0, and
 * the anchor changes nothing.
 *
 * Over the published runs whole ratios (w = 1) are much better than no anchor where nothing
 * differs, no better where one kind of setting does, and worse beyond; with w they are better in
 * the first two cases, and beyond as without (results/VALIDATION.md, `stoker-lab validate
 * --anchors`).
 *
 * ASSUMES: errors have one shape of distribution, whatever the run, so that widths of bands stand
 * for their deviations.
 */
#ifndef MEASURED_ANCHOR_H
#define MEASURED_ANCHOR_H

#include "bands/band.h"
#include "bands/differences.h"
#include "bands/limits.h"
#include "bands/ratio_bands.h"

/* What measured runs say; of a catalogue, or without those of a source. */
struct anchor_evidence {
    struct ratio_pairs pairs;
    struct band_votes votes;
    const struct difference_table *table;
    struct limits limits;
    const char *without; /* a source, of which `votes` has none; NULL: all count */
};

/* One of the two runs. */
struct anchor_side {
    const struct scenario *scenario;
    double launch_share;         /* of the step; ABSENT: not known */
    double tokens_per_s_per_gpu; /* predicted */
    double step_s;               /* predicted */
    struct band_burdens burdens;
    double alone;                 /* a or b, from anchor_alone */
    const struct band_step *step; /* shares, of a box that was measured; NULL: as if all computed */
    /* What its kind's boxes add to that (bands/band, box_spread), where both ran on one box, as
     * ln f; 0: nothing is told of them, or not that it is one. */
    double box;
};

struct anchor_worth {
    double weight;            /* ABSENT: it cannot be told, see reason */
    double spread;            /* t; 0: not known */
    double alone;             /* b */
    uint32_t votes;           /* of pairs that differ likewise */
    bool is_same;             /* they differ in nothing that moves a step */
    const char *const *kinds; /* of difference, or keys of which no pair is */
    uint32_t kind_count;
    bool are_measured; /* the kinds are of pairs; else keys */
    const char *reason;
};

/* False, with why in `reason`, when the catalogue lacks one of the two tables, or limits. */
MUST_USE bool anchor_evidence_load(struct arena *arena, const struct catalogue *catalogue,
                                   struct anchor_evidence *evidence, const char **reason,
                                   struct diag *diag);

/* How far off a run may be by itself, as ln of its band's half width; 0: no measured run is like
 * it. */
double anchor_alone(struct arena *arena, const struct anchor_evidence *evidence,
                    const struct anchor_side *side);

/* `weight`: said by the user, for which the spread is told; ABSENT: the best. */
struct anchor_worth anchor_worth_of(struct arena *arena, const struct anchor_evidence *evidence,
                                    const struct anchor_side *anchor,
                                    const struct anchor_side *asked, double weight);

/* Why the two train other models, "32 layers there, 80 here"; NULL: they train the same. */
const char *anchor_other_model(struct arena *arena, const struct model *anchor,
                               const struct model *asked);

#endif
