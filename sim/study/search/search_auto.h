/* Keys of the layout that a scenario leaves to us (input/study/auto_keys), found: the layout whose
 * step is shortest of those that differ in these keys alone.
 *
 *     const struct auto_hook hook = search_auto_hook(&base);
 *     struct auto_layout found;
 *     const struct scenario *scenario = auto_layout_resolve(arena, document, &hook, &found, diag);
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

#include "input/study/auto_layout.h"
#include "study/study.h"

#define AUTO_GAP 0.01
enum { AUTO_SIMULATED_MAX = 1000 };

/* False with a message: the input is wrong. */
MUST_USE bool search_auto_find(struct arena *arena, const struct doc_node *document,
                               const struct study_base *base, struct auto_layout *found,
                               struct diag *diag);

/* The same as if each such key were auto, whatever is written. */
MUST_USE bool search_usual_find(struct arena *arena, const struct doc_node *document,
                                const struct study_base *base, struct auto_layout *found,
                                struct diag *diag);

/* What is set, and behind it what is found. */
struct study_base search_auto_base(struct arena *arena, const struct study_base *base,
                                   const struct auto_layout *found);

/* As who loads a scenario asks it (input/study/auto_layout), with what is set of the base, which it
 * borrows. */
struct auto_hook search_auto_hook(const struct study_base *base);

#endif
