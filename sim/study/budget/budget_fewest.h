/* How many GPUs a model needs: of each size that the catalogue has those that hold its states, and
 * of one GPU those that train it, by a search of layouts.
 *
 * What trains is more than what holds: activations, buffers, and layouts whose degrees divide the
 * model. It is sought among powers of two within a node, then whole nodes, from those on that hold
 * 16 bytes a parameter: one after the other for BUDGET_FEWEST_NEAR of them, then each twice the
 * last.
 */
#ifndef STUDY_BUDGET_BUDGET_FEWEST_H
#define STUDY_BUDGET_BUDGET_FEWEST_H

#include "study/study.h"

enum { BUDGET_SIZES_MAX = 32, BUDGET_FEWEST_NEAR = 16, BUDGET_FEWEST_DOUBLED = 4 };

struct budget_size {
    double gpu_bytes;
    const char *gpus; /* "h100-sxm5-80gb and 2 more" */
};

/* Memories of the catalogue's GPUs, rising, those within 2 % of each other as the least of them.
 * Returns how many. */
uint32_t budget_sizes(struct arena *arena, const struct catalogue *catalogue,
                      struct budget_size sizes[BUDGET_SIZES_MAX]);

struct budget_fewest {
    int64_t gpus;                /* 0: none of those that were tried */
    uint32_t tried;              /* numbers of GPUs */
    int64_t most;                /* the last of them */
    const char *cluster;         /* on which */
    double step_s, memory_bytes; /* of the layout that was found first, no search for the fastest */
};

struct budget_fewest_asked {
    const char *model, *cluster;
    int64_t gpus_per_node;
    double holds; /* GPUs from which on it is sought */
    const struct study_base *base;
};

/* False with messages. */
MUST_USE bool budget_fewest_find(struct arena *arena, const struct budget_fewest_asked *asked,
                                 struct budget_fewest *fewest, struct diag *diag);

#endif
