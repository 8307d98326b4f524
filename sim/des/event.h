/* The pending-event set: what happens when, in simulated time.
 *
 * Time is integer nanoseconds since the start of the simulation and never
 * runs back. Events at the same time come out in the order in which they were
 * posted. The queue is a base-64 radix heap: monotone integer time makes push
 * and pop cost O(1) amortised, and ties stay first-in first-out without a
 * sequence number, because equal times always share a bucket and
 * redistribution is stable.
 *
 * An instant runs in rounds: the caller takes every event due at one time
 * (event_pop_at), then does its deferred work (rates, completions), which may
 * post more events at that same time, until none is left; only then does the
 * clock move on. event_next_time looks without moving the clock, so events
 * may still be posted at the current time afterwards.
 *
 * There is no cancel: an event carries a stamp, and its owner drops it when
 * the stamp is stale.
 */
#ifndef DES_EVENT_H
#define DES_EVENT_H

#include "base/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

typedef int64_t sim_time; /* nanoseconds */

#define SIM_TIME_MAX INT64_MAX

struct event {
    sim_time time;
    uint32_t target; /* what it concerns; the owner's index */
    uint32_t stamp;  /* kind and version, packed by the owner */
};

struct event_queue;

struct event_queue *event_queue_new(struct arena *arena);

/* Posts an event at `time` >= event_now(queue). */
void event_post(struct event_queue *queue, sim_time time, uint32_t target, uint32_t stamp);

/* Time of the earliest event, SIM_TIME_MAX if there is none. Does not move the clock. */
sim_time event_next_time(const struct event_queue *queue);

/* Takes the earliest event and moves the clock to it; false when empty. */
bool event_pop(struct event_queue *queue, struct event *event);

/* Takes the next event due exactly at `time`, the current or the next time;
 * false when there is none. */
bool event_pop_at(struct event_queue *queue, sim_time time, struct event *event);

sim_time event_now(const struct event_queue *queue);
size_t event_pending(const struct event_queue *queue);
uint64_t event_posted_total(const struct event_queue *queue);

/* Writes down all that is pending, in no order but that of each time; room for event_pending. */
void event_list(const struct event_queue *queue, struct event *events);

/* Takes out all that is pending, in that order, and puts the clock to `time`, which may be before;
 * room for event_pending. */
void event_take_all(struct event_queue *queue, sim_time time, struct event *events);

/* The clock and all that is pending move on by `shift` >= 0, in their order. `scratch`: room for
 * event_pending. */
void event_move_on(struct event_queue *queue, sim_time shift, struct event *scratch);

/* Seconds -> nanoseconds, rounded to nearest: the only border where durations
 * become integers. Asserts 0 <= seconds < 9e9. */
sim_time sim_time_from_s(double seconds);
double sim_time_to_s(sim_time time);

#endif
