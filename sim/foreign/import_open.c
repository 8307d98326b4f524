/* From a path to the text of a kind: a file, standard input or a folder. Of logs beyond 64 MiB the
 * lines are kept that a reader looks at; the files of a folder are looked at one by one, each in
 * memory of its own, and those that are taken are read again.
 */
#include "foreign/import_kinds.h"

#include "base/arena.h"
#include "foreign/logs/log_claims.h"
#include "foreign/logs/log_ranks.h"
#include "input/doc/text_folder.h"

#include <inttypes.h>
#include <string.h>

static const size_t FILE_BYTES_MAX = (size_t)64 << 20;

/* What is asked for: one kind, or whichever of those of `bits`. */
struct wish {
    const struct import_kind *named;
    uint32_t bits;
};

/* ---- one file ------------------------------------------------------------------------------ */

static bool is_line_wanted(const void *context, struct text_span line)
{
    const struct wish *wish = context;
    const struct import_kind *kind = import_kind_at(0);
    for (uint32_t i = 0; kind != NULL; kind = import_kind_at(++i)) {
        const bool is_asked = wish->named != NULL ? wish->named->function == kind->function
                                                  : (kind->bit & wish->bits) != 0;
        if (is_asked && kind->wants != NULL && kind->wants(line)) {
            return true;
        }
    }
    return wish->bits != UINT32_MAX && log_claims_wants(line);
}

static bool load(struct arena *arena, const char *path, const struct wish *wish,
                 struct text_file *file, struct diag *diag)
{
    const struct text_sieve sieve = {FILE_BYTES_MAX, is_line_wanted, wish};
    const bool is_loaded = wish->named != NULL && wish->named->wants == NULL
                               ? text_file_load(arena, path, FILE_BYTES_MAX, file, diag)
                               : text_file_stream(arena, path, &sieve, file, diag);
    return is_loaded && text_file_check(file, diag);
}

/* Only logs may be longer. */
static bool check_size(const struct importer *importer, const struct import_kind *kind)
{
    const struct place place = {.file = importer->file.path};
    return kind->wants != NULL ||
           (importer->file.length <= FILE_BYTES_MAX && importer->file.part_count == 0) ||
           diag_add(importer->diag, DIAG_INPUT, &place,
                    "of a file of %s at most %zu bytes (%zu MiB) are read", kind->name,
                    FILE_BYTES_MAX, FILE_BYTES_MAX >> 20);
}

static void tell_kind(const struct importer *importer, const struct import_kind *kind)
{
    diag_add(importer->diag, DIAG_NOTE, NULL, "%s is read as %s", importer->file.path, kind->name);
}

static const struct import_kind *open_file(struct importer *importer, const char *path,
                                           const struct wish *wish)
{
    if (!load(importer->arena, path, wish, &importer->file, importer->diag)) {
        return NULL;
    }
    if (wish->named != NULL) {
        return check_size(importer, wish->named) ? wish->named : NULL;
    }
    const uint32_t errors = diag_error_count(importer->diag);
    const struct import_kind *kind =
        import_kind_of_file(&importer->file, wish->bits, importer->diag);
    if (kind == NULL && diag_error_count(importer->diag) == errors) {
        const struct place place = {.file = importer->file.path};
        diag_add(importer->diag, DIAG_INPUT, &place, "what kind of file this is cannot be told");
        diag_help(importer->diag, "say it: stoker import KIND FILE, with one of %s",
                  import_kind_words(importer->arena));
    }
    if (kind == NULL || !check_size(importer, kind)) {
        return NULL;
    }
    tell_kind(importer, kind);
    return kind;
}

/* ---- a folder ------------------------------------------------------------------------------- */

/* What stands in a file of a folder. */
struct found {
    const struct import_kind *kind; /* NULL: none of those that are asked for */
    bool has_head;
};

static bool has_head(const char *text)
{
    const struct import_kind *kind = import_kind_at(0);
    for (uint32_t i = 0; kind != NULL; kind = import_kind_at(++i)) {
        if (kind->head != NULL && strstr(text, kind->head) != NULL) {
            return true;
        }
    }
    return false;
}

