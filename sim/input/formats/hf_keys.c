/* Which keys of a config.json are understood, which change nothing here, and which name layers that
 * a model file does not have. What is none of these and looks like a shape is refused by its name:
 * a shape that was not read is a wrong model. A key that is off (null, false, 0, empty) says
 * that there is none of it. Cost is keys times rows.
 */
#include "input/formats/hf_reading.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

/* ---- names ---------------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

/* A pattern is a name, or has a '*' at its end, its beginning, or both. */
static bool matches(const char *pattern, const char *key)
{
    const size_t length = strlen(pattern);
    const size_t key_length = strlen(key);
    const bool from = pattern[0] == '*';
    const bool to = pattern[length - 1] == '*';
    const size_t inner = length - from - to;
    if (from && to) {
        for (size_t i = 0; i + inner <= key_length; i++) {
            if (strncmp(key + i, pattern + 1, inner) == 0) {
                return true;
            }
        }
        return false;
    }
    if (from) {
        return key_length >= inner && strcmp(key + key_length - inner, pattern + 1) == 0;
    }
    return to ? strncmp(key, pattern, inner) == 0 : strcmp(key, pattern) == 0;
}

static bool is_one_of(const char *const *patterns, const char *key)
{
    for (uint32_t i = 0; patterns != NULL && patterns[i] != NULL; i++) {
        if (matches(patterns[i], key)) {
            return true;
        }
    }
    return false;
}

/* ---- keys that change neither parameters nor FLOPs ------------------------------------- */

static const char *const harmless[] = {
    /* what the file is */
    "model_type", "architectures", "auto_map", "transformers_version", "torch_dtype", "dtype", "_*",
    "*_dtype", "is_decoder", "use_cache", "tokenizer_class", "model_version", "model_name",
    "torchscript", "return_dict*", "output_*", "use_return_dict", "finetuning_task", "problem_type",
    "task_specific_params", "id2label", "label2id", "num_labels", "prefix", "pruned_heads",
    "chunk_size_feed_forward", "gradient_checkpointing", "pretraining_tp", "quantization_config",
    "compression_config", "for_llm_compressor", "onnx_safe", "bf16", "fp16", "fp32",
    "use_flash_attn*", "attn_implementation", "use_bfloat16", "tf_legacy_loss",
    "cache_implementation", "ep_size", "expert_dtype", "reward_token_id", "lm_head", "rm_head",
    "is_causal", "max_tokenizer_truncation", "model_max_length", "num_logits_to_keep",
    "num_reward_heads", "softmax_scale", "learned_softmax_scale", "init_device",
    /* of generation */
    "*_token", "*_token_id", "*_token_index", "*_token_ids", "*_words_ids", "max_length",
    "min_length", "num_beams", "num_beam_groups", "num_return_sequences", "no_repeat_ngram_size",
    "encoder_no_repeat_ngram_size", "diversity_penalty", "length_penalty", "repetition_penalty",
    "temperature", "top_k", "top_p", "typical_p", "do_sample", "early_stopping", "suppress_tokens",
    "begin_suppress_tokens", "remove_invalid_values", "tie_encoder_decoder",
    "exponential_decay_length_penalty", "generation_config",
    /* numbers of norms, activations, positions, scales, initial values */
    "*_eps", "*_epsilon", "hidden_act", "hidden_activation", "activation_function", "rope_*",
    "*_rope_theta", "rotary_*", "use_mrope", "mrope_*", "original_rope", "partial_rotary_factor",
    "original_max_position_embeddings", "initial_context_length", "use_dynamic_ntk",
    "use_logn_attn", "initializer_*", "init_*", "emb_init*", "param_init_fn",
    "embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling",
    "logit_scale", "scale_emb", "scale_depth", "dim_model_base", "scale_attn_*", "*softcapping",
    "query_pre_attn_scalar", "attn_temperature_tuning", "attn_scale", "floor_scale",
    "use_qk_norm_scale", "clip_qkv", "resid_scale", "embedding_fraction", "logit_*", "mup_*",
    "max_window_layers", "apply_query_key_layer_scaling",
    "apply_residual_connection_post_layernorm", "attention_softmax_in_fp32",
    "fp32_residual_connection", "bias_dropout_fusion", "post_layer_norm", "rmsnorm",
    "bias_activation_fusion", "gelu_approximation", "z_loss*", "truncate",
    "use_bidirectional_attention", "position_embedding_type", "reorder_and_upcast_attn",
    "scale_attn_by_inverse_layer_idx", "summary_*", "n_ctx", "norm_type",
    /* dropout: said by the family's key where it has one */
    "*dropout*", "*_pdrop", "*_drop_prob", "*_jitter*", "*_jitter_eps",
    /* routing, its losses and weights */
    "*_loss_coef*", "*_loss_alpha", "*_loss_weight", "aux_loss_*", "norm_topk_prob", "scoring_func",
    "routed_scaling_factor", "*_scaling_factor", "seq_aux", "moe_renormalize", "ffn_act_fn",
    "moe_normalize_expert_weights", "uniform_expert_assignment", "topk_method",
    "norm_expert_weight",
    /* of images and the like, beside a decoder's own keys */
    "vision_config", "audio_config", "image_*", "video_*", "vision_*", "audio_*", "mm_*",
    "use_mm_*", "tune_mm_*", "freeze_mm_*", "unfreeze_mm_*", "img_processor", "embd_layer",
    "ignore_index", "projector_*", "force_image_size", "dynamic_image_size",
    /* read in their own ways */
    "tie_word_embeddings", "layer_types", "swiglu_limit", "use_mla", "mlp_only_layers", NULL};

