/* For LD_PRELOAD in tests/cli: what goes wrong on a machine.
 *
 * OPEN_FAIL is the end of the file's path, OPEN_FAIL_AT says which opening of it is bad, counting
 * from 1 in each process and going on in its children. fopen then gives a stream that cannot be
 * read, as a disk with a bad block does.
 *
 * FORK_FAIL_AT: this fork and all later ones fail for want of processes.
 *
 * PHYS_PAGES: how many pages of memory the machine has.
 *
 * BUSY_MS: how long a locked results file is waited for.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ssize_t fail(void *cookie, char *buffer, size_t size)
{
    (void)cookie;
    (void)buffer;
    (void)size;
    errno = EIO;
    return -1;
}

static bool is_bad(const char *path)
{
    static long opened;
    const char *end = getenv("OPEN_FAIL");
    const char *at = getenv("OPEN_FAIL_AT");
    const size_t length = strlen(path);
    if (end == NULL || at == NULL || length < strlen(end) ||
        strcmp(path + length - strlen(end), end) != 0) {
        return false;
    }
    return ++opened == strtol(at, NULL, 10);
}

FILE *fopen(const char *path, const char *mode)
{
    if (is_bad(path)) {
        return fopencookie(NULL, mode, (cookie_io_functions_t){.read = fail});
    }
    FILE *(*real)(const char *, const char *);
    *(void **)&real = dlsym(RTLD_NEXT, "fopen");
    return real(path, mode);
}

pid_t fork(void)
{
    static long forked;
    const char *at = getenv("FORK_FAIL_AT");
    if (at != NULL && ++forked >= strtol(at, NULL, 10)) {
        errno = EAGAIN;
        return -1;
    }
    pid_t (*real)(void);
    *(void **)&real = dlsym(RTLD_NEXT, "fork");
    return real();
}

int sqlite3_busy_timeout(void *database, int timeout_ms);

int sqlite3_busy_timeout(void *database, int timeout_ms)
{
    const char *wanted_ms = getenv("BUSY_MS");
    int (*real)(void *, int);
    *(void **)&real = dlsym(RTLD_NEXT, "sqlite3_busy_timeout");
    return real(database, wanted_ms != NULL ? (int)strtol(wanted_ms, NULL, 10) : timeout_ms);
}

long sysconf(int name)
{
    const char *pages = getenv("PHYS_PAGES");
    long (*real)(int);
    *(void **)&real = dlsym(RTLD_NEXT, "sysconf");
    return name == _SC_PHYS_PAGES && pages != NULL ? strtol(pages, NULL, 10) : real(name);
}
