/* Reads a software profile, section by section. What a profile does not
 * describe is absent: the defaults stand in one struct at the top.
 */
#include "input/software.h"

#include "input/doc/section.h"

#include "base/arena.h"

const char *const scaling_recipe_names[RECIPE_COUNT_] = {"delayed", "current", "blockwise"};
const char *const weight_conversion_names[WEIGHTS_COUNT_] = {"per-microbatch", "per-step",
                                                             "stored"};

const char *const exchange_format_names[EXCHANGE_COUNT_] = {"bf16", "fp8"};
const char *const rotary_names[ROTARY_COUNT_] = {"fused", "eager", "complex"};
const char *const exchange_kind_names[EXCHANGE_KIND_COUNT_] = {"copies", "tokens"};
const char *const gradient_addition_names[ADDITION_COUNT_] = {"fused", "separate"};
const char *const shard_reduction_names[SHARD_REDUCTION_COUNT_] = {"reduce-scatter", "all-reduce"};
const char *const shard_gather_names[SHARD_GATHER_COUNT_] = {"all-gather", "broadcast"};
const char *const gather_unit_names[GATHER_UNIT_COUNT_] = {"layer", "tensor", "matrix"};

/* ---- DEFAULTS of a software file: an effect that is not described is absent ---- */
static const struct software software_defaults = {
    .framework = "",
    .bucket_bytes = 160e6, /* 40 M fp32 gradients, Megatron-LM's default; an assumption */
    .tp_pieces = 1,
    .fsdp_prefetch = 1,
    .host_queue = 1000,              /* CUDA's, of a stream, as measured by
                         * forums.developer.nvidia.com/t/68937, December 2018 */
    .host_update_bytes_per_s = 25e9, /* half of a GPU's share of memory bandwidth in a node of
                                      * two CPUs with eight DDR4-3200 channels; an assumption */
    .expert_streams = 4,             /* TransformerEngine, NVTE_COMPUTE_STREAMS of
                                      * common/util/multi_stream.cpp */
    .gemm_derate = 1.0,
    .memory_derate = 1.0,
    .attention_derate = 1.0,
    .nvlink_bandwidth = 1.0,
    .network_bandwidth = 1.0,
    .exchange_bandwidth = 1.0,
    .memory = {.backward_gradients = PRECISION_COUNT_,
               .step_gradients = PRECISION_COUNT_,
               .has_weights_beside_master = true,
               .keeps_expert_results = true},
    .low = {.in_forward = true, .in_dgrad = true, .in_wgrad = true},
};

/* Converted copies of a tensor: one along rows, one along columns. */
static const double CONVERTED_COPIES = 2.0;

/* Tokens sent to experts carry an fp32 scale for each 128 values (DeepEP). */
static const double DISPATCHED_FP8_BYTES = 1.0 + 4.0 / 128.0;

bool software_has_precision(const struct software *software, enum precision precision)
{
    return !precision_is_low(precision) || software->low.is_known;
}

bool software_scales_first(const struct software *software, enum precision precision)
{
    return precision == PRECISION_NVFP4 ||
           (precision == PRECISION_FP8 && software->low.recipe == RECIPE_CURRENT);
}

static double bytes_if(bool is_converted, enum precision precision)
{
    return is_converted ? precision_operand_bytes(precision) : (double)precision_bytes(precision);
}

double software_kept_bytes(const struct software *software, enum precision precision)
{
    return bytes_if(software->low.keeps_inputs && software->low.in_wgrad, precision);
}

double software_weight_bytes(const struct software *software, enum precision precision)
{
    const double plain = (double)precision_bytes(precision);
    if (!precision_is_low(precision)) {
        return plain;
    }
    const double copies = CONVERTED_COPIES * precision_operand_bytes(precision);
    switch ((enum weight_conversion)software->low.weights) {
    case WEIGHTS_EACH_STEP:
        return plain + copies;
    case WEIGHTS_STORED:
        return precision == PRECISION_NVFP4 ? plain + copies : copies;
    default:
        return plain;
    }
}

double software_gather_bytes(const struct software *software, enum precision precision)
{
    return bytes_if(software->low.gathers_parameters && precision == PRECISION_FP8, precision);
}

double software_activation_gather_bytes(const struct software *software, enum precision precision)
{
    return bytes_if(software->low.gathers_activations, precision);
}

static double expert_bytes(uint32_t format, enum precision precision)
{
    const bool is_converted = format == EXCHANGE_FP8 && precision_is_low(precision);
    return is_converted ? DISPATCHED_FP8_BYTES : (double)precision_bytes(precision);
}

double software_dispatch_bytes(const struct software *software, enum precision precision)
{
    return expert_bytes(software->dispatch, precision);
}

