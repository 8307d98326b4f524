/* Two tables. Defaults were read from transformers' classes of 2025 and 2026; where versions
 * differ it is in the names of keys, which hf_config.c takes care of. Lists are short, scans
 * plain.
 */
#include "input/formats/hf_families.h"

#include <stddef.h>
#include <string.h>

/* ---- keys --------------------------------------------------------------------------- */

#define LAYER_KEYS                                                  \
    [HF_LAYERS] = "num_hidden_layers", [HF_HIDDEN] = "hidden_size", \
    [HF_HEADS] = "num_attention_heads", [HF_VOCAB] = "vocab_size",  \
    [HF_POSITIONS] = "max_position_embeddings", [HF_PER_TOKEN] = "num_experts_per_tok"
#define HEAD_KEYS [HF_KV_HEADS] = "num_key_value_heads", [HF_HEAD_DIM] = "head_dim"

static const char *const common_keys[HF_FIELD_COUNT_] = {
    LAYER_KEYS,
    HEAD_KEYS,
    [HF_FFN] = "intermediate_size",
    [HF_WINDOW] = "sliding_window",
    [HF_WINDOW_FROM] = "max_window_layers",
    [HF_WINDOW_EVERY] = "sliding_window_pattern",
    [HF_EXPERTS] = "num_experts",
    [HF_EXPERT_HIDDEN] = "moe_intermediate_size",
    [HF_SHARED_HIDDEN] = "shared_expert_intermediate_size",
    [HF_EXPERT_STEP] = "decoder_sparse_step",
};

/* Every MLP is an expert, so its width is that of one expert. */
static const char *const mixtral_keys[HF_FIELD_COUNT_] = {
    LAYER_KEYS,
    HEAD_KEYS,
    [HF_FFN] = "intermediate_size",
    [HF_WINDOW] = "sliding_window",
    [HF_EXPERTS] = "num_local_experts",
    [HF_EXPERT_HIDDEN] = "intermediate_size",
};

static const char *const llama4_keys[HF_FIELD_COUNT_] = {
    LAYER_KEYS,
    HEAD_KEYS,
    [HF_FFN] = "intermediate_size_mlp",
    [HF_WINDOW] = "attention_chunk_size",
    [HF_WINDOW_EVERY] = "no_rope_layer_interval",
    [HF_EXPERTS] = "num_local_experts",
    [HF_EXPERT_HIDDEN] = "intermediate_size",
    [HF_SHARED_HIDDEN] = "intermediate_size",
    [HF_EXPERT_STEP] = "interleave_moe_layer_step",
};

/* head_dim is not asked for: these classes overwrite it with qk_rope_head_dim. */
static const char *const deepseek_keys[HF_FIELD_COUNT_] = {
    LAYER_KEYS,
    [HF_FFN] = "intermediate_size",
    [HF_EXPERTS] = "n_routed_experts",
    [HF_EXPERT_HIDDEN] = "moe_intermediate_size",
    [HF_SHARED] = "n_shared_experts",
    [HF_DENSE_LAYERS] = "first_k_dense_replace",
    [HF_EXPERT_STEP] = "moe_layer_freq",
    [HF_GROUPS] = "n_group",
    [HF_GROUP_LIMIT] = "topk_group",
    [HF_MTP] = "num_nextn_predict_layers",
    [HF_Q_RANK] = "q_lora_rank",
    [HF_KV_RANK] = "kv_lora_rank",
    [HF_NOPE_DIM] = "qk_nope_head_dim",
    [HF_ROPE_DIM] = "qk_rope_head_dim",
    [HF_VALUE_DIM] = "v_head_dim",
};

static const char *const gpt2_keys[HF_FIELD_COUNT_] = {
    [HF_LAYERS] = "n_layer", [HF_HIDDEN] = "n_embd",    [HF_HEADS] = "n_head",
    [HF_FFN] = "n_inner",    [HF_VOCAB] = "vocab_size", [HF_POSITIONS] = "n_positions",
};

static const char *const mpt_keys[HF_FIELD_COUNT_] = {
    [HF_LAYERS] = "n_layers",  [HF_HIDDEN] = "d_model",        [HF_HEADS] = "n_heads",
    [HF_VOCAB] = "vocab_size", [HF_POSITIONS] = "max_seq_len",
};

/* ---- families ----------------------------------------------------------------------- */

/* layers, hidden, heads, kv_heads, head_dim, ffn_hidden, vocab, max_positions */
#define SHAPE(l, h, a, kv, d, f, v, s)                                            \
    [HF_LAYERS] = (l), [HF_HIDDEN] = (h), [HF_HEADS] = (a), [HF_KV_HEADS] = (kv), \
    [HF_HEAD_DIM] = (d), [HF_FFN] = (f), [HF_VOCAB] = (v), [HF_POSITIONS] = (s)
