/* Paths of files that we write. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include "base/diag.h"

/* Makes the directories that `path`'s file lies in, as `mkdir -p` would.
 * False with a DIAG_FAILURE when one cannot be made. */
MUST_USE bool path_make_directories(struct arena *arena, const char *path, struct diag *diag);

/* The path from the root, for a message; as it is when the current directory cannot be told. */
const char *path_whole(struct arena *arena, const char *path);

#endif
