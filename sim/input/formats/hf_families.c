/* One table, after the keys that its rows share. Lists are short, scans plain. */
#include "input/formats/hf_families.h"

#include <stddef.h>
#include <string.h>

/* ---- keys --------------------------------------------------------------------------- */

#define LAYER_KEYS                                                  \
    [HF_LAYERS] = "num_hidden_layers", [HF_HIDDEN] = "hidden_size", \
    [HF_HEADS] = "num_attention_heads", [HF_VOCAB] = "vocab_size",  \
    [HF_POSITIONS] = "max_position_embeddings"
#define HEAD_KEYS [HF_KV_HEADS] = "num_key_value_heads", [HF_HEAD_DIM] = "head_dim"
#define PER_TOKEN_KEY [HF_PER_TOKEN] = "num_experts_per_tok"

static const char *const common_keys[HF_FIELD_COUNT_] = {
    LAYER_KEYS,
    HEAD_KEYS,
    PER_TOKEN_KEY,
    [HF_FFN] = "intermediate_size",
    [HF_WINDOW] = "sliding_window",
    [HF_WINDOW_FROM] = "max_window_layers",
    [HF_WINDOW_EVERY] = "sliding_window_pattern",
    [HF_EXPERTS] = "num_experts",
    [HF_EXPERT_HIDDEN] = "moe_intermediate_size",
    [HF_SHARED_HIDDEN] = "shared_expert_intermediate_size",
    [HF_EXPERT_STEP] = "decoder_sparse_step",
};

/* One more layer, or more, of multi-token prediction. */
static const char *const mimo_keys[HF_FIELD_COUNT_] = {
    LAYER_KEYS,
    HEAD_KEYS,
    [HF_FFN] = "intermediate_size",
    [HF_WINDOW] = "sliding_window",
    [HF_WINDOW_FROM] = "max_window_layers",
    [HF_MTP] = "num_nextn_predict_layers",
};

/* Every MLP is an expert, so its width is that of one expert. */
static const char *const mixtral_keys[HF_FIELD_COUNT_] = {
    LAYER_KEYS,
    HEAD_KEYS,
    PER_TOKEN_KEY,
    [HF_FFN] = "intermediate_size",
    [HF_WINDOW] = "sliding_window",
    [HF_EXPERTS] = "num_local_experts",
    [HF_EXPERT_HIDDEN] = "intermediate_size",
};

static const char *const minimax_keys[HF_FIELD_COUNT_] = {
    LAYER_KEYS,
    HEAD_KEYS,
    PER_TOKEN_KEY,
    [HF_FFN] = "intermediate_size",
    [HF_EXPERTS] = "num_local_experts",
    [HF_EXPERT_HIDDEN] = "intermediate_size",
    [HF_MTP] = "num_mtp_modules",
};

static const char *const hunyuan_keys[HF_FIELD_COUNT_] = {
    LAYER_KEYS,
    HEAD_KEYS,
    [HF_FFN] = "intermediate_size",
    [HF_EXPERTS] = "num_experts",
    [HF_PER_TOKEN] = "moe_topk",
    [HF_EXPERT_HIDDEN] = "moe_intermediate_size",
    [HF_SHARED] = "num_shared_expert",
    [HF_DENSE_LAYERS] = "moe_layer_num_skipped",
};

static const char *const olmoe_keys[HF_FIELD_COUNT_] = {
    LAYER_KEYS,
    HEAD_KEYS,
    PER_TOKEN_KEY,
    [HF_FFN] = "intermediate_size",
    [HF_EXPERTS] = "num_experts",
    [HF_EXPERT_HIDDEN] = "intermediate_size",
};

static const char *const llama4_keys[HF_FIELD_COUNT_] = {
    LAYER_KEYS,
    HEAD_KEYS,
    PER_TOKEN_KEY,
    [HF_FFN] = "intermediate_size_mlp",
    [HF_WINDOW] = "attention_chunk_size",
    [HF_WINDOW_EVERY] = "no_rope_layer_interval",
    [HF_EXPERTS] = "num_local_experts",
    [HF_EXPERT_HIDDEN] = "intermediate_size",
    [HF_SHARED_HIDDEN] = "intermediate_size",
    [HF_EXPERT_STEP] = "interleave_moe_layer_step",
};

