/* The segments of the head for the table of plan/kernels/kernels: logits, cross-entropy, and their
 * gradients, by each kind of loss (software.loss.kind, plan/loss).
 *
 *     matrix          rows out (n)                       in (k)
 *     head            padded vocabulary/t                h
 *
 * A loss of chunks runs its kernels once for each (struct kernel, repeats): logits, loss and, with
 * `linear`, both gradients; with `chunked` the backward pass has the logits of each chunk again.
 * Weight gradients of chunks are added up in 16 bits, and their sum to the main gradient.
 * `cut` (Wijmans et al., arXiv 2411.09009) reads hidden states and weights only, and multiplies
 * them once more in its backward pass.
 *
 * ASSUMES: a cut loss skips no part of its gradients, though most of them vanish.
 * ASSUMES: the gradient of a loss is 1: nothing scales what `linear` computed in the forward pass.
 */
#ifndef PLAN_KERNELS_KERNELS_HEAD_H
#define PLAN_KERNELS_KERNELS_HEAD_H

#include "plan/kernels/kernel_list.h"

void head_forward(struct kernel_list *list);
void head_backward(struct kernel_list *list);
void head_wgrad(struct kernel_list *list);

#endif
