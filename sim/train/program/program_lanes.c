/* Operations of both halves are recorded in two lists, then emitted
 * alternately. A turn ends where its half has to wait for an exchange; counts
 * of tasks that the half noted while recording are translated into counts of
 * the whole stream.
 */
#include "train/program/program_lanes.h"

#include "base/arena.h"
#include "base/check.h"
#include "train/program/program_builder.h"

#include <string.h>

/* ---- recording -------------------------------------------------------------------- */

bool lanes_record(const struct builder *builder)
{
    return builder->lanes.recording > 0;
}

static struct lane *recorded_lane(struct builder *builder)
{
    sim_assert(builder->lanes.recording > 0);
    return &builder->lanes.lane[builder->lanes.recording - 1];
}

static void clear_lane(struct lane *lane, const uint32_t *needed)
{
    lane->count = 0;
    lane->position = 0;
    memset(lane->emitted, 0, sizeof lane->emitted);
    memcpy(lane->needed, needed, sizeof lane->needed);
}

void lanes_begin(struct builder *builder, uint32_t lane)
{
    struct lanes *lanes = &builder->lanes;
    sim_assert(lanes->recording == lane);
    if (lane == 0) {
        for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
            lanes->base[s] = builder_emitted(builder, (enum stream)s);
        }
    }
    clear_lane(&lanes->lane[lane], builder->needed);
    lanes->recording = lane + 1;
}

static struct lane_op *append(struct builder *builder)
{
    struct lane *lane = recorded_lane(builder);
    lane->ops = arena_grow(builder->context->arena, lane->ops, &lane->capacity, lane->count + 1,
                           sizeof *lane->ops);
    return &lane->ops[lane->count++];
}

void lanes_work(struct builder *builder, uint32_t cause, struct work work)
{
    *append(builder) = (struct lane_op){.kind = LANE_WORK, .cause = (uint8_t)cause, .work = work};
}

void lanes_need(struct builder *builder, enum stream stream, uint32_t ended)
{
    struct lane *lane = recorded_lane(builder);
    if (ended > lane->needed[stream]) {
        lane->needed[stream] = ended;
        *append(builder) =
            (struct lane_op){.kind = LANE_NEED, .stream = (uint8_t)stream, .ended = ended};
    }
}

void lanes_emit(struct builder *builder, const struct lane_op *op)
{
    *append(builder) = *op;
    recorded_lane(builder)->emitted[op->stream]++;
}

uint32_t lanes_emitted(const struct builder *builder, enum stream stream)
{
    const struct lanes *lanes = &builder->lanes;
    return lanes->base[stream] + lanes->lane[lanes->recording - 1].emitted[stream];
}

/* ---- emitting ----------------------------------------------------------------------- */

/* A count of tasks within the lane as one of the stream. */
static uint32_t count_in_stream(const struct builder *builder, const struct lane *lane,
                                uint32_t stream, uint32_t ended)
{
    const uint32_t base = builder->lanes.base[stream];
    return ended <= base ? ended : lane->numbers[stream][ended - base - 1];
}

static void note_number(struct builder *builder, struct lane *lane, uint32_t stream)
{
    const size_t index = lane->emitted[stream]++;
    lane->numbers[stream] =
        arena_grow(builder->context->arena, lane->numbers[stream], &lane->number_capacity[stream],
                   index + 1, sizeof *lane->numbers[stream]);
    lane->numbers[stream][index] = builder_emitted(builder, (enum stream)stream);
}

static void emit_op(struct builder *builder, struct lane *lane, const struct lane_op *op)
{
    const enum stream stream = (enum stream)op->stream;
    if (op->kind == LANE_WORK) {
        builder_work(builder, (enum cause)op->cause, op->work);
    } else if (op->kind == LANE_NEED) {
        builder_need_at(builder, stream, count_in_stream(builder, lane, stream, op->ended));
    } else if (op->after.ended > 0) {
        const struct task_wait after = {
            op->after.stream, count_in_stream(builder, lane, op->after.stream, op->after.ended)};
        builder_emit_after(builder, stream, op->transfer, after);
        note_number(builder, lane, stream);
    } else {
        builder_emit(builder, stream, (enum task_kind)op->task_kind, op->transfer);
        note_number(builder, lane, stream);
    }
}

static bool is_turning_point(const struct lane_op *op)
{
    return op->kind == LANE_NEED && op->stream == STREAM_EXPERT;
}

/* From the wait at which it stopped to the next one. */
static void emit_turn(struct builder *builder, struct lane *lane)
{
    bool is_first = true;
    while (lane->position < lane->count) {
        const struct lane_op *op = &lane->ops[lane->position];
        if (!is_first && is_turning_point(op)) {
            return;
        }
        emit_op(builder, lane, op);
        lane->position++;
        is_first = false;
    }
}

void lanes_end(struct builder *builder)
{
    struct lanes *lanes = &builder->lanes;
    sim_assert(lanes->recording == 2);
    lanes->recording = 0;
    for (uint32_t i = 0; i < 2; i++) {
        memset(lanes->lane[i].emitted, 0, sizeof lanes->lane[i].emitted);
    }
    uint32_t turn = 1; /* a backward begins with an exchange, a forward with compute */
    while (lanes->lane[0].position < lanes->lane[0].count ||
           lanes->lane[1].position < lanes->lane[1].count) {
        emit_turn(builder, &lanes->lane[turn]);
        turn = 1 - turn;
    }
}
