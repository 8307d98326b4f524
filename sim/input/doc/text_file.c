/* Reads a file whole or line by line, and finds lines, words and numbers in its
 * text. It scans plainly, and every loop ends at the end of the text.
 */
#include "input/doc/text_file.h"

#include "base/arena.h"
#include "base/decimal.h"
#include "input/doc/text_source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    COUNT_DIGITS_MAX = 15,
    NUMBER_BYTES_MAX = 63,
    LABEL_MAX = 32,
    CHUNK_BYTES = 65536,
    BLOCK_BYTES = 65536, /* text_file.newlines */
    LINE_BYTES_MAX = 1 << 20
};

/* ---- files ------------------------------------------------------------- */

static uint32_t count_newlines(const char *begin, const char *end)
{
    uint32_t count = 0;
    for (const char *at = memchr(begin, '\n', (size_t)(end - begin)); at != NULL;
         at = memchr(at + 1, '\n', (size_t)(end - at - 1))) {
        count++;
    }
    return count;
}

/* So that a message about a long text costs no walk over it. */
static void index_lines(struct arena *arena, struct text_file *file)
{
    const size_t blocks = file->length / BLOCK_BYTES + 1;
    uint32_t *newlines = arena_array(arena, blocks, sizeof *newlines);
    for (size_t i = 1; i < blocks; i++) {
        const char *begin = file->text + (i - 1) * BLOCK_BYTES;
        newlines[i] = newlines[i - 1] + count_newlines(begin, begin + BLOCK_BYTES);
    }
    file->newlines = newlines;
}

static bool refuse_size(const struct place *place, size_t size_bytes, size_t bytes_max,
                        struct diag *diag)
{
    return size_bytes > 0
               ? diag_add(diag, DIAG_INPUT, place,
                          "this file has %zu bytes; at most %zu (%zu MiB) are read", size_bytes,
                          bytes_max, bytes_max >> 20)
               : diag_add(diag, DIAG_INPUT, place,
                          "this file has more than %zu bytes (%zu MiB); no more are read",
                          bytes_max, bytes_max >> 20);
}

/* All of the source, if it is not too much. */
static bool take_all(struct arena *arena, struct text_source *source, size_t bytes_max,
                     struct text_file *file, struct diag *diag)
{
    const struct place place = {.file = file->path};
    const size_t size_bytes = text_source_bytes(source);
    if (size_bytes > bytes_max) {
        return refuse_size(&place, size_bytes, bytes_max, diag);
    }
    char *text = NULL;
    size_t capacity = 0, more = 1;
    while (more > 0 && (size_bytes == 0 || file->length < size_bytes)) {
        const size_t needed = size_bytes > 0 ? size_bytes + 1 : file->length + CHUNK_BYTES + 1;
        text = arena_grow(arena, text, &capacity, needed, 1);
        const size_t room = needed - 1 - file->length;
        if (!text_source_read(source, text + file->length, room, &more, diag)) {
            return false;
        }
        file->length += more;
        if (file->length > bytes_max) {
            return refuse_size(&place, 0, bytes_max, diag);
        }
    }
    text = arena_grow(arena, text, &capacity, file->length + 1, 1);
    text[file->length] = '\0';
    file->text = text;
    return true;
}

bool text_file_load(struct arena *arena, const char *path, size_t bytes_max, struct text_file *file,
                    struct diag *diag)
{
    *file = (struct text_file){.path = text_source_name(path), .text = ""};
    struct text_source *source = text_source_open(arena, path, diag);
    if (source == NULL) {
        return false;
    }
    const bool is_good = take_all(arena, source, bytes_max, file, diag);
    text_source_close(source);
    index_lines(arena, file);
    return is_good;
}

/* ---- line by line -------------------------------------------------------------------------- */

/* A text that is being read: lines that were judged, then bytes that have no end yet. */
struct intake {
    struct arena *arena;
    const struct text_sieve *sieve;
    const char *path;
    char *text;
    size_t capacity, length;
    size_t judged;   /* bytes of whole lines that are kept */
    size_t searched; /* up to where no line ends behind them */
    uint32_t line;   /* number of the line behind them */
    bool has_gap;    /* the line before it was left out */
    struct text_part *parts;
    size_t part_capacity, part_count;
};

