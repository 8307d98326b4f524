/* Families of Hugging Face models: how the layers of a decoder are made, and under which key a
 * config.json says what.
 *
 * A shape that the file does not give is an error: no number of a class of transformers stands in
 * for it. What may be missing is what follows from others (head_dim from hidden_size), what is none
 * (a window that is null), and switches, whose default in the class is in the row. Facts are those
 * of transformers' src/transformers/models/TYPE, or of the code beside the weights on the hub.
 *
 * Which model_type is of which family: hf_types.h.
 */
#ifndef INPUT_FORMATS_HF_FAMILIES_H
#define INPUT_FORMATS_HF_FAMILIES_H

#include "input/formats/hf_hybrids.h"

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

/* What a missing key means: an error, unless the row says a number or one of these. */
enum hf_default {
    HF_REQUIRED = 0,
    HF_NULL = -1, /* none at all */
    HF_AS_HEADS = -2,
    HF_HIDDEN_PER_HEAD = -3,
    HF_FOUR_HIDDEN = -4,
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
    const char *name;
    const char *const *keys;             /* by enum hf_field, dotted inside mappings; NULL: none */
    int64_t by_default[HF_FIELD_COUNT_]; /* or an enum hf_default */
    const char *mlp, *norm, *positions;  /* words of a model file */
    int64_t alibi_from_hidden;           /* from this width on positions are alibi; 0: never */
    bool is_tied;                        /* tie_word_embeddings */
    struct hf_switch qkv_biases, projection_biases, mlp_biases;
    struct hf_switch norm_biases; /* of layernorm */
    struct hf_switch qk_norm, router_biases;
    struct hf_switch kv_switch;  /* without it keys have as many heads as queries; key NULL: none */
    struct hf_switch mtp_switch; /* without it there is no HF_MTP; key NULL: none */
    struct hf_switch shared_switch; /* and no HF_SHARED */
    const char *dropout_key;        /* a rate; NULL: the model has none */
    bool has_dropout;               /* when that key is missing */
    bool has_sinks, clamps_mlp;
    bool is_mpt;   /* the MLP's width is a ratio, attention a mapping of its own */
    bool is_gated; /* HF_FFN counts the two matrices of gate and up together (the first Qwen) */
    enum hf_window window;
    const char *window_switch; /* boolean key without which there is none; or NULL */
    enum hf_experts experts;
    const struct hf_hybrid *hybrid; /* which layers have which mixer; NULL: all have attention */
    struct hf_switch latent_switch; /* false: the family `unlatent` is meant; key NULL: none */
    const char *unlatent;           /* its name */
    const char *note;               /* what a model file cannot say; or NULL */
    struct hf_switch note_switch;   /* the note holds when this is true; key NULL: always */
    const char *const *other_keys;  /* keys of it that change nothing here; ends with NULL */
};

/* The family of that name, or NULL. */
const struct hf_family *hf_family_find(const char *name);

#endif
