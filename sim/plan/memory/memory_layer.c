/* What one layer keeps between its forward and its backward pass.
 *
 * The formulas of the literature are sums over rows (tests hold them against it):
 *
 *   GPT with dropout, attention not fused   sbh(34 + 5ns/h)
 *   the same, core attention recomputed     34sbh
 *   Llama, fused attention                  sb(8h + 4nd + 4*kv*d + 6f + 4n)
 *   the same with experts                   sb(8h + 4nd + 4*kv*d + k(4h + 6f_e) + 4E + 4n)
 *
 * Between input and weight gradients a layer keeps the inputs of its products and the gradients
 * of their outputs: 14sbh + 18sbh of a GPT layer (Qi et al. 2023, arXiv 2401.10241, table 1).
 *
 * A mixer that is a list of operators adds rows of its own (below): what each kind of operator
 * reads again backward, once for all that read the same values. Queries, keys, values and results
 * of attention are the table's rows there, too.
 *
 * Of what an index alone reads every rank of tp has all, and the places of the keys that it chose.
 *
 * Leaves out: rotary tables, statistics of norms (8 bytes a token).
 */
#include "plan/memory/memory_layer.h"

#include "base/check.h"
#include "base/ledger.h"
#include "input/job/lora.h"
#include "input/job/parallel.h"
#include "plan/cost.h"
#include "plan/memory/memory.h"

#include <math.h>

/* Elements per token. */
enum width {
    WIDTH_HIDDEN,
    WIDTH_QUERY,    /* heads * head_dim */
    WIDTH_KEY,      /* kv_heads * head_dim; each tp rank has at least one kv head */
    WIDTH_VALUE,    /* kv_heads * value_dim */
    WIDTH_KEY_KEPT, /* the same, or as many as queries */
    WIDTH_VALUE_KEPT,
    WIDTH_ATTENDED, /* heads * value_dim */
    WIDTH_LATENT_Q,
    WIDTH_LATENT_KV, /* with the rotary part of keys */
    WIDTH_FFN,
    WIDTH_SCORES, /* heads * sequence: a row of the attention matrix of each head */
    WIDTH_HEADS,
    WIDTH_EXPERTS,     /* how many there are */
    WIDTH_COPIES,      /* hidden, once for each expert that a token is sent to */
    WIDTH_EXPERTS_FFN, /* of these experts together */
    WIDTH_SHARED_FFN,
    WIDTH_COUNT_
};

/* When a row applies, and how its tensor is treated. */
enum {
    FUSED = 1 << 0,   /* only with fused attention */
    UNFUSED = 1 << 1, /* only without */
    GELU = 1 << 2,
    SWIGLU = 1 << 3,
    DROPOUT = 1 << 4,
    DENSE = 1 << 5, /* only in a dense layer */
    MOE = 1 << 6,   /* only in one with experts */
    SHARED = 1 << 7,
    LATENT = 1 << 8,
    PLAIN = 1 << 9, /* attention that is not latent, of a mixer of operators, too */
    MTP = 1 << 10,
    CLAMPED = 1 << 11, /* by kernels of their own */
    MIXES = 1 << 12,   /* attention, or a mixer of operators */
    ATTENDS = 1 << 13, /* either with attention */
    BOTH = 1 << 14,    /* mixer and MLP */
    LONE = 1 << 15,    /* one of them */
    CONDITIONS = (1 << 16) - 1,
    SPLIT = 1 << 16,      /* by tp even without sequence parallelism */
    GRADIENT = 1 << 17,   /* of a product's output: only between input and weight gradients */
    NEEDED = 1 << 18,     /* also by the input gradients, not only as a product's input */
    COPIED = 1 << 19,     /* of tokens at experts: a hot rank has more */
    RESULT = 1 << 20,     /* of experts: software may not keep it */
    BEFORE = 1 << 21,     /* what the activation function reads */
    ATTENDED = 1 << 22,   /* what the core of attention reads */
    GATHERED = 1 << 23,   /* by sequence parallelism, and software may keep it so */
    UNREAD = 1 << 24,     /* one of every second product's outputs is read by nothing */
    EVERYWHERE = 1 << 25, /* of all tokens, on every rank of tp */
};

enum { AS_COMPUTED = 0, MASK = 1, SINGLE = 4 }; /* bytes of an element */

#define IN(target) (1u << (target))
#define BY(module) (1u << (module))

struct activation_row {
    const char *what;
    enum width width;
    int count;
    int element_bytes; /* AS_COMPUTED: 2 or 4 with the precision */
    unsigned flags;
    unsigned modules;  /* recomputed with any of these */
    unsigned input_of; /* products that read it for their weight gradient; of GRADIENT: whose it
                        * is */
    int every_second;  /* of `count`, those that software keeps that keeps every second product */
};

