/* Folding: a system with one actor, channel and link for each class of
 * indistinguishable ones.
 *
 * plan/symmetry finds the classes; this module forms the quotient. An actor
 * class keeps the first actor's program and speed and the class's size as
 * multiplicity. A channel class keeps the first channel's shape; its members
 * are actor classes with weights (how many members of the real channel each
 * stands for), and its usage of a link class is the sum over all channels of
 * its class that cross one link of that class. Links that can never be tight
 * (capacity at least the sum of usage * cap of all channels across them) bind nothing and
 * are left out, so that they do not split classes.
 *
 * The folded system runs to the same nanosecond as the full one, with the
 * same causes per actor (the laws are in des/engine.h and des/fluid.h).
 */
#ifndef TRAIN_FOLD_H
#define TRAIN_FOLD_H

#include "des/engine.h"

struct folded_system {
    struct engine_system engine;
    const uint32_t *actor_class; /* per actor of the full system */
};

struct folded_system *fold_system(struct arena *arena, const struct engine_system *full);

#endif
