/* What one step reads: `batch` of a scenario. */
#ifndef INPUT_JOB_BATCH_H
#define INPUT_JOB_BATCH_H

#include "input/doc/doc.h"

#include <stdint.h>

/* Documents may be packed into sequences, each attending within itself. The document of a token
 * taken at random is longer than their mean, since long ones have more tokens:
 *
 *     sum L^2 / sum L = document_length * (1 + document_spread^2), at most the sequence
 *
 * and a causal mask leaves half of that many keys, whatever the lengths: sum L^2 / 2 over sum L.
 * ASSUMES: packed documents weigh on attention by these two moments alone: tiles that a document's
 * end cuts, ranks with longer ones and windows that reach beyond short ones are left out, and
 * unfused attention multiplies the whole sequence. */
struct batch {
    int64_t global;          /* sequences per step */
    int64_t micro;           /* sequences per microbatch */
    int64_t sequence_length; /* tokens */
    int64_t document_length; /* mean of those packed into a sequence; 0: each is one document */
    double document_spread;  /* of their lengths: standard deviation over mean */
    int64_t microbatches;    /* per pipeline and step: global / (dp * micro) */
    struct place place;
};

#endif
