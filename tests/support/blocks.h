/* The same program in other blocks: in one, cut wherever one likes, and written once what comes
 * again. */
#ifndef TESTS_SUPPORT_BLOCKS_H
#define TESTS_SUPPORT_BLOCKS_H

#include "des/engine_program.h"

/* In one block, task by task. */
struct engine_program blocks_flattened(struct arena *arena, const struct engine_program *program);

/* In `count` blocks: of stream s the first cuts[0][s] tasks, then those up to cuts[1][s], and so
 * on; the last cuts are the program's counts. */
struct engine_program blocks_cut(struct arena *arena, const struct engine_program *program,
                                 uint32_t (*cuts)[ENGINE_STREAMS_MAX], uint32_t count);

/* Programs whose blocks begin with each task of stream 0 that waits for one of these streams (as
 * bits), and end with what is begun before the next; blocks that are the same are one, in all
 * programs. */
struct engine_program *blocks_shared(struct arena *arena, const struct engine_program *programs,
                                     uint32_t program_count, uint32_t streams);

#endif
