/* One function a kind of operator and direction; walks over the list of operators. See the header.
 */
#include "plan/kernels/kernels_mixer.h"

#include "plan/kernels/kernels_attention.h"
#include "plan/kernels/kernels_index.h"
#include "plan/kernels/kernels_parts.h"

#include "base/check.h"

static const struct mixer *mixer_of(const struct kernel_list *list)
{
    return list->shape->layer->mixer;
}

/* ---- sizes on this rank ------------------------------------------------------------------ */

static bool is_cut(const struct mixer_tensor *tensor)
{
    return tensor->heads > 0;
}

/* Tokens whose values of a tensor this rank has. */
static int64_t rows_of(const struct kernel_list *list, const struct mixer_tensor *tensor)
{
    return is_cut(tensor) || tensor->is_of_index ? list->tokens : list->tokens_outside;
}

static double tensor_values(const struct kernel_list *list, const struct mixer_tensor *tensor)
{
    return parts_values(rows_of(list, tensor), mixer_share(tensor, list->shape->tp));
}

static double list_values(const struct kernel_list *list, const struct mixer_list *tensors)
{
    double values = 0;
    for (uint32_t i = 0; i < tensors->count; i++) {
        values += tensor_values(list, &mixer_of(list)->tensors[tensors->tensors[i]]);
    }
    return values;
}

/* ---- who reads what ---------------------------------------------------------------------- */

/* An index and what projects for it alone give what they read none. */
static bool passes_gradient(const struct mixer_operator *op)
{
    return !op->is_detached;
}

/* Another operator behind it reads the same values of the tensor: gradients of both are added. */
static bool is_read_again(const struct mixer *mixer, uint32_t index, uint32_t tensor)
{
    if (mixer_changes(&mixer->operators[index], tensor)) {
        return false;
    }
    for (uint32_t i = index + 1; i < mixer->operator_count; i++) {
        const struct mixer_operator *op = &mixer->operators[i];
        if (mixer_place(op, tensor) < op->reads.count && passes_gradient(op)) {
            return true;
        }
        if (mixer_changes(&mixer->operators[i], tensor)) {
            return false;
        }
    }
    return false;
}

static bool is_normed_before(const struct mixer *mixer, uint32_t index, uint32_t tensor)
{
    bool is_normed = tensor == MIXER_INPUT;
    for (uint32_t i = 0; i < index; i++) {
        if (mixer_changes(&mixer->operators[i], tensor)) {
            is_normed = mixer->operators[i].kind == OPERATOR_NORM;
        }
    }
    return is_normed;
}

/* ---- projections ------------------------------------------------------------------------- */

static struct weight_matrix matrix_of(const struct kernel_list *list, uint32_t index)
{
    const struct mixer *mixer = mixer_of(list);
    const struct mixer_operator *op = &mixer->operators[index];
    const bool is_normed = is_normed_before(mixer, index, op->reads.tensors[0]);
    const int64_t in = mixer_share(mixer_read(mixer, op, 0), list->shape->tp);
    const int64_t out = mixer_list_share(mixer, &op->writes, list->shape->tp);
    return (struct weight_matrix){
        .out = op->has_each_head ? mixer_head_out(mixer, op) : out,
        .in = op->has_each_head ? mixer_head_in(mixer, op) : in,
        .count = op->has_each_head ? in / mixer_head_in(mixer, op) : 1,
        .forward = op->names.forward,
        .dgrad = op->names.dgrad,
        .wgrad = op->names.wgrad,
        .input = is_normed ? OPERAND_FROM_NORM : OPERAND_FROM_OTHERS,
        .gathers_input = mixer_reads_input(op) && (!mixer_is_whole(mixer, op) || op->is_detached),
        .gathers_gradient = mixer_writes_output(op),
    };
}

static enum lora_target target_of(const struct mixer_operator *op)
{
    return mixer_writes_output(op) ? LORA_PROJECTION : LORA_QKV;
}

/* Whole results of whole tensors are made of a rank's own tokens. */
static void set_rows(struct kernel_list *list, const struct mixer_operator *op)
{
    const struct mixer *mixer = mixer_of(list);
    const bool is_outside =
        mixer_is_whole(mixer, op) && !is_cut(mixer_read(mixer, op, 0)) && !op->is_detached;
    list->rows = is_outside ? list->tokens_outside : list->tokens;
}

