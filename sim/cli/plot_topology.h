/* stoker plot topology NAME: a drawing of a cluster's fabric; of a scenario's, with what a step
 * uses of it. */
#ifndef CLI_PLOT_TOPOLOGY_H
#define CLI_PLOT_TOPOLOGY_H

#include "cli/options.h"

struct plot_topology_wish {
    const char *name;      /* of a cluster, or its file, or that of a scenario */
    int64_t nodes;         /* 0: all its nodes, or 128 */
    const char *path_base; /* NULL: results/NAME-topology */
    uint32_t size;         /* of plot_size_names */
};

/* The exit status. */
int plot_topology_command(const struct options *options, const struct plot_topology_wish *wish);

#endif
