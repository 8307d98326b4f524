/* Collectives as transfers: which algorithm and protocol, how much latency, how many
 * bytes over which links.
 *
 * Where plan meets hw: plan/collective/collective says who sends what to whom, hw/fabric over which
 * links, plan/collective/tuner how fast the library runs it. Of all algorithms and protocols that
 * offer an operation the one of least time on an idle fabric is taken, as the library's
 * own tuner does, unless the scenario names one for the kind of group, or the library says what
 * its machine was seen to run (library_choice), of which then the least.
 *
 * Programs are shared by all GPUs of a stage, so one group of a kind speaks for all when
 * the choice is made: the one over most scale-up domains, then the one whose GPUs lie
 * farthest apart. Each group's links are its own, though: a phase runs at a share of
 * what its own group's route can carry (engine_transfer.share), so a group whose ECMP
 * paths collide is slower than the others.
 *
 * A stream's transfers use a few patterns (operation, algorithm, phase); every channel of the
 * stream has one path for each, in the order of the list.
 */
#ifndef TRAIN_TRANSFER_H
#define TRAIN_TRANSFER_H

#include "des/engine.h"
#include "plan/collective/collective.h"
#include "plan/collective/tuner.h"
#include "train/streams.h"

struct scenario;
struct fabric_route;
struct route_memo;

/* Of a group that crosses no link: its messages are a few bytes, their latency is all. */
#define UNLINKED_BYTES_PER_S 1000000000

/* What prices depend on beside the group. `fabric` is used as scratch space for traces. */
struct transfer_setting {
    struct arena *arena;
    struct fabric *fabric;
    const struct library *library;
    uint32_t architecture; /* enum gpu_architecture */
    /* Of the step whose transfers these are; `fabric` has its shares of bandwidth already
     * (fabric_derate), and the library's own maxima are cut by them here. NULL: a benchmark. */
    const struct software *software;
    struct ledger *ledger; /* takes the sums of what is priced; NULL: none are wanted */
    /* Groups are then the first ones of orbits (hw/fabric_turn), and a route has the first links
     * of orbits, each with what the group puts on it. NULL: nothing is turned. */
    const struct fabric_turns *turns;
    struct transfer_quotes *quotes; /* that are kept beyond the step; NULL: none are */
    struct route_memo *routes;      /* likewise */
};

/* What was quoted to groups that stay where they are, for later steps: whose groups these are, owns
 * it. Beside what is asked for, a quote depends on the group (known by its list of GPUs) and on the
 * setting, which stay the same. */
struct transfer_quotes {
    struct arena *arena; /* the groups' */
    struct known_quote *items;
    size_t count, capacity;
};

/* A group of GPUs, in order of domain, and its routes' caps as far as they were asked for;
 * once it has been priced, `group` must stay as it is. */
struct group_shape {
    uint32_t ranks;
    uint32_t nodes;       /* scale-up domains */
    uint32_t hops_max;    /* latency only: switches between the first and last GPU */
    bool is_latency_only; /* messages of a few bytes: bandwidth is not looked at */
    bool sends_tokens; /* its all-to-alls are kernels of the framework's own, not the library's */
    const uint32_t *gpus;
    uint32_t turned; /* levels of turns that bring the group onto itself, a set */
    struct collective_group group;
    struct collective_choice forced; /* by the scenario */
    struct group_caps *caps;
};

/* `gpus`, in the order of their ranks, is put in order of domain and kept. One GPU: a group to
 * which nothing is sent. */
void group_shape_init(const struct transfer_setting *setting, uint32_t *gpus, uint32_t count,
                      struct group_shape *shape);

/* How one phase of an algorithm crosses the fabric. */
void group_route(const struct transfer_setting *setting, const struct group_shape *shape,
                 enum collective_operation operation, enum collective_algorithm algorithm,
                 uint32_t phase, struct fabric_route *route);

