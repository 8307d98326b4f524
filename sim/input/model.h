/* The model that is trained: a transformer as its shapes, nothing more.
 *
 * Read from models/llms/NAME.yaml. Decoders of the GPT and Llama families are
 * described, dense or with a mixture of experts in place of the MLP; what they
 * cost (parameters, FLOPs, bytes) is computed in plan/cost, so that a wrong
 * shape shows as a wrong parameter count beside the advertised one.
 *
 *     model: llama3-405b
 *     title: Llama 3.1 405B
 *     source: https://...            # where the shapes come from
 *     layers: 126
 *     hidden: 16384
 *     ffn_hidden: 53248
 *     heads: 128
 *     kv_heads: 8
 *     vocab: 128256
 *     max_positions: 131072
 *     mlp: swiglu
 *     norm: rmsnorm
 *     positions: rotary
 *     advertised_parameters: 405B
 *
 * What each key means, its bounds and what holds without it, of mixtures of experts, latent
 * attention, windows and blocks, too: the table in model.c. Layers whose mixer is a list of
 * operators (input/mixer/mixer.h), and decoders whose layers follow a pattern of their own:
 *
 *     mixers: [{name: ssm, ...}]
 *     layer_types:                   # what a letter of the pattern stands for
 *       M: {mixer: ssm, mlp: none}
 *       "*": {mixer: attention, mlp: none}        # what the keys above say
 *       "-": {mixer: none, mlp: dense}            # or mlp: experts
 *     pattern: M-M*-                 # of all layers, or of as many as divide them
 */
#ifndef INPUT_MODEL_H
#define INPUT_MODEL_H

#include "input/doc/doc_files.h"
#include "input/mixer/mixer.h"
#include "input/schema/schema.h"

enum mlp_kind { MLP_GELU, MLP_SWIGLU };
enum norm_kind { NORM_LAYERNORM, NORM_RMSNORM };
enum position_kind { POSITION_LEARNED, POSITION_ROTARY, POSITION_ALIBI, POSITION_NONE };

#define LAYER_KINDS_MAX 16
/* The decoder has four kinds, each of them perhaps in 16 bits, too, and MTP one. */
#define LAYER_BLOCKS_MAX (LAYER_KINDS_MAX - 9)
/* Types of the decoder's layers: [has experts][has the window], or letters of a pattern. */
#define DECODER_TYPES_MAX 4

/* The branches of a layer, each between a norm and the sum with the hidden state. */
enum layer_branches { LAYER_BOTH, LAYER_MIXER, LAYER_MLP };

/* Multi-head latent attention: what queries, and keys and values together, are compressed to,
 * and the parts of a head (DeepSeek-V2, arXiv 2405.04434, section 2.1). */
struct latent {
    int64_t q_rank;  /* 0: queries are not compressed */
    int64_t kv_rank; /* 0: attention is not latent at all */
    int64_t nope_dim, rope_dim, value_dim;
};

/* Layers of one shape. A model has a few kinds and says of each layer which it is. */
struct layer_kind {
    const char *name; /* "dense", "experts", "experts, window 128", "vision", "mtp" */
    int64_t hidden;
    int64_t tokens; /* of each sequence; 0: the scenario's sequence_length */
    int64_t heads;
    int64_t kv_heads;  /* = heads when latent */
    int64_t head_dim;  /* of queries and keys; when latent nope_dim + rope_dim */
    int64_t value_dim; /* of values; = head_dim unless latent */
    struct latent latent;
    int64_t window; /* keys that a query sees, the last ones or those that an index chose; 0: all
                       * before it */
    bool has_index; /* its mixer has one */
    bool shares_values; /* with keys: of a token and head of them head_dim values are all */
    int64_t document; /* tokens of the one that a token's attention stays in, the mean over tokens;
                       * 0: its sequence. Not of the model: see batch.document_length */
    bool is_causal;
    uint32_t mlp;       /* enum mlp_kind */
    int64_t ffn_hidden; /* of the MLP; without meaning with experts */
    bool has_experts;   /* then experts, expert_hidden, ... are the model's */
    bool is_high;       /* in 16 bits where the others' products have fewer: model_raise */
    bool is_mtp;        /* with the two norms and the projection before it */
    uint32_t branches;  /* enum layer_branches */
    /* Operators of its mixer, whose heads, window and dims are those above; NULL: attention. */
    const struct mixer *mixer;
    int64_t layers; /* of this kind; the mtp kind's are not among model.layers */
};

/* A letter of the pattern. */
struct layer_type {
    const char *letter, *name, *high_name;
    uint32_t branches;         /* enum layer_branches */
    const struct mixer *mixer; /* NULL: the model's attention */
    bool has_experts;
};

/* Which layer of the decoder is of which type. */
struct layer_pattern {
    struct layer_type types[DECODER_TYPES_MAX];
    uint32_t type_count;
    const char *letters; /* of each layer */
};

