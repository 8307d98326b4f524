/* Inside the cluster reader: the switches, links and routes of an explicit fabric. */
#ifndef INPUT_CLUSTER_EXPLICIT_H
#define INPUT_CLUSTER_EXPLICIT_H

#include "input/cluster.h"

struct arena;

enum {
    EXPLICIT_SWITCHES_MAX = 1024,
    EXPLICIT_NODES_MAX = 16384, /* that hang on switches */
    EXPLICIT_CABLES_MAX = 4096, /* of one link */
};

/* Takes `switches`, `links` and `routes` of the fabric's mapping. `cluster` must have its GPUs,
 * NICs and (if it says so) nodes; nodes_max becomes the number of nodes that hang on
 * switches. Errors make the section bad. */
void cluster_explicit_read(struct arena *arena, struct doc_map *section, struct cluster *cluster);

/* Checks what was read: every NIC hangs on one switch and reaches the others, no route goes in a
 * loop. Errors make the section bad. */
void cluster_ways_check(struct arena *arena, struct doc_map *section, struct cluster *cluster);

#endif
