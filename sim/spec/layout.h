/* The layout: how a model and a batch are cut over GPUs.
 *
 * Reads `parallel` and `batch` of a scenario; whether the sizes go together is
 * checked in spec/feasible.
 *
 * The layers of a model of L layers on n = pp * virtual_stages chunks: every
 * chunk gets ceil(L / n), and the d = n * ceil(L / n) - L layers that are too
 * many are taken away one each from the first chunk, the last, the second, the
 * second-last, ... The first chunk also holds the embedding and the last the
 * head, which cost about a layer.
 *
 *     126 layers, 16 chunks:   7 8 8 8 8 8 8 8 8 8 8 8 8 8 8 7
 *     126 layers, 128 chunks:  0 1 1 ... 1 1 0
 */
#ifndef SPEC_LAYOUT_H
#define SPEC_LAYOUT_H

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct diag;
struct doc_map;
struct parallel;
struct scenario;

/* `chunks` counts that sum to `layers`, as above. */
int64_t *layout_distribute(struct arena *arena, int64_t layers, int64_t chunks);

/* Reads the sections `parallel` and `batch`. `dp: auto` is left as 0, an unset
 * sequence length as the model's longest. Before: the model. */
bool layout_read(struct doc_map *map, struct scenario *scenario);

/* The layers of each chunk: as `layers_per_stage` says, else distributed. */
MUST_USE bool layout_place_layers(struct arena *arena, struct scenario *scenario,
                                  struct diag *diag);

/* "1000 or 2000": the multiples of `unit` around `wanted`, for help texts. */
const char *layout_multiples(struct arena *arena, int64_t wanted, int64_t unit);

/* Number in the model of the first layer of chunk `piece` (in model order). */
int64_t layout_first_layer(const struct parallel *parallel, int64_t piece);

#endif
