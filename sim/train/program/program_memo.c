/* Two tables (base/memo). The first one's value is a number and a list of orders, of which each
 * makes one transfer; the second one's is all programs in one piece, in which blocks and rows are
 * numbers and tasks lie one block after the other: to be recalled, blocks get pointers into it.
 */
#include "train/program/program_memo.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/data/data_loading.h"
#include "input/job/lora.h"
#include "input/job/optimizer.h"
#include "input/job/parallel.h"
#include "input/layout.h"

#include <stddef.h>
#include <string.h>

enum {
    ORDERS_BYTES_MAX = 8 << 20,
    PROGRAMS_BYTES_MAX = 32 << 20,
    KEPT_BYTES_MAX = PROGRAMS_BYTES_MAX / 8 /* larger ones come seldom, and would push out many */
};

enum { SHAPES = 13, SHAPE_NONE = SHAPES };

/* A transfer as it was asked for. */
struct order {
    uint32_t stream, path; /* path: of a plain one */
    uint32_t shape;        /* SHAPE_NONE: a plain one */
    enum collective_operation operation;
    double bytes; /* of a plain one */
    struct transfer_wish wish;
};

struct orders {
    uint64_t number;
    uint32_t count;
    struct order items[];
};

/* What programs_recall leaves for programs_keep. */
struct asked {
    const void *key;
    size_t key_bytes;
    uint64_t *numbers; /* of the orders, then those of the transfers; NULL: orders are not known */
    size_t count;
};

struct program_memo {
    struct arena *arena;
    struct arena *scratch; /* of a job's keys */
    struct memo *orders;
    struct memo *programs;
    uint64_t order_count;
    uint64_t known_count; /* programs that were kept */
    struct asked asked;
    struct memo_count counts;
};

struct program_memo *program_memo_new(void)
{
    struct arena *arena = arena_new();
    struct program_memo *memo = arena_alloc(arena, sizeof *memo);
    *memo = (struct program_memo){.arena = arena,
                                  .scratch = arena_new(),
                                  .orders = memo_new(ORDERS_BYTES_MAX),
                                  .programs = memo_new(PROGRAMS_BYTES_MAX)};
    return memo;
}

void program_memo_free(struct program_memo *memo)
{
    if (memo != NULL) {
        memo_free(memo->orders);
        memo_free(memo->programs);
        arena_free(memo->scratch);
        arena_free(memo->arena);
    }
}

struct memo_count program_memo_count(const struct program_memo *memo)
{
    return memo->counts;
}

/* ---- the key -------------------------------------------------------------------------------- */

static void list_shapes(struct program_context *context, struct group_shape *shapes[SHAPES])
{
    struct group_shape *const all[SHAPES] = {
        &context->tensor, &context->context, &context->expert,      &context->expert_tensor,
        &context->data,   &context->replica, &context->expert_data, &context->expert_replica,
        &context->local,  &context->across,  &context->embedding,   &context->scales,
        &context->world};
    memcpy(shapes, all, sizeof all);
}

struct key_bytes {
    struct arena *arena;
    char *bytes;
    size_t count, capacity;
};

static void *put(struct key_bytes *key, const void *bytes, size_t size_bytes)
{
    const size_t padded = (size_bytes + 7) / 8 * 8;
    key->bytes = arena_grow(key->arena, key->bytes, &key->capacity, key->count + padded, 1);
    char *at = key->bytes + key->count;
    memset(at + size_bytes, 0, padded - size_bytes);
    memcpy(at, bytes, size_bytes);
    key->count += padded;
    return at;
}

/* Groups are as large as they are; where they lie is a matter of prices. */
static void put_context(struct key_bytes *key, const struct program_context *context)
{
    struct program_context *own = put(key, context, sizeof *context);
    struct group_shape *shapes[SHAPES];
    list_shapes(own, shapes);
    for (uint32_t i = 0; i < SHAPES; i++) {
        const uint32_t ranks = shapes[i]->ranks;
        memset(shapes[i], 0, sizeof *shapes[i]);
        shapes[i]->ranks = ranks;
    }
    own->arena = NULL;
    own->written = NULL;
    own->job = NULL;
    own->timing = NULL;
    own->routing = NULL;
    own->setting = NULL;
    own->transfers = NULL;
    own->patterns = NULL;
    own->fabric_data = NULL;
    own->actions = NULL;
    own->host_wait_ns = NULL;
}

