/* Section 1 of `stoker explain`: parameters and FLOPs of the model, as
 * plan/cost counts them.
 */
#include "report/explain/explain_sections.h"
#include "report/explain/explain_text.h"

#include "base/arena.h"
#include "plan/cost.h"

#include <inttypes.h>

/* "4,096 x ((32 + 2 x 8) x 128 + 32 x 128": attention's matrices, without the last parenthesis;
 * those of latent attention have lines of their own (add_latent). */
static const char *attention_formula(struct arena *arena, const struct model *model)
{
    return arena_printf(
        arena, "%s x ((%" PRId64 " + 2 x %" PRId64 ") x %" PRId64 " + %" PRId64 " x %" PRId64,
        explain_count(arena, model->hidden), model->heads, model->kv_heads, model->head_dim,
        model->heads, model->head_dim);
}

/* The same with the MLP's: the matrices of a layer. */
static const char *matrices_formula(struct arena *arena, const struct model *model)
{
    const int rows = model->mlp == MLP_SWIGLU ? 3 : 2;
    const char *ffn = explain_count(arena, model->ffn_hidden);
    return model->latent.kv_rank > 0
               ? arena_printf(arena, "latent attention + %s x %d x %s",
                              explain_count(arena, model->hidden), rows, ffn)
               : arena_printf(arena, "%s + %d x %s)", attention_formula(arena, model), rows, ffn);
}

/* Down- and up-projections of latent attention, and the projection. */
static void add_latent(const struct explanation *explanation, struct sums *sums)
{
    struct arena *arena = explanation->arena;
    const struct model *model = &explanation->scenario->model;
    const struct latent *latent = &model->latent;
    const char *hidden = explain_count(arena, model->hidden);
    const int64_t head = latent->nope_dim + latent->rope_dim;
    const int64_t q_in = latent->q_rank > 0 ? latent->q_rank : model->hidden;
    const int64_t up = latent->nope_dim + latent->value_dim;
    const int64_t kv_down = model->hidden * (latent->kv_rank + latent->rope_dim);
    sums_add(sums, "queries", "%s%" PRId64 " x %" PRId64 " x (%" PRId64 " + %" PRId64 ")",
             latent->q_rank > 0 ? arena_printf(arena, "%s x %" PRId64 " + ", hidden, q_in) : "",
             q_in, model->heads, latent->nope_dim, latent->rope_dim);
    sums_is(sums, "", "%s",
            explain_count(arena, model->hidden * latent->q_rank + q_in * model->heads * head));
    sums_add(sums, "keys and values",
             "%s x (%" PRId64 " + %" PRId64 ") + %" PRId64 " x %" PRId64 " x (%" PRId64
             " + %" PRId64 ")",
             hidden, latent->kv_rank, latent->rope_dim, latent->kv_rank, model->heads,
             latent->nope_dim, latent->value_dim);
    sums_is(sums, "", "%s", explain_count(arena, kv_down + latent->kv_rank * model->heads * up));
    sums_add(sums, "projection", "%" PRId64 " x %" PRId64 " x %s", model->heads, latent->value_dim,
             hidden);
    sums_is(sums, "", "%s", explain_count(arena, model->heads * latent->value_dim * model->hidden));
}

/* A routed expert, and those that every token goes through. */
static const char *expert_formula(struct arena *arena, const struct model *model)
{
    return arena_printf(arena, "%s x %d x %s", explain_count(arena, model->hidden),
                        model->mlp == MLP_SWIGLU ? 3 : 2,
                        explain_count(arena, model->expert_hidden));
}

static const char *embedding_formula(struct arena *arena, const struct model *model)
{
    const char *table = arena_printf(arena, "%s vocab x %s", explain_count(arena, model->vocab),
                                     explain_count(arena, model->hidden));
    if (model->positions != POSITION_LEARNED) {
        return table;
    }
    return arena_printf(arena, "%s + %s positions x %s", table,
                        explain_count(arena, model->max_positions),
                        explain_count(arena, model->hidden));
}

