/* One scenario after the other, each with one setting more, resolved again from the document and
 * simulated. Cost: a step for each row that arises, mostly five to ten. */
#include "study/unsaid.h"

#include "base/arena.h"
#include "input/features/features_used.h"
#include "input/recipe.h"
#include "input/scenario.h"
#include "input/scenario_load.h"
#include "plan/memory/memory.h"
#include "train/step.h"
#include "train/step_memo.h"

#include <math.h>
#include <string.h>

/* ---- when a question arises ----------------------------------------------------------------- */

static bool is_cut(const struct scenario *scenario)
{
    return scenario->parallel.tp > 1;
}

static bool has_replicas(const struct scenario *scenario)
{
    return scenario->parallel.dp * scenario->parallel.cp > 1;
}

static bool has_experts(const struct scenario *scenario)
{
    return scenario->model.experts > 0;
}

static bool spreads_experts(const struct scenario *scenario)
{
    return scenario->parallel.ep > 1;
}

static bool has_context(const struct scenario *scenario)
{
    return scenario->parallel.cp > 1;
}

static bool is_fp8(const struct scenario *scenario)
{
    return scenario->precision == PRECISION_FP8;
}

static bool is_wide(const struct scenario *scenario)
{
    return scenario->parallel.zero < 3 && has_replicas(scenario);
}

static bool always(const struct scenario *scenario)
{
    (void)scenario;
    return true;
}

static bool has_products(const struct scenario *scenario)
{
    return scenario->model.experts > 0 && scenario->software.fuses_experts;
}

/* ---- the table ------------------------------------------------------------------------------ */

/* Who asks: unsaid_ask a few, and who seeks why a measured step is another than predicted all. */
enum asker { ALL, WHY };

static const struct question {
    const char *name;
    const char *key, *value; /* key "recipe": all that the recipe `value` sets */
    bool (*arises)(const struct scenario *scenario);
    const char *with; /* a second setting, that the first wants; NULL: none */
    enum asker asker;
} questions[] = {
    {"CUDA graphs of layers", "software.host.graphs", "[layers]", always, NULL, ALL},
    {"one CUDA graph", "software.host.graphs", "[iteration]", always, NULL, ALL},
    {"no CUDA graphs", "software.host.graphs", "[none]", always, NULL, ALL},
    {"FlashAttention 2", "software.attention", "fa2", always, NULL, ALL},
    {"FlashAttention 3", "software.attention", "fa3", always, NULL, ALL},
    {"cuDNN's attention", "software.attention", "cudnn", always, NULL, ALL},
    {"gradients in bf16", "optimizer.gradients", "bf16", has_replicas, NULL, ALL},
    {"gradients in fp32", "optimizer.gradients", "fp32", has_replicas, NULL, ALL},
    {"fp8, delayed scaling", "software.fp8.recipe", "delayed", is_fp8, NULL, ALL},
    {"fp8, current scaling", "software.fp8.recipe", "current", is_fp8, NULL, ALL},
    {"fp8, scaled by blocks", "software.fp8.recipe", "blockwise", is_fp8, NULL, ALL},
    {"tp overlapped in pieces", "software.overlap.tp_pieces", "4", is_cut, NULL, ALL},
    {"gradients reduced at the end", "software.overlap.dp_gradients", "false", has_replicas, NULL,
     ALL},
    {"gradients reduced beside", "software.overlap.dp_gradients", "true", has_replicas, NULL, ALL},
    {"parameters gathered at the end", "software.overlap.dp_parameters", "false", is_wide, NULL,
     ALL},
    {"parameters gathered beside", "software.overlap.dp_parameters", "true", is_wide, NULL, ALL},
    {"cp by a ring", "parallel.cp_type", "ring", has_context, NULL, ALL},
    {"cp by all-to-all", "parallel.cp_type", "ulysses", has_context, NULL, ALL},
    {"tokens sent once to a GPU", "software.experts.exchange", "tokens", spreads_experts, NULL,
     ALL},
    {"tokens sent to each expert", "software.experts.exchange", "copies", spreads_experts, NULL,
     ALL},
    {"exchanges beside compute", "parallel.overlap_experts", "true", spreads_experts, NULL, ALL},
    {"experts as one product", "software.fusion.experts", "true", has_experts, NULL, ALL},
    {"experts used unevenly", "routing.distribution", "lognormal", spreads_experts,
     "routing.spread=0.3", ALL},
    {"a router by auxiliary loss", "recipe", "router-auxiliary-loss", spreads_experts, NULL, WHY},
    {"a released model's router", "recipe", "router-checkpoint", spreads_experts, NULL, WHY},
    {"experts product by product", "software.fusion.experts", "false", has_products, NULL, WHY},
    {"kernels not fused", "recipe", "kernels-eager", always, NULL, WHY},
    {"kernels of apex", "recipe", "kernels-apex", always, NULL, WHY},
    {"kernels compiled", "recipe", "kernels-compiled", always, NULL, WHY},
    {"kernels of TransformerEngine", "recipe", "kernels-te", always, NULL, WHY},
    {"attention not fused", "software.attention", "unfused", always, NULL, WHY},
    {"a host that waits for kernels", "software.host.blocking", "true", always, NULL, WHY},
    {"products in TF32", "precision", "tf32", always, NULL, WHY},
    {"full recomputation", "recompute", "full", always, NULL, WHY},
    {"selective recomputation", "recompute", "selective", always, NULL, WHY},
    {"cross-entropy in chunks", "loss.kind", "chunked", always, NULL, WHY},
};
enum { QUESTIONS = sizeof questions / sizeof *questions };

