/* A table of actions by their keys and what the builder was like; of one there may be several,
 * which differ in what they asked about before them or in their launches. Keys and states are made
 * of numbers of one size, so that they have no gaps and are compared as memory.
 */
#include "train/program/program_written.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/job/parallel.h"
#include "train/program/program_action.h"
#include "train/program/program_layers.h"
#include "train/program/program_messages.h"
#include "train/program/program_offload.h"
#include "train/program/program_shards.h"

#include <string.h>

/* ---- what an action depends on -------------------------------------------------------------- */

/* What actions see of a chunk. */
struct look {
    double edges[SHARD_COUNT_]; /* parameters */
    struct messages_ends ends[2];
    uint32_t is_first, is_last;
    uint32_t offloaded; /* layers */
    uint32_t layers;
    const uint32_t *kinds;
};

/* A forward, a backward or weight gradients of a microbatch through a chunk. */
struct part_key {
    uint32_t look;
    uint32_t walk;      /* layer_walk_key */
    uint32_t gathered;  /* first gathers that its layers wait for: their number, plus 1 */
    uint32_t are_last;  /* gradients */
    uint32_t offloaded; /* tasks of STREAM_OFFLOAD since its forward */
    struct messages_key messages;
};

struct action_key {
    uint32_t operation;
    struct part_key parts[2];
};

/* What else it finds in the builder, or leaves there: counts of tasks back from now. */
struct builder_state {
    struct builder_next next;
    uint64_t pending[SHARD_COUNT_][3]; /* doubles, to the bit */
    uint32_t queue_stream[SHARD_COUNT_];
    uint32_t queue_ended[SHARD_COUNT_];
    uint64_t defers_heads; /* as wide as the widest: no gap behind it */
};

/* What is looked at of many comes first. */
struct written {
    struct written *next;      /* of the same case, written before */
    struct written_case *then; /* that followed it last */
    uint32_t asked;
    uint8_t before[STREAM_COUNT_]; /* of those asked */
    struct launch_passage passage;
    const struct engine_block *block;
    uint32_t needs; /* streams of which it needs more than was needed before */
    uint32_t needed[STREAM_COUNT_];
    int64_t deferred_heads; /* that it adds */
    struct builder_state left;
};

/* Actions that are alike up to what they asked about before them and to their launches. */
struct written_case {
    struct action_key key;
    struct builder_state found;
    uint64_t hash;
    struct written *first;
    struct written_case *next; /* of the same place in the table */
};

enum { PLACES = 1024 };

struct program_written {
    struct launch_spans spans;
    struct look *looks;
    size_t look_count, look_capacity;
    struct gathers {
        const uint32_t *numbers;
        uint32_t count;
    } * gathers;
    size_t gathers_count, gathers_capacity;
    struct written_case *places[PLACES];
    struct written *last;          /* of the stage being written; NULL: none yet */
    struct schedule_order *orders; /* of the stages asked for */
    struct layer_table layers;
};

struct program_written *program_written_new(struct arena *arena)
{
    return arena_alloc(arena, sizeof(struct program_written));
}

struct launch_spans *written_spans(struct program_written *written)
{
    return &written->spans;
}

struct layer_table *written_layers(struct program_written *written)
{
    return &written->layers;
}

struct schedule_order written_order(const struct program_context *context, uint32_t stage)
{
    struct program_written *written = context->written;
    const struct schedule_shape shape =
        schedule_shape_of(context->job->parallel, context->job->batch);
    if (written == NULL) {
        return schedule_order(context->arena, &shape, stage);
    }
    if (written->orders == NULL) {
        written->orders = arena_array(context->arena, shape.stages, sizeof *written->orders);
    }
    if (written->orders[stage].count == 0) {
        written->orders[stage] = schedule_order(context->arena, &shape, stage);
    }
    return written->orders[stage];
}

/* ---- looks ---------------------------------------------------------------------------------- */

static bool is_same_look(const struct look *a, const struct look *b)
{
    return memcmp(a, b, offsetof(struct look, kinds)) == 0 &&
           memcmp(a->kinds, b->kinds, a->layers * sizeof *a->kinds) == 0;
}

