/* A pair is a rank and one it sends to; at most one message of a pair is under way. The pairs
 * and their routes are found by going through the script once without time. A message whose
 * links are all slack needs no solving: its end is known when it starts.
 *
 * Because both ends of a message are in its round, a rank needs two counts, of what it sends and
 * receives in the round under way. Were senders allowed to run ahead, their messages would share
 * ports with those that their receivers still wait for, and a tree would take 1.3 to 1.4 times as
 * long as its busiest port needs.
 */
#include "train/single_sends.h"

#include "base/arena.h"
#include "des/fluid.h"

enum event_kind { EVENT_RANK_START = 1, EVENT_LATENCY_END, EVENT_MESSAGE_END, EVENT_FLUID };

__extension__ typedef unsigned __int128 uint128;

struct pair {
    uint32_t from, to;
    uint32_t messages; /* of the script in it; 0: none is under way */
    uint32_t chunks;
    uint32_t chunks_reduced;
    bool is_waiting; /* for its receiver to be in the round */
    bool is_direct;
    sim_time latency_ns;
    int64_t cap_bytes_per_s;
    int64_t timed_bytes; /* what timed_ns is the time of, to divide but once */
    sim_time timed_ns;
};

struct rank_state {
    uint32_t rounds;   /* started */
    uint32_t sending;  /* messages of the last one that are not done */
    uint32_t expected; /* messages to it of that round that have not come, as the script counts */
};

struct run {
    struct arena *arena;
    struct fabric *fabric;
    struct single_sends_work work;
    struct single_sends_options options;
    struct collective_script script;

    struct pair *pairs;
    size_t pair_capacity;
    uint32_t pair_count;
    uint32_t *pair_first; /* [ranks + 1] */
    uint32_t *in_first;   /* [ranks + 1]: into in_pairs */
    uint32_t *in_pairs;   /* pairs by their `to` */
    struct rank_state *ranks;
    struct collective_send *sends;
    uint32_t *starting; /* pairs of the round being started */

    struct event_queue *queue;
    struct fluid *fluid; /* NULL at a fixed rate; flow i is pair i */
    struct single_sends_result result;
};

/* ---- pairs ----------------------------------------------------------------------- */

static uint32_t sends_of(const struct run *run, uint32_t rank, uint32_t round)
{
    return collective_sends(run->work.operation, run->work.algorithm, run->work.group,
                            run->work.pieces, rank, round, run->sends);
}

static void add_pair(struct run *run, uint32_t from, uint32_t to)
{
    run->pairs = arena_grow(run->arena, run->pairs, &run->pair_capacity, run->pair_count + 1,
                            sizeof *run->pairs);
    run->pairs[run->pair_count++] = (struct pair){.from = from, .to = to, .timed_bytes = -1};
}

/* Which ranks each rank ever sends to. */
static void find_pairs(struct run *run)
{
    const uint32_t n = run->work.group->ranks;
    uint32_t *seen = arena_array(run->arena, n, sizeof *seen); /* by rank + 1 */
    run->pair_first = arena_array(run->arena, n + 1, sizeof *run->pair_first);
    for (uint32_t rank = 0; rank < n; rank++) {
        for (uint32_t round = 0; round < run->script.rounds; round++) {
            const uint32_t count = sends_of(run, rank, round);
            for (uint32_t i = 0; i < count; i++) {
                const uint32_t to = run->sends[i].to;
                if (seen[to] != rank + 1) {
                    seen[to] = rank + 1;
                    add_pair(run, rank, to);
                }
            }
        }
        run->pair_first[rank + 1] = run->pair_count;
    }
}

static void list_incoming(struct run *run)
{
    const uint32_t n = run->work.group->ranks;
    run->in_first = arena_array(run->arena, n + 2, sizeof *run->in_first);
    run->in_pairs = arena_array(run->arena, run->pair_count, sizeof *run->in_pairs);
    uint32_t *next = run->in_first + 1; /* while filling: where the next one of a rank goes */
    for (uint32_t i = 0; i < run->pair_count; i++) {
        next[run->pairs[i].to + 1]++;
    }
    for (uint32_t i = 0; i < n; i++) {
        next[i + 1] += next[i];
    }
    for (uint32_t i = 0; i < run->pair_count; i++) {
        run->in_pairs[next[run->pairs[i].to]++] = i;
    }
}

/* Looks first at `hint`: pairs were found in the order in which a rank uses them. */
static uint32_t pair_find(const struct run *run, uint32_t rank, uint32_t to, uint32_t hint)
{
    const uint32_t first = run->pair_first[rank];
    const uint32_t last = run->pair_first[rank + 1];
    if (hint >= first && hint < last && run->pairs[hint].to == to) {
        return hint;
    }
    uint32_t number = first;
    while (run->pairs[number].to != to) {
        number++;
        sim_assert(number < last); /* the first pass over the script found all pairs */
    }
    return number;
}

/* ---- routes ---------------------------------------------------------------------- */

