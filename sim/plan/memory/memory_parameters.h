/* Which parameters lie on a GPU: a part of plan/memory/memory. */
#ifndef PLAN_MEMORY_MEMORY_PARAMETERS_H
#define PLAN_MEMORY_MEMORY_PARAMETERS_H

#include "input/scenario.h"

/* Of the whole model on all ranks together, each once; and those that are trained. */
double memory_model_parameters(const struct scenario *scenario);
double memory_model_trained(const struct scenario *scenario);

/* Of the largest layer that a stage has; 0 without layers. */
double memory_largest_layer(const struct scenario *scenario, int64_t stage);

/* What FSDP gathers at once: a layer, or a vocabulary table if that is larger. */
double memory_largest_unit(const struct scenario *scenario, int64_t stage);

#endif
