/* Section 1: parameters and FLOPs of the model, as plan/cost counts them. */
#include "cli/explain_sections.h"
#include "cli/explain_text.h"

#include "base/arena.h"
#include "plan/cost.h"

#include <inttypes.h>

/* "4,096 x ((32 + 2 x 8) x 128 + 32 x 128 + 3 x 14,336)": the four matrices of a layer. */
static const char *matrices_formula(struct arena *arena, const struct model *model)
{
    return arena_printf(arena,
                        "%s x ((%" PRId64 " + 2 x %" PRId64 ") x %" PRId64 " + %" PRId64
                        " x %" PRId64 " + %d x %s)",
                        explain_count(arena, model->hidden), model->heads, model->kv_heads,
                        model->head_dim, model->heads, model->head_dim,
                        model->mlp == MLP_SWIGLU ? 3 : 2, explain_count(arena, model->ffn_hidden));
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
             model->has_biases ? " and biases" : "");
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
             model->has_biases ? " and biases" : "");
    sums_is(sums, "", "%s", explain_count(arena, count.expert));
    sums_add(sums, "attention of a layer",
             "%s x ((%" PRId64 " + 2 x %" PRId64 ") x %" PRId64 " + %" PRId64 " x %" PRId64 ")%s",
             explain_count(arena, model->hidden), model->heads, model->kv_heads, model->head_dim,
             model->heads, model->head_dim,
             model->shared_experts > 0
                 ? arena_printf(arena, " + %" PRId64 " shared experts", model->shared_experts)
                 : "");
    sums_is(sums, "", "%s", explain_count(arena, count.moe_matrix));
    sums_add(sums, "a layer with experts", "+ %" PRId64 " experts + %s router, norms%s",
             model->experts, explain_count(arena, others), model->has_biases ? ", biases" : "");
    sums_is(sums, "", "%s", layer);
    sums_add(sums, "layers with experts", "%" PRId64 " x %s", layers, layer);
    sums_is(sums, "", "%s", explain_count(arena, layers * count.moe_layer));
}

static void add_parameters(const struct explanation *explanation, struct sums *sums)
{
    struct arena *arena = explanation->arena;
    const struct model *model = &explanation->scenario->model;
    const struct parameter_count count = cost_parameters(model);
    sums_add(sums, "embedding", "%s", embedding_formula(arena, model));
    sums_is(sums, "", "%s", explain_count(arena, count.embedding));
    const int64_t with_experts = model_expert_layers(model, 0, model->layers);
    if (with_experts < model->layers) {
        add_dense_layers(explanation, model->layers - with_experts, sums);
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
}

/* "2 x 32 layers x 218,103,808": of experts those that a token is sent to. */
static const char *linear_formula(struct arena *arena, const struct model *model)
{
    const struct parameter_count count = cost_parameters(model);
    const int64_t with_experts = model_expert_layers(model, 0, model->layers);
    const char *dense =
        with_experts < model->layers
            ? arena_printf(arena, "%" PRId64 " layers x %s", model->layers - with_experts,
                           explain_count(arena, count.layer_matrix))
            : "";
    if (with_experts == 0) {
        return arena_printf(arena, "2 x %s", dense);
    }
    return arena_printf(arena, "2 x (%s%s%" PRId64 " layers x (%s + %" PRId64 " x %s))", dense,
                        dense[0] != '\0' ? " + " : "", with_experts,
                        explain_count(arena, count.moe_matrix), model->experts_per_token,
                        expert_formula(arena, model));
}

static void add_forward_flop(const struct explanation *explanation, struct sums *sums)
{
    struct arena *arena = explanation->arena;
    const struct scenario *scenario = explanation->scenario;
    const struct model *model = &scenario->model;
    const struct token_flop flop = cost_token_flop(model, scenario->batch.sequence_length);
    const char *attention = arena_printf(
        arena, "%" PRId64 " layers x 4 x %" PRId64 " heads x %" PRId64 " x %s", model->layers,
        model->heads, model->head_dim, explain_count(arena, scenario->batch.sequence_length));
    sums_add(sums, "matrices", "%s", linear_formula(arena, model));
    sums_is(sums, "GFLOP/token", "%.6f", flop.linear / 1e9);
    sums_add(sums, "attention, full mask", "%s tokens", attention);
    sums_is(sums, "", "%.6f", flop.core_full / 1e9);
    sums_add(sums, "attention, causal mask", "half of it");
    sums_is(sums, "", "%.6f", flop.core_causal / 1e9);
    sums_add(sums, "logits", "2 x %s x %s vocab", explain_count(arena, model->hidden),
             explain_count(arena, model->vocab));
    sums_is(sums, "", "%.6f", flop.logits / 1e9);
    if (flop.router > 0) {
        sums_add(sums, "router, not counted", "2 x layers x %s x %" PRId64 " experts",
                 explain_count(arena, model->hidden), model->experts);
        sums_is(sums, "", "%.6f", flop.router / 1e9);
    }
}

static void add_step_flop(const struct explanation *explanation, struct sums *sums)
{
    struct arena *arena = explanation->arena;
    const struct scenario *scenario = explanation->scenario;
    const struct step_result *step = &explanation->result->step;
    const double tokens = (double)step->model_flop_tokens;
    const double parameters = (double)cost_parameters(&scenario->model).active;
    sums_add(sums, "forward + backward", "3 x (matrices + causal attention + logits)");
    sums_is(sums, "", "%.6f", step->flop_per_token_causal / 1e9);
    sums_add(sums, "with the full mask", "3 x (matrices + full attention + logits)");
    sums_is(sums, "", "%.6f", step->flop_per_token_full / 1e9);
    sums_add(sums, "and what is recomputed", "recompute %s, causal mask",
             recompute_names[scenario->recompute]);
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
}

void explain_model_print(const struct explanation *explanation, FILE *out)
{
    const struct model *model = &explanation->scenario->model;
    const char *rule = arena_printf(
        explanation->arena,
        "%s: a layer's matrices are hidden x ((heads + 2 kv heads) x head size + heads x head size "
        "+ %s x ffn). %sEach parameter of a matrix costs 2 FLOP a token, a backward pass twice its "
        "forward pass.",
        model->title, model->mlp == MLP_SWIGLU ? "3 (gate, up, down)" : "2",
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
    json_number(json, "advertised", scenario->model.advertised_parameters);
    json_object_close(json);
    json_object_open(json, "forward_flop_per_token");
    json_number(json, "linear", flop.linear);
    json_number(json, "attention_full", flop.core_full);
    json_number(json, "attention_causal", flop.core_causal);
    json_number(json, "logits", flop.logits);
    json_number(json, "router", flop.router);
    json_object_close(json);
    json_number(json, "flop_per_token_causal", step->flop_per_token_causal);
    json_number(json, "flop_per_token_full", step->flop_per_token_full);
    json_number(json, "hardware_flop_per_token", step->hardware_flop_per_token);
    json_integer(json, "tokens_per_step", step->model_flop_tokens);
    json_number(json, "flop_per_step",
                (double)step->model_flop_tokens * step->flop_per_token_causal);
    json_number(json, "flop_per_step_6nd",
                6 * (double)count.active * (double)step->model_flop_tokens);
}
