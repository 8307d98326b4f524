#include "support/memory_case.h"

#include "base/check.h"

struct model memory_case_gpt3(void)
{
    return (struct model){
        .name = "gpt3-175b",
        .layers = 96,
        .hidden = 12288,
        .ffn_hidden = INT64_C(4) * 12288,
        .heads = 96,
        .kv_heads = 96,
        .head_dim = 128,
        .vocab = 51200,
        .max_positions = 2048,
        .mlp = MLP_GELU,
        .norm = NORM_LAYERNORM,
        .positions = POSITION_LEARNED,
        .has_biases = true,
        .has_tied_embeddings = true,
        .has_dropout = true,
    };
}

const struct llama_shape llama3_8b = {32, 4096, 32, 14336};
const struct llama_shape llama3_70b = {80, 8192, 64, 28672};
const struct llama_shape llama3_405b = {126, 16384, 128, 53248};

static struct model llama3(struct llama_shape shape)
{
    return (struct model){
        .name = "llama3",
        .layers = shape.layers,
        .hidden = shape.hidden,
        .ffn_hidden = shape.ffn,
        .heads = shape.heads,
        .kv_heads = 8,
        .head_dim = 128,
        .vocab = 128256,
        .max_positions = 8192,
        .mlp = MLP_SWIGLU,
        .norm = NORM_RMSNORM,
        .positions = POSITION_ROTARY,
    };
}

void memory_case_cut(struct memory_case *c, struct memory_cut cut)
{
    struct parallel *parallel = &c->scenario.parallel;
    const int64_t chunks = cut.pp * cut.virtual_stages;
    sim_assert(chunks <= MEMORY_CASE_CHUNKS_MAX);
    parallel->tp = cut.tp;
    parallel->cp = 1;
    parallel->pp = cut.pp;
    parallel->dp = cut.dp;
    parallel->ep = 1;
    parallel->etp = cut.tp;
    parallel->zero = cut.zero;
    parallel->zero_group = cut.dp;
    parallel->virtual_stages = cut.virtual_stages;
    parallel->schedule = cut.virtual_stages > 1 ? SCHEDULE_INTERLEAVED : SCHEDULE_1F1B;
    parallel->layers_per_chunk = c->layers;
    const int64_t layers = c->scenario.model.layers;
    for (int64_t i = 0; i < chunks; i++) {
        c->layers[i] = layers / chunks + (i < layers % chunks ? 1 : 0);
    }
    c->scenario.gpus = cut.tp * cut.pp * cut.dp;
    c->scenario.batch.microbatches = cut.microbatches;
    c->scenario.batch.global = cut.microbatches * cut.dp * c->scenario.batch.micro;
}

void memory_case_init(struct memory_case *c, struct model model, int64_t sequence_length)
{
    *c = (struct memory_case){0};
    c->scenario.model = model;
    model_finish(&c->scenario.model);
    c->scenario.optimizer =
        (struct optimizer){STATE_FP32, STATE_FP32, STATE_FP32, true, OPTIMIZER_ADAM, {0}};
    c->scenario.software.memory = (struct software_memory){
        .backward_gradients = PRECISION_COUNT_,
        .step_gradients = PRECISION_COUNT_,
        .has_weights_beside_master = true,
        .keeps_expert_results = true,
    };
    c->scenario.precision = PRECISION_FP16;
    c->scenario.software.attention = ATTENTION_UNFUSED;
    c->scenario.software.gradient_precision = PRECISION_FP32;
    c->scenario.software.bucket_bytes = 160e6;
    c->scenario.software.fsdp_prefetch = 1;
    c->scenario.gpu.memory_bytes = 80e9;
    c->scenario.cluster.gpus_per_node = 8;
    c->scenario.cluster.domain_nodes = 1;
    c->scenario.batch.micro = 1;
    c->scenario.batch.sequence_length = sequence_length;
    memory_case_cut(c, (struct memory_cut){1, 1, 1, 0, 1, 1});
}

void memory_case_llama(struct memory_case *c, struct llama_shape shape, int64_t sequence_length)
{
    memory_case_init(c, llama3(shape), sequence_length);
    c->scenario.precision = PRECISION_BF16;
    c->scenario.software.attention = ATTENTION_FA2;
}

void memory_case_context(struct memory_case *c, int64_t cp)
{
    struct parallel *parallel = &c->scenario.parallel;
    parallel->cp = cp;
    parallel->zero_group = cp * parallel->dp;
    c->scenario.gpus = parallel->tp * cp * parallel->pp * parallel->dp;
}

double memory_case_worst(const struct memory_case *c)
{
    return memory_check(&c->scenario).worst.total_bytes;
}

struct memory_use memory_case_use(const struct memory_case *c, int64_t stage)
{
    const struct memory_job job = memory_job_of(&c->scenario);
    return memory_of_stage(&job, stage);
}

struct memory_activations memory_case_activations(const struct memory_case *c, int64_t stage)
{
    const struct memory_job job = memory_job_of(&c->scenario);
    return memory_activations_of_stage(&job, stage);
}

double memory_case_layer_bytes(const struct memory_case *c)
{
    const struct memory_job job = memory_job_of(&c->scenario);
    return memory_layer_activation_bytes(&job);
}

double memory_case_parameters(const struct memory_case *c, int64_t stage)
{
    const struct memory_job job = memory_job_of(&c->scenario);
    return memory_stage_parameters(&job.split, stage);
}

double memory_case_expert_parameters(const struct memory_case *c, int64_t stage)
{
    const struct memory_job job = memory_job_of(&c->scenario);
    return memory_stage_expert_parameters(&job.split, stage);
}

double memory_case_checkpoint_bytes(const struct memory_case *c)
{
    const struct memory_job job = memory_job_of(&c->scenario);
    return memory_checkpoint_bytes(&job, NULL);
}