/* ---- one of them ---------------------------------------------------------------------------- */

struct asking {
    const struct catalogue *catalogue;
    const struct result *result;
    struct step_memo *memo;
    struct arena *arena; /* of one question at a time */
    int64_t now_ns;      /* the step as it is */
};

/* What a profile says, nobody said who chose it by its name. */
static bool is_key_open(const struct scenario *scenario, const char *key)
{
    const struct doc_node *node = doc_find(scenario->document, key);
    return node == NULL ||
           strstr(node->place.file, catalogue_folders[CATALOGUE_SOFTWARE]) != NULL ||
           (!scenario->says_features && strncmp(key, "software.", 9) == 0);
}

static bool is_open(const struct scenario *scenario, const struct question *question)
{
    return question->arises(scenario) && is_key_open(scenario, question->key);
}

/* NULL: it cannot be, or the release has it not. */
static const struct scenario *changed(const struct asking *asking, const struct question *question)
{
    const struct scenario *now = asking->result->scenario;
    const char *sets[2] = {arena_printf(asking->arena, "%s=%s", question->key, question->value),
                           question->with};
    const struct scenario *then =
        scenario_resolve(asking->arena, now->document, asking->catalogue, sets,
                         question->with != NULL ? 2 : 1, diag_new(asking->arena));
    return then != NULL && then->gpus == now->gpus && features_hold_changed(now, then) &&
                   memory_check(then).fits
               ? then
               : NULL;
}

/* In the run of the ensemble that was predicted: what is alike in both steps is alike. */
static struct step_result simulate(const struct asking *asking, const struct scenario *scenario)
{
    struct step_result step;
    const struct ensemble_member member = {(uint64_t)scenario->seed,
                                           asking->result->step.spread.median};
    const struct step_request request = {
        .folds = true, .member = &member, .is_for_length = true, .memo = asking->memo};
    step_simulate(asking->arena, scenario, &request, &step);
    return step;
}

/* What the step becomes, as a share of what it is; 0: it stays, or cannot be. */
static double moves_of(const struct asking *asking, const struct question *question)
{
    const struct scenario *then = changed(asking, question);
    double share = 0;
    if (then != NULL) {
        const struct step_result step = simulate(asking, then);
        share = (double)step.step_ns / (double)asking->now_ns - 1;
    }
    arena_reset(asking->arena);
    return share;
}

static bool can_be_asked(const struct result *result)
{
    const struct scenario *scenario = result->scenario;
    return result_has_step(result) && scenario->document != NULL &&
           scenario->neighbour_count == 0 && scenario->plan.stage_count == 0 &&
           !scenario->anchor.is_given && !(scenario->step_time_s > 0);
}

