/* The work of the last `depth` launches is a sum over a sliding window of bursts: each enters and
 * leaves once, so a program of n bursts costs O(n). A burst has a launch or more, so the ring
 * needs no more places than `depth` and two.
 */
#include "train/launch_queue.h"

#include "base/arena.h"
#include "base/check.h"

#include <string.h>

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- bursts ------------------------------------------------------------------------------- */

void launch_burst_add(struct launch_burst *burst, int64_t launches, int64_t work_ns,
                      int64_t host_ns)
{
    sim_assert(launches >= 1);
    sim_assert(work_ns >= 0 && host_ns >= 0);
    /* Of equal kernels the first or the last is the furthest behind. */
    const int64_t first = burst->host_ns + host_ns / launches - burst->work_ns;
    const int64_t last = burst->host_ns + host_ns - (burst->work_ns + work_ns - work_ns / launches);
    burst->deficit_ns = larger(burst->deficit_ns, larger(first, last));
    burst->launches += launches;
    burst->work_ns += work_ns;
    burst->host_ns += host_ns;
}

static int64_t part_of(int64_t whole, int64_t number, int64_t count)
{
    return whole * (number + 1) / count - whole * number / count;
}

/* If the host is slower than the GPU, each part leaves the next a smaller lead: by what it is
 * slower, which the first parts do not yet lack. */
struct launch_burst launch_burst_part(const struct launch_burst *burst, int64_t number,
                                      int64_t count)
{
    sim_assert(number >= 0 && number < count);
    const int64_t slower_ns = larger(0, burst->host_ns - burst->work_ns);
    struct launch_burst part = {
        .launches = larger(part_of(burst->launches, number, count), burst->launches > 0),
        .host_ns = part_of(burst->host_ns, number, count),
        .work_ns = part_of(burst->work_ns, number, count),
    };
    part.deficit_ns = larger(burst->deficit_ns - slower_ns * (count - 1) / count,
                             larger(0, part.host_ns - part.work_ns));
    return part;
}

/* ---- the queue ------------------------------------------------------------------------------ */

void launch_queue_init(struct launch_queue *queue, struct arena *arena, int64_t depth)
{
    sim_assert(depth >= 1 && depth < UINT32_MAX - 2);
    *queue = (struct launch_queue){.depth = depth, .capacity = (uint32_t)depth + 2};
    queue->recent = arena_room(arena, queue->capacity, sizeof *queue->recent);
}

void launch_queue_forget(struct launch_queue *queue)
{
    queue->first = 0;
    queue->count = 0;
    queue->recent_launches = 0;
    queue->recent_ns = 0;
}

static void forget_oldest(struct launch_queue *queue)
{
    const struct launch_burst *oldest = &queue->recent[queue->first];
    queue->recent_launches -= oldest->launches;
    queue->recent_ns -= oldest->work_ns;
    queue->first = queue->first + 1 < queue->capacity ? queue->first + 1 : 0;
    queue->count--;
}

void launch_queue_remember(struct launch_queue *queue, const struct launch_burst *burst)
{
    sim_assert(queue->count < queue->capacity);
    const uint32_t place = queue->first + queue->count;
    queue->recent[place < queue->capacity ? place : place - queue->capacity] = *burst;
    queue->count++;
    queue->recent_launches += burst->launches;
    queue->recent_ns += burst->work_ns;
    while (queue->recent_launches - queue->recent[queue->first].launches >= queue->depth) {
        forget_oldest(queue);
    }
}

bool launch_queue_remember_older(struct launch_queue *queue, const struct launch_burst *bursts,
                                 size_t count)
{
    uint32_t first = queue->first;
    int64_t launches = queue->recent_launches;
    int64_t work_ns = queue->recent_ns;
    uint32_t taken = 0;
    for (; count > 0 && launches < queue->depth; count--) {
        const struct launch_burst *burst = &bursts[count - 1];
        if (burst->launches > 0) {
            first = (first > 0 ? first : queue->capacity) - 1;
            queue->recent[first] = *burst;
            launches += burst->launches;
            work_ns += burst->work_ns;
            taken++;
        }
    }
    queue->first = first;
    queue->count += taken;
    queue->recent_launches = launches;
    queue->recent_ns = work_ns;
    sim_assert(queue->count <= queue->capacity);
    return launches < queue->depth;
}

bool launch_queue_remember_whole(struct launch_queue *queue, const struct launch_burst *bursts,
                                 uint32_t count, int64_t launches, int64_t work_ns)
{
    const uint32_t end = queue->first > 0 ? queue->first : queue->capacity;
    if (count == 0 || count > end ||
        queue->recent_launches + launches - bursts[0].launches >= queue->depth) {
        return false;
    }
    queue->first = end - count;
    queue->count += count;
    queue->recent_launches += launches;
    queue->recent_ns += work_ns;
    memcpy(&queue->recent[queue->first], bursts, count * sizeof *bursts);
    sim_assert(queue->count <= queue->capacity);
    return true;
}

/* Of the last `depth` launches, of which the oldest burst may have only some. */
int64_t launch_queue_pending_ns(const struct launch_queue *queue)
{
    const struct launch_burst *oldest = &queue->recent[queue->first];
    const int64_t over = larger(0, queue->recent_launches - queue->depth);
    const double share = (double)over / (double)oldest->launches;
    return queue->recent_ns - (int64_t)(share * (double)oldest->work_ns);
}
