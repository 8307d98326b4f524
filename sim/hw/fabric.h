/* The room hw: how long it takes, and over which links.
 *
 * Invariant: A time or a capacity here is made of what a file says of a GPU, a NIC or a drive,
 * with its source, and of nothing else. Layouts are unknown: a product is m, n, k, a transfer
 * bytes from one GPU to another. So plan and hw do not know each other, and meet in train.
 *
 * Lives here: kernels' times, links and routes of each kind of fabric, its symmetries, where
 * checkpoints can lie, loaders of a node.
 * May come in: base, des, input.
 *
 * Decided in one place each:
 *     how long a product takes, and memory-bound kernels      kernel.c
 *     how long attention takes                                attention.c
 *     which links there are: one function a kind of fabric    topology.c
 *     which links a transfer crosses                          fabric.c
 *     what a step's transfers lose against a benchmark's      fabric.c
 *     which GPUs and links cannot be told apart by place      fabric_turn.h
 *     where checkpoints can lie, and the ways there and back  checkpoint_place.c
 *        what each way crosses                                fabric_trace.c
 *     whether loaders keep up with steps                      dataloader.c
 */

/* The fabric: every link of a cluster, and which links a transfer crosses.
 *
 * Links are one way. A GPU has a scale-up port (NVLink or PCIe) out and in, and a host
 * link; a node has NIC ports, each out and in; ports hang on switches, switches on one
 * another. What lies between the switches is hw/topology's: a table of kinds (rail,
 * rail-only, tree, dragonfly, torus, explicit), each a function that builds switches and
 * links from the cluster file.
 *
 *      GPU --scale-up-- switch of its scale-up domain (a node, or a rack of trays)
 *       |
 *      NIC port ==> switch ==> ... ==> switch ==> NIC port
 *
 * Capacities are what transfers achieve: advertised bandwidth times the measured
 * efficiency in the cluster file. GPU g of a node uses port g * ports / gpus (more NICs
 * than GPUs: its share of them is one port of that many times the bandwidth).
 *
 * Routing between switches follows shortest paths.
 *   adaptive   parallel links of equal ends are one link of their sum, and where several
 *              next hops lie on shortest paths the traffic spreads evenly over them
 *   ecmp       each connection takes, hop by hop, one of the links that lie on shortest
 *              paths, by a hash of (seed, connection, hop); collisions are real. A
 *              connection is (from port, to port, path), `ecmp_paths` of them share a transfer
 * A NIC of several bonded ports has as many links in, each its share of the NIC: when a
 * connection comes from another leaf, ECMP's hash picks the one by which it arrives, and two
 * connections on one port leave the other idle. Within a leaf, with separate planes or adaptive
 * routing they arrive evenly, and the NIC is one link. Out of a NIC they always leave evenly.
 * With rail-local routing (PXN) a transfer between different ports of two nodes goes over scale-up
 * links to the GPU on the destination's port first, so that it stays on its rail.
 *
 * Two GPUs of one scale-up domain talk by scale-up links, others by NICs.
 *
 * A transfer's links are traced send by send: fabric_trace_begin, any number of
 * fabric_trace_*, fabric_trace_end. Usages add up per link; FLUID_USAGE_ONE is the
 * transfer's bytes once. What a collective sends where is plan/collective/collective's business;
 * train/transfer joins the two.
 *
 * ASSUMES: adaptive routing is perfect: it spreads evenly and loses nothing to reordering.
 * ASSUMES: only shortest paths are taken (dragonfly: minimal routing, no Valiant detours).
 */
#ifndef HW_FABRIC_H
#define HW_FABRIC_H

#include "base/ledger.h"
#include "des/event.h"
#include "hw/topology.h"
#include "input/cluster.h"

struct arena;

/* Kinds of links; those from LINK_SWITCH_FIRST_ on lie between switches. */
enum link_kind {
    LINK_SCALE_UP_OUT,
    LINK_SCALE_UP_IN,
    LINK_HOST,
    LINK_NIC_OUT,
    LINK_NIC_IN,
    LINK_STORAGE_NODE, /* one node's share of the storage network, both ways together */
    LINK_LOCAL,        /* a node's own drives, writing */
    LINK_LOCAL_READ,
    LINK_STORAGE, /* the file system's aggregate, writing */
    LINK_STORAGE_READ,
    LINK_STORAGE_BOTH, /* its servers' time, for readers and writers */
    LINK_SWITCH_FIRST_,
    LINK_LEAF_UP = LINK_SWITCH_FIRST_,
    LINK_LEAF_DOWN,
    LINK_POD_UP, /* spine of a pod to core */
    LINK_POD_DOWN,
    LINK_GLOBAL, /* dragonfly: between groups */
    LINK_TORUS,  /* between neighbours */
    LINK_TRUNK,  /* explicit: as the file names it */
    LINK_KIND_COUNT_
};

/* "scale-up port out", "NIC in", "leaf up-link": for people. */
extern const char *const link_titles[LINK_KIND_COUNT_];

