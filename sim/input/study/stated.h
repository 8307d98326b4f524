/* What a scenario says itself, for files that fill in what it does not: recipes (input/recipe) and
 * a house's defaults (input/study/house).
 */
#ifndef INPUT_STUDY_STATED_H
#define INPUT_STUDY_STATED_H

#include "input/doc/doc.h"

/* Whether `own`, a scenario without its files, says this key itself, or one above it as something
 * else than a mapping (`recompute: none` states recompute.modules, too). A name at the top that
 * stands for a file says nothing of what is in the file. */
bool stated_in(const struct doc_node *own, const char *path);

/* Whether a path is the key itself, or below it: price.own of price. */
bool stated_below(const char *path, const char *key);

/* Puts a value, whose key is its whole path, into `root`, with its places; mappings on the way are
 * made. Nodes on the way are copied, so that what `root` shares stays as it is. */
void stated_put(struct arena *arena, struct doc_node *root, const struct doc_node *value);

#endif
