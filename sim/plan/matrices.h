/* The matrices of layers, as an optimizer that updates each as a whole meets them.
 *
 * Of every layer that a GPU has: queries, keys and values (one matrix, or three), the projection,
 * what compresses and raises latent attention, the projections of a mixer of operators; gate and up
 * as one matrix, down; the router, and every expert's own; what joins the inputs of multi-token
 * prediction. All other parameters (tables, head, norms, biases, sinks, convolutions) are none.
 *
 * Whole matrices are dealt to the ranks that hold the same: the largest first, there and back
 * (0 1 2 2 1 0 0 ...), those of experts and the others each by themselves. All wait for the rank
 * that has most to do, so its matrices are what counts.
 *
 * ASSUMES: every rank takes as long as the one with most; others wait, and that is booked as
 * optimizer, not as a wait.
 * ASSUMES: a matrix that tp does not divide evenly is cut into shards of the larger size.
 */
#ifndef PLAN_MATRICES_H
#define PLAN_MATRICES_H

#include "input/mixer/mixer.h"
#include "input/model.h"
#include "plan/cost.h"

struct matrix_rule;
struct optimizer;

/* What of the model a stage's GPU has, and how many ranks deal what they have in common. */
struct matrix_split {
    const struct model *model;
    int64_t tp, etp;
    int64_t experts;                   /* of a layer on this GPU, copies included */
    int64_t dense_ranks, expert_ranks; /* 1: each updates all that it has */
    int64_t layers[LAYER_KINDS_MAX];   /* of each kind */
};

struct matrix {
    int64_t rows, columns; /* as it is made orthogonal */
    double elements;       /* of which this GPU holds so many */
    int64_t count;
    bool is_expert;
    bool is_gathered; /* over tp, from shards */
};

enum {
    LAYER_MATRICES_MAX = MIXER_OPERATORS_MAX + 10,
    MATRICES_MAX = LAYER_KINDS_MAX * LAYER_MATRICES_MAX
};

/* Equal ones once, in the order of layers. */
struct matrices {
    struct matrix items[MATRICES_MAX];
    uint32_t count;
};

/* Of a layer of a kind; of a stage's GPU; of those the ones of the busiest rank, when those that
 * hold the same deal them. */
void matrices_of_layer(const struct matrix_split *split, const struct matrix_rule *rule,
                       const struct layer_kind *kind, struct matrices *found);
void matrices_of_stage(const struct matrix_split *split, const struct matrix_rule *rule,
                       struct matrices *found);
void matrices_dealt(const struct matrix_split *split, const struct matrix_rule *rule,
                    struct matrices *found);

/* Parameters in them, which this GPU holds. */
struct matrix_elements {
    double dense, experts;
};
struct matrix_elements matrices_elements(const struct matrices *matrices);
/* In all of a stage's GPU. */
struct matrix_elements matrices_stage_elements(const struct matrix_split *split,
                                               const struct matrix_rule *rule);

/* FLOPs of the products of one: steps x (4 m m n + 2 m m m), m the shorter side. */
double matrix_flop(const struct matrix_rule *rule, const struct matrix *matrix);
/* And of all that a stage's mean GPU updates in a step. */
double matrices_mean_flop(const struct matrix_split *split, const struct matrix_rule *rule);

/* The kernels that update `matrix`, all `count` of them, one after the other: what streams memory
 * and the products. torch copies what is added to a product first, then multiplies onto it. */
void matrices_update(const struct optimizer *optimizer, const struct matrix *matrix,
                     struct segment *segment);

/* Bytes that are gathered over tp before, whole; 0: shards are updated as they are. */
double matrices_gathered_bytes(const struct optimizer *optimizer, const struct matrices *matrices);

#endif
