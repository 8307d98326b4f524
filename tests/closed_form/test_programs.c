/* Programs as training has them, through the engine, with segments and messages of chosen
 * lengths: what the schedule's own arithmetic says must come out. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/diag.h"
#include "plan/schedule/schedule.h"
#include "input/doc/doc.h"
#include "input/layout.h"
#include "input/scenario.h"
#include "train/groups.h"
#include "train/program/program_build.h"
#include "train/step.h"
#include "support/fixture.h"
#include "train/system.h"

/* ---- a machine ---------------------------------------------------------------------------- */

struct layout {
    const char *schedule;
    int chunks, stages, microbatches, data;
    bool has_experts, overlaps_experts;
    const char *file;  /* a schedule in place of a name; NULL: none */
    const char *calls; /* p2p.calls; NULL: apart */
};

static const char document_format[] =
    "scenario: programs\n"
    "model: {model: inline, source: made up, layers: %d, hidden: 128, ffn_hidden: 256, heads: 4,\n"
    "  vocab: 1024, max_positions: 128, mlp: gelu, norm: rmsnorm, positions: rotary,\n"
    "  biases: false, tied_embeddings: false%s}\n"
    "cluster: {cluster: inline, source: made up, gpu: inline, gpus_per_node: 8,\n"
    "  scale_up: {kind: nvswitch, bandwidth: 400 GB/s, efficiency: 1, latency: 1 us},\n"
    "  nics: {count: 8, bandwidth: 400 Gbps, efficiency: 1, latency: 1 us},\n"
    "  fabric: {kind: rail, nodes_per_leaf: 4, oversubscription: 1, hop_latency: 0 us},\n"
    "  host: {cores: 64, memory: 1 TB, power: 1 kW},\n"
    "  storage: {write: 10 GB/s, read: 10 GB/s, per_node: 1 GB/s}}\n"
    "gpu: {gpu: inline, source: made up, architecture: hopper, memory: 80 GB,\n"
    "  peak: {fp32: 10 TFLOP/s, bf16: 100 TFLOP/s}, memory_bandwidth: 1 TB/s, sms: 100,\n"
    "  tdp: 400 W, host_link: 20 GB/s, price: {gpu_hour: 1 USD},\n"
    "  power: {idle_fraction: 0.2, busy_fraction: 0.8}, memory_kernels: {efficiency: 1},\n"
    "  launch: {time: 0 us}, gemm: {tile_m: 128, tile_n: 128, efficiency: 1, k_half: 0},\n"
    "  attention: {fa2: {forward: 50 TFLOP/s, backward: 50 TFLOP/s, length_half: 0}}}\n"
    "software: {software: inline, source: made up, attention: fa2, gradients: {precision: fp32},\n"
    "  overlap: {p2p: true}, p2p: {calls: %s}}\n"
    "gpus: %d\n"
    "precision: bf16\n"
    "parallel: {tp: 1, pp: %d, dp: %d, ep: %d, zero: 0, schedule: %s%s, overlap_experts: %s}\n"
    "batch: {global: %d, micro: 1, sequence_length: 128}\n"
    "recompute: none\n";

static struct scenario *scenario_of(struct arena *arena, const struct layout *layout)
{
    const bool is_dual = strcmp(layout->schedule, "dualpipe") == 0;
    const int pieces = layout->stages * (is_dual ? 1 : layout->chunks);
    const char *chunks =
        layout->chunks > 1 ? arena_printf(arena, ", virtual_stages: %d", layout->chunks) : "";
    const char *text = arena_printf(
        arena, document_format, pieces,
        layout->has_experts ? ", experts: 4, experts_per_token: 1" : "",
        layout->calls != NULL ? layout->calls : "apart", layout->stages * layout->data,
        layout->stages, layout->data, layout->has_experts ? layout->data : 1, layout->schedule,
        chunks, layout->overlaps_experts ? "true" : "false", layout->microbatches * layout->data);
    return fixture_scenario(arena, &(struct fixture_source){.text = text});
}

