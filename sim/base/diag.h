/* Messages about a user's input: where it is wrong, the line, a caret, and
 * what would be right.
 *
 *     scenarios/moe.yaml:14:9: error: tp 6 does not divide 64 heads
 *        14 |   parallel: {tp: 6, pp: 4}
 *           |              ^
 *        = help: tp may be 1, 2, 4, 8, 16, 32 or 64
 *
 * A diag collects messages while a file is read and a plan is checked, so a
 * user sees several mistakes at once. Library functions never print: they
 * return false and leave the reason here; main prints it on stderr.
 *
 * The kind of the worst message decides the exit status: DIAG_INPUT gives 3,
 * DIAG_INFEASIBLE gives 4 (the input is well formed, but the plan cannot be:
 * it does not fit, or sizes do not divide), DIAG_FAILURE gives 1 (disk full,
 * corrupt database), DIAG_USAGE gives 2.
 */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct arena;

/* Where a value was written. A place without a file (file NULL) is a default
 * or a command line; `file` then may be given as e.g. "--set" with line 0. */
struct place {
    const char *file;        /* borrowed from the document's arena */
    const char *source_text; /* the file from `first_line` on, for the quoted line; may be NULL */
    uint32_t line;           /* from 1; 0 = the whole file */
    uint32_t column;         /* from 1, in bytes */
    uint32_t first_line;     /* 0: it is whole */
};

enum diag_kind { DIAG_NOTE, DIAG_WARNING, DIAG_FAILURE, DIAG_USAGE, DIAG_INFEASIBLE, DIAG_INPUT };

struct diag;

struct diag *diag_new(struct arena *arena); /* lives as long as the arena */

/* For who tries much of which most cannot be, and asks only whether: messages are counted by their
 * kinds, and have no text. */
struct diag *diag_new_deaf(struct arena *arena);
bool diag_is_deaf(const struct diag *diag);

/* Adds a message. `place` may be NULL. The text is one sentence without a
 * final full stop, lower case unless it begins with a name. Returns false
 * always, so that a checker can `return diag_add(...)`. */
bool diag_add(struct diag *diag, enum diag_kind kind, const struct place *place, const char *format,
              ...) PRINTF_LIKE(4, 5);

/* Adds "= help: ..." to the last message: what would be right. */
void diag_help(struct diag *diag, const char *format, ...) PRINTF_LIKE(2, 3);

/* The same: "did you mean 'nearest'?"; `otherwise` where nothing is near, unless that is NULL. */
void diag_help_nearest(struct diag *diag, const char *nearest, const char *otherwise);

/* There is no message at all. */
bool diag_is_empty(const struct diag *diag);

/* At least one message is an error (FAILURE, USAGE, INFEASIBLE or INPUT). */
bool diag_has_error(const struct diag *diag);
uint32_t diag_error_count(const struct diag *diag);

/* 0 when there is no error, else 1, 2, 3 or 4 as above; input errors win over
 * infeasible ones, those over usage, those over failures. */
int diag_exit_status(const struct diag *diag);

/* At least one message is of this kind. */
bool diag_has(const struct diag *diag, enum diag_kind kind);

/* There are errors, and all are DIAG_INFEASIBLE: a verdict on the plan, which is the same whenever
 * it is asked for. A file that could not be read (DIAG_FAILURE) is none. */
bool diag_is_verdict(const struct diag *diag);

/* Adds the messages of `kind` of another diag, without the lines that they quote: its arena may end
 * before that of `diag`. */
void diag_add_from(struct diag *diag, const struct diag *from, enum diag_kind kind);

/* Prints all messages in the order they were added; after 20 errors the rest
 * is counted, not printed. Control characters in quoted text are shown as '?'. */
void diag_print(const struct diag *diag, FILE *out);

/* Text of the first error message without its place, or NULL: for a sweep
 * that records why a point was infeasible. Borrowed. */
const char *diag_first_error(const struct diag *diag);

/* Where that message is of, or NULL. Borrowed. */
const struct place *diag_first_error_place(const struct diag *diag);

/* What that message would do about it, or NULL. */
const char *diag_first_help(struct arena *arena, const struct diag *diag);

/* The text with its place, "models/ratios.csv:3:1: no ratio", for a report that goes on without. */
const char *diag_first_error_at(struct arena *arena, const struct diag *diag);

/* The candidate nearest to `word` (edit distance at most a third of its
 * length, at least 1 allowed, at most 3), or NULL. Case is ignored. Of several
 * the first that begins with the word, or else the first. */
const char *diag_nearest(const char *word, const char *const *candidates, uint32_t count);

#endif
