/* Topologies: switches and the links between them, and shortest ways through.
 *
 * One table of kinds; a row is a function that adds switches and links for a cluster of
 * `nodes` nodes with `ports` NIC ports each, and says on which switch each port hangs.
 *
 *   rail        port i of each node of a leaf group on leaf i of the group; leaves on
 *               spines, pods on a core
 *   rail-only   the same without spines: a rail is one switch, rails never meet
 *   tree        all ports of a node on the group's one leaf (two or three levels)
 *   dragonfly   dragonfly+: groups of leaves and spines, every pair of groups joined
 *   torus       nodes in a grid of two or three dimensions, each its own router
 *   explicit    switches and links as the file lists them
 *
 * When links between equal ends are parallel (several spines seen from a leaf, several
 * cables), adaptive routing needs only their sum, so the builder is told `merges`: it
 * then makes one spine of each pod, one core, one link of each pair, with the sums of the
 * capacities. ECMP needs them one by one.
 *
 * Links are one way and made in pairs: the way back of link i is link i ^ 1. Distances
 * follow from the coordinates where there are such (torus, levels of a tree), else from a
 * breadth-first search around a destination when it is first asked for.
 *
 * ASSUMES: a spine has a port for each leaf of its pod, a core for each pod: switches have
 * as many ports as they need.
 */
#ifndef HW_TOPOLOGY_H
#define HW_TOPOLOGY_H

#include "input/cluster.h"

struct arena;

#define TOPOLOGY_FAR UINT16_MAX

struct topology_link {
    uint32_t from, to; /* switches */
    uint32_t kind;     /* enum link_kind */
    int64_t capacity;  /* bytes/s */
};

struct topology_switch {
    const char *name; /* of an explicit file, or NULL */
    uint8_t level;    /* 1 leaf, 2 spine, 3 core; for drawing and names */
    uint32_t number;  /* among those of its level */
    uint32_t pod;     /* or dragonfly group; of a core 0 */
};

/* How far apart two switches are. */
enum topology_shape {
    SHAPE_ANY,    /* breadth-first search */
    SHAPE_LEVELS, /* a tree's leaves, spines and cores */
    SHAPE_GRID,   /* a torus */
};

/* Distances to a few destinations, the latest asked for. */
struct topology_near {
    uint32_t slots;
    uint32_t *destinations; /* of each slot; UINT32_MAX: none */
    uint16_t **distances;   /* of each slot: hops from each switch */
    uint32_t *queue;        /* scratch of the search */
};

struct topology {
    struct arena *arena;
    struct topology_switch *switches;
    struct topology_link *links;
    uint32_t switch_count, link_count;
    uint32_t *port_switch; /* [node * ports + port] */
    uint32_t *out_first;   /* per switch and one more: into out_links */
    uint32_t *out_links;   /* link numbers by their `from` */
    uint32_t degree_max;   /* most links out of one switch */
    enum topology_shape shape;
    uint32_t grid[TORUS_DIMENSIONS_MAX];
    struct topology_near *near;
    const int32_t *forced; /* explicit `routes`: [at * switch_count + to] = next switch, or -1;
                            * NULL when there are none */
};

void topology_build(struct topology *topology, struct arena *arena, const struct cluster *cluster,
                    uint32_t nodes, uint32_t ports);

/* Hops (links) from one switch to another; TOPOLOGY_FAR when there is no way. `routes` of a
 * file do not count. */
uint16_t topology_distance(const struct topology *topology, uint32_t from, uint32_t to);

/* The links out of `at` (which is not `to`) that the way to `to` may take next: those on
 * shortest ways, or where the file's `routes` say so. Their number; at most degree_max. */
uint32_t topology_next(const struct topology *topology, uint32_t at, uint32_t to, uint32_t *links);

/* A capacity as the fluid takes it: whole bytes/s, at least 1. */
int64_t topology_capacity(double bytes_per_s);

#endif
