/* Collectives: what an algorithm sends, between whom, in how many rounds.
 *
 * Symbols: N ranks on K nodes (a node here is a scale-up domain), S bytes of the full
 * buffer (all-reduce, broadcast, reduce, shift: each rank's; all-gather and reduce-scatter:
 * the whole array; all-to-all: what one rank sends, its own part included), as nccl-tests
 * counts.
 *
 * A row of the table is (operation, algorithm): a list of phases. Phases follow one
 * another; each is one coupled flow (des/fluid): `bytes` to move, and edges that say
 * which share of these bytes goes from which rank to which. A pipelined algorithm has
 * one phase. Latency is counted in rounds, those inside nodes apart from those between.
 *
 *   ring               rank order; one NIC pair at each node boundary
 *   multi-rail-ring    as NCCL's: a ring per rail, each NIC of a node carries its share
 *   tree               double binary tree over the nodes, chain inside (pipelined)
 *   halving-doubling   recursive, N = 2^q; a phase per distance
 *   hierarchical       reduce-scatter in nodes, ring between nodes per rail, all-gather
 *   nvls               reduced and multicast by the node's scale-up switch
 *   nvls-tree          the same in nodes, double binary tree between them
 *   sharp              the same in nodes, reduced by the network's switches between them
 *   pat                all-gather, reduce-scatter with logarithmic rounds; one rank a node
 *   direct             send; shift; all-to-all as pairwise sends, also of unequal parts
 *                      (all-to-all-v), or once per node and on from there (node_share)
 *
 * The slow form, for tests and for `collective --single-sends`: the single messages of
 * an algorithm, round by round, each a range of chunks that is copied or reduced
 * (collective_sends). Executed on symbolic chunks they must end where the operation
 * says; their bytes per pair of ranks are those of the phases.
 *
 * Sources: Thakur, Rabenseifner, Gropp 2005; Sanders, Speck, Traeff 2009 (two trees);
 * NCCL src/graph/tuning.cc, rounds as ncclTopoTuneModel counts them.
 *
 * busbw as nccl-tests defines it: algbw = S/t times 2(N-1)/N for all-reduce, (N-1)/N for
 * all-gather, reduce-scatter and all-to-all, 1 else.
 */
#ifndef PLAN_COLLECTIVE_COLLECTIVE_H
#define PLAN_COLLECTIVE_COLLECTIVE_H

#include "base/check.h"
#include "input/network/collective_words.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct ledger;

/* The ranks of a group and where they sit. Rank i of the group is its i-th member in
 * the caller's order, which is sorted by node; so nodes are runs of indices. */
struct collective_group {
    uint32_t ranks;
    uint32_t nodes;
    const uint32_t *node_first; /* [nodes + 1]: index of the first rank of each node */
    const uint32_t *rails;      /* [ranks]: NIC port of the rank, cluster-wide port number of
                                 * its rail (0 .. ports_per_node - 1); rises within a node */
    bool has_multicast;         /* the scale-up switch reduces: nvls, nvls-tree */
    bool has_reduction;         /* the network reduces: sharp */
    double hottest; /* all-to-all(v): rank 0 gets so many times the mean, the others the rest
                     * alike; 1 .. ranks, 0 as 1 */
    /* All-to-all of tokens to their experts: what is sent to another node, over what its
     * members get. Below 1 when a row for several of them is sent once, to the member on the
     * sender's rail, which hands it on over scale-up links (DeepEP). 0 as 1: straight to each. */
    double node_share;
};

/* Ranks of the node that has the most of them. */
uint32_t collective_most_on_node(const struct collective_group *group);

#define COLLECTIVE_PHASES_MAX 64 /* halving-doubling of 2^32 ranks */

/* `bytes`: what a share of 1 stands for. Of algorithms with one level (K = 1 or K = N) it is
 * what the busiest rank sends, so that bytes / bandwidth is the closed form:
 *
 *     ring, multi-rail-ring   2(N-1)/N S of all-reduce, (N-1)/N S of all-gather and
 *                             reduce-scatter, S of broadcast and reduce
 *     tree                    2 S of all-reduce (half up, half down), S of broadcast, reduce
 *     halving-doubling        S/2, S/4 ... S/N and back, a phase each
 *     pat                     S/N ... S/2 (2^q ranks), a phase each
 *     hierarchical            (m-1)/m S inside, 2(K-1)/K S/m between, (m-1)/m S inside
 *     nvls                    (1+1/N) S of all-reduce, S of all-gather and reduce-scatter
 *     nvls-tree, sharp        S
 *     direct                  S of send and shift, (N-1)/N S of all-to-all */
