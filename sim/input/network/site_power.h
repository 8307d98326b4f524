/* What a job's part of a site draws beside its GPUs: the rest of the nodes, their NICs, the
 * switches that join them, and the storage.
 *
 *     hosts      nodes * host.power
 *     NICs       nodes * nics.count * (nics.power + nics.optics_power)
 *     switches   ports * (nics.port_power + nics.optics_power)
 *     storage    storage.power * nodes / the cluster's, or nodes * storage.power_per_node
 *
 *     site       pue * (GPUs + all of these)
 *
 * Ports are counted at the rate of a NIC, a link of twice the rate as two, for each NIC of the job:
 *
 *     fabric         ports for each NIC
 *     rail-only      1, of its leaf
 *     rail, tree     1 + 2 / o, a leaf's up-links and spines' ends of them (o: oversubscription;
 *                    no spines join a single leaf), + 2 / (o * p) between pods (p: pod_...)
 *     dragonfly      1 + 2 / o + 1 / (o * g): global links end in each group (g: global_...)
 *     torus          1, and for each node two links of `link` a dimension, one where it has two
 *                    nodes
 *     explicit       1, and both ends of all links, shared by the nodes that hang on switches
 *
 * Of three levels without oversubscription that is 5 for each NIC, which is what NVIDIA's table of
 * DGX SuperPODs counts in switches of 64 (tests/closed_form/test_site_power).
 *
 * ASSUMES: NICs, optics, switches and storage draw the same whatever they carry, as most of it goes
 * into lanes that are always lit.
 * ASSUMES: both ends of each link have optics; racks wired in copper draw less (optics_power: 0 W).
 * ASSUMES: idle ports of switches that are not full draw nothing, and switches have as many ports
 * as two levels ask for where the file has no third: told is too little in either case.
 * ASSUMES: networks of storage and management, and servers that manage, draw nothing.
 */
#ifndef INPUT_NETWORK_SITE_POWER_H
#define INPUT_NETWORK_SITE_POWER_H

#include "input/cluster.h"

#include <stdint.h>

struct scenario;

struct ledger;

/* Ports of switches for each NIC of a job on so many nodes, at a NIC's rate: those of the cluster's
 * own size, where it has one. */
double site_ports_per_nic(const struct cluster *cluster, int64_t nodes);

/* Without the facility's part. */
struct site_power {
    double hosts_w, nics_w, switches_w, storage_w;
    double beside_gpus_w; /* their sum */
};

/* Of so many nodes of a cluster that has been read. */
struct site_power site_power_of(const struct cluster *cluster, int64_t nodes,
                                struct ledger *ledger);

/* The site's, with what cools and feeds it, where all GPUs of the scenario draw `gpus_w`. */
double site_power_w(const struct scenario *scenario, double gpus_w);

#endif
