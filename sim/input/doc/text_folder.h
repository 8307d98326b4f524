/* The files of a folder, for readers that are given one in the place of a file: of logs of ranks,
 * of what a tool wrote.
 *
 * Files of folders below it are among them; what begins with a dot is not. They are in the order of
 * their paths, numbers by their value: rank2 before rank10.
 */
#ifndef INPUT_DOC_TEXT_FOLDER_H
#define INPUT_DOC_TEXT_FOLDER_H

#include "base/check.h"
#include "base/diag.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;

struct text_folder {
    const char *path;
    const char **files; /* paths, the arena's */
    uint32_t count;
    bool *are_read; /* of each: it was taken by who asks; false at first */
};

bool text_folder_is(const char *path);

/* False with a message: too many files, too deep, none. `path` must live as long as the diag. */
MUST_USE bool text_folder_list(struct arena *arena, const char *path, struct text_folder *folder,
                               struct diag *diag);

struct text_paths {
    const char **items; /* the arena's */
    uint32_t count;
};

/* Puts in the place of each folder those of its files that `takes` says yes to, with a note which.
 * False with a message, when of a folder none is. */
MUST_USE bool text_folder_expand(struct arena *arena, const struct text_paths *given,
                                 bool (*takes)(const char *path), struct text_paths *files,
                                 struct diag *diag);

/* A note that names files that are read and files that are not. */
void text_folder_tell(struct arena *arena, const struct text_folder *folder, struct diag *diag);

#endif
