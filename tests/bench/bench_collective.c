/* Speed of collectives: 16,384 ranks as one coupled flow, and up to 4,096 as single sends.
 *
 * Targets: phases, edges, routes and the solve of a multi-rail ring of 16,384 ranks in 10 ms;
 * the ring all-reduce of 1 GiB over 4,096 ranks as 33.5 million messages in 15 CPU-s and 1 GB. The
 * times by a peer's rules are those of shared/peers_measured.md, section 2, to the nanosecond.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/host.h"
#include "des/fluid.h"
#include "support/collective_case.h"
#include "train/single_sends.h"

static const double GIB = 1024.0 * 1024.0 * 1024.0;

static const struct gpu gpu = {.host_link_bytes_per_s = 25e9};

static struct cluster cluster_of(uint32_t per_node)
{
    return (struct cluster){
        .gpus_per_node = per_node,
        .scale_up_kind = SCALE_UP_NVSWITCH,
        .scale_up_bytes_per_s = 450e9,
        .scale_up_efficiency = 1,
        .scale_up_latency_s = 1e-6,
        .domain_nodes = 1,
        .nics_per_node = per_node,
        .nic_bytes_per_s = 50e9,
        .nic_efficiency = 1,
        .nic_latency_s = 5e-6,
        .fabric_kind = FABRIC_RAIL,
        .routing = ROUTING_ADAPTIVE,
        .ecmp_paths = 1,
        .has_pxn = true,
        .nodes_per_leaf = 32,
        .oversubscription = 1,
        .pod_oversubscription = 1,
        .uplink_bytes_per_s = 50e9,
        .hop_latency_s = 0.5e-6,
        .storage_write_bytes_per_s = 100e9,
        .storage_read_bytes_per_s = 100e9,
        .storage_node_bytes_per_s = 10e9,
    };
}

/* ---- coupled ---------------------------------------------------------------------- */

static void trace_edge(void *context, uint32_t from, uint32_t to, double share)
{
    fabric_trace_send(context, from, to, (uint64_t)(share * FLUID_USAGE_ONE + 0.5));
}

struct world {
    struct event_queue *queue;
    struct fluid *fluid;
    flow_id flow;
};

static struct world declare(struct arena *arena, const struct fabric *fabric,
                            const struct fabric_route *route)
{
    struct world world = {.queue = event_queue_new(arena)};
    world.fluid = fluid_new(arena, world.queue, 1);
    struct fluid_crossing *links = arena_array(arena, route->count, sizeof *links);
    for (uint32_t i = 0; i < route->count; i++) {
        const link_id link =
            fluid_add_link(world.fluid, fabric_link_capacity(fabric, route->crossings[i].link));
        links[i] = (struct fluid_crossing){link, route->crossings[i].usage};
    }
    const struct fluid_flow_options options = {links, route->count, 1, INT64_MAX / 4, 0};
    world.flow = fluid_add_flow(world.fluid, &options);
    fluid_seal(world.fluid);
    return world;
}

static void trace_ring(struct arena *arena, struct fabric *fabric,
                       const struct collective_group *group, struct fabric_route *route)
{
    const struct collective_visitor visitor = {fabric, 0, trace_edge, NULL, NULL};
    fabric_trace_begin(fabric);
    collective_edges(arena, COLLECTIVE_ALL_REDUCE, ALGORITHM_MULTI_RAIL_RING, group, 0, &visitor);
    fabric_trace_end(fabric, route);
}