static bool is_wanted(const struct intake *intake, struct text_span line, size_t bytes)
{
    return intake->judged + bytes <= intake->sieve->whole_bytes ||
           intake->sieve->is_wanted(intake->sieve->context, line);
}

/* A line of `bytes` at `from`, its end among them, is moved to those that are kept, or left out. */
static void judge_line(struct intake *intake, size_t from, size_t bytes)
{
    const char *begin = intake->text + from;
    const char *unused;
    const struct text_span line = text_line(begin, &unused);
    if (!is_wanted(intake, line, bytes)) {
        intake->has_gap = true;
        return;
    }
    if (intake->has_gap) {
        intake->parts = arena_grow(intake->arena, intake->parts, &intake->part_capacity,
                                   intake->part_count + 1, sizeof *intake->parts);
        intake->parts[intake->part_count++] =
            (struct text_part){intake->judged, intake->path, intake->line};
        intake->has_gap = false;
    }
    memmove(intake->text + intake->judged, begin, bytes);
    intake->judged += bytes;
}

/* Judges all lines that end; what is behind them follows those that are kept. */
static void sift(struct intake *intake)
{
    char *text = intake->text;
    size_t from = intake->judged;
    text[intake->length] = '\0';
    for (char *end = memchr(text + intake->searched, '\n', intake->length - intake->searched);
         end != NULL; end = memchr(text + from, '\n', intake->length - from)) {
        const size_t bytes = (size_t)(end + 1 - text) - from;
        judge_line(intake, from, bytes);
        intake->line++;
        from += bytes;
    }
    size_t rest = intake->length - from;
    memmove(text + intake->judged, text + from, rest);
    if (intake->judged + rest > intake->sieve->whole_bytes && rest > LINE_BYTES_MAX) {
        rest = LINE_BYTES_MAX;
    }
    intake->length = intake->judged + rest;
    intake->searched = intake->length;
}

static bool take_lines(struct intake *intake, struct text_source *source, struct diag *diag)
{
    for (size_t more = 1; more > 0;) {
        intake->text = arena_grow(intake->arena, intake->text, &intake->capacity,
                                  intake->length + CHUNK_BYTES + 1, 1);
        if (!text_source_read(source, intake->text + intake->length, CHUNK_BYTES, &more, diag)) {
            return false;
        }
        intake->length += more;
        if (intake->length > intake->sieve->whole_bytes) {
            sift(intake);
        }
    }
    const size_t rest = intake->length - intake->judged;
    intake->text[intake->length] = '\0';
    if (intake->length > intake->sieve->whole_bytes && rest > 0) {
        judge_line(intake, intake->judged, rest);
        intake->length = intake->judged;
        intake->text[intake->length] = '\0';
    }
    return true;
}

bool text_file_stream(struct arena *arena, const char *path, const struct text_sieve *sieve,
                      struct text_file *file, struct diag *diag)
{
    struct intake intake = {
        .arena = arena, .sieve = sieve, .path = text_source_name(path), .line = 1};
    struct text_source *source = text_source_open(arena, path, diag);
    if (source == NULL) {
        return false;
    }
    const bool is_good = take_lines(&intake, source, diag);
    text_source_close(source);
    *file = (struct text_file){.path = intake.path,
                               .text = is_good ? intake.text : "",
                               .length = is_good ? intake.length : 0,
                               .parts = intake.parts,
                               .part_count = intake.part_count};
    index_lines(arena, file);
    return is_good;
}

/* ---- several files --------------------------------------------------------------------------- */

struct text_file text_file_join(struct arena *arena, const struct text_file *files, uint32_t count)
{
    size_t bytes = 1, parts = count;
    for (uint32_t i = 0; i < count; i++) {
        bytes += files[i].length + 1;
        parts += files[i].part_count;
    }
    char *text = arena_alloc(arena, bytes);
    struct text_part *part = arena_array(arena, parts, sizeof *part);
    struct text_file joined = {
        .path = files[0].path, .text = text, .parts = part, .part_count = parts};
    for (uint32_t i = 0; i < count; i++) {
        const struct text_file *file = &files[i];
        *part++ = (struct text_part){joined.length, file->path, 1};
        for (size_t k = 0; k < file->part_count; k++) {
            *part = file->parts[k];
            part++->at += joined.length;
        }
        memcpy(text + joined.length, file->text, file->length);
        joined.length += file->length;
        if (file->length > 0 && text[joined.length - 1] != '\n') {
            text[joined.length++] = '\n';
        }
    }
    index_lines(arena, &joined);
    return joined;
}

