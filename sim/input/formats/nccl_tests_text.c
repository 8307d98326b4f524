/* Reads the text that nccl-tests prints, line by line. */
#include "input/formats/nccl_tests.h"

#include "base/arena.h"
#include "input/doc/name_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    WORDS_MAX = 64, /* of a line that are looked at; a row has at most 24 */
    COLUMNS_MAX = 8 /* up to the first time */
};
static const double TIME_MAX_S = 1e5;

enum column {
    COLUMN_SIZE,
    COLUMN_COUNT,
    COLUMN_TYPE,
    COLUMN_REDOP,
    COLUMN_ROOT,
    COLUMN_OTHER,
    COLUMN_TIME
};

struct reader {
    struct arena *arena;
    const struct text_file *file;
    const struct nccl_tests_hints *hints;
    struct measurement_list *list;
    struct diag *diag;

    struct nccl_tests_run run;
    struct name_table hosts; /* of the group of the first rank */
    struct name_table ranks; /* "GROUP:RANK" of all */
    const char *first_group;
    bool has_table_after_ranks; /* the next rank line begins another run */

    enum column columns[COLUMNS_MAX]; /* up to the first time; none before a header */
    uint32_t column_count;
    uint32_t after_time_count; /* columns behind it, of out of place and in place */
    const char *header;        /* where it stands */

    bool is_open;          /* the last element of the list is being filled */
    const char *open_kind; /* type and reduction of its rows: "float sum" */
    double last_bytes;
    double last_ratio; /* bus over algorithm bandwidth in its last row; 0: too small to tell */
    bool is_in_place;  /* its rows have no times out of place */
    bool is_bad;
};

static bool report(struct reader *reader, const char *at, const char *message)
{
    const struct place place = text_file_place(reader->file, at);
    reader->is_bad = true;
    return diag_add(reader->diag, DIAG_INPUT, &place, "%s", message);
}

static void warn(const struct reader *reader, const char *at, const char *message)
{
    const struct place place = text_file_place(reader->file, at);
    diag_add(reader->diag, DIAG_WARNING, &place, "%s", message);
}

/* Printed bandwidths have two decimals or three digits, so a ratio is good to a few percent. */
static void check_ratio(const struct reader *reader, const struct measurement *measurement)
{
    const double factor = measurement_bus_factor(measurement->operation, measurement->gpus);
    if (reader->last_ratio <= 0.0 || fabs(reader->last_ratio / factor - 1.0) < 0.02) {
        return;
    }
    diag_add(reader->diag, DIAG_WARNING, &measurement->place,
             "bus bandwidth is %.3f of algorithm bandwidth here, but for %s on %" PRId64
             " GPUs it is %.3f",
             reader->last_ratio, measurement->operation, measurement->gpus, factor);
    diag_help(reader->diag, "is the number of GPUs right? --gpus N says it");
}

static void close_measurement(struct reader *reader)
{
    if (!reader->is_open) {
        return;
    }
    reader->is_open = false;
    struct measurement *last = &reader->list->items[reader->list->count - 1];
    if (last->point_count == 0) {
        reader->list->count--;
        return;
    }
    last->note = reader->open_kind;
    if (!nccl_tests_finish(reader->arena, &reader->run, reader->hints, reader->list,
                           reader->diag)) {
        reader->is_bad = true;
        return;
    }
    check_ratio(reader, last);
    if (reader->is_in_place) {
        diag_add(reader->diag, DIAG_WARNING, &last->place,
                 "this table has in-place times only; they are taken");
    }
}

static void open_measurement(struct reader *reader, const char *kind)
{
    close_measurement(reader);
    struct measurement *measurement = measurement_add(reader->arena, reader->list);
    measurement->place = text_file_place(reader->file, reader->header);
    reader->is_open = true;
    reader->open_kind = kind;
    reader->last_bytes = 0.0;
    reader->last_ratio = 0.0;
    reader->is_in_place = false;
}

/* ---- comments --------------------------------------------------------------- */

