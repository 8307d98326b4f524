/* Loaded before a program (LD_PRELOAD), lets its n-th request for memory, its n-th touch of a
 * file or its n-th dealing with other processes fail, as a full machine or a broken disk would.
 *
 *     FAULT_MEMORY=17      the 17th malloc, calloc or realloc returns NULL
 *     FAULT_FILES=5        the 5th making, read, write, sync, close, truncation, renaming or
 *                          removal of a file fails: ENOSPC where it asks for room, else EIO
 *     FAULT_PROCESSES=3    the 3rd pipe, socketpair, fork, spawn, poll, send or receipt fails
 *     FAULT_LOCKS=4        the 4th locking of a part of a file fails, as without a lock manager;
 *                          to wait for a lock takes no time, which is counted
 *     FAULT_LASTS=1        and all that follow
 *     FAULT_COUNTS=FILE    at its end the process writes how many there were of each, and
 *                          the microseconds that it would have waited for locks
 *
 * Counts are of a process; a child goes on from its parent's. Standard streams never fail. The
 * system calls are made directly and not by dlsym, which asks for memory itself. What stdio reads
 * and writes does not come through read() and write(), so files that are opened by it are given a
 * stream that does.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
int ftruncate64(int file, off64_t size);
pid_t __fork(void);

struct fault {
    const char *variable;
    long count; /* so far */
    long at;    /* 0: not known yet; -1: never */
};

static struct fault memory = {"FAULT_MEMORY", 0, 0};
static struct fault files = {"FAULT_FILES", 0, 0};
static struct fault processes = {"FAULT_PROCESSES", 0, 0};
static struct fault locks = {"FAULT_LOCKS", 0, 0};
static long waited_us;

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

/* Only where a file is made: that one is not there is no fault. */
static int open_file(const char *path, int flags, mode_t mode)
{
    const bool is_made = (flags & O_CREAT) != 0;
    return is_made && fails(&files, ENOSPC) ? -1
                                            : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static mode_t mode_of(int flags, va_list rest)
{
    return (flags & O_CREAT) != 0 ? (mode_t)va_arg(rest, int) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return open_file(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return open_file(path, flags, mode);
}

int rename(const char *from, const char *to)
{
    return fails(&files, EIO) ? -1 : (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned int flags)
{
    return fails(&files, EIO)
               ? -1
               : (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

int unlink(const char *path)
{
    return fails(&files, EACCES) ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

/* ---- locks --------------------------------------------------------------------------------- */

static int control(int file, int command, void *argument)
{
    const bool is_lock = command == F_SETLK || command == F_SETLKW;
    return is_lock && fails(&locks, ENOLCK) ? -1 : (int)syscall(SYS_fcntl, file, command, argument);
}

int fcntl(int file, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return control(file, command, argument);
}

int fcntl64(int file, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return control(file, command, argument);
}

int usleep(useconds_t time_us)
{
    const struct timespec time = {time_us / 1000000, (long)(time_us % 1000000) * 1000};
    const bool is_counted = getenv("FAULT_LOCKS") != NULL;
    waited_us += is_counted ? (long)time_us : 0;
    return is_counted ? 0 : (int)syscall(SYS_nanosleep, &time, NULL);
}

/* ---- stdio --------------------------------------------------------------------------------- */

static ssize_t cookie_read(void *cookie, char *bytes, size_t size)
{
    return read((int)(intptr_t)cookie, bytes, size);
}

/* Nothing written means an error to the stream. */
static ssize_t cookie_write(void *cookie, const char *bytes, size_t size)
{
    const ssize_t written = write((int)(intptr_t)cookie, bytes, size);
    return written > 0 ? written : 0;
}

/* Closed in any case, as the system does. */
static int cookie_close(void *cookie)
{
    const int file = (int)(intptr_t)cookie;
    const bool is_bad = file_fails(file, EIO);
    const int result = (int)syscall(SYS_close, file);
    errno = is_bad ? EIO : errno;
    return is_bad ? -1 : result;
}

FILE *fdopen(int file, const char *mode)
{
    const cookie_io_functions_t functions = {
        .read = cookie_read, .write = cookie_write, .close = cookie_close};
    return fopencookie((void *)(intptr_t)file, mode, functions);
}

FILE *fopen(const char *path, const char *mode)
{
    const int end = mode[0] == 'a' ? O_APPEND : O_TRUNC;
    const int flags = mode[0] == 'r' ? O_RDONLY : O_WRONLY | O_CREAT | end;
    const int file = open_file(path, flags | O_CLOEXEC, 0666);
    return file >= 0 ? fdopen(file, mode) : NULL;
}

/* ---- processes ----------------------------------------------------------------------------- */

int pipe(int ends[2])
{
    return fails(&processes, EMFILE) ? -1 : (int)syscall(SYS_pipe2, ends, 0);
}

int socketpair(int domain, int type, int protocol, int ends[2])
{
    return fails(&processes, EMFILE) ? -1
                                     : (int)syscall(SYS_socketpair, domain, type, protocol, ends);
}

pid_t fork(void)
{
    return fails(&processes, EAGAIN) ? -1 : __fork();
}

/* What is started is not disturbed. */
int posix_spawnp(pid_t *process, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const arguments[],
                 char *const environment[])
{
    static const char name[] = "LD_PRELOAD=";
    int (*spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                 const posix_spawnattr_t *, char *const[], char *const[]);
    *(void **)&spawn = dlsym(RTLD_NEXT, "posix_spawnp");
    for (char *const *entry = environment; *entry != NULL; entry++) {
        if (strncmp(*entry, name, sizeof name - 1) == 0) {
            (*entry)[0] = '_';
        }
    }
    return fails(&processes, EAGAIN)
               ? EAGAIN
               : spawn(process, file, actions, attributes, arguments, environment);
}

int poll(struct pollfd *watched, nfds_t count, int timeout_ms)
{
    return fails(&processes, ENOMEM) ? -1 : (int)syscall(SYS_poll, watched, count, timeout_ms);
}

ssize_t send(int socket, const void *bytes, size_t size, int flags)
{
    return fails(&processes, ENOBUFS) ? -1
                                      : syscall(SYS_sendto, socket, bytes, size, flags, NULL, 0);
}

ssize_t recv(int socket, void *bytes, size_t size, int flags)
{
    return fails(&processes, ENOMEM)
               ? -1
               : syscall(SYS_recvfrom, socket, bytes, size, flags, NULL, NULL);
}

__attribute__((destructor)) static void write_counts(void)
{
    const char *path = getenv("FAULT_COUNTS");
    const long touches = files.count;
    const int file = path != NULL ? open_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    if (file >= 0) {
        char text[64];
        const int length = snprintf(text, sizeof text, "%ld %ld %ld %ld %ld\n", memory.count,
                                    touches, processes.count, locks.count, waited_us);
        (void)!syscall(SYS_write, file, text, (size_t)length);
        (void)syscall(SYS_close, file);
    }
}
