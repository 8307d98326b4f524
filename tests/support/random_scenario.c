#include "support/random_scenario.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"

#include <stdio.h>
#include <string.h>

struct dice {
    struct rng_key key;
};

static uint64_t roll(struct dice *dice, uint64_t bound)
{
    dice->key.operation++;
    return rng_below(&dice->key, bound);
}

static bool chance(struct dice *dice, uint64_t one_in)
{
    return roll(dice, one_in) == 0;
}

static const char *boolean(struct dice *dice)
{
    return roll(dice, 2) ? "true" : "false";
}

static int64_t power_of_two(struct dice *dice, uint64_t exponents)
{
    return (int64_t)1 << roll(dice, exponents);
}

/* false: dense models without context parallelism only. */
static const bool draws_all_groups = true;

struct layout {
    int64_t tp, cp, pp, dp, ep, chunks, microbatches, micro, zero, gpus_per_node;
    int64_t experts, experts_per_token, shared_experts, dense_layers;
    const char *schedule;
};

static struct layout choose_layout(struct dice *dice)
{
    struct layout l = {.chunks = 1, .schedule = "1f1b", .cp = 1, .ep = 1};
    l.gpus_per_node = 4 * (1 + (int64_t)roll(dice, 2));
    l.tp = power_of_two(dice, 4);
    l.pp = chance(dice, 3) ? 1 : 2 + (int64_t)roll(dice, 3);
    l.dp = power_of_two(dice, 4);
    while (l.tp * l.pp * l.dp > 256) {
        l.dp /= 2;
    }
    while (l.tp * l.pp * l.dp > l.gpus_per_node && l.tp * l.pp * l.dp % l.gpus_per_node != 0) {
        l.dp *= 2;
    }
    l.micro = 1 + (int64_t)roll(dice, 2);
    l.microbatches = l.pp * (1 + (int64_t)roll(dice, 3));
    l.zero = (int64_t)roll(dice, l.pp == 1 ? 4 : 3);
    if (l.pp > 1 && chance(dice, 3)) {
        l.schedule = "interleaved";
        l.chunks = 2;
    } else if (chance(dice, 4)) {
        l.schedule = "gpipe";
    }
    return l;
}

static bool fills_nodes(const struct layout *l)
{
    const int64_t gpus = l->tp * l->cp * l->pp * l->dp;
    return gpus <= 256 && (gpus <= l->gpus_per_node || gpus % l->gpus_per_node == 0);
}

/* With dice of its own, so that all else is drawn as without. Two in three have experts or
 * context parallelism. */
static void choose_groups(struct dice *dice, struct layout *l)
{
    if (chance(dice, 2)) {
        l->cp = 2 << roll(dice, 2);
    }
    while (!fills_nodes(l)) {
        l->cp /= 2;
    }
    if (chance(dice, 3)) {
        return;
    }
    l->experts = 4 << roll(dice, 2);
    l->experts_per_token = 1 + (int64_t)roll(dice, 3);
    l->shared_experts = chance(dice, 3) ? 1 : 0;
    l->dense_layers = l->pp * l->chunks > 1 && chance(dice, 2) ? 1 : 0;
    l->ep = power_of_two(dice, 4);
    while (l->experts % l->ep != 0 || l->cp * l->dp % l->ep != 0) {
        l->ep /= 2;
    }
}

static void print_experts(FILE *out, const struct layout *l)
{
    if (l->experts > 0) {
        fprintf(out,
                "  experts: %lld\n  experts_per_token: %lld\n  expert_hidden: 2048\n"
                "  shared_experts: %lld\n  dense_layers: %lld\n",
                (long long)l->experts, (long long)l->experts_per_token,
                (long long)l->shared_experts, (long long)l->dense_layers);
    }
}

static void print_cluster(FILE *out, struct dice *dice, const struct layout *l)
{
    static const char *const kinds[] = {"rail", "tree"};
    const int64_t nics[] = {1, 2, l->gpus_per_node};
    fprintf(out,
            "cluster:\n  cluster: inline\n  source: made up\n  gpu: inline\n"
            "  gpus_per_node: %lld\n"
            "  scale_up: {kind: nvswitch, bandwidth: 400 GB/s, efficiency: 1, latency: 1 us}\n"
            "  nics: {count: %lld, bandwidth: %d Gbps, efficiency: 1, latency: %d us}\n"
            "  fabric: {kind: %s, nodes_per_leaf: %d, oversubscription: %d, hop_latency: 0 us}\n"
            "  host: {cores: 64, memory: 1 TB, power: 1 kW}\n"
            "  storage: {write: %d GB/s, read: 10 GB/s, per_node: %d GB/s}\n",
            (long long)l->gpus_per_node, (long long)nics[roll(dice, 3)], chance(dice, 2) ? 400 : 80,
            chance(dice, 2) ? 10 : 0, kinds[roll(dice, 2)], chance(dice, 2) ? 2 : 4,
            1 << roll(dice, 3), chance(dice, 2) ? 10 : 100, chance(dice, 2) ? 1 : 10);
}

