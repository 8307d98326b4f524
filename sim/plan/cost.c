/* Parameters and FLOPs of a model in closed form, summed over its kinds of layers.
 *
 * Parameters: layouts of GPT-2, Llama, DeepSeek-V3 and gpt-oss as their public checkpoints have
 * them; the counts are exact integers and tests compare them with the checkpoints. FLOPs: a
 * matrix of n weights costs 2n a token; scores cost 2 * keys * heads * head_dim, values 2 *
 * keys * heads * value_dim. Cost O(kinds).
 */
#include "plan/cost.h"

#include "base/check.h"

#define VOCAB_MULTIPLE 128 /* Megatron-LM's default of --make-vocab-size-divisible-by */

const char *const flop_convention_names[FLOP_CONVENTION_COUNT_] = {"causal", "megatron", "palm",
                                                                   "6nd"};

/* ---- parameters of a layer ------------------------------------------------------- */

static int64_t norm_parameters(const struct model *model, int64_t width)
{
    return model->norm == NORM_LAYERNORM && !model->has_bare_norms ? 2 * width : width;
}

/* Rows of QKV's weight: what a token's queries, keys and values have together. */
static int64_t qkv_width(const struct layer_kind *kind)
{
    return (kind->heads + 2 * kind->kv_heads) * kind->head_dim;
}

/* What queries, and keys and values, are compressed to: rows of the down-projections. */
static int64_t latent_width(const struct latent *latent)
{
    return latent->q_rank + latent->kv_rank + latent->rope_dim;
}

/* Weights of the down-projections of latent attention, which every rank holds. */
static int64_t down_matrices(const struct layer_kind *kind)
{
    return kind->latent.kv_rank > 0 ? kind->hidden * latent_width(&kind->latent) : 0;
}

/* Weights of the matrices of attention that are cut by heads. */
static int64_t head_matrices(const struct layer_kind *kind)
{
    const struct latent *latent = &kind->latent;
    const int64_t projection = kind->heads * kind->value_dim * kind->hidden;
    if (latent->kv_rank == 0) {
        return kind->hidden * qkv_width(kind) + projection;
    }
    const int64_t q_in = latent->q_rank > 0 ? latent->q_rank : kind->hidden;
    const int64_t kv_out = kind->heads * (latent->nope_dim + latent->value_dim);
    return q_in * kind->heads * kind->head_dim + latent->kv_rank * kv_out + projection;
}

/* Weights that raise compressed queries, keys and values to the heads. */
static int64_t up_matrices(const struct layer_kind *kind)
{
    return kind->latent.kv_rank > 0
               ? head_matrices(kind) - kind->heads * kind->value_dim * kind->hidden
               : 0;
}

static int64_t attention_matrices(const struct layer_kind *kind)
{
    return head_matrices(kind) + down_matrices(kind);
}

/* Rows and columns of an MLP of a width: of its first matrix (gate and up projection count as
 * one) and of the second. */
static int64_t mlp_rows(uint32_t mlp, int64_t width)
{
    return mlp == MLP_SWIGLU ? 3 * width : 2 * width;
}

/* Of the first matrix of an MLP. */
static int64_t first_biases(const struct model *model, uint32_t mlp, int64_t width)
{
    return model->has_mlp_biases ? (mlp == MLP_SWIGLU ? 2 : 1) * width : 0;
}

static int64_t second_biases(const struct model *model, int64_t hidden)
{
    return model->has_mlp_biases ? hidden : 0;
}

static int64_t expert_matrices(const struct model *model)
{
    return model->hidden * mlp_rows(model->mlp, model->expert_hidden);
}

static int64_t shared_matrices(const struct model *model)
{
    return model->hidden * mlp_rows(model->mlp, model->shared_hidden);
}

static void count_attention(const struct model *model, const struct layer_kind *kind,
                            struct layer_count *count)
{
    const struct latent *latent = &kind->latent;
    const int64_t biases = model->has_qkv_biases ? qkv_width(kind) : 0;
    count->split += head_matrices(kind) + (model->has_sinks ? kind->heads : 0);
    count->replicated += model->has_projection_biases ? kind->hidden : 0;
    if (latent->kv_rank > 0) {
        count->replicated += down_matrices(kind) + norm_parameters(model, latent->kv_rank) +
                             norm_parameters(model, latent->q_rank);
        count->replicated += model->has_qkv_biases ? latent_width(latent) : 0;
    } else {
        count->split += biases;
    }
    count->replicated += model->has_qk_norm ? 2 * norm_parameters(model, kind->head_dim) : 0;
}

