/* Builds the program of a stage: its actions in order, with what comes before the first and after
 * the last.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_BUILD_H
#define TRAIN_PROGRAM_PROGRAM_BUILD_H

#include "train/program/program.h"

/* `like` is another stage's program, about as long, or NULL. */
struct engine_program program_build(const struct program_context *context, uint32_t stage,
                                    const struct engine_program *like);

#endif
