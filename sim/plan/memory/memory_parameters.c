/* Counts the parameters on a GPU by walking over the layers of its stage's
 * pieces, and adds what lies at the two ends of the model.
 */
#include "plan/memory/memory_parameters.h"

#include "base/check.h"
#include "input/job/lora.h"
#include "input/job/parallel.h"
#include "plan/cost.h"
#include "plan/memory/memory.h"
#include "input/layout.h"

/* ---- one layer --------------------------------------------------------- */

static int64_t expert_parts(const struct parallel *parallel)
{
    return parallel->etp > 0 ? parallel->etp : parallel->tp;
}

/* Of one GPU. */
static struct memory_layer_parameters count_layer(const struct memory_split *split,
                                                  const struct layer_kind *kind,
                                                  struct ledger *ledger)
{
    const struct parallel *parallel = split->parallel;
    const struct model *model = split->model;
    const struct layer_count count = cost_layer(model, kind);
    const double copies = (double)split->expert_copies;
    const double parts = (double)expert_parts(parallel);
    struct memory_layer_parameters of = {0, 0};
    of.dense = LEDGER_SUM(ledger, ledger_text(ledger, "a layer (%s)", kind->name), "",
                          (double)count.split / (double)parallel->tp + (double)count.replicated,
                          LEDGER_TERM(count.split, ""), LEDGER_TERM(parallel->tp, "tp"),
                          LEDGER_TERM(count.replicated, "on all ranks"));
    if (kind->has_experts) {
        of.experts = LEDGER_SUM(ledger, "its experts", "",
                                copies / (double)parallel->ep * (double)count.expert / parts,
                                LEDGER_TERM(copies, "experts"), LEDGER_TERM(parallel->ep, "ep"),
                                LEDGER_TERM(count.expert, ""), LEDGER_TERM(parts, "etp"));
    }
    return of;
}

struct memory_layer_parameters memory_layer_parameters(const struct memory_split *split,
                                                       const struct layer_kind *kind)
{
    return count_layer(split, kind, NULL);
}

/* A is rank x in, B out x rank; of column-parallel products B is cut by `parts`, of row-parallel
 * ones A (Hu et al. 2021, arXiv 2106.09685). */
struct pair {
    double in, out;
    bool is_row;
};

static double pair_parameters(const struct lora *lora, const struct pair *pair, double parts)
{
    const double rank = (double)lora->rank;
    return pair->is_row ? rank * (pair->in / parts + pair->out)
                        : rank * (pair->in + pair->out / parts);
}

static double mlp_lora(const struct lora *lora, const struct layer_kind *kind, double width,
                       double parts)
{
    const double gates = kind->mlp == MLP_SWIGLU ? 2.0 : 1.0;
    const struct pair first = {(double)kind->hidden, gates * width, false};
    const struct pair second = {width, (double)kind->hidden, true};
    return (lora->targets & 1u << LORA_FC1 ? pair_parameters(lora, &first, parts) : 0.0) +
           (lora->targets & 1u << LORA_FC2 ? pair_parameters(lora, &second, parts) : 0.0);
}

/* Of attention, or of the projections of a mixer of operators. */
static double mixer_lora(const struct lora *lora, const struct layer_kind *kind, double tp)
{
    const struct mixer *mixer = kind->mixer;
    const double heads = (double)kind->heads;
    const double keys = (double)(kind->kv_heads * (kind->head_dim + kind->value_dim));
    const struct pair qkv = {(double)kind->hidden, heads * (double)kind->head_dim + keys, false};
    const struct pair projection = {heads * (double)kind->value_dim, (double)kind->hidden, true};
    if (mixer == NULL) {
        return (lora->targets & 1u << LORA_QKV ? pair_parameters(lora, &qkv, tp) : 0.0) +
               (lora->targets & 1u << LORA_PROJECTION ? pair_parameters(lora, &projection, tp)
                                                      : 0.0);
    }
    double parameters = 0;
    for (uint32_t i = 0; i < mixer->operator_count; i++) {
        const struct mixer_operator *op = &mixer->operators[i];
        const enum lora_target target = mixer_writes_output(op) ? LORA_PROJECTION : LORA_QKV;
        if (op->kind == OPERATOR_PROJECTION && (lora->targets & 1u << target) != 0) {
            const struct pair own = {(double)mixer_width(mixer_read(mixer, op, 0)),
                                     (double)mixer_list_width(mixer, &op->writes),
                                     mixer_writes_output(op)};
            const double parts = mixer_is_whole(mixer, op) ? 1.0 : tp;
            parameters += op->has_each_head ? (double)lora->rank * (own.in + own.out) / parts
                                            : pair_parameters(lora, &own, parts);
        }
    }
    return parameters;
}