#define NORM BY(RECOMPUTE_NORM)
#define ACT BY(RECOMPUTE_ACTIVATION)
#define CORE BY(RECOMPUTE_CORE_ATTENTION)
#define MLP BY(RECOMPUTE_MLP)
#define MOE_BLOCK BY(RECOMPUTE_MOE)
#define SHARED_BLOCK BY(RECOMPUTE_SHARED_EXPERTS)
#define UP BY(RECOMPUTE_MLA_UP)

/* Korthikanti et al. 2022, section 4.1: attention 11sbh + 5ns^2b, MLP 19sbh, norms 4sbh. */
/* clang-format off */
static const struct activation_row activation_rows[] = {
    {"input of the projection", WIDTH_HIDDEN, 2, AS_COMPUTED, MTP, 0, IN(LORA_FC1), 2},
    {"inputs of the two norms", WIDTH_HIDDEN, 2, AS_COMPUTED, UNREAD | BOTH, 0, 0, 2},
    {"input of the norm", WIDTH_HIDDEN, 1, AS_COMPUTED, LONE, 0, 0, 1},
    {"output of attention's norm", WIDTH_HIDDEN, 1, AS_COMPUTED, GATHERED | MIXES, NORM,
     IN(LORA_QKV), 0},
    {"output of the MLP's norm", WIDTH_HIDDEN, 1, AS_COMPUTED, GATHERED | DENSE, NORM, IN(LORA_FC1),
     0},
    {"output of the experts' norm", WIDTH_HIDDEN, 1, AS_COMPUTED, MOE, NORM, IN(LORA_FC1), 0},
    {"dropout masks after projection and MLP", WIDTH_HIDDEN, 2, MASK, DROPOUT | BOTH, 0, 0, 2},
    {"dropout mask after the branch", WIDTH_HIDDEN, 1, MASK, DROPOUT | LONE, 0, 0, 1},
    {"latent queries, and normed", WIDTH_LATENT_Q, 2, AS_COMPUTED, LATENT, 0, IN(LORA_QKV), 1},
    {"latent keys and values, and normed", WIDTH_LATENT_KV, 2, AS_COMPUTED, LATENT, 0,
     IN(LORA_QKV), 1},
    {"queries", WIDTH_QUERY, 1, AS_COMPUTED, ATTENDED | SPLIT | PLAIN, 0, 0, 1},
    {"keys", WIDTH_KEY_KEPT, 1, AS_COMPUTED, ATTENDED | SPLIT | PLAIN, 0, 0, 0},
    {"values", WIDTH_VALUE_KEPT, 1, AS_COMPUTED, ATTENDED | SPLIT | PLAIN, 0, 0, 1},
    {"queries, from the latent", WIDTH_QUERY, 1, AS_COMPUTED, ATTENDED | SPLIT | LATENT, UP, 0, 0},
    {"keys, from the latent", WIDTH_KEY, 1, AS_COMPUTED, ATTENDED | SPLIT | LATENT, UP, 0, 0},
    {"values, from the latent", WIDTH_VALUE, 1, AS_COMPUTED, ATTENDED | SPLIT | LATENT, UP, 0, 0},
    {"softmax output", WIDTH_SCORES, 1, AS_COMPUTED, ATTENDS | SPLIT | UNFUSED, CORE, 0, 0},
    {"softmax dropout mask", WIDTH_SCORES, 1, MASK, ATTENDS | SPLIT | UNFUSED | DROPOUT, CORE, 0,
     0},
    {"softmax dropout output", WIDTH_SCORES, 1, AS_COMPUTED, ATTENDS | SPLIT | UNFUSED | DROPOUT,
     CORE, 0, 0},
    {"log-sum-exp", WIDTH_HEADS, 1, SINGLE, ATTENDS | SPLIT | FUSED, CORE, 0, 1},
    {"attention output", WIDTH_ATTENDED, 1, AS_COMPUTED, ATTENDS | SPLIT | NEEDED, 0,
     IN(LORA_PROJECTION), 1},
    {"GELU input", WIDTH_FFN, 1, AS_COMPUTED, BEFORE | SPLIT | GELU | DENSE, MLP, 0, 1},
    {"GELU output", WIDTH_FFN, 1, AS_COMPUTED, SPLIT | GELU | DENSE, ACT | MLP, IN(LORA_FC2), 0},
    {"SwiGLU gate and up", WIDTH_FFN, 2, AS_COMPUTED, BEFORE | SPLIT | SWIGLU | DENSE, MLP, 0, 1},
    {"SwiGLU product", WIDTH_FFN, 1, AS_COMPUTED, SPLIT | SWIGLU | DENSE, ACT | MLP, IN(LORA_FC2),
     0},
    {"router probabilities", WIDTH_EXPERTS, 1, SINGLE, MOE, MOE_BLOCK, 0, 1},
    {"tokens sent to experts", WIDTH_COPIES, 1, AS_COMPUTED, MOE | COPIED, MOE_BLOCK, IN(LORA_FC1),
     1},
    {"GELU input of experts", WIDTH_EXPERTS_FFN, 1, AS_COMPUTED,
     BEFORE | SPLIT | GELU | MOE | COPIED,
     MOE_BLOCK, 0, 1},
    {"GELU output of experts", WIDTH_EXPERTS_FFN, 1, AS_COMPUTED, SPLIT | GELU | MOE | COPIED,
     ACT | MOE_BLOCK, IN(LORA_FC2), 0},
    {"SwiGLU gate and up of experts", WIDTH_EXPERTS_FFN, 2, AS_COMPUTED,
     BEFORE | SPLIT | SWIGLU | MOE | COPIED, MOE_BLOCK, 0, 1},
    {"SwiGLU product of experts", WIDTH_EXPERTS_FFN, 1, AS_COMPUTED,
     SPLIT | SWIGLU | MOE | COPIED, ACT | MOE_BLOCK, IN(LORA_FC2), 0},
    {"results of experts", WIDTH_COPIES, 1, AS_COMPUTED, RESULT | MOE | COPIED, MOE_BLOCK, 0, 1},
    {"GELU input, shared", WIDTH_SHARED_FFN, 1, AS_COMPUTED,
     BEFORE | SPLIT | GELU | SHARED, SHARED_BLOCK,
     0, 1},
    {"GELU output, shared", WIDTH_SHARED_FFN, 1, AS_COMPUTED, SPLIT | GELU | SHARED,
     ACT | SHARED_BLOCK, IN(LORA_FC2), 0},
    {"SwiGLU gate and up, shared", WIDTH_SHARED_FFN, 2, AS_COMPUTED,
     BEFORE | SPLIT | SWIGLU | SHARED,
     SHARED_BLOCK, 0, 1},
    {"SwiGLU product, shared", WIDTH_SHARED_FFN, 1, AS_COMPUTED, SPLIT | SWIGLU | SHARED,
     ACT | SHARED_BLOCK, IN(LORA_FC2), 0},
    {"clamped gate and up", WIDTH_FFN, 2, AS_COMPUTED, CLAMPED | SPLIT | SWIGLU | DENSE, ACT | MLP,
     0, 0},
    {"clamped gate and up of experts", WIDTH_EXPERTS_FFN, 2, AS_COMPUTED,
     CLAMPED | SPLIT | SWIGLU | MOE | COPIED, ACT | MOE_BLOCK, 0, 0},
    {"clamped gate and up, shared", WIDTH_SHARED_FFN, 2, AS_COMPUTED,
     CLAMPED | SPLIT | SWIGLU | SHARED, ACT | SHARED_BLOCK, 0, 0},
    {"gradient of queries", WIDTH_QUERY, 1, AS_COMPUTED, ATTENDS | SPLIT | GRADIENT, 0,
     IN(LORA_QKV), 0},
    {"gradient of keys", WIDTH_KEY, 1, AS_COMPUTED, ATTENDS | SPLIT | GRADIENT, 0,
     IN(LORA_QKV), 0},
    {"gradient of values", WIDTH_VALUE, 1, AS_COMPUTED, ATTENDS | SPLIT | GRADIENT, 0,
     IN(LORA_QKV), 0},
    {"gradient of the projection", WIDTH_HIDDEN, 1, AS_COMPUTED, MIXES | GRADIENT, 0,
     IN(LORA_PROJECTION), 0},
    {"gradient of the MLP's output", WIDTH_HIDDEN, 1, AS_COMPUTED, DENSE | GRADIENT, 0,
     IN(LORA_FC2), 0},
    {"gradient of GELU's input", WIDTH_FFN, 1, AS_COMPUTED, SPLIT | GELU | DENSE | GRADIENT, 0,
     IN(LORA_FC1), 0},
    {"gradient of gate and up", WIDTH_FFN, 2, AS_COMPUTED, SPLIT | SWIGLU | DENSE | GRADIENT, 0,
     IN(LORA_FC1), 0},
    {"gradient of experts' results", WIDTH_COPIES, 1, AS_COMPUTED, MOE | GRADIENT | COPIED, 0,
     IN(LORA_FC2), 0},
    {"gradient of experts' GELU input", WIDTH_EXPERTS_FFN, 1, AS_COMPUTED,
     SPLIT | GELU | MOE | GRADIENT | COPIED, 0, IN(LORA_FC1), 0},
    {"gradient of experts' gate and up", WIDTH_EXPERTS_FFN, 2, AS_COMPUTED,
     SPLIT | SWIGLU | MOE | GRADIENT | COPIED, 0, IN(LORA_FC1), 0},
    {"gradient of shared experts", WIDTH_SHARED_FFN, 2, AS_COMPUTED, SPLIT | SHARED | GRADIENT, 0,
     IN(LORA_FC1), 0},
};
/* clang-format on */

