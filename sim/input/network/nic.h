/* Kinds of NIC, by the names that architects use: hdr, ndr, roce, efa, ethernet-tcp, ...
 *
 * Read from topologies/nics/NAME.yaml. A cluster that names one (nics.kind) gets from it what its
 * own section `nics` does not say: bandwidth, efficiency, latencies, power and what TCP takes of
 * the host's cores. What these mean stands at the keys of a cluster (cluster.c), for latency in
 * hw/fabric.h.
 *
 *     nic: ndr
 *     title: InfiniBand NDR
 *     rate: {bandwidth: 400 Gbps, others: [200 Gbps], source: ...}   # of one NIC, one way
 *     reach: {efficiency: 0.9, provenance: measured, source: ...}    # in collectives
 *     message: {latency: 10 us, round_latency: 0 us, source: ...}
 *     power: {nic: 25 W, optics: 8 W, port: 11.7 W, source: ...}     # at the usual rate
 *     host: {core_bandwidth: 42 Gbps, source: ...}                   # TCP only
 *
 * ASSUMES: at another rate than its kind's usual one a NIC draws in proportion, as do optics and
 * ports of switches: most of it goes into lanes, which are more or faster.
 *
 * A NIC of the kind has one of its rates and no other: a bandwidth beside a kind that does not have
 * it is an error, which names the kinds that do. --set (and the axis of a sweep) may still change
 * either alone. A kind that is set takes the place of all that the file says of its NICs but their
 * count. A bandwidth or network that is set stays, and where the file's kind has no such rate it is
 * a thought experiment: the kind's other figures hold, its name does not.
 */
#ifndef INPUT_NETWORK_NIC_H
#define INPUT_NETWORK_NIC_H

#include "input/catalogue.h"
#include "input/doc/provenance.h"
#include "input/schema/schema.h"

enum { NIC_RATES_MAX = 8 };

struct nic {
    const char *name;
    const char *title;
    const char *announced;                   /* as a GPU's (input/gpu.h) */
    double rates_bytes_per_s[NIC_RATES_MAX]; /* the usual one first */
    uint32_t rate_count;
    double efficiency;
    double latency_s;
    double round_latency_s;
    double power_w, optics_power_w, port_power_w; /* at the usual rate */
    double core_bytes_per_s;                      /* 0: the host's cores do not touch the data */
};

/* Its keys; its object is a struct nic. */
extern const struct schema nic_schema;

MUST_USE bool nic_read(const struct doc_node *node, struct nic *nic,
                       struct assumptions *assumptions, struct diag *diag);

/* Between --set and cluster_read: writes into a cluster's document what its kind of NIC says and it
 * does not, and settles which of `network`, `nics.bandwidth` and `nics.kind` holds where --set
 * gives one of them and the file another, or a house's defaults, which are between the two
 * (input/study/house). False, with a message, when there is no such kind, or it
 * has no such rate. A document that is no mapping is left as it is. */
MUST_USE bool nic_settle(struct arena *arena, const struct catalogue *catalogue,
                         struct doc_node *cluster, struct diag *diag);

#endif