#define EXPERT_KEYS                                                                       \
    PER_TOKEN_KEY, [HF_FFN] = "intermediate_size", [HF_EXPERTS] = "n_routed_experts",     \
                   [HF_EXPERT_HIDDEN] = "moe_intermediate_size", [HF_GROUPS] = "n_group", \
                   [HF_GROUP_LIMIT] = "topk_group"
#define ROUTED_KEYS                                                                             \
    EXPERT_KEYS, [HF_SHARED] = "n_shared_experts", [HF_DENSE_LAYERS] = "first_k_dense_replace", \
                 [HF_EXPERT_STEP] = "moe_layer_freq", [HF_MTP] = "num_nextn_predict_layers"

/* DeepSeek's experts behind attention that is not latent. */
static const char *const routed_keys[HF_FIELD_COUNT_] = {LAYER_KEYS, HEAD_KEYS, ROUTED_KEYS};

#define LATENT_KEYS                                                         \
    [HF_Q_RANK] = "q_lora_rank", [HF_KV_RANK] = "kv_lora_rank",             \
    [HF_NOPE_DIM] = "qk_nope_head_dim", [HF_ROPE_DIM] = "qk_rope_head_dim", \
    [HF_VALUE_DIM] = "v_head_dim"

/* head_dim is not asked for: these classes overwrite it with qk_rope_head_dim. */
static const char *const deepseek_keys[HF_FIELD_COUNT_] = {LAYER_KEYS, ROUTED_KEYS, LATENT_KEYS};
static const char *const latent_keys[HF_FIELD_COUNT_] = {
    LAYER_KEYS, LATENT_KEYS, [HF_FFN] = "intermediate_size"};

static const char *const letters_keys[HF_FIELD_COUNT_] = {
    LAYER_KEYS, HEAD_KEYS, EXPERT_KEYS, [HF_SHARED_HIDDEN] = "moe_shared_expert_intermediate_size"};

/* All layers have experts: their width stands where a dense one's is. */
static const char *const delta_keys[HF_FIELD_COUNT_] = {
    LAYER_KEYS,
    HEAD_KEYS,
    PER_TOKEN_KEY,
    [HF_FFN] = "moe_intermediate_size",
    [HF_EXPERTS] = "num_experts",
    [HF_EXPERT_HIDDEN] = "moe_intermediate_size",
    [HF_SHARED_HIDDEN] = "shared_expert_intermediate_size",
};

static const char *const wide_keys[HF_FIELD_COUNT_] = {
    LAYER_KEYS,
    LATENT_KEYS,
    PER_TOKEN_KEY,
    [HF_FFN] = "intermediate_size",
    [HF_EXPERTS] = "num_experts",
    [HF_EXPERT_HIDDEN] = "moe_intermediate_size",
    [HF_SHARED] = "num_shared_experts",
    [HF_DENSE_LAYERS] = "first_k_dense_replace",
    [HF_GROUPS] = "num_expert_group",
    [HF_GROUP_LIMIT] = "topk_group",
    [HF_MTP] = "num_nextn_predict_layers",
};

/* Beside its experts, or instead of them, each layer has an MLP. */
static const char *const listed_keys[HF_FIELD_COUNT_] = {
    LAYER_KEYS,
    HEAD_KEYS,
    PER_TOKEN_KEY,
    [HF_FFN] = "shared_intermediate_size",
    [HF_EXPERTS] = "num_local_experts",
    [HF_EXPERT_HIDDEN] = "intermediate_size",
    [HF_SHARED_HIDDEN] = "shared_intermediate_size",
};

static const char *const windows_keys[HF_FIELD_COUNT_] = {
    LAYER_KEYS, HEAD_KEYS, EXPERT_KEYS, [HF_SHARED] = "n_shared_experts"};

/* An MLP beside the experts of each layer: their shared one. */
static const char *const slid_keys[HF_FIELD_COUNT_] = {
    LAYER_KEYS,
    HEAD_KEYS,
    [HF_FFN] = "intermediate_size",
    [HF_EXPERTS] = "num_experts",
    [HF_PER_TOKEN] = "top_k_experts",
    [HF_EXPERT_HIDDEN] = "moe_intermediate_size",
    [HF_SHARED_HIDDEN] = "intermediate_size",
};