static uint32_t look_of(struct builder *builder, uint32_t chunk)
{
    struct program_written *written = builder->context->written;
    struct arena *arena = builder->context->arena;
    struct look look;
    memset(&look, 0, sizeof look);
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        look.edges[kind] = builder->shards[kind].edge.all;
    }
    for (uint32_t i = 0; i < 2; i++) {
        look.ends[i] = messages_ends(builder, chunk, i == 0);
    }
    look.is_first = builder_is_first(builder, chunk);
    look.is_last = builder_is_last(builder, chunk);
    look.offloaded = offload_layers(builder, chunk);
    look.layers = builder_layers(builder, chunk);
    uint32_t *kinds = arena_array(arena, look.layers, sizeof *kinds);
    for (uint32_t i = 0; i < look.layers; i++) {
        kinds[i] = builder_kind(builder, chunk, i);
    }
    look.kinds = kinds;
    for (size_t i = 0; i < written->look_count; i++) {
        if (is_same_look(&written->looks[i], &look)) {
            return (uint32_t)i;
        }
    }
    written->looks = arena_grow(arena, written->looks, &written->look_capacity,
                                written->look_count + 1, sizeof *written->looks);
    written->looks[written->look_count] = look;
    return (uint32_t)written->look_count++;
}

void written_begin(struct builder *builder)
{
    const uint32_t chunks = (uint32_t)builder->job->parallel->virtual_stages;
    struct program_written *written = builder->context->written;
    for (uint32_t chunk = 0; written != NULL && chunk < chunks; chunk++) {
        builder->chunks[chunk].look = look_of(builder, chunk);
    }
    if (written != NULL) {
        written->last = NULL;
    }
}

/* ---- keys ----------------------------------------------------------------------------------- */

/* For which first gathers the layers of a chunk wait. */
static uint32_t gathers_of(struct builder *builder, uint32_t chunk)
{
    struct program_written *written = builder->context->written;
    struct arena *arena = builder->context->arena;
    const uint32_t layers = builder_layers(builder, chunk);
    const uint32_t count = SHARDS_NEED_NUMBERS(layers);
    uint32_t *numbers = arena_array(arena, count, sizeof *numbers);
    shards_need_key(builder, builder->chunks[chunk].before, layers, numbers);
    for (size_t i = 0; i < written->gathers_count; i++) {
        if (written->gathers[i].count == count &&
            memcmp(written->gathers[i].numbers, numbers, count * sizeof *numbers) == 0) {
            return (uint32_t)i + 1;
        }
    }
    written->gathers = arena_grow(arena, written->gathers, &written->gathers_capacity,
                                  written->gathers_count + 1, sizeof *written->gathers);
    written->gathers[written->gathers_count] = (struct gathers){numbers, count};
    return (uint32_t)++written->gathers_count;
}

struct part {
    uint32_t chunk, microbatch;
    bool is_forward;
    bool has_weights; /* gradients of weights come of it */
};

/* The parts of an action, in order. */
static uint32_t parts_of(const struct schedule_action *action, struct part parts[2])
{
    const uint32_t operation = action->operation;
    const bool is_pair = operation == SCHEDULE_PAIR;
    parts[0] =
        (struct part){action->chunk, action->microbatch, operation == SCHEDULE_FORWARD || is_pair,
                      operation == SCHEDULE_BACKWARD || operation == SCHEDULE_WEIGHTS};
    parts[1] = (struct part){action->backward_chunk, action->backward_microbatch, false, true};
    return is_pair ? 2 : 1;
}

/* Counts a part that has been put into the program. */
static void count_part(struct builder *builder, const struct part *part, uint32_t operation)
{
    struct chunk_state *state = &builder->chunks[part->chunk];
    state->forwards += part->is_forward;
    state->input_grads += !part->is_forward && operation != SCHEDULE_WEIGHTS;
    state->weight_grads += part->has_weights;
}

