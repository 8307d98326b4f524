/* A torus: node (x, y, z) is router x + X * (y + Y * z), joined to its neighbours, the last
 * of a dimension to its first. A dimension of 2 has one link between its two nodes, not
 * two. The grid is built whole: routers of nodes that a job does not use pass its traffic on.
 */
#include "hw/topology_build.h"

#include "base/check.h"
#include "hw/fabric.h"

/* The next router along a dimension whose steps are `stride` apart. */
static uint32_t neighbour(uint32_t router, uint32_t stride, uint32_t size)
{
    const uint32_t at = router / stride % size;
    return at + 1 < size ? router + stride : router - at * stride;
}

static void join_dimension(struct topology_builder *builder, uint32_t routers, uint32_t stride,
                           uint32_t size)
{
    const int64_t capacity = topology_capacity(builder->cluster->torus_link_bytes_per_s *
                                               builder->cluster->nic_efficiency);
    for (uint32_t router = 0; size > 1 && router < routers; router++) {
        const uint32_t next = neighbour(router, stride, size);
        if (size == 2 && next < router) {
            continue;
        }
        topology_add_pair(builder, &(struct topology_pair){
                                       .from = router,
                                       .to = next,
                                       .kind = LINK_TORUS,
                                       .kind_back = LINK_TORUS,
                                       .capacity = capacity,
                                       .capacity_back = capacity,
                                   });
    }
}

void topology_build_torus(struct topology_builder *builder)
{
    struct topology *topology = builder->topology;
    uint32_t routers = 1;
    for (uint32_t d = 0; d < TORUS_DIMENSIONS_MAX; d++) {
        topology->grid[d] = (uint32_t)builder->cluster->dimensions[d];
        sim_assert(topology->grid[d] >= 1);
        routers *= topology->grid[d];
    }
    sim_assert(builder->nodes <= routers);
    topology->shape = SHAPE_GRID;
    for (uint32_t i = 0; i < routers; i++) {
        topology_add_switch(builder, 1, 0, NULL);
    }
    uint32_t stride = 1;
    for (uint32_t d = 0; d < TORUS_DIMENSIONS_MAX; d++) {
        join_dimension(builder, routers, stride, topology->grid[d]);
        stride *= topology->grid[d];
    }
    for (size_t i = 0; i < (size_t)builder->nodes * builder->ports; i++) {
        topology->port_switch[i] = (uint32_t)(i / builder->ports);
    }
}
