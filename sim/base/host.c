/* This module asks the system for our own wall-clock time, CPU time and peak
 * memory. It is the only place that reads a clock, and no prediction depends
 * on it.
 */
#include "base/host.h"

#include "base/path.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

double host_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

double host_cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

int64_t host_peak_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (int64_t)usage.ru_maxrss * 1024;
}

/* Of a control group (version 2); "max" is no number. */
static int64_t container_bytes(void)
{
    int64_t bytes = INT64_MAX;
    FILE *file = path_open("/sys/fs/cgroup/memory.max");
    if (file != NULL) {
        if (fscanf(file, "%" SCNd64, &bytes) != 1 || bytes <= 0) {
            bytes = INT64_MAX;
        }
        fclose(file);
    }
    return bytes;
}

int64_t host_memory_bytes(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page_bytes = sysconf(_SC_PAGESIZE);
    const int64_t bytes =
        pages > 0 && page_bytes > 0 ? (int64_t)pages * (int64_t)page_bytes : INT64_MAX;
    const int64_t container = container_bytes();
    return container < bytes ? container : bytes;
}
