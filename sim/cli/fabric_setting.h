/* A cluster's fabric with its GPU and library, from names on the command line: for commands
 * that look at collectives without a model. */
#ifndef CLI_FABRIC_SETTING_H
#define CLI_FABRIC_SETTING_H

#include "cli/options.h"
#include "hw/fabric.h"
#include "train/transfer.h"

struct fabric_request {
    const char *cluster; /* name or path */
    const char *library; /* NULL: the cluster's, else the newest */
    int64_t gpus;        /* ranks of the group; at least 2 */
    struct collective_choice forced;
};

struct fabric_setting {
    struct cluster cluster;
    struct gpu gpu;
    struct library library;
    struct fabric fabric;
    struct transfer_setting transfer;
    struct group_shape group; /* GPUs 0 .. gpus - 1 */
};

/* Applies the options' --set cluster.KEY=... and --set gpu.KEY=...; false with a message when
 * a file is missing or wrong, or the cluster has not that many GPUs. */
MUST_USE bool fabric_setting_open(const struct options *options,
                                  const struct fabric_request *request,
                                  struct fabric_setting *setting);

#endif
