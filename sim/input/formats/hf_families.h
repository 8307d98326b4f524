/* Families of Hugging Face models: under which key a config.json says what, and what a
 * missing key means.
 *
 * A config.json leaves out what equals the default of its class, so a default that is not
 * known here would be a wrong model. Each row has the defaults of one class of
 * transformers' src/transformers/models/TYPE/configuration_TYPE.py; a key for which the
 * class has none must be in the file. kimi_k2 has its class on the hub; it is DeepSeek-V3's.
 */
#ifndef INPUT_FORMATS_HF_FAMILIES_H
#define INPUT_FORMATS_HF_FAMILIES_H

#include <stdbool.h>
#include <stdint.h>

enum hf_field {
    HF_LAYERS,
    HF_HIDDEN,
    HF_HEADS,
    HF_KV_HEADS,
    HF_HEAD_DIM,
    HF_FFN, /* of dense layers */
    HF_VOCAB,
    HF_POSITIONS,
    HF_WINDOW,
    HF_WINDOW_FROM,  /* layers before this one have no window */
    HF_WINDOW_EVERY, /* each so manieth layer has none */
    HF_EXPERTS,
    HF_PER_TOKEN,
    HF_EXPERT_HIDDEN,
    HF_SHARED_HIDDEN, /* of all shared experts together */
    HF_SHARED,        /* shared experts of HF_EXPERT_HIDDEN */
    HF_DENSE_LAYERS,
    HF_EXPERT_STEP,
    HF_GROUPS,
    HF_GROUP_LIMIT,
    HF_MTP,
    HF_Q_RANK,
    HF_KV_RANK,
    HF_NOPE_DIM,
    HF_ROPE_DIM,
    HF_VALUE_DIM,
    HF_FIELD_COUNT_
};

/* Defaults that are no number: the class has none; as another field; null (none at all). */
enum hf_default {
    HF_REQUIRED = -1,
    HF_AS_HEADS = -2,
    HF_HIDDEN_PER_HEAD = -3,
    HF_FOUR_HIDDEN = -4,
    HF_NULL = -5,
};

/* A boolean key and its default; key NULL: always the default; "!key": the opposite of key. */
struct hf_switch {
    const char *key;
    bool by_default;
};

/* Which layers have the window of HF_WINDOW when there is no `layer_types`. */
enum hf_window {
    HF_WINDOW_NONE,
    HF_WINDOW_ALL,
    HF_WINDOW_LATE,     /* from HF_WINDOW_FROM on (Qwen) */
    HF_WINDOW_EVEN,     /* 0, 2, 4, ... before HF_WINDOW_FROM, if there is such a key */
    HF_WINDOW_BUT_EACH, /* all but each HF_WINDOW_EVERY-th (Gemma 3, Llama 4) */
};

/* Which layers have experts. */
enum hf_experts {
    HF_EXPERTS_NONE,
    HF_EXPERTS_ALL,
    HF_EXPERTS_STEP,  /* each HF_EXPERT_STEP-th, but those of mlp_only_layers (Qwen) */
    HF_EXPERTS_AFTER, /* from HF_DENSE_LAYERS on, where HF_EXPERT_STEP divides (DeepSeek) */
    HF_EXPERTS_LIST,  /* those of moe_layers, else each HF_EXPERT_STEP-th (Llama 4) */
};

struct hf_family {
    const char *type;                    /* model_type */
    const char *const *keys;             /* by enum hf_field; NULL: no such key */
    int64_t by_default[HF_FIELD_COUNT_]; /* or an enum hf_default */
    const char *mlp, *norm, *positions;  /* words of a model file */
    bool is_tied;                        /* tie_word_embeddings */
    struct hf_switch qkv_biases, projection_biases, mlp_biases;
    struct hf_switch norm_biases; /* of layernorm */
    const char *dropout_key;      /* a rate; NULL: the model has none */
    bool has_dropout;             /* when that key is missing */
    bool has_qk_norm, has_sinks, has_router_biases, clamps_mlp;
    enum hf_window window;
    const char *window_switch; /* boolean key without which there is none; or NULL */
    enum hf_experts experts;
    const char *note;             /* what a model file cannot say; or NULL */
    struct hf_switch note_switch; /* the note holds when this is true; key NULL: always */
};

/* The family of a model_type, or NULL. */
const struct hf_family *hf_family_find(const char *type);

/* A model_type whose decoder is described in its `text_config`. */
struct hf_composite {
    const char *type;
    const char *text_type; /* family when text_config has no model_type of its own */
    bool is_flat;          /* older files have the decoder's keys beside vision_config */
};
const struct hf_composite *hf_composite_find(const char *type);

/* Fills in all names, of both kinds, in the order of the tables; returns how many. */
#define HF_NAMES_MAX 64
uint32_t hf_family_names(const char **names, uint32_t capacity);

#endif
