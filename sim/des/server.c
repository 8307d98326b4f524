/* Both disciplines serve by the same clock.
 *
 * A server has a progress: the work, in 2^-20 ns, that a job served since the
 * beginning of time would have got. First come first served gives each job a
 * slot of its own, so progress is the time itself. Sharing gives each of n
 * jobs min(1, slots / n) of a slot, so progress runs at that rate; it is
 * advanced when n changes and only then, hence once per instant however many
 * jobs come and go in it. A job that begins with work w is due when progress
 * reaches its value at the beginning plus w. What is being served lies in a
 * heap ordered by (due, order of beginning); the rest of the difference
 * between the disciplines is that FIFO lets at most `slots` begin.
 *
 * Progress is rounded down and the time of the next end up, so a job is never
 * let go early; per change of n under sharing a job loses less than 2^-20 ns,
 * and per end, if others are served with it, less than 1 ns.
 *
 * Bounds: work and time < 2^63 ns, 20 bits of fraction, slots and jobs < 2^32,
 * folded or not: products < 2^115.
 *
 * `arrivals` counts all jobs that came, the refused ones too.
 *
 * Reference for sharing: Kleinrock, Queueing Systems vol. 2, section 4.4
 * (processor sharing); the progress is the "virtual time" of Parekh and
 * Gallager 1993.
 */
#include "des/server.h"

#include "base/arena.h"
#include "base/wide.h"

#define FRACTION_BITS 20
#define VERSION_MASK 0xffffffu
#define NO_TIME (-1)

struct waiting_job {
    sim_time work_ns;
    sim_time arrived_at;
    uint32_t job;
};

struct served_job {
    uint128 due; /* the progress at which it ends */
    uint64_t order;
    sim_time arrived_at;
    uint32_t job;
};

struct discipline;

struct server {
    const struct discipline *discipline;
    struct event_queue *queue; /* borrowed, like the arena */
    struct arena *arena;
    struct server_options options;

    struct waiting_job *waiting; /* a ring */
    size_t waiting_capacity, waiting_first, waiting_count;
    struct served_job *served; /* a heap, the first to end on top */
    size_t served_capacity, served_count;
    uint64_t begun_total;

    uint128 progress;
    sim_time advanced_at; /* of progress */
    sim_time counted_at;  /* of the integrals */
    sim_time completion;  /* time of the pending event, NO_TIME if none */
    uint32_t version;     /* 24 bits */
    struct server_statistics statistics;
};

/* ---- disciplines ------------------------------------------------------- */

struct discipline {
    bool has_own_slots; /* a job is served only on a free slot of its own */
    uint128 (*gain)(const struct server *server, uint128 elapsed); /* rounded down */
    uint128 (*wait)(const struct server *server, uint128 work);    /* its inverse, rounded up */
};

static uint128 full_speed(const struct server *server, uint128 amount)
{
    (void)server;
    return amount;
}

/* Jobs that share, when `jobs` of this server are inside. */
static uint64_t sharing(const struct server *server, uint64_t jobs)
{
    return jobs * server->options.copies + server->options.residents;
}

static uint128 shared_gain(const struct server *server, uint128 elapsed)
{
    const uint128 slots = server->options.slots;
    const uint128 all = sharing(server, server->served_count);
    return all <= slots ? elapsed : elapsed * slots / all;
}

static uint128 shared_wait(const struct server *server, uint128 work)
{
    const uint128 slots = server->options.slots;
    const uint128 all = sharing(server, server->served_count);
    return all <= slots ? work : (work * all + slots - 1) / slots;
}

static const struct discipline disciplines[] = {
    [SERVER_FIFO] = {.has_own_slots = true, .gain = full_speed, .wait = full_speed},
    [SERVER_SHARED] = {.has_own_slots = false, .gain = shared_gain, .wait = shared_wait},
};

