/* Section 1 of `stoker explain`: parameters and FLOPs of the model, as plan/cost counts them. */
#include "input/scenario.h"
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
    const struct step_basis basis = step_basis_of(scenario);
    step_count_flop(&basis, ledger, &step);
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

static void say_rules(const struct model *model, struct sheet *in)
{
    const char *attention = model->latent.kv_rank > 0
                                ? "those of latent attention (down to ranks, up to heads, "
                                  "projection) and hidden x "
                                : "hidden x ((heads + 2 kv heads) x head size + heads x head size "
                                  "+ ";
    explain_paragraph(
        in, 2,
        "%s: a layer's matrices are %s%s x ffn%s. %sEach parameter of a matrix costs 2 FLOP a "
        "token, a backward pass twice its forward pass.",
        model->title, attention, model->mlp == MLP_SWIGLU ? "3 (gate, up, down)" : "2",
        model->latent.kv_rank > 0 ? "" : ")",
        model->experts > 0 ? "A layer with experts has one such MLP for each of them, and a "
                             "router. "
                           : "");
}

static void put_conventions(struct sheet *in, const char *key, const struct result *result,
                            double (*value_by)(const struct result *, enum flop_convention))
{
    struct sheet *object = sheet_object(in, key);
    for (uint32_t i = 0; i < FLOP_CONVENTION_COUNT_; i++) {
        sheet_number(object, flop_convention_names[i], value_by(result, (enum flop_convention)i));
    }
}

void explain_model(const struct explanation *explanation, struct sheet *in)
{
    const struct model *model = &explanation->scenario->model;
    const int64_t length = explanation->scenario->batch.sequence_length;
    const struct step_result *step = &explanation->result->step;
    const struct parameter_count count = cost_parameters(model);
    const struct token_flop flop = cost_token_flop(model, length);
    const struct layer_flop modules = cost_module_flop(model, length);
    sheet_text(in, "name", model->name);
    struct sheet *parameters = sheet_object(in, "parameters");
    sheet_integer(parameters, "embedding", count.embedding);
    sheet_integer(parameters, "layers", model->layers);
    sheet_integer(parameters, "layer", count.layer);
    sheet_integer(parameters, "layer_matrix", count.layer_matrix);
    sheet_integer(parameters, "expert_layers", model_expert_layers(model, 0, model->layers));
    sheet_integer(parameters, "expert_layer", count.moe_layer);
    sheet_integer(parameters, "expert_layer_matrix", count.moe_matrix);
    sheet_integer(parameters, "router", count.router);
    sheet_integer(parameters, "expert", count.expert);
    sheet_integer(parameters, "final_norm", count.final_norm);
    sheet_integer(parameters, "head", count.head);
    sheet_integer(parameters, "total", count.total);
    sheet_integer(parameters, "active", count.active);
    sheet_integer(parameters, "blocks", count.blocks);
    sheet_integer(parameters, "mtp", count.mtp);
    sheet_number(parameters, "advertised", model->advertised_parameters);
    struct sheet *forward = sheet_object(in, "forward_flop_per_token");
    sheet_number(forward, "linear", flop.linear);
    sheet_number(forward, "attention_full", flop.core_full);
    sheet_number(forward, "attention_causal", flop.core_causal);
    sheet_number(forward, "logits", flop.logits);
    struct sheet *by_module = sheet_object(forward, "modules");
    sheet_number(by_module, "attention_linear", modules.attention_linear);
    sheet_number(by_module, "mlp", modules.mlp);
    sheet_number(by_module, "experts", modules.experts);
    sheet_number(by_module, "shared_experts", modules.shared);
    sheet_number(by_module, "mtp_projection", modules.mtp);
    sheet_number(forward, "router", flop.router);
    put_conventions(in, "flop_per_token_by_convention", explanation->result, result_flop_by);
    put_conventions(in, "mfu_by_convention", explanation->result, result_mfu_by);
    sheet_text(in, "mfu_convention", flop_convention_names[explanation->result->mfu_convention]);
    sheet_number(in, "flop_per_token_causal", step->flop_per_token_causal);
    sheet_number(in, "flop_per_token_full", step->flop_per_token_full);
    sheet_number(in, "hardware_flop_per_token", step->hardware_flop_per_token);
    sheet_integer(in, "tokens_per_step", step->model_flop_tokens);
    sheet_number(in, "flop_per_step",
                 (double)step->model_flop_tokens * step->flop_per_token_causal);
    sheet_number(in, "flop_per_step_6nd",
                 6 * (double)count.active * (double)step->model_flop_tokens);
    say_rules(model, in);
    explain_ledger(in, "parameter_sums", record_parameters(explanation));
    explain_ledger(in, "sums", record_flop(explanation));
}
