/* Scenarios that are right: what is read, resolved and worked out. Wrong ones
 * are in tests/bad_input. The catalogue is tests/unit/data. */
#include "base/arena.h"
#include "input/cluster.h"
#include "input/features/layout_words.h"
#include "input/gpu.h"
#include "input/job/checkpoint.h"
#include "input/layout.h"
#include "input/model.h"
#include "input/scenario.h"
#include "input/scenario_load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/assert_close.h"

static const struct catalogue catalogue = {.directories = {"tests/unit/data"}, .count = 1};

static const char deep_text[] =
    "scenario: 126 layers on 2048 GPUs\n"
    "model: deep\n"
    "cluster: eights\n"
    "gpus: 2048\n"
    "parallel: {tp: 8, pp: 16, dp: auto, virtual_stages: 8, sequence_parallel: true}\n"
    "batch: {global: 512, micro: 1, sequence_length: 8192}\n"
    "run: {tokens: 15.6T, checkpoint: {every: 500 steps, mode: async, to: shared}}\n"
    "slow: [{rank: 17, speed: 0.9}, {rank: 3, speed: 85 %}]\n"
    "sweep: {batch.micro: [1, 2]}\n"
    "note: not part of the resolved text\n";

static const char tiny_text[] = "model: tiny\n"
                                "cluster: eights\n"
                                "gpus: 16\n"
                                "batch: {global: 64}\n";

struct fixture {
    struct arena *arena;
    struct diag *diag;
};

static int setup(void **state)
{
    struct arena *arena = arena_new();
    struct fixture *fixture = arena_alloc(arena, sizeof *fixture);
    *fixture = (struct fixture){arena, diag_new(arena)};
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    arena_free(fixture->arena);
    return 0;
}

static struct scenario *try_resolve(struct fixture *fixture, const char *text,
                                    const char *const *sets, uint32_t set_count)
{
    const struct doc_node *document =
        doc_parse(fixture->arena, "test.yaml", text, strlen(text), fixture->diag);
    return document == NULL ? NULL
                            : scenario_resolve(fixture->arena, document, &catalogue, sets,
                                               set_count, fixture->diag);
}

static struct scenario *resolve(struct fixture *fixture, const char *text, const char *const *sets,
                                uint32_t set_count)
{
    struct scenario *scenario = try_resolve(fixture, text, sets, set_count);
    if (scenario == NULL) {
        diag_print(fixture->diag, stderr);
    }
    assert_non_null(scenario);
    return scenario;
}

static const struct assumption *find_assumption(const struct scenario *scenario, const char *name)
{
    for (size_t i = 0; i < scenario->assumptions.count; i++) {
        if (strcmp(scenario->assumptions.items[i].name, name) == 0) {
            return &scenario->assumptions.items[i];
        }
    }
    return NULL;
}

/* By hand: dp = 2048 / (8 x 16) = 16; microbatches = 512 / 16 = 32; 256 nodes. */
static void a_scenario_is_read_as_written(void **state)
{
    const struct scenario *scenario = resolve(*state, deep_text, NULL, 0);
    assert_string_equal(scenario->title, "126 layers on 2048 GPUs");
    assert_string_equal(scenario->file, "test.yaml");
    assert_string_equal(scenario->model.name, "deep");
    assert_int_equal(scenario->model.head_dim, 128);
    assert_int_equal(scenario->parallel.dp, 16);
    assert_int_equal(scenario->parallel.schedule, SCHEDULE_INTERLEAVED);
    assert_true(scenario->parallel.is_sequence_parallel);
    assert_int_equal(scenario->batch.microbatches, 32);
    assert_int_equal(scenario->nodes, 256);
    assert_close(scenario->run_tokens, 15.6e12, 1e-12);
    assert_true(scenario->checkpoint.is_enabled);
    assert_int_equal(scenario->checkpoint.every_steps, 500);
    assert_int_equal(scenario->checkpoint.mode, CHECKPOINT_ASYNC);
    assert_int_equal(scenario->slow_count, 2);
    assert_int_equal(scenario->slow[0].rank, 3);
    assert_close(scenario->slow[0].speed, 0.85, 1e-12);
    assert_int_equal(scenario->slow[1].rank, 17);
}

