/* Sums: bytes per parameter times parameters, what is alive over the step, the buffers
 * of sharding, and what lies beside tensors.
 *
 * What a layer keeps is in memory_layer.c, what is alive when in memory_live.c, and which
 * parameters are where in memory_parameters.c.
 *
 * Cost: O(actions of the stage's order) per stage.
 */
#include "plan/matrices.h"
#include "plan/memory/memory.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/job/lora.h"
#include "input/job/optimizer.h"
#include "input/job/parallel.h"
#include "input/scenario.h"
#include "plan/cost.h"
#include "plan/checkpoint_roles.h"
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
        .optimizer = master + optimizer_moment_bytes(optimizer),
    };
}

/* What a parameter of a matrix with a rule of its own has less than another. */
static double less_of_matrices(const struct optimizer *optimizer)
{
    return optimizer_moment_bytes(optimizer) - optimizer_matrix_moment_bytes(optimizer);
}

struct memory_layer_parameters memory_stage_less(const struct memory_job *job, int64_t stage)
{
    if (!optimizer_has_matrices(job->optimizer)) {
        return (struct memory_layer_parameters){0, 0};
    }
    const struct matrix_split split = memory_stage_matrices(&job->split, stage);
    const struct matrix_elements of = matrices_stage_elements(&split, &job->optimizer->matrices);
    const double less = less_of_matrices(job->optimizer);
    return (struct memory_layer_parameters){of.dense * less, of.experts * less};
}

/* What each of so many ranks keeps of a parameter's bytes. */
static double share(struct ledger *ledger, const char *label, double whole, double ranks)
{
    return LEDGER_SUM(ledger, label, "B", whole / ranks, LEDGER_TERM(whole, "B"),
                      LEDGER_TERM(ranks, "ranks"));
}

static struct memory_state sharded(struct ledger *ledger, const struct memory_state *whole,
                                   int64_t zero, bool shards_gradients, int64_t ranks)
{
    sim_assert(ranks >= 1);
    sim_assert(zero >= 0 && zero <= 3);
    const double parts = (double)ranks;
    struct memory_state of = {0};
    of.weights = share(ledger, "weights of a parameter", whole->weights, zero >= 3 ? parts : 1.0);
    of.gradients = share(ledger, "its gradients", whole->gradients, shards_gradients ? parts : 1.0);
    of.optimizer = share(ledger, "its optimizer states", whole->optimizer, zero >= 1 ? parts : 1.0);
    return of;
}

/* Rajbhandari et al. 2020, figure 1. */
struct memory_state memory_state_sharded(const struct memory_state *whole, int64_t zero,
                                         int64_t ranks)
{
    return sharded(NULL, whole, zero, zero >= 2, ranks);
}

bool memory_shards_gradients(const struct parallel *parallel, const struct software *software)
{
    return parallel->zero >= 2 && parallel->pp == 1 && software->fsdp_no_sync != NO_SYNC_ALL;
}

bool memory_frees_gradients(const struct parallel *parallel, const struct software *software)
{
    return software->memory.frees_gradients && parallel->zero >= 2 && parallel->pp > 1;
}

static bool has_sharded_master(const struct memory_job *job)
{
    return job->split.parallel->zero == 3 && precision_bytes(job->precision) < 4 &&
           state_bytes((enum state_format)job->optimizer->master) > 0;
}

/* FSDP may keep nothing beside the master. */
static bool keeps_master_alone(const struct memory_job *job)
{
    return has_sharded_master(job) && !job->software->memory.has_weights_beside_master;
}

/* DeepSpeed keeps both and saves the master. */
static bool saves_master_alone(const struct memory_job *job)
{
    return keeps_master_alone(job) ||
           (has_sharded_master(job) && !job->software->checkpoint_has_weights);
}

static struct memory_state state_with(const struct memory_job *job, bool is_master_alone)
{
    struct memory_state whole = memory_state_whole(job->precision, job->optimizer);
    if (is_master_alone) {
        whole.weights = state_bytes((enum state_format)job->optimizer->master);
        whole.optimizer -= whole.weights;
    }
    return whole;
}