static enum column column_of(struct text_span word)
{
    static const char *const names[] = {"size", "count", "type", "redop", "root"};
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (text_span_is(word, names[i])) {
            return (enum column)i;
        }
    }
    const bool is_time = text_span_is(word, "time") || text_span_is(word, "cputime");
    return is_time ? COLUMN_TIME : COLUMN_OTHER;
}

/* "# size count type redop root time algbw busbw #wrong time ..."; words[0] is "#". */
static bool read_header(struct reader *reader, const struct text_span *words, uint32_t count)
{
    uint32_t time_at = 1;
    while (time_at < count && column_of(words[time_at]) != COLUMN_TIME) {
        time_at++;
    }
    if (count < 3 || column_of(words[1]) != COLUMN_SIZE || time_at == count ||
        time_at > COLUMNS_MAX) {
        return false;
    }
    close_measurement(reader);
    reader->column_count = 0;
    for (uint32_t i = 1; i <= time_at; i++) {
        reader->columns[reader->column_count++] = column_of(words[i]);
    }
    reader->after_time_count = count - time_at - 1;
    reader->header = words[0].begin;
    reader->has_table_after_ranks = true;
    return true;
}

static void forget_ranks(struct reader *reader)
{
    name_table_init(&reader->hosts, reader->arena);
    name_table_init(&reader->ranks, reader->arena);
    reader->first_group = NULL;
    reader->has_table_after_ranks = false;
    reader->run.gpus = 0;
    reader->run.nodes = 0;
    reader->run.gpu_name = NULL;
}

/* The word after `name`; NULL when there is none. */
static const struct text_span *word_after(const struct text_span *words, uint32_t count,
                                          const char *name)
{
    for (uint32_t i = 0; i + 1 < count; i++) {
        if (text_span_is(words[i], name)) {
            return &words[i + 1];
        }
    }
    return NULL;
}

/* The name of the GPU stands behind its bus address in brackets. */
static const char *gpu_name_of(struct arena *arena, struct text_span line)
{
    const char *bracket = memchr(line.begin, ']', text_span_length(line));
    if (bracket == NULL) {
        return NULL;
    }
    struct text_span words[WORDS_MAX];
    const uint32_t count = text_words((struct text_span){bracket + 1, line.end}, words, WORDS_MAX);
    return count == 0
               ? NULL
               : text_span_copy(arena, (struct text_span){words[0].begin, words[count - 1].end});
}

/* "# Rank 0 Group 0 Pid 77 on node1 device 0 [0000:1b:00] NVIDIA H100"; old ones have no group. */
static bool read_rank(struct reader *reader, struct text_span line, const struct text_span *words,
                      uint32_t count)
{
    const struct text_span *rank = word_after(words, count, "Rank");
    const struct text_span *host = word_after(words, count, "on");
    const struct text_span *group = word_after(words, count, "Group");
    int64_t number = 0;
    if (count < 2 || rank != &words[2] || host == NULL || !text_span_count(*rank, &number)) {
        return false;
    }
    if (reader->has_table_after_ranks) {
        close_measurement(reader);
        forget_ranks(reader);
    }
    struct arena *arena = reader->arena;
    const char *group_name = group == NULL ? "0" : text_span_copy(arena, *group);
    bool is_new = false;
    name_table_add(&reader->ranks, arena_printf(arena, "%s:%" PRId64, group_name, number), &is_new);
    if (!is_new && reader->hints->gpus == 0) {
        report(reader, rank->begin, "this rank is listed twice");
        diag_help(reader->diag, "two processes that formed no group (nccl-tests built without "
                                "MPI=1?), or two outputs mixed");
        return true;
    }
    if (reader->first_group == NULL) {
        reader->first_group = group_name;
        reader->run.gpu_name = gpu_name_of(arena, line);
    }
    if (strcmp(reader->first_group, group_name) == 0) {
        name_table_add(&reader->hosts, text_span_copy(arena, *host), &is_new);
        reader->run.gpus++;
        reader->run.nodes = reader->hosts.count;
    }
    return true;
}

