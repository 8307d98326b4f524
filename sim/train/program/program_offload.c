/* Numbers of the tasks that carry a layer's activations out and in are kept by
 * layer and microbatch, so that the backward pass can wait for its own.
 */
#include "train/program/program_offload.h"

#include "base/arena.h"
#include "base/check.h"
#include "plan/memory/memory.h"
#include "plan/memory/memory_layer.h"

/* Of each layer and microbatch: tasks of STREAM_OFFLOAD, then of STREAM_FETCH, that end with
 * its activations. */
struct offloaded {
    uint32_t out, back;
};

static bool is_offloaded(const struct builder *builder, const struct offload_place *place)
{
    return (int64_t)place->layer < builder->job->offload->activation_layers;
}

static struct offloaded *offloaded_of(struct builder *builder, const struct offload_place *place)
{
    const size_t microbatches = (size_t)builder->job->batch->microbatches;
    return &builder->offloaded[place->layer * microbatches + place->microbatch];
}

void offload_init(struct builder *builder)
{
    const size_t count = (size_t)builder->job->offload->activation_layers *
                         (size_t)builder->job->batch->microbatches;
    builder->offloaded =
        arena_array(builder->context->arena, count + 1, sizeof *builder->offloaded);
}

static double bytes_of(const struct builder *builder, const struct offload_place *place)
{
    return memory_layer_of(&builder->job->memory.shape, &builder->job->model->kinds[place->kind],
                           place->is_full)
        .kept;
}

void offload_activations(struct builder *builder, const struct offload_place *place)
{
    if (is_offloaded(builder, place)) {
        builder_move(builder, STREAM_OFFLOAD, OFFLOAD_PATH_LINK, bytes_of(builder, place));
        offloaded_of(builder, place)->out = builder_emitted(builder, STREAM_OFFLOAD);
    }
}

void offload_fetch(struct builder *builder, const struct offload_place *place)
{
    if (is_offloaded(builder, place)) {
        struct offloaded *offloaded = offloaded_of(builder, place);
        sim_assert(offloaded->out > 0);
        builder_emit_after(
            builder, STREAM_FETCH,
            builder_plain(builder, STREAM_FETCH, OFFLOAD_PATH_LINK, bytes_of(builder, place)),
            (struct task_wait){STREAM_OFFLOAD, offloaded->out});
        offloaded->back = builder_emitted(builder, STREAM_FETCH);
    }
}

void offload_need(struct builder *builder, const struct offload_place *place)
{
    if (is_offloaded(builder, place)) {
        builder_need_at(builder, STREAM_FETCH, offloaded_of(builder, place)->back);
    }
}

/* ---- the optimizer ---------------------------------------------------------------------- */

/* Read and written: the gradient is read, master weight and moments both. */
static double update_bytes(const struct optimizer *optimizer)
{
    return state_bytes((enum state_format)optimizer->gradients) +
           2 * (state_bytes((enum state_format)optimizer->master) +
                optimizer_moment_bytes(optimizer));
}

void offload_update(struct builder *builder, double parameters)
{
    const double share = builder->job->offload->optimizer;
    if (share <= 0 || parameters <= 0) {
        return;
    }
    const double there = share * parameters;
    builder_move(builder, STREAM_OFFLOAD, OFFLOAD_PATH_LINK,
                 there * builder_gradient_bytes(builder));
    builder_move(builder, STREAM_OFFLOAD, OFFLOAD_PATH_CPU,
                 there * update_bytes(builder->job->optimizer));
    const struct task_wait after = {STREAM_OFFLOAD, builder_emitted(builder, STREAM_OFFLOAD)};
    builder_emit_after(builder, STREAM_FETCH,
                       builder_plain(builder, STREAM_FETCH, OFFLOAD_PATH_LINK,
                                     there * builder_element_bytes(builder)),
                       after);
}