double software_combine_bytes(const struct software *software, enum precision precision)
{
    return expert_bytes(software->combine, precision);
}

static void read_overlap(struct doc_map *map, struct software *software,
                         struct assumptions *assumptions)
{
    struct doc_map overlap;
    section_open(&overlap, map, "overlap", "software", assumptions);
    doc_get_bool(&overlap, "tp_backward", &software->overlaps_tp_backward);
    doc_get_count(&overlap, "tp_pieces", 1, 64, &software->tp_pieces);
    doc_get_bool(&overlap, "dp_gradients", &software->overlaps_dp_gradients);
    doc_get_bool(&overlap, "dp_parameters", &software->overlaps_dp_parameters);
    doc_get_bool(&overlap, "p2p", &software->overlaps_p2p);
    section_close(&overlap, map);

    struct doc_map interference;
    section_open(&interference, map, "interference", "software", assumptions);
    doc_get_quantity(&interference, "nvlink", DIM_FRACTION, 0.0, 0.9,
                     &software->nvlink_interference);
    doc_get_quantity(&interference, "network", DIM_FRACTION, 0.0, 0.9,
                     &software->network_interference);
    software->expert_interference = software->network_interference;
    doc_get_quantity(&interference, "experts", DIM_FRACTION, 0.0, 0.9,
                     &software->expert_interference);
    doc_get_count(&interference, "sms", 0, 1000, &software->reserved_sms);
    section_close(&interference, map);

    struct doc_map communication;
    section_open(&communication, map, "communication", "software", assumptions);
    doc_get_quantity(&communication, "nvlink", DIM_FRACTION, 0.01, 1.0,
                     &software->nvlink_bandwidth);
    doc_get_quantity(&communication, "network", DIM_FRACTION, 0.01, 1.0,
                     &software->network_bandwidth);
    doc_get_quantity(&communication, "experts", DIM_FRACTION, 0.01, 1.0,
                     &software->exchange_bandwidth);
    section_close(&communication, map);

    struct doc_map jitter;
    section_open(&jitter, map, "jitter", "software", assumptions);
    doc_get_quantity(&jitter, "spread", DIM_FRACTION, 0.0, 1.0, &software->jitter_spread);
    section_close(&jitter, map);
}

static void read_data_parallel(struct doc_map *map, struct software *software,
                               struct assumptions *assumptions)
{
    struct doc_map bucket;
    section_open(&bucket, map, "bucket", "software", assumptions);
    if (doc_take(&bucket, "size") == NULL) {
        assumptions_add(assumptions, &(struct assumption){.name = "software.bucket.size",
                                                          .value = "160 MB",
                                                          .reason = DEFAULT_REASON});
    }
    doc_get_quantity(&bucket, "size", DIM_BYTES, 1.0, 1e15, &software->bucket_bytes);
    section_close(&bucket, map);

    struct doc_map fsdp;
    section_open(&fsdp, map, "fsdp", "software", assumptions);
    doc_get_count(&fsdp, "prefetch", 0, 1000, &software->fsdp_prefetch);
    doc_get_choice(&fsdp, "gathers", gather_unit_names, GATHER_UNIT_COUNT_,
                   &software->fsdp_gathers);
    doc_get_count(&fsdp, "gather_passes", 0, 100, &software->fsdp_gather_passes);
    doc_get_quantity(&fsdp, "gradient_copies", DIM_BYTES, 0.0, 1000.0,
                     &software->fsdp_gradient_copies);
    doc_get_quantity(&fsdp, "per_call", DIM_SECONDS, 0.0, 1.0, &software->fsdp_per_call_s);
    doc_get_quantity(&fsdp, "per_rank", DIM_SECONDS, 0.0, 0.1, &software->fsdp_per_rank_s);
    section_close(&fsdp, map);
}

/* tf32 is a way to multiply, not one to store, so it is not offered. */
static void read_gradients(struct doc_map *map, struct software *software,
                           struct assumptions *assumptions)
{
    static const char *const names[] = {"fp32", "fp16", "bf16"};
    static const enum precision precisions[] = {PRECISION_FP32, PRECISION_FP16, PRECISION_BF16};
    struct doc_map gradients;
    uint32_t choice = 0;
    section_need(&gradients, map, "gradients", "software", assumptions);
    section_need_choice(&gradients, "precision", names, 3, &choice);
    doc_get_choice(&gradients, "accumulation", gradient_addition_names, ADDITION_COUNT_,
                   &software->gradient_addition);
    section_close(&gradients, map);
    software->gradient_precision = precisions[choice];
}

