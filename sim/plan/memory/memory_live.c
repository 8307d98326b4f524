/* A walk over the actions of a stage's order, with a running sum of what is kept.
 *
 * Every chunk has a few sums: what its forward leaves, what stays after its input gradients,
 * and what the action that runs needs on top. The turn of a microbatch (loss) is
 * the forward of the last piece, where the logits and copies of them live, which
 * its own backward pass frees first. Cost: O(actions of a stage).
 *
 * A forward beside a backward whose experts overlap (parallel.overlap_experts) goes layer by layer,
 * the backward frees a layer for each that the forward adds (TransformerModelChunkSchedulePlan.run
 * in megatron/core/models/common/model_chunk_schedule_plan.py of
 * https://github.com/NVIDIA/Megatron-LM): one layer more is alive, not a chunk. The pairs of
 * DualPipe count as its paper counts them, the forward first.
 */
#include "plan/memory/memory_live.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/ledger.h"
#include "input/job/lora.h"
#include "input/job/optimizer.h"
#include "input/job/parallel.h"
#include "plan/cost.h"
#include "plan/loss.h"
#include "plan/memory/memory_layer.h"
#include "plan/memory/memory_parameters.h"
#include "plan/schedule/schedule.h"
#include "input/layout.h"

const char *const memory_moment_names[MEMORY_MOMENT_COUNT_] = {"forward", "loss", "backward",
                                                               "weight gradients"};

/* ---- what a chunk keeps ------------------------------------------------------ */

struct chunk {
    double layers;     /* kept of its layers per microbatch */
    double late;       /* between input and weight gradients */
    double embedding;  /* of the first piece */
    double head;       /* of the last: what the final norm keeps until the head's backward */
    double loss;       /* and what the loss does, logits */
    double turning;    /* on top while the loss is computed */
    double recomputed; /* on top during the backward, of the layer where both are most */
    double working;
    double forward;   /* on top during the forward, of the layer that needs most */
    double gradients; /* whole, of all microbatches, until they are reduced */
    double received;  /* by a buffer of each microbatch, and its gradient */
    double returned;  /* logits of a microbatch, until the step ends */
    double sent;      /* or a tensor for the next stage */
    double host;      /* kept on the host per microbatch */
    int64_t count;    /* layers */
};

/* The mask of the embedding's dropout, a byte an element (Korthikanti et al. 2022, section 4.3). */
static double embedding_bytes(const struct memory_shape *shape)
{
    return shape->model->has_dropout
               ? memory_microbatch_tokens(shape) * (double)shape->model->hidden /
                     memory_sequence_parts(shape)
               : 0.0;
}

static struct loss_size loss_size_of(const struct memory_job *job)
{
    const struct memory_shape *shape = &job->shape;
    const int64_t ranks = job->software->loss.gathers_vocabulary ? 1 : shape->tp;
    return (struct loss_size){.tokens = (int64_t)memory_microbatch_tokens(shape),
                              .vocab = cost_padded_vocab(shape->model, shape->tp) / ranks,
                              .hidden = shape->model->hidden,
                              .element_bytes = shape->element_bytes,
                              .is_parallel = shape->keeps_gathered && ranks > 1};
}

/* What the loss keeps and what it has on top (plan/loss). The final norm keeps its input and
 * output, also where no head follows. An mtp layer has the same head again. */
