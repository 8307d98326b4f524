/* Ranks fill nodes in order (plan/mesh), so the ranks that load are counted by rank over the
 * size of a node; a plain scan of at most SCENARIO_GPUS_MAX of them. */
#include "plan/loading.h"

#include "plan/mesh.h"

int64_t loading_ranks_of_node(const struct scenario *scenario)
{
    if (!scenario->data.is_enabled) {
        return 0;
    }
    const struct mesh mesh = mesh_of(&scenario->parallel);
    const int64_t per_node = scenario->cluster.gpus_per_node;
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

double loading_queue_bytes(const struct scenario *scenario)
{
    const struct data_loading *data = &scenario->data;
    return (double)(data->prefetch * scenario->batch.micro * scenario->batch.sequence_length) *
           data->bytes_per_token;
}

double loading_host_bytes(const struct scenario *scenario)
{
    const double workers =
        (double)(loading_ranks_of_node(scenario) * scenario->data.workers_per_gpu);
    return workers * (scenario->data.memory_per_worker_bytes + loading_queue_bytes(scenario));
}
