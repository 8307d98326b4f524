/* Files that the program has inside: the catalogue, of a program of one file (`make static`). Of
 * any other there are none.
 *
 * Their paths begin with the folder BUILT_IN, which no disk has: "<built-in>/models/gpus/x.yaml".
 * They are opened by path_open() (base/path.h), as any other.
 */
#ifndef BASE_BUILT_IN_H
#define BASE_BUILT_IN_H

#include <stdbool.h>
#include <stdint.h>

#define BUILT_IN "<built-in>"

struct built_in_file {
    const char *name; /* "models/gpus/x.yaml" */
    const char *bytes;
    uint64_t size_bytes;
};

/* In the order of names; *count is 0 where the program has none. Static. */
const struct built_in_file *built_in_list(uint64_t *count);

/* The file of that path; NULL: there is none. */
const struct built_in_file *built_in_find(const char *path);

/* What is behind the folder of a file's path: "x.yaml" of BUILT_IN "/models/gpus"; NULL: it does
 * not lie there, or deeper. */
const char *built_in_in_folder(const struct built_in_file *file, const char *folder);

#endif
