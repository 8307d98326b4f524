/* In which inputs two resolved scenarios differ, and a scenario that has some of them of each.
 *
 * A resolved scenario (input/resolve) has everything in it that a prediction hangs on, but for the
 * program: what the scenario says, and the constants of the model, the cluster, the GPU, the
 * software and the library. So two of them can be held against each other whatever build predicted
 * them, and any mixture of the two can be predicted by this one.
 *
 * A key that differs is an input by itself, but what only means something together is one: the
 * layout (parallel, batch.micro), a cluster's NICs, a file of failures. A part of the catalogue
 * under another name is one, too: all its constants are others. Where more than DIFF_INPUTS_MAX are
 * left, constants of one section are one, then all of a part. Names, titles, sources and what a
 * release has, by which nothing is predicted, are none.
 */
#ifndef STUDY_DIFF_DIFF_INPUTS_H
#define STUDY_DIFF_DIFF_INPUTS_H

#include "input/doc/doc.h"

enum { DIFF_INPUTS_MAX = 24 };

enum diff_kind {
    DIFF_SCENARIO, /* what the scenario says */
    DIFF_PART,     /* another model, cluster, GPU, profile or library */
    DIFF_CONSTANT, /* of the same one */
    DIFF_KINDS_
};
extern const char *const diff_kind_names[DIFF_KINDS_]; /* "scenario", "part", "constant" */

struct diff_key {
    const char *path;
    const struct doc_node *values[2]; /* of A and B; NULL: it is not there */
    enum diff_kind kind;
    const char *group; /* of the input that it is part of */
};

struct diff_input {
    const char *name;
    const char *values[2]; /* on a line; "-" for none */
    enum diff_kind kind;
    const struct diff_key *const *keys;
    uint32_t key_count;
};

struct diff_inputs {
    const struct diff_input *items; /* at most DIFF_INPUTS_MAX */
    uint32_t count;
    const struct diff_key *keys; /* all of them, in the order of the scenario */
    uint32_t key_count;
    uint32_t constants; /* keys that are constants of the catalogue */
};

/* All memory is the arena's; nodes are borrowed. */
struct diff_inputs diff_inputs_of(struct arena *arena, const struct doc_node *a,
                                  const struct doc_node *b);

/* A with those inputs of B whose bits are set. */
struct doc_node *diff_mix(struct arena *arena, const struct doc_node *a,
                          const struct diff_inputs *inputs, uint32_t of_b);

#endif
