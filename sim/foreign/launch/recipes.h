/* What recipes of NeMo and Megatron-Bridge set by themselves: models/launches.yaml of the
 * catalogue, a row a recipe, in the words of their overrides, each with the file that it is from.
 */
#ifndef FOREIGN_LAUNCH_RECIPES_H
#define FOREIGN_LAUNCH_RECIPES_H

#include "foreign/told.h"

struct launch_recipe {
    const char *name;           /* NULL: there is none of that name */
    const char *model;          /* of the catalogue */
    const char *source;         /* repository, release and path */
    const struct doc_node *set; /* a mapping */
};

/* False, with a message, when the table is not what it should be; without one in the catalogue
 * nothing is found. */
MUST_USE bool launch_recipe_find(struct importer *importer, const char *name,
                                 struct launch_recipe *recipe);

/* Sets what it sets and the overrides do not say, each with its place in the table, and notes what
 * that was. */
void launch_recipe_tell(struct told *told, const struct launch_recipe *recipe);

#endif
