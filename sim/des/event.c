/* A base-64 radix heap; and, as long as few are pending, a list in order of time.
 *
 * Few: an event is entered by moving those that are due before it or with it by one place, so that
 * the soonest is the last, and of equal times the first that was posted. From the first time on
 * that more than NEAR_MAX are pending, all are in the heap, until none is.
 *
 * Write times in base 64. A pending event lies in the bucket (level, digit)
 * where level is the highest digit in which its time differs from the clock,
 * and digit is its own digit there; an event due now lies at level 0. So
 *
 *   - all events of a level are earlier than all events of a higher level,
 *     and within a level a lower digit is earlier: two find-first-set
 *     instructions find the earliest bucket;
 *   - a bucket of level 0 holds a single time; equal times share a bucket at
 *     any level, because the bucket depends on the time and the clock alone;
 *   - when the clock moves to the earliest time, only the bucket which holds
 *     that time is misplaced: its events move to lower levels, in order. All
 *     others still differ from the clock in the same highest digit.
 *
 * Each event moves down at most 11 levels: O(1) amortised per event, near 2
 * moves in practice. Appending and redistributing keep the order within a
 * bucket, hence ties are first-in first-out. Only a pop moves the clock.
 *
 * A bucket is a list of chunks from a pool that all buckets share, so memory
 * follows the number of pending events, not the sum of the buckets' maxima.
 * A bucket that holds a single time moves down in one piece: large ties cost
 * an append and a take per event.
 *
 * Reference: Ahuja, Mehlhorn, Orlin, Tarjan, "Faster algorithms for the
 * shortest path problem", J. ACM 37 (1990), section 2 (one-level radix heap);
 * 64 digits a level as in a hierarchical timing wheel that skips empty slots.
 */
#include "des/event.h"

#include "base/arena.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

#define DIGIT_BITS 6
#define DIGITS 64
#define LEVELS 11 /* 11 * 6 >= 63 bits of a non-negative sim_time */

#define CHUNK_EVENTS 31 /* 31 * 16 + 16 = 512 bytes: eight cache lines */
#define SLAB_CHUNKS 64

struct chunk {
    struct chunk *next; /* in its bucket or in the pool */
    struct event events[CHUNK_EVENTS];
};

struct bucket {
    struct chunk *head;
    struct chunk *tail;
    sim_time time_min; /* of its events; meaningless when empty */
    uint16_t head_at;  /* first event not yet taken, in head */
    uint16_t tail_at;  /* first free place in tail */
    bool is_mixed;     /* it holds more than one time */
};

/* Insertions cost less than the heap up to about so many. */
#define NEAR_MAX 48

struct event_queue {
    sim_time now;
    size_t pending;
    bool is_near; /* all that is pending is in `near`; else in the heap */
    uint64_t posted_total;
    uint32_t levels_used;         /* bit = a level that has events */
    uint64_t digits_used[LEVELS]; /* bit = a bucket that has events */
    struct chunk *pool;
    struct arena *arena;              /* borrowed */
    struct bucket (*buckets)[DIGITS]; /* [LEVELS]; NULL: there never were more than few */
    struct event near[NEAR_MAX];      /* [pending]: the soonest is the last */
};

struct event_queue *event_queue_new(struct arena *arena)
{
    struct event_queue *queue = arena_alloc(arena, sizeof *queue);
    queue->arena = arena;
    queue->is_near = true;
    return queue;
}

static void pool_fill(struct event_queue *queue)
{
    struct chunk *slab = arena_room(queue->arena, SLAB_CHUNKS, sizeof *slab);
    for (uint32_t i = 0; i < SLAB_CHUNKS; i++) {
        slab[i].next = queue->pool;
        queue->pool = &slab[i];
    }
}

static struct chunk *chunk_take(struct event_queue *queue)
{
    if (queue->pool == NULL) {
        pool_fill(queue);
    }
    struct chunk *chunk = queue->pool;
    queue->pool = chunk->next;
    chunk->next = NULL;
    return chunk;
}

static void chunk_give(struct event_queue *queue, struct chunk *chunk)
{
    chunk->next = queue->pool;
    queue->pool = chunk;
}

static uint32_t level_of(sim_time time, sim_time now)
{
    const uint64_t difference = (uint64_t)time ^ (uint64_t)now;
    return (63u - (uint32_t)__builtin_clzll(difference | 1)) / DIGIT_BITS;
}

static uint32_t digit_of(sim_time time, uint32_t level)
{
    return (uint32_t)((uint64_t)time >> (level * DIGIT_BITS)) % DIGITS;
}

/* With its first event, which most have alone. */
static void bucket_open(struct event_queue *queue, uint32_t level, uint32_t digit,
                        const struct event *event)
{
    struct chunk *chunk = chunk_take(queue);
    chunk->events[0] = *event;
    queue->buckets[level][digit] =
        (struct bucket){.head = chunk, .tail = chunk, .time_min = event->time, .tail_at = 1};
    queue->digits_used[level] |= UINT64_C(1) << digit;
    queue->levels_used |= UINT32_C(1) << level;
}

