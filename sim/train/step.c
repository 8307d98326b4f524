/* A step from beginning to end: jobs get nodes, a system is built and folded,
 * the engine runs it (as often as train/ensemble wants), and the causes, sums
 * and derived figures are taken from the outcome. The sums are asserted here.
 */
#include "train/step.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/wide.h"
#include "input/scenario.h"
#include "plan/cost.h"
#include "plan/loss.h"
#include "plan/memory/memory.h"
#include "plan/memory/memory_layer.h"
#include "input/layout.h"
#include "train/ensemble.h"
#include "train/fold.h"
#include "train/jitter.h"
#include "train/loads.h"
#include "train/placement.h"
#include "des/engine_known.h"
#include "des/record/engine_record.h"
#include "train/loading/step_loaded.h"
#include "train/system.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- derived figures ---------------------------------------------------------------- */

struct step_basis step_basis_of(const struct scenario *scenario)
{
    const enum attention_kind attention = (enum attention_kind)scenario->software.attention;
    return (struct step_basis){
        .model = &scenario->model,
        .parallel = &scenario->parallel,
        .batch = &scenario->batch,
        .recompute = &scenario->recompute,
        .recomputed = memory_recomputed_modules(&scenario->recompute, attention),
        .is_frozen = scenario->lora.rank > 0,
        .computes_logits_again = loss_computes_again((enum loss_kind)scenario->software.loss.kind),
        .is_one_hot = scenario->software.embedding == EMBEDDING_ONE_HOT,
        .gpus = scenario->gpus,
        .peak_flop_per_s = scenario->gpu.peak_flop_per_s[scenario->precision],
    };
}

/* What modules of a layer, forward, are computed again. */
static double recomputed_modules_flop(const struct step_basis *basis, const struct layer_kind *kind)
{
    const uint32_t modules = basis->recomputed;
    const struct layer_flop flop =
        cost_layer_flop(basis->model, kind, basis->batch->sequence_length);
    const bool has_moe = (modules & (1u << RECOMPUTE_MOE)) != 0;
    double sum = (modules & (1u << RECOMPUTE_CORE_ATTENTION)) != 0 ? flop.core_causal : 0;
    sum += (modules & (1u << RECOMPUTE_MLA_UP)) != 0 ? flop.latent_up : 0;
    if (!kind->has_experts) { /* of a layer without an MLP none */
        return sum + ((modules & (1u << RECOMPUTE_MLP)) != 0 ? flop.mlp : 0);
    }
    sum += has_moe ? flop.experts : 0;
    return sum + (has_moe || (modules & (1u << RECOMPUTE_SHARED_EXPERTS)) != 0 ? flop.shared : 0);
}

static double layer_forward_flop(const struct step_basis *basis, const struct layer_kind *kind)
{
    const struct layer_flop flop =
        cost_layer_flop(basis->model, kind, basis->batch->sequence_length);
    return flop.attention_linear + flop.core_causal + flop.scan + flop.index + flop.mlp +
           flop.experts + flop.shared;
}

/* FLOPs of one token that the hardware executes beyond forward and backward.
 * ASSUMES: what the layers of multi-token prediction compute again is counted in hfu only with
 * full recompute of all layers. */
static double recomputed_flop(const struct step_basis *basis, const struct token_flop *flop)
{
    const struct recompute *recompute = basis->recompute;
    if (recompute->kind == RECOMPUTE_NONE) {
        return 0;
    }
    if (recompute->kind == RECOMPUTE_FULL && recompute->layers == 0) {
        return flop->linear + flop->core_causal + flop->index;
    }
    double sum = 0;
    const struct parallel *parallel = basis->parallel;
    for (int64_t piece = 0; piece < layout_pieces(parallel); piece++) {
        const int64_t first = layout_first_layer(parallel, piece);
        for (int64_t i = 0; i < parallel->layers_per_chunk[piece]; i++) {
            const struct layer_kind *kind = model_layer(basis->model, first + i);
            if (recompute->kind == RECOMPUTE_SELECTIVE) {
                sum += recomputed_modules_flop(basis, kind);
            } else if (i < recompute->layers) {
                sum += layer_forward_flop(basis, kind);
            }
        }
    }
    return sum;
}

