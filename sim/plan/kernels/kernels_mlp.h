/* The segments of the MLP, of a mixture of experts and of shared experts, for the table of
 * plan/kernels/kernels. Each appends the kernels of one segment.
 *
 * Tokens on their way through the experts of a rank (k copies of each, E/e experts a rank):
 *
 *     tokens outside --router, permute--> k copies --|all-to-all, gather|-->
 *     k * tokens, E/e products of k * tokens * e / E rows --|scatter, all-to-all|-->
 *     k copies --unpermute: weighted sum--> tokens outside
 *
 * With sequence parallelism each of t ranks sends its own tokens, and the copies that arrive are
 * gathered over the tensor-parallel group, because each rank has a t-th of every expert.
 */
#ifndef PLAN_KERNELS_KERNELS_MLP_H
#define PLAN_KERNELS_KERNELS_MLP_H

#include "plan/kernels/kernel_list.h"

void mlp_forward(struct kernel_list *list);
void mlp_inner_backward(struct kernel_list *list);
void mlp_inner_wgrad(struct kernel_list *list); /* of the second matrix */
void mlp_dgrad(struct kernel_list *list);
void mlp_wgrad(struct kernel_list *list);
void mlp_activation(struct kernel_list *list);

/* These need a model with experts. */
void experts_router(struct kernel_list *list);
void experts_forward(struct kernel_list *list);
void experts_post(struct kernel_list *list);
void experts_post_backward(struct kernel_list *list);
void experts_backward(struct kernel_list *list);
void experts_wgrad(struct kernel_list *list);
void experts_router_backward(struct kernel_list *list);
/* Of routed and shared ones. */
void experts_activation(struct kernel_list *list);

/* The shared experts side by side are one MLP; nothing is appended when there are none. */
void shared_forward(struct kernel_list *list);
void shared_inner_backward(struct kernel_list *list);
void shared_inner_wgrad(struct kernel_list *list);
void shared_dgrad(struct kernel_list *list);
void shared_wgrad(struct kernel_list *list);

#endif
