/* A text file in memory, its words and their places. It may be standard input, or compressed
 * (input/doc/text_source).
 *
 * For formats that are not YAML: logs, matrices, Slurm's files. A word ends at
 * white space or at a terminal escape (ESC [ ... letter), which coloured and
 * underlined output is full of.
 */
#ifndef INPUT_DOC_TEXT_FILE_H
#define INPUT_DOC_TEXT_FILE_H

#include "base/check.h"
#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

/* A part of a text; not terminated. */
struct text_span {
    const char *begin;
    const char *end;
};

/* Where a piece of a text begins that does not go on where the one before ended: lines between
 * them were left out, or it is of another file. */
struct text_part {
    size_t at;        /* bytes before it in the text */
    const char *path; /* of the file that it is of; borrowed */
    uint32_t line;    /* its first one's number there */
};

struct text_file {
    const char *path; /* borrowed; also by messages about the file */
    const char *text; /* NUL-terminated; the arena's */
    size_t length;
    const struct text_part
        *parts; /* in order; the arena's. What is before the first is of `path` */
    size_t part_count;
    const uint32_t *newlines; /* before each block of 64 KiB; NULL: places are found by a walk */
};

/* Reads a file of at most `bytes_max`; what it holds is not judged. `path` is that of a file, or
 * "-". What its owner can put right (it is not there, may not be read) is an input error, all else
 * a failure. `path` must live as long as the diag. */
MUST_USE bool text_file_load(struct arena *arena, const char *path, size_t bytes_max,
                             struct text_file *file, struct diag *diag);

/* Which lines of a log are kept behind its first `whole_bytes`, where all are. Of a line that goes
 * on for more than a MiB the rest is left out there. */
struct text_sieve {
    size_t whole_bytes;
    bool (*is_wanted)(const void *context, struct text_span line);
    const void *context;
};

/* Reads a file of any size line by line; memory is for what is kept. */
MUST_USE bool text_file_stream(struct arena *arena, const char *path,
                               const struct text_sieve *sieve, struct text_file *file,
                               struct diag *diag);

/* Several files, one after the other; the last line of each ends. */
struct text_file text_file_join(struct arena *arena, const struct text_file *files, uint32_t count);

/* An error when the file is empty, or holds NUL bytes. */
MUST_USE bool text_file_check(const struct text_file *file, struct diag *diag);

/* The place of the byte at `at`, which points into file->text. It quotes its own line alone. */
struct place text_file_place(const struct text_file *file, const char *at);

/* The line that begins at `begin`, without its end; *next is where the following one
 * begins, or NULL after the last. */
struct text_span text_line(const char *begin, const char **next);

/* Without what terminals, launchers and collectors put in front of a line, in any order, and white
 * space at both ends: "[1,0]<stdout>:" of mpirun, "12: " of srun -l, "[rank0]:" of torchrun, a time
 * as "2025-02-12T10:11:12.123456Z " of kubectl logs --timestamps, "stdout F " of container logs,
 * "worker-0 | " of compose. */
struct text_span text_bare(struct text_span line);

/* The next word at or after *at in [*at, end); moves *at behind it. Empty when there is none. */
struct text_span text_word(const char **at, const char *end);

/* All words of a line, at most `max`; returns their number. */
uint32_t text_words(struct text_span line, struct text_span *words, uint32_t max);

size_t text_span_length(struct text_span span);
bool text_span_is(struct text_span span, const char *word);          /* the case matters */
bool text_span_is_word(struct text_span span, const char *word);     /* it does not */
const char *text_span_find(struct text_span span, const char *part); /* NULL: not in it */
char *text_span_copy(struct arena *arena, struct text_span span);

/* The whole span as a count of at most 15 digits, or as a finite decimal number. */
bool text_span_count(struct text_span span, int64_t *value);
bool text_span_number(struct text_span span, double *value);

#endif
