/* Nodes in whose place others of the cluster stand: the list `replaced` of a scenario.
 *
 *     replaced: [{node: 3, by: 64}]     # of 64 nodes, number 3 broke; a spare took its ranks
 *
 * Nodes of a job are counted from 0, in the order in which ranks fill them, and those of the
 * cluster as its fabric has them: in a packed job alone node 3 is the cluster's, too. Where a node
 * was, nobody is.
 */
#ifndef INPUT_FAILURES_REPLACED_NODES_H
#define INPUT_FAILURES_REPLACED_NODES_H

#include "input/schema/schema.h"

struct scenario;

struct replaced_node {
    int64_t node; /* of the job */
    int64_t by;   /* of the cluster */
};

/* The keys of an entry; the object is a struct replaced_node. */
extern const struct schema replaced_node_keys;

/* Of the row `replaced`; the object is a struct scenario. */
void replaced_nodes_read(const struct schema_reader *reader, const struct schema_row *row);

/* Once the jobs beside it are known: they are nodes that there are, each once. */
MUST_USE bool replaced_nodes_check(const struct scenario *scenario, struct diag *diag);

#endif
