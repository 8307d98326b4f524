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
#include "base/ledger.h"

#include <math.h>

/* What one price is made of. */
struct pricing {
    const struct tuner_setting *setting;
    enum library_span span;
    const struct library_architecture *architecture;
    const struct library_cost *cost;
    const struct tuner_work *work;
    double stretch; /* of the library's latencies */
};

/* Whether its costs are those of a ring (`like` of the library's file), so that what NCCL's model
 * says of rings alone is of it, too. */
static bool is_ring(const struct pricing *p)
{
    const uint32_t like = p->setting->library->shapes[p->work->algorithm].like;
    return like == ALGORITHM_RING || like == ALGORITHM_MULTI_RAIL_RING;
}

/* ---- latency ---- */

/* A round takes up to `fill` longer when the pieces of the pipeline are as large as they get. */
static double fill_s(const struct pricing *p, enum library_link link, struct ledger *ledger)
{
    const double fill = p->cost->fill_s[link];
    const double bytes = p->work->bytes;
    const double half = p->cost->fill_half_bytes;
    return fill > 0.0 ? LEDGER_SUM(ledger, "filling the pipeline", "us",
                                   fill * bytes / (bytes + half), LEDGER_TERM(fill, "us"),
                                   LEDGER_TERM(bytes, "MB"), LEDGER_TERM(half, "MB"))
                      : 0.0;
}

static double simple_factor(const struct pricing *p, double factor)
{
    return p->work->protocol == PROTOCOL_SIMPLE ? factor : 1.0;
}

/* "Inter-node rings still have to launch nsteps * net overhead." */
static double overhead_s(const struct pricing *p, struct ledger *ledger)
{
    if (p->setting->nodes == 1 || !is_ring(p)) {
        return 0.0;
    }
    const double overhead = p->setting->library->network_overhead_s;
    const double factor = simple_factor(p, p->setting->library->simple_overheads);
    return LEDGER_SUM(ledger, "a ring's round at least", "us", overhead * factor,
                      LEDGER_TERM(overhead, "us"), LEDGER_TERM(factor, "times"));
}

static double round_inside_s(const struct pricing *p, struct ledger *ledger)
{
    const enum library_link link = p->setting->is_scale_up_pcie ? LIBRARY_PCIE : LIBRARY_SCALE_UP;
    const double round = p->cost->round_s[link][p->span];
    const double overhead = overhead_s(p, ledger);
    const double fill = fill_s(p, link, ledger);
    return LEDGER_SUM(ledger, "a round in a node", "us",
                      p->stretch * (fmax(round, overhead) + fill),
                      LEDGER_TERM(p->stretch, "plateau"), LEDGER_TERM(round, "us"),
                      LEDGER_TERM(overhead, "us"), LEDGER_TERM(fill, "us to fill"));
}

/* With one rank a node a ring has no scale-up rounds to hide behind: the tree's latency counts. */
static double library_round_s(const struct pricing *p)
{
    const bool is_exposed = p->setting->ranks == p->setting->nodes && is_ring(p);
    const struct library_cost *tree = &p->architecture->costs[ALGORITHM_TREE][p->work->protocol];
    return is_exposed && tree->is_offered ? tree->round_s[LIBRARY_NETWORK][p->span]
                                          : p->cost->round_s[LIBRARY_NETWORK][p->span];
}

/* What a node waits for the first piece of a chain. */
static double whole_piece_s(const struct pricing *p, struct ledger *ledger)
{
    const enum collective_operation operation = p->work->operation;
    const bool is_chain =
        is_ring(p) && (operation == COLLECTIVE_BROADCAST || operation == COLLECTIVE_REDUCE);
    const double piece = fmin(p->cost->piece_bytes, p->work->bytes);
    if (!is_chain || p->setting->nodes == 1 || !(piece > 0.0)) {
        return 0.0;
    }
    sim_assert(p->setting->nic_bytes_per_s > 0.0);
    return LEDGER_SUM(ledger, "a piece that is whole", "us", piece / p->setting->nic_bytes_per_s,
                      LEDGER_TERM(piece, "MB"), LEDGER_TERM(p->setting->nic_bytes_per_s, "B/s"));
}

/* The library's round has a message of the machine it was measured on in it: what counts is how
 * much longer, or shorter, one takes here. Once a round, whatever the protocol and however long
 * its plateau: what flushes stays inside its node. With the wait for a first piece. */
static double round_between_s(const struct pricing *p, double piece_s, struct ledger *ledger)
{
    const double round = library_round_s(p);
    const double software = p->setting->round_latency_s;
    const double times = simple_factor(p, p->setting->library->simple_latencies);
    const double fill = fill_s(p, LIBRARY_NETWORK, ledger) + piece_s;
    const double message = p->setting->message_s;
    const double measured = p->setting->library->measured_message_s;
    const double more =
        LEDGER_SUM(ledger, "more than was measured", "us", message - measured,
                   LEDGER_TERM(message, "us"), LEDGER_TERM(measured, "us of the library's"));
    return LEDGER_SUM(ledger, "a round between nodes", "us",
                      fmax(p->stretch * (round + software * times + fill) + more, 0),
                      LEDGER_TERM(p->stretch, "plateau"), LEDGER_TERM(round, "us"),
                      LEDGER_TERM(software, "us of software"), LEDGER_TERM(times, "times"),
                      LEDGER_TERM(fill, "us to fill"), LEDGER_TERM(more, "us"));
}