struct memory_layer_parameters memory_layer_lora(const struct memory_split *split,
                                                 const struct layer_kind *kind)
{
    const struct lora *lora = split->lora;
    struct memory_layer_parameters of = {0, 0};
    if (lora->rank == 0) {
        return of;
    }
    const struct parallel *parallel = split->parallel;
    const double tp = (double)parallel->tp;
    of.dense = layer_mixes(kind) ? mixer_lora(lora, kind, tp) : 0.0;
    if (!kind->has_experts) {
        of.dense += layer_has_mlp(kind) ? mlp_lora(lora, kind, (double)kind->ffn_hidden, tp) : 0.0;
        return of;
    }
    const struct model *model = split->model;
    of.dense += mlp_lora(lora, kind, (double)model->shared_hidden, tp);
    of.experts = (double)model->experts / (double)parallel->ep *
                 mlp_lora(lora, kind, (double)model->expert_hidden, (double)expert_parts(parallel));
    return of;
}

/* ---- who holds the same --------------------------------------------------- */

/* Stages that hold each piece of the model; as plan/mesh counts. */
static int64_t holders_of(const struct parallel *parallel)
{
    return parallel->schedule == SCHEDULE_DUALPIPE ? 2 : 1;
}

int64_t memory_dense_ranks(const struct parallel *parallel)
{
    return holders_of(parallel) * parallel->cp * parallel->dp;
}

int64_t memory_expert_ranks(const struct parallel *parallel)
{
    const int64_t plane = parallel->tp * parallel->cp * parallel->dp;
    sim_assert(plane % (parallel->ep * expert_parts(parallel)) == 0);
    return holders_of(parallel) * plane / (parallel->ep * expert_parts(parallel));
}

int64_t memory_dense_shards(const struct parallel *parallel)
{
    const int64_t group = parallel->zero_group; /* memory_explain tries fewer ranks than it */
    const bool is_part = group > 0 && group < parallel->cp * parallel->dp;
    return is_part ? group : memory_dense_ranks(parallel);
}

/* As many as hold the same expert among the ranks of one copy of the rest, if these have all
 * experts; as plan/mesh counts. */
int64_t memory_expert_shards(const struct parallel *parallel)
{
    const int64_t copy = memory_dense_shards(parallel) * parallel->tp;
    const int64_t experts = parallel->ep * expert_parts(parallel);
    return copy % experts == 0 ? copy / experts : 1;
}

int64_t memory_communicators(const struct model *model, const struct parallel *parallel)
{
    const bool has_experts = model->experts > 0;
    const bool is_tied = model->has_tied_embeddings && parallel->pp > 1;
    const int64_t sizes[] = {
        parallel->tp,
        parallel->cp,
        parallel->pp,
        memory_dense_ranks(parallel),
        has_experts ? parallel->ep * expert_parts(parallel) : 1,
        has_experts ? memory_expert_ranks(parallel) : 1,
        memory_dense_ranks(parallel) / memory_dense_shards(parallel),
        is_tied ? 2 : 1,
    };
    int64_t count = 0;
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        count += sizes[i] > 1 ? 1 : 0;
    }
    return count;
}

/* ---- the ends of the model ---------------------------------------------- */

/* The padded vocabulary table is cut by tp. */
static double table_parameters(const struct memory_split *split, struct ledger *ledger)
{
    const struct model *model = split->model;
    const int64_t tp = split->parallel->tp;
    const int64_t vocab = cost_padded_vocab(model, tp);
    return LEDGER_SUM(ledger, "a table of the vocabulary", "",
                      (double)(vocab * model->hidden) / (double)tp, LEDGER_TERM(vocab, "padded"),
                      LEDGER_TERM(model->hidden, ""), LEDGER_TERM(tp, "tp"));
}

/* What a stage's pieces have at their ends. */
struct ends {
    bool has_first, has_last;
};

static struct ends ends_of(const struct parallel *parallel, int64_t stage)
{
    struct ends ends = {false, false};
    for (int64_t chunk = 0; chunk < parallel->virtual_stages; chunk++) {
        const int64_t piece = layout_piece(parallel, stage, chunk);
        ends.has_first = ends.has_first || piece == 0;
        ends.has_last = ends.has_last || piece == layout_pieces(parallel) - 1;
    }
    return ends;
}

/* Embedding norm (if any) and final norm are equally large. */
static double norm_parameters(const struct model *model)
{
    const double all = (double)cost_parameters(model).final_norm;
    return model->has_embedding_norm ? all / 2.0 : all;
}

/* A tied head on another stage than the embedding is a copy of it, as is the embedding that
 * multi-token prediction needs beside the head. */
