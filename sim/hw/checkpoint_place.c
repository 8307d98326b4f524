/* One row for each place. What a row leaves out is not asked for: nothing is flushed into the
 * memory where it is, and nothing drains from the file system.
 */
#include "hw/checkpoint_place.h"

#include <math.h>

static const struct checkpoint_place places[CHECKPOINT_TARGET_COUNT_] = {
    [CHECKPOINT_SHARED] = {.title = "the file system",
                           .write = STORAGE_WRITE,
                           .flush = STORAGE_FLUSH,
                           .is_flushed = true,
                           .survives = UINT32_MAX},
    [CHECKPOINT_LOCAL] = {.title = "nodes' drives",
                          .write = STORAGE_WRITE_LOCAL,
                          .flush = STORAGE_FLUSH_LOCAL,
                          .drain = STORAGE_DRAIN,
                          .is_flushed = true,
                          .survives = 0},
    [CHECKPOINT_MEMORY] = {.title = "hosts' memory",
                           .write = STORAGE_COPY,
                           .drain = STORAGE_FLUSH,
                           .is_in_memory = true,
                           .survives = 0},
    [CHECKPOINT_PEER] = {.title = "the memory of hosts and their peers",
                         .write = STORAGE_WRITE_PEER,
                         .flush = STORAGE_FLUSH_PEER,
                         .drain = STORAGE_FLUSH,
                         .is_flushed = true,
                         .is_in_memory = true,
                         .survives = 1},
};

const struct checkpoint_place *checkpoint_place_at(enum checkpoint_target target)
{
    return &places[target];
}

const struct checkpoint_place *checkpoint_place_of(const struct checkpoint *plan)
{
    return &places[plan->target];
}

bool checkpoint_makes_files(enum storage_way way)
{
    return way == STORAGE_WRITE || way == STORAGE_FLUSH || way == STORAGE_WRITE_LOCAL ||
           way == STORAGE_FLUSH_LOCAL;
}

/* 0: as fast as the way is. */
static double staged_bytes_per_s(const struct software *software, const struct fabric *fabric)
{
    const double gpus = fmin((double)fabric->cluster->gpus_per_node, (double)fabric->gpus);
    const double gpu = software->checkpoint_staging_bytes_per_s;
    const double part = software->checkpoint_node_staging_bytes_per_s / gpus;
    return gpu > 0 && part > 0 ? fmin(gpu, part) : fmax(gpu, part);
}

int64_t checkpoint_cap_bytes_per_s(const struct software *software, const struct fabric *fabric,
                                   enum storage_way way, int64_t cap_bytes_per_s)
{
    const bool is_staged = way == STORAGE_COPY || way == STORAGE_WRITE_PEER;
    const double rate = checkpoint_makes_files(way) ? software->checkpoint_serialise_bytes_per_s
                        : is_staged                 ? staged_bytes_per_s(software, fabric)
                                                    : 0;
    return rate > 0 && rate < (double)cap_bytes_per_s ? (int64_t)rate : cap_bytes_per_s;
}

double checkpoint_agreed_s(const struct software *software, enum storage_way way, int64_t ranks)
{
    return checkpoint_makes_files(way) ? software->checkpoint_coordinate_s * (double)ranks : 0;
}
