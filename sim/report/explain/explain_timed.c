/* Walks the same lists of kernels as the simulation does and keeps each
 * kernel's time by itself. A whole step is the sum over layers, ends and
 * optimizer; what FSDP's own copies add is found by simulating the step
 * without them.
 */
#include "report/explain/explain_timed.h"

#include "base/arena.h"
#include "input/scenario.h"
#include "report/explain/explain_text.h"
#include "des/event.h"
#include "input/layout.h"
#include "train/program/program_matrices.h"
#include "train/step.h"

#include <math.h>

/* ---- the parts of a step, in the order in which they run ------------------- */

struct part {
    enum segment_kind kind;
    unsigned needs; /* 0: every layer has it */
    const char *title;
};

/* Which scenarios have a part. */
enum {
    DENSE = 1 << 0,        /* the layer that is shown has an MLP */
    MOE = 1 << 1,          /* ... or experts */
    SHARED = 1 << 2,       /* ... and shared ones */
    WHOLE = 1 << 3,        /* attention in one piece */
    SPLIT = 1 << 4,        /* in three, by context parallelism */
    MTP = 1 << 5,          /* a layer of multi-token prediction */
    MLP_AGAIN = 1 << 6,    /* is recomputed as a whole */
    MOE_AGAIN = 1 << 7,    /* ... */
    SHARED_AGAIN = 1 << 8, /* ... */
    MIXES = 1 << 9,        /* the layer has attention, or another mixer */
    FEEDS = 1 << 10,       /* it has MLP or experts */
    NO_EXPERTS = 1 << 11,
};

static const struct part forward_parts[] = {
    {SEGMENT_MTP, MTP, "before the layer"},
    {SEGMENT_ATTENTION_PRE, MIXES, "before attention"},
    {SEGMENT_ATTENTION, WHOLE, "attention"},
    {SEGMENT_ATTENTION_QKV, SPLIT, "attention, before the gather"},
    {SEGMENT_ATTENTION_CORE, SPLIT, "attention, after the gather"},
    {SEGMENT_ATTENTION_PROJECTION, SPLIT, "projection"},
    {SEGMENT_ATTENTION_POST, MIXES, "after attention"},
    {SEGMENT_MLP_PRE, FEEDS, "before MLP"},
    {SEGMENT_MLP, DENSE, "MLP"},
    {SEGMENT_ROUTER, MOE, "to the experts"},
    {SEGMENT_EXPERTS, MOE, "experts"},
    {SEGMENT_EXPERTS_POST, MOE, "from the experts"},
    {SEGMENT_SHARED, SHARED, "shared experts"},
    {SEGMENT_MLP_POST, FEEDS, "after MLP"},
};

static const struct part backward_parts[] = {
    {SEGMENT_MLP_POST_BACKWARD, FEEDS, "after MLP"},
    {SEGMENT_MLP_INNER_BACKWARD, DENSE, "inside MLP"},
    {SEGMENT_MLP_INNER_WGRAD, DENSE, "fc2, weight gradient"},
    {SEGMENT_MLP_DGRAD, DENSE, "fc1, input gradient"},
    {SEGMENT_MLP_WGRAD, DENSE, "fc1, weight gradient"},
    {SEGMENT_SHARED_INNER_BACKWARD, SHARED, "inside shared experts"},
    {SEGMENT_SHARED_INNER_WGRAD, SHARED, "shared fc2, weight gradient"},
    {SEGMENT_SHARED_DGRAD, SHARED, "shared fc1, input gradient"},
    {SEGMENT_SHARED_WGRAD, SHARED, "shared fc1, weight gradient"},
    {SEGMENT_EXPERTS_POST_BACKWARD, MOE, "from the experts"},
    {SEGMENT_EXPERTS_BACKWARD, MOE, "experts"},
    {SEGMENT_EXPERTS_WGRAD, MOE, "experts, weight gradients"},
    {SEGMENT_ROUTER_BACKWARD, MOE, "to the experts"},
    {SEGMENT_MLP_PRE_BACKWARD, FEEDS, "before MLP"},
    {SEGMENT_ATTENTION_POST_BACKWARD, MIXES, "after attention"},
    {SEGMENT_ATTENTION_INNER_BACKWARD, WHOLE, "inside attention"},
    {SEGMENT_ATTENTION_PROJECTION_BACKWARD, SPLIT, "projection, input gradient"},
    {SEGMENT_ATTENTION_CORE_BACKWARD, SPLIT, "inside attention, before the sum"},
    {SEGMENT_ATTENTION_INNER_WGRAD, MIXES, "projection, weight gradient"},
    {SEGMENT_ATTENTION_QKV_BACKWARD, SPLIT, "inside attention, after the sum"},
    {SEGMENT_ATTENTION_DGRAD, MIXES, "qkv, input gradient"},
    {SEGMENT_ATTENTION_WGRAD, MIXES, "qkv, weight gradient"},
    {SEGMENT_ATTENTION_PRE_BACKWARD, MIXES, "before attention"},
    {SEGMENT_MTP_BACKWARD, MTP, "before the layer"},
    {SEGMENT_MTP_WGRAD, MTP, "its projection, weight gradient"},
};

