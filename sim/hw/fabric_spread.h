/* Inside the fabric: per switch, what a transfer that spreads over several ways needs. All
 * zero between sends. */
#ifndef HW_FABRIC_SPREAD_H
#define HW_FABRIC_SPREAD_H

#include <stdint.h>

struct fabric_spread {
    uint64_t *usage;   /* that reaches the switch */
    uint32_t *ways_in; /* links towards it that are still to be done */
    uint32_t *depth;   /* switches up to it, itself included; 0: not reached */
    uint32_t *queue;
    uint32_t waiting; /* in the queue */
};

#endif
