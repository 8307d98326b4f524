/* What a software profile makes of the hardware, one effect at a time: each against its formula,
 * on a system that is otherwise the same. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "input/job/optimizer.h"
#include "input/scenario.h"
#include "support/assert_close.h"
#include "support/each_burst.h"
#include "support/volume.h"
#include "train/jitter.h"
#include "train/program/program.h"
#include "train/step.h"

/* Llama-3 8B with nothing overlapped but data parallelism. `more`: keys of the software, or of its
 * host. */
static const char *text_of(struct arena *arena, int gpus, const char *parallel, const char *more)
{
    const bool is_of_host = strstr(more, "graphs") != NULL;
    const bool has_overlap = strstr(more, "overlap") != NULL;
    return arena_printf(arena,
                        "model: llama3-8b\ncluster: h100-3200\ngpus: %d\n"
                        "parallel: {%s}\nbatch: {global: %d, micro: 1, sequence_length: 8192}\n"
                        "software:\n  software: inline\n  source: made up\n  attention: fa2\n"
                        "  gradients: {precision: fp32}\n%s  host: {per_kernel: 200 us%s}\n%s",
                        gpus, parallel, gpus,
                        has_overlap ? "" : "  overlap: {dp_gradients: true, dp_parameters: true}\n",
                        is_of_host ? more : "", is_of_host ? "" : more);
}

static struct step_system *system_of(struct arena *arena, int gpus, const char *parallel,
                                     const char *more)
{
    return volume_system(arena, text_of(arena, gpus, parallel, more));
}

static struct step_result step_of(struct arena *arena, int gpus, const char *parallel,
                                  const char *more)
{
    const struct step_system *system = system_of(arena, gpus, parallel, more);
    struct step_result result;
    step_simulate(arena, system->jobs[0].is.scenario, &(struct step_request){.folds = true},
                  &result);
    return result;
}

static struct timing *timing_of_scenario(struct arena *arena, const struct scenario *scenario)
{
    const struct timing_runner runner = timing_runner_of(scenario);
    const struct cost_shape shape = timing_shape(scenario, 0);
    struct timing *timing = arena_alloc(arena, sizeof *timing);
    timing_init(&runner, &shape, timing);
    return timing;
}

/* ---- the head's weight gradient, put off ---------------------------------------------------- */

static struct step_result step_deferring(struct arena *arena, const char *parallel, int64_t heads)
{
    const struct step_system *system = system_of(arena, 8, parallel, "");
    struct scenario scenario = *system->jobs[0].is.scenario;
    struct step_result result;
    scenario.parallel.deferred_heads = heads;
    step_simulate(arena, &scenario, &(struct step_request){.folds = true}, &result);
    return result;
}

/* Two stages of two microbatches. The last stage has the head and sets the pace; at the end it
 * waits for the first one's last backward pass, which is longer than both gradients of the head:
 * each that is put off till then shortens the step by all of its time, a third is not there. All
 * is computed: no nanosecond of compute is lost. On one stage nothing waits, and nothing is put
 * off. */
static void a_gradient_of_the_head_put_off_is_computed_where_the_last_stage_waits(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system = system_of(arena, 8, "tp: 1, pp: 2", "");
    const struct work gradient =
        timing_work(timing_of_scenario(arena, system->jobs[0].is.scenario), 0, SEGMENT_HEAD_WGRAD);
    const int64_t each_ns = gradient.busy_ns + gradient.launch_ns;
    const struct step_result none = step_deferring(arena, "tp: 1, pp: 2", 0);
    for (int64_t heads = 1; heads <= 3; heads++) {
        const struct step_result result = step_deferring(arena, "tp: 1, pp: 2", heads);
        assert_int_equal(none.step_ns - result.step_ns, (heads < 2 ? heads : 2) * each_ns);
        assert_int_equal(result.gpu_ns[CAUSE_COMPUTE], none.gpu_ns[CAUSE_COMPUTE]);
    }
    assert_int_equal(step_deferring(arena, "tp: 1", 2).step_ns,
                     step_deferring(arena, "tp: 1", 0).step_ns);
    arena_free(arena);
}

/* ---- no head ------------------------------------------------------------------------------ */

/* On one GPU the step without the head is shorter by what explain lists of it: its three segments,
 * and 30 bytes of the update for each of 128,256 x 4,096 parameters and 4 of the norm. */
static void without_a_head_the_step_lacks_its_segments(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *system = system_of(arena, 1, "tp: 1", "");
    struct scenario *scenario = (struct scenario *)system->jobs[0].is.scenario;
    const struct timing *timing = timing_of_scenario(arena, scenario);
    int64_t head_ns = 0;
    for (uint32_t i = SEGMENT_HEAD; i <= SEGMENT_HEAD_WGRAD; i++) {
        const struct work work = timing_work(timing, 0, i);
        head_ns += work.busy_ns + work.launch_ns;
    }
    const double parameters = 128256.0 * 4096;
    const struct work update = timing_optimizer(&timing->runner, &scenario->optimizer, parameters);
    const struct work norm = program_norm_work(&timing->runner, &scenario->optimizer, parameters);
    struct step_result with;
    struct step_result without;
    step_simulate(arena, scenario, &(struct step_request){.folds = true}, &with);
    scenario->model.is_headless = true;
    step_simulate(arena, scenario, &(struct step_request){.folds = true}, &without);
    const double expected_s = 1e-9 * (double)(head_ns + update.busy_ns + norm.busy_ns);
    assert_close(1e-9 * (double)(with.step_ns - without.step_ns), expected_s, 1e-3);
    arena_free(arena);
}