static const struct part selective_parts[] = {
    {SEGMENT_MLP, DENSE | MLP_AGAIN, "MLP"},
    {SEGMENT_ROUTER, MOE | MOE_AGAIN, "to the experts"},
    {SEGMENT_EXPERTS, MOE | MOE_AGAIN, "experts"},
    {SEGMENT_EXPERTS_POST, MOE | MOE_AGAIN, "from the experts"},
    {SEGMENT_SHARED, SHARED | SHARED_AGAIN, "shared experts"},
    {SEGMENT_SELECTIVE_RECOMPUTE, NO_EXPERTS, "recomputed"},
    {SEGMENT_SELECTIVE_RECOMPUTE_EXPERTS, MOE, "recomputed"},
};

#define EMBEDDING_PARTS 2 /* of the following */
static const struct part end_parts[] = {
    {SEGMENT_EMBEDDING, 0, "embedding"},
    {SEGMENT_EMBEDDING_BACKWARD, 0, "embedding backward"},
    {SEGMENT_HEAD_PRE, 0, "before head"},
    {SEGMENT_HEAD, 0, "head"},
    {SEGMENT_HEAD_BACKWARD, 0, "head backward"},
    {SEGMENT_HEAD_WGRAD, 0, "head, weight gradient"},
    {SEGMENT_HEAD_PRE_BACKWARD, 0, "before head backward"},
};

struct part_list {
    const struct part *parts;
    uint32_t count;
};

#define LIST(array)                              \
    {                                            \
        (array), sizeof(array) / sizeof *(array) \
    }

static const struct {
    const char *key;
    const char *title;
    struct part_list parts; /* PHASE_RECOMPUTE's depend on what is recomputed */
} phases[PHASE_COUNT_] = {
    [PHASE_FORWARD] = {"forward", "forward", LIST(forward_parts)},
    [PHASE_BACKWARD] = {"backward", "backward", LIST(backward_parts)},
    [PHASE_RECOMPUTE] = {"recompute", "computed again", {NULL, 0}},
    [PHASE_ENDS] = {"ends", "embedding and head", LIST(end_parts)},
};

static struct part_list parts_of(const struct scenario *scenario, enum phase phase)
{
    static const struct part_list recomputed[RECOMPUTE_COUNT_] = {
        [RECOMPUTE_NONE] = {NULL, 0},
        [RECOMPUTE_SELECTIVE] = LIST(selective_parts),
        [RECOMPUTE_FULL] = LIST(forward_parts),
    };
    return phase == PHASE_RECOMPUTE ? recomputed[scenario->recompute.kind] : phases[phase].parts;
}

/* ---- kernels ------------------------------------------------------------------ */

