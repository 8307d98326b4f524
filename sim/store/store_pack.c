/* A row is the number of its relation, then its values. A value says whether it is NULL; if not, a
 * number follows as it lies in memory, a text as its length and its characters with the final NUL,
 * so that it can be used where it is.
 */
#include "store/store_pack.h"

#include "base/arena.h"

#include <string.h>

static size_t value_bytes(enum column_kind kind, const struct value *value)
{
    if (value->is_null) {
        return sizeof value->is_null;
    }
    switch (kind) {
    case COLUMN_TEXT:
        return sizeof value->is_null + sizeof(size_t) + strlen(value->text) + 1;
    case COLUMN_INTEGER:
        return sizeof value->is_null + sizeof value->integer;
    default:
        return sizeof value->is_null + sizeof value->real;
    }
}

static size_t packed_bytes(const struct row_list *rows)
{
    size_t size_bytes = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->items[i];
        const struct relation *relation = &store_relations[row->id];
        size_bytes += sizeof(uint32_t);
        for (uint32_t k = 0; k < relation->column_count; k++) {
            size_bytes += value_bytes(relation->columns[k].kind, &row->values[k]);
        }
    }
    return size_bytes;
}

/* Where the next bytes go. */
struct writer {
    char *at;
};

static void put(struct writer *writer, const void *memory, size_t size_bytes)
{
    memcpy(writer->at, memory, size_bytes);
    writer->at += size_bytes;
}

static void put_value(struct writer *writer, enum column_kind kind, const struct value *value)
{
    put(writer, &value->is_null, sizeof value->is_null);
    if (value->is_null) {
        return;
    }
    if (kind == COLUMN_TEXT) {
        const size_t size_bytes = strlen(value->text) + 1;
        put(writer, &size_bytes, sizeof size_bytes);
        put(writer, value->text, size_bytes);
    } else if (kind == COLUMN_INTEGER) {
        put(writer, &value->integer, sizeof value->integer);
    } else {
        put(writer, &value->real, sizeof value->real);
    }
}

struct store_packed pack_rows(const struct row_list *rows)
{
    const size_t size_bytes = packed_bytes(rows);
    char *bytes = arena_room(rows->arena, size_bytes, 1);
    struct writer writer = {bytes};
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->items[i];
        const struct relation *relation = &store_relations[row->id];
        const uint32_t id = row->id;
        put(&writer, &id, sizeof id);
        for (uint32_t k = 0; k < relation->column_count; k++) {
            put_value(&writer, relation->columns[k].kind, &row->values[k]);
        }
    }
    sim_assert(writer.at == bytes + size_bytes);
    return (struct store_packed){bytes, size_bytes};
}

struct reader {
    const char *at;
    const char *end;
};

static const void *get(struct reader *reader, size_t size_bytes)
{
    sim_assert((size_t)(reader->end - reader->at) >= size_bytes); /* we wrote it ourselves */
    const char *memory = reader->at;
    reader->at += size_bytes;
    return memory;
}

static void get_value(struct reader *reader, enum column_kind kind, struct value *value)
{
    memcpy(&value->is_null, get(reader, sizeof value->is_null), sizeof value->is_null);
    if (value->is_null) {
        return;
    }
    if (kind == COLUMN_TEXT) {
        size_t size_bytes;
        memcpy(&size_bytes, get(reader, sizeof size_bytes), sizeof size_bytes);
        value->text = get(reader, size_bytes);
    } else if (kind == COLUMN_INTEGER) {
        memcpy(&value->integer, get(reader, sizeof value->integer), sizeof value->integer);
    } else {
        memcpy(&value->real, get(reader, sizeof value->real), sizeof value->real);
    }
}

void unpack_rows(const struct store_packed *packed, struct row_list *rows)
{
    struct reader reader = {packed->bytes, (const char *)packed->bytes + packed->size_bytes};
    while (reader.at < reader.end) {
        uint32_t id;
        memcpy(&id, get(&reader, sizeof id), sizeof id);
        sim_assert(id < RELATION_COUNT_);
        struct value *values = rows_add(rows, (enum relation_id)id);
        for (uint32_t k = 0; k < store_relations[id].column_count; k++) {
            get_value(&reader, store_relations[id].columns[k].kind, &values[k]);
        }
    }
}