static void find_head(const struct memory_job *job, struct ledger *ledger, struct chunk *chunk)
{
    const struct memory_shape *shape = &job->shape;
    const double ends = 1.0 + (double)shape->model->mtp_layers;
    const double heads = shape->model->is_headless ? 0.0 : ends;
    const double hidden = memory_hidden_bytes(shape);
    if (heads > 0) {
        const struct loss_size size = loss_size_of(job);
        const bool is_trained = job->split.lora->rank == 0;
        const int64_t columns = cost_padded_vocab(shape->model, shape->tp) / shape->tp;
        const double weights = (double)columns * (double)size.hidden;
        const struct loss_bytes of =
            loss_bytes_of(&job->software->loss, &size, is_trained ? weights : 0.0, ledger);
        chunk->loss = LEDGER_SUM(heads > 1 ? ledger : NULL, "of all heads", "GB", heads * of.kept,
                                 LEDGER_TERM(heads, "heads"), LEDGER_TERM(of.kept, "GB"));
        chunk->turning = of.turning;
        chunk->returned = job->software->memory.keeps_stage_outputs && job->split.parallel->pp > 1
                              ? heads * (double)(size.tokens * size.vocab) *
                                    loss_logit_bytes(&job->software->loss, size.element_bytes)
                              : 0.0;
    }
    /* What the head reads, as the ranks have it, or as they gathered it. */
    const bool is_whole = shape->keeps_gathered && heads > 0;
    const double parts = is_whole ? memory_sequence_parts(shape) : 1.0;
    chunk->head = LEDGER_SUM(ledger, "kept of the head", "GB", ends * (1 + parts) * hidden,
                             LEDGER_TERM(ends, "norms"), LEDGER_TERM(1 + parts, "tensors"),
                             LEDGER_TERM(hidden, "GB"));
}

/* Whether layer `number` of a chunk is recomputed whole. */
static bool is_full(const struct recompute *recompute, int64_t number)
{
    return recompute->kind == RECOMPUTE_FULL &&
           (recompute->layers == 0 || number < recompute->layers);
}

/* What a layer of the kind keeps that was asked for last: most of a model's are like the one
 * before. */
struct last_layer {
    const struct layer_kind *kind; /* NULL: none yet */
    bool is_full;
    struct memory_layer_bytes of;
};

static struct memory_layer_bytes bytes_of(const struct memory_shape *shape,
                                          const struct layer_kind *kind, bool full,
                                          struct last_layer *last)
{
    if (last->kind != kind || last->is_full != full) {
        *last = (struct last_layer){kind, full, memory_layer_of(shape, kind, full)};
    }
    return last->of;
}

static void add_layer(const struct memory_layer_bytes *of, bool offloaded, struct chunk *chunk)
{
    chunk->count++;
    chunk->late += of->late;
    if (offloaded) {
        chunk->host += of->kept;
    } else {
        chunk->layers += of->kept;
    }
    /* What comes back from the host is there while its layer goes backward, and the next one. */
    const double recomputed = of->recomputed + (offloaded ? 2.0 * of->kept : 0.0);
    if (recomputed + of->working > chunk->recomputed + chunk->working) {
        chunk->recomputed = recomputed;
        chunk->working = of->working;
    }
    chunk->forward = of->working > chunk->forward ? of->working : chunk->forward;
}

/* Gradients of the layer that goes backward, as they were written and as they are reduced, and what
 * the head's backward pass left, for the root's are reduced last. With zero 3 of a pipeline the
 * written ones are added to those of the microbatches before. */
static double fresh_gradients(const struct memory_job *job, int64_t stage)
{
    const struct parallel *parallel = job->split.parallel;
    if (!job->software->fsdp_keeps_root || parallel->zero < 3 || job->split.lora->rank > 0) {
        return 0.0;
    }
    const double written = (double)precision_bytes(job->precision);
    const double reduced = memory_shards_gradients(parallel, job->software)
                               ? state_bytes((enum state_format)job->optimizer->gradients)
                               : 0.0;
    return memory_largest_layer(&job->split, stage) * (written + reduced) +
           memory_stage_head(&job->split, stage) * written;
}

/* What passes between stages, where it stays: tensors, or their gradients. */
static void find_passed(const struct memory_job *job, int64_t piece, struct chunk *chunk)
{
    if (!job->software->memory.keeps_stage_outputs || job->split.parallel->pp == 1) {
        return;
    }
    const double hidden = memory_hidden_bytes(&job->shape);
    chunk->received = piece > 0 ? hidden : 0.0;
    chunk->sent = piece < layout_pieces(job->split.parallel) - 1 ? hidden : 0.0;
}

