/* All layouts of a space, each counted, and of those that may fit a least time: the first part of a
 * search (study/search/search).
 *
 * Degrees are tried in turn; what does not go together is not counted (input/relayout). A family
 * (tp, cp, ep, etp, pp, micro, sequence parallelism) has kernel times and collectives in common,
 * found when its first layout may fit; lines within it differ in schedule, virtual stages, ZeRO and
 * the optimizer's offload; layouts within a line in what is computed again and which layers'
 * activations go to the host. A line of which nothing may fit is left out whole; of the others each
 * layout's least memory is looked at (study/search/search_memory), and of those that may fit the
 * least time (train/bound).
 *
 * Those that miss a GPU's memory by at most a fraction of it are near misses: they are leaves
 * apart, and count with what does not fit. In a line of which nothing else may fit they have no
 * bound until somebody asks (search_leaves_bound).
 */
#ifndef STUDY_SEARCH_SEARCH_TREE_H
#define STUDY_SEARCH_SEARCH_TREE_H

#include "base/check.h"
#include "base/shard.h"
#include "input/features/features.h"
#include "input/relayout.h"
#include "study/search/search_by.h"
#include "study/search/search_choices.h"

struct arena;

/* A layout that may fit. */
struct search_leaf {
    double least; /* of what it is judged by */
    uint32_t line;
    uint16_t choice;    /* number of a recomputation; then layers computed again, from 1 */
    uint16_t offloaded; /* layers of each stage */
};

struct search_line {
    struct relayout layout; /* but recompute and offload.activation_layers */
    int64_t largest_chunk;  /* layers */
    uint32_t family;        /* number, of those met: by degrees, microbatch and sequence
                             * parallelism, whatever zero_group */
};

struct search_tree {
    const struct search_space *space;
    enum search_by by;
    struct search_line *lines; /* that have leaves, near misses too */
    uint32_t line_count;
    struct search_leaf *leaves;
    uint64_t leaf_count;
    struct search_leaf *near; /* that miss by at most growth's `near`; `least` may be 0 */
    uint64_t near_count;
    uint64_t layouts;        /* whose sizes go together */
    uint64_t line_layouts;   /* of these, in lines of which none may fit */
    uint64_t memory_layouts; /* in other lines, that may not fit themselves */
    uint64_t bound_layouts;  /* in lines of which none is as good as growth's `enough` */
    struct search_lacking lacking;
    uint64_t families;       /* whose kernels were timed */
    struct relayout nearest; /* to fitting: of the least memory */
    double nearest_bytes;    /* at least; 0 without layouts */
};

/* `goes_on` is asked now and then, with how many layouts there are so far, of which share of the
 * space; false ends it (NULL: nobody), and then the tree is not whole. */
struct search_watch {
    bool (*goes_on)(void *context, uint64_t layouts, double share);
    void *context;
};

/* What grows: of a space, or of the families of one shard of it. */
struct search_growth {
    const struct search_space *space;
    enum search_by by;
    struct shard shard;
    double near;   /* a fraction of a GPU's memory; 0: none is a near miss */
    double enough; /* a line whose least value is above it is left out whole; ABSENT: none is */
};

/* False when it was ended. Memory of leaves and lines is the arena's. */
MUST_USE bool search_tree_grow(struct arena *arena, const struct search_growth *of,
                               const struct search_watch *watch, struct search_tree *tree);

/* The layout that a leaf is. */
struct relayout search_leaf_layout(const struct search_tree *tree, const struct search_leaf *leaf);

/* Puts bounds (train/bound's) in the place of those that the leaves have, where these are less:
 * those that leaves which may fit are given when the tree grows, or closer ones. What a family
 * costs is spent once for all of its leaves that are given at once. */
void search_leaves_bound(const struct search_tree *tree, struct search_leaf *leaves,
                         uint64_t count);
void search_leaves_refine(const struct search_tree *tree, struct search_leaf *leaves,
                          uint64_t count);

#endif
