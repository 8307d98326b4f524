/* One action of a schedule: the forward of a microbatch through a chunk, its backward, its weight
 * gradients, or a forward and a backward side by side.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_ACTION_H
#define TRAIN_PROGRAM_PROGRAM_ACTION_H

#include "plan/schedule/schedule.h"
#include "train/program/program_builder.h"

void action_emit(struct builder *builder, const struct schedule_action *action);

#endif
