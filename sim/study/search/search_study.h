/* A search and the store: which scenario it begins with, and its best layouts as points of a study.
 *
 * The best layouts become points with the keys that `stoker run --set` takes, and are predicted and
 * stored as those of a sweep (study/study): tables, plots and bands read them back.
 */
#ifndef STUDY_SEARCH_SEARCH_STUDY_H
#define STUDY_SEARCH_SEARCH_STUDY_H

#include "input/features/features.h"
#include "study/search/search.h"
#include "study/search/search_space.h"
#include "study/study.h"

/* The scenario with its own layout or, where that cannot be, the first of the plainest (tp, cp, pp
 * of one to all GPUs, 1f1b) that can: what a search needs besides layouts. NULL, with the messages
 * of its own, when none can or the input is wrong. */
const struct scenario *search_base(struct arena *arena, const struct doc_node *document,
                                   const struct study_base *base, struct diag *diag);

/* The first of the plainest in the keys of free axes, with the others as the scenario has them.
 * NULL, with the messages of the very plainest, when none can be. */
const struct scenario *search_base_of_free(struct arena *arena, const struct doc_node *document,
                                           const struct study_base *base,
                                           const bool is_free[SEARCH_AXIS_COUNT_],
                                           struct diag *diag);

/* That layouts of the base can be judged by that; an input error where they cannot. */
MUST_USE bool search_check(const struct scenario *base, enum search_by by, struct diag *diag);

/* A copy of the document with what --set says below `search.`. */
MUST_USE bool search_narrow(struct arena *arena, const struct doc_node *document,
                            const struct study_base *base, struct doc_node **changed,
                            struct diag *diag);

/* The same for a search of all axes: without keys that are auto, which it finds anyway, and with a
 * warning of what is set in vain. */
MUST_USE bool search_document(struct arena *arena, const struct doc_node *document,
                              const struct study_base *base, const struct doc_node **changed,
                              struct diag *diag);

/* What is stored of a search: the best `top` of what was found and those that nothing beats; where
 * none meets what is required, those that miss least; then what was lost, which has no value: it
 * may be better than all. `count` are without the lost. */
const struct search_found *search_stored(struct arena *arena, const struct search_result *result,
                                         uint32_t top, uint32_t *count);

/* Points of the first `count` layouts found. */
MUST_USE bool search_study(struct arena *arena, const struct doc_node *document,
                           const struct study_base *base, const struct search_space *space,
                           const struct search_found *found, uint32_t count, struct study *study,
                           struct diag *diag);

/* The last digits of a study's key are of the search; the first, by which it is named, of what was
 * found. Near misses change nothing of what fits. */
void search_study_name(struct arena *arena, const struct search_request *request,
                       struct study *study);

/* Forgets studies of the same search that were stored when it had lost layouts, with a note of
 * each: this one stands in their place. */
void search_study_replace(struct arena *arena, struct store *store, const struct study *study,
                          struct diag *diag);

#endif