enum {
    TABLE_ROWS = sizeof activation_rows / sizeof activation_rows[0],
    /* One for each that an operator reads, each gradient of what is written once, and a scan. */
    OWN_ROWS_MAX = MIXER_READS_MAX + MIXER_TENSORS_MAX + 1,
};

/* ---- a row in numbers ------------------------------------------------------ */

/* What the rows are asked for, found once. */
struct view {
    const struct memory_shape *shape;
    const struct layer_kind *kind;
    unsigned conditions;
    bool keeps_every_second;
    double widths[WIDTH_COUNT_ + OWN_ROWS_MAX];
    struct activation_row own[OWN_ROWS_MAX]; /* of a mixer of operators, behind the table's */
    uint32_t own_count;
    double tokens;
    double hot; /* rows of the busiest expert rank over the mean */
};

static unsigned conditions_of(const struct memory_shape *shape, const struct layer_kind *kind)
{
    const unsigned attention = kind->latent.kv_rank > 0 ? (unsigned)LATENT : (unsigned)PLAIN;
    const unsigned experts =
        (unsigned)MOE | (shape->model->shared_experts > 0 ? (unsigned)SHARED : 0u);
    return (shape->is_fused || kind->has_index ? (unsigned)FUSED : (unsigned)UNFUSED) |
           (kind->mlp == MLP_SWIGLU ? (unsigned)SWIGLU : (unsigned)GELU) |
           (shape->model->has_dropout ? (unsigned)DROPOUT : 0u) |
           (kind->has_experts     ? experts
            : layer_has_mlp(kind) ? (unsigned)DENSE
                                  : 0u) |
           (kind->branches == LAYER_BOTH ? (unsigned)BOTH : (unsigned)LONE) |
           (layer_mixes(kind) ? (unsigned)MIXES : 0u) |
           (layer_attends(kind) ? attention | (unsigned)ATTENDS : 0u) |
           (kind->is_mtp ? (unsigned)MTP : 0u) | (shape->keeps_clamped ? (unsigned)CLAMPED : 0u);
}

