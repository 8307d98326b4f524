/* Gives each kernel of a segment to hw/kernel or hw/attention and sums the
 * times in whole nanoseconds, with what the host needs to launch them.
 */
#include "train/timing.h"

#include "base/check.h"
#include "des/event.h"
#include "input/job/optimizer.h"
#include "input/job/parallel.h"
#include "input/scenario.h"
#include "plan/routing.h"

struct timing_runner timing_runner_of(const struct scenario *scenario)
{
    return (struct timing_runner){
        .gpu = &scenario->gpu,
        .software = &scenario->software,
        .precision = (enum precision)scenario->precision,
        .knows_rows = routing_is_padded(&scenario->routing),
    };
}

struct kernel_gpu timing_gpu(const struct timing_runner *runner, const struct kernel *kernel)
{
    return (struct kernel_gpu){
        .gpu = runner->gpu,
        .precision = kernel->precision,
        .pass = kernel->pass,
        .gemm_derate = runner->software->gemm_derate,
        .reserved_sms = runner->software->reserved_sms,
    };
}

enum attention_kind timing_attention_kind(const struct timing_runner *runner,
                                          const struct kernel *kernel)
{
    return kernel->precision == PRECISION_FP8 ? ATTENTION_CUDNN_FP8
                                              : (enum attention_kind)runner->software->attention;
}

struct attention_size timing_attention(const struct kernel *kernel)
{
    return (struct attention_size){.count = kernel->count,
                                   .queries = kernel->m,
                                   .keys = kernel->length,
                                   .sequence = kernel->sequence,
                                   .mean_keys = kernel->mean_keys,
                                   .edges = kernel->edges,
                                   .head_dim = kernel->k,
                                   .value_dim = kernel->n,
                                   .is_backward = kernel->is_backward};
}

double timing_derate(const struct software *software, const struct kernel *kernel)
{
    switch (kernel->kind) {
    case KERNEL_ATTENTION:
        return software->attention_derate;
    case KERNEL_MEMORY:
        return software->memory_derate * (kernel->is_strided ? software->strided_share : 1.0);
    case KERNEL_SCAN:
        return kernel->is_wide ? software->scan.wide_derate : 1.0;
    case KERNEL_GEMM:
    case KERNEL_SPARSE:
    case KERNEL_KIND_COUNT_:
        break;
    }
    return 1.0;
}

static double sparse_share(const struct software *software, const struct kernel *kernel)
{
    return kernel->is_index      ? software->sparse.index_share
           : kernel->is_backward ? software->sparse.backward_share
                                 : software->sparse.forward_share;
}

static double repeats_of(const struct kernel *kernel)
{
    return kernel->repeats > 0 ? (double)kernel->repeats : 1.0;
}

/* Of one that is repeated: once. */
static struct kernel_time benchmark_time(const struct timing_runner *runner,
                                         const struct kernel *kernel, struct ledger *ledger)
{
    struct kernel_gpu on = timing_gpu(runner, kernel);
    on.ledger = ledger;
    const struct attention_size core = timing_attention(kernel);
    const struct kernel_gpu *gpu = &on;
    const double bytes = kernel->bytes / repeats_of(kernel);
    switch (kernel->kind) {
    case KERNEL_GEMM:
        return kernel_gemm(gpu, kernel->m, kernel->n, kernel->k, kernel->count, bytes);
    case KERNEL_ATTENTION:
        return kernel_attention(gpu, timing_attention_kind(runner, kernel), &core, bytes);
    case KERNEL_SCAN:
        return kernel_scan(gpu, &(struct scan_size){kernel->flop / repeats_of(kernel), bytes,
                                                    runner->software->scan.compute_share,
                                                    runner->software->scan.memory_share});
    case KERNEL_SPARSE:
        return kernel_sparse(gpu, &(struct scan_size){kernel->flop / repeats_of(kernel), bytes,
                                                      sparse_share(runner->software, kernel),
                                                      runner->software->sparse.memory_share});
    case KERNEL_MEMORY:
    case KERNEL_KIND_COUNT_:
        break;
    }
    return kernel_memory(gpu, bytes);
}

/* Products of experts are dealt over several streams; conversions follow each other on one. */
static int64_t gaps_of(const struct software *software, const struct kernel *kernel)
{
    const int64_t streams = kernel->kind == KERNEL_GEMM ? software->expert_streams : 1;
    return kernel->launches > 1 ? (kernel->launches + streams - 1) / streams : 1;
}

/* In front of one kernel. */
static double gap_s(const struct timing_runner *runner)
{
    return runner->is_replayed ? runner->gpu->launch_in_graph_s : runner->gpu->launch_s;
}

