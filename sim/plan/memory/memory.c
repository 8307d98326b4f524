/* Sums: bytes per parameter times parameters, what is alive over the step, the buffers
 * of sharding, and what lies beside tensors.
 *
 * What a layer keeps is in memory_layer.c, what is alive when in memory_live.c, and which
 * parameters are where in memory_parameters.c.
 *
 * Cost: O(actions of the stage's order) per stage.
 */
#include "plan/memory/memory.h"

#include "base/check.h"
#include "plan/cost.h"
#include "plan/loading.h"
#include "plan/memory/memory_layer.h"
#include "plan/memory/memory_live.h"
#include "plan/memory/memory_parameters.h"

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

struct memory_state memory_state_whole(enum precision precision, const struct optimizer *optimizer)
{
    const double weights = (double)precision_bytes(precision);
    const double master = weights >= 4 ? 0.0 : state_bytes((enum state_format)optimizer->master);
    return (struct memory_state){
        .weights = weights,
        .gradients = state_bytes((enum state_format)optimizer->gradients),
        .optimizer = master + 2.0 * state_bytes((enum state_format)optimizer->moments),
    };
}

/* Rajbhandari et al. 2020, figure 1. */
struct memory_state memory_state_sharded(const struct memory_state *whole, int64_t zero,
                                         int64_t ranks)
{
    sim_assert(ranks >= 1);
    sim_assert(zero >= 0 && zero <= 3);
    const double parts = (double)ranks;
    return (struct memory_state){
        .weights = whole->weights / (zero >= 3 ? parts : 1.0),
        .gradients = whole->gradients / (zero >= 2 ? parts : 1.0),
        .optimizer = whole->optimizer / (zero >= 1 ? parts : 1.0),
    };
}

bool memory_shards_gradients(const struct parallel *parallel)
{
    return parallel->zero >= 2 && parallel->pp == 1;
}

struct memory_state memory_state_of(const struct scenario *scenario)
{
    const enum precision precision = (enum precision)scenario->precision;
    struct memory_state whole = memory_state_whole(precision, &scenario->optimizer);
    const double master = state_bytes((enum state_format)scenario->optimizer.master);
    const bool has_master = precision_bytes(precision) < 4 && master > 0;
    if (scenario->parallel.zero == 3 && has_master &&
        !scenario->software.memory.has_weights_beside_master) {
        whole.weights = master;
        whole.optimizer -= master;
    } else {
        whole.weights = software_weight_bytes(&scenario->software, precision);
    }
    return whole;
}

double memory_checkpoint_bytes(const struct scenario *scenario, struct ledger *ledger)
{
    const enum precision precision = (enum precision)scenario->precision;
    const struct memory_state whole = memory_state_whole(precision, &scenario->optimizer);
    const double parameters = memory_model_parameters(scenario);
    const double trained = memory_model_trained(scenario);
    return LEDGER_SUM(ledger, "one checkpoint", "GB",
                      parameters * whole.weights + trained * whole.optimizer,
                      LEDGER_TERM(parameters, ""), LEDGER_TERM(whole.weights, "B of weights"),
                      LEDGER_TERM(trained, ""), LEDGER_TERM(whole.optimizer, "B of states"));
}

int64_t memory_rule_of_thumb_gpus(double parameters, double memory_bytes)
{
    sim_assert(parameters > 0 && memory_bytes > 0);
    return (int64_t)ceil(parameters * 18.0 * 1.25 / memory_bytes);
}

/* What a rank keeps of one that `ranks` share. */
static struct memory_state state_kept(const struct parallel *parallel,
                                      const struct memory_state *whole, int64_t ranks)
{
    struct memory_state kept = memory_state_sharded(whole, parallel->zero, ranks);
    if (!memory_shards_gradients(parallel)) {
        kept.gradients = whole->gradients;
    }
    return kept;
}

/* Dense parameters and experts of a stage, and how many ranks shard each. */
struct stage_states {
    struct memory_layer_parameters all, trained;
    struct memory_state dense, experts;
    double dense_shards, expert_shards;
};

static struct stage_states states_of(const struct scenario *scenario, int64_t stage)
{
    const struct parallel *parallel = &scenario->parallel;
    const struct memory_state whole = memory_state_of(scenario);
    const int64_t dense = memory_dense_shards(parallel);
    const int64_t experts = memory_expert_shards(parallel);
    struct stage_states of = {
        .all.experts = memory_stage_expert_parameters(scenario, stage),
        .trained = memory_stage_trained(scenario, stage),
        .dense = state_kept(parallel, &whole, dense),
        .experts = state_kept(parallel, &whole, experts),
        .dense_shards = (double)dense,
        .expert_shards = (double)experts,
    };
    of.all.dense = memory_stage_parameters(scenario, stage) - of.all.experts;
    return of;
}

