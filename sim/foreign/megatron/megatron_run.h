/* What arguments of Megatron-LM (megatron_arguments.h) come to as keys of a scenario.
 *
 * Of a command line what it does not say holds as the newest release has it; what of that moves a
 * step is noted. A log says all.
 */
#ifndef FOREIGN_MEGATRON_MEGATRON_RUN_H
#define FOREIGN_MEGATRON_MEGATRON_RUN_H

#include "foreign/told.h"

/* All keys but those of the machine; what is unknown, left out or refused is told. False when told
 * is bad. */
MUST_USE bool megatron_read(struct told *told);

/* Those of the model; for a table of runs, which has columns for some (megatron_read does it). */
void megatron_model(struct told *told);

/* The schedule and the stages, of `pp` stages. */
void megatron_pipeline(struct told *told, int64_t pp);

/* GPUs of the run; 0 with an error where nothing says it. */
int64_t megatron_gpus(struct told *told);

bool megatron_is_deepspeed(struct told *told);

#endif