static void add_dense_layers(const struct explanation *explanation, int64_t layers,
                             struct sums *sums)
{
    struct arena *arena = explanation->arena;
    const struct model *model = &explanation->scenario->model;
    const struct parameter_count count = cost_parameters(model);
    const char *layer = explain_count(arena, count.layer);
    sums_add(sums, "matrices of a layer", "%s", matrices_formula(arena, model));
    sums_is(sums, "", "%s", explain_count(arena, count.layer_matrix));
    sums_add(sums, "a layer", "+ %s norms%s",
             explain_count(arena, count.layer - count.layer_matrix),
             model->has_qkv_biases ? " and biases" : "");
    sums_is(sums, "", "%s", layer);
    sums_add(sums, model->experts > 0 ? "dense layers" : "layers", "%" PRId64 " x %s", layers,
             layer);
    sums_is(sums, "", "%s", explain_count(arena, layers * count.layer));
}

static void add_expert_layers(const struct explanation *explanation, int64_t layers,
                              struct sums *sums)
{
    struct arena *arena = explanation->arena;
    const struct model *model = &explanation->scenario->model;
    const struct parameter_count count = cost_parameters(model);
    const char *layer = explain_count(arena, count.moe_layer);
    const int64_t others = cost_moe_dense_parameters(model, &count) - count.moe_matrix;
    sums_add(sums, "an expert", "%s%s", expert_formula(arena, model),
             model->has_mlp_biases ? " and biases" : "");
    sums_is(sums, "", "%s", explain_count(arena, count.expert));
    sums_add(sums, "attention of a layer", "%s%s",
             model->latent.kv_rank > 0
                 ? "latent attention"
                 : arena_printf(arena, "%s)", attention_formula(arena, model)),
             model->shared_experts > 0
                 ? arena_printf(arena, " + %" PRId64 " shared experts", model->shared_experts)
                 : "");
    sums_is(sums, "", "%s", explain_count(arena, count.moe_matrix));
    sums_add(sums, "a layer with experts", "+ %" PRId64 " experts + %s router, norms%s",
             model->experts, explain_count(arena, others), model->has_qkv_biases ? ", biases" : "");
    sums_is(sums, "", "%s", layer);
    sums_add(sums, "layers with experts", "%" PRId64 " x %s", layers, layer);
    sums_is(sums, "", "%s", explain_count(arena, layers * count.moe_layer));
}

static void add_blocks(const struct explanation *explanation, struct sums *sums)
{
    struct arena *arena = explanation->arena;
    const struct model *model = &explanation->scenario->model;
    for (uint32_t i = 0; i < model->block_kinds; i++) {
        const struct layer_kind *kind = &model->kinds[i];
        const int64_t layer = cost_layer(model, kind).total;
        sums_add(sums, arena_printf(arena, "%s layers", kind->name), "%" PRId64 " x %s",
                 kind->layers, explain_count(arena, layer));
        sums_is(sums, "", "%s", explain_count(arena, kind->layers * layer));
    }
}

/* Beside N: models are named without it. */
static void add_mtp(const struct explanation *explanation, const struct parameter_count *count,
                    struct sums *sums)
{
    struct arena *arena = explanation->arena;
    const struct model *model = &explanation->scenario->model;
    if (model->mtp_layers > 0) {
        sums_add(sums, "multi-token prediction",
                 "beside N: %" PRId64 " x (a layer + 2 x %s x %s + 3 norms)", model->mtp_layers,
                 explain_count(arena, model->hidden), explain_count(arena, model->hidden));
        sums_is(sums, "", "%s", explain_count(arena, count->mtp));
    }
}

static void add_parameters(const struct explanation *explanation, struct sums *sums)
{
    struct arena *arena = explanation->arena;
    const struct model *model = &explanation->scenario->model;
    const struct parameter_count count = cost_parameters(model);
    sums_add(sums, "embedding", "%s", embedding_formula(arena, model));
    sums_is(sums, "", "%s", explain_count(arena, count.embedding));
    const int64_t with_experts = model_expert_layers(model, 0, model->layers);
    const int64_t dense = model->layers - model->block_layers - with_experts;
    add_blocks(explanation, sums);
    if (model->latent.kv_rank > 0) {
        add_latent(explanation, sums);
    }
    if (dense > 0) {
        add_dense_layers(explanation, dense, sums);
    }
    if (with_experts > 0) {
        add_expert_layers(explanation, with_experts, sums);
    }
    sums_add(sums, "final norm", "%s", model->has_embedding_norm ? "and embedding norm" : "");
    sums_is(sums, "", "%s", explain_count(arena, count.final_norm));
    sums_add(sums, "head", "%s", model->has_tied_embeddings ? "tied to the embedding" : "");
    sums_is(sums, "", "%s", explain_count(arena, count.head));
    const double advertised = model->advertised_parameters;
    if (advertised > 0) {
        sums_add(sums, "N, parameters", "advertised %s: %+.2f %%",
                 number_billions(arena, advertised), 100 * ((double)count.total / advertised - 1));
    } else {
        sums_add(sums, "N, parameters", "embedding + layers + norms + head");
    }
    sums_is(sums, "", "%s", explain_count(arena, count.total));
    if (model->experts > 0) {
        sums_add(sums, "of them active", "a token meets %" PRId64 " of %" PRId64 " experts%s",
                 model->experts_per_token, model->experts,
                 model->shared_experts > 0 ? " and the shared ones" : "");
        sums_is(sums, "", "%s", explain_count(arena, count.active));
    }
    add_mtp(explanation, &count, sums);
}

