/* The room bands: how far off a prediction, a ratio or a peak may be.
 *
 * Invariant: A band is made of errors by fits that did not see the run's source: what helped to
 * fit says nothing of a stranger's run. What no measured run has is told and widens it. Nothing
 * here simulates.
 *
 * Lives here: tables of measured errors, classes of runs, kinds of difference, limits.
 * May come in: base, input, train, run.
 *
 * Decided in one place each:
 *     how far off a prediction may be                             band.c
 *        by what is known of its run: the regression             width.c
 *        a ratio of two                                           ratio_bands.c
 *        a peak of memory                                         memory_errors.c
 *     which kinds of difference two scenarios have: the table of  differences.c
 *        and the kinds                                            axes.c
 *     which difference of two predictions is none, and of rates   limits.h
 */

/* How far a prediction may be off: the spread of errors among measured runs, by how like they are,
 * and by how much of them was said.
 *
 * models/validated.csv of the catalogue holds one line for each vote of the measured runs
 * (score.h): what the run was, and its measured step time over the predicted one, by a fit to what
 * other sources had published before its quarter (lab/fit/backtest): errors of runs that helped to
 * fit, or of a fit that knew what came later, would make the band too narrow.
 *
 * What was on beyond the name of a framework and its year (fusions, graphs, dispatchers, recipes)
 * is seldom said. models/typed.csv holds the same runs as whoever types a scenario says them
 * (stoker-lab validate --as-typed): the defaults took the place of what was on, and errors are
 * those of the defaults, too. A class is of runs that say what was on, or of those that do not.
 *
 * The band goes from prediction / f to prediction * f, f such that BAND_SHARE of votes like it are
 * off by less: one regression of the errors of all votes on what is known of a run (bands/width).
 *
 * A scenario's class, which says how many measured runs are like it, is the votes of the same
 *     GPU architecture, framework, precision (16 bits and more, or less), kind (dense, moe)
 *  or architecture, precision, kind
 *  or architecture, kind
 *  or kind
 *  or any:
 * the first that has BAND_VOTES_MIN of them. What the scenario has and no vote has, or none of the
 * class comes near, is told: there the band is a guess. Each doubling by which GPUs, tokens, model
 * width, network or the share of launches lie beyond all votes widens its logarithm by a quarter.
 *
 * Boxes of one GPU differ, too. Where its file says by how much (gemm.box_spread, of the precision
 * of the products), four fifths of boxes, 1.2816 standard deviations, are added to the band as what
 * is independent of it (logarithms as squares), of the part of the step that computes. Of other
 * kinds votes hold it: they are of many boxes.
 *
 * Of a box that was measured (input/study/box) that goes, rate by rate: where it was added, the
 * kind's deviation gives way to what one measurement leaves open, in the part of the step that
 * products or attention take; where votes hold it, what boxes of a kind were measured to differ by
 * (bands/limits: box_gemm, ...) comes off, times the part of the step that is of that rate, less
 * what is left open. A band that is narrowed so is no narrower than a repeat (AXIS_TIE).
 * ASSUMES: products and attention share what computes as they share its FLOPs; the optimizer is
 * the memory's part, exposed communication that of the links.
 *
 * Where a scenario has what public reports found further off (bands/unproven), the band is no
 * narrower than those, and says so.
 *
 * A vote's network counts where its source states it and the run has several nodes (NVLink
 * domains); its fabric is that of the cluster's file with which it is predicted, for no source
 * states one.
 *
 * ASSUMES: a run that is yet unknown is as far off as those that came were on their day.
 */
#ifndef BANDS_BAND_H
#define BANDS_BAND_H

#include "bands/unproven.h"
#include "input/catalogue.h"
#include "input/study/box.h"
#include "run/result.h"

#define BAND_FILE "models/validated.csv"
#define BAND_TYPED_FILE "models/typed.csv"
#define BAND_VOTES_MIN 10
#define BAND_SHARE 0.8 /* of votes that lie inside, from p10 to p90 */
/* So much of a normal distribution lies within as many of its standard deviations. */
#define BAND_DEVIATIONS 1.2816

/* By which runs are alike. */
struct band_traits {
    const char *gpu;          /* file of models/gpus */
    const char *architecture; /* "hopper" */
    const char *framework;    /* the profile's, "megatron" */
    const char *precision;    /* "bf16" */
    bool is_mixture;          /* of experts */
    bool is_typed;            /* what was on is not said: it is the profile's */
    int64_t gpus, sequence_length, hidden;
    double network_bytes_per_s; /* of a node, one way; 0: one node, or not stated by the source */
    const char *fabric;         /* "rail"; "": one node */
    const char *routing;        /* "adaptive" */
    double oversubscription;    /* the largest of the levels that the run's nodes reach over */
    double launch_share;        /* of the step; ABSENT: not simulated */
    double step_s;              /* predicted; ABSENT: not simulated */
    double box_spread;          /* of the logarithm of its step, from box to box; 0: not told */
    /* Of rates that were measured on its box: deviation left, and share of the step. Else 0. */
    double box_left[BOX_RATE_COUNT_], box_share[BOX_RATE_COUNT_];
    uint32_t unproven; /* bits 1 << row of bands/unproven; of votes 0 */
};

