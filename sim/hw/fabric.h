/* The fabric: every link of a cluster, and which links a transfer crosses.
 *
 * Links are one way. A GPU has a scale-up port (NVLink or PCIe) out and in,
 * and a host link; a node has NICs, each out and in; NICs hang on leaves, leaves
 * on the spine, groups of leaves (pods) on a core:
 *
 *      GPU --scale-up-- node switch          rail fabric: NIC i of each node of a
 *       |                                    leaf group is on leaf i of the group
 *      NIC ==> leaf ==> (spine) ==> leaf     tree fabric: all NICs of a node are
 *                 \==> pod up ==> core       on the group's one leaf
 *
 * The spine inside a pod and the core are not links of their own: what can be
 * scarce there is the up-links that lead into them (capacity down / oversubscription).
 * Capacities are what transfers achieve: advertised bandwidth times the measured
 * efficiency in the cluster file.
 *
 * GPU g of a node uses NIC g * nics / gpus (more NICs than GPUs: its share of
 * them is one port of that many times the bandwidth).
 *
 * A ring over ranks sorted by node crosses a node boundary once per node; its
 * traffic spreads over the NICs of its members there (rails), so each carries
 * 1/rails of the ring's bytes.
 *
 * ASSUMES: a tree collective loads the same links as a ring with the tree's bytes.
 * ASSUMES: NVLink usage of a ring is one on each member's port, though the member
 * before a node boundary sends by NIC (at most 1/members too much).
 * ASSUMES: no ECMP collisions; adaptive routing spreads a leaf's traffic evenly.
 */
#ifndef HW_FABRIC_H
#define HW_FABRIC_H

#include "des/event.h"
#include "spec/cluster.h"

struct arena;

enum link_kind {
    LINK_SCALE_UP_OUT,
    LINK_SCALE_UP_IN,
    LINK_HOST,
    LINK_NIC_OUT,
    LINK_NIC_IN,
    LINK_LEAF_UP,
    LINK_LEAF_DOWN,
    LINK_POD_UP,
    LINK_POD_DOWN,
    LINK_STORAGE_NODE, /* one node's share of the storage network */
    LINK_STORAGE,      /* the file system's aggregate */
    LINK_KIND_COUNT_
};

/* "NVLink out", "NIC in", "leaf up-link": for people. */
extern const char *const link_titles[LINK_KIND_COUNT_];

struct fabric {
    const struct cluster *cluster;
    uint32_t gpus, nodes, leaf_groups, pods;
    uint32_t ports_per_node; /* NICs, or GPUs if there are more NICs than GPUs */
    uint32_t leaves_per_group;
    uint32_t first[LINK_KIND_COUNT_ + 1]; /* number of the first link of each kind */
    int64_t capacity[LINK_KIND_COUNT_];   /* bytes/s */
    uint64_t *scratch_usage;              /* per link, for building routes */
    struct arena *arena;
};

struct fabric_crossing {
    uint32_t link;
    uint64_t usage; /* FLUID_USAGE_ONE = the transfer's bytes once */
};

/* A transfer's way through the fabric. */
struct fabric_route {
    struct fabric_crossing *crossings; /* each link once; by link number */
    uint32_t count;
    uint32_t nodes;          /* distinct nodes touched */
    uint32_t hops_max;       /* switches on the longest leg between nodes */
    int64_t cap_bytes_per_s; /* rate on an idle fabric */
};

void fabric_init(struct fabric *fabric, struct arena *arena, const struct cluster *cluster,
                 const struct gpu *gpu, uint32_t gpus);

uint32_t fabric_link_count(const struct fabric *fabric);
enum link_kind fabric_link_kind(const struct fabric *fabric, uint32_t link);

/* A ring through `count` >= 2 ranks, given in increasing order. */
void fabric_ring(struct fabric *fabric, const uint32_t *ranks, uint32_t count,
                 struct fabric_route *route);
void fabric_pair(struct fabric *fabric, uint32_t from, uint32_t to, struct fabric_route *route);
/* From a GPU into its host's memory, and on to the file system unless `stops_at_host`. */
void fabric_to_storage(struct fabric *fabric, uint32_t rank, bool stops_at_host,
                       struct fabric_route *route);

/* Latency of one round of a collective inside a node, and of one between
 * nodes over that many switches; of one message of a pair. */
double fabric_intra_round_s(const struct fabric *fabric);
double fabric_inter_round_s(const struct fabric *fabric, uint32_t hops);
double fabric_message_s(const struct fabric *fabric, const struct fabric_route *route);

#endif