struct module_row {
    const char *key;   /* in JSON */
    const char *title; /* for people */
    const char *formula;
    double flop;
};

#define MODULES_MAX 6

/* The parts of "matrices", in the order of a layer; those that the model does not have are 0. */
static void list_modules(const struct explanation *explanation, struct module_row *rows)
{
    const struct scenario *scenario = explanation->scenario;
    const struct model *model = &scenario->model;
    const struct layer_flop flop = cost_module_flop(model, scenario->batch.sequence_length);
    struct arena *arena = explanation->arena;
    const char *experts = arena_printf(arena, "%" PRId64 " of %" PRId64 " experts a token",
                                       model->experts_per_token, model->experts);
    const struct module_row all[MODULES_MAX] = {
        {"attention_linear", "  attention's",
         model->latent.kv_rank > 0 ? "down, up, projection" : "QKV, projection",
         flop.attention_linear},
        {"mlp", "  MLP's", model->mlp == MLP_SWIGLU ? "gate, up, down" : "two", flop.mlp},
        {"experts", "  experts'", experts, flop.experts},
        {"shared_experts", "  shared experts'", "of every token", flop.shared},
        {"mtp_projection", "  MTP's", "2 h x h, before its layer", flop.mtp},
        {"router", "router, not counted",
         arena_printf(arena, "2 x layers x %s x %" PRId64 " experts",
                      explain_count(arena, model->hidden), model->experts),
         flop.router},
    };
    for (uint32_t i = 0; i < MODULES_MAX; i++) {
        rows[i] = all[i];
    }
}

static void add_module(const struct module_row *row, struct sums *sums)
{
    if (row->flop > 0) {
        sums_add(sums, row->title, "%s", row->formula);
        sums_is(sums, "", "%.6f", row->flop / 1e9);
    }
}

/* "32 layers x 4 x 32 heads x 128 x 8,192 tokens", for each kind of layer. */
static void add_core(const struct explanation *explanation, const struct layer_kind *kind,
                     struct sums *sums)
{
    struct arena *arena = explanation->arena;
    const struct scenario *scenario = explanation->scenario;
    const int64_t length = scenario->batch.sequence_length;
    const int64_t tokens = cost_tokens(kind, length);
    const double share = (double)tokens / (double)length;
    const struct layer_flop flop = cost_layer_flop(&scenario->model, kind, length);
    const char *widths =
        kind->head_dim == kind->value_dim
            ? arena_printf(arena, "4 x %" PRId64 " heads x %" PRId64, kind->heads, kind->head_dim)
            : arena_printf(arena, "2 x %" PRId64 " heads x (%" PRId64 " + %" PRId64 ")",
                           kind->heads, kind->head_dim, kind->value_dim);
    const bool has_window = kind->window > 0 && kind->window < tokens;
    const char *name = scenario->model.kind_count > 1
                           ? arena_printf(arena, "  attention (%s)", kind->name)
                           : "attention, full mask";
    sums_add(sums, name, "%" PRId64 " layers x %s x %s %s", kind->layers, widths,
             explain_count(arena, has_window ? kind->window : tokens),
             has_window ? "keys of the window" : "tokens");
    sums_is(sums, "", "%.6f", (double)kind->layers * share * flop.core_full / 1e9);
}

static bool is_half_causal(const struct model *model)
{
    bool is_half = true;
    for (uint32_t i = 0; i < model->kind_count; i++) {
        is_half = is_half && model->kinds[i].is_causal && model->kinds[i].window == 0;
    }
    return is_half;
}

