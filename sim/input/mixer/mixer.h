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
 *     projection   one                        bias
 *     convolution  each by itself             width (tokens), bias: depthwise, causal, activated
 *     norm         each by itself, or one     learned, each_head (weights of its own)
 *                  and what gates it (gated)
 *     rotary       each by itself             whatever the model's positions say of its own
 *     activation   each by itself             any function of single values
 *     gate         what is gated, its gate    the product of one and a function of the other
 *     attention    queries, keys, values      window, causal
 *     scan         queries, keys, values,     rule, chunk, head_parameters
 *                  then gates
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
    int64_t heads; /* 0: it is whole on every rank */
    int64_t dim;   /* of a head, or of all */
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
    bool has_each_head;      /* norm: weights of its own for every head */
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
    const struct mixer_operator *attention, *scan; /* its only one each; NULL: none */
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