/* What goes from chunk to chunk of a stage. */
struct chunk_state {
    int64_t offloaded; /* layers that are still to be */
    struct last_layer last;
};

static struct chunk chunk_of(const struct memory_job *job, int64_t stage, int64_t number,
                             struct ledger *ledger, struct chunk_state *state)
{
    const struct parallel *parallel = job->split.parallel;
    const struct model *model = job->split.model;
    const int64_t piece = layout_piece(parallel, stage, number);
    const int64_t first = layout_first_layer(parallel, piece);
    struct chunk chunk = {0};
    for (int64_t i = 0; i < parallel->layers_per_chunk[piece]; i++) {
        const struct memory_layer_bytes of = bytes_of(&job->shape, model_layer(model, first + i),
                                                      is_full(job->recompute, i), &state->last);
        add_layer(&of, state->offloaded > 0, &chunk);
        state->offloaded -= state->offloaded > 0 ? 1 : 0;
    }
    if (piece == 0) {
        chunk.embedding = embedding_bytes(&job->shape);
    }
    if (piece == layout_pieces(parallel) - 1) {
        for (int64_t i = 0; i < model->mtp_layers; i++) {
            const bool full = job->recompute->kind == RECOMPUTE_FULL;
            const struct memory_layer_bytes of =
                bytes_of(&job->shape, &model->kinds[model->mtp_kind], full, &state->last);
            add_layer(&of, false, &chunk);
        }
        find_head(job, ledger, &chunk);
    }
    find_passed(job, piece, &chunk);
    chunk.working += fresh_gradients(job, stage);
    if (memory_frees_gradients(parallel, job->software)) {
        chunk.gradients = memory_piece_trained(&job->split, piece) *
                          state_bytes((enum state_format)job->optimizer->gradients);
    }
    return chunk;
}

/* ---- the walk ------------------------------------------------------------------ */

struct walk {
    const struct chunk *chunks;
    struct memory_peak now; /* what is alive; total_bytes without what an action needs on top */
    struct memory_peak peak;
    int64_t layers;
    double turning;   /* of the loss that is computed */
    double sends;     /* of pipeline messages */
    bool by_layer;    /* pairs go layer by layer */
    bool is_apart;    /* what layers needed forward is no room for the loss */
    uint32_t *passes; /* of each chunk: microbatches that it has; of dualpipe half of them */
    uint32_t *added;  /* of each chunk: microbatches whose gradients are summed */
    double most;      /* of the action under way, as the peak is of all */
};

/* All that is alive, without what an action needs on top. */
static double alive(const struct walk *walk)
{
    const struct memory_peak *now = &walk->now;
    return now->layers_bytes + now->embedding_bytes + now->head_bytes + now->loss_bytes +
           now->gradients_bytes + now->passed_bytes;
}

static void note(struct walk *walk, enum memory_moment moment, uint32_t chunk, uint32_t microbatch,
                 double recomputed, double working)
{
    struct memory_peak now = walk->now;
    now.loss_bytes += walk->turning;
    now.recomputed_bytes = recomputed;
    now.working_bytes = working + walk->sends;
    now.total_bytes = now.layers_bytes + now.embedding_bytes + now.head_bytes + now.loss_bytes +
                      now.gradients_bytes + now.passed_bytes + recomputed + now.working_bytes;
    walk->most = now.total_bytes > walk->most ? now.total_bytes : walk->most;
    now.moment = moment;
    now.chunk = chunk;
    now.microbatch = microbatch;
    walk->peak.layers_most =
        walk->layers > walk->peak.layers_most ? walk->layers : walk->peak.layers_most;
    if (now.total_bytes > walk->peak.total_bytes) {
        now.layers_most = walk->peak.layers_most;
        walk->peak = now;
    }
}