/* Two tensor-parallel ranks of Llama-3 8B sum, for the head of two microbatches of 8,192 tokens,
 * three numbers of each for the loss (fp32: the maximum, the label's logit, the sum) and the
 * gradient of its input (bf16, 4,096 wide); without a head none of them. */
static void without_a_head_nothing_is_summed_for_it(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *with = system_of(arena, 2, "tp: 2", "");
    struct scenario headless = *with->jobs[0].is.scenario;
    headless.model.is_headless = true;
    const struct step_job job = {&headless, NULL, 1};
    const struct step_system *without = system_build(arena, &job, 1, 16, &(struct step_options){0});
    const struct volume all = volume_of(with, 0, STREAM_TENSOR, COLLECTIVE_ALL_REDUCE);
    const struct volume rest = volume_of(without, 0, STREAM_TENSOR, COLLECTIVE_ALL_REDUCE);
    assert_int_equal(all.count - rest.count, 2 * (3 + 1));
    assert_close(all.bytes - rest.bytes, 2 * 8192 * (3 * 4.0 + 2.0 * 4096), 1e-12);
    arena_free(arena);
}

/* ---- the slowest GPU ---------------------------------------------------------------------- */

/* Expected largest of n standard normal values: Harter 1961 (Biometrika 48), table 1: 0.56419 of
 * 2, 1.42360 of 8, 2.50759 of 100; 3.24144 of 1,000 (Tippett 1925). */
static void the_largest_of_n_is_that_of_the_tables(void **state)
{
    (void)state;
    assert_true(jitter_largest(1) == 0.0);
    assert_close(jitter_largest(2), 0.56419, 0.05);
    assert_close(jitter_largest(8), 1.42360, 0.01);
    assert_close(jitter_largest(100), 2.50759, 0.01);
    assert_close(jitter_largest(1000), 3.24144, 0.01);
}

/* The step is longer by spread x busy x E(8), all of it waiting for stragglers, and nothing else
 * changes; one GPU waits for nobody. */
static void all_wait_for_the_slowest_of_them(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_result even = step_of(arena, 8, "zero: 3", "");
    const struct step_result uneven = step_of(arena, 8, "zero: 3", "  jitter: {spread: 2 %}\n");
    const double busy_ns = (double)(even.gpu_ns[CAUSE_COMPUTE] + even.gpu_ns[CAUSE_OPTIMIZER] +
                                    even.gpu_ns[CAUSE_RECOMPUTE]) /
                           8;
    const double expected_ns = 0.02 * busy_ns * jitter_largest(8);
    assert_int_equal(uneven.step_ns, even.step_ns + uneven.jitter_ns);
    assert_close((double)uneven.jitter_ns, expected_ns, 1e-7); /* of nanoseconds */
    for (uint32_t c = 0; c < CAUSE_COUNT_; c++) {
        const int64_t wait_ns = c == CAUSE_STRAGGLER_WAIT ? 8 * uneven.jitter_ns : 0;
        assert_int_equal(uneven.gpu_ns[c], even.gpu_ns[c] + wait_ns);
    }
    const struct step_result alone = step_of(arena, 1, "tp: 1", "  jitter: {spread: 2 %}\n");
    assert_int_equal(alone.jitter_ns, 0);
    arena_free(arena);
}

/* ---- kernels -------------------------------------------------------------------------------- */

static struct timing *timing_of(struct arena *arena, const char *more)
{
    return timing_of_scenario(arena, system_of(arena, 8, "zero: 3", more)->jobs[0].is.scenario);
}

/* Of 1e9 parameters. */
static double optimizer_ns(const struct scenario *scenario)
{
    const struct timing_runner runner = timing_runner_of(scenario);
    return (double)timing_optimizer(&runner, &scenario->optimizer, 1e9).busy_ns;
}

/* A segment of one norm takes twice as long at half the rate; the optimizer's pass too. */
static void kernels_that_stream_memory_take_as_much_longer(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *half = "  memory_kernels: {derate: 50 %}\n";
    const struct work full = timing_work(timing_of(arena, ""), 0, SEGMENT_MLP_PRE);
    const struct work slow = timing_work(timing_of(arena, half), 0, SEGMENT_MLP_PRE);
    assert_true(full.busy_ns > 1000);
    assert_close((double)slow.busy_ns, 2.0 * (double)full.busy_ns, 2e-4); /* of nanoseconds */
    const struct scenario *usual = system_of(arena, 8, "zero: 3", "")->jobs[0].is.scenario;
    const struct scenario *halved = system_of(arena, 8, "zero: 3", half)->jobs[0].is.scenario;
    assert_close(optimizer_ns(halved), 2.0 * optimizer_ns(usual), 1e-6);
    arena_free(arena);
}

static struct kernel_time time_of(struct arena *arena, const char *more, enum kernel_kind kind)
{
    const struct scenario *scenario = system_of(arena, 8, "zero: 3", more)->jobs[0].is.scenario;
    const struct cost_shape shape = timing_shape(scenario, 0);
    const struct timing_runner runner = timing_runner_of(scenario);
    struct segment segment;
    cost_segment(&shape, SEGMENT_ATTENTION, &segment);
    for (uint32_t i = 0; i < segment.count; i++) {
        if (segment.kernels[i].kind == kind) {
            return timing_kernel(&runner, &segment.kernels[i]);
        }
    }
    fail();
    return (struct kernel_time){0, 0};
}

/* Fused attention is slower by its derate; products beside it are as they were. */
static void fused_attention_takes_as_much_longer(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *slow = "  attention_kernels: {derate: 80 %}\n";
    assert_close(time_of(arena, slow, KERNEL_ATTENTION).busy_s,
                 time_of(arena, "", KERNEL_ATTENTION).busy_s / 0.8, 1e-12);
    assert_close(time_of(arena, slow, KERNEL_GEMM).busy_s, time_of(arena, "", KERNEL_GEMM).busy_s,
                 1e-15);
    arena_free(arena);
}

