/* Programs of ranks that write different parts of a checkpoint: that of their stage, with other
 * bytes on STREAM_STORAGE. All else, and where each task stands, is the same.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_ROLES_H
#define TRAIN_PROGRAM_PROGRAM_ROLES_H

#include "train/transfer.h"

struct checkpoint_roles;
struct engine_program;

/* `programs` begins with one for each stage, in which each rank writes the mean of all; after these
 * there is room for those of further roles. The first role of a stage takes the stage's own place.
 * Returns the number of each role's program, counted from `first`. New transfers are entered in the
 * table. */
const uint32_t *programs_by_roles(struct arena *arena, struct transfer_table *transfers,
                                  const struct checkpoint_roles *roles,
                                  struct engine_program *programs, uint32_t first);

#endif