#define LLAMA_LIKE .mlp = "swiglu", .norm = "rmsnorm", .positions = "rotary"
#define ATTENTION_BIAS(value) \
    .qkv_biases = {"attention_bias", value}, .projection_biases = {"attention_bias", value}
#define DEEPSEEK_DIMS                                                                \
    [HF_Q_RANK] = 1536, [HF_KV_RANK] = 512, [HF_NOPE_DIM] = 128, [HF_ROPE_DIM] = 64, \
    [HF_VALUE_DIM] = 128
#define DEEPSEEK_V3                                                 \
    .keys = deepseek_keys,                                          \
    .by_default = {SHAPE(61, 7168, 128, 0, 0, 18432, 129280, 4096), \
                   [HF_EXPERTS] = 256,                              \
                   [HF_PER_TOKEN] = 8,                              \
                   [HF_EXPERT_HIDDEN] = 2048,                       \
                   [HF_SHARED] = 1,                                 \
                   [HF_DENSE_LAYERS] = 3,                           \
                   [HF_EXPERT_STEP] = 1,                            \
                   [HF_GROUPS] = 8,                                 \
                   [HF_GROUP_LIMIT] = 4,                            \
                   DEEPSEEK_DIMS},                                  \
    LLAMA_LIKE, ATTENTION_BIAS(false), .has_router_biases = true, .experts = HF_EXPERTS_AFTER
#define QWEN_VL_TEXT                                                                 \
    .keys = common_keys,                                                             \
    .by_default = {SHAPE(80, 8192, 64, 8, HF_HIDDEN_PER_HEAD, 29568, 152064, 32768), \
                   [HF_WINDOW] = 4096, [HF_WINDOW_FROM] = 80},                       \
    LLAMA_LIKE, .qkv_biases = {NULL, true}, .window = HF_WINDOW_LATE,                \
    .window_switch = "use_sliding_window"

static const char four_norms[] =
    "its layers have four norms, a model file two: 2 x hidden parameters a layer are left out";

