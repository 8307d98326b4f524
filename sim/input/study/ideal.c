/* Members of a scenario that are set to what is perfect, ideal by ideal. What they are is said
 * where they are declared.
 */
#include "input/study/ideal.h"

#include "base/arena.h"
#include "input/scenario.h"

#include <math.h>

/* ---- the library's costs -------------------------------------------------------------------- */

/* Between nodes a collective has the base of one node, no rounds' latencies, and no limit. */
static void make_network_free(struct library_cost *cost)
{
    cost->fill_s[LIBRARY_NETWORK] = 0.0;
    cost->piece_bytes = 0.0;
    for (uint32_t span = 0; span < SPAN_COUNT_; span++) {
        cost->round_s[LIBRARY_NETWORK][span] = 0.0;
        if (span != SPAN_ONE_NODE) {
            cost->base_s[span] = fmin(cost->base_s[span], cost->base_s[SPAN_ONE_NODE]);
            cost->efficiency[span] = 1.0;
            cost->maximum_bytes_per_s[span] = HUGE_VAL;
            cost->channel_maximum_bytes_per_s[span] = HUGE_VAL;
        }
    }
}

static void make_scale_up_free(struct library_cost *cost)
{
    static const enum library_link links[] = {LIBRARY_SCALE_UP, LIBRARY_PCIE};
    for (uint32_t i = 0; i < sizeof links / sizeof *links; i++) {
        cost->fill_s[links[i]] = 0.0;
        for (uint32_t span = 0; span < SPAN_COUNT_; span++) {
            cost->round_s[links[i]][span] = 0.0;
        }
    }
    cost->efficiency[SPAN_ONE_NODE] = 1.0;
    cost->maximum_bytes_per_s[SPAN_ONE_NODE] = HUGE_VAL;
    cost->channel_maximum_bytes_per_s[SPAN_ONE_NODE] = HUGE_VAL;
}

static void change_library(struct library *library, void (*change)(struct library_cost *cost))
{
    for (uint32_t a = 0; a < ALGORITHM_COUNT_; a++) {
        for (uint32_t p = 0; p < PROTOCOL_COUNT_; p++) {
            change(&library->shapes[a].costs[p]);
            for (uint32_t g = 0; g < GPU_ARCHITECTURE_COUNT_; g++) {
                change(&library->architectures[g].costs[a][p]);
            }
        }
    }
}

/* ---- ideals --------------------------------------------------------------------------------- */

/* The cables of an explicit fabric may be those of a file that is kept for others: copied. */
static void settle_fabric(struct arena *arena, struct cluster *cluster)
{
    struct cluster_link *links = arena_array(arena, cluster->link_count + 1u, sizeof *links);
    for (uint32_t i = 0; i < cluster->link_count; i++) {
        links[i] = cluster->links[i];
        links[i].bytes_per_s = IDEAL_BYTES_PER_S;
    }
    cluster->links = links;
    cluster->routing = ROUTING_ADAPTIVE;
    cluster->oversubscription = 1.0;
    cluster->pod_oversubscription = 1.0;
    cluster->global_oversubscription = 1.0;
    cluster->uplink_bytes_per_s = IDEAL_BYTES_PER_S;
    cluster->torus_link_bytes_per_s = IDEAL_BYTES_PER_S;
    cluster->hop_latency_s = 0.0;
}

static void settle_network(struct arena *arena, struct scenario *scenario)
{
    struct cluster *cluster = &scenario->cluster;
    cluster->nic_bytes_per_s = IDEAL_BYTES_PER_S;
    cluster->network_bytes_per_s = IDEAL_BYTES_PER_S * (double)cluster->nics_per_node;
    cluster->nic_efficiency = 1.0;
    cluster->nic_latency_s = 0.0;
    cluster->round_latency_s = 0.0;
    cluster->core_bytes_per_s = 0.0;
    cluster->bonded_ports = 1;
    settle_fabric(arena, cluster);
    scenario->library.network_overhead_s = 0.0;
    scenario->library.measured_message_s = 0.0;
    scenario->software.staging_bytes_per_s = 0.0;
    change_library(&scenario->library, make_network_free);
}

static void settle_scale_up(struct scenario *scenario)
{
    struct cluster *cluster = &scenario->cluster;
    cluster->scale_up_bytes_per_s = IDEAL_BYTES_PER_S;
    cluster->peer_bytes_per_s = cluster->peer_bytes_per_s > 0.0 ? IDEAL_BYTES_PER_S : 0.0;
    cluster->scale_up_efficiency = 1.0;
    cluster->scale_up_latency_s = 0.0;
    scenario->software.scale_up_bandwidth = 1.0;
    change_library(&scenario->library, make_scale_up_free);
}

static void settle_storage(struct cluster *cluster)
{
    cluster->storage_write_bytes_per_s = IDEAL_BYTES_PER_S;
    cluster->storage_read_bytes_per_s = IDEAL_BYTES_PER_S;
    cluster->storage_node_bytes_per_s = IDEAL_BYTES_PER_S;
    cluster->storage_requests_per_s = 0.0;
    cluster->storage_stream_bytes_per_s = 0.0;
    cluster->storage_first_byte_s = 0.0;
    if (cluster_has_drives(cluster)) {
        cluster->local_write_bytes_per_s = IDEAL_BYTES_PER_S;
        cluster->local_read_bytes_per_s = IDEAL_BYTES_PER_S;
    }
}

static void settle_host(struct scenario *scenario)
{
    struct software *software = &scenario->software;
    software->host_per_kernel_s = 0.0;
    software->host_per_product_s = 0.0;
    software->host_per_step_s = 0.0;
    software->host_per_replay_s = 0.0;
    software->fsdp_host_per_rank_s = 0.0;
    software->expert_tensor_s = 0.0;
    software->expert_synchronisation_s = 0.0;
    software->is_blocking = false;
    software->waits_for_p2p = false;
    software->host_update_bytes_per_s = IDEAL_BYTES_PER_S;
    scenario->gpu.host_link_bytes_per_s = IDEAL_BYTES_PER_S;
    scenario->data.time_per_sample_s = 0.0;
}

static void settle_pipeline(struct software *software)
{
    software->waits_for_no_stage = true;
    software->overlaps_p2p = true;
    software->waits_for_p2p = false;
    software->stage_calls = STAGE_CALLS_APART;
}

void ideal_settle(struct arena *arena, struct scenario *scenario)
{
    const struct ideal *ideal = &scenario->ideal;
    if (ideal->network) {
        settle_network(arena, scenario);
    }
    if (ideal->scale_up) {
        settle_scale_up(scenario);
    }
    if (ideal->storage) {
        settle_storage(&scenario->cluster);
    }
    if (ideal->host) {
        settle_host(scenario);
    }
    if (ideal->gpus) {
        scenario->slow_count = 0;
        scenario->software.jitter_spread = 0.0;
        scenario->software.jitter_meeting_s = 0.0;
        scenario->gpu.speed_spread = 0.0;
    }
    if (ideal->pipeline) {
        settle_pipeline(&scenario->software);
    }
}
