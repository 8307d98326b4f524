/* A portfolio: what a site trains, so that one fabric is judged by all of it.
 *
 *     title: Three jobs on 256 H100
 *     portfolio:
 *     - {name: dense, scenario: dense.yaml, weight: 50 %}    # shares of the site's GPU-hours
 *     - {name: moe, scenario: moe.yaml, weight: 30 %}
 *     cluster: h100-roce-24k                                 # for all; else the one all have
 *     sweep: {cluster.network: [800 Gbps, 3200 Gbps], cluster.fabric.oversubscription: [1, 2]}
 *     lose: 5 %                                              # at most, of the portfolio's work
 *     price: {gpu_hour: 1.80 USD, port: 1000 USD, port_bandwidth: 400 Gbps, life: 5 years}
 *
 * Only the ratio of weights counts. Of the scenarios' own `sweep:`, `variants:` and `require:`
 * nothing holds here. Files are looked for beside this one, then in the current directory.
 */
#ifndef INPUT_STUDY_PORTFOLIO_KEYS_H
#define INPUT_STUDY_PORTFOLIO_KEYS_H

#include "input/catalogue.h"
#include "input/schema/schema.h"

extern const struct schema portfolio_schema;

/* Entries of `portfolio`. */
extern const struct schema portfolio_job_keys;

struct portfolio_job {
    const char *name;            /* else the file's, without .yaml */
    const struct doc_node *file; /* as written */
    double weight;               /* as written, above 0 */
    struct place place;
    const struct doc_node *document; /* with the portfolio's cluster, sweep and variants */
};

/* What a fabric costs: see study/portfolio.h. */
struct portfolio_price {
    bool is_told;
    double gpu_hour_usd; /* of a GPU with its share of the node, without the network */
    double port_usd;     /* of one end of a link with half its cable; 0: parts have prices */
    double port_bytes_per_s;
    double life_s;
};

enum { PORTFOLIO_JOBS_MAX = 32 };

struct portfolio {
    const char *title;
    struct portfolio_job *jobs;
    uint32_t job_count;
    double lose; /* 0..1 */
    struct place lose_place;
    struct portfolio_price price;
};

/* Reads the file, of which `sweep:` and `variants:` are left to who makes points of them. False,
 * with messages, when it is wrong or a scenario's file cannot be read. */
MUST_USE bool portfolio_read(struct arena *arena, const struct doc_node *document,
                             const struct catalogue *catalogue, struct portfolio *portfolio,
                             struct diag *diag);

#endif
