/* What one layer keeps between its forward and its backward pass.
 *
 * What a layer keeps for its backward is a table with a row per tensor; the
 * formulas of the literature are sums over rows (tests hold them against it):
 *
 *   GPT with dropout, attention not fused   sbh(34 + 5ns/h)
 *   the same, core attention recomputed     34sbh
 *   Llama, fused attention                  sb(8h + 4nd + 4*kv*d + 6f + 4n)
 *   the same with experts                   sb(8h + 4nd + 4*kv*d + k(4h + 6f_e) + 4E + 4n)
 */
#include "plan/memory_layer.h"

#include "base/check.h"
#include "plan/memory.h"

/* Elements per token. */
enum width {
    WIDTH_HIDDEN,
    WIDTH_QUERY,     /* heads * head_dim */
    WIDTH_KEY_VALUE, /* kv_heads * head_dim; each tp rank has at least one kv head */
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
    CONDITIONS = FUSED | UNFUSED | GELU | SWIGLU | DROPOUT | DENSE | MOE | SHARED,
    SPLIT = 1 << 8,  /* by tp even without sequence parallelism */
    CORE = 1 << 9,   /* inside core attention: dropped by selective recomputation when unfused */
    CHEAP = 1 << 10, /* a memory-bound kernel's output: dropped by it when attention is fused */
};

enum { AS_COMPUTED = 0, MASK = 1, SINGLE = 4 }; /* bytes of an element */

struct activation_row {
    const char *what;
    enum width width;
    int count;
    int element_bytes; /* AS_COMPUTED: 2 or 4 with the precision */
    unsigned flags;
};

/* Korthikanti et al. 2022, section 4.1: attention 11sbh + 5ns^2b, MLP 19sbh, norms 4sbh. */
static const struct activation_row activation_rows[] = {
    {"inputs of the two norms", WIDTH_HIDDEN, 2, AS_COMPUTED, 0},
    {"outputs of the two norms", WIDTH_HIDDEN, 2, AS_COMPUTED, CHEAP},
    {"dropout masks after projection and MLP", WIDTH_HIDDEN, 2, MASK, DROPOUT},
    {"queries", WIDTH_QUERY, 1, AS_COMPUTED, SPLIT},
    {"keys and values", WIDTH_KEY_VALUE, 2, AS_COMPUTED, SPLIT},
    {"softmax output", WIDTH_SCORES, 1, AS_COMPUTED, SPLIT | CORE | UNFUSED},
    {"softmax dropout mask", WIDTH_SCORES, 1, MASK, SPLIT | CORE | UNFUSED | DROPOUT},
    {"softmax dropout output", WIDTH_SCORES, 1, AS_COMPUTED, SPLIT | CORE | UNFUSED | DROPOUT},
    {"log-sum-exp", WIDTH_HEADS, 1, SINGLE, SPLIT | FUSED},
    {"attention output", WIDTH_QUERY, 1, AS_COMPUTED, SPLIT},
    {"GELU input", WIDTH_FFN, 1, AS_COMPUTED, SPLIT | GELU | DENSE},
    {"GELU output", WIDTH_FFN, 1, AS_COMPUTED, SPLIT | GELU | DENSE | CHEAP},
    {"SwiGLU gate and up", WIDTH_FFN, 2, AS_COMPUTED, SPLIT | SWIGLU | DENSE},
    {"SwiGLU product", WIDTH_FFN, 1, AS_COMPUTED, SPLIT | SWIGLU | DENSE | CHEAP},
    {"router probabilities", WIDTH_EXPERTS, 1, SINGLE, MOE},
    {"tokens sent to experts", WIDTH_COPIES, 1, AS_COMPUTED, MOE},
    {"GELU input of experts", WIDTH_EXPERTS_FFN, 1, AS_COMPUTED, SPLIT | GELU | MOE},
    {"GELU output of experts", WIDTH_EXPERTS_FFN, 1, AS_COMPUTED, SPLIT | GELU | MOE | CHEAP},
    {"SwiGLU gate and up of experts", WIDTH_EXPERTS_FFN, 2, AS_COMPUTED, SPLIT | SWIGLU | MOE},
    {"SwiGLU product of experts", WIDTH_EXPERTS_FFN, 1, AS_COMPUTED, SPLIT | SWIGLU | MOE | CHEAP},
    {"results of experts", WIDTH_COPIES, 1, AS_COMPUTED, MOE},
    {"GELU input, shared", WIDTH_SHARED_FFN, 1, AS_COMPUTED, SPLIT | GELU | SHARED},
    {"GELU output, shared", WIDTH_SHARED_FFN, 1, AS_COMPUTED, SPLIT | GELU | SHARED | CHEAP},
    {"SwiGLU gate and up, shared", WIDTH_SHARED_FFN, 2, AS_COMPUTED, SPLIT | SWIGLU | SHARED},
    {"SwiGLU product, shared", WIDTH_SHARED_FFN, 1, AS_COMPUTED, SPLIT | SWIGLU | SHARED | CHEAP},
};

#define ACTIVATION_ROW_COUNT (sizeof activation_rows / sizeof activation_rows[0])

static bool last_has_experts(const struct scenario *scenario)
{
    return model_has_experts(&scenario->model, scenario->model.layers - 1);
}

static unsigned experts_conditions(const struct model *model, bool has_experts)
{
    if (!has_experts) {
        return DENSE;
    }
    return (unsigned)MOE | (model->shared_experts > 0 ? (unsigned)SHARED : 0u);
}

