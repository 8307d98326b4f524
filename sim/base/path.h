/* Files that we write: the way to them, and that what is there is whole. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include "base/diag.h"

#include <stdio.h>

/* Makes the directories that `path`'s file lies in, as `mkdir -p` would.
 * False with a DIAG_FAILURE when one cannot be made. */
MUST_USE bool path_make_directories(struct arena *arena, const char *path, struct diag *diag);

/* What a file is to hold. */
struct path_content {
    bool (*write)(const void *context, FILE *out); /* false: with errno, it cannot be written */
    const void *context;
    const char *remedy; /* where it cannot be written; not NULL */
};

/* Writes the file under another name first (PATH.part) and renames it, with the directories it
 * lies in: one that is there is whole, and what was there before stays until then. False with a
 * DIAG_FAILURE, and nothing is left behind. */
MUST_USE bool path_write_whole(struct arena *arena, const char *path,
                               const struct path_content *content, struct diag *diag);

/* The path from the root, for a message; as it is when the current directory cannot be told. */
const char *path_whole(struct arena *arena, const char *path);

#endif
