/* Parameters and FLOPs of a model in closed form, summed over its kinds of layers.
 *
 * Parameters: layouts of GPT-2, Llama, DeepSeek-V3 and gpt-oss as their public checkpoints have
 * them; the counts are exact integers and tests compare them with the checkpoints. FLOPs: a
 * matrix of n weights costs 2n a token; scores cost 2 * keys * heads * head_dim, values 2 *
 * keys * heads * value_dim. Cost O(kinds).
 */
#include "plan/cost.h"
#include "plan/cost_mixer.h"

#include "base/check.h"

#define VOCAB_MULTIPLE 128 /* Megatron-LM's default of --make-vocab-size-divisible-by */

#define NAME(kind, name) name,
const char *const kernel_kind_names[KERNEL_KIND_COUNT_] = {KERNEL_KINDS(NAME)};
#undef NAME

const char *const flop_convention_names[FLOP_CONVENTION_COUNT_] = {"causal", "megatron", "palm",
                                                                   "6nd"};

/* ---- parameters of a layer ------------------------------------------------------- */

int64_t cost_norm_vectors(const struct model *model)
{
    return model->norm == NORM_LAYERNORM && !model->has_bare_norms ? 2 : 1;
}

static int64_t norm_parameters(const struct model *model, int64_t width)
{
    return cost_norm_vectors(model) * width;
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

/* "layers", or of models with several kinds of layers "layers (dense)". */
static const char *of_kind(struct ledger *ledger, const struct model *model,
                           const struct layer_kind *kind, const char *what)
{
    return model->kind_count > 1 ? ledger_text(ledger, "%s (%s)", what, kind->name) : what;
}

/* Weights of the down-projections of latent attention, which every rank holds. */
static int64_t down_matrices(const struct layer_kind *kind, struct ledger *ledger)
{
    const struct latent *latent = &kind->latent;
    if (latent->kv_rank == 0) {
        return 0;
    }
    return LEDGER_COUNT(ledger, "latent attention, down", "",
                        kind->hidden * (latent->q_rank + latent->kv_rank + latent->rope_dim),
                        LEDGER_TERM(kind->hidden, ""), LEDGER_TERM(latent->q_rank, ""),
                        LEDGER_TERM(latent->kv_rank, ""), LEDGER_TERM(latent->rope_dim, ""));
}

/* Weights that raise compressed queries, keys and values to the heads. */
static int64_t up_matrices(const struct layer_kind *kind, struct ledger *ledger)
{
    const struct latent *latent = &kind->latent;
    if (latent->kv_rank == 0) {
        return 0;
    }
    const int64_t q_in = latent->q_rank > 0 ? latent->q_rank : kind->hidden;
    return LEDGER_COUNT(ledger, "latent attention, up", "",
                        q_in * kind->heads * kind->head_dim +
                            latent->kv_rank * kind->heads * (latent->nope_dim + latent->value_dim),
                        LEDGER_TERM(q_in, ""), LEDGER_TERM(kind->heads, "heads"),
                        LEDGER_TERM(kind->head_dim, ""), LEDGER_TERM(latent->kv_rank, ""),
                        LEDGER_TERM(latent->nope_dim, ""), LEDGER_TERM(latent->value_dim, ""));
}

/* Weights of the matrices of attention that are cut by heads. */
static int64_t head_matrices(const struct layer_kind *kind, struct ledger *ledger)
{
    if (kind->latent.kv_rank > 0) {
        const int64_t up = up_matrices(kind, ledger);
        return LEDGER_COUNT(ledger, "and projection", "",
                            up + kind->heads * kind->value_dim * kind->hidden, LEDGER_TERM(up, ""),
                            LEDGER_TERM(kind->heads, "heads"), LEDGER_TERM(kind->value_dim, ""),
                            LEDGER_TERM(kind->hidden, ""));
    }
    return LEDGER_COUNT(ledger, "QKV, projection", "",
                        kind->hidden * ((kind->heads + 2 * kind->kv_heads) * kind->head_dim +
                                        kind->heads * kind->value_dim),
                        LEDGER_TERM(kind->hidden, ""), LEDGER_TERM(kind->heads, ""),
                        LEDGER_TERM(kind->kv_heads, ""), LEDGER_TERM(kind->head_dim, ""),
                        LEDGER_TERM(kind->value_dim, ""));
}

static int64_t attention_matrices(const struct layer_kind *kind)
{
    if (!layer_mixes(kind)) {
        return 0;
    }
    if (kind->mixer != NULL) {
        return cost_mixer_weights(kind->mixer);
    }
    return head_matrices(kind, NULL) + down_matrices(kind, NULL);
}

/* Weights of an MLP: two matrices, or gate, up and down. */
static int64_t mlp_matrices(struct ledger *ledger, const char *label, int64_t hidden, uint32_t mlp,
                            int64_t width)
{
    const int64_t matrices = mlp == MLP_SWIGLU ? 3 : 2;
    return LEDGER_COUNT(ledger, label, "", matrices * hidden * width, LEDGER_TERM(matrices, ""),
                        LEDGER_TERM(hidden, ""), LEDGER_TERM(width, ""));
}

static int64_t dense_matrices(const struct layer_kind *kind, struct ledger *ledger)
{
    return mlp_matrices(ledger, "MLP", kind->hidden, kind->mlp, kind->ffn_hidden);
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

static int64_t expert_matrices(const struct model *model, struct ledger *ledger)
{
    return mlp_matrices(ledger, "MLP of an expert", model->hidden, model->mlp,
                        model->expert_hidden);
}

static int64_t shared_matrices(const struct model *model, struct ledger *ledger)
{
    if (model->shared_hidden == 0) {
        return 0;
    }
    return mlp_matrices(ledger, "MLP of shared experts", model->hidden, model->mlp,
                        model->shared_hidden);
}

static int64_t router_matrix(const struct model *model, struct ledger *ledger)
{
    return LEDGER_COUNT(ledger, "router", "", model->hidden * model->experts,
                        LEDGER_TERM(model->hidden, ""), LEDGER_TERM(model->experts, "experts"));
}

static void count_attention(const struct model *model, const struct layer_kind *kind,
                            struct ledger *ledger, struct layer_count *count)
{
    const struct latent *latent = &kind->latent;
    const int64_t biases = model->has_qkv_biases ? qkv_width(kind) : 0;
    count->split += head_matrices(kind, ledger) + (model->has_sinks ? kind->heads : 0);
    count->replicated += model->has_projection_biases ? kind->hidden : 0;
    if (latent->kv_rank > 0) {
        count->replicated += down_matrices(kind, ledger) + norm_parameters(model, latent->kv_rank) +
                             norm_parameters(model, latent->q_rank);
        count->replicated += model->has_qkv_biases ? latent_width(latent) : 0;
    } else {
        count->split += biases;
    }
    count->replicated += model->has_qk_norm ? 2 * norm_parameters(model, kind->head_dim) : 0;
}

static void count_experts(const struct model *model, struct ledger *ledger,
                          struct layer_count *count)
{
    sim_assert(model->experts_per_token > 0 && model->experts_per_token <= model->experts);
    count->expert = expert_matrices(model, ledger) +
                    first_biases(model, model->mlp, model->expert_hidden) +
                    second_biases(model, model->hidden);
    count->split +=
        shared_matrices(model, ledger) + first_biases(model, model->mlp, model->shared_hidden);
    count->replicated += model->shared_experts * second_biases(model, model->hidden) +
                         router_matrix(model, ledger) +
                         (model->has_router_biases ? model->experts : 0);
}

static void count_mlp(const struct model *model, const struct layer_kind *kind,
                      struct ledger *ledger, struct layer_count *count)
{
    count->split += dense_matrices(kind, ledger) + first_biases(model, kind->mlp, kind->ffn_hidden);
    count->replicated += second_biases(model, kind->hidden);
}

static void count_mixer(const struct model *model, const struct layer_kind *kind,
                        struct ledger *ledger, struct layer_count *count)
{
    if (layer_mixes(kind) && kind->mixer != NULL) {
        cost_mixer_count(model, kind->mixer, ledger, count);
    } else if (layer_mixes(kind)) {
        count_attention(model, kind, ledger, count);
    }
}

static struct layer_count count_layer(const struct model *model, const struct layer_kind *kind,
                                      struct ledger *ledger)
{
    sim_assert(kind->hidden > 0 && kind->heads > 0);
    sim_assert(kind->kv_heads > 0 && kind->heads % kind->kv_heads == 0);
    const int64_t norm = norm_parameters(model, kind->hidden);
    struct layer_count count = {.replicated = (kind->branches == LAYER_BOTH ? 2 : 1) * norm};
    count_mixer(model, kind, ledger, &count);
    if (kind->has_experts) {
        count_experts(model, ledger, &count);
    } else if (layer_has_mlp(kind)) {
        count_mlp(model, kind, ledger, &count);
    }
    if (kind->is_mtp) {
        count.replicated += 3 * norm;
        count.split += 2 * kind->hidden * kind->hidden;
    }
    const char *label = of_kind(ledger, model, kind, "a layer");
    const int64_t dense =
        LEDGER_COUNT(ledger, kind->has_experts ? "a layer but its experts" : label, "",
                     count.split + count.replicated, LEDGER_TERM(count.split, "cut by tp"),
                     LEDGER_TERM(count.replicated, "on all ranks"));
    ledger_remark(ledger, "with norms and biases");
    count.total = count.active = dense;
    if (kind->has_experts) {
        count.total = LEDGER_COUNT(ledger, label, "", dense + model->experts * count.expert,
                                   LEDGER_TERM(dense, ""), LEDGER_TERM(model->experts, "experts"),
                                   LEDGER_TERM(count.expert, ""));
        count.active = LEDGER_COUNT(
            ledger, of_kind(ledger, model, kind, "active"), "",
            dense + model->experts_per_token * count.expert, LEDGER_TERM(dense, ""),
            LEDGER_TERM(model->experts_per_token, "experts"), LEDGER_TERM(count.expert, ""));
    }
    return count;
}

struct layer_count cost_layer(const struct model *model, const struct layer_kind *kind)
{
    return count_layer(model, kind, NULL);
}

/* ---- tensors of a layer ----------------------------------------------------------- */

static struct layer_tensors attention_tensors(const struct model *model,
                                              const struct layer_kind *kind)
{
    const int64_t norm = cost_norm_vectors(model);
    if (!layer_mixes(kind)) {
        return (struct layer_tensors){0, 0};
    }
    if (kind->mixer != NULL) {
        return cost_mixer_tensors(model, kind->mixer);
    }
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
    count.vectors += (kind->branches == LAYER_BOTH ? 2 : 1) * cost_norm_vectors(model);
    if (kind->has_experts) {
        const int64_t shared = model->shared_experts > 0 ? 1 : 0;
        count.matrices += 2 * (experts + shared) + 1; /* and the router */
        count.vectors += biases * (experts + shared) + (model->has_router_biases ? 1 : 0);
    } else if (layer_has_mlp(kind)) {
        count.matrices += 2;
        count.vectors += biases;
    }
    if (kind->is_mtp) {
        count.matrices += 1;
        count.vectors += 3 * cost_norm_vectors(model);
    }
    return count;
}

/* ---- parameters of the model ----------------------------------------------------- */

/* A layer of the decoder with experts or without, whether the model has such layers or not; of a
 * pattern the first of its layers with them, or without. */
static struct layer_kind decoder_kind(const struct model *model, bool has_experts)
{
    struct layer_kind kind = *model_layer(model, model->layers - 1);
    for (uint32_t i = model->block_kinds; model->pattern != NULL && i < model->kind_count; i++) {
        const struct layer_kind *other = &model->kinds[i];
        if (!other->is_mtp && other->has_experts == has_experts) {
            return *other;
        }
    }
    kind.has_experts = has_experts;
    return kind;
}

/* Of attention and, without experts, the MLP. */
static int64_t dense_layer_matrices(const struct layer_kind *kind)
{
    return attention_matrices(kind) + (layer_is_dense(kind) ? dense_matrices(kind, NULL) : 0);
}

static void count_parts(const struct model *model, struct parameter_count *count)
{
    const struct layer_kind dense = decoder_kind(model, false);
    count->layer = cost_layer(model, &dense).total;
    count->layer_matrix = dense_layer_matrices(&dense);
    if (model->experts > 0) {
        const struct layer_kind kind = decoder_kind(model, true);
        const struct layer_count layer = cost_layer(model, &kind);
        count->moe_layer = layer.total;
        count->moe_matrix = attention_matrices(&kind) + shared_matrices(model, NULL);
        count->expert = layer.expert;
        count->router = router_matrix(model, NULL);
        count->router += model->has_router_biases ? model->experts : 0;
    }
}

static int64_t embedding_parameters(const struct model *model, struct ledger *ledger)
{
    const int64_t positions = model->positions == POSITION_LEARNED ? model->max_positions : 0;
    return LEDGER_COUNT(ledger, "embedding", "", (model->vocab + positions) * model->hidden,
                        LEDGER_TERM(model->vocab, "vocab"), LEDGER_TERM(positions, "positions"),
                        LEDGER_TERM(model->hidden, ""));
}

/* Sums over the kinds of layers, MTP apart. */
static void count_kinds(const struct model *model, struct ledger *ledger,
                        struct parameter_count *count)
{
    for (uint32_t i = 0; i < model->kind_count; i++) {
        const struct layer_kind *kind = &model->kinds[i];
        const struct layer_count layer = count_layer(model, kind, ledger);
        const int64_t layers = LEDGER_COUNT(
            ledger, of_kind(ledger, model, kind, "layers"), "", kind->layers * layer.total,
            LEDGER_TERM(kind->layers, ""), LEDGER_TERM(layer.total, ""));
        if (kind->is_mtp) {
            ledger_remark(ledger, "beside N");
            count->mtp = layers;
            continue;
        }
        count->blocks += i < model->block_kinds ? layers : 0;
        count->total += layers;
        count->active += kind->layers * layer.active;
    }
}

static bool has_own_head(const struct model *model)
{
    return !model->is_headless && !model->has_tied_embeddings;
}

struct parameter_count cost_count_parameters(const struct model *model, struct ledger *ledger)
{
    sim_assert(model->layers > 0 && model->vocab > 0);
    sim_assert(model->kind_count > 0);
    struct parameter_count count = {0};
    count.embedding = embedding_parameters(model, ledger);
    count.head = has_own_head(model) ? model->vocab * model->hidden : 0;
    count.final_norm = norm_parameters(model, model->hidden) * (model->has_embedding_norm ? 2 : 1);
    count_parts(model, &count);
    count_kinds(model, ledger, &count);
    const int64_t layers = count.total;
    const int64_t active = count.active;
    ledger_say(ledger, "final norm", "", (double)count.final_norm,
               model->has_embedding_norm ? "and embedding norm" : "");
    ledger_say(ledger, "head", "", (double)count.head,
               model->is_headless           ? "there is none"
               : model->has_tied_embeddings ? "tied to the embedding"
                                            : "vocab x hidden");
    count.total = LEDGER_COUNT(ledger, "N, parameters", "",
                               count.embedding + layers + count.final_norm + count.head,
                               LEDGER_TERM(count.embedding, ""), LEDGER_TERM(layers, "of layers"),
                               LEDGER_TERM(count.final_norm, ""), LEDGER_TERM(count.head, ""));
    count.active = LEDGER_COUNT(model->experts > 0 ? ledger : NULL, "of them active", "",
                                count.embedding + active + count.final_norm + count.head,
                                LEDGER_TERM(count.embedding, ""), LEDGER_TERM(active, "of layers"),
                                LEDGER_TERM(count.final_norm, ""), LEDGER_TERM(count.head, ""));
    return count;
}

struct parameter_count cost_parameters(const struct model *model)
{
    return cost_count_parameters(model, NULL);
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

int64_t cost_reach(const struct layer_kind *kind, int64_t tokens)
{
    return kind->document > 0 && kind->document < tokens ? kind->document : tokens;
}

/* The first w queries see 1, 2, ... w keys, each of the others w: a mean of
 * (w (w + 1) / 2 + (s - w) w) / s. Without a window the convention s / 2 of all papers. */
double cost_mean_keys(const struct layer_kind *kind, int64_t tokens)
{
    const int64_t reach = cost_reach(kind, tokens);
    const double s = (double)reach;
    const double w = (double)kind->window;
    const bool has_window = kind->window > 0 && kind->window < reach;
    if (!kind->is_causal) {
        return has_window ? w : s;
    }
    return has_window ? (w * (w + 1.0) / 2.0 + (s - w) * w) / s : s / 2.0;
}

double cost_seen_keys(const struct layer_kind *kind, int64_t tokens)
{
    struct layer_kind all = *kind;
    all.window = 0;
    return cost_mean_keys(&all, tokens);
}

/* 2 FLOP a weight, in so many layers. */
static double matrix_flop(struct ledger *ledger, const char *label, double layers, int64_t weights)
{
    return LEDGER_SUM(ledger, label, "GFLOP/token", layers * (2.0 * (double)weights),
                      LEDGER_TERM(layers, "layers"), LEDGER_TERM(weights, ""));
}

/* Scores and values of attention: of each head, queries with `keys` keys. */
static double core_flop(struct ledger *ledger, const char *label, double layers,
                        const struct layer_kind *kind, double keys)
{
    return LEDGER_SUM(ledger, label, "GFLOP/token",
                      layers *
                          (2.0 * (double)(kind->heads * (kind->head_dim + kind->value_dim)) * keys),
                      LEDGER_TERM(layers, "layers"), LEDGER_TERM(kind->heads, "heads"),
                      LEDGER_TERM(kind->head_dim, ""), LEDGER_TERM(kind->value_dim, ""),
                      LEDGER_TERM(keys, "keys"));
}

static void add_experts_flop(const struct model *model, double layers, struct ledger *ledger,
                             struct layer_flop *flop)
{
    const int64_t met = model->experts_per_token * expert_matrices(model, NULL);
    flop->experts += matrix_flop(ledger, "experts' matrices", layers, met);
    flop->router += matrix_flop(ledger, "router, not counted", layers, router_matrix(model, NULL));
    if (model->shared_hidden > 0) {
        flop->shared +=
            matrix_flop(ledger, "shared experts' matrices", layers, shared_matrices(model, NULL));
    }
}

/* Of all keys that a query could attend to, and of those that it does. */
static void add_index_flop(const struct layer_kind *kind, int64_t tokens, double layers,
                           struct ledger *ledger, struct layer_flop *flop)
{
    const double keys = cost_seen_keys(kind, tokens);
    const struct index_flop own =
        cost_mixer_index_flop(kind->mixer, layers, keys, cost_mean_keys(kind, tokens), ledger);
    flop->index += own.forward;
    flop->index_train += own.train;
}

/* Adds what so many layers of a kind cost. */
static void add_layers_flop(const struct model *model, const struct layer_kind *kind,
                            int64_t sequence_length, double layers, struct ledger *ledger,
                            struct layer_flop *flop)
{
    sim_assert(sequence_length > 0);
    const int64_t tokens = cost_tokens(kind, sequence_length);
    const int64_t reach = cost_reach(kind, tokens);
    const bool has_window = kind->window > 0 && kind->window < reach;
    const double keys = (double)(has_window ? kind->window : reach);
    const char *full = of_kind(ledger, model, kind, "attention, full mask");
    const char *causal = of_kind(ledger, model, kind, "attention, causal mask");
    if (layer_mixes(kind)) {
        const char *label = kind->mixer != NULL ? "the mixer's matrices" : "attention's matrices";
        const int64_t apart = kind->has_index ? cost_mixer_detached_weights(kind->mixer) : 0;
        flop->attention_linear += matrix_flop(ledger, of_kind(ledger, model, kind, label), layers,
                                              attention_matrices(kind) - apart);
    }
    flop->latent_up += layer_mixes(kind) ? layers * (2.0 * (double)up_matrices(kind, NULL)) : 0;
    if (kind->has_experts) {
        add_experts_flop(model, layers, ledger, flop);
    } else if (layer_has_mlp(kind)) {
        flop->mlp += matrix_flop(ledger, "MLP's matrices", layers, dense_matrices(kind, NULL));
    }
    if (kind->is_mtp) {
        flop->mtp +=
            matrix_flop(ledger, "MTP's projection", layers, 2 * kind->hidden * kind->hidden);
    }
    if (layer_attends(kind)) {
        flop->core_full += core_flop(ledger, full, layers, kind, keys);
        flop->core_causal += core_flop(ledger, causal, layers, kind, cost_mean_keys(kind, tokens));
    }
    if (layer_mixes(kind) && kind->mixer != NULL) {
        flop->scan += cost_mixer_scan_flop(kind->mixer, layers, ledger);
    }
    if (layer_mixes(kind) && kind->has_index) {
        add_index_flop(kind, tokens, layers, ledger, flop);
    }
}

struct layer_flop cost_layer_flop(const struct model *model, const struct layer_kind *kind,
                                  int64_t sequence_length)
{
    struct layer_flop flop = {0};
    add_layers_flop(model, kind, sequence_length, 1.0, NULL, &flop);
    return flop;
}

/* Tokens of this kind's layers for each token of the sequence, in all its layers. */
static double layer_tokens(const struct layer_kind *kind, int64_t sequence_length)
{
    const double tokens = (double)cost_tokens(kind, sequence_length);
    return (double)kind->layers * (tokens / (double)sequence_length);
}

static struct layer_flop module_flop(const struct model *model, int64_t sequence_length,
                                     struct ledger *ledger)
{
    struct layer_flop sum = {0};
    sim_assert(model->kind_count > 0);
    for (uint32_t i = 0; i < model->kind_count; i++) {
        const struct layer_kind *kind = &model->kinds[i];
        const double layers = layer_tokens(kind, sequence_length);
        add_layers_flop(model, kind, sequence_length, layers, ledger, &sum);
    }
    return sum;
}

struct layer_flop cost_module_flop(const struct model *model, int64_t sequence_length)
{
    return module_flop(model, sequence_length, NULL);
}

/* Once for the loss, and once for each layer of MTP; not at all without a head. */
static double logits_flop(const struct model *model, int64_t vocab, struct ledger *ledger)
{
    const double heads = model->is_headless ? 0.0 : (double)(1 + model->mtp_layers);
    return LEDGER_SUM(heads > 0 ? ledger : NULL, "logits", "GFLOP/token",
                      heads * 2.0 * (double)model->hidden * (double)vocab, LEDGER_TERM(heads, ""),
                      LEDGER_TERM(model->hidden, ""), LEDGER_TERM(vocab, "vocab"));
}

struct token_flop cost_count_flop(const struct model *model, int64_t sequence_length,
                                  struct ledger *ledger)
{
    const struct layer_flop sum = module_flop(model, sequence_length, ledger);
    const double linear = LEDGER_SUM(
        ledger, "matrices", "GFLOP/token",
        sum.attention_linear + sum.mlp + sum.experts + sum.shared + sum.mtp,
        LEDGER_TERM(sum.attention_linear, "G"), LEDGER_TERM(sum.mlp, "G"),
        LEDGER_TERM(sum.experts, "G"), LEDGER_TERM(sum.shared, "G"), LEDGER_TERM(sum.mtp, "G"));
    return (struct token_flop){
        .linear = linear,
        .core_full = sum.core_full + sum.scan,
        .core_causal = sum.core_causal + sum.scan,
        .logits = logits_flop(model, model->vocab, ledger),
        .router = sum.router,
        .index = sum.index,
        .index_train = sum.index_train,
    };
}

struct token_flop cost_token_flop(const struct model *model, int64_t sequence_length)
{
    return cost_count_flop(model, sequence_length, NULL);
}

/* Forward and backward; frozen weights have no gradients. */
static double train_flop(const struct token_flop *flop, double core, double frozen,
                         const char *label, struct ledger *ledger)
{
    const bool has_index = flop->index_train > 0;
    const double whole =
        LEDGER_SUM(ledger, has_index ? ledger_text(ledger, "%s, but indexes", label) : label,
                   "GFLOP/token", 3.0 * (flop->linear + core + flop->logits) - frozen,
                   LEDGER_TERM(flop->linear, "G"), LEDGER_TERM(core, "G"),
                   LEDGER_TERM(flop->logits, "G"), LEDGER_TERM(frozen, "G of frozen weights"));
    if (!has_index) {
        return whole;
    }
    const double index = frozen > 0 ? flop->index : flop->index_train;
    return LEDGER_SUM(ledger, label, "GFLOP/token", whole + index, LEDGER_TERM(whole, "G"),
                      LEDGER_TERM(index, "G of indexes"));
}

double cost_train_flop_causal(const struct token_flop *flop)
{
    return train_flop(flop, flop->core_causal, 0.0, "", NULL);
}

double cost_train_flop_full(const struct token_flop *flop)
{
    return train_flop(flop, flop->core_full, 0.0, "", NULL);
}

double cost_frozen_flop(const struct token_flop *flop)
{
    return flop->linear + flop->logits;
}

struct train_flop cost_count_train_flop(const struct token_flop *flop, bool is_frozen,
                                        struct ledger *ledger)
{
    const double frozen = is_frozen ? cost_frozen_flop(flop) : 0.0;
    struct train_flop sum = {0};
    sum.causal = train_flop(flop, flop->core_causal, frozen, "forward + backward", ledger);
    sum.full = train_flop(flop, flop->core_full, frozen, "with the full mask", ledger);
    return sum;
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
        const bool counts = !kind->is_mtp && layer_attends(kind);
        flop += counts ? layer_tokens(kind, sequence_length) * 6.0 * widths * keys : 0.0;
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
        flop.logits = logits_flop(model, cost_padded_vocab(model, tp), NULL);
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
