/* Nodes on spot: lent for less, and taken away when whoever lends them wants them back.
 * models/spot/NAME.yaml, or a mapping in `run.spot`:
 *
 *     spot: aws-v100-us-west-2c
 *     title: V100 of AWS, us-west-2c, August 2023
 *     source: https://...
 *     notice: 2 min                           # until they go
 *     rate: {mttf: 4.23 h}                    # of one node, in the unit of the source
 *     together: 1.82                          # nodes at once, in the mean
 *     back: {mean: 57 min, law: exponential}  # from then until there is another in its place
 *
 * What a job does about it is run.recovery's: on_notice, spares, without_node.
 */
#ifndef INPUT_FAILURES_SPOT_H
#define INPUT_FAILURES_SPOT_H

#include "input/catalogue.h"
#include "input/failures/law.h"

struct spot_plan {
    const char *name; /* NULL: nodes are not on spot */
    const char *title;
    double notice_s;
    double rate_per_s;  /* of one node that is held */
    double together;    /* nodes at once, in the mean, by a geometric law; 1: each by itself */
    struct law back;    /* of each that was taken, or of all that were taken together */
    bool back_together; /* these come back together */
};

/* Its failures' name: random numbers and reports have it. */
#define SPOT_CLASS "spot"

/* Keys of a file. */
extern const struct schema spot_schema;

/* What it points to is the assumptions' arena's. */
MUST_USE bool spot_read(const struct doc_node *node, struct spot_plan *spot,
                        struct assumptions *assumptions, struct diag *diag);

#endif
