/* What steps of one study have in common, worked out once: owned by the study, never global.
 *
 * | entry   | depends on, so keyed by                                                        |
 * |---------|---------------------------------------------------------------------------------|
 * | timing  | the GPU, the software and the model, byte by byte (their structs point to texts |
 * |         | only), precision, whether sizes of experts are known, and the shape of a        |
 * |         | microbatch: tp, cp, ep, etp, sequence parallelism, sequences, tokens, rows and  |
 * |         | number of experts, recomputed modules, LoRA, gradients                          |
 * | program | the same parts, kernel times, the layout, the batch, training, sizes of groups,  |
 * |         | and how many phases transfers have: train/program/program_memo                  |
 * | system  | where the job lies, which transfers programs ask for: train/system/system_frame |
 * | route   | the cluster without latencies, the group, what it does: train/system/route_memo |
 * | stretch | the programs, and which channels are an actor's own: des/engine_known            |
 *
 * A step with a memo is the step without, to the byte: a memo never changes what is worked out. It
 * is bounded (base/memo), so a study may have any number of points.
 */
#ifndef TRAIN_STEP_MEMO_H
#define TRAIN_STEP_MEMO_H

#include "base/memo.h"
#include "train/program/program_memo.h"
#include "train/timing.h"

struct engine_known;
struct route_memo;
struct step_memo;
struct system_frames;

struct step_memo *step_memo_new(void);
void step_memo_free(struct step_memo *memo); /* NULL is allowed */

/* Gives up what is not going to be found again, as a fabric of 100,000 GPUs. While no step's system
 * points to any of it. */
void step_memo_trim(struct step_memo *memo);

/* timing_init, which it is when `memo` is NULL. */
void step_memo_timing(struct step_memo *memo, const struct timing_runner *runner,
                      const struct cost_shape *shape, struct timing *timing);

/* A number of the GPU, the software and the model: equal numbers, equal bytes. */
uint64_t step_memo_parts(struct step_memo *memo, const struct timing_runner *runner,
                         const struct cost_shape *shape);

/* Of the study's steps. */
struct program_memo *step_memo_programs(const struct step_memo *memo);
struct system_frames *step_memo_frames(const struct step_memo *memo);
struct route_memo *step_memo_routes(const struct step_memo *memo);
struct engine_known *step_memo_stretches(const struct step_memo *memo);

/* How often something was known, and not: without these a test of what is remembered could pass
 * where nothing is. */
struct step_memo_counts {
    struct memo_count timings, programs, frames, variants, routes, stretches;
};
struct step_memo_counts step_memo_counts(const struct step_memo *memo);

#endif
