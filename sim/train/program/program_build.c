/* The actions of a stage in order, and what comes before the first and after the last.
 *
 * program_builder writes tasks, program_action what an action does, program_layer,
 * program_attention and program_ends what is in it, program_shards what data parallelism does.
 */
#include "train/program/program_build.h"

#include "base/arena.h"
#include "input/data/data_loading.h"
#include "input/job/lora.h"
#include "input/job/optimizer.h"
#include "input/job/parallel.h"
#include "input/layout.h"
#include "train/program/program_ends.h"
#include "train/program/program_matrices.h"
#include "train/program/program_messages.h"
#include "train/program/program_offload.h"
#include "train/program/program_shards.h"
#include "train/program/program_written.h"
#include "train/program/program_zeropp.h"

/* ---- the actions ------------------------------------------------------------------------- */

/* Notes which chunk comes how far down the model. */
static void order_chunks(struct builder *builder, uint32_t count)
{
    for (uint32_t chunk = 0; chunk < count; chunk++) {
        uint32_t place = 0;
        for (uint32_t other = 0; other < count; other++) {
            place += builder_piece(builder, other) < builder_piece(builder, chunk);
        }
        builder->chunks[place].in_order = chunk;
    }
}

static const int64_t *first_layers_of(const struct builder *builder)
{
    const struct parallel *parallel = builder->job->parallel;
    const size_t pieces = (size_t)layout_pieces(parallel);
    int64_t *firsts = arena_room(builder->context->arena, pieces + 1, sizeof *firsts);
    firsts[0] = 0;
    for (size_t piece = 0; piece < pieces; piece++) {
        firsts[piece + 1] = firsts[piece] + parallel->layers_per_chunk[piece];
    }
    return firsts;
}

/* The chunks of the stage, and how many microbatches go through each. */
static void chunks_init(struct builder *builder, const struct schedule_order *order)
{
    const struct parallel *parallel = builder->job->parallel;
    const uint32_t count = (uint32_t)parallel->virtual_stages;
    builder->chunks = arena_array(builder->context->arena, count, sizeof *builder->chunks);
    uint32_t before = 0;
    builder->first_layers = first_layers_of(builder);
    for (uint32_t chunk = 0; chunk < count; chunk++) {
        const int64_t piece = layout_piece(parallel, builder->stage, chunk);
        builder->chunks[chunk] = (struct chunk_state){.piece = (uint32_t)piece,
                                                      .first_layer = builder->first_layers[piece],
                                                      .before = before};
        before += builder_layers(builder, chunk);
    }
    order_chunks(builder, count);
    for (uint64_t i = 0; i < order->count; i++) {
        const struct schedule_action *action = &order->actions[i];
        const bool is_pair = action->operation == SCHEDULE_PAIR;
        if (action->operation == SCHEDULE_FORWARD || is_pair) {
            builder->chunks[action->chunk].microbatches++;
        }
    }
}

/* ---- the whole step ------------------------------------------------------------------- */

static void begin_step(struct builder *builder)
{
    const double host_s = software_host_step_s(builder->job->software);
    const struct work host = {.busy_ns = sim_time_from_s(host_s)};
    if (shards_gather_ahead(builder)) {
        shards_begin(builder);
    }
    builder_work(builder, CAUSE_LAUNCH, host);
    shards_gather_edge(builder);
}

static bool has_end(const struct builder *builder)
{
    for (uint32_t i = 0; i < (uint32_t)builder->job->parallel->virtual_stages; i++) {
        if (builder_is_first(builder, i) || builder_is_last(builder, i)) {
            return true;
        }
    }
    return false;
}

static void finish_gradients(struct builder *builder)
{
    shards_finish(builder);
    if (has_end(builder) && builder->job->lora->rank == 0) {
        const double vocab =
            (double)cost_padded_vocab(builder->job->model, builder->job->parallel->tp);
        builder_collective(
            builder, STREAM_EMBEDDING, &builder->context->embedding, COLLECTIVE_ALL_REDUCE,
            vocab * (double)builder->job->model->hidden / (double)builder->job->parallel->tp *
                builder_gradient_bytes(builder));
        builder_need(builder, STREAM_EMBEDDING);
    }
}