static void what_is_left_out_has_its_default(void **state)
{
    const struct scenario *scenario = resolve(*state, tiny_text, NULL, 0);
    assert_string_equal(scenario->software.name, "megatron-2024");
    assert_int_equal(scenario->precision, PRECISION_BF16);
    assert_int_equal(scenario->parallel.dp, 16);
    assert_int_equal(scenario->parallel.zero, 1);
    assert_int_equal(scenario->parallel.schedule, SCHEDULE_1F1B);
    assert_int_equal(scenario->batch.micro, 1);
    assert_int_equal(scenario->batch.sequence_length, 2048);
    assert_int_equal(scenario->batch.microbatches, 4);
    assert_int_equal(scenario->seed, 42);
    assert_false(scenario->checkpoint.is_enabled);
    assert_false(scenario->data.is_enabled);
    assert_close(scenario->price.gpu_hour_usd, 1.5, 1e-12);
    assert_close(scenario->price.pue, 1.2, 1e-12);
}

/* Units: 200 Gbps = 25 GB/s; 300 TFLOP/s; 0.5 us; 5 % = 0.05. */
static void catalogue_values_arrive_in_si_units(void **state)
{
    const struct scenario *scenario = resolve(*state, tiny_text, NULL, 0);
    assert_close(scenario->cluster.nic_bytes_per_s, 25e9, 1e-12);
    assert_close(scenario->cluster.scale_up_bytes_per_s, 300e9, 1e-12);
    assert_close(scenario->cluster.hop_latency_s, 0.5e-6, 1e-12);
    assert_string_equal(scenario->cluster.library_name, "nccl-2026");
    assert_close(scenario->cluster.oversubscription, 1.0, 1e-12);
    assert_close(scenario->cluster.host_power_w, 3000.0, 1e-12);
    assert_close(scenario->gpu.peak_flop_per_s[PRECISION_BF16], 300e12, 1e-12);
    assert_close(scenario->gpu.memory_bytes, 80e9, 1e-12);
    assert_close(scenario->gpu.attention[ATTENTION_FA2].backward.flop_per_s, 180e12, 1e-12);
    assert_close(scenario->software.network_interference, 0.05, 1e-12);
    assert_close(scenario->software.bucket_bytes, 160e6, 1e-12);
}

static void less_than_a_node_is_one_node(void **state)
{
    const char *const sets[] = {"gpus=4"};
    const struct scenario *scenario = resolve(*state, tiny_text, sets, 1);
    assert_int_equal(scenario->nodes, 1);
}

/* 131072 tokens of 2048 are 64 sequences. */
static void a_batch_in_tokens_is_counted_in_sequences(void **state)
{
    const char *const sets[] = {"batch={global_tokens: 131072}"};
    const struct scenario *scenario = resolve(*state, tiny_text, sets, 1);
    assert_int_equal(scenario->batch.global, 64);
}

static void few_key_value_heads_may_be_replicated(void **state)
{
    const char *const sets[] = {"parallel.tp=16", "model.kv_heads=4"};
    const struct scenario *scenario = resolve(*state, tiny_text, sets, 2);
    assert_int_equal(scenario->parallel.tp, 16);
    assert_int_equal(scenario->model.kv_heads, 4);
}

/* By hand: dp = 128 / (2 x 4 x 2) = 8; 16 microbatches of one sequence; eight expert ranks in the
 * plane of cp x dp = 32. */
static void context_and_expert_ranks_are_read(void **state)
{
    const char *const sets[] = {"gpus=128", "model.experts=8", "model.experts_per_token=2",
                                "parallel={tp: 2, cp: 4, pp: 2, ep: 8}", "batch.global=128"};
    const struct scenario *scenario = resolve(*state, tiny_text, sets, 5);
    assert_int_equal(scenario->parallel.cp, 4);
    assert_int_equal(scenario->parallel.ep, 8);
    assert_int_equal(scenario->parallel.dp, 8);
    assert_int_equal(scenario->batch.microbatches, 16);
}