static int64_t length_of(const struct view *view)
{
    return view->kind->tokens > 0 ? view->kind->tokens : view->shape->sequence_length;
}

static double kv_heads_of(const struct view *view)
{
    const int64_t heads = view->kind->kv_heads;
    return (double)(heads > view->shape->tp ? heads : view->shape->tp);
}

/* Of keys and values, as the core of attention reads them. */
static double heads_read(const struct view *view)
{
    return view->shape->repeats_kv ? (double)view->kind->heads : kv_heads_of(view);
}

/* Of a head of values, unless they are the first of its keys. */
static int64_t values_apart(const struct layer_kind *kind)
{
    return kind->shares_values ? 0 : kind->value_dim;
}

static void find_widths(struct view *view)
{
    const struct model *model = view->shape->model;
    const struct layer_kind *kind = view->kind;
    const double kv_heads = kv_heads_of(view);
    const double heads = (double)kind->heads;
    const double copies = view->shape->copies;
    const double read_heads = heads_read(view);
    /* Every second product's output is of its own heads. */
    const double kept_heads = view->keeps_every_second ? kv_heads : read_heads;
    const double widths[WIDTH_COUNT_] = {
        [WIDTH_HIDDEN] = (double)kind->hidden,
        [WIDTH_QUERY] = heads * (double)kind->head_dim,
        [WIDTH_KEY] = kv_heads * (double)kind->head_dim,
        [WIDTH_VALUE] = kv_heads * (double)values_apart(kind),
        [WIDTH_KEY_KEPT] = kept_heads * (double)kind->head_dim,
        [WIDTH_VALUE_KEPT] = kept_heads * (double)values_apart(kind),
        [WIDTH_ATTENDED] = heads * (double)kind->value_dim,
        [WIDTH_LATENT_Q] = (double)kind->latent.q_rank,
        [WIDTH_LATENT_KV] = (double)(kind->latent.kv_rank + kind->latent.rope_dim),
        [WIDTH_FFN] = (double)kind->ffn_hidden,
        [WIDTH_SCORES] = heads * (double)length_of(view),
        [WIDTH_HEADS] = heads,
        [WIDTH_EXPERTS] = (double)model->experts,
        [WIDTH_COPIES] = copies * (double)kind->hidden,
        [WIDTH_EXPERTS_FFN] = copies * (double)model->expert_hidden,
        [WIDTH_SHARED_FFN] = (double)model->shared_hidden,
    };
    for (uint32_t i = 0; i < WIDTH_COUNT_; i++) {
        view->widths[i] = widths[i];
    }
}

/* ---- rows of operators --------------------------------------------------- */

/* Values of a token on all ranks of tp together, copies included. */
static double whole_width(const struct view *view, const struct mixer_tensor *tensor)
{
    const int64_t tp = view->shape->tp;
    return (double)(tensor->heads > 0 ? mixer_share(tensor, tp) * tp : tensor->dim);
}