static void count_experts(const struct model *model, struct layer_count *count)
{
    sim_assert(model->experts_per_token > 0 && model->experts_per_token <= model->experts);
    count->expert = expert_matrices(model) + first_biases(model, model->mlp, model->expert_hidden) +
                    second_biases(model, model->hidden);
    count->split += shared_matrices(model) + first_biases(model, model->mlp, model->shared_hidden);
    count->replicated += model->shared_experts * second_biases(model, model->hidden) +
                         model->hidden * model->experts +
                         (model->has_router_biases ? model->experts : 0);
}

static void count_mlp(const struct model *model, const struct layer_kind *kind,
                      struct layer_count *count)
{
    count->split += kind->hidden * mlp_rows(kind->mlp, kind->ffn_hidden) +
                    first_biases(model, kind->mlp, kind->ffn_hidden);
    count->replicated += second_biases(model, kind->hidden);
}

struct layer_count cost_layer(const struct model *model, const struct layer_kind *kind)
{
    sim_assert(kind->hidden > 0 && kind->heads > 0);
    sim_assert(kind->kv_heads > 0 && kind->heads % kind->kv_heads == 0);
    const int64_t norm = norm_parameters(model, kind->hidden);
    struct layer_count count = {.replicated = 2 * norm};
    count_attention(model, kind, &count);
    if (kind->has_experts) {
        count_experts(model, &count);
    } else {
        count_mlp(model, kind, &count);
    }
    if (kind->is_mtp) {
        count.replicated += 3 * norm;
        count.split += 2 * kind->hidden * kind->hidden;
    }
    const int64_t dense = count.split + count.replicated;
    count.total = dense + model->experts * count.expert;
    count.active = dense + model->experts_per_token * count.expert;
    return count;
}

/* ---- tensors of a layer ----------------------------------------------------------- */

static int64_t norm_tensors(const struct model *model)
{
    return model->norm == NORM_LAYERNORM && !model->has_bare_norms ? 2 : 1;
}

static struct layer_tensors attention_tensors(const struct model *model,
                                              const struct layer_kind *kind)
{
    const int64_t norm = norm_tensors(model);
    struct layer_tensors count = {2, model->has_qkv_biases + model->has_projection_biases +
                                         model->has_sinks + (model->has_qk_norm ? 2 * norm : 0)};
    if (kind->latent.kv_rank > 0) { /* down and up of queries, and of keys and values */
        count.matrices = kind->latent.q_rank > 0 ? 5 : 4;
        count.vectors += (kind->latent.q_rank > 0 ? 2 : 1) * norm;
    }
    return count;
}

struct layer_tensors cost_layer_tensors(const struct model *model, const struct layer_kind *kind,
                                        int64_t experts)
{
    struct layer_tensors count = attention_tensors(model, kind);
    const int64_t biases = model->has_mlp_biases ? 2 : 0;
    count.vectors += 2 * norm_tensors(model);
    if (kind->has_experts) {
        const int64_t shared = model->shared_experts > 0 ? 1 : 0;
        count.matrices += 2 * (experts + shared) + 1; /* and the router */
        count.vectors += biases * (experts + shared) + (model->has_router_biases ? 1 : 0);
    } else {
        count.matrices += 2;
        count.vectors += biases;
    }
    if (kind->is_mtp) {
        count.matrices += 1;
        count.vectors += 3 * norm_tensors(model);
    }
    return count;
}

/* ---- parameters of the model ----------------------------------------------------- */

/* A layer of the decoder with experts or without, whether the model has such layers or not. */
static struct layer_kind decoder_kind(const struct model *model, bool has_experts)
{
    struct layer_kind kind = *model_layer(model, model->layers - 1);
    kind.has_experts = has_experts;
    return kind;
}

