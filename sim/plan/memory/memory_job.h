/* What of a job the memory of its GPUs depends on: of its model, layout, batch, training and
 * software, and of nothing else that a scenario has.
 *
 *     const struct memory_job job = memory_job_of(scenario);
 *     const struct memory_use use = memory_of_stage(&job, stage);
 *
 * A part of it is asked for where that is enough: the shape for tensors of a layer, the split for
 * parameters. What these structs point to is borrowed.
 */
#ifndef PLAN_MEMORY_MEMORY_JOB_H
#define PLAN_MEMORY_MEMORY_JOB_H

#include "input/gpu.h"
#include "input/software.h"

struct scenario;

/* A microbatch on one rank: what the tensors of all its layers have in common. */
struct memory_shape {
    const struct model *model;
    int64_t micro;           /* sequences */
    int64_t sequence_length; /* tokens */
    int64_t tp, cp;
    bool is_sequence_parallel;
    bool keeps_gathered;       /* what it gathered */
    bool is_fused;             /* attention */
    bool keeps_every_second;   /* product's output, where selective recomputation lets it */
    bool keeps_unread_product; /* of these one that nothing reads */
    bool keeps_expert_results; /* although nothing reads them */
    bool repeats_kv;           /* for all heads of queries */
    bool keeps_qkv;            /* beside the input of a layer that is recomputed whole */
    bool keeps_clamped;        /* gate and up, beside what was clamped */
    enum kept_input activation_input;
    enum context_kind context;
    uint32_t recomputed;   /* bits 1 << enum recompute_module: memory_recomputed_modules */
    uint32_t trained;      /* products that have a weight gradient, bits 1 << enum lora_target */
    double element_bytes;  /* of a value as it is computed */
    double input_bytes;    /* of one that only a weight gradient reads */
    double attended_bytes; /* of one that the core of attention reads */
    double copies;         /* of each token that experts have room for: a capacity's padding, too */
    double hot;            /* rows of the busiest rank's experts over those (plan/routing) */
};

/* Whose parameters, and how they are split over ranks. */
struct memory_split {
    const struct model *model;
    const struct parallel *parallel;
    const struct lora *lora;
    int64_t expert_copies; /* experts of a layer, redundant ones included */
};

struct memory_job {
    struct memory_shape shape;
    struct memory_split split;
    const struct batch *batch;
    const struct recompute *recompute;
    const struct optimizer *optimizer;
    const struct offload *offload;
    const struct software *software;
    enum precision precision;
    bool transposes_fp8; /* the GPU, while it reads */
    int64_t gpus;
};

/* The popularity of experts is drawn here, once. */
struct memory_job memory_job_of(const struct scenario *scenario);

/* The same without the shape of activations, for which it is drawn: for who asks for parameters. */
struct memory_job memory_job_of_states(const struct scenario *scenario);

#endif
