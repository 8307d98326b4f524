/* Stages that meet: sends and receives of 1F1B as the calls that frameworks make of them.
 *
 * A stage that has computed a forward sends its activations to the next stage and gets from there
 * the gradients of an older microbatch; one that has computed a backward sends its gradients to
 * the stage before and gets the activations of its next microbatch. Both sides make the same calls
 * in the same order, and a call begins when both are there:
 *
 *     stage    s < p - 1: F(k), call with the next {F(k) ahead, B(k - w) back}, B(k - w), call with
 *              the one before, F(k + 1), ...                                      w = p - 1 - s
 *     ends     of the first w forwards the activations go alone, of the last w backwards the
 *              gradients
 *
 * `together` (Megatron-LM: batch_isend_irecv in p2p_communication.py, called by
 * send_forward_recv_backward and its kin) both directions of a call run at once and end together,
 * as long as the larger of the two;
 * `in-turn` (DeepSpeed: runtime/pipe/schedule.py, TrainSchedule) first the activations, then the
 * gradients.
 * Nothing computes meanwhile. A stage between two others then takes for a microbatch, where a
 * message takes c in either direction,
 *
 *     F + B + 2 c  together,  F + B + 4 c  in turn:
 *
 * two calls each, one with either neighbour.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_CALLS_H
#define TRAIN_PROGRAM_PROGRAM_CALLS_H

#include "train/program/program_builder.h"

/* Ways through the channel of a pair of neighbours. */
enum call_way { CALL_AHEAD, CALL_BACK, CALL_BOTH, CALL_WAYS };

/* Whether stages meet: 1F1B, with a software that does not send and receive apart, and without
 * pairs of a forward and a backward (overlap_experts), whose messages go beside computing. Then all
 * between two stages is on STREAM_SEND_FORWARD of the first, STREAM_RECEIVE_FORWARD of the second,
 * one collective of two members. */
bool calls_are_made(const struct parallel *parallel, const struct software *software);

/* Of a rank, over the border of two stages. */
struct call_bytes {
    double ahead, back; /* activations, gradients */
};

/* What of the number of a microbatch its calls depend on: two that agree make the same. */
uint32_t calls_key(const struct builder *builder, uint32_t microbatch, bool is_forward);

/* What a stage does before it computes a forward or backward of a microbatch: false if a call
 * after the action before did it, or nothing is received. */
bool calls_before(struct builder *builder, uint32_t microbatch, bool is_forward,
                  const struct call_bytes *bytes);
/* To be called after what calls_before was called for. */
void calls_after(struct builder *builder, uint32_t microbatch, bool is_forward,
                 const struct call_bytes *bytes);

#endif