/* Whoever owns a part of the gradients looks for overflow in it, joins, converts and scales it. */
static void prepare_update(struct builder *builder, double owned)
{
    const double bytes = owned * builder->job->software->zero_update_copies;
    if (bytes > 0 && builder->job->parallel->zero > 0) {
        builder_work(builder, CAUSE_OPTIMIZER,
                     timing_memory_pass(&builder->context->timing->runner, bytes));
    }
}

/* Of matrices that are made orthogonal whole, shards are gathered first. */
static void update_matrices(struct builder *builder)
{
    const struct timing_runner *runner = &builder->context->timing->runner;
    const struct optimizer *optimizer = builder->job->optimizer;
    struct matrices matrices;
    program_updated_matrices(&builder->job->memory, builder->stage, &matrices);
    const double gathered = matrices_gathered_bytes(optimizer, &matrices);
    if (gathered > 0 && builder->context->tensor.ranks > 1) {
        builder_collective(builder, STREAM_TENSOR, &builder->context->tensor, COLLECTIVE_ALL_GATHER,
                           gathered);
        builder_need(builder, STREAM_TENSOR);
    }
    for (uint32_t i = 0; i < matrices.count; i++) {
        builder_work(builder, CAUSE_OPTIMIZER,
                     program_matrix_work(runner, optimizer, &matrices.items[i]));
    }
}

static void update_parameters(struct builder *builder)
{
    const struct timing_runner *runner = &builder->context->timing->runner;
    const struct optimizer *optimizer = builder->job->optimizer;
    const double owned = program_owned_parameters(&builder->job->memory.split, builder->stage);
    prepare_update(builder, owned);
    if (optimizer->clips) {
        builder_work(builder, CAUSE_OPTIMIZER, program_norm_work(runner, optimizer, owned));
        builder_collective(builder, STREAM_WORLD, &builder->context->world, COLLECTIVE_ALL_REDUCE,
                           4);
        builder_need(builder, STREAM_WORLD);
    }
    if (builder->context->is_copied_beside) {
        builder_need(builder, STREAM_STORAGE);
    }
    offload_update(builder, owned);
    builder_work(
        builder, CAUSE_OPTIMIZER,
        timing_optimizer(runner, optimizer,
                         program_updated_parameters(&builder->job->memory, builder->stage)));
    update_matrices(builder);
    builder_need(builder, STREAM_FETCH);
    const bool is_sharded = builder->job->parallel->zero == 1 || builder->job->parallel->zero == 2;
    if (is_sharded && !shards_gather_ahead(builder)) {
        shards_gather_updated(builder);
    }
}

static uint32_t microbatches_that_enter(const struct builder *builder)
{
    for (uint32_t i = 0; i < (uint32_t)builder->job->parallel->virtual_stages; i++) {
        if (builder_is_first(builder, i)) {
            return builder->chunks[i].microbatches;
        }
    }
    return 0;
}

/* What goes on beside the step from its beginning. */
static void begin_background(struct builder *builder)
{
    const struct program_context *context = builder->context;
    if (context->is_copied_beside) {
        builder_move(builder, STREAM_STORAGE, 0, context->checkpoint_bytes_per_rank);
    }
    if (context->flush_bytes_per_rank > 0) {
        builder_move(builder, STREAM_STORAGE, 1, context->flush_bytes_per_rank);
    }
    if (context->drain_bytes_per_rank > 0) {
        builder_move(builder, STREAM_STORAGE, 2, context->drain_bytes_per_rank);
    }
    const uint32_t microbatches = microbatches_that_enter(builder);
    if (context->fabric_data != NULL && microbatches > 0) {
        const double bytes = (double)(builder->job->batch->micro * microbatches *
                                      builder->job->batch->sequence_length) *
                             context->fabric_data->bytes_per_token /
                             (double)(builder->job->parallel->tp * builder->job->parallel->cp);
        builder_move(builder, STREAM_READ, 0, bytes);
    }
}

/* For whoever is late (train/jitter). */
static void wait_for_stragglers(struct builder *builder)
{
    if (builder->context->wait_ns > 0) {
        builder_work(builder, CAUSE_STRAGGLER_WAIT,
                     (struct work){.busy_ns = builder->context->wait_ns});
    }
}

static void end_background(struct builder *builder)
{
    builder_need(builder, STREAM_STORAGE);
    builder_need(builder, STREAM_READ);
}