/* Lengths of segments and messages in ns. */
struct lengths {
    int64_t segments[SEGMENT_COUNT_];
    int64_t message;  /* between stages */
    int64_t exchange; /* with experts */
};

static struct timing *timing_of(struct arena *arena, const struct scenario *scenario,
                                const struct lengths *lengths)
{
    struct timing *timing = arena_alloc(arena, sizeof *timing);
    *timing = (struct timing){.runner = timing_runner_of(scenario)};
    for (uint32_t kind = 0; kind < LAYER_KINDS_MAX; kind++) {
        for (uint32_t segment = 0; segment < SEGMENT_COUNT_; segment++) {
            timing->segments[kind][segment].busy_ns = lengths->segments[segment];
        }
    }
    return timing;
}

/* The scenario's system with programs of these lengths; nothing but stages and experts
 * communicates, without bandwidth. */
struct machine {
    struct engine_system engine;
    struct program_actions *actions; /* [stages] */
    struct engine_program *programs;
    sim_time last_end; /* of any action */
};

static struct group_shape alone(void)
{
    return (struct group_shape){.ranks = 1, .nodes = 1};
}

static void build_programs(struct arena *arena, struct step_system *system,
                           const struct lengths *lengths, struct machine *machine)
{
    struct system_job *job = &system->jobs[0];
    const uint32_t stages = job->mesh.pp;
    machine->actions = arena_array(arena, stages, sizeof *machine->actions);
    machine->programs = arena_array(arena, stages, sizeof *machine->programs);
    const struct program_job planned = program_job_of(job->is.scenario);
    const struct program_context context = {
        .arena = arena,
        .job = &planned,
        .timing = timing_of(arena, job->is.scenario, lengths),
        .routing = &job->routing,
        .setting = &system->setting,
        .transfers = &system->transfers,
        .patterns = job->patterns,
        .tensor = alone(),
        .context = alone(),
        .expert = job->groups[GROUP_EXPERT],
        .expert_tensor = alone(),
        .expert_tensor_stream = STREAM_TENSOR,
        .data = alone(),
        .replica = alone(),
        .expert_data = alone(),
        .expert_replica = alone(),
        .embedding = alone(),
        .world = alone(),
        .actions = machine->actions,
    };
    for (uint32_t stage = 0; stage < stages; stage++) {
        machine->programs[stage] = program_build(&context, stage);
    }
}

static void set_latencies(struct arena *arena, const struct step_system *system,
                          const struct lengths *lengths, struct machine *machine)
{
    const size_t count = system->transfers.count;
    struct engine_transfer *transfers = arena_array(arena, count, sizeof *transfers);
    for (size_t i = 0; i < count; i++) {
        const bool is_exchange = system->transfers.origins[i].stream == STREAM_EXPERT;
        transfers[i] = system->transfers.items[i];
        transfers[i].bytes = 0;
        transfers[i].next = 0;
        transfers[i].latency_ns = is_exchange ? lengths->exchange : lengths->message;
    }
    struct engine_channel *channels =
        arena_array(arena, machine->engine.channel_count, sizeof *channels);
    for (uint32_t i = 0; i < machine->engine.channel_count; i++) {
        channels[i] = system->engine.channels[i];
        channels[i].latency_ns = 0;
    }
    machine->engine.transfers = transfers;
    machine->engine.transfer_count = (uint32_t)count;
    machine->engine.channels = channels;
}

static void note_end(void *context, uint32_t actor, uint32_t stream, uint32_t index, sim_time start,
                     sim_time end)
{
    (void)start;
    struct machine *machine = context;
    const uint32_t stage = machine->engine.actors[actor].program;
    const struct program_actions *actions = &machine->actions[stage];
    if (stream == STREAM_COMPUTE) {
        assert_true(index < actions->task_count);
        const bool is_of_action = actions->action_of[index] != PROGRAM_NO_ACTION;
        machine->last_end = is_of_action && end > machine->last_end ? end : machine->last_end;
    }
}