static const struct hf_family families[] = {
    {.type = "llama",
     .keys = common_keys,
     .by_default = {SHAPE(32, 4096, 32, HF_AS_HEADS, HF_HIDDEN_PER_HEAD, 11008, 32000, 2048)},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .mlp_biases = {"mlp_bias", false}},
    {.type = "mistral",
     .keys = common_keys,
     .by_default = {SHAPE(32, 4096, 32, 8, HF_HIDDEN_PER_HEAD, 14336, 32000, 131072), [HF_WINDOW] =
                                                                                          4096},
     LLAMA_LIKE,
     .window = HF_WINDOW_ALL},
    {.type = "qwen2",
     .keys = common_keys,
     .by_default = {SHAPE(32, 4096, 32, 32, HF_HIDDEN_PER_HEAD, 22016, 151936, 32768),
                    [HF_WINDOW] = 4096, [HF_WINDOW_FROM] = 28},
     LLAMA_LIKE,
     .qkv_biases = {NULL, true},
     .window = HF_WINDOW_LATE,
     .window_switch = "use_sliding_window"},
    {.type = "qwen3",
     .keys = common_keys,
     .by_default = {SHAPE(32, 4096, 32, 32, 128, 22016, 151936, 32768), [HF_WINDOW] = 4096,
                    [HF_WINDOW_FROM] = 28},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .has_qk_norm = true,
     .window = HF_WINDOW_LATE,
     .window_switch = "use_sliding_window"},
    {.type = "gemma",
     .keys = common_keys,
     .by_default = {SHAPE(28, 3072, 16, 16, 256, 24576, 256000, 8192)},
     LLAMA_LIKE,
     .is_tied = true,
     ATTENTION_BIAS(false)},
    {.type = "gemma2",
     .keys = common_keys,
     .by_default = {SHAPE(26, 2304, 8, 4, 256, 9216, 256000, 8192), [HF_WINDOW] = 4096},
     LLAMA_LIKE,
     .is_tied = true,
     ATTENTION_BIAS(false),
     .window = HF_WINDOW_EVEN,
     .note = four_norms},
    {.type = "gemma3_text",
     .keys = common_keys,
     .by_default = {SHAPE(26, 2304, 8, 4, 256, 9216, 262208, 131072), [HF_WINDOW] = 4096,
                    [HF_WINDOW_EVERY] = 6},
     LLAMA_LIKE,
     .is_tied = true,
     ATTENTION_BIAS(false),
     .has_qk_norm = true,
     .window = HF_WINDOW_BUT_EACH,
     .note = four_norms},
    {.type = "phi3",
     .keys = common_keys,
     .by_default =
         {SHAPE(32, 3072, 32, HF_AS_HEADS, HF_HIDDEN_PER_HEAD, 8192, 32064, 4096), [HF_WINDOW] =
                                                                                       HF_NULL},
     LLAMA_LIKE,
     .dropout_key = "resid_pdrop",
     .window = HF_WINDOW_ALL},
    {.type = "olmo",
     .keys = common_keys,
     .by_default = {SHAPE(32, 4096, 32, HF_AS_HEADS, HF_HIDDEN_PER_HEAD, 11008, 50304, 2048)},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .note = "its norms have no weights; a model file's have hidden each"},
    {.type = "olmo2",
     .keys = common_keys,
     .by_default = {SHAPE(32, 4096, 32, HF_AS_HEADS, HF_HIDDEN_PER_HEAD, 11008, 50304, 2048)},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .has_qk_norm = true,
     .note = "its norms of queries and keys span all heads; a model file's span one head"},
    {.type = "gpt2",
     .keys = gpt2_keys,
     .by_default = {SHAPE(12, 768, 12, 0, 0, HF_FOUR_HIDDEN, 50257, 1024)},
     .mlp = "gelu",
     .norm = "layernorm",
     .positions = "learned",
     .is_tied = true,
     .qkv_biases = {NULL, true},
     .projection_biases = {NULL, true},
     .mlp_biases = {NULL, true},
     .norm_biases = {NULL, true},
     .dropout_key = "resid_pdrop",
     .has_dropout = true},
    {.type = "gpt_neox",
     .keys = common_keys,
     .by_default = {SHAPE(44, 6144, 64, HF_AS_HEADS, HF_HIDDEN_PER_HEAD, 24576, 50432, 2048)},
     .mlp = "gelu",
     .norm = "layernorm",
     .positions = "rotary",
     ATTENTION_BIAS(true),
     .mlp_biases = {NULL, true},
     .norm_biases = {NULL, true},
     .dropout_key = "hidden_dropout",
     .note = "attention and MLP of a layer, which it computes side by side, follow each other",
     .note_switch = {"use_parallel_residual", true}},
    {.type = "mpt",
     .keys = mpt_keys,
     .by_default = {SHAPE(24, 2048, 16, 0, 0, 0, 50368, 2048)},
     .mlp = "gelu",
     .norm = "layernorm",
     .positions = "alibi",
     .is_tied = true,
     .qkv_biases = {"!no_bias", false},
     .projection_biases = {"!no_bias", false},
     .mlp_biases = {"!no_bias", false},
     .norm_biases = {"!no_bias", false},
     .dropout_key = "resid_pdrop"},
    {.type = "mixtral",
     .keys = mixtral_keys,
     .by_default =
         {SHAPE(32, 4096, 32, 8, HF_HIDDEN_PER_HEAD, 14336, 32000, 131072), [HF_WINDOW] = HF_NULL,
          [HF_EXPERTS] = 8, [HF_PER_TOKEN] = 2, [HF_EXPERT_HIDDEN] = 14336},
     LLAMA_LIKE,
     .window = HF_WINDOW_ALL,
     .experts = HF_EXPERTS_ALL},
    {.type = "qwen2_moe",
     .keys = common_keys,
     .by_default =
         {SHAPE(24, 2048, 16, 16, HF_HIDDEN_PER_HEAD, 5632, 151936, 32768), [HF_WINDOW] = 4096,
          [HF_WINDOW_FROM] = 28, [HF_EXPERTS] = 60, [HF_PER_TOKEN] = 4, [HF_EXPERT_HIDDEN] = 1408,
          [HF_SHARED_HIDDEN] = 5632, [HF_EXPERT_STEP] = 1},
     LLAMA_LIKE,
     .qkv_biases = {"qkv_bias", true},
     .window = HF_WINDOW_EVEN,
     .window_switch = "use_sliding_window",
     .experts = HF_EXPERTS_STEP,
     .note = "the gate of its shared experts is left out: hidden parameters a layer"},
    {.type = "qwen3_moe",
     .keys = common_keys,
     .by_default = {SHAPE(24, 2048, 32, 4, HF_HIDDEN_PER_HEAD, 6144, 151936, 32768),
                    [HF_WINDOW] = 4096, [HF_EXPERTS] = 128, [HF_PER_TOKEN] = 8,
                    [HF_EXPERT_HIDDEN] = 768, [HF_SHARED_HIDDEN] = HF_NULL, [HF_EXPERT_STEP] = 1},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .has_qk_norm = true,
     .window = HF_WINDOW_ALL,
     .window_switch = "use_sliding_window",
     .experts = HF_EXPERTS_STEP},
    {.type = "deepseek_v2",
     .keys = deepseek_keys,
     .by_default = {SHAPE(32, 4096, 32, 0, 0, 11008, 32000, 2048), [HF_EXPERTS] = 64,
                    [HF_PER_TOKEN] = HF_REQUIRED, [HF_EXPERT_HIDDEN] = 1407, [HF_SHARED] = 2,
                    [HF_DENSE_LAYERS] = 0, [HF_EXPERT_STEP] = 1, [HF_GROUPS] = HF_NULL,
                    [HF_GROUP_LIMIT] = HF_NULL, DEEPSEEK_DIMS},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .experts = HF_EXPERTS_AFTER},
    {.type = "deepseek_v3", DEEPSEEK_V3},
    {.type = "kimi_k2", DEEPSEEK_V3},
    {.type = "gpt_oss",
     .keys = mixtral_keys,
     .by_default = {SHAPE(36, 2880, 64, 8, 64, 2880, 201088, 131072), [HF_WINDOW] = 128,
                    [HF_EXPERTS] = 128, [HF_PER_TOKEN] = 4, [HF_EXPERT_HIDDEN] = 2880},
     LLAMA_LIKE,
     ATTENTION_BIAS(true),
     .mlp_biases = {NULL, true},
     .has_sinks = true,
     .clamps_mlp = true,
     .has_router_biases = true,
     .window = HF_WINDOW_EVEN,
     .experts = HF_EXPERTS_ALL},
    {.type = "llama4_text",
     .keys = llama4_keys,
     .by_default = {SHAPE(48, 5120, 40, 8, 128, 16384, 202048, 131072), [HF_WINDOW] = 8192,
                    [HF_WINDOW_EVERY] = 4, [HF_EXPERTS] = 16, [HF_PER_TOKEN] = 1,
                    [HF_EXPERT_HIDDEN] = 8192, [HF_SHARED_HIDDEN] = 8192, [HF_EXPERT_STEP] = 1},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .window = HF_WINDOW_BUT_EACH,
     .experts = HF_EXPERTS_LIST,
     .note = "its attention in chunks is taken as a window as long as a chunk"},
    {.type = "qwen2_vl_text", QWEN_VL_TEXT},
    {.type = "qwen2_5_vl_text", QWEN_VL_TEXT},
    {.type = "qwen3_vl_text",
     .keys = common_keys,
     .by_default = {SHAPE(32, 4096, 32, 32, 128, 22016, 151936, 128000)},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .has_qk_norm = true},
    {.type = "qwen3_vl_moe_text",
     .keys = common_keys,
     .by_default = {SHAPE(24, 2048, 16, 16, HF_HIDDEN_PER_HEAD, 5632, 151936, 128000),
                    [HF_EXPERTS] = 60, [HF_PER_TOKEN] = 4, [HF_EXPERT_HIDDEN] = 1408,
                    [HF_SHARED_HIDDEN] = HF_NULL, [HF_EXPERT_STEP] = 1},
     LLAMA_LIKE,
     ATTENTION_BIAS(false),
     .has_qk_norm = true,
     .experts = HF_EXPERTS_STEP},
};

