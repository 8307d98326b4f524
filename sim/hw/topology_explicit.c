/* Switches and links as the file lists them; input/cluster_explicit saw to it that they
 * fit together. Adaptive routing takes the cables between two switches as one link.
 *
 * A switch's level is how far it is from the nodes (1: nodes hang on it), for drawing only.
 */
#include "hw/topology_build.h"

#include "base/arena.h"
#include "base/check.h"
#include "hw/fabric.h"

#include <string.h>

/* 0 stays for switches that no level was found for yet. */
static void find_levels(const struct cluster *cluster, uint8_t *levels)
{
    for (uint32_t i = 0; i < cluster->port_count; i++) {
        levels[cluster->ports[i].switch_number] = 1;
    }
    for (uint8_t level = 1; level < TOPOLOGY_LEVELS; level++) {
        for (uint32_t i = 0; i < cluster->link_count; i++) {
            const uint32_t from = cluster->links[i].from;
            const uint32_t to = cluster->links[i].to;
            if (levels[from] == level && levels[to] == 0) {
                levels[to] = (uint8_t)(level + 1);
            } else if (levels[to] == level && levels[from] == 0) {
                levels[from] = (uint8_t)(level + 1);
            }
        }
    }
}

static void add_switches(struct topology_builder *builder)
{
    const struct cluster *cluster = builder->cluster;
    uint8_t *levels = arena_array(builder->topology->arena, cluster->switch_count, sizeof *levels);
    find_levels(cluster, levels);
    for (uint32_t i = 0; i < cluster->switch_count; i++) {
        topology_add_switch(builder, levels[i] > 0 ? levels[i] : TOPOLOGY_LEVELS, 0,
                            cluster->switches[i].name);
    }
}

static void add_links(struct topology_builder *builder)
{
    const struct cluster *cluster = builder->cluster;
    for (uint32_t i = 0; i < cluster->link_count; i++) {
        const struct cluster_link *link = &cluster->links[i];
        const double each = link->bytes_per_s * cluster->nic_efficiency;
        const int64_t count = builder->merges ? 1 : link->count;
        const int64_t capacity =
            topology_capacity(builder->merges ? each * (double)link->count : each);
        for (int64_t k = 0; k < count; k++) {
            topology_add_pair(builder, &(struct topology_pair){
                                           .from = link->from,
                                           .to = link->to,
                                           .kind = LINK_TRUNK,
                                           .kind_back = LINK_TRUNK,
                                           .capacity = capacity,
                                           .capacity_back = capacity,
                                       });
        }
    }
}

/* Of several NICs that are one port, the first tells. */
static void hang_port(struct topology_builder *builder, const struct cluster_port *port,
                      uint32_t nic)
{
    const uint32_t nics = (uint32_t)builder->cluster->nics_per_node;
    const uint32_t wide = nics / builder->ports;
    sim_assert(nic < nics);
    for (int64_t node = port->node_first; node <= port->node_last; node++) {
        if (nic % wide == 0 && node < builder->nodes) {
            builder->topology->port_switch[(size_t)node * builder->ports + nic / wide] =
                port->switch_number;
        }
    }
}

static void hang_ports(struct topology_builder *builder)
{
    const struct cluster *cluster = builder->cluster;
    memset(builder->topology->port_switch, 0xff,
           (size_t)builder->nodes * builder->ports * sizeof(uint32_t));
    for (uint32_t i = 0; i < cluster->port_count; i++) {
        const struct cluster_port *port = &cluster->ports[i];
        if (port->nic >= 0) {
            hang_port(builder, port, (uint32_t)port->nic);
            continue;
        }
        for (uint32_t nic = 0; nic < cluster->nics_per_node; nic++) {
            hang_port(builder, port, nic);
        }
    }
}

static void force_routes(struct topology_builder *builder)
{
    const struct cluster *cluster = builder->cluster;
    const size_t switches = cluster->switch_count;
    if (cluster->route_count == 0) {
        return;
    }
    int32_t *forced = arena_array(builder->topology->arena, switches * switches, sizeof *forced);
    memset(forced, 0xff, switches * switches * sizeof *forced);
    for (uint32_t i = 0; i < cluster->route_count; i++) {
        const struct cluster_route *route = &cluster->routes[i];
        forced[route->at * switches + route->to] = (int32_t)route->via;
    }
    builder->topology->forced = forced;
}

void topology_build_explicit(struct topology_builder *builder)
{
    add_switches(builder);
    add_links(builder);
    hang_ports(builder);
    force_routes(builder);
}