/* Equals stay in their order. */
static void insert(struct unsaid *list, uint32_t count, struct unsaid item)
{
    while (count > 0 && fabs(list[count - 1].moves) < fabs(item.moves)) {
        list[count] = list[count - 1];
        count--;
    }
    list[count] = item;
}

/* Of one GPU of each class, whether the run had all of them or not: what it says is the same. One
 * that had so many tasks with such alone need not be simulated again to say so. */
static bool is_quick(struct asking *asking)
{
    const struct engine_use *use = &asking->result->step.engine;
    if (use->ranks_simulated < use->ranks && use->tasks > UNSAID_TASKS_MAX) {
        return false;
    }
    const struct step_result now = simulate(asking, asking->result->scenario);
    asking->now_ns = now.step_ns;
    arena_reset(asking->arena);
    return now.engine.tasks <= UNSAID_TASKS_MAX;
}

void unsaid_ask(struct arena *arena, const struct catalogue *catalogue, struct step_memo *memo,
                struct result *result)
{
    if (!can_be_asked(result)) {
        return;
    }
    struct unsaid *list = arena_array(arena, QUESTIONS, sizeof *list);
    struct asking asking = {catalogue, result, memo, arena_new(), 0};
    const uint32_t asked = is_quick(&asking) ? QUESTIONS : 0;
    for (uint32_t i = 0; i < asked; i++) {
        const struct question *question = &questions[i];
        const bool is_asked = question->asker == ALL && is_open(result->scenario, question);
        const double moves = is_asked ? moves_of(&asking, question) : 0;
        if (fabs(moves) >= UNSAID_LEAST) {
            const char *with = question->with;
            insert(list, result->unsaid_count++,
                   (struct unsaid){question->name,
                                   arena_printf(arena, "%s=%s%s%s", question->key, question->value,
                                                with != NULL ? " " : "", with != NULL ? with : ""),
                                   moves});
        }
    }
    arena_free(asking.arena);
    result->unsaid = list;
}

/* ---- for others ----------------------------------------------------------------------------- */

uint32_t unsaid_question_count(void)
{
    return QUESTIONS;
}

/* Of a recipe the keys that nobody said; how many. */
static uint32_t open_sets(struct arena *arena, const struct catalogue *catalogue,
                          const struct scenario *scenario, const char *name, const char ***sets)
{
    const struct doc_node reference = {
        .kind = DOC_SCALAR, .text = name, .place = scenario->document->place};
    const struct doc_node *recipe = recipe_open(arena, catalogue, &reference, diag_new(arena));
    const struct doc_node *set = recipe != NULL ? doc_find(recipe, "set") : NULL;
    uint32_t count = 0, open = 0;
    for (const struct doc_node *one = set != NULL ? set->child : NULL; one; one = one->next) {
        count++;
    }
    *sets = arena_array(arena, count + 1, sizeof **sets);
    for (const struct doc_node *one = set != NULL ? set->child : NULL; one; one = one->next) {
        if (one->kind == DOC_SCALAR && is_key_open(scenario, one->key)) {
            (*sets)[open++] = arena_printf(arena, "%s=%s", one->key, one->text);
        }
    }
    return open;
}

bool unsaid_question_of(struct arena *arena, const struct catalogue *catalogue,
                        const struct scenario *scenario, uint32_t number,
                        struct unsaid_question *question)
{
    const struct question *row = &questions[number];
    const bool is_recipe = strcmp(row->key, "recipe") == 0;
    if (!row->arises(scenario) || (!is_recipe && !is_key_open(scenario, row->key))) {
        return false;
    }
    const char **shown = arena_array(arena, 2, sizeof *shown);
    const char **sets;
    shown[0] = arena_printf(arena, "%s=%s", row->key, row->value);
    shown[1] = row->with;
    *question = (struct unsaid_question){row->name, shown, row->with != NULL ? 2 : 1, shown, 0};
    question->set_count = question->shown_count;
    if (is_recipe) {
        question->set_count = open_sets(arena, catalogue, scenario, row->value, &sets);
        question->sets = sets;
    }
    return question->set_count > 0;
}