/* The bucket is empty; its last chunk has been given back. */
static void bucket_close(struct event_queue *queue, uint32_t level, uint32_t digit)
{
    queue->digits_used[level] &= ~(UINT64_C(1) << digit);
    if (queue->digits_used[level] == 0) {
        queue->levels_used &= ~(UINT32_C(1) << level);
    }
}

static void bucket_extend(struct event_queue *queue, struct bucket *bucket)
{
    struct chunk *chunk = chunk_take(queue);
    bucket->tail->next = chunk;
    bucket->tail = chunk;
    bucket->tail_at = 0;
}

static void place(struct event_queue *queue, const struct event *event)
{
    const uint32_t level = level_of(event->time, queue->now);
    const uint32_t digit = digit_of(event->time, level);
    struct bucket *bucket = &queue->buckets[level][digit];
    if ((queue->digits_used[level] >> digit & 1) == 0) {
        bucket_open(queue, level, digit, event);
        return;
    }
    if (bucket->tail_at == CHUNK_EVENTS) {
        bucket_extend(queue, bucket);
    }
    bucket->tail->events[bucket->tail_at++] = *event;
    bucket->is_mixed |= event->time != bucket->time_min;
    bucket->time_min = event->time < bucket->time_min ? event->time : bucket->time_min;
}

/* ---- few ---------------------------------------------------------------- */

static void place_near(struct event_queue *queue, const struct event *event)
{
    size_t at = queue->pending;
    for (; at > 0 && queue->near[at - 1].time <= event->time; at--) {
        queue->near[at] = queue->near[at - 1];
    }
    queue->near[at] = *event;
}

/* All go into the heap, in their order. */
static void leave_near(struct event_queue *queue)
{
    queue->is_near = false;
    if (queue->buckets == NULL) {
        queue->buckets = arena_room(queue->arena, LEVELS, sizeof *queue->buckets);
    }
    for (size_t i = queue->pending; i > 0; i--) {
        place(queue, &queue->near[i - 1]);
    }
}

static void enter(struct event_queue *queue, const struct event *event)
{
    if (queue->is_near && queue->pending == NEAR_MAX) {
        leave_near(queue);
    }
    if (queue->is_near) {
        place_near(queue, event);
    } else {
        place(queue, event);
    }
    queue->pending++;
}

/* There is one. */
static bool take_near(struct event_queue *queue, struct event *event)
{
    *event = queue->near[--queue->pending];
    sim_assert(event->time >= queue->now);
    queue->now = event->time;
    return true;
}

/* ---- what the caller sees ----------------------------------------------- */

void event_post(struct event_queue *queue, sim_time time, uint32_t target, uint32_t stamp)
{
    sim_assert(time >= queue->now);
    enter(queue, &(struct event){.time = time, .target = target, .stamp = stamp});
    queue->posted_total++;
}

sim_time event_next_time(const struct event_queue *queue)
{
    if (queue->is_near) {
        return queue->pending > 0 ? queue->near[queue->pending - 1].time : SIM_TIME_MAX;
    }
    const uint32_t level = (uint32_t)__builtin_ctz(queue->levels_used);
    const uint32_t digit = (uint32_t)__builtin_ctzll(queue->digits_used[level]);
    return queue->buckets[level][digit].time_min;
}

/* Moves the events of a bucket to where the clock, now inside the bucket's
 * range, says they belong: lower levels all. */
static void redistribute(struct event_queue *queue, uint32_t level, uint32_t digit)
{
    const struct bucket old = queue->buckets[level][digit];
    bucket_close(queue, level, digit);
    uint32_t begin = old.head_at;
    for (struct chunk *chunk = old.head; chunk != NULL;) {
        const uint32_t end = chunk == old.tail ? old.tail_at : CHUNK_EVENTS;
        for (uint32_t i = begin; i < end; i++) {
            place(queue, &chunk->events[i]);
        }
        struct chunk *next = chunk->next;
        chunk_give(queue, chunk);
        chunk = next;
        begin = 0;
    }
}

static void take_first(struct event_queue *queue, uint32_t level, uint32_t digit,
                       struct event *event)
{
    struct bucket *bucket = &queue->buckets[level][digit];
    struct chunk *head = bucket->head;
    *event = head->events[bucket->head_at++];
    if (head == bucket->tail) {
        if (bucket->head_at == bucket->tail_at) {
            chunk_give(queue, head);
            bucket_close(queue, level, digit);
        }
    } else if (bucket->head_at == CHUNK_EVENTS) {
        bucket->head = head->next;
        bucket->head_at = 0;
        chunk_give(queue, head);
    }
    queue->is_near = --queue->pending == 0;
}

/* A bucket with one time moves to level 0 as it is; that one is empty, like
 * all lower levels. */
static void move_down(struct event_queue *queue, uint32_t level, uint32_t digit)
{
    const struct bucket *bucket = &queue->buckets[level][digit];
    const uint32_t digit_now = digit_of(queue->now, 0);
    queue->buckets[0][digit_now] = *bucket;
    bucket_close(queue, level, digit);
    queue->digits_used[0] |= UINT64_C(1) << digit_now;
    queue->levels_used |= 1;
}

