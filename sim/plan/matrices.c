/* Shapes follow plan/cost.c; a test adds them up to its parameters. Cost: of a stage O(layers), of
 * dealing O(matrices x kinds of them).
 */
#include "plan/matrices.h"

#include "base/check.h"
#include "input/job/optimizer.h"

#include <math.h>

/* ---- of a layer --------------------------------------------------------------------------- */

struct finder {
    const struct matrix_split *split;
    const struct matrix_rule *rule;
    struct matrices *found;
};

static bool is_same(const struct matrix *a, const struct matrix *b)
{
    return a->rows == b->rows && a->columns == b->columns && a->is_expert == b->is_expert &&
           a->is_gathered == b->is_gathered && fabs(a->elements - b->elements) <= 0;
}

static void add(struct matrices *found, const struct matrix *matrix)
{
    if (matrix->count == 0 || matrix->rows == 0 || matrix->columns == 0) {
        return;
    }
    uint32_t i = 0;
    while (i < found->count && !is_same(&found->items[i], matrix)) {
        i++;
    }
    sim_assert(i < MATRICES_MAX);
    if (i < found->count) {
        found->items[i].count += matrix->count;
    } else {
        found->items[found->count++] = *matrix;
    }
}

static int64_t shard(int64_t side, int64_t parts)
{
    return (side + parts - 1) / parts;
}

/* Of a whole matrix a rank's shard of so many elements, or, where it is gathered, all of it. */
static void add_shard(const struct finder *finder, struct matrix whole, int64_t rows,
                      int64_t columns, double elements)
{
    const bool is_cut = rows != whole.rows || columns != whole.columns;
    whole.elements = elements;
    whole.is_gathered = is_cut && finder->rule->cut == MATRIX_WHOLE;
    if (!whole.is_gathered) {
        whole.rows = rows;
        whole.columns = columns;
    }
    add(finder->found, &whole);
}

/* Whose rows, or columns, so many ranks share; `parts` 1: it is whole on each. */
static void add_cut(const struct finder *finder, struct matrix whole, int64_t row_parts,
                    int64_t column_parts)
{
    add_shard(finder, whole, shard(whole.rows, row_parts), shard(whole.columns, column_parts),
              (double)whole.rows * (double)whole.columns / (double)(row_parts * column_parts));
}

static void add_rows_cut(const struct finder *finder, int64_t rows, int64_t columns, int64_t parts)
{
    add_cut(finder, (struct matrix){.rows = rows, .columns = columns, .count = 1}, parts, 1);
}

static void add_columns_cut(const struct finder *finder, int64_t rows, int64_t columns,
                            int64_t parts)
{
    add_cut(finder, (struct matrix){.rows = rows, .columns = columns, .count = 1}, 1, parts);
}

static void find_attention(const struct finder *finder, const struct layer_kind *kind)
{
    const struct latent *latent = &kind->latent;
    const int64_t tp = finder->split->tp;
    const int64_t queries = kind->heads * kind->head_dim;
    const int64_t keys = kind->kv_heads * kind->head_dim;
    if (latent->kv_rank > 0) {
        add_rows_cut(finder, latent->q_rank, kind->hidden, 1);
        add_rows_cut(finder, queries, latent->q_rank > 0 ? latent->q_rank : kind->hidden, tp);
        add_rows_cut(finder, latent->kv_rank + latent->rope_dim, kind->hidden, 1);
        add_rows_cut(finder, kind->heads * (latent->nope_dim + latent->value_dim), latent->kv_rank,
                     tp);
    } else if (finder->rule->splits_qkv) {
        add_rows_cut(finder, queries, kind->hidden, tp);
        add_rows_cut(finder, keys, kind->hidden, tp);
        add_rows_cut(finder, keys, kind->hidden, tp);
    } else {
        add_rows_cut(finder, queries + 2 * keys, kind->hidden, tp);
    }
    add_columns_cut(finder, kind->hidden, kind->heads * kind->value_dim, tp);
}

