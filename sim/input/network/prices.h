/* What the parts of a network cost: a list of prices with their dates, by part and rate.
 *
 * Read from topologies/prices/NAME.yaml:
 *
 *     prices: networks-2026
 *     title: Networks for GPU clusters, late 2026
 *     spares: 2 %                       # of each part, bought with it
 *     lengths: {rack: 2 m, row: 20 m, hall: 40 m, source: ...}
 *     parts:
 *     - {part: nic, name: ConnectX-7, kinds: [ndr, roce], rate: 400 Gbps, price: 1200 USD,
 *        power: 25 W, date: 2026-11, source: ...}
 *     - {part: link, name: copper, kinds: [ndr, roce], rate: 400 Gbps, reach: 3 m, price: 0 USD,
 *        cable: 150 USD, power: 0 W, date: 2026-11, source: ...}
 *     - {part: switch, name: QM9700, kinds: [ndr], rate: 400 Gbps, ports: 64, split: 2,
 *        price: 35000 USD, power: 747 W, date: 2026-11, source: ...}
 *
 * `kinds` are those of NICs (input/network/nic.h) whose network the part is for; NICs without a
 * kind are taken for `roce`, Ethernet. A link is bought as two ends (`price` and `power` are of
 * one: a transceiver; of copper there is nothing) and a cable. A switch has `ports` at its rate,
 * each of which splits into up to `split` slower ones: 64 x 400 Gbps or 128 x 200. It has no more,
 * whatever a fabric may ask for (input/network/network_bill.h).
 */
#ifndef INPUT_NETWORK_PRICES_H
#define INPUT_NETWORK_PRICES_H

#include "input/catalogue.h"
#include "input/schema/schema.h"

enum network_part_kind { PART_NIC, PART_LINK, PART_SWITCH, PART_COUNT_ };
extern const char *const network_part_names[PART_COUNT_];

enum { PART_KINDS_MAX = 8 };

struct network_part {
    uint32_t part; /* enum network_part_kind */
    const char *name;
    const char *kinds[PART_KINDS_MAX]; /* of NICs */
    uint32_t kind_count;
    double bytes_per_s; /* of one port */
    double usd;         /* of a link: of one end */
    double cable_usd;   /* of a link */
    double power_w;     /* of a link: of one end; of a switch: without optics */
    double reach_m;     /* of a link */
    int64_t ports;      /* of a switch */
    int64_t split;      /* into how many slower ones each may be split; 1: it may not */
    const char *date;   /* of the price */
};

struct price_list {
    const char *name, *title;
    double spares; /* 0..1 */
    double rack_m, row_m, hall_m;
    const struct network_part *parts;
    uint32_t part_count;
};

#define PRICES_DEFAULT "networks-2026"

extern const struct schema price_list_schema;
/* Entries of `parts`. */
extern const struct schema price_list_part_keys;

MUST_USE bool price_list_read(const struct doc_node *node, struct price_list *list,
                              struct assumptions *assumptions, struct diag *diag);

/* The same, for files that are kept. */
extern const struct doc_reader price_list_reader;

/* The catalogue's file of that name. NULL, with messages. */
const struct price_list *price_list_open(struct arena *arena, const struct catalogue *catalogue,
                                         const char *name, struct diag *diag);

/* Whether a network of such NICs is built of it. */
bool network_part_is_for(const struct network_part *part, const char *nic_kind);

#endif