static void print_gpu(FILE *out)
{
    fprintf(out, "gpu:\n  gpu: inline\n  source: made up\n  architecture: hopper\n"
                 "  peak: {fp32: 10 TFLOP/s, fp16: 100 TFLOP/s, bf16: 100 TFLOP/s}\n"
                 "  memory: 1000 GB\n  memory_bandwidth: 1 TB/s\n  sms: 100\n  tdp: 400 W\n"
                 "  host_link: 20 GB/s\n"
                 "  price: {gpu_hour: 1 USD}\n"
                 "  power: {idle_fraction: 0.2, busy_fraction: 0.8}\n"
                 "  memory_kernels: {efficiency: 1}\n  launch: {time: 4 us}\n"
                 "  gemm: {tile_m: 128, tile_n: 128, efficiency: 1, k_half: 0}\n"
                 "  attention:\n    fa2: {forward: 50 TFLOP/s, backward: 50 TFLOP/s, "
                 "length_half: 0}\n");
}

static void print_software(FILE *out, struct dice *dice)
{
    fprintf(out, "software:\n  software: inline\n  source: made up\n  attention: %s\n",
            chance(dice, 2) ? "fa2" : "unfused");
    fprintf(out, "  gradients: {precision: %s}\n", chance(dice, 2) ? "fp32" : "bf16");
    fprintf(out, "  overlap: {tp_backward: %s, dp_gradients: %s, ", boolean(dice), boolean(dice));
    fprintf(out, "dp_parameters: %s, p2p: %s}\n", boolean(dice), boolean(dice));
    fprintf(out, "  bucket: {size: %d MB}\n", 1 + (int)roll(dice, 40));
    fprintf(out, "  fsdp: {prefetch: %d}\n", 1 + (int)roll(dice, 2));
    fprintf(out, "  interference: {nvlink: 0.%d, network: 0.%d}\n", (int)roll(dice, 3),
            (int)roll(dice, 3));
    fprintf(out, "  fusion: {bias_activation: true, dropout_add: true, norm: true, "
                 "softmax: true}\n  host: {per_kernel: 1 us, per_step: 1 ms}\n"
                 "  gemm: {derate: 1}\n  memory: {overhead: 1 GB}\n");
}

static void print_layout(FILE *out, struct dice *dice, const struct layout *l)
{
    const int64_t gpus = l->tp * l->cp * l->pp * l->dp;
    fprintf(out, "gpus: %lld\nprecision: bf16\n", (long long)gpus);
    fprintf(
        out,
        "parallel: {tp: %lld, cp: %lld, pp: %lld, dp: %lld, ep: %lld, zero: %lld, schedule: %s, "
        "virtual_stages: %lld, sequence_parallel: %s}\n",
        (long long)l->tp, (long long)l->cp, (long long)l->pp, (long long)l->dp, (long long)l->ep,
        (long long)l->zero, l->schedule, (long long)l->chunks, boolean(dice));
    fprintf(out, "batch: {global: %lld, micro: %lld, sequence_length: 1024}\n",
            (long long)(l->dp * l->micro * l->microbatches), (long long)l->micro);
    static const char *const recompute[] = {"none", "selective", "full"};
    fprintf(out, "recompute: %s\n", recompute[roll(dice, 3)]);
    const int64_t slow = chance(dice, 2) ? 1 + (int64_t)roll(dice, 2) : 0;
    if (slow > 0) {
        const int64_t rank = (int64_t)roll(dice, (uint64_t)gpus);
        fprintf(out, "slow: [{rank: %lld, speed: 0.9}", (long long)rank);
        if (slow > 1 && gpus > 1) {
            fprintf(out, ", {rank: %lld, speed: 0.5}", (long long)((rank + 1) % gpus));
        }
        fprintf(out, "]\n");
    }
}

char *random_scenario_text(struct arena *arena, uint64_t seed, uint64_t number)
{
    struct dice dice = {{seed, rng_stream("random scenario"), number, 0, 0}};
    struct layout l = choose_layout(&dice);
    if (draws_all_groups) {
        struct dice more = {{seed, rng_stream("random groups"), number, 0, 0}};
        choose_groups(&more, &l);
    }
    char *buffer = arena_alloc(arena, 8192);
    FILE *out = fmemopen(buffer, 8191, "w");
    sim_assert(out != NULL);
    fprintf(out, "scenario: random %llu of seed %llu\n", (unsigned long long)number,
            (unsigned long long)seed);
    fprintf(out,
            "model:\n  model: inline\n  source: made up\n  layers: %lld\n  hidden: 1024\n"
            "  ffn_hidden: 4096\n  heads: 16\n  vocab: 32768\n  max_positions: 1024\n"
            "  mlp: %s\n  norm: rmsnorm\n  positions: rotary\n  biases: false\n"
            "  tied_embeddings: %s\n",
            (long long)(l.pp * l.chunks + (int64_t)roll(&dice, 5)),
            chance(&dice, 2) ? "gelu" : "swiglu", boolean(&dice));
    print_experts(out, &l);
    print_cluster(out, &dice, &l);
    print_gpu(out);
    print_software(out, &dice);
    print_layout(out, &dice, &l);
    fclose(out);
    return buffer;
}

struct scenario *random_scenario(struct arena *arena, uint64_t seed, uint64_t number)
{
    struct diag *diag = diag_new(arena);
    const char *text = random_scenario_text(arena, seed, number);
    const struct catalogue here = {{"."}, 1}; /* for the library; all else is inline */
    struct doc_node *document = doc_parse(arena, "random.yaml", text, strlen(text), diag);
    struct scenario *scenario =
        document != NULL ? scenario_resolve(arena, document, &here, NULL, 0, diag) : NULL;
    if (scenario == NULL) {
        fputs(text, stderr);
        diag_print(diag, stderr);
    }
    sim_assert(scenario != NULL);
    return scenario;
}