static void add_forward_flop(const struct explanation *explanation, struct sums *sums)
{
    struct arena *arena = explanation->arena;
    const struct scenario *scenario = explanation->scenario;
    const struct model *model = &scenario->model;
    const struct token_flop flop = cost_token_flop(model, scenario->batch.sequence_length);
    struct module_row modules[MODULES_MAX];
    list_modules(explanation, modules);
    sums_add(sums, "matrices", "2 x the weights that a token meets");
    sums_is(sums, "GFLOP/token", "%.6f", flop.linear / 1e9);
    for (uint32_t i = 0; i + 1 < MODULES_MAX; i++) {
        add_module(&modules[i], sums);
    }
    for (uint32_t i = 0; i < model->kind_count; i++) {
        add_core(explanation, &model->kinds[i], sums);
    }
    if (model->kind_count > 1) {
        sums_add(sums, "attention, full mask", "the sum");
        sums_is(sums, "", "%.6f", flop.core_full / 1e9);
    }
    sums_add(sums, "attention, causal mask", "%s",
             is_half_causal(model) ? "half of it" : "the keys that are seen");
    sums_is(sums, "", "%.6f", flop.core_causal / 1e9);
    sums_add(sums, "logits", "%s2 x %s x %s vocab",
             model->mtp_layers > 0 ? arena_printf(arena, "%" PRId64 " x ", 1 + model->mtp_layers)
                                   : "",
             explain_count(arena, model->hidden), explain_count(arena, model->vocab));
    sums_is(sums, "", "%.6f", flop.logits / 1e9);
    add_module(&modules[MODULES_MAX - 1], sums);
}

/* The numerators of papers beside ours; the one that was asked for is marked. */
static void add_conventions(const struct explanation *explanation, struct sums *sums)
{
    static const char *const formulas[FLOP_CONVENTION_COUNT_] = {
        [FLOP_MEGATRON] = "padded vocabulary, norms of latent attention",
        [FLOP_PALM] = "6 N + 12 L H Q T",
        [FLOP_6ND] = "6 N",
    };
    const struct result *result = explanation->result;
    for (uint32_t i = FLOP_CAUSAL + 1; i < FLOP_CONVENTION_COUNT_; i++) {
        const enum flop_convention convention = (enum flop_convention)i;
        sums_add(sums, arena_printf(explanation->arena, "as %s counts", flop_convention_names[i]),
                 "%s: mfu %.2f %%%s", formulas[i], 100 * result_mfu_by(result, convention),
                 i == result->mfu_convention ? " (asked for)" : "");
        sums_is(sums, i == FLOP_CAUSAL + 1 ? "GFLOP/token" : "", "%.6f",
                result_flop_by(result, convention) / 1e9);
    }
}

static void add_step_flop(const struct explanation *explanation, struct sums *sums)
{
    struct arena *arena = explanation->arena;
    const struct scenario *scenario = explanation->scenario;
    const struct step_result *step = &explanation->result->step;
    const double tokens = (double)step->model_flop_tokens;
    const double parameters = (double)cost_parameters(&scenario->model).active;
    const bool is_frozen = scenario->lora.rank > 0;
    sums_add(sums, "forward + backward",
             is_frozen ? "2 x (matrices + logits) + 3 x causal attention: weights are frozen"
                       : "3 x (matrices + causal attention + logits)");
    sums_is(sums, "", "%.6f", step->flop_per_token_causal / 1e9);
    sums_add(sums, "with the full mask",
             is_frozen ? "2 x (matrices + logits) + 3 x full attention"
                       : "3 x (matrices + full attention + logits)");
    sums_is(sums, "", "%.6f", step->flop_per_token_full / 1e9);
    sums_add(sums, "and what is recomputed", "recompute %s, causal mask",
             recompute_names[scenario->recompute.kind]);
    sums_is(sums, "", "%.6f", step->hardware_flop_per_token / 1e9);
    sums_add(sums, "D, tokens per step", "%s sequences x %s",
             explain_count(arena, scenario->batch.global),
             explain_count(arena, scenario->batch.sequence_length));
    sums_is(sums, "tokens", "%s", explain_count(arena, step->model_flop_tokens));
    sums_add(sums, "a step", "tokens x FLOP a token");
    sums_is(sums, "PFLOP", "%.4f", tokens * step->flop_per_token_causal / 1e15);
    sums_add(sums, "6 N D, beside it", "6 x %sparameters x tokens: %+.1f %%",
             scenario->model.experts > 0 ? "active " : "",
             100 * (6 * parameters / step->flop_per_token_causal - 1));
    sums_is(sums, "PFLOP", "%.4f", 6 * parameters * tokens / 1e15);
    add_conventions(explanation, sums);
}