/* The embedding's rows by products: 2 V h a token forward, and as much for the table's gradient. */
static double one_hot_flop(const struct step_basis *basis)
{
    const struct model *model = basis->model;
    const double once = 2.0 * (double)model->vocab * (double)model->hidden;
    return basis->is_frozen ? once : 2.0 * once;
}

struct token_flop step_count_flop(const struct step_basis *basis, struct ledger *ledger,
                                  struct step_result *step)
{
    const struct batch *batch = basis->batch;
    const struct token_flop flop = cost_count_flop(basis->model, batch->sequence_length, ledger);
    const struct train_flop train = cost_count_train_flop(&flop, basis->is_frozen, ledger);
    const double again =
        recomputed_flop(basis, &flop) + (basis->computes_logits_again ? flop.logits : 0.0);
    step->flop_per_token_causal = train.causal;
    step->flop_per_token_full = train.full;
    step->hardware_flop_per_token =
        LEDGER_SUM(ledger, "and what is recomputed", "GFLOP/token", train.causal + again,
                   LEDGER_TERM(train.causal, "G"), LEDGER_TERM(again, "G"));
    if (basis->is_one_hot) {
        const double fetched = one_hot_flop(basis);
        step->hardware_flop_per_token =
            LEDGER_SUM(ledger, "and the embedding by one-hot rows", "GFLOP/token",
                       step->hardware_flop_per_token + fetched,
                       LEDGER_TERM(step->hardware_flop_per_token, "G"), LEDGER_TERM(fetched, "G"));
    }
    step->model_flop_tokens = LEDGER_COUNT(
        ledger, "D, tokens per step", "tokens", batch->global * batch->sequence_length,
        LEDGER_TERM(batch->global, "sequences"), LEDGER_TERM(batch->sequence_length, ""));
    return flop;
}

void step_add_rates(const struct step_basis *basis, struct ledger *ledger, struct step_result *step)
{
    const double tokens = (double)step->model_flop_tokens;
    const double gpus = (double)basis->gpus;
    const double step_s = sim_time_to_s(step->step_ns);
    const double peak = basis->peak_flop_per_s;
    const double per_gpu = LEDGER_SUM(ledger, "tokens/s/GPU", "tokens/s", tokens / gpus / step_s,
                                      LEDGER_TERM(tokens, "tokens"), LEDGER_TERM(gpus, "GPUs"),
                                      LEDGER_TERM(step_s, "s"));
    step->peak_flop_per_s = peak;
    step->tokens_per_s_per_gpu = per_gpu;
    step->tflops_per_gpu = per_gpu * step->flop_per_token_causal / 1e12;
    step->mfu =
        LEDGER_SUM(ledger, "MFU", "% of the peak", per_gpu * step->flop_per_token_causal / peak,
                   LEDGER_TERM(per_gpu, "tokens/s"),
                   LEDGER_TERM(step->flop_per_token_causal, "FLOP"), LEDGER_TERM(peak, "FLOP/s"));
    step->mfu_full_attention = per_gpu * step->flop_per_token_full / peak;
    step->hfu = per_gpu * step->hardware_flop_per_token / peak;
}

static void derive(struct arena *arena, const struct step_basis *basis, struct step_result *result)
{
    step_count_flop(basis, NULL, result);
    step_add_rates(basis, NULL, result);
    sim_assert(result->mfu > 0);
    sim_assert(result->hfu >= result->mfu);
    sim_assert(result->mfu <= 1);
    result->bound_by = result->path != NULL ? critical_bound_by(arena, result->path) : "";
}