/* What lies between two members: of a struct on a stack it may be anything. */
static void clear_hole(void *object, size_t first, size_t end)
{
    memset((char *)object + first, 0, end - first);
}

/* Its precision and its memory apart: between them there is padding, too. */
static void put_job(struct key_bytes *key, const struct program_job *job)
{
    put(key, &job->precision, sizeof job->precision);
    struct memory_job *memory = put(key, &job->memory, sizeof job->memory);
    memory->shape.model = NULL;
    memory->split.model = NULL;
    memory->split.parallel = NULL;
    memory->split.lora = NULL;
    memory->batch = NULL;
    memory->recompute = NULL;
    memory->optimizer = NULL;
    memory->offload = NULL;
    memory->software = NULL;
    clear_hole(&memory->shape,
               offsetof(struct memory_shape, keeps_clamped) + sizeof memory->shape.keeps_clamped,
               offsetof(struct memory_shape, activation_input));
    clear_hole(&memory->shape,
               offsetof(struct memory_shape, trained) + sizeof memory->shape.trained,
               offsetof(struct memory_shape, element_bytes));
    clear_hole(memory, offsetof(struct memory_job, transposes_fp8) + sizeof memory->transposes_fp8,
               offsetof(struct memory_job, gpus));
}

static void put_parallel(struct key_bytes *key, const struct parallel *parallel)
{
    const size_t pieces = (size_t)layout_pieces(parallel);
    struct parallel *own = put(key, parallel, sizeof *parallel);
    sim_assert(parallel->schedule_file == NULL);
    own->layers_per_chunk = NULL;
    memset(&own->place, 0, sizeof own->place);
    put(key, parallel->layers_per_chunk, pieces * sizeof *parallel->layers_per_chunk);
}

/* What `parts` stands for is not written out: model, software, and the GPU of timing->runner. */
static struct key_bytes key_of(struct arena *arena, const struct program_context *context,
                               uint64_t parts)
{
    const struct program_job *job = context->job;
    const struct timing_runner *runner = &context->timing->runner;
    const uint64_t flags[] = {parts, (uint64_t)runner->precision, runner->knows_rows,
                              runner->is_replayed, context->fabric_data != NULL};
    struct key_bytes key = {.arena = arena};
    put(&key, flags, sizeof flags);
    if (context->fabric_data != NULL) {
        put(&key, &context->fabric_data->bytes_per_token,
            sizeof context->fabric_data->bytes_per_token);
    }
    put_context(&key, context);
    put_job(&key, job);
    put_parallel(&key, job->parallel);
    struct batch *batch = put(&key, job->batch, sizeof *job->batch);
    memset(&batch->place, 0, sizeof batch->place);
    put(&key, job->recompute, sizeof *job->recompute);
    put(&key, job->optimizer, sizeof *job->optimizer);
    put(&key, job->offload, sizeof *job->offload);
    put(&key, job->lora, sizeof *job->lora);
    put(&key, context->routing, sizeof *context->routing);
    put(&key, context->timing->segments,
        job->model->kind_count * sizeof *context->timing->segments);
    return key;
}

/* ---- orders --------------------------------------------------------------------------------- */

static uint32_t shape_of(const struct program_context *context, const struct group_shape *shape)
{
    struct program_context own = *context;
    struct group_shape *shapes[SHAPES];
    list_shapes(&own, shapes);
    uint32_t i = 0;
    while (i < SHAPES && (shapes[i]->ranks < 2 || shapes[i]->gpus != shape->gpus)) {
        i++;
    }
    sim_assert(i < SHAPES);
    return i;
}

/* Of the transfers in the table. */
static void keep_orders(struct program_memo *memo, const struct program_context *context)
{
    const struct transfer_table *table = context->transfers;
    struct orders *orders =
        arena_alloc(memo->scratch, sizeof *orders + table->count * sizeof *orders->items);
    orders->number = ++memo->order_count;
    for (size_t i = 0; i < table->count; i++) {
        const struct transfer_origin *origin = &table->origins[i];
        if (origin->is_head) {
            orders->items[orders->count++] = (struct order){
                .stream = origin->stream,
                .path = table->items[i].path,
                .shape = origin->has_quote ? shape_of(context, &origin->shape) : SHAPE_NONE,
                .operation = origin->operation,
                .bytes = origin->bytes,
                .wish = origin->wish};
        }
    }
    memo_add(memo->orders, memo->asked.key, memo->asked.key_bytes, orders,
             sizeof *orders + orders->count * sizeof *orders->items);
}