struct server *server_new(struct arena *arena, struct event_queue *queue,
                          const struct server_options *options)
{
    sim_assert(options->kind == SERVER_FIFO || options->kind == SERVER_SHARED);
    sim_assert(options->slots >= 1);
    sim_assert(options->stamp_kind < 256);
    sim_assert(options->kind == SERVER_SHARED || (options->copies <= 1 && options->residents == 0));
    struct server *server = arena_alloc(arena, sizeof *server);
    server->discipline = &disciplines[options->kind];
    server->queue = queue;
    server->arena = arena;
    server->options = *options;
    server->options.copies = options->copies > 0 ? options->copies : 1;
    server->advanced_at = event_now(queue);
    server->counted_at = event_now(queue);
    server->completion = NO_TIME;
    return server;
}

/* ---- counting ---------------------------------------------------------- */

static void count_up_to(const struct server *server, sim_time now,
                        struct server_statistics *statistics)
{
    const int64_t elapsed = now - server->counted_at;
    const int64_t jobs = statistics->jobs_now;
    const int64_t all = (int64_t)sharing(server, statistics->jobs_now);
    const int64_t slots = server->options.slots;
    statistics->integral_jobs_ns += jobs * elapsed;
    statistics->integral_busy_ns += (all < slots ? all : slots) * elapsed;
}

/* To be called before the number of jobs changes. */
static void count_and_advance(struct server *server)
{
    const sim_time now = event_now(server->queue);
    count_up_to(server, now, &server->statistics);
    server->counted_at = now;
    const uint128 elapsed = (uint128)(now - server->advanced_at) << FRACTION_BITS;
    server->progress += server->discipline->gain(server, elapsed);
    server->advanced_at = now;
}

struct server_statistics server_statistics(const struct server *server)
{
    struct server_statistics statistics = server->statistics;
    count_up_to(server, event_now(server->queue), &statistics);
    return statistics;
}

/* ---- the heap of served jobs ------------------------------------------- */

static bool ends_before(const struct served_job *a, const struct served_job *b)
{
    return a->due < b->due || (a->due == b->due && a->order < b->order);
}