static double compute_s(const struct timing_runner *runner, struct timed_kernel *timed)
{
    const struct kernel *kernel = &timed->kernel;
    const struct kernel_gpu gpu = timing_gpu(runner, kernel);
    if (kernel->kind == KERNEL_GEMM) {
        const struct gemm_size size = {kernel->m, kernel->n, kernel->k, kernel->count};
        timed->tiling = kernel_gemm_tiling(&gpu, &size);
        return timed->tiling.compute_s;
    }
    if (kernel->kind == KERNEL_ATTENTION) {
        const struct attention_size size = timing_attention(kernel);
        timed->attention = attention_work_of(&gpu, timing_attention_kind(runner, kernel), &size);
    }
    struct kernel arithmetic = *kernel;
    arithmetic.bytes = 0;
    return timing_kernel(runner, &arithmetic).busy_s;
}

static struct timed_kernel time_kernel(const struct timing_runner *runner,
                                       const struct kernel *kernel)
{
    const struct kernel_gpu gpu = timing_gpu(runner, kernel);
    const struct kernel_time time = timing_kernel(runner, kernel);
    struct timed_kernel timed = {.kernel = *kernel};
    timed.busy_ns = sim_time_from_s(time.busy_s);
    timed.launch_ns = sim_time_from_s(time.launch_s);
    timed.compute_s = compute_s(runner, &timed);
    timed.memory_s =
        kernel_memory(&gpu, kernel->bytes).busy_s / timing_derate(runner->software, kernel);
    timed.is_memory_bound = timed.memory_s > timed.compute_s;
    return timed;
}

static void time_segment(const struct timing_runner *runner, const struct cost_shape *shape,
                         const struct part *part, struct timed_segment *timed)
{
    const struct timing_runner in = timing_runner_in(runner, part->kind);
    struct segment segment;
    cost_segment(shape, part->kind, &segment);
    timed->title = part->title;
    timed->count = segment.count;
    timed->sum.work = timing_segment(runner, part->kind, &segment);
    timed->sum.flop = cost_segment_flop(&segment);
    for (uint32_t i = 0; i < segment.count; i++) {
        timed->kernels[i] = time_kernel(&in, &segment.kernels[i]);
        timed->sum.bytes += segment.kernels[i].bytes;
    }
}

static unsigned parts_had(const struct scenario *scenario, const struct layer_kind *kind)
{
    const uint32_t modules = scenario->recompute.modules;
    const unsigned cut = scenario->parallel.cp > 1 ? (unsigned)SPLIT : (unsigned)WHOLE;
    unsigned had = layer_mixes(kind) ? (unsigned)MIXES | cut : 0u;
    had |= layer_has_mlp(kind) ? (unsigned)FEEDS : 0u;
    had |= kind->is_mtp ? MTP : 0u;
    had |= (modules >> RECOMPUTE_MLP & 1u) != 0 ? MLP_AGAIN : 0u;
    had |= (modules >> RECOMPUTE_MOE & 1u) != 0 ? MOE_AGAIN | SHARED_AGAIN : 0u;
    had |= (modules >> RECOMPUTE_SHARED_EXPERTS & 1u) != 0 ? SHARED_AGAIN : 0u;
    if (!kind->has_experts) {
        return had | (unsigned)NO_EXPERTS | (layer_has_mlp(kind) ? (unsigned)DENSE : 0u);
    }
    return had | (unsigned)MOE | (scenario->model.shared_experts > 0 ? (unsigned)SHARED : 0u);
}

