/* A collective library (NCCL of some year) as its tuning model describes it.
 *
 * Read from models/libraries/NAME.yaml. What an algorithm costs with a protocol:
 *
 *     library: nccl-2026
 *     title: NCCL 2.30
 *     source: https://...
 *     network_overhead: 1 us             # a ring's round takes this long at least on several nodes
 *     simple: {overheads: 3, latencies: 2}   # that many of these times where the protocol is
 *                                        # Simple; and messages that a round between nodes is
 *     measured: {nic_latency: 10 us, source: ...}   # what `network` below has in it of the NICs
 *                                        # it was measured on; without this nothing
 *     plateau_from: 64 B                 # of a rank and channel: where a plateau (below) begins
 *     algorithms:
 *       source: https://...
 *       ring:
 *         LL:     {base: 6.6 us, nvlink: 0.6 us, pcie: 1 us, network: 2.7 us, efficiency: 0.5}
 *         LL128:  {base: 14 us, ...}
 *         Simple: {...}
 *       hierarchical:
 *         like: ring                     # its costs are those of a ring
 *         automatic: false               # the library's own choice never falls on it
 *     tree_correction:                   # of the tree's bandwidth: at this size, at twice it, ...
 *       from: 64 B
 *       LL: [1, 1, 0.9, ...]
 *     architectures:
 *       hopper:
 *         channels: 12
 *         plateau: 1.4                   # latency of a long Simple ring all-reduce over nodes
 *         ring: {LL: {maximum: [141 GB/s, 39 GB/s, 20.4 GB/s]}}
 *     fitted:                            # replaces the above where measurements say so
 *       hopper:
 *         launch: 15 us                # any collective takes this much longer
 *         sizes: {from: 8 B, to: 16 GiB} # measured; what lies outside is extrapolated
 *         nvls: {Simple: {base: 12 us, nvlink_fill: 60 us, fill_half: 32 MiB}}
 *         choices:                     # what its machine runs, instead of what is fastest here
 *         - {operation: all-reduce, nodes: 8, gpus: 64, from: 1 MiB, algorithm: tree,
 *            protocol: Simple}
 *
 * `stoker list keys library.algorithms` says what each key means. All of a cost are optional where
 * a section above has set them; a protocol that no section gives a base is not offered.
 *
 * A file may say `extends: nccl-2026` and hold nothing but `fitted`: what `stoker calibrate`
 * writes. library_open puts that on top of the library it names.
 */
#ifndef INPUT_LIBRARY_H
#define INPUT_LIBRARY_H

#include "input/catalogue.h"
#include "input/gpu.h"
#include "input/network/collective_words.h"
#include "input/schema/schema.h"

/* Where neither the scenario nor its cluster names one. */
#define LIBRARY_DEFAULT "nccl-2026"

enum { LIBRARY_CORRECTION_MAX = 24, LIBRARY_CHOICE_MAX = 128 };

enum library_link { LIBRARY_SCALE_UP, LIBRARY_PCIE, LIBRARY_NETWORK, LIBRARY_LINK_COUNT_ };

/* How many nodes a group spans, as far as NCCL tells apart. */
enum library_span { SPAN_ONE_NODE, SPAN_TWO_NODES, SPAN_MANY_NODES, SPAN_COUNT_ };
enum library_span library_span_of(uint32_t nodes);

/* Of an algorithm with a protocol on an architecture. */
struct library_cost {
    bool is_offered;
    double launch_s[SPAN_COUNT_]; /* on top of the base */
    double base_s[SPAN_COUNT_];
    double round_s[LIBRARY_LINK_COUNT_][SPAN_COUNT_];
    double fill_s[LIBRARY_LINK_COUNT_]; /* of a round, for buffers far above fill_half */
    double fill_half_bytes;
    double piece_bytes; /* a node has it whole before it sends it on; 0: bytes go on at once */
    double rank_s;
    double efficiency[SPAN_COUNT_];          /* at most 1: a link carries no more than it can */
    double maximum_bytes_per_s[SPAN_COUNT_]; /* bus bandwidth; HUGE_VAL: no limit */
    double channel_maximum_bytes_per_s[SPAN_COUNT_];
};

/* What a machine was seen to run: of an operation, over so many GPUs, from a size of the buffer on
 * to another. NCCL's tuner plugins take such rows. */
struct library_choice {
    uint32_t operation; /* enum collective_operation */
    uint32_t algorithm; /* as who asks for one: ring is NCCL's */
    uint32_t protocol;
    int64_t nodes, gpus;
    double from_bytes, to_bytes;
};

struct library_architecture {
    struct library_choice choices[LIBRARY_CHOICE_MAX];
    uint32_t choice_count;
    struct library_cost costs[ALGORITHM_COUNT_][PROTOCOL_COUNT_];
    int64_t channels;
    double plateau;
    double fitted_from_bytes, fitted_to_bytes; /* both 0: nothing is fitted */
};

struct library_shape {
    bool is_automatic;
    uint32_t like; /* algorithm whose costs these are; itself as a rule */
    struct library_cost costs[PROTOCOL_COUNT_]; /* where an architecture says nothing */
};

/* Factors of the tree's bandwidth, each for twice the size of the one before. */
struct library_correction {
    uint32_t count;
    double factors[LIBRARY_CORRECTION_MAX];
};

struct library {
    const char *name;
    const char *title;
    struct library_shape shapes[ALGORITHM_COUNT_];
    double network_overhead_s;
    double measured_message_s; /* that rounds between nodes have in them, without switches */
    double simple_overheads;   /* of a round inside a node, with Simple */
    double simple_latencies;   /* of a round between nodes, with Simple */
    double plateau_from_bytes;
    struct library_correction tree_corrections[PROTOCOL_COUNT_];
    double tree_correction_from_bytes; /* of the first; > 0 where there is one */
    struct library_architecture architectures[GPU_ARCHITECTURE_COUNT_];
    struct place place;
};

/* The mapping that `reference` stands for, what it extends put under it. NULL on error. */
MUST_USE struct doc_node *library_open(struct arena *arena, const struct catalogue *catalogue,
                                       const struct doc_node *reference, struct diag *diag);

/* The keys of a choice, and the list of an architecture's. */
extern const struct schema library_choice_keys;
schema_read_function library_read_choices;

/* The keys of its file. */
extern const struct schema library_schema;

MUST_USE bool library_read(const struct doc_node *node, struct library *library,
                           struct assumptions *assumptions, struct diag *diag);

/* The same, for files that are kept. */
extern const struct doc_reader library_reader;

#endif
