#include "train/timing.h"

#include "base/check.h"
#include "des/event.h"
#include "plan/routing.h"

struct kernel_gpu timing_gpu(const struct scenario *scenario)
{
    return (struct kernel_gpu){
        .gpu = &scenario->gpu,
        .precision = (enum precision)scenario->precision,
        .gemm_derate = scenario->software.gemm_derate,
        .reserved_sms = scenario->software.reserved_sms,
    };
}

struct kernel_gpu timing_gpu_of(const struct scenario *scenario, const struct kernel *kernel)
{
    struct kernel_gpu on = timing_gpu(scenario);
    on.precision = kernel->precision;
    return on;
}

struct kernel_time timing_kernel(const struct scenario *scenario, const struct kernel *kernel)
{
    const struct kernel_gpu on = timing_gpu_of(scenario, kernel);
    const struct kernel_gpu *gpu = &on;
    switch (kernel->kind) {
    case KERNEL_GEMM:
        return kernel_gemm(gpu, kernel->m, kernel->n, kernel->k, kernel->count, kernel->bytes);
    case KERNEL_ATTENTION:
        return kernel_attention(gpu, (enum attention_kind)scenario->software.attention,
                                kernel->is_backward, kernel->length, kernel->flop, kernel->bytes);
    case KERNEL_MEMORY:
        break;
    }
    return kernel_memory(gpu, kernel->bytes);
}

struct work timing_segment(const struct scenario *scenario, const struct segment *segment)
{
    struct work work = {0, 0};
    for (uint32_t i = 0; i < segment->count; i++) {
        const struct kernel_time time = timing_kernel(scenario, &segment->kernels[i]);
        work.busy_ns += sim_time_from_s(time.busy_s);
        work.launch_ns += sim_time_from_s(time.launch_s);
    }
    const int64_t host_ns = segment->count * sim_time_from_s(scenario->software.host_per_kernel_s);
    if (host_ns > work.busy_ns + work.launch_ns) {
        work.launch_ns = host_ns - work.busy_ns;
    }
    return work;
}

struct cost_shape timing_shape(const struct scenario *scenario, uint32_t kind)
{
    const struct model *model = &scenario->model;
    const struct parallel *parallel = &scenario->parallel;
    const struct routing_load routing = routing_of(scenario);
    const bool is_selective = scenario->recompute.kind == RECOMPUTE_SELECTIVE;
    sim_assert(kind < model->kind_count);
    return (struct cost_shape){
        .model = model,
        .layer = &model->kinds[kind],
        .software = &scenario->software,
        .precision = (enum precision)scenario->precision,
        .tp = parallel->tp,
        .is_sequence_parallel = parallel->is_sequence_parallel,
        .micro = scenario->batch.micro,
        .sequence_length = scenario->batch.sequence_length,
        .cp = parallel->cp,
        .ep = parallel->ep,
        .etp = parallel->etp,
        .expert_rows = routing.hottest_rank,
        .local_experts = routing.local_experts,
        .recompute_modules = is_selective ? scenario->recompute.modules : 0,
        .is_ulysses = parallel->cp > 1 && parallel->context == CONTEXT_ULYSSES,
        .lora_rank = scenario->lora.rank,
        .lora_targets = scenario->lora.targets,
        .gradient_bytes = state_bytes((enum state_format)scenario->optimizer.gradients),
    };
}

struct work timing_work(const struct timing *timing, uint32_t kind, enum segment_kind segment)
{
    sim_assert(kind < LAYER_KINDS_MAX && segment < SEGMENT_COUNT_);
    return timing->segments[kind][segment];
}

void timing_init(const struct scenario *scenario, struct timing *timing)
{
    *timing = (struct timing){0};
    for (uint32_t kind = 0; kind < scenario->model.kind_count; kind++) {
        const struct cost_shape shape = timing_shape(scenario, kind);
        for (uint32_t i = 0; i < SEGMENT_COUNT_; i++) {
            struct segment segment = {.count = 0};
            cost_segment(&shape, (enum segment_kind)i, &segment);
            timing->segments[kind][i] = timing_segment(scenario, &segment);
        }
    }
}

struct work timing_optimizer(const struct scenario *scenario, double parameters)
{
    struct segment segment = {.count = 0};
    cost_optimizer(parameters, &scenario->optimizer, (enum precision)scenario->precision, &segment);
    return timing_segment(scenario, &segment);
}

struct work timing_memory_pass(const struct scenario *scenario, double bytes)
{
    struct segment segment = {.count = 1};
    segment.kernels[0] = (struct kernel){.name = "pass", .kind = KERNEL_MEMORY, .bytes = bytes};
    return timing_segment(scenario, &segment);
}
