#include "train/timing.h"

#include "des/event.h"

struct kernel_gpu timing_gpu(const struct scenario *scenario)
{
    return (struct kernel_gpu){
        .gpu = &scenario->gpu,
        .precision = (enum precision)scenario->precision,
        .gemm_derate = scenario->software.gemm_derate,
    };
}

struct kernel_time timing_kernel(const struct scenario *scenario, const struct kernel *kernel)
{
    const struct kernel_gpu on = timing_gpu(scenario);
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

struct cost_shape timing_shape(const struct scenario *scenario)
{
    return (struct cost_shape){
        .model = &scenario->model,
        .software = &scenario->software,
        .precision = (enum precision)scenario->precision,
        .tp = scenario->parallel.tp,
        .is_sequence_parallel = scenario->parallel.is_sequence_parallel,
        .micro = scenario->batch.micro,
        .sequence_length = scenario->batch.sequence_length,
        .cp = scenario->parallel.cp,
        .ep = scenario->parallel.ep,
    };
}

void timing_init(const struct scenario *scenario, struct timing *timing)
{
    const struct cost_shape shape = timing_shape(scenario);
    for (uint32_t kind = 0; kind < SEGMENT_COUNT_; kind++) {
        struct segment segment = {.count = 0};
        cost_segment(&shape, (enum segment_kind)kind, &segment);
        timing->segments[kind] = timing_segment(scenario, &segment);
    }
}

struct work timing_optimizer(const struct scenario *scenario, double parameters)
{
    struct segment segment = {.count = 0};
    cost_optimizer(parameters, (enum precision)scenario->precision, &segment);
    return timing_segment(scenario, &segment);
}

struct work timing_memory_pass(const struct scenario *scenario, double bytes)
{
    struct segment segment = {.count = 1};
    segment.kernels[0] = (struct kernel){.name = "pass", .kind = KERNEL_MEMORY, .bytes = bytes};
    return timing_segment(scenario, &segment);
}
