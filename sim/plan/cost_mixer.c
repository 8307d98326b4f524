/* One function a kind of operator; counts are exact integers. Cost O(operators). */
#include "plan/cost_mixer.h"

#include "base/check.h"

/* FLOPs a number of the state; see the header. */
static const double rule_flop[SCAN_RULE_COUNT_] = {
    [SCAN_STATE_SPACE] = 7, [SCAN_LINEAR] = 5, [SCAN_DELTA] = 8};

/* ---- parameters -------------------------------------------------------------------------- */

/* Those of a tensor with heads are cut with it. */
static void add(struct layer_count *count, bool is_cut, int64_t parameters)
{
    if (is_cut) {
        count->split += parameters;
    } else {
        count->replicated += parameters;
    }
}

int64_t cost_mixer_weights(const struct mixer *mixer)
{
    int64_t weights = 0;
    for (uint32_t i = 0; i < mixer->operator_count; i++) {
        const struct mixer_operator *op = &mixer->operators[i];
        weights += op->kind == OPERATOR_PROJECTION ? mixer_weights(mixer, op) : 0;
    }
    return weights;
}

int64_t cost_mixer_detached_weights(const struct mixer *mixer)
{
    int64_t weights = 0;
    for (uint32_t i = 0; i < mixer->operator_count; i++) {
        const struct mixer_operator *op = &mixer->operators[i];
        weights += op->is_detached ? mixer_weights(mixer, op) : 0;
    }
    return weights;
}

static void count_projection(const struct mixer *mixer, const struct mixer_operator *op,
                             struct layer_count *count)
{
    const struct mixer_tensor *input = mixer_read(mixer, op, 0);
    const int64_t in = mixer_inputs(mixer, op);
    for (uint32_t i = 0; i < op->writes.count; i++) {
        const struct mixer_tensor *written = &mixer->tensors[op->writes.tensors[i]];
        const int64_t out = mixer_width(written);
        add(count, written->heads > 0 || input->heads > 0, in * out);
        add(count, written->heads > 0, op->has_bias ? out : 0);
    }
}

static void count_convolution(const struct mixer *mixer, const struct mixer_operator *op,
                              struct layer_count *count)
{
    for (uint32_t i = 0; i < op->reads.count; i++) {
        const struct mixer_tensor *tensor = mixer_read(mixer, op, i);
        add(count, tensor->heads > 0, mixer_width(tensor) * (op->width + (op->has_bias ? 1 : 0)));
    }
}

static void count_norm(const struct model *model, const struct mixer *mixer,
                       const struct mixer_operator *op, struct layer_count *count)
{
    const int64_t vectors = cost_norm_vectors(model);
    for (uint32_t i = 0; i < mixer_changed(op) && !op->is_bare; i++) {
        const struct mixer_tensor *tensor = mixer_read(mixer, op, i);
        const bool is_cut = op->has_each_head && tensor->heads > 0;
        add(count, is_cut, vectors * (is_cut ? mixer_width(tensor) : tensor->dim));
    }
}

static void count_operator(const struct model *model, const struct mixer *mixer,
                           const struct mixer_operator *op, struct layer_count *count)
{
    switch ((enum operator_kind)op->kind) {
    case OPERATOR_PROJECTION:
        count_projection(mixer, op, count);
        return;
    case OPERATOR_CONVOLUTION:
        count_convolution(mixer, op, count);
        return;
    case OPERATOR_NORM:
        count_norm(model, mixer, op, count);
        return;
    case OPERATOR_SCAN:
        count->split += op->head_parameters * mixer_read(mixer, op, 2)->heads;
        return;
    case OPERATOR_ROTARY:
    case OPERATOR_ACTIVATION:
    case OPERATOR_GATE:
    case OPERATOR_JOIN:
    case OPERATOR_INDEX:
    case OPERATOR_ATTENTION:
    case OPERATOR_KIND_COUNT_:
        return;
    }
}