struct kernel_time timing_count_kernel(const struct timing_runner *runner,
                                       const struct kernel *kernel, struct ledger *ledger)
{
    const double derate = timing_derate(runner->software, kernel);
    struct kernel_time time = benchmark_time(runner, kernel, ledger);
    sim_assert(derate > 0.0);
    time.busy_s =
        LEDGER_SUM(ledger, kernel->name, "us", time.busy_s / derate,
                   LEDGER_TERM(time.busy_s, "us, the longest"), LEDGER_TERM(derate, "derate"));
    const double repeats = repeats_of(kernel);
    time.busy_s =
        LEDGER_SUM(repeats > 1.0 ? ledger : NULL, "of all chunks", "us", time.busy_s * repeats,
                   LEDGER_TERM(time.busy_s, "us"), LEDGER_TERM(repeats, "chunks"));
    time.launch_s = gap_s(runner) * (double)gaps_of(runner->software, kernel) * repeats;
    return time;
}

struct kernel_time timing_kernel(const struct timing_runner *runner, const struct kernel *kernel)
{
    return timing_count_kernel(runner, kernel, NULL);
}

/* The smallest part of a step that can be captured and holds the segment; GRAPH_NONE: the
 * optimizer's, which is not captured. */
static enum graph_part graph_of(enum segment_kind kind)
{
    switch (kind) {
    case SEGMENT_COUNT_:
        return GRAPH_NONE;
    case SEGMENT_EMBEDDING:
    case SEGMENT_EMBEDDING_BACKWARD:
    case SEGMENT_HEAD_PRE:
    case SEGMENT_HEAD:
    case SEGMENT_HEAD_BACKWARD:
    case SEGMENT_HEAD_WGRAD:
    case SEGMENT_HEAD_PRE_BACKWARD:
        return GRAPH_ITERATION;
    case SEGMENT_ROUTER:
    case SEGMENT_ROUTER_BACKWARD:
        return GRAPH_ROUTER;
    case SEGMENT_EXPERTS:
    case SEGMENT_EXPERTS_POST:
    case SEGMENT_EXPERTS_POST_BACKWARD:
    case SEGMENT_EXPERTS_BACKWARD:
    case SEGMENT_EXPERTS_WGRAD:
    case SEGMENT_SELECTIVE_RECOMPUTE_EXPERTS:
        return GRAPH_EXPERTS;
    case SEGMENT_MLP_PRE:
    case SEGMENT_MLP:
    case SEGMENT_MLP_POST:
    case SEGMENT_MLP_POST_BACKWARD:
    case SEGMENT_MLP_INNER_BACKWARD:
    case SEGMENT_MLP_INNER_WGRAD:
    case SEGMENT_MLP_DGRAD:
    case SEGMENT_MLP_WGRAD:
    case SEGMENT_MLP_PRE_BACKWARD:
    case SEGMENT_SHARED:
    case SEGMENT_SHARED_INNER_BACKWARD:
    case SEGMENT_SHARED_INNER_WGRAD:
    case SEGMENT_SHARED_DGRAD:
    case SEGMENT_SHARED_WGRAD:
        return GRAPH_MLP;
    case SEGMENT_SELECTIVE_RECOMPUTE:
    case SEGMENT_MTP:
    case SEGMENT_MTP_BACKWARD:
    case SEGMENT_MTP_WGRAD:
        return GRAPH_LAYERS;
    default:
        return GRAPH_ATTENTION;
    }
}

struct timing_runner timing_runner_in(const struct timing_runner *runner, enum segment_kind kind)
{
    struct timing_runner in = *runner;
    in.is_replayed = software_captures(runner->software, graph_of(kind));
    return in;
}

/* Kernels of a few microseconds that plan/cost does not list. */
static int64_t launches_beside(const struct software *software, enum segment_kind kind)
{
    const bool routes = kind == SEGMENT_ROUTER || kind == SEGMENT_ROUTER_BACKWARD;
    return routes ? software->expert_launches : 0;
}

/* The host waits for the GPU in front of the experts: dropless, it reads how many tokens each has.
 * With a capacity, or where experts are in a graph, all sizes are known. */
static bool reads_the_routers_choice(const struct timing_runner *runner, enum segment_kind kind)
{
    return kind == SEGMENT_ROUTER && !software_captures(runner->software, GRAPH_EXPERTS) &&
           !runner->knows_rows;
}

/* Kernels of a segment, as they are launched. */
struct launcher {
    int64_t per_kernel_ns, per_tensor_ns, per_product_ns;
    struct work *work;
};

/* What the host prepares beside the launch: the tensors of each expert, or one product. */
static int64_t preparation_ns(const struct launcher *launcher, const struct kernel *kernel)
{
    if (kernel->tensors > 0) {
        return kernel->tensors * launcher->per_tensor_ns;
    }
    return kernel->kind == KERNEL_GEMM ? launcher->per_product_ns : 0;
}