static uint32_t ask(const struct program_context *context, struct group_shape *const *shapes,
                    const struct order *order)
{
    if (order->shape == SHAPE_NONE) {
        return transfer_plain(context->arena, context->transfers, context->job_number,
                              (enum stream)order->stream, order->path, order->operation,
                              order->bytes);
    }
    return transfer_collective(context->setting, context->transfers,
                               &context->patterns[order->stream], context->job_number,
                               (enum stream)order->stream, shapes[order->shape], &order->wish);
}

static void ask_all(struct program_memo *memo, const struct program_context *context,
                    const struct orders *orders)
{
    struct program_context own = *context;
    struct group_shape *shapes[SHAPES];
    list_shapes(&own, shapes);
    struct asked *asked = &memo->asked;
    asked->count = orders->count + 1u;
    asked->numbers = arena_array(memo->scratch, asked->count, sizeof *asked->numbers);
    asked->numbers[0] = orders->number;
    for (uint32_t i = 0; i < orders->count; i++) {
        asked->numbers[1 + i] = ask(context, shapes, &orders->items[i]);
    }
}

/* ---- programs ------------------------------------------------------------------------------- */

/* In front of what is kept. Then come: host_wait_ns of the stages, tasks, the blocks' counts, and
 * of each stage its counts, `firsts` and its row of blocks, all without gaps. */
struct kept {
    uint64_t known_as; /* of the first stage; the others follow */
    uint32_t stages, block_count;
    uint64_t task_count;
};

struct counts {
    uint32_t of[ENGINE_STREAMS_MAX];
};

static size_t tasks_of(const struct engine_block *block)
{
    size_t count = 0;
    for (uint32_t s = 0; s < ENGINE_STREAMS_MAX; s++) {
        count += block->counts[s];
    }
    return count;
}

struct writer {
    char *at;
};

static void put_bytes(struct writer *writer, const void *from, size_t size_bytes)
{
    memcpy(writer->at, from, size_bytes);
    writer->at += size_bytes;
}

static size_t kept_bytes(const struct kept *kept, const struct engine_program *programs)
{
    size_t bytes = sizeof *kept + kept->stages * sizeof(int64_t) +
                   kept->task_count * sizeof(struct task) +
                   kept->block_count * sizeof(struct counts);
    for (uint32_t i = 0; i < kept->stages; i++) {
        const size_t row = programs[i].block_count;
        bytes += sizeof(uint32_t) + (row + 1) * sizeof(struct counts) + row * sizeof(uint32_t);
    }
    return bytes;
}

static void write_blocks(struct writer *writer, const struct engine_blocks *blocks)
{
    for (uint32_t i = 0; i < blocks->count; i++) {
        for (uint32_t s = 0; s < ENGINE_STREAMS_MAX; s++) {
            const struct engine_block *block = blocks->items[i];
            put_bytes(writer, block->tasks[s], block->counts[s] * sizeof *block->tasks[s]);
        }
    }
    for (uint32_t i = 0; i < blocks->count; i++) {
        put_bytes(writer, blocks->items[i]->counts, sizeof blocks->items[i]->counts);
    }
}

static void keep_programs(struct program_memo *memo, const struct program_context *context,
                          uint32_t stages, const struct engine_program *programs)
{
    const struct engine_blocks blocks = engine_blocks_of(memo->scratch, programs, stages);
    struct kept kept = {
        .known_as = memo->known_count + 1, .stages = stages, .block_count = blocks.count};
    for (uint32_t i = 0; i < blocks.count; i++) {
        kept.task_count += tasks_of(blocks.items[i]);
    }
    const size_t size_bytes = kept_bytes(&kept, programs);
    if (size_bytes > KEPT_BYTES_MAX) {
        return;
    }
    memo->known_count += stages;
    char *bytes = arena_alloc(memo->scratch, size_bytes);
    struct writer writer = {bytes};
    put_bytes(&writer, &kept, sizeof kept);
    put_bytes(&writer, context->host_wait_ns, stages * sizeof *context->host_wait_ns);
    write_blocks(&writer, &blocks);
    for (uint32_t i = 0; i < stages; i++) {
        const struct engine_program *program = &programs[i];
        const uint32_t row = program->block_count;
        put_bytes(&writer, &row, sizeof row);
        put_bytes(&writer, program->firsts, (row + 1) * sizeof *program->firsts);
        put_bytes(&writer, blocks.numbers[i], row * sizeof *blocks.numbers[i]);
    }
    sim_assert(writer.at == bytes + size_bytes);
    memo_add(memo->programs, memo->asked.numbers, memo->asked.count * sizeof *memo->asked.numbers,
             bytes, size_bytes);
}

