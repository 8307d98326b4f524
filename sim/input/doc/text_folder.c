/* Folders that are still to be read stand in a list, so that nothing is called recursively. */
#include "input/doc/text_folder.h"

#include "base/arena.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES_MAX = 100000, DEPTH_MAX = 8, NAMED_MAX = 6 };

/* A folder to be read, or a file that was found. */
struct paths {
    const char **items;
    size_t capacity, count;
};

static void add_path(struct arena *arena, struct paths *paths, const char *path)
{
    paths->items =
        arena_grow(arena, paths->items, &paths->capacity, paths->count + 1, sizeof *paths->items);
    paths->items[paths->count++] = path;
}

bool text_folder_is(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* ---- order ---------------------------------------------------------------------------------- */

/* Digits at *at, without zeros before them; moves *at behind them. */
static size_t number_at(const char **at, const char **begin)
{
    *begin = *at + strspn(*at, "0");
    const size_t length = strspn(*begin, "0123456789");
    *at = *begin + length;
    return length;
}

static int compare_paths(const void *left, const void *right)
{
    const char *a = *(const char *const *)left, *b = *(const char *const *)right;
    while (*a != '\0' && *b != '\0') {
        const bool are_digits = *a >= '0' && *a <= '9' && *b >= '0' && *b <= '9';
        if (are_digits) {
            const char *first, *second;
            const size_t length = number_at(&a, &first), other = number_at(&b, &second);
            const int order =
                length != other ? (length < other ? -1 : 1) : memcmp(first, second, length);
            if (order != 0) {
                return order;
            }
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    const int end = (*a != '\0') - (*b != '\0');
    return end != 0 ? end : strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Adds what stands in one folder; what cannot be asked about is left to who reads it. */
static bool read_folder(struct arena *arena, const char *path, struct paths *folders,
                        struct paths *files, struct diag *diag)
{
    const struct place place = {.file = path};
    DIR *stream = opendir(path);
    if (stream == NULL) {
        return diag_add(diag, errno == EACCES ? DIAG_INPUT : DIAG_FAILURE, &place,
                        "this folder cannot be read: %s", strerror(errno));
    }
    const size_t length = strlen(path);
    const char *slash = length > 0 && path[length - 1] == '/' ? "" : "/";
    for (const struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        const char *whole = arena_printf(arena, "%s%s%s", path, slash, entry->d_name);
        struct stat status;
        if (stat(whole, &status) == 0 && (S_ISDIR(status.st_mode) || S_ISREG(status.st_mode))) {
            add_path(arena, S_ISDIR(status.st_mode) ? folders : files, whole);
        }
    }
    closedir(stream);
    return files->count <= FILES_MAX ||
           diag_add(diag, DIAG_INPUT, &place, "in this folder and below are more than %d files",
                    FILES_MAX);
}

static uint32_t depth_of(const char *path)
{
    uint32_t depth = 0;
    for (; *path != '\0'; path++) {
        depth += *path == '/' && path[1] != '\0' && path[1] != '/';
    }
    return depth;
}

bool text_folder_list(struct arena *arena, const char *path, struct text_folder *folder,
                      struct diag *diag)
{
    struct paths folders = {.count = 0}, files = {.count = 0};
    add_path(arena, &folders, path);
    for (size_t i = 0; i < folders.count; i++) {
        if (depth_of(folders.items[i]) > depth_of(path) + DEPTH_MAX) {
            const struct place place = {.file = path};
            return diag_add(diag, DIAG_INPUT, &place,
                            "below this folder are more than %d others, "
                            "one within another",
                            DEPTH_MAX);
        }
        if (!read_folder(arena, folders.items[i], &folders, &files, diag)) {
            return false;
        }
    }
    if (files.count == 0) {
        const struct place place = {.file = path};
        return diag_add(diag, DIAG_INPUT, &place, "there is no file in this folder");
    }
    qsort(files.items, files.count, sizeof *files.items, compare_paths);
    *folder = (struct text_folder){path, files.items, (uint32_t)files.count,
                                   arena_array(arena, files.count, sizeof(bool))};
    return true;
}

/* ---- what was taken ------------------------------------------------------------------------- */

/* "a.log, b.log and 12 more": paths below the folder's. */
static const char *names(struct arena *arena, const struct text_folder *folder, bool are_read,
                         uint32_t *count)
{
    const char *all = "";
    const size_t skipped = strlen(folder->path);
    *count = 0;
    for (uint32_t i = 0; i < folder->count; i++) {
        if (folder->are_read[i] == are_read && (*count)++ < NAMED_MAX) {
            const char *name = folder->files[i] + skipped;
            all = arena_printf(arena, "%s%s%s", all, all[0] != '\0' ? ", " : "",
                               name + strspn(name, "/"));
        }
    }
    return *count <= NAMED_MAX
               ? all
               : arena_printf(arena, "%s and %" PRIu32 " more", all, *count - NAMED_MAX);
}

void text_folder_tell(struct arena *arena, const struct text_folder *folder, struct diag *diag)
{
    uint32_t read = 0, others = 0;
    const char *taken = names(arena, folder, true, &read);
    const char *left = names(arena, folder, false, &others);
    diag_add(diag, DIAG_NOTE, NULL, "of %s %" PRIu32 " file%s read: %s", folder->path, read,
             read == 1 ? " is" : "s are", read > 0 ? taken : "none");
    if (others > 0) {
        diag_help(diag, "left out: %s", left);
    }
}

bool text_folder_expand(struct arena *arena, const struct text_paths *given,
                        bool (*takes)(const char *path), struct text_paths *files,
                        struct diag *diag)
{
    struct paths all = {.count = 0};
    for (uint32_t i = 0; i < given->count; i++) {
        struct text_folder folder = {.count = 0};
        if (!text_folder_is(given->items[i])) {
            add_path(arena, &all, given->items[i]);
            continue;
        }
        if (!text_folder_list(arena, given->items[i], &folder, diag)) {
            return false;
        }
        const size_t before = all.count;
        for (uint32_t k = 0; k < folder.count; k++) {
            folder.are_read[k] = takes(folder.files[k]);
            if (folder.are_read[k]) {
                add_path(arena, &all, folder.files[k]);
            }
        }
        if (all.count == before) {
            const struct place place = {.file = given->items[i]};
            return diag_add(diag, DIAG_INPUT, &place,
                            "of %" PRIu32 " files in this folder none is of those that are read",
                            folder.count);
        }
        text_folder_tell(arena, &folder, diag);
    }
    *files = (struct text_paths){all.items, (uint32_t)all.count};
    return true;
}
