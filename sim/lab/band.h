/* How far a prediction may be off: the spread of errors among measured runs that are alike.
 *
 * models/validated.csv of the catalogue holds one line for each vote of the measured runs
 * (score.h): what the run was, and its measured step time over the predicted one. A scenario's
 * class is the votes of the same
 *     GPU architecture, framework, precision (16 bits and more, or less), kind (dense, moe)
 *  or architecture, precision, kind
 *  or architecture, kind
 *  or kind
 *  or any:
 * the first that has BAND_VOTES_MIN of them. The band goes from the p10 to the p90 of that class,
 * times the prediction; a quantile between two votes lies on the straight line between them. What
 * the scenario has and no vote has, or none of the class comes near, is told: there the band is a
 * guess. A vote's network counts where its source states it and the run has several nodes (NVLink
 * domains); its fabric is that of the cluster's file with which it is predicted, for no source
 * states one.
 *
 * The catalogue's lines are errors of fits that did not see the run's source (`stoker calibrate
 * steps --errors`): those of runs that helped to fit would make the band too narrow.
 */
#ifndef LAB_BAND_H
#define LAB_BAND_H

#include "input/catalogue.h"
#include "run/result.h"

#define BAND_FILE "models/validated.csv"
#define BAND_VOTES_MIN 10

/* By which runs are alike. */
struct band_traits {
    const char *gpu;          /* file of models/gpus */
    const char *architecture; /* "hopper" */
    const char *framework;    /* the profile's, "megatron" */
    const char *precision;    /* "bf16" */
    bool is_mixture;          /* of experts */
    int64_t gpus, sequence_length;
    double network_bytes_per_s; /* of a node, one way; 0: one node, or not stated by the source */
    const char *fabric;         /* "rail"; "": one node */
    const char *routing;        /* "adaptive" */
    double oversubscription;    /* the largest of the levels that the run's nodes reach over */
};

/* What no measured run had. */
struct band_burdens {
    double data_stall, checkpoint_stall; /* of the time */
    double slowest;                      /* GPU's speed; 0 or 1: none is slow */
    uint32_t neighbours;                 /* other jobs on the fabric */
};

struct band_vote {
    const char *source;
    struct band_traits traits;
    double ratio; /* measured / predicted */
};

struct band_votes {
    const struct band_vote *items;
    uint32_t count;
};

struct band_traits band_traits_of(const struct scenario *scenario);

/* False, with a message, when the file is wrong. */
MUST_USE bool band_read(struct arena *arena, const char *path, struct band_votes *votes,
                        struct diag *diag);

/* As band_read reads it, in a folder that is there. False with a DIAG_FAILURE. */
MUST_USE bool band_write(const char *path, const struct band_votes *votes, struct diag *diag);

struct band_burdens band_burdens_of(const struct result *result);

/* Never fails: where there is no band, it says why. */
struct band band_of(struct arena *arena, const struct band_votes *votes,
                    const struct band_traits *traits, const struct band_burdens *burdens);

/* By the first catalogue directory that has the file. A file that is wrong is a band that is not
 * known; one that the system does not let us read is a DIAG_FAILURE, too. */
const struct band *band_find(struct arena *arena, const struct catalogue *catalogue,
                             const struct result *result, struct diag *diag);

#endif
