/* An action knows its piece, so that what it waits for is an index into a table of ends. */
#include "train/bound/pipeline.h"

#include "base/arena.h"
#include "base/check.h"

#include <string.h>

enum { NOT_YET = -1 };

struct pipeline_action {
    uint32_t piece, microbatch;
    uint8_t operation; /* enum schedule_operation */
    bool is_edge;      /* the first forward of its piece, or what its gradients end with */
    bool is_received;  /* what it waits for comes from another stage */
    bool is_sent;      /* to another stage */
};

struct pipeline {
    uint32_t stages, pieces, microbatches;
    struct pipeline_action **actions; /* per stage */
    uint32_t *action_counts;          /* the same */
    int64_t *forward_ns;              /* [piece * microbatches + microbatch]: sent on, and there */
    int64_t *backward_ns;             /* the same */
    uint32_t *next;                   /* per stage */
    int64_t *ends_ns;                 /* per stage: actions; behind these reductions */
};

bool pipeline_is_possible(const struct schedule_shape *shape)
{
    return shape->kind != SCHEDULE_DUALPIPE && shape->kind != SCHEDULE_DUALPIPEV &&
           shape->kind != SCHEDULE_FILE && !shape->pairs;
}

/* ---- orders -------------------------------------------------------------------------------- */

/* Of the pieces' stages, the action that is first forward of each, and last with its gradients. */
static void mark_edges(const struct pipeline *pipeline, struct pipeline_action *actions,
                       uint32_t count)
{
    struct arena *own = arena_new();
    struct pipeline_action **last = arena_array(own, pipeline->pieces, sizeof *last);
    bool *is_known = arena_array(own, pipeline->pieces, sizeof *is_known);
    memset(last, 0, pipeline->pieces * sizeof *last);
    memset(is_known, 0, pipeline->pieces * sizeof *is_known);
    for (uint32_t i = 0; i < count; i++) {
        struct pipeline_action *action = &actions[i];
        if (action->operation == SCHEDULE_FORWARD) {
            action->is_edge = !is_known[action->piece];
            is_known[action->piece] = true;
        } else if (action->operation != SCHEDULE_BACKWARD_INPUT) {
            last[action->piece] = action;
        }
    }
    for (uint32_t i = 0; i < pipeline->pieces; i++) {
        if (last[i] != NULL) {
            last[i]->is_edge = true;
        }
    }
    arena_free(own);
}

static bool is_elsewhere(const struct pipeline *pipeline, const uint32_t *stage_of, uint32_t stage,
                         int64_t piece)
{
    return piece >= 0 && piece < (int64_t)pipeline->pieces && stage_of[piece] != stage;
}

static void add_order(struct pipeline *pipeline, struct arena *arena,
                      const struct schedule_shape *shape, uint32_t stage, const uint32_t *pieces,
                      const uint32_t *stage_of)
{
    struct arena *own = arena_new();
    const struct schedule_order order = schedule_order(own, shape, stage);
    struct pipeline_action *actions = arena_array(arena, order.count, sizeof *actions);
    for (uint64_t i = 0; i < order.count; i++) {
        const struct schedule_action *action = &order.actions[i];
        const bool is_forward = action->operation == SCHEDULE_FORWARD;
        const bool is_weights = action->operation == SCHEDULE_WEIGHTS;
        const int64_t piece = pieces[stage * shape->chunks + action->chunk];
        const bool has_before = is_elsewhere(pipeline, stage_of, stage, piece - 1);
        const bool has_after = is_elsewhere(pipeline, stage_of, stage, piece + 1);
        actions[i] = (struct pipeline_action){
            .piece = (uint32_t)piece,
            .microbatch = action->microbatch,
            .operation = action->operation,
            .is_received = !is_weights && (is_forward ? has_before : has_after),
            .is_sent = !is_weights && (is_forward ? has_after : has_before),
        };
    }
    pipeline->action_counts[stage] = (uint32_t)order.count;
    mark_edges(pipeline, actions, (uint32_t)order.count);
    pipeline->actions[stage] = actions;
    arena_free(own);
}