/* When the last action ends. */
static int64_t run(struct arena *arena, const struct layout *layout, const struct lengths *lengths,
                   struct machine *machine)
{
    struct step_system *system = step_system_of(arena, scenario_of(arena, layout));
    *machine = (struct machine){.engine = system->engine};
    build_programs(arena, system, lengths, machine);
    machine->engine.programs = machine->programs;
    set_latencies(arena, system, lengths, machine);
    const struct engine_options options = {.on_task = note_end, .context = machine};
    struct engine_outcome outcome;
    engine_run(arena, &machine->engine, &options, &outcome);
    assert_int_equal(outcome.bytes_sent, outcome.bytes_received);
    return machine->last_end;
}

/* ---- schedules ---------------------------------------------------------------------------- */

struct triple {
    int64_t forward, backward, weights;
};

static struct lengths dense_lengths(struct triple costs, int64_t message)
{
    struct lengths lengths = {.message = message};
    lengths.segments[SEGMENT_MLP] = costs.forward;
    lengths.segments[SEGMENT_ATTENTION_INNER_BACKWARD] = costs.backward;
    lengths.segments[SEGMENT_ATTENTION_WGRAD] = costs.weights;
    return lengths;
}

static struct schedule_shape shape_of(enum schedule_kind kind, const struct layout *layout)
{
    return (struct schedule_shape){kind,
                                   (uint32_t)layout->stages,
                                   (uint32_t)layout->chunks,
                                   (uint32_t)layout->microbatches,
                                   NULL,
                                   0,
                                   false};
}

static double expected_end(struct arena *arena, const struct schedule_shape *shape,
                           struct triple costs)
{
    struct schedule_order *orders = arena_array(arena, shape->stages, sizeof *orders);
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        orders[stage] = schedule_order(arena, shape, stage);
    }
    const double forward = (double)costs.forward;
    const double backward = (double)costs.backward;
    const double weights = (double)costs.weights;
    const struct schedule_costs all = {forward, backward, weights, forward + backward + weights, 0};
    return schedule_evaluate(arena, shape, orders, &all).makespan;
}

/* Each action has tasks, and tasks are in the order of the actions. */
static void check_actions(const struct machine *machine, uint32_t stages)
{
    for (uint32_t stage = 0; stage < stages; stage++) {
        const struct program_actions *actions = &machine->actions[stage];
        uint32_t next = 0;
        for (uint32_t i = 0; i < actions->task_count; i++) {
            const uint32_t action = actions->action_of[i];
            if (action != PROGRAM_NO_ACTION) {
                assert_true(action + 1 == next || action == next);
                next = action + 1;
            }
        }
        assert_int_equal(next, actions->order.count);
    }
}

static int chunks_of(enum schedule_kind kind)
{
    const bool has_two = kind == SCHEDULE_INTERLEAVED || kind == SCHEDULE_ZB_V ||
                         kind == SCHEDULE_DUALPIPE || kind == SCHEDULE_DUALPIPEV;
    return has_two ? 2 : 1;
}

/* Layers alike, messages free: a stage's actions take what schedule_evaluate adds up, the longest
 * path through all orders. Of 1F1B, p = 4, m = 8, F = 1000, B = W = 1000: (8 + 3) * 3000. */
static void programs_take_the_longest_path_of_their_schedule(void **state)
{
    (void)state;
    static const struct triple all_costs[] = {{1000, 1000, 1000}, {1000, 1200, 800}, {70, 150, 40}};
    uint32_t cases = 0;
    for (uint32_t kind = 0; kind < SCHEDULE_FILE; kind++) {
        for (int p = 2; p <= 8; p++) {
            for (int m = p; m <= 3 * p; m += p) {
                struct arena *arena = arena_new();
                const struct layout layout = {schedule_names[kind],
                                              chunks_of((enum schedule_kind)kind),
                                              p,
                                              m,
                                              1,
                                              false,
                                              false,
                                              NULL,
                                              NULL};
                const struct schedule_shape shape = shape_of((enum schedule_kind)kind, &layout);
                const struct triple costs = all_costs[(p + m) % 3];
                const struct lengths lengths = dense_lengths(costs, 0);
                struct machine machine;
                if (schedule_is_possible(&shape)) {
                    const int64_t end = run(arena, &layout, &lengths, &machine);
                    assert_int_equal(end, (int64_t)expected_end(arena, &shape, costs));
                    check_actions(&machine, shape.stages);
                    cases++;
                }
                arena_free(arena);
            }
        }
    }
    assert_true(cases > 140);
}

