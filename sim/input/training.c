/* Reads what a scenario says of training. Every key stands alone, so a section
 * is a list of getters; the rules that tie them to the model follow below.
 */
#include "input/training.h"

#include "input/layout.h"
#include "input/scenario.h"

#include "base/arena.h"

#include <string.h>

/* ---- reading ---- */

/* Layers or modules, and the kind of recompute that this is. */
bool training_check_recompute(const struct schema_reader *reader, const struct schema_row *row)
{
    struct recompute *recompute = &((struct scenario *)reader->object)->recompute;
    struct diag *diag = reader->map->diag;
    const bool has_layers = recompute->layers > 0;
    recompute->kind = has_layers ? RECOMPUTE_FULL : RECOMPUTE_SELECTIVE;
    if (has_layers != (recompute->modules != 0)) {
        return true;
    }
    diag_add(diag, DIAG_INPUT, &reader->map->node->place,
             has_layers ? "%s has both layers and modules" : "%s needs layers or modules",
             row->path);
    diag_help(diag, "write {layers: 4}, {modules: [core-attention]}, or one of none, "
                    "selective, full");
    return false;
}

/* Gradients are kept as the framework does. */
void training_read_gradients(const struct schema_reader *reader, const struct schema_row *row)
{
    static const uint32_t of_precision[PRECISION_COUNT_] = {
        [PRECISION_FP32] = STATE_FP32,  [PRECISION_TF32] = STATE_FP32,
        [PRECISION_FP16] = STATE_FP16,  [PRECISION_BF16] = STATE_BF16,
        [PRECISION_FP8] = STATE_BF16,   [PRECISION_MXFP8] = STATE_BF16,
        [PRECISION_NVFP4] = STATE_BF16,
    };
    struct scenario *scenario = reader->object;
    scenario->optimizer.gradients = of_precision[scenario->software.gradient_precision];
    schema_read_key(reader, row);
}

/* What trains in fp32 needs no other master. */
void training_read_master(const struct schema_reader *reader, const struct schema_row *row)
{
    struct scenario *scenario = reader->object;
    const bool is_whole = precision_bytes(scenario->precision) == 4;
    scenario->optimizer.master = is_whole ? STATE_NONE : STATE_FP32;
    schema_read_key(reader, row);
}

/* Plain gradient descent keeps no moments that could be of a format. */
bool training_check_optimizer(const struct schema_reader *reader, const struct schema_row *row)
{
    const struct optimizer *optimizer = &((struct scenario *)reader->object)->optimizer;
    const struct doc_node *node = reader->map->node;
    const struct doc_node *moments = node != NULL ? doc_find(node, "moments") : NULL;
    (void)row;
    if (moments == NULL || optimizer->rule != OPTIMIZER_SGD) {
        return true;
    }
    diag_add(reader->map->diag, DIAG_INPUT, &moments->place,
             "'moments' of an optimizer whose rule is sgd, which keeps none");
    diag_help(reader->map->diag, "leave moments out, or write rule: adam or sgd-momentum");
    return false;
}

/* Of each distribution the key that says how far it is from even. */
static const struct spread_rule {
    const char *key;  /* NULL: none */
    const char *help; /* what it is, where it is missing */
} spread_rules[ROUTING_COUNT_] = {
    [ROUTING_EVEN] = {NULL, NULL},
    [ROUTING_LOGNORMAL] = {"spread", "spread is the sigma of the experts' popularity, like 0.5"},
    [ROUTING_MEASURED] = {"max_violation",
                          "max_violation is the busiest expert over the mean, less 1, like 0.7"},
};

static bool refuse_spread(const struct schema_reader *reader, const struct schema_row *row,
                          const char *key)
{
    const uint32_t kind = ((struct scenario *)reader->object)->routing.kind;
    const struct doc_node *node = doc_find(reader->map->node, key);
    const char *own = spread_rules[kind].key;
    if (node == NULL || (own != NULL && strcmp(own, key) == 0)) {
        return true;
    }
    const char *other = strcmp(key, "spread") == 0 ? "lognormal" : "measured";
    diag_add(reader->map->diag, DIAG_INPUT, &node->place, "%s that is %s has no %s", row->path,
             token_routing_names[kind], key);
    diag_help(reader->map->diag, "write distribution: %s, or leave %s out", other, key);
    return false;
}

/* A token goes to an expert at most once, so none has more than experts / k of the mean. */
static bool check_violation(const struct schema_reader *reader, const struct schema_row *row)
{
    const struct scenario *scenario = reader->object;
    const struct doc_node *node = doc_find(reader->map->node, "max_violation");
    const double most =
        (double)scenario->model.experts / (double)scenario->model.experts_per_token - 1;
    if (node == NULL || scenario->routing.max_violation <= most) {
        return true;
    }
    diag_add(reader->map->diag, DIAG_INPUT, &node->place,
             "%s has a max_violation above %.4g, where every token goes to the busiest expert",
             row->path, most);
    diag_help(reader->map->diag, "of %lld experts, %lld to a token, it may be 0 to %.4g",
              (long long)scenario->model.experts, (long long)scenario->model.experts_per_token,
              most);
    return false;
}