static void count_parts(const struct model *model, struct parameter_count *count)
{
    const struct layer_kind dense = decoder_kind(model, false);
    count->layer = cost_layer(model, &dense).total;
    count->layer_matrix =
        attention_matrices(&dense) + dense.hidden * mlp_rows(dense.mlp, dense.ffn_hidden);
    if (model->experts > 0) {
        const struct layer_kind kind = decoder_kind(model, true);
        const struct layer_count layer = cost_layer(model, &kind);
        count->moe_layer = layer.total;
        count->moe_matrix = attention_matrices(&kind) + shared_matrices(model);
        count->expert = layer.expert;
        count->router = model->hidden * model->experts;
        count->router += model->has_router_biases ? model->experts : 0;
    }
}

struct parameter_count cost_parameters(const struct model *model)
{
    sim_assert(model->layers > 0 && model->vocab > 0);
    sim_assert(model->kind_count > 0);
    struct parameter_count count = {0};
    const int64_t table = model->vocab * model->hidden;
    count.embedding = table;
    if (model->positions == POSITION_LEARNED) {
        count.embedding += model->max_positions * model->hidden;
    }
    count.head = model->has_tied_embeddings ? 0 : table;
    count.final_norm = norm_parameters(model, model->hidden) * (model->has_embedding_norm ? 2 : 1);
    count_parts(model, &count);
    count.total = count.active = count.embedding + count.final_norm + count.head;
    for (uint32_t i = 0; i < model->kind_count; i++) {
        const struct layer_kind *kind = &model->kinds[i];
        const struct layer_count layer = cost_layer(model, kind);
        if (kind->is_mtp) {
            count.mtp = kind->layers * layer.total;
            continue;
        }
        count.blocks += i < model->block_kinds ? kind->layers * layer.total : 0;
        count.total += kind->layers * layer.total;
        count.active += kind->layers * layer.active;
    }
    return count;
}

int64_t cost_moe_dense_parameters(const struct model *model, const struct parameter_count *count)
{
    return count->moe_layer - model->experts * count->expert;
}

int64_t cost_padded_vocab(const struct model *model, int64_t tp)
{
    sim_assert(tp > 0);
    const int64_t multiple = VOCAB_MULTIPLE * tp;
    return (model->vocab + multiple - 1) / multiple * multiple;
}

/* ---- FLOPs ----------------------------------------------------------------------- */

int64_t cost_tokens(const struct layer_kind *kind, int64_t sequence_length)
{
    return kind->tokens > 0 ? kind->tokens : sequence_length;
}

/* The first w queries see 1, 2, ... w keys, each of the others w: a mean of
 * (w (w + 1) / 2 + (s - w) w) / s. Without a window the convention s / 2 of all papers. */
double cost_mean_keys(const struct layer_kind *kind, int64_t tokens)
{
    const double s = (double)tokens;
    const double w = (double)kind->window;
    const bool has_window = kind->window > 0 && kind->window < tokens;
    if (!kind->is_causal) {
        return has_window ? w : s;
    }
    return has_window ? (w * (w + 1.0) / 2.0 + (s - w) * w) / s : s / 2.0;
}

struct layer_flop cost_layer_flop(const struct model *model, const struct layer_kind *kind,
                                  int64_t sequence_length)
{
    sim_assert(sequence_length > 0);
    const int64_t tokens = cost_tokens(kind, sequence_length);
    const bool has_window = kind->window > 0 && kind->window < tokens;
    const double a_key = 2.0 * (double)(kind->heads * (kind->head_dim + kind->value_dim));
    struct layer_flop flop = {
        .attention_linear = 2.0 * (double)attention_matrices(kind),
        .latent_up = 2.0 * (double)up_matrices(kind),
        .core_full = a_key * (double)(has_window ? kind->window : tokens),
        .core_causal = a_key * cost_mean_keys(kind, tokens),
    };
    if (kind->has_experts) {
        flop.experts = 2.0 * (double)(model->experts_per_token * expert_matrices(model));
        flop.shared = 2.0 * (double)shared_matrices(model);
        flop.router = 2.0 * (double)(model->hidden * model->experts);
    } else {
        flop.mlp = 2.0 * (double)(kind->hidden * mlp_rows(kind->mlp, kind->ffn_hidden));
    }
    if (kind->is_mtp) {
        flop.mtp = 2.0 * 2.0 * (double)kind->hidden * (double)kind->hidden;
    }
    return flop;
}

