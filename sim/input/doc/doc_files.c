/* Lists of files and of answers by path: a study has some ten, so they are scanned. A reader's
 * struct is kept with the assumptions that it noted, which are noted again for each copy; a reader
 * that had something to say is asked each time, so that its messages come each time.
 */
#include "input/doc/doc_files.h"

#include "base/arena.h"
#include "input/doc/text_file.h"
#include "input/doc/text_source.h"

#include <string.h>

struct doc_kept {
    struct arena *arena;
    const char *path;
    struct doc_node *root;
    const char *text; /* NULL until it is asked for */
    size_t text_length;
    const struct doc_reader *reader; /* that made the object; NULL: none yet */
    void *object;
    struct assumptions assumptions;
    bool is_talkative; /* a reader has messages about it */
    struct doc_kept *next;
};

/* Whether there was a file when it was first asked for. */
struct answer {
    const char *path;
    bool exists;
    struct answer *next;
};

struct doc_files {
    struct arena *arena;
    struct doc_kept *first;
    struct answer *first_answer;
};

struct doc_files *doc_files_new(struct arena *arena)
{
    struct doc_files *files = arena_alloc(arena, sizeof *files);
    files->arena = arena;
    return files;
}

static struct doc_kept *find(const struct doc_files *files, const char *path)
{
    struct doc_kept *kept = files->first;
    while (kept != NULL && strcmp(kept->path, path) != 0) {
        kept = kept->next;
    }
    return kept;
}

/* Messages point into the text, so a file that is wrong lives as long as they do. */
static struct doc_kept *keep(struct doc_files *files, const char *path, struct diag *diag)
{
    struct doc_node *root = doc_load(files->arena, path, diag);
    if (root == NULL) {
        return NULL;
    }
    struct doc_kept *kept = arena_alloc(files->arena, sizeof *kept);
    *kept = (struct doc_kept){.arena = files->arena,
                              .path = arena_strdup(files->arena, path),
                              .root = root,
                              .next = files->first};
    root->kept = kept;
    files->first = kept;
    return kept;
}

struct doc_node *doc_files_load(struct doc_files *files, struct arena *arena, const char *path,
                                struct diag *diag)
{
    if (files == NULL) {
        return doc_load(arena, path, diag);
    }
    const struct doc_kept *known = find(files, path);
    const struct doc_kept *kept = known != NULL ? known : keep(files, path, diag);
    if (kept == NULL) {
        return NULL;
    }
    struct doc_node *root = arena_alloc(arena, sizeof *root);
    *root = *kept->root;
    return root;
}

bool doc_files_exist(struct doc_files *files, const char *path)
{
    if (files == NULL) {
        return text_source_exists(path);
    }
    const struct answer *known = files->first_answer;
    while (known != NULL && strcmp(known->path, path) != 0) {
        known = known->next;
    }
    if (known != NULL) {
        return known->exists;
    }
    struct answer *answer = arena_alloc(files->arena, sizeof *answer);
    *answer = (struct answer){.path = arena_strdup(files->arena, path),
                              .exists = text_source_exists(path),
                              .next = files->first_answer};
    files->first_answer = answer;
    return answer->exists;
}

/* ---- what was made of a file ------------------------------------------------------------ */

static bool make(struct doc_kept *kept, const struct doc_reader *reader)
{
    struct diag *own = diag_new(kept->arena);
    void *object = arena_alloc(kept->arena, reader->size_bytes);
    assumptions_init(&kept->assumptions, kept->arena);
    const bool is_good = reader->read(kept->root, object, &kept->assumptions, own);
    kept->is_talkative = !is_good || !diag_is_empty(own);
    kept->object = object;
    kept->reader = reader;
    return !kept->is_talkative;
}

bool doc_files_read(const struct doc_reader *reader, const struct doc_node *node, void *object,
                    struct assumptions *assumptions, struct diag *diag)
{
    struct doc_kept *kept = node != NULL ? node->kept : NULL;
    const bool is_made = kept != NULL && !kept->is_talkative &&
                         (kept->reader == reader || (kept->reader == NULL && make(kept, reader)));
    if (!is_made) {
        return reader->read(node, object, assumptions, diag);
    }
    memcpy(object, kept->object, reader->size_bytes);
    for (size_t i = 0; i < kept->assumptions.count; i++) {
        assumptions_add(assumptions, &kept->assumptions.items[i]);
    }
    return true;
}

const char *doc_files_text(const struct doc_node *node, size_t *length)
{
    struct doc_kept *kept = node->kept;
    if (kept == NULL) {
        return NULL;
    }
    if (kept->text == NULL) {
        struct doc_node unkept = *kept->root;
        unkept.kept = NULL;
        kept->text = doc_to_text(kept->arena, &unkept);
        kept->text_length = strlen(kept->text);
    }
    *length = kept->text_length;
    return kept->text;
}