static void launch_kernels(const struct launcher *launcher, int64_t launches, int64_t busy_ns,
                           int64_t gaps_ns, int64_t prepared_ns)
{
    struct work *work = launcher->work;
    work->busy_ns += busy_ns;
    work->launch_ns += gaps_ns;
    launch_burst_add(&work->burst, launches, busy_ns + gaps_ns,
                     launches * launcher->per_kernel_ns + prepared_ns);
}

static void launch_all(const struct timing_runner *runner, enum segment_kind kind,
                       const struct segment *segment, const struct launcher *launcher)
{
    for (uint32_t i = 0; i < segment->count; i++) {
        const struct kernel *kernel = &segment->kernels[i];
        const struct kernel_time time = timing_kernel(runner, kernel);
        const int64_t repeats = kernel->repeats > 0 ? kernel->repeats : 1;
        launch_kernels(launcher, (kernel->launches > 0 ? kernel->launches : 1) * repeats,
                       sim_time_from_s(time.busy_s), sim_time_from_s(time.launch_s),
                       preparation_ns(launcher, kernel) * repeats);
        launcher->work->amount.flop += kernel->flop; /* of all chunks */
        launcher->work->amount.bytes += kernel->bytes;
    }
    const int64_t beside = launches_beside(runner->software, kind);
    if (beside > 0) {
        launch_kernels(launcher, beside, 0, beside * sim_time_from_s(gap_s(runner)), 0);
    }
}

struct work timing_segment(const struct timing_runner *runner, enum segment_kind kind,
                           const struct segment *segment)
{
    const struct software *software = runner->software;
    const struct timing_runner in = timing_runner_in(runner, kind);
    const bool is_in_graph = in.is_replayed;
    struct work work = {.busy_ns = 0};
    const struct launcher launcher = {
        .per_kernel_ns = is_in_graph ? 0 : sim_time_from_s(software->host_per_kernel_s),
        .per_tensor_ns = is_in_graph ? 0 : sim_time_from_s(software->expert_tensor_s),
        .per_product_ns = is_in_graph ? 0 : sim_time_from_s(software->host_per_product_s),
        .work = &work,
    };
    if (segment->count == 0) {
        return work;
    }
    work.amount.segments = kind < SEGMENT_COUNT_ ? UINT64_C(1) << kind : 0;
    launch_all(&in, kind, segment, &launcher);
    if (is_in_graph) {
        work.burst.launches = 1;
    }
    if (software->is_blocking) {
        work.launch_ns += work.burst.host_ns;
        work.burst = (struct launch_burst){0};
    }
    if (kind == SEGMENT_ROUTER) {
        work.launch_ns += sim_time_from_s(software->expert_synchronisation_s);
    }
    work.drains = reads_the_routers_choice(runner, kind);
    return work;
}

struct cost_shape timing_shape(const struct scenario *scenario, uint32_t kind)
{
    const struct model *model = &scenario->model;
    const struct parallel *parallel = &scenario->parallel;
    const struct routing_job router = routing_job_of(scenario);
    const struct routing_load routing = routing_of(&router);
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
        .lora_drops = scenario->lora.dropout > 0.0,
        .gradient_bytes = state_bytes((enum state_format)scenario->optimizer.gradients),
        .transposes_fp8 = scenario->gpu.transposes_fp8,
    };
}

struct work timing_work(const struct timing *timing, uint32_t kind, enum segment_kind segment)
{
    sim_assert(kind < LAYER_KINDS_MAX && segment < SEGMENT_COUNT_);
    return timing->segments[kind][segment];
}

void timing_init(const struct timing_runner *runner, const struct cost_shape *shape,
                 struct timing *timing)
{
    *timing = (struct timing){.runner = *runner};
    struct cost_shape of_kind = *shape;
    for (uint32_t kind = 0; kind < shape->model->kind_count; kind++) {
        of_kind.layer = &shape->model->kinds[kind];
        for (uint32_t i = 0; i < SEGMENT_COUNT_; i++) {
            struct segment segment;
            cost_segment(&of_kind, (enum segment_kind)i, &segment);
            timing->segments[kind][i] =
                timing_segment(&timing->runner, (enum segment_kind)i, &segment);
        }
    }
}

struct work timing_optimizer(const struct timing_runner *runner, const struct optimizer *optimizer,
                             double parameters)
{
    struct segment segment;
    cost_optimizer(parameters, optimizer, runner->precision,
                   (enum update_kind)runner->software->update, &segment);
    return timing_segment(runner, SEGMENT_COUNT_, &segment);
}

struct work timing_memory_pass(const struct timing_runner *runner, double bytes)
{
    struct segment segment;
    segment.count = 1;
    segment.kernels[0] = (struct kernel){.name = "pass", .kind = KERNEL_MEMORY, .bytes = bytes};
    return timing_segment(runner, SEGMENT_COUNT_, &segment);
}