/* Tracing, declaring links and flow, and from start to solved. */
static void run_coupled(uint32_t nodes)
{
    struct arena *arena = arena_new();
    const struct cluster cluster = cluster_of(8);
    struct fabric fabric;
    fabric_init(&fabric, arena, &cluster, &gpu, nodes * 8, 1);
    const struct collective_group group = collective_group_of(arena, nodes, 8);
    struct collective_phase phases[COLLECTIVE_PHASES_MAX];
    struct fabric_route route;
    const double start_s = host_cpu_s();
    collective_phases(COLLECTIVE_ALL_REDUCE, ALGORITHM_MULTI_RAIL_RING, &group, GIB, phases);
    trace_ring(arena, &fabric, &group, &route);
    const double traced_s = host_cpu_s();
    struct world world = declare(arena, &fabric, &route);
    const double declared_s = host_cpu_s();
    fluid_start(world.fluid, world.flow, (int64_t)phases[0].bytes, INT64_MAX / 4);
    fluid_solve(world.fluid);
    const double solved_s = host_cpu_s();
    printf("coupled %6u ranks on 8 rails: %.2f ms (trace %.2f, declare %.2f, solve %.2f), "
           "%u links, simulated %lld ns\n",
           nodes * 8, (solved_s - start_s) * 1e3, (traced_s - start_s) * 1e3,
           (declared_s - traced_s) * 1e3, (solved_s - declared_s) * 1e3, route.count,
           (long long)event_next_time(world.queue));
    arena_free(arena);
}

/* ---- single sends --------------------------------------------------------------------- */

static void report(const char *what, uint32_t ranks, const struct single_sends_result *result,
                   double seconds)
{
    printf("single  %6u ranks, %s: %6.2f CPU-s, %.0f MB peak, %llu messages, %.1f M/s, "
           "simulated %lld ns\n",
           ranks, what, seconds, (double)host_peak_bytes() / 1e6,
           (unsigned long long)result->messages, (double)result->messages / seconds / 1e6,
           (long long)result->end);
}

static void run_single(uint32_t ranks)
{
    struct arena *arena = arena_new();
    const struct cluster cluster = cluster_of(1);
    struct fabric fabric;
    fabric_init(&fabric, arena, &cluster, &gpu, ranks, 1);
    const struct collective_group group = collective_group_of(arena, ranks, 1);
    uint32_t *gpus = arena_array(arena, ranks, sizeof *gpus);
    for (uint32_t i = 0; i < ranks; i++) {
        gpus[i] = i;
    }
    const double start_s = host_cpu_s();
    struct single_sends_result result;
    const struct single_sends_work work = {&group,         gpus, COLLECTIVE_ALL_REDUCE,
                                           ALGORITHM_RING, GIB,  1};
    if (single_sends_run(arena, &fabric, &work, NULL, &result)) {
        report("fabric", ranks, &result, host_cpu_s() - start_s);
    }
    arena_free(arena);
}

static void run_peer(uint32_t ranks)
{
    static const struct single_sends_options rules = {.has_latency = true,
                                                      .latency_inter_ns = 500,
                                                      .overhead_ns = 10,
                                                      .rate_bytes_per_ns = 53.6870912,
                                                      .reduce_passes = 3,
                                                      .memory_bytes_per_ns = 1600};
    static const struct {
        uint32_t ranks;
        long long end;
    } known[] = {{512, 42450824}, {1024, 43014091}, {2048, 44073967}, {4096, 46162945}};
    struct arena *arena = arena_new();
    const struct collective_group group = collective_group_of(arena, ranks, 1);
    const double start_s = host_cpu_s();
    struct single_sends_result result;
    const struct single_sends_work work = {&group,         NULL, COLLECTIVE_ALL_REDUCE,
                                           ALGORITHM_RING, GIB,  1};
    if (single_sends_run(arena, NULL, &work, &rules, &result)) {
        report("a peer's rules", ranks, &result, host_cpu_s() - start_s);
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].ranks == ranks) {
            printf("        %s the peer's %lld ns\n",
                   known[i].end == result.end ? "equals" : "DIFFERS FROM", known[i].end);
        }
    }
    arena_free(arena);
}

/* In a process of its own, so that peak memory is its own. */
static int apart(void (*run)(uint32_t), uint32_t count)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        run(count);
        fflush(stdout);
        _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    return status;
}

int main(void)
{
    int status = apart(run_coupled, 2048);
    static const uint32_t sizes[] = {512, 1024, 4096};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        status |= apart(run_single, sizes[i]);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        status |= apart(run_peer, sizes[i]);
    }
    status |= apart(run_peer, 2048);
    return status != 0;
}
