/* How unevenly tokens reach experts, and how many cross the network.
 *
 * With even routing each expert gets tokens * k / experts rows. Routers are not even: the
 * popularity of experts is drawn (seeded, lognormal with the scenario's spread, or with the sigma
 * of which the busiest of these experts is as busy as one that was measured), experts lie on
 * ranks in order, and the rank with most rows sets the pace of its expert-parallel group. A
 * capacity factor cuts what an expert may get; what it does not get frameworks pad (DeepSpeed,
 * GShard; Megatron where it is told to) or leave. Redundant experts are copies of the busiest,
 * placed so that the busiest rank has least (the greedy rule of DeepSeek's EPLB: replicate the most
 * loaded, pack the heaviest first).
 *
 * Of uniform top-k of E experts in G groups the expected number of distinct groups is
 * G(1 - C(E-E/G,k)/C(E,k)). Node-limited routing (model.group_limit L of model.expert_groups G)
 * draws L groups first and the experts among theirs, O = L E/G: of a part of the experts that holds
 * h groups, or is in one (h = 1), and has s experts of each, j groups are drawn hypergeometrically,
 * and C(O-js,k)/C(O,k) says that none of its experts is. A token goes once to each node, where
 * scale-up links pass it on.
 *
 * ASSUMES: one draw of popularity stands for all layers and microbatches; which expert is busy
 * does not change within a step.
 * ASSUMES: a model with node-limited routing is trained by an exchange that makes use of it, as
 * DeepEP does.
 * ASSUMES: without node-limited routing each copy of a token crosses the network by itself, as
 * plain all-to-alls send it, unless software.experts.exchange is tokens: then it is sent once to
 * each rank of its experts, and to each node, as DeepEP and HybridEP do; how many these are is
 * that of an even router.
 *
 * Sources: DeepSeek-V3 report (arXiv 2412.19437) section 2.1.2 and 3.2.2; EPLB's README, whose
 * example the tests use; oracles: shared/oracles.md section 3.
 */
#ifndef PLAN_ROUTING_H
#define PLAN_ROUTING_H

#include "input/software.h"

struct scenario;

struct arena;

/* Of a job what the spread of its tokens depends on. What it points to is borrowed. */
struct routing_job {
    const struct model *model;     /* its experts, their groups, and how many a token is sent to */
    const struct routing *routing; /* popularity, capacity, copies */
    int64_t ep;                    /* ranks that share the experts of a layer */
    int64_t domain_gpus;           /* that scale-up links join */
    enum exchange_kind exchange;
    uint64_t seed; /* of the popularity */
};
struct routing_job routing_job_of(const struct scenario *scenario);

struct routing_load {
    double hottest_rank;   /* rows that the busiest rank's experts compute over the mean of what is
                            * routed; padded to a capacity, all compute capacity_factor */
    double hottest_expert; /* of the busiest expert (copy) over the mean */
    double sent;           /* rows served over rows routed: below 1 when a capacity drops some */
    int64_t local_experts; /* (experts + redundant) / ep */
    /* Of the all-to-alls: rows in buffers over rows routed (padding of a capacity travels, dropped
     * tokens do not, and a token may go once for several experts), and what the busiest rank gets
     * over the mean. */
    double exchange_rows, exchange_hottest;
};

/* 1, 1, 1 when routing is even and dropless, or there are no experts. */
struct routing_load routing_of(const struct routing_job *job);

/* Expected number of distinct groups that a token's k experts of `experts` lie in. */
double routing_distinct_groups(int64_t experts, int64_t groups, int64_t k);

/* The same of a model's experts in `parts` parts of as many, with node-limited routing where it has
 * that: ranks or nodes. Where these neither divide the groups nor are divided by them, the lesser
 * of what either allows. */
double routing_distinct_parts(const struct model *model, int64_t parts);

/* Of an expert-parallel group on `nodes` scale-up domains: rows that a rank sends to other nodes
 * over those of its rows (exchange_rows) that are meant for them. 1 when each copy goes by itself;
 * with node-limited routing a token goes once to each of its nodes. */
double routing_node_share(const struct routing_job *job, uint32_t nodes);

/* What EPLB is asked: experts in groups, on `ranks` ranks of `nodes` nodes, with `copies` >=
 * experts places in all, which ranks divide, and which nodes divide. */
struct routing_balance {
    int64_t experts, groups, copies, nodes, ranks;
};

/* EPLB's greedy plan. When nodes divide the groups: groups to nodes, copies within nodes, copies
 * to ranks; else all at once. Writes the load of each rank and, unless NULL, of each copy. */
void routing_balance(struct arena *arena, const struct routing_balance *asked,
                     const double *expert_loads, double *copy_loads, double *rank_loads);

#endif
