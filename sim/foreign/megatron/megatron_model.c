/* The model of Megatron's arguments. Shapes come from the arguments alone, and what the trainer
 * takes where they are silent: ffn_hidden_size is 4 times hidden_size, with SwiGLU two thirds of
 * that in multiples of 64 (validate_args of megatron/training/arguments.py).
 */
#include "foreign/megatron/megatron_run.h"

#include "foreign/launch/hub.h"

#include "base/arena.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* Tokenizers whose words everybody has. */
static const struct {
    const char *type;
    int64_t words;
} tokenizers[] = {
    {"GPT2BPETokenizer", 50257},
    {"BertWordPieceLowerCase", 30522},
    {"BertWordPieceCase", 28996},
    {"Llama2Tokenizer", 32000},
};

/* A part of the program's name: "gpt" of pretrain_gpt.py. */
static bool runs(const struct told *told, const char *part)
{
    const struct told_setting *program = told_find(told, "program");
    return program != NULL && strstr(program->value, part) != NULL;
}

static void put_vocabulary(struct told *told)
{
    static const char *const names[] = {"padded_vocab_size", "padded vocab", "vocab_size"};
    if (told->importer->vocabulary > 0) {
        told_put_count(told, "model.vocab", told->importer->vocabulary, NULL);
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (told_has(told, names[i])) {
            told_put_count(told, "model.vocab", told_need(told, names[i]), names[i]);
            return;
        }
    }
    const char *type = told_text(told, "tokenizer_type");
    const bool is_usual = type[0] == '\0' && told_find(told, "vocab_file") != NULL;
    type = !is_usual            ? type
           : runs(told, "bert") ? "BertWordPieceLowerCase"
           : runs(told, "gpt")  ? "GPT2BPETokenizer"
                                : type;
    for (size_t i = 0; i < sizeof tokenizers / sizeof *tokenizers && !told->is_whole; i++) {
        if (strcmp(type, tokenizers[i].type) == 0) {
            told_put_count(told, "model.vocab", tokenizers[i].words,
                           is_usual ? "vocab_file" : "tokenizer_type");
            told_note(told, arena_printf(told->importer->arena,
                                         "model.vocab %" PRId64 ", as the usual %s has",
                                         tokenizers[i].words, type));
            return;
        }
    }
    const int64_t known =
        told->is_whole ? 0 : hub_vocabulary(told->importer, told_text(told, "tokenizer_model"));
    if (known > 0) {
        told_put_count(told, "model.vocab", known, "tokenizer_model");
        told_note(told,
                  arena_printf(told->importer->arena, "model.vocab %" PRId64 ", as %s has", known,
                               hub_model(told->importer, told_text(told, "tokenizer_model"))));
        return;
    }
    if (told->is_whole) {
        told_need(told, "vocab_size");
        return;
    }
    told_refuse(told, told_has(told, "tokenizer_type") ? "tokenizer_type" : NULL,
                arena_printf(told->importer->arena, "%s does not tell the size of the vocabulary",
                             told->what),
                "say it: --vocab N; or name the model, --model NAME");
}

static bool is_gated(struct told *told)
{
    return told_truth(told, "swiglu", false) || told_truth(told, "quick_geglu", false);
}

static int64_t ffn_of(struct told *told, int64_t hidden)
{
    const int64_t width = hidden < INT32_MAX ? hidden : INT32_MAX;
    const int64_t usual = is_gated(told) && !told->is_whole ? width * 8 / 3 / 64 * 64 : 4 * width;
    return told_count(told, "ffn_hidden_size", usual);
}