static unsigned split_of(const struct mixer_tensor *tensor)
{
    return tensor->heads > 0 ? (unsigned)SPLIT : tensor->is_of_index ? (unsigned)EVERYWHERE : 0u;
}

static void add_row(struct view *view, double width, struct activation_row row)
{
    sim_assert(view->own_count < OWN_ROWS_MAX);
    view->widths[WIDTH_COUNT_ + view->own_count] = width;
    row.width = (enum width)(WIDTH_COUNT_ + view->own_count);
    row.count = 1;
    view->own[view->own_count++] = row;
}

/* Which values of each tensor are kept already: it has others each time that it is changed. */
struct kept_tensors {
    bool is_kept[MIXER_TENSORS_MAX];
};

/* Values that an operator needs again; `input_of` for a product's weight gradient alone. */
static void keep(struct view *view, struct kept_tensors *kept, uint32_t number, unsigned input_of)
{
    const struct mixer_tensor *tensor = &view->kind->mixer->tensors[number];
    const unsigned split = split_of(tensor);
    if (kept->is_kept[number] || number == MIXER_INPUT || number == MIXER_OUTPUT) {
        return;
    }
    kept->is_kept[number] = true;
    add_row(view, whole_width(view, tensor),
            (struct activation_row){
                .what = tensor->name, .flags = split, .input_of = input_of, .every_second = 1});
}

static bool is_of_attention(const struct mixer *mixer, uint32_t number)
{
    for (uint32_t i = 0; mixer->attention != NULL && i < 3; i++) {
        if (mixer->attention->reads.tensors[i] == number) {
            return true;
        }
    }
    return false;
}

/* Gradients of a projection's results, but of queries, keys and values, which the table has. */
static void add_gradients(struct view *view, const struct mixer_operator *op)
{
    const struct mixer *mixer = view->kind->mixer;
    for (uint32_t i = 0; i < op->writes.count; i++) {
        const uint32_t number = op->writes.tensors[i];
        const struct mixer_tensor *tensor = &mixer->tensors[number];
        const unsigned split = split_of(tensor);
        if (number != MIXER_OUTPUT && !is_of_attention(mixer, number)) {
            add_row(view, whole_width(view, tensor),
                    (struct activation_row){.what = tensor->name,
                                            .flags = split | (unsigned)GRADIENT,
                                            .input_of = IN(LORA_QKV)});
        }
    }
}

/* A scan of the delta rule keeps the inverse of its chunks: a row of as many values as a chunk has
 * tokens, for each token and head. States are computed again. */
static void add_scan(struct view *view, const struct mixer_operator *op)
{
    const struct mixer_tensor *value = mixer_read(view->kind->mixer, op, 2);
    if (op->rule == SCAN_DELTA) {
        const struct mixer_tensor inverse = {
            .name = op->name, .heads = value->heads, .dim = op->chunk};
        add_row(view, whole_width(view, &inverse),
                (struct activation_row){.what = op->name, .flags = SPLIT, .every_second = 1});
    }
}

/* The places of the keys that an index chose, of all tokens on every rank. */
static void add_chosen(struct view *view, const struct mixer_operator *op)
{
    const struct mixer_tensor *chosen = &view->kind->mixer->tensors[op->writes.tensors[0]];
    add_row(
        view, (double)chosen->dim,
        (struct activation_row){
            .what = chosen->name, .element_bytes = SINGLE, .flags = EVERYWHERE, .every_second = 1});
}

/* What its kind needs again of what an operator reads: projections for their weight gradients;
 * norms, convolutions, gates and scans all; a rotation nothing. Attention's are the table's. */
static void keep_reads(struct view *view, const struct mixer_operator *op,
                       struct kept_tensors *kept)
{
    const unsigned target = mixer_writes_output(op) ? LORA_PROJECTION : LORA_QKV;
    for (uint32_t i = 0; i < op->reads.count; i++) {
        const uint32_t number = op->reads.tensors[i];
        switch ((enum operator_kind)op->kind) {
        case OPERATOR_PROJECTION:
            keep(view, kept, number, IN(target));
            break;
        case OPERATOR_ATTENTION:
            kept->is_kept[number] = true;
            break;
        case OPERATOR_ROTARY:
        case OPERATOR_JOIN:
            break;
        case OPERATOR_CONVOLUTION:
        case OPERATOR_NORM:
        case OPERATOR_ACTIVATION:
        case OPERATOR_GATE:
        case OPERATOR_SCAN:
        case OPERATOR_INDEX:
        case OPERATOR_KIND_COUNT_:
            keep(view, kept, number, 0);
            break;
        }
    }
}

