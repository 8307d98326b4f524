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
 *                source: ...}           # per GPU, one way
 *     nics: {count: 8, bandwidth: 400 Gbps, efficiency: 0.92, latency: 5 us, source: ...}
 *           # or {count: 8, kind: ndr, source: ...}: input/network/nic.h
 *     fabric: {kind: rail, hop_latency: 0.5 us, nodes_per_leaf: 32, source: ...}
 *     host: {cores: 96, memory: 2 TB, power: 3 kW, source: ...}
 *     storage: {write: 100 GB/s, read: 100 GB/s, per_node: 5 GB/s, source: ...}
 *
 * An explicit fabric is listed switch by switch:
 *
 *     fabric:
 *       kind: explicit
 *       hop_latency: 0.5 us
 *       switches:
 *       - {name: leaf0, nodes: 0-15}             # all their NICs hang on it
 *       - {name: rail3, nodes: "0-31,40", nics: 3}  # only port 3 of each
 *       - {name: spine0}
 *       links:
 *       - {from: leaf0, to: spine0, bandwidth: 400 Gbps, count: 8}   # both ways
 *       routes:                         # optional: overrule the shortest way
 *       - {at: leaf0, to: leaf3, via: spine1}
 *
 * What each key means, its bounds and what holds without it: the table in cluster.c. Impossible
 * shapes (a switch that nothing reaches, routes in a loop, links of no capacity, oversubscription
 * below 1) are errors of the file.
 */
#ifndef INPUT_CLUSTER_H
#define INPUT_CLUSTER_H

#include "input/doc/doc_files.h"
#include "input/gpu.h"

/* A switch, PCIe, or links between pairs of GPUs without a switch. */
enum scale_up_kind { SCALE_UP_NVSWITCH, SCALE_UP_PCIE, SCALE_UP_MESH, SCALE_UP_COUNT_ };
enum fabric_kind {
    FABRIC_RAIL,
    FABRIC_RAIL_ONLY,
    FABRIC_TREE,
    FABRIC_DRAGONFLY,
    FABRIC_TORUS,
    FABRIC_EXPLICIT,
    FABRIC_KIND_COUNT_
};
extern const char *const fabric_kind_names[FABRIC_KIND_COUNT_];

enum storage_kind { STORAGE_FILE_SYSTEM, STORAGE_OBJECTS };
enum storage_network { STORAGE_ON_OWN_NETWORK, STORAGE_ON_FABRIC };

enum routing_kind { ROUTING_ADAPTIVE, ROUTING_ECMP };
extern const char *const routing_names[2];

#define TORUS_DIMENSIONS_MAX 3

/* Of an explicit fabric. */
struct cluster_switch {
    const char *name;
    struct place place;
};

struct cluster_port { /* NIC ports of a run of nodes that hang on a switch */
    uint32_t switch_number;
    int64_t node_first, node_last; /* both included */
    int64_t nic;                   /* -1: all */
};

struct cluster_link {
    uint32_t from, to; /* switches; both ways */
    double bytes_per_s;
    int64_t count;
};

struct cluster_route {
    uint32_t at, to, via; /* switches */
    struct place place;
};

