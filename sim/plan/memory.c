/* Three sums: bytes per parameter times parameters, bytes per token and layer
 * times what is in flight, and the buffers of sharding.
 *
 * What a layer keeps for its backward is in memory_layer.c.
 * A stage keeps that for each layer in flight (the exact peak over its order,
 * plan/schedule). Recomputation keeps less, but while a layer goes backward its
 * recomputed part is there, once. Hence
 *
 *   layers in flight * kept + (everything - kept)
 *
 * which without recomputation is layers in flight * everything. Where dense layers and
 * layers with experts are mixed, the peak is over the sum of what each keeps.
 *
 * Leaves out: the inputs of pipeline sends in transit, rotary tables, statistics
 * of norms (8 bytes a token), gathered sequence-parallel inputs, keys and values gathered over
 * context parallelism (one tensor at a time). All err low, by a per cent or less.
 *
 * Cost: O(stages * chunks) per stage.
 */
#include "plan/memory.h"

#include "base/check.h"
#include "plan/cost.h"
#include "plan/memory_layer.h"
#include "plan/schedule.h"
#include "spec/layout.h"

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

/* Of the layers of a stage those that have experts. */
static int64_t stage_expert_layers(const struct scenario *scenario, int64_t stage)
{
    const struct parallel *parallel = &scenario->parallel;
    if (scenario->model.experts == 0 || scenario->model.dense_layers == 0) {
        return scenario->model.experts == 0 ? 0 : stage_layers(scenario, stage);
    }
    int64_t layers = 0;
    for (int64_t chunk = 0; chunk < parallel->virtual_stages; chunk++) {
        const int64_t piece = chunk * parallel->pp + stage;
        layers += model_expert_layers(&scenario->model, layout_first_layer(parallel, piece),
                                      parallel->layers_per_chunk[piece]);
    }
    return layers;
}

struct memory_layer_parameters memory_layer_parameters(const struct scenario *scenario,
                                                       bool has_experts)
{
    const struct model *model = &scenario->model;
    const struct parameter_count count = cost_parameters(model);
    const double tp = (double)scenario->parallel.tp;
    if (!has_experts) {
        return (struct memory_layer_parameters){
            .dense = (double)count.layer_matrix / tp + (double)(count.layer - count.layer_matrix)};
    }
    const int64_t dense = cost_moe_dense_parameters(model, &count);
    const double local = (double)model->experts / (double)scenario->parallel.ep;
    return (struct memory_layer_parameters){
        .dense = (double)count.moe_matrix / tp + (double)(dense - count.moe_matrix),
        .experts = local * (double)count.expert / tp,
    };
}

/* Of the largest kind of layer that a stage has; 0 without layers. */
static double largest_layer_parameters(const struct scenario *scenario, int64_t stage)
{
    const int64_t with_experts = stage_expert_layers(scenario, stage);
    double largest = 0;
    if (with_experts > 0) {
        const struct memory_layer_parameters of = memory_layer_parameters(scenario, true);
        largest = of.dense + of.experts;
    }
    if (stage_layers(scenario, stage) > with_experts) {
        largest = larger(largest, memory_layer_parameters(scenario, false).dense);
    }
    return largest;
}

int64_t memory_dense_ranks(const struct parallel *parallel)
{
    return parallel->cp * parallel->dp;
}

int64_t memory_expert_ranks(const struct parallel *parallel)
{
    sim_assert(parallel->cp * parallel->dp % parallel->ep == 0);
    return parallel->cp * parallel->dp / parallel->ep;
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
    sim_assert(scenario->parallel.cp >= 1 && scenario->parallel.ep >= 1);
    sim_assert(scenario->parallel.virtual_stages >= 1);
}

double memory_stage_expert_parameters(const struct scenario *scenario, int64_t stage)
{
    check_stage(scenario, stage);
    const int64_t layers = stage_expert_layers(scenario, stage);
    return layers > 0 ? (double)layers * memory_layer_parameters(scenario, true).experts : 0.0;
}

/* Of the layers of a stage without their routed experts. */
static double layers_dense_parameters(const struct scenario *scenario, int64_t stage)
{
    const int64_t with_experts = stage_expert_layers(scenario, stage);
    const int64_t dense = stage_layers(scenario, stage) - with_experts;
    double parameters = (double)dense * memory_layer_parameters(scenario, false).dense;
    if (with_experts > 0) {
        parameters += (double)with_experts * memory_layer_parameters(scenario, true).dense;
    }
    return parameters;
}

