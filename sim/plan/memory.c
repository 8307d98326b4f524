/* Three sums: bytes per parameter times parameters, bytes per token and layer
 * times what is in flight, and the buffers of sharding.
 *
 * What a layer keeps for its backward is a table with a row per tensor; the
 * formulas of the literature are sums over rows (tests hold them against it):
 *
 *   GPT with dropout, attention not fused   sbh(34 + 5ns/h)
 *   the same, core attention recomputed     34sbh
 *   Llama, fused attention                  sb(8h + 4nd + 4*kv*d + 6f + 4n)
 *
 * A stage keeps that for each layer in flight (the exact peak over its order,
 * plan/schedule). Recomputation keeps less, but while a layer goes backward its
 * recomputed part is there, once. Hence
 *
 *   layers in flight * kept + (everything - kept)
 *
 * which without recomputation is layers in flight * everything.
 *
 * Leaves out: the inputs of pipeline sends in transit, rotary tables, statistics
 * of norms (8 bytes a token), gathered sequence-parallel inputs (one tensor at a
 * time). All err low, by a per cent or less.
 *
 * Cost: O(stages * chunks) per stage.
 */
#include "plan/memory.h"

#include "base/check.h"
#include "plan/cost.h"
#include "plan/schedule.h"

#include <math.h>

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* ---- weights, gradients, optimizer ------------------------------------- */

/* Bytes of one parameter on one rank. */
struct state {
    double weights;
    double gradients;
    double optimizer;
};

static struct state unsharded_state(enum precision precision, enum precision gradient)
{
    if (precision_bytes(precision) == 4) {
        return (struct state){.weights = 4, .gradients = 4, .optimizer = 8};
    }
    return (struct state){2, (double)precision_bytes(gradient), 12};
}

/* Rajbhandari et al. 2020, figure 1. */
static struct state sharded_state(const struct state *whole, int64_t zero, int64_t dp)
{
    sim_assert(dp >= 1);
    sim_assert(zero >= 0 && zero <= 3);
    const double ranks = (double)dp;
    return (struct state){
        .weights = whole->weights / (zero >= 3 ? ranks : 1.0),
        .gradients = whole->gradients / (zero >= 2 ? ranks : 1.0),
        .optimizer = whole->optimizer / (zero >= 1 ? ranks : 1.0),
    };
}

double memory_state_bytes_per_parameter(enum precision precision, enum precision gradient,
                                        int64_t zero, int64_t dp)
{
    const struct state whole = unsharded_state(precision, gradient);
    const struct state state = sharded_state(&whole, zero, dp);
    return state.weights + state.gradients + state.optimizer;
}

static struct state state_of(const struct scenario *scenario)
{
    return unsharded_state((enum precision)scenario->precision,
                           (enum precision)scenario->software.gradient_precision);
}

double memory_checkpoint_bytes(const struct scenario *scenario)
{
    const struct state state = state_of(scenario);
    const struct parameter_count count = cost_parameters(&scenario->model);
    return (double)count.total * (state.weights + state.optimizer);
}

int64_t memory_rule_of_thumb_gpus(double parameters, double memory_bytes)
{
    sim_assert(parameters > 0 && memory_bytes > 0);
    return (int64_t)ceil(parameters * 18.0 * 1.25 / memory_bytes);
}

/* ---- parameters of a stage --------------------------------------------- */

static bool is_first_stage(int64_t stage)
{
    return stage == 0;
}

static bool is_last_stage(const struct scenario *scenario, int64_t stage)
{
    return stage == scenario->parallel.pp - 1;
}

static int64_t stage_layers(const struct scenario *scenario, int64_t stage)
{
    const struct parallel *parallel = &scenario->parallel;
    sim_assert(parallel->layers_per_chunk != NULL);
    int64_t layers = 0;
    for (int64_t chunk = 0; chunk < parallel->virtual_stages; chunk++) {
        layers += parallel->layers_per_chunk[chunk * parallel->pp + stage];
    }
    return layers;
}

static double layer_parameters(const struct scenario *scenario)
{
    const struct parameter_count count = cost_parameters(&scenario->model);
    return (double)count.layer_matrix / (double)scenario->parallel.tp +
           (double)(count.layer - count.layer_matrix);
}

/* The padded vocabulary table is cut by tp. */
static double table_parameters(const struct scenario *scenario)
{
    const struct model *model = &scenario->model;
    const int64_t tp = scenario->parallel.tp;
    return (double)(cost_padded_vocab(model, tp) * model->hidden) / (double)tp;
}

