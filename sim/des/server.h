/* Servers: places where jobs queue for service.
 *
 * Three disciplines, one table:
 *   SERVER_FIFO     `slots` slots, first come first served (slots 1: one at a time)
 *   SERVER_SHARED   processor sharing: all jobs at once, each at rate slots/n at most 1
 * (a k-slot server is SERVER_FIFO with slots k). Work is in nanoseconds of one
 * undisturbed slot. A server with a capacity refuses a job when that many are
 * inside (waiting or served).
 *
 * A shared server may be folded: each job stands for `copies` equal ones that come and
 * go together, and `residents` more never leave; n counts all of them.
 *
 * Work done under sharing is kept as an integer number of 2^-20 ns, so that
 * n equal jobs end together and the result does not depend on the order in
 * which things of one instant are handled. Completion times round up.
 *
 * Folding note: k identical ranks on fewer FIFO slots end apart, so a FIFO
 * server that several ranks share forbids folding them together; a shared
 * server does not.
 *
 * The server owns no clock. It posts one event for its next completion on the
 * queue it was given, with the target and stamp base it was told, and drops
 * stale ones in server_complete.
 */
#ifndef DES_SERVER_H
#define DES_SERVER_H

#include "des/event.h"

struct server;

enum server_kind { SERVER_FIFO, SERVER_SHARED };

struct server_options {
    enum server_kind kind;
    uint32_t slots;      /* >= 1 */
    uint32_t capacity;   /* jobs inside at most; 0 = no limit */
    uint32_t copies;     /* shared: jobs that each one stands for; 0 = itself alone */
    uint32_t residents;  /* shared: jobs that are always served and never end */
    uint32_t target;     /* put into its events */
    uint32_t stamp_kind; /* low 8 bits of its events' stamps; the version fills the upper 24 */
};

/* What a server saw so far, each folded job counted once and no residents. The
 * integrals are exact: when a run starts and ends empty, integral_jobs_ns ==
 * sum_sojourn_ns (Little's law). */
struct server_statistics {
    uint64_t arrivals;
    uint64_t departures;
    uint64_t refused;
    uint32_t jobs_now;
    uint32_t jobs_max;
    int64_t sum_wait_ns;      /* time before service began; 0 for shared */
    int64_t sum_sojourn_ns;   /* arrival to departure, departed jobs */
    int64_t integral_jobs_ns; /* integral of jobs inside over time */
    int64_t integral_busy_ns; /* integral of busy slots, residents' included; for shared: of
                               * min(n, slots) */
};

struct server *server_new(struct arena *arena, struct event_queue *queue,
                          const struct server_options *options);

/* A job with `work_ns` > 0 of work arrives now. False when refused. */
bool server_arrive(struct server *server, uint32_t job, sim_time work_ns);

/* Handles an event whose stamp kind is this server's. When a job ended, true
 * and its number in *job; call again until false (several may end at once). */
bool server_complete(struct server *server, const struct event *event, uint32_t *job);

/* Statistics up to now. */
struct server_statistics server_statistics(const struct server *server);

#endif