struct memory_state memory_state_saved(const struct memory_job *job)
{
    return state_with(job, saves_master_alone(job));
}

/* Linear layers' weights, which have no gradient. */
static bool stores_frozen(const struct memory_job *job)
{
    return job->split.lora->rank > 0 && job->software->low.stores_frozen &&
           precision_is_low(job->precision);
}

/* Converted copies of weights are made anew, not saved. */
static struct memory_state state_of(const struct memory_job *job)
{
    struct memory_state whole = state_with(job, keeps_master_alone(job));
    if (!keeps_master_alone(job)) {
        const double converted =
            software_converted_bytes(job->software, job->precision, job->transposes_fp8);
        whole.weights = stores_frozen(job) ? converted
                                           : software_weight_bytes(job->software, job->precision,
                                                                   job->transposes_fp8);
    }
    return whole;
}

/* Of all matrices of the model, what their states are smaller; one rank has them all. */
static double saved_by_matrices(const struct memory_job *job)
{
    if (!optimizer_has_matrices(job->optimizer)) {
        return 0;
    }
    const struct matrix_split split = memory_model_matrices(job->split.model);
    const struct matrix_elements of = matrices_stage_elements(&split, &job->optimizer->matrices);
    return (of.dense + of.experts) * less_of_matrices(job->optimizer);
}

double memory_checkpoint_bytes(const struct memory_job *job, struct ledger *ledger)
{
    const struct memory_state whole = memory_state_saved(job);
    const double parameters = memory_model_parameters(job->split.model);
    const double trained = memory_model_trained(job->split.model, job->split.lora);
    const double less = saved_by_matrices(job);
    const double all =
        LEDGER_SUM(ledger, less > 0 ? "with all states" : "one checkpoint", "GB",
                   parameters * whole.weights + trained * whole.optimizer,
                   LEDGER_TERM(parameters, ""), LEDGER_TERM(whole.weights, "B of weights"),
                   LEDGER_TERM(trained, ""), LEDGER_TERM(whole.optimizer, "B of states"));
    return LEDGER_SUM(less > 0 ? ledger : NULL, "one checkpoint", "GB", all - less,
                      LEDGER_TERM(all, "GB"), LEDGER_TERM(less, "GB less, of matrices"));
}

/* Dense parameters and experts of a stage, and how many ranks shard each. */
struct stage_states {
    struct memory_layer_parameters all, trained;
    struct memory_state dense, experts;
    double dense_shards, expert_shards;
};

/* Matrices are whole on one of the ranks that hold the same: on this one, those of the busiest.
 * The mean of all parameters, so much of each. */
static double mean_states(const struct memory_job *job, double trained, double shards, double all,
                          double own)
{
    const struct optimizer *optimizer = job->optimizer;
    const double whole = memory_state_whole(job->precision, optimizer).optimizer;
    const double of_matrix = whole - less_of_matrices(optimizer);
    return trained > 0 ? ((trained - all) / shards * whole + own * of_matrix) / trained : 0.0;
}

static void share_matrices(const struct memory_job *job, int64_t stage, struct ledger *ledger,
                           struct stage_states *of)
{
    const struct matrix_rule *rule = &job->optimizer->matrices;
    if (!optimizer_has_matrices(job->optimizer)) {
        return;
    }
    const bool is_sharded = job->split.parallel->zero > 0;
    const struct matrix_split split = memory_stage_matrices(&job->split, stage);
    const struct matrix_elements all = matrices_stage_elements(&split, rule);
    struct matrices dealt;
    matrices_dealt(&split, rule, &dealt);
    const struct matrix_elements own = matrices_elements(&dealt);
    of->dense.optimizer = mean_states(job, of->trained.dense, is_sharded ? of->dense_shards : 1,
                                      all.dense, own.dense);
    of->experts.optimizer = mean_states(
        job, of->trained.experts, is_sharded ? of->expert_shards : 1, all.experts, own.experts);
    ledger_say(ledger, "parameters of matrices", "", own.dense + own.experts,
               ledger_text(ledger, "%s, of %.4g M whole: states of each %g B less", rule->name,
                           (all.dense + all.experts) / 1e6, less_of_matrices(job->optimizer)));
}

