/* A cluster: nodes of GPUs, the links inside and between them, storage.
 *
 * Read from topologies/NAME.yaml. Bandwidths are one way (each direction has
 * as much). Names of clusters carry the bandwidth per node in Gbps: h100-3200
 * has 8 NICs of 400 Gbps each.
 *
 *     cluster: h100-3200
 *     title: 8 x H100 nodes, 8 x 400 Gbps, rail-optimised
 *     source: https://...
 *     gpu: h100-sxm5-80gb               # models/gpus/
 *     gpus_per_node: 8
 *     scale_up: {kind: nvswitch, bandwidth: 450 GB/s, efficiency: 0.82, latency: 2.0 us,
 *                source: ...}
 *                                        # per GPU, one way; kind: nvswitch | pcie
 *     nics: {count: 8, bandwidth: 400 Gbps, efficiency: 0.92, latency: 5 us,
 *            source: ...}                # per NIC, one way
 *     fabric:
 *       kind: rail                       # rail: NIC i of every node on leaf i of its group;
 *                                        # tree: all NICs of a node on one leaf
 *       nodes_per_leaf: 32               # nodes in a leaf group
 *       oversubscription: 1              # leaf down-links : up-links
 *       leaves_per_pod: 12               # optional third level: leaf groups in a pod
 *       pod_oversubscription: 7          # pod : core
 *       hop_latency: 0.5 us
 *       source: ...
 *     host: {cores: 96, memory: 2 TB, power: 3 kW, source: ...}   # per node; power without GPUs
 *     storage: {write: 100 GB/s, read: 100 GB/s, per_node: 5 GB/s, source: ...}
 *                                        # aggregate caps, and one node's
 *     collectives: {launch: 10 us}       # fixed cost of any collective; default 0
 *     nodes: 128                         # optional: the cluster has no more
 *
 * Only title, oversubscription (1), leaves_per_pod, pod_oversubscription (1),
 * collectives and nodes may be left out.
 */
#ifndef SPEC_CLUSTER_H
#define SPEC_CLUSTER_H

#include "spec/gpu.h"

enum scale_up_kind { SCALE_UP_NVSWITCH, SCALE_UP_PCIE };
enum fabric_kind { FABRIC_RAIL, FABRIC_TREE };

struct cluster {
    const char *name;
    const char *title;
    const char *gpu_name; /* resolved by the scenario */
    struct place gpu_place;
    int64_t gpus_per_node;
    uint32_t scale_up_kind; /* enum scale_up_kind */
    double scale_up_bytes_per_s;
    double scale_up_efficiency; /* achieved / advertised for large messages */
    double scale_up_latency_s;  /* per collective step */
    int64_t nics_per_node;      /* divides gpus_per_node, or is a multiple of it */
    double nic_bytes_per_s;
    double nic_efficiency;
    double nic_latency_s; /* per message, both ends and the software between */
    uint32_t fabric_kind; /* enum fabric_kind */
    int64_t nodes_per_leaf;
    double oversubscription;     /* >= 1 */
    int64_t leaves_per_pod;      /* 0: no third level */
    double pod_oversubscription; /* >= 1 */
    double hop_latency_s;
    int64_t host_cores;
    double host_memory_bytes;
    double host_power_w;
    double storage_write_bytes_per_s; /* aggregate */
    double storage_read_bytes_per_s;
    double storage_node_bytes_per_s; /* of one node */
    double collective_launch_s;      /* fixed cost of any collective, from `collectives.launch` */
    int64_t nodes_max;               /* 0: as many as the scenario asks for */
    struct place place;
};

MUST_USE bool cluster_read(const struct doc_node *node, struct cluster *cluster,
                           struct assumptions *assumptions, struct diag *diag);

#endif