static void check_sums(const struct step_result *result, int64_t gpus)
{
    int64_t sum = 0;
    for (uint32_t c = 0; c < CAUSE_COUNT_; c++) {
        sim_assert(result->gpu_ns[c] >= 0);
        sum += result->gpu_ns[c];
    }
    sim_assert(sum == gpus * result->step_ns);
}

void step_add_stall(struct arena *arena, const struct step_basis *basis, enum cause cause,
                    int64_t stall_ns, struct step_result *result)
{
    sim_assert(stall_ns >= 0);
    result->step_ns += stall_ns;
    result->gpu_ns[cause] += basis->gpus * stall_ns;
    if (result->path != NULL) {
        result->path = critical_with(arena, result->path, cause, stall_ns);
    }
    check_sums(result, basis->gpus);
    derive(arena, basis, result);
}

/* ---- a step of another length ---------------------------------------------------------- */

/* As many for each `to` as there are for each `from`, rounded down. */
static int64_t in_proportion(int64_t value, int64_t to, int64_t from)
{
    return (int64_t)((int128)value * to / from);
}

static void scale_causes(int64_t step_ns, int64_t gpus, struct step_result *result)
{
    uint32_t largest = 0;
    int64_t left = gpus * step_ns;
    for (uint32_t c = 0; c < CAUSE_COUNT_; c++) {
        result->gpu_ns[c] = in_proportion(result->gpu_ns[c], step_ns, result->step_ns);
        largest = result->gpu_ns[c] > result->gpu_ns[largest] ? c : largest;
        left -= result->gpu_ns[c];
    }
    result->gpu_ns[largest] += left;
}

/* The same bytes in another time; no link carries more than it can. */
static void scale_links(struct arena *arena, double factor, struct step_result *result)
{
    struct link_use *uses = arena_array(arena, result->link_use_count + (size_t)1, sizeof *uses);
    struct link_load *loads =
        arena_array(arena, result->link_load_count + (size_t)1, sizeof *loads);
    for (uint32_t i = 0; i < result->link_use_count; i++) {
        uses[i] = result->link_uses[i];
        uses[i].utilisation_max = fmin(1, uses[i].utilisation_max / factor);
        uses[i].utilisation_mean = fmin(1, uses[i].utilisation_mean / factor);
    }
    for (uint32_t i = 0; i < result->link_load_count; i++) {
        loads[i] = result->link_loads[i];
        loads[i].utilisation = fmin(1, loads[i].utilisation / factor);
    }
    result->link_uses = uses;
    result->link_loads = loads;
    result->busiest_link_utilisation = fmin(1, result->busiest_link_utilisation / factor);
}

static void scale_jobs(struct arena *arena, double factor, struct step_result *result)
{
    struct job_use *jobs = arena_array(arena, result->job_count + (size_t)1, sizeof *jobs);
    for (uint32_t i = 0; i < result->job_count; i++) {
        jobs[i] = result->jobs[i];
        jobs[i].step_s *= i == 0 ? factor : 1;
        jobs[i].step_alone_s *= i == 0 ? factor : 1;
    }
    result->jobs = jobs;
}

int64_t step_scaled_ns(const struct step_result *simulated, double factor)
{
    sim_assert(factor > 0);
    const int64_t least_ns = (int64_t)ceil((double)simulated->step_ns * fmin(1, simulated->hfu));
    const int64_t wanted_ns = llround((double)simulated->step_ns * factor);
    return wanted_ns > least_ns ? wanted_ns : least_ns;
}

void step_scale(struct arena *arena, const struct step_basis *basis, double factor,
                struct step_result *result)
{
    const int64_t step_ns = step_scaled_ns(result, factor);
    const double by = (double)step_ns / (double)result->step_ns;
    result->jitter_ns = in_proportion(result->jitter_ns, step_ns, result->step_ns);
    result->links_ns = in_proportion(result->links_ns, step_ns, result->step_ns);
    result->spread.below_ns = in_proportion(result->spread.below_ns, step_ns, result->step_ns);
    result->spread.above_ns = in_proportion(result->spread.above_ns, step_ns, result->step_ns);
    scale_causes(step_ns, basis->gpus, result);
    scale_links(arena, by, result);
    scale_jobs(arena, by, result);
    if (result->path != NULL) {
        result->path = critical_scaled(
            arena, result->path, in_proportion(result->path->length_ns, step_ns, result->step_ns));
    }
    result->simulated_ns = result->simulated_ns > 0 ? result->simulated_ns : result->step_ns;
    result->step_ns = step_ns;
    check_sums(result, basis->gpus);
    derive(arena, basis, result);
}