static void set_latency(const struct run *run, struct pair *pair, bool is_inter, double message_s)
{
    if (!run->options.has_latency) {
        pair->latency_ns = sim_time_from_s(message_s);
    } else {
        pair->latency_ns = is_inter ? run->options.latency_inter_ns : run->options.latency_intra_ns;
    }
}

/* A flow for each pair, and the links of the fabric. */
static void route_pairs(struct run *run)
{
    run->fluid = fluid_new(run->arena, run->queue, EVENT_FLUID);
    for (uint32_t i = 0; i < run->fabric->link_count; i++) {
        fluid_add_link(run->fluid, fabric_link_capacity(run->fabric, i));
    }
    struct fabric_route *routes = arena_array(run->arena, run->pair_count, sizeof *routes);
    struct fluid_crossing *links = arena_array(run->arena, run->fabric->link_count, sizeof *links);
    for (uint32_t i = 0; i < run->pair_count; i++) {
        struct pair *pair = &run->pairs[i];
        fabric_trace_begin(run->fabric);
        fabric_trace_send(run->fabric, run->work.gpus[pair->from], run->work.gpus[pair->to],
                          FLUID_USAGE_ONE);
        fabric_trace_end(run->fabric, &routes[i]);
        for (uint32_t k = 0; k < routes[i].count; k++) {
            links[k] =
                (struct fluid_crossing){routes[i].crossings[k].link, routes[i].crossings[k].usage};
        }
        pair->cap_bytes_per_s = routes[i].cap_bytes_per_s;
        set_latency(run, pair, routes[i].hops_max > 0, fabric_message_s(run->fabric, &routes[i]));
        const struct fluid_flow_options options = {.route = links,
                                                   .route_count = routes[i].count,
                                                   .weight = 1,
                                                   .cap_bytes_per_s_max = pair->cap_bytes_per_s};
        fluid_add_flow(run->fluid, &options);
    }
    fluid_seal(run->fluid);
    for (uint32_t i = 0; i < run->pair_count; i++) {
        run->pairs[i].is_direct = true;
        for (uint32_t k = 0; k < routes[i].count; k++) {
            run->pairs[i].is_direct &= fluid_link_is_slack(run->fluid, routes[i].crossings[k].link);
        }
    }
}

static void set_fixed_rate(struct run *run)
{
    for (uint32_t i = 0; i < run->pair_count; i++) {
        run->pairs[i].is_direct = true;
        run->pairs[i].latency_ns = run->options.latency_inter_ns;
    }
}

/* ---- messages -------------------------------------------------------------------- */

static int64_t bytes_of(const struct run *run, uint32_t chunks)
{
    return (int64_t)(run->work.bytes * (double)chunks / (double)run->script.chunks + 0.5);
}

/* Latency and bytes, on links of its own. */
static sim_time undisturbed_ns(const struct run *run, struct pair *pair, int64_t bytes)
{
    if (pair->timed_bytes == bytes) {
        return pair->timed_ns;
    }
    pair->timed_bytes = bytes;
    if (run->options.rate_bytes_per_ns > 0) {
        pair->timed_ns =
            (sim_time)((double)pair->latency_ns + (double)bytes / run->options.rate_bytes_per_ns);
    } else {
        const uint128 rate = (uint128)pair->cap_bytes_per_s;
        pair->timed_ns =
            pair->latency_ns + (sim_time)(((uint128)bytes * 1000000000u + rate - 1) / rate);
    }
    return pair->timed_ns;
}

/* From a message's arrival until its receiver has it. */
static sim_time receiver_ns(const struct run *run, const struct pair *pair)
{
    sim_time time = run->options.overhead_ns;
    if (run->options.memory_bytes_per_ns > 0 && pair->chunks_reduced > 0) {
        const double bytes = (double)bytes_of(run, pair->chunks_reduced);
        time += run->options.reduce_passes * (sim_time)(bytes / run->options.memory_bytes_per_ns);
    }
    return time;
}

/* Both ends are in the round. */
static void send_message(struct run *run, uint32_t number)
{
    struct pair *pair = &run->pairs[number];
    const int64_t bytes = bytes_of(run, pair->chunks);
    const sim_time now = event_now(run->queue);
    pair->is_waiting = false;
    run->result.messages++;
    run->result.bytes += (double)bytes;
    if (pair->is_direct) {
        const sim_time arrives = now + undisturbed_ns(run, pair, bytes);
        event_post(run->queue, arrives + receiver_ns(run, pair), number, EVENT_MESSAGE_END);
    } else {
        event_post(run->queue, now + pair->latency_ns, number, EVENT_LATENCY_END);
    }
}

/* ---- ranks ------------------------------------------------------------------------- */

/* Gathers what a rank sends in its round into a message per pair; their number. */
static uint32_t gather_messages(struct run *run, uint32_t rank, uint32_t round)
{
    const uint32_t count = sends_of(run, rank, round);
    uint32_t starting = 0;
    uint32_t hint = run->pair_first[rank];
    for (uint32_t i = 0; i < count; i++) {
        const struct collective_send *send = &run->sends[i];
        const uint32_t number = pair_find(run, rank, send->to, hint);
        struct pair *pair = &run->pairs[number];
        if (pair->messages == 0) {
            run->starting[starting++] = number;
            pair->is_waiting = true;
            pair->chunks = pair->chunks_reduced = 0;
        }
        pair->messages++;
        pair->chunks += send->count;
        pair->chunks_reduced += send->is_reduce ? send->count : 0;
        hint = number + 1;
    }
    return starting;
}

