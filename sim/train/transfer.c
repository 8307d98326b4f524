/* A group is described by its domains and ports, its routes are traced over
 * the fabric once for each algorithm, and each algorithm and protocol is
 * priced by the tuner; the best becomes a row of the table of transfers. Equal
 * wishes share a row.
 */
#include "train/transfer.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/ledger.h"
#include "hw/fabric.h"
#include "hw/fabric_turn.h"
#include "input/software.h"
#include "train/system/route_memo.h"

#include <stddef.h>
#include <stdlib.h>

/* ---- groups -------------------------------------------------------------------------- */

/* What a group's routes can carry on an idle fabric, per operation and algorithm, one per
 * phase; NULL until asked for. */
struct route_cap {
    double bytes_per_s;
    uint32_t bottleneck;
    uint32_t hops;
};

struct group_caps {
    struct route_cap *of[COLLECTIVE_OPERATION_COUNT_][ALGORITHM_COUNT_];
};

/* Order of a member: the place of its scale-up domain, then its GPU. */
struct member {
    uint32_t domain_order;
    uint32_t gpu;
};

static int compare_members(const void *left, const void *right)
{
    const struct member *a = left;
    const struct member *b = right;
    if (a->domain_order != b->domain_order) {
        return a->domain_order < b->domain_order ? -1 : 1;
    }
    return (a->gpu > b->gpu) - (a->gpu < b->gpu);
}

/* Domains in the order in which the ranks come to them, as NCCL numbers nodes; GPUs in rising
 * order in each. Ranks that fill the cluster in order are left as they are. */
static void order_gpus(const struct transfer_setting *setting, uint32_t *gpus, uint32_t count)
{
    uint32_t sorted = 1;
    while (sorted < count && gpus[sorted - 1] < gpus[sorted]) {
        sorted++;
    }
    if (sorted == count) {
        return;
    }
    struct member *members = arena_array(setting->arena, count, sizeof *members);
    uint32_t *order = arena_array(setting->arena, setting->fabric->domains, sizeof *order);
    uint32_t domains = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *place = &order[fabric_domain_of(setting->fabric, gpus[i])];
        *place = *place == 0 ? ++domains : *place;
        members[i] = (struct member){*place, gpus[i]};
    }
    qsort(members, count, sizeof *members, compare_members);
    for (uint32_t i = 0; i < count; i++) {
        gpus[i] = members[i].gpu;
    }
}

/* What the GPUs of a node have in common: of a group of all GPUs most are of the node of the one
 * before. */
struct of_node {
    uint32_t first_gpu, end_gpu;
    uint32_t domain;
    uint32_t first_rail; /* counted over the domain: a rack of trays has ports in each tray */
};

static struct of_node node_of(const struct fabric *fabric, uint32_t gpu)
{
    const uint32_t per_node = (uint32_t)fabric->cluster->gpus_per_node;
    const uint32_t domain_nodes = (uint32_t)fabric->cluster->domain_nodes;
    const uint32_t node = fabric_node_of(fabric, gpu);
    return (struct of_node){node * per_node, (node + 1) * per_node, node / domain_nodes,
                            node % domain_nodes * fabric->ports_per_node};
}

void group_shape_init(const struct transfer_setting *setting, uint32_t *gpus, uint32_t count,
                      struct group_shape *shape)
{
    const struct fabric *fabric = setting->fabric;
    sim_assert(count >= 1);
    order_gpus(setting, gpus, count);
    uint32_t *first = arena_array(setting->arena, count + 1u, sizeof *first);
    uint32_t *rails = arena_array(setting->arena, count, sizeof *rails);
    uint32_t nodes = 0;
    uint32_t before = UINT32_MAX;
    struct of_node node = {0};
    for (uint32_t i = 0; i < count; i++) {
        if (gpus[i] < node.first_gpu || gpus[i] >= node.end_gpu) {
            node = node_of(fabric, gpus[i]);
        }
        if (node.domain != before) {
            first[nodes++] = i;
        }
        before = node.domain;
        rails[i] = node.first_rail + fabric_port_of(fabric, gpus[i]);
    }
    first[nodes] = count;
    *shape = (struct group_shape){.ranks = count, .nodes = nodes, .gpus = gpus};
    shape->group = (struct collective_group){
        .ranks = count,
        .nodes = nodes,
        .node_first = first,
        .rails = rails,
        .has_multicast = fabric->cluster->has_multicast,
        .has_reduction = fabric->cluster->has_in_network_reduction,
    };
    shape->forced = COLLECTIVE_CHOICE_FREE;
    shape->turned =
        setting->turns != NULL ? fabric_turns_between(setting->turns, gpus[0], gpus[count - 1]) : 0;
    shape->caps = arena_alloc(setting->arena, sizeof *shape->caps);
}