/* Without a width of their own experts are as wide as the MLP; a dense model has none. */
static void experts_have_defaults(void **state)
{
    const char *const sets[] = {"model.experts=4", "model.experts_per_token=1"};
    const struct model *sparse = &resolve(*state, tiny_text, sets, 2)->model;
    assert_int_equal(sparse->expert_hidden, sparse->ffn_hidden);
    assert_int_equal(sparse->shared_experts, 0);
    assert_int_equal(sparse->dense_layers, 0);
    const struct model *dense = &resolve(*state, tiny_text, NULL, 0)->model;
    assert_int_equal(dense->experts, 0);
    assert_false(model_layer(dense, 0)->has_experts);
}

/* Of 24 layers the first 3 are dense: of layers 2, 3, 4, 5 three have experts. */
static void the_first_layers_may_be_dense(void **state)
{
    const char *const sets[] = {"model.experts=4", "model.experts_per_token=1",
                                "model.dense_layers=3"};
    const struct model *model = &resolve(*state, tiny_text, sets, 3)->model;
    assert_false(model_layer(model, 2)->has_experts);
    assert_true(model_layer(model, 3)->has_experts);
    assert_int_equal(model_expert_layers(model, 2, 4), 3);
    assert_int_equal(model_expert_layers(model, 0, 24), 21);
    assert_int_equal(model_expert_layers(model, 0, 3), 0);
}

static void interleaving_one_chunk_is_plain_1f1b(void **state)
{
    const char *const sets[] = {"parallel={pp: 2, schedule: interleaved}"};
    const struct scenario *scenario = resolve(*state, tiny_text, sets, 1);
    assert_int_equal(scenario->parallel.schedule, SCHEDULE_1F1B);
}

/* ---- layers ---- */

static int64_t sum_of(const int64_t *counts, int64_t count)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += counts[i];
    }
    return sum;
}

/* 126 on 16: ceil 8, 2 too many: the first and the last have 7. On 128: the
 * first and the last have none. 24 on 4: 6 each. 10 on 4: ceil 3, 2 too many:
 * 2 3 3 2. 9 on 4: 3 too many: 2 2 3 2. */
static void layers_are_near_even_with_light_ends(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        int64_t layers, chunks, first, second, middle, last;
    } rows[] = {
        {126, 16, 7, 8, 8, 7}, {126, 128, 0, 1, 1, 0}, {24, 4, 6, 6, 6, 6},   {10, 4, 2, 3, 3, 2},
        {9, 4, 2, 2, 3, 2},    {5, 1, 5, 5, 5, 5},     {126, 64, 1, 2, 2, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int64_t chunks = rows[i].chunks;
        const int64_t *counts = layout_distribute(fixture->arena, rows[i].layers, chunks);
        assert_int_equal(counts[0], rows[i].first);
        assert_int_equal(counts[chunks > 1 ? 1 : 0], rows[i].second);
        assert_int_equal(counts[chunks / 2], rows[i].middle);
        assert_int_equal(counts[chunks - 1], rows[i].last);
        assert_int_equal(sum_of(counts, chunks), rows[i].layers);
    }
}

static void every_distribution_sums_and_differs_by_one(void **state)
{
    struct fixture *fixture = *state;
    for (int64_t layers = 1; layers <= 40; layers++) {
        for (int64_t chunks = 1; chunks <= layers + 2; chunks++) {
            const int64_t *counts = layout_distribute(fixture->arena, layers, chunks);
            const int64_t most = (layers + chunks - 1) / chunks;
            assert_int_equal(sum_of(counts, chunks), layers);
            for (int64_t i = 0; i < chunks; i++) {
                assert_true(counts[i] == most || counts[i] == most - 1);
                const bool is_end = i == 0 || i == chunks - 1;
                assert_true(counts[i] > 0 || is_end);
            }
        }
    }
}

/* Stage 0 has 10 layers in 2 chunks, stage 1 has 14: model order 5 7 5 7. */
static void layers_per_stage_are_split_over_its_chunks(void **state)
{
    const char *const sets[] = {"parallel={pp: 2, virtual_stages: 2, layers_per_stage: [10, 14]}"};
    const struct scenario *scenario = resolve(*state, tiny_text, sets, 1);
    static const int64_t expected[] = {5, 7, 5, 7};
    assert_memory_equal(scenario->parallel.layers_per_chunk, expected, sizeof expected);
}

