/* A pair is a rank and one it sends to; at most one message of a pair is under way. The pairs
 * and their routes are found by going through the script once without time. A message whose
 * links are all slack needs no solving: its end is known when it starts.
 *
 * Rings of a rank that know nothing of each other are lanes: each has its own rounds. A lane
 * keeps two rounds, of what leaves and of what comes in. A message starts when it is the turn of
 * its round at both ends. Were senders allowed to run ahead of their receivers, their messages
 * would share ports with those that these still wait for, and a tree would take 1.3 to 1.4 times
 * as long as its busiest port needs.
 */
#include "train/single_sends.h"

#include "base/arena.h"
#include "base/wide.h"
#include "des/fluid.h"

#include <math.h>

enum event_kind { EVENT_LANE_START = 1, EVENT_BYTES_END, EVENT_READY, EVENT_FLUID };

struct pair {
    uint32_t from, to; /* lanes */
    uint32_t messages; /* of the script in it; 0: none is under way */
    uint32_t chunks;
    uint32_t chunks_reduced;
    bool is_waiting; /* for its receiver to be in the round */
    bool is_direct;
    sim_time latency_ns;
    int64_t cap_bytes_per_s;
    uint64_t chunks_all; /* of all rounds */
    int64_t timed_bytes; /* what timed_ns is the time of, to divide but once */
    sim_time timed_ns;
};

struct lane_state {
    uint32_t out_round;  /* whose messages leave; as many as there are: all have left */
    uint32_t in_round;   /* whose messages come in */
    uint32_t sending;    /* messages of out_round that have not left */
    uint32_t expected;   /* messages of in_round that have not come in, as the script counts */
    uint32_t had_rounds; /* rounds for which the lane has what it sends */
    bool is_out;         /* out_round was begun */
    sim_time has_all_ns; /* when it has what came in so far */
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
    uint32_t lanes; /* of a rank */
    uint32_t lane_count;
    uint32_t *pair_first; /* [lane_count + 1] */
    uint32_t *in_first;   /* [lane_count + 1]: into in_pairs */
    uint32_t *in_pairs;   /* pairs by their `to` */
    struct lane_state *states;
    struct collective_send *sends;
    uint32_t *starting; /* pairs of the round being started */

    struct event_queue *queue;
    struct fluid *fluid; /* NULL at a fixed rate; flow i is pair i */
    struct single_sends_result result;
};

/* ---- pairs ----------------------------------------------------------------------- */

/* What a lane sends in a round: its one message, or all of the rank's. */
static uint32_t sends_of(const struct run *run, uint32_t lane, uint32_t round,
                         const struct collective_send **sends)
{
    const uint32_t count =
        collective_sends(run->work.operation, run->work.algorithm, run->work.group,
                         run->work.pieces, lane / run->lanes, round, run->sends);
    *sends = run->lanes > 1 ? &run->sends[lane % run->lanes] : run->sends;
    return run->lanes > 1 ? 1 : count;
}

static uint32_t lane_of(const struct run *run, uint32_t from, uint32_t to_rank)
{
    return to_rank * run->lanes + from % run->lanes;
}

static void add_pair(struct run *run, uint32_t from, uint32_t to)
{
    run->pairs = arena_grow(run->arena, run->pairs, &run->pair_capacity, run->pair_count + 1,
                            sizeof *run->pairs);
    run->pairs[run->pair_count++] = (struct pair){.from = from, .to = to, .timed_bytes = -1};
}

/* Which lanes each lane ever sends to. A ring's neighbour is the same in every round. */
static void find_pairs(struct run *run)
{
    const bool is_ring = run->lanes > 1;
    const uint32_t rounds = is_ring ? 1 : run->script.rounds;
    uint32_t *seen = arena_array(run->arena, run->lane_count, sizeof *seen); /* pair + 1 */
    run->pair_first = arena_array(run->arena, run->lane_count + 1, sizeof *run->pair_first);
    for (uint32_t lane = 0; lane < run->lane_count; lane++) {
        for (uint32_t round = 0; round < rounds; round++) {
            const struct collective_send *sends;
            const uint32_t count = sends_of(run, lane, round, &sends);
            for (uint32_t i = 0; i < count; i++) {
                const uint32_t to = lane_of(run, lane, sends[i].to);
                if (seen[to] <= run->pair_first[lane]) {
                    add_pair(run, lane, to);
                    seen[to] = run->pair_count;
                }
                run->pairs[seen[to] - 1].chunks_all +=
                    (uint64_t)sends[i].count * (is_ring ? run->script.rounds : 1);
            }
        }
        run->pair_first[lane + 1] = run->pair_count;
    }
}