/* ---- routes ------------------------------------------------------------------------------ */

struct tracing {
    struct fabric *fabric;
    uint32_t senders; /* the first ranks, whose sends stand for those of all */
    const uint32_t *gpus;
    uint32_t *scratch; /* GPUs of a reduction */
};

static uint64_t usage_of(double share)
{
    sim_assert(share > 0);
    const double usage = share * FLUID_USAGE_ONE + 0.5;
    return usage < 1 ? 1 : (uint64_t)usage;
}

static void trace_send(void *context, uint32_t from, uint32_t to, double share)
{
    const struct tracing *tracing = context;
    if (from >= tracing->senders) {
        return;
    }
    fabric_trace_send(tracing->fabric, tracing->gpus[from], tracing->gpus[to], usage_of(share));
}

static void trace_port(void *context, uint32_t rank, double out, double in)
{
    const struct tracing *tracing = context;
    if (rank >= tracing->senders) {
        return;
    }
    fabric_trace_scale_up(tracing->fabric, tracing->gpus[rank], usage_of(out), usage_of(in));
}

static void trace_reduction(void *context, const uint32_t *ranks, uint32_t count, double share)
{
    const struct tracing *tracing = context;
    for (uint32_t i = 0; i < count; i++) {
        tracing->scratch[i] = tracing->gpus[ranks[i]];
    }
    fabric_trace_reduction(tracing->fabric, tracing->scratch, count, usage_of(share));
}

/* Tokens go to their experts and back by kernels that read them where they are and write to the
 * other GPUs and the NICs themselves (DeepEP, HybridEP): nothing is staged. */
static bool has_own_kernels(const struct group_shape *shape, enum collective_operation operation)
{
    return shape->sends_tokens && operation == COLLECTIVE_ALL_TO_ALL;
}

static void trace_group(const struct transfer_setting *setting, const struct route_wish *wish,
                        struct fabric_route *route)
{
    const struct group_shape *shape = wish->shape;
    const bool turns =
        shape->turned != 0 && collective_turns(wish->operation, wish->algorithm, &shape->group);
    const uint32_t traced = shape->turned & ~(uint32_t)TURN_MIDDLE;
    const uint32_t turned = turns ? fabric_turns_size(setting->turns, traced) : 1;
    struct tracing tracing = {setting->fabric, shape->ranks / turned, shape->gpus, NULL};
    if (wish->algorithm == ALGORITHM_SHARP) {
        tracing.scratch = arena_array(setting->arena, shape->ranks, sizeof *tracing.scratch);
    }
    const struct collective_visitor visitor = {&tracing, tracing.senders, trace_send, trace_port,
                                               trace_reduction};
    fabric_trace_begin(setting->fabric);
    fabric_trace_group(setting->fabric, collective_most_on_node(&shape->group));
    if (wish->is_direct) {
        fabric_trace_direct(setting->fabric);
    }
    collective_edges(setting->arena, wish->operation, wish->algorithm, &shape->group, wish->phase,
                     &visitor);
    if (turns) {
        fabric_turns_gather(setting->turns, setting->fabric, shape->turned);
    }
    fabric_trace_end(setting->fabric, route);
}

void group_route(const struct transfer_setting *setting, const struct group_shape *shape,
                 enum collective_operation operation, enum collective_algorithm algorithm,
                 uint32_t phase, struct fabric_route *route)
{
    struct route_memo *memo = setting->routes;
    const struct route_wish wish = {shape, operation, algorithm, phase,
                                    has_own_kernels(shape, operation)};
    if (memo == NULL) {
        trace_group(setting, &wish, route);
        return;
    }
    fabric_trace_begin(setting->fabric);
    if (route_memo_take(memo, setting, &wish)) {
        fabric_trace_end(setting->fabric, route);
        return;
    }
    trace_group(setting, &wish, route);
    route_memo_keep(memo, setting, &wish, route);
}