static void read_zero(struct doc_map *map, struct software *software,
                      struct assumptions *assumptions)
{
    struct doc_map zero;
    section_open(&zero, map, "zero", "software", assumptions);
    doc_get_choice(&zero, "gradients", shard_reduction_names, SHARD_REDUCTION_COUNT_,
                   &software->zero_gradients);
    doc_get_choice(&zero, "parameters", shard_gather_names, SHARD_GATHER_COUNT_,
                   &software->zero_parameters);
    section_close(&zero, map);
}

static void read_fusion(struct doc_map *map, struct software *software,
                        struct assumptions *assumptions)
{
    struct doc_map fusion;
    section_open(&fusion, map, "fusion", "software", assumptions);
    doc_get_bool(&fusion, "bias_activation", &software->fuses_bias_activation);
    doc_get_bool(&fusion, "dropout_add", &software->fuses_dropout_add);
    doc_get_bool(&fusion, "norm", &software->fuses_norm);
    doc_get_bool(&fusion, "softmax", &software->fuses_softmax);
    doc_get_bool(&fusion, "loss", &software->fuses_loss);
    doc_get_choice(&fusion, "rotary", rotary_names, ROTARY_COUNT_, &software->rotary);
    doc_get_bool(&fusion, "experts", &software->fuses_experts);
    section_close(&fusion, map);
}

static void read_low_precision(struct doc_map *map, struct software *software,
                               struct assumptions *assumptions)
{
    struct low_precision *low = &software->low;
    struct doc_map fp8;
    low->is_known = section_open(&fp8, map, "fp8", "software", assumptions);
    struct doc_map inner;
    section_open(&inner, &fp8, "gemms", "software.fp8", assumptions);
    doc_get_bool(&inner, "forward", &low->in_forward);
    doc_get_bool(&inner, "dgrad", &low->in_dgrad);
    doc_get_bool(&inner, "wgrad", &low->in_wgrad);
    section_close(&inner, &fp8);
    doc_get_choice(&fp8, "recipe", scaling_recipe_names, RECIPE_COUNT_, &low->recipe);
    doc_get_choice(&fp8, "weights", weight_conversion_names, WEIGHTS_COUNT_, &low->weights);
    section_open(&inner, &fp8, "fuses", "software.fp8", assumptions);
    doc_get_bool(&inner, "norm", &low->fuses_norm);
    doc_get_bool(&inner, "activation", &low->fuses_activation);
    section_close(&inner, &fp8);
    doc_get_bool(&fp8, "keeps_inputs", &low->keeps_inputs);
    doc_get_bool(&fp8, "gathers_parameters", &low->gathers_parameters);
    doc_get_bool(&fp8, "gathers_activations", &low->gathers_activations);
    section_close(&fp8, map);
}

static void read_experts(struct doc_map *map, struct software *software,
                         struct assumptions *assumptions)
{
    struct doc_map experts;
    section_open(&experts, map, "experts", "software", assumptions);
    doc_get_choice(&experts, "dispatch", exchange_format_names, EXCHANGE_COUNT_,
                   &software->dispatch);
    doc_get_choice(&experts, "combine", exchange_format_names, EXCHANGE_COUNT_, &software->combine);
    doc_get_choice(&experts, "exchange", exchange_kind_names, EXCHANGE_KIND_COUNT_,
                   &software->exchange);
    doc_get_count(&experts, "launches", 0, 10000, &software->expert_launches);
    doc_get_count(&experts, "streams", 1, 128, &software->expert_streams);
    doc_get_quantity(&experts, "per_tensor", DIM_SECONDS, 0.0, 0.1, &software->expert_tensor_s);
    doc_get_quantity(&experts, "synchronisation", DIM_SECONDS, 0.0, 1.0,
                     &software->expert_synchronisation_s);
    section_close(&experts, map);
}

/* The benchmark of a GPU may be of an older build of the same kernel. */
#define ATTENTION_DERATE_MAX 2.0
#define HOST_QUEUE_MAX 65536

static void read_derate(struct doc_map *map, const char *key, double max, double *derate,
                        struct assumptions *assumptions)
{
    struct doc_map section;
    section_open(&section, map, key, "software", assumptions);
    doc_get_quantity(&section, "derate", DIM_FRACTION, 0.001, max, derate);
    section_close(&section, map);
}

static void read_queue(struct doc_map *map, struct software *software,
                       struct assumptions *assumptions)
{
    struct doc_map queue;
    section_open(&queue, map, "launch_queue", "software", assumptions);
    doc_get_bool(&queue, "waits_for_p2p", &software->waits_for_p2p);
    if (doc_take(&queue, "launches") == NULL && software->host_per_kernel_s > 0.0) {
        assumptions_add(assumptions, &(struct assumption){.name = "software.launch_queue.launches",
                                                          .value = "1000",
                                                          .reason = DEFAULT_REASON});
    }
    doc_get_count(&queue, "launches", 1, HOST_QUEUE_MAX, &software->host_queue);
    section_close(&queue, map);
}

