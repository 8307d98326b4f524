/* Ranks fill nodes in order (plan/mesh), so the ranks that load are counted by rank over the
 * size of a node; a plain scan of at most SCENARIO_GPUS_MAX of them. */
#include "plan/loading.h"

#include "input/data/data_loading.h"
#include "input/scenario.h"
#include "plan/mesh.h"

struct loading_job loading_job_of(const struct scenario *scenario)
{
    return (struct loading_job){
        .data = &scenario->data,
        .parallel = &scenario->parallel,
        .gpus_per_node = scenario->cluster.gpus_per_node,
        .microbatch_tokens = scenario->batch.micro * scenario->batch.sequence_length,
    };
}

int64_t loading_ranks_of_node(const struct loading_job *job)
{
    if (!job->data->is_enabled) {
        return 0;
    }
    const struct mesh mesh = mesh_of(job->parallel);
    const int64_t per_node = job->gpus_per_node;
    int64_t most = 0, node = -1, here = 0;
    for (uint32_t rank = 0; rank < mesh_size(&mesh); rank++) {
        const struct mesh_place place = mesh_place_of(&mesh, rank);
        if (rank / per_node != node) {
            node = rank / per_node;
            here = 0;
        }
        here += place.tp == 0 && place.cp == 0 && place.pp == 0 ? 1 : 0;
        most = here > most ? here : most;
    }
    return most;
}

double loading_queue_bytes(const struct loading_job *job)
{
    return (double)(job->data->prefetch * job->microbatch_tokens) * job->data->bytes_per_token;
}

double loading_host_bytes(const struct loading_job *job)
{
    const double workers = (double)(loading_ranks_of_node(job) * job->data->workers_per_gpu);
    return workers * (job->data->memory_per_worker_bytes + loading_queue_bytes(job));
}
