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
 * The system may be folded in part already (train/quotient): its actors, channels and links then
 * stand for several that are alike by construction, and usages are those of all channels across one
 * link. The classes, their sizes and their order come out as those of the full system.
 *
 * The folded system runs to the same nanosecond as the full one, with the
 * same causes per actor (the laws are in des/engine.h and des/fluid.h).
 */
#ifndef TRAIN_FOLD_H
#define TRAIN_FOLD_H

#include "des/engine.h"

struct folded_system {
    struct engine_system engine;
    const uint32_t *actor_class; /* per actor of the given system */
};

/* What a system that is folded in part does not say itself. */
struct fold_crossing {
    uint64_t each;  /* usage of one of the real channels on one of the real links */
    uint32_t links; /* of the orbit of this link, that one channel crosses so */
    uint32_t via;   /* the first of these: what else the channel has on it has the same number */
};
struct fold_orbits {
    const struct fold_crossing *crossings; /* per crossing of the system */
    const int64_t *link_sizes;             /* per link: how many it stands for */
    uint32_t via_count;                    /* all `via` lie below */
};

struct folded_system *fold_orbits(struct arena *arena, const struct engine_system *system,
                                  const struct fold_orbits *orbits);
struct folded_system *fold_system(struct arena *arena, const struct engine_system *full);

/* The classes alone, by actor: for an engine that simulates each of them. */
const uint32_t *fold_classes(struct arena *arena, const struct engine_system *full);

#endif
