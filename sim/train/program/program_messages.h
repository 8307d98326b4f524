/* Messages between the stages of a pipeline: activations forward, their gradients back.
 *
 * A pair of neighbours has one channel each way, in order, whose messages have no names: the
 * n-th receive of a stage takes the n-th send of its neighbour. Orders are fixed, so which
 * message that is follows from the neighbour's; a stage posts its receives in that order, each
 * with the action that wants it at the latest, and waits for the one it wants. A receive waits for
 * nothing but the one before it, so where it stands in the program means nothing. No order of
 * actions that is sound can deadlock, because sends wait for nobody. (Where stages meet,
 * train/program/program_calls says when messages go.)
 *
 * Of a pair of actions the forward's message goes first. Between chunks of one stage nothing is
 * sent. Bytes are those of the layer before the boundary, of one tensor-parallel rank: with
 * sequence parallelism its tokens; else its share, gathered where it arrives, or all.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_MESSAGES_H
#define TRAIN_PROGRAM_PROGRAM_MESSAGES_H

#include "base/check.h"
#include "train/program/program_builder.h"

/* Finds out which receives there are. */
void messages_init(struct builder *builder);

/* The activations of a microbatch for `chunk`, which is not the first of the model; or their
 * gradients, for one that is not the last. */
void messages_receive(struct builder *builder, uint32_t chunk, uint32_t microbatch,
                      bool is_forward);
/* To where the microbatch goes next, or (backward) came from. */
void messages_send(struct builder *builder, uint32_t chunk, uint32_t microbatch, bool is_forward);

/* Posts what no action has wanted. */
void messages_finish(struct builder *builder);

/* ---- what an action's messages depend on: train/program/program_written ---------------------- */

/* Where messages of a chunk come from and go to. */
struct messages_ends {
    double bytes_in; /* of all tensor-parallel ranks together */
    double bytes_out;
    uint32_t comes;  /* from anywhere, this stage included */
    uint32_t stream; /* to another stage; 0: none is sent */
};
struct messages_ends messages_ends(const struct builder *builder, uint32_t chunk, bool is_forward);

/* Of a microbatch: what is received, and calls. */
enum { MESSAGES_POSTED_MAX = 2 };
struct messages_key {
    uint32_t stream; /* of the receive; 0: none */
    uint32_t posted; /* receives that the action posts */
    uint32_t transfers[MESSAGES_POSTED_MAX];
    /* That it waits for, counted from the action's first on; 0 or less: there already, as all that
     * was posted before the action has been waited for. */
    int32_t number;
    uint32_t calls;
};

/* False: more receives than a key holds. `with`: of the same action, before this one, or NULL. */
MUST_USE bool messages_key(const struct builder *builder, uint32_t chunk, uint32_t microbatch,
                           bool is_forward, const struct messages_key *with,
                           struct messages_key *key);

/* An action with such messages has been put into the program by other hands. */
void messages_pass(struct builder *builder, const struct messages_key *key);

#endif