/* ---- what it holds --------------------------------------------------------------------------- */

bool text_file_check(const struct text_file *file, struct diag *diag)
{
    const struct place whole = {.file = file->path};
    if (strlen(file->text) != file->length) {
        diag_add(diag, DIAG_INPUT, &whole, "this is not a text file");
        diag_help(diag, "it holds NUL bytes");
        return false;
    }
    return file->text[strspn(file->text, " \t\r\n")] != '\0' ||
           diag_add(diag, DIAG_INPUT, &whole, "this file is empty");
}

/* What the byte at `at` bytes is of: the last part that begins before it. */
static struct text_part part_at(const struct text_file *file, size_t at)
{
    size_t low = 0, high = file->part_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (file->parts[middle].at <= at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 ? file->parts[low - 1] : (struct text_part){0, file->path, 1};
}

static uint32_t newlines_before(const struct text_file *file, size_t at)
{
    const size_t block = file->newlines != NULL ? at / BLOCK_BYTES : 0;
    const uint32_t before = file->newlines != NULL ? file->newlines[block] : 0;
    return before + count_newlines(file->text + block * BLOCK_BYTES, file->text + at);
}

struct place text_file_place(const struct text_file *file, const char *at)
{
    const struct text_part part = part_at(file, (size_t)(at - file->text));
    const uint32_t line = part.line + newlines_before(file, (size_t)(at - file->text)) -
                          newlines_before(file, part.at);
    const char *begin = at;
    while (begin > file->text && begin[-1] != '\n') {
        begin--;
    }
    return (struct place){.file = part.path,
                          .source_text = begin,
                          .first_line = line,
                          .line = line,
                          .column = (uint32_t)(at - begin) + 1};
}

/* ---- lines and words ------------------------------------------------------ */

struct text_span text_line(const char *begin, const char **next)
{
    const char *end = begin + strcspn(begin, "\n");
    *next = *end == '\n' && end[1] != '\0' ? end + 1 : NULL;
    const bool has_return = end > begin && end[-1] == '\r';
    return (struct text_span){begin, has_return ? end - 1 : end};
}

static bool is_space(char letter)
{
    return letter == ' ' || (letter >= '\t' && letter <= '\r');
}

/* Bytes of the terminal escape at `at`; 0 when there is none. */
static size_t escape_width(const char *at, const char *end)
{
    if (*at != '\x1b') {
        return 0;
    }
    const char *last = at + 1;
    if (last < end && *last == '[') {
        last++;
        while (last < end && *last >= 0x20 && *last < 0x40) {
            last++;
        }
    }
    return (size_t)(last - at) + (last < end);
}

struct text_span text_word(const char **at, const char *end)
{
    const char *begin = *at;
    while (begin < end && (is_space(*begin) || *begin == '\x1b')) {
        begin += is_space(*begin) ? 1 : escape_width(begin, end);
    }
    const char *last = begin;
    while (last < end && !is_space(*last) && *last != '\x1b') {
        last++;
    }
    *at = last;
    return (struct text_span){begin, last};
}

uint32_t text_words(struct text_span line, struct text_span *words, uint32_t max)
{
    uint32_t count = 0;
    const char *at = line.begin;
    while (count < max) {
        const struct text_span word = text_word(&at, line.end);
        if (word.begin == word.end) {
            break;
        }
        words[count++] = word;
    }
    return count;
}

/* ---- what is put around lines -------------------------------------------------- */

/* "2025-02-12T10:11:12.123456Z", with an offset or none. */
static bool is_time_stamp(struct text_span word)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd";
    const size_t length = text_span_length(word);
    bool is_one = length >= sizeof form - 1;
    for (size_t i = 0; is_one && i < sizeof form - 1; i++) {
        const char letter = word.begin[i];
        is_one = form[i] == 'd' ? letter >= '0' && letter <= '9' : letter == form[i];
    }
    for (size_t i = sizeof form - 1; is_one && i < length; i++) {
        is_one = strchr("0123456789.,:+-Z", word.begin[i]) != NULL;
    }
    return is_one;
}