/* ---- outcomes -------------------------------------------------------------------------- */

static void note_engine_use(const struct engine_system *run, const struct engine_outcome *outcome,
                            struct engine_use *use)
{
    for (uint32_t i = 0; i < run->actor_count; i++) {
        use->ranks += run->actors[i].multiplicity;
    }
    use->ranks_simulated = run->actor_count;
    use->links_simulated = run->link_count;
    use->tasks = (int64_t)outcome->tasks;
    use->events = (int64_t)outcome->events;
    use->solves = (int64_t)outcome->fluid.solves;
    use->fills = (int64_t)outcome->fluid.fills;
    use->flows_filled = (int64_t)outcome->fluid.flows_filled;
    use->region_max = (int64_t)outcome->fluid.region_max;
    use->solve_s = outcome->fluid.solve_s;
}

/* Of job 0, whose actors come first. */
static void spread_to_ranks(struct arena *arena, const struct step_system *system,
                            const uint32_t *actor_class, const struct engine_outcome *outcome,
                            int64_t jitter_ns, struct step_detail *detail)
{
    const uint32_t gpus = mesh_size(&system->jobs[0].mesh);
    detail->bytes_sent = outcome->bytes_sent;
    detail->bytes_received = outcome->bytes_received;
    detail->rank_causes = arena_array(arena, gpus, sizeof *detail->rank_causes);
    for (uint32_t rank = 0; rank < gpus; rank++) {
        const uint32_t built = system_actor_of(system, &system->jobs[0], rank);
        const uint32_t actor = actor_class != NULL ? actor_class[built] : built;
        memcpy(detail->rank_causes[rank], outcome->actor_causes[actor],
               sizeof detail->rank_causes[rank]);
        detail->rank_causes[rank][CAUSE_STRAGGLER_WAIT] += jitter_ns;
    }
}

/* ---- one simulation ----------------------------------------------------------------------- */

struct step_options step_options_of(const struct step_request *request)
{
    return (struct step_options){.checkpoint_bytes = request->checkpoint_bytes,
                                 .is_checkpoint_async = request->is_checkpoint_async,
                                 .is_copied_beside = request->is_copied_beside,
                                 .flush_bytes = request->flush_bytes,
                                 .drain_bytes = request->drain_bytes,
                                 .is_for_length = request->is_for_length,
                                 .folds = request->folds,
                                 .memo = request->memo};
}

/* Jobs on a fabric, simulated. */
struct simulation {
    struct arena *arena; /* takes what is built, and the outcome */
    const struct step_job *jobs;
    uint32_t job_count, gpus;
    const struct step_request *request;
    const struct step_system *system;
    const struct folded_system *folded; /* NULL: every GPU was simulated */
    const struct engine_system *run;    /* the system or its quotient */
    struct engine_known *known;         /* owned: what runs of the quotient know of its programs */
    const struct critical *path;        /* NULL: not asked for */
    struct step_spread spread;
    bool is_longer;                /* the median, than is asked for; it is not known then */
    struct ensemble_member member; /* the run that the outcome is of */
    struct engine_outcome outcome;
    struct arena *recorded;       /* has the record alone */
    struct engine_record *record; /* of that run; NULL: none is kept */
};

/* A system and its quotient. */
struct folded_step {
    struct arena *arena; /* of both: owned; NULL: they are the simulation's, or none yet */
    const struct step_system *system;
    const struct folded_system *folded;
};

