/* Section 1 of `stoker explain`: parameters and FLOPs of the model, as
 * plan/cost counts them.
 */
#include "report/explain/explain_sections.h"
#include "report/explain/explain_text.h"

#include "base/arena.h"
#include "plan/cost.h"
#include "train/step.h"

/* ---- records ------------------------------------------------------------------- */

static const struct ledger *record_parameters(const struct explanation *explanation)
{
    const struct model *model = &explanation->scenario->model;
    struct ledger *ledger = ledger_new(explanation->arena);
    const struct parameter_count count = cost_count_parameters(model, ledger);
    const double advertised = model->advertised_parameters;
    if (advertised > 0) {
        ledger_say(
            ledger, "advertised", "", advertised,
            ledger_text(ledger, "N has %+.2f %%", 100 * ((double)count.total / advertised - 1)));
    }
    return ledger;
}

/* The numerators of papers beside ours; the one that was asked for is marked. */
static void add_conventions(const struct explanation *explanation, struct ledger *ledger)
{
    static const char *const formulas[FLOP_CONVENTION_COUNT_] = {
        [FLOP_MEGATRON] = "padded vocabulary, norms of latent attention",
        [FLOP_PALM] = "6 N + 12 L H Q T",
        [FLOP_6ND] = "6 N",
    };
    const struct result *result = explanation->result;
    for (uint32_t i = FLOP_CAUSAL + 1; i < FLOP_CONVENTION_COUNT_; i++) {
        const enum flop_convention convention = (enum flop_convention)i;
        ledger_say(ledger, ledger_text(ledger, "as %s counts", flop_convention_names[i]),
                   "GFLOP/token", result_flop_by(result, convention),
                   ledger_text(ledger, "%s: mfu %.2f %%%s", formulas[i],
                               100 * result_mfu_by(result, convention),
                               i == result->mfu_convention ? " (asked for)" : ""));
    }
}

/* FLOPs of a token, and of a step. */
static const struct ledger *record_flop(const struct explanation *explanation)
{
    const struct scenario *scenario = explanation->scenario;
    struct ledger *ledger = ledger_new(explanation->arena);
    struct step_result step = explanation->result->step;
    step_count_flop(scenario, ledger, &step);
    const double tokens = (double)step.model_flop_tokens;
    const double causal = step.flop_per_token_causal;
    const double parameters = (double)cost_parameters(&scenario->model).active;
    LEDGER_SUM(ledger, "a step", "PFLOP", tokens * causal, LEDGER_TERM(tokens, "tokens"),
               LEDGER_TERM(causal, "G"));
    LEDGER_SUM(ledger, "6 N D, beside it", "PFLOP", 6 * parameters * tokens,
               LEDGER_TERM(parameters, "parameters"), LEDGER_TERM(tokens, "tokens"));
    ledger_remark(ledger, ledger_text(ledger, "%+.1f %%", 100 * (6 * parameters / causal - 1)));
    add_conventions(explanation, ledger);
    return ledger;
}

/* ---- the section ----------------------------------------------------------------- */

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
    struct arena *arena = explanation->arena;
    explain_print_ledger(record_parameters(explanation), arena, out);
    explain_print_ledger(record_flop(explanation), arena, out);
}

void explain_model_json(const struct explanation *explanation, struct json *json)
{
    const struct scenario *scenario = explanation->scenario;
    const struct model *model = &scenario->model;
    const struct step_result *step = &explanation->result->step;
    const struct parameter_count count = cost_parameters(model);
    const struct token_flop flop = cost_token_flop(model, scenario->batch.sequence_length);
    const struct layer_flop modules = cost_module_flop(model, scenario->batch.sequence_length);
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
    json_object_open(json, "modules");
    json_number(json, "attention_linear", modules.attention_linear);
    json_number(json, "mlp", modules.mlp);
    json_number(json, "experts", modules.experts);
    json_number(json, "shared_experts", modules.shared);
    json_number(json, "mtp_projection", modules.mtp);
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
    explain_put_ledger("parameter_sums", record_parameters(explanation), explanation->arena, json);
    explain_put_ledger("sums", record_flop(explanation), explanation->arena, json);
}