/* "# nccl-tests version 2.19.6 nccl-headers=22707 nccl-library=22707" */
static bool read_version(struct reader *reader, const struct text_span *words, uint32_t count)
{
    static const char key[] = "nccl-library=";
    for (uint32_t i = 1; i < count; i++) {
        int64_t code = 0;
        if (text_span_length(words[i]) > sizeof key - 1 &&
            memcmp(words[i].begin, key, sizeof key - 1) == 0 &&
            text_span_count((struct text_span){words[i].begin + sizeof key - 1, words[i].end},
                            &code)) {
            const char *library = nccl_tests_library(reader->arena, code);
            reader->run.library = library != NULL ? library : reader->run.library;
            return true;
        }
    }
    return false;
}

/* ---- any line --------------------------------------------------------------------- */

/* "NCCL_ALGO set by environment to Ring" as NCCL_DEBUG prints it; NULL when it is not here. */
static const char *forced_by_log(struct arena *arena, const struct text_span *words, uint32_t count,
                                 const char *name)
{
    if (count < 6 || !text_span_is(words[0], name) || !text_span_is(words[1], "set") ||
        !text_span_is(words[3], "environment")) {
        return NULL;
    }
    const char *value = text_span_copy(arena, words[5]);
    return nccl_tests_forced(arena, arena_printf(arena, "%s=%s", name, value), name);
}

static void take_forced(struct reader *reader, const struct text_span *words, uint32_t count,
                        const char *word)
{
    static const char *const names[] = {"NCCL_ALGO", "NCCL_PROTO"};
    const char **const values[] = {&reader->run.algorithm, &reader->run.protocol};
    for (uint32_t i = 0; i < 2; i++) {
        const char *value = nccl_tests_forced(reader->arena, word, names[i]);
        value = value != NULL ? value : forced_by_log(reader->arena, words, count, names[i]);
        *values[i] = value != NULL ? value : *values[i];
    }
}

/* Command lines and NCCL's own messages that can matter. */
static bool has_words(struct text_span line)
{
    return text_span_find(line, "_perf") != NULL || text_span_find(line, "NCCL_ALGO") != NULL ||
           text_span_find(line, "NCCL_PROTO") != NULL ||
           text_span_find(line, "CCL version") != NULL;
}

bool nccl_tests_wants(struct text_span line)
{
    const struct text_span bare = text_bare(line);
    const bool is_told = bare.begin < bare.end && strchr("#0123456789", *bare.begin) != NULL;
    return is_told || has_words(line);
}

static void read_log(struct reader *reader, struct text_span line)
{
    if (!has_words(line)) {
        return;
    }
    struct text_span words[WORDS_MAX];
    const uint32_t count = text_words(line, words, WORDS_MAX);
    struct arena *arena = reader->arena;
    for (uint32_t i = 0; i < count; i++) {
        const char *word = text_span_copy(arena, words[i]);
        const char *operation = nccl_tests_operation(word);
        if (operation != NULL) {
            close_measurement(reader);
            reader->run.operation = operation;
        }
        take_forced(reader, &words[i], count - i, word);
        const bool is_library = strcmp(word, "NCCL") == 0 || strcmp(word, "RCCL") == 0;
        if (is_library && i + 2 < count && text_span_is(words[i + 1], "version")) {
            const char *version = text_span_copy(arena, words[i + 2]);
            reader->run.library =
                arena_printf(arena, "%s %.*s", word, (int)strcspn(version, "+"), version);
        }
    }
}

static void read_comment(struct reader *reader, struct text_span line)
{
    struct text_span words[WORDS_MAX];
    uint32_t count = text_words(line, words, WORDS_MAX);
    if (count > 0 && text_span_is(words[count - 1], "...")) {
        count--;
    }
    if (read_header(reader, words, count) || read_rank(reader, line, words, count) ||
        read_version(reader, words, count)) {
        return;
    }
    if (count > 2 && text_span_is(words[1], "Using") && text_span_is(words[2], "devices")) {
        close_measurement(reader);
        forget_ranks(reader);
    }
    if (count > 2 && text_span_is(words[1], "Avg") && text_span_is(words[2], "bus")) {
        close_measurement(reader); /* what is forced from here on, belongs to the next run */
        reader->run.algorithm = NULL;
        reader->run.protocol = NULL;
        reader->column_count = 0;
    }
    read_log(reader, line);
}

