/* A node's loaders are run against steps of one length, twice: what the longer run waits more is
 * the steady state.
 */
#include "run/loading.h"

#include "hw/dataloader.h"
#include "plan/loading.h"

/* Batches of a whole loader's round after which it is steady: many times what its buffer holds. */
#define LOADER_ROUNDS 64

/* Time of one worker for one microbatch: decoding, and its share of the
 * storage's read bandwidth. */
static double microbatch_load_s(const struct scenario *scenario)
{
    const struct data_loading *data = &scenario->data;
    const double readers =
        (double)(scenario->parallel.dp * (data->workers_per_gpu > 0 ? data->workers_per_gpu : 1));
    const double bytes = data->bytes_per_token * (double)scenario->batch.sequence_length;
    const double read_s = bytes * readers / scenario->cluster.storage_read_bytes_per_s;
    return (double)scenario->batch.micro * (data->time_per_sample_s + read_s);
}

/* The second half of a run twice as long, so that neither start nor end is in it. */
int64_t loading_stall_ns(struct arena *arena, const struct scenario *scenario, int64_t step_ns,
                         double *first_s)
{
    *first_s = 0;
    if (!scenario->data.is_enabled) {
        return 0;
    }
    const int64_t gpus_per_host = scenario->gpus < scenario->cluster.gpus_per_node
                                      ? scenario->gpus
                                      : scenario->cluster.gpus_per_node;
    const struct loading_job loading = loading_job_of(scenario);
    const struct dataloader_options options = {
        .workers = (uint32_t)scenario->data.workers_per_gpu,
        .prefetch = (uint32_t)scenario->data.prefetch,
        .cores = (uint32_t)scenario->cluster.host_cores,
        .loaders = (uint32_t)loading_ranks_of_node(&loading),
        .mains = (uint32_t)gpus_per_host,
        .batch_ns = sim_time_from_s(microbatch_load_s(scenario)),
        .seed = (uint64_t)scenario->seed,
    };
    const int64_t microbatches = scenario->batch.microbatches;
    const uint32_t count = LOADER_ROUNDS * options.workers * (options.prefetch + 1);
    struct dataloader_outcome once;
    struct dataloader_outcome twice;
    dataloader_run(arena, &options, step_ns / microbatches, count, &once);
    dataloader_run(arena, &options, step_ns / microbatches, 2 * count, &twice);
    *first_s = sim_time_to_s(once.first_stall_ns);
    return (twice.stall_ns - once.stall_ns) / count * microbatches;
}
