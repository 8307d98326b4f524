/* The profile that is taken where a scenario names no software: of the framework of the usual one
 * the oldest that is no older than that and than the GPU, and whose release runs on the GPU's
 * architecture (`has.architectures`). The usual one itself, where that is so or nobody knows.
 */
#ifndef INPUT_FEATURES_SOFTWARE_CHOICE_H
#define INPUT_FEATURES_SOFTWARE_CHOICE_H

#include "input/catalogue.h"

/* `gpu` is the mapping of a GPU's file, or NULL. */
const char *software_choice(struct arena *arena, const struct catalogue *catalogue,
                            const struct doc_node *gpu, const char *usual);

#endif