static double embedding_parameters(const struct scenario *scenario)
{
    const struct model *model = &scenario->model;
    const bool has_table = model->positions == POSITION_LEARNED;
    return table_parameters(scenario) +
           (has_table ? (double)(model->max_positions * model->hidden) : 0.0);
}

/* A tied head on another stage than the embedding is a copy of it. */
static double head_parameters(const struct scenario *scenario)
{
    const bool is_shared = scenario->model.has_tied_embeddings && scenario->parallel.pp == 1;
    return is_shared ? 0.0 : table_parameters(scenario);
}

/* Embedding norm (if any) and final norm are equally large. */
static double edge_norm_parameters(const struct scenario *scenario, bool is_embedding_norm)
{
    const double both = (double)cost_parameters(&scenario->model).final_norm;
    if (!scenario->model.has_embedding_norm) {
        return is_embedding_norm ? 0.0 : both;
    }
    return both / 2.0;
}

static void check_stage(const struct scenario *scenario, int64_t stage)
{
    sim_assert(stage >= 0 && stage < scenario->parallel.pp);
    sim_assert(scenario->parallel.tp >= 1 && scenario->parallel.dp >= 1);
    sim_assert(scenario->parallel.virtual_stages >= 1);
}

double memory_stage_parameters(const struct scenario *scenario, int64_t stage)
{
    check_stage(scenario, stage);
    double parameters = (double)stage_layers(scenario, stage) * layer_parameters(scenario);
    if (is_first_stage(stage)) {
        parameters += embedding_parameters(scenario) + edge_norm_parameters(scenario, true);
    }
    if (is_last_stage(scenario, stage)) {
        parameters += head_parameters(scenario) + edge_norm_parameters(scenario, false);
    }
    return parameters;
}

/* ---- activations of a layer -------------------------------------------- */

/* Elements per token. */
enum width {
    WIDTH_HIDDEN,
    WIDTH_QUERY,     /* heads * head_dim */
    WIDTH_KEY_VALUE, /* kv_heads * head_dim; each tp rank has at least one kv head */
    WIDTH_FFN,
    WIDTH_SCORES, /* heads * sequence: a row of the attention matrix of each head */
    WIDTH_HEADS,
    WIDTH_COUNT_
};

/* When a row applies, and how its tensor is treated. */
enum {
    FUSED = 1 << 0,   /* only with fused attention */
    UNFUSED = 1 << 1, /* only without */
    GELU = 1 << 2,
    SWIGLU = 1 << 3,
    DROPOUT = 1 << 4,
    CONDITIONS = FUSED | UNFUSED | GELU | SWIGLU | DROPOUT,
    SPLIT = 1 << 5, /* by tp even without sequence parallelism */
    CORE = 1 << 6,  /* inside core attention: dropped by selective recomputation when unfused */
    CHEAP = 1 << 7, /* a memory-bound kernel's output: dropped by it when attention is fused */
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
    {"GELU input", WIDTH_FFN, 1, AS_COMPUTED, SPLIT | GELU},
    {"GELU output", WIDTH_FFN, 1, AS_COMPUTED, SPLIT | GELU | CHEAP},
    {"SwiGLU gate and up", WIDTH_FFN, 2, AS_COMPUTED, SPLIT | SWIGLU},
    {"SwiGLU product", WIDTH_FFN, 1, AS_COMPUTED, SPLIT | SWIGLU | CHEAP},
};

#define ACTIVATION_ROW_COUNT (sizeof activation_rows / sizeof activation_rows[0])

static unsigned conditions_of(const struct scenario *scenario)
{
    const bool is_fused = scenario->software.attention != ATTENTION_UNFUSED;
    const unsigned attention = is_fused ? FUSED : UNFUSED;
    const unsigned mlp = scenario->model.mlp == MLP_SWIGLU ? SWIGLU : GELU;
    return attention | mlp | (scenario->model.has_dropout ? (unsigned)DROPOUT : 0u);
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
    };
    return widths[width];
}

static double microbatch_tokens(const struct scenario *scenario)
{
    return (double)scenario->batch.micro * (double)scenario->batch.sequence_length;
}

static double element_bytes(const struct scenario *scenario)
{
    return (double)precision_bytes((enum precision)scenario->precision);
}

/* How many parts a tensor is cut into that tp does not cut by itself. */
static double sequence_parts(const struct scenario *scenario)
{
    return scenario->parallel.is_sequence_parallel ? (double)scenario->parallel.tp : 1.0;
}