static const struct route_cap *caps_of(const struct transfer_setting *setting,
                                       const struct group_shape *shape,
                                       enum collective_operation operation,
                                       enum collective_algorithm algorithm, uint32_t phases)
{
    struct route_cap **cached = &shape->caps->of[operation][algorithm];
    if (*cached != NULL) {
        return *cached;
    }
    *cached = arena_array(setting->arena, phases, sizeof **cached);
    for (uint32_t i = 0; i < phases; i++) {
        struct route_cap *cap = &(*cached)[i];
        *cap = (struct route_cap){UNLINKED_BYTES_PER_S, ENGINE_NONE, shape->hops_max};
        if (!shape->is_latency_only) {
            struct fabric_route route;
            group_route(setting, shape, operation, algorithm, i, &route);
            *cap =
                (struct route_cap){(double)route.cap_bytes_per_s, route.bottleneck, route.hops_max};
        }
    }
    return *cached;
}

/* ---- prices ------------------------------------------------------------------------------- */

/* What the software leaves of the bandwidth that a benchmark has, for a phase. */
static double share_of(const struct transfer_setting *setting, const struct group_shape *shape,
                       enum collective_operation operation, const struct collective_phase *phase)
{
    const struct fabric *fabric = setting->fabric;
    if (phase->rounds_inter == 0) {
        return fabric->scale_up_share;
    }
    return has_own_kernels(shape, operation) ? 1.0 : fabric->network_share;
}

/* What the framework's own kernels reach of the links in a step, alone they reach all of it. */
static double own_share(const struct software *software, const struct collective_phase *phase)
{
    return phase->rounds_inter > 0 ? software->exchange_network : software->exchange_bandwidth;
}

/* What a step takes of the rate, which is priced on links without the software's shares. Over the
 * network it is a time per byte, 1 / staged = 1 / cap - share / cap: the same for a protocol that
 * does not reach what the links carry, or faster NICs would slow it. */
static struct tuner_loss loss_of(double share, bool is_inter, double cap_bytes_per_s)
{
    if (!is_inter) {
        return (struct tuner_loss){share, 0.0};
    }
    return (struct tuner_loss){1.0, share < 1.0 ? cap_bytes_per_s / (1.0 - share) : 0.0};
}

static struct tuner_kernels kernels_of(const struct software *software)
{
    return software == NULL
               ? (struct tuner_kernels){0.0, 0.0}
               : (struct tuner_kernels){software->exchange_start_s, software->exchange_rank_s};
}

static void fill_quote(const struct tuner_price *price, const struct route_cap *caps,
                       struct transfer_quote *quote)
{
    double slowest_s = -1;
    quote->latency_s = 0;
    quote->time_s = price->time_s;
    quote->unforeseen_s = price->unforeseen_s;
    quote->start_s = price->start_s;
    quote->round_intra_s = price->round_intra_s;
    quote->round_inter_s = price->round_inter_s;
    quote->is_extrapolated = price->is_extrapolated;
    quote->bottleneck = ENGINE_NONE;
    for (uint32_t i = 0; i < quote->phase_count; i++) {
        quote->latencies_s[i] = price->latency_s[i];
        quote->caps_bytes_per_s[i] = caps[i].bytes_per_s;
        quote->rates_bytes_per_s[i] = price->bytes_per_s[i];
        quote->links[i] = price->is_by_library[i] ? ENGINE_NONE : caps[i].bottleneck;
        quote->latency_s += price->latency_s[i];
        const double time_s = quote->phases[i].bytes / price->bytes_per_s[i];
        if (time_s > slowest_s) {
            slowest_s = time_s;
            quote->bottleneck = caps[i].bottleneck;
        }
    }
}