/* ---- buffers of sharding ----------------------------------------------- */

/* Of a stage's parameters those that the other ranks keep when each keeps its share. */
static double elsewhere(const struct stage_states *of, const struct memory_layer_parameters *count)
{
    return count->dense * (1.0 - 1.0 / of->dense_shards) +
           count->experts * (1.0 - 1.0 / of->expert_shards);
}

/* FSDP holds a gathered unit, the layers fetched ahead, and the gradient of one unit, if it is not
 * kept whole anyway; or, as parallel.reshard says, gathered weights of the whole stage. None holds
 * more than what the other ranks keep. */
static double fsdp_bytes(const struct scenario *scenario, int64_t stage,
                         const struct stage_states *of)
{
    const enum precision precision = (enum precision)scenario->precision;
    const double weight = (double)precision_bytes(precision);
    const double gradient = state_bytes((enum state_format)scenario->optimizer.gradients);
    const bool beside_master = scenario->software.memory.has_weights_beside_master;
    const double all = of->all.dense + of->all.experts;
    const double weights_max = (beside_master ? elsewhere(of, &of->all) : all) * weight;
    const double gradients_max = elsewhere(of, &of->trained) * gradient;
    const double unit = memory_largest_unit(scenario, stage);
    const double ahead =
        (double)scenario->software.fsdp_prefetch * memory_largest_layer(scenario, stage);
    const bool keeps = scenario->parallel.reshard != RESHARD_FORWARD;
    const double weights = keeps ? weights_max : smaller((unit + ahead) * weight, weights_max);
    return memory_shards_gradients(&scenario->parallel)
               ? weights + smaller(unit * gradient, gradients_max)
               : weights;
}

/* ZeRO 2 holds a bucket of gradients before they are scattered, unless it has them all. */
static double buffers_bytes(const struct scenario *scenario, int64_t stage,
                            const struct stage_states *of)
{
    const struct software *software = &scenario->software;
    const double kept = (double)software->memory.bucket_count * software->bucket_bytes;
    const bool is_sharded = memory_shards_gradients(&scenario->parallel);
    if (scenario->parallel.zero < 3 && !is_sharded) {
        return scenario->gpus > 1 ? kept : 0.0;
    }
    if (scenario->parallel.zero == 2) {
        const double gradient = state_bytes((enum state_format)scenario->optimizer.gradients);
        return larger(kept,
                      smaller(software->bucket_bytes, elsewhere(of, &of->trained) * gradient));
    }
    return fsdp_bytes(scenario, stage, of);
}

static double copy_bytes(uint32_t precision)
{
    return precision == PRECISION_COUNT_ ? 0.0 : (double)precision_bytes((enum precision)precision);
}

/* What the backward pass writes before it is added to the gradients. */
static double written_bytes(const struct scenario *scenario, const struct stage_states *of)
{
    const double bytes = copy_bytes(scenario->software.memory.backward_gradients);
    const bool is_whole =
        scenario->parallel.zero < 3 && !memory_shards_gradients(&scenario->parallel);
    return is_whole ? (of->trained.dense + of->trained.experts) * bytes : 0.0;
}

/* A copy of the gradients' shard that the update reads. */
static double update_bytes(const struct scenario *scenario, const struct stage_states *of)
{
    const bool is_sharded = scenario->parallel.zero >= 1;
    const double bytes = copy_bytes(scenario->software.memory.step_gradients);
    return bytes * (of->trained.dense / (is_sharded ? of->dense_shards : 1.0) +
                    of->trained.experts / (is_sharded ? of->expert_shards : 1.0));
}

/* ---- a GPU, and the worst of all --------------------------------------- */

static void add_states(const struct scenario *scenario, const struct stage_states *of,
                       struct memory_use *use)
{
    const double optimizer =
        of->trained.dense * of->dense.optimizer + of->trained.experts * of->experts.optimizer;
    const double extra = scenario->lora.rank > 0 ? 1.0 : 0.0; /* LoRA's come on top */
    use->weights_bytes = (of->all.dense + extra * of->trained.dense) * of->dense.weights +
                         (of->all.experts + extra * of->trained.experts) * of->experts.weights;
    use->gradients_bytes =
        of->trained.dense * of->dense.gradients + of->trained.experts * of->experts.gradients;
    use->host_bytes = optimizer * scenario->offload.optimizer;
    use->optimizer_bytes = optimizer - use->host_bytes;
}

