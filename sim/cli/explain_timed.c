#include "cli/explain_timed.h"

#include "base/arena.h"
#include "des/event.h"

/* ---- the parts of a step, in the order in which they run ------------------- */

struct part {
    enum segment_kind kind;
    const char *title;
};

static const struct part forward_parts[] = {
    {SEGMENT_ATTENTION_PRE, "before attention"},
    {SEGMENT_ATTENTION, "attention"},
    {SEGMENT_ATTENTION_POST, "after attention"},
    {SEGMENT_MLP_PRE, "before MLP"},
    {SEGMENT_MLP, "MLP"},
    {SEGMENT_MLP_POST, "after MLP"},
};

static const struct part backward_parts[] = {
    {SEGMENT_MLP_POST_BACKWARD, "after MLP"},
    {SEGMENT_MLP_INNER_BACKWARD, "inside MLP"},
    {SEGMENT_MLP_DGRAD, "fc1, input gradient"},
    {SEGMENT_MLP_WGRAD, "fc1, weight gradient"},
    {SEGMENT_MLP_PRE_BACKWARD, "before MLP"},
    {SEGMENT_ATTENTION_POST_BACKWARD, "after attention"},
    {SEGMENT_ATTENTION_INNER_BACKWARD, "inside attention"},
    {SEGMENT_ATTENTION_DGRAD, "qkv, input gradient"},
    {SEGMENT_ATTENTION_WGRAD, "qkv, weight gradient"},
    {SEGMENT_ATTENTION_PRE_BACKWARD, "before attention"},
};

static const struct part selective_parts[] = {
    {SEGMENT_SELECTIVE_RECOMPUTE, "recomputed"},
};

static const struct part end_parts[] = {
    {SEGMENT_EMBEDDING, "embedding"},         {SEGMENT_EMBEDDING_BACKWARD, "embedding backward"},
    {SEGMENT_HEAD_PRE, "before head"},        {SEGMENT_HEAD, "head"},
    {SEGMENT_HEAD_BACKWARD, "head backward"}, {SEGMENT_HEAD_PRE_BACKWARD, "before head backward"},
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
    return phase == PHASE_RECOMPUTE ? recomputed[scenario->recompute] : phases[phase].parts;
}

/* ---- kernels ------------------------------------------------------------------ */

static double compute_s(const struct scenario *scenario, struct timed_kernel *timed)
{
    const struct kernel *kernel = &timed->kernel;
    const struct kernel_gpu gpu = timing_gpu(scenario);
    if (kernel->kind == KERNEL_GEMM) {
        const struct gemm_size size = {kernel->m, kernel->n, kernel->k, kernel->count};
        timed->tiling = kernel_gemm_tiling(&gpu, &size);
        return timed->tiling.compute_s;
    }
    struct kernel arithmetic = *kernel;
    arithmetic.bytes = 0;
    return timing_kernel(scenario, &arithmetic).busy_s;
}

static struct timed_kernel time_kernel(const struct scenario *scenario, const struct kernel *kernel)
{
    const struct kernel_gpu gpu = timing_gpu(scenario);
    const struct kernel_time time = timing_kernel(scenario, kernel);
    struct timed_kernel timed = {.kernel = *kernel};
    timed.busy_ns = sim_time_from_s(time.busy_s);
    timed.launch_ns = sim_time_from_s(time.launch_s);
    timed.compute_s = compute_s(scenario, &timed);
    timed.memory_s = kernel_memory(&gpu, kernel->bytes).busy_s;
    timed.is_memory_bound = timed.memory_s > timed.compute_s;
    return timed;
}

static void time_segment(const struct scenario *scenario, const struct part *part,
                         struct timed_segment *timed)
{
    const struct cost_shape shape = timing_shape(scenario);
    struct segment segment;
    cost_segment(&shape, part->kind, &segment);
    timed->title = part->title;
    timed->count = segment.count;
    timed->work = timing_segment(scenario, &segment);
    timed->flop = cost_segment_flop(&segment);
    for (uint32_t i = 0; i < segment.count; i++) {
        timed->kernels[i] = time_kernel(scenario, &segment.kernels[i]);
        timed->bytes += segment.kernels[i].bytes;
    }
}

void explain_time_phase(const struct explanation *explanation, enum phase phase,
                        struct timed_phase *timed)
{
    const struct part_list list = parts_of(explanation->scenario, phase);
    *timed = (struct timed_phase){.key = phases[phase].key, .title = phases[phase].title};
    timed->count = list.count;
    timed->segments = arena_array(explanation->arena, list.count, sizeof *timed->segments);
    for (uint32_t i = 0; i < list.count; i++) {
        struct timed_segment *segment = &timed->segments[i];
        time_segment(explanation->scenario, &list.parts[i], segment);
        timed->work.busy_ns += segment->work.busy_ns;
        timed->work.launch_ns += segment->work.launch_ns;
        timed->flop += segment->flop;
        timed->bytes += segment->bytes;
    }
}

const struct timed_kernel *explain_longest_gemm(const struct timed_phase *forward)
{
    const struct timed_kernel *longest = NULL;
    for (uint32_t i = 0; i < forward->count; i++) {
        const struct timed_segment *segment = &forward->segments[i];
        for (uint32_t j = 0; j < segment->count; j++) {
            const struct timed_kernel *timed = &segment->kernels[j];
            if (timed->kernel.kind == KERNEL_GEMM &&
                (longest == NULL || timed->busy_ns > longest->busy_ns)) {
                longest = timed;
            }
        }
    }
    return longest;
}

/* ---- a step ---------------------------------------------------------------------- */

/* Nanoseconds of all stages together. */
static struct work optimizer_work(const struct scenario *scenario)
{
    struct work all = {0, 0};
    for (uint32_t stage = 0; stage < scenario->parallel.pp; stage++) {
        const struct work norm = program_norm_work(scenario, stage);
        const struct work update =
            timing_optimizer(scenario, program_owned_parameters(scenario, stage));
        all.busy_ns += norm.busy_ns + update.busy_ns;
        all.launch_ns += norm.launch_ns + update.launch_ns;
    }
    return all;
}

struct timed_step explain_time_step(const struct explanation *explanation)
{
    const struct scenario *scenario = explanation->scenario;
    struct timed_phase phase[PHASE_COUNT_];
    for (uint32_t i = 0; i < PHASE_COUNT_; i++) {
        explain_time_phase(explanation, (enum phase)i, &phase[i]);
    }
    const struct work *forward = &phase[PHASE_FORWARD].work;
    const struct work *backward = &phase[PHASE_BACKWARD].work;
    const struct work *recompute = &phase[PHASE_RECOMPUTE].work;
    const struct work *ends = &phase[PHASE_ENDS].work;
    const struct work optimizer = optimizer_work(scenario);
    const int64_t layers = scenario->model.layers;
    const int64_t microbatches = scenario->batch.microbatches;
    const int64_t busy_ns = layers * (forward->busy_ns + backward->busy_ns) + ends->busy_ns;
    const int64_t gap_ns =
        layers * (forward->launch_ns + backward->launch_ns + recompute->launch_ns) +
        ends->launch_ns;
    const double stages_ns = (double)scenario->parallel.pp * 1e9;
    return (struct timed_step){
        .compute_s = (double)(microbatches * busy_ns) / stages_ns,
        .recompute_s = (double)(microbatches * layers * recompute->busy_ns) / stages_ns,
        .optimizer_s = (double)optimizer.busy_ns / stages_ns,
        .launch_s = (double)(microbatches * gap_ns + optimizer.launch_ns) / stages_ns +
                    scenario->software.host_per_step_s,
    };
}