void cost_mixer_count(const struct model *model, const struct mixer *mixer, struct ledger *ledger,
                      struct layer_count *count)
{
    for (uint32_t i = 0; i < mixer->operator_count; i++) {
        const struct mixer_operator *op = &mixer->operators[i];
        struct layer_count own = {0};
        count_operator(model, mixer, op, &own);
        if (own.split + own.replicated > 0) {
            LEDGER_COUNT(ledger, ledger_text(ledger, "%s, %s", mixer->name, op->name), "",
                         own.split + own.replicated, LEDGER_TERM(own.split, "cut by tp"),
                         LEDGER_TERM(own.replicated, "on all ranks"));
        }
        count->split += own.split;
        count->replicated += own.replicated;
    }
}

struct layer_tensors cost_mixer_tensors(const struct model *model, const struct mixer *mixer)
{
    const int64_t norm = cost_norm_vectors(model);
    struct layer_tensors count = {0, 0};
    for (uint32_t i = 0; i < mixer->operator_count; i++) {
        const struct mixer_operator *op = &mixer->operators[i];
        const bool has_matrix = op->kind == OPERATOR_PROJECTION || op->kind == OPERATOR_CONVOLUTION;
        count.matrices += has_matrix ? 1 : 0;
        count.vectors += op->has_bias ? 1 : 0;
        count.vectors += op->kind == OPERATOR_NORM && !op->is_bare ? norm * mixer_changed(op) : 0;
        count.vectors += op->head_parameters > 0 ? 1 : 0;
    }
    return count;
}

/* ---- FLOPs ------------------------------------------------------------------------------- */

static double state_numbers(const struct mixer *mixer, const struct mixer_operator *op)
{
    const struct mixer_tensor *value = mixer_read(mixer, op, 2);
    return (double)(mixer_read(mixer, op, 1)->dim * mixer_width(value));
}

double cost_mixer_scan_flop(const struct mixer *mixer, double layers, struct ledger *ledger)
{
    double flop = 0;
    for (uint32_t i = 0; i < mixer->operator_count; i++) {
        const struct mixer_operator *op = &mixer->operators[i];
        const char *label = ledger_text(ledger, "%s, %s", mixer->name, op->name);
        if (op->kind == OPERATOR_SCAN) {
            const double numbers = state_numbers(mixer, op);
            const double rule = rule_flop[op->rule];
            flop += LEDGER_SUM(ledger, label, "GFLOP/token", layers * numbers * rule,
                               LEDGER_TERM(layers, "layers"), LEDGER_TERM(numbers, "of state"),
                               LEDGER_TERM(rule, "FLOP each"));
        } else if (op->kind == OPERATOR_CONVOLUTION) {
            const double values = (double)mixer_list_width(mixer, &op->reads);
            const double width = (double)op->width;
            flop += LEDGER_SUM(ledger, label, "GFLOP/token", layers * 2.0 * values * width,
                               LEDGER_TERM(layers, "layers"), LEDGER_TERM(values, "values"),
                               LEDGER_TERM(width, "wide"));
        }
    }
    return flop;
}

struct index_flop cost_mixer_index_flop(const struct mixer *mixer, double layers, double keys,
                                        double chosen, struct ledger *ledger)
{
    const struct mixer_operator *op = mixer->index;
    const double weights = (double)cost_mixer_detached_weights(mixer);
    const double width = (double)mixer_width(mixer_read(mixer, op, 0));
    const double learned = op->loss == INDEX_LOSS_DENSE ? keys : chosen;
    struct index_flop flop = {0};
    flop.forward = LEDGER_SUM(ledger, ledger_text(ledger, "%s, %s", mixer->name, op->name),
                              "GFLOP/token", layers * 2.0 * (weights + width * keys),
                              LEDGER_TERM(layers, "layers"), LEDGER_TERM(weights, "weights"),
                              LEDGER_TERM(width, "wide"), LEDGER_TERM(keys, "keys"));
    const double loss = LEDGER_SUM(
        ledger, ledger_text(ledger, "%s, loss of %s", mixer->name, op->name), "GFLOP/token",
        layers * 2.0 * (weights + 2.0 * width * learned), LEDGER_TERM(layers, "layers"),
        LEDGER_TERM(weights, "weights"), LEDGER_TERM(width, "wide"), LEDGER_TERM(learned, "keys"));
    flop.train =
        LEDGER_SUM(ledger, ledger_text(ledger, "%s, both", mixer->name), "GFLOP/token",
                   flop.forward + loss, LEDGER_TERM(flop.forward, "G"), LEDGER_TERM(loss, "G"));
    return flop;
}
