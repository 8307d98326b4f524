/* The frame of the layout and the memo of its steps, kept for all that is tried. */
#include "study/evaluate.h"

#include "base/arena.h"
#include "input/scenario.h"
#include "train/step_memo.h"

struct evaluator {
    struct relayout_frame frame;
    struct step_memo *memo;
    bool folds;
};

struct evaluator *evaluator_new(struct arena *arena, const struct scenario *scenario, bool folds)
{
    struct evaluator *evaluator = arena_alloc(arena, sizeof *evaluator);
    relayout_frame_init(scenario, &evaluator->frame);
    evaluator->memo = step_memo_new();
    evaluator->folds = folds;
    return evaluator;
}

void evaluator_free(struct evaluator *evaluator)
{
    step_memo_free(evaluator->memo);
}

const struct scenario *evaluator_lay_out(const struct evaluator *evaluator, struct arena *arena,
                                         const struct relayout *layout, struct diag *diag)
{
    struct scenario *tried = arena_room(arena, 1, sizeof *tried); /* large, and a copy */
    return scenario_relayout(arena, &evaluator->frame, layout, tried, diag) ? tried : NULL;
}

void evaluator_simulate(const struct evaluator *evaluator, struct arena *arena,
                        const struct scenario *scenario, int64_t enough_ns,
                        struct step_result *step)
{
    const struct step_request request = {
        .folds = evaluator->folds, .memo = evaluator->memo, .enough_ns = enough_ns};
    step_simulate(arena, scenario, &request, step);
    run_anchor_step(arena, scenario, step);
}

void evaluator_predict(const struct evaluator *evaluator, struct arena *arena,
                       const struct scenario *scenario, struct result *result)
{
    const struct run_request request = {
        .folds = evaluator->folds, .build = "", .memo = evaluator->memo};
    run_predict(arena, scenario, &request, result);
}

struct step_memo *evaluator_memo(const struct evaluator *evaluator)
{
    return evaluator->memo;
}
