/* Facts about sources of published runs that their rows do not carry, each
 * with the place where it stands.
 */
#include "lab/published/published_words.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

const struct platform_row published_platforms[] = {
    {"V100-16GB-SXM", "v100-100", "v100-sxm2-16gb", 4, 400, NULL},
    {"V100-32GB-SXM", "v100-100", "v100-sxm2-32gb", 4, 400, NULL},
    {"A100-40GB-SXM", "a100-40gb-1600", "a100-sxm4-40gb", 8, 1600, NULL},
    {"A100-80GB-SXM", "a100-80gb-1600", "a100-sxm4-80gb", 8, 1600, NULL},
    {"A100-80GB-PCIe", "a100-pcie-200", "a100-pcie-80gb", 1, 200, NULL},
    {"A800-80GB-SXM", "a100-80gb-1600", "a100-sxm4-80gb", 8, 1600,
     "cluster.scale_up.bandwidth=200 GB/s"},
    {"H100-80GB-SXM", "h100-3200", "h100-sxm5-80gb", 8, 3200, NULL},
    {"H100-96GB-HBM2e-500W", "h100-3200", "h100-96gb-hbm2e", 8, 3200, NULL},
    {"H200-141GB-SXM", "h200-3200", "h200-sxm-141gb", 8, 3200, NULL},
    {"H800-80GB-SXM", "h800-3200", "h800-sxm5-80gb", 8, 3200, NULL},
    {"GH200-96GB", "gh200-slingshot-800", "gh200-96gb", 4, 800, NULL},
    {"B200", "b200-3200", "b200-sxm", 8, 3200, NULL},
    {"B300", "b200-3200", "b300-sxm", 8, 6400, NULL},
    {"GB200", "gb200-64of72", "gb200-nvl72", 4, 1600, NULL},
    {"GB300", "gb200-64of72", "gb300-nvl72", 4, 3200, NULL},
};
const uint32_t published_platform_count = LENGTH(published_platforms);

const struct software_row published_profiles[] = {
    {"megatron", 0, "", "megatron-2021"},
    {"megatron", 2022, "", "megatron-2022"},
    {"megatron", 2023, "", "megatron-2023"},
    {"megatron", 2024, "", "megatron-2024"},
    {"megatron", 2025, "", "megatron-2025"},
    {"megatron", 2026, "", "megatron-2026"},
    {"megatron-deepspeed", 0, "", "megatron-deepspeed-2021"},
    {"megatron-deepspeed", 2022, "", "megatron-deepspeed-2022"},
    /* Its bf16 came with another optimizer: that of the 2022 profile. */
    {"megatron-deepspeed", 0, "bf16", "megatron-deepspeed-2022"},
    {"gpt-neox", 0, "", "gpt-neox-2022"},
    {"deepspeed-zero3", 0, "", "deepspeed-zero3-2021"},
    {"deepspeed-zero3", 2023, "", "deepspeed-zero3-2023"},
    {"fairscale", 0, "", "fairscale-2023"},
    {"internevo", 0, "", "internevo-2023"},
    {"llm-foundry-fsdp", 0, "", "llm-foundry-fsdp-2024"},
    {"torchtitan", 0, "", "torchtitan-2024"},
    {"torchtitan", 2025, "", "torchtitan-2025"},
    {"maxtext", 0, "", "maxtext-2025"},
    {"paxml", 0, "", "paxml-2024"},
    {"deepseek", 0, "", "deepseek-2024"},
    {"torch-fsdp", 0, "", "torch-fsdp-2024"},
    {"meta-llama3", 0, "", "meta-llama3-2024"},
    {"fms-fsdp", 0, "", "fms-fsdp-2024"},
    {"fms-fsdp-compiled", 0, "", "fms-fsdp-compiled-2024"},
};
const uint32_t published_profile_count = LENGTH(published_profiles);

/* NeMo and Megatron-Bridge train with Megatron-Core, llm-foundry with Composer. */
const char *const published_frameworks[][2] = {
    {"megatron-lm", "megatron"},      {"megatron-core", "megatron"},
    {"megatron-bridge", "megatron"},  {"nemo", "megatron"},
    {"nemo-launcher", "megatron"},    {"llm-foundry", "llm-foundry-fsdp"},
    {"composer", "llm-foundry-fsdp"}, {"fsdp", "torch-fsdp"},
    {"pytorch-fsdp", "torch-fsdp"},   {"deepspeed", "deepspeed-zero3"},
    {"zero-3", "deepspeed-zero3"},    {"neox", "gpt-neox"},
    {"automodel", "torch-fsdp"},      {"llama3", "meta-llama3"},
};
const uint32_t published_framework_count = LENGTH(published_frameworks);

