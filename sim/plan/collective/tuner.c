/* NCCL's model, src/graph/tuning.cc (ncclTopoTuneModel, ncclTopoGetAlgoTime) of version 2.30:
 * what is named there is said beside each rule. Two things are ours: the bandwidth comes
 * from the cluster's links instead of NCCL's search for channels, and a round of a
 * pipeline may take longer for large buffers (library_cost.fill_s).
 *
 * ASSUMES: multi-node LL limits are those of an Intel host (NCCL has lower and higher ones by
 * CPU vendor; a cluster file does not say which CPU).
 */
#include "plan/collective/tuner.h"

#include "base/check.h"

#include <math.h>

_Static_assert((int)ALGORITHM_COUNT_ == (int)LIBRARY_ALGORITHM_COUNT, "one name each");
_Static_assert((int)PROTOCOL_COUNT_ == (int)LIBRARY_PROTOCOL_COUNT, "one name each");

/* What one price is made of. */
struct pricing {
    const struct tuner_setting *setting;
    enum library_span span;
    const struct library_architecture *architecture;
    const struct library_cost *cost;
    const struct tuner_work *work;
};

static bool is_ring(enum collective_algorithm algorithm)
{
    return algorithm == ALGORITHM_RING || algorithm == ALGORITHM_MULTI_RAIL_RING ||
           algorithm == ALGORITHM_HALVING_DOUBLING || algorithm == ALGORITHM_HIERARCHICAL;
}

/* ---- latency ---- */

/* A round takes up to `fill` longer when the pieces of the pipeline are as large as they get. */
static double fill_s(const struct pricing *p, enum library_link link)
{
    const double fill = p->cost->fill_s[link];
    return fill > 0.0 ? fill * p->work->bytes / (p->work->bytes + p->cost->fill_half_bytes) : 0.0;
}

static double simple_factor(const struct pricing *p, double factor)
{
    return p->work->protocol == PROTOCOL_SIMPLE ? factor : 1.0;
}

/* "Inter-node rings still have to launch nsteps * net overhead." */
static double round_inside_s(const struct pricing *p)
{
    const enum library_link link = p->setting->is_scale_up_pcie ? LIBRARY_PCIE : LIBRARY_SCALE_UP;
    double round = p->cost->round_s[link][p->span];
    if (p->setting->nodes > 1 && is_ring(p->work->algorithm)) {
        const double overhead = p->setting->library->network_overhead_s *
                                simple_factor(p, p->setting->library->simple_overheads);
        round = fmax(round, overhead);
    }
    return round + fill_s(p, link);
}

/* With one rank a node a ring has no scale-up rounds to hide behind: the tree's latency counts. */
static double round_between_s(const struct pricing *p)
{
    const bool is_exposed = p->setting->ranks == p->setting->nodes && is_ring(p->work->algorithm);
    const struct library_cost *tree = &p->architecture->costs[ALGORITHM_TREE][p->work->protocol];
    const double round = is_exposed && tree->is_offered
                             ? tree->round_s[LIBRARY_NETWORK][p->span]
                             : p->cost->round_s[LIBRARY_NETWORK][p->span];
    const double network =
        p->setting->round_latency_s * simple_factor(p, p->setting->library->simple_latencies);
    return round + network + fill_s(p, LIBRARY_NETWORK);
}

/* The library's round has a message of the machine it was measured on in it: what counts is how
 * much longer, or shorter, one takes here. Once a round, whatever the protocol and however long
 * its plateau: what flushes stays inside its node. */
static double message_more_s(const struct pricing *p)
{
    return p->setting->message_s - p->setting->library->measured_message_s;
}

/* "Plateau effect of ring." */
static double plateau(const struct pricing *p)
{
    const double share =
        p->work->bytes / ((double)p->architecture->channels * (double)p->setting->ranks);
    const bool is_long =
        p->setting->nodes > 1 && p->work->protocol == PROTOCOL_SIMPLE &&
        p->work->operation == COLLECTIVE_ALL_REDUCE &&
        share >= p->setting->library->plateau_from_bytes &&
        (p->work->algorithm == ALGORITHM_RING || p->work->algorithm == ALGORITHM_MULTI_RAIL_RING);
    return is_long ? p->architecture->plateau : 1.0;
}

/* ---- bandwidth ---- */

/* Trees "are not perfectly sticking to the model for medium sizes": a factor per power of two. */
static double correction(const struct pricing *p)
{
    const struct library *library = p->setting->library;
    const struct library_correction *tree = &library->tree_corrections[p->work->protocol];
    if (tree->count == 0 || p->work->algorithm != ALGORITHM_TREE ||
        p->work->operation != COLLECTIVE_ALL_REDUCE ||
        p->work->bytes < library->tree_correction_from_bytes) {
        return 1.0;
    }
    int exponent = 0; /* bytes / from = m * 2^exponent, m in [0.5, 1) */
    (void)frexp(p->work->bytes / library->tree_correction_from_bytes, &exponent);
    const uint32_t index = (uint32_t)exponent - 1;
    return index < tree->count ? tree->factors[index] : 1.0;
}