static const char *const gpt2_keys[HF_FIELD_COUNT_] = {
    [HF_LAYERS] = "n_layer", [HF_HIDDEN] = "n_embd",    [HF_HEADS] = "n_head",
    [HF_FFN] = "n_inner",    [HF_VOCAB] = "vocab_size", [HF_POSITIONS] = "n_positions",
};

static const char *const mpt_keys[HF_FIELD_COUNT_] = {
    [HF_LAYERS] = "n_layers",  [HF_HIDDEN] = "d_model",        [HF_HEADS] = "n_heads",
    [HF_VOCAB] = "vocab_size", [HF_POSITIONS] = "max_seq_len",
};

static const char *const dbrx_keys[HF_FIELD_COUNT_] = {
    [HF_LAYERS] = "n_layers",
    [HF_HIDDEN] = "d_model",
    [HF_HEADS] = "n_heads",
    [HF_VOCAB] = "vocab_size",
    [HF_POSITIONS] = "max_seq_len",
    [HF_KV_HEADS] = "attn_config.kv_n_heads",
    [HF_FFN] = "ffn_config.ffn_hidden_size",
    [HF_EXPERTS] = "ffn_config.moe_num_experts",
    [HF_PER_TOKEN] = "ffn_config.moe_top_k",
    [HF_EXPERT_HIDDEN] = "ffn_config.ffn_hidden_size",
};

static const char *const chatglm_keys[HF_FIELD_COUNT_] = {
    [HF_LAYERS] = "num_layers",         [HF_HIDDEN] = "hidden_size",
    [HF_HEADS] = "num_attention_heads", [HF_KV_HEADS] = "multi_query_group_num",
    [HF_HEAD_DIM] = "kv_channels",      [HF_FFN] = "ffn_hidden_size",
    [HF_VOCAB] = "padded_vocab_size",   [HF_POSITIONS] = "seq_length",
};

static const char *const qwen_keys[HF_FIELD_COUNT_] = {
    LAYER_KEYS,
    [HF_HEAD_DIM] = "kv_channels",
    [HF_FFN] = "intermediate_size",
};

/* The file's vocab_size is before the padding that the matrices have. */
static const char *const chatglm_others[] = {"vocab_size", NULL};
/* Heads of latent attention; another name of head_dim. */
static const char *const latent_others[] = {"num_key_value_heads", "head_dim", "qk_head_dim", NULL};
static const char *const chosen_others[] = {
    "num_key_value_heads", "head_dim", "qk_head_dim", "index_*", "indexer_*", NULL};
static const char *const slid_others[] = {"global_head_dim",
                                          "num_global_key_value_heads",
                                          "attention_k_eq_v",
                                          "enable_moe_block",
                                          "sliding_window*",
                                          "vocab_size_per_layer_input",
                                          NULL};
static const char *const qwen_others[] = {"seq_length", "no_bias", NULL};
static const char *const mpt_others[] = {"attn_config", "ffn_config", "expansion_ratio", NULL};
/* In words what the class does anyway: which layers have a window is sliding_window_pattern's. */
static const char *const cohere_others[] = {"order_of_interleaved_layers", "layer_switch",
                                            "use_gated_activation", NULL};
static const char *const smollm_others[] = {"no_rope_layers", "no_rope_layer_interval", NULL};
/* Layers told one by one; its norms of queries and keys have no weights. */
static const char *const llama4_others[] = {"moe_layers", "no_rope_layers", "nope_layer_interval",
                                            "use_qk_norm", NULL};
/* What hf_hybrids reads, and what follows from it. */
static const char *const letters_others[] = {"hybrid_override_pattern",
                                             "layers_block_type",
                                             "mtp_layers_block_type",
                                             "num_nextn_predict_layers",
                                             "moe_shared_expert_overlap",
                                             "n_shared_experts",
                                             "mamba_*",
                                             "n_groups",
                                             "ssm_*",
                                             "conv_kernel",
                                             "use_conv_bias",
                                             "chunk_size",
                                             "time_step_*",
                                             "expand",
                                             "rescale_prenorm_residual",
                                             NULL};
static const char *const delta_others[] = {"linear_*",
                                           "full_attention_interval",
                                           "attn_output_gate",
                                           "mamba_ssm_dtype",
                                           "decoder_sparse_step",
                                           "mtp_*",
                                           "intermediate_size",
                                           NULL};
static const char *const wide_others[] = {
    "linear_attn_config", "mla_use_nope",   "head_dim", "num_key_value_heads",
    "use_grouped_topk",   "moe_layer_freq", NULL};