static void served_insert(struct server *server, const struct served_job *job)
{
    server->served = arena_grow(server->arena, server->served, &server->served_capacity,
                                server->served_count + 1, sizeof *server->served);
    size_t hole = server->served_count++;
    while (hole > 0 && ends_before(job, &server->served[(hole - 1) / 2])) {
        server->served[hole] = server->served[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    server->served[hole] = *job;
}

static struct served_job served_remove_first(struct server *server)
{
    sim_assert(server->served_count > 0);
    struct served_job *heap = server->served;
    const struct served_job first = heap[0];
    const struct served_job moved = heap[--server->served_count];
    size_t hole = 0;
    for (size_t child = 1; child < server->served_count; child = 2 * hole + 1) {
        if (child + 1 < server->served_count && ends_before(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (!ends_before(&heap[child], &moved)) {
            break;
        }
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = moved;
    return first;
}

/* ---- the ring of waiting jobs ------------------------------------------ */

/* A ring that grows is unrolled: the part before `waiting_first` follows the
 * old end. Capacity at least doubles, so there is room for it. */
static void waiting_grow(struct server *server)
{
    const size_t old = server->waiting_capacity;
    server->waiting = arena_grow(server->arena, server->waiting, &server->waiting_capacity,
                                 old > 0 ? 2 * old : 16, sizeof *server->waiting);
    for (size_t i = 0; i < server->waiting_first; i++) {
        server->waiting[old + i] = server->waiting[i];
    }
}

static void waiting_append(struct server *server, const struct waiting_job *job)
{
    if (server->waiting_count == server->waiting_capacity) {
        waiting_grow(server);
    }
    size_t at = server->waiting_first + server->waiting_count++;
    at -= at >= server->waiting_capacity ? server->waiting_capacity : 0;
    server->waiting[at] = *job;
}

static struct waiting_job waiting_remove_first(struct server *server)
{
    sim_assert(server->waiting_count > 0);
    const struct waiting_job first = server->waiting[server->waiting_first++];
    if (server->waiting_first == server->waiting_capacity) {
        server->waiting_first = 0;
    }
    server->waiting_count--;
    return first;
}

/* ---- serving ----------------------------------------------------------- */

static bool has_free_slot(const struct server *server)
{
    return !server->discipline->has_own_slots || server->served_count < server->options.slots;
}

static void begin(struct server *server, const struct waiting_job *job)
{
    const struct served_job served = {
        .due = server->progress + ((uint128)job->work_ns << FRACTION_BITS),
        .order = server->begun_total++,
        .arrived_at = job->arrived_at,
        .job = job->job,
    };
    served_insert(server, &served);
    server->statistics.sum_wait_ns += server->advanced_at - job->arrived_at;
}

/* Time of the next end, now if something is due, SIM_TIME_MAX if that is
 * beyond the end of time. */
static sim_time next_end(const struct server *server)
{
    const uint128 due = server->served[0].due;
    if (due <= server->progress) {
        return server->advanced_at;
    }
    const uint128 wait = server->discipline->wait(server, due - server->progress);
    const uint128 wait_ns = (wait + (1u << FRACTION_BITS) - 1) >> FRACTION_BITS;
    const uint128 left_ns = (uint128)(SIM_TIME_MAX - server->advanced_at);
    return wait_ns < left_ns ? server->advanced_at + (sim_time)wait_ns : SIM_TIME_MAX;
}

/* Posts an event for the next end unless the pending one is right. */
static void repost(struct server *server)
{
    const sim_time next = server->served_count > 0 ? next_end(server) : NO_TIME;
    if (next == server->completion) {
        return;
    }
    server->completion = next;
    server->version = (server->version + 1) & VERSION_MASK;
    if (next != NO_TIME) {
        event_post(server->queue, next, server->options.target,
                   server->version << 8 | server->options.stamp_kind);
    }
}

bool server_arrive(struct server *server, uint32_t job, sim_time work_ns)
{
    sim_assert(work_ns > 0);
    count_and_advance(server);
    struct server_statistics *statistics = &server->statistics;
    statistics->arrivals++;
    if (server->options.capacity > 0 && statistics->jobs_now == server->options.capacity) {
        statistics->refused++;
        return false;
    }
    statistics->jobs_now++;
    if (statistics->jobs_now > statistics->jobs_max) {
        statistics->jobs_max = statistics->jobs_now;
    }
    const struct waiting_job arrived = {
        .work_ns = work_ns, .arrived_at = event_now(server->queue), .job = job};
    if (has_free_slot(server)) {
        begin(server, &arrived);
        repost(server);
    } else {
        waiting_append(server, &arrived);
    }
    return true;
}

static void depart(struct server *server, const struct served_job *ended)
{
    struct server_statistics *statistics = &server->statistics;
    statistics->departures++;
    statistics->jobs_now--;
    statistics->sum_sojourn_ns += event_now(server->queue) - ended->arrived_at;
    if (server->waiting_count > 0 && has_free_slot(server)) {
        const struct waiting_job next = waiting_remove_first(server);
        begin(server, &next);
    }
    sim_assert(statistics->jobs_now == server->served_count + server->waiting_count);
}

bool server_complete(struct server *server, const struct event *event, uint32_t *job)
{
    sim_assert(event->target == server->options.target);
    sim_assert((event->stamp & 0xff) == server->options.stamp_kind);
    if (event->time != server->completion || event->stamp >> 8 != server->version) {
        return false;
    }
    sim_assert(event->time == event_now(server->queue));
    count_and_advance(server);
    sim_assert(server->served[0].due <= server->progress);
    const struct served_job ended = served_remove_first(server);
    depart(server, &ended);
    repost(server);
    *job = ended.job;
    return true;
}
