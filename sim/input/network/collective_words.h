/* Collectives as files, people and the table of plan/collective name them: a row of these lists is
 * an operation, an algorithm or a protocol, with its word.
 *
 * Who asks for an algorithm may say one word more: what NCCL calls ring runs over all rails; that
 * is what `ring` asks for, and `single-ring` for the one that crosses nodes by one NIC each.
 */
#ifndef INPUT_NETWORK_COLLECTIVE_WORDS_H
#define INPUT_NETWORK_COLLECTIVE_WORDS_H

/* A shift: each rank sends its buffer to the next, the last to the first, one step of a ring, as of
 * ring attention. A barrier: an all-reduce of nothing. */
#define COLLECTIVE_OPERATIONS(X)        \
    X(ALL_REDUCE, "all-reduce")         \
    X(ALL_GATHER, "all-gather")         \
    X(REDUCE_SCATTER, "reduce-scatter") \
    X(ALL_TO_ALL, "all-to-all")         \
    X(BROADCAST, "broadcast")           \
    X(REDUCE, "reduce")                 \
    X(SEND, "send")                     \
    X(SHIFT, "shift")                   \
    X(BARRIER, "barrier")

#define COLLECTIVE_ALGORITHMS(X)            \
    X(RING, "ring")                         \
    X(MULTI_RAIL_RING, "multi-rail-ring")   \
    X(TREE, "tree")                         \
    X(HALVING_DOUBLING, "halving-doubling") \
    X(HIERARCHICAL, "hierarchical")         \
    X(NVLS, "nvls")                         \
    X(NVLS_TREE, "nvls-tree")               \
    X(SHARP, "sharp")                       \
    X(PAT, "pat")                           \
    X(DIRECT, "direct")

#define COLLECTIVE_PROTOCOLS(X) \
    X(LL, "LL")                 \
    X(LL128, "LL128")           \
    X(SIMPLE, "Simple")

#define OPERATION(id, word) COLLECTIVE_##id,
#define ALGORITHM(id, word) ALGORITHM_##id,
#define PROTOCOL(id, word) PROTOCOL_##id,
enum collective_operation { COLLECTIVE_OPERATIONS(OPERATION) COLLECTIVE_OPERATION_COUNT_ };
enum collective_algorithm {
    COLLECTIVE_ALGORITHMS(ALGORITHM) ALGORITHM_COUNT_,
    ALGORITHM_SINGLE_RING = ALGORITHM_COUNT_,
    ALGORITHM_ASKED_COUNT_
};
enum collective_protocol { COLLECTIVE_PROTOCOLS(PROTOCOL) PROTOCOL_COUNT_ };
#undef OPERATION
#undef ALGORITHM
#undef PROTOCOL

extern const char *const collective_operation_names[COLLECTIVE_OPERATION_COUNT_];
extern const char
    *const collective_algorithm_names[ALGORITHM_ASKED_COUNT_]; /* the word more last */
extern const char *const collective_protocol_names[PROTOCOL_COUNT_];

#endif