bool transfer_price(const struct transfer_setting *setting, const struct group_shape *shape,
                    enum collective_operation operation, double bytes,
                    enum collective_algorithm algorithm, enum collective_protocol protocol,
                    struct transfer_quote *quote)
{
    const struct cluster *cluster = setting->fabric->cluster;
    const struct collective_call call = {operation, algorithm, &shape->group, bytes};
    quote->algorithm = algorithm;
    quote->protocol = protocol;
    const struct tuner_kernels kernels = kernels_of(setting->software);
    const struct tuner_kernels *own = has_own_kernels(shape, operation) ? &kernels : NULL;
    quote->phase_count = collective_record(&call, quote->phases, setting->ledger);
    if (quote->phase_count == 0 || (own != NULL && protocol != PROTOCOL_SIMPLE)) {
        return false;
    }
    const struct route_cap *caps =
        caps_of(setting, shape, operation, algorithm, quote->phase_count);
    double rates[COLLECTIVE_PHASES_MAX];
    struct tuner_loss losses[COLLECTIVE_PHASES_MAX];
    uint32_t hops = 0;
    for (uint32_t i = 0; i < quote->phase_count; i++) {
        const double share = share_of(setting, shape, operation, &quote->phases[i]);
        rates[i] = caps[i].bytes_per_s / share;
        losses[i] = loss_of(share, quote->phases[i].rounds_inter > 0, caps[i].bytes_per_s);
        losses[i].share *= own != NULL ? own_share(setting->software, &quote->phases[i]) : 1.0;
        hops = caps[i].hops > hops ? caps[i].hops : hops;
    }
    const struct tuner_setting tuner = {
        .library = setting->library,
        .architecture = setting->architecture,
        .ranks = shape->ranks,
        .nodes = shape->nodes,
        .round_latency_s = cluster->round_latency_s,
        .message_s = fabric_between_s(setting->fabric, hops, setting->ledger),
        .nic_bytes_per_s = cluster->nic_bytes_per_s * cluster->nic_efficiency,
        .is_scale_up_pcie = cluster->scale_up_kind == SCALE_UP_PCIE,
        .ledger = setting->ledger,
    };
    struct tuner_price price;
    const struct tuner_work work = {.operation = operation,
                                    .algorithm = algorithm,
                                    .protocol = protocol,
                                    .phase_count = quote->phase_count,
                                    .phases = quote->phases,
                                    .route_caps = rates,
                                    .losses = losses,
                                    .bytes = bytes,
                                    .own = own};
    if (!tuner_price(&tuner, &work, &price)) {
        return false;
    }
    fill_quote(&price, caps, quote);
    return true;
}

static bool is_allowed(uint32_t forced, uint32_t value)
{
    return forced == COLLECTIVE_ANY || forced == value;
}

/* Of each algorithm the protocols that may run, a bit each. */
struct candidates {
    uint32_t protocols[ALGORITHM_COUNT_];
};

/* The algorithms and protocols that the scenario's words allow. */
static struct candidates candidates_named(struct collective_choice asked)
{
    struct candidates named = {{0}};
    for (uint32_t a = 0; a < ALGORITHM_COUNT_; a++) {
        const bool may_run = tuner_is_asked(asked.algorithm, (enum collective_algorithm)a);
        for (uint32_t p = 0; p < PROTOCOL_COUNT_ && may_run; p++) {
            named.protocols[a] |= is_allowed(asked.protocol, p) ? 1u << p : 0;
        }
    }
    return named;
}

/* Of an algorithm that nobody names only what the library may choose by itself. */
static struct candidates candidates_of(const struct library *library,
                                       enum collective_operation operation,
                                       struct collective_choice asked)
{
    struct candidates candidates = candidates_named(asked);
    for (uint32_t a = 0; a < ALGORITHM_COUNT_ && asked.algorithm == COLLECTIVE_ANY; a++) {
        if (!tuner_is_automatic(library, operation, (enum collective_algorithm)a)) {
            candidates.protocols[a] = 0;
        }
    }
    return candidates;
}

/* Of what is asked for, what the library's machine was seen to run; none where nothing was seen, or
 * where kernels of the framework's own run. */
