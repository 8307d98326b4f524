/* The Makefile compiles this file alone with the version, the hash of the
 * sources and the place of the installed catalogue, so that a new version
 * rebuilds one object.
 */
#include "base/version.h"

#include "base/arena.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* The Makefile gives them; an editor or a lint tool that reads this file alone does not. */
#ifndef STOKER_VERSION
#define STOKER_VERSION "0"
#endif
#ifndef STOKER_DATA_DIR
#define STOKER_DATA_DIR "/usr/local/share/stoker"
#endif
#ifndef STOKER_BUILD
#define STOKER_BUILD "0000000000000000"
#endif

_Static_assert(sizeof STOKER_BUILD == 17, "a build has 16 hex digits");

const char *stoker_version(void)
{
    return STOKER_VERSION;
}

const char *stoker_build(void)
{
    return STOKER_BUILD;
}

const char *stoker_data_dir(void)
{
    return STOKER_DATA_DIR;
}

const char *stoker_program_dir(struct arena *arena)
{
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    if (length <= 0 || length == (ssize_t)sizeof path) {
        return NULL; /* no /proc, or a path that was cut off */
    }
    char *directory = arena_strndup(arena, path, (size_t)length);
    char *slash = strrchr(directory, '/');
    if (slash == NULL) {
        return NULL;
    }
    slash[slash == directory ? 1 : 0] = '\0';
    return directory;
}