static bool has_one_event(const struct bucket *bucket)
{
    return bucket->head == bucket->tail && bucket->head_at + 1 == bucket->tail_at;
}

static void take_only(struct event_queue *queue, uint32_t level, uint32_t digit,
                      struct event *event)
{
    const struct bucket *bucket = &queue->buckets[level][digit];
    *event = bucket->head->events[bucket->head_at];
    chunk_give(queue, bucket->head);
    bucket_close(queue, level, digit);
    queue->is_near = --queue->pending == 0;
}

/* The clock has reached the earliest time, which lies in this bucket. Makes
 * its events of that time a bucket of their own, of level 0. */
static void bring_down(struct event_queue *queue, uint32_t level, uint32_t digit)
{
    if (queue->buckets[level][digit].is_mixed) {
        redistribute(queue, level, digit);
    } else {
        move_down(queue, level, digit);
    }
}

/* The earliest bucket is that one. */
static void pop_from(struct event_queue *queue, uint32_t level, uint32_t digit, struct event *event)
{
    const struct bucket *bucket = &queue->buckets[level][digit];
    sim_assert(bucket->time_min >= queue->now);
    queue->now = bucket->time_min;
    if (has_one_event(bucket)) {
        take_only(queue, level, digit, event);
    } else {
        if (level > 0) {
            bring_down(queue, level, digit);
        }
        take_first(queue, 0, digit_of(queue->now, 0), event);
    }
    sim_assert(event->time == queue->now);
}

bool event_pop(struct event_queue *queue, struct event *event)
{
    if (queue->is_near) {
        return queue->pending > 0 && take_near(queue, event);
    }
    const uint32_t level = (uint32_t)__builtin_ctz(queue->levels_used);
    pop_from(queue, level, (uint32_t)__builtin_ctzll(queue->digits_used[level]), event);
    return true;
}

bool event_pop_at(struct event_queue *queue, sim_time time, struct event *event)
{
    if (queue->is_near) {
        return queue->pending > 0 && queue->near[queue->pending - 1].time == time &&
               take_near(queue, event);
    }
    const uint32_t level = (uint32_t)__builtin_ctz(queue->levels_used);
    const uint32_t digit = (uint32_t)__builtin_ctzll(queue->digits_used[level]);
    if (queue->buckets[level][digit].time_min != time) {
        return false;
    }
    pop_from(queue, level, digit, event);
    return true;
}

/* Those of a bucket, in their order; returns the place behind them. */
static struct event *list_bucket(const struct bucket *bucket, struct event *out)
{
    uint32_t first = bucket->head_at;
    for (const struct chunk *chunk = bucket->head; chunk != NULL; chunk = chunk->next) {
        const uint32_t end = chunk == bucket->tail ? bucket->tail_at : CHUNK_EVENTS;
        memcpy(out, &chunk->events[first], (end - first) * sizeof *out);
        out += end - first;
        first = 0;
    }
    return out;
}

void event_list(const struct event_queue *queue, struct event *events)
{
    struct event *out = events;
    if (queue->is_near) {
        for (size_t i = queue->pending; i > 0; i--) {
            *out++ = queue->near[i - 1];
        }
        return;
    }
    for (uint32_t level = 0; level < LEVELS; level++) {
        for (uint64_t used = queue->digits_used[level]; used != 0; used &= used - 1) {
            out = list_bucket(&queue->buckets[level][__builtin_ctzll(used)], out);
        }
    }
    sim_assert(queue->pending == 0 || out == events + queue->pending);
}

void event_take_all(struct event_queue *queue, sim_time time, struct event *events)
{
    event_list(queue, events);
    while (queue->levels_used != 0) {
        const uint32_t level = (uint32_t)__builtin_ctz(queue->levels_used);
        const uint32_t digit = (uint32_t)__builtin_ctzll(queue->digits_used[level]);
        struct bucket *bucket = &queue->buckets[level][digit];
        bucket->tail->next = queue->pool;
        queue->pool = bucket->head;
        bucket_close(queue, level, digit);
    }
    queue->pending = 0;
    queue->is_near = true;
    queue->now = time;
}

/* Buckets depend on the clock: all are taken out and placed again. */
void event_move_on(struct event_queue *queue, sim_time shift, struct event *scratch)
{
    const sim_time now = queue->now;
    size_t count = 0;
    sim_assert(shift >= 0);
    while (event_pop(queue, &scratch[count])) {
        count++;
    }
    queue->now = now + shift;
    for (size_t i = 0; i < count; i++) {
        scratch[i].time += shift;
        enter(queue, &scratch[i]);
    }
}

sim_time event_now(const struct event_queue *queue)
{
    return queue->now;
}

size_t event_pending(const struct event_queue *queue)
{
    return queue->pending;
}

uint64_t event_posted_total(const struct event_queue *queue)
{
    return queue->posted_total;
}

sim_time sim_time_from_s(double seconds)
{
    sim_assert(seconds >= 0.0 && seconds < 9e9);
    return (sim_time)llround(seconds * 1e9);
}

double sim_time_to_s(sim_time time)
{
    return units_seconds(time);
}