static struct candidates candidates_seen(const struct transfer_setting *setting,
                                         const struct group_shape *shape,
                                         enum collective_operation operation, double bytes)
{
    const struct tuner_setting tuner = {.library = setting->library,
                                        .architecture = setting->architecture,
                                        .ranks = shape->ranks,
                                        .nodes = shape->nodes};
    struct candidates seen = {{0}};
    if (has_own_kernels(shape, operation) ||
        !tuner_seen(&tuner, operation, bytes, seen.protocols)) {
        return (struct candidates){{0}};
    }
    const struct candidates named = candidates_named(shape->forced);
    for (uint32_t a = 0; a < ALGORITHM_COUNT_; a++) {
        seen.protocols[a] &= named.protocols[a];
    }
    return seen;
}

/* What the library takes it to be. */
static double foreseen_s(const struct transfer_quote *quote)
{
    return quote->time_s - quote->unforeseen_s;
}

static bool best_of(const struct transfer_setting *setting, const struct group_shape *shape,
                    const struct candidates *candidates, enum collective_operation operation,
                    double bytes, struct transfer_quote *quote)
{
    bool has_quote = false;
    for (uint32_t a = 0; a < ALGORITHM_COUNT_; a++) {
        for (uint32_t p = 0; p < PROTOCOL_COUNT_; p++) {
            struct transfer_quote next;
            if ((candidates->protocols[a] & 1u << p) != 0 &&
                transfer_price(setting, shape, operation, bytes, (enum collective_algorithm)a,
                               (enum collective_protocol)p, &next) &&
                (!has_quote || foreseen_s(&next) < foreseen_s(quote))) {
                *quote = next;
                has_quote = true;
            }
        }
    }
    return has_quote;
}

/* All are priced; the sums of the one that is taken are recorded. */
void transfer_quote(const struct transfer_setting *setting, const struct group_shape *shape,
                    enum collective_operation operation, double bytes, struct transfer_quote *quote)
{
    struct transfer_setting quiet = *setting;
    quiet.ledger = NULL;
    const struct candidates seen = candidates_seen(setting, shape, operation, bytes);
    const struct candidates asked = candidates_of(setting->library, operation, shape->forced);
    const struct candidates any =
        candidates_of(setting->library, operation, COLLECTIVE_CHOICE_FREE);
    bool is_offered = best_of(&quiet, shape, &seen, operation, bytes, quote) ||
                      best_of(&quiet, shape, &asked, operation, bytes, quote) ||
                      best_of(&quiet, shape, &any, operation, bytes, quote);
    if (setting->ledger != NULL) {
        is_offered = transfer_price(setting, shape, operation, bytes, quote->algorithm,
                                    quote->protocol, quote);
    }
    sim_assert(is_offered); /* collectives_check */
}

const char *transfer_algorithm_name(const struct group_shape *shape,
                                    enum collective_algorithm algorithm)
{
    const bool is_single =
        algorithm == ALGORITHM_RING && shape->forced.algorithm == ALGORITHM_SINGLE_RING;
    return collective_algorithm_names[is_single ? (uint32_t)ALGORITHM_SINGLE_RING : algorithm];
}

/* ---- the table ------------------------------------------------------------------------------ */

static uint32_t append(struct arena *arena, struct transfer_table *table,
                       struct engine_transfer item, const struct transfer_origin *origin)
{
    table->items =
        arena_grow(arena, table->items, &table->capacity, table->count + 1, sizeof *table->items);
    table->origins = arena_grow(arena, table->origins, &table->origin_capacity, table->count + 1,
                                sizeof *table->origins);
    table->items[table->count] = item;
    table->origins[table->count] = *origin;
    return (uint32_t)table->count++;
}

static bool is_same(const struct transfer_origin *origin, uint32_t job, enum stream stream,
                    enum collective_operation operation, double bytes)
{
    return origin->is_head && origin->job == job && origin->stream == stream &&
           origin->operation == operation && !(origin->bytes < bytes) && !(origin->bytes > bytes);
}

static uint32_t calls_of(const struct transfer_wish *wish)
{
    return (wish->calls > 0 ? wish->calls : 1) + wish->small;
}

static double bytes_of(const struct transfer_wish *wish)
{
    return wish->bytes + (double)wish->small * wish->small_bytes;
}

static bool find(const struct transfer_table *table, uint32_t job, enum stream stream,
                 const struct transfer_wish *wish, uint32_t *number)
{
    for (size_t i = 0; i < table->count; i++) {
        if (is_same(&table->origins[i], job, stream, wish->operation, bytes_of(wish)) &&
            table->origins[i].calls == calls_of(wish)) {
            *number = (uint32_t)i;
            return true;
        }
    }
    return false;
}