static void walk_forward(struct walk *walk, uint32_t number, uint32_t microbatch)
{
    const struct chunk *chunk = &walk->chunks[number];
    walk->layers += chunk->count;
    walk->now.layers_bytes += chunk->layers;
    walk->now.embedding_bytes += chunk->embedding;
    walk->now.head_bytes += chunk->head;
    walk->now.loss_bytes += chunk->loss + chunk->returned;
    /* The layers' first input lies in the buffer that it was received in. */
    walk->now.passed_bytes += chunk->sent - chunk->received;
    walk->turning = chunk->turning;
    const bool turns = chunk->head > 0;
    note(walk, turns ? MEMORY_AT_LOSS : MEMORY_AT_FORWARD, number, microbatch, 0.0,
         turns && walk->is_apart ? chunk->forward : 0.0);
    walk->turning = 0.0;
}

/* The first microbatch's are there when its backward pass ends, the last one's are reduced. */
static void add_gradients(struct walk *walk, uint32_t number)
{
    const struct chunk *chunk = &walk->chunks[number];
    walk->added[number]++;
    const bool is_first = walk->added[number] == 1;
    const bool is_last = walk->added[number] == walk->passes[number];
    walk->now.gradients_bytes +=
        (is_first ? chunk->gradients : 0.0) - (is_last ? chunk->gradients : 0.0);
}

static void walk_backward(struct walk *walk, uint32_t number, uint32_t microbatch, bool is_split)
{
    const struct chunk *chunk = &walk->chunks[number];
    walk->now.head_bytes -= chunk->head;
    walk->now.loss_bytes -= chunk->loss;
    note(walk, MEMORY_AT_BACKWARD, number, microbatch, chunk->recomputed, chunk->working);
    walk->layers -= chunk->count;
    walk->now.embedding_bytes -= chunk->embedding;
    walk->now.layers_bytes += (is_split ? chunk->late : 0.0) - chunk->layers;
    walk->now.passed_bytes += 2.0 * chunk->received; /* the buffer again, and the gradient */
    if (!is_split) {
        add_gradients(walk, number);
    }
}

static void walk_weights(struct walk *walk, uint32_t number, uint32_t microbatch)
{
    note(walk, MEMORY_AT_WEIGHTS, number, microbatch, 0.0, 0.0);
    walk->now.layers_bytes -= walk->chunks[number].late;
    add_gradients(walk, number);
}

/* From one layer of the forward beside all of the backward to the reverse; what is alive between is
 * between. ASSUMES: the layers of a chunk keep the same. */
static void walk_layers(struct walk *walk, const struct schedule_action *action)
{
    const struct chunk *forward = &walk->chunks[action->chunk];
    const double entering = forward->layers / (double)(forward->count > 0 ? forward->count : 1);
    walk->layers += 1;
    walk->now.layers_bytes += entering;
    walk_backward(walk, action->backward_chunk, action->backward_microbatch, false);
    walk->layers -= 1;
    walk->now.layers_bytes -= entering;
    walk_forward(walk, action->chunk, action->microbatch);
}

static void walk_action(struct walk *walk, const struct schedule_action *action)
{
    switch ((enum schedule_operation)action->operation) {
    case SCHEDULE_FORWARD:
        walk_forward(walk, action->chunk, action->microbatch);
        break;
    case SCHEDULE_BACKWARD:
        walk_backward(walk, action->chunk, action->microbatch, false);
        break;
    case SCHEDULE_BACKWARD_INPUT:
        walk_backward(walk, action->chunk, action->microbatch, true);
        break;
    case SCHEDULE_WEIGHTS:
        walk_weights(walk, action->chunk, action->microbatch);
        break;
    case SCHEDULE_PAIR:
        if (walk->by_layer) {
            walk_layers(walk, action);
            break;
        }
        walk_forward(walk, action->chunk, action->microbatch);
        walk_backward(walk, action->backward_chunk, action->backward_microbatch, false);
        break;
    }
}

