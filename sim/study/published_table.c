/* A reader of CSV: fields by columns' names.
 */
#include "study/published_table.h"

#include "base/arena.h"
#include "spec/text_file.h"

#include <string.h>

enum { FILE_BYTES_MAX = 16 * 1024 * 1024, COLUMNS_MAX = 256 };

struct reader {
    struct arena *arena;
    const char *at;
    const char **fields;
    size_t capacity, count;
};

static void add_field(struct reader *reader, const char *text)
{
    reader->fields = arena_grow(reader->arena, reader->fields, &reader->capacity, reader->count + 1,
                                sizeof *reader->fields);
    reader->fields[reader->count++] = text;
}

/* Quoted: up to a quote that is not doubled. */
static const char *quoted_field(struct reader *reader)
{
    const char *begin = ++reader->at;
    size_t length = 0;
    for (; *reader->at != '\0' && (reader->at[0] != '"' || reader->at[1] == '"'); length++) {
        reader->at += *reader->at == '"' ? 2 : 1;
    }
    char *text = arena_alloc(reader->arena, length + 1);
    for (size_t i = 0; i < length; i++) {
        text[i] = *begin;
        begin += *begin == '"' ? 2 : 1;
    }
    reader->at += *reader->at == '"' ? 1 : 0;
    return text;
}

/* The fields of a line; moves behind its end. Returns their number. */
static uint32_t read_line(struct reader *reader)
{
    uint32_t count = 0;
    bool is_last = false;
    while (!is_last && count < COLUMNS_MAX) {
        const char *text;
        if (*reader->at == '"') {
            text = quoted_field(reader);
            reader->at += strcspn(reader->at, ",\r\n");
        } else {
            const size_t length = strcspn(reader->at, ",\r\n");
            text = arena_strndup(reader->arena, reader->at, length);
            reader->at += length;
        }
        add_field(reader, text);
        count++;
        is_last = *reader->at != ',';
        reader->at += is_last ? 0 : 1;
    }
    reader->at += *reader->at == '\r' ? 1 : 0;
    reader->at += *reader->at == '\n' ? 1 : 0;
    return count;
}

const struct published_table *published_load(struct arena *arena, const char *path,
                                             struct diag *diag)
{
    struct text_file file;
    if (!text_file_load(arena, path, FILE_BYTES_MAX, &file, diag) ||
        !text_file_check(&file, diag)) {
        return NULL;
    }
    struct published_table *table = arena_alloc(arena, sizeof *table);
    struct reader reader = {.arena = arena, .at = file.text};
    table->path = path;
    table->column_count = read_line(&reader);
    while (*reader.at != '\0') {
        const char *line = reader.at;
        const uint32_t count = read_line(&reader);
        if (count != table->column_count) {
            const struct place place = text_file_place(&file, line);
            diag_add(diag, DIAG_INPUT, &place, "%u fields, and %u columns in the first line", count,
                     table->column_count);
            return NULL;
        }
        table->row_count++;
    }
    table->columns = reader.fields;
    table->fields = reader.fields + table->column_count;
    return table;
}

const char *published_text(const struct published_table *table, uint32_t row, const char *column)
{
    for (uint32_t i = 0; i < table->column_count; i++) {
        if (strcmp(table->columns[i], column) == 0) {
            return table->fields[(size_t)row * table->column_count + i];
        }
    }
    return "";
}

bool published_number(const struct published_table *table, uint32_t row, const char *column,
                      double *value)
{
    const char *text = published_text(table, row, column);
    const struct text_span span = {text, text + strlen(text)};
    return text[0] != '\0' && text_span_number(span, value);
}