static uint32_t pattern_number(struct arena *arena, struct transfer_patterns *patterns,
                               struct transfer_pattern wanted)
{
    for (size_t i = 0; i < patterns->count; i++) {
        const struct transfer_pattern *item = &patterns->items[i];
        if (item->operation == wanted.operation && item->algorithm == wanted.algorithm &&
            item->phase == wanted.phase) {
            return (uint32_t)i;
        }
    }
    patterns->items = arena_grow(arena, patterns->items, &patterns->capacity, patterns->count + 1,
                                 sizeof *patterns->items);
    patterns->items[patterns->count] = wanted;
    return (uint32_t)patterns->count++;
}

uint32_t transfer_share(const struct transfer_quote *quote, uint32_t phase)
{
    const double share = quote->rates_bytes_per_s[phase] / quote->caps_bytes_per_s[phase];
    if (share >= 1.0 - 0.5 / ENGINE_FULL_SPEED) {
        return 0;
    }
    const double millionths = share * ENGINE_FULL_SPEED + 0.5;
    return millionths < 1 ? 1 : (uint32_t)millionths;
}

/* What the caller spends on each call, and the small ones. */
static double besides_s(const struct transfer_setting *setting, const struct group_shape *shape,
                        const struct transfer_wish *wish)
{
    const double all = (double)calls_of(wish);
    const double own_s = LEDGER_SUM(wish->per_call_s > 0 ? setting->ledger : NULL,
                                    "the caller's own", "us", all * wish->per_call_s,
                                    LEDGER_TERM(all, "calls"), LEDGER_TERM(wish->per_call_s, "us"));
    if (wish->small == 0) {
        return own_s;
    }
    const double count = (double)wish->small;
    struct transfer_quote small;
    ledger_say(setting->ledger, "a small call", "MB", wish->small_bytes, "of the buffer");
    transfer_quote(setting, shape, wish->operation, wish->small_bytes, &small);
    return LEDGER_SUM(setting->ledger, "and all small calls", "us", own_s + count * small.time_s,
                      LEDGER_TERM(own_s, "us"), LEDGER_TERM(count, "calls"),
                      LEDGER_TERM(small.time_s, "us"));
}

/* Of all calls, as one transfer. */
static void quote_wish(const struct transfer_setting *setting, const struct group_shape *shape,
                       const struct transfer_wish *wish, struct transfer_quote *quote)
{
    const double calls = (double)(calls_of(wish) - wish->small);
    struct ledger *ledger = setting->ledger;
    const double bytes = LEDGER_SUM(calls > 1 ? ledger : NULL, "a call", "MB", wish->bytes / calls,
                                    LEDGER_TERM(wish->bytes, "MB"), LEDGER_TERM(calls, "calls"));
    transfer_quote(setting, shape, wish->operation, bytes, quote);
    const double besides = besides_s(setting, shape, wish);
    quote->latency_s = quote->latency_s * calls + besides;
    quote->time_s = LEDGER_SUM(calls > 1 || besides > 0 ? ledger : NULL, "all calls", "us",
                               quote->time_s * calls + besides, LEDGER_TERM(quote->time_s, "us"),
                               LEDGER_TERM(calls, "calls"), LEDGER_TERM(besides, "us besides"));
    for (uint32_t i = 0; i < quote->phase_count; i++) {
        quote->latencies_s[i] *= calls;
        quote->phases[i].bytes *= calls;
    }
    quote->latencies_s[0] += besides;
}

/* ---- quotes that are kept ------------------------------------------------------------------- */

struct known_quote {
    const uint32_t *gpus;
    struct transfer_wish wish;
    struct transfer_quote quote;
};

static bool is_equal(double a, double b)
{
    return !(a < b) && !(a > b);
}

static bool is_same_wish(const struct transfer_wish *a, const struct transfer_wish *b)
{
    return a->operation == b->operation && is_equal(a->bytes, b->bytes) && a->calls == b->calls &&
           a->small == b->small && is_equal(a->small_bytes, b->small_bytes) &&
           is_equal(a->per_call_s, b->per_call_s);
}