static struct found look_at(const char *path, const struct wish *wish)
{
    struct arena *arena = arena_new();
    struct diag *unheard = diag_new(arena);
    struct text_file file;
    struct found found = {NULL, false};
    if (load(arena, path, wish, &file, unheard)) {
        const bool is_named = wish->named != NULL && import_kind_is(wish->named, file.text);
        found.kind = is_named              ? wish->named
                     : wish->named == NULL ? import_kind_of_file(&file, wish->bits, unheard)
                                           : NULL;
        found.has_head = has_head(file.text);
    }
    arena_free(arena);
    return found;
}

/* The one kind that files of the folder are of; NULL with a message. */
static const struct import_kind *one_kind(const struct importer *importer,
                                          const struct text_folder *folder,
                                          const struct found *found)
{
    const struct place place = {.file = folder->path};
    const struct import_kind *kind = NULL;
    uint32_t first = 0;
    for (uint32_t i = 0; i < folder->count; i++) {
        if (found[i].kind == NULL) {
            continue;
        }
        if (kind != NULL && kind->function != found[i].kind->function) {
            diag_add(importer->diag, DIAG_INPUT, &place,
                     "files of several kinds are in this folder: %s is of %s, %s of %s",
                     folder->files[first], kind->name, folder->files[i], found[i].kind->name);
            diag_help(importer->diag, "say which is meant: stoker import %s FOLDER; or name a file",
                      kind->name);
            return NULL;
        }
        first = kind == NULL ? i : first;
        kind = kind == NULL ? found[i].kind : kind;
    }
    if (kind == NULL) {
        diag_add(importer->diag, DIAG_INPUT, &place,
                 "of %" PRIu32 " files in this folder none is of a kind that is asked for",
                 folder->count);
        diag_help(importer->diag, "name one: stoker import KIND FILE, with one of %s",
                  import_kind_words(importer->arena));
    }
    return kind;
}

/* Marks those that are read; false with a message. Of a run's ranks, and of several attempts, the
 * last that has steps, as of several runs in one log. */
static bool choose_files(const struct importer *importer, const struct import_kind *kind,
                         const struct found *found, struct text_folder *folder)
{
    uint32_t count = 0, last = 0;
    for (uint32_t i = 0; i < folder->count; i++) {
        last = found[i].kind != NULL ? i : last;
        count += found[i].kind != NULL;
    }
    for (uint32_t i = 0; i < folder->count; i++) {
        const bool has_settings = kind->head != NULL && found[i].has_head;
        folder->are_read[i] = kind->files == FILES_RANKS
                                  ? i == last || (has_settings && found[i].kind == NULL)
                                  : found[i].kind != NULL;
    }
    if (count == 1 || kind->files != FILES_ONE) {
        return true;
    }
    const struct place place = {.file = folder->path};
    text_folder_tell(importer->arena, folder, importer->diag);
    diag_add(importer->diag, DIAG_INPUT, &place, "%" PRIu32 " files of %s are in this folder",
             count, kind->name);
    diag_help(importer->diag, "name the one that is meant: each is a cluster or a model by itself");
    return false;
}

static bool read_files(struct importer *importer, const struct text_folder *folder,
                       const struct wish *wish, const struct import_kind *kind)
{
    struct text_file *files = arena_array(importer->arena, folder->count, sizeof *files);
    uint32_t count = 0;
    for (uint32_t i = 0; i < folder->count; i++) {
        if (folder->are_read[i] &&
            !load(importer->arena, folder->files[i], wish, &files[count++], importer->diag)) {
            return false;
        }
    }
    if (kind->files == FILES_EACH) {
        importer->files = files;
        importer->file_count = count;
        importer->file = files[0];
    } else {
        importer->file = text_file_join(importer->arena, files, count);
    }
    importer->file.path = folder->path;
    return true;
}

/* ---- ranks of one run ------------------------------------------------------------------------ */

