/* DataLoader workers: samples read, decoded and delivered in order, as actors of des/engine.
 *
 * PyTorch's rules: at the start prefetch * workers batches are handed out
 * round-robin; each batch taken hands out one more; a batch is made by one
 * worker and delivered in order, so a slow one holds up those behind it.
 * Without workers a batch is made when it is asked for.
 *
 * A batch is first asked for (a flow of requests, over what the storage can answer), then, from its
 * first byte on, a flow from the file system, over its node's storage link, and then work on the
 * node's cores, a flow, too: a link of `cores` core-seconds a second, of which a worker takes one
 * at most. So everything is shared by max-min (des/fluid). The workers of all loaders of a node
 * share its cores, and so does the main process of each GPU, which never rests (it launches kernels
 * and polls); those of all nodes share the file system. The loaders are alike and in step, so one
 * is simulated for all, with their number on each link that they share.
 *
 * The consumer (a GPU) computes a step at a time; each waits for its batch.
 *
 * ASSUMES: kernels are launched no later when main processes share their cores.
 * ASSUMES: a worker reads a batch, then works on it; PyTorch's does one after the other.
 *
 * Closed forms for equal times t, step T, W workers, N steps (tests):
 *     W = 0            N (t + T)
 *     t <= W T         t + N T           (only the first batch is waited for)
 *     t >  W T         t ceil(N/W) + ((N-1) mod W + 1) T
 * L such loaders and m main processes on c cores, all workers at work: t is longer by
 * max(1, (L W + m) / c).
 */
#ifndef HW_DATALOADER_H
#define HW_DATALOADER_H

#include "des/engine.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;

/* The largest `workers`. */
#define DATALOADER_WORKERS_MAX 256

/* How long the work on a batch takes: always batch_ns, or batch_ns in the mean. */
enum dataloader_law { BATCHES_EQUAL, BATCHES_LOGNORMAL, BATCHES_EXPONENTIAL };

/* Of a worker's channel: its paths. A request is counted in millionths. */
enum { DATALOADER_READ, DATALOADER_CORES, DATALOADER_REQUESTS, DATALOADER_PATHS };
#define DATALOADER_REQUEST 1000000

struct dataloader_options {
    uint32_t workers;  /* 0: inline */
    uint32_t prefetch; /* batches ahead per worker, >= 1 */
    uint32_t cores;    /* of the node, >= 1 */
    uint32_t loaders;  /* of the node, alike, >= 1 */
    uint32_t mains;    /* processes that each want a core all the time */
    sim_time batch_ns; /* one worker works on one batch, on a core of its own */
    enum dataloader_law law;
    double spread;              /* BATCHES_LOGNORMAL: standard deviation of the logarithm */
    uint32_t samples;           /* whose sizes a batch's is the mean of; 0 as 1 */
    double requests;            /* of a batch, to the storage; not in a row: all at once */
    int64_t requests_per_s;     /* that all loaders share; 0: any number */
    sim_time first_byte_ns;     /* of a batch */
    int64_t stream_bytes_per_s; /* of a worker that reads; 0: as much as there is */
    uint32_t fills;       /* batches that each worker makes before its first: a shuffle buffer */
    bool is_local;        /* read from the node's own drives (node_bytes_per_s) */
    double read_bytes;    /* of a batch; 0: nothing is read */
    uint32_t all_loaders; /* of all nodes: they share the file system; 0: no more than `loaders` */
    int64_t node_bytes_per_s, system_bytes_per_s; /* storage's, where something is read */
    uint32_t counted_from, counted_to;            /* steps whose stall is counted apart */
    uint64_t seed;
};

/* What a worker of a rank does for a batch. */
struct dataloader_batch {
    int64_t read_bytes; /* 0: nothing */
    int64_t requests;   /* in millionths */
    sim_time first_byte_ns;
    sim_time work_ns; /* on a core of its own */
};
struct dataloader_batch dataloader_batch_of(const struct dataloader_options *options, uint64_t rank,
                                            uint32_t batch);

/* The same as phases of a transfer, from phase `first` of the table on: asked for, read, worked on.
 * Returns how many there are. */
uint32_t dataloader_phases(const struct dataloader_batch *batch, uint32_t first,
                           struct engine_transfer phases[DATALOADER_PATHS]);

/* What a batch of the mean takes a worker that shares with those of all loaders, all at work. */
double dataloader_crowded_s(const struct dataloader_options *options);

struct dataloader_outcome {
    sim_time total_ns;         /* all steps */
    sim_time stall_ns;         /* waited for batches, all steps */
    sim_time first_stall_ns;   /* of which for the first batch */
    sim_time counted_stall_ns; /* in the steps that were to be counted apart */
    uint32_t buffered_max;     /* batches ready and not taken, at most */
    double reading_share;      /* of the file system's bandwidth, over all steps */
    double node_share;         /* of the node's storage link */
};

/* Simulates `steps` steps of `step_ns` each, one batch a step. */
void dataloader_run(struct arena *arena, const struct dataloader_options *options, sim_time step_ns,
                    uint32_t steps, struct dataloader_outcome *outcome);

#endif
