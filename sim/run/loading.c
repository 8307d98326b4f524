/* A node's loaders are run against microbatches of one length. The first fill the queues, and the
 * last find workers that have nothing left to make: neither counts.
 */
#include "run/loading.h"

#include "hw/dataloader.h"
#include "hw/fabric.h"
#include "input/data/data_loading.h"
#include "input/scenario.h"
#include "plan/loading.h"
#include "plan/memory/memory.h"
#include "train/critical/critical.h"
#include "train/loading/loaders.h"

#include <math.h>

/* Batches of a whole loader's round after which it is steady: many times what its buffer holds. */
#define LOADER_ROUNDS 64

/* A chance: what a run of several epochs finds in its nodes' page caches, in the mean of all. A
 * node holds any part of a set that is shuffled anew. */
static double cached_share(const struct scenario *scenario)
{
    const struct data_loading *data = &scenario->data;
    const double set_bytes = data->tokens * data->bytes_per_token;
    const double epochs = data->tokens > 0 ? scenario->run_tokens / data->tokens : 0;
    if (!(epochs > 1) || !(data->page_cache_bytes > 0) || !(set_bytes > 0)) {
        return 0;
    }
    const struct memory_verdict memory = memory_check(scenario);
    const double left_bytes = fmax(0, scenario->cluster.host_memory_bytes - memory.host_bytes);
    const double kept = fmin(data->page_cache_bytes, left_bytes) / set_bytes;
    return fmin(kept, 1) * (1 - 1 / epochs);
}

static void add_storage(const struct scenario *scenario, struct dataloader_options *of)
{
    const struct data_loading *data = &scenario->data;
    const struct cluster *cluster = &scenario->cluster;
    if (data->source == DATA_LOCAL) { /* nothing that all share */
        of->is_local = true;
        of->node_bytes_per_s = (int64_t)cluster->local_read_bytes_per_s;
        of->system_bytes_per_s = of->node_bytes_per_s * of->all_loaders;
        return;
    }
    of->node_bytes_per_s = (int64_t)cluster->storage_node_bytes_per_s;
    of->system_bytes_per_s = (int64_t)cluster->storage_read_bytes_per_s;
    of->requests_per_s = (int64_t)ceil(cluster->storage_requests_per_s);
    of->first_byte_ns = sim_time_from_s(cluster->storage_first_byte_s);
    of->stream_bytes_per_s = (int64_t)cluster->storage_stream_bytes_per_s;
}

static struct dataloader_options options_of(const struct scenario *scenario)
{
    static const enum dataloader_law laws[DATA_LAW_COUNT_] = {
        [DATA_EQUAL] = BATCHES_EQUAL,
        [DATA_LOGNORMAL] = BATCHES_LOGNORMAL,
        [DATA_EXPONENTIAL] = BATCHES_EXPONENTIAL,
    };
    const struct data_loading *data = &scenario->data;
    const struct cluster *cluster = &scenario->cluster;
    const int64_t gpus_per_host =
        scenario->gpus < cluster->gpus_per_node ? scenario->gpus : cluster->gpus_per_node;
    const struct loading_job loading = loading_job_of(scenario);
    const double micro = (double)scenario->batch.micro;
    const double missed = 1 - cached_share(scenario);
    struct dataloader_options options = {
        .workers = (uint32_t)data->workers_per_gpu,
        .prefetch = (uint32_t)data->prefetch,
        .cores = (uint32_t)cluster->host_cores,
        .loaders = (uint32_t)loading_ranks_of_node(&loading),
        .mains = (uint32_t)gpus_per_host,
        .batch_ns = sim_time_from_s(micro * data->time_per_sample_s),
        .law = laws[data->law],
        .spread = data->spread,
        .samples = (uint32_t)(scenario->batch.micro * data->samples_per_sequence),
        .requests = missed * micro * data->requests,
        .fills =
            (uint32_t)((data->shuffle_buffer + scenario->batch.micro - 1) / scenario->batch.micro),
        .read_bytes = missed * (double)loading.microbatch_tokens * data->bytes_per_token,
        .all_loaders = (uint32_t)scenario->parallel.dp,
        .seed = (uint64_t)scenario->seed,
    };
    add_storage(scenario, &options);
    return options;
}

/* Forwards in a row: a forward is a quarter of a microbatch's time or more (all of it computed
 * again), of which each of the stage's chunks has a part. */
static int64_t shortest_ns(const struct scenario *scenario, int64_t microbatch_ns)
{
    return microbatch_ns / (4 * scenario->parallel.virtual_stages);
}

/* Each of them, where they are drawn. */
static const double BATCHES_MAX = 1e6;

static bool can_be_beside(const struct scenario *scenario)
{
    const double batches =
        ENGINE_STEPS_MAX * (double)scenario->batch.microbatches * (double)scenario->parallel.dp;
    return (scenario->data.law == DATA_EQUAL || batches <= BATCHES_MAX) &&
           scenario->neighbour_count == 0 && scenario->data.workers_per_gpu <= LOADERS_WORKERS_MAX;
}