/* Tensors that it changes have other values behind it. */
static void forget_changed(const struct mixer_operator *op, struct kept_tensors *kept)
{
    for (uint32_t i = 0; i < mixer_changed(op); i++) {
        kept->is_kept[op->reads.tensors[i]] = false;
    }
    for (uint32_t i = 0; i < op->writes.count; i++) {
        kept->is_kept[op->writes.tensors[i]] = op->kind == OPERATOR_ATTENTION;
    }
}

static void add_own_rows(struct view *view)
{
    const struct mixer *mixer = view->kind->mixer;
    struct kept_tensors kept = {{false}};
    for (uint32_t i = 0; i < mixer->operator_count; i++) {
        const struct mixer_operator *op = &mixer->operators[i];
        keep_reads(view, op, &kept);
        if (op->kind == OPERATOR_SCAN) {
            add_scan(view, op);
        } else if (op->kind == OPERATOR_PROJECTION) {
            add_gradients(view, op);
        } else if (op->kind == OPERATOR_INDEX) {
            add_chosen(view, op);
        }
        forget_changed(op, &kept);
    }
}

static struct view view_of(const struct memory_shape *shape, const struct layer_kind *kind)
{
    struct view view = {
        .shape = shape,
        .kind = kind,
        .conditions = conditions_of(shape, kind),
        .keeps_every_second = shape->keeps_every_second && shape->recomputed == (NORM | ACT),
        .hot = kind->has_experts ? shape->hot : 1.0,
    };
    view.tokens = (double)shape->micro * (double)length_of(&view) / (double)shape->cp;
    find_widths(&view);
    if (layer_mixes(kind) && kind->mixer != NULL) {
        add_own_rows(&view);
    }
    return view;
}

static uint32_t row_count(const struct view *view)
{
    return TABLE_ROWS + view->own_count;
}

static const struct activation_row *row_at(const struct view *view, uint32_t index)
{
    return index < TABLE_ROWS ? &activation_rows[index] : &view->own[index - TABLE_ROWS];
}

static bool is_asked(const struct view *view, const struct activation_row *row)
{
    const unsigned needed = row->flags & (unsigned)CONDITIONS;
    return (needed & view->conditions) == needed && view->widths[row->width] > 0;
}

/* A product's input that only its weight gradient reads, of a frozen weight; results of experts
 * that nothing reads. */
static bool is_spared(const struct view *view, const struct activation_row *row)
{
    if ((row->flags & (unsigned)RESULT) != 0) {
        return !view->shape->keeps_expert_results;
    }
    return row->input_of != 0 && (row->input_of & view->shape->trained) == 0 &&
           (row->flags & (unsigned)NEEDED) == 0;
}

static int kept_count(const struct view *view, const struct activation_row *row)
{
    if (is_spared(view, row) || (row->flags & (unsigned)GRADIENT) != 0) {
        return 0;
    }
    if (view->keeps_every_second) {
        const bool is_less =
            (row->flags & (unsigned)UNREAD) != 0 && !view->shape->keeps_unread_product;
        return row->every_second - (is_less ? 1 : 0);
    }
    return (row->modules & view->shape->recomputed) != 0 ? 0 : row->count;
}

static double parts_of(const struct memory_shape *shape, const struct activation_row *row)
{
    const bool is_whole = (row->flags & (unsigned)GATHERED) != 0 && shape->keeps_gathered;
    const bool is_everywhere = (row->flags & (unsigned)EVERYWHERE) != 0;
    const double others = is_whole || is_everywhere ? 1.0 : memory_sequence_parts(shape);
    return row->flags & (unsigned)SPLIT ? (double)shape->tp : others;
}

static struct memory_tensor tensor_of(const struct view *view, const struct activation_row *row,
                                      struct ledger *ledger)
{
    const struct memory_shape *shape = view->shape;
    const bool is_before =
        (row->flags & (unsigned)BEFORE) != 0 && shape->activation_input == KEPT_IN_FP8;
    /* What only a weight gradient reads, input or gradient of an output, is kept as it is
     * multiplied. */
    const bool is_input = row->input_of != 0 && (row->flags & (unsigned)NEEDED) == 0;
    const bool is_high = view->kind->is_high;
    const bool is_high_core = is_high || view->kind->has_index;
    const double plain = (row->flags & (unsigned)ATTENDED) != 0 && !is_high_core
                             ? shape->attended_bytes
                             : shape->element_bytes;
    const double as_is = is_before ? precision_operand_bytes(PRECISION_FP8) : plain;
    const double computed = is_input && !is_high ? shape->input_bytes : as_is;
    struct memory_tensor tensor = {
        .what = row->what,
        .count = row->count,
        .element_bytes = row->element_bytes == AS_COMPUTED ? computed : (double)row->element_bytes,
        .width = view->widths[row->width],
        .parts = parts_of(shape, row),
        .kept = kept_count(view, row),
    };
    tensor.is_kept = tensor.kept > 0;
    const double hot = (row->flags & (unsigned)COPIED) != 0 ? view->hot : 1.0;
    tensor.bytes = LEDGER_SUM(ledger, row->what, "MB",
                              (double)row->count * tensor.element_bytes * tensor.width /
                                  tensor.parts * view->tokens * hot,
                              LEDGER_TERM(row->count, ""), LEDGER_TERM(tensor.element_bytes, "B"),
                              LEDGER_TERM(tensor.width, "wide"), LEDGER_TERM(tensor.parts, "parts"),
                              LEDGER_TERM(view->tokens, "tokens"), LEDGER_TERM(hot, "hot"));
    return tensor;
}

