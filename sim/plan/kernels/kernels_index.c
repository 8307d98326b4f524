/* Pairs of query and key first, then one function a kernel; see the header. O(1).
 */
#include "plan/kernels/kernels_index.h"

#include "plan/kernels/kernels_parts.h"

#define SCORE_BYTES 4.0 /* and of what gradients of gathered keys are added up in */

static double seen_keys(const struct kernel_list *list)
{
    return cost_seen_keys(list->shape->layer, list->core.keys);
}

static double chosen_keys(const struct kernel_list *list)
{
    return cost_mean_keys(list->shape->layer, list->core.keys);
}

static double kv_width(const struct kernel_list *list)
{
    return (double)(list->core.kv_heads * layer_kv_dim(list->shape->layer));
}

static struct kernel *add_sparse(struct kernel_list *list, const char *name, double keys)
{
    struct kernel *kernel = kernel_list_add(list, name, KERNEL_SPARSE);
    kernel->m = list->tokens;
    kernel->length = (int64_t)keys;
    kernel->precision = precision_outside(list->shape->precision);
    return kernel;
}

/* ---- the index ---------------------------------------------------------------------------- */

void index_forward(struct kernel_list *list, const struct mixer_operator *op)
{
    const struct mixer *mixer = list->shape->layer->mixer;
    const double tokens = (double)list->tokens;
    const double width = (double)mixer_width(mixer_read(mixer, op, 0));
    const double key = (double)mixer_width(mixer_read(mixer, op, 1));
    const double heads = (double)mixer_width(mixer_read(mixer, op, 2));
    const double pairs = tokens * seen_keys(list);
    const double keys = (double)(list->shape->micro * list->core.keys);
    struct kernel *kernel = add_sparse(list, op->names.forward, seen_keys(list));
    kernel->is_index = true;
    kernel->count = (int64_t)heads;
    kernel->flop = 2.0 * width * pairs;
    kernel->bytes =
        (tokens * (width + heads) + keys * key) * list->element_bytes + pairs * SCORE_BYTES;
    kernel_list_pass(list, pairs, (struct pass){"top keys", 0, SCORE_BYTES});
}

void index_backward(struct kernel_list *list, const struct mixer_operator *op)
{
    if (parts_is_frozen(list)) {
        return;
    }
    const struct layer_kind *layer = list->shape->layer;
    const bool is_dense = op->loss == INDEX_LOSS_DENSE;
    const double learned = is_dense ? seen_keys(list) : chosen_keys(list);
    const double pairs = (double)list->tokens * learned;
    const double width = (double)mixer_width(mixer_read(layer->mixer, op, 0));
    const double key = (double)mixer_width(mixer_read(layer->mixer, op, 1));
    const double attended = (double)(list->core.heads * layer->head_dim);
    const double gathered = (double)(list->core.kv_heads * layer->head_dim) * list->element_bytes +
                            key * (list->element_bytes + SCORE_BYTES);
    struct kernel *kernel = add_sparse(list, op->names.backward, learned);
    kernel->is_index = kernel->is_backward = true;
    kernel->count = (int64_t)mixer_width(mixer_read(layer->mixer, op, 2));
    kernel->flop = 2.0 * pairs * (attended + 3.0 * width);
    kernel->bytes = pairs * (is_dense ? 2.0 * SCORE_BYTES : gathered) +
                    (double)list->tokens * 2.0 * width * list->element_bytes;
}

/* ---- attention over what it chose --------------------------------------------------------- */

static struct kernel *add_core(struct kernel_list *list, const char *name, double products)
{
    const struct layer_kind *layer = list->shape->layer;
    struct kernel *kernel = add_sparse(list, name, chosen_keys(list));
    kernel->n = layer->value_dim;
    kernel->k = layer->head_dim;
    kernel->count = list->core.heads;
    kernel->flop =
        2.0 * (double)list->tokens * (double)list->core.heads * chosen_keys(list) * products;
    return kernel;
}

static double query_values(const struct kernel_list *list)
{
    const struct layer_kind *layer = list->shape->layer;
    return parts_values(list->tokens, list->core.heads * (layer->head_dim + layer->value_dim));
}

void index_attention(struct kernel_list *list)
{
    const struct layer_kind *layer = list->shape->layer;
    struct kernel *kernel =
        add_core(list, "attention", (double)(layer->head_dim + layer->value_dim));
    const double gathered = (double)list->tokens * chosen_keys(list) * kv_width(list);
    kernel->bytes = (query_values(list) + gathered) * list->element_bytes;
}

void index_attention_backward(struct kernel_list *list)
{
    const struct layer_kind *layer = list->shape->layer;
    struct kernel *kernel =
        add_core(list, "attention backward", (double)(3 * layer->head_dim + 2 * layer->value_dim));
    const double gathered = (double)list->tokens * chosen_keys(list) * kv_width(list);
    kernel->is_backward = true;
    kernel->bytes = 2.0 * query_values(list) * list->element_bytes +
                    gathered * (list->element_bytes + SCORE_BYTES);
}
