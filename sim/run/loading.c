/* A node's loaders are run against steps of one length. The first steps fill the queues, and the
 * last find workers that have nothing left to make: neither counts.
 */
#include "run/loading.h"

#include "hw/dataloader.h"
#include "hw/fabric.h"
#include "plan/loading.h"

#include <math.h>

/* Batches of a whole loader's round after which it is steady: many times what its buffer holds. */
#define LOADER_ROUNDS 64

static struct dataloader_options options_of(const struct scenario *scenario)
{
    const struct data_loading *data = &scenario->data;
    const struct cluster *cluster = &scenario->cluster;
    const int64_t gpus_per_host =
        scenario->gpus < cluster->gpus_per_node ? scenario->gpus : cluster->gpus_per_node;
    const struct loading_job loading = loading_job_of(scenario);
    const double micro = (double)scenario->batch.micro;
    return (struct dataloader_options){
        .workers = (uint32_t)data->workers_per_gpu,
        .prefetch = (uint32_t)data->prefetch,
        .cores = (uint32_t)cluster->host_cores,
        .loaders = (uint32_t)loading_ranks_of_node(&loading),
        .mains = (uint32_t)gpus_per_host,
        .batch_ns = sim_time_from_s(micro * data->time_per_sample_s),
        .read_bytes = (double)loading.microbatch_tokens * data->bytes_per_token,
        .all_loaders = (uint32_t)scenario->parallel.dp,
        .node_bytes_per_s = (int64_t)cluster->storage_node_bytes_per_s,
        .system_bytes_per_s = (int64_t)cluster->storage_read_bytes_per_s,
        .seed = (uint64_t)scenario->seed,
    };
}

struct loading_use loading_run(struct arena *arena, const struct scenario *scenario,
                               int64_t step_ns)
{
    struct loading_use use = {0};
    if (!scenario->data.is_enabled) {
        return use;
    }
    struct dataloader_options options = options_of(scenario);
    const int64_t microbatches = scenario->batch.microbatches;
    const uint32_t round = options.workers * (options.prefetch + 1);
    const uint32_t count = LOADER_ROUNDS * round;
    options.counted_from = count;
    options.counted_to = 2 * count;
    struct dataloader_outcome outcome;
    dataloader_run(arena, &options, step_ns / microbatches, 2 * count + round, &outcome);
    use.stall_ns = outcome.counted_stall_ns / count * microbatches;
    use.first_s = sim_time_to_s(outcome.first_stall_ns);
    use.reading_share = outcome.reading_share;
    use.node_share = outcome.node_share;
    return use;
}

void loading_add_stall(struct arena *arena, const struct scenario *scenario,
                       const struct loading_use *use, struct step_result *step)
{
    if (use->stall_ns <= 0) {
        return;
    }
    const bool is_node = use->node_share > use->reading_share;
    const double share = is_node ? use->node_share : use->reading_share;
    const double step_ns = (double)(step->step_ns + use->stall_ns);
    if (share > step->busiest_link_utilisation * (double)step->links_ns / step_ns) {
        step->busiest_link = link_titles[is_node ? LINK_STORAGE_NODE : LINK_STORAGE_READ];
        step->busiest_link_utilisation = fmin(share, 1);
        step->busiest_link_causes = 1U << CAUSE_DATA_STALL;
        step->links_ns = step->step_ns + use->stall_ns;
    }
    const struct step_basis basis = step_basis_of(scenario);
    step_add_stall(arena, &basis, CAUSE_DATA_STALL, use->stall_ns, step);
}