/* What torchrun calls the folder of an attempt, in a path: "attempt_0/..."; "" without one. */
static struct text_span attempt_of(const char *path)
{
    const char *at = strstr(path, "/attempt_");
    const char *begin = at != NULL ? at + 1 : path;
    return (struct text_span){begin, begin + (at != NULL ? strcspn(begin, "/") : 0)};
}

static bool is_same_attempt(const char *path, const char *other)
{
    const struct text_span a = attempt_of(path);
    const struct text_span b = attempt_of(other);
    return text_span_length(a) == text_span_length(b) &&
           memcmp(a.begin, b.begin, text_span_length(a)) == 0;
}

/* The place in the file is told, which is loaded once more for it. */
static bool tell_contradiction(const struct importer *importer, const struct log_ranks *ranks,
                               const char *path, const struct wish *wish)
{
    struct text_file file;
    if (load(importer->arena, path, wish, &file, importer->diag)) {
        const struct place place = text_file_place(&file, file.text + ranks->at);
        diag_add(importer->diag, DIAG_INPUT, &place, "%s: logs of one run contradict each other",
                 ranks->what);
        diag_help(importer->diag,
                  "name the file that is meant, or a folder with logs of one run alone");
    }
    return false;
}

/* Those of the attempt that is read, whether they are read or not. */
static bool check_ranks(struct importer *importer, const struct text_folder *folder,
                        const struct found *found, const struct wish *wish)
{
    const struct import_kind *kind = wish->named;
    struct log_ranks ranks = log_ranks_new(importer, kind->reader);
    uint32_t last = 0;
    for (uint32_t i = 0; i < folder->count; i++) {
        last = found[i].kind != NULL ? i : last;
    }
    for (uint32_t i = 0; i < folder->count; i++) {
        const bool is_head = kind->head != NULL && found[i].has_head;
        if ((found[i].kind == NULL && !is_head) ||
            !is_same_attempt(folder->files[i], folder->files[last])) {
            continue;
        }
        struct arena *scratch = arena_new();
        struct text_file file;
        const bool is_good = !load(scratch, folder->files[i], wish, &file, diag_new(scratch)) ||
                             log_ranks_add(&ranks, &file);
        arena_free(scratch);
        if (!is_good) {
            return tell_contradiction(importer, &ranks, folder->files[i], wish);
        }
    }
    return true;
}

static const struct import_kind *open_folder(struct importer *importer, const char *path,
                                             const struct wish *wish)
{
    struct text_folder folder;
    if (!text_folder_list(importer->arena, path, &folder, importer->diag)) {
        return NULL;
    }
    struct found *found = arena_array(importer->arena, folder.count, sizeof *found);
    for (uint32_t i = 0; i < folder.count; i++) {
        found[i] = look_at(folder.files[i], wish);
    }
    const struct import_kind *kind = one_kind(importer, &folder, found);
    if (kind == NULL || !choose_files(importer, kind, found, &folder)) {
        return NULL;
    }
    const struct wish taken = {kind, kind->bit};
    if (kind->files == FILES_RANKS && !check_ranks(importer, &folder, found, &taken)) {
        return NULL;
    }
    if (!read_files(importer, &folder, &taken, kind)) {
        return NULL;
    }
    if (wish->named == NULL) {
        tell_kind(importer, kind);
    }
    text_folder_tell(importer->arena, &folder, importer->diag);
    return kind;
}

/* ---- either -------------------------------------------------------------------------------- */

const struct import_kind *import_open(struct importer *importer, const char *path,
                                      const struct import_kind *named)
{
    const struct wish wish = {named, UINT32_MAX};
    return text_folder_is(path) ? open_folder(importer, path, &wish)
                                : open_file(importer, path, &wish);
}

bool import_open_log(struct importer *importer, const char *path)
{
    const struct wish wish = {NULL, IMPORT_LOGS | IMPORT_STEPS};
    return text_folder_is(path)
               ? open_folder(importer, path, &wish) != NULL
               : load(importer->arena, path, &wish, &importer->file, importer->diag);
}
