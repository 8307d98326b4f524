/* Line by line; fields, their beginnings and rows' problems lie in arrays that grow together.
 *
 * A quote that is not closed would swallow the lines up to the next quote of the file. Behind that
 * one stands text, or the end of the file, not a comma: by this it is known, and reading goes on
 * with the line after the one on which the row began.
 */
#include "bands/published_table.h"

#include "base/arena.h"

#include <stdio.h>
#include <string.h>

enum {
    FILE_BYTES_MAX = 16 * 1024 * 1024,
    COLUMNS_MAX = 256,
    QUOTED_BYTES_MAX = 65536, /* a longer field is one that does not end */
    LIST_BYTES_MAX = 1024
};

struct reader {
    struct arena *arena;
    struct diag *diag;
    const struct text_file *file;
    const char *at;
    char *copy; /* of the file's text from `at` on: fields are its parts, each with an end put in */
    const char *copied;
    const char **fields, **begins; /* `count` of each */
    size_t field_capacity, begin_capacity, count;
    struct published_problem *problems;
    size_t problem_capacity;
};

static void add_field(struct reader *reader, const char *text, const char *begin)
{
    const size_t needed = reader->count + 1;
    if (needed > reader->field_capacity || needed > reader->begin_capacity) {
        reader->fields = arena_grow(reader->arena, reader->fields, &reader->field_capacity, needed,
                                    sizeof *reader->fields);
        reader->begins = arena_grow(reader->arena, reader->begins, &reader->begin_capacity, needed,
                                    sizeof *reader->begins);
    }
    reader->fields[reader->count] = text;
    reader->begins[reader->count++] = begin;
}

/* ---- a line ----------------------------------------------------------------------------- */

static bool is_end_of_field(char letter)
{
    return letter == ',' || letter == '\r' || letter == '\n' || letter == '\0';
}

/* Quoted: up to a quote that is not doubled; moves behind it. NULL when there is none, or when
 * something else than the field's end follows. */
static const char *quoted_field(struct reader *reader)
{
    const char *begin = ++reader->at;
    size_t length = 0;
    for (; *reader->at != '\0' && (reader->at[0] != '"' || reader->at[1] == '"'); length++) {
        reader->at += *reader->at == '"' ? 2 : 1;
        if (length == QUOTED_BYTES_MAX) {
            return NULL;
        }
    }
    if (*reader->at == '\0' || !is_end_of_field(reader->at[1])) {
        return NULL;
    }
    reader->at++;
    char *text = arena_alloc(reader->arena, length + 1);
    for (size_t i = 0; i < length; i++) {
        text[i] = *begin;
        begin += *begin == '"' ? 2 : 1;
    }
    return text;
}

static const char *end_of_line(const char *at)
{
    at += strcspn(at, "\r\n");
    at += *at == '\r' ? 1 : 0;
    return at + (*at == '\n' ? 1 : 0);
}

/* The fields of a line; moves behind its end. Returns their number, or 0 when a quoted field at
 * *wrong does not end. */
static uint32_t read_line(struct reader *reader, const char **wrong)
{
    const char *line = reader->at;
    uint32_t count = 0;
    bool is_last = false;
    while (!is_last) {
        const char *begin = reader->at;
        const char *text;
        if (*begin == '"') {
            text = quoted_field(reader);
            if (text == NULL) {
                reader->at = end_of_line(line);
                *wrong = begin;
                return 0;
            }
        } else {
            while (!is_end_of_field(*reader->at)) {
                reader->at++;
            }
            text = reader->copy + (begin - reader->copied);
            reader->copy[reader->at - reader->copied] = '\0';
        }
        add_field(reader, text, begin);
        count++;
        is_last = *reader->at != ',';
        reader->at += is_last ? 0 : 1;
    }
    reader->at = end_of_line(reader->at);
    return count;
}

/* ---- the file --------------------------------------------------------------------------- */

static void skip_blank_lines(struct reader *reader)
{
    for (;;) {
        const size_t blanks = strspn(reader->at, " \t");
        const char end = reader->at[blanks];
        if (end != '\r' && end != '\n' && (end != '\0' || blanks == 0)) {
            return;
        }
        reader->at = end_of_line(reader->at);
    }
}

static bool check_names(const struct reader *reader)
{
    bool is_good = true;
    for (size_t i = 0; i < reader->count; i++) {
        const struct place place = text_file_place(reader->file, reader->begins[i]);
        for (size_t k = 0; k < i; k++) {
            if (reader->fields[i][0] != '\0' && strcmp(reader->fields[i], reader->fields[k]) == 0) {
                is_good = diag_add(reader->diag, DIAG_INPUT, &place, "there are two columns '%s'",
                                   reader->fields[i]);
                break;
            }
        }
    }
    return is_good;
}

static bool read_names(struct reader *reader, struct published_table *table)
{
    const char *wrong = reader->at;
    table->column_count = read_line(reader, &wrong);
    if (table->column_count == 0 || table->column_count > COLUMNS_MAX) {
        const struct place place = text_file_place(reader->file, wrong);
        diag_add(reader->diag, DIAG_INPUT, &place,
                 table->column_count == 0 ? "this quote is not closed" : "more than 256 columns");
        diag_help(reader->diag, "the first line names the columns, with commas between them");
        return false;
    }
    return check_names(reader);
}

