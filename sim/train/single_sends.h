/* A collective as single messages over the fabric: the slow form.
 *
 * plan/collective says which messages each rank sends in which round. Here each of them is a
 * message of its own: a latency that holds no bandwidth, then its bytes over its route, sharing
 * links with the other messages under way (des/fluid). What a rank sends to one peer in one
 * round travels as one message. A rank starts a round when all that it sends and receives in
 * the round before is done, and a message starts when both its ends are in its round.
 *
 * This is the oracle of the coupled flows that a training step uses, and what
 * `collective --single-sends` runs. Messages are made when they are sent: memory grows with
 * ranks and with pairs that ever speak, not with rounds or messages.
 *
 * The options can also set the rules of other simulators: a fixed rate instead of a fabric,
 * time at the receiver.
 *
 * ASSUMES: in single sends a rank is in one round at a time, in all channels.
 */
#ifndef TRAIN_SINGLE_SENDS_H
#define TRAIN_SINGLE_SENDS_H

#include "des/event.h"
#include "hw/fabric.h"
#include "plan/collective.h"

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