static void layers_per_stage_may_name_every_chunk(void **state)
{
    const char *const sets[] = {
        "parallel={pp: 2, virtual_stages: 2, layers_per_stage: [5, 7, 7, 5]}"};
    const struct scenario *scenario = resolve(*state, tiny_text, sets, 1);
    static const int64_t expected[] = {5, 7, 7, 5};
    assert_memory_equal(scenario->parallel.layers_per_chunk, expected, sizeof expected);
}

/* ---- resolution ---- */

static void a_set_may_change_the_file_that_the_next_one_changes(void **state)
{
    const char *const sets[] = {"model.layers=12", "model=deep", "gpu.sms=7",
                                "cluster.nics.bandwidth=100 Gbps", "batch.micro=2"};
    const struct scenario *scenario = resolve(*state, tiny_text, sets, 5);
    assert_string_equal(scenario->model.name, "deep");
    assert_int_equal(scenario->model.layers, 12);
    assert_int_equal(scenario->gpu.sms, 7);
    assert_close(scenario->cluster.nic_bytes_per_s, 12.5e9, 1e-12);
    assert_int_equal(scenario->batch.microbatches, 2);
}

/* The node of eight NICs: 400 Gbps of the node is 50 of a NIC, 50e9 / 8 = 6.25e9 bytes/s. */
static void a_nodes_network_is_shared_by_its_nics(void **state)
{
    const char *const whole[] = {"cluster.network=400 Gbps"};
    const char *const each[] = {"cluster.nics.bandwidth=50 Gbps"};
    const struct cluster *one = &resolve(*state, tiny_text, whole, 1)->cluster;
    const struct cluster *other = &resolve(*state, tiny_text, each, 1)->cluster;
    assert_close(one->nic_bytes_per_s, 6.25e9, 1e-15);
    assert_close(one->network_bytes_per_s, 50e9, 1e-15);
    assert_close(other->nic_bytes_per_s, one->nic_bytes_per_s, 1e-15);
    assert_close(other->network_bytes_per_s, one->network_bytes_per_s, 1e-15);
    assert_close(one->uplink_bytes_per_s, 6.25e9, 1e-15); /* a NIC's, where none is given */
    const char *const fewer[] = {"cluster.nics.count=2", "cluster.network=400 Gbps"};
    assert_close(resolve(*state, tiny_text, fewer, 2)->cluster.nic_bytes_per_s, 25e9, 1e-15);
}

static void what_is_set_takes_the_place_of_what_the_file_says(void **state)
{
    struct arena *arena = ((struct fixture *)*state)->arena;
    static const char network_text[] =
        "{cluster: inline, source: made up, gpu: chip, gpus_per_node: 8, network: 800 Gbps, "
        "scale_up: {kind: nvswitch, bandwidth: 300 GB/s, efficiency: 1, latency: 2 us}, "
        "nics: {count: 8, efficiency: 0.9, latency: 5 us}, "
        "fabric: {kind: rail, nodes_per_leaf: 32, hop_latency: 0.5 us}, "
        "host: {cores: 96, memory: 2 TB, power: 3 kW}, "
        "storage: {write: 1 GB/s, read: 1 GB/s, per_node: 1 GB/s}}";
    const char *const sets[] = {arena_printf(arena, "cluster=%s", network_text),
                                "cluster.nics.bandwidth=10 Gbps"};
    assert_close(resolve(*state, tiny_text, sets, 1)->cluster.nic_bytes_per_s, 12.5e9, 1e-15);
    const char *const file = arena_printf(
        arena, "model: tiny\ncluster: %s\ngpus: 16\nbatch: {global: 64}\n", network_text);
    const struct scenario *scenario = resolve(*state, file, &sets[1], 1);
    assert_close(scenario->cluster.nic_bytes_per_s, 1.25e9, 1e-15);
    assert_null(doc_find(scenario->document, "cluster.network"));
}

static void the_cluster_may_be_given_another_gpu(void **state)
{
    const char *const sets[] = {"cluster.gpu=other", "gpu.sms=9"};
    const struct scenario *scenario = resolve(*state, tiny_text, sets, 2);
    assert_string_equal(scenario->gpu.name, "other");
    assert_int_equal(scenario->gpu.sms, 9);
}

