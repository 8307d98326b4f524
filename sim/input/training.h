/* How a model is trained, beside its layout: what is recomputed, what the optimizer keeps
 * and in what, what lies on the host, how tokens spread over experts, what is frozen.
 *
 * Reads the keys recompute, optimizer, offload, routing and lora of a scenario. Reading
 * checks bounds and words; what depends on the model, the layout or the attention kernel is
 * settled and checked afterwards.
 */
#ifndef INPUT_TRAINING_H
#define INPUT_TRAINING_H

#include "base/check.h"

#include <stdbool.h>

struct diag;
struct doc_map;
struct scenario;

/* Before: the software. Errors make `map` bad. */
void training_read(struct doc_map *map, struct scenario *scenario);

/* Before: the kind of attention is chosen. Fills in what follows from it: the modules of
 * selective recompute. */
void training_settle(struct scenario *scenario);

/* Whether it goes with the model and the layout. Before: the layers are placed. */
MUST_USE bool training_check(const struct scenario *scenario, struct diag *diag);

#endif
