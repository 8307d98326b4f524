/* Two all-to-alls for a reduction, the second behind the first; kernels of quantization are passes
 * over memory.
 */
#include "train/program/program_zeropp.h"

#include "base/check.h"
#include "input/job/parallel.h"

/* A scale in fp32 for each block. */
static double scale_bytes(const struct software *software)
{
    return (double)precision_bytes(PRECISION_FP32) / (double)software->fsdp_quantized_block;
}

double zeropp_weight_bytes(const struct software *software)
{
    return 1.0 + scale_bytes(software);
}

double zeropp_gradient_bytes(const struct software *software)
{
    return 0.5 + scale_bytes(software);
}

static void pass(struct builder *builder, double bytes)
{
    builder_work(builder, CAUSE_COMPUTE,
                 timing_memory_pass(&builder->context->timing->runner, bytes));
}

void zeropp_unpack(struct builder *builder, double parameters, uint32_t ranks)
{
    if (builder->job->parallel->has_quantized_weights && ranks > 1 && parameters > 0) {
        const double moved =
            builder_element_bytes(builder) + zeropp_weight_bytes(builder->job->software);
        pass(builder, parameters * moved * (1.0 + 1.0 / (double)ranks));
    }
}

bool zeropp_reduces(const struct builder *builder)
{
    return builder->job->parallel->has_quantized_gradients;
}

/* Quantized: read, written; of the local group's pieces: read, summed, a piece written; of the
 * others' sums of that piece: read, summed, the gradient written. */
static void quantize_gradients(struct builder *builder, double parameters, double sent)
{
    const double gradient = builder_gradient_bytes(builder);
    const double pieces = (double)builder->context->local.ranks;
    pass(builder, parameters * (gradient + 2 * sent + (2 * sent + gradient) / pieces));
}

void zeropp_reduce(struct builder *builder, double parameters, uint32_t calls)
{
    const struct program_context *context = builder->context;
    const struct software *software = builder->job->software;
    const double sent = zeropp_gradient_bytes(software);
    sim_assert(zeropp_reduces(builder));
    if (parameters <= 0 || context->data.ranks == 1) {
        return;
    }
    quantize_gradients(builder, parameters, sent);
    struct transfer_wish wish = {.operation = COLLECTIVE_ALL_TO_ALL,
                                 .bytes = parameters * sent,
                                 .per_call_s = software->fsdp_per_call_s,
                                 .calls = calls};
    builder_collective_wish(builder, STREAM_LOCAL_REDUCE, &context->local, &wish,
                            (struct task_wait){0, 0});
    wish.bytes /= (double)context->local.ranks;
    builder_collective_wish(
        builder, STREAM_ACROSS_REDUCE, &context->across, &wish,
        (struct task_wait){STREAM_LOCAL_REDUCE, builder_emitted(builder, STREAM_LOCAL_REDUCE)});
}

void zeropp_wait(struct builder *builder)
{
    builder_need(builder, STREAM_LOCAL_REDUCE);
    builder_need(builder, STREAM_ACROSS_REDUCE);
}
