/* How a model is trained, beside its layout: what is recomputed, what the optimizer keeps
 * and in what, what lies on the host, how tokens spread over experts, what is frozen.
 *
 * This is of the keys recompute, optimizer, offload, routing and lora of a scenario. Rows
 * check bounds and words; what depends on the model, the layout or the attention kernel is
 * settled and checked afterwards.
 */
#ifndef INPUT_TRAINING_H
#define INPUT_TRAINING_H

#include "input/schema/schema.h"

#include "base/check.h"

#include <stdbool.h>

struct diag;
struct model;
struct scenario;

/* What rows of these keys cannot say (input/scenario_keys): the defaults that follow from the
 * software and the precision, and keys that go together or do not. */
schema_read_function training_read_gradients, training_read_master;
schema_check_function training_check_recompute, training_check_spread, training_check_optimizer;

/* Before: the kind of attention is chosen. Fills in what follows from it: the modules of
 * selective recompute. */
void training_settle(struct scenario *scenario);

/* Whether it goes with the model and the layout. Before: the layers are placed. */
MUST_USE bool training_check(const struct scenario *scenario, struct diag *diag);

/* Whether a model has what a module (enum recompute_module) computes. */
bool training_has_module(const struct model *model, uint32_t module);

#endif