bool training_check_spread(const struct schema_reader *reader, const struct schema_row *row)
{
    const struct routing *routing = &((struct scenario *)reader->object)->routing;
    const struct spread_rule *rule = &spread_rules[routing->kind];
    if (!refuse_spread(reader, row, "spread") || !refuse_spread(reader, row, "max_violation")) {
        return false;
    }
    if (rule->key != NULL && doc_find(reader->map->node, rule->key) == NULL) {
        diag_add(reader->map->diag, DIAG_INPUT, &reader->map->node->place,
                 "%s that is %s needs a %s", row->path, token_routing_names[routing->kind],
                 rule->key);
        diag_help(reader->map->diag, "%s", rule->help);
        return false;
    }
    return check_violation(reader, row);
}

/* ---- what follows ---- */

void training_settle(struct scenario *scenario)
{
    struct recompute *recompute = &scenario->recompute;
    if (recompute->kind != RECOMPUTE_SELECTIVE || recompute->modules != 0) {
        return;
    }
    const bool is_fused = scenario->software.attention != ATTENTION_UNFUSED;
    recompute->modules = is_fused ? 1u << RECOMPUTE_NORM | 1u << RECOMPUTE_ACTIVATION
                                  : 1u << RECOMPUTE_CORE_ATTENTION;
}

/* ---- checks ---- */

/* What is worked on here. */
struct check {
    const struct scenario *scenario;
    struct diag *diag;
};

/* Where a key was written. */
static const struct place *place_at(const struct check *check, const char *path)
{
    const struct doc_node *root = check->scenario->document;
    const struct doc_node *node = doc_find(root, path);
    return node != NULL ? &node->place : &root->place;
}

static int64_t largest_chunk(const struct parallel *parallel)
{
    const int64_t pieces = layout_pieces(parallel);
    int64_t largest = 0;
    for (int64_t i = 0; i < pieces; i++) {
        const int64_t layers = parallel->layers_per_chunk[i];
        largest = layers > largest ? layers : largest;
    }
    return largest;
}

static int64_t largest_stage(const struct parallel *parallel)
{
    int64_t largest = 0;
    for (int64_t stage = 0; stage < parallel->pp; stage++) {
        int64_t layers = 0;
        for (int64_t chunk = 0; chunk < parallel->virtual_stages; chunk++) {
            layers += parallel->layers_per_chunk[layout_piece(parallel, stage, chunk)];
        }
        largest = layers > largest ? layers : largest;
    }
    return largest;
}

static bool has_dense_layers(const struct model *model)
{
    bool has_some = false;
    for (uint32_t i = model->block_kinds; i < model->kind_count; i++) {
        has_some = has_some || (layer_is_dense(&model->kinds[i]) && !model->kinds[i].is_mtp);
    }
    return has_some;
}

/* What a model must have for its module to be recomputed; NULL when it has it. */
static const char *missing_for(const struct model *model, enum recompute_module module)
{
    switch (module) {
    case RECOMPUTE_MOE:
        return model->experts == 0 ? "experts" : NULL;
    case RECOMPUTE_SHARED_EXPERTS:
        return model->shared_experts == 0 ? "shared experts" : NULL;
    case RECOMPUTE_MLA_UP:
        return model->latent.kv_rank == 0 ? "latent attention" : NULL;
    case RECOMPUTE_MLP:
        return has_dense_layers(model) ? NULL : "dense layers";
    case RECOMPUTE_CORE_ATTENTION:
    case RECOMPUTE_NORM:
    case RECOMPUTE_ACTIVATION:
    case RECOMPUTE_MODULE_COUNT_:
    default:
        return NULL;
    }
}

bool training_has_module(const struct model *model, uint32_t module)
{
    return missing_for(model, (enum recompute_module)module) == NULL;
}

static bool check_recompute(const struct check *check)
{
    const struct scenario *scenario = check->scenario;
    const struct recompute *recompute = &scenario->recompute;
    const int64_t most = largest_chunk(&scenario->parallel);
    bool is_good = true;
    for (uint32_t i = 0; i < RECOMPUTE_MODULE_COUNT_; i++) {
        const char *missing = missing_for(&scenario->model, i);
        if ((recompute->modules & (1u << i)) != 0 && missing != NULL) {
            is_good = diag_add(check->diag, DIAG_INFEASIBLE, place_at(check, "recompute.modules"),
                               "module %s, but model %s has no %s", recompute_module_names[i],
                               scenario->model.name, missing);
        }
    }
    if (recompute->layers > most) {
        is_good = diag_add(check->diag, DIAG_INFEASIBLE, place_at(check, "recompute.layers"),
                           "%lld layers, but no chunk of the model has more than %lld",
                           (long long)recompute->layers, (long long)most);
        diag_help(check->diag, "layers counts those of each chunk; or write recompute: full");
    }
    return is_good;
}

