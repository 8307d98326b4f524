/* A software profile: the table of its keys. What it has in how many bytes:
 * features/software_bytes.c.
 */
#include "input/software.h"

#include "base/arena.h"
#include "input/features/layout_words.h"

const char *const loss_kind_names[LOSS_COUNT_] = {
    "parts", "eager", "eager-16bit", "fused", "recomputed", "in-place", "chunked", "linear", "cut"};
const char *const graph_part_names[GRAPH_PART_COUNT_] = {
    "none", "attention", "mlp", "router", "experts", "layers", "iteration"};
const char *const scaling_recipe_names[RECIPE_COUNT_] = {"delayed", "current", "blockwise",
                                                         "rowwise"};
static const char *const weight_conversion_names[WEIGHTS_COUNT_] = {"per-microbatch", "per-step",
                                                                    "stored"};

static const char *const checkpoint_copy_names[COPY_COUNT_] = {"at-once", "beside"};
static const char *const writers_names[WRITERS_COUNT_] = {"first", "holders", "shared"};
static const char *const amax_names[AMAX_COUNT_] = {"own", "tensor", "all"};
static const char *const exchange_format_names[EXCHANGE_COUNT_] = {"bf16", "fp8"};
static const char *const update_kind_names[UPDATE_KIND_COUNT_] = {"fused", "foreach"};
static const char *const embedding_names[EMBEDDING_KIND_COUNT_] = {"lookup", "one-hot"};
static const char *const rotary_names[ROTARY_COUNT_] = {"fused", "eager", "complex", "matrix"};
static const char *const stage_calls_names[STAGE_CALLS_COUNT_] = {"apart", "together", "in-turn"};
const char *const context_names[CONTEXT_COUNT_] = {"all-gather", "ring", "ulysses"};
static const char *const context_gathered_names[CONTEXT_GATHERED_COUNT_] = {"heads", "latents"};
static const char *const scatter_gather_names[SCATTER_GATHER_COUNT_] = {"none", "activations",
                                                                        "both"};
static const char *const exchange_kind_names[EXCHANGE_KIND_COUNT_] = {"copies", "tokens"};
static const char *const gradient_addition_names[ADDITION_COUNT_] = {"fused", "separate"};
static const char *const shard_reduction_names[SHARD_REDUCTION_COUNT_] = {"reduce-scatter",
                                                                          "all-reduce"};
static const char *const shard_gather_names[SHARD_GATHER_COUNT_] = {"all-gather", "broadcast"};
static const char *const no_sync_names[NO_SYNC_COUNT_] = {"none", "replicas", "all"};
static const char *const gather_unit_names[GATHER_UNIT_COUNT_] = {"layer", "tensor", "matrix"};
static const char *const kept_input_names[KEPT_INPUT_COUNT_] = {"as-computed", "fp8"};

/* Precisions, and none. */
enum { COPY_COUNT = PRECISION_COUNT_ + 1 };
static const char *const copy_names[COPY_COUNT] = {"fp32", "tf32",  "fp16",  "bf16",
                                                   "fp8",  "mxfp8", "nvfp4", "none"};

const char *software_with_release(struct arena *arena, const struct software *software)
{
    const bool has_release = software->release != NULL && software->release[0] != '\0';
    return has_release ? arena_printf(arena, "%s (%s)", software->name, software->release)
                       : software->name;
}

bool software_has_precision(const struct software *software, enum precision precision)
{
    return !precision_is_low(precision) || software->low.is_known;
}

bool software_captures(const struct software *software, enum graph_part part)
{
    const uint32_t bits[GRAPH_PART_COUNT_] = {
        [GRAPH_ITERATION] = 1u << GRAPH_ITERATION,
        [GRAPH_LAYERS] = 1u << GRAPH_LAYERS | 1u << GRAPH_ITERATION,
    };
    if (part == GRAPH_NONE) {
        return false;
    }
    const uint32_t wanted = bits[part] != 0 ? bits[part] : bits[GRAPH_LAYERS] | 1u << part;
    return (software->graphs & wanted) != 0;
}

bool software_captures_any(const struct software *software)
{
    return software->graphs > 1u << GRAPH_NONE;
}

double software_host_step_s(const struct software *software)
{
    return software_captures(software, GRAPH_ITERATION) ? software->host_per_replay_s
                                                        : software->host_per_step_s;
}

bool software_scatters(const struct software *software, bool is_forward)
{
    return software->scatter_gather == SCATTER_GATHER_BOTH ||
           (is_forward && software->scatter_gather == SCATTER_GATHER_ACTIVATIONS);
}

/* ---- keys ---- */

#define STORED (1u << PRECISION_FP32 | 1u << PRECISION_FP16 | 1u << PRECISION_BF16)

/* How far ahead the host may be matters only where launching takes time. */
static void read_launches(const struct schema_reader *reader, const struct schema_row *row)
{
    const struct software *software = reader->object;
    schema_read_key(reader, row);
    const bool takes_time = software->host_per_kernel_s > 0.0 || software->host_per_product_s > 0.0;
    if (takes_time && doc_take(reader->map, schema_key(row)) == NULL) {
        assumptions_add(reader->assumptions,
                        &(struct assumption){.name = "software.launch_queue.launches",
                                             .value = row->standard,
                                             .reason = row->source});
    }
}

/* What is captured is nothing or something. */
static bool check_graphs(const struct schema_reader *reader, const struct schema_row *row)
{
    const uint32_t graphs = ((const struct software *)reader->object)->graphs;
    const uint32_t none = 1u << GRAPH_NONE;
    (void)row;
    if ((graphs & none) == 0 || graphs == none) {
        return true;
    }
    diag_add(reader->map->diag, DIAG_INPUT, &doc_find(reader->map->node, "graphs")->place,
             "'none' is listed beside parts that are captured");
    diag_help(reader->map->diag, "leave 'none' out, or list it alone");
    return false;
}

static bool has_low_precision(const void *object)
{
    return ((const struct software *)object)->low.is_known;
}