static bool key_of_part(struct builder *builder, uint32_t operation, const struct part *part,
                        const struct messages_key *with, struct part_key *key)
{
    const struct chunk_state *state = &builder->chunks[part->chunk];
    key->look = state->look;
    key->are_last = part->has_weights && state->weight_grads + 1 == state->microbatches;
    if (operation == SCHEDULE_WEIGHTS) {
        return true;
    }
    key->walk = layer_walk_key(builder, part->chunk, !part->is_forward);
    if (part->is_forward && state->forwards == 0 && shards_gather_ahead(builder)) {
        key->gathered = gathers_of(builder, part->chunk);
    }
    if (!part->is_forward && builder->context->written->looks[state->look].offloaded > 0) {
        key->offloaded = builder_emitted(builder, STREAM_OFFLOAD) -
                         offload_begun(builder, part->chunk, part->microbatch);
    }
    return messages_key(builder, part->chunk, part->microbatch, part->is_forward, with,
                        &key->messages);
}

/* The second part of a pair finds the first one counted. */
static bool key_of(struct builder *builder, const struct schedule_action *action,
                   struct action_key *key)
{
    struct part parts[2];
    const uint32_t operation = action->operation;
    memset(key, 0, sizeof *key);
    key->operation = operation;
    const uint32_t count = parts_of(action, parts);
    if (!key_of_part(builder, operation, &parts[0], NULL, &key->parts[0])) {
        return false;
    }
    if (count == 1) {
        return true;
    }
    struct chunk_state *first = &builder->chunks[parts[0].chunk];
    first->forwards++;
    const bool has_key =
        key_of_part(builder, operation, &parts[1], &key->parts[0].messages, &key->parts[1]);
    first->forwards--;
    return has_key;
}

/* ---- the builder's state -------------------------------------------------------------------- */

static bool defers_heads(const struct builder *builder)
{
    return builder->deferred_heads < builder->job->parallel->deferred_heads;
}

static uint64_t bits_of(double number)
{
    uint64_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static double number_of(uint64_t bits)
{
    double number = 0;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static void note_state(const struct builder *builder, struct builder_state *state)
{
    memset(state, 0, sizeof *state);
    state->next = builder_note_next(builder);
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        const struct shards *shards = &builder->shards[kind];
        state->pending[kind][0] = bits_of(shards->pending_bytes);
        state->pending[kind][1] = bits_of(shards->pending_s);
        state->pending[kind][2] = bits_of(shards->pending_sum_bytes);
        if (shards->queue_end.ended > 0 && builder->job->software->fsdp_is_one_queue) {
            const enum stream stream = (enum stream)shards->queue_end.stream;
            state->queue_stream[kind] = stream;
            state->queue_ended[kind] = builder_emitted(builder, stream) - shards->queue_end.ended;
        }
    }
    state->defers_heads = defers_heads(builder);
}

static void restore_state(struct builder *builder, const struct builder_state *state)
{
    builder_restore_next(builder, &state->next);
    for (uint32_t kind = 0; kind < SHARD_COUNT_; kind++) {
        struct shards *shards = &builder->shards[kind];
        const uint32_t stream = state->queue_stream[kind];
        shards->pending_bytes = number_of(state->pending[kind][0]);
        shards->pending_s = number_of(state->pending[kind][1]);
        shards->pending_sum_bytes = number_of(state->pending[kind][2]);
        shards->queue_end =
            stream == 0
                ? (struct task_wait){0, 0}
                : (struct task_wait){stream, builder->firsts[stream] - state->queue_ended[kind]};
    }
}

static bool finds_the_same(const struct builder *builder, const struct written *written)
{
    for (uint32_t s = 0; written->asked >> s != 0; s++) {
        if ((written->asked >> s & 1) != 0 &&
            written->before[s] != (uint8_t)builder_before(builder, (enum stream)s)) {
            return false;
        }
    }
    return true;
}

/* Cheap, since each action asks: what has the same hash is compared. */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size_bytes)
{
    static const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    const unsigned char *next = bytes;
    for (; size_bytes >= sizeof hash; size_bytes -= sizeof hash, next += sizeof hash) {
        uint64_t number;
        memcpy(&number, next, sizeof number);
        hash = (hash ^ number) * odd;
    }
    uint64_t rest = 0;
    memcpy(&rest, next, size_bytes);
    return (hash ^ rest) * odd >> 32;
}

static uint64_t hash_of(const struct action_key *key, const struct builder_state *found)
{
    return hash_bytes(hash_bytes(0, key, sizeof *key), found, sizeof *found);
}

