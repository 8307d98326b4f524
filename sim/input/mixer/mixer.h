/* A mixer: what of a layer mixes tokens, as a list of operators with their widths.
 *
 * Attention of the usual kinds is said by a model's own keys (heads, kv_heads, latent, window).
 * Any other mixer, and that one too, is data: tensors, which the tokens have between operators, and
 * operators, which read and write them.
 *
 *     mixers:
 *       - name: attention
 *         tensors:
 *           - {name: q, heads: 32, dim: 128}
 *           - {name: k, heads: 8, dim: 128}
 *           - {name: v, heads: 8, dim: 128}
 *           - {name: context, heads: 32, dim: 128}
 *         operators:
 *           - {operator: projection, name: qkv, reads: [input], writes: [q, k, v]}
 *           - {operator: rotary, name: rotary, reads: [q, k]}
 *           - {operator: attention, name: core, reads: [q, k, v], writes: [context]}
 *           - {operator: projection, name: projection, reads: [context], writes: [output]}
 *
 * `input` is the layer's hidden state behind its norm, `output` what is added to it; both are as
 * wide as hidden. A tensor with `heads` has heads x dim values a token and is cut by heads where
 * tensor parallelism cuts (heads that are fewer than ranks are copied); one without has dim values,
 * on every rank. Projections, attention and scans write tensors of their own, all others change
 * what they read in its place. Operators stand in the order in which they run.
 *
 *     operator     reads                      besides
 *     projection   one                        bias, each_head (a matrix of its own for every head)
 *     convolution  each by itself             width (tokens), bias: depthwise, causal, activated
 *     norm         each by itself, or one     learned, each_head (weights of its own)
 *                  and what gates it (gated)
 *     rotary       each by itself             whatever the model's positions say of its own
 *     activation   each by itself             any function of single values
 *     gate         what is gated, its gate    the product of one and a function of the other
 *     join         parts, side by side        a part without heads is copied to every head
 *     index        queries, keys, weights     loss: which keys a query attends to, by heads of
 *                                             the index's own: as many as what it writes is wide
 *     attention    queries, keys, values      window, causal; what an index wrote may be read
 *                                             fourth: of all keys those that it chose
 *     scan         queries, keys, values,     rule, chunk, head_parameters
 *                  then gates
 *
 * Keys and values of attention may be one tensor; then values are the first of it, as many as the
 * results have (latents that all heads share: DeepSeek-V2, arXiv 2405.04434, as one reads them).
 *
 * An index (DeepSeek-V3.2, arXiv 2512.02556, section 2.1) gives each pair of a token and one before
 * it a score, the sum over its heads of a weight times what of query times key is above 0, and
 * writes the places of the highest. All that it reads is whole on every rank: `weights` has a value
 * a head, `queries` as many as weights times keys. No gradient of the model goes through it: it
 * learns what attention does by a loss of its own, over the keys that were chosen (sparse) or over
 * all (dense); so projections that it alone reads pass none on (is_detached).
 *
 * A scan keeps a state of keys x values numbers a head and goes through the sequence in chunks
 * (Dao and Gu, arXiv 2405.21060; Yang et al., arXiv 2406.06484 and 2412.06464). Of a state-space
 * scan C are the queries, B the keys, x the values, dt the gate. What follows from operators
 * (parameters, FLOPs, kernels, memory, cuts) is computed in plan.
 *
 * Which layer has which mixer: layer_pattern.c.
 */
#ifndef INPUT_MIXER_MIXER_H
#define INPUT_MIXER_MIXER_H

#include "input/schema/schema.h"

/* X(kind, its name in files): a row each, in the table above. */
#define OPERATOR_KINDS(X)         \
    X(PROJECTION, "projection")   \
    X(CONVOLUTION, "convolution") \
    X(NORM, "norm")               \
    X(ROTARY, "rotary")           \
    X(ACTIVATION, "activation")   \
    X(GATE, "gate")               \
    X(JOIN, "join")               \
    X(INDEX, "index")             \
    X(ATTENTION, "attention")     \
    X(SCAN, "scan")
#define OPERATOR_KIND(kind, name) OPERATOR_##kind,
enum operator_kind { OPERATOR_KINDS(OPERATOR_KIND) OPERATOR_KIND_COUNT_ };
#undef OPERATOR_KIND
extern const char *const operator_kind_names[OPERATOR_KIND_COUNT_];

/* How a scan's state goes on from token to token: it fades by a number a head, and gets the outer
 * product of key and value (linear: by one number for all times); before, it may lose what it has
 * under the key (delta). A gate as wide as keys makes each of their values fade by itself. */
#define SCAN_RULES(X)             \
    X(STATE_SPACE, "state-space") \
    X(LINEAR, "linear")           \
    X(DELTA, "delta")
#define SCAN_RULE(rule, name) SCAN_##rule,
enum scan_rule { SCAN_RULES(SCAN_RULE) SCAN_RULE_COUNT_ };
#undef SCAN_RULE
extern const char *const scan_rule_names[SCAN_RULE_COUNT_];

/* Over which keys an index's loss compares it with attention. */
enum index_loss { INDEX_LOSS_SPARSE, INDEX_LOSS_DENSE, INDEX_LOSS_COUNT_ };
extern const char *const index_loss_names[INDEX_LOSS_COUNT_];

