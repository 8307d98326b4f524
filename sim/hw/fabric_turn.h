/* Turns: symmetries of a fabric, ways to move its GPUs that leave it as it was.
 *
 * Let blocks of `around` neighbouring GPUs each be turned by a *unit* of `by` GPUs: GPU i of a
 * block goes to where GPU (i + by) % around was. If whole leaf groups take one another's places,
 * nobody can tell: every link goes to where a link of its kind and capacity was, with the GPUs that
 * hang on it. So it is with nodes that change places under one leaf, with pods, and with GPUs
 * within all nodes alike:
 *
 *     outer    the nodes of a leaf, or the leaf groups of a pod, or the pods
 *     middle   in each outer unit what it consists of: leaf groups, then nodes
 *     inner    within each node, blocks of neighbouring GPUs with their NIC ports (and so, on a
 *              rail fabric, the rails)
 *
 * What can be brought to one place by turning, on every level, again and again, is an *orbit*. Its
 * first member, the lowest number, speaks for it.
 *
 * Units may be of several *kinds*, such as those with a slow GPU and the others. Then only those of
 * one kind change places, all in any order, and orbits are parted by the kinds of their members'
 * units. To the fabric that is the same: whatever looks the same after each turn puts the same on
 * like links of all units.
 *
 * Only fabrics of levels have turns (rail, rail-only, tree) and of these those with adaptive
 * routing: ECMP hashes numbers, a dragonfly and a torus number their links by place.
 */
#ifndef HW_FABRIC_TURN_H
#define HW_FABRIC_TURN_H

#include "hw/fabric.h"

/* Levels, from the largest units to the smallest; and sets of levels. */
enum { TURN_LEVEL_INNER = 3, TURN_LEVELS };
enum { TURN_OUTER = 1, TURN_MIDDLE = 2 | 4, TURN_INNER = 8, TURN_ALL = 15 };

/* Which units of a block are alike, the same ones in every block. */
struct fabric_kinds {
    uint32_t count;
    const uint32_t *firsts; /* per kind: its first unit, in rising order */
    const uint32_t *kind;   /* per unit */
    const uint32_t *sizes;  /* per kind: its units */
};

struct fabric_turn {
    uint32_t by, around;              /* GPUs; equal: nothing is turned */
    const struct fabric_kinds *kinds; /* NULL: all are of one */
};

struct fabric_turns {
    const struct fabric *fabric;
    struct fabric_turn at[TURN_LEVELS]; /* units of a level lie whole in those of the one before */
};

/* The identity: no GPU moves. */
struct fabric_turns fabric_turns_none(const struct fabric *fabric);

/* The least multiple of `step` GPUs by which blocks of `around` can be turned; `around` if none.
 * All GPUs of the fabric lie in whole blocks, blocks in whole steps. */
uint32_t fabric_turns_outer(const struct fabric *fabric, uint32_t around, uint32_t step);
/* Where no whole number of pods (or leaf groups) makes a block, blocks lie in them in several ways,
 * and so does a last one that is filled in part: yet what lies in one of them in all blocks changes
 * places there. The least multiple of `step` by which blocks of `around` can be turned so, and the
 * GPUs of what parts them; `around` if none. */
struct fabric_cut {
    uint32_t by;
    uint64_t apart; /* no unit takes the place of one beyond a multiple of so many GPUs */
};
struct fabric_cut fabric_turns_parted(const struct fabric *fabric, uint32_t around, uint32_t step);
/* The kinds of units then: those that no such multiple parts, in any block. */
const struct fabric_kinds *fabric_kinds_parted(struct arena *arena, const struct fabric *fabric,
                                               uint32_t around, struct fabric_cut cut);

/* The same within nodes; `around` divides the GPUs of a node. */
uint32_t fabric_turns_inner(const struct fabric *fabric, uint32_t around);

/* Kinds of which is known, per unit, the first one that is alike. */
const struct fabric_kinds *fabric_kinds_of(struct arena *arena, const uint32_t *first,
                                           uint32_t units);

/* How many GPUs further on, as far as there is room, all that lies on the fabric, in whole blocks
 * of the outermost level that is turned, is as it was, below switches of its own; all GPUs if
 * nowhere. Other than a turn it leads nobody back to the beginning: the last pod may be filled in
 * part. */
uint32_t fabric_turns_further(const struct fabric_turns *turns);

/* How many units take one another's places on some levels, were they of one kind. */
uint32_t fabric_turns_size(const struct fabric_turns *turns, uint32_t set);
/* Whether anything is turned. */
bool fabric_turns_any(const struct fabric_turns *turns);
/* Levels on which two GPUs of like blocks lie in different units. */
uint32_t fabric_turns_between(const struct fabric_turns *turns, uint32_t a, uint32_t b);

/* Members of a GPU's orbit under some levels; its first. */
uint32_t fabric_turns_orbit(const struct fabric_turns *turns, uint32_t gpu, uint32_t set);
uint32_t fabric_turns_gpu(const struct fabric_turns *turns, uint32_t gpu, uint32_t set);
/* The least GPU above one that is the first of its orbit under all levels. */
uint32_t fabric_turns_next(const struct fabric_turns *turns, uint32_t gpu);
/* Such first GPUs are numbered in rising order; or how many there are below a whole block. */
uint32_t fabric_turns_number(const struct fabric_turns *turns, uint32_t gpu);

/* Members of the orbit of a link; its first; its i-th in rising order, under all levels. */
uint32_t fabric_turns_links(const struct fabric_turns *turns, uint32_t link, uint32_t set);
uint32_t fabric_turns_link(const struct fabric_turns *turns, uint32_t link, uint32_t set);
uint32_t fabric_turns_nth(const struct fabric_turns *turns, uint32_t link, uint32_t i);

/* The link that is to GPUs so much further on what this one is to its own. */
uint32_t fabric_turns_beside(const struct fabric *fabric, uint32_t link, uint32_t gpus);

/* Before fabric_trace_end: of a transfer that looks the same after a turn on the levels of `set`,
 * the first sends were traced, one for each that turns outside and within nodes bring onto one
 * another. What they put on links is gathered on the first links of orbits (of units of one kind),
 * each of which then has what the whole transfer puts on it. */
void fabric_turns_gather(const struct fabric_turns *turns, struct fabric *fabric, uint32_t set);
/* Kinds part an orbit on which that was gathered: into how many, and the first of the i-th. */
uint32_t fabric_turns_parts(const struct fabric_turns *turns, uint32_t link, uint32_t set);
uint32_t fabric_turns_part(const struct fabric_turns *turns, uint32_t link, uint32_t set,
                           uint32_t i);

#endif