static struct stage_states states_of(const struct memory_job *job, int64_t stage,
                                     struct ledger *ledger)
{
    const struct memory_split *split = &job->split;
    const struct parallel *parallel = split->parallel;
    const struct memory_state whole = state_of(job);
    const int64_t dense = memory_dense_shards(parallel);
    const int64_t experts = memory_expert_shards(parallel);
    const bool shards_gradients = memory_shards_gradients(parallel, job->software) ||
                                  memory_frees_gradients(parallel, job->software);
    struct stage_states of = {
        .all.experts = memory_stage_expert_parameters(split, stage),
        .trained = memory_stage_trained(split, stage),
        .dense_shards = (double)dense,
        .expert_shards = (double)experts,
    };
    of.all.dense = memory_count_parameters(split, stage, ledger) - of.all.experts;
    of.dense = sharded(ledger, &whole, parallel->zero, shards_gradients, dense);
    of.experts = sharded(of.all.experts > 0 ? ledger : NULL, &whole, parallel->zero,
                         shards_gradients, experts);
    share_matrices(job, stage, ledger, &of);
    return of;
}

/* ---- buffers of sharding ----------------------------------------------- */

/* Of a stage's parameters those that the other ranks keep when each keeps its share. */
static double elsewhere(const struct stage_states *of, const struct memory_layer_parameters *count)
{
    return count->dense * (1.0 - 1.0 / of->dense_shards) +
           count->experts * (1.0 - 1.0 / of->expert_shards);
}

/* What of a stage FSDP gathers, in bytes. */
struct gathered {
    double all;   /* of the stage */
    double layer; /* the largest */
    double root; /* embedding, norm and head; or the larger of their tables, where each is a unit */
};

/* Layers are gathered as they are multiplied, where software converts before; what stays in 16
 * bits is not. */
static struct gathered gathered_of(const struct memory_job *job, int64_t stage,
                                   const struct stage_states *of)
{
    const struct memory_layer_parameters high = memory_stage_high(&job->split, stage);
    const double plain = (double)precision_bytes(job->precision);
    const double converted = software_gather_bytes(job->software, job->precision);
    const double ends = memory_stage_ends(&job->split, stage);
    const double stays = ends + high.dense + high.experts;
    const double layer = memory_largest_layer(&job->split, stage);
    const double unit = memory_largest_unit(&job->split, stage);
    const double table = unit > layer ? unit : 0.0;
    return (struct gathered){
        .all = (of->all.dense + of->all.experts - stays) * converted + stays * plain,
        .layer = layer * (high.dense + high.experts > 0 ? plain : converted),
        .root = (job->software->fsdp_keeps_root ? ends : table) * plain,
    };
}

/* A unit and the layers fetched ahead; a root that stays, besides. */
static double gathered_at_once(const struct memory_job *job, const struct gathered *of)
{
    const double live =
        (double)job->software->fsdp_live_parameters * (double)precision_bytes(job->precision);
    const double fetched = (double)job->software->fsdp_prefetch * of->layer;
    const double ahead = live > 0 ? smaller(fetched, live) : fetched;
    const double unit =
        job->software->fsdp_keeps_root ? of->root + of->layer : larger(of->root, of->layer);
    return unit + ahead;
}

/* FSDP holds a gathered unit, the layers fetched ahead, and the gradient of one unit, if it is not
 * kept whole anyway (of a root that stays: with what goes backward, memory_live); or, as
 * parallel.reshard says, gathered weights of the whole stage. None holds more than what the other
 * ranks keep. What is copied out of the gather's buffer was in it first, the largest unit's too:
 * it is of another stream, and the allocator does not lend it. ZeRO++'s local groups have a copy
 * of the weights each. */
