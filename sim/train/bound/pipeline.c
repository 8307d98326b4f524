/* An action knows its piece, so that what it waits for is an index into a table of ends. */
#include "train/bound/pipeline.h"

#include "base/arena.h"
#include "base/check.h"
#include "train/groups.h"

#include <string.h>

/* Behind the ends that are told those of the messages each way. */
enum { NOT_YET = -1, ENDS_WAYS = PIPELINE_ENDS, ENDS = ENDS_WAYS + BORDER_WAYS };

/* A microbatch on a piece, one way. */
struct pipeline_part {
    uint32_t piece, microbatch;
    uint8_t operation; /* enum schedule_operation */
    bool is_edge;      /* the first forward of its piece, or what its gradients end with */
    bool is_received;  /* what it waits for comes from another stage */
    bool is_sent;      /* to another stage, */
    uint8_t way;       /* that way: enum border_way */
};

/* One part; or the two of a pair, whose forward is first. */
struct pipeline_action {
    struct pipeline_part parts[2];
    uint32_t pair; /* its number in pair_ns, plus 1; 0: none */
};

struct pipeline {
    uint32_t stages, pieces, microbatches;
    struct pipeline_action **actions; /* per stage */
    uint32_t *action_counts;          /* the same */
    int64_t *forward_ns;              /* [piece * microbatches + microbatch]: sent on, and there */
    int64_t *backward_ns;             /* the same */
    uint32_t *next;                   /* per stage */
    int64_t *ends_ns;                 /* per stage, one of ENDS behind the other */
};

bool pipeline_is_possible(const struct schedule_shape *shape)
{
    return shape->kind != SCHEDULE_DUALPIPE && shape->kind != SCHEDULE_DUALPIPEV &&
           shape->kind != SCHEDULE_FILE;
}

/* ---- orders -------------------------------------------------------------------------------- */

static uint32_t parts_of(const struct pipeline_action *action)
{
    return action->pair > 0 ? 2 : 1;
}

/* Of the pieces' stages, the part that is first forward of each, and last with its gradients. */
static void mark_edges(const struct pipeline *pipeline, struct pipeline_action *actions,
                       uint32_t count)
{
    struct arena *own = arena_new();
    struct pipeline_part **last = arena_array(own, pipeline->pieces, sizeof *last);
    bool *is_known = arena_array(own, pipeline->pieces, sizeof *is_known);
    memset(last, 0, pipeline->pieces * sizeof *last);
    memset(is_known, 0, pipeline->pieces * sizeof *is_known);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < parts_of(&actions[i]); k++) {
            struct pipeline_part *part = &actions[i].parts[k];
            if (part->operation == SCHEDULE_FORWARD) {
                part->is_edge = !is_known[part->piece];
                is_known[part->piece] = true;
            } else if (part->operation != SCHEDULE_BACKWARD_INPUT) {
                last[part->piece] = part;
            }
        }
    }
    for (uint32_t i = 0; i < pipeline->pieces; i++) {
        if (last[i] != NULL) {
            last[i]->is_edge = true;
        }
    }
    arena_free(own);
}

/* What the orders of stages are read with. */
struct pipeline_reading {
    const struct schedule_shape *shape;
    const uint32_t *pieces;   /* of [stage * chunks + chunk] */
    const uint32_t *stage_of; /* per piece */
    uint32_t stage;
};

static bool is_elsewhere(const struct pipeline *pipeline, const struct pipeline_reading *reading,
                         int64_t piece)
{
    return piece >= 0 && piece < (int64_t)pipeline->pieces &&
           reading->stage_of[piece] != reading->stage;
}

/* Of what a piece sends to the one behind it (forward) or in front. */
static enum border_way way_of(const struct pipeline_reading *reading, int64_t piece,
                              bool is_forward)
{
    const uint32_t to = reading->stage_of[is_forward ? piece + 1 : piece - 1];
    const bool is_ahead = groups_goes_ahead(reading->shape->kind, reading->shape->stages,
                                            reading->stage, to, is_forward);
    return is_ahead ? BORDER_AHEAD : BORDER_BACK;
}