/* A matrix for each of a rank's heads, whole. */
static void add_head_matrices(const struct finder *finder, const struct mixer *mixer,
                              const struct mixer_operator *op)
{
    const int64_t dim = mixer_head_in(mixer, op);
    const struct matrix own = {.rows = mixer_head_out(mixer, op),
                               .columns = dim,
                               .count =
                                   mixer_share(mixer_read(mixer, op, 0), finder->split->tp) / dim};
    add_cut(finder, own, 1, 1);
}

/* Projections of a mixer of operators, cut as their tensors are. */
static void find_projections(const struct finder *finder, const struct mixer *mixer)
{
    const int64_t tp = finder->split->tp;
    for (uint32_t i = 0; i < mixer->operator_count; i++) {
        const struct mixer_operator *op = &mixer->operators[i];
        if (op->kind != OPERATOR_PROJECTION) {
            continue;
        }
        const struct mixer_tensor *input = mixer_read(mixer, op, 0);
        if (op->has_each_head) {
            add_head_matrices(finder, mixer, op);
            continue;
        }
        const struct matrix whole = {.rows = mixer_list_width(mixer, &op->writes),
                                     .columns = mixer_width(input),
                                     .count = 1};
        const int64_t rows = mixer_list_share(mixer, &op->writes, tp);
        const int64_t columns = mixer_share(input, tp);
        add_shard(finder, whole, rows, columns, (double)rows * (double)columns);
    }
}

static int64_t first_rows(uint32_t mlp, int64_t width)
{
    return (mlp == MLP_SWIGLU ? 2 : 1) * width;
}

static void find_mlp(const struct finder *finder, int64_t hidden, uint32_t mlp, int64_t width)
{
    const int64_t tp = finder->split->tp;
    add_rows_cut(finder, first_rows(mlp, width), hidden, tp);
    add_columns_cut(finder, hidden, width, tp);
}

static void find_experts(const struct finder *finder)
{
    const struct model *model = finder->split->model;
    const int64_t parts = finder->split->etp;
    const int64_t local = finder->split->experts;
    const struct matrix first = {.rows = first_rows(model->mlp, model->expert_hidden),
                                 .columns = model->hidden,
                                 .count = local,
                                 .is_expert = true};
    const struct matrix second = {
        .rows = model->hidden, .columns = model->expert_hidden, .count = local, .is_expert = true};
    add_rows_cut(finder, model->experts, model->hidden, 1);
    find_mlp(finder, model->hidden, model->mlp, model->shared_hidden);
    add_cut(finder, first, parts, 1);
    add_cut(finder, second, 1, parts);
}

static void find_layer(const struct finder *finder, const struct layer_kind *kind)
{
    if (layer_mixes(kind) && kind->mixer != NULL) {
        find_projections(finder, kind->mixer);
    } else if (layer_mixes(kind)) {
        find_attention(finder, kind);
    }
    if (kind->has_experts) {
        find_experts(finder);
    } else if (layer_has_mlp(kind)) {
        find_mlp(finder, kind->hidden, kind->mlp, kind->ffn_hidden);
    }
    if (kind->is_mtp) {
        add_rows_cut(finder, kind->hidden, 2 * kind->hidden, finder->split->tp);
    }
}

void matrices_of_layer(const struct matrix_split *split, const struct matrix_rule *rule,
                       const struct layer_kind *kind, struct matrices *found)
{
    found->count = 0;
    find_layer(&(struct finder){split, rule, found}, kind);
}

/* ---- of a stage ---------------------------------------------------------------------------- */

void matrices_of_stage(const struct matrix_split *split, const struct matrix_rule *rule,
                       struct matrices *found)
{
    found->count = 0;
    for (uint32_t kind = 0; kind < split->model->kind_count; kind++) {
        struct matrices of = {.count = 0};
        if (split->layers[kind] == 0) {
            continue;
        }
        matrices_of_layer(split, rule, &split->model->kinds[kind], &of);
        for (uint32_t i = 0; i < of.count; i++) {
            of.items[i].count *= split->layers[kind];
            add(found, &of.items[i]);
        }
    }
}

