/* One table, in groups. Reasons are in the words of the field: the message is "has NOUN, which a
 * model file does not have". Lists are short, scans plain.
 */
#include "input/formats/hf_types.h"

#include <stddef.h>
#include <string.h>

/* ---- what files leave out ------------------------------------------------------------ */

/* Gemma 3's files of 2025 (that of 27B has no vocab_size, that of 4B no heads). */
static const struct hf_standing gemma3_standing[] = {
    {HF_HEADS, 8},          {HF_KV_HEADS, 4},  {HF_HEAD_DIM, 256},   {HF_VOCAB, 262208},
    {HF_POSITIONS, 131072}, {HF_WINDOW, 4096}, {HF_WINDOW_EVERY, 6}, {HF_LAYERS, 0},
};

/* LLaVA 1.5 of transformers: what equals LLaMA-7B is not in its text_config. */
static const struct hf_standing llava_standing[] = {
    {HF_LAYERS, 32}, {HF_HIDDEN, 4096}, {HF_HEADS, 32}, {HF_FFN, 11008}, {HF_LAYERS, 0},
};

/* DeepSeek-VL2's language_config has no dimensions of heads where they are DeepSeek-V2's. */
static const struct hf_standing deepseek_vl_standing[] = {
    {HF_NOPE_DIM, 128},
    {HF_ROPE_DIM, 64},
    {HF_VALUE_DIM, 128},
    {HF_LAYERS, 0},
};

/* ---- reasons -------------------------------------------------------------------------- */

static const char state_space[] = "state-space layers (Mamba)";
static const char delta_net[] = "layers of linear attention (Gated DeltaNet)";
static const char kimi_delta[] = "layers of linear attention (delta attention)";
static const char lightning[] = "layers of linear attention (lightning attention)";
static const char recurrent[] = "recurrent layers";
static const char convolutions[] = "layers of short convolutions";
static const char compressed[] =
    "attention over compressed keys that an indexer chooses, and hyper-connections";
static const char in_blocks[] = "sparse attention in blocks";
static const char crossing[] = "cross-attention to an encoder in some layers";
static const char no_decoder[] = "an encoder and no decoder";
static const char two_stacks[] = "an encoder beside its decoder";
static const char searched[] = "layers that differ from one another (block_configs)";
static const char other_heads[] = "layers with a window whose heads are not those of the others";
static const char per_layer[] = "embeddings a layer and layers that share keys and values";

/* ---- the table ------------------------------------------------------------------------ */

#define DECODER(name, of)              \
    {                                  \
        .type = (name), .family = (of) \
    }
#define ITSELF(name) DECODER(name, name)
#define HOLDS(name, inner)              \
    {                                   \
        .type = (name), .text = (inner) \
    }
#define HOLDS_OR_IS(name, inner)                         \
    {                                                    \
        .type = (name), .text = (inner), .is_flat = true \
    }
#define REFUSED(name, why)              \
    {                                   \
        .type = (name), .reason = (why) \
    }