static const char *const listed_others[] = {"mamba_*", "normalization_function",
                                            "shared_intermediate_size", NULL};
static const char *const parallel_others[] = {"mamba_*",
                                              "attn_layer_indices",
                                              "mlp_expansion_factor",
                                              "*_multiplier",
                                              "*_multipliers",
                                              "time_step_*",
                                              NULL};
static const char *const windows_others[] = {"swa_*",
                                             "v_head_dim",
                                             "sliding_window*",
                                             "attention_chunk_size",
                                             "hybrid_layer_pattern",
                                             "moe_layer_freq",
                                             "attention_value_scale",
                                             "*_sink_bias",
                                             NULL};
/* Keys and values shared between layers are use_cla's; the rest is of images and of a head that
 * classifies. */
static const char *const hunyuan_others[] = {
    "cla_share_factor", "org_vocab_size", "xdrope_section", "num_media_embeds",
    "anyres_*",         "vit_*",          "dense_list",     NULL};
static const char *const minimax_others[] = {"mtp_transformer_layers", "qk_norm_type",
                                             "attn_type_list", NULL};

/* ---- families ----------------------------------------------------------------------- */

/* What follows from hidden and heads. */
#define PLAIN_HEADS [HF_KV_HEADS] = HF_AS_HEADS, [HF_HEAD_DIM] = HF_HIDDEN_PER_HEAD
/* Heads of queries may be shared by so many that the file must say it. */
#define SHARED_HEADS [HF_HEAD_DIM] = HF_HIDDEN_PER_HEAD
#define LLAMA_LIKE .mlp = "swiglu", .norm = "rmsnorm", .positions = "rotary"
#define ATTENTION_BIAS(value) \
    .qkv_biases = {"attention_bias", value}, .projection_biases = {"attention_bias", value}
#define ALWAYS     \
    {              \
        NULL, true \
    }
#define ALL_BIASES \
    .qkv_biases = ALWAYS, .projection_biases = ALWAYS, .mlp_biases = ALWAYS, .norm_biases = ALWAYS
#define ROUTED                                                          \
    [HF_EXPERT_STEP] = 1, [HF_SHARED] = HF_NULL, [HF_GROUPS] = HF_NULL, \
    [HF_GROUP_LIMIT] = HF_NULL, [HF_MTP] = HF_NULL
#define QWEN_WINDOW .window = HF_WINDOW_LATE, .window_switch = "use_sliding_window"

static const char four_norms[] =
    "its layers have four norms, a model file two: 2 x hidden parameters a layer are left out";
static const char wide_qk_norms[] =
    "its norms of queries and keys span all heads; a model file's span one head";
static const char one_norm[] =
    "attention and MLP of a layer, which share one norm and are computed side by side, follow each "
    "other with a norm each: a norm a layer too many";

#define COHERE_LIKE                                                               \
    .mlp = "swiglu", .norm = "layernorm", .positions = "rotary", .is_tied = true, \
    ATTENTION_BIAS(false), .note = one_norm, .other_keys = cohere_others

