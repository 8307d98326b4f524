/* Inside the fabric, what sends over several switches need. */
#ifndef HW_FABRIC_SPREAD_H
#define HW_FABRIC_SPREAD_H

#include <stdint.h>

enum { FABRIC_WAY_LINKS = 8 };

/* From one switch to another over the only next hop of each: the latest such way, kept since
 * members of a group that lie on one switch mostly send to members that lie on one, too. */
struct fabric_way {
    uint32_t from, to; /* switches */
    uint32_t count;    /* 0: none is known */
    uint32_t links[FABRIC_WAY_LINKS];
};

/* Per switch, what a transfer that spreads over several ways needs. All zero between sends. */
struct fabric_spread {
    struct fabric_way way;
    uint64_t *usage;   /* that reaches the switch */
    uint32_t *ways_in; /* links towards it that are still to be done */
    uint32_t *depth;   /* switches up to it, itself included; 0: not reached */
    uint32_t *queue;
    uint32_t waiting; /* in the queue */
};

#endif