/* What a run of every GPU has besides: the same jobs folded, which run to the same nanosecond, and
 * in which the ensemble and the path cost a fraction. Of replicas that nobody can tell apart one is
 * built, as for a folded run: to fold all GPUs takes as much memory again as they do. Where nothing
 * turns (ECMP, several jobs) that would be all of them a second time, and those that are there are
 * folded. */
static void fold_beside(const struct simulation *simulation, struct folded_step *beside)
{
    if (beside->folded != NULL) {
        return;
    }
    struct step_options options = step_options_of(simulation->request);
    options.folds = true;
    options.is_for_length = true;
    struct arena *own = arena_new();
    const struct step_system *system =
        system_build(own, simulation->jobs, simulation->job_count, simulation->gpus, &options);
    if (fabric_turns_any(&system->turns)) {
        *beside = (struct folded_step){own, system, system_fold(own, system)};
        return;
    }
    arena_free(own);
    *beside = (struct folded_step){NULL, simulation->system,
                                   fold_system(simulation->arena, &simulation->system->engine)};
}

/* The run of a member is the outcome, and what is recorded; an earlier record is given up. */
static void run_member(struct simulation *simulation)
{
    struct engine_options options = {0};
    if (simulation->record != NULL) {
        arena_reset(simulation->recorded);
        simulation->record = engine_record_new(simulation->recorded);
        options.record = simulation->record;
    }
    /* What a run of every GPU takes is large, and gone before anything else is built. */
    options.scratch = simulation->folded == NULL ? arena_new() : NULL;
    options.finds_steadiness =
        simulation->folded != NULL && simulation->request->member == NULL &&
        simulation->member.number == 0; /* not of the median, when that is known */
    ensemble_run(simulation->arena, simulation->run, simulation->member, &options,
                 &simulation->outcome);
    arena_free(options.scratch);
}

/* When a run may end at the latest in a step of request->enough_ns: before the wait for the slowest
 * GPU, which is no shorter than that of kernels which nothing slows down. These take as long in all
 * runs, but for what is rounded. */
static sim_time enough_for_run(const struct simulation *simulation)
{
    static const double ROUNDED = 1e-6;
    const int64_t enough_ns = simulation->request->enough_ns;
    if (enough_ns == 0) {
        return SIM_TIME_MAX;
    }
    const struct scenario *scenario = simulation->jobs[0].scenario;
    int64_t gpu_ns[CAUSE_COUNT_];
    for (uint32_t c = 0; c < CAUSE_COUNT_; c++) {
        gpu_ns[c] = c == CAUSE_INTERFERENCE ? 0 : simulation->outcome.jobs[0].total_causes[c];
    }
    const double jitter_ns =
        (1.0 - ROUNDED) *
        (double)jitter_wait_ns(jitter_spread_of(&scenario->gpu, &scenario->software),
                               scenario->gpus, gpu_ns, NULL);
    const int64_t end_ns = enough_ns - (int64_t)jitter_ns;
    return end_ns > 1 ? end_ns : 1;
}

/* Replaces the unperturbed outcome by the median one where runs lie apart. */
static void take_median(struct simulation *simulation, struct folded_step *beside)
{
    if (!ensemble_is_needed(simulation->run, &simulation->outcome)) {
        return;
    }
    fold_beside(simulation, beside);
    const struct ensemble_spread spread =
        ensemble_find(simulation->folded != NULL ? simulation->run : &beside->folded->engine,
                      simulation->member.seed, &simulation->outcome, enough_for_run(simulation));
    simulation->is_longer = spread.is_longer;
    if (spread.members > 1) {
        simulation->member = spread.median;
        if (spread.median.number != 0) { /* else it is the outcome already */
            run_member(simulation);
        }
        const sim_time end = simulation->outcome.jobs[0].end;
        simulation->spread = (struct step_spread){spread.members, spread.median.number,
                                                  end - spread.least_ns, spread.most_ns - end};
    }
}

