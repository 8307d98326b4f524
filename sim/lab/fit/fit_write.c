/* Writes fitted constants into the files of the catalogue, changing nothing
 * else in them. A file is read anew for each change, for every change moves
 * the places behind it.
 */
#include "lab/fit/fit_write.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/path.h"
#include "input/catalogue.h"
#include "input/doc/doc.h"

#include <stdio.h>
#include <string.h>

enum { DIGITS = 6, PARTS_MAX = 8 };

struct writer {
    struct arena *arena;
    struct diag *diag;
    const struct fit_constant *constant;
    const char *path;  /* of the file */
    const char *key;   /* in the file: "host.per_kernel" */
    const char *value; /* "4.25 us" */
};

/* ---- text ------------------------------------------------------------------------------- */

static size_t offset_of(const struct place *place)
{
    const char *at = place->source_text;
    for (uint32_t line = 1; line < place->line; line++) {
        at = strchr(at, '\n') + 1;
    }
    return (size_t)(at - place->source_text) + place->column - 1;
}

/* The file with `taken` bytes at `at` replaced. */
static bool splice(const struct writer *writer, const char *text, size_t at, size_t taken,
                   const char *put)
{
    struct path_file file;
    if (!path_begin(writer->arena, writer->path, &file, writer->diag)) {
        return false;
    }
    fwrite(text, 1, at, file.out);
    fputs(put, file.out);
    fputs(text + at + taken, file.out);
    return path_end(&file, true, writer->diag);
}

/* A plain scalar is in the file as it is in the node, a quoted one between its quotes. */
static bool replace(const struct writer *writer, const struct doc_node *node, const char *put)
{
    const char *text = node->place.source_text;
    sim_assert(text != NULL && node->text != NULL); /* a scalar that was read from the file */
    const size_t at = offset_of(&node->place);
    const size_t inside = at + (node->is_quoted ? 1 : 0);
    const size_t length = strlen(node->text);
    if (strncmp(text + inside, node->text, length) != 0) {
        return diag_add(writer->diag, DIAG_INPUT, &node->place,
                        "this is not written plainly enough to be replaced");
    }
    return splice(writer, text, inside, length, put);
}

/* ---- keys that are not there ------------------------------------------------------------ */

/* "spread: 1 %"; of "a.spread", "a: {spread: 1 %}". Two missing mappings are not nested. */
static const char *nested(const struct writer *writer, const char *key)
{
    const char *dot = strchr(key, '.');
    if (dot == NULL) {
        return arena_printf(writer->arena, "%s: %s", key, writer->value);
    }
    return arena_printf(writer->arena, "%.*s: {%s: %s}", (int)(dot - key), key, dot + 1,
                        writer->value);
}

/* First in the mapping: on a line of its own in a block, before the first key in a flow. */
static bool insert_first(const struct writer *writer, const struct doc_node *mapping,
                         const char *rest)
{
    const struct doc_node *first = mapping->child;
    const char *text = first->key_place.source_text;
    const size_t at = offset_of(&first->key_place);
    const uint32_t indent = first->key_place.column - 1;
    const char *line = text + at - indent;
    const bool is_block = strspn(line, " ") >= indent;
    const char *item = nested(writer, rest);
    const char *put = is_block ? arena_printf(writer->arena, "%s\n%*s", item, (int)indent, "")
                               : arena_printf(writer->arena, "%s, ", item);
    return splice(writer, text, at, 0, put);
}

/* In single quotes, which are doubled. */
static const char *quoted(struct arena *arena, const char *text)
{
    char *result = arena_alloc(arena, 2 * strlen(text) + 3);
    char *to = result;
    *to++ = '\'';
    for (; *text != '\0'; text++) {
        const char shown = (char)(*text == '\n' ? ' ' : *text);
        *to++ = shown;
        if (shown == '\'') {
            *to++ = shown;
        }
    }
    *to++ = '\'';
    return result;
}

