/* The base is copied, its layout set, and what was worked out from the old one is worked out again
 * by the functions that did it when the file was read (input/feasible, input/training).
 */
#include "input/relayout.h"

#include "input/feasible.h"
#include "input/features/layout_words.h"
#include "input/job/parallel_order.h"
#include "input/scenario.h"
#include "input/training.h"

#include <string.h>

/* The value, where the file or --set gives it. */
static int64_t if_written(const struct scenario *scenario, const char *key, int64_t value)
{
    return doc_find(scenario->document, key) != NULL ? value : 0;
}

/* The file says how many replicas there are, not that they take what is left. */
static bool has_dp(const struct scenario *scenario)
{
    const struct doc_node *dp = doc_find(scenario->document, "parallel.dp");
    return dp != NULL && dp->kind == DOC_SCALAR && !doc_is(dp, "auto");
}

void relayout_frame_init(const struct scenario *base, struct relayout_frame *frame)
{
    const struct parallel *parallel = &base->parallel;
    *frame = (struct relayout_frame){
        .base = base,
        .dp = has_dp(base) ? parallel->dp : 0,
        .zero_group = if_written(base, "parallel.zero_group", parallel->zero_group),
        .zero_local_group =
            if_written(base, "parallel.zero_local_group", parallel->zero_local_group),
        .microbatch_group =
            if_written(base, "parallel.microbatch_group", parallel->microbatch_group),
        .machine = extent_machine_of(base),
    };
}

struct relayout relayout_of(const struct scenario *scenario)
{
    const struct parallel *parallel = &scenario->parallel;
    return (struct relayout){
        .tp = parallel->tp,
        .cp = parallel->cp,
        .pp = parallel->pp,
        .ep = parallel->ep,
        .etp = if_written(scenario, "parallel.etp", parallel->etp),
        .virtual_stages = parallel->virtual_stages,
        .schedule = parallel->schedule,
        .zero = parallel->zero,
        .micro = scenario->batch.micro,
        .is_sequence_parallel = parallel->is_sequence_parallel,
        .recompute = scenario->recompute,
        .offload = scenario->offload,
    };
}

/* What is as the base has it unless the layout says otherwise. */
static void put_unsaid(const struct relayout_frame *frame, const struct relayout *layout,
                       struct parallel *parallel)
{
    parallel->zero_group = layout->zero_group > 0 ? layout->zero_group : frame->zero_group;
    parallel->microbatch_group =
        layout->microbatch_group > 0 ? layout->microbatch_group : frame->microbatch_group;
    if (layout->context > 0) {
        parallel->context = layout->context - 1;
    }
    if (layout->reshard > 0) {
        parallel->reshard = layout->reshard - 1;
    }
    if (layout->overlap > 0) {
        parallel->overlaps_experts = layout->overlap > 1;
    }
    if (layout->order > 0) {
        parallel_order_of(layout->order, parallel->order);
    }
    if (layout->ends[0] > 0) {
        parallel->first_stage_layers = layout->ends[0];
        parallel->last_stage_layers = layout->ends[1];
    }
}

/* As the rows of `parallel` and their readers (input/layout) leave it. */
static void put_layout(const struct relayout_frame *frame, const struct relayout *layout,
                       struct scenario *changed)
{
    struct parallel *parallel = &changed->parallel;
    parallel->tp = layout->tp;
    parallel->cp = layout->cp;
    parallel->pp = layout->pp;
    parallel->dp = frame->dp;
    parallel->ep = layout->ep;
    parallel->etp = layout->etp > 0 ? layout->etp : layout->tp;
    parallel->zero = layout->zero;
    parallel->zero_local_group = frame->zero_local_group;
    parallel->virtual_stages = layout->virtual_stages;
    parallel->schedule = layout->schedule == SCHEDULE_INTERLEAVED && layout->virtual_stages == 1
                             ? SCHEDULE_1F1B
                             : layout->schedule;
    parallel->is_sequence_parallel = layout->is_sequence_parallel && layout->tp > 1;
    if (layout->schedule != SCHEDULE_FILE) {
        parallel->schedule_file = NULL;
    }
    put_unsaid(frame, layout, parallel);
    changed->batch.micro = layout->micro;
    changed->recompute = layout->recompute;
    changed->offload = layout->offload;
}

bool scenario_relayout(struct arena *arena, const struct relayout_frame *frame,
                       const struct relayout *layout, struct scenario *changed, struct diag *diag)
{
    *changed = *frame->base;
    return scenario_relayout_again(arena, frame, layout, changed, diag);
}

bool scenario_relayout_again(struct arena *arena, const struct relayout_frame *frame,
                             const struct relayout *layout, struct scenario *changed,
                             struct diag *diag)
{
    sim_assert(layout->schedule != SCHEDULE_FILE || frame->base->parallel.schedule_file != NULL);
    changed->resolved_text = NULL;
    changed->parallel = frame->base->parallel;
    changed->batch = frame->base->batch;
    put_layout(frame, layout, changed);
    training_settle(changed);
    return feasible_check_quietly(arena, changed, diag) && training_check(changed, diag) &&
           extent_check_on(&frame->machine, changed, diag);
}

/* With what asks for nothing else: zero 3, with which all options of states go. */
static void put_easy(const struct relayout_frame *frame, const struct relayout *layout,
                     bool is_sequence_parallel, struct scenario *changed)
{
    struct relayout easy = *layout;
    easy.schedule = SCHEDULE_1F1B;
    easy.virtual_stages = 1;
    easy.zero = 3;
    easy.is_sequence_parallel = is_sequence_parallel;
    easy.overlap = 1;
    changed->parallel = frame->base->parallel;
    put_layout(frame, &easy, changed);
}

/* Cut along tp sequences go with all numbers of ranks that share experts. */
bool relayout_has_degrees(struct arena *arena, const struct relayout_frame *frame,
                          const struct relayout *layout, struct scenario *changed,
                          struct diag *diag)
{
    put_easy(frame, layout, true, changed);
    return feasible_degrees(arena, changed, diag);
}

bool relayout_has_cuts(struct arena *arena, const struct relayout_frame *frame,
                       const struct relayout *layout, struct scenario *changed, struct diag *diag)
{
    put_easy(frame, layout, layout->is_sequence_parallel, changed);
    return feasible_cuts(arena, changed, diag);
}
