/* What steps of one study have in common, worked out once: owned by the study, never global.
 *
 * | entry   | depends on, so keyed by                                                        |
 * |---------|---------------------------------------------------------------------------------|
 * | timing  | the GPU, the software and the model, byte by byte (their structs point to texts |
 * |         | only), precision, whether sizes of experts are known, and the shape of a        |
 * |         | microbatch: tp, cp, ep, etp, sequence parallelism, sequences, tokens, rows and  |
 * |         | number of experts, recomputed modules, LoRA, gradients                          |
 *
 * A step with a memo is the step without, to the byte: a memo never changes what is worked out. It
 * is bounded (base/memo), so a study may have any number of points.
 */
#ifndef TRAIN_STEP_MEMO_H
#define TRAIN_STEP_MEMO_H

#include "base/memo.h"
#include "train/timing.h"

struct step_memo;

struct step_memo *step_memo_new(void);
void step_memo_free(struct step_memo *memo); /* NULL is allowed */

/* timing_init, which it is when `memo` is NULL. */
void step_memo_timing(struct step_memo *memo, const struct timing_runner *runner,
                      const struct cost_shape *shape, struct timing *timing);

/* How often kernel times were known, and not. */
struct memo_count step_memo_timings(const struct step_memo *memo);

#endif