static bool has_features(const void *object)
{
    const struct software *software = object;
    uint32_t any = 0;
    for (uint32_t i = 0; i < FEATURE_LIST_COUNT_; i++) {
        any |= software->has.lists[i];
    }
    return any != 0 || software->release != NULL;
}

#define NOT_KNOWN "not known: nothing is refused"
#define SCHEMA_OBJECT struct software
#include "input/schema/rows.h"

/* Four machines and two kernels, so two shares and a ratio, by hand: from 18 % too short (GB200) to
 * 14 % too long (H200). */
#define SCAN_SOURCE                                                                                \
    "set by seven published times of flash-linear-attention 0.4.2, forward, on H20, H200, GB200, " \
    "GB300, over counts by stoker (kernels_mixer.h): https://github.com/MoonshotAI/FlashKDA, "     \
    "BENCHMARK_H20.md; https://github.com/inclusionAI/cuLA, BENCHMARK_*.md, April 2026"

#define SPARSE_SOURCE \
    "640 TFLOP/s on H800, 1450 on B200: https://github.com/deepseek-ai/FlashMLA, November 2025"
#define SPARSE_BACKWARD "684 TFLOP/s on B200: cudnn-frontend, pull request 318, June 2026"
#define SPARSE_ASSUMED "nobody publishes a rate over counts by stoker (kernels_index.h)"