static void list_incoming(struct run *run)
{
    const uint32_t n = run->lane_count;
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

/* Looks first at `hint`: pairs were found in the order in which a lane uses them. */
static uint32_t pair_find(const struct run *run, uint32_t lane, uint32_t to, uint32_t hint)
{
    const uint32_t first = run->pair_first[lane];
    const uint32_t last = run->pair_first[lane + 1];
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

static double bytes_of(const struct run *run, uint64_t chunks)
{
    return run->work.bytes * (double)chunks / (double)run->script.chunks;
}

/* What the library reaches of the route's rate, at its pace. */
static int64_t cap_of(const struct run *run, const struct pair *pair,
                      const struct fabric_route *route)
{
    const struct single_sends_options *options = &run->options;
    const double share = route->hops_max > 0 ? options->share_inter : options->share_intra;
    double cap = (double)route->cap_bytes_per_s * (share > 0 ? share : 1);
    if (options->pace_ns > 0) {
        const double pace = bytes_of(run, pair->chunks_all) / ((double)options->pace_ns * 1e-9);
        cap = pace < cap ? pace : cap;
    }
    return cap > 1 ? (int64_t)ceil(cap) : 1;
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
        fabric_trace_group(run->fabric, collective_most_on_node(run->work.group));
        fabric_trace_send(run->fabric, run->work.gpus[pair->from / run->lanes],
                          run->work.gpus[pair->to / run->lanes], FLUID_USAGE_ONE);
        fabric_trace_end(run->fabric, &routes[i]);
        for (uint32_t k = 0; k < routes[i].count; k++) {
            links[k] =
                (struct fluid_crossing){routes[i].crossings[k].link, routes[i].crossings[k].usage};
        }
        pair->cap_bytes_per_s = cap_of(run, pair, &routes[i]);
        set_latency(run, pair, routes[i].hops_max > 0,
                    fabric_message_s(run->fabric, &routes[i], NULL));
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

static int64_t message_bytes(const struct run *run, uint32_t chunks)
{
    return (int64_t)(bytes_of(run, chunks) + 0.5);
}

/* Of the bytes, on links of their own. At a fixed rate the latency and they are rounded as one. */
static sim_time undisturbed_ns(const struct run *run, struct pair *pair, int64_t bytes)
{
    if (pair->timed_bytes == bytes) {
        return pair->timed_ns;
    }
    pair->timed_bytes = bytes;
    if (run->options.rate_bytes_per_ns > 0) {
        pair->timed_ns = (sim_time)((double)bytes / run->options.rate_bytes_per_ns);
    } else {
        const uint128 rate = (uint128)pair->cap_bytes_per_s;
        pair->timed_ns = (sim_time)(((uint128)bytes * 1000000000u + rate - 1) / rate);
    }
    return pair->timed_ns;
}

/* From a message's arrival until its receiver has it. */
static sim_time receiver_ns(const struct run *run, const struct pair *pair)
{
    sim_time time = run->options.overhead_ns;
    if (run->options.memory_bytes_per_ns > 0 && pair->chunks_reduced > 0) {
        const double bytes = (double)message_bytes(run, pair->chunks_reduced);
        time += run->options.reduce_passes * (sim_time)(bytes / run->options.memory_bytes_per_ns);
    }
    return time;
}

static void start_message(struct run *run, uint32_t number)
{
    struct pair *pair = &run->pairs[number];
    const int64_t bytes = message_bytes(run, pair->chunks);
    pair->is_waiting = false;
    run->result.messages++;
    run->result.bytes += (double)bytes;
    if (pair->is_direct) {
        const sim_time end = event_now(run->queue) + undisturbed_ns(run, pair, bytes);
        event_post(run->queue, end, number, EVENT_BYTES_END);
    } else {
        fluid_start(run->fluid, number, bytes, pair->cap_bytes_per_s);
    }
}

/* ---- lanes ------------------------------------------------------------------------- */

/* Gathers what a lane sends in its round into a message per pair; their number. */
static uint32_t gather_messages(struct run *run, uint32_t lane, uint32_t round)
{
    const struct collective_send *sends;
    const uint32_t count = sends_of(run, lane, round, &sends);
    uint32_t starting = 0;
    uint32_t hint = run->pair_first[lane];
    for (uint32_t i = 0; i < count; i++) {
        const struct collective_send *send = &sends[i];
        const uint32_t number = pair_find(run, lane, lane_of(run, lane, send->to), hint);
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

/* Begins the next round of which the lane has what it sends. */
static void begin_out(struct run *run, uint32_t lane)
{
    struct lane_state *state = &run->states[lane];
    if (state->is_out) {
        return;
    }
    while (!state->is_out && state->out_round < state->had_rounds &&
           state->out_round < run->script.rounds) {
        state->sending = gather_messages(run, lane, state->out_round);
        state->is_out = state->sending > 0;
        state->out_round += state->is_out ? 0 : 1;
    }
    for (uint32_t i = 0; state->is_out && i < state->sending; i++) {
        if (run->states[run->pairs[run->starting[i]].to].in_round == state->out_round) {
            start_message(run, run->starting[i]);
        }
    }
}

/* Opens the next round in which something comes, to those that wait for it. */
static void begin_in(struct run *run, uint32_t lane)
{
    struct lane_state *state = &run->states[lane];
    while (state->expected == 0 && state->in_round < run->script.rounds) {
        const uint32_t count =
            collective_receives(run->work.operation, run->work.algorithm, run->work.group,
                                run->work.pieces, lane / run->lanes, state->in_round);
        state->expected = run->lanes > 1 ? 1 : count;
        if (state->expected == 0) {
            state->in_round++;
            event_post(run->queue, state->has_all_ns, lane, EVENT_READY);
        }
    }
    for (uint32_t i = run->in_first[lane]; i < run->in_first[lane + 1]; i++) {
        const struct pair *pair = &run->pairs[run->in_pairs[i]];
        if (pair->is_waiting && run->states[pair->from].out_round == state->in_round) {
            start_message(run, run->in_pairs[i]);
        }
    }
}

static void start_lane(struct run *run, uint32_t lane)
{
    run->states[lane].has_all_ns = event_now(run->queue);
    run->states[lane].had_rounds = 1; /* what is sent first was there before */
    begin_in(run, lane);
    begin_out(run, lane);
}

/* The bytes have left one end and come in at the other, which has them a latency later. */
static void end_bytes(struct run *run, uint32_t number)
{
    struct pair *pair = &run->pairs[number];
    struct lane_state *from = &run->states[pair->from];
    struct lane_state *to = &run->states[pair->to];
    const sim_time has_ns = event_now(run->queue) + pair->latency_ns + receiver_ns(run, pair);
    debug_assert(from->out_round == to->in_round);
    sim_assert(from->sending >= 1);
    sim_assert(to->expected >= pair->messages);
    to->has_all_ns = has_ns > to->has_all_ns ? has_ns : to->has_all_ns;
    run->result.end = has_ns > run->result.end ? has_ns : run->result.end;
    from->sending--;
    to->expected -= pair->messages;
    pair->messages = 0;
    if (to->expected == 0) {
        to->in_round++;
        event_post(run->queue, to->has_all_ns, pair->to, EVENT_READY);
        begin_in(run, pair->to);
    }
    if (from->sending == 0) {
        from->out_round++;
        from->is_out = false;
        begin_out(run, pair->from);
    }
}

/* ---- the run ------------------------------------------------------------------------- */

static void handle(struct run *run, const struct event *event)
{
    flow_id flow;
    switch (event->stamp & 0xff) {
    case EVENT_LANE_START:
        start_lane(run, event->target);
        break;
    case EVENT_READY:
        run->states[event->target].had_rounds++;
        begin_out(run, event->target);
        break;
    case EVENT_BYTES_END:
        end_bytes(run, event->target);
        break;
    default:
        while (fluid_complete(run->fluid, event, &flow)) {
            event_post(run->queue, event->time, flow, EVENT_BYTES_END);
        }
    }
}

static void run_to_the_end(struct run *run)
{
    sim_time time;
    struct event event;
    for (uint32_t i = 0; i < run->lane_count; i++) {
        event_post(run->queue, run->options.start_ns + run->options.overhead_ns, i,
                   EVENT_LANE_START);
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
    for (uint32_t i = 0; i < run->lane_count; i++) {
        const struct lane_state *state = &run->states[i];
        sim_assert(state->out_round == run->script.rounds); /* else: a deadlock */
        sim_assert(state->in_round == run->script.rounds);
        sim_assert(state->sending == 0 && state->expected == 0);
    }
}

static void prepare(struct run *run)
{
    run->lanes = run->script.lanes > 1 ? run->script.lanes : 1;
    run->lane_count = run->work.group->ranks * run->lanes;
    run->sends = arena_array(run->arena, run->script.sends_max, sizeof *run->sends);
    run->starting = arena_array(run->arena, run->script.sends_max, sizeof *run->starting);
    run->states = arena_array(run->arena, run->lane_count, sizeof *run->states);
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
