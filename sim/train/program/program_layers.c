/* A list of layers, few of each key: those that differ in what the builder was like. */
#include "train/program/program_layers.h"

#include "base/arena.h"
#include "base/check.h"

#include <string.h>

/* Of one key, so many are kept: what comes again comes soon. */
enum { LAYERS_OF_KEY_MAX = 16 };

struct layer_written {
    uint32_t key;
    uint32_t asked;
    uint8_t before[STREAM_COUNT_]; /* of those asked: enum builder_before */
    struct builder_next found, left;
    uint32_t needs; /* streams of which more is needed than before, a set */
    uint32_t needed[STREAM_COUNT_];
    const struct task *tasks; /* stream by stream; waits from the layer's beginning */
    uint32_t counts[STREAM_COUNT_];
    uint8_t streams[STREAM_COUNT_]; /* that have tasks */
    uint32_t stream_count;
    struct launch_part launches;
};

struct layer_writing {
    struct layer_written layer;
    uint32_t firsts[STREAM_COUNT_]; /* tasks before the layer */
    uint32_t needed[STREAM_COUNT_];
};

uint32_t layers_key(uint32_t pass, enum cause cause, uint32_t kind, uint32_t options)
{
    sim_assert(pass < 4 && options < 4 && kind < LAYER_KINDS_MAX);
    return pass | options << 2 | (uint32_t)cause << 4 | kind << 12;
}

/* ---- copying ------------------------------------------------------------------------------ */

static bool finds_the_same(const struct builder *builder, const struct layer_written *layer,
                           const struct builder_next *found)
{
    if (memcmp(&layer->found, found, sizeof *found) != 0) {
        return false;
    }
    for (uint32_t s = 0; layer->asked >> s != 0; s++) {
        if ((layer->asked >> s & 1) != 0 &&
            layer->before[s] != (uint8_t)builder_before(builder, (enum stream)s)) {
            return false;
        }
    }
    return true;
}

/* Nothing is being recorded in lanes. */
static void count_emitted(const struct builder *builder, uint32_t firsts[STREAM_COUNT_])
{
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        firsts[s] = builder->firsts[s] + (uint32_t)builder->lists[s].count;
    }
}

static void copy_tasks(struct builder *builder, const struct layer_written *layer,
                       const uint32_t firsts[STREAM_COUNT_])
{
    const struct task *task = layer->tasks;
    for (uint32_t i = 0; i < layer->stream_count; i++) {
        const uint32_t stream = layer->streams[i];
        const uint32_t count = layer->counts[stream];
        struct task *copies = builder_append_room(builder, (enum stream)stream, count);
        for (uint32_t k = 0; k < count; k++) {
            copies[k] = builder_count_forward(firsts, *task++);
        }
    }
}

static void copy(struct builder *builder, const struct layer_written *layer)
{
    uint32_t firsts[STREAM_COUNT_];
    count_emitted(builder, firsts);
    for (uint32_t s = 0; (layer->asked | layer->needs) >> s != 0; s++) {
        if ((layer->asked >> s & 1) != 0 && firsts[s] == builder->firsts[s]) {
            builder->asked |= 1U << s;
        }
        if ((layer->needs >> s & 1) != 0) {
            builder->needed[s] = firsts[s] + layer->needed[s];
        }
    }
    copy_tasks(builder, layer, firsts);
    builder->host_wait_ns += layer->launches.wait_ns;
    builder_restore_next(builder, &layer->left);
}

/* ---- writing ------------------------------------------------------------------------------ */

static void begin_writing(struct builder *builder, uint32_t key, const struct builder_next *found)
{
    struct layer_writing *writing = arena_alloc(builder->context->arena, sizeof *writing);
    *writing = (struct layer_writing){.layer = {.key = key, .found = *found}};
    count_emitted(builder, writing->firsts);
    memcpy(writing->needed, builder->needed, sizeof writing->needed);
    builder->writing = writing;
    builder->layer_firsts = writing->firsts;
    builder->layer_asked = 0;
    launch_history_begin_part(&builder->launches);
}

bool layers_begin(struct builder *builder, uint32_t key)
{
    const struct layer_table *table = builder->layers;
    if (table == NULL || lanes_record(&builder->lanes)) {
        return false;
    }
    const struct builder_next found = builder_note_next(builder);
    uint32_t of_key = 0;
    for (size_t i = table->count; i-- > 0;) {
        const struct layer_written *layer = table->items[i];
        of_key += layer->key == key;
        if (layer->key == key && finds_the_same(builder, layer, &found) &&
            launch_history_skip(&builder->launches, &layer->launches)) {
            copy(builder, layer);
            return true;
        }
    }
    if (of_key < LAYERS_OF_KEY_MAX) {
        begin_writing(builder, key, &found);
    }
    return false;
}

static void note_tasks(struct builder *builder, struct layer_writing *writing)
{
    struct layer_written *layer = &writing->layer;
    size_t count = 0;
    layer->asked = builder->layer_asked;
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        layer->before[s] = (uint8_t)builder_before_of(writing->firsts[s], writing->needed[s]);
        layer->counts[s] =
            builder->firsts[s] + (uint32_t)builder->lists[s].count - writing->firsts[s];
        if (layer->counts[s] > 0) {
            layer->streams[layer->stream_count++] = (uint8_t)s;
            count += layer->counts[s];
        }
        if (builder->needed[s] != writing->needed[s]) {
            layer->needs |= 1U << s;
            layer->needed[s] = builder->needed[s] - writing->firsts[s];
        }
    }
    struct task *tasks = arena_room(builder->context->arena, count, sizeof *tasks);
    layer->tasks = tasks;
    for (uint32_t s = 0; s < STREAM_COUNT_; s++) {
        const struct task_list *list = &builder->lists[s];
        for (size_t i = list->count - layer->counts[s]; i < list->count; i++) {
            *tasks++ = builder_count_from(writing->firsts, list->tasks[i]);
        }
    }
}

void layers_end(struct builder *builder)
{
    struct layer_writing *writing = builder->writing;
    builder->writing = NULL;
    builder->layer_firsts = NULL;
    if (writing == NULL || !launch_history_end_part(&builder->launches, &writing->layer.launches)) {
        return;
    }
    note_tasks(builder, writing);
    writing->layer.left = builder_note_next(builder);
    struct layer_table *table = builder->layers;
    table->items = arena_grow(builder->context->arena, table->items, &table->capacity,
                              table->count + 1, sizeof *table->items);
    table->items[table->count++] = &writing->layer;
}