/* 4 h V a token by one-hot rows are of the hardware, not of the model. */
static void one_hot_rows_count_in_hfu_only(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_result by_row = step_of(arena, 1, "tp: 1", "");
    const struct step_result one_hot = step_of(arena, 1, "tp: 1", "  embedding: one-hot\n");
    assert_close(one_hot.flop_per_token_causal, by_row.flop_per_token_causal, 0.0);
    assert_close(one_hot.hardware_flop_per_token - by_row.hardware_flop_per_token,
                 4.0 * 4096 * 128256, 1e-9);
    assert_true(one_hot.hfu > one_hot.mfu && one_hot.mfu < by_row.mfu);
    arena_free(arena);
}

/* ---- documents in a sequence -------------------------------------------------------------- */

static struct step_result packed(struct arena *arena, const char *batch)
{
    const char *text = arena_printf(arena,
                                    "model: llama3-8b\ncluster: h100-3200\ngpus: 2\n"
                                    "parallel: {tp: 2}\nbatch: {%s}\nsoftware: megatron-2024\n",
                                    batch);
    const struct step_system *system = volume_system(arena, text);
    struct step_result result;
    step_simulate(arena, system->jobs[0].is.scenario, &(struct step_request){.folds = true},
                  &result);
    return result;
}

/* 32,768 tokens in documents of 1,638 and a spread of 0.5: a token's own has 2,047.5, to whole
 * tokens 2,048. Of Llama 3 8B's 32 layers each multiplies 4 x 32 x 128 FLOP a key, three times, and
 * keys are 1,024 where 16,384 were, without the mask's half 2,048 and 32,768. */
static void attention_within_documents_has_their_flops(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *length = "global: 1, micro: 1, sequence_length: 32768";
    const struct step_result whole = packed(arena, length);
    const struct step_result cut = packed(
        arena, arena_printf(arena, "%s, document_length: 1638, document_spread: 0.5", length));
    const double a_key = 3.0 * 32 * 4 * 32 * 128;
    assert_close(whole.flop_per_token_causal - cut.flop_per_token_causal, a_key * (16384 - 1024),
                 1e-9);
    assert_close(whole.flop_per_token_full - cut.flop_per_token_full, a_key * (32768 - 2048), 1e-9);
    assert_true(cut.step_ns < whole.step_ns);
    arena_free(arena);
}

/* One sequence of 16 documents of 2,048 tokens is 16 sequences of 2,048: the same products, and the
 * same tiles of attention. */
static void a_sequence_of_documents_is_as_many_short_sequences(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_result cut =
        packed(arena, "global: 1, micro: 1, sequence_length: 32768, document_length: 2048");
    const struct step_result apart = packed(arena, "global: 16, micro: 16, sequence_length: 2048");
    assert_close(cut.flop_per_token_causal, apart.flop_per_token_causal, 0.0);
    assert_true(cut.step_ns == apart.step_ns);
    arena_free(arena);
}

/* What a GPU waits for the launches of a segment, the host not ahead at its beginning. */
static int64_t wait_of(struct arena *arena, const struct work *work)
{
    struct launch_queue queue;
    launch_queue_init(&queue, arena, 1000);
    return each_burst_wait(&queue, &work->burst);
}

/* 200 us a kernel is more than a norm's take: from an empty queue the host sets their pace, and the
 * last runs on when it is done. In a graph only the GPU's own gap is left; embedding, head and
 * optimizer are launched one by one all the same. */
static void kernels_of_layers_in_graphs_do_not_wait_for_the_host(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct timing *eager = timing_of(arena, "");
    const struct timing *graph = timing_of(arena, ", graphs: [layers]");
    const struct work waits = timing_work(eager, 0, SEGMENT_MLP_PRE);
    const struct work runs = timing_work(graph, 0, SEGMENT_MLP_PRE);
    const struct scenario *scenario = system_of(arena, 8, "zero: 3", "")->jobs[0].is.scenario;
    const struct cost_shape shape = timing_shape(scenario, 0);
    struct segment segment;
    cost_segment(&shape, SEGMENT_MLP_PRE, &segment);
    const int64_t kernels = segment.count;
    const struct kernel_time last = timing_kernel(&eager->runner, &segment.kernels[kernels - 1]);
    const int64_t last_ns = sim_time_from_s(last.busy_s) + sim_time_from_s(last.launch_s);
    assert_int_equal(waits.busy_ns + waits.launch_ns + wait_of(arena, &waits),
                     kernels * 200000 + last_ns);
    assert_int_equal(runs.busy_ns, waits.busy_ns);
    assert_int_equal(runs.launch_ns, kernels * sim_time_from_s(scenario->gpu.launch_in_graph_s));
    assert_int_equal(wait_of(arena, &runs), 0);
    const struct work head = timing_work(graph, 0, SEGMENT_HEAD_PRE);
    assert_true(wait_of(arena, &head) >= 200000);
    assert_int_equal(head.burst.deficit_ns,
                     timing_work(eager, 0, SEGMENT_HEAD_PRE).burst.deficit_ns);
    arena_free(arena);
}

/* With attention captured its kernels wait for nothing, those of the MLP as before; in the graph of
 * the iteration also the head's do not, and the optimizer's still do. */