/* A steady loader's stall for a microbatch that trains for so long, and that for its first. */
static int64_t stall_ns(struct arena *arena, const struct dataloader_options *of,
                        int64_t microbatch_ns, double *first_s)
{
    struct dataloader_options options = *of;
    const uint32_t round = options.workers * (options.prefetch + 1);
    const uint32_t count = LOADER_ROUNDS * round;
    options.counted_from = count;
    options.counted_to = 2 * count;
    struct dataloader_outcome outcome;
    dataloader_run(arena, &options, microbatch_ns, 2 * count + round, &outcome);
    *first_s = sim_time_to_s(outcome.first_stall_ns);
    return outcome.counted_stall_ns / count;
}

/* Whether loaders are too slow in the mean, with all samples alike. */
static bool is_slow(struct arena *arena, const struct dataloader_options *of, int64_t each_ns)
{
    struct dataloader_options equal = *of;
    double first_s;
    equal.law = BATCHES_EQUAL;
    return stall_ns(arena, &equal, each_ns, &first_s) > 0;
}

/* What the ends of epochs cost in all of a run, for each of its steps: loaders hand out a first
 * batch again. */
static int64_t epoch_ns(const struct scenario *scenario, double first_s)
{
    const struct data_loading *data = &scenario->data;
    const double step_tokens =
        (double)scenario->batch.global * (double)scenario->batch.sequence_length;
    if (!(data->tokens > 0) || !(scenario->run_tokens > data->tokens)) {
        return 0;
    }
    const double ends = ceil(scenario->run_tokens / data->tokens) - 1;
    const double each_s = first_s + (data->keeps_workers ? 0 : data->worker_start_s);
    return llround(1e9 * ends * each_s / ceil(scenario->run_tokens / step_tokens));
}

struct loading loading_of(struct arena *arena, const struct scenario *scenario, int64_t step_ns)
{
    struct loading loading = {.stall_ns = 0};
    if (!scenario->data.is_enabled) {
        return loading;
    }
    const int64_t microbatches = scenario->batch.microbatches;
    const int64_t each_ns = step_ns / microbatches;
    const bool crosses = scenario->cluster.storage_network == STORAGE_ON_FABRIC &&
                         scenario->data.source == DATA_SHARED;
    struct step_loaders *loaders = &loading.loaders;
    loaders->of = options_of(scenario);
    const int64_t at_worst_ns =
        stall_ns(arena, &loaders->of, shortest_ns(scenario, each_ns), &loading.first_s);
    if (at_worst_ns > 0 || (crosses && loaders->of.read_bytes > 0)) {
        loading.stall_ns = stall_ns(arena, &loaders->of, each_ns, &loading.first_s) * microbatches;
        loading.are_beside = can_be_beside(scenario);
        loaders->are_slow = is_slow(arena, &loaders->of, each_ns);
    }
    loading.epoch_ns = epoch_ns(scenario, loading.first_s);
    return loading;
}

/* Of what all loaders read in a step, the part of what the link could have let through. */
static double share_of(const struct loading *loading, const struct scenario *scenario,
                       double loaders, double link_bytes_per_s, double step_s)
{
    const double bytes =
        loading->loaders.of.read_bytes * (double)scenario->batch.microbatches * loaders;
    return bytes / step_s / link_bytes_per_s;
}

/* Of a step that waits for data so long: a link used for that share of it is what it hangs on. */
static const double BINDING_STALL = 0.01;
static const double BINDING_LINK_USE = 0.9;

void loading_add(struct arena *arena, const struct scenario *scenario,
                 const struct loading *loading, struct step_result *step)
{
    const struct dataloader_options *of = &loading->loaders.of;
    const struct step_basis basis = step_basis_of(scenario);
    const int64_t stall_ns = loading->epoch_ns + (loading->are_beside ? 0 : loading->stall_ns);
    if (stall_ns > 0) {
        step_add_stall(arena, &basis, CAUSE_DATA_STALL, stall_ns, step);
    }
    if (step->gpu_ns[CAUSE_DATA_STALL] == 0 || !(of->read_bytes > 0)) {
        return;
    }
    const double step_s = sim_time_to_s(step->step_ns);
    const double node =
        share_of(loading, scenario, of->loaders, (double)of->node_bytes_per_s, step_s);
    const double system =
        share_of(loading, scenario, of->all_loaders, (double)of->system_bytes_per_s, step_s);
    const double share = fmax(node, system);
    const double links_s = sim_time_to_s(step->links_ns);
    const enum link_kind of_node = of->is_local ? LINK_LOCAL_READ : LINK_STORAGE_NODE;
    const char *link = link_titles[node > system ? of_node : LINK_STORAGE_READ];
    if (share > step->busiest_link_utilisation * fmin(1, links_s / step_s)) {
        step->busiest_link = link;
        step->busiest_link_utilisation = fmin(share, 1);
        step->links_ns = step->step_ns;
    }
    const double stalled_s = sim_time_to_s(step->gpu_ns[CAUSE_DATA_STALL]) / (double)scenario->gpus;
    if (share >= BINDING_LINK_USE && stalled_s >= BINDING_STALL * step_s && step->path != NULL) {
        step->path = critical_of_reading(arena, step->step_ns, fmin(share, 1), link);
        step->bound_by = critical_bound_by(arena, step->path);
    }
}
