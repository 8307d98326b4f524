/* A recipe: what people set together, under one name: models/recipes/NAME.yaml.
 *
 * A profile (input/software.h) says what a framework of a year can do, a recipe what those who
 * trained with it switched on: overlaps, graphs, precisions, what is computed again. A scenario
 * names it (`recipe: NAME`), and so does a published run.
 *
 *     recipe: megatron-userbuffers
 *     title: Tensor parallelism overlapped tile by tile
 *     source: 'https://..., read when'
 *     extends: another                  # optional: what that one sets, and then this
 *     set:                              # any keys of a scenario, as --set has them
 *       software.overlap.tp_pieces: 4
 *       recompute: {modules: [norm]}
 *
 * A recipe goes before the files of the catalogue that the scenario names (profile, model), and
 * behind the scenario and --set: what these state themselves it leaves as it is. A key is stated
 * when it stands there itself, or one above it does as no mapping (`recompute: none` states
 * recompute.modules, too); a name of a file (`software: NAME`) states nothing of what is in it.
 * The machine is not a recipe's: cluster, gpu and library are refused.
 *
 * Nodes that a recipe puts have the places of its file, so that what is wrong with them is told
 * there. With `provenance: assumed` its values are among the run's assumptions.
 */
#ifndef INPUT_RECIPE_H
#define INPUT_RECIPE_H

#include "input/catalogue.h"
#include "input/schema/schema.h"

/* How many recipes may extend each other. */
enum { RECIPE_CHAIN_MAX = 8 };

struct recipe {
    const char *name;  /* NULL: none */
    const char *title; /* of its file */
};

/* Its keys; its object is a struct recipe. */
extern const struct schema recipe_schema;

MUST_USE bool recipe_read(const struct doc_node *node, struct recipe *recipe,
                          struct assumptions *assumptions, struct diag *diag);

/* The recipe that a name, a path or a mapping stands for, with `extends` gone and its assignments,
 * those of the recipes it extends first, under `set`: one child for each value, its key the whole
 * path. NULL, with a message, when there is none, or it sets what is not a recipe's. */
MUST_USE struct doc_node *recipe_open(struct arena *arena, const struct catalogue *catalogue,
                                      const struct doc_node *reference, struct diag *diag);

/* Puts what an opened recipe sets into `root`, a scenario in which the files that it names have
 * been put, unless `own`, the scenario without them, states it. */
void recipe_apply(struct arena *arena, const struct doc_node *recipe, const struct doc_node *own,
                  struct doc_node *root);

#endif
