/* The encoder is written here: of Protocol Buffers a writer of eight kinds of fields needs a varint
 * and a length, and no generator of code.
 */
#include "report/trace/chakra.h"

#include "base/arena.h"
#include "base/diag.h"
#include "base/path.h"
#include "base/version.h"
#include "train/watch.h"

#include <math.h>
#include <string.h>

#define CHAKRA_VERSION "0.0.4"

/* ---- Protocol Buffers ------------------------------------------------------------------------ */

/* A message being written; reused for the next one. */
struct message {
    struct arena *arena;
    uint8_t *bytes;
    size_t count, capacity;
};

enum wire { WIRE_VARINT, WIRE_LENGTH = 2 };

static void put(struct message *message, const void *bytes, size_t count)
{
    message->bytes = arena_grow(message->arena, message->bytes, &message->capacity,
                                message->count + count, sizeof *message->bytes);
    if (count > 0) {
        memcpy(message->bytes + message->count, bytes, count);
    }
    message->count += count;
}

/* Seven bits a byte, the lowest first; the highest bit says that more follow. */
static void put_varint(struct message *message, uint64_t value)
{
    uint8_t bytes[10];
    size_t count = 0;
    do {
        bytes[count++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value > 0);
    put(message, bytes, count);
}

static void put_number(struct message *message, uint32_t field, uint64_t value)
{
    put_varint(message, field << 3 | WIRE_VARINT);
    put_varint(message, value);
}

static void put_bytes(struct message *message, uint32_t field, const void *bytes, size_t count)
{
    put_varint(message, field << 3 | WIRE_LENGTH);
    put_varint(message, count);
    put(message, bytes, count);
}

static void put_text(struct message *message, uint32_t field, const char *text)
{
    put_bytes(message, field, text, strlen(text));
}

/* ---- the schema ------------------------------------------------------------------------------ */

enum metadata_field { METADATA_VERSION = 1, METADATA_ATTRIBUTE = 2 };

enum node_field {
    NODE_ID = 1,
    NODE_NAME = 2,
    NODE_TYPE = 3,
    NODE_DATA_WAITS = 5,
    NODE_START_US = 6,
    NODE_DURATION_US = 7,
    NODE_ATTRIBUTE = 10,
};

enum attribute_field {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_INT32 = 7,
    ATTRIBUTE_INT64 = 9,
    ATTRIBUTE_UINT64 = 13,
    ATTRIBUTE_BOOL = 27,
    ATTRIBUTE_TEXT = 29,
};

/* Nodes, by kind. */
static const uint8_t node_types[] = {
    [TRACE_LOAD] = 2, [TRACE_STORE] = 3,   [TRACE_COMPUTE] = 4,
    [TRACE_SEND] = 5, [TRACE_RECEIVE] = 6, [TRACE_COLLECTIVE] = 7,
};

/* Collectives, by operation; sends and shifts are nodes of other kinds. */
static const uint8_t collective_types[COLLECTIVE_OPERATION_COUNT_] = {
    [COLLECTIVE_ALL_REDUCE] = 0, [COLLECTIVE_REDUCE] = 1,     [COLLECTIVE_ALL_GATHER] = 2,
    [COLLECTIVE_BROADCAST] = 5,  [COLLECTIVE_ALL_TO_ALL] = 6, [COLLECTIVE_REDUCE_SCATTER] = 7,
    [COLLECTIVE_BARRIER] = 9,
};

/* ---- one rank -------------------------------------------------------------------------------- */

/* What is written of a rank, and what is learnt on the way. */
struct rank_file {
    const struct step_trace *trace;
    const struct trace_tasks *tasks;
    uint32_t rank, alike;
    bool *is_group_used; /* [trace->group_end] */
    uint64_t *bytes;     /* of all files so far */
};

struct writer {
    struct arena *arena; /* of the file */
    const struct rank_file *file;
    struct message message, attribute, waits;
    int64_t computed_ns; /* of the rank so far, by which microseconds are rounded */
    FILE *out;
};

static void end_attribute(struct writer *writer, uint32_t field)
{
    put_bytes(&writer->message, field, writer->attribute.bytes, writer->attribute.count);
}

static struct message *begin_attribute(struct writer *writer, const char *name)
{
    writer->attribute.count = 0;
    put_text(&writer->attribute, ATTRIBUTE_NAME, name);
    return &writer->attribute;
}

static void add_number(struct writer *writer, const char *name, enum attribute_field kind,
                       uint64_t value)
{
    put_number(begin_attribute(writer, name), kind, value);
    end_attribute(writer, NODE_ATTRIBUTE);
}

static void end_message(struct writer *writer)
{
    uint8_t *const bytes = writer->message.bytes;
    const size_t count = writer->message.count;
    struct message length = {.arena = writer->arena};
    put_varint(&length, count);
    fwrite(length.bytes, 1, length.count, writer->out);
    fwrite(bytes, 1, count, writer->out);
    *writer->file->bytes += length.count + count;
    writer->message.count = 0;
}

static void write_metadata(struct writer *writer)
{
    put_text(&writer->message, METADATA_VERSION, CHAKRA_VERSION);
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"rank", writer->file->rank},
                   {"ranks", writer->file->trace->ranks},
                   {"ranks_alike", writer->file->alike},
                   {"step_ns", (uint64_t)writer->file->trace->end}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        put_number(begin_attribute(writer, numbers[i].name), ATTRIBUTE_UINT64, numbers[i].value);
        end_attribute(writer, METADATA_ATTRIBUTE);
    }
    put_text(begin_attribute(writer, "producer"), ATTRIBUTE_TEXT,
             arena_printf(writer->arena, "stoker %s", stoker_version()));
    end_attribute(writer, METADATA_ATTRIBUTE);
    end_message(writer);
}