/* The path of the run that is the result, which was recorded; where every GPU was simulated, of
 * that of the folded system: it is the same, and a fraction of it. */
static const struct critical *find_path(struct arena *arena, const struct simulation *simulation,
                                        struct folded_step *beside)
{
    struct critical *path = arena_alloc(arena, sizeof *path);
    struct engine_record *record = simulation->record;
    if (record == NULL) {
        struct engine_outcome outcome;
        record = engine_record_new(simulation->recorded);
        const struct engine_options options = {.record = record};
        fold_beside(simulation, beside);
        ensemble_run(simulation->arena, &beside->folded->engine, simulation->member, &options,
                     &outcome);
        sim_assert(outcome.jobs[0].end == simulation->outcome.jobs[0].end);
    }
    critical_find(arena, beside->system, beside->folded, record, path);
    return path;
}

/* What its jobs and its request say is built; nothing ran. */
static void build(struct simulation *simulation)
{
    struct arena *arena = simulation->arena;
    const struct step_request *request = simulation->request;
    const struct step_options options = step_options_of(request);
    struct step_system *system =
        system_build(arena, simulation->jobs, simulation->job_count, simulation->gpus, &options);
    simulation->system = system;
    simulation->folded = request->folds ? system_fold(arena, system) : NULL;
    if (!request->folds) {
        system->engine.classes = fold_classes(arena, &system->engine);
    }
    simulation->run = &system->engine;
    if (simulation->folded != NULL) {
        simulation->known = engine_known_new(ENSEMBLE_KNOWN_BYTES_MAX);
        simulation->run = ensemble_share(arena, &simulation->folded->engine, simulation->known);
    }
    simulation->spread = (struct step_spread){.members = 1};
    simulation->member =
        request->member != NULL
            ? *request->member
            : (struct ensemble_member){(uint64_t)simulation->jobs[0].scenario->seed, 0};
}

/* Of what ran: the median, if no member was asked for, what hooks see, and the path. */
static void settle(struct arena *arena, struct simulation *simulation)
{
    const struct step_request *request = simulation->request;
    struct folded_step beside = {NULL, simulation->system, simulation->folded};
    if (request->member == NULL) {
        take_median(simulation, &beside);
    }
    if (request->on_task != NULL) { /* it sees one run, the one that is the result */
        const struct engine_options hooks = {.on_task = request->on_task,
                                             .context = request->context};
        ensemble_run(simulation->arena, simulation->run, simulation->member, &hooks,
                     &simulation->outcome);
    }
    simulation->path = request->finds_path ? find_path(arena, simulation, &beside) : NULL;
    arena_free(beside.arena);
}

/* ---- jobs that share the fabric ----------------------------------------------------------- */

/* Neighbours run for a quarter longer than the job that was asked about, so that its end
 * is not less disturbed than its beginning; in whole steps, and not for ever. */
static const double NEIGHBOUR_OVERRUN = 1.25;
enum { NEIGHBOUR_STEPS_MAX = 32 };

/* A step of a job: as the engine has it, and the wait for the slowest GPU that follows. */
struct job_step {
    double ran_s, jitter_s;
};

/* Of so many steps that were simulated, the mean. */
static double jitter_s_of(const struct step_job *job, const struct engine_job *ran, uint32_t steps)
{
    int64_t gpu_ns[CAUSE_COUNT_];
    for (uint32_t c = 0; c < CAUSE_COUNT_; c++) {
        gpu_ns[c] = ran->total_causes[c] / steps;
    }
    return sim_time_to_s(
        jitter_wait_ns(jitter_spread_of(&job->scenario->gpu, &job->scenario->software),
                       job->scenario->gpus, gpu_ns, NULL));
}

