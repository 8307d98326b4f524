/* A collective as single messages over the fabric: the slow form.
 *
 * collective says which messages each rank sends in which round. Here each of them is a
 * message of its own: its bytes cross their route, sharing links with the other messages under
 * way (des/fluid), and a latency later the receiver has them. What a rank sends to one peer in
 * one round travels as one message. Ports work in order: a rank's messages of a round leave when
 * those of the round before have left, and come in when those of the round before have come in.
 * A rank sends in a round when it has what was sent to it in the rounds before. So a latency
 * holds no port: in a ring it is that of the hops on a part's way, one after the other, while
 * the bytes of each hop take their turn. With rounds of R equal messages of c seconds on every
 * hop, and latencies l of the hops, that is
 *
 *     R c + the largest sum of l over R hops in a row
 *
 * which is the coupled flow of a training step: rounds inside and between nodes, and the bytes
 * at the pace of the slowest hop. Were both ends held for the latency (a rendezvous without
 * buffers), it would be R (c + l) of the slowest hop, 1.3 times as much over 4,096 GPUs.
 *
 * This is the oracle of those coupled flows, and what `collective --single-sends` runs, with the
 * library's own latencies and pace. Messages are made when they are sent: memory grows with
 * ranks and with pairs that ever speak, not with rounds or messages.
 *
 * The options can also set the rules of other simulators: a fixed rate instead of a fabric,
 * time at the receiver.
 *
 * ASSUMES: in single sends buffers at the receiver never fill. A library has a few; NCCL's
 * tuning model stretches the latencies of large rings for it.
 * ASSUMES: a rank waits for all that came in the rounds before, in whichever direction. In an
 * all-reduce along trees, whose pieces go up and down at once, each of them would so wait a
 * latency; the command gives such a run the latency of the way once, before all.
 */
#ifndef TRAIN_SINGLE_SENDS_H
#define TRAIN_SINGLE_SENDS_H

#include "des/event.h"
#include "hw/fabric.h"
#include "plan/collective/collective.h"

/* What is done, by whom. */
struct single_sends_work {
    const struct collective_group *group;
    const uint32_t *gpus; /* of each rank; NULL at a fixed rate */
    enum collective_operation operation;
    enum collective_algorithm algorithm;
    double bytes;    /* of the buffer */
    uint32_t pieces; /* as collective_script has them */
};

struct single_sends_options {
    bool has_latency; /* else each message takes fabric_message_s */
    sim_time latency_intra_ns, latency_inter_ns;
    sim_time start_ns;  /* before all */
    sim_time pace_ns;   /* > 0: no pair's bytes of all rounds are sent in less: a library's
                                 * channel has one pace on all its hops, that of the slowest */
    double share_intra; /* of the links' rate that the library reaches; 0: all of it */
    double share_inter;
    sim_time overhead_ns;       /* before a rank's first round, and after each message comes */
    double rate_bytes_per_ns;   /* > 0: no fabric; a message takes floor(latency + bytes / rate) */
    int64_t reduce_passes;      /* what is reduced is then read and written so often, each pass */
    double memory_bytes_per_ns; /* taking floor(bytes / this); 0: no time */
};

struct single_sends_result {
    sim_time end;
    uint64_t messages;
    uint64_t events;
    double bytes; /* sent by all ranks */
};

/* False where the pair has no slow form for this group. `fabric` serves as scratch space for
 * routes, and may be NULL at a fixed rate. `options` may be NULL. */
MUST_USE bool single_sends_run(struct arena *arena, struct fabric *fabric,
                               const struct single_sends_work *work,
                               const struct single_sends_options *options,
                               struct single_sends_result *result);

#endif
