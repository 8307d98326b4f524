/* The order of a pipeline's actions, as data: what a schedule is for everybody, and a file of it.
 *
 *     schedule: my-schedule
 *     source: https://...
 *     stages: 2
 *     chunks: 2                      # per stage; default 1
 *     microbatches: 2
 *     pieces: [[0, 3], [1, 2]]       # of each stage's chunks; default: chunk * stages + stage
 *     orders:                        # one text per stage; ".c" names the chunk, default 0
 *       - F0.0 F1.0 F0.1 B0.1 W0.1 F1.1+BW1.1 ...
 *       - ...
 *
 * F3: forward of microbatch 3; B3: its backward, input gradients only; W3: its weight
 * gradients; BW3: both; F5.0+BW2.1: a forward and a backward that overlap. The words are those
 * of the literature (Qi et al. 2023, arXiv 2401.10241; DeepSeek's DualPipe).
 *
 * Consecutive pieces must lie on the same stage or on neighbouring ones (mod stages): messages
 * travel between neighbours. The reader checks words and bounds, each action once, and by
 * executing the orders that they cannot deadlock; message with place and what waits for what.
 */
#ifndef INPUT_SCHEDULE_FILE_H
#define INPUT_SCHEDULE_FILE_H

#include "input/doc/doc.h"

#include <stdint.h>

struct parallel;
struct schema;

/* The keys of such a file, and of the mapping in its place. */
extern const struct schema schedule_file_keys;

enum schedule_operation {
    SCHEDULE_FORWARD,
    SCHEDULE_BACKWARD,       /* input and weight gradients */
    SCHEDULE_BACKWARD_INPUT, /* input gradients */
    SCHEDULE_WEIGHTS,        /* weight gradients */
    SCHEDULE_PAIR            /* a forward beside a backward of both gradients */
};

struct schedule_action {
    uint8_t operation; /* enum schedule_operation */
    uint16_t chunk;    /* on this stage; of a pair the forward's */
    uint32_t microbatch;
    uint16_t backward_chunk; /* pair only */
    uint32_t backward_microbatch;
};

struct schedule_order {
    const struct schedule_action *actions;
    uint64_t count;
};

struct schedule_file {
    const char *name;
    uint32_t stages, chunks, microbatches;
    const uint32_t *pieces;              /* [stage * chunks + chunk] */
    const struct schedule_order *orders; /* of each stage */
    struct place place;
};

/* Reads and checks a file at `path`. NULL after a diagnosis; from the arena. */
MUST_USE const struct schedule_file *schedule_file_load(struct arena *arena, const char *path,
                                                        struct diag *diag);

/* The same of a node (a resolved document has the file as a mapping). */
MUST_USE const struct schedule_file *schedule_file_read(struct arena *arena,
                                                        const struct doc_node *node,
                                                        struct diag *diag);

/* "1f1b", or the name that a file gives itself. */
const char *schedule_name_of(const struct parallel *parallel);

/* For input/layout. */
int64_t schedule_file_piece(const struct parallel *parallel, int64_t stage, int64_t chunk);

#endif
