/* Builds the program of a stage: its actions in order, with what comes before the first and after
 * the last.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_BUILD_H
#define TRAIN_PROGRAM_PROGRAM_BUILD_H

#include "train/program/program.h"

struct engine_program program_build(const struct program_context *context, uint32_t stage);

#endif
