/* The segments of attention, for the table of kernels. Each appends the kernels of one.
 *
 *     forward   qkv          core   projection
 *     backward  projection'  core'  qkv'   (input gradients)   dgrad, wgrad of the first matrix
 *
 * Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1) has, instead of the
 * QKV matrix, down-projections of a token to q_rank values and to kv_rank + rope_dim, a norm of
 * each, and up-projections to the heads; `qkv` holds all of them, `dgrad` the input gradients of
 * the down-projections, `wgrad` all four weight gradients.
 *
 * ASSUMES: down-projections and their norms are on every tensor-parallel rank, which with sequence
 * parallelism works on its own tokens only (Megatron-LM's); what is gathered is the hidden state.
 */
#ifndef PLAN_KERNELS_KERNELS_ATTENTION_H
#define PLAN_KERNELS_KERNELS_ATTENTION_H

#include "plan/kernels/kernel_list.h"

void attention_qkv(struct kernel_list *list);
void attention_core(struct kernel_list *list);
void attention_projection(struct kernel_list *list);

void attention_projection_backward(struct kernel_list *list); /* its input gradient */
void attention_projection_wgrad(struct kernel_list *list);
void attention_core_backward(struct kernel_list *list);
void attention_qkv_backward(struct kernel_list *list);
void attention_dgrad(struct kernel_list *list);
void attention_wgrad(struct kernel_list *list);

/* Rotary embedding of so many values. */
void attention_rotary(struct kernel_list *list, double values, const char *name);

/* From the compressed tokens of latent attention to heads; nothing of another kind. */
void attention_up(struct kernel_list *list);

#endif