static void the_scenarios_own_gpu_goes_first(void **state)
{
    const char *const sets[] = {"gpu=other"};
    const struct scenario *scenario = resolve(*state, tiny_text, sets, 1);
    assert_string_equal(scenario->gpu.name, "other");
}

static void a_path_and_a_mapping_do_for_a_name(void **state)
{
    const char *const sets[] = {"model=tests/unit/data/models/llms/tiny.yaml",
                                "software={attention: fa1, gradients: {precision: bf16}}"};
    const struct scenario *scenario = resolve(*state, tiny_text, sets, 2);
    assert_string_equal(scenario->model.name, "tiny");
    assert_string_equal(scenario->software.name, "inline");
    assert_int_equal(scenario->software.attention, ATTENTION_FA1);
    assert_int_equal(scenario->software.gradient_precision, PRECISION_BF16);
}

static void equal_inputs_have_equal_texts(void **state)
{
    static const char other_order[] = "note: other order, other spelling of nothing\n"
                                      "batch: {global: 64}\n"
                                      "gpus: 16\n"
                                      "cluster: eights\n"
                                      "model: tiny\n";
    const struct scenario *first = resolve(*state, tiny_text, NULL, 0);
    const struct scenario *second = resolve(*state, other_order, NULL, 0);
    const char *const sets[] = {"seed=43"};
    const struct scenario *third = resolve(*state, tiny_text, sets, 1);
    assert_string_equal(first->resolved_text, second->resolved_text);
    assert_string_not_equal(first->resolved_text, third->resolved_text);
}

static void the_resolved_text_has_the_files_but_no_sweep(void **state)
{
    const struct scenario *scenario = resolve(*state, deep_text, NULL, 0);
    assert_non_null(strstr(scenario->resolved_text, "53248"));
    assert_non_null(strstr(scenario->resolved_text, "tile_m"));
    assert_null(strstr(scenario->resolved_text, "sweep"));
    assert_null(strstr(scenario->resolved_text, "not part of"));
}

static void a_resolved_document_resolves_to_itself(void **state)
{
    struct fixture *fixture = *state;
    const char *const sets[] = {"cluster.gpu=other", "gpu.sms=9"};
    const struct scenario *first = resolve(fixture, tiny_text, sets, 2);
    const struct scenario *second =
        scenario_resolve(fixture->arena, first->document, &catalogue, NULL, 0, fixture->diag);
    assert_non_null(second);
    assert_string_equal(first->resolved_text, second->resolved_text);
}

static void resolving_does_not_change_the_document(void **state)
{
    struct fixture *fixture = *state;
    struct doc_node *document =
        doc_parse(fixture->arena, "test.yaml", tiny_text, strlen(tiny_text), fixture->diag);
    assert_non_null(document);
    const char *before = doc_to_text(fixture->arena, document);
    const char *const sets[] = {"gpus=32"};
    assert_non_null(scenario_resolve(fixture->arena, document, &catalogue, sets, 1, fixture->diag));
    assert_string_equal(before, doc_to_text(fixture->arena, document));
}

/* ---- assumptions, warnings, catalogue ---- */

static void assumptions_are_those_the_run_leaned_on(void **state)
{
    const struct scenario *scenario = resolve(*state, tiny_text, NULL, 0);
    assert_string_equal(find_assumption(scenario, "gpu.price.gpu_hour")->value, "1.50 USD");
    assert_string_equal(find_assumption(scenario, "gpu.price.gpu_hour")->reason, "a guess");
    assert_string_equal(find_assumption(scenario, "price.pue")->reason, DEFAULT_REASON);
    assert_true(scenario->price.electricity_usd_per_kwh == 0.0);
    assert_non_null(find_assumption(scenario, "gpu.launch.time"));
    assert_non_null(find_assumption(scenario, "gpu.attention.fa2.forward"));
    assert_non_null(find_assumption(scenario, "software.interference.nvlink"));
    assert_null(find_assumption(scenario, "gpu.attention.fa1.forward"));
    assert_null(find_assumption(scenario, "gpu.gemm.efficiency"));
}

/* The GPU's file tells the gap between kernels and not the one in a graph: they are one, whichever
 * the first is, until the second is told. */