/* What NCCL's bandwidths (busBw) are counted in: bytes that the busiest rank sends. */
static double bus_bytes(const struct pricing *p)
{
    if (p->work->algorithm == ALGORITHM_TREE && p->work->operation == COLLECTIVE_ALL_REDUCE) {
        return 2.0 * p->work->bytes;
    }
    return p->work->bytes * collective_busbw_factor(p->work->operation, (int64_t)p->setting->ranks);
}

/* A maximum is one of bus bandwidth; a phase's flow has a rate of the phase's own bytes. An
 * algorithm of several phases sends about what the bus counts in each. */
static double phase_rate(const struct pricing *p, const struct collective_phase *phase,
                         double route_cap)
{
    const double channels = (double)p->architecture->channels;
    const double maximum = fmin(p->cost->maximum_bytes_per_s[p->span],
                                p->cost->channel_maximum_bytes_per_s[p->span] * channels);
    const double bus = bus_bytes(p);
    const double scale =
        p->work->phase_count == 1 && bus > 0.0 && phase->bytes > 0.0 ? phase->bytes / bus : 1.0;
    return fmin(route_cap * p->cost->efficiency[p->span], maximum * scale) * correction(p);
}

/* ---- the price ---- */

static bool is_outside(const struct library_architecture *architecture, double bytes)
{
    return architecture->fitted_to_bytes > 0.0 && bytes > 0.0 &&
           (bytes < architecture->fitted_from_bytes || bytes > architecture->fitted_to_bytes);
}

/* LL128 needs stores of 128 bytes that arrive whole, which PCIe does not promise. */
static bool is_allowed(const struct pricing *p)
{
    return p->cost->is_offered &&
           !(p->work->protocol == PROTOCOL_LL128 && p->setting->is_scale_up_pcie);
}

bool tuner_price(const struct tuner_setting *setting, const struct tuner_work *work,
                 struct tuner_price *price)
{
    sim_assert(setting->architecture < GPU_ARCHITECTURE_COUNT_);
    sim_assert(work->algorithm < ALGORITHM_COUNT_ && work->protocol < PROTOCOL_COUNT_);
    sim_assert(setting->nodes >= 1 && setting->ranks >= setting->nodes);
    sim_assert(work->phase_count <= COLLECTIVE_PHASES_MAX && work->bytes >= 0.0);
    const struct library_architecture *architecture =
        &setting->library->architectures[setting->architecture];
    const enum library_span span = library_span_of(setting->nodes);
    const struct pricing pricing = {.setting = setting,
                                    .span = span,
                                    .architecture = architecture,
                                    .cost = &architecture->costs[work->algorithm][work->protocol],
                                    .work = work};
    if (work->phase_count == 0 || !is_allowed(&pricing)) {
        return false;
    }
    const double stretch = plateau(&pricing);
    price->start_s = stretch * (pricing.cost->launch_s[span] + pricing.cost->base_s[span] +
                                (double)setting->ranks * pricing.cost->rank_s);
    price->round_intra_s = stretch * round_inside_s(&pricing);
    price->round_inter_s =
        fmax(stretch * round_between_s(&pricing) + message_more_s(&pricing), 0.0);
    price->time_s = 0.0;
    for (uint32_t i = 0; i < work->phase_count; i++) {
        const struct collective_phase *phase = &work->phases[i];
        sim_assert(work->route_caps[i] > 0.0);
        price->latency_s[i] = (i == 0 ? price->start_s : 0.0) +
                              (double)phase->rounds_intra * price->round_intra_s +
                              (double)phase->rounds_inter * price->round_inter_s;
        price->bytes_per_s[i] = phase_rate(&pricing, phase, work->route_caps[i]);
        price->time_s += price->latency_s[i] + phase->bytes / price->bytes_per_s[i];
    }
    price->is_extrapolated = is_outside(architecture, work->bytes);
    sim_assert(price->time_s >= 0.0 && isfinite(price->time_s));
    return true;
}

bool tuner_is_automatic(const struct library *library, enum collective_operation operation,
                        enum collective_algorithm algorithm)
{
    sim_assert(algorithm < ALGORITHM_COUNT_);
    const bool has_one_root = operation == COLLECTIVE_BROADCAST || operation == COLLECTIVE_REDUCE;
    return library->shapes[algorithm].is_automatic &&
           !(has_one_root && algorithm == ALGORITHM_TREE);
}