static struct memory_tensor tensor_of(const struct scenario *scenario,
                                      const struct activation_row *row)
{
    return (struct memory_tensor){
        .what = row->what,
        .count = row->count,
        .element_bytes = row->element_bytes == AS_COMPUTED ? element_bytes(scenario)
                                                           : (double)row->element_bytes,
        .width = width_of(scenario, row->width),
        .parts = row->flags & SPLIT ? (double)scenario->parallel.tp : sequence_parts(scenario),
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
    const unsigned conditions = conditions_of(scenario);
    const bool is_selective = scenario->recompute == RECOMPUTE_SELECTIVE;
    const unsigned dropped = is_selective ? selected_of(scenario) : 0u;
    uint32_t count = 0;
    for (size_t i = 0; i < ACTIVATION_ROW_COUNT; i++) {
        const unsigned needed = activation_rows[i].flags & CONDITIONS;
        if ((needed & conditions) == needed) {
            struct memory_tensor *tensor = &tensors[count++];
            *tensor = tensor_of(scenario, &activation_rows[i]);
            tensor->bytes = bytes_per_token(tensor) * microbatch_tokens(scenario);
            tensor->is_kept =
                scenario->recompute != RECOMPUTE_FULL && (activation_rows[i].flags & dropped) == 0;
        }
    }
    return count;
}

/* What a layer keeps when it recomputes what is selected, or nothing. */
static double tabled_bytes(const struct scenario *scenario, bool keeps_all)
{
    const unsigned conditions = conditions_of(scenario);
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
    return bytes * microbatch_tokens(scenario);
}

/* A tensor of one hidden vector per token, such as a layer's input. */
static double hidden_bytes(const struct scenario *scenario)
{
    return microbatch_tokens(scenario) * element_bytes(scenario) * (double)scenario->model.hidden /
           sequence_parts(scenario);
}

double memory_layer_activation_bytes(const struct scenario *scenario)
{
    sim_assert(scenario->recompute < RECOMPUTE_COUNT_);
    if (scenario->recompute == RECOMPUTE_FULL) {
        return hidden_bytes(scenario);
    }
    return tabled_bytes(scenario, scenario->recompute == RECOMPUTE_NONE);
}

/* ---- activations of a stage -------------------------------------------- */

static struct schedule_shape shape_of(const struct scenario *scenario)
{
    sim_assert(scenario->batch.microbatches > 0 && scenario->batch.microbatches <= UINT32_MAX);
    return (struct schedule_shape){
        .kind = (enum schedule_kind)scenario->parallel.schedule,
        .stages = (uint32_t)scenario->parallel.pp,
        .chunks = (uint32_t)scenario->parallel.virtual_stages,
        .microbatches = (uint32_t)scenario->batch.microbatches,
    };
}

static struct memory_activations layers_activations(const struct scenario *scenario, int64_t stage)
{
    const struct schedule_shape shape = shape_of(scenario);
    const double kept = memory_layer_activation_bytes(scenario);
    struct memory_activations of = {.layer_bytes = kept};
    of.layers_in_flight =
        schedule_live_layers(&shape, (uint32_t)stage, scenario->parallel.layers_per_chunk);
    of.recomputed_bytes = of.layers_in_flight > 0 ? tabled_bytes(scenario, true) - kept : 0.0;
    sim_assert(of.recomputed_bytes >= 0);
    return of;
}

/* The mask of the embedding's dropout, a byte an element, per microbatch alive
 * in the first chunk (Korthikanti et al. 2022, section 4.3). */
static double embedding_activation_bytes(const struct scenario *scenario)
{
    if (!scenario->model.has_dropout) {
        return 0.0;
    }
    const struct schedule_shape shape = shape_of(scenario);
    const double alive = (double)schedule_live_microbatches(&shape, 0, 0);
    return alive * microbatch_tokens(scenario) * (double)scenario->model.hidden /
           sequence_parts(scenario);
}

/* Microbatches whose head has gone forward and not yet backward: one, but for
 * GPipe, where they all wait. */
static double head_microbatches(const struct scenario *scenario)
{
    const struct schedule_shape shape = shape_of(scenario);
    return (double)schedule_live_microbatches(&shape, shape.stages - 1, shape.chunks - 1);
}

/* The logits and an fp32 copy of them for the loss, over the padded vocabulary. */
static double logits_bytes(const struct scenario *scenario)
{
    const int64_t tp = scenario->parallel.tp;
    const double vocab = (double)cost_padded_vocab(&scenario->model, tp) / (double)tp;
    const double element = element_bytes(scenario) + 4.0;
    return head_microbatches(scenario) * microbatch_tokens(scenario) * vocab * element;
}

/* Logits, and what goes into and comes out of the final norm. */
static double head_activation_bytes(const struct scenario *scenario)
{
    return logits_bytes(scenario) + 2.0 * head_microbatches(scenario) * hidden_bytes(scenario);
}

/* ---- buffers of sharding ----------------------------------------------- */

/* What is gathered at once: a layer, or a vocabulary table if that is larger. */
static double largest_unit_parameters(const struct scenario *scenario, int64_t stage)
{
    const double layer = stage_layers(scenario, stage) > 0 ? layer_parameters(scenario) : 0.0;
    const bool has_table = is_first_stage(stage) || is_last_stage(scenario, stage);
    return has_table ? larger(layer, table_parameters(scenario)) : layer;
}

/* ZeRO 2 holds a bucket of gradients before they are scattered; ZeRO 3 a
 * gathered unit, the layers fetched ahead, and the gradient of one unit. None
 * holds more than what the other ranks keep. */
static double buffers_bytes(const struct scenario *scenario, int64_t stage)
{
    const struct state whole = state_of(scenario);
    const double parameters = memory_stage_parameters(scenario, stage);
    const double others = 1.0 - 1.0 / (double)scenario->parallel.dp;
    const double gradients_max = parameters * whole.gradients * others;
    const double weights_max = parameters * whole.weights * others;
    if (scenario->parallel.zero < 2) {
        return 0.0;
    }
    if (scenario->parallel.zero == 2) {
        return smaller(scenario->software.bucket_bytes, gradients_max);
    }
    const double unit = largest_unit_parameters(scenario, stage);
    const double ahead = (double)scenario->software.fsdp_prefetch * layer_parameters(scenario);
    return smaller((unit + ahead) * whole.weights, weights_max) +
           smaller(unit * whole.gradients, gradients_max);
}

/* ---- a GPU, and the worst of all --------------------------------------- */

struct memory_activations memory_activations_of_stage(const struct scenario *scenario,
                                                      int64_t stage)
{
    check_stage(scenario, stage);
    struct memory_activations of = layers_activations(scenario, stage);
    if (is_first_stage(stage)) {
        of.embedding_bytes = embedding_activation_bytes(scenario);
    }
    if (is_last_stage(scenario, stage)) {
        of.head_bytes = head_activation_bytes(scenario);
    }
    return of;
}

static double activations_bytes(const struct scenario *scenario, int64_t stage)
{
    const struct memory_activations of = memory_activations_of_stage(scenario, stage);
    return (double)of.layers_in_flight * of.layer_bytes + of.recomputed_bytes + of.embedding_bytes +
           of.head_bytes;
}

struct memory_use memory_of_stage(const struct scenario *scenario, int64_t stage)
{
    check_stage(scenario, stage);
    const double parameters = memory_stage_parameters(scenario, stage);
    const struct state whole = state_of(scenario);
    const struct state state =
        sharded_state(&whole, scenario->parallel.zero, scenario->parallel.dp);
    struct memory_use use = {
        .weights_bytes = parameters * state.weights,
        .gradients_bytes = parameters * state.gradients,
        .optimizer_bytes = parameters * state.optimizer,
        .activations_bytes = activations_bytes(scenario, stage),
        .logits_bytes = is_last_stage(scenario, stage) ? logits_bytes(scenario) : 0.0,
        .buffers_bytes = buffers_bytes(scenario, stage),
        .overhead_bytes = scenario->software.memory_overhead_bytes,
    };
    use.total_bytes = use.weights_bytes + use.gradients_bytes + use.optimizer_bytes +
                      use.activations_bytes + use.buffers_bytes + use.overhead_bytes;
    sim_assert(use.logits_bytes <= use.activations_bytes);
    sim_assert(use.total_bytes > 0 && isfinite(use.total_bytes));
    return use;
}

struct memory_verdict memory_check(const struct scenario *scenario)
{
    struct memory_verdict verdict = {.limit_bytes = scenario->gpu.memory_bytes};
    for (int64_t stage = 0; stage < scenario->parallel.pp; stage++) {
        const struct memory_use use = memory_of_stage(scenario, stage);
        if (use.total_bytes > verdict.worst.total_bytes) {
            verdict.worst_stage = stage;
            verdict.worst = use;
        }
    }
    verdict.fits = verdict.worst.total_bytes <= verdict.limit_bytes;
    return verdict;
}
