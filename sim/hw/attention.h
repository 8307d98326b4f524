/* How long fused attention takes on a GPU.
 *
 * The queries of a head are cut into tiles, one per SM at a time (backward the keys are, which for
 * whole sequences makes as many tiles of the same work). A tile
 * goes through the keys it may see, half a tile of which the mask's diagonal hides, and
 * `window_end` halves the far end of a window (for those queries that have keys beyond it), and
 * pays as much as `half` keys more for its own start and end:
 *
 *     tile's work = tile * (keys + edges + half) * FLOP a pair of query and key
 *     time = max(all tiles' work / SMs + tail * longest tile's, longest tile's) / rate of an SM
 *
 * so that short sequences, masks and few heads are slower, each by its own arithmetic. `tail` is
 * the part of the longest tile's time during which SMs wait for the last of them; a kernel with
 * fewer tiles than SMs takes as long as the longest. The rate grows with the head's dimension,
 * since the exponentials of a pair cost the same whatever it is:
 *
 *     rate(d) = rate(128) * (1 + head_half / 128) / (1 + head_half / d) * (d > 128 ? wide : 1)
 *
 * (The kernels of fa1 and triton for 128 are wide ones already: heads of 64 run at 1 / wide.)
 *
 * Kernels exist for some head dimensions only; others are padded to the next, and where a kernel
 * wants queries and values of the same dimension, to the larger of both.
 *
 * Figures are the GPU's (input/gpu); those of the catalogue are fitted to published benchmarks
 * (measured/attention_fit). Tiles: FlashAttention-2, arXiv 2307.08691, section 3. Cost O(1).
 */
#ifndef HW_ATTENTION_H
#define HW_ATTENTION_H

#include "hw/kernel.h"

/* One launch. */
struct attention_size {
    int64_t count;    /* sequences times heads */
    int64_t queries;  /* of each */
    int64_t keys;     /* that a query sees at most: of the window, or of the sequence */
    int64_t sequence; /* keys there are; as many as `keys` unless a window hides some */
    double mean_keys; /* that it sees */
    int64_t edges;    /* of the mask: 0 no mask, 1 causal; one more: the far end of a window */
    int64_t head_dim; /* of queries and keys */
    int64_t value_dim;
    bool is_backward;
};

/* What the time is made of; for explain. */
struct attention_work {
    int64_t head_dim, value_dim; /* with padding */
    int64_t tiles;               /* of all heads */
    double pairs;                /* of query and key that count, per tile's row: keys + edges */
    double flop;                 /* executed, with padding and what the edges hide */
    double rate_flop_per_s;      /* of the GPU with long sequences and many heads */
    double even_s;               /* all tiles' work over all SMs, starts and ends included */
    double longest_s;            /* the longest tile's */
    double compute_s;
};

/* The dimensions that the kernel runs with. */
void attention_padded(enum attention_kind kind, int64_t *head_dim, int64_t *value_dim);

/* Rate with heads of dimension `head_dim`, which a kernel exists for. */
double attention_rate_of(const struct gpu *gpu, const struct attention_rate *rate,
                         enum attention_kind kind, int64_t head_dim, bool is_backward,
                         struct ledger *ledger);

/* With figures of their own, not the GPU's: what fitting them wants. */
struct attention_work attention_work_with(const struct kernel_gpu *on,
                                          const struct attention_rate *rate,
                                          enum attention_kind kind,
                                          const struct attention_size *size);

/* The GPU must have this kernel (rates > 0). */
struct attention_work attention_work_of(const struct kernel_gpu *on, enum attention_kind kind,
                                        const struct attention_size *size);

/* Never below `bytes` over the achieved bandwidth. */
struct kernel_time kernel_attention(const struct kernel_gpu *on, enum attention_kind kind,
                                    const struct attention_size *size, double bytes);

#endif