static const char *name_of(const struct writer *writer, const struct trace_node *node)
{
    const char *stream = writer->file->trace->watch->run->streams[node->stream].name;
    if (node->kind == TRACE_COLLECTIVE) {
        return arena_printf(writer->arena, "%s %s", collective_operation_names[node->operation],
                            stream);
    }
    if (node->kind != TRACE_COMPUTE) {
        return stream;
    }
    const char *action =
        trace_action(writer->arena, writer->file->trace, writer->file->tasks->stage, node);
    return action == NULL ? cause_names[node->cause]
                          : arena_printf(writer->arena, "%s %s", action, cause_names[node->cause]);
}

static uint64_t whole(double amount)
{
    return (uint64_t)llround(amount);
}

static void add_compute(struct writer *writer, const struct trace_node *node)
{
    const uint64_t flop = whole(node->flop);
    add_number(writer, "num_ops", ATTRIBUTE_INT64, node->bytes > 0 && flop == 0 ? 1 : flop);
    add_number(writer, "tensor_size", ATTRIBUTE_UINT64, whole(node->bytes));
}

/* What each member puts in; of an all-gather `bytes` is what all put in together. */
static double bytes_put_in(const struct writer *writer, const struct trace_node *node)
{
    return node->operation == COLLECTIVE_ALL_GATHER
               ? node->bytes / (double)trace_group_size(writer->file->trace, node->stream)
               : node->bytes;
}

static void add_collective(struct writer *writer, const struct trace_node *node)
{
    const uint32_t group = trace_group(writer->file->trace, writer->file->rank, node->stream);
    writer->file->is_group_used[group] = true;
    add_number(writer, "comm_type", ATTRIBUTE_INT64, collective_types[node->operation]);
    add_number(writer, "comm_size", ATTRIBUTE_INT64, whole(bytes_put_in(writer, node)));
    put_text(begin_attribute(writer, "pg_name"), ATTRIBUTE_TEXT,
             arena_printf(writer->arena, "%u", group));
    end_attribute(writer, NODE_ATTRIBUTE);
}

static void add_message(struct writer *writer, const struct trace_node *node)
{
    const uint32_t peer = trace_peer(writer->arena, writer->file->trace, writer->file->rank, node);
    const bool is_sent = node->kind == TRACE_SEND;
    add_number(writer, "comm_src", ATTRIBUTE_INT32, is_sent ? writer->file->rank : peer);
    add_number(writer, "comm_dst", ATTRIBUTE_INT32, is_sent ? peer : writer->file->rank);
    add_number(writer, "comm_tag", ATTRIBUTE_INT32, node->tag);
    add_number(writer, "comm_size", ATTRIBUTE_INT64, whole(node->bytes));
}

static void add_attributes(struct writer *writer, const struct trace_node *node)
{
    add_number(writer, "is_cpu_op", ATTRIBUTE_BOOL, false);
    add_number(writer, "duration_ns", ATTRIBUTE_INT64, (uint64_t)(node->end - node->start));
    switch (node->kind) {
    case TRACE_COMPUTE:
        add_compute(writer, node);
        break;
    case TRACE_COLLECTIVE:
        add_collective(writer, node);
        break;
    case TRACE_SEND:
    case TRACE_RECEIVE:
        add_message(writer, node);
        break;
    case TRACE_LOAD:
    case TRACE_STORE:
        add_number(writer, "tensor_size", ATTRIBUTE_UINT64, whole(node->bytes));
        break;
    }
}

static uint64_t us_of(int64_t ns)
{
    return (uint64_t)((ns + 500) / 1000);
}

static uint64_t duration_us(struct writer *writer, const struct trace_node *node)
{
    const int64_t ns = node->end - node->start;
    if (node->kind != TRACE_COMPUTE) {
        return us_of(ns);
    }
    writer->computed_ns += ns;
    return us_of(writer->computed_ns) - us_of(writer->computed_ns - ns);
}

