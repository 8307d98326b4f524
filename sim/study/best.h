/* Each value of an axis at its own best: a network of 400 Gbps wants another layout than one of
 * 3200, and a comparison of both with one layout compares layouts.
 *
 * For each point of a study (a value of an axis, or some values of several) the layouts of the
 * scenario's `search:` are searched (study/search), or of these the usual ones, in seconds
 * (search_space_of_free). Then every winner is predicted at every point, so that the *regret* can
 * be told: what a layout costs that was chosen for another value.
 */
#ifndef STUDY_BEST_H
#define STUDY_BEST_H

#include "base/check.h"
#include "study/search/search.h"
#include "study/search/search_space.h"
#include "study/search/search_tree.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct study_point;

/* A layout that misses the memory by little, and is better than what fits. */
struct best_near {
    bool is_found;
    bool is_certified; /* as search_near has it */
    const char *label;
    struct search_sets sets;
    double value, step_s, memory_bytes;
};

/* Where none meets what is required, the layout that misses least of it. */
struct best_layout {
    bool is_found;
    struct relayout layout;
    const char *label; /* "tp 8, pp 16": the axes of the space that are not fixed */
    struct search_sets sets;
    struct search_counts counts;
    double gap; /* no layout is better by more than that fraction */
    bool is_certified;
    const char *left_out;       /* what the software has not; NULL: nothing */
    const char *lack;           /* where nothing fits: the nearest, and what it lacks */
    double value, memory_bytes; /* of the layout found, of what it is judged by; else ABSENT, 0 */
    double limit_bytes;         /* a GPU's */
    double margin;              /* of it that is left free */
    double within;              /* the value without that margin, if better; else ABSENT */
    struct best_near near;
};

struct best_request {
    const struct doc_node *document;
    const struct study_base *base;
    const struct study *values; /* its points: which values are set */
    enum search_by by;
    double gap;
    double near;                          /* search_request's */
    const struct search_require *require; /* likewise */
    uint32_t jobs;
    bool folds;
    bool is_usual; /* of an axis that `search:` does not name the usual values, not all */
    /* Before each search; then as search_request has it. NULL: nobody looks. */
    void (*begins)(void *context, const struct study_point *point);
    bool (*goes_on)(void *context, const struct search_state *state);
    void *context;
};

/* Of each point, in their order; the strings are the arena's. Points that differ in prices alone
 * are searched once, where the step is judged and nothing is required. A point of which nothing
 * fits, or where nothing can be searched, has none, and says why. False, with the messages of the
 * first, where that is so of all. */
MUST_USE bool best_find(struct arena *arena, const struct best_request *request,
                        struct best_layout *layouts, struct diag *diag);

/* A point with a layout that was found for it or another, under its own label. */
void best_lay_out(struct arena *arena, const struct study_point *value,
                  const struct best_layout *layout, struct study_point *point);

/* Every layout found at every point: point i * count + k of the study is value i with the layout of
 * value k; those of values without one are left out. `number_of` [count * count] says which point
 * that is, STUDY_POINTS_MAX: none. */
MUST_USE bool best_study(struct arena *arena, const struct best_request *request,
                         const struct best_layout *layouts, struct study *study,
                         uint32_t *number_of, struct diag *diag);

#endif