static double fsdp_bytes(const struct memory_job *job, int64_t stage, const struct stage_states *of,
                         struct ledger *ledger)
{
    const struct parallel *parallel = job->split.parallel;
    const struct software *software = job->software;
    const double weight = (double)precision_bytes(job->precision);
    const double gradient = state_bytes((enum state_format)job->optimizer->gradients);
    const double all = of->all.dense + of->all.experts;
    const struct gathered gathered = gathered_of(job, stage, of);
    const double others =
        software->memory.has_weights_beside_master && all > 0 ? elsewhere(of, &of->all) / all : 1.0;
    const double gradients_max = elsewhere(of, &of->trained) * gradient;
    const double unit = memory_largest_unit(&job->split, stage);
    const bool keeps = parallel->reshard != RESHARD_FORWARD;
    const double weights_max = gathered.all * others;
    const double weights =
        keeps ? weights_max : smaller(gathered_at_once(job, &gathered), weights_max);
    const bool is_copied = software->fsdp_gather_passes > 1;
    const double buffer = is_copied ? larger(gathered.root, gathered.layer) : 0.0;
    const double copy =
        parallel->has_local_weights ? all * weight / (double)parallel->zero_local_group : 0.0;
    const bool has_gradient =
        memory_shards_gradients(parallel, software) && !software->fsdp_keeps_root;
    const double gradients = has_gradient ? smaller(unit * gradient, gradients_max) : 0.0;
    return LEDGER_SUM(is_copied ? ledger : NULL, "gathered", "GB",
                      weights + buffer + copy + gradients, LEDGER_TERM(weights, "GB of weights"),
                      LEDGER_TERM(buffer, "GB of the gather's buffer"),
                      LEDGER_TERM(copy, "GB of local copies"),
                      LEDGER_TERM(gradients, "GB of a unit's gradients"));
}

/* ZeRO 2 holds a bucket of gradients before they are scattered, unless it has them all. */
static double buffers_bytes(const struct memory_job *job, int64_t stage,
                            const struct stage_states *of, struct ledger *ledger)
{
    const struct parallel *parallel = job->split.parallel;
    const struct software *software = job->software;
    const double kept = (double)software->memory.bucket_count * software->bucket_bytes;
    const bool is_sharded = memory_shards_gradients(parallel, job->software);
    if (parallel->zero < 3 && !is_sharded) {
        return job->gpus > 1 ? kept : 0.0;
    }
    if (parallel->zero == 2) {
        const double gradient = state_bytes((enum state_format)job->optimizer->gradients);
        return larger(kept,
                      smaller(software->bucket_bytes, elsewhere(of, &of->trained) * gradient));
    }
    return fsdp_bytes(job, stage, of, ledger);
}

static double copy_bytes(uint32_t precision)
{
    return precision == PRECISION_COUNT_ ? 0.0 : (double)precision_bytes((enum precision)precision);
}

/* What the backward pass writes before it is added to the gradients. */
static double written_bytes(const struct memory_job *job, const struct stage_states *of)
{
    const struct parallel *parallel = job->split.parallel;
    const double bytes = copy_bytes(job->software->memory.backward_gradients);
    const bool is_whole = parallel->zero < 3 && !memory_shards_gradients(parallel, job->software);
    return is_whole ? (of->trained.dense + of->trained.experts) * bytes : 0.0;
}

/* A copy of the gradients' shard that the update reads. */
static double update_bytes(const struct memory_job *job, const struct stage_states *of)
{
    const bool is_sharded = job->split.parallel->zero >= 1;
    const double bytes = copy_bytes(job->software->memory.step_gradients);
    return bytes * (of->trained.dense / (is_sharded ? of->dense_shards : 1.0) +
                    of->trained.experts / (is_sharded ? of->expert_shards : 1.0));
}

/* ---- a GPU, and the worst of all --------------------------------------- */

/* Bytes of dense parameters and of experts. */
static double state_bytes_of(struct ledger *ledger, const char *label,
                             const struct memory_layer_parameters *count, double dense_bytes,
                             double expert_bytes)
{
    return LEDGER_SUM(ledger, label, "GB",
                      count->dense * dense_bytes + count->experts * expert_bytes,
                      LEDGER_TERM(count->dense, ""), LEDGER_TERM(dense_bytes, "B"),
                      LEDGER_TERM(count->experts, "of experts"), LEDGER_TERM(expert_bytes, "B"));
}