static void a_gap_in_a_graph_is_the_gap_unless_told(void **state)
{
    const char *const sets[] = {"gpu.launch.time=7 us", "gpu.launch.in_graph=2 us"};
    const struct gpu *gpu = &resolve(*state, tiny_text, NULL, 0)->gpu;
    assert_close(gpu->launch_in_graph_s, 4e-6, 1e-12);
    gpu = &resolve(*state, tiny_text, sets, 1)->gpu;
    assert_close(gpu->launch_in_graph_s, 7e-6, 1e-12);
    gpu = &resolve(*state, tiny_text, sets, 2)->gpu;
    assert_close(gpu->launch_s, 7e-6, 1e-12);
    assert_close(gpu->launch_in_graph_s, 2e-6, 1e-12);
}

static void a_stated_price_is_no_assumption(void **state)
{
    const char *const sets[] = {"price={gpu_hour: 3 USD, electricity: 0.2 USD/kWh, pue: 1.1}"};
    const struct scenario *scenario = resolve(*state, tiny_text, sets, 1);
    assert_close(scenario->price.gpu_hour_usd, 3.0, 1e-12);
    assert_null(find_assumption(scenario, "gpu.price.gpu_hour"));
    assert_close(scenario->price.electricity_usd_per_kwh, 0.2, 1e-12);
    assert_null(find_assumption(scenario, "price.pue"));
}

static void an_assumed_mapping_hands_it_on(void **state)
{
    const char *const sets[] = {"cluster.provenance=assumed", "cluster.nics.provenance=measured"};
    const struct scenario *scenario = resolve(*state, tiny_text, sets, 2);
    assert_non_null(find_assumption(scenario, "cluster.gpus_per_node"));
    assert_non_null(find_assumption(scenario, "cluster.host.cores"));
    assert_null(find_assumption(scenario, "cluster.nics.latency"));
    assert_null(find_assumption(scenario, "cluster.title"));
    assert_null(find_assumption(scenario, "cluster.cluster"));
}

/* Of a mapping that says another provenance, or none. */
static void one_constant_may_be_assumed(void **state)
{
    const char *const sets[] = {
        "cluster.nics.provenance=measured", "cluster.nics.assumed=[latency]",
        "cluster.nics.source=a chart",
        "cluster.host={cores: 8, memory: 1 TB, power: 2 kW, assumed: [memory]}"};
    const struct scenario *scenario = resolve(*state, tiny_text, sets, 4);
    const struct assumption *latency = find_assumption(scenario, "cluster.nics.latency");
    assert_non_null(latency);
    assert_string_equal(latency->reason, "a chart");
    assert_null(find_assumption(scenario, "cluster.nics.bandwidth"));
    assert_null(find_assumption(scenario, "cluster.nics.assumed"));
    assert_non_null(find_assumption(scenario, "cluster.host.memory"));
    assert_null(find_assumption(scenario, "cluster.host.cores"));
}

/* A price that the GPU's file assumes; and the same that somebody states who knows it. */
static void what_is_set_is_not_the_files_assumption(void **state)
{
    const char *const file[] = {"gpu.price.provenance=assumed"};
    const char *const own[] = {"gpu.price.provenance=assumed", "gpu.price.gpu_hour=3 USD"};
    assert_non_null(find_assumption(resolve(*state, tiny_text, file, 1), "gpu.price.gpu_hour"));
    assert_null(find_assumption(resolve(*state, tiny_text, own, 2), "gpu.price.gpu_hour"));
}

/* What breaks stands in the resolved text; a scenario that does not ask for failures resolves to
 * what it always did. */
static void failures_are_in_the_text_when_they_are_asked_for(void **state)
{
    struct fixture *fixture = *state;
    const char *const none[] = {"run={tokens: 1T, checkpoint: off, failures: false}"};
    const char *const some[] = {
        "run={tokens: 1T, failures: {failures: inline, counts: hardware, classes: "
        "[{name: gpu, of: gpu, rate: {mttf: 5000 h}}]}}"};
    const struct scenario *scenario = resolve(fixture, tiny_text, none, 1);
    assert_null(scenario->failures.name);
    assert_null(find_assumption(scenario, "run.recovery.start"));
    assert_non_null(strstr(scenario->resolved_text, "failures: false"));
    assert_null(strstr(scenario->resolved_text, "recovery"));
    scenario = resolve(fixture, tiny_text, some, 1);
    assert_int_equal(scenario->failures.kind_count, 1);
    assert_non_null(find_assumption(scenario, "run.recovery.start"));
    assert_non_null(strstr(scenario->resolved_text, "mttf: 5000 h"));
}

