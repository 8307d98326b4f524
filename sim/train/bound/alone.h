/* How long parts of a step take a rank that nobody keeps waiting: what train/bound adds up.
 *
 * A part (a layer forward, its backward, what the ends of the model do) is written by the functions
 * that write programs, and its tasks are timed as if the rank were alone: kernels at full speed,
 * the host as far ahead as can be before the part, each collective from the rank's own arrival on,
 * over idle links. Nothing of that takes longer than in a simulated step: others only arrive later,
 * flows only share links, what runs beside a kernel only slows it, a smaller lead of the host makes
 * no wait for a launch shorter (train/launch_history). What waits for its launch here comes behind
 * the host's own wait for the GPU in the same part, as where it reads what a router has chosen. A
 * part that begins when the compute before it has ended finds everything as late or later than
 * alone, and all tasks of a part wait for the compute before it; so parts that follow one another
 * on a rank take at least the sum of their times.
 *
 *     serial_ns   until the compute stream may go on behind the part
 *     apart_ns    the same without waits for launches, did exchanges with experts take no time:
 *                 halves of a pair of actions hide one another's exchanges, and the host gets ahead
 *                 of one's kernels behind the other's (train/program/program_lanes)
 *     work_ns     kernels of it alone, with the gaps between them; at most apart_ns
 *     busy_ns     the same without the gaps
 *     exchange_ns its exchanges with experts, which queue on a stream of their own
 *
 * Collectives are those of the group that speaks for all of its kind (train/system), which lies
 * over the most nodes. Where groups of a kind may differ (some lie over fewer nodes, paths that are
 * hashed), those of the kind count nothing, but for groups inside of nodes.
 *
 * Runs of an ensemble have up to 0.03 % more bandwidth (train/ensemble): times of collectives are
 * taken so much shorter.
 */
#ifndef TRAIN_BOUND_ALONE_H
#define TRAIN_BOUND_ALONE_H

#include "train/bound/border.h"
#include "train/system.h"

struct alone_time {
    int64_t serial_ns;
    int64_t apart_ns;
    int64_t work_ns;
    int64_t busy_ns;
    int64_t exchange_ns;
};

/* Of a backward pass. */
enum alone_part {
    ALONE_BOTH,    /* gradients, and what is computed again */
    ALONE_INPUTS,  /* what is left of it where weight gradients are an action of their own */
    ALONE_WEIGHTS, /* that action */
    ALONE_EITHER,  /* both, where weight gradients may be an action of their own */
    ALONE_PART_COUNT_
};

struct alone_layer {
    struct alone_time forward;
    struct alone_time backward[ALONE_PART_COUNT_];
};

/* What the first stage and the last do for a microbatch besides their layers. */
struct alone_ends {
    struct alone_time embedding, embedding_backward;
    struct alone_time head, head_backward[ALONE_PART_COUNT_]; /* with layers of multi-token
                                                                  prediction */
};

struct alone;

/* Of the groups and routes of `system`, which is of a scenario with this one's degrees (its first
 * job): microbatches may be others. */
struct alone *alone_new(struct arena *arena, struct step_system *system,
                        const struct scenario *scenario);

/* The same for alone_byte_ns and alone_share_of only: no kernel is timed. */
struct alone *alone_of_groups(struct arena *arena, struct step_system *system,
                              const struct scenario *scenario);

/* Of a kind of layer (index into model.kinds) under that recomputation. */
struct alone_layer alone_layer_of(struct alone *alone, uint32_t kind,
                                  const struct recompute *recompute);
struct alone_ends alone_ends_of(struct alone *alone, const struct recompute *recompute);

/* What arrives from another stage, gathered over tensor-parallel ranks; 0 where it need not be. */
int64_t alone_receive_ns(struct alone *alone, uint32_t kind, bool is_forward);

/* Messages of a microbatch between stages (train/bound/border). */
struct alone_messages {
    struct step_system *system;
    bool are_regular;          /* else routes may differ, and are not looked at */
    double bytes[BORDER_WAYS]; /* of each rank at least */
};
struct alone_messages alone_messages_of(const struct alone *alone);

/* What a byte of a collective's buffer takes, without latencies, as the fastest algorithm and
 * protocol send it; 0 for a group of one. */
double alone_byte_ns(struct alone *alone, enum group_kind kind,
                     enum collective_operation operation);

/* What a byte of a buffer that is gathered or reduced takes at least of all NICs of the ranks, on
 * average (train/bound/border); 0 where it need not leave a domain. */
double alone_nic_byte_ns(const struct alone *alone, enum group_kind kind);

/* Which link a collective of so many bytes has to share with others of its group, and what a byte
 * takes of it: the slowest phase's. ENGINE_NONE: no link, or groups of the kind may differ. */
struct alone_share {
    uint32_t link;
    double byte_ns;
};
struct alone_share alone_share_of(struct alone *alone, enum group_kind kind,
                                  enum collective_operation operation, double bytes);

/* Shorter by more than a run of an ensemble may be. */
double alone_shorter(double time);

#endif
