/* What a run is paid with: `price` of a scenario. */
#ifndef INPUT_JOB_PRICE_H
#define INPUT_JOB_PRICE_H

#include <stdbool.h>
#include <stdint.h>

/* How the GPUs of a run are paid, and what its energy costs and emits; run/money says what that
 * comes to. All terms may be written down together, so that a study compares them by `terms`
 * alone. Money is in USD: another currency is refused, a rate of exchange would be a guess. */
enum price_terms { TERMS_RENT, TERMS_RESERVED, TERMS_SPOT, TERMS_OWN, TERMS_COUNT_ };
extern const char *const price_terms_names[TERMS_COUNT_];

/* Whose the GPUs are that the job's placement leaves idle (run/holding). */
enum price_idle { IDLE_PAID, IDLE_NOT, IDLE_COUNT_ };
extern const char *const price_idle_names[IDLE_COUNT_];

struct price_list;

/* Of one GPU that is bought: its share of the node included. */
struct ownership {
    bool is_told;
    bool says_network; /* `network` is written: it holds in the place of a bill */
    double gpu_usd;    /* 0 or ABSENT: told by the node */
    double node_usd;   /* 0: told by the GPU */
    double life_s;
    double residual;              /* 0..1, of the capital: what it is sold for in the end */
    double interest;              /* a year, of the capital that is still tied up */
    double hosting_usd_per_month; /* of a GPU: space, hands, cooling plant; no electricity */
    double electricity_usd_per_kwh;
    double network, storage; /* more capital, as shares of the GPU's */
    double nic_bytes_per_s;  /* of a NIC for each GPU that is in its price; 0: none is */
    double spares;           /* more GPUs than are used, as a share of these */
    double utilisation;      /* 0..1, of its life: in which it works for somebody */
};

struct price {
    double gpu_hour_usd;      /* of rent; ABSENT: neither the scenario nor the GPU has a price */
    uint32_t terms;           /* enum price_terms */
    double reserved_discount; /* 0..1, of the rent */
    double reserved_term_s;   /* that is paid at least */
    double spot_gpu_hour_usd;
    uint32_t idle;              /* enum price_idle */
    double spares, cold_spares; /* of a spare node's hour, as a share of one that works */
    struct ownership own;
    const struct price_list *network_prices; /* of its parts; NULL: nobody asks */
    double network_discount;                 /* 0..1, of them */
    double network_gpu_usd; /* of each GPU by the bill (input/network/network_bill); 0: none */
    double electricity_usd_per_kwh;
    double storage_usd_per_gb_month; /* of the shared storage that checkpoints ask for */
    double moved_usd_per_tb;         /* of checkpoints, to the shared storage */
    double pue;                      /* facility power over IT power */
    double carbon_kg_per_kwh;        /* ABSENT: nobody said */
};

#endif
