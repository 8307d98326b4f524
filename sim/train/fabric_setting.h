/* A cluster's fabric with its GPU and library, from their names: for who looks at collectives
 * without a model. */
#ifndef TRAIN_FABRIC_SETTING_H
#define TRAIN_FABRIC_SETTING_H

#include "hw/fabric.h"
#include "train/collective_run.h"
#include "train/single_sends.h"
#include "train/transfer.h"

struct fabric_request {
    const struct catalogue *catalogue;
    const char *const *sets; /* "cluster.KEY=...", and of gpu, library and seed */
    uint32_t set_count;
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

/* False with a message when a file is missing or wrong, nothing has the name of a set, or the
 * cluster has not that many GPUs. */
MUST_USE bool fabric_setting_open(struct arena *arena, const struct fabric_request *request,
                                  struct fabric_setting *setting, struct diag *diag);

/* A send is from the first GPU to the last, of as many as were asked for. */
void fabric_setting_take_ends(struct fabric_setting *setting, int64_t gpus);

/* False, with a message: the largest of these sizes would take longer than is simulated. */
MUST_USE bool fabric_setting_check(const struct fabric_setting *setting,
                                   enum collective_operation operation, const double *sizes,
                                   uint32_t count, struct diag *diag);

/* A collective of so many bytes, and the same as single messages if that was asked for. */
struct collective_row {
    double bytes;
    struct collective_outcome outcome;
    const char *algorithm;
    const char *bottleneck; /* NULL: none */
    bool has_sends;
    struct single_sends_result sends;
};

void fabric_setting_predict(struct fabric_setting *setting, enum collective_operation operation,
                            double bytes, bool has_single_sends, struct collective_row *row);

/* Sizes as a command line has them: "1MiB..16GiB" (doubling) or "1MB,64MB". */
enum { COLLECTIVE_SIZES_MAX = 512 };

struct collective_sizes {
    double bytes[COLLECTIVE_SIZES_MAX];
    uint32_t count;
};

/* False, with a message about --sizes: it is none, or holds too many. */
MUST_USE bool collective_sizes_parse(struct arena *arena, const char *text,
                                     struct collective_sizes *sizes, struct diag *diag);

#endif
