/* Which of a call's two directions there are follows from the numbers of microbatch and stage
 * alone, so both sides come to the same.
 */
#include "train/program/program_calls.h"

#include "base/check.h"
#include "train/groups.h"

#include <math.h>

bool calls_are_made(const struct parallel *parallel, const struct software *software)
{
    return software->stage_calls != STAGE_CALLS_APART && parallel->schedule == SCHEDULE_1F1B &&
           !parallel->overlaps_experts && parallel->pp > 1;
}

/* Forwards of a stage before its first backward's own. */
static int64_t warm_up(const struct builder *builder, uint32_t stage)
{
    return builder->job->parallel->pp - 1 - (int64_t)stage;
}

static bool has_microbatch(const struct builder *builder, int64_t microbatch)
{
    return microbatch >= 0 && microbatch < (int64_t)builder->chunks[0].microbatches;
}

static void move(struct builder *builder, enum stream stream, enum call_way way, double bytes)
{
    builder_emit(builder, stream, TASK_COLLECTIVE,
                 builder_plain(builder, STREAM_SEND_FORWARD, way, bytes));
}

static double bytes_of(const struct call_bytes *bytes, enum call_way way)
{
    return way == CALL_AHEAD  ? bytes->ahead
           : way == CALL_BACK ? bytes->back
                              : fmax(bytes->ahead, bytes->back);
}

static void call(struct builder *builder, bool is_next, enum call_way way,
                 const struct call_bytes *bytes)
{
    const enum stream stream = is_next ? STREAM_SEND_FORWARD : STREAM_RECEIVE_FORWARD;
    if (way == CALL_BOTH && builder->job->software->stage_calls == STAGE_CALLS_IN_TURN) {
        move(builder, stream, CALL_AHEAD, bytes->ahead);
        move(builder, stream, CALL_BACK, bytes->back);
    } else {
        move(builder, stream, way, bytes_of(bytes, way));
    }
    builder_need(builder, stream);
}

/* A forward's activations came with the gradients of the backward before it, of another
 * microbatch; a backward's gradients with the activations of the forward before it. */
static bool comes_with_another(const struct builder *builder, uint32_t microbatch, bool is_forward)
{
    const int64_t warm = warm_up(builder, builder->stage);
    return has_microbatch(builder,
                          is_forward ? (int64_t)microbatch - warm - 1 : (int64_t)microbatch + warm);
}

static bool goes_with_another(const struct builder *builder, uint32_t microbatch, bool is_forward)
{
    const int64_t warm = warm_up(builder, builder->stage);
    return has_microbatch(builder,
                          is_forward ? (int64_t)microbatch - warm : (int64_t)microbatch + warm + 1);
}

uint32_t calls_key(const struct builder *builder, uint32_t microbatch, bool is_forward)
{
    return (uint32_t)comes_with_another(builder, microbatch, is_forward) |
           (uint32_t)goes_with_another(builder, microbatch, is_forward) << 1;
}

bool calls_before(struct builder *builder, uint32_t microbatch, bool is_forward,
                  const struct call_bytes *bytes)
{
    if (comes_with_another(builder, microbatch, is_forward)) {
        return false;
    }
    call(builder, !is_forward, is_forward ? CALL_AHEAD : CALL_BACK, bytes);
    return true;
}

void calls_after(struct builder *builder, uint32_t microbatch, bool is_forward,
                 const struct call_bytes *bytes)
{
    const bool goes = goes_with_another(builder, microbatch, is_forward);
    const enum call_way alone = is_forward ? CALL_AHEAD : CALL_BACK;
    call(builder, is_forward, goes ? CALL_BOTH : alone, bytes);
}