struct model {
    const char *name;
    const char *title;
    int64_t layers; /* those of blocks, which come first, included; MTP's not */
    int64_t block_layers;
    int64_t hidden;
    int64_t ffn_hidden;
    int64_t heads;
    int64_t kv_heads; /* divides heads */
    int64_t head_dim;
    int64_t vocab;
    int64_t max_positions;
    uint32_t mlp;        /* enum mlp_kind */
    uint32_t norm;       /* enum norm_kind */
    bool has_bare_norms; /* layernorm without biases */
    uint32_t positions;  /* enum position_kind */
    bool has_biases;
    bool is_headless; /* no matrix to the vocabulary, no loss over it; then nothing is tied */
    bool has_tied_embeddings;
    bool has_embedding_norm;
    bool has_dropout;
    bool is_bidirectional; /* the decoder's layers are an encoder's: no causal mask */
    int64_t experts;       /* routed, in each layer but the dense ones; 0: there are none */
    int64_t experts_per_token;
    int64_t expert_hidden;
    int64_t shared_experts;
    int64_t dense_layers; /* the first ones, of a model with experts */
    int64_t expert_every;
    int64_t shared_hidden; /* of all shared experts together */
    bool has_router_biases;
    int64_t expert_groups, group_limit; /* 0: routing is not limited */
    bool has_qkv_biases, has_projection_biases, has_mlp_biases;
    bool has_qk_norm, has_sinks;
    bool clamps_mlp;    /* gate and up, before they are multiplied */
    bool scales_rotary; /* cosines and sines times a factor that is not 1 */
    int64_t window, window_every;
    int64_t full_every; /* layers full_every - 1, 2 full_every - 1, ... have no window; or 0 */
    struct latent latent;
    int64_t mtp_layers;
    struct layer_kind kinds[LAYER_KINDS_MAX];
    uint32_t kind_count;
    uint32_t mtp_kind;    /* of kinds; meaningless without mtp_layers */
    uint32_t block_kinds; /* the first so many of kinds are blocks, in model order */
    uint32_t decoder_kinds[DECODER_TYPES_MAX]; /* of kinds, of each type of layers */
    int64_t high_first, high_last;             /* layers of the decoder that are in 16 bits */
    uint32_t high_kinds[DECODER_TYPES_MAX];    /* theirs */
    const struct mixer *mixers;
    uint32_t mixer_count;
    const struct layer_pattern *pattern; /* NULL: experts and windows say it */
    double advertised_parameters;        /* 0: not stated */
    struct place place;                  /* of the file's root */
    struct place heads_place;            /* for "tp does not divide heads" */
};

/* Fills in what follows from the other fields: defaults of 0 (value 0 of expert_every,
 * window_every, shared_hidden, head_dim of latent attention), decoder_kinds, and kinds with their
 * layers. `blocks` of the decoder's own width, if any, are in kinds already. Called by model_read;
 * by hand after building a model from its fields. */
void model_finish(struct model *model);

/* So many first and last layers of the decoder become kinds of their own that are in 16 bits; once.
 * Layers of multi-token prediction are as they were. */
void model_raise(struct model *model, int64_t first, int64_t last);

/* The kind of layer `layer` (from 0); its index. */
const struct layer_kind *model_layer(const struct model *model, int64_t layer);
uint32_t model_kind(const struct model *model, int64_t layer);

/* The kind that stands for all in explanations: the last layer's, or, where a pattern says what
 * layers are, the first one with a scan. */
uint32_t model_shown_kind(const struct model *model);

/* Whether a layer has a branch; and whether its mixer has attention, and a scan. */
bool layer_mixes(const struct layer_kind *kind);
bool layer_has_mlp(const struct layer_kind *kind); /* dense or experts */
bool layer_attends(const struct layer_kind *kind);
bool layer_scans(const struct layer_kind *kind);
bool layer_chooses(const struct layer_kind *kind); /* an index chooses the keys of attention */
/* Some kind of its layers is so. */
bool model_has(const struct model *model, bool (*is)(const struct layer_kind *kind));
/* Values of a token's keys and values, a head of them. */
int64_t layer_kv_dim(const struct layer_kind *kind);
/* An MLP that is not one of experts. */
bool layer_is_dense(const struct layer_kind *kind);

/* Reads model.mixers, .layer_types and .pattern, which it must know the layers and widths of. */
void model_read_mixers(const struct schema_reader *reader, const struct schema_row *row);
void model_read_types(const struct schema_reader *reader, const struct schema_row *row);
void model_read_pattern(const struct schema_reader *reader, const struct schema_row *row);

/* How many of the layers [first, first + count) have experts. */
int64_t model_expert_layers(const struct model *model, int64_t first, int64_t count);

/* Its keys; its object is a struct model. */
extern const struct schema model_schema;

MUST_USE bool model_read(const struct doc_node *node, struct model *model,
                         struct assumptions *assumptions, struct diag *diag);

/* The same, for files that are kept. */
extern const struct doc_reader model_reader;

#endif
