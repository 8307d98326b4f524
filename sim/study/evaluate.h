/* Many layouts of one scenario, tried one after the other without its file.
 *
 *     struct evaluator *evaluator = evaluator_new(arena, scenario, true);
 *     struct relayout layout = relayout_of(scenario);
 *     for (...) {
 *         layout.tp = ...;
 *         const struct scenario *tried = evaluator_lay_out(evaluator, scratch, &layout, diag);
 *         if (tried == NULL) ...                                sizes do not go together: diag says
 *         struct memory_verdict memory = memory_check(tried);   (plan/memory/memory.h)
 *         if (memory.fits) evaluator_simulate(evaluator, scratch, tried, 0, &step);
 *         arena_reset(scratch);
 *     }
 *     evaluator_free(evaluator);
 *
 * What comes out is what `stoker run --set ...` gives for that layout, to the byte, but for what
 * the engine took; without keys, since there is no text (input/relayout.h). What layouts have in
 * common is worked out once (train/step_memo.h). An evaluator is one process's: several processes
 * that try layouts have each their own.
 */
#ifndef STUDY_EVALUATE_H
#define STUDY_EVALUATE_H

#include "input/relayout.h"
#include "run/run.h"
#include "train/step.h"

struct evaluator;

/* The scenario outlives the evaluator. */
struct evaluator *evaluator_new(struct arena *arena, const struct scenario *scenario, bool folds);
void evaluator_free(struct evaluator *evaluator);

/* The scenario so laid out, in `arena`; NULL when it cannot be. */
MUST_USE const struct scenario *evaluator_lay_out(const struct evaluator *evaluator,
                                                  struct arena *arena,
                                                  const struct relayout *layout, struct diag *diag);

/* One step, as step_simulate, by the scenario's anchor; whether it fits is in step->memory. Of one
 * that takes longer than `enough_ns`, before the anchor, it is asked only whether it does
 * (step->is_longer); 0: of all it is asked how long. */
void evaluator_simulate(const struct evaluator *evaluator, struct arena *arena,
                        const struct scenario *scenario, int64_t enough_ns,
                        struct step_result *step);

/* Step and run (days, money, energy, where the scenario asks for a run), as run_predict. */
void evaluator_predict(const struct evaluator *evaluator, struct arena *arena,
                       const struct scenario *scenario, struct result *result);

/* The memo, for who simulates by other means. */
struct step_memo *evaluator_memo(const struct evaluator *evaluator);

#endif
