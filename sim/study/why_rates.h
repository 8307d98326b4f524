/* Numbers of one's own machine of which a step is made, each as a rate that can be moved: which
 * keys it is, what is assumed of it, how it is measured, and how far it may lie from that.
 *
 * How far, as the deviation of its logarithm, is what is known of boxes of a kind: the GPU's own
 * gemm.box_spread, models/limits.yaml's box_..., of what public reports found off its reported_...
 * factor (four fifths lie within), else the range of assumptions there.
 *
 * A row of the table is one number. What nothing is assumed of, how fast loaders are and what the
 * host does between steps, is no row: it explains any longer step (study/why.h, why_any).
 */
#ifndef STUDY_WHY_RATES_H
#define STUDY_WHY_RATES_H

#include "bands/limits.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct cluster;
struct gpu;
struct software;

enum { WHY_SETS_MAX = 6 };

/* What of a scenario rates are of; borrowed. */
struct why_machine {
    const struct gpu *gpu;
    const struct software *software;
    const struct cluster *cluster;
    uint32_t precision; /* enum precision, of the products */
    int64_t gpus, nodes;
    double offloaded_optimizer; /* share of it on the host */
    bool offloads;              /* anything */
    double slowest;             /* speed of the GPU that is told to be slow; 1: none is */
    uint32_t unproven;          /* bits, as unproven_of */
};

struct scenario;
struct why_machine why_machine_of(const struct scenario *scenario);

struct why_rate {
    const char *name;    /* "large products" */
    const char *unit;    /* of `figure` times `factor`: "TFLOP/s" */
    const char *measure; /* how */
    double factor;
    bool (*arises)(const struct why_machine *machine);
    double (*figure)(const struct why_machine *machine); /* what it has of it, in SI */
    /* The keys at so many times the rate; how many. 0: a key cannot be that. */
    uint32_t (*sets)(struct arena *arena, const struct why_machine *machine, double times,
                     const char **sets);
    double (*deviation)(const struct why_machine *machine, const struct limits *limits);
    bool is_of_box;  /* one box says it, before its like are bought */
    bool is_product; /* it has a peak in the datasheet */
};

/* What a machine may be in without anybody's will: a link that is there and not used. */
struct why_state {
    const char *name; /* "PCIe between GPUs, not NVLink" */
    const char *see;  /* where it shows */
    bool (*arises)(const struct why_machine *machine);
    uint32_t (*sets)(struct arena *arena, const struct why_machine *machine, const char **sets);
};

uint32_t why_state_count(void);
const struct why_state *why_state_of(uint32_t number);

uint32_t why_rate_count(void);
const struct why_rate *why_rate_of(uint32_t number);

#endif