/* Bytes of a label at the begin of a line: a rank of mpirun, srun or torchrun. */
static size_t rank_width(struct text_span line)
{
    const char *at = line.begin;
    const struct text_span word = text_word(&at, line.end);
    const char *colon = text_span_find(word, ":");
    const char *torch = text_span_find(word, "]:");
    int64_t rank = 0;
    if (colon == NULL) {
        return 0;
    }
    const bool is_torch = word.begin[0] == '[' && torch != NULL && torch < word.begin + LABEL_MAX;
    const bool is_mpirun = word.begin[0] == '[' && colon[-1] == '>';
    const bool is_srun = text_span_count((struct text_span){word.begin, colon}, &rank);
    return is_torch               ? (size_t)(torch + 2 - line.begin)
           : is_mpirun || is_srun ? (size_t)(colon + 1 - line.begin)
                                  : 0;
}

/* Bytes of what a collector writes before each line. */
static size_t collector_width(struct text_span line)
{
    struct text_span words[2] = {{line.begin, line.begin}, {line.begin, line.begin}};
    const uint32_t count = text_words(line, words, 2);
    if (count > 0 && is_time_stamp(words[0])) {
        return (size_t)(words[0].end - line.begin);
    }
    const bool is_stream = count == 2 &&
                           (text_span_is(words[0], "stdout") || text_span_is(words[0], "stderr")) &&
                           (text_span_is(words[1], "F") || text_span_is(words[1], "P"));
    const bool is_service = count == 2 && text_span_is(words[1], "|");
    return is_stream || is_service ? (size_t)(words[1].end - line.begin) : 0;
}

struct text_span text_bare(struct text_span line)
{
    for (size_t width = 1; width > 0;) {
        while (line.begin < line.end && is_space(*line.begin)) {
            line.begin++;
        }
        width = rank_width(line);
        width = width > 0 ? width : collector_width(line);
        line.begin += width;
    }
    while (line.end > line.begin && is_space(line.end[-1])) {
        line.end--;
    }
    return line;
}

/* ---- spans --------------------------------------------------------------- */

size_t text_span_length(struct text_span span)
{
    return (size_t)(span.end - span.begin);
}

bool text_span_is(struct text_span span, const char *word)
{
    const size_t length = strlen(word);
    return text_span_length(span) == length && memcmp(span.begin, word, length) == 0;
}

bool text_span_is_word(struct text_span span, const char *word)
{
    const size_t length = strlen(word);
    return text_span_length(span) == length && strncasecmp(span.begin, word, length) == 0;
}

const char *text_span_find(struct text_span span, const char *part)
{
    const size_t length = strlen(part);
    const char *at = span.begin;
    while (text_span_length((struct text_span){at, span.end}) >= length) {
        at = memchr(at, part[0], (size_t)(span.end - at) - length + 1);
        if (at == NULL || memcmp(at, part, length) == 0) {
            return at;
        }
        at++;
    }
    return NULL;
}

char *text_span_copy(struct arena *arena, struct text_span span)
{
    return arena_strndup(arena, span.begin, text_span_length(span));
}

bool text_span_count(struct text_span span, int64_t *value)
{
    if (span.begin == span.end || text_span_length(span) > COUNT_DIGITS_MAX) {
        return false;
    }
    int64_t count = 0;
    for (const char *at = span.begin; at < span.end; at++) {
        if (*at < '0' || *at > '9') {
            return false;
        }
        count = 10 * count + (*at - '0');
    }
    *value = count;
    return true;
}

bool text_span_number(struct text_span span, double *value)
{
    char text[NUMBER_BYTES_MAX + 1];
    const size_t length = text_span_length(span);
    if (length == 0 || length > NUMBER_BYTES_MAX) {
        return false;
    }
    if (decimal_read(span.begin, length, 0, value)) {
        return true;
    }
    memcpy(text, span.begin, length);
    text[length] = '\0';
    if (strspn(text, "0123456789+-.eE") != length) {
        return false; /* hexadecimal, infinite, blanks before it: strtod takes them */
    }
    char *end = NULL;
    const double number = strtod(text, &end);
    if (end != text + length || !isfinite(number)) {
        return false;
    }
    *value = number;
    return true;
}