static void start_round(struct run *run, uint32_t rank)
{
    struct rank_state *state = &run->ranks[rank];
    const uint32_t round = state->rounds++;
    state->expected = collective_receives(run->work.operation, run->work.algorithm, run->work.group,
                                          run->work.pieces, rank, round);
    state->sending = gather_messages(run, rank, round);
    for (uint32_t i = 0; i < state->sending; i++) {
        if (run->ranks[run->pairs[run->starting[i]].to].rounds == state->rounds) {
            send_message(run, run->starting[i]);
        }
    }
    for (uint32_t i = run->in_first[rank]; i < run->in_first[rank + 1]; i++) {
        const struct pair *pair = &run->pairs[run->in_pairs[i]];
        if (pair->is_waiting && run->ranks[pair->from].rounds == state->rounds) {
            send_message(run, run->in_pairs[i]);
        }
    }
}

static void advance(struct run *run, uint32_t rank)
{
    const struct rank_state *state = &run->ranks[rank];
    while (state->rounds < run->script.rounds && state->sending == 0 && state->expected == 0) {
        start_round(run, rank);
    }
}

static void end_message(struct run *run, uint32_t number)
{
    struct pair *pair = &run->pairs[number];
    struct rank_state *from = &run->ranks[pair->from];
    struct rank_state *to = &run->ranks[pair->to];
    debug_assert(from->rounds == to->rounds);
    sim_assert(from->sending >= 1);
    sim_assert(to->expected >= pair->messages);
    from->sending--;
    to->expected -= pair->messages;
    pair->messages = 0;
    run->result.end = event_now(run->queue);
    advance(run, pair->from);
    advance(run, pair->to);
}

/* ---- the run ------------------------------------------------------------------------- */

static void end_flows(struct run *run, const struct event *event)
{
    flow_id flow;
    while (fluid_complete(run->fluid, event, &flow)) {
        const sim_time extra = receiver_ns(run, &run->pairs[flow]);
        event_post(run->queue, event->time + extra, flow, EVENT_MESSAGE_END);
    }
}

static void handle(struct run *run, const struct event *event)
{
    struct pair *pair = &run->pairs[event->target];
    switch (event->stamp & 0xff) {
    case EVENT_RANK_START:
        advance(run, event->target);
        break;
    case EVENT_LATENCY_END:
        fluid_start(run->fluid, event->target, bytes_of(run, pair->chunks), pair->cap_bytes_per_s);
        break;
    case EVENT_MESSAGE_END:
        end_message(run, event->target);
        break;
    default:
        end_flows(run, event);
    }
}

static void run_to_the_end(struct run *run)
{
    sim_time time;
    struct event event;
    for (uint32_t i = 0; i < run->work.group->ranks; i++) {
        event_post(run->queue, run->options.overhead_ns, i, EVENT_RANK_START);
    }
    while ((time = event_next_time(run->queue)) != SIM_TIME_MAX) {
        while (event_pop_at(run->queue, time, &event)) {
            run->result.events++;
            handle(run, &event);
        }
        if (run->fluid != NULL) {
            fluid_solve(run->fluid);
        }
    }
    for (uint32_t i = 0; i < run->work.group->ranks; i++) {
        sim_assert(run->ranks[i].rounds == run->script.rounds); /* else: a deadlock */
        sim_assert(run->ranks[i].sending == 0 && run->ranks[i].expected == 0);
    }
}

static void prepare(struct run *run)
{
    const uint32_t n = run->work.group->ranks;
    run->sends = arena_array(run->arena, run->script.sends_max, sizeof *run->sends);
    run->starting = arena_array(run->arena, run->script.sends_max, sizeof *run->starting);
    run->ranks = arena_array(run->arena, n, sizeof *run->ranks);
    run->queue = event_queue_new(run->arena);
    find_pairs(run);
    list_incoming(run);
    if (run->options.rate_bytes_per_ns > 0) {
        set_fixed_rate(run);
    } else {
        route_pairs(run);
    }
}

bool single_sends_run(struct arena *arena, struct fabric *fabric,
                      const struct single_sends_work *work,
                      const struct single_sends_options *options,
                      struct single_sends_result *result)
{
    struct run run = {.arena = arena, .fabric = fabric, .work = *work};
    if (work->operation == COLLECTIVE_BARRIER) {
        run.work.bytes = 0;
    }
    if (options != NULL) {
        run.options = *options;
    }
    *result = (struct single_sends_result){0};
    if (!collective_script(work->operation, work->algorithm, work->group, work->pieces,
                           &run.script)) {
        return false;
    }
    if (run.script.rounds > 0) {
        prepare(&run);
        run_to_the_end(&run);
        *result = run.result;
    }
    return true;
}
