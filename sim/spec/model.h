/* The model that is trained: a transformer as its shapes, nothing more.
 *
 * Read from models/llms/NAME.yaml. Dense decoders of the GPT and Llama
 * families are described; what they cost (parameters, FLOPs, bytes) is
 * computed in plan/cost, so that a wrong shape shows as a wrong parameter
 * count beside the advertised one.
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
    double advertised_parameters; /* 0: not stated */
    struct place place;           /* of the file's root */
    struct place heads_place;     /* for "tp does not divide heads" */
    struct place layers_place;
};

/* All keys without a default above are required. */
MUST_USE bool model_read(const struct doc_node *node, struct model *model,
                         struct assumptions *assumptions, struct diag *diag);

#endif