static double parameters_of_ends(const struct memory_split *split, const struct ends *of,
                                 struct ledger *ledger)
{
    const struct model *model = split->model;
    const struct ends ends = *of;
    struct ledger *if_any = ends.has_first || ends.has_last ? ledger : NULL;
    const double table = table_parameters(split, if_any);
    double tables = 0;
    double others = 0;
    if (ends.has_first) {
        tables += 1;
        others += model->positions == POSITION_LEARNED
                      ? (double)(model->max_positions * model->hidden)
                      : 0.0;
        others += model->has_embedding_norm ? norm_parameters(model) : 0.0;
    }
    if (ends.has_last) {
        const bool is_shared = ends.has_first && model->has_tied_embeddings;
        tables += model->is_headless || is_shared ? 0 : 1;
        const bool copies = model->mtp_layers > 0 && !ends.has_first && !model->has_tied_embeddings;
        tables += copies ? 1 : 0;
        others += norm_parameters(model);
    }
    return LEDGER_SUM(if_any, "embedding, head", "", tables * table + others,
                      LEDGER_TERM(tables, "tables"), LEDGER_TERM(table, ""),
                      LEDGER_TERM(others, "of norms, positions"));
}

static double end_parameters(const struct memory_split *split, int64_t stage, struct ledger *ledger)
{
    const struct ends ends = ends_of(split->parallel, stage);
    return parameters_of_ends(split, &ends, ledger);
}

/* ---- the layers of a stage -------------------------------------------------- */

/* Sums over the layers of a stage, and the largest of them. */
struct layers_sum {
    struct memory_layer_parameters all, lora, high;
    double largest;
    int64_t count;
    uint32_t recorded; /* bits 1 << kind */
    /* Of the kind that came last: most layers of a model are like the one before. */
    const struct layer_kind *last;
    struct memory_layer_parameters last_all, last_lora;
};

static void add_layer(const struct memory_split *split, const struct layer_kind *kind,
                      struct ledger *ledger, struct layers_sum *sum)
{
    sim_assert(kind != NULL);
    const uint32_t bit = 1u << (kind - split->model->kinds);
    const bool is_known = (sum->recorded & bit) != 0;
    if (sum->last != kind) {
        sum->last_all = count_layer(split, kind, is_known ? NULL : ledger);
        sum->last_lora = memory_layer_lora(split, kind);
        sum->last = kind;
    }
    const struct memory_layer_parameters of = sum->last_all;
    const struct memory_layer_parameters lora = sum->last_lora;
    sum->recorded |= bit;
    sum->count++;
    sum->all.dense += of.dense;
    sum->all.experts += of.experts;
    sum->high.dense += kind->is_high ? of.dense : 0.0;
    sum->high.experts += kind->is_high ? of.experts : 0.0;
    sum->lora.dense += lora.dense;
    sum->lora.experts += lora.experts;
    const double both = of.dense + of.experts;
    sum->largest = both > sum->largest ? both : sum->largest;
}

static void add_piece(const struct memory_split *split, int64_t piece, struct ledger *ledger,
                      struct layers_sum *sum)
{
    const struct parallel *parallel = split->parallel;
    const struct model *model = split->model;
    const int64_t first = layout_first_layer(parallel, piece);
    for (int64_t i = 0; i < parallel->layers_per_chunk[piece]; i++) {
        add_layer(split, model_layer(model, first + i), ledger, sum);
    }
    if (piece == layout_pieces(parallel) - 1) {
        for (int64_t i = 0; i < model->mtp_layers; i++) {
            add_layer(split, &model->kinds[model->mtp_kind], ledger, sum);
        }
    }
}

static struct layers_sum layers_of(const struct memory_split *split, int64_t stage,
                                   struct ledger *ledger)
{
    const struct parallel *parallel = split->parallel;
    struct layers_sum sum = {.largest = 0};
    sim_assert(stage >= 0 && stage < parallel->pp);
    sim_assert(parallel->tp >= 1 && parallel->dp >= 1 && parallel->cp >= 1 && parallel->ep >= 1);
    for (int64_t chunk = 0; chunk < parallel->virtual_stages; chunk++) {
        add_piece(split, layout_piece(parallel, stage, chunk), ledger, &sum);
    }
    return sum;
}

double memory_stage_expert_parameters(const struct memory_split *split, int64_t stage)
{
    return layers_of(split, stage, NULL).all.experts;
}

double memory_count_parameters(const struct memory_split *split, int64_t stage,
                               struct ledger *ledger)
{
    const struct layers_sum layers = layers_of(split, stage, ledger);
    const struct memory_layer_parameters all = layers.all;
    const double ends = end_parameters(split, stage, ledger);
    const double sum = LEDGER_SUM(ledger, "parameters", "", all.dense + all.experts + ends,
                                  LEDGER_TERM(all.dense, "of layers"),
                                  LEDGER_TERM(all.experts, "of experts"), LEDGER_TERM(ends, ""));
    ledger_remark(ledger, ledger_text(ledger, "%lld layers", (long long)layers.count));
    return sum;
}

