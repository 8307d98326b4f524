/* Reads a file whole, having checked what it is, and finds lines, words and
 * numbers in its text. It scans plainly, and every loop ends at the end of the
 * text.
 */
#include "input/doc/text_file.h"

#include "base/arena.h"
#include "base/decimal.h"
#include "base/path.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { COUNT_DIGITS_MAX = 15, NUMBER_BYTES_MAX = 63, LABEL_MAX = 32 };

/* ---- files ------------------------------------------------------------- */

/* What errno says about a file, rather than about the machine. */
static bool is_about_file(int reason)
{
    return reason == ENOENT || reason == ENOTDIR || reason == EACCES || reason == EPERM ||
           reason == ELOOP || reason == ENAMETOOLONG || reason == EISDIR;
}

bool text_file_exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? S_ISREG(status.st_mode) : !is_about_file(errno);
}

static bool refuse(const struct place *place, int reason, struct diag *diag)
{
    return diag_add(diag, is_about_file(reason) ? DIAG_INPUT : DIAG_FAILURE, place,
                    "this file cannot be read: %s", strerror(reason));
}

/* The size of a regular file that is not too large. */
static bool check_size(const struct place *place, size_t bytes_max, struct diag *diag, size_t *size)
{
    struct stat status;
    if (stat(place->file, &status) != 0) {
        return errno == ENOENT ? diag_add(diag, DIAG_INPUT, place, "no such file")
                               : refuse(place, errno, diag);
    }
    if (S_ISDIR(status.st_mode)) {
        return diag_add(diag, DIAG_INPUT, place, "this is a directory, not a file");
    }
    if (!S_ISREG(status.st_mode)) {
        return diag_add(diag, DIAG_INPUT, place, "this is not a regular file");
    }
    if (status.st_size > (off_t)bytes_max) {
        return diag_add(diag, DIAG_INPUT, place,
                        "this file has %jd bytes; at most %zu (%zu MiB) are read",
                        (intmax_t)status.st_size, bytes_max, bytes_max >> 20);
    }
    *size = (size_t)status.st_size;
    return true;
}

bool text_file_load(struct arena *arena, const char *path, size_t bytes_max, struct text_file *file,
                    struct diag *diag)
{
    const struct place place = {.file = path};
    size_t size_bytes = 0;
    if (!check_size(&place, bytes_max, diag, &size_bytes)) {
        return false;
    }
    FILE *stream = path_open(path);
    if (stream == NULL) {
        return refuse(&place, errno, diag);
    }
    char *text = arena_alloc(arena, size_bytes + 1);
    const size_t length = fread(text, 1, size_bytes, stream);
    const bool is_whole = ferror(stream) == 0;
    fclose(stream);
    *file = (struct text_file){path, text, length};
    return is_whole || diag_add(diag, DIAG_FAILURE, &place, "this file cannot be read to its end");
}

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

struct place text_file_place(const struct text_file *file, const char *at)
{
    struct place place = {.file = file->path, .source_text = file->text, .line = 1};
    const char *line = file->text;
    for (const char *end = strchr(line, '\n'); end != NULL && end < at; end = strchr(line, '\n')) {
        line = end + 1;
        place.line++;
    }
    place.column = (uint32_t)(at - line) + 1;
    return place;
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
