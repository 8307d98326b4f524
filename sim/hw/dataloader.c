/* Two kinds of events: a worker has made its batch (a job of the core server
 * ended), and the consumer's step is over. Batch i is made by worker
 * i % workers. The consumer takes batch i when it is ready and the step before
 * is over; taking it hands out one more.
 */
#include "hw/dataloader.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"
#include "des/server.h"

enum { EVENT_CORES = 1, EVENT_STEP_END = 2 };

struct worker {
    uint32_t batch; /* made now or next */
    uint32_t limit; /* batches below this number are handed out to it */
    bool is_busy;
};

struct loader {
    const struct dataloader_options *options;
    struct dataloader_outcome *outcome;
    struct event_queue *queue;
    struct server *cores;
    uint64_t stream;
    sim_time step_ns;
    uint32_t steps;
    uint32_t handed_out; /* batches given to workers */
    struct worker *workers;
    bool *is_ready; /* per batch */
    uint32_t ready_untaken;
    uint32_t wanted; /* the batch the consumer takes next */
    bool is_waiting;
    sim_time waiting_since;
};

static sim_time batch_time(const struct loader *loader, uint32_t batch)
{
    const struct dataloader_options *o = loader->options;
    if (!(o->spread > 0)) {
        return o->batch_ns;
    }
    const struct rng_key key = {o->seed, loader->stream, o->rank, batch, 0};
    const double factor = rng_lognormal(&key, -0.5 * o->spread * o->spread, o->spread);
    return sim_time_from_s(sim_time_to_s(o->batch_ns) * factor);
}

/* ---- workers --------------------------------------------------------------- */

static void batch_made(struct loader *loader, uint32_t number)
{
    struct worker *worker = &loader->workers[number];
    loader->is_ready[worker->batch] = true;
    loader->ready_untaken++;
    if (loader->ready_untaken > loader->outcome->buffered_max) {
        loader->outcome->buffered_max = loader->ready_untaken;
    }
    worker->is_busy = false;
    worker->batch += loader->options->workers;
}

/* Starts on the next batch handed out, if there is one. A batch that takes no
 * time is there at once. */
static void work_on_next(struct loader *loader, uint32_t number)
{
    struct worker *worker = &loader->workers[number];
    while (!worker->is_busy && worker->batch < worker->limit && worker->batch < loader->steps) {
        worker->is_busy = true;
        const sim_time work_ns = batch_time(loader, worker->batch);
        if (work_ns > 0) {
            const bool is_taken = server_arrive(loader->cores, number, work_ns);
            sim_assert(is_taken);
            return;
        }
        batch_made(loader, number);
    }
}

static void hand_out_one(struct loader *loader)
{
    const uint32_t number = loader->handed_out % loader->options->workers;
    loader->workers[number].limit = loader->handed_out + 1;
    loader->handed_out++;
    work_on_next(loader, number);
}

/* ---- the consumer ------------------------------------------------------------ */

static void take_if_ready(struct loader *loader)
{
    if (!loader->is_waiting || !loader->is_ready[loader->wanted]) {
        return;
    }
    const sim_time now = event_now(loader->queue);
    const sim_time waited = now - loader->waiting_since;
    loader->outcome->stall_ns += waited;
    if (loader->wanted == 0) {
        loader->outcome->first_stall_ns = waited;
    }
    loader->is_waiting = false;
    loader->ready_untaken--;
    hand_out_one(loader);
    event_post(loader->queue, now + loader->step_ns, 0, EVENT_STEP_END);
}

static void step_ended(struct loader *loader)
{
    loader->wanted++;
    loader->outcome->total_ns = event_now(loader->queue);
    if (loader->wanted < loader->steps) {
        loader->is_waiting = true;
        loader->waiting_since = event_now(loader->queue);
        take_if_ready(loader);
    }
}

static void run_workers(struct loader *loader)
{
    const uint32_t ahead = loader->options->workers * loader->options->prefetch;
    for (uint32_t i = 0; i < ahead; i++) {
        hand_out_one(loader);
    }
    loader->is_waiting = true;
    take_if_ready(loader);
    struct event event;
    while (event_pop(loader->queue, &event)) {
        if (event.stamp == EVENT_STEP_END) {
            step_ended(loader);
            continue;
        }
        uint32_t number;
        while (server_complete(loader->cores, &event, &number)) {
            batch_made(loader, number);
            work_on_next(loader, number);
        }
        take_if_ready(loader);
    }
    sim_assert(loader->wanted == loader->steps);
}

static void run_inline(const struct loader *loader)
{
    for (uint32_t batch = 0; batch < loader->steps; batch++) {
        const sim_time made_in = batch_time(loader, batch);
        loader->outcome->stall_ns += made_in;
        loader->outcome->total_ns += made_in + loader->step_ns;
        if (batch == 0) {
            loader->outcome->first_stall_ns = made_in;
        }
    }
}

void dataloader_run(struct arena *arena, const struct dataloader_options *options, sim_time step_ns,
                    uint32_t steps, struct dataloader_outcome *outcome)
{
    struct loader loader = {.options = options,
                            .outcome = outcome,
                            .stream = rng_stream("dataloader batch time"),
                            .step_ns = step_ns,
                            .steps = steps};
    sim_assert(options->cores >= 1);
    sim_assert(options->loaders >= 1);
    *outcome = (struct dataloader_outcome){0};
    if (options->workers == 0) {
        run_inline(&loader);
        return;
    }
    const struct server_options cores = {
        .kind = SERVER_SHARED,
        .slots = options->cores,
        .copies = options->loaders,
        .residents = options->mains,
        .stamp_kind = EVENT_CORES,
    };
    loader.queue = event_queue_new(arena);
    loader.cores = server_new(arena, loader.queue, &cores);
    loader.workers = arena_array(arena, options->workers, sizeof *loader.workers);
    loader.is_ready = arena_array(arena, (size_t)steps + 1, sizeof *loader.is_ready);
    for (uint32_t number = 0; number < options->workers; number++) {
        loader.workers[number].batch = number;
    }
    run_workers(&loader);
}
