/* What the loss over the vocabulary holds in memory, and how it is cut into chunks of tokens.
 *
 * Of each logit of a rank some bytes stay from the forward to the backward pass of a microbatch,
 * and more are there while the loss is computed. `e` is the bytes of a value in the training
 * precision:
 *
 *     kind           stays   at most   of
 *     parts          e + 4   e + 4     logits, an fp32 copy that becomes the softmax
 *     eager          e + 4   e + 12    besides the log-softmax and its gradient
 *     eager-16bit    2 e     3 e       logits, log-softmax, its gradient
 *     fused          e       e         the gradient takes the logits' place
 *     recomputed     e       2 e       the gradient stands beside them
 *     in-place       e       e
 *     chunked        -       e + 12    of a chunk's tokens: eager
 *     linear         -       e         of a chunk's tokens: fused; with the weight's gradient,
 *                                      not yet added to the others, and the hidden states'
 *     cut            -       -
 *
 * Where the model returns fp32 (loss.fp32_logits), as torchtitan's of 2024 did, eager has no `e`:
 * what the head wrote is gone before the loss, and the caller lets go of the copy before the
 * backward pass ("need to free to before bwd to avoid peaking memory" in train.py of
 * https://github.com/pytorch/torchtitan/tree/36fba848d07aeb236a386a24e6f6b2c6ec57d03b).
 *
 * Where a compiler of the whole step fuses (loss.fuses_fp32), eager holds what recomputed does: XLA
 * counts exp and divide as cheap on a GPU and computes them again in whatever reads them
 * (GpuPriorityFusion::IsExpensive of xla/service/gpu, https://github.com/openxla/xla), so of
 * cross_entropy_with_logits (MaxText/max_utils.py of https://github.com/AI-Hypercomputer/maxtext)
 * only what products write and read is left. ASSUMES: its logits are bf16, as the product writes
 * them; cast_logits_to_fp32 is fused, too.
 *
 * Where DTensor has the vocabulary cut over ranks (loss_parallel), eager has 16 at most, e + 12 or
 * more: its backward pass has the log-softmax, a gradient of zeros and ones, their exponential's
 * sum and its product, each of 4 bytes, without the logits (_nll_loss_and_log_softmax_backward
 * of torch/distributed/tensor/parallel/loss.py, https://github.com/pytorch/pytorch).
 *
 * Chunks: what loss.chunk says; else 256 tokens (chunked: _CHUNKED_LM_HEAD_CHUNK_SIZE of
 * trl/trainer/sft_trainer.py, https://github.com/huggingface/trl/pull/5575), or as few that one's
 * logits are no more than the hidden states of all tokens, rounded up to a power of two (linear:
 * ops/fused_linear_cross_entropy.py of https://github.com/linkedin/Liger-Kernel). They are of equal
 * size here.
 */
#ifndef PLAN_LOSS_H
#define PLAN_LOSS_H

#include "base/ledger.h"
#include "input/software.h"

#include <stdbool.h>
#include <stdint.h>

/* What a rank has of the head. */
struct loss_size {
    int64_t tokens; /* of a microbatch, on the rank */
    int64_t vocab;  /* of which the rank has logits */
    int64_t hidden;
    double element_bytes;
    bool is_parallel; /* by DTensor, over ranks of tp */
};

/* 1 where the kind has no chunks. */
int64_t loss_chunks(const struct loss_way *loss, const struct loss_size *size);

/* Tokens of the largest chunk. */
int64_t loss_chunk_tokens(const struct loss_way *loss, const struct loss_size *size);

/* The backward pass multiplies hidden states and the head's weights once more. */
bool loss_computes_again(enum loss_kind kind);
/* The forward pass computes the gradients, too. */
bool loss_differentiates_at_once(enum loss_kind kind);
/* Logits are written into memory. */
bool loss_writes_logits(enum loss_kind kind);

/* Bytes of a logit as the model returns it. */
double loss_logit_bytes(const struct loss_way *loss, double element_bytes);

/* Of one microbatch and one head. */
struct loss_bytes {
    double kept;    /* until the backward pass */
    double turning; /* on top, while the loss is computed */
};

/* `weights`: of the head on the rank that have a gradient. */
struct loss_bytes loss_bytes_of(const struct loss_way *loss, const struct loss_size *size,
                                double weights, struct ledger *ledger);

#endif