/* Activations, and copies of gradients. The copy that the update reads is one large tensor: the
 * segments that activations leave behind are too small for it, so both stay with the
 * allocator. */
static void add_peak(const struct scenario *scenario, int64_t stage, const struct stage_states *of,
                     struct memory_use *use)
{
    const struct memory_peak peak = memory_live_peak(scenario, stage);
    const double update = update_bytes(scenario, of) * (1.0 - scenario->offload.optimizer);
    use->buffers_bytes =
        buffers_bytes(scenario, stage, of) + larger(written_bytes(scenario, of), update);
    use->activations_bytes = peak.layers_bytes + peak.embedding_bytes + peak.head_bytes;
    use->logits_bytes = peak.logits_bytes;
    use->temporary_bytes = peak.recomputed_bytes + peak.working_bytes;
    use->moment = peak.moment;
    use->microbatch = peak.microbatch;
    use->chunk = peak.chunk;
}

static void add_overhead(const struct scenario *scenario, struct memory_use *use)
{
    const struct software_memory *memory = &scenario->software.memory;
    use->allocated_bytes = use->weights_bytes + use->gradients_bytes + use->optimizer_bytes +
                           use->activations_bytes + use->temporary_bytes + use->buffers_bytes;
    use->context_bytes = memory->context_bytes;
    use->communication_bytes = memory->communicator_bytes * (double)memory_communicators(scenario);
    use->fragmentation_bytes = memory->fragmentation * use->allocated_bytes;
    use->lump_bytes = memory->overhead_bytes;
    use->overhead_bytes =
        use->context_bytes + use->communication_bytes + use->fragmentation_bytes + use->lump_bytes;
    use->total_bytes = use->allocated_bytes + use->overhead_bytes;
}

struct memory_use memory_of_stage(const struct scenario *scenario, int64_t stage)
{
    const struct stage_states of = states_of(scenario, stage);
    struct memory_use use = {0};
    add_states(scenario, &of, &use);
    add_peak(scenario, stage, &of, &use);
    add_overhead(scenario, &use);
    use.host_bytes += memory_live_host_bytes(scenario, stage);
    sim_assert(use.logits_bytes <= use.activations_bytes);
    sim_assert(use.total_bytes > 0 && isfinite(use.total_bytes));
    return use;
}

struct memory_activations memory_activations_of_stage(const struct scenario *scenario,
                                                      int64_t stage)
{
    const struct memory_peak peak = memory_live_peak(scenario, stage);
    return (struct memory_activations){
        .layers_in_flight = peak.layers_most,
        .layer_bytes = memory_layer_activation_bytes(scenario),
        .kept_bytes = peak.layers_bytes,
        .embedding_bytes = peak.embedding_bytes,
        .head_bytes = peak.head_bytes,
        .recomputed_bytes = peak.recomputed_bytes,
        .working_bytes = peak.working_bytes,
    };
}

struct memory_verdict memory_check(const struct scenario *scenario)
{
    const double gpus_per_host =
        smaller((double)scenario->cluster.gpus_per_node, (double)scenario->gpus);
    struct memory_verdict verdict = {.limit_bytes = scenario->gpu.memory_bytes,
                                     .host_limit_bytes = scenario->cluster.host_memory_bytes};
    for (int64_t stage = 0; stage < scenario->parallel.pp; stage++) {
        const struct memory_use use = memory_of_stage(scenario, stage);
        if (use.total_bytes > verdict.worst.total_bytes) {
            verdict.worst_stage = stage;
            verdict.worst = use;
        }
        verdict.offloaded_bytes = larger(verdict.offloaded_bytes, use.host_bytes * gpus_per_host);
    }
    verdict.loaders_bytes = loading_host_bytes(scenario);
    verdict.host_bytes = verdict.offloaded_bytes + verdict.loaders_bytes;
    verdict.fits_gpu = verdict.worst.total_bytes <= verdict.limit_bytes;
    const bool fits_host =
        verdict.host_limit_bytes <= 0 || verdict.host_bytes <= verdict.host_limit_bytes;
    verdict.fits = verdict.fits_gpu && fits_host;
    return verdict;
}
