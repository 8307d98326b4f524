/* Inside the cluster reader: the switches, links and routes of an explicit fabric. */
#ifndef INPUT_NETWORK_CLUSTER_EXPLICIT_H
#define INPUT_NETWORK_CLUSTER_EXPLICIT_H

#include "input/cluster.h"
#include "input/schema/schema.h"

struct arena;

enum {
    EXPLICIT_SWITCHES_MAX = 1024,
    EXPLICIT_NODES_MAX = 16384, /* that hang on switches */
    EXPLICIT_CABLES_MAX = 4096, /* of one link */
};

/* The lists of the fabric's mapping: what an entry of each may say. */
enum explicit_list { EXPLICIT_SWITCHES, EXPLICIT_LINKS, EXPLICIT_ROUTES, EXPLICIT_LIST_COUNT };
extern const struct schema explicit_lists[EXPLICIT_LIST_COUNT];

/* Reads a list of the row, whose `inner` is one of the above; switches come first. The cluster that
 * the reader fills has its GPUs and NICs already. Errors make the reader's map bad. */
void cluster_explicit_read(const struct schema_reader *reader, const struct schema_row *row,
                           const struct doc_node *node);

/* Checks what was read: every NIC hangs on one switch and reaches the others, no route goes in a
 * loop. nodes_max becomes the number of nodes that hang on switches, if it is not said. Errors make
 * the section bad. */
void cluster_ways_check(struct arena *arena, struct doc_map *section, struct cluster *cluster);

#endif