struct transfer_quote {
    enum collective_algorithm algorithm;
    enum collective_protocol protocol;
    uint32_t phase_count;
    struct collective_phase phases[COLLECTIVE_PHASES_MAX];
    double latencies_s[COLLECTIVE_PHASES_MAX];
    double caps_bytes_per_s[COLLECTIVE_PHASES_MAX];  /* of the group's route, idle */
    double rates_bytes_per_s[COLLECTIVE_PHASES_MAX]; /* what the library reaches of them */
    uint32_t links[COLLECTIVE_PHASES_MAX]; /* that binds each; ENGINE_NONE: the library does */
    uint32_t bottleneck;                   /* link of the slowest phase, ENGINE_NONE if none */
    double latency_s;                      /* of all phases */
    double start_s;                        /* of latency_s, before the first round */
    double round_intra_s, round_inter_s;
    double time_s;       /* on an idle fabric */
    double unforeseen_s; /* of time_s: what the library's choice knows nothing of */
    bool is_extrapolated;
};

/* The price of one algorithm with one protocol; false when it is not offered. */
MUST_USE bool transfer_price(const struct transfer_setting *setting,
                             const struct group_shape *shape, enum collective_operation operation,
                             double bytes, enum collective_algorithm algorithm,
                             enum collective_protocol protocol, struct transfer_quote *quote);

/* The best of all, or of those that `shape->forced` allows; when these do not offer the
 * operation, the best of all the same (quote->algorithm tells). */
void transfer_quote(const struct transfer_setting *setting, const struct group_shape *shape,
                    enum collective_operation operation, double bytes,
                    struct transfer_quote *quote);

/* What a quote's algorithm is called: of a ring that was asked to be a single one, that. */
const char *transfer_algorithm_name(const struct group_shape *shape,
                                    enum collective_algorithm algorithm);

/* A phase's rate as millionths of its route's cap; 0, all, when the library reaches it. */
uint32_t transfer_share(const struct transfer_quote *quote, uint32_t phase);

/* ---- the transfers of a step ------------------------------------------------------- */

/* A collective as a program asks for it. It may stand for several that are called one after the
 * other: `calls` that share `bytes`, and `small` of `small_bytes` each besides. They are simulated
 * as one, whose latency is that of each of `calls`, the whole time of each small one on an idle
 * fabric, and `per_call_s`, which the caller spends, for each of all. */
struct transfer_wish {
    enum collective_operation operation;
    double bytes;
    uint32_t calls; /* 0: one */
    uint32_t small;
    double small_bytes;
    double per_call_s;
};

/* What a transfer is, for reports: the operation, its whole buffer, and how it is done. */
struct transfer_origin {
    uint32_t job;
    enum stream stream;
    enum collective_operation operation;
    double bytes;
    uint32_t calls; /* that it stands for, small ones included */
    bool is_head;   /* false: a further phase of the one before */
    bool has_quote; /* false: sends and writes, which have no algorithm */
    enum collective_algorithm algorithm;
    enum collective_protocol protocol;
    double rank_bytes; /* of all phases */
    double latency_s;
    double time_s; /* alone on an idle fabric */
    uint32_t bottleneck;
    uint32_t link; /* of this phase, as of a quote; of what has none it is the path's */
    double flow_s; /* this phase's bytes, on an idle fabric; 0 of what has no quote */
    bool is_extrapolated;
    struct transfer_wish wish; /* with a quote: what was asked for, of which group */
    struct group_shape shape;
};

struct transfer_pattern {
    enum collective_operation operation;
    enum collective_algorithm algorithm;
    uint32_t phase;
};

/* The patterns that one stream of one job uses: its channels' paths. */
struct transfer_patterns {
    struct transfer_pattern *items;
    size_t count;
    size_t capacity;
};

/* Transfers shared by all programs of a step. */
struct transfer_table {
    struct engine_transfer *items;
    struct transfer_origin *origins; /* of each item */
    size_t count;
    size_t capacity;
    size_t origin_capacity;
};

/* The transfer's number in the table, entered if it is new. `patterns` is the list of its
 * stream. A group of one has none: the caller asks shape->ranks > 1 first. */
uint32_t transfer_collective(const struct transfer_setting *setting, struct transfer_table *table,
                             struct transfer_patterns *patterns, uint32_t job, enum stream stream,
                             const struct group_shape *shape, const struct transfer_wish *wish);

/* A message, a write or a read, on that path of its channel, whose latency it has. */
uint32_t transfer_plain(struct arena *arena, struct transfer_table *table, uint32_t job,
                        enum stream stream, uint32_t path, enum collective_operation operation,
                        double bytes);

/* The sums of a transfer that has a quote, as it was priced. */
void transfer_record(const struct transfer_setting *setting, const struct transfer_origin *origin,
                     struct ledger *ledger);

#endif
