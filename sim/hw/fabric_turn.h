/* Turns: ways to move GPUs that leave a fabric as it was.
 *
 * Let blocks of `around` neighbouring GPUs each be turned by `by` GPUs: GPU i of a block goes to
 * where GPU (i + by) % around was. If whole leaf groups take one another's places, nobody can
 * tell: every link goes to where a link of its kind and capacity was, with the GPUs that hang on
 * it. So it is with nodes that change places under one leaf, with pods, and with GPUs within all
 * nodes alike:
 *
 *     outer   the nodes of a leaf, or the leaf groups of a pod, or the pods
 *     inner   within each node, blocks of neighbouring GPUs with their NIC ports (and so, on a
 *             rail fabric, the rails)
 *
 * What can be brought to one place by turning, outer and inner, again and again, is an *orbit*. Its
 * first member, the lowest number, speaks for it. All orbits of GPUs have the same size.
 *
 * Only fabrics of levels have turns (rail, rail-only, tree) and of these those with adaptive
 * routing: ECMP hashes numbers, a dragonfly and a torus number their links by place.
 */
#ifndef HW_FABRIC_TURN_H
#define HW_FABRIC_TURN_H

#include "hw/fabric.h"

enum { TURN_OUTER = 1, TURN_INNER = 2, TURN_BOTH = TURN_OUTER | TURN_INNER }; /* sets of them */

struct fabric_turns {
    const struct fabric *fabric;
    uint32_t outer_by, outer_around; /* GPUs; equal: nothing is turned */
    uint32_t inner_by, inner_around;
};

/* Nothing moves. */
struct fabric_turns fabric_turns_none(const struct fabric *fabric);

/* The least multiple of `step` GPUs by which blocks of `around` can be turned; `around` if none.
 * All GPUs of the fabric lie in whole blocks, blocks in whole steps. */
uint32_t fabric_turns_outer(const struct fabric *fabric, uint32_t around, uint32_t step);
/* The same within nodes; `around` divides the GPUs of a node. */
uint32_t fabric_turns_inner(const struct fabric *fabric, uint32_t around);

/* Members of an orbit of GPUs under some of the turns; the first of a GPU's orbit. */
uint32_t fabric_turns_size(const struct fabric_turns *turns, uint32_t set);
uint32_t fabric_turns_gpu(const struct fabric_turns *turns, uint32_t gpu, uint32_t set);
/* The least GPU above one that is the first of its orbit under both turns. */
uint32_t fabric_turns_next(const struct fabric_turns *turns, uint32_t gpu);
/* Such first GPUs are numbered in rising order. */
uint32_t fabric_turns_number(const struct fabric_turns *turns, uint32_t gpu);

/* Members of the orbit of a link; its first; its i-th in rising order, under both turns. */
uint32_t fabric_turns_links(const struct fabric_turns *turns, uint32_t link, uint32_t set);
uint32_t fabric_turns_link(const struct fabric_turns *turns, uint32_t link, uint32_t set);
uint32_t fabric_turns_nth(const struct fabric_turns *turns, uint32_t link, uint32_t i);

/* Before fabric_trace_end: of a transfer that looks the same after a turn, one send of each orbit
 * under `set` was traced. What they put on links is gathered on the first links of orbits, each of
 * which then has what the whole transfer puts on it. */
void fabric_turns_gather(const struct fabric_turns *turns, struct fabric *fabric, uint32_t set);

#endif