static struct pipeline_part part_of(const struct pipeline *pipeline,
                                    const struct pipeline_reading *reading, uint8_t operation,
                                    uint32_t chunk, uint32_t microbatch)
{
    const bool is_forward = operation == SCHEDULE_FORWARD;
    const bool is_weights = operation == SCHEDULE_WEIGHTS;
    const int64_t piece = reading->pieces[reading->stage * reading->shape->chunks + chunk];
    const bool has_before = is_elsewhere(pipeline, reading, piece - 1);
    const bool has_after = is_elsewhere(pipeline, reading, piece + 1);
    const bool is_sent = !is_weights && (is_forward ? has_after : has_before);
    return (struct pipeline_part){
        .piece = (uint32_t)piece,
        .microbatch = microbatch,
        .operation = operation,
        .is_received = !is_weights && (is_forward ? has_before : has_after),
        .is_sent = is_sent,
        .way = (uint8_t)(is_sent ? way_of(reading, piece, is_forward) : BORDER_BACK),
    };
}

static void add_order(struct pipeline *pipeline, struct arena *arena,
                      const struct pipeline_reading *reading)
{
    struct arena *own = arena_new();
    const uint32_t stage = reading->stage;
    const struct schedule_order order = schedule_order(own, reading->shape, stage);
    struct pipeline_action *actions = arena_array(arena, order.count, sizeof *actions);
    for (uint64_t i = 0; i < order.count; i++) {
        const struct schedule_action *action = &order.actions[i];
        const bool is_pair = action->operation == SCHEDULE_PAIR;
        actions[i].pair = 0;
        actions[i].parts[0] =
            part_of(pipeline, reading, is_pair ? (uint8_t)SCHEDULE_FORWARD : action->operation,
                    action->chunk, action->microbatch);
        if (is_pair) {
            actions[i].parts[1] = part_of(pipeline, reading, SCHEDULE_BACKWARD,
                                          action->backward_chunk, action->backward_microbatch);
            actions[i].pair =
                pipeline_pair(reading->shape, stage, action->chunk, action->backward_chunk) + 1;
        }
    }
    pipeline->action_counts[stage] = (uint32_t)order.count;
    mark_edges(pipeline, actions, (uint32_t)order.count);
    pipeline->actions[stage] = actions;
    arena_free(own);
}

uint32_t pipeline_pair(const struct schedule_shape *shape, uint32_t stage, uint32_t forward,
                       uint32_t backward)
{
    return (stage * shape->chunks + forward) * shape->chunks + backward;
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
        .ends_ns = arena_array(arena, ENDS * (size_t)shape->stages, sizeof(int64_t)),
    };
    for (uint32_t s = 0; s < shape->stages; s++) {
        const struct pipeline_reading reading = {shape, pieces, stage_of, s};
        add_order(pipeline, arena, &reading);
    }
    return pipeline;
}

/* ---- the walk ------------------------------------------------------------------------------ */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* When what a part waits for has come; NOT_YET. The first piece's forward waits for nothing;
 * the last one's backward and weight gradients for what is before them on the stage. */
static int64_t come_ns(const struct pipeline *pipeline, const struct pipeline_part *part)
{
    const uint32_t piece = part->piece;
    if (part->operation == SCHEDULE_WEIGHTS) {
        return 0;
    }
    if (part->operation == SCHEDULE_FORWARD) {
        return piece == 0 ? 0
                          : pipeline->forward_ns[(size_t)(piece - 1) * pipeline->microbatches +
                                                 part->microbatch];
    }
    return piece + 1 == pipeline->pieces
               ? 0
               : pipeline
                     ->backward_ns[(size_t)(piece + 1) * pipeline->microbatches + part->microbatch];
}

/* All of an action. */
static int64_t all_come_ns(const struct pipeline *pipeline, const struct pipeline_action *action)
{
    const int64_t first_ns = come_ns(pipeline, &action->parts[0]);
    if (action->pair == 0 || first_ns == NOT_YET) {
        return first_ns;
    }
    const int64_t second_ns = come_ns(pipeline, &action->parts[1]);
    return second_ns == NOT_YET ? NOT_YET : later(first_ns, second_ns);
}

static int64_t action_ns(const struct pipeline_costs *costs, const struct pipeline_action *action)
{
    int64_t ns = 0;
    for (uint32_t i = 0; i < parts_of(action); i++) {
        const struct pipeline_part *part = &action->parts[i];
        ns += part->is_received ? costs->receive_ns[part->operation == SCHEDULE_FORWARD] : 0;
        ns += action->pair > 0 ? 0 : costs->action_ns[part->operation][part->piece];
    }
    return ns + (action->pair > 0 ? costs->pair_ns[action->pair - 1] : 0);
}