static double written_values(const struct kernel_list *list, const struct mixer_operator *op)
{
    return parts_values(list->rows, mixer_list_share(mixer_of(list), &op->writes, list->shape->tp));
}

static void projection_forward(struct kernel_list *list, uint32_t index)
{
    const struct mixer_operator *op = &mixer_of(list)->operators[index];
    set_rows(list, op);
    parts_forward(list, matrix_of(list, index), target_of(op));
    if (op->has_bias && !mixer_writes_output(op) && !list->shape->software->fuses_qkv_bias) {
        kernel_list_pass(list, written_values(list, op), (struct pass){op->names.bias, 2, 0});
    }
    list->rows = list->tokens;
}

/* Before the products: gradients of several tensors are joined, and summed for the bias. */
static void projection_join(struct kernel_list *list, uint32_t index)
{
    const struct mixer_operator *op = &mixer_of(list)->operators[index];
    set_rows(list, op);
    if (op->writes.count > 1) {
        kernel_list_pass(list, written_values(list, op), (struct pass){op->names.layout, 2, 0});
    }
    if (op->has_bias && !mixer_writes_output(op) && !parts_is_frozen(list)) {
        kernel_list_pass(list, written_values(list, op),
                         (struct pass){op->names.bias_gradient, 1, 0});
    }
    list->rows = list->tokens;
}

static void add_gradients(struct kernel_list *list, uint32_t index)
{
    const struct mixer *mixer = mixer_of(list);
    const struct mixer_operator *op = &mixer->operators[index];
    for (uint32_t i = 0; i < op->reads.count; i++) {
        if (is_read_again(mixer, index, op->reads.tensors[i])) {
            const double values = mixer_reads_input(op)
                                      ? parts_values(list->rows, list->hidden)
                                      : tensor_values(list, mixer_read(mixer, op, i));
            kernel_list_pass(list, values, (struct pass){op->names.add, 3, 0});
        }
    }
}

static void projection_dgrad(struct kernel_list *list, uint32_t index)
{
    const struct mixer_operator *op = &mixer_of(list)->operators[index];
    if (op->is_detached) {
        return;
    }
    set_rows(list, op);
    parts_dgrad(list, matrix_of(list, index), target_of(op));
    add_gradients(list, index);
    list->rows = list->tokens;
}

static void projection_wgrad(struct kernel_list *list, uint32_t index)
{
    const struct mixer_operator *op = &mixer_of(list)->operators[index];
    set_rows(list, op);
    parts_wgrad(list, matrix_of(list, index), target_of(op));
    list->rows = list->tokens;
}

/* ---- scans ------------------------------------------------------------------------------- */

/* Of one token and head of values. */
struct scan_work {
    double flop, values;
    double state; /* of which the states: numbers a chunk, a token's share of them */
};

static int64_t heads_of(const struct kernel_list *list, const struct mixer_tensor *tensor)
{
    return mixer_share(tensor, list->shape->tp) / tensor->dim;
}

/* `groups`: heads of keys on this rank, some of them copies, to a head of values. */
static struct scan_work scan_work_of(const struct mixer *mixer, const struct mixer_operator *op,
                                     double groups)
{
    const double c = (double)op->chunk;
    const double k = (double)mixer_read(mixer, op, 1)->dim;
    const double v = (double)mixer_read(mixer, op, 2)->dim;
    const struct scan_work works[SCAN_RULE_COUNT_] = {
        [SCAN_STATE_SPACE] = {2 * c * k * groups + 2 * c * v + 4 * k * v,
                              2 * k * groups + 3 * v + 2 * k * v / c, 2 * k * v},
        [SCAN_LINEAR] = {2 * c * k + 2 * c * v + 4 * k * v, 3 * k + 3 * v + 2 * k * v / c,
                         2 * k * v},
        [SCAN_DELTA] = {c * (6 * k + 4 * v) + 6 * k * v + 2 * c * c / 3,
                        7 * k + 6 * v + 2 * k * v / c + 6 * c, 4 * k * v},
    };
    struct scan_work work = works[op->rule];
    for (uint32_t i = 3; i < op->reads.count; i++) {
        work.values += mixer_read(mixer, op, i)->dim > 1 ? 4 * k : 1;
    }
    return work;
}

