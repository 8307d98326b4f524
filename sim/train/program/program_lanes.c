/* Operations of both halves are recorded in two lists, then emitted
 * alternately. A turn ends where its half has to wait for an exchange; counts
 * of tasks that the half noted while recording are translated into counts of
 * the whole stream.
 */
#include "train/program/program_lanes.h"

#include "base/arena.h"
#include "base/check.h"

#include <string.h>

/* ---- recording -------------------------------------------------------------------- */

bool lanes_record(const struct lanes *lanes)
{
    return lanes->recording > 0;
}

void lanes_begin(struct lanes *lanes, uint32_t lane, const uint32_t emitted[STREAM_COUNT_],
                 const uint32_t needed[STREAM_COUNT_])
{
    sim_assert(lanes->recording == lane);
    struct lane *begun = &lanes->lane[lane];
    begun->count = 0;
    begun->position = 0;
    memset(begun->emitted, 0, sizeof begun->emitted);
    memcpy(begun->needed, needed, sizeof begun->needed);
    memcpy(lanes->base, emitted, sizeof lanes->base);
    lanes->recording = lane + 1;
}

void lanes_note(struct lanes *lanes, const struct lane_op *op)
{
    sim_assert(lanes->recording > 0);
    struct lane *lane = &lanes->lane[lanes->recording - 1];
    if (op->kind == LANE_NEED) {
        if (op->ended <= lane->needed[op->stream]) {
            return;
        }
        lane->needed[op->stream] = op->ended;
    }
    lane->ops =
        arena_grow(lanes->arena, lane->ops, &lane->capacity, lane->count + 1, sizeof *lane->ops);
    lane->ops[lane->count++] = *op;
    lane->emitted[op->stream] += op->kind == LANE_EMIT;
}

uint32_t lanes_emitted(const struct lanes *lanes, enum stream stream)
{
    return lanes->base[stream] + lanes->lane[lanes->recording - 1].emitted[stream];
}

/* ---- emitting ----------------------------------------------------------------------- */

void lanes_end(struct lanes *lanes)
{
    sim_assert(lanes->recording == 2);
    lanes->recording = 0;
    for (uint32_t i = 0; i < 2; i++) {
        memset(lanes->lane[i].emitted, 0, sizeof lanes->lane[i].emitted);
    }
    lanes->turn = 1; /* a backward begins with an exchange, a forward with compute */
    lanes->turn_first = 0;
}

static bool is_at_end(const struct lane *lane)
{
    return lane->position == lane->count;
}

/* A turn goes from the wait at which the lane stopped to the next one. */
static bool is_turn_over(const struct lanes *lanes, const struct lane *lane)
{
    const struct lane_op *op = &lane->ops[lane->position];
    return is_at_end(lane) || (lane->position > lanes->turn_first && op->kind == LANE_NEED &&
                               op->stream == STREAM_EXPERT);
}

static void take_turns(struct lanes *lanes)
{
    if (is_turn_over(lanes, &lanes->lane[lanes->turn])) {
        lanes->turn = is_at_end(&lanes->lane[1 - lanes->turn]) ? lanes->turn : 1 - lanes->turn;
        lanes->turn_first = lanes->lane[lanes->turn].position;
    }
}

/* A count of tasks within the lane as one of the stream. */
static uint32_t count_in_stream(const struct lanes *lanes, uint32_t stream, uint32_t ended)
{
    const uint32_t base = lanes->base[stream];
    return ended <= base ? ended : lanes->lane[lanes->turn].numbers[stream][ended - base - 1];
}

bool lanes_next(struct lanes *lanes, struct lane_op *op)
{
    take_turns(lanes);
    struct lane *lane = &lanes->lane[lanes->turn];
    if (is_at_end(lane)) {
        return false;
    }
    *op = lane->ops[lane->position++];
    op->ended = count_in_stream(lanes, op->stream, op->ended);
    op->after.ended = count_in_stream(lanes, op->after.stream, op->after.ended);
    return true;
}

void lanes_place(struct lanes *lanes, enum stream stream, uint32_t number)
{
    struct lane *lane = &lanes->lane[lanes->turn];
    const size_t index = lane->emitted[stream]++;
    lane->numbers[stream] =
        arena_grow(lanes->arena, lane->numbers[stream], &lane->number_capacity[stream], index + 1,
                   sizeof *lane->numbers[stream]);
    lane->numbers[stream][index] = number;
}