/* Of a layer of a kind (index into model.kinds); it makes no difference to the ends. */
static void time_phase(const struct explanation *explanation, enum phase phase, uint32_t kind,
                       struct timed_phase *timed)
{
    const struct part_list list = parts_of(explanation->scenario, phase);
    const struct scenario *scenario = explanation->scenario;
    const struct timing_runner runner = timing_runner_of(scenario);
    const struct cost_shape shape = timing_shape(scenario, kind);
    const unsigned kept = phase == PHASE_RECOMPUTE ? (unsigned)MTP : 0u; /* its joining is not */
    const unsigned had = parts_had(scenario, &scenario->model.kinds[kind]) & ~kept;
    *timed = (struct timed_phase){.key = phases[phase].key, .title = phases[phase].title};
    timed->segments = arena_array(explanation->arena, list.count, sizeof *timed->segments);
    for (uint32_t i = 0; i < list.count; i++) {
        if ((list.parts[i].needs & had) != list.parts[i].needs) {
            continue;
        }
        struct timed_segment *segment = &timed->segments[timed->count++];
        time_segment(&runner, &shape, &list.parts[i], segment);
        timed->sum.work.busy_ns += segment->sum.work.busy_ns;
        timed->sum.work.launch_ns += segment->sum.work.launch_ns;
        timed->sum.flop += segment->sum.flop;
        timed->sum.bytes += segment->sum.bytes;
    }
}

void explain_time_phase(const struct explanation *explanation, enum phase phase,
                        struct timed_phase *timed)
{
    const struct model *model = &explanation->scenario->model;
    time_phase(explanation, phase, model_shown_kind(model), timed);
}

/* ---- a step ---------------------------------------------------------------------- */

/* Nanoseconds of all stages together. */
static struct work optimizer_work(const struct scenario *scenario)
{
    struct work all = {.busy_ns = 0};
    const struct timing_runner runner = timing_runner_of(scenario);
    const struct memory_job memory = memory_job_of(scenario);
    const struct optimizer *optimizer = &scenario->optimizer;
    for (uint32_t stage = 0; stage < scenario->parallel.pp; stage++) {
        const struct work norm =
            program_norm_work(&runner, optimizer, program_owned_parameters(&memory.split, stage));
        const struct work update = program_update_work(&runner, &memory, stage);
        all.busy_ns += norm.busy_ns + update.busy_ns;
        all.launch_ns += norm.launch_ns + update.launch_ns;
    }
    return all;
}

/* What layers take, forward and backward, per microbatch. */
struct layers_work {
    int64_t busy_ns, recompute_ns, gap_ns;
};

struct copies {
    double busy_s, launch_s;
};

/* Layers that are computed again: all of them, or with full recompute the first of each chunk. */
static int64_t recomputed_layers(const struct scenario *scenario, uint32_t kind)
{
    const struct parallel *parallel = &scenario->parallel;
    const int64_t most =
        scenario->recompute.kind == RECOMPUTE_FULL ? scenario->recompute.layers : 0;
    if (most == 0 || scenario->model.kinds[kind].is_mtp) {
        return scenario->model.kinds[kind].layers;
    }
    int64_t count = 0;
    for (int64_t piece = 0; piece < layout_pieces(parallel); piece++) {
        const int64_t first = layout_first_layer(parallel, piece);
        for (int64_t i = 0; i < most && i < parallel->layers_per_chunk[piece]; i++) {
            count += model_kind(&scenario->model, first + i) == kind ? 1 : 0;
        }
    }
    return count;
}

