/* Keys of the layout that a scenario leaves to us (input/study/auto_keys), found: the layout whose
 * step is shortest of those that differ in these keys alone.
 *
 *     struct auto_layout found;
 *     const struct scenario *scenario =
 *         search_auto_resolve(arena, document, &base, &found, diag);
 *
 * What each key may be is said by `search:`, as for stoker search, or is what is usual
 * (search_space_of_free). The search ends when none of them can be better by more than AUTO_GAP,
 * or AUTO_SIMULATED_MAX have been simulated: then it says by how much one might. Its outcome does
 * not depend on how many processes there are. What is found is put into the scenario as --set would
 * do it, so that the run is that of the scenario which says it.
 *
 * ASSUMES: the layout is looked for as if loaders kept up with any.
 * ASSUMES: with ideal.pipeline the layout is the one that is best without: no bound of a step knows
 * of a pipeline that nobody waits in.
 */
#ifndef STUDY_SEARCH_SEARCH_AUTO_H
#define STUDY_SEARCH_SEARCH_AUTO_H

#include "input/relayout.h"
#include "input/study/auto_keys.h"
#include "study/study.h"

#define AUTO_GAP 0.01
enum { AUTO_SIMULATED_MAX = 1000 };

/* Strings are the arena's. */
struct auto_layout {
    bool is_asked; /* some key is auto; else nothing else holds */
    bool is_found;
    struct relayout layout;
    const char *label;           /* "tp 8, micro 2": the keys that had a choice */
    const char *sets[AUTO_KEYS]; /* "parallel.tp=8" */
    uint32_t set_count;
    uint64_t layouts;       /* among so many */
    double margin;          /* of a GPU's memory, left free */
    double gap;             /* none of these is better by more than that fraction */
    const char *lack;       /* where nothing fits: the nearest, and what it lacks; else NULL */
    const char *impossible; /* why no layout can be, whatever it is; NULL: some may */
};

/* False with a message: the input is wrong. */
MUST_USE bool search_auto_find(struct arena *arena, const struct doc_node *document,
                               const struct study_base *base, struct auto_layout *found,
                               struct diag *diag);

/* The same as if each such key were auto, whatever is written. */
MUST_USE bool search_usual_find(struct arena *arena, const struct doc_node *document,
                                const struct study_base *base, struct auto_layout *found,
                                struct diag *diag);

/* That nothing fits, as an infeasible plan. */
void search_auto_tell_lack(const struct auto_layout *found, struct diag *diag);

/* What is set, and behind it what is found. */
struct study_base search_auto_base(struct arena *arena, const struct study_base *base,
                                   const struct auto_layout *found);

/* The scenario with what is found. NULL, with messages: the input is wrong or nothing fits. */
struct scenario *search_auto_resolve(struct arena *arena, const struct doc_node *document,
                                     const struct study_base *base, struct auto_layout *found,
                                     struct diag *diag);

/* "layout found by search among 1,234: tp 8, micro 2 (--set ...); none is better by more than 1 %".
 */
const char *search_auto_text(struct arena *arena, const struct auto_layout *found);

#endif