enum {
    MIXER_TENSORS_MAX = 26, /* input and output included */
    MIXER_OPERATORS_MAX = 32,
    MIXER_LIST_MAX = 8,   /* tensors that an operator reads, or writes */
    MIXER_READS_MAX = 40, /* tensors that its operators read, all together */
    MIXERS_MAX = 4,
};

/* Of every mixer the first two. */
enum { MIXER_INPUT, MIXER_OUTPUT, MIXER_OWN_ };

struct mixer_tensor {
    const char *name;
    int64_t heads;    /* 0: it is whole on every rank */
    int64_t dim;      /* of a head, or of all */
    bool is_of_index; /* an index reads it, and nothing else but what changes it in its place */
};

struct mixer_list {
    uint32_t tensors[MIXER_LIST_MAX]; /* of the mixer's */
    uint32_t count;
};

/* What its kernels and parameters are called. */
struct operator_names {
    const char *forward, *backward, *dgrad, *wgrad, *bias, *bias_gradient, *layout, *add;
};

struct mixer_operator {
    uint32_t kind; /* enum operator_kind */
    const char *name;
    struct operator_names names;
    struct mixer_list reads;
    struct mixer_list writes; /* empty: it changes what it reads (mixer_changed) */
    bool has_bias;
    int64_t width;           /* convolution: tokens that it sees */
    int64_t window;          /* attention: keys that a query sees; 0: all before it */
    bool is_bidirectional;   /* attention: no causal mask */
    uint32_t rule;           /* scan: enum scan_rule */
    int64_t chunk;           /* scan: tokens that are worked on at once */
    int64_t head_parameters; /* scan: learned numbers of a head of values */
    bool is_bare;            /* norm: nothing of it is learned */
    bool is_gated;           /* norm: times a function of the second tensor */
    bool has_each_head;      /* norm, projection: weights of its own for every head */
    uint32_t loss;           /* index: enum index_loss */
    bool is_detached;        /* projection: all that it writes is of an index */
    const struct doc_node *read_names, *written_names; /* as the file has them */
    struct place place;
};

struct mixer {
    const char *name;
    struct mixer_tensor tensors[MIXER_TENSORS_MAX];
    uint32_t tensor_count;
    struct mixer_operator operators[MIXER_OPERATORS_MAX];
    uint32_t operator_count;
    /* Operators from the first to behind the last one that sees other tokens of the sequence than
     * a convolution's few: what comes before and after needs a token alone. */
    uint32_t core_first, core_end;
    const struct mixer_operator *attention, *scan, *index; /* its only one each; NULL: none */
    struct place place;
};

/* Values of a token; and on the rank of tp that has most. */
int64_t mixer_width(const struct mixer_tensor *tensor);
int64_t mixer_share(const struct mixer_tensor *tensor, int64_t tp);
int64_t mixer_list_width(const struct mixer *mixer, const struct mixer_list *list);
int64_t mixer_list_share(const struct mixer *mixer, const struct mixer_list *list, int64_t tp);

const struct mixer_tensor *mixer_read(const struct mixer *mixer, const struct mixer_operator *op,
                                      uint32_t index);

/* Where in what it reads a tensor stands first; reads.count: nowhere. */
uint32_t mixer_place(const struct mixer_operator *op, uint32_t tensor);

/* How many of the tensors that it reads, from the first on, it changes in their place; and whether
 * it changes this one. */
uint32_t mixer_changed(const struct mixer_operator *op);
bool mixer_changes(const struct mixer_operator *op, uint32_t tensor);

/* Keys that each query attends to, as an index chose them; 0: no index does. */
int64_t mixer_chosen(const struct mixer *mixer);

/* Values of attention are the first of its keys'. */
bool mixer_shares_values(const struct mixer *mixer);

/* Inputs and results of one matrix of a projection that has one for every head; else 0. */
int64_t mixer_head_in(const struct mixer *mixer, const struct mixer_operator *op);
int64_t mixer_head_out(const struct mixer *mixer, const struct mixer_operator *op);

/* Inputs that a result of a projection has; weights of its matrices, on all ranks together. */
int64_t mixer_inputs(const struct mixer *mixer, const struct mixer_operator *op);
int64_t mixer_weights(const struct mixer *mixer, const struct mixer_operator *op);

/* A projection of the layer's input; of what the mixer ends with; one whose results every rank of
 * tp has whole. */
bool mixer_reads_input(const struct mixer_operator *op);
bool mixer_writes_output(const struct mixer_operator *op);
bool mixer_is_whole(const struct mixer *mixer, const struct mixer_operator *op);

/* A projection that reads what tp cuts and writes what every rank has: partial sums inside of the
 * mixer, which no collective adds up; NULL: there is none. */
const struct mixer_operator *mixer_partial(const struct mixer *mixer);

/* A projection reads the tensor. */
bool mixer_is_projected(const struct mixer *mixer, uint32_t tensor);

/* The keys of an element of model.mixers; its object is a struct mixer. */
extern const struct schema mixer_keys;

/* Reads one, whose layers are `hidden` wide. */
MUST_USE bool mixer_read_node(const struct schema_reader *reader, const struct doc_node *node,
                              int64_t hidden, struct mixer *mixer);

#endif