struct fabric_spread;

struct fabric {
    const struct cluster *cluster;
    uint32_t gpus, nodes, domains;
    uint32_t ports_per_node; /* NICs, or GPUs if there are more NICs than GPUs */
    uint32_t lanes_in;       /* links into a port, among which ECMP picks */
    struct topology topology;
    uint32_t first[LINK_SWITCH_FIRST_ + 1]; /* first link of each kind; then the switches' */
    uint32_t link_count;
    int64_t capacity[LINK_SWITCH_FIRST_]; /* bytes/s, of the kinds above the switches */
    int64_t *weak; /* per link: the capacity of one that lost some; NULL, or 0: it did not */
    double scale_up_share, network_share; /* of the bandwidth, that a step's transfers get */
    double lane_share;                    /* network_share of one link into a bonded port */
    uint64_t ecmp_seed;
    uint64_t *scratch_usage; /* per link, for tracing */
    uint32_t *scratch_links; /* links touched so far */
    uint32_t scratch_count;
    uint32_t hops_max;            /* of the trace under way */
    uint32_t meshed;              /* GPUs of a domain in the trace under way */
    bool is_direct;               /* and it is not staged */
    uint32_t *scratch_next;       /* next hops of a switch */
    struct fabric_spread *spread; /* per switch, while traffic spreads over several ways */
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
    uint32_t hops_max;       /* switches on the longest leg between NICs; 0: no NIC is used */
    uint32_t bottleneck;     /* link that binds on an idle fabric (the first such) */
    int64_t cap_bytes_per_s; /* rate on an idle fabric; INT64_MAX for an empty route */
};

/* `seed` picks the ECMP hash. All GPUs 0 .. gpus - 1 of the cluster's nodes in order. */
void fabric_init(struct fabric *fabric, struct arena *arena, const struct cluster *cluster,
                 const struct gpu *gpu, uint32_t gpus, uint64_t seed);

/* What transfers lose in a step. Scale-up links carry a share (0..1) of what the cluster file
 * promises. A byte that crosses the network is staged between the GPU's memory and the NIC before
 * it is on the wire, at a rate of its own: a port of rate p whose GPUs stage at s together has
 * 1 / (1/p + 1/s), so a slow NIC loses little and a fast one more. Links between switches are
 * wires and carry what the file says. */
struct fabric_losses {
    double scale_up;
    double staging_bytes_per_s; /* of a GPU; 0: no limit */
};
/* Before anything is traced. Storage's own links stay. */
void fabric_derate(struct fabric *fabric, struct fabric_losses losses);
/* A link that has less than its kind: a GPU's scale-up port, or its NIC port, which GPUs may share,
 * each both ways. What transfers reach when nobody is in their way (fabric_trace_end) stays that of
 * healthy links, and so what is chosen by it: libraries decide before a link fails.
 * ASSUMES: of a NIC with several ports (nics.bonded_ports) each loses the same share. */
struct fabric_weakness {
    double nic, scale_up; /* shares that are left, 0..1 */
};
/* The links of a GPU that is weak carry less; to be called after fabric_derate. */
void fabric_weaken(struct fabric *fabric, uint32_t gpu, struct fabric_weakness left);

/* How the capacities of GPUs and NICs come about, with these losses. */
void fabric_record(const struct fabric *fabric, struct fabric_losses losses, struct ledger *ledger);

enum link_kind fabric_link_kind(const struct fabric *fabric, uint32_t link);
/* How many links there are of each kind. */
void fabric_count_links(const struct fabric *fabric, uint32_t counts[LINK_KIND_COUNT_]);
int64_t fabric_link_capacity(const struct fabric *fabric, uint32_t link);
/* The same of a link that lost nothing. */
int64_t fabric_usual_capacity(const struct fabric *fabric, uint32_t link);
/* "NIC out, node 3 port 5", "leaf 2 -> spine 7": for people. */
const char *fabric_link_name(struct arena *arena, const struct fabric *fabric, uint32_t link);

/* "leaf 2", or its name in the file. */
const char *fabric_switch_name(struct arena *arena, const struct fabric *fabric, uint32_t number);

/* Where a GPU lies. */
uint32_t fabric_node_of(const struct fabric *fabric, uint32_t gpu);
uint32_t fabric_domain_of(const struct fabric *fabric, uint32_t gpu); /* scale-up domain */
uint32_t fabric_port_of(const struct fabric *fabric, uint32_t gpu);   /* within its node */

/* ---- tracing ------------------------------------------------------------------- */

void fabric_trace_begin(struct fabric *fabric);
/* Of a group that has at most so many GPUs in a scale-up domain; 2 if nothing is said. Without a
 * switch (scale_up.peer_bandwidth) they reach each other by
 *     min(bandwidth, (count - 1) x peer_bandwidth)
 * of each GPU: rings and exchanges go over all links within the group, a send over those of a pair.
 * ASSUMES: any two GPUs of a node are joined alike. Of a DGX-1 with V100, 1 or 2 of 6 links join
 * neighbours and none the others, and libraries route around those. */