/* ---- keys of layers that a model file does not have ---------------------------------------- */

static const struct {
    const char *pattern, *reason;
} layers[] = {
    {"linear_num_*", "layers of linear attention (Gated DeltaNet)"},
    {"linear_*_dim", "layers of linear attention (Gated DeltaNet)"},
    {"full_attention_interval", "layers of linear attention"},
    {"linear_attn_config", "layers of linear attention"},
    {"attn_type_list", "layers of another attention"},
    {"mamba_*", "state-space layers (Mamba)"},
    {"ssm_*", "state-space layers (Mamba)"},
    {"state_size", "state-space layers (Mamba)"},
    {"time_step_*", "state-space layers (Mamba)"},
    {"hybrid_override_pattern", "state-space layers (Mamba)"},
    {"attn_layer_*", "layers of two kinds, some without attention"},
    {"layers_block_type", "layers of two kinds, some without attention"},
    {"conv_*", "layers of convolutions"},
    {"lru_width", "recurrent layers"},
    {"index_*", "sparse attention, whose keys an indexer chooses"},
    {"compress_ratios", "attention over compressed keys"},
    {"o_lora_rank", "attention whose output is compressed"},
    {"hc_mult", "hyper-connections"},
    {"sparse_attention_config", "sparse attention in blocks"},
    {"blocksparse_*", "sparse attention in blocks"},
    {"sparse_*", "sparse attention in blocks"},
    {"moba_*", "sparse attention in blocks"},
    {"cross_attention_*", "cross-attention to an encoder"},
    {"add_cross_attention", "cross-attention to an encoder"},
    {"is_encoder_decoder", "an encoder beside its decoder"},
    {"block_configs", "layers that differ from one another"},
    {"attn*_output_gate", "a gate behind attention"},
    {"attention_output_gate", "a gate behind attention"},
    {"use_head_wise_attn_gate", "a gate behind attention"},
    {"attention_other_setting", "layers with a window whose heads are not those of the others"},
    {"swa_*", "layers with a window whose heads are not those of the others"},
    {"global_head_dim", "layers without a window whose heads are not those of the others"},
    {"num_global_key_value_heads",
     "layers without a window whose heads are not those of the others"},
    {"hybrid_layer_pattern", "layers with a window whose heads are not those of the others"},
    {"attention_k_eq_v", "values that are keys"},
    {"num_kv_shared_layers", "layers that share keys and values"},
    {"use_cla", "layers that share keys and values"},
    {"hidden_size_per_layer_input", "embeddings a layer"},
    {"altup_*", "hidden states that are several at once"},
    {"laurel_rank", "a second way around each layer"},
    {"enable_moe_block", "experts beside an MLP in the same layer"},
    {"routed_expert_hidden_size", "experts of another width than the layer"},
    {"moe_latent_size", "experts of another width than the layer"},
    {"zero_expert_*", "experts that compute nothing"},
    {"attn_res_block_size", "residuals over several layers"},
    {"type_vocab_size", "a second embedding (of segments)"},
    {"word_embed_proj_dim", "an embedding of another width than the layers"},
    {"embedding_size", "an embedding of another width than the layers"},
};

