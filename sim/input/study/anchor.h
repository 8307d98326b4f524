/* An anchor: one measured step of the user's own, by which the level of all predictions is
 * corrected.
 *
 *     anchor: my.log                                    a log that `stoker import` reads
 *     anchor: runs.csv:ID                               a row of a table of measured runs
 *     anchor: {step_time: 4.1 s}                        of this very scenario, as the file has it
 *     anchor: {step_time: 4.1 s, set: {gpus: 64}}       of it with some keys set
 *     anchor: {step_time: 4.1 s, scenario: other.yaml}
 *
 * The measured run is predicted, too, and steps are multiplied by
 *
 *     factor = (measured / predicted) ^ weight
 *
 * so that with weight 1 a prediction is its ratio to the anchor's times what was measured, and
 * errors that both share cancel. How much of them both share, the weight, follows from measured
 * runs that differ likewise (measured/anchor), unless it is said.
 *
 * What is worked out (step_time of a log, predicted, weight, factor, band) is written into the
 * scenario before it is resolved (measured/anchoring), so that its text is all that a prediction
 * needs, and the results of another anchor have another key. Where the factor is written nothing is
 * worked out: it may also be said by itself.
 */
#ifndef INPUT_STUDY_ANCHOR_H
#define INPUT_STUDY_ANCHOR_H

#include "input/schema/schema.h"

/* A factor beyond these says that something else was measured. */
#define ANCHOR_FACTOR_LEAST 0.1
#define ANCHOR_FACTOR_MOST 10.0

struct anchor {
    bool is_given;
    const char *run, *scenario; /* as written; "": none */
    const struct doc_node *set; /* NULL: none */
    double step_time_s;         /* 0: not said, as all that follows */
    double predicted_s;
    double weight; /* ABSENT: not said */
    double factor;
    double band;   /* measured steps lie within a factor of it, from p10 to p90; 0: not known */
    int64_t votes; /* of pairs of measured runs that differ likewise; 0: none */
};

/* By which steps are multiplied: 1 without an anchor. */
double anchor_factor(const struct anchor *anchor);

/* The keys; the object is a struct anchor. */
extern const struct schema anchor_keys;

/* Of the row `anchor`, whose offset is a struct anchor's. It must have a factor. */
void anchor_read(const struct schema_reader *reader, const struct schema_row *row);

/* The keys of an anchor, a word or a mapping, that is yet to be worked out. False with messages. */
MUST_USE bool anchor_read_node(struct arena *arena, const struct doc_node *node,
                               struct anchor *anchor, struct diag *diag);

#endif