struct collective_phase {
    double bytes;
    int64_t rounds_intra;
    int64_t rounds_inter;
};

/* The phases of an operation; their number, 0 when the algorithm does not offer it for this
 * group (halving-doubling of other than 2^q ranks, nvls without multicast or over several nodes,
 * pat with several ranks a node, ...). One rank: one phase of no bytes and no rounds. */
uint32_t collective_phases(enum collective_operation operation, enum collective_algorithm algorithm,
                           const struct collective_group *group, double bytes,
                           struct collective_phase list[COLLECTIVE_PHASES_MAX]);

/* The same; the sums that make the bytes and rounds of each phase are recorded. */
struct collective_call {
    enum collective_operation operation;
    enum collective_algorithm algorithm;
    const struct collective_group *group;
    double bytes;
};
uint32_t collective_record(const struct collective_call *call,
                           struct collective_phase list[COLLECTIVE_PHASES_MAX],
                           struct ledger *ledger);

/* Receives the edges of a phase. Shares are of the phase's bytes. */
struct collective_visitor {
    void *context;
    uint32_t senders; /* what ranks from this one on send may be left out; 0: nothing is */
    void (*send)(void *context, uint32_t from, uint32_t to, double share);
    /* through the scale-up switch of the rank's node: sent to it, received from it */
    void (*port)(void *context, uint32_t rank, double out, double in);
    /* reduced by the network over the NICs of these ranks (one rail) */
    void (*reduction)(void *context, const uint32_t *ranks, uint32_t count, double share);
};

/* The edges of phase `number`; `arena` for lists that the visitor's calls need. */
void collective_edges(struct arena *arena, enum collective_operation operation,
                      enum collective_algorithm algorithm, const struct collective_group *group,
                      uint32_t number, const struct collective_visitor *visitor);

/* Whether the edges of all phases are the same seen from each member: where rank i sends to rank k,
 * rank i + 1 sends as much to rank k + 1 (modulo ranks), and so for ports; of several nodes, for
 * ranks a whole number of equal nodes on. */
bool collective_turns(enum collective_operation operation, enum collective_algorithm algorithm,
                      const struct collective_group *group);

/* busbw / algbw, as measurements count it. */
double collective_busbw_factor(enum collective_operation operation, int64_t ranks);

/* ---- single sends ---------------------------------------------------------------- */

/* The buffer is cut into `chunks` equal chunks; a message carries `count` of them: chunk,
 * chunk + stride, chunk + 2 stride ... modulo chunks. An all-to-all's and a shift's are those of
 * the sender's buffer. Where the buffer is scattered, rank i's part is the i-th of equal
 * contiguous parts; broadcast and reduce have rank 0 as their root. */
struct collective_send {
    uint32_t from, to;
    uint32_t chunk, stride, count;
    bool is_reduce; /* added to what the receiver has; else it replaces it */
};

struct collective_script {
    uint32_t rounds;
    uint32_t chunks;
    uint32_t sends_max; /* that one rank sends in a round */
    uint32_t lanes;     /* more than 1: rings of their own; a rank sends one message a round of
                         * each, sends[lane], which the same lane receives */
};

/* False where there is no slow form (nvls, sharp: the switches are not ranks).
 * `pieces` >= 1: into how many pieces pipelined algorithms cut the buffer (others ignore it). */
MUST_USE bool collective_script(enum collective_operation operation,
                                enum collective_algorithm algorithm,
                                const struct collective_group *group, uint32_t pieces,
                                struct collective_script *script);

/* What `rank` sends in `round`; their number. A rank sends in a round what it has after all
 * messages to it of earlier rounds have arrived. O(1) a call for a ring. */
uint32_t collective_sends(enum collective_operation operation, enum collective_algorithm algorithm,
                          const struct collective_group *group, uint32_t pieces, uint32_t rank,
                          uint32_t round, struct collective_send *sends);
/* How many messages `rank` receives in `round`. */
uint32_t collective_receives(enum collective_operation operation,
                             enum collective_algorithm algorithm,
                             const struct collective_group *group, uint32_t pieces, uint32_t rank,
                             uint32_t round);

#endif