/* Of a layer that is recomputed whole. */
static bool is_kept_of_full(const struct view *view, const struct activation_row *row)
{
    return view->shape->keeps_qkv && (row->flags & (unsigned)ATTENDED) != 0;
}

/* ---- sums over rows -------------------------------------------------------- */

uint32_t memory_recomputed_modules(const struct recompute *recompute, enum attention_kind attention)
{
    if (recompute->kind != RECOMPUTE_SELECTIVE) {
        return 0u;
    }
    if (recompute->modules != 0) {
        return recompute->modules;
    }
    return attention != ATTENTION_UNFUSED ? NORM | ACT : CORE;
}

double memory_microbatch_tokens(const struct memory_shape *shape)
{
    return (double)shape->micro * (double)shape->sequence_length / (double)shape->cp;
}

double memory_sequence_parts(const struct memory_shape *shape)
{
    return shape->is_sequence_parallel ? (double)shape->tp : 1.0;
}

double memory_hidden_bytes(const struct memory_shape *shape)
{
    return memory_microbatch_tokens(shape) * shape->element_bytes * (double)shape->model->hidden /
           memory_sequence_parts(shape);
}

uint32_t memory_layer_tensors(const struct memory_shape *shape, const struct layer_kind *kind,
                              bool is_full, struct memory_tensor *tensors)
{
    _Static_assert(TABLE_ROWS + OWN_ROWS_MAX <= MEMORY_TENSORS_MAX, "a row more");
    const struct view view = view_of(shape, kind);
    uint32_t count = 0;
    for (uint32_t i = 0; i < row_count(&view); i++) {
        const struct activation_row *row = row_at(&view, i);
        if (is_asked(&view, row) && !is_spared(&view, row) &&
            (row->flags & (unsigned)GRADIENT) == 0) {
            struct memory_tensor *tensor = &tensors[count++];
            *tensor = tensor_of(&view, row, NULL);
            tensor->is_kept = tensor->is_kept && (!is_full || is_kept_of_full(&view, row));
        }
    }
    return count;
}

/* Of keys and values. */
static double width_read(const struct view *view)
{
    return heads_read(view) * (double)layer_kv_dim(view->kind);
}

/* Scores of an index, in fp32, as values of the training precision: of all keys that a rank's
 * tokens may see, whole on every rank of tp. */
static double score_width(const struct view *view)
{
    return view->kind->has_index ? (double)SINGLE / view->shape->element_bytes *
                                       cost_seen_keys(view->kind, length_of(view))
                                 : 0.0;
}

/* What a scan reads and writes, and the states of its chunks. */
static double scan_width(const struct view *view)
{
    if (!layer_scans(view->kind)) {
        return 0.0;
    }
    const struct mixer *mixer = view->kind->mixer;
    const struct mixer_operator *op = mixer->scan;
    double width = whole_width(view, &mixer->tensors[op->writes.tensors[0]]) *
                   (1.0 + (double)mixer_read(mixer, op, 1)->dim / (double)op->chunk);
    for (uint32_t i = 0; i < op->reads.count; i++) {
        width += whole_width(view, mixer_read(mixer, op, i));
    }
    return width;
}

/* Gradients and gathered inputs of the block that needs most while it goes backward: the MLP's
 * second matrix (its output's gradient, the activation's output and input), or the core of
 * attention (queries, keys, values and the output; unfused two matrices of scores as well). */
static double working_bytes(const struct view *view, struct ledger *ledger)
{
    const struct memory_shape *shape = view->shape;
    const double *widths = view->widths;
    const double tp = (double)shape->tp;
    const double gates = view->kind->mlp == MLP_SWIGLU ? 3.0 : 2.0;
    const double dense = gates * widths[WIDTH_FFN] / tp;
    const double experts = (gates * widths[WIDTH_EXPERTS_FFN]) / tp +
                           widths[WIDTH_COPIES] / memory_sequence_parts(shape);
    const double attention =
        (widths[WIDTH_QUERY] + width_read(view) + widths[WIDTH_ATTENDED] +
         (shape->is_fused || view->kind->has_index ? 0.0 : 2.0 * widths[WIDTH_SCORES])) /
            tp +
        score_width(view);
    const double core =
        layer_attends(view->kind) ? fmax(attention, scan_width(view) / tp) : scan_width(view) / tp;
    const double mlp = view->kind->has_experts     ? experts * view->hot
                       : layer_has_mlp(view->kind) ? dense
                                                   : 0.0;
    /* Sequence parallelism gathers the input again, and the output's gradient. */
    const double gathered = shape->is_sequence_parallel && tp > 1 ? 2.0 : 1.0;
    const double hidden = widths[WIDTH_HIDDEN];
    return LEDGER_SUM(ledger, "at work while it goes backward", "MB",
                      view->tokens * shape->element_bytes * (fmax(mlp, core) + gathered * hidden),
                      LEDGER_TERM(view->tokens, "tokens"), LEDGER_TERM(shape->element_bytes, "B"),
                      LEDGER_TERM(mlp, "of the MLP"), LEDGER_TERM(core, "of attention"),
                      LEDGER_TERM(gathered, ""), LEDGER_TERM(hidden, "hidden"));
}