/* Weights of layers in 16 bits are plain where the others have converted copies. */
static double high_weights(const struct memory_job *job, int64_t stage,
                           const struct stage_states *of, struct ledger *ledger)
{
    struct memory_layer_parameters high = memory_stage_high(&job->split, stage);
    if (stores_frozen(job)) { /* tables of the vocabulary, and LoRA's own */
        high.dense += memory_stage_ends(&job->split, stage) + of->trained.dense;
        high.experts += of->trained.experts;
    }
    const double parts = job->split.parallel->zero >= 3 ? of->dense_shards : 1.0;
    const double expert_parts = job->split.parallel->zero >= 3 ? of->expert_shards : 1.0;
    const double own = (double)precision_bytes(job->precision);
    const bool has_any = high.dense + high.experts > 0;
    if (!has_any || keeps_master_alone(job)) {
        return 0.0;
    }
    const double dense = own / parts - of->dense.weights;
    const double experts = own / expert_parts - of->experts.weights;
    return state_bytes_of(ledger, "more, of what is in 16 bits", &high, dense, experts);
}

static void add_states(const struct memory_job *job, int64_t stage, const struct stage_states *of,
                       struct ledger *ledger, struct memory_use *use)
{
    const double extra = job->split.lora->rank > 0 ? 1.0 : 0.0; /* LoRA's come on top */
    const struct memory_layer_parameters held = {
        .dense = of->all.dense + extra * of->trained.dense,
        .experts = of->all.experts + extra * of->trained.experts,
    };
    const double offloaded = job->offload->optimizer;
    use->weights_bytes =
        state_bytes_of(ledger, "weights", &held, of->dense.weights, of->experts.weights);
    const double high = high_weights(job, stage, of, ledger);
    use->weights_bytes =
        LEDGER_SUM(fabs(high) > 0 ? ledger : NULL, "all weights", "GB", use->weights_bytes + high,
                   LEDGER_TERM(use->weights_bytes, "GB"), LEDGER_TERM(high, "GB"));
    use->gradients_bytes = state_bytes_of(ledger, "gradients", &of->trained, of->dense.gradients,
                                          of->experts.gradients);
    const double optimizer =
        state_bytes_of(ledger, offloaded > 0 ? "all optimizer states" : "optimizer", &of->trained,
                       of->dense.optimizer, of->experts.optimizer);
    use->host_bytes = optimizer * offloaded;
    use->optimizer_bytes =
        LEDGER_SUM(offloaded > 0 ? ledger : NULL, "optimizer", "GB", optimizer - use->host_bytes,
                   LEDGER_TERM(optimizer, "GB"), LEDGER_TERM(use->host_bytes, "GB on the host"));
}

/* What is alive at the peak. */
static void add_activations(const struct memory_peak *peak, struct ledger *ledger,
                            struct memory_use *use)
{
    use->gradients_bytes = LEDGER_SUM(peak->gradients_bytes > 0 ? ledger : NULL, "all gradients",
                                      "GB", use->gradients_bytes + peak->gradients_bytes,
                                      LEDGER_TERM(use->gradients_bytes, "GB"),
                                      LEDGER_TERM(peak->gradients_bytes, "GB not yet reduced"));
    ledger_say(ledger, "kept layers", "GB", peak->layers_bytes,
               ledger_text(ledger, "at most %lld in flight", (long long)peak->layers_most));
    use->activations_bytes = LEDGER_SUM(
        ledger, "activations", "GB", peak->layers_bytes + peak->embedding_bytes + peak->head_bytes,
        LEDGER_TERM(peak->layers_bytes, "GB"),
        LEDGER_TERM(peak->embedding_bytes, "GB of dropout masks"),
        LEDGER_TERM(peak->head_bytes, "GB of the head"));
    use->activations_bytes = LEDGER_SUM(
        peak->passed_bytes > 0 ? ledger : NULL, "with what passes between stages", "GB",
        use->activations_bytes + peak->passed_bytes, LEDGER_TERM(use->activations_bytes, "GB"),
        LEDGER_TERM(peak->passed_bytes, "GB received, returned"));
    use->logits_bytes = peak->loss_bytes;
    ledger_say(ledger, "logits and the loss", "GB", peak->loss_bytes, "");
    use->temporary_bytes =
        LEDGER_SUM(ledger, "temporaries", "GB", peak->recomputed_bytes + peak->working_bytes,
                   LEDGER_TERM(peak->recomputed_bytes, "GB recomputed"),
                   LEDGER_TERM(peak->working_bytes, "GB at work"));
    ledger_remark(ledger, peak->moment == MEMORY_AT_LOSS ? "sends" : "gradients of a layer, sends");
    use->moment = peak->moment;
    use->microbatch = peak->microbatch;
    use->chunk = peak->chunk;
}