static void one_forward_one_backward_is_what_the_formula_says(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct layout layout = {"1f1b", 1, 4, 8, 1, false, false, NULL, NULL};
    const struct lengths lengths = dense_lengths((struct triple){1000, 1000, 1000}, 0);
    struct machine machine;
    assert_int_equal(run(arena, &layout, &lengths, &machine), 33000);
    arena_free(arena);
}

/* (m + p - 1)(F + B) + c (2 (p - 1) m / p + 2 (p - 2)): with p = 4, m = 8, F = 1000, B = 2000,
 * c = 500: 33000 + 500 * (12 + 4) = 41000. */
static void latency_of_messages_costs_1f1b_what_the_formula_says(void **state)
{
    (void)state;
    static const int stages[] = {2, 3, 4, 6, 8};
    const struct triple costs = {1000, 1200, 800};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        for (int64_t latency = 0; latency <= 2000; latency += 500) {
            struct arena *arena = arena_new();
            const int p = stages[i];
            const int m = 2 * p;
            const struct layout layout = {"1f1b", 1, p, m, 1, false, false, NULL, NULL};
            const struct lengths lengths = dense_lengths(costs, latency);
            struct machine machine;
            const int64_t expected =
                (m + p - 1) * INT64_C(3000) + latency * (2 * (p - 1) * m / p + 2 * (p - 2));
            assert_int_equal(run(arena, &layout, &lengths, &machine), expected);
            arena_free(arena);
        }
    }
}

/* ---- stages that meet --------------------------------------------------------------------- */

static char *put(char *at, const char *text)
{
    while (*text != '\0') {
        *at++ = *text++;
    }
    *at = '\0';
    return at;
}

/* What Megatron-LM's forward_backward_pipelining_without_interleaving has a stage do, written down
 * from its three loops, in letters: f, b compute; A, R: sends activations to the next stage,
 * receives them; G, H: sends gradients back, receives them; capitals in one call stand together,
 * ended by a space. */
static void write_stage(char *text, int stages, int microbatches, int stage)
{
    const int ahead = stages - 1 - stage;
    const int warm = ahead < microbatches ? ahead : microbatches;
    const bool is_first = stage == 0, is_last = ahead == 0;
    char *at = put(text, "");
    for (int i = 0; i < warm; i++) {
        at = put(put(at, is_first ? "f" : "R f"), is_last ? "" : "A ");
    }
    const int steady = microbatches - warm;
    if (steady > 0 && !is_first) {
        at = put(at, "R ");
    }
    for (int i = 0; i < steady; i++) {
        at = put(at, is_last ? "fb" : "fAHb");
        at = put(at, is_first ? "" : i + 1 < steady ? "GR " : "G ");
    }
    for (int i = 0; i < warm; i++) {
        at = put(at, is_first ? "Hb" : "HbG ");
    }
}

struct actor_of_stage {
    char text[2048];
    const char *at;
    int64_t time;
};

static bool is_call(char letter)
{
    return letter != '\0' && strchr("ARGH", letter) != NULL;
}

/* Computes until the next call. */
static void compute(struct actor_of_stage *actor, struct triple costs)
{
    for (; *actor->at != '\0' && !is_call(*actor->at); actor->at++) {
        actor->time += *actor->at == 'f'   ? costs.forward
                       : *actor->at == 'b' ? costs.backward + costs.weights
                                           : 0;
    }
}