static struct job_step step_alone(const struct step_job *job, uint32_t gpus,
                                  const struct step_request *request)
{
    struct arena *arena = arena_new();
    const struct ensemble_member unperturbed = {0, 0};
    const struct step_request alone = {
        .folds = request->folds, .member = &unperturbed, .memo = request->memo};
    struct simulation simulation = {
        .arena = arena, .jobs = job, .job_count = 1, .gpus = gpus, .request = &alone};
    build(&simulation);
    ensemble_run(arena, simulation.run, unperturbed, NULL, &simulation.outcome);
    const struct engine_job *ran = &simulation.outcome.jobs[0];
    const struct job_step step = {sim_time_to_s(ran->end), jitter_s_of(job, ran, 1)};
    engine_known_free(simulation.known);
    arena_free(arena);
    return step;
}

static uint32_t neighbour_steps(double asked_s, double neighbour_s)
{
    const double steps = ceil(NEIGHBOUR_OVERRUN * asked_s / neighbour_s);
    return steps < 1 ? 1 : steps > NEIGHBOUR_STEPS_MAX ? NEIGHBOUR_STEPS_MAX : (uint32_t)steps;
}

/* A neighbour's mean step over those that it finished beside the job that was asked about, or
 * its first if none. Its last ones run on an emptier fabric. */
static double neighbour_step_s(const struct engine_job *asked, const struct engine_job *job,
                               uint32_t steps)
{
    if (steps == 1) {
        return sim_time_to_s(job->end);
    }
    uint32_t beside = 1;
    while (beside < steps && job->step_ends[beside] <= asked->end) {
        beside++;
    }
    return sim_time_to_s(job->step_ends[beside - 1]) / (double)beside;
}

/* Where several jobs share the fabric: how fast each is alone and beside the others. */
static void note_jobs(struct arena *arena, const struct step_job *jobs,
                      const struct job_step *alone, const struct engine_outcome *outcome,
                      struct step_result *result)
{
    result->jobs = arena_array(arena, result->job_count + 1u, sizeof *result->jobs);
    for (uint32_t i = 0; i < result->job_count; i++) {
        const struct engine_job *ran = &outcome->jobs[i];
        result->jobs[i] = (struct job_use){
            .title = jobs[i].scenario->title,
            .gpus = jobs[i].scenario->gpus,
            .steps = jobs[i].steps,
            .step_alone_s = alone[i].ran_s + alone[i].jitter_s,
            .step_s = neighbour_step_s(&outcome->jobs[0], ran, jobs[i].steps) +
                      jitter_s_of(&jobs[i], ran, jobs[i].steps),
        };
    }
}

/* The scenario and its neighbours, with how often each repeats its step. */
static struct step_job *gather_jobs(struct arena *arena, const struct scenario *scenario,
                                    const struct step_request *request, struct job_step **alone,
                                    struct placement *placement)
{
    const uint32_t count = scenario->neighbour_count + 1;
    struct step_job *jobs = arena_array(arena, count, sizeof *jobs);
    *alone = arena_array(arena, count, sizeof **alone);
    placement_choose(arena, scenario, placement);
    for (uint32_t i = 0; i < count; i++) {
        const struct scenario *job = i == 0 ? scenario : scenario->neighbours[i - 1];
        jobs[i] = (struct step_job){job, placement->gpu_of_rank[i], 1};
        if (count > 1) {
            (*alone)[i] = step_alone(&jobs[i], placement->gpus, request);
            jobs[i].steps = i == 0 ? 1 : neighbour_steps((*alone)[0].ran_s, (*alone)[i].ran_s);
        }
    }
    return jobs;
}

struct step_system *step_system_of(struct arena *arena, const struct scenario *scenario)
{
    struct placement placement;
    placement_choose(arena, scenario, &placement);
    const struct step_job job = {scenario, placement.gpu_of_rank[0], 1};
    return system_build(arena, &job, 1, placement.gpus, &(struct step_options){0});
}

/* ---- the step --------------------------------------------------------------------------- */

