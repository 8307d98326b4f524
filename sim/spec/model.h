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
 *     kv_heads: 8                    # default: heads
 *     head_dim: 128                  # default: hidden / heads
 *     vocab: 128256
 *     max_positions: 131072
 *     mlp: swiglu                    # gelu: two matrices; swiglu: three
 *     norm: rmsnorm                  # or layernorm
 *     positions: rotary              # or learned, alibi
 *     biases: false
 *     tied_embeddings: false
 *     embedding_norm: false          # BLOOM has one
 *     dropout: false                 # activations pay for its masks
 *     advertised_parameters: 405B
 *
 * With a mixture of experts, all of them optional:
 *
 *     experts: 8                     # default 0: dense
 *     experts_per_token: 2           # needed with experts
 *     expert_hidden: 14336           # width of one expert; default: ffn_hidden
 *     shared_experts: 0              # each of expert_hidden, for every token
 *     dense_layers: 0                # the first layers, which have an MLP of ffn_hidden
 */
#ifndef SPEC_MODEL_H
#define SPEC_MODEL_H

#include "spec/doc.h"
#include "spec/provenance.h"

enum mlp_kind { MLP_GELU, MLP_SWIGLU };
enum norm_kind { NORM_LAYERNORM, NORM_RMSNORM };
enum position_kind { POSITION_LEARNED, POSITION_ROTARY, POSITION_ALIBI };

struct model {
    const char *name;
    const char *title;
    int64_t layers;
    int64_t hidden;
    int64_t ffn_hidden;
    int64_t heads;
    int64_t kv_heads; /* divides heads */
    int64_t head_dim;
    int64_t vocab;
    int64_t max_positions;
    uint32_t mlp;       /* enum mlp_kind */
    uint32_t norm;      /* enum norm_kind */
    uint32_t positions; /* enum position_kind */
    bool has_biases;
    bool has_tied_embeddings;
    bool has_embedding_norm;
    bool has_dropout;
    int64_t experts; /* routed, in each layer but the dense ones; 0: there are none */
    int64_t experts_per_token;
    int64_t expert_hidden;
    int64_t shared_experts;
    int64_t dense_layers;         /* the first ones, of a model with experts */
    double advertised_parameters; /* 0: not stated */
    struct place place;           /* of the file's root */
    struct place heads_place;     /* for "tp does not divide heads" */
};

/* Whether layer `layer` (from 0) has experts instead of an MLP. */
bool model_has_experts(const struct model *model, int64_t layer);

/* How many of the layers [first, first + count) have experts. */
int64_t model_expert_layers(const struct model *model, int64_t first, int64_t count);

/* All keys without a default above are required. */
MUST_USE bool model_read(const struct doc_node *node, struct model *model,
                         struct assumptions *assumptions, struct diag *diag);

#endif