static struct chunk *chunks_of(struct arena *arena, const struct memory_job *job, int64_t stage,
                               struct ledger *ledger)
{
    const int64_t count = job->split.parallel->virtual_stages;
    struct chunk *chunks = arena_array(arena, (size_t)count, sizeof *chunks);
    struct chunk_state state = {.offloaded = job->offload->activation_layers};
    for (int64_t i = 0; i < count; i++) {
        chunks[i] = chunk_of(job, stage, i, ledger, &state);
    }
    return chunks;
}

/* Before the first action. */
static struct walk walk_of(struct arena *arena, const struct memory_job *job, int64_t stage,
                           const struct schedule_order *order, struct ledger *ledger)
{
    const struct schedule_shape shape = schedule_shape_of(job->split.parallel, job->batch);
    const struct software_memory *memory = &job->software->memory;
    /* A hidden tensor comes in and one goes out. */
    const bool sends = shape.stages > 1 && !memory->keeps_stage_outputs;
    struct walk walk = {.chunks = chunks_of(arena, job, stage, ledger),
                        .by_layer = job->split.parallel->overlaps_experts,
                        .is_apart = memory->is_loss_apart,
                        .passes = arena_array(arena, shape.chunks, sizeof *walk.passes),
                        .added = arena_array(arena, shape.chunks, sizeof *walk.added),
                        .sends = sends ? 2.0 * memory_hidden_bytes(&job->shape) : 0.0};
    for (uint64_t i = 0; i < order->count; i++) {
        walk.passes[order->actions[i].chunk] += schedule_action_is_forward(&order->actions[i]);
    }
    for (uint32_t i = 0; i < shape.chunks; i++) {
        /* Of each microbatch a buffer of what comes, forward and backward. */
        walk.now.passed_bytes +=
            (double)walk.passes[i] * (walk.chunks[i].received + walk.chunks[i].sent);
    }
    return walk;
}

static struct schedule_order order_of(struct arena *arena, const struct memory_job *job,
                                      int64_t stage)
{
    const struct schedule_shape shape = schedule_shape_of(job->split.parallel, job->batch);
    return schedule_order(arena, &shape, (uint32_t)stage);
}

struct memory_peak memory_live_peak(struct arena *scratch, const struct memory_job *job,
                                    int64_t stage, struct ledger *ledger)
{
    const struct schedule_order order = order_of(scratch, job, stage);
    struct walk walk = walk_of(scratch, job, stage, &order, ledger);
    for (uint64_t i = 0; i < order.count; i++) {
        walk_action(&walk, &order.actions[i]);
    }
    sim_assert(walk.layers == 0);
    sim_assert(walk.peak.total_bytes >= 0);
    return walk.peak;
}

const struct memory_alive *memory_live_over_actions(struct arena *arena,
                                                    const struct memory_job *job, int64_t stage,
                                                    uint64_t *count)
{
    const struct schedule_order order = order_of(arena, job, stage);
    struct walk walk = walk_of(arena, job, stage, &order, NULL);
    struct memory_alive *items = arena_array(arena, order.count, sizeof *items);
    for (uint64_t i = 0; i < order.count; i++) {
        walk.most = 0;
        walk_action(&walk, &order.actions[i]);
        items[i] = (struct memory_alive){walk.most, alive(&walk)};
    }
    *count = order.count;
    return items;
}

double memory_live_host_bytes(struct arena *scratch, const struct memory_job *job, int64_t stage)
{
    if (job->offload->activation_layers == 0) {
        return 0.0;
    }
    const struct schedule_shape shape = schedule_shape_of(job->split.parallel, job->batch);
    const struct schedule_order order = schedule_order(scratch, &shape, (uint32_t)stage);
    const struct chunk *chunks = chunks_of(scratch, job, stage, NULL);
    int64_t *alive = arena_array(scratch, shape.chunks, sizeof *alive);
    double most = 0;
    for (uint32_t i = 0; i < shape.chunks; i++) {
        alive[i] = 1;
        most += chunks[i].host * (double)schedule_live(&shape, &order, alive, false);
        alive[i] = 0;
    }
    return most;
}
