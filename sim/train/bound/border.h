/* What passes from one stage to another, and how long that takes at least.
 *
 * Two neighbours of a pipeline exchange messages both ways: *ahead* to the next stage, *back* to
 * the one before. The ranks of a stage send each its own; times are those of the rank that has the
 * least. What they send ahead and back together crosses links (a NIC's port, an up-link of the
 * leaf) that carry one byte after the other: the fullest of these is a bound of its own.
 *
 * A stage that has scale-up domains (nodes) for itself has their NICs for itself, too. All that
 * these send, messages and what the stage gathers and reduces, takes on average over them
 *
 *     its bytes / (NICs * their bandwidth)
 *
 * whichever of them sends what. Of n ranks in N domains that gather B bytes, or reduce them, each
 * domain gets, or gives, (N - 1) / N of B at least, by whatever algorithm; and as all that comes in
 * has gone out somewhere, on average each sends as much.
 */
#ifndef TRAIN_BOUND_BORDER_H
#define TRAIN_BOUND_BORDER_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct alone;
struct fabric;

enum border_way { BORDER_BACK, BORDER_AHEAD, BORDER_WAYS };

/* Of each stage what a message of a microbatch takes that leaves it. Nothing where routes may
 * differ. */
struct border {
    int64_t *leaving_ns[BORDER_WAYS]; /* until its bytes have left */
    int64_t *latency_ns[BORDER_WAYS]; /* and then until it is there */
    int64_t *shared_ns[BORDER_WAYS];  /* of the link that carries most of both ways; 0: none does */
    int64_t *nic_ns[BORDER_WAYS]; /* of the stage's NICs, on average; 0: others have some of them */
    bool *has_nics;               /* whether it has its NICs for itself */
};

/* What a byte takes of the NICs that a GPU has on average, out of it. */
double border_nic_byte_ns(const struct fabric *fabric);

struct border border_of(struct arena *arena, struct alone *alone);

#endif