/* Takes so many bytes of what is kept. */
static const void *take_bytes(const char **at, size_t size_bytes)
{
    const void *found = *at;
    *at += size_bytes;
    return found;
}

static struct engine_block *read_blocks(const char **at, struct arena *arena,
                                        const struct kept *kept)
{
    struct engine_block *blocks = arena_array(arena, kept->block_count, sizeof *blocks);
    const struct task *tasks = take_bytes(at, kept->task_count * sizeof *tasks);
    for (uint32_t i = 0; i < kept->block_count; i++) {
        struct engine_block *block = &blocks[i];
        memcpy(block->counts, take_bytes(at, sizeof block->counts), sizeof block->counts);
        for (uint32_t s = 0; s < ENGINE_STREAMS_MAX; s++) {
            block->tasks[s] = tasks;
            tasks += block->counts[s];
        }
    }
    return blocks;
}

static void read_programs(const struct program_context *context, const char *at,
                          struct engine_program *programs)
{
    struct arena *arena = context->arena;
    const struct kept *kept = take_bytes(&at, sizeof *kept);
    const size_t waits_bytes = kept->stages * sizeof *context->host_wait_ns;
    memcpy(context->host_wait_ns, take_bytes(&at, waits_bytes), waits_bytes);
    const struct engine_block *blocks = read_blocks(&at, arena, kept);
    for (uint32_t i = 0; i < kept->stages; i++) {
        struct engine_program *program = &programs[i];
        const uint32_t row = *(const uint32_t *)take_bytes(&at, sizeof row);
        const size_t firsts_bytes = (row + 1) * sizeof *program->firsts;
        const void *firsts = take_bytes(&at, firsts_bytes);
        *program = (struct engine_program){.firsts = (const uint32_t(*)[ENGINE_STREAMS_MAX])firsts,
                                           .block_count = row,
                                           .known_as = kept->known_as + i};
        memcpy(program->counts, program->firsts[row], sizeof program->counts);
        const uint32_t *numbers = take_bytes(&at, row * sizeof *numbers);
        const struct engine_block **of = arena_array(arena, row, sizeof *of);
        for (uint32_t b = 0; b < row; b++) {
            of[b] = &blocks[numbers[b]];
        }
        program->blocks = of;
    }
}

/* ---- both ----------------------------------------------------------------------------------- */

bool programs_recall(struct program_memo *memo, const struct program_context *context,
                     uint64_t parts, uint32_t stages, struct engine_program *programs)
{
    sim_assert(context->transfers->count == 0 && context->actions == NULL);
    arena_reset(memo->scratch);
    const struct key_bytes key = key_of(memo->scratch, context, parts);
    memo->asked = (struct asked){.key = key.bytes, .key_bytes = key.count};
    const struct orders *orders = memo_find(memo->orders, key.bytes, key.count);
    if (orders == NULL) {
        memo->counts.missed++;
        return false;
    }
    ask_all(memo, context, orders);
    const struct kept *kept = memo_find(memo->programs, memo->asked.numbers,
                                        memo->asked.count * sizeof *memo->asked.numbers);
    memo->counts.found += kept != NULL ? 1 : 0;
    memo->counts.missed += kept != NULL ? 0 : 1;
    if (kept == NULL) {
        return false;
    }
    sim_assert(kept->stages == stages);
    read_programs(context, (const char *)kept, programs);
    return true;
}

void programs_keep(struct program_memo *memo, const struct program_context *context,
                   uint32_t stages, const struct engine_program *programs)
{
    if (memo->asked.numbers == NULL) {
        keep_orders(memo, context);
    } else {
        keep_programs(memo, context, stages, programs);
    }
}
