/* Parameters and FLOPs of a dense decoder, in closed form.
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

/* First matrix of the MLP: gate and up projection count as one. */
static int64_t fc1_width(const struct model *model)
{
    return model->mlp == MLP_SWIGLU ? 2 * model->ffn_hidden : model->ffn_hidden;
}

/* Weights of the four matrices of a layer; 12 h^2 in GPT-3's shape. */
static int64_t layer_matrix_parameters(const struct model *model)
{
    const int64_t attention_width = model->heads * model->head_dim;
    const int64_t rows = qkv_width(model) + attention_width + fc1_width(model) + model->ffn_hidden;
    return model->hidden * rows;
}

static int64_t layer_bias_parameters(const struct model *model)
{
    return qkv_width(model) + model->hidden + fc1_width(model) + model->hidden;
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
    count.layer = count.layer_matrix + 2 * norm_parameters(model);
    if (model->has_biases) {
        count.layer += layer_bias_parameters(model);
    }
    count.final_norm = norm_parameters(model) * (model->has_embedding_norm ? 2 : 1);
    count.total = count.embedding + model->layers * count.layer + count.final_norm + count.head;
    return count;
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
    flop.linear = layers * 2.0 * (double)layer_matrix_parameters(model);
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