static void sort_by_size(struct matrices *matrices)
{
    for (uint32_t i = 1; i < matrices->count; i++) {
        const struct matrix moved = matrices->items[i];
        uint32_t to = i;
        for (; to > 0 && matrices->items[to - 1].elements < moved.elements; to--) {
            matrices->items[to] = matrices->items[to - 1];
        }
        matrices->items[to] = moved;
    }
}

/* Which comes `position`-th of the experts', or of the others. */
static uint32_t item_at(const struct matrices *sorted, bool is_expert, int64_t position)
{
    uint32_t i = 0;
    for (; i < sorted->count; i++) {
        const int64_t count = sorted->items[i].is_expert == is_expert ? sorted->items[i].count : 0;
        if (position < count) {
            break;
        }
        position -= count;
    }
    return i;
}

/* A rank's own of one sort; FLOPs of their products. */
static double take_dealt(const struct finder *finder, bool is_expert, int64_t ranks, int64_t rank,
                         int64_t counts[MATRICES_MAX])
{
    const struct matrices *sorted = finder->found;
    double flop = 0;
    for (int64_t turn = 0;; turn++) {
        const int64_t place = turn % 2 == 0 ? rank : ranks - 1 - rank;
        const uint32_t item = item_at(sorted, is_expert, turn * ranks + place);
        if (item == sorted->count && item_at(sorted, is_expert, turn * ranks) == item) {
            return flop;
        }
        if (item < sorted->count) {
            counts[item]++;
            flop += matrix_flop(finder->rule, &sorted->items[item]);
        }
    }
}

/* Of one sort the busiest rank's, in the place of all. */
static void deal(const struct finder *finder, bool is_expert, int64_t ranks)
{
    struct matrices *sorted = finder->found;
    int64_t all = 0;
    for (uint32_t i = 0; i < sorted->count; i++) {
        all += sorted->items[i].is_expert == is_expert ? sorted->items[i].count : 0;
    }
    if (ranks == 1 || all == 0) {
        return;
    }
    int64_t busiest[MATRICES_MAX] = {0};
    double most = -1;
    for (int64_t rank = 0; rank < ranks && rank < all; rank++) {
        int64_t counts[MATRICES_MAX] = {0};
        const double flop = take_dealt(finder, is_expert, ranks, rank, counts);
        for (uint32_t i = 0; flop > most && i < sorted->count; i++) {
            busiest[i] = counts[i];
        }
        most = fmax(most, flop);
    }
    for (uint32_t i = 0; i < sorted->count; i++) {
        struct matrix *item = &sorted->items[i];
        item->count = item->is_expert == is_expert ? busiest[i] : item->count;
    }
}

static void drop_none(struct matrices *matrices)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < matrices->count; i++) {
        if (matrices->items[i].count > 0) {
            matrices->items[count++] = matrices->items[i];
        }
    }
    matrices->count = count;
}

void matrices_dealt(const struct matrix_split *split, const struct matrix_rule *rule,
                    struct matrices *found)
{
    matrices_of_stage(split, rule, found);
    const struct finder finder = {split, rule, found};
    sort_by_size(found);
    deal(&finder, false, split->dense_ranks);
    deal(&finder, true, split->expert_ranks);
    drop_none(found);
}

/* ---- sums ---------------------------------------------------------------------------------- */

struct matrix_elements matrices_elements(const struct matrices *matrices)
{
    struct matrix_elements sum = {0, 0};
    for (uint32_t i = 0; i < matrices->count; i++) {
        const struct matrix *matrix = &matrices->items[i];
        const double elements = matrix->elements * (double)matrix->count;
        sum.dense += matrix->is_expert ? 0 : elements;
        sum.experts += matrix->is_expert ? elements : 0;
    }
    return sum;
}

struct matrix_elements matrices_stage_elements(const struct matrix_split *split,
                                               const struct matrix_rule *rule)
{
    struct matrices all;
    matrices_of_stage(split, rule, &all);
    return matrices_elements(&all);
}

static int64_t shorter(const struct matrix *matrix)
{
    return matrix->rows < matrix->columns ? matrix->rows : matrix->columns;
}