/* ---- whether a key says something ---------------------------------------------------------- */

static bool is_number(const struct doc_node *node)
{
    char *end = NULL;
    if (node->kind != DOC_SCALAR || node->is_quoted || node->text[0] == '\0') {
        return false;
    }
    (void)strtod(node->text, &end);
    return *end == '\0';
}

static bool is_off(const struct doc_node *node)
{
    static const char *const words[] = {"false", "none", "", NULL};
    if (node->kind == DOC_SCALAR) {
        for (uint32_t i = 0; words[i] != NULL; i++) {
            if (strcmp(node->text, words[i]) == 0) {
                return true;
            }
        }
        return is_number(node) && !(strtod(node->text, NULL) > 0.0) &&
               !(strtod(node->text, NULL) < 0.0);
    }
    return node->kind == DOC_NULL || node->child == NULL;
}

/* By its name and what it holds: a number, a list or a text of a size, a switch of a part. */
static bool looks_like_shape(const struct doc_node *node)
{
    static const char *const sizes[] = {"*size*",       "*dim*",     "*rank*",   "*head*",
                                        "*layer*",      "*expert*",  "*hidden*", "*intermediate*",
                                        "*interleave*", "*ffn*",     "*width*",  "*depth*",
                                        "*group*",      "*kernel*",  "*conv*",   "*freq*",
                                        "*ratio*",      "*pattern*", "*num_*",   "n_*",
                                        "*_step",       "*every*",   "*mlp*",    "*block*",
                                        "*window*",     "*topk*",    "*top_k*",  "*module*",
                                        "*expand*",     "*vocab*",   "*state*",  "*channels*",
                                        "*gate*",       "d_model*",  "*memory*", NULL};
    static const char *const parts[] = {"*bias*",  "*norm*", "*gate*",   "*moe*",    "*expert*",
                                        "*attn*",  "*conv*", "*mla*",    "*memory*", "*attention*",
                                        "*share*", "*mtp*",  "*double*", NULL};
    static const char *const lists[] = {"*pattern*", "*layer*", "*block*", "*freq*", NULL};
    if (node->kind == DOC_MAPPING) {
        return matches("*_config", node->key) || matches("*_cfg", node->key);
    }
    if (node->kind == DOC_SEQUENCE) {
        return is_one_of(lists, node->key) ||
               (is_number(node->child) && is_one_of(sizes, node->key));
    }
    if (is_number(node)) {
        return is_one_of(sizes, node->key);
    }
    return strcmp(node->text, "true") == 0 ? is_one_of(parts, node->key)
                                           : is_one_of(lists, node->key);
}

/* ---- keys that are understood -------------------------------------------------------------- */

static bool is_name_of(const char *own, const char *key)
{
    if (strcmp(own, key) == 0) {
        return true;
    }
    for (uint32_t i = 0; hf_alias(own, i) != NULL; i++) {
        if (strcmp(hf_alias(own, i), key) == 0) {
            return true;
        }
    }
    return false;
}