/* ---- rows -------------------------------------------------------------------------- */

/* A row up to its first time. */
struct row {
    int64_t bytes;
    const char *kind; /* "float sum" */
    double time_us;
    struct text_span time;
    uint32_t after_time; /* index of the word behind it */
};

enum row_result { ROW_GOOD, ROW_CUT, ROW_BAD };

/* Takes the words of one row by the columns of the header; *at is where it fails. Reductions
 * that are left blank, as old versions do where there is none, are no words. */
static enum row_result split_row(const struct reader *reader, const struct text_span *words,
                                 uint32_t count, struct row *row, const char **at)
{
    uint32_t next = 0;
    int64_t ignored = 0;
    for (uint32_t i = 0; i < reader->column_count; i++) {
        if (next == count) {
            return ROW_CUT;
        }
        const struct text_span word = words[next];
        const bool is_count = text_span_count(word, &ignored);
        const enum column column = reader->columns[i];
        *at = word.begin;
        if (column == COLUMN_REDOP && is_count) {
            continue;
        }
        next++;
        if (column == COLUMN_SIZE) {
            row->bytes = ignored;
        }
        if ((column == COLUMN_SIZE || column == COLUMN_COUNT) && !is_count) {
            return ROW_BAD;
        }
        if (column == COLUMN_TYPE || column == COLUMN_REDOP) {
            char *text = text_span_copy(reader->arena, word);
            const bool is_none = strcmp(text, "none") == 0;
            row->kind = row->kind == NULL ? text
                        : is_none         ? row->kind
                                          : arena_printf(reader->arena, "%s %s", row->kind, text);
        }
        if (column == COLUMN_TIME) {
            row->time = word;
        }
    }
    row->after_time = next;
    *at = row->time.begin;
    return text_span_number(row->time, &row->time_us) ? ROW_GOOD : ROW_BAD;
}

static void report_row(struct reader *reader, const char *at, bool is_last, enum row_result result)
{
    if (result == ROW_CUT && is_last) {
        warn(reader, at, "the last line is cut off; it is left out");
        return;
    }
    report(reader, at, result == ROW_CUT ? "this row ends too early" : "this is no number");
    diag_help(reader->diag, "a row holds what the table's header says: size, count, type, ..., "
                            "time, algbw, busbw");
}

/* The row belongs to the open measurement, or begins one. */
static bool place_row(struct reader *reader, const struct row *row, const char *at)
{
    const char *kind = row->kind == NULL ? "" : row->kind;
    const double bytes = (double)row->bytes;
    const bool is_same_kind = reader->is_open && strcmp(reader->open_kind, kind) == 0;
    if (is_same_kind && bytes > 0.0 && bytes == reader->last_bytes) {
        warn(reader, at, "this size stands twice; its first row is taken");
        return false;
    }
    if (!is_same_kind || bytes < reader->last_bytes) {
        open_measurement(reader, kind);
    }
    return bytes > 0.0; /* too small for so many ranks: nothing was sent */
}

static void take_ratio(struct reader *reader, const struct text_span *words, const struct row *row,
                       uint32_t count)
{
    double algorithm = 0.0;
    double bus = 0.0;
    const bool has_both = row->after_time + 1 < count &&
                          text_span_number(words[row->after_time], &algorithm) &&
                          text_span_number(words[row->after_time + 1], &bus);
    if (has_both && algorithm >= 2.0 && bus > 0.0) { /* two decimals say enough from here on */
        reader->last_ratio = bus / algorithm;
    }
}

