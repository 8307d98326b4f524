/* Helpers for files that we write: making the folders on the way to a file, writing it whole or
 * not at all, and turning a path into one that holds from any folder.
 */
#include "base/path.h"

#include "base/arena.h"

#include <errno.h>
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

/* 0, or the reason why not. */
static int write_content(const char *path, const struct path_content *content)
{
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        return errno;
    }
    errno = 0;
    const bool is_written = content->write(content->context, out);
    const int reason = errno != 0 ? errno : EIO;
    /* Closing flushes: what did not fit is often told only then. */
    if (fclose(out) != 0 && is_written) {
        return errno;
    }
    return is_written ? 0 : reason;
}

bool path_write_whole(struct arena *arena, const char *path, const struct path_content *content,
                      struct diag *diag)
{
    const char *unfinished = arena_printf(arena, "%s.part", path);
    if (!path_make_directories(arena, path, diag)) {
        return false;
    }
    int reason = write_content(unfinished, content);
    if (reason == 0 && rename(unfinished, path) != 0) {
        reason = errno;
    }
    if (reason != 0) {
        remove(unfinished);
        diag_add(diag, DIAG_FAILURE, NULL, "%s cannot be written: %s", path, strerror(reason));
        diag_help(diag, "%s", content->remedy);
    }
    return reason == 0;
}

const char *path_whole(struct arena *arena, const char *path)
{
    char current[PATH_MAX];
    if (path[0] == '/' || getcwd(current, sizeof current) == NULL) {
        return path;
    }
    return arena_printf(arena, "%s/%s", current, path);
}
