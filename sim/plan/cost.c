/* Parameters and FLOPs of a decoder, dense or with experts, in closed form.
 *
 * Parameters: GPT-2 and Llama layer layouts, as their public checkpoints have
 * them; the counts are exact integers and tests compare them with the
 * checkpoints. FLOPs: a matrix of n weights costs 2n a token; scores and values
 * of full attention cost 2 * s * heads * head_dim each. Cost O(1).
 */
#include "plan/cost.h"

#include "base/check.h"

#define VOCAB_MULTIPLE 128 /* Megatron-LM's default of --make-vocab-size-divisible-by */

static int64_t norm_parameters(const struct model *model)
{
    return model->norm == NORM_LAYERNORM ? 2 * model->hidden : model->hidden;
}

/* Rows of QKV's weight: what a token's queries, keys and values have together. */
static int64_t qkv_width(const struct model *model)
{
    return (model->heads + 2 * model->kv_heads) * model->head_dim;
}

/* Rows and columns of an MLP of a width: of its first matrix (gate and up projection count as
 * one) and of the second. */
static int64_t mlp_rows(const struct model *model, int64_t width)
{
    return model->mlp == MLP_SWIGLU ? 3 * width : 2 * width;
}

static int64_t mlp_bias_parameters(const struct model *model, int64_t width)
{
    const int64_t first = model->mlp == MLP_SWIGLU ? 2 * width : width;
    return model->has_biases ? first + model->hidden : 0;
}

/* Weights of QKV and of the projection. */
static int64_t attention_matrix_parameters(const struct model *model)
{
    return model->hidden * (qkv_width(model) + model->heads * model->head_dim);
}

static int64_t attention_bias_parameters(const struct model *model)
{
    return model->has_biases ? qkv_width(model) + model->hidden : 0;
}

/* Weights of the four matrices of a layer; 12 h^2 in GPT-3's shape. */
static int64_t layer_matrix_parameters(const struct model *model)
{
    return attention_matrix_parameters(model) + model->hidden * mlp_rows(model, model->ffn_hidden);
}

static int64_t expert_matrix_parameters(const struct model *model)
{
    return model->hidden * mlp_rows(model, model->expert_hidden);
}

static int64_t moe_matrix_parameters(const struct model *model)
{
    return attention_matrix_parameters(model) +
           model->shared_experts * expert_matrix_parameters(model);
}

static int64_t moe_layers(const struct model *model)
{
    return model_expert_layers(model, 0, model->layers);
}

static void count_moe_layer(const struct model *model, struct parameter_count *count)
{
    const int64_t biases = mlp_bias_parameters(model, model->expert_hidden);
    sim_assert(model->experts_per_token > 0 && model->experts_per_token <= model->experts);
    count->expert = expert_matrix_parameters(model) + biases;
    count->router = model->hidden * model->experts;
    count->moe_matrix = moe_matrix_parameters(model);
    count->moe_layer = count->moe_matrix + 2 * norm_parameters(model) +
                       attention_bias_parameters(model) + model->shared_experts * biases +
                       count->router + model->experts * count->expert;
}

struct parameter_count cost_parameters(const struct model *model)
{
    sim_assert(model->layers > 0 && model->hidden > 0 && model->vocab > 0);
    sim_assert(model->kv_heads > 0 && model->heads % model->kv_heads == 0);
    struct parameter_count count = {0};
    const int64_t table = model->vocab * model->hidden;
    count.embedding = table;
    if (model->positions == POSITION_LEARNED) {
        count.embedding += model->max_positions * model->hidden;
    }
    count.head = model->has_tied_embeddings ? 0 : table;
    count.layer_matrix = layer_matrix_parameters(model);
    count.layer = count.layer_matrix + 2 * norm_parameters(model) +
                  attention_bias_parameters(model) + mlp_bias_parameters(model, model->ffn_hidden);
    if (model->experts > 0) {
        count_moe_layer(model, &count);
    }
    count.final_norm = norm_parameters(model) * (model->has_embedding_norm ? 2 : 1);
    const int64_t with_experts = moe_layers(model);
    count.total = count.embedding + (model->layers - with_experts) * count.layer +
                  with_experts * count.moe_layer + count.final_norm + count.head;
    count.active =
        count.total - with_experts * (model->experts - model->experts_per_token) * count.expert;
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

struct token_flop cost_token_flop(const struct model *model, int64_t sequence_length)
{
    sim_assert(sequence_length > 0);
    const double layers = (double)model->layers;
    const double attention_width = (double)(model->heads * model->head_dim);
    struct token_flop flop;
    const double with_experts = (double)moe_layers(model);
    const int64_t sparse =
        moe_matrix_parameters(model) + model->experts_per_token * expert_matrix_parameters(model);
    flop.linear = (layers - with_experts) * 2.0 * (double)layer_matrix_parameters(model) +
                  with_experts * 2.0 * (double)sparse;
    flop.router = with_experts * 2.0 * (double)(model->hidden * model->experts);
    flop.core_full = layers * 4.0 * attention_width * (double)sequence_length;
    flop.core_causal = flop.core_full / 2.0;
    flop.logits = 2.0 * (double)model->hidden * (double)model->vocab;
    return flop;
}

double cost_train_flop_causal(const struct token_flop *flop)
{
    return 3.0 * (flop->linear + flop->core_causal + flop->logits);
}

double cost_train_flop_full(const struct token_flop *flop)
{
    return 3.0 * (flop->linear + flop->core_full + flop->logits);
}