/* A step's time, and shares of it. */
struct band_step {
    double step_s; /* ABSENT: not known */
    double launch;
    double compute;   /* recomputation, too */
    double attention; /* of what computes; 0 where that is not known */
    double memory, links;
};

/* What no measured run had. */
struct band_burdens {
    double data_stall, checkpoint_stall; /* of the time */
    double slowest;                      /* GPU's speed; 0 or 1: none is slow */
    double weakest;                      /* link of a GPU, of what it should carry; as that */
    uint32_t neighbours;                 /* other jobs on the fabric */
};

struct band_vote {
    const char *id; /* of the first of its rows */
    const char *source;
    struct band_traits traits;
    double ratio; /* measured / predicted */
};

/* Of a regression of how far off votes are (bands/width): ln f without a feature, and what one of
 * each feature adds. */
enum { WIDTH_FEATURE_COUNT = 5 };
struct band_width {
    double coefficients[1 + WIDTH_FEATURE_COUNT];
};

struct band_votes {
    const struct band_vote *items;
    uint32_t count;
    const struct band_width *width;   /* of these votes; NULL: fitted for each band */
    double box_held[BOX_RATE_COUNT_]; /* what boxes of a kind differ by; 0: not known */
    double reported[UNPROVEN_COUNT];  /* as struct limits has it */
};

/* All but a source's, with their width. */
struct band_votes band_votes_without(struct arena *arena, const struct band_votes *votes,
                                     const char *source);

/* Products of less than 16 bits. */
bool band_is_low(const char *precision);

/* "moe" or "dense", in files and classes. */
const char *band_kind_name(bool is_mixture);

/* Without the share of launches, which is the step's, and as if all of the step computed. */
struct band_traits band_traits_of(const struct scenario *scenario);

/* By causes; a step of so many GPUs. */
struct band_step band_step_of(const int64_t *gpu_ns, int64_t step_ns, int64_t gpus);

/* With the part of attention; the result has a step. */
struct band_step band_step_of_result(const struct result *result);

/* The share of its FLOPs that is attention's, when one with the causal half and one with all of it
 * counts so many: all - causal is the other half. */
double band_attention_share(double flop_causal, double flop_full);

void band_traits_add_step(struct band_traits *traits, const struct band_step *step);

/* ln f of what two runs' boxes add to the ratio of their steps. Of the same GPU in the same
 * precision it is nothing: they are asked of one box. */
double band_boxes_apart(const struct band_traits *a, const struct band_traits *b);

struct band_traits band_traits_of_result(const struct result *result);

/* False, with a message, when the file is wrong. */
MUST_USE bool band_read(struct arena *arena, const char *path, struct band_votes *votes,
                        struct diag *diag);

/* As band_read reads it, in a folder that is there. False with a DIAG_FAILURE. */
MUST_USE bool band_write(struct arena *arena, const char *path, const struct band_votes *votes,
                         struct diag *diag);

struct band_burdens band_burdens_of(const struct result *result);
/* The part of them that the scenario has, before anything is simulated. */
struct band_burdens band_burdens_of_scenario(const struct scenario *scenario);

/* Never fails: where there is no band, it says why. */
struct band band_of(struct arena *arena, const struct band_votes *votes,
                    const struct band_traits *traits, const struct band_burdens *burdens);

bool band_holds(const struct band *band, double ratio);

/* How good the bands are: each vote is held against that of the other sources. */
struct band_coverage {
    uint32_t votes;              /* that have a band */
    double inside, width, score; /* of these; ABSENT: none. Share; means of ln(high / low) and of
                                    band_score */
};
struct band_coverage band_measure(struct arena *arena, const struct band_votes *votes);

/* The interval score (Winkler, 1972; Gneiting and Raftery, 2007, equation 43) of a band of ln f
 * either side for a run whose ln(measured / predicted) is `off`: its width, and what it misses by
 * times 2 / (1 - BAND_SHARE). The less the better: wide bands and bands that miss both cost. */
double band_score(double width, double off);

/* The votes of the first catalogue directory that has the file, and those as typed, where the same
 * directory has some, with their width. Else false and why; one that the system does not let
 * us read is a DIAG_FAILURE, too. */
MUST_USE bool band_load(struct arena *arena, const struct catalogue *catalogue,
                        struct band_votes *votes, const char **reason, struct diag *diag);

/* A prediction that was read back: its step was simulated once. */
struct band_told {
    const struct scenario *scenario;
    struct band_traits traits;
    struct band_burdens burdens;
};

/* Its band as band_find has it, by votes that were loaded; NULL: `reason` says why there are
 * none. */
struct band band_of_told(struct arena *arena, const struct band_votes *votes, const char *reason,
                         const struct band_told *told);

/* With the anchor's band, where there is an anchor that counts, else with these votes; a file that
 * is wrong is a band that is not known. */
const struct band *band_find(struct arena *arena, const struct catalogue *catalogue,
                             const struct result *result, struct diag *diag);

#endif
