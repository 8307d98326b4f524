/* Work done by other processes, so that a piece of it that kills its process (out of memory, a
 * broken invariant, kill -9) costs that piece and nothing else.
 *
 * Pieces are numbered from 0. Each worker is forked from the caller, so it finds all that the
 * caller had; it works on one piece after the other and sends back what it made of each, as bytes.
 * The caller takes them and is the only one that prints or writes. One worker takes the pieces in
 * their order; several, as they get to them.
 *
 * A worker that ends over a piece is replaced, and the piece is given to the caller as failed, with
 * the first words that the worker left on its standard error. One that cannot be sent to, or heard,
 * is killed, and its pieces are given to others. Where no process can be started, or none is left,
 * the caller does the work itself. Workers never outlive the caller, however it ends.
 */
#ifndef BASE_WORKERS_H
#define BASE_WORKERS_H

#include "base/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

/* What a worker made of a piece, or why it did not. */
struct piece_result {
    const void *bytes;
    size_t size_bytes;
    const char *failure; /* NULL: none. "its process was killed by signal 9 (Killed)" */
};

enum { WORKERS_MAX = 256 };

struct workers_request {
    uint32_t jobs; /* processes, from workers_count */
    uint32_t piece_count;
    /* In a worker. The arena holds the result and is emptied before the next piece. */
    struct piece_result (*work)(const void *context, uint32_t piece, struct arena *arena);
    /* In the caller, once for each piece; the result is gone when it returns. False: stop. */
    bool (*take)(void *context, uint32_t piece, const struct piece_result *result);
    /* In the caller, when no result comes for `idle_ms`, and once behind the last: what `take` put
     * off. False: stop. NULL: nothing is put off. */
    bool (*idle)(void *context);
    int idle_ms;
    void *context;
};

/* As many as asked for; 0: as many as the machine has cores; at most `pieces` of work. */
uint32_t workers_count(uint32_t wanted, uint32_t pieces);

/* False when `take` or `idle` was; no worker is left in any case. */
MUST_USE bool workers_run(const struct workers_request *request);

#endif