static const struct hf_composite composites[] = {
    {"llama4", "llama4_text", false},
    {"gemma3", "gemma3_text", false},
    {"mistral3", "mistral", false},
    {"qwen2_vl", "qwen2_vl_text", true},
    {"qwen2_5_vl", "qwen2_5_vl_text", true},
    {"qwen3_vl", "qwen3_vl_text", false},
    {"qwen3_vl_moe", "qwen3_vl_moe_text", false},
};

enum {
    FAMILY_COUNT = sizeof families / sizeof *families,
    COMPOSITE_COUNT = sizeof composites / sizeof *composites,
};

const struct hf_family *hf_family_find(const char *type)
{
    for (uint32_t i = 0; i < FAMILY_COUNT; i++) {
        if (strcmp(families[i].type, type) == 0) {
            return &families[i];
        }
    }
    return NULL;
}

const struct hf_composite *hf_composite_find(const char *type)
{
    for (uint32_t i = 0; i < COMPOSITE_COUNT; i++) {
        if (strcmp(composites[i].type, type) == 0) {
            return &composites[i];
        }
    }
    return NULL;
}

uint32_t hf_family_names(const char **names, uint32_t capacity)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < FAMILY_COUNT && count < capacity; i++) {
        names[count++] = families[i].type;
    }
    for (uint32_t i = 0; i < COMPOSITE_COUNT && count < capacity; i++) {
        names[count++] = composites[i].type;
    }
    return count;
}
