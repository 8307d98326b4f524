/* Helpers for files that we write: making the folders on the way to a file, writing it whole or
 * not at all, and turning a path into one that holds from any folder. To rename a file without
 * taking another's place is not in POSIX; Linux and glibc 2.28 have it.
 */
#define _GNU_SOURCE

#include "base/path.h"

#include "base/arena.h"
#include "base/built_in.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool path_make_directories(struct arena *arena, const char *path, struct diag *diag)
{
    char *prefix = arena_strdup(arena, path);
    for (char *slash = strchr(prefix, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        if (slash == prefix) {
            continue; /* the root */
        }
        *slash = '\0';
        const int reason = mkdir(prefix, 0777) == 0 ? 0 : errno;
        /* What is there already is refused with EEXIST, or EROFS on a read-only file system. */
        struct stat status;
        if (reason != 0 && (stat(prefix, &status) != 0 || !S_ISDIR(status.st_mode))) {
            return diag_add(diag, DIAG_FAILURE, NULL, "cannot make the directory %s: %s", prefix,
                            strerror(reason));
        }
        *slash = '/';
    }
    return true;
}

/* ---- one file ------------------------------------------------------------------------- */

enum { PERMISSIONS = 07777, USUAL_PERMISSIONS = 0666 };

/* Of a plain file, or where there is none: beside it, and only if it was not there. Anybody's file
 * or link under that name, such as a killed run leaves, is removed first. */
static int open_part(const char *part, const struct stat *replaced)
{
    (void)unlink(part);
    const int file = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, USUAL_PERMISSIONS);
    if (file >= 0 && replaced != NULL && fchmod(file, replaced->st_mode & PERMISSIONS) != 0) {
        const int reason = errno;
        close(file);
        unlink(part);
        errno = reason;
        return -1;
    }
    return file;
}

/* Opens a part beside the file that it will replace; a pipe or a device itself. 0, or an errno. */
static int begin(struct arena *arena, const char *path, struct path_file *file)
{
    struct stat status;
    const bool is_there = stat(path, &status) == 0;
    const bool is_plain = !is_there || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
    *file = (struct path_file){.path = path};
    file->part = is_plain ? arena_printf(arena, "%s.part", path) : NULL;
    file->file = is_plain
                     ? open_part(file->part, is_there && S_ISREG(status.st_mode) ? &status : NULL)
                     : open(path, O_WRONLY | O_CLOEXEC);
    file->out = file->file >= 0 ? fdopen(file->file, "w") : NULL;
    if (file->out != NULL) {
        return 0;
    }
    const int reason = errno;
    if (file->file >= 0) {
        close(file->file);
        if (is_plain) {
            unlink(file->part);
        }
    }
    return reason;
}

/* Another program that writes the same file may have put its own part there: to rename that would
 * give the name to a file that is half written. */
static bool is_ours(const struct path_file *file)
{
    struct stat ours;
    struct stat there;
    return fstat(file->file, &ours) == 0 && lstat(file->part, &there) == 0 &&
           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

/* A plain rename would not tell that the name is taken. Some file systems know no other. */
static int give_new_name(const struct path_file *file)
{
    if (renameat2(AT_FDCWD, file->part, AT_FDCWD, file->path, RENAME_NOREPLACE) == 0) {
        return 0;
    }
    struct stat status;
    if (errno != EINVAL && errno != ENOSYS) {
        return errno;
    }
    if (lstat(file->path, &status) == 0) {
        return EEXIST;
    }
    return rename(file->part, file->path) == 0 ? 0 : errno;
}

/* Closed first: on a network's file system that may be what tells of a full disk. The directory is
 * not synced: after a loss of power the old file is there, or the new one, and each is whole. */
static int give_name(struct path_file *file, int reason, bool is_new)
{
    const bool was_ours = is_ours(file);
    if (fclose(file->out) != 0 && reason == 0) {
        reason = errno;
    }
    if (!was_ours) {
        return reason != 0 ? reason : EBUSY;
    }
    if (reason == 0 && is_new) {
        reason = give_new_name(file);
    } else if (reason == 0 && rename(file->part, file->path) != 0) {
        reason = errno;
    }
    if (reason != 0) {
        (void)unlink(file->part);
    }
    return reason;
}

/* 0, or the reason why not: `reason`, if there is one already. */
static int end(struct path_file *file, int reason, bool is_new)
{
    errno = 0; /* what could not be written before is tried again by flushing, and tells why */
    if ((fflush(file->out) != 0 || ferror(file->out) != 0) && reason == 0) {
        reason = errno != 0 ? errno : EIO;
    }
    if (file->part == NULL) {
        return fclose(file->out) != 0 && reason == 0 ? errno : reason;
    }
    if (reason == 0 && fsync(file->file) != 0) {
        reason = errno;
    }
    return give_name(file, reason, is_new);
}

#define REMEDY "choose a place with room, that you may write to"

static bool say_why(const char *path, int reason, const char *remedy, struct diag *diag)
{
    if (reason == EEXIST) {
        diag_add(diag, DIAG_FAILURE, NULL, "%s is there already", path);
    } else {
        diag_add(diag, DIAG_FAILURE, NULL, "%s cannot be written: %s", path, strerror(reason));
    }
    diag_help(diag, "%s", remedy);
    return false;
}

bool path_begin(struct arena *arena, const char *path, struct path_file *file, struct diag *diag)
{
    if (!path_make_directories(arena, path, diag)) {
        return false;
    }
    const int reason = begin(arena, path, file);
    return reason == 0 || say_why(path, reason, REMEDY, diag);
}

bool path_end(struct path_file *file, bool is_good, struct diag *diag)
{
    const int reason = end(file, is_good ? 0 : ECANCELED, false);
    return is_good && (reason == 0 || say_why(file->path, reason, REMEDY, diag));
}

bool path_write_whole(struct arena *arena, const char *path, const struct path_content *content,
                      struct diag *diag)
{
    if (!path_make_directories(arena, path, diag)) {
        return false;
    }
    struct path_file file;
    int reason = begin(arena, path, &file);
    if (reason == 0) {
        errno = 0;
        const bool is_written = content->write(content->context, file.out);
        reason = is_written ? 0 : errno != 0 ? errno : EIO;
        reason = end(&file, reason, content->is_new);
    }
    return reason == 0 || say_why(path, reason, content->remedy, diag);
}

FILE *path_open(const char *path)
{
    const struct built_in_file *file = built_in_find(path);
    return file == NULL ? fopen(path, "rb")
                        : fmemopen((void *)(uintptr_t)file->bytes, file->size_bytes, "rb");
}

const char *path_whole(struct arena *arena, const char *path)
{
    char current[PATH_MAX];
    if (path[0] == '/' || getcwd(current, sizeof current) == NULL) {
        return path;
    }
    return arena_printf(arena, "%s/%s", current, path);
}