/* What routes of the groups can carry is kept with them, so it is their arena that is used. */
static const struct transfer_quote *quote_once(const struct transfer_setting *setting,
                                               const struct group_shape *shape,
                                               const struct transfer_wish *wish)
{
    struct transfer_quotes *quotes = setting->quotes;
    for (size_t i = 0; i < quotes->count; i++) {
        const struct known_quote *known = &quotes->items[i];
        if (known->gpus == shape->gpus && is_same_wish(&known->wish, wish)) {
            return &known->quote;
        }
    }
    struct transfer_setting keeping = *setting;
    keeping.arena = quotes->arena;
    quotes->items = arena_grow(quotes->arena, quotes->items, &quotes->capacity, quotes->count + 1,
                               sizeof *quotes->items);
    struct known_quote *known = &quotes->items[quotes->count++];
    known->gpus = shape->gpus;
    known->wish = *wish;
    quote_wish(&keeping, shape, wish, &known->quote);
    return &known->quote;
}

void transfer_record(const struct transfer_setting *setting, const struct transfer_origin *origin,
                     struct ledger *ledger)
{
    sim_assert(origin->has_quote);
    struct transfer_setting recording = *setting;
    recording.ledger = ledger;
    struct transfer_quote quote;
    quote_wish(&recording, &origin->shape, &origin->wish, &quote);
}

uint32_t transfer_collective(const struct transfer_setting *setting, struct transfer_table *table,
                             struct transfer_patterns *patterns, uint32_t job, enum stream stream,
                             const struct group_shape *shape, const struct transfer_wish *wish)
{
    uint32_t number = 0;
    if (find(table, job, stream, wish, &number)) {
        return number;
    }
    struct transfer_quote quote;
    if (setting->quotes != NULL) {
        quote = *quote_once(setting, shape, wish);
    } else {
        quote_wish(setting, shape, wish, &quote);
    }
    struct transfer_origin origin = {
        .job = job,
        .stream = stream,
        .operation = wish->operation,
        .bytes = bytes_of(wish),
        .calls = calls_of(wish),
        .is_head = true,
        .has_quote = true,
        .algorithm = quote.algorithm,
        .protocol = quote.protocol,
        .latency_s = quote.latency_s,
        .time_s = quote.time_s,
        .bottleneck = quote.bottleneck,
        .is_extrapolated = quote.is_extrapolated,
        .wish = *wish,
        .shape = *shape,
    };
    for (uint32_t i = 0; i < quote.phase_count; i++) {
        origin.rank_bytes += quote.phases[i].bytes;
    }
    number = (uint32_t)table->count;
    for (uint32_t i = 0; i < quote.phase_count; i++) {
        const struct transfer_pattern pattern = {wish->operation, quote.algorithm, i};
        const bool is_last = i + 1 == quote.phase_count;
        const struct engine_transfer item = {
            .latency_ns = sim_time_from_s(quote.latencies_s[i]),
            .bytes = (int64_t)(quote.phases[i].bytes + 0.5),
            .path = pattern_number(setting->arena, patterns, pattern),
            .share = shape->is_latency_only ? 0 : transfer_share(&quote, i),
            .next = is_last ? 0 : (uint32_t)table->count + 2,
        };
        origin.link = quote.links[i];
        origin.flow_s = quote.phases[i].bytes / quote.rates_bytes_per_s[i];
        append(setting->arena, table, item, &origin);
        origin.is_head = false;
    }
    return number;
}

uint32_t transfer_plain(struct arena *arena, struct transfer_table *table, uint32_t job,
                        enum stream stream, uint32_t path, enum collective_operation operation,
                        double bytes)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->items[i].path == path &&
            is_same(&table->origins[i], job, stream, operation, bytes)) {
            return (uint32_t)i;
        }
    }
    const struct transfer_origin origin = {.job = job,
                                           .stream = stream,
                                           .operation = operation,
                                           .bytes = bytes,
                                           .calls = 1,
                                           .rank_bytes = bytes,
                                           .is_head = true,
                                           .bottleneck = ENGINE_NONE,
                                           .link = ENGINE_NONE};
    const struct engine_transfer item = {.bytes = (int64_t)(bytes + 0.5), .path = path};
    return append(arena, table, item, &origin);
}