static void add_layers(const struct explanation *explanation, uint32_t kind, struct ledger *ledger,
                       struct layers_work *all)
{
    const int64_t layers = explanation->scenario->model.kinds[kind].layers;
    const int64_t again = recomputed_layers(explanation->scenario, kind);
    struct timed_phase timed[PHASE_COUNT_];
    for (uint32_t phase = PHASE_FORWARD; phase <= PHASE_RECOMPUTE; phase++) {
        time_phase(explanation, (enum phase)phase, kind, &timed[phase]);
    }
    const struct work forward = timed[PHASE_FORWARD].sum.work;
    const struct work backward = timed[PHASE_BACKWARD].sum.work;
    const struct work recompute = timed[PHASE_RECOMPUTE].sum.work;
    const char *name = explanation->scenario->model.kinds[kind].name;
    all->busy_ns +=
        LEDGER_COUNT(ledger, ledger_text(ledger, "layers (%s)", name), "ns>us",
                     layers * (forward.busy_ns + backward.busy_ns), LEDGER_TERM(layers, ""),
                     LEDGER_TERM(forward.busy_ns, "ns>us"), LEDGER_TERM(backward.busy_ns, "ns>us"));
    all->recompute_ns += LEDGER_COUNT(recompute.busy_ns > 0 ? ledger : NULL, "computed again",
                                      "ns>us", again * recompute.busy_ns, LEDGER_TERM(again, ""),
                                      LEDGER_TERM(recompute.busy_ns, "ns>us"));
    all->gap_ns += LEDGER_COUNT(ledger, "their gaps", "ns>us",
                                layers * (forward.launch_ns + backward.launch_ns) +
                                    again * recompute.launch_ns,
                                LEDGER_TERM(layers, ""), LEDGER_TERM(forward.launch_ns, "ns>us"),
                                LEDGER_TERM(backward.launch_ns, "ns>us"), LEDGER_TERM(again, ""),
                                LEDGER_TERM(recompute.launch_ns, "ns>us"));
}

/* The head again for each layer of multi-token prediction. */
static struct work ends_work(const struct explanation *explanation)
{
    struct timed_phase ends;
    explain_time_phase(explanation, PHASE_ENDS, &ends);
    struct work all = ends.sum.work;
    const int64_t heads = explanation->scenario->model.mtp_layers;
    for (uint32_t i = EMBEDDING_PARTS; i < ends.count; i++) {
        all.busy_ns += heads * ends.segments[i].sum.work.busy_ns;
        all.launch_ns += heads * ends.segments[i].sum.work.launch_ns;
    }
    return all;
}

/* What a GPU waits for launches in a step, mean of all stages, as its programs have it. */
static double host_wait_s(const struct step_system *system)
{
    const struct system_job *job = &system->jobs[0];
    int64_t sum_ns = 0;
    for (uint32_t stage = 0; stage < job->mesh.pp; stage++) {
        sum_ns += job->host_wait_ns[stage];
    }
    return sim_time_to_s(sum_ns) / (double)job->mesh.pp;
}

/* Whether FSDP's kernels or its host do anything beside the layers'. */
static bool has_copies(const struct scenario *scenario)
{
    const struct software *software = &scenario->software;
    const struct parallel *parallel = &scenario->parallel;
    return parallel->zero == 3 &&
           (software->fsdp_gather_passes > 0 || software->fsdp_gradient_copies > 0 ||
            software->fsdp_host_per_rank_s > 0 || parallel->has_quantized_weights ||
            parallel->has_quantized_gradients);
}

/* GPU-nanoseconds of a cause before the step was made as long as an anchor or run.step_time says.
 */
static int64_t simulated_ns(const struct explanation *explanation, enum cause cause)
{
    const struct step_result *step = &explanation->result->step;
    const int64_t booked = step->gpu_ns[cause];
    return step->simulated_ns > 0
               ? llround((double)booked * (double)step->simulated_ns / (double)step->step_ns)
               : booked;
}

/* What FSDP's own copies, quantization and host add to a step: the step without them is simulated,
 * too. */
static struct copies time_copies(const struct explanation *explanation, double waited_s)
{
    const struct scenario *scenario = explanation->scenario;
    if (!has_copies(scenario)) {
        return (struct copies){0, 0};
    }
    struct scenario without = *scenario;
    without.software.fsdp_gather_passes = 0;
    without.software.fsdp_gradient_copies = 0.0;
    without.software.fsdp_host_per_rank_s = 0.0;
    without.parallel.has_quantized_weights = false;
    without.parallel.has_quantized_gradients = false;
    struct step_result bare;
    step_simulate(explanation->arena, &without, &(struct step_request){.folds = true}, &bare);
    const int64_t busy_ns = simulated_ns(explanation, CAUSE_COMPUTE) - bare.gpu_ns[CAUSE_COMPUTE];
    const int64_t launch_ns = simulated_ns(explanation, CAUSE_LAUNCH) - bare.gpu_ns[CAUSE_LAUNCH];
    return (struct copies){
        .busy_s = explain_mean_s(busy_ns, scenario->gpus),
        .launch_s = explain_mean_s(launch_ns, scenario->gpus) - waited_s +
                    host_wait_s(step_system_of(explanation->arena, &without)),
    };
}