static void read_costs(struct doc_map *map, struct software *software,
                       struct assumptions *assumptions)
{
    struct doc_map section;
    section_open(&section, map, "host", "software", assumptions);
    doc_get_quantity(&section, "per_kernel", DIM_SECONDS, 0.0, 0.1, &software->host_per_kernel_s);
    doc_get_quantity(&section, "per_step", DIM_SECONDS, 0.0, 1e4, &software->host_per_step_s);
    doc_get_bool(&section, "graphs", &software->has_graphs);
    doc_get_bool(&section, "blocking", &software->is_blocking);
    if (doc_take(&section, "update") == NULL) {
        assumptions_add(assumptions, &(struct assumption){.name = "software.host.update",
                                                          .value = "25 GB/s",
                                                          .reason = DEFAULT_REASON});
    }
    doc_get_quantity(&section, "update", DIM_BYTES_PER_S, 1e6, 1e15,
                     &software->host_update_bytes_per_s);
    section_close(&section, map);

    read_queue(map, software, assumptions);
    read_derate(map, "gemm", 1.0, &software->gemm_derate, assumptions);
    read_derate(map, "memory_kernels", 1.0, &software->memory_derate, assumptions);
    read_derate(map, "attention_kernels", ATTENTION_DERATE_MAX, &software->attention_derate,
                assumptions);
}

/* "none" or a precision; *precision stays when the key is missing. */
static void read_copy(struct doc_map *memory, const char *key, uint32_t *precision)
{
    static const char *const names[] = {"none", "fp32", "fp16", "bf16"};
    static const enum precision precisions[] = {PRECISION_COUNT_, PRECISION_FP32, PRECISION_FP16,
                                                PRECISION_BF16};
    uint32_t choice = 0;
    if (doc_get_choice(memory, key, names, 4, &choice)) {
        *precision = precisions[choice];
    }
}

static void read_memory(struct doc_map *map, struct software *software,
                        struct assumptions *assumptions)
{
    struct software_memory *memory = &software->memory;
    struct doc_map section;
    section_open(&section, map, "memory", "software", assumptions);
    doc_get_quantity(&section, "overhead", DIM_BYTES, 0.0, 1e15, &memory->overhead_bytes);
    doc_get_quantity(&section, "context", DIM_BYTES, 0.0, 1e12, &memory->context_bytes);
    doc_get_quantity(&section, "communicator", DIM_BYTES, 0.0, 1e12, &memory->communicator_bytes);
    doc_get_quantity(&section, "fragmentation", DIM_FRACTION, 0.0, 1.0, &memory->fragmentation);
    doc_get_quantity(&section, "loss", DIM_BYTES, 0.0, 1000.0, &memory->loss_bytes);
    doc_get_count(&section, "bucket_count", 0, 100, &memory->bucket_count);
    doc_get_bool(&section, "weights_beside_master", &memory->has_weights_beside_master);
    doc_get_bool(&section, "keeps_every_second_product", &memory->keeps_every_second_product);
    doc_get_bool(&section, "expert_results", &memory->keeps_expert_results);
    static const char *const inputs[] = {"as-computed", "fp8"};
    uint32_t input = 0;
    doc_get_choice(&section, "activation_input", inputs, 2, &input);
    memory->keeps_activation_input_fp8 = input == 1;
    read_copy(&section, "backward_gradients", &memory->backward_gradients);
    read_copy(&section, "step_gradients", &memory->step_gradients);
    section_close(&section, map);
}

bool software_read(const struct doc_node *node, struct software *software,
                   struct assumptions *assumptions, struct diag *diag)
{
    *software = software_defaults;
    software->place = node->place;
    struct doc_map map;
    if (!doc_map_open(&map, node, diag)) {
        return false;
    }
    software->name = "inline";
    doc_get_text(&map, "software", &software->name);
    software->title = software->name;
    doc_get_text(&map, "title", &software->title);
    doc_get_text(&map, "framework", &software->framework);
    doc_get_count(&map, "year", 1990, 2100, &software->year);
    assumptions_take(assumptions, &map, "software");
    section_need_choice(&map, "attention", attention_names, ATTENTION_COUNT_, &software->attention);
    read_gradients(&map, software, assumptions);
    read_zero(&map, software, assumptions);
    read_overlap(&map, software, assumptions);
    read_data_parallel(&map, software, assumptions);
    read_fusion(&map, software, assumptions);
    read_low_precision(&map, software, assumptions);
    read_experts(&map, software, assumptions);
    read_costs(&map, software, assumptions);
    read_memory(&map, software, assumptions);
    return doc_finish(&map);
}
