/* Messages between the stages of a pipeline: activations forward, their gradients back.
 *
 * A pair of neighbours has one channel each way, in order, whose messages have no names: the
 * n-th receive of a stage takes the n-th send of its neighbour. Orders are fixed, so which
 * message that is follows from the neighbour's; a stage posts all its receives, in that order,
 * at the beginning, and waits for the one it wants. No order of actions that is sound can then
 * deadlock, because sends wait for nobody. (Where stages meet, train/program/program_calls says
 * when messages go.)
 *
 * Of a pair of actions the forward's message goes first. Between chunks of one stage nothing is
 * sent. Bytes are those of the layer before the boundary, of one tensor-parallel rank's share.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_MESSAGES_H
#define TRAIN_PROGRAM_PROGRAM_MESSAGES_H

#include "train/program/program_builder.h"

/* Posts the receives. */
void messages_init(struct builder *builder);

/* The activations of a microbatch for `chunk`, which is not the first of the model; or their
 * gradients, for one that is not the last. */
void messages_receive(struct builder *builder, uint32_t chunk, uint32_t microbatch,
                      bool is_forward);
/* To where the microbatch goes next, or (backward) came from. */
void messages_send(struct builder *builder, uint32_t chunk, uint32_t microbatch, bool is_forward);

#endif
