/* Appending kernels to a segment; see the header. Cost O(1) a kernel. */
#include "plan/kernel_list.h"

#include "base/check.h"

static int64_t share(int64_t whole, int64_t ranks)
{
    sim_assert(whole % ranks == 0);
    return whole / ranks;
}

static struct shard make_shard(const struct model *model, int64_t tp)
{
    struct shard shard;
    shard.heads = share(model->heads, tp);
    shard.kv_heads = model->kv_heads < tp ? 1 : share(model->kv_heads, tp);
    shard.attention_width = shard.heads * model->head_dim;
    shard.qkv_width = (shard.heads + 2 * shard.kv_heads) * model->head_dim;
    shard.vocab = share(cost_padded_vocab(model, tp), tp);
    return shard;
}

void kernel_list_init(struct kernel_list *list, const struct cost_shape *shape,
                      struct segment *segment)
{
    sim_assert(shape->tp > 0);
    sim_assert(shape->micro > 0 && shape->sequence_length > 0);
    sim_assert(shape->cp > 0 && shape->ep > 0);
    *segment = (struct segment){0};
    *list = (struct kernel_list){.shape = shape, .segment = segment};
    list->shard = make_shard(shape->model, shape->tp);
    const uint32_t gradient_precision = shape->software->gradient_precision;
    list->element_bytes = (double)precision_bytes(shape->precision);
    list->gradient_bytes = (double)precision_bytes((enum precision)gradient_precision);
    list->length = share(shape->sequence_length, shape->cp);
    list->tokens = shape->micro * list->length;
    list->tokens_outside = list->tokens;
    if (shape->is_sequence_parallel) {
        list->tokens_outside = share(list->tokens, shape->tp);
    }
    list->mlp = (struct mlp_part){list->tokens, share(shape->model->ffn_hidden, shape->tp)};
}

struct kernel *kernel_list_add(struct kernel_list *list, const char *name, enum kernel_kind kind)
{
    struct segment *segment = list->segment;
    sim_assert(segment->count < SEGMENT_KERNELS_MAX);
    struct kernel *kernel = &segment->kernels[segment->count++];
    *kernel = (struct kernel){.name = name, .kind = kind, .count = 1};
    return kernel;
}

void kernel_list_pass(struct kernel_list *list, double values, struct pass pass)
{
    struct kernel *kernel = kernel_list_add(list, pass.name, KERNEL_MEMORY);
    kernel->bytes = values * (pass.elements * list->element_bytes + pass.bytes);
    sim_assert(kernel->bytes > 0.0);
}

void kernel_list_passes(struct kernel_list *list, double values, const struct pass *passes)
{
    for (const struct pass *pass = passes; pass->name != NULL; pass++) {
        kernel_list_pass(list, values, *pass);
    }
}

struct kernel *kernel_list_product(struct kernel_list *list, const char *name, enum gemm_pass pass,
                                   struct product size)
{
    sim_assert(size.m > 0 && size.n > 0);
    sim_assert(size.k > 0 && size.count > 0);
    const double m = (double)size.m;
    const double n = (double)size.n;
    const double k = (double)size.k;
    const double count = (double)size.count;
    struct kernel *kernel = kernel_list_add(list, name, KERNEL_GEMM);
    kernel->pass = pass;
    kernel->m = size.m;
    kernel->n = size.n;
    kernel->k = size.k;
    kernel->count = size.count;
    kernel->flop = 2.0 * m * n * k * count;
    kernel->bytes = (m * k + k * n + m * n) * count * list->element_bytes;
    return kernel;
}

void kernel_list_forward(struct kernel_list *list, struct weight_matrix weight)
{
    const struct product size = {list->tokens, weight.out, weight.in, 1};
    kernel_list_product(list, weight.forward, GEMM_FORWARD, size);
}

void kernel_list_dgrad(struct kernel_list *list, struct weight_matrix weight)
{
    const struct product size = {list->tokens, weight.in, weight.out, 1};
    kernel_list_product(list, weight.dgrad, GEMM_DGRAD, size);
}

void kernel_list_wgrad(struct kernel_list *list, struct weight_matrix weight)
{
    const struct product size = {weight.out, weight.in, list->tokens, 1};
    struct kernel *kernel = kernel_list_product(list, weight.wgrad, GEMM_WGRAD, size);
    const double output_values = (double)weight.out * (double)weight.in;
    kernel->bytes += output_values * (2.0 * list->gradient_bytes - list->element_bytes);
}
