#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include "base/workers.h"

#include "base/check.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JOBS_MAX = 256 };

uint32_t workers_count(uint32_t wanted, uint32_t pieces)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t jobs = wanted != 0 ? wanted : cores > 0 ? (uint32_t)cores : 1;
    jobs = jobs < pieces ? jobs : pieces;
    return jobs < JOBS_MAX ? jobs : JOBS_MAX;
}

void workers_run(uint32_t jobs, void (*work)(const void *context), const void *context)
{
    sim_assert(jobs <= JOBS_MAX);
    pid_t processes[JOBS_MAX];
    uint32_t started = 0;
    fflush(NULL); /* or each process would print what is still in a buffer */
    for (; started < jobs; started++) {
        const pid_t process = fork();
        if (process == 0) {
            work(context);
            _exit(0);
        }
        if (process < 0) {
            break; /* fewer do it as well */
        }
        processes[started] = process;
    }
    if (started == 0) {
        work(context);
    }
    for (uint32_t i = 0; i < started; i++) {
        int status;
        while (waitpid(processes[i], &status, 0) < 0 && errno == EINTR) {
        }
    }
}

void *workers_share(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void workers_unshare(void *memory, uint64_t bytes)
{
    munmap(memory, bytes);
}