/* Models that the columns do not describe: latent attention, width of heads, sinks, first dense
 * layers. By the beginning of the name. */
const char *const published_models[][2] = {
    {"DeepSeek-V3", "deepseek-v3"},          {"Kimi K2", "kimi-k2"},
    {"gpt-oss-120b", "gpt-oss-120b"},        {"Qwen3-30B-A3B", "qwen3-30b-a3b"},
    {"Qwen3-235B-A22B", "qwen3-235b-a22b"},  {"Grok-1", "grok-1"},
    {"Llama 4 Maverick", "llama4-maverick"},
};
const uint32_t published_model_count = LENGTH(published_models);

/* The first that fits. */
const struct source_row published_sources[] = {
    /* launcher_scripts/conf/training/gpt3 of NVIDIA/NeMo-Framework-Launcher at 80353286 (October
     * 2023): hidden_dropout and attention_dropout 0.1, masked_softmax_fusion, no key for flash
     * attention, which NeMo's GPT then leaves off. The table of results stood there unchanged at
     * 5aeb4ab8 (January 2023), beside a 5b.yaml with micro_batch_size 2 (and selective
     * recomputation of the first 0 layers). */
    {"NeMo launcher", "", "GPT-3 5B", "unfused", true, {"batch.micro=2"}, NULL},
    {"NeMo launcher", "", "", "unfused", true, {NULL}, NULL},
    /* NVIDIA's code for MLPerf overlaps whatever can be, before releases for others do:
     * overlap_p2p_comm and ub_tp_comm_overlap in conf/custom.yaml of gpt3 in
     * mlcommons/training_results_v3.1 at f33f9444, overlap_grad_sync and overlap_param_sync beside
     * them in 175b_mlperf.yaml of NVIDIA/NeMo-Framework-Launcher at 121c975d. */
    {"MLPerf",
     "megatron",
     "",
     NULL,
     false,
     {"software.overlap={tp_backward: true, dp_gradients: true, dp_parameters: true, p2p: true}"},
     NULL},
    /* Jean Zay's Omni-Path as measured: topologies/a100-jean-zay.yaml. */
    {"BigScience", "", "", NULL, false, {"cluster.nics.efficiency=0.21"}, NULL},
    /* IBM Cloud joins GPUs by RoCE (as topologies/nics/roce.yaml has it, without its rates, so that
     * these may be changed): https://research.ibm.com/blog/vela-ai-supercomputer-updates,
     * https://cloud.ibm.com/docs/vpc?topic=vpc-cluster-network-h100-profile. */
    {"IBM FSDP",
     "",
     "",
     NULL,
     false,
     {"cluster.nics.efficiency=0.87", "cluster.nics.round_latency=10 us"},
     NULL},
    /* nemo_megatron/gpt3_175b_hydra.yaml of NVIDIA/dgxc-benchmarking at 35a9aecc; of NeMo
     * 24.07 launcher_scripts/conf/training of NVIDIA/NeMo-Framework-Launcher at tag 24.07: gpt3
     * with hidden_dropout and attention_dropout 0.1, nemotron_340b.yaml with
     * activations_checkpoint_granularity selective. Its distributed fused Adam keeps beside bf16
     * weights only the lower 16 bits of the master's (store_param_remainders in setup_optimization
     * of nemo/collections/nlp/models/language_modeling/megatron_base_model.py, NVIDIA/NeMo at
     * 000316c8): 2 bytes, as a master of bf16 has. */
    {"DGXC", "megatron", "GPT-3 175B", NULL, true, {NULL}, NULL},
    {"NeMo 24", "", "GPT-3", NULL, true, {"optimizer.master=bf16"}, NULL},
    {"NeMo 24", "", "Nemotron-4 340B", NULL, false, {"optimizer.master=bf16"}, "core-attention"},
    {"NeMo 24", "", "", NULL, false, {"optimizer.master=bf16"}, NULL},
    /* paxml/configure.sh and paxml_mod_configs.py of NVIDIA/dgxc-benchmarking at 143b90dd: FSDP 1
     * between nodes, data parallelism there; and policy SAVE_DOT_ONLY, JAX's checkpoint_dots: the
     * results of matrix products are kept, all else, also fused attention, is computed again. 5B's
     * mesh in a node is [1, 8, 1], paxml/contrib/gpu/scripts_gpu/configs.py of google/paxml. */
    {"DGXC",
     "paxml",
     "GPT-3 5B",
     NULL,
     false,
     {"parallel.zero_group=8"},
     "norm, core-attention, activation"},
    /* local_scripts/megatron_gpt3_xl_mp8_dp8.sh of DS3Lab/Decentralized_FM_alpha at cb03043b:
     * --no-bias-dropout-fusion, and no --accumulate-allreduce-grads-in-fp32. */
    {"DT-FM Megatron",
     "",
     "",
     NULL,
     false,
     {"software.fusion.dropout_add=false", "software.gradients.precision=fp16"},
     NULL},
    /* DeepSpeed with a model of its own, modules/gpt_modules.py there: no dropout, only norms are
     * fused. CUDA_LAUNCH_BLOCKING was BigScience's, and is in none of its scripts. */
    {"DT-FM DeepSpeed PP",
     "",
     "",
     NULL,
     false,
     {"model.dropout=false", "software.host.blocking=false",
      "software.fusion={norm: true, source: modules/gpt_modules.py}"},
     NULL},
    /* The same model in dist_deepspeed_zero_s3.py there. */
    {"DT-FM ZeRO-3",
     "",
     "",
     NULL,
     false,
     {"model.dropout=false", "software.fusion={norm: true, source: modules/gpt_modules.py}"},
     NULL},
};
const uint32_t published_source_count = LENGTH(published_sources);

