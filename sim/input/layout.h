/* The layout: how a model and a batch are cut over GPUs.
 *
 * Reads what rows cannot say of `parallel` and `batch`; whether the sizes go together is
 * checked in input/feasible.
 *
 * The layers of a model of L layers on n = pp * virtual_stages chunks: every
 * chunk gets ceil(L / n), and the d = n * ceil(L / n) - L layers that are too
 * many are taken away one each from the first chunk, the last, the second, the
 * second-last, ... The first chunk also holds the embedding and the last the
 * head, which cost about a layer.
 *
 *     126 layers, 16 chunks:   7 8 8 8 8 8 8 8 8 8 8 8 8 8 8 7
 *     126 layers, 128 chunks:  0 1 1 ... 1 1 0
 *
 * With `embedding_slot` and `loss_slot` these count as layers of the first chunk and the last,
 * which then give up others only when no other can. `first_stage_layers` and
 * `last_stage_layers` say what these stages have, and the rest is distributed over the others.
 * `layers_per_stage` says all. Layers of multi-token prediction are on the last chunk and are
 * not counted.
 */
#ifndef INPUT_LAYOUT_H
#define INPUT_LAYOUT_H

#include "input/schema/schema.h"

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct diag;
struct parallel;
struct scenario;

/* `chunks` counts that sum to `layers`, as above. */
int64_t *layout_distribute(struct arena *arena, int64_t layers, int64_t chunks);

#define LAYOUT_GLOBAL_MAX 1000000000              /* sequences of a step */
#define LAYOUT_GLOBAL_TOKENS_MAX 1000000000000000 /* tokens of a step */

/* What rows of `parallel` and `batch` cannot say (input/scenario_keys). `dp: auto` is left as 0.
 * Before: the model. */
schema_read_function layout_read_dp, layout_read_order, layout_read_schedule,
    layout_read_virtual_stages, layout_read_sequence_parallel, layout_read_global_tokens,
    layout_read_global;

/* Keys that say what stages have, whichever of them is written. */
enum { LAYOUT_STAGE_KEYS = 5 };
extern const char *const layout_stage_keys[LAYOUT_STAGE_KEYS];

/* The layers of a scenario's chunks as layers_per_stage takes them: "[7, 8, 8, 7]". */
const char *layout_layers_text(struct arena *arena, const void *object);

/* Whether it has such a list, which holds for its own stages alone. */
bool layout_lists_layers(const struct scenario *scenario);

/* The layers of each chunk: as `layers_per_stage` lists them, else distributed. */
MUST_USE bool layout_place_layers(struct arena *arena, struct scenario *scenario,
                                  struct diag *diag);

/* "1000 or 2000": the multiples of `unit` around `wanted`, for help texts. */
const char *layout_multiples(struct arena *arena, int64_t wanted, int64_t unit);

/* How many pieces the model is cut into: pp * virtual_stages; with DualPipe, of which each
 * stage has two and each piece two stages, pp. */
int64_t layout_pieces(const struct parallel *parallel);

/* Which piece, in model order, is chunk `chunk` of stage `stage`:
 *
 *     loop (gpipe, 1f1b, interleaved, zb-h1, zb-h2)   chunk * pp + stage
 *     vee (zb-v, dualpipev)                           stage, then 2 pp - 1 - stage
 *     dual (dualpipe)                                 stage, and pp - 1 - stage
 *     file                                            as it says
 */
int64_t layout_piece(const struct parallel *parallel, int64_t stage, int64_t chunk);

/* Number in the model of the first layer of chunk `piece` (in model order). */
int64_t layout_first_layer(const struct parallel *parallel, int64_t piece);

#endif