/* Fields of windows and experts are understood by families that have such layers, also where a
 * switch of the file is off. */
static bool has_field(const struct hf_family *family, uint32_t field)
{
    if (field >= HF_WINDOW && field <= HF_WINDOW_EVERY) {
        return family->window != HF_WINDOW_NONE;
    }
    return field < HF_EXPERTS || field > HF_GROUP_LIMIT || family->experts != HF_EXPERTS_NONE;
}

static bool is_switch(const struct hf_family *family, const char *key)
{
    const struct hf_switch *const switches[] = {
        &family->qkv_biases,    &family->projection_biases, &family->mlp_biases,
        &family->norm_biases,   &family->qk_norm,           &family->router_biases,
        &family->kv_switch,     &family->mtp_switch,        &family->note_switch,
        &family->latent_switch, &family->shared_switch,
    };
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
        const char *own = switches[i]->key;
        if (own != NULL && strcmp(own + (own[0] == '!'), key) == 0) {
            return true;
        }
    }
    /* said again where the class has these norms whatever the file says */
    const bool has_norms = family->qk_norm.key == NULL && family->qk_norm.by_default;
    return (family->window_switch != NULL && strcmp(family->window_switch, key) == 0) ||
           (has_norms && strcmp(key, "use_qk_norm") == 0);
}

static bool is_understood(const struct hf_reading *reading, const char *path)
{
    const struct hf_family *family = reading->family;
    for (uint32_t field = 0; field < HF_FIELD_COUNT_; field++) {
        if (family->keys[field] != NULL && has_field(family, field) &&
            is_name_of(family->keys[field], path)) {
            return true;
        }
    }
    return is_switch(family, path) || is_one_of(family->other_keys, path);
}

/* Whether fields of the family lie in the mapping under this key. */
static bool holds_fields(const struct hf_reading *reading, const char *key)
{
    for (uint32_t field = 0; field < HF_FIELD_COUNT_; field++) {
        const char *own = reading->family->keys[field];
        if (own != NULL && starts_with(own, key) && own[strlen(key)] == '.') {
            return true;
        }
    }
    return false;
}

/* ---- the check ----------------------------------------------------------------------------- */

static bool names_layers(struct hf_reading *reading, const struct doc_node *node)
{
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        if (matches(layers[i].pattern, node->key)) {
            reading->is_bad = true;
            diag_add(reading->diag, DIAG_INPUT, &node->key_place,
                     "'%.*s' means %s, which a model file does not have", HF_SHOWN_MAX, node->key,
                     layers[i].reason);
            diag_help(reading->diag,
                      "of a %.*s it has attention over all keys or a window of "
                      "them, and an MLP or experts in each layer",
                      HF_SHOWN_MAX, reading->type);
            return true;
        }
    }
    return false;
}

static void check_key(struct hf_reading *reading, const struct doc_node *node, const char *path)
{
    if (is_off(node) || is_understood(reading, path)) {
        return;
    }
    if (names_layers(reading, node) || is_one_of(harmless, node->key) || !looks_like_shape(node)) {
        return;
    }
    reading->is_bad = true;
    diag_add(reading->diag, DIAG_INPUT, &node->key_place,
             "'%.*s' looks like a shape, and is none that is known of %.*s", HF_SHOWN_MAX,
             node->key, HF_SHOWN_MAX, reading->type);
    diag_help(reading->diag, "take it out if it changes neither parameters nor FLOPs; else write a "
                             "model file by hand");
}

void hf_check_keys(struct hf_reading *reading)
{
    for (const struct doc_node *node = reading->config->child; node != NULL; node = node->next) {
        if (node->kind != DOC_MAPPING || !holds_fields(reading, node->key)) {
            check_key(reading, node, node->key);
            continue;
        }
        for (const struct doc_node *inner = node->child; inner != NULL; inner = inner->next) {
            check_key(reading, inner, arena_printf(reading->arena, "%s.%s", node->key, inner->key));
        }
    }
}