static bool append_section(const struct writer *writer, const struct doc_node *root)
{
    const char *text = root->place.source_text;
    const size_t length = strlen(text);
    const char *dot = strchr(writer->key, '.');
    const char *end = length > 0 && text[length - 1] == '\n' ? "" : "\n";
    if (dot == NULL) {
        return splice(writer, text, length, 0,
                      arena_printf(writer->arena, "%s%s: %s\n", end, writer->key, writer->value));
    }
    const char *put =
        arena_printf(writer->arena, "%s%.*s:\n  %s\n  provenance: fitted\n  source: %s\n", end,
                     (int)(dot - writer->key), writer->key, nested(writer, dot + 1),
                     quoted(writer->arena, arena_printf(writer->arena,
                                                        "fitted to whole steps "
                                                        "(stoker-lab calibrate steps); "
                                                        "prior: %s",
                                                        writer->constant->source)));
    return splice(writer, text, length, 0, put);
}

/* ---- one change ------------------------------------------------------------------------- */

/* The mapping that holds the key, or would: the last one on the path. *rest is what is
 * missing below it. */
static const struct doc_node *holder_of(const struct writer *writer, const struct doc_node *root,
                                        const char **rest)
{
    const struct doc_node *holder = root;
    *rest = writer->key;
    for (uint32_t part = 0; part < PARTS_MAX; part++) {
        const char *dot = strchr(*rest, '.');
        if (dot == NULL) {
            break;
        }
        const char *name = arena_strndup(writer->arena, *rest, (size_t)(dot - *rest));
        const struct doc_node *next = doc_find(holder, name);
        if (next == NULL || next->kind != DOC_MAPPING) {
            break;
        }
        holder = next;
        *rest = dot + 1;
    }
    return holder;
}

static bool put_value(const struct writer *writer, const struct doc_node *root,
                      const struct doc_node *node)
{
    const char *rest;
    const struct doc_node *holder = holder_of(writer, root, &rest);
    if (node != NULL && node->kind != DOC_SCALAR) {
        return diag_add(writer->diag, DIAG_INPUT, &node->place, "a number is wanted here, for '%s'",
                        writer->constant->name);
    }
    if (node != NULL) {
        return replace(writer, node, writer->value);
    }
    return holder == root ? append_section(writer, root) : insert_first(writer, holder, rest);
}

/* Of the section that holds the key, when it says one. */
static bool put_provenance(const struct writer *writer)
{
    const struct doc_node *root = doc_load(writer->arena, writer->path, writer->diag);
    const char *rest;
    if (root == NULL) {
        return false;
    }
    const struct doc_node *said = doc_find(holder_of(writer, root, &rest), "provenance");
    return said == NULL || said->kind != DOC_SCALAR || strcmp(said->text, "fitted") == 0 ||
           replace(writer, said, "fitted");
}

static bool change(const struct writer *writer, struct fit_changes *changes)
{
    const struct doc_node *root = doc_load(writer->arena, writer->path, writer->diag);
    if (root == NULL) {
        return false;
    }
    const struct doc_node *node = doc_find(root, writer->key);
    const char *before = node != NULL ? node->text : NULL;
    if (before != NULL && strcmp(before, writer->value) == 0) {
        return true;
    }
    changes->items = arena_grow(writer->arena, changes->items, &changes->capacity,
                                (size_t)changes->count + 1, sizeof *changes->items);
    changes->items[changes->count++] =
        (struct fit_change){writer->path, writer->key, before, writer->value};
    return put_value(writer, root, node) && put_provenance(writer);
}

bool fit_write(struct arena *arena, const struct catalogue *catalogue, const struct fit *fit,
               struct fit_changes *changes, struct diag *diag)
{
    for (uint32_t k = 0; k < fit->problem->plan->count; k++) {
        const struct fit_constant *constant = &fit->problem->plan->constants[k];
        const char *folder = catalogue_folders[fit_constant_kind(constant)];
        for (uint32_t i = 0; i < constant->file_count && fit->is_told[k]; i++) {
            struct writer writer = {
                .arena = arena,
                .diag = diag,
                .constant = constant,
                .path = catalogue_find(arena, catalogue, folder, constant->files[i]),
                .key = strchr(constant->key, '.') + 1,
                .value = fit_constant_text(arena, constant, fit->value[k], DIGITS),
            };
            if (writer.path == NULL) {
                return diag_add(diag, DIAG_INPUT, &constant->place, "there is no file '%s' in %s",
                                constant->files[i], folder);
            }
            if (!change(&writer, changes)) {
                return false;
            }
        }
    }
    return true;
}
