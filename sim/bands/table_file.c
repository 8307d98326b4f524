/* One loop over the columns reads a line, another writes it; what a value is, its column says. */
#include "bands/table_file.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/path.h"
#include "bands/csv.h"
#include "input/catalogue.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const double RATIO_LEAST = 1e-6, RATIO_MOST = 1e6;

static double unit_of(const struct table_column *column)
{
    return column->unit > 0 ? column->unit : 1;
}

/* ---- reading ----------------------------------------------------------------------------- */

struct reading {
    const struct published_table *table;
    const struct table_file *file;
    struct diag *diag;
};

/* A value of the file. */
struct cell {
    const struct table_column *column;
    uint32_t row, at; /* `at`: the column's place in the file */
};

static bool refuse(const struct reading *reading, const struct cell *cell, const char *message)
{
    const struct place place = published_place(reading->table, cell->row, cell->column->name);
    diag_add(reading->diag, DIAG_INPUT, &place, "%s", message);
    if (reading->file->remedy != NULL) {
        diag_help(reading->diag, "%s", reading->file->remedy);
    }
    return false;
}

/* "measured_gb 'x' is no size in GB". */
static bool refuse_number(const struct reading *reading, const struct cell *cell)
{
    const struct table_column *column = cell->column;
    const char *text = published_at(reading->table, cell->row, cell->at);
    char message[256];
    if (column->what != NULL) {
        snprintf(message, sizeof message, "%s '%.100s' is no %s", column->name, text, column->what);
    } else {
        snprintf(message, sizeof message, "%s '%.100s' is no number from %g on", column->name, text,
                 column->least);
    }
    return refuse(reading, cell, message);
}

static bool read_number(const struct reading *reading, const struct cell *cell, double *value)
{
    const struct table_column *column = cell->column;
    const char *text = published_at(reading->table, cell->row, cell->at);
    if (column->is_optional && text[0] == '\0') {
        *value = column->blank;
        return true;
    }
    const bool is_ratio = column->kind == TABLE_RATIO_KIND;
    const double least = is_ratio ? RATIO_LEAST : column->least;
    const double most = is_ratio ? RATIO_MOST : column->most;
    if (!published_number_at(reading->table, cell->row, cell->at, value) || *value < least ||
        *value > most) {
        return refuse_number(reading, cell);
    }
    *value = is_ratio ? log(*value) : *value * unit_of(column);
    return true;
}

static const char *word_of(const struct table_column *column, uint32_t number)
{
    return column->words != NULL ? column->words[number] : column->word(number);
}

static bool read_word(const struct reading *reading, const struct cell *cell, uint32_t *number)
{
    const struct table_column *column = cell->column;
    enum { WORDS_MAX = 64 };
    const char *words[WORDS_MAX];
    const char *text = published_at(reading->table, cell->row, cell->at);
    const uint32_t count = column->words_end != NULL ? *column->words_end : column->word_count;
    sim_assert(count > 0 && count <= WORDS_MAX);
    for (*number = 0; *number < count; *number += 1) {
        words[*number] = word_of(column, *number);
        if (strcmp(words[*number], text) == 0) {
            return true;
        }
    }
    const struct place place = published_place(reading->table, cell->row, column->name);
    diag_add(reading->diag, DIAG_INPUT, &place, column->wrong, text);
    diag_help_nearest(reading->diag, diag_nearest(text, words, count),
                      reading->file->remedy != NULL ? reading->file->remedy : words[0]);
    return false;
}

static bool read_field(const struct reading *reading, const struct cell *cell, char *item)
{
    double number = 0;
    uint32_t word = 0;
    void *at = item + cell->column->offset;
    switch (cell->column->kind) {
    case TABLE_TEXT_KIND:
        *(const char **)at = published_at(reading->table, cell->row, cell->at);
        return true;
    case TABLE_NUMBER_KIND:
    case TABLE_RATIO_KIND:
        return read_number(reading, cell, at);
    case TABLE_COUNT_KIND:
        if (!read_number(reading, cell, &number)) {
            return false;
        }
        *(int64_t *)at = (int64_t)number;
        return true;
    case TABLE_WORD_KIND:
        return read_word(reading, cell, at);
    case TABLE_SWITCH_KIND:
        if (!read_word(reading, cell, &word)) {
            return false;
        }
        *(bool *)at = word == 1;
        return true;
    }
    sim_assert(false);
    return false;
}

/* `ats`: where the file has each column. */
static bool read_row(const struct reading *reading, const uint32_t *ats, uint32_t row, char *item)
{
    const struct published_problem *problem = &reading->table->problems[row];
    if (problem->what != NULL) {
        const struct place place = published_place(reading->table, row, "");
        return diag_add(reading->diag, DIAG_INPUT, &place, "%s", problem->what);
    }
    for (uint32_t i = 0; i < reading->file->column_count; i++) {
        const struct cell cell = {&reading->file->columns[i], row, ats[i]};
        if (!read_field(reading, &cell, item)) {
            return false;
        }
    }
    return true;
}