/* ---- an action ------------------------------------------------------------------------------ */

/* The block again, between two actions. */
static void refer(struct builder *builder, const struct action_key *key,
                  const struct written *written, const struct schedule_action *action)
{
    struct part parts[2];
    const uint32_t count = parts_of(action, parts);
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i].is_forward) {
            offload_begin(builder, parts[i].chunk, parts[i].microbatch);
        }
        count_part(builder, &parts[i], action->operation);
        messages_pass(builder, &key->parts[i].messages);
    }
    for (uint32_t s = 0; written->needs >> s != 0; s++) {
        if ((written->needs >> s & 1) != 0) {
            builder->needed[s] = builder->firsts[s] + written->needed[s];
        }
    }
    const uint32_t *counts = written->block->counts;
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        builder->firsts[s] += counts[s];
    }
    builder->deferred_heads += written->deferred_heads;
    builder->host_wait_ns += written->passage.wait_ns;
    restore_state(builder, &written->left);
}

static void emit(struct builder *builder, const struct schedule_action *action, bool cuts,
                 struct written *written)
{
    const int64_t deferred_heads = builder->deferred_heads;
    uint32_t firsts[STREAM_COUNT_];
    uint32_t needed[STREAM_COUNT_];
    memcpy(firsts, builder->firsts, sizeof firsts);
    memcpy(needed, builder->needed, sizeof needed);
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        written->before[s] = (uint8_t)builder_before(builder, (enum stream)s);
    }
    builder->asked = 0;
    action_emit(builder, action);
    if (cuts) {
        builder_flush(builder);
    }
    written->asked = builder->asked;
    written->deferred_heads = builder->deferred_heads - deferred_heads;
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        if (builder->needed[s] != needed[s]) {
            written->needs |= 1U << s;
            written->needed[s] = builder->needed[s] - firsts[s];
        }
    }
    written->passage = launch_history_end_span(&builder->launches);
    written->block = builder_end_block(builder);
    note_state(builder, &written->left);
}

static bool is_case(const struct written_case *item, const struct action_key *key,
                    const struct builder_state *found)
{
    return memcmp(&item->key, key, sizeof *key) == 0 &&
           memcmp(&item->found, found, sizeof *found) == 0;
}

/* A new one if there was none. */
static struct written_case *look_up(struct builder *builder, const struct action_key *key,
                                    const struct builder_state *found)
{
    const uint64_t hash = hash_of(key, found);
    struct written_case **place = &builder->context->written->places[hash % PLACES];
    struct written_case *item = *place;
    while (item != NULL && !(item->hash == hash && is_case(item, key, found))) {
        item = item->next;
    }
    if (item == NULL) {
        item = arena_alloc(builder->context->arena, sizeof *item);
        *item = (struct written_case){.key = *key, .found = *found, .hash = hash, .next = *place};
        *place = item;
    }
    return item;
}

/* Mostly what followed the last time on what was written last. */
static struct written_case *case_of(struct builder *builder, const struct action_key *key)
{
    struct written *last = builder->context->written->last;
    struct builder_state found;
    note_state(builder, &found);
    if (last != NULL && last->then != NULL && is_case(last->then, key, &found)) {
        return last->then;
    }
    struct written_case *item = look_up(builder, key, &found);
    if (last != NULL) {
        last->then = item;
    }
    return item;
}

const struct engine_block *written_action(struct builder *builder,
                                          const struct schedule_action *action, bool cuts)
{
    struct program_written *all = builder->context->written;
    struct action_key key;
    struct written_case *same = NULL;
    if (all != NULL && key_of(builder, action, &key)) {
        same = case_of(builder, &key);
    }
    for (struct written *next = same != NULL ? same->first : NULL; next != NULL;
         next = next->next) {
        if (finds_the_same(builder, next) &&
            launch_history_pass(&builder->launches, &next->passage)) {
            refer(builder, &key, next, action);
            all->last = next;
            return next->block;
        }
    }
    struct written *written = arena_alloc(builder->context->arena, sizeof *written);
    emit(builder, action, cuts, written);
    if (same != NULL) {
        written->next = same->first;
        same->first = written;
    }
    if (all != NULL) {
        all->last = written;
    }
    return written->block;
}