static void report_headless(struct reader *reader, const struct text_span *words, uint32_t count)
{
    int64_t elements = 0;
    if (count >= 8 && text_span_count(words[1], &elements)) {
        report(reader, words[0].begin, "this looks like a row, but no header came before it");
        diag_help(reader->diag, "keep the line '#  size  count  type  redop  root  time ...'");
    }
}

static bool is_nan(struct text_span word)
{
    return word.begin != NULL &&
           (text_span_is_word(word, "nan") || text_span_is_word(word, "-nan"));
}

static void read_row(struct reader *reader, struct text_span line, bool is_last)
{
    struct text_span words[WORDS_MAX];
    const uint32_t count = text_words(line, words, WORDS_MAX);
    struct row row = {.bytes = 0};
    const char *at = line.begin;
    if (reader->column_count == 0) {
        report_headless(reader, words, count);
        return;
    }
    enum row_result result = split_row(reader, words, count, &row, &at);
    if ((result == ROW_GOOD && row.after_time == count && reader->after_time_count > 0) ||
        (result == ROW_BAD && is_last && row.time.begin == NULL)) {
        result = ROW_CUT; /* the time may lack digits */
    }
    if (result == ROW_BAD && is_nan(row.time)) {
        warn(reader, at, "this time is not a number; the row is left out");
        return;
    }
    if (result != ROW_GOOD && text_span_find(line, " NCCL ") != NULL) {
        warn(reader, words[0].begin, "a message of NCCL fell into this row; it is left out");
        return;
    }
    if (result != ROW_GOOD) {
        report_row(reader, result == ROW_CUT ? words[0].begin : at, is_last, result);
        return;
    }
    if (!place_row(reader, &row, words[0].begin)) {
        return;
    }
    if (row.time_us <= 0.0 || row.time_us > TIME_MAX_S * 1e6) {
        warn(reader, at, "no collective takes this long; the row is left out");
        return;
    }
    struct measurement *last = &reader->list->items[reader->list->count - 1];
    measurement_add_point(reader->arena, last,
                          (struct measured_point){(double)row.bytes, row.time_us * 1e-6});
    reader->last_bytes = (double)row.bytes;
    reader->is_in_place = reader->is_in_place ||
                          (!is_last && (count - row.after_time) * 2 <= reader->after_time_count);
    take_ratio(reader, words, &row, count);
}

/* ---- all ------------------------------------------------------------------------------ */

static void read_line(struct reader *reader, struct text_span line, bool is_last)
{
    line = text_bare(line);
    const char *at = line.begin;
    const struct text_span word = text_word(&at, line.end);
    int64_t size = 0;
    if (word.begin == word.end) {
        return;
    }
    if (*word.begin == '#') {
        read_comment(reader, line);
    } else if (text_span_count(word, &size)) {
        read_row(reader, line, is_last);
    } else {
        read_log(reader, line);
    }
}

bool nccl_tests_read(struct arena *arena, const struct text_file *file,
                     const struct nccl_tests_hints *hints, struct measurement_list *list,
                     struct diag *diag)
{
    struct reader *reader = arena_alloc(arena, sizeof *reader);
    *reader =
        (struct reader){.arena = arena, .file = file, .hints = hints, .list = list, .diag = diag};
    forget_ranks(reader);
    const char *slash = strrchr(file->path, '/');
    reader->run.operation = nccl_tests_operation(slash == NULL ? file->path : slash + 1);
    const uint32_t before = list->count;
    const char *next = file->text;
    while (next != NULL) {
        const struct text_span line = text_line(next, &next);
        read_line(reader, line, next == NULL);
    }
    close_measurement(reader);
    if (reader->is_bad) {
        return false;
    }
    if (list->count == before) {
        const struct place whole = {.file = file->path};
        diag_add(diag, DIAG_INPUT, &whole, "there is no table of results in this file");
        diag_help(diag, "nccl-tests prints '#  size  count  type ...' and a row for each size; "
                        "our own YAML begins with 'measurements:'");
        return false;
    }
    return true;
}