static const struct hf_type types[] = {
    /* decoders */
    ITSELF("llama"),
    ITSELF("mistral"),
    DECODER("ministral", "mistral"),
    ITSELF("baichuan"),
    DECODER("granite", "llama"),
    DECODER("exaone", "llama"),
    DECODER("xverse", "llama"),
    DECODER("aquila", "llama"),
    DECODER("Yi", "llama"),
    ITSELF("internlm"),
    ITSELF("internlm2"),
    ITSELF("smollm3"),
    ITSELF("minicpm"),
    ITSELF("qwen"),
    ITSELF("qwen2"),
    ITSELF("qwen3"),
    ITSELF("mimo"),
    ITSELF("seed_oss"),
    ITSELF("chatglm"),
    ITSELF("glm"),
    ITSELF("glm4"),
    ITSELF("gemma"),
    ITSELF("gemma2"),
    {.type = "gemma3_text", .family = "gemma3_text", .standing = gemma3_standing},
    ITSELF("gemma4_text"),
    ITSELF("phi3"),
    ITSELF("olmo"),
    ITSELF("olmo2"),
    ITSELF("olmo3"),
    ITSELF("cohere"),
    ITSELF("cohere2"),
    ITSELF("gpt2"),
    ITSELF("gpt_neox"),
    ITSELF("phi"),
    ITSELF("starcoder2"),
    ITSELF("nemotron"),
    ITSELF("stablelm"),
    ITSELF("mpt"),
    ITSELF("dbrx"),
    ITSELF("mixtral"),
    ITSELF("granitemoe"),
    ITSELF("olmoe"),
    ITSELF("phimoe"),
    ITSELF("minimax_m2"),
    ITSELF("hunyuan_v1_moe"),
    ITSELF("qwen2_moe"),
    ITSELF("qwen3_moe"),
    ITSELF("deepseek"),
    ITSELF("dots1"),
    ITSELF("glm4_moe"),
    ITSELF("deepseek_v2"),
    ITSELF("deepseek_v3"),
    DECODER("kimi_k2", "deepseek_v3"),
    ITSELF("deepseek_v32"),
    DECODER("glm_moe_dsa", "deepseek_v32"),
    ITSELF("minicpm3"),
    ITSELF("gpt_oss"),
    ITSELF("llama4_text"),
    ITSELF("nemotron_h"),
    ITSELF("granitemoehybrid"),
    ITSELF("falcon_h1"),
    ITSELF("qwen3_next"),
    ITSELF("qwen3_5_text"),
    DECODER("qwen3_5_moe_text", "qwen3_next"),
    ITSELF("kimi_linear"),
    ITSELF("mimo_v2_flash"),
    DECODER("glm4v_text", "glm4"),
    DECODER("glm4v_moe_text", "glm4_moe"),
    DECODER("qwen2_vl_text", "qwen2"),
    DECODER("qwen2_5_vl_text", "qwen2"),
    ITSELF("qwen3_vl_text"),
    ITSELF("qwen3_vl_moe_text"),

    /* models that hold a decoder */
    HOLDS("llama4", "llama4_text"),
    HOLDS("gemma3", "gemma3_text"),
    HOLDS("gemma4", "gemma4_text"),
    HOLDS("qwen3_5", "qwen3_5_text"),
    HOLDS("qwen3_5_moe", "qwen3_5_moe_text"),
    HOLDS("mistral3", "mistral"),
    HOLDS_OR_IS("qwen2_vl", "qwen2_vl_text"),
    HOLDS_OR_IS("qwen2_5_vl", "qwen2_5_vl_text"),
    HOLDS("glm4v", "glm4v_text"),
    HOLDS("glm4v_moe", "glm4v_moe_text"),
    HOLDS("qwen3_vl", "qwen3_vl_text"),
    HOLDS("qwen3_vl_moe", "qwen3_vl_moe_text"),
    {.type = "llava", .text = "llama", .is_flat = true, .standing = llava_standing},
    {.type = "llava_next", .text = "llama", .is_flat = true, .standing = llava_standing},
    HOLDS("kimi_k25", "kimi_k2"),
    HOLDS("kimi_vl", "deepseek_v3"),
    HOLDS("multi_modality", "llama"),
    {.type = "deepseek_vl_v2", .text = "deepseek_v2", .standing = deepseek_vl_standing},
    HOLDS_OR_IS("phi3_v", "phi3"),
    HOLDS("paligemma", "gemma"),
    HOLDS("idefics3", "llama"),
    HOLDS("smolvlm", "llama"),
    HOLDS("internvl", "qwen2"),
    HOLDS("internvl_chat", "qwen2"),
    HOLDS("aya_vision", "cohere2"),

    /* refused */
    REFUSED("mamba", state_space),
    REFUSED("mamba2", state_space),
    REFUSED("falcon_mamba", state_space),
    REFUSED("jamba", state_space),
    REFUSED("bamba", state_space),
    REFUSED("zamba", state_space),
    REFUSED("zamba2", state_space),
    REFUSED("plamo2", state_space),
    REFUSED("olmo_hybrid", delta_net),
    REFUSED("kimi_k3", kimi_delta),
    REFUSED("minimax", lightning),
    REFUSED("minimax_text_01", lightning),
    REFUSED("minimax_m1", lightning),
    REFUSED("bailing_moe_linear", lightning),
    REFUSED("recurrent_gemma", recurrent),
    REFUSED("rwkv", recurrent),
    REFUSED("rwkv7", recurrent),
    REFUSED("xlstm", recurrent),
    REFUSED("lfm2", convolutions),
    REFUSED("lfm2_moe", convolutions),
    REFUSED("deepseek_v4", compressed),
    REFUSED("deepseek_ref", compressed),
    REFUSED("minimax_m3", in_blocks),
    REFUSED("minimax_m3_vl", in_blocks),
    REFUSED("phi3small", in_blocks),
    REFUSED("mllama", crossing),
    REFUSED("mllama_text_model", crossing),
    REFUSED("nemotron-nas", searched),
    REFUSED("step3p5", other_heads),
    REFUSED("step3p7", other_heads),
    REFUSED("gemma3n", per_layer),
    REFUSED("gemma3n_text", per_layer),
    REFUSED("bert", no_decoder),
    REFUSED("roberta", no_decoder),
    REFUSED("xlm-roberta", no_decoder),
    REFUSED("distilbert", no_decoder),
    REFUSED("deberta-v2", no_decoder),
    REFUSED("modernbert", no_decoder),
    REFUSED("nomic_bert", no_decoder),
    REFUSED("clip", no_decoder),
    REFUSED("clip_vision_model", no_decoder),
    REFUSED("clip_text_model", no_decoder),
    REFUSED("siglip", no_decoder),
    REFUSED("siglip_vision_model", no_decoder),
    REFUSED("vit", no_decoder),
    REFUSED("dinov2", no_decoder),
    REFUSED("wav2vec2", no_decoder),
    REFUSED("t5", two_stacks),
    REFUSED("mt5", two_stacks),
    REFUSED("bart", two_stacks),
    REFUSED("mbart", two_stacks),
    REFUSED("whisper", two_stacks),
};

enum { TYPE_COUNT = sizeof types / sizeof *types };

const struct hf_type *hf_type_find(const char *type)
{
    for (uint32_t i = 0; i < TYPE_COUNT; i++) {
        if (strcmp(types[i].type, type) == 0) {
            return &types[i];
        }
    }
    return NULL;
}

const struct hf_type *hf_type_plain(void)
{
    static const struct hf_type plain = DECODER("decoder", "decoder");
    return &plain;
}

const struct hf_type *hf_type_at(uint32_t index)
{
    return index < TYPE_COUNT ? &types[index] : NULL;
}
