/* Longest path through fixed orders: an action begins when the one before it on its stage has
 * ended and what it waits for has arrived. Times only ever grow with costs (max-plus). */
#include "base/arena.h"
#include "base/check.h"
#include "plan/schedule/schedule.h"

struct evaluation {
    const struct schedule_costs *costs;
    const struct schedule_line *line;
    double *forward_end;  /* [slot * microbatches + microbatch] */
    double *backward_end; /* of input gradients */
    double *free_at;      /* per stage: end of its last action */
    double *start;        /* per stage: of its first action */
    double *work;
};

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* When what ended in slot `from` is in slot `to`; 0 when nothing is waited for. */
static double arrival(const struct evaluation *evaluation, const double *ends, uint32_t from,
                      uint32_t to, uint32_t microbatch)
{
    const struct schedule_line *line = evaluation->line;
    if (from == SCHEDULE_NOWHERE) {
        return 0;
    }
    const bool is_local = from / line->chunks == to / line->chunks;
    return ends[(size_t)from * line->microbatches + microbatch] +
           (is_local ? 0 : evaluation->costs->latency);
}

static double cost_of(const struct schedule_costs *costs, enum schedule_operation operation)
{
    switch (operation) {
    case SCHEDULE_FORWARD:
        return costs->forward;
    case SCHEDULE_BACKWARD:
        return costs->backward + costs->weights;
    case SCHEDULE_BACKWARD_INPUT:
        return costs->backward;
    case SCHEDULE_WEIGHTS:
        return costs->weights;
    case SCHEDULE_PAIR:
        return costs->pair;
    }
    sim_assert(false);
    return 0;
}

/* Its own forward, and its B, are behind it in the stage's order. */
static double ready_at(const struct evaluation *evaluation, uint32_t stage,
                       const struct schedule_action *action)
{
    const struct schedule_line *line = evaluation->line;
    double at = 0;
    if (schedule_action_is_forward(action)) {
        const uint32_t slot = stage * line->chunks + action->chunk;
        at = arrival(evaluation, evaluation->forward_end, line->slots[slot].previous, slot,
                     action->microbatch);
    }
    if (schedule_action_is_backward(action)) {
        const uint32_t slot = stage * line->chunks + schedule_backward_chunk(action);
        at = later(at, arrival(evaluation, evaluation->backward_end, line->slots[slot].next, slot,
                               schedule_backward_microbatch(action)));
    }
    return at;
}

static void place_action(const struct evaluation *evaluation, uint32_t stage, bool is_first,
                         const struct schedule_action *action)
{
    const struct schedule_line *line = evaluation->line;
    const double cost = cost_of(evaluation->costs, (enum schedule_operation)action->operation);
    const double start = later(evaluation->free_at[stage], ready_at(evaluation, stage, action));
    const double end = start + cost;
    if (schedule_action_is_forward(action)) {
        const size_t slot = (size_t)stage * line->chunks + action->chunk;
        evaluation->forward_end[slot * line->microbatches + action->microbatch] = end;
    }
    if (schedule_action_is_backward(action)) {
        const size_t slot = (size_t)stage * line->chunks + schedule_backward_chunk(action);
        evaluation->backward_end[slot * line->microbatches + schedule_backward_microbatch(action)] =
            end;
    }
    evaluation->start[stage] = is_first ? start : evaluation->start[stage];
    evaluation->free_at[stage] = end;
    evaluation->work[stage] += cost;
}

static void place_all(struct arena *arena, const struct evaluation *evaluation)
{
    const struct schedule_line *line = evaluation->line;
    struct schedule_run run = schedule_run_start(arena, line);
    uint64_t executed_before;
    do {
        executed_before = run.executed;
        for (uint32_t stage = 0; stage < line->stages; stage++) {
            bool is_first = run.next[stage] == 0;
            const struct schedule_action *action;
            while ((action = schedule_run_step(&run, stage)) != NULL) {
                place_action(evaluation, stage, is_first, action);
                is_first = false;
            }
        }
    } while (run.executed > executed_before);
    for (uint32_t stage = 0; stage < line->stages; stage++) {
        sim_assert(run.next[stage] == line->orders[stage].count);
    }
}

struct schedule_times schedule_evaluate(struct arena *arena, const struct schedule_shape *shape,
                                        const struct schedule_order *orders,
                                        const struct schedule_costs *costs)
{
    const struct schedule_line line = schedule_line_of(arena, shape, orders);
    const size_t cells = (size_t)shape->stages * shape->chunks * shape->microbatches;
    const struct evaluation evaluation = {
        .costs = costs,
        .line = &line,
        .forward_end = arena_array(arena, cells, sizeof(double)),
        .backward_end = arena_array(arena, cells, sizeof(double)),
        .free_at = arena_array(arena, shape->stages, sizeof(double)),
        .start = arena_array(arena, shape->stages, sizeof(double)),
        .work = arena_array(arena, shape->stages, sizeof(double)),
    };
    place_all(arena, &evaluation);
    struct schedule_times times = {0, 0, 0, 0};
    for (uint32_t s = 0; s < shape->stages; s++) {
        times.makespan = later(times.makespan, evaluation.free_at[s]);
    }
    for (uint32_t s = 0; s < shape->stages; s++) {
        const double span = evaluation.free_at[s] - evaluation.start[s];
        times.idle = later(times.idle, times.makespan - evaluation.work[s]);
        times.span = later(times.span, span);
        times.span_bubble = later(times.span_bubble, span - evaluation.work[s]);
    }
    return times;
}
