/* Loaded before a program (LD_PRELOAD), lets its n-th request for memory or its n-th touch of a
 * file fail, as a full machine or a broken disk would.
 *
 *     FAULT_MEMORY=17      the 17th malloc, calloc or realloc returns NULL
 *     FAULT_FILES=5        the 5th read, write, sync, truncation or removal of a file fails
 *     FAULT_LASTS=1        and all that follow
 *     FAULT_COUNTS=FILE    at its end the process writes "MEMORY FILES", how many there were
 *
 * Counts are of a process; a child goes on from its parent's. Standard streams never fail. The
 * system calls are made directly and not by dlsym, which asks for memory itself. What stdio reads
 * does not come through read(), so files opened for reading are given a stream that does.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
int ftruncate64(int file, off64_t size);

struct fault {
    const char *variable;
    long count; /* so far */
    long at;    /* 0: not known yet; -1: never */
};

static struct fault memory = {"FAULT_MEMORY", 0, 0};
static struct fault files = {"FAULT_FILES", 0, 0};

static bool fails(struct fault *fault, int reason)
{
    if (fault->at == 0) {
        const char *text = getenv(fault->variable);
        fault->at = text != NULL ? strtol(text, NULL, 10) : -1;
    }
    fault->count++;
    const bool is_due =
        fault->at > 0 &&
        (fault->count == fault->at || (fault->count > fault->at && getenv("FAULT_LASTS") != NULL));
    if (is_due) {
        errno = reason;
    }
    return is_due;
}

/* ---- memory -------------------------------------------------------------------------------- */

void *malloc(size_t size)
{
    return fails(&memory, ENOMEM) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(&memory, ENOMEM) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails(&memory, ENOMEM) ? NULL : __libc_realloc(old, size);
}

/* ---- files --------------------------------------------------------------------------------- */

static bool file_fails(int file, int reason)
{
    return file > STDERR_FILENO && fails(&files, reason);
}

ssize_t read(int file, void *bytes, size_t size)
{
    return file_fails(file, EIO) ? -1 : syscall(SYS_read, file, bytes, size);
}

ssize_t pread64(int file, void *bytes, size_t size, off64_t offset)
{
    return file_fails(file, EIO) ? -1 : syscall(SYS_pread64, file, bytes, size, offset);
}

ssize_t write(int file, const void *bytes, size_t size)
{
    return file_fails(file, ENOSPC) ? -1 : syscall(SYS_write, file, bytes, size);
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t offset)
{
    return file_fails(file, ENOSPC) ? -1 : syscall(SYS_pwrite64, file, bytes, size, offset);
}

int fsync(int file)
{
    return file_fails(file, EIO) ? -1 : (int)syscall(SYS_fsync, file);
}

int fdatasync(int file)
{
    return file_fails(file, EIO) ? -1 : (int)syscall(SYS_fdatasync, file);
}

int ftruncate64(int file, off64_t size)
{
    return file_fails(file, EIO) ? -1 : (int)syscall(SYS_ftruncate, file, size);
}

int unlink(const char *path)
{
    return fails(&files, EACCES) ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

/* ---- stdio --------------------------------------------------------------------------------- */

static ssize_t cookie_read(void *cookie, char *bytes, size_t size)
{
    return read((int)(intptr_t)cookie, bytes, size);
}

static int cookie_close(void *cookie)
{
    return close((int)(intptr_t)cookie);
}

FILE *fopen(const char *path, const char *mode)
{
    if (mode[0] != 'r') {
        const int end = mode[0] == 'a' ? O_APPEND : O_TRUNC;
        const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | end, 0666);
        return file >= 0 ? fdopen(file, mode) : NULL;
    }
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const cookie_io_functions_t functions = {.read = cookie_read, .close = cookie_close};
    return file >= 0 ? fopencookie((void *)(intptr_t)file, mode, functions) : NULL;
}

__attribute__((destructor)) static void write_counts(void)
{
    const char *path = getenv("FAULT_COUNTS");
    const int file = path != NULL ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    if (file >= 0) {
        char text[64];
        const int length = snprintf(text, sizeof text, "%ld %ld\n", memory.count, files.count);
        (void)!syscall(SYS_write, file, text, (size_t)length);
        close(file);
    }
}