double memory_stage_parameters(const struct scenario *scenario, int64_t stage)
{
    check_stage(scenario, stage);
    double parameters =
        layers_dense_parameters(scenario, stage) + memory_stage_expert_parameters(scenario, stage);
    if (is_first_stage(stage)) {
        parameters += embedding_parameters(scenario) + edge_norm_parameters(scenario, true);
    }
    if (is_last_stage(scenario, stage)) {
        parameters += head_parameters(scenario) + edge_norm_parameters(scenario, false);
    }
    return parameters;
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

/* The most that dense layers and layers with experts keep together at one time. The schedule
 * counts whole units, so bytes become parts of the largest chunk's. */
static double mixed_kept_bytes(const struct scenario *scenario, int64_t stage)
{
    enum { PIECES_MAX = 10 * 1000 + 2 };  /* spec/feasible: at most two more than layers */
    const double units = 1099511627776.0; /* 2^40 */
    const struct parallel *parallel = &scenario->parallel;
    const struct schedule_shape shape = shape_of(scenario);
    int64_t weights[PIECES_MAX] = {0};
    double bytes[2] = {memory_kept_bytes(scenario, false), memory_kept_bytes(scenario, true)};
    const double largest = larger(bytes[0], bytes[1]) * (double)scenario->model.layers;
    sim_assert(parallel->pp * parallel->virtual_stages <= PIECES_MAX);
    for (int64_t chunk = 0; chunk < parallel->virtual_stages; chunk++) {
        const int64_t piece = chunk * parallel->pp + stage;
        const int64_t layers = parallel->layers_per_chunk[piece];
        const int64_t with_experts =
            model_expert_layers(&scenario->model, layout_first_layer(parallel, piece), layers);
        const double kept =
            (double)(layers - with_experts) * bytes[0] + (double)with_experts * bytes[1];
        weights[piece] = llround(kept / largest * units);
    }
    return (double)schedule_live_layers(&shape, (uint32_t)stage, weights) * largest / units;
}

/* What is computed again of the kind of layer of which that is most. */
static double recomputed_bytes(const struct scenario *scenario, int64_t stage)
{
    const int64_t with_experts = stage_expert_layers(scenario, stage);
    double most = 0;
    if (with_experts > 0) {
        most = memory_tabled_bytes(scenario, true, true) - memory_kept_bytes(scenario, true);
    }
    if (stage_layers(scenario, stage) > with_experts) {
        most = larger(most, memory_tabled_bytes(scenario, false, true) -
                                memory_kept_bytes(scenario, false));
    }
    return most;
}

static struct memory_activations layers_activations(const struct scenario *scenario, int64_t stage)
{
    const struct schedule_shape shape = shape_of(scenario);
    struct memory_activations of = {.layer_bytes = memory_layer_activation_bytes(scenario)};
    of.layers_in_flight =
        schedule_live_layers(&shape, (uint32_t)stage, scenario->parallel.layers_per_chunk);
    const bool is_mixed = scenario->model.experts > 0 && scenario->model.dense_layers > 0;
    of.kept_bytes =
        is_mixed ? mixed_kept_bytes(scenario, stage) : (double)of.layers_in_flight * of.layer_bytes;
    of.recomputed_bytes = of.layers_in_flight > 0 ? recomputed_bytes(scenario, stage) : 0.0;
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
    return alive * memory_microbatch_tokens(scenario) * (double)scenario->model.hidden /
           memory_sequence_parts(scenario);
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
    const double element = memory_element_bytes(scenario) + 4.0;
    return head_microbatches(scenario) * memory_microbatch_tokens(scenario) * vocab * element;
}

/* Logits, and what goes into and comes out of the final norm. */
static double head_activation_bytes(const struct scenario *scenario)
{
    return logits_bytes(scenario) +
           2.0 * head_microbatches(scenario) * memory_hidden_bytes(scenario);
}

/* ---- buffers of sharding ----------------------------------------------- */

/* What is gathered at once: a layer, or a vocabulary table if that is larger. */
static double largest_unit_parameters(const struct scenario *scenario, int64_t stage)
{
    const double layer = largest_layer_parameters(scenario, stage);
    const bool has_table = is_first_stage(stage) || is_last_stage(scenario, stage);
    return has_table ? larger(layer, table_parameters(scenario)) : layer;
}

/* Of a stage's parameters those that the other ranks keep when each keeps its share. */
static double parameters_elsewhere(const struct scenario *scenario, int64_t stage)
{
    const struct parallel *parallel = &scenario->parallel;
    const double experts = memory_stage_expert_parameters(scenario, stage);
    const double dense = memory_stage_parameters(scenario, stage) - experts;
    return dense * (1.0 - 1.0 / (double)memory_dense_ranks(parallel)) +
           experts * (1.0 - 1.0 / (double)memory_expert_ranks(parallel));
}

/* ZeRO 2 holds a bucket of gradients before they are scattered; ZeRO 3 a
 * gathered unit, the layers fetched ahead, and the gradient of one unit. None
 * holds more than what the other ranks keep. */
static double buffers_bytes(const struct scenario *scenario, int64_t stage)
{
    const struct state whole = state_of(scenario);
    const double elsewhere = parameters_elsewhere(scenario, stage);
    const double gradients_max = elsewhere * whole.gradients;
    const double weights_max = elsewhere * whole.weights;
    if (scenario->parallel.zero < 2) {
        return 0.0;
    }
    if (scenario->parallel.zero == 2) {
        return smaller(scenario->software.bucket_bytes, gradients_max);
    }
    const double unit = largest_unit_parameters(scenario, stage);
    const double ahead =
        (double)scenario->software.fsdp_prefetch * largest_layer_parameters(scenario, stage);
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
    return of.kept_bytes + of.recomputed_bytes + of.embedding_bytes + of.head_bytes;
}

struct memory_use memory_of_stage(const struct scenario *scenario, int64_t stage)
{
    check_stage(scenario, stage);
    const struct parallel *parallel = &scenario->parallel;
    const double experts = memory_stage_expert_parameters(scenario, stage);
    const double dense = memory_stage_parameters(scenario, stage) - experts;
    const struct state whole = state_of(scenario);
    const struct state of_dense =
        sharded_state(&whole, parallel->zero, memory_dense_ranks(parallel));
    const struct state of_experts =
        sharded_state(&whole, parallel->zero, memory_expert_ranks(parallel));
    struct memory_use use = {
        .weights_bytes = dense * of_dense.weights + experts * of_experts.weights,
        .gradients_bytes = dense * of_dense.gradients + experts * of_experts.gradients,
        .optimizer_bytes = dense * of_dense.optimizer + experts * of_experts.optimizer,
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
