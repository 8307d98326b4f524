/* A forward's tasks on STREAM_OFFLOAD follow one another, a layer each, so what is kept of it is
 * where they begin; of a backward's on STREAM_FETCH each layer's.
 */
#include "train/program/program_offload.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/job/optimizer.h"
#include "input/job/parallel.h"
#include "plan/memory/memory.h"
#include "plan/memory/memory_layer.h"

struct offloaded {
    uint32_t *out_before; /* [chunk, microbatch]: tasks of STREAM_OFFLOAD before its own, plus 1 */
    uint32_t *back;       /* [layer of the stage]: tasks of STREAM_FETCH that end with it */
};

static uint32_t stage_layer(const struct builder *builder, const struct offload_place *place)
{
    return builder->chunks[place->chunk].before + place->layer;
}

static bool is_offloaded(const struct builder *builder, const struct offload_place *place)
{
    return (int64_t)stage_layer(builder, place) < builder->job->offload->activation_layers;
}

uint32_t offload_layers(const struct builder *builder, uint32_t chunk)
{
    const int64_t left =
        builder->job->offload->activation_layers - (int64_t)builder->chunks[chunk].before;
    const int64_t layers = builder_layers(builder, chunk);
    return (uint32_t)(left <= 0 ? 0 : left < layers ? left : layers);
}

static uint32_t *out_before(const struct builder *builder, uint32_t chunk, uint32_t microbatch)
{
    const size_t microbatches = (size_t)builder->job->batch->microbatches;
    return &builder->offloaded->out_before[chunk * microbatches + microbatch];
}

void offload_begin(struct builder *builder, uint32_t chunk, uint32_t microbatch)
{
    if (offload_layers(builder, chunk) > 0) {
        *out_before(builder, chunk, microbatch) = builder_emitted(builder, STREAM_OFFLOAD) + 1;
    }
}

uint32_t offload_begun(const struct builder *builder, uint32_t chunk, uint32_t microbatch)
{
    const uint32_t begun = *out_before(builder, chunk, microbatch);
    sim_assert(begun > 0);
    return begun - 1;
}

void offload_init(struct builder *builder)
{
    struct arena *arena = builder->context->arena;
    const size_t layers = (size_t)builder->job->offload->activation_layers;
    const size_t passes = layers == 0 ? 0
                                      : (size_t)builder->job->parallel->virtual_stages *
                                            (size_t)builder->job->batch->microbatches;
    builder->offloaded = arena_alloc(arena, sizeof *builder->offloaded);
    builder->offloaded->out_before =
        arena_array(arena, passes, sizeof *builder->offloaded->out_before);
    builder->offloaded->back = arena_array(arena, layers, sizeof *builder->offloaded->back);
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
    }
}

void offload_fetch(struct builder *builder, const struct offload_place *place)
{
    if (is_offloaded(builder, place)) {
        const uint32_t out =
            offload_begun(builder, place->chunk, place->microbatch) + place->layer + 1;
        builder_emit_after(
            builder, STREAM_FETCH,
            builder_plain(builder, STREAM_FETCH, OFFLOAD_PATH_LINK, bytes_of(builder, place)),
            (struct task_wait){STREAM_OFFLOAD, out});
        builder->offloaded->back[stage_layer(builder, place)] =
            builder_emitted(builder, STREAM_FETCH);
    }
}

void offload_need(struct builder *builder, const struct offload_place *place)
{
    if (is_offloaded(builder, place)) {
        builder_need_at(builder, STREAM_FETCH,
                        builder->offloaded->back[stage_layer(builder, place)]);
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