static void write_checkpoint(struct builder *builder)
{
    const double bytes = builder->context->checkpoint_bytes_per_rank;
    if (bytes > 0 && !builder->context->is_copied_beside) {
        builder_move(builder, STREAM_STORAGE, 0, bytes);
        builder_need(builder, STREAM_STORAGE);
    }
}

static void begin_builder(struct builder *builder, const struct schedule_order *order)
{
    const struct program_context *context = builder->context;
    struct launch_spans *spans = context->written != NULL
                                     ? written_spans(context->written)
                                     : arena_alloc(context->arena, sizeof *spans);
    builder->next.cause = CAUSE_COMPUTE;
    builder->lanes.arena = context->arena;
    builder->layers = context->written != NULL ? written_layers(context->written) : NULL;
    launch_history_init(&builder->launches, context->arena, spans,
                        builder->job->software->host_queue);
    chunks_init(builder, order);
    messages_init(builder);
    offload_init(builder);
    shards_init(builder);
    written_begin(builder);
}

/* ---- the blocks: what is before the actions, each of them, what is after them ---------------- */

/* What was emitted since the last one. `cuts`: with all of its compute. */
static const struct engine_block *end_block(struct builder *builder, bool cuts)
{
    if (cuts) {
        builder_flush(builder);
    }
    launch_history_end_span(&builder->launches);
    return builder_end_block(builder);
}

static struct engine_program write_blocks(struct builder *builder,
                                          const struct schedule_order *order)
{
    const bool cuts = builder->context->actions != NULL;
    struct arena *arena = builder->context->arena;
    const struct engine_block **row = arena_array(arena, order->count + 2, sizeof *row);
    begin_background(builder);
    begin_step(builder);
    row[0] = end_block(builder, cuts);
    for (uint64_t i = 0; i < order->count; i++) {
        row[1 + i] = written_action(builder, &order->actions[i], cuts);
    }
    messages_finish(builder);
    ends_deferred_heads(builder);
    finish_gradients(builder);
    update_parameters(builder);
    write_checkpoint(builder);
    end_background(builder);
    wait_for_stragglers(builder);
    row[1 + order->count] = end_block(builder, true);
    return engine_program_of(arena, row, (uint32_t)order->count + 2);
}

static void note_actions(const struct builder *builder, const struct schedule_order *order,
                         const struct engine_program *program)
{
    struct program_actions *actions = builder->context->actions;
    const uint32_t count = program->counts[STREAM_COMPUTE];
    if (actions == NULL) {
        return;
    }
    uint32_t *action_of = arena_array(builder->context->arena, count, sizeof *action_of);
    for (uint32_t block = 0; block < program->block_count; block++) {
        const bool is_action = block > 0 && block <= order->count;
        for (uint32_t i = program->firsts[block][STREAM_COMPUTE];
             i < program->firsts[block + 1][STREAM_COMPUTE]; i++) {
            action_of[i] = is_action ? block - 1 : PROGRAM_NO_ACTION;
        }
    }
    sim_assert(!builder->context->counts_work || builder->amounts.count == count);
    actions[builder->stage] =
        (struct program_actions){*order, action_of, count, builder->amounts.items};
}

struct engine_program program_build(const struct program_context *context, uint32_t stage)
{
    const struct program_job *job = context->job;
    const struct schedule_order order = written_order(context, stage);
    const enum precision precision = job->precision;
    const struct software *software = job->software;
    struct builder builder = {
        .context = context,
        .job = job,
        .stage = stage,
        .rows_sent = context->routing->exchange_rows,
        .gather_bytes = job->parallel->has_quantized_weights
                            ? zeropp_weight_bytes(software)
                            : software_gather_bytes(software, precision),
        .sequence_bytes = software_activation_gather_bytes(software, precision),
        .dispatch_bytes = software_dispatch_bytes(software, precision),
        .combine_bytes = software_combine_bytes(software, precision),
    };
    begin_builder(&builder, &order);
    const struct engine_program program = write_blocks(&builder, &order);
    note_actions(&builder, &order, &program);
    if (context->host_wait_ns != NULL) {
        context->host_wait_ns[stage] = builder.host_wait_ns;
    }
    return program;
}