/* Of an all-to-all each NIC posts a message to each other node, one after the other: what is for
 * the GPUs of a node goes together, over the rail (PXN). */
static double posting_s(const struct pricing *p)
{
    const double others = (double)p->setting->nodes - 1.0;
    const double each = p->setting->library->network_overhead_s;
    return LEDGER_SUM(p->setting->ledger, "posted", "us", others * each,
                      LEDGER_TERM(others, "other nodes"), LEDGER_TERM(each, "us"));
}

static double own_start_s(const struct tuner_kernels *own, double ranks, struct ledger *ledger)
{
    return LEDGER_SUM(ledger, "base", "us", own->start_s + ranks * own->rank_s,
                      LEDGER_TERM(own->start_s, "us of its kernels"), LEDGER_TERM(ranks, "ranks"),
                      LEDGER_TERM(own->rank_s, "us"));
}

static double start_s(const struct pricing *p)
{
    if (p->work->own != NULL) {
        return own_start_s(p->work->own, (double)p->setting->ranks, p->setting->ledger);
    }
    const double launch = p->cost->launch_s[p->span];
    const double base = p->cost->base_s[p->span];
    const double ranks = (double)p->setting->ranks;
    const double start = LEDGER_SUM(
        p->setting->ledger, "base", "us", p->stretch * (launch + base + ranks * p->cost->rank_s),
        LEDGER_TERM(p->stretch, "plateau"), LEDGER_TERM(launch, "us to launch"),
        LEDGER_TERM(base, "us"), LEDGER_TERM(ranks, "ranks"), LEDGER_TERM(p->cost->rank_s, "us"));
    const bool has_peers = p->work->operation == COLLECTIVE_ALL_TO_ALL && p->setting->nodes > 1;
    return has_peers ? start + posting_s(p) : start;
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
 * algorithm of several phases sends about what the bus counts in each. HUGE_VAL: there is none. */
static double most_rate(const struct pricing *p, const struct collective_phase *phase)
{
    if (p->work->own != NULL) {
        return HUGE_VAL;
    }
    const double channels = (double)p->architecture->channels;
    const double maximum = p->cost->maximum_bytes_per_s[p->span];
    const double channel = p->cost->channel_maximum_bytes_per_s[p->span];
    const double bus = bus_bytes(p);
    const bool is_one = p->work->phase_count == 1 && bus > 0.0 && phase->bytes > 0.0;
    const double scale = is_one ? phase->bytes / bus : 1.0;
    struct ledger *ledger = p->setting->ledger;
    if (maximum <= channel * channels) {
        return LEDGER_SUM(isfinite(maximum) ? ledger : NULL, "the library's maximum", "B/s",
                          maximum * scale, LEDGER_TERM(maximum, "B/s"),
                          LEDGER_TERM(scale, "of the bus"));
    }
    return LEDGER_SUM(ledger, "the library's maximum", "B/s", channel * channels * scale,
                      LEDGER_TERM(channel, "B/s"), LEDGER_TERM(channels, "channels"),
                      LEDGER_TERM(scale, "of the bus"));
}

static double phase_rate(const struct pricing *p, const struct collective_phase *phase,
                         double route_cap, struct tuner_loss loss, bool *is_by_library)
{
    struct ledger *ledger = p->setting->ledger;
    const double efficiency = p->cost->efficiency[p->span];
    const double most = most_rate(p, phase);
    const double corrected = correction(p);
    const double links =
        LEDGER_SUM(ledger, "what links carry", "B/s", route_cap * efficiency,
                   LEDGER_TERM(route_cap, "B/s"), LEDGER_TERM(efficiency, "efficiency"));
    *is_by_library = most < links;
    const double reached =
        LEDGER_SUM(isfinite(most) ? ledger : NULL, "the less of both", "B/s", fmin(links, most),
                   LEDGER_TERM(links, "B/s"), LEDGER_TERM(most, "B/s"));
    const double rate = LEDGER_SUM(ledger, "rate", "B/s", reached * corrected * loss.share,
                                   LEDGER_TERM(reached, "B/s"), LEDGER_TERM(corrected, "corrected"),
                                   LEDGER_TERM(loss.share, "in a step"));
    const double staged = loss.staged_bytes_per_s;
    if (!(staged > 0.0)) {
        return rate;
    }
    const double moving = staged / (rate + staged); /* 1 / (1 / rate + 1 / staged) */
    return LEDGER_SUM(ledger, "staged", "B/s", rate * moving, LEDGER_TERM(rate, "B/s"),
                      LEDGER_TERM(moving, "of its time"));
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

/* What a phase takes besides its bytes; the base comes before the first. */
static double latency_s(const struct collective_phase *phase, double base,
                        const struct tuner_price *price, struct ledger *ledger)
{
    return LEDGER_SUM(ledger, "latency", "us",
                      base + (double)phase->rounds_intra * price->round_intra_s +
                          (double)phase->rounds_inter * price->round_inter_s,
                      LEDGER_TERM(base, "us"), LEDGER_TERM(phase->rounds_intra, "rounds"),
                      LEDGER_TERM(price->round_intra_s, "us"),
                      LEDGER_TERM(phase->rounds_inter, "rounds between nodes"),
                      LEDGER_TERM(price->round_inter_s, "us"));
}

static double time_s(double latency, double bytes, double rate, struct ledger *ledger)
{
    return LEDGER_SUM(ledger, "alone on the fabric", "us", latency + bytes / rate,
                      LEDGER_TERM(latency, "us"), LEDGER_TERM(bytes, "MB"),
                      LEDGER_TERM(rate, "B/s"));
}

static void price_phase(const struct pricing *p, uint32_t number, struct tuner_price *price)
{
    const struct tuner_work *work = p->work;
    const struct collective_phase *phase = &work->phases[number];
    struct ledger *ledger = p->setting->ledger;
    sim_assert(work->route_caps[number] > 0.0);
    price->latency_s[number] = latency_s(phase, number == 0 ? price->start_s : 0.0, price, ledger);
    static const struct tuner_loss none = {1.0, 0.0};
    price->bytes_per_s[number] = phase_rate(p, phase, work->route_caps[number],
                                            work->losses != NULL ? work->losses[number] : none,
                                            &price->is_by_library[number]);
    price->time_s +=
        time_s(price->latency_s[number], phase->bytes, price->bytes_per_s[number], ledger);
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
    struct pricing pricing = {.setting = setting,
                              .span = span,
                              .architecture = architecture,
                              .cost = &architecture->costs[work->algorithm][work->protocol],
                              .work = work};
    if (work->phase_count == 0 || !is_allowed(&pricing)) {
        return false;
    }
    pricing.stretch = plateau(&pricing);
    price->start_s = start_s(&pricing);
    price->round_intra_s =
        round_inside_s(&pricing, setting->ranks > setting->nodes ? setting->ledger : NULL);
    struct ledger *between = setting->nodes > 1 ? setting->ledger : NULL;
    price->round_inter_s = round_between_s(&pricing, whole_piece_s(&pricing, between), between);
    price->time_s = 0.0;
    for (uint32_t i = 0; i < work->phase_count; i++) {
        price_phase(&pricing, i, price);
    }
    price->unforeseen_s = (double)work->phases[0].rounds_inter *
                          (price->round_inter_s - round_between_s(&pricing, 0, NULL));
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

bool tuner_is_asked(uint32_t asked, enum collective_algorithm algorithm)
{
    sim_assert(algorithm < ALGORITHM_COUNT_);
    const bool is_a_ring = algorithm == ALGORITHM_RING || algorithm == ALGORITHM_MULTI_RAIL_RING;
    switch (asked) {
    case COLLECTIVE_ANY:
        return true;
    case ALGORITHM_RING:
        return is_a_ring;
    case ALGORITHM_SINGLE_RING:
        return algorithm == ALGORITHM_RING;
    default:
        return asked == (uint32_t)algorithm;
    }
}

/* ---- what was seen ---- */

static bool is_seen_of(const struct library_choice *choice, const struct tuner_setting *setting,
                       enum collective_operation operation, double bytes)
{
    return choice->operation == (uint32_t)operation && bytes >= choice->from_bytes &&
           bytes <= choice->to_bytes &&
           library_span_of((uint32_t)choice->nodes) == library_span_of(setting->nodes);
}

static bool is_own(const struct library_choice *choice, const struct tuner_setting *setting)
{
    return choice->nodes == (int64_t)setting->nodes && choice->gpus == (int64_t)setting->ranks;
}

bool tuner_seen(const struct tuner_setting *setting, enum collective_operation operation,
                double bytes, uint32_t protocols[ALGORITHM_COUNT_])
{
    const struct library_architecture *architecture =
        &setting->library->architectures[setting->architecture];
    bool has_any = false;
    bool has_own = false;
    for (uint32_t i = 0; i < architecture->choice_count; i++) {
        const struct library_choice *choice = &architecture->choices[i];
        const bool is_seen = is_seen_of(choice, setting, operation, bytes);
        has_any = has_any || is_seen;
        has_own = has_own || (is_seen && is_own(choice, setting));
    }
    for (uint32_t a = 0; a < ALGORITHM_COUNT_; a++) {
        protocols[a] = 0;
        for (uint32_t i = 0; i < architecture->choice_count && has_any; i++) {
            const struct library_choice *choice = &architecture->choices[i];
            if (is_seen_of(choice, setting, operation, bytes) &&
                (!has_own || is_own(choice, setting)) &&
                tuner_is_asked(choice->algorithm, (enum collective_algorithm)a)) {
                protocols[a] |= 1u << choice->protocol;
            }
        }
    }
    return has_any;
}