/* An effect that is not described is absent. */
static const struct schema_row rows[] = {
    {TEXT("software", name, "Its name, which is that of its file, too.")},
    {TEXT("title", title, "What people call it."), AS(const char *, name)},
    {TEXT("framework", framework, "The framework; fits group profiles by it."), .is_optional = true,
     .note = "not stated"},
    {COUNT("year", year, 1990, 2100, "The year of the version that it describes."),
     .is_optional = true, .note = "not stated"},
    {CHOICE("attention", attention, attention_names, ATTENTION_COUNT_,
            "The newest kernel of attention that it has; an older one where the GPU lacks it."),
     .among = (1u << ATTENTION_CUDNN_FP8) - 1u, .is_required = true, .is_settled = true},
    {CHOICE("embedding", embedding, embedding_names, EMBEDDING_KIND_COUNT_,
            "A token's row of the table is read (lookup), or fetched by a product of the table and "
            "of rows that hold one 1 (one-hot), as its gradient is added: 4 V h FLOP a token."),
     .standard = "lookup"},

    {BOOL("measured", is_measured,
          "Some published run of it is among those that predictions are held against."),
     .standard = "true"},
    {SECTION("has",
             "What the release has; of a list that is left out nothing is known, and nothing "
             "is refused."),
     .applies = has_features, .note = NOT_KNOWN},
    {TEXT("has.release", release, "The releases that it is of."), .is_optional = true,
     .note = "not stated"},
    {NAMES("has.architectures", has.lists[FEATURES_ARCHITECTURES], gpu_architecture_names,
           GPU_ARCHITECTURE_COUNT_, "GPUs that it runs on."),
     .is_optional = true, .note = NOT_KNOWN},
    {NAMES("has.parallel", has.lists[FEATURES_PARALLEL], parallel_feature_names, PARALLEL_FEATURES,
           "Axes of the mesh; etp: experts shared by another number of ranks than tp; dp alone: "
           "none but replicas."),
     .is_optional = true, .note = NOT_KNOWN},
    {NAMES("has.zero", has.lists[FEATURES_ZERO], zero_feature_names, ZERO_FEATURES,
           "Stages of ZeRO; which of them go with a pipeline, with ep; over fewer ranks than there "
           "are (groups: HSDP); ZeRO++."),
     .is_optional = true, .note = NOT_KNOWN},
    {NAMES("has.schedules", has.lists[FEATURES_SCHEDULES], schedule_names, SCHEDULE_FILE,
           "What parallel.schedule may be in a pipeline."),
     .is_optional = true, .note = NOT_KNOWN},
    {NAMES(
         "has.stages", has.lists[FEATURES_STAGES], stage_feature_names, STAGE_FEATURES,
         "How layers lie on stages: evenly, with others on the first and the last stage, with the "
         "embedding and the loss in the place of a layer, or anyhow."),
     .is_optional = true, .note = NOT_KNOWN},
    {NAMES("has.context", has.lists[FEATURES_CONTEXT], context_names, CONTEXT_COUNT_,
           "What parallel.cp_type may be."),
     .is_optional = true, .note = NOT_KNOWN},
    {NAMES("has.recompute", has.lists[FEATURES_RECOMPUTE], recompute_feature_names,
           RECOMPUTE_FEATURES,
           "What may be computed again: all layers (full), the first of each chunk (layers), "
           "modules; expert-activation: activation where a model has experts."),
     .is_optional = true, .note = NOT_KNOWN},
    {NAMES("has.precisions", has.lists[FEATURES_PRECISIONS], precision_names, PRECISION_COUNT_,
           "What precision may be, where the GPU has it."),
     .is_optional = true, .note = NOT_KNOWN},
    {NAMES("has.recipes", has.lists[FEATURES_RECIPES], scaling_recipe_names, RECIPE_COUNT_,
           "What fp8.recipe may be."),
     .is_optional = true, .note = NOT_KNOWN},
    {NAMES("has.graphs", has.lists[FEATURES_GRAPHS], graph_part_names, GRAPH_PART_COUNT_,
           "What host.graphs may be."),
     .is_optional = true, .note = NOT_KNOWN},
    {NAMES("has.overlaps", has.lists[FEATURES_OVERLAPS], overlap_feature_names, OVERLAP_FEATURES,
           "What may run beside compute: the keys of overlap, and parallel.overlap_experts."),
     .is_optional = true, .note = NOT_KNOWN},
    {NAMES(
         "has.options", has.lists[FEATURES_OPTIONS], option_feature_names, OPTION_FEATURES,
         "What else it has, by the names of keys of a scenario (low-moments: optimizer.moments in "
         "fewer bits than fp32)."),
     .is_optional = true, .note = NOT_KNOWN},

    {SECTION("gradients", "How weight gradients are added up."), .is_required = true},
    {CHOICE("gradients.precision", gradient_precision, precision_names, PRECISION_COUNT_,
            "What gradients are accumulated and reduced in."),
     .among = STORED, .is_required = true},
    {CHOICE("gradients.accumulation", gradient_addition, gradient_addition_names, ADDITION_COUNT_,
            "The product of a weight's gradient adds to those before (fused), or a kernel of its "
            "own does afterwards (separate)."),
     .standard = "fused"},

    {SECTION("zero", "How ranks that share ZeRO's states (zero 1 and 2) get sums and weights.")},
    {CHOICE("zero.gradients", zero_gradients, shard_reduction_names, SHARD_REDUCTION_COUNT_,
            "Each rank gets the sum of its share (reduce-scatter), or all of it (all-reduce)."),
     .standard = "reduce-scatter"},
    {CHOICE("zero.parameters", zero_parameters, shard_gather_names, SHARD_GATHER_COUNT_,
            "Updated weights are gathered in one collective (all-gather), or sent tensor by tensor "
            "by the rank that updates them (broadcast)."),
     .standard = "all-gather"},
    {QUANTITY(
         "zero.bucket_copies", zero_bucket_copies, DIM_BYTES, 0.0, 1000.0,
         "Bytes moved for each parameter where replicas sum their gradients: joined in a bucket, "
         "divided, copied back."),
     .standard = "0 B"},
    {QUANTITY("zero.update_copies", zero_update_copies, DIM_BYTES, 0.0, 1000.0,
              "Bytes moved for each parameter that a rank owns before it is updated (zero 1 and "
              "beyond): its gradient searched for overflow, joined, converted, scaled."),
     .standard = "0 B"},

    {SECTION("overlap", "Which communication runs beside compute.")},
    {BOOL("overlap.tp_backward", overlaps_tp_backward,
          "The backward pass's tensor-parallel collective runs beside the product of the weight "
          "gradient."),
     .standard = "false"},
    {COUNT("overlap.tp_pieces", tp_pieces, 1, 64,
           "Pieces in which a block of a layer is computed, so that gathers and reduce-scatters of "
           "sequence parallelism run beside the pieces before and after; 1 is nothing of it."),
     .standard = "1"},
    {BOOL("overlap.dp_gradients", overlaps_dp_gradients,
          "Buckets of gradients are reduced while the backward pass goes on."),
     .standard = "false"},
    {BOOL("overlap.dp_parameters", overlaps_dp_parameters,
          "Updated weights are gathered layer by layer during the next forward pass."),
     .standard = "false"},
    {BOOL("overlap.p2p", overlaps_p2p,
          "Messages between pipeline stages run beside compute; else send and receive block it "
          "together."),
     .standard = "false"},

    {SECTION("tensor", "What tensor parallelism keeps and gathers.")},
    {BOOL("tensor.keeps_gathered", keeps_gathered,
          "What sequence parallelism gathered for a product is kept for its weight's gradient, as "
          "autograd keeps it of DTensor; else a rank keeps its tokens and gathers again."),
     .standard = "false"},
    {BOOL("tensor.gathers_few_kv_heads", gathers_few_kv_heads,
          "Where tp exceeds kv_heads: ranks project a part of a head each, and all of them gather "
          "queries, keys and values; else each has a copy of a head."),
     .standard = "false"},

    {SECTION("p2p", "Messages between the stages of a pipeline.")},
    {CHOICE(
         "p2p.calls", stage_calls, stage_calls_names, STAGE_CALLS_COUNT_,
         "With 1F1B: sends go when they are ready and receives are posted early (apart); a stage "
         "waits for its neighbour, and both directions run at once (together) or one after the "
         "other (in-turn)."),
     .standard = "apart"},
    {CHOICE("p2p.scatter_gather", scatter_gather, scatter_gather_names, SCATTER_GATHER_COUNT_,
            "With tensor parallelism and no sequence parallelism each rank sends all of what goes "
            "to another stage (none), or a share of activations, or of both these and their "
            "gradients, which those that receive gather."),
     .standard = "none"},

    {SECTION("context", "How ranks that share a sequence (cp) exchange keys and values.")},
    {CHOICE("context.type", context, context_names, CONTEXT_COUNT_,
            "What it does unless it is told otherwise (parallel.cp_type)."),
     .standard = "all-gather"},
    {CHOICE("context.gathers", context_gathered, context_gathered_names, CONTEXT_GATHERED_COUNT_,
            "Of latent attention an all-gather moves keys and values of the heads that a rank has, "
            "or the latents that they are made of; what others' latents cost to project, or a core "
            "that attends to them, is left out."),
     .standard = "heads"},

    {SECTION("interference", "What communication that runs beside compute takes from it.")},
    {QUANTITY("interference.nvlink", scale_up_interference, DIM_FRACTION, 0.0, 0.9,
              "Share of the compute rate that a collective inside a scale-up domain takes."),
     .standard = "0"},
    {QUANTITY("interference.network", network_interference, DIM_FRACTION, 0.0, 0.9,
              "Share of the compute rate that a collective over the network takes."),
     .standard = "0"},
    {QUANTITY("interference.experts", expert_interference, DIM_FRACTION, 0.0, 0.9,
              "Share of the compute rate that an exchange with experts takes."),
     AS(double, network_interference)},
    {COUNT("interference.expert_sms", expert_sms, 0, 1000,
           "SMs that an exchange with experts takes: their share of the GPU's stands in place of "
           "interference.experts. 0: not stated."),
     .standard = "0"},
    {COUNT("interference.sms", reserved_sms, 0, 1000,
           "SMs that are set aside for communication all the time."),
     .standard = "0"},

    {SECTION("communication", "What a step's transfers lose against a benchmark's.")},
    {QUANTITY("communication.nvlink", scale_up_bandwidth, DIM_FRACTION, 0.01, 1.0,
              "Their bandwidth over a benchmark's, inside a scale-up domain."),
     .standard = "1"},
    {QUANTITY("communication.staging", staging_bytes_per_s, DIM_LINK_BYTES_PER_S, 1e6, 1e15,
              "Rate at which a GPU's bytes pass between its memory and the NIC (buffers of the "
              "library, copies by few SMs that kernels disturb), in series with the NIC."),
     .is_optional = true, .note = "no limit: a NIC has its benchmark's bandwidth"},
    {QUANTITY("communication.experts", exchange_bandwidth, DIM_FRACTION, 0.01, 1.0,
              "What exchanges with experts reach of the links where experts.exchange is tokens: "
              "their kernels stage nothing."),
     .standard = "1"},
    {QUANTITY("communication.experts_network", exchange_network, DIM_FRACTION, 0.01, 1.0,
              "The same where they leave a scale-up domain."),
     AS(double, exchange_bandwidth), .note = "as experts"},

    {SECTION("jitter", "How unevenly GPUs of the same kind run.")},
    {QUANTITY("jitter.spread", jitter_spread, DIM_FRACTION, 0.0, 1.0,
              "Standard deviation of a GPU's own time of a step; all wait for the slowest."),
     .standard = "0"},
    {QUANTITY("jitter.meeting", jitter_meeting_s, DIM_SECONDS, 0.0, 1.0,
              "Standard deviation of when GPUs come to an operation of all replicas (gathered "
              "parameters, reduced gradients); each time all lose what the last is late."),
     .standard = "0 s"},

    {SECTION("bucket", "How gradients are collected for data-parallel reductions.")},
    {QUANTITY("bucket.size", bucket_bytes, DIM_BYTES, 1.0, 1e15,
              "Bytes of gradients that are reduced at once."),
     .standard = "160 MB", .is_assumed = true,
     .source = "40 million fp32 gradients, the default of Megatron-LM's --ddp-bucket-size"},

    {SECTION("fsdp", "How sharded weights (zero 3) are gathered.")},
    {COUNT("fsdp.prefetch", fsdp_prefetch, 0, 1000,
           "Layers that are gathered ahead; 0 gathers a layer when it is reached."),
     .standard = "1"},
    {COUNT("fsdp.live_parameters", fsdp_live_parameters, 0, 1e15,
           "Parameters that may be gathered at once: no layer is gathered ahead beyond them, and "
           "the last layers of the forward pass that they hold are there for the backward pass. 0: "
           "no limit, and every layer is gathered for each pass."),
     .standard = "0"},
    {COUNT("fsdp.reuse_distance", fsdp_reuse_distance, 0, 1e15,
           "Matrices of a layer that is computed again are gathered twice in its backward pass if "
           "so many parameters are used between; 0: never."),
     .standard = "0"},
    {CHOICE("fsdp.no_sync", fsdp_no_sync, no_sync_names, NO_SYNC_COUNT_,
            "Without a pipeline, what of a microbatch's gradients waits for the last one: nothing, "
            "each backward pass ends reduced (none); sums over replicas of shards, of zero_group "
            "(replicas); all, summed whole on each rank until then (all: no_sync())."),
     .standard = "none"},
    {BOOL("fsdp.one_queue", fsdp_is_one_queue,
          "Gathers and reductions use one communicator: each waits for those before it."),
     .standard = "false"},
    {BOOL("fsdp.queue_sums", fsdp_queues_sums,
          "With one_queue: shards' sums over replicas (parallel.zero_group) take their turn in it, "
          "too, as where all collectives share a stream."),
     .standard = "false"},
    {QUANTITY("fsdp.sum_bucket", fsdp_sum_bucket_bytes, DIM_BYTES, 0.0, 1e15,
              "Bytes of a shard's gradients that are joined before they are summed over replicas; "
              "0: those of each reduction by themselves."),
     .standard = "0 B"},
    {BOOL("fsdp.reduce_buckets", fsdp_reduces_buckets,
          "Gradients of layers are reduced together up to bucket.size, and a backward pass ends "
          "when its last are; otherwise each layer's by themselves."),
     .standard = "false"},
    {BOOL("fsdp.keeps_root", fsdp_keeps_root,
          "Embedding, final norm and head are one unit, which stays gathered from the forward pass "
          "to the end of the backward pass; else a unit each. In memory: no step moves."),
     .standard = "false"},
    {COUNT("fsdp.gather_passes", fsdp_gather_passes, 0, 100,
           "Reads and writes of what was gathered, as where it is copied out of one buffer."),
     .standard = "0"},
    {QUANTITY("fsdp.gradient_copies", fsdp_gradient_copies, DIM_BYTES, 0.0, 1000.0,
              "Bytes moved for each parameter before its gradient is reduced: joined, converted, "
              "divided."),
     .standard = "0 B"},
    {CHOICE("fsdp.gathers", fsdp_gathers, gather_unit_names, GATHER_UNIT_COUNT_,
            "What one gather or reduction is of: a layer, each tensor of it, or each matrix, with "
            "biases and norms kept on every rank."),
     .standard = "layer"},
    {QUANTITY("fsdp.per_call", fsdp_per_call_s, DIM_SECONDS, 0.0, 1.0,
              "What the framework spends before each gather and reduction, while nothing is sent."),
     .standard = "0 s"},
    {QUANTITY("fsdp.per_rank", fsdp_per_rank_s, DIM_SECONDS, 0.0, 0.1,
              "The same for each rank that takes part, as where shares are copied one by one."),
     .standard = "0 s"},
    {QUANTITY(
         "fsdp.host_per_rank", fsdp_host_per_rank_s, DIM_SECONDS, 0.0, 0.1,
         "What the host spends on each rank's share of a matrix, gathered or reduced, while it "
         "launches nothing."),
     .standard = "0 s"},
    {COUNT(
         "fsdp.quantized_block", fsdp_quantized_block, 8, 1e9,
         "Quantized weights and gradients (parallel.zero_quantized_weights) that share a scale in "
         "fp32."),
     .standard = "4000"}, /* as deepspeed/runtime/zero/partition_parameters.py, v0.10.0 */

    {SECTION("fusion", "Which operations are one kernel.")},
    {BOOL("fusion.bias_activation", fuses_bias_activation, "A bias and the activation behind it."),
     .standard = "false"},
    {BOOL("fusion.qkv_bias", fuses_qkv_bias, "The bias of Q, K and V and the product before it."),
     .standard = "false"},
    {BOOL("fusion.dropout_add", fuses_dropout_add, "Bias, dropout and the residual addition."),
     .standard = "false"},
    {BOOL("fusion.norm", fuses_norm, "The parts of a norm."), .standard = "false"},
    {BOOL("fusion.norm_casts", casts_norm,
          "A norm's input is converted to fp32 in front of it, and its gradient back, each by a "
          "kernel of its own. An RMSNorm in parts (fusion.norm: false) always is."),
     .standard = "false"},
    {BOOL("fusion.softmax", fuses_softmax, "Scale, mask and softmax of unfused attention."),
     .standard = "false"},
    {CHOICE("fusion.rotary", rotary, rotary_names, ROTARY_COUNT_,
            "Rotary embedding is one kernel (fused); two products, halves swapped and a sum "
            "(eager); fp32 complex numbers, which torch.compile does not fuse (complex); or fp32 "
            "pairs by a matrix each, as a product with all four values and a sum (matrix)."),
     .standard = "fused"},
    {CHOICE("fusion.rotary_scaled", scaled_rotary, rotary_names, ROTARY_COUNT_,
            "The same of a model that multiplies cosines and sines by a factor (YaRN)."),
     AS(uint32_t, rotary), .note = "as fusion.rotary"},
    {BOOL("fusion.clamp", fuses_clamp,
          "Where fusion.bias_activation: a clamp of gate and up is part of their kernel."),
     .standard = "true"},
    {BOOL("fusion.adapter", fuses_adapter,
          "LoRA: the scale of an adapter's result and its addition to the frozen product's, and "
          "backward to the input's gradient, are part of the adapter's products; dropout keeps a "
          "bit of each value, else a byte."),
     .standard = "false"},
    {BOOL("fusion.experts", fuses_experts,
          "The products of all experts of a GPU; else each expert has its own."),
     .standard = "false"},
    {BOOL("fusion.expert_activation", fuses_expert_activation,
          "Where fusion.experts: the activation between an expert's matrices is part of the "
          "products before it, forward and backward."),
     .standard = "false"},
    {CHOICE(
         "fusion.update", update, update_kind_names, UPDATE_KIND_COUNT_,
         "Adam's update is one kernel (fused), or one for each operation of its formula, over all "
         "tensors (foreach, the default of torch.optim)."),
     .standard = "fused"},

    {SECTION("loss", "How cross-entropy is computed, unless the scenario says (loss.kind).")},
    {CHOICE("loss.kind", loss.kind, loss_kind_names, LOSS_COUNT_,
            "A kernel for each operation in fp32 (parts), or PyTorch's of fp32 or 16-bit logits "
            "(eager, eager-16bit); one that leaves the gradient in the logits' place (fused); from "
            "the logits in the backward pass, beside them (recomputed, torch.compile's) or over "
            "them (in-place); by chunks of tokens, whose logits come again (chunked, TRL's) or "
            "whose gradients come at once (linear, Liger's); or within products that write no "
            "logits (cut)."),
     .standard = "parts"},
    {NAMES("loss.kinds", losses, loss_kind_names, LOSS_COUNT_,
           "What else it has: others that a scenario's loss.kind may be."),
     .is_optional = true, .note = "nothing else"},
    {COUNT("loss.chunk", loss.chunk, 1, 1000000000, "Tokens of a chunk, where loss.kind has any."),
     .is_optional = true, .note = "256 of chunked, of linear as Liger has it"},
    {BOOL("loss.gathers_vocabulary", loss.gathers_vocabulary,
          "Ranks of tp gather the logits of the whole vocabulary; else each keeps its part, and "
          "they exchange maxima and sums."),
     .standard = "false"},
    {BOOL("loss.fp32_logits", loss.has_fp32_logits,
          "The model returns logits in fp32, of which the eager loss keeps nothing but the "
          "log-softmax; else they stay in the precision of training beside it."),
     .standard = "false"},
    {BOOL("loss.fuses_fp32", loss.fuses_fp32,
          "Of the eager loss a compiler of the whole step computes what is in fp32 where it is "
          "read: logits and their gradient alone are held. In memory: no step moves."),
     .standard = "false"},

    {SECTION("metrics", "What is computed of the logits to be logged.")},
    {COUNT("metrics.losses", metric_losses, 0, 10,
           "Cross-entropies of each microbatch in fp32, beside the loss: of training metrics."),
     .standard = "0"},

    {SECTION("fp8", "Training in fp8, mxfp8 or nvfp4: the products of linear layers."),
     .applies = has_low_precision, .note = "nothing of fewer than 16 bits"},
    {SECTION("fp8.gemms", "Which of a layer's products have fewer than 16 bits.")},
    {BOOL("fp8.gemms.forward", low.in_forward, "The forward product."), .standard = "true"},
    {BOOL("fp8.gemms.dgrad", low.in_dgrad, "The product of the input's gradient."),
     .standard = "true"},
    {BOOL("fp8.gemms.wgrad", low.in_wgrad, "The product of the weight's gradient."),
     .standard = "true"},
    {CHOICE("fp8.recipe", low.recipe, scaling_recipe_names, RECIPE_COUNT_,
            "The scale of a tensor in fp8: from steps before (delayed), from a pass that finds the "
            "largest value (current), one a block (blockwise), or one a row or column, with "
            "products rescaled in the backward pass (rowwise); mxfp8 and nvfp4 have their own."),
     .standard = "delayed"},
    {QUANTITY("fp8.column_rate", low.column_rate, DIM_FRACTION, 0.01, 1.0,
              "With scales of rows: rate of the kernels that convert along columns, and so turn "
              "the tensor, over that of others that stream memory."),
     .standard = "1"},
    {QUANTITY("fp8.block_rate", low.block_rate, DIM_FRACTION, 0.01, 1.0,
              "Rate of the kernels that convert by scales of blocks (mxfp8, nvfp4), over that of "
              "others that stream memory."),
     .standard = "1"},
    {BOOL("fp8.hadamard", low.transforms,
          "With nvfp4 what weight gradients read is transformed by Hadamard matrices first, so its "
          "scale is not that of the values that a norm or an activation writes, and each "
          "direction is converted by a kernel of its own."),
     .standard = "true"},
    {CHOICE("fp8.amax", low.amax, amax_names, AMAX_COUNT_,
            "With delayed scaling: ranks that agree on the largest values after the forward and "
            "the backward pass of each microbatch: none (own), those of tensor parallelism, or all "
            "of a stage."),
     .standard = "own"},
    {CHOICE("fp8.weights", low.weights, weight_conversion_names, WEIGHTS_COUNT_,
            "Weights are converted per-microbatch; per-step, and kept beside the 16-bit ones; or "
            "stored, without 16-bit ones (nvfp4: as per-step)."),
     .standard = "per-microbatch"},
    {BOOL(
         "fp8.keeps_transposes", low.keeps_transposes,
         "Where products want weights transposed (Hopper, one scale a tensor), per-step and stored "
         "weights are kept both ways; else a kernel transposes them for each backward pass."),
     .standard = "true"},
    {SECTION("fp8.fuses", "Which kernels write their result converted.")},
    {BOOL("fp8.fuses.norm", low.fuses_norm, "Norms write it so; mxfp8 only with norm_blocks."),
     .standard = "false"},
    {BOOL("fp8.fuses.norm_blocks", low.fuses_norm_blocks,
          "With fp8.fuses.norm: norms find scales of blocks (mxfp8), too, as cuDNN's do."),
     .standard = "false"},
    {BOOL("fp8.fuses.activation", low.fuses_activation, "SwiGLU and GELU write it so."),
     .standard = "false"},
    {BOOL("fp8.keeps_inputs", low.keeps_inputs,
          "Inputs are kept converted for the product of the weight's gradient."),
     .standard = "false"},
    {BOOL("fp8.gathers_parameters", low.gathers_parameters,
          "ZeRO and FSDP gather linear weights converted; in fp8 only, as scales of blocks belong "
          "to one direction."),
     .standard = "false"},
    {BOOL("fp8.gathers_activations", low.gathers_activations,
          "Sequence parallelism gathers what linear layers read converted."),
     .standard = "false"},
    {BOOL("fp8.attention", low.attends,
          "Fused attention multiplies in fp8, too, by the GPU's kernel attention.cudnn_fp8."),
     .standard = "false"},
    {BOOL("fp8.attention_backward", low.attends_backward,
          "With fp8.attention: its backward pass does, too."),
     .standard = "true"},
    {BOOL("fp8.attention_skips_window", low.skips_window,
          "And that pass goes through none of the keys that a window hides."),
     .standard = "true"},
    {COUNT("fp8.first_layers", low.first_layers, 0, 10000,
           "First layers of the decoder that stay in 16 bits, attention and weights too."),
     .standard = "0"},
    {COUNT("fp8.last_layers", low.last_layers, 0, 10000, "And last ones."), .standard = "0"},
    {BOOL("fp8.stores_frozen", low.stores_frozen,
          "Weights of layers that lora does not train are converted once and kept so, and no "
          "others beside. In memory: no step moves."),
     .standard = "false"},
    {BOOL("fp8.head", low.projects_head,
          "The logits' products have fewer than 16 bits, too, as those of linear layers have."),
     .standard = "false"},

    {SECTION("experts", "How tokens reach experts.")},
    {COUNT("experts.launches", expert_launches, 0, 10000,
           "Kernels of a few microseconds each that route and sort a layer's tokens, forward and "
           "backward each."),
     .standard = "0"},
    {COUNT("experts.streams", expert_streams, 1, 128,
           "Streams over which the products of experts are dealt where each has its own kernel."),
     .standard = "4",
     .source = "TransformerEngine, NVTE_COMPUTE_STREAMS of common/util/multi_stream.cpp"},
    {QUANTITY("experts.per_tensor", expert_tensor_s, DIM_SECONDS, 0.0, 0.1,
              "What the host takes, besides host.per_kernel, to prepare one expert's product or "
              "conversion, unless fusion.experts."),
     .standard = "0 s"},
    {QUANTITY("experts.synchronisation", expert_synchronisation_s, DIM_SECONDS, 0.0, 1.0,
              "For how long a layer's forward stands while the host reads how many tokens each "
              "expert has (dropless routing) and launches again."),
     .standard = "0 s"},
    {CHOICE("experts.dispatch", dispatch, exchange_format_names, EXCHANGE_COUNT_,
            "What tokens are sent to experts in when training in fewer than 16 bits."),
     .standard = "bf16"},
    {CHOICE("experts.exchange", exchange, exchange_kind_names, EXCHANGE_KIND_COUNT_,
            "A token is sent once for each of its experts (copies), or once to each GPU and node "
            "that has any of them (tokens: DeepEP, HybridEP)."),
     .standard = "copies"},
    {BOOL(
         "experts.pads_to_capacity", pads_to_capacity,
         "With a capacity (routing.capacity_factor) each expert's rows are padded to it, which are "
         "computed and exchanged (GShard's einsum, DeepSpeed); else tokens beyond are dropped and "
         "nothing is padded (Megatron, unless it is told to)."),
     .standard = "true"},
    {QUANTITY(
         "experts.per_exchange", exchange_start_s, DIM_SECONDS, 0.0, 0.1,
         "Where experts.exchange is tokens: what an exchange takes before it sends (its kernels, "
         "the sizes it tells the others)."),
     .standard = "0 s"},
    {QUANTITY("experts.per_rank", exchange_rank_s, DIM_SECONDS, 0.0, 0.01,
              "The same for each rank that takes part: each tells the others when it is there and "
              "done."),
     .standard = "0 s"},
    {CHOICE("experts.combine", combine, exchange_format_names, EXCHANGE_COUNT_,
            "What experts' results are sent back in when training in fewer than 16 bits."),
     .standard = "bf16"},

    {SECTION("host", "What the CPU does for a step."), .check = check_graphs},
    {QUANTITY("host.per_kernel", host_per_kernel_s, DIM_SECONDS, 0.0, 0.1,
              "CPU time to launch a kernel; short kernels wait when the host's lead is used up."),
     .standard = "0 s"},
    {QUANTITY("host.per_product", host_per_product_s, DIM_SECONDS, 0.0, 0.1,
              "What the host takes, besides host.per_kernel, to call a product that is not of "
              "experts: a module of the framework."),
     .standard = "0 s"},
    {BOOL("host.blocking", is_blocking,
          "The host waits for each kernel before it launches the next: CUDA_LAUNCH_BLOCKING=1."),
     .standard = "false"},
    {QUANTITY("host.per_step", host_per_step_s, DIM_SECONDS, 0.0, 1e4,
              "CPU time of a step during which the GPU waits: optimizer, logging, batches."),
     .standard = "0 s"},
    {NAMES("host.graphs", graphs, graph_part_names, GRAPH_PART_COUNT_,
           "What is captured as CUDA graphs, whose kernels do not wait for the host: parts of a "
           "layer, layers, or the iteration (all but the optimizer, with per_replay for "
           "per_step)."),
     .standard = "[none]"},
    {QUANTITY("host.per_replay", host_per_replay_s, DIM_SECONDS, 0.0, 1e4,
              "CPU time of a step during which the GPU waits where the iteration is one graph: its "
              "launch, the batch's copy, the optimizer."),
     .standard = "1 ms", .is_assumed = true,
     .source = "a guess, of one launch and the optimizer's few: no idle time of a replayed step "
               "is published"},
    {QUANTITY("host.update", host_update_bytes_per_s, DIM_BYTES_PER_S, 1e6, 1e15,
              "Bytes of optimizer states, read and written, that the CPU updates in a second of a "
              "GPU's offloaded share."),
     .standard = "25 GB/s", .is_assumed = true,
     .source = "half of a GPU's share of memory bandwidth in a node of two CPUs with eight "
               "DDR4-3200 channels"},

    {SECTION("launch_queue", "How far the host may be ahead of the GPU.")},
    {COUNT("launch_queue.launches", host_queue, 1, 65536, "Launches that may be pending."),
     .standard = "1000", .read = read_launches,
     .source = "CUDA's, of a stream, as measured by forums.developer.nvidia.com/t/68937, "
               "December 2018"},
    {BOOL("launch_queue.waits_for_p2p", waits_for_p2p,
          "After messages between stages the host waits until the GPU is idle."),
     .standard = "false"},

    {SECTION("gemm", "Products within a step.")},
    {QUANTITY("gemm.derate", gemm_derate, DIM_FRACTION, 0.001, 1.0,
              "Their rate over that of the isolated benchmark."),
     .standard = "1"},
    {SECTION("memory_kernels", "Kernels that stream memory: elementwise ones, norms, optimizer.")},
    {QUANTITY("memory_kernels.derate", memory_derate, DIM_FRACTION, 0.001, 1.0,
              "Their rate over that of the isolated benchmark."),
     .standard = "1"},
    {QUANTITY("memory_kernels.strided", strided_share, DIM_FRACTION, 0.001, 1.0,
              "Of that rate, what eager kernels reach whose operands are halves of rows, broadcast "
              "along them or of two types: clamped gates, biases of experts, rotary embeddings."),
     .standard = "1"},
    {SECTION("attention_kernels", "Kernels of fused attention.")},
    {QUANTITY("attention_kernels.derate", attention_derate, DIM_FRACTION, 0.001, 1.0,
              "Their rate over that of the isolated benchmark."),
     .standard = "1"},
    {SECTION("scan_kernels", "Kernels of scans by chunks (state-space, delta rule).")},
    {QUANTITY("scan_kernels.compute", scan.compute_share, DIM_FRACTION, 0.001, 1.0,
              "Of the peak of 16 bits, what their products reach."),
     .standard = "0.88", .is_assumed = true, .source = SCAN_SOURCE},
    {QUANTITY("scan_kernels.memory", scan.memory_share, DIM_FRACTION, 0.001, 1.0,
              "Of the rate of other kernels that stream memory, what theirs reach."),
     .standard = "0.57", .is_assumed = true, .source = SCAN_SOURCE},
    {QUANTITY("scan_kernels.wide_gates", scan.wide_derate, DIM_FRACTION, 0.001, 1.0,
              "Their rate where each value of the keys has a gate, over that of a gate a head."),
     .standard = "0.71", .is_assumed = true, .source = SCAN_SOURCE},
    {SECTION("sparse_kernels", "Kernels of attention over keys that an index chose.")},
    {QUANTITY("sparse_kernels.forward", sparse.forward_share, DIM_FRACTION, 0.001, 1.0,
              "Of the peak of 16 bits, what attention's products reach."),
     .standard = "0.65", .is_assumed = true, .source = SPARSE_SOURCE},
    {QUANTITY("sparse_kernels.backward", sparse.backward_share, DIM_FRACTION, 0.001, 1.0,
              "The same of its backward pass."),
     .standard = "0.3", .is_assumed = true, .source = SPARSE_BACKWARD},
    {QUANTITY("sparse_kernels.index", sparse.index_share, DIM_FRACTION, 0.001, 1.0,
              "The same of an index's scores, and of its loss."),
     .standard = "0.5", .is_assumed = true, .source = SPARSE_ASSUMED},
    {QUANTITY("sparse_kernels.memory", sparse.memory_share, DIM_FRACTION, 0.001, 1.0,
              "Of the rate of other kernels that stream memory, what gathering keys reaches."),
     .standard = "1", .is_assumed = true, .source = SPARSE_ASSUMED},

    {SECTION("memory", "What lies in a GPU's memory beside the tensors of the model."),
     .moves = SCHEMA_MOVES_NO_STEP},
    {QUANTITY("memory.overhead", memory.overhead_bytes, DIM_BYTES, 0.0, 1e15,
              "A lump, besides the following."),
     .standard = "0 B"},
    {QUANTITY("memory.context", memory.context_bytes, DIM_BYTES, 0.0, 1e12,
              "CUDA's context, kernels, workspaces of libraries."),
     .standard = "0 B"},
    {QUANTITY("memory.communicator", memory.communicator_bytes, DIM_BYTES, 0.0, 1e12,
              "Buffers of the collective library for each group that a GPU is in."),
     .standard = "0 B"},
    {QUANTITY("memory.fragmentation", memory.fragmentation, DIM_FRACTION, 0.0, 1.0,
              "How much more the allocator reserves than is allocated."),
     .standard = "0"},
    {CHOICE("memory.backward_gradients", memory.backward_gradients, copy_names, COPY_COUNT,
            "What a backward pass writes, of all parameters, before it is added to the gradients."),
     .among = STORED | 1u << PRECISION_COUNT_, .standard = "none"},
    {CHOICE("memory.step_gradients", memory.step_gradients, copy_names, COPY_COUNT,
            "A copy of the gradients' shard that the update reads."),
     .among = STORED | 1u << PRECISION_COUNT_, .standard = "none"},
    {BOOL("memory.weights_beside_master", memory.has_weights_beside_master,
          "Zero 3 keeps the shard that is trained beside its master; else the master only."),
     .standard = "true"},
    {BOOL("memory.keeps_every_second_product", memory.keeps_every_second_product,
          "Selective recomputation keeps the outputs of every second product, and attention's, "
          "and nothing else."),
     .standard = "false"},
    {BOOL("memory.unread_product", memory.keeps_unread_product,
          "Of every second product's output that of the MLP's last is kept, too, which nothing "
          "reads, as where layers are not compiled."),
     .standard = "false"},
    {BOOL("memory.stage_outputs", memory.keeps_stage_outputs,
          "Stages of a pipeline keep what they return, logits and tensors that are sent, and the "
          "gradients of what they got, until the step ends, and have buffers for what they receive "
          "of each microbatch; else what they send and receive is there while it is needed."),
     .standard = "false"},
    {BOOL("memory.frees_gradients", memory.frees_gradients,
          "With zero 2 or 3 in a pipeline: whole gradients of a piece of the model are there from "
          "its first backward pass until they are reduced after its last, beside the shards; else "
          "all of them, and no shards, in buffers that stay."),
     .standard = "false"},
    {BOOL("memory.loss_apart", memory.is_loss_apart,
          "What the forward pass of a layer needed lies free between tensors that are kept, too "
          "small for the loss's, which come on top; else memory.fragmentation has it."),
     .standard = "false"},
    {BOOL("memory.repeats_kv", memory.repeats_kv,
          "Keys and values are repeated for all heads of queries before the core of attention, and "
          "are kept and gathered so. In memory: no step moves."),
     .standard = "false"},
    {BOOL("memory.keeps_qkv", memory.keeps_qkv,
          "Full recomputation keeps queries, keys and values beside a layer's input, as a policy "
          "that saves some products. In memory: no step moves."),
     .standard = "false"},
    {BOOL("memory.expert_results", memory.keeps_expert_results,
          "Experts' results are kept for the gradient of the router's weights; else these are "
          "applied before the experts' second matrix."),
     .standard = "true"},
    {CHOICE("memory.activation_input", memory.activation_input, kept_input_names, KEPT_INPUT_COUNT_,
            "What SwiGLU or GELU reads is kept as computed, or in fp8: a pass each way more."),
     .standard = "as-computed"},
    {COUNT("memory.bucket_count", memory.bucket_count, 0, 100,
           "Buffers of the bucket's size that live through the step."),
     .standard = "0"},

    {SECTION("checkpoint", "How it writes checkpoints.")},
    {CHOICE("checkpoint.writers", checkpoint_writers, writers_names, WRITERS_COUNT_,
            "Of ranks that hold the same parameters the first writes everything (first), each what "
            "it alone holds and the first the rest (holders), or all an equal part (shared)."),
     .standard = "shared"},
    {CHOICE("checkpoint.copy", checkpoint_copy, checkpoint_copy_names, COPY_COUNT_,
            "An asynchronous checkpoint is copied to the host's memory while training waits "
            "(at-once), or beside the next step, which waits for it before parameters change."),
     .standard = "at-once"},
    {BOOL("checkpoint.weights_beside_master", checkpoint_has_weights,
          "Zero 3 saves the weights in 16 bits beside their master, where it has both; else the "
          "master only."),
     .standard = "true"},
    {QUANTITY("checkpoint.serialise", checkpoint_serialise_bytes_per_s, DIM_BYTES_PER_S, 1e3, 1e15,
              "Rate at which a rank makes a file of its part, as it is written."),
     .is_optional = true, .note = "as fast as it is written"},
    {QUANTITY(
         "checkpoint.staging", checkpoint_staging_bytes_per_s, DIM_BYTES_PER_S, 1e6, 1e15,
         "Rate at which a GPU's part of a checkpoint goes to its host's memory, or comes back, "
         "where that is not pinned: the driver copies pageable memory through a buffer of its "
         "own, 6 times slower for one GPU (https://github.com/microsoft/DeepSpeed/pull/5301)."),
     .is_optional = true, .note = "pinned memory: the host link's"},
    {QUANTITY("checkpoint.node_staging", checkpoint_node_staging_bytes_per_s, DIM_BYTES_PER_S, 1e6,
              1e15,
              "The same of all GPUs of a node together, which share their host's memory and CPUs; "
              "each has an equal part."),
     .is_optional = true, .note = "GPUs do not hinder each other"},
    {QUANTITY("checkpoint.coordinate", checkpoint_coordinate_s, DIM_SECONDS, 0.0, 1e3,
              "What each rank of the job adds to the time in which all agree on who writes what, "
              "before any file is written."),
     .standard = "0 s"},
};
const struct schema software_schema = SCHEMA_OF("software", "software.", rows);

bool software_read(const struct doc_node *node, struct software *software,
                   struct assumptions *assumptions, struct diag *diag)
{
    *software = (struct software){.name = "inline", .framework = "", .place = node->place};
    software->low.is_known = doc_find(node, "fp8") != NULL;
    return schema_read_document(&software_schema, node, software, assumptions, diag);
}

static bool read_object(const struct doc_node *node, void *object, struct assumptions *assumptions,
                        struct diag *diag)
{
    return software_read(node, object, assumptions, diag);
}
const struct doc_reader software_reader = {sizeof(struct software), read_object};
