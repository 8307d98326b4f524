/* Programs of a job's stages, kept for the steps of a study that have the same ones.
 *
 *     if (!programs_recall(memo, &context, parts, stages, programs)) {
 *         for (stage...) programs[stage] = program_build(&context, stage);
 *         programs_keep(memo, &context, stages, programs);
 *     }
 *
 * Tasks refer to transfers by their number in the step's table, so programs do not depend on what
 * transfers take, only on how many phases each has. Of a job two things are kept therefore:
 *
 *   which transfers its programs ask for, and in which order, by all that programs are written
 *   from (struct program_context and what it points to, byte by byte, prices apart);
 *   the programs, by these and by the numbers that the transfers have got.
 *
 * What is recalled has asked for its transfers anew, of this step's fabric: the table, the streams'
 * patterns and the programs are what program_build would have left. Programs are kept the second
 * time only, so that a search, whose layouts come once, does not copy each.
 *
 * A new member of struct program_context, or of what it points to, is part of the key where it is
 * a value; where it is a pointer, key_of must clear it, and write out what it points to.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_MEMO_H
#define TRAIN_PROGRAM_PROGRAM_MEMO_H

#include "base/memo.h"
#include "train/program/program.h"

struct program_memo;

struct program_memo *program_memo_new(void);
void program_memo_free(struct program_memo *memo);

/* Fills `programs` and context->host_wait_ns of all stages, and the table of transfers, which must
 * be empty; false: the programs are to be built (the table is then filled as far as it is known).
 * `parts` stands for the GPU, the software and the model (train/step_memo). What the programs point
 * to is the memo's, until the next programs_keep. */
MUST_USE bool programs_recall(struct program_memo *memo, const struct program_context *context,
                              uint64_t parts, uint32_t stages, struct engine_program *programs);

/* Those that could not be recalled, now built. */
void programs_keep(struct program_memo *memo, const struct program_context *context,
                   uint32_t stages, const struct engine_program *programs);

/* How often programs were recalled, and not. */
struct memo_count program_memo_count(const struct program_memo *memo);

#endif