void fabric_trace_group(struct fabric *fabric, uint32_t count);
/* What crosses the network in this trace is not staged: the GPUs' kernels write to the NICs from
 * where the bytes are. It uses the less of ports whose capacity is that of staged bytes. */
void fabric_trace_direct(struct fabric *fabric);
/* From one GPU to another, by the scale-up links or by NICs. */
void fabric_trace_send(struct fabric *fabric, uint32_t from, uint32_t to, uint64_t usage);
/* Through the switch of the GPU's own scale-up domain (NVLS: multicast and reduction there). */
void fabric_trace_scale_up(struct fabric *fabric, uint32_t gpu, uint64_t out, uint64_t in);
/* Reduction inside the network (SHARP) over the NIC ports of these GPUs: each port sends and
 * receives `usage`, and each link between switches on the tree that joins their leaves
 * carries it once, however many ports lie below. */
void fabric_trace_reduction(struct fabric *fabric, const uint32_t *gpus, uint32_t count,
                            uint64_t usage);

/* Ways between a GPU's node and the file system, which hangs above the leaves. When it has no
 * network of its own, they cross the GPU's NIC port and its leaf's up-links, spread evenly. Those
 * to a peer cross the NICs of both.
 * ASSUMES: a file system's servers share their time between readers and writers: who writes at a
 * share of its write bandwidth leaves the rest of that share to be read. */
enum storage_way {
    STORAGE_COPY,        /* GPU to its host's memory, for a checkpoint */
    STORAGE_OFFLOAD,     /* the same, pinned, for what is offloaded */
    STORAGE_WRITE,       /* GPU to the file system */
    STORAGE_FLUSH,       /* host's memory to the file system */
    STORAGE_READ,        /* file system to host's memory */
    STORAGE_WRITE_LOCAL, /* GPU to its node's drives */
    STORAGE_FLUSH_LOCAL, /* host's memory to these */
    STORAGE_READ_LOCAL,  /* these to host's memory */
    STORAGE_DRAIN,       /* these to the file system */
    STORAGE_WRITE_PEER,  /* GPU to its host's memory and on into that of the node's peer */
    STORAGE_FLUSH_PEER,  /* host's memory into that of the node's peer */
    STORAGE_READ_PEER,   /* the peer's host's memory to this one */
};
/* The GPU in the same place on its node's peer: the next node below the same leaf, of the last the
 * first; where a leaf has one node, the next of all. There are two nodes at least. */
uint32_t fabric_peer_of(const struct fabric *fabric, uint32_t gpu);
void fabric_trace_storage(struct fabric *fabric, uint32_t gpu, enum storage_way way);
/* Whether it crosses NICs. */
bool fabric_storage_uses_nics(const struct cluster *cluster, enum storage_way way);

/* All that a trace of the same transfer found, once more: its crossings, and its hops. */
void fabric_trace_again(struct fabric *fabric, const struct fabric_crossing *crossings,
                        uint32_t count, uint32_t hops_max);
/* The route is the arena's. */
void fabric_trace_end(struct fabric *fabric, struct fabric_route *route);

/* ---- latency: one meaning ---------------------------------------------------------
 *
 * nics.latency is what a message takes from one GPU's memory into another's on another node, one
 * way: both adapters, the software that drives them, and the cable; each switch on the way adds
 * fabric.hop_latency. That is what a send pays, once, and what each round of a collective pays
 * between nodes: a ring of n nodes 2(n-1) times in an all-reduce, a tree 2 log2 n times, ...
 * (plan/collective counts the rounds). A library's rounds were measured, so they have the message
 * of some machine in them; what is added is how much longer one takes here (tuner.h).
 * nics.round_latency is what the library's own software adds to each message on networks other
 * than InfiniBand; a round of the protocol Simple has it twice. Latency holds no bandwidth.
 *
 * ASSUMES: bandwidth does not fall with latency: whatever is in flight has buffers. NCCL has 4 MiB
 * a channel and TCP its window, so beyond milliseconds one connection reaches less. */

/* One message between GPUs on different nodes, over `hops` switches. */
double fabric_between_s(const struct fabric *fabric, uint32_t hops, struct ledger *ledger);
/* One send between two GPUs, by the scale-up links or by NICs. */
double fabric_message_s(const struct fabric *fabric, const struct fabric_route *route,
                        struct ledger *ledger);

/* ---- describing ------------------------------------------------------------------ */

/* The links of one send in order, for `show`; at most `max`. With ECMP, of path 0. */
uint32_t fabric_path(const struct fabric *fabric, uint32_t from, uint32_t to, uint32_t *links,
                     uint32_t max);
/* What one half of the nodes can send to the other, one way, bytes/s: nodes 0 .. n/2 - 1
 * to node + n/2, port to port, all at once and all at one rate; the sum of rates. With ECMP it
 * has the collisions of these flows in it. */
double fabric_bisection(struct fabric *fabric);

#endif