static unsigned conditions_of(const struct scenario *scenario, bool has_experts)
{
    const bool is_fused = scenario->software.attention != ATTENTION_UNFUSED;
    const unsigned attention = is_fused ? FUSED : UNFUSED;
    const unsigned mlp = scenario->model.mlp == MLP_SWIGLU ? SWIGLU : GELU;
    return attention | mlp | (scenario->model.has_dropout ? (unsigned)DROPOUT : 0u) |
           experts_conditions(&scenario->model, has_experts);
}

static double width_of(const struct scenario *scenario, enum width width)
{
    const struct model *model = &scenario->model;
    const int64_t tp = scenario->parallel.tp;
    const int64_t kv_heads = model->kv_heads > tp ? model->kv_heads : tp;
    const double widths[WIDTH_COUNT_] = {
        [WIDTH_HIDDEN] = (double)model->hidden,
        [WIDTH_QUERY] = (double)(model->heads * model->head_dim),
        [WIDTH_KEY_VALUE] = (double)(kv_heads * model->head_dim),
        [WIDTH_FFN] = (double)model->ffn_hidden,
        [WIDTH_SCORES] = (double)model->heads * (double)scenario->batch.sequence_length,
        [WIDTH_HEADS] = (double)model->heads,
        [WIDTH_EXPERTS] = (double)model->experts,
        [WIDTH_COPIES] = (double)(model->experts_per_token * model->hidden),
        [WIDTH_EXPERTS_FFN] = (double)(model->experts_per_token * model->expert_hidden),
        [WIDTH_SHARED_FFN] = (double)(model->shared_experts * model->expert_hidden),
    };
    return widths[width];
}

double memory_microbatch_tokens(const struct scenario *scenario)
{
    return (double)scenario->batch.micro * (double)scenario->batch.sequence_length /
           (double)scenario->parallel.cp;
}

double memory_element_bytes(const struct scenario *scenario)
{
    return (double)precision_bytes((enum precision)scenario->precision);
}

double memory_sequence_parts(const struct scenario *scenario)
{
    return scenario->parallel.is_sequence_parallel ? (double)scenario->parallel.tp : 1.0;
}

static struct memory_tensor tensor_of(const struct scenario *scenario,
                                      const struct activation_row *row)
{
    return (struct memory_tensor){
        .what = row->what,
        .count = row->count,
        .element_bytes = row->element_bytes == AS_COMPUTED ? memory_element_bytes(scenario)
                                                           : (double)row->element_bytes,
        .width = width_of(scenario, row->width),
        .parts =
            row->flags & SPLIT ? (double)scenario->parallel.tp : memory_sequence_parts(scenario),
    };
}

static double bytes_per_token(const struct memory_tensor *tensor)
{
    return (double)tensor->count * tensor->element_bytes * tensor->width / tensor->parts;
}

/* Tensors that are computed again have one of these flags: the core of unfused attention;
 * beside a fused one norms and activation (the same as in plan/kernels). */
static unsigned selected_of(const struct scenario *scenario)
{
    return scenario->software.attention != ATTENTION_UNFUSED ? (unsigned)CHEAP : (unsigned)CORE;
}

uint32_t memory_layer_tensors(const struct scenario *scenario, struct memory_tensor *tensors)
{
    _Static_assert(ACTIVATION_ROW_COUNT <= MEMORY_TENSORS_MAX, "a row more");
    const unsigned conditions = conditions_of(scenario, last_has_experts(scenario));
    const bool is_selective = scenario->recompute == RECOMPUTE_SELECTIVE;
    const unsigned dropped = is_selective ? selected_of(scenario) : 0u;
    uint32_t count = 0;
    for (size_t i = 0; i < ACTIVATION_ROW_COUNT; i++) {
        const unsigned needed = activation_rows[i].flags & CONDITIONS;
        if ((needed & conditions) == needed) {
            struct memory_tensor *tensor = &tensors[count++];
            *tensor = tensor_of(scenario, &activation_rows[i]);
            tensor->bytes = bytes_per_token(tensor) * memory_microbatch_tokens(scenario);
            tensor->is_kept =
                scenario->recompute != RECOMPUTE_FULL && (activation_rows[i].flags & dropped) == 0;
        }
    }
    return count;
}

double memory_tabled_bytes(const struct scenario *scenario, bool has_experts, bool keeps_all)
{
    const unsigned conditions = conditions_of(scenario, has_experts);
    const unsigned selected = keeps_all ? 0u : selected_of(scenario);
    double bytes = 0;
    for (size_t i = 0; i < ACTIVATION_ROW_COUNT; i++) {
        const unsigned needed = activation_rows[i].flags & CONDITIONS;
        const bool is_kept = (activation_rows[i].flags & selected) == 0;
        if ((needed & conditions) == needed && is_kept) {
            const struct memory_tensor tensor = tensor_of(scenario, &activation_rows[i]);
            bytes += bytes_per_token(&tensor);
        }
    }
    return bytes * memory_microbatch_tokens(scenario);
}

double memory_hidden_bytes(const struct scenario *scenario)
{
    return memory_microbatch_tokens(scenario) * memory_element_bytes(scenario) *
           (double)scenario->model.hidden / memory_sequence_parts(scenario);
}

double memory_kept_bytes(const struct scenario *scenario, bool has_experts)
{
    sim_assert(scenario->recompute < RECOMPUTE_COUNT_);
    if (scenario->recompute == RECOMPUTE_FULL) {
        return memory_hidden_bytes(scenario);
    }
    return memory_tabled_bytes(scenario, has_experts, scenario->recompute == RECOMPUTE_NONE);
}

double memory_layer_activation_bytes(const struct scenario *scenario)
{
    return memory_kept_bytes(scenario, last_has_experts(scenario));
}
