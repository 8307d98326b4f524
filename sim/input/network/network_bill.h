/* The bill of material of a cluster's network: how many NICs, links and switches of which ports it
 * takes, what they cost and draw.
 *
 * The fabric is the one that hw/topology draws, built of switches that can be bought: where that
 * has one spine of 1,024 ports, here stand 16 of 64, or a third level.
 *
 *     leaf group     n nodes, in rails d = n * NICs / rails ports down of each rail's leaf, else
 *                    d = n * NICs, and u = d * NIC / (o * up-link) up, o: oversubscription. A
 *                    switch that holds several rails does, a leaf that no switch holds is several.
 *                    Of one group that a switch holds without up-links there is nothing above.
 *     spines         least that hold all up-links U and divide u, so that each leaf has as many
 *                    links to each
 *     third level    of pods (leaves_per_pod), or where a spine has fewer ports than there are
 *                    leaves: pods of half its ports. Spines hold U + U / p of a pod (p: pod_...),
 *                    cores what goes out of all pods.
 *     dragonfly      spines of a group hold U + U / g (g: global_...); two ends are a global link
 *     rail-only      a switch for each rail that holds all nodes, or no network
 *     torus          as many routers in a switch as it holds
 *     explicit       a switch for each that is listed
 *
 * Lanes of a NIC that go to several planes (nics.planes) are as many networks alike, each of NICs
 * with a part of the rate, and of up-links with that part where these have a NIC's. Ports that are
 * one address (nics.bonded_ports) share the spines, and each has leaves of its own.
 *
 * A link that is faster than a port of the switches is several of these. Of all pairs of a switch
 * for the leaves and one for what is above them the bill is that which costs least; links are the
 * cheapest that reach. Of each part `spares` more are bought.
 *
 * NICs that are in the price of a node already are taken off again: one for each GPU, of the rate
 * that is said (nic_in_price_bytes_per_s).
 *
 * What it draws is told here, and paid by input/network/site_power, which counts ports for each NIC
 * of the job, not whole switches: it is the same where all are full.
 *
 * ASSUMES: NVLink, its switches and its cables are in the price of the node or rack; the networks
 * of storage and management are not in the bill.
 * ASSUMES: a leaf that is several switches is as good as one: nodes below two of them meet above.
 */
#ifndef INPUT_NETWORK_NETWORK_BILL_H
#define INPUT_NETWORK_NETWORK_BILL_H

#include "input/cluster.h"
#include "input/network/prices.h"

struct network_order {
    const struct cluster *cluster;
    int64_t nodes; /* of the job; the cluster's own, where it has more */
    const struct price_list *prices;
    double nic_in_price_bytes_per_s; /* 0: the node's price has no NICs */
};

enum { NETWORK_LINES_MAX = 24 };

struct network_line {
    const char *what; /* "leaf", "leaf to spine" */
    const struct network_part *part;
    bool is_cable;  /* of a link, not its ends */
    int64_t count;  /* below 0: in the price of nodes */
    int64_t spares; /* beside them */
    double each_usd, usd, power_w;
};

struct network_bill {
    struct network_line lines[NETWORK_LINES_MAX];
    uint32_t line_count;
    int64_t nodes, gpus;
    int64_t leaves, spines, cores;
    double usd, power_w; /* of all nodes; power without spares */
    double gpu_usd;      /* of each GPU */
    const char *why;     /* there is none: "no switch of networks-2026 ..."; NULL */
    const char *help;
    const char *about; /* the key that asks for it: "cluster.nics" */
};

/* False: there is none, and why. The texts are the arena's. */
MUST_USE bool network_bill_of(struct arena *arena, const struct network_order *order,
                              struct network_bill *bill);

#endif