/* Its backward pass has the states once more and two products for each. */
static void scan(struct kernel_list *list, const struct mixer_operator *op, bool is_backward)
{
    const struct mixer *mixer = mixer_of(list);
    const struct mixer_tensor *value = mixer_read(mixer, op, 2);
    const int64_t heads = heads_of(list, value);
    const double groups = (double)heads_of(list, mixer_read(mixer, op, 1)) / (double)heads;
    const struct scan_work work = scan_work_of(mixer, op, groups);
    const double count = (double)heads * (double)list->tokens;
    struct kernel *kernel =
        kernel_list_add(list, is_backward ? op->names.backward : op->names.forward, KERNEL_SCAN);
    kernel->is_backward = is_backward;
    kernel->m = list->tokens;
    kernel->n = value->dim;
    kernel->k = mixer_read(mixer, op, 1)->dim;
    kernel->count = heads;
    kernel->length = op->chunk;
    kernel->rule = (enum scan_rule)op->rule;
    kernel->is_wide = op->reads.count > 3 && mixer_read(mixer, op, 3)->dim > 1;
    kernel->precision = precision_outside(list->shape->precision);
    kernel->flop = count * (is_backward ? 2 * work.flop + work.state : work.flop);
    kernel->bytes = count * (is_backward ? 3 * work.values : work.values) * list->element_bytes;
}

/* ---- operators --------------------------------------------------------------------------- */

static void norm_forward(struct kernel_list *list, const struct mixer_operator *op)
{
    if (!op->is_gated) {
        parts_norm(list, list_values(list, &op->reads));
        return;
    }
    const double values = tensor_values(list, mixer_read(mixer_of(list), op, 0));
    if (!list->shape->software->fuses_norm) {
        parts_norm(list, values);
    }
    kernel_list_pass(list, values, (struct pass){op->names.forward, 3, 0});
}

static void norm_backward(struct kernel_list *list, const struct mixer_operator *op)
{
    if (!op->is_gated) {
        parts_norm_backward(list, list_values(list, &op->reads));
        return;
    }
    const double values = tensor_values(list, mixer_read(mixer_of(list), op, 0));
    kernel_list_pass(list, values, (struct pass){op->names.backward, 5, 0});
    if (!list->shape->software->fuses_norm) {
        parts_norm_backward(list, values);
    }
}

/* Parts are read, and written side by side; gradients the other way round. */
static void join(struct kernel_list *list, const struct mixer_operator *op, const char *name)
{
    const struct mixer_tensor *result = &mixer_of(list)->tensors[op->writes.tensors[0]];
    kernel_list_pass(list, tensor_values(list, result), (struct pass){name, 2, 0});
}

static void forward(struct kernel_list *list, uint32_t index)
{
    const struct mixer_operator *op = &mixer_of(list)->operators[index];
    const struct mixer_tensor *first = mixer_read(mixer_of(list), op, 0);
    switch ((enum operator_kind)op->kind) {
    case OPERATOR_PROJECTION:
        projection_forward(list, index);
        return;
    case OPERATOR_CONVOLUTION:
    case OPERATOR_ACTIVATION:
        kernel_list_pass(list, list_values(list, &op->reads),
                         (struct pass){op->names.forward, 2, 0});
        return;
    case OPERATOR_NORM:
        norm_forward(list, op);
        return;
    case OPERATOR_ROTARY:
        attention_rotary(list, list_values(list, &op->reads), op->names.forward);
        return;
    case OPERATOR_GATE:
        kernel_list_pass(list, tensor_values(list, first), (struct pass){op->names.forward, 3, 0});
        return;
    case OPERATOR_JOIN:
        join(list, op, op->names.forward);
        return;
    case OPERATOR_INDEX:
        index_forward(list, op);
        return;
    case OPERATOR_ATTENTION:
        attention_core(list);
        return;
    case OPERATOR_SCAN:
        scan(list, op, false);
        return;
    case OPERATOR_KIND_COUNT_:
        break;
    }
    sim_assert(false);
}