/* Gathered weights and buckets, and copies of gradients. The copy that the update reads is one
 * large tensor: the segments that activations leave behind are too small for it, so both stay with
 * the allocator. */
static void add_buffers(const struct memory_job *job, int64_t stage, const struct stage_states *of,
                        struct ledger *ledger, struct memory_use *use)
{
    const double sharding = buffers_bytes(job, stage, of, ledger);
    const double written = written_bytes(job, of);
    const double update = update_bytes(job, of) * (1.0 - job->offload->optimizer);
    use->buffers_bytes =
        LEDGER_SUM(ledger, "buffers", "GB", sharding + fmax(written, update),
                   LEDGER_TERM(sharding, "GB gathered, buckets"),
                   LEDGER_TERM(written, "GB written"), LEDGER_TERM(update, "GB for the update"));
    ledger_remark(ledger, "copies of gradients");
}

static void add_overhead(const struct memory_job *job, struct ledger *ledger,
                         struct memory_use *use)
{
    const struct software_memory *memory = &job->software->memory;
    const double groups = (double)memory_communicators(job->split.model, job->split.parallel);
    use->allocated_bytes = LEDGER_SUM(
        ledger, "allocated", "GB",
        use->weights_bytes + use->gradients_bytes + use->optimizer_bytes + use->activations_bytes +
            use->logits_bytes + use->temporary_bytes + use->buffers_bytes,
        LEDGER_TERM(use->weights_bytes, "GB"), LEDGER_TERM(use->gradients_bytes, "GB"),
        LEDGER_TERM(use->optimizer_bytes, "GB"), LEDGER_TERM(use->activations_bytes, "GB"),
        LEDGER_TERM(use->logits_bytes, "GB"), LEDGER_TERM(use->temporary_bytes, "GB"),
        LEDGER_TERM(use->buffers_bytes, "GB"));
    use->context_bytes = memory->context_bytes;
    use->communication_bytes = LEDGER_SUM(
        ledger, "communication", "GB", memory->communicator_bytes * groups,
        LEDGER_TERM(memory->communicator_bytes, "GB"), LEDGER_TERM(groups, "groups of ranks"));
    use->fragmentation_bytes = LEDGER_SUM(
        ledger, "fragmentation", "GB", memory->fragmentation * use->allocated_bytes,
        LEDGER_TERM(memory->fragmentation, ""), LEDGER_TERM(use->allocated_bytes, "GB allocated"));
    use->lump_bytes = memory->overhead_bytes;
    use->overhead_bytes = LEDGER_SUM(
        ledger, "overhead", "GB",
        use->context_bytes + use->communication_bytes + use->fragmentation_bytes + use->lump_bytes,
        LEDGER_TERM(use->context_bytes, "GB of CUDA"), LEDGER_TERM(use->communication_bytes, "GB"),
        LEDGER_TERM(use->fragmentation_bytes, "GB"), LEDGER_TERM(use->lump_bytes, "GB in a lump"));
    use->total_bytes =
        LEDGER_SUM(ledger, "total", "GB", use->allocated_bytes + use->overhead_bytes,
                   LEDGER_TERM(use->allocated_bytes, "GB"), LEDGER_TERM(use->overhead_bytes, "GB"));
}

