#include "support/random_scenario.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"
#include "input/software.h"
#include "support/dice.h"
#include "support/fixture.h"

#include <stdio.h>
#include <string.h>

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

/* false: dense models without context parallelism and other options only. */
static const bool draws_all_groups = true;

/* Of so many the smaller text is the one that is least work. */
enum { CANDIDATES = 8 };

struct layout {
    int64_t tp, cp, pp, dp, ep, chunks, microbatches, micro, zero, gpus_per_node;
    int64_t experts, experts_per_token, shared_experts, dense_layers;
    const char *schedule;
    /* choose_options */
    int64_t etp, zero_group, redundant_experts, group_limit;
    int64_t microbatch_group;
    const char *order, *cp_type, *reshard, *precision, *fp8_recipe;
    bool needs_sequence_parallel, overlaps_experts, is_hot, has_capacity;
    int64_t recompute; /* 0: as drawn; then layers, modules */
    int64_t offload;   /* bits: optimizer, activations */
    int64_t zeropp;    /* bits: quantised weights, local ones, quantised gradients */
    bool has_lora, dispatches_fp8, has_mtp, has_no_clipping;
    /* choose_software */
    const char *gathers, *loss;
    double nvlink, network, spread, derate;
    bool has_graphs, gathers_vocabulary;
    int64_t pieces, launches, high_layers;
    /* grow */
    const char *fabric; /* more of its keys */
    bool has_no_slow;
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

/* Schedules that keep weight gradients apart, or run both ways. */
static void choose_schedule(struct dice *dice, struct layout *l)
{
    static const char *const names[] = {"zb-h1", "zb-h2", "zb-v", "dualpipev", "dualpipe"};
    if (l->pp == 1 || !chance(dice, 2)) {
        return;
    }
    const uint64_t which = roll(dice, l->pp % 2 == 0 ? 5 : 4);
    l->schedule = names[which];
    l->chunks = which < 2 ? 1 : 2;
    if (which > 2) {
        l->microbatches = 2 * l->pp * (1 + (int64_t)roll(dice, 2));
    }
}

/* Experts over other ranks than the rest is: also over tensor-parallel ranks. */
static void choose_folding(struct dice *dice, struct layout *l)
{
    const int64_t stage = l->tp * l->cp * l->dp;
    if (l->experts == 0) {
        return;
    }
    l->etp = chance(dice, 2) ? 1 : l->tp;
    l->needs_sequence_parallel = l->etp != l->tp;
    l->ep = power_of_two(dice, 4);
    while (l->experts % l->ep != 0 || stage % (l->ep * l->etp) != 0) {
        l->ep /= 2;
    }
    l->is_hot = chance(dice, 2);
    l->redundant_experts = l->ep * (int64_t)roll(dice, 2);
    l->has_capacity = chance(dice, 4);
    l->group_limit = l->experts_per_token <= 2 && chance(dice, 2) ? 2 : 0;
    const bool alternates =
        strcmp(l->schedule, "1f1b") == 0 || strcmp(l->schedule, "interleaved") == 0;
    l->overlaps_experts = alternates && chance(dice, 3);
}

/* Microbatches in groups larger than pp, the last of which may be smaller. */
static void choose_microbatch_group(struct dice *dice, struct layout *l)
{
    if (strcmp(l->schedule, "interleaved") == 0 && chance(dice, 2)) {
        l->microbatch_group = l->pp + (int64_t)roll(dice, (uint64_t)l->pp);
        const int64_t left =
            l->pp + (int64_t)roll(dice, (uint64_t)(l->microbatch_group - l->pp + 1));
        l->microbatches = l->microbatch_group + left;
    }
}

static void choose_none(struct layout *l)
{
    l->etp = l->tp;
    l->zero_group = l->cp * l->dp;
    l->order = "tp-cp-ep-dp-pp";
    l->cp_type = "all-gather";
    l->reshard = "after-forward";
    l->precision = "bf16";
    l->fp8_recipe = "delayed";
}

/* With dice of its own again. One in three has none of these. */
/* ZeRO++ needs states that are shared out over all GPUs, and nothing else. */
static void choose_zeropp(struct dice *dice, struct layout *l)
{
    const int64_t options = 1 + (int64_t)roll(dice, 7);
    const int64_t nodes = power_of_two(dice, 4);
    if (!chance(dice, 16)) {
        return;
    }
    l->zeropp = options;
    l->zero = 3;
    l->tp = l->cp = l->pp = l->ep = l->etp = l->chunks = 1;
    l->dp = nodes * l->gpus_per_node;
    l->zero_group = l->dp;
    l->schedule = "1f1b";
    l->microbatch_group = l->redundant_experts = l->group_limit = l->dense_layers = 0;
    l->overlaps_experts = l->needs_sequence_parallel = false;
}

static void choose_options(struct dice *dice, struct layout *l)
{
    static const char *const orders[] = {"tp-cp-ep-dp-pp", "tp-cp-pp-ep-dp", "tp-pp-cp-ep-dp",
                                         "dp-tp-cp-ep-pp", "pp-dp-ep-tp-cp", "cp-ep-tp-dp-pp"};
    static const char *const contexts[] = {"all-gather", "ring", "ulysses"};
    static const char *const reshards[] = {"after-forward", "after-backward", "after-step"};
    static const char *const recipes[] = {"delayed", "current", "blockwise"};
    choose_none(l);
    if (chance(dice, 3)) {
        return;
    }
    choose_schedule(dice, l);
    choose_folding(dice, l);
    l->order = orders[roll(dice, 6)];
    l->cp_type = contexts[roll(dice, l->tp * l->cp <= 16 ? 3 : 2)];
    l->reshard = reshards[roll(dice, 3)];
    l->fp8_recipe = recipes[roll(dice, 3)];
    l->dispatches_fp8 = chance(dice, 2);
    l->precision = chance(dice, 3) ? "fp8" : "bf16";
    if (chance(dice, 2)) {
        l->zero_group = power_of_two(dice, 4);
        l->zero_group = l->zero_group < l->cp * l->dp ? l->zero_group : l->cp * l->dp;
    }
    l->zero = chance(dice, 6) ? 3 : l->zero;
    l->recompute = (int64_t)roll(dice, 4);
    l->offload = (int64_t)roll(dice, 8);
    l->has_lora = chance(dice, 5);
    l->has_mtp = chance(dice, 5);
    l->has_no_clipping = chance(dice, 5);
    choose_microbatch_group(dice, l);
    choose_zeropp(dice, l);
}

/* What the software makes of the hardware, with dice of its own: in one of two nothing. */
static void choose_software(struct dice *dice, struct layout *l)
{
    static const char *const units[] = {"layer", "tensor", "matrix"};
    const bool is_ideal = chance(dice, 2);
    l->gathers = is_ideal ? units[0] : units[roll(dice, 3)];
    l->nvlink = is_ideal || chance(dice, 2) ? 1.0 : 0.75;
    l->network = is_ideal || chance(dice, 2) ? 1.0 : 0.9;
    l->spread = is_ideal || chance(dice, 2) ? 0.0 : 0.01;
    l->derate = is_ideal || chance(dice, 2) ? 1.0 : 0.8;
    l->has_graphs = !is_ideal && chance(dice, 2);
    l->pieces = is_ideal ? 1 : 1 + (int64_t)roll(dice, 4);
    l->launches = is_ideal ? 0 : 10 * (int64_t)roll(dice, 3);
    l->loss = loss_kind_names[is_ideal ? LOSS_IN_PARTS : roll(dice, LOSS_COUNT_)];
    l->gathers_vocabulary = !is_ideal && chance(dice, 2);
    l->high_layers = is_ideal ? 0 : (int64_t)roll(dice, 2);
}

/* More of the same, with dice of its own. */
static void grow(struct dice *dice, struct layout *l)
{
    static const char *const fabrics[] = {"", ", leaves_per_pod: 2", ", routing: ecmp"};
    static const int64_t times[] = {1, 3, 12};
    const bool grows_group = l->zeropp > 0 || chance(dice, 2);
    const uint64_t doublings = roll(dice, 5);
    for (uint64_t i = 0; i < doublings; i++) {
        const int64_t gpus = 2 * l->tp * l->cp * l->pp * l->dp;
        if (gpus > 512 || (gpus > l->gpus_per_node && gpus % l->gpus_per_node != 0)) {
            break;
        }
        l->dp *= 2;
        l->zero_group *= grows_group ? 2 : 1;
    }
    /* What stands last may be a smaller group of microbatches. */
    const int64_t group = l->microbatch_group > 0 ? l->microbatch_group : l->microbatches;
    l->microbatches += (times[roll(dice, 3)] - 1) * group;
    l->fabric = fabrics[roll(dice, 3)];
    l->has_no_slow = chance(dice, 2);
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
    if (l->group_limit > 0) {
        fprintf(out, "  expert_groups: 4\n  group_limit: %lld\n", (long long)l->group_limit);
    }
}

static void print_cluster(FILE *out, struct dice *dice, const struct layout *l)
{
    static const char *const kinds[] = {"rail", "tree"};
    const int64_t nics[] = {1, 2, l->gpus_per_node};
    const int64_t node_storage = chance(dice, 2) ? 1 : 10;
    const int64_t storage = chance(dice, 2) ? 10 : 100;
    const int64_t oversubscription = power_of_two(dice, 3);
    const int64_t nodes_per_leaf = chance(dice, 2) ? 2 : 4;
    const char *kind = kinds[roll(dice, 2)];
    const int64_t latency_us = chance(dice, 2) ? 10 : 0;
    const int64_t nic_gbps = chance(dice, 2) ? 400 : 80;
    const int64_t nic_count = nics[roll(dice, 3)];
    fprintf(
        out,
        "cluster:\n  cluster: inline\n  source: made up\n  gpu: inline\n"
        "  gpus_per_node: %lld\n"
        "  scale_up: {kind: nvswitch, bandwidth: 400 GB/s, efficiency: 1, latency: 1 us}\n"
        "  nics: {count: %lld, bandwidth: %lld Gbps, efficiency: 1, latency: %lld us}\n"
        "  fabric: {kind: %s, nodes_per_leaf: %lld, oversubscription: %lld, hop_latency: 0 us%s}\n"
        "  host: {cores: 64, memory: 1 TB, power: 1 kW}\n"
        "  storage: {write: %lld GB/s, read: 10 GB/s, per_node: %lld GB/s}\n",
        (long long)l->gpus_per_node, (long long)nic_count, (long long)nic_gbps,
        (long long)latency_us, kind, (long long)nodes_per_leaf, (long long)oversubscription,
        l->fabric, (long long)storage, (long long)node_storage);
}

static void print_gpu(FILE *out)
{
    fprintf(out, "gpu:\n  gpu: inline\n  source: made up\n  architecture: hopper\n"
                 "  peak: {fp32: 10 TFLOP/s, fp16: 100 TFLOP/s, bf16: 100 TFLOP/s, "
                 "fp8: 200 TFLOP/s}\n"
                 "  memory: 1000 GB\n  memory_bandwidth: 1 TB/s\n  sms: 100\n  tdp: 400 W\n"
                 "  host_link: 20 GB/s\n"
                 "  price: {gpu_hour: 1 USD}\n"
                 "  power: {idle_fraction: 0.2, busy_fraction: 0.8}\n"
                 "  memory_kernels: {efficiency: 1}\n  launch: {time: 4 us}\n"
                 "  gemm: {tile_m: 128, tile_n: 128, efficiency: 1, k_half: 0}\n"
                 "  gemm_fp8: {efficiency: 1, k_half: 0, provenance: assumed, source: made up}\n"
                 "  attention:\n    fa2: {forward: 50 TFLOP/s, backward: 50 TFLOP/s, "
                 "length_half: 0}\n");
}

static void print_software(FILE *out, struct dice *dice, const struct layout *l)
{
    fprintf(out, "software:\n  software: inline\n  source: made up\n  attention: %s\n",
            chance(dice, 2) ? "fa2" : "unfused");
    fprintf(out, "  gradients: {precision: %s}\n", chance(dice, 2) ? "fp32" : "bf16");
    fprintf(out, "  overlap: {tp_pieces: %lld, ", (long long)l->pieces);
    const char *dp_gradients = boolean(dice);
    fprintf(out, "tp_backward: %s, dp_gradients: %s, ", boolean(dice), dp_gradients);
    const char *p2p = boolean(dice);
    fprintf(out, "dp_parameters: %s, p2p: %s}\n", boolean(dice), p2p);
    fprintf(out, "  bucket: {size: %d MB}\n", 1 + (int)roll(dice, 40));
    fprintf(out, "  fsdp: {prefetch: %d, gathers: %s}\n", 1 + (int)roll(dice, 2), l->gathers);
    fprintf(out, "  communication: {nvlink: %g%s}\n", l->nvlink,
            l->network < 1 ? ", staging: 90 GB/s" : "");
    fprintf(out, "  jitter: {spread: %g}\n", l->spread);
    static const char *const calls[] = {"apart", "together", "in-turn"};
    const int network = (int)roll(dice, 3);
    fprintf(out, "  p2p: {calls: %s}\n", calls[network]);
    fprintf(out, "  interference: {nvlink: 0.%d, network: 0.%d}\n", (int)roll(dice, 3), network);
    fprintf(out, "  fp8: {recipe: %s, weights: per-step, amax: %s, first_layers: %lld}\n",
            l->fp8_recipe, l->dispatches_fp8 ? "all" : "tensor", (long long)l->high_layers);
    fprintf(out, "  loss: {kind: %s, gathers_vocabulary: %s}\n", l->loss,
            l->gathers_vocabulary ? "true" : "false");
    fprintf(out, "  experts: {dispatch: %s, launches: %lld, synchronisation: %lld us}\n",
            l->dispatches_fp8 ? "fp8" : "bf16", (long long)l->launches, (long long)l->launches);
    fprintf(out, "  fusion: {bias_activation: true, dropout_add: true, norm: true, "
                 "softmax: true}\n  gemm: {derate: 1}\n  memory: {overhead: 1 GB}\n");
    fprintf(out, "  host: {per_kernel: 1 us, per_step: 1 ms, graphs: [%s]}\n",
            l->has_graphs ? "layers" : "none");
    fprintf(out, "  memory_kernels: {derate: %g}\n  attention_kernels: {derate: %g}\n", l->derate,
            l->derate);
}

static void print_parallel_options(FILE *out, const struct layout *l)
{
    fprintf(out, "order: %s", l->order);
    if (l->cp > 1) {
        fprintf(out, ", cp_type: %s", l->cp_type);
    }
    if (l->zero > 0) {
        fprintf(out, ", zero_group: %lld", (long long)l->zero_group);
    }
    if (l->zero == 3) {
        fprintf(out, ", reshard: %s", l->reshard);
    }
    if (l->zeropp > 0) {
        fprintf(out, ", zero_quantized_weights: %s", (l->zeropp & 1) != 0 ? "true" : "false");
        fprintf(out, ", zero_local_weights: %s", (l->zeropp & 2) != 0 ? "true" : "false");
        fprintf(out, ", zero_quantized_gradients: %s", (l->zeropp & 4) != 0 ? "true" : "false");
    }
    if (l->microbatch_group > 0) {
        fprintf(out, ", microbatch_group: %lld", (long long)l->microbatch_group);
    }
    if (l->etp != l->tp) {
        fprintf(out, ", etp: %lld", (long long)l->etp);
    }
    fprintf(out, "%s}\n", l->overlaps_experts ? ", overlap_experts: true" : "");
}

static void print_training(FILE *out, const struct layout *l, const char *recompute)
{
    if (l->recompute == 1) {
        fprintf(out, "recompute: {layers: 1}\n");
    } else if (l->recompute == 2) {
        fprintf(out, "recompute: {modules: [core-attention, norm, activation%s]}\n",
                l->experts > 0 ? ", moe" : ", mlp");
    } else {
        fprintf(out, "recompute: %s\n", recompute);
    }
    if (l->offload > 0 && l->offload < 4) {
        fprintf(out, "offload: {optimizer: %s, activation_layers: %d}\n",
                (l->offload & 1) != 0 ? "50 %" : "0 %", (l->offload & 2) != 0 ? 1 : 0);
    }
    if (l->is_hot || l->has_capacity || l->redundant_experts > 0) {
        fprintf(out, "routing: {redundant_experts: %lld%s%s}\n", (long long)l->redundant_experts,
                l->is_hot ? ", distribution: lognormal, spread: 0.5" : "",
                !l->has_capacity            ? ""
                : l->redundant_experts == 0 ? ", capacity_factor: 1.25, pad_to_capacity: true"
                                            : ", capacity_factor: 1.25, pad_to_capacity: false");
    }
    if (l->has_no_clipping) {
        fprintf(out, "optimizer: {clip: false, gradients: bf16, moments: int8}\n");
    }
    if (l->has_lora) {
        fprintf(out, "lora: {rank: 16}\n");
    }
}

static void print_layout(FILE *out, struct dice *dice, const struct layout *l)
{
    const int64_t gpus = l->tp * l->cp * l->pp * l->dp;
    const char *sequence_parallel = boolean(dice);
    fprintf(out, "gpus: %lld\nprecision: %s\n", (long long)gpus, l->precision);
    fprintf(
        out,
        "parallel: {tp: %lld, cp: %lld, pp: %lld, dp: %lld, ep: %lld, zero: %lld, schedule: %s, "
        "virtual_stages: %lld, sequence_parallel: %s,\n           ",
        (long long)l->tp, (long long)l->cp, (long long)l->pp, (long long)l->dp, (long long)l->ep,
        (long long)l->zero, l->schedule, (long long)l->chunks,
        l->needs_sequence_parallel ? "true" : sequence_parallel);
    print_parallel_options(out, l);
    fprintf(out, "batch: {global: %lld, micro: %lld, sequence_length: 1024}\n",
            (long long)(l->dp * l->micro * l->microbatches), (long long)l->micro);
    static const char *const recompute[] = {"none", "selective", "full"};
    const char *kind = recompute[roll(dice, 3)];
    print_training(out, l, kind);
    const int64_t slow = chance(dice, 2) ? 1 + (int64_t)roll(dice, 2) : 0;
    if (slow > 0 && !l->has_no_slow) {
        const int64_t rank = (int64_t)roll(dice, (uint64_t)gpus);
        static const char *const ways[] = {"speed: 0.9", "nic: 0.5", "scale_up: 0.7"};
        fprintf(out, "slow: [{rank: %lld, %s}", (long long)rank, ways[rank % 3]);
        if (slow > 1 && gpus > 1) {
            fprintf(out, ", {rank: %lld, speed: 0.5%s}", (long long)((rank + 1) % gpus),
                    rank % 2 == 0 ? ", nic: 0.3" : "");
        }
        fprintf(out, "]\n");
    }
}

/* All that is drawn before a word is written; `dice` goes on with what is drawn while writing. */
static struct layout layout_of(struct dice *dice, uint64_t seed, uint64_t number, bool grows)
{
    *dice = (struct dice){{.seed = seed, .stream = rng_stream("random scenario"), .rank = number}};
    struct layout l = choose_layout(dice);
    if (draws_all_groups) {
        struct dice more = {{.seed = seed, .stream = rng_stream("random groups"), .rank = number}};
        choose_groups(&more, &l);
    }
    struct dice options = {{.seed = seed, .stream = rng_stream("random options"), .rank = number}};
    if (draws_all_groups) {
        choose_options(&options, &l);
    } else {
        choose_none(&l);
    }
    struct dice software = {
        {.seed = seed, .stream = rng_stream("random software"), .rank = number}};
    choose_software(&software, &l);
    l.fabric = "";
    if (grows) {
        struct dice larger = {
            {.seed = seed, .stream = rng_stream("larger scenario"), .rank = number}};
        grow(&larger, &l);
    }
    return l;
}

static char *text_of(struct arena *arena, uint64_t seed, uint64_t number, bool grows)
{
    struct dice dice;
    const struct layout l = layout_of(&dice, seed, number, grows);
    char *buffer = arena_alloc(arena, 8192);
    FILE *out = fmemopen(buffer, 8191, "w");
    sim_assert(out != NULL);
    fprintf(out, "scenario: random %llu of seed %llu\n", (unsigned long long)number,
            (unsigned long long)seed);
    const char *tied = boolean(&dice);
    const char *mlp = chance(&dice, 2) ? "gelu" : "swiglu";
    const int64_t layers = l.pp * l.chunks + (int64_t)roll(&dice, 5);
    fprintf(out,
            "model:\n  model: inline\n  source: made up\n  layers: %lld\n  hidden: 1024\n"
            "  ffn_hidden: 4096\n  heads: 16\n  vocab: 32768\n  max_positions: 1024\n"
            "  mlp: %s\n  norm: rmsnorm\n  positions: rotary\n  biases: false\n"
            "  tied_embeddings: %s\n",
            (long long)layers, mlp, tied);
    fprintf(out, "  mtp_layers: %d\n", l.has_mtp ? 1 : 0);
    print_experts(out, &l);
    print_cluster(out, &dice, &l);
    print_gpu(out);
    print_software(out, &dice, &l);
    print_layout(out, &dice, &l);
    fclose(out);
    return buffer;
}

char *random_scenario_text(struct arena *arena, uint64_t seed, uint64_t number)
{
    return text_of(arena, seed, number, false);
}

char *random_scenario_larger_text(struct arena *arena, uint64_t seed, uint64_t number)
{
    return text_of(arena, seed, number, true);
}

char *random_scenario_smaller_text(struct arena *arena, uint64_t seed, uint64_t number)
{
    uint64_t least = 0;
    int64_t least_work = INT64_MAX;
    for (uint64_t i = 0; i < CANDIDATES; i++) {
        struct dice dice;
        const struct layout l = layout_of(&dice, seed, CANDIDATES * number + i, false);
        const int64_t work = l.tp * l.cp * l.pp * l.dp * l.microbatches;
        least = work < least_work ? i : least;
        least_work = work < least_work ? work : least_work;
    }
    return text_of(arena, seed, CANDIDATES * number + least, false);
}

struct scenario *random_scenario(struct arena *arena, uint64_t seed, uint64_t number)
{
    const char *text = random_scenario_text(arena, seed, number);
    return fixture_scenario(arena, &(struct fixture_source){.text = text});
}