/* Everybody waits for the slowest GPU at the end. */
static void add_jitter(double spread, int64_t gpus, struct step_result *result)
{
    result->jitter_ns = jitter_wait_ns(spread, gpus, result->gpu_ns, NULL);
    result->step_ns += result->jitter_ns;
    result->gpu_ns[CAUSE_STRAGGLER_WAIT] += gpus * result->jitter_ns;
}

static sim_time last_end(const struct engine_outcome *outcome, uint32_t job_count)
{
    sim_time last = 0;
    for (uint32_t i = 0; i < job_count; i++) {
        last = outcome->jobs[i].end > last ? outcome->jobs[i].end : last;
    }
    return last;
}

/* The step by its causes, and what it hangs on, before loaders. */
static void fill_step(struct arena *arena, const struct simulation *simulation,
                      struct step_result *result)
{
    const struct scenario *scenario = simulation->jobs[0].scenario;
    const struct engine_outcome *outcome = &simulation->outcome;
    result->step_ns = outcome->jobs[0].end;
    result->spread = simulation->spread;
    result->is_longer = simulation->is_longer;
    for (uint32_t c = 0; c < CAUSE_COUNT_; c++) {
        result->gpu_ns[c] = outcome->jobs[0].total_causes[c];
    }
    add_jitter(jitter_spread_of(&scenario->gpu, &scenario->software), scenario->gpus, result);
    check_sums(result, scenario->gpus);
    if (simulation->path != NULL) {
        result->path =
            critical_with(arena, simulation->path, CAUSE_STRAGGLER_WAIT, result->jitter_ns);
        sim_assert(result->path->length_ns == result->step_ns);
    }
    loads_of_links(arena, simulation->system, last_end(outcome, simulation->job_count), result);
    loads_of_traffic(arena, simulation->system, simulation->run, outcome, result);
    note_engine_use(simulation->run, outcome, &result->engine);
}

static void fill_loaded(struct arena *arena, const struct simulation *simulation,
                        struct step_result *result)
{
    sim_assert(simulation->job_count == 1);
    step_load(&simulation->jobs[0], simulation->gpus, simulation->request, result);
    check_sums(result, simulation->jobs[0].scenario->gpus);
    if (result->path != NULL) {
        result->path = critical_up_to(arena, result->path, result->step_ns);
    }
}

void step_simulate(struct arena *arena, const struct scenario *scenario,
                   const struct step_request *request, struct step_result *result)
{
    const uint32_t job_count = scenario->neighbour_count + 1;
    const struct step_basis basis = step_basis_of(scenario);
    struct job_step *alone = NULL;
    struct placement placement;
    struct arena *scratch = request->scratch != NULL ? request->scratch : arena;
    const struct step_job *jobs = gather_jobs(scratch, scenario, request, &alone, &placement);
    struct simulation simulation = {.arena = scratch,
                                    .jobs = jobs,
                                    .job_count = job_count,
                                    .gpus = placement.gpus,
                                    .request = request,
                                    .recorded = arena_new()};
    build(&simulation);
    if (request->finds_path && simulation.folded != NULL) {
        simulation.record = engine_record_new(simulation.recorded);
    }
    run_member(&simulation);
    settle(arena, &simulation);
    engine_known_free(simulation.known);
    arena_free(simulation.recorded);

    memset(result, 0, sizeof *result);
    result->placement = placement.use;
    result->job_count = job_count > 1 ? job_count : 0;
    fill_step(arena, &simulation, result);
    note_jobs(arena, jobs, alone, &simulation.outcome, result);
    if (request->loaders != NULL) {
        fill_loaded(arena, &simulation, result);
    }
    derive(arena, &basis, result);
    result->memory = memory_check(scenario);
    if (!result->memory.fits) {
        memory_explain(scenario, &result->memory, result->memory_advice,
                       sizeof result->memory_advice);
    }
    if (request->detail != NULL) {
        const struct folded_system *folded = simulation.folded;
        spread_to_ranks(arena, simulation.system, folded != NULL ? folded->actor_class : NULL,
                        &simulation.outcome, result->jitter_ns, request->detail);
    }
}
