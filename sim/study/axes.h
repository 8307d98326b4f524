/* Axes of a sweep in a line each, as a command line has them: "KEY=A,B" or, of whole numbers,
 * "KEY=1..8".
 */
#ifndef STUDY_AXES_H
#define STUDY_AXES_H

#include "base/diag.h"
#include "input/doc/doc.h"

/* The document with these axes in its `sweep`, in the place of what it has under the same key; as
 * it is where there are none. NULL, with a message, when one is wrong. */
const struct doc_node *axes_add(struct arena *arena, const struct doc_node *document,
                                const char *const *axes, uint32_t count, struct diag *diag);

#endif