/* A line for a cause that was booked, with what the simulation says of it as its unit. */
static struct ledger *if_booked(const struct explanation *explanation, struct ledger *ledger,
                                enum cause cause, const char **unit)
{
    const int64_t booked = simulated_ns(explanation, cause);
    *unit = ledger_text(ledger, "ms; simulated %.3f",
                        explain_mean_s(booked, explanation->scenario->gpus) * 1e3);
    return booked > 0 ? ledger : NULL;
}

struct timed_step explain_time_step(const struct explanation *explanation, struct ledger *ledger)
{
    const struct scenario *scenario = explanation->scenario;
    struct layers_work layers = {0, 0, 0};
    for (uint32_t kind = 0; kind < scenario->model.kind_count; kind++) {
        add_layers(explanation, kind, ledger, &layers);
    }
    const struct work ends = ends_work(explanation);
    const struct work optimizer = optimizer_work(scenario);
    const double waited_s = host_wait_s(explanation->system);
    const struct copies copies = time_copies(explanation, waited_s);
    const double host_s = software_host_step_s(&scenario->software);
    const int64_t microbatches = scenario->batch.microbatches;
    const double pp_ns = (double)scenario->parallel.pp * 1e9;
    const char *unit;
    struct ledger *booked = if_booked(explanation, ledger, CAUSE_COMPUTE, &unit);
    struct timed_step timed = {.host_wait_s = waited_s};
    timed.compute_s = LEDGER_SUM(
        booked, "compute", unit,
        (double)(microbatches * (layers.busy_ns + ends.busy_ns)) / pp_ns + copies.busy_s,
        LEDGER_TERM(microbatches, ""), LEDGER_TERM(layers.busy_ns, "ns>us"),
        LEDGER_TERM(ends.busy_ns, "ns>us embedding and head"), LEDGER_TERM(pp_ns, "ns>pp"),
        LEDGER_TERM(copies.busy_s, "s>us of FSDP's copies"));
    booked = if_booked(explanation, ledger, CAUSE_RECOMPUTE, &unit);
    timed.recompute_s =
        LEDGER_SUM(booked, "recompute", unit, (double)(microbatches * layers.recompute_ns) / pp_ns,
                   LEDGER_TERM(microbatches, ""), LEDGER_TERM(layers.recompute_ns, "ns>us"),
                   LEDGER_TERM(pp_ns, "ns>pp"));
    booked = if_booked(explanation, ledger, CAUSE_OPTIMIZER, &unit);
    timed.optimizer_s =
        LEDGER_SUM(booked, "optimizer", unit, (double)optimizer.busy_ns / pp_ns,
                   LEDGER_TERM(optimizer.busy_ns, "ns>us"), LEDGER_TERM(pp_ns, "ns>pp"));
    booked = if_booked(explanation, ledger, CAUSE_LAUNCH, &unit);
    timed.launch_s = LEDGER_SUM(
        booked, "launch", unit,
        (double)(microbatches * (layers.gap_ns + ends.launch_ns) + optimizer.launch_ns) / pp_ns +
            host_s + waited_s + copies.launch_s,
        LEDGER_TERM(microbatches, ""), LEDGER_TERM(layers.gap_ns, "ns>us"),
        LEDGER_TERM(ends.launch_ns, "ns>us"), LEDGER_TERM(optimizer.launch_ns, "ns>us"),
        LEDGER_TERM(pp_ns, "ns>pp"), LEDGER_TERM(host_s, "s>us of the host"),
        LEDGER_TERM(waited_s, "s>us waits"), LEDGER_TERM(copies.launch_s, "s>us of copies"));
    return timed;
}