/* Input gradients; of projections of the layer's input only what comes before their products. */
static void backward(struct kernel_list *list, uint32_t index)
{
    const struct mixer_operator *op = &mixer_of(list)->operators[index];
    const struct mixer_tensor *first = mixer_read(mixer_of(list), op, 0);
    switch ((enum operator_kind)op->kind) {
    case OPERATOR_PROJECTION:
        projection_join(list, index);
        if (!mixer_reads_input(op)) {
            projection_dgrad(list, index);
        }
        return;
    case OPERATOR_CONVOLUTION:
    case OPERATOR_ACTIVATION:
        kernel_list_pass(list, list_values(list, &op->reads),
                         (struct pass){op->names.backward, 3, 0});
        return;
    case OPERATOR_NORM:
        norm_backward(list, op);
        break;
    case OPERATOR_ROTARY:
        attention_rotary(list, list_values(list, &op->reads), op->names.backward);
        return;
    case OPERATOR_GATE:
        kernel_list_pass(list, tensor_values(list, first), (struct pass){op->names.backward, 5, 0});
        break;
    case OPERATOR_JOIN:
        join(list, op, op->names.backward);
        break;
    case OPERATOR_INDEX:
        index_backward(list, op);
        return;
    case OPERATOR_ATTENTION:
        attention_core_backward(list);
        break;
    case OPERATOR_SCAN:
        scan(list, op, true);
        break;
    case OPERATOR_KIND_COUNT_:
        sim_assert(false);
        return;
    }
    add_gradients(list, index);
}

static void forwards(struct kernel_list *list, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        forward(list, i);
    }
}

static void backwards(struct kernel_list *list, uint32_t first, uint32_t end)
{
    for (uint32_t i = end; i-- > first;) {
        backward(list, i);
    }
}

/* ---- segments ---------------------------------------------------------------------------- */

void mixer_before(struct kernel_list *list)
{
    forwards(list, 0, mixer_of(list)->core_first);
}

void mixer_core(struct kernel_list *list)
{
    forwards(list, mixer_of(list)->core_first, mixer_of(list)->core_end);
}

/* Results of several projections are added up. */
void mixer_after(struct kernel_list *list)
{
    const struct mixer *mixer = mixer_of(list);
    bool has_output = false;
    for (uint32_t i = mixer->core_end; i < mixer->operator_count; i++) {
        const struct mixer_operator *op = &mixer->operators[i];
        forward(list, i);
        if (mixer_writes_output(op) && has_output) {
            kernel_list_pass(list, parts_values(list->tokens, list->hidden),
                             (struct pass){"branch add", 3, 0});
        }
        has_output = has_output || mixer_writes_output(op);
    }
}

void mixer_after_backward(struct kernel_list *list)
{
    backwards(list, mixer_of(list)->core_end, mixer_of(list)->operator_count);
}

void mixer_core_backward(struct kernel_list *list)
{
    backwards(list, mixer_of(list)->core_first, mixer_of(list)->core_end);
}

void mixer_before_backward(struct kernel_list *list)
{
    backwards(list, 0, mixer_of(list)->core_first);
}

/* Of the projections that read the layer's input, or of the others, from the last to the first. */
void mixer_dgrad(struct kernel_list *list)
{
    for (uint32_t i = mixer_of(list)->operator_count; i-- > 0;) {
        if (mixer_reads_input(&mixer_of(list)->operators[i])) {
            projection_dgrad(list, i);
        }
    }
}

static bool is_after(const struct mixer *mixer, uint32_t index)
{
    return index >= mixer->core_end && !mixer_reads_input(&mixer->operators[index]);
}

static void wgrads(struct kernel_list *list, bool after)
{
    const struct mixer *mixer = mixer_of(list);
    for (uint32_t i = mixer->operator_count; i-- > 0;) {
        if (mixer->operators[i].kind == OPERATOR_PROJECTION && is_after(mixer, i) == after) {
            projection_wgrad(list, i);
        }
    }
}

void mixer_after_wgrad(struct kernel_list *list)
{
    wgrads(list, true);
}

void mixer_wgrad(struct kernel_list *list)
{
    wgrads(list, false);
}

bool mixer_has_output_bias(const struct mixer *mixer)
{
    for (uint32_t i = 0; i < mixer->operator_count; i++) {
        const struct mixer_operator *op = &mixer->operators[i];
        if (mixer_writes_output(op) && op->has_bias) {
            return true;
        }
    }
    return false;
}