static void put_attention(struct told *told, int64_t hidden)
{
    const int64_t heads = told_need(told, "num_attention_heads");
    const bool is_grouped = told_truth(told, "group_query_attention", false);
    const bool has_latents = told_truth(told, "multi_latent_attention", false);
    told_put_count(told, "model.heads", heads, "num_attention_heads");
    if (told_has(told, "num_key_value_heads") && !told->is_whole) { /* Megatron-DeepSpeed's */
        told_put_count(told, "model.kv_heads", told_need(told, "num_key_value_heads"),
                       "num_key_value_heads");
    } else if (is_grouped && !has_latents) {
        told_put_count(told, "model.kv_heads", told_count(told, "num_query_groups", 1),
                       "num_query_groups");
    }
    const int64_t channels = told_count(told, "kv_channels", 0);
    if (!has_latents && channels > 0 && heads < INT32_MAX && channels < INT32_MAX &&
        channels * heads != hidden) {
        told_put_count(told, "model.head_dim", channels, "kv_channels");
    }
    const bool has_norms =
        told_truth(told, "qk_layernorm", false) || told_truth(told, "qk_l2_norm", false);
    if (has_norms && !has_latents) { /* latents have norms of their own */
        told_put(told, "model.qk_norm", "true",
                 told_truth(told, "qk_layernorm", false) ? "qk_layernorm" : "qk_l2_norm");
    }
    if (told_is(told, "softmax_type", "learnable")) {
        told_put(told, "model.sinks", "true", "softmax_type");
    }
}

/* Latent attention; defaults of MLATransformerConfig. */
static void put_latents(struct told *told)
{
    static const struct {
        const char *path, *name;
        int64_t absent;
    } rows[] = {
        {"model.latent.q_rank", "q_lora_rank", 0},
        {"model.latent.kv_rank", "kv_lora_rank", 32},
        {"model.latent.nope_dim", "qk_head_dim", 128},
        {"model.latent.rope_dim", "qk_pos_emb_head_dim", 64},
        {"model.latent.value_dim", "v_head_dim", 128},
    };
    if (!told_truth(told, "multi_latent_attention", false)) {
        return;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        told_put_count(told, rows[i].path, told_count(told, rows[i].name, rows[i].absent),
                       told_has(told, rows[i].name) ? rows[i].name : "multi_latent_attention");
    }
}

/* "(127, 0)", "128,0": keys that a query sees, its own among them; and which layers have it. */
static void put_window(struct told *told)
{
    const char *text = told_text(told, "window_size");
    text += strspn(text, "([ ");
    int64_t left = 0;
    if (!text_span_count((struct text_span){text, text + strspn(text, "0123456789")}, &left)) {
        return;
    }
    const char *skip = told_text(told, "window_attn_skip_freq");
    const int64_t every =
        isdigit((unsigned char)skip[0]) ? told_count(told, "window_attn_skip_freq", 0) : 0;
    told_put_count(told, "model.window", left + 1, "window_size");
    if (every > 1) {
        told_put_count(told, "model.full_every", every, "window_attn_skip_freq");
    } else if (skip[0] != '\0') {
        told_refuse(told, "window_attn_skip_freq", "this list of layers with a window is not read",
                    "a number N is: each Nth layer has none; or name the model, --model NAME");
    }
}

static bool is_rotary_type(const char *type)
{
    return strcmp(type, "rope") == 0 || strcmp(type, "rotary") == 0 || strcmp(type, "yarn") == 0 ||
           strcmp(type, "mrope") == 0;
}

static void put_positions(struct told *told)
{
    const char *type = told_text(told, "position_embedding_type");
    if (told->is_whole && type[0] == '\0') {
        return; /* of an older release: by the family */
    }
    const bool is_rotary =
        told_truth(told, "use_rotary_position_embeddings", false) || is_rotary_type(type);
    const bool is_alibi = strcmp(type, "alibi") == 0;
    const bool is_learned =
        type[0] == '\0' || strncmp(type, "learned", 7) == 0 || strcmp(type, "absolute") == 0;
    const bool has_none = strcmp(type, "none") == 0 ||
                          (is_learned && !told_truth(told, "add_position_embedding", true));
    if (!is_rotary && !is_alibi && !is_learned && !has_none) {
        told_refuse(
            told, "position_embedding_type",
            arena_printf(told->importer->arena, "positions of the kind '%.40s' are not read", type),
            "rope, yarn, learned_absolute, alibi or none; or name the model, --model NAME");
    }
    told_put(told, "model.positions",
             is_rotary              ? "rotary"
             : is_alibi || has_none ? "alibi" /* no table, and nothing that is rotated */
                                    : "learned",
             told_has(told, "position_embedding_type") ? "position_embedding_type"
             : is_rotary                               ? "use_rotary_position_embeddings"
                                                       : NULL);
    if (strcmp(type, "yarn") == 0) {
        told_put(told, "model.rotary_scaled", "true", "position_embedding_type");
    }
}