struct cluster {
    const char *name;
    const char *title;
    const char *gpu_name; /* resolved by the scenario */
    int64_t gpus_per_node;
    uint32_t scale_up_kind; /* enum scale_up_kind */
    double scale_up_bytes_per_s;
    double scale_up_efficiency; /* achieved / advertised for large messages */
    double scale_up_latency_s;  /* of one message */
    double peer_bytes_per_s;    /* scale-up, to one other GPU; 0: all of it, by a switch */
    bool has_multicast;         /* the switch reduces and multicasts (NVLS) */
    int64_t domain_nodes;       /* nodes in one NVLink domain; >= 1 */
    int64_t nics_per_node;      /* divides gpus_per_node, or is a multiple of it */
    double network_bytes_per_s; /* of a node: all its NICs, one way */
    const char *nic_kind;       /* "ndr"; "": none, or not at this rate */
    const char *nic_announced;  /* as a GPU's (input/gpu.h) */
    double nic_bytes_per_s;
    double nic_efficiency;
    int64_t bonded_ports;    /* of a NIC; 0 as 1 */
    int64_t nic_planes;      /* networks over which its lanes are spread; 0 as 1 */
    double nic_power_w;      /* of one NIC, without optics; what the next three mean: */
    double optics_power_w;   /* of one end of a link; input/network/site_power.h */
    double port_power_w;     /* of a switch's port for a NIC, without optics */
    double nic_latency_s;    /* of one message between nodes: hw/fabric.h, "one meaning" */
    double round_latency_s;  /* added to each message by the library's software for this network */
    double core_bytes_per_s; /* of a core of the host; 0: cores do not touch the data */
    uint32_t fabric_kind;    /* enum fabric_kind */
    uint32_t routing;        /* enum routing_kind */
    int64_t ecmp_paths;      /* >= 1 */
    bool has_pxn;
    bool has_in_network_reduction;
    int64_t nodes_per_leaf;
    double oversubscription; /* >= 1 */
    double uplink_bytes_per_s;
    int64_t leaves_per_pod;      /* 0: no third level */
    double pod_oversubscription; /* >= 1 */
    int64_t leaves_per_group;    /* dragonfly */
    double global_oversubscription;
    int64_t dimensions[TORUS_DIMENSIONS_MAX]; /* nodes; 1 where there is no dimension */
    double torus_link_bytes_per_s;
    struct cluster_switch *switches; /* explicit */
    struct cluster_port *ports;
    struct cluster_link *links;
    struct cluster_route *routes;
    uint32_t switch_count, port_count, link_count, route_count;
    double hop_latency_s;
    int64_t host_cores;
    double host_memory_bytes;
    double host_power_w;                     /* without its GPUs and NICs */
    double storage_write_stated_bytes_per_s; /* of all nodes together; 0: it grows with them, */
    double storage_read_stated_bytes_per_s;
    double storage_write_each_bytes_per_s; /* by so much for each node */
    double storage_read_each_bytes_per_s;
    double storage_write_bytes_per_s; /* of all nodes together: cluster_provision */
    double storage_read_bytes_per_s;
    double storage_node_bytes_per_s; /* of one node */
    double local_write_bytes_per_s;  /* its own drives; 0: it has none */
    double local_read_bytes_per_s;
    uint32_t storage_kind;             /* enum storage_kind */
    double storage_requests_per_s;     /* of all nodes: files opened, objects asked for; 0: any */
    double storage_stream_bytes_per_s; /* of one reader; 0: as much as there is */
    double storage_first_byte_s;       /* from asking to the first byte */
    double storage_capacity_bytes;     /* 0: not stated */
    double storage_usable;             /* of it, 0..1 */
    double storage_power_w;            /* of all of it; 0: it grows with the nodes, */
    double storage_power_each_w;       /* by so much for each */
    uint32_t storage_network;          /* enum storage_network */
    const char *library_name;          /* resolved by the scenario, like the GPU */
    int64_t power_domain_nodes;        /* 0: not said */
    int64_t nodes_max;                 /* 0: as many as the scenario asks for */
    struct place place;
    struct place fabric_place;
};

/* Between ports on different switches traffic goes by NVLink first (PXN). A rail-only fabric
 * has no other way; elsewhere it takes an NVSwitch. */
bool cluster_uses_pxn(const struct cluster *cluster);

/* How fast its file system is for so many nodes. Before, it is that for all nodes that there may
 * be, or for one. */
void cluster_provision(struct cluster *cluster, int64_t nodes);

/* Whether nodes have drives of their own for checkpoints. */
bool cluster_has_drives(const struct cluster *cluster);

/* A copy to be compared byte by byte: without texts, places and what only explicit fabrics have. */
void cluster_figures(const struct cluster *cluster, struct cluster *figures);

/* Nodes that the fabric and the file's `nodes` allow; 0: any number. */
int64_t cluster_nodes_max(const struct cluster *cluster);

/* Its keys; its object is a struct cluster. */
extern const struct schema cluster_schema;

/* `node` after nic_settle (input/network/nic.h): kinds of NIC are put into it. */
MUST_USE bool cluster_read(const struct doc_node *node, struct cluster *cluster,
                           struct assumptions *assumptions, struct diag *diag);

/* The same, for files that are kept. */
extern const struct doc_reader cluster_reader;

#endif
