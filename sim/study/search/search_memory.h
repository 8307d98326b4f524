/* A lower bound of a layout's memory, so cheap that millions are pruned by it.
 *
 * What plan/memory counts is taken apart into what layouts have in common. A *shape* (tp, cp,
 * micro, sequence parallelism) has the bytes that each layer keeps and needs, for each
 * recomputation; a *stock* (how layers and states are cut: all degrees, schedule, virtual stages,
 * ZeRO, the optimizer's offload) what does not depend on microbatches: weights, gradients, states,
 * buffers. The *crowd* of a schedule and a number of microbatches is the moment at which a stage
 * holds the most layers of microbatches, a backward:
 *
 *     total >= (stock + sum over chunks alive_c * kept_c + needed of a layer of the backward) * (1
 *     + fragmentation)
 *              + context + communicators + overhead
 *
 * for the first two stages, which hold most. It is at most what memory_check counts, since the peak
 * is over all moments, all layers and all stages, and embeddings, logits and what waits for weight
 * gradients come on top. A test holds it against memory_check.
 *
 * Of a whole line, whatever is computed again and goes to the host, no less than: each layer keeps
 * the least that it keeps under any recomputation, and nothing is needed on top.
 */
#ifndef STUDY_SEARCH_SEARCH_MEMORY_H
#define STUDY_SEARCH_SEARCH_MEMORY_H

#include "study/search/search_space.h"

struct search_shape;
struct search_crowd;

/* The scenario's layout holds; recomputations are numbered as in the space, the last is full. */
struct search_shape *search_shape_new(struct arena *arena, const struct search_space *space,
                                      const struct scenario *scenario);

struct search_crowd *search_crowd_new(struct arena *arena, const struct scenario *scenario);

/* Of schedules met so far, whatever the other degrees: a step's order is written once. `ends` are
 * those of the layout (relayout). */
struct search_crowds;
struct search_crowds *search_crowds_new(struct arena *arena);
struct search_crowd *search_crowd_of(struct search_crowds *crowds, const struct scenario *scenario,
                                     const int64_t ends[2]);

enum { SEARCH_STAGES = 2 };

struct search_stock {
    double bytes[SEARCH_STAGES]; /* of stages 0 and 1 */
    double fixed_bytes;          /* besides what the allocator hands out */
    double fragmentation;
    uint32_t stages;
};
struct search_stock search_stock_of(const struct scenario *scenario);

/* The memory of a line of layouts, which share shape, crowd and stock. */
struct search_held {
    const struct search_shape *shape;
    const struct search_crowd *crowd;
    const struct search_stock *stock;
    int64_t *first, *layers; /* [stage * chunks + chunk]: which layers of the model it has */
};
/* `scenario` has the line's layout. */
struct search_held search_held_of(struct arena *arena, const struct scenario *scenario,
                                  const struct search_shape *shape,
                                  const struct search_crowd *crowd,
                                  const struct search_stock *stock);

struct search_choice {
    uint32_t plain; /* number of a recomputation: of the layers that are not computed again whole */
    int64_t full_layers; /* of each chunk: those that are */
    int64_t offloaded_layers;
};
double search_least_bytes(const struct search_held *held, const struct search_choice *choice);

/* The same of all choices with up to so many layers offloaded. */
double search_least_of_line(const struct search_held *held, int64_t offloaded_layers);

#endif
