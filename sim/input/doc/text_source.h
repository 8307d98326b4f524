/* The bytes of a file, wherever they are: the one way in for whatever is read as text.
 *
 *     "-"          standard input, which messages name <stdin>
 *     gzip's       by its first bytes, whatever its name: what was compressed, of all its members
 *     else         a regular file as it is, or the pipe of a process substitution
 *
 * A file that other programs compressed is told with the command that undoes it, one that was cut
 * off or damaged as such. What its owner can put right is an input error, all else a failure.
 */
#ifndef INPUT_DOC_TEXT_SOURCE_H
#define INPUT_DOC_TEXT_SOURCE_H

#include "base/check.h"
#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct text_source;

/* What messages call it: the path, or "<stdin>". */
const char *text_source_name(const char *path);

/* There is a regular file at `path`, or it is "-", or it cannot be told whether there is one (an
 * I/O error): then reading it says why. */
bool text_source_exists(const char *path);

/* NULL with a message. */
MUST_USE struct text_source *text_source_open(struct arena *arena, const char *path,
                                              struct diag *diag);

/* How many bytes come; 0: that is not known before. */
size_t text_source_bytes(const struct text_source *source);

/* The next *length bytes, at most `room`; 0 at the end. False with a message. */
MUST_USE bool text_source_read(struct text_source *source, char *bytes, size_t room, size_t *length,
                               struct diag *diag);

void text_source_close(struct text_source *source);

#endif
