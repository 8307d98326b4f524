/* What families of bounds (train/bound/bound) have in common that lie on the same ranks: the
 * machine with its groups, over which routes are looked for once, and what a byte takes between
 * those who share states out.
 */
#ifndef TRAIN_BOUND_GROUND_H
#define TRAIN_BOUND_GROUND_H

#include "train/bound/alone.h"

struct scenario;

/* Of gathers and reductions of a layer of so many bytes: lines of a family ask for the same again
 * and again. */
struct shares {
    double gathered_bytes, reduced_bytes;
    struct alone_share gather, reduce;
};

/* The machine with a scenario's groups, one microbatch and one chunk a stage. */
struct outline {
    struct scenario *reduced;
    struct step_system *system;
};

/* Those of dense parameters, and of routed experts where others hold the same (streams of their
 * own; where the same ranks do, all are dense). */
enum held_kind { HELD_DENSE, HELD_EXPERTS, HELD_COUNT_ };

/* Of parameters, of gradients with ZeRO 1 to 3, and with 0. */
enum held_exchange { HELD_GATHER, HELD_REDUCE, HELD_ALL_REDUCE, HELD_EXCHANGES };

/* Between those that share states, or hold copies of all: lines of a family differ in which. */
struct exchange {
    uint32_t shards;
    struct alone *alone;
    double byte_ns[HELD_COUNT_][HELD_EXCHANGES];
    double nic_byte_ns[HELD_COUNT_]; /* of any of them, of NICs */
    struct shares *shares;           /* of those met so far the last; NULL: none */
    struct exchange *next;
};

struct bound_ground {
    struct arena *arena;
    struct outline outline;
    struct exchange *exchanges; /* met so far */
};

/* The same groups, kernels and routes, with the shortest programs. */
void ground_reduce(struct arena *arena, const struct scenario *scenario, struct scenario *reduced);

/* ZeRO 0 shares nothing out, whatever zero_group says, and lines differ in that: the ground was
 * made of one of them. */
struct exchange *ground_exchange_of(struct bound_ground *ground, const struct scenario *scenario);

const struct shares *ground_shares_of(struct bound_ground *ground, struct exchange *exchange,
                                      double gathered_bytes, double reduced_bytes);

#endif