static const struct hf_family families[] = {
    {.name = "llama",
     .keys = common_keys,
     .by_default = {PLAIN_HEADS},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .mlp_biases = {"mlp_bias", false}},
    {.name = "decoder", /* of a type that is not known: nothing but head_dim follows */
     .keys = common_keys,
     .by_default = {SHARED_HEADS},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .mlp_biases = {"mlp_bias", false}},
    {.name = "baichuan",
     .keys = common_keys,
     .by_default = {PLAIN_HEADS},
     LLAMA_LIKE,
     .alibi_from_hidden = 5120},
    {.name = "internlm2",
     .keys = common_keys,
     .by_default = {PLAIN_HEADS},
     LLAMA_LIKE,
     .qkv_biases = {"bias", false},
     .projection_biases = {"bias", false}},
    {.name = "internlm",
     .keys = common_keys,
     .by_default = {PLAIN_HEADS},
     LLAMA_LIKE,
     .qkv_biases = {"bias", true},
     .projection_biases = {"bias", true}},
    {.name = "smollm3",
     .keys = common_keys,
     .by_default = {SHARED_HEADS},
     LLAMA_LIKE,
     .is_tied = true,
     ATTENTION_BIAS(false),
     .mlp_biases = {"mlp_bias", false},
     .window = HF_WINDOW_ALL,
     .window_switch = "use_sliding_window",
     .other_keys = smollm_others},
    {.name = "minicpm",
     .keys = common_keys,
     .by_default = {PLAIN_HEADS},
     LLAMA_LIKE,
     .is_tied = true},
    {.name = "mistral",
     .keys = common_keys,
     .by_default = {SHARED_HEADS},
     LLAMA_LIKE,
     .window = HF_WINDOW_ALL},
    {.name = "qwen",
     .keys = qwen_keys,
     .by_default = {[HF_HEAD_DIM] = HF_HIDDEN_PER_HEAD},
     LLAMA_LIKE,
     .is_gated = true,
     .qkv_biases = ALWAYS,
     .other_keys = qwen_others},
    {.name = "qwen2",
     .keys = common_keys,
     .by_default = {SHARED_HEADS},
     LLAMA_LIKE,
     .qkv_biases = ALWAYS,
     QWEN_WINDOW},
    {.name = "mimo",
     .keys = mimo_keys,
     .by_default = {SHARED_HEADS, [HF_MTP] = HF_NULL},
     LLAMA_LIKE,
     .qkv_biases = {"attention_bias", true},
     QWEN_WINDOW},
    {.name = "qwen3",
     .keys = common_keys,
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .qk_norm = ALWAYS,
     QWEN_WINDOW},
    {.name = "seed_oss",
     .keys = common_keys,
     LLAMA_LIKE,
     .qkv_biases = {"attention_bias", true},
     .projection_biases = {"attention_out_bias", false},
     .mlp_biases = {"mlp_bias", false}},
    {.name = "glm", .keys = common_keys, LLAMA_LIKE, .qkv_biases = {"attention_bias", true}},
    {.name = "glm4",
     .keys = common_keys,
     LLAMA_LIKE,
     .qkv_biases = {"attention_bias", true},
     .note = four_norms},
    {.name = "chatglm",
     .keys = chatglm_keys,
     .by_default = {PLAIN_HEADS},
     LLAMA_LIKE,
     .qkv_biases = {"add_qkv_bias", false},
     .projection_biases = {"add_bias_linear", true},
     .mlp_biases = {"add_bias_linear", true},
     .kv_switch = {"multi_query_attention", false},
     .other_keys = chatglm_others},
    {.name = "gemma", .keys = common_keys, LLAMA_LIKE, .is_tied = true, ATTENTION_BIAS(false)},
    {.name = "gemma2",
     .keys = common_keys,
     LLAMA_LIKE,
     .is_tied = true,
     ATTENTION_BIAS(false),
     .window = HF_WINDOW_EVEN,
     .note = four_norms},
    {.name = "gemma3_text",
     .keys = common_keys,
     LLAMA_LIKE,
     .is_tied = true,
     ATTENTION_BIAS(false),
     .qk_norm = ALWAYS,
     .window = HF_WINDOW_BUT_EACH,
     .note = four_norms},
    {.name = "gemma4_text",
     .keys = slid_keys,
     .by_default = {[HF_EXPERTS] = HF_NULL, [HF_PER_TOKEN] = HF_NULL, [HF_EXPERT_HIDDEN] = HF_NULL},
     LLAMA_LIKE,
     .is_tied = true,
     ATTENTION_BIAS(false),
     .experts = HF_EXPERTS_ALL,
     .hybrid = &hf_hybrid_slid,
     .note = "norms of branches' results are left out: 2 x hidden parameters a layer and more "
             "beside experts; keys that are values, too, are told as one tensor",
     .other_keys = slid_others},
    {.name = "phi3",
     .keys = common_keys,
     .by_default = {PLAIN_HEADS, [HF_WINDOW] = HF_NULL},
     LLAMA_LIKE,
     .dropout_key = "resid_pdrop",
     .window = HF_WINDOW_ALL},
    {.name = "olmo",
     .keys = common_keys,
     .by_default = {PLAIN_HEADS},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .note = "its norms have no weights; a model file's have hidden each"},
    {.name = "olmo2",
     .keys = common_keys,
     .by_default = {PLAIN_HEADS},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .qk_norm = ALWAYS,
     .note = wide_qk_norms},
    {.name = "olmo3",
     .keys = common_keys,
     .by_default = {PLAIN_HEADS, [HF_WINDOW_EVERY] = 4},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .qk_norm = ALWAYS,
     .window = HF_WINDOW_BUT_EACH,
     .note = wide_qk_norms},
    {.name = "cohere",
     .keys = common_keys,
     .by_default = {PLAIN_HEADS},
     COHERE_LIKE,
     .qk_norm = {"use_qk_norm", false}},
    {.name = "cohere2",
     .keys = common_keys,
     .by_default = {PLAIN_HEADS, [HF_WINDOW_EVERY] = 4},
     COHERE_LIKE,
     .window = HF_WINDOW_BUT_EACH},
    {.name = "gpt2",
     .keys = gpt2_keys,
     .by_default = {[HF_FFN] = HF_FOUR_HIDDEN},
     .mlp = "gelu",
     .norm = "layernorm",
     .positions = "learned",
     .is_tied = true,
     ALL_BIASES,
     .dropout_key = "resid_pdrop",
     .has_dropout = true},
    {.name = "gpt_neox",
     .keys = common_keys,
     .by_default = {PLAIN_HEADS},
     .mlp = "gelu",
     .norm = "layernorm",
     .positions = "rotary",
     ATTENTION_BIAS(true),
     .mlp_biases = ALWAYS,
     .norm_biases = ALWAYS,
     .dropout_key = "hidden_dropout",
     .note = "attention and MLP of a layer, which it computes side by side, follow each other",
     .note_switch = {"use_parallel_residual", true}},
    {.name = "phi",
     .keys = common_keys,
     .by_default = {PLAIN_HEADS},
     .mlp = "gelu",
     .norm = "layernorm",
     .positions = "rotary",
     ALL_BIASES,
     .dropout_key = "resid_pdrop",
     .note = one_norm},
    {.name = "starcoder2",
     .keys = common_keys,
     .by_default = {SHARED_HEADS, [HF_WINDOW] = HF_NULL},
     .mlp = "gelu",
     .norm = "layernorm",
     .positions = "rotary",
     .is_tied = true,
     .qkv_biases = {"use_bias", true},
     .projection_biases = {"use_bias", true},
     .mlp_biases = {"use_bias", true},
     .norm_biases = ALWAYS,
     .dropout_key = "residual_dropout",
     .window = HF_WINDOW_ALL},
    {.name = "nemotron",
     .keys = common_keys,
     .by_default = {SHARED_HEADS},
     .mlp = "gelu",
     .norm = "layernorm",
     .positions = "rotary",
     ATTENTION_BIAS(false),
     .mlp_biases = {"mlp_bias", false},
     .norm_biases = ALWAYS},
    {.name = "stablelm",
     .keys = common_keys,
     .by_default = {SHARED_HEADS},
     .mlp = "swiglu",
     .norm = "layernorm",
     .positions = "rotary",
     .qkv_biases = {"use_qkv_bias", false},
     .norm_biases = ALWAYS,
     .dropout_key = "hidden_dropout",
     .note = one_norm,
     .note_switch = {"use_parallel_residual", false}},
    {.name = "mpt",
     .keys = mpt_keys,
     .mlp = "gelu",
     .norm = "layernorm",
     .positions = "alibi",
     .is_tied = true,
     .qkv_biases = {"!no_bias", false},
     .projection_biases = {"!no_bias", false},
     .mlp_biases = {"!no_bias", false},
     .norm_biases = {"!no_bias", false},
     .dropout_key = "resid_pdrop",
     .is_mpt = true,
     .other_keys = mpt_others},
    {.name = "dbrx",
     .keys = dbrx_keys,
     .mlp = "swiglu",
     .norm = "layernorm",
     .positions = "rotary",
     .dropout_key = "resid_pdrop",
     .experts = HF_EXPERTS_ALL},
    {.name = "mixtral",
     .keys = mixtral_keys,
     .by_default = {SHARED_HEADS, [HF_WINDOW] = HF_NULL},
     LLAMA_LIKE,
     .window = HF_WINDOW_ALL,
     .experts = HF_EXPERTS_ALL},
    {.name = "granitemoe",
     .keys = mixtral_keys,
     .by_default = {PLAIN_HEADS},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .experts = HF_EXPERTS_ALL},
    {.name = "olmoe",
     .keys = olmoe_keys,
     .by_default = {PLAIN_HEADS},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .qk_norm = ALWAYS,
     .experts = HF_EXPERTS_ALL,
     .note = wide_qk_norms},
    {.name = "phimoe",
     .keys = mixtral_keys,
     .by_default = {SHARED_HEADS, [HF_WINDOW] = HF_NULL},
     .mlp = "swiglu",
     .norm = "layernorm",
     .positions = "rotary",
     ATTENTION_BIAS(false),
     .norm_biases = ALWAYS,
     .dropout_key = "hidden_dropout",
     .window = HF_WINDOW_ALL,
     .experts = HF_EXPERTS_ALL,
     .note = "the bias of its output matrix is left out: a value a word",
     .note_switch = {"lm_head_bias", false}},
    {.name = "minimax_m2",
     .keys = minimax_keys,
     .by_default = {SHARED_HEADS, [HF_MTP] = HF_NULL},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .qk_norm = {"use_qk_norm", false},
     .router_biases = {"use_routing_bias", false},
     .mtp_switch = {"use_mtp", false},
     .experts = HF_EXPERTS_ALL,
     .note = wide_qk_norms,
     .note_switch = {"use_qk_norm", false},
     .other_keys = minimax_others},
    {.name = "hunyuan_v1_moe",
     .keys = hunyuan_keys,
     .by_default = {PLAIN_HEADS, [HF_DENSE_LAYERS] = HF_NULL},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .mlp_biases = {"mlp_bias", false},
     .qk_norm = {"use_qk_norm", true},
     .shared_switch = {"use_mixed_mlp_moe", true},
     .experts = HF_EXPERTS_AFTER,
     .other_keys = hunyuan_others},
    {.name = "qwen2_moe",
     .keys = common_keys,
     .by_default = {SHARED_HEADS, [HF_EXPERT_STEP] = 1},
     LLAMA_LIKE,
     .qkv_biases = {"qkv_bias", true},
     .window = HF_WINDOW_EVEN,
     .window_switch = "use_sliding_window",
     .experts = HF_EXPERTS_STEP,
     .note = "the gate of its shared experts is left out: hidden parameters a layer"},
    {.name = "qwen3_moe",
     .keys = common_keys,
     .by_default = {SHARED_HEADS, [HF_SHARED_HIDDEN] = HF_NULL, [HF_EXPERT_STEP] = 1},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .qk_norm = ALWAYS,
     .window = HF_WINDOW_ALL,
     .window_switch = "use_sliding_window",
     .experts = HF_EXPERTS_STEP},
    {.name = "deepseek",
     .keys = routed_keys,
     .by_default = {PLAIN_HEADS, ROUTED},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .experts = HF_EXPERTS_AFTER,
     .other_keys = latent_others},
    {.name = "dots1",
     .keys = routed_keys,
     .by_default = {SHARED_HEADS, ROUTED},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .qk_norm = ALWAYS,
     .router_biases = ALWAYS,
     QWEN_WINDOW,
     .experts = HF_EXPERTS_AFTER},
    {.name = "glm4_moe",
     .keys = routed_keys,
     .by_default = {SHARED_HEADS, ROUTED},
     LLAMA_LIKE,
     .qkv_biases = {"attention_bias", false},
     .qk_norm = {"use_qk_norm", false},
     .router_biases = ALWAYS,
     .experts = HF_EXPERTS_AFTER},
    {.name = "deepseek_v2",
     .keys = deepseek_keys,
     .by_default = {ROUTED},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .experts = HF_EXPERTS_AFTER,
     .latent_switch = {"use_mla", true},
     .unlatent = "deepseek",
     .other_keys = latent_others},
    {.name = "deepseek_v3",
     .keys = deepseek_keys,
     .by_default = {ROUTED},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .router_biases = ALWAYS,
     .experts = HF_EXPERTS_AFTER,
     .other_keys = latent_others},
    {.name = "deepseek_v32",
     .keys = deepseek_keys,
     .by_default = {ROUTED},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .router_biases = ALWAYS,
     .experts = HF_EXPERTS_ALL,
     .hybrid = &hf_hybrid_chosen,
     .note = "the biases of its indexes' norms are left out: index_head_dim parameters a layer",
     .other_keys = chosen_others},
    {.name = "minicpm3",
     .keys = latent_keys,
     .by_default = {[HF_VALUE_DIM] = HF_HIDDEN_PER_HEAD},
     LLAMA_LIKE,
     .is_tied = true,
     ATTENTION_BIAS(false),
     .other_keys = latent_others},
    {.name = "gpt_oss",
     .keys = mixtral_keys,
     LLAMA_LIKE,
     ATTENTION_BIAS(true),
     .mlp_biases = ALWAYS,
     .has_sinks = true,
     .clamps_mlp = true,
     .router_biases = ALWAYS,
     .window = HF_WINDOW_EVEN,
     .experts = HF_EXPERTS_ALL},
    {.name = "llama4_text",
     .keys = llama4_keys,
     .by_default = {[HF_WINDOW_EVERY] = 4},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .window = HF_WINDOW_BUT_EACH,
     .experts = HF_EXPERTS_LIST,
     .note = "its attention in chunks is taken as a window as long as a chunk",
     .other_keys = llama4_others},
    {.name = "nemotron_h",
     .keys = letters_keys,
     .by_default = {SHARED_HEADS, [HF_EXPERTS] = HF_NULL, [HF_SHARED_HIDDEN] = HF_NULL,
                    [HF_GROUPS] = HF_NULL, [HF_GROUP_LIMIT] = HF_NULL},
     .mlp = "gelu",
     .norm = "rmsnorm",
     .positions = "none",
     ATTENTION_BIAS(false),
     .mlp_biases = {"mlp_bias", false},
     .router_biases = ALWAYS,
     .experts = HF_EXPERTS_ALL,
     .hybrid = &hf_hybrid_letters,
     .other_keys = letters_others},
    {.name = "qwen3_next",
     .keys = delta_keys,
     .by_default = {[HF_SHARED_HIDDEN] = HF_NULL},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .experts = HF_EXPERTS_ALL,
     .hybrid = &hf_hybrid_delta,
     .note = "the gate of its shared experts is left out: hidden parameters a layer; so is "
             "multi-token prediction",
     .other_keys = delta_others},
    {.name = "qwen3_5_text",
     .keys = common_keys,
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .hybrid = &hf_hybrid_delta,
     .note = "its multi-token prediction is left out",
     .other_keys = delta_others},
    {.name = "kimi_linear",
     .keys = wide_keys,
     .by_default = {[HF_SHARED] = HF_NULL,
                    [HF_DENSE_LAYERS] = HF_NULL,
                    [HF_GROUPS] = HF_NULL,
                    [HF_GROUP_LIMIT] = HF_NULL,
                    [HF_MTP] = HF_NULL},
     .mlp = "swiglu",
     .norm = "rmsnorm",
     .positions = "none",
     .router_biases = ALWAYS,
     .experts = HF_EXPERTS_ALL,
     .hybrid = &hf_hybrid_wide,
     .other_keys = wide_others},
    {.name = "granitemoehybrid",
     .keys = listed_keys,
     .by_default = {PLAIN_HEADS},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .experts = HF_EXPERTS_ALL,
     .hybrid = &hf_hybrid_listed,
     .other_keys = listed_others},
    {.name = "falcon_h1",
     .keys = common_keys,
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .mlp_biases = {"mlp_bias", false},
     .hybrid = &hf_hybrid_parallel,
     .other_keys = parallel_others},
    {.name = "mimo_v2_flash",
     .keys = windows_keys,
     .by_default = {[HF_SHARED] = HF_NULL, [HF_GROUPS] = HF_NULL, [HF_GROUP_LIMIT] = HF_NULL},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .router_biases = ALWAYS,
     .experts = HF_EXPERTS_ALL,
     .hybrid = &hf_hybrid_windows,
     .note = "its sinks are left out, and its multi-token prediction",
     .other_keys = windows_others},
    {.name = "qwen3_vl_text",
     .keys = common_keys,
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .qk_norm = ALWAYS},
    {.name = "qwen3_vl_moe_text",
     .keys = common_keys,
     .by_default = {SHARED_HEADS, [HF_SHARED_HIDDEN] = HF_NULL, [HF_EXPERT_STEP] = 1},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .qk_norm = ALWAYS,
     .experts = HF_EXPERTS_STEP},
};

enum { FAMILY_COUNT = sizeof families / sizeof *families };

const struct hf_family *hf_family_find(const char *name)
{
    for (uint32_t i = 0; i < FAMILY_COUNT; i++) {
        if (strcmp(families[i].name, name) == 0) {
            return &families[i];
        }
    }
    return NULL;
}