/* So much more of a stage's is done, from then on: one after the other. When it ends. */
static int64_t queue(struct pipeline *pipeline, uint32_t stage, uint32_t end, int64_t begin_ns,
                     int64_t ns)
{
    int64_t *end_ns = &pipeline->ends_ns[end * (size_t)pipeline->stages + stage];
    *end_ns = later(*end_ns, begin_ns) + ns;
    return *end_ns;
}

/* When a message of the stage has left that is ready then: those before it the same way go first,
 * and what both ways share is busy with all. */
static int64_t leave(struct pipeline *pipeline, const struct pipeline_costs *costs, uint32_t stage,
                     uint32_t way, int64_t ready_ns)
{
    const struct border *border = &costs->border;
    queue(pipeline, stage, PIPELINE_SENT, ready_ns, border->shared_ns[way][stage]);
    queue(pipeline, stage, PIPELINE_NICS_SENT, ready_ns, border->nic_ns[way][stage]);
    queue(pipeline, stage, PIPELINE_NICS, ready_ns, border->nic_ns[way][stage]);
    return queue(pipeline, stage, ENDS_WAYS + way, ready_ns, border->leaving_ns[way][stage]);
}

/* What a part that ends then sends is noted; when it has left. */
static int64_t send(struct pipeline *pipeline, const struct pipeline_costs *costs, uint32_t stage,
                    const struct pipeline_part *part, int64_t end_ns)
{
    const size_t place = (size_t)part->piece * pipeline->microbatches + part->microbatch;
    int64_t *come_ns =
        part->operation == SCHEDULE_FORWARD ? pipeline->forward_ns : pipeline->backward_ns;
    if (part->operation == SCHEDULE_WEIGHTS) {
        return end_ns;
    }
    if (!part->is_sent) {
        come_ns[place] = end_ns;
        return end_ns;
    }
    const int64_t left_ns = leave(pipeline, costs, stage, part->way, end_ns);
    come_ns[place] = left_ns + costs->border.latency_ns[part->way][stage];
    return left_ns;
}

/* Beside an action that begins then. */
static void reduce(struct pipeline *pipeline, const struct pipeline_costs *costs, uint32_t stage,
                   uint32_t piece, int64_t begin_ns)
{
    for (uint32_t i = 0; i < PIPELINE_QUEUES; i++) {
        queue(pipeline, stage, PIPELINE_REDUCED + i, begin_ns, costs->reduce_ns[i][piece]);
    }
    queue(pipeline, stage, PIPELINE_NICS, begin_ns, costs->nic_reduce_ns[piece]);
}

/* When an action ends that begins then, on its stage; what it sends is noted. */
static int64_t take(struct pipeline *pipeline, const struct pipeline_costs *costs, uint32_t stage,
                    const struct pipeline_action *action, int64_t begin_ns)
{
    int64_t end_ns = begin_ns + action_ns(costs, action);
    for (uint32_t i = 0; i < parts_of(action); i++) {
        const struct pipeline_part *part = &action->parts[i];
        if (part->is_edge && part->operation == SCHEDULE_FORWARD) {
            end_ns = later(end_ns, costs->gathered_ns[part->piece]);
        } else if (part->is_edge) {
            reduce(pipeline, costs, stage, part->piece, begin_ns);
        }
    }
    int64_t left_ns = end_ns;
    for (uint32_t i = 0; i < parts_of(action); i++) {
        left_ns = later(left_ns, send(pipeline, costs, stage, &action->parts[i], end_ns));
    }
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
        const int64_t ready_ns = all_come_ns(pipeline, action);
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
    memset(pipeline->ends_ns, 0, ENDS * (size_t)pipeline->stages * sizeof *pipeline->ends_ns);
    for (uint32_t s = 0; s < pipeline->stages; s++) {
        queue(pipeline, s, PIPELINE_NICS_SENT, 0, costs->nic_gather_ns[s]);
        queue(pipeline, s, PIPELINE_NICS, 0, costs->nic_gather_ns[s]);
    }
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