static int64_t longer(const struct matrix *matrix)
{
    return matrix->rows < matrix->columns ? matrix->columns : matrix->rows;
}

double matrix_flop(const struct matrix_rule *rule, const struct matrix *matrix)
{
    const double m = (double)shorter(matrix);
    const double n = (double)longer(matrix);
    return (double)rule->steps * (4 * m * m * n + 2 * m * m * m);
}

double matrices_mean_flop(const struct matrix_split *split, const struct matrix_rule *rule)
{
    struct matrices all;
    matrices_of_stage(split, rule, &all);
    double flop = 0;
    for (uint32_t i = 0; i < all.count; i++) {
        const struct matrix *matrix = &all.items[i];
        flop += matrix_flop(rule, matrix) * (double)matrix->count /
                (double)(matrix->is_expert ? split->expert_ranks : split->dense_ranks);
    }
    return flop;
}

double matrices_gathered_bytes(const struct optimizer *optimizer, const struct matrices *matrices)
{
    double values = 0;
    for (uint32_t i = 0; i < matrices->count; i++) {
        const struct matrix *matrix = &matrices->items[i];
        values += matrix->is_gathered
                      ? (double)matrix->count * (double)matrix->rows * (double)matrix->columns
                      : 0;
    }
    return values * state_bytes((enum state_format)optimizer->moments);
}

/* ---- kernels -------------------------------------------------------------------------------- */

static void add_stream(struct segment *segment, const char *name, double bytes, int64_t repeats)
{
    segment->kernels[segment->count++] = (struct kernel){.name = name,
                                                         .kind = KERNEL_MEMORY,
                                                         .count = 1,
                                                         .launches = 1,
                                                         .repeats = repeats,
                                                         .bytes = bytes * (double)repeats};
}

/* m x n of k products each, `added` more values read. */
static void add_product(struct segment *segment, const char *name, const struct matrix_rule *rule,
                        struct kernel size, double added)
{
    const double m = (double)size.m, n = (double)size.n, k = (double)size.k;
    const double values = m * k + k * n + m * n + added;
    size.name = name;
    size.kind = KERNEL_GEMM;
    size.pass = GEMM_FORWARD;
    size.precision = (enum precision)rule->precision;
    size.count = size.launches = 1;
    size.flop = 2 * m * n * k * (double)size.repeats;
    size.bytes = values * (double)precision_bytes(size.precision) * (double)size.repeats;
    segment->kernels[segment->count++] = size;
}

/* Of one matrix. */
static double streamed_bytes(const struct optimizer *optimizer, double values)
{
    const struct matrix_passes *passes = &optimizer->matrices.passes;
    const double master = state_bytes((enum state_format)optimizer->master);
    return values * (passes->master * (master > 0 ? master : 4) +
                     passes->moment * state_bytes((enum state_format)optimizer->moments) +
                     passes->gradient * state_bytes((enum state_format)optimizer->gradients) +
                     passes->single * 4 + passes->half * 2);
}

void matrices_update(const struct optimizer *optimizer, const struct matrix *matrix,
                     struct segment *segment)
{
    const struct matrix_rule *rule = &optimizer->matrices;
    const int64_t m = shorter(matrix), n = longer(matrix);
    const double all = (double)m * (double)n, square = (double)m * (double)m;
    const int64_t steps = rule->steps * matrix->count;
    const double value = (double)precision_bytes((enum precision)rule->precision);
    const int64_t kernels = rule->passes.kernels;
    segment->count = 0;
    add_stream(segment, "matrix streams", streamed_bytes(optimizer, all) / (double)kernels,
               kernels * matrix->count);
    add_product(segment, "X X'", rule, (struct kernel){.m = m, .n = m, .k = n, .repeats = steps},
                0);
    add_stream(segment, "copy of A", 2 * square * value, steps);
    add_product(segment, "b A + c A A", rule,
                (struct kernel){.m = m, .n = m, .k = m, .repeats = steps}, square);
    add_stream(segment, "copy of X", 2 * all * value, steps);
    add_product(segment, "a X + B X", rule,
                (struct kernel){.m = m, .n = n, .k = m, .repeats = steps}, all);
}