static bool check_optimizer(const struct check *check)
{
    const struct scenario *scenario = check->scenario;
    if (precision_bytes(scenario->precision) != 4 || scenario->optimizer.master == STATE_NONE) {
        return true;
    }
    diag_add(check->diag, DIAG_INFEASIBLE, place_at(check, "optimizer.master"),
             "weights trained in %s are their own master", precision_names[scenario->precision]);
    diag_help(check->diag, "write master: none, or leave it out");
    return false;
}

/* Whoever updates a matrix has it whole, trains it, and multiplies on a GPU. */
static bool check_matrices(const struct check *check)
{
    const struct scenario *scenario = check->scenario;
    const struct matrix_rule *rule = &scenario->optimizer.matrices;
    if (!optimizer_has_matrices(&scenario->optimizer)) {
        return true;
    }
    if (scenario->parallel.zero > 1) {
        diag_add(check->diag, DIAG_INFEASIBLE, place_at(check, "parallel.zero"),
                 "zero %lld cuts matrices anywhere, and %s updates them whole",
                 (long long)scenario->parallel.zero, rule->name);
        diag_help(check->diag,
                  "with zero 1 whole matrices are dealt to the ranks, with zero 0 each "
                  "updates all of its own; or leave optimizer.matrices out");
        return false;
    }
    if (scenario->lora.rank > 0) {
        diag_add(check->diag, DIAG_INFEASIBLE, place_at(check, "lora"),
                 "%s is for the matrices of layers, which LoRA freezes", rule->name);
        diag_help(check->diag, "leave optimizer.matrices out: adapters are updated as "
                               "optimizer.rule says");
        return false;
    }
    if (scenario->offload.optimizer > 0) {
        diag_add(check->diag, DIAG_INFEASIBLE, place_at(check, "offload.optimizer"),
                 "the host updates element by element, and %s multiplies", rule->name);
        diag_help(check->diag, "leave offload.optimizer out, or optimizer.matrices");
        return false;
    }
    if (!gpu_has_precision(&scenario->gpu, rule->precision)) {
        diag_add(check->diag, DIAG_INFEASIBLE, place_at(check, "optimizer.matrices"),
                 "%s multiplies in %s, for which gpu %s has no peak", rule->name,
                 precision_names[rule->precision], scenario->gpu.name);
        diag_help(check->diag, "set optimizer.matrices.newton_schulz.precision");
        return false;
    }
    return true;
}

static bool check_offload(const struct check *check)
{
    const struct scenario *scenario = check->scenario;
    const int64_t most = largest_stage(&scenario->parallel);
    if (scenario->offload.activation_layers <= most) {
        return true;
    }
    diag_add(check->diag, DIAG_INFEASIBLE, place_at(check, "offload.activation_layers"),
             "activation_layers %lld is more than the %lld layers of a stage",
             (long long)scenario->offload.activation_layers, (long long)most);
    diag_help(check->diag, "it may be at most %lld", (long long)most);
    return false;
}

static bool check_routing(const struct check *check)
{
    const struct scenario *scenario = check->scenario;
    if (scenario->model.experts > 0 || doc_find(scenario->document, "routing") == NULL) {
        return true;
    }
    return diag_add(check->diag, DIAG_INFEASIBLE, place_at(check, "routing"),
                    "routing is of experts, and model %s has none", scenario->model.name);
}

static bool check_lora(const struct check *check)
{
    const struct scenario *scenario = check->scenario;
    if (scenario->lora.rank <= scenario->model.hidden) {
        return true;
    }
    diag_add(check->diag, DIAG_INFEASIBLE, place_at(check, "lora.rank"),
             "rank %lld is more than hidden %lld of model %s", (long long)scenario->lora.rank,
             (long long)scenario->model.hidden, scenario->model.name);
    diag_help(check->diag, "ranks of 8 to 256 are usual");
    return false;
}

bool training_check(const struct scenario *scenario, struct diag *diag)
{
    const struct check check = {scenario, diag};
    bool is_good = check_recompute(&check);
    is_good = check_optimizer(&check) && is_good;
    is_good = check_matrices(&check) && is_good;
    is_good = check_offload(&check) && is_good;
    is_good = check_routing(&check) && is_good;
    return check_lora(&check) && is_good;
}