/* The call that both neighbours are at, if they are; how many messages it has. */
static int meet(const struct actor_of_stage *stage, const struct actor_of_stage *next)
{
    const int sends =
        (*stage->at == 'A') + (*stage->at == 'A' && stage->at[1] == 'H') + (*stage->at == 'H');
    const int gets =
        (*next->at == 'R') + (*next->at == 'G' && next->at[1] == 'R') + (*next->at == 'G');
    return sends > 0 && sends == gets ? sends : 0;
}

static int64_t when_all_met(int stages, int microbatches, struct triple costs, int64_t message,
                            bool is_in_turn)
{
    struct actor_of_stage actors[8];
    int64_t end = 0;
    for (int i = 0; i < stages; i++) {
        actors[i].at = actors[i].text;
        actors[i].time = 0;
        write_stage(actors[i].text, stages, microbatches, i);
    }
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (int i = 0; i < stages; i++) {
            compute(&actors[i], costs);
            end = actors[i].time > end && *actors[i].at == '\0' ? actors[i].time : end;
        }
        for (int i = 0; i + 1 < stages; i++) {
            const int messages = meet(&actors[i], &actors[i + 1]);
            if (messages > 0) {
                struct actor_of_stage *one = &actors[i], *other = &actors[i + 1];
                const int64_t start = one->time > other->time ? one->time : other->time;
                one->time = other->time = start + message * (is_in_turn ? messages : 1);
                one->at += messages;
                other->at += messages;
                goes_on = true;
            }
        }
    }
    return end;
}

/* Simulated against the loops above, of any number of stages and microbatches, also fewer
 * microbatches than stages. */
static void stages_that_meet_take_what_their_calls_take(void **state)
{
    (void)state;
    static const char *const names[] = {"together", "in-turn"};
    const struct triple costs = {1000, 1200, 800};
    for (int p = 2; p <= 8; p++) {
        for (int m = 1; m <= 2 * p + 1; m++) {
            for (int way = 0; way < 2; way++) {
                struct arena *arena = arena_new();
                const struct layout layout = {.schedule = "1f1b",
                                              .chunks = 1,
                                              .stages = p,
                                              .microbatches = m,
                                              .data = 1,
                                              .calls = names[way]};
                const struct lengths lengths = dense_lengths(costs, 300 * (1 + m % 3));
                struct machine machine;
                assert_int_equal(run(arena, &layout, &lengths, &machine),
                                 when_all_met(p, m, costs, lengths.message, way == 1));
                arena_free(arena);
            }
        }
    }
}

/* Two stages by hand, F = 1000, B = 2000, c = 500, m = 8. Stage 0 computes F and sends (F + c);
 * stage 1 computes F and B, while stage 0 computes its next F; then m - 1 times a call, and F and B
 * on either side; the last gradients go back and stage 0 computes B:
 *     (F + c) + (F + B) + (m - 1)(c + F + B) + c + B = (m + 1)(F + B + c) = 9 * 3500 = 31500
 * and in turn, where each of the m - 1 calls takes 2 c: (m + 1)(F + B) + 2 m c = 27000 + 8000. Of
 * more stages, each microbatch more takes those in the middle F + B + 2 c, in turn F + B + 4 c. */
static void a_microbatch_more_costs_two_calls(void **state)
{
    (void)state;
    static const int64_t expected[] = {31500, 35000};
    static const char *const names[] = {"together", "in-turn"};
    for (int way = 0; way < 2; way++) {
        struct arena *arena = arena_new();
        struct machine machine;
        struct layout layout = {.schedule = "1f1b",
                                .chunks = 1,
                                .stages = 2,
                                .microbatches = 8,
                                .data = 1,
                                .calls = names[way]};
        const struct lengths lengths = dense_lengths((struct triple){1000, 1000, 1000}, 500);
        assert_int_equal(run(arena, &layout, &lengths, &machine), expected[way]);
        layout.stages = 4;
        const int64_t eight = run(arena, &layout, &lengths, &machine);
        layout.microbatches = 9;
        assert_int_equal(run(arena, &layout, &lengths, &machine) - eight, 3000 + 1000 * (way + 1));
        arena_free(arena);
    }
}