const struct published_table *table_file_read(struct arena *arena, const char *path,
                                              const struct table_file *file, void **items,
                                              struct diag *diag)
{
    const struct reading reading = {published_load(arena, path, diag), file, diag};
    const char **names = arena_array(arena, file->column_count, sizeof *names);
    for (uint32_t i = 0; i < file->column_count; i++) {
        names[i] = file->columns[i].name;
    }
    if (reading.table == NULL ||
        !published_has_columns(reading.table, names, file->column_count, diag)) {
        return NULL;
    }
    uint32_t *ats = arena_array(arena, file->column_count, sizeof *ats);
    for (uint32_t i = 0; i < file->column_count; i++) {
        ats[i] = published_column(reading.table, names[i]);
    }
    char *read = arena_array(arena, reading.table->row_count + (size_t)1, file->item_bytes);
    for (uint32_t i = 0; i < reading.table->row_count; i++) {
        if (!read_row(&reading, ats, i, read + i * file->item_bytes)) {
            return NULL;
        }
    }
    *items = read;
    return reading.table;
}

/* ---- writing ----------------------------------------------------------------------------- */

static void write_text(const struct table_column *column, const char *text, FILE *out)
{
    if (column->is_quoted) {
        csv_write_quoted(text, out);
    } else {
        fputs(text, out);
    }
}

static bool is_blank(const struct table_column *column, double value)
{
    return column->is_optional &&
           (is_absent(column->blank) ? is_absent(value) : !(value > column->blank));
}

static void write_number(const struct table_column *column, double value, FILE *out)
{
    if (!is_blank(column, value)) {
        char text[64];
        snprintf(text, sizeof text, column->format, value);
        fputs(text, out);
    }
}

static void write_field(const struct table_column *column, const char *item, FILE *out)
{
    const void *at = item + column->offset;
    switch (column->kind) {
    case TABLE_TEXT_KIND:
        write_text(column, *(const char *const *)at, out);
        return;
    case TABLE_NUMBER_KIND:
        write_number(column, *(const double *)at / unit_of(column), out);
        return;
    case TABLE_RATIO_KIND:
        write_number(column, exp(*(const double *)at), out);
        return;
    case TABLE_COUNT_KIND:
        fprintf(out, "%" PRId64, *(const int64_t *)at);
        return;
    case TABLE_WORD_KIND:
        write_text(column, word_of(column, *(const uint32_t *)at), out);
        return;
    case TABLE_SWITCH_KIND:
        write_text(column, word_of(column, *(const bool *)at), out);
        return;
    }
}

void table_file_write(const struct table_file *file, const void *items, uint32_t count, FILE *out)
{
    for (uint32_t i = 0; i < file->column_count; i++) {
        fprintf(out, "%s%s", i == 0 ? "" : ",", file->columns[i].name);
    }
    fputc('\n', out);
    for (uint32_t row = 0; row < count; row++) {
        for (uint32_t i = 0; i < file->column_count; i++) {
            fputs(i == 0 ? "" : ",", out);
            write_field(&file->columns[i], (const char *)items + row * file->item_bytes, out);
        }
        fputc('\n', out);
    }
}

bool table_file_save(struct arena *arena, const char *path, const struct table_file *file,
                     const void *items, uint32_t count, struct diag *diag)
{
    struct path_file whole;
    if (!path_begin(arena, path, &whole, diag)) {
        return false;
    }
    table_file_write(file, items, count, whole.out);
    return path_end(&whole, true, diag);
}

/* ---- of the catalogue -------------------------------------------------------------------- */

bool catalogue_wish_load(struct arena *arena, const struct catalogue *catalogue,
                         const struct catalogue_wish *wish, void *into, const char **reason,
                         struct diag *diag)
{
    const char *path = catalogue_file(arena, catalogue, wish->name);
    struct diag *own = diag_new(arena);
    *reason = arena_printf(arena, "the catalogue has no %s", wish->name);
    if (path == NULL) {
        return false;
    }
    if (wish->read(arena, path, into, own)) {
        return true;
    }
    *reason = diag_first_error_at(arena, own);
    if (wish->remedy != NULL) {
        *reason = arena_printf(arena, "%s; %s", *reason, wish->remedy);
    }
    if (diag_exit_status(own) == 1) { /* not its contents: a disk that fails, no memory */
        diag_add(diag, DIAG_FAILURE, NULL, "no %s: %s", wish->lost, *reason);
    }
    return false;
}