/* Nodes are numbered from 1: what is 0 is not written, and read as not there. */
static void write_node(struct writer *writer, uint32_t number)
{
    const struct trace_node *node = &writer->file->tasks->nodes[number];
    struct message *message = &writer->message;
    put_number(message, NODE_ID, number + 1);
    put_text(message, NODE_NAME, name_of(writer, node));
    put_number(message, NODE_TYPE, node_types[node->kind]);
    writer->waits.count = 0;
    for (uint32_t i = 0; i < node->wait_count; i++) {
        put_varint(&writer->waits, node->waits[i] + 1);
    }
    if (node->wait_count > 0) {
        put_bytes(message, NODE_DATA_WAITS, writer->waits.bytes, writer->waits.count);
    }
    put_number(message, NODE_START_US, us_of(node->start));
    put_number(message, NODE_DURATION_US, duration_us(writer, node));
    add_attributes(writer, node);
    end_message(writer);
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool write_rank(const void *context, FILE *out)
{
    struct arena *scratch = arena_new();
    struct writer writer = {
        .arena = scratch,
        .file = context,
        .message = {.arena = scratch},
        .attribute = {.arena = scratch},
        .waits = {.arena = scratch},
        .out = out,
    };
    write_metadata(&writer);
    for (uint32_t i = 0; i < writer.file->tasks->count && ferror(out) == 0; i++) {
        write_node(&writer, i);
    }
    arena_free(scratch);
    return ferror(out) == 0;
}

struct groups_file {
    const struct step_trace *trace;
    const bool *is_used;
};

/* "7": [0, 8] */
static void write_group(const struct step_trace *trace, uint32_t group, FILE *out)
{
    struct arena *scratch = arena_new();
    uint32_t count = 0;
    const uint32_t *members = trace_group_members(scratch, trace, group, &count);
    fprintf(out, "\"%u\": ", group);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(out, "%s%u", i == 0 ? "[" : ", ", members[i]);
    }
    fputs("]", out);
    arena_free(scratch);
}

/* A document of numbers alone, with no key that is not a group's: readers take each for one. */
static bool write_groups(const void *context, FILE *out)
{
    const struct groups_file *file = context;
    const char *between = "{";
    for (uint32_t group = 1; group < file->trace->group_end && ferror(out) == 0; group++) {
        if (file->is_used[group]) {
            fputs(between, out);
            write_group(file->trace, group, out);
            between = ",\n ";
        }
    }
    fputs(*between == '{' ? "{}\n" : "}\n", out);
    return ferror(out) == 0;
}

static const char remedy[] = "-o PREFIX writes elsewhere, --ranks fewer files";

static bool is_asked(const struct step_trace *trace, const struct trace_ranks *ranks,
                     uint32_t class)
{
    for (uint32_t i = 0; i < ranks->count; i++) {
        if (trace->class_of[ranks->items[i]] == class) {
            return true;
        }
    }
    return false;
}

/* Those ranks of a class that are asked for. */
static bool write_class(struct step_trace *trace, const struct trace_ranks *ranks, uint32_t class,
                        const char *prefix, struct rank_file *file, struct diag *diag)
{
    struct arena *scratch = arena_new();
    struct trace_tasks tasks;
    step_trace_tasks(scratch, trace, class, &tasks);
    file->tasks = &tasks;
    file->alike = trace_ranks_alike(trace, class);
    bool is_good = true;
    for (uint32_t i = 0; i < ranks->count && is_good; i++) {
        file->rank = ranks->items[i];
        if (trace->class_of[file->rank] == class) {
            const struct path_content content = {write_rank, file, remedy, false};
            is_good = path_write_whole(
                scratch, arena_printf(scratch, "%s.%u.et", prefix, file->rank), &content, diag);
        }
    }
    file->tasks = NULL;
    arena_free(scratch);
    return is_good;
}

bool chakra_write(struct arena *arena, struct step_trace *trace, const struct trace_ranks *ranks,
                  const char *prefix, struct chakra_written *written, struct diag *diag)
{
    *written = (struct chakra_written){.groups_path = arena_printf(arena, "%s.json", prefix)};
    struct rank_file file = {
        .trace = trace,
        .is_group_used = arena_array(arena, trace->group_end, sizeof *file.is_group_used),
        .bytes = &written->bytes,
    };
    for (uint32_t class = 0; class < trace->classes; class ++) {
        if (is_asked(trace, ranks, class) &&
            !write_class(trace, ranks, class, prefix, &file, diag)) {
            return false;
        }
    }
    const struct groups_file groups = {trace, file.is_group_used};
    const struct path_content content = {write_groups, &groups, remedy, false};
    return path_write_whole(arena, written->groups_path, &content, diag);
}
