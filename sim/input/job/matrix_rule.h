/* An optimizer that updates matrices whole: its products, its states, and who does it.
 *
 * models/optimizers/NAME.yaml, or a mapping in `optimizer.matrices`:
 *
 *     optimizer: muon
 *     moments: 1                                    # kept of each parameter
 *     newton_schulz: {steps: 5, precision: bf16}    # A = X X', B = b A + c A A, X = a X + B X
 *     layout: {splits_qkv: true, tp: shards, gradients: whole, gather: behind}
 *     passes: {master: 5, moment: 4, gradient: 1, single: 6, half: 3, kernels: 10}
 *
 * It applies to the matrices of layers (plan/matrices.h). Tables of the vocabulary, the head,
 * norms, biases and what else has one dimension are updated element by element, as optimizer.rule
 * says. With zero 1 whole matrices are dealt to the ranks that hold the same; with zero 0 each rank
 * updates all that it holds. Shards that cut matrices anywhere (zero 2 and 3) are refused.
 */
#ifndef INPUT_JOB_MATRIX_RULE_H
#define INPUT_JOB_MATRIX_RULE_H

#include <stdbool.h>
#include <stdint.h>

/* What of a matrix that tp cuts a rank makes orthogonal. */
enum matrix_cut { MATRIX_SHARDS, MATRIX_WHOLE, MATRIX_CUT_COUNT_ };
/* What a rank has of the gradients that it updates nothing with; when weights are gathered. */
enum matrix_gradients { MATRIX_GRADIENTS_SHARDED, MATRIX_GRADIENTS_WHOLE, MATRIX_GRADIENTS_COUNT_ };
enum matrix_gather { MATRIX_GATHER_SOFTWARE, MATRIX_GATHER_BEHIND, MATRIX_GATHER_COUNT_ };

/* Reads and writes of a value, over all kernels that stream it. */
struct matrix_passes {
    double master, moment, gradient; /* in the formats of the optimizer */
    double single, half;             /* temporaries of 4 bytes and of 2 */
    int64_t kernels;                 /* of one matrix */
};

struct matrix_rule {
    int64_t steps; /* of Newton-Schulz; 0: there is no such rule */
    int64_t moments;
    uint32_t precision; /* enum precision, of its products */
    uint32_t cut;       /* enum matrix_cut */
    uint32_t gradients; /* enum matrix_gradients */
    uint32_t gather;    /* enum matrix_gather */
    bool splits_qkv;
    struct matrix_passes passes;
    const char *name, *title;
};

#endif
