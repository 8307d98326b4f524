/* A program while it is being written: its task lists, and the compute work not yet
 * written as a task. For train/program and its parts only.
 */
#ifndef TRAIN_PROGRAM_BUILDER_H
#define TRAIN_PROGRAM_BUILDER_H

#include "train/metrics.h"
#include "train/program.h"

struct task_list {
    struct task *tasks;
    size_t count;
    size_t capacity;
};

/* Parameters that one kind of group shards and reduces (train/program_shards). */
enum shard_kind { SHARD_DENSE, SHARD_EXPERTS, SHARD_COUNT_ };

struct shards {
    enum stream gather, reduce;
    const struct group_shape *group;
    double layer[2];          /* parameters of a layer: [0] dense, [1] with experts */
    double stage;             /* of all layers, and of embedding, head and norms */
    double edge;              /* of embedding, head and norms alone */
    double pending_bytes;     /* gradients produced, not yet in a bucket's reduction */
    uint32_t *layer_gathered; /* zero 1, 2 with overlap: gathers needed before each layer */
};

struct builder {
    const struct program_context *context;
    const struct scenario *scenario;
    uint32_t stage;
    struct task_list lists[STREAM_COUNT_];
    struct task next; /* the compute task being filled: cause, work, waits */
    bool has_work;
    uint32_t needed[STREAM_COUNT_]; /* what compute has waited for already */
    struct shards shards[SHARD_COUNT_];
};

/* How many tasks a stream has so far. */
uint32_t builder_emitted(const struct builder *builder, enum stream stream);

/* Writes the compute task being filled, if there is anything in it. */
void builder_flush(struct builder *builder);

void builder_work(struct builder *builder, enum cause cause, struct work work);
void builder_segment(struct builder *builder, enum cause cause, enum segment_kind kind);

/* What comes next on the compute stream waits until `ended` tasks of a stream have ended;
 * or until all have that were emitted so far. */
void builder_need_at(struct builder *builder, enum stream stream, uint32_t ended);
void builder_need(struct builder *builder, enum stream stream);

/* A communication task. It waits for all compute emitted so far; receives are posted early. */
void builder_emit(struct builder *builder, enum stream stream, enum task_kind kind,
                  uint32_t transfer);

/* Nothing in a group of one. */
void builder_collective(struct builder *builder, enum stream stream,
                        const struct group_shape *group, enum collective_operation operation,
                        double bytes);

/* `bytes` that are not part of a collective, on that path of their channel, whose latency they
 * have. */
uint32_t builder_plain(struct builder *builder, enum stream stream, uint32_t path, double bytes);

double builder_element_bytes(const struct builder *builder);
double builder_gradient_bytes(const struct builder *builder);

/* Tokens of a microbatch on one rank, of all its tensor-parallel peers together, and their
 * activations between layers. */
int64_t builder_tokens(const struct builder *builder);
double builder_activation_bytes(const struct builder *builder);

/* Which chunk of the model, in model order, and its layers. */
uint32_t builder_piece(const struct builder *builder, uint32_t chunk);
uint32_t builder_layers(const struct builder *builder, uint32_t chunk);

#endif