/* "([0]*3+[1]*58)": dense layers first, then layers with experts; "2": every second. */
static void put_moe_layers(struct told *told, int64_t layers)
{
    const char *text = told_text(told, "moe_layer_freq");
    int64_t dense = 0, sparse = 0;
    if (text[0] == '\0' || strcmp(text, "1") == 0) {
        return;
    }
    if (isdigit((unsigned char)text[0])) {
        told_put_count(told, "model.expert_every", told_count(told, "moe_layer_freq", 1),
                       "moe_layer_freq");
        return;
    }
    for (const char *at = text; *at != '\0';) {
        if (*at != '0' && *at != '1') {
            at += strchr("[]()+, ", *at) != NULL ? 1 : strlen(at);
            continue;
        }
        int64_t *kind = *at == '0' ? &dense : &sparse;
        if (*at == '0' && sparse > 0) {
            dense = -1;
            break;
        }
        int64_t times = 1;
        at++;
        const char *star = at + strspn(at, "] ");
        if (*star == '*') {
            const char *digits = star + 1 + strspn(star + 1, " ");
            const size_t length = strspn(digits, "0123456789");
            if (!text_span_count((struct text_span){digits, digits + length}, &times)) {
                dense = -1;
                break;
            }
            at = digits + length;
        }
        *kind += times < INT32_MAX ? times : INT32_MAX;
    }
    if (dense < 0 || dense + sparse != layers) {
        told_refuse(told, "moe_layer_freq", "these layers with and without experts are not read",
                    "dense ones first, of as many as num_layers: [0]*3+[1]*58; or --model NAME");
        return;
    }
    if (dense > 0) {
        told_put_count(told, "model.dense_layers", dense, "moe_layer_freq");
    }
}

static void put_experts(struct told *told, int64_t ffn, int64_t layers)
{
    const int64_t experts = told_count(told, "num_experts", 0);
    if (experts < 2) {
        return;
    }
    const bool has_width = told_has(told, "moe_ffn_hidden_size");
    int64_t width = told_count(told, "moe_ffn_hidden_size", ffn);
    width = width > 0 ? width : 1;
    const int64_t shared = told_count(told, "moe_shared_expert_intermediate_size", 0);
    const bool is_old = !told_has(told, "moe_router_topk") && told_has(told, "topk");
    told_put_count(told, "model.experts", experts, "num_experts");
    told_put_count(
        told, "model.experts_per_token",
        told_count(told, is_old ? "topk" : "moe_router_topk", megatron_is_deepspeed(told) ? 1 : 2),
        is_old ? "topk" : "moe_router_topk");
    told_put_count(told, "model.expert_hidden", width, has_width ? "moe_ffn_hidden_size" : NULL);
    if (shared > 0) {
        told_put_count(told, "model.shared_experts", shared >= width ? shared / width : 1,
                       "moe_shared_expert_intermediate_size");
        if (shared % width != 0) {
            told_put_count(told, "model.shared_hidden", shared,
                           "moe_shared_expert_intermediate_size");
        }
    }
    put_moe_layers(told, layers);
    if (megatron_is_deepspeed(told) && !told->is_whole) { /* 2 unless it is said */
        told_put_count(told, "model.expert_every", told_count(told, "expert_interval", 2),
                       "expert_interval");
    }
    if (told_truth(told, "moe_router_enable_expert_bias", false)) {
        told_put(told, "model.router_biases", "true", "moe_router_enable_expert_bias");
    }
    if (told_count(told, "moe_router_num_groups", 0) > 1) {
        told_put_count(told, "model.expert_groups", told_need(told, "moe_router_num_groups"),
                       "moe_router_num_groups");
        told_put_count(told, "model.group_limit", told_need(told, "moe_router_group_topk"),
                       "moe_router_group_topk");
    }
}

