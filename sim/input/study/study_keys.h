/* The keys of a scenario that make a study of it: `sweep` and `variants`, which stoker sweep and
 * stoker compare turn into points, `require`, which these must meet, and `search`, of stoker
 * search. They change no prediction, and a resolved scenario has none.
 */
#ifndef INPUT_STUDY_STUDY_KEYS_H
#define INPUT_STUDY_STUDY_KEYS_H

#include "input/doc/leaves.h"
#include "input/schema/schema.h"

/* The keys beside those of a scenario, which nothing is read from. */
extern const struct schema study_schema;

/* Checks that each key of `search:` is an axis, dotted or nested; whoever reads the scenario, since
 * one that is not would be told only by stoker search. What an axis is to hold is not looked at. */
MUST_USE bool study_check_search(struct arena *arena, const struct doc_node *search,
                                 struct diag *diag);

/* What `search:`, a mapping, holds: its axes. */
struct doc_leaves study_search_leaves(struct arena *arena, const struct doc_node *search);

/* An entry of `variants`, as written. */
struct study_variant {
    const char *name;
    const struct doc_node *set; /* NULL: it sets nothing */
};
/* Its keys; the object is a struct study_variant. */
extern const struct schema study_variant_keys;

#endif