static void what_is_captured_is_what_does_not_wait(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    static const struct {
        const char *graphs;
        bool is_attention, is_mlp, is_head;
    } cases[] = {{"", false, false, false},
                 {", graphs: [none]", false, false, false},
                 {", graphs: [router, experts]", false, false, false},
                 {", graphs: [attention]", true, false, false},
                 {", graphs: [mlp]", false, true, false},
                 {", graphs: [attention, mlp]", true, true, false},
                 {", graphs: [layers]", true, true, false},
                 {", graphs: [iteration]", true, true, true}};
    const struct optimizer adam = {.clips = false};
    const int64_t optimizer_ns =
        timing_optimizer(&timing_of(arena, "")->runner, &adam, 1000).burst.deficit_ns;
    assert_true(optimizer_ns > 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct timing *timing = timing_of(arena, cases[i].graphs);
        const struct {
            enum segment_kind segment;
            bool is_captured;
        } of[] = {{SEGMENT_ATTENTION_PRE, cases[i].is_attention},
                  {SEGMENT_ATTENTION_INNER_WGRAD, cases[i].is_attention},
                  {SEGMENT_MLP_PRE, cases[i].is_mlp},
                  {SEGMENT_MLP_WGRAD, cases[i].is_mlp},
                  {SEGMENT_HEAD_PRE, cases[i].is_head},
                  {SEGMENT_EMBEDDING, cases[i].is_head}};
        for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
            const struct work work = timing_work(timing, 0, of[k].segment);
            assert_int_equal(work.burst.launches > 1 || work.burst.host_ns > 0, !of[k].is_captured);
        }
        assert_int_equal(timing_optimizer(&timing->runner, &adam, 1000).burst.deficit_ns,
                         optimizer_ns);
    }
    arena_free(arena);
}

/* 2 us in front of each kernel, 1 in a graph. A pass over memory and 8 that follow each other
 * have 9 gaps, and the router's segment 5 of kernels that are not listed: 9 and 14 times
 * 2 us or, of what is captured, 1 us; the optimizer's 9 are never in a graph. */
static void gaps_in_a_graph_are_its_own(void **state)
{
    (void)state;
    static const struct {
        uint32_t graphs;
        int64_t mlp_ns, router_ns, head_ns;
    } cases[] = {{0, 18000, 28000, 18000},
                 {1u << GRAPH_NONE, 18000, 28000, 18000},
                 {1u << GRAPH_MLP, 9000, 28000, 18000},
                 {1u << GRAPH_ROUTER, 18000, 14000, 18000},
                 {1u << GRAPH_LAYERS, 9000, 14000, 18000},
                 {1u << GRAPH_ITERATION, 9000, 14000, 9000}};
    const struct segment segment = {
        .kernels = {{.name = "one", .kind = KERNEL_MEMORY, .bytes = 1e6, .launches = 1},
                    {.name = "eight", .kind = KERNEL_MEMORY, .bytes = 1e6, .launches = 8}},
        .count = 2};
    struct scenario scenario = {.gpu = {.memory_bandwidth_bytes_per_s = 1e12,
                                        .memory_kernel_efficiency = 1.0,
                                        .launch_s = 2e-6,
                                        .launch_in_graph_s = 1e-6},
                                .software = {.memory_derate = 1.0, .expert_launches = 5}};
    const struct timing_runner runner = timing_runner_of(&scenario);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scenario.software.graphs = cases[i].graphs;
        const struct work mlp = timing_segment(&runner, SEGMENT_MLP, &segment);
        assert_int_equal(mlp.launch_ns, cases[i].mlp_ns);
        assert_int_equal(mlp.busy_ns, 2000);
        assert_int_equal(timing_segment(&runner, SEGMENT_ROUTER, &segment).launch_ns,
                         cases[i].router_ns);
        assert_int_equal(timing_segment(&runner, SEGMENT_HEAD, &segment).launch_ns,
                         cases[i].head_ns);
        assert_int_equal(timing_segment(&runner, SEGMENT_COUNT_, &segment).launch_ns, 18000);
    }
}

/* 3 s a step of the host, or in a graph 1 s: what a step begins with. */
static void a_captured_iteration_waits_for_less_of_the_host(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *const host = ", per_step: 3 s, per_replay: 1 s, graphs: [%s]";
    const struct step_result layers =
        step_of(arena, 8, "zero: 3", arena_printf(arena, host, "layers"));
    const struct step_result iteration =
        step_of(arena, 8, "zero: 3", arena_printf(arena, host, "iteration"));
    assert_close(1e-9 * (double)(layers.step_ns - iteration.step_ns), 2.0, 1e-3);
    arena_free(arena);
}

/* ---- bandwidth ------------------------------------------------------------------------------ */

/* The first transfer of a stream of stage 0. */
static const struct transfer_origin *first_of(const struct step_system *system, enum stream stream)
{
    const struct engine_program *program = &system->engine.programs[0];
    assert_true(program->counts[stream] > 0);
    return &system->transfers.origins[engine_program_task(program, stream, 0)->transfer];
}

static double moving_s(const struct step_system *system, enum stream stream)
{
    const struct transfer_origin *origin = first_of(system, stream);
    return origin->time_s - origin->latency_s;
}

/* tp 8 inside a node, dp 4 between nodes: each kind of bandwidth slows its own. A NIC reaches
 * 45 GB/s: with staging at 180 a byte takes 1/45 + 1/180 = 1.25/45 ns, with 67.5 it takes
 * 1/45 + 1/67.5 = 1/27. */
