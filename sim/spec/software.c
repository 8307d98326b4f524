/* Reads a software profile, section by section. */
#include "spec/software.h"

#include "spec/section.h"

#include "base/arena.h"

/* ---- DEFAULTS of a software file: an effect that is not described is absent ---- */
static const struct software software_defaults = {
    .framework = "",
    .bucket_bytes = 160e6, /* 40 M fp32 gradients, Megatron-LM's default; an assumption */
    .fsdp_prefetch = 1,
    .gemm_derate = 1.0,
};

static void read_overlap(struct doc_map *map, struct software *software,
                         struct assumptions *assumptions)
{
    struct doc_map overlap;
    section_open(&overlap, map, "overlap", "software", assumptions);
    doc_get_bool(&overlap, "tp_backward", &software->overlaps_tp_backward);
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
    section_close(&interference, map);
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
    section_close(&gradients, map);
    software->gradient_precision = precisions[choice];
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
    section_close(&fusion, map);
}

static void read_costs(struct doc_map *map, struct software *software,
                       struct assumptions *assumptions)
{
    struct doc_map section;
    section_open(&section, map, "host", "software", assumptions);
    doc_get_quantity(&section, "per_kernel", DIM_SECONDS, 0.0, 0.1, &software->host_per_kernel_s);
    doc_get_quantity(&section, "per_step", DIM_SECONDS, 0.0, 1e4, &software->host_per_step_s);
    section_close(&section, map);

    section_open(&section, map, "gemm", "software", assumptions);
    doc_get_quantity(&section, "derate", DIM_FRACTION, 0.001, 1.0, &software->gemm_derate);
    section_close(&section, map);

    section_open(&section, map, "memory", "software", assumptions);
    doc_get_quantity(&section, "overhead", DIM_BYTES, 0.0, 1e15, &software->memory_overhead_bytes);
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
    read_overlap(&map, software, assumptions);
    read_data_parallel(&map, software, assumptions);
    read_fusion(&map, software, assumptions);
    read_costs(&map, software, assumptions);
    return doc_finish(&map);
}