/* A message about a --set quotes it; one without '=' is a mistake of usage. */
static void a_wrong_set_is_named(void **state)
{
    struct fixture *fixture = *state;
    const char *const wrong_value[] = {"gpus=-1"};
    assert_null(try_resolve(fixture, tiny_text, wrong_value, 1));
    assert_int_equal(diag_exit_status(fixture->diag), 3);

    fixture->diag = diag_new(fixture->arena);
    const char *const wrong_syntax[] = {"gpus"};
    assert_null(try_resolve(fixture, tiny_text, wrong_syntax, 1));
    assert_int_equal(diag_exit_status(fixture->diag), 2);

    fixture->diag = diag_new(fixture->arena);
    const char *const wrong_key[] = {"cluster.nics.bandwith=100 Gbps"};
    assert_null(try_resolve(fixture, tiny_text, wrong_key, 1));
    assert_int_equal(diag_exit_status(fixture->diag), 3);
    assert_non_null(strstr(diag_first_error(fixture->diag), "bandwith"));
}

static void names_are_listed_in_order(void **state)
{
    struct fixture *fixture = *state;
    uint32_t count = 0;
    const char **names = catalogue_list(fixture->arena, &catalogue, "models/gpus", &count);
    assert_int_equal(count, 2);
    assert_string_equal(names[0], "chip");
    assert_string_equal(names[1], "other");
}

static void a_name_is_found_and_nothing_else(void **state)
{
    struct fixture *fixture = *state;
    struct arena *arena = fixture->arena;
    const char *kind = "models/gpus";
    assert_string_equal(catalogue_find(arena, &catalogue, kind, "chip"),
                        "tests/unit/data/models/gpus/chip.yaml");
    static const char *const others[] = {"Chip", "", ".", "..", "../gpus/chip", "chip/", "ch'ip"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_null(catalogue_find(arena, &catalogue, kind, others[i]));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_scenario_is_read_as_written),
        TEST(what_is_left_out_has_its_default),
        TEST(catalogue_values_arrive_in_si_units),
        TEST(less_than_a_node_is_one_node),
        TEST(a_batch_in_tokens_is_counted_in_sequences),
        TEST(few_key_value_heads_may_be_replicated),
        TEST(context_and_expert_ranks_are_read),
        TEST(experts_have_defaults),
        TEST(the_first_layers_may_be_dense),
        TEST(interleaving_one_chunk_is_plain_1f1b),
        TEST(layers_are_near_even_with_light_ends),
        TEST(every_distribution_sums_and_differs_by_one),
        TEST(layers_per_stage_are_split_over_its_chunks),
        TEST(layers_per_stage_may_name_every_chunk),
        TEST(a_set_may_change_the_file_that_the_next_one_changes),
        TEST(a_nodes_network_is_shared_by_its_nics),
        TEST(what_is_set_takes_the_place_of_what_the_file_says),
        TEST(the_cluster_may_be_given_another_gpu),
        TEST(the_scenarios_own_gpu_goes_first),
        TEST(a_path_and_a_mapping_do_for_a_name),
        TEST(equal_inputs_have_equal_texts),
        TEST(the_resolved_text_has_the_files_but_no_sweep),
        TEST(a_resolved_document_resolves_to_itself),
        TEST(resolving_does_not_change_the_document),
        TEST(assumptions_are_those_the_run_leaned_on),
        TEST(a_gap_in_a_graph_is_the_gap_unless_told),
        TEST(a_stated_price_is_no_assumption),
        TEST(an_assumed_mapping_hands_it_on),
        TEST(one_constant_may_be_assumed),
        TEST(what_is_set_is_not_the_files_assumption),
        TEST(failures_are_in_the_text_when_they_are_asked_for),
        TEST(a_wrong_set_is_named),
        TEST(names_are_listed_in_order),
        TEST(a_name_is_found_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
