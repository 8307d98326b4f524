/* A program while it is being written: the tasks of the block being written, and the compute work
 * not yet written as a task, which may lie in a later block. For train/program/program and its
 * parts only.
 *
 * Until its end a block's waits are counted from the beginning of the program. What is emitted goes
 * straight to the lists, or, between builder_begin_half and
 * builder_end_halves, into a list of one of two halves that are woven together afterwards.
 * Counts of tasks (builder_emitted, builder_need_at) mean the same in both: inside a lane they go
 * on from what the stream had before, as if the lane alone were emitted.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_BUILDER_H
#define TRAIN_PROGRAM_PROGRAM_BUILDER_H

#include "train/launch_history.h"
#include "train/metrics.h"
#include "train/program/program.h"
#include "train/program/program_lanes.h"

struct task_list {
    struct task *tasks;
    size_t count;
    size_t capacity;
};

/* Of a program's compute tasks, in their order. */
struct amount_list {
    struct work_amount *items;
    size_t count;
    size_t capacity;
};

/* Parameters that one kind of group shards and reduces (train/program/program_shards). */
enum shard_kind { SHARD_DENSE, SHARD_EXPERTS, SHARD_COUNT_ };

/* Parameters of a part of the model: all, and those that are trained (lora: few). */
struct shard_size {
    double all;
    double trained;
};

struct shards {
    enum stream gather, reduce;
    enum stream sum; /* HSDP: of shards over the replicas */
    const struct group_shape *group;
    const struct group_shape *replica;
    struct shard_size layer[LAYER_KINDS_MAX];
    struct layer_tensors tensors[LAYER_KINDS_MAX]; /* that these parameters of a layer lie in */
    struct shard_size stage;  /* of all layers, and of embedding, head and norms */
    struct shard_size edge;   /* of embedding, head, norms and MTP alone */
    double pending_bytes;     /* gradients produced, not yet in a bucket's reduction */
    double pending_s;         /* that the framework spends before these are reduced */
    double pending_sum_bytes; /* of a rank's shard, reduced and not yet summed over the replicas */
    struct task_wait queue_end; /* software.fsdp.one_queue: the collective emitted last */
    uint32_t *layer_gathered;   /* zero 1, 2 with overlap: gathers needed before each layer */
};

/* A chunk of this stage. */
struct chunk_state {
    uint32_t piece;        /* in model order */
    int64_t first_layer;   /* of the model */
    uint32_t before;       /* layers of this stage in chunks before it */
    uint32_t forwards;     /* emitted so far */
    uint32_t input_grads;  /* backwards emitted so far */
    uint32_t weight_grads; /* of those, weight gradients too */
    uint32_t microbatches; /* that go through it */
    uint32_t in_order;     /* of [i]: the chunk that is i-th in the order of the model */
    uint32_t look;         /* as what actions see of it: train/program/program_written */
};

struct builder {
    const struct program_context *context;
    const struct program_job *job;
    uint32_t stage;
    uint32_t firsts[STREAM_COUNT_];        /* tasks of each stream before the block */
    struct task_list lists[STREAM_COUNT_]; /* of the block */
    uint32_t asked; /* streams of whose tasks before the block something depended, a set */
    /* Of a layer being written (train/program/program_layers), the same: */
    const uint32_t *layer_firsts; /* NULL: none is */
    uint32_t layer_asked;
    struct layer_writing *writing;
    struct layer_table *layers; /* of the job; NULL: each is emitted */
    struct task next;           /* the compute task being filled: cause, work, waits */
    struct work_amount next_amount;
    struct amount_list amounts; /* where they are counted */
    bool has_work;
    struct launch_history launches; /* the host's, as of the last work emitted */
    int64_t host_wait_ns;           /* of all launches until then */
    uint32_t needed[STREAM_COUNT_]; /* what compute has waited for already */
    struct shards shards[SHARD_COUNT_];
    const int64_t *first_layers; /* [pieces + 1]: of the model, by piece; behind it how many */
    struct chunk_state *chunks;  /* [virtual_stages] */
    struct messages *messages;   /* train/program/program_messages */
    struct offloaded *offloaded; /* train/program/program_offload */
    double rows_sent;            /* to experts, over those routed: below 1 when some are dropped */
    double gather_bytes;         /* of a parameter of a layer, gathered */
    double sequence_bytes;       /* of a hidden value, gathered in front of a linear layer */
    double dispatch_bytes;       /* of a value on its way to an expert, and back */
    double combine_bytes;
    int64_t deferred_heads; /* weight gradients of the head that are still to come */
    struct lanes lanes;
};

/* How many tasks a stream has so far. */
uint32_t builder_emitted(const struct builder *builder, enum stream stream);

/* The compute task being filled; counts of tasks are back from now. Without gaps, to be compared as
 * memory. */
struct builder_next {
    int64_t work_ns;
    uint32_t launch_ns, cause, has_work;
    uint32_t wait_count, wait_stream[ENGINE_WAITS_MAX];
    int32_t wait_ended[ENGINE_WAITS_MAX];
};
struct builder_next builder_note_next(const struct builder *builder);
void builder_restore_next(struct builder *builder, const struct builder_next *next);

