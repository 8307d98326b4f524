/* Files that were read, kept for whoever names them again.
 *
 * The points of a study name the same model, cluster and GPU over and over. Each file is read and
 * parsed once, and what comes out is handed to every point; so are the text of the whole file
 * (doc_to_text) and the struct that a reader made of it. A study thus sees one state of its files,
 * whatever becomes of them while it runs; the next one reads them again. What could not be read is
 * not kept. Nor is a file looked for twice: one that is taken away, or put where it would come
 * first, must not make a name mean another file.
 *
 *     struct doc_files *files = doc_files_new(arena);      // ends with the arena
 *     struct doc_node *root = doc_files_load(files, points_arena, "models/llms/x.yaml", diag);
 *
 * The root is the caller's own node; what is below belongs to the files and is shared. Who relinks
 * or sets something below a node calls doc_own_children first; doc_set does so by itself. A node
 * for which nobody did stands for the file as it was read: `kept` says so.
 */
#ifndef INPUT_DOC_DOC_FILES_H
#define INPUT_DOC_DOC_FILES_H

#include "input/doc/provenance.h"

#include <stddef.h>

struct arena;
struct doc_files;

struct doc_files *doc_files_new(struct arena *arena);

/* As doc_load, which it is when `files` is NULL. */
MUST_USE struct doc_node *doc_files_load(struct doc_files *files, struct arena *arena,
                                         const char *path, struct diag *diag);

/* As text_source_exists, which it is when `files` is NULL; the first answer holds. */
bool doc_files_exist(struct doc_files *files, const char *path);

/* Of a whole file: struct gpu, struct library. Plain data: who gets a copy must be able to change
 * all that it reaches, aside from texts and the lists of an explicit fabric, which nobody does. */
struct doc_reader {
    size_t size_bytes;
    bool (*read)(const struct doc_node *node, void *object, struct assumptions *assumptions,
                 struct diag *diag);
};

/* What the reader makes of the node, once for each kept file. */
MUST_USE bool doc_files_read(const struct doc_reader *reader, const struct doc_node *node,
                             void *object, struct assumptions *assumptions, struct diag *diag);

/* The text of a kept file's root: what doc_to_text gives for it. NULL: it is none, or was
 * changed. */
const char *doc_files_text(const struct doc_node *node, size_t *length);

#endif
