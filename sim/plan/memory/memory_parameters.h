/* Which parameters lie on a GPU: a part of plan/memory/memory. */
#ifndef PLAN_MEMORY_MEMORY_PARAMETERS_H
#define PLAN_MEMORY_MEMORY_PARAMETERS_H

#include "plan/matrices.h"
#include "plan/memory/memory_job.h"

/* Of the whole model on all ranks together, each once; and those that are trained. */
double memory_model_parameters(const struct model *model);
double memory_model_trained(const struct model *model, const struct lora *lora);

/* Of a stage's layers those that stay in 16 bits (struct layer_kind, is_high). */
struct memory_layer_parameters memory_stage_high(const struct memory_split *split, int64_t stage);

/* Those of a piece of the model that are trained, its end's included. */
double memory_piece_trained(const struct memory_split *split, int64_t piece);

/* Embedding, final norm and head, as far as a stage has them; and of these the head's table. */
/* The same for an optimizer that updates matrices whole; of the model, all on one rank. */
struct matrix_split memory_stage_matrices(const struct memory_split *split, int64_t stage);
struct matrix_split memory_model_matrices(const struct model *model);

double memory_stage_ends(const struct memory_split *split, int64_t stage);
double memory_stage_head(const struct memory_split *split, int64_t stage);

/* Of the largest layer that a stage has; 0 without layers. */
double memory_largest_layer(const struct memory_split *split, int64_t stage);

/* What FSDP gathers at once: a layer, or a vocabulary table if that is larger. */
double memory_largest_unit(const struct memory_split *split, int64_t stage);

#endif