static void bytes_take_as_much_longer_where_the_software_says(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    static const struct {
        const char *more;
        double nvlink, network;
    } rows[] = {{"  communication: {nvlink: 50 %}\n", 2.0, 1.0},
                {"  communication: {staging: 180 GB/s}\n", 1.0, 1.25},
                {"  communication: {nvlink: 90 %, staging: 67.5 GB/s}\n", 1 / 0.9, 1 / 0.6}};
    const char *parallel = "tp: 8, zero: 1";
    const struct step_system *usual = system_of(arena, 32, parallel, "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct step_system *system = system_of(arena, 32, parallel, rows[i].more);
        assert_close(moving_s(system, STREAM_TENSOR),
                     rows[i].nvlink * moving_s(usual, STREAM_TENSOR), 1e-6);
        assert_close(moving_s(system, STREAM_DATA_GATHER),
                     rows[i].network * moving_s(usual, STREAM_DATA_GATHER), 1e-6);
        assert_close(first_of(system, STREAM_TENSOR)->latency_s,
                     first_of(usual, STREAM_TENSOR)->latency_s, 1e-12);
    }
    arena_free(arena);
}

/* A message between stages is staged, too: at a NIC's own 45 GB/s its path's cap is cut in half. */
static void messages_between_stages_are_slower_too(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *parallel = "tp: 8, pp: 4";
    const struct step_system *usual = system_of(arena, 32, parallel, "");
    const struct step_system *slow =
        system_of(arena, 32, parallel, "  communication: {staging: 45 GB/s}\n");
    assert_close((double)slow->jobs[0].pair.cap_bytes_per_s,
                 0.5 * (double)usual->jobs[0].pair.cap_bytes_per_s, 1e-9);
    arena_free(arena);
}

/* Mixtral on 16 GPUs, 8 ranks of two GPUs an expert, over two nodes; `more`: of the software. */
static const struct step_system *exchange_of(struct arena *arena, const char *more)
{
    return volume_system(
        arena, arena_printf(arena,
                            "model: mixtral-8x22b\ncluster: h100-3200\ngpus: 16\n"
                            "software:\n  software: mine\n  framework: megatron\n  year: 2026\n"
                            "  source: a test\n  attention: fa2\n  gradients: {precision: fp32}\n%s"
                            "parallel: {ep: 8, tp: 2, etp: 2}\n"
                            "batch: {global: 16, micro: 1, sequence_length: 4096}\n",
                            more));
}

/* Tokens that kernels of their own send are not staged, whatever a copy for each expert is; they
 * take 1/0.8 as long where the software says that it reaches 80 % of the links; and each exchange
 * of 8 ranks 85 + 8 x 2 = 101 us more than one that begins at once. */
static void exchanges_of_tokens_have_a_start_and_are_not_staged(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *plain = exchange_of(arena, "  experts: {exchange: tokens}\n");
    const struct step_system *staged =
        exchange_of(arena, "  experts: {exchange: tokens}\n  communication: {staging: 45 GB/s}\n");
    const struct step_system *slow =
        exchange_of(arena, "  experts: {exchange: tokens, per_exchange: 85 us, per_rank: 2 us}\n"
                           "  communication: {experts: 80 %}\n");
    const struct step_system *copies = exchange_of(arena, "  communication: {staging: 45 GB/s}\n");
    const double moving = moving_s(plain, STREAM_EXPERT);
    assert_close(moving_s(staged, STREAM_EXPERT), moving, 1e-6);
    assert_close(moving_s(slow, STREAM_EXPERT), moving / 0.8, 1e-6);
    assert_close(first_of(slow, STREAM_EXPERT)->latency_s -
                     first_of(plain, STREAM_EXPERT)->latency_s,
                 101e-6, 1e-9);
    assert_true(moving_s(copies, STREAM_EXPERT) > 1.9 * moving);
    assert_int_equal(first_of(copies, STREAM_EXPERT)->shape.nodes, 2);
    arena_free(arena);
}

/* ---- gathers of FSDP ------------------------------------------------------------------------- */

static const struct model *model_of(const struct step_system *system)
{
    return &system->jobs[0].is.scenario->model;
}

/* Llama: qkv, projection, gate and up, down; two norms without biases. */
static void a_layer_of_llama_has_four_matrices_and_two_norms(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct model *model = model_of(system_of(arena, 8, "zero: 3", ""));
    const struct layer_tensors count = cost_layer_tensors(model, model_layer(model, 0), 0);
    assert_int_equal(count.matrices, 4);
    assert_int_equal(count.vectors, 2);
    arena_free(arena);
}

/* The last transfer of stage 0's gathers: a layer's (the first is embedding and head). */
static const struct transfer_origin *layer_gather(const struct step_system *system)
{
    const struct engine_program *program = &system->engine.programs[0];
    const uint32_t last = program->counts[STREAM_DATA_GATHER] - 1;
    return &system->transfers
                .origins[engine_program_task(program, STREAM_DATA_GATHER, last)->transfer];
}

/* On 32 GPUs: the same bytes, in one call or in one for each matrix: what is before the bytes
 * counts four times. Norms by themselves cost two whole gathers of 8 kB more. */
static void each_tensor_that_is_gathered_alone_has_its_latency(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *layer = system_of(arena, 32, "zero: 3", "");
    const struct step_system *matrix =
        system_of(arena, 32, "zero: 3", "  fsdp: {gathers: matrix}\n");
    const struct step_system *tensor =
        system_of(arena, 32, "zero: 3", "  fsdp: {gathers: tensor}\n");
    const struct transfer_origin *whole = layer_gather(layer);
    const struct transfer_origin *parts = layer_gather(matrix);
    const struct transfer_origin *all = layer_gather(tensor);
    const struct group_shape *group = &layer->jobs[0].groups[GROUP_DATA];
    struct transfer_quote quarter;
    struct transfer_quote norm;
    transfer_quote(&layer->setting, group, COLLECTIVE_ALL_GATHER, whole->bytes / 4, &quarter);
    transfer_quote(&layer->setting, group, COLLECTIVE_ALL_GATHER, 2 * 4096.0, &norm);
    assert_close(parts->bytes, whole->bytes, 1e-15);
    assert_int_equal(parts->calls, 4);
    assert_close(parts->latency_s, 4 * quarter.latency_s, 1e-12);
    assert_close(all->bytes, whole->bytes, 1e-12);
    assert_int_equal(all->calls, 6);
    assert_close(all->latency_s, 4 * quarter.latency_s + 2 * norm.time_s, 1e-2);
    assert_true(all->latency_s > parts->latency_s && parts->latency_s > 2 * whole->latency_s);
    arena_free(arena);
}

