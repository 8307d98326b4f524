/* Offers of machines, so that they are judged by what they train: `stoker quote FILE`.
 *
 *     title: Three offers for Llama 2 70B
 *     today: 2026-09-01
 *     job: dense.yaml                      # a scenario with run: {tokens: ...}
 *     rates: {EUR: {usd: 1.08 USD, date: 2026-08-28}}
 *     offers:
 *     - {name: Alpha, cluster: h100-3200, gpus: 1024, price: 2.10 USD, delivery: 2026-10-01}
 *     - name: Beta
 *       cluster: b200-3200
 *       price: 3.40 EUR
 *       delivery: [{nodes: 32, date: 2026-11-01}, {nodes: 32, date: 2027-01-15}]
 *     - name: Gamma
 *       cluster: h200-3200
 *       nodes: 96
 *       buy: {node: 290 k EUR, life: 4 years, support: 6 %, residual: 10 %}
 *       delivery: 2026-12-01
 *
 * In place of `job` a list of `jobs`, one after the other on the whole machine, each perhaps `from`
 * a date and `until` one. Of the scenarios their own `sweep:`, `variants:`, `require:` and machine
 * (cluster, gpu, library) do not hold here, nor their price but what an offer does not say: terms,
 * gpu_hour and own are the offer's.
 *
 * Money is in USD or in a currency that `rates` has. No delivery lies before `today`, the host's
 * own where the file does not say.
 */
#ifndef INPUT_STUDY_QUOTE_KEYS_H
#define INPUT_STUDY_QUOTE_KEYS_H

#include "input/catalogue.h"
#include "input/schema/schema.h"

extern const struct schema quote_schema;
/* Entries of `rates`, `jobs`, `offers` and of an offer's `delivery`. */
extern const struct schema quote_rate_keys, quote_job_keys, quote_offer_keys, quote_part_keys;

enum { QUOTE_OFFERS_MAX = 16, QUOTE_JOBS_MAX = 16, QUOTE_PARTS_MAX = 12, QUOTE_RATES_MAX = 16 };

struct quote;

struct quote_rate {
    const struct quote *of;
    const char *currency; /* "EUR" */
    double usd;           /* of one */
    int64_t day;          /* of the rate */
};

struct quote_job {
    const struct quote *of;
    const char *name;            /* else the file's, without .yaml */
    const struct doc_node *file; /* as written */
    int64_t from_day;            /* 0: any */
    int64_t until_day;           /* 0: none */
    struct place place;
    const struct doc_node *document; /* without what is an offer's */
    const char *gpus_text;           /* of its own; NULL: not told */
};

/* From a day on; of one offer all are in nodes, or all in GPUs. */
struct quote_part {
    const struct quote *of;
    int64_t nodes, gpus; /* 0: not told so */
    int64_t day;
    struct place place;
};

struct quote_offer {
    const struct quote *of;
    const char *name, *vendor; /* whose boxes they are: the offer's name */
    const struct doc_node *cluster, *gpu;
    double network_bytes_per_s;               /* 0: the cluster's */
    int64_t gpus, nodes;                      /* 0: not told so; both: the job's */
    struct quote_part parts[QUOTE_PARTS_MAX]; /* by date; one: all of it */
    uint32_t part_count;
    bool is_bought;
    double hour_usd;                      /* of a GPU, rented */
    double term_s;                        /* that is paid at least */
    double gpu_usd, node_usd, total_usd;  /* one of them is told; the others ABSENT */
    double life_s, residual, support;     /* support: of the capital, a year */
    double hosting_usd_per_month;         /* of a GPU */
    double usd_per_kwh;                   /* ABSENT: as its job says */
    double storage_usd_per_gb_month, pue; /* likewise */
    const struct doc_node *set;
    const char *currency; /* of its price */
    struct place place, price_place;
};

/* What is to be least. */
enum quote_by { QUOTE_BY_COST, QUOTE_BY_DATE, QUOTE_BY_COUNT_ };
extern const char *const quote_by_names[QUOTE_BY_COUNT_];

struct quote {
    const char *title;
    int64_t today;
    bool is_today_told;
    struct quote_rate rates[QUOTE_RATES_MAX];
    uint32_t rate_count;
    uint32_t by;    /* enum quote_by */
    double day_usd; /* what each day costs until all is trained */
    struct quote_job jobs[QUOTE_JOBS_MAX];
    uint32_t job_count;
    struct quote_offer offers[QUOTE_OFFERS_MAX];
    uint32_t offer_count;
    struct place offers_place;
};

/* False, with messages, when it is wrong or the file of a job cannot be read. */
MUST_USE bool quote_read(struct arena *arena, const struct doc_node *document,
                         const struct catalogue *catalogue, struct quote *quote, struct diag *diag);

#endif