/* Keys and values of the other ranks: all of them, or with a ring two blocks more, of
 * whose gradients as many; Ulysses holds what it sends and what it gets. */
static double context_bytes(const struct view *view)
{
    const struct memory_shape *shape = view->shape;
    if (shape->cp == 1 || !layer_attends(view->kind)) {
        return 0.0; /* states of scans are few */
    }
    const double block = view->tokens * shape->element_bytes * width_read(view) / (double)shape->tp;
    switch (shape->context) {
    case CONTEXT_RING:
        return 4.0 * block;
    case CONTEXT_ULYSSES:
        return block +
               view->tokens * shape->element_bytes * view->widths[WIDTH_QUERY] / (double)shape->tp;
    default:
        return 2.0 * (double)(shape->cp - 1) * block;
    }
}

/* Between input and weight gradients: inputs of products, and gradients of their outputs. */
static double late_bytes(const struct view *view)
{
    double bytes = 0;
    for (uint32_t i = 0; i < row_count(view); i++) {
        const struct activation_row *row = row_at(view, i);
        if (is_asked(view, row) && (row->input_of & view->shape->trained) != 0) {
            bytes += tensor_of(view, row, NULL).bytes;
        }
    }
    return bytes;
}

static const char *kept_words(const struct memory_tensor *tensor, bool is_full)
{
    if (is_full || !tensor->is_kept) {
        return "computed again";
    }
    return tensor->kept == tensor->count ? "kept" : "some of it kept";
}

/* A layer that is recomputed whole. */
static double input_bytes(const struct view *view, struct ledger *ledger)
{
    const double hidden = (double)view->kind->hidden;
    const double parts = memory_sequence_parts(view->shape);
    return LEDGER_SUM(ledger, "the layer's input", "MB",
                      view->tokens * view->shape->element_bytes * hidden / parts,
                      LEDGER_TERM(view->tokens, "tokens"),
                      LEDGER_TERM(view->shape->element_bytes, "B"), LEDGER_TERM(hidden, "hidden"),
                      LEDGER_TERM(parts, "parts"));
}

struct memory_layer_bytes memory_layer_record(const struct memory_shape *shape,
                                              const struct layer_kind *kind, bool is_full,
                                              struct ledger *ledger)
{
    const struct view view = view_of(shape, kind);
    struct memory_layer_bytes of = {0};
    for (uint32_t i = 0; i < row_count(&view); i++) {
        const struct activation_row *row = row_at(&view, i);
        if (!is_asked(&view, row) || is_spared(&view, row) ||
            (row->flags & (unsigned)GRADIENT) != 0) {
            continue;
        }
        const struct memory_tensor tensor = tensor_of(&view, row, ledger);
        const bool is_gone = is_full && !is_kept_of_full(&view, row);
        ledger_remark(ledger, kept_words(&tensor, is_gone));
        of.everything += tensor.bytes;
        of.kept += is_gone ? 0.0 : tensor.bytes * (double)tensor.kept / (double)row->count;
    }
    of.kept += is_full ? input_bytes(&view, ledger) : 0.0;
    ledger_say(ledger, "kept of a layer", "MB", of.kept,
               !is_full           ? "what is kept of these"
               : shape->keeps_qkv ? "its input, and what is kept of these"
                                  : "its input");
    of.recomputed = of.everything > of.kept ? of.everything - of.kept : 0.0;
    of.late = late_bytes(&view);
    of.working = working_bytes(&view, ledger) + context_bytes(&view);
    return of;
}

struct memory_layer_bytes memory_layer_of(const struct memory_shape *shape,
                                          const struct layer_kind *kind, bool is_full)
{
    return memory_layer_record(shape, kind, is_full, NULL);
}

double memory_layer_activation_bytes(const struct memory_job *job)
{
    const struct model *model = job->shape.model;
    return memory_layer_of(&job->shape, model_layer(model, model->layers - 1),
                           job->recompute->kind == RECOMPUTE_FULL)
        .kept;
}