const char *const published_clusters[][2] = {
    {"DT-FM", "v100-ena-25"}, /* AWS p3.16xlarge, and p3.2xlarge of 1 GPU and 10 Gbps */
};
const uint32_t published_cluster_count = LENGTH(published_clusters);

const struct family_row published_families[] = {
    {"Nemotron", "layernorm", "rotary", false, 0}, {"gpt", "layernorm", "learned", true, 2022},
    {"mpt", "layernorm", "learned", true, 0},      {"llama", "rmsnorm", "rotary", false, 0},
    {"moe", "rmsnorm", "rotary", false, 0},
};
const uint32_t published_family_count = LENGTH(published_families);

const struct zero_row published_zero_words[] = {
    {"0", "", 0},
    /* FSDP's SHARD_GRAD_OP keeps a layer's parameters from its forward to its backward pass */
    {"2", "llm-foundry-fsdp", 3},
    {"1", "", 1},
    {"2", "", 2},
    {"3", "", 3},
    {"fsdp-full", "", 3},
    {"hsdp", "", 3},
    {"", "megatron-deepspeed", 1}, /* the fork's configurations use it */
    {"", "megatron", 0},
    {"", "fairscale", 0},
    {"", "deepspeed-zero3", 3},
    {"", "torch", 3},
    {"", "llm-foundry", 3},
    {"", "maxtext", 3},
    {"", "", 1},
};
const uint32_t published_zero_word_count = LENGTH(published_zero_words);

/* Sources whose launch scripts accumulate and reduce gradients in bf16 (grad_reduce_in_fp32 =
 * False: scripts/performance of NVIDIA-NeMo/Megatron-Bridge, the recipes of NVIDIA/NeMo, and
 * MLPerf's on them). By the beginning of the source. */
const char *const published_bf16_gradients[] = {"NeMo", "DGXC", "Megatron-Bridge", "MLPerf"};
const uint32_t published_bf16_gradient_count = LENGTH(published_bf16_gradients);

/* Megatron's words for what it recomputes, in the column and the notes, and ours. */
const char *const published_module_words[][2] = {
    {"core_attn", "core-attention"},
    {"layernorm", "norm"},
    {"moe_act", "activation"},
    {"mla_up_proj", "mla-up"},
    {"mlp", "mlp"},
    {"moe", "moe"},
    {"shared_experts", "shared-experts"},
};
const uint32_t published_module_word_count = LENGTH(published_module_words);
