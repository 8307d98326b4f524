/* What a training log says of its run beside how long steps took: the trainer's own TFLOP/s and
 * MFU, how long checkpoints took, and whether a GPU ran out of memory.
 *
 * A label is a row of the table; the first that the log has counts. Figures are the median of all
 * lines but a first quarter of at most ten, as the step is (training_log.h).
 */
#ifndef FOREIGN_LOGS_LOG_CLAIMS_H
#define FOREIGN_LOGS_LOG_CLAIMS_H

#include "base/diag.h"
#include "input/doc/text_file.h"

struct log_claims {
    double flop_per_s;          /* of a GPU; 0: not told */
    double mfu;                 /* 0..1; 0: not told */
    double checkpoint_s;        /* that one took; 0: not told */
    int64_t checkpoints;        /* of which that is the median */
    bool has_step;              /* a line of one, of any trainer that is known */
    bool is_out_of_memory;      /* a GPU was, */
    struct place out_of_memory; /* here */
};

/* Whether such a line is looked at (text_sieve). */
bool log_claims_wants(struct text_span line);

struct log_claims log_claims_of(struct arena *arena, const struct text_file *file);

#endif