/* 0.5 ms before each of six calls, and 10 us for each of 32 ranks: 0.82 ms. */
static void each_call_has_the_time_that_the_software_spends_on_it(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct step_system *usual =
        system_of(arena, 32, "zero: 3", "  fsdp: {gathers: tensor}\n");
    const struct step_system *slow = system_of(
        arena, 32, "zero: 3", "  fsdp: {gathers: tensor, per_call: 0.5 ms, per_rank: 10 us}\n");
    assert_close(layer_gather(slow)->latency_s, layer_gather(usual)->latency_s + 6 * 0.82e-3, 1e-9);
    assert_close(first_of(slow, STREAM_DATA_REDUCE)->latency_s,
                 first_of(usual, STREAM_DATA_REDUCE)->latency_s + 6 * 0.82e-3, 1e-9);
    arena_free(arena);
}

/* A layer that is gathered when it is reached is beside no compute: the step is longer by its
 * gathers, and they are exposed. */
static void gathers_without_prefetch_are_exposed(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *none = "  fsdp: {prefetch: 0}\n";
    const struct step_system *system = system_of(arena, 32, "zero: 3", none);
    const struct step_result reached = step_of(arena, 32, "zero: 3", none);
    const double gather_s = layer_gather(system)->time_s;
    assert_true((double)reached.gpu_ns[CAUSE_EXPOSED_DP] / 32e9 >= 64 * gather_s * 0.99);
    assert_true(step_of(arena, 32, "zero: 3", "").step_ns < reached.step_ns);
    arena_free(arena);
}

/* ---- tensor parallelism in pieces ------------------------------------------------------------ */

/* Sequence parallelism over 8 GPUs, n pieces: the same bytes in n times as many transfers, and the
 * same work; what is exposed is less, and most with few pieces of one. */
static void pieces_of_blocks_hide_tensor_parallelism(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *parallel = "tp: 8, sequence_parallel: true";
    const char *four = "  overlap: {tp_pieces: 4}\n";
    const char *none = "  overlap: {}\n";
    const struct step_result whole = step_of(arena, 8, parallel, none);
    const struct step_result pieces = step_of(arena, 8, parallel, four);
    const struct step_system *of_whole = system_of(arena, 8, parallel, none);
    const struct step_system *of_pieces = system_of(arena, 8, parallel, four);
    const struct volume all = volume_of(of_whole, 0, STREAM_TENSOR, COLLECTIVE_REDUCE_SCATTER);
    const struct volume cut = volume_of(of_pieces, 0, STREAM_TENSOR, COLLECTIVE_REDUCE_SCATTER);
    /* 8 microbatches, 32 layers: of 4 sums each the 2 forward are cut; embedding and head are
     * not. */
    assert_int_equal(cut.count, all.count + 8 * 3 * 2 * 32);
    assert_close(cut.bytes, all.bytes, 1e-12);
    assert_int_equal(pieces.gpu_ns[CAUSE_COMPUTE], whole.gpu_ns[CAUSE_COMPUTE]);
    assert_true(pieces.gpu_ns[CAUSE_EXPOSED_TP] < whole.gpu_ns[CAUSE_EXPOSED_TP] * 3 / 4);
    assert_true(pieces.step_ns < whole.step_ns);
    const struct step_result plain = step_of(arena, 8, "tp: 8", four);
    assert_int_equal(plain.step_ns, step_of(arena, 8, "tp: 8", none).step_ns);
    arena_free(arena);
}

/* ---- experts --------------------------------------------------------------------------------- */

static struct work router_of(struct arena *arena, const char *more, enum segment_kind segment)
{
    const struct step_system *system = volume_system(
        arena, arena_printf(arena,
                            "model: mixtral-8x7b\ncluster: h100-3200\ngpus: 8\nparallel: {ep: 8}\n"
                            "batch: {global: 8, micro: 1, sequence_length: 128}\n"
                            "software:\n  software: inline\n  source: made up\n  attention: fa2\n"
                            "  gradients: {precision: fp32}\n  host: {per_kernel: 100 us}\n%s",
                            more));
    const struct scenario *scenario = system->jobs[0].is.scenario;
    const struct timing *timing = timing_of_scenario(arena, scenario);
    const uint32_t kind = model_kind(&scenario->model, scenario->model.layers - 1);
    return timing_work(timing, kind, segment);
}

static int64_t launch_of(struct arena *arena, const char *more, enum segment_kind segment)
{
    const struct work work = router_of(arena, more, segment);
    return work.launch_ns + wait_of(arena, &work);
}

/* The kernels are short (128 tokens), the host slow: 30 more, of 3 us each, cost it 3 ms forward,
 * and backward, after the last of which the GPU has its gap of 3 us and no longer the last
 * kernel; for 2 ms more it stands, forward only. Forward the host reads the choice, then. */