double memory_stage_parameters(const struct memory_split *split, int64_t stage)
{
    return memory_count_parameters(split, stage, NULL);
}

struct memory_layer_parameters memory_stage_trained(const struct memory_split *split, int64_t stage)
{
    struct layers_sum sum = layers_of(split, stage, NULL);
    if (split->lora->rank > 0) {
        return sum.lora;
    }
    sum.all.dense += end_parameters(split, stage, NULL);
    return sum.all;
}

double memory_piece_trained(const struct memory_split *split, int64_t piece)
{
    struct layers_sum sum = {.largest = 0};
    add_piece(split, piece, NULL, &sum);
    if (split->lora->rank > 0) {
        return sum.lora.dense + sum.lora.experts;
    }
    const struct ends ends = {piece == 0, piece == layout_pieces(split->parallel) - 1};
    return sum.all.dense + sum.all.experts + parameters_of_ends(split, &ends, NULL);
}

/* Consecutive layers, the last of the model's among them or not: it has those of multi-token
 * prediction behind it. */
static void count_layers(const struct model *model, int64_t first, int64_t count,
                         struct matrix_split *of)
{
    for (int64_t i = first; i < first + count; i++) {
        of->layers[model_kind(model, i)]++;
    }
    if (first + count == model->layers && model->mtp_layers > 0) {
        of->layers[model->mtp_kind] += model->mtp_layers;
    }
}

struct matrix_split memory_stage_matrices(const struct memory_split *split, int64_t stage)
{
    const struct parallel *parallel = split->parallel;
    const struct model *model = split->model;
    const bool is_dealt = parallel->zero > 0;
    struct matrix_split of = {
        .model = model,
        .tp = parallel->tp,
        .etp = expert_parts(parallel),
        .experts = split->expert_copies / parallel->ep,
        .dense_ranks = is_dealt ? memory_dense_shards(parallel) : 1,
        .expert_ranks = is_dealt ? memory_expert_shards(parallel) : 1,
    };
    for (int64_t chunk = 0; chunk < parallel->virtual_stages; chunk++) {
        const int64_t piece = layout_piece(parallel, stage, chunk);
        count_layers(model, layout_first_layer(parallel, piece), parallel->layers_per_chunk[piece],
                     &of);
    }
    return of;
}

struct matrix_split memory_model_matrices(const struct model *model)
{
    struct matrix_split of = {.model = model,
                              .tp = 1,
                              .etp = 1,
                              .experts = model->experts,
                              .dense_ranks = 1,
                              .expert_ranks = 1};
    count_layers(model, 0, model->layers, &of);
    return of;
}

double memory_stage_ends(const struct memory_split *split, int64_t stage)
{
    return end_parameters(split, stage, NULL);
}

double memory_stage_head(const struct memory_split *split, int64_t stage)
{
    const bool has_head = ends_of(split->parallel, stage).has_last && !split->model->is_headless;
    return has_head ? table_parameters(split, NULL) : 0.0;
}

struct memory_layer_parameters memory_stage_high(const struct memory_split *split, int64_t stage)
{
    return layers_of(split, stage, NULL).high;
}

double memory_largest_layer(const struct memory_split *split, int64_t stage)
{
    return layers_of(split, stage, NULL).largest;
}

double memory_largest_unit(const struct memory_split *split, int64_t stage)
{
    const double layer = layers_of(split, stage, NULL).largest;
    const double table = table_parameters(split, NULL);
    const struct ends ends = ends_of(split->parallel, stage);
    const bool has_table = ends.has_first || (ends.has_last && !split->model->is_headless);
    return has_table && table > layer ? table : layer;
}

/* ---- the model --------------------------------------------------------------- */

double memory_model_parameters(const struct model *model)
{
    const struct parameter_count count = cost_parameters(model);
    return (double)(count.total + count.mtp);
}

double memory_model_trained(const struct model *model, const struct lora *lora)
{
    if (lora->rank == 0) {
        return memory_model_parameters(model);
    }
    /* On one rank each: the sum over all layers. */
    const struct parallel alone = {.tp = 1, .ep = 1, .etp = 1};
    const struct memory_split whole = {.model = model, .parallel = &alone, .lora = lora};
    double sum = 0;
    for (int64_t i = 0; i < model->layers; i++) {
        const struct memory_layer_parameters of = memory_layer_lora(&whole, model_layer(model, i));
        sum += of.dense + of.experts;
    }
    if (model->mtp_layers > 0) {
        const struct memory_layer_parameters of =
            memory_layer_lora(&whole, &model->kinds[model->mtp_kind]);
        sum += (double)model->mtp_layers * (of.dense + of.experts);
    }
    return sum;
}
