/* A box: what was measured of one machine, beside what its kind of GPU does in the mean.
 *
 * `stoker calibrate box` writes such a file from six numbers that anybody can measure
 * (measured/box_numbers), and a scenario names it (`box: ./mine.yaml`):
 *
 *     box: mine
 *     gpu: b200-sxm                   # which kind it is of: a scenario of another is refused
 *     cluster: b200-3200              # likewise, where cluster.* is set
 *     measured: {gemm: 1.75 %}        # how well each rate is known now; what is not there is not
 *     set: {gpu.gemm.sustained: 0.49} # keys of gpu, cluster and software
 *     anchor: {step_time: 4.1 s, ...} # a step of it (input/study/anchor)
 *
 * It goes before the files of the catalogue and what the scenario writes into its cluster, GPU and
 * software, and behind --set, sweeps and variants. Of a band (bands/band) it takes out what
 * boxes of a kind differ by, for the rates that were measured.
 *
 * Resolved, only what it is called and what is known is left of it: what it set has been set.
 */
#ifndef INPUT_STUDY_BOX_H
#define INPUT_STUDY_BOX_H

#include "input/catalogue.h"
#include "input/schema/schema.h"

/* What boxes of one kind differ in: attention's rate apart from products', for a file of one says
 * nothing of the other. */
enum box_rate { BOX_GEMM, BOX_ATTENTION, BOX_MEMORY, BOX_LINKS, BOX_RATE_COUNT_ };
extern const char *const box_rate_names[BOX_RATE_COUNT_]; /* "gemm", ... */

struct box {
    const char *name; /* NULL: none */
    const char *title;
    const char *gpu;              /* of the catalogue */
    const char *cluster;          /* NULL: it sets none of its keys */
    double left[BOX_RATE_COUNT_]; /* deviation of ln(rate) that is left; 0: it was not measured */
};

/* Its keys; the object is a struct box. */
extern const struct schema box_keys;

/* Of a mapping that box_open gave. */
MUST_USE bool box_read(const struct doc_node *node, struct box *box,
                       struct assumptions *assumptions, struct diag *diag);

/* The mapping that a path or a mapping stands for; NULL with a message, when there is none, or it
 * sets what is not a box's. */
MUST_USE struct doc_node *box_open(struct arena *arena, const struct catalogue *catalogue,
                                   const struct doc_node *reference, struct diag *diag);

/* Puts what it sets in one of the files, "gpu", "cluster" or "software", which stands in `root`.
 * False when it is of another `gpu` or `cluster`, or a key cannot be there. */
MUST_USE bool box_apply(struct arena *arena, const struct doc_node *box, const char *file,
                        struct doc_node *root, struct diag *diag);

/* Without what has been applied. */
struct doc_node *box_applied(struct arena *arena, const struct doc_node *box);

#endif