static void routing_tokens_takes_kernels_and_waits_for_the_host(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const char *more = "  experts: {launches: 30, synchronisation: 2 ms}\n";
    const enum segment_kind there = SEGMENT_ROUTER;
    const enum segment_kind back = SEGMENT_ROUTER_BACKWARD;
    const int64_t forward_ns = launch_of(arena, more, there) - launch_of(arena, "", there);
    const int64_t backward_ns = launch_of(arena, more, back) - launch_of(arena, "", back);
    assert_in_range(forward_ns, 30 * 100000 + 2000000 - 20000, 30 * 100000 + 2000000 + 20000);
    assert_in_range(backward_ns, 30 * 100000 - 20000, 30 * 100000 + 20000);
    assert_int_equal(launch_of(arena, more, SEGMENT_EXPERTS),
                     launch_of(arena, "", SEGMENT_EXPERTS));
    assert_true(router_of(arena, more, there).drains);
    assert_false(router_of(arena, more, back).drains);
    arena_free(arena);
}

static struct scenario slow_host(double per_kernel_s, double per_tensor_s)
{
    return (struct scenario){.gpu = {.memory_bandwidth_bytes_per_s = 1e12,
                                     .memory_kernel_efficiency = 1.0,
                                     .launch_s = 0.0},
                             .software = {.memory_derate = 1.0,
                                          .host_per_kernel_s = per_kernel_s,
                                          .expert_tensor_s = per_tensor_s}};
}

/* 10 kernels of 1 us each in front of one of 1 ms. The host needs 5 us for each: the long one
 * begins after 11 of them, at 55 us, so 45 us later than without, although the host is done long
 * before the GPU. Prepared one by one, at 2 us, they take 20 us more. Of a long kernel in front
 * the GPU waits for its launch, 5 us, and the rest is hidden. */
static void short_kernels_wait_for_the_host_also_before_long_ones(void **state)
{
    (void)state;
    const struct kernel little = {
        .name = "little", .kind = KERNEL_MEMORY, .bytes = 1e7, .launches = 10, .tensors = 10};
    const struct kernel large = {
        .name = "large", .kind = KERNEL_MEMORY, .bytes = 1e9, .launches = 1};
    const struct segment first = {.kernels = {little, large}, .count = 2};
    const struct segment last = {.kernels = {large, little}, .count = 2};
    struct scenario scenario = slow_host(5e-6, 0.0);
    const struct timing_runner runner = timing_runner_of(&scenario);
    struct work work = timing_segment(&runner, SEGMENT_EXPERTS, &first);
    assert_int_equal(work.busy_ns, 1010000);
    assert_int_equal(work.launch_ns, 0);
    assert_int_equal(work.burst.deficit_ns, 45000);
    assert_int_equal(timing_segment(&runner, SEGMENT_EXPERTS, &last).burst.deficit_ns, 5000);
    scenario = slow_host(5e-6, 2e-6);
    assert_int_equal(timing_segment(&runner, SEGMENT_EXPERTS, &first).burst.deficit_ns, 65000);
    scenario.software.graphs = 1u << GRAPH_LAYERS;
    work = timing_segment(&runner, SEGMENT_EXPERTS, &first);
    assert_int_equal(work.burst.deficit_ns, 0);
    assert_int_equal(work.burst.launches, 1);
}

/* Ten products in front of a pass over memory: at 2 us more for each the pass is launched 20 us
 * later, and costs none itself. Experts' products cost what their tensors do, and no more. A graph
 * has neither. */
static void a_products_call_costs_the_host_more_than_a_pass(void **state)
{
    (void)state;
    struct kernel product = {.name = "product", .kind = KERNEL_GEMM, .bytes = 1e6, .launches = 1};
    product.m = product.n = product.k = product.count = 1;
    product.precision = PRECISION_BF16;
    product.flop = 2.0;
    struct segment segment = {.count = 11};
    for (int i = 0; i < 10; i++) {
        segment.kernels[i] = product;
    }
    segment.kernels[10] =
        (struct kernel){.name = "large", .kind = KERNEL_MEMORY, .bytes = 1e9, .launches = 1};
    struct scenario scenario = slow_host(5e-6, 0.0);
    scenario.gpu.sms = 1;
    scenario.gpu.gemm_tile_m = scenario.gpu.gemm_tile_n = 128;
    scenario.gpu.gemm_efficiency = 1.0;
    scenario.gpu.peak_flop_per_s[PRECISION_BF16] = 1e15;
    scenario.software.gemm_derate = 1.0;
    const struct timing_runner runner = timing_runner_of(&scenario);
    const struct work plain = timing_segment(&runner, SEGMENT_MLP, &segment);
    scenario.software.host_per_product_s = 2e-6;
    const struct work called = timing_segment(&runner, SEGMENT_MLP, &segment);
    assert_int_equal(called.burst.host_ns - plain.burst.host_ns, 10 * 2000);
    assert_int_equal(called.burst.deficit_ns - plain.burst.deficit_ns, 10 * 2000);
    for (int i = 0; i < 10; i++) {
        segment.kernels[i].tensors = 1;
    }
    const struct work experts = timing_segment(&runner, SEGMENT_EXPERTS, &segment);
    assert_int_equal(experts.burst.host_ns, plain.burst.host_ns);
    scenario.software.graphs = 1u << GRAPH_LAYERS;
    assert_int_equal(timing_segment(&runner, SEGMENT_MLP, &segment).burst.host_ns, 0);
}

/* ---- a wrong profile ------------------------------------------------------------------------- */