struct pipeline *pipeline_new(struct arena *arena, const struct schedule_shape *shape,
                              const uint32_t *pieces)
{
    sim_assert(pipeline_is_possible(shape));
    const uint32_t piece_count = shape->stages * shape->chunks;
    const size_t count = (size_t)piece_count * shape->microbatches;
    uint32_t *stage_of = arena_array(arena, piece_count, sizeof *stage_of);
    for (uint32_t i = 0; i < piece_count; i++) {
        stage_of[pieces[i]] = i / shape->chunks;
    }
    struct pipeline *pipeline = arena_alloc(arena, sizeof *pipeline);
    *pipeline = (struct pipeline){
        .stages = shape->stages,
        .pieces = piece_count,
        .microbatches = shape->microbatches,
        .actions = arena_array(arena, shape->stages, sizeof(struct pipeline_action *)),
        .action_counts = arena_array(arena, shape->stages, sizeof(uint32_t)),
        .forward_ns = arena_array(arena, count, sizeof(int64_t)),
        .backward_ns = arena_array(arena, count, sizeof(int64_t)),
        .next = arena_array(arena, shape->stages, sizeof(uint32_t)),
        .ends_ns = arena_array(arena, 2 * (size_t)shape->stages, sizeof(int64_t)),
    };
    for (uint32_t s = 0; s < shape->stages; s++) {
        add_order(pipeline, arena, shape, s, pieces, stage_of);
    }
    return pipeline;
}

/* ---- the walk ------------------------------------------------------------------------------ */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* When what the action waits for has come; NOT_YET. The first piece's forward waits for nothing;
 * the last one's backward and weight gradients for what is before them on the stage. */
static int64_t come_ns(const struct pipeline *pipeline, const struct pipeline_action *action)
{
    const uint32_t piece = action->piece;
    if (action->operation == SCHEDULE_WEIGHTS) {
        return 0;
    }
    if (action->operation == SCHEDULE_FORWARD) {
        return piece == 0 ? 0
                          : pipeline->forward_ns[(size_t)(piece - 1) * pipeline->microbatches +
                                                 action->microbatch];
    }
    return piece + 1 == pipeline->pieces
               ? 0
               : pipeline->backward_ns[(size_t)(piece + 1) * pipeline->microbatches +
                                       action->microbatch];
}

/* When an action ends that begins then, on its stage; what it sends is noted. */
static int64_t take(struct pipeline *pipeline, const struct pipeline_costs *costs, uint32_t stage,
                    const struct pipeline_action *action, int64_t begin_ns)
{
    const uint32_t piece = action->piece;
    const size_t place = (size_t)piece * pipeline->microbatches + action->microbatch;
    const bool is_forward = action->operation == SCHEDULE_FORWARD;
    int64_t end_ns = begin_ns + (action->is_received ? costs->receive_ns[is_forward] : 0) +
                     costs->action_ns[action->operation][piece];
    if (action->is_edge && is_forward) {
        end_ns = later(end_ns, costs->gathered_ns[piece]);
    } else if (action->is_edge) {
        int64_t *reduced_ns = &pipeline->ends_ns[pipeline->stages + stage];
        *reduced_ns = later(*reduced_ns, begin_ns) + costs->reduce_ns[piece];
    }
    if (action->operation == SCHEDULE_WEIGHTS) {
        return end_ns;
    }
    const int64_t left_ns = end_ns + (action->is_sent ? costs->leaving_ns : 0);
    (is_forward ? pipeline->forward_ns : pipeline->backward_ns)[place] =
        left_ns + (action->is_sent ? costs->latency_ns : 0);
    return costs->blocks ? left_ns : end_ns;
}

/* Takes the actions of a stage as far as what they wait for has come. */
static bool advance(struct pipeline *pipeline, const struct pipeline_costs *costs, uint32_t stage)
{
    const uint32_t before = pipeline->next[stage];
    uint32_t next = before;
    int64_t now_ns = pipeline->ends_ns[stage];
    while (next < pipeline->action_counts[stage]) {
        const struct pipeline_action *action = &pipeline->actions[stage][next];
        const int64_t ready_ns = come_ns(pipeline, action);
        if (ready_ns == NOT_YET) {
            break;
        }
        now_ns = take(pipeline, costs, stage, action, later(now_ns, ready_ns));
        next++;
    }
    pipeline->ends_ns[stage] = now_ns;
    pipeline->next[stage] = next;
    return next > before;
}

const int64_t *pipeline_walk(struct pipeline *pipeline, const struct pipeline_costs *costs)
{
    const size_t count = (size_t)pipeline->pieces * pipeline->microbatches;
    memset(pipeline->forward_ns, NOT_YET, count * sizeof(int64_t));
    memset(pipeline->backward_ns, NOT_YET, count * sizeof(int64_t));
    memset(pipeline->next, 0, pipeline->stages * sizeof *pipeline->next);
    memset(pipeline->ends_ns, 0, 2 * (size_t)pipeline->stages * sizeof *pipeline->ends_ns);
    bool goes_on = true;
    while (goes_on) {
        goes_on = false;
        for (uint32_t s = 0; s < pipeline->stages; s++) {
            goes_on = advance(pipeline, costs, s) || goes_on;
        }
    }
    for (uint32_t s = 0; s < pipeline->stages; s++) {
        sim_assert(pipeline->next[s] == pipeline->action_counts[s]);
    }
    return pipeline->ends_ns;
}