/* Of the tasks that a stream has so far. */
enum builder_before { BEFORE_NONE, BEFORE_NEEDED, BEFORE_LEFT };
enum builder_before builder_before_of(uint32_t emitted, uint32_t needed);
enum builder_before builder_before(const struct builder *builder, enum stream stream);

/* A task with its waits counted from `firsts` on, and back. */
static inline struct task builder_count_from(const uint32_t firsts[STREAM_COUNT_], struct task task)
{
    for (uint32_t i = 0; i < task.wait_count; i++) {
        task.wait_ended[i] -= (int32_t)firsts[task.wait_stream[i]];
    }
    return task;
}
static inline struct task builder_count_forward(const uint32_t firsts[STREAM_COUNT_],
                                                struct task task)
{
    for (uint32_t i = 0; i < task.wait_count; i++) {
        task.wait_ended[i] += (int32_t)firsts[task.wait_stream[i]];
    }
    return task;
}

/* Room for so many tasks more of a stream, which are then there. */
struct task *builder_append_room(struct builder *builder, enum stream stream, uint32_t count);

/* Ends the block, and begins the next one. */
const struct engine_block *builder_end_block(struct builder *builder);

/* Writes the compute task being filled, if there is anything in it. */
void builder_flush(struct builder *builder);

/* What is emitted from here on is half `number` of a pair (train/program/program_lanes), 0, then
 * 1; and both are emitted, woven together. */
void builder_begin_half(struct builder *builder, uint32_t number);
void builder_end_halves(struct builder *builder);

/* With what the GPU waits for its launches. */
void builder_work(struct builder *builder, enum cause cause, struct work work);
/* `kind` of layer; of segments outside layers: any. */
void builder_segment(struct builder *builder, enum cause cause, uint32_t kind,
                     enum segment_kind segment);
/* One of `count` equal parts, which sum exactly to the whole. */
struct segment_part {
    uint32_t number, count;
};
void builder_segment_part(struct builder *builder, enum cause cause, uint32_t kind,
                          enum segment_kind segment, struct segment_part part);

/* What comes next on the compute stream waits until `ended` tasks of a stream have ended;
 * or until all have that were emitted so far. */
void builder_need_at(struct builder *builder, enum stream stream, uint32_t ended);
void builder_need(struct builder *builder, enum stream stream);

/* A communication task. It waits for all compute emitted so far; receives are posted early.
 * `after`: and until so many tasks of another stream have ended. */
void builder_emit(struct builder *builder, enum stream stream, enum task_kind kind,
                  uint32_t transfer);
void builder_emit_after(struct builder *builder, enum stream stream, uint32_t transfer,
                        struct task_wait after);

/* Nothing in a group of one. */
void builder_collective(struct builder *builder, enum stream stream,
                        const struct group_shape *group, enum collective_operation operation,
                        double bytes);

/* As several calls, one after the other. */
void builder_collective_wish(struct builder *builder, enum stream stream,
                             const struct group_shape *group, const struct transfer_wish *wish,
                             struct task_wait after);

/* `bytes` that are not part of a collective, on that path of their channel, whose latency they
 * have. */
uint32_t builder_plain(struct builder *builder, enum stream stream, uint32_t path, double bytes);
/* As above, written as a task of its stream. */
void builder_move(struct builder *builder, enum stream stream, uint32_t path, double bytes);

double builder_element_bytes(const struct builder *builder);
/* Of a value that layers of the kind send: `low_bytes`, or all it has where they are in 16 bits. */
double builder_sent_bytes(const struct builder *builder, uint32_t kind, double low_bytes);
double builder_gradient_bytes(const struct builder *builder);

/* Tokens of a microbatch on one rank, of all its tensor-parallel peers together, and their
 * activations after a layer of that kind: values, and bytes of them. */
double builder_tokens(const struct builder *builder, uint32_t kind);
double builder_activations(const struct builder *builder, uint32_t kind);
double builder_activation_bytes(const struct builder *builder, uint32_t kind);

/* Which chunk of the model, in model order, and how many layers it has. */
uint32_t builder_piece(const struct builder *builder, uint32_t chunk);
uint32_t builder_layers(const struct builder *builder, uint32_t chunk);
/* The kind of layer `index` of a chunk. */
uint32_t builder_kind(const struct builder *builder, uint32_t chunk, uint32_t index);
/* The kind of the model's last layer: what head and loss see. */
uint32_t builder_last_kind(const struct builder *builder);

/* Whether the chunk has the embedding, or the head. */
bool builder_is_first(const struct builder *builder, uint32_t chunk);
bool builder_is_last(const struct builder *builder, uint32_t chunk);

/* Whether a chunk's weight gradients are those of its last microbatch. To be asked after
 * weight_grads has been counted. */
bool builder_ends_gradients(const struct builder *builder, uint32_t chunk);

#endif
