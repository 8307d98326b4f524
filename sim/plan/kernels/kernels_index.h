/* An index, which chooses the keys that attention reads, and attention over what it chose
 * (input/mixer/mixer.h). Executed FLOP and bytes on a rank, for each of its tokens: H heads of
 * attention with keys of K values and results of V, all before a token S keys in the mean, chosen
 * C of them; the index's own heads together W wide, its keys D:
 *
 *     index               2 W S                 W, its weights; a score in fp32 a pair written
 *     top keys            none                  the scores read
 *     attention           2 H C (K + V)         H (K + V), and C keys (and values) gathered
 *     attention backward  2 H C (3 K + 2 V)     2 H (K + V), gathered, and added to in fp32
 *     index backward      2 C (H K + 3 W)       keys of both gathered, and its own added to
 *
 * Backward the index's loss asks again what attention's heads saw (H K), scores again, and has
 * gradients of queries and keys; of a dense loss S stands for C, and scores are read and written in
 * the place of what is gathered. Heads of attention are cut by tp; the index's are not: every rank
 * chooses the keys of all tokens, as Megatron-LM's DSAIndexer, whose weights are duplicated. So
 * kernels of few heads gather as much as those of many.
 *
 * Forward FLOP follow flash_mla_sparse_fwd of FlashMLA, backward ones cudnn-frontend's
 * SparseAttentionBackward, whose benchmark counts them so (pull request 817).
 *
 * ASSUMES: rotation of an index's queries and keys costs as if all their values were turned.
 * ASSUMES: scores are as many as the mask leaves, and written whole.
 */
#ifndef PLAN_KERNELS_KERNELS_INDEX_H
#define PLAN_KERNELS_KERNELS_INDEX_H

#include "plan/kernels/kernel_list.h"

void index_forward(struct kernel_list *list, const struct mixer_operator *op);
void index_backward(struct kernel_list *list, const struct mixer_operator *op);

/* The core of attention of a layer that has an index. */
void index_attention(struct kernel_list *list);
void index_attention_backward(struct kernel_list *list);

#endif