/* Makes the row that begins at `first` of the fields as long as the others. */
static void fit_row(struct reader *reader, size_t first, uint32_t columns, const char *line)
{
    reader->count = reader->count < first + columns ? reader->count : first + columns;
    while (reader->count < first + columns) {
        add_field(reader, "", line);
    }
}

static struct published_problem row_problem(struct reader *reader, uint32_t count, uint32_t columns,
                                            const char *at)
{
    if (count == columns) {
        return (struct published_problem){.what = NULL};
    }
    if (count == 0) {
        return (struct published_problem){
            "a quoted field that does not end",
            "close it with '\"' before the comma, and write a quote in it twice", at};
    }
    return (struct published_problem){
        arena_printf(reader->arena, "%u fields, and %u columns in the first line", count, columns),
        count < columns ? "a blank field needs its comma, too"
                        : "a field with a comma in it stands in quotes",
        at};
}

static void read_row(struct reader *reader, struct published_table *table)
{
    const size_t first = reader->count;
    const char *line = reader->at;
    const char *at = line;
    const uint32_t count = read_line(reader, &at);
    if (count > table->column_count) {
        at = reader->begins[first + table->column_count]; /* the first that is too much */
    }
    reader->problems = arena_grow(reader->arena, reader->problems, &reader->problem_capacity,
                                  (size_t)table->row_count + 1, sizeof *reader->problems);
    reader->problems[table->row_count++] = row_problem(reader, count, table->column_count, at);
    fit_row(reader, first, table->column_count, line);
}

const struct published_table *published_load(struct arena *arena, const char *path,
                                             struct diag *diag)
{
    struct text_file file;
    return text_file_load(arena, path, FILE_BYTES_MAX, &file, diag) && text_file_check(&file, diag)
               ? published_parse(arena, &file, diag)
               : NULL;
}

const struct published_table *published_parse(struct arena *arena, const struct text_file *file,
                                              struct diag *diag)
{
    struct published_table *table = arena_alloc(arena, sizeof *table);
    table->path = file->path;
    table->file = *file;
    const char *text = table->file.text;
    struct reader reader = {.arena = arena, .diag = diag, .file = &table->file};
    reader.at = strncmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text;
    reader.copied = text;
    reader.copy = arena_strndup(arena, text, strlen(text));
    skip_blank_lines(&reader);
    if (!read_names(&reader, table)) {
        return NULL;
    }
    for (skip_blank_lines(&reader); *reader.at != '\0'; skip_blank_lines(&reader)) {
        read_row(&reader, table);
    }
    table->columns = reader.fields;
    table->titles = reader.begins;
    table->fields = reader.fields + table->column_count;
    table->begins = reader.begins + table->column_count;
    table->problems = reader.problems;
    return table;
}

/* ---- columns and fields ----------------------------------------------------------------- */

static bool is_name(const char *name, const char *other)
{
    return name[0] == other[0] && strcmp(name, other) == 0; /* the first letter tells most apart */
}

uint32_t published_column(const struct published_table *table, const char *column)
{
    uint32_t i = 0;
    while (i < table->column_count && !is_name(table->columns[i], column)) {
        i++;
    }
    return i;
}

bool published_has_columns(const struct published_table *table, const char *const *columns,
                           uint32_t count, struct diag *diag)
{
    const struct place place = {table->path, table->file.text, 1, 1, 1};
    char missing[LIST_BYTES_MAX] = "", needed[LIST_BYTES_MAX] = "";
    size_t length = 0, all = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int more =
            snprintf(needed + all, sizeof needed - all, "%s%s", i == 0 ? "" : ", ", columns[i]);
        all += (size_t)more;
        sim_assert(more > 0 && all < sizeof needed); /* a handful of short names of ours */
        if (published_column(table, columns[i]) == table->column_count) {
            length += (size_t)snprintf(missing + length, sizeof missing - length, "%s'%s'",
                                       length == 0 ? "" : ", ", columns[i]);
        }
    }
    if (length == 0) {
        return true;
    }
    diag_add(diag, DIAG_INPUT, &place, "columns are missing: %s", missing);
    diag_help(diag, "the first line names the columns; needed are %s", needed);
    return false;
}

const char *published_at(const struct published_table *table, uint32_t row, uint32_t column)
{
    return column < table->column_count ? table->fields[(size_t)row * table->column_count + column]
                                        : "";
}

const char *published_text(const struct published_table *table, uint32_t row, const char *column)
{
    return published_at(table, row, published_column(table, column));
}

bool published_number_at(const struct published_table *table, uint32_t row, uint32_t column,
                         double *value)
{
    const char *text = published_at(table, row, column);
    const struct text_span span = {text, text + strlen(text)};
    return text[0] != '\0' && text_span_number(span, value);
}

bool published_number(const struct published_table *table, uint32_t row, const char *column,
                      double *value)
{
    return published_number_at(table, row, published_column(table, column), value);
}

struct place published_place(const struct published_table *table, uint32_t row, const char *column)
{
    const uint32_t i = published_column(table, column);
    const size_t field = (size_t)row * table->column_count + (i < table->column_count ? i : 0);
    const bool is_problem = i == table->column_count && table->problems[row].what != NULL;
    return text_file_place(&table->file,
                           is_problem ? table->problems[row].at : table->begins[field]);
}

struct place published_column_place(const struct published_table *table, uint32_t column)
{
    return text_file_place(&table->file, table->titles[column]);
}