/* Dropout is 0.1 unless it is said. */
static void put_dropout(struct told *told)
{
    if (told->is_whole && !told_has(told, "hidden_dropout")) {
        return;
    }
    const double absent = 0.1;
    const bool has_dropout = told_number(told, "hidden_dropout", absent) > 0 ||
                             told_number(told, "attention_dropout", absent) > 0;
    const bool is_said = told_has(told, "hidden_dropout");
    told_put_truth(told, "model.dropout", has_dropout, is_said ? "hidden_dropout" : NULL);
    if (has_dropout && !is_said) {
        told_note(told, "model.dropout true: hidden_dropout and attention_dropout are 0.1 unless "
                        "they are said");
    }
}

static void put_biases(struct told *told)
{
    if (told->is_whole && !told_has(told, "add_bias_linear")) {
        return;
    }
    const bool has_biases = told_truth(told, "add_bias_linear", true);
    told_put_truth(told, "model.biases", has_biases,
                   told_has(told, "add_bias_linear") ? "add_bias_linear" : NULL);
    if (told_truth(told, "add_qkv_bias", false) && !has_biases) {
        told_put(told, "model.qkv_biases", "true", "add_qkv_bias");
    }
}

static int64_t layers_of(struct told *told)
{
    const bool is_old = !told_has(told, "num_layers") && told_has(told, "encoder_num_layers");
    return told_need(told, is_old ? "encoder_num_layers" : "num_layers");
}

void megatron_model(struct told *told)
{
    const int64_t hidden = told_need(told, "hidden_size");
    const int64_t layers = layers_of(told);
    const int64_t ffn = ffn_of(told, hidden);
    const int64_t length =
        told_count(told, "seq_length", told_count(told, "encoder_seq_length", 1));
    told_put(told, "model.model", "as-told", NULL);
    told_put_count(told, "model.layers", layers, "num_layers");
    told_put_count(told, "model.hidden", hidden, "hidden_size");
    told_put_count(told, "model.ffn_hidden", ffn,
                   told_has(told, "ffn_hidden_size") ? "ffn_hidden_size" : NULL);
    put_attention(told, hidden);
    put_vocabulary(told);
    told_put_count(told, "model.max_positions", told_count(told, "max_position_embeddings", length),
                   "max_position_embeddings");
    told_put(told, "model.mlp", is_gated(told) ? "swiglu" : "gelu",
             told_truth(told, "swiglu", false) ? "swiglu" : NULL);
    told_put(told, "model.norm",
             told_is(told, "normalization", "RMSNorm") ? "rmsnorm" : "layernorm", "normalization");
    put_positions(told);
    put_biases(told);
    put_dropout(told);
    told_put_truth(told, "model.tied_embeddings",
                   !told_truth(told, "untie_embeddings_and_output_weights", false),
                   "untie_embeddings_and_output_weights");
    if (runs(told, "bert")) {
        told_put(told, "model.causal", "false", "program");
    }
    if (told_truth(told, "embed_layernorm", false)) {
        told_put(told, "model.embedding_norm", "true", "embed_layernorm");
    }
    if (told_has(told, "activation_func_clamp_value")) {
        told_put(told, "model.mlp_clamped", "true", "activation_func_clamp_value");
    }
    put_latents(told);
    put_window(told);
    put_experts(told, ffn, layers);
    if (told_count(told, "mtp_num_layers", 0) > 0) {
        told_put_count(told, "model.mtp_layers", told_need(told, "mtp_num_layers"),
                       "mtp_num_layers");
    }
}