/* Pairs of a forward and a backward have their messages beside computing, whatever else the
 * software does. */
static void pairs_do_not_meet(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct machine machine;
    struct layout layout = {.schedule = "1f1b",
                            .chunks = 1,
                            .stages = 4,
                            .microbatches = 8,
                            .data = 2,
                            .has_experts = true,
                            .overlaps_experts = true};
    const struct lengths lengths = dense_lengths((struct triple){1000, 1000, 1000}, 500);
    const int64_t apart = run(arena, &layout, &lengths, &machine);
    layout.calls = "together";
    assert_int_equal(run(arena, &layout, &lengths, &machine), apart);
    arena_free(arena);
}

static const char *word_of(struct arena *arena, const struct schedule_action *action)
{
    static const char *const words[] = {[SCHEDULE_FORWARD] = "F",
                                        [SCHEDULE_BACKWARD] = "BW",
                                        [SCHEDULE_BACKWARD_INPUT] = "B",
                                        [SCHEDULE_WEIGHTS] = "W",
                                        [SCHEDULE_PAIR] = "F"};
    const char *first =
        arena_printf(arena, "%s%u.%u", words[action->operation], action->microbatch, action->chunk);
    return action->operation == SCHEDULE_PAIR
               ? arena_printf(arena, "%s+BW%u.%u", first, action->backward_microbatch,
                              action->backward_chunk)
               : first;
}

/* The orders of a schedule as a user would write them. */
static const char *file_of(struct arena *arena, const struct schedule_shape *shape,
                           const struct parallel *parallel)
{
    const char *pieces = "";
    const char *orders = "";
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        const char *text = "";
        const char *numbers = "";
        for (uint32_t chunk = 0; chunk < shape->chunks; chunk++) {
            numbers = arena_printf(arena, "%s%s%d", numbers, chunk > 0 ? ", " : "",
                                   (int)layout_piece(parallel, stage, chunk));
        }
        const struct schedule_order order = schedule_order(arena, shape, stage);
        for (uint64_t i = 0; i < order.count; i++) {
            text = arena_printf(arena, "%s %s", text, word_of(arena, &order.actions[i]));
        }
        const char *comma = stage > 0 ? ", " : "";
        pieces = arena_printf(arena, "%s%s[%s]", pieces, comma, numbers);
        orders = arena_printf(arena, "%s%s\"%s\"", orders, comma, text + 1);
    }
    return arena_printf(arena,
                        "{schedule: own, source: made up, stages: %u, chunks: %u, "
                        "microbatches: %u, pieces: [%s], orders: [%s]}",
                        shape->stages, shape->chunks, shape->microbatches, pieces, orders);
}

/* A schedule written down as data is that schedule: the same end, for each kind whose pieces lie
 * on one stage each; two stages, where both neighbours are the same one, among them. */
static void a_schedule_written_down_runs_like_the_built_in_one(void **state)
{
    (void)state;
    const struct lengths lengths = dense_lengths((struct triple){1000, 1200, 800}, 50);
    for (uint32_t kind = 0; kind < SCHEDULE_FILE; kind++) {
        for (int p = 2; p <= 4; p++) {
            struct arena *arena = arena_new();
            struct layout layout = {schedule_names[kind],
                                    chunks_of((enum schedule_kind)kind),
                                    p,
                                    2 * p,
                                    1,
                                    false,
                                    false,
                                    NULL,
                                    NULL};
            const struct schedule_shape shape = shape_of((enum schedule_kind)kind, &layout);
            if (kind != SCHEDULE_DUALPIPE && schedule_is_possible(&shape)) {
                struct machine machine;
                const int64_t named = run(arena, &layout, &lengths, &machine);
                const struct scenario *scenario = scenario_of(arena, &layout);
                layout.file = file_of(arena, &shape, &scenario->parallel);
                assert_int_equal(run(arena, &layout, &lengths, &machine), named);
            }
            arena_free(arena);
        }
    }
}