/* Tokens of this kind's layers for each token of the sequence, in all its layers. */
static double layer_tokens(const struct layer_kind *kind, int64_t sequence_length)
{
    const double tokens = (double)cost_tokens(kind, sequence_length);
    return (double)kind->layers * (tokens / (double)sequence_length);
}

struct layer_flop cost_module_flop(const struct model *model, int64_t sequence_length)
{
    struct layer_flop sum = {0};
    sim_assert(model->kind_count > 0);
    for (uint32_t i = 0; i < model->kind_count; i++) {
        const struct layer_kind *kind = &model->kinds[i];
        const struct layer_flop flop = cost_layer_flop(model, kind, sequence_length);
        const double layers = layer_tokens(kind, sequence_length);
        sum.attention_linear += layers * flop.attention_linear;
        sum.latent_up += layers * flop.latent_up;
        sum.core_full += layers * flop.core_full;
        sum.core_causal += layers * flop.core_causal;
        sum.mlp += layers * flop.mlp;
        sum.experts += layers * flop.experts;
        sum.shared += layers * flop.shared;
        sum.router += layers * flop.router;
        sum.mtp += layers * flop.mtp;
    }
    return sum;
}

/* Once for the loss, and once for each layer of MTP. */
static double logits_flop(const struct model *model, int64_t vocab)
{
    return (double)(1 + model->mtp_layers) * 2.0 * (double)model->hidden * (double)vocab;
}

struct token_flop cost_token_flop(const struct model *model, int64_t sequence_length)
{
    const struct layer_flop sum = cost_module_flop(model, sequence_length);
    return (struct token_flop){
        .linear = sum.attention_linear + sum.mlp + sum.experts + sum.shared + sum.mtp,
        .core_full = sum.core_full,
        .core_causal = sum.core_causal,
        .logits = logits_flop(model, model->vocab),
        .router = sum.router,
    };
}

double cost_train_flop_causal(const struct token_flop *flop)
{
    return 3.0 * (flop->linear + flop->core_causal + flop->logits);
}

double cost_train_flop_full(const struct token_flop *flop)
{
    return 3.0 * (flop->linear + flop->core_full + flop->logits);
}

double cost_frozen_flop(const struct token_flop *flop)
{
    return flop->linear + flop->logits;
}

/* ---- conventions ----------------------------------------------------------------- */

/* Megatron-LM counts the norms of latent attention and of MTP as one product a value. */
static double megatron_norm_products(const struct model *model)
{
    double products = 3.0 * (double)(model->mtp_layers * model->hidden);
    for (uint32_t i = 0; i < model->kind_count; i++) {
        const struct latent *latent = &model->kinds[i].latent;
        products += (double)(model->kinds[i].layers * (latent->q_rank + latent->kv_rank));
    }
    return products;
}

/* 12 L H Q T of PaLM for any shape of heads: 6 heads (head_dim + value_dim) tokens a layer. */
static double palm_attention(const struct model *model, int64_t sequence_length)
{
    double flop = 0.0;
    for (uint32_t i = 0; i < model->kind_count; i++) {
        const struct layer_kind *kind = &model->kinds[i];
        const double widths = (double)(kind->heads * (kind->head_dim + kind->value_dim));
        const double keys = (double)cost_tokens(kind, sequence_length);
        flop += kind->is_mtp ? 0.0 : layer_tokens(kind, sequence_length) * 6.0 * widths * keys;
    }
    return flop;
}

double cost_train_flop(const struct model *model, int64_t sequence_length, int64_t tp,
                       enum flop_convention convention)
{
    struct token_flop flop = cost_token_flop(model, sequence_length);
    const double parameters = (double)cost_parameters(model).active;
    switch (convention) {
    case FLOP_CAUSAL:
        return cost_train_flop_causal(&flop);
    case FLOP_MEGATRON:
        flop.logits = logits_flop(model, cost_padded_vocab(model, tp));
        return cost_train_flop_causal(&flop) + 6.0 * megatron_norm_products(model);
    case FLOP_PALM:
        return 6.0 * parameters + palm_attention(model, sequence_length);
    case FLOP_6ND:
        return 6.0 * parameters;
    case FLOP_CONVENTION_COUNT_:
        break;
    }
    sim_assert(false);
    return 0.0;
}