/* Each key has bounds, and is told by its name. */
static void what_is_out_of_bounds_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *key;
    } rows[] = {{"memory_kernels: {derate: 0 %}", "derate"},
                {"attention_kernels: {derate: 101 %}", "derate"},
                {"metrics: {losses: 11}", "losses"},
                {"embedding: onehot", "one-hot"},
                {"communication: {nvlink: 0 %}", "nvlink"},
                {"communication: {staging: 1.5}", "staging"},
                {"communication: {infiniband: 0.5}", "infiniband"},
                {"jitter: {spread: -1 %}", "spread"},
                {"host: {graphs: 3}", "graphs"},
                {"host: {graphs: [layer]}", "layers"},
                {"host: {per_replay: 3}", "per_replay"},
                {"host: {per_product: 3}", "per_product"},
                {"fsdp: {gathers: bucket}", "bucket"},
                {"fsdp: {per_call: -1 us}", "per_call"},
                {"overlap: {tp_pieces: 0}", "tp_pieces"},
                {"experts: {launches: -4}", "launches"},
                {"experts: {per_tensor: -1 us}", "per_tensor"},
                {"experts: {synchronisation: 3}", "synchronisation"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *arena = arena_new();
        struct diag *diag = diag_new(arena);
        const char *text = arena_printf(arena,
                                        "software: x\nsource: made up\nattention: fa2\n"
                                        "gradients: {precision: fp32}\n%s\n",
                                        rows[i].text);
        const struct doc_node *node = doc_parse(arena, "x.yaml", text, strlen(text), diag);
        struct software software;
        struct assumptions assumptions = {.arena = arena};
        assert_non_null(node);
        assert_false(software_read(node, &software, &assumptions, diag));
        char said[4096] = "";
        FILE *out = fmemopen(said, sizeof said - 1, "w");
        diag_print(diag, out);
        fclose(out);
        assert_non_null(strstr(said, "x.yaml:5:"));
        assert_non_null(strstr(said, rows[i].key));
        arena_free(arena);
    }
}

/* ---- compute beside communication ------------------------------------------------------------ */

static int64_t interference_ns(struct arena *arena, int gpus, const char *shares)
{
    const char *more = arena_printf(arena, "  interference: {%s}\n", shares);
    return step_of(arena, gpus, "zero: 3", more).gpu_ns[CAUSE_INTERFERENCE];
}

/* FSDP of 8 GPUs stays in a node and of 16 does not, so that the other share changes nothing. */
static void collectives_take_the_share_of_where_their_group_lies(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    assert_true(interference_ns(arena, 8, "nvlink: 0, network: 0.2") == 0);
    assert_true(interference_ns(arena, 8, "nvlink: 0.2, network: 0") > 0);
    assert_true(interference_ns(arena, 16, "nvlink: 0, network: 0.2") > 0);
    assert_true(interference_ns(arena, 16, "nvlink: 0.2, network: 0") == 0);
    arena_free(arena);
}

/* 33 of 132 SMs are a quarter, of 66 a half, whatever interference.experts says; without it that
 * holds. Other streams take their own share. */
static void an_exchange_takes_its_sms(void **state)
{
    (void)state;
    static const struct {
        int64_t of_exchange, of_gpu;
        uint32_t expected;
    } rows[] = {{33, 132, 250000}, {33, 66, 500000}, {0, 132, 100000}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct software software = {.expert_sms = rows[i].of_exchange,
                                          .expert_interference = 0.1,
                                          .network_interference = 0.05};
        struct engine_system system;
        streams_describe(&software, rows[i].of_gpu, 1, &system);
        assert_int_equal(system.streams[STREAM_EXPERT].interference, rows[i].expected);
        assert_int_equal(system.streams[STREAM_DATA_REDUCE].interference, 50000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_head_the_step_lacks_its_segments),
        cmocka_unit_test(without_a_head_nothing_is_summed_for_it),
        cmocka_unit_test(the_largest_of_n_is_that_of_the_tables),
        cmocka_unit_test(all_wait_for_the_slowest_of_them),
        cmocka_unit_test(kernels_that_stream_memory_take_as_much_longer),
        cmocka_unit_test(fused_attention_takes_as_much_longer),
        cmocka_unit_test(one_hot_rows_count_in_hfu_only),
        cmocka_unit_test(attention_within_documents_has_their_flops),
        cmocka_unit_test(a_sequence_of_documents_is_as_many_short_sequences),
        cmocka_unit_test(kernels_of_layers_in_graphs_do_not_wait_for_the_host),
        cmocka_unit_test(gaps_in_a_graph_are_its_own),
        cmocka_unit_test(what_is_captured_is_what_does_not_wait),
        cmocka_unit_test(a_captured_iteration_waits_for_less_of_the_host),
        cmocka_unit_test(bytes_take_as_much_longer_where_the_software_says),
        cmocka_unit_test(messages_between_stages_are_slower_too),
        cmocka_unit_test(exchanges_of_tokens_have_a_start_and_are_not_staged),
        cmocka_unit_test(a_layer_of_llama_has_four_matrices_and_two_norms),
        cmocka_unit_test(each_tensor_that_is_gathered_alone_has_its_latency),
        cmocka_unit_test(each_call_has_the_time_that_the_software_spends_on_it),
        cmocka_unit_test(gathers_without_prefetch_are_exposed),
        cmocka_unit_test(pieces_of_blocks_hide_tensor_parallelism),
        cmocka_unit_test(routing_tokens_takes_kernels_and_waits_for_the_host),
        cmocka_unit_test(short_kernels_wait_for_the_host_also_before_long_ones),
        cmocka_unit_test(a_products_call_costs_the_host_more_than_a_pass),
        cmocka_unit_test(collectives_take_the_share_of_where_their_group_lies),
        cmocka_unit_test(an_exchange_takes_its_sms),
        cmocka_unit_test(what_is_out_of_bounds_is_refused),
        cmocka_unit_test(a_gradient_of_the_head_put_off_is_computed_where_the_last_stage_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