/* ---- pairs -------------------------------------------------------------------------------- */

static int64_t run_experts(int microbatches, bool overlaps, int64_t exchange)
{
    struct arena *arena = arena_new();
    const struct layout layout = {"1f1b", 1, 1, microbatches, 2, true, overlaps, NULL, NULL};
    struct lengths lengths = {.exchange = exchange};
    lengths.segments[SEGMENT_ATTENTION] = 1000;
    lengths.segments[SEGMENT_EXPERTS] = 1000;
    lengths.segments[SEGMENT_EXPERTS_BACKWARD] = 1000;
    lengths.segments[SEGMENT_ATTENTION_INNER_BACKWARD] = 1000;
    struct machine machine;
    const int64_t end = run(arena, &layout, &lengths, &machine);
    arena_free(arena);
    return end;
}

/* One layer with experts, attention and experts a = 1000 each way, four exchanges of e <= a a
 * microbatch. One after the other: m (4 a + 4 e). In pairs all exchanges hide but those of the
 * first forward and the last backward:
 *
 *     compute   attention F  experts B   experts F   attention B   = 4 a
 *     beside    B's results  F's tokens  B's tokens  F's results   (gradients, of B)
 *
 * m 4 a + 4 e: with m = 5, e = 600: 22400 instead of 32000. */
static void exchanges_hide_behind_the_other_half_of_a_pair(void **state)
{
    (void)state;
    assert_int_equal(run_experts(5, false, 600), 5 * (4000 + 4 * 600));
    assert_int_equal(run_experts(5, true, 600), 5 * 4000 + 4 * 600);
    assert_int_equal(run_experts(5, true, 1000), 5 * 4000 + 4 * 1000);
}

/* Pairs are orders like others: each action once, no deadlock. */
static void paired_orders_are_sound(void **state)
{
    (void)state;
    static const struct layout layouts[] = {{"1f1b", 1, 1, 4, 2, true, true, NULL, NULL},
                                            {"1f1b", 1, 2, 5, 1, true, true, NULL, NULL},
                                            {"1f1b", 1, 4, 8, 1, true, true, NULL, NULL},
                                            {"interleaved", 2, 2, 4, 1, true, true, NULL, NULL},
                                            {"interleaved", 2, 4, 8, 1, true, true, NULL, NULL},
                                            {"interleaved", 3, 4, 12, 1, true, true, NULL, NULL}};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        struct arena *arena = arena_new();
        const struct scenario *scenario = scenario_of(arena, &layouts[i]);
        const struct schedule_shape shape =
            schedule_shape_of(&scenario->parallel, &scenario->batch);
        struct schedule_order *orders = arena_array(arena, shape.stages, sizeof *orders);
        uint64_t pairs = 0;
        for (uint32_t stage = 0; stage < shape.stages; stage++) {
            orders[stage] = schedule_order(arena, &shape, stage);
            for (uint64_t j = 0; j < orders[stage].count; j++) {
                pairs += orders[stage].actions[j].operation == SCHEDULE_PAIR;
            }
        }
        struct schedule_fault fault;
        assert_true(schedule_check(arena, &shape, orders, &fault));
        assert_true(pairs > 0);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_forward_one_backward_is_what_the_formula_says),
        cmocka_unit_test(programs_take_the_longest_path_of_their_schedule),
        cmocka_unit_test(latency_of_messages_costs_1f1b_what_the_formula_says),
        cmocka_unit_test(stages_that_meet_take_what_their_calls_take),
        cmocka_unit_test(a_microbatch_more_costs_two_calls),
        cmocka_unit_test(pairs_do_not_meet),
        cmocka_unit_test(a_schedule_written_down_runs_like_the_built_in_one),
        cmocka_unit_test(exchanges_hide_behind_the_other_half_of_a_pair),
        cmocka_unit_test(paired_orders_are_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
