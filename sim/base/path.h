/* Files that we write: the folders on the way to them, and each whole or as it was. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include "base/diag.h"

#include <stdio.h>

/* Makes the directories that `path`'s file lies in, as `mkdir -p` would.
 * False with a DIAG_FAILURE when one cannot be made. */
MUST_USE bool path_make_directories(struct arena *arena, const char *path, struct diag *diag);

/* A file that is being written under another name, PATH.part, which it gets at its end: one that is
 * there is whole, and what was there before stays until then, with its permissions afterwards. What
 * lies under the other name is taken away first, and a link in the way is replaced, never followed.
 * What is no plain file (/dev/stdout, a pipe) is written as it is. */
struct path_file {
    const char *path;
    const char *part; /* NULL: written under its own name, being no plain file */
    int file;
    FILE *out; /* takes what the file is to hold */
};

/* Makes the directories it lies in, too. False with a DIAG_FAILURE; such a file needs no end. */
MUST_USE bool path_begin(struct arena *arena, const char *path, struct path_file *file,
                         struct diag *diag);

/* Flushed, on the disk, closed and renamed. `is_good` false: thrown away, by whoever has said why.
 * False with a DIAG_FAILURE, and nothing is left behind. */
MUST_USE bool path_end(struct path_file *file, bool is_good, struct diag *diag);

/* What a file is to hold. */
struct path_content {
    bool (*write)(const void *context, FILE *out); /* false: with errno, it cannot be written */
    const void *context;
    const char *remedy; /* where it cannot be written; not NULL */
    bool is_new;        /* it must not be there yet */
};

/* The two, with the content between them. */
MUST_USE bool path_write_whole(struct arena *arena, const char *path,
                               const struct path_content *content, struct diag *diag);

/* For reading, also of what the program has inside (base/built_in.h); NULL with errno. */
FILE *path_open(const char *path);

/* The path from the root, for a message; as it is when the current directory cannot be told. */
const char *path_whole(struct arena *arena, const char *path);

#endif
