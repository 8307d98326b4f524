/* A text file in memory, its words and their places.
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

struct text_file {
    const char *path; /* borrowed; also by messages about the file */
    const char *text; /* NUL-terminated; the arena's */
    size_t length;
};

/* Reads a regular file of at most `bytes_max`; what it holds is not judged. What its owner can put
 * right (it is not there, may not be read) is an input error, all else a failure.
 * `path` must live as long as the diag. */
MUST_USE bool text_file_load(struct arena *arena, const char *path, size_t bytes_max,
                             struct text_file *file, struct diag *diag);

/* There is a regular file at `path`, or it cannot be told whether there is (an I/O error): then
 * reading it says why. */
bool text_file_exists(const char *path);

/* An error when the file is empty, or holds NUL bytes. */
MUST_USE bool text_file_check(const struct text_file *file, struct diag *diag);

/* The place of the byte at `at`, which points into file->text. Costs a walk over the text. */
struct place text_file_place(const struct text_file *file, const char *at);

/* A part of a text; not terminated. */
struct text_span {
    const char *begin;
    const char *end;
};

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