static struct memory_use count_stage(struct arena *scratch, const struct memory_job *job,
                                     int64_t stage, struct ledger *ledger)
{
    const struct stage_states of = states_of(job, stage, ledger);
    const struct memory_peak peak = memory_live_peak(scratch, job, stage, ledger);
    struct memory_use use = {0};
    add_states(job, stage, &of, ledger, &use);
    add_activations(&peak, ledger, &use);
    add_buffers(job, stage, &of, ledger, &use);
    add_overhead(job, ledger, &use);
    use.host_bytes += memory_live_host_bytes(scratch, job, stage);
    sim_assert(use.logits_bytes >= 0);
    sim_assert(use.total_bytes > 0 && isfinite(use.total_bytes));
    return use;
}

struct memory_use memory_count(const struct memory_job *job, int64_t stage, struct ledger *ledger)
{
    struct arena *scratch = arena_new();
    const struct memory_use use = count_stage(scratch, job, stage, ledger);
    arena_free(scratch);
    return use;
}

struct memory_use memory_of_stage(const struct memory_job *job, int64_t stage)
{
    return memory_count(job, stage, NULL);
}

struct memory_use memory_of_states(const struct memory_job *job, int64_t stage)
{
    const struct stage_states of = states_of(job, stage, NULL);
    struct memory_use use = {0};
    add_states(job, stage, &of, NULL, &use);
    add_buffers(job, stage, &of, NULL, &use);
    add_overhead(job, NULL, &use);
    return use;
}

struct memory_activations memory_activations_of_stage(const struct memory_job *job, int64_t stage)
{
    struct arena *scratch = arena_new();
    const struct memory_peak peak = memory_live_peak(scratch, job, stage, NULL);
    arena_free(scratch);
    return (struct memory_activations){
        .layers_in_flight = peak.layers_most,
        .layer_bytes = memory_layer_activation_bytes(job),
        .kept_bytes = peak.layers_bytes,
        .embedding_bytes = peak.embedding_bytes,
        .head_bytes = peak.head_bytes,
        .loss_bytes = peak.loss_bytes,
        .recomputed_bytes = peak.recomputed_bytes,
        .working_bytes = peak.working_bytes,
    };
}

struct memory_verdict memory_check(const struct scenario *scenario)
{
    const struct memory_job job = memory_job_of(scenario);
    const struct loading_job loading = loading_job_of(scenario);
    const double gpus_per_host =
        smaller((double)scenario->cluster.gpus_per_node, (double)scenario->gpus);
    struct memory_verdict verdict = {.limit_bytes = scenario->gpu.memory_bytes,
                                     .host_limit_bytes = scenario->cluster.host_memory_bytes};
    struct arena *scratch = arena_new();
    for (int64_t stage = 0; stage < scenario->parallel.pp; stage++) {
        const struct memory_use use = count_stage(scratch, &job, stage, NULL);
        arena_reset(scratch);
        if (use.total_bytes > verdict.worst.total_bytes) {
            verdict.worst_stage = stage;
            verdict.worst = use;
        }
        verdict.offloaded_bytes = larger(verdict.offloaded_bytes, use.host_bytes * gpus_per_host);
    }
    arena_free(scratch);
    verdict.loaders_bytes = loading_host_bytes(&loading);
    const uint32_t copies = checkpoint_copies(&scenario->checkpoint);
    if (copies > 0) {
        verdict.staged_bytes = copies * checkpoint_staged_bytes(&job, gpus_per_host);
    }
    verdict.host_bytes = verdict.offloaded_bytes + verdict.loaders_bytes + verdict.staged_bytes;
    verdict.fits_gpu = verdict.worst.total_bytes <= verdict.limit_bytes;
    const bool fits_host =
        verdict.host_limit_bytes <= 0 || verdict.host_bytes <= verdict.host_limit_bytes;
    verdict.fits = verdict.fits_gpu && fits_host;
    return verdict;
}

bool memory_fits(const struct scenario *scenario, int64_t stage)
{
    const struct memory_job job = memory_job_of(scenario);
    const int64_t first = stage < scenario->parallel.pp ? stage : scenario->parallel.pp - 1;
    return memory_of_stage(&job, first).total_bytes <= scenario->gpu.memory_bytes &&
           memory_check(scenario).fits;
}