void explain_model_print(const struct explanation *explanation, FILE *out)
{
    const struct model *model = &explanation->scenario->model;
    const char *attention = model->latent.kv_rank > 0
                                ? "those of latent attention (down to ranks, up to heads, "
                                  "projection) and hidden x "
                                : "hidden x ((heads + 2 kv heads) x head size + heads x head size "
                                  "+ ";
    const char *rule = arena_printf(
        explanation->arena,
        "%s: a layer's matrices are %s%s x ffn%s. %sEach parameter of a matrix costs 2 FLOP a "
        "token, a backward pass twice its forward pass.",
        model->title, attention, model->mlp == MLP_SWIGLU ? "3 (gate, up, down)" : "2",
        model->latent.kv_rank > 0 ? "" : ")",
        model->experts > 0 ? "A layer with experts has one such MLP for each of them, and a "
                             "router. "
                           : "");
    explain_paragraph(out, 2, rule);
    struct sums *sums = sums_new(explanation->arena);
    add_parameters(explanation, sums);
    sums_print(sums, out);
    sums = sums_new(explanation->arena);
    add_forward_flop(explanation, sums);
    add_step_flop(explanation, sums);
    sums_print(sums, out);
}

void explain_model_json(const struct explanation *explanation, struct json *json)
{
    const struct scenario *scenario = explanation->scenario;
    const struct model *model = &scenario->model;
    const struct step_result *step = &explanation->result->step;
    const struct parameter_count count = cost_parameters(model);
    const struct token_flop flop =
        cost_token_flop(&scenario->model, scenario->batch.sequence_length);
    json_text(json, "name", scenario->model.name);
    json_object_open(json, "parameters");
    json_integer(json, "embedding", count.embedding);
    json_integer(json, "layers", scenario->model.layers);
    json_integer(json, "layer", count.layer);
    json_integer(json, "layer_matrix", count.layer_matrix);
    json_integer(json, "expert_layers", model_expert_layers(model, 0, model->layers));
    json_integer(json, "expert_layer", count.moe_layer);
    json_integer(json, "expert_layer_matrix", count.moe_matrix);
    json_integer(json, "router", count.router);
    json_integer(json, "expert", count.expert);
    json_integer(json, "final_norm", count.final_norm);
    json_integer(json, "head", count.head);
    json_integer(json, "total", count.total);
    json_integer(json, "active", count.active);
    json_integer(json, "blocks", count.blocks);
    json_integer(json, "mtp", count.mtp);
    json_number(json, "advertised", scenario->model.advertised_parameters);
    json_object_close(json);
    json_object_open(json, "forward_flop_per_token");
    json_number(json, "linear", flop.linear);
    json_number(json, "attention_full", flop.core_full);
    json_number(json, "attention_causal", flop.core_causal);
    json_number(json, "logits", flop.logits);
    struct module_row modules[MODULES_MAX];
    list_modules(explanation, modules);
    json_object_open(json, "modules");
    for (uint32_t i = 0; i + 1 < MODULES_MAX; i++) {
        json_number(json, modules[i].key, modules[i].flop);
    }
    json_object_close(json);
    json_number(json, "router", flop.router);
    json_object_close(json);
    json_object_open(json, "flop_per_token_by_convention");
    for (uint32_t i = 0; i < FLOP_CONVENTION_COUNT_; i++) {
        json_number(json, flop_convention_names[i],
                    result_flop_by(explanation->result, (enum flop_convention)i));
    }
    json_object_close(json);
    json_object_open(json, "mfu_by_convention");
    for (uint32_t i = 0; i < FLOP_CONVENTION_COUNT_; i++) {
        json_number(json, flop_convention_names[i],
                    result_mfu_by(explanation->result, (enum flop_convention)i));
    }
    json_object_close(json);
    json_text(json, "mfu_convention", flop_convention_names[explanation->result->mfu_convention]);
    json_number(json, "flop_per_token_causal", step->flop_per_token_causal);
    json_number(json, "flop_per_token_full", step->flop_per_token_full);
    json_number(json, "hardware_flop_per_token", step->hardware_flop_per_token);
    json_integer(json, "tokens_per_step", step->model_flop_tokens);
    json_number(json, "flop_per_step",
                (double)step->model_flop_tokens * step->flop_per_token_causal);
    json_number(json, "flop_per_step_6nd",
                6 * (double)count.active * (double)step->model_flop_tokens);
}
